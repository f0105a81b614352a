"""Curves: ROC and precision-recall with bands, and summaries of them."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm import curves
from bayescm.curves.drawing import observe
from bayescm.curves.numbers import interval_of
from bayescm.distributions.discrete import Empirical
from bayescm.plots import common, interactive
from bayescm.plots.canvas import canvas
from bayescm.plots.regions import equal_f1
from bayescm.validate import check_prob

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_roc(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    lines: int = 0,
    threshold: float | None = None,
    model: str | None = None,
    random_seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw ROC curves with their bands.

    Parameters
    ----------
    evidence : Dataset
        Scores; a curve for each classifier, class and fold, up to seven.
    prob : float, default 0.95
    simultaneous : bool, default True
        Whether the band is for the whole curve, or pointwise. The picture says which.
    lines : int, default 0
        How many posterior draws to add.
    threshold : float, optional
        An operating point to mark, with the intervals of both rates.
    model : {"scores", "binormal"}, optional
    random_seed : int, default 0
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> axes = plot_roc(evidence, threshold=3).axes[0]
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('false positive rate', 'true positive rate')
    """
    known: dict[str, Any] = {"model": model, "random_seed": random_seed}
    draws = curves.roc_draws(evidence, draws=max(lines, 2), **known)
    bounds = curves.roc(evidence, prob=prob, simultaneous=simultaneous, **known)["tpr"]
    areas = curves.auc(evidence, prob=prob, **known)
    drawn = bounds, draws[:lines], ("AUC", areas)
    with canvas((5.6, 5.8), ax=ax) as page:
        _square(page.axes, "false positive rate", "true positive rate")
        page.axes.plot([0, 1], [0, 1], color=common.grey(), linewidth=0.8, linestyle=":")
        shown = _draw_curves(page.axes, evidence, ("fpr", "tpr"), *drawn)
        if threshold is not None:
            _operating_point(page.axes, evidence, ("fpr", "recall"), threshold, prob)
        page.axes.legend(fontsize=8, loc="lower right")
        names = ("false positive rate", "true positive rate")
        page.to_point_at(partial(interactive.curves, shown, *names))
        page.heading(common.band_words(prob, simultaneous), common.positive_of(evidence))
    return page.figure


