"""
Measures of probabilities: proper scores, calibration, and what Brier's score is made of.

They are functions of draws of the population of forecasts and outcomes (`Forecasts`), (S, K): a
value for every draw and classifier.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.special import expit, rel_entr

from bayescm.measures.forms import Curved
from bayescm.measures.kernel import Measure

_CACHED = 30_000  # numbers that a processor's cache holds several arrays of
_BINS = 15  # of the expected calibration error as it is printed in the literature


@dataclass(frozen=True, eq=False)
class Forecasts:
    """
    Draws of a population of forecasts and outcomes.

    Attributes
    ----------
    probability : ndarray, shape (K, u)
        The forecasts of each classifier.
    outcome : ndarray of float, shape (u,)
        1 for the positive class.
    weight : ndarray, shape (S, u)
        The share of each forecast and outcome in the population; each row sums to 1.
    curve : callable
        Draws (S, K, u) of the probability of the positive class given each forecast.
    """

    probability: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    curve: Callable[[], np.ndarray]

    @cached_property
    def truth(self) -> np.ndarray:
        """The probability of the positive class given each forecast, (S, K, u)."""
        return self.curve()

    @cached_property
    def prevalence(self) -> np.ndarray:
        """The share of the positive class, (S, 1)."""
        return (self.weight @ self.outcome)[:, None]

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Return the mean over the population of values (K, u), or (S, K, u)."""
        if values.ndim == 2:
            return self.weight @ values.T
        return np.einsum("su,sku->sk", self.weight, values)


def _measure(**facts):
    def make(formula):
        name = formula.__name__
        formula.__qualname__ = f"{name}.formula"
        facts.setdefault("range", (0.0, 1.0))
        known = {"canonical": name, "takes": "probabilities", "needs_positive": True}
        return Measure(formula, formula, name, **known, **facts)

    return make


@_measure(lower_is_better=True, aliases=("brier_score_loss", "brier_score"))
def brier(forecasts):
    """Mean squared distance of the probability from the outcome."""
    return forecasts.mean((forecasts.probability - forecasts.outcome) ** 2)


@_measure(lower_is_better=True, aliases=("cross_entropy",), range=(0.0, np.inf))
def log_loss(forecasts):
    """Mean of minus the log of the probability given to what came true."""
    chosen = np.where(forecasts.outcome == 1, forecasts.probability, 1 - forecasts.probability)
    return forecasts.mean(-np.log(chosen))


@_measure(aliases=("brier_skill_score", "scaled_brier"), range=(-np.inf, 1.0))
def brier_skill(forecasts):
    """Share of the Brier score of forecasting the prevalence that the forecasts do away with."""
    return 1 - brier.formula(forecasts) / uncertainty.formula(forecasts)


@_measure(aliases=("roc_auc", "c_statistic"))
def auc(forecasts):
    """Probability that a random positive example has the higher forecast; ties count one half."""
    return np.stack([_area(forecasts, row) for row in forecasts.probability], axis=-1)


@_measure(range=(-1.0, 1.0))
def calibration_in_the_large(forecasts):
    """Share of the positive class less the mean probability; 0 where they agree."""
    return forecasts.prevalence - forecasts.mean(forecasts.probability)


@_measure(range=(-np.inf, np.inf))
def calibration_intercept(forecasts):
    """Log odds by which all the forecasts are too low on average; 0 where they are right."""
    return _recalibration(forecasts, fixed=True)[0]


@_measure(range=(-np.inf, np.inf))
def calibration_slope(forecasts):
    """Slope of the log odds of the outcome on those of the forecast; below 1 if too extreme."""
    return _recalibration(forecasts, fixed=False)[1]


@_measure()
def uncertainty(forecasts):
    """Brier score of forecasting the prevalence for everybody."""
    return forecasts.prevalence * (1 - forecasts.prevalence)


@_measure(lower_is_better=True, form=Curved(zero=True), aliases=("ici",))
def ece(forecasts):
    """Mean distance of the probability from the share that comes true where it is given."""
    return forecasts.mean(np.abs(forecasts.truth - forecasts.probability))


@_measure(lower_is_better=True, form=Curved(zero=True))
def ece_binned(forecasts):
    """Mean distance of mean probability and share that comes true, over 15 bins of equal width."""
    gap = forecasts.weight[:, None] * (forecasts.truth - forecasts.probability)
    place = np.minimum((forecasts.probability * _BINS).astype(int), _BINS - 1)
    inside = place[..., None] == np.arange(_BINS)
    return np.abs(np.einsum("sku,kub->skb", gap, inside)).sum(axis=-1)


@_measure(lower_is_better=True, form=Curved(zero=True), aliases=("reliability",))
def miscalibration(forecasts):
    """Part of the Brier score that recalibration would take away."""
    return forecasts.mean((forecasts.truth - forecasts.probability) ** 2)


