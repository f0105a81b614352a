"""Evidence as independent samples of outcomes, for the frequentist intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import as_counts, classes
from bayescm.evidence.joint_cells import arrays, pour
from bayescm.evidence.matrices import known_shares, with_shares
from bayescm.evidence.outcomes import as_outcomes, counts_of
from bayescm.measures.labelled import check_pairs
from bayescm.measures.labelled import kernels as as_kernels


@dataclass(frozen=True, eq=False)
class Samples:
    """
    What was observed, and what is wanted of it.

    Attributes
    ----------
    counts : ndarray, shape (L, S, M)
        Counts of M outcomes in S independent samples, for L evaluations.
    actual : ndarray of int, shape (M,)
    predicted : ndarray of int, shape (J, M)
    sample : ndarray of int, shape (J,)
        The sample on which each classifier was tested.
    kernels : list of callables
    wanted : ndarray of bool, shape (J, K)
        Which measures are wanted of which classifier.
    labels : ndarray, shape (C,)
        The classes.
    size : int
        The number of labels: of the classes, and of an abstention.
    leading : DataArray
        Dims and coords of the L evaluations, and of the classifiers.
    """

    counts: np.ndarray
    actual: np.ndarray
    predicted: np.ndarray
    sample: np.ndarray
    kernels: list
    wanted: np.ndarray
    labels: np.ndarray
    size: int
    leading: xr.DataArray

    def matrices(self, counts: np.ndarray) -> np.ndarray:
        """Return every classifier's matrix, (..., J, C, C), from counts (..., S, M)."""
        tables = [
            pour(counts[..., sample, :], self.actual, answers[None], self.size)
            for sample, answers in zip(self.sample, self.predicted, strict=True)
        ]
        return np.concatenate(tables, axis=-3)

    def widths(self) -> list[int]:
        """Return how many numbers each measure is: one, or one per class."""
        cells = np.ones((self.size, self.size))
        return [np.size(kernel(cells)) for kernel in self.kernels]

    def evaluate(self, matrices: np.ndarray) -> np.ndarray:
        """Return all measures of matrices (..., J, C, C), laid side by side, (..., J, W)."""
        values = [np.asarray(kernel(matrices)) for kernel in self.kernels]
        flat = (*matrices.shape[:-2], -1)
        return np.concatenate([each.reshape(flat) for each in values], axis=-1)

    def mask(self) -> np.ndarray:
        """Return which of the values (J, W) are wanted."""
        return np.repeat(self.wanted, self.widths(), axis=1)

    def dataset(self, ends: np.ndarray) -> xr.Dataset:
        """Return intervals (L, J, W, 2) as a variable per measure, dims (..., [class,] bound)."""
        ends = np.where(self.mask()[None, :, :, None], ends, np.nan)
        shape, dims = self.leading.shape, self.leading.dims
        variables, start = {}, 0
        for kernel, width in zip(self.kernels, self.widths(), strict=True):
            part = ends[:, :, start : start + width].reshape(*shape, width, 2)
            by_class = width > 1
            part = part if by_class else part[..., 0, :]
            variables[kernel.__name__] = ((*dims, *(["class"] if by_class else []), "bound"), part)
            start += width
        coords: dict[Any, Any] = {**dict(self.leading.coords), "bound": ["lower", "upper"]}
        if any(width > 1 for width in self.widths()):
            coords["class"] = self.labels
        return xr.Dataset(variables, coords=coords)


def samples(
    evidence: xr.Dataset | xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    pairs: Sequence[tuple[str, Any]] | None = None,
) -> Samples:
    """Check the evidence and the measures, and lay them out."""
    matrices = counts_of(evidence) if isinstance(evidence, xr.Dataset) else as_counts(evidence)
    if "classifier" in matrices.dims:
        matrices = matrices.transpose(..., "classifier", "actual", "predicted")
    kernels = _at_shares(as_kernels(measures, matrices), known_shares(matrices))
    size, number = matrices.sizes["actual"], matrices.sizes.get("classifier", 1)
    if isinstance(evidence, xr.Dataset):
        counts, actual, predicted = arrays(as_outcomes(evidence))
        counts, sample = counts.reshape(-1, 1, counts.shape[-1]), np.zeros(number, int)
    else:
        counts, sample = matrices.values.reshape(-1, number, size**2), np.arange(number)
        actual, answers = np.indices((size, size)).reshape(2, -1)
        predicted = np.tile(answers, (number, 1))
    leading = matrices.isel(actual=0, predicted=0, drop=True)
    names = np.atleast_1d(leading.coords.get("classifier", "")).tolist()
    wanted = check_pairs(pairs, names, kernels)
    labels = classes(matrices)
    return Samples(counts, actual, predicted, sample, kernels, wanted, labels, size, leading)


def _at_shares(kernels, shares):
    """Return the measures of a population with these shares of the classes, if any are known."""
    if shares is None:
        return kernels
    return [replace(each, compute=partial(_scaled, each.compute, shares)) for each in kernels]


def _scaled(compute, shares, cells):
    return compute(with_shares(cells, shares))
