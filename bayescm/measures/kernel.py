"""
What a kernel is: a function from cells (..., C, C) to a measure that knows what it measures.

The cells of each class against the rest, and the averages over classes, are here; the measures
themselves are in ``measures``.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from bayescm.validate import fail


class Kernel(Protocol):
    """A measure: a function of cells (..., C, C) that knows what it is."""

    __name__: str
    one_class: bool
    needs_positive: bool

    def __call__(self, cells: ArrayLike) -> np.ndarray:
        """Return the measure, shape (...) or, per class, (..., C)."""


def mark(kernel: Any, name: str, one_class: bool, needs_positive: bool, **marks: Any) -> Any:
    """Tell a kernel what it is."""
    marks.update(__name__=name, one_class=one_class, needs_positive=needs_positive)
    for key, value in marks.items():
        setattr(kernel, key, value)
    return kernel


def floats(cells: ArrayLike) -> np.ndarray:
    """Return cells as float64, or complex where they are."""
    cells = np.asarray(cells)
    return cells if cells.dtype.kind == "c" else cells.astype(np.float64, copy=False)


def every_class(cells: np.ndarray) -> tuple:
    """Return tp, fn, fp, tn of each class against the rest, (..., C) each, by additions only."""
    other = 1 - np.eye(cells.shape[-1])
    tp = np.einsum("...ii->...i", cells)
    fn = np.einsum("...ij,ij->...i", cells, other)
    fp = np.einsum("...ij,ij->...j", cells, other)
    # Not the total less the rest, which would lose small cells.
    without = other @ cells if len(other) <= 16 else _without_each_row(cells)
    tn = np.einsum("...ij,ij->...i", without, other)
    return tp, fn, fp, tn


def _without_each_row(cells):
    """Return the sums over all rows but each, in C^2 steps: those above it and those below."""
    sums = np.zeros_like(cells)
    np.cumsum(cells[..., :-1, :], axis=-2, out=sums[..., 1:, :])
    sums[..., :-1, :] += np.cumsum(cells[..., :0:-1, :], axis=-2)[..., ::-1, :]
    return sums


def one_of_two(cells: np.ndarray) -> tuple:
    """Return tp, fn, fp, tn: of two classes the positive one's, (...), else of every class."""
    if cells.shape[-1] > 2:
        return every_class(cells)
    return cells[..., 1, 1], cells[..., 1, 0], cells[..., 0, 1], cells[..., 0, 0]


def over_classes(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Sum what `one_of_two` gave over the classes, or leave it where it is the same for both."""
    return values if cells.shape[-1] == 2 else np.einsum("...i->...", values)


def off_diagonal(cells: np.ndarray) -> np.ndarray:
    """Return the sum of the cells off the diagonal, (...)."""
    return np.einsum("...ij,ij->...", cells, 1 - np.eye(cells.shape[-1]))


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
    tp, fn, fp, tn = every_class(floats(cells))
    return np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)


def one_class(formula: Callable | None = None, *, needs_positive: bool = True, **marks: Any) -> Any:
    """Make a kernel of a formula of tp, fn, fp and tn of one class."""
    if formula is None:
        return partial(one_class, needs_positive=needs_positive, **marks)

    @wraps(formula)
    def kernel(cells):
        return per_class(cells, formula)

    del kernel.__wrapped__  # its signature is that of the formula
    return mark(kernel, formula.__name__, True, needs_positive, formula=formula, **marks)


def per_class(cells: ArrayLike, formula: Callable) -> np.ndarray:
    """Apply the formula to the positive class of two, or to every class of more."""
    cells = floats(cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        return formula(*one_of_two(cells))


def whole(formula: Callable) -> Any:
    """Make a kernel of a formula of all the cells."""

    @wraps(formula)
    def kernel(cells):
        with np.errstate(divide="ignore", invalid="ignore"):
            return formula(floats(cells))

    return mark(kernel, formula.__name__, False, False)


def total(cells: np.ndarray) -> np.ndarray:
    """Return the sum of all cells, (...)."""
    return np.einsum("...ij->...", cells)


def average(values: np.ndarray, weights: ArrayLike = 1.0) -> np.ndarray:
    """Average over the last axis, leaving out NaN; plain where all the weights are zero."""
    seen = ~np.isnan(values)
    weights = seen * weights
    weights = np.where((weights == 0).all(axis=-1, keepdims=True), seen, weights)
    values = np.where(weights != 0, values, 0)
    return np.einsum("...i,...i->...", values, weights) / np.einsum("...i->...", weights)


def _macro(cells, kernel):
    with np.errstate(divide="ignore", invalid="ignore"):
        return average(kernel.formula(*every_class(floats(cells))))


def _weighted(cells, kernel):
    tp, fn, fp, tn = every_class(floats(cells))
    with np.errstate(divide="ignore", invalid="ignore"):
        return average(kernel.formula(tp, fn, fp, tn), tp + fn)


def _micro(cells, kernel):
    with np.errstate(divide="ignore", invalid="ignore"):
        return kernel.formula(
            *(np.einsum("...i->...", part) for part in every_class(floats(cells)))
        )


_AVERAGES = {"macro": _macro, "micro": _micro, "weighted": _weighted}


def averaged(kernel: Any, how: str) -> Any:
    """Return the average over the classes of a kernel of one class."""
    if not kernel.one_class:
        todo = f"use {kernel.__name__} itself"
        allowed = "a measure of one class, e.g. f1_macro"
        raise fail("this measure is not averaged over classes", kernel.__name__, allowed, todo)
    name = f"{kernel.__name__}_{how}"
    return mark(partial(_AVERAGES[how], kernel=kernel), name, False, False)


def user(function: Callable) -> Any:
    """Make a kernel of any function of the cells."""
    if hasattr(function, "one_class") and hasattr(function, "needs_positive"):
        return function
    name = getattr(function, "__name__", type(function).__name__)
    needs = getattr(function, "needs_positive", False)
    per_class = getattr(function, "one_class", False)
    return mark(partial(_call_user, function=function), name, per_class, needs)


def _call_user(cells, function):
    cells = floats(cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(function(cells))
    if values.shape[: cells.ndim - 2] != cells.shape[:-2]:
        allowed = f"shape {cells.shape[:-2]} for cells of shape {cells.shape}"
        todo = "index with cells[..., i, j] and sum over axis=(-2, -1)"
        raise fail("a measure returned a wrong shape", values.shape, allowed, todo)
    return values
