"""Distributions represented by lists of numbers: weighted atoms and draws."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions.base import Distribution, check_interval, one_by_one
from bayescm.distributions.hdi import INTERIOR

_SAME = 1e-12  # atoms that differ only by rounding are merged
# An infinite value with a smaller probability than this is treated as the largest finite value.
# Otherwise, the mean likelihood ratio of a large table would be infinite, although the infinite
# value practically never occurs.
NEVER = 1e-6
# Number of standard errors within which both ends of an interval are correct for 95% of sets of
# draws. The normal quantile of 1 - 0.05 / 4 is 2.24, and an estimated standard error is itself
# wrong by about 10%.
_CONFIDENCE = 2.4
# The same number for evenly spread nodes, in standard errors of as many independent draws. It
# covers 95% of 80 intervals of five folds (docs/results/recomputed_stated_errors.csv).
_CONFIDENCE_OF_NODES = 1.5
_BATCHES = 16
# With this many chains, the variance between chains gives the effective number of draws to within
# about 10%. Fewer chains are longer, and their autocorrelation is used instead.
_MANY_CHAINS = 100


@dataclass(frozen=True, eq=False)
class Discrete(Distribution):
    """
    Discrete distribution with finitely many values, such as a measure over all test sets.

    Build it with `Discrete.of`, which sorts and merges values and drops NaN. A quantile is the
    smallest value whose distribution function reaches q. The HDI is the shortest interval with at
    least the requested mass.

    Examples
    --------
    >>> distribution = Discrete.of([1.0, 0.5, np.nan, 0.5], [0.4, 0.2, 0.2, 0.2])
    >>> distribution.values, distribution.weights, float(distribution.undefined)
    (array([0.5, 1. ]), array([0.5, 0.5]), 0.2)
    """

    how: ClassVar[str] = "enumeration"
    shape = ()
    values: np.ndarray
    weights: np.ndarray
    undefined: float = 0.0

    @classmethod
    def of(cls, values: ArrayLike, weights: ArrayLike) -> "Discrete":
        """Return the distribution of values (m,) with weights (m,) that sum to 1."""
        values, weights = np.ravel(values), np.ravel(weights)
        defined = ~np.isnan(values)
        undefined = float(weights[~defined].sum())
        order = np.argsort(values[defined], kind="stable")
        values, weights = values[defined][order], weights[defined][order]
        if not len(values):
            return cls(np.array([np.nan]), np.array([1.0]), 1.0)
        with np.errstate(invalid="ignore"):
            first = np.diff(values, prepend=-np.inf) > _SAME * np.maximum(1, np.abs(values))
        at_infinity = values == np.inf
        first[at_infinity.argmax()] |= weights[at_infinity].sum() > NEVER
        starts = np.flatnonzero(first)
        weights = np.add.reduceat(weights, starts)
        return cls(values[starts], weights / weights.sum(), undefined)

    @property
    def support(self) -> tuple[float, float]:
        return self.values[0], self.values[-1]

    @cached_property
    def _below(self):
        return np.minimum(np.cumsum(self.weights), 1)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        rounded = np.asarray(x, float) + _SAME * np.maximum(1, np.abs(x))
        return np.append(0, self._below)[np.searchsorted(self.values, rounded, side="right")]

    def sf(self, x: ArrayLike) -> np.ndarray:
        rounded = np.asarray(x, float) + _SAME * np.maximum(1, np.abs(x))
        above = np.append(np.cumsum(self.weights[::-1])[::-1], 0)
        return above[np.searchsorted(self.values, rounded, side="right")]

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        return self.cdf(x) - self.cdf(x - 2 * _SAME * np.maximum(1, np.abs(x)))

    def quantile(self, q: ArrayLike) -> np.ndarray:
        index = np.searchsorted(self._below, np.asarray(q) - _SAME)
        return self.values[np.minimum(index, len(self.values) - 1)]

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return np.where(self.mass_at(x) > 0, np.inf, 0.0)

    def mean(self) -> np.ndarray:
        return self.weights @ self.values

    def sd(self) -> np.ndarray:
        if np.isinf(self.values[-1]):
            return np.asarray(np.inf)
        return np.sqrt(self.weights @ (self.values - self.mean()) ** 2)

    def skewness(self) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.weights @ (self.values - self.mean()) ** 3 / self.sd() ** 3

    def expected_loss(self) -> np.ndarray:
        return self.weights @ np.maximum(-self.values, 0)

    def mode(self) -> np.ndarray:
        return self.values[np.argmax(self.weights)]

    def hdi(self, prob: float) -> np.ndarray:
        start = self._below - self.weights
        stop = np.searchsorted(self._below, start + prob - _SAME)
        fits = np.flatnonzero(stop < len(self.values))
        low, high = self.values[fits], self.values[stop[fits]]
        with np.errstate(invalid="ignore"):
            widths = np.where(low == high, 0.0, high - low)
        # If all candidates are infinitely long, take the one that starts last.
        best = fits[-1 if np.isinf(widths).all() else np.argmin(widths)]
        return self.values[[best, stop[best]]]

    def hdi_kind(self, prob: float) -> np.ndarray:
        return np.asarray(INTERIOR)


@dataclass(frozen=True, eq=False)
class WeightedNodes(Discrete):
    """Continuous distribution represented by weighted nodes, with interpolated quantiles."""

    how: ClassVar[str] = "quadrature"

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return np.interp(np.asarray(q), self._below - self.weights / 2, self.values)

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """
        Return an interval of the given kind and the errors of its ends.

        For the shortest interval, the errors also reflect its spread between sixteen parts of the
        nodes; see `Empirical.interval_with_error`.
        """
        ends, errors = super().interval_with_error(prob, kind)
        if kind != "hdi" or len(self.values) < 2 * _BATCHES:
            return ends, errors
        order = np.random.default_rng(0).permutation(len(self.values))
        parts = [order[batch::_BATCHES] for batch in range(_BATCHES)]
        spread = np.std(
            [
                WeightedNodes.of(self.values[part], self.weights[part]).hdi(prob)
                for part in parts
                if self.weights[part].any()
            ],
            axis=0,
            ddof=1,
        )
        return ends, np.maximum(errors, _CONFIDENCE * spread / _BATCHES ** (1 / 3))

    def error_at(self, x: ArrayLike) -> np.ndarray:
        # Evenly spread nodes have a smaller error than as many independent draws.
        level, size = self.cdf(x), 1 / (self.weights**2).sum()
        width = _CONFIDENCE_OF_NODES * np.sqrt(np.maximum(level * (1 - level), 1 / size) / size)
        return _distance(self.quantile(level - width), self.quantile(level + width)) / 2


@dataclass(frozen=True, eq=False)
class Empirical(Distribution):
    """
    Distribution represented by draws.

    Attributes
    ----------
    draws : ndarray, shape (size, ...)
        Draws along the first axis, NaN if the measure was undefined.
    draw_clusters : int
        Number of consecutive clusters of dependent draws, such as chains, all of the same length
        except possibly the last. If above 1, the Monte Carlo error uses the effective number of
        draws.
    how : str
        Method that generated the draws.
    effective_draws : float
        Upper bound on the effective number of draws, for the Monte Carlo error.

    Examples
    --------
    >>> distribution = Empirical(np.linspace(0, 1, 1001))
    >>> distribution.eti(0.9).round(3)
    array([0.05, 0.95])
    """

    draws: np.ndarray
    draw_clusters: int = 1
    how: str = "draws"  # type: ignore[misc]
    effective_draws: float = np.inf

    @classmethod
    def difference(cls, first: np.ndarray, second: np.ndarray) -> "Empirical":
        """Return the distribution of first - second, with differences due to rounding set to 0."""
        # Classifiers tested on the same examples share the same prevalence, up to rounding errors.
        equal = np.isclose(first, second, rtol=_SAME, atol=0) & np.isfinite(first)
        return cls(np.where(equal, 0.0, first - second))

    @property
    def undefined(self) -> np.ndarray:
        return np.isnan(self.draws).mean(axis=0)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.draws.shape[1:]

    @classmethod
    def concatenate(cls, members: Sequence) -> "Empirical | None":
        first = members[0]
        alike = {
            (member.draws.shape, member.draw_clusters, member.how, member.effective_draws)
            for member in members
        }
        if len(alike) > 1 or first.shape:
            return None
        return replace(first, draws=np.stack([member.draws for member in members], axis=1))

    def take(self, index: np.ndarray) -> "Empirical":
        return replace(self, draws=self.draws.reshape(len(self.draws), -1)[:, index])

    @cached_property
    def _sorted(self):
        """Sorted draws along the last axis, and the number of valid ones."""
        rows = np.sort(np.moveaxis(self.draws, 0, -1), axis=-1)  # NaN is sorted to the end
        return rows, (~np.isnan(rows)).sum(axis=-1)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return self._share(np.less_equal, x)

    def sf(self, x: ArrayLike) -> np.ndarray:
        return self._share(np.greater, x)

    def mass_at(self, x: ArrayLike) -> np.ndarray:
        return self._share(np.equal, x)

    def probability_error(self, x: ArrayLike) -> np.ndarray:
        # If all draws are on one side, one draw is assumed on the other.
        size, below = np.maximum(self._effective(self._sorted[1]), 1), self.cdf(x)
        return np.sqrt(np.maximum(below * (1 - below), 1 / size) / size)

    def _share(self, relation, x):
        def ask(x):
            with np.errstate(invalid="ignore"):  # NaN if no draw is defined
                return relation(self.draws, x).sum(axis=0) / self._sorted[1]

        return one_by_one(ask, x, self.shape)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return one_by_one(self._interpolated, q, self.shape)  # linear interpolation, as in numpy

    def _interpolated(self, q):
        rows, valid = self._sorted
        at = np.clip(q, 0, 1) * np.maximum(valid - 1, 0)
        left = np.floor(at).astype(int)
        right = np.minimum(left + 1, np.maximum(valid - 1, 0))
        low = np.take_along_axis(rows, left[..., None], -1)[..., 0]
        high = np.take_along_axis(rows, right[..., None], -1)[..., 0]
        with np.errstate(invalid="ignore"):
            return np.where(low == high, low, low + (high - low) * (at - left))

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return one_by_one(self._estimate, x, self.shape)

    def _estimate(self, x):
        """Return a kernel density estimate at x, one number per member of the batch."""
        x, estimates = np.broadcast_to(x, self.shape), np.empty(self.shape)
        for index in np.ndindex(self.shape):
            grid, density = self._kernels[index]
            estimates[index] = np.interp(x[index], grid, density, left=0.0, right=0.0)
        return estimates[()]

    @cached_property
    def _kernels(self):
        return self._per_column(lambda column: np.stack(_array_stats().kde(column)[:2]), 2, 512)

    def mean(self) -> np.ndarray:
        return self._moment(lambda draws: np.nanmean(draws, axis=0))

    def sd(self) -> np.ndarray:
        return self._moment(lambda draws: np.nanstd(draws, axis=0))

    def skewness(self) -> np.ndarray:
        third = self._moment(lambda draws: np.nanmean((draws - self.mean()) ** 3, axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return third / self.sd() ** 3

    def _moment(self, function: Callable) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # If all draws are NaN, so is the result.
            warnings.simplefilter("ignore", RuntimeWarning)
            return function(self.draws)

    def mode(self) -> np.ndarray:
        return self._per_column(lambda column: _array_stats().mode(column))

    def expected_loss(self) -> np.ndarray:
        return self._moment(lambda draws: np.nanmean(np.maximum(-draws, 0), axis=0))

    def hdi(self, prob: float) -> np.ndarray:
        rows, valid = self._sorted
        if (valid == rows.shape[-1]).all():
            return _array_stats().hdi(rows, prob=prob, axis=-1)
        return self._per_column(lambda column: _array_stats().hdi(column, prob=prob), 2)

    def hdi_kind(self, prob: float) -> np.ndarray:
        return np.full(self.shape, INTERIOR)

    def _per_column(self, function, *shape):
        rows, valid = self._sorted
        answers = np.full((*valid.shape, *shape), np.nan)
        for index in np.ndindex(valid.shape):
            column = rows[index][: valid[index]]
            answers[index] = function(column) if len(column) > 1 else np.nan
        return answers

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """
        Return an interval of the given kind and the errors of its ends, (..., 2) each.

        The error is the half width of a 95% interval: for 95% of sets of draws, both ends are
        within their errors of the ends for infinitely many draws. The error of a quantile is its
        distance to the quantiles whose levels differ by `_CONFIDENCE` standard errors. The ends of
        the shortest interval converge with the cube root of the number of draws, more slowly than
        quantiles (Kim & Pollard, 1990). Their spread is estimated between batches of draws.

        References
        ----------
        Kim, J. & Pollard, D. (1990). Cube root asymptotics. Annals of Statistics 18, 191-219.
        doi:10.1214/aos/1176347498
        """
        if kind == "hdi":
            ends = self.hdi(prob)
            by_level = np.moveaxis(self.error_at(np.moveaxis(ends, -1, 0)), 0, -1)
            return check_interval(ends, np.fmax(by_level, self._error_of_hdi(prob)))
        tails = np.array([(1 - prob) / 2, (1 + prob) / 2]).reshape(2, *[1] * len(self.shape))
        errors = self._error_of_quantile(tails + np.zeros(self.shape))
        return check_interval(self.eti(prob), np.moveaxis(errors, 0, -1))

    def error_at(self, x: ArrayLike) -> np.ndarray:
        # If no draw is defined, any level will do, because its quantile is undefined as well.
        return self._error_of_quantile(np.nan_to_num(self._share(np.less_equal, x), nan=0.5))

    def _error_of_quantile(self, level):
        """Return the largest distance to the quantiles at levels within the Monte Carlo error."""
        size = np.maximum(self._effective(self._sorted[1]), 1)
        width = _CONFIDENCE * np.sqrt(np.maximum(level * (1 - level), 1 / size) / size)
        low, value, high = (self.quantile(level + side * width) for side in (-1, 0, 1))
        return np.maximum(_distance(low, value), _distance(value, high))

    def _error_of_hdi(self, prob):
        """Return errors from the spread of the ends over batches, NaN for tiny batches."""
        size = len(self.draws) // _BATCHES
        if size < 2:
            return np.full((*self.shape, 2), np.nan)
        batches = self.draws[: size * _BATCHES].reshape(_BATCHES, size, *self.shape)
        ends = Empirical(np.moveaxis(batches, 1, 0)).hdi(prob)
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            # Raised for batches without a defined draw.
            warnings.simplefilter("ignore", RuntimeWarning)
            spread = np.nanstd(ends, axis=0, ddof=1)
        # Batches follow the chains, so their spread reflects the dependence between draws.
        if self.draw_clusters > 1:
            return _CONFIDENCE * spread / _BATCHES ** (1 / 3)
        valid = self._sorted[1]
        scarce = valid / np.maximum(self._effective(valid), 1)
        return _CONFIDENCE * spread * np.expand_dims((scarce / _BATCHES) ** (1 / 3), -1)

    def _effective(self, valid):
        if self.draw_clusters == 1:
            return np.minimum(valid, self.effective_draws)
        length = -(-len(self.draws) // self.draw_clusters)
        clusters = len(self.draws) // length
        by_chain = self.draws[: clusters * length].reshape(clusters, length, *self.draws.shape[1:])
        if clusters >= _MANY_CHAINS:
            effective = np.minimum(_effective_of_many_chains(by_chain), valid)
        else:
            with np.errstate(invalid="ignore"):  # quantiles may be infinite
                effective = _array_stats().ess(
                    by_chain, chain_axis=0, draw_axis=1, method="tail", prob=0.95
                )
        # Autocorrelation is unknown if some draws are undefined.
        return np.where(np.isfinite(effective), effective, valid)


@dataclass(frozen=True, eq=False)
class AttainedEnds(Empirical):
    """
    Draws of a measure, with intervals that reach the end of the scale if the sample does.

    If a sample separates the classes perfectly, the population may do so too. An interval that cuts
    off a tail at 1 would exclude the observed value, and would never cover a population whose area
    is close to 1. The upper limit is therefore 1, as in Jeffreys' interval for n successes in n
    trials. Likewise, the lower limit is 0 if the measure is 0 in the sample (Brown, Cai & DasGupta,
    2001, section 4.1.3).

    Attributes
    ----------
    least, most : float
        Ends of the scale.
    value : ndarray, shape (...)
        The measure in the sample.

    References
    ----------
    Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Interval estimation for a binomial proportion.
    Statistical Science 16, 101-133. doi:10.1214/ss/1009213286

    Examples
    --------
    >>> AttainedEnds(np.linspace(0.5, 0.9, 1001), value=1.0).eti(0.9)
    array([0.52, 1.  ])
    """

    least: float = 0.0
    most: float = 1.0
    value: np.ndarray | float = np.nan

    @classmethod
    def concatenate(cls, members: Sequence) -> None:
        return None

    def take(self, index: Any) -> "AttainedEnds":
        return replace(super().take(index), value=np.ravel(self.value)[index])  # type: ignore

    def eti(self, prob: float) -> np.ndarray:
        return self._closed(super().eti(prob))

    def hdi(self, prob: float) -> np.ndarray:
        return self._closed(super().hdi(prob))

    def _closed(self, ends):
        low = np.where(self.value <= self.least, self.least, ends[..., 0])
        high = np.where(self.value >= self.most, self.most, ends[..., 1])
        return np.stack([low, high], axis=-1)


def _effective_of_many_chains(by_chain):
    """
    Return the effective number of draws in the tails, for many short chains (M, L, ...).

    For n independent draws, the share of draws beyond a tail quantile has the variance p (1 - p) /
    n. The variance of the mean over M chains is estimated from the shares of the single chains.
    """
    chains, effective = len(by_chain), np.inf
    for side, tail in ((-1, 0.025), (1, 0.975)):
        with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # all draws NaN
            end = np.nanquantile(by_chain, tail, axis=(0, 1))
            share = (side * by_chain >= side * end).mean(axis=1)
            mean = share.mean(axis=0)
            variance = share.var(axis=0, ddof=1) / chains
            effective = np.minimum(effective, mean * (1 - mean) / variance)
    return effective


def _distance(low, high):
    """Return high - low, with 0 between equal infinite values."""
    with np.errstate(invalid="ignore"):
        return np.where(low == high, 0.0, high - low)


def _array_stats():
    # The import takes a second, and only distributions of draws need it.
    from arviz_stats.base import array_stats

    return array_stats
