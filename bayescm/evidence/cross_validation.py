"""
Cross-validation of classifiers, with out-of-fold results as evidence.

- `cross_confusion`: confusion matrices by fold, from `cross_predictions`.
- `cross_outcomes`: joint predictions of several classifiers.
- `cross_scores`: scores.
- `cross_halves`: confusion matrices of classifiers trained on disjoint halves, which show how much
  the training set matters.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable

from bayescm.evidence.counts import CELLS, DESIGN
from bayescm.evidence.evidence_type import number_of
from bayescm.evidence.folds import group_effects
from bayescm.evidence.outcomes import from_classifiers
from bayescm.evidence.parallel import parallel, progress_bar
from bayescm.evidence.predictions import from_predictions
from bayescm.evidence.scores import from_scores
from bayescm.evidence.splits import (
    estimators_by_name,
    labels_of,
    repeats_and_folds,
    slices_of_rows,
    split_design,
    splits_of,
)
from bayescm.validate import fail


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

    Use this to evaluate a learning procedure. Intervals then account for the variation between
    training sets.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifiers. Those in a mapping are trained on the same splits.
    X : array_like, shape (n, ...)
        Features.
    y : array_like, shape (n,)
        True labels.
    cv : int, splitter or iterable of (train, test)
        Splitter, or number of folds K >= 2 for shuffled stratified K-fold cross-validation.
    labels : sequence, optional
        All class labels, in order. By default the sorted labels in `y`.
    positive : label, optional
        Positive class.
    by : mapping of str to array_like (n,), optional
        Further dimensions, e.g. ``{"sex": sex}`` for separate counts of each slice in every fold.
        Cannot be combined with ``groups``.
    **keywords
        ``groups``, ``n_jobs``, ``random_state`` and ``progress`` as in `cross_predictions`.

    Returns
    -------
    DataArray
        Counts, dims ``([classifier,] [repeat,] fold, ..., actual, predicted)``. There is a
        dimension ``classifier`` for a mapping and ``repeat`` for a repeated splitter. The
        dimensions of ``by`` follow the folds. Scalar coordinates describe the design:

        - ``n_folds``: number of folds in one pass over the data.
        - ``test_share`` and ``train_size``: proportion of the examples in a test set and in a
          training set.
        - ``fixed_totals``: whether the folds are stratified.
        - ``design_effect`` and ``totals_effect``: with groups, the variance inflation due to
          clustering.

    See Also
    --------
    cross_predictions : Returns the out-of-fold predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> counts = cross_confusion(GaussianNB(), *load_breast_cancer(return_X_y=True), cv=5)
    >>> counts.dims, counts.sum("fold").values.tolist(), bool(counts.fixed_totals)
    (('fold', 'actual', 'predicted'), [[188, 24], [11, 346]], True)
    """
    slices = slices_of_rows(by, X, y, keywords.get("groups"))
    _check_classes(y, labels=labels, positive=positive)
    predictions = cross_predictions(estimator, X, y, cv, **keywords)
    return count_folds(predictions, labels=labels, positive=positive, by=slices)


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
    Cross-validate classifiers and return the out-of-fold predictions.

    Use this instead of `cross_confusion` to keep the predictions of single examples, e.g. for
    further analyses.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifiers. Those in a mapping are trained on the same splits. Estimators are
        cloned.
    X : array_like, shape (n, ...)
        Features. Data frames and sparse matrices are accepted.
    y : array_like, shape (n,)
        True labels.
    cv : int, splitter or iterable of (train, test)
        Splitter, or number of folds K >= 2 for shuffled stratified K-fold cross-validation.
    groups : array_like, shape (n,), optional
        Group of each example, such as the patient. Groups are passed to the splitter, and are kept
        together if `cv` is a number. They are also part of the result, so that intervals account
        for them.
    n_jobs : int, default 1
        Number of processes; -1 for one per core.
    random_state : int, default 0
        Seed of the shuffling if `cv` is a number.
    progress : bool, default False
        Whether to show a progress bar with the remaining time.

    Returns
    -------
    Dataset, dim ``tested``
        One entry per test example of each split, with these variables:

        - ``example``: row of the example in ``X``.
        - ``actual`` and ``predicted``, the latter with a leading dimension ``classifier`` for a
          mapping.
        - ``repeat`` and ``fold``.
        - ``group``, if there are groups.

        The scalar coordinates are ``n_folds``, ``test_share``, ``train_size`` and ``fixed_totals``.

    Raises
    ------
    ValueError
        If there are fewer than two splits, or an estimator fails. The message names the estimator,
        repeat, fold and cause. The attribute ``predictions`` of the error maps each name to the
        predictions of the splits that succeeded.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> out = cross_predictions(GaussianNB(), *load_iris(return_X_y=True), cv=5)
    >>> dict(out.sizes), float((out.actual == out.predicted).mean().round(2))
    ({'tested': 150}, 0.96)
    """
    estimators = estimators_by_name(estimator)
    X, y, groups = indexable(X, y, groups)
    labels = labels_of(y)
    splits = splits_of(cv, X, y, groups, random_state)
    if len(splits) < 2:
        raise fail(
            "Cross-validation needs at least two splits", len(splits), "", "pass e.g. `cv=10`"
        )
    answers = _fit_all(
        [(classifier, X, y, *split) for classifier in estimators.values() for split in splits],
        n_jobs,
        progress,
    )
    rows = [answers[start : start + len(splits)] for start in range(0, len(answers), len(splits))]
    numbering = repeats_and_folds([test for _, test in splits], len(labels))
    parts = [_dataset(row, splits, labels, numbering, groups) for row in rows]
    _check_failures(estimators, rows, numbering, parts)
    if not isinstance(estimator, Mapping):
        return parts[0]
    predicted = np.stack([part["predicted"].values for part in parts])
    return (
        parts[0]
        .assign(predicted=(("classifier", "tested"), predicted))
        .assign_coords(classifier=list(estimators))
    )


def count_folds(
    predictions: xr.Dataset,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    by: Mapping[str, np.ndarray] | None = None,
) -> xr.DataArray:
    """
    Return the counts of out-of-fold predictions by fold.

    Parameters
    ----------
    predictions : Dataset
        Result of `cross_predictions`.
    labels : sequence, optional
        All class labels, in order. By default the sorted labels in ``actual``.
    positive : label, optional
        Positive class.
    by : mapping of str to ndarray (n,), optional
        Further dimensions: the slice of every example in the data. Folds are not stratified within
        slices.

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
    slices = {name: ("tested", slice_labels[example]) for name, slice_labels in (by or {}).items()}
    names, predictions = [*names, "fold", *slices], predictions.assign(slices)
    # The true labels, repeated for every classifier, come first because they determine the labels
    # of the counts.
    wide = xr.broadcast(predictions["predicted"], *(predictions[name] for name in names))
    actual = predictions["actual"].broadcast_like(wide[0]).transpose(*wide[0].dims)
    by = {
        name: slice_labels.transpose(*wide[0].dims).values.ravel()
        for name, slice_labels in zip(names, wide[1:], strict=True)
    }
    scalars = {name: predictions.coords[name].item() for name in DESIGN}
    counts = from_predictions(
        actual.values.ravel(),
        wide[0].values.ravel(),
        labels=labels,
        positive=positive,
        by=by,
        design=scalars | ({"fixed_totals": False} if slices else {}),
    )
    if "classifier" in names:
        counts = counts.sel(classifier=predictions["classifier"].values)
    return _with_groups(counts, predictions) if "group" in predictions else counts


