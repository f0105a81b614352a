"""Evidence of which people labelled a part, and a judge all of it."""

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import as_counts, make_counts
from bayescm.evidence.judged.classifiers import TAKEN, outcomes_of, sliced, strata_of
from bayescm.evidence.judged.strata import is_score, strata, warn_of_judge, warn_of_slices
from bayescm.evidence.labels import as_labels, check_exact, default_labels
from bayescm.evidence.tabulate import (
    axes_of,
    check_one_axis,
    check_sizes,
    column,
    factorize,
    in_a_row,
    tabulate,
)
from bayescm.validate import check_choice, check_counts, check_row_order, fail


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
    Return counts of examples that a judge has seen, and of which people labelled some.

    Parameters
    ----------
    actual : array_like, shape (n,)
        True labels; missing (None, NaN, NA) where nobody labelled.
    predicted : array_like, shape (n,), or mapping of these, optional
        What the classifier said; of several, by name, to `compare` them. Without it the judge's
        labels take its place (the scalar coord ``classified`` says so), and the measure to ask for
        is a rate: ``"prevalence"``, how common the positive class truly is.
    judge : array_like, shape (n,), or mapping of these, optional
        What a judge said of every example: labels of any kind, or a score, which is cut at its
        quantiles into two to five parts, of ten labels each or more. Of several judges each
        combination is a stratum.
    labels : sequence, optional
        All classes; by default those in ``actual`` and ``predicted``.
    positive : label, optional
        The positive class; obvious for the labels {0, 1} and {False, True}.
    abstain : label, optional
        The answer that is none, as in `bayescm.from_predictions`.
    design : array_like, shape (n,), or mapping of these, optional
        What else the examples to be labelled were chosen by, such as the site or the month:
        within each of its values, too, the labelled ones are taken for a random choice.
    transfer : {"errors"}, optional
        Where the labelled examples come from elsewhere, with another prevalence: only the error
        rates of judge and classifier carry over, and the default model is ``transferred_errors``.
        The answers are of the population of the unlabelled examples. Of one classifier, at most.
    by : mapping of str to array_like (n,), optional
        Leading dims: ``{"sex": sex}``. Each slice has its own labels and its own answer.

    Returns
    -------
    DataArray, dims (..., judge, actual, predicted), or Dataset for a mapping of classifiers
        The labelled examples. The coord ``unlabelled`` (judge, predicted) counts the others. Of
        several classifiers outcomes as `bayescm.from_classifiers` returns them, of which
        ``unlabelled`` (stratum) counts the examples without a label. The default model of both is
        ``partly_labelled``; it takes the labelled examples for a random choice among those of the
        same judgement and prediction.

    Raises
    ------
    ValueError
        If nothing is labelled, lengths differ, or neither predictions nor a judge are given.

    Warns
    -----
    UserWarning
        If the judge never varies or does not help, many examples are where nobody labelled, or
        nobody labelled in a slice.

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
        todo = "pass predicted=, judge= or both; labels alone go to bcm.answers.proportion"
        raise fail("nothing but labels", None, "what a classifier or a judge said", todo)
    said = {"actual": actual, "predicted": predicted, "judge": judge}
    check_row_order(said | {"design": design, "by": by})
    values, seen = _by_people(actual)
    if not seen.any():
        raise fail("nobody labelled anything", len(seen), "some labels", "label some examples")
    options = {"labels": labels, "positive": positive, "abstain": abstain}
    axes = axes_of(by, TAKEN)
    check_sizes({"actual": len(seen)} | {name: len(axis.codes) for name, axis in axes.items()})
    if isinstance(predicted, Mapping):
        place, names = strata(judge, design, len(seen), seen.sum())
        found = outcomes_of(values, seen, predicted, (place, names), axes, **options)
        warn_of_slices(found["counts"], axes)
        if judge is not None:
            warn_of_judge(*strata_of(found), varies=len(names) > 1)
        return found
    answers, other, classified = _classified(predicted, judge, values, len(seen), labels, abstain)
    place, names = strata(other, design, len(seen), seen.sum())
    given = column("predicted", answers)
    check_sizes({"actual": len(seen), "predicted": len(given), "judge": len(place)})
    counts = _counted(values, seen, given, (place, names), axes, **options)
    warn_of_slices(counts, axes)
    counts = counts.assign_coords(classified=classified)
    as_counts(counts)  # says so where the abstention is a class
    if transfer is not None:
        return counts.assign_coords(transfer=transfer)
    if other is not None or predicted is None:
        varies = len(names) > 1 or (other is None and len(pd.unique(np.asarray(given))) > 1)
        warn_of_judge(*strata_of(counts), varies=varies)
    return counts


