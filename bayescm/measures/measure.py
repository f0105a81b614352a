"""
Definition of measures as functions of cells (..., C, C), with their properties.

This module defines `Measure`, and the forms that describe a measure in terms of the cells, so that
`bayescm.distributions` can find its posterior distribution. The remaining functions turn a formula
into a measure: of the positive class, of each class against the rest, as an average over classes,
of selected classes, or for data with abstentions. The measures themselves are defined in
``catalogue``.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from bayescm.measures import odds
from bayescm.validate import fail, suggest


@dataclass(frozen=True, eq=False, repr=False)
class Measure:
    """
    A measure: a function of cells (..., C, C), with its properties.

    Attributes
    ----------
    compute : callable
        Function from an array of cells to values, without checks.
    formula : callable
        Underlying formula, a function of the cells, or of tp, fn, fp and tn of one class.
    __name__ : str
        Name of the measure in results: the requested name, which may be an alias.
    canonical : str
        Name in the catalogue. Empty for custom functions.
    aliases : tuple of str
        Other names.
    display_names : mapping of str to str
        Display names, if they do not follow the rules of `display_name`.
    one_class : bool
        Whether the measure refers to one class. If so, it has one value per class for more than two
        classes.
    needs_positive : bool
        Whether swapping two classes changes the value.
    lower_is_better : bool
        Whether lower values are better. It is used by comparisons, ranks, thresholds and alarms.
    symmetry_assumed : bool
        Whether ``needs_positive`` is False only by default. If so, a test determines whether the
        measure needs a positive class.
    ideal : float, optional
        Best value, if it is neither the highest nor the lowest. Values nearer to it are better.
    direction_assumed : bool
        Whether higher values are assumed to be better only by default.
    range : tuple of two floats
        Smallest and largest value, infinite if unbounded.
    unit : str, optional
        Unit of the sample size if the measure is a single proportion, such as "positives".
    form : Proportion, Overlap, Cost, FunctionOfCells, ReciprocalOf or CalibrationForm, optional
        Form in terms of the cells, which `bayescm.distributions` uses to find the posterior
        distribution. Without a form, the posterior is estimated from draws.
    takes : str
        Variable of a posterior that is the argument of the measure, by default the cells.
    average : {"", "macro", "micro", "weighted"}
        Type of average over the classes, if any.
    included : ndarray of bool, shape (C,) or (..., C), optional
        Classes that the average includes, for each member of a batch; None for all. See
        `over_defined_classes`.
    abstentions : {"left out", "errors", "all"}
        Whether abstentions are excluded, treated as errors, or measured themselves (``coverage``).
    collapse : tuple of a function and a Measure, optional
        For data with abstentions or for selected classes: a function that reduces all cells to the
        relevant ones, and the measure of the reduced cells. The reduced cells are sums of cells, so
        they also have a Dirichlet distribution.

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
    form: "Form | None" = None
    takes: str = "cells"
    average: str = ""
    included: np.ndarray | None = None
    abstentions: str = "left out"
    collapse: "tuple[Callable, Measure] | None" = None
    class_selection: tuple[str, ...] = ()
    display_names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        """Use the docstring of the formula, which explains the measure."""
        formula = self.formula.func if isinstance(self.formula, partial) else self.formula
        object.__setattr__(self, "__doc__", formula.__doc__)

    def __call__(self, cells: Any) -> np.ndarray:
        """Return the measure, shape (...) or, per class, (..., C)."""
        cells = floats(cells) if self.takes == "cells" else cells
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.computed(cells)

    def computed(self, cells: Any) -> np.ndarray:
        """Return the measure of cells or `ClassTotals`, without checks."""
        if self.included is None:
            return self.compute(cells)
        return self.compute(cells, included=self.included)

    def __repr__(self):
        """Show the name of the measure."""
        return f"<measure {self.__name__}>"

    def oriented(self, values: Any) -> Any:
        """Return values transformed so that higher is better."""
        if self.ideal is not None:
            return -abs(values - self.ideal)
        return -values if self.lower_is_better else values

    def called(self, name: str) -> "Measure":
        """Return the same measure under another name."""
        if name == self.__name__:
            return self
        return replace(self, **cast(Any, {"__name__": name}))

    def of_labels(self, labels: Sequence[str]) -> "Measure":
        """Return the measure of the classes in brackets, as in ``f1[a]``."""
        return of_classes(self, labels)

    def same_as(self, other: "Measure") -> bool:
        """Return True if two measures are the same, ignoring their names."""
        if self.canonical or other.canonical:
            return self.canonical == other.canonical
        return self.formula is other.formula


