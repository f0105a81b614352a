"""
The distribution of a function of independent shares, by lines through their normal scores.

Let x be a number that depends on d independent shares, such as the recall and the false positive
rate, each a beta variable. Every share has a standard normal score z: it is the quantile at
``ndtr(z)``. All scores together are d-dimensional standard normal, so that

    P(x <= c) = E[ ndtr(s(c, w)) ],

where w is a point of the plane across a direction, here the diagonal (+-1, ..., +-1), and s is the
score along it at which the line through w reaches c. Every measure of two classes is monotone in
its shares, so with the signs of the diagonal chosen by row, it rises along every line; and its
level sets are graphs over the plane, of slope at most 1, whatever the counts. The integrand is
smooth and its weight Gaussian, so the trapezoidal rule, a lattice of lines, converges
geometrically: halving the step about squares the error (Trefethen & Weideman 2014). Integrating
along one direction exactly is known as pre-integration (Griewank et al. 2018); a diagonal, where a
gradient would be a little better, puts all points of all lines onto one grid of scores, so each
share is inverted at some twenty to a hundred scores only.

Along a line the number is known at equidistant points, and where it crosses c is found on the
polynomial through the eight points around. All crossings are counted with their sign, so the number
need not be monotone; convergence is algebraic then, and the error that is stated says so.

All this is in the scale y of a link, ``log(above / below)`` for the odds of
`bayescm.measures.odds`, in which nothing is lost next to the ends of the range. Quantiles and both
ends of the shortest interval are found by Newton's method on the exact masses, densities and slopes
of one lattice, then of a finer one, until they no longer move.

References
----------
Trefethen, L. N. & Weideman, J. A. C. (2014). The exponentially convergent trapezoidal rule. SIAM
Review, 56(3), 385-458. doi:10.1137/130932132
Griewank, A., Kuo, F. Y., Leovey, H. & Sloan, I. H. (2018). High dimensional integration of kinks
and jumps: smoothing by preintegration. Journal of Computational and Applied Mathematics, 344,
259-274. doi:10.1016/j.cam.2018.04.009
"""

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.base import MANY, Distribution, check_interval, default_accuracy
from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.hdi import INTERIOR, LOWER, SEVERAL_MODES, UPPER, Link, both_ends
from bayescm.distributions.incomplete import Share, log_odds, near_log_odds

_ROUGH = 1e-4  # an accuracy from which on a coarser lattice is tried first
_POINTS, _MOST_POINTS = 2**18, 2**21  # of a lattice: of several rows at a time; of one row


@dataclass(frozen=True, eq=False)
class FunctionOfShares(Distribution):
    """
    The distribution of a function of independent shares.

    Attributes
    ----------
    shares : tuple of Beta or PointMass, shape (...)
        The distributions of the shares. A point mass is a number that is known.
    log_odds : callable
        ``log_odds(*shares)``, of a `Share` each, whose parts are arrays or a `LogNumber`: the
        number in the scale of the link, monotone in every share but those that are ``outer`` or
        ``kinked``.
    support : pair of float or ndarray
        Smallest and largest value.
    outer : int, optional
        The share that the number is not monotone in: it has nodes of its own.
    kinked : int, optional
        The share at whose 1/2 the function has a kink: it is monotone on either side.
    power_moment : callable, optional
        ``power_moment(k, *shares)`` -> E x**k where that may be infinite; NaN leaves it to the
        lattice.
    accuracy : float, optional
        The numerical error of a bound that is good enough, in parts of the length of the interval
        or, where that is less, of ``max(1, bound)``; by default 1e-6, and 1e-3 for more than 1,000
        distributions.
    share_error : float, optional
        The error of a bound, in parts of the length of the interval, that the shares themselves
        bring with them: no bound is found more accurately.

    Examples
    --------
    >>> from bayescm.posteriors import dirichlet_multinomial
    >>> from bayescm.measures.catalogue import mcc
    >>> posterior = dirichlet_multinomial([[35, 30], [30, 50]], concentration=0)
    >>> distribution = posterior.distribution(mcc)
    >>> round(float(distribution.sf(0)), 7), distribution.how
    (0.9762949, 'quadrature')
    """

    how = "quadrature"
    shares: tuple[Any, ...]
    log_odds: Callable
    support: tuple[Any, Any] = (0.0, 1.0)
    outer: int | None = None
    kinked: int | None = None
    power_moment: Callable | None = None
    accuracy: float | None = None
    share_error: float = 0.0

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(share.shape for share in self.shares))

    def take(self, index: Any) -> "FunctionOfShares":
        shares = tuple(_flat(share, self.shape).take(index) for share in self.shares)
        support = tuple(np.broadcast_to(end, self.shape).ravel()[index] for end in self.support)
        return replace(self, shares=shares, support=support if self._varied else self.support)

    @property
    def _varied(self):
        """Whether the members differ in their support."""
        return any(np.ndim(end) for end in self.support)

    def with_tolerance(self, accuracy: float) -> "FunctionOfShares":
        return replace(self, accuracy=max(accuracy, self.share_error))

    @property
    def _size(self):
        return math.prod(self.shape)

    @property
    def _tolerance(self):
        return self.accuracy or default_accuracy(self._size)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[0], x)

    def sf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[1], x)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[2], x)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, q: rows.quantiles(q)[0], q)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[3], x)

    def eti(self, prob: float) -> np.ndarray:
        return self.interval_with_error(prob, "eti")[0]

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        ends, errors = check_interval(*self._interval(prob, kind)[:2])
        return ends, errors + self.share_error * np.diff(ends) if self.share_error else errors

    def mean(self) -> np.ndarray:
        return self._moments[..., 0]

    def sd(self) -> np.ndarray:
        return self._moments[..., 1]

    def skewness(self) -> np.ndarray:
        return self._moments[..., 2]

    @cached_property
    def _moments(self):
        moments = np.concatenate([rows.moments() for rows in self._rows()])
        if self.power_moment is not None:
            moments = _with_powers(moments, [self.power_moment(k, *self.shares) for k in (1, 2, 3)])
        return moments.reshape(*self.shape, 3)

    def _highest(self, prob):
        ends, _, kinds = self._interval(prob, "hdi")
        return ends, kinds

    def _interval(self, prob, kind):
        """Return the ends, their errors and the kinds of intervals."""
        if (prob, kind) not in self._found:
            parts = [rows.interval(prob, kind) for rows in self._rows()]
            ends, errors, kinds = (np.concatenate(each) for each in zip(*parts, strict=True))
            pair = *self.shape, 2
            self._found[prob, kind] = (
                ends.reshape(pair),
                errors.reshape(pair),
                kinds.reshape(self.shape),
            )
        return self._found[prob, kind]

    def _elementwise(self, function, points):
        """Apply a function of rows and points (m, P) to points that broadcast with the batch."""
        points = np.asarray(points, float)
        shape = np.broadcast_shapes(points.shape, self.shape)
        flat = np.broadcast_to(points, shape).reshape(-1, self._size).T
        values, start = np.empty(flat.shape), 0
        for rows in self._rows():
            part = slice(start, start + rows.size)
            values[part], start = function(rows, flat[part]), part.stop
        return values.T.reshape(shape)[()]

    def _rows(self) -> "Iterator[_Rows]":
        """Yield some members at a time; where they are few, the same ones, which remember."""
        if self._size <= MANY:
            yield self._all
            return
        for start in range(0, self._size, MANY):
            part = self.take(np.arange(start, min(start + MANY, self._size)))
            yield _Rows(replace(part, accuracy=self._tolerance))

    @cached_property
    def _all(self):
        return _Rows(self.take(np.arange(self._size)))


