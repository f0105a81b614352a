"""
Distribution of a function of Dirichlet vectors with many cells, by pre-integration.

Let x = f(theta) be a number, with theta the cells of one Dirichlet vector or several independent
ones. With the largest parameter first, theta is a product of sticks,

    theta_k = v_k (1 - v_1) ... (1 - v_{k-1}),    v_k ~ Beta(a_k, a_{k+1} + a_{k+2} + ...),

which are independent beta variables (Connor & Mosimann 1969). Each one is the quantile of its
distribution at ``ndtr(z_k)``, with a standard normal score z_k. Hence x is a function of d
independent scores z, and

    P(x <= c) = E_w[ P(x(w + s u) <= c | w) ],

where u is a unit vector, s ~ N(0, 1) the score along it and w the scores across it. The inner
probability is known. Along a line, x is a smooth function of one variable, which is interpolated,
and all its crossings of c are counted with their sign. The remaining integral over w has a smooth
integrand although the indicator is not smooth. This is pre-integration (Griewank et al. 2018). The
integral is the mean over the points of a scrambled Sobol sequence (`quasi_random`).

The direction u is the leading eigenvector of E[g g'], with g the gradient of x in the scores. The
other eigenvectors are the axes across it, ordered by eigenvalue, so that the first coordinates of
the sequence matter most (active subspaces; Liu & Owen 2023). On the link scale of its range, x is
nearly linear unless there are very few examples, and few lines are enough.

Eight independent scramblings give eight estimates. The result uses their mean, and their spread
gives the error. Only values of the function are needed. The same algorithm therefore works for
every measure, for the difference of two classifiers on the same examples, and for custom functions.

References
----------
Connor, R. J. & Mosimann, J. E. (1969). Concepts of independence for proportions with a
generalization of the Dirichlet distribution. Journal of the American Statistical Association,
64(325), 194-206. doi:10.1080/01621459.1969.10500963
Griewank, A., Kuo, F. Y., Leovey, H. & Sloan, I. H. (2018). High dimensional integration of kinks
and jumps: smoothing by preintegration. Journal of Computational and Applied Mathematics, 344,
259-274. doi:10.1016/j.cam.2018.04.009
Liu, S. & Owen, A. B. (2023). Preintegration via active subspace. SIAM Journal on Numerical
Analysis, 61(2), 495-514. doi:10.1137/22M1479129
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.base import Distribution, check_interval
from bayescm.distributions.batches import Stack
from bayescm.distributions.hdi import INTERIOR, LOWER, SEVERAL_MODES, UPPER, both_ends
from bayescm.distributions.incomplete import log_odds
from bayescm.distributions.newton import shortest_candidate
from bayescm.distributions.quadrature import LineValues, Masses
from bayescm.distributions.quasi_random import even_normal

# With 1,024 lines, the ends of a 95% interval have errors of 1e-5 to 1e-4 of its length for
# hundreds of examples, and up to 1e-3 for twenty examples. Four times as many lines reduce the
# errors to a third to a tenth (tests/benchmarks/preintegration.py).
ACCURACY = 1e-4
SUFFICIENT = 1e-3  # for larger errors, draws are used: 50,000 draws have an error of 3e-3
MEMBERS = 8  # maximum batch size; each member takes 0.1 to 0.5 s
# Maximum number of sticks, enough for two classifiers with three classes; more are slow.
SHARES = 26
_LINES = 2**7, 2**9, 2**10, 2**11  # lines per scrambling
# Largest number of lines per scrambling times the number of shares, if 4,096 lines in total are not
# enough. A call then takes half a second.
_MOST = 2**14


@dataclass(frozen=True, eq=False)
class FunctionOfDirichlet(Distribution):
    """
    Distribution of a function of independent Dirichlet vectors.

    Attributes
    ----------
    parameters : sequence of ndarray, shape (K_i,)
        Parameters >= 0 of each Dirichlet vector. A cell with parameter 0 is 0.
    function : callable
        Maps cells (m, K_1 + K_2 + ...), with one vector after the other, to numbers (m,).
    support : pair of float
        Smallest and largest value.
    totals : sequence of float, optional
        Sum of the cells of each vector. The default is 1.
    accuracy : float, optional
        Acceptable numerical error of the ends of a 95% interval, relative to its length. The
        default is 1e-4. With an explicit value, up to four times as many lines are used.

    Raises
    ------
    UndefinedOnLine
        If the function is 0/0, constant, or outside its support anywhere on the lines.

    Examples
    --------
    >>> right = lambda cells: cells[:, 0] + cells[:, 3]
    >>> distribution = FunctionOfDirichlet([np.array([65.5, 15.5, 35.5, 30.5])], right, (0.0, 1.0))
    >>> distribution.eti(0.95).round(4), distribution.how
    (array([0.5745, 0.7276]), 'pre-integration')
    """

    how = "pre-integration"
    shape = ()
    parameters: Sequence[np.ndarray]
    function: Callable
    support: tuple[float, float] = (0.0, 1.0)
    totals: Sequence[float] | np.ndarray | None = None
    accuracy: float | None = None

    def with_tolerance(self, accuracy: float) -> "FunctionOfDirichlet":
        return replace(self, accuracy=accuracy)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return self._at(x, lambda rows, slope: rows.below.mean(0), (0.0, 1.0))

    def sf(self, x: ArrayLike) -> np.ndarray:
        return self._at(x, lambda rows, slope: rows.above.mean(0), (1.0, 0.0))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return self._at(x, lambda rows, slope: np.maximum(rows.density.mean(0), 0) / slope, (0, 0))

    def error_at(self, x: ArrayLike) -> np.ndarray:
        def error(rows, slope):
            return standard_error(rows.below) * slope / rows.density.mean(0)

        return _CONFIDENCE * self._at(x, error, (0.0, 0.0))

    def _at(self, x, function, beyond):
        """Return a function of the masses at x, in parts, with fixed values outside the support."""
        x = np.asarray(x, float)
        y, (low, high) = self._link.to_y(x.ravel()), self.support
        values = np.empty(x.size)
        for start in range(0, x.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            with np.errstate(all="ignore"):
                rows = self._lines.masses_of_rows(y[part])
                values[part] = function(rows, self._link.slope(y[part]))
        values = values.reshape(x.shape)
        return np.select([x <= low, x >= high], beyond, values)[()]

    def quantile(self, q: ArrayLike) -> np.ndarray:
        q = np.asarray(q, float)
        z = np.clip(special.ndtri(q.ravel()), -_REACH + 1, _REACH - 1)
        x = self._link.to_x(self._lines.quantiles(z)[0]).reshape(q.shape)
        return np.select([q <= 0, q >= 1], self.support, x)[()]

    def eti(self, prob: float) -> np.ndarray:
        return self.interval_with_error(prob, "eti")[0]

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        ends, errors, _ = self._interval(prob, kind)
        return check_interval(ends, errors)

    def _highest(self, prob):
        ends, _, kind = self._interval(prob, "hdi")
        return ends, np.asarray(kind)

    def _interval(self, prob, kind):
        """Return the ends, their errors and the kind of an interval."""
        if (prob, kind) not in self._found:
            if kind == "eti":
                tail = special.ndtri((1 - prob) / 2)
                (y, error), name = self._lines.quantiles(np.array([tail, -tail])), INTERIOR
            else:
                y, error, name = self._lines.shortest_interval(prob)
            with np.errstate(over="ignore", invalid="ignore"):
                ends = self._link.to_x(y)
                errors = np.where(np.isfinite(y), error * self._link.slope(y), 0.0)
            self._found[prob, kind] = ends, errors + np.spacing(np.abs(ends)), name
        return self._found[prob, kind]

    def mean(self) -> np.ndarray:
        return self._moments[0]

    def sd(self) -> np.ndarray:
        return self._moments[1]

    def skewness(self) -> np.ndarray:
        return self._moments[2]

    @cached_property
    def _moments(self):
        return self._lines.whole.moments(self._link)[0]

    def expected_loss(self) -> np.ndarray:
        # The mean of max(0, -x) over all points. On each line, the kink is between two points.
        # Because the lines are staggered, its distance from them varies and the errors cancel.
        whole = self._lines.whole
        return (whole.point_weights * np.maximum(-self._link.to_x(whole.values), 0)).sum()

    @property
    def relative_error(self) -> float:
        """Error of the ends of the 95% equal-tailed interval, relative to its length."""
        return self._relative_error_on(self._lines)

    def _relative_error_on(self, lines):
        y, error = lines.quantiles(_SCORES_OF_95)
        with np.errstate(all="ignore"):
            relative = (error * self._link.slope(y)).max() / np.ptp(self._link.to_x(y))
        return float(np.nan_to_num(relative, nan=np.inf))

    @cached_property
    def _surface(self):
        return _Surface(_Sticks(self.parameters, self.totals), self.function, self._link)

    @cached_property
    def _lines(self):
        """Values on as many lines as the accuracy requires."""
        surface, axes = self._surface, self._surface.active_subspace()
        for size in _LINES:
            if size > _LINES[1] and self.accuracy is None and size * len(axes) > _MOST:
                break
            lines = surface.on_lines(axes, size)
            error = self._relative_error_on(lines)
            goal = SUFFICIENT if size >= _LINES[1] else ACCURACY
            if error <= (goal if self.accuracy is None else self.accuracy):
                break
        return lines


def preintegrated(
    parameters: Sequence[np.ndarray],
    function: Callable,
    support: tuple[float, float],
    *,
    totals: np.ndarray | None = None,
    classes: int | None = None,
) -> Distribution | None:
    """
    Return the distribution of a function of Dirichlet vectors, or None.

    The result is None, so that draws are used instead, in three cases:

    - There are too many cells or members of the batch.
    - The function is undefined, constant or outside its support with positive probability.
    - The error of a 95% interval of a member exceeds 1e-3 of its length.

    Parameters
    ----------
    parameters : sequence of V ndarrays, shape (..., K_i)
        Dirichlet parameters of each vector.
    function, support
        See `FunctionOfDirichlet`.
    totals : ndarray, shape (..., V), optional
        Sum of the cells of each vector.
    classes : int, optional
        Number of values of the function for each table, (m, C). None for a single value, (m,).

    Returns
    -------
    Distribution or None
        Distribution of shape (...) or (..., C).
    """
    batch = parameters[0].shape[:-1]
    shape = batch if classes is None else (*batch, classes)
    shares = sum(vector.shape[-1] - 1 for vector in parameters)
    if shares > SHARES or not 0 < math.prod(shape) <= MEMBERS:
        return None
    members = []
    for index in np.ndindex(shape):
        at = index[: len(batch)]
        of_class = function if classes is None else _component(function, index[-1])
        member = FunctionOfDirichlet(
            [vector[at] for vector in parameters],
            of_class,
            support,
            None if totals is None else totals[at],
        )
        try:
            if not (member.relative_error <= SUFFICIENT and _has_shortest(member)):
                return None
        except UndefinedOnLine:
            return None
        members.append(member)
    if not shape:
        return members[0]
    batch_of_members = np.empty(len(members), object)
    batch_of_members[:] = members
    return Stack(batch_of_members.reshape(shape))


def _has_shortest(distribution):
    """Return True if the shortest 95% interval has an error of at most 1e-3 of its length."""
    ends, errors, _ = distribution._interval(0.95, "hdi")
    return errors.max() <= SUFFICIENT * np.ptp(ends)


def joint_difference(first: Any, second: Any) -> Distribution | None:
    """
    Return the distribution of first - second for independent numbers, or None.

    If both are a `FunctionOfDirichlet`, the difference is a function of the cells of both.
    Otherwise, and in the cases listed in `preintegrated`, the result is None.
    """
    if not isinstance(first, FunctionOfDirichlet) or not isinstance(second, FunctionOfDirichlet):
        return None
    cells = sum(len(vector) for vector in first.parameters)

    def function(joint_cells):
        return first.function(joint_cells[:, :cells]) - second.function(joint_cells[:, cells:])

    vectors = [*first.parameters, *second.parameters]
    support = first.support[0] - second.support[1], first.support[1] - second.support[0]
    totals = [
        total
        for member in (first, second)
        for total in (np.ones(len(member.parameters)) if member.totals is None else member.totals)
    ]
    return preintegrated(vectors, function, support, totals=np.array(totals))


def _component(function, index):
    return lambda cells: function(cells)[:, index]


class UndefinedOnLine(ValueError):
    """Raised if a function is 0/0, constant or outside its support with positive probability."""


# From scores to cells, and to function values

_STEP_OF_TABLE = 0.25  # distance between the knots of the spline for the log odds, in scores
_FINE = 256  # points per score in the table computed from the spline
_RANGE = 8.0  # largest score in the table
_LEAST = 1e-75  # smallest cell, so that products of four do not underflow to 0/0


class _Sticks:
    """Cells as products of sticks, with tables of their log odds by normal score."""

    def __init__(self, parameters, totals):
        self.totals = np.ones(len(parameters)) if totals is None else totals
        self.size, self.orders, first, rest = 0, [], [], []
        for vector in parameters:
            order = np.argsort(-np.asarray(vector), kind="stable")[: np.count_nonzero(vector)]
            ordered = np.asarray(vector, float)[order]
            first.append(ordered[:-1])
            rest.append(np.cumsum(ordered[::-1])[::-1][1:])
            self.orders.append(self.size + order)
            self.size += len(vector)
        a, b = np.concatenate(first), np.concatenate(rest)
        self.count = len(a)
        if not self.count:  # the cells are constant
            raise UndefinedOnLine
        # scipy.interpolate is slow to import, and quick commands do not need it.
        from scipy.interpolate import CubicSpline

        grid = np.arange(-_RANGE, _RANGE + _STEP_OF_TABLE, _STEP_OF_TABLE)
        spline = CubicSpline(grid, log_odds(a[:, None], b[:, None], grid), axis=1)
        self.table = spline(np.arange(2 * _RANGE * _FINE + 1) / _FINE - _RANGE)

    def cells(self, scores: Callable[[int], np.ndarray], size: int) -> np.ndarray:
        """Return cells (m, K), given a function that returns the scores (m,) of each stick."""
        cells, k = np.zeros((self.size, size)), 0
        for order, total in zip(self.orders, self.totals, strict=True):
            rest = np.asarray(total)
            for cell in order[:-1]:
                log = self._log_odds(k, scores(k))
                cells[cell] = np.maximum(rest * special.expit(log), _LEAST)
                rest, k = rest * special.expit(-log), k + 1
            cells[order[-1]] = np.maximum(rest, _LEAST)
        return cells.T

    def _log_odds(self, k, z):
        """Return the log odds of a stick by linear interpolation in its table."""
        at = np.clip((z + _RANGE) * _FINE, 0, self.table.shape[1] - 2)
        left = at.astype(np.intp)
        low = self.table[k][left]
        return low + (at - left) * (self.table[k][left + 1] - low)


_REACH = 7.0  # largest score on a line in both directions; the mass beyond is 3e-12
# Distance between points of a line, in scores. Polynomials through eight points are accurate to
# 1e-6.
_STEP = 0.75
_DIFFERENCE = 0.02  # step of finite differences in scores, for gradients
_GRADIENTS = 2**5  # number of gradients per scrambling
_FLAT = 1e-5  # mass on which the function may be constant, because its ends are rounded
_ROUNDING = 1e-9  # tolerance for values outside the support


class _Surface:
    """A function of the normal scores of all sticks, on the scale of a link."""

    def __init__(self, sticks, function, link):
        self.sticks, self.function, self.link = sticks, function, link

    def _values(self, scores, shape):
        """Return values (shape), given a function that returns the scores of each stick."""
        cells = self.sticks.cells(lambda k: scores(k).ravel(), math.prod(shape))
        with np.errstate(all="ignore"):
            x = np.asarray(self.function(cells), float).reshape(shape)
        within = (x >= self.link.low - _ROUNDING) & (x <= self.link.high + _ROUNDING)
        if not within.all():  # NaN is not within either
            raise UndefinedOnLine
        return self.link.to_y(np.clip(x, self.link.low, self.link.high))

    def active_subspace(self):
        """Return an orthonormal basis (d, d), with the most influential direction first."""
        d = self.sticks.count
        z = normal_sobol(d, _GRADIENTS, seed=1).reshape(-1, d)
        moved = z + _DIFFERENCE * np.concatenate([np.eye(d), -np.eye(d)])[:, None]
        up, down = np.split(self._values(lambda k: moved[..., k], moved.shape[:2]), 2)
        gradient = (up - down) / (2 * _DIFFERENCE)
        axes = np.linalg.eigh(gradient @ gradient.T)[1][:, ::-1].T
        # The sign of an eigenvector is arbitrary and depends on the processor.
        greatest = np.abs(axes).argmax(-1)
        return axes * np.sign(axes[np.arange(d), greatest])[:, None]

    def on_lines(self, axes, size):
        """Return the values on `size` lines of each scrambling along the first axis."""
        across = normal_sobol(len(axes) - 1, size, seed=0) @ axes[1:]
        # Points of neighbouring lines are staggered by the golden section, so that interpolation
        # errors at kinks do not give a bias shared by all lines.
        first = -_REACH - _STEP * (np.arange(size) * (5**0.5 - 1) / 2 % 1)
        along = first[:, None] + _STEP * np.arange(int(2 * _REACH / _STEP) + 2)
        shape = *across.shape[:2], along.shape[1]
        values = self._values(lambda k: across[:, :, k, None] + axes[0, k] * along, shape)
        return Lines(values, first, self.link)


def normal_sobol(d: int, size: int, seed: int) -> np.ndarray:
    """
    Return eight scramblings of a Sobol sequence as standard normal scores.

    Parameters
    ----------
    d : int
        Dimension, which may be 0.
    size : int
        Number of points of each scrambling, a power of two.
    seed : int
        Seed of the scramblings.

    Returns
    -------
    ndarray, shape (8, size, d)
        Scores.
    """
    rngs = np.random.default_rng(seed).spawn(_SCRAMBLINGS)
    return np.stack([even_normal(size, d, rng) for rng in rngs])


# Queries of the lines

_SCRAMBLINGS = 8
_CONFIDENCE = 2.4  # standard errors for 95% confidence, by Student's t with 7 degrees of freedom
_SCORES_OF_95 = special.ndtri(np.array([0.025, 0.975]))
_NODES = np.arange(-6.0, 6.01, 0.75)  # nodes of the initial quantile function, in scores
_STEPS = 8  # maximum number of Newton steps
_SETTLED = 1e-6  # move in scores at which the iteration ends
# Interpolation error, as a fraction of the change with points twice as far apart. At a kink it is
# 1/3. For a smooth function it is much smaller.
_INTERPOLATION = 1 / 3
_ASTRAY = 0.1  # relative to the length; larger moves from the initial ends indicate failure
_AT_ONCE = 32  # number of points at which the distribution function is evaluated at once


def standard_error(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean of independent estimates, along the first axis."""
    return values.std(axis=0, ddof=1) / len(values) ** 0.5


