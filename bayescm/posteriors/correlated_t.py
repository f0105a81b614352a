r"""
Correlated t distribution of mean differences in one cross-validation.

Let :math:`x_1, \dots, x_n` be the differences between two classifiers in the folds, with the mean
:math:`\bar x` and the variance :math:`s^2`. Let :math:`\rho` be the correlation between any two
folds. The mean difference has the posterior (Corani and Benavoli 2015)

.. math::

    \delta \sim t\Bigl(n - 1, \; \bar x, \;
    s^2 \bigl(\tfrac{1}{n} + \tfrac{\rho}{1 - \rho}\bigr)\Bigr).

The means of several members jointly have a multivariate t distribution, with the covariance matrix
over the folds instead of the variance. :math:`\rho / (1 - \rho)` is the ratio of test to training
examples of Nadeau and Bengio (2003).

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
    Return the posterior of mean differences over the folds of a cross-validation.

    Use it to compare classifiers on the same folds, or results on one data set.

    Parameters
    ----------
    evidence : DataArray, dims (..., [repeat,] fold, actual, predicted), or Dataset
        Counts, outcomes of several classifiers, or results on one data set
        (`bayescm.from_results`).
    dim : str, default "classifier"
        Dim whose members are paired because they were tested on the same folds.

    Returns
    -------
    CorrelatedT or CorrelatedTOfResults

    Raises
    ------
    ValueError
        If the counts have no folds, or lack `dim`. If the results cover several data sets.
    """
    if is_results(evidence):
        return CorrelatedTOfResults(as_results(evidence))
    counts = as_labelled_counts(evidence)
    for name in (dim, "fold"):
        if name not in counts.dims:
            raise fail(
                f"correlated_t needs a dimension {name}; the counts have {{}}",
                list(counts.dims),
                "",
                "use the counts of a cross-validation of several classifiers",
            )
    return CorrelatedT(counts, dim)


class CorrelatedT(CountsPosterior):
    """
    Posterior of the members' mean measures over equally correlated folds.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted)
    dim : str
        Dim whose members are paired because they were tested on the same folds.
    """

    pooled_dims = FOLDS
    estimands = {"parameter": "mean over folds"}  # noqa: RUF012
    # The variance between folds already reflects groups of examples and heavy weights.
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
        """Return the measure unchanged, because folds are estimated without a prior."""
        return measure

    def left_out(self, measure: Callable) -> xr.DataArray | None:
        """Return the classes that a measure omits from its average, or None."""
        return super().left_out(super().bound(measure))

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> StudentT | None:
        """Return the distribution of the mean difference, or None if it is undefined."""
        values = measure(self._rows)
        dims = self.batch.dims
        indices = [tuple(labels[dim] for dim in dims) for labels in (first, second)]
        minuend, subtrahend = (values[index] for index in indices)
        if "class" in first:
            minuend, subtrahend = minuend[:, first["class"]], subtrahend[:, second["class"]]
        tables = np.stack([self._rows[index] for index in indices])
        if np.isfinite(minuend - subtrahend).sum() < 2:  # a t distribution needs two folds
            return None
        _warn_of_certainty(np.stack([minuend, subtrahend]), tables)
        differences = minuend - subtrahend
        _warn_of_undefined(measure, np.isnan(differences))
        return mean_difference(differences[~np.isnan(differences)], self.rho)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the members' means, joint along `dim`."""
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
    Posterior of the differences between classifiers over runs on one data set.

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
            raise fail("The correlated t supports one data set; got {}", names, "", todo)
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
        """The dim of the classifiers."""
        return LabelTemplate().append_dim("classifier", self.names)

    @property
    def batch(self) -> xr.DataArray:
        """The number of runs of each classifier."""
        return self.observed.notnull().sum(["data_set", "run"]).astype(float)

    @property
    def values_per_draw(self) -> int:
        """The number of values in memory for one draw."""
        return len(self.names)

    def distributions(self, measures: Sequence[Callable], **keywords: Any) -> list:
        """Raise an error, because the posterior only covers differences."""
        raise of_differences()

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Raise an error, because the posterior only covers differences."""
        raise of_differences()

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> StudentT:
        """Return the distribution of the mean difference between two classifiers."""
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
        """Sample the mean results (size, J) over the runs with a result of every classifier."""
        means = correlated_draws(self._runs, self.rho, size, rng)
        return [measure(means) for measure in measures]


def _warn_of_certainty(values, tables):
    """Warn if two of the members (J, folds) have the same difference in all folds."""
    values = values[:, np.isfinite(values).all(axis=0)]
    if values.shape[1] < 2:
        return
    deviations = (values - values.mean(axis=1, keepdims=True)).round(12) + 0.0
    if len(np.unique(deviations, axis=0)) < len(np.unique(tables, axis=0)):
        warnings.warn(
            "Two members differ by the same number in every fold, or not at all, so the "
            'correlated t is certain of their difference. Pass model="paired_folds", or '
            "more folds.",
            stacklevel=2,
        )


def _warn_of_undefined(measure, undefined):
    """Warn if a measure is 0/0 for a member in some folds (..., n), which are omitted."""
    number = undefined.reshape(-1, undefined.shape[-1]).any(axis=0).sum()
    if 0 < number <= undefined.shape[-1] - 2:  # with fewer than two folds, the result is NaN
        warnings.warn(
            f"{measure.__name__} is 0/0 in {number} of {undefined.shape[-1]} folds. These folds "
            "are left out for all compared members.",
            stacklevel=3,
        )


def correlated_draws(
    folds: np.ndarray, rho: float, size: int, rng: np.random.Generator
) -> np.ndarray:
    """
    Sample the members' means, (size, J), given their values in folds (J, n).

    Only folds in which all members are defined are used. The draws are NaN if there are fewer than
    two such folds, or if a value is infinite.
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
    Return the posterior of the mean difference in one cross-validation.

    Parameters
    ----------
    differences : array_like, shape (n,)
        Difference in each fold of each repeat, two or more. NaN folds are omitted, with a warning.
    rho : float
        Correlation between folds because of shared training data, in [0, 1). If each fold is
        trained on all other folds, it is the proportion of all examples in one test fold. In
        general, it is the proportion of test examples among the test and training examples of a
        fold.
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
        raise fail("Two or more folds are needed", len(values), "", "use more folds")
    if not 0 <= rho < 1:
        raise fail(
            "`rho` must be a correlation, at least 0 and below 1",
            rho,
            "",
            "pass the proportion tested",
        )
    flat = np.ptp(values) == 0
    spread = 0.0 if flat else values.var(ddof=1) * (1 / len(values) + rho / (1 - rho))
    return StudentT(float(values.mean()), float(spread**0.5), len(values) - 1)
