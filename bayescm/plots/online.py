"""The history of an online evaluation: intervals over time, batches and alarms."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.measures.catalogue import resolve, same
from bayescm.measures.labelled import measure
from bayescm.online.rules import RULES
from bayescm.plots import common
from bayescm.validate import fail

_WIDTH, _HEIGHT, _MOST = 8.0, 2.1, 12


def plot_history(
    history: xr.Dataset,
    *,
    batches: xr.DataArray | None = None,
    alarms: pd.DataFrame | None = None,
    floor: float | Mapping[str, float] | None = None,
):
    """
    Draw the interval of every measure over time, one panel each.

    Parameters
    ----------
    history : Dataset
        As `online.Monitor.history` returns it: variables with dims (step, [class], bound), the
        coord ``at`` or else the numbers of the steps on the axis.
    batches : DataArray, optional
        The counts of each batch, dims (step, actual, predicted): their values as dots.
    alarms : DataFrame, optional
        As `online.alarms` returns them: marked at the foot of their panel; those that concern no
        single measure are marked in every panel.
    floor : float or mapping of str to float, optional
        Drawn as a line.

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
    import matplotlib.pyplot as plt

    panels = [
        (name, where)
        for name in history.data_vars
        for where in common.places(history[name], ("step", "bound"))
    ]
    if not panels or len(panels) > _MOST:
        todo = "select some: history[['recall', 'f1']]"
        raise fail("cannot draw this many panels", len(panels), f"1 to {_MOST}", todo)
    size = (_WIDTH, _HEIGHT * len(panels) + 0.6)
    figure, axes = plt.subplots(
        len(panels), figsize=size, sharex=True, squeeze=False, layout="constrained"
    )
    time = history["at"].values if "at" in history.coords else np.arange(history.sizes["step"])
    for axis, (name, where) in zip(axes[:, 0], panels, strict=True):
        _band(axis, time, history[name].sel(where))
        if batches is not None:
            _dots(axis, time, batches, name, where)
        _floor(axis, floor, name)
        if alarms is not None:
            _marks(axis, time, history, alarms, common.called(name, where), name, where)
        axis.set_ylabel(common.called(name, where))
    named = dict(zip(*_legend(axes[:, 0]), strict=True))
    figure.legend(named.values(), named, loc="outside right upper", frameon=False, fontsize=8)
    axes[-1, 0].set_xlabel("time" if "at" in history.coords else "batch")
    if "at" in history.coords:
        figure.autofmt_xdate()
    common.heading(figure, common.positive_of(history), f"{history.sizes['step']} batches")
    return common.finish(figure)


def _legend(axes):
    """Return labels and what they stand for, of all panels."""
    pairs = [axis.get_legend_handles_labels() for axis in axes]
    return [label for _, each in pairs for label in each], [h for each, _ in pairs for h in each]


def _band(axis, time, ends):
    lower, upper = ends.sel(bound="lower").values, ends.sel(bound="upper").values
    axis.fill_between(
        time, lower, upper, color=common.PALETTE[0], alpha=0.3, lw=0, label="interval"
    )
    for edge in (lower, upper):
        axis.plot(time, edge, color=common.PALETTE[0], lw=1)


def _dots(axis, time, batches, name, where):
    values = measure(batches, resolve(str(name)))[name].sel(where).values
    axis.plot(time, values, ".", color=common.GREY, ms=3, label="batch")


def _floor(axis, floor, name):
    if isinstance(floor, Mapping):
        floor = next((value for each, value in floor.items() if same(each, str(name))), None)
    if floor is not None:
        axis.axhline(floor, color=common.GREY, ls="--", lw=1, label="floor")


def _marks(axis, time, history, alarms, label, name, where):
    """Mark the alarms of this panel's measure, and of none in particular, at its foot."""
    names = {label, str(name) if not where else f"{name}[{where['class']}]", "answers"}
    mine = alarms[alarms["measure"].isin(names)]
    place = {step: i for i, step in enumerate(history["step"].values.tolist())}
    for index, rule in enumerate(RULES):
        steps = mine.loc[mine["rule"] == rule, "step"]
        if len(steps):
            axis.plot(
                [time[place[step]] for step in steps],
                [0.05 + 0.08 * index] * len(steps),
                common.MARKERS[index],
                color=common.PALETTE[1 + index],
                ms=5,
                ls="none",
                transform=axis.get_xaxis_transform(),
                label=f"alarm: {rule}",
            )
