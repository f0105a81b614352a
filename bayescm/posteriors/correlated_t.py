r"""
The correlated t: differences of two classifiers' means over the folds of one cross-validation.

Of the differences :math:`x_1, \dots, x_n` of the folds, with the mean :math:`\bar x` and the
variance :math:`s^2`, and the correlation :math:`\rho` of any two folds, the mean difference is

.. math::

    \delta \sim t\Bigl(n - 1, \; \bar x, \;
    s^2 \bigl(\tfrac{1}{n} + \tfrac{\rho}{1 - \rho}\bigr)\Bigr),

and the means of several members together are a multivariate t with the covariance of the folds in
place of the variance. :math:`\rho / (1 - \rho)` is Nadeau and Bengio's test over training examples.

References
----------
Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms on
multiple data sets. Machine Learning 100, 285-304. doi:10.1007/s10994-015-5486-z

Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52,
239-281. doi:10.1023/A:1024068626366
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.distributions.differences import StudentT
from bayescm.evidence.counts import CELLS, known_shares, with_shares
from bayescm.evidence.folds import FOLDS, overlap, stack
from bayescm.evidence.results import as_results, is_results
from bayescm.posteriors.base import CountsPosterior, LabelTemplate, Posterior, as_labelled_counts
from bayescm.posteriors.hierarchical_differences import measure_of_results, of_differences
from bayescm.validate import fail


def correlated_t(evidence: Any, *, dim: str = "classifier") -> "CorrelatedT | CorrelatedTOfResults":
    """
    Return the posterior of differences of mean measures over the folds of one cross-validation.

    Parameters
    ----------
    evidence : DataArray, dims (..., [repeat,] fold, actual, predicted), or Dataset
        Counts, outcomes of several classifiers, or results on one data set
        (`bayescm.from_results`).
    dim : str, default "classifier"
        The dim whose members are paired, being tested on the same folds.

    Returns
    -------
    CorrelatedT or CorrelatedTOfResults

    Raises
    ------
    ValueError
        If the counts have no folds, or no such dim. If results are of several data sets.
    """
    if is_results(evidence):
        return CorrelatedTOfResults(as_results(evidence))
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
    """

    pooled_dims = FOLDS
    estimands = {"parameter": "mean over folds"}  # noqa: RUF012
    # Folds of groups differ by what their groups do, and so do folds of heavy examples.
    knows_groups = knows_weights = True
    how = "correlated t"

    def __init__(self, counts: xr.DataArray, dim: str):
        self.counts, self.pairs = counts, (dim,)
        self.rho = overlap(counts)
        rows = stack(counts).transpose(..., dim, "fold", *CELLS)
        self.counts = counts.transpose(*rows.dims[:-3], ..., *CELLS)
        shares = known_shares(counts)
        self._rows = rows.values if shares is None else with_shares(rows.values, shares)

    def bound(self, measure: Any) -> Any:
        """Return the measure itself: its value in a fold is an estimate, without a prior."""
        return measure

    def left_out(self, measure: Callable) -> xr.DataArray | None:
        """Return which classes a measure leaves out of its average, dims (..., class), or None."""
        return super().left_out(super().bound(measure))

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> StudentT | None:
        """Return the distribution of the mean difference of two members, None where undefined."""
        values = measure(self._rows)
        dims = self.batch.dims
        indices = [tuple(labels[dim] for dim in dims) for labels in (first, second)]
        minuend, subtrahend = (values[index] for index in indices)
        if "class" in first:
            minuend, subtrahend = minuend[:, first["class"]], subtrahend[:, second["class"]]
        tables = np.stack([self._rows[index] for index in indices])
        if np.isfinite(minuend - subtrahend).sum() < 2:  # 0/0 of a member in all folds but one
            return None
        _warn_of_certainty(np.stack([minuend, subtrahend]), tables)
        differences = minuend - subtrahend
        _warn_of_undefined(measure, np.isnan(differences))
        return mean_difference(differences[~np.isnan(differences)], self.rho)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the members' means, joint along the dim compared."""
        values = [measure(self._rows) for measure in measures]
        for measure, of_folds in zip(measures, values, strict=True):
            axes = (self.batch.ndim - 1, *range(self.batch.ndim + 1, of_folds.ndim))
            _warn_of_undefined(measure, np.isnan(of_folds).any(axis=axes))
        return [self._draw_means(of_folds, size, rng) for of_folds in values]

    def _draw_means(self, values, size, rng):
        lead = self.batch.ndim - 1
        values = np.moveaxis(values, (lead, lead + 1), (-2, -1))
        draws = np.empty((size, *values.shape[:-1]))
        for index in np.ndindex(values.shape[:-2]):
            _warn_of_certainty(values[index], self._rows[index[:lead]])
            draws[(slice(None), *index)] = correlated_draws(values[index], self.rho, size, rng)
        return np.moveaxis(draws, -1, 1 + lead)


