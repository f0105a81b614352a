"""Base class for the distribution of a number or of a batch of numbers."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.hdi import Link, Members, highest, peak
from bayescm.validate import fail

# Trapezoidal rule on the normal scale, which converges exponentially for smooth quantile functions.
_Z = np.arange(-7.5, 7.51, 0.0625)
_NODES = special.ndtr(_Z)
_WEIGHTS = np.exp(-(_Z**2) / 2) / np.exp(-(_Z**2) / 2).sum()
_DIFFERENCES = np.array([-3, -2, -1, 1, 2, 3])
_SIXTH_ORDER = np.array([-1, 9, -45, 45, -9, 1]) / 60
# Accuracies are relative to the length of an interval.
INTERVAL_ACCURACY = 1e-4  # gives four digits of an end, in a third of the time that 1e-6 requires
# Lattices for probabilities have a smaller tolerance, because tails as small as 1e-8 are compared.
PROBABILITY_ACCURACY = 1e-6
# By default, batches of more than `MANY` members have a tolerance of 1e-3, since most of them are
# plotted. Each member then takes 0.2 ms.
MANY = 1_000
ACCURACY_OF_MANY = 1e-3


def default_accuracy(size: int) -> float:
    """Return the default tolerance for interval ends, given the size of the batch."""
    return INTERVAL_ACCURACY if size <= MANY else ACCURACY_OF_MANY


class Distribution:
    """
    Distribution of a number, or of a batch of numbers.

    A subclass implements either `cdf` and `support`, or `quantile`. All other methods follow from
    these, and a subclass overrides those that it can compute faster or more accurately. An argument
    x or q is broadcast against the batch, and may have additional leading axes.

    A batch of shape () is a single number. Overridden methods have the same meaning as here.

    Attributes
    ----------
    shape : tuple of int
        Shape of the batch.
    support : pair of float or ndarray
        Smallest and largest value. All mass is between them.
    how : str
        Method of computation: ``closed form``, ``quadrature``, ``moments``, ``enumeration`` or
        ``draws``.
    undefined : float or ndarray
        Probability that the measure is 0/0. The distribution is conditional on a defined value.
    image : callable, optional
        Function that maps a beta variable with parameters ``a`` and ``b``, given as a `Share`, to
        this number.

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
        """Return the distribution of the difference from an independent number, or None."""
        return None

    @classmethod
    def concatenate(cls, members: Sequence["Distribution"]) -> "Distribution | None":
        """Return single numbers of this class as one batch, or None if that is not supported."""
        return None

    @classmethod
    def precompute(cls, members: Sequence, prob: float, kind: str, moments: bool) -> None:
        """Compute the intervals of single numbers together, if that is faster, and cache them."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        if type(self).quantile is Distribution.quantile:
            return np.shape(self.cdf(0.0))
        return np.shape(self.quantile(0.5))

    @property
    def support(self) -> tuple[Any, Any]:
        """Smallest and largest value."""
        return self.quantile(0.0), self.quantile(1.0)

    def take(self, index: Any) -> "Distribution":
        """Return some members of the flat batch; an int selects a single one."""
        if self.shape == () and index == 0:
            return self
        raise NotImplementedError(f"{type(self).__name__} has no members to take")

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of values up to x."""
        x = np.asarray(x, float) + np.zeros(self.shape)
        low, high = np.zeros(x.shape), np.ones(x.shape)
        for _ in range(60):
            middle = (low + high) / 2
            below = self.quantile(middle) <= x
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of values above x."""
        return 1 - self.cdf(x)

    def prob_above(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of values above x, like `sf`."""
        return self.sf(x)

    def probability_error(self, x: ArrayLike) -> np.ndarray:
        """Return the standard error of the probabilities at x, which is 0 without draws."""
        return np.zeros(np.broadcast_shapes(np.shape(x), self.shape))

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of exactly x, which is 0 for a continuous distribution."""
        return np.zeros(np.broadcast_shapes(np.shape(x), self.shape))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the quantile of the probability q."""
        q = np.asarray(q, float) + np.zeros(self.shape)
        goal, (y, rate) = special.ndtri(q), self._start(q)
        low, high = np.full(q.shape, -600.0), np.full(q.shape, 600.0)
        last, last_z = np.full(q.shape, np.nan), np.full(q.shape, np.nan)
        for step in range(100):
            # Secant step on the normal scale, or bisection if it leaves the bracket.
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
        """Return the density at x, by finite differences of the distribution function."""
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
        """Return the mean, or the median if the mean is infinite."""
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
        """Return the mode, or NaN if there is not exactly one."""
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
        Return the highest-density interval, shape (..., 2).

        If the highest-density region is not an interval, the result is the shortest interval with
        this probability. For a flat density, it is the equal-tailed interval.
        """
        return self._highest(prob)[0]

    def hdi_kind(self, prob: float) -> np.ndarray:
        """
        Return the kind of interval that `hdi` returns.

        The kinds are:

        - ``interior``: both ends are inside the support.
        - ``one-sided lower``: the interval starts at the lower end of the support.
        - ``one-sided upper``: the interval ends at the upper end of the support.
        - ``flat``: the density is flat, and the interval is equal-tailed.
        - ``U-shaped``, ``not unimodal`` or ``more than one mode``: there are several candidates,
          and the kind describes the density.
        """
        return self._highest(prob)[1]

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Return an interval of the given kind and the errors of its ends, (..., 2) each."""
        ends = self.hdi(prob) if kind == "hdi" else self.eti(prob)
        if ends.ndim > 1:
            return check_interval(ends, np.moveaxis(self.error_at(np.moveaxis(ends, -1, 0)), 0, -1))
        return check_interval(ends, self.error_at(ends))

    def with_tolerance(self, accuracy: float) -> "Distribution":
        """Return the distribution with another numerical tolerance, if it uses one."""
        return self

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the numerical error of a quantile with value x, by default the rounding error."""
        return np.spacing(np.abs(np.where(np.isinf(x), 0.0, x)))

    def _start(self, q):
        """Return initial quantiles on the link scale, and their slopes in the normal score."""
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
        """Step of the finite differences on the link scale: a fraction of the spread."""
        ends = [self._link.to_y(self.quantile(q)) for q in (0.16, 0.84)]
        return 0.02 * np.maximum(ends[1] - ends[0], 1e-12)

    @cached_property
    def _values(self):
        return np.asarray(self.quantile(_NODES.reshape(-1, *[1] * len(self.shape))))

    def _central(self, power):
        return np.tensordot(_WEIGHTS, (self._values - self.mean()) ** power, 1)[()]


def concatenate(members: Sequence[Distribution]) -> Distribution | None:
    """Return distributions of single numbers as one batch, or None if their classes differ."""
    kinds = {type(member) for member in members}
    return next(iter(kinds)).concatenate(members) if len(kinds) == 1 else None


def check_interval(ends, errors):
    """Return ends and their errors; raise if ends are reversed or a valid end has a NaN error."""
    wrong = (ends[..., 0] > ends[..., 1]) | (np.isnan(errors) & ~np.isnan(ends)).any(-1)
    if wrong.any():
        todo = "pass draws=20000, or another model"
        raise fail("No interval was found, because a bound is not a number", ..., "", todo)
    return ends, errors


def one_by_one(function: Callable, x: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Apply a function, which accepts one number per member, at each index of the leading axes."""
    x = np.asarray(x, float)
    if x.ndim <= len(shape):
        return function(x)
    return np.stack([one_by_one(function, points, shape) for points in x])


def near_normal(self: Distribution, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return initial values of quantiles and their slopes, from the mean and the sd."""
    low, high = self.support
    x = self.mean() + self.sd() * np.clip(special.ndtri(q), -6, 6)
    y = self._link.to_y(np.clip(x, low, high))
    with np.errstate(all="ignore"):
        rate = self.sd() / self._link.slope(y)
    return y, np.where(np.isfinite(rate), np.minimum(rate, 1), 0.1)
