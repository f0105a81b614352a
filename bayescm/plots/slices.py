"""Many slices, worst first: which of them are bad."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescm.answers.groups.slices import worst_slices
from bayescm.plots import common
from bayescm.plots.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMED, _ROW = 40, 0.24  # slices that are all named; inches of a row
_MOST = 15  # of many slices, how many of the worst are named


def plot_slices(
    evidence: Any,
    measure: str | Callable,
    *,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw the intervals of slices in the order of their means, those flagged as bad in colour.

    Up to 40 slices are named; of more, the worst of those flagged.

    Parameters
    ----------
    evidence, measure
        As :func:`bayescm.worst_slices` takes them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    **keywords
        The remaining keywords of :func:`bayescm.worst_slices`, such as ``threshold=0.8``.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> tp = [45, 44, 46, 43, 45, 44, 28, 45]
    >>> cells = bcm.from_cells(tp=tp, fn=[50 - each for each in tp], fp=[9] * 8, tn=[41] * 8)
    >>> figure = plot_slices(cells.rename(batch="group"), "recall", threshold=0.8)
    >>> figure.axes[0].get_xlabel()
    'recall'
    """
    table = worst_slices(evidence, measure, **keywords)
    said = table.attrs
    dims = list(table)[1 : list(table).index("examples")]
    # By the value and not by p_bad, so that the picture has one direction.
    worst_last = table["mean"].corr(table["p_bad"]) > 0
    table = table.sort_values("mean", ascending=not worst_last, kind="stable", ignore_index=True)
    names = [", ".join(map(str, row)) for row in table[dims].itertuples(index=False)]
    few = len(table) <= _NAMED
    height = max(2.6, _ROW * len(table) + 1.5) if few else 7.0
    shown = (
        names if few else [each for each, bad in zip(names, table["flagged"], strict=True) if bad]
    )
    width = 6.5 + 0.07 * common.widest([common.wrapped(each) for each in shown])
    with canvas((width, height), ax=ax) as page:
        _draw(page.axes, table, few)
        _name(page.axes, table, names, few)
        if said["threshold"] is not None:
            level = said["threshold"]
            page.axes.axvline(level, color=common.ink(), linestyle="--", linewidth=1, zorder=1)
        page.axes.set_xlabel(said["measure"])
        kinds = f"bars: {common.words_for(said['prob'], said['kind'])}; crosses: observed"
        page.heading(kinds, _found(table, said), common.positive_of(evidence))
    return page.figure


def _found(table, said):
    """Say how many are flagged, and how many of these to expect falsely so."""
    number = int(table["flagged"].sum())
    if not number:
        return f"none of {len(table)} flagged"
    return (
        f"{number} of {len(table)} flagged (filled), of which {said['expected_false']:.1f} falsely"
    )


def _draw(axes, table, few):
    y = np.arange(len(table))
    for flagged, paint in ((False, common.grey(0.45 if few else 0.25)), (True, common.paint(1))):
        rows = (table["flagged"] == flagged).to_numpy()
        here = table[rows]
        line = 2.0 if few else (1.2 if flagged else 0.6)
        axes.hlines(y[rows], here["lower"], here["upper"], color=paint, linewidth=line)
        face = paint if flagged else common.paper()
        size = 5.5 if few else (3.0 if flagged else 1.5)
        plain = {"linestyle": "none", "markeredgecolor": paint, "zorder": 3}
        axes.plot(here["mean"], y[rows], "o", color=face, markersize=size, **plain)
        seen = {"markersize": 4 if few else 2, "alpha": 1 if few else 0.5, "linestyle": "none"}
        axes.plot(here["observed"], y[rows], "x", color=common.grey(0.8), zorder=2, **seen)


def _name(axes, table, names, few):
    """Name the rows, or of many the worst of those flagged, as far apart as can be read."""
    number = len(table)
    axes.set_ylim(number - 0.4, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=common.grey(0.1))
    axes.set_axisbelow(True)
    if few:
        axes.set_yticks(range(number), [common.wrapped(each) for each in names])
        return
    chosen: list[int] = []
    for place in np.flatnonzero(table["flagged"]).tolist():
        if len(chosen) < _MOST and (not chosen or place - chosen[-1] >= number / 64):
            chosen.append(place)
    axes.set_yticks(chosen, [common.wrapped(names[each]) for each in chosen], fontsize=8)
    axes.set_ylabel(f"{number} slices, the worst at the top")
