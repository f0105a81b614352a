"""
Catalogue of performance measures, defined as functions of the cells of a confusion matrix.

A measure takes an array of counts or probabilities of shape (..., C, C), rows = actual, columns =
predicted, and returns an array of shape (...). With two classes, index 1 is the positive class, as
in scikit-learn. Measures of one class against the rest (``one_class``) return the value of the
positive class for C = 2, and append an axis of length C for more classes. ``f1_macro``,
``f1_micro`` and ``f1_weighted`` average over the classes as in scikit-learn with
``zero_division=nan``: classes whose value is undefined are excluded.

Each entry contains all facts about a measure: its formula, a one-sentence explanation, aliases,
direction and range. If the posterior distribution can be computed without draws, the entry also
contains the form of the measure in terms of the cells (see `bayescm.measures.measure`).

0/0 is NaN. Complements have separate formulas instead of ``1 - x``, so that they are accurate near
0.

Examples
--------
>>> import numpy as np
>>> cells = np.array([[30, 35], [15, 65]])
>>> float(f1(cells).round(4)), float(mcc(cells).round(4))
(0.7222, 0.2946)
>>> resolve("sensitivity").__name__, resolve("sensitivity").canonical
('sensitivity', 'recall')
"""

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescm.measures import (
    attempts,
    curves,
    example_cells,
    item_scores,
    odds,
    preferences,
    probabilities,
)
from bayescm.measures.measure import (
    AVERAGES,
    Cost,
    FunctionOfCells,
    Measure,
    Overlap,
    Proportion,
    ReciprocalOf,
    all_cells,
    averaged,
    off_diagonal,
    one_class,
    one_of_two,
    one_vs_rest,
    over_all,
    over_classes,
    per_class,
    total,
)
from bayescm.validate import fail, suggest

__all__ = ["Measure", "cost", "fbeta", "measure", "names", "one_vs_rest", "resolve", "tversky"]

ANY = (0.0, np.inf)
SIGNED = (-1.0, 1.0)


# Measures of the whole matrix


@all_cells(
    aliases=("accuracy_score", "selective_accuracy", "acc"),
    display_names={"accuracy_score": "accuracy", "acc": "accuracy"},
    unit="examples",
    form=Proportion("right", "wrong"),
)
def accuracy(cells):
    """Proportion of examples classified correctly."""
    return np.einsum("...ii->...", cells) / total(cells)


@all_cells(
    aliases=("error", "selective_risk"),
    lower_is_better=True,
    unit="examples",
    form=Proportion("wrong", "right"),
)
def error_rate(cells):
    """Proportion of examples classified incorrectly."""
    return off_diagonal(cells) / total(cells)


@all_cells(
    from_class_totals=True,
    aliases=("balanced_accuracy_score", "bacc"),
    display_names={"balanced_accuracy_score": "balanced accuracy", "bacc": "balanced accuracy"},
    average="macro",
    form=FunctionOfCells("rates", odds.informedness),
)
def balanced_accuracy(cells, included=None):
    """Mean recall over the classes that occur."""
    return over_all(cells, recall.formula, "macro", included)


@all_cells(
    from_class_totals=True,
    aliases=("matthews_corrcoef", "correlation", "phi"),
    display_names={"matthews_corrcoef": "Matthews correlation"},
    range=SIGNED,
    form=FunctionOfCells("table", odds.mcc, monotone_in_prevalence=False),
)
def mcc(cells):
    """Matthews correlation coefficient; Gorodkin's R_K for more than two classes."""
    tp, fn, fp, tn = one_of_two(cells)
    difference = over_classes(tp * tn - fp * fn, cells)
    predicted = over_classes((tp + fp) * (fn + tn), cells)
    actual = over_classes((tp + fn) * (fp + tn), cells)
    return difference / (np.sqrt(predicted) * np.sqrt(actual))


@all_cells(
    from_class_totals=True,
    aliases=("kappa", "cohen_kappa_score"),
    display_names={"cohen_kappa_score": "Cohen's kappa"},
    range=SIGNED,
    form=FunctionOfCells("table", odds.cohen_kappa, monotone_in_prevalence=False),
)
def cohen_kappa(cells):
    """Cohen's kappa: agreement beyond what is expected by chance."""
    tp, fn, fp, tn = one_of_two(cells)
    norm = (tp + fp) * (fp + tn)
    if cells.shape[-1] == 2:  # the mean of both classes, whose numerators are equal
        norm = (norm + (fn + tn) * (tp + fn)) / 2
    return over_classes(tp * tn - fp * fn, cells) / over_classes(norm, cells)


