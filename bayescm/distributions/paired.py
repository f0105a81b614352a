"""Distributions of the difference of two shares of the same examples."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions.base import Distribution, near_normal
from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.differences import MASS, WEIGHTS
from bayescm.distributions.integrals.pairs import ACCURACY, by_rays, odds


@dataclass(frozen=True, eq=False)
class Discordant(Distribution):
    """
    W - L for (W, L, rest) ~ Dirichlet: two classifiers' shares of the same examples.

    W is the share that only the first gets right, L the share that only the second does; what both
    get right cancels out.

    Attributes
    ----------
    wins, losses, rest : ndarray
        Dirichlet parameters > 0, of one shape.

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
    def joined(cls, members: Sequence) -> "Discordant":
        return cls(*np.array([(each.wins, each.losses, each.rest) for each in members]).T)

    def take(self, index: Any) -> "Discordant":
        return Discordant(*(each.ravel()[index] for each in (self.wins, self.losses, self.rest)))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        x, even = np.asarray(x, float) + np.zeros(self.shape), Beta(self.wins, self.losses).cdf(0.5)
        if not x.any():
            return np.broadcast_to(even, x.shape)
        one, scaled, _ = self._given(x)
        below = np.tensordot(WEIGHTS, one.cdf(scaled), 1)
        return np.select([x > 0, x < 0], [below, 1 - below], even)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        one, scaled, left = self._given(np.asarray(x, float) + np.zeros(self.shape))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            density = one.pdf(np.clip(scaled, 1e-300, 1 - 1e-16)) / left
        return np.tensordot(WEIGHTS, np.where(scaled < 1, density, 0.0), 1)

    def _given(self, x):
        """
        Return the distribution of the share that x is added to, and points of it.

        They are relative to what the other share leaves, which is returned too: W given L where x
        is positive, and L given W where it is negative.
        """
        won, lost = (
            each.reshape(-1, *[1] * (x.ndim - self.wins.ndim), *self.shape) for each in self._points
        )
        other = np.where(x < 0, won, lost)
        one = Beta(np.where(x < 0, self.losses, self.wins), self.rest)
        return one, np.minimum((np.abs(x) + other) / (1 - other), 1), 1 - other

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self._rays.quantile(q)

    def _highest(self, prob):
        return self._rays._highest(prob)

    @cached_property
    def _rays(self):
        def scale(w, b):  # of the losses b among what the wins leave
            (won, left), (lost, rest) = odds(w), odds(b)
            return np.log(2 * won + left * rest) - np.log(left) - np.log1p(lost)

        return by_rays(self, scale, (self.wins, self.losses + self.rest), (self.losses, self.rest))

    def mean(self) -> np.ndarray:
        return np.asarray((self.wins - self.losses) / self._total)

    def sd(self) -> np.ndarray:
        square = (self.wins + self.losses) / self._total - self.mean() ** 2
        return np.sqrt(square / (self._total + 1))

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return np.full(np.shape(x), ACCURACY)

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
        mass = MASS.reshape(-1, *[1] * len(self.shape))
        won = Beta(self.wins, self.losses + self.rest).quantile(mass)
        lost = Beta(self.losses, self.wins + self.rest).quantile(mass)
        return np.minimum(won, 1 - 1e-16), np.minimum(lost, 1 - 1e-16)


def discordant(wins: float, losses: float, rest: float) -> Any:
    """Return the distribution of the difference of two shares of the same examples."""
    if wins > 0 and losses > 0 and rest > 0:
        return Discordant(*(np.asarray(each, float) for each in (wins, losses, rest)))
    if wins == 0 and losses == 0:
        return PointMass(np.asarray(0.0))
    return None
