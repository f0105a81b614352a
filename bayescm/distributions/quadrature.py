"""Distributions by quadrature over one or two beta variables, with an estimate of the error."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions.base import Distribution
from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.hdi import highest, peak
from bayescm.distributions.inverses import Inverse
from bayescm.distributions.rows import Rows

_ROOM = 400_000  # numbers in a temporary array


@dataclass(frozen=True, eq=False)
class Quadrature(Distribution):
    """
    The distribution of a measure that is monotone in a beta variable t, given other beta variables.

    Attributes
    ----------
    inverse : Inverse
        Where the measure takes a value.
    inner : Beta, shape (...)
        The distribution of t.
    outer : tuple of Beta or PointMass, shape (...)
        The distributions of the other variables.
    forward : callable
        ``forward(t, *outer)``, shares in, the measure out: for the moments.

    Examples
    --------
    >>> from bayescm.direct import dirichlet_multinomial
    >>> from bayescm.measures.catalogue import mcc
    >>> posterior = dirichlet_multinomial([[35, 30], [30, 50]], concentration=0)
    >>> distribution = posterior.distribution(mcc)
    >>> round(float(distribution.sf(0)), 9), distribution.how
    (0.976294935, 'quadrature')
    """

    how: ClassVar[str] = "quadrature"
    inverse: Inverse
    inner: Beta
    outer: tuple[Beta | PointMass, ...]
    forward: Callable

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.inner.a)

    @property
    def support(self) -> tuple[float, float]:
        return self.inverse.support

    def take(self, index: np.ndarray) -> "Quadrature":
        outer = tuple(each.take(index) for each in self.outer)
        return Quadrature(self.inverse, self.inner.take(index), outer, self.forward)

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[0], x)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[1], x)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, q: rows.quantiles(q), q)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.errors(x), x, remember=True)

    def eti(self, prob: float) -> np.ndarray:
        tails = np.array([[(1 - prob) / 2, (1 + prob) / 2]])
        return self._by_rows(lambda rows: rows.quantiles(tails), 2)

    def mode(self) -> np.ndarray:
        return self._by_rows(peak)

    def mean(self) -> np.ndarray:
        return self._moments[..., 0]

    def sd(self) -> np.ndarray:
        return self._moments[..., 1]

    def skewness(self) -> np.ndarray:
        return self._moments[..., 2]

    @cached_property
    def _moments(self):
        return self._by_rows(lambda rows: rows.moments(), 3)

    def _highest(self, prob):
        if prob not in self._found:
            kinds = []

            def ends_of(rows):
                ends, kind = highest(rows, prob)
                kinds.append(kind)
                return ends

            ends = self._by_rows(ends_of, 2)
            self._found[prob] = ends, np.concatenate(kinds).reshape(self.shape)
        return self._found[prob]

    @cached_property
    def _choice(self):
        """Which grid each member of the batch needed for its interval, -1 where not known."""
        return np.full(self.inner.a.size, -1)

    def _elementwise(self, function, x, remember=False):
        """Apply a function of rows and points (m, P) to points that broadcast with the batch."""
        x = np.asarray(x, float)
        shape, size = np.broadcast_shapes(x.shape, self.shape), self.inner.a.size
        points = np.broadcast_to(x, shape).reshape(-1, size).T
        found = np.empty(points.shape)
        for part, rows in self._rows(np.arange(size), remember, points.shape[1]):
            found[part] = function(rows, points[part])
        return found.T.reshape(shape)[()]

    def _by_rows(self, function, *trailing):
        """Apply a function to all rows."""
        found = np.empty((self.inner.a.size, *trailing))
        for part, rows in self._rows(np.arange(len(found)), True):
            found[part] = function(rows)
            self._choice[part] = rows.choice
        return found.reshape((*self.shape, *trailing))[()]

    def _rows(self, index, remember, columns=1):
        """Yield a few rows at a time, so that the memory stays small."""
        spread = sum(isinstance(each, Beta) for each in self.outer)
        size = max(1, _ROOM // (max(4, columns) * 32**spread))
        for start in range(0, len(index), size):
            part = slice(start, start + size)
            inner, *outer = (each.take(index[part]) for each in (self.inner, *self.outer))
            choice = self._choice[index[part]] if remember else None
            yield part, Rows(self.inverse, inner, tuple(outer), self.forward, choice)