def _with_groups(counts, predictions):
    """Add the variance inflation due to groups."""
    keywords = {"labels": counts["actual"].values.tolist(), "by": {"group": predictions["group"]}}
    repeats = int(predictions["repeat"].max()) + 1
    several = "classifier" in predictions.dims
    answers = predictions["predicted"].values if several else [predictions["predicted"].values]
    tables = [
        from_predictions(predictions["actual"], answers_of, **keywords) for answers_of in answers
    ]
    if tables[0].sizes["group"] < 2:
        raise fail(
            "`groups` has only one group, so no fold can be tested", ..., "", "leave `groups` out"
        )
    effects = [group_effects(table.values / repeats) for table in tables]
    rates = [rate for rate, _ in effects]
    return counts.assign_coords(
        design_effect=("classifier", rates) if several else rates[0], totals_effect=effects[0][1]
    )


# Model fits and their failures


def _fit_all(tasks, n_jobs, progress):
    """Return the predictions of every fit, or its exception, in the order of the tasks."""
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
            # Raised here, so that the error message also names classifier, repeat and fold.
            raise TypeError(f"predict returned shape {predicted.shape} for {len(test)} examples")
        return index, predicted
    except Exception as error:
        return index, error


def _dataset(answers, splits, labels, numbering, groups):
    """Combine the predictions of one classifier, without failed splits."""
    kept = [index for index, answer in enumerate(answers) if not isinstance(answer, Exception)]
    tests = [splits[index][1] for index in kept]
    example = np.concatenate(tests) if kept else np.empty(0, int)
    predicted = np.concatenate([answers[index] for index in kept]) if kept else labels[:0]
    repeat, fold = (
        np.repeat(numbers[kept], [len(test) for test in tests]) for numbers in numbering
    )
    data = {
        "example": example,
        "actual": labels[example],
        "predicted": predicted,
        "repeat": repeat,
        "fold": fold,
    }
    design = split_design(splits, labels)
    if groups is not None:
        data["group"] = np.asarray(groups)[example]
        design["fixed_totals"] = False  # class totals vary with the sampled groups
    return xr.Dataset({name: ("tested", values) for name, values in data.items()}, design)


