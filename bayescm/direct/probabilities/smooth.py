"""
The posterior of a smooth calibration curve: Laplace at each scale, then importance weights.

The log odds of the truth are those of the forecast plus a departure: a level, a slope and a random
walk of second order over places among the forecasts, whose scale is learned. See
`bayescm.models.calibration`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logsumexp

from bayescm.direct.probabilities.nodes import nodes
from bayescm.measures.probabilities import in_blocks

# Prior standard deviations: of the level and of the slope per standard deviation of the forecasts'
# log odds; and of the scale of the walk (Rayleigh).
LEVEL, SLOPE, SCALE = 3.0, 2.0, 2.0
KNOTS, _EVEN = 20, 0.4
SCALES = np.geomspace(0.03, 6.0, 13)


def walk(knots: int) -> np.ndarray:
    """
    Return the shape (knots, knots - 2) of a random walk of second order.

    Applied to independent standard normal numbers it gives a walk without level and slope along its
    index, whose variance is 1 in the geometric mean over the knots.
    """
    second = np.diff(np.eye(knots), 2, axis=0)
    values, vectors = np.linalg.eigh(second.T @ second)
    shape = vectors[:, 2:] / np.sqrt(values[2:])
    return shape / np.exp(np.log((shape**2).sum(axis=1)).mean() / 2)


def hats(odds: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return the weights (..., knots) of a straight line between knots, level beyond their ends."""
    place = np.clip(np.searchsorted(knots, odds) - 1, 0, len(knots) - 2)
    share = np.clip((odds - knots[place]) / (knots[place + 1] - knots[place]), 0, 1)[..., None]
    index, place = np.arange(len(knots)), place[..., None]
    return (index == place) * (1 - share) + (index == place + 1) * share


def knots_of(odds: np.ndarray) -> np.ndarray:
    """Return at most 20 knots: both ends, and between quantiles and even steps between them."""
    share = np.linspace(0, 1, min(KNOTS, len(np.unique(odds))))
    even = odds.min() + (odds.max() - odds.min()) * share
    return (1 - _EVEN) * np.quantile(odds, share) + _EVEN * even


