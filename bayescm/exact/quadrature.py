"""Laws by quadrature: integrals over one or two beta variables, with an estimate of their error."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.exact.incomplete import betainc, logpdf
from bayescm.exact.inverses import Inverse
from bayescm.exact.laws import Beta, Continuous, PointMass
from bayescm.exact.levels import ONE_INTERVAL, highest
from bayescm.exact.nodes import Grid, Share, pieces, whole

# Tried in this order. A coarse grid over everything is enough unless a bound of the inner variable
# makes the integrand rough, which happens where counts are zero; it is cut there then.
_GRIDS = {
    0: (Grid(0.5),),
    1: (*map(Grid, (0.5, 0.25, 0.125)), *(Grid(h, cut=True) for h in (0.5, 0.25, 0.125, 0.0625))),
    2: (*map(Grid, (0.5, 0.25)), *(Grid(h, cut=True) for h in (0.5, 0.25, 0.125))),
}
_GOOD = 1e-9  # twice the error of a probability that needs no better grid
_ROOM = 400_000  # numbers in a temporary array


@dataclass(frozen=True, eq=False)
class Quadrature(Continuous):
    """
    The law of a measure that is monotone in a beta variable t, given other beta variables.

    Attributes
    ----------
    inverse : Inverse
        Where the measure takes a value.
    inner : Beta, shape (...)
        The law of t.
    outer : tuple of Beta or PointMass, shape (...)
        The laws of the other variables.
    forward : callable
        ``forward(t, *outer)``, shares in, the measure out: for the moments.
    """

    how: ClassVar[str] = "quadrature"
    inverse: Inverse
    inner: Beta
    outer: tuple[Beta | PointMass, ...]
    forward: Callable

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch."""
        return np.shape(self.inner.a)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        return self._elementwise(lambda rows, x: rows.probabilities(x)[0], x)

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        return 1 - self.cdf(x)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x."""
        return self._elementwise(lambda rows, x: rows.probabilities(x)[1], x)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point below which lies the mass q."""
        return self._elementwise(lambda rows, q: rows.quantiles(q), q)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the estimated error of a quantile that came out as x: of two grids of nodes."""
        return self._elementwise(lambda rows, x: rows.errors(x), x)

    def eti(self, prob: float) -> np.ndarray:
        """Return the equal-tailed interval, shape (..., 2)."""
        tails = np.array([(1 - prob) / 2, (1 + prob) / 2])
        return self._by_rows(lambda rows: rows.quantiles(tails[None]), 2)

    def hdi(self, prob: float) -> np.ndarray:
        """Return the interval of highest density, shape (..., 2)."""
        return self._highest(prob)[0]

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return what kind of interval `hdi` is."""
        return self._highest(prob)[1]

    def mode(self) -> np.ndarray:
        """Return the mode, NaN where there is more than one local maximum."""
        return self._by_rows(lambda rows: rows.modes())

    def mean(self) -> np.ndarray:
        """Return the mean, infinite where it is."""
        return self._moments[0]

    def sd(self) -> np.ndarray:
        """Return the standard deviation, infinite where it is."""
        return self._moments[1]

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment, NaN where the third moment is infinite."""
        return self._moments[2]

    @cached_property
    def _moments(self):
        found = self._by_rows(lambda rows: rows.moments(), 3)
        return found[..., 0], found[..., 1], found[..., 2]

    @cached_property
    def _found(self):
        return {}

    def _highest(self, prob):
        if prob not in self._found:
            kinds = []

            def ends_of(rows):
                ends, kind = highest(rows, prob)
                kinds.append(kind)
                return ends

            ends = self._by_rows(ends_of, 2)
            self._found[prob] = ends, np.concatenate(kinds).reshape(self.shape)
        return self._found[prob]

    def _elementwise(self, function, x):
        """Apply a function of rows and (rows, points) to points that broadcast with the batch."""
        x = np.asarray(x, float)
        shape = np.broadcast_shapes(x.shape, self.shape)
        if shape == self.shape:
            points = np.broadcast_to(x, shape).reshape(-1, 1)
            return self._by_rows(lambda rows, x: function(rows, x)[:, 0], points=points)
        points = np.broadcast_to(x, shape)
        wide = _take(self, lambda each: np.broadcast_to(each, shape))
        return wide._elementwise(function, points)

    def _by_rows(self, function, *trailing, points=None):
        """Apply a function to a few rows of the batch at a time, so that the memory stays small."""
        flat = _take(self, lambda each: np.reshape(each, -1))
        count = flat.inner.a.size
        size = max(1, _ROOM // (2 * 40 ** len(self._spread)))
        found = np.empty((count, *trailing))
        for start in range(0, count, size):
            part = slice(start, start + size)
            rows = _Rows(_take(flat, lambda each, part=part: each[part]))
            found[part] = function(rows) if points is None else function(rows, points[part])
        return found.reshape((*self.shape, *trailing))[()]

    @property
    def _spread(self):
        return [each for each in self.outer if isinstance(each, Beta)]


def _take(law, function):
    def each(beta):
        if isinstance(beta, PointMass):
            return PointMass(function(np.broadcast_to(beta.at, law.shape)))
        return Beta(function(np.asarray(beta.a, float)), function(np.asarray(beta.b, float)))

    outer = tuple(each(beta) for beta in law.outer)
    return Quadrature(law.inverse, each(law.inner), outer, law.forward)


class _Rows:
    """Some rows of a batch, (m,): integrals at points (m, P)."""

    def __init__(self, law):
        self.law, self.full = law, {}
        self.grids = _GRIDS[len(law._spread)]
        self.chosen = None  # the grid that was good enough for the last quantiles
        self.link = Link(*law.inverse.support)

    def take(self, index):
        """Return some of the rows."""
        if len(index) == len(self.law.inner.a):
            return self
        return _Rows(_take(self.law, lambda each: each[index]))

    def probabilities(self, x, grid=None):
        """Return the distribution function and the density at x, (m, P), infinite ends allowed."""
        low, high = self.law.inverse.support
        inside = (x > low) & (x < high)
        middle = self.link.to_x(np.zeros_like(x))
        if grid is None:
            grid = self.best_grid(np.where(inside, x, middle))
        below, density = self.integrate(np.where(inside, x, middle), grid)
        return np.where(inside, below, x >= high), np.where(inside, density, 0.0)

    def best_grid(self, x):
        """Return the first grid that is good enough at these points."""
        good = (grid for grid in self.grids[:-1] if self.gap(x, grid).max() < _GOOD)
        return next(good, self.grids[-1])

    def gap(self, x, grid):
        """Return how far two grids of the same step are apart: twice the error of each."""
        return np.abs(self.integrate(x, grid)[0] - self.integrate(x, grid.shifted())[0])

    def integrate(self, x, grid):
        """Return the distribution function and the density at x inside the support."""
        inverse, inner = self.law.inverse, self.law.inner
        outer, weights = self.outer(x, grid)
        shape = (-1,) + (1,) * (weights.ndim - 1)
        a, b = inner.a.reshape(shape), inner.b.reshape(shape)
        x = x.reshape(x.shape + (1,) * (weights.ndim - 2))
        tiny = 1e-30 * np.maximum(np.abs(x), 1e-100)
        with np.errstate(all="ignore"):
            t = inverse.solve(x + 1j * tiny, *outer)
            slope = np.abs(t.v.imag) / tiny
            part, density = _at(a, b, Share(t.v.real, t.c.real))
            density = np.where(np.isfinite(density * slope), density * slope, 0.0)
        rising = inverse.increasing
        part = np.where(rising(x) if callable(rising) else rising, part, 1 - part)
        over = tuple(range(2, weights.ndim))
        return (part * weights).sum(axis=over), (density * weights).sum(axis=over)

    def outer(self, x, grid):
        """Return the outer variables and the weights, each with an axis more than the one before."""
        outer, weights = [], np.ones((1, 1))
        for level, (beta, cut) in enumerate(
            zip(self.law.outer, self.law.inverse.cuts, strict=True)
        ):
            share, weight = self.variable(level, beta, lambda x=x, o=tuple(outer), c=cut: c(x, *o), weights, grid)
            outer = [Share(*(part[..., None] for part in before)) for before in outer] + [share]
            weights, x = weights[..., None] * weight, x[..., None]
        return outer, weights

    def variable(self, level, beta, cuts, weights, grid):
        """Return the nodes of one outer variable, cut in pieces where that matters."""
        shape = (-1,) + (1,) * (weights.ndim - 1)
        if isinstance(beta, PointMass):
            at = beta.at.reshape(*shape, 1)
            return Share(at, 1 - at), np.ones(1)
        a, b = beta.a.reshape(shape), beta.b.reshape(shape)
        with np.errstate(all="ignore"):
            cuts = cuts() if grid.cut else []
            if cuts and grid.cut:
                size = np.broadcast_shapes(weights.shape, *(np.shape(each) for each in cuts), a.shape)
                a, b = np.broadcast_to(a, size), np.broadcast_to(b, size)
                return pieces(a, b, cuts, grid)
        if (level, grid) not in self.full:
            self.full[level, grid] = whole(a, b, grid)
        return self.full[level, grid]

    def errors(self, x):
        """Return the estimated error of quantiles that came out as x, (m, P)."""
        grid = self.best_grid(x)
        gap, density = self.gap(x, grid), self.integrate(x, grid)[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap < 1e-15, 0.0, gap / density) + np.spacing(np.abs(x))

    def quantiles(self, q):
        """Return the quantiles, (m, P), by the first grid that is good enough at them."""
        q = np.broadcast_to(q, (len(self.law.inner.a), np.shape(q)[-1]))
        y = self.start(q)
        for self.chosen in self.grids:
            y = self.newton(q, y, self.chosen, 1e-4)
            if self.gap(self.link.to_x(y), self.chosen).max() < _GOOD:
                break
        return self.link.to_x(self.newton(q, y, self.chosen, 1e-12))

    def newton(self, q, y, grid, tolerance):
        """Solve for the quantiles: Newton's method in the normal scale, inside a bracket."""
        low, high = np.full(q.shape, -600.0), np.full(q.shape, 600.0)
        goal = special.ndtri(q)
        for _ in range(100):
            below, density = self.probabilities(self.link.to_x(y), grid)
            high, low = np.where(below >= q, y, high), np.where(below < q, y, low)
            known = (below > 1e-100) & (below < 1 - 1e-15)
            z = special.ndtri(np.where(known, below, 0.5))
            with np.errstate(all="ignore"):
                rate = density * self.link.slope(y) * np.sqrt(2 * np.pi) * np.exp(z**2 / 2)
                new = y - (z - goal) / rate
            inside = known & (new >= low) & (new <= high)
            new = np.where(inside, new, (low + high) / 2)
            moved, y = np.abs(new - y), new
            if (moved < tolerance * np.maximum(1, np.abs(y))).all():
                break
        return y

    def start(self, q):
        """Guess the quantiles from a few values of the measure, as log odds or logs."""
        values, weights = self.values(Grid(1.5))
        order = np.argsort(values, axis=-1)
        mass = np.take_along_axis(np.broadcast_to(weights, values.shape), order, -1)
        mass = np.cumsum(mass, axis=-1) - mass / 2
        y = self.link.to_y(np.take_along_axis(values, order, -1))
        return np.stack([np.interp(*each) for each in zip(q, mass, y, strict=True)])

    def values(self, grid):
        """Return the measure on a grid of all the variables, (m, N), and the weights."""
        shares, weights = [], np.ones(1)
        for beta in (self.law.inner, *self.law.outer):
            shares = [Share(*(part[..., None] for part in before)) for before in shares]
            if isinstance(beta, PointMass):
                node, rule = Share(beta.at[:, None], 1 - beta.at[:, None]), np.ones(1)
            else:
                node, rule = whole(beta.a, beta.b, grid)
            depth = len(shares)
            node = Share(*(part.reshape(len(part), *[1] * depth, -1) for part in node))
            shares, weights = [*shares, node], weights[..., None] * rule
        measured = self.law.forward(*shares)
        size = (len(measured), *np.broadcast_shapes(*(s.v.shape for s in shares))[1:])
        return np.broadcast_to(measured, size).reshape(len(measured), -1), weights.reshape(1, -1)

    def moments(self):
        """Return mean, standard deviation and skewness, (m, 3)."""
        values, weights = self.values(Grid(0.5))
        weights = np.where(np.isfinite(values), weights, 0.0)
        values = np.where(np.isfinite(values), values, 0.0)
        weights = weights / weights.sum(-1, keepdims=True)
        mean = (values * weights).sum(-1)
        gap = values - mean[:, None]
        second, third = (gap**2 * weights).sum(-1), (gap**3 * weights).sum(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.stack([mean, np.sqrt(second), third / second**1.5], -1)
        return found if self.law.inverse.moment is None else self.raw_moments(found)

    def raw_moments(self, found):
        """Take the moments in closed form, some of them infinite, unless digits would cancel."""
        raw = [self.law.inverse.moment(k, self.law.inner, *self.law.outer) for k in (1, 2, 3)]
        with np.errstate(invalid="ignore"):
            second = np.where(np.isinf(raw[1]), np.inf, raw[1] - raw[0] ** 2)
            third = raw[2] - 3 * raw[1] * raw[0] + 2 * raw[0] ** 3
            closed = np.stack([raw[0], np.sqrt(second), third / second**1.5], -1)
            narrow = second < 1e-4 * raw[0] ** 2
        finite = np.stack([np.isnan(moment) for moment in raw], -1)
        return np.where(narrow[:, None] | finite, found, closed)

    def modes(self):
        """Zoom in on the greatest density, (m,)."""
        low, high = self.law.inverse.support
        spread = self.quantiles(np.array([[0.001, *np.linspace(0.05, 0.95, 10), 0.999]]))
        ends = [np.full((len(spread), 1), low), np.full((len(spread), 1), min(high, 1e300))]
        x, rows = np.concatenate([ends[0], spread, ends[1]], -1), np.arange(len(spread))
        for _ in range(14):
            best = self.probabilities(x, self.chosen)[1].argmax(-1)
            left = x[rows, np.maximum(best - 1, 0)]
            right = x[rows, np.minimum(best + 1, x.shape[-1] - 1)]
            x = np.linspace(left, right, 9, axis=-1)
        mode, scale = x[:, 4], 1e-8 * (spread[:, -1] - spread[:, 0])
        mode = np.where(mode - low < scale, low, np.where(high - mode < scale, high, mode))
        return np.where(np.isin(highest(self, 0.95)[1], ONE_INTERVAL), mode, np.nan)


def _at(a, b, t):
    """Return the mass of Beta(a, b) below t, and the density there, from the small side."""
    swapped = a > b
    small, large = np.where(swapped, b, a), np.where(swapped, a, b)
    v = np.clip(np.where(swapped, t.c, t.v), 0, 1)
    mass = betainc(small, large, v)
    density = np.where((t.v <= 0) | (t.c <= 0), 0.0, np.exp(logpdf(small, large, v)))
    return np.where(swapped, 1 - mass, mass), density


class Link:
    """A scale y in (-inf, inf) for a measure in (low, high): log odds, or the log."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def to_x(self, y):
        """Return the measure."""
        if np.isinf(self.high):
            return self.low + np.exp(y)
        return self.low + (self.high - self.low) * special.expit(y)

    def to_y(self, x):
        """Return the scale, kept inside (-600, 600)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if np.isinf(self.high):
                y = np.log(x - self.low)
            else:
                y = np.log(x - self.low) - np.log(self.high - x)
        return np.clip(np.nan_to_num(y, nan=0.0), -600.0, 600.0)

    def slope(self, y):
        """Return dx/dy."""
        if np.isinf(self.high):
            return np.exp(y)
        return (self.high - self.low) * special.expit(y) * special.expit(-y)