# Measures for data with abstentions: computed from all examples, not only the answered examples


@all_cells(unit="examples", abstentions="all")
def coverage(cells):
    """Proportion of examples that are answered; 1 if no label marks an abstention."""
    return total(cells) / total(cells)


@all_cells(unit="examples", abstentions="errors", form=Proportion("right", "wrong"))
def accuracy_of_all(cells):
    """Proportion of all examples answered correctly; abstentions count as errors."""
    return np.einsum("...ii->...", cells) / total(cells)


@one_class(unit="positives", abstentions="errors", form=Proportion("tp", "fn"))
def recall_of_all(tp, fn, fp, tn):
    """Proportion of positives that are found; abstentions count as misses."""
    return tp / (tp + fn)


@one_class(abstentions="errors", form=Overlap(0.5, 0.5))
def f1_of_all(tp, fn, fp, tn):
    """Harmonic mean of precision and recall; abstentions of positives count as misses."""
    return 2 * tp / (2 * tp + fn + fp)


@all_cells(
    range=SIGNED, form=FunctionOfCells("table", odds.cohen_kappa, monotone_in_prevalence=False)
)
def cohen_kappa_linear(cells):
    """Cohen's kappa of ordered classes, with errors weighted by distance in classes."""
    return _weighted_kappa(cells, 1)


@all_cells(
    range=SIGNED, form=FunctionOfCells("table", odds.cohen_kappa, monotone_in_prevalence=False)
)
def cohen_kappa_quadratic(cells):
    """Cohen's kappa of ordered classes, with errors weighted by squared distance in classes."""
    return _weighted_kappa(cells, 2)


def _weighted_kappa(cells, power):
    rank = np.arange(cells.shape[-1])
    distance = np.abs(rank[:, None] - rank).astype(float) ** power
    observed = np.einsum("...ij,ij->...", cells, distance)
    rows, columns = cells.sum(axis=-1), cells.sum(axis=-2)
    expected = np.einsum("...i,...j,ij->...", rows, columns, distance) / total(cells)
    return (expected - observed) / expected


# Measures of one class against the rest


@one_class(
    aliases=("ppv", "positive_predictive_value"),
    unit="predicted positives",
    form=Proportion("tp", "fp"),
)
def precision(tp, fn, fp, tn):
    """Proportion of predicted positives that are positive."""
    return tp / (tp + fp)


@one_class(
    aliases=("sensitivity", "sens", "tpr", "hit_rate", "true_positive_rate"),
    display_names={"sens": "sensitivity"},
    unit="positives",
    form=Proportion("tp", "fn"),
)
def recall(tp, fn, fp, tn):
    """Proportion of positives that are found."""
    return tp / (tp + fn)


@one_class(
    aliases=("spec", "tnr", "selectivity", "true_negative_rate"),
    display_names={"spec": "specificity"},
    unit="negatives",
    form=Proportion("tn", "fp"),
)
def specificity(tp, fn, fp, tn):
    """Proportion of negatives that are predicted negative."""
    return tn / (tn + fp)


@one_class(
    aliases=("negative_predictive_value",),
    unit="predicted negatives",
    form=Proportion("tn", "fn"),
)
def npv(tp, fn, fp, tn):
    """Proportion of predicted negatives that are negative (negative predictive value)."""
    return tn / (tn + fn)


@one_class(
    aliases=("fall_out", "false_positive_rate"),
    display_names={"fall_out": "fall-out"},
    lower_is_better=True,
    unit="negatives",
    form=Proportion("fp", "tn"),
)
def fpr(tp, fn, fp, tn):
    """Proportion of negatives that are predicted positive (false positive rate)."""
    return fp / (fp + tn)


@one_class(
    aliases=("miss_rate", "false_negative_rate"),
    lower_is_better=True,
    unit="positives",
    form=Proportion("fn", "tp"),
)
def fnr(tp, fn, fp, tn):
    """Proportion of positives that are missed (false negative rate)."""
    return fn / (fn + tp)


