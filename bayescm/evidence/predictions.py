"""Counts from the predictions of a classifier, given as arrays or as columns of a table."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import DESIGN, as_counts, make_counts, with_design
from bayescm.evidence.tabulate import check_weights, column, tabulate
from bayescm.validate import check_column, check_counts, check_row_order, fail, suggest, unmasked


def from_predictions(
    actual: Any,
    predicted: Any,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    abstain: Hashable | None = None,
    by: Mapping[str, Any] | None = None,
    design: Mapping[str, Any] | None = None,
    weights: Any = None,
    weights_are: str | None = None,
) -> xr.DataArray:
    """
    Return counts from true labels and predicted labels.

    This is the usual starting point: one row per test example, with its true class and the class
    that the classifier predicted.

    Parameters
    ----------
    actual, predicted : array_like, shape (n,)
        Labels: strings, integers or booleans, without missing values.
    labels : sequence, optional
        All class labels, in order. By default the sorted labels in ``actual``. Include classes that
        are absent from the sample.
    positive : label, optional
        Positive class. By default inferred if the labels are {0, 1} or {False, True}.
    abstain : label, optional
        Label that marks an abstention, such as ``"refused"``, ``"unparsable"`` or -1. Measures are
        then computed from the answered examples, and ``coverage`` is their proportion. The measures
        ``accuracy_of_all``, ``recall_of_all`` and ``f1_of_all`` treat abstentions as errors.
    by : mapping of str to array_like (n,), optional
        Leading dimensions, e.g. ``{"fold": fold}``. Other common names are repeat, classifier,
        group and step. With ``fold``, each example is assumed to be tested once per repeat, and the
        scalar coordinates ``n_folds``, ``test_share``, ``train_size`` and ``fixed_totals`` are
        inferred.
    design : mapping, optional
        Known parts of the cross-validation design, which are then not inferred, such as
        ``{"fixed_totals": True}`` or ``{"test_share": 0.2}``.
    weights : array_like, shape (n,), optional
        Weight >= 0 of each example.
    weights_are : {"counts", "importance"}, optional
        Meaning of the weights. Required if they are not integers.

        - ``"counts"``: the weight is the number of examples that a row represents.
        - ``"importance"``: a row is one example, sampled with probability inversely proportional to
          its weight. The scale of the weights does not matter.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    Raises
    ------
    ValueError
        If lengths differ, a label is missing or unknown, there are fewer than two classes, or a
        fold is empty. If indexes of pandas objects have the same labels in a different order. If
        weights are fractional and ``weights_are`` is not given.

    Notes
    -----
    With importance weights, counts are scaled so that their sum is Kish's effective sample size.
    The coordinate ``effective`` is the effective number of examples in each cell (see the model
    ``importance_weighted``). The coordinate ``heaviest`` is the largest weight in each class, on
    the scale of the counts. Results include a caution if the total weight of a cell is less than
    twice the largest weight.

    Examples
    --------
    >>> from_predictions([1, 0, 1, 1], [1, 0, 0, 1]).values
    array([[1, 0],
           [1, 2]])
    >>> some = from_predictions([1, 0, 1, 1], [1, 0, -1, 1], abstain=-1)
    >>> some.actual.values.tolist(), some.abstain.item()
    ([0, 1, -1], -1)
    """
    check_row_order({"actual": actual, "predicted": predicted, "by": by, "weights": weights})
    if weights is not None:
        weights = _weights(weights, weights_are)
    elif weights_are is not None:
        raise fail(f"`weights_are={weights_are!r}` needs `weights`", ..., "", "pass `weights=...`")
    table, labels_used, coords = tabulate(
        actual, predicted, labels=labels, by=by, weights=weights, abstain=abstain
    )
    whole, kish = weighted(table, weights_are)
    counts = make_counts(whole, labels_used, positive, tuple(coords), coords, abstain)
    if kish is not None:
        heaviest = _heaviest(actual, weights[1], labels_used) * (whole.sum() / table[1].sum())
        counts = counts.assign_coords(effective=(counts.dims, kish), heaviest=("actual", heaviest))
    if not design and abstain is None:
        return with_design(counts)
    counts = with_design(counts.assign_coords(_known(design or {})))
    as_counts(counts)  # raises an error if the design or the abstention is invalid
    return counts


def _weights(weights, kind):
    """Return count weights as (n,), or the powers 0 to 2 of importance weights as (3, n)."""
    weights = np.asarray(unmasked(weights, "weights")).ravel()
    if check_weights(weights, kind) == "counts":
        return weights
    weights = weights / weights.max()
    return np.stack([weights > 0, weights, weights**2]).astype(float)


def _heaviest(actual, weights, labels):
    """Return the largest weight in each class (C,), which is 0 for a class without examples."""
    truth = np.asarray(column("actual", actual))
    return pd.Series(weights).groupby(truth).max().reindex(labels, fill_value=0.0).to_numpy()


def weighted(table: np.ndarray, kind: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    """
    Return counts and, for importance weights, the effective number of examples per cell.

    The effective number is smaller than the number of examples, because weights within a cell vary.
    The variance of the weights is estimated from all cells together, since a few examples alone
    would underestimate it.

    Parameters
    ----------
    table : ndarray
        Sum of the weights in each cell. For importance weights, the sums of their powers 0, 1 and
        2, with shape (3, ...).
    kind : {None, "counts", "importance"}

    References
    ----------
    Kish, L. (1965). Survey sampling. Wiley. (the effective size of a weighted sample)
    """
    if kind != "importance":
        return check_counts(table, fractional=True), None
    number, sums, squares = table
    mean = np.divide(sums, number, out=np.zeros_like(sums), where=number > 0)
    relative = np.divide(squares, mean**2, out=np.zeros_like(sums), where=number > 0)
    freedom = np.maximum(number - 1, 0).sum()
    spread = max((relative - number).sum(), 0.0) / max(freedom, 1.0)
    return sums * sums.sum() / squares.sum(), number / (1 + spread)


def _known(design):
    """Return the given parts of a design, or raise an error if a name is unknown."""
    for name in design:
        if name not in DESIGN:
            raise fail("Unknown part {} of the design", name, DESIGN, suggest(name, DESIGN))
    return design


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column, or raise an error if it does not exist."""
    return frame[check_column(name, frame.columns)]