@lru_cache(maxsize=128)
def by_class(measure: Callable, size: int) -> bool:
    """Return True if a measure has one value per class for this number of classes."""
    if getattr(measure, "average", ""):
        return False
    return np.ndim(measure(np.ones((size, size)))) > 0


def floats(cells: ArrayLike) -> np.ndarray:
    """Convert cells to float64, or to complex if they are complex."""
    cells = np.asarray(cells)
    return cells if cells.dtype.kind == "c" else cells.astype(np.float64, copy=False)


# Forms describe measures in terms of the cells. They contain data for `bayescm.distributions` and
# compute nothing.


type Form = (
    Proportion
    | Overlap
    | Cost
    | FunctionOfCells
    | ReciprocalOf
    | MeanOverClasses
    | CalibrationForm
    | Repeated
    | OfScores
    | OverLabels
    | OverExamples
)


class Proportion(NamedTuple):
    """
    Form of a proportion: some cells, divided by the sum of these and other cells.

    Cells are ``tp``, ``fn``, ``fp`` and ``tn``, joined by ``+``, or ``right`` and ``wrong``, the
    cells on and off the diagonal for any number of classes.
    """

    part: str
    rest: str


class Overlap(NamedTuple):
    """Form tp / (tp + fn_weight * fn + fp_weight * fp)."""

    fn_weight: float
    fp_weight: float


class Cost(NamedTuple):
    """Form of the mean cost per example, with one cost per cell (rows = actual)."""

    matrix: tuple[tuple[float, ...], ...]


class MeanOverClasses(NamedTuple):
    """Form of the mean over classes of a measure of one class, given its form."""

    form: "Proportion | Overlap"


class CalibrationForm(NamedTuple):
    """
    Form of a function of the calibration curve.

    ``is_distance`` marks a distance that is 0 for calibrated forecasts. A two-sided interval never
    contains this 0, so its lower end is set to 0 if the band of the curve contains the diagonal.
    ``all_classes`` marks functions of the probabilities of all classes given the whole forecast.
    """

    is_distance: bool
    all_classes: bool = False


class FunctionOfCells(NamedTuple):
    """
    Form of a function of the cells of two classes, given by its odds.

    ``shares`` names the independent shares that determine it. It is monotone in each:

    - ``"rates"``: recall and false positive rate.
    - ``"columns"``: precision and false omission rate.
    - ``"positives"``: fp among all but tn, and tp among the positives.
    - ``"cells"``: tn among all, fp among the rest, and tp among the positives.
    - ``"errors"``: tp among tp and errors, and fn among errors.
    - ``"table"``: prevalence and both rates.

    ``odds`` is a function of `bayescm.measures.odds`. ``monotone_in_prevalence`` states whether the
    function is monotone in the prevalence for any given rates. Otherwise an uncertain prevalence
    needs separate quadrature nodes. Ratios with possibly infinite moments also have an entry in
    `bayescm.distributions.closed_forms`.
    """

    shares: str
    odds: Callable
    monotone_in_prevalence: bool = True


class ReciprocalOf(NamedTuple):
    """Form 1 / x for a measure x (infinite if x <= 0)."""

    measure: "Measure"


class Repeated(NamedTuple):
    """
    Form of a function of a number of answers to one item.

    ``votes`` states whether it depends on which answers are equal, if this is known. ``of_sample``
    is its value for a sample of items (`bayescm.measures.attempts.ItemAnswers`), and ``is_mean``
    states whether this value is a mean over the items.
    """

    answers: int
    votes: bool = False
    of_sample: Callable[[Any], float] | None = None
    is_mean: bool = True


