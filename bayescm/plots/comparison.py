"""Plots of comparisons: differences between classifiers with their intervals."""

from typing import Any

import numpy as np
import pandas as pd

from bayescm.answers.decision import chance, check_rope
from bayescm.plots import common


def plot_differences(
    table: pd.DataFrame,
    *,
    rope: Any = None,
    prob: float = 0.95,
    kind: str = "hdi",
    contrast: str = "difference",
):
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
    from matplotlib import pyplot as plt

    rows = np.arange(len(table))[::-1]
    figure, axes = plt.subplots(figsize=(7, 1.1 + 0.42 * len(table)), layout="constrained")
    none = 1.0 if contrast == "ratio" else 0.0
    axes.axvline(none, color=common.GREY, lw=0.8)
    low, high = check_rope(rope)
    if low < high:
        axes.axvspan(none + low, none + high, color="0.9", zorder=0)
    for row, values in zip(rows, table.itertuples(), strict=True):
        axes.plot([values.lower, values.upper], [row, row], color=common.PALETTE[0], lw=2)
        axes.plot(values.mean, row, "o", color=common.PALETTE[0], mfc="white")
        text = f"P(better) {chance(values.p_better)}"
        where = (1.01, row)
        place: dict[str, Any] = {
            "xycoords": ("axes fraction", "data"),
            "va": "center",
            "fontsize": 8,
        }
        axes.annotate(text, where, color=common.GREY, **place)
    axes.set_yticks(rows, _labels(table, "/" if contrast == "ratio" else "-"))
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel(contrast)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    paired = "same examples" if table["paired"].all() else "independent test sets"
    common.heading(figure, f"mean and {common.words_for(prob, kind)}", paired)
    return common.finish(figure)


def _labels(table, sign):
    """Return what each row is about: the places in front, the measure and the pair."""
    places = table.columns[: table.columns.get_loc("measure")]
    return [
        " ".join(
            [*map(str, row[places]), f"{row['measure']}: {row['first']} {sign} {row['second']}"]
        )
        for _, row in table.iterrows()
    ]
