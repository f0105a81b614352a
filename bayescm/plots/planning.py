"""Plots for planning: how the width of an interval shrinks with the size of the test set."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayescm.measures.catalogue import resolve
from bayescm.planning import width_curve
from bayescm.plots import common


def plot_plan(
    measure: str | Callable,
    *,
    width: float | None = None,
    n: int | None = None,
    assurance: float = 0.9,
    **keywords: Any,
):
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
    **keywords
        ``expect`` or ``pilot``, ``prob`` and ``kind``; see `bayescm.plan`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib import pyplot as plt

    middle = n or 1000
    sizes = np.unique(np.geomspace(max(4, middle / 10), 3 * middle, 25).astype(int))
    curve = width_curve(measure, sizes, assurance=assurance, **keywords)
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    axes.plot(curve["n"], curve["mean"], color=common.PALETTE[0], label="mean")
    label = f"kept with {100 * assurance:g}% assurance"
    axes.plot(curve["n"], curve["assured"], color=common.PALETTE[1], ls="--", label=label)
    if width is not None:
        axes.axhline(width, color=common.GREY, lw=0.8)
    if n is not None:
        axes.axvline(n, color=common.GREY, lw=0.8)
        axes.annotate(f"n = {n:,}", (n, axes.get_ylim()[1]), (4, -12), textcoords="offset points")
    ticks = [t for k in range(9) for t in (10**k, 2 * 10**k, 5 * 10**k)]
    ticks = [t for t in ticks if sizes[0] <= t <= sizes[-1]]
    kernel = resolve(measure)
    axes.set(xscale="log", xlabel=kernel.unit or "examples", ylabel="width of the interval")
    axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
    axes.minorticks_off()
    words = common.words_for(keywords.get("prob", 0.95), keywords.get("kind", "hdi"))
    axes.set_title(f"{kernel.__name__}: {words}", fontsize=10)
    axes.legend(frameon=False)
    return common.finish(figure)
