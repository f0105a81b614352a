"""
Labels around numbers: the dims and coords of a batch.

To build a labelled array takes longer than the numbers of a single matrix; so its frame is built
once and copied.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr

type Ends = tuple[tuple[str, tuple[str, ...]], ...]


def frame(
    coords: Mapping[Any, xr.Variable], dims: Sequence, values: np.ndarray, ends: Ends = ()
) -> xr.DataArray:
    """
    Return labelled values.

    Parameters
    ----------
    coords : mapping of str to Variable
        The coords of the batch.
    dims : sequence of str
        The dims of the batch.
    values : ndarray
    ends : tuple of pairs of a name and labels
        Dims that follow those of the batch.
    """
    further = {name: list(labels) for name, labels in ends}
    plain = all(each.ndim == 0 and not each.attrs for each in coords.values())
    if dims or not plain:
        return xr.DataArray(values, dims=(*dims, *further), coords={**coords, **further})
    scalars = ((name, each.dtype.str, each.values.item()) for name, each in coords.items())
    return _single(tuple(scalars), ends).copy(deep=False, data=values)


@lru_cache(maxsize=64)
def _single(scalars, ends):
    """Return NaN for a single matrix; 1 and True are told apart by their types."""
    values = np.full([len(labels) for _, labels in ends], np.nan)
    coords = {name: np.asarray(value, dtype) for name, dtype, value in scalars}
    coords |= {name: list(labels) for name, labels in ends}
    return xr.DataArray(values, dims=[name for name, _ in ends], coords=coords)
