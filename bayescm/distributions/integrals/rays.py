"""
Distributions of functions of independent beta variables by integrals along rays.

In the log odds every share is a smooth function of a standard normal score, and a measure in the
scale of its link is nearly linear in all the scores together. So the scores are turned: along the
gradient, where the measure is found by root finding, and across it, where a few Gauss-Hermite nodes
are enough. The mass below x is the mean over the nodes of the normal mass below the score at which
the ray through the node reaches x.
"""

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
from scipy import special

from bayescm.distributions.beta import PointMass
from bayescm.distributions.incomplete import log_odds, near_log_odds

# Degree of the polynomial of each share, and nodes of each direction across, by Gauss-Hermite; then
# tables of each share, and equally spaced nodes. Every level is checked by the next one.
LEVELS = ((5, 3), (7, 5), (13, 9), (17, 15), (0, 0.25))
_FITTED = {5: 7, 13: 17}  # degrees that are cut from a higher one, which is needed anyway
_LINE = 4  # by how much the degree along a ray is higher than that of a share
_FEW = 4  # points; for more of them a ray is a polynomial
_FINER = 16  # where there is one direction only
REACH = 6.0  # of the scores at which a polynomial is fitted
_FALL = 6.0  # of the weights of least squares: e**(-z**2 / _FALL)
_GAP = 0.125
TABLED = np.arange(-64, 65) * _GAP  # the scores of a table
_NEGLIGIBLE = 1e-14  # weight of a node
_DEGREES = 15, 11  # of the polynomial that log odds are read off where that is near enough
_STEPS = 12
ENOUGH = 1e-4  # the accuracy from which on the coarsest rays will do
_SETTLED, _LEFT = 1e-9, 0.1  # the last moves of masses, and what of one there is left to do
_FLAT = 1e-4  # slope of a ray, in parts of the middle one, that gives no density: it was cut off
_SHORT, _NEAR = 1e-3, 0.05  # the steps of a difference and of a first slope


@cache
def _across(nodes, directions):
    """Return points (directions, N) and weights (N,) across the gradient."""
    if nodes < 1:
        step = nodes / _FINER if directions == 1 else nodes
        points = np.arange(-7.0, 7.0 + step / 2, step)
        weights = _bell(points)
    else:
        points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    grid = np.meshgrid(*[points] * directions, indexing="ij")
    total = np.ones(1)
    for _ in range(directions):
        total = np.multiply.outer(total, weights).ravel()
    kept = total > _NEGLIGIBLE
    return np.reshape([each.ravel() for each in grid], (directions, -1))[:, kept], total[kept]


@cache
def _between(coarse, fine, directions):
    """Return what carries smooth functions from nodes across to finer ones, (M, N)."""
    basis = np.polynomial.hermite_e.hermevander
    inverse = np.linalg.inv(basis(np.polynomial.hermite_e.hermegauss(coarse)[0], coarse - 1))
    points, weights = _across(fine, directions)
    found = np.ones((len(weights), 1))
    for each in points:
        along = basis(each, coarse - 1) @ inverse
        found = (found[:, :, None] * along[:, None]).reshape(len(weights), -1)
    return found.T


class Polynomials:
    """Log odds of shares as polynomials in a standard normal score, (free, m, ...)."""

    def __init__(self, coefficients):
        self.coefficients = np.moveaxis(coefficients, -1, 0)[..., None, None]

    def __call__(self, scores):
        return _horner(self.coefficients, scores)


def _horner(coefficients, scores):
    """Return polynomials (K, ...) at scores that broadcast with each of the coefficients."""
    t = _within(scores / REACH, 1.3)  # beyond lies nothing, and polynomials run off
    y = coefficients[-1] * t
    for each in coefficients[-2:0:-1]:
        y += each
        y *= t
    return y + coefficients[0]


def _within(x, most):
    """Return x cut at -most and most, as np.clip does in three times the time."""
    return np.minimum(np.maximum(x, -most), most)


@cache
def _fit(degree):
    """Return the scores at which a polynomial of this degree is fitted, and what fits it."""
    size = _FITTED.get(degree, degree) + 1
    t = np.cos(np.pi * (np.arange(size) + 0.5) / size)
    basis = np.polynomial.chebyshev.chebvander(t, size - 1)
    series = np.linalg.inv(basis)[: degree + 1]  # the higher terms are cut off
    powers = [np.polynomial.chebyshev.cheb2poly(each) for each in np.eye(degree + 1)]
    change = np.array([np.pad(each, (0, degree + 1 - len(each))) for each in powers]).T
    return REACH * t, change @ series


