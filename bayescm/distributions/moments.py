"""
Distributions of multiclass measures from moments: means over classes, and the correlation R_K.

The cells of a table are represented by independent gamma variables of scale 1, with the Dirichlet
parameters as shapes. Every measure is a function of their shares. The cumulants of the gamma
variables give the mean, standard deviation, skewness and excess kurtosis of two kinds of measures:

- The mean over classes of a per-class measure (`mean_over_classes`). The cumulants of independent
  variables add up, and the contribution of shared cells comes from the delta method.
- Gorodkin's R_K, the multiclass MCC, by the second-order delta method (`multiclass_mcc`).

Both are represented by a beta distribution whose quantiles are corrected by a Cornish-Fisher
expansion (`CornishFisherBeta`). The terms of the expansion give an error estimate. If it exceeds
the error of draws, draws are used instead (`MomentsOrDraws`).

References
----------
Cornish, E. A. & Fisher, R. A. (1938). Moments and cumulants in the specification of distributions.
Revue de l'Institut International de Statistique, 5(4), 307-320. doi:10.2307/1400905
Gorodkin, J. (2004). Comparing two K-category assignments by a K-category correlation coefficient.
Computational Biology and Chemistry, 28(5-6), 367-374. doi:10.1016/j.compbiolchem.2004.09.006
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.base import ACCURACY_OF_MANY, MANY, Distribution
from bayescm.distributions.batches import InTurn
from bayescm.distributions.beta import F1, Beta
from bayescm.distributions.hdi import INTERIOR, LOWER, NOT_UNIMODAL, U_SHAPED, UPPER
from bayescm.distributions.incomplete import betainc, betaincinv, logpdf

# The mean over classes

# Half of the effect of the fifth and of the sixth cumulant on the ends of 95% intervals.
_FIFTH = 2.6 / 120
_SIXTH = 8.5 / 720
_SCORE = 1.96  # normal score at which the error is evaluated


def mean_over_classes(
    parts: Beta | F1, concentration: np.ndarray | None, included: np.ndarray | None = None
) -> "CornishFisherBeta":
    """
    Return the distribution of the mean over classes of a per-class measure.

    Parameters
    ----------
    parts : Beta or F1, batch (..., C)
        Distribution of every class: a function of tp / (tp + fn + fp), or a proportion of a row or
        a column.
    concentration : ndarray, shape (..., C, C), or None
        Dirichlet parameters. None if the classes are independent.
    included : ndarray of bool, shape (C,) or (..., C), optional
        Classes to average over. All by default.
    """
    mean, sd = parts.mean(), parts.sd()
    # An excluded class is treated as the constant 0, whose cumulants are 0.
    used = np.ones(mean.shape[-1]) if included is None else included.astype(float)
    second, third, fourth = (
        (used * cumulant).sum(-1)
        for cumulant in (sd**2, parts.skewness() * sd**3, excess_kurtosis(mean, sd) * sd**4)
    )
    covariance, joint_third, neglected = (
        np.zeros(3) if concentration is None else _joint_cumulants(parts, concentration, used)
    )
    total, classes = second + covariance, used.sum(-1)
    return CornishFisherBeta(
        (used * mean).sum(-1) / classes,
        np.sqrt(total) / classes,
        (third + joint_third) / total**1.5,
        fourth / second**2,
        np.abs(neglected) / total / 2 + _error_of_higher_cumulants(mean, sd, second, used),
    )


def _error_of_higher_cumulants(mean, sd, second, used):
    """
    Return the relative error of the spread from the cumulants beyond the fourth.

    These matter for classes with few examples. The fifth and the sixth cumulant of a class are
    about its variance times powers of the effect of one more example. The same holds for the beta
    distribution.
    """
    classes = used.sum(-1)
    step = _step_of_an_example(mean, sd**2)
    mean_of_all = (used * mean).sum(-1) / classes
    of_beta = classes * _step_of_an_example(mean_of_all, second / classes**2)
    fifth, sixth = (
        ((used * sd**2 * step**k).sum(-1) / second - of_beta**k) / second ** (k / 2) for k in (3, 4)
    )
    return (_FIFTH * np.abs(fifth) + _SIXTH * np.abs(sixth)) / _SCORE


def _step_of_an_example(mean, variance):
    """Return the effect of one more example on a beta variable, in terms of its cumulants."""
    return 2 / (mean * (1 - mean) / variance + 1)


def _joint_cumulants(parts, concentration, used):
    """
    Return the contribution of shared cells to the second and the third cumulant of the sum.

    The result is of first order in the variance of the cells. The slope of a class with respect to
    its errors is the slope of its mean. The neglected terms, which are smaller by a factor of the
    class size, are estimated and also returned.
    """
    weight = 0.5 if isinstance(parts, F1) else 1.0
    hit, wrong = np.asarray(parts.a), np.asarray(parts.b)
    base = hit + weight * wrong
    by_wrong = used * -weight * hit / base**2
    by_hit, by_wrong_twice = used * weight * wrong / base**2, used * 2 * weight**2 * hit / base**3
    by_both = used * weight * (hit - weight * wrong) / base**3
    shared = (concentration + np.swapaxes(concentration, -1, -2)) * (
        1 - np.eye(concentration.shape[-1])
    )
    step = 1e-4 * (1 + wrong)
    slope = used * (replace(parts, b=wrong + step).mean() - parts.mean()) / step
    covariance = slope * np.einsum("...ij,...j->...i", shared, slope)
    reach = np.einsum("...ij,...j->...i", shared, by_wrong)
    third = 2 * by_both * hit * by_hit * reach
    third += by_wrong_twice * (2 * wrong * by_wrong + reach) * reach
    third = 3 * (third + 2 * by_wrong**2 * reach).sum(-1)
    return covariance.sum(-1), third, (covariance / (1 + hit + wrong)).sum(-1)


# The correlation of many classes: the delta method to second order

_STEP = 1e-3  # step of finite differences, relative to a cell
_CHUNK = 2**17  # maximum number of elements of an array


def multiclass_mcc(concentration: np.ndarray) -> "CornishFisherBeta":
    """Return the distribution of R_K for theta ~ Dirichlet(concentration), (..., C, C), all > 0."""
    cells = concentration.reshape(-1, *concentration.shape[-2:])
    step = max(1, _CHUNK // cells[0].size)
    chunks = [_moments_of_mcc(cells[k : k + step]) for k in range(0, len(cells), step)]
    mean, sd, skew, excess, error = np.concatenate(chunks, -1).reshape(5, *concentration.shape[:-2])
    return CornishFisherBeta((1 + mean) / 2, sd / 2, skew, excess, error, (-1.0, 1.0))


def _moments_of_mcc(cells):
    """
    Return mean, standard deviation, skewness, excess kurtosis and the relative error, (5, m).

    Let f_i and f_ij be the derivatives of R_K with respect to the cells, whose cumulants all equal
    a_i. To second order in 1 / n, the variance is sum a f_i**2 plus a term in f_ij. The third
    cumulant is sum 2 a f_i**3 + 3 a_i a_j f_i f_j f_ij, and the fourth is similar.
    """
    derivatives = MccDerivatives(cells)
    slope, along = derivatives.slope, cells * derivatives.slope
    size = _STEP / np.abs(slope).max((1, 2), keepdims=True)
    up, down = MccDerivatives(cells + size * along), MccDerivatives(cells - size * along)
    turn = (up.slope - down.slope) / (2 * size)
    bend = _total(along * (up.slope - 2 * slope + down.slope) / size**2)
    drift = _total(cells * (up.second - down.second) / (2 * size))
    first_order = _total(along * slope)
    second_order = (
        2 * _total(along * derivatives.second) + derivatives.squared_hessian() / 2 + drift
    )
    third = _total(2 * along * slope**2 + 3 * along * turn)
    fourth = _total(6 * along * slope**3 + 24 * along * slope * turn + 12 * cells * turn**2)
    sd = np.sqrt(np.maximum(first_order + second_order, first_order / 4))
    mean = derivatives.value[:, 0, 0] + _total(cells * derivatives.second) / 2
    return np.stack(
        [
            mean,
            sd,
            third / first_order**1.5,
            (fourth + 4 * bend) / first_order**2,
            (second_order / first_order) ** 2,
        ]
    )


class MccDerivatives:
    """
    R_K and its derivatives at cells (m, C, C), with arrays (m, 1, 1) for one number per table.

    R_K is a number divided by the square root of the product of two others, each linear in every
    single cell.
    """

    def __init__(self, cells):
        self.cells, self.diagonal = cells, np.eye(cells.shape[-1])
        self.actual, self.predicted = cells.sum(2, keepdims=True), cells.sum(1, keepdims=True)
        self.total = self.actual.sum(1, keepdims=True)
        self.denominators = self.total**2 - np.stack(
            [_sum(margin**2) for margin in (self.predicted, self.actual)]
        )
        self.root = 1 / np.sqrt(self.denominators[0] * self.denominators[1])
        right = _sum(cells * self.diagonal)
        chance = _sum(self.actual * _transposed(self.predicted))
        self.value = self.root * (right * self.total - chance)
        # Contributions of a cell to the numerator and, relative to them, to both denominators.
        by_cell = self.total * self.diagonal + right
        by_cell = by_cell - _transposed(self.predicted) - _transposed(self.actual)
        self.top = self.root * by_cell
        self.p = 2 * (self.total - self.predicted) / self.denominators[0]
        self.t = 2 * (self.total - self.actual) / self.denominators[1]

    @cached_property
    def slope(self):
        """First derivatives, (m, C, C)."""
        return self.top - self.value * (self.p + self.t) / 2

    @cached_property
    def second(self):
        """Second derivatives with respect to the same cell twice, (m, C, C)."""
        p, t = self.p, self.t
        return self.value * (0.75 * (p**2 + t**2) + p * t / 2) - self.top * (p + t)

    def squared_hessian(self):
        """
        Return the sum of squared second derivatives over pairs of cells, weighted by shapes, (m,).

        The Hessian is a quadratic form in five arrays, plus a term for cells that share a row or a
        column.
        """
        arrays = (self.diagonal, np.ones(1), self.top, self.p, self.t)
        basis = np.stack([np.broadcast_to(array, self.cells.shape) for array in arrays], 1)
        weighted, form = self.cells[:, None] * basis, self._form()
        flat = (*basis.shape[:2], -1)
        shared = _transposed(self._shared(weighted).reshape(flat))
        weighted = weighted.reshape(flat)
        inner = form @ (weighted @ _transposed(basis.reshape(flat)))
        crossed = form * (weighted @ shared)
        square = np.einsum("mij,mji->m", inner, inner)
        return square + 2 * crossed.sum((1, 2)) + self._shared_twice()

    def _form(self):
        root, value = self.root[:, 0, 0], self.value[:, 0, 0]
        form = np.zeros((len(root), 5, 5))
        form[:, 0, 1] = root
        form[:, 2, 3] = form[:, 2, 4] = -0.5
        form[:, 3, 4] = value / 4
        form += form.swapaxes(1, 2)
        form[:, 3, 3] = form[:, 4, 4] = 0.75 * value
        form[:, 1, 1] = -self._apart.sum(0)
        return form

    @property
    def _apart(self):
        """R_K divided by both denominators, (2, m)."""
        return (self.value / self.denominators)[..., 0, 0]

    def _shared(self, arrays):
        """Return the contribution of cells in a common row or column, for arrays (m, K, C, C)."""
        rows, columns = arrays.sum(3, keepdims=True), arrays.sum(2, keepdims=True)
        p, t = (part[:, None, None, None] for part in self._apart)
        either = self.root[:, None] * (_transposed(rows) + _transposed(columns))
        return columns * p + rows * t - either

    def _shared_twice(self):
        t, p, (by_p, by_t) = self.actual, self.predicted, self._apart
        root, right = self.root[:, 0, 0], self.cells * self.diagonal
        either = _total(t * _transposed(p)) + _total(self.cells * _transposed(self.cells))
        total = 2 * root**2 * either + by_p**2 * _total(p**2) + by_t**2 * _total(t**2)
        total -= 4 * root * (by_p * _total(right * p) + by_t * _total(right * t))
        return total + 2 * by_p * by_t * _total(self.cells**2)


def _transposed(array):
    return array.swapaxes(-1, -2)


def _sum(array):
    return array.sum((1, 2), keepdims=True)


def _total(array):
    return array.sum((1, 2))


# The mean of a Dirichlet process


def mean_of_dirichlet_process(
    total: ArrayLike, mean: ArrayLike, sums: Sequence[ArrayLike], further: ArrayLike | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r"""
    Return mean, sd, skewness and excess kurtosis of the mean of a Dirichlet process.

    With atoms :math:`s_i` of weights :math:`w_i`, centred at the mean, and total weight A, the k-th
    central moment is (Yamato 1984, doi:10.1214/aop/1176993389)

    .. math:: \frac{k!}{A (A + 1) \cdots (A + k - 1)} \, [t^k] \prod_i (1 - t s_i)^{-w_i} .

    Parameters
    ----------
    total : array_like
        Total weight A.
    mean : array_like
        Mean of the atoms.
    sums : sequence of array_like
        Sums of :math:`w_i s_i^k` for k = 1, 2, 3, 4.
    further : array_like, shape (5, ...), optional
        Coefficients of :math:`t^0, \ldots, t^4` of an additional factor of the product.

    Examples
    --------
    >>> from scipy import stats
    >>> score, weight = np.array([1.0, 0.0]) - 0.6, np.array([3.0, 2.0])
    >>> sums = [weight @ score**k for k in (1, 2, 3, 4)]
    >>> mean, sd, skewness, kurtosis = mean_of_dirichlet_process(5.0, 0.6, sums)
    >>> np.allclose([mean, sd**2, skewness, kurtosis], stats.beta(3, 2).stats(moments="mvsk"))
    True
    """
    total, mean = np.asarray(total, float), np.asarray(mean, float)
    # Coefficients of the powers of t in the logarithm of the product.
    p1, p2, p3, p4 = (np.asarray(part, float) / k for k, part in enumerate(sums, 1))
    second, third = p1**2 / 2 + p2, p1**3 / 6 + p1 * p2 + p3
    fourth = p1**4 / 24 + p1**2 * p2 / 2 + p2**2 / 2 + p1 * p3 + p4
    series = [np.ones_like(p1), p1, second, third, fourth]
    if further is not None:
        others = np.asarray(further, float)
        series = [sum(series[j] * others[k - j] for j in range(k + 1)) for k in range(5)]
    ascending = np.cumprod([(k + 1) / (total + k) for k in range(4)], axis=0)
    _, variance, cubes, fourths = (
        part * factor for part, factor in zip(series[1:], ascending, strict=True)
    )
    return standardized(mean, variance, cubes, fourths)


def standardized(
    mean: np.ndarray, variance: np.ndarray, third: np.ndarray, fourth: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, sd, skewness and excess kurtosis, with 0 for the last two of a constant."""
    with np.errstate(invalid="ignore", divide="ignore"):
        skewness, excess = third / variance**1.5, fourth / variance**2 - 3
        sd = np.sqrt(variance)
    skewness, excess = (np.where(variance > 0, value, 0.0) for value in (skewness, excess))
    return mean, sd, skewness, excess


