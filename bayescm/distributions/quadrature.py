"""
Distribution of a function of independent shares, by quadrature on a lattice of lines.

Let a number x depend on d independent shares v_i, such as the recall and the false positive rate.
Each share is a beta variable with the quantile function Q_i. On a scale y of x (`hdi.Link`),

    y = log_odds(v_1, ..., v_d),    v_i = Q_i(ndtr(z_i)),    z ~ N(0, I).

Each measure defines ``log_odds`` only once, as ``log(above / below)`` of its odds in
`bayescm.measures.odds`. No digits are lost near the ends of the range. A line in the direction u =
(+-1, ..., +-1) / sqrt(d) is z = w + s u, with s ~ N(0, 1) and w in the plane across it. On the
line, y is a function of s alone. It takes the value y at scores s_j(y, w), rising or falling, so
that

    F(y)   = E_w[ sum_j sign_j ndtr(s_j) ],
    F'(y)  = E_w[ sum_j phi(s_j) / |dy/ds| ],
    F''(y) = -E_w[ sum_j sign_j phi(s_j) (s_j + (d2y/ds2) / (dy/ds)) / (dy/ds)**2 ].

Every measure of two classes is monotone in its shares, except for MCC and Cohen's kappa in the
prevalence (see the last paragraph). With the signs of u chosen accordingly, y rises along every
line and each line has one crossing. The level sets of y are graphs over the plane with a slope of
at most 1, whatever the counts. The integrand is therefore smooth and its weight is Gaussian. The
trapezoidal rule, which is a lattice of lines, converges geometrically: halving the step roughly
squares the error (Trefethen & Weideman 2014).

Integrating exactly along one direction is known as pre-integration (Griewank et al. 2018). The
gradient would be a slightly better direction than a diagonal. The diagonal, however, puts all
points of all lines on one grid of scores, so each share is inverted at only 20 to 100 scores.

All crossings are counted, so y need not be monotone. If it is not, convergence is only algebraic,
and the stated error is larger accordingly. It is better to keep a share in which y is not monotone
out of the lines: as the outer share, it has separate nodes.

`newton` computes quantiles, intervals and their errors on these lattices.

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

from bayescm.distributions import newton
from bayescm.distributions.base import (
    MANY,
    PROBABILITY_ACCURACY,
    Distribution,
    check_interval,
    default_accuracy,
)
from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.hdi import Link
from bayescm.distributions.incomplete import Share, log_odds, near_log_odds


@dataclass(frozen=True, eq=False)
class FunctionOfShares(Distribution):
    """
    Distribution of a function of independent shares.

    Attributes
    ----------
    shares : tuple of Beta or PointMass, shape (...)
        Distributions of the shares. A point mass is a known number.
    log_odds : callable
        ``log_odds(*shares)`` returns the number on the scale of the link. Each argument is a
        `Share` whose parts are arrays or a `LogNumber`. The result is monotone in every share that
        is not ``outer`` or ``kinked``.
    support : pair of float or ndarray
        Smallest and largest value.
    outer : int, optional
        Index of a share in which the number is not monotone. It has separate nodes.
    kinked : tuple of int, optional
        Indices of shares in which the number is monotone only on either side of 1/2, where it may
        have a kink. Both sides have separate lattices.
    power_moment : callable, optional
        Function ``power_moment(k, *shares)`` that returns E x**k. It is needed if this moment may
        be infinite. If it returns NaN, the lattice is used.
    accuracy : float, optional
        Maximum numerical error of an end, relative to the length of the interval or to ``max(1,
        end)``, whichever is smaller. The default is 1e-4, and 1e-3 for more than 1,000
        distributions. For a quantile, it is relative to four times its standard deviation dx/dz.
        For up to 1,000 distributions, probabilities and densities are at least as accurate as with
        a value of 1e-6.
    share_error : float, optional
        Error of an end due to the shares themselves, relative to the length of the interval. No end
        is computed more accurately.

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
    kinked: tuple[int, ...] = ()
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
        return self._elementwise(lambda rows, x: rows.probabilities(x)[0], x, self._exact_rows)

    def sf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[1], x, self._exact_rows)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[2], x, self._exact_rows)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, q: newton.quantiles(rows, q)[0], q, self._rows)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[3], x, self._exact_rows)

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
            parts = [newton.interval(rows, prob, kind) for rows in self._rows()]
            ends, errors, kinds = (np.concatenate(part) for part in zip(*parts, strict=True))
            pair = *self.shape, 2
            self._found[prob, kind] = (
                ends.reshape(pair),
                errors.reshape(pair),
                kinds.reshape(self.shape),
            )
        return self._found[prob, kind]

    def _elementwise(self, function, points, every_rows):
        """Apply a function of rows and points (m, P) to points that broadcast with the batch."""
        points = np.asarray(points, float)
        shape = np.broadcast_shapes(points.shape, self.shape)
        flat = np.broadcast_to(points, shape).reshape(-1, self._size).T
        values, start = np.empty(flat.shape), 0
        for rows in every_rows():
            part = slice(start, start + rows.size)
            values[part], start = function(rows, flat[part]), part.stop
        return values.T.reshape(shape)[()]

    def _rows(self) -> "Iterator[Rows]":
        """Yield the rows of up to `MANY` members at a time, which are cached for small batches."""
        if self._size <= MANY:
            yield self._all_rows
            return
        for start in range(0, self._size, MANY):
            part = self.take(np.arange(start, min(start + MANY, self._size)))
            yield Rows(replace(part, accuracy=self._tolerance))

    def _exact_rows(self) -> "Iterator[Rows]":
        """Yield rows for probabilities, which are more accurate unless the batch is large."""
        if self._size > MANY:
            yield from self._rows()
        else:
            yield self._all_exact_rows

    @cached_property
    def _all_rows(self):
        return Rows(self.take(np.arange(self._size)))

    @cached_property
    def _all_exact_rows(self):
        if self._tolerance <= PROBABILITY_ACCURACY:
            return self._all_rows
        return Rows(replace(self._all_rows.distribution, accuracy=PROBABILITY_ACCURACY))


