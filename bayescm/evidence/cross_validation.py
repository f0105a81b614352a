"""From classifiers and data to out-of-fold predictions and a confusion matrix per fold."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable

from bayescm.evidence import from_predictions
from bayescm.evidence.counts import DESIGN
from bayescm.evidence.folds import group_effects
from bayescm.evidence.parallel import parallel, progress_bar
from bayescm.evidence.splits import as_mapping, design, labels_of, places, slices_by, splits_of
from bayescm.validate import fail


def cross_predictions(
    estimator: Any,
    X: Any,
    y: Any,
    cv: Any = 10,
    *,
    groups: Any = None,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: bool = False,
) -> xr.Dataset:
    """
    Train on every split and keep the prediction for each test example.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifiers; those in a mapping all see the same splits. They are cloned.
    X : array_like, shape (n, ...)
        Features; data frames and sparse matrices too.
    y : array_like, shape (n,)
        True labels.
    cv : int, splitter or iterable of (train, test)
        A number K >= 2 means stratified K folds, shuffled.
    groups : array_like, shape (n,), optional
        The group of each example, such as the patient. They reach the splitter, and a number for
        `cv` keeps them together; the answers keep them, and the intervals know them.
    n_jobs : int, default 1
        Number of processes; -1 for one per core.
    random_state : int, default 0
        Seed of the shuffling where `cv` is a number.
    progress : bool, default False
        Show a progress bar with the time left.

    Returns
    -------
    Dataset, dim ``tested``
        One entry per test example of each split: ``example`` (its row), ``actual``,
        ``predicted`` (with leading dim ``classifier`` for a mapping), ``repeat`` and ``fold``,
        ``group`` where there are groups, and the scalar coords ``n_folds``, ``test_share``,
        ``train_size`` and ``fixed_totals``.

    Raises
    ------
    ValueError
        If there are fewer than two splits, or an estimator fails on one. The message names the
        estimator, repeat, fold and cause; the error's attribute ``predictions`` maps each name
        to the predictions that were made.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> out = cross_predictions(GaussianNB(), *load_iris(return_X_y=True), cv=5)
    >>> dict(out.sizes), float((out.actual == out.predicted).mean().round(2))
    ({'tested': 150}, 0.96)
    """
    estimators = as_mapping(estimator)
    X, y, groups = indexable(X, y, groups)
    labels = labels_of(y)
    splits = splits_of(cv, X, y, groups, random_state)
    if len(splits) < 2:
        raise fail(
            "too few splits for a cross-validation", len(splits), "two or more", "pass cv=10"
        )
    answers = _fit_all(
        [(each, X, y, *split) for each in estimators.values() for split in splits], n_jobs, progress
    )
    rows = [answers[start : start + len(splits)] for start in range(0, len(answers), len(splits))]
    place = places([test for _, test in splits], len(labels))
    parts = [_dataset(row, splits, labels, place, groups) for row in rows]
    _check_failures(estimators, rows, place, parts)
    if not isinstance(estimator, Mapping):
        return parts[0]
    predicted = np.stack([part["predicted"].values for part in parts])
    return (
        parts[0]
        .assign(predicted=(("classifier", "tested"), predicted))
        .assign_coords(classifier=list(estimators))
    )


def cross_confusion(
    estimator: Any,
    X: Any,
    y: Any,
    cv: Any = 10,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    by: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> xr.DataArray:
    """
    Cross-validate classifiers and return the confusion matrix of every fold.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifiers; those in a mapping all see the same splits.
    X : array_like, shape (n, ...)
        Features.
    y : array_like, shape (n,)
        True labels.
    cv : int, splitter or iterable of (train, test)
        A number K >= 2 means stratified K folds, shuffled.
    labels : sequence, optional
        All labels in their order; by default those of `y`, sorted.
    positive : label, optional
        The positive class.
    by : mapping of str to array_like (n,), optional
        Further dims: ``{"sex": sex}`` counts every fold slice by slice. Not beside ``groups``.
    **keywords
        ``groups``, ``n_jobs``, ``random_state`` and ``progress`` of `cross_predictions`.

    Returns
    -------
    DataArray
        Counts, dims ``(fold, actual, predicted)``; ``(repeat, fold, ...)`` where the splitter
        repeats; ``(classifier, ...)`` first for a mapping; those of ``by`` behind the folds. The
        scalar coords ``n_folds``, ``test_share`` and ``train_size`` (the proportion of examples in
        a test and a training set) and ``fixed_totals`` (whether folds are stratified) describe the
        design; of groups ``design_effect`` and ``totals_effect`` say how few examples these equal.

    See Also
    --------
    cross_predictions : Keeps the out-of-fold predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> counts = cross_confusion(GaussianNB(), *load_breast_cancer(return_X_y=True), cv=5)
    >>> counts.dims, counts.sum("fold").values.tolist(), bool(counts.fixed_totals)
    (('fold', 'actual', 'predicted'), [[188, 24], [11, 346]], True)
    """
    slices = slices_by(by, X, y, keywords.get("groups"))
    predictions = cross_predictions(estimator, X, y, cv, **keywords)
    return count_folds(predictions, labels=labels, positive=positive, by=slices)


def count_folds(
    predictions: xr.Dataset,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    by: Mapping[str, np.ndarray] | None = None,
) -> xr.DataArray:
    """
    Return the counts of out-of-fold predictions, fold by fold.

    Parameters
    ----------
    predictions : Dataset
        As `cross_predictions` returns it.
    labels : sequence, optional
        All labels in their order; by default those that occur in ``actual``, sorted.
    positive : label, optional
        The positive class.
    by : mapping of str to ndarray (n,), optional
        Further dims: the slice of every example of the data, inside which no fold is stratified.

    Returns
    -------
    DataArray, dims ([classifier,] [repeat,] fold, ..., actual, predicted)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> out = cross_predictions(GaussianNB(), *load_iris(return_X_y=True), cv=5)
    >>> count_folds(out, labels=[2, 1, 0]).sum("fold").values.tolist()
    [[47, 3, 0], [3, 47, 0], [0, 0, 50]]
    """
    names = ["classifier"] if "classifier" in predictions.dims else []
    names += ["repeat"] if int(predictions["repeat"].max()) > 0 else []
    example = predictions["example"].values
    slices = {name: ("tested", each[example]) for name, each in (by or {}).items()}
    names, predictions = [*names, "fold", *slices], predictions.assign(slices)
    # Actual first: its labels, repeated for every classifier, are those of the counts.
    wide = xr.broadcast(predictions["predicted"], *(predictions[name] for name in names))
    actual = predictions["actual"].broadcast_like(wide[0]).transpose(*wide[0].dims)
    by = {
        name: each.transpose(*wide[0].dims).values.ravel()
        for name, each in zip(names, wide[1:], strict=True)
    }
    known = {name: predictions.coords[name].item() for name in DESIGN}
    counts = from_predictions(
        actual.values.ravel(),
        wide[0].values.ravel(),
        labels=labels,
        positive=positive,
        by=by,
        design=known | ({"fixed_totals": False} if slices else {}),
    )
    if "classifier" in names:
        counts = counts.sel(classifier=predictions["classifier"].values)
    return _with_groups(counts, predictions) if "group" in predictions else counts


def _with_groups(counts, predictions):
    """Add by how much more than single examples the groups vary."""
    known = {"labels": counts["actual"].values.tolist(), "by": {"group": predictions["group"]}}
    repeats = int(predictions["repeat"].max()) + 1
    several = "classifier" in predictions.dims
    answers = predictions["predicted"].values if several else [predictions["predicted"].values]
    tables = [from_predictions(predictions["actual"], each, **known) for each in answers]
    if tables[0].sizes["group"] < 2:
        raise fail("too few groups", 1, "two or more", "leave groups out")
    effects = [group_effects(table.values / repeats) for table in tables]
    rates = [rate for rate, _ in effects]
    return counts.assign_coords(
        design_effect=("classifier", rates) if several else rates[0], totals_effect=effects[0][1]
    )


def _fit_all(tasks, n_jobs, progress):
    """Return the predictions (or the failure) of every fit, in the order of the tasks."""
    answers = {}
    with progress_bar(len(tasks), "cross-validation", progress) as advance:
        numbered = [(index, *task) for index, task in enumerate(tasks)]
        for index, answer in parallel(_predict, numbered, n_jobs):
            answers[index] = answer
            advance()
    return [answers[index] for index in range(len(tasks))]


def _predict(index, estimator, X, y, train, test):
    try:
        fitted = clone(estimator).fit(_safe_indexing(X, train), _safe_indexing(y, train))
        predicted = np.asarray(fitted.predict(_safe_indexing(X, test)))
        if predicted.shape != (len(test),):
            # Raised here, so that the message names classifier, repeat and fold as well.
            raise TypeError(f"predict returned shape {predicted.shape} for {len(test)} examples")
        return index, predicted
    except Exception as error:
        return index, error


def _dataset(answers, splits, labels, place, groups):
    """Put the predictions of one classifier together, without the splits on which it failed."""
    kept = [index for index, answer in enumerate(answers) if not isinstance(answer, Exception)]
    tests = [splits[index][1] for index in kept]
    example = np.concatenate(tests) if kept else np.empty(0, int)
    predicted = np.concatenate([answers[index] for index in kept]) if kept else labels[:0]
    repeat, fold = (np.repeat(each[kept], [len(test) for test in tests]) for each in place)
    data = {
        "example": example,
        "actual": labels[example],
        "predicted": predicted,
        "repeat": repeat,
        "fold": fold,
    }
    known = design(splits, labels)
    if groups is not None:
        data["group"] = np.asarray(groups)[example]
        known["fixed_totals"] = False  # groups are drawn, and bring their classes with them
    return xr.Dataset({name: ("tested", values) for name, values in data.items()}, known)


def _check_failures(estimators, rows, place, parts):
    failures = [
        (name, repeat, fold, answer)
        for name, answers in zip(estimators, rows, strict=True)
        for repeat, fold, answer in zip(*place, answers, strict=True)
        if isinstance(answer, Exception)
    ]
    if not failures:
        return
    name, repeat, fold, cause = failures[0]
    error = fail(
        # In full: the cause is what one needs to know.
        f"{name} failed on repeat {repeat}, fold {fold}, with {type(cause).__name__}: {cause}",
        ...,
        "an estimator that fits every training set",
        f"fix the estimator or change the splits ({len(failures)} fits failed; the other "
        "predictions are in this error's attribute predictions)",
    )
    error.predictions = dict(zip(estimators, parts, strict=True))  # type: ignore[attr-defined]
    raise error from cause
