"""Differences that are made from two independent beta variables: intervals by rays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from bayescm.distributions.base import Distribution
from bayescm.distributions.beta import Beta
from bayescm.distributions.hdi import Members
from bayescm.distributions.incomplete import Share
from bayescm.distributions.integrals.inverses import Inverse, no_cuts
from bayescm.distributions.integrals.quadrature import Quadrature

ACCURACY = 1e-6  # of the ends of intervals
_SUPPORT = Inverse(no_cuts, support=(-1.0, 1.0))


def odds(y: np.ndarray) -> Share:
    """Return a share from its log odds."""
    return Share(expit(y), expit(-y))


def by_rays(whole: Distribution, scale: Callable, *pairs: tuple) -> Quadrature:
    """
    Return a difference by rays; what these cannot do is left to its distribution function.

    Parameters
    ----------
    whole : Distribution
        The difference, with ``cdf`` and ``pdf``.
    scale : callable
        From the log odds of both variables to log((1 + x) / (1 - x)) of the difference x.
    *pairs : tuple of ndarray
        The parameters of both variables.
    """
    inner, outer = (Beta(*np.broadcast_arrays(*map(np.asarray, pair))) for pair in pairs)
    return _Rays(_SUPPORT, inner, (outer,), no_cuts, scale, ACCURACY, whole)


@dataclass(frozen=True, eq=False)
class _Rays(Quadrature):
    whole: Any = None

    @property
    def _nodes(self):
        return _Whole(self.whole)


class _Whole(Members):
    """What rays cannot do, by the distribution function and the density."""

    def take(self, index):
        """Return some of the rows, which alone are asked."""
        return _Whole(self.distribution.take(self.index[index]))

    def quantiles(self, q):
        """Return the quantiles, by root finding."""
        q = np.broadcast_to(q, (len(self.index), np.shape(q)[-1]))
        return self._ask(lambda q: Distribution.quantile(self.distribution, q), q)

    def checked(self, x, q):
        """Return the errors of x as quantiles q, (m, P), and those of the masses below them."""
        below, density = self.probabilities(x)
        masses = np.abs(below - q)
        with np.errstate(all="ignore"):
            return np.where(masses > 0, masses / density, 0.0) + np.spacing(np.abs(x)), masses
