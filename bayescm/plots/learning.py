"""Learning curves, with the interval of every size."""

from typing import TYPE_CHECKING

import pandas as pd

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
        From `bayescm.learning_curve`, of one measure; a line for each classifier or class.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the table is of several measures, or no learning curve.

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
    parts = table.groupby(by, sort=False) if by else [((None,), table)]
    with canvas((5.5, 3.6), ax=ax) as page:
        axes = page.axes
        for name, rows in parts:
            rows = rows.sort_values("size")
            label = " ".join(str(each) for each in name if each is not None) or None
            (line,) = axes.plot(rows["size"], rows["mean"], marker="o", markersize=4, label=label)
            ends = rows["lower"], rows["upper"]
            axes.fill_between(rows["size"], *ends, alpha=0.2, color=line.get_color())
        axes.set(xlabel="examples to train on", ylabel=names[0])
        if by:
            axes.legend()
    return page.figure
