"""Rank probabilities of every member."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescm.answers.compare import ranks
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
    table = ranks(evidence, measure, dim=dim, **keywords)
    columns = [name for name in table if str(name).startswith("rank_")]
    number = len(table)
    if number != len(columns):
        todo = "select along the other dims, down to one number per member"
        raise fail("more than one ranking", number, f"{len(columns)} rows", todo)
    table = table.sort_values("expected_rank", ignore_index=True)
    names = [common.wrapped(each, 24) for each in table[dim]]
    tall = 0.2 * (max(each.count("\n") for each in names) + 1)
    width = max(4.5, 0.7 * number + 2.4 + 0.08 * common.widest(names))
    with canvas((width, max(2.6, max(tall, 0.45) * number + 1.6)), ax=ax) as page:
        axes, shares = page.axes, table[columns].to_numpy()
        image = axes.imshow(shares, cmap=common.shades(), vmin=0, vmax=1, aspect="auto")
        _write(axes, shares)
        axes.set_xticks(np.arange(number), np.arange(1, number + 1))
        axes.set_yticks(np.arange(number), names)
        axes.set_xlabel("rank (1 is best)")
        axes.spines[:].set_visible(False)
        page.figure.colorbar(image, ax=axes, label="probability").outline.set_visible(False)
        page.heading(f"probability of each rank in {table['measure'][0]}")
    return page.figure


def _write(axes, shares):
    """Write each probability where it can be read; a dot stands for next to none."""
    if len(shares) > 12:
        return
    for row, column in np.ndindex(*shares.shape):
        share = shares[row, column]
        text = f"{share:.2f}" if share >= 0.005 else "·"
        colour = common.on_shade(share)
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
