r"""
The Bayesian bootstrap: the shares of the examples in the population, as they may be.

The shares of n examples, each counted :math:`w_i` times, have the posterior Dirichlet(w) under a
prior without information (Rubin 1981): gamma variates :math:`g_i \sim \mathrm{Gamma}(w_i)` over
their sum.

The mean of n numbers of variance :math:`s^2` (divided by n - 1) under shares Dirichlet(a, ..., a)
has the variance

.. math:: \frac{n - 1}{n} \, \frac{s^2}{n a + 1}.

At a = 1 that is less than the :math:`s^2 / n` of the sample mean; a = 1 - 2/n gives this
(`unbiased_shape`), and a = 1 - 4/n the variance :math:`s^2 (n - 1) / (n (n - 3))` of the t
distribution with n - 1 degrees of freedom (`student_shape`).

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

from typing import Any

import numpy as np


def gamma_weights(counts: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """
    Draw gamma variates (size, n), whose shares of their sum are those of examples counted so often.

    Parameters
    ----------
    counts : ndarray, shape (n,)
        Gamma variates of shape 1 are exponential, and quick.
    size : int
    rng : numpy.random.Generator
    """
    single = counts == 1
    if single.sum() < len(counts) / 2:
        return rng.standard_gamma(counts, (size, len(counts)))
    weights = rng.standard_exponential((size, len(counts)))
    weights[:, ~single] = rng.standard_gamma(counts[~single], (size, (~single).sum()))
    return weights


def stratified_shares(
    stratum: np.ndarray,
    counts: np.ndarray,
    stratum_shares: np.ndarray,
    size: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """
    Draw the shares (size, n) of examples in the population, by a bootstrap inside each stratum.

    Parameters
    ----------
    stratum : ndarray of int, shape (n,)
        The stratum of each example, such as its class.
    counts : ndarray, shape (n,)
        How often each example is counted.
    stratum_shares : ndarray, shape (size, C)
        Draws of the share of each stratum, to which those of its examples add up.
    size : int
    rng : numpy.random.Generator

    Examples
    --------
    >>> shares = np.full((2, 2), [0.3, 0.7])
    >>> rng = np.random.default_rng(1)
    >>> stratified_shares(np.array([0, 1, 1]), np.ones(3), shares, 2, rng)[:, 0]
    array([0.3, 0.3])
    """
    shares = gamma_weights(counts, size, rng)
    number = stratum_shares.shape[1]
    shares *= (stratum_shares / (shares @ np.eye(number)[stratum]))[:, stratum]
    return shares


def student_shape(number: Any) -> Any:
    """Return the shape of weights by which means of more than 4 vary as a t distribution does."""
    return 1 - 4 / number


def unbiased_shape(number: Any) -> Any:
    """Return the shape of weights by which means of more than 2 vary as sample means do."""
    return 1 - 2 / number