class OfScores(NamedTuple):
    """
    Form of a measure of item scores.

    ``kind`` is ``"mean"`` (of the scores), ``"share"`` (of items above the threshold ``at``, which
    is ``included`` or not), ``"score"`` (a quantile) or ``"spread"``.
    """

    kind: str
    at: float = float("nan")
    included: bool = False

    def counts(self, scores: Any) -> Any:
        """Return a mask of the scores that the share includes."""
        return scores >= self.at if self.included else scores > self.at


class OverLabels(NamedTuple):
    """
    Form of a measure of the labels of examples, for each label or averaged over labels.

    ``how`` is ``"each"`` or an average. ``labels`` are the names of selected labels (empty for
    all). ``measure`` is the measure of the table of one label, or its average.
    """

    how: str
    labels: tuple[str, ...]
    measure: "Measure"


class OverExamples(NamedTuple):
    """
    Form of a mean over examples of a formula of tp, fn, fp and tn of each example.

    ``ends`` are the lowest and highest value of the formula, which are assigned to pseudo-examples.
    If the highest value is None, it is determined from the observed values.
    """

    formula: Callable
    ends: tuple[float, float | None]


def over_all_classes(form: Form | None, how: str = "micro") -> Form | None:
    """Return the form of an average. In a micro average, the totals of fn and fp are equal."""
    if how == "macro" and isinstance(form, Proportion | Overlap):
        return MeanOverClasses(form)
    if how != "micro":
        return None
    sums = {"tp": "right", "fn": "wrong", "fp": "wrong"}
    if isinstance(form, Proportion) and form.part in sums and form.rest in sums:
        return Proportion(sums[form.part], sums[form.rest])
    overlap = isinstance(form, Overlap) and sum(form) == 1
    # Precision equals recall here, so their mean and their maximum are equal to both.
    mean = isinstance(form, FunctionOfCells) and form.odds in (odds.fowlkes_mallows, odds.overlap)
    return Proportion("right", "wrong") if overlap or mean else None


# Conversion of formulas to measures


def one_class(**facts: Any) -> Callable[[Callable], Measure]:
    """Return a decorator for formulas of tp, fn, fp and tn of one class."""
    facts.setdefault("needs_positive", True)

    def make(formula):
        return _entry(partial(per_class, formula=formula), formula, one_class=True, **facts)

    return make


def all_cells(*, from_class_totals: bool = False, **facts: Any) -> Callable[[Callable], Measure]:
    """
    Return a decorator for formulas of all the cells.

    Parameters
    ----------
    from_class_totals : bool, default False
        Whether the formula accesses the cells only through `one_of_two` or `every_class`.
    **facts
        Fields of `Measure`.
    """

    def make(formula):
        if from_class_totals:
            _FROM_CLASS_TOTALS.add(formula)
        return _entry(formula, formula, **facts)

    return make


def _entry(compute, formula, **facts):
    name = formula.__name__
    # The measure replaces the formula in its module, where pickle looks for the formula.
    formula.__qualname__ = f"{name}.formula"
    return Measure(compute, formula, name, canonical=name, **facts)


def per_class(cells: np.ndarray, formula: Callable) -> np.ndarray:
    """Apply the formula to the positive class (two classes), or to every class (more than two)."""
    return formula(*one_of_two(cells, formula))


# Cells: tp, fn, fp and tn of one class against the rest, and sums of cells