def _flat(share, shape):
    if share.shape == shape:
        return share
    if not isinstance(share, Beta | PointMass):
        raise ValueError(f"shares of one shape are needed, not {share.shape} in {shape}")
    if isinstance(share, PointMass):
        return PointMass(np.broadcast_to(share.at, shape))
    return Beta(np.broadcast_to(share.a, shape), np.broadcast_to(share.b, shape))


@dataclass(frozen=True, eq=False)
class QuantileShare:
    """
    A number whose distribution is known, as a share: its quantile function in the scale of a link.

    Attributes
    ----------
    distribution : FunctionOfShares, shape (...)
        From 0 or -1 to 1, or from 0 to infinity: then the odds of the share are the number.
    """

    distribution: FunctionOfShares

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch."""
        return self.distribution.shape

    def take(self, index: Any) -> "QuantileShare":
        """Return some members of the flat batch."""
        return QuantileShare(self.distribution.take(index))

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Return the number in the scale of its link, (m, G), at normal scores (G,)."""
        curve = self._curve
        return curve(np.broadcast_to(scores, (len(curve.y), len(scores))))[0]

    @cached_property
    def _curve(self):
        return self.distribution._all.curve()


def difference(first: Any, second: Any) -> FunctionOfShares | None:
    """
    Return the distribution of the difference of two independent numbers, first less second.

    Parameters
    ----------
    first, second : Distribution, shape (...)
        What is made from one beta variable each (``image``), or functions of shares.

    Returns
    -------
    FunctionOfShares, or None where one of them is neither, or their ranges differ.
    """
    shares: list[Any] = []
    images: list[Callable] = []
    for each in (first, second):
        if each.image is not None:
            shares.append(Beta(*np.broadcast_arrays(*map(np.asarray, (each.a, each.b)))))
            images.append(each.image)
        elif isinstance(each, FunctionOfShares) and not each._varied:
            shares.append(QuantileShare(each))
            images.append(lambda share: share)
        else:
            return None
    if shares[0].shape != shares[1].shape or first.support != second.support:
        return None
    low, high = first.support
    one, two = images

    def log_odds(t, f):
        (a, rest), (b, other) = one(t), two(f)
        return np.log((a + other) / (rest + b))

    def asinh(t, f):
        x, y = (np.exp(np.minimum(np.log(each.v) - np.log(each.c), _GREATEST)) for each in (t, f))
        return np.arcsinh(x - y)

    if np.isinf(high):
        return FunctionOfShares(tuple(shares), asinh, (-np.inf, np.inf))
    return FunctionOfShares(tuple(shares), log_odds, (low - high, high - low))


_GREATEST = 600.0  # logarithm of a number


def _with_powers(moments, powers):
    """Return mean, sd and skewness, (m, 3), with those that are known or infinite in place."""
    first, second, third = (np.ravel(power) + np.zeros(len(moments)) for power in powers)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.where(np.isnan(first), moments[:, 0], first)
        sd = np.where(np.isinf(second), np.inf, moments[:, 1])
        skewness = np.where(np.isinf(third) | np.isinf(second), np.nan, moments[:, 2])
        finite = ~np.isnan(second) & ~np.isinf(second)
        spread = np.sqrt(np.maximum(second - first**2, 0))
        # A difference of squares keeps its digits where the spread is not small beside the mean.
        sd = np.where(finite & (spread > 1e-3 * np.abs(first)), spread, sd)
    return np.stack([mean, sd, skewness], -1)


# The lattice

_REACH = 7.5  # of the scores: the mass beyond is 6e-14
_FALL = 2**0.5
# Steps of the scores, level by level, the first for rough answers. Of three shares they fall more
# slowly, since points go with their third power. With an outer share its own steps are refined
# further than those of the lines: cohen_kappa below the least that some prevalence allows needs it.
_STEPS = {
    (1, False): tuple(1.0 / _FALL**level for level in range(14)),
    (2, False): tuple(1.0 / _FALL**level for level in range(14)),
    (3, False): (0.82, 0.58, 0.47, 0.38, 0.29, 0.22, 0.17, 0.12, 0.085),
    (2, True): (1.0, 0.71, 0.5, 0.355, 0.25, 0.25, 0.1775, 0.1775, 0.1775, 0.1775),
}
_OUTER_STEPS = 1.4, 1.0, 0.7, 0.5, 0.35, 0.175, 0.125, 0.0625, 0.032, 0.016
_NEGLIGIBLE = {False: 1e-11, True: 1e-6}  # weight of a line, for answers that are exact or rough


class Lattice(NamedTuple):
    """
    Lines along the diagonal of d scores, and of each some nodes of an outer score.

    Attributes
    ----------
    grid : ndarray, shape (G,)
        The scores that a share takes.
    place : ndarray of int, shape (d, N, P)
        Which of them each share takes at the points of every line.
    first, step : ndarray, shape (N,), and float
        The scores along the line: ``first + step * arange(P)``.
    weights : ndarray, shape (N,)
        Weights of the lines, which sum to 1.
    outer : ndarray, shape (N,)
        Scores of the outer share, NaN where there is none.
    """

    grid: np.ndarray
    place: np.ndarray
    first: np.ndarray
    step: float
    weights: np.ndarray
    outer: np.ndarray


