"""
Scores as evidence: the true class of every example and the scores of one or more classifiers.

The evidence is an ``xr.Dataset`` over the dimension ``example`` with these variables:

- ``score``, also over ``classifier`` for several classifiers and over ``class`` for more than two
  classes.
- ``actual``, the true class.
- ``weight`` (optional), the number of examples that a row represents.
- ``importance`` (optional), the importance weight of an example.
- ``fold`` or ``group`` (optional).

The scalar coordinate ``positive`` is the positive class, and ``prevalence`` is its prevalence if
that is known.

Probabilities are stored in the same way and have the scalar coordinate ``probabilities`` in
addition. Functions that accept scores also accept probabilities.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.binned_forecasts import FORM as BINNED
from bayescm.evidence.binned_forecasts import bin_forecasts, events_of, is_binned
from bayescm.evidence.counts import abstains, as_counts, is_outcomes, positive
from bayescm.evidence.default_models import model_of_probabilities, model_of_scores
from bayescm.evidence.descriptions import describe_probabilities, describe_scores
from bayescm.evidence.evidence_type import (
    Columns,
    DefaultModel,
    EvidenceType,
)
from bayescm.evidence.frames import columns_by_name, count_combinations
from bayescm.evidence.labels import (
    UnknownLabelError,
    as_labels,
    check_exact,
    check_no_dates,
    check_no_missing_text,
    check_plain_labels,
    columns_in_order,
    in_label_order,
    obvious_positive,
)
from bayescm.evidence.patterns import (
    PatternCounts,
    has_patterns,
    number_of_examples,
    pattern_table,
    patterns_of_batches,
)
from bayescm.evidence.predictions import column_of
from bayescm.evidence.resampling import resample_rows
from bayescm.evidence.slices import (
    check_classes,
    check_one_sample,
    combine_examples,
    slice_name,
    slices_of,
)
from bayescm.evidence.tabulate import check_weights
from bayescm.validate import check_column, check_reals, check_row_order, fail, suggest, unmasked

# Construction of scores


def from_scores(
    actual: Any,
    scores: Any,
    *,
    positive: Hashable | None = None,
    labels: Sequence | None = None,
    weights: Any = None,
    weights_are: str | None = None,
    fold: Any = None,
    by: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """
    Return the scores of one or more classifiers as evidence.

    Use scores for ROC and precision-recall curves, areas under them, and measures at a threshold.
    For calibration and proper scoring rules, use `from_probabilities`.

    Parameters
    ----------
    actual : array_like, shape (n,)
        True labels.
    scores : array_like or mapping of str to array_like
        Scores, which are higher for examples that are more likely to be positive. Probabilities,
        logits and any other numbers are allowed, and so are ties and infinite scores. Shape (n,)
        for two classes, or (n, C) for more, with one column per class. A mapping contains the
        scores of several classifiers on the same examples.
    positive : label, optional
        Positive class, if there are two classes. By default inferred if the labels are {0, 1} or
        {False, True}.
    labels : sequence, optional
        Classes, in the order of the columns of the scores. By default, the sorted labels.
    weights : array_like, shape (n,), optional
        Weight >= 0 of each example.
    weights_are : {"counts", "importance"}, optional
        Meaning of the weights. Required if they are not integers.

        - ``"counts"``: the weight is the number of examples that a row represents.
        - ``"importance"``: the weight is inversely proportional to the sampling probability of the
          example. The scale of the weights does not matter. Each class then contributes Kish's
          effective number of examples, and the proportions of the classes are determined by the
          sums of their weights.
    fold : array_like, shape (n,), optional
        Cross-validation fold of each example. Curves are then computed fold by fold, since the
        scores of different models may not be comparable (see `pool_folds`).
    by : mapping of str to array_like (n,), optional
        With ``{"group": site}``, each group has separate curves, areas and comparisons. ``{"fold":
        fold}`` is the same as ``fold=fold``.

    Returns
    -------
    Dataset, dim ``example``

    Raises
    ------
    ValueError
        If a score is NaN, lengths differ, a weight is negative, a class or the positive class is
        missing, or a group lacks a class. If indexes of pandas objects have the same labels in a
        different order.
    TypeError
        If scores are not numeric: strings, booleans or dates.

    Examples
    --------
    >>> evidence = from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> dict(evidence.sizes), evidence.positive.item()
    ({'example': 4}, 1)
    """
    keywords: dict[str, Any] = {"positive": positive, "labels": labels, "weights": weights}
    keywords |= {"weights_are": weights_are, "fold": fold, "by": by}
    return as_scores(build_scores(actual, scores, **keywords))


def build_scores(
    actual: Any,
    scores: Any,
    *,
    positive: Hashable | None = None,
    labels: Sequence | None = None,
    weights: Any = None,
    weights_are: str | None = None,
    name: str = "scores",
    **slices: Any,
) -> xr.Dataset:
    """Return scores that are not yet validated, in folds or groups (see `slices_of`)."""
    check_row_order({"actual": actual, name: scores, "weights": weights, **slices})
    truth = _truth(actual)
    classes = as_labels(_classes_of(truth) if labels is None else labels)
    missing = sorted(set(truth.tolist()) - set(classes.tolist()), key=str)
    if missing:
        todo = f"{suggest(missing[0], classes.tolist())} add it to labels"
        what = "`actual` contains {}, which is not a class"
        raise fail(what, missing[0], classes, todo, UnknownLabelError)
    columns = {"actual": ("example", truth)}
    dims, coords = ("example", "class")[: 1 if len(classes) == 2 else 2], {}
    if isinstance(scores, Mapping):
        _check_mapping(scores)
        values = np.stack(
            [_matrix(column, len(truth), classes, name, positive) for column in scores.values()]
        )
        dims, coords["classifier"] = ("classifier", *dims), np.array(list(scores))
    else:
        values = _matrix(scores, len(truth), classes, name, positive)
    if len(classes) > 2:
        coords["class"] = classes
    columns["score"] = (dims, values)  # type: ignore[assignment]
    slice_columns = slices_of(len(truth), **slices)
    columns |= {name: ("example", column) for name, column in slice_columns.items()}
    if weights is not None:
        weight = np.asarray(unmasked(weights, "weight"))
        weight = _same_length("weight", weight, len(truth))
        kind = check_weights(weight.ravel(), weights_are)
        columns["weight"] = (
            "example",
            weight if kind == "counts" else _effective_weights(weight, truth),
        )
        if kind == "importance":
            columns["importance"] = ("example", weight / weight.max())
    coords |= _positive(positive, classes)
    _check_name(scores, coords, classes)
    return xr.Dataset(columns, coords)


def _effective_weights(weights, truth):
    """
    Return the effective weight of each example.

    With two classes, the weights of each class sum to its effective sample size, because curves
    never mix the classes. With more classes, each class is compared with all others, so all weights
    together sum to the overall effective sample size.
    """
    worth, labels = weights.astype(float), np.unique(truth)
    for label in labels if len(labels) == 2 else [...]:
        in_class = truth == label if label is not ... else np.ones(len(truth), bool)
        if worth[in_class].any():
            worth[in_class] *= worth[in_class].sum() / (worth[in_class] ** 2).sum()
    return worth


def _truth(actual):
    if isinstance(actual, list | tuple):  # numpy would turn these into a table
        check_plain_labels([label for label in actual if isinstance(label, tuple)], "actual labels")
    _check_one_type(actual)
    truth = np.asarray(unmasked(actual, "actual"))
    if truth.ndim != 1 or not len(truth):
        todo = "pass one true label per example"
        raise fail(
            "`actual` must be one column of labels, but its shape is {}", truth.shape, "", todo
        )
    if pd.isna(truth).any():
        at = int(np.argmax(pd.isna(truth)))
        what = f"`actual` has missing values, the first at position {at}"
        raise fail(what, ..., "", "drop these examples")
    if truth.dtype.kind in "OmM":
        check_no_dates(pd.unique(truth), "the labels of actual")
        check_plain_labels(pd.unique(truth), "the labels of actual")
    if truth.dtype.kind == "f" and (truth == truth.astype(int)).all():
        check_exact("actual", truth)
        return truth.astype(int)
    if truth.dtype.kind == "f":
        raise fail(
            "`actual` contains fractions instead of labels: {}",
            truth[:4].tolist(),
            "",
            "pass the true labels first: `from_scores(actual, scores)`",
        )
    return truth.astype(str) if truth.dtype.kind == "O" else truth


def _check_one_type(actual):
    """Raise an error if labels mix strings and numbers: numpy would merge 1 and "1"."""
    labels = actual if isinstance(actual, (list, tuple)) else np.asarray(actual)
    if isinstance(labels, np.ndarray):
        labels = labels.ravel().tolist() if labels.dtype.kind == "O" else []
    text = next((label for label in labels if isinstance(label, str)), None)
    numbers = (int, float, np.number, np.bool_)
    number = next(
        (label for label in labels if isinstance(label, numbers) and label == label), None
    )
    if text is not None and number is not None:
        todo = "make them all strings"
        raise fail("The labels of actual have mixed types: {}", [number, text], "", todo)


def _classes_of(truth):
    labels = np.unique(truth).tolist()
    check_no_missing_text(labels)
    if len(labels) < 2:
        todo = "add examples of another class: curves compare the scores of classes"
        raise fail("`actual` has only one class, {}", labels, "", todo)
    return labels


def _check_mapping(scores):
    if not scores:
        raise fail("No classifiers are given", ..., "", "pass e.g. {'name': scores}")
    for name in scores:
        if not isinstance(name, str):
            todo = f'pass {{"{name}": scores}}'
            raise fail("The name of a classifier must be a string", name, "", todo, TypeError)


def _matrix(scores, n, classes, name, positive):
    unmasked(scores, "a score")
    scores = columns_in_order(scores, classes.tolist())
    todo = (
        "pass the output of decision_function or predict_proba; convert a tensor to a numpy array"
    )
    values = check_reals(scores, name, todo)
    _same_length("scores", values, n)
    if len(classes) == 2 and values.shape == (n, 1):  # the single output of a neural network
        values = values[:, 0]
    shape = (n,) if len(classes) == 2 else (n, len(classes))
    if values.shape != shape:
        todo = _column_of_positive(classes.tolist(), positive)
        if len(classes) > 2:
            todo = f"pass a column for each of {classes.tolist()}, or two labels in actual"
        raise fail(f"Scores must have the shape {shape}", values.shape, "", todo)
    return values


def _column_of_positive(classes, positive):
    """Return advice on how to select the column of the positive class."""
    label = obvious_positive(classes) if positive is None else positive
    if label not in classes:
        return "pass the column of the positive class, at its place in model.classes_"
    place = sorted(classes).index(label)
    return (
        f"pass the column of class {label!r}: proba[:, {place}] if the columns are sorted by "
        "class, as in scikit-learn"
    )


def _same_length(name, values, n):
    if values.ndim < 1 or len(values) != n:
        todo = "align the columns first"
        raise fail(f"{name} has the shape {values.shape}, but actual has {n} rows", ..., "", todo)
    return values


def _check_name(scores, coords, classes):
    """Raise an error if a column is named after the class that is not positive."""
    for columns_of in scores.values() if isinstance(scores, Mapping) else [scores]:
        frame = columns_of.to_frame() if isinstance(columns_of, pd.Series) else columns_of
        if "positive" not in coords or not isinstance(frame, pd.DataFrame):
            continue
        name = frame.columns[0]
        if isinstance(name, str) and name in classes.tolist() and name != coords["positive"]:
            todo = f"pass the column of {coords['positive']!r}, or `positive={name!r}`"
            raise fail(
                "The scores are for the class {}, but the positive class is "
                f"{coords['positive']!r}",
                name,
                "",
                todo,
            )


def _positive(positive, classes):
    if len(classes) > 2:
        if positive is not None:
            raise fail(
                f"`positive={positive!r}` has no effect with more than two classes",
                ...,
                "",
                "leave it out, or use one class against the rest: one_vs_rest(evidence, label)",
            )
        return {}
    positive = obvious_positive(classes.tolist()) if positive is None else positive
    if positive is None:
        got = classes.tolist()
        raise fail(
            "Which of {} is the positive class is unknown",
            got,
            "",
            f"pass `positive={got[0]!r}` or `positive={got[1]!r}`",
        )
    for label in classes.tolist():
        if label == positive:
            return {"positive": label}
    todo = suggest(positive, classes.tolist())
    raise fail("The positive class {} is not among the labels", positive, classes.tolist(), todo)


# Scores from tables: the table's library counts the distinct scores or the scores per bin


def from_scored_frame(
    frame: Any,
    scores: str | Sequence[str] | Mapping[str, str],
    *,
    actual: str = "actual",
    edges: Sequence[float] | None = None,
    weights: str | None = None,
    fold: str | None = None,
    by: str | Sequence[str] | Mapping[str, str] = (),
    positive: Hashable | None = None,
) -> xr.Dataset:
    """
    Return scores as evidence, from a table with one row per example (two classes).

    The library of the table counts how often each distinct score occurs. The result is exact if
    there are few distinct scores, regardless of the number of rows. Use ``edges`` to bin many
    distinct scores.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        See `bayescm.from_frame`.
    scores : str, sequence of str, or mapping of classifier to column
        Columns of scores.
    actual : str
        Column of true labels.
    edges : sequence of float, optional
        Increasing edges of the bins. A score is replaced by the highest edge that does not exceed
        it, or by minus infinity if it is below all edges. Rates at thresholds among the edges are
        exact. The coordinate ``area_error`` bounds the error of an area: half the proportion of
        pairs that share a bin.
    weights : str, optional
        Column with the number of examples that each row represents.
    fold : str, optional
        Column of folds.
    by : str, sequence of str, or mapping of dim to column, optional
        ``{"group": column}`` or ``{"fold": column}``, as in `bayescm.from_scores`.
    positive : label, optional
        Positive class. By default inferred if the labels are {0, 1} or {False, True}.

    Returns
    -------
    Dataset, dim ``example``
        Evidence as returned by `bayescm.from_scores`, with one weighted example per combination of
        values.

    Raises
    ------
    ValueError
        If a column is missing or has missing values, there are too many distinct scores, or the
        edges are not increasing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"y": [0, 0, 1, 1, 1], "p": [0.12, 0.31, 0.35, 0.77, 0.79]})
    >>> evidence = from_scored_frame(frame, "p", actual="y", edges=[0.25, 0.5, 0.75])
    >>> evidence.score.values.tolist(), evidence.weight.values.tolist()
    ([-inf, 0.25, 0.25, 0.75], [1, 1, 1, 2])
    >>> evidence.area_error.item()
    0.08333333333333333
    """
    names, parts = columns_by_name(scores), columns_by_name(by)
    folds = [] if fold is None else [fold]
    keys = list(dict.fromkeys([actual, *names.values(), *folds, *parts.values()]))
    starts = None if edges is None else _starts(edges)
    counts, number = count_combinations(
        _binned(frame, keys, set(names.values()), starts), keys, weights, "counts"
    )
    counts = counts.sort_values(keys, ignore_index=True)
    values = {name: _scores(counts[column], starts) for name, column in names.items()}
    evidence = from_scores(
        column_of(counts, actual).to_numpy(),
        *(values.values() if isinstance(scores, str) else [values]),
        weights=counts[number].to_numpy(),
        weights_are="counts",
        fold=None if fold is None else counts[fold].to_numpy(),
        by={dim: counts[column].to_numpy() for dim, column in parts.items()},
        positive=positive,
    )
    if starts is None:
        return evidence
    return evidence.assign_coords(area_error=_area_error(evidence))


def _binned(frame, columns, scores, starts):
    """Return the table with bin numbers in place of scores."""
    import narwhals as nw  # needed only here

    table = nw.from_native(frame, pass_through=True)
    if not isinstance(table, nw.DataFrame | nw.LazyFrame):
        raise fail(
            f"A table of pandas or another engine is needed, not a {type(frame).__name__}",
            ...,
            "",
            "use `from_scores` for arrays",
        )
    schema = table.collect_schema()
    for name in columns:
        if not isinstance(name, str):
            todo = "rename the columns: `frame.rename(columns=str)`"
            raise fail("The name of a column must be a string", name, "", todo, TypeError)
        check_column(name, schema)
        if name in scores and not schema[name].is_numeric():
            todo = "name a column of scores"
            raise fail(f"{name} must be a column of scores", str(schema[name]), "", todo, TypeError)
    if starts is None:
        return table
    return table.with_columns(
        *[_bin(nw, name, starts, schema[name].is_float()).alias(name) for name in scores]
    )


def _bin(nw, name, starts, floats):
    """Return the number of the bin of a score, from 1, or 0 if the score is missing."""
    score = nw.col(name)
    missing = score.is_null() | score.is_nan() if floats else score.is_null()

    # Bisection keeps the nested expression shallow: engines recurse into it, and some limit the
    # depth.
    def among(low, high):
        if low == high:
            return nw.lit(low)
        middle = (low + high + 1) // 2
        above = nw.when(score >= float(starts[middle - 1])).then(among(middle, high))
        return above.otherwise(among(low, middle - 1))

    return nw.when(missing).then(nw.lit(0)).otherwise(among(1, len(starts)))


def _starts(edges):
    """Return the lower ends of the bins, which is minus infinity for the first bin."""
    ends = np.asarray(edges, float)
    if ends.ndim != 1 or not ends.size or not (np.diff(ends) > 0).all() or np.isnan(ends).any():
        todo = "pass `edges=np.linspace(0, 1, 1001)[1:-1]`"
        raise fail("`edges` must be increasing numbers", edges, "", todo)
    return np.r_[-np.inf, ends]


def _scores(column, starts):
    """Return the scores or the lower ends of their bins. Raise an error if a bin is missing."""
    if starts is None:
        return column.to_numpy()
    if (column == 0).any():
        raise fail(f"{column.name} has missing values", ..., "", "drop these rows")
    return starts[column.to_numpy().astype(int) - 1]


def _area_error(evidence):
    """Return half the proportion of positive-negative pairs with equal scores."""
    scores, weight = evidence["score"], evidence["weight"].values.astype(float)
    cases = evidence["actual"].values == evidence["positive"].item()
    errors = []
    for scores_of in np.atleast_2d(scores.values):
        _, codes = np.unique(scores_of, return_inverse=True)
        cells = [np.bincount(codes, weight * who) for who in (cases, ~cases)]
        errors.append(cells[0] @ cells[1] / (2 * cells[0].sum() * cells[1].sum()))
    return scores.dims[:-1], errors if scores.ndim > 1 else errors[0]


# Validation of scores


def as_scores(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate scores and return them in canonical order, without examples of weight 0.

    Raises
    ------
    TypeError
        If the evidence is not a Dataset of scores.
    ValueError
        If a value is missing or invalid.
    """
    if not isinstance(evidence, xr.Dataset) or not {"score", "actual"} <= set(evidence.variables):
        got = type(evidence).__name__
        todo = "pass `from_scores(actual, scores)`"
        raise fail("This function needs scores", got, "", todo, TypeError)
    evidence = evidence.transpose("classifier", "example", "class", missing_dims="ignore")
    missing = np.isnan(evidence["score"].values)
    if missing.any():
        at = tuple(int(i) for i in np.argwhere(missing)[0])
        todo = "drop these examples, or score them"
        raise fail(f"A score is missing (NaN) at position {at}", ..., "", todo)
    if "weight" in evidence:
        evidence = _weighted(evidence)
    share = evidence.coords.get("prevalence")
    if share is not None:
        check_share(share.values)
    check_classes(evidence)
    return evidence


