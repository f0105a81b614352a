"""
Measures of probability forecasts: proper scores, calibration, and the Brier decomposition.

These measures are functions of draws of the population of forecasts and outcomes (`Forecasts`), and
return one value per draw and classifier, (S, K). With more than two classes (`ClassForecasts`),
most measures are computed for each class against the rest, (S, K, C). Proper scores refer to all
classes, and ``_full`` measures to the whole forecast. The suffix ``_macro`` denotes the mean over
classes, and ``_top_label`` the measure of the highest probability.

With forecast p, outcome y, observed frequency c(p) of the positive class for this forecast, and
prevalence q, the Brier score has three components::

    E(p - y)^2  =  q (1 - q)  -  E(c(p) - q)^2  +  E(p - c(p))^2
    brier       =  uncertainty - discrimination + miscalibration
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import expit, rel_entr

from bayescm.measures.curves import Curve
from bayescm.measures.measure import CalibrationForm, Measure
from bayescm.validate import fail

# Populations of forecasts and outcomes, for two classes and for more


@dataclass(frozen=True, eq=False)
class Forecasts:
    """
    Draws of a population of forecasts and outcomes.

    Attributes
    ----------
    probability : ndarray, shape (K, u)
        Forecasts of each classifier.
    outcome : ndarray of float, shape (u,)
        Outcomes, 1 for the positive class.
    weight : ndarray, shape (S, u)
        Share of each forecast and outcome in the population. Each row sums to 1.
    curve : callable
        Function that draws the probability of the positive class given each forecast, (S, K, u).
    pseudo : int, default 0
        Number of pseudo-examples of the prior. They are the last of the u examples.
    """

    probability: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    curve: Callable[[], np.ndarray]
    pseudo: int = 0

    @cached_property
    def truth(self) -> np.ndarray:
        """Probability of the positive class given each forecast, (S, K, u)."""
        return self.curve()

    @cached_property
    def prevalence(self) -> np.ndarray:
        """Share of the positive class, (S, 1)."""
        return (self.weight @ self.outcome)[:, None]

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Return the population mean of values (K, u) or (S, K, u)."""
        if values.ndim == 2:
            return self.weight @ values.T
        return np.einsum("su,sku->sk", self.weight, values)

    def roc_curves(self) -> list[Curve]:
        """Return the ROC curve of each classifier in the population."""
        return [self._roc_curve(row) for row in self.probability]

    def _roc_curve(self, row):
        order = np.argsort(-row, kind="stable")
        starts = np.flatnonzero(np.diff(-row[order], prepend=-np.inf))
        weight, outcome = self.weight[:, order], self.outcome[order]
        rates = np.zeros((2, len(weight), len(starts) + 1))
        for rate, side in zip(rates, (1 - outcome, outcome), strict=True):
            np.cumsum(np.add.reduceat(weight * side, starts, axis=1), axis=1, out=rate[:, 1:])
            rate /= rate[:, -1:]
        half, tied = np.full(len(starts), 0.5), np.ones(len(starts), bool)
        at = np.arange(len(starts) + 1)
        return Curve(rates[0], rates[1], self.prevalence[:, 0], half, tied, at)

    def mean_score(self, score: np.ndarray) -> np.ndarray:
        """Return the mean (S, K) of a proper score (K, u) of single forecasts."""
        wrong = (self.probability > 0.5) != (self.outcome == 1)
        return _mean_score(self.weight, score, wrong, self.pseudo)


