"""Averages over folds: the mean of independent variables, and the mixture of distributions.

Both take the distribution of one measure in every fold, the folds along the last axis of its batch,
and answer the same calls as the distributions in `beta.py`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from bayescm.distributions.beta import INTERIOR, LOWER, NOT_UNIMODAL, UPPER

_WINDOW = 20.0  # standard deviations on either side of the mean; the rest holds less than 1e-12
_MOST_TERMS = 4096
_GRID = np.linspace(0, 1, 401)


class _Numeric:
    """What follows from ``cdf``, ``pdf``, ``bracket(q)`` and the moments, vectorised."""

    how: ClassVar[str] = "quadrature"

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        return 1 - self.cdf(x)  # type: ignore[attr-defined]

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point below which lies the mass q."""
        low, high = self.bracket(q)  # type: ignore[attr-defined]
        center, spread = self.mean(), self.sd()  # type: ignore[attr-defined]
        x = np.clip(center + spread * np.clip(ndtri(q), -6, 6), low, high)
        for _ in range(60):
            # Newton's step where it stays in the bracket, else its middle.
            excess = self.cdf(x) - q  # type: ignore[attr-defined]
            low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = x - excess / self.pdf(x)  # type: ignore[attr-defined]
            new = np.where((step > low) & (step < high), step, (low + high) / 2)
            if (np.abs(new - x) <= 1e-14 + 1e-13 * np.abs(x)).all():
                break
            x = new
        return x

    def eti(self, prob: float) -> np.ndarray:
        """Return the equal-tailed interval, shape (..., 2)."""
        return np.stack([self.quantile((1 - prob) / 2), self.quantile((1 + prob) / 2)], axis=-1)

    def hdi(self, prob: float) -> np.ndarray:
        """Return the interval of highest density, shape (..., 2)."""
        kind = self._shape
        low = np.where(kind == UPPER, 1 - prob, 0.0)
        high = np.where(kind == LOWER, 0.0, 1 - prob)
        tail = np.where(kind == INTERIOR, self._balanced_tail(prob), (low + high) / 2)
        ends = np.stack([self.quantile(tail), self.quantile(tail + prob)], axis=-1)
        return np.where((kind == NOT_UNIMODAL)[..., None], self.eti(prob), ends)

    def _balanced_tail(self, prob):
        """Return the mass below the interval whose ends have the same density: false position."""

        def excess(tail):
            below, above = self._density_at(tail), self._density_at(tail + prob)
            return (above - below) / (above + below)

        low, high = np.zeros(self._shape.shape), np.full(self._shape.shape, 1 - prob)
        at_low, at_high = excess(low), excess(high)
        for _ in range(40):
            with np.errstate(invalid="ignore", divide="ignore"):  # where the density is one-sided
                secant = (low * at_high - high * at_low) / (at_high - at_low)
            tail = np.clip(secant, low, high)
            here = excess(tail)
            if ((np.abs(here) < 1e-11) | (high - low < 1e-12) | (self._shape != INTERIOR)).all():
                break
            # The end that stays has its value halved (Illinois), or it would stay for ever.
            rising = here > 0
            low, high = np.where(rising, tail, low), np.where(rising, high, tail)
            at_low = np.where(rising, here, at_low / 2)
            at_high = np.where(rising, at_high / 2, here)
        return tail

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return what kind of interval `hdi` is."""
        return self._shape

    def mode(self) -> np.ndarray:
        """Return the mode, NaN where there is more than one local maximum."""
        points, density = self._profile
        best = density.argmax(axis=0)
        low, high = (
            np.take_along_axis(points, np.clip(best + step, 0, len(points) - 1)[None], 0)[0]
            for step in (-1, 1)
        )
        for _ in range(60):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            rising = self.pdf(left) < self.pdf(right)  # type: ignore[attr-defined]
            low, high = np.where(rising, left, low), np.where(rising, high, right)
        return np.where(self._shape == NOT_UNIMODAL, np.nan, (low + high) / 2)

    def _density_at(self, q):
        return self.pdf(self.quantile(q))  # type: ignore[attr-defined]

    @cached_property
    def _profile(self):
        low, high = self.bracket(1e-9)[0], self.bracket(1 - 1e-9)[1]  # type: ignore[attr-defined]
        points = low + (high - low) * _GRID.reshape(-1, *[1] * np.ndim(low))
        return points, self.pdf(points)  # type: ignore[attr-defined]

    @cached_property
    def _shape(self):
        _, density = self._profile
        # Ripples of the numerical density are no maxima.
        step = np.diff(density, axis=0)
        flat = np.abs(step) < 1e-7 * density.max(axis=0)
        rises, falls = (step > 0) & ~flat, (step < 0) & ~flat
        rises_after_a_fall = (rises & (np.cumsum(falls, axis=0) > 0)).any(axis=0)
        rules = [rises_after_a_fall, ~falls.any(axis=0), ~rises.any(axis=0)]
        return np.select(rules, [NOT_UNIMODAL, UPPER, LOWER], INTERIOR)


@dataclass(frozen=True, eq=False)
class MeanOfFolds(_Numeric):
    """
    The distribution of the mean over folds of independent variables, stretched about its own mean.

    The characteristic functions of the folds are multiplied, and the distribution function is their
    Fourier series on a window of 20 standard deviations on either side: no draws.

    Attributes
    ----------
    parts : distribution, batch (..., K)
        The distribution of every fold.
    stretch : float
        Factor by which the standard deviation is inflated. What it moves beyond the range of the
        measure is put at its end.

    Examples
    --------
    >>> from bayescm.distributions.beta import Beta
    >>> distribution = MeanOfFolds(Beta(np.array([11.0, 9, 13]), np.array([6.0, 8, 4])))
    >>> distribution.eti(0.95).round(6)
    array([0.518085, 0.766869])
    """

    parts: Any
    stretch: float = 1.0

    @property
    def undefined(self) -> np.ndarray:
        """Return the mean over folds of the mass on which the measure is undefined."""
        shape = self.parts.mean().shape
        return np.broadcast_to(self.parts.undefined, shape).mean(axis=-1)

    def mean(self) -> np.ndarray:
        """Return the mean."""
        return self._center

    @cached_property
    def _center(self):
        return self.parts.mean().mean(axis=-1)

    def sd(self) -> np.ndarray:
        """Return the standard deviation."""
        return self.stretch * self._plain_sd

    @cached_property
    def _plain_sd(self):
        spread = self.parts.sd()
        return np.sqrt((spread**2).sum(axis=-1)) / spread.shape[-1]

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment."""
        third = self.parts.skewness() * self.parts.sd() ** 3
        return third.sum(axis=-1) / third.shape[-1] ** 3 / self._plain_sd**3

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        z = self._standard(x)
        times, phi = self._series
        wave = np.exp(-1j * times * z[..., None]) - np.exp(1j * times * _WINDOW)
        below = (1j * phi * wave / times).real.sum(axis=-1) + (z + _WINDOW) / 2
        low, high = self._range
        inside = np.clip(below / _WINDOW, 0, 1)
        return np.where(np.asarray(x) < low, 0.0, np.where(np.asarray(x) >= high, 1.0, inside))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x."""
        z = self._standard(x)
        times, phi = self._series
        wave = (phi * np.exp(-1j * times * z[..., None])).real.sum(axis=-1)
        return np.maximum((wave + 0.5) / _WINDOW, 0) / self.sd()

    def bracket(self, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return points between which the quantile lies."""
        center, half = self.mean(), _WINDOW * self.sd()
        low, high = self._range
        shape = np.broadcast_shapes(np.shape(q), center.shape)
        ends = np.maximum(center - half, low), np.minimum(center + half, high)
        return np.broadcast_to(ends[0], shape), np.broadcast_to(ends[1], shape)

    @cached_property
    def _range(self):
        """Return the ends of the folds' own range: what a stretch moves beyond is put there."""
        return tuple(self.parts.quantile(end).mean(axis=-1) for end in (0.0, 1.0))

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the numerical error of a quantile: what the series leaves out, and rounding."""
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
            times = np.pi / _WINDOW * np.arange(1, terms + 1)
            phi = self._characteristic(times, spacing)
            if terms >= _MOST_TERMS or (np.abs(phi[..., -terms // 8 :]) < 1e-13).all():
                return times, phi
            terms, spacing = 2 * terms, max(spacing / 2, 2**-7)

    def _characteristic(self, times, spacing):
        """Return the product of the folds' characteristic functions, in standard units."""
        nodes = np.arange(-8.5, 8.5 + spacing / 2, spacing)
        weights = spacing * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
        center = self.parts.mean()
        at = ndtr(nodes).reshape(-1, *[1] * center.ndim)
        scale = center.shape[-1] * self._plain_sd[..., None]
        deviations = np.moveaxis((self.parts.quantile(at) - center) / scale, 0, -1)
        product = np.ones((*self._plain_sd.shape, len(times)), complex)
        for index in np.ndindex(self._plain_sd.shape):  # one at a time: the arrays stay small
            waves = np.exp(1j * deviations[index][..., None] * times)
            product[index] = np.einsum("g,kgn->kn", weights, waves).prod(axis=0)
        return product


