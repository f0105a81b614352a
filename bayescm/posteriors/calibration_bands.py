"""
Bands of a calibration curve from binomial limits, without smoothing.

If the forecasts take few distinct values, each value has separate binomial limits. If the curve is
non-decreasing, but may jump, it is bounded by the limits over all ranges of forecasts.

References
----------
Clopper, C. J. & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the
case of the binomial. Biometrika 26, 404-413. doi:10.1093/biomet/26.4.404

Dimitriadis, T., Dümbgen, L., Henzi, A., Puke, M. & Ziegel, J. (2023). Honest calibration assessment
for binary outcome predictions. Biometrika 110, 663-680. doi:10.1093/biomet/asac068
"""

import numpy as np
from scipy.special import betaincinv

# Number of groups of neighbouring forecasts. Ranges of groups bound a non-decreasing curve. In
# simulations with 10, 20, 30, 50, 100 and 400 groups, 100 groups give the shortest band for 2,000
# and 10,000 examples. For 60 to 500 examples, the band is at most 7% longer than the shortest one.
# With 500 or more examples, the band with 400 groups is 6 to 9% longer.
_ISOTONIC_GROUPS = 100
# Forecasts take few values if there are at most this many distinct values, with at least this many
# examples each on average. Both numbers were chosen by hand. With fewer examples, the limits extend
# about 0.5 to each side, which is not informative. With more values, the band is more than 2.5
# times as long as the smooth band.
_FEW_VALUES = 20
_EXAMPLES_PER_VALUE = 10
_MEAN_GROUPS = 10  # largest number of groups of 10 or more examples, for curves that jump and fall


def few_values(total: np.ndarray) -> bool:
    """Return True if forecasts take few values, given the number of examples of each value."""
    few = len(total) <= _FEW_VALUES and bool(total.mean() >= _EXAMPLES_PER_VALUE)
    return len(total) < 3 or few


def clopper_pearson(hits: np.ndarray, total: np.ndarray, level: float) -> np.ndarray:
    """
    Return the Clopper-Pearson limits, each with the error probability ``level``.

    Fractional counts, such as weighted ones, are allowed.

    Returns
    -------
    ndarray, shape (n, 2)

    Examples
    --------
    >>> clopper_pearson(np.array([0, 5]), np.array([10, 10]), 0.025).round(4)
    array([[0.    , 0.3085],
           [0.1871, 0.8129]])
    """
    lower = _limit(hits, total, level)
    return np.stack([lower, 1 - _limit(total - hits, total, level)], axis=1)


def _limit(hits, total, level):
    """Return the lower limit, computed once for each distinct pair of counts."""
    pairs, index = np.unique(np.stack([hits, total]), axis=1, return_inverse=True)
    hits, total = pairs
    limit = betaincinv(np.maximum(hits, 1e-9), total - hits + 1, level)
    return np.where(hits > 0, limit, 0.0)[index.ravel()]


def binomial(
    hits: np.ndarray, total: np.ndarray, prob: float, simultaneous: bool
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return limits (m, 2) and estimates (m,) of m separate proportions.

    Simultaneous limits use the Bonferroni correction, with the error probability ``(1 - prob) / m``
    per proportion. The estimate is the posterior median under Jeffreys' prior.
    """
    level = (1 - prob) / 2 / (len(hits) if simultaneous else 1)
    return clopper_pearson(hits, total, level), betaincinv(hits + 0.5, total - hits + 0.5, 0.5)


def group_means(
    probability: np.ndarray, hits: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the first forecast, positives and total of each of up to ten groups.

    A group consists of neighbouring forecasts.
    """
    number = max(1, min(_MEAN_GROUPS, int(total.sum() // _EXAMPLES_PER_VALUE)))
    middle = (np.cumsum(total) - total / 2) / total.sum()
    starts = np.flatnonzero(np.diff((middle * number).astype(int), prepend=-1))
    hits, total = (np.add.reduceat(array, starts) for array in (hits, total))
    return probability[starts], hits, total


def isotonic(
    probability: np.ndarray,
    hits: np.ndarray,
    total: np.ndarray,
    grid: np.ndarray,
    prob: float,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return limits and isotonic regression of a non-decreasing curve on a grid.

    The curve at x is at least the mean of the curve over any range of forecasts below x, which has
    a Clopper-Pearson limit. The band uses the best limit over all ranges. The error probability is
    divided equally among all ranges (Dimitriadis et al. 2023). With more than 100 distinct
    forecasts, neighbours are grouped, which does not affect the guaranteed coverage. If the lower
    limit exceeds the upper one, no non-decreasing curve is compatible with the examples.

    Parameters
    ----------
    probability, hits, total : ndarray, shape (m,)
        Distinct forecasts in increasing order, with their numbers of positives and of examples.
    grid : ndarray, shape (T,)
        Probabilities at which the band is computed.
    prob : float
        Simultaneous coverage of the band.

    Returns
    -------
    limits : ndarray, shape (T, 2)
    regression : ndarray, shape (T,)
    """
    # Imported here because the import is slow and rarely needed.
    from scipy.optimize import isotonic_regression

    fitted = isotonic_regression(hits / total, weights=total).x
    nearest = np.maximum(np.searchsorted(probability, grid, side="right") - 1, 0)
    first, last, hits, total = _neighbours(probability, hits, total)
    level = (1 - prob) / (len(hits) ** 2 + len(hits))
    sums = [np.pad(np.cumsum(array), (1, 0)) for array in (hits, total)]
    start, stop = np.triu_indices(len(hits))
    hits_between, total_between = (array[stop + 1] - array[start] for array in sums)
    low, high = clopper_pearson(hits_between, total_between, level).T
    lower, upper = np.zeros(len(hits)), np.ones(len(hits))
    np.maximum.at(lower, stop, low)
    np.minimum.at(upper, start, high)
    lower = np.pad(np.maximum.accumulate(lower), (1, 0))
    upper = np.pad(np.minimum.accumulate(upper[::-1])[::-1], (0, 1), constant_values=1.0)
    below = np.searchsorted(last, grid, side="right")
    above = np.searchsorted(first, grid, side="left")
    return np.stack([lower[below], upper[above]], axis=1), fitted[nearest]


def _neighbours(probability, hits, total):
    """Return the first and last forecast, positives and totals of groups of neighbours."""
    number = len(probability)
    group = np.arange(number) * min(_ISOTONIC_GROUPS, number) // number
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = np.append(starts[1:], number) - 1
    hits, total = (np.add.reduceat(array, starts) for array in (hits, total))
    return probability[starts], probability[ends], hits, total
