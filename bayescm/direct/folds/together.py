"""How far the classifiers of one cross-validation move, and how far together; as the model says."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bayescm.direct.hierarchical_folds import HALF_NOISE, HALF_RATE, HALF_REPEATS, log_gamma

_RATIO = np.geomspace(0.02, 40, 48)  # spread of the thresholds in units of u
_RHO = (np.arange(16) + 0.5) / 16
_CORRELATION = (np.arange(25) + 0.5) / 25


@dataclass(frozen=True, eq=False)
class Numbers:
    """
    The numbers of events over test sets, of each answer say, and what examples alone would do.

    Attributes
    ----------
    variance : ndarray, shape (J, J)
        Variance, and covariance of two classifiers, summed over the events.
    covariance : ndarray, shape (J, L, J, L)
        Of the numbers in one test set, for classifiers that do not move.
    worth : float
        Degrees of freedom of one event.
    """

    variance: np.ndarray
    covariance: np.ndarray
    worth: float

    def alone(self, moved: np.ndarray) -> np.ndarray:
        """Return each classifier's log density, (..., J), thresholds moved by (..., J, C)."""
        own = np.stack([self.covariance[each, :, each] for each in range(len(self.variance))])
        trace, squares = np.trace(own, axis1=-2, axis2=-1), (own**2).sum(-2)
        found = np.maximum(self.variance.diagonal(), 1e-3 * trace)
        mean = trace + (moved * squares).sum(-1)
        degrees = self.worth * trace**2 / squares.sum(-1)
        return log_gamma(found, mean, degrees)

    def apart(self, moved: np.ndarray, correlation: np.ndarray) -> np.ndarray:
        """Return the log density (..., len(correlation)) of the variance of differences."""
        variance, covariance = self.variance, self.covariance
        found, alone, degrees, mean = [], [], [], np.zeros(())
        pairs = list(combinations(range(len(variance)), 2))
        for one, two in pairs:
            first, second = covariance[one, :, one], covariance[two, :, two]
            across = covariance[one, :, two]
            apart = first + second - across - across.T
            found.append(variance[one, one] + variance[two, two] - 2 * variance[one, two])
            alone.append(np.trace(apart))
            degrees.append(self.worth * alone[-1] ** 2 / (apart**2).sum())
            ways = moved[..., one, :], moved[..., two, :]
            going = ways[0] @ (first**2).sum(0) + ways[1] @ (second**2).sum(0)
            together = np.sqrt(ways[0] * ways[1]) @ (first * second).sum(0)
            mean = mean + going[..., None] - 2 * together[..., None] * correlation
        least = np.mean(alone)
        seen = max(np.mean(found), 1e-3 * least)
        return log_gamma(seen, least + mean / len(pairs), np.mean(degrees))


def numbers(
    counts: np.ndarray, truth: np.ndarray, events: np.ndarray, prior: np.ndarray
) -> Numbers:
    """
    Return what the joint outcomes (R, F, cells) of R divisions into F test sets show.

    Parameters
    ----------
    counts : ndarray, shape (R, F, cells)
    truth : ndarray, shape (C, cells)
        Which cells are of which actual class.
    events : ndarray, shape (J, L, cells)
        Which cells are which of L events of each classifier: each answer, or to be right.
    prior : ndarray, shape (cells,)
    """
    repeats, folds, _ = counts.shape
    kinds = events.reshape(-1, events.shape[-1])
    totals = counts @ truth.T
    rates = np.einsum("rx,ix,kx->rik", counts.sum(1), truth, kinds, optimize=True)
    rates = rates / np.maximum(totals.sum(1), 1)[..., None]
    gap = counts @ kinds.T - totals @ rates
    gap = gap.reshape(repeats, folds, *events.shape[:2])
    variance = np.einsum("rfjl,rfml->jm", gap, gap) / (repeats * (folds - 1))
    given = truth * (counts.sum((0, 1)) + prior)
    given = given / given.sum(-1, keepdims=True)
    size = totals.mean((0, 1))
    mean = given @ kinds.T
    covariance = (kinds * (size @ given)) @ kinds.T - (mean.T * size) @ mean
    worth = repeats * (folds - 1) / (1 + (repeats - 1) / HALF_REPEATS)
    return Numbers(variance, covariance.reshape(*events.shape[:2], *events.shape[:2]), worth)


@dataclass(frozen=True, eq=False)
class Movement:
    """
    The posterior of how far thresholds move: a grid for each classifier, and one for all.

    Attributes
    ----------
    folds : Numbers
    halves : Numbers or None
    error : ndarray, shape (C,)
        Standard error of a log class total.
    scale : float
        Scale of the prior of the spread, in units of u.
    rho : float
        Share of the variance that folds have in common, without halves.
    """

    folds: Numbers
    halves: Numbers | None
    error: np.ndarray
    scale: float
    rho: float

    def log_density(self, ratio, rho, correlation):
        """Return the log density of spreads over u and rho (..., J), and a correlation (...)."""
        logs = self._own(ratio, rho).sum(-1)
        _, moved = self._seen(ratio, rho)
        return logs + self._last().apart(moved, np.asarray(correlation)[..., None])[..., 0]

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw spreads over u and rho, (size, J), and the correlation, (size,)."""
        judges = len(self.folds.variance)
        rhos = _RHO if self.halves is not None else np.array([self.rho])
        grid = np.stack(np.meshgrid(_RATIO, rhos, indexing="ij"), -1).reshape(-1, 2)
        ratio, rho = np.repeat(grid[:, None], judges, axis=1).transpose(2, 0, 1)
        logs = self._own(ratio, rho) + np.log(ratio)  # evenly spread in the logarithm
        mass = np.exp(logs - logs.max(0))
        more = 4 * size
        points = rng.random((more, judges))
        below = np.cumsum(mass / mass.sum(0), axis=0)
        place = np.stack([np.searchsorted(below[:, j], points[:, j]) for j in range(judges)], 1)
        place = np.minimum(place, len(grid) - 1)
        step = np.log(_RATIO[1] / _RATIO[0])
        ratio = grid[place, 0] * np.exp(step * (rng.random(place.shape) - 0.5))
        rho = grid[place, 1]
        if self.halves is not None:
            rho = rho + (rng.random(place.shape) - 0.5) / len(_RHO)
        _, moved = self._seen(ratio, rho)
        logs = self._last().apart(moved, _CORRELATION)
        shares = np.exp(logs - logs.max())
        # First the spreads by how well any correlation fits, then the correlation.
        chosen = rng.choice(more, size, p=shares.sum(-1) / shares.sum())
        below = np.cumsum(shares[chosen], axis=-1)
        below = below / below[:, -1:]
        index = (rng.random((size, 1)) > below).sum(-1)
        correlation = (index + rng.random(size)) / len(_CORRELATION)
        return ratio[chosen], rho[chosen], correlation

    def _last(self):
        return self.folds if self.halves is None else self.halves

    def _seen(self, ratio, rho):
        """Return the variance of the thresholds that folds and that halves show, (..., J, C)."""
        own = ((1 - rho) * ratio**2)[..., None] * self.error**2
        if self.halves is None:
            return own, own
        return own, (HALF_RATE * ratio**2 + HALF_NOISE)[..., None] * self.error**2

    def _own(self, ratio, rho):
        """Return the log posterior (..., J) of each classifier's spread over u, and rho."""
        own, between = self._seen(ratio, rho)
        logs = -1.5 * np.log1p((ratio / self.scale) ** 2 / 2) + self.folds.alone(own)
        return logs if self.halves is None else logs + self.halves.alone(between)
