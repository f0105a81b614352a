"""Confusion matrices of the next test set, for every draw of the cell probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS
from bayescm.validate import fail


def next_counts(theta: np.ndarray, n: Any, rng: np.random.Generator) -> np.ndarray:
    """Draw the confusion matrix of a test set of n examples for every theta (..., C, C)."""
    flat = theta.reshape(*theta.shape[:-2], -1)
    # Rounding errors may give a sum slightly above 1, which the generator rejects.
    counts = rng.multinomial(np.broadcast_to(n, flat.shape[:-1]), flat / flat.sum(-1)[..., None])
    return counts.reshape(theta.shape)


def one_of(cells: np.ndarray, axes: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """Select one member of each further axis per draw, as the next test set has one classifier."""
    for _ in axes:
        axis = axes[0]
        members = rng.integers(cells.shape[axis], size=cells.shape[:axis])
        index = members.reshape(*members.shape, *[1] * (cells.ndim - axis))
        cells = np.take_along_axis(cells, index, axis=axis).squeeze(axis)
    return cells


def of_the_same_size(cells: xr.DataArray, observed: xr.DataArray, over: Sequence) -> xr.DataArray:
    """
    Draw a test set as large as the evidence for every draw of the cell probabilities.

    Parameters
    ----------
    cells : DataArray, dims (chain, draw, ..., actual, predicted)
    observed : DataArray
        The evidence. Counts are summed over all dimensions that `cells` does not have.
    over : sequence of str
        Dimensions of `cells` from which one member is selected for the test set.
    """
    batch_dims = [dim for dim in cells.dims if dim not in ("chain", "draw", *over, *CELLS)]
    total = observed.sum([dim for dim in observed.dims if dim not in batch_dims])
    if not np.isfinite(total.values).all():
        raise fail(
            "The number of examples is unknown",
            ...,
            "",
            "use interval(tree, measure, `of='predictive'`, `n=100`)",
        )
    ordered = cells.transpose("chain", "draw", *batch_dims, *over, *CELLS)
    first = ordered.isel(dict.fromkeys(over, 0), drop=True)
    sizes = total.broadcast_like(first.isel(chain=0, draw=0, actual=0, predicted=0, drop=True))
    rng = np.random.default_rng(0)
    axes = [ordered.dims.index(dim) for dim in over]
    theta = one_of(ordered.values, axes, rng)
    tables = next_counts(theta, sizes.transpose(*batch_dims).values.astype(int), rng)
    return first.copy(data=tables)


def of_joint_cells(
    counts: xr.DataArray, labels: Sequence, members: xr.DataArray | None = None
) -> xr.DataArray:
    """
    Convert predicted counts to confusion matrices.

    Parameters
    ----------
    counts : DataArray, dims (..., cell)
        Counts of all combinations of true class and prediction. With several classifiers, each
        combination consists of the true class, which comes first, and the predictions of all
        classifiers.
    labels : sequence of C labels
    members : DataArray, optional
        Names of several classifiers, along their dimension.
    """
    counts = counts.transpose(..., "cell")
    number, classes, lead = 1 if members is None else members.size, len(labels), counts.shape[:-1]
    # The model does not contain rows with the abstention label as the true class.
    padded = np.zeros((*lead, classes ** (1 + number)))
    padded[..., : counts.shape[-1]] = counts.values
    joint = padded.reshape(*lead, *[classes] * (1 + number))
    first = joint.ndim - number
    tables = [
        joint.sum(tuple(first + other for other in range(number) if other != member))
        for member in range(number)
    ]
    coords = {k: v for k, v in counts.coords.items() if "cell" not in v.dims}
    coords |= {dim: np.asarray(labels) for dim in CELLS}
    dims = counts.dims[:-1]
    if members is None:
        return xr.DataArray(tables[0], dims=(*dims, *CELLS), coords=coords)
    coords[members.dims[0]] = members.values
    return xr.DataArray(np.stack(tables, -3), dims=(*dims, *members.dims, *CELLS), coords=coords)
