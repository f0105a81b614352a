"""Learning curves: performance as a function of the size of the training set."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayescm.answers.summary import summary
from bayescm.evidence.cross_validation import cross_confusion
from bayescm.evidence.splits import labels_of, splits_of
from bayescm.validate import fail

_COLUMNS = ["measure", "point", "mean", "sd", "lower", "upper"]


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    sizes: Sequence[int | float] = (0.1, 0.25, 0.5, 0.75, 1.0),
    *,
    measures: str | Callable | Sequence[str | Callable] = "accuracy",
    cv: int = 10,
    groups: Any = None,
    prob: float = 0.95,
    kind: Literal["hdi", "eti"] = "hdi",
    positive: Hashable | None = None,
    random_state: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Cross-validate with training sets of several sizes, and summarise each size.

    All sizes are tested on the same folds. Training sets are nested and stratified by class. Each
    size has a separate posterior, which refers to training sets of that size.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifier, or a mapping from names to classifiers.
    X : array_like, shape (n, ...)
        Features.
    y : array_like, shape (n,)
        True labels.
    sizes : sequence of int or float
        Numbers of training examples, or fractions (up to 1) of the training set of a fold.
    measures : name, function, or sequence of these
    cv : int, default 10
        Number of stratified folds.
    groups : array_like, shape (n,), optional
        Group of each example. A group is never in both the training set and the test set of a fold.
        Training examples are drawn individually from the other groups.
    prob : float, default 0.95
    kind : {"hdi", "eti"}
    positive : label, optional
        Positive class.
    random_state : int, default 0
        Seed of the folds and training sets.
    **keywords
        Keywords ``n_jobs`` and ``progress`` of `bayescm.cross_confusion`.

    Returns
    -------
    DataFrame
        One row per size, classifier and measure. The columns are ``size`` (number of training
        examples), ``point``, ``mean``, ``sd``, ``lower`` and ``upper``; ``attrs`` contains ``prob``
        and ``kind``. Use `bayescm.plots.plot_learning_curve` for a plot.

    Raises
    ------
    ValueError
        If a size leaves a class without examples, or is larger than the training set of a fold.

    References
    ----------
    Viering, T. & Loog, M. (2023). The shape of learning curves: a review. IEEE Transactions on
    Pattern Analysis and Machine Intelligence, 45(6), 7799-7819. doi:10.1109/TPAMI.2022.3220744

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> table = learning_curve(GaussianNB(), X, y, [50, 200], cv=5)
    >>> table[["size", "point"]].round(2).values.tolist()
    [[50.0, 0.95], [200.0, 0.94]]
    """
    labels = labels_of(y)
    splits = splits_of(cv, X, y, groups, random_state)
    rng = np.random.default_rng(random_state)
    ordered = [(_stratified_order(train, labels, rng), test) for train, test in splits]
    rows = []
    for size in _numbers(sizes, min(len(train) for train, _ in ordered)):
        smaller = [(train[:size], test) for train, test in ordered]
        _check_classes(smaller, labels, size)
        counts = cross_confusion(
            estimator, X, y, smaller, groups=groups, positive=positive, **keywords
        )
        table = summary(counts, measures, prob=prob, kind=kind)
        columns = [name for name in table if name in ("classifier", "class", *_COLUMNS)]
        rows.append(table[columns].assign(size=size))
    table = pd.concat(rows, ignore_index=True)
    table = table[["size", *(name for name in table if name != "size")]]
    table.attrs = {"prob": prob, "kind": kind}
    return table


def _stratified_order(train, labels, rng):
    """Order a training set so that every initial part has approximately its class proportions."""
    train = rng.permutation(train)
    codes = np.unique(labels[train], return_inverse=True)[1]
    rank, totals = np.empty(len(train)), np.bincount(codes)
    for code, total in enumerate(totals):
        rank[codes == code] = (np.arange(total) + 0.5) / total
    return train[np.argsort(rank, kind="stable")]


def _numbers(sizes, most):
    """Convert sizes to numbers of examples, or raise an error if they are invalid."""
    if np.ndim(sizes) != 1 or not len(sizes):
        raise fail("No sizes are given", ..., "", "pass `sizes=[50, 100]`")
    return [_number(size, most) for size in sizes]


def _number(size, most):
    whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
    if whole or isinstance(size, (float, np.floating)):
        number = size if whole or size > 1 else size * most
        if 1.5 < number <= most and (size <= 1 or number == int(number)):
            return max(2, round(number))
    allowed = f"whole numbers from 2 to {most}, or shares up to 1"
    raise fail(
        "{} is not a valid size of a training set", size, allowed, "pass e.g. [50, 100, 0.5]"
    )


def _check_classes(splits, labels, size):
    classes = len(np.unique(labels))
    if any(len(np.unique(labels[train])) < classes for train, _ in splits):
        raise fail(
            "A training set of {} examples lacks examples of at least one class",
            size,
            "",
            "begin with a larger size",
        )
