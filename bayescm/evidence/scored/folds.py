"""From classifiers and data to the scores of every test example of a cross-validation."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable

from bayescm.evidence.parallel import parallel
from bayescm.evidence.scores import from_scores
from bayescm.evidence.splits import as_mapping, design, labels_of, splits_of
from bayescm.validate import fail


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
    Train on every split and keep the scores of its test examples.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifiers with ``decision_function`` or ``predict_proba``; those in a mapping
        all see the same splits. They are cloned.
    X : array_like, shape (n, ...)
    y : array_like, shape (n,)
    cv : int, splitter or iterable of (train, test)
        A number K >= 2 means stratified K folds, shuffled.
    positive : label, optional
        The positive class, for two classes.
    groups : array_like, shape (n,), optional
        For splitters that keep groups together.
    n_jobs : int, default 1
        Number of processes; -1 for one per core.
    random_state : int, default 0
        Seed of the shuffling where `cv` is a number.

    Returns
    -------
    Dataset
        Scores with a ``fold`` for every split, and the scalar coords ``test_share``
        and ``train_size``. Where the splitter repeats, an example occurs once per repeat.

    Raises
    ------
    ValueError
        If an estimator provides no scores or fails.

    See Also
    --------
    bayescm.curves.fold_auc : The mean area over the folds.
    bayescm.curves.pool_folds : All folds as one sample.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> evidence = cross_scores(GaussianNB(), *load_breast_cancer(return_X_y=True), cv=3)
    >>> evidence.score.dims, sorted(set(evidence.fold.values.tolist()))
    (('example',), [0, 1, 2])
    """
    estimators = as_mapping(estimator)
    X, y, groups = indexable(X, y, groups)
    labels = labels_of(y)
    classes = np.unique(labels)
    splits = splits_of(cv, X, y, groups, random_state)
    tasks = [
        (index, name, each, X, y, *split)
        for index, (name, each, split) in enumerate(
            (name, each, split) for name, each in estimators.items() for split in splits
        )
    ]
    found = dict(parallel(_score, tasks, n_jobs))
    tests = [test for _, test in splits]
    scores = {}
    for row, name in enumerate(estimators):
        parts = [found[row * len(splits) + index] for index in range(len(splits))]
        scores[name] = np.concatenate([_toward(part, classes, positive) for part in parts])
    evidence = from_scores(
        labels[np.concatenate(tests)],
        scores if isinstance(estimator, Mapping) else next(iter(scores.values())),
        positive=positive,
        fold=np.repeat(np.arange(len(splits)), [len(test) for test in tests]),
    )
    known = design(splits, labels)
    return evidence.assign_coords({name: known[name] for name in ("test_share", "train_size")})


def _score(index, name, estimator, X, y, train, test):
    """Return the scores of one split, (n,) for the last of two classes or (n, C)."""
    inside = _safe_indexing(X, test)
    fitted = clone(estimator).fit(_safe_indexing(X, train), _safe_indexing(y, train))
    for method in ("decision_function", "predict_proba"):
        if hasattr(fitted, method):
            values = np.asarray(getattr(fitted, method)(inside))
            return index, values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values
    todo = "use one with decision_function or predict_proba, e.g. SVC(probability=True)"
    raise fail(
        f"{name} gives no scores", type(estimator).__name__, "a classifier with scores", todo
    )


def _toward(values, classes, positive):
    """Turn the scores of the last of two classes around where the first one is positive."""
    return -values if len(classes) == 2 and positive == classes[0] else values
