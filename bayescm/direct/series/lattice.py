"""The distributions of rates whose logits have masses on equidistant points."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.base import Distribution
from bayescm.distributions.integrals.rays import TABLED, Tables

_TERMS = 10  # of the series of a square
_STEPS = 8  # of Newton's method inside one cell, where the distribution function is a cubic


@dataclass(frozen=True, eq=False)
class Lattice(Distribution):
    """
    The distributions of rates, as masses of smooth densities on lattices of their logits.

    Attributes
    ----------
    logits : ndarray, shape (..., m)
        Equidistant, rising.
    masses : ndarray, shape (..., m)
        Summing to 1; resolved, so at least some two points in a standard deviation.

    Examples
    --------
    >>> logits = np.linspace(-3, 5, 100)
    >>> density = special.expit(logits) ** 65.5 * special.expit(-logits) ** 15.5
    >>> Lattice(logits, density / density.sum()).eti(0.95).round(3)
    array([0.717, 0.886])
    """

    how: ClassVar[str] = "quadrature"
    logits: np.ndarray
    masses: np.ndarray
    support = 0.0, 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.masses.shape[:-1]

    def take(self, index: Any) -> "Lattice":
        size = self.masses.shape[-1]
        flat = (each.reshape(-1, size)[index] for each in (self.logits, self.masses))
        return Lattice(*flat)

    def reshaped(self, shape: tuple[int, ...]) -> "Lattice":
        """Return the same members as a batch of another shape."""
        return Lattice(*(each.reshape(*shape, -1) for each in (self.logits, self.masses)))

    def complement(self) -> "Lattice":
        """Return the distributions of 1 minus the rates."""
        return Lattice(-self.logits[..., ::-1], self.masses[..., ::-1])

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw rates (size, ...), each member by itself: masses spread evenly around the points."""
        points = self.masses.shape[-1]
        masses = self.masses.reshape(-1, points)
        # How many at each point, in any order: to search for each takes twice as long.
        counts = rng.multinomial(size, masses / masses.sum(axis=-1, keepdims=True))
        place = np.stack([np.repeat(np.arange(points), each) for each in counts])
        place = rng.permuted(place, axis=1, out=place)
        start, spacing = (each.reshape(-1, 1) for each in (self.logits[..., 0], self._spacing))
        logit = start + spacing * (place + rng.random(place.shape) - 0.5)
        return special.expit(logit).T.reshape(size, *self.shape)

    @cached_property
    def _spacing(self):
        return self.logits[..., 1] - self.logits[..., 0]

    @cached_property
    def _curve(self):
        """The distribution function over the logit at cell borders, and its slope by the cell."""
        mass = np.pad(self.masses, [(0, 0)] * len(self.shape) + [(2, 2)])
        # Sums of midpoints, and the next term of Euler and Maclaurin.
        below = np.diff(mass, axis=-1)[..., 1:-1] / 24
        below += np.cumsum(mass, axis=-1)[..., 1:-2]
        slope = mass[..., 1:-2] + mass[..., 2:-1]
        slope *= 7
        slope -= mass[..., :-3]
        slope -= mass[..., 3:]
        total = below[..., -1:].copy()
        below /= total
        np.maximum.accumulate(below, axis=-1, out=below)
        slope /= 12 * total
        return tuple(each.reshape(-1, each.shape[-1]) for each in (below, slope))

    def _cells(self, x):
        """Return which cell points are in, and how far into it, both of shape (..., members)."""
        with np.errstate(divide="ignore"):
            logit = special.logit(np.clip(np.asarray(x, float) + np.zeros(self.shape), 0, 1))
        place = (logit - self.logits[..., 0]) / self._spacing + 0.5
        place = np.nan_to_num(np.clip(place, 0, self.masses.shape[-1]))
        place = place.reshape(-1, self.masses[..., 0].size)
        cell = np.minimum(place.astype(int), self.masses.shape[-1] - 1)
        return cell, place - cell, logit.shape

    def _cubic(self, cell):
        """Return the coefficients of the distribution function in a cell, from the constant on."""
        below, slope = self._curve
        row = np.arange(len(below))
        low, high = below[row, cell], below[row, cell + 1]
        first, last = slope[row, cell], slope[row, cell + 1]
        rise = high - low
        return low, first, 3 * rise - 2 * first - last, first + last - 2 * rise

    def cdf(self, x: ArrayLike) -> np.ndarray:
        cell, t, shape = self._cells(x)
        a, b, c, d = self._cubic(cell)
        return np.clip(a + t * (b + t * (c + t * d)), 0, 1).reshape(shape)[()]

    def pdf(self, x: ArrayLike) -> np.ndarray:
        cell, t, shape = self._cells(x)
        _, b, c, d = self._cubic(cell)
        rise = np.where((t > 0) & (t < 1), b + t * (2 * c + 3 * t * d), 0.0).reshape(shape)
        x = np.asarray(x, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = rise / self._spacing / (x * (1 - x))
        return np.maximum(np.nan_to_num(density, posinf=0.0), 0.0)[()]

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return special.expit(self._log_odds(q))[()]

    def tables(self) -> Tables:
        """Return the log odds at normal scores, as integrals over several rates take them."""
        below = TABLED[TABLED <= 0].reshape(-1, *[1] * len(self.shape))
        both = replace(self), self.complement()  # what they remember goes with them
        low, high = (each._log_odds(special.ndtr(below)) for each in both)
        return Tables(np.moveaxis(np.concatenate([low, -high[-2::-1]]), 0, -1))

    def _log_odds(self, q):
        """Return the log odds of quantiles."""
        q = np.asarray(q, float) + np.zeros(self.shape)
        borders = self._curve[0]
        goal = q.reshape(-1, len(borders))
        row = np.arange(len(borders))
        cell = _cells_of(borders, goal)
        a, b, c, d = self._cubic(cell)
        low, high = borders[row, cell], borders[row, cell + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num((goal - low) / (high - low), nan=0.5, posinf=0.5, neginf=0.5)
            for _ in range(_STEPS):
                off = a + t * (b + t * (c + t * d)) - goal
                move = np.nan_to_num(off / (b + t * (2 * c + 3 * t * d)), posinf=0.0, neginf=0.0)
                t = np.clip(t - move, 0, 1)
        start = self.logits[..., 0].reshape(-1)
        logit = start + self._spacing.reshape(-1) * (cell + t - 0.5)
        return logit.reshape(q.shape)

    def mean(self) -> np.ndarray:
        return self._moment(self._values)

    def sd(self) -> np.ndarray:
        return np.sqrt(self._moment(self._away**2))

    def skewness(self) -> np.ndarray:
        return self._moment(self._away**3) / self.sd() ** 3

    def _moment(self, values):
        return (self.masses * values).sum(axis=-1)

    @property
    def _away(self):
        return self._values - np.expand_dims(self.mean(), -1)

    @cached_property
    def _values(self):
        return special.expit(self.logits)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return 1e-4 * self.sd() + np.zeros(np.shape(x))


def _cells_of(borders, goal):
    """Return the cells of each row in which its goals lie, (..., rows)."""
    rows = zip(borders, goal.T, strict=True)  # as there are many goals or many borders in each
    found = np.stack([np.searchsorted(*row, side="right") for row in rows], axis=-1) - 1
    return np.clip(found, 0, borders.shape[-1] - 2)


def joined(parts: list[Lattice]) -> Lattice:
    """Return the members of several batches as one, with room for the widest; empties the list."""
    if len(parts) == 1:
        return parts[0]
    widest = max(part.masses.shape[-1] for part in parts)
    shape = sum(len(part.masses) for part in parts), widest
    masses, logits, end = np.zeros(shape), np.empty(shape), 0
    while parts:  # each is let go as soon as it is copied
        part = parts.pop(0)
        here, end = slice(end, end + len(part.masses)), end + len(part.masses)
        masses[here, : part.masses.shape[-1]] = part.masses
        logits[here] = part.logits[:, :1] + part._spacing[:, None] * np.arange(widest)
        del part
    return Lattice(logits, masses)


def halved(values: np.ndarray, most: float = np.inf) -> np.ndarray:
    """
    Return values (..., m) at equidistant points and in the middle between them, (..., 2 m - 1).

    By cubics through four points, where they differ from lines by no more than is said.
    """
    near = (values[..., :-1] + values[..., 1:]) / 2
    far = (values[..., :-3] + values[..., 3:]) / 2
    near[..., 1:-1] += np.clip((near[..., 1:-1] - far) / 8, -most, most)
    fine = np.empty((*values.shape[:-1], 2 * values.shape[-1] - 1))
    fine[..., ::2], fine[..., 1::2] = values, near
    return fine


def smooth_square(angle: np.ndarray) -> np.ndarray:
    """
    Return the square of angles up to pi, by some terms of the series of the squared arc sine.

    It is flat at pi. The square is not, so that the transform of a density that the lattice does
    not resolve, which very small drifts have, rings far away from it.
    """
    term = 2 * np.sin(angle / 2) ** 2
    powers, x = np.zeros_like(angle), 2 * term
    for k in range(1, _TERMS + 1):
        powers = powers + term / k**2 * 2
        term = term * x * (k + 1) / (4 * k + 2)
    return powers
