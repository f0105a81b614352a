"""Plots of quality against cost, with the Pareto frontier."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from bayescm.measures.display_names import (
    DisplayNames,
    check_display_names,
    display_label,
    display_name,
)
from bayescm.plots import style
from bayescm.plots.canvas import canvas
from bayescm.plots.paper import is_narrow
from bayescm.validate import check_is, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# If costs differ by more than this factor, their axis is logarithmic.
_WIDE = 20
_NAMED = 4  # with more systems, points are numbered, and a legend names them


def plot_frontier(
    table: pd.DataFrame,
    *,
    cost_label: str = "cost",
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot quality against cost, with the probability of being on the frontier.

    Parameters
    ----------
    table : DataFrame
        Table returned by `bayescm.frontier`.
    cost_label : str, default "cost"
        Label of the cost axis, such as ``"dollars per 1,000 answers"``.
    display_names : mapping of str to str, optional
        Display names of measures and systems. See `bayescm.measures.display_name`.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Figure whose filled points are on the frontier with probability 0.5 or more. If the
        largest cost is more than 20 times the smallest, the cost axis is logarithmic.

    Raises
    ------
    ValueError
        If the table does not come from `bayescm.frontier`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"small": [1, 0, 1, 0] * 20, "large": [1, 1, 1, 0] * 20}
    >>> both = bcm.from_classifiers([1, 1, 1, 0] * 20, answers, positive=1)
    >>> table = bcm.frontier(both, "accuracy", cost={"small": 0.2, "large": 3.0})
    >>> plot_frontier(table).axes[0].get_ylabel()
    'accuracy'
    """
    todo = "pass bcm.frontier(evidence, measure, cost=...)"
    check_is(table, pd.DataFrame, "a frontier", "a DataFrame", todo)
    if missing := [name for name in ("cost", "p_frontier", "lower") if name not in table]:
        raise fail(
            f"A frontier needs a column {missing[0]}; this table has {{}}",
            list(table.columns),
            "",
            todo,
        )
    names = check_display_names(display_names)
    systems = table.iloc[:, 0]
    with canvas((6.4, 4.2), ax=ax) as page:
        axes = page.axes
        looks = style.looks_of_rows(systems, colors)
        for system, look, row in zip(systems, looks, table.itertuples(index=False), strict=True):
            on_frontier, color = row.p_frontier >= 0.5, look.color
            axes.errorbar(
                row.cost,
                row.mean,
                xerr=_lengths(row.cost, row.cost_lower, row.cost_upper),
                yerr=_lengths(row.mean, row.lower, row.upper),
                color=color,
                marker=look.marker,
                markerfacecolor=color if on_frontier else style.background(),
                lw=1.5,
            )
            written, chance = display_label(system, names), f"P(frontier) {row.p_frontier:.2f}"
            if len(table) > _NAMED or is_narrow():  # names at the points would overlap
                number = len(axes.texts) + 1
                axes.plot([], [], look.marker, color=color, label=f"{number} {written}, {chance}")
                at = {"textcoords": "offset points", "fontsize": 8, "color": style.foreground()}
                axes.annotate(str(number), (row.cost, row.mean), (3, 3), **at)
                continue
            text = f"{written}\n{chance}"
            is_last = row.cost == table["cost"].max()  # named on its left, where there is space
            axes.annotate(
                text,
                (row.cost, row.mean),
                (-6 if is_last else 6, 6),
                textcoords="offset points",
                ha="right" if is_last else "left",
                fontsize="small",
                color=style.foreground(),
            )
        positive = table["cost"][table["cost"] > 0]
        if len(positive) == len(table) and positive.max() > _WIDE * positive.min():
            axes.set_xscale("log")
        axes.margins(x=0.25, y=0.15)
        axes.set_xlabel(cost_label)
        _add_legend(page)
        measures = table["measure"].unique()
        axes.set_ylabel(display_name(measures[0], names))
        words = style.interval_words(table.attrs.get("prob", 0.95), table.attrs.get("kind", "hdi"))
        page.heading(f"dot: mean; bars: {words}", "filled: on the frontier with P ≥ 0.5", "")
    return page.figure


def _add_legend(page):
    """Add a legend with the names of the points, if the points show only numbers."""
    handles, labels = page.axes.get_legend_handles_labels()
    if not handles:
        return
    if not page.is_new:
        page.axes.legend(handles, labels, fontsize=8, frameon=False)
        return
    columns = 1 if is_narrow() else 2
    look: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": 8}
    page.figure.legend(handles, labels, ncols=columns, **look)
    room = 0.2 * page.scale * -(-len(handles) // columns)
    page.figure.set_figheight(page.figure.get_figheight() + room)


def _lengths(value, lower, upper):
    """Return the arm lengths of an error bar, whose mean may be outside its interval."""
    return [[max(value - lower, 0.0)], [max(upper - value, 0.0)]]
