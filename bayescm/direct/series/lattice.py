"""The distribution of a rate whose logit has masses on equidistant points."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.base import Distribution

_FINE = 16  # points of the table between two of the lattice
_FLOOR = 1e-14


@dataclass(frozen=True, eq=False)
class Lattice(Distribution):
    """
    The distribution of a rate, as masses of a smooth density on a lattice of its logit.

    Attributes
    ----------
    logits : ndarray, shape (m,)
        Equidistant, rising.
    masses : ndarray, shape (m,)
        Summing to 1; resolved, so at least some two points in a standard deviation.

    Examples
    --------
    >>> logits = np.linspace(-3, 5, 100)
    >>> density = special.expit(logits) ** 65.5 * special.expit(-logits) ** 15.5
    >>> Lattice(logits, density / density.sum()).eti(0.95).round(4)
    array([0.7167, 0.8861])
    """

    how: ClassVar[str] = "quadrature"
    logits: np.ndarray
    masses: np.ndarray
    support = 0.0, 1.0
    shape = ()

    @cached_property
    def _curve(self):
        """The distribution function over the logit: a spline that is right at cell borders."""
        spacing = self.logits[1] - self.logits[0]
        held = np.flatnonzero(self.masses > _FLOOR * self.masses.max())
        low, high = max(held[0] - 3, 0), min(held[-1] + 4, len(self.logits))
        mass = np.pad(self.masses[low:high], 2)
        # Sums of midpoints, and the next term of Euler and Maclaurin.
        below = np.cumsum(mass)[1:-2] + np.diff(mass)[1:-1] / 24
        slope = (7 * (mass[1:-2] + mass[2:-1]) - mass[:-3] - mass[3:]) / 12
        borders = self.logits[low] + spacing * (np.arange(len(below)) - 0.5)
        from scipy import interpolate  # a quarter of a second that other distributions need not pay

        return interpolate.CubicHermiteSpline(borders, below, slope / spacing)

    @cached_property
    def _table(self):
        borders = self._curve.x
        fine = np.linspace(borders[0], borders[-1], _FINE * (len(borders) - 1) + 1)
        below = np.maximum.accumulate(np.clip(self._curve(fine), 0, None))
        return fine, below / below[-1]

    def cdf(self, x: ArrayLike) -> np.ndarray:
        with np.errstate(divide="ignore"):
            logits = special.logit(np.clip(np.asarray(x, float), 0, 1))
        fine, below = self._table
        return np.interp(logits, fine, below, left=0.0, right=1.0)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        fine, below = self._table
        return special.expit(np.interp(np.asarray(q, float), below, fine))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = self._curve.derivative()(special.logit(x), extrapolate=False) / (x * (1 - x))
        return np.maximum(np.nan_to_num(density, posinf=0.0), 0.0)

    def mean(self) -> np.ndarray:
        return self.masses @ self._values

    def sd(self) -> np.ndarray:
        return np.sqrt(self.masses @ (self._values - self.mean()) ** 2)

    def skewness(self) -> np.ndarray:
        return self.masses @ (self._values - self.mean()) ** 3 / self.sd() ** 3

    @cached_property
    def _values(self):
        return special.expit(self.logits)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), 1e-4 * float(self.sd()))