@one_class(
    aliases=("false_discovery_rate",),
    lower_is_better=True,
    unit="predicted positives",
    form=Proportion("fp", "tp"),
)
def fdr(tp, fn, fp, tn):
    """Proportion of predicted positives that are negative (false discovery rate)."""
    return fp / (fp + tp)


@one_class(
    aliases=("false_omission_rate", "for"),
    display_names={"for_": "false omission rate", "for": "false omission rate"},
    lower_is_better=True,
    unit="predicted negatives",
    form=Proportion("fn", "tn"),
)
def for_(tp, fn, fp, tn):
    """Proportion of predicted negatives that are positive (false omission rate)."""
    return fn / (fn + tn)


@one_class(
    aliases=("f1_score", "dice"), display_names={"dice": "Dice index"}, form=Overlap(0.5, 0.5)
)
def f1(tp, fn, fp, tn):
    """Harmonic mean of precision and recall."""
    return 2 * tp / (2 * tp + fn + fp)


@one_class(
    aliases=("iou", "csi"),
    display_names={"jaccard": "Jaccard index", "iou": "IoU", "csi": "critical success index"},
    form=Overlap(1.0, 1.0),
)
def jaccard(tp, fn, fp, tn):
    """Jaccard index: true positives among all that are positive or predicted positive."""
    return tp / (tp + fn + fp)


@one_class(
    aliases=("cosine", "g_score"),
    display_names={"fowlkes_mallows": "Fowlkes-Mallows index", "g_score": "G score"},
    form=FunctionOfCells("positives", odds.fowlkes_mallows),
)
def fowlkes_mallows(tp, fn, fp, tn):
    """Geometric mean of precision and recall."""
    return tp / (np.sqrt(tp + fn) * np.sqrt(tp + fp))


@one_class(form=FunctionOfCells("errors", odds.overlap))
def overlap(tp, fn, fp, tn):
    """Overlap coefficient: the larger of precision and recall."""
    return tp / (tp + np.minimum(fn, fp))


@one_class(range=ANY, form=FunctionOfCells("cells", odds.lift))
def lift(tp, fn, fp, tn):
    """Precision divided by prevalence."""
    return tp / (tp + fp) * ((tp + fn + fp + tn) / (tp + fn))


@one_class(
    aliases=("youden", "youden_j"),
    display_names={"youden": "Youden's J", "youden_j": "Youden's J"},
    needs_positive=False,
    range=SIGNED,
    form=FunctionOfCells("rates", odds.informedness),
)
def informedness(tp, fn, fp, tn):
    """Youden's J: recall + specificity - 1."""
    return (tp * tn - fp * fn) / ((tp + fn) * (fp + tn))


@one_class(
    needs_positive=False,
    range=SIGNED,
    form=FunctionOfCells("columns", odds.markedness, monotone_in_prevalence=False),
)
def markedness(tp, fn, fp, tn):
    """Precision + negative predictive value - 1."""
    return (tp * tn - fp * fn) / ((tp + fp) * (fn + tn))


@one_class(
    aliases=("lr_plus", "LR+", "plr"),
    display_names={"lr_plus": "LR+", "plr": "LR+"},
    range=ANY,
    form=FunctionOfCells("rates", odds.positive_likelihood_ratio),
)
def positive_likelihood_ratio(tp, fn, fp, tn):
    """Recall divided by the false positive rate."""
    return tp / (tp + fn) / (fp / (fp + tn))


@one_class(
    aliases=("lr_minus", "LR-", "nlr"),
    display_names={"lr_minus": "LR−", "LR-": "LR−", "nlr": "LR−"},
    lower_is_better=True,
    range=ANY,
    form=FunctionOfCells("rates", odds.negative_likelihood_ratio),
)
def negative_likelihood_ratio(tp, fn, fp, tn):
    """Ratio of the false negative rate to specificity."""
    return fn / (tp + fn) / (tn / (fp + tn))


@one_class(
    aliases=("dor",),
    needs_positive=False,
    range=ANY,
    form=FunctionOfCells("rates", odds.diagnostic_odds_ratio),
)
def diagnostic_odds_ratio(tp, fn, fp, tn):
    """Odds of being predicted positive among positives, divided by those among negatives."""
    return tp / fn * (tn / fp)


