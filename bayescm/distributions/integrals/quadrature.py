"""Distributions of functions of shares that are tables, by rays, with an estimate of the error."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions.base import Distribution, held
from bayescm.distributions.integrals.ladder import DRAWS, Parts
from bayescm.distributions.integrals.rays import Tables
from bayescm.distributions.integrals.rungs import Rungs

_PART = 2**14  # rows at a time
_KNOWN_TO = 5e-5  # part of the length of an interval by tables


@dataclass(frozen=True, eq=False)
class OfTables(Distribution):
    """
    The distribution of a function of independent shares whose log odds are tabulated.

    A bound is good to 2e-4 by default and to 5e-5 at best; and to what its shares are good to.

    Attributes
    ----------
    shares : tuple of Tables, shape (...)
    scale : callable
        ``scale(*shares)``, log odds of the shares in, the measure in the scale of its link out.
    support : pair of float
    accuracy : float
        The numerical error that is good enough for the bound of an interval, in parts of it where
        it is above 1.
    """

    shares: tuple[Tables, ...]
    scale: Callable
    support: tuple[float, float] = (0.0, 1.0)
    accuracy: float = 1e-3

    @property
    def how(self) -> str:  # type: ignore[override]
        drawn = np.count_nonzero(self._rung == DRAWS)
        if not drawn:
            return "quadrature"
        return (
            "draws"
            if drawn == self._rung.size
            else f"quadrature, draws for {drawn} of {self._rung.size}"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.shares[0].shape

    def take(self, index: np.ndarray) -> "OfTables":
        return replace(self, shares=tuple(each.take(index) for each in self.shares))

    def to(self, accuracy: float) -> "OfTables":
        return replace(self, accuracy=max(accuracy, 5e-5))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[0], x)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, x: rows.probabilities(x)[1], x)

    def quantile(self, q: ArrayLike) -> np.ndarray:
        return self._elementwise(lambda rows, q: rows.quantiles(q), q)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        def errors(rows, x):
            return rows.equal_tailed(rows.probabilities(x)[0])[1]

        return self._elementwise(errors, x)

    def eti(self, prob: float) -> np.ndarray:
        return self.checked(prob, "eti")[0]

    def checked(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        ends, errors = held(*self._interval(prob, kind)[:2])
        return ends, errors + _KNOWN_TO * np.diff(ends)

    def mode(self) -> np.ndarray:
        return self._by_rows(lambda rows: rows.modes())

    def mean(self) -> np.ndarray:
        return self._moments[..., 0]

    def sd(self) -> np.ndarray:
        return self._moments[..., 1]

    def skewness(self) -> np.ndarray:
        return self._moments[..., 2]

    @property
    def _moments(self):
        if "moments" not in self._found:
            self._found["moments"] = self._by_rows(lambda rows: rows.moments(), 3)
        return self._found["moments"]

    def _highest(self, prob):
        ends, _, kinds = self._interval(prob, "hdi")
        return ends, kinds

    def _interval(self, prob, kind):
        """Return the ends, their errors and the kinds of intervals."""
        if (prob, kind) not in self._found:
            kinds = []

            def ends_of(rows):
                ends, errors, own = rows.interval(prob, kind)
                kinds.append(own)
                return np.concatenate([ends, errors], -1)

            found = self._by_rows(ends_of, 4)
            own = np.concatenate(kinds).reshape(self.shape)
            self._found[prob, kind] = found[..., :2], found[..., 2:], own
        return self._found[prob, kind]

    @cached_property
    def _rung(self):
        """Which rung each member of the batch needed, -1 where not known."""
        return np.full(math.prod(self.shape), -1)

    def _elementwise(self, function, x):
        """Apply a function of rows and points (m, P) to points that broadcast with the batch."""
        x = np.asarray(x, float)
        shape = np.broadcast_shapes(x.shape, self.shape)
        points = np.broadcast_to(x, shape).reshape(-1, self._rung.size).T
        found = np.empty(points.shape)
        for part, rows in self._rows():
            found[part] = function(rows, points[part])
        return found.T.reshape(shape)[()]

    def _by_rows(self, function, *trailing):
        """Apply a function to all rows."""
        found = np.empty((self._rung.size, *trailing))
        for part, rows in self._rows():
            found[part] = function(rows)
            self._rung[part] = rows.rung
        return found.reshape((*self.shape, *trailing))[()]

    def _rows(self):
        """Yield some rows at a time; where they are few, always the same, which remember."""
        size = self._rung.size
        if size <= _PART:
            yield slice(None), self._few
            return
        for start in range(0, size, _PART):
            part = slice(start, start + _PART)
            yield part, self._some(part)

    @cached_property
    def _few(self):
        return self._some(slice(None))

    def _some(self, part):
        parts = Parts(self.support, self.shares, self.scale)
        return Rungs(parts.take(part), self.accuracy, self._rung[part])
