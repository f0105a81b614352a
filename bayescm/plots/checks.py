"""Plots for model checks: posterior or prior predictions, and MCMC diagnostics."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.answers.measure import measure
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import CELLS
from bayescm.measures.display_names import DisplayNames, check_display_names, display_label
from bayescm.plots import style
from bayescm.plots.canvas import Canvas, canvas, closed_on_failure, name_rows, rows, show_once
from bayescm.validate import check_choice, check_kind, check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Largest numbers of legible panels, of predictions and of diagnostics.
_PANELS = 12
_VARIABLES = 12


def plot_predictive(
    fitted: xr.DataTree,
    *,
    group: str = "posterior",
    prob: float = 0.95,
    kind: str = "hdi",
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the predictive interval of every cell with the observed count.

    If the model fits, the proportion of counts outside their intervals is about one minus the
    probability. The model of a single matrix always fits, so this check is for folds and groups.

    Parameters
    ----------
    fitted : DataTree
        Fit of integer counts.
    group : {"posterior", "prior"}
        Source of the predictions: the posterior or the prior.
    prob : float in (0, 1), default 0.95
        Probability of the thin line. The thick line has probability 0.5.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.
    display_names : mapping of str to str, optional
        Display names of dimensions and labels, such as ``{"rf": "random forest", 1: "ill"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on, for a single matrix. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with a panel for every fold, group or other leading index.

    Examples
    --------
    >>> import bayescm as bcm
    >>> tree = bcm.fit(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), draws=100, random_seed=1)
    >>> len(plot_predictive(tree).axes)
    1
    """
    check_prob(prob), check_kind(kind)
    check_choice("group", group, ["posterior", "prior"])
    predicted, observed = _cells(fitted, f"{group}_predictive")
    predicted_by = "predicted by the prior" if group == "prior" else "predicted"
    panels = style.panels(observed, ("cell",))
    cells = [_written(cell, display_names) for cell in observed["cell"].values.tolist()]
    if len(panels) > _PANELS:
        todo = "fit fewer at once, or select part of the tree"
        raise fail(
            f"The plot would have {len(panels)} panels; at most {_PANELS} are readable",
            ...,
            "",
            todo,
        )
    columns = min(3, len(panels))
    height = -(-len(panels) // columns) * (0.26 * observed.sizes["cell"] + 0.9) + 0.8
    size = (3.2 * columns + 1.6, height)
    with canvas(size, ax=ax, number=len(panels), columns=columns, sharey=True) as page:
        for axes, where in zip(page.panels, panels, strict=True):
            _draw_cells(axes, predicted.sel(where), observed.sel(where), cells, prob, kind)
            title = ", ".join(style.index_words(where, display_names))
            axes.set_title(style.wrapped(title, 36), fontsize=9)
        page.heading(
            f"{predicted_by}: 50% and {style.interval_words(prob, kind)}",
            "observed: diamonds",
            style.positive_class(fitted, display_names=display_names),
        )
    return page.figure


def _cells(fitted, group):
    """Return predicted and observed counts with a dimension ``cell``."""
    if not isinstance(fitted, xr.DataTree) or "observed_data" not in fitted.children:
        todo = "fit integer counts first: fit(counts)"
        raise fail(
            f"A plot of predictions needs the tree of a fit, not a {type(fitted).__name__}",
            ...,
            "",
            todo,
        )
    observed = fitted["observed_data"].to_dataset()
    predicted = fitted.children.get(group, xr.DataTree())
    dims = {name: set(observed[name].dims) for name in observed if name in predicted}
    tables = [name for name, axes in dims.items() if "cell" in axes or axes >= set(CELLS)]
    if not tables:
        raise fail(
            "The model predicts no counts, only {}",
            list(observed),
            "",
            "use summary(fit, measures, `of='predictive'`)",
        )
    name = tables[0]
    return _flat(predicted.to_dataset()[name]), _flat(observed[name])


def _flat(counts):
    if "cell" in counts.dims:
        return counts
    pairs = [f"{i}->{j}" for i in counts["actual"].values for j in counts["predicted"].values]
    flat = counts.stack(cell=("actual", "predicted"), create_index=False)
    return flat.drop_vars(["actual", "predicted"]).assign_coords(cell=pairs)


def _written(cell, display_names):
    """Return the name of a cell, "actual->predicted", with display names of its labels."""
    names = {str(label): text for label, text in check_display_names(display_names).items()}
    return "->".join(display_label(label, names) for label in str(cell).split("->"))


def _draw_cells(axes, predicted, observed, names, prob, kind):
    draws = predicted.transpose("chain", "draw", "cell").values
    distribution = Empirical(draws.reshape(-1, draws.shape[-1]).astype(float))
    interval = distribution.hdi if kind == "hdi" else distribution.eti
    y = np.arange(observed.sizes["cell"])
    name_rows(axes, y, names)
    rows(axes, y, interval(prob), inner=interval(0.5), width=1.2, color=style.color(0))
    axes.plot(observed.values, y, "D", color=style.color(1), markersize=5)
    axes.set_xlabel("count")


def plot_diagnostics(
    fitted: xr.DataTree,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    positive: Any = None,
    display_names: DisplayNames = None,
) -> "Figure":
    """
    Plot the density and trace of each chain of a fit.

    Chains that have converged overlap, and their r-hat is below 1.01. Divergences are marked below
    the trace.

    Parameters
    ----------
    fitted : DataTree
        Fit by NUTS. Independent draws need no such check.
    measures : str, callable or a sequence of these, optional
        Measures to plot. By default the cell probabilities.
    positive : label, optional
        Positive class. It overrides the fit, and is required if the fit has none.
    display_names : mapping of str to str, optional
        Display names of measures and labels, such as ``{"f1": "F-measure", "rf": "random
        forest"}``.

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    arviz.plot_trace_dist : Used for the panels.
    arviz.plot_rank_dist : Rank plots of the draws.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> tree = bcm.fit(counts, method="nuts", draws=200, random_seed=1)  # doctest: +SKIP
    >>> figure = plot_diagnostics(tree, ["precision", "recall"])  # doctest: +SKIP
    """
    import arviz as az

    if not isinstance(fitted, xr.DataTree) or "sample_stats" not in fitted.children:
        raise fail(
            "The fit has no chains to diagnose",
            ...,
            "",
            "independent draws need no diagnostics; for chains, use fit(counts, `method='nuts'`)",
        )
    values = fitted["posterior"].to_dataset()[["theta"]]
    if measures is not None:
        values = measure(fitted, measures, positive=positive)
    number = sum(len(style.panels(draws, ("chain", "draw"))) for draws in values.values())
    if number > _VARIABLES:
        todo = "name a few measures"
        raise fail(
            f"The plot would have {number} panels; at most {_VARIABLES} are readable", ..., "", todo
        )
    stats = fitted["sample_stats"].to_dataset()[["diverging"]]
    collection = az.plot_trace_dist(
        xr.DataTree.from_dict({"posterior": values, "sample_stats": stats}),
        compact=False,
        visuals={"label": False, "xlabel_trace": False},
        color=[style.color(i) for i in range(max(3, values.sizes["chain"]))],
        figure_kwargs={"layout": "constrained", "figsize": (9, 1.6 * number + 0.6)},
    )
    figure = collection.viz["figure"].item()
    with closed_on_failure(figure):
        _title_chains(collection, values, display_names)
        number = int(stats["diverging"].sum())
        s = "" if number == 1 else "s"
        chains = f"{values.sizes['chain']} chains, {number} divergence{s}"
        Canvas(figure, figure.axes, True).heading(
            chains, style.positive_class(fitted, positive, display_names)
        )
    show_once(figure)
    return figure


def _title_chains(collection, values, display_names):
    """Write the name of each row with its r-hat and effective sample size."""
    from arviz_stats import ess, rhat

    agreement, size = rhat(values), ess(values)
    for name, draws in values.items():
        axes = collection.viz["plot"][name]
        for where in style.panels(draws, ("chain", "draw")):
            panels = axes.sel(where)
            words = f"r-hat {agreement[name].sel(where):.3f}"
            words += f", effective sample size {size[name].sel(where):,.0f}"
            title = style.label(name, where, display_names)
            panels.sel(column="dist").item().set_title(title, fontsize=9)
            panels.sel(column="trace").item().set_title(words, fontsize=9)