def _weighted(evidence):
    weight = evidence["weight"].values
    if weight.dtype.kind not in "iufb":
        raise fail("Weights must be numbers", str(weight.dtype), "", "correct the weights")
    if (bad := weight[~(np.isfinite(weight) & (weight >= 0))][:1]).size:
        raise fail("Weights must be finite numbers >= 0", bad, "", "correct these weights")
    if 0 < weight.sum() < 1e-6:
        todo = "scale them, or pass `weights_are='importance'`"
        raise fail("The weights sum to {}, less than one example", weight.sum(), "", todo)
    if not (weight > 0).any():
        raise fail("Every weight is 0", ..., "", "leave `weights` out")
    return evidence.isel(example=weight > 0) if (weight == 0).any() else evidence


def check_share(prevalence: Any) -> None:
    """Raise an error unless the prevalence is a number inside (0, 1)."""
    share = np.asarray(prevalence)
    if share.ndim or share.dtype.kind not in "iuf" or not 0 < share < 1:
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("`prevalence` must be between 0 and 1", prevalence, "", todo)


# Construction of probabilities


# Tolerance for the sum of an example's probabilities, for values rounded to two or three digits.
_ROUNDING = 0.01


def from_probabilities(
    actual: Any,
    probabilities: Any,
    *,
    positive: Hashable | None = None,
    labels: Sequence | None = None,
    weights: Any = None,
    weights_are: str | None = None,
    fold: Any = None,
    group: Any = None,
    by: Mapping[str, Any] | None = None,
    clip: float | None = None,
) -> xr.Dataset:
    """
    Return the predicted probabilities of one or more classifiers as evidence.

    Use probabilities for calibration, the Brier score and the log loss. All measures of scores are
    available too.

    Parameters
    ----------
    actual : array_like, shape (n,)
        True labels.
    probabilities : array_like or mapping of str to array_like
        Probabilities of the positive class, shape (n,), between 0 and 1. For more than two classes,
        shape (n, C) with rows that sum to 1. A mapping contains the probabilities of several
        classifiers on the same examples.
    positive, labels, weights, weights_are, fold
        As in `from_scores`.
    group : array_like, shape (n,), optional
        Group of each example, such as its site, patient or year. Calibration by group is partially
        pooled, see :func:`bayescm.models.hierarchical_calibration`.
    by : mapping of str to array_like (n,), optional
        ``{"group": site}`` or ``{"fold": fold}``, the same as ``group=site`` or ``fold=fold``.
    clip : float, optional
        Clip probabilities to [clip, 1 - clip]. By default they are not clipped, and the log loss is
        infinite if a probability of exactly 0 or 1 can be wrong.

    Returns
    -------
    Dataset, dim ``example``
        Evidence of scores with the scalar coordinate ``probabilities``.

    Raises
    ------
    ValueError
        If a probability is missing or outside [0, 1], or the probabilities of an example do not sum
        to 1. If a group is missing, or both groups and folds are given.
    TypeError
        If probabilities are not numeric: strings, booleans or dates.

    Examples
    --------
    >>> evidence = from_probabilities([0, 0, 1, 1], {"a": [0.1, 0.4, 0.35, 0.8]})
    >>> evidence["score"].dims, evidence.probabilities.item()
    (('classifier', 'example'), True)
    """
    if clip is not None and not 0 < clip < 0.5:
        raise fail(
            "`clip` must be a small probability, above 0 and below 0.5",
            clip,
            "",
            "pass `clip=1e-6`",
        )
    keywords: dict[str, Any] = {"positive": positive, "labels": labels, "weights": weights}
    keywords |= {"weights_are": weights_are, "fold": fold, "group": group, "by": by}
    evidence = build_scores(actual, probabilities, name="probabilities", **keywords)
    evidence = as_scores(evidence.assign_coords(probabilities=True))
    values = evidence["score"]
    name = "" if not isinstance(probabilities, Mapping) else f" of {_farthest_outside(values)}"
    outside = values.values[(values.values < 0) | (values.values > 1)]
    if outside.size:
        todo = "pass predict_proba, or decision values as scores: `from_scores(actual, scores)`"
        if values.min() >= 0 and 2 < values.max() <= 100:
            todo = "divide percentages by 100"
        raise fail(f"probabilities{name} must be between 0 and 1", outside[0], "", todo)
    if "class" in values.dims:
        total = values.sum("class").values.ravel()
        worst = np.abs(total - 1).argmax()
        if abs(total[worst] - 1) > _ROUNDING:
            todo = "pass one probability per class, e.g. the softmax of the logits"
            got = round(float(total[worst]), 6)
            raise fail("The probabilities of each example must sum to 1", got, "", todo)
    if clip is not None:
        evidence["score"] = values.clip(clip, 1 - clip)
    return evidence