def _flat(share, shape):
    if share.shape == shape:
        return share
    if not isinstance(share, Beta | PointMass):
        raise ValueError(f"shares of one shape are needed, not {share.shape} in {shape}")
    if isinstance(share, PointMass):
        return PointMass(np.broadcast_to(share.at, shape))
    return Beta(np.broadcast_to(share.a, shape), np.broadcast_to(share.b, shape))


def _with_powers(moments, powers):
    """Return mean, sd and skewness, (m, 3), with known or infinite values filled in."""
    first, second, third = (np.ravel(power) + np.zeros(len(moments)) for power in powers)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.where(np.isnan(first), moments[:, 0], first)
        sd = np.where(np.isinf(second), np.inf, moments[:, 1])
        skewness = np.where(np.isinf(third) | np.isinf(second), np.nan, moments[:, 2])
        finite = ~np.isnan(second) & ~np.isinf(second)
        spread = np.sqrt(np.maximum(second - first**2, 0))
        # A difference of squares is accurate unless the spread is small compared with the mean.
        sd = np.where(finite & (spread > 1e-3 * np.abs(first)), spread, sd)
    return np.stack([mean, sd, skewness], -1)


_GREATEST_LOG = 600.0  # bound of logs, so that exp stays finite


def difference(first: Any, second: Any) -> FunctionOfShares | None:
    """
    Return the distribution of first - second for independent numbers.

    Comparisons need probabilities too, so the interval uses the same lattices and accuracy.

    Parameters
    ----------
    first, second : Distribution, shape (...)
        Functions of one beta variable each (with ``image``), or functions of shares.

    Returns
    -------
    FunctionOfShares or None
        The distribution. None if one of them is neither, or if their shapes or ranges differ.
    """
    shares: list[Any] = []
    images: list[Callable] = []
    for number in (first, second):
        if number.image is not None:
            shares.append(Beta(*np.broadcast_arrays(*map(np.asarray, (number.a, number.b)))))
            images.append(number.image)
        elif isinstance(number, FunctionOfShares) and not number._varied:
            shares.append(QuantileShare(number))
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
        x, y = (np.exp(np.minimum(np.log(v.v) - np.log(v.c), _GREATEST_LOG)) for v in (t, f))
        return np.arcsinh(x - y)

    if np.isinf(high):
        return FunctionOfShares(
            tuple(shares), asinh, (-np.inf, np.inf), accuracy=PROBABILITY_ACCURACY
        )
    return FunctionOfShares(
        tuple(shares), log_odds, (low - high, high - low), accuracy=PROBABILITY_ACCURACY
    )


# Many distributions on lattices

