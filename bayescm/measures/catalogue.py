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

import inspect
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from bayescm.measures.kernel import (
    Kernel,
    average,
    averaged,
    floats,
    mark,
    off_diagonal,
    one_class,
    one_of_two,
    one_vs_rest,
    over_classes,
    per_class,
    total,
    user,
    whole,
)
from bayescm.measures.naming import ALIASES, AVERAGES, parse
from bayescm.validate import fail, suggest

__all__ = ["Kernel", "cost", "fbeta", "names", "one_vs_rest", "resolve", "tversky"]


# Measures of the whole matrix


@whole
def accuracy(cells):
    """Share of examples classified rightly."""
    return np.einsum("...ii->...", cells) / total(cells)


@whole
def error_rate(cells):
    """Share of examples classified wrongly."""
    return off_diagonal(cells) / total(cells)


@whole
def balanced_accuracy(cells):
    """Mean recall of the classes that occur."""
    return average(np.einsum("...ii->...i", cells) / np.einsum("...ij->...i", cells))


@whole
def mcc(cells):
    """Matthews' correlation coefficient; for many classes Gorodkin's R_K."""
    tp, fn, fp, tn = one_of_two(cells)
    difference = over_classes(tp * tn - fp * fn, cells)
    predicted = over_classes((tp + fp) * (fn + tn), cells)
    actual = over_classes((tp + fn) * (fp + tn), cells)
    return difference / (np.sqrt(predicted) * np.sqrt(actual))


@whole
def cohen_kappa(cells):
    """Cohen's kappa: agreement beyond that of independent answers."""
    tp, fn, fp, tn = one_of_two(cells)
    norm = (tp + fp) * (fp + tn)
    if cells.shape[-1] == 2:  # the mean over both classes, of which the difference is the same
        norm = (norm + (fn + tn) * (tp + fn)) / 2
    return over_classes(tp * tn - fp * fn, cells) / over_classes(norm, cells)


# Measures of one class against the rest


@one_class
def precision(tp, fn, fp, tn):
    """Share of the predicted positives that are positive."""
    return tp / (tp + fp)


@one_class
def recall(tp, fn, fp, tn):
    """Share of the positives that are found."""
    return tp / (tp + fn)


@one_class
def specificity(tp, fn, fp, tn):
    """Share of the negatives that are predicted negative."""
    return tn / (tn + fp)


@one_class
def npv(tp, fn, fp, tn):
    """Share of the predicted negatives that are negative (negative predictive value)."""
    return tn / (tn + fn)


@one_class
def fpr(tp, fn, fp, tn):
    """Share of the negatives that are predicted positive (false positive rate)."""
    return fp / (fp + tn)


@one_class
def fnr(tp, fn, fp, tn):
    """Share of the positives that are missed (false negative rate)."""
    return fn / (fn + tp)


@one_class
def fdr(tp, fn, fp, tn):
    """Share of the predicted positives that are negative (false discovery rate)."""
    return fp / (fp + tp)


@one_class
def for_(tp, fn, fp, tn):
    """Share of the predicted negatives that are positive (false omission rate)."""
    return fn / (fn + tn)


def _tversky(tp, fn, fp, tn, alpha, beta):
    return tp / (tp + alpha * fn + beta * fp)


@one_class(tversky=(0.5, 0.5))
def f1(tp, fn, fp, tn):
    """Harmonic mean of precision and recall."""
    return 2 * tp / (2 * tp + fn + fp)


@one_class(tversky=(1.0, 1.0))
def jaccard(tp, fn, fp, tn):
    """Jaccard index: true positives among all that are, or are called, positive."""
    return tp / (tp + fn + fp)


@one_class
def fowlkes_mallows(tp, fn, fp, tn):
    """Geometric mean of precision and recall, also called cosine and G-score."""
    return tp / (np.sqrt(tp + fn) * np.sqrt(tp + fp))


@one_class
def overlap(tp, fn, fp, tn):
    """Overlap coefficient: the larger one of precision and recall."""
    return tp / (tp + np.minimum(fn, fp))


@one_class
def lift(tp, fn, fp, tn):
    """Precision over prevalence."""
    return tp / (tp + fp) * ((tp + fn + fp + tn) / (tp + fn))


@one_class(needs_positive=False)
def informedness(tp, fn, fp, tn):
    """Youden's index: recall + specificity - 1."""
    return (tp * tn - fp * fn) / ((tp + fn) * (fp + tn))


@one_class(needs_positive=False)
def markedness(tp, fn, fp, tn):
    """Precision + negative predictive value - 1."""
    return (tp * tn - fp * fn) / ((tp + fp) * (fn + tn))


@one_class
def positive_likelihood_ratio(tp, fn, fp, tn):
    """Recall over the false positive rate."""
    return tp / (tp + fn) / (fp / (fp + tn))


@one_class
def negative_likelihood_ratio(tp, fn, fp, tn):
    """Miss rate over specificity."""
    return fn / (tp + fn) / (tn / (fp + tn))


@one_class(needs_positive=False)
def diagnostic_odds_ratio(tp, fn, fp, tn):
    """Odds of a positive answer among the positives over those among the negatives."""
    return tp / fn * (tn / fp)


@one_class
def prevalence(tp, fn, fp, tn):
    """Share of the examples that are positive."""
    return (tp + fn) / (tp + fn + fp + tn)


@one_class
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
    kernel = partial(per_class, formula=formula)
    return mark(kernel, name, True, True, formula=formula, tversky=weights)


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
    return mark(partial(_expected_cost, matrix=matrix), f"cost([{rows}])", False, False)


def _expected_cost(cells, matrix):
    cells = floats(cells)
    if cells.shape[-2:] != matrix.shape:
        todo = "give the cost matrix one row and column per class"
        raise fail("the cost matrix has a wrong size", matrix.shape, str(cells.shape[-2:]), todo)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.einsum("...ij,ij->...", cells, matrix) / total(cells)


_FACTORIES: dict[str, Callable[..., Kernel]] = {"fbeta": fbeta, "tversky": tversky, "cost": cost}
_KERNELS = {k: v for k, v in list(globals().items()) if hasattr(v, "needs_positive")}


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
        return user(measure)
    if not isinstance(measure, str):
        allowed, todo = "a name or a function", 'pass e.g. "f1"'
        raise fail("this is no measure", measure, allowed, todo, TypeError)
    base, parameters, how = parse(measure)
    if base not in (_FACTORIES if parameters else _KERNELS):
        raise _unknown(measure)
    kernel = _made(base, parameters) if parameters else _KERNELS[base]
    return averaged(kernel, how) if how else kernel


def _made(base, parameters):
    takes = list(inspect.signature(_FACTORIES[base]).parameters)
    if len(parameters) != len(takes):
        allowed = f"{base}({','.join(takes)})"
        raise fail(f"{base} has other parameters", parameters, allowed, "write it like that")
    return _FACTORIES[base](*parameters)


def _unknown(measure):
    every = [*names(), "fbeta(beta)", "tversky(alpha,beta)", "cost(matrix)"]
    averages = [f"{name}_{how}" for name in names() for how in AVERAGES if _KERNELS[name].one_class]
    allowed = f"{', '.join(every)}; of one class also f1_macro, f1_micro, f1_weighted"
    return fail(
        "unknown measure", measure, allowed, suggest(measure, [*every, *ALIASES, *averages])
    )
