"""Disjoint halves beside the folds: what they say of the spread of the thresholds."""

from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayescm.direct.arguments import labelled
from bayescm.direct.folds.design import Design, fold_variance, log_gamma
from bayescm.evidence.counts import CELLS
from bayescm.validate import fail

# As in the model, where they are explained.
HALF_RATE, HALF_NOISE, HALF_REPEATS = 0.6, 3.0, 20.0


def as_halves(halves: Any, found: Any) -> xr.DataArray:
    """Return the counts of halves with the dims of the batch first, or raise."""
    halves = labelled(halves, "repeat", "half")
    wanted = (*found.batch.dims, "repeat", "half")
    if set(halves.dims[:-2]) != set(wanted) or halves.sizes["half"] != 2:
        allowed = f"dims {(*wanted, *CELLS)}, two halves"
        todo = "use cross_halves, or from_matrix(tables, dims=('repeat', 'half'))"
        raise fail("these are no halves", dict(halves.sizes), allowed, todo)
    labels = found.counts["actual"].values.tolist()
    sizes = {dim: halves.sizes[dim] for dim in found.batch.dims}
    if halves["actual"].values.tolist() != labels or sizes != dict(found.batch.sizes):
        got = {"classes": halves["actual"].values.tolist(), **sizes}
        allowed = f"classes {labels}, {dict(found.batch.sizes)}"
        todo = "make both of the same classifiers and labels, with the same positive class"
        raise fail("the halves are not of these counts", got, allowed, todo)
    for dim in found.batch.dims:
        if dim in halves.indexes and dim in found.batch.indexes:
            names, known = found.batch[dim].values.tolist(), halves[dim].values.tolist()
            if set(names) - set(known):
                todo = "make both of the same classifiers"
                raise fail("the halves are not of these counts", known, names, todo)
            halves = halves.sel({dim: names})
    halves = halves.transpose(*wanted, *CELLS)
    if (halves.sum(CELLS[1]) == 0).any():
        todo = "leave the halving out, or use cross_halves"
        raise fail("a half has no example of a class", ..., "some of each in every half", todo)
    return halves


def halves_likelihood(design: Design, ratio: np.ndarray, error: np.ndarray) -> np.ndarray:
    """
    Return the log density of the variance between disjoint halves, shape (N,).

    Parameters
    ----------
    design : Design
    ratio : ndarray, shape (N,)
        Spread of the thresholds over u.
    error : ndarray, shape (C,)
    """
    assert design.halves is not None
    repeats = len(design.halves)
    cells = design.halves.reshape(-1, *design.halves.shape[-2:]) / design.effect
    variance, trace, squares, degrees = fold_variance(cells, repeats)
    between = (HALF_RATE * ratio**2 + HALF_NOISE)[:, None] * error**2
    degrees = degrees / (1 + (repeats - 1) / HALF_REPEATS)
    return log_gamma(variance, trace + between @ squares, degrees)


def shown_by_halves(design: Design, error: np.ndarray) -> float:
    """Return the spread of the thresholds over u that the halves show, by moments."""
    assert design.halves is not None
    cells = design.halves.reshape(-1, *design.halves.shape[-2:]) / design.effect
    variance, trace, squares, _ = fold_variance(cells, len(design.halves))
    excess = (variance - trace) / (error**2 @ squares) - HALF_NOISE
    return float(np.sqrt(max(excess / HALF_RATE, 0.5)))


def differ(cells: np.ndarray, design: Design) -> float:
    """Return how likely equal classifiers differ as much over the folds (M, C, C): a p value."""
    variance, trace, _, degrees = fold_variance(cells / design.effect, design.repeats)
    return float(special.chdtrc(degrees, variance * degrees / trace))