@one_class(
    aliases=("nnd",),
    display_names={"nnd": "NND"},
    lower_is_better=True,
    needs_positive=False,
    range=(1.0, np.inf),
    form=ReciprocalOf(informedness),
)
def number_needed_to_diagnose(tp, fn, fp, tn):
    """1 / Youden's J: examples needed for one correct detection; infinite if J <= 0."""
    youden = (tp * tn - fp * fn) / ((tp + fn) * (fp + tn))
    with np.errstate(divide="ignore"):
        return 1 / np.where(np.real(youden) < 0, 0.0, youden)


@one_class(aliases=("win_rate", "pass_rate"), unit="examples", form=Proportion("tp+fn", "fp+tn"))
def prevalence(tp, fn, fp, tn):
    """Proportion of examples that are positive; for verdicts, the win rate or pass rate."""
    return (tp + fn) / (tp + fn + fp + tn)


@one_class(unit="examples", form=Proportion("tp+fp", "fn+tn"))
def predicted_prevalence(tp, fn, fp, tn):
    """Proportion of examples that are predicted positive."""
    return (tp + fp) / (tp + fn + fp + tn)


# Measures with parameters


_LARGE = 1e100  # limit of beta: its square is finite, and precision has almost no weight


def _text(number):
    return repr(float(number)).removesuffix(".0")


def fbeta(beta: float) -> Measure:
    """
    Return the F measure that weights recall ``beta`` times as much as precision.

    Parameters
    ----------
    beta : float
        Weight of recall, finite and >= 0. 1 is ``f1``.

    Examples
    --------
    >>> fbeta(0.5).__name__, fbeta(1).__name__
    ('fbeta(0.5)', 'f1')
    """
    (beta,) = _weights("fbeta", beta)
    if beta == 1:
        return f1
    square = min(beta, _LARGE) ** 2
    form = Overlap(square / (1 + square), 1 / (1 + square))
    return _weighted_overlap(f"fbeta({_text(beta)})", form)


def tversky(alpha: float, beta: float) -> Measure:
    """
    Return the Tversky index tp / (tp + alpha * fn + beta * fp).

    Parameters
    ----------
    alpha : float
        Weight of a false negative (a missed positive), finite and >= 0. Some authors exchange the
        two weights.
    beta : float
        Weight of a false positive, finite and >= 0.

    Examples
    --------
    >>> tversky(0.3, 0.7).__name__, tversky(1, 1).__name__, tversky(0.5, 0.5).__name__
    ('tversky(0.3,0.7)', 'jaccard', 'f1')
    """
    form = Overlap(*_weights("tversky", alpha, beta))
    for symmetric in (f1, jaccard):
        if form == symmetric.form:
            return symmetric
    return _weighted_overlap(f"tversky({','.join(map(_text, form))})", form)


def _weights(name, *weights):
    for weight in weights:
        if not isinstance(weight, (int, float, np.number)) or not 0 <= weight < np.inf:
            raise fail(
                f"The weight of {name} must be a finite number >= 0", weight, "", "write e.g. 0.5"
            )
    return tuple(float(weight) for weight in weights)


def _weighted_overlap(name, form):
    formula = partial(_tversky, weights=form)
    return Measure(
        partial(per_class, formula=formula),
        formula,
        name,
        canonical=name,
        one_class=True,
        needs_positive=True,
        form=form,
    )


def _tversky(tp, fn, fp, tn, weights):
    """Weighted proportion of true positives among true positives and errors."""
    return tp / (tp + weights[0] * fn + weights[1] * fp)


def cost(matrix: ArrayLike) -> Measure:
    """
    Return the expected cost per example as a measure. Lower values are better.

    Parameters
    ----------
    matrix : array_like, shape (C, C)
        Cost of each cell, rows = actual, columns = predicted, in the order of the cells. With two
        classes, index 1 is the positive class. ``evidence.align`` reorders a labelled matrix.

    Examples
    --------
    >>> burden = cost([[0, 1], [5, 0]])
    >>> float(burden([[30, 10], [6, 54]])), burden.range
    (0.4, (0.0, 5.0))
    """
    matrix = np.array(matrix, dtype=np.float64)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 2
    if not square or not np.isfinite(matrix).all():
        todo = "pass e.g. cost([[0, 1], [5, 0]])"
        raise fail("A cost matrix must be a square matrix of finite numbers", matrix, "", todo)
    name = f"cost([{','.join(f'[{",".join(map(_text, row))}]' for row in matrix)}])"
    formula = partial(_expected_cost, matrix=matrix)
    return Measure(
        formula,
        formula,
        name,
        canonical=name,
        lower_is_better=True,
        range=(float(matrix.min()), float(matrix.max())),
        form=Cost(tuple(map(tuple, matrix.tolist()))),
    )


