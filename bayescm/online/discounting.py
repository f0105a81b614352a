"""
How much earlier batches count: the evidence in force after each batch of a series.

With the batches y_1, y_2 ..., tables of counts, the evidence in force after batch t is

    n_t  =  forgetting * n_{t-1} + y_t          all of it for a forgetting of 1, or
    n_t  =  y_{t-w+1} + ... + y_t               for a window of w batches.

The prior is not forgotten. In the words of dynamic models `forgetting` is a discount factor.

References
----------
West, M. & Harrison, J. (1997). Bayesian Forecasting and Dynamic Models, 2nd ed.
Springer. doi:10.1007/b98971
"""

import numpy as np
import xarray as xr

from bayescm.evidence.counts import as_counts
from bayescm.validate import check_whole, fail


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
    return discounted(as_counts(counts), forgetting=forgetting, window=window).rename("counts")


def discounted(
    tables: xr.DataArray, *, forgetting: float = 1.0, window: int | None = None
) -> xr.DataArray:
    """Return the evidence in force at every step, of tables of any shape; see `accumulate`."""
    forgetting, axis = check_forgetting(forgetting), step_axis(tables)
    if window is not None:
        sums = _window_sums(tables.values, axis, check_window(window, forgetting))
        return tables.copy(data=sums)
    if forgetting == 1:
        return tables.copy(data=tables.values.cumsum(axis))
    from scipy.signal import lfilter

    sums = lfilter([1.0], [1.0, -forgetting], tables.values.astype(float), axis)
    return tables.copy(data=sums)


def _window_sums(values, axis, window):
    values = np.moveaxis(values, axis, 0)
    if values.dtype.kind == "f":  # each sum anew: differences of sums would leave rounding errors
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
    of_steps = [name for name, coord in counts.coords.items() if "step" in coord.dims]
    return counts.drop_vars(of_steps).pad(step=(0, int(steps)), constant_values=0)


def step_axis(tables: xr.DataArray) -> int:
    """Return the axis of the steps, or raise where there is none."""
    if "step" not in tables.dims:
        todo = "name the axis of time: from_matrix(tables, dims=('step',)), or by={'step': week}"
        raise fail("the counts have no steps", tables.dims, "a dim step", todo)
    return tables.dims.index("step")


def check_single_series(counts: xr.DataArray) -> None:
    """Raise where counts are not those of one series: dims (step, actual, predicted)."""
    if step_axis(counts) or counts.ndim != 3:
        allowed, todo = "(step, actual, predicted)", "select one of them"
        raise fail("only one series at a time", counts.dims, allowed, todo)


def check_forgetting(forgetting: float) -> float:
    """Return the discount factor, or raise where it is not in (0, 1]."""
    if not isinstance(forgetting, int | float | np.number) or not 0 < forgetting <= 1:
        todo = "pass forgetting=0.98 to remember about fifty batches, or 1 to remember all"
        raise fail("forgetting must lie between 0 and 1", forgetting, "0 < forgetting <= 1", todo)
    return float(forgetting)


def check_window(window: int, forgetting: float) -> int:
    """Return the number of batches, or raise where it is none or there is forgetting too."""
    check_whole("window", window, 1, "batches", 20)
    if forgetting != 1:
        got = {"window": window, "forgetting": forgetting}
        raise fail(
            "window and forgetting exclude each other", got, "only one of them", "leave one out"
        )
    return int(window)
