"""Counts from the predictions of a classifier, in arrays or in the columns of a table."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from bayescm.evidence.counts import DESIGN, as_counts, make_counts, with_design
from bayescm.evidence.tabulate import tabulate
from bayescm.validate import fail, suggest


def from_predictions(
    actual: Any,
    predicted: Any,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    by: Mapping[str, Any] | None = None,
    design: Mapping[str, Any] | None = None,
    weights: Any = None,
    fractional: bool = False,
) -> xr.DataArray:
    """
    Return counts from the true labels of examples and a classifier's answers.

    Parameters
    ----------
    actual, predicted : array_like, shape (n,)
        Labels: strings, integers or booleans; no missing values.
    labels : sequence, optional
        All labels in order; by default those that occur in ``actual``, sorted. Add classes absent
        from the sample, and answers that are not a class (abstentions).
    positive : label, optional
        The positive class; obvious for the labels {0, 1} and {False, True}.
    by : mapping of str to array_like (n,), optional
        Leading dims: ``{"fold": fold}``, also repeat, classifier, group, step. With ``fold`` each
        example is taken to be tested once per repeat; the scalar coords ``n_folds``,
        ``test_share`` and ``fixed_totals`` are inferred.
    design : mapping, optional
        What is known of the design of the folds and need not be inferred, such as
        ``{"fixed_totals": True}`` or ``{"test_share": 0.2}``.
    weights : array_like, shape (n,), optional
        Weight >= 0 of every example; fractional sums need ``fractional=True``.
    fractional : bool, default False
        Whether to allow non-integer counts.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    Raises
    ------
    ValueError
        If lengths differ, a label is missing or unknown, there are fewer than two classes, or
        a fold is empty.

    Examples
    --------
    >>> from_predictions([1, 0, 1, 1], [1, 0, 0, 1]).values
    array([[1, 0],
           [1, 2]])
    """
    table, classes, coords = tabulate(
        actual, predicted, labels=labels, by=by, weights=weights, fractional=fractional
    )
    counts = make_counts(table, classes, positive, tuple(coords), coords)
    counts = with_design(counts.assign_coords(_known(design or {})))
    as_counts(counts)  # says so where the design cannot be
    return counts


def _known(design):
    """Return what is given of a design, or raise where it is of another name."""
    for name in design:
        if name not in DESIGN:
            raise fail("unknown part of a design", name, DESIGN, suggest(name, DESIGN))
    return design


def from_frame(
    frame: Any,
    *,
    actual: str = "actual",
    predicted: str = "predicted",
    by: str | Sequence[str] | Mapping[str, str] = (),
    weights: str | None = None,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    fractional: bool = False,
) -> xr.DataArray:
    """
    Return counts from the columns of a table with one row per example.

    Parameters
    ----------
    frame : DataFrame
        A pandas DataFrame, or anything with ``to_pandas`` or that ``pandas.DataFrame`` accepts.
    actual, predicted : str
        Names of the columns.
    by : str, sequence of str, or mapping of dim to column, optional
        Columns that become leading dims.
    weights : str, optional
        Column of weights >= 0, such as how often each row occurred.
    labels, positive, fractional
        As in ``from_predictions``.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    Raises
    ------
    ValueError
        If a column is missing; the message lists those available.

    Examples
    --------
    >>> frame = pd.DataFrame({"y": [1, 0, 1], "yhat": [1, 0, 0], "fold": [0, 0, 1]})
    >>> from_frame(frame, actual="y", predicted="yhat", by="fold").dims
    ('fold', 'actual', 'predicted')
    """
    if not isinstance(frame, pd.DataFrame):
        frame = frame.to_pandas() if hasattr(frame, "to_pandas") else pd.DataFrame(frame)
    if not isinstance(by, Mapping):
        by = {name: name for name in ([by] if isinstance(by, str) else by)}
    return from_predictions(
        column_of(frame, actual),
        column_of(frame, predicted),
        by={dim: column_of(frame, name) for dim, name in by.items()},
        weights=None if weights is None else column_of(frame, weights),
        labels=labels,
        positive=positive,
        fractional=fractional,
    )


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return the column, or raise where there is none of that name."""
    if name not in frame.columns:
        columns = [str(each) for each in frame.columns]
        todo = suggest(name, columns)
        raise fail("no such column", name, columns, todo)
    return frame[name]