# The distribution with four given moments

_REACH = 8.0  # largest score; beyond it, 1 - q is 0 in floating point
_PART = 0.2  # assumed relative error of a correction
_MORE = 2.0  # increase of this error with the correction, in standard deviations
_TWICE = 2.0  # safety factor; 3 of 84 random tables had larger errors


@dataclass(frozen=True, eq=False)
class CornishFisherBeta(Distribution):
    """
    Beta distribution with a Cornish-Fisher correction for skewness and kurtosis.

    The distribution is close to the beta distribution of the same mean and standard deviation. At
    the normal score z, its quantile is the quantile of the beta distribution plus a correction.
    With the skewness g and the excess kurtosis k, and their values g0 and k0 for the beta
    distribution, the correction in standard deviations is

        (g - g0) (z**2 - 1) / 6 + (k - k0) (z**3 - 3 z) / 24 - (g**2 - g0**2) (2 z**3 - 5 z) / 36.

    The size of the terms also gives an error estimate.

    Attributes
    ----------
    unit_mean, unit_sd : ndarray, shape (...)
        Mean and standard deviation after mapping the support to [0, 1].
    skew, excess : ndarray, shape (...)
        Skewness and excess kurtosis.
    relative_error : ndarray, shape (...)
        Relative error of the standard deviation.
    support : pair of float
        Smallest and largest value.
    accurate_tails : bool
        Whether the tails are accurate. This is the case for the mean of a Dirichlet process,
        because four moments describe its tails well. docs/results/item_score_alarms_tails.csv lists
        how often the tail probability of a sample is below 1e-2 and 1e-3.

    Examples
    --------
    >>> beta = Beta(20.0, 7.0)
    >>> mean, sd = beta.mean(), beta.sd()
    >>> same = CornishFisherBeta(mean, sd, beta.skewness(), excess_kurtosis(mean, sd))
    >>> same.eti(0.95).round(6), beta.eti(0.95).round(6)
    (array([0.563525, 0.884268]), array([0.563525, 0.884268]))
    """

    how: ClassVar[str] = "moments"
    unit_mean: np.ndarray
    unit_sd: np.ndarray
    skew: np.ndarray
    excess: np.ndarray
    relative_error: np.ndarray | float = 0.0
    support: tuple[float, float] = (0.0, 1.0)
    accurate_tails: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.unit_mean)

    def take(self, index: np.ndarray) -> "CornishFisherBeta":
        names = ("unit_mean", "unit_sd", "skew", "excess", "relative_error")
        full = {name: np.broadcast_to(getattr(self, name), self.shape) for name in names}
        return replace(self, **{name: array.ravel()[index] for name, array in full.items()})

    def minus(self, other: Distribution) -> "CornishFisherBeta | None":
        """Return the difference from an independent mean on the same scale, or None."""
        if not (isinstance(other, CornishFisherBeta) and self.accurate_tails):
            return None
        if other.support != self.support:
            return None
        low, high = self.support
        first, second = self.unit_sd**2, other.unit_sd**2
        variance = first + second
        cubes = self.skew * first**1.5 - other.skew * second**1.5
        fourths = self.excess * first**2 + other.excess * second**2
        return CornishFisherBeta(
            (self.unit_mean - other.unit_mean + 1) / 2,
            np.sqrt(variance) / 2,
            cubes / variance**1.5,
            fourths / variance**2,
            support=(low - high, high - low),
            accurate_tails=other.accurate_tails,
        )

    def quantile(self, q: ArrayLike) -> np.ndarray:
        q = np.asarray(q, float) + np.zeros(self.shape)
        a, b = _parameters(self.unit_mean, self.unit_sd)
        base = betaincinv(a, b, q)
        third, fourth = self._terms(np.clip(special.ndtri(q), -_REACH, _REACH))
        inside = np.clip(base + third + fourth, 0, 1)
        inside = np.where((q > 0) & (q < 1), inside, q > 0)
        return (self.support[0] + self._width * inside)[()]

    def _terms(self, z):
        """Return the corrections of quantiles for the skewness and the kurtosis."""
        skew = beta_of(self.unit_mean, self.unit_sd).skewness()
        excess = excess_kurtosis(self.unit_mean, self.unit_sd)
        third = (self.skew - skew) * (z**2 - 1) / 6
        fourth = (self.excess - excess) * (z**3 - 3 * z) / 24
        fourth -= (self.skew**2 - skew**2) * (2 * z**3 - 5 * z) / 36
        return self.unit_sd * third, self.unit_sd * fourth

    def cdf(self, x: ArrayLike) -> np.ndarray:
        u = self._unit(x)
        return np.where(u <= 0, 0.0, np.where(u >= 1, 1.0, special.ndtr(self._score(u))))[()]

    def sf(self, x: ArrayLike) -> np.ndarray:
        u = self._unit(x)
        return np.where(u <= 0, 1.0, np.where(u >= 1, 0.0, special.ndtr(-self._score(u))))[()]

    def pdf(self, x: ArrayLike) -> np.ndarray:
        u = self._unit(x)
        z = self._score(u)
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / self._at(z)[1] / self._width
        return np.where((u >= 0) & (u <= 1), density, 0.0)[()]

    def mean(self) -> np.ndarray:
        return self.support[0] + self._width * self.unit_mean

    def sd(self) -> np.ndarray:
        return self._width * self.unit_sd

    def skewness(self) -> np.ndarray:
        return self.skew

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return _TWICE * self.error_of(self._score(self._unit(x)))

    def error_of(self, z: ArrayLike) -> np.ndarray:
        """Return the error of a quantile at a standard normal score."""
        third, fourth = self._terms(np.asarray(z, float))
        size = sum(_parameters(self.unit_mean, self.unit_sd)) + 1
        further = self.unit_sd * (np.abs(z) * self.relative_error + 1 / (2 * size))
        moved = (np.abs(third) + np.abs(fourth)) / self.unit_sd
        return self._width * (self.unit_sd * (_PART + _MORE * moved) * moved + further)

    @property
    def _width(self):
        return self.support[1] - self.support[0]

    def _unit(self, x):
        return (np.asarray(x, float) - self.support[0]) / self._width

    def _at(self, z):
        """Return the quantiles at scores, and their derivatives."""
        a, b = _parameters(self.unit_mean, self.unit_sd)
        base = betaincinv(a, b, special.ndtr(z))
        with np.errstate(all="ignore"):
            rate = np.exp(-(z**2) / 2 - logpdf(a, b, base)) / np.sqrt(2 * np.pi)
        moved, step = sum(self._terms(z)), 1e-4
        slope = (sum(self._terms(z + step)) - sum(self._terms(z - step))) / (2 * step)
        return base + moved, np.maximum(rate + slope, 1e-3 * self.unit_sd)

    def _score(self, x):
        """Return the normal scores of numbers, by Newton's method from the scores of the beta."""
        a, b = _parameters(self.unit_mean, self.unit_sd)
        z = np.clip(special.ndtri(betainc(a, b, np.clip(x, 0, 1))), -_REACH, _REACH)
        for _ in range(30):
            at, rate = self._at(z)
            step = np.clip((x - at) / rate, -1, 1)
            z = np.clip(z + step, -_REACH, _REACH)
            if not (np.abs(step) > 1e-12).any():
                break
        return z

    def _highest(self, prob):
        scores = QuantilePolynomial.SCORES.reshape(-1, *[1] * len(self.shape))
        with np.errstate(divide="ignore"):
            y = self._link.to_y(self.quantile(special.ndtr(scores) + np.zeros(self.shape)))
        polynomial = QuantilePolynomial(np.moveaxis(y, 0, -1).reshape(-1, len(scores)), self._link)
        kinds = polynomial.kinds().reshape(self.shape)
        tails = np.reshape([(1 - prob) / 2, (1 + prob) / 2], (2, *[1] * len(self.shape)))
        inner = special.ndtr(polynomial.highest(prob)).reshape(*self.shape, 2)
        inner = np.moveaxis(inner, -1, 0)
        q = np.where((kinds == INTERIOR) & np.isfinite(inner).all(0), inner, tails)
        for kind, ends in [(LOWER, [0.0, prob]), (UPPER, [1 - prob, 1.0])]:
            q = np.where(kinds == kind, np.reshape(ends, tails.shape), q)
        return np.moveaxis(self.quantile(q), 0, -1), kinds


