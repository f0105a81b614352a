"""Learning curves, with the interval of every size."""

from typing import TYPE_CHECKING

import pandas as pd

from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_learning_curve(table: pd.DataFrame, *, ax: "Axes | None" = None) -> "Figure":
    """
    Draw a measure by the number of examples trained on, with its intervals.

    Parameters
    ----------
    table : DataFrame
        From `bayescm.learning_curve`, of one measure; a line for each classifier or class. What
        the intervals are is said by its ``attrs``, ``prob`` and ``kind``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the table is of several measures or of too many lines to tell apart, or is not a
        learning curve.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"size": [50, 100], "measure": "f1", "mean": [0.6, 0.7]}
    >>> table = pd.DataFrame(rows | {"lower": [0.4, 0.6], "upper": [0.8, 0.8]})
    >>> figure = plot_learning_curve(table)
    """
    needed = ["size", "measure", "mean", "lower", "upper"]
    if not set(needed) <= set(table):
        raise fail("not a learning curve", list(table), needed, "use learning_curve()")
    names = table["measure"].unique().tolist()
    if len(names) != 1:
        todo = 'select one: table[table["measure"] == "f1"]'
        raise fail("one measure at a time", names, "one", todo)
    by = [name for name in ("classifier", "class") if name in table]
    parts = list(table.groupby(by, sort=False)) if by else [((None,), table)]
    common.check_few(parts)
    with canvas((5.5, 3.6), ax=ax) as page:
        axes = page.axes
        for place, (name, rows) in enumerate(parts):
            rows, paint = rows.sort_values("size"), common.paint(place)
            label = " ".join(str(each) for each in name if each is not None) or None
            marker = common.MARKERS[place]
            axes.plot(
                rows["size"], rows["mean"], color=paint, label=label, marker=marker, markersize=4
            )
            ends = rows["lower"], rows["upper"]
            axes.fill_between(rows["size"], *ends, alpha=0.2, color=paint, linewidth=0)
        axes.set(xlabel="examples to train on", ylabel=names[0])
        axes.spines[["top", "right"]].set_visible(False)
        if by:
            axes.legend()
        known = table.attrs
        words = common.words_for(known["prob"], known["kind"]) if "prob" in known else ""
        page.heading("line: mean", f"band: {words}" if words else "")
    return page.figure
