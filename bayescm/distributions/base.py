"""The contract of a distribution: of one number, or of a batch of them."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.hdi import Link, Members, highest, peak
from bayescm.validate import fail

# The trapezoidal rule in the normal scale: exponentially accurate for smooth quantile functions.
_Z = np.arange(-7.5, 7.51, 0.0625)
_NODES = special.ndtr(_Z)
_WEIGHTS = np.exp(-(_Z**2) / 2) / np.exp(-(_Z**2) / 2).sum()
_DIFFERENCES = np.array([-3, -2, -1, 1, 2, 3])
_SIXTH_ORDER = np.array([-1, 9, -45, 45, -9, 1]) / 60
# Accuracies are in parts of the length of an interval.
INTERVAL_ACCURACY = 1e-4  # four digits of an end; a table takes a third of the time of 1e-6
# Probabilities are more accurate than ends: tails of 1e-8 are compared, and the largest of several.
PROBABILITY_ACCURACY = 1e-6
# A batch of more than this number of distributions is computed to 1e-3 by default, which takes a
# fifth of a millisecond for each, and mostly ends up in a plot.
MANY = 1_000
ACCURACY_OF_MANY = 1e-3


def default_accuracy(size: int) -> float:
    """Return the default numerical error of an end of an interval, for a batch of this size."""
    return INTERVAL_ACCURACY if size <= MANY else ACCURACY_OF_MANY


class Distribution:
    """
    The distribution of a number, or of a batch of them.

    A subclass gives `cdf` and `support`, or `quantile`; everything else follows, and it overrides
    what it can do faster or better. A number x or q is taken elementwise against the batch, and
    may have further axes in front of those of the batch.

    A batch of shape () is one number. Methods that a subclass overrides mean what they mean here.

    Attributes
    ----------
    shape : tuple of int
        The shape of the batch.
    support : pair of float or ndarray
        Smallest and largest value. The mass between them is 1.
    how : str
        How the numbers are made: ``closed form``, ``quadrature``, ``moments``, ``enumeration``,
        ``draws``.
    undefined : float or ndarray
        The mass on which the measure is 0/0, which is left out.
    image : callable, optional
        What makes it of a beta variable with parameters ``a`` and ``b``, `Share` by `Share`.

    Examples
    --------
    >>> class Exponential(Distribution):
    ...     support = 0.0, np.inf
    ...
    ...     def cdf(self, x):
    ...         return -np.expm1(-np.maximum(x, 0))
    >>> distribution = Exponential()
    >>> distribution.hdi(0.95).round(6) + 0, distribution.hdi_kind(0.95).item()
    (array([0.      , 2.995732]), 'one-sided lower')
    >>> distribution.skewness().round(6).item()
    2.0
    """

    how: ClassVar[str] = "closed form"
    undefined: Any = 0.0
    image: ClassVar[Any] = None

    @property
    def accurate_tails(self) -> bool:
        """Whether probabilities far out in the tails, such as 1e-7, are accurate."""
        return self.how == "closed form"

    def minus(self, other: "Distribution") -> "Distribution | None":
        """Return the distribution of the difference from an independent number, None if unknown."""
        return None

    @classmethod
    def concatenate(cls, members: Sequence["Distribution"]) -> "Distribution | None":
        """Return one batch of single numbers of this class, or None where it has none."""
        return None

    @classmethod
    def precompute(cls, members: Sequence, prob: float, kind: str, moments: bool) -> None:
        """Find what single numbers are asked for next, where that pays; they remember it."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch."""
        if type(self).quantile is Distribution.quantile:
            return np.shape(self.cdf(0.0))
        return np.shape(self.quantile(0.5))

    @property
    def support(self) -> tuple[Any, Any]:
        """Smallest and largest value."""
        return self.quantile(0.0), self.quantile(1.0)

    def take(self, index: Any) -> "Distribution":
        """Return the distributions of some members of the flat batch; an int takes one."""
        if self.shape == () and index == 0:
            return self
        raise NotImplementedError(f"{type(self).__name__} has no members to take")

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        x = np.asarray(x, float) + np.zeros(self.shape)
        low, high = np.zeros(x.shape), np.ones(x.shape)
        for _ in range(60):
            middle = (low + high) / 2
            below = self.quantile(middle) <= x
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        return 1 - self.cdf(x)

    def prob_above(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x; the same as `sf`."""
        return self.sf(x)

    def probability_error(self, x: ArrayLike) -> np.ndarray:
        """Return the standard error of the probabilities at x: 0 where nothing is drawn."""
        return np.zeros(np.broadcast_shapes(np.shape(x), self.shape))

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of x itself: 0 where the distribution is continuous."""
        return np.zeros(np.broadcast_shapes(np.shape(x), self.shape))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point below which lies the mass q."""
        q = np.asarray(q, float) + np.zeros(self.shape)
        goal, (y, rate) = special.ndtri(q), self._start(q)
        low, high = np.full(q.shape, -600.0), np.full(q.shape, 600.0)
        last, last_z = np.full(q.shape, np.nan), np.full(q.shape, np.nan)
        for step in range(100):
            # The secant in the normal scale where it stays in the bracket, else the middle.
            below = self.cdf(self._link.to_x(y))
            z = special.ndtri(np.clip(below, 0, 1))
            low, high = np.where(below < q, y, low), np.where(below < q, high, y)
            with np.errstate(all="ignore"):
                new = y - (z - goal) * (y - last) / (z - last_z)
                new = np.where(step or ~np.isfinite(z), new, y + rate * (goal - z))
            new = np.where((new > low) & (new < high) & (step % 8 < 7), new, (low + high) / 2)
            new = np.where(below == q, y, new)
            last, last_z, moved, y = y, z, np.abs(new - y), new
            if not (moved > 1e-13 * np.maximum(1, np.abs(y))).any():
                break
        return np.select([q <= 0, q >= 1], self.support, self._link.to_x(y))[()]

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at x: by differences of the distribution function."""
        x = np.asarray(x, float) + np.zeros(self.shape)
        y = self._link.to_y(x)
        step = self._step.reshape(self.shape)
        below = [self.cdf(self._link.to_x(y + step * shift)) for shift in _DIFFERENCES]
        with np.errstate(all="ignore"):
            density = np.tensordot(_SIXTH_ORDER, below, 1) / step / self._link.slope(y)
        low, high = self.support
        return np.where((x >= low) & (x <= high), np.maximum(np.nan_to_num(density), 0), 0.0)[()]

    def mean(self) -> np.ndarray:
        """Return the mean."""
        return np.tensordot(_WEIGHTS, self._values, 1)[()]

    def center(self) -> np.ndarray:
        """Return the mean, or the median where the mean is infinite."""
        mean = np.asarray(self.mean(), float)
        return np.where(np.isinf(mean), self.quantile(0.5), mean) if np.isinf(mean).any() else mean

    def sd(self) -> np.ndarray:
        """Return the standard deviation."""
        return np.sqrt(self._central(2))

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._central(3) / self._central(2) ** 1.5

    def expected_loss(self) -> np.ndarray:
        """Return the mean of max(0, -x)."""
        if np.min(self.support[0]) >= 0:
            return np.zeros(self.shape)
        below = self.cdf(0.0)
        nodes = _NODES.reshape(-1, *[1] * len(self.shape))
        values = np.tensordot(_WEIGHTS, self.quantile(nodes * below), 1)
        return below * np.where(below > 0, -values, 0.0)

    def mode(self) -> np.ndarray:
        """Return the mode, NaN where no single point is one."""
        return peak(Members(self), self.hdi_kind(0.95).ravel()).reshape(self.shape)[()]

    def eti(self, prob: float) -> np.ndarray:
        """Return the equal-tailed interval, shape (..., 2)."""
        tails = np.array([(1 - prob) / 2, (1 + prob) / 2])
        if not self.shape:
            return self.quantile(tails)
        tails = tails.reshape(2, *[1] * len(self.shape)) + np.zeros(self.shape)
        return np.moveaxis(self.quantile(tails), 0, -1)

    def hdi(self, prob: float) -> np.ndarray:
        """
        Return the interval of highest density, shape (..., 2).

        Where the region of highest density is not one interval, it is the shortest interval that
        has the mass; where the density is flat, the equal-tailed one.
        """
        return self._highest(prob)[0]

    def hdi_kind(self, prob: float) -> np.ndarray:
        """
        Return what kind of interval `hdi` is.

        ``interior``; ``one-sided lower``, which starts at the lower end of the support;
        ``one-sided upper``; ``flat``, where it is the equal-tailed interval; or what the density is
        where there are several candidates: ``U-shaped``, ``not unimodal``, ``more than one mode``.
        """
        return self._highest(prob)[1]

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the interval of a kind and the numerical errors of its ends, (..., 2) each."""
        ends = self.hdi(prob) if kind == "hdi" else self.eti(prob)
        if ends.ndim > 1:
            return check_interval(ends, np.moveaxis(self.error_at(np.moveaxis(ends, -1, 0)), 0, -1))
        return check_interval(ends, self.error_at(ends))

    def with_tolerance(self, accuracy: float) -> "Distribution":
        """Return the distribution with another error that is good enough, where it has one."""
        return self

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the numerical error of a quantile that came out as x: rounding."""
        return np.spacing(np.abs(np.where(np.isinf(x), 0.0, x)))

    def _start(self, q):
        """Guess a quantile in the scale of the link, and how fast it moves in the normal scale."""
        return np.zeros(np.shape(q)), 0.1

    def _highest(self, prob):
        if prob not in self._found:
            ends, kinds = highest(Members(self), prob)
            self._found[prob] = ends.reshape(*self.shape, 2), kinds.reshape(self.shape)
        return self._found[prob]

    @cached_property
    def _found(self):
        return {}

    @cached_property
    def _link(self):
        return Link(*self.support)

    @cached_property
    def _step(self):
        """The step of differences in the scale of the link: a fraction of the spread."""
        ends = [self._link.to_y(self.quantile(q)) for q in (0.16, 0.84)]
        return 0.02 * np.maximum(ends[1] - ends[0], 1e-12)

    @cached_property
    def _values(self):
        return np.asarray(self.quantile(_NODES.reshape(-1, *[1] * len(self.shape))))

    def _central(self, power):
        return np.tensordot(_WEIGHTS, (self._values - self.mean()) ** power, 1)[()]


def concatenate(members: Sequence[Distribution]) -> Distribution | None:
    """Return one batch of distributions of single numbers, or None where they are not alike."""
    kinds = {type(member) for member in members}
    return next(iter(kinds)).concatenate(members) if len(kinds) == 1 else None


def check_interval(ends, errors):
    """Return ends and errors, or raise where the ends are reversed or an error is not known."""
    wrong = (ends[..., 0] > ends[..., 1]) | (np.isnan(errors) & ~np.isnan(ends)).any(-1)
    if wrong.any():
        todo = "pass draws=20000, or another model"
        raise fail("no interval was found", ends[wrong][0], "lower <= upper", todo)
    return ends, errors


def one_by_one(function: Callable, x: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Apply a function of one number per member of the batch along the axes in front of these."""
    x = np.asarray(x, float)
    if x.ndim <= len(shape):
        return function(x)
    return np.stack([one_by_one(function, points, shape) for points in x])


def near_normal(self: Distribution, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Guess a quantile from a mean and a standard deviation that are known without quantiles."""
    low, high = self.support
    x = self.mean() + self.sd() * np.clip(special.ndtri(q), -6, 6)
    y = self._link.to_y(np.clip(x, low, high))
    with np.errstate(all="ignore"):
        rate = self.sd() / self._link.slope(y)
    return y, np.where(np.isfinite(rate), np.minimum(rate, 1), 0.1)
