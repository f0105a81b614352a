"""Distributions of the difference of two measures, independent or of the same examples."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from bayescm.distributions import beta as distributions
from bayescm.distributions.beta import INTERIOR, NOT_UNIMODAL, PointMass
from bayescm.distributions.discrete import Discrete
from bayescm.distributions.quadrature import Quadrature

# The trapezoidal rule for a standard normal variable: exponentially accurate for smooth functions.
_NODES = np.linspace(-8.5, 8.5, 137)
_WEIGHTS = np.exp(-(_NODES**2) / 2)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MASS = ndtr(_NODES)


class _Quadrature:
    """What follows from the distribution function and the density of one difference."""

    how: ClassVar[str] = "quadrature"
    limit: ClassVar[float] = 1.0  # no difference is larger
    undefined: float = 0.0

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        return 1 - self.cdf(x)  # type: ignore[attr-defined]

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point below which lies the mass q."""
        points, below = self._table
        start = np.interp(np.asarray(q, float), below, points)
        step = points[1] - points[0]
        for _ in range(6):
            slope = np.maximum(self.pdf(start), 1e-300)  # type: ignore[attr-defined]
            start = start - np.clip((self.cdf(start) - q) / slope, -step, step)  # type: ignore[attr-defined]
            start = np.clip(start, points[0], points[-1])
        return start

    def eti(self, prob: float) -> np.ndarray:
        """Return the equal-tailed interval, shape (2,)."""
        return self.quantile([(1 - prob) / 2, (1 + prob) / 2])

    def hdi(self, prob: float) -> np.ndarray:
        """Return the shortest interval, shape (2,)."""
        if not self._unimodal:
            return self.eti(prob)

        def slope(tail):
            low, high = self.pdf(self.quantile([tail, tail + prob]))  # type: ignore[attr-defined]
            return low - high

        tails = 1e-9, 1 - prob - 1e-9
        if slope(tails[0]) * slope(tails[1]) >= 0:
            return self.eti(prob)
        from scipy.optimize import brentq  # slow to import

        tail = brentq(slope, *tails, xtol=1e-10)
        return self.quantile([tail, tail + prob])

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return ``interior``, or why the equal-tailed interval stands in."""
        return np.asarray(INTERIOR if self._unimodal else NOT_UNIMODAL)

    @cached_property
    def _unimodal(self):
        density = self.pdf(self._table[0])  # type: ignore[attr-defined]
        rise = np.diff(density)
        rise = rise[np.abs(rise) > 1e-9 * density.max()]
        turns = np.flatnonzero(np.diff(np.sign(rise)))
        return len(turns) == 1 and rise[0] > 0

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the numerical error of a quantile that came out as x."""
        return np.full(np.shape(x), 1e-9)

    @cached_property
    def _table(self):
        centre, reach = self.mean(), 8 * self.sd()  # type: ignore[attr-defined]
        points = np.linspace(max(centre - reach, -self.limit), min(centre + reach, self.limit), 129)
        below = self.cdf(points)  # type: ignore[attr-defined]
        return points, np.maximum.accumulate(below)


