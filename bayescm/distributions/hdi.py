"""
Highest-density intervals and modes of any distribution with a cdf and a density.

This is the general solver, which `Distribution` uses. It needs only quantiles, probabilities and
densities. Some distributions have faster or more accurate solvers:

- Functions of independent shares and pre-integrated functions provide the slope of the density on
  their lattices. `newton` uses this slope, with `both_ends` of this module and one
  `shortest_candidate`.
- Beta variables and F1 have densities in closed form. `beta.beta_highest` solves thousands of them
  at once, with two evaluations of the incomplete beta function each. Newton's method with that
  function in every step takes twice as long, and the general solver ten times.
- If only moments are known, the quantile function is approximated by a polynomial in the normal
  score. Newton's method finds the ends of equal density (`moments.QuantilePolynomial`).
- A reciprocal may have mass at infinity, which its intervals then include (`reciprocal`).
- Draws use ArviZ's interval. ArviZ does not support weighted values, so these use `Discrete.hdi`.
"""

from typing import Any

import numpy as np
from scipy import special

INTERIOR, LOWER, UPPER = "interior", "one-sided lower", "one-sided upper"
FLAT, U_SHAPED, NOT_UNIMODAL = "flat", "U-shaped", "not unimodal"
SEVERAL_MODES = "more than one mode"
ONE_INTERVAL = (INTERIOR, LOWER, UPPER)


def remark(kind: str) -> str:
    """Return a remark about an interval of this kind, empty if it is the only candidate."""
    if kind in ONE_INTERVAL:
        return ""
    not_the_only = kind in (SEVERAL_MODES, U_SHAPED, NOT_UNIMODAL)
    return f", {SEVERAL_MODES}" if not_the_only else f", equal tails: {kind}"


_SHARES = np.array([1e-6, 1e-3, 0.1, 0.5, 0.9])
# Distances beyond an end of the interval, in lengths of the interval, at which densities are
# compared if the support is infinite on that side.
_AWAY = np.array([0.1, 1.0, 10.0, 1e3, 1e6])
_INSIDE = np.r_[1e-6, 1e-3, 0.1:0.95:0.1, 1 - 1e-3, 1 - 1e-6]
# Log odds of the share of the left-out mass that is below the interval.
_SPLITS = np.linspace(-16, 16, 65)
_GOLDEN = (5**0.5 - 1) / 2  # ratio of the golden section
_GOLDEN_STEPS = 36  # number of steps, which shrink the bracket to 3e-8 of its length
_TOLERANCE = 0.01  # relative tolerance for comparing densities on a rough grid
_LIMIT = 600.0  # bound of the scale of a link, so that exp stays finite


class Link:
    """
    Transformation between a number in (low, high) and a scale y in (-600, 600).

    The transformation is the logit, a logarithm or asinh, depending on which ends are finite.
    """

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.from_low, self.to_high = np.isfinite(low).all(), np.isfinite(high).all()

    def to_x(self, y):
        """Return the number x at y."""
        if self.from_low and self.to_high:
            return self.low + (self.high - self.low) * special.expit(y)
        if self.from_low:
            return self.low + np.exp(y)
        return self.high - np.exp(-y) if self.to_high else np.sinh(y)

    def to_y(self, x):
        """Return the scale y at x, clipped to its limits."""
        with np.errstate(divide="ignore", invalid="ignore"):
            y = 0.0 if self.from_low or self.to_high else np.arcsinh(x)
            if self.from_low:
                y = np.log(x - self.low)
            if self.to_high:
                y = y - np.log(self.high - x)
        return np.clip(np.nan_to_num(y, nan=0.0), -_LIMIT, _LIMIT)

    def slope(self, y):
        """Return dx/dy."""
        if self.from_low and self.to_high:
            return (self.high - self.low) * special.expit(y) * special.expit(-y)
        return np.exp(y if self.from_low else -y) if self.from_low or self.to_high else np.cosh(y)

    def log_slope(self, y):
        """Return log(dx/dy) without underflow."""
        if self.from_low and self.to_high:
            return np.log(self.high - self.low) - np.abs(y) - 2 * np.log1p(np.exp(-np.abs(y)))
        if self.from_low or self.to_high:
            return y if self.from_low else -y
        return np.logaddexp(y, -y) - np.log(2)

    def bend(self, y):
        """Return the derivative of log(dx/dy) with respect to y."""
        if self.from_low and self.to_high:
            return -np.tanh(y / 2)
        return 1.0 if self.from_low else -1.0 if self.to_high else np.tanh(y)

    def step(self, y, q, below, density):
        """Return the Newton step to the quantile, on the normal scale, and whether it is valid."""
        is_inner = (below > 1e-100) & (below < 1 - 1e-15) & (density > 0)
        z = special.ndtri(np.where(is_inner, below, 0.5))
        with np.errstate(all="ignore"):
            rate = density * self.slope(y) * np.sqrt(2 * np.pi) * np.exp(z**2 / 2)
            return np.where(is_inner, (special.ndtri(q) - z) / rate, 0.0), is_inner


