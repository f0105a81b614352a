"""One pair of classifiers on several data sets: location, spread and freedom on a grid."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy import special

from bayescm.distributions.mixtures import Gridded, StudentMixture

_STEP, _FURTHEST = 1 / 2, (27, 6, 1e-6)  # between locations, in asinh; how far they go, and tail
_NEAR = 5  # steps on each side, as of some 61 data sets and more
_FAR = 10  # usual differences from the median: a data set beyond tells of few degrees of freedom
# Normals that stand for the t between data sets, but for the narrowest two; how many degrees of
# freedom there are, and the power of their prior share in which they are evenly spread.
_USUAL, _WITH_FAR = (11, (5, 1)), (81, (20, 4))
_WIDEST = 1e30  # variance, in units of the scale, that single precision holds
_BEGIN = 10.0  # the excess at which the mode is looked for
_RARE = 1e-5
# Of few data sets everything is finer: spreads, normals within, and what is left out (in nats).
_FEW, _FINE, _COARSE = 20, (13, 3, 18), (9, 2, 9)


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
    def within(self) -> tuple[np.ndarray, np.ndarray]:
        """Variances (A, D) of the normals that make up each data set's t, and their weights."""
        nodes, weights = _normal(self._finely[1])
        freedom, place = np.unique(self.freedom, return_inverse=True)
        precision = _gamma(freedom / 2, nodes[:, None]) / (freedom / 2)
        return self.error**2 / precision[:, place], weights

    def log_density(self, location, spread, excess) -> np.ndarray:
        """Return the log posterior density, (L, S), of locations, and of spreads and excesses."""
        location, spread = np.atleast_1d(location), np.atleast_1d(spread)
        number = self._sizes[0]
        (inner, own), (_, other) = self.within, _between(_BEGIN, number)
        excess = np.broadcast_to(excess, spread.shape).tolist()
        between = np.array([_between(each, number)[0] for each in excess])
        unit = self.scale
        between = np.minimum(between * (spread[:, None] / unit) ** 2, _WIDEST)
        inner, between = (inner / unit**2).astype(np.float32), between.astype(np.float32)
        parts = inner[:, None] + between[:, None, :, None]
        parts = parts.reshape(len(spread), -1, len(self.mean))
        weights = (own[:, None] * other).ravel().astype(np.float32)[:, None] / np.sqrt(parts)
        gaps = ((self.mean - location[:, None]) / unit).astype(np.float32) ** 2
        np.divide(-0.5, parts, out=parts)
        likely = np.empty((len(location), len(spread), len(self.mean)), np.float32)
        for gap, each in zip(gaps, likely, strict=True):
            terms = gap * parts
            np.einsum("skd,skd->sd", np.exp(terms, out=terms), weights, out=each)
        logs = np.log(np.maximum(likely, np.float32(1e-37))).sum(-1, dtype=float)
        prior = -((location / unit) ** 2) / 200
        return logs + prior[:, None] - np.log1p((spread / unit) ** 2)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Locations (L), spreads (S), excesses (E) and the mass (L, S, E) of their cells."""
        middle, wide = self._mode
        location = middle[0] + wide[0] * np.sinh(self._steps)
        steps = np.linspace(-3, 3, self._finely[0])
        spread = np.exp(middle[1] + wide[1] * np.sinh(steps))
        excess, prior = _excesses(*self._sizes[1])
        jacobian = np.log(spread * np.cosh(steps))
        both = [each.ravel() for each in np.meshgrid(spread, excess, indexing="ij")]
        centre = self.log_density(middle[0], *both)[0]
        profile = centre + np.repeat(jacobian, len(excess))
        kept = profile > profile.max() - self._finely[2]
        read, through = _read(len(location) // 2)
        some = [each[kept] for each in both]
        found = self.log_density(middle[0] + wide[0] * read, *some)
        found = np.insert(found, len(read) // 2, centre[kept], axis=0)
        cells = np.full((len(location), len(kept)), -np.inf)
        cells[:, kept] = through @ found
        mass = np.exp(cells - cells.max()).reshape(-1, len(spread), len(excess)) * prior
        mass *= np.cosh(self._steps)[:, None, None] * np.exp(jacobian)[:, None]
        return location, spread, excess, mass / mass.sum()

    @cached_property
    def _sizes(self):
        """How many normals stand for the t between data sets, and which excesses there are."""
        off = np.abs(self.mean - np.median(self.mean))
        usual = np.hypot(np.median(off), np.median(self.error))
        return _WITH_FAR if off.max() > _FAR * usual else _USUAL

    @property
    def _finely(self):
        return _FINE if len(self.mean) < _FEW else _COARSE

    @cached_property
    def _steps(self):
        """The locations, in asinh of standard deviations: the further the fewer data sets."""
        far, near, tail = _FURTHEST
        reach = np.clip(1.15 * -special.stdtrit(len(self.mean) - 1, tail), near, far)
        half = int(np.ceil(np.arcsinh(reach) / _STEP))
        return np.arange(-half, half + 1) * _STEP

    @cached_property
    def _mode(self):
        """The mode in location and log spread, about, and the standard deviations there."""
        unit = self.scale
        starts = np.quantile(self.mean, [0.1, 0.3, 0.5, 0.7, 0.9]) / unit, np.linspace(-4, 1, 6)
        logs = self._logs(*starts)
        one, two = np.unravel_index(logs.argmax(), logs.shape)
        point, step = np.array([starts[0][one], starts[1][two]]), np.array([0.1, 0.3])
        for _ in range(6):
            logs = self._logs(*(point[:, None] + step[:, None] * np.array([-1, 0, 1])))
            slope = np.array([logs[2, 1] - logs[0, 1], logs[1, 2] - logs[1, 0]]) / 2
            bend = np.array([logs[2, 1] + logs[0, 1], logs[1, 2] + logs[1, 0]]) - 2 * logs[1, 1]
            wide = step / np.sqrt(np.maximum(-bend, (step / 2) ** 2))
            moved = np.clip(slope * (wide / step) ** 2, -1.5 * wide / step, 1.5 * wide / step)
            point, step = point + step * moved, np.minimum(wide / 4, 0.3)
            if np.abs(moved * step).max() < 0.1 * wide.min():
                break
        return (point[0] * unit, point[1] + np.log(unit)), (wide[0] * unit, wide[1])

    def _logs(self, location, spread):
        """Return the log density (L, S) of locations and log spreads, in units of the scale."""
        found = self.log_density(location * self.scale, np.exp(spread) * self.scale, _BEGIN)
        return found + spread

    @cached_property
    def location(self) -> Gridded:
        """Return the distribution of the mean difference over all data sets there may be."""
        middle, wide = self._mode
        density = self.grid[-1].sum((1, 2)) / np.cosh(self._steps)
        finer = np.linspace(self._steps[0], self._steps[-1], 3 * len(self._steps) - 2)
        density = np.exp(_thrice(len(self._steps)) @ np.log(np.maximum(density, 1e-300)))
        # Even steps in asinh of a density that is next to 0 at both ends: sums are exact.
        return Gridded(middle[0] + wide[0] * np.sinh(finer), density, density * np.cosh(finer))

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
        mass = self.grid[-1]
        place = np.unravel_index(rng.choice(mass.size, size, p=mass.ravel()), mass.shape)
        middle, wide = self._mode
        both = self._steps, np.linspace(-3, 3, self._finely[0])
        steps = [
            nodes[at] + (rng.random(size) - 0.5) * (nodes[1] - nodes[0])
            for nodes, at in zip(both, place, strict=False)
        ]
        location = middle[0] + wide[0] * np.sinh(steps[0])
        spread = np.exp(middle[1] + wide[1] * np.sinh(steps[1]))
        prior = _excesses(*self._sizes[1])[1]
        ends = np.concatenate([[0], np.cumsum(prior)])
        excess = _excess(ends[place[2]] + rng.random(size) * prior[place[2]])
        return [location, spread, excess, self._own(location, spread, excess, rng)]

    def _own(self, location, spread, excess, rng):
        """Draw the data sets' differences: which normals, then the difference given these."""
        (inner, own), (nodes, other) = self.within, _normal(_USUAL[0])
        half = 1 + excess[:, None] / 2
        between = spread[:, None] ** 2 * half / _gamma(half, nodes)
        both = inner[None, :, None] + between[:, None, :, None]
        gaps = self.mean - location[:, None]
        logs = np.log(own[:, None, None] * other[:, None]) - np.log(both) / 2
        logs = logs - gaps[:, None, None] ** 2 / (2 * both) + rng.gumbel(size=both.shape)
        place = logs.reshape(len(logs), -1, len(self.mean)).argmax(1)
        first, second = np.unravel_index(place, logs.shape[1:3])
        one = inner[first, np.arange(len(self.mean))]
        two = np.take_along_axis(between, second, axis=1)
        middle = location[:, None] + gaps * two / (one + two)
        return middle + np.sqrt(one * two / (one + two)) * rng.standard_normal(gaps.shape)


