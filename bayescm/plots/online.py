"""Plots of the history of an online evaluation: intervals over time, batches and alarms."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.measure import measure
from bayescm.measures.catalogue import resolve
from bayescm.measures.display_names import DisplayNames
from bayescm.online import log_bayes_factor
from bayescm.online.encoding import CHANGING
from bayescm.online.rules import RULES, floor_of, value_name
from bayescm.plots import style
from bayescm.plots.canvas import band, bare, canvas
from bayescm.plots.paper import is_narrow
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 8.0  # width of the figure in inches
_HEIGHT = 2.1  # height of a panel in inches
_MOST = 12  # largest number of legible panels


def plot_history(
    history: xr.Dataset,
    *,
    batches: xr.DataArray | xr.Dataset | None = None,
    alarms: pd.DataFrame | None = None,
    floor: float | Mapping[str, float] | None = None,
    tolerated: Mapping[str, tuple[float, float]] | None = None,
    title: str | None = None,
    colors: style.Colors = None,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the interval of every measure over time, with one panel for each.

    Parameters
    ----------
    history : Dataset
        Result of `online.Monitor.history`: variables with dims (step, [class], bound). The x axis
        shows the coordinate ``at`` or, without it, step numbers. A line marks each restart that the
        coordinate ``since`` indicates.
    batches : DataArray or Dataset, optional
        Counts of each batch, dims (step, actual, predicted), or values as returned by ``observed``
        of a monitor. They are shown as dots.
    alarms : DataFrame, optional
        Result of `online.alarms`. Alarms are marked in the panel of their measure, at the value of
        their batch. A change in the predictions is marked in the panels of measures that depend on
        an affected class or, without ``batches``, in every panel.
    floor : float or mapping of str to float, optional
        Worst acceptable values, shown as lines.
    tolerated : mapping of str to pairs of float, optional
        Tolerated range of a measure, as returned by `online.Monitor.tolerated`. It is shown as two
        lines.
    title : str, optional
        First part of the heading, such as the name of the classifier.
    colors : mapping of str to color, optional
        Colour of the band, ``{"interval": "tab:purple"}``.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on, for a single measure. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[18, 17, 19], fn=[2, 3, 1], fp=3, tn=17).rename(batch="step")
    >>> history = bcm.online.history(weeks, ["recall", "f1"])
    >>> len(plot_history(history, batches=weeks, floor={"recall": 0.8}).axes)
    2
    """
    panels = [
        (name, where)
        for name in history.data_vars
        for where in style.panels(history[name], ("step", "bound"))
    ]
    if not panels or len(panels) > _MOST:
        todo = "select some: history[['recall', 'f1']]"
        raise fail(f"The plot needs 1 to {_MOST} panels", len(panels), "", todo)
    timed = "at" in history.coords
    time = history["at"].values if timed else np.arange(history.sizes["step"])
    changed = _changed_classes(batches, alarms)
    size = (_WIDTH, _HEIGHT * len(panels) + 0.6)
    look = style.roles(["interval"], colors)["interval"]
    with canvas(size, ax=ax, number=len(panels), sharex=True) as page:
        for axes, (name, where) in zip(page.panels, panels, strict=True):
            ends = history[name].sel(where)
            heights = ends.mean("bound").values
            ends = ends.transpose("step", "bound").sel(bound=["lower", "upper"])
            for part in _parts(history):
                some = ends.isel(step=part)
                band(axes, time[part], some, color=look.color, edges=True, label="interval")
                if part.start:
                    axes.axvline(time[part.start], color=style.muted(), lw=1, label="change")
            if batches is not None:
                values = _draw_batches(axes, time, batches, name, where)
                heights = np.where(np.isnan(values), heights, values)
            label = value_name(str(name), where)
            if (limit := floor_of(floor, str(name), label)) is not None:
                axes.axhline(limit, color=style.muted(), ls="--", lw=1, label="floor")
            for end in (tolerated or {}).get(str(name), ()):
                axes.axhline(end, color=style.muted(), ls=":", lw=1, label="tolerated")
            if alarms is not None:
                shown = _of_panel(alarms, name, where, changed, batches)
                _mark_alarms(axes, time, history, shown, heights)
            axes.set_ylabel(style.wrapped(style.label(name, where, display_names), 22))
            bare(axes)
        _add_legend(page)
        page.panels[-1].set_xlabel("time" if timed else "batch")
        if timed and page.is_new:
            page.figure.autofmt_xdate()
        facts = history.attrs
        interval = style.interval_words(facts["prob"], facts["kind"]) if "prob" in facts else ""
        number = f"{history.sizes['step']} batches"
        positive = style.positive_class(history, display_names=display_names)
        page.heading(title or "", interval, positive, number)
    return page.figure


