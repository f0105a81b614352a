"""
The beta distribution, the distribution of F1, which follows from it, and a point mass.

`beta_highest` finds millions of highest-density intervals in one call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.base import Distribution
from bayescm.distributions.hdi import (
    FLAT,
    INTERIOR,
    LOWER,
    NOT_UNIMODAL,
    ONE_INTERVAL,
    U_SHAPED,
    UPPER,
    Members,
    both_ends,
    shortest,
)
from bayescm.distributions.incomplete import (
    Share,
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    density_of_log_odds,
    logpdf,
    near_log_odds,
)

_CHUNK = 4096  # number of beta variables per chunk, which fits into the processor's cache
_TERMS = 100  # maximum number of terms of the power series in (1 - u) / 2


@dataclass(frozen=True, eq=False)
class _OfABeta(Distribution):
    """Base class for numbers that are increasing functions of a beta variable."""

    a: np.ndarray
    b: np.ndarray
    _of: ClassVar[Any]  # the function of the beta variable
    power: ClassVar[int]  # see `beta_highest`
    support = 0.0, 1.0

    @classmethod
    def concatenate(cls, members: Sequence) -> Self:
        return cls(*np.array([(float(member.a), float(member.b)) for member in members]).T)

    @classmethod
    def precompute(cls, members: Sequence, prob: float, kind: str, moments: bool) -> None:
        if kind == "hdi":
            for each, ends in zip(members, cls.concatenate(members).hdi(prob), strict=True):
                each._found[prob] = ends

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(np.shape(self.a), np.shape(self.b))

    def take(self, index: np.ndarray) -> Self:
        a, b = np.broadcast_arrays(np.asarray(self.a, float), np.asarray(self.b, float))
        return type(self)(a.ravel()[index], b.ravel()[index])

    def hdi(self, prob: float) -> np.ndarray:
        if prob not in self._found:
            kinds = self.hdi_kind(prob)
            self._found[prob] = highest_of(self, prob, kinds, self._of, power=self.power)
        return self._found[prob]


@dataclass(frozen=True, eq=False)
class Beta(_OfABeta):
    """
    Beta distribution with parameters ``a`` > 0 and ``b`` > 0 of any size.

    Near 1, the complement 1 - x has few significant digits. Use ``Beta(b, a)`` for the complement.

    Examples
    --------
    >>> Beta(65.5, 35.5).eti(0.95).round(4)
    array([0.5533, 0.7382])
    >>> Beta(0.5, 0.5).hdi_kind(0.95).item()
    'U-shaped'
    """

    power = 0
    image = staticmethod(lambda share: share)
    _of = staticmethod(np.asarray)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return betainc(self.a, self.b, np.clip(x, 0, 1))

    def sf(self, x: ArrayLike) -> np.ndarray:
        return betaincc(self.a, self.b, np.clip(x, 0, 1))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return betaincinv(self.a, self.b, q)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return np.exp(logpdf(self.a, self.b, x))

    def mean(self) -> np.ndarray:
        return self.a / (np.asarray(self.a) + self.b)

    def sd(self) -> np.ndarray:
        total = np.asarray(self.a) + self.b
        return np.sqrt(self.a / total * (self.b / total) / (total + 1))

    def skewness(self) -> np.ndarray:
        total = np.asarray(self.a) + self.b
        spread = np.sqrt((total + 1) / self.a / self.b)
        return 2 * (np.asarray(self.b) - self.a) / (total + 2) * spread

    def mode(self) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (np.asarray(self.a) - 1) / (np.asarray(self.a) + self.b - 2)
        return _by_shape(self._kind, inside, 0.0, 1.0)

    def hdi_kind(self, prob: float) -> np.ndarray:
        return self._kind

    @cached_property
    def _kind(self):
        a, b = np.broadcast_arrays(self.a, self.b)
        rules = [(a > 1) & (b > 1), (a == 1) & (b == 1), (a < 1) & (b < 1), a > b]
        return np.select(rules, [INTERIOR, FLAT, U_SHAPED, UPPER], LOWER)


@dataclass(frozen=True, eq=False)
class F1(_OfABeta):
    """
    Distribution of F1, which is 2u/(1 + u) with the Jaccard index u ~ Beta(a, b).

    For two classes, ``a`` is the Dirichlet parameter of the true positives. ``b`` is the sum of the
    parameters of the false positives and the false negatives. The moments are sums of moments of
    beta distributions. The highest-density interval is found on the scale of F1, so it is not the
    image of the interval for u.

    References
    ----------
    Wang, Y., Li, J., Li, Y., Wang, R. & Yang, X. (2015). Confidence interval for F1 measure of
    algorithm performance based on blocked 3x2 cross-validation. IEEE Transactions on Knowledge
    and Data Engineering, 27(3), 651-659. doi:10.1109/TKDE.2014.2359667

    Examples
    --------
    >>> F1(65.5, 51.0).eti(0.95).round(4)
    array([0.641 , 0.7884])
    >>> F1(65.5, 51.0).mode().round(4).item()
    0.7229
    """

    power = 2
    image = staticmethod(lambda u: Share(2 * u.v / (1 + u.v), u.c / (1 + u.v)))
    _of = staticmethod(lambda jaccard: 2 * jaccard / (1 + jaccard))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return betainc(self.a, self.b, _jaccard(x))

    def sf(self, x: ArrayLike) -> np.ndarray:
        return betaincc(self.a, self.b, _jaccard(x))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self._of(betaincinv(self.a, self.b, q))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        u = np.asarray(x) / (2 - np.asarray(x))
        with np.errstate(invalid="ignore"):
            density = np.exp(logpdf(self.a, self.b, u) + 2 * np.log1p(u)) / 2
        return np.nan_to_num(density, posinf=np.inf)

    def mean(self) -> np.ndarray:
        return self._moments[0]

    def sd(self) -> np.ndarray:
        return np.sqrt(self._moments[1])

    def skewness(self) -> np.ndarray:
        return self._moments[2] / self._moments[1] ** 1.5

    @cached_property
    def _moments(self):
        """
        Mean, variance and third central moment.

        Let c = 1 - u, and let m be the mean of u. The difference between F1 and its value at m is 2
        (u - m) / (1 + m) times the series of 1 / (2 - c) in c. A factor c**j turns Beta(b, a) into
        Beta(b + j, a), whose moments about the old mean are known. No terms cancel.
        """
        a, b = np.broadcast_arrays(np.asarray(self.a, float), np.asarray(self.b, float))
        if a.size == 1:  # Python floats take a tenth of the time of arrays
            return np.reshape(_moments_of_f1(a.item(), b.item()), (3, *a.shape))
        moments = np.empty((3, a.size))
        for start in range(0, a.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            moments[:, part] = _moments_of_f1(a.flat[part], b.flat[part])
        return [moment.reshape(a.shape)[()] for moment in moments]

    def mode(self) -> np.ndarray:
        a, b = np.asarray(self.a, float), np.asarray(self.b, float)
        half = b + 2 * a - 5
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(half**2 + 16 * (a - 1))
            inside = np.where(half > 0, 4 * (a - 1) / (half + root), (root - half) / 4)
        return _by_shape(self._kind, inside, 0.0, 1.0)

    def hdi_kind(self, prob: float) -> np.ndarray:
        finite_at_0 = (self._kind == INTERIOR) & (np.asarray(self.a) == 1)
        if not finite_at_0.any():
            return self._kind
        rising, kinds = np.flatnonzero(finite_at_0), np.array(self._kind)
        some = self.take(rising)
        reaches_0 = some.pdf(0.0) >= some.pdf(some.quantile(prob))
        kinds.reshape(-1)[rising[reaches_0]] = LOWER
        return kinds

    @cached_property
    def _kind(self):
        # The slope of the log density has the sign of (a - 1) + (3 - b) u - (a + b) u**2.
        a, b = np.broadcast_arrays(np.asarray(self.a, float), self.b)
        hump = (b < 3) & ((3 - b) ** 2 > 4 * (a + b) * (1 - a))
        rules = [
            (a >= 1) & (b <= 1),
            (a > 1) | ((a == 1) & (b < 3)),
            (a < 1) & (b < 1),
            (a < 1) & hump,
        ]
        return np.select(rules, [UPPER, INTERIOR, U_SHAPED, NOT_UNIMODAL], LOWER)


@dataclass(frozen=True, eq=False)
class PointMass(Distribution):
    """Distribution with all mass at one point, such as a known prevalence."""

    at: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.at)

    def take(self, index: np.ndarray) -> "PointMass":
        return PointMass(np.ravel(self.at)[index])

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(x) >= self.at, 1.0, 0.0)

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(x) == self.at, 1.0, 0.0)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return np.asarray(self.at) + np.zeros_like(q, float)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(x) == self.at, np.inf, 0.0)

    def mean(self) -> np.ndarray:
        return np.asarray(self.at, float)

    mode = mean

    def sd(self) -> np.ndarray:
        return np.zeros_like(self.at, float)

    def skewness(self) -> np.ndarray:
        return np.full_like(self.at, np.nan, float)

    def expected_loss(self) -> np.ndarray:
        return np.maximum(-self.mean(), 0)

    def hdi(self, prob: float) -> np.ndarray:
        return self.eti(prob)

    def hdi_kind(self, prob: float) -> np.ndarray:
        return np.full(self.shape, INTERIOR)


def _jaccard(f1):
    f1 = np.clip(f1, 0, 1)
    return f1 / (2 - f1)


def _moments_of_f1(a, b):
    """
    Return the mean, the variance and the third central moment of F1 = 2 u / (1 + u).

    With u ~ Beta(a, b), c = 1 - u, n = a + b, and m = 2 a / (n + a), which is F1 at the mean of u,

        F1 - m = n / (n + a) (u - a / n) sum_j (c / 2)**j.

    Its square and cube have the same series with the coefficients j + 1 and (j + 1) (j + 2) / 2. E
    c**j g(u) is E c**j times the mean of g(u) for u ~ Beta(a, b + j).
    """
    n, weight = a + b, 0 * a + 1  # the mean of (c / 2)**j
    first, second, third = 0 * a, 0 * a, 0 * a
    inverse_n = inverse = 1 / n
    next_inverse = 1 / (n + 1)
    for j in range(_TERMS):
        after_next = 1 / (n + (j + 2))
        mean_u, mean_c = a * inverse, (b + j) * inverse
        shift = mean_u * j * inverse_n  # shift of the mean of c
        variance = mean_u * mean_c * next_inverse
        third_of_c = 2 * variance * (mean_u - mean_c) * after_next
        first -= weight * shift
        term = (j + 1) * weight * (variance + shift**2)
        second += term
        third -= (j + 1) * (j + 2) / 2 * weight * (third_of_c + shift * (3 * variance + shift**2))
        weight = weight * mean_c / 2
        inverse, next_inverse = next_inverse, after_next
        if np.all(term <= 1e-17 * second):
            break
    scale = n / (2 * a + b)
    first, second, third = scale * first, scale**2 * second, scale**3 * third
    mean = 2 * a / (2 * a + b) + first
    return mean, second - first**2, third - 3 * first * second + 2 * first**3


def _by_shape(shape, interior, lower, upper):
    rules = [shape == INTERIOR, shape == LOWER, shape == UPPER]
    return np.select(rules, [interior, lower, upper], np.nan)


# Highest-density intervals

_RULES = [np.polynomial.legendre.leggauss(size) for size in (2, 4, 8)]
_SHORT = 0.01, 0.25  # largest moves, in spreads, for which two and four nodes are sufficient
_FEW = 256  # number of beta variables above which a polynomial gives the initial ends
# Degrees of that polynomial, accurate to 5e-12 spreads up to scores of 4 (`near_log_odds`).
_DEGREES = 23, 15
_LIMIT = 600.0  # bound of the absolute log odds, so that exp stays finite
_STEPS = 3  # Newton steps for all members; further steps are taken for unsettled members only
# Tolerance for a step, in spreads; the next step would be of the order of its square.
_SETTLED = 1e-6


def beta_highest(a, b, prob, power=0):
    """
    Return the ends of the highest-density interval, on the scale of the beta variable u.

    The density is the same at both ends. It is ``u**(a-1) * (1-u)**(b-1) * (1+u)**power``, which is
    the density of u for power 0, and of F1 = 2u/(1+u) for power 2. It must first rise and then
    fall.

    Parameters
    ----------
    a, b : array_like
        Parameters of u ~ Beta(a, b), broadcast against each other; a >= 1 and b > 1.
    prob : float
        Mass of the interval.
    power : {0, 2}
        0 for u, 2 for F1.

    Returns
    -------
    ndarray, shape (..., 2)
        Ends of the intervals.

    Notes
    -----
    Newton's method solves for both ends at once, in log odds. It starts at the ends of the
    equal-tailed interval, whose mass is known. The mass that a step adds is computed as a short
    Gauss-Legendre sum, so the incomplete beta function is evaluated only twice. The few ends that
    move far are refined with that function itself. Any ends that still have not converged are found
    by bisection.
    """
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    ends = np.empty((a.size, 2))
    for start in range(0, a.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        ends[part] = _chunk(a.flat[part], b.flat[part], prob, power)
    return ends.reshape(*a.shape, 2)


def _chunk(a, b, prob, power):
    """Solve for v, whichever of u and 1 - u has the smaller mean, to avoid loss of precision."""
    swapped = a > b
    density = _Density(np.where(swapped, b, a), np.where(swapped, a, b), swapped, power)
    low, high, unsolved = density.solve(prob)
    if unsolved.any():
        low[unsolved], high[unsolved] = density.take(unsolved).bracket(prob)
    return np.stack([np.where(swapped, 1 - high, low), np.where(swapped, 1 - low, high)], -1)


class _Density:
    """
    Density of v ~ Beta(p, q) with p <= q, as a function of the centred log odds d.

    d is the log odds of v minus the log odds of its mean v0. With c = 1 - v, c0 = 1 - v0 and g =
    log(1 + v0 (exp(d) - 1)), v = v0 exp(d - g) and c = c0 exp(-g). The density of d is therefore
    proportional to v**p c**q, that is, to exp(p d - (p + q) g). The target density, which is equal
    at both ends of the interval, is v**(p-1) c**(q-1) (1 + u)**power, with u equal to v, or to c if
    the parameters were swapped.
    """

    def __init__(self, p, q, swapped, power):
        self.p, self.q, self.swapped, self.power = p, q, swapped, power
        self.v0, self.c0 = p / (p + q), q / (p + q)
        self.peak = density_of_log_odds(p, q)
        self.spread = np.sqrt(1 / p + 1 / q)
        self.mode = self._mode()

    def take(self, index):
        return _Density(self.p[index], self.q[index], self.swapped[index], self.power)

    def _mode(self):
        """Return the mode of the target density, in d, clipped to `_LIMIT`."""
        a, b = np.where(self.swapped, (self.q, self.p), (self.p, self.q))
        k = self.power
        # The positive root of (a-1) + (k+1-b) u - (a+b-2+k) u**2, written without cancellation.
        half, last = (b - 1 - k) / 2, a + b - 2 + k
        root = np.sqrt(half**2 + (a - 1) * last)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(half > 0, (a - 1) / (half + root), (root - half) / last)
            mode = np.where(self.swapped, 1 - u, u)
            return self.shift(np.clip(mode, 0, 1))

    def shift(self, v):
        with np.errstate(divide="ignore"):
            d = np.log(v / self.v0) - np.log1p((self.v0 - v) / self.c0)
        return np.clip(d, -_LIMIT, _LIMIT)

    def value(self, d):
        return self.v0 * np.exp(d) / (1 + self.v0 * np.expm1(d))

    def grow(self, d):
        """Return g = log(1 + v0 (e**d - 1)), the log of the factor by which 1 - v shrinks."""
        return np.log1p(self.v0 * np.expm1(d))

    def mass(self, d, grow=None):
        """Return the density of d: peak exp(p d - (p + q) g)."""
        grow = self.grow(d) if grow is None else grow
        return self.peak * np.exp(self.p * d - (self.p + self.q) * grow)

    def level(self, d, grow):
        """Return the log of the target density up to a constant, and its slope in d."""
        v, c = self.v0 * np.exp(d - grow), self.c0 * np.exp(-grow)
        # log v**(p-1) c**(q-1) without its constant. As dv/dd = v c, its slope is (p-1) c - (q-1)
        # v.
        log = (self.p - 1) * d - (self.p + self.q - 2) * grow
        slope = (self.p - 1) * c - (self.q - 1) * v
        if self.power:
            factor, sign = np.where(self.swapped, 2 - v, 1 + v), np.where(self.swapped, -1, 1)
            log = log + self.power * np.log(factor)
            slope = slope + self.power * sign * v * c / factor
        return log, slope

    def between(self, start, move):
        """Return the masses between points and the same points after short moves, (2, m)."""
        half = move / 2
        nodes, weights = _RULES[np.searchsorted(_SHORT, (np.abs(move) / self.spread).max())]
        masses = self.mass(start + half * (1 + nodes[:, None, None]))
        return half * np.tensordot(weights, masses, 1)

    def solve(self, prob):
        """Return both ends in v, and whether they failed to converge."""
        low, high = self.equal_tailed((1 - prob) / 2)
        state = low, high, np.zeros_like(low), np.zeros(low.shape, bool), low
        low, high, _, overshot, size = state = self.walk(*self.around_mode(state), steps=_STEPS)
        rest = ~(size < _SETTLED)
        if rest.any():
            some = self if rest.all() else self.take(rest)
            moved = some.walk(*(array[rest] for array in state), steps=5)
            for array, new in zip(state, moved, strict=True):
                array[rest] = new
        unsolved = overshot | ~(size < _SETTLED)
        if unsolved.any():
            low[unsolved], high[unsolved], unsolved[unsolved] = self.take(unsolved).polish(
                low[unsolved], high[unsolved], prob
            )
        return self.value(low), self.value(high), unsolved

    def equal_tailed(self, tail):
        """Return the ends of the equal-tailed interval, accurate to 1e-11 of the spread."""
        if self.p.size > _FEW:
            z = special.ndtri([tail, 1 - tail])
            log = near_log_odds(self.p, self.q, z, _DEGREES) - np.log(self.p / self.q)[:, None]
            return np.clip(log, -_LIMIT, _LIMIT).T
        ends = betaincinv(self.p, self.q, tail), betainccinv(self.p, self.q, tail)
        return [self.shift(end) for end in ends]

    def around_mode(self, state):
        """Move the ends outwards if they do not clearly enclose the mode."""
        low, high, *_, size = state
        new_low = np.minimum(low, self.mode - 0.1 * self.spread)
        new_high = np.maximum(high, self.mode + 0.1 * self.spread)
        if (new_low == low).all() and (new_high == high).all():
            return state
        return self.moved(state, new_low, new_high, size)

    def moved(self, state, new_low, new_high, size):
        low, high, excess, overshot, _ = state
        moves = np.stack([low - new_low, new_high - high])
        excess = excess + self.between(np.stack([new_low, high]), moves).sum(axis=0)
        overshot = overshot | (np.abs(moves) > 2).any(axis=0)
        return new_low, new_high, excess, overshot, size

    def walk(self, *state, steps):
        """Take some Newton steps and track the mass that they add."""
        for _ in range(steps):
            state = self.moved(state, *self.step(*state[:3]))
            if (state[-1] < _SETTLED).all():
                break
        return state

    def step(self, low, high, excess):
        """Return one Newton step that keeps the mode between the ends, and its size."""
        ends = np.stack([low, high])
        grow = self.grow(ends)
        level, slopes = self.level(ends, grow)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = level[1] - level[0]
            move_low, move_high = both_ends(gap, excess, self.mass(ends, grow), slopes)
        new_low, new_high = low + move_low, high + move_high
        new_low = np.where(new_low < self.mode, new_low, (low + self.mode) / 2)
        new_high = np.where(new_high > self.mode, new_high, (high + self.mode) / 2)
        new_low, new_high = np.maximum(new_low, -_LIMIT), np.minimum(new_high, _LIMIT)
        size = (np.abs(new_low - low) + np.abs(new_high - high)) / self.spread
        size = np.where((new_low == -_LIMIT) | (new_high == _LIMIT), np.inf, size)
        return new_low, new_high, size

    def polish(self, low, high, prob):
        """Refine the ends by Newton's method with the incomplete beta function itself."""
        for _ in range(12):
            mass = betainc(self.p, self.q, self.value(high))
            mass = mass - betainc(self.p, self.q, self.value(low))
            low, high, size = self.step(low, high, mass - prob)
        with np.errstate(invalid="ignore"):
            return low, high, ~(size < 1e-9)

    def bracket(self, prob):
        """Return the ends by bisection over the mass below them, which is slow but safe."""
        left, right = np.zeros_like(self.p), np.full_like(self.p, 1 - prob)
        for _ in range(60):
            tail = (left + right) / 2
            low, high = self._ends(tail, prob)
            with np.errstate(divide="ignore", invalid="ignore"):
                levels = [
                    self.level(end, self.grow(end))[0] for end in map(self.shift, (low, high))
                ]
                rising = levels[0] < levels[1]
            left, right = np.where(rising, tail, left), np.where(rising, right, tail)
        return self._ends((left + right) / 2, prob)

    def _ends(self, tail, prob):
        low = betaincinv(self.p, self.q, tail)
        return low, betainccinv(self.p, self.q, 1 - prob - tail)


def highest_of(distribution, prob, kind, back, power):
    """Return the highest-density interval of a function of Beta(a, b), kind by kind."""
    ends = np.empty((*kind.shape, 2))
    inside = kind == INTERIOR
    if inside.all():
        return back(beta_highest(distribution.a, distribution.b, prob, power))
    a, b = np.broadcast_arrays(distribution.a, distribution.b)
    ends[inside] = back(beta_highest(a[inside], b[inside], prob, power))
    flat = ends.reshape(-1, 2)
    for name, q in [(LOWER, prob), (UPPER, 1 - prob)]:
        members = np.flatnonzero(kind == name)
        if len(members):
            end = distribution.take(members).quantile(q)
            flat[members] = np.stack([0 * end, end] if name == LOWER else [end, 0 * end + 1], -1)
    even = np.flatnonzero(kind == FLAT)
    if len(even):
        flat[even] = distribution.take(even).eti(prob)
    rest = np.flatnonzero(~np.isin(kind, (*ONE_INTERVAL, FLAT)))
    if len(rest):
        flat[rest] = shortest(Members(distribution.take(rest)), prob)
    return ends