@cache
def _least_squares(degree):
    """Return what fits tables by a polynomial: nearest where the mass is, for they may bend."""
    near = np.abs(TABLED) <= REACH
    weights = np.exp(-(TABLED**2) / _FALL) * near
    basis = np.polynomial.polynomial.polyvander(TABLED / REACH, degree)
    return np.linalg.pinv(basis * weights[:, None]) * weights


class Tables:
    """
    The same by tables, a polynomial through six points at a time: for the smallest counts.

    And for shares that are no betas. ``values`` (..., K) are the log odds at the scores `TABLED`.
    """

    def __init__(self, values):
        self.values = values

    @property
    def shape(self):
        """The shape of the batch."""
        return self.values.shape[:-1]

    def take(self, index):
        """Return some members of the flat batch."""
        return Tables(self.values.reshape(-1, len(TABLED))[index])

    def __call__(self, scores):
        t = (np.clip(scores, *TABLED[[0, -1]]) - TABLED[0]) / _GAP
        first = np.clip(t.astype(int) - 2, 0, self.values.shape[-1] - 6)
        t = t - first
        flat = first.reshape(*self.shape, -1)
        y = np.zeros(t.shape)
        for k in range(6):
            others = [j for j in range(6) if j != k]
            weight = np.ones(t.shape)
            for j in others:
                weight = weight * ((t - j) / (k - j))
            y += weight * np.take_along_axis(self.values, flat + k, -1).reshape(t.shape)
        return y


class Rays:
    """
    m distributions, in the scale of the link: quantiles and masses at points (m, P).

    Parameters
    ----------
    scale : callable
        From the log odds of the shares to the measure in the scale of its link.
    shares : sequence of Beta, PointMass or Tables, shape (m,)
        Those that are no point masses are all betas, or all tables.
    level : int
        One of `LEVELS`.
    accuracy : float
        What will do for a score.
    known : dict
        The log odds of the shares by the number of their points, and the gradient, for other levels
        too.
    """

    def __init__(self, scale, shares: Sequence, level: int, accuracy: float, known: dict):
        degree, nodes = LEVELS[level]
        self.nodes, self.few = nodes, degree + _LINE
        # The last moves of masses for bounds; then for densities, whose tails need more.
        self.settled = max(_SETTLED, accuracy / 10), max(_SETTLED, 100 * accuracy**2)
        self.scale, self.known = scale, [isinstance(each, PointMass) for each in shares]
        self.fixed = [
            special.logit(each.at)[:, None, None] for each in shares if isinstance(each, PointMass)
        ]
        free = [each for each in shares if not isinstance(each, PointMass)]
        self.curves: Polynomials | Tables = _curves(free, degree, accuracy, known)
        self.size = len(free), *free[0].shape
        with np.errstate(all="ignore"):
            if ("turn", degree > 0) not in known:
                known["turn", degree > 0] = self._gradient(len(free))
            self.slope, self.middle, along, across = known["turn", degree > 0]
            self.across = len(free) - 1
            offsets, self.weights = _across(nodes, self.across)
        self.offsets = (across @ offsets).swapaxes(0, 1)[:, :, None]
        self.along = along.T[..., None, None]

    def _gradient(self, free):
        """Return the slope, the measure in the middle, and directions along and across."""
        steps = np.concatenate([np.eye(free), -np.eye(free), np.zeros((free, 1))], axis=1)
        ends = self.at(np.broadcast_to(steps[:, None, None], (*self.size, 1, 2 * free + 1)))
        gradient = (ends[:, 0, :free] - ends[:, 0, free:-1]) / 2
        size = np.linalg.norm(gradient, axis=-1)
        along = gradient / size[:, None]
        return size[:, None, None], ends[..., -1:], along, _perpendicular(along)

    def at(self, scores):
        """Return the measure, (m, P, N), at the scores (free, m, P, N) of the shares."""
        free, fixed = iter(self.curves(scores)), iter(self.fixed)
        return self.scale(*(next(fixed) if known else next(free) for known in self.known))

    def quantiles(self, q):
        """Return the quantiles (m, P) in the scale of the link, NaN where lost, and the scores."""
        goal = special.ndtri(q)[..., None]
        score = np.broadcast_to(goal, (*q.shape, len(self.weights)))
        with np.errstate(all="ignore"):
            few = q.shape[1] <= _FEW
            line = self._line if few else self._polynomial()
            return self._solve(line, score, None, goal, self.settled[not few])[:2]

    def masses(self, y, exactly=True, near=None):
        """
        Return the mass below y (m, P) in the scale of the link, its error and the density.

        The scores at which coarser rays reach y, and how many nodes these have, may be given.
        """
        with np.errstate(all="ignore"):
            score = (y[..., None] - self.middle) / self.slope
            if near is not None:
                score = near[0] @ _between(near[1], self.nodes, self.across)
            score = np.broadcast_to(_within(score, 8.0), (*y.shape, len(self.weights)))
            _, score, slope, moved = self._solve(
                self._line, score, y[..., None], None, self.settled[exactly]
            )
            if exactly:
                slope = (self._line(score + _SHORT) - self._line(score - _SHORT)) / (2 * _SHORT)
            below = special.ndtr(score) @ self.weights
            rising = slope > _FLAT * self.slope
            density = np.where(rising, _bell(score) / slope, 0.0) @ self.weights
            return below, _LEFT * moved, density

    def moments(self, link):
        """Return mean, standard deviation and skewness of the number itself, (m, 3)."""
        (along,), weights = _across(2 * self.nodes + 1 if self.nodes >= 1 else 0.25, 1)
        with np.errstate(all="ignore"):
            x = link.to_x(self.at(self.offsets + self.along * along[:, None]))
            mean = weights @ (x @ self.weights)[..., None]
            gap = x - mean[..., None]
            second, third = (weights @ (gap**k @ self.weights)[..., None] for k in (2, 3))
            return np.concatenate([mean, np.sqrt(second), third / second**1.5], -1)

    def _line(self, score):
        """Return the measure along the rays."""
        return self.at(self.offsets + self.along * score)

    def _polynomial(self):
        """Return the measure along the rays as a function that is asked at many scores."""
        points, fit = _fit(self.few)
        values = self._line(np.broadcast_to(points[:, None], (1, len(points), len(self.weights))))
        return partial(_horner, np.einsum("kp,mpn->kmn", fit, values)[:, :, None])

    def _solve(self, line, score, y, goal, settled):
        """Return y, the scores at which the rays reach it, slopes and the last moves of the mass.

        With a goal, which is a normal score, y is found itself.
        """
        value = line(score)
        slope = (line(score + _NEAR) - value) / _NEAR
        slope = np.where(slope > 0.01 * self.slope, slope, self.slope)
        if y is None:
            y = (value @ self.weights)[..., None]
        for _ in range(_STEPS):
            new = score - _within((value - y) / slope, 2.0)
            if goal is not None:
                y, new = self._towards(goal, y, new, slope)
            last, score = (score, value), _within(new, 12.0)
            step = score - last[0]
            moved = (np.abs(step) * _bell(score) * self.weights).sum(axis=-1, keepdims=True)
            if not (moved > settled).any():
                break
            value = line(score)
            secant = (value - last[1]) / step
            slope = np.where((np.abs(step) > 1e-6) & (secant > 0), secant, slope)
        lost = ~(moved < 10 * settled)
        y, score = (np.where(lost, np.nan, each) for each in (y, score))
        return y[..., 0], score, slope, moved[..., 0]

    def _towards(self, goal, y, score, slope):
        """Take Newton's step of y, in the normal scale, and move the scores with it."""
        z = special.ndtri(special.ndtr(score) @ self.weights)[..., None]
        density = ((_bell(score) / slope) @ self.weights)[..., None]
        step = (goal - z) * _bell(z) / density
        return y + step, score + _within(step / slope, 2.0)