def _expected_cost(cells, matrix):
    """Mean cost per example."""
    if cells.shape[-2:] != matrix.shape:
        todo = "give the cost matrix one row and column per class"
        raise fail(
            f"The cost matrix must have the shape {cells.shape[-2:]}, like the counts",
            matrix.shape,
            "",
            todo,
        )
    return np.einsum("...ij,ij->...", cells, matrix) / total(cells)


# Lookup by name, and custom functions

_FACTORIES_OF: dict[str, dict[str, Callable[..., Measure]]] = {
    "cells": {"fbeta": fbeta, "tversky": tversky, "cost": cost},
    "attempts": attempts.FACTORIES,
    "curve": curves.FACTORIES,
    "item_scores": item_scores.FACTORIES,
    "probabilities": probabilities.FACTORIES,
}
_FACTORIES = {
    name: factory for factories in _FACTORIES_OF.values() for name, factory in factories.items()
}
# Measures of posterior variables other than the cells, with one module per variable.
_FURTHER: tuple[ModuleType, ...] = (
    attempts,
    item_scores,
    example_cells,
    curves,
    probabilities,
    preferences,
)
_CATALOGUE = {
    (entry.takes, name): entry
    for entries in (globals(), *map(vars, _FURTHER))
    for name, entry in list(entries.items())
    if isinstance(entry, Measure)
}
# Names are unique only within a variable. For example, attempts and item scores both have a mean.
_NAMED_OF = {
    (entry.takes, name): entry.called(name)
    for entry in _CATALOGUE.values()
    for name in (entry.canonical, *entry.aliases)
}
_NAMED = (
    {"f0.5": fbeta(0.5).called("f0.5"), "f2": fbeta(2).called("f2")}
    # Without evidence, a name refers to the first variable that has a measure with this name. Cells
    # come first, then attempts.
    | {name: entry for (_, name), entry in reversed(_NAMED_OF.items())}
    | curves.AVERAGED
    | probabilities.AVERAGED
)


_VARIABLES = {
    "curve": "curves",
    "example_cells": "several labels for each example",
    "item_scores": "item scores",
    "preferences": "votes on pairs of systems",
}  # names of variables in messages


def names(variable: str = "cells") -> list[str]:
    """
    Return the names of all measures of a variable that have no parameters.

    Examples
    --------
    >>> names()[:3]
    ['accuracy', 'accuracy_of_all', 'balanced_accuracy']
    """
    return sorted(name for takes, name in _CATALOGUE if takes == variable)


def is_named(name: str) -> bool:
    """Return True if a measure of the catalogue has this name."""
    return name in _NAMED


def is_loss(name: str) -> bool | None:
    """Return whether lower values of a measure are better, or None if its name is unknown."""
    try:
        entry = resolve(name)
    except ValueError:
        return None
    if entry.ideal is not None:
        raise fail(
            f"{name} is best at {entry.ideal:g}, so neither high nor low results are better",
            ...,
            "",
            "pass distances from this value as results, under another name",
        )
    return entry.lower_is_better


