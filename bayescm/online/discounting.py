"""
Discounting of earlier batches: the current evidence after each batch of a series.

With tables of counts y_1, y_2, ..., the current evidence after batch t is

    n_t  =  forgetting * n_{t-1} + y_t          (1: all batches have full weight), or
    n_t  =  y_{t-w+1} + ... + y_t               for a window of w batches.

The prior is not discounted. In dynamic models, `forgetting` is called a discount factor.

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
    Return the current evidence at every step.

    Parameters
    ----------
    counts : DataArray
        The batches, in time order along a dimension ``step``.
    forgetting : float, default 1
        Discount factor; see `update`.
    window : int, optional
        Number of most recent batches to use. All batches are used by default.

    Returns
    -------
    DataArray
        Evidence with the dimensions and coordinates of the counts. It gives the same intervals as
        successive calls to `update`.

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
    """Return the result of `accumulate` for tables of any shape."""
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
    if values.dtype.kind == "f":  # differences of cumulative sums would have rounding errors
        sums = [values[max(0, t - window + 1) : t + 1].sum(axis=0) for t in range(len(values))]
        return np.moveaxis(np.stack(sums), 0, axis)
    sums = values.cumsum(axis=0)
    sums[window:] -= sums[:-window].copy()
    return np.moveaxis(sums, 0, axis)


def with_room(counts: xr.DataArray, steps: int) -> xr.DataArray:
    """
    Append empty batches.

    The model `drifting` forecasts the empty batches. If the series keeps its length while the empty
    batches are filled in, NUTS refits the model without compiling it again.

    Parameters
    ----------
    counts : DataArray
        Counts with a dimension ``step``.
    steps : int
        Number of batches to append, >= 0.

    Returns
    -------
    DataArray
        Padded counts. The coordinates of the steps are dropped, except for the step number.

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
    """Return the axis of the steps, or raise an error if it is missing."""
    if "step" not in tables.dims:
        todo = "name the axis of time: from_matrix(tables, dims=('step',)), or by={'step': week}"
        raise fail("The counts need a dimension step; they have {}", tables.dims, "", todo)
    return tables.dims.index("step")


def check_single_series(counts: xr.DataArray) -> None:
    """Raise an error unless counts form one series, dims (step, actual, predicted)."""
    if step_axis(counts) or counts.ndim != 3:
        todo = "select one of them"
        raise fail(
            "Only one series of batches is possible; the counts have the dimensions {}",
            counts.dims,
            "",
            todo,
        )


def check_forgetting(forgetting: float) -> float:
    """Return the discount factor, or raise an error if it is not in (0, 1]."""
    if not isinstance(forgetting, int | float | np.number) or not 0 < forgetting <= 1:
        raise fail(
            "`forgetting` must be above 0 and at most 1",
            forgetting,
            "",
            "pass forgetting=0.98 to give weight to about fifty batches, or 1 to weight "
            "all equally",
        )
    return float(forgetting)


def check_window(window: int, forgetting: float) -> int:
    """Return the window, or raise an error if it is invalid or combined with forgetting."""
    check_whole("window", window, 1, "batches", 20)
    if forgetting != 1:
        raise fail("`window` and `forgetting` cannot be combined", ..., "", "leave one of them out")
    return int(window)
