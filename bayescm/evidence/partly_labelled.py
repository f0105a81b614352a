"""
Partly labelled evidence: a judge labels all examples, and people label some of them.

A stratum is a combination of the judge's label and the variables that determined which examples
were labelled. For one classifier, the evidence is a DataArray of counts (..., judge, actual,
predicted) of the labelled examples by stratum. The coordinate ``unlabelled`` (..., judge,
predicted) counts the other examples.

For several classifiers, the evidence is outcomes by stratum, with ``counts`` (..., judge, outcome).
In addition to the coordinates of outcomes, there are ``unlabelled`` (..., judge, answers) and
``answered`` (classifier, answers).
"""

import json
import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import (
    CELLS,
    TABULATED,
    abstains,
    as_counts,
    combine_counts,
    concat_along,
    default_measures,
    make_counts,
    positive,
)
from bayescm.evidence.default_models import model_of_partly_labelled
from bayescm.evidence.descriptions import describe_counts
from bayescm.evidence.evidence_type import (
    ChangeStatistic,
    Columns,
    DefaultModel,
    EvidenceType,
    number_of,
)
from bayescm.evidence.labels import (
    as_labels,
    check_exact,
    check_no_dates,
    check_no_missing_text,
    check_plain_labels,
    default_labels,
)
from bayescm.evidence.outcomes import (
    as_outcomes,
    combine_outcomes,
    from_classifiers,
    is_outcomes,
    matrices_of,
)
from bayescm.evidence.patterns import (
    PatternCounts,
    has_patterns,
    number_of_examples,
    pattern_table,
    patterns_of_batches,
    watched_measures,
)
from bayescm.evidence.resampling import check_no_parts, draw_numbers
from bayescm.evidence.tabulate import (
    Axis,
    as_sequence,
    axes_of,
    check_one_axis,
    check_sizes,
    column,
    factorize,
    tabulate,
)
from bayescm.validate import Advice, check_choice, check_counts, check_row_order, fail


def from_partly_labelled(
    actual: Any,
    predicted: Any = None,
    judge: Any = None,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    abstain: Hashable | None = None,
    design: Any = None,
    transfer: Literal["errors"] | None = None,
    by: Mapping[str, Any] | None = None,
) -> xr.DataArray | xr.Dataset:
    """
    Return counts of examples that are all labelled by a judge, and some by people.

    Use this if labels are expensive, but a model or heuristic can judge every example. The human
    labels correct the errors of the judge.

    Parameters
    ----------
    actual : array_like, shape (n,)
        True labels, missing (None, NaN or NA) for examples that nobody labelled.
    predicted : array_like, shape (n,), or mapping of these, optional
        Predictions of a classifier, or of several classifiers by name to `compare` them. Without
        predictions, the judge's labels are used as predictions (the scalar coordinate
        ``classified`` records this). The measure of interest is then usually ``"prevalence"``, the
        true proportion of the positive class.
    judge : array_like, shape (n,), or mapping of these, optional
        Judge's label or score of every example. Labels can be of any kind. A score is cut at its
        quantiles into two to five bins, one for every ten human labels. With several judges, each
        combination of labels is a stratum.
    labels : sequence, optional
        All class labels. By default the labels in ``actual`` and ``predicted``.
    positive : label, optional
        Positive class. By default inferred if the labels are {0, 1} or {False, True}.
    abstain : label, optional
        Label that marks an abstention, as in `bayescm.from_predictions`.
    design : array_like, shape (n,), or mapping of these, optional
        Variables that determined which examples were labelled, such as the site or month. Labelled
        examples are assumed to be a random sample within each combination.
    transfer : {"errors"}, optional
        Pass ``"errors"`` if the labelled examples come from another population with a different
        prevalence. Then only the error rates of judge and classifier are transferred, and results
        refer to the population of the unlabelled examples. The default model is
        ``transferred_errors``. At most one classifier is supported.
    by : mapping of str to array_like (n,), optional
        Leading dimensions, e.g. ``{"sex": sex}``. Slices are independent of each other.

    Returns
    -------
    DataArray, dims (..., judge, actual, predicted), or Dataset for a mapping of classifiers
        Counts of the labelled examples. The coordinate ``unlabelled`` (judge, predicted) counts the
        other examples. For several classifiers, outcomes as returned by `bayescm.from_classifiers`,
        with the coordinate ``unlabelled`` for the other examples.

        The default model of both is ``partly_labelled``. It assumes that the labelled examples are
        a random sample of the examples with the same prediction and the same label by the judge.

    Raises
    ------
    ValueError
        If nothing is labelled, lengths differ, or both predictions and judge are missing.

    Warns
    -----
    UserWarning
        If the judge gives all examples the same label or does not improve the estimates, if many
        examples are in strata without labels, or if a slice has no labels.

    Examples
    --------
    >>> import bayescm as bcm
    >>> human = [1, 0, 1, 1] + [None] * 6
    >>> judge = [1, 0, 1, 0, 1, 1, 0, 1, 0, 1]
    >>> counts = from_partly_labelled(human, judge=judge)
    >>> int(counts.sum()), int(counts.unlabelled.sum())
    (4, 6)
    >>> bool(0 < bcm.interval(counts, "prevalence", of="finite").values[0])
    True
    """
    if transfer is not None:
        _check_transfer(transfer, predicted, abstain)
    if predicted is None and judge is None:
        raise fail(
            "Labels alone are not enough",
            ...,
            "",
            "pass `predicted=`, `judge=` or both; for labels alone, use bcm.answers.proportion",
        )
    columns = {"actual": actual, "predicted": predicted, "judge": judge}
    check_row_order(columns | {"design": design, "by": by})
    values, is_labelled = _human_labels(actual)
    if not is_labelled.any():
        raise fail(
            "None of the {} examples is labelled", len(is_labelled), "", "label some examples"
        )
    options = {"labels": labels, "positive": positive, "abstain": abstain}
    axes = axes_of(by, TAKEN)
    check_sizes(
        {"actual": len(is_labelled)} | {name: len(axis.codes) for name, axis in axes.items()}
    )
    if isinstance(predicted, Mapping):
        stratum, names = strata(judge, design, len(is_labelled), is_labelled.sum())
        outcomes = outcomes_of(values, is_labelled, predicted, (stratum, names), axes, **options)
        warn_of_slices(outcomes["counts"], axes)
        if judge is not None:
            warn_of_judge(*pooled_strata(outcomes), varies=len(names) > 1)
        return outcomes
    answers, other, classified = _classified(
        predicted, judge, values, len(is_labelled), labels, abstain
    )
    stratum, names = strata(other, design, len(is_labelled), is_labelled.sum())
    answer_labels = column("predicted", answers)
    check_sizes(
        {"actual": len(is_labelled), "predicted": len(answer_labels), "judge": len(stratum)}
    )
    counts = _counted(values, is_labelled, answer_labels, (stratum, names), axes, **options)
    warn_of_slices(counts, axes)
    counts = counts.assign_coords(classified=classified)
    as_counts(counts)  # raises an error if the abstention is a class
    if transfer is not None:
        return counts.assign_coords(transfer=transfer)
    if other is not None or predicted is None:
        varies = len(names) > 1 or (other is None and len(pd.unique(np.asarray(answer_labels))) > 1)
        warn_of_judge(*pooled_strata(counts), varies=varies)
    return counts