class Members:
    """Selected members of a batch as rows for `highest` and `peak`, with points (m, P)."""

    def __init__(self, distribution: Any, index: np.ndarray | None = None):
        self.distribution, self.shape = distribution, distribution.shape
        size = int(np.prod(self.shape))
        self.index = np.arange(size) if index is None else index
        ends = (np.broadcast_to(end, self.shape).ravel() for end in distribution.support)
        self.link = Link(*(end[self.index, None] for end in ends))

    def take(self, index):
        """Return some of the rows."""
        return Members(self.distribution, self.index[index])

    def quantiles(self, q):
        """Return the quantiles."""
        q = np.broadcast_to(q, (len(self.index), np.shape(q)[-1]))
        return self._ask(self.distribution.quantile, q)

    def probabilities(self, x, rough=False):
        """Return the distribution function and the density at points that may be infinite."""
        with np.errstate(all="ignore"):
            return self._ask(self.distribution.cdf, x), self._ask(self.distribution.pdf, x)

    def _ask(self, function, points):
        """Evaluate a function for the whole batch, with padding for unselected members."""
        padded = np.broadcast_to(points[:1], (int(np.prod(self.shape)), points.shape[1])).copy()
        padded[self.index] = points
        answers = np.asarray(function(padded.T.reshape(-1, *self.shape)))
        return answers.reshape(len(answers), -1).T[self.index]


