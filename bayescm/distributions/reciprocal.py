r"""
Distribution of the reciprocal of a number if it is positive, and of infinity otherwise.

For J in (-1, 1), such as Youden's J, the number is

    x = 1 / J  if J > 0,  else infinity,

    P(x <= t) = P(J >= 1 / t),    f(t) = f_J(1 / t) / t**2,    P(x = inf) = P(J <= 0).

An interval of mass m with mass u above it, in terms of J, is [1 / Q_J(1 - u), 1 / Q_J(1 - u - m)].
The shortest one has equal densities f_J(j) j**2 at both ends. It is searched on a grid of u, and
refined by the Illinois variant of false position (Dowell & Jarratt 1971). If P(J <= 0) exceeds the
left-out mass, every interval of mass m extends to infinity, and the one with the largest start is
used.

References
----------
Altman, D. G. (1998). Confidence intervals for the number needed to treat. BMJ 317, 1309-1312.
doi:10.1136/bmj.317.7168.1309

Dowell, M. & Jarratt, P. (1971). A modified regula falsi method for computing the root of an
equation. BIT 11, 168-174. doi:10.1007/BF01934364
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.base import Distribution
from bayescm.distributions.empirical import NEVER
from bayescm.distributions.hdi import INTERIOR, LOWER, UPPER

# Shares of the left-out mass that are above the interval in terms of J.
_SPLITS = special.expit(np.linspace(-9, 9, 33))
_ZOOMS = 12  # steps of the search for the mode; each shrinks the range to a sixteenth
_STEPS = 15  # maximum number of steps of false position
_TOLERANCE = 1e-9  # in the share of the left-out mass, at which the iteration ends
# Trapezoidal rule on the normal scale. Further out, quantiles of J take seconds, and 1 / J does
# not change the sixth digit of a mean unless J <= 0 has a probability above `NEVER`.
_Z = np.arange(-5.5, 5.51, 0.0625)
_WEIGHTS = np.exp(-(_Z**2) / 2) / np.exp(-(_Z**2) / 2).sum()


@dataclass(frozen=True, eq=False)
class Reciprocal(Distribution):
    """
    Distribution of 1 / J if J > 0, and of infinity otherwise.

    Attributes
    ----------
    inner : Distribution, shape (...)
        Continuous distribution of J, between -1 and 1.

    Examples
    --------
    >>> from bayescm.measures.catalogue import informedness
    >>> from bayescm.posteriors import dirichlet_multinomial
    >>> youden = dirichlet_multinomial([[30, 35], [15, 65]]).distribution(informedness)
    >>> number_needed = Reciprocal(youden)
    >>> number_needed.eti(0.95).round(3), float(number_needed.mass_at(np.inf).round(5))
    (array([2.406, 8.154]), 0.00019)
    """

    how = "quadrature"
    support = 1.0, np.inf
    inner: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner.shape

    def take(self, index: Any) -> "Reciprocal":
        return Reciprocal(self.inner.take(index))

    def with_tolerance(self, accuracy: float) -> "Reciprocal":
        return replace(self, inner=self.inner.with_tolerance(accuracy))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        return np.where(x == np.inf, 1.0, self.inner.sf(_inverse(x)))[()]

    def sf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        return np.where(x == np.inf, 0.0, self.inner.cdf(_inverse(x)))[()]

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(x, float) == np.inf, self.inner.cdf(0.0), 0.0)[()]

    def quantile(self, q: ArrayLike) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return 1 / np.maximum(self.inner.quantile(1 - np.asarray(q, float)), 0.0)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        j = _inverse(x)
        return self.inner.pdf(j) * np.where(j <= 1, j, 0.0) ** 2

    def error_at(self, x: ArrayLike) -> np.ndarray:
        j = _inverse(x)
        inside = (j > 0) & (j < 1)
        return np.where(inside, self.inner.error_at(j) / np.where(inside, j, 1.0) ** 2, 0.0)[()]

    def mean(self) -> np.ndarray:
        return self._moments[0][()]

    def sd(self) -> np.ndarray:
        return self._moments[1][()]

    def skewness(self) -> np.ndarray:
        return self._moments[2][()]

    @cached_property
    def _moments(self):
        """Mean, sd and skewness, infinite or NaN unless J <= 0 is practically impossible."""
        values = self.quantile(special.ndtr(_Z).reshape(-1, *[1] * len(self.shape)))
        is_finite = self.inner.cdf(0.0) < NEVER
        values = np.where(is_finite & np.isfinite(values), values, 1.0)
        mean = np.tensordot(_WEIGHTS, values, 1)
        second, third = (np.tensordot(_WEIGHTS, (values - mean) ** k, 1) for k in (2, 3))
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = third / second**1.5
        return [
            np.where(is_finite, moment, otherwise)
            for moment, otherwise in ((mean, np.inf), (np.sqrt(second), np.nan), (skewness, np.nan))
        ]

    def mode(self) -> np.ndarray:
        def peak(j):
            density = self.inner.pdf(j) * j**2
            return np.expand_dims(density.argmax(0), 0)

        steps = np.linspace(0, 1, 33).reshape(-1, *[1] * len(self.shape))
        low, high = np.zeros(self.shape), np.ones(self.shape)
        for _ in range(_ZOOMS):
            grid = low + (high - low) * steps
            best = peak(grid)
            low = np.take_along_axis(grid, np.maximum(best - 1, 0), 0)[0]
            high = np.take_along_axis(grid, np.minimum(best + 1, len(steps) - 1), 0)[0]
        return (2 / (low + high))[()]

    def _highest(self, prob):
        if prob not in self._found:
            self._found[prob] = _shortest(self.inner, prob)
        return self._found[prob]


def _inverse(x):
    """Return 1 / x, or a number above the range of J if x <= 0."""
    x = np.asarray(x, float)
    with np.errstate(divide="ignore"):
        return np.where(x > 0, 1 / np.where(x > 0, x, 1.0), 2.0)


def _shortest(inner, prob):
    """Return the shortest intervals of 1 / J with a given mass, (..., 2), and their kinds."""
    spare = 1 - prob - inner.cdf(0.0)  # mass above J = 0 that an interval leaves out
    room = np.where(spare > 0, spare, 1 - prob)  # if there is no such mass, the value is not used

    def ends_of(split):
        """Return both ends, given the share of the left-out mass above J."""
        below = 1 - room * split - np.reshape([0.0, prob], (2, *[1] * np.ndim(split)))
        with np.errstate(divide="ignore"):
            return 1 / np.maximum(inner.quantile(below), 0.0)

    def gap(split):
        """Return the log ratio of the densities at the upper and the lower end."""
        ends = ends_of(split)
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = np.log(inner.pdf(1 / ends)) - 2 * np.log(ends)
            return np.nan_to_num(levels[1] - levels[0])

    grid = _SPLITS.reshape(-1, *[1] * np.ndim(spare)) + np.zeros(np.shape(spare))
    low, high = ends_of(grid)
    with np.errstate(invalid="ignore"):
        best = np.nan_to_num(high - low, nan=np.inf).argmin(0)
    left = _SPLITS[np.maximum(best - 1, 0)]
    right = _SPLITS[np.minimum(best + 1, len(_SPLITS) - 1)]
    ends = np.moveaxis(ends_of(_root(gap, left, right, _SPLITS[best])), 0, -1)
    masses = np.reshape([1 - prob, prob], (2, *[1] * np.ndim(spare))) + np.zeros(np.shape(spare))
    with np.errstate(divide="ignore"):
        first_end, last_start = 1 / np.maximum(inner.quantile(masses), 0.0)
    kinds = np.select([spare <= 0, best == 0], [UPPER, LOWER], INTERIOR)
    lower = np.select([spare <= 0, best == 0], [last_start, 1.0], ends[..., 0])
    upper = np.select([spare <= 0, best == 0], [np.inf, first_end], ends[..., 1])
    return np.stack([lower, upper], axis=-1), kinds


def _root(function, left, right, otherwise):
    """Return the root of a batched function between two points, or a fallback."""
    at_left, at_right = function(left), function(right)
    has_root = np.sign(at_left) * np.sign(at_right) < 0
    for _ in range(_STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = right - at_right * (right - left) / (at_right - at_left)
        middle = np.where(has_root, middle, otherwise)
        at_middle = function(middle)
        crosses = np.sign(at_middle) * np.sign(at_right) < 0
        # The value at a retained end is halved, so that this end eventually moves.
        left, at_left = np.where(crosses, right, left), np.where(crosses, at_right, at_left / 2)
        right, at_right = middle, at_middle
        if (np.abs(right - left)[has_root] < _TOLERANCE).all() or not at_middle.any():
            break
    return np.where(has_root, right, otherwise)
