"""Who is told apart from whom, all at once; and the ranks and tiers that follow."""

import numpy as np

_NUMBERS, _MOST, _LEAST = 2e7, 10_000, 400  # of all pairs' draws at once; draws that are used


def told_apart(
    values: np.ndarray, prob: float = 0.95, scores: np.ndarray | None = None
) -> np.ndarray:
    """
    Return which members are better than which others, all at once with probability ``prob``.

    The differences of all pairs lie within so many of their standard deviations of their means
    jointly; a pair is told apart where that leaves out 0. What follows from two such pairs holds
    with them. Where pairs are known by themselves (``scores``), they lie within at least as many as
    those of independent members do, which is Tukey's range.

    Parameters
    ----------
    values : ndarray, shape (size, J)
        Joint draws, higher is better, without NaN.
    prob : float
    scores : ndarray, shape (J, J), optional
        Mean over standard deviation of each difference of row and column, or the normal quantile of
        the probability that the row is better, where that is known more closely.

    Returns
    -------
    ndarray of bool, shape (J, J)
        Whether the row is told to be better than the column: a strict order of some pairs.
    """
    size, number = values.shape
    if size < 2:
        return np.zeros((number, number), bool)
    mean, covariance = values.mean(axis=0), np.atleast_2d(np.cov(values, rowvar=False))
    variance = np.diag(covariance)
    spread = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
    spread[spread <= 1e-12 * np.sqrt(variance.max())] = 0
    used = int(np.clip(_NUMBERS // number**2, _LEAST, _MOST))
    reach = np.sort(_furthest(values[:: max(1, size // used)] - mean, spread))
    bound = reach[min(len(reach) - 1, int(np.ceil(prob * len(reach))))]
    if scores is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = (mean[:, None] - mean) / spread
    else:
        bound = max(bound, _range_of_independent(number, used, prob))
    return _closed(np.nan_to_num(scores, posinf=np.inf, neginf=-np.inf) > bound)


def _furthest(moved, spread):
    """Return how many standard deviations the furthest difference of each draw is off its mean."""
    with np.errstate(divide="ignore"):
        scale = np.where(spread > 0, 1 / spread, 0).astype(np.float32)
    moved, found = moved.astype(np.float32), np.zeros(len(moved), np.float32)
    for one in range(len(spread) - 1):
        gaps = moved[:, one + 1 :] - moved[:, one : one + 1]
        gaps *= scale[one, one + 1 :]
        np.maximum(found, np.maximum(gaps.max(axis=1), -gaps.min(axis=1)), out=found)
    return found


def _range_of_independent(number, size, prob):
    """Return how far apart independent members lie at most, in standard deviations of a pair."""
    drawn = np.random.default_rng(0).standard_normal((size, number))
    return np.quantile(np.ptp(drawn, axis=1), prob) / np.sqrt(2)


def _closed(above):
    """Add what follows: better than those who are better than others."""
    while True:
        more = above | (above.astype(np.float32) @ above.astype(np.float32) > 0)
        if (more == above).all():
            return above
        above = more


def rank_sets(above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best and the worst rank of each member that an order of some pairs leaves."""
    return 1 + above.sum(axis=0), len(above) - above.sum(axis=1)


def tiers(above: np.ndarray, order: np.ndarray) -> list[np.ndarray]:
    """
    Return the tiers, each the places of its members, best first.

    Two members share a tier exactly where they are not told apart; a member may be in several.

    Parameters
    ----------
    above : ndarray of bool, shape (J, J)
    order : ndarray of int, shape (J,)
        The members, best first.
    """
    above = above[np.ix_(order, order)]
    together = ~(above | above.T)
    missing, found = np.triu(together), []
    while missing.any():
        pair = np.unravel_index(missing.argmax(), missing.shape)
        found.append(_grown(pair, together))
        missing[np.ix_(found[-1], found[-1])] = False
    return [order[each] for each in _needed(found, len(order))]


def _grown(pair, together):
    """Return a pair with as many more, in order, as are not told apart from any of them."""
    open_ = together[pair[0]] & together[pair[1]]
    for each in np.flatnonzero(open_).tolist():
        if open_[each]:
            open_ &= together[each]
    return np.flatnonzero(open_)


def _needed(found, number):
    """Leave out the tiers whose every pair shares another one."""
    within = np.zeros((len(found), number), np.float32)
    for row, each in zip(within, found, strict=True):
        row[each] = 1
    times = within.T @ within
    needed = ((within @ (times == 1)) * within).any(axis=1)  # for good: times only fall
    for place in np.flatnonzero(~needed):
        pairs = np.ix_(found[place], found[place])
        needed[place] = (times[pairs] == 1).any()
        times[pairs] -= not needed[place]
    return [each for each, stays in zip(found, needed, strict=True) if stays]
