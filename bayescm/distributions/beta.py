"""
Distributions of a measure: the distribution of one number, or of a batch of them.

Every distribution here, and every distribution that a sibling in this folder returns, answers the
same calls, all vectorised over the batch, whose shape is that of its parameters:

``cdf(x)``, ``sf(x)``
    Probability of at most, and of more than, x; elementwise against the batch.
``quantile(q)``, ``pdf(x)``
    Elementwise against the batch.
``mean()``, ``sd()``, ``skewness()``, ``mode()``
    Of the shape of the batch; the mode is NaN where no single point is one.
``eti(prob)``, ``hdi(prob)``
    Shape ``(..., 2)``. Where the region of highest density is not one interval, `hdi` returns the
    equal-tailed interval.
``hdi_kind(prob)``
    Of the shape of the batch: ``interior``, ``one-sided lower`` (starts at the lower end of the
    support), ``one-sided upper``, or why the equal-tailed interval stands in: ``flat``,
    ``U-shaped``, ``not unimodal``.
``error_at(x)``
    Numerical error of a quantile that came out as x.
``how``, ``undefined``
    How the numbers are made; the mass on which the measure is 0/0, which is left out.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.beta_hdi import beta_highest
from bayescm.distributions.discrete import Discrete, Empirical, Stack
from bayescm.distributions.hdi import (
    FLAT,
    INTERIOR,
    LOWER,
    NOT_UNIMODAL,
    ONE_INTERVAL,
    U_SHAPED,
    UPPER,
)
from bayescm.distributions.incomplete import betainc, betaincc, betainccinv, betaincinv, logpdf

__all__ = ["F1", "Beta", "Discrete", "Empirical", "PointMass", "Stack"]


class Continuous:
    """What follows from the quantiles alone."""

    how: ClassVar[str] = "closed form"
    undefined: float | np.ndarray = 0.0

    def eti(self, prob: float) -> np.ndarray:
        """Return the equal-tailed interval, shape (..., 2)."""
        tail = (1 - prob) / 2
        return np.stack([self.quantile(tail), self.quantile(1 - tail)], axis=-1)  # type: ignore[attr-defined]

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the numerical error of a quantile: rounding."""
        return np.spacing(np.abs(x))


@dataclass(frozen=True, eq=False)
class Beta(Continuous):
    """
    The beta distribution, for counts of any size: ``a`` and ``b`` > 0, of one shape.

    Near 1 a double has few digits left for 1 - x; a complement has its own distribution, ``Beta(b,
    a)``.

    Examples
    --------
    >>> Beta(65.5, 35.5).eti(0.95).round(4)
    array([0.5533, 0.7382])
    >>> Beta(0.5, 0.5).hdi_kind(0.95).item()
    'U-shaped'
    """

    a: np.ndarray
    b: np.ndarray

    def take(self, index: np.ndarray) -> "Beta":
        """Return the distributions of some of the batch, taken as flat."""
        a, b = np.broadcast_arrays(np.asarray(self.a, float), np.asarray(self.b, float))
        return Beta(a.ravel()[index], b.ravel()[index])

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        return betainc(self.a, self.b, np.clip(x, 0, 1))

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        return betaincc(self.a, self.b, np.clip(x, 0, 1))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point below which lies the mass q."""
        return betaincinv(self.a, self.b, q)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x."""
        return np.exp(logpdf(self.a, self.b, x))

    def mean(self) -> np.ndarray:
        """Return the mean."""
        return self.a / (np.asarray(self.a) + self.b)

    def sd(self) -> np.ndarray:
        """Return the standard deviation."""
        total = np.asarray(self.a) + self.b
        return np.sqrt(self.a / total * (self.b / total) / (total + 1))

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment."""
        total = np.asarray(self.a) + self.b
        spread = np.sqrt((total + 1) / self.a / self.b)
        return 2 * (np.asarray(self.b) - self.a) / (total + 2) * spread

    def mode(self) -> np.ndarray:
        """Return the mode, NaN where the density is flat or U-shaped."""
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (np.asarray(self.a) - 1) / (np.asarray(self.a) + self.b - 2)
        return _by_shape(self._shape, inside, 0.0, 1.0)

    def hdi(self, prob: float) -> np.ndarray:
        """Return the interval of highest density, shape (..., 2)."""
        return _highest(self, prob, self._shape, power=0)

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return what kind of interval `hdi` is."""
        return self._shape

    @cached_property
    def _shape(self):
        a, b = np.broadcast_arrays(self.a, self.b)
        rules = [(a > 1) & (b > 1), (a == 1) & (b == 1), (a < 1) & (b < 1), a > b]
        return np.select(rules, [INTERIOR, FLAT, U_SHAPED, UPPER], LOWER)