def plot_precision_recall(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    lines: int = 0,
    threshold: float | None = None,
    model: str | None = None,
    random_seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw precision-recall curves with their bands, over lines of equal F1.

    Parameters
    ----------
    evidence, prob, simultaneous, lines, threshold, model, random_seed, ax
        See `plot_roc`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> axes = plot_precision_recall(evidence).axes[0]
    >>> axes.get_ylabel()
    'precision'
    """
    known: dict[str, Any] = {"model": model, "random_seed": random_seed}
    draws = curves.precision_recall_draws(evidence, draws=max(lines, 2), **known)
    bounds = curves.precision_recall(evidence, prob=prob, simultaneous=simultaneous, **known)
    areas = curves.average_precision(evidence, prob=prob, **known)
    drawn = bounds["precision"], draws[:lines], ("average precision", areas)
    share = f"prevalence {evidence.prevalence.item():g}" if "prevalence" in evidence.coords else ""
    with canvas((5.6, 5.8), ax=ax) as page:
        _square(page.axes, "recall", "precision")
        equal_f1(page.axes)
        shown = _draw_curves(page.axes, evidence, ("tpr", "precision"), *drawn)
        if threshold is not None:
            _operating_point(page.axes, evidence, ("recall", "precision"), threshold, prob)
        page.axes.legend(fontsize=8, loc="best")
        page.to_point_at(partial(interactive.curves, shown, "recall", "precision"))
        page.heading(common.band_words(prob, simultaneous), share, common.positive_of(evidence))
    return page.figure


def plot_curve_numbers(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    prob: float = 0.95,
    kind: str = "eti",
    model: str | None = None,
    random_seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw the posterior density of a summary of each curve, with mean and interval.

    Parameters
    ----------
    evidence : Dataset
        Scores.
    measure : str or callable
        See :func:`bayescm.curves.number_draws`: ``"auc"``, ``"average_precision"``, ...
    prob : float, default 0.95
    kind : {"eti", "hdi"}
    model, random_seed, ax
        See `plot_roc`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> axes = plot_curve_numbers(evidence, "auc").axes[0]
    >>> axes.get_xlabel()
    'auc'
    """
    check_prob(prob)
    values = curves.number_draws(
        evidence, measure, model=model, draws=20_000, random_seed=random_seed
    )
    ends = interval_of(values, prob, kind)
    members = _members(values, ("draw",))
    with canvas((5.6, 3.6), ax=ax) as page:
        axes = page.axes
        for place, where in enumerate(members):
            paint, sample = common.paint(place), values.sel(where).values
            x, density = common.density(Empirical(sample), (0, 1))
            low, high = ends.sel(where).values
            name = common.wrapped(common.called(values.name, where), 40)
            label = f"{name} {np.nanmean(sample):.3f} [{low:.3f}, {high:.3f}]"
            axes.plot(x, density, common.STYLES[place % 4], color=paint, label=label)
            inside = (x >= low) & (x <= high)
            axes.fill_between(x[inside], density[inside], color=paint, alpha=0.2, linewidth=0)
            axes.plot(
                np.nanmean(sample), 0, common.MARKERS[place], color=paint, clip_on=False, zorder=3
            )
        low, high = np.nanquantile(values.values, [0.0005, 0.9995])
        axes.set(xlim=(low, high), xlabel=values.name, yticks=[])
        # The legend stands above the densities, each of which has a line of it.
        axes.set_ylim(0, axes.get_ylim()[1] * (1 + 0.11 * len(members)))
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.legend(fontsize=8, loc="upper left", frameon=False)
        words = f"marker: mean; filled: {common.words_for(prob, kind)}"
        page.heading(words, common.positive_of(evidence))
    return page.figure


def _square(axes, across, up):
    axes.set(xlim=(0, 1), ylim=(0, 1.005), aspect="equal", xlabel=across, ylabel=up)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_curves(axes, evidence, names, bounds, draws, number):
    """Draw bands, draws and the examples' own curves, with a number about each; return them."""
    dim, shown = bounds.dims[-2], []
    observed = observe(evidence)
    for place, where in enumerate(_members(bounds, (dim, "bound"))):
        paint, x = common.paint(place), bounds[dim].values
        axes.fill_between(x, *bounds.sel(where).values.T, color=paint, alpha=0.18, linewidth=0)
        for each in draws.sel(where).values:
            axes.plot(x, each, color=paint, alpha=0.15, linewidth=0.6)
        own = observed.curves[place]
        rates = {"fpr": own.fpr[0], "tpr": own.tpr[0]}
        with np.errstate(invalid="ignore"):
            hits = own.prevalence[0] * rates["tpr"]
            rates["precision"] = hits / (hits + (1 - own.prevalence[0]) * rates["fpr"])
        low, high = number[1].sel(where).values
        label = f"{number[0]} [{low:.3f}, {high:.3f}]"
        if where:
            name = common.wrapped(", ".join(str(each) for each in where.values()), 36)
            label = f"{name}: {label}"
        style = common.STYLES[place % 4]
        axes.plot(rates[names[0]], rates[names[1]], style, color=paint, linewidth=1.4, label=label)
        known = {"name": label, "x": rates[names[0]], "y": rates[names[1]]}
        shown.append(known | {"grid": x, "band": bounds.sel(where).values})
    return shown


def _operating_point(axes, evidence, names, threshold, prob):
    """Mark a threshold with the intervals of both rates."""
    found = curves.at_threshold(evidence, list(names), threshold, prob=prob, kind="eti")
    middle = {
        name: curves.threshold(evidence, name, at=[threshold])["median"].isel(threshold=0)
        for name in names
    }
    for place, where in enumerate(_members(found[names[0]], ("bound",))):
        x, y = (float(middle[name].sel(where)) for name in names)
        (left, right), (low, high) = (found[name].sel(where).values for name in names)
        axes.errorbar(
            x,
            y,
            xerr=[[x - left], [right - x]],
            yerr=[[y - low], [high - y]],
            fmt=common.MARKERS[place],
            color=common.paint(place),
            markeredgecolor=common.paper(),
            capsize=2,
            linewidth=1,
            label=f"threshold {threshold:g}" if place == 0 else None,
            zorder=3,
        )


def _members(values, over):
    members = common.places(values, over)
    common.check_few(members)
    return members
