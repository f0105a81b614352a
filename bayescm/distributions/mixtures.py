"""
Mixtures, means of independent variables, and densities on a grid.

The mixture over folds and the mean over folds are computed from the distribution of a measure in
every fold, with the folds along the last axis of the batch.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr

from bayescm.distributions.base import Distribution, near_normal
from bayescm.distributions.hdi import INTERIOR

_WINDOW = 20.0  # standard deviations on each side of the mean; the mass outside is less than 1e-12
_MOST_TERMS = 4096


class _OfFolds(Distribution):
    """Base class for distributions over folds, which are the last batch axis of ``parts``."""

    how: ClassVar[str] = "quadrature"
    parts: Any
    _start = near_normal

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts.shape[:-1]

    @property
    def undefined(self) -> np.ndarray:
        return np.broadcast_to(self.parts.undefined, self.parts.shape).mean(axis=-1)

    def take(self, index: np.ndarray) -> Distribution:
        folds = self.parts.shape[-1]
        parts = self.parts.take(np.asarray(index)[..., None] * folds + np.arange(folds))
        return replace(cast(Any, self), parts=parts)

    def mean(self) -> np.ndarray:
        return self._center

    @cached_property
    def _center(self):
        return self.parts.mean().mean(axis=-1)

    @cached_property
    def _ends(self):
        return [np.broadcast_to(end, self.parts.shape) for end in self.parts.support]


@dataclass(frozen=True, eq=False)
class MeanOfFolds(_OfFolds):
    """
    Distribution of the mean of independent folds, with an inflated standard deviation.

    The characteristic function is the product over the folds. The distribution function is its
    Fourier series on a window of 20 standard deviations on each side, so no draws are needed.

    Attributes
    ----------
    parts : distribution, batch (..., K)
        Distribution of every fold.
    stretch : float
        Factor that inflates the standard deviation about the mean. Mass that this moves beyond the
        range of the measure is put at the end of the range.

    Examples
    --------
    >>> from bayescm.distributions.beta import Beta
    >>> distribution = MeanOfFolds(Beta(np.array([11.0, 9, 13]), np.array([6.0, 8, 4])))
    >>> distribution.eti(0.95).round(6)
    array([0.518085, 0.766869])
    """

    parts: Any
    stretch: float = 1.0

    def sd(self) -> np.ndarray:
        return self.stretch * self._plain_sd

    @cached_property
    def _plain_sd(self):
        spread = self.parts.sd()
        return np.sqrt((spread**2).sum(axis=-1)) / spread.shape[-1]

    def skewness(self) -> np.ndarray:
        third = self.parts.skewness() * self.parts.sd() ** 3
        return third.sum(axis=-1) / third.shape[-1] ** 3 / self._plain_sd**3

    def cdf(self, x: ArrayLike) -> np.ndarray:
        z = self._standard(x)
        times, phi = self._series
        wave = np.exp(-1j * times * z[..., None]) - np.exp(1j * times * _WINDOW)
        below = (1j * phi * wave / times).real.sum(axis=-1) + (z + _WINDOW) / 2
        low, high = self.support
        inside = np.clip(below / _WINDOW, 0, 1)
        return np.where(np.asarray(x) < low, 0.0, np.where(np.asarray(x) >= high, 1.0, inside))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        z = self._standard(x)
        times, phi = self._series
        wave = (phi * np.exp(-1j * times * z[..., None])).real.sum(axis=-1)
        return np.maximum((wave + 0.5) / _WINDOW, 0) / self.sd()

    @cached_property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        # The range of the folds. Mass that the stretch moves beyond this range is put at the ends
        # of the range.
        return tuple(end.mean(axis=-1) for end in self._ends)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        _, phi = self._series
        left_out = np.abs(phi[..., -1])
        with np.errstate(divide="ignore"):
            return (left_out + 1e-14) / self.pdf(x)

    def _standard(self, x):
        return np.clip((np.asarray(x) - self.mean()) / self.sd(), -_WINDOW, _WINDOW)

    @cached_property
    def _series(self):
        """Return the frequencies (N,) and the characteristic function there (..., N)."""
        terms, spacing = 64, 0.125
        while True:
            phi = self._characteristic(terms, spacing)
            if terms >= _MOST_TERMS or (np.abs(phi[..., -terms // 8 :]) < 1e-13).all():
                return np.pi / _WINDOW * np.arange(1, terms + 1), phi
            terms, spacing = 2 * terms, max(spacing / 2, 2**-7)

    def _characteristic(self, terms, spacing):
        """
        Return the product of the folds' characteristic functions, in standard units (..., terms).

        All frequencies are multiples of one frequency. Each wave is a short wave times a long wave,
        so the sums over the nodes are products of two small matrices.
        """
        nodes = np.arange(-8.5, 8.5 + spacing / 2, spacing)
        weights = spacing * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
        center = self.parts.mean()
        at = ndtr(nodes).reshape(-1, *[1] * center.ndim)
        scale = center.shape[-1] * self._plain_sd[..., None]
        deviations = np.moveaxis((self.parts.quantile(at) - center) / scale, 0, -1)
        short = 2 ** (terms.bit_length() // 2)
        product = np.ones((*self._plain_sd.shape, terms), complex)
        for index in np.ndindex(self._plain_sd.shape):  # one at a time, to keep the arrays small
            turn = 1j * np.pi / _WINDOW * deviations[index]  # by fold and node
            waves = np.exp(turn[:, None] * short * np.arange(terms // short)[:, None]) * weights
            by_node = waves @ np.exp(turn[..., None] * np.arange(1, short + 1))
            product[index] = by_node.reshape(len(by_node), terms).prod(axis=0)
        return product


@dataclass(frozen=True, eq=False)
class MixtureOfFolds(_OfFolds):
    """
    Distribution of a randomly chosen fold: the mixture of the folds' posteriors.

    Attributes
    ----------
    parts : distribution, batch (..., K)
        Distribution of every fold.

    Examples
    --------
    >>> from bayescm.distributions.beta import Beta
    >>> distribution = MixtureOfFolds(Beta(np.array([11.0, 9, 13]), np.array([6.0, 8, 4])))
    >>> distribution.eti(0.95).round(6)
    array([0.35118 , 0.898567])
    """

    parts: Any

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return self.parts.cdf(np.asarray(x)[..., None]).mean(axis=-1)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return self.parts.pdf(np.asarray(x)[..., None]).mean(axis=-1)

    def sd(self) -> np.ndarray:
        return np.sqrt((self.parts.sd() ** 2 + self._offset**2).mean(axis=-1))

    def skewness(self) -> np.ndarray:
        spread = self.parts.sd()
        third = self.parts.skewness() * spread**3 + 3 * self._offset * spread**2 + self._offset**3
        return third.mean(axis=-1) / self.sd() ** 3

    @property
    def _offset(self):
        center = self.parts.mean()
        return center - center.mean(axis=-1, keepdims=True)

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        return self._ends[0].min(axis=-1), self._ends[1].max(axis=-1)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return 1e-14 + np.spacing(np.abs(x))


@dataclass(frozen=True, eq=False)
class StudentMixture(Distribution):
    """
    Mixture of Student t distributions.

    Attributes
    ----------
    location, scale, freedom, weight : ndarray, shape (M,)
        Parameters of the components, with ``freedom > 2`` and weights that sum to 1.

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
        variances = self.scale**2 * self.freedom / (self.freedom - 2)
        return np.sqrt((variances + (self.location - self.mean()) ** 2) @ self.weight)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), 1e-3 * float(self.sd()))

    @cached_property
    def _table(self):
        wide = np.median(self.scale) + np.ptp(np.quantile(self.location, [0.25, 0.75]))
        grid = self.mean() + wide * np.sinh(np.linspace(-9, 9, 601))
        return grid, self.cdf(grid)


