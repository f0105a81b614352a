"""
The ladder of rays: rays, finer rays, and of tables in the end draws, and how it is climbed.

For shares that are tables, and for a first try of more than ten thousand distributions of betas:
what rays fail at is left to the lattice of `bayescm.distributions.quadrature`.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.hdi import Link
from bayescm.distributions.integrals import curves
from bayescm.distributions.integrals.drawn import Drawn
from bayescm.distributions.integrals.rays import ENOUGH, LEVELS, Rays, Tables

FINEST, DRAWS = len(LEVELS) - 1, len(LEVELS)  # the last rays, which check others; draws
_NUMBERS = 2**16  # of a temporary array
_NODES, _FEW_NODES = (9, 25, 81, 225, 2500, 10000), (3, 5, 9, 15, 900, 500)  # of 3 shares; of 2
_SPARSE = 3.0  # parameter of a share, below which two levels of rays may agree by chance


class Parts(NamedTuple):
    """
    What rays go through: the support, the shares, and the function of their log odds.

    The function is in the scale of the link of the support.
    """

    support: tuple
    shares: tuple
    scale: Any

    def levels(self, start):
        """Return the rungs from a first one on; still finer rays of tables take longer."""
        return [*range(start, FINEST - 1), DRAWS] if self.tabled else range(start, FINEST)

    def take(self, index):
        """Return some of the rows."""
        return self._replace(shares=tuple(each.take(index) for each in self.shares))

    @property
    def tabled(self):
        """Whether the shares are tables, which can be drawn."""
        return isinstance(self.shares[0], Tables)


class Ladder:
    """
    m distributions, asked at points (m, P).

    Parameters
    ----------
    parts : Parts
        With rows of shape (m,).
    accuracy : float
        The error of a bound that is good enough, in parts of max(1, bound).
    rung : ndarray of int, shape (m,), optional
        Which rung each row needs, -1 where that is not known.
    """

    def __init__(self, parts, accuracy, rung=None):
        self.parts, self.accuracy = parts, accuracy
        self.link = Link(*parts.support)
        self.rung = np.full(parts.shares[0].shape, -1) if rung is None else rung
        self._made = {}
        self._log_odds = {}

    def take(self, index):
        """Return some of the rows."""
        if len(index) == len(self.rung):
            return self
        return type(self)(self.parts.take(index), self.accuracy, self.rung[index])

    # The rungs

    def rays(self, level):
        """Return the rays of a level."""
        key = "rays", level
        if key not in self._made:
            parts = self.parts
            self._made[key] = Rays(parts.scale, parts.shares, level, self.accuracy, self._log_odds)
        return self._made[key]

    def finer(self, level):
        """Return the rays that check those of a level: the next, or the one after if `sparse`."""
        return self.rays(min(level + 1 + self.sparse.any(), FINEST))

    @cached_property
    def smallest(self):
        """The smallest parameter of any share, (m,)."""
        betas = [each for each in self.parts.shares if isinstance(each, Beta)]
        counts = [count for each in betas for count in (each.a, each.b)]
        return np.min(counts, axis=0) if counts else np.zeros(len(self.rung))

    @property
    def sparse(self):
        """Say of each row whether rays need a check by much finer ones, (m,)."""
        return self.smallest < _SPARSE

    def curves(self, level):
        """Return the distributions as curves, by the rays of a level."""
        key = "curves", level
        if key not in self._made:
            q = np.broadcast_to(
                special.ndtr(curves.fit()[0]), (len(self.rung), len(curves.fit()[0]))
            )
            self._made[key] = curves.Curves(self.rays(level).quantiles(q)[0], self.link)
        return self._made[key]

    def drawn(self):
        """Yield the draws of one row after the other."""
        for row in range(len(self.rung)):
            yield Drawn(self.parts.scale, [each.take(row) for each in self.parts.shares], self.link)

    def climb(self, ask, width, points, start):
        """
        Ask one rung after the other; return of each row what the first says that is good enough.

        Parameters
        ----------
        ask : callable
            ``ask(rows, index, level)`` -> numbers (k, width) of k rows, and whether they are good.
        width, points : int
            How many numbers there are, and at how many points a rung is asked.
        start : int
            The first level.
        """
        found, open_ = np.full((len(self.rung), width), np.nan), np.arange(len(self.rung))
        for level in self.parts.levels(start):
            rest = [open_[self.rung[open_] > level]]
            for index in self.alike(open_[self.rung[open_] <= level], points, level):
                values, good = ask(self.take(index), index, level)
                found[index[good]] = values[good]
                self.rung[index[good]] = level
                rest.append(index[~good])
            open_ = np.sort(np.concatenate(rest))  # `take` goes by their number
            if not len(open_):
                break
        return found

    def alike(self, index, points, level):
        """Cut an index into parts whose rows are alike, not too large for `points`."""
        each = self.sparse[index]
        return [
            part
            for sparse in (False, True)
            for part in _parts(index[each == sparse], points * self.nodes(level + sparse))
        ]

    def nodes(self, level):
        """Return about how many nodes a level and its check take for each point of a row."""
        free = sum(not isinstance(each, PointMass) for each in self.parts.shares)
        return (_NODES if free > 2 else _FEW_NODES)[min(level + 1, 5)]

    @property
    def start(self):
        """The first level of rays that is worth asking."""
        return 0 if self.accuracy >= ENOUGH else 1


def _parts(index, numbers):
    """Cut an index into parts whose temporary arrays, of so many numbers a row, are not large."""
    size = max(1, _NUMBERS // numbers)
    return [index[start : start + size] for start in range(0, len(index), size)]