_ROUGH = 1e-4  # with this tolerance or more, coarser lattices and fewer points are sufficient
_ARRAY = 2**14  # number of elements of an array, 128 kB, so that several fit into the cache
# Largest number of elements in the lattice of one row, which takes 16 MB and about one second.
# Larger lattices are not used; the error of the largest permitted one is stated.
_LARGEST_LATTICE = 2**21
# Largest log odds for plain floats, so that no product of four cells, e**-320, underflows.
_PLAIN = 80.0
# If the effect of the outer share on y exceeds this multiple of the other shares' total effect,
# lines run along the outer share as well.
_LEADS = 3.0
# Number of shares above which a polynomial gives the log odds for rough results.
_MANY_SHARES = 16
_DEGREES = 15, 11  # degrees of that polynomial, with errors of 5e-6 spreads up to scores of 6
# Normal scores at the middle of a share and around it, used to find the direction of y.
_PROBES = np.array([0.0, -4.0, -2.0, 2.0, 4.0])
_MOMENT_LEVELS = 6  # number of levels, enough for the moments of a number in a finite range
_LARGEST_CURVE = 2**21  # maximum number of elements of lattices for quantile functions of shares


class Rows:
    """
    m distributions, one per row, on lattices of several levels, with higher levels being finer.

    Methods accept points (m, P). The values of the last two levels are cached.

    Parameters
    ----------
    distribution : FunctionOfShares, shape (m,)
        Distributions of all rows.
    """

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
        self._values = {}

    def take(self, index):
        """Return some of the rows."""
        if len(index) == self.size:
            return self
        rows = Rows(replace(self.distribution.take(index), accuracy=self.accuracy))
        if rows.along == self.along:
            rows.signs = [sign[index] for sign in self.signs]
        return rows

    def parts(self, index, level, queries):
        """Split an index into parts with small temporary arrays."""
        numbers = self.points(level) * max(1, queries / 8)
        size = max(1, int(_ARRAY / numbers))
        return [index[start : start + size] for start in range(0, len(index), size)]

    def points(self, level):
        """Return the number of lattice points per row at a level, 0 if there is no such lattice."""
        lines = self.lattice(level)
        halves = 2 ** len(self.distribution.kinked)
        return 0 if lines is None else halves * lines.grid_index[0].size

    def lattice(self, level):
        """Return the lattice of a level, starting at 0, or None."""
        finer = level + (not self.rough)
        return lattice(len(self.along), self.outer is not None, finer, self.rough)

    def values(self, level) -> "LineValues":
        """Return the values on the lattice of a level."""
        if level not in self._values:
            self._values[level] = LineValues(self, level)
            for coarse in [other for other in self._values if other < level - 1]:
                del self._values[coarse]
        return self._values[level]

    def evaluate(self, level):
        """Return a lattice, the values y on it (m, N, P), and the weights of its lines."""
        if self.distribution.kinked:
            return self._evaluate_halves(level)
        lines = self.lattice(level)
        shares = self.distribution.shares
        logs, index = [np.zeros(0)] * len(shares), [np.zeros((1, 1), int)] * len(shares)
        if self.outer is not None:
            nodes, node = np.unique(lines.outer, return_inverse=True)
            logs[self.outer] = self._log_odds_of([self.outer], nodes)[0]
            index[self.outer] = node[:, None]
        tables = self._log_odds_of(self.along, lines.grid)
        for position, (i, table) in enumerate(zip(self.along, tables, strict=True)):
            logs[i] = np.where(self.signs[position][:, None] > 0, table, table[:, ::-1])
            index[i] = lines.grid_index[position]
        for i, share in enumerate(shares):
            if isinstance(share, PointMass):
                logs[i] = special.logit(share.at)[:, None]
        y = self._y(logs, index)
        shape = self.size, *lines.grid_index.shape[1:]
        return lines, np.ascontiguousarray(np.broadcast_to(y, shape)), lines.weights[None]

    def _evaluate_halves(self, level):
        """Return the same as `evaluate`, for a share below 1/2 and above it, concatenated."""
        distribution, (kinked, *others) = self.distribution, self.distribution.kinked
        share = distribution.shares[kinked]
        values, weights = [], []
        for upper, mass in ((False, share.cdf(0.5)), (True, share.sf(0.5))):
            half = HalfShare(share, upper)
            shares = (*distribution.shares[:kinked], half, *distribution.shares[kinked + 1 :])
            rows = Rows(
                replace(distribution, shares=shares, kinked=tuple(others), accuracy=self.accuracy)
            )
            lines, y, line_weights = rows.evaluate(level)
            values.append(y)
            weights.append(mass[:, None] * line_weights)
        lines = lines._replace(first=np.tile(lines.first, 2))
        return lines, np.concatenate(values, 1), np.concatenate(weights, 1)

    def _y(self, logs, index):
        """Return y, given the log odds (m, G) of shares and an index into these for every point."""
        is_plain = all(np.abs(log).max() < _PLAIN for log in logs)
        shares = []
        for log, point in zip(logs, index, strict=True):
            if is_plain:
                shares.append(Share(*(special.expit(side)[:, point] for side in (log, -log))))
            else:
                sides = (special.log_expit(side)[:, point] for side in (log, -log))
                shares.append(Share(*map(LogNumber, sides)))
        with np.errstate(all="ignore"):
            return self.distribution.log_odds(*shares)

    def _log_odds_of(self, chosen, z):
        """Return the log odds (m, G) of some shares at scores (G,), with all betas in one call."""
        shares = [self.distribution.shares[i] for i in chosen]
        logs = [None if isinstance(share, Beta) else share.log_odds(z) for share in shares]
        betas = [k for k, share in enumerate(shares) if isinstance(share, Beta)]
        if betas:
            a, b = (np.array([getattr(shares[k], name) for k in betas], float) for name in "ab")
            if self.rough and a.size > _MANY_SHARES:
                tables = near_log_odds(a, b, z, _DEGREES)
            else:
                tables = log_odds(a[..., None], b[..., None], z)
            for k, table in zip(betas, tables, strict=True):
                logs[k] = table
        return logs

    @cached_property
    def _probes(self):
        """Log odds of all shares at `_PROBES`, (m, 5) each, or (m, 1) for point masses."""
        shares = self.distribution.shares
        free = [i for i, share in enumerate(shares) if not isinstance(share, PointMass)]
        tables = dict(zip(free, self._log_odds_of(free, _PROBES), strict=True))
        return [
            tables[i] if i in tables else special.logit(share.at)[:, None]
            for i, share in enumerate(shares)
        ]

    @cached_property
    def signs(self):
        """Direction in which y changes with each share along the lines, 1 or -1, (m,) each."""
        logs, signs = self._probes, []
        for i in self.along:
            index = [np.array([1, 4]) if k == i else np.zeros(1, int) for k in range(len(logs))]
            low, high = self._y(logs, index).T
            signs.append(np.where(high >= low, 1, -1))
        return signs

    def _is_led_by_outer(self, free):
        """
        Return True if y depends mainly on the outer share, and monotonically.

        As a function of the other shares, y is then nearly a step. Equidistant nodes of the outer
        share do not resolve it, whereas lines along that share find it exactly. All rows are tested
        together.
        """
        logs = self._probes
        middle = [np.zeros(1, int)] * len(logs)
        spans = {}
        for i in free:
            y = self._y(logs, [*middle[:i], np.arange(1, 5), *middle[i + 1 :]])
            steps = np.diff(y)
            spans[i] = np.abs(steps[:, 1])
            if i == self.outer and not ((steps > 0).all(-1) | (steps < 0).all(-1)).all():
                return False
        others = sum(span for i, span in spans.items() if i != self.outer)
        return bool((spans[self.outer] > _LEADS * others).all())

    def probabilities(self, x):
        """
        Return masses below and above x, the density, and the error of x as a quantile, (4, m, P).

        Lattices are refined until two of them agree.
        """
        y = self._to_y(x)
        answers = np.empty((4, *x.shape))
        unsettled, level = np.arange(self.size), 0
        # The error of a mass is about the square of the error of an end two lattices earlier.
        goal = max(1e-11, 1e-3 * self.accuracy**2) if not self.rough else 1e-5
        before = np.full((2, *x.shape), np.nan)
        while len(unsettled) and self.points(level):
            rest = []
            for part in self.parts(unsettled, level, x.shape[1]):
                masses = self.take(part).values(level).masses(y[part])
                below_and_density = np.stack([masses.below, masses.density])
                with np.errstate(all="ignore"):
                    move = np.abs(below_and_density - before[:, part])
                    move[1] *= masses.below * masses.above / np.maximum(masses.density, 1e-300)
                    dx_dy = np.exp(self.take(part).link.log_slope(y[part]))
                    density = masses.density / dx_dy
                    error = np.where(move[0] > 0, move[0] / density, 0.0)
                    error = error + np.spacing(np.abs(x[part]))
                answers[:, part] = np.stack([masses.below, masses.above, density, error])
                before[:, part] = below_and_density
                rest.append(part[~(move[0] < goal).all(-1)])
            unsettled = np.concatenate(rest)
            level += 1
        return self._at_ends(x, answers)

    def _to_y(self, x):
        return np.where(
            x <= self.link.low, -np.inf, np.where(x >= self.link.high, np.inf, self.link.to_y(x))
        )

    def _at_ends(self, x, answers):
        """Set the probabilities at the ends of the support and outside."""
        under, over = x <= self.link.low, x >= self.link.high
        below, above, density, error = answers
        below = np.where(under, 0.0, np.where(over, 1.0, below))
        above = np.where(under, 1.0, np.where(over, 0.0, above))
        density = np.where(under | over, 0.0, density)
        return np.stack([below, above, density, error])

    def moments(self):
        """Return mean, standard deviation and skewness, (m, 3), from two lattices that agree."""
        moments = np.full((self.size, 3), np.nan)
        unsettled, level = np.arange(self.size), 0
        goal = 1e-4 if self.rough else 1e-10  # in standard deviations
        while len(unsettled) and self.points(level) and level < _MOMENT_LEVELS:
            rest = []
            for part in self.parts(unsettled, level, 1):
                rows = self.take(part)
                with np.errstate(all="ignore"):
                    new = rows.values(level).moments(rows.link)
                    move = np.abs(new[:, :2] - moments[part, :2]).max(-1)
                    is_settled = move <= goal * np.where(new[:, 1] > 0, new[:, 1], 1.0)
                moments[part] = new
                rest.append(part[~is_settled])
            unsettled = np.concatenate(rest)
            level += 1
        return moments

    def quantile_function(self):
        """Return the quantile function from the first lattice that agrees with the previous one."""
        z = np.broadcast_to(np.linspace(-4, 4, 17), (self.size, 17))
        before, level = np.inf, 0
        while 0 < self.points(level) * self.size <= _LARGEST_CURVE:
            with np.errstate(all="ignore"):
                curve = self.values(level).quantile_function(_CLOSE_NODES)
                y, dy_dz = curve(z)
                if (np.abs(y - before) <= 1e-6 * dy_dz).all():
                    break
            before, level = y, level + 1
        return curve


