"""The Bayesian correlated t: two classifiers over the folds of one cross-validation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import beta as beta_function
from scipy.special import stdtr, stdtrit

from bayescm.answers.decision import check_rope, decide
from bayescm.validate import check_prob, fail


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


def posterior(differences: ArrayLike, rho: float) -> StudentT:
    """
    Return the posterior of the mean difference, of one cross-validation.

    Parameters
    ----------
    differences : array_like, shape (n,)
        Difference of every fold (of every repeat), two or more.
    rho : float
        Correlation between folds through their common training data, in [0, 1): the test share.
    """
    values = np.ravel(np.asarray(differences, float))
    values = values[~np.isnan(values)]
    if len(values) < 2:
        raise fail("too few folds", len(values), "two or more", "use more folds")
    if not 0 <= rho < 1:
        raise fail("rho is not a correlation", rho, "0 <= rho < 1", "pass the share tested")
    flat = np.ptp(values) == 0
    spread = 0.0 if flat else values.var(ddof=1) * (1 / len(values) + rho / (1 - rho))
    return StudentT(float(values.mean()), float(spread**0.5), len(values) - 1)


def correlated_t(
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_folds: int,
    rope: Any = 0.0,
    prob: float = 0.95,
) -> pd.Series:
    """
    Compare two classifiers' scores over the folds of a cross-validation.

    The differences of the folds are normal and equally correlated, since their training sets
    overlap; with a flat prior the posterior of the mean difference is a Student t distribution
    whose scale is that of Nadeau and Bengio's corrected t.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Scores on the same folds, higher is better; the folds of all repeats, one after the other.
    n_folds : int
        Folds of one repeat, 2 or more.
    rope : float or (float, float), default 0
        Region of practical equivalence, in the units of the scores.
    prob : float, default 0.95
        Mass of the interval.

    Returns
    -------
    Series
        ``mean``, ``sd``, ``lower``, ``upper``, ``p_better`` (the first is), ``p_rope``,
        ``p_worse``, ``expected_loss`` and ``expected_loss_second``. Equal to
        ``baycomp.two_on_single``, whose three numbers are p_better, p_rope and p_worse.

    Raises
    ------
    ValueError
        Where the scores differ in number, or that number is no multiple of ``n_folds``.

    References
    ----------
    Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms
    on multiple data sets. Machine Learning 100, 285-304. doi:10.1007/s10994-015-5486-z

    Examples
    --------
    >>> a, b = [0.81, 0.78, 0.84, 0.80], [0.79, 0.77, 0.80, 0.80]
    >>> correlated_t(a, b, n_folds=4)[["mean", "p_better"]].round(4).tolist()
    [0.0175, 0.8639]
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if first.shape != second.shape or first.ndim != 1:
        got: object = (first.shape, second.shape)
        raise fail("the scores do not fit together", got, "two of shape (n,)", "pair them by fold")
    if n_folds < 2 or len(first) % n_folds:
        todo = "pass the folds of one repeat"
        got = f"{n_folds} folds, {len(first)} scores"
        raise fail("the scores are not of whole repeats", got, "a multiple of n_folds", todo)
    distribution = posterior(first - second, 1 / n_folds)
    prob = check_prob(prob)
    return pd.Series(decide(distribution, rope=check_rope(rope), prob=prob, kind="eti"))
