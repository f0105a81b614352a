"""
Measures of ROC curves: areas, average precision and the best F1.

With true positive rate t and false positive rate f along the curve, and prevalence q of the
positive class,

    auc               = integral of t df  =  P(positive above negative) + P(tie) / 2
    average precision = integral of q t / (q t + (1 - q) f) dt,  with steps at tied scores
    max F1            = max over thresholds of 2 q t / (q + q t + (1 - q) f)

Measures are functions of draws of a curve (`Curve`) and return one value per draw, (S,). With more
than two classes (`ClassCurves`), they return a value for each class against the rest, (S, C). The
suffix ``_macro`` denotes the mean over the classes, and ``_weighted`` the mean weighted by class
shares. ``_micro`` uses the pooled curve of all (example, class) pairs, and ``_top_label`` the curve
of the highest score of each example.

Between its points, a curve is a straight line in ROC space, as if scores were uniform between two
thresholds. A score shared by several examples is a single threshold, which contributes a step to
average precision (the increase in recall times the precision after it), as in scikit-learn. The
empirical curve of the examples (`empirical`) is a single draw that consists of steps only.

References
----------
McClish, D. K. (1989). Analyzing a portion of the ROC curve. Medical Decision Making 9, 190-195.
doi:10.1177/0272989X8900900307
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayescm.measures.measure import Measure
from bayescm.validate import fail, suggest

# Curves for two classes, and for more than two classes.


@dataclass(frozen=True, eq=False)
class Curve:
    """
    Draws of a ROC curve at the slot boundaries, from the highest score down.

    Attributes
    ----------
    fpr, tpr : ndarray, shape (S, J + 1)
        False and true positive rates, from 0 to 1.
    prevalence : ndarray, shape (S,)
        Share of the positive class.
    concordance : ndarray, shape (J,)
        Probability that a positive scores higher than a negative in the same slot; 1/2 if they are
        ranked at random.
    tied : ndarray of bool, shape (J,)
        Whether the slot is a single score, which no threshold splits.
    slots_above : ndarray of int, shape (J + 1,)
        Number of posterior slots at or above each point. The increments are larger than one if
        neighbouring slots are merged.
    """

    fpr: np.ndarray
    tpr: np.ndarray
    prevalence: np.ndarray
    concordance: np.ndarray
    tied: np.ndarray
    slots_above: np.ndarray


@dataclass(frozen=True, eq=False)
class ClassCurves:
    """
    Draws of the ROC curves of more than two classes, computed on demand.

    Attributes
    ----------
    one_vs_rest : callable
        Function that returns C curves, one for each class against the rest.
    shares : ndarray, shape (C,)
        Shares of the classes in the sample.
    pooled : callable
        Function that returns the pooled curve of all (example, class) pairs.
    top : callable
        Function that returns the curve of each example's highest score. The outcome is whether the
        class with this score is correct.
    """

    one_vs_rest: Callable[[], list[Curve]]
    shares: np.ndarray
    pooled: Callable[[], Curve]
    top: Callable[[], Curve]


# Conversion of a formula to a measure of one class, and to averages over the classes.


def of_curve(**facts: Any) -> Callable[[Callable], Measure]:
    """
    Return a decorator that converts a formula of one curve to a measure.

    Parameters
    ----------
    **facts
        Fields of `Measure`, such as aliases and range.
    """

    def make(formula):
        name = formula.__name__
        # The measure replaces the formula in its module, where pickle looks for the formula.
        formula.__qualname__ = f"{name}.formula"
        fixed = {"canonical": name, "takes": "curve", "needs_positive": True, "one_class": True}
        return Measure(partial(per_class, formula=formula), formula, name, **fixed, **facts)

    return make


def per_class(curves: Any, formula: Callable) -> np.ndarray:
    """
    Apply a formula to the curve of two classes, or to the curve of each class against the rest.

    The result has shape (S,) or (S, C). For a population of forecasts
    (`bayescm.measures.probabilities.Forecasts`), the formula is applied to the curve of every
    classifier, and the result has shape (S, K).
    """
    if isinstance(curves, Curve):
        return formula(curves)
    several = curves.one_vs_rest() if isinstance(curves, ClassCurves) else curves.roc_curves()
    return np.stack([formula(curve) for curve in several], axis=-1)


def _macro(curves, formula):
    if not isinstance(curves, ClassCurves):
        return curves.average_of_curves(formula, "macro")
    return per_class(curves, formula).mean(axis=-1)


def _weighted(curves, formula):
    if not isinstance(curves, ClassCurves):
        return curves.average_of_curves(formula, "weighted")
    return per_class(curves, formula) @ (curves.shares / curves.shares.sum())


def _micro(curves, formula):
    return formula(curves.pooled())


def _top_label(curves, formula):
    return formula(curves.top())


_AVERAGES = {"macro": _macro, "weighted": _weighted, "micro": _micro, "top_label": _top_label}


def averaged(measure: Measure, how: str) -> Measure:
    """Return an average over classes of a measure of one curve, or its top-label version."""
    name = f"{measure.canonical}_{how}"
    compute = partial(_average, formula=measure.formula, how=how)
    facts: Any = {"canonical": name, "average": how, "one_class": False, "aliases": ()}
    return replace(measure, compute=compute, **facts).called(f"{measure.__name__}_{how}")


def _average(curves, formula, how):
    if not isinstance(curves, ClassCurves) and not hasattr(curves, "average_of_curves"):
        name = formula.__name__
        raise fail(f"{name}_{how} needs three or more classes", ..., "", f"use {name}")
    return _AVERAGES[how](curves, formula)


def of_chosen_class(measure: Measure, classes: list, positive: Any) -> Measure:
    """
    Return the measure of the class in its name (``auc[cat]``) against the rest.

    Parameters
    ----------
    measure : Measure
    classes : list
        Class labels. Empty for two classes, because only the positive class can be named.
    positive : label
    """
    if not measure.class_selection:
        return measure
    (name,), labels = measure.class_selection, classes or [np.asarray(positive).item()]
    names = [str(label) for label in labels]
    if name not in names:
        raise fail("Unknown class {}", name, names, suggest(name, names))
    formula = measure.formula
    if not classes:
        return replace(measure, compute=partial(per_class, formula=formula))
    return replace(measure, compute=partial(_one_class, formula=formula, index=names.index(name)))


def _one_class(curves, formula, index):
    return formula(curves.one_vs_rest()[index])


# Measures.


@of_curve(
    aliases=("roc_auc", "auroc", "roc_auc_score", "c_statistic"),
    display_names={"auroc": "AUROC", "roc_auc_score": "ROC AUC", "c_statistic": "C statistic"},
)
def auc(curve):
    """Probability that a random positive example scores higher; ties count one half."""
    mean = curve.tpr[:, :-1] + curve.concordance * np.diff(curve.tpr, axis=1)
    return np.einsum("sj,sj->s", np.diff(curve.fpr, axis=1), mean)


@of_curve(
    aliases=("ap", "average_precision_score"),
    display_names={"average_precision_score": "average precision"},
)
def average_precision(curve):
    """Mean precision over all recalls: the area under the precision-recall curve."""
    # P = q t + (1 - q) f is the share of predicted positives. On a straight piece from t_0 to t_1
    # with P = o + s t, the integral of q t / P over t is q / s (t_1 - t_0 - o / s log(P_1 / P_0)).
    # At a tied score it is the step (t_1 - t_0) q t_1 / P_1.
    positives, negatives = curve.prevalence[:, None], 1 - curve.prevalence[:, None]
    rise, run = np.diff(curve.tpr, axis=1), np.diff(curve.fpr, axis=1)
    predicted = positives * curve.tpr + negatives * curve.fpr
    before, after = predicted[:, :-1], predicted[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = positives + negatives * run / rise
        offset = negatives * (curve.fpr[:, :-1] - curve.tpr[:, :-1] * run / rise)
        # The log is infinite only if the piece starts at the origin, where the offset is 0.
        log_term = np.where(before > 0, offset / slope * np.log1p((after - before) / before), 0.0)
        integral = positives / slope * (rise - log_term)
        step = rise * positives * curve.tpr[:, 1:] / after
    pieces = np.where(curve.tied, step, integral)
    return np.where(rise > 1e-15, pieces, 0.0).sum(axis=1)  # otherwise slopes overflow


@of_curve(aliases=("best_f1",))
def max_f1(curve):
    """F1 at the best threshold, corrected for choosing the best of many thresholds."""
    # The maximum along a noisy curve is biased upwards, even along the mean curve, which contains
    # the sampling noise of the data. The draws have similar noise, so the values at the best
    # threshold of the mean curve are lowered by the mean excess of the draws' maxima over these
    # values.
    share = curve.prevalence[:, None]
    hits = 2 * share * curve.tpr
    f1 = hits / (hits + share * (1 - curve.tpr) + (1 - share) * curve.fpr)
    best = f1[:, f1.mean(axis=0).argmax()]
    excess = f1.max(axis=1).mean() - best.mean()
    return np.clip(best - excess, 0, 1)


def partial_auc(max_fpr: float) -> Measure:
    """
    Return the standardised partial area under the ROC curve (McClish).

    With the area A up to the false positive rate m, the measure is (1 + (A - m^2/2) / (m - m^2/2))
    / 2. The value is 0.5 for chance and 1 for a perfect classifier, as in scikit-learn.

    Parameters
    ----------
    max_fpr : float
        Largest false positive rate, in (0, 1].

    Examples
    --------
    >>> partial_auc(0.1).__name__
    'partial_auc(0.1)'
    """
    number = isinstance(max_fpr, (int, float, np.number)) and not isinstance(max_fpr, bool)
    if not number or not 0 < max_fpr <= 1:
        raise fail("max_fpr must be above 0 and at most 1", max_fpr, "", "pass e.g. `max_fpr=0.1`")

    def formula(curve):
        fpr = np.minimum(curve.fpr, max_fpr)
        tpr = np.minimum(curve.tpr, tpr_at(curve, np.array([max_fpr])))
        area = ((tpr[:, 1:] + tpr[:, :-1]) / 2 * np.diff(fpr, axis=1)).sum(axis=1)
        return standardised(area, max_fpr)

    formula.__name__ = f"partial_auc({max_fpr:.12g})"
    formula.__doc__ = "Area under the ROC curve up to a false positive rate; 0.5 for chance."
    return of_curve()(formula)


def standardised(area: np.ndarray, max_fpr: float) -> np.ndarray:
    """Apply McClish's correction to a partial area."""
    chance = max_fpr**2 / 2
    return (1 + (area - chance) / (max_fpr - chance)) / 2