# The lattice

_REACH = 7.5  # largest absolute z; the mass beyond is 6e-14
# Steps of z by level. The first level is used for rough results only. The number of points grows
# with the d-th power of the inverse step, so the step decreases more slowly in three dimensions.
# The steps of an outer share are refined further than the steps of the lines. Cohen's kappa needs
# this below the smallest value that some prevalences allow.
_STEPS = {
    (1, False): tuple(1 / (2**0.5) ** level for level in range(14)),
    (2, False): tuple(1 / (2**0.5) ** level for level in range(14)),
    (3, False): (0.82, 0.58, 0.47, 0.38, 0.29, 0.22, 0.17, 0.12, 0.085),
    (2, True): (1.0, 0.71, 0.5, 0.355, 0.25, 0.25, 0.1775, 0.1775, 0.1775, 0.1775),
}
_OUTER_STEPS = 1.4, 1.0, 0.7, 0.5, 0.35, 0.175, 0.125, 0.0625, 0.032, 0.016
_NEGLIGIBLE = {False: 1e-11, True: 1e-6}  # smallest weight of a line, for exact and rough results
# Lines are two steps of the scores apart. In tests on random tables, one step was hardly more
# accurate, and four steps were not accurate enough.
_APART = 2


class Lattice(NamedTuple):
    """
    Lines along the diagonal of d scores, each with some nodes of an outer score.

    Attributes
    ----------
    grid : ndarray, shape (G,)
        Scores of the shares.
    grid_index : ndarray of int, shape (d, N, P)
        Index into `grid` for each share at the points of every line.
    first, step : ndarray, shape (N,), and float
        Scores s along the lines: ``first + step * arange(P)``.
    weights : ndarray, shape (N,)
        Weights of the lines, which sum to 1.
    outer : ndarray, shape (N,)
        Scores of the outer share, NaN without one.
    """

    grid: np.ndarray
    grid_index: np.ndarray
    first: np.ndarray
    step: float
    weights: np.ndarray
    outer: np.ndarray