def _farthest_outside(values):
    """Return the classifier with the probability farthest outside [0, 1]."""
    others = [dim for dim in values.dims if dim != "classifier"]
    reach = np.maximum(-values, values - 1).max(others)
    return repr(reach["classifier"].values[reach.values.argmax()].item())


def check_chances(values: Any, what: str, todo: str, *, inside: bool = False) -> np.ndarray:
    """Validate probabilities (T,), which must not be 0 or 1 if ``inside``."""
    try:
        at = np.atleast_1d(check_reals(values, "probabilities", todo))
    except (TypeError, ValueError):
        at = np.array([np.nan])
    held = (at > 0) & (at < 1) if inside else (at >= 0) & (at <= 1)
    if at.ndim != 1 or not len(at) or not held.all():
        raise fail(what, values, f"numbers in {'(0, 1)' if inside else '[0, 1]'}", todo)
    return at


# Validation of probabilities


def as_probabilities(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate probabilities of two classes in a single sample.

    Raises
    ------
    TypeError, ValueError
        If the evidence is not probabilities, has more than two classes, or has folds or groups.
    """
    evidence = as_forecasts(evidence)
    _check_two(evidence)
    return evidence


def as_forecasts(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate probabilities of two or more classes in a single sample.

    Raises
    ------
    TypeError, ValueError
        If the evidence is not probabilities, or has folds or groups.
    """
    evidence = _chances(evidence)
    check_one_sample(evidence, "probabilities")
    return evidence


def as_sites(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate probabilities of two classes in two or more groups.

    Raises
    ------
    TypeError, ValueError
        If the evidence is not probabilities, has fewer than two groups or more than two classes, or
        has importance weights or a fixed prevalence.
    """
    evidence = _chances(evidence)
    if "group" not in evidence:
        todo = "pass the site of each example: `from_probabilities(..., group=site)`"
        raise fail("The evidence has no groups", ..., "", todo)
    _check_two(evidence)
    groups = np.unique(evidence["group"].values)
    if len(groups) < 2:
        raise fail(
            "At least two groups are needed",
            groups,
            "",
            "use drop_vars('group') to treat all examples as one sample",
        )
    if "prevalence" in evidence.coords or "importance" in evidence:
        what = "importance weights" if "importance" in evidence else "a prevalence"
        raise fail(
            f"Groups cannot be combined with {what}",
            ...,
            "",
            "select one group and remove the groups with drop_vars('group')",
        )
    return evidence


def _chances(evidence):
    evidence = as_scores(evidence)
    if "probabilities" not in evidence.coords:
        raise fail(
            "These are scores, not probabilities",
            ...,
            "",
            "if they are probabilities, use `from_probabilities(actual, probabilities)`",
            TypeError,
        )
    return evidence


def _check_two(evidence):
    if "class" in evidence.dims:
        todo = "use one class against the rest: curves.one_vs_rest(evidence, label)"
        raise fail("Two classes are needed", evidence["class"].values.tolist(), "", todo)


def score_arrays(evidence: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return scores, weights and class codes as arrays.

    Returns
    -------
    matrix : ndarray, shape (V, n), or (V, C, n) for more than two classes
    weights : ndarray, shape (n,)
    codes : ndarray of int, shape (n,)
        Class of each example. With two classes, 1 is the positive class.
    """
    truth = evidence["actual"].values
    score = evidence["score"]
    score = score if "classifier" in score.dims else score.expand_dims("classifier")
    matrix = score.transpose("classifier", "class", "example", missing_dims="ignore").values
    weights = evidence["weight"].values if "weight" in evidence else np.ones(len(truth))
    if "class" in score.dims:
        codes = (truth[:, None] == evidence["class"].values).argmax(axis=1)
    else:
        codes = (truth == evidence["positive"].values).astype(int)
    return matrix, weights.astype(float), codes


# Derived scores: another prevalence, one class against the rest, pooled folds


def at_prevalence(evidence: Any, prevalence: Any) -> Any:
    """
    Return counts or scores as evidence at a different prevalence.

    Use this if the classifier will be applied to a population with another class balance.
    Precision, accuracy and F1 change, whereas recall, specificity and the ROC curve do not. The
    default model of counts is then ``fixed_totals``, with this prevalence.

    Parameters
    ----------
    evidence : DataArray or Dataset
        Counts, or scores of two classes.
    prevalence : float, or mapping or array_like of C floats
        Proportion of positives, between 0 and 1. For counts of more than two classes, the
        proportion of each class, by label (a mapping or Series) or in the order of the labels.
        These proportions sum to 1. For scores of more than two classes, use `one_vs_rest` first.

    Returns
    -------
    DataArray or Dataset
        The same data with the coordinate ``prevalence``: a scalar, or one number per class.

    Raises
    ------
    ValueError
        If the prevalence is not a proportion, neither of two classes is positive, counts have
        importance weights or abstentions, or the evidence is partly labelled or contains outcomes
        of several classifiers.

    Examples
    --------
    >>> import bayescm as bcm
    >>> rare = at_prevalence(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), 0.01)
    >>> rare.prevalence.item(), round(float(bcm.measure(rare, "precision")["precision"]), 4)
    (0.01, 0.015)
    >>> three = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=["a", "b", "c"])
    >>> at_prevalence(three, {"a": 0.7, "b": 0.2, "c": 0.1}).prevalence.values
    array([0.7, 0.2, 0.1])
    """
    if "unlabelled" in getattr(evidence, "coords", ()):
        raise fail(
            "A prevalence cannot be set for partly labelled examples, which have their own",
            ...,
            "",
            "use recall and specificity, which do not depend on the prevalence",
        )
    if is_outcomes(evidence):
        todo = "pass the counts of each classifier, `from_predictions(actual, predicted)`"
        raise fail("A prevalence cannot be set for outcomes of several classifiers", ..., "", todo)
    if not (isinstance(evidence, xr.Dataset) and "score" in evidence):
        return _counts_at_prevalence(as_counts(evidence), prevalence)
    evidence = as_scores(evidence)
    if "class" in evidence.dims:
        todo = "use one class against the rest: one_vs_rest(evidence, label)"
        raise fail("A prevalence needs two classes", evidence["class"].values.tolist(), "", todo)
    check_share(prevalence)
    return evidence.assign_coords(prevalence=float(prevalence))


def _counts_at_prevalence(counts, prevalence):
    labels = counts.indexes["actual"].tolist()
    if abstains(counts) or "effective" in counts.coords:
        what = "an abstention" if abstains(counts) else "importance weights"
        raise fail(
            f"A prevalence cannot be set for counts with {what}",
            ...,
            "",
            "weight the examples to match the target population",
        )
    if len(labels) == 2:
        if positive(counts) is None:
            raise fail(
                "A prevalence needs two classes, one of them positive; the classes are {}",
                labels,
                "",
                "pass `positive=...`",
            )
        number = isinstance(prevalence, (int, float, np.number))
        if not number or not 0 < prevalence < 1:
            todo = "pass the proportion of positives, e.g. 0.01"
            raise fail("`prevalence` must be between 0 and 1", prevalence, "", todo)
        return counts.assign_coords(prevalence=float(prevalence))
    if isinstance(prevalence, xr.DataArray) and set(prevalence.coords) == set(prevalence.dims):
        prevalence = prevalence.to_series()
    prevalence = in_label_order(prevalence, labels)
    shares = np.array(np.nan)
    if np.ndim(prevalence) == 1:
        shares = check_reals(prevalence, "proportions of the classes", "pass numbers")
    if shares.shape != (len(labels),) or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise fail(
            f"`prevalence` must have a proportion > 0 for each of {labels}, with sum 1",
            prevalence,
            "",
            "pass e.g. {'a': 0.7, 'b': 0.2, 'c': 0.1}",
        )
    return counts.assign_coords(prevalence=("actual", shares / shares.sum()))


def one_vs_rest(evidence: xr.Dataset, label: Hashable) -> xr.Dataset:
    """
    Return the scores of one class against the rest.

    Parameters
    ----------
    evidence : Dataset
        Scores of three or more classes.
    label : label
        Class to treat as positive.

    Examples
    --------
    >>> from bayescm import from_scores
    >>> proba = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]]
    >>> evidence = from_scores(["a", "b", "c", "b"], proba)
    >>> one_vs_rest(evidence, "b").actual.values
    array([False,  True, False,  True])
    """
    evidence = as_scores(evidence)
    if "class" not in evidence.dims:
        raise fail(
            "One class against the rest needs three or more classes; there are only two",
            ...,
            "",
            "use the scores as they are",
        )
    classes = evidence["class"].values.tolist()
    if label not in classes:
        raise fail("Unknown class {}", label, classes, suggest(label, classes))
    one_class = evidence.sel({"class": label}, drop=True)
    return one_class.assign(actual=evidence["actual"] == label).assign_coords(positive=True)


def top_labels_alike(evidence: xr.Dataset) -> dict[Hashable, bool]:
    """
    Return the classifiers whose most probable class is right for all examples, or for none.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of more than two classes. A single classifier has the key None.
    """
    score = evidence["score"].transpose(..., "example", "class")
    right = score["class"].values[score.values.argmax(axis=-1)] == evidence["actual"].values
    names = score["classifier"].values.tolist() if "classifier" in score.dims else [None]
    rows = dict(zip(names, np.atleast_2d(right), strict=True))
    return {name: bool(row.all()) for name, row in rows.items() if row.all() or not row.any()}


def top_label(evidence: xr.Dataset) -> xr.Dataset:
    """
    Return the highest probability of each example as a forecast of being right.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of more than two classes of one classifier, see `from_probabilities`.

    Returns
    -------
    Dataset
        Probabilities of two classes. An example is positive if its most probable class is correct.
        Among equally probable classes, the first one is used.

    Raises
    ------
    ValueError
        If there are only two classes or several classifiers, or if all examples are right or all
        are wrong.

    Examples
    --------
    >>> from bayescm import from_probabilities
    >>> proba = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]]
    >>> found = top_label(from_probabilities(["a", "b", "c", "b"], proba))
    >>> found.score.values, found.actual.values
    (array([0.7, 0.4, 0.6, 0.5]), array([ True,  True,  True, False]))
    """
    evidence = as_scores(evidence)
    if "class" not in evidence.dims:
        raise fail(
            "The highest probability needs three or more classes; there are only two",
            ...,
            "",
            "use the evidence as it is: both classes have one curve",
        )
    if "classifier" in evidence.dims:
        got = evidence["classifier"].values.tolist()
        todo = f"select one: evidence.sel(classifier={got[0]!r})"
        raise fail("The highest probability needs a single classifier", got, "", todo)
    score = evidence["score"]
    right = score["class"].values[score.values.argmax(axis=-1)] == evidence["actual"].values
    if right.all() or not right.any():
        got = f"{'right' if right.all() else 'wrong'} in all {len(right)} examples"
        raise fail(
            f"Top-label forecasts cannot be evaluated, because they are {got}",
            ...,
            "",
            "use measures of each class, or collect more examples",
        )
    highest = evidence.drop_dims("class").assign(score=score.max("class"))
    right_or_wrong = highest.assign(actual=("example", right)).assign_coords(positive=True)
    return as_scores(right_or_wrong)


def pool_folds(evidence: xr.Dataset, *, ranks: bool) -> xr.Dataset:
    """
    Pool the scores of all folds into one sample.

    Each fold was scored by a different model. If the models share a scale, as calibrated
    probabilities do, pool the scores themselves. Otherwise pool the ranks within folds. Pooling
    ranks assumes that every fold is a random sample of one population, so the folds should be
    stratified.

    Parameters
    ----------
    evidence : Dataset
        Scores with folds.
    ranks : bool
        Whether to replace each score by its mid-rank within the fold, divided by the size of the
        fold.

    Examples
    --------
    >>> from bayescm import from_scores
    >>> evidence = from_scores([0, 1, 0, 1], [0.1, 0.4, 5, 8], fold=[0, 0, 1, 1])
    >>> pool_folds(evidence, ranks=True).score.values
    array([0.25, 0.75, 0.25, 0.75])
    """
    evidence = as_scores(evidence)
    if "fold" not in evidence:
        raise fail("The evidence has no folds", ..., "", "pass `fold=` to from_scores")
    if not ranks:
        return evidence.drop_vars("fold")
    score, fold = evidence["score"], evidence["fold"].values
    values = np.empty(score.shape)
    axis = score.dims.index("example")
    for label in pd.unique(fold):
        part = [slice(None)] * score.ndim
        part[axis] = fold == label
        values[tuple(part)] = _mid_ranks(score.values[tuple(part)], axis)
    return evidence.assign(score=score.copy(data=values)).drop_vars("fold")


def _mid_ranks(values, axis):
    from scipy.stats import rankdata

    return (rankdata(values, axis=axis) - 0.5) / values.shape[axis]


# Default measures for two and for more classes. Measures of curves need a single sample.
_CALIBRATION = ("calibration_slope", "calibration_intercept", "calibration_in_the_large")
_PROPER = ("brier", "brier_skill")
_OF_TWO, _CURVE_OF_TWO = ("auc", *_CALIBRATION, *_PROPER), ("ece",)
_OF_MANY = ("auc_macro", *_PROPER)
# Without two different forecasts, no line can be fitted.
_NEED_TWO_VALUES = ("calibration_slope", "calibration_intercept")
_CURVES_OF_MANY = ("ece_macro", "ece_top_label", "ece_full")


def _measures_of_probabilities(evidence):
    several = "class" in evidence.dims
    measures: tuple[str, ...] = _OF_MANY if several else _OF_TWO
    of_curves: tuple[str, ...] = _CURVES_OF_MANY if several else _CURVE_OF_TWO
    if several and top_labels_alike(evidence):
        of_curves = tuple(name for name in of_curves if not name.endswith("_top_label"))
    if not every_class_occurs(evidence):
        # A class without examples has neither an area nor a calibration curve.
        measures, of_curves = _PROPER, tuple(n for n in of_curves if n.endswith("_top_label"))
    if not several and not forecasts_differ(evidence):
        measures = tuple(name for name in measures if name not in _NEED_TWO_VALUES)
    return [*measures, *(of_curves if slice_name(evidence) is None else ())]


def every_class_occurs(evidence: xr.Dataset) -> bool:
    """Return True if each class has examples, so that it has a curve."""
    labels: Any = evidence["class"].values if "class" in evidence.dims else []
    return bool(np.isin(labels, evidence["actual"].values).all())


def forecasts_differ(evidence: xr.Dataset) -> bool:
    """Return True if every classifier has two different forecasts, so that a line can be fitted."""
    return bool((np.ptp(np.atleast_2d(evidence["score"].values), axis=1) > 0).all())


def _number_of_examples(evidence):
    weighted = "weight" in evidence
    return float(evidence["weight"].sum()) if weighted else evidence.sizes["example"]


def _weights_are_whole(evidence):
    return "weight" not in evidence or not (evidence["weight"].values % 1).any()


def _combine(members, dim, names):
    return as_scores(combine_examples(members, dim, names))


# Batches of a monitor

_CLASS_FORECASTS = "class_forecasts"
_GRID = 0.01  # grid spacing of probabilities
_LEAST = 0.0025  # smallest probability: the middle of the first bin for two classes


def forecast_table(
    actual: Any,
    forecasts: Any = None,
    *,
    positive: Hashable | None = None,
    edges: Sequence[float] | None = None,
    kind: str = "probabilities",
) -> xr.DataArray:
    """
    Return the number of examples of each class in each forecast bin.

    Parameters
    ----------
    actual : array_like, shape (n,), or Dataset
        True labels of two classes. A batch may lack one of the classes. Alternatively, evidence
        of one classifier, as returned by :func:`bayescm.from_probabilities` or
        :func:`bayescm.from_scores`.
    forecasts : array_like, shape (n,)
        Forecasts of the positive class.
    positive : label, optional
        Positive class. By default inferred if the labels are {0, 1} or {False, True}.
    edges : sequence of float, optional
        Increasing edges of the bins. A forecast on an edge belongs to the bin above. Probabilities
        have by default 48 bins, which are narrower near 0 and 1. Scores below the first edge and
        above the last edge have additional bins.
    kind : {"probabilities", "scores"}, default "probabilities"
        Type of the forecasts. Ignored if ``actual`` is evidence.

    Returns
    -------
    DataArray, dims (actual, bin)
        Counts, with the positive class last. The attribute ``edges`` lists the edges of the bins,
        and ``chances`` states whether the forecasts are probabilities.

    Raises
    ------
    ValueError
        If a forecast is missing or outside [0, 1], there are more than two classes, or the edges
        are not increasing.

    Examples
    --------
    >>> table = forecast_table([0, 0, 1], [0.1, 0.3, 0.8], edges=[0, 0.25, 0.5, 1])
    >>> table.values
    array([[1, 1, 0],
           [0, 0, 1]])
    """
    if isinstance(actual, xr.Dataset):
        actual, forecasts, positive, kind = _columns_of(actual)
    return bin_forecasts(actual, forecasts, positive=positive, edges=edges, kind=kind)


def _columns_of(evidence):
    """Return true labels, forecasts, positive class and type of the evidence of one classifier."""
    evidence = as_scores(evidence)
    if "class" in evidence.dims or "classifier" in evidence.dims:
        todo = "select one: evidence.sel(classifier=...), curves.one_vs_rest(evidence, label)"
        raise fail(
            "A batch of scores needs one classifier and two classes; got dimensions {}",
            evidence.dims if isinstance(evidence.dims, tuple) else tuple(map(str, evidence.dims)),
            "",
            todo,
        )
    _check_single_examples(evidence)
    kind = "probabilities" if "probabilities" in evidence.coords else "scores"
    return evidence["actual"].values, evidence["score"].values, evidence["positive"].item(), kind


def _check_single_examples(evidence):
    """Raise an error if examples have weights, folds or groups, or if the prevalence is fixed."""
    further = sorted({"weight", "fold", "group", "prevalence"} & {*evidence.variables})
    if further:
        raise fail(
            "A batch of scores cannot have {}",
            further,
            "",
            "leave out weights, folds, groups and a fixed prevalence",
        )


def as_batch(evidence: xr.Dataset | xr.DataArray, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return forecasts in the form stored by a ledger.

    The dimensions are (actual, bin) for two classes and (pattern) for more. The edges of the bins
    are taken from ``like`` if it has edges.

    Raises
    ------
    ValueError
        If there are several classifiers, folds, groups, weights or a fixed prevalence.
    """
    edges = None if like is None else like.attrs.get("edges")
    if isinstance(evidence, xr.Dataset) and "class" in evidence.dims:
        return _as_class_forecasts(evidence, edges, like)
    if isinstance(evidence, xr.DataArray):
        table = evidence
    else:
        table = forecast_table(evidence, edges=edges)
    labels = table.indexes["actual"].tolist()
    if pd.isna(labels[0]):  # the batch has no negative example
        before = None if like is None or "actual" not in like.coords else like
        if before is None or positive(before) != positive(table):
            raise fail(
                "The first batch has only the class {}",
                labels[1],
                "",
                "begin with a batch that has both classes, or use the labels 0 and 1",
            )
        table = table.assign_coords(actual=before.indexes["actual"])
    return table


def _as_class_forecasts(evidence, edges, like):
    """Return probabilities of three or more classes, rounded to a grid, as counts of patterns."""
    if edges is not None and "chances" not in like.attrs:
        raise fail(
            "`edges` have no effect with three or more classes",
            ...,
            "",
            "leave `edges` out; the grid is fixed",
        )
    evidence = as_scores(evidence)
    _check_single_examples(evidence)
    values = evidence["score"].transpose("example", "class").values
    steps = np.maximum(np.round(values / _GRID), _LEAST / _GRID)
    rows = zip(evidence["actual"].values.tolist(), steps.tolist(), strict=True)
    patterns = [[truth, row] for truth, row in rows]
    facts = {"labels": evidence["class"].values.tolist(), "positive": None}
    return pattern_table(patterns, np.ones(len(patterns)), _CLASS_FORECASTS, facts)


def class_forecasts(table: xr.DataArray) -> xr.Dataset:
    """Return probabilities, weighted by the counts (pattern) of their patterns."""
    table = table[table.values > 0]
    if table.dtype.kind == "f" and (table.values != np.round(table.values)).any():
        raise fail(
            "`forgetting` is not available here, because it produces fractional counts",
            ...,
            "",
            "use `window=`, the number of most recent batches to include",
        )
    patterns = [json.loads(text) for text in table["pattern"].values.tolist()]
    steps = np.array([row for _, row in patterns], float)
    return from_probabilities(
        [truth for truth, _ in patterns],
        steps / steps.sum(axis=1, keepdims=True),
        labels=table.attrs["labels"],
        weights=table.values.astype(int),
        weights_are="counts",
    )


def add_batches(
    batches: Sequence[PatternCounts], like: xr.DataArray, coords: Mapping[str, np.ndarray]
) -> xr.Dataset:
    """Return the examples in batches of class probabilities as evidence."""
    if is_binned(like):
        raise fail(
            "Tables of bins cannot be used as single examples",
            ...,
            "",
            "use the monitor's batches(), which are tables of bins",
        )
    counted = class_forecasts(patterns_of_batches(batches, like).sum("step", keep_attrs=True))
    rows = np.repeat(np.arange(counted.sizes["example"]), counted["weight"].values.astype(int))
    return counted.isel(example=rows).drop_vars("weight")


def _sizes(tables):
    """Return the number of examples of each batch."""
    return number_of_examples(tables) if has_patterns(tables) else tables.sum(("actual", "bin"))


def _watched_measures(tables):
    """Return the default measures of a monitor."""
    if has_patterns(tables):
        return ["log_loss", "brier"]
    of_chances = ["auc", "brier", "calibration_in_the_large", "calibration_slope"]
    return of_chances if tables.attrs["chances"] else ["auc"]


def _alarm_rules(tables):
    """Return the alarm rules of batches. Scores lack the expected events that `change` needs."""
    if has_patterns(tables):
        return ("floor",)
    of_forecasts = ("calibration", "floor")
    return ("change", *of_forecasts) if tables.attrs["chances"] else of_forecasts


def _model_of_probabilities(evidence, keywords, members=None, compared=None):
    """Return the default model of probabilities, including tables of batches."""
    if is_binned(evidence):
        return DefaultModel("binned_forecasts", evidence)
    if has_patterns(evidence):
        evidence = class_forecasts(evidence)
    return model_of_probabilities(evidence, keywords, members, compared)


SCORES = EvidenceType(
    name="scores",
    made_by="from_scores",
    unit="examples",
    matches=lambda evidence: isinstance(evidence, xr.Dataset) and "score" in evidence,
    canonical=as_scores,
    default_model=model_of_scores,
    # Binned scores share the batch form of binned probabilities.
    batch_forms=(BINNED,),
    as_batch=as_batch,
    sentences=describe_scores,
    combine=_combine,
    resample=resample_rows("example"),
    default_measures=lambda scores: ["auc", "average_precision"],
    size=_number_of_examples,
    values=lambda scores: scores["score"],
    has_cells=False,
    is_whole=_weights_are_whole,
    columns=Columns(
        (("score",),),
        ("actual", "positive", "numeric_labels", "fold", "group", "weights", "weights_are"),
    ),
)

PROBABILITIES = EvidenceType(
    name="probabilities",
    made_by="from_probabilities",
    unit="examples",
    matches=lambda evidence: (
        isinstance(evidence, xr.Dataset) and "probabilities" in evidence.coords
    ),
    canonical=as_scores,
    default_model=_model_of_probabilities,
    sentences=describe_probabilities,
    combine=_combine,
    resample=resample_rows("example"),
    default_measures=_measures_of_probabilities,
    size=_number_of_examples,
    values=lambda evidence: evidence["score"],
    has_cells=False,
    is_whole=_weights_are_whole,
    batch_forms=(BINNED, _CLASS_FORECASTS),
    watched_measures=_watched_measures,
    as_batch=as_batch,
    add=add_batches,
    batch_sizes=_sizes,
    change_statistic=lambda tables: None if has_patterns(tables) else events_of(tables),
    changing="outcomes",
    alarm_rules=_alarm_rules,
    one_by_one=has_patterns,
    columns=Columns(
        (("probability",),),
        ("actual", "positive", "numeric_labels", "fold", "group", "weights", "weights_are", "clip"),
    ),
)
