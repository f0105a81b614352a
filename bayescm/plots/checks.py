"""Plots to check a fit: predictions against the counts, and the chains."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.distributions.discrete import Empirical
from bayescm.evidence.counts import CELLS
from bayescm.measures.labelled import measure
from bayescm.plots import common
from bayescm.plots.canvas import Canvas, canvas, closed_on_failure, show_once
from bayescm.validate import check_kind, check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS, _VARIABLES = 12, 12


def plot_predictive(
    fitted: xr.DataTree, *, prob: float = 0.95, kind: str = "hdi", ax: "Axes | None" = None
) -> "Figure":
    """
    Draw the posterior prediction of every cell beside the observed count.

    A model that fits leaves about as many counts outside the intervals as their mass implies. The
    model of a single matrix always fits; the check is for folds and groups.

    Parameters
    ----------
    fitted : DataTree
        A fit of whole counts.
    prob : float in (0, 1), default 0.95
        Mass of the thin line; the thick one holds half.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    ax : matplotlib.axes.Axes, optional
        Where to draw a single matrix; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for every fold, group or other leading index.

    Examples
    --------
    >>> import bayescm as bcm
    >>> tree = bcm.fit(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), draws=100, random_seed=1)
    >>> len(plot_predictive(tree).axes)
    1
    """
    check_prob(prob), check_kind(kind)
    predicted, observed = _cells(fitted)
    panels = common.places(observed, ("cell",))
    if len(panels) > _PANELS:
        todo = "fit fewer at once, or select part of the tree"
        raise fail("too many panels to read", len(panels), f"at most {_PANELS}", todo)
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    size = (3.2 * columns + 1.6, rows * (0.26 * observed.sizes["cell"] + 0.9) + 0.8)
    with canvas(size, ax=ax, number=len(panels), columns=columns, sharey=True) as page:
        for axes, where in zip(page.panels, panels, strict=True):
            _draw_cells(axes, predicted.sel(where), observed.sel(where), prob, kind)
            title = ", ".join(f"{k} {v}" for k, v in where.items())
            axes.set_title(common.wrapped(title, 36), fontsize=9)
        words = f"predicted: 50% and {common.words_for(prob, kind)}", "observed: diamonds"
        page.heading(*words, common.positive_of(fitted))
    return page.figure


def _cells(fitted):
    """Return predicted and observed counts with a dim cell."""
    if not isinstance(fitted, xr.DataTree) or "observed_data" not in fitted.children:
        todo = "fit whole counts first: fit(counts)"
        raise fail("no predictions to draw", type(fitted).__name__, "the tree of a fit", todo)
    observed = fitted["observed_data"].to_dataset()
    group = fitted.children.get("posterior_predictive", xr.DataTree())
    dims = {name: set(observed[name].dims) for name in observed if name in group}
    tables = [name for name, own in dims.items() if "cell" in own or own >= set(CELLS)]
    if not tables:
        todo = "ask summary(fit, measures, of='predictive')"
        raise fail("the model predicts no table", list(observed), "counts of cells", todo)
    name = tables[0]
    return _flat(group.to_dataset()[name]), _flat(observed[name])


def _flat(counts):
    if "cell" in counts.dims:
        return counts
    pairs = [f"{i}->{j}" for i in counts["actual"].values for j in counts["predicted"].values]
    flat = counts.stack(cell=("actual", "predicted"), create_index=False)
    return flat.drop_vars(["actual", "predicted"]).assign_coords(cell=pairs)


def _draw_cells(axes, predicted, observed, prob, kind):
    draws = predicted.transpose("chain", "draw", "cell").values
    distribution = Empirical(draws.reshape(-1, draws.shape[-1]).astype(float))
    rows = np.arange(observed.sizes["cell"])
    for mass, width in ((prob, 1.2), (0.5, 3.5)):
        low, high = np.moveaxis(
            distribution.hdi(mass) if kind == "hdi" else distribution.eti(mass), -1, 0
        )
        axes.hlines(rows, low, high, color=common.paint(0), linewidth=width)
    axes.plot(observed.values, rows, "D", color=common.paint(1), markersize=5)
    axes.set_yticks(rows, observed["cell"].values)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("count")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=common.grey(0.1))
    axes.set_axisbelow(True)


def plot_diagnostics(
    fitted: xr.DataTree,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    positive: Any = None,
) -> "Figure":
    """
    Draw the chains of a fit: the density and the trace of each.

    Chains that agree overlap, and their r-hat is below 1.01. Divergent draws are marked
    below the trace.

    Parameters
    ----------
    fitted : DataTree
        A fit by NUTS; independent draws need no such check.
    measures : str, callable or a sequence of these, optional
        Measures to look at; by default the cell probabilities.
    positive : label, optional
        The positive class, where the fit does not know it or another one is meant.

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    arviz.plot_trace_dist : Draws the panels.
    arviz.plot_rank_dist : The ranks of the draws.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> tree = bcm.fit(counts, method="nuts", draws=200, random_seed=1)  # doctest: +SKIP
    >>> figure = plot_diagnostics(tree, ["precision", "recall"])  # doctest: +SKIP
    """
    import arviz as az

    if not isinstance(fitted, xr.DataTree) or "sample_stats" not in fitted.children:
        todo = "independent draws need no diagnostics; fit(counts, method='nuts') samples"
        raise fail("no chains to diagnose", ..., "a fit sampled by NUTS", todo)
    values = fitted["posterior"].to_dataset()[["theta"]]
    if measures is not None:
        values = measure(fitted, measures, positive=positive)
    rows = sum(len(common.places(each, ("chain", "draw"))) for each in values.values())
    if rows > _VARIABLES:
        todo = "name a few measures"
        raise fail("too many panels to read", rows, f"at most {_VARIABLES}", todo)
    stats = fitted["sample_stats"].to_dataset()[["diverging"]]
    collection = az.plot_trace_dist(
        xr.DataTree.from_dict({"posterior": values, "sample_stats": stats}),
        compact=False,
        visuals={"label": False, "xlabel_trace": False},
        color=[common.paint(place) for place in range(max(3, values.sizes["chain"]))],
        figure_kwargs={"layout": "constrained", "figsize": (9, 1.6 * rows + 0.6)},
    )
    figure = collection.viz["figure"].item()
    with closed_on_failure(figure):
        _title_chains(collection, values)
        words = f"{values.sizes['chain']} chains, {int(stats['diverging'].sum())} divergences"
        Canvas(figure, figure.axes, True).heading(words, common.positive_of(fitted, positive))
    show_once(figure)
    return figure


def _title_chains(collection, values):
    """Write the name of each row, its r-hat and effective sample size."""
    from arviz_stats import ess, rhat

    agreement, size = rhat(values), ess(values)
    for name, each in values.items():
        axes = collection.viz["plot"][name]
        for where in common.places(each, ("chain", "draw")):
            panels = axes.sel(where)
            words = f"r-hat {agreement[name].sel(where):.3f}"
            words += f", effective sample size {size[name].sel(where):,.0f}"
            panels.sel(column="dist").item().set_title(common.called(name, where), fontsize=9)
            panels.sel(column="trace").item().set_title(words, fontsize=9)
