"""
Distributions of the difference between two measures.

They cover independent evidence, shares of the same examples, and differences over folds. For other
measures of the same examples, such as F1, see `bayescm.distributions.preintegration`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta as beta_function
from scipy.special import ndtr, stdtr, stdtrit

from bayescm.distributions.base import (
    PROBABILITY_ACCURACY,
    Distribution,
    concatenate,
    near_normal,
)
from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.empirical import Discrete, Empirical
from bayescm.distributions.hdi import INTERIOR
from bayescm.distributions.preintegration import FunctionOfDirichlet, joint_difference
from bayescm.distributions.quadrature import FunctionOfShares, difference

# Trapezoidal rule for a standard normal variable, which converges exponentially.
_NODES = np.linspace(-8.5, 8.5, 137)
WEIGHTS = np.exp(-(_NODES**2) / 2)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
MASS = ndtr(_NODES)
_GAUSS = np.polynomial.legendre.leggauss(40)


def independent(first: Distribution, second: Distribution) -> "Independent | None":
    """
    Return the distribution of A - B for independent measures, or None.

    It is available if its intervals are accurate to many digits: for closed forms and for functions
    of a few independent shares. Otherwise, draws are better.
    """
    distribution = Independent(_accurate(first), _accurate(second))
    return distribution if distribution.is_exact else None


def _accurate(side):
    """Return a side with the accuracy of probabilities, unless its accuracy is set."""
    if isinstance(side, FunctionOfShares) and side.accuracy is None:
        return side.with_tolerance(PROBABILITY_ACCURACY)
    return side


def independent_tails(first: Distribution, second: Distribution) -> "Independent | None":
    """Return the distribution of A - B for probabilities only, or None if these are slow."""
    pair = first, second
    discrete = all(isinstance(side, Discrete) for side in pair)
    quick = all(isinstance(side, FunctionOfShares) or side.how == "closed form" for side in pair)
    return Independent(*pair) if discrete or quick else None


@dataclass(frozen=True, eq=False)
class DrawnDifference(Empirical):
    """
    Draws of a difference whose probabilities are computed more accurately without the draws.

    Attributes
    ----------
    tails : Distribution
        The same difference, with an accurate distribution function.
    """

    tails: Any = None

    @classmethod
    def concatenate(cls, members: Sequence) -> None:
        return None

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return self.tails.cdf(x)

    def sf(self, x: ArrayLike) -> np.ndarray:
        return self.tails.sf(x)

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        return self.tails.mass_at(x)

    def probability_error(self, x: ArrayLike) -> np.ndarray:
        return self.tails.probability_error(x)


@dataclass(frozen=True, eq=False)
class Independent(Distribution):
    """
    Distribution of A - B for two independent measures with known distributions.

    Attributes
    ----------
    first, second : distribution
        Distributions with ``cdf``, ``pdf``, ``quantile``, ``mean`` and ``sd``. Both are single
        numbers or, if they are functions of beta variables, batches of the same shape.

    Examples
    --------
    >>> from bayescm.distributions.beta import Beta
    >>> distribution = Independent(Beta(4.0, 4.0), Beta(11.0, 6.0))
    >>> round(float(distribution.sf(0)), 9)
    0.238793916
    """

    how: ClassVar[str] = "quadrature"
    first: Any
    second: Any
    _start = near_normal

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.first.shape, self.second.shape)

    @property
    def support(self) -> tuple[float, float]:
        (low, high), (least, most) = self.first.support, self.second.support
        return float(low - most), float(high - least)

    @classmethod
    def concatenate(cls, members: Sequence) -> "Independent | None":
        sides = [[member.first for member in members], [member.second for member in members]]
        first, second = (concatenate(side) for side in sides)
        return None if first is None or second is None else cls(first, second)

    @cached_property
    def _lines(self):
        """The same difference as a function of two shares or of all cells, or None."""
        lines = difference(self.first, self.second)
        return joint_difference(self.first, self.second) if lines is None else lines

    @property
    def is_exact(self) -> bool:
        """Whether intervals are accurate to many digits."""
        closed = all(side.how == "closed form" for side in (self.first, self.second))
        return closed or self._lines is not None

    def take(self, index: Any) -> "Independent":
        return Independent(self.first.take(index), self.second.take(index))

    @cached_property
    def _rule(self):
        """Quadrature nodes of the second distribution, and weights that sum to 1."""
        if isinstance(self.second, Discrete):
            return self.second.values, self.second.weights
        if not any(isinstance(side, FunctionOfShares) for side in (self.first, self.second)):
            mass = MASS.reshape(-1, *[1] * len(self.shape))
            return np.asarray(self.second.quantile(mass), float), WEIGHTS
        # Few points, because each requires a separate integral.
        low, high = self.second.quantile(np.array([1e-12, 1 - 1e-12]))
        points = (low + high) / 2 + (high - low) / 2 * _GAUSS[0]
        weights = _GAUSS[1] * self.second.pdf(points)
        return points, weights / weights.sum()

    def _over(self, function, x):
        """Return the mean of ``function(x + B)`` over the distribution of B, the second measure."""
        points, weights = self._rule
        x = np.asarray(x, float) + np.zeros(self.shape)
        further = [1] * (x.ndim - len(self.shape))
        at = x + points.reshape(-1, *further, *points.shape[1:])
        return np.tensordot(weights, function(at), 1)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return self._over(self.first.cdf, x) if self._lines is None else self._lines.cdf(x)

    def sf(self, x: ArrayLike) -> np.ndarray:
        return super().sf(x) if self._lines is None else self._lines.sf(x)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        if self._lines is not None:
            return self._lines.pdf(x)
        low, high = self.first.support

        def density(at):
            with np.errstate(divide="ignore", invalid="ignore"):
                inside = self.first.pdf(np.clip(at, low, high))
            return np.where((at > low) & (at < high), inside, 0.0)

        return self._over(density, x)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return super().quantile(q) if self._lines is None else self._lines.quantile(q)

    def _highest(self, prob):
        return super()._highest(prob) if self._lines is None else self._lines._highest(prob)

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        # Ties occur only between atoms.
        if not isinstance(self.second, Discrete):
            return super().mass_at(x)
        return self._over(self.first.mass_at, x)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), 1e-9) if self._lines is None else self._lines.error_at(x)

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        return (
            super().interval_with_error(prob, kind)
            if self._lines is None
            else self._lines.interval_with_error(prob, kind)
        )

    def mean(self) -> np.ndarray:
        return self.first.mean() - self.second.mean()

    def sd(self) -> np.ndarray:
        return np.hypot(self.first.sd(), self.second.sd())

    def skewness(self) -> np.ndarray:
        # The third central moment of a difference is the difference of the third central moments.
        # For a point mass, it is 0.
        first, second = self.first.sd(), self.second.sd()
        with np.errstate(divide="ignore", invalid="ignore"):
            third = np.where(first == 0, 0.0, self.first.skewness() * first**3) - np.where(
                second == 0, 0.0, self.second.skewness() * second**3
            )
            return third / np.hypot(first, second) ** 3

    def expected_loss(self) -> np.ndarray:
        if self._lines is None:
            return self._rule[1] @ _expected_loss(self.first, self._rule[0])
        if isinstance(self._lines, FunctionOfDirichlet):
            return self._lines.expected_loss()
        if isinstance(self.first, FunctionOfShares) or isinstance(self.second, FunctionOfShares):
            return self._integral_below_zero()
        return _crossed(self.first, self.second)

    def _integral_below_zero(self):
        """Return E max(0, -x), the integral of the cdf below 0, in the variable asinh(x)."""
        nodes, weights = (rule.reshape(-1, *[1] * len(self.shape)) for rule in _GAUSS)
        low = np.arcsinh(np.minimum(self._lines.quantile(1e-10), 0))
        at = low / 2 * (1 - nodes)
        return (weights * -low / 2 * self._lines.cdf(np.sinh(at)) * np.cosh(at)).sum(0)


def _crossed(first, second):
    """Return E max(0, B - A), the integral of the probability that x is between A and B."""
    tails = np.array([1e-13, 1 - 1e-13]).reshape(2, *[1] * len(first.shape))
    ends = np.sort(np.concatenate([side.quantile(tails) for side in (first, second)]), axis=0)
    nodes, weights = (rule.reshape(-1, *[1] * ends.ndim) for rule in _GAUSS)
    half = np.diff(ends, axis=0) / 2
    at = ends[:-1] + half * (1 + nodes)
    return (weights * half * first.cdf(at) * second.sf(at)).sum(axis=(0, 1))


def _expected_loss(distribution, points):
    """Return E max(0, x - A) at each point, the integral of the cdf up to the point."""
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
    W - L for (W, L, rest) ~ Dirichlet: the difference between two shares of the same examples.

    W is the share that only the first classifier gets right, and L the share that only the second
    gets right. Examples that both get right cancel out.

    Attributes
    ----------
    wins, losses, rest : ndarray
        Dirichlet parameters > 0, of the same shape.

    Examples
    --------
    >>> distribution = discordant(12.5, 6.5, 83.0)
    >>> distribution.eti(0.95).round(4), round(float(distribution.sf(0)), 4)
    (array([-0.0229,  0.1433]), 0.9223)
    """

    how: ClassVar[str] = "quadrature"
    wins: np.ndarray
    losses: np.ndarray
    rest: np.ndarray
    support = -1.0, 1.0
    _start = near_normal

    @property
    def shape(self) -> tuple[int, ...]:
        return self.wins.shape

    @classmethod
    def concatenate(cls, members: Sequence) -> "Discordant":
        return cls(*np.array([(member.wins, member.losses, member.rest) for member in members]).T)

    def take(self, index: Any) -> "Discordant":
        return Discordant(
            *(counts.ravel()[index] for counts in (self.wins, self.losses, self.rest))
        )

    def cdf(self, x: ArrayLike) -> np.ndarray:
        if not np.any(x):  # only discordant examples matter here
            even = Beta(self.wins, self.losses).cdf(0.5)
            return np.broadcast_to(even, np.broadcast_shapes(np.shape(x), self.shape))
        return self._lines.cdf(x)

    def sf(self, x: ArrayLike) -> np.ndarray:
        return 1 - self.cdf(x) if not np.any(x) else self._lines.sf(x)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return self._lines.pdf(x)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self._lines.quantile(q)

    def _highest(self, prob):
        return self._lines._highest(prob)

    @cached_property
    def _lines(self):
        """The same difference as a function of two shares: wins, and losses among non-wins."""
        shares = Beta(self.wins, self.losses + self.rest), Beta(self.losses, self.rest)
        return FunctionOfShares(
            shares, _log_odds_of_difference, self.support, accuracy=PROBABILITY_ACCURACY
        )

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        return self._lines.interval_with_error(prob, kind)

    def mean(self) -> np.ndarray:
        return np.asarray((self.wins - self.losses) / self._total)

    def sd(self) -> np.ndarray:
        square = (self.wins + self.losses) / self._total - self.mean() ** 2
        return np.sqrt(square / (self._total + 1))

    def skewness(self) -> np.ndarray:
        # For p ~ Dirichlet with means m and total N, the third central moment of sum(c p) is
        # 2 / ((N + 1) (N + 2)) times the sum of m (c - mean)^3.
        mean, total = self.mean(), self._total
        cubes = self.wins * (1 - mean) ** 3 - self.losses * (1 + mean) ** 3 - self.rest * mean**3
        return 2 * cubes / (total * (total + 1) * (total + 2) * self.sd() ** 3)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return self._lines.error_at(x)

    def expected_loss(self) -> np.ndarray:
        half = Beta(self.losses, self.wins)
        share = (self.wins + self.losses) / self._total
        mean = self.losses / (self.wins + self.losses)
        # E max(0, 2b - 1) for a beta variable b, from its incomplete mean.
        upper = Beta(self.losses + 1, self.wins).sf(0.5) * mean
        return share * (2 * upper - half.sf(0.5))

    @property
    def _total(self):
        return self.wins + self.losses + self.rest


