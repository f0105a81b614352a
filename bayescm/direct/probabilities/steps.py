r"""
Whether a calibration curve has a step, which a smooth one draws too soft: a Bayes factor.

Two models are compared. In both the log odds of the truth are those of the smooth curve,
:math:`\eta = \operatorname{logit} p + X b` with :math:`b \sim N(0, P^{-1})`, see
`bayescm.direct.probabilities.smooth`; the other one adds :math:`\gamma \, 1(p > c)` with
:math:`\gamma \sim N(0, g^2)` and a place :math:`c` that is uniform over the ranks of the forecasts.
At the mode of the smooth curve let :math:`U` be the score of :math:`\gamma` and :math:`V` its
information once :math:`b` is integrated out (Laplace); then

.. math::

    \log B(c) = \frac{U^2}{2 (V + g^{-2})} - \frac{1}{2} \log(1 + g^2 V).

At the most probable place of each scale Laplace's approximation is made again around the mode with
the step, and what it differs by corrects all places.

References
----------
Kass, R. E. & Raftery, A. E. (1995). Bayes factors. Journal of the American Statistical Association
90, 773-795. doi:10.1080/01621459.1995.10476572
"""

import numpy as np
from scipy.special import expit, log_ndtr, logsumexp

from bayescm.direct.probabilities.nodes import nodes
from bayescm.direct.probabilities.smooth import SCALES, Smooth, mode_of

_FORECASTS = 2000  # at most, ten between two places of a step
_CUTS = 200  # places of a step: between them lies half a percent of the examples
# Prior standard deviation of a step's log odds. A step from .3 to .6 is 1.25 high, from .15 to .75
# 2.8. In simulations 1.5 and 2 recognised these equally often.
_HEIGHT = 1.5


def log_bayes_factors(
    smooth: Smooth, odds: np.ndarray, hits: np.ndarray, total: np.ndarray
) -> tuple[float, float]:
    """
    Return the log Bayes factors of a curve with one rising, and with one falling step.

    Against the smooth curve without one. The scale of the walk is log-uniform in both models: the
    prior of the smooth curve keeps the scale away from 0, so that it would not let a step explain
    what bends the curve otherwise.

    Parameters
    ----------
    smooth : Smooth
    odds, hits, total : ndarray, shape (m,)
        Different log odds of forecasts in rising order, and positives and examples of each. The
        smooth curve may have put examples together by class, which would look like steps.

    Returns
    -------
    rising, falling : float

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> odds = np.sort(rng.normal(0, 1.5, 800))
    >>> hits, total = rng.random(800) < np.where(odds > 0, 0.8, 0.3), np.ones(800)
    >>> rising, falling = log_bayes_factors(Smooth(odds, hits, total), odds, hits, total)
    >>> bool(rising > 5), bool(falling < 1)
    (True, True)
    """
    odds, hits, total = _pooled(odds, hits, total)
    reached = np.cumsum(total) / total.sum()
    ranks = (np.arange(_CUTS) + 0.5) / _CUTS
    first = np.unique(np.searchsorted(reached, ranks))
    first = first[first > 0]  # a step lies below the forecast of this index
    share = np.diff(np.r_[0, (reached[first - 1][:-1] + reached[first - 1][1:]) / 2, 1])
    design, at_cut = smooth.design(odds), {}
    modes, factors, weights = smooth.laplace
    plain, rising, falling = [], [], []
    for scale, mode, factor, weight in zip(SCALES, modes, factors, weights, strict=True):
        columns = _columns(*design, scale)
        truth = expit(odds + columns @ mode)
        spread = total * truth * (1 - truth)
        score = _above(hits - total * truth, first)
        shared = _above(spread[:, None] * columns, first) @ factor
        information = np.maximum(_above(spread, first) - (shared**2).sum(axis=1), 1e-12)
        precision = information + _HEIGHT**-2
        height = score**2 / precision / 2 - np.log(precision * _HEIGHT**2) / 2
        best = int(np.argmax(height))
        cut = (odds[first[best] - 1] + odds[first[best]]) / 2
        if cut not in at_cut:
            places, number = nodes(odds, total, np.sort(np.r_[smooth.knots, cut]))
            at_cut[cut] = places, number, smooth.design(places)
        places, number, near = at_cut[cut]
        rows = np.column_stack([_columns(*near, scale), places > cut])
        sums = hits @ np.column_stack([columns, odds > cut])
        fits = [
            _log_marginal(
                np.r_[mode, 0.0][:size], places, number, rows[:, :size], sums[:size], each
            )
            for size, each in (
                (len(mode), smooth.precision),
                (len(mode) + 1, np.r_[smooth.precision, _HEIGHT**-2]),
            )
        ]
        height = height + fits[1] - fits[0] - height[best]
        own = weight - _log_prior(scale, smooth.spread)
        plain.append(own)
        # Half of the prior's steps rise and half fall.
        up, down = (log_ndtr(sign * score / np.sqrt(precision)) for sign in (1, -1))
        rising.append(own + logsumexp(height + up, b=2 * share))
        falling.append(own + logsumexp(height + down, b=2 * share))
    return logsumexp(rising) - logsumexp(plain), logsumexp(falling) - logsumexp(plain)


def _pooled(odds, hits, total):
    """Put neighbouring forecasts together where they are many."""
    if len(odds) <= _FORECASTS:
        return odds, hits, total
    place = np.arange(len(odds)) * _FORECASTS // len(odds)
    sums = [np.bincount(place, each) for each in (odds * total, hits, total)]
    return sums[0] / sums[2], sums[1], sums[2]


def _above(values, first):
    """Return sums over the forecasts from each index on."""
    between = np.add.reduceat(values, first, axis=0)
    return np.cumsum(between[::-1], axis=0)[::-1]


def _log_prior(scale, spread):
    """Return the log density of Rayleigh's prior in log(scale)."""
    return 2 * np.log(scale / spread) - (scale / spread) ** 2 / 2


def _log_marginal(start, places, total, rows, sums, precision):
    """Return the log marginal likelihood of a regression by Laplace, but for a constant."""
    mode, hessian = mode_of(start, rows, places, sums, total, precision)
    value = sums @ mode - np.logaddexp(0, places + rows @ mode) @ total - precision @ mode**2 / 2
    return value + (np.log(precision).sum() - np.linalg.slogdet(hessian)[1]) / 2


def _columns(straight, steps, scale):
    return np.concatenate([straight, scale * steps], axis=1)
