"""Counts from files: predictions, or a confusion table."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from bayescm.evidence.matrices import from_matrix
from bayescm.evidence.predictions import column_of, from_frame
from bayescm.validate import fail


def read(
    path: str | Path,
    *,
    actual: str | None = None,
    predicted: str | None = None,
    by: str | Sequence[str] | Mapping[str, str] = (),
    weights: str | None = None,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
) -> xr.DataArray:
    """
    Return counts from a CSV or Parquet file of predictions or of a confusion table.

    Parameters
    ----------
    path : str or Path
        ``.csv`` (also ``.tsv`` and ``.txt``; separated by commas, semicolons or tabs, may be
        compressed) or ``.parquet``.
    actual, predicted : str, optional
        Columns of a file with one row per example; by default those of these names. Without them
        the file is a confusion table: one row per actual class, its label first, one column per
        predicted class.
    by, weights
        As in ``from_frame``.
    labels, positive : optional
        As in ``from_predictions``; given as text they are converted to the type of the column.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it cannot be read, or is neither predictions nor a square table.
    """
    wanted = {actual or "actual", predicted or "predicted", *([weights] if weights else [])}
    wanted |= {by} if isinstance(by, str) else set(by.values() if isinstance(by, Mapping) else by)
    frame = _load(Path(path), wanted)
    if actual is None and predicted is None and not {"actual", "predicted"} <= set(frame.columns):
        return _from_table(frame, labels, positive)
    actual, predicted = actual or "actual", predicted or "predicted"
    frame = _one_kind(frame, actual, predicted)
    kind = frame[actual].dtype if actual in frame.columns else None
    return from_frame(
        frame,
        actual=actual,
        predicted=predicted,
        by=by,
        weights=weights,
        labels=None if labels is None else [as_label(label, kind) for label in labels],
        positive=as_label(positive, kind),
    )


def read_columns(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """
    Return the table of a CSV or Parquet file that has all these columns.

    Parameters
    ----------
    path : str or Path
        As for `read`.
    columns : sequence of str
        Names of columns.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it cannot be read, or lacks a column; the message lists those available.
    """
    frame = _load(Path(path), set(columns))
    for name in columns:
        column_of(frame, name)
    return frame


def _load(path, wanted):
    """Return the wanted columns of a file that has them all, else all that it has."""
    kinds = {".parquet": "parquet", ".csv": "text", ".tsv": "text", ".txt": "text"}
    kind = next((kinds[suffix] for suffix in path.suffixes if suffix in kinds), None)
    if kind is None:
        todo = "read it with pandas and pass it to from_frame or from_matrix"
        raise fail("unsupported file format", path.name, kinds, todo)
    if not path.is_file():
        todo = "check the path"
        raise fail("no such file", str(path), "an existing file", todo, FileNotFoundError)
    try:
        load = _load_parquet if kind == "parquet" else _load_text
        frame, names = load(path, wanted)
    except (ValueError, OSError) as problem:
        todo = "check that it is what its name says, with a line of column names"
        raise fail(f"{path.name} cannot be read", str(problem), kind, todo) from None
    if twice := [name for name in sorted(wanted) if names.count(name) > 1]:
        todo = "rename one of the columns in the file"
        raise fail("several columns have the same name", twice[0], "every name once", todo)
    return frame


def _load_parquet(path, wanted):
    from pyarrow import parquet

    names = parquet.read_schema(path).names
    return pd.read_parquet(path, columns=sorted(wanted) if wanted <= set(names) else None), names


def _load_text(path, wanted):
    first = pd.read_csv(path, sep="\0", header=None, nrows=1, engine="c").iat[0, 0]
    separator = max(",;\t", key=str(first).count)
    options: dict[str, Any] = {"sep": separator, "skipinitialspace": True}
    names = pd.read_csv(path, header=None, nrows=1, dtype=str, **options).iloc[0].tolist()
    columns: Any = sorted(wanted) if wanted <= set(names) else None
    in_place: dict[str, Any] = {"index_col": False, "usecols": range(len(names))}
    head = pd.read_csv(path, nrows=20, **options).reset_index(drop=True)
    if not head.equals(pd.read_csv(path, nrows=20, **options, **in_place)):
        # Rows are longer than the line of names: pandas takes their first fields for names of rows.
        if not head.iloc[:, -1].isna().all():
            raise ValueError("rows have more fields than there are names of columns")
        options["index_col"] = False  # they only end in a separator
        columns = columns or in_place["usecols"]
    return pd.read_csv(path, usecols=columns, **options), names


def _one_kind(frame, *columns):
    """Where one column is text (it holds a refusal), take both as text."""
    present = [name for name in columns if name in frame.columns]
    text = [pd.api.types.is_string_dtype(frame[name].dtype) for name in present]
    if any(text) and not all(text):
        frame = frame.astype({name: "str" for name in present})
    return frame


def as_label(label: Any, kind: Any) -> Any:
    """Return a label given as text as the kind of label that the column holds."""
    if not isinstance(label, str) or kind is None:
        return label
    if pd.api.types.is_bool_dtype(kind):
        return {"true": True, "1": True, "false": False, "0": False}.get(label.lower(), label)
    if pd.api.types.is_numeric_dtype(kind):
        try:
            return int(label.removesuffix(".0"))
        except ValueError:
            return label
    return label


def _from_table(frame, labels, positive):
    table = frame.set_index(frame.columns[0])
    kind = table.index.dtype
    table.columns = [as_label(str(name), kind) for name in table.columns]
    numeric = all(pd.api.types.is_numeric_dtype(each) for each in table.dtypes)
    if table.empty or not numeric or (labels is None and set(table.index) != set(table.columns)):
        columns = list(frame.columns)
        todo = (
            "name the columns of predictions with actual= and predicted=, or give a confusion "
            "table with the same labels down and across"
        )
        raise fail("neither predictions nor a confusion table", columns, "one of the two", todo)
    labels = None if labels is None else [as_label(label, kind) for label in labels]
    return from_matrix(table, labels=labels, positive=as_label(positive, kind))
