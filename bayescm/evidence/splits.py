"""Set-up of a cross-validation: classifiers, splits, and additional splitters."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import (
    BaseCrossValidator,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from bayescm.evidence.labels import check_no_dates, check_no_missing_text
from bayescm.evidence.tabulate import axes_of, check_sizes, column, factorize
from bayescm.validate import check_row_order, fail, unmasked


def estimators_by_name(estimator):
    """Return classifiers by name, with a single one named after its type."""
    alone = {type(estimator).__name__: estimator}
    estimators = dict(estimator) if isinstance(estimator, Mapping) else alone
    for classifier in estimators.values():
        if isinstance(classifier, type) or not (
            hasattr(classifier, "fit") and hasattr(classifier, "predict")
        ):
            raise fail(
                "A classifier must have fit and predict",
                classifier,
                "",
                "pass an unfitted scikit-learn classifier, or a mapping from names to classifiers",
                TypeError,
            )
    if not estimators:
        raise fail("No classifiers are given", ..., "", "pass an estimator")
    return estimators


def labels_of(y):
    """Return the labels as an array, or raise an error if one is missing."""
    labels = np.asarray(unmasked(y, "y"))
    if labels.ndim != 1:
        raise fail(
            "`y` must be one column of labels, but its shape is {}",
            labels.shape,
            "",
            "pass one column: y.ravel(), or y.argmax(axis=1) for indicators",
        )
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        what = f"`y` has missing values ({len(missing)}, the first at position {missing[0]})"
        raise fail(what, ..., "", "drop these examples")
    if labels.dtype.kind in "OmM":
        check_no_dates(pd.unique(labels), "the labels of y")
    return labels


def splits_of(cv, X, y, groups, random_state):
    """Return the training and test indices of every split. Groups are kept together."""
    check_row_order({"X": X, "y": y, "groups": groups})
    if groups is not None:
        _, names = factorize("groups", column("groups", groups))  # checks for missing groups
        check_no_missing_text(names, "the groups", "drop these examples, or rename it")
    splits = _splitter(cv, np.asarray(y), random_state, groups).split(X, y, groups)
    return [(np.asarray(train), np.asarray(test)) for train, test in splits]


def _splitter(cv, y, random_state, groups):
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 2:
            raise fail(
                "A cross-validation needs two or more folds; got cv={}", cv, "", "pass `cv=10`"
            )
        largest = np.unique(y, return_counts=True)[1].max()
        if largest < cv:  # scikit-learn warns about smaller classes itself
            raise fail(
                f"Every class has at most {largest} examples, fewer than cv={{}}",
                cv,
                "",
                "use fewer folds",
            )
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        return kind(cv, shuffle=True, random_state=random_state)
    return check_cv(cv, y, classifier=True)


def repeats_and_folds(tests, size):
    """Return the repeat and fold of every split. A repeat ends once all examples were tested."""
    repeat, times_tested = [], np.zeros(size, int)
    for test in tests:
        repeat.append(int(times_tested.min()))
        times_tested[test] += 1
    sizes = np.bincount(repeat)
    if (
        (times_tested != times_tested[0]).any()
        or len(sizes) != times_tested[0]
        or len(set(sizes)) > 1
    ):
        # Splits that do not form whole passes (shuffled splits, time series) are one repeat.
        return np.zeros(len(tests), int), np.arange(len(tests))
    return np.array(repeat), np.arange(len(tests)) % sizes[0]


def split_design(splits, labels):
    """Return the number of folds, test and training shares, and whether class totals are fixed."""
    share = sum(len(test) for _, test in splits) / (len(splits) * len(labels))
    times_tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(labels))
    codes = np.unique(labels, return_inverse=True)[1]
    totals = np.stack([np.bincount(codes[test], minlength=codes.max() + 1) for _, test in splits])
    repeats = int(times_tested.max())
    if repeats > 1 and not (len(splits) % repeats == 0 and (times_tested == repeats).all()):
        repeats = _nearest_repeats(len(splits), share)
    return {
        "n_folds": len(splits) // repeats,
        "test_share": share,
        "train_size": sum(len(train) for train, _ in splits) / (len(splits) * len(labels)),
        "fixed_totals": bool((np.ptp(totals, axis=0) <= 1).all()),
    }


def _nearest_repeats(splits, share):
    """Return the number of repeats closest to splits * share that divides the number of splits."""
    # The number must be a divisor, because models of repeats need the same number of folds in each.
    possible = [repeats for repeats in range(1, splits // 2 + 1) if splits % repeats == 0]
    return min(possible, key=lambda repeats: abs(np.log(repeats / (splits * share))))


class BlockedThreeByTwo(BaseCrossValidator):
    """
    Blocked 3x2 cross-validation: four blocks, paired in all three possible ways.

    Each pairing is a two-fold cross-validation. Any two training sets of different pairings share
    exactly one block, which is half of their examples. In 5x2 cross-validation, this overlap is
    random.

    Parameters
    ----------
    stratify : bool, default True
        Whether every block has the class proportions of the data.
    random_state : int, RandomState or None
        Seed of the assignment to blocks.

    References
    ----------
    Wang, Y., Li, J., Li, Y., Wang, R. & Yang, X. (2015). Confidence interval for F1 measure of
    algorithm performance based on blocked 3x2 cross-validation. IEEE Transactions on Knowledge
    and Data Engineering, 27(3), 651-659. doi:10.1109/TKDE.2014.2359667

    Examples
    --------
    >>> y = [0, 1] * 4
    >>> splits = list(BlockedThreeByTwo(random_state=0).split(y, y))
    >>> len(splits), [len(test) for train, test in splits]
    (6, [4, 4, 4, 4, 4, 4])
    """

    def __init__(self, *, stratify: bool = True, random_state: Any = None):
        self.stratify = stratify
        self.random_state = random_state

    def _iter_test_indices(self, X=None, y=None, groups=None):
        block = _deal(X, y, 4, self.stratify, check_random_state(self.random_state))
        for partner in (1, 2, 3):
            first = np.isin(block, (0, partner))
            # Table 1 of the paper trains first on the pair that contains the first block.
            yield np.flatnonzero(~first)
            yield np.flatnonzero(first)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits, which is 6."""
        return 6