def checked_values(curve: Curve, function: Callable) -> np.ndarray:
    """Apply a user's function to a curve, and check that it returns one value per draw."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        values = np.asarray(function(curve))
    except Exception as problem:
        todo = "write it for the fields of a Curve: fpr and tpr (S, J + 1), prevalence (S,)"
        raise fail(
            f"The measure {name} failed: {type(problem).__name__}: {problem}", ..., "", todo
        ) from problem
    if values.dtype.kind not in "biuf" or values.shape != curve.prevalence.shape:
        got, todo = (values.dtype.name, values.shape), "reduce over the last axis of fpr and tpr"
        raise fail(
            f"The measure {name} of a curve must return one number per draw, shape (S,)",
            got,
            "",
            todo,
        )
    return values


# Empirical curves, and quantities read from a curve.


def empirical(
    scores: np.ndarray,
    positive: np.ndarray,
    weights: np.ndarray,
    prevalence: float | None = None,
) -> tuple[Curve, np.ndarray]:
    """
    Return the empirical curve with one point per distinct score, and these scores.

    Parameters
    ----------
    scores, positive : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (S, n)
        Weights of the examples, for one or S samples.
    prevalence : float, optional
        Prevalence of the positive class. By default the share in the sample.

    Returns
    -------
    curve : Curve
        One draw per sample. Its area and average precision agree with scikit-learn.
    thresholds : ndarray, shape (J,)
        Distinct scores, highest first. Threshold j (from 0) corresponds to point j + 1 of the
        curve.
    """
    negated, index = np.unique(-scores, return_inverse=True)
    order, size = np.argsort(index, kind="stable"), len(negated)
    starts = np.searchsorted(index[order], np.arange(size))
    weights, positive = np.atleast_2d(weights)[:, order], positive[order]
    rates = np.zeros((2, len(weights), size + 1))
    for rate, of_class in zip(rates, (~positive, positive), strict=True):
        of_scores = np.add.reduceat(weights * of_class, starts, axis=1)
        np.cumsum(of_scores, axis=1, out=rate[:, 1:])
    total = rates[:, :, -1:].copy()
    rates /= total
    negatives, positives = total[..., 0]
    share = positives / (negatives + positives)
    if prevalence is not None:
        share = np.full(len(weights), prevalence)
    half, tied = np.full(size, 0.5), np.ones(size, bool)
    return Curve(rates[0], rates[1], share, half, tied, np.arange(size + 1)), -negated


def lowest(curve: Curve, open_ends: tuple[int, int]) -> Curve:
    """
    Return the lowest curves that the open ends allow.

    The probabilities of negatives above the highest observed negative, and of positives below the
    lowest observed positive, have known distributions, but their locations are unknown. Here they
    are placed at the extremes, above and below all other scores.

    Parameters
    ----------
    curve : Curve
    open_ends : tuple of int
        Open ends. See `bayescm.posteriors.roc.slots.Slots`.
    """
    top = np.searchsorted(curve.slots_above, open_ends[0], "right") - 1
    bottom = np.searchsorted(curve.slots_above, open_ends[1], "left")
    fpr, tpr = curve.fpr.copy(), curve.tpr.copy()
    fpr[:, 1:top] = fpr[:, [top]]
    tpr[:, bottom + 1 : -1] = tpr[:, [bottom]]
    return replace(curve, fpr=fpr, tpr=tpr)


def on_the_axes(curve: Curve, open_ends: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the largest initial rise (S,) and the smallest final position (S,) of a curve.

    These are the true positive rate at the highest observed negative, if no other negative is above
    it, and the false positive rate at the lowest observed positive, if no other positive is below
    it. They are the opposite extreme to `lowest`.
    """
    top = np.searchsorted(curve.slots_above, open_ends[0], "right") - 1
    bottom = np.searchsorted(curve.slots_above, open_ends[1], "left")
    return curve.tpr[:, top], curve.fpr[:, bottom]