@dataclass(frozen=True, eq=False)
class MixtureOfFolds(_Numeric):
    """
    The distribution of one fold picked at random: the average of the folds' posteriors.

    Attributes
    ----------
    parts : distribution, batch (..., K)
        The distribution of every fold.

    Examples
    --------
    >>> from bayescm.distributions.beta import Beta
    >>> distribution = MixtureOfFolds(Beta(np.array([11.0, 9, 13]), np.array([6.0, 8, 4])))
    >>> distribution.eti(0.95).round(6)
    array([0.35118 , 0.898567])
    """

    parts: Any

    @property
    def undefined(self) -> np.ndarray:
        """Return the mean over folds of the mass on which the measure is undefined."""
        shape = self.parts.mean().shape
        return np.broadcast_to(self.parts.undefined, shape).mean(axis=-1)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        return self.parts.cdf(np.asarray(x)[..., None]).mean(axis=-1)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x."""
        return self.parts.pdf(np.asarray(x)[..., None]).mean(axis=-1)

    def mean(self) -> np.ndarray:
        """Return the mean."""
        return self.parts.mean().mean(axis=-1)

    def sd(self) -> np.ndarray:
        """Return the standard deviation."""
        return np.sqrt((self.parts.sd() ** 2 + self._offset**2).mean(axis=-1))

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment."""
        spread = self.parts.sd()
        third = self.parts.skewness() * spread**3 + 3 * self._offset * spread**2 + self._offset**3
        return third.mean(axis=-1) / self.sd() ** 3

    @property
    def _offset(self):
        center = self.parts.mean()
        return center - center.mean(axis=-1, keepdims=True)

    def bracket(self, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return points between which the quantile lies: those of the folds."""
        each = self.parts.quantile(np.asarray(q)[..., None])
        return each.min(axis=-1), each.max(axis=-1)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the numerical error of a quantile: rounding."""
        return 1e-14 + np.spacing(np.abs(x))
