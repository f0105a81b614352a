"""Shares that differ between groups: a Dirichlet distribution of the groups, integrated out."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaln

from bayescm.distributions import dirichlet
from bayescm.inference.importance import Weighted

_SIZE = 6000


@dataclass(frozen=True, eq=False)
class DirichletBlock:
    """
    Shares of C outcomes in G groups, ``Dirichlet(4 / spread**2 * typical)``.

    A spread is about the standard deviation of a logit between groups.

    Attributes
    ----------
    counts : ndarray, shape (G, C)
    prior : ndarray, shape (C,)
        Dirichlet parameters of the typical shares.
    scale : float
        Scale of the half-normal prior of the spread.
    """

    counts: np.ndarray
    prior: np.ndarray
    scale: float

    def split(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return typical shares (S, C) and spreads (S,) of points (S, C + 1)."""
        return points[:, :-1], np.exp(points[:, -1])

    def log_posterior(self, points: np.ndarray) -> np.ndarray:
        """Return the log density of points (S, C + 1), the groups integrated out."""
        shares, spread = self.split(points)
        total = self.log_likelihood(points).sum(1) - (spread / self.scale) ** 2 / 2 + points[:, -1]
        return total + dirichlet.logpdf(shares, self.prior)

    def log_likelihood(self, points: np.ndarray) -> np.ndarray:
        """Return that of every group (S, G), its shares integrated out, without coefficients."""
        shares, spread = self.split(points)
        weight = 4 / spread**2
        own = np.maximum(weight[:, None] * shares, 1e-300)[:, None]
        seen = np.where(self.counts > 0, gammaln(self.counts + own) - gammaln(own), 0)
        norm = gammaln(weight)[:, None] - gammaln(weight[:, None] + self.counts.sum(1))
        return seen.sum(-1) + norm

    def _guess(self, spread):
        """Return Dirichlet parameters (S, C) near those of the shares given the spread (S,)."""
        weight = 4 / spread[:, None] ** 2
        worth = np.tile(self.counts.sum(0), (len(spread), 1))
        seen = self.counts.sum(0) > 0
        for _ in range(6):
            shares = self.prior + worth
            own = np.maximum(weight * shares / shares.sum(1, keepdims=True), 1e-300)
            # A rare outcome tells all it can; examples of one group that agree tell less.
            told = (digamma(self.counts + own[:, None]) - digamma(own)[:, None]).sum(1)
            worth = np.where(seen, own * told, 0.0)
        return self.prior + worth

    def _propose(self, logs, rng):
        """Draw shares for log spreads (S,), and return points and log importance ratios."""
        guess = self._guess(np.exp(logs))
        shares = dirichlet.draw(guess, 1, rng)[0]
        points = np.concatenate([shares, logs[:, None]], axis=1)
        return points, self.log_posterior(points) - dirichlet.logpdf(shares, guess)

    @cached_property
    def points(self) -> Weighted:
        """Weighted points of the posterior: the spread on a grid, the shares by importance."""
        rng = np.random.default_rng(20240229)
        edges = np.linspace(np.log(0.01 * self.scale), np.log(5 * self.scale), 61)
        middles, each = (edges[1:] + edges[:-1]) / 2, 50
        _, ratios = self._propose(np.repeat(middles, each), rng)
        ratios = np.exp(ratios - ratios.max()).reshape(-1, each).mean(1)
        mass = ratios / ratios.sum() * 0.95 + 0.05 / len(ratios)
        cell = rng.choice(len(mass), _SIZE, p=mass)
        logs = edges[cell] + rng.random(_SIZE) * (edges[1] - edges[0])
        points, ratios = self._propose(logs, rng)
        ratios = ratios - np.log(mass[cell])
        weights = np.exp(ratios - ratios.max())
        weights = np.minimum(weights, weights.mean() * _SIZE**0.5)
        return Weighted(points, weights / weights.sum())

    def draw_groups(self, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the shares of every group given points (S, C + 1), shape (S, G, C)."""
        return self._draw(points, self.counts, rng)

    def draw_new(self, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the shares of a new group given points (S, C + 1), shape (S, C)."""
        return self._draw(points, np.zeros((1, self.counts.shape[1])), rng)[:, 0]

    def _draw(self, points, counts, rng):
        shares, spread = self.split(points)
        weights = counts + (4 / spread**2)[:, None, None] * shares[:, None]
        return dirichlet.draw(np.maximum(weights, 1e-300), 1, rng)[0]