def tpr_at(curve: Curve, fpr: np.ndarray) -> np.ndarray:
    """Return the true positive rates (S, T) at given false positive rates (T,)."""
    return _interpolate(fpr, curve.fpr, curve.tpr)


def fpr_at(curve: Curve, recall: np.ndarray) -> np.ndarray:
    """Return the false positive rates (S, T) at given recalls (T,)."""
    return _interpolate(recall, curve.tpr, curve.fpr)


def precision_at(curve: Curve, recall: np.ndarray) -> np.ndarray:
    """Return the precisions (S, T) at given recalls (T,) > 0."""
    hits = curve.prevalence[:, None] * recall
    return hits / (hits + (1 - curve.prevalence[:, None]) * fpr_at(curve, recall))


def _interpolate(x_new, x, y):
    """Interpolate linearly at x_new (T,) between points (x, y), (S, J) each, giving (S, T)."""
    # One call suffices for all draws. Rates are in [0, 1], so rows shifted by 2 do not overlap.
    shift = 2.0 * np.arange(len(x))[:, None]
    return np.interp(x_new + shift, (x + shift).ravel(), np.ravel(y))


def cells_at(curve: Curve, slots_above: np.ndarray) -> np.ndarray:
    """
    Return the cell probabilities at given thresholds.

    Parameters
    ----------
    curve : Curve
    slots_above : ndarray, shape (T,)
        Number of slots at or above each threshold. Fractions denote thresholds within a slot.

    Returns
    -------
    ndarray, shape (S, T, 2, 2)
        Cell probabilities, rows = actual, columns = predicted, positive class last.
    """
    points = curve.slots_above
    low = np.clip(np.searchsorted(points, slots_above, side="right") - 1, 0, len(points) - 2)
    part = (slots_above - points[low]) / np.diff(points)[low]
    fpr, tpr = (
        rate[:, low] + part * (rate[:, low + 1] - rate[:, low]) for rate in (curve.fpr, curve.tpr)
    )
    share = curve.prevalence[:, None]
    cells = [(1 - share) * (1 - fpr), (1 - share) * fpr, share * (1 - tpr), share * tpr]
    return np.stack(cells, axis=-1).reshape(*fpr.shape, 2, 2)


# This must follow all measures in this file, so that each of them gets averages.


def _averages():
    """Return the class averages of all measures in this module, by name and alias."""
    measures = [entry for entry in globals().values() if isinstance(entry, Measure)]
    return {
        f"{name}_{how}": averaged(measure.called(name), how)
        for measure in measures
        for name in (measure.canonical, *measure.aliases)
        for how in _AVERAGES
    }


AVERAGED = _averages()
AVERAGED["roc_auc_ovr"] = AVERAGED["auc_macro"].called("roc_auc_ovr")
FACTORIES = {"partial_auc": partial_auc}
