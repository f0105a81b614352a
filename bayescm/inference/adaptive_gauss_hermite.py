"""
The likelihood of groups' rates, their effects integrated out by adaptive Gauss-Hermite sums.

Arrays are small enough for the cache, and no logarithm is taken twice: the logit of the first of
two rates depends on one effect alone, and the odds of the second are a product of what each of the
two effects does to them.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

_FARTHEST = 300.0  # logits beyond which odds are not told apart
_HIGHEST = 300.0  # above the most probable effects, where the search ended on its way to them
_NODES = 61  # of averages over all groups there may be


class Fitted(NamedTuple):
    """
    Groups, the distribution of their logits, and where their effects lie.

    Attributes
    ----------
    hits, totals : D arrays, shape (G,)
    means : D arrays, shape (S, 1 or G)
        Means of the logits.
    factor : D rows of arrays, shape (S, 1)
        The lower Cholesky factor of their covariance.
    middle : D arrays, shape (S, G)
        The most probable standardised effects.
    spread : D rows of arrays, shape (S, G)
        A lower triangular root of the inverse curvature there.
    """

    hits: np.ndarray
    totals: np.ndarray
    means: Sequence[np.ndarray]
    factor: Sequence[Sequence[np.ndarray]]
    middle: Sequence[np.ndarray]
    spread: Sequence[Sequence[np.ndarray]]


def softplus(logits: np.ndarray) -> np.ndarray:
    """
    Return log(1 + exp(x)), as `numpy.logaddexp` does in six times the time.

    Examples
    --------
    >>> softplus(np.array([-800.0, 0.0, 800.0])).round(4).tolist()
    [0.0, 0.6931, 800.0]
    """
    return np.maximum(logits, 0) + np.log1p(np.exp(-np.abs(logits)))


def share(logits: np.ndarray) -> np.ndarray:
    """
    Return the rates of logits, as `scipy.special.expit` does in three times the time.

    Examples
    --------
    >>> share(np.array([-800.0, 0.0, 800.0])).round(4).tolist()
    [0.0, 0.5, 1.0]
    """
    return 1 / (1 + np.exp(np.minimum(-logits, 700)))


def averaged(means: np.ndarray, deviations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rates and their complements, averaged over normal logits, all of one shape."""
    nodes, weights = normal_rule(_NODES)
    odds = np.exp(np.minimum(-means[..., None] - deviations[..., None] * nodes, 700))
    rates = 1 / (1 + odds)
    return rates @ weights, (odds * rates) @ weights


@cache
def normal_rule(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights (K,) of averages over a standard normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    return nodes, weights / weights.sum()


def log_binomial(logit: np.ndarray, hits: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the log likelihood of logits (S, G), without the coefficients."""
    logit = np.clip(logit, -_FARTHEST, _FARTHEST)
    return hits * logit - totals * softplus(logit)


def integrated(groups: Fitted, numbers: np.ndarray) -> np.ndarray:
    """Return the log likelihood (S, G) by so many nodes, (G,), for each of one or two effects."""
    found = np.empty_like(groups.middle[0])
    for number in np.unique(numbers):
        which = numbers == number
        found[:, which] = _by_nodes(groups if which.all() else _some(groups, which), number)
    return found


def _some(groups, which):
    """Return the groups that are chosen."""
    means = [each[:, which] if each.shape[1] > 1 else each for each in groups.means]
    middle = [each[:, which] for each in groups.middle]
    spread = [[each[:, which] for each in row] for row in groups.spread]
    hits, totals = groups.hits[:, which], groups.totals[:, which]
    return Fitted(hits, totals, means, groups.factor, middle, spread)


def _by_nodes(groups, number):
    nodes, weights = normal_rule(number)
    weights = weights * np.exp(nodes**2 / 2)
    peak = _peak(groups)
    volume = np.log(groups.spread[0][0])
    at = groups.middle[0][..., None] + groups.spread[0][0][..., None] * nodes
    logit = groups.means[0][..., None] + groups.factor[0][0][..., None] * at
    heights = log_binomial(logit, groups.hits[0][:, None], groups.totals[0][:, None])
    heights -= at**2 / 2 + peak[..., None]
    if len(groups.hits) == 1:
        total = np.exp(np.minimum(heights, _HIGHEST)) @ weights
    else:
        total = _inner(groups, (nodes, weights), at, heights) @ weights
        volume = volume + np.log(groups.spread[1][1])
    return np.log(total) + peak + volume


def _peak(groups):
    """Return the log likelihood of the most probable effects, and their log density."""
    total = 0.0
    for rate, (hits, totals) in enumerate(zip(groups.hits, groups.totals, strict=True)):
        logit = groups.means[rate]
        for part, each in zip(groups.factor[rate], groups.middle, strict=False):
            logit = logit + part * each
        total = total + log_binomial(logit, hits, totals) - groups.middle[rate] ** 2 / 2
    return total


def _inner(groups, rule, at, heights):
    """Sum over the second effect at every node (S, G, K) of the first one."""
    totals = groups.totals[1][:, None]
    along, across = groups.factor[1]
    turn, width = (each[..., None] for each in groups.spread[1])
    # At the second effect's node n its logit is start + n * step, and the effect base + n * width.
    base = groups.middle[1][..., None] + turn * rule[0]
    start = groups.means[1][..., None] + along[..., None] * at + across[..., None] * base
    start = np.clip(start, -_FARTHEST, _FARTHEST)
    step = np.clip(across[..., None] * width, 0, _FARTHEST / rule[0][-1])
    odds, ratio = np.exp(start), np.exp(step)
    heights = heights + groups.hits[1][:, None] * start - base**2 / 2
    slope = groups.hits[1][:, None] * step - base * width
    found = np.zeros_like(heights)
    for node, weight in zip(*rule, strict=True):
        here = np.log1p(odds * ratio**node)
        here *= -totals
        here += heights
        here += slope * node
        here -= width**2 * (node**2 / 2)
        np.minimum(here, _HIGHEST, out=here)
        found += weight * np.exp(here, out=here)
    return found
