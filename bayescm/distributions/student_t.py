"""Student's t distribution, of a mean difference over folds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta as beta_function
from scipy.special import stdtr, stdtrit


@dataclass(frozen=True, eq=False)
class StudentT:
    """
    Student's t distribution with a location and a scale; a point mass where the scale is 0.

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

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        x = np.asarray(x, float)
        if self.scale == 0:
            return (self.location <= x).astype(float)
        return stdtr(self.freedom, (x - self.location) / self.scale)

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        x = np.asarray(x, float)
        if self.scale == 0:
            return (self.location > x).astype(float)
        return stdtr(self.freedom, (self.location - x) / self.scale)

    def mass_at(self, x: float) -> float:
        """Return the probability of x itself."""
        return float(self.scale == 0 and self.location == x)

    def mean(self) -> float:
        """Return the mean, which is the location also where the distribution has no mean."""
        return self.location

    def sd(self) -> float:
        """Return the standard deviation, infinite up to two degrees of freedom."""
        if self.scale == 0:
            return 0.0
        return (
            self.scale * (self.freedom / (self.freedom - 2)) ** 0.5 if self.freedom > 2 else np.inf
        )

    def eti(self, prob: float) -> np.ndarray:
        """Return the central interval, shape (2,)."""
        reach = self.scale * stdtrit(self.freedom, (1 + prob) / 2)
        return np.array([self.location - reach, self.location + reach])

    hdi = eti

    def shortfall(self) -> float:
        """Return the mean of max(0, -X), infinite where the distribution has no mean."""
        if self.scale == 0:
            return max(0.0, -self.location)
        if self.freedom <= 1:
            return np.inf
        nu, c = self.freedom, self.location / self.scale
        density = (1 + c**2 / nu) ** (-(nu + 1) / 2) / (nu**0.5 * beta_function(0.5, nu / 2))
        spread = (nu + c**2) / (nu - 1) * density
        return float(self.scale * spread - self.location * stdtr(nu, -c))