def resolve(measure: str | Callable, variable: str | tuple[str, ...] | None = None) -> Measure:
    """
    Return the measure with a given name, or convert a function into a measure.

    Parameters
    ----------
    measure : str or callable
        A function from cells (..., C, C) to values (...), or a name:

        - a measure (``"f1"``) or an alias (``"sensitivity"``),
        - an average over classes (``"f1_macro"``),
        - a measure of selected classes (``"f1[a]"``, ``"mcc[a]"`` against the rest,
          ``"f1_macro[a,b]"``),
        - a measure with parameters (``"fbeta(0.5)"``, ``"tversky(0.3,0.7)"``,
          ``"cost([[0,1],[5,0]])"``; ``"pass@4"`` is ``"pass_at(4)"``).

        Capitals are ignored, except in class labels: ``"F1"`` is ``"f1"``. A function receives the
        cells in label order, with the positive class last if there are two classes, and higher
        values are assumed to be better. Use `measure` to specify otherwise.
    variable : str or tuple of str, optional
        Variables of a posterior to which the measure may refer. By default any variable. A function
        is treated as a measure of the first variable.

    Returns
    -------
    Measure
        The measure. Its ``__name__`` is the given name.

    Raises
    ------
    ValueError
        If the name is unknown (the message suggests similar names), or belongs to a measure of
        another variable.

    Examples
    --------
    >>> resolve("ppv").__name__, resolve("ppv").same_as(precision)
    ('ppv', True)
    """
    variables = (variable,) if isinstance(variable, str) else variable or ()
    if callable(measure):
        entry = own(measure, variables[0] if variables else "cells")
    elif isinstance(measure, str):
        name = _in_catalogue_case(measure)
        named = (_NAMED_OF.get((variable, name)) for variable in variables)
        entry = next(filter(None, named), None) or _NAMED.get(name)
        entry = entry or _read(name, variables)
        entry = entry if name == measure else entry.called(measure)
    else:
        allowed, todo = "a name or a function of cells", 'pass e.g. "f1"'
        if hasattr(measure, "dims"):  # a second piece of evidence, passed by mistake
            measure, todo = "evidence", 'pass several by name: compare({"a": first, "b": second})'
        raise fail("{} is not a measure", measure, allowed, todo, TypeError)
    of_examples = "example_cells" in variables and not {"cells", "curve"} & {*variables}
    if entry.takes in ("cells", "curve") and of_examples:
        entry = example_cells.of_cells(entry)
    if variables and entry.takes not in variables:
        of = [_VARIABLES.get(variable, variable) for variable in (*variables, entry.takes)]
        doors = {"attempts": "`from_attempts`", "item_scores": "`from_item_scores`"}
        doors |= {"example_cells": "`from_multilabel`", "cells": "`from_predictions`"}
        doors |= {"preferences": "`from_preferences`"}
        todo = f"it needs evidence of {doors.get(entry.takes, 'its own')}"
        if entry.takes == "cells" and ("attempts", entry.__name__) in _NAMED_OF:
            todo += " or `from_attempts`"
        if entry.takes == "curve":
            todo = "it needs the scores of the examples: `from_scores(actual, scores)`"
        if entry.takes == "cells" and "curve" in variables:
            todo = f"choose a threshold: curves.at_threshold(scores, {entry.__name__!r}, 0.5)"
        if entry.takes == "probabilities":
            todo = "if the scores are probabilities, use `from_probabilities`"
        what = f"{entry.__name__} is not a measure of {' or '.join(of[:-1])}, but of {of[-1]}"
        raise fail(what, ..., "", todo)
    return entry


def _in_catalogue_case(name):
    """Convert a name to the lower case of the catalogue, except class labels and parameters."""
    base = re.split(r"[\[(]", name, maxsplit=1)[0]
    if base == base.lower() or base in _NAMED or base.rpartition("_")[0] in _NAMED:
        return name
    return base.lower() + name[len(base) :]


@lru_cache(maxsize=1024)
def _read(text, variables):
    """Parse a name with parameters, an average or selected classes."""
    with_labels = re.fullmatch(r"(.+)\[([^\[\]]+)\]", text)
    if with_labels:
        name, labels = with_labels.groups()
        named = (_NAMED_OF.get((variable, name)) for variable in variables)
        entry = next(filter(None, named), None) or resolve(name)
        return entry.of_labels([label.strip() for label in labels.split(",")])
    name, how = re.sub(r"\s", "", text), ""
    if notation := re.fullmatch(r"(\w+[@^])(\d+)", name):
        name = f"{attempts.NOTATION.get(notation[1], notation[1])}({notation[2]})"
    if name.endswith(")_top_label"):
        name, how = name.removesuffix("_top_label"), "top_label"
    elif name.rpartition("_")[2] in (*AVERAGES, "samples"):
        name, _, how = name.rpartition("_")
    match = re.fullmatch(r"([^()]+)\((.+)\)", name)
    if (match[1] not in _FACTORIES) if match else (name not in _NAMED):
        raise _unknown(text, variables)
    entry = _made(text, *match.groups()) if match else _NAMED[name]
    if how and match and entry.takes == "curve":
        return curves.averaged(entry, how).called(text)
    if how and match and entry.one_class and entry.takes == "probabilities" and how != "micro":
        return probabilities.averaged(entry, how).called(text)
    if how == "top_label":
        raise _unknown(text, variables)
    if how == "samples":
        return example_cells.over_examples(entry).called(text)
    return (averaged(entry, how) if how else entry).called(text)


