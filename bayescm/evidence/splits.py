"""Splitters that scikit-learn lacks."""

from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from bayescm.evidence.cross_validation import count_folds, cross_confusion, cross_predictions
from bayescm.validate import fail

__all__ = [
    "BlockedThreeByTwo",
    "FiveByTwo",
    "count_folds",
    "cross_confusion",
    "cross_predictions",
]


class BlockedThreeByTwo(BaseCrossValidator):
    """
    Blocked 3x2 cross-validation: four blocks, paired in the three possible ways.

    Each pairing is a two-fold cross-validation. Any two training sets of different pairings share
    exactly one block, half of their examples; in 5x2 cross-validation that number is random.

    Parameters
    ----------
    stratify : bool, default True
        Give each block its share of every class.
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
            # Table 1 of the paper: the pair with the first block trains first.
            yield np.flatnonzero(~first)
            yield np.flatnonzero(first)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits, 6."""
        return 6


class FiveByTwo(BaseCrossValidator):
    """
    5x2 cross-validation: five random halvings, each half used once for testing.

    Parameters
    ----------
    stratify : bool, default True
        Give each half its share of every class.
    random_state : int, RandomState or None
        Seed of the halvings.

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
        """Return the number of splits, 10."""
        return 10


def _deal(X, y, parts, stratify, rng):
    """Deal the examples into equal parts, class by class where stratified."""
    size = len(y) if X is None else (X.shape[0] if hasattr(X, "shape") else len(X))
    if size < parts:
        raise fail("too few examples to split", size, f"at least {parts}", "collect more examples")
    order = rng.permutation(size)
    if stratify:
        if y is None or type_of_target(y) not in ("binary", "multiclass"):
            got = y if y is None else type_of_target(y)
            raise fail(
                "stratified folds need class labels",
                got,
                "one class label per example in y",
                "pass y, or stratify=False",
            )
        order = order[np.argsort(np.unique(np.asarray(y), return_inverse=True)[1][order])]
    part = np.empty(size, int)
    # Going on where the last class stopped keeps the parts of one size.
    part[order] = np.arange(size) % parts
    return part