@dataclass(frozen=True, eq=False)
class ClassTotals:
    """
    True and false positives and negatives of each of many classes against the rest.

    Many measures can be computed from these instead of the cells, as stated by `from_class_totals`.

    Attributes
    ----------
    tp, fn, fp, tn : ndarray, shape (..., C)
        Totals, with C > 2.
    """

    tp: np.ndarray
    fn: np.ndarray
    fp: np.ndarray
    tn: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the cells."""
        return (*self.tp.shape, self.tp.shape[-1])

    @classmethod
    def from_cells(
        cls, place: np.ndarray, mass: np.ndarray, shape: tuple[int, ...]
    ) -> "ClassTotals":
        """
        Return the totals of tables that are scaled to a sum of 1, given only their larger cells.

        All other cells are treated as the smallest positive number.

        Parameters
        ----------
        place : ndarray of int, shape (m,)
            Indices of the larger cells in the flattened tables. Cells may be repeated.
        mass : ndarray, shape (m,)
            Mass of these cells. Repeated cells are added up.
        shape : tuple of int
            Shape of the tables, (..., C, C).
        """
        classes = shape[-1]
        row, predicted = place // classes, place % classes  # row indices over all tables
        column = row // classes * classes + predicted
        right, wrong = np.flatnonzero(row == column), np.flatnonzero(row != column)
        rows = math.prod(shape[:-1])

        def sums(cells, class_of_cell, number):
            added = np.bincount(class_of_cell[cells], mass[cells], rows)
            return added.reshape(shape[:-1]) + number * np.finfo(float).tiny

        tp = sums(right, row, 1)
        fn, fp = (sums(wrong, class_of_cell, classes - 1) for class_of_cell in (row, column))
        total = (tp + fn).sum(-1, keepdims=True)
        tp, fn, fp = tp / total, fn / total, fp / total
        return cls(tp, fn, fp, 1 - tp - fn - fp)

    def measured(self, measure: Any) -> np.ndarray:
        """Return the measure, (...) or, per class, (..., C)."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return measure.computed(self)


def from_class_totals(measure: Any) -> bool:
    """Return True if a measure can be computed from `ClassTotals`."""
    return getattr(measure.compute, "func", measure.compute) in _FROM_CLASS_TOTALS


def one_of_two(cells: Any, formula: Callable | None = None) -> tuple:
    """Return tp, fn, fp, tn of the positive class, (...), or of every class of more than two."""
    if cells.shape[-1] > 2:
        return every_class(cells, formula)
    return cells[..., 1, 1], cells[..., 1, 0], cells[..., 0, 1], cells[..., 0, 0]


def every_class(cells: Any, formula: Callable | None = None) -> tuple:
    """
    Return tp, fn, fp, tn of each class against the rest, (..., C) each, using additions only.

    True negatives that a formula does not use are 0.
    """
    if isinstance(cells, ClassTotals):
        return cells.tp, cells.fn, cells.fp, cells.tn
    other = 1 - np.eye(cells.shape[-1])
    tp = np.einsum("...ii->...i", cells)
    fn = np.einsum("...ij,ij->...i", cells, other)
    fp = np.einsum("...ij,ij->...j", cells, other)
    if formula is not None and not counts_true_negatives(formula):
        return tp, fn, fp, np.zeros_like(tp)
    # Subtraction from the total would lose small cells to rounding errors.
    without = other @ cells if len(other) <= 16 else _without_each_row(cells)
    tn = np.einsum("...ij,ij->...i", without, other)
    return tp, fn, fp, tn


def counts_true_negatives(formula: Callable) -> bool:
    """Test whether a formula of tp, fn, fp and tn depends on the true negatives."""
    return cells_counted(formula)[3]


@lru_cache(maxsize=256)
def cells_counted(formula: Callable) -> tuple[bool, ...]:
    """Test which of tp, fn, fp and tn a formula depends on."""
    levels = [0.0, 0.4, 1.9, 31.0]
    cells = np.meshgrid(*[[0.0, 0.3, 2.7]] * 3, levels, indexing="ij")
    counted = []
    for index in range(4):
        turned = list(cells)
        turned[index], turned[3] = cells[3], cells[index]
        with np.errstate(all="ignore"):
            values = np.reshape(formula(*turned), (-1, len(levels)))
        first = np.broadcast_to(values[:, :1], values.shape)
        counted.append(not np.array_equal(values, first, equal_nan=True))
    return tuple(counted)


def _without_each_row(cells):
    """For each row, return the sum of all other rows, using cumulative sums in C^2 steps."""
    sums = np.zeros_like(cells)
    np.cumsum(cells[..., :-1, :], axis=-2, out=sums[..., 1:, :])
    sums[..., :-1, :] += np.cumsum(cells[..., :0:-1, :], axis=-2)[..., ::-1, :]
    return sums


