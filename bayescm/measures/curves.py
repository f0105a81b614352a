"""
Measures of ROC curves: the areas, average precision and the best F1, each a formula of a curve.

With t the true and f the false positive rate along the curve, and q the share of positives,

    auc               = integral of t df  =  P(positive above negative) + P(tie) / 2
    average precision = integral of q t / (q t + (1 - q) f) dt,  with steps at tied scores
    max F1            = max over thresholds of 2 q t / (q + q t + (1 - q) f)

They are functions of draws of a curve (`Curve`), (S,): a value for each draw. Of more than two
classes (`ClassCurves`) they have a value for each class against the rest, (S, C); ``_macro`` is
the mean over the classes, ``_weighted`` that by the classes' shares, ``_micro`` the measure of the
curve of all (example, class) pairs, and ``_top_label`` that of the highest score of each example.

Between its points a curve is a straight line in ROC space, as if the score were uniform between two
thresholds; a score that several examples share is a single threshold. So average precision has at
such a score the step of its recall times the precision behind it, as in scikit-learn, and no
integral. The curve that the examples themselves draw is a single draw (`empirical`), all of steps.

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

# Curves of two classes, and of more.


@dataclass(frozen=True, eq=False)
class Curve:
    """
    Draws of a ROC curve at the ends of the slots, the highest score first.

    Attributes
    ----------
    fpr, tpr : ndarray, shape (S, J + 1)
        From 0 to 1.
    prevalence : ndarray, shape (S,)
        Share of the positive class.
    concordance : ndarray, shape (J,)
        Probability that of a positive and a negative in the same slot the positive is higher; 1/2
        where they are ranked at random.
    tied : ndarray of bool, shape (J,)
        Whether the slot is one score, which no threshold divides.
    slots_above : ndarray of int, shape (J + 1,)
        The number of slots of the posterior at or above each point; more than one lies between two
        points where neighbours are put together.
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
    Draws of the ROC curves of more than two classes, which are drawn when a measure asks for them.

    Attributes
    ----------
    one_vs_rest : callable
        Returns the C curves of each class against the rest.
    shares : ndarray, shape (C,)
        The classes' shares of the sample.
    pooled : callable
        Returns the curve of all (example, class) pairs.
    top : callable
        Returns the curve of the highest score of each example: whether that class came true.
    """

    one_vs_rest: Callable[[], list[Curve]]
    shares: np.ndarray
    pooled: Callable[[], Curve]
    top: Callable[[], Curve]


# From a formula of a curve to a measure of one class, and to its averages over the classes.


def of_curve(**facts: Any) -> Callable[[Callable], Measure]:
    """
    Make a measure of a formula of one curve.

    Parameters
    ----------
    **facts
        Of a `Measure`: aliases, lower_is_better, range.
    """

    def make(formula):
        name = formula.__name__
        # The measure takes the formula's place in its module; so pickle finds the formula.
        formula.__qualname__ = f"{name}.formula"
        fixed = {"canonical": name, "takes": "curve", "needs_positive": True, "one_class": True}
        return Measure(partial(per_class, formula=formula), formula, name, **fixed, **facts)

    return make


def per_class(curves: Any, formula: Callable) -> np.ndarray:
    """
    Return a formula of the curve of two classes, (S,), or of each against the rest, (S, C).

    Of a population of forecasts (`bayescm.measures.probabilities.Forecasts`) it is that of the
    curve of every classifier, (S, K).
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
    """Return the average over the classes of a measure of one curve, or that of the top label."""
    name = f"{measure.canonical}_{how}"
    compute = partial(_average, formula=measure.formula, how=how)
    facts: Any = {"canonical": name, "average": how, "one_class": False, "aliases": ()}
    return replace(measure, compute=compute, **facts).called(f"{measure.__name__}_{how}")


def _average(curves, formula, how):
    if not isinstance(curves, ClassCurves) and not hasattr(curves, "average_of_curves"):
        name = formula.__name__
        allowed, todo = f"{name} for two classes", f"ask for {name}"
        what = "an average is for three classes or more"
        raise fail(what, f"{name}_{how}", allowed, todo)
    return _AVERAGES[how](curves, formula)