def highest(rows: Any, prob: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return highest-density intervals and their kinds.

    The candidates are the interval with equal densities at both ends, and the intervals that start
    or stop at an end of the support. A candidate is accepted if, on a grid that is dense near the
    ends, the density is nowhere lower inside and nowhere higher outside than at the ends. If no
    candidate is accepted, the density has several modes. The result is then the shortest interval
    with the requested mass. For a flat density, it is the equal-tailed interval.

    Parameters
    ----------
    rows : Members
        m distributions, with ``quantiles(q)``, ``probabilities(x)``, ``take(index)`` and ``link``.
    prob : float
        Mass of the intervals.

    Returns
    -------
    ndarray (m, 2), ndarray of str (m,)
        Intervals and kinds.
    """
    central = rows.quantiles(np.array([[(1 - prob) / 2, (1 + prob) / 2]]))
    ends, kinds = np.array(central), _kinds_without(rows, central)
    open_ = np.flatnonzero(kinds != FLAT)
    for kind, candidate in [(INTERIOR, _equal_levels), (LOWER, _from_low), (UPPER, _to_high)]:
        if not len(open_):
            break
        some = rows.take(open_)
        solved = candidate(some, prob, central[open_])
        right = _is_highest(some, solved)
        ends[open_[right]], kinds[open_[right]] = solved[right], kind
        open_ = open_[~right]
    if len(open_):
        ends[open_] = shortest(rows.take(open_), prob)
    return ends, kinds


def shortest(rows: Any, prob: float) -> np.ndarray:
    """
    Return the shortest intervals with a given mass, (m, 2), for any density.

    With mass u below it, the interval has the length Q(u + prob) - Q(u). The minimum is searched on
    a grid of u that is dense at both ends, and then refined by golden-section search (Kiefer 1953,
    doi:10.1090/S0002-9939-1953-0055639-3).
    """
    grid = (1 - prob) * np.r_[0.0, special.expit(_SPLITS), 1.0]

    def ends_of(below):
        return rows.quantiles(below), rows.quantiles(np.minimum(below + prob, 1.0))

    def length_of(below):
        low, high = ends_of(below)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(high - low, nan=np.inf)

    best = length_of(np.broadcast_to(grid, (len(rows.index), len(grid)))).argmin(-1)[:, None]
    left, right = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    for _ in range(_GOLDEN_STEPS):
        inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
        shorter = length_of(inner) <= length_of(outer)
        left, right = np.where(shorter, left, inner), np.where(shorter, outer, right)
    # At an end of the support, the interval excludes nothing on that side.
    candidates = np.concatenate([grid[best], (left + right) / 2], -1)
    choice = length_of(candidates).argmin(-1)[:, None]
    return np.concatenate(ends_of(np.take_along_axis(candidates, choice, -1)), -1)


def peak(rows: Any, kinds: np.ndarray) -> np.ndarray:
    """Return the position of the highest density, (m,), or NaN if there is not exactly one mode."""
    spread = rows.quantiles(np.array([[0.001, *np.linspace(0.05, 0.95, 10), 0.999]]))
    low, high = (np.broadcast_to(end, (len(spread), 1)) for end in (rows.link.low, rows.link.high))
    steps = np.linspace(0, 1, 4, endpoint=False)
    between = (spread[:, :-1, None] + np.diff(spread)[..., None] * steps).reshape(len(spread), -1)
    # If the support is infinite, the mode is between Q(0.001) and Q(0.999).
    first = np.where(np.isfinite(low), low, spread[:, :1])
    last = np.where(np.isfinite(high), high, spread[:, -1:])
    x = np.concatenate([first, between, spread[:, -1:], last], axis=-1)
    row = np.arange(len(x))
    for rough in [True] + 14 * [False]:
        best = rows.probabilities(x, rough)[1].argmax(-1)
        left, right = x[row, np.maximum(best - 1, 0)], x[row, np.minimum(best + 1, len(x.T) - 1)]
        x = np.linspace(left, right, 9, axis=-1)
    mode, scale = x[:, 4:5], 1e-8 * (spread[:, -1:] - spread[:, :1])
    mode = np.where(mode - low < scale, low, np.where(high - mode < scale, high, mode))[:, 0]
    return np.where(np.isin(kinds, ONE_INTERVAL), mode, np.nan)


def _kinds_without(rows, central):
    """Return the kinds that apply to members without a highest-density interval."""
    left, right = central[:, :1], central[:, 1:]
    inside = left + (right - left) * np.array([0, 0.3, 0.5, 0.7, 1])
    before, after = left - 0.9 * (left - rows.link.low), right + 0.9 * (rows.link.high - right)
    x = np.concatenate([before, inside, after], axis=-1)
    density = rows.probabilities(x, rough=True)[1]
    highest, lowest = density[:, 1:-1].max(axis=-1), density[:, 1:-1].min(axis=-1)
    flat = highest - lowest < 1e-6 * highest
    sides = np.minimum(density[:, [0, -1]], density[:, [1, -2]]) >= density[:, [1, -2]]
    sagging = (density[:, 2:-2] < density[:, [1, -2]].min(axis=-1, keepdims=True)).all(axis=-1)
    kinds = np.select([flat, sagging & sides.all(axis=-1)], [FLAT, U_SHAPED], NOT_UNIMODAL)
    return kinds.astype("<U15")


def _equal_levels(rows, prob, start):
    """Solve for both ends by Newton's method with finite differences, on a rough grid first."""
    y = rows.link.to_y(start)
    for rough, tolerance, most in [(True, 1e-3, 15), (False, 1e-5, 8)]:
        for _ in range(most):
            new = _step(rows, y, prob, rough)
            width = np.maximum(y[:, 1] - y[:, 0], 1e-300)
            moved, y = np.abs(new - y).max(axis=-1) / width, new
            if not (moved > tolerance).any():
                break
    unsolved = ~(moved < 1e-4)
    return np.where(unsolved[:, None], np.nan, rows.link.to_x(y))


def _step(rows, y, prob, rough):
    width = y[:, 1] - y[:, 0]
    shift = 1e-4 * width
    points = np.stack([y[:, 0], y[:, 0] + shift, y[:, 1] - shift, y[:, 1]], axis=-1)
    below, density = rows.probabilities(rows.link.to_x(points), rough)
    with np.errstate(all="ignore"):
        level = np.log(density)
        slopes = (level[:, 1] - level[:, 0]) / shift, (level[:, 3] - level[:, 2]) / shift
        masses = (density[:, [0, 3]] * rows.link.slope(y)).T
        excess, gap = below[:, 3] - below[:, 0] - prob, level[:, 3] - level[:, 0]
        move = np.stack(both_ends(gap, excess, masses, slopes), axis=-1)
    return y + np.clip(move, -0.4 * width[:, None], 0.4 * width[:, None])


def both_ends(gap, excess, densities, slopes):
    """
    Return the Newton step of both ends towards equal densities and the requested mass.

    With the densities f1, f2 and the slopes s1, s2 of the log densities at the lower and the upper
    end, the steps d1 and d2 solve

        s2 d2 - s1 d1 = -gap    and    f2 d2 - f1 d1 = -excess,

    which gives d1 = (gap f2 - excess s2) / (f2 s1 - f1 s2) and d2 = (gap f1 - excess s1) / (f2 s1 -
    f1 s2).

    Parameters
    ----------
    gap, excess : ndarray
        ``gap`` is the log density at the upper end minus the log density at the lower end.
        ``excess`` is the mass between the ends minus the requested mass.
    densities, slopes : pair of ndarray
        Densities, and slopes of the log densities, at the lower and the upper end.
    """
    (low, high), (rise, fall) = densities, slopes
    scale = 1 / (high * rise - low * fall)
    return (gap * high - excess * fall) * scale, (gap * low - excess * rise) * scale


def _from_low(rows, prob, start):
    end = rows.quantiles(np.array([[prob]]))
    return np.concatenate([np.broadcast_to(rows.link.low, end.shape), end], axis=-1)


def _to_high(rows, prob, start):
    end = rows.quantiles(np.array([[1 - prob]]))
    return np.concatenate([end, np.broadcast_to(rows.link.high, end.shape)], axis=-1)


def _is_highest(rows, ends):
    """Return True if the density is higher everywhere inside the ends than outside, on a grid."""
    defined = np.isfinite(ends[:, 0]) & ~np.isnan(ends[:, 1]) & (ends[:, 0] < ends[:, 1])
    low, high = rows.link.low, rows.link.high
    left, right = np.where(defined[:, None], ends, 0.5).T[..., None]
    inside = left + (np.minimum(right, 1e300) - left) * _INSIDE
    with np.errstate(invalid="ignore", over="ignore"):
        away = (np.minimum(right, 1e300) - left) * _AWAY
        before = low + (left - low) * _SHARES if rows.link.from_low else left - away
        after = right + (high - right) * _SHARES if rows.link.to_high else right + away
    parts = [left, right, inside, before, after]
    density = rows.probabilities(np.concatenate(parts, axis=-1), rough=True)[1]
    cuts = np.cumsum([part.shape[-1] for part in parts])[:-1]
    at_left, at_right, inner, before, beyond = np.split(density, cuts, axis=-1)
    at_left = np.where((left > low) | ~rows.link.from_low, at_left, np.inf)
    at_right = np.where((right < high) | ~rows.link.to_high, at_right, np.inf)
    # A density of 0 at an end means that the density is unknown there.
    defined &= ((at_left > 0) & (at_right > 0)).all(axis=-1)
    higher = inner >= np.minimum(at_left, at_right) * (1 - _TOLERANCE)
    lower = [before <= at_left * (1 + _TOLERANCE), beyond <= at_right * (1 + _TOLERANCE)]
    return defined & higher.all(axis=-1) & np.concatenate(lower, axis=-1).all(axis=-1)
