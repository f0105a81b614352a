"""
Measures of probabilities: proper scores, calibration, and what Brier's score is made of.

They are functions of draws of the population of forecasts and outcomes (`Forecasts`), (S, K): a
value for every draw and classifier. Of more than two classes (`ClassForecasts`) most are of each
class against the rest, (S, K, C); proper scores are of all classes, and ``_full`` measures of the
whole forecast. ``_macro`` is the mean over the classes, ``_top_label`` that of the highest
probability.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import rel_entr

from bayescm.measures.forecasts import ClassForecasts, Forecasts, area, recalibration
from bayescm.measures.measure import Curved, Measure
from bayescm.validate import fail

_BINS, _MOST = 15, 1000  # of the expected calibration error as it is printed in the literature


def _measure(**facts):
    """Make a measure of a formula; without ``compute`` it is of each class against the rest."""

    def make(formula):
        name = formula.__name__
        formula.__qualname__ = f"{name}.formula"
        facts.setdefault("range", (0.0, 1.0))
        facts.setdefault("one_class", "compute" not in facts)
        compute = partial(facts.pop("compute", _each), formula=formula)
        known = {"canonical": name, "takes": "probabilities", "needs_positive": True}
        return Measure(compute, formula, name, **known, **facts)

    return make


def _each(forecasts, formula):
    """Return a formula of two classes for every class against the rest, (S, K, C)."""
    if isinstance(forecasts, Forecasts):
        return formula(forecasts)
    return np.stack(np.broadcast_arrays(*map(formula, forecasts.each)), axis=-1)


def _sum(forecasts, formula):
    """Return the sum over the classes of a formula of two, which counts both classes once."""
    if isinstance(forecasts, Forecasts):
        return formula(forecasts)
    return sum(map(formula, forecasts.each))


def _whole(forecasts, formula):
    """Return a formula of all the classes at once."""
    return formula(forecasts)


def _macro(forecasts, formula):
    """Return the mean over the classes."""
    _check_classes(forecasts, "macro", formula)
    return _to_average(forecasts, formula).mean(axis=-1)


def _weighted(forecasts, formula):
    """Return the mean over the classes, weighted by their shares."""
    _check_classes(forecasts, "weighted", formula)
    return (_to_average(forecasts, formula) * forecasts.prevalence[:, None]).sum(axis=-1)


def _to_average(forecasts, formula):
    """Return a formula of two classes for every class against the rest, to be averaged."""
    return np.stack(np.broadcast_arrays(*map(formula, forecasts.averaged)), axis=-1)


def _top(forecasts, formula):
    """Return a formula of two classes for the highest probability of each classifier."""
    _check_classes(forecasts, "top_label", formula)
    return np.concatenate([formula(one) for one in forecasts.top], axis=-1)


def _check_classes(forecasts, how, formula):
    if isinstance(forecasts, Forecasts):
        name = formula.__name__
        todo = f"ask for {name}"
        raise fail("two classes have one curve", f"{name}_{how}", "more than two classes", todo)


@_measure(
    lower_is_better=True,
    aliases=("brier_score_loss", "brier_score"),
    compute=_whole,
    range=(0.0, 2.0),
)
def brier(forecasts):
    """Mean squared distance of the probability from the outcome; of classes their sum."""
    if isinstance(forecasts, ClassForecasts):
        outcome = np.eye(forecasts.probability.shape[-1])[forecasts.code]
        return forecasts.mean_score(((forecasts.probability - outcome) ** 2).sum(axis=-1))
    return forecasts.mean_score((forecasts.probability - forecasts.outcome) ** 2)


@_measure(lower_is_better=True, aliases=("cross_entropy",), compute=_whole, range=(0.0, np.inf))
def log_loss(forecasts):
    """Mean of minus the log of the probability given to what came true."""
    if isinstance(forecasts, ClassForecasts):
        chosen = forecasts.probability[:, np.arange(len(forecasts.code)), forecasts.code]
    else:
        chosen = np.where(forecasts.outcome == 1, forecasts.probability, 1 - forecasts.probability)
    return forecasts.mean_score(-np.log(chosen))


@_measure(aliases=("brier_skill_score", "scaled_brier"), compute=_whole, range=(-np.inf, 1.0))
def brier_skill(forecasts):
    """Share of the Brier score of forecasting the prevalence that the forecasts do away with."""
    return 1 - brier(forecasts) / uncertainty(forecasts)


@_measure(aliases=("roc_auc", "c_statistic"))
def auc(forecasts):
    """Probability that a random positive example has the higher forecast; ties count one half."""
    return np.stack([area(forecasts, row) for row in forecasts.probability], axis=-1)


@_measure(range=(-1.0, 1.0), ideal=0.0)
def calibration_in_the_large(forecasts):
    """Share of the positive class less the mean probability; 0 where they agree."""
    return forecasts.prevalence - forecasts.mean(forecasts.probability)


@_measure(range=(-np.inf, np.inf), ideal=0.0)
def calibration_intercept(forecasts):
    """Log odds by which all the forecasts are too low on average; 0 where they are right."""
    return recalibration(forecasts, fixed=True)[0]


@_measure(range=(-np.inf, np.inf), ideal=1.0)
def calibration_slope(forecasts):
    """Slope of the log odds of the outcome on those of the forecast; below 1 if too extreme."""
    return recalibration(forecasts, fixed=False)[1]


@_measure(compute=_sum)
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
    return _in_bins(forecasts, np.linspace(0, 1, _BINS + 1))


def of_bins(bins: int = _BINS, edges: Sequence[float] | None = None) -> Measure:
    """
    Return the calibration error over bins of equal width, or between given edges.

    Parameters
    ----------
    bins : int, default 15
    edges : sequence of float, optional
        From 0 to 1, rising; instead of ``bins``.

    Examples
    --------
    >>> of_bins(edges=[0, 0.5, 1]).__name__
    'ece_binned(edges=[0,0.5,1])'
    """
    todo = 'write "ece_binned(10)" or "ece_binned(edges=[0,0.2,1])"'
    if edges is None:
        if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= _MOST:
            raise fail("ece_binned needs a number of bins", bins, f"1 to {_MOST}", todo)
        cuts, name = np.linspace(0, 1, bins + 1), f"ece_binned({bins})"
    else:
        try:
            cuts = np.asarray(edges, float)
        except (TypeError, ValueError):
            cuts = np.array([np.nan])
        rising = cuts.ndim == 1 and len(cuts) > 1 and (np.diff(cuts) > 0).all()
        if not rising or (cuts[0], cuts[-1]) != (0, 1):
            raise fail("edges must rise from 0 to 1", edges, "e.g. [0, 0.2, 1]", todo)
        name = f"ece_binned(edges=[{','.join(f'{each:g}' for each in cuts)}])"

    def formula(forecasts):
        return _in_bins(forecasts, cuts)

    formula.__name__, formula.__doc__ = name, "Mean distance of forecast and truth over such bins."
    return _measure(lower_is_better=True, form=Curved(zero=True))(formula)


def _in_bins(forecasts, edges):
    """Return the sum over bins of the distance of mean forecast and mean truth, times share."""
    gap = forecasts.weight[:, None] * (forecasts.truth - forecasts.probability)
    place = np.clip(np.searchsorted(edges, forecasts.probability, "right") - 1, 0, len(edges) - 2)
    inside = place[..., None] == np.arange(len(edges) - 1)
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


@_measure(lower_is_better=True, form=Curved(zero=True, whole=True), compute=_whole)
def ece_full(forecasts):
    """Mean distance of the whole forecast from the chances of all classes where it is given."""
    if isinstance(forecasts, Forecasts):
        return ece(forecasts)
    return forecasts.mean(np.abs(forecasts.truth - forecasts.probability).sum(axis=-1) / 2)


@_measure(
    lower_is_better=True, form=Curved(zero=True, whole=True), compute=_whole, range=(0.0, 2.0)
)
def miscalibration_full(forecasts):
    """Part of the Brier score that recalibrating the whole forecast would take away."""
    if isinstance(forecasts, Forecasts):
        return miscalibration(forecasts)
    return forecasts.mean(((forecasts.truth - forecasts.probability) ** 2).sum(axis=-1))


@_measure(
    lower_is_better=True, form=Curved(zero=True, whole=True), compute=_whole, range=(0.0, np.inf)
)
def log_miscalibration_full(forecasts):
    """Part of the log loss that recalibrating the whole forecast would take away."""
    if isinstance(forecasts, Forecasts):
        return log_miscalibration(forecasts)
    return forecasts.mean(rel_entr(forecasts.truth, forecasts.probability).sum(axis=-1))


_WAYS = {"macro": _macro, "weighted": _weighted, "top_label": _top}


def averaged(measure: Measure, how: str) -> Measure:
    """Return the mean over the classes of a measure of one, or that of the highest probability."""
    name = f"{measure.canonical}_{how}"
    facts: Any = {"canonical": name, "average": how, "one_class": False, "aliases": ()}
    compute = partial(_WAYS[how], formula=measure.formula)
    return replace(measure, compute=compute, __name__=name, **facts)


def _averages():
    """Return the means over the classes, and the measures of the highest probability, by name."""
    own = [each for each in globals().values() if getattr(each, "one_class", False)]
    found = {f"{each.canonical}_{how}": averaged(each, how) for each in own for how in _WAYS}
    return found | {"roc_auc_ovr": found["auc_macro"].called("roc_auc_ovr")}


AVERAGES = _averages()
FACTORIES = {"ece_binned": of_bins}
