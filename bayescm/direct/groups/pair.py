"""One pair of classifiers on several data sets: location, spread and freedom on a grid."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy import special

from bayescm.direct.groups.t_mixtures import even_normals, few_normals, log_sums
from bayescm.distributions.mixtures import Gridded, StudentMixture

_STEP, _FURTHEST = 1 / 2, (300, 6, 1e-6)  # between locations, in asinh; how far they go, and tail
_NEAR = 5  # steps on each side, as of some 61 data sets and more
# Degrees of freedom beyond two, evenly in their logarithm.
_EXCESSES = np.exp(np.linspace(np.log(0.05), np.log(80), 10))
_BEGIN = 1.0, 10.0  # the excesses at which the mode is looked for
_OFF = 2.5  # usual differences from the median: what is further has more normals
_RARE = 1e-5  # of the greatest mass: what is left out of a new data set
# Of few data sets there are more normals of what is near, and less is left out (in nats).
_FEW, _FINE, _COARSE = 20, (2, 16), (1, 7)


@dataclass(frozen=True, eq=False)
class Pair:
    """
    Two classifiers: the data sets that have both, and the grid of their posterior.

    Attributes
    ----------
    mean, error, freedom : ndarray, shape (D,)
        Of the difference on each data set, as the correlated t has them.
    scale : float
        Of the priors.
    """

    mean: np.ndarray
    error: np.ndarray
    freedom: np.ndarray
    scale: float

    @cached_property
    def within(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """
        Which data sets are near to the others, the variances (A, D) and weights of their normals.

        Then those that are not, of more normals: whether such a one is an error or a difference is
        told by the tails.
        """
        usual, off = self._usual
        far, few, least = off > _OFF * usual, self._finely[0], self.freedom.min()
        found = []
        for each, number in (~far, few + (least < 50)), (far, few + 1 + int(24 / least)):
            which = np.flatnonzero(each)
            variances, weights = few_normals(self.freedom[which], number)
            found.append((which, self.error[which] ** 2 * variances, weights))
        return found

    def log_density(self, location, spread, excess) -> np.ndarray:
        """Return the log posterior density, (L, S), of locations, and of spreads and excesses."""
        location, spread = np.atleast_1d(location), np.atleast_1d(spread)
        excess = np.broadcast_to(excess, spread.shape)
        both = [self._log_likelihood(part, location, spread, excess) for part in self.within]
        return self._log_prior(location, spread) + sum(both)

    def _log_prior(self, location, spread):
        unit = self.scale
        return -((location[:, None] / unit) ** 2) / 200 - np.log1p((spread / unit) ** 2)

    def _log_likelihood(self, part, location, spread, excess):
        """Return the log likelihood (L, S) of some of the data sets."""
        (which, inner, own), unit = part, self._size
        if len(which) == 0:
            return 0
        outer, other = even_normals(2 + excess, self._furthest)
        outer = outer * (spread[:, None] / unit) ** 2
        gaps = (self.mean[which] - location[:, None]) / unit
        return log_sums(gaps, inner / unit**2, own, outer, other)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Locations (L), spreads (S), excesses (E) and the mass (L, S, E) of their cells."""
        middle, wide, _ = self._mode
        location, spread = middle + wide * np.sinh(self._steps), self._unit * np.sinh(self._turns)
        both = [each.ravel() for each in np.meshgrid(spread, _EXCESSES, indexing="ij")]
        rough = self._rough(np.array([middle]), *both)[0]
        profile = rough + np.repeat(np.log(np.cosh(self._turns)), len(_EXCESSES))
        profile += _log_excess(both[1])
        kept = profile > profile.max() - self._finely[1]
        read, through = _read(len(location) // 2)
        found = through @ self.log_density(middle + wide * read, *(each[kept] for each in both))
        # What has little mass has the shape of the nearest that has more.
        at = np.stack(np.divmod(np.arange(len(kept)), len(_EXCESSES)))
        nearest = np.abs(at[:, :, None] - at[:, None, kept]).sum(0).argmin(1)
        cells = found[:, nearest] + (rough - rough[kept][nearest])
        mass = np.exp(cells - cells.max()).reshape(-1, len(spread), len(_EXCESSES))
        mass *= np.exp(_log_excess(_EXCESSES))
        mass *= np.cosh(self._steps)[:, None, None] * np.cosh(self._turns)[:, None]
        return location, spread, _EXCESSES, mass / mass.sum()

    @cached_property
    def _furthest(self):
        """How many usual differences from the median the furthest data set is: a power of two."""
        usual, off = self._usual
        return float(2 ** np.ceil(np.log2(max(off.max() / usual, 4))))

    @cached_property
    def _usual(self):
        """The usual difference from the median, and that of every data set (D,)."""
        off = np.abs(self.mean - np.median(self.mean))
        return np.hypot(np.median(off), np.median(self.error)), off

    @cached_property
    def _reach(self):
        """How many standard deviations locations go: the further the fewer data sets."""
        far, near, tail = _FURTHEST
        return np.clip(1.15 * -special.stdtrit(len(self.mean) - 1, tail), near, far)

    @property
    def _finely(self):
        return _FINE if len(self.mean) < _FEW else _COARSE

    @cached_property
    def _steps(self):
        """The locations, in asinh of standard deviations: the further the fewer data sets."""
        half = int(np.ceil(np.arcsinh(self._reach * self._mode[2]) / _STEP - 0.1))
        return np.arange(-half, half + 1) * _STEP

    @cached_property
    def _size(self):
        """The size of a difference; the scale may be another, chosen for the priors."""
        return np.sqrt(np.mean(self.mean**2 + self.error**2))

    @cached_property
    def _unit(self):
        """What spreads are sinh of a turn of: where they are below it, they hardly matter."""
        return np.median(self.error)

    @cached_property
    def _turns(self):
        """
        The spreads, in asinh of the unit: where there is any mass, at steps of about its width.

        The density is even in the spread, so that a sum from half a step on is next to exact too.
        """
        number = len(self.mean)
        step = 1.2 / np.sqrt(number)
        furthest = np.arcsinh(self._size / self._unit * np.exp(8 / np.sqrt(number / 2)))
        turns = np.arange(step / 2, furthest + step, step)
        coarse = turns[::3]
        logs = [self._turned(self._mode[:1], coarse, each) for each in _BEGIN]
        found = np.flatnonzero(np.max(logs, axis=(0, 1)) > np.max(logs) - self._finely[1])
        return turns[max(3 * found[0] - 2, 0) : 3 * found[-1] + 3]

    @cached_property
    def _mode(self):
        """The narrowest mode in location, about, its standard deviation, and how far others go."""
        unit = self._size
        at = np.append(np.quantile(self.mean, [0.1, 0.3, 0.5, 0.7, 0.9]) / unit, 0)
        turns = np.arcsinh(unit / self._unit * np.exp(np.linspace(-4, 1, 6)))
        logs = [self._turned(at * unit, turns, each) for each in _BEGIN]
        starts = [np.unravel_index(each.argmax(), each.shape) for each in logs]
        masses, middles, widths = np.transpose(
            [
                self._climb(each, np.array([at[one], turns[two]]))
                for each, log, (one, two) in zip(_BEGIN, logs, starts, strict=True)
                if log.max() > np.max(logs) - self._finely[1]
            ]
        )
        kept = masses > masses.max() - self._finely[1]
        middle, wide = min(zip(middles[kept], widths[kept], strict=True), key=lambda each: each[1])
        further = np.max((np.abs(middles - middle) / self._reach + widths)[kept]) / wide
        return np.array([middle, wide, further])

    def _climb(self, excess, point):
        """Return the log mass, the location and its standard deviation about a mode."""
        unit, step = self._size, np.array([0.1, 0.3])
        for _ in range(6):
            near = point[:, None] + step[:, None] * np.array([-1, 0, 1])
            logs = self._turned(near[0] * unit, near[1], excess)
            slope = np.array([logs[2, 1] - logs[0, 1], logs[1, 2] - logs[1, 0]]) / 2
            bend = np.array([logs[2, 1] + logs[0, 1], logs[1, 2] + logs[1, 0]]) - 2 * logs[1, 1]
            wide = step / np.sqrt(np.maximum(-bend, (step / 2) ** 2))
            moved = np.clip(slope * (wide / step) ** 2, -1.5 * wide / step, 1.5 * wide / step)
            point, step = point + step * moved, np.minimum(wide / 4, 0.3)
            if (np.abs(moved * step) < 0.1 * wide).all():
                break
        return logs[1, 1] + np.log(wide).sum(), point[0] * unit, wide[0] * unit

    def _turned(self, location, turns, excess):
        """Return the log mass (L, S) of locations and turns of the spread, about."""
        found = self._rough(location, self._unit * np.sinh(turns), np.full(len(turns), excess))
        return found + np.log(np.cosh(turns)) + _log_excess(excess)

    def _rough(self, location, spread, excess):
        """
        Return the log density (L, S) of locations, and of spreads and excesses, about.

        Of data sets that are near to the others, the sum of two t variables is taken for one of
        their variances and fourth moments; of others, it has the tails of both.
        """
        far = self.within[1][0]
        one, two = self.error**2, spread[:, None] ** 2
        both, freedom = 1 / (one + two), 2 + excess[:, None]
        gaps = (self.mean - location[:, None, None]) ** 2 * both
        first, second = one * both, two * both
        logs = _log_t(gaps, 1 / (first**2 / self.freedom + second**2 / freedom))
        if len(far):
            gaps, least = gaps[..., far], self.freedom[far]
            tails = least / 2 * np.log(first[:, far]), freedom / 2 * np.log(second[:, far])
            found = np.logaddexp(_log_t(gaps, least) + tails[0], _log_t(gaps, freedom) + tails[1])
            logs[..., far] = found - np.logaddexp(*tails)
        return logs.sum(-1) + np.log(both).sum(-1) / 2 + self._log_prior(location, spread)

    @cached_property
    def location(self) -> Gridded:
        """Return the distribution of the mean difference over all data sets there may be."""
        middle, wide, _ = self._mode
        density = self.grid[-1].sum((1, 2)) / np.cosh(self._steps)
        finer = np.linspace(self._steps[0], self._steps[-1], 3 * len(self._steps) - 2)
        density = np.exp(_thrice(len(self._steps)) @ np.log(np.maximum(density, 1e-300)))
        # Even steps in asinh of a density that is next to 0 at both ends: sums are exact.
        return Gridded(middle + wide * np.sinh(finer), density, density * np.cosh(finer))

    @cached_property
    def new(self) -> StudentMixture:
        """Return the distribution of the true difference on one new data set."""
        location, spread, excess, mass = self.grid
        parts = np.meshgrid(location, spread, 2 + excess, indexing="ij")
        kept = mass > _RARE * mass.max()
        at, wide, freedom = (each[kept] for each in parts)
        return StudentMixture(at, wide, freedom, mass[kept] / mass[kept].sum())

    def draw(self, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw location, spread and excess (size,), and every data set's difference (size, D)."""
        (middle, wide, _), mass = self._mode, self.grid[-1]
        logs, steps = np.log(np.maximum(mass, 1e-300)), []
        for axis, nodes in enumerate([self._steps, self._turns, np.log(_EXCESSES)]):
            number = logs.shape[axis]
            logs = np.moveaxis(np.tensordot(_thrice(number), logs, (1, axis)), 0, axis)
            steps.append(np.linspace(nodes[0], nodes[-1], 3 * number - 2))
        mass = np.exp(logs - logs.max())
        place = np.unravel_index(
            rng.choice(mass.size, size, p=mass.ravel() / mass.sum()), mass.shape
        )
        one, two, three = (
            nodes[at] + (rng.random(size) - 0.5) * (nodes[1] - nodes[0])
            for nodes, at in zip(steps, place, strict=True)
        )
        location, spread = middle + wide * np.sinh(one), self._unit * np.sinh(two)
        return [location, spread, np.exp(three), self._own(location, spread, np.exp(three), rng)]

    def _own(self, location, spread, excess, rng):
        """Draw the data sets' differences: which normals, then the difference given these."""
        between, other = even_normals(2 + excess, self._furthest)
        between, found = between * spread[:, None] ** 2, np.empty((len(location), len(self.mean)))
        for which, inner, own in (each for each in self.within if len(each[0])):
            both = inner[None, :, None] + between[:, None, :, None]
            gaps = self.mean[which] - location[:, None]
            logs = np.log(own[:, None, None] * other[:, None, :, None]) - np.log(both) / 2
            logs -= gaps[:, None, None] ** 2 / (2 * both)
            logs += rng.gumbel(size=both.shape)
            place = logs.reshape(len(logs), -1, len(which)).argmax(1)
            first, second = np.unravel_index(place, both.shape[1:3])
            one = inner[first, np.arange(len(which))]
            two = np.take_along_axis(between, second, axis=1)
            middle = location[:, None] + gaps * two / (one + two)
            noise = rng.standard_normal(gaps.shape)
            found[:, which] = middle + np.sqrt(one * two / (one + two)) * noise
        return found


def _log_excess(excess):
    """Return the log prior density of the logarithm of degrees of freedom beyond two."""
    return 2 * np.log(excess) - 0.1 * excess


def _log_t(squares, freedom):
    """Return the log density of a t variable at squares, to a thousandth and but for a constant."""
    return -1 / (4 * freedom) - (freedom + 1) / 2 * np.log1p(squares / freedom)


@cache
def _read(half):
    """
    Return where the log density is read, and what makes of it that at all steps.

    Of many data sets it is a polynomial as far as anything is left: by .002 at most.
    """
    steps = np.sinh(np.arange(-half, half + 1) * _STEP)
    if half > _NEAR:
        return steps, np.eye(len(steps))
    nodes = steps[-1] * np.sin(np.pi / 6 * np.arange(-3, 4))
    return nodes, np.linalg.solve(np.vander(nodes).T, np.vander(steps, 7).T).T


@cache
def _thrice(number):
    """Return what makes of so many even nodes a cubic spline at three times as many, a matrix."""
    from scipy.interpolate import CubicSpline  # it loads much that others need not wait for

    nodes = np.arange(number)
    return CubicSpline(nodes, np.eye(number))(np.linspace(0, number - 1, 3 * number - 2))
