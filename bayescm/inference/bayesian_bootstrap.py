r"""
Bayesian bootstrap: the posterior distribution of the population proportions of examples.

The proportions of n examples, with counts :math:`w_i`, have the posterior Dirichlet(w) under a
noninformative prior (Rubin 1981). They are gamma variates :math:`g_i \sim \mathrm{Gamma}(w_i)`,
divided by their sum.

The mean of n numbers with sample variance :math:`s^2`, under proportions Dirichlet(a, ..., a), has
the variance

.. math:: \frac{n - 1}{n} \, \frac{s^2}{n a + 1}.

With a = 1, this is smaller than the variance :math:`s^2 / n` of the sample mean. With a = 1 - 2/n,
the variances are equal (`unbiased_shape`). With a = 1 - 4/n, the variance is :math:`s^2 (n - 1) /
(n (n - 3))`, as for the t distribution with n - 1 degrees of freedom (`student_shape`).

Several systems on the same items share the weights. If two systems differ in few items or in none,
the weights alone would make their difference far too certain. Two shared pseudo-items, with weights
:math:`h_j \sim \mathrm{Gamma}(e)`, represent unobserved disagreement. In each pseudo-item, system k
has the score

.. math:: c_k + z_k D_k / 2,

where :math:`c_k` is its score in a random item, which is the same for all systems, moved inwards
such that the scores on both sides of it are inside the range. A random half of the systems scores
below :math:`c_k` (:math:`z_k = -1`), and the others score above it (:math:`z_k = 1`). :math:`D_k`
is the largest difference between system k and its nearest neighbour (`largest_differences`), so
that the scores of a pair are as far apart as in the data. All differences, ratios, ranks and
standard deviations of any number of systems are functions of the same joint draws.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

from typing import Any, NamedTuple

import numpy as np

# Differences up to this proportion of the range are treated as rounding errors.
_ROUNDING = 1e-9


def gamma_weights(counts: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """
    Draw gamma variates (size, n), whose normalised values are proportions of the examples.

    Parameters
    ----------
    counts : ndarray, shape (n,)
        Counts of the examples. Counts of 1 use the faster exponential variates.
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
    Draw population proportions of examples (size, n), by a bootstrap within each stratum.

    Parameters
    ----------
    stratum : ndarray of int, shape (n,)
        Stratum of each example, such as its class.
    counts : ndarray, shape (n,)
        Count of each example.
    stratum_shares : ndarray, shape (size, C)
        Draws of the proportion of each stratum. The proportions of its examples sum to this value.
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
    """Return the gamma shape that gives means of n > 4 numbers the variance of a t distribution."""
    return 1 - 4 / number


def unbiased_shape(number: Any) -> Any:
    """Return the gamma shape that gives means of n > 2 numbers the variance of sample means."""
    return 1 - 2 / number


class Disagreement(NamedTuple):
    """
    Draws of pseudo-items that represent disagreement between systems on the same items.

    Attributes
    ----------
    weight : ndarray, shape (S, 2)
    item : ndarray of int, shape (S, 2)
        Item that is the centre of each pseudo-item.
    sign : ndarray, shape (S, K, 2)
        Whether each system is above (1.0) or below (-1.0) the centre.
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
            Scores of the items, such as the losses of examples. If a system has no score (NaN), its
            mean is used as the centre.
        low, high : float
            Limits of the range, infinite if unknown.
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
    Draw pseudo-items that represent disagreement between systems on the same items.

    Parameters
    ----------
    systems : int
    item_weight : ndarray, shape (n,)
        Weight of each item, on any scale. The probability of being a centre is proportional to it.
    concentration : float
        Shape e of the weights of both pseudo-items: 1/2, or 0 to omit them.
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
    """Return the probability that two systems are on opposite sides of a centre."""
    above = systems // 2
    return 2 * above * (systems - above) / (systems * (systems - 1))


def largest_differences(score: np.ndarray, low: float, high: float) -> np.ndarray:
    """
    Return the assumed distance of each system from others in an unobserved item, (K,).

    This is the largest absolute difference over the items between a system and its nearest
    neighbour, the system with the smallest such difference. The difference between two systems then
    hardly depends on the other systems. Systems with identical scores are not considered. If no
    system remains, the distance is the length of the range, or of the observed range if the limits
    are unknown.

    Parameters
    ----------
    score : ndarray, shape (K, n)
        Scores, with NaN for missing scores.
    low, high : float
        Limits of the range, infinite if unknown.

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