def one_vs_rest(cells: ArrayLike) -> np.ndarray:
    """
    Return the 2 x 2 table of each class against the rest.

    Parameters
    ----------
    cells : array_like, shape (..., C, C)
        Counts or probabilities >= 0.

    Returns
    -------
    ndarray, shape (..., C, 2, 2)
        ``[[tn, fp], [fn, tp]]`` for every class.

    Examples
    --------
    >>> one_vs_rest([[5, 1, 0], [2, 7, 0], [0, 0, 4]])[0]
    array([[11.,  2.],
           [ 1.,  5.]])
    """
    tp, fn, fp, tn = every_class(floats(cells))
    return np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)


def over_classes(values: np.ndarray, cells: Any) -> np.ndarray:
    """Sum values of `one_of_two` over the classes. For two classes, return them unchanged."""
    return values if cells.shape[-1] == 2 else np.einsum("...i->...", values)


def off_diagonal(cells: np.ndarray) -> np.ndarray:
    """Return the sum of the cells off the diagonal, (...)."""
    return np.einsum("...ij,ij->...", cells, 1 - np.eye(cells.shape[-1]))


def total(cells: np.ndarray) -> np.ndarray:
    """Return the sum of all cells, (...)."""
    return np.einsum("...ij->...", cells)


# Averages over classes: of the values of a measure (macro, weighted by class totals) or of the
# cells (micro)


def averaged(measure: Measure, how: str) -> Measure:
    """Return the average over classes of a measure of one class."""
    if not measure.one_class or measure.takes != "cells":
        todo = f"use {measure.__name__} itself"
        allowed = "a measure of one class, e.g. f1_macro"
        raise fail("{} has no average over classes", measure.__name__, allowed, todo)
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


def over_all(
    cells: np.ndarray, formula: Callable, how: str, included: np.ndarray | None = None
) -> np.ndarray:
    """Average the formula over all classes, or over the included classes."""
    return AVERAGES[how](formula, *every_class(cells, formula), included=included)


def average(
    values: np.ndarray, weights: ArrayLike = 1.0, included: np.ndarray | None = None
) -> np.ndarray:
    """Average over the last axis, ignoring NaN, and unweighted if all weights are zero."""
    defined = ~np.isnan(values)
    if included is not None:
        defined = defined & included
    weights = defined * weights
    weights = np.where((weights == 0).all(axis=-1, keepdims=True), defined, weights)
    values = np.where(weights != 0, values, 0)
    return np.einsum("...i,...i->...", values, weights) / np.einsum("...i->...", weights)


def _macro(formula, tp, fn, fp, tn, included=None):
    return average(formula(tp, fn, fp, tn), included=included)


def _weighted(formula, tp, fn, fp, tn, included=None):
    return average(formula(tp, fn, fp, tn), tp + fn, included)


def _micro(formula, *parts, included=None):
    if included is not None:
        parts = tuple(np.where(included, part, 0.0) for part in parts)
    return formula(*(np.einsum("...i->...", part) for part in parts))


AVERAGES: dict[str, Callable] = {"macro": _macro, "micro": _micro, "weighted": _weighted}


# Classes with an undefined measure. A class for which the measure is 0/0 in the sample is excluded
# from averages over classes, both in the point estimate and in the posterior. The data contain no
# information about its value, so the prior alone would determine its contribution. The reasons are
# explained in docs/background/undefined.md.