def from_partly_labelled_counts(
    labelled: Any,
    unlabelled: Any,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    judge: Sequence | None = None,
) -> xr.DataArray:
    """
    Return the evidence of `from_partly_labelled` from counts.

    Parameters
    ----------
    labelled : array_like, shape (C, C) or (J, C, C)
        Confusion matrix of the labelled examples, with actual classes in rows. If there is a judge
        in addition to the classifier, one matrix for each label of the judge.
    unlabelled : array_like, shape (C,) or (J, C)
        Number of unlabelled examples with each prediction.
    labels, positive
        See `bayescm.from_matrix`.
    judge : sequence, optional
        Labels of the judge.

    Returns
    -------
    DataArray, dims (judge, actual, predicted)

    Raises
    ------
    ValueError
        If the shapes are inconsistent, or nothing is labelled.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
    >>> bool(bcm.interval(counts, "prevalence").values[0] > 0.4)
    True
    """
    # The labelled table has the predictions in columns, and the unlabelled one has them in rows.
    across = labelled.T if isinstance(labelled, pd.DataFrame) else None
    check_row_order({"labelled": labelled, "labelled.T": across, "unlabelled": unlabelled})
    table = check_counts(labelled, todo="count whole examples")
    table = table[None] if table.ndim == 2 else table
    rest = np.atleast_2d(
        check_counts(
            unlabelled, name="a number of unlabelled examples", todo="count whole examples"
        )
    )
    if table.ndim != 3 or table.shape[-1] != table.shape[-2] or rest.shape != table.shape[::2]:
        got = {"labelled": table.shape, "unlabelled": rest.shape}
        raise fail(
            "The shapes of the counts do not match: {}",
            got,
            "(J, C, C) and (J, C)",
            "count labelled examples by actual and predicted, and others by predicted",
        )
    if not table.any():
        raise fail("No example is labelled", ..., "", "label some examples")
    names = [f"judge {number}" for number in range(len(table))] if judge is None else list(judge)
    check_sizes({"labelled": len(table), "judge": len(names)})
    classes = as_labels(range(table.shape[-1]) if labels is None else labels)
    counts = make_counts(table, classes, positive, ("judge",), {"judge": names})
    return counts.assign_coords(unlabelled=(("judge", "predicted"), rest))


def judgements(
    actual: Any, predicted: Any = None, judge: Any = None, *, design: Any = None, **options: Any
) -> tuple[pd.DataFrame, np.ndarray]:
    """
    Return the judge's labels and predictions, and which examples have a human label.

    Parameters
    ----------
    actual, predicted, judge, design
        As in `from_partly_labelled`.
    **options
        ``labels`` and ``abstain`` of `from_partly_labelled`.

    Returns
    -------
    said : DataFrame
        Column ``judge`` with the name of the stratum, and column ``predicted``. With several
        classifiers, one column ``predicted_NAME`` per classifier.
    seen : ndarray of bool, shape (n,)
        Mask of the labelled examples.
    """
    columns = {"actual": actual, "predicted": predicted, "judge": judge, "design": design}
    check_row_order(columns)
    values, is_labelled = _human_labels(actual)
    several = isinstance(predicted, Mapping)
    if not several:
        coding = options.get("labels"), options.get("abstain")
        predicted, judge, _ = _classified(predicted, judge, values, len(is_labelled), *coding)
    stratum, names = strata(judge, design, len(is_labelled), is_labelled.sum())
    by_name = (
        {f"predicted_{name}": labels_of for name, labels_of in predicted.items()}
        if several
        else None
    )
    answers = {
        name: np.asarray(labels_of)
        for name, labels_of in (by_name or {"predicted": predicted}).items()
    }
    check_sizes(
        {"judge": len(stratum)} | {name: len(labels_of) for name, labels_of in answers.items()}
    )
    return pd.DataFrame({"judge": np.array(names, object)[stratum]} | answers), is_labelled