@dataclass(frozen=True, eq=False)
class ClassForecasts:
    """
    Draws of a population of forecasts and outcomes with more than two classes.

    Attributes
    ----------
    probability : ndarray, shape (K, u, C)
        Forecasts of each classifier.
    code : ndarray of int, shape (u,)
        Index of the true class.
    weight : ndarray, shape (S, u)
        Weights, as for `Forecasts`.
    one_vs_rest : callable
        Function that returns the `Forecasts` of a class against the rest, given the index of the
        class. With ``averaged=True``, it returns the forecasts for means over classes, with a prior
        for all classes jointly.
    top : tuple of Forecasts
        For each classifier, its highest probability, and whether the corresponding class is true.
    recalibrated : callable
        Function that draws the probability of every class given the whole forecast, (S, K, u, C).
    pseudo : int, default 0
        Number of pseudo-examples, as for `Forecasts`.
    """

    probability: np.ndarray
    code: np.ndarray
    weight: np.ndarray
    one_vs_rest: Callable[..., Forecasts]
    top: tuple[Forecasts, ...]
    recalibrated: Callable[[], np.ndarray]
    pseudo: int = 0

    @cached_property
    def each(self) -> tuple[Forecasts, ...]:
        """Forecasts of each class against the rest."""
        return tuple(map(self.one_vs_rest, range(self.probability.shape[-1])))

    @cached_property
    def averaged(self) -> tuple[Forecasts, ...]:
        """Forecasts of each class against the rest, for class means, with the same curves."""

        def to_average(index):
            return replace(
                self.one_vs_rest(index, averaged=True), curve=lambda: self.each[index].truth
            )

        return tuple(map(to_average, range(self.probability.shape[-1])))

    def average_of_curves(self, formula: Callable, how: str) -> np.ndarray:
        """Return a formula of ROC curves averaged over the classes, (S, K)."""
        curves = [one.roc_curves() for one in self.averaged]
        values = np.stack(
            [np.stack(list(map(formula, of_classes)), axis=-1) for of_classes in curves], -1
        )
        if how == "macro":
            return values.mean(axis=-1)
        return (values * self.prevalence[:, None]).sum(axis=-1)

    @cached_property
    def truth(self) -> np.ndarray:
        """Probability of every class given the whole forecast, (S, K, u, C)."""
        return self.recalibrated()

    @cached_property
    def prevalence(self) -> np.ndarray:
        """Share of each class, (S, C)."""
        return self.weight @ np.eye(self.probability.shape[-1])[self.code]

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Return the population mean of values (S, K, u)."""
        return np.einsum("su,sku->sk", self.weight, values)

    def mean_score(self, score: np.ndarray) -> np.ndarray:
        """Return the mean (S, K) of a proper score (K, u) of whole forecasts."""
        wrong = self.probability.argmax(axis=-1) != self.code
        return _mean_score(self.weight, score, wrong, self.pseudo)


def _mean_score(weight, score, wrong, pseudo):
    """
    Return means (S, K) of scores (K, u), limiting pseudo-examples to the range of the examples.

    Pseudo-examples have the lowest and highest forecasts, for which an unbounded loss would
    outweigh the sample. Their scores are therefore limited to the range of the observed scores. If
    the most probable class is not ``wrong`` (K, u) for any example, the data do not show the cost
    of an error, and pseudo-examples keep their own scores. The mean is infinite if the score of an
    example is infinite, or if a pseudo-example keeps an infinite score. The latter happens if all
    forecasts are right and some are exactly 0 or 1.
    """
    if not pseudo:
        return weight @ score.T
    examples, prior = score[:, :-pseudo], score[:, -pseudo:]
    low, high = examples.min(axis=1, keepdims=True), examples.max(axis=1, keepdims=True)
    mistaken = wrong[:, :-pseudo].any(axis=1, keepdims=True)
    prior = np.where(mistaken, np.clip(prior, low, high), prior)
    infinite = np.isinf(prior).any(axis=1) | np.isinf(examples).any(axis=1)
    finite = np.nan_to_num(np.concatenate([examples, prior], axis=1), posinf=0.0)
    return np.where(infinite, np.inf, weight @ finite.T)


# Measures, defined as formulas of a population

_BINS = 15  # usual number of bins of the expected calibration error
_MOST_BINS = 1000  # largest number of bins that may be requested


def _measure(**facts):
    """Return a decorator for formulas, which by default apply to each class against the rest."""

    def make(formula):
        name = formula.__name__
        formula.__qualname__ = f"{name}.formula"
        facts.setdefault("range", (0.0, 1.0))
        facts.setdefault("one_class", "compute" not in facts)
        compute = partial(facts.pop("compute", _each), formula=formula)
        common = {"canonical": name, "takes": "probabilities", "needs_positive": True}
        return Measure(compute, formula, name, **common, **facts)

    return make


def _each(forecasts, formula):
    """Return a formula of two classes for each class against the rest, (S, K, C)."""
    if isinstance(forecasts, Forecasts):
        return formula(forecasts)
    return np.stack(np.broadcast_arrays(*map(formula, forecasts.each)), axis=-1)


def _sum(forecasts, formula):
    """Return the sum of a formula over more than two classes. For two classes, do not sum."""
    if isinstance(forecasts, Forecasts):
        return formula(forecasts)
    return sum(map(formula, forecasts.each))


def _whole(forecasts, formula):
    """Return a formula of all classes jointly."""
    return formula(forecasts)


def _macro(forecasts, formula):
    """Return the mean over classes."""
    _check_classes(forecasts, "macro", formula)
    return _to_average(forecasts, formula).mean(axis=-1)


def _weighted(forecasts, formula):
    """Return the mean over classes, weighted by class shares."""
    _check_classes(forecasts, "weighted", formula)
    return (_to_average(forecasts, formula) * forecasts.prevalence[:, None]).sum(axis=-1)


def _to_average(forecasts, formula):
    """Return a formula of two classes for each class against the rest, for averaging."""
    return np.stack(np.broadcast_arrays(*map(formula, forecasts.averaged)), axis=-1)


def _top(forecasts, formula):
    """Return a formula of two classes for the highest probability of each classifier."""
    _check_classes(forecasts, "top_label", formula)
    return np.concatenate([formula(one) for one in forecasts.top], axis=-1)


def _check_classes(forecasts, how, formula):
    if isinstance(forecasts, Forecasts):
        name = formula.__name__
        raise fail(f"{name}_{how} needs three or more classes", ..., "", f"use {name}")


@_measure(
    lower_is_better=True,
    aliases=("brier_score_loss", "brier_score"),
    display_names={"brier": "Brier score", "brier_score_loss": "Brier score"},
    compute=_whole,
    range=(0.0, 2.0),
)
def brier(forecasts):
    """Mean squared difference between probability and outcome, summed over classes if several."""
    if isinstance(forecasts, ClassForecasts):
        outcome = np.eye(forecasts.probability.shape[-1])[forecasts.code]
        return forecasts.mean_score(((forecasts.probability - outcome) ** 2).sum(axis=-1))
    return forecasts.mean_score((forecasts.probability - forecasts.outcome) ** 2)


@_measure(lower_is_better=True, aliases=("cross_entropy",), compute=_whole, range=(0.0, np.inf))
def log_loss(forecasts):
    """Mean negative log probability of the true class."""
    if isinstance(forecasts, ClassForecasts):
        probability = forecasts.probability[:, np.arange(len(forecasts.code)), forecasts.code]
    else:
        probability = np.where(
            forecasts.outcome == 1, forecasts.probability, 1 - forecasts.probability
        )
    return forecasts.mean_score(-np.log(probability))


@_measure(
    aliases=("brier_skill_score", "scaled_brier"),
    display_names={"brier_skill": "Brier skill score", "scaled_brier": "scaled Brier score"},
    compute=_whole,
    range=(-np.inf, 1.0),
)
def brier_skill(forecasts):
    """Relative improvement in the Brier score over forecasting the prevalence."""
    return 1 - brier(forecasts) / uncertainty(forecasts)


@_measure(range=(-1.0, 1.0), ideal=0.0)
def calibration_in_the_large(forecasts):
    """Share of the positive class minus the mean probability; 0 if they agree."""
    return forecasts.prevalence - forecasts.mean(forecasts.probability)


@_measure(range=(-np.inf, np.inf), ideal=0.0)
def calibration_intercept(forecasts):
    """Mean underestimation of the log odds by the forecasts; 0 if they are calibrated."""
    return recalibration(forecasts, fixed=True)[0]


@_measure(range=(-np.inf, np.inf), ideal=1.0)
def calibration_slope(forecasts):
    """Slope of the outcome's log odds on the forecast's log odds; below 1 if too extreme."""
    return recalibration(forecasts, fixed=False)[1]


@_measure(compute=_sum)
def uncertainty(forecasts):
    """Brier score of always forecasting the prevalence."""
    return forecasts.prevalence * (1 - forecasts.prevalence)


@_measure(lower_is_better=True, form=CalibrationForm(is_distance=True), aliases=("ici",))
def ece(forecasts):
    """Mean absolute difference between the probability and the observed frequency given it."""
    return forecasts.mean(np.abs(forecasts.truth - forecasts.probability))


@_measure(
    lower_is_better=True,
    form=CalibrationForm(is_distance=True),
    display_names={"ece_binned": "binned ECE"},
)
def ece_binned(forecasts):
    """Mean absolute difference of mean probability and observed frequency in 15 equal bins."""
    return _in_bins(forecasts, np.linspace(0, 1, _BINS + 1))


def of_bins(bins: int = _BINS, edges: Sequence[float] | None = None) -> Measure:
    """
    Return the binned calibration error, for bins of equal width or given edges.

    Parameters
    ----------
    bins : int, default 15
        Number of bins of equal width.
    edges : sequence of float, optional
        Increasing bin edges from 0 to 1, instead of ``bins``.

    Examples
    --------
    >>> of_bins(edges=[0, 0.5, 1]).__name__
    'ece_binned(edges=[0,0.5,1])'
    """
    todo = 'write "ece_binned(10)" or "ece_binned(edges=[0,0.2,1])"'
    if edges is None:
        if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= _MOST_BINS:
            raise fail(f"ece_binned must have 1 to {_MOST_BINS} bins", bins, "", todo)
        cuts, name = np.linspace(0, 1, bins + 1), f"ece_binned({bins})"
    else:
        try:
            cuts = np.asarray(edges, float)
        except (TypeError, ValueError):
            cuts = np.array([np.nan])
        rising = cuts.ndim == 1 and len(cuts) > 1 and (np.diff(cuts) > 0).all()
        if not rising or (cuts[0], cuts[-1]) != (0, 1):
            raise fail("`edges` must increase from 0 to 1", edges, "", todo)
        name = f"ece_binned(edges=[{','.join(f'{cut:g}' for cut in cuts)}])"

    def formula(forecasts):
        return _in_bins(forecasts, cuts)

    formula.__name__, formula.__doc__ = (
        name,
        "Mean distance between forecast and truth over these bins.",
    )
    return _measure(lower_is_better=True, form=CalibrationForm(is_distance=True))(formula)


def _in_bins(forecasts, edges):
    """Return the weighted sum over bins of |mean forecast - mean truth|."""
    gap = forecasts.weight[:, None] * (forecasts.truth - forecasts.probability)
    bin_of = np.clip(np.searchsorted(edges, forecasts.probability, "right") - 1, 0, len(edges) - 2)
    inside = bin_of[..., None] == np.arange(len(edges) - 1)
    return np.abs(np.einsum("sku,kub->skb", gap, inside)).sum(axis=-1)


@_measure(lower_is_better=True, form=CalibrationForm(is_distance=True), aliases=("reliability",))
def miscalibration(forecasts):
    """Part of the Brier score that recalibration would remove."""
    return forecasts.mean((forecasts.truth - forecasts.probability) ** 2)


@_measure(lower_is_better=True, form=CalibrationForm(is_distance=True), range=(0.0, np.inf))
def log_miscalibration(forecasts):
    """Part of the log loss that recalibration would remove."""
    truth, forecast = forecasts.truth, forecasts.probability
    return forecasts.mean(rel_entr(truth, forecast) + rel_entr(1 - truth, 1 - forecast))


@_measure(form=CalibrationForm(is_distance=False), aliases=("resolution",))
def discrimination(forecasts):
    """Part of the uncertainty that forecasts resolve: the variance of the observed frequency."""
    mean = forecasts.mean(forecasts.truth)
    return forecasts.mean((forecasts.truth - mean[..., None]) ** 2)


@_measure(lower_is_better=True, form=CalibrationForm(is_distance=False))
def refinement(forecasts):
    """Brier score after recalibration: uncertainty minus discrimination."""
    return forecasts.mean(forecasts.truth * (1 - forecasts.truth))


@_measure(
    lower_is_better=True, form=CalibrationForm(is_distance=True, all_classes=True), compute=_whole
)
def ece_full(forecasts):
    """Mean distance between the whole forecast and the class frequencies given it."""
    if isinstance(forecasts, Forecasts):
        return ece(forecasts)
    return forecasts.mean(np.abs(forecasts.truth - forecasts.probability).sum(axis=-1) / 2)


@_measure(
    lower_is_better=True,
    form=CalibrationForm(is_distance=True, all_classes=True),
    compute=_whole,
    range=(0.0, 2.0),
)
def miscalibration_full(forecasts):
    """Part of the Brier score that recalibration of the whole forecast would remove."""
    if isinstance(forecasts, Forecasts):
        return miscalibration(forecasts)
    return forecasts.mean(((forecasts.truth - forecasts.probability) ** 2).sum(axis=-1))


@_measure(
    lower_is_better=True,
    form=CalibrationForm(is_distance=True, all_classes=True),
    compute=_whole,
    range=(0.0, np.inf),
)
def log_miscalibration_full(forecasts):
    """Part of the log loss that recalibration of the whole forecast would remove."""
    if isinstance(forecasts, Forecasts):
        return log_miscalibration(forecasts)
    return forecasts.mean(rel_entr(forecasts.truth, forecasts.probability).sum(axis=-1))


_AVERAGES = {"macro": _macro, "weighted": _weighted, "top_label": _top}


def averaged(measure: Measure, how: str) -> Measure:
    """Return the mean over classes of a measure of one class, or its top-label version."""
    name = f"{measure.canonical}_{how}"
    facts: Any = {"canonical": name, "average": how, "one_class": False, "aliases": ()}
    compute = partial(_AVERAGES[how], formula=measure.formula)
    return replace(measure, compute=compute, __name__=name, **facts)


def _averages():
    """Return the class means and top-label versions of all measures, by name."""
    of_one_class = [
        measure for measure in globals().values() if getattr(measure, "one_class", False)
    ]
    return {
        f"{measure.canonical}_{how}": averaged(measure, how)
        for measure in of_one_class
        for how in _AVERAGES
    }


AVERAGED = _averages()
FACTORIES = {"ece_binned": of_bins}

# Logistic regression of outcomes on the log odds of forecasts

_CACHED = 30_000  # size of arrays, several of which fit into a processor cache
_STEPS = 12  # Newton steps before the damped algorithm is used
_HALVINGS = 12  # largest number of halvings of a step


def recalibration(forecasts: Forecasts, *, fixed: bool) -> np.ndarray:
    """Return the intercepts and slopes of the logistic recalibration of log odds, (2, S, K)."""
    weight, outcome = forecasts.weight, forecasts.outcome
    mean, fits = weight.mean(axis=0, keepdims=True), []
    for odds in log_odds(forecasts.probability):
        if not fixed and np.ptp(odds) == 0:
            raise fail(
                "A calibration slope needs at least two distinct forecasts",
                ...,
                "",
                "use brier, log_loss or calibration_in_the_large",
            )
        center = _logistic(mean, np.array([[0.0], [1.0]]), outcome, odds, fixed)
        starts = _logistic_by_series(weight, center[:, 0], outcome, odds, fixed)

        def fit(rows, starts=starts, odds=odds):
            block = slice(rows[0], rows[-1] + 1)
            return _logistic(weight[block], starts[:, block], outcome, odds, fixed)

        fits.append(in_blocks(fit, np.arange(len(weight)), len(odds)))
    return np.moveaxis(np.array(fits), 0, -1)


def in_blocks(function: Callable, rows: np.ndarray, width: int) -> np.ndarray:
    """Apply a function to blocks of rows (S, ...) whose arrays (s, width) fit into the cache."""
    step = max(1, _CACHED // width)
    parts = [function(rows[first : first + step]) for first in range(0, len(rows), step)]
    return np.concatenate(parts, axis=-1)


def _logistic(weight, start, outcome, odds, fixed):
    """Return intercept and slope, (2, S), of a weighted logistic regression by Newton steps."""
    estimate = start
    for _ in range(_STEPS):
        step = _step(weight, estimate, outcome, odds, fixed)
        estimate = estimate + step
        if np.abs(step).max() < 1e-3:  # quadratic convergence: the next is near 1e-6
            return estimate
    # With few examples, full steps may oscillate forever.
    not_converged = ~(np.abs(step).max(axis=0) < 1e-3)
    starts = np.broadcast_to(start, estimate.shape)[:, not_converged]
    estimate[:, not_converged] = _damped(weight[not_converged], starts, outcome, odds, fixed)
    return estimate


def _step(weight, coefficients, outcome, odds, fixed):
    """Return the Newton step of intercept and slope (2, S)."""
    truth = expit(coefficients[0][:, None] + coefficients[1][:, None] * odds)
    residual, variance = weight * (outcome - truth), weight * truth
    variance -= variance * truth
    score = np.stack([residual.sum(axis=1), residual @ odds])
    return _newton(score, (variance @ odds[:, None] ** np.arange(3)).T, fixed)


def _damped(weight, coefficients, outcome, odds, fixed):
    """Return intercept and slope (2, S), halving steps until they improve the fit."""

    def fit(coefficients):
        linear = coefficients[0][:, None] + coefficients[1][:, None] * odds
        return (weight * (outcome * linear - np.logaddexp(0, linear))).sum(axis=1)

    likelihood = fit(coefficients)
    for _ in range(3 * _STEPS):
        step = _step(weight, coefficients, outcome, odds, fixed)
        for _ in range(_HALVINGS):
            trial = fit(coefficients + step)
            worse = ~(trial >= likelihood)
            if not worse.any():
                break
            step[:, worse] /= 2
        better = trial > likelihood
        coefficients = np.where(better, coefficients + step, coefficients)
        likelihood = np.where(better, trial, likelihood)
        if np.abs(step).max() < 1e-3:
            break
    return coefficients


def _logistic_by_series(weight, start, outcome, odds, fixed):
    """
    Return an approximate intercept and slope (2, S) from a series around a starting point.

    The score is expanded to third order in the step. A single matrix product gives the moments for
    all draws, and four Newton steps solve the equation for the step.
    """
    truth = expit(start[0] + start[1] * odds)
    first = truth * (1 - truth)
    terms = [outcome - truth, first, first * (1 - 2 * truth), first * (1 - 6 * first)]
    columns = [each * odds**power for order, each in enumerate(terms) for power in range(2 + order)]
    score, first, second, third = np.split((weight @ np.stack(columns, axis=1)).T, [2, 5, 9])
    step = np.zeros((2, len(weight)))

    def contract(moments):
        return step[0] * moments[:-1] + step[1] * moments[1:]

    for _ in range(4):
        second_order, third_order = contract(second), contract(contract(third))
        residual = score - contract(first) - contract(second_order) / 2 - contract(third_order) / 6
        step = step + _newton(residual, first + second_order + third_order / 2, fixed)
    close = np.abs(step).max(axis=0) < 1  # otherwise the series is inaccurate or undefined (NaN)
    return start[:, None] + np.where(close, step, 0.0)


def _newton(score, info, fixed):
    """Return a step of intercept and slope (2, S), limited to length 2."""
    if fixed:
        step = np.clip(score[0] / info[0], -2, 2)
        return np.stack([step, np.zeros_like(step)])
    scale = info[0] * info[2] - info[1] ** 2
    level = (info[2] * score[0] - info[1] * score[1]) / scale
    slope = (info[0] * score[1] - info[1] * score[0]) / scale
    return np.stack([level, slope]) / np.maximum(1, np.maximum(np.abs(level), np.abs(slope)) / 2)


def log_odds(probability: np.ndarray) -> np.ndarray:
    """
    Return the log odds of forecasts (K, u), limited to finite values.

    Forecasts of exactly 0 or 1 are placed beyond the most extreme of the other log odds, at a
    distance of one standard deviation of these.
    """
    with np.errstate(divide="ignore"):
        odds = np.log(probability) - np.log1p(-probability)
    finite = np.isfinite(odds)
    finite_odds = np.where(finite, odds, 0.0)
    number = np.maximum(finite.sum(axis=-1, keepdims=True), 1)
    mean = finite_odds.sum(axis=-1, keepdims=True) / number
    spread = np.sqrt((finite * (finite_odds - mean) ** 2).sum(axis=-1, keepdims=True) / number)
    spread = np.where(spread > 0, spread, 1.0)
    low = np.where(finite, odds, np.inf).min(axis=-1, keepdims=True)
    high = np.where(finite, odds, -np.inf).max(axis=-1, keepdims=True)
    none = ~finite.any(axis=-1, keepdims=True)
    low, high = np.where(none, 0.0, low), np.where(none, 0.0, high)
    return np.clip(odds, low - spread, high + spread)
