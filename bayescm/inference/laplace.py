r"""
Laplace's method at each of a grid of scales, and importance weights that correct it.

Coefficients b have a normal prior with precision P, and the log likelihood :math:`\ell(b, s)`
depends on a scale s with the prior density p(s). At each s of a grid that is even in log s, let
:math:`b_s` be the mode and :math:`H_s` the Hessian of minus the log of

.. math:: p(b, s) = \exp\bigl(\ell(b, s)\bigr) \, N(b; 0, P^{-1}) \, p(s).

The proposal takes s with probability proportional to :math:`p(b_s, s) \, |H_s|^{-1/2} \, s`, and b
from :math:`N(b_s, H_s^{-1})`. Its draws are weighted by the posterior density over their own and
resampled: the approximation of Rue, Martino & Chopin (2009), made exact but for the grid.

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

import numpy as np
from scipy.special import logsumexp

from bayescm.inference import importance

type Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
type LogDensity = Callable[[np.ndarray, np.ndarray], np.ndarray]

_STEPS, _LONGEST, _NEAR = (
    60,
    3.0,
    1e-7,
)  # of Newton; a step's largest coordinate, and the last one's


def mode(start: np.ndarray, derivatives: Derivatives) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the mode of a log-concave density, by damped Newton steps, and the Hessian there.

    Parameters
    ----------
    start : ndarray, shape (p,)
    derivatives : callable
        The gradient (p,) of the log density and minus its Hessian (p, p) at a point.

    Examples
    --------
    >>> point, hessian = mode(np.zeros(1), lambda x: (3 - np.exp(x), np.exp(x)[:, None]))
    >>> np.exp(point).round(6), hessian.round(6)
    (array([3.]), array([[3.]]))
    """
    point = start
    for _ in range(_STEPS):
        gradient, hessian = derivatives(point)
        step = np.linalg.solve(hessian, gradient)
        longest = np.abs(step).max()
        point = point + step * min(1.0, _LONGEST / max(longest, 1e-300))
        if longest < _NEAR:
            break
    return point, hessian


def at_scales(
    scales: np.ndarray,
    start: np.ndarray,
    derivatives: Callable[[float], Derivatives],
    log_density: LogDensity,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the approximation at each scale.

    Parameters
    ----------
    scales : ndarray, shape (G,)
        Even in their logarithm.
    start : ndarray, shape (p,)
    derivatives : callable
        Those of the log density in the coefficients at a scale; see `mode`.
    log_density : callable
        Of coefficients (S, p) and scales (S,), up to a constant.

    Returns
    -------
    modes : ndarray, shape (G, p)
    factors : ndarray, shape (G, p, p)
        A root of the covariance at each mode, upper triangular.
    log_weights : ndarray, shape (G,)
        Logs of the posterior probabilities of the scales.
    """
    point, rows = start, []
    for scale in scales:
        point, hessian = mode(point, derivatives(scale))
        factor = np.linalg.inv(np.linalg.cholesky(hessian)).T
        height = log_density(point[None], np.array([scale]))[0]
        # On a grid even in log(scale), whose density has the scale as a factor.
        weight = height + np.log(np.abs(np.diag(factor))).sum() + np.log(scale)
        rows.append((point, factor, weight))
    modes, factors, weights = map(np.array, zip(*rows, strict=True))
    return modes, factors, weights - logsumexp(weights)


def draw(
    scales: np.ndarray,
    approximation: tuple[np.ndarray, np.ndarray, np.ndarray],
    log_density: LogDensity,
    size: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, float]:
    """
    Draw coefficients and scales from the posterior, by importance resampling.

    Parameters
    ----------
    scales, approximation, log_density
        As `at_scales` takes and returns them.
    size : int
    rng : numpy.random.Generator

    Returns
    -------
    coefficients : ndarray, shape (size, p)
    scale : ndarray, shape (size,)
    efficiency : float
        The effective share of the draws before they were resampled by their weights.
    """
    modes, factors, weights = approximation
    scale_index = rng.choice(len(scales), size=size, p=np.exp(weights))
    noise = rng.standard_normal((size, modes.shape[1]))
    coefficients = np.empty_like(noise)
    for index in np.unique(scale_index):
        rows = scale_index == index
        coefficients[rows] = modes[index] + noise[rows] @ factors[index].T
    scale = scales[scale_index]
    proposed = weights[scale_index] - (noise**2).sum(axis=1) / 2
    diagonal = np.diagonal(factors, axis1=1, axis2=2)
    proposed -= np.log(np.abs(diagonal)).sum(axis=1)[scale_index]
    logs = log_density(coefficients, scale) + np.log(scale) - proposed
    resampled, efficiency = importance.resample(logs, size, rng)
    return coefficients[resampled], scale[resampled], efficiency
