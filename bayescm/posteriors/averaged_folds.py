r"""
The direct posterior of `bayescm.models.averaged_folds`: independent Dirichlets, then averaged.

Every fold has its own posterior, and the estimand is the mean of the measure over the folds. Three
readings of its distribution are offered: that of Wang and Li, whose variance is inflated for a
correlation between the folds, and the two that the words of an earlier thesis allow, the mean of
independent variables and the mixture of the folds' posteriors. With :math:`\mu_i` and
:math:`\sigma_i^2` the mean and the variance of the measure in fold i of M and the correlation
:math:`\rho` of any two folds, the mean over the folds has

.. math::

    \mu = \frac{1}{M} \sum_i \mu_i, \qquad
    \sigma^2 = \bigl(1 + (M - 1) \rho\bigr) \, \frac{1}{M^2} \sum_i \sigma_i^2,

and is Beta(mu t, (1 - mu) t) with :math:`t = \mu (1 - \mu) / \sigma^2 - 1` where the folds'
distributions are beta (proposition 2), or else the mean of independent variables
(`bayescm.distributions.mixtures`) stretched about its own mean.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.distributions.beta import Beta
from bayescm.distributions.mixtures import MeanOfFolds, MixtureOfFolds
from bayescm.evidence.folds import FOLDS, design, stack
from bayescm.measures.labelled import average_draws
from bayescm.measures.measure import within_members
from bayescm.posteriors.base import CountsPosterior, as_labelled_counts, prior_of
from bayescm.posteriors.dirichlet_multinomial import DirichletMultinomial, dirichlet_multinomial
from bayescm.validate import check_choice, fail

_HEAVY_PRIOR = 1 / 3  # of the examples: priors of all folds that weigh more are warned of
AVERAGES = ("correlated", "independent", "mixture")


def averaged_folds(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    rho: float | None = None,
    average: str = "correlated",
) -> "AveragedFolds":
    """
    Return the posteriors of the folds, to be averaged.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted), or (..., M, C, C)
        Counts >= 0 of every fold of every repeat. The scalar coord ``n_folds`` is the number K of
        folds of one cross-validation, where that is not the length of ``fold``.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts per cell, one number or (..., C, C); ``2 / C**2`` by default. Every fold
        has them: all folds together are drawn to 0.5 by M priors.
    rho : float, optional
        Correlation between the measures of two folds, in [0, 1); by default Nadeau and Bengio's,
        test over test and training examples: 1/K.
    average : {"correlated", "independent", "mixture"}
        ``"correlated"``: the mean over folds, its variance inflated by ``1 + (M - 1) rho``.
        ``"independent"``: the mean over folds of independent variables. ``"mixture"``: one fold
        picked at random.

    Returns
    -------
    AveragedFolds

    Warns
    -----
    UserWarning
        If the priors of all folds together weigh more than a third of the examples, as they do for
        tiny folds or leave-one-out.

    Raises
    ------
    ValueError
        If there are fewer than two folds, or rho is not a correlation.

    Examples
    --------
    >>> from bayescm.measures.catalogue import resolve
    >>> cells = [[[6, 4], [4, 6]], [[5, 5], [5, 5]], [[7, 3], [3, 7]]]
    >>> averaged_folds(cells, concentration=1).distribution(resolve("recall")).eti(0.95).round(3)
    array([0.381, 0.772])
    """
    table = as_labelled_counts(counts, "fold")
    rho = _fold_correlation(design(table)) if rho is None else rho
    number = np.ndim(rho) == 0 and isinstance(rho, (Real, np.ndarray))
    if not number or not 0 <= rho < 1:
        raise fail("rho must be a correlation", rho, "one number, 0 <= rho < 1", "leave it out")
    check_choice("average", average, list(AVERAGES))
    prior = prior_of(concentration, counts, FOLDS)
    if np.ndim(prior) > 2:
        prior = prior[..., None, :, :]
    posterior = dirichlet_multinomial(stack(table), concentration=prior)
    _check_prior(posterior)
    return AveragedFolds(table, posterior, float(rho), average)


def _check_prior(folds):
    """Warn where the priors of all the folds together are worth too many examples."""
    tested = folds.counts.values.sum((-3, -2, -1))
    prior = folds.weights.sum((-3, -2, -1)) - tested
    if (prior > _HEAVY_PRIOR * tested).any():
        warnings.warn(
            f"Every fold has a prior of its own: together they weigh {np.max(prior):.3g} examples "
            f"beside the {np.min(tested):.4g} that were tested, and draw the answer to chance. Use "
            "hierarchical_folds or pooled_folds, or a smaller concentration.",
            UserWarning,
            stacklevel=3,
        )


def _fold_correlation(facts):
    """Return test over test and training examples: 1/K, but where training is not all the rest."""
    test = 1 / facts["n_folds"]
    return test / (test + (1 - test) * facts["train_size"] / (1 - facts["test_share"]))


@dataclass(frozen=True, eq=False)
class AveragedFolds(CountsPosterior):
    """
    The posterior of every fold, and how they are averaged.

    Attributes
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted)
    folds : DirichletMultinomial
        The posteriors, batch (..., M).
    rho : float
        Correlation between the measures of two folds.
    average : {"correlated", "independent", "mixture"}
        The reading of the average.
    """

    pooled_dims = FOLDS
    estimands = {"parameter": "theta_fold"}  # noqa: RUF012
    counts: xr.DataArray
    folds: DirichletMultinomial
    rho: float
    average: str

    @property
    def stretch(self) -> float:
        """Factor by which the standard deviation of the mean is inflated, NaN for a mixture."""
        if self.average == "mixture":
            return float("nan")
        matrices = self.folds.weights.shape[-3]
        rho = self.rho if self.average == "correlated" else 0.0
        return float(np.sqrt(1 + (matrices - 1) * rho))

    def exact_distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the distribution of a measure's average over the folds, or None.

        With ``average="correlated"`` it is a beta with the mean and the inflated variance for the
        measures that have a beta distribution in every fold (proposition 2), else the distribution
        of the mean, stretched about its own mean.
        """
        parts = self.folds.exact_distribution(within_members(measure, 1))
        # Distributions by quadrature take too long to average: draws answer in their place.
        if parts is None or parts.how != "closed form":
            return None
        parts = _move_folds_last(parts, self.folds.weights)
        if self.average == "mixture":
            return MixtureOfFolds(parts)
        if self.average == "correlated" and isinstance(parts, Beta):
            return _matching_beta(parts, self.stretch)
        return MeanOfFolds(parts, self.stretch)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the mean over the folds, of those in which the measure is defined."""
        self.resolve_estimand(of)
        return self.mean_of_members(measure)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the averages, all from the same matrices."""
        axis = self.folds.weights.ndim - 2  # of the folds: after the draws and the batch
        of_folds = [within_members(measure, 1) for measure in measures]
        values = self.folds.draw(of_folds, size, rng)
        return [average_draws(draws, axis, self.stretch) for draws in values]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        draws = self.folds.variables(size, rng)
        return {"theta_fold_cell": draws["theta_cell"], "theta_fold": draws["theta"]}

    def log_density(self, variables: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the log posterior density at theta_fold_cell (..., M, C**2)."""
        cells = {"theta_cell": variables["theta_fold_cell"]}
        return self.folds.log_density(cells).sum(axis=-1)

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of each cross-validation."""
        return self.folds.log_marginal_likelihood().sum(axis=-1)


def _move_folds_last(distribution, cells):
    """Return the distribution with the axis of the folds last in its batch."""
    if distribution.mean().ndim < cells.ndim - 1:
        return distribution
    parameters = {
        field.name: np.moveaxis(value, -2, -1) if np.ndim(value) > 1 else value
        for field in fields(distribution)
        for value in [getattr(distribution, field.name)]
    }
    return replace(distribution, **parameters)


def _matching_beta(parts, stretch):
    """Return the beta distribution with the mean of the folds' means and the inflated variance."""
    mean = parts.mean().mean(axis=-1)
    variance = (stretch * MeanOfFolds(parts).sd()) ** 2
    total = mean * (1 - mean) / variance - 1
    return Beta(mean * total, (1 - mean) * total)
