"""
Bands of a calibration curve that take nothing for smooth: binomial limits.

Of forecasts of few distinct values each has a binomial limit of its own; of a curve that never
falls, however it jumps, the limits of all ranges of forecasts bound it.

References
----------
Clopper, C. J. & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the
case of the binomial. Biometrika 26, 404-413. doi:10.1093/biomet/26.4.404

Dimitriadis, T., Dümbgen, L., Henzi, A., Puke, M. & Ziegel, J. (2023). Honest calibration assessment
for binary outcome predictions. Biometrika 110, 663-680. doi:10.1093/biomet/asac068
"""

import numpy as np
from scipy.special import betaincinv

# Neighbouring forecasts make so many groups, whose ranges bound a curve that never falls.
# Simulated: of 10, 20, 30, 50, 100 and 400 groups 100 make the shortest band of 2,000 and 10,000
# examples, at most 7 % longer than the shortest of 60 to 500; 400 make it 6 to 9 % longer from 500.
_ISOTONIC_GROUPS = 100
# Forecasts take few values if there are at most so many, with so many examples each on average.
# Chosen by hand: fewer examples leave limits of .5 on both sides, of which nothing is learned, and
# more values a band of more than 2.5 times the length of the smooth one.
_FEW_VALUES = 20
_EXAMPLES_PER_VALUE = 10
_MEAN_GROUPS = 10  # whose means are bounded where a curve jumps and falls, of 10 examples or more


def few_values(total: np.ndarray) -> bool:
    """Say whether forecasts take few values, from the number of examples of each."""
    few = len(total) <= _FEW_VALUES and bool(total.mean() >= _EXAMPLES_PER_VALUE)
    return len(total) < 3 or few


def clopper_pearson(hits: np.ndarray, total: np.ndarray, level: float) -> np.ndarray:
    """
    Return the binomial limits of Clopper and Pearson, each missed with probability ``level``.

    Fractional numbers, as of weighted examples, are taken as they are.

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
    """Return the lower limit, solved once for each pair of numbers."""
    pairs, index = np.unique(np.stack([hits, total]), axis=1, return_inverse=True)
    hits, total = pairs
    limit = betaincinv(np.maximum(hits, 1e-9), total - hits + 1, level)
    return np.where(hits > 0, limit, 0.0)[index.ravel()]


def binomial(
    hits: np.ndarray, total: np.ndarray, prob: float, simultaneous: bool
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return limits (m, 2) and estimates (m,) of m shares, which have nothing to do with each other.

    Simultaneous by Bonferroni's inequality: the shares divide ``1 - prob`` among them. The estimate
    is the posterior's median with Jeffreys' prior.
    """
    level = (1 - prob) / 2 / (len(hits) if simultaneous else 1)
    return clopper_pearson(hits, total, level), betaincinv(hits + 0.5, total - hits + 0.5, 0.5)


def group_means(
    probability: np.ndarray, hits: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return first forecast, positives and examples of ten groups of neighbours, or fewer."""
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
    Return limits (T, 2) and isotonic regression (T,) of a curve that never falls, on a grid (T,).

    The curve at x is at least the mean of the curve over any forecasts below x, of which the
    binomial limit of Clopper and Pearson holds; the band takes the best of all ranges of forecasts,
    each at the level that is left when it is shared out among all of them (Dimitriadis et al.
    2023). Beyond 100 different forecasts neighbours are put together, which keeps the guarantee.
    Where the lower end is above the upper one no rising curve agrees with the examples.

    Parameters
    ----------
    probability, hits, total : ndarray, shape (m,)
        The distinct forecasts in rising order, and the positives and examples of each.
    """
    from scipy.optimize import isotonic_regression  # it loads much that others need not wait for

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
    """Return first and last forecast, positives and totals of neighbours put together."""
    number = len(probability)
    group = np.arange(number) * min(_ISOTONIC_GROUPS, number) // number
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = np.append(starts[1:], number) - 1
    hits, total = (np.add.reduceat(array, starts) for array in (hits, total))
    return probability[starts], probability[ends], hits, total