def _made(text, base, written):
    try:
        call: Any = ast.parse(f"f({written})", mode="eval").body
        parameters = tuple(map(ast.literal_eval, call.args))
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, AttributeError):
        allowed = "e.g. fbeta(0.5), tversky(0.3,0.7) or cost([[0,1],[5,0]])"
        (first, *others) = inspect.signature(_FACTORIES[base]).parameters
        todo = "write numbers separated by commas"
        if not others:
            allowed, todo = "", f"write a number instead of {first}"
        raise fail("The parameters of the measure {} cannot be read", text, allowed, todo) from None
    signature = inspect.signature(_FACTORIES[base])
    try:
        signature.bind(*parameters, **named)
    except TypeError:
        arguments, allowed = named or parameters, f"{base}({','.join(signature.parameters)})"
        raise fail(
            f"{base} does not accept the parameters {{}}",
            arguments,
            allowed,
            "write it in this form",
        ) from None
    return _FACTORIES[base](*parameters, **named)


def among(measures: Sequence[Measure], name: str | Callable) -> list[int]:
    """
    Return the indices of measures that match a name, alias or function.

    Examples
    --------
    >>> among([resolve("sensitivity"), precision], "recall")
    [0]
    """
    indices = [index for index, each in enumerate(measures) if each.__name__ == name]
    if indices:
        return indices
    entry = resolve(name)
    return [index for index, each in enumerate(measures) if each.same_as(entry)]


def same(first: str, second: str) -> bool:
    """Return True if two names refer to the same measure; one may be the name of a function."""
    try:
        return first == second or resolve(first).same_as(resolve(second))
    except ValueError:
        return False


def _unknown(measure, variables):
    """Return the error for an unknown name, with suggestions for some variables."""
    of_any = not variables
    if of_any or "example_cells" in variables:  # measures of cells apply to each label
        variables = (*variables, "cells")
    catalogue = [
        *(name for variable in variables for name in names(variable)),
        *(
            f"{name}({','.join(inspect.signature(factory).parameters)})"
            for variable in variables
            for name, factory in _FACTORIES_OF.get(variable, {}).items()
        ),
    ]
    similar = catalogue + [name for variable, name in _NAMED_OF if of_any or variable in variables]
    similar += [name for name, entry in _NAMED.items() if entry.takes in variables]
    if "cells" in variables:
        one_class = [
            name for (of, name), entry in _NAMED_OF.items() if of == "cells" and entry.one_class
        ]
        similar += [f"{name}_{how}" for name in one_class for how in AVERAGES]
    written = re.sub(r"[\s-]+", "_", measure.lower())
    meant = [name for name, others in _NAMED_ELSEWHERE.items() if written in others.split()]
    # Suggest a measure of other evidence only if the names are very similar.
    others = get_close_matches(written, _NAMED, n=1, cutoff=0.75)
    todo = suggest(measure, similar) or suggest(measure, others)
    todo = f"did you mean {meant[0]!r}?" if meant else todo
    if "," in measure and not re.search(r"[\[(]", measure):
        todo = "pass the names one by one"
    listed = f"names({variables[0]!r})" if variables[0] != "cells" else "names()"
    todo = todo or f"list the measures with bayescm.measures.catalogue.{listed}"
    return fail("Unknown measure {}", measure, "", todo)


# Names used in other packages and papers, whose spelling would suggest the wrong measure.
_NAMED_ELSEWHERE = {
    "average_precision": "auprc aupr pr_auc auc_pr prauc aucpr",
    "auc": "roc",
    "error_rate": "zero_one_loss",
    "ece": "expected_calibration_error calibration_error",
    "f1": "f_score f_measure fmeasure f1score",
    "f1_samples": "example_f1 f1_example",
    "fpr": "false_alarm_rate",
    "jaccard": "jaccard_score threat_score",
    "log_loss": "nll negative_log_likelihood",
    "majority_at(5)": "consensus self_consistency majority majority_vote",
    "mean": "average avg",
    "subset_accuracy": "exact_match exact_match_ratio",
}


