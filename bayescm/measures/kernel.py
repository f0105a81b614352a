"""
What a measure is: a function of cells (..., C, C) that knows its own facts.

The cells of each class against the rest, and the averages over classes, are here too; the measures
themselves are in ``catalogue``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from bayescm.measures.forms import Form, over_all_classes
from bayescm.validate import fail


@dataclass(frozen=True, eq=False, repr=False)
class Measure:
    """
    A measure: a function of cells (..., C, C), and what is known of it.

    Attributes
    ----------
    compute : callable
        From an array of cells to values, without checks.
    formula : callable
        The function that was written down: of the cells, or of tp, fn, fp and tn of one class.
    __name__ : str
        What it is called in answers: the name that was asked for, which may be an alias.
    canonical : str
        Its name in the catalogue, whatever it is called; "" for a function of one's own.
    aliases : tuple of str
        Its other names.
    one_class : bool
        Whether it is about one class, and so has a value for each of more than two.
    needs_positive : bool
        Whether swapping two classes changes the value.
    lower_is_better : bool
        Whether it is a loss; comparisons, ranks, thresholds and alarms go by this.
    symmetry_assumed : bool
        Whether ``needs_positive`` is False only because nothing was said; it is tried then.
    ideal : float, optional
        The best value, where neither the highest nor the lowest is: nearer to it is better.
    direction_assumed : bool
        Whether higher is taken to be better only because nothing was said.
    range : tuple of two floats
        Smallest and largest value, infinite where there is none.
    unit : str, optional
        What the size of a test set counts if it is one proportion, such as "positives".
    form : Proportion, Overlap, Cost, Function or Curved, optional
        What it is in terms of the cells, from which `bayescm.distributions` finds its posterior
        distribution. Without a form the posterior is drawn.
    takes : str
        The variable of a posterior that it is a function of: the cells, unless it says otherwise.
    average : {"", "macro", "micro", "weighted"}
        How it averages over the classes, if it does.
    abstentions : {"left out", "errors", "all"}
        Whether it is of the answered examples, counts abstentions as errors, or is about them.
    part : tuple of a function and a Measure, optional
        Where some labels are abstentions: from all cells to those that count, and the measure of
        these. Sums of cells, so that of a Dirichlet distribution they have one too.

    Examples
    --------
    >>> import bayescm as bcm
    >>> recall = bcm.measures.recall
    >>> recall.canonical, recall.range, recall.lower_is_better
    ('recall', (0.0, 1.0), False)
    >>> recall([[30, 35], [15, 65]])
    np.float64(0.8125)
    """

    compute: Callable
    formula: Callable
    __name__: str
    canonical: str = ""
    aliases: tuple[str, ...] = ()
    one_class: bool = False
    needs_positive: bool = False
    lower_is_better: bool = False
    ideal: float | None = None
    symmetry_assumed: bool = False
    direction_assumed: bool = False
    range: tuple[float, float] = (0.0, 1.0)
    unit: str | None = None
    form: Form | None = None
    takes: str = "cells"
    average: str = ""
    abstentions: str = "left out"
    part: "tuple[Callable, Measure] | None" = None
    chosen: tuple[str, ...] = ()

    def __post_init__(self):
        """Take over the sentence that explains the formula."""
        formula = self.formula.func if isinstance(self.formula, partial) else self.formula
        object.__setattr__(self, "__doc__", formula.__doc__)

    def __call__(self, cells: Any) -> np.ndarray:
        """Return the measure, shape (...) or, per class, (..., C)."""
        cells = floats(cells) if self.takes == "cells" else cells
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.compute(cells)

    def __repr__(self):
        """Show the name."""
        return f"<measure {self.__name__}>"

    def worth(self, values: Any) -> Any:
        """Return values turned such that higher is better."""
        if self.ideal is not None:
            return -abs(values - self.ideal)
        return -values if self.lower_is_better else values

    def called(self, name: str) -> "Measure":
        """Return the same measure under another name."""
        if name == self.__name__:
            return self
        return replace(self, **cast(Any, {"__name__": name}))

    def same_as(self, other: "Measure") -> bool:
        """Tell whether two measures are the same one, whatever they are called."""
        if self.canonical or other.canonical:
            return self.canonical == other.canonical
        return self.formula is other.formula


@lru_cache(maxsize=128)
def by_class(measure: Callable, size: int) -> bool:
    """Say whether a measure of this many classes has a value for each."""
    return np.ndim(measure(np.ones((size, size)))) > 0


def floats(cells: ArrayLike) -> np.ndarray:
    """Return cells as float64, or complex where they are."""
    cells = np.asarray(cells)
    return cells if cells.dtype.kind == "c" else cells.astype(np.float64, copy=False)


def every_class(cells: np.ndarray, formula: Callable | None = None) -> tuple:
    """
    Return tp, fn, fp, tn of each class against the rest, (..., C) each, by additions only.

    True negatives that a formula does not use are 0.
    """
    other = 1 - np.eye(cells.shape[-1])
    tp = np.einsum("...ii->...i", cells)
    fn = np.einsum("...ij,ij->...i", cells, other)
    fp = np.einsum("...ij,ij->...j", cells, other)
    if formula is not None and not _counts_true_negatives(formula):
        return tp, fn, fp, np.zeros_like(tp)
    # Not the total less the rest, which would lose small cells.
    without = other @ cells if len(other) <= 16 else _without_each_row(cells)
    tn = np.einsum("...ij,ij->...i", without, other)
    return tp, fn, fp, tn


@lru_cache(maxsize=256)
def _counts_true_negatives(formula):
    """Say whether a formula of tp, fn, fp and tn gives other numbers for other true negatives."""
    tp, fn, fp, tn = np.reshape(np.meshgrid(*[[0.0, 0.3, 2.7]] * 3, [0.0, 0.4, 1.9, 31.0]), (4, -1))
    with np.errstate(all="ignore"):
        values = np.reshape(formula(tp, fn, fp, tn), (-1, 4))
    return not np.array_equal(values, np.broadcast_to(values[:, :1], values.shape), equal_nan=True)


def _without_each_row(cells):
    """Return the sums over all rows but each, in C^2 steps: those above it and those below."""
    sums = np.zeros_like(cells)
    np.cumsum(cells[..., :-1, :], axis=-2, out=sums[..., 1:, :])
    sums[..., :-1, :] += np.cumsum(cells[..., :0:-1, :], axis=-2)[..., ::-1, :]
    return sums


def one_of_two(cells: np.ndarray, formula: Callable | None = None) -> tuple:
    """Return tp, fn, fp, tn: of two classes the positive one's, (...), else of every class."""
    if cells.shape[-1] > 2:
        return every_class(cells, formula)
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

    Examples
    --------
    >>> one_vs_rest([[5, 1, 0], [2, 7, 0], [0, 0, 4]])[0]
    array([[11.,  2.],
           [ 1.,  5.]])
    """
    tp, fn, fp, tn = every_class(floats(cells))
    return np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)


def one_class(**facts: Any) -> Callable[[Callable], Measure]:
    """Make a measure of a formula of tp, fn, fp and tn of one class."""
    facts.setdefault("needs_positive", True)

    def make(formula):
        return _entry(partial(per_class, formula=formula), formula, one_class=True, **facts)

    return make


def whole(**facts: Any) -> Callable[[Callable], Measure]:
    """Make a measure of a formula of all the cells."""
    return lambda formula: _entry(formula, formula, **facts)


def _entry(compute, formula, **facts):
    name = formula.__name__
    # The measure takes the formula's place in its module; so pickle finds the formula.
    formula.__qualname__ = f"{name}.formula"
    return Measure(compute, formula, name, canonical=name, **facts)


def per_class(cells: np.ndarray, formula: Callable) -> np.ndarray:
    """Apply the formula to the positive class of two, or to every class of more."""
    return formula(*one_of_two(cells, formula))


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


def _macro(formula, tp, fn, fp, tn):
    return average(formula(tp, fn, fp, tn))


def _weighted(formula, tp, fn, fp, tn):
    return average(formula(tp, fn, fp, tn), tp + fn)


def _micro(formula, *parts):
    return formula(*(np.einsum("...i->...", part) for part in parts))


AVERAGES = {"macro": _macro, "micro": _micro, "weighted": _weighted}


def over_all(cells: np.ndarray, formula: Callable, how: str) -> np.ndarray:
    """Average the formula over all classes."""
    return AVERAGES[how](formula, *every_class(cells, formula))


def averaged(measure: Measure, how: str) -> Measure:
    """Return the average over the classes of a measure of one class."""
    if not measure.one_class or measure.takes != "cells":
        todo = f"use {measure.__name__} itself"
        allowed = "a measure of one class, e.g. f1_macro"
        raise fail("this measure has no average over classes", measure.__name__, allowed, todo)
    mean = replace(
        measure,
        canonical=f"{measure.canonical}_{how}",
        compute=partial(over_all, formula=measure.formula, how=how),
        average=how,
        aliases=tuple(f"{alias}_{how}" for alias in measure.aliases),
        one_class=False,
        needs_positive=False,
        unit=None,
        form=over_all_classes(measure.form, how),
    )
    return mean.called(f"{measure.__name__}_{how}")
