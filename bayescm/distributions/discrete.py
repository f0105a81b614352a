"""Distributions that are lists of numbers: weighted atoms, and draws."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

_SAME = 1e-12  # atoms that differ by rounding only are one


@dataclass(frozen=True, eq=False)
class Discrete:
    """
    Finitely many values and their weights: a measure of every possible test set.

    Build it with `Discrete.of`, which sorts, merges and leaves out NaN. A quantile is the smallest
    value that at least the mass q does not exceed; the HDI is the shortest interval of at least
    the mass.

    Examples
    --------
    >>> distribution = Discrete.of([1.0, 0.5, np.nan, 0.5], [0.4, 0.2, 0.2, 0.2])
    >>> distribution.values, distribution.weights, float(distribution.undefined)
    (array([0.5, 1. ]), array([0.5, 0.5]), 0.2)
    """

    how: ClassVar[str] = "enumeration"
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
        starts = np.flatnonzero(first)
        weights = np.add.reduceat(weights, starts)
        return cls(values[starts], weights / weights.sum(), undefined)

    @cached_property
    def _below(self):
        return np.minimum(np.cumsum(self.weights), 1)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of at most x."""
        near = np.asarray(x, float) + _SAME * np.maximum(1, np.abs(x))
        return np.append(0, self._below)[np.searchsorted(self.values, near, side="right")]

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability of more than x."""
        near = np.asarray(x, float) + _SAME * np.maximum(1, np.abs(x))
        above = np.append(np.cumsum(self.weights[::-1])[::-1], 0)
        return above[np.searchsorted(self.values, near, side="right")]

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the smallest value that the mass q does not exceed."""
        index = np.searchsorted(self._below, np.asarray(q) - _SAME)
        return self.values[np.minimum(index, len(self.values) - 1)]

    def mean(self) -> np.ndarray:
        """Return the mean."""
        return self.weights @ self.values

    def sd(self) -> np.ndarray:
        """Return the standard deviation."""
        return np.sqrt(self.weights @ (self.values - self.mean()) ** 2)

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.weights @ (self.values - self.mean()) ** 3 / self.sd() ** 3

    def mode(self) -> np.ndarray:
        """Return the most probable value."""
        return self.values[np.argmax(self.weights)]

    def eti(self, prob: float) -> np.ndarray:
        """Return the equal-tailed interval, shape (2,)."""
        return self.quantile([(1 - prob) / 2, (1 + prob) / 2])

    def hdi(self, prob: float) -> np.ndarray:
        """Return the shortest interval with at least the mass, shape (2,)."""
        start = self._below - self.weights
        stop = np.searchsorted(self._below, start + prob - _SAME)
        fits = np.flatnonzero(stop < len(self.values))
        best = fits[np.argmin(self.values[stop[fits]] - self.values[fits])]
        return self.values[[best, stop[best]]]

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return ``interior``."""
        return np.asarray("interior")

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the numerical error of a quantile: rounding."""
        return np.spacing(np.abs(x))