@cache
def lattice(d: int, outer: bool, level: int, rough: bool) -> Lattice | None:
    """
    Return the lattice of a level, or None if there is no lattice this fine.

    With a step g, the points of a line are z = 2 g (k_1, ..., k_{d-1}, 0) + g j (1, ..., 1). They
    are g sqrt(d) apart, at scores s = g (2 sum k + d j) / sqrt(d) along the line. The squared
    distance of the line from the origin is (2 g)**2 (sum k**2 - (sum k)**2 / d).
    """
    steps = _STEPS[d, outer]
    if level >= len(steps):
        return None
    g = steps[level]
    n = math.ceil(_REACH / g)
    k = np.array([(*ks, 0) for ks in product(range(-n, n + 1), repeat=d - 1)])
    square = (_APART * g) ** 2 * ((k**2).sum(-1) - k.sum(-1) ** 2 / d)
    weights, nodes, node_weights = np.exp(-square / 2), np.full(1, np.nan), np.ones(1)
    if outer:
        h = _OUTER_STEPS[level]
        nodes = h * np.arange(-math.floor(_REACH / h), math.floor(_REACH / h) + 1)
        node_weights = np.exp(-(nodes**2) / 2)
    line, node = np.nonzero(np.multiply.outer(weights, node_weights) > _NEGLIGIBLE[rough])
    k, weights = k[line], weights[line] * node_weights[node]
    step = g * math.sqrt(d)
    start = np.ceil((-_REACH / g * math.sqrt(d) - _APART * k.sum(-1)) / d).astype(int)
    size = math.floor(2 * _REACH / step) + 2
    if len(k) * size > _LARGEST_LATTICE:
        return None
    index = _APART * k.T[:, :, None] + start[:, None] + np.arange(size)
    return Lattice(
        g * np.arange(-n, n + 1),
        np.clip(index + n, 0, 2 * n),
        g * (_APART * k.sum(-1) + d * start) / math.sqrt(d),
        step,
        weights / weights.sum(),
        nodes[node],
    )


