"""Distributions of the difference of two shares of the same examples."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions.base import Distribution, near_normal
from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.quadrature import FunctionOfShares


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
        if not np.any(x):  # then only the discordant examples count
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
        """The same as a function of the wins, and of the losses among what the wins leave."""
        shares = Beta(self.wins, self.losses + self.rest), Beta(self.losses, self.rest)
        return FunctionOfShares(shares, _log_odds, self.support)

    def checked(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        return self._lines.checked(prob, kind)

    def mean(self) -> np.ndarray:
        return np.asarray((self.wins - self.losses) / self._total)

    def sd(self) -> np.ndarray:
        square = (self.wins + self.losses) / self._total - self.mean() ** 2
        return np.sqrt(square / (self._total + 1))

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return self._lines.error_at(x)

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


def _log_odds(won, lost):
    """Return log((1 + x) / (1 - x)) of the difference x."""
    return np.log((2 * won.v + won.c * lost.c) / (won.c * (1 + lost.v)))


def discordant(wins: float, losses: float, rest: float) -> Any:
    """Return the distribution of the difference of two shares of the same examples."""
    if wins > 0 and losses > 0 and rest > 0:
        return Discordant(*(np.asarray(each, float) for each in (wins, losses, rest)))
    if wins == 0 and losses == 0:
        return PointMass(np.asarray(0.0))
    return None