def _check_failures(estimators, rows, numbering, parts):
    failures = [
        (name, repeat, fold, answer)
        for name, answers in zip(estimators, rows, strict=True)
        for repeat, fold, answer in zip(*numbering, answers, strict=True)
        if isinstance(answer, Exception)
    ]
    if not failures:
        return
    name, repeat, fold, cause = failures[0]
    error = fail(
        # The message contains the full cause, because it is the most useful information.
        f"{name} failed on repeat {repeat}, fold {fold}, with {type(cause).__name__}: {cause}",
        ...,
        "",
        f"fix the estimator or change the splits; {number_of(len(failures), 'fits')} failed, and "
        "the attribute predictions of this error contains the other predictions",
    )
    error.predictions = dict(zip(estimators, parts, strict=True))  # type: ignore[attr-defined]
    raise error from cause


# Disjoint halves: two training sets without common examples


def cross_halves(
    estimator: Any,
    X: Any,
    y: Any,
    repeats: int = 8,
    *,
    groups: Any = None,
    random_state: int = 0,
    **keywords: Any,
) -> xr.DataArray:
    """
    Return confusion matrices of classifiers trained on disjoint halves.

    Each classifier is tested on the other half. Use this together with a cross-validation. Folds
    share most of their training data, so they underestimate how much another training set would
    change the classifier. Two halves share no examples. Pass the counts to
    ``interval(counts, measure, halves=halves)``.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifiers. Those in a mapping are trained on the same halves.
    X : array_like, shape (n, ...)
        Features.
    y : array_like, shape (n,)
        True labels.
    repeats : int, default 8
        Number of times that the examples are split into halves, stratified by class. Each split
        gives two training sets.
    groups : array_like, shape (n,), optional
        Group of each example. Groups are kept together.
    random_state : int, default 0
        Seed of the splits into halves.
    **keywords
        ``labels``, ``positive``, ``n_jobs`` and ``progress`` as in `cross_confusion`.

    Returns
    -------
    DataArray
        Counts, dims ``([classifier,] repeat, half, actual, predicted)``.

    Raises
    ------
    ValueError
        If ``repeats`` is not a positive integer, a half has no example of a class, or an estimator
        fails.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> halves = cross_halves(stump, *load_breast_cancer(return_X_y=True), repeats=3)
    >>> dict(halves.sizes)
    {'repeat': 3, 'half': 2, 'actual': 2, 'predicted': 2}
    """
    splits = halvings(X, y, repeats, groups, random_state)
    counts = cross_confusion(estimator, X, y, splits, groups=groups, **keywords)
    counts = counts if "repeat" in counts.dims else counts.expand_dims(repeat=1)
    counts = counts.rename(fold="half").transpose(..., "repeat", "half", *CELLS)
    return counts.drop_vars(DESIGN, errors="ignore")


def halvings(X: Any, y: Any, repeats: int, groups: Any, random_state: int) -> list:
    """Return training and test indices of all halves, stratified by class."""
    if isinstance(repeats, bool) or not isinstance(repeats, (int, np.integer)) or repeats < 1:
        raise fail(
            "`repeats` must be a number of halvings, 1 or more", repeats, "", "pass `repeats=8`"
        )
    seeds = np.random.default_rng(random_state).integers(2**31, size=repeats)
    labels = labels_of(y)
    classes, totals = np.unique(labels, return_counts=True)
    if len(totals) and totals.min() < 2:
        _missing(classes[totals.argmin()])
    splits = [split for seed in seeds for split in splits_of(2, X, y, groups, int(seed))]
    for train, _ in splits:
        absent = np.setdiff1d(classes, labels[train])
        if len(absent):
            _missing(absent[0])
    return splits


