"""Two measures at once: regions of highest density."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.answers.region import region
from bayescm.measures.catalogue import resolve
from bayescm.measures.labelled import several
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_region(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: tuple[str | Callable, str | Callable] = ("recall", "precision"),
    *,
    prob: float = 0.95,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw the joint posterior of two measures as regions of highest density.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, outcomes of several classifiers, or a fit; one region for every index of the other
        dims, up to seven.
    measures : pair of str or callable, default ("recall", "precision")
        On the x and y axis. Lines of equal F1 are drawn if these are recall and precision.
    prob : float in (0, 1), default 0.95
        Mass of the outer region; the inner one holds half of the posterior.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    **keywords
        ``of``, and for counts ``model``, ``draws``, ``random_seed`` and the model's own keywords;
        see `bayescm.interval`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> axes = plot_region(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), draws=2000).axes[0]
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('recall', 'precision')
    """
    check_prob(prob)
    if len(several(measures)) != 2:
        todo = 'pass measures=("recall", "precision")'
        raise fail("a region needs two measures", measures, "a pair", todo)
    values = region(evidence, (measures[0], measures[1]), prob=prob, **keywords)
    inner = region(evidence, (measures[0], measures[1]), prob=0.5, **keywords)
    members = common.places(values["level"], ())
    if len(members) > common.MOST_COLOURS:
        allowed, todo = f"at most {common.MOST_COLOURS}", "select some of them"
        raise fail("too many regions to tell apart", len(members), allowed, todo)
    names = [", ".join(f"{k} {v}" for k, v in where.items()) for where in members]
    width = 5.6 if len(members) == 1 else 6.2 + 0.08 * min(common.widest(names), 30)
    with canvas((width, 5.6), ax=ax) as page:
        ends = [
            _member(page.axes, place, [each.sel(where) for each in (values, inner)], name)
            for place, (where, name) in enumerate(zip(members, names, strict=True))
        ]
        _frame(page.axes, [resolve(each) for each in measures], np.array(ends))
        if len(members) > 1:
            # Beside the axes: "best" does not see the regions, and would hide one.
            page.axes.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
        words = f"dot: mean; 50% and {100 * prob:g}% highest-density region"
        page.heading(words, common.positive_of(evidence, keywords.get("positive")))
    return page.figure


def _member(axes, place, found, name):
    """Draw the regions of one member and its mean; return their ends on both axes."""
    density = found[0]["density"]
    x, y = (density.coords[dim].values for dim in density.dims)
    axes.plot(
        np.average(x, weights=density.values.sum(1)),
        np.average(y, weights=density.values.sum(0)),
        common.MARKERS[place],
        color=common.paper(),
        markeredgecolor=common.paint(place),
        linestyle="none",
        zorder=3,
        label=common.wrapped(name) or None,
    )
    levels = [float(each["level"]) for each in found]
    fills = (0.2, 0.35) if not name else (0.06, 0.35)
    return _region(axes, ((x, y), density.values), levels, common.paint(place), fills)


def _region(axes, grid, levels, paint, fills):
    """Draw the regions of one member, the outer one first; return their ends on both axes."""
    (x, y), density = grid
    inside = density >= levels[0]
    for level, fill in zip(levels, fills, strict=True):
        axes.contourf(x, y, density.T, [level, 2 * density.max()], colors=[paint], alpha=fill)
        axes.contour(x, y, density.T, [level], colors=[paint], linewidths=1.3)
    return [each[inside.any(axis)][[0, -1]] for each, axis in ((x, 1), (y, 0))]


def _frame(axes, kernels, ends):
    axes.set_xlabel(kernels[0].__name__)
    axes.set_ylabel(kernels[1].__name__)
    axes.spines[["top", "right"]].set_visible(False)
    low, high = ends[..., 0].min(axis=0), ends[..., 1].max(axis=0)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    if all(each.range == (0, 1) for each in kernels):
        # One scale and one length for both axes, inside [0, 1].
        length = min(1.0, (high - low).max())
        low = np.clip((low + high - length) / 2, 0, 1 - length)
        high = low + length
        axes.set_aspect("equal")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    if {each.canonical for each in kernels} == {"recall", "precision"}:
        equal_f1(axes)


def equal_f1(axes):
    """Draw lines of equal F1 in the background."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    x, y = np.linspace(left, right, 300), np.linspace(low, high, 300)[:, None]
    f1 = 2 * x * y / np.maximum(x + y, 1e-9)
    levels = np.arange(0.1, 1, 0.1)
    lines = axes.contour(
        x, y.ravel(), f1, levels, colors=[common.grey(0.25)], linewidths=0.8, zorder=0
    )
    axes.clabel(lines, fmt="F1 %.1f", fontsize=7, colors=[common.grey(0.6)])
