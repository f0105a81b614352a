"""
Scores as evidence: the truth and one or more classifiers' scores of every example.

An ``xr.Dataset`` over the dim ``example`` with ``score`` (also over ``classifier``, and over
``class`` where there are more than two), ``actual``, and where given ``weight`` (how many examples
a row is worth), ``importance`` (its importance weight) and ``fold`` or ``group``. The
scalar coords ``positive`` and ``prevalence`` say what is positive and, if known, how common it is.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.labels import (
    as_labels,
    check_exact,
    check_no_dates,
    check_no_missing_text,
    columns_in_order,
    obvious,
)
from bayescm.evidence.slices import check_classes, slices_of
from bayescm.evidence.tabulate import check_weights
from bayescm.validate import check_reals, check_row_order, fail, suggest, unmasked


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

    Parameters
    ----------
    actual : array_like, shape (n,)
        True labels.
    scores : array_like or mapping of str to array_like
        Higher means more likely positive: probabilities, logits or anything else; ties and
        infinite scores are fine. Shape (n,) for two classes, (n, C) for more, one column per class.
        A mapping holds the scores of several classifiers on the same examples.
    positive : label, optional
        The positive class, for two classes; obvious for {0, 1} and {False, True}.
    labels : sequence, optional
        The classes in the order of the columns of the scores; by default sorted.
    weights : array_like, shape (n,), optional
        Weight >= 0 of every example.
    weights_are : {"counts", "importance"}, optional
        What weights stand for, and needed where they are not whole numbers: how many examples each
        row stands for; or the inverse of the probability with which an example was drawn, whose
        scale does not matter. Then the examples of a class are worth fewer than they are (Kish's
        effective number), and the classes count by their weights.
    fold : array_like, shape (n,), optional
        The fold of a cross-validation in which an example was tested. Curves are then drawn fold by
        fold, since scores of different models need not be comparable; see `pool_folds`.
    by : mapping of str to array_like (n,), optional
        ``{"group": site}``: each group has its curves, areas and comparisons, by itself. Or
        ``{"fold": fold}``, the same as ``fold``.

    Returns
    -------
    Dataset, dim ``example``

    Raises
    ------
    ValueError
        If a score is NaN, lengths differ, indexes of pandas have the same labels in another order,
        a weight is negative, a class or the positive class is missing, or a group lacks a class.
    TypeError
        If scores are no numbers: texts, booleans or dates.

    Examples
    --------
    >>> evidence = from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> dict(evidence.sizes), evidence.positive.item()
    ({'example': 4}, 1)
    """
    keywords: dict[str, Any] = {"positive": positive, "labels": labels, "weights": weights}
    keywords |= {"weights_are": weights_are, "fold": fold, "by": by}
    return as_scores(scored(actual, scores, **keywords))