def _missing(label):
    raise fail(
        "One half has no example of the class {}",
        np.asarray(label).item(),
        "",
        "collect more examples of it, in more groups, or leave the halves out",
    )


# Joint predictions of several classifiers for every example


def cross_outcomes(
    estimators: Any,
    X: Any,
    y: Any,
    cv: Any = 10,
    *,
    halves: int = 0,
    positive: Any = None,
    by: Any = None,
    random_state: int = 0,
    **keywords: Any,
) -> xr.Dataset:
    """
    Cross-validate classifiers on the same folds and return their joint outcomes.

    Use this to compare classifiers: the outcomes record which classifiers err on the same examples.

    Parameters
    ----------
    estimators : mapping of str to estimator
        Scikit-learn classifiers, which are trained on the same splits.
    X : array_like, shape (n, ...)
        Features.
    y : array_like, shape (n,)
        True labels.
    cv : int, splitter or iterable of (train, test)
        Splitter, or number of folds K >= 2 for shuffled stratified K-fold cross-validation. Each
        example may be tested at most once.
    halves : int, default 0
        Number of additional splits into disjoint halves, as in `cross_halves`. The halves show how
        much the training set affects each classifier. Usually, 8 splits are sufficient.
    positive : label, optional
        Positive class.
    by : mapping of str to array_like (n,), optional
        Further dimensions, e.g. ``{"sex": sex}`` for separate counts of each slice in every fold.
        Cannot be combined with ``halves``.
    random_state : int, default 0
        Seed of the folds and of the splits into halves.
    **keywords
        ``n_jobs`` and ``progress`` as in `cross_confusion`.

    Returns
    -------
    Dataset
        Outcomes, dims ``(fold, ..., outcome)``, as returned by `from_classifiers` with
        ``by={"fold": fold}``. With halves, also the variable ``halves``, dims
        ``(halving, half, outcome)``. `compare` then uses ``model="paired_folds"`` by default.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, groups are given, an example is tested more than
        once, or an estimator fails. All conditions except the last are checked before training
        starts.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> two = {"stump": DecisionTreeClassifier(max_depth=1), "bayes": GaussianNB()}
    >>> both = cross_outcomes(two, *load_breast_cancer(return_X_y=True), cv=5, halves=2)
    >>> both["counts"].dims, both["halves"].dims, int(both["counts"].sum())
    (('fold', 'outcome'), ('halving', 'half', 'outcome'), 569)
    """
    if not hasattr(estimators, "items") or len(estimators) < 2:
        raise fail(
            "A comparison needs a mapping of two or more classifiers",
            ...,
            "",
            'pass e.g. {"a": one, "b": other}',
        )
    if keywords.get("groups") is not None:
        raise fail(
            "Joint outcomes of classifiers cannot have `groups`",
            ...,
            "",
            "use cross_confusion(..., `groups=`) and compare()",
        )
    slices = slices_of_rows(by, X, y)
    if slices and halves:
        todo = "leave `halves=` out, or select the examples of a slice"
        raise fail("`halves` cannot be combined with slices along {}", list(slices), "", todo)
    # Validate all arguments first, because training may take hours.
    _check_classes(y, positive=positive)
    designs = [_one_pass(splits_of(cv, X, y, None, random_state), len(labels_of(y)))]
    if halves:
        designs.append(halvings(X, y, halves, None, random_state))
    parts = [cross_predictions(estimators, X, y, splits, **keywords) for splits in designs]
    folds = int(parts[0]["fold"].max()) + 1
    numbering = [part["repeat"].values * 2 + part["fold"].values for part in parts]
    numbering[1:] = [numbers + folds for numbers in numbering[1:]]
    example = parts[0]["example"].values
    predicted = np.concatenate([part["predicted"].values for part in parts], axis=1)
    outcomes = from_classifiers(
        np.concatenate([part["actual"].values for part in parts]),
        dict(zip(estimators, predicted, strict=True)),
        positive=positive,
        by={"fold": np.concatenate(numbering)}
        | {name: numbers[example] for name, numbers in slices.items()},
    )
    folds_alone = outcomes.isel(fold=slice(folds))
    if halves:
        shape = (halves, 2, outcomes.sizes["outcome"])
        table = outcomes["counts"].values[folds:].reshape(shape)
        folds_alone["halves"] = (("halving", "half", "outcome"), table)
    design = {name: parts[0].coords[name].item() for name in DESIGN}
    return folds_alone.assign_coords(design | ({"fixed_totals": False} if slices else {}))