def _check_transfer(transfer, predicted, abstain):
    check_choice("transfer", transfer, ["errors"])
    if isinstance(predicted, Mapping):
        todo = "take them one by one; to compare them, pass labels of these examples, no transfer="
        raise fail("transferred errors of several classifiers", list(predicted), "one", todo)
    if abstain is not None:
        todo = "leave out the examples without an answer, or name it as a class in labels="
        raise fail("transferred errors with abstentions", abstain, "abstain=None", todo)


def _by_people(actual):
    """Return the labels that people gave, and which examples have one (n,)."""
    actual = in_a_row(actual)
    check_one_axis("actual", actual)
    truth = pd.Series(actual).reset_index(drop=True)
    seen = truth.notna().to_numpy()
    return column("actual", _typed(truth[seen].infer_objects())), seen


def _classified(predicted, judge, values, n, labels, abstain):
    """Return the predictions, the judge beside them, and whose predictions these are."""
    if predicted is not None:
        return predicted, judge, "classifier"
    if _is_labels(judge, values, labels, abstain):
        return judge, None, "judge"
    return np.full(n, values[0]), judge, "nothing"  # what is predicted does not matter to a rate


def _counted(values, seen, given, strata, axes, *, labels, positive, abstain):
    """Return the labelled examples by stratum, the others in the coord ``unlabelled``."""
    place, names = strata
    known = _all_classes(values, given, labels, abstain)
    place, lead, coords = sliced(place, names, axes)
    size = math.prod(lead)
    table, _, _ = tabulate(values, given[seen], labels=known, by={"judge": place[seen]})
    full = np.zeros((size, len(known), len(known)), np.int64)
    full[np.unique(place[seen])] = table
    every, _, _ = tabulate(given, given, labels=known, by={"judge": place})
    others = np.zeros((size, len(known)), np.int64)
    others[np.unique(place)] = np.einsum("jpp->jp", every)
    others = (others - full.sum(axis=1)).reshape(*lead, -1)
    full = full.reshape(*lead, *full.shape[1:])
    counts = make_counts(full, known, positive, tuple(coords), coords, abstain)
    return counts.assign_coords(unlabelled=((*coords, "predicted"), others))


def _all_classes(values, given, labels, abstain):
    """Return the labels of all classes, the abstention behind them."""
    if labels is None:
        present = {*factorize("actual", values)[1], *factorize("predicted", given)[1]} - {abstain}
        labels = default_labels(sorted(present, key=str), present, values)
    known = as_labels(labels)
    if abstain is not None and abstain not in known.tolist():
        known = as_labels([*known.tolist(), abstain])
    return known


