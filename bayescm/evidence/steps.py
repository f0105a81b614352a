"""Counts over time: a dim ``step``, in the order of time."""

import xarray as xr

from bayescm.evidence.counts import CELLS
from bayescm.validate import fail


def check_series(counts: xr.DataArray, *, batches: bool = True) -> None:
    """
    Raise where counts are not a series of two-class tables.

    Parameters
    ----------
    counts : DataArray
        Canonical counts.
    batches : bool, default True
        Whether there may be other dims before ``step``.
    """
    dims = (*counts.dims[-3:-2], *([] if batches else counts.dims[:-3]))
    if dims != ("step",) or counts.sizes["actual"] != 2:
        raise fail(
            "drifting needs a series of two-class tables",
            dict(counts.sizes),
            f"two classes and dims {('step', *CELLS)}",
            "name the axis of time: from_matrix(tables, dims=('step',)), or by={'step': week}",
        )
