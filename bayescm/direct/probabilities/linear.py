"""
The posterior of a Dirichlet calibration: Laplace at each scale, then importance weights.

The logs of the chances are those of the forecast plus a level of each class, one slope, and what
each class's forecast says of each other one, whose scale is learned. See
`bayescm.models.dirichlet_calibration`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, softmax

from bayescm.direct.probabilities.smooth import systematic

# Prior standard deviations: of the levels, of the slope, and of the scale (half-normal).
LEVEL, SLOPE, SCALE = 2.0, 2.0, 1.0
_SCALES = np.geomspace(0.02, 3.0, 11)
_AT_ONCE = 4e6


def logs_of(probability: np.ndarray) -> np.ndarray:
    """Return the logs of probabilities (n, C), finite: a 0 lies below the smallest other one."""
    with np.errstate(divide="ignore"):
        logs = np.log(probability)
    finite = logs[np.isfinite(logs)]
    return np.maximum(logs, finite.min() - finite.std())


@dataclass(frozen=True, eq=False)
class Linear:
    """
    The posterior of the departure of the chances from the forecasts of one classifier.

    Attributes
    ----------
    logs : ndarray, shape (n, C)
        Of the forecasts, finite.
    code : ndarray of int, shape (n,)
        The place of the class that came true.
    weight : ndarray, shape (n,)
        How many examples each one stands for.
    spread : float
        Prior standard deviation of the scale (half-normal).
    shift : ndarray, shape (C,)
        By how much the logs of the chances are higher in the population than in the sample.
    """

    logs: np.ndarray
    code: np.ndarray
    weight: np.ndarray
    spread: float
    shift: np.ndarray

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.logs.shape[1]

    @cached_property
    def _center(self):
        clean = self.logs - self.logs.mean(axis=1, keepdims=True)
        mean = clean.mean(axis=0)
        spread = (clean - mean).std()
        return mean, spread if spread > 1e-9 else 1.0  # forecasts may be all alike

    def design(self, logs: np.ndarray) -> np.ndarray:
        """Return 1 and the places of forecasts, (..., C + 1)."""
        mean, spread = self._center
        place = (logs - logs.mean(axis=-1, keepdims=True) - mean) / spread
        return np.concatenate([np.ones((*place.shape[:-1], 1)), place], axis=-1)

    def matrices(self, coefficients: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the departure's matrices (S, C, C + 1) of coefficients (S, p), scales (S,)."""
        number = self.classes
        level, slope = coefficients[:, :number], coefficients[:, number, None, None]
        step = coefficients[:, number + 1 :].reshape(-1, number, number)
        across = slope * np.eye(number) + scale[:, None, None] * step
        return np.concatenate([level[..., None], across], axis=-1)

    @cached_property
    def precision(self) -> np.ndarray:
        """The prior precision of levels, slope and steps, (p,)."""
        number = self.classes
        return np.r_[np.full(number, LEVEL**-2), SLOPE**-2, np.ones(number**2)]

    def log_density(self, coefficients: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the log of prior times likelihood, as PyMC's, of coefficients and scales."""
        design, matrices = self.design(self.logs), self.matrices(coefficients, scale)
        step = max(1, int(_AT_ONCE / self.logs.size))
        likelihood = [
            self._log_likelihood(design, matrices[first : first + step])
            for first in range(0, len(matrices), step)
        ]
        logs = np.log(self.precision / (2 * np.pi)).sum() / 2
        prior = logs - (coefficients**2) @ self.precision / 2
        half = np.log(2 / np.pi) / 2 - np.log(self.spread) - (scale / self.spread) ** 2 / 2
        return np.concatenate(likelihood) + prior + half

    def _log_likelihood(self, design, matrices):
        eta = self.logs + design @ matrices.swapaxes(-1, -2)
        came = np.take_along_axis(eta, np.broadcast_to(self.code, eta.shape[:2])[..., None], -1)
        top = eta.max(axis=-1)
        total = top + np.log(np.exp(eta - top[..., None]).sum(axis=-1))
        return (came[..., 0] - total) @ self.weight

    def _spread_out(self, scale):
        """Return the matrix from coefficients to the departure's matrix, flattened."""
        unit = np.eye(len(self.precision))
        return self.matrices(unit, np.full(len(unit), scale)).reshape(len(unit), -1).T

    @cached_property
    def _laplace(self):
        """Return mode and Cholesky factor of the covariance at each scale, and log weights."""
        mode, found = np.zeros(len(self.precision)), []
        for scale in _SCALES:
            mode, hessian = self._mode(mode, self._spread_out(scale))
            factor = np.linalg.inv(np.linalg.cholesky(hessian)).T
            height = self.log_density(mode[None], np.array([scale]))[0]
            # On a grid even in log(scale), whose density has the scale as a factor.
            weight = height + np.log(np.abs(np.diag(factor))).sum() + np.log(scale)
            found.append((mode, factor, weight))
        modes, factors, weights = map(np.array, zip(*found, strict=True))
        return modes, factors, weights - logsumexp(weights)

    def _mode(self, mode, spread_out):
        """Return the mode of the coefficients and the Hessian there, by Newton's steps."""
        design, number = self.design(self.logs), self.classes
        came = np.eye(number)[self.code]
        for _ in range(60):
            matrix = (spread_out @ mode).reshape(number, number + 1)
            chance = softmax(self.logs + design @ matrix.T, axis=1)
            rest = ((came - chance) * self.weight[:, None]).T @ design
            score = spread_out.T @ rest.ravel() - self.precision * mode
            hessian = spread_out.T @ self._curvature(chance, design) @ spread_out
            hessian[np.diag_indices_from(hessian)] += self.precision
            step = np.linalg.solve(hessian, score)
            longest = np.abs(step).max()
            mode = mode + step * min(1.0, 3.0 / max(longest, 1e-300))
            if longest < 1e-7:
                break
        return mode, hessian

    def _curvature(self, chance, design):
        """Return minus the second derivative of the log likelihood by the departure's matrix."""
        number, width = chance.shape[1], design.shape[1]
        found = np.empty((number, width, number, width))
        for one in range(number):
            for two in range(one, number):
                of = self.weight * chance[:, one] * ((one == two) - chance[:, two])
                part = (design * of[:, None]).T @ design
                found[one, :, two] = found[two, :, one] = part
        return found.reshape(number * width, number * width)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
        """Draw coefficients (size, p) and scales (size,), with the effective share of the draws."""
        modes, factors, weights = self._laplace
        place = rng.choice(len(_SCALES), size=size, p=np.exp(weights))
        noise = rng.standard_normal((size, modes.shape[1]))
        coefficients = np.empty_like(noise)
        for each in np.unique(place):
            own = place == each
            coefficients[own] = modes[each] + noise[own] @ factors[each].T
        scale = _SCALES[place]
        proposed = weights[place] - (noise**2).sum(axis=1) / 2
        diagonal = np.diagonal(factors, axis1=1, axis2=2)
        proposed -= np.log(np.abs(diagonal)).sum(axis=1)[place]
        logs = self.log_density(coefficients, scale) + np.log(scale) - proposed
        share = np.exp(logs - logsumexp(logs))
        kept = systematic(share, size, rng)
        return coefficients[kept], scale[kept], float(1 / (share**2).sum() / size)

    @cached_property
    def sample(self) -> np.ndarray:
        """Departure's matrices of 4,000 draws, always the same."""
        found, scale, _ = self.draw(4000, np.random.default_rng(0))
        return self.matrices(found, scale)

    def chances(self, matrices: np.ndarray, logs: np.ndarray) -> np.ndarray:
        """Return the chances (S, u, C) of the classes given the logs of forecasts (u, C)."""
        departure = self.design(logs) @ matrices.swapaxes(-1, -2)
        departure += logs + self.shift
        departure -= departure.max(axis=-1, keepdims=True)
        np.exp(departure, out=departure)
        departure /= departure.sum(axis=-1, keepdims=True)
        return departure

    def nearest(self, prob: float) -> np.ndarray | None:
        """
        Return the matrix (C, C + 1) nearest to no departure in the region of a probability.

        The region is that of the draws' distance from their mean by their own covariance, of
        departures that differ in the chances. None where it holds no departure at all.
        """
        drawn = self.sample.copy()
        drawn[..., 0] += self.shift
        rows = _differing(drawn)
        mean = rows.mean(axis=0)
        factor = np.linalg.cholesky(np.cov(rows.T))
        away = np.linalg.norm(np.linalg.solve(factor, (rows - mean).T), axis=0)
        reach, own = np.quantile(away, prob), np.linalg.norm(np.linalg.solve(factor, mean))
        if own <= reach:
            return None
        part = (mean * (1 - reach / own)).reshape(self.classes - 1, self.classes)
        near = np.zeros((self.classes, self.classes + 1))
        near[:-1, :-1], near[:-1, -1] = part, -part[:, 1:].sum(axis=1)
        near[:, 0] -= self.shift
        return near


def _differing(matrices):
    """
    Return what of matrices (S, C, C + 1) tells in the chances, (S, C (C - 1)).

    The same added to all rows tells nothing, nor the same to all columns but the first, since the
    places of a forecast sum to 0.
    """
    rows = (matrices - matrices[:, -1:])[:, :-1]
    across = rows[..., 1:] - rows[..., 1:].mean(axis=-1, keepdims=True)
    return np.concatenate([rows[..., :1], across[..., :-1]], axis=-1).reshape(len(rows), -1)