@cache
def _read(half):
    """
    Return where the log density is read beside the centre, and what makes of it that at all steps.

    Of many data sets it is a polynomial as far as anything is left: by .002 at most.
    """
    steps = np.sinh(np.arange(-half, half + 1) * _STEP)
    if half > _NEAR:
        return np.delete(steps, half), np.eye(len(steps))
    nodes = steps[-1] * np.sin(np.pi / 6 * np.arange(-3, 4))
    through = np.linalg.solve(np.vander(nodes).T, np.vander(steps, 7).T).T
    return np.delete(nodes, 3), through


@cache
def _thrice(number):
    """Return what makes of so many even nodes a cubic spline at three times as many, a matrix."""
    from scipy.interpolate import CubicSpline  # it loads much that others need not wait for

    nodes = np.arange(number)
    return CubicSpline(nodes, np.eye(number))(np.linspace(0, number - 1, 3 * number - 2))


@cache
def _between(excess, number):
    """Return variances, over the square of the spread, and weights of normals that make up a t."""
    nodes, weights = (each[:-2] for each in _normal(number))
    half = 1 + excess / 2
    return half / _gamma(half, nodes), weights / weights.sum()


@cache
def _normal(number):
    """Return nodes and weights of a standard normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    return nodes, weights / weights.sum()


def _gamma(shape, nodes):
    """Return the gamma variable of a shape at standard normal scores."""
    return special.gammaincinv(shape, special.ndtr(nodes))


@cache
def _excesses(number, power):
    """Return degrees of freedom beyond two, and their prior: by a power, most are next to none."""
    nodes, weights = np.polynomial.legendre.leggauss(number)
    nodes = (nodes + 1) / 2
    return _excess(nodes**power), weights / 2 * power * nodes ** (power - 1)


def _excess(share):
    """Return the quantiles of the prior of the degrees of freedom beyond two."""
    return special.gammaincinv(2, share) / 0.1