class _Grid(NamedTuple):
    """Scores along lines: ``first + step * arange(P)``."""

    first: np.ndarray
    step: float


class _OnLines(LineValues):
    """Values (m, N, P) on lines of equal weight, with masses, quantiles and moments of m rows."""

    rough = False

    def __init__(self, values, first, step):
        self.values, self.lattice = values, _Grid(first, step)
        self.weights = np.full((1, values.shape[1]), 1 / values.shape[1])


class Lines:
    """
    Values of a function on lines, for eight scramblings and for all of them together.

    Parameters
    ----------
    values : ndarray, shape (8, N, P)
        Values on the scale of the link.
    first : ndarray, shape (N,)
        Score of the first point of each line.
    link : Link
        Link between y and x.
    """

    def __init__(self, values, first, link):
        self.link = link
        self.rows = _OnLines(values, first, _STEP)
        # Results from every other point of each line reveal the interpolation error.
        flat, starts = values.reshape(1, -1, values.shape[-1]), np.tile(first, len(values))
        self.whole = _OnLines(flat, starts, _STEP)
        self.halved = _OnLines(np.ascontiguousarray(flat[..., ::2]), starts, 2 * _STEP)
        flat_steps = (np.diff(flat[0], axis=-1) == 0) * self.whole.point_weights[0, :, 1:]
        if flat_steps.sum() > _FLAT:
            raise UndefinedOnLine
        with np.errstate(all="ignore"):
            self.quantile_function = self.whole.quantile_function(_NODES)

    def masses_of_rows(self, y: np.ndarray) -> Masses:
        """Return the masses of every scrambling at y (Q,), (8, Q) each."""
        return self.rows.masses(np.broadcast_to(y, (len(self.rows.values), len(y))))

    def quantiles(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return y at normal scores (Q,), and the errors."""

        def move(masses, pooled, y):
            return (special.ndtr(z) - masses.below) / pooled.density

        return self._newton(self.quantile_function(z[None])[0][0], move)

    def shortest_interval(self, prob: float) -> tuple[np.ndarray, np.ndarray, str]:
        """Return the ends y (2,) of the shortest interval, their errors and its kind."""
        with np.errstate(all="ignore"):
            candidate = shortest_candidate(self.quantile_function, self.link, prob)
        kind = int(candidate.kind[0])
        name = SEVERAL_MODES if candidate.several[0] else (INTERIOR, LOWER, UPPER)[kind]
        if kind:  # the interval starts at the lower end of the support, or stops at the upper one
            z = special.ndtri(prob) * (1 if kind == 1 else -1)
            (y,), (error,) = self.quantiles(np.array([z]))
            if kind == 1:
                return np.array([-np.inf, y]), np.array([0.0, error]), name
            return np.array([y, np.inf]), np.array([error, 0.0]), name

        def move(masses, pooled, y):
            # The log density of x, log F'(y) - log dx/dy, and its slope in y. For a single
            # scrambling, it is linearised around the pooled density.
            log_density = np.log(pooled.density) - self.link.log_slope(y)
            log_density = log_density + (masses.density - pooled.density) / pooled.density
            slopes = pooled.slope[0] / pooled.density[0] - self.link.bend(y)
            # F(y2) - F(y1) - prob, and the difference of the log densities.
            excess = masses.below[:, 1] - masses.below[:, 0] - prob
            gap = log_density[:, 1] - log_density[:, 0]
            return np.stack(both_ends(gap, excess, pooled.density[0], slopes), axis=-1)

        y, error = self._newton(candidate.y[0], move)
        is_near = np.abs(y - candidate.y[0]) < _ASTRAY * (candidate.y[0, 1] - candidate.y[0, 0])
        if np.isfinite(error).all() and is_near.all():
            return y, error, name
        # If the density is rough, its slope is noisy and Newton's method may diverge.
        with np.errstate(all="ignore"):
            of_rows = shortest_candidate(self.rows.quantile_function(_NODES), self.link, prob).y
        return candidate.y[0], _CONFIDENCE * standard_error(of_rows), name

    def _newton(self, y, move):
        """
        Return the points (Q,) at which `move` is 0, and their errors.

        ``move(masses, pooled, y)`` returns Newton's step (..., Q) from y, given some masses and the
        pooled masses of all lines for the slopes. The steps of the single scramblings estimate the
        error.
        """
        with np.errstate(all="ignore"):
            for _ in range(_STEPS):
                rows = self.masses_of_rows(y)
                pooled = Masses(*(masses.mean(0, keepdims=True) for masses in rows))
                dy_dz = pooled.dy_dz[0]
                step = np.clip(move(pooled, pooled, y)[0], -dy_dz, dy_dz)
                if not (np.abs(step) > _SETTLED * dy_dz).any():
                    break
                y = y + step
            error = _CONFIDENCE * standard_error(move(rows, pooled, y))
            halved = self.halved.masses(y[None])
            return y, error + _INTERPOLATION * np.abs(move(halved, pooled, y)[0])
