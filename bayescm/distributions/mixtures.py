"""Distributions on a grid: a density between nodes, and a mixture of Student t distributions."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from bayescm.distributions.base import Distribution
from bayescm.distributions.hdi import INTERIOR

_BETWEEN = 32  # points from one node to the next


@dataclass(frozen=True, eq=False)
class Gridded(Distribution):
    """
    A density that is known at nodes and smooth between them.

    Attributes
    ----------
    nodes : ndarray, shape (M,)
        Increasing; the density is next to 0 at both ends.
    density : ndarray, shape (M,)
        Up to a constant.
    mass : ndarray, shape (M,), optional
        Weights of a rule at the nodes, with which means are sums; by default the curve is
        integrated.

    Examples
    --------
    >>> x = np.linspace(-8, 8, 101)
    >>> Gridded(x, np.exp(-(x**2) / 2)).eti(0.95).round(3)
    array([-1.96,  1.96])
    """

    how: ClassVar[str] = "quadrature"
    nodes: np.ndarray
    density: np.ndarray
    mass: np.ndarray | None = None
    shape = ()

    @property
    def support(self) -> tuple[float, float]:
        return float(self.nodes[0]), float(self.nodes[-1])

    @cached_property
    def _curves(self):
        # It loads much of scipy, which others need not wait for.
        from scipy.interpolate import PchipInterpolator

        curve = PchipInterpolator(self.nodes, self.density)
        below = curve.antiderivative()
        return curve, below, float(below(self.nodes[-1]))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        _, below, total = self._curves
        return np.clip(below(np.clip(x, *self.support)) / total, 0, 1)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        curve, _, total = self._curves
        inside = (np.asarray(x) >= self.nodes[0]) & (np.asarray(x) <= self.nodes[-1])
        return np.where(inside, curve(np.clip(x, *self.support)) / total, 0.0)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        grid, below, _ = self._table
        return np.interp(np.asarray(q, float), below, grid)

    def mean(self) -> np.ndarray:
        places, mass = self._places
        return np.asarray(places @ mass)

    def sd(self) -> np.ndarray:
        places, mass = self._places
        return np.sqrt((places - self.mean()) ** 2 @ mass)

    def shortfall(self) -> np.ndarray:
        grid, _, mass = self._table
        return np.asarray(np.maximum(-(grid[1:] + grid[:-1]) / 2, 0) @ mass)

    def _highest(self, prob):
        """Return the shortest interval, which is that of a single hump."""
        rising = np.diff(self.density) > 0
        if (np.diff(rising.astype(int)) > 0).any():
            return super()._highest(prob)
        grid, below, _ = self._table
        at = int(np.argmin(self.quantile(below[below < 1 - prob] + prob) - grid[below < 1 - prob]))
        lower = np.linspace(grid[max(at - 1, 0)], grid[at + 1], 65)
        upper = self.quantile(self.cdf(lower) + prob)
        best = int(np.argmin(upper - lower))
        return np.array([lower[best], upper[best]]), np.asarray(INTERIOR)

    @cached_property
    def _places(self):
        """Where the mass is, and how much, for means."""
        if self.mass is not None:
            return self.nodes, self.mass / self.mass.sum()
        grid, _, mass = self._table
        return (grid[1:] + grid[:-1]) / 2, mass

    @cached_property
    def _table(self):
        """Many points between the nodes, the mass below each, and between two."""
        parts = np.arange(_BETWEEN) / _BETWEEN
        inner = self.nodes[:-1, None] + np.diff(self.nodes)[:, None] * parts
        grid = np.append(inner.ravel(), self.nodes[-1])
        below = self.cdf(grid)
        return grid, below, np.diff(below)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), 1e-3 * float(self.sd()))


@dataclass(frozen=True, eq=False)
class StudentMixture(Distribution):
    """
    A mixture of Student t distributions.

    Attributes
    ----------
    location, scale, freedom, weight : ndarray, shape (M,)
        ``freedom > 2``; the weights sum to 1.

    Examples
    --------
    >>> parts = np.array([0.0, 4.0]), np.ones(2), np.array([5.0, 5.0]), np.array([0.5, 0.5])
    >>> float(StudentMixture(*parts).mean()), float(StudentMixture(*parts).cdf(2.0).round(2))
    (2.0, 0.5)
    """

    how: ClassVar[str] = "quadrature"
    location: np.ndarray
    scale: np.ndarray
    freedom: np.ndarray
    weight: np.ndarray
    shape = ()
    support = -np.inf, np.inf

    def cdf(self, x: ArrayLike) -> np.ndarray:
        z = (np.asarray(x, float)[..., None] - self.location) / self.scale
        return stdtr(self.freedom, z) @ self.weight

    def quantile(self, q: ArrayLike) -> np.ndarray:
        grid, below = self._table
        return np.interp(np.asarray(q, float), below, grid)

    def mean(self) -> np.ndarray:
        return np.asarray(self.location @ self.weight)

    def sd(self) -> np.ndarray:
        own = self.scale**2 * self.freedom / (self.freedom - 2)
        return np.sqrt((own + (self.location - self.mean()) ** 2) @ self.weight)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), 1e-3 * float(self.sd()))

    @cached_property
    def _table(self):
        wide = np.median(self.scale) + np.ptp(np.quantile(self.location, [0.25, 0.75]))
        grid = self.mean() + wide * np.sinh(np.linspace(-9, 9, 601))
        return grid, self.cdf(grid)