# Labels of people, predictions and labels of a judge


def _check_transfer(transfer, predicted, abstain):
    check_choice("transfer", transfer, ["errors"])
    if isinstance(predicted, Mapping):
        raise fail(
            "`transfer` needs exactly one classifier",
            list(predicted),
            "",
            "use one classifier at a time; to compare classifiers, pass labels of these "
            "examples without `transfer=`",
        )
    if abstain is not None:
        raise fail(
            f"`transfer` cannot be combined with `abstain={abstain!r}`",
            ...,
            "",
            "leave out the examples with abstentions, or name the label as a class in `labels=`",
        )


def _human_labels(actual):
    """Return the human labels, and a mask (n,) of the examples that have one."""
    actual = as_sequence(actual)
    check_one_axis("actual", actual)
    truth = pd.Series(actual).reset_index(drop=True)
    is_labelled = truth.notna().to_numpy()
    return column("actual", _typed(truth[is_labelled].infer_objects())), is_labelled


def _typed(values):
    """Convert labels that became floats because of missing values back to integers."""
    whole = pd.api.types.is_float_dtype(values.dtype) and (values % 1 == 0).all()
    if whole:
        check_exact("actual", values.to_numpy(float))
    return (values.astype("int64") if whole else values).to_numpy()


def _classified(predicted, judge, values, n, labels, abstain):
    """Return the predictions, the judge as a separate source, and the source of the predictions."""
    if predicted is not None:
        return predicted, judge, "classifier"
    if _is_labels(judge, values, labels, abstain):
        return judge, None, "judge"
    return np.full(n, values[0]), judge, "nothing"  # predictions do not affect the prevalence


def _is_labels(judge, values, labels, abstain):
    """Return True if the judge's labels are classes, so that they can be right or wrong."""
    if isinstance(judge, Mapping) or is_score(judge) or pd.isna(pd.Series(judge)).any():
        return False
    answers = set(pd.unique(np.asarray(column("judge", judge)))) - {abstain}
    if labels is not None:
        return answers <= set(labels)
    judgements = set(pd.unique(values))
    unknown = sorted(map(str, answers - judgements))
    if len(unknown) == len(answers):  # different coding, such as 0 and 1 for yes and no
        return False
    if unknown and len(judgements) > 1:
        what = (
            f"The judge uses the labels {unknown}, which people do not use; they are treated as "
            "classes"
        )
        todo = "pass `labels=` with all classes, or `abstain=` if one of them marks an abstention"
        warnings.warn(Advice(what, todo), stacklevel=3)
    return True


# Counts of one classifier and outcomes of several


def _counted(values, is_labelled, answers, strata, axes, *, labels, positive, abstain):
    """Return counts of labelled examples by stratum, with the coordinate ``unlabelled``."""
    stratum, names = strata
    classes = _all_classes(values, answers, labels, abstain)
    stratum, lead, coords = slice_codes(stratum, names, axes)
    size = math.prod(lead)
    table, _, _ = tabulate(
        values, answers[is_labelled], labels=classes, by={"judge": stratum[is_labelled]}
    )
    full = np.zeros((size, len(classes), len(classes)), np.int64)
    full[np.unique(stratum[is_labelled])] = table
    every, _, _ = tabulate(answers, answers, labels=classes, by={"judge": stratum})
    others = np.zeros((size, len(classes)), np.int64)
    others[np.unique(stratum)] = np.einsum("jpp->jp", every)
    others = (others - full.sum(axis=1)).reshape(*lead, -1)
    full = full.reshape(*lead, *full.shape[1:])
    counts = make_counts(full, classes, positive, tuple(coords), coords, abstain)
    return counts.assign_coords(unlabelled=((*coords, "predicted"), others))


def _all_classes(values, answers, labels, abstain):
    """Return all class labels, followed by the abstention label."""
    if labels is None:
        present = {*factorize("actual", values)[1], *factorize("predicted", answers)[1]} - {abstain}
        labels = default_labels(sorted(present, key=str), present, values)
    classes = as_labels(labels)
    if abstain is not None and abstain not in classes.tolist():
        classes = as_labels([*classes.tolist(), abstain])
    return classes


# Reserved names, which are not allowed for leading dimensions of partly labelled evidence.
TAKEN = ("fold", "repeat", "classifier", "judge", "outcome", "label", "answers")


