"""Plots for planning: how the width of an interval shrinks with the size of the test set."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescm.measures.catalogue import resolve
from bayescm.planning import width_curve
from bayescm.plots import common
from bayescm.plots.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_plan(
    measure: str | Callable,
    *,
    width: float | None = None,
    n: int | None = None,
    assurance: float = 0.9,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw the expected width of a measure's interval against the size of the test set.

    Parameters
    ----------
    measure : str or callable
        A measure of two classes.
    width : float, optional
        The width wanted, drawn as a line.
    n : int, default 1000
        The size of interest: the axis runs from a tenth to three times this.
    assurance : float in (0, 1)
        Probability that the interval is no wider than the upper curve.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    **keywords
        ``expect`` or ``pilot``, ``prob`` and ``kind``; see `bayescm.plan`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> figure = plot_plan("recall", expect=0.85, width=0.1, n=226)
    >>> figure.axes[0].get_xlabel()
    'positives'
    """
    middle = n or 1000
    sizes = np.unique(np.geomspace(max(4, middle / 10), 3 * middle, 25).astype(int))
    curve = width_curve(measure, sizes, assurance=assurance, **keywords)
    kernel = resolve(measure)
    with canvas((6, 3.6), ax=ax) as page:
        axes = page.axes
        axes.plot(curve["n"], curve["mean"], color=common.paint(0), label="mean")
        label = f"kept with {100 * assurance:g}% assurance"
        axes.plot(curve["n"], curve["assured"], color=common.paint(1), ls="--", label=label)
        if width is not None:
            axes.axhline(width, color=common.grey(), lw=0.8)
        if n is not None:
            axes.axvline(n, color=common.grey(), lw=0.8)
            top = (n, axes.get_ylim()[1])
            axes.annotate(f"n = {n:,}", top, (4, -12), textcoords="offset points")
        ticks = [t for k in range(9) for t in (10**k, 2 * 10**k, 5 * 10**k)]
        ticks = [t for t in ticks if sizes[0] <= t <= sizes[-1]]
        axes.set(xscale="log", xlabel=kernel.unit or "examples", ylabel="width of the interval")
        axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        words = common.words_for(keywords.get("prob", 0.95), keywords.get("kind", "hdi"))
        page.heading(f"{kernel.__name__}: {words}")
    return page.figure
