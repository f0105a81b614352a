"""
Performance measures as functions of the cells of a confusion matrix.

A kernel takes an array of shape (..., C, C), rows = actual, columns = predicted, of counts or of
probabilities, and returns an array of shape (...). With two classes index 1 is the positive one,
as in scikit-learn. The measures of one class against the rest (``kernel.one_class``) return the
positive class's value for C = 2 and append an axis of length C for more classes; ``f1_macro``,
``f1_micro`` and ``f1_weighted`` average over the classes with scikit-learn's meaning at
``zero_division=nan``: a class whose value is undefined is left out of the average.

0/0 is NaN. Complements have a formula of their own and are never ``1 - x``, so that they keep
their digits near 0. ``kernel.needs_positive`` tells whether swapping two classes changes the value.

Examples
--------
>>> import numpy as np
>>> cells = np.array([[30, 35], [15, 65]])
>>> float(f1(cells).round(4)), float(mcc(cells).round(4))
(0.7222, 0.2946)
>>> resolve("sensitivity").__name__
'recall'
"""

import ast
import re
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from bayescm.validate import fail, suggest


class Kernel(Protocol):
    """A measure: a function of cells (..., C, C) that knows what it is."""

    __name__: str
    one_class: bool
    needs_positive: bool

    def __call__(self, cells: ArrayLike) -> np.ndarray:
        """Return the measure, shape (...) or, per class, (..., C)."""


def _mark(kernel: Any, name: str, one_class: bool, needs_positive: bool, **marks: Any) -> Any:
    marks.update(__name__=name, one_class=one_class, needs_positive=needs_positive)
    for key, value in marks.items():
        setattr(kernel, key, value)
    return kernel


def _floats(cells):
    cells = np.asarray(cells)
    return cells if cells.dtype.kind == "c" else cells.astype(np.float64, copy=False)


def _positive_cells(cells):
    return cells[..., 1, 1], cells[..., 1, 0], cells[..., 0, 1], cells[..., 0, 0]


def _every_class(cells):
    """Return tp, fn, fp, tn of each class against the rest, (..., C) each, by additions only."""
    fn = _off_diagonal(cells).sum(axis=-1)
    fp = _off_diagonal(cells).sum(axis=-2)
    tn = _off_diagonal(_other_rows(cells)).sum(axis=-1)
    return np.diagonal(cells, axis1=-2, axis2=-1), fn, fp, tn


def _off_diagonal(cells):
    return np.where(np.eye(cells.shape[-1], dtype=bool), 0, cells)


def _other_rows(cells):
    """Return the sum over all rows but one; subtracting from the total would lose small cells."""
    above, below = np.zeros_like(cells), np.zeros_like(cells)
    above[..., 1:, :] = cells.cumsum(axis=-2)[..., :-1, :]
    below[..., :-1, :] = cells[..., ::-1, :].cumsum(axis=-2)[..., ::-1, :][..., 1:, :]
    return above + below


def one_vs_rest(cells: ArrayLike) -> np.ndarray:
    """
    Return each class against the rest.

    Parameters
    ----------
    cells : array_like, shape (..., C, C)
        Counts or probabilities >= 0.

    Returns
    -------
    ndarray, shape (..., C, 2, 2)
        ``[[tn, fp], [fn, tp]]`` of every class.
    """
    tp, fn, fp, tn = _every_class(_floats(cells))
    return np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)


def _one_class(formula=None, *, needs_positive=True, **marks):
    if formula is None:
        return partial(_one_class, needs_positive=needs_positive, **marks)

    @wraps(formula)
    def kernel(cells):
        return _per_class(cells, formula)

    del kernel.__wrapped__  # its signature is that of the formula
    return _mark(kernel, formula.__name__, True, needs_positive, formula=formula, **marks)