def measure(
    function: Callable,
    *,
    lower_is_better: bool = False,
    range: tuple[float | None, float | None] | None = None,
    name: str | None = None,
    needs_positive: bool | None = None,
    one_class: bool | None = None,
    takes: str = "cells",
) -> Measure:
    """
    Return a measure defined by a function of the cells.

    Parameters
    ----------
    function : callable
        Function that maps cells (..., C, C) to values (...). The cells are counts or probabilities
        in label order, with the positive class last if there are two classes. Its docstring
        explains the measure.
    lower_is_better : bool, default False
        Whether lower values are better.
    range : (low, high), optional
        Smallest and largest value. None if unbounded.
    name : str, optional
        Name of the measure in results. By default the name of the function.
    needs_positive : bool, optional
        Whether swapping two classes changes the value. By default the attribute of the function
        with this name, or else the result of a test on some matrices.
    one_class : bool, optional
        Whether the function returns one value per class, (..., C), for more than two classes. By
        default determined in the same way.
    takes : str, default "cells"
        Variable of a posterior that is the argument of the function.

    Returns
    -------
    Measure

    Examples
    --------
    >>> def alarms_per_find(cells):
    ...     return cells[..., :, 1].sum(axis=-1) / cells[..., 1, 1]
    >>> burden = measure(alarms_per_find, lower_is_better=True, range=(1, None))
    >>> burden.__name__, burden.range, float(burden([[30, 35], [15, 65]]).round(2))
    ('alarms_per_find', (1.0, inf), 1.54)
    """
    if not callable(function):
        raise fail("A measure must be a function", function, "", "pass a function", TypeError)
    one = getattr(function, "one_class", False) if one_class is None else one_class
    needs = getattr(function, "needs_positive", None) if needs_positive is None else needs_positive
    compute = partial(_checked if takes == "cells" else _tried, function=function)
    if takes == "curve":
        one = True
        formula = partial(curves.checked_values, function=function)
        compute = partial(curves.per_class, formula=formula)
    return Measure(
        compute,
        function,
        name or str(getattr(function, "__name__", type(function).__name__)),
        one_class=bool(one),
        needs_positive=bool(needs),
        symmetry_assumed=needs is None,
        lower_is_better=bool(lower_is_better),
        range=_ends(range),
        takes=takes,
    )


def _ends(ends):
    low, high = (None, None) if ends is None else ends
    low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
    if not low < high:
        todo = "pass e.g. `range=(0, None)`"
        raise fail("The range of a measure must be (low, high) with low < high", ends, "", todo)
    return low, high


def own(function: Callable, variable: str = "cells") -> Measure:
    """Convert a function to a measure, using attributes such as ``lower_is_better``."""
    if isinstance(function, Measure):
        return function
    loss, ends = getattr(function, "lower_is_better", None), getattr(function, "range", None)
    entry = measure(function, lower_is_better=bool(loss), range=ends, takes=variable)
    return replace(entry, direction_assumed=loss is None)


def _tried(data, function):
    """Call a function and check that it returns numbers."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        values = np.asarray(function(data))
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem}"
        raise fail(
            f"The measure {name} failed: {reason}",
            ...,
            "",
            f"call it with such arguments to find the error; it got {_called(data)}",
        ) from problem
    if values.dtype.kind not in "biufc":
        todo = f"it got {_called(data)}"
        raise fail(f"The measure {name} must return numbers", values.dtype.name, "", todo)
    if not values.ndim and not isinstance(data, np.ndarray):
        todo = f"it got {_called(data)}, of many draws"
        raise fail(
            f"The measure {name} returned one number for many draws: {{}}", values.item(), "", todo
        )
    return values


def _called(data):
    if isinstance(data, np.ndarray):
        return f"cells, an array of shape {data.shape}"
    return f"bayescm.measures.{type(data).__module__.rpartition('.')[2]}.{type(data).__name__}"


def _checked(cells, function):
    values, lead = _tried(cells, function), cells.shape[:-2]
    name = getattr(function, "__name__", type(function).__name__)
    allowed = f"numbers of shape {lead}, for cells of shape {cells.shape}"
    todo = "index with cells[..., i, j] and sum over `axis=(-2, -1)`"
    if values.shape not in (lead, (*lead, cells.shape[-1])):
        raise fail(f"The measure {name} returned the shape {{}}", values.shape, allowed, todo)
    return values
