"""Student's t distribution, of a mean difference over folds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta as beta_function
from scipy.special import stdtr, stdtrit

from bayescm.distributions.base import Distribution
from bayescm.distributions.hdi import INTERIOR


@dataclass(frozen=True, eq=False)
class StudentT(Distribution):
    """
    Student's t distribution with a location and a scale; a point mass where the scale is 0.

    The mean is the location also where the distribution has none.

    Attributes
    ----------
    location, scale : float
        ``scale >= 0``.
    freedom : float
        Degrees of freedom > 0.
    """

    location: float
    scale: float
    freedom: float
    support = -np.inf, np.inf
    shape = ()

    def cdf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        if self.scale == 0:
            return (self.location <= x).astype(float)
        return stdtr(self.freedom, (x - self.location) / self.scale)

    def sf(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        if self.scale == 0:
            return (self.location > x).astype(float)
        return stdtr(self.freedom, (self.location - x) / self.scale)

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        return np.where((np.asarray(x) == self.location) & (self.scale == 0), 1.0, 0.0)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self.location + self.scale * np.nan_to_num(stdtrit(self.freedom, q))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        if self.scale == 0:
            return np.where(np.asarray(x) == self.location, np.inf, 0.0)
        return self._standard((np.asarray(x) - self.location) / self.scale) / self.scale

    def mean(self) -> np.ndarray:
        return np.asarray(self.location)

    mode = mean

    def sd(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            ratio = np.divide(self.freedom, max(self.freedom - 2, 0.0))
        return np.asarray(self.scale and self.scale * np.sqrt(ratio))

    def skewness(self) -> np.ndarray:
        return np.asarray(0.0 if self.freedom > 3 and self.scale else np.nan)

    def hdi(self, prob: float) -> np.ndarray:
        return self.eti(prob)

    def hdi_kind(self, prob: float) -> np.ndarray:
        return np.asarray(INTERIOR)

    def shortfall(self) -> np.ndarray:
        if self.scale == 0:
            return np.asarray(max(0.0, -self.location))
        if self.freedom <= 1:
            return np.asarray(np.inf)
        nu, c = self.freedom, self.location / self.scale
        spread = (nu + c**2) / (nu - 1) * self._standard(c)
        return np.asarray(self.scale * spread - self.location * stdtr(nu, -c))

    def _standard(self, z):
        nu = self.freedom
        return (1 + z**2 / nu) ** (-(nu + 1) / 2) / (nu**0.5 * beta_function(0.5, nu / 2))
