"""
The numbers of a quadrature, each by the first rung of the ladder that is good enough.

Every number is checked by the next rung, and what fails goes on to it. So each comes with an error
that is that of a rung coarser than its own.
"""

import numpy as np
from scipy import special

from bayescm.distributions.hdi import INTERIOR, LOWER, NOT_UNIMODAL, ONE_INTERVAL, UPPER
from bayescm.distributions.integrals import curves
from bayescm.distributions.integrals.drawn import TAIL
from bayescm.distributions.integrals.ladder import DRAWS, FINEST, Ladder

_MASS = {False: 1e-7, True: 2e-4}  # that of a distribution function, and by tables
_PROBED = np.array([[0.005, 0.5, 0.995]])
_ROUNDING = 1e-13  # of a bound
_LEVEL = 0.01  # of a log density
_ALONG = np.linspace(-3.5, 3.5, 8)[None]  # scores at which a density rises or falls


class Rungs(Ladder):
    """What is asked of m distributions, at points (m, P); parameters as of `Ladder`."""

    # Quantiles

    def quantiles(self, q):
        """Return the quantiles, (m, P)."""
        return self.equal_tailed(q)[0]

    def equal_tailed(self, q):
        """Return the quantiles and their errors, (m, P) each."""
        q = np.broadcast_to(q, (len(self.rung), np.shape(q)[-1]))
        inside = np.clip(q, 1e-300, 1 - 1e-16)
        size = q.shape[1]
        found = self.climb(
            lambda rows, index, level: rows.try_quantiles(inside[index], level),
            2 * size,
            size,
            self.start,
        )
        low, high = self.parts.support
        ends = np.where(q <= 0, low, np.where(q >= 1, high, found[:, :size]))
        return ends, np.where((q <= 0) | (q >= 1), 0.0, found[:, size:])

    def try_quantiles(self, q, level):
        """Return quantiles and errors, (m, 2P), by one rung, and whether they are good."""
        if level == DRAWS:
            found = [
                np.concatenate(each.quantiles(own))
                for each, own in zip(self.drawn(), q, strict=True)
            ]
            return np.array(found), np.ones(len(q), bool)
        rays = self.rays(level)
        y, scores = rays.quantiles(q)
        # The finest rays go by tables, and turn a little differently.
        near = (scores, rays.nodes) if level < FINEST - 2 else None
        return self.check(y, q, level, near=near)[:2]

    def check(self, y, q, level, exactly=False, near=None):
        """Return bounds and errors, (m, 2P), and whether finer rays have the same."""
        below, left, density = self.finer(level).masses(y, exactly, near)
        with np.errstate(all="ignore"):
            z = special.ndtri(below)
            gap, rate = special.ndtri(q) - z, np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / density
            move, x = gap * rate, self.link.to_x(y + gap * rate)
            # That two levels agree at one end may be chance.
            most = np.abs(gap).max(-1, keepdims=True) * rate + left / density
            error = np.maximum(*(np.abs(self.link.to_x(y + move + s * most) - x) for s in (-1, 1)))
            error = np.where(np.isinf(x), 0.0, error + _ROUNDING * np.abs(x))
            good = error <= self.accuracy * np.maximum(1, np.abs(x))
            good &= np.abs(below - q) <= TAIL * np.minimum(q, 1 - q)
            good = good.all(-1) & (np.diff(x[:, np.argsort(q[0])]) >= 0).all(-1)
        return np.concatenate([x, error], -1), good, y + move, density

    # Intervals

    def interval(self, prob, kind):
        """Return intervals (m, 2), their errors (m, 2) and their kinds (m,)."""
        if kind == "hdi":
            return self.highest(prob)
        tails = np.array([[(1 - prob) / 2, (1 + prob) / 2]])
        return *self.equal_tailed(tails), np.full(len(self.rung), "")

    def highest(self, prob):
        """Return intervals of highest density (m, 2), their errors (m, 2) and kinds (m,)."""
        kinds = np.full(len(self.rung), NOT_UNIMODAL, "<U15")

        def ask(rows, index, level):
            values, good, kinds[index] = rows.try_highest(prob, level)
            return values, good

        found = self.climb(ask, 4, 15, self.start)
        return found[:, :2], found[:, 2:], kinds

    def try_highest(self, prob, level):
        """Return ends and errors, (m, 4), whether they are good, and their kinds, by one rung."""
        if level == DRAWS:
            found = [np.concatenate(each.highest(prob)) for each in self.drawn()]
            return np.array(found), np.ones(len(found), bool), np.full(len(found), INTERIOR)
        curve = self.curves(level)
        kinds, tail = curve.shapes(), special.ndtri((1 - prob) / 2)
        z = np.where((kinds == INTERIOR)[:, None], curve.highest(prob), [tail, -tail])
        # Where there is one end only, a score beside it is asked too: see `check` on chance.
        single = special.ndtri(prob)
        z[kinds == LOWER] = single - 1, single
        z[kinds == UPPER] = -single, 1 - single
        inner = kinds == INTERIOR
        values, good, y, z, _ = self.level_off(curve.y(z), z, level, curve, inner)
        # The curve may be further from the rays than these are from finer ones; but few rays at
        # the first levels are near enough, and the next level is as fast.
        again = np.flatnonzero(inner & ~good & (level > 1))
        if len(again):
            rows, near = self.take(again), curve.take(again)
            values[again], good[again] = rows.confirmed(y[again], z[again], level, near)
        low, high = self.parts.support
        values[kinds == LOWER, 0], values[kinds == LOWER, 2] = low, 0.0
        values[kinds == UPPER, 1], values[kinds == UPPER, 3] = high, 0.0
        single = np.flatnonzero(good & np.isin(kinds, (LOWER, UPPER)))
        if len(single):
            some = curve.take(single).y(_ALONG)
            good[single] = self.take(single).is_one_sided(some, kinds[single] == UPPER, level)
        return values, good & np.isin(kinds, ONE_INTERVAL), kinds

    def is_one_sided(self, y, rising, level):
        """Say whether the density by finer rays rises, or else falls, all along y (m, P)."""
        with np.errstate(all="ignore"):
            log = np.log(self.finer(level).masses(y, True)[2]) - np.log(self.link.slope(y))
            steps = np.where(rising[:, None], 1, -1) * np.diff(log)
            return (steps > -_LEVEL).all(-1)

    def level_off(self, y, z, level, curve, inner):
        """
        Move both ends to where finer rays have equal densities; that is an error too.

        Returns ends and errors, (m, 4), whether they are good, the ends in the scale of the link
        and as scores, (m, 2) each, and how the former change with the latter.
        """
        values, good, there, density = self.check(y, special.ndtr(z), level, exactly=True)
        with np.errstate(all="ignore"):
            rate = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / density
            slope = curve.level(z)[1]
            log = np.log(density) - np.log(self.link.slope(y)) + slope * (there - y) / rate
            step = curves.split(log[:, 1] - log[:, 0], z, slope)[:, None]
            step = np.where(inner[:, None], step * np.exp((z**2 - z[:, :1] ** 2) / 2), 0.0)
            y = there + step * rate
            x = self.link.to_x(y)
            error = values[:, 2:] + np.abs(x - values[:, :2])
            right = (error <= self.accuracy * np.maximum(1, np.abs(x))).all(-1)
        return np.concatenate([x, error], -1), good & right, y, z + step, rate

    def confirmed(self, y, z, level, curve):
        """Return ends and errors, (m, 4), and whether rays of this and the next level agree."""
        inner = np.ones(len(y), bool)
        values, good, fine, _, rate = self.level_off(y, z, level, curve, inner)
        coarse = self.level_off(y, z, level - 1, curve, inner)[2]
        with np.errstate(all="ignore"):
            apart = (np.abs(coarse - fine) + np.abs(fine - y)) / rate
            most, x = apart.max(-1, keepdims=True) * rate, values[:, :2]
            error = np.maximum(*(np.abs(self.link.to_x(fine + s * most) - x) for s in (-1, 1)))
            values[:, 2:] = np.maximum(values[:, 2:], error + np.spacing(np.abs(x)))
            good &= (values[:, 2:] <= self.accuracy * np.maximum(1, np.abs(x))).all(-1)
        return values, good

    # Distribution function, density, moments

    def probabilities(self, x, rough=False):
        """Return the distribution function and the density at x, (m, P), infinite ends allowed."""
        low, high = self.parts.support
        inside = (x > low) & (x < high)
        safe = np.where(inside, x, self.link.to_x(np.zeros(1)))
        size = x.shape[1]
        found = self.climb(
            lambda rows, index, level: rows.try_masses(safe[index], level), 2 * size, size, 1
        )
        below, density = found[:, :size], found[:, size:]
        return np.where(inside, below, x >= high), np.where(inside, density, 0.0)

    def try_masses(self, x, level):
        """Return distribution functions and densities, (m, 2P), and whether they are good."""
        if level == DRAWS:
            found = [
                np.concatenate(each.masses(own)) for each, own in zip(self.drawn(), x, strict=True)
            ]
            return np.array(found), np.ones(len(x), bool)
        y = self.link.to_y(x)
        rough = self.rays(level).masses(y)[0]
        below, _, density = self.finer(level).masses(y)
        with np.errstate(all="ignore"):
            values = np.concatenate([below, density / self.link.slope(y)], -1)
            return values, (np.abs(below - rough) < _MASS[self.parts.tabled]).all(-1)

    def moments(self):
        """Return mean, standard deviation and skewness, (m, 3)."""
        return self.climb(lambda rows, _, level: rows.try_moments(level), 3, 15, self.start)

    def try_moments(self, level):
        """Return the moments by one rung, and whether the rung will do."""
        if level == DRAWS:
            return np.array([each.moments() for each in self.drawn()]), np.ones(
                len(self.rung), bool
            )
        good = self.rung == level
        if not good.all():
            good |= self.try_quantiles(np.broadcast_to(_PROBED, (len(good), 3)), level)[1]
        values = self.rays(level + 1).moments(self.link)
        return values, good & np.isfinite(values).all(-1)

    def modes(self):
        """Return the modes, (m,), NaN where no single point is one."""
        _, _, kinds = self.highest(0.95)
        low, high = self.parts.support
        found = np.select([kinds == LOWER, kinds == UPPER], [low, high], np.nan)
        inner = np.flatnonzero(kinds == INTERIOR)
        for level in np.unique(self.rung[inner]):
            index = inner[self.rung[inner] == level]
            rows = self.take(index)
            found[index] = rows.peak_of_curves(level)
        return found

    def peak_of_curves(self, level):
        """Return where the densities of numbers that rise and then fall are greatest."""
        curve = self.curves(min(level, FINEST - 1))
        return self.link.to_x(curve.y(curve.modes()[:, None]))[:, 0]
