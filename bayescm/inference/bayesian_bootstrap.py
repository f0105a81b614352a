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

Several systems on the same items share the weights. If two of them differ in few items, or in none,
the weights alone would make their difference far too certain. Two shared pseudo-items, with weights
:math:`h_j \sim \mathrm{Gamma}(e)`, represent the disagreement that was not seen. In each of them
system k has the score

.. math:: c_k + z_k D_k / 2,

with :math:`c_k` its score of one item that is drawn at random, the same for all systems, moved
inwards so that both sides are inside the range. Half of the systems, chosen at random, are below
(:math:`z_k = -1`) and the others above. :math:`D_k` is the largest difference between system k and
the system next to it (`largest_differences`), so that a pair is as far apart as was seen. All
differences, ratios, ranks and spreads of any number of systems follow from the same joint draw.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

from typing import Any, NamedTuple

import numpy as np

# Differences up to this part of the range are rounding errors.
_ROUNDING = 1e-9


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


class Disagreement(NamedTuple):
    """
    Draws of the pseudo-items in which systems on the same items disagree.

    Attributes
    ----------
    weight : ndarray, shape (S, 2)
    item : ndarray of int, shape (S, 2)
        The item at which each pseudo-item has its center.
    sign : ndarray, shape (S, K, 2)
        On which side of the center each system is, 1.0 or -1.0.
    """

    weight: np.ndarray
    item: np.ndarray
    sign: np.ndarray

    def scores(self, score: np.ndarray, low: float, high: float) -> np.ndarray:
        """
        Return the scores of the systems in the pseudo-items, (S, K, 2).

        Parameters
        ----------
        score : ndarray, shape (K, n)
            The scores of the items, such as the losses of examples. NaN where a system has none:
            the center is then its mean.
        low, high : float
            The ends of the range, infinite if they are not known.
        """
        with np.errstate(invalid="ignore"):
            number = (~np.isnan(score)).sum(axis=1, keepdims=True)
            mean = np.nansum(score, axis=1, keepdims=True) / number
        center = np.where(np.isnan(score), mean, score)[:, self.item].swapaxes(0, 1)
        half = largest_differences(score, low, high)[:, None] / 2
        return np.clip(center, low + half, high - half) + self.sign * half


def draw_disagreement(
    systems: int,
    item_weight: np.ndarray,
    concentration: float,
    size: int,
    rng: np.random.Generator,
) -> Disagreement:
    """
    Draw the pseudo-items in which several systems on the same items disagree.

    Parameters
    ----------
    systems : int
    item_weight : ndarray, shape (n,)
        The weight of each item, in any scale: how often it becomes a center.
    concentration : float
        The shape e of the weights of both pseudo-items: 1/2, or 0 to leave them out.
    size : int
    rng : numpy.random.Generator

    Examples
    --------
    The means of two systems that have the same scores in all three items differ in some draws.

    >>> score = np.array([[0.2, 0.4, 0.9], [0.2, 0.4, 0.9]])
    >>> rng = np.random.default_rng(1)
    >>> weight = gamma_weights(np.ones(3), 5000, rng)
    >>> pseudo = draw_disagreement(2, np.ones(3), 0.5, 5000, rng)
    >>> sums = weight @ score.T + (pseudo.scores(score, 0, 1) * pseudo.weight[:, None]).sum(axis=2)
    >>> means = sums / (weight.sum(axis=1) + pseudo.weight.sum(axis=1))[:, None]
    >>> np.quantile(means[:, 0] - means[:, 1], [0.025, 0.975]).round(1)
    array([-0.6,  0.6])
    """
    weight = rng.standard_gamma(concentration, (size, 2))
    item = rng.choice(len(item_weight), (size, 2), p=item_weight / item_weight.sum())
    order = rng.random((size, systems, 2)).argsort(axis=1)
    side = np.where(order < systems // 2, 1.0, -1.0)
    return Disagreement(weight, item, side * rng.choice([-1.0, 1.0], (size, 1, 2)))


def opposite_sides(systems: int) -> float:
    """Return the probability that two of several systems are on different sides of a center."""
    above = systems // 2
    return 2 * above * (systems - above) / (systems * (systems - 1))


def largest_differences(score: np.ndarray, low: float, high: float) -> np.ndarray:
    """
    Return how far each of several systems may be from another one in an item, (K,).

    It is the largest absolute difference over the items between the system and the one next to it:
    the other system for which this is smallest. The difference of two systems then hardly depends
    on the others. Systems with the same scores in all items say nothing about it. If there are no
    others, it is the range of the scores, or that of the observed scores if the ends are not known.

    Parameters
    ----------
    score : ndarray, shape (K, n)
        NaN where a system has no score of an item.
    low, high : float
        The ends of the range, infinite if they are not known.

    Examples
    --------
    >>> score = np.array([[0.1, 0.5, 0.9], [0.1, 0.5, 0.9], [0.1, 0.6, 0.7]])
    >>> largest_differences(score, 0.0, 1.0).round(6).tolist()
    [0.2, 0.2, 0.2]
    >>> largest_differences(score[:2], 0.0, 1.0).tolist()
    [1.0, 1.0]
    """
    whole = high - low
    if not np.isfinite(whole):
        whole = np.nanmax(score) - np.nanmin(score)
    distances = np.full(len(score), whole, float)
    for system, row in enumerate(score):
        largest = np.nan_to_num(np.abs(score - row)).max(axis=1)
        others = largest[largest > _ROUNDING * whole]
        distances[system] = others.min(initial=whole)
    return distances