def _one_pass(splits, size):
    """Return the splits, or raise an error if an example is tested more than once."""
    tested = np.concatenate([np.empty(0, int), *(test for _, test in splits)])
    times_tested = np.bincount(tested, minlength=size)
    if times_tested.max() > 1:
        todo = "pass `cv=10`, or compare the folds of cross_confusion(estimators, X, y, cv)"
        what = "the joint outcomes of classifiers need splits that test each example once"
        raise fail(f"{what}; these test an example {times_tested.max()} times", ..., "", todo)
    return splits


def _check_classes(y, **keywords):
    """Raise an error if labels or a positive class are inconsistent with the true labels."""
    labels = labels_of(y)
    from_predictions(labels, labels, **keywords)


# Out-of-fold scores


def cross_scores(
    estimator: Any,
    X: Any,
    y: Any,
    cv: Any = 10,
    *,
    positive: Hashable | None = None,
    groups: Any = None,
    n_jobs: int = 1,
    random_state: int = 0,
) -> xr.Dataset:
    """
    Cross-validate classifiers and return the out-of-fold scores.

    Use this for ROC curves and the areas under them.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifiers with ``decision_function`` or ``predict_proba``. Those in a mapping
        are trained on the same splits. Estimators are cloned.
    X : array_like, shape (n, ...)
    y : array_like, shape (n,)
    cv : int, splitter or iterable of (train, test)
        Splitter, or number of folds K >= 2 for shuffled stratified K-fold cross-validation.
    positive : label, optional
        Positive class, if there are two classes.
    groups : array_like, shape (n,), optional
        Group of each example, for splitters that keep groups together.
    n_jobs : int, default 1
        Number of processes; -1 for one per core.
    random_state : int, default 0
        Seed of the shuffling if `cv` is a number.

    Returns
    -------
    Dataset
        Scores, with the number of the split as ``fold``, and the scalar coordinates ``test_share``
        and ``train_size``. With a repeated splitter, an example occurs once per repeat.

    Raises
    ------
    ValueError
        If an estimator has no scores or fails.

    See Also
    --------
    bayescm.curves.fold_auc : Mean area over the folds.
    bayescm.curves.pool_folds : Pools the folds into one sample.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> evidence = cross_scores(GaussianNB(), *load_breast_cancer(return_X_y=True), cv=3)
    >>> evidence.score.dims, sorted(set(evidence.fold.values.tolist()))
    (('example',), [0, 1, 2])
    """
    estimators = estimators_by_name(estimator)
    X, y, groups = indexable(X, y, groups)
    labels = labels_of(y)
    classes = np.unique(labels)
    splits = splits_of(cv, X, y, groups, random_state)
    tasks = [
        (index, name, classifier, X, y, *split)
        for index, (name, classifier, split) in enumerate(
            (name, classifier, split) for name, classifier in estimators.items() for split in splits
        )
    ]
    scores_of = dict(parallel(_score, tasks, n_jobs))
    tests = [test for _, test in splits]
    scores = {}
    for row, name in enumerate(estimators):
        parts = [scores_of[row * len(splits) + index] for index in range(len(splits))]
        scores[name] = np.concatenate([_toward(part, classes, positive) for part in parts])
    evidence = from_scores(
        labels[np.concatenate(tests)],
        scores if isinstance(estimator, Mapping) else next(iter(scores.values())),
        positive=positive,
        fold=np.repeat(np.arange(len(splits)), [len(test) for test in tests]),
    )
    design = split_design(splits, labels)
    return evidence.assign_coords({name: design[name] for name in ("test_share", "train_size")})


def _score(index, name, estimator, X, y, train, test):
    """Return the task number and the scores of one split, (n,) for two classes, else (n, C)."""
    inside = _safe_indexing(X, test)
    fitted = clone(estimator).fit(_safe_indexing(X, train), _safe_indexing(y, train))
    for method in ("decision_function", "predict_proba"):
        if hasattr(fitted, method):
            values = np.asarray(getattr(fitted, method)(inside))
            return index, values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values
    raise fail(
        f"{name} has no scores: a {type(estimator).__name__} has neither "
        "decision_function nor predict_proba",
        ...,
        "",
        "use a classifier that has one of them, e.g. SVC(probability=True)",
    )


def _toward(values, classes, positive):
    """Negate the scores of the second class if the first class is positive."""
    return -values if len(classes) == 2 and positive == classes[0] else values
