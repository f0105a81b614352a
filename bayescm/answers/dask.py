"""Block-by-block, lazy computation of results for counts in Dask arrays."""

import math
import warnings
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import CELLS
from bayescm.fitting.sampled import several_fits
from bayescm.validate import fail

# Attributes that describe the values of a result, which are unknown before computation.
_OF_NUMBERS = ("error", "undefined")


def is_lazy(evidence: Any) -> TypeGuard[xr.DataArray]:
    """Return True if the evidence consists of counts in a Dask array."""
    if not isinstance(evidence, xr.DataArray) or isinstance(evidence.data, np.ndarray):
        return False
    return evidence.chunks is not None


def lazily(answer: Callable[[xr.DataArray], xr.DataArray], counts: xr.DataArray) -> xr.DataArray:
    """
    Return the result for counts as a Dask array.

    Parameters
    ----------
    answer : callable
        Function that maps counts to a result with some of their dimensions.
    counts : DataArray
        Counts in a Dask array. Dimensions that the result does not keep are rechunked to one block.

    Returns
    -------
    DataArray
        Result with the kept dimensions and chunks of the counts. The attributes ``error`` and
        ``undefined`` are omitted.
    """
    _check(counts)
    lead = [dim for dim in counts.dims if dim not in CELLS]
    trial = _trial_answer(answer, counts, math.prod(len(counts.chunksizes[dim]) for dim in lead))
    batch_dims = [dim for dim in trial.dims if dim in counts.dims and dim not in CELLS]
    blocks = counts.chunk({dim: -1 for dim in counts.dims if dim not in batch_dims})
    return xr.map_blocks(
        _plain, blocks, args=[answer], template=_template(trial, blocks, batch_dims)
    )


def _plain(block, answer):
    return answer(block).drop_attrs()


def _trial_answer(answer, counts, number):
    """
    Return the result for a few artificial counts with the same dimensions and labels.

    If the model is sampled, this is one more fit, before the `number` fits of the blocks.
    """
    lead = [dim for dim in counts.dims if dim not in CELLS]
    # Use two members of each dimension if possible, because some models do not support a single
    # fold or group.
    few = counts.isel({dim: slice(0, 2) for dim in lead})
    ones = np.arange(few.size).reshape(few.shape) % 7 + 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with several_fits(1 + number):
            return answer(few.copy(data=ones))


def _template(trial, blocks, batch_dims):
    import dask.array as lazy

    sizes = {
        dim: blocks.sizes[dim] if dim in batch_dims else trial.sizes[dim] for dim in trial.dims
    }
    chunk_sizes = dict(zip(blocks.dims, blocks.chunks, strict=True))
    chunks = tuple(
        chunk_sizes[dim] if dim in batch_dims else (trial.sizes[dim],) for dim in trial.dims
    )
    data = lazy.empty(tuple(sizes.values()), chunks=chunks, dtype=trial.dtype)
    coords = {
        name: array for name, array in trial.coords.items() if not set(array.dims) & set(batch_dims)
    }
    coords |= {
        name: array
        for name, array in blocks.coords.items()
        if array.dims and set(array.dims) <= set(batch_dims) and name in trial.coords
    }
    attrs = {name: value for name, value in trial.attrs.items() if name not in _OF_NUMBERS}
    return xr.DataArray(data, coords, trial.dims, trial.name, attrs)


def in_blocks(answer: Callable[[xr.DataArray], pd.DataFrame], counts: xr.DataArray) -> pd.DataFrame:
    """
    Return a table for counts in a Dask array, computed block by block.

    Parameters
    ----------
    answer : callable
        Function that maps counts to a table with a column ``measure`` and one column for each kept
        dimension.
    counts : DataArray
        Counts in a Dask array. They are split along the first dimension that the table keeps.

    Returns
    -------
    DataFrame
        The same table as without Dask. It is computed immediately.
    """
    import dask

    _check(counts)
    # Only one dimension will be split, but it is not yet known which one. Assume the most blocks.
    lead = [dim for dim in counts.dims if dim not in CELLS]
    number = max((len(counts.chunksizes[dim]) for dim in lead), default=1)
    columns = set(_trial_answer(answer, counts, number).columns)
    split = [dim for dim in counts.dims if dim in columns][:1]
    blocks = counts.chunk({dim: -1 for dim in counts.dims if dim not in split})
    if not split:
        return answer(blocks.compute())
    dim, start, parts = split[0], 0, []
    answer_later = dask.delayed(_answer_block)
    for size in blocks.chunksizes[dim]:
        part = blocks.isel({dim: slice(start, start + size)})
        if dim not in part.coords:
            part = part.assign_coords({dim: np.arange(start, start + size)})
        parts.append(answer_later(part, answer))
        start += size
    tables = dask.compute(*parts)
    table = pd.concat(tables, ignore_index=True)
    order = {name: rank for rank, name in enumerate(dict.fromkeys(tables[0]["measure"]))}
    rank = np.argsort(table["measure"].map(order).to_numpy(), kind="stable")
    return table.iloc[rank].reset_index(drop=True)


def _answer_block(counts, answer):
    return answer(counts)


def _check(counts):
    if not set(CELLS) <= set(counts.dims):
        todo = "compute them first: counts.compute()"
        raise fail(
            "Only counts can be Dask arrays, not evidence with the dimensions {}",
            counts.dims,
            "",
            todo,
        )