def _parts(history):
    """Return the segments between changes: steps whose evidence begins with the same batch."""
    number = history.sizes["step"]
    if "since" not in history.coords:
        return [slice(0, number)]
    since = history["since"].values
    starts = [0, *(np.flatnonzero(since[1:] != since[:-1]) + 1).tolist()]
    return [slice(*ends) for ends in zip(starts, [*starts[1:], number], strict=True)]


def _add_legend(page):
    """Add one legend for the lines of all panels: outside them, or inside axes of the user."""
    handles: dict[str, Any] = {}
    for axes in page.panels:
        lines, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, lines, strict=True))
    if page.is_new and is_narrow():
        location: dict[str, Any] = {
            "loc": "outside lower center",
            "frameon": False,
            "fontsize": 8,
            "ncols": 2,
        }
        page.figure.legend(handles.values(), handles, **location)
        room = 0.2 * page.scale * -(-len(handles) // 2)
        page.figure.set_figheight(page.figure.get_figheight() + room)
    elif page.is_new:
        location = {"loc": "outside right upper", "frameon": False, "fontsize": 8}
        page.figure.legend(handles.values(), handles, **location)
    else:
        page.axes.legend(handles.values(), handles, frameon=False, fontsize=8)


def _draw_batches(axes, time, batches, name, where):
    """Plot the values of the batches, and return them."""
    if not isinstance(batches, xr.Dataset):
        batches = measure(batches, resolve(str(name)))
    values = batches[name].sel(where).values
    axes.plot(time, values, ".", color=style.muted(), ms=4, label="batch")
    return values


def _changed_classes(batches, alarms):
    """Return the classes with changed predictions, for each step with a change alarm."""
    if not isinstance(batches, xr.DataArray) or alarms is None:
        return {}
    steps, begin, changed = batches["step"].values.tolist(), 0, {}
    for row in alarms[alarms["measure"].isin(CHANGING)].itertuples(index=False):
        first, last = steps.index(row.first), steps.index(row.step)
        before, after = batches[begin:first].sum("step"), batches[first : last + 1].sum("step")
        unchanged = log_bayes_factor(before, after).isel(part=slice(2, None))
        classes = (unchanged < 0).values
        changed[row.step] = classes if classes.any() else np.ones_like(classes)
        begin = first
    return changed


def _of_panel(alarms, name, where, changed, batches):
    """Return the alarms of a panel: alarms of its measure, and changes that affect it."""
    label = value_name(str(name), where)
    index = ", ".join(f"{dim} {value}" for dim, value in where.items())
    shown = alarms["measure"].isin({label, str(name), f"{name} ({index})"})
    of_answers = alarms["measure"].isin(CHANGING)
    if changed:
        classes_needed = _needed_classes(str(name), where, batches)
        steps = {step for step, classes in changed.items() if (classes & classes_needed).any()}
        of_answers &= alarms["step"].isin(steps)
    return alarms[shown | of_answers]


def _needed_classes(name, where, batches):
    """Return the classes whose predictions affect a measure."""
    labels = batches.indexes["actual"]
    size = len(labels)
    cells = np.ones((size, size)) + 3 * np.eye(size)
    measure, mask = resolve(name), np.zeros(size, bool)
    index = (labels.get_loc(where["class"]),) if where else ()
    for row in range(size):
        moved = cells.copy()
        moved[row] = np.roll(cells[row], 1)
        mask[row] = not np.isclose(measure(moved)[index], measure(cells)[index])
    return mask


def _mark_alarms(axes, time, history, alarms, heights):
    """Mark alarms at the value of their batch, with rings if several rules coincide."""
    index = {step: i for i, step in enumerate(history["step"].values.tolist())}
    rings: dict[int, int] = {}
    for number, rule in enumerate(dict.fromkeys([*RULES, *alarms["rule"]])):
        color, label = style.color(1 + number), f"alarm: {rule}"
        for step in alarms.loc[alarms["rule"] == rule, "step"]:
            i = index[step]
            rings[i] = rings.get(i, -1) + 1
            axes.plot(
                time[i],
                heights[i],
                style.MARKERS[number],
                ms=5 + 5 * rings[i],
                mfc="none" if rings[i] else color,
                mec=color,
                mew=1.4,
                zorder=4,
                ls="none",
                label=label,
            )