@dataclass(frozen=True, eq=False)
class F1(Continuous):
    """
    The distribution of F1: of 2u/(1 + u) with the Jaccard index u ~ Beta(a, b).

    For two classes ``a`` is the Dirichlet parameter of the true positives, and ``b`` the sum of
    those of false positives and false negatives. The moments are those of a
    hypergeometric function 2F1; the interval of highest density is found in the scale of F1, and
    is not the image of u's.

    References
    ----------
    Wang, Y., Li, J., Li, Y., Wang, R. & Yang, X. (2015). Confidence interval for F1 measure of
    algorithm performance based on blocked 3x2 cross-validation. IEEE Transactions on Knowledge
    and Data Engineering, 27(3), 651-659. doi:10.1109/TKDE.2014.2359667

    Examples
    --------
    >>> F1(65.5, 51.0).eti(0.95).round(4)
    array([0.641 , 0.7884])
    >>> F1(65.5, 51.0).mode().round(4).item()
    0.7229
    """

    a: np.ndarray
    b: np.ndarray

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        return betainc(self.a, self.b, _jaccard(x))

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        return betaincc(self.a, self.b, _jaccard(x))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point below which lies the mass q."""
        return _f1(betaincinv(self.a, self.b, q))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x."""
        u = np.asarray(x) / (2 - np.asarray(x))
        with np.errstate(invalid="ignore"):
            density = np.exp(logpdf(self.a, self.b, u) + 2 * np.log1p(u)) / 2
        return np.nan_to_num(density, posinf=np.inf)

    def mean(self) -> np.ndarray:
        """Return the mean: a / (a + b) times 2F1(1, b; a + b + 1; 1/2), a sum of positive terms."""
        a, b = np.asarray(self.a, float), np.asarray(self.b, float)
        term = total = np.ones(np.broadcast_shapes(a.shape, b.shape))
        for step in range(60):
            term = term * ((b + step) / (a + b + 1 + step) / 2)
            total = total + term
        return a / (a + b) * total

    def sd(self) -> np.ndarray:
        """Return the standard deviation."""
        return np.sqrt(self._central[0])

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment."""
        second, third = self._central
        return third / second**1.5

    @cached_property
    def _central(self):
        """Return the second and the third central moment, from deviations: nothing cancels."""
        a, b = np.asarray(self.a, float), np.asarray(self.b, float)
        swapped = a > b  # v is u or 1 - u, whichever is small: it keeps its digits
        small, large = np.where(swapped, b, a), np.where(swapped, a, b)
        about, sign = small / (small + large), np.where(swapped, -1, 1)
        first = second = third = np.zeros(np.shape(about))
        for z in np.arange(-8.5, 8.51, 0.25):
            weight = 0.25 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
            inverse = betaincinv if z < 0 else betainccinv
            v = inverse(small, large, special.ndtr(-abs(z)))
            one_plus = np.where(swapped, (2 - v) * (2 - about), (1 + v) * (1 + about))
            deviation = 2 * sign * (v - about) / one_plus
            first = first + weight * deviation
            second = second + weight * deviation**2
            third = third + weight * deviation**3
        return second - first**2, third - 3 * first * second + 2 * first**3

    def mode(self) -> np.ndarray:
        """Return the mode, NaN where there is more than one local maximum."""
        a, b = np.asarray(self.a, float), np.asarray(self.b, float)
        half = b + 2 * a - 5
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(half**2 + 16 * (a - 1))
            inside = np.where(half > 0, 4 * (a - 1) / (half + root), (root - half) / 4)
        return _by_shape(self._shape, inside, 0.0, 1.0)

    def hdi(self, prob: float) -> np.ndarray:
        """Return the interval of highest density, shape (..., 2)."""
        return _highest(self, prob, self.hdi_kind(prob), power=2)

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return what kind of interval `hdi` is."""
        finite_at_0 = (self._shape == INTERIOR) & (np.asarray(self.a) == 1)
        if not finite_at_0.any():
            return self._shape
        reaches_0 = finite_at_0 & (self.pdf(0.0) >= self.pdf(self.quantile(prob)))
        return np.where(reaches_0, LOWER, self._shape)

    @cached_property
    def _shape(self):
        # The slope of the log density has the sign of (a - 1) + (3 - b) u - (a + b) u**2.
        a, b = np.broadcast_arrays(np.asarray(self.a, float), self.b)
        hump = (b < 3) & ((3 - b) ** 2 > 4 * (a + b) * (1 - a))
        rules = [
            (a >= 1) & (b <= 1),
            (a > 1) | ((a == 1) & (b < 3)),
            (a < 1) & (b < 1),
            (a < 1) & hump,
        ]
        return np.select(rules, [UPPER, INTERIOR, U_SHAPED, NOT_UNIMODAL], LOWER)


