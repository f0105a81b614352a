"""
The exact sibling of `bayescm.models.averaged_folds`: independent Dirichlets, averaged after.

Every fold has its own posterior, and the estimand is the mean of the measure over the folds. Three
readings of its distribution are offered: that of Wang and Li, whose variance is inflated for a
correlation between the folds, and the two that the words of an earlier thesis allow, the mean of
independent variables and the mixture of the folds' posteriors.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from bayescm.direct.dirichlet_multinomial import DirichletMultinomial, dirichlet_multinomial
from bayescm.distributions.beta import Beta
from bayescm.distributions.mean_of_folds import MeanOfFolds, MixtureOfFolds
from bayescm.validate import check_choice, fail

AVERAGES = ("correlated", "independent", "mixture")


@dataclass(frozen=True, eq=False)
class AveragedFolds:
    """
    The posterior of every fold, and how they are averaged.

    Attributes
    ----------
    folds : DirichletMultinomial
        The posteriors, batch (..., K).
    rho : float
        Correlation between the measures of two folds.
    average : {"correlated", "independent", "mixture"}
        The reading of the average.
    """

    folds: DirichletMultinomial
    rho: float
    average: str

    @property
    def stretch(self) -> float:
        """Return the factor by which the standard deviation of the mean is inflated."""
        matrices = self.folds.cells.shape[-3]
        rho = self.rho if self.average == "correlated" else 0.0
        return float(np.sqrt(1 + (matrices - 1) * rho))

    def distribution(self, kernel: Callable):
        """
        Return the distribution of a measure's average over the folds, or None.

        With ``average="correlated"`` it is a beta with the mean and the inflated variance for the
        measures that have a beta distribution in every fold (proposition 2), else the distribution
        of the mean, stretched about its own mean.
        """
        parts = _folds_last(self.folds.distribution(kernel), self.folds.cells)
        # Distributions by quadrature take too long to average: draws answer in their place.
        if parts is None or parts.how != "closed form":
            return None
        if self.average == "mixture":
            return MixtureOfFolds(parts)
        if self.average == "correlated" and isinstance(parts, Beta):
            return _matching_beta(parts, self.stretch)
        return MeanOfFolds(parts, self.stretch)

    def measure(self, kernels: Sequence[Callable], size: int, rng) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the averages, all from the same matrices."""
        axis = self.folds.cells.ndim - 2  # of the folds: after the draws and the batch
        values = self.folds.measure(kernels, size, rng)
        return [average_draws(each, axis, self.average, self.stretch) for each in values]

    def draws(self, size: int, rng) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        drawn = self.folds.draws(size, rng)
        return {"theta_fold_cell": drawn["theta_cell"], "theta_fold": drawn["theta"]}

    def logpdf(self, theta: ArrayLike) -> np.ndarray:
        """Return the log posterior density at theta (..., K, C, C)."""
        return self.folds.logpdf(theta).sum(axis=-1)

    def log_marginal(self) -> np.ndarray:
        """Return the log marginal likelihood of each cross-validation."""
        return self.folds.log_marginal().sum(axis=-1)


def averaged_folds(
    cells: ArrayLike,
    *,
    concentration: ArrayLike | None = None,
    rho: float | None = None,
    average: str = "correlated",
    n_folds: int | None = None,
) -> AveragedFolds:
    """
    Return the posteriors of the folds, to be averaged.

    Parameters
    ----------
    cells : array_like, shape (..., M, C, C)
        Counts >= 0 of every fold of every repeat; index 1 of two classes is the positive one.
    concentration : array_like, optional
        Prior pseudo-counts per cell, one number or (..., C, C); ``2 / C**2`` by default. Every fold
        has them: all folds together are drawn to 0.5 by M priors.
    rho : float, optional
        Correlation between the measures of two folds, in [0, 1); by default 1/K.
    average : {"correlated", "independent", "mixture"}
        ``"correlated"``: the mean over folds, its variance inflated by ``1 + (M - 1) rho``.
        ``"independent"``: the mean over folds of independent variables. ``"mixture"``: one fold
        picked at random.
    n_folds : int, optional
        Number K of folds of one cross-validation; M by default.

    Returns
    -------
    AveragedFolds

    Raises
    ------
    ValueError
        Where there are fewer than two folds, rho is no correlation, or a posterior is improper.

    Examples
    --------
    >>> from bayescm.measures.catalogue import resolve
    >>> cells = [[[6, 4], [4, 6]], [[5, 5], [5, 5]], [[7, 3], [3, 7]]]
    >>> averaged_folds(cells, concentration=1).distribution(resolve("recall")).eti(0.95).round(3)
    array([0.381, 0.772])
    """
    cells = np.asarray(cells, float)
    matrices = cells.shape[-3] if cells.ndim > 2 else 1
    if matrices < 2:
        raise fail(
            "one fold is not a cross-validation",
            cells.shape,
            "shape (..., M, C, C) with M >= 2",
            "use dirichlet_multinomial for one test set",
        )
    rho = 1 / (n_folds or matrices) if rho is None else rho
    number = np.ndim(rho) == 0 and isinstance(rho, (Real, np.ndarray))
    if not number or not 0 <= rho < 1:
        raise fail("rho is not a correlation", rho, "one number, 0 <= rho < 1", "leave it out")
    check_choice("average", average, list(AVERAGES))
    prior = None if concentration is None else np.asarray(concentration, float)
    if prior is not None and prior.ndim > 2:
        prior = prior[..., None, :, :]
    posterior = dirichlet_multinomial(cells, concentration=prior)
    return AveragedFolds(posterior, float(rho), average)


def average_draws(values: np.ndarray, axis: int, average: str, stretch: float) -> np.ndarray:
    """
    Return draws of the average from draws of every fold.

    Parameters
    ----------
    values : ndarray, shape (size, ...)
        Draws of the measure in every fold; NaN where it is undefined.
    axis : int
        The axis of the folds.
    average : {"correlated", "independent", "mixture"}
        For a mixture the draws take the folds in turn.
    stretch : float
        Factor by which the average is stretched about its mean, draw by draw. What leaves the range
        of the folds' draws is put at its end.

    Returns
    -------
    ndarray, without the axis of the folds
    """
    if average == "mixture":
        size, folds = values.shape[0], values.shape[axis]
        turn = (np.arange(size) % folds).reshape(-1, *[1] * (values.ndim - 1))
        return np.take_along_axis(values, turn, axis).squeeze(axis)
    mean = values.mean(axis=axis)
    if stretch == 1:
        return mean
    center = np.nanmean(mean, axis=0)
    ends = np.nanmin(values, axis=(0, axis)), np.nanmax(values, axis=(0, axis))
    return np.clip(center + stretch * (mean - center), *ends)


def _folds_last(distribution, cells):
    """Return the distribution with the axis of the folds last in its batch."""
    if distribution is None or distribution.mean().ndim < cells.ndim - 1:
        return distribution
    moved = {
        each.name: np.moveaxis(value, -2, -1) if np.ndim(value) > 1 else value
        for each in fields(distribution)
        for value in [getattr(distribution, each.name)]
    }
    return replace(distribution, **moved)


def _matching_beta(parts, stretch):
    """Return the beta distribution with the mean of the folds' means and the inflated variance."""
    mean = parts.mean().mean(axis=-1)
    variance = (stretch * MeanOfFolds(parts).sd()) ** 2
    total = mean * (1 - mean) / variance - 1
    return Beta(mean * total, (1 - mean) * total)