def of_chosen_class(measure: Measure, classes: list, positive: Any) -> Measure:
    """
    Return the measure of the class that it names (``auc[cat]``) against the rest.

    Parameters
    ----------
    measure : Measure
    classes : list
        The labels of more than two classes; of two there are none, and the positive one has a name.
    positive : label
    """
    if not measure.class_selection:
        return measure
    (name,), labels = measure.class_selection, classes or [np.asarray(positive).item()]
    names = [str(label) for label in labels]
    if name not in names:
        raise fail("no such class", name, names, suggest(name, names))
    formula = measure.formula
    if not classes:
        return replace(measure, compute=partial(per_class, formula=formula))
    return replace(measure, compute=partial(_one_class, formula=formula, index=names.index(name)))


def _one_class(curves, formula, index):
    return formula(curves.one_vs_rest()[index])


# The measures.


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
    # With P = q t + (1 - q) f, the share that is predicted positive, and P = o + s t on a straight
    # piece from t_0 to t_1, the integral of q t / P over t is q / s (t_1 - t_0 - o / s log(P_1 /
    # P_0)). At a tied score it is the step (t_1 - t_0) q t_1 / P_1.
    positives, negatives = curve.prevalence[:, None], 1 - curve.prevalence[:, None]
    rise, run = np.diff(curve.tpr, axis=1), np.diff(curve.fpr, axis=1)
    predicted = positives * curve.tpr + negatives * curve.fpr
    before, after = predicted[:, :-1], predicted[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = positives + negatives * run / rise
        offset = negatives * (curve.fpr[:, :-1] - curve.tpr[:, :-1] * run / rise)
        # The log is infinite only where the piece begins at the origin and the offset is 0.
        log_term = np.where(before > 0, offset / slope * np.log1p((after - before) / before), 0.0)
        integral = positives / slope * (rise - log_term)
        step = rise * positives * curve.tpr[:, 1:] / after
    pieces = np.where(curve.tied, step, integral)
    return np.where(rise > 1e-15, pieces, 0.0).sum(axis=1)  # slopes overflow below


@of_curve(aliases=("best_f1",))
def max_f1(curve):
    """F1 at the best threshold, without what the best of many thresholds gains by chance."""
    # The largest value along a noisy curve is too high, and so is that of the mean curve, which has
    # the noise of the data. A draw's noise is like it: by the mean excess of the draws' largest
    # values over their mean curve's, the score at the threshold best for that one is lowered.
    share = curve.prevalence[:, None]
    hits = 2 * share * curve.tpr
    f1 = hits / (hits + share * (1 - curve.tpr) + (1 - share) * curve.fpr)
    best = f1[:, f1.mean(axis=0).argmax()]
    excess = f1.max(axis=1).mean() - best.mean()
    return np.clip(best - excess, 0, 1)


def partial_auc(max_fpr: float) -> Measure:
    """
    Return the area under the ROC curve up to a false positive rate, standardised after McClish.

    With A the area up to the rate m, it is (1 + (A - m^2/2) / (m - m^2/2)) / 2: 0.5 for chance, 1
    for a perfect classifier, as in scikit-learn.

    Parameters
    ----------
    max_fpr : float
        In (0, 1].

    Examples
    --------
    >>> partial_auc(0.1).__name__
    'partial_auc(0.1)'
    """
    number = isinstance(max_fpr, (int, float, np.number)) and not isinstance(max_fpr, bool)
    if not number or not 0 < max_fpr <= 1:
        raise fail("max_fpr must be a rate", max_fpr, "0 < max_fpr <= 1", "pass e.g. `max_fpr=0.1`")

    def formula(curve):
        fpr = np.minimum(curve.fpr, max_fpr)
        tpr = np.minimum(curve.tpr, tpr_at(curve, np.array([max_fpr])))
        area = ((tpr[:, 1:] + tpr[:, :-1]) / 2 * np.diff(fpr, axis=1)).sum(axis=1)
        return standardised(area, max_fpr)

    formula.__name__ = f"partial_auc({max_fpr:.12g})"
    formula.__doc__ = "Area under the ROC curve up to a false positive rate; 0.5 for chance."
    return of_curve()(formula)


def standardised(area: np.ndarray, max_fpr: float) -> np.ndarray:
    """Return McClish's correction of a partial area."""
    chance = max_fpr**2 / 2
    return (1 + (area - chance) / (max_fpr - chance)) / 2


def checked_values(curve: Curve, function: Callable) -> np.ndarray:
    """Return the values of a user's function of a curve, one for each draw, or raise."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        values = np.asarray(function(curve))
    except Exception as problem:
        todo = "write it for the fields of a Curve: fpr and tpr (S, J + 1), prevalence (S,)"
        what = f"the measure {name} failed with {type(problem).__name__}: {problem}"
        raise fail(what, ..., "", todo) from problem
    if values.dtype.kind not in "biuf" or values.shape != curve.prevalence.shape:
        got, todo = (values.dtype.name, values.shape), "reduce over the last axis of fpr and tpr"
        raise fail(f"the measure {name} of a curve is no number per draw", got, "shape (S,)", todo)
    return values


# Curves that the examples draw, and what is read off a curve.


def empirical(
    scores: np.ndarray,
    positive: np.ndarray,
    weights: np.ndarray,
    prevalence: float | None = None,
) -> tuple[Curve, np.ndarray]:
    """
    Return the observed curve with one point per distinct score, and these scores.

    Parameters
    ----------
    scores, positive : ndarray, shape (n,)
    weights : ndarray, shape (n,) or (S, n)
        Of the examples, or of the examples in each of S samples.
    prevalence : float, optional
        Share of the positives; by default the sample's.

    Returns
    -------
    curve : Curve
        A draw for each sample. Its area, average precision, ... are equivalent to scikit-learn's.
    thresholds : ndarray, shape (J,)
        The highest first; the j-th takes the examples of the first j + 1 points.
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
    Return the curves as low as the open ends allow.

    How much weighs beyond the highest negative and the lowest positive is known by its
    distribution, but not where: here it lies furthest out, above all and below all others.

    Parameters
    ----------
    curve : Curve
    open_ends : tuple of int
        See `bayescm.posteriors.roc.slots.Slots`.
    """
    top = np.searchsorted(curve.slots_above, open_ends[0], "right") - 1
    bottom = np.searchsorted(curve.slots_above, open_ends[1], "left")
    fpr, tpr = curve.fpr.copy(), curve.tpr.copy()
    fpr[:, 1:top] = fpr[:, [top]]
    tpr[:, bottom + 1 : -1] = tpr[:, [bottom]]
    return replace(curve, fpr=fpr, tpr=tpr)


def on_the_axes(curve: Curve, open_ends: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return how high a curve may rise at once, (S,), and from where on it may be done, (S,).

    The true positive rate where no negative is above the highest, and the false positive rate where
    no positive is below the lowest: the other extreme of what `lowest` takes open ends to be.
    """
    top = np.searchsorted(curve.slots_above, open_ends[0], "right") - 1
    bottom = np.searchsorted(curve.slots_above, open_ends[1], "left")
    return curve.tpr[:, top], curve.fpr[:, bottom]


def tpr_at(curve: Curve, fpr: np.ndarray) -> np.ndarray:
    """Return each curve's true positive rate at false positive rates (T,), shape (S, T)."""
    return _interpolate(fpr, curve.fpr, curve.tpr)


def fpr_at(curve: Curve, recall: np.ndarray) -> np.ndarray:
    """Return each curve's false positive rate at recalls (T,), shape (S, T)."""
    return _interpolate(recall, curve.tpr, curve.fpr)


def precision_at(curve: Curve, recall: np.ndarray) -> np.ndarray:
    """Return each curve's precision at recalls (T,) > 0, shape (S, T)."""
    hits = curve.prevalence[:, None] * recall
    return hits / (hits + (1 - curve.prevalence[:, None]) * fpr_at(curve, recall))


def _interpolate(x_new, x, y):
    """Return y (S, T) at x_new (T,), on straight lines between the points (x, y), (S, J) each."""
    # All draws in one call: rates lie in [0, 1], so that rows 2 apart do not overlap.
    shift = 2.0 * np.arange(len(x))[:, None]
    return np.interp(x_new + shift, (x + shift).ravel(), np.ravel(y))


def cells_at(curve: Curve, slots_above: np.ndarray) -> np.ndarray:
    """
    Return the cell probabilities at thresholds.

    Parameters
    ----------
    curve : Curve
    slots_above : ndarray, shape (T,)
        Number of slots at or above each threshold; a fraction is inside a slot.

    Returns
    -------
    ndarray, shape (S, T, 2, 2)
        Rows are actual, columns predicted, the positive class last.
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


# Last in the file, so that every measure above has averages.


def _averages():
    """Return the averages over the classes of every measure of this file, by name and alias."""
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