@dataclass(frozen=True, eq=False)
class Independent(_Quadrature):
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

    first: Any
    second: Any

    @cached_property
    def points(self) -> np.ndarray:
        """The points at which the second distribution is taken."""
        if isinstance(self.second, Discrete):
            return self.second.values
        return np.asarray(self.second.quantile(_MASS), float)

    @cached_property
    def weights(self) -> np.ndarray:
        """Their weights, which sum to 1."""
        return self.second.weights if isinstance(self.second, Discrete) else _WEIGHTS

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        return self.first.cdf(np.asarray(x, float)[..., None] + self.points) @ self.weights

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x."""
        at = np.asarray(x, float)[..., None] + self.points
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.where((at > 0) & (at < 1), self.first.pdf(np.clip(at, 0, 1)), 0.0)
        return density @ self.weights

    def mass_at(self, x: float) -> float:
        """Return the probability of x itself."""
        if not (isinstance(self.first, Discrete) and isinstance(self.second, Discrete)):
            return 0.0
        at = x + self.points
        return float((self.first.cdf(at) - self.first.cdf(at - 1e-9)) @ self.weights)

    def mean(self) -> float:
        """Return the mean."""
        return float(self.first.mean() - self.second.mean())

    def sd(self) -> float:
        """Return the standard deviation."""
        return float(np.hypot(self.first.sd(), self.second.sd()))

    def shortfall(self) -> float:
        """Return the mean of max(0, B - A)."""
        return float(self.weights @ _shortfall(self.first, self.points))


@dataclass(frozen=True, eq=False)
class Tails:
    """
    The probabilities of A - B, of two independent measures with distributions by quadrature.

    Attributes
    ----------
    first, second : distribution
        Of one number each.

    Examples
    --------
    >>> from bayescm.direct import dirichlet_multinomial
    >>> from bayescm.measures.catalogue import mcc
    >>> tables = [[30, 35], [15, 65]], [[35, 30], [30, 50]]
    >>> both = (dirichlet_multinomial(each, concentration=0).distribution(mcc) for each in tables)
    >>> round(float(Tails(*both).sf(0)), 8)
    0.87528464
    """

    first: Any
    second: Any

    def sf(self, x: float) -> float:
        """Return the probability of more than x."""
        return 1 - self.cdf(x)

    def cdf(self, x: float) -> float:
        """Return the probability of at most x."""
        points, weights = self._rule
        return float(weights @ _at_points(self.first, points + x)[0])

    @cached_property
    def _rule(self):
        low, high = self.second.quantile(np.array([1e-12, 1 - 1e-12]))
        nodes, weights = np.polynomial.legendre.leggauss(40)
        points = (low + high) / 2 + (high - low) / 2 * nodes
        density = _at_points(self.second, points)[1]
        weights = weights * density
        return points, weights / weights.sum()


def _at_points(distribution, points):
    """Return the distribution function and the density of one distribution at many points."""
    if not isinstance(distribution, Quadrature):
        return distribution.cdf(points), distribution.pdf(points)
    both = distribution._by_rows(
        lambda rows: np.stack(rows.probabilities(points[None]), 1), 2, points.size
    )
    return both[0], both[1]


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
class Discordant(_Quadrature):
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

    wins: float
    losses: float
    rest: float

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        x = np.asarray(x, float)
        won, lost = self._points
        below = np.empty(x.shape)
        below[x > 0] = _given(x[x > 0], lost, self.wins, self.rest)
        below[x < 0] = 1 - _given(-x[x < 0], won, self.losses, self.rest)
        below[x == 0] = Beta(self.wins, self.losses).cdf(0.5)
        return below

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x."""
        x = np.asarray(x, float)
        won, lost = self._points
        density = np.empty(x.shape)
        density[x >= 0] = _density(x[x >= 0], lost, self.wins, self.rest)
        density[x < 0] = _density(-x[x < 0], won, self.losses, self.rest)
        return density

    def mean(self) -> float:
        """Return the mean."""
        return (self.wins - self.losses) / self._total

    def sd(self) -> float:
        """Return the standard deviation."""
        square = (self.wins + self.losses) / self._total - self.mean() ** 2
        return float(np.sqrt(square / (self._total + 1)))

    def shortfall(self) -> float:
        """Return the mean of max(0, L - W)."""
        half = Beta(self.losses, self.wins)
        share = (self.wins + self.losses) / self._total
        mean = self.losses / (self.wins + self.losses)
        # E max(0, 2b - 1) for a beta variable b, by its incomplete mean.
        upper = Beta(self.losses + 1, self.wins).sf(0.5) * mean
        return float(share * (2 * upper - half.sf(0.5)))

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
