"""The history of an online evaluation: intervals over time, batches and alarms."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.measures.catalogue import resolve, same
from bayescm.measures.labelled import measure
from bayescm.online import change, log_bayes_factor
from bayescm.online.rules import RULES
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT, _MOST = 8.0, 2.1, 12


def plot_history(
    history: xr.Dataset,
    *,
    batches: xr.DataArray | xr.Dataset | None = None,
    alarms: pd.DataFrame | None = None,
    floor: float | Mapping[str, float] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw the interval of every measure over time, one panel each.

    Parameters
    ----------
    history : Dataset
        As `online.Monitor.history` returns it: variables with dims (step, [class], bound), the
        coord ``at`` or else the numbers of the steps on the axis.
    batches : DataArray or Dataset, optional
        The counts of each batch, dims (step, actual, predicted), or the values themselves, as
        ``observed`` of a monitor returns them: dots.
    alarms : DataFrame, optional
        As `online.alarms` returns them: marked in the panel of their measure, at the value of
        their batch. A change in the answers is marked where the measure depends on a class whose
        answers have changed; without the batches, in every panel.
    floor : float or mapping of str to float, optional
        Drawn as a line.
    ax : matplotlib.axes.Axes, optional
        Where to draw a single measure; by default a new figure.

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
        for where in common.places(history[name], ("step", "bound"))
    ]
    if not panels or len(panels) > _MOST:
        todo = "select some: history[['recall', 'f1']]"
        raise fail("cannot draw this many panels", len(panels), f"1 to {_MOST}", todo)
    timed = "at" in history.coords
    time = history["at"].values if timed else np.arange(history.sizes["step"])
    changed = _changed(batches, alarms)
    size = (_WIDTH, _HEIGHT * len(panels) + 0.6)
    with canvas(size, ax=ax, number=len(panels), sharex=True) as page:
        for axis, (name, where) in zip(page.panels, panels, strict=True):
            ends = history[name].sel(where)
            at = ends.mean("bound").values
            _band(axis, time, ends)
            if batches is not None:
                values = _dots(axis, time, batches, name, where)
                at = np.where(np.isnan(values), at, values)
            _floor(axis, floor, name)
            if alarms is not None:
                mine = _of_panel(alarms, name, where, changed, batches)
                _marks(axis, time, history, mine, at)
            axis.set_ylabel(common.wrapped(common.called(name, where), 22))
            axis.spines[["top", "right"]].set_visible(False)
        _name(page, timed)
        told = history.attrs
        words = common.words_for(told["prob"], told["kind"]) if "prob" in told else ""
        page.heading(words, common.positive_of(history), f"{history.sizes['step']} batches")
    return page.figure


def _name(page, timed):
    """Name the lines of all panels beside them, and the axis of time below them."""
    named = dict(zip(*_legend(page.panels), strict=True))
    if page.own:
        where = {"loc": "outside right upper", "frameon": False, "fontsize": 8}
        page.figure.legend(named.values(), named, **where)
    else:
        page.axes.legend(named.values(), named, frameon=False, fontsize=8)
    page.panels[-1].set_xlabel("time" if timed else "batch")
    if timed and page.own:
        page.figure.autofmt_xdate()


def _legend(axes):
    """Return labels and what they stand for, of all panels."""
    pairs = [axis.get_legend_handles_labels() for axis in axes]
    return [label for _, each in pairs for label in each], [h for each, _ in pairs for h in each]


def _band(axis, time, ends):
    lower, upper = ends.sel(bound="lower").values, ends.sel(bound="upper").values
    colour = common.paint(0)
    axis.fill_between(time, lower, upper, color=colour, alpha=0.3, lw=0, label="interval")
    for edge in (lower, upper):
        axis.plot(time, edge, color=colour, lw=1)


def _dots(axis, time, batches, name, where):
    """Draw the values of the batches, and return them."""
    if not isinstance(batches, xr.Dataset):
        batches = measure(batches, resolve(str(name)))
    values = batches[name].sel(where).values
    axis.plot(time, values, ".", color=common.grey(), ms=4, label="batch")
    return values


def _floor(axis, floor, name):
    if isinstance(floor, Mapping):
        floor = next((value for each, value in floor.items() if same(each, str(name))), None)
    if floor is not None:
        axis.axhline(floor, color=common.grey(), ls="--", lw=1, label="floor")


def _changed(batches, alarms):
    """Return for each step with an alarm of a change the classes whose answers have changed."""
    told = isinstance(batches, xr.DataArray) and alarms is not None
    if not told or not (alarms["measure"] == "answers").any():
        return {}
    latest, found = change(batches)["latest"], {}
    for step in alarms.loc[alarms["measure"] == "answers", "step"]:
        first = list(batches["step"].values).index(latest.sel(step=step).item())
        last = list(batches["step"].values).index(step)
        before, after = batches[:first].sum("step"), batches[first : last + 1].sum("step")
        unchanged = log_bayes_factor(before, after).isel(part=slice(2, None))
        apart = (unchanged < 0).values
        found[step] = apart if apart.any() else np.ones_like(apart)
    return found


def _of_panel(alarms, name, where, changed, batches):
    """Return the alarms of a panel: of its measure, and changes of what the measure depends on."""
    label = f"{name}[{where['class']}]" if where else str(name)
    mine = alarms["measure"].isin({label, str(name), common.called(name, where)})
    if changed:
        needs = _needs(str(name), where, batches)
        hit = {step for step, classes in changed.items() if (classes & needs).any()}
        mine |= (alarms["measure"] == "answers") & alarms["step"].isin(hit)
    else:
        mine |= alarms["measure"] == "answers"
    return alarms[mine]


def _needs(name, where, batches):
    """Say on which classes' answers a measure depends: whose answers move it when they move."""
    labels = batches.indexes["actual"]
    size = len(labels)
    cells = np.ones((size, size)) + 3 * np.eye(size)
    kernel, found = resolve(name), np.zeros(size, bool)
    place = (labels.get_loc(where["class"]),) if where else ()
    for row in range(size):
        moved = cells.copy()
        moved[row] = np.roll(cells[row], 1)
        found[row] = not np.isclose(kernel(moved)[place], kernel(cells)[place])
    return found


def _marks(axis, time, history, alarms, at):
    """Mark alarms at the value of their batch, in rings where several rules meet at one."""
    place = {step: i for i, step in enumerate(history["step"].values.tolist())}
    rings: dict[int, int] = {}
    for index, rule in enumerate(dict.fromkeys([*RULES, *alarms["rule"]])):
        colour, label = common.paint(1 + index), f"alarm: {rule}"
        for step in alarms.loc[alarms["rule"] == rule, "step"]:
            i = place[step]
            rings[i] = rings.get(i, -1) + 1
            axis.plot(
                time[i],
                at[i],
                common.MARKERS[index],
                ms=5 + 5 * rings[i],
                mfc="none" if rings[i] else colour,
                mec=colour,
                mew=1.4,
                zorder=4,
                ls="none",
                label=label,
            )
