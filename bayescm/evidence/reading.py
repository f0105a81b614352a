"""Counts from files: predictions, a confusion table, or a table of studies."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import from_cells, from_matrix
from bayescm.evidence.engines import NUMBER
from bayescm.evidence.files import Columns, File, as_numbers, as_places
from bayescm.evidence.frames import check_labels, from_frame
from bayescm.evidence.predictions import column_of
from bayescm.validate import fail

_CELLS, _MOST_STUDIES = {"tp", "fn", "fp", "tn"}, 1_000_000


def read(
    path: str | Path,
    *,
    actual: str | None = None,
    predicted: str | None = None,
    by: str | Sequence[str] | Mapping[str, str] = (),
    weights: str | None = None,
    weights_are: str | None = None,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    numeric_labels: bool | None = None,
    abstain: Hashable | None = None,
) -> xr.DataArray:
    r"""
    Return counts from a file of predictions, of a confusion table or of studies.

    Labels in text files are text: ``01`` is not ``1``, and ``NA`` is a class. Parquet and Arrow
    files have types of their own. A text file is counted piece by piece, whatever its size.

    Parameters
    ----------
    path : str or Path
        ``.csv`` (also ``.tsv`` and ``.txt``; separated by commas, semicolons or tabs; may be
        compressed: ``.gz``, ``.bz2``, ``.xz``, ``.zip``), ``.parquet``, ``.feather``, ``.arrow``, a
        folder of these (also in parts, ``site=a/...``), or a table of a database of DuckDB,
        ``answers.duckdb::table``. These count by themselves, and only the counts come into memory.
        Or the address of a file, ``https://...``, which is fetched first.
    actual, predicted : str, optional
        Columns of a file with one row per example; by default those of these names. Without them
        the file is a confusion table (one row per actual class, its label first, one column per
        predicted class; the other way round with "predicted" in the corner) or, with columns TP,
        FN, FP and TN, a table of studies.
    by, weights, weights_are
        As in ``from_frame``.
    labels, positive, abstain : optional
        As in ``from_predictions``; given as text they are converted to the type of the column.
    numeric_labels : bool, optional
        Whether the labels of a text file are whole numbers; by default where ``labels`` or
        ``positive`` are.

    Returns
    -------
    DataArray, dims (..., actual, predicted)
        Of studies the first dim is ``group``, labelled by the first other column whose values
        differ; the columns that are left are coords of it.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it cannot be read, or is neither predictions nor a square table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "predictions.csv"
    >>> _ = path.write_text("actual,predicted\n01,01\n1,01\n1,1\n")
    >>> read(path)["actual"].values.tolist()
    ['01', '1']
    """
    file = File(path)
    if is_table(file, actual, predicted):
        if {name.lower() for name in file.names} >= _CELLS:
            return _from_studies(file, labels, positive)
        return _from_table(file, labels, positive)
    actual, predicted = actual or "actual", predicted or "predicted"
    if not isinstance(by, Mapping):
        by = {name: name for name in ([by] if isinstance(by, str) else by)}
    frame = read_columns(
        path,
        [actual, predicted],
        by=list(by.values()),
        numbers=[weights] if weights else [],
        numeric_labels=_numeric(numeric_labels, labels, positive),
        counted=not weights,
    )
    if not weights and len(frame):
        weights, weights_are = NUMBER, "counts"
        check_labels(frame, [actual, predicted, *by.values()], NUMBER)
    kind = kind_of(frame[actual])
    counts: Any = from_frame(
        frame,
        actual=actual,
        predicted=predicted,
        by=by,
        weights=weights,
        weights_are=weights_are,
        labels=None if labels is None else [as_label(label, kind) for label in labels],
        positive=as_label(positive, kind),
        abstain=as_label(abstain, kind),
    )
    return counts


def is_table(file: File, actual: str | None, predicted: str | None) -> bool:
    """Return whether a file is a confusion table or one of studies, without a row per example."""
    return actual is None and predicted is None and not {"actual", "predicted"} <= set(file.names)


def read_columns(
    path: str | Path,
    labels: Sequence[str],
    *,
    by: Sequence[str] = (),
    numbers: Sequence[str] = (),
    numeric_labels: bool = False,
    counted: bool = False,
) -> pd.DataFrame:
    """
    Return some columns of a file.

    Parameters
    ----------
    path : str or Path
        As for `read`.
    labels : sequence of str
        Columns of labels: text (categorical), of one type, unless ``numeric_labels``.
    by : sequence of str
        Columns of folds, groups or steps: whole numbers where that merges none of them.
    numbers : sequence of str
        Columns of scores or weights.
    numeric_labels : bool
        Whether the labels are whole numbers.
    counted : bool
        Whether only counts are wanted: a row for each combination of labels, and how often it
        occurs as the column ``stored.engines.NUMBER``.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it cannot be read, or lacks a column; the message lists those available.
    """
    file = File(path)
    for name in (*labels, *by, *numbers):
        column_of(pd.DataFrame(columns=file.names), name)
    if counted:
        frame = file.counted([*labels, *by])
    else:
        frame = file.columns(Columns((*labels, *by), tuple(numbers)))
    places = {name: as_places(frame[name]) for name in by if name not in labels}
    if numeric_labels:
        places |= {name: as_numbers(frame[name]) for name in labels}
    return _one_kind(frame.assign(**places), *labels)


def _numeric(given, labels, positive):
    if given is not None:
        return given
    named = [*(labels if labels is not None else []), positive]
    return any(isinstance(label, (int, np.integer)) and label is not bool(label) for label in named)


def _one_kind(frame, *columns):
    """Where one column is text (it holds a refusal), take all as text."""
    text = [_is_text(kind_of(frame[name])) for name in columns]
    if any(text) and not all(text):
        frame = frame.astype({name: "str" for name in columns})
    return frame


def kind_of(column: pd.Series) -> Any:
    """Return the type of the labels in a column."""
    categories = isinstance(column.dtype, pd.CategoricalDtype)
    return column.cat.categories.dtype if categories else column.dtype


def _is_text(kind):
    return not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind))


def as_label(label: Any, kind: Any) -> Any:
    """Return a label as the kind of label that the column holds."""
    if label is None or kind is None or (isinstance(label, str) and _is_text(kind)):
        return label
    if not isinstance(label, str):
        return str(label) if _is_text(kind) else label
    if pd.api.types.is_bool_dtype(kind):
        return {"true": True, "1": True, "false": False, "0": False}.get(label.lower(), label)
    if pd.api.types.is_numeric_dtype(kind):
        try:
            return int(label.removesuffix(".0"))
        except ValueError:
            return label
    return label


def _from_table(file, labels, positive):
    frame = file.whole(len(file.names) + 1)
    table = frame.set_index(frame.columns[0])
    kind = table.index.dtype
    table.columns = [as_label(str(name), kind) for name in table.columns]
    numeric = all(pd.api.types.is_numeric_dtype(each) for each in table.dtypes)
    labels = None if labels is None else [as_label(label, kind) for label in labels]
    if table.empty or not numeric or (labels is None and set(table.index) != set(table.columns)):
        todo = (
            "name the columns of predictions with actual= and predicted=, or give a confusion "
            "table with the same labels down and across"
        )
        raise fail("neither predictions nor a confusion table", file.names, "one of the two", todo)
    return from_matrix(table, labels=labels, positive=as_label(positive, kind))


def _numbers(column):
    """Return a column of numbers; the first one of a file is read as texts, as names may be."""
    numbers = pd.to_numeric(column, errors="coerce")
    return (column if numbers.isna().any() else numbers).to_numpy()


def _from_studies(file, labels, positive):
    frame = file.whole(_MOST_STUDIES)
    columns = {name.lower(): name for name in file.names}
    tp, fn, fp, tn = (_numbers(frame.pop(columns[cell])) for cell in ("tp", "fn", "fp", "tn"))
    chosen = ("negative", "positive") if labels is None else labels
    counts = from_cells(tp=tp, fn=fn, fp=fp, tn=tn, labels=chosen).rename(batch="group")
    if positive is not None and positive != counts["positive"].item():
        todo = f"pass labels=[..., {positive!r}], the positive one last"
        raise fail("TP are of another class", positive, counts["positive"].item(), todo)
    numbers = list(frame.select_dtypes("number"))  # they may be covariates: last, and kept
    ordered = [*(name for name in frame if name not in numbers), *numbers]
    names = next((name for name in ordered if frame[name].is_unique), None)
    if names is not None:
        named = frame[names] if names in numbers else frame.pop(names)
        counts = counts.assign_coords(group=named.to_numpy())
    taken = [name for name in frame if name in (*counts.coords, *counts.dims)]
    if taken:
        raise fail("columns with names of our own", taken, "others", "rename them")
    return counts.assign_coords({name: ("group", each.to_numpy()) for name, each in frame.items()})
