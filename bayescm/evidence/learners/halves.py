"""Classifiers trained on disjoint halves: how far another training set moves them."""

from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, DESIGN
from bayescm.evidence.cross_validation import cross_confusion
from bayescm.evidence.splits import labels_of, splits_of
from bayescm.validate import fail


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
    Train on disjoint halves, test each on the other, and return the confusion matrices.

    Folds share most of their training data, so that how far another training set would move the
    classifier is hidden from them. Two halves share none. Give the counts to
    ``interval(counts, measure, halves=halves)``.

    Parameters
    ----------
    estimator : estimator or mapping of str to estimator
        Scikit-learn classifiers; those in a mapping all see the same halves.
    X : array_like, shape (n, ...)
        Features.
    y : array_like, shape (n,)
        True labels.
    repeats : int, default 8
        How often the examples are halved, class by class: two trainings each.
    groups : array_like, shape (n,), optional
        The group of each example; groups are kept together.
    random_state : int, default 0
        Seed of the halvings.
    **keywords
        ``labels``, ``positive``, ``n_jobs`` and ``progress`` of `cross_confusion`.

    Returns
    -------
    DataArray
        Counts, dims ``([classifier,] repeat, half, actual, predicted)``.

    Raises
    ------
    ValueError
        If ``repeats`` is not a number of halvings, a half has no example of a class, or an
        estimator fails.

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
    """Return train and test of every half, one halving after the other, class by class."""
    if isinstance(repeats, bool) or not isinstance(repeats, (int, np.integer)) or repeats < 1:
        raise fail("repeats must be a number of halvings", repeats, "1 or more", "pass repeats=8")
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
    allowed = "every class in both halves"
    todo = "collect more of it, in more groups, or leave the halves out"
    raise fail("a half has no example of a class", np.asarray(label).item(), allowed, todo)
