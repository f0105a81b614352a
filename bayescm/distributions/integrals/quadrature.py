"""Distributions by quadrature over one or two beta variables, with an estimate of the error."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions.base import Distribution, held
from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.integrals.inverses import Inverse
from bayescm.distributions.integrals.ladder import DRAWS, INTEGRAL, Parts, several
from bayescm.distributions.integrals.rays import Tables
from bayescm.distributions.integrals.rungs import Rungs

_MANY = 10_000  # distributions from which on a coarser accuracy is the default
_ACCURACY = {False: 1e-6, True: 1e-3}
_PART = 2**14  # rows at a time
_KNOWN_TO = 5e-5  # part of the length of an interval by tables
_UNIT, _SIGNED = (0.0, 1.0), (-1.0, 1.0)  # supports


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
        ``forward(t, *outer)``, shares in, the measure out.
    scale : callable
        ``scale(t, *outer)``, log odds of the shares in, the measure in the scale of its link out.
    accuracy : float, optional
        The numerical error that is good enough for the bound of an interval, in parts of it where
        it is above 1; by default 1e-6, and 1e-3 for more than 10,000 distributions.

    Examples
    --------
    >>> from bayescm.direct import dirichlet_multinomial
    >>> from bayescm.measures.catalogue import mcc
    >>> posterior = dirichlet_multinomial([[35, 30], [30, 50]], concentration=0)
    >>> distribution = posterior.distribution(mcc)
    >>> round(float(distribution.sf(0)), 7), distribution.how
    (0.9762949, 'quadrature')
    """

    inverse: Inverse
    inner: Beta | Tables
    outer: tuple[Beta | PointMass | Tables, ...]
    forward: Callable
    scale: Callable
    accuracy: float | None = None

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
        return self.inner.shape

    @property
    def support(self) -> tuple[float, float]:
        return self.inverse.support

    def take(self, index: np.ndarray) -> "Quadrature":
        outer = tuple(each.take(index) for each in self.outer)
        return replace(self, inner=self.inner.take(index), outer=outer)

    def to(self, accuracy: float) -> "Quadrature":
        return replace(self, accuracy=accuracy)

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

    @classmethod
    def at_once(cls, members: Sequence, prob: float, kind: str, moments: bool) -> None:
        alike = defaultdict(list)
        for each in members:
            if all(isinstance(share, Beta) for share in (each.inner, *each.outer)):
                support = _UNIT if each.support == _SIGNED else each.support
                alike[len(each.outer), support, each.accuracy or _ACCURACY[False]].append(each)
        for (_, support, accuracy), same in alike.items():
            if len(same) > 1:
                rows = Rungs(several(same, support), accuracy / (2 if support == _UNIT else 1))
                closed = all(each.inverse.moment for each in same)
                _remember(same, rows, prob, kind, moments and not closed)

    def eti(self, prob: float) -> np.ndarray:
        return self.checked(prob, "eti")[0]

    def checked(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        return held(*self._interval(prob, kind)[:2])

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

    @property
    def _nodes(self):
        """What to ask instead of the integral over nodes of all variables but one."""
        return None

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
        parts = Parts(self.inverse, self.inner, self.outer, self.forward, self.scale, self._nodes)
        accuracy = self.accuracy or _ACCURACY[self._rung.size > _MANY]
        return Rungs(parts.take(part), accuracy, self._rung[part])


class OfTables(Quadrature):
    """
    The same of shares that are tables, of which rays and draws are taken only.

    A bound is good to 2e-4 by default and to 5e-5 at best; and to what its shares are good to.
    """

    def to(self, accuracy: float) -> Quadrature:
        return replace(self, accuracy=max(accuracy, 5e-5))

    def checked(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        ends, errors = super().checked(prob, kind)
        return ends, errors + _KNOWN_TO * np.diff(ends)


def _remember(members, rows, prob, kind, moments):
    """Ask several members at once; they remember what rays are good enough for."""
    ends, errors, kinds = rows.interval(prob, kind)
    numbers = np.full((len(members), 3), np.nan)
    known = np.flatnonzero((rows.rung >= 0) & (rows.rung < INTEGRAL - 1))
    if moments and len(known):
        numbers[known] = rows.take(known).moments()
    for row, each in enumerate(members):
        # One that goes from -1 to 1 was asked for as if it went from 0 to 1.
        low, width = (-1.0, 2.0) if each.support == _SIGNED else (0.0, 1.0)
        found = np.isfinite(errors[row]).all()
        each._rung[:] = rows.rung[row] if found else INTEGRAL
        if found:
            each._found[prob, kind] = low + width * ends[row], width * errors[row], kinds[row]
        if each.inverse.moment is None and np.isfinite(numbers[row]).all():
            each._found["moments"] = numbers[row] * [width, width, 1.0] + [low, 0.0, 0.0]