class FiveByTwo(BaseCrossValidator):
    """
    5x2 cross-validation: five random splits into halves for training and testing.

    Parameters
    ----------
    stratify : bool, default True
        Whether every half has the class proportions of the data.
    random_state : int, RandomState or None
        Seed of the splits into halves.

    References
    ----------
    Dietterich, T. G. (1998). Approximate statistical tests for comparing supervised
    classification learning algorithms. Neural Computation, 10(7), 1895-1923.
    doi:10.1162/089976698300017197

    Examples
    --------
    >>> y = [0, 1] * 4
    >>> FiveByTwo(random_state=0).get_n_splits()
    10
    """

    def __init__(self, *, stratify: bool = True, random_state: Any = None):
        self.stratify = stratify
        self.random_state = random_state

    def _iter_test_indices(self, X=None, y=None, groups=None):
        rng = check_random_state(self.random_state)
        for _ in range(5):
            half = _deal(X, y, 2, self.stratify, rng)
            yield np.flatnonzero(half == 1)
            yield np.flatnonzero(half == 0)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits, which is 10."""
        return 10


def _deal(X, y, parts, stratify, rng):
    """Assign the examples to equal parts at random, within each class if stratified."""
    size = len(y) if X is None else (X.shape[0] if hasattr(X, "shape") else len(X))
    if size < parts:
        raise fail(
            f"{size} examples cannot be split into {parts} parts", ..., "", "collect more examples"
        )
    order = rng.permutation(size)
    if stratify:
        if y is None or type_of_target(y) not in ("binary", "multiclass"):
            got = y if y is None else type_of_target(y)
            raise fail(
                "Stratified folds need one class label per example in y",
                got,
                "",
                "pass y, or `stratify=False`",
            )
        order = order[np.argsort(np.unique(np.asarray(y), return_inverse=True)[1][order])]
    part = np.empty(size, int)
    # The numbering continues across classes, so that the parts have equal sizes.
    part[order] = np.arange(size) % parts
    return part


def slices_of_rows(by, X, y, groups=None):
    """Return the slice (n,) of every example along each dimension."""
    if by is None:
        return {}
    check_row_order({"X": X, "y": y, "by": by})
    axes = axes_of(by, ("fold", "repeat", "classifier"))
    check_sizes({"y": len(labels_of(y))} | {name: len(axis.codes) for name, axis in axes.items()})
    if axes and groups is not None:
        raise fail(
            "`groups` and `by` cannot be combined",
            ...,
            "",
            "leave one of them out: `groups=` keeps examples together, `by=` counts slices",
        )
    return {name: axis.values[axis.codes] for name, axis in axes.items()}
