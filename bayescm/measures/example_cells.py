r"""
Measures of examples with several labels or several objects each.

Each example i has separate cells for every label l: :math:`tp_{il}, fn_{il}, fp_{il}, tn_{il}`.
They are 0 or 1 for labels, and counts for objects. With example weights :math:`g_i`, a measure of
one class f, such as recall, has a value

- per label, :math:`f(\sum_i g_i tp_{il}, \ldots)`: ``recall``, or ``recall[cat]`` for one label;
- over labels, as in scikit-learn: ``recall_macro``, ``recall_micro`` (from sums over labels) and
  ``recall_weighted`` (by the number of positives);
- over examples, ``recall_samples``: :math:`\sum_i g_i f(\sum_l tp_{il}, \ldots) / \sum_i g_i`, over
  the examples for which it is defined. Recall of an example without labels is 0/0 and excluded, as
  in scikit-learn with ``zero_division=nan``.

``subset_accuracy`` and ``hamming_loss`` are also means over examples.

If examples also have a score for each label, ``auc`` and ``average_precision`` are computed from
the curve of each label in the weighted sample. ``auc_macro`` and ``auc_weighted`` average over
labels, and ``auc_micro`` pools all pairs of example and label. ``label_ranking_average_precision``
is the mean over examples of

.. math::

    \frac{1}{|T_i|} \sum_{l \in T_i}
    \frac{|\{m \in T_i: s_{im} \ge s_{il}\}|}{|\{m: s_{im} \ge s_{il}\}|}

with scores s and the set :math:`T_i` of labels of the example. It is 1 if the example has no labels
or all labels, as in scikit-learn. Curves do not use pseudo-examples. Before averaging over labels,
the draws for each label are centred at the bias-corrected sample value, as described below. A
warning is issued for labels with few positives.

**Averages over labels with few positives.** The value v of a label is a ratio, so the mean of its
draws differs from the sample value by a bias of order 1/N, with N the number of examples on which
it is based. The sample value has the same bias, pseudo-examples add to this bias, and the variance
of the draws is too small by the factor (N - 1) / N. Averaging over L labels reduces the random
errors, but not the biases. The draws of a macro average are therefore

.. math::

    \bar v + s \, (v - \bar v) + (1 - 1/L) (2 v_0 - \bar u - \bar v), \qquad
    s = 1 + (1 - 1/L) \bigl(\sqrt{N / (N - 1)} - 1\bigr),

with the sample value :math:`v_0`, the mean :math:`\bar v` of the draws, and the mean :math:`\bar u`
of draws without pseudo-examples. :math:`2 v_0 - \bar u` is the bias-corrected bootstrap estimate
(Efron and Tibshirani 1993, chapter 10). The posterior of a single label is not corrected.

References
----------
Tsoumakas, G., Katakis, I. and Vlahavas, I. (2010). Mining multi-label data. In: Data Mining and
Knowledge Discovery Handbook, 667-685. doi:10.1007/978-0-387-09823-4_34

Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap. Chapman and Hall.
doi:10.1201/9780429246593
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayescm.measures.curves import Curve
from bayescm.measures.measure import (
    AVERAGES,
    Measure,
    OverExamples,
    OverLabels,
    average,
    cells_counted,
    counts_true_negatives,
    over_all,
)
from bayescm.validate import fail, suggest

CELL_NAMES = ("tp", "fn", "fp", "tn")
_BIAS_DRAWS = 2000  # number of draws; a bias then has an error of 2% of the standard deviation
_FEWEST_BIAS_DRAWS = 400  # smallest number of draws, with very many labels; the error is then 5%
_BIAS_VALUES = 2e6  # largest number of draws times labels
# Number of positives of a label, below which a warning is issued. Coverage in 120 simulated data
# sets with five labels and 100 examples: 0.96 (macro area) and 0.97 (macro average precision) with
# 20 positives per label, 0.89 and 0.73 with 6 positives (0.61 without bias correction).
_FEW_ON_CURVE = 20


@dataclass(frozen=True, eq=False)
class ExampleCells:
    """
    Draws of the cells of K systems and L labels in the population of examples.

    Attributes
    ----------
    tp, fn, fp : ndarray, shape (K, n, L)
        Cells of each example.
    tn : ndarray, shape (K, n, L), or None
        True negatives, or None if they are not counted.
    weight : ndarray, shape (S, u)
        Weight of each unit, shared by all systems, on any scale.
    unit : ndarray of int, shape (n,)
        Unit of each example: the example itself or its cluster.
    prior_cells : ndarray, shape (S, K, 4, L)
        Weight of the pseudo-examples in every cell of every label, in the order tp, fn, fp, tn.
    end_weight : ndarray, shape (S, 2)
        Weight of the pseudo-examples with the lowest and highest value of a mean over examples.
    concentration : float
        Number of pseudo-examples per cell; 0 for a sample.
    label_score : ndarray, shape (K, n, L), or None
        Score of every label, if available.
    count : ndarray, shape (n,), or float
        Weight of an example in its unit and in the sample.
    importance : bool
        Whether weights are importance weights of single examples, rather than numbers of examples.
    disagreement : bayescm.inference.bayesian_bootstrap.Disagreement, optional
        Pseudo-examples with disagreement between systems.
    """

    tp: np.ndarray
    fn: np.ndarray
    fp: np.ndarray
    tn: np.ndarray | None
    weight: np.ndarray
    unit: np.ndarray
    prior_cells: np.ndarray
    end_weight: np.ndarray
    concentration: float
    label_score: np.ndarray | None = None
    count: np.ndarray | float = 1.0
    importance: bool = False
    disagreement: Any = None

    def of_labels(
        self, formula: Callable, places: Sequence[int] | None = None, *, shared_prior: bool = False
    ) -> list[np.ndarray]:
        """
        Return tp, fn, fp and tn of each label in the population, (S, K, L).

        Parameters
        ----------
        formula : callable
            Function of these cells. True negatives that it does not use are set to 0.
        places : sequence of int, optional
            Indices of the labels, by default all.
        shared_prior : bool, default False
            Whether the labels share the pseudo-examples, so that all labels together have as many
            as a single label.
        """
        prior = self.prior_cells if places is None else self.prior_cells[..., places]
        if shared_prior:
            prior = np.broadcast_to(prior[..., :1] / prior.shape[-1], prior.shape)
        cells: list[np.ndarray] = []
        for index, name in enumerate(CELL_NAMES):
            if name == "tn" and not counts_true_negatives(formula):
                cells.append(np.zeros_like(cells[0]))
                continue
            values = self._cell(name, formula)
            values = values if places is None else values[..., places]
            systems = [self.weight @ self._by_unit(of_system) for of_system in values]
            cells.append(np.stack(systems, axis=1) + prior[:, :, index])
        return cells

    def macro_average(self, formula: Callable, places: Sequence[int] | None = None) -> np.ndarray:
        """
        Return the bias-corrected mean over labels of a formula of their cells, (S, K).

        Labels whose sample value is undefined are excluded. In the notation of the module
        docstring, v0 is ``sample``, the mean of v is ``center`` and the mean of u is ``without``.
        As the correction depends on the data, the draws for several labels are only approximately
        posterior draws.
        """
        values = formula(*self.of_labels(formula, places))
        counts, numbers = self._sample(formula, places)
        sample = formula(*counts)
        used = effective_number(
            *(np.stack(sums)[np.array(cells_counted(formula))].sum(axis=0) for sums in numbers)
        )
        defined = ~np.isnan(sample)
        bounded = np.isfinite(sample[defined]).all() and np.isfinite(values).all()
        if not self.concentration or not bounded or not defined.any():
            return average(values, included=_or_all(defined))
        size = int(np.clip(_BIAS_VALUES / sample.size, _FEWEST_BIAS_DRAWS, _BIAS_DRAWS))
        effective = effective_number(*(np.stack(sums) for sums in numbers))
        gammas = [
            self._gammas([row[system] for row in counts], effective[:, system], size)
            for system in range(len(sample))
        ]
        draws, prior = (np.stack(parts, axis=2) for parts in zip(*gammas, strict=True))
        without = np.nanmean(np.where(defined, formula(*draws), 0), axis=0)
        center = formula(*(draw + pseudo for draw, pseudo in zip(draws, prior, strict=True)))
        center = center.mean(axis=0)
        share = 1 - 1 / np.maximum(defined.sum(axis=-1, keepdims=True), 1)
        scale = 1 + share * (np.sqrt(used / np.maximum(used - 1, 1)) - 1)
        shift = share * (2 * sample - without - center)
        return average(np.where(defined, center + scale * (values - center) + shift, np.nan))

    def with_disagreement(
        self, values: np.ndarray, function: Callable, formula: Callable, places: Any = None
    ) -> np.ndarray:
        """
        Add the effect of disagreement between systems to the draws (S, K) of a function.

        Examples have unequal influence on a ratio of sums. A pseudo-example therefore shifts the
        ratio by its influence, to the extent that the influence differs between two systems.

        Parameters
        ----------
        values : ndarray, shape (S, K)
            Draws without these pseudo-examples.
        function : callable
            Function of a formula and the cells tp, fn, fp and tn of each label, such as a micro
            average.
        formula : callable
        places : sequence of int, optional
            Indices of the labels, by default all.
        """
        if self.disagreement is None:
            return values
        influence = self.influence(function, formula, places)
        if not np.isfinite(influence).all():
            return values
        pseudo = self.disagreement.scores(influence, -np.inf, np.inf)
        total = self.weight @ self._by_unit(np.ones(len(self.unit)))
        total = total + self.disagreement.weight.sum(axis=1)
        moved = np.einsum("skj,sj->sk", pseudo, self.disagreement.weight)
        return values + moved / total[:, None]

    def influence(self, function: Callable, formula: Callable, places: Any = None) -> np.ndarray:
        """
        Return the influence (K, n) of each example on a function of sums over examples.

        This is Tukey's sensitivity curve: the change in the value if an example like this one is
        added, times the number of examples (Hampel et al. 1986, Robust statistics, section 2.1e).
        """
        sums, _ = self._sample(formula, places)
        number = np.broadcast_to(self.count, self.unit.shape).sum() + 1
        influence = np.empty(self.tp.shape[:2])
        with np.errstate(invalid="ignore", divide="ignore"):
            for system in range(len(influence)):
                cells = []
                for name, total in zip(CELL_NAMES, sums, strict=True):
                    unused = name == "tn" and not counts_true_negatives(formula)
                    own = np.zeros(1) if unused else self._cell(name, formula)[system]
                    own = own if places is None or unused else own[:, places]
                    cells.append(total[system] + own)
                cells[3] = np.broadcast_to(cells[3], cells[0].shape)
                value = function(formula, *(total[system] for total in sums))
                influence[system] = number * (function(formula, *cells) - value)
        return influence

    def defined(self, formula: Callable, places: Sequence[int] | None = None) -> np.ndarray:
        """Return a mask (K, L) of the labels for which a formula is defined in the sample."""
        return ~np.isnan(formula(*self._sample(formula, places)[0]))

    def _gammas(self, counts, effective, size):
        """
        Return gamma variates (4, S, L) for the cells of one system and its pseudo-examples.

        All systems share the random numbers, so that their bias estimates do not differ by noise.
        """
        rng = np.random.default_rng(0)
        cells = np.stack(
            [
                rng.standard_gamma(number, (size, len(number))) * _ratio(count, number)
                for count, number in zip(counts, effective, strict=True)
            ]
        )
        return cells, rng.standard_gamma(self.concentration, cells.shape)

    def _sample(self, formula, places):
        """
        Return tp, fn, fp and tn of each label in the sample, (K, L).

        The result also includes the sums of the weights and of their squares, for effective numbers
        of examples.
        """
        sums: list[np.ndarray] = []
        squares: list[np.ndarray] = []
        count = np.broadcast_to(self.count, self.unit.shape)
        for name in CELL_NAMES:
            if name == "tn" and not counts_true_negatives(formula):
                sums.append(np.zeros_like(sums[0]))
                squares.append(np.zeros_like(sums[0]))
                continue
            values = self._cell(name, formula)
            values = values if places is None else values[..., places]
            sums.append(np.einsum("knl,n->kl", values, count))
            square = count**2 if self.importance else count
            squares.append(np.einsum("knl,n->kl", values, square))
        return sums, (sums, squares)

    def _cell(self, name, formula):
        values = getattr(self, name)
        if values is None:
            raise no_true_negatives(getattr(formula, "__name__", "the measure"))
        return values

    def of_curves(
        self, formula: Callable, how: str, places: Sequence[int] | None = None
    ) -> np.ndarray:
        """
        Return a formula of the curve of each label, (S, K, L), or an average over labels, (S, K).

        Values are NaN for labels of no example or of every example. Averages exclude these labels.
        """
        score, actual = self._scores(formula), self.tp[0] | self.fn[0]
        if places is not None:
            score, actual = score[..., places], actual[:, places]
        count = np.broadcast_to(self.count, self.unit.shape)
        weight = self.weight[:, self.unit] * count
        if how == "micro":
            labels = actual.shape[1]
            weight, actual = np.repeat(weight, labels, axis=1), actual.reshape(-1, 1)
            score = score.reshape(len(score), -1, 1)
        values = self._curve_values(formula, score, actual, weight)
        if how == "micro":
            return values[..., 0]
        if self.concentration:
            square = count**2 if self.importance else count
            _warn_of_few(effective_number(count @ actual, square @ actual))
        if how == "each":
            return values
        if self.concentration:
            sample = self._curve_values(formula, score, actual, count[None])
            share = 1 - 1 / values.shape[-1]
            values = np.clip(values - 2 * share * (values.mean(axis=0) - sample), 0, 1)
        by_label = weight @ actual if how == "weighted" else np.ones((len(weight), 1))
        return average(values, by_label[:, None])

    def _curve_values(self, formula, score, actual, weight):
        """Return a formula of the curve of each label, (S, K, L), or NaN if it is undefined."""
        values = np.full((len(weight), *score.shape[::2]), np.nan)
        for system, label in np.ndindex(values.shape[1:]):
            if 0 < actual[:, label].sum() < len(actual):
                curve = weighted_curve(score[system, :, label], actual[:, label], weight)
                values[:, system, label] = formula(curve)
        return values

    def _scores(self, formula):
        if self.label_score is None:
            todo = "pass the scores of all labels: `from_multilabel(..., scores=)`"
            what = f"{formula.__name__.strip('_')} needs scores of the labels"
            raise fail(what, ..., "", todo)
        return self.label_score

    def of_examples(self, formula: Callable) -> np.ndarray:
        """Return a formula of tp, fn, fp and tn of each example over its labels, (K, n)."""
        if formula is _ranking_precision:
            return _ranking_precision(self.tp | self.fn, self._scores(_ranking_precision))
        tp, fn, fp = (cells.sum(axis=-1, dtype=float) for cells in (self.tp, self.fn, self.fp))
        tn = np.zeros_like(tp)
        if counts_true_negatives(formula):
            tn = self._cell("tn", formula).sum(axis=-1, dtype=float)
        return formula(tp, fn, fp, tn)

    def mean_over_examples(self, form: OverExamples) -> np.ndarray:
        """Return the population mean of a formula of each example, (S, K)."""
        values = self.of_examples(form.formula)
        means = np.empty((len(self.weight), len(values)))
        ends = np.asarray(ends_of(form, values, self.tp.shape[-1]))
        pseudo_sum, pseudo_total = self.end_weight @ ends[:, None], self.end_weight.sum(axis=1)
        if self.disagreement is not None:
            pseudo, weight = self.disagreement.scores(values, *ends), self.disagreement.weight
            pseudo_sum = pseudo_sum + np.einsum("skj,sj->sk", pseudo, weight)
            pseudo_total = pseudo_total + weight.sum(axis=1)
        pseudo_sum = np.broadcast_to(pseudo_sum, means.shape)
        for system, row in enumerate(values):
            defined = ~np.isnan(row)
            sums = self.weight @ self._by_unit(np.where(defined, row, 0))
            totals = self.weight @ self._by_unit(defined.astype(float))
            means[:, system] = (sums + pseudo_sum[:, system]) / (totals + pseudo_total)
        return means

    def _by_unit(self, values):
        """Return the weighted sums (u, ...) over the examples of each unit."""
        if np.ndim(self.count):
            values = values * np.reshape(self.count, (-1, *[1] * (values.ndim - 1)))
        if self.weight.shape[1] == len(self.unit):
            return values.astype(float)  # every example is a unit, in the same order
        sums = np.zeros((self.weight.shape[1], *values.shape[1:]))
        np.add.at(sums, self.unit, values)
        return sums


def effective_number(sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """
    Return the effective number of examples, from sums of weights and of squared weights.

    It is the squared sum divided by the sum of squares (Kish 1965, Survey Sampling, section 11.7).
    """
    return sums * _ratio(sums, squares)


def _ratio(first, second):
    """Return a ratio, or 0 if the denominator is 0."""
    return np.divide(first, second, out=np.zeros(np.shape(first)), where=np.asarray(second) > 0)


def _warn_of_few(positives):
    """Warn about curves with few positives, because the bootstrap contains no other positives."""
    few = positives[(positives > 0) & (positives < _FEW_ON_CURVE)]
    if few.size:
        labels = "1 label has" if few.size == 1 else f"{few.size} labels have"
        warnings.warn(
            f"{labels} fewer than {_FEW_ON_CURVE} positives (the fewest: {few.min():.0f}). "
            "Areas under curves are less certain than their intervals show, and average "
            "precision over labels is too high.",
            stacklevel=2,
        )


def weighted_curve(score: np.ndarray, actual: np.ndarray, weight: np.ndarray) -> Curve:
    """
    Return S ROC curves of weighted examples, with a step at each distinct score.

    Parameters
    ----------
    score, actual : ndarray, shape (n,)
    weight : ndarray, shape (S, n)
    """
    order = np.argsort(-score, kind="stable")
    starts = np.flatnonzero(np.diff(-score[order], prepend=-np.inf))
    rates = np.zeros((2, len(weight), len(starts) + 1))
    for rate, side in zip(rates, (~actual, actual), strict=True):
        sums = np.add.reduceat(weight[:, order] * side[order], starts, axis=1)
        np.cumsum(sums, axis=1, out=rate[:, 1:])
    positives, total = rates[1, :, -1].copy(), rates[:, :, -1].sum(axis=0)
    rates /= rates[:, :, -1:]
    half, tied = np.full(len(starts), 0.5), np.ones(len(starts), bool)
    return Curve(rates[0], rates[1], positives / total, half, tied, np.arange(len(starts) + 1))


def no_true_negatives(name: str) -> Exception:
    """Return the error for a measure that needs true negatives if these are not counted."""
    return fail(
        f"{name} needs true negatives, but these counts do not include them",
        ...,
        "",
        "use precision, recall, f1, fbeta(2) or jaccard",
    )


# Conversion of measures of a single table to measures of the cells of examples


def of_cells(measure: Measure) -> Measure:
    """
    Convert a measure of cells (..., C, C) to a measure of the cells of examples.

    Parameters
    ----------
    measure : Measure
        Measure of one class, its average over classes, or a measure of the whole matrix for a
        selected label.

    Raises
    ------
    ValueError
        If it is a measure of the whole matrix, without a selected label.
    """
    names = measure.class_selection
    if measure.takes == "curve":
        return _of_curves(measure)
    base = measure.collapse[1] if names and measure.collapse else measure
    if base.abstentions != "left out":
        raise fail(
            "{} is not available for abstentions of labels",
            base.__name__,
            "",
            "use the measure of the answered examples",
        )
    average = base.average if base.one_class or _is_over_classes(base) else ""
    if not names and not base.one_class and not average:
        raise fail(
            f"{base.__name__} is not available for several labels at once",
            ...,
            "",
            f'name a label, "{base.__name__}[label]"; for all labels correct, use '
            '"subset_accuracy"',
        )
    form = OverLabels(average or "each", names, replace(base, collapse=None))
    compute = _not_bound if names else partial(_over_labels, form=form, places=None)
    return replace(
        measure,
        compute=compute,
        takes="example_cells",
        one_class=not names and not average,
        needs_positive=False,
        symmetry_assumed=False,
        collapse=None,
        unit=None,
        form=form,
    )


def _of_curves(measure):
    """Convert a measure of a curve, or its average over labels, to a measure of the cells."""
    if measure.average == "top_label":
        raise fail(
            "{} is not available, because an example can have several true labels",
            measure.__name__,
            "",
            f"use {measure.__name__.removesuffix('_top_label')}_macro",
        )
    form = OverLabels(measure.average or "each", measure.class_selection, measure)
    one_class = not (measure.class_selection or measure.average)
    compute = partial(_over_labels, form=form, places=None) if not form.labels else _not_bound
    facts: dict[str, Any] = {"takes": "example_cells", "needs_positive": False, "form": form}
    facts["collapse"] = None
    return replace(measure, compute=compute, one_class=one_class, **facts)


def _is_over_classes(measure):
    return isinstance(measure.compute, partial) and measure.compute.func is over_all


def bound(measure: Measure, labels: Sequence) -> Measure:
    """Return the measure of the labels in its name, given the labels of the evidence."""
    form = measure.form
    if not isinstance(form, OverLabels) or not form.labels:
        return measure
    names = [str(label) for label in labels]
    for label in form.labels:
        if label not in names:
            raise fail("Unknown label {}", label, names, suggest(label, names))
    places = [names.index(label) for label in form.labels]
    return replace(measure, compute=partial(_over_labels, form=form, places=places))


def without_labels(measure: Measure) -> Measure:
    """Return the measure for evidence without labels, from the sums over all items."""
    form = measure.form
    if not isinstance(form, OverLabels):
        return measure
    name, labels = measure.__name__, form.labels
    if labels or form.how in ("macro", "weighted"):
        raise fail(
            f"{name} needs multilabel evidence, not item counts",
            ...,
            "",
            "use f1 for the sum over items, or f1_samples for their mean",
        )
    if form.measure.takes == "curve" or counts_true_negatives(form.measure.formula):
        raise no_true_negatives(name)
    return replace(measure, compute=partial(_over_labels, form=form, places=[0]), one_class=False)


def _not_bound(cells):
    raise fail(
        "A measure with the name of a label needs evidence with labels",
        ...,
        "",
        "use the evidence instead of its counts",
    )


def _over_labels(cells, form, places):
    """Return a measure of each label, (S, K, L), or of one label or an average, (S, K)."""
    formula = form.measure.formula
    if form.measure.takes == "curve":
        values = cells.of_curves(formula, form.how, places)
        return values[..., 0] if form.how == "each" and places is not None else values
    if not (form.measure.one_class or form.how in AVERAGES):  # whole matrix, for one label
        tp, fn, fp, tn = (cell[..., 0] for cell in cells.of_labels(_every_cell, places))
        table = np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)
        return form.measure.compute(table)
    if form.how == "each":
        values = formula(*cells.of_labels(formula, places))
        if places is None:
            return values
        if form.labels:
            return values[..., 0]
        return _within(form, cells.with_disagreement(values[..., 0], _first, formula, places))
    if form.how == "macro":
        values = cells.macro_average(formula, places)
        return _within(form, values)
    mean = AVERAGES[form.how]
    if form.how == "weighted":
        # Labels with an undefined sample measure (0/0) are excluded, as in macro averages.
        mean = partial(mean, included=_or_all(cells.defined(formula, places)))
    values = mean(formula, *cells.of_labels(formula, places, shared_prior=True))
    return _within(form, cells.with_disagreement(values, AVERAGES[form.how], formula, places))


def _within(form, values):
    return np.clip(values, *form.measure.range)


def _first(formula, *cells):
    """Return a formula of the only label, for item counts that are summed over items."""
    return formula(*(cell[..., 0] for cell in cells))


def labels_left_out(measure: Measure, sample: ExampleCells) -> np.ndarray | None:
    """Return a mask (K, L) of the labels an average excludes, or None. See `Posterior.left_out`."""
    form = measure.form
    if not isinstance(form, OverLabels) or form.how not in ("macro", "weighted"):
        return None
    if form.measure.takes == "curve":
        positives = (sample.tp | sample.fn)[0].sum(axis=0)
        left_out = (positives == 0) | (positives == sample.tp.shape[1])
        return np.broadcast_to(left_out, (len(sample.tp), len(left_out)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return ~_or_all(sample.defined(form.measure.formula))


def _or_all(defined):
    """Return a mask of defined labels, or of all labels for a system without defined labels."""
    return defined | ~defined.any(axis=-1, keepdims=True)


def _every_cell(tp, fn, fp, tn):
    return tp + 2 * fn + 4 * fp + 8 * tn


def over_examples(measure: Measure) -> Measure:
    """Return the mean over examples of a measure of one class, from the cells of an example."""
    if not measure.one_class or measure.takes != "cells":
        todo = f"use {measure.__name__} itself"
        allowed = "a measure of one class, e.g. f1_samples"
        raise fail("{} has no mean over examples", measure.__name__, allowed, todo)
    low, high = measure.range
    if not (np.isfinite(low) and np.isfinite(high)):
        raise fail(
            "{} has no mean over examples, because it is unbounded",
            measure.__name__,
            "",
            "use its average over the labels, e.g. with _macro",
        )
    form = OverExamples(measure.formula, measure.range)
    mean = replace(
        measure,
        canonical=f"{measure.canonical}_samples",
        compute=partial(_over_examples, form=form),
        takes="example_cells",
        one_class=False,
        needs_positive=False,
        average="samples",
        aliases=tuple(f"{alias}_samples" for alias in measure.aliases),
        unit="examples",
        form=form,
    )
    return mean.called(f"{measure.__name__}_samples")


def _over_examples(cells, form):
    return cells.mean_over_examples(form)


def ends_of(form: OverExamples, values: np.ndarray, labels: int) -> tuple[float, float]:
    """
    Return the lowest and highest value of an example, which are assigned to pseudo-examples.

    With many labels, examples with all labels wrong do not occur. The highest Hamming loss is
    therefore the maximum of the observed losses and the loss of a single wrong label.
    """
    low, high = form.ends
    return low, float(max(np.nanmax(values, initial=0), 1 / labels)) if high is None else high


def _all_right(tp, fn, fp, tn):
    """1 if all labels of an example are right, else 0."""
    return (fn + fp == 0).astype(float)


def _share_wrong(tp, fn, fp, tn):
    """Share of wrong labels of an example."""
    return (fn + fp) / (tp + fn + fp + tn)


def _ranking_precision(actual, score):
    """
    Return the mean precision at the ranks of the labels of each example, (K, n).

    Parameters
    ----------
    actual : ndarray of bool, shape (K, n, L)
    score : ndarray, shape (K, n, L)
    """
    number, precision = actual.sum(axis=-1), np.zeros(actual.shape[:2])
    for label in range(actual.shape[-1]):
        as_high = score >= score[..., [label]]
        share = (as_high & actual).sum(axis=-1) / as_high.sum(axis=-1)
        precision += actual[..., label] * share / np.maximum(number, 1)
    return np.where((number == 0) | (number == actual.shape[-1]), 1.0, precision)


def _label_ranking_average_precision(cells):
    """Mean precision at the ranks of an example's labels, ranked by their scores."""
    return cells.mean_over_examples(_RANKING)


def _subset_accuracy(cells):
    """Proportion of examples with all labels right."""
    return cells.mean_over_examples(_ALL_RIGHT)


def _hamming_loss(cells):
    """Proportion of labels that are wrong, over all examples."""
    return cells.mean_over_examples(_SHARE_WRONG)


_ALL_RIGHT = OverExamples(_all_right, (0.0, 1.0))
_SHARE_WRONG = OverExamples(_share_wrong, (0.0, None))
_RANKING = OverExamples(_ranking_precision, (0.0, 1.0))


def _entry(formula, form, name, **facts):
    common = {"canonical": name, "takes": "example_cells", "form": form}
    return Measure(formula, formula, name, **common, **facts)


subset_accuracy = _entry(_subset_accuracy, _ALL_RIGHT, "subset_accuracy", unit="examples")
hamming_loss = _entry(_hamming_loss, _SHARE_WRONG, "hamming_loss", lower_is_better=True)
label_ranking_average_precision = _entry(
    _label_ranking_average_precision,
    _RANKING,
    "label_ranking_average_precision",
    unit="examples",
    aliases=("label_ranking_average_precision_score", "lrap"),
)
