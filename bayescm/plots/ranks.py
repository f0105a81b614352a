"""Ranks of every member: their probabilities, the sets that hold jointly, and tiers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescm.answers.ranking.ranks import ranks
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_ranks(
    evidence: Any,
    measure: str | Callable,
    *,
    dim: str = "classifier",
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw the probability of every rank for every member.

    Parameters
    ----------
    evidence, measure, dim
        As :func:`bayescm.ranks` takes them, but for one measure.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    **keywords
        The remaining keywords of :func:`bayescm.ranks`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the evidence holds more than one ranking.

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"a": [1, 0, 0, 0, 1], "b": [1, 1, 0, 0, 0]}
    >>> both = bcm.from_classifiers([1, 1, 0, 0, 0], answers)
    >>> plot_ranks(both, "accuracy", random_seed=0).axes[0].get_xlabel()
    'rank (1 is best)'
    """
    table = _one(ranks(evidence, measure, dim=dim, **keywords)).sort_values("expected_rank")
    columns, number = [name for name in table if str(name).startswith("rank_")], len(table)
    names = [common.wrapped(each, 24) for each in table[dim]]
    width = max(4.5, 0.7 * number + 2.4 + 0.08 * common.widest(names))
    with canvas((width, max(2.6, max(_tall(names), 0.45) * number + 1.6)), ax=ax) as page:
        axes, shares = page.axes, table[columns].to_numpy()
        image = axes.imshow(shares, cmap=common.shades(), vmin=0, vmax=1, aspect="auto")
        _write(axes, shares)
        axes.set_xticks(np.arange(number), np.arange(1, number + 1))
        axes.set_yticks(np.arange(number), names)
        axes.set_xlabel("rank (1 is best)")
        axes.spines[:].set_visible(False)
        page.figure.colorbar(image, ax=axes, label="probability").outline.set_visible(False)
        page.heading(f"probability of each rank in {table['measure'].iloc[0]}")
    return page.figure


def plot_tiers(
    evidence: Any,
    measure: str | Callable,
    *,
    dim: str = "classifier",
    prob: float = 0.95,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw the set of ranks of every member, and who is not told apart.

    A bar is the set of ranks of a member; all of them hold jointly. To the right stand the tiers:
    a line through the members of each, who are not told apart. Two members that share no line are,
    which the bars of a critical-difference diagram cannot promise.

    Parameters
    ----------
    evidence, measure, dim, prob
        As :func:`bayescm.ranks` takes them, but for one measure.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    **keywords
        The remaining keywords of :func:`bayescm.ranks`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the evidence holds more than one ranking.

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"a": [1, 0, 0, 0, 1], "b": [1, 1, 0, 0, 0]}
    >>> both = bcm.from_classifiers([1, 1, 0, 0, 0], answers)
    >>> plot_tiers(both, "accuracy", random_seed=0).axes[0].get_xlabel()
    'rank (1 is best)'
    """
    table = _one(ranks(evidence, measure, dim=dim, prob=prob, **keywords))
    table = table.sort_values("expected_rank", ignore_index=True)
    number, names = len(table), [common.wrapped(each, 30) for each in table[dim]]
    tiers = _members(table["tiers"])
    width = 4 + 0.085 * common.widest(names) + 0.1 * number + 0.22 * len(tiers)
    with canvas((width, max(2.2, max(_tall(names), 0.32) * number + 1.3)), ax=ax) as page:
        axes, rows = page.axes, np.arange(number)
        ends = table["best_rank"] - 0.3, table["worst_rank"] + 0.3
        axes.barh(rows, ends[1] - ends[0], 0.42, ends[0], color=common.paint(0), alpha=0.35)
        axes.plot(table["expected_rank"], rows, "o", color=common.paint(0), mfc=common.paper())
        _draw_tiers(axes, tiers, number)
        axes.set_yticks(rows, names)
        axes.set_ylim(number - 0.4, -0.6)
        axes.set_xlabel("rank (1 is best)")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_bounds(1, number)
        axes.tick_params(axis="y", length=0)
        page.heading(
            f"{table['measure'][0]} · dot: expected rank",
            f"bar: its set of ranks, {100 * prob:g}% for all jointly",
            "line: not told apart",
        )
    return page.figure


def _one(table):
    """Return the table if it is of one ranking, or raise."""
    number = sum(str(name).startswith("rank_") for name in table)
    if len(table) != number:
        todo = "select along the other dims, down to one number per member"
        raise fail("more than one ranking", len(table), f"{number} rows", todo)
    return table


def _members(tiers):
    """Return the rows of each tier."""
    known: dict[int, list[int]] = {}
    for row, text in enumerate(tiers):
        for each in text.split(", "):
            known.setdefault(int(each), []).append(row)
    return [known[each] for each in sorted(known)]


def _draw_tiers(axes, tiers, number):
    """Draw a line through the members of each tier, beside the ranks."""
    from matplotlib.ticker import FixedLocator

    step = max(0.3, number * 0.045)
    first = number + 0.4 + step
    for place, rows in enumerate(tiers):
        at = first + place * step
        axes.plot([at] * len(rows), rows, "-", color=common.grey(0.35), lw=1.2)
        axes.plot([at] * len(rows), rows, "o", color=common.ink(), ms=4)
    axes.set_xlim(0.4, first + len(tiers) * step - step / 2)
    every = max(1, -(-number // 10))
    ticks = sorted({1, *range(every, number + 1, every)})
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    middle = first + (len(tiers) - 1) * step / 2
    axes.text(middle, -0.75, "tiers", ha="center", va="bottom", color=common.grey(), fontsize=8)


def _tall(names):
    """Return the inches of the tallest name."""
    return 0.2 * (max(each.count("\n") for each in names) + 1)


def _write(axes, shares):
    """Write each probability where it can be read; a dot stands for next to none."""
    if len(shares) > 12:
        return
    for row, column in np.ndindex(*shares.shape):
        share = shares[row, column]
        text = f"{share:.2f}" if share >= 0.005 else "·"
        colour = common.on_shade(share)
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