def over_defined_classes(
    measure: Measure, classes: int, values_of: Callable[[Measure], np.ndarray]
) -> Measure:
    """
    Return an average over the classes with a defined measure in the sample.

    Parameters
    ----------
    measure : Measure
        Measure. If it is not an average over classes, it is returned unchanged.
    classes : int
        Number of classes.
    values_of : callable
        Function that returns the values (..., C) in the sample of a measure with one value per
        class. If no class is defined for a member of the batch, the average includes all classes.
    """
    if measure.average not in ("macro", "weighted"):
        return measure
    defined = ~np.isnan(values_of(of_each_class(measure, classes)))
    chosen = np.ones(classes, bool) if measure.included is None else measure.included
    defined = (defined | ~(defined & chosen).any(axis=-1, keepdims=True)) & chosen
    if (defined == chosen).all():
        return measure
    patterns = np.unique(defined.reshape(-1, classes), axis=0)
    return including(measure, patterns[0] if len(patterns) == 1 else defined)


def of_each_class(measure: Measure, classes: int) -> Measure:
    """Return the per-class measure, (..., C), whose values an average over the classes combines."""
    compute = partial(_of_each_class, compute=measure.compute, classes=classes)
    return replace(measure, compute=compute, average="", included=None)


def _of_each_class(cells, compute, classes):
    """Return the averages over single classes, (..., C): the value of each class, or NaN."""
    return compute(cells[..., None, :, :], included=np.eye(classes, dtype=bool))


def including(measure: Measure, included: np.ndarray | None) -> Measure:
    """Restrict an average to a mask of classes, (C,) or (..., C); None for all classes."""
    if included is None:
        return measure
    form = measure.form
    if form is not None and not isinstance(form, MeanOverClasses):  # as in balanced accuracy
        form = MeanOverClasses(Proportion("tp", "fn"))
    return replace(measure, included=included, form=form)


def is_by_member(measure: Any) -> bool:
    """Return True if an average includes different classes for different batch members."""
    included = getattr(measure, "included", None)
    return included is not None and included.ndim > 1


def of_members(measure: Any, index: Any) -> Any:
    """Return a measure for selected members of the flattened batch."""
    if not is_by_member(measure):
        return measure
    return including(measure, measure.included.reshape(-1, measure.included.shape[-1])[index])


def within_members(measure: Any, axes: int) -> Any:
    """Return a measure for cells with extra axes between the batch and the cells."""
    if not is_by_member(measure) or not axes:
        return measure
    return including(measure, np.expand_dims(measure.included, tuple(range(-1 - axes, -1))))


# Functions that access the cells only through `every_class`.
_FROM_CLASS_TOTALS: set[Callable] = {per_class, over_all}

# Measures of reduced cells


def _of(measure, reduce, base):
    """Return a measure computed as a base measure of reduced cells. Only the base has a form."""
    compute = partial(_reduced, reduce=reduce, base=base)
    return replace(measure, compute=compute, form=None, collapse=(reduce, base))


def _reduced(cells, reduce, base, included=None):
    further = {} if included is None else {"included": included}
    return base.compute(reduce(cells), **further)


# Selected classes, such as ``recall[cat]``, and averages over them


def of_classes(measure: Measure, class_selection: Sequence[str]) -> Measure:
    """
    Return the measure of a selected class, or the average over several classes.

    Parameters
    ----------
    measure : Measure
        Measure of one class, an average, or a measure of the whole matrix, which is then applied to
        the class against the rest.
    class_selection : sequence of str
        Labels as text. `bound` looks them up among the labels of the evidence.
    """
    if len(class_selection) > 1 and not _is_average(measure):
        mean = f", or average: {measure.__name__}_macro[{','.join(class_selection)}]"
        todo = f"name one{mean if measure.one_class else ', which is then compared with the rest'}"
        raise fail(
            "A measure of one class cannot have several classes: {}", class_selection, "", todo
        )
    if measure.takes not in ("cells", "curve") or (measure.takes == "curve" and measure.average):
        allowed = "a measure of cells, or of the curve of one class"
        raise fail(
            "{} cannot be restricted to named classes",
            measure.__name__,
            allowed,
            "use the measure without the class names, and select the class from the result",
        )
    if measure.abstentions != "left out":
        raise fail(
            "{} cannot be restricted to classes",
            measure.__name__,
            "",
            "use the measure of the answered examples",
        )
    written = f"[{','.join(class_selection)}]"
    selected = replace(
        measure,
        average=measure.average if _is_average(measure) else "",
        canonical=measure.canonical and measure.canonical + written,
        compute=_not_bound,
        one_class=False,
        needs_positive=False,
        symmetry_assumed=False,
        form=None,
        unit=None,
        collapse=(_not_bound, measure),
        class_selection=tuple(class_selection),
    )
    return selected.called(measure.__name__ + written)