def excess_kurtosis(mean: ArrayLike, sd: ArrayLike) -> np.ndarray:
    """Return the excess kurtosis of the beta distribution with a given mean and sd."""
    a, b = _parameters(mean, sd)
    n = a + b
    return 6 * ((a - b) ** 2 * (n + 1) - a * b * (n + 2)) / (a * b * (n + 2) * (n + 3))


def beta_of(mean: ArrayLike, sd: ArrayLike) -> Beta:
    """Return the beta distribution with a given mean and standard deviation."""
    return Beta(*_parameters(np.asarray(mean), np.asarray(sd)))


def _parameters(mean, sd):
    size = mean * (1 - mean) / sd**2 - 1
    return mean * size, (1 - mean) * size


_DEGREE = 14  # of the quantile polynomial
_FITTED = 4.5  # largest score to which the polynomial is fitted
_GRID = np.linspace(-_FITTED, _FITTED, 37)
_STEPS = 40  # maximum number of steps in the search for equal densities
_SETTLED = 1e-10  # change at which that search ends


@cache
def _fit():
    """Return the matrix from values at Chebyshev points to polynomial coefficients."""
    return np.linalg.inv(np.vander(QuantilePolynomial.SCORES / _FITTED, increasing=True)).T


class QuantilePolynomial:
    """
    Quantile functions of m distributions as polynomials in the normal score, on a link scale.

    With y(z) the quantile and x the number, the log density at the score z is -z**2 / 2 - log y'(z)
    - log dx/dy, up to a constant.

    Parameters
    ----------
    y : ndarray, shape (m, P)
        Quantiles on the scale of the link at the scores `SCORES`.
    link : Link
        Link between y and x.
    """

    SCORES = _FITTED * np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))

    def __init__(self, y, link):
        coefficients = y @ _fit()
        first = _derivative(coefficients)
        self.coefficients, self.link = np.stack([coefficients, first, _derivative(first)], 1), link

    def log_density(self, z):
        """Return the log density at scores (m, P), and its slope in the score."""
        powers = np.ones((*z.shape, _DEGREE + 1))
        powers[..., 1:] = z[..., None] / _FITTED
        powers = np.multiply.accumulate(powers, -1, out=powers)
        y, first, second = (self.coefficients @ powers.swapaxes(-1, -2)).swapaxes(0, 1)
        with np.errstate(all="ignore"):
            log = -(z**2) / 2 - np.log(first) - np.log(self.link.slope(y))
            return log, -z - second / first - self.link.bend(y) * first

    def kinds(self):
        """Return the kinds of highest-density intervals, (m,), from the slope of the density."""
        slope = self.log_density(_GRID[None])[1]
        rising, finite = slope > 0, np.isfinite(slope).all(-1)
        once = (rising[:, 1:] != rising[:, :-1]).sum(-1) == 1
        rules = [rising.all(-1), ~rising.any(-1), once & rising[:, 0], once & ~rising[:, 0]]
        kinds = np.select(rules, [UPPER, LOWER, INTERIOR, U_SHAPED], NOT_UNIMODAL)
        return np.where(finite, kinds, NOT_UNIMODAL).astype("<U15")

    def highest(self, prob):
        """Return the scores of both ends of equal density, (m, 2), or NaN if there are none."""
        size = len(self.coefficients)
        low, high = np.full(size, -_FITTED), np.full(size, special.ndtri(1 - prob))
        z = np.full(size, special.ndtri((1 - prob) / 2))
        for _ in range(_STEPS):
            ends = _ends(z, prob)
            log, slope = self.log_density(ends)
            gap = log[:, 1] - log[:, 0]
            with np.errstate(all="ignore"):
                # Derivative of the upper score with respect to the lower one, at constant mass.
                ratio = np.exp((ends[:, 1] ** 2 - ends[:, 0] ** 2) / 2)
                new = z - gap / (slope[:, 1] * ratio - slope[:, 0])
            low, high = np.where(gap > 0, z, low), np.where(gap > 0, high, z)
            # An end of the bracket may be the solution.
            inside = (new >= low - _SETTLED) & (new <= high + _SETTLED)
            new = np.where(inside, new, (low + high) / 2)
            moved, z = np.abs(new - z), new
            if not (moved > _SETTLED).any():
                break
        ends = _ends(z, prob)
        settled = (moved < 1e-8) & (np.abs(ends) < _FITTED).all(-1)
        return np.where(settled[:, None], ends, np.nan)


