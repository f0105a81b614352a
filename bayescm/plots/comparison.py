"""Plots of comparisons: differences between classifiers with their intervals."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayescm.distributions.decision import chance, check_rope
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import check_is, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_differences(
    table: pd.DataFrame,
    *,
    rope: Any = None,
    prob: float = 0.95,
    kind: str = "hdi",
    contrast: str = "difference",
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw the differences of a comparison, one row each.

    Parameters
    ----------
    table : DataFrame
        As `bayescm.compare` returns it.
    rope : float or (float, float), optional
        Differences smaller than this, or inside it, count as equivalent: drawn as a grey band.
    prob, kind : float, str
        Mass and kind of the intervals in the table, for the heading.
    contrast : {"difference", "ratio"}
        What the table holds.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure. The probabilities stand to the right of the axes.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> both = bcm.from_classifiers([1, 1, 0, 0] * 9, {"a": [1, 1, 0, 1] * 9, "b": [1, 0] * 18})
    >>> len(plot_differences(bcm.compare(both, ["accuracy", "recall"])).axes)
    1
    """
    allowed, todo = "the table of a comparison", "pass compare(evidence, measures)"
    check_is(table, pd.DataFrame, allowed, "a DataFrame", todo)
    lacking = [name for name in ("measure", "lower", "upper", "p_better") if name not in table]
    if lacking:
        raise fail(f"not {allowed}", list(table.columns), f"with a column {lacking[0]}", todo)
    rows = np.arange(len(table))[::-1]
    labels = _labels(table, "/" if contrast == "ratio" else "−")
    tall = 0.19 * max(each.count("\n") + 1 for each in labels) + 0.12
    size = (6.4 + 0.075 * common.widest(labels), 1.3 + max(tall, 0.42) * len(table))
    none = 1.0 if contrast == "ratio" else 0.0
    low, high = check_rope(rope)
    with canvas(size, ax=ax) as page:
        axes = page.axes
        axes.axvline(none, color=common.grey(), lw=0.8)
        if low < high:
            axes.axvspan(none + low, none + high, color=common.grey(0.12), zorder=0)
        for row, values in zip(rows, table.itertuples(), strict=True):
            axes.plot([values.lower, values.upper], [row, row], color=common.paint(0), lw=2)
            axes.plot(values.mean, row, "o", color=common.paint(0), mfc=common.paper())
            where = axes.get_yaxis_transform()
            text, style = f"P(better) {chance(values.p_better)}", {"color": common.grey()}
            axes.text(1.01, row, text, style, transform=where, va="center", fontsize=8)
        axes.set_yticks(rows, labels)
        axes.set_ylim(-0.6, len(table) - 0.4)
        axes.set_xlabel(contrast)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        paired = "same examples" if table["paired"].all() else "independent test sets"
        band = "grey: equivalent" if low < high else ""
        page.heading(f"dot: mean; bar: {common.words_for(prob, kind)}", paired, band)
    return page.figure


def _labels(table, sign):
    """Return what each row is about: the places in front, the measure and the pair."""
    places = table.columns[: table.columns.get_loc("measure")]
    labels = []
    for _, row in table.iterrows():
        measure = " ".join(map(str, [*row[places], row["measure"]]))
        pair = f"{row['first']} {sign} {row['second']}"
        if len(measure) + len(pair) <= 32:
            labels.append(f"{measure}: {pair}")
        else:
            sides = common.wrapped(f"{row['first']} {sign}"), common.wrapped(row["second"])
            labels.append("\n".join([f"{measure}:", *sides]))
    return labels
