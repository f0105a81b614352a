"""One binomial rate in the cells of several attributes: main effects and what they leave over.

The scales are explored by importance, the effects integrated out by Laplace's method; given scales
the main effects are proposed from their normal approximation and weighted by the likelihood with
the cells' own effects integrated out by quadrature.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from bayescm.direct.groups.random_effects import Block
from bayescm.inference.importance import Weighted, explore

_FREEDOM = 12
_ROUGH, _SCALES, _SIZE = 150, 500, 4000
_STEPS = 40


@dataclass(frozen=True, eq=False)
class Crossed(Block):
    """
    One rate, D = 1, in G cells.

    Its points (S, 1 + L + A + 1) are the logit in the middle, the main effects of all columns,
    and the logarithms of the scales of the A terms that these are of and of the interactions.

    Attributes
    ----------
    terms : tuple of ndarray
        The term of every column, (L,), in order, and the columns in every cell, (G, L).
    interaction : float
        Scale of the half-normal prior of the standard deviation of the interactions.
    """

    terms: tuple[np.ndarray, np.ndarray]
    interaction: float

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """The term of every column, and the design (G, 1 + L) of middle and main effects."""
        owner, design = self.terms
        return owner, np.concatenate([np.ones((len(design), 1)), design], axis=1)

    @property
    def _number(self):
        """The number of the terms."""
        return self.terms[0][-1] + 1

    def parts(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return middles (S,), main effects (S, L), their scales (S, A), interactions' (S,)."""
        size = 1 + len(self.terms[0])
        scales = np.exp(points[:, size:])
        return points[:, 0], points[:, 1:size], scales[:, :-1], scales[:, -1]

    def _distribution(self, points):
        own = points[:, : 1 + len(self.terms[0])]
        return [own @ self.levels[1].T], [[np.exp(points[:, -1:])]]

    def log_prior(self, points: np.ndarray) -> np.ndarray:
        """Return the log prior density of points (S, P), up to a constant."""
        middle, main, _, _ = self.parts(points)
        logs = points[:, 1 + len(self.terms[0]) :]
        deviations = np.exp(logs[:, self.levels[0]])
        normal = -np.log(deviations) - (main / deviations) ** 2 / 2
        return self._prior_of_middle(middle) + normal.sum(1) + self._prior_of_scales(logs)

    def _prior_of_middle(self, middle):
        a, b = self.prior[0]
        return a * middle - (a + b) * np.logaddexp(0, middle)

    def _prior_of_scales(self, logs):
        widths = np.array([self.scale] * self._number + [self.interaction])
        return (logs - (np.exp(logs) / widths) ** 2 / 2).sum(1)

    def laplace(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Integrate the effects out, given logarithms of scales (S, A + 1).

        Returns
        -------
        heights : ndarray, shape (S,)
            Log posterior densities of the scales, up to a constant.
        middle : ndarray, shape (S, 1 + L)
            Where the middle and the main effects are most probable.
        root : ndarray, shape (S, 1 + L, 1 + L)
            The lower Cholesky factor of their precision.
        """
        owner, design = self.levels
        heights = self._prior_of_scales(logs)
        logs = np.clip(logs, -12, 5)
        precision = np.concatenate([np.zeros((len(logs), 1)), np.exp(-2 * logs[:, owner])], axis=1)
        variance = np.exp(2 * logs[:, -1:])
        at, own = self._mode(precision, variance)
        _, weight, curve = self._curved(at, own, precision, variance)
        root = np.linalg.cholesky(curve)
        logits = at @ design.T + own
        heights += logits @ self.hits[:, 0] - np.logaddexp(0, logits) @ self.totals[:, 0]
        heights += self._prior_of_middle(at[:, 0])
        heights -= (precision * at**2).sum(1) / 2 + logs[:, owner].sum(1)
        heights -= (own**2 / variance + np.log1p(variance * weight)).sum(1) / 2
        return heights - _log_size(root), at, root

    def _mode(self, precision, variance):
        """Return middle and main effects (S, 1 + L) and the cells' own (S, G), by Newton."""
        design, (hits, totals), (a, b) = self.levels[1], self._column, self.prior[0]
        at, own = np.zeros(precision.shape), np.zeros((len(precision), len(design)))
        at[:, 0] = logit((hits.sum() + a) / (totals.sum() + a + b))
        for _ in range(_STEPS):
            rate, weight, curve = self._curved(at, own, precision, variance)
            off = hits - totals * rate
            slope = off @ design - precision * at
            slope[:, 0] += a - (a + b) * expit(at[:, 0])
            # The cells' own effects, whose curvature is diagonal, are solved for first.
            shrink, left = variance / (1 + variance * weight), off - own / variance
            slope -= (weight * shrink * left) @ design
            move = np.linalg.solve(curve, slope[..., None])[..., 0]
            moves = shrink * (left - weight * (move @ design.T))
            length = np.abs(move @ design.T + moves).max(1, keepdims=True)
            brake = np.minimum(1, 2 / np.maximum(length, 1e-12))
            at, own = at + brake * move, own + brake * moves
            if length.max() < 1e-6:
                break
        return at, own

    @property
    def _column(self):
        return self.hits[:, 0], self.totals[:, 0]

    def _curved(self, at, own, precision, variance):
        """Return rates and weights of the cells, and the curvature left for the main effects."""
        design, (a, b) = self.levels[1], self.prior[0]
        rate, common = expit(at @ design.T + own), expit(at[:, 0])
        weight = self.totals[:, 0] * rate * (1 - rate)
        square = (design[:, :, None] * design[:, None]).reshape(len(design), -1)
        curve = ((weight / (1 + variance * weight)) @ square).reshape(*at.shape, -1)
        diagonal = np.arange(at.shape[1])
        curve[:, diagonal, diagonal] += precision
        curve[:, 0, 0] += (a + b) * common * (1 - common)
        return rate, weight, curve

    @cached_property
    def points(self) -> Weighted:
        """Weighted points of the posterior of scales, middle and main effects."""
        widths = np.log([self.scale] * self._number + [self.interaction])
        bounds = [(width - 5, width + 1.5) for width in widths]
        found = explore(
            lambda logs: self.laplace(logs)[0], widths - 1, bounds, rough=_ROUGH, size=_SCALES
        )
        rng = np.random.default_rng(20240229)
        heights, at, root = self.laplace(found.points)
        edges = np.cumsum(found.weights) / found.weights.sum()
        chosen = np.searchsorted(edges, (np.arange(_SIZE) + 0.5) / _SIZE).clip(max=len(at) - 1)
        normal = rng.standard_normal((_SIZE, at.shape[1]))
        normal /= np.sqrt(rng.chisquare(_FREEDOM, (_SIZE, 1)) / _FREEDOM)
        turned = np.linalg.solve(root[chosen].transpose(0, 2, 1), normal[..., None])[..., 0]
        points = np.concatenate([at[chosen] + turned, found.points[chosen]], axis=1)
        proposal = heights[chosen] + _log_student(normal) + _log_size(root)[chosen]
        logs = self.log_posterior(points) - proposal
        weights = np.exp(logs - logs.max())
        weights = np.minimum(weights, weights.mean() * _SIZE**0.5)
        return Weighted(points, weights / weights.sum())


def _log_size(root):
    """Return the logarithm of the determinant of each root (S, D, D)."""
    return np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)


def _log_student(normal):
    """Return the log density of Student t numbers (S, D), up to a constant."""
    return -(_FREEDOM + normal.shape[1]) / 2 * np.log1p((normal**2).sum(1) / _FREEDOM)
