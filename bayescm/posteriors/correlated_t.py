"""The correlated t: mean measures over the folds of one cross-validation, members paired."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.distributions.differences import StudentT
from bayescm.evidence.counts import CELLS, known_shares, with_shares
from bayescm.evidence.folds import FOLDS, overlap, stack
from bayescm.posteriors.base import CountsPosterior, as_labelled_counts
from bayescm.validate import fail


def correlated_t(evidence: Any, *, dim: str = "classifier") -> "CorrelatedT":
    """
    Return the posterior of differences of mean measures over the folds of one cross-validation.

    Parameters
    ----------
    evidence : DataArray, dims (..., [repeat,] fold, actual, predicted), or Dataset
        Counts, or outcomes of several classifiers.
    dim : str, default "classifier"
        The dim whose members are paired, being tested on the same folds.

    Returns
    -------
    CorrelatedT

    Raises
    ------
    ValueError
        If the counts have no folds, or no such dim.
    """
    counts = as_labelled_counts(evidence)
    for name in (dim, "fold"):
        if name not in counts.dims:
            todo = "take the counts of a cross-validation of several classifiers"
            raise fail(f"correlated_t needs a dim {name}", list(counts.dims), [dim, "fold"], todo)
    return CorrelatedT(counts, dim)


class CorrelatedT(CountsPosterior):
    """
    The posterior of the members' mean measures, normal and equally correlated over the folds.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted)
    dim : str
        The dim whose members are paired, being tested on the same folds.

    References
    ----------
    Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms
    on multiple data sets. Machine Learning 100, 285-304. doi:10.1007/s10994-015-5486-z
    """

    pooled_dims = FOLDS
    estimands = {"parameter": "mean over folds"}  # noqa: RUF012
    knows_groups = True  # folds of groups differ by what their groups do
    how = "correlated t"

    def __init__(self, counts: xr.DataArray, dim: str):
        self.counts, self.pairs = counts, (dim,)
        self.rho = overlap(counts)
        rows = stack(counts).transpose(..., dim, "fold", *CELLS)
        self.counts = counts.transpose(*rows.dims[:-3], ..., *CELLS)
        shares = known_shares(counts)
        self._rows = rows.values if shares is None else with_shares(rows.values, shares)

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> StudentT:
        """Return the distribution of the mean difference of two members."""
        values = measure(self._rows)
        dims = self.batch.dims
        places = [tuple(at[dim] for dim in dims) for at in (first, second)]
        one, two = (values[place] for place in places)
        if "class" in first:
            one, two = one[:, first["class"]], two[:, second["class"]]
        _warn_if_sure(np.stack([one, two]), np.stack([self._rows[place] for place in places]))
        return mean_difference(one - two, self.rho)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the members' means, joint along the dim compared."""
        return [self._drawn(measure(self._rows), size, rng) for measure in measures]

    def _drawn(self, values, size, rng):
        lead = self.batch.ndim - 1
        values = np.moveaxis(values, (lead, lead + 1), (-2, -1))
        drawn = np.empty((size, *values.shape[:-1]))
        for index in np.ndindex(values.shape[:-2]):
            _warn_if_sure(values[index], self._rows[index[:lead]])
            drawn[(slice(None), *index)] = correlated_draws(values[index], self.rho, size, rng)
        return np.moveaxis(drawn, -1, 1 + lead)


def _warn_if_sure(values, tables):
    """Warn where members (J, folds) differ by the same in every fold: the t is sure then."""
    values = values[:, np.isfinite(values).all(axis=0)]
    if values.shape[1] < 2:
        return
    apart = (values - values.mean(axis=1, keepdims=True)).round(12) + 0.0
    if len(np.unique(apart, axis=0)) < len(np.unique(tables, axis=0)):
        warnings.warn(
            "Two members differ by the same number in every fold, or in none, which the correlated "
            't takes for certainty. Pass model="paired_folds", or more folds.',
            stacklevel=2,
        )


def correlated_draws(
    folds: np.ndarray, rho: float, size: int, rng: np.random.Generator
) -> np.ndarray:
    """
    Draw the members' means, (size, J), from the folds (J, n) in which all are defined.

    NaN where they are fewer than two, or one is infinite: then so is the mean.
    """
    folds = folds[:, ~np.isnan(folds).any(axis=0)]
    if folds.shape[1] < 2 or np.isinf(folds).any():
        return np.full((size, len(folds)), np.nan)
    freedom = folds.shape[1] - 1
    covariance = np.atleast_2d(np.cov(folds)) * (1 / folds.shape[1] + rho / (1 - rho))
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    normal = rng.standard_normal((size, len(folds))) @ factor.T
    return folds.mean(axis=1) + normal / np.sqrt(rng.chisquare(freedom, (size, 1)) / freedom)


def mean_difference(differences: ArrayLike, rho: float) -> StudentT:
    """
    Return the posterior of the mean difference, of one cross-validation.

    Parameters
    ----------
    differences : array_like, shape (n,)
        Difference of every fold (of every repeat), two or more.
    rho : float
        Correlation between folds through their common training data, in [0, 1): the test share.
        Where training is not all the rest, test over test and training examples.
    """
    values = np.ravel(np.asarray(differences, float))
    values = values[~np.isnan(values)]
    if len(values) < 2:
        raise fail("too few folds", len(values), "two or more", "use more folds")
    if not 0 <= rho < 1:
        raise fail("rho must be a correlation", rho, "0 <= rho < 1", "pass the proportion tested")
    flat = np.ptp(values) == 0
    spread = 0.0 if flat else values.var(ddof=1) * (1 / len(values) + rho / (1 - rho))
    return StudentT(float(values.mean()), float(spread**0.5), len(values) - 1)