def _curves(shares, degree, accuracy, known):
    """Return the log odds of betas, or else of tables, as functions of scores."""
    if isinstance(shares[0], Tables):
        values = np.stack([each.values for each in shares])
        return Polynomials(values @ _least_squares(degree).T) if degree else Tables(values)
    a, b = (np.stack(each) for each in zip(*((each.a, each.b) for each in shares), strict=True))
    if not degree:
        return Tables(log_odds(a[..., None], b[..., None], TABLED))
    size = _FITTED.get(degree, degree)
    if size not in known:
        together = (size,) if accuracy >= ENOUGH else tuple(_FITTED.values())
        points = [_fit(each)[0] for each in together]
        every = np.concatenate(points)
        if accuracy >= ENOUGH:
            values = near_log_odds(a, b, every, _DEGREES)
        else:
            values = log_odds(a[..., None], b[..., None], every)
        known |= dict(zip(together, np.split(values, [len(points[0])], -1), strict=False))
    return Polynomials(known[size] @ _fit(degree)[1].T)


def _bell(z):
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def _perpendicular(along):
    """Return orthonormal directions (m, d, d - 1) across a unit vector (m, d): a reflection."""
    mirror = along.copy()
    mirror[:, 0] += np.where(mirror[:, 0] >= 0, 1, -1)
    mirror *= np.sqrt(2 / (mirror**2).sum(-1, keepdims=True))
    return (np.eye(along.shape[-1]) - mirror[:, :, None] * mirror[:, None])[:, :, 1:]
