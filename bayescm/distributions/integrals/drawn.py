"""Distributions of functions of independent beta variables by draws, in the scale of the link."""

import numpy as np
from scipy import special

from bayescm.distributions.beta import Beta, PointMass

SIZE = 2**18
FEWER = 2**16  # where shares are tables
TAIL = 0.02  # the error of a tail that is good enough, in parts of it


class Drawn:
    """
    One distribution by draws: what is left where integrals fail.

    Parameters
    ----------
    scale : callable
        From the log odds of the shares to the measure in the scale of its link.
    shares : sequence of Beta, PointMass or Tables, shape ()
    link : Link
    """

    def __init__(self, scale, shares, link):
        tabled = not all(isinstance(each, Beta | PointMass) for each in shares)
        self.size = FEWER if tabled else SIZE
        rng = np.random.default_rng(0)
        logs = [_log_odds(each, self.size, rng) for each in shares]
        with np.errstate(all="ignore"):
            self.y = np.sort(np.broadcast_to(scale(*logs), self.size))
            self.x = link.to_x(self.y)
        self.link = link

    def quantiles(self, q):
        """Return quantiles of any shape and their Monte Carlo standard errors."""
        q = np.asarray(q, float)
        width = np.sqrt(np.maximum(q * (1 - q), 1 / self.size) / self.size)
        low, x, high = (self._at(q + step) for step in (-width, 0.0, width))
        with np.errstate(over="ignore"):  # none is above the largest float
            below, above = np.diff(np.minimum([low, x, high], np.finfo(float).max), axis=0)
        return x, np.maximum(below, above)

    def _at(self, q):
        """Return quantiles; between two draws in the scale of the link, where both are finite."""
        with np.errstate(over="ignore"):
            return self.link.to_x(np.quantile(self.y, np.clip(q, 0, 1)))

    def highest(self, prob):
        """Return the shortest interval and the standard errors of its ends."""
        count = int(np.ceil(prob * self.size))
        with np.errstate(invalid="ignore"):
            start = np.nanargmin(self.x[count - 1 :] - self.x[: self.size - count + 1])
        return self.quantiles(np.array([start, start + count - 1]) / (self.size - 1))

    def agree(self, x, q):
        """Say whether the masses below x, (P,), are q, but for chance and some of the tail."""
        allowed = 5 * np.sqrt(q * (1 - q) / self.size) + TAIL * np.minimum(q, 1 - q)
        below, reached = (
            np.searchsorted(self.x, x, side) / self.size for side in ("left", "right")
        )
        return bool(((below <= q + allowed) & (reached >= q - allowed)).all())

    def masses(self, x):
        """Return the distribution function, and the density by differences."""
        below = np.searchsorted(self.x, x, side="right") / self.size
        width = 0.02
        low, high = self._at(below - width), self._at(below + width)
        mass = np.minimum(below + width, 1) - np.maximum(below - width, 0)
        with np.errstate(all="ignore"):
            return below, mass / (high - low)

    def moments(self):
        """Return mean, standard deviation and skewness."""
        gap = self.x - self.x.mean()
        second, third = (gap**2).mean(), (gap**3).mean()
        return np.array([self.x.mean(), np.sqrt(second), third / second**1.5])


def _log_odds(share, size, rng):
    if isinstance(share, PointMass):
        return special.logit(share.at)
    if isinstance(share, Beta):
        return _log_gamma(share.a, size, rng) - _log_gamma(share.b, size, rng)
    return share(rng.standard_normal(size))


def _log_gamma(a, size, rng):
    # G(a) = G(a + 1) U**(1 / a), in logs: nothing underflows.
    return np.log(rng.standard_gamma(a + 1, size)) - rng.standard_exponential(size) / a
