r"""
Adaptive Gauss-Hermite quadrature of the likelihood of groups with one or two random effects.

Group g has h successes in n trials for each of D = 1 or 2 rates. The logits of the rates are
:math:`m + L e`, where m is their mean, L the lower Cholesky factor of their covariance
(``factor``), and e are standard normal effects. Let :math:`\hat e` be the mode of the integrand f
(``modes``), and R a root of its inverse curvature there (``roots``). With nodes z and weights w for
averages over a standard normal variable,

.. math::

    p(h) = (2 \pi)^{-D/2} \int f(e) \, de \approx |R| \sum_k w_k \, e^{|z_k|^2 / 2}
    f(\hat e + R z_k), \qquad
    f(e) = \prod_d \mathrm{Binomial}\bigl(h_d; n_d, \operatorname{expit}(m + L e)_d\bigr)
           \, e^{-e_d^2 / 2},

without the binomial coefficients. With two effects, the sum is over pairs of nodes.

Arrays are small enough for the cache, and no logarithm is computed twice. The logit of the first of
two rates depends on one effect only. The odds of the second rate are a product of factors from the
two effects.

References
----------
Liu, Q. & Pierce, D. A. (1994). A note on Gauss-Hermite quadrature. Biometrika 81, 624-629.
doi:10.1093/biomet/81.3.624

Pinheiro, J. C. & Bates, D. M. (1995). Approximations to the log-likelihood function in the
nonlinear mixed-effects model. Journal of Computational and Graphical Statistics 4, 12-35.
doi:10.1080/10618600.1995.10474663
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

_FARTHEST = 300.0  # bound of logits, beyond which odds are practically 0 or infinite
_HIGHEST = 300.0  # bound of log heights above the mode, in case the search did not converge
_NODES = 61  # number of nodes for averages over the population of groups


class GroupModes(NamedTuple):
    """
    Groups with the distribution of their logits and the modes of their effects.

    Attributes
    ----------
    hits, totals : D arrays, shape (G,)
    means : D arrays, shape (S, 1 or G)
        Means of the logits.
    factor : D rows of arrays, shape (S, 1)
        Lower Cholesky factor of the covariance of the logits.
    modes : D arrays, shape (S, G)
        Modes of the standardised effects.
    roots : D rows of arrays, shape (S, G)
        Lower triangular root of the inverse curvature at the modes.
    """

    hits: np.ndarray
    totals: np.ndarray
    means: Sequence[np.ndarray]
    factor: Sequence[Sequence[np.ndarray]]
    modes: Sequence[np.ndarray]
    roots: Sequence[Sequence[np.ndarray]]


def softplus(logits: np.ndarray) -> np.ndarray:
    """
    Return log(1 + exp(x)), in a sixth of the time of `numpy.logaddexp`.

    Examples
    --------
    >>> softplus(np.array([-800.0, 0.0, 800.0])).round(4).tolist()
    [0.0, 0.6931, 800.0]
    """
    return np.maximum(logits, 0) + np.log1p(np.exp(-np.abs(logits)))


def fast_expit(logits: np.ndarray) -> np.ndarray:
    """
    Return the rates of logits, in a third of the time of `scipy.special.expit`.

    Examples
    --------
    >>> fast_expit(np.array([-800.0, 0.0, 800.0])).round(4).tolist()
    [0.0, 0.5, 1.0]
    """
    return 1 / (1 + np.exp(np.minimum(-logits, 700)))


def logit_normal_means(means: np.ndarray, deviations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of logit-normal rates and of their complements, in a common shape."""
    nodes, weights = gauss_hermite_rule(_NODES)
    odds = np.exp(np.minimum(-means[..., None] - deviations[..., None] * nodes, 700))
    rates = 1 / (1 + odds)
    return rates @ weights, (odds * rates) @ weights


@cache
def gauss_hermite_rule(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights (K,) of averages over a standard normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    return nodes, weights / weights.sum()


def log_likelihood_of_logit(logit: np.ndarray, hits: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the log likelihood of logits (S, G), without the binomial coefficients."""
    logit = np.clip(logit, -_FARTHEST, _FARTHEST)
    return hits * logit - totals * softplus(logit)


def log_marginal_likelihood(groups: GroupModes, numbers: np.ndarray) -> np.ndarray:
    """Return log p(h), (S, G), given the number of nodes (G,) per effect."""
    logs = np.empty_like(groups.modes[0])
    for number in np.unique(numbers):
        has_number = numbers == number
        selected = groups if has_number.all() else _select(groups, has_number)
        logs[:, has_number] = _quadrature(selected, number)
    return logs


def _select(groups, index):
    """Return the groups with the given index."""
    means = [values[:, index] if values.shape[1] > 1 else values for values in groups.means]
    modes = [values[:, index] for values in groups.modes]
    roots = [[values[:, index] for values in row] for row in groups.roots]
    hits, totals = groups.hits[:, index], groups.totals[:, index]
    return GroupModes(hits, totals, means, groups.factor, modes, roots)


def _quadrature(groups, number):
    nodes, weights = gauss_hermite_rule(number)
    weights = weights * np.exp(nodes**2 / 2)
    peak = _peak(groups)
    volume = np.log(groups.roots[0][0])
    at = groups.modes[0][..., None] + groups.roots[0][0][..., None] * nodes
    logit = groups.means[0][..., None] + groups.factor[0][0][..., None] * at
    heights = log_likelihood_of_logit(logit, groups.hits[0][:, None], groups.totals[0][:, None])
    heights -= at**2 / 2 + peak[..., None]
    if len(groups.hits) == 1:
        total = np.exp(np.minimum(heights, _HIGHEST)) @ weights
    else:
        total = _inner(groups, (nodes, weights), at, heights) @ weights
        volume = volume + np.log(groups.roots[1][1])
    return np.log(total) + peak + volume


def _peak(groups):
    """Return the log likelihood at the modes, plus the log density of the effects there."""
    total = 0.0
    for rate, (hits, totals) in enumerate(zip(groups.hits, groups.totals, strict=True)):
        logit = groups.means[rate]
        for entry, mode in zip(groups.factor[rate], groups.modes, strict=False):
            logit = logit + entry * mode
        total = total + log_likelihood_of_logit(logit, hits, totals) - groups.modes[rate] ** 2 / 2
    return total


def _inner(groups, rule, at, heights):
    """Sum over the second effect at every node (S, G, K) of the first effect."""
    totals = groups.totals[1][:, None]
    along, across = groups.factor[1]
    cross, width = (entry[..., None] for entry in groups.roots[1])
    # At node n of the second effect, the logit is start + n * step, and the effect is base + n *
    # width.
    base = groups.modes[1][..., None] + cross * rule[0]
    start = groups.means[1][..., None] + along[..., None] * at + across[..., None] * base
    start = np.clip(start, -_FARTHEST, _FARTHEST)
    step = np.clip(across[..., None] * width, 0, _FARTHEST / rule[0][-1])
    odds, ratio = np.exp(start), np.exp(step)
    heights = heights + groups.hits[1][:, None] * start - base**2 / 2
    slope = groups.hits[1][:, None] * step - base * width
    total = np.zeros_like(heights)
    for node, weight in zip(*rule, strict=True):
        log_term = np.log1p(odds * ratio**node)
        log_term *= -totals
        log_term += heights
        log_term += slope * node
        log_term -= width**2 * (node**2 / 2)
        np.minimum(log_term, _HIGHEST, out=log_term)
        total += weight * np.exp(log_term, out=log_term)
    return total