@cache
def lattice(d: int, outer: bool, level: int, rough: bool) -> Lattice | None:
    """Return the lattice of a level, or None where there is none so fine."""
    steps = _STEPS[d, outer]
    if level >= len(steps):
        return None
    g = steps[level]
    n = math.ceil(_REACH / g)
    # Lines 2 g (k, 0) + g j (1, ..., 1): twice the step apart, since with once the step accuracy is
    # hardly better, and with four times it is lost.
    most = math.ceil(_REACH / g)
    k = np.array([(*each, 0) for each in product(range(-most, most + 1), repeat=d - 1)])
    square = (2 * g) ** 2 * ((k**2).sum(-1) - k.sum(-1) ** 2 / d)
    weights, nodes = np.exp(-square / 2), np.full(1, np.nan)
    rest = np.ones(1)
    if outer:
        h = _OUTER_STEPS[level]
        nodes = h * np.arange(-math.floor(_REACH / h), math.floor(_REACH / h) + 1)
        rest = np.exp(-(nodes**2) / 2)
    line, node = np.nonzero(np.multiply.outer(weights, rest) > _NEGLIGIBLE[rough])
    k, weights = k[line], weights[line] * rest[node]
    step = g * math.sqrt(d)
    start = np.ceil((-_REACH / g * math.sqrt(d) - 2 * k.sum(-1)) / d).astype(int)
    size = math.floor(2 * _REACH / step) + 2
    if len(k) * size > _MOST_POINTS:
        return None
    index = 2 * k.T[:, :, None] + start[:, None] + np.arange(size)
    return Lattice(
        g * np.arange(-n, n + 1),
        np.clip(index + n, 0, 2 * n),
        g * (2 * k.sum(-1) + d * start) / math.sqrt(d),
        step,
        weights / weights.sum(),
        nodes[node],
    )


class LogNumber(NDArrayOperatorsMixin):
    """
    Positive numbers by their logarithms, for those that floats cannot hold.

    They are added, multiplied and divided, and have roots and squares, as arrays have; a difference
    is its absolute value. The logarithm, ``np.log``, is an array.

    Examples
    --------
    >>> tiny = LogNumber(np.array(-2000.0))
    >>> np.log((tiny + tiny) / tiny).round(4).item()
    0.6931
    """

    def __init__(self, log: np.ndarray):
        self.log = log

    def __array_ufunc__(self, ufunc: Any, method: str, *numbers: Any, **_: Any) -> Any:
        """Do in logarithms what numpy does with numbers."""
        logs = [each.log if isinstance(each, LogNumber) else np.log(each) for each in numbers]
        if ufunc is np.log:
            return logs[0]
        return LogNumber(_IN_LOGS[ufunc](*logs))


def _log_of_difference(first, second):
    gap = np.abs(first - second)
    with np.errstate(divide="ignore"):
        return np.maximum(first, second) + np.log(-np.expm1(-gap))


_IN_LOGS: dict[Any, Callable] = {
    np.add: np.logaddexp,
    np.subtract: _log_of_difference,
    np.multiply: np.add,
    np.divide: np.subtract,
    np.minimum: np.minimum,
    np.sqrt: lambda log: log / 2,
    np.square: lambda log: 2 * log,
}


@dataclass(frozen=True, eq=False)
class HalfShare:
    """A beta variable of which it is known that it is below, or above, 1/2."""

    share: Beta
    upper: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch."""
        return self.share.shape

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Return the log odds (m, G) at normal scores (G,)."""
        share = self.share
        below, above = share.cdf(0.5)[:, None], share.sf(0.5)[:, None]
        under, over = special.ndtr(scores), special.ndtr(-scores)
        if self.upper:
            under, over = below + above * under, above * over
        else:
            under, over = below * under, above + below * over
        under, over = np.maximum(under, 1e-300), np.maximum(over, 1e-300)
        score = np.where(under < over, special.ndtri(under), -special.ndtri(over))
        return log_odds(np.asarray(share.a)[:, None], np.asarray(share.b)[:, None], score)


_PLAIN = 80.0  # log odds of a share up to which no product of four cells is lost


# What is asked of a lattice

_WINDOW = {False: 8, True: 6}  # points that a line is interpolated by
_NEWTON = {False: 3, True: 2}
_OFF = 10.0  # times the slope of the chord, beyond which that of the polynomial is not trusted


@cache
def _interpolation(size):
    """Return what makes coefficients, of rising powers about the middle, of `size` values."""
    middle = (size - 1) / 2
    return np.linalg.inv(np.vander(np.arange(size) - middle, increasing=True)).T, middle


class Masses(NamedTuple):
    """Below, above and about points y, (m, Q) each: masses, density in y, and its slope."""

    below: np.ndarray
    above: np.ndarray
    density: np.ndarray
    slope: np.ndarray

    @property
    def score(self) -> np.ndarray:
        """The standard normal score, from the smaller of both tails."""
        low, high = np.minimum(self.below, self.above), self.below < self.above
        score = special.ndtri(np.clip(low, 0, 0.5))
        return np.where(high, score, -score)

    @property
    def rate(self) -> np.ndarray:
        """How far y moves for each unit of its normal score."""
        return _bell(self.score) / self.density


