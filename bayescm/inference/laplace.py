"""
Mode and Hessian of a log-concave density by damped Newton steps.

This is the first half of Laplace's method (Tierney & Kadane 1986); `nested_laplace` implements the
second half.

References
----------
Tierney, L. & Kadane, J. B. (1986). Accurate approximations for posterior moments and marginal
densities. Journal of the American Statistical Association 81, 82-86.
doi:10.1080/01621459.1986.10478240
"""

from collections.abc import Callable

import numpy as np

type Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_STEPS = 60  # maximum number of Newton steps; five are typical
_LONGEST = 3.0  # largest change of a coordinate in one step
_NEAR = 1e-7  # convergence tolerance: largest change in the last step


def mode(start: np.ndarray, derivatives: Derivatives) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the mode of a log-concave density and the Hessian there, by damped Newton steps.

    Several densities of the same dimension are solved simultaneously.

    Parameters
    ----------
    start : ndarray, shape (..., p)
    derivatives : callable
        Returns the gradient (..., p) of the log density and its negative Hessian (..., p, p) at
        points (..., p).

    Returns
    -------
    point : ndarray, shape (..., p)
    hessian : ndarray, shape (..., p, p)
        Negative Hessian of the log density.

    Examples
    --------
    >>> point, hessian = mode(np.zeros(1), lambda x: (3 - np.exp(x), np.exp(x)[:, None]))
    >>> np.exp(point).round(6), hessian.round(6)
    (array([3.]), array([[3.]]))
    """
    point = start
    for _ in range(_STEPS):
        gradient, hessian = derivatives(point)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=-1, keepdims=True)
        point = point + step * np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300))
        if longest.max() < _NEAR:
            break
    return point, hessian
