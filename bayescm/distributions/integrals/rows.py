"""Integrals over the outer variables of a quadrature, for some rows of a batch at a time."""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.hdi import Link
from bayescm.distributions.incomplete import Share, betainc, betaincc, logpdf, share_between

_REACH = 7.5  # of the normal scale: the mass beyond is 6e-14
_NEGLIGIBLE = 1e-16  # mass


class Grid(NamedTuple):
    """Equally spaced points of the normal scale: step, offset in steps, and whether to cut."""

    step: float
    cut: bool = False
    offset: float = 0.0

    def shifted(self):
        """Return the grid of the points in between."""
        return self._replace(offset=0.5)

    def rough(self):
        """Return a grid that is good for comparisons only."""
        return self._replace(step=max(2 * self.step, 0.5))

    def points(self):
        """Return points z and weights, (N,), of the trapezoidal rule for a standard normal."""
        count = int(_REACH / self.step)
        z = (np.arange(-count, count + 1) + self.offset) * self.step
        return z, self.step * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


# Tried in this order, for one and for two outer variables. A coarse grid over everything is enough
# unless a bound of the inner variable makes the integrand rough, which happens where counts are
# zero; it is cut there then.
_GRIDS = {
    0: (Grid(0.5),),
    1: (*map(Grid, (0.25, 0.125)), *(Grid(h, cut=True) for h in (0.25, 0.125, 0.0625))),
    2: (*map(Grid, (0.5, 0.25)), *(Grid(h, cut=True) for h in (0.5, 0.25, 0.125))),
}
_GOOD = 1e-9  # twice the error of a probability that needs no better grid
_ROUNDING = 1e-13  # of a bound
_COLUMNS = 4  # points at a time