def _per_class(cells, formula):
    cells = _floats(cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        return formula(*(_positive_cells if cells.shape[-1] == 2 else _every_class)(cells))


def _whole(formula):
    @wraps(formula)
    def kernel(cells):
        with np.errstate(divide="ignore", invalid="ignore"):
            return formula(_floats(cells))

    return _mark(kernel, formula.__name__, False, False)


# Measures of the whole matrix


def _total(cells):
    return cells.sum(axis=(-2, -1))


@_whole
def accuracy(cells):
    """Share of examples classified rightly."""
    return np.trace(cells, axis1=-2, axis2=-1) / _total(cells)


@_whole
def error_rate(cells):
    """Share of examples classified wrongly."""
    return _off_diagonal(cells).sum(axis=(-2, -1)) / _total(cells)


@_whole
def balanced_accuracy(cells):
    """Mean recall of the classes that occur."""
    tp, fn, _, _ = _every_class(cells)
    return _average(tp / (tp + fn))


def _association(cells):
    """Return sums over classes of tp*tn - fp*fn and of the products of margins that norm it."""
    parts = _positive_cells(cells) if cells.shape[-1] == 2 else _every_class(cells)
    tp, fn, fp, tn = parts
    predicted, other, actual, rest = tp + fp, fn + tn, tp + fn, fp + tn
    sums = [tp * tn - fp * fn, predicted * other, actual * rest, predicted * rest]
    if cells.shape[-1] == 2:  # both classes have the same sums but for the last
        sums[-1] = (sums[-1] + other * actual) / 2
        return sums
    return [each.sum(axis=-1) for each in sums]


@_whole
def mcc(cells):
    """Matthews' correlation coefficient; for many classes Gorodkin's R_K."""
    difference, predicted, actual, _ = _association(cells)
    return difference / (np.sqrt(predicted) * np.sqrt(actual))


@_whole
def cohen_kappa(cells):
    """Cohen's kappa: agreement beyond that of independent answers."""
    difference, _, _, norm = _association(cells)
    return difference / norm


# Measures of one class against the rest


@_one_class
def precision(tp, fn, fp, tn):
    """Share of the predicted positives that are positive."""
    return tp / (tp + fp)


@_one_class
def recall(tp, fn, fp, tn):
    """Share of the positives that are found."""
    return tp / (tp + fn)


@_one_class
def specificity(tp, fn, fp, tn):
    """Share of the negatives that are predicted negative."""
    return tn / (tn + fp)


@_one_class
def npv(tp, fn, fp, tn):
    """Share of the predicted negatives that are negative (negative predictive value)."""
    return tn / (tn + fn)


@_one_class
def fpr(tp, fn, fp, tn):
    """Share of the negatives that are predicted positive (false positive rate)."""
    return fp / (fp + tn)


@_one_class
def fnr(tp, fn, fp, tn):
    """Share of the positives that are missed (false negative rate)."""
    return fn / (fn + tp)


@_one_class
def fdr(tp, fn, fp, tn):
    """Share of the predicted positives that are negative (false discovery rate)."""
    return fp / (fp + tp)


@_one_class
def for_(tp, fn, fp, tn):
    """Share of the predicted negatives that are positive (false omission rate)."""
    return fn / (fn + tn)


def _tversky(tp, fn, fp, tn, alpha, beta):
    return tp / (tp + alpha * fn + beta * fp)


@_one_class(tversky=(0.5, 0.5))
def f1(tp, fn, fp, tn):
    """Harmonic mean of precision and recall."""
    return 2 * tp / (2 * tp + fn + fp)


@_one_class(tversky=(1.0, 1.0))
def jaccard(tp, fn, fp, tn):
    """Jaccard index: true positives among all that are, or are called, positive."""
    return tp / (tp + fn + fp)


@_one_class
def fowlkes_mallows(tp, fn, fp, tn):
    """Geometric mean of precision and recall, also called cosine and G-score."""
    return tp / (np.sqrt(tp + fn) * np.sqrt(tp + fp))


@_one_class
def overlap(tp, fn, fp, tn):
    """Overlap coefficient: the larger one of precision and recall."""
    return tp / (tp + np.minimum(fn, fp))


@_one_class
def lift(tp, fn, fp, tn):
    """Precision over prevalence."""
    return tp / (tp + fp) * ((tp + fn + fp + tn) / (tp + fn))


@_one_class(needs_positive=False)
def informedness(tp, fn, fp, tn):
    """Youden's index: recall + specificity - 1."""
    return (tp * tn - fp * fn) / ((tp + fn) * (fp + tn))


@_one_class(needs_positive=False)
def markedness(tp, fn, fp, tn):
    """Precision + negative predictive value - 1."""
    return (tp * tn - fp * fn) / ((tp + fp) * (fn + tn))


@_one_class
def positive_likelihood_ratio(tp, fn, fp, tn):
    """Recall over the false positive rate."""
    return tp / (tp + fn) / (fp / (fp + tn))


@_one_class
def negative_likelihood_ratio(tp, fn, fp, tn):
    """Miss rate over specificity."""
    return fn / (tp + fn) / (tn / (fp + tn))


@_one_class(needs_positive=False)
def diagnostic_odds_ratio(tp, fn, fp, tn):
    """Odds of a positive answer among the positives over those among the negatives."""
    return tp / fn * (tn / fp)


@_one_class
def prevalence(tp, fn, fp, tn):
    """Share of the examples that are positive."""
    return (tp + fn) / (tp + fn + fp + tn)


@_one_class
def predicted_prevalence(tp, fn, fp, tn):
    """Share of the examples that are predicted positive."""
    return (tp + fp) / (tp + fn + fp + tn)


# Measures with parameters


def _text(number):
    return repr(float(number)).removesuffix(".0")


def fbeta(beta: float) -> Kernel:
    """
    Return the F measure that weighs recall ``beta`` times as much as precision.

    Parameters
    ----------
    beta : float
        Finite and >= 0; 1 is ``f1``.

    Examples
    --------
    >>> fbeta(0.5).__name__, fbeta(1).__name__
    ('fbeta(0.5)', 'f1')
    """
    (beta,) = _weights("fbeta", beta)
    if beta == 1:
        return f1
    share = beta**2 / (1 + beta**2)
    return _weighted_overlap(f"fbeta({_text(beta)})", (share, 1 / (1 + beta**2)))


def tversky(alpha: float, beta: float) -> Kernel:
    """
    Return Tversky's index tp / (tp + alpha * fn + beta * fp).

    Parameters
    ----------
    alpha : float
        Weight of a false negative (a positive that is missed), finite and >= 0. Some texts have
        the two weights the other way round.
    beta : float
        Weight of a false positive, finite and >= 0.

    Examples
    --------
    >>> tversky(0.3, 0.7).__name__, tversky(1, 1).__name__, tversky(0.5, 0.5).__name__
    ('tversky(0.3,0.7)', 'jaccard', 'f1')
    """
    weights = _weights("tversky", alpha, beta)
    for known in (f1, jaccard):
        if weights == known.tversky:
            return known
    return _weighted_overlap(f"tversky({','.join(map(_text, weights))})", weights)


def _weights(name, *weights):
    for weight in weights:
        if not isinstance(weight, (int, float, np.number)) or not 0 <= weight < np.inf:
            raise fail(
                f"{name} was given a wrong weight", weight, "finite numbers >= 0", "correct it"
            )
    return tuple(float(weight) for weight in weights)


def _weighted_overlap(name, weights):
    formula = partial(_tversky, alpha=weights[0], beta=weights[1])
    kernel = partial(_per_class, formula=formula)
    return _mark(kernel, name, True, True, formula=formula, tversky=weights)


def cost(matrix: ArrayLike) -> Kernel:
    """
    Return the expected cost of an example.

    Parameters
    ----------
    matrix : array_like, shape (C, C)
        Cost of each cell, rows = actual, columns = predicted, in the order of the cells: with two
        classes index 1 is the positive class. ``evidence.align`` brings a labelled one there.

    Examples
    --------
    >>> kernel = cost([[0, 1], [5, 0]])
    >>> float(kernel([[30, 10], [6, 54]]))
    0.4
    """
    matrix = np.array(matrix, dtype=np.float64)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 2
    if not square or not np.isfinite(matrix).all():
        todo = "pass e.g. cost([[0, 1], [5, 0]])"
        raise fail("a cost matrix is not one", matrix, "a square matrix of finite costs", todo)
    rows = ",".join(f"[{','.join(map(_text, row))}]" for row in matrix)
    return _mark(partial(_expected_cost, matrix=matrix), f"cost([{rows}])", False, False)


def _expected_cost(cells, matrix):
    cells = _floats(cells)
    if cells.shape[-2:] != matrix.shape:
        todo = "give the cost matrix one row and column per class"
        raise fail("the cost matrix has a wrong size", matrix.shape, str(cells.shape[-2:]), todo)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (cells * matrix).sum(axis=(-2, -1)) / _total(cells)


# Averages over classes


def _average(values, weights=1.0):
    """Average over the last axis, leaving out NaN; plain where all the weights are zero."""
    seen = ~np.isnan(values)
    weights = seen * weights
    weights = np.where((weights == 0).all(axis=-1, keepdims=True), seen, weights)
    return (np.where(weights != 0, values, 0) * weights).sum(axis=-1) / weights.sum(axis=-1)


def _macro(cells, kernel):
    with np.errstate(divide="ignore", invalid="ignore"):
        return _average(kernel.formula(*_every_class(_floats(cells))))


def _weighted(cells, kernel):
    tp, fn, fp, tn = _every_class(_floats(cells))
    with np.errstate(divide="ignore", invalid="ignore"):
        return _average(kernel.formula(tp, fn, fp, tn), tp + fn)


def _micro(cells, kernel):
    with np.errstate(divide="ignore", invalid="ignore"):
        return kernel.formula(*(part.sum(axis=-1) for part in _every_class(_floats(cells))))


_AVERAGES = {"macro": _macro, "micro": _micro, "weighted": _weighted}
_FACTORIES: dict[str, Callable[..., Kernel]] = {"fbeta": fbeta, "tversky": tversky, "cost": cost}
_KERNELS = {k: v for k, v in list(globals().items()) if hasattr(v, "needs_positive")}
_KERNELS.pop("Kernel", None)
_ALIASES = {
    "sensitivity": "recall",
    "tpr": "recall",
    "hit_rate": "recall",
    "ppv": "precision",
    "tnr": "specificity",
    "selectivity": "specificity",
    "fall_out": "fpr",
    "miss_rate": "fnr",
    "false_omission_rate": "for_",
    "f0.5": "fbeta(0.5)",
    "f2": "fbeta(2)",
    "g_score": "fowlkes_mallows",
    "cosine": "fowlkes_mallows",
    "youden": "informedness",
    "youden_j": "informedness",
    "phi": "mcc",
    "correlation": "mcc",
    "matthews_corrcoef": "mcc",
    "kappa": "cohen_kappa",
    "cohen_kappa_score": "cohen_kappa",
    "balanced_accuracy_score": "balanced_accuracy",
    "accuracy_score": "accuracy",
    "lr_plus": "positive_likelihood_ratio",
    "lr_minus": "negative_likelihood_ratio",
    "dor": "diagnostic_odds_ratio",
    "error": "error_rate",
}


def names() -> list[str]:
    """Return the names of the measures without parameters."""
    return sorted(_KERNELS)


def resolve(measure: str | Callable) -> Kernel:
    """
    Return the kernel of a name, or of any function of cells.

    Parameters
    ----------
    measure : str or callable
        A name (``"f1"``), an alias (``"sensitivity"``), an average over classes (``"f1_macro"``),
        a measure with parameters (``"fbeta(0.5)"``, ``"tversky(0.3,0.7)"``,
        ``"cost([[0,1],[5,0]])"``), or a function from cells (..., C, C) to values (...). A function
        gets the cells in label order, with the positive one of two classes last; set its attribute
        ``needs_positive = True`` where that matters.

    Returns
    -------
    Kernel
        ``__name__`` is the canonical name.

    Raises
    ------
    ValueError
        Where no measure has this name; the message has the nearest ones.
    """
    if callable(measure):
        return _user(measure)
    if not isinstance(measure, str):
        raise fail(
            "a measure is neither a name nor a function",
            measure,
            "a name or a function",
            'pass e.g. "f1"',
            TypeError,
        )
    name = re.sub(r"\s", "", measure)
    name = _ALIASES.get(name, name)
    base, _, how = name.rpartition("_")
    if how in _AVERAGES and base:
        return _averaged(resolve(base), how)
    found = _KERNELS.get(name) or _with_parameters(name)
    if found is None:
        every = [*names(), *_ALIASES, "fbeta(beta)", "tversky(alpha,beta)", "cost(matrix)"]
        raise fail("unknown measure", measure, ", ".join(every), suggest(name, every))
    return found


def _with_parameters(name):
    match = re.fullmatch(r"(\w+)\((.+)\)", name)
    if match is None or match[1] not in _FACTORIES:
        return None
    factory = _FACTORIES[match[1]]
    try:
        return factory(*ast.literal_eval(f"({match[2]},)"))
    except (SyntaxError, TypeError) as problem:
        allowed = "fbeta(0.5), tversky(0.3,0.7), cost([[0,1],[5,0]])"
        raise fail("wrong parameters of a measure", name, allowed, str(problem)) from None


def _averaged(kernel, how):
    if not kernel.one_class:
        todo = f"use {kernel.__name__} itself"
        raise fail("this measure is not averaged over classes", kernel.__name__, "f1_macro", todo)
    average = partial(_AVERAGES[how], kernel=kernel)
    return _mark(average, f"{kernel.__name__}_{how}", False, False)


def _user(function):
    if hasattr(function, "one_class") and hasattr(function, "needs_positive"):
        return function
    name = getattr(function, "__name__", type(function).__name__)
    needs = getattr(function, "needs_positive", False)
    one_class = getattr(function, "one_class", False)
    return _mark(partial(_call_user, function=function), name, one_class, needs)


def _call_user(cells, function):
    cells = _floats(cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(function(cells))
    if values.shape[: cells.ndim - 2] != cells.shape[:-2]:
        allowed = f"shape {cells.shape[:-2]} for cells of shape {cells.shape}"
        todo = "index with cells[..., i, j] and sum over axis=(-2, -1)"
        raise fail("a measure returned a wrong shape", values.shape, allowed, todo)
    return values
