r"""
Direct posterior of `bayescm.models.averaged_folds`: the mean over Dirichlets.

Each fold has a separate posterior, and the estimand is the mean of the measure over the folds. Its
distribution is defined in one of three ways (``average``):

- ``"correlated"``: the variance of the mean is inflated to account for the correlation between
  folds (Wang and Li 2016).
- ``"independent"``: the mean of independent variables.
- ``"mixture"``: the mixture of the posteriors of the folds.

Let :math:`\mu_i` and :math:`\sigma_i^2` be the mean and the variance of the measure in fold i of M,
and :math:`\rho` the correlation between any two folds. The mean over the folds has the moments

.. math::

    \mu = \frac{1}{M} \sum_i \mu_i, \qquad
    \sigma^2 = \bigl(1 + (M - 1) \rho\bigr) \, \frac{1}{M^2} \sum_i \sigma_i^2.

If the distributions in the folds are beta, the distribution of the mean is
:math:`\mathrm{Beta}(\mu t, (1 - \mu) t)` with :math:`t = \mu (1 - \mu) / \sigma^2 - 1`
(Proposition 2 of Wang and Li). Otherwise, it is the mean of independent variables
(`bayescm.distributions.mixtures`), stretched around its own mean.

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

_HEAVY_PRIOR = 1 / 3  # largest weight of all priors, relative to the examples, without a warning
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

    Use it to reproduce published intervals. For other purposes, use `hierarchical_folds`.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted), or (..., M, C, C)
        Counts >= 0 of each fold of each repeat. The scalar coord ``n_folds`` is the number K of
        folds of one cross-validation, if it differs from the length of ``fold``.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts per cell, one number or (..., C, C). Default: ``2 / C**2``. Each fold
        has this prior, so M priors together shrink the estimate towards the prior mean of the
        measure. By default, this is 0.5 for a proportion of two classes.
    rho : float, optional
        Correlation between the measures of two folds, in [0, 1). Default: the proportion of test
        examples among the test and training examples of a fold (Nadeau and Bengio). This is 1/K
        if each fold is trained on all other folds.
    average : {"correlated", "independent", "mixture"}
        Definition of the average:

        - ``"correlated"``: the mean over folds, with its variance multiplied by ``1 + (M - 1) rho``
        - ``"independent"``: the mean over folds, which are treated as independent
        - ``"mixture"``: one fold chosen at random

    Returns
    -------
    AveragedFolds

    Warns
    -----
    UserWarning
        If the priors for all folds together are worth more than a third of the number of examples.
        This happens with tiny folds and with leave-one-out cross-validation.

    Raises
    ------
    ValueError
        If there are fewer than two folds, or `rho` is outside [0, 1).

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
        raise fail("`rho` must be a correlation, at least 0 and below 1", rho, "", "leave it out")
    check_choice("average", average, list(AVERAGES))
    prior = prior_of(concentration, counts, FOLDS)
    if np.ndim(prior) > 2:
        prior = prior[..., None, :, :]
    posterior = dirichlet_multinomial(stack(table), concentration=prior)
    _check_prior(posterior)
    return AveragedFolds(table, posterior, float(rho), average)


def _check_prior(folds):
    """Warn if the priors for all folds together have too much weight."""
    tested = folds.counts.values.sum((-3, -2, -1))
    prior = folds.concentration.sum((-3, -2, -1)) - tested
    if (prior > _HEAVY_PRIOR * tested).any():
        warnings.warn(
            "averaged_folds applies its prior in every fold. Together these priors are "
            f"worth {np.max(prior):.3g} examples, compared with {np.min(tested):.4g} tested "
            "examples, and pull the estimate towards chance. Use hierarchical_folds or "
            "pooled_folds, or a smaller concentration.",
            UserWarning,
            stacklevel=3,
        )


def _fold_correlation(facts):
    """Return the proportion of test examples among test and training examples of a fold."""
    test = 1 / facts["n_folds"]
    return test / (test + (1 - test) * facts["train_size"] / (1 - facts["test_share"]))


@dataclass(frozen=True, eq=False)
class AveragedFolds(CountsPosterior):
    """
    Posterior of each fold, and the definition of their average.

    Attributes
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted)
    folds : DirichletMultinomial
        Posteriors of the folds, batch (..., M).
    rho : float
        Correlation between the measures of two folds.
    average : {"correlated", "independent", "mixture"}
        Definition of the average.
    """

    pooled_dims = FOLDS
    estimands = {"parameter": "theta_fold"}  # noqa: RUF012
    counts: xr.DataArray
    folds: DirichletMultinomial
    rho: float
    average: str

    @property
    def stretch(self) -> float:
        """Factor that multiplies the standard deviation of the mean. NaN for a mixture."""
        if self.average == "mixture":
            return float("nan")
        matrices = self.folds.concentration.shape[-3]
        rho = self.rho if self.average == "correlated" else 0.0
        return float(np.sqrt(1 + (matrices - 1) * rho))

    def exact_distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the distribution of a measure's average over the folds, or None.

        With ``average="correlated"``, the result depends on the measure. If the measure has a beta
        distribution in each fold, the result is a beta distribution with the mean and the inflated
        variance (Proposition 2). Otherwise, it is the distribution of the mean, stretched around
        its own mean.
        """
        parts = self.folds.exact_distribution(within_members(measure, 1))
        # Averaging distributions from quadrature would take too long, so these measures use draws.
        if parts is None or parts.how != "closed form":
            return None
        parts = _move_folds_last(parts, self.folds.concentration)
        if self.average == "mixture":
            return MixtureOfFolds(parts)
        if self.average == "correlated" and isinstance(parts, Beta):
            return _matching_beta(parts, self.stretch)
        return MeanOfFolds(parts, self.stretch)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the mean of a measure over the folds in which it is defined."""
        self.resolve_estimand(of)
        return self.mean_of_members(measure)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of averages; all measures share the draws of matrices."""
        axis = self.folds.concentration.ndim - 2  # axis of the folds, after the draws and the batch
        of_folds = [within_members(measure, 1) for measure in measures]
        values = self.folds.draw(of_folds, size, rng)
        return [average_draws(draws, axis, self.stretch) for draws in values]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
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
    """Return the beta distribution with the mean over folds and the inflated variance."""
    mean = parts.mean().mean(axis=-1)
    variance = (stretch * MeanOfFolds(parts).sd()) ** 2
    total = mean * (1 - mean) / variance - 1
    return Beta(mean * total, (1 - mean) * total)