@dataclass(frozen=True, eq=False)
class Empirical:
    """
    The distribution of draws.

    Attributes
    ----------
    draws : ndarray, shape (size, ...)
        Draws along the first axis; NaN where the measure was undefined.
    chains : int
        Number of chains that follow each other in the draws; above 1 the Monte Carlo error counts
        effective draws.

    Examples
    --------
    >>> distribution = Empirical(np.linspace(0, 1, 1001))
    >>> distribution.eti(0.9).round(3)
    array([0.05, 0.95])
    """

    how: ClassVar[str] = "draws"
    draws: np.ndarray
    chains: int = 1

    @property
    def undefined(self) -> np.ndarray:
        """The share of undefined draws."""
        return np.isnan(self.draws).mean(axis=0)

    @cached_property
    def _sorted(self):
        """Return the draws, contiguous along the last axis, and the share of valid ones."""
        rows = np.sort(np.moveaxis(self.draws, 0, -1), axis=-1)  # NaN goes last
        return rows, (~np.isnan(rows)).sum(axis=-1)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the share of the draws of at most x."""
        return 1 - self.sf(x)

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the share of the draws above x."""
        with np.errstate(invalid="ignore"):
            return (self.draws > np.asarray(x)).sum(axis=0) / self._sorted[1]

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point below which lies the share q, interpolated linearly as in numpy."""
        rows, valid = self._sorted
        at = np.clip(q, 0, 1) * np.maximum(valid - 1, 0)
        left = np.floor(at).astype(int)
        right = np.minimum(left + 1, np.maximum(valid - 1, 0))
        low = np.take_along_axis(rows, left[..., None], -1)[..., 0]
        high = np.take_along_axis(rows, right[..., None], -1)[..., 0]
        with np.errstate(invalid="ignore"):
            return np.where(low == high, low, low + (high - low) * (at - left))

    def mean(self) -> np.ndarray:
        """Return the mean of the defined draws."""
        return self._moment(lambda draws: np.nanmean(draws, axis=0))

    def sd(self) -> np.ndarray:
        """Return the standard deviation of the defined draws."""
        return self._moment(lambda draws: np.nanstd(draws, axis=0))

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment of the defined draws."""
        third = self._moment(lambda draws: np.nanmean((draws - self.mean()) ** 3, axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return third / self.sd() ** 3

    def _moment(self, function: Callable) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # nothing but NaN: the answer is NaN
            return function(self.draws)

    def mode(self) -> np.ndarray:
        """Return the mode of a kernel density estimate."""
        return self._per_column(lambda column: _array_stats().mode(column))

    def eti(self, prob: float) -> np.ndarray:
        """Return the equal-tailed interval, shape (..., 2)."""
        tail = (1 - prob) / 2
        return np.stack([self.quantile(tail), self.quantile(1 - tail)], axis=-1)

    def hdi(self, prob: float) -> np.ndarray:
        """Return the shortest interval with the mass, as ArviZ does, shape (..., 2)."""
        rows, valid = self._sorted
        if (valid == rows.shape[-1]).all():
            return _array_stats().hdi(rows, prob=prob, axis=-1)
        return self._per_column(lambda column: _array_stats().hdi(column, prob=prob), 2)

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return ``interior``."""
        return np.full(self.draws.shape[1:], "interior")

    def _per_column(self, function, *shape):
        rows, valid = self._sorted
        found = np.full((*valid.shape, *shape), np.nan)
        for index in np.ndindex(valid.shape):
            column = rows[index][: valid[index]]
            found[index] = function(column) if len(column) > 1 else np.nan
        return found

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the Monte Carlo standard error of a quantile that came out as x."""
        _, valid = self._sorted
        # Where no draw is defined any level will do: its quantile is undefined as well.
        level = np.nan_to_num(self.cdf(x), nan=0.5)
        size = np.maximum(self._effective(valid), 1)
        width = np.sqrt(np.maximum(level * (1 - level), 1 / size) / size)
        return (self.quantile(level + width) - self.quantile(level - width)) / 2

    def _effective(self, valid):
        if self.chains == 1:
            return valid
        by_chain = self.draws.reshape(self.chains, -1, *self.draws.shape[1:])
        found = _array_stats().ess(by_chain, chain_axis=0, draw_axis=1, method="tail", prob=0.95)
        # Among draws that are undefined in part there is no telling how chains move.
        return np.where(np.isfinite(found), found, valid)


def _array_stats():
    from arviz_stats.base import (
        array_stats,  # a second to import, and exact distributions do not need it
    )

    return array_stats


@dataclass(frozen=True, eq=False)
class Stack:
    """
    A batch of distributions that share no arrays.

    Attributes
    ----------
    distributions : ndarray of objects, shape (...)
        The distribution of each member.
    """

    distributions: np.ndarray

    def __getattr__(self, name):
        found = [getattr(distribution, name) for distribution in self.distributions.flat]
        if name == "how":
            return found[0]
        if not callable(found[0]):
            return np.asarray(found).reshape(self.distributions.shape)
        return lambda *points: self._each(found, *points)

    def _each(self, methods, *points):
        flat = [np.broadcast_to(each, self.distributions.shape).ravel() for each in points]
        results = [method(*each) for method, *each in zip(methods, *flat, strict=True)]
        return np.asarray(results).reshape(*self.distributions.shape, *np.shape(results[0]))
