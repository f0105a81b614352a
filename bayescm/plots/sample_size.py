"""Plots about sample size: learning curves, and plans for test sets."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.measures.catalogue import resolve
from bayescm.measures.display_names import DisplayNames, display_label, display_name
from bayescm.planning import width_curve
from bayescm.plots import style
from bayescm.plots.canvas import band, bare, canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_learning_curve(
    table: pd.DataFrame,
    *,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot a measure by number of training examples, with intervals.

    Parameters
    ----------
    table : DataFrame
        Table returned by `bayescm.learners.learning_curve`, with a single measure. There is a line
        for each classifier or class. The attributes ``prob`` and ``kind`` describe the intervals.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the table has several measures, too many lines for a legible plot, or is not a learning
        curve.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"size": [50, 100], "measure": "f1", "mean": [0.6, 0.7]}
    >>> table = pd.DataFrame(rows | {"lower": [0.4, 0.6], "upper": [0.8, 0.8]})
    >>> figure = plot_learning_curve(table)
    """
    required = ["size", "measure", "mean", "lower", "upper"]
    if not set(required) <= set(table):
        raise fail(
            "The table is not a learning curve; its columns are {}",
            list(table),
            required,
            "use the result of learning_curve()",
        )
    measures = table["measure"].unique().tolist()
    if len(measures) != 1:
        todo = 'select one: table[table["measure"] == "f1"]'
        raise fail("The table has several measures: {}", measures, "", todo)
    by = [name for name in ("classifier", "class") if name in table]
    curves = list(table.groupby(by, sort=False)) if by else [((), table)]
    style.check_few(curves)
    with canvas((5.5, 3.6), ax=ax) as page:
        axes = page.axes
        looks = style.looks([names for names, _ in curves], colors)
        for (names, rows), look in zip(curves, looks, strict=True):
            rows = rows.sort_values("size")
            line: dict[str, Any] = {"marker": look.marker, "markersize": 4}
            labels = [display_label(name, display_names) for name in names]
            line |= {"color": look.color, "label": " ".join(labels)}
            band(axes, rows["size"], rows[["lower", "upper"]], rows["mean"], **line)
        axes.set(xlabel="examples to train on", ylabel=display_name(measures[0], display_names))
        bare(axes)
        if by:
            axes.legend()
        facts = table.attrs
        interval = style.interval_words(facts["prob"], facts["kind"]) if "prob" in facts else ""
        page.heading("line: mean", f"band: {interval}" if interval else "")
    return page.figure


def plot_plan(
    measure: str | Callable,
    *,
    width: float | None = None,
    assurance: float = 0.9,
    expect: float | None = None,
    pilot: xr.DataArray | None = None,
    prevalence: float | None = None,
    prob: float = 0.95,
    kind: str = "hdi",
    n: int | None = None,
    colors: style.Colors = None,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the expected width of an interval against the size of the test set.

    Parameters
    ----------
    measure : str or callable
        Measure of two classes.
    width : float, optional
        Required width, shown as a line.
    assurance : float in (0, 1)
        Probability that the interval is at most as wide as the upper curve.
    expect, pilot, prevalence, prob, kind
        See `bayescm.plan`. With a prevalence, the axis shows the total number of examples, such as
        patients, and the number in the class of the measure is the expected one.
    n : int, optional
        Size of interest, by default 1000. The axis ranges from a tenth to three times this size. A
        line marks the size if it is passed.
    colors : mapping of str to color, optional
        Colours of the curves ``"mean"`` and ``"assured"``.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

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
    asked: dict[str, Any] = {"expect": expect, "pilot": pilot, "prob": prob, "kind": kind}
    widths = width_curve(measure, sizes, assurance=assurance, prevalence=prevalence, **asked)
    resolved = resolve(measure)
    unit = (resolved.unit or "examples") if prevalence is None else "examples"
    with canvas((6, 3.6), ax=ax) as page:
        axes, parts = page.axes, style.roles(["mean", "assured"], colors)
        axes.plot(widths["n"], widths["mean"], color=parts["mean"].color, label="mean")
        label = f"kept with {100 * assurance:g}% assurance"
        axes.plot(
            widths["n"], widths["assured"], color=parts["assured"].color, ls="--", label=label
        )
        if width is not None:
            axes.axhline(width, color=style.muted(), lw=0.8)
        if n is not None:
            axes.axvline(n, color=style.muted(), lw=0.8)
            top = (n, axes.get_ylim()[1])
            axes.annotate(f"n = {n:,}", top, (4, -12), textcoords="offset points")
        ticks = [t for k in range(9) for t in (10**k, 2 * 10**k, 5 * 10**k)]
        ticks = [t for t in ticks if sizes[0] <= t <= sizes[-1]]
        axes.set(xscale="log", xlabel=unit, ylabel="width of the interval")
        axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
        axes.minorticks_off()
        bare(axes)
        axes.legend(frameon=False)
        interval = style.interval_words(prob, kind)
        page.heading(f"{display_name(resolved, display_names)}: {interval}")
    return page.figure
