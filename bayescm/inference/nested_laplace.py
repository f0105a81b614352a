r"""
Nested Laplace approximation: a few hyperparameters on a grid, with effects by Laplace's method.

Effects b with p dimensions have a joint density p(b, s) that is approximately normal in b given the
hyperparameters s. There are few hyperparameters, such as the standard deviation between groups. At
each of a set of points s, let :math:`b_s` be the mode of the effects, and :math:`H_s` the Hessian
of -log p(b, s) with respect to b. Laplace's method integrates out the effects (Tierney & Kadane
1986),

.. math:: p(s) \approx p(b_s, s) \, (2 \pi)^{p/2} \, |H_s|^{-1/2}.

The proposal samples a point s from this density, and b from :math:`N(b_s, H_s^{-1})` or from a
Student t distribution with this scale. Its draws are weighted by the exact density p(b, s) divided
by the proposal density, and resampled. The approximation of Rue, Martino & Chopin (2009) thus
becomes exact, except for the discretisation of s. The points are an even grid of log s (`on_grid`),
or a weighted sample from the approximate density.

References
----------
Tierney, L. & Kadane, J. B. (1986). Accurate approximations for posterior moments and marginal
densities. Journal of the American Statistical Association 81, 82-86.
doi:10.1080/01621459.1986.10478240

Rue, H., Martino, S. & Chopin, N. (2009). Approximate Bayesian inference for latent Gaussian models
by using integrated nested Laplace approximations. Journal of the Royal Statistical Society B 71,
319-392. doi:10.1111/j.1467-9868.2008.00700.x
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from bayescm.inference import importance
from bayescm.inference.laplace import Derivatives, mode

type LogDensity = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class NestedLaplace:
    """
    Laplace approximation of the effects at each of G points of the hyperparameters.

    Attributes
    ----------
    points : ndarray, shape (G,) or (G, H)
        Values of the hyperparameters.
    modes : ndarray, shape (G, p)
        Mode of the effects at each point.
    factors : ndarray, shape (G, p, p)
        Root F of the covariance F F' of the effects at each point.
    log_density : ndarray, shape (G,)
        Log of the approximate density of the hyperparameters, up to a constant. On a grid that is
        even in log(s), this is the density of log(s).
    """

    points: np.ndarray
    modes: np.ndarray
    factors: np.ndarray
    log_density: np.ndarray

    @property
    def probabilities(self) -> np.ndarray:
        """Probabilities (G,) of the points of a grid, which sum to 1."""
        return np.exp(self.log_density - logsumexp(self.log_density))

    def propose(
        self, index: np.ndarray, rng: np.random.Generator, *, freedom: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Sample effects around their modes.

        Parameters
        ----------
        index : ndarray of int, shape (S,)
            Index of the point for each draw.
        rng : numpy.random.Generator
        freedom : float, default inf
            Degrees of freedom of a Student t proposal, which has heavier tails than a normal one.

        Returns
        -------
        effects : ndarray, shape (S, p)
        log_proposal : ndarray, shape (S,)
            Log density of the points and effects under the proposal, up to a constant.
        """
        size, dims = len(index), self.modes.shape[1]
        noise = rng.standard_normal((size, dims))
        if np.isfinite(freedom):
            noise /= np.sqrt(rng.chisquare(freedom, (size, 1)) / freedom)
            log_noise = -(freedom + dims) / 2 * np.log1p((noise**2).sum(axis=1) / freedom)
        else:
            log_noise = -(noise**2).sum(axis=1) / 2
        effects = np.empty_like(noise)
        for point in np.unique(index):
            rows = index == point
            effects[rows] = self.modes[point] + noise[rows] @ self.factors[point].T
        return effects, self.log_density[index] + log_noise - log_determinant(self.factors)[index]

    def draw(
        self, log_joint: LogDensity, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """
        Sample effects and scales from the posterior, by importance resampling from a grid.

        Parameters
        ----------
        log_joint : callable
            From effects (S, p) and scales (S,) or (S, H) to their joint log density, up to a
            constant.
        size : int
        rng : numpy.random.Generator

        Returns
        -------
        effects : ndarray, shape (size, p)
        scales : ndarray, shape (size,) or (size, H)
        efficiency : float
            Effective number of draws before resampling, as a proportion.
        """
        index = rng.choice(len(self.points), size=size, p=self.probabilities)
        effects, log_proposal = self.propose(index, rng)
        scales = self.points[index]
        log_weights = log_joint(effects, scales) + _log_measure(scales) - log_proposal
        resampled, efficiency = importance.resample(log_weights, size, rng)
        return effects[resampled], scales[resampled], efficiency


def on_grid(
    scales: np.ndarray,
    start: np.ndarray,
    derivatives: Callable[..., Derivatives],
    log_joint: LogDensity,
) -> NestedLaplace:
    """
    Return the nested Laplace approximation on a grid of scales.

    Parameters
    ----------
    scales : ndarray, shape (G,) or (G, H)
        Positive scales, on a grid that is even in log scale.
    start : ndarray, shape (p,)
        Starting point of the search for the mode at the first scale. Each further search starts at
        the previous mode.
    derivatives : callable
        From a scale to the derivatives of the log density with respect to the effects, as in
        `laplace.mode`.
    log_joint : callable
        From effects (S, p) and scales (S,) or (S, H) to their joint log density, up to a constant.
    """
    point, rows = start, []
    for scale in scales:
        point, hessian = mode(point, derivatives(scale))
        factor = np.linalg.inv(np.linalg.cholesky(hessian)).T
        rows.append((point, factor, log_joint(point[None], np.array([scale]))[0]))
    modes, factors, heights = map(np.array, zip(*rows, strict=True))
    log_density = heights + log_determinant(factors) + _log_measure(scales)
    return NestedLaplace(scales, modes, factors, log_density - logsumexp(log_density))


def _log_measure(scales):
    """Return log |ds / d log s|, which converts a density of s to a density of log s."""
    return np.log(scales).reshape(len(scales), -1).sum(axis=1)


def log_determinant(factors: np.ndarray) -> np.ndarray:
    """Return the logs of the absolute determinants of triangular matrices (G, p, p)."""
    return np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(axis=1)