def _log_odds_of_difference(won, lost):
    """Return log((1 + x) / (1 - x)) of the difference x."""
    return np.log((2 * won.v + won.c * lost.c) / (won.c * (1 + lost.v)))


def discordant(wins: float, losses: float, rest: float) -> Any:
    """Return the distribution of W - L, see `Discordant`, or None if it is not available."""
    if wins > 0 and losses > 0 and rest > 0:
        return Discordant(*(np.asarray(counts, float) for counts in (wins, losses, rest)))
    if wins == 0 and losses == 0:
        return PointMass(np.asarray(0.0))
    return None


@dataclass(frozen=True, eq=False)
class StudentT(Distribution):
    """
    Student's t distribution with a location and a scale; a point mass if the scale is 0.

    The mean is the location, even if the distribution has no mean.

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

    def expected_loss(self) -> np.ndarray:
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


@dataclass(frozen=True, eq=False)
class Truncated(Distribution):
    """
    Distribution of one number truncated to an interval.

    Attributes
    ----------
    distribution : Distribution
        Distribution before truncation.
    support : pair of float
        Bounds of the interval, which may be infinite.

    Examples
    --------
    >>> Truncated(StudentT(0.9, 0.1, 4), (0.0, 1.0)).eti(0.95).round(3)
    array([0.604, 0.991])
    """

    distribution: Any
    support: tuple[float, float] = (-np.inf, np.inf)
    shape = ()

    @property
    def how(self) -> str:  # type: ignore[override]
        return self.distribution.how

    @cached_property
    def _mass(self):
        """Mass below the lower bound and mass up to the upper bound."""
        low, high = self.support
        outside = self.distribution.cdf(low) - self.distribution.mass_at(low)
        return float(outside), float(self.distribution.cdf(high))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        below, until = self._mass
        return np.clip((self.distribution.cdf(x) - below) / (until - below), 0, 1)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        below, until = self._mass
        inside = self.distribution.quantile(below + np.asarray(q) * (until - below))
        return np.clip(inside, *self.support)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        (below, until), (low, high) = self._mass, self.support
        x = np.asarray(x, float)
        inside = (x >= low) & (x <= high)
        return np.where(inside, self.distribution.pdf(x) / (until - below), 0.0)