def _derivative(coefficients):
    """Return the coefficients of the derivative of a polynomial in z / `_FITTED`."""
    slope = np.zeros_like(coefficients)
    slope[..., :-1] = coefficients[..., 1:] * np.arange(1, _DEGREE + 1) / _FITTED
    return slope


def _ends(z, prob):
    """Return both scores given the lower one."""
    above = special.ndtr(-z) - prob
    return np.stack([z, -special.ndtri(np.maximum(above, 1e-300))], -1)


# Moments if they are accurate enough, and draws otherwise


@dataclass(frozen=True, eq=False)
class MomentsOrDraws(InTurn):
    """
    Batch of distributions from moments, with draws for members whose moments are too inaccurate.

    Attributes
    ----------
    by_moments : CornishFisherBeta
        Distributions from moments.
    draws : callable
        Maps indices of the flat batch to the draws of these members.
    draws_error : float
        Error of an interval end from draws, in standard deviations. The moments need not be more
        accurate.
    accuracy : float, optional
        Acceptable error of an interval end even if draws are more accurate. The default is 1e-3 for
        more than 1,000 numbers, and 0 otherwise.
    """

    by_moments: CornishFisherBeta
    draws: Callable[[np.ndarray], Distribution]
    draws_error: float
    accuracy: float | None = None

    @property
    def how(self) -> str:  # type: ignore[override]
        n_drawn = np.count_nonzero(~self.good)
        if n_drawn in (0, self.good.size):
            return "draws" if n_drawn else self.by_moments.how
        return f"{self.by_moments.how}, draws for {n_drawn} of {self.good.size}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.by_moments.shape

    @property
    def support(self) -> tuple[float, float]:
        return self.by_moments.support

    @cached_property
    def good(self) -> np.ndarray:
        """Whether the moments are accurate enough, (size of the flat batch,)."""
        is_large = np.size(self.by_moments.unit_mean) > MANY
        accuracy = self.accuracy or (ACCURACY_OF_MANY if is_large else 0.0)
        ends = np.stack([self.by_moments.error_of(score) for score in (-_SCORE, _SCORE)])
        most = np.maximum(accuracy, self.draws_error * self.by_moments.sd())
        return np.ravel((ends <= most).all(0))

    def with_tolerance(self, accuracy: float) -> "MomentsOrDraws":
        return replace(self, accuracy=accuracy)

    def take(self, index: Any) -> Distribution:
        indices = np.arange(self.good.size)[index]
        return replace(
            self, by_moments=self.by_moments.take(index), draws=lambda k: self.draws(indices[k])
        )

    @cached_property
    def _pieces(self):
        pieces = [
            (np.flatnonzero(self.good), self.by_moments.take),
            (np.flatnonzero(~self.good), self.draws),
        ]
        return [(index, distribution(index)) for index, distribution in pieces if index.size]

    def _ask(self, name, *points):
        if not points or name in ("eti", "hdi", "hdi_kind"):
            answers = [getattr(piece, name)(*points) for _, piece in self._pieces]
            answers = self._in_order(answers, 0)
            return answers.reshape((*self.shape, *answers.shape[1:]))[()]
        shape = np.broadcast_shapes(np.shape(points[0]), self.shape)
        lead = shape[: len(shape) - len(self.shape)]
        flat = np.broadcast_to(points[0], shape).reshape((*lead, -1))
        answers = [getattr(piece, name)(flat[..., index]) for index, piece in self._pieces]
        return self._in_order(answers, -1).reshape(shape)[()]

    def _in_order(self, answers, axis):
        """Return results of the pieces in the order of the batch."""
        order = np.argsort(np.concatenate([index for index, _ in self._pieces]))
        return np.take(np.concatenate(answers, axis), order, axis)