class _Values:
    """The function on a lattice, for m rows: values (m, N, P) in the scale of the link."""

    def __init__(self, rows, level):
        self.rough, self.few = rows.rough, rows.rough and level < 2
        self.lattice, self.values, self.weights = rows.evaluate(level)

    def take(self, index):
        """Return some of the rows."""
        if len(index) == len(self.values):
            return self
        some = copy(self)
        some.values = self.values[index]
        some.weights = self.weights[index] if len(self.weights) > 1 else self.weights
        some.__dict__.pop("point_weights", None)
        return some

    def masses(self, y: np.ndarray) -> Masses:
        """Return the masses at y, (m, Q)."""
        lines = self.lattice
        under = self.values[:, None] <= y[:, :, None, None]
        row, query, line, point = np.nonzero(under[..., 1:] != under[..., :-1])
        size = min(_WINDOW[self.rough], self.values.shape[-1])
        start = np.clip(point - size // 2 + 1, 0, self.values.shape[-1] - size)
        at = (row * self.values.shape[1] + line) * self.values.shape[2] + start
        window = self.values.ravel()[at[:, None] + np.arange(size)] - y[row, query][:, None]
        each = np.arange(len(row))
        left = window[each, point - start]
        chord = window[each, point - start + 1] - left
        change, middle = _interpolation(size)
        powers = (window @ change).T
        low = point - start - middle
        t = low - left / chord
        for _ in range(_NEWTON[self.rough]):
            value, slope = _horner(powers, t)
            t = np.clip(np.nan_to_num(t - value / slope, nan=0.0), low, low + 1)
        slope, bend = _horner(powers[1:] * np.arange(1, size)[:, None], t)
        trusted = (slope * chord > 0) & (np.abs(np.log(np.abs(slope / chord))) < np.log(_OFF))
        slope = np.where(trusted, slope, chord) / lines.step
        bend = np.where(trusted, bend, 0.0) / lines.step**2
        s = lines.first[line] + lines.step * (start + middle + t)
        weight = self.weights[row if len(self.weights) > 1 else 0, line]
        sign = np.where(left <= 0, weight, -weight)
        shape, flat_row = y.shape, row * y.shape[1] + query

        def total(terms):
            return np.bincount(flat_row, terms, y.size).reshape(shape)

        density = sign * _bell(s) / slope
        ends = np.einsum("mqn,mn->mq", under[..., -1], self.weights + 0 * self.values[:, :, 0])
        begins = np.einsum("mqn,mn->mq", ~under[..., 0], self.weights + 0 * self.values[:, :, 0])
        return Masses(
            np.clip(total(sign * special.ndtr(s)) + ends, 0, 1),
            np.clip(total(sign * special.ndtr(-s)) + begins, 0, 1),
            total(density),
            total(-density * (s + bend / slope) / slope),
        )

    @cached_property
    def point_weights(self):
        """The weights of all points, (m or 1, N, P), which sum to 1."""
        along = self.lattice.first[:, None] + self.lattice.step * np.arange(self.values.shape[-1])
        weights = self.weights[:, :, None] * np.exp(-(along**2) / 2)
        return weights / weights.sum((-2, -1), keepdims=True)

    def quantile_function(self, nodes: np.ndarray | None = None) -> "_QuantileFunction":
        """Return y as a function of the normal score, by its exact values near some scores."""
        nodes = (_FEW_NODES if self.few else _NODES) if nodes is None else nodes
        flat = self.values.reshape(len(self.values), -1)
        order = np.argsort(flat, -1)
        flat = np.take_along_axis(flat, order, -1)
        weights = self.point_weights.reshape(len(self.point_weights), -1)
        weights = np.take_along_axis(np.broadcast_to(weights, flat.shape), order, -1)
        mass = np.cumsum(weights, -1) - weights / 2
        goals = special.ndtr(nodes)
        y = np.stack([np.interp(goals, *each) for each in zip(mass, flat, strict=True)])
        masses = self.masses(y)
        return _QuantileFunction(y, masses)

    def moments(self, link) -> np.ndarray:
        """Return mean, standard deviation and skewness, (m, 3)."""
        x = link.to_x(self.values.reshape(len(self.values), -1))
        weights = self.point_weights.reshape(len(self.point_weights), -1)
        mean = (x * weights).sum(-1, keepdims=True)
        second, third = (((x - mean) ** k * weights).sum(-1) for k in (2, 3))
        return np.stack([mean[:, 0], np.sqrt(second), third / second**1.5], -1)


def _bell(z):
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def _horner(powers, t):
    """Return a polynomial (K, n), of rising powers, and its slope, at t (n,)."""
    value, slope = powers[-1], np.zeros_like(t)
    for each in powers[-2::-1]:
        slope = slope * t + value
        value = value * t + each
    return value, slope


_NODES, _CLOSE_NODES = np.arange(-7.0, 7.01, 0.5), np.arange(-7.0, 7.01, 0.25)
_FEW_NODES = np.array([-6.0, -4.4, -3.2, -2.3, -1.5, -0.75, 0.0, 0.75, 1.5, 2.3, 3.2, 4.4, 6.0])


class _QuantileFunction:
    """y by its normal score, a cubic between points at which masses and densities are known."""

    def __init__(self, y, masses):
        score, rate = masses.score, masses.rate
        valid = np.isfinite(score) & np.isfinite(rate) & (rate >= 0)
        # What is not known is at the ends, where it is pushed aside.
        wide = np.where(y <= np.take(y, y.shape[1] // 2, 1)[:, None], -40.0, 40.0)
        self.score = np.maximum.accumulate(np.where(valid, score, wide), 1)
        self.y, self.rate = y, np.where(valid, rate, 0.0)

    def _left(self, z):
        """Return the last points at or below scores (m, Q)."""
        left = (self.score[:, None, :] <= z[:, :, None]).sum(-1) - 1
        return np.clip(left, 0, self.y.shape[1] - 2)

    def neighbours(self, z):
        """Return y at the points below and above scores (m, Q)."""
        return [np.take_along_axis(self.y, self._left(z) + k, 1) for k in (0, 1)]

    def __call__(self, z):
        """Return y and dy/dz at scores (m, Q)."""
        left = self._left(z)
        (z0, z1), (y0, y1), (r0, r1) = (
            [np.take_along_axis(each, left + k, 1) for k in (0, 1)]
            for each in (self.score, self.y, self.rate)
        )
        with np.errstate(all="ignore"):
            gap = z1 - z0
            t = np.clip(np.where(gap > 0, (z - z0) / gap, 0.5), 0, 1)
            rise, r0, r1 = y1 - y0, r0 * gap, r1 * gap
            last, square = r0 + r1 - 2 * rise, 3 * rise - 2 * r0 - r1
            y = y0 + t * (r0 + t * (square + t * last))
            rate = (r0 + t * (2 * square + 3 * t * last)) / gap
            chord = np.where(gap > 0, rise / gap, 0.0)
        return np.clip(y, y0, y1), np.where(rate > 0, rate, chord)


# Intervals

# The tails that an interval of mass `prob` leaves below it, in parts of what it leaves: log odds.
_SPLITS = np.linspace(-18, 18, 61)
_STEPS_AT_START, _STEPS_LATER = 4, 2
_AGAIN = 2, 4, 6  # levels, after the first, at which the kind of an interval is looked at anew
_SURE = 0.01  # a move, in scores, after which the kind of an interval need not be looked at anew
_LOST = 1.0  # a move, in scores, that says that Newton's method has lost its way
_FEW, _STEPS_OF_FEW = 8, 30  # rows up to which steps go on until they have settled
_NEARLY_SETTLED = 1e-5  # a move after which they need not
_UNSETTLED = 0.1  # a last step, in scores, after which the ends are looked for anew
_SETTLED = {False: 1e-9, True: 1e-4}  # a move that need not be followed by another
_SMALL = 0.02  # the largest move, in scores, at which an error is known
_FLOOR = {False: 1e-9, True: 1e-5}  # of an error, in parts of the length
_AHEAD = 0.1  # the difference of scores between two candidates that are not the same
_VALLEY, _SEEN = 0.02, 4.5  # depth in log density, and scores between which it is looked for
_TWO_LOWER, _TWO_UPPER = 1, 2


class Candidate(NamedTuple):
    """
    Where to look for the shortest interval of some mass.

    Attributes
    ----------
    ends : ndarray, shape (m, 2)
        In the scale y of the link.
    kind : ndarray of int, shape (m,)
        0 for equal densities at both ends, 1 and 2 where it starts at the lower, stops at the upper
        end of the support.
    several : ndarray of bool, shape (m,)
        Whether the density has several modes.
    """

    ends: np.ndarray
    kind: np.ndarray
    several: np.ndarray


def shortest_candidate(curve: _QuantileFunction, link: Link, prob: float) -> Candidate:
    """
    Return the shortest of all candidates for an interval, as the quantile function has them.

    With u below it an interval of mass p has the length Q(u + p) - Q(u), which falls in u where the
    density is higher at the upper end than at the lower one. So candidates are where that
    difference falls through 0; u = 0 where it begins below 0, and u = 1 - p where it ends above 0.
    """
    rest, size = 1 - prob, len(curve.y)
    splits = _SPLITS * (1.0 if curve.y.shape[1] == len(_NODES) else 0.55)
    low = special.ndtri(rest * special.expit(splits))
    high = -special.ndtri(rest * special.expit(-splits))
    (y, rate), z = curve(np.broadcast_to(np.r_[low, high], (size, 122))), np.r_[low, high]
    with np.errstate(all="ignore"):
        density = -(z**2) / 2 - np.log(rate) - link.log_slope(y)
        gap = density[:, 61:] - density[:, :61]
        x = link.to_x(y)
        length = x[:, 61:] - x[:, :61]
        falls = (gap[:, :-1] > 0) & (gap[:, 1:] <= 0)
        part = np.where(falls, gap[:, :-1] / (gap[:, :-1] - gap[:, 1:]), 0.0)
        inside = np.where(falls, length[:, :-1] * (1 - part) + length[:, 1:] * part, np.inf)
        ends = curve(np.broadcast_to(special.ndtri([prob, rest]), (size, 2)))[0]
        to_low = np.where(gap[:, 0] < 0, link.to_x(ends[:, :1])[:, 0] - _column(link.low), np.inf)
        to_high = np.where(
            gap[:, -1] > 0, _column(link.high) - link.to_x(ends[:, 1:])[:, 0], np.inf
        )
    best = inside.argmin(1)
    rows = np.arange(size)
    lengths = np.nan_to_num(np.stack([inside[rows, best], to_low, to_high]), nan=np.inf)
    kind = lengths.argmin(0)
    split = splits[best] + part[rows, best] * (splits[1] - splits[0])
    z = np.stack(
        [special.ndtri(rest * special.expit(split)), -special.ndtri(rest * special.expit(-split))],
        -1,
    )
    at = curve(z)[0]
    infinite = np.full(size, np.inf)
    at = np.where((kind == _TWO_LOWER)[:, None], np.stack([-infinite, ends[:, 0]], -1), at)
    at = np.where((kind == _TWO_UPPER)[:, None], np.stack([ends[:, 1], infinite], -1), at)
    undefined = ~np.isfinite(lengths).any(0)
    at[undefined], kind[undefined] = ends[undefined][:, ::-1], 0
    candidates = falls.sum(1) + np.isfinite(to_low) + np.isfinite(to_high)
    return Candidate(at, kind, (candidates > 1) | _has_valley(curve, link))


def _column(end):
    return end[:, 0] if np.ndim(end) else end


def _has_valley(curve, link):
    """Say whether the log density falls and rises again between scores that matter."""
    with np.errstate(all="ignore"):
        level = -(curve.score**2) / 2 - np.log(curve.rate) - link.log_slope(curve.y)
    inside = np.isfinite(level) & (np.abs(curve.score) < _SEEN)
    level = np.where(inside, level, -np.inf)
    before = np.maximum.accumulate(level, 1)
    after = np.maximum.accumulate(level[:, ::-1], 1)[:, ::-1]
    with np.errstate(invalid="ignore"):
        return (inside & (np.minimum(before, after) - level > _VALLEY)).any(1)


_LEADS = 3.0  # times what the others do a share moves the number that is said to lead it


class _Rows:
    """m distributions, asked at points (m, P)."""

    def __init__(self, distribution):
        self.distribution = distribution
        self.size = distribution.shape[0]
        self.accuracy = distribution._tolerance
        self.rough = self.accuracy >= _ROUGH
        low, high = distribution.support
        self.link = Link(*(end[:, None] if np.ndim(end) else end for end in (low, high)))
        shares = distribution.shares
        free = [i for i, share in enumerate(shares) if not isinstance(share, PointMass)]
        self.outer = distribution.outer if distribution.outer in free else None
        if self.outer is not None and self._is_led_by_outer(free):
            self.outer = None
        self.along = [i for i in free if i != self.outer]

    def take(self, index):
        """Return some of the rows."""
        if len(index) == self.size:
            return self
        rows = _Rows(replace(self.distribution.take(index), accuracy=self.accuracy))
        if "signs" in self.__dict__:
            rows.__dict__["signs"] = [sign[index] for sign in self.signs]
        return rows

    def _is_led_by_outer(self, free):
        """
        Say whether the number moves with the outer share above all, and in one direction only.

        In the other shares it is a step then, which equidistant nodes of the outer share do not
        resolve, and which lines along that share find exactly. Asked of all rows together.
        """
        logs = self._log_odds_at(np.array([0.0, -4.0, -2.0, 2.0, 4.0]))
        middle = [np.zeros(1, int)] * len(logs)
        spans = {}
        for i in free:
            y = self._at(logs, [*middle[:i], np.arange(1, 5), *middle[i + 1 :]])
            steps = np.diff(y)
            spans[i] = np.abs(steps[:, 1])
            if i == self.outer and not ((steps > 0).all(-1) | (steps < 0).all(-1)).all():
                return False
        others = sum(span for i, span in spans.items() if i != self.outer)
        return bool((spans[self.outer] > _LEADS * others).all())

    def _log_odds_at(self, scores):
        """Return the log odds (m, G) of all shares at scores, those of point masses (m, 1)."""
        return [
            special.logit(share.at)[:, None]
            if isinstance(share, PointMass)
            else self._log_odds(share, scores)
            for share in self.distribution.shares
        ]

    # Values on a lattice

    def values(self, level):
        """Return the values on the lattice of a level, the last two of which are remembered."""
        if level not in self._kept:
            self._kept[level] = _Values(self, level)
            for old in [each for each in self._kept if each < level - 1]:
                del self._kept[old]
        return self._kept[level]

    @cached_property
    def _kept(self):
        return {}

    def lattice(self, level):
        """Return the lattice of a level, from 0 on, or None."""
        finer = level + (not self.rough)
        return lattice(len(self.along), self.outer is not None, finer, self.rough)

    def points(self, level):
        """Return how many points the lattice of a level has for each row, 0 where there is none."""
        grid = self.lattice(level)
        halves = 1 if self.distribution.kinked is None else 2
        return 0 if grid is None else halves * grid.place[0].size

    def evaluate(self, level):
        """Return a lattice, the values on it (m, N, P), and the weights of its lines."""
        if self.distribution.kinked is not None:
            return self._evaluate_halves(level)
        grid = self.lattice(level)
        shares = self.distribution.shares
        logs, places = [np.zeros(0)] * len(shares), [np.zeros((1, 1), int)] * len(shares)
        if self.outer is not None:
            nodes, node = np.unique(grid.outer, return_inverse=True)
            logs[self.outer], places[self.outer] = (
                self._log_odds(shares[self.outer], nodes),
                node[:, None],
            )
        for position, i in enumerate(self.along):
            table = self._log_odds(shares[i], grid.grid)
            logs[i] = np.where(self.signs[position][:, None] > 0, table, table[:, ::-1])
            places[i] = grid.place[position]
        for i, share in enumerate(shares):
            if isinstance(share, PointMass):
                logs[i] = special.logit(share.at)[:, None]
        values = self._at(logs, places)
        shape = self.size, *grid.place.shape[1:]
        return grid, np.ascontiguousarray(np.broadcast_to(values, shape)), grid.weights[None]

    def _evaluate_halves(self, level):
        """Return the same of a share below 1/2 and of the share above, one beside the other."""
        distribution, kinked = self.distribution, self.distribution.kinked
        share = distribution.shares[kinked]
        values, weights = [], []
        for upper, mass in ((False, share.cdf(0.5)), (True, share.sf(0.5))):
            half = HalfShare(share, upper)
            shares = (*distribution.shares[:kinked], half, *distribution.shares[kinked + 1 :])
            rows = _Rows(replace(distribution, shares=shares, kinked=None, accuracy=self.accuracy))
            grid, here, lines = rows.evaluate(level)
            values.append(here)
            weights.append(mass[:, None] * lines)
        grid = grid._replace(first=np.tile(grid.first, 2))
        return grid, np.concatenate(values, 1), np.concatenate(weights, 1)

    def _log_odds(self, share, scores):
        """Return the log odds of a share at scores (G,) or (m, G)."""
        if not isinstance(share, Beta):
            return share.log_odds(scores)
        a, b = (np.asarray(each, float) for each in (share.a, share.b))
        if self.rough and scores.ndim == 1 and len(a) > 16:
            return near_log_odds(a, b, scores, _DEGREES)
        return log_odds(a[:, None], b[:, None], scores)

    def _at(self, logs, places):
        """Return the function of shares, of which the log odds are (m, G), at places of these."""
        plain = all(np.abs(log).max() < _PLAIN for log in logs)
        shares = []
        for log, place in zip(logs, places, strict=True):
            if plain:
                shares.append(Share(*(special.expit(side)[:, place] for side in (log, -log))))
            else:
                sides = (special.log_expit(side)[:, place] for side in (log, -log))
                shares.append(Share(*map(LogNumber, sides)))
        with np.errstate(all="ignore"):
            return self.distribution.log_odds(*shares)

    @cached_property
    def signs(self):
        """Which way the function goes with each share along the lines, (m,) each: 1 or -1."""
        logs = self._log_odds_at(np.array([0.0, -4.0, 4.0]))
        signs = []
        for i in self.along:
            places = [np.array([1, 2]) if k == i else np.zeros(1, int) for k in range(len(logs))]
            low, high = self._at(logs, places).T
            signs.append(np.where(high >= low, 1, -1))
        return signs

    def curve(self):
        """Return the quantile function, by the first lattice that agrees with the one before."""
        scores = np.broadcast_to(np.linspace(-4, 4, 17), (self.size, 17))
        last, level = np.inf, 0
        while self.points(level) * self.size <= _POINTS * 8 and self.points(level):
            with np.errstate(all="ignore"):
                quantile_function = self.values(level).quantile_function(_CLOSE_NODES)
                y, rate = quantile_function(scores)
                if (np.abs(y - last) <= 1e-6 * rate).all():
                    break
            last, level = y, level + 1
        return quantile_function

    # Probabilities and moments, by two lattices that agree

    def probabilities(self, x):
        """Return below, above, density and the error of x as a quantile, (4, m, P)."""
        y = self._to_y(x)
        answers = np.empty((4, *x.shape))
        open_ = np.arange(self.size)
        level = 0
        goal = max(1e-11, 1e-3 * self.accuracy**2) if not self.rough else 1e-5
        before = np.full((2, *x.shape), np.nan)
        while len(open_) and self.points(level):
            rest = []
            for part in self._parts(open_, level, x.shape[1]):
                at = self.take(part).values(level).masses(y[part])
                here = np.stack([at.below, at.density])
                with np.errstate(all="ignore"):
                    off = np.abs(here - before[:, part])
                    off[1] *= at.below * at.above / np.maximum(at.density, 1e-300)
                    slope = np.exp(self.take(part).link.log_slope(y[part]))
                    density = at.density / slope
                    error = np.where(off[0] > 0, off[0] / density, 0.0) + np.spacing(
                        np.abs(x[part])
                    )
                answers[:, part] = np.stack([at.below, at.above, density, error])
                before[:, part] = here
                rest.append(part[~(off[0] < goal).all(-1)])
            open_ = np.concatenate(rest)
            level += 1
        return self._at_ends(x, answers)

    def _to_y(self, x):
        return np.where(
            x <= self.link.low, -np.inf, np.where(x >= self.link.high, np.inf, self.link.to_y(x))
        )

    def _at_ends(self, x, answers):
        under, over = x <= self.link.low, x >= self.link.high
        below, above, density, error = answers
        below = np.where(under, 0.0, np.where(over, 1.0, below))
        above = np.where(under, 1.0, np.where(over, 0.0, above))
        density = np.where(under | over, 0.0, density)
        return np.stack([below, above, density, error])

    def moments(self):
        """Return mean, standard deviation and skewness, (m, 3)."""
        moments, open_, level = np.full((self.size, 3), np.nan), np.arange(self.size), 0
        goal = 1e-4 if self.rough else 1e-10
        while len(open_) and self.points(level):
            rest = []
            for part in self._parts(open_, level, 1):
                rows = self.take(part)
                with np.errstate(all="ignore"):
                    new = rows.values(level).moments(rows.link)
                    off = np.abs(new[:, :2] - moments[part, :2]).max(-1)
                    settled = off <= goal * np.where(new[:, 1] > 0, new[:, 1], 1.0)
                moments[part] = new
                rest.append(part[~settled])
            open_ = np.concatenate(rest)
            level += 1
            if level > 5:
                break
        return moments

    def _parts(self, index, level, queries):
        """Cut an index into parts whose temporary arrays are not large."""
        numbers = self.points(level) * max(1, queries / 8)
        size = max(1, int(_POINTS / numbers))
        return [index[start : start + size] for start in range(0, len(index), size)]

    # Quantiles and intervals, by Newton's method on finer and finer lattices

    def quantiles(self, q):
        """Return quantiles and their errors, (m, P) each."""
        with np.errstate(all="ignore"):
            z = np.where(
                q <= 0.5, special.ndtri(np.clip(q, 0, 0.5)), -special.ndtri(np.clip(1 - q, 0, 0.5))
            )
        state = self._refine_until_settled(_Quantiles(np.clip(z, -7.2, 7.2)))
        low, high = (end + np.zeros(q.shape) for end in (self.link.low, self.link.high))
        with np.errstate(over="ignore"):
            x = np.where(q <= 0, low, np.where(q >= 1, high, self.link.to_x(state.y)))
        return x, np.where((q <= 0) | (q >= 1), 0.0, state.error)

    def interval(self, prob, kind):
        """Return intervals (m, 2), their errors (m, 2) and their kinds (m,)."""
        if kind == "eti":
            tail = special.ndtri((1 - prob) / 2)
            z = np.broadcast_to([tail, -tail], (self.size, 2))
            state = self._refine_until_settled(_Quantiles(z), together=True)
        else:
            state = self._refine_until_settled(_Highest(prob), together=True)
        kinds = np.array([INTERIOR, LOWER, UPPER], dtype="<U18")[state.kind]
        kinds = np.where(state.several, SEVERAL_MODES, kinds)
        with np.errstate(over="ignore"):
            return self.link.to_x(state.y), state.error, kinds

    def _refine_until_settled(self, goal, together=False):
        """Return the ends, by the first lattice after which they no longer move."""
        state = _State(self.size, goal.count)
        open_, level = np.arange(self.size), 0
        least = 1 if self.rough else 2
        while len(open_) and self.points(level):
            rest = []
            for part in self._parts(open_, level, 2 * goal.count):
                rows = self.take(part)
                here = state.take(part)
                good = rows._improve(goal.take(part), here, level, together)
                good &= level >= np.where(here.kind > 0, 2, least)
                state.put(part, here)
                rest.append(part[~good])
            open_ = np.concatenate(rest)
            level += 1
        unsettled = open_[~np.isfinite(state.error[open_]).all(-1)] if len(open_) else open_
        if together and len(open_):
            unsettled = open_[
                ~np.isfinite(state.error[open_]).all(-1) | (state.y[open_, 0] > state.y[open_, -1])
            ]
        for row in unsettled:
            here = state.take([row])
            self.take(np.array([row]))._read_off(goal.take([row]), here, level - 1)
            state.put([row], here)
        return state

    def _read_off(self, goal, state, level):
        """Take the ends of one row from the quantile functions of two lattices, as they differ."""
        ends = []
        with np.errstate(all="ignore"):
            for each in (level - 2, level):
                goal.begin(
                    state, self.values(each).quantile_function(), self.link, np.ones(1, bool)
                )
                ends.append(self.link.to_x(state.y))
            state.error = 2 * np.abs(ends[1] - ends[0]).max() + np.spacing(np.abs(ends[1]))

    def _improve(self, goal, state, level, together):
        """Move the ends on the lattice of one level; say which rows are good enough."""
        values = self.values(level)
        with np.errstate(all="ignore"):
            unsettled, state.fresh = (
                ~np.isfinite(state.last_move).all(-1),
                np.zeros(self.size, bool),
            )
            doubtful = unsettled | (level == 0)
            if goal.is_shortest and level in _AGAIN:
                doubtful = doubtful | (state.kind > 0) | state.several
                doubtful = doubtful | (state.last_move > _SURE).any(-1)
            state.low[:], state.high[:] = -np.inf, np.inf
            self._begin(goal, state, values, doubtful, unsettled | (level == 0))
            moved, rate = self._newton(goal, state, values, level)
            last, state.last_move = (
                state.last_move,
                np.where(np.isfinite(moved) | (level > 0), moved, 0.0),
            )
            return self._state_errors(state, last, rate, level, together)

    def _begin(self, goal, state, values, doubtful, anew):
        """Read the ends of doubtful rows off their quantile functions, of some of them anew."""
        index = np.flatnonzero(doubtful)
        if len(index):
            part = state.take(index)
            curve = values.take(index).quantile_function()
            goal.take(index).begin(part, curve, self.take(index).link, anew[index])
            state.put(index, part)

    def _newton(self, goal, state, values, level):
        """Take Newton's steps; return how far the ends moved, in scores, and y with the score."""
        before = state.y.copy()
        most = _STEPS_AT_START if level == 0 else _STEPS_LATER
        few = self.size <= _FEW
        for step_number in range(_STEPS_OF_FEW if few else most):
            move, rate = goal.step(state, values.masses(state.y), self.link)
            limit = 2 * rate
            move = np.clip(move, -limit, limit)
            new = np.where(np.isfinite(state.y), state.y + np.nan_to_num(move), state.y)
            inside = (new >= state.low) & (new <= state.high)
            new = np.where(inside | ~np.isfinite(new), new, (state.low + state.high) / 2)
            state.failed = (~np.isfinite(move) & np.isfinite(state.y)).any(-1)
            score = np.where(np.isfinite(state.y), np.abs(new - state.y) / rate, 0.0)
            state.y = new
            settled = _SETTLED[self.rough] if step_number < most else _NEARLY_SETTLED
            if not (score > settled).any():
                break
        # A last step that is large says that the net one is small by chance.
        moved = np.maximum(np.abs(state.y - before) / rate, score)
        state.failed |= (score > _UNSETTLED).any(-1)
        moved = np.where(np.isfinite(state.y), moved, 0.0)
        moved = np.where((moved > _LOST) | state.failed[:, None] | np.isnan(moved), np.inf, moved)
        return moved, rate

    def _state_errors(self, state, last, rate, level, together):
        """
        State the errors, from this move and the last one; say which rows are good enough.

        In scores an error is twice Newton's move on this lattice, and at least an eighth of the
        move on the lattice before: to halve the step about squares the error, so that the next move
        would be far smaller. It is an estimate and not a bound; docs/background/quadrature.md says
        how it was tried.
        """
        fresh = state.fresh[:, None] & (level > 0)
        error = np.maximum(2 * state.last_move, np.where(np.isfinite(last), last / 8, np.inf))
        error = np.where(fresh | (level == 0), np.inf, error)
        if together:
            error = np.broadcast_to(error.max(-1, keepdims=True), error.shape)
        slope = np.exp(self.link.log_slope(np.where(np.isfinite(state.y), state.y, 0.0)))
        x = self.link.to_x(state.y)
        length = np.ptp(x, -1)[:, None] if together else np.inf
        size = np.minimum(length, np.maximum(1, np.abs(x)))
        in_x = np.where(np.isfinite(state.y), error * rate * slope, 0.0)
        in_x = np.where(np.isnan(in_x), np.inf, in_x)
        floor = _FLOOR[self.rough] * (size if together else rate * slope)
        # What is rounded to an end of the support is there.
        at_end = ((x <= self.link.low) | (x >= self.link.high)) & (in_x < np.spacing(1.0))
        at_end |= np.isinf(x)
        state.error = np.where(at_end | ~np.isfinite(state.y), 0.0, in_x + floor)
        good = (state.error <= self.accuracy * size) & ((error < _SMALL) | ~np.isfinite(state.y))
        state.error = np.where(state.error > 0, np.maximum(state.error, np.spacing(np.abs(x))), 0.0)
        return good.all(-1)


_DEGREES = 15, 11  # of the polynomial that log odds are read off where that is near enough


class _State:
    """What is known of the ends of m rows: y (m, Q) between two others, how far it moved, kinds."""

    _NAMES = "y", "low", "high", "last_move", "error", "kind", "several", "fresh", "failed"

    def __init__(self, size, count):
        self.y = np.zeros((size, count))
        self.low, self.high = np.full((2, size, count), np.inf)
        self.last_move = np.full((size, count), np.inf)
        self.error = np.full((size, count), np.inf)
        self.kind = np.zeros(size, int)
        self.several, self.fresh, self.failed = (np.zeros(size, bool) for _ in range(3))

    def take(self, index):
        part = _State(0, 0)
        for name in self._NAMES:
            setattr(part, name, getattr(self, name)[index])
        return part

    def put(self, index, part):
        for name in self._NAMES:
            getattr(self, name)[index] = getattr(part, name)


class _Quantiles:
    """The quantiles at normal scores z, (m, Q)."""

    is_shortest = False

    def __init__(self, z):
        self.z, self.count = z, z.shape[1]

    def take(self, index):
        return _Quantiles(self.z[index])

    def begin(self, state, curve, link, rows):
        """Read them off the quantile function."""
        state.y = np.where(rows[:, None], curve(self.z)[0], state.y)
        low, high = curve.neighbours(self.z)
        state.low = np.where(rows[:, None], low, state.low)
        state.high = np.where(rows[:, None], high, state.high)
        state.fresh = rows.copy()

    def step(self, state, masses, link):
        """Return Newton's step in the normal scale, and how far y moves with the score."""
        score, rate = masses.score, masses.rate
        bracketed = np.isfinite(state.low) & np.isfinite(state.high)
        state.low = np.where(bracketed & (score < self.z), state.y, state.low)
        state.high = np.where(bracketed & (score > self.z), state.y, state.high)
        # Without a density it goes to the middle.
        step = (self.z - score) * rate
        return np.where(bracketed & ~np.isfinite(step), np.inf, step), rate


class _Highest:
    """Both ends of the shortest interval of a mass."""

    is_shortest, count = True, 2

    def __init__(self, prob):
        self.prob = prob

    def take(self, index):
        return self

    def begin(self, state, curve, link, rows):
        """Choose a candidate: anew, or where another one is shorter than that at hand."""
        candidate = shortest_candidate(curve, link, self.prob)
        away = np.abs(
            np.where(np.isfinite(state.y), state.y, 0)
            - np.where(np.isfinite(candidate.ends), candidate.ends, 0)
        )
        rate = curve(np.broadcast_to([-1.0, 1.0], state.y.shape))[1]
        other = (candidate.kind != state.kind) | (away > _AHEAD * rate).any(-1)
        state.fresh = rows | other
        state.y = np.where(state.fresh[:, None], candidate.ends, state.y)
        state.kind = np.where(state.fresh, candidate.kind, state.kind)
        state.several = candidate.several

    def step(self, state, masses, link):
        """Return Newton's step of both ends, and how far they move with their scores."""
        score, rate = masses.score, masses.rate
        z = special.ndtri(self.prob)
        one_sided = (np.array([-z, z]) - score) * rate
        level = np.log(masses.density) - link.log_slope(state.y)
        slopes = masses.slope / masses.density - link.bend(state.y)
        excess = (1 - self.prob) - masses.below[:, 0] - masses.above[:, 1]
        gap = level[:, 1] - level[:, 0]
        ends = np.stack(both_ends(gap, excess, masses.density.T, slopes.T), -1)
        return np.where((state.kind == 0)[:, None], ends, one_sided), rate