@dataclass(frozen=True, eq=False)
class PointMass(Continuous):
    """All the mass in one point: a prevalence that is known."""

    at: np.ndarray

    def take(self, index: np.ndarray) -> "PointMass":
        """Return the distributions of some of the batch, taken as flat."""
        return PointMass(np.ravel(self.at)[index])

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        return np.where(np.asarray(x) >= self.at, 1.0, 0.0)

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        return 1.0 - self.cdf(x)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point itself."""
        return np.asarray(self.at) + np.zeros_like(q, float)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return infinity at the point, 0 elsewhere."""
        return np.where(np.asarray(x) == self.at, np.inf, 0.0)

    def mean(self) -> np.ndarray:
        """Return the point itself."""
        return np.asarray(self.at, float)

    mode = mean

    def sd(self) -> np.ndarray:
        """Return 0."""
        return np.zeros_like(self.at, float)

    def skewness(self) -> np.ndarray:
        """Return NaN: there is no spread."""
        return np.full_like(self.at, np.nan, float)

    def hdi(self, prob: float) -> np.ndarray:
        """Return the point twice."""
        return self.eti(prob)

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return ``interior``."""
        return np.full(np.shape(self.at), INTERIOR)


def _jaccard(f1):
    f1 = np.clip(f1, 0, 1)
    return f1 / (2 - f1)


def _f1(jaccard):
    return 2 * jaccard / (1 + jaccard)


def _by_shape(shape, interior, lower, upper):
    rules = [shape == INTERIOR, shape == LOWER, shape == UPPER]
    return np.select(rules, [interior, lower, upper], np.nan)


def _highest(distribution, prob, kind, power):
    """Return the interval of highest density of what is made from Beta(a, b), kind by kind."""
    back = _f1 if power else np.asarray
    ends = np.empty((*kind.shape, 2))
    inside = kind == INTERIOR
    if inside.all():
        return back(beta_highest(distribution.a, distribution.b, prob, power))
    a, b = np.broadcast_arrays(distribution.a, distribution.b)
    ends[inside] = back(beta_highest(a[inside], b[inside], prob, power))
    for name, low, high in [
        (LOWER, 0.0, distribution.quantile(prob)),
        (UPPER, distribution.quantile(1 - prob), 1.0),
    ]:
        chosen = kind == name
        ends[chosen] = np.stack(np.broadcast_arrays(low, high), -1)[chosen]
    rest = ~np.isin(kind, ONE_INTERVAL)
    if rest.any():
        ends[rest] = distribution.eti(prob)[rest]
    return ends