def _is_average(measure):
    """Return True if a formula of one class is averaged, which excludes balanced accuracy."""
    return isinstance(measure.compute, partial) and measure.compute.func is over_all


def _not_bound(cells):
    raise fail(
        "A measure with the names of classes needs counts with labels",
        ...,
        "",
        "use counts with labels",
    )


def bound(measure: Measure, labels: Iterable) -> Measure:
    """Return the measure of the classes it names, given the labels of the cells."""
    is_bound = measure.included is not None
    if not measure.class_selection or measure.collapse is None or is_bound:
        return measure
    names = [str(label) for label in labels]
    for label in measure.class_selection:
        if label not in names:
            raise fail("Unknown class {}", label, names, suggest(label, names))
    base, indices = measure.collapse[1], [names.index(label) for label in measure.class_selection]
    included = None
    if _is_average(base):
        included = np.isin(np.arange(len(names)), indices)
        base, reduce = replace(base, form=None), partial(_table, size=len(names))
    else:
        reduce = partial(_one_table, index=indices[0], size=len(names))
    compute = partial(_reduced, reduce=reduce, base=base)
    return replace(measure, compute=compute, collapse=(reduce, base), included=included)


def _table(cells, size):
    """Return the cells of the classes, without the row and column of abstentions."""
    return cells[..., :size, :size]


def _one_table(cells, index, size):
    """Return [[tn, fp], [fn, tp]] of one of the classes."""
    return one_vs_rest(_table(cells, size))[..., index, :, :]


# Abstentions. By default, measures are computed from the answered examples, whose cells exclude the
# last row and column. Cells are only selected or added up, so that a Dirichlet distribution of the
# cells remains a Dirichlet distribution.


def with_abstentions(measure: Measure) -> Measure:
    """
    Return the measure of cells whose last row and column contain abstentions.

    Examples
    --------
    >>> from bayescm.measures.catalogue import recall, recall_of_all
    >>> cells = np.array([[50, 10, 5], [5, 25, 10], [0, 0, 0]])
    >>> values = [with_abstentions(each)(cells) for each in (recall, recall_of_all)]
    >>> [round(float(each), 3) for each in values]
    [0.833, 0.625]
    """
    if measure.collapse is not None:
        return measure  # already handles abstentions
    if measure.abstentions == "left out":
        return _of(measure, _answered, measure)
    if measure.abstentions == "all":
        answered = replace(measure, compute=_first_cell, form=Proportion("right", "wrong"))
        return _of(measure, _whether_answered, answered)
    if measure.average:
        mean = partial(_mean_of_tables, formula=measure.formula, how=measure.average)
        return _of(measure, _each_class, replace(measure, compute=mean, form=None))
    return _of(measure, _each_class, measure) if measure.one_class else measure


def _answered(cells):
    return cells[..., :-1, :-1]


def _whether_answered(cells):
    """Return [[answered, not answered], [0, 0]]."""
    answered = np.einsum("...ij->...", cells[..., :-1])
    without = np.einsum("...i->...", cells[..., -1])
    none = np.zeros_like(answered)
    return np.stack([np.stack([answered, without], -1), np.stack([none, none], -1)], -2)


def _first_cell(cells):
    """Return the share of answered examples."""
    return cells[..., 0, 0] / total(cells)


def _each_class(cells):
    """Return the table of each class against the rest (with two classes, of the positive one)."""
    tables = one_vs_rest(cells)[..., :-1, :, :]
    return tables[..., 1, :, :] if tables.shape[-3] == 2 else tables


def _mean_of_tables(tables, formula, how, included=None):
    tn, fp, fn, tp = (tables[..., i, j] for i in (0, 1) for j in (0, 1))
    return AVERAGES[how](formula, tp, fn, fp, tn, included=included)
