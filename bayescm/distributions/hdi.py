"""The interval of highest density of a distribution known by its cdf and density."""

import numpy as np

INTERIOR, LOWER, UPPER = "interior", "one-sided lower", "one-sided upper"
FLAT, U_SHAPED, NOT_UNIMODAL = "flat", "U-shaped", "not unimodal"
ONE_INTERVAL = (INTERIOR, LOWER, UPPER)

_SHARES = np.array([1e-6, 1e-3, 0.1, 0.5, 0.9])
_TOLERANCE = 0.01  # of the densities that are compared, on a rough grid


def highest(rows, prob):
    """
    Return intervals of highest density and their kinds.

    A candidate is taken where the density is nowhere lower inside and nowhere higher outside, on a
    grid that gets dense towards the ends. The candidates are the interval with equal levels at both
    ends, and those that start or stop at the end of the support. Where none will do, the density
    has several humps, and the equal-tailed interval stands in.

    Parameters
    ----------
    rows : object
        With ``quantiles(q)``, ``probabilities(x)``, ``take(index)`` and ``link``, for m
        distributions.
    prob : float

    Returns
    -------
    ndarray (m, 2), ndarray of str (m,)
    """
    tails = np.array([[(1 - prob) / 2, (1 + prob) / 2]])
    central = rows.quantiles(tails)
    ends, kinds = np.array(central), np.full(len(central), NOT_UNIMODAL, dtype="<U15")
    open_ = np.arange(len(central))
    for kind, candidate in [(INTERIOR, _equal_levels), (LOWER, _from_low), (UPPER, _to_high)]:
        if not len(open_):
            break
        some = rows.take(open_)
        found = candidate(some, prob, central[open_])
        right = _is_highest(some, found)
        ends[open_[right]], kinds[open_[right]] = found[right], kind
        open_ = open_[~right]
    return ends, kinds


def _equal_levels(rows, prob, start):
    """Newton's method on both ends, on a rough grid first; slopes by differences."""
    y = rows.link.to_y(start)
    for rough, tolerance, most in [(True, 1e-3, 15), (False, 1e-5, 8)]:
        for _ in range(most):
            new = _step(rows, y, prob, rough)
            width = np.maximum(y[:, 1] - y[:, 0], 1e-300)
            moved, y = np.abs(new - y).max(axis=-1) / width, new
            if not (moved > tolerance).any():
                break
    lost = ~(moved < 1e-4)
    return np.where(lost[:, None], np.nan, rows.link.to_x(y))


def _step(rows, y, prob, rough):
    width = y[:, 1] - y[:, 0]
    shift = 1e-4 * width
    points = np.stack([y[:, 0], y[:, 0] + shift, y[:, 1] - shift, y[:, 1]], axis=-1)
    below, density = rows.probabilities(rows.link.to_x(points), rough)
    with np.errstate(all="ignore"):
        level = np.log(density)
        rise, fall = (level[:, 1] - level[:, 0]) / shift, (level[:, 3] - level[:, 2]) / shift
        mass = density[:, [0, 3]] * rows.link.slope(y)
        excess, gap = below[:, 3] - below[:, 0] - prob, level[:, 3] - level[:, 0]
        scale = 1 / (mass[:, 1] * rise - mass[:, 0] * fall)
        moves = [gap * mass[:, 1] - excess * fall, gap * mass[:, 0] - excess * rise]
        move = np.stack(moves, axis=-1) * scale[:, None]
    return y + np.clip(move, -0.4 * width[:, None], 0.4 * width[:, None])


def _from_low(rows, prob, start):
    low = np.full(len(start), rows.link.low)
    return np.stack([low, rows.quantiles(np.array([[prob]]))[:, 0]], axis=-1)


def _to_high(rows, prob, start):
    high = np.full(len(start), rows.link.high)
    return np.stack([rows.quantiles(np.array([[1 - prob]]))[:, 0], high], axis=-1)


def _is_highest(rows, ends):
    """Say whether the density is higher everywhere inside the ends than outside, on a grid."""
    known = np.isfinite(ends[:, 0]) & ~np.isnan(ends[:, 1]) & (ends[:, 0] < ends[:, 1])
    low, high = rows.link.low, rows.link.high
    left, right = np.where(known[:, None], ends, 0.5).T[..., None]
    shares = np.r_[_SHARES, 1 - _SHARES[:3]]
    inside = left + (np.minimum(right, 1e300) - left) * shares
    with np.errstate(invalid="ignore", over="ignore"):
        after = right + (high - right) * shares if np.isfinite(high) else right / _SHARES[::-1]
    parts = [left, right, inside, low + (left - low) * shares, after]
    density = rows.probabilities(np.concatenate(parts, axis=-1), rough=True)[1]
    cuts = np.cumsum([part.shape[-1] for part in parts])[:-1]
    at_left, at_right, inner, before, beyond = np.split(density, cuts, axis=-1)
    at_left = np.where(left > low, at_left, np.inf)
    at_right = np.where(right < high, at_right, np.inf)
    higher = inner >= np.minimum(at_left, at_right) * (1 - _TOLERANCE)
    lower = [before <= at_left * (1 + _TOLERANCE), beyond <= at_right * (1 + _TOLERANCE)]
    return known & higher.all(axis=-1) & np.concatenate(lower, axis=-1).all(axis=-1)