def scored(
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
    """Return scores of examples in slices (`slices_of`), before `as_scores` has checked them."""
    check_row_order({"actual": actual, name: scores, "weights": weights, **slices})
    truth = _truth(actual)
    classes = as_labels(_found(truth) if labels is None else labels)
    missing = sorted(set(truth.tolist()) - set(classes.tolist()), key=str)
    if missing:
        todo = f"{suggest(missing[0], classes.tolist())} add it to labels"
        raise fail("actual has a label that is not a class", missing[0], classes, todo)
    columns = {"actual": ("example", truth)}
    dims, coords = ("example", "class")[: 1 if len(classes) == 2 else 2], {}
    if isinstance(scores, Mapping):
        _check_mapping(scores)
        values = np.stack([_matrix(each, len(truth), classes, name) for each in scores.values()])
        dims, coords["classifier"] = ("classifier", *dims), np.array(list(scores))
    else:
        values = _matrix(scores, len(truth), classes, name)
    if len(classes) > 2:
        coords["class"] = classes
    columns["score"] = (dims, values)  # type: ignore[assignment]
    found = slices_of(len(truth), **slices)
    columns |= {name: ("example", each) for name, each in found.items()}
    if weights is not None:
        given = np.asarray(unmasked(weights, "weight"))
        given = _same_length("weight", given, len(truth))
        kind = check_weights(given.ravel(), weights_are)
        columns["weight"] = ("example", given if kind == "counts" else _worth(given, truth))
        if kind == "importance":
            columns["importance"] = ("example", given / given.max())
    coords |= _positive(positive, classes)
    _check_name(scores, coords, classes)
    return xr.Dataset(columns, coords)


def _worth(weights, truth):
    """
    Return what every example is worth.

    Of two classes the examples of each sum to its effective number: curves never mix the classes.
    Of more, where the rest are several classes, all examples sum to theirs.
    """
    worth, labels = weights.astype(float), np.unique(truth)
    for label in labels if len(labels) == 2 else [...]:
        own = truth == label if label is not ... else np.ones(len(truth), bool)
        if worth[own].any():
            worth[own] *= worth[own].sum() / (worth[own] ** 2).sum()
    return worth


def _truth(actual):
    truth = np.asarray(unmasked(actual, "actual"))
    if truth.ndim != 1 or not len(truth):
        todo = "pass one true label per example"
        raise fail("actual must be one column of labels", truth.shape, "shape (n,), n > 0", todo)
    if pd.isna(truth).any():
        at = int(np.argmax(pd.isna(truth)))
        what = f"actual has missing values, the first at position {at}"
        raise fail(what, ..., "a label for every example", "drop these examples")
    if truth.dtype.kind in "OmM":
        check_no_dates(pd.unique(truth), "the labels of actual")
    if truth.dtype.kind == "f" and (truth == truth.astype(int)).all():
        check_exact("actual", truth)
        return truth.astype(int)
    if truth.dtype.kind == "f":
        todo = "pass the truth first: from_scores(actual, scores)"
        raise fail("actual holds fractions instead of labels", truth[:4].tolist(), "labels", todo)
    return truth.astype(str) if truth.dtype.kind == "O" else truth


def _found(truth):
    found = np.unique(truth).tolist()
    check_no_missing_text(found)
    if len(found) < 2:
        todo = "add examples of the other class, or name more classes in labels=[...]"
        raise fail("only one class in actual", found, "two or more classes", todo)
    return found


def _check_mapping(scores):
    if not scores:
        raise fail("no classifiers", {}, "at least one", "pass {'name': scores}")
    for name in scores:
        if not isinstance(name, str):
            todo = "pass {'name': scores}"
            raise fail("a classifier's name must be a string", name, "a string", todo, TypeError)


def _matrix(scores, n, classes, name):
    unmasked(scores, "a score")
    scores = columns_in_order(scores, classes.tolist())
    todo = "pass the output of decision_function or predict_proba; of a tensor a numpy array"
    values = check_reals(scores, name, todo)
    _same_length("scores", values, n)
    if len(classes) == 2 and values.shape == (n, 1):  # a network's single output
        values = values[:, 0]
    wanted = (n,) if len(classes) == 2 else (n, len(classes))
    if values.shape != wanted:
        todo = "take the positive class's column: proba[:, 1]"
        if len(classes) > 2:
            todo = f"pass a column for each of {classes.tolist()}, or make actual one class or not"
        raise fail("scores have the wrong shape", values.shape, str(wanted), todo)
    return values


def _same_length(name, values, n):
    if values.ndim < 1 or len(values) != n:
        todo = "align the columns first"
        raise fail(f"{name} and actual differ in length", values.shape, f"{n} rows", todo)
    return values


def _check_name(scores, coords, classes):
    """Raise where a column is named as the class that is not the positive one."""
    for each in scores.values() if isinstance(scores, Mapping) else [scores]:
        frame = each.to_frame() if isinstance(each, pd.Series) else each
        if "positive" not in coords or not isinstance(frame, pd.DataFrame):
            continue
        name = frame.columns[0]
        if isinstance(name, str) and name in classes.tolist() and name != coords["positive"]:
            todo = f"pass the column of {coords['positive']!r}, or positive={name!r}"
            raise fail("scores of the other class", name, f"those of {coords['positive']!r}", todo)


def _positive(positive, classes):
    if len(classes) > 2:
        if positive is not None:
            todo = "leave it out, or take one class against the rest: one_vs_rest(evidence, label)"
            raise fail("positive is for two classes only", positive, "None", todo)
        return {}
    positive = obvious(classes.tolist()) if positive is None else positive
    if positive is None:
        got = classes.tolist()
        raise fail(
            "the positive class is ambiguous",
            got,
            "positive to be one of them",
            f"pass positive={got[-1]!r}",
        )
    for label in classes.tolist():
        if label == positive:
            return {"positive": label}
    todo = suggest(positive, classes.tolist())
    raise fail("the positive class is not among the labels", positive, classes.tolist(), todo)


def as_scores(evidence: xr.Dataset) -> xr.Dataset:
    """
    Check scores on entry and return them with dims in order; examples of weight 0 are left out.

    Raises
    ------
    TypeError
        If they are not a Dataset.
    ValueError
        If something is missing or impossible.
    """
    if not isinstance(evidence, xr.Dataset) or not {"score", "actual"} <= set(evidence.variables):
        got = type(evidence).__name__
        allowed, todo = "scores as from_scores returns them", "pass from_scores(actual, scores)"
        raise fail("not evidence of scores", got, allowed, todo, TypeError)
    evidence = evidence.transpose("classifier", "example", "class", missing_dims="ignore")
    missing = np.isnan(evidence["score"].values)
    if missing.any():
        at = tuple(int(i) for i in np.argwhere(missing)[0])
        todo = "drop these examples, or score them"
        raise fail(
            f"a score is missing (NaN) at position {at}", ..., "numbers, possibly infinite", todo
        )
    if "weight" in evidence:
        evidence = _weighted(evidence)
    share = evidence.coords.get("prevalence")
    if share is not None:
        check_share(share.values)
    check_classes(evidence)
    return evidence


def _weighted(evidence):
    weight = evidence["weight"].values
    if weight.dtype.kind not in "iufb" or not (np.isfinite(weight) & (weight >= 0)).all():
        bad = weight.dtype if weight.dtype.kind not in "iufb" else weight[~(weight >= 0)][:1]
        raise fail(
            "weights must not be negative or missing", bad, "finite numbers >= 0", "correct it"
        )
    if 0 < weight.sum() < 1e-6:
        todo = "scale them, or pass weights_are='importance'"
        raise fail("the weights are worth no example", weight.sum(), "counts of examples", todo)
    if not (weight > 0).any():
        raise fail("every weight is 0", ..., "some weights > 0", "leave weights out")
    return evidence.isel(example=weight > 0) if (weight == 0).any() else evidence


def check_share(prevalence: Any) -> None:
    """Raise unless it is a number inside (0, 1)."""
    share = np.asarray(prevalence)
    if share.ndim or share.dtype.kind not in "iuf" or not 0 < share < 1:
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("prevalence must lie between 0 and 1", prevalence, "0 < prevalence < 1", todo)
