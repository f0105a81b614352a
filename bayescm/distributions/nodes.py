"""Nodes and weights to integrate over a beta variable, in pieces between points that may move."""

from typing import NamedTuple

import numpy as np
from scipy import special

from bayescm.distributions.incomplete import betainc, betaincc, betainccinv, betaincinv

REACH = 7.5  # of the normal scale: the mass beyond is 6e-14
_NEGLIGIBLE = 1e-16


class Share(NamedTuple):
    """A probability and its complement, each with all its digits."""

    v: np.ndarray
    c: np.ndarray


class Grid(NamedTuple):
    """Equally spaced points of the normal scale: step, offset in steps, and whether to cut."""

    step: float
    cut: bool = False
    offset: float = 0.0

    def shifted(self):
        """Return the grid of the points in between."""
        return self._replace(offset=0.5)

    def rough(self):
        """Return a grid that is good for comparisons only."""
        return self._replace(step=max(2 * self.step, 0.5))

    def points(self):
        """Return points z and weights, (N,), of the trapezoidal rule for a standard normal."""
        count = int(REACH / self.step)
        z = (np.arange(-count, count + 1) + self.offset) * self.step
        return z, self.step * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def whole(a, b, grid):
    """
    Return a share and weights over all of Beta(a, b): shapes (..., N) and (N,).

    The trapezoidal rule in the normal scale ``z = ndtri(cdf(v))``, whose error falls faster than
    any power of the step for integrands that are smooth there, whatever a and b are.
    """
    z, weights = grid.points()
    return _share(a[..., None], b[..., None], special.ndtr(z), special.ndtr(-z)), weights


def pieces(a, b, cuts, grid):
    """
    Return a share and weights over Beta(a, b), cut where the integrand is not smooth.

    Parameters
    ----------
    a, b : ndarray, shape (...)
    cuts : list of ndarray, shape (...)
        Points; those outside (0, 1) do not cut.
    grid : Grid

    Returns
    -------
    Share of arrays (..., M), ndarray (..., M)
    """
    z, rule = grid.points()
    ends = [
        np.zeros(a.shape),
        *np.broadcast_arrays(*cuts, np.empty(a.shape))[:-1],
        np.ones(a.shape),
    ]
    ends = np.sort(np.clip(np.nan_to_num(np.stack(ends, -1)), 0, 1), axis=-1)
    below = betainc(a[..., None], b[..., None], ends)
    above = betaincc(a[..., None], b[..., None], ends)
    mass = np.where(below[..., :-1] < 0.5, np.diff(below), -np.diff(above))
    used = (mass > _NEGLIGIBLE).any(axis=tuple(range(mass.ndim - 1)))
    mass, low, high = mass[..., used], below[..., :-1][..., used], above[..., 1:][..., used]
    under = low[..., None] + mass[..., None] * special.ndtr(z)
    over = high[..., None] + mass[..., None] * special.ndtr(-z)
    share = _share(a[..., None, None], b[..., None, None], under, over)
    flat = (*mass.shape[:-1], -1)
    weights = (mass[..., None] * rule).reshape(flat)
    return Share(*(each.reshape(flat) for each in share)), weights


def _share(a, b, under, over):
    """Return the points below and above which lie these masses, with all their digits."""
    a, b, under, over = np.broadcast_arrays(a, b, np.clip(under, 0, 1), np.clip(over, 0, 1))
    swapped = a > b  # s is v or 1 - v, whichever is small on the whole
    small, large = np.where(swapped, b, a), np.where(swapped, a, b)
    less, more = np.where(swapped, over, under), np.where(swapped, under, over)
    s, c = np.empty(a.shape), np.empty(a.shape)
    low = less <= more
    s[low] = betaincinv(small[low], large[low], less[low])
    s[~low] = betainccinv(small[~low], large[~low], more[~low])
    c[...] = 1 - s
    top = ~low & (s > 0.5)
    c[top] = betaincinv(large[top], small[top], more[top])
    s[top] = 1 - c[top]
    return Share(np.where(swapped, c, s), np.where(swapped, s, c))
