r"""
Rates whose logits have a smooth density, represented by masses on an equidistant lattice.

The point k of a lattice with spacing h represents the cell :math:`x_k \pm h / 2` of the logit. Let
m_k be the masses of a density that the lattice resolves. The distribution function at the borders
of the cells is a midpoint sum with the next term of the Euler-Maclaurin formula,

.. math:: F(x_k + h / 2) = \sum_{l \le k} m_l + (m_{k+1} - m_k) / 24,

and its slope there follows from the four nearest masses. Inside a cell, it is the cubic Hermite
interpolant of these values and slopes. A quantile is a root of the cubic, found by Newton's method.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.base import Distribution

_NEWTON_STEPS = 8  # Newton steps inside one cell, in which the distribution function is a cubic


@dataclass(frozen=True, eq=False)
class LogitLattice(Distribution):
    """
    Distributions of rates, represented by masses on lattices of their logits.

    Attributes
    ----------
    logits : ndarray, shape (..., m)
        Logits, equidistant and increasing.
    masses : ndarray, shape (..., m)
        Masses that sum to 1. They must resolve the density, with at least about two points per
        standard deviation.

    Examples
    --------
    >>> logits = np.linspace(-3, 5, 100)
    >>> density = special.expit(logits) ** 65.5 * special.expit(-logits) ** 15.5
    >>> LogitLattice(logits, density / density.sum()).eti(0.95).round(3)
    array([0.717, 0.886])
    """

    how: ClassVar[str] = "quadrature"
    logits: np.ndarray
    masses: np.ndarray
    support = 0.0, 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.masses.shape[:-1]

    def take(self, index: Any) -> "LogitLattice":
        size = self.masses.shape[-1]
        flat = (array.reshape(-1, size)[index] for array in (self.logits, self.masses))
        return LogitLattice(*flat)

    def reshaped(self, shape: tuple[int, ...]) -> "LogitLattice":
        """Return the same members as a batch of another shape."""
        return LogitLattice(*(array.reshape(*shape, -1) for array in (self.logits, self.masses)))

    def complement(self) -> "LogitLattice":
        """Return the distributions of 1 minus the rates."""
        return LogitLattice(-self.logits[..., ::-1], self.masses[..., ::-1])

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw rates (size, ...) independently per member, uniform around the lattice points."""
        points = self.masses.shape[-1]
        masses = self.masses.reshape(-1, points)
        # Draw the counts per point and shuffle; searching for each draw takes twice as long.
        counts = rng.multinomial(size, masses / masses.sum(axis=-1, keepdims=True))
        index = np.stack([np.repeat(np.arange(points), number) for number in counts])
        index = rng.permuted(index, axis=1, out=index)
        start, spacing = (array.reshape(-1, 1) for array in (self.logits[..., 0], self._spacing))
        logit = start + spacing * (index + rng.random(index.shape) - 0.5)
        return special.expit(logit).T.reshape(size, *self.shape)

    @cached_property
    def _spacing(self):
        return self.logits[..., 1] - self.logits[..., 0]

    @cached_property
    def _curve(self):
        """Distribution function at the borders of the cells, and its slope per cell."""
        mass = np.pad(self.masses, [(0, 0)] * len(self.shape) + [(2, 2)])
        # Midpoint sums with the next Euler-Maclaurin term.
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
        return tuple(array.reshape(-1, array.shape[-1]) for array in (below, slope))

    def _cells(self, x):
        """Return the cell of each point and the position in it, both of shape (..., members)."""
        with np.errstate(divide="ignore"):
            logit = special.logit(np.clip(np.asarray(x, float) + np.zeros(self.shape), 0, 1))
        position = (logit - self.logits[..., 0]) / self._spacing + 0.5
        position = np.nan_to_num(np.clip(position, 0, self.masses.shape[-1]))
        position = position.reshape(-1, self.masses[..., 0].size)
        cell = np.minimum(position.astype(int), self.masses.shape[-1] - 1)
        return cell, position - cell, logit.shape

    def _cubic(self, cell):
        """Return the coefficients of the distribution function in a cell, in ascending order."""
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
        return special.expit(self._logit(q))[()]

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Return the log odds (m, G) of the m members at increasing normal scores (G,)."""
        below, above = scores[scores <= 0, None], scores[scores > 0, None]
        lower = self._logit(special.ndtr(below))
        # Large quantiles are computed from the mass above them, because 1 - q loses precision if q
        # is close to 1.
        upper = -self.complement()._logit(special.ndtr(-above))
        return np.concatenate([lower, upper]).T

    def _logit(self, q):
        """Return the logits of quantiles."""
        q = np.asarray(q, float) + np.zeros(self.shape)
        borders = self._curve[0]
        levels = q.reshape(-1, len(borders))
        row = np.arange(len(borders))
        cell = _cells_of(borders, levels)
        a, b, c, d = self._cubic(cell)
        low, high = borders[row, cell], borders[row, cell + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num((levels - low) / (high - low), nan=0.5, posinf=0.5, neginf=0.5)
            for _ in range(_NEWTON_STEPS):
                excess = a + t * (b + t * (c + t * d)) - levels
                step = np.nan_to_num(excess / (b + t * (2 * c + 3 * t * d)), posinf=0.0, neginf=0.0)
                t = np.clip(t - step, 0, 1)
        start = self.logits[..., 0].reshape(-1)
        logit = start + self._spacing.reshape(-1) * (cell + t - 0.5)
        return logit.reshape(q.shape)

    def mean(self) -> np.ndarray:
        return self._moment(self._values)

    def sd(self) -> np.ndarray:
        return np.sqrt(self._moment(self._deviations**2))

    def skewness(self) -> np.ndarray:
        return self._moment(self._deviations**3) / self.sd() ** 3

    def _moment(self, values):
        return (self.masses * values).sum(axis=-1)

    @property
    def _deviations(self):
        return self._values - np.expand_dims(self.mean(), -1)

    @cached_property
    def _values(self):
        return special.expit(self.logits)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return 1e-4 * self.sd() + np.zeros(np.shape(x))


def _cells_of(borders, levels):
    """Return the cells of each row that contain its levels, (..., rows)."""
    rows = zip(borders, levels.T, strict=True)  # each row has many levels or borders
    cells = np.stack([np.searchsorted(*row, side="right") for row in rows], axis=-1) - 1
    return np.clip(cells, 0, borders.shape[-1] - 2)


def concatenate(parts: list[LogitLattice]) -> LogitLattice:
    """Return several batches as one, padded to the widest, emptying the list to free memory."""
    if len(parts) == 1:
        return parts[0]
    widest = max(part.masses.shape[-1] for part in parts)
    shape = sum(len(part.masses) for part in parts), widest
    masses, logits, end = np.zeros(shape), np.empty(shape), 0
    while parts:  # each part is freed as soon as it is copied
        part = parts.pop(0)
        rows, end = slice(end, end + len(part.masses)), end + len(part.masses)
        masses[rows, : part.masses.shape[-1]] = part.masses
        logits[rows] = part.logits[:, :1] + part._spacing[:, None] * np.arange(widest)
        del part
    return LogitLattice(logits, masses)
