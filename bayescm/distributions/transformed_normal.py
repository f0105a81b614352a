"""
Normal distribution on the scale of a link function.

    g(x) ~ Normal(mu, sigma),     g = logit on (0, 1), log on (0, inf), identity on the real line.

On (0, 1), this is the logit-normal distribution. On (0, inf), it is the log-normal distribution.

References
----------
Aitchison, J. & Shen, S. M. (1980). Logistic-normal distributions: some properties and uses.
Biometrika, 67(2), 261-272. doi:10.1093/biomet/67.2.261
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr, ndtri

from bayescm.distributions.base import Distribution

type Bounds = tuple[float, float]


def link(x: ArrayLike, bounds: Bounds) -> np.ndarray:
    """Return g(x), with x clipped to the bounds."""
    x = np.clip(x, *bounds)
    with np.errstate(divide="ignore"):
        if bounds == (0, 1):
            return logit(x)
        return np.log(x) if bounds[0] == 0 else x


def inverse_link(y: ArrayLike, bounds: Bounds) -> np.ndarray:
    """Return x with g(x) = y."""
    if bounds == (0, 1):
        return expit(y)
    return np.exp(y) if bounds[0] == 0 else np.asarray(y)


@dataclass(frozen=True, eq=False)
class TransformedNormal(Distribution):
    """
    Distribution of a number whose value on the scale of the link is normal.

    Attributes
    ----------
    mu, sigma : ndarray of the same shape
        Mean and standard deviation on the scale of the link.
    bounds : pair of float
        The support: (0, 1), (0, inf) or (-inf, inf).

    Examples
    --------
    >>> distribution = TransformedNormal(np.array(1.0), np.array(0.5), (0, 1))
    >>> distribution.eti(0.95).round(4)
    array([0.505 , 0.8787])
    >>> round(float(distribution.cdf(0.5)), 4)
    0.0228
    """

    mu: np.ndarray
    sigma: np.ndarray
    bounds: Bounds = (-np.inf, np.inf)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return np.shape(self.mu)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self.bounds

    def take(self, index: Any) -> "TransformedNormal":
        """Return some members of the flat batch; an int selects a single one."""
        mu, sigma = np.ravel(self.mu)[index], np.ravel(self.sigma)[index]
        return type(self)(mu, sigma, self.bounds)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of values up to x."""
        with np.errstate(invalid="ignore"):
            return ndtr((link(x, self.bounds) - self.mu) / self.sigma)

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of values above x, accurate far out in the tail."""
        with np.errstate(invalid="ignore"):
            return ndtr((self.mu - link(x, self.bounds)) / self.sigma)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the quantile of the probability q."""
        return inverse_link(self.mu + self.sigma * ndtri(q), self.bounds)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x."""
        x = np.asarray(x, float)
        z = (link(x, self.bounds) - self.mu) / self.sigma
        density = np.exp(-(z**2) / 2) / (np.sqrt(2 * np.pi) * self.sigma)
        inside = (x > self.bounds[0]) & (x < self.bounds[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.bounds == (0, 1):
                density = density / (x * (1 - x))
            elif self.bounds[0] == 0:
                density = density / x
        return np.where(inside, density, 0.0)[()]
