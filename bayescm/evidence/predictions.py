"""Counts from the predictions of a classifier, in arrays or in the columns of a table."""

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
    Return counts from the true labels of examples and a classifier's answers.

    Parameters
    ----------
    actual, predicted : array_like, shape (n,)
        Labels: strings, integers or booleans; no missing values.
    labels : sequence, optional
        All labels in order; by default those that occur in ``actual``, sorted. Add classes absent
        from the sample.
    positive : label, optional
        The positive class; obvious for the labels {0, 1} and {False, True}.
    abstain : label, optional
        The answer that is none: ``"refused"``, ``"unparsable"``, -1. Measures are of the answered
        examples then, and ``coverage`` is the proportion answered; see ``accuracy_of_all``,
        ``recall_of_all`` and ``f1_of_all`` for abstentions counted as errors.
    by : mapping of str to array_like (n,), optional
        Leading dims: ``{"fold": fold}``, also repeat, classifier, group, step. With ``fold`` each
        example is taken to be tested once per repeat; the scalar coords ``n_folds``,
        ``test_share``, ``train_size`` and ``fixed_totals`` are inferred.
    design : mapping, optional
        What is known of the design of the folds and need not be inferred, such as
        ``{"fixed_totals": True}`` or ``{"test_share": 0.2}``.
    weights : array_like, shape (n,), optional
        Weight >= 0 of every example.
    weights_are : {"counts", "importance"}, optional
        What weights stand for, and needed where they are not whole numbers. ``"counts"``: a row
        stands for so many examples. ``"importance"``: a row is one example, drawn with a
        probability inversely proportional to its weight; the scale of the weights does not matter.
        Counts are then scaled to sum to Kish's effective number of examples, and the coord
        ``effective`` says how many examples each cell is worth; see the model
        ``importance_weighted``. The coord ``heaviest`` is the largest weight in each class, on the
        scale of the counts: answers are cautioned of where a cell weighs less than two such
        examples.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    Raises
    ------
    ValueError
        If lengths differ, indexes of pandas have the same labels in another order, a label is
        missing or unknown, there are fewer than two classes, or a fold is empty; or if weights
        are fractional and ``weights_are`` is not given.

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
        raise fail("`weights_are` without `weights`", weights_are, "weights", "pass `weights=...`")
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
    as_counts(counts)  # says so where the design, or the abstention, cannot be
    return counts


def _weights(weights, kind):
    """Return weights (n,), of importance weights the powers 0 to 2, (3, n)."""
    weights = np.asarray(unmasked(weights, "weights")).ravel()
    if check_weights(weights, kind) == "counts":
        return weights
    weights = weights / weights.max()
    return np.stack([weights > 0, weights, weights**2]).astype(float)


def _heaviest(actual, weights, labels):
    """Return the largest weight in each class (C,), 0 where it has no example."""
    truth = np.asarray(column("actual", actual))
    return pd.Series(weights).groupby(truth).max().reindex(labels, fill_value=0.0).to_numpy()


def weighted(table: np.ndarray, kind: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    """
    Return counts, and of importance weights how many examples each cell is worth.

    Examples of a cell differ in weight, so that they are worth fewer than they are. How much they
    differ is learned from all cells together: few examples seem more alike than they are.

    Parameters
    ----------
    table : ndarray
        The sum of the weights in every cell; of importance weights that of their powers 0, 1 and 2,
        (3, ...).
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
    """Return what is given of a design, or raise where it is of another name."""
    for name in design:
        if name not in DESIGN:
            raise fail("unknown part of a design", name, DESIGN, suggest(name, DESIGN))
    return design


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return the column, or raise where there is none of that name."""
    return frame[check_column(name, frame.columns)]