@_measure(lower_is_better=True, form=Curved(zero=True), range=(0.0, np.inf))
def log_miscalibration(forecasts):
    """Part of the log loss that recalibration would take away."""
    truth, forecast = forecasts.truth, forecasts.probability
    return forecasts.mean(rel_entr(truth, forecast) + rel_entr(1 - truth, 1 - forecast))


@_measure(form=Curved(zero=False), aliases=("resolution",))
def discrimination(forecasts):
    """Part of the uncertainty that the forecasts resolve: the variance of what comes true."""
    mean = forecasts.mean(forecasts.truth)
    return forecasts.mean((forecasts.truth - mean[..., None]) ** 2)


@_measure(lower_is_better=True, form=Curved(zero=False))
def refinement(forecasts):
    """Brier score of the forecasts after recalibration: uncertainty less discrimination."""
    return forecasts.mean(forecasts.truth * (1 - forecasts.truth))


def _area(forecasts, row):
    """Return the area under the ROC curve of one classifier, (S,)."""
    order = np.argsort(row)
    starts = np.flatnonzero(np.diff(row[order], prepend=-1))
    outcome = forecasts.outcome[order]

    def area(weight):
        sides = [weight[:, order] * each for each in (1 - outcome, outcome)]
        negative, positive = (np.add.reduceat(each, starts, axis=1) for each in sides)
        below = np.cumsum(negative, axis=1)
        pairs = below[:, -1] * positive.sum(axis=1)
        return (positive * (below - negative / 2)).sum(axis=1) / pairs

    return in_blocks(area, forecasts.weight, len(row))


def _recalibration(forecasts, *, fixed):
    """Return intercept and slope of the logistic regression on the forecasts' log odds, (S, K)."""
    weight, outcome = forecasts.weight, forecasts.outcome
    mean, found = weight.mean(axis=0, keepdims=True), []
    for odds in log_odds(forecasts.probability):
        start = _logistic(mean, outcome=outcome, odds=odds, fixed=fixed, start=(0.0, 1.0))
        fit = partial(_logistic, outcome=outcome, odds=odds, fixed=fixed, start=start)
        found.append(in_blocks(fit, weight, len(odds)))
    return np.moveaxis(np.array(found), 0, -1)


def in_blocks(function: Callable, rows: np.ndarray, width: int) -> np.ndarray:
    """Apply a function to so many rows (S, ...) at a time as a cache holds arrays (s, width) of."""
    step = max(1, _CACHED // width)
    parts = [function(rows[first : first + step]) for first in range(0, len(rows), step)]
    return np.concatenate(parts, axis=-1)


def _logistic(weight, *, outcome, odds, fixed, start, steps=40):
    """Return level and slope, (2, S), of a weighted logistic regression, by Newton's steps."""
    level, slope = (np.full(len(weight), each) for each in start)
    for _ in range(steps):
        truth = expit(level[:, None] + slope[:, None] * odds)
        rest, spread = weight * (outcome - truth), weight * truth * (1 - truth)
        step = _newton(rest, spread, odds, fixed)
        level, slope = level + step[0], slope + step[1]
        if max(np.abs(each).max() for each in step) < 1e-4:  # the next one would be its square
            break
    return np.stack([level, slope])


def _newton(rest, spread, odds, fixed):
    """Return a step of level and slope, no longer than 2."""
    score, info = rest.sum(axis=1), spread.sum(axis=1)
    if fixed:
        return np.clip(score / info, -2, 2), np.zeros(len(score))
    along, cross, square = rest @ odds, spread @ odds, spread @ odds**2
    scale = info * square - cross**2
    level = (square * score - cross * along) / scale
    slope = (info * along - cross * score) / scale
    length = np.maximum(1, np.maximum(np.abs(level), np.abs(slope)) / 2)
    return level / length, slope / length


def log_odds(probability: np.ndarray) -> np.ndarray:
    """
    Return the log odds of forecasts (K, u), finite.

    An exact 0 or 1 lies one standard deviation of the others beyond the most extreme of them.
    """
    with np.errstate(divide="ignore"):
        odds = np.log(probability) - np.log1p(-probability)
    finite = np.isfinite(odds)
    kept = np.where(finite, odds, 0.0)
    number = np.maximum(finite.sum(axis=-1, keepdims=True), 1)
    mean = kept.sum(axis=-1, keepdims=True) / number
    spread = np.sqrt((finite * (kept - mean) ** 2).sum(axis=-1, keepdims=True) / number)
    spread = np.where(spread > 0, spread, 1.0)
    low = np.where(finite, odds, np.inf).min(axis=-1, keepdims=True)
    high = np.where(finite, odds, -np.inf).max(axis=-1, keepdims=True)
    none = ~finite.any(axis=-1, keepdims=True)
    low, high = np.where(none, 0.0, low), np.where(none, 0.0, high)
    return np.clip(odds, low - spread, high + spread)
