"""Distributions of the difference of two measures: independent, paired, or over folds."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta as beta_function
from scipy.special import ndtr, stdtr, stdtrit

from bayescm.distributions import beta as distributions
from bayescm.distributions.base import Distribution, near_normal
from bayescm.distributions.beta import PointMass
from bayescm.distributions.discrete import Discrete
from bayescm.distributions.hdi import INTERIOR
from bayescm.distributions.integrals.quadrature import Quadrature

# The trapezoidal rule for a standard normal variable: exponentially accurate for smooth functions.
_NODES = np.linspace(-8.5, 8.5, 137)
_WEIGHTS = np.exp(-(_NODES**2) / 2)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MASS = ndtr(_NODES)
_GAUSS = np.polynomial.legendre.leggauss(40)


@dataclass(frozen=True, eq=False)
class Independent(Distribution):
    """
    The distribution of A - B, of two independent measures whose distributions are known.

    Attributes
    ----------
    first, second : distribution
        Of one number each, with ``cdf``, ``pdf``, ``quantile``, ``mean`` and ``sd``.

    Examples
    --------
    >>> from bayescm.distributions.beta import Beta
    >>> distribution = Independent(Beta(4.0, 4.0), Beta(11.0, 6.0))
    >>> round(float(distribution.sf(0)), 9)
    0.238793916
    """

    how: ClassVar[str] = "quadrature"
    first: Distribution
    second: Distribution
    shape = ()
    _start = near_normal

    @property
    def support(self) -> tuple[float, float]:
        (low, high), (least, most) = self.first.support, self.second.support
        return float(low - most), float(high - least)

    @cached_property
    def _rule(self):
        """The points at which the second distribution is taken, and weights that sum to 1."""
        if isinstance(self.second, Discrete):
            return self.second.values, self.second.weights
        if not any(isinstance(each, Quadrature) for each in (self.first, self.second)):
            return np.asarray(self.second.quantile(_MASS), float), _WEIGHTS
        # Few points, since each is an integral of its own.
        low, high = self.second.quantile(np.array([1e-12, 1 - 1e-12]))
        points = (low + high) / 2 + (high - low) / 2 * _GAUSS[0]
        weights = _GAUSS[1] * self.second.pdf(points)
        return points, weights / weights.sum()

    def cdf(self, x: ArrayLike) -> np.ndarray:
        points, weights = self._rule
        return self.first.cdf(np.asarray(x, float)[..., None] + points) @ weights

    def pdf(self, x: ArrayLike) -> np.ndarray:
        points, weights = self._rule
        low, high = self.first.support
        at = np.asarray(x, float)[..., None] + points
        with np.errstate(divide="ignore", invalid="ignore"):
            density = self.first.pdf(np.clip(at, low, high))
        return np.where((at > low) & (at < high), density, 0.0) @ weights

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        # Ties are of atoms with atoms.
        points, weights = self._rule
        at = np.asarray(x, float)[..., None] + points
        atoms = isinstance(self.second, Discrete)
        return (self.first.mass_at(at) if atoms else np.zeros(at.shape)) @ weights

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), 1e-9)

    def mean(self) -> np.ndarray:
        return self.first.mean() - self.second.mean()

    def sd(self) -> np.ndarray:
        return np.hypot(self.first.sd(), self.second.sd())

    def shortfall(self) -> np.ndarray:
        return self._rule[1] @ _shortfall(self.first, self._rule[0])


def _shortfall(distribution, points):
    """Return E max(0, x - A) at each point: the integral of the cdf up to it."""
    if isinstance(distribution, Discrete):
        below = np.searchsorted(distribution.values, points, side="right")
        mass = np.concatenate([[0.0], np.cumsum(distribution.weights)])[below]
        return (
            points * mass
            - np.concatenate([[0.0], np.cumsum(distribution.weights * distribution.values)])[below]
        )
    nodes, weights = np.polynomial.legendre.leggauss(64)
    low = min(float(distribution.quantile(1e-12)), float(points[0]))
    width = (points - low) / 2
    at = low + width[:, None] * (nodes + 1)
    return width * (distribution.cdf(at) @ weights)


@dataclass(frozen=True, eq=False)
class Discordant(Distribution):
    """
    W - L for (W, L, rest) ~ Dirichlet: two classifiers' shares of the same examples.

    W is the share that only the first gets right, L the share that only the second does; what both
    get right cancels out.

    Attributes
    ----------
    wins, losses, rest : float
        Dirichlet parameters > 0.

    Examples
    --------
    >>> distribution = Discordant(12.5, 6.5, 83.0)
    >>> distribution.eti(0.95).round(4), round(float(distribution.sf(0)), 4)
    (array([-0.0229,  0.1433]), 0.9223)
    """

    how: ClassVar[str] = "quadrature"
    wins: float
    losses: float
    rest: float
    support = -1.0, 1.0
    shape = ()
    _start = near_normal

    def cdf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        won, lost = self._points
        below = np.empty(x.shape)
        below[x > 0] = _given(x[x > 0], lost, self.wins, self.rest)
        below[x < 0] = 1 - _given(-x[x < 0], won, self.losses, self.rest)
        below[x == 0] = Beta(self.wins, self.losses).cdf(0.5)
        return below

    def pdf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        won, lost = self._points
        density = np.empty(x.shape)
        density[x >= 0] = _density(x[x >= 0], lost, self.wins, self.rest)
        density[x < 0] = _density(-x[x < 0], won, self.losses, self.rest)
        return density

    def mean(self) -> np.ndarray:
        return np.asarray((self.wins - self.losses) / self._total)

    def sd(self) -> np.ndarray:
        square = (self.wins + self.losses) / self._total - self.mean() ** 2
        return np.sqrt(square / (self._total + 1))

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), 1e-9)

    def shortfall(self) -> np.ndarray:
        half = Beta(self.losses, self.wins)
        share = (self.wins + self.losses) / self._total
        mean = self.losses / (self.wins + self.losses)
        # E max(0, 2b - 1) for a beta variable b, by its incomplete mean.
        upper = Beta(self.losses + 1, self.wins).sf(0.5) * mean
        return share * (2 * upper - half.sf(0.5))

    @property
    def _total(self):
        return self.wins + self.losses + self.rest

    @cached_property
    def _points(self):
        won = Beta(self.wins, self.losses + self.rest).quantile(_MASS)
        lost = Beta(self.losses, self.wins + self.rest).quantile(_MASS)
        return np.minimum(won, 1 - 1e-16), np.minimum(lost, 1 - 1e-16)


def _given(x, points, shape, rest):
    """P(one share - the other <= x) for x >= 0, as a mean over the points of the other share."""
    scaled = np.clip((x[..., None] + points) / (1 - points), 0, 1)
    return Beta(shape, rest).cdf(scaled) @ _WEIGHTS


def _density(x, points, shape, rest):
    scaled = (x[..., None] + points) / (1 - points)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        density = Beta(shape, rest).pdf(np.clip(scaled, 1e-300, 1 - 1e-16)) / (1 - points)
    return np.where(scaled < 1, density, 0.0) @ _WEIGHTS


def Beta(a: float, b: float) -> distributions.Beta:  # noqa: D103
    return distributions.Beta(np.asarray(a), np.asarray(b))


def discordant(wins: float, losses: float, rest: float):
    """Return the distribution of the difference of two shares of the same examples."""
    if wins > 0 and losses > 0 and rest > 0:
        return Discordant(float(wins), float(losses), float(rest))
    if wins == 0 and losses == 0:
        return PointMass(np.asarray(0.0))
    return None


@dataclass(frozen=True, eq=False)
class StudentT(Distribution):
    """
    Student's t distribution with a location and a scale; a point mass where the scale is 0.

    The mean is the location also where the distribution has none.

    Attributes
    ----------
    location, scale : float
        ``scale >= 0``.
    freedom : float
        Degrees of freedom > 0.
    """

    location: float
    scale: float
    freedom: float
    support = -np.inf, np.inf
    shape = ()

    def cdf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        if self.scale == 0:
            return (self.location <= x).astype(float)
        return stdtr(self.freedom, (x - self.location) / self.scale)

    def sf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        if self.scale == 0:
            return (self.location > x).astype(float)
        return stdtr(self.freedom, (self.location - x) / self.scale)

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        return np.where((np.asarray(x) == self.location) & (self.scale == 0), 1.0, 0.0)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self.location + self.scale * np.nan_to_num(stdtrit(self.freedom, q))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        if self.scale == 0:
            return np.where(np.asarray(x) == self.location, np.inf, 0.0)
        return self._standard((np.asarray(x) - self.location) / self.scale) / self.scale

    def mean(self) -> np.ndarray:
        return np.asarray(self.location)

    mode = mean

    def sd(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            ratio = np.divide(self.freedom, max(self.freedom - 2, 0.0))
        return np.asarray(self.scale and self.scale * np.sqrt(ratio))

    def skewness(self) -> np.ndarray:
        return np.asarray(0.0 if self.freedom > 3 and self.scale else np.nan)

    def hdi(self, prob: float) -> np.ndarray:
        return self.eti(prob)

    def hdi_kind(self, prob: float) -> np.ndarray:
        return np.asarray(INTERIOR)

    def shortfall(self) -> np.ndarray:
        if self.scale == 0:
            return np.asarray(max(0.0, -self.location))
        if self.freedom <= 1:
            return np.asarray(np.inf)
        nu, c = self.freedom, self.location / self.scale
        spread = (nu + c**2) / (nu - 1) * self._standard(c)
        return np.asarray(self.scale * spread - self.location * stdtr(nu, -c))

    def _standard(self, z):
        nu = self.freedom
        return (1 + z**2 / nu) ** (-(nu + 1) / 2) / (nu**0.5 * beta_function(0.5, nu / 2))