class CorrelatedTOfResults(Posterior):
    """
    The posterior of the differences of classifiers over the runs of one cross-validation.

    Parameters
    ----------
    results : Dataset, dims (data_set, classifier, run)
        Canonical results on one data set.
    """

    measured_variable = "results"
    pairs = ("classifier",)
    cell_prior = False
    has_model = False
    estimands = {"parameter": "mean over runs"}  # noqa: RUF012
    how = "correlated t"

    def __init__(self, results: xr.Dataset):
        if results.sizes["data_set"] > 1:
            todo = "select one, or leave the model out"
            names = results["data_set"].values.tolist()
            raise fail("the correlated t is of one data set", names, "one", todo)
        self.results, self.rho = results, results["test_share"].item()
        self.names = results["classifier"].values.tolist()
        self.measured = (measure_of_results(results["measured"].item()),)
        self._runs = results["result"].values[0]

    @property
    def observed(self) -> xr.DataArray:
        """The results."""
        return self.results["result"]

    @property
    def template(self) -> LabelTemplate:
        """The classifiers."""
        return LabelTemplate().append_dim("classifier", self.names)

    @property
    def batch(self) -> xr.DataArray:
        """The number of runs, for every classifier."""
        return self.observed.notnull().sum(["data_set", "run"]).astype(float)

    @property
    def values_per_draw(self) -> int:
        """The numbers of one draw."""
        return len(self.names)

    def distributions(self, measures: Sequence[Callable], **keywords: Any) -> list:
        """Raise: the posterior is of how classifiers differ."""
        raise of_differences()

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Raise: the posterior is of how classifiers differ."""
        raise of_differences()

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> StudentT:
        """Return the distribution of the mean difference of two classifiers."""
        minuend, subtrahend = (self._runs[at["classifier"]] for at in (first, second))
        return mean_difference(minuend - subtrahend, self.rho)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw the mean results of all classifiers over the runs that all have, (size, J)."""
        means = correlated_draws(self._runs, self.rho, size, rng)
        return [measure(means) for measure in measures]


def _warn_of_certainty(values, tables):
    """Warn where members (J, folds) differ by the same in every fold: the t has no spread then."""
    values = values[:, np.isfinite(values).all(axis=0)]
    if values.shape[1] < 2:
        return
    deviations = (values - values.mean(axis=1, keepdims=True)).round(12) + 0.0
    if len(np.unique(deviations, axis=0)) < len(np.unique(tables, axis=0)):
        warnings.warn(
            "Two members differ by the same number in every fold, or in none, which the correlated "
            't takes for certainty. Pass model="paired_folds", or more folds.',
            stacklevel=2,
        )


def _warn_of_undefined(measure, undefined):
    """Warn if a measure is 0/0 for a member in some folds (..., n), which are left out."""
    number = undefined.reshape(-1, undefined.shape[-1]).any(axis=0).sum()
    if 0 < number <= undefined.shape[-1] - 2:  # without two folds the result is NaN
        warnings.warn(
            f"{measure.__name__} is 0/0 in {number} of {undefined.shape[-1]} folds. These folds "
            "are left out for all compared members.",
            stacklevel=3,
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
        NaN folds are left out, with a warning.
    rho : float
        Correlation between folds through their common training data, in [0, 1): the test share.
        Where training is not all the rest, test over test and training examples.
    """
    values = np.ravel(np.asarray(differences, float))
    undefined = np.isnan(values)
    if undefined.any():
        warnings.warn(
            f"The difference is NaN in {undefined.sum()} of {len(values)} folds. These folds are "
            "left out.",
            stacklevel=2,
        )
    values = values[~undefined]
    if len(values) < 2:
        raise fail("too few folds", len(values), "two or more", "use more folds")
    if not 0 <= rho < 1:
        raise fail("rho must be a correlation", rho, "0 <= rho < 1", "pass the proportion tested")
    flat = np.ptp(values) == 0
    spread = 0.0 if flat else values.var(ddof=1) * (1 / len(values) + rho / (1 - rho))
    return StudentT(float(values.mean()), float(spread**0.5), len(values) - 1)