def outcomes_of(
    values: Any,
    is_labelled: np.ndarray,
    predicted: Mapping[str, Any],
    strata: tuple[np.ndarray, list[str]],
    axes: Mapping[str, Axis],
    *,
    labels: Any = None,
    **options: Any,
) -> xr.Dataset:
    """
    Return outcomes of labelled examples by stratum, and counts of the unlabelled ones.

    Parameters
    ----------
    values : array
        Labels of the labelled examples.
    is_labelled : ndarray of bool, shape (n,)
        Mask of the labelled examples.
    predicted : mapping of str to array_like (n,)
    strata : (ndarray of int (n,), list of str)
    axes : mapping of str to Axis
        Positions of the examples along the leading dimensions.
    labels, **options
        As in `bayescm.from_classifiers`.

    Returns
    -------
    Dataset
        Outcomes with ``counts`` (..., judge, outcome) and the additional coordinates ``unlabelled``
        (..., judge, answers) and ``answered`` (classifier, answers).
    """
    stratum, names = strata
    answer_columns = {
        name: column(f"predicted by {name}", labels_of) for name, labels_of in predicted.items()
    }
    check_sizes(
        {"actual": len(is_labelled), "judge": len(stratum)}
        | {k: len(v) for k, v in answer_columns.items()}
    )
    if labels is None:
        present = set(pd.unique(values)).union(
            *(set(pd.unique(labels_of)) for labels_of in answer_columns.values())
        )
        present -= {options.get("abstain")}
        labels = default_labels(sorted(present, key=str), present, values)
    stratum, lead, slices = slice_codes(stratum, names, axes)
    size, dims = math.prod(lead), tuple(slices)
    by = {"judge": stratum[is_labelled]}
    labelled_answers = {name: labels_of[is_labelled] for name, labels_of in answer_columns.items()}
    listed = as_labels(labels).tolist()
    outcomes = from_classifiers(values, labelled_answers, labels=listed, by=by, **options)
    full = np.zeros((size, outcomes.sizes["outcome"]), np.int64)
    full[np.unique(stratum[is_labelled])] = outcomes["counts"].values
    answers, others = _answers(
        answer_columns, stratum, ~is_labelled, outcomes["label"].values, size
    )
    kept = outcomes.drop_vars(["counts", "judge"])
    coords = slices | {
        "unlabelled": ((*dims, "answers"), others.reshape(*lead, -1)),
        "answered": (("classifier", "answers"), answers),
    }
    counts = ((*dims, "outcome"), full.reshape(*lead, -1))
    return as_outcomes(kept.assign(counts=counts).assign_coords(coords))


def _answers(answer_columns, stratum, rest, labels, judges):
    """Return the distinct combinations of predictions (J, A), and their unlabelled counts."""
    parts = [
        pd.Categorical(column[rest], categories=labels).codes for column in answer_columns.values()
    ]
    codes = np.stack(parts).astype(np.int64)
    if not rest.any():
        return labels[codes], np.zeros((judges, 0), np.int64)
    answers, which = np.unique(codes, axis=1, return_inverse=True)
    number = answers.shape[1]
    index = stratum[rest] * number + which.ravel()
    return labels[answers], np.bincount(index, minlength=judges * number).reshape(judges, number)


def slice_codes(
    stratum: np.ndarray, names: Sequence[str], axes: Mapping[str, Axis]
) -> tuple[np.ndarray, tuple[int, ...], dict[str, Any]]:
    """Return codes (n,) of slice and stratum combined, their shape, and their coordinates."""
    code, lead = np.zeros(len(stratum), np.intp), [len(axis.values) for axis in axes.values()]
    for axis in axes.values():
        code = code * len(axis.values) + axis.codes
    coords = {name: axis.values for name, axis in axes.items()} | {"judge": list(names)}
    return code * len(names) + stratum, (*lead, len(names)), coords


def combine_partly_labelled(
    members: Sequence[Any], dim: str, names: list | None
) -> xr.DataArray | xr.Dataset:
    """Return partly labelled evidence combined along a dimension of slices, see `combine`."""
    if dim in TAKEN:
        raise fail(
            f"Partly labelled evidence cannot be combined along {dim}",
            ...,
            "",
            "use the name of slices, e.g. `dim='site'`",
        )
    if len({is_outcomes(member) for member in members}) > 1:
        raise fail(
            "Only some of the evidence names its classifier",
            ...,
            "",
            "pass predictions as {name: predictions}",
        )
    # Slices are independent, so a stratum that is missing in one of them has zero examples there.
    judges = list(dict.fromkeys(x for member in members for x in member["judge"].values.tolist()))
    members = [member.reindex(judge=judges, fill_value=0) for member in members]
    if is_outcomes(members[0]):
        return combine_outcomes(members, dim, names)
    counts = combine_counts([member.drop_vars("unlabelled") for member in members], dim, names)
    labels = counts["actual"].values.tolist()
    rest = [member["unlabelled"].reset_coords("unlabelled", drop=True) for member in members]
    rest = [each.reindex(predicted=labels, fill_value=0) for each in rest]
    unlabelled = concat_along(rest, dim, names).transpose(dim, ..., "judge", "predicted")
    return counts.assign_coords(unlabelled=unlabelled.variable)


# Strata: combinations of the judge's labels and the variables of the sampling design


BINS = 5  # maximum number of bins of a score
LABELS_A_BIN = 10  # number of human labels per bin, if there are more than two bins


