"""A whole series of batches: the evidence in force at every step, and what it shows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, as_counts
from bayescm.online.settings import as_prior, check_forgetting, check_window
from bayescm.online.updating import intervals
from bayescm.validate import check_whole, fail

# Steps of a history whose bounds are right to 1e-6; of a thousand that would take some ten seconds.
_EXACT = 100


def accumulate(
    counts: xr.DataArray, *, forgetting: float = 1.0, window: int | None = None
) -> xr.DataArray:
    """
    Return the evidence in force at every step.

    Parameters
    ----------
    counts : DataArray
        The batches, with a dim ``step`` in the order of time.
    forgetting : float, default 1
        As in `update`.
    window : int, optional
        How many of the latest batches count; all by default.

    Returns
    -------
    DataArray
        Dims and coords of the counts. Its intervals equal those of one `update` after another.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[6, 7, 9], fn=[1, 2, 0], fp=3, tn=3).rename(batch="step")
    >>> accumulate(weeks).sel(actual="positive", predicted="positive").values
    array([ 6, 13, 22])
    >>> accumulate(weeks, window=2).sel(actual="positive", predicted="positive").values
    array([ 6, 13, 16])
    """
    return discounted(as_counts(counts), forgetting=forgetting, window=window)


def discounted(
    counts: xr.DataArray, *, forgetting: float = 1.0, window: int | None = None
) -> xr.DataArray:
    """Return the evidence in force at every step, of tables of any shape; see `accumulate`."""
    forgetting, axis = check_forgetting(forgetting), step_axis(counts)
    if window is not None:
        return counts.copy(data=_windowed(counts.values, axis, check_window(window, forgetting)))
    if forgetting == 1:
        return counts.cumsum("step").assign_coords(counts.coords).rename("counts")
    from scipy.signal import lfilter

    return counts.copy(data=lfilter([1.0], [1.0, -forgetting], counts.values.astype(float), axis))


def history(
    counts: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    concentration: Any = None,
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    **memory: Any,
) -> xr.Dataset:
    """
    Return the interval of every measure after every batch.

    Parameters
    ----------
    counts : DataArray
        The batches, with a dim ``step`` in the order of time.
    measures : name, function, or sequence of these
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts; the default prior if omitted.
    prob, kind, of, n
        See `intervals`.
    **memory
        ``forgetting`` or ``window``; see `accumulate`.

    Returns
    -------
    Dataset
        A variable for each measure, dims (step, [class], bound); coord ``n``, the examples of each
        batch; attributes ``prob`` and ``kind``. Of more than 100 batches bounds that are integrals
        are right to 1e-3.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[6, 7, 9], fn=[1, 2, 0], fp=3, tn=3).rename(batch="step")
    >>> history(weeks, "recall", kind="eti")["recall"].values.round(2)
    array([[0.5 , 0.98],
           [0.58, 0.94],
           [0.71, 0.97]])
    """
    counts = as_counts(counts)
    current = accumulate(counts, **memory)
    state = {"concentration": as_prior(concentration, counts), "counts": current}
    accuracy = 1e-3 if counts.sizes["step"] > _EXACT else None
    ends = intervals(
        xr.Dataset(state), measures, prob=prob, kind=kind, of=of, n=n, accuracy=accuracy
    )
    return ends.assign_coords(n=counts.sum(CELLS)).assign_attrs(prob=prob, kind=kind)


def step_axis(counts: xr.DataArray) -> int:
    """Return the axis of the steps, or raise where there is none."""
    if "step" not in counts.dims:
        todo = "name the axis of time: from_matrix(tables, dims=('step',)), or by={'step': week}"
        raise fail("the counts have no steps", counts.dims, "a dim step", todo)
    return counts.dims.index("step")


def _windowed(values, axis, window):
    values = np.moveaxis(values, axis, 0)
    if values.dtype.kind == "f":  # sums of their own: differences of sums would leave crumbs
        sums = [values[max(0, t - window + 1) : t + 1].sum(axis=0) for t in range(len(values))]
        return np.moveaxis(np.stack(sums), 0, axis)
    sums = values.cumsum(axis=0)
    sums[window:] -= sums[:-window].copy()
    return np.moveaxis(sums, 0, axis)


def with_room(counts: xr.DataArray, steps: int) -> xr.DataArray:
    """
    Append empty batches.

    The model `drifting` forecasts through them, and a series that keeps its length while they are
    filled in is refitted by NUTS without compilation.

    Parameters
    ----------
    counts : DataArray
        With a dim ``step``.
    steps : int
        How many to append, >= 0.

    Returns
    -------
    DataArray
        The coords of the steps are dropped, except for the step number.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[6, 7], fn=[1, 2], fp=3, tn=3).rename(batch="step")
    >>> with_room(weeks, 3).sizes["step"]
    5
    """
    counts = as_counts(counts)
    step_axis(counts)
    check_whole("steps", steps, 0, "batches", 10)
    own = [name for name, each in counts.coords.items() if "step" in each.dims]
    return counts.drop_vars(own).pad(step=(0, int(steps)), constant_values=0)