def from_partly_labelled_counts(
    labelled: Any,
    unlabelled: Any,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    judge: Sequence | None = None,
) -> xr.DataArray:
    """
    Return the same evidence as `from_partly_labelled` from counts.

    Parameters
    ----------
    labelled : array_like, shape (C, C) or (J, C, C)
        The confusion matrix of the labelled examples, rows = actual classes; of each answer of the
        judge, where there is one beside the classifier.
    unlabelled : array_like, shape (C,) or (J, C)
        How many further examples there are of each prediction.
    labels, positive
        See `bayescm.from_matrix`.
    judge : sequence, optional
        The judge's answers.

    Returns
    -------
    DataArray, dims (judge, actual, predicted)

    Raises
    ------
    ValueError
        If the shapes do not belong together, or nothing is labelled.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
    >>> bool(bcm.interval(counts, "prevalence").values[0] > 0.4)
    True
    """
    # A table that is labelled has the predictions across, as unlabelled has them down.
    across = labelled.T if isinstance(labelled, pd.DataFrame) else None
    check_row_order({"labelled": labelled, "labelled.T": across, "unlabelled": unlabelled})
    table = check_counts(labelled)
    table = table[None] if table.ndim == 2 else table
    rest = np.atleast_2d(check_counts(unlabelled, name="a number of unlabelled examples"))
    if table.ndim != 3 or table.shape[-1] != table.shape[-2] or rest.shape != table.shape[::2]:
        got = {"labelled": table.shape, "unlabelled": rest.shape}
        todo = "count the labelled by actual and predicted, the others by predicted"
        raise fail("these counts do not belong together", got, "(J, C, C) and (J, C)", todo)
    if not table.any():
        raise fail("nobody labelled anything", 0, "some labels", "label some examples")
    names = [f"judge {place}" for place in range(len(table))] if judge is None else list(judge)
    check_sizes({"labelled": len(table), "judge": len(names)})
    known = as_labels(range(table.shape[-1]) if labels is None else labels)
    counts = make_counts(table, known, positive, ("judge",), {"judge": names})
    return counts.assign_coords(unlabelled=(("judge", "predicted"), rest))


def said_of(
    actual: Any, predicted: Any = None, judge: Any = None, *, design: Any = None, **options: Any
) -> tuple[pd.DataFrame, np.ndarray]:
    """
    Return what was said of every example, and which ones have a label.

    Parameters
    ----------
    actual, predicted, judge, design
        As of `from_partly_labelled`.
    **options
        Its ``labels`` and ``abstain``.

    Returns
    -------
    said : DataFrame
        ``judge``, the name of the stratum of judge and design, and ``predicted``, or
        ``predicted_`` and the name for every one of several classifiers.
    seen : ndarray of bool, shape (n,)
    """
    columns = {"actual": actual, "predicted": predicted, "judge": judge, "design": design}
    check_row_order(columns)
    values, seen = _by_people(actual)
    several = isinstance(predicted, Mapping)
    if not several:
        known = options.get("labels"), options.get("abstain")
        predicted, judge, _ = _classified(predicted, judge, values, len(seen), *known)
    place, names = strata(judge, design, len(seen), seen.sum())
    given = {f"predicted_{name}": each for name, each in predicted.items()} if several else None
    answers = {name: np.asarray(each) for name, each in (given or {"predicted": predicted}).items()}
    check_sizes({"judge": len(place)} | {name: len(each) for name, each in answers.items()})
    return pd.DataFrame({"judge": np.array(names, object)[place]} | answers), seen


def _typed(values):
    """Return labels that a missing value made floats as what they are."""
    whole = pd.api.types.is_float_dtype(values.dtype) and (values % 1 == 0).all()
    if whole:
        check_exact("actual", values.to_numpy(float))
    return (values.astype("int64") if whole else values).to_numpy()


def _is_labels(judge, values, labels, abstain):
    """Say whether a judge's answers are classes, so that they can be right or wrong."""
    if isinstance(judge, Mapping) or is_score(judge) or pd.isna(pd.Series(judge)).any():
        return False
    answers = set(pd.unique(np.asarray(column("judge", judge)))) - {abstain}
    if labels is not None:
        return answers <= set(labels)
    seen = set(pd.unique(values))
    unknown = sorted(map(str, answers - seen))
    if len(unknown) == len(answers):  # another language: 0 and 1 where people say yes and no
        return False
    if unknown and len(seen) > 1:
        said = f"The judge says {unknown}, which no label is: taken for classes."
        todo = "Pass labels= with all classes, or abstain= if it is no answer."
        warnings.warn(f"{said} {todo}", stacklevel=3)
    return True