def strata(
    judge: Any, design: Any, size: int, labels: int | None = None
) -> tuple[np.ndarray, list[str]]:
    """
    Return the stratum (n,) of every example, and the names of the strata.

    Parameters
    ----------
    judge : array_like (n,), mapping of these, or None
        Labels or scores of the judge. With several judges, each combination is a stratum.
    design : array_like (n,), mapping of these, or None
        Variables that determined which examples were labelled.
    size, labels : int
        Number of examples, and number of labelled examples.
    """
    parts = []
    for name, labels_or_scores in {"judge": judge, "design": design}.items():
        columns = (
            labels_or_scores.values()
            if isinstance(labels_or_scores, Mapping)
            else [labels_or_scores]
        )
        for values in columns:
            if values is not None:
                parts.append(_part(name, values, size, labels or size))
    if not parts:
        return np.zeros(size, int), ["all"]
    codes = np.unique(np.stack([part.codes for part in parts]), axis=1, return_inverse=True)
    rows, stratum = codes
    names = [
        " ".join(str(part.categories[code]) for part, code in zip(parts, row, strict=True))
        for row in rows.T
    ]
    return stratum.ravel(), names


def _part(name, values, size, labels):
    """Return the labels of a judge, or the values of a design variable, as a categorical."""
    values = as_sequence(values)
    check_one_axis(name, values)
    if is_score(values):
        array = _numbers(values).astype(float)
        if np.isnan(array).any():
            raise _missing(name, np.isnan(array).sum())
        bins = pd.Categorical(_bin_scores(array, int(np.clip(labels // LABELS_A_BIN, 2, BINS))))
    else:
        array = pd.Series(values).reset_index(drop=True)
        if len(array) and isinstance(array.iloc[0], tuple):
            check_plain_labels(array[:1], f"labels of {name}")
        if array.dtype == object and len(array) and np.ndim(array.iloc[0]):
            raise fail(
                f"{name} must be labels, not a list of {{}} columns",
                len(array),
                "",
                "pass one label per example; pass several judges as a mapping by name",
                TypeError,
            )
        if array.isna().any():
            raise _missing(name, array.isna().sum())
        bins = pd.Categorical(column(name, array))
        _check_answers(name, bins.categories)
    check_sizes({name: len(bins), "actual": size})
    return bins


def _check_answers(name, answers):
    """Raise an error if a judge's label, or a value of the design, looks like a missing value."""
    todo = f"give examples without a {name} their own {name}, e.g. 'none'"
    check_no_missing_text(answers, f"the values of {name}", todo)
    if name == "judge":
        check_no_dates(answers, "the judge's answers")
    texts = [answer for answer in answers if isinstance(answer, str)]
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
    if texts and numbers.notna().all() and (numbers % 1 > 0).any():
        raise fail(
            f"The values of {name} are scores stored as text: {{}}",
            texts[:4],
            "",
            "convert them first, e.g. with pandas.to_numeric",
        )


def _missing(name, number):
    return fail(
        f"The {name} has {{}} missing values",
        number,
        "",
        "use a separate label for missing values",
    )


def is_score(values: Any) -> bool:
    """Return True if a judge's output contains fractional numbers."""
    array = _numbers(values)
    with np.errstate(invalid="ignore"):
        return array.dtype.kind == "f" and bool((array % 1 > 0).any())


def _numbers(values):
    """Return labels as an array, converted to floats if they are objects that are all numbers."""
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return array
    blank = pd.isna(array)
    whole = all(isinstance(value, Real | Decimal) for value in array[~blank].tolist())
    return np.where(blank, np.nan, array).astype(float) if whole else array


def _bin_scores(scores, bins):
    """Return the bin of every score. Equal scores have the same bin."""
    edges = np.quantile(scores, np.linspace(0, 1, bins + 1))
    if (np.diff(edges) > 0).all():
        return pd.qcut(scores, bins, labels=False)
    # Tied scores have a common mid-rank, which determines their bin.
    middle = (pd.Series(scores).rank(method="average").to_numpy() - 0.5) / len(scores)
    return np.unique(np.floor(bins * middle), return_inverse=True)[1]


# Aggregation by stratum, and the value of a judge


def by_stratum(evidence: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Return outcomes by stratum, a combination of the labels of the judge and the classifiers.

    Returns
    -------
    labelled : ndarray, shape (..., K, C)
        Labelled examples by true class.
    others : ndarray, shape (..., K)
        Unlabelled examples.
    answers : ndarray of int, shape (J, K)
        Predictions of every classifier.
    judged : ndarray of int, shape (K,)
        Index of the judge's label.
    """
    labels = evidence["label"].values.tolist()
    position = {label: index for index, label in enumerate(labels)}
    answered = evidence["answered"]
    if "classifier" not in answered.dims:
        answered = answered.expand_dims("classifier")
    rows = [
        each.transpose("classifier", dim).values.tolist()
        for each, dim in ((evidence["predicted"], "outcome"), (answered, "answers"))
    ]
    codes = [np.array([[position[x] for x in row] for row in rows_], np.int64) for rows_ in rows]
    answers, which = np.unique(np.concatenate(codes, axis=1), axis=1, return_inverse=True)
    which, size = which.ravel(), codes[0].shape[1]
    truth = np.array([position[x] for x in evidence["actual"].values.tolist()], np.int64)
    counts = evidence["counts"].transpose(..., "judge", "outcome").values.astype(float)
    rest = evidence["unlabelled"].transpose(..., "judge", "answers").values.astype(float)
    lead, judges, number = counts.shape[:-2], counts.shape[-2], answers.shape[1]
    labelled = np.zeros((*lead, judges, number, len(labels)))
    for outcome in range(size):
        labelled[..., which[outcome], truth[outcome]] += counts[..., outcome]
    others = np.zeros((*lead, judges, number))
    for column_ in range(rest.shape[-1]):
        others[..., which[size + column_]] += rest[..., column_]
    labelled = labelled.reshape(*lead, -1, len(labels))
    others = others.reshape(*lead, -1)
    every = np.tile(answers, judges)
    kept = (labelled.sum(-1) + others).reshape(-1, others.shape[-1]).any(axis=0)
    judged = np.repeat(np.arange(judges), number)
    return labelled[..., kept, :], others[..., kept], every[:, kept], judged[kept]


def pooled_strata(evidence: xr.DataArray | xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return labelled (K, C) and unlabelled (K,) counts of each stratum, summed over slices."""
    if isinstance(evidence, xr.Dataset):
        labelled, others = by_stratum(evidence)[:2]
        slices = tuple(range(others.ndim - 1))
        return labelled.sum(slices), others.sum(slices)
    cells = ("judge", "predicted", "actual")
    rest = [dim for dim in evidence.dims if dim not in cells]
    table = evidence.sum(rest).transpose(*cells).values
    return table.reshape(-1, table.shape[-1]), evidence["unlabelled"].sum(rest).values.ravel()


def warn_of_judge(labelled: np.ndarray, others: np.ndarray, *, varies: bool) -> None:
    """
    Warn if a judge does not help, or if many examples are in strata without labels.

    Parameters
    ----------
    labelled : ndarray, shape (K, C)
        Labelled examples of each stratum by true class.
    others : ndarray, shape (K,)
        Unlabelled examples of each stratum.
    varies : bool
        Whether the judge's label differs between examples.
    """
    sizes, size = labelled.sum(-1), labelled.sum(-1) + others
    if not varies:
        warning = "The judge gives every example the same label, so it provides no information."
        warnings.warn(f"{warning} Pass another judge, or the labels alone.", stacklevel=4)
        return
    blank = (sizes == 0) & (size > 0)
    if size[blank].sum() > 0.1 * size.sum():
        share = f"{100 * size[blank].sum() / size.sum():.0f}%"
        many = "1 stratum" if blank.sum() == 1 else f"{blank.sum()} strata"
        warning = f"{share} of the examples are in {many} without a label, where the estimate "
        warnings.warn(f"{warning}comes from the prior alone. Label some of these.", stacklevel=4)
        return
    equivalent = equivalent_labels(labelled, others)
    if others.any() and equivalent < sizes.sum():
        warning = (
            f"The judge does not help: with it, the {sizes.sum():.0f} labels are worth only "
            f"{equivalent:.0f} labels without it."
        )
        todo = "Its labels agree too little with people, or the large strata have few labels"
        warnings.warn(
            f"{warning} {todo}. Pass a better judge, or label more examples.", stacklevel=4
        )


def equivalent_labels(labelled: np.ndarray, others: np.ndarray) -> float:
    """
    Return the number of random labels that would be as precise without the judge.

    The variance of the stratified estimate is compared with the variance of a simple one at the
    same class proportions. Half a label is added to each stratum. One label is subtracted for each
    stratum with labels, because its class proportions must be estimated, so that a useless judge
    gives no more than the actual number of labels.
    """
    sizes, size = labelled.sum(-1), labelled.sum(-1) + others
    share = size / size.sum()
    guess = (labelled + 0.5 / labelled.shape[-1]) / (sizes[:, None] + 0.5)
    whole = share @ guess
    spread = (guess * (1 - guess)).sum(-1)
    equivalent = (whole * (1 - whole)).sum() / (share**2 * spread / (sizes + 0.5)).sum()
    return max(0.0, float(equivalent - (sizes > 0).sum()))


def warn_of_slices(counts: xr.DataArray, axes: Mapping[str, Axis]) -> None:
    """Warn if a slice has no labelled example."""
    number = counts.transpose(*axes, ...).values
    number = number.reshape(*number.shape[: len(axes)], -1).sum(-1)
    blank = np.argwhere(number == 0)
    if axes and len(blank):
        first = zip(axes.items(), blank[0], strict=True)
        where = ", ".join(f"{name} {axis.values[index]}" for (name, axis), index in first)
        warning = f"{len(blank)} of {number.size} slices have no labels, e.g. {where}. Their "
        warnings.warn(
            f"{warning}results come from the prior alone. Label some of their examples.",
            stacklevel=3,
        )


# A single classifier, and the judge as a classifier


def select_classifier(evidence: xr.DataArray | xr.Dataset, place: int = 0) -> xr.DataArray:
    """
    Return the partly labelled counts of one classifier.

    Parameters
    ----------
    evidence : DataArray or Dataset
    place : int
        Position of the classifier, if there are several. The predictions of the others are dropped.

    Returns
    -------
    DataArray, dims (..., judge, actual, predicted)
    """
    if isinstance(evidence, xr.DataArray):
        return evidence
    outcomes = as_outcomes(evidence)
    labels, judges = outcomes["label"].values, outcomes["judge"].values
    index = {label: at for at, label in enumerate(labels.tolist())}
    lead = [dim for dim in outcomes["counts"].dims if dim not in ("judge", "outcome")]
    counts = outcomes["counts"].transpose(*lead, "judge", "outcome").values
    rest = outcomes["unlabelled"].transpose(*lead, "judge", "answers").values
    table = np.zeros((*counts.shape[:-1], len(labels), len(labels)), counts.dtype)
    others = np.zeros((*counts.shape[:-1], len(labels)), rest.dtype)
    answers = np.atleast_2d(outcomes["predicted"].values)[place].tolist()
    for at, (truth, answer) in enumerate(
        zip(outcomes["actual"].values.tolist(), answers, strict=True)
    ):
        table[..., index[truth], index[answer]] += counts[..., at]
    for at, answer in enumerate(np.atleast_2d(outcomes["answered"].values)[place].tolist()):
        others[..., index[answer]] += rest[..., at]
    coords = {k: v for k, v in outcomes.coords.items() if set(v.dims) <= {*lead}}
    coords |= {dim: labels for dim in CELLS} | {"judge": judges}
    tables = xr.DataArray(table, dims=(*lead, "judge", *CELLS), coords=coords, name="counts")
    return tables.assign_coords(unlabelled=((*lead, "judge", "predicted"), others))


def judge_as_classifier(evidence: xr.DataArray | xr.Dataset) -> xr.DataArray | None:
    """Return counts with the judge's labels as predictions, or None if they are not classes."""
    counts = select_classifier(evidence)
    labels, names = counts["actual"].values.tolist(), counts["judge"].values.tolist()
    if names == ["all"] or len(names) == 1:
        return counts  # the judge is already the classifier
    label_of_text = {str(label): label for label in labels}
    if abstains(counts) or not set(names) <= set(label_of_text):
        return None
    full = counts.reindex(judge=list(label_of_text), fill_value=0)
    rest = counts["unlabelled"].reindex(judge=list(label_of_text), fill_value=0)
    swapped = full.drop_vars(["unlabelled", "judge", "predicted"]).rename(
        judge="predicted", predicted="judge"
    )
    rest = rest.drop_vars(["judge", "predicted", "unlabelled"], errors="ignore")
    rest = rest.rename(judge="predicted", predicted="judge")
    swapped = swapped.transpose(..., "judge", *CELLS)
    lead = [dim for dim in swapped.dims if dim not in ("judge", *CELLS)]
    rest = rest.transpose(*lead, "judge", "predicted")
    swapped = swapped.assign_coords(judge=[str(name) for name in labels], predicted=labels)
    return swapped.assign_coords(unlabelled=(rest.dims, rest.values))


def is_partly_labelled(evidence: Any) -> bool:
    """Return True if evidence contains unlabelled examples."""
    return isinstance(evidence, xr.DataArray | xr.Dataset) and "unlabelled" in evidence.coords


def has_strata(evidence: Any) -> bool:
    """Return True if evidence is partly labelled, with strata by a judge."""
    return is_partly_labelled(evidence) and "judge" in evidence.dims


def _labelled_counts(evidence):
    return evidence["counts"] if is_outcomes(evidence) else evidence


def _resample(evidence, n, rng):
    """Return evidence of n resampled examples, see `EvidenceType.resample`."""
    labelled, others = _labelled_counts(evidence), evidence["unlabelled"]
    check_no_parts([dim for dim in labelled.dims if dim not in ("judge", "outcome", *CELLS)])
    numbers = draw_numbers(np.concatenate([labelled.values.ravel(), others.values.ravel()]), n, rng)
    drawn = labelled.copy(data=numbers[: labelled.size].reshape(labelled.shape))
    rest = others.dims, numbers[labelled.size :].reshape(others.shape)
    drawn = evidence.assign(counts=drawn) if is_outcomes(evidence) else drawn
    return drawn.assign_coords(unlabelled=rest)


def _to_dataset(evidence):
    """Return outcomes unchanged, and the counts of one classifier as a variable of a Dataset."""
    return evidence if is_outcomes(evidence) else evidence.to_dataset(name="counts")


def _from_dataset(dataset):
    return dataset if is_outcomes(dataset) else dataset["counts"]


def describe_partly_labelled(evidence: Any, written: Callable[[Any], str] = str) -> list[str]:
    """Describe partly labelled examples in sentences."""
    counts = matrices_of(evidence)
    over = [dim for dim in counts.dims if dim not in ("classifier", "actual", "predicted")]
    unlabelled, counts = float(evidence["unlabelled"].sum()), counts.sum(over)
    paired = is_outcomes(evidence)
    labelled = counts.isel(classifier=0) if paired and "classifier" in counts.dims else counts
    number = float(labelled.sum())
    rest = [
        line.replace(" of ", " of the labelled ones are of ", 1) if k == 0 else line
        for k, line in enumerate(describe_counts(counts, written, paired))
    ]
    sizes = rest[0].partition(": ")[2]
    first = f"{number_of(number + unlabelled, 'examples')}, {number:,.6g} of them labelled"
    return [f"{first}: {sizes}" if sizes else f"{first}.", *rest[1:]]


def _canonical(evidence):
    return (as_outcomes if is_outcomes(evidence) else as_counts)(evidence)


# Batches of a monitor


def _by_classifier(evidence):
    if "classifier" not in evidence.dims:
        return {}
    names = [str(name) for name in evidence["classifier"].values]
    return {name: select_classifier(evidence, place) for place, name in enumerate(names)}


_FORM = "partly_labelled"


def as_batch(evidence: xr.DataArray | xr.Dataset, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return partly labelled examples in the form stored by a ledger, dims (pattern).

    Raises
    ------
    ValueError
        If the evidence has slices or abstentions, or the labels come from another population.
    """
    counts = _canonical(select_classifier(evidence))
    if further := [str(dim) for dim in counts.dims if dim not in ("judge", "actual", "predicted")]:
        raise fail(
            "A batch of partly labelled examples cannot have {}",
            further,
            "",
            "add each slice under its own name",
        )
    if "transfer" in counts.coords:
        todo = "leave `transfer=` out, if the labels belong to examples of this batch"
        raise fail(
            "A batch cannot have `transfer`: its labels belong to its own examples", ..., "", todo
        )
    if abstains(counts):
        raise fail(
            "A monitor cannot record abstentions ({})",
            counts["abstain"].item(),
            "",
            "leave these examples out, or treat the label as a class",
        )
    labels, judges = counts["actual"].values.tolist(), counts["judge"].values.tolist()
    cells = counts.transpose("judge", "actual", "predicted").values
    others = counts["unlabelled"].transpose("judge", "predicted").values
    patterns, numbers = [], []
    for judge, answer in np.ndindex(others.shape):
        truths = [*zip(labels, cells[judge, :, answer], strict=True), (None, others[judge, answer])]
        for truth, number in truths:
            if number:
                patterns.append([str(judges[judge]), labels[answer], truth])
                numbers.append(number)
    facts = {"labels": labels, "positive": positive(counts)}
    facts["classified"] = str(counts.coords.get("classified", xr.DataArray("classifier")).item())
    return pattern_table(patterns, numbers, _FORM, facts)


def partly_labelled_of(table: xr.DataArray) -> xr.DataArray:
    """Return partly labelled examples, given the counts (..., pattern) of their patterns."""
    labels = table.attrs["labels"]
    patterns = [json.loads(text) for text in table["pattern"].values.tolist()]
    judges = sorted({judge for judge, _, _ in patterns}) or ["all"]
    lead, size = table.shape[:-1], len(labels)
    counts = np.zeros((*lead, len(judges), size, size), table.dtype)
    others = np.zeros((*lead, len(judges), size), table.dtype)
    for number, (judge, answer, truth) in zip(
        np.moveaxis(table.values, -1, 0), patterns, strict=True
    ):
        stratum = judges.index(judge), labels.index(answer)
        if truth is None:
            others[..., *stratum] += number
        else:
            counts[..., stratum[0], labels.index(truth), stratum[1]] += number
    dims = tuple(str(dim) for dim in table.dims[:-1])
    coords: dict[str, Any] = {
        str(name): coord
        for name, coord in table.coords.variables.items()
        if name != "pattern" and {*coord.dims} <= {*dims}
    }
    coords |= {"judge": judges, "actual": labels, "predicted": labels}
    coords |= {"unlabelled": ((*dims, "judge", "predicted"), others)}
    coords |= {"classified": table.attrs["classified"]}
    if table.attrs["positive"] is not None:
        coords["positive"] = table.attrs["positive"]
    return xr.DataArray(counts, coords, [*dims, "judge", "actual", "predicted"], "counts")


def add_batches(
    batches: Sequence[PatternCounts], like: xr.DataArray, coords: Mapping[str, np.ndarray]
) -> xr.DataArray:
    """Return the examples of several batches as evidence."""
    return partly_labelled_of(patterns_of_batches(batches, like).sum("step", keep_attrs=True))


def labelled_by_stratum(tables: xr.DataArray) -> ChangeStatistic:
    """
    Return the labelled examples of each stratum by true class, (T, K, C).

    A change is a change in the distribution of the true class, given the labels of the judge and
    the classifier.
    """
    counts = partly_labelled_of(tables).values
    numbers = counts.swapaxes(-1, -2).reshape(len(counts), -1, counts.shape[-1])
    prior = np.full(numbers.shape[1:], 1 / numbers.shape[-1])
    return ChangeStatistic(numbers, prior=prior, parts_are_classes=True)


def _default_model(evidence, keywords, members=None, compared=None):
    """Return the default model of partly labelled examples, or of the patterns of batches."""
    if has_patterns(evidence):
        return DefaultModel("partly_labelled", partly_labelled_of(evidence))
    return model_of_partly_labelled(evidence, keywords, members, compared)


PARTLY_LABELLED = EvidenceType(
    name="partly labelled",
    made_by="from_partly_labelled",
    unit="examples",
    matches=is_partly_labelled,
    canonical=_canonical,
    default_model=_default_model,
    default_measures=lambda evidence: default_measures(matrices_of(evidence), TABULATED),
    size=lambda evidence: float(_labelled_counts(evidence).sum() + evidence["unlabelled"].sum()),
    values=_labelled_counts,
    is_whole=lambda evidence: _labelled_counts(evidence).dtype.kind != "f",
    combine=combine_partly_labelled,
    to_dataset=_to_dataset,
    from_dataset=_from_dataset,
    sentences=describe_partly_labelled,
    resample=_resample,
    batch_forms=(_FORM,),
    by_system=_by_classifier,
    watched_measures=watched_measures,
    as_batch=as_batch,
    add=add_batches,
    batch_sizes=number_of_examples,
    change_statistic=labelled_by_stratum,
    alarm_rules=lambda tables: ("change", "floor"),
    columns=Columns(
        (("judge",),),
        (
            "actual",
            "predicted",
            "labels",
            "positive",
            "numeric_labels",
            "abstain",
            "transfer",
        ),
    ),
)