_BETWEEN = 32  # number of points per interval between nodes


@dataclass(frozen=True, eq=False)
class Gridded(Distribution):
    """
    Distribution with a density known at nodes and smooth between them.

    Attributes
    ----------
    nodes : ndarray, shape (M,)
        Increasing. The density is close to 0 at both ends.
    density : ndarray, shape (M,)
        Density up to a constant.
    mass : ndarray, shape (M,), optional
        Weights of a quadrature rule at the nodes, used for means. By default the interpolated
        density is integrated.

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
        # Imported late, because the import loads much of scipy.
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
        points, mass = self._places
        return np.asarray(points @ mass)

    def sd(self) -> np.ndarray:
        points, mass = self._places
        return np.sqrt((points - self.mean()) ** 2 @ mass)

    def expected_loss(self) -> np.ndarray:
        grid, _, mass = self._table
        return np.asarray(np.maximum(-(grid[1:] + grid[:-1]) / 2, 0) @ mass)

    def _highest(self, prob):
        """Return the shortest interval directly if the density has a single mode."""
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
        """Points and their masses, for means."""
        if self.mass is not None:
            return self.nodes, self.mass / self.mass.sum()
        grid, _, mass = self._table
        return (grid[1:] + grid[:-1]) / 2, mass

    @cached_property
    def _table(self):
        """Points between the nodes, the mass below each, and the mass between neighbours."""
        parts = np.arange(_BETWEEN) / _BETWEEN
        inner = self.nodes[:-1, None] + np.diff(self.nodes)[:, None] * parts
        grid = np.append(inner.ravel(), self.nodes[-1])
        below = self.cdf(grid)
        return grid, below, np.diff(below)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), 1e-3 * float(self.sd()))
