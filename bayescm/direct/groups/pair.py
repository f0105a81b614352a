"""One pair of classifiers on several data sets: location, spread and freedom on a grid."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy import special

from bayescm.distributions.mixtures import Gridded, StudentMixture

_LOCATION, _SPREAD = np.linspace(-4, 4, 25), np.linspace(-3, 3, 13)
_EXCESS, _PRIOR = (
    (np.polynomial.legendre.leggauss(5)[0] + 1) / 2,
    np.polynomial.legendre.leggauss(5)[1] / 2,
)
_MIXED = 11, 3  # normals that stand for the t between data sets, and for that within each
_RARE = 1e-5


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
        nodes, weights = _normal(_MIXED[1])
        precision = _gamma(self.freedom / 2, nodes[:, None]) / (self.freedom / 2)
        return self.error**2 / precision, weights

    def log_density(self, location, spread, excess) -> np.ndarray:
        """Return the log posterior density of (..., [L]) locations at one spread and excess."""
        (inner, own), (nodes, other) = self.within, _normal(_MIXED[0])
        half = 1 + excess / 2
        between = spread**2 * half / _gamma(half, nodes)
        variance = (inner[:, None] + between[:, None]).reshape(-1, len(self.mean))
        weights = (own[:, None] * other).ravel()
        gaps = (self.mean - np.asarray(location)[..., None]) ** 2
        terms = np.exp(-gaps[..., None, :] / (2 * variance))
        likely = np.einsum("...kd,kd->...d", terms, weights[:, None] / np.sqrt(variance))
        logs = np.log(np.maximum(likely, 1e-300)).sum(-1)
        prior = -((np.asarray(location) / self.scale) ** 2) / 200
        return logs + prior - np.log1p((spread / self.scale) ** 2)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Locations (L), spreads (S), excesses (E) and the mass (L, S, E) of their cells."""
        middle, wide = self._mode
        location = middle[0] + wide[0] * np.sinh(_LOCATION)
        spread = np.exp(middle[1] + wide[1] * np.sinh(_SPREAD))
        excess = _excess(_EXCESS)
        logs = [[self.log_density(location, s, e) for e in excess] for s in spread]
        cells = np.moveaxis(np.array(logs), -1, 0)
        mass = np.exp(cells - cells.max()) * _PRIOR
        mass *= np.cosh(_LOCATION)[:, None, None] * (spread * np.cosh(_SPREAD))[:, None]
        return location, spread, excess, mass / mass.sum()

    @cached_property
    def _mode(self):
        """The mode in location and log spread, and the standard deviations there."""
        from scipy import optimize

        def minus(point):
            logs = self.log_density(point[0] * self.scale, self.scale * np.exp(point[1]), 10.0)
            return -float(logs) - point[1]

        start = np.median(self.mean) / self.scale, -0.5
        found = optimize.minimize(minus, start, method="Nelder-Mead", options={"xatol": 1e-3})
        step, wide = 0.02, []
        for axis in np.eye(2) * step:
            bend = minus(found.x + axis) + minus(found.x - axis) - 2 * found.fun
            wide.append(min(2.0, step / np.sqrt(max(bend, 1e-6))))
        middle = found.x[0] * self.scale, found.x[1] + np.log(self.scale)
        return middle, (wide[0] * self.scale, wide[1])

    @cached_property
    def location(self) -> Gridded:
        """Return the distribution of the mean difference over all data sets there may be."""
        nodes, *_, mass = self.grid
        return Gridded(nodes, mass.sum((1, 2)) / np.cosh(_LOCATION))

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
        steps = [
            nodes[at] + (rng.random(size) - 0.5) * (nodes[1] - nodes[0])
            for nodes, at in zip((_LOCATION, _SPREAD), place, strict=False)
        ]
        location = middle[0] + wide[0] * np.sinh(steps[0])
        spread = np.exp(middle[1] + wide[1] * np.sinh(steps[1]))
        ends = np.concatenate([[0], np.cumsum(_PRIOR)])
        excess = _excess(ends[place[2]] + rng.random(size) * _PRIOR[place[2]])
        return [location, spread, excess, self._own(location, spread, excess, rng)]

    def _own(self, location, spread, excess, rng):
        """Draw the data sets' differences: which normals, then the difference given these."""
        (inner, own), (nodes, other) = self.within, _normal(_MIXED[0])
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
def _normal(number):
    """Return nodes and weights of a standard normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    return nodes, weights / weights.sum()


def _gamma(shape, nodes):
    """Return the gamma variable of a shape at standard normal scores."""
    return special.gammaincinv(shape, special.ndtr(nodes))


def _excess(share):
    """Return the quantiles of the prior of the degrees of freedom beyond two."""
    return special.gammaincinv(2, share) / 0.1
