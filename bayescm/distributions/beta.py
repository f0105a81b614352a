"""The beta distribution, that of F1 which follows from it, and a point mass."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions.base import Distribution
from bayescm.distributions.beta_hdi import highest_of
from bayescm.distributions.hdi import (
    FLAT,
    INTERIOR,
    LOWER,
    NOT_UNIMODAL,
    U_SHAPED,
    UPPER,
)
from bayescm.distributions.incomplete import Share, betainc, betaincc, betaincinv, logpdf

_CHUNK, _TERMS = 4096, 100  # in the processor's cache at once; of a series of halves


@dataclass(frozen=True, eq=False)
class _OfABeta(Distribution):
    """What a number that is an increasing function of a beta variable has in common with it."""

    a: np.ndarray
    b: np.ndarray
    _of: ClassVar[Any]  # the number, of the beta variable
    power: ClassVar[int]  # see `beta_highest`
    support = 0.0, 1.0

    @classmethod
    def joined(cls, members: Sequence) -> Self:
        return cls(*np.array([(float(each.a), float(each.b)) for each in members]).T)

    @classmethod
    def at_once(cls, members: Sequence, prob: float, kind: str, moments: bool) -> None:
        if kind == "hdi":
            for each, ends in zip(members, cls.joined(members).hdi(prob), strict=True):
                each._found[prob] = ends

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(np.shape(self.a), np.shape(self.b))

    def take(self, index: np.ndarray) -> Self:
        a, b = np.broadcast_arrays(np.asarray(self.a, float), np.asarray(self.b, float))
        return type(self)(a.ravel()[index], b.ravel()[index])

    def hdi(self, prob: float) -> np.ndarray:
        if prob not in self._found:
            kinds = self.hdi_kind(prob)
            self._found[prob] = highest_of(self, prob, kinds, self._of, power=self.power)
        return self._found[prob]


@dataclass(frozen=True, eq=False)
class Beta(_OfABeta):
    """
    The beta distribution, for counts of any size: ``a`` and ``b`` > 0, of one shape.

    Near 1 a double has few digits left for 1 - x; a complement has its own distribution, ``Beta(b,
    a)``.

    Examples
    --------
    >>> Beta(65.5, 35.5).eti(0.95).round(4)
    array([0.5533, 0.7382])
    >>> Beta(0.5, 0.5).hdi_kind(0.95).item()
    'U-shaped'
    """

    power = 0
    image = staticmethod(lambda share: share)
    _of = staticmethod(np.asarray)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return betainc(self.a, self.b, np.clip(x, 0, 1))

    def sf(self, x: ArrayLike) -> np.ndarray:
        return betaincc(self.a, self.b, np.clip(x, 0, 1))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return betaincinv(self.a, self.b, q)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return np.exp(logpdf(self.a, self.b, x))

    def mean(self) -> np.ndarray:
        return self.a / (np.asarray(self.a) + self.b)

    def sd(self) -> np.ndarray:
        total = np.asarray(self.a) + self.b
        return np.sqrt(self.a / total * (self.b / total) / (total + 1))

    def skewness(self) -> np.ndarray:
        total = np.asarray(self.a) + self.b
        spread = np.sqrt((total + 1) / self.a / self.b)
        return 2 * (np.asarray(self.b) - self.a) / (total + 2) * spread

    def mode(self) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (np.asarray(self.a) - 1) / (np.asarray(self.a) + self.b - 2)
        return _by_shape(self._kind, inside, 0.0, 1.0)

    def hdi_kind(self, prob: float) -> np.ndarray:
        return self._kind

    @cached_property
    def _kind(self):
        a, b = np.broadcast_arrays(self.a, self.b)
        rules = [(a > 1) & (b > 1), (a == 1) & (b == 1), (a < 1) & (b < 1), a > b]
        return np.select(rules, [INTERIOR, FLAT, U_SHAPED, UPPER], LOWER)


@dataclass(frozen=True, eq=False)
class F1(_OfABeta):
    """
    The distribution of F1: of 2u/(1 + u) with the Jaccard index u ~ Beta(a, b).

    For two classes ``a`` is the Dirichlet parameter of the true positives, and ``b`` the sum of
    those of false positives and false negatives. The moments are sums of those of beta
    distributions; the interval of highest density is found in the scale of F1, and
    is not the image of u's.

    References
    ----------
    Wang, Y., Li, J., Li, Y., Wang, R. & Yang, X. (2015). Confidence interval for F1 measure of
    algorithm performance based on blocked 3x2 cross-validation. IEEE Transactions on Knowledge
    and Data Engineering, 27(3), 651-659. doi:10.1109/TKDE.2014.2359667

    Examples
    --------
    >>> F1(65.5, 51.0).eti(0.95).round(4)
    array([0.641 , 0.7884])
    >>> F1(65.5, 51.0).mode().round(4).item()
    0.7229
    """

    power = 2
    image = staticmethod(lambda u: Share(2 * u.v / (1 + u.v), u.c / (1 + u.v)))
    _of = staticmethod(lambda jaccard: 2 * jaccard / (1 + jaccard))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return betainc(self.a, self.b, _jaccard(x))

    def sf(self, x: ArrayLike) -> np.ndarray:
        return betaincc(self.a, self.b, _jaccard(x))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self._of(betaincinv(self.a, self.b, q))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        u = np.asarray(x) / (2 - np.asarray(x))
        with np.errstate(invalid="ignore"):
            density = np.exp(logpdf(self.a, self.b, u) + 2 * np.log1p(u)) / 2
        return np.nan_to_num(density, posinf=np.inf)

    def mean(self) -> np.ndarray:
        return self._moments[0]

    def sd(self) -> np.ndarray:
        return np.sqrt(self._moments[1])

    def skewness(self) -> np.ndarray:
        return self._moments[2] / self._moments[1] ** 1.5

    @cached_property
    def _moments(self):
        """
        Return the mean, the second and the third central moment.

        With c = 1 - u and m the mean of u, F1 differs from its value at m by 2 (u - m) / (1 + m)
        times the series of 1 / (2 - c) in c. A factor c**j makes Beta(b + j, a) of Beta(b, a), of
        which the moments about the old mean are known: nothing cancels.
        """
        a, b = np.broadcast_arrays(np.asarray(self.a, float), np.asarray(self.b, float))
        if a.size == 1:  # plain numbers take a tenth of the time
            return np.reshape(_moments_of_f1(a.item(), b.item()), (3, *a.shape))
        found = np.empty((3, a.size))
        for start in range(0, a.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            found[:, part] = _moments_of_f1(a.flat[part], b.flat[part])
        return [each.reshape(a.shape)[()] for each in found]

    def mode(self) -> np.ndarray:
        a, b = np.asarray(self.a, float), np.asarray(self.b, float)
        half = b + 2 * a - 5
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(half**2 + 16 * (a - 1))
            inside = np.where(half > 0, 4 * (a - 1) / (half + root), (root - half) / 4)
        return _by_shape(self._kind, inside, 0.0, 1.0)

    def hdi_kind(self, prob: float) -> np.ndarray:
        finite_at_0 = (self._kind == INTERIOR) & (np.asarray(self.a) == 1)
        if not finite_at_0.any():
            return self._kind
        chosen, kinds = np.flatnonzero(finite_at_0), np.array(self._kind)
        some = self.take(chosen)
        reaches_0 = some.pdf(0.0) >= some.pdf(some.quantile(prob))
        kinds.reshape(-1)[chosen[reaches_0]] = LOWER
        return kinds

    @cached_property
    def _kind(self):
        # The slope of the log density has the sign of (a - 1) + (3 - b) u - (a + b) u**2.
        a, b = np.broadcast_arrays(np.asarray(self.a, float), self.b)
        hump = (b < 3) & ((3 - b) ** 2 > 4 * (a + b) * (1 - a))
        rules = [
            (a >= 1) & (b <= 1),
            (a > 1) | ((a == 1) & (b < 3)),
            (a < 1) & (b < 1),
            (a < 1) & hump,
        ]
        return np.select(rules, [UPPER, INTERIOR, U_SHAPED, NOT_UNIMODAL], LOWER)


@dataclass(frozen=True, eq=False)
class PointMass(Distribution):
    """All the mass in one point: a prevalence that is known."""

    at: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.at)

    def take(self, index: np.ndarray) -> "PointMass":
        return PointMass(np.ravel(self.at)[index])

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(x) >= self.at, 1.0, 0.0)

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(x) == self.at, 1.0, 0.0)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return np.asarray(self.at) + np.zeros_like(q, float)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(x) == self.at, np.inf, 0.0)

    def mean(self) -> np.ndarray:
        return np.asarray(self.at, float)

    mode = mean

    def sd(self) -> np.ndarray:
        return np.zeros_like(self.at, float)

    def skewness(self) -> np.ndarray:
        return np.full_like(self.at, np.nan, float)

    def shortfall(self) -> np.ndarray:
        return np.maximum(-self.mean(), 0)

    def hdi(self, prob: float) -> np.ndarray:
        return self.eti(prob)

    def hdi_kind(self, prob: float) -> np.ndarray:
        return np.full(self.shape, INTERIOR)


def _jaccard(f1):
    f1 = np.clip(f1, 0, 1)
    return f1 / (2 - f1)


def _moments_of_f1(a, b):
    n, weight = a + b, 0 * a + 1  # of a term: the mean of (c / 2)**j
    first, second, third = 0 * a, 0 * a, 0 * a
    share = one = 1 / n
    two = 1 / (n + 1)
    for j in range(_TERMS):
        three = 1 / (n + (j + 2))
        found, missed = a * one, (b + j) * one
        shift = found * j * share  # of the mean of c
        spread = found * missed * two
        lean = 2 * spread * (found - missed) * three
        first -= weight * shift
        term = (j + 1) * weight * (spread + shift**2)
        second += term
        third -= (j + 1) * (j + 2) / 2 * weight * (lean + shift * (3 * spread + shift**2))
        weight = weight * missed / 2
        one, two = two, three
        if np.all(term <= 1e-17 * second):
            break
    scale = n / (2 * a + b)
    first, second, third = scale * first, scale**2 * second, scale**3 * third
    mean = 2 * a / (2 * a + b) + first
    return mean, second - first**2, third - 3 * first * second + 2 * first**3


def _by_shape(shape, interior, lower, upper):
    rules = [shape == INTERIOR, shape == LOWER, shape == UPPER]
    return np.select(rules, [interior, lower, upper], np.nan)
