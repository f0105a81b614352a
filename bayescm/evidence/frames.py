"""Tables of any library: the library groups and counts the rows, and returns only the counts."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from bayescm.evidence.outcomes import from_classifiers
from bayescm.evidence.predictions import column_of, from_predictions
from bayescm.validate import check_column, fail

MOST = 2_000_000  # maximum number of distinct combinations of labels or scores
_NUMBER, _SMALLEST = "_bayescm_n", "_bayescm_min"
_REST, _MISSING = "_bayescm_rest", "_bayescm_missing"


def from_frame(
    frame: Any,
    *,
    actual: str = "actual",
    predicted: str | Sequence[str] | Mapping[str, str] = "predicted",
    by: str | Sequence[str] | Mapping[str, str] = (),
    weights: str | None = None,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    abstain: Hashable | None = None,
    weights_are: str | None = None,
) -> xr.DataArray | xr.Dataset:
    """
    Return counts from the columns of a table with one row per example.

    Use this for data frames, including large ones: the library of the table counts the combinations
    of labels, and only these counts are brought into memory.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        Table of pandas, Polars (eager or lazy), PyArrow, DuckDB (a relation), Dask, or any other
        library that narwhals supports. Also anything that ``pandas.DataFrame`` accepts.
    actual : str
        Column of true labels.
    predicted : str, sequence of str, or mapping of classifier to column
        Column of predictions. With several columns, the result is the joint outcomes of the
        classifiers.
    by : str, sequence of str, or mapping of dim to column, optional
        Columns that become leading dimensions.
    weights : str, optional
        Column of weights >= 0, such as the frequency of each row.
    labels, positive, abstain, weights_are
        As in `from_predictions`. Importance weights require the columns to fit into memory.

    Returns
    -------
    DataArray, dims (..., actual, predicted), or Dataset for several classifiers
        Counts as returned by `from_predictions`, or outcomes as returned by `from_classifiers`.

    Raises
    ------
    ValueError
        If a column is missing (the message lists the available columns), or a label is missing.

    Examples
    --------
    >>> frame = pd.DataFrame({"y": [1, 0, 1], "yhat": [1, 0, 0], "fold": [0, 0, 1]})
    >>> from_frame(frame, actual="y", predicted="yhat", by="fold").dims
    ('fold', 'actual', 'predicted')
    """
    dims, answers = columns_by_name(by), columns_by_name(predicted)
    several = not isinstance(predicted, str) and isinstance(predicted, Iterable)
    if several:
        answers = {str(name): column for name, column in answers.items()}
    if several and weights_are == "importance":
        raise fail(
            "Importance weights ({}) are not available for several classifiers",
            weights,
            "",
            "count each classifier separately",
        )
    if not isinstance(frame, pd.DataFrame):
        columns = [actual, *answers.values(), *dims.values()]
        frame, weights = count_combinations(frame, columns, weights, weights_are)
        weights_are = weights_are if weights_are == "importance" else None
        weights_are = "counts" if weights is not None and weights_are is None else weights_are
    predictions = {name: column_of(frame, column) for name, column in answers.items()}
    options: dict[str, Any] = {
        "by": {dim: column_of(frame, name) for dim, name in dims.items()},
        "weights": None if weights is None else column_of(frame, weights),
        "labels": labels,
        "positive": positive,
        "abstain": abstain,
    }
    truth = column_of(frame, actual)
    if several:
        return from_classifiers(truth, predictions, **options)
    return from_predictions(truth, *predictions.values(), weights_are=weights_are, **options)


def columns_by_name(columns: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return columns keyed by name, which by default is the name of the column itself."""
    if isinstance(columns, Mapping):
        return dict(columns)
    is_single = isinstance(columns, str) or not isinstance(columns, Iterable)
    names: Any = [columns] if is_single else columns
    return {name: name for name in names}


def count_combinations(
    frame: Any, columns: Sequence[str], weights: str | None = None, weights_are: str | None = None
) -> tuple[pd.DataFrame, str | None]:
    """
    Count each combination of values, using the library of the table.

    Returns
    -------
    DataFrame
        One row per combination. For importance weights, or if the input is not a table of a
        supported library, one row per example.
    str or None
        Column with the frequencies, or the given ``weights``.

    Raises
    ------
    ValueError
        If a column is missing or has missing values, or there are too many combinations.
    """
    import narwhals as nw  # needed only here

    table = nw.from_native(frame, pass_through=True)
    if not isinstance(table, nw.DataFrame | nw.LazyFrame):
        return _plain(frame), weights
    names = table.collect_schema().names()
    column_names = list(dict.fromkeys([*columns, *([] if weights is None else [weights])]))
    for name in column_names:
        check_column(name, names)
    table = table.lazy().select(*column_names)
    if weights_are == "importance":
        return _collected(table), weights
    keys = list(dict.fromkeys(columns))
    if weights is not None:
        weight = nw.col(weights)
        blank = weight.is_null().cast(nw.Int32).alias(_MISSING)
        table = table.with_columns((weight % 1).alias(_REST), blank)
    combinations = _collected(table.group_by(*keys).agg(*_sums(nw, weights)).head(MOST + 1))
    if len(combinations) > MOST:
        raise fail(
            f"The columns {keys} have more than {MOST} combinations",
            ...,
            "",
            "name columns of labels; for scores, use `from_scored_frame` with `edges=`",
        )
    check_labels(combinations, keys, _NUMBER)
    if weights is not None:
        _check(combinations, weights, weights_are)
    return combinations, _NUMBER


def check_labels(counted: pd.DataFrame, keys: Sequence[str], number: str) -> None:
    """Raise an error if a combination of labels has a missing label."""
    for name in keys:
        missing = counted.loc[counted[name].isna(), number].sum()
        if missing:
            todo = ["drop these rows", "give abstentions a label and pass it as `abstain=`"]
            raise fail(f"{name} has missing values ({missing:.15g})", ..., "", todo)


def _sums(nw, weights):
    """Return the aggregations for each combination of labels."""
    if weights is None:
        return [nw.len().alias(_NUMBER)]
    weight = nw.col(weights)
    sums = [weight.sum().alias(_NUMBER), weight.min().alias(_SMALLEST)]
    return [*sums, nw.col(_REST).max(), nw.col(_MISSING).sum()]


def _check(combinations, weights, weights_are):
    if missing := int(combinations[_MISSING].sum()):
        todo = "drop these rows, or give them a weight"
        raise fail(f"{weights} has missing values ({missing})", ..., "", todo)
    if not (combinations[_SMALLEST] >= 0).all():
        got = combinations[_SMALLEST].min()
        raise fail(f"Weights in {weights} must be numbers >= 0", got, "", "correct these rows")
    if weights_are is None and (combinations[_REST] > 0).any():
        raise fail(
            "Fractional weights need `weights_are`",
            ...,
            "",
            'pass `weights_are="importance"` for sampling weights, or '
            '`weights_are="counts"` if a weight is a number of examples',
        )


def _collected(table):
    return table.collect().to_pandas()


def _plain(frame):
    """Convert any other table to a pandas DataFrame."""
    if hasattr(frame, "to_pandas"):
        return frame.to_pandas()
    try:
        return pd.DataFrame(frame)
    except (TypeError, ValueError):
        kind = f"{type(frame).__module__}.{type(frame).__name__}"
        raise fail(
            f"An object of type {kind} is not a table of pandas, Polars, PyArrow, DuckDB or Dask",
            ...,
            "",
            "convert it to pandas, or pass a mapping of columns; for other tables, install "
            "the newest narwhals",
            TypeError,
        ) from None