# Crossings of lines

_WINDOW = {False: 8, True: 6}  # number of points used to interpolate a line
# Number of Newton steps, enough for convergence to rounding error from a start on the chord.
_NEWTON_STEPS = {False: 3, True: 2}
# A polynomial is rejected if its slope differs from the slope of the chord by more than this
# factor, because it oscillates near kinks.
_SWING = 10.0


class Masses(NamedTuple):
    """Masses below and above y, the density F'(y), and its slope F''(y), (m, Q) each."""

    below: np.ndarray
    above: np.ndarray
    density: np.ndarray
    slope: np.ndarray

    @property
    def z(self) -> np.ndarray:
        """Standard normal score of y, computed from the smaller tail."""
        tail, is_lower = np.minimum(self.below, self.above), self.below < self.above
        z = special.ndtri(np.clip(tail, 0, 0.5))
        return np.where(is_lower, z, -z)

    @property
    def dy_dz(self) -> np.ndarray:
        """Derivative of y with respect to its normal score."""
        return _phi(self.z) / self.density


class LineValues:
    """
    Values of y on the lines of a lattice, for m rows.

    Attributes
    ----------
    lattice : Lattice
        Lattice of the lines.
    values : ndarray, shape (m, N, P)
        Values on N lines at P points each.
    weights : ndarray, shape (m, N) or (1, N)
        Weights of the lines, which sum to 1.
    rough, has_few_nodes : bool
        Whether the interpolation of lines uses fewer points, and the quantile function fewer nodes.
    """

    has_few_nodes = False

    def __init__(self, rows, level):
        self.rough, self.has_few_nodes = rows.rough, rows.rough and level < 2
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
        """Return the masses at y, (m, Q), as sums over all crossings; see the module docstring."""
        lines, n_points = self.lattice, self.values.shape[-1]
        under = self.values[:, None] <= y[:, :, None, None]
        line_of_query, point = divmod(
            np.flatnonzero(under[..., 1:] != under[..., :-1]), n_points - 1
        )
        flat_row, line = divmod(line_of_query, self.values.shape[1])
        row = flat_row // y.shape[1]
        # The polynomial through the points around a crossing, with t in steps from their middle.
        size = min(_WINDOW[self.rough], n_points)
        start = np.clip(point - size // 2 + 1, 0, n_points - size)
        of_line = (row * self.values.shape[1] + line) * n_points
        goal, values = y.ravel()[flat_row], self.values.ravel()
        window = values[of_line + start + np.arange(size)[:, None]] - goal
        left = values[of_line + point] - goal
        chord = values[of_line + point + 1] - goal - left
        to_coefficients, middle = _interpolation(size)
        coefficients = to_coefficients @ window
        low = point - start - middle
        t = low - left / chord
        for _ in range(_NEWTON_STEPS[self.rough]):
            value, slope = _horner(coefficients, t)
            t = np.clip(np.nan_to_num(t - value / slope, nan=0.0), low, low + 1)
        slope, bend = _horner(coefficients[1:] * np.arange(1, size)[:, None], t)
        trusted = (slope * chord > 0) & (np.abs(np.log(np.abs(slope / chord))) < np.log(_SWING))
        dy_ds = np.where(trusted, slope, chord) / lines.step
        d2y_ds2 = np.where(trusted, bend, 0.0) / lines.step**2
        s = lines.first[line] + lines.step * (start + middle + t)
        weight = self.weights[row if len(self.weights) > 1 else 0, line]
        # The direction of the crossing determines the sign.
        signed = np.where(left <= 0, weight, -weight)

        def total(terms):
            return np.bincount(flat_row, terms, y.size).reshape(y.shape)

        density = signed * _phi(s) / dy_ds
        # Mass of lines that end below y or begin above it, which no crossing accounts for.
        ends = np.einsum("mqn,mn->mq", under[..., -1], self.weights + 0 * self.values[:, :, 0])
        begins = np.einsum("mqn,mn->mq", ~under[..., 0], self.weights + 0 * self.values[:, :, 0])
        return Masses(
            np.clip(total(signed * special.ndtr(s)) + ends, 0, 1),
            np.clip(total(signed * special.ndtr(-s)) + begins, 0, 1),
            total(density),
            total(-density * (s + d2y_ds2 / dy_ds) / dy_ds),
        )

    @cached_property
    def point_weights(self):
        """Weights of all points, (m or 1, N, P), which sum to 1."""
        along = self.lattice.first[:, None] + self.lattice.step * np.arange(self.values.shape[-1])
        weights = self.weights[:, :, None] * np.exp(-(along**2) / 2)
        return weights / weights.sum((-2, -1), keepdims=True)

    def quantile_function(self, nodes: np.ndarray | None = None) -> "QuantileFunction":
        """Return the quantile function, accurate near the nodes z and cubic in between."""
        if nodes is None:
            nodes = _FEW_NODES if self.has_few_nodes else _NODES
        flat = self.values.reshape(len(self.values), -1)
        order = np.argsort(flat, -1)
        flat = np.take_along_axis(flat, order, -1)
        weights = self.point_weights.reshape(len(self.point_weights), -1)
        weights = np.take_along_axis(np.broadcast_to(weights, flat.shape), order, -1)
        mass = np.cumsum(weights, -1) - weights / 2
        q = special.ndtr(nodes)
        y = np.stack([np.interp(q, *of_row) for of_row in zip(mass, flat, strict=True)])
        return QuantileFunction(y, self.masses(y))

    def moments(self, link) -> np.ndarray:
        """Return mean, standard deviation and skewness, (m, 3)."""
        x = link.to_x(self.values.reshape(len(self.values), -1))
        weights = self.point_weights.reshape(len(self.point_weights), -1)
        mean = (x * weights).sum(-1, keepdims=True)
        second, third = (((x - mean) ** k * weights).sum(-1) for k in (2, 3))
        return np.stack([mean[:, 0], np.sqrt(second), third / second**1.5], -1)


@cache
def _interpolation(size):
    """Return the matrix from `size` values to polynomial coefficients, and the middle index."""
    middle = (size - 1) / 2
    return np.linalg.inv(np.vander(np.arange(size) - middle, increasing=True)), middle


def _phi(z):
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def _horner(coefficients, t):
    """Return the value and slope of a polynomial (K, n), in ascending powers, at t (n,)."""
    value, slope = coefficients[-1], np.zeros_like(t)
    for coefficient in coefficients[-2::-1]:
        slope = slope * t + value
        value = value * t + coefficient
    return value, slope


# Nodes z of quantile functions: for the start of one interval, for a number used as a share, and
# for the start of many rows.
_NODES = np.arange(-7.0, 7.01, 0.5)
_CLOSE_NODES = np.arange(-7.0, 7.01, 0.25)
_FEW_NODES = np.array([-6.0, -4.4, -3.2, -2.3, -1.5, -0.75, 0.0, 0.75, 1.5, 2.3, 3.2, 4.4, 6.0])
_OUT_OF_REACH = 40.0  # a z beyond all lattices


class QuantileFunction:
    """
    y as a function of z for m rows, by cubic Hermite interpolation between known masses.

    Parameters
    ----------
    y : ndarray, shape (m, K)
        Increasing points.
    masses : Masses
        Masses at y.
    """

    def __init__(self, y, masses):
        z, dy_dz = masses.z, masses.dy_dz
        valid = np.isfinite(z) & np.isfinite(dy_dz) & (dy_dz >= 0)
        # Invalid nodes are at the ends, and are moved out of reach.
        is_below = y <= np.take(y, y.shape[1] // 2, 1)[:, None]
        aside = np.where(is_below, -_OUT_OF_REACH, _OUT_OF_REACH)
        self.z = np.maximum.accumulate(np.where(valid, z, aside), 1)
        self.y, self.dy_dz = y, np.where(valid, dy_dz, 0.0)

    @property
    def reaches_far(self) -> bool:
        """Whether the nodes extend to z = 7, as they do for the start of a single interval."""
        return self.y.shape[1] == len(_NODES)

    def _left(self, z):
        """Return the index of the last node at or below z (m, Q)."""
        left = (self.z[:, None, :] <= z[:, :, None]).sum(-1) - 1
        return np.clip(left, 0, self.y.shape[1] - 2)

    def neighbours(self, z):
        """Return y at the nodes below and above z (m, Q)."""
        return [np.take_along_axis(self.y, self._left(z) + k, 1) for k in (0, 1)]

    def __call__(self, z):
        """Return y and dy/dz at z (m, Q)."""
        left = self._left(z)
        (z0, z1), (y0, y1), (r0, r1) = (
            [np.take_along_axis(values, left + k, 1) for k in (0, 1)]
            for values in (self.z, self.y, self.dy_dz)
        )
        with np.errstate(all="ignore"):
            gap = z1 - z0
            t = np.clip(np.where(gap > 0, (z - z0) / gap, 0.5), 0, 1)
            rise, r0, r1 = y1 - y0, r0 * gap, r1 * gap
            cubic, square = r0 + r1 - 2 * rise, 3 * rise - 2 * r0 - r1
            y = y0 + t * (r0 + t * (square + t * cubic))
            dy_dz = (r0 + t * (2 * square + 3 * t * cubic)) / gap
            chord = np.where(gap > 0, rise / gap, 0.0)
        return np.clip(y, y0, y1), np.where(dy_dz > 0, dy_dz, chord)


# Shares other than beta variables, and numbers outside the range of floats


@dataclass(frozen=True, eq=False)
class HalfShare:
    """Beta variable, conditional on being below 1/2 or above 1/2."""

    share: Beta
    upper: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return self.share.shape

    def log_odds(self, z: np.ndarray) -> np.ndarray:
        """Return the log odds (m, G) at normal scores (G,)."""
        share = self.share
        below, above = share.cdf(0.5)[:, None], share.sf(0.5)[:, None]
        under, over = special.ndtr(z), special.ndtr(-z)
        if self.upper:
            under, over = below + above * under, above * over
        else:
            under, over = below * under, above + below * over
        under, over = np.maximum(under, 1e-300), np.maximum(over, 1e-300)
        z_of_share = np.where(under < over, special.ndtri(under), -special.ndtri(over))
        return log_odds(np.asarray(share.a)[:, None], np.asarray(share.b)[:, None], z_of_share)


@dataclass(frozen=True, eq=False)
class QuantileShare:
    """
    Number with a known distribution, used as a share via its quantile function on a link scale.

    Attributes
    ----------
    distribution : FunctionOfShares, shape (...)
        Distribution on a range from 0 or -1 to 1, or from 0 to infinity. In the last case, the
        number is the odds of the share.
    """

    distribution: FunctionOfShares

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return self.distribution.shape

    def take(self, index: Any) -> "QuantileShare":
        """Return some members of the flat batch."""
        return QuantileShare(self.distribution.take(index))

    def log_odds(self, z: np.ndarray) -> np.ndarray:
        """Return the number on the scale of its link, (m, G), at normal scores (G,)."""
        curve = self._quantile_function
        return curve(np.broadcast_to(z, (len(curve.y), len(z))))[0]

    @cached_property
    def _quantile_function(self):
        return self.distribution._all_exact_rows.quantile_function()


class LogNumber(NDArrayOperatorsMixin):
    """
    Positive numbers represented by their logarithms, for values outside the range of floats.

    They support addition, multiplication, division, square roots and squares, as arrays do.
    Subtraction returns the absolute difference. ``np.log`` returns an array.

    Examples
    --------
    >>> tiny = LogNumber(np.array(-2000.0))
    >>> np.log((tiny + tiny) / tiny).round(4).item()
    0.6931
    """

    def __init__(self, log: np.ndarray):
        self.log = log

    def __array_ufunc__(self, ufunc: Any, method: str, *numbers: Any, **_: Any) -> Any:
        """Apply a numpy function in terms of logarithms."""
        logs = [n.log if isinstance(n, LogNumber) else np.log(n) for n in numbers]
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