@dataclass(frozen=True, eq=False)
class Smooth:
    """
    The posterior of the departure of the truth from the forecasts of one classifier.

    Attributes
    ----------
    odds : ndarray, shape (n,)
        The forecasts' log odds, finite, with at least three different values.
    outcome : ndarray, shape (n,)
        1 for the positive class.
    weight : ndarray, shape (n,)
        How many examples each one stands for.
    spread : float
        Scale of the prior of the walk's scale (Rayleigh).
    shift : float
        By how much the log odds are higher in the population than in the sample, whatever the
        forecast: of another prevalence.
    """

    odds: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    spread: float = SCALE
    shift: float = 0.0

    @cached_property
    def knots(self) -> np.ndarray:
        """The log odds between which the departure is a straight line."""
        return knots_of(self.odds)

    @cached_property
    def _center(self) -> tuple[float, float]:
        return float(self.odds.mean()), float(self.odds.std())

    @cached_property
    def _likelihood(self):
        """Return places and weights of the forecasts, and the sums over the positives."""
        odds, inverse = np.unique(self.odds, return_inverse=True)
        places, total = nodes(odds, np.bincount(inverse, self.weight), self.knots)
        hits = np.bincount(inverse, self.weight * self.outcome)
        straight, corners = self._straight(odds), hats(odds, self.knots)
        sums = np.r_[hits @ straight, hits @ corners @ walk(len(self.knots))]
        return places, total, sums, float(hits @ odds)

    def _straight(self, odds):
        center, spread = self._center
        return np.stack([np.ones_like(odds), (odds - center) / spread], axis=-1)

    def design(self, odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns of level and slope, (..., 2), and of the walk, (..., knots - 2)."""
        return self._straight(odds), hats(odds, self.knots) @ walk(len(self.knots))

    @cached_property
    def precision(self) -> np.ndarray:
        """The prior precision of level, slope and the steps of the walk."""
        return np.r_[LEVEL**-2, SLOPE**-2, np.ones(len(self.knots) - 2)]

    def log_density(self, coefficients: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """
        Return the log of prior times likelihood of coefficients (S, knots) and scales (S,).

        The constants of the normal distributions are in, so that it is PyMC's density.
        """
        odds, total, sums, offset = self._likelihood
        columns = np.concatenate(self.design(odds), axis=-1).T

        def log_likelihood(rows):
            eta = odds + rows @ columns
            missed = (np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))) @ total
            return offset + rows @ sums - missed

        scaled = np.concatenate([coefficients[:, :2], scale[:, None] * coefficients[:, 2:]], axis=1)
        likelihood = in_blocks(log_likelihood, scaled, len(odds))
        logs = np.log(self.precision / (2 * np.pi)).sum() / 2
        prior = logs - (coefficients**2) @ self.precision / 2
        own = np.log(scale) - 2 * np.log(self.spread) - (scale / self.spread) ** 2 / 2
        return likelihood + prior + own

    @cached_property
    def laplace(self):
        """Return mode and Cholesky factor of the covariance at each scale, and log weights."""
        odds, total, sums, _ = self._likelihood
        straight, steps = self.design(odds)
        mode, found = np.zeros(len(self.precision)), []
        for scale in SCALES:
            columns = np.concatenate([straight, scale * steps], axis=1)
            scaled = np.r_[sums[:2], scale * sums[2:]]
            mode, hessian = mode_of(mode, columns, odds, scaled, total, self.precision)
            factor = np.linalg.inv(np.linalg.cholesky(hessian)).T
            height = self.log_density(mode[None], np.array([scale]))[0]
            # On a grid even in log(scale), whose density has the scale as a factor.
            weight = height + np.log(np.abs(np.diag(factor))).sum() + np.log(scale)
            found.append((mode, factor, weight))
        modes, factors, weights = map(np.array, zip(*found, strict=True))
        return modes, factors, weights - logsumexp(weights)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
        """
        Draw coefficients and scales from the posterior.

        Returns
        -------
        coefficients : ndarray, shape (size, knots)
            Level, slope and the steps of the walk.
        scale : ndarray, shape (size,)
        efficiency : float
            The effective share of the draws before they were resampled by their weights.
        """
        modes, factors, weights = self.laplace
        place = rng.choice(len(SCALES), size=size, p=np.exp(weights))
        noise = rng.standard_normal((size, modes.shape[1]))
        coefficients = modes[place] + np.einsum("sij,sj->si", factors[place], noise)
        scale = SCALES[place]
        proposed = weights[place] - (noise**2).sum(axis=1) / 2
        proposed -= np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(axis=1)[place]
        logs = self.log_density(coefficients, scale) + np.log(scale) - proposed
        share = np.exp(logs - logsumexp(logs))
        efficiency = 1 / (share**2).sum() / size
        kept = systematic(share, size, rng)
        return coefficients[kept], scale[kept], float(efficiency)

    @cached_property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and scales of 4,000 draws, always the same."""
        return self.draw(4000, np.random.default_rng(0))[:2]

    def departure(self, coefficients, scale, odds: np.ndarray) -> np.ndarray:
        """Return the departure (S, ...) of the log odds of the truth at log odds of forecasts."""
        straight, steps = self.design(odds)
        bent = (scale[:, None] * coefficients[:, 2:]) @ steps.T
        return self.shift + coefficients[:, :2] @ straight.T + bent


def mode_of(start, columns, odds, sums, total, precision):
    """Return the mode of the coefficients and the Hessian there, by Newton's steps."""
    mode = start
    for _ in range(60):
        truth = expit(odds + columns @ mode)
        score = sums - columns.T @ (total * truth) - precision * mode
        hessian = (columns * (total * truth * (1 - truth))[:, None]).T @ columns
        hessian[np.diag_indices_from(hessian)] += precision
        step = np.linalg.solve(hessian, score)
        longest = np.abs(step).max()
        mode = mode + step * min(1.0, 3.0 / max(longest, 1e-300))
        if longest < 1e-7:
            break
    return mode, hessian


def systematic(share: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return indices (size,) resampled by their shares, in a random order."""
    points = (np.arange(size) + rng.random()) / size
    kept = np.minimum(np.searchsorted(np.cumsum(share), points), size - 1)
    return rng.permutation(kept)
