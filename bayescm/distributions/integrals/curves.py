"""Distributions as polynomials: a number in the scale of its link, by its standard normal score."""

from functools import cache

import numpy as np
from scipy import special

from bayescm.distributions.hdi import INTERIOR, LOWER, NOT_UNIMODAL, U_SHAPED, UPPER

REACH = 4.5  # of the scores at which a curve is fitted
_DEGREE = 14
_GRID = np.linspace(-REACH, REACH, 37)
_STEPS, _SETTLED = 40, 1e-10


@cache
def fit() -> tuple[np.ndarray, np.ndarray]:
    """Return the scores at which a curve is to be known, (P,), and what fits it to the values."""
    t = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    return REACH * t, np.linalg.inv(np.vander(t, increasing=True))


@cache
def _powers_of_grid():
    return _powers(_GRID[None])


def _powers(z):
    """Return the powers of scores, (m, P, degree + 1)."""
    power = np.ones((*z.shape, _DEGREE + 1))
    power[..., 1:] = z[..., None] / REACH
    return np.multiply.accumulate(power, -1, out=power)


def _derived(coefficients):
    """Return the coefficients of the slope of a polynomial."""
    slope = np.zeros_like(coefficients)
    slope[..., :-1] = coefficients[..., 1:] * np.arange(1, _DEGREE + 1) / REACH
    return slope


class Curves:
    """
    m distributions from their quantiles at the scores of `fit`.

    Parameters
    ----------
    y : ndarray, shape (m, P)
        Quantiles in the scale of the link.
    link : Link
    """

    def __init__(self, y, link):
        coefficients = y @ fit()[1].T
        first = _derived(coefficients)
        self.coefficients, self.link = np.stack([coefficients, first, _derived(first)], 1), link

    def take(self, index):
        """Return some of them."""
        some = Curves.__new__(Curves)
        some.coefficients, some.link = self.coefficients[index], self.link
        return some

    def y(self, z):
        """Return the quantiles at scores (m, P) in the scale of the link."""
        return np.einsum("mpk,mk->mp", _powers(z), self.coefficients[:, 0])

    def level(self, z, powers=None):
        """Return the log density of the number at scores (m, P), and its slope in the score."""
        powers = _powers(z) if powers is None else powers
        y, first, second = (self.coefficients @ powers.swapaxes(-1, -2)).swapaxes(0, 1)
        with np.errstate(all="ignore"):
            log = -(z**2) / 2 - np.log(first) - np.log(self.link.slope(y))
            return log, -z - second / first - self.link.bend(y) * first

    def shapes(self):
        """Say of each density of the number whether it rises, falls or what both, (m,)."""
        slope = self.level(_GRID[None], _powers_of_grid())[1]
        rising, known = slope > 0, np.isfinite(slope).all(-1)
        once = (rising[:, 1:] != rising[:, :-1]).sum(-1) == 1
        rules = [rising.all(-1), ~rising.any(-1), once & rising[:, 0], once & ~rising[:, 0]]
        found = np.select(rules, [UPPER, LOWER, INTERIOR, U_SHAPED], NOT_UNIMODAL)
        return np.where(known, found, NOT_UNIMODAL).astype("<U15")

    def modes(self):
        """Return the scores of the greatest densities, where they rise and then fall, (m,)."""
        low = np.full(len(self.coefficients), -REACH)
        high = -low
        for _ in range(50):
            middle = (low + high) / 2
            rising = self.level(middle[:, None])[1][:, 0] > 0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        return (low + high) / 2

    def highest(self, prob):
        """Return the scores of both ends of intervals with equal levels, (m, 2); NaN if lost."""
        size = len(self.coefficients)
        low, high = np.full(size, -REACH), np.full(size, special.ndtri(1 - prob))
        z = np.full(size, special.ndtri((1 - prob) / 2))
        for _ in range(_STEPS):
            ends = _ends(z, prob)
            log, slope = self.level(ends)
            gap = log[:, 1] - log[:, 0]
            new = z + split(gap, ends, slope)
            low, high = np.where(gap > 0, z, low), np.where(gap > 0, high, z)
            inside = (new >= low - _SETTLED) & (new <= high + _SETTLED)  # they may be the answer
            new = np.where(inside, new, (low + high) / 2)
            moved, z = np.abs(new - z), new
            if not (moved > _SETTLED).any():
                break
        ends = _ends(z, prob)
        found = (moved < 1e-8) & (np.abs(ends) < REACH).all(-1)
        return np.where(found[:, None], ends, np.nan)


def split(gap, ends, slopes):
    """Return Newton's step of the lower score to equal levels, the mass between them kept."""
    with np.errstate(all="ignore"):
        ratio = np.exp((ends[:, 1] ** 2 - ends[:, 0] ** 2) / 2)
        return -gap / (slopes[:, 1] * ratio - slopes[:, 0])


def _ends(z, prob):
    """Return both scores from the lower one."""
    above = special.ndtr(-z) - prob
    return np.stack([z, -special.ndtri(np.maximum(above, 1e-300))], -1)
