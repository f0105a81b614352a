r"""
Normalised log densities that several models share.

.. math::

    \log N^+(x; 0, s) &= \tfrac12 \log \tfrac2\pi - \log s - \tfrac12 (x / s)^2 \\
    \log t^+_2(x; s) &= -\tfrac12 \log 2 - \log s - \tfrac32 \log\bigl(1 + \tfrac12 (x/s)^2\bigr) \\
    \log \mathrm{Binomial}(k; n, p) &= \log \tbinom nk + k \log p + (n - k) \log (1 - p) \\
    \log \mathrm{BetaBinomial}(k; n, a, b)
        &= \log \tbinom nk + \log B(k + a, n - k + b) - \log B(a, b)

The first two, half-normal and half-Student-t with 2 degrees of freedom, are priors of scale
parameters. They are implemented here because importing `scipy.stats` takes longer than most
computations.

References
----------
Gelman, A. (2006). Prior distributions for variance parameters in hierarchical models. Bayesian
Analysis 1, 515-534. doi:10.1214/06-BA117A
"""

from typing import Any

import numpy as np
from scipy import special


def log_half_normal(x: Any, scale: Any) -> np.ndarray:
    """
    Return the log density of the half-normal distribution at x >= 0.

    Examples
    --------
    >>> round(float(log_half_normal(0.0, 1.0)), 4)
    -0.2258
    """
    return np.log(2 / np.pi) / 2 - np.log(scale) - (np.asarray(x) / scale) ** 2 / 2


def log_half_student_t2(x: Any, scale: Any) -> np.ndarray:
    """
    Return the log density of the half-Student-t distribution with 2 degrees of freedom at x >= 0.

    Examples
    --------
    >>> round(float(log_half_student_t2(0.0, 1.0)), 4)
    -0.3466
    """
    return -np.log(2) / 2 - np.log(scale) - 1.5 * np.log1p((np.asarray(x) / scale) ** 2 / 2)


def log_binomial(k: Any, n: Any, p: Any) -> np.ndarray:
    """
    Return the log probability of k successes in n trials, each with probability p.

    Examples
    --------
    >>> np.exp(log_binomial([0, 1, 2], 2, 0.5)).round(2)
    array([0.25, 0.5 , 0.25])
    """
    k, failures = np.asarray(k), np.asarray(n) - k
    return log_choose(n, k) + special.xlogy(k, p) + special.xlog1py(failures, -np.asarray(p))


def log_beta_binomial(k: Any, n: Any, a: Any, b: Any) -> np.ndarray:
    """
    Return the log probability of k successes in n trials with success probability ~ Beta(a, b).

    Examples
    --------
    >>> np.exp(log_beta_binomial([0, 1, 2], 2, 1, 1)).round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    k, failures = np.asarray(k), np.asarray(n) - k
    return log_choose(n, k) + special.betaln(k + a, failures + b) - special.betaln(a, b)


def log_choose(n: Any, k: Any) -> np.ndarray:
    """
    Return the log of the binomial coefficient.

    Examples
    --------
    >>> np.exp(log_choose(4, [0, 1, 2])).round(4)
    array([1., 4., 6.])
    """
    n, k = np.asarray(n), np.asarray(k)
    return -np.log1p(n) - special.betaln(k + 1, n - k + 1)