class Rows:
    """
    m distributions, asked at points (m, P).

    Parameters
    ----------
    inverse : Inverse
        Where the measure takes a value.
    inner : Beta
        The distribution of the variable that is solved for, shape (m,).
    outer : tuple of Beta or PointMass
        The distributions of the others, shape (m,).
    forward : callable
        The measure as a function of shares of them all.
    choice : ndarray of int, shape (m,), optional
        Which grid each row needs, -1 where that is not known.
    """

    def __init__(self, inverse, inner, outer, forward, choice=None):
        self.inverse, self.inner, self.outer, self.forward = inverse, inner, outer, forward
        self.link = Link(*inverse.support)
        self.grids = _GRIDS[sum(isinstance(each, Beta) for each in outer)]
        self.choice = np.full(len(inner.a), -1) if choice is None else choice
        self.full = {}

    def take(self, index):
        """Return some of the rows."""
        if len(index) == len(self.choice):
            return self
        inner, *outer = (each.take(index) for each in (self.inner, *self.outer))
        return Rows(self.inverse, inner, tuple(outer), self.forward, self.choice[index])

    def probabilities(self, x, rough=False):
        """Return the distribution function and the density at x, (m, P), infinite ends allowed."""
        low, high = self.inverse.support
        self.choose(np.where((x > low) & (x < high), x, self.link.to_x(np.zeros(1))))
        below, density = np.empty(x.shape), np.empty(x.shape)
        for choice in np.unique(self.choice):
            index = np.flatnonzero(self.choice == choice)
            grid = self.grids[choice].rough() if rough else self.grids[choice]
            rows = self.take(index)
            for start in range(0, x.shape[1], _COLUMNS):
                part = index, slice(start, start + _COLUMNS)
                below[part], density[part] = rows.integrate(x[part], grid)
        return below, density

    def choose(self, x):
        """Find the first grid that is good enough at x, for the rows that have none yet."""
        for choice in range(len(self.grids)):
            index = np.flatnonzero(self.choice < 0)
            if not len(index):
                return
            gap = self.take(index).compare(x[index], self.grids[choice])[2]
            good = (gap < _GOOD).all(axis=-1) | (choice == len(self.grids) - 1)
            self.choice[index[good]] = choice

    def compare(self, x, grid):
        """Return distribution function and density, and how far another such grid is from them."""
        below, density = self.integrate(x, grid)
        return below, density, np.abs(below - self.integrate(x, grid.shifted())[0])

    def integrate(self, x, grid):
        """
        Return the distribution function and the density at x, (m, P).

        At the ends of the support they are 0 or 1, and 0: there is nothing to solve. A number that
        is nearer to an end than floats are apart is rounded to it, on the way to a quantile too.
        """
        low, high = self.inverse.support
        inside, at_or_above = (x > low) & (x < high), x >= high
        outer, weights = self.nodes(x, grid)
        shape = (-1,) + (1,) * (weights.ndim - 1)
        a, b = self.inner.a.reshape(shape), self.inner.b.reshape(shape)
        x = x.reshape(x.shape + (1,) * (weights.ndim - 2))
        tiny = 1e-30 * np.maximum(np.abs(x), 1e-100)
        with np.errstate(all="ignore"):
            t = self.inverse.solve(x + 1j * tiny, *outer)
            # Of the smaller side: where the other is next to 1, its imaginary part is rounding.
            slope = np.abs(np.where(t.v.real < t.c.real, t.v.imag, t.c.imag)) / tiny
            part, density = _at(a, b, Share(t.v.real, t.c.real))
            density = np.where(np.isfinite(density * slope), density * slope, 0.0)
        rising = self.inverse.increasing
        part = np.where(rising(x) if callable(rising) else rising, part, 1 - part)
        over = tuple(range(2, weights.ndim))
        below, density = (part * weights).sum(axis=over), (density * weights).sum(axis=over)
        return np.where(inside, below, at_or_above), np.where(inside, density, 0.0)

    def nodes(self, x, grid):
        """Return the outer variables and the weights, each with one axis more than the last."""
        outer: list[Any] = []
        weights = np.ones((1, 1))
        for level, cut in enumerate(self.inverse.cuts):
            with np.errstate(all="ignore"):
                cuts = cut(x, *outer) if grid.cut else []
            # Offsets that differ, or errors common to both variables would go unseen.
            own = grid._replace(offset=grid.offset / 2**level)
            share, weight = self.variable(level, cuts, weights, own)
            outer = [*(Share(v[..., None], c[..., None]) for v, c in outer), share]
            weights, x = weights[..., None] * weight, x[..., None]
        return outer, weights

    def variable(self, level, cuts, weights, grid):
        """Return the nodes of one outer variable, in pieces where it is cut."""
        distribution, shape = self.outer[level], (-1,) + (1,) * (weights.ndim - 1)
        if isinstance(distribution, PointMass):
            at = distribution.at.reshape(*shape, 1)
            return Share(at, 1 - at), np.ones(1)
        a, b = distribution.a.reshape(shape), distribution.b.reshape(shape)
        if cuts:
            a, b, *cuts, _ = np.broadcast_arrays(a, b, *cuts, weights)
            return pieces(a, b, cuts, grid)
        if (level, grid) not in self.full:
            self.full[level, grid] = whole(a, b, grid)
        return self.full[level, grid]

    def checked(self, x, q):
        """Return the errors of x as quantiles q, (m, P), and those of the masses below them."""
        self.choose(x)
        errors, masses = np.empty(x.shape), np.empty(x.shape)
        for choice in np.unique(self.choice):
            index = np.flatnonzero(self.choice == choice)
            near, density, gap = self.take(index).compare(x[index], self.grids[choice])
            masses[index] = np.maximum(gap, np.abs(near - q[index]))
            with np.errstate(all="ignore"):
                errors[index] = np.where(masses[index] < 1e-15, 0.0, masses[index] / density)
        return errors + _ROUNDING * np.abs(x), masses

    def quantiles(self, q):
        """Return the quantiles, (m, P); each row by the first grid that is good enough at them."""
        q = np.broadcast_to(q, (len(self.choice), np.shape(q)[-1]))
        y, index = self.newton(q, self.start(q), self.grids[0].rough()), np.arange(len(q))
        for choice, grid in enumerate(self.grids):
            rows = self.take(index)
            near = rows.newton(q[index], y[index], grid)
            below, density, gap = rows.compare(self.link.to_x(near), grid)
            move = self.link.step(near, q[index], below, density)[0]
            y[index] = near + np.where(np.abs(move) < 1e-3 * np.maximum(1, np.abs(near)), move, 0)
            good = (gap < _GOOD).all(axis=-1) | (choice == len(self.grids) - 1)
            done = index[good]
            self.choice[done] = np.maximum(self.choice[done], choice)
            index = index[~good]
            if not len(index):
                break
        return self.link.to_x(y)

    def newton(self, q, y, grid):
        """Come near the quantiles by Newton's method inside a bracket; one step more is enough."""
        low, high = np.full(q.shape, -600.0), np.full(q.shape, 600.0)
        for _ in range(100):
            below, density = self.integrate(self.link.to_x(y), grid)
            high, low = np.where(below >= q, y, high), np.where(below < q, y, low)
            move, known = self.link.step(y, q, below, density)
            inside = known & (y + move >= low) & (y + move <= high)
            new = np.where(inside, y + move, (low + high) / 2)
            moved, y = np.abs(new - y), new
            if (moved < 1e-4 * np.maximum(1, np.abs(y))).all():
                break
        return y

    def start(self, q):
        """Guess the quantiles from a few values of the measure, in the scale of the link."""
        values, weights = self.values(Grid(1.5))
        order = np.argsort(values, axis=-1)
        mass = np.take_along_axis(np.broadcast_to(weights, values.shape), order, -1)
        mass = np.cumsum(mass, axis=-1) - mass / 2
        y = self.link.to_y(np.take_along_axis(values, order, -1))
        return np.stack([np.interp(*each) for each in zip(q, mass, y, strict=True)])

    def values(self, grid):
        """Return the measure on a grid of all the variables, (m, N), and the weights (1, N)."""
        shares: list[Any] = []
        weights = np.ones(1)
        for level, distribution in enumerate((self.inner, *self.outer)):
            if isinstance(distribution, PointMass):
                at = distribution.at[:, None]
                node, rule = Share(at, 1 - at), np.ones(1)
            else:
                node, rule = whole(distribution.a, distribution.b, grid)
            node = Share(*(part.reshape(len(part), *[1] * level, -1) for part in node))
            shares = [*(Share(v[..., None], c[..., None]) for v, c in shares), node]
            weights = weights[..., None] * rule
        measured = self.forward(*shares)
        size = np.broadcast_shapes(*(share.v.shape for share in shares))
        flat = np.broadcast_to(measured, size).reshape(len(self.choice), -1)
        return flat, weights.reshape(1, -1)

    def moments(self):
        """Return mean, standard deviation and skewness, (m, 3)."""
        values, weights = self.values(Grid(0.5 if self.grids is _GRIDS[2] else 0.25))
        weights = np.where(np.isfinite(values), weights, 0.0)
        values = np.where(np.isfinite(values), values, 0.0)
        weights = weights / weights.sum(-1, keepdims=True)
        mean = (values * weights).sum(-1)
        gap = values - mean[:, None]
        second, third = (gap**2 * weights).sum(-1), (gap**3 * weights).sum(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.stack([mean, np.sqrt(second), third / second**1.5], -1)
        return found


def _at(a, b, t):
    """Return the mass of Beta(a, b) below t, and the density there, from the small side of t."""
    swapped = np.where(t.v == t.c, a > b, ~(t.v < t.c))
    first, other = np.where(swapped, b, a), np.where(swapped, a, b)
    v = np.clip(np.where(swapped, t.c, t.v), 0, 1)
    mass = betainc(first, other, v)
    density = np.where((t.v <= 0) | (t.c <= 0), 0.0, np.exp(logpdf(first, other, v)))
    return np.where(swapped, 1 - mass, mass), density


def whole(a, b, grid):
    """
    Return a share and weights over all of Beta(a, b): shapes (..., N) and (N,).

    The trapezoidal rule in the normal scale ``z = ndtri(cdf(v))``, whose error falls faster than
    any power of the step for integrands that are smooth there, whatever a and b are.
    """
    z, weights = grid.points()
    return share_between(a[..., None], b[..., None], special.ndtr(z), special.ndtr(-z)), weights


def pieces(a, b, cuts, grid):
    """
    Return a share and weights over Beta(a, b), cut where the integrand is not smooth.

    Parameters
    ----------
    a, b : ndarray, shape (...)
    cuts : list of ndarray, shape (...)
        Points; those outside (0, 1) do not cut.
    grid : Grid

    Returns
    -------
    Share of arrays (..., M), ndarray (..., M)
    """
    z, rule = grid.points()
    ends = [
        np.zeros(a.shape),
        *np.broadcast_arrays(*cuts, np.empty(a.shape))[:-1],
        np.ones(a.shape),
    ]
    ends = np.sort(np.clip(np.nan_to_num(np.stack(ends, -1)), 0, 1), axis=-1)
    below = betainc(a[..., None], b[..., None], ends)
    above = betaincc(a[..., None], b[..., None], ends)
    mass = np.where(below[..., :-1] < 0.5, np.diff(below), -np.diff(above))
    used = (mass > _NEGLIGIBLE).any(axis=tuple(range(mass.ndim - 1)))
    mass, low, high = mass[..., used], below[..., :-1][..., used], above[..., 1:][..., used]
    under = low[..., None] + mass[..., None] * special.ndtr(z)
    over = high[..., None] + mass[..., None] * special.ndtr(-z)
    share = share_between(a[..., None, None], b[..., None, None], under, over)
    flat = (*mass.shape[:-1], -1)
    weights = (mass[..., None] * rule).reshape(flat)
    return Share(*(each.reshape(flat) for each in share)), weights
