"""
Counts and columns from files: predictions, confusion matrices and tables of studies.

`read` returns the counts in a file. Only the required columns are read into memory, and labels are
read as strings. A text file is read in chunks. A file on the web is downloaded once.
"""

import atexit
import csv
import itertools
import os
import re
import shutil
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import from_cells, from_matrix
from bayescm.evidence.engines import NUMBER, TYPED, open_table, without_categories
from bayescm.evidence.frames import check_labels, from_frame
from bayescm.evidence.json_files import JSON, JsonTable, is_json
from bayescm.evidence.labels import check_exact
from bayescm.evidence.number_format import (
    NotANumberError,
    has_hundreds,
    may_be_thousandths,
    may_have_thousands,
    number_format,
    two_meanings,
    with_decimal_comma,
)
from bayescm.evidence.predictions import column_of
from bayescm.evidence.table_sides import described, sides_of, warn_of_names, with_signs
from bayescm.evidence.text_files import PACKED, open_text, plainly
from bayescm.validate import Advice, fail

# Number of rows of a text file that are in memory at a time.
_PIECE = 1_000_000
# Maximum number of distinct labels in a column of classes or groups.
MOST_LABELS = 100_000
_TEXT = (".csv", ".tsv", ".txt")
_CELLS = {"tp", "fn", "fp", "tn"}
_MOST_STUDIES = 1_000_000
# Column names that usually refer to classifiers rather than studies.
_CLASSIFIERS = ("classifier", "model", "system")

# Counts from a file


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
    decimal: str | None = None,
    thousands: str | None = None,
    records: str | None = None,
    classifier: str | None = None,
) -> xr.DataArray:
    r"""
    Return counts from a file of predictions, a confusion matrix or a table of studies.

    Labels in text files are strings: ``01`` differs from ``1``, and ``NA`` is a class. Parquet and
    Arrow files keep their types. Text files of any size are counted in chunks.

    Parameters
    ----------
    path : str or Path
        One of these:

        - A text file, ``.csv``, ``.tsv`` or ``.txt``, separated by commas, semicolons or tabs.
        - A JSON file, ``.jsonl``, ``.ndjson`` or ``.json``.
        - A typed file, ``.parquet``, ``.feather`` or ``.arrow``.
        - A folder of typed files, possibly partitioned (``site=a/...``).
        - A table in a DuckDB database, ``answers.duckdb::table``.
        - The web address of a file, ``https://...``, which is downloaded first.

        Text and JSON files may be compressed (``.gz``, ``.bz2``, ``.xz``, ``.zip``). Typed files
        and databases are counted by the library that reads them, so only the counts are kept in
        memory.
    actual, predicted : str, optional
        Columns of a file with one row per example. By default the columns named actual and
        predicted. Without them, the file is one of these:

        - A table of studies, if it has columns TP, FN, FP and TN.
        - Otherwise a confusion matrix: one row per actual class, with its label in the first
          column, and one column per predicted class. Rows and columns are exchanged if the corner
          is "predicted", "yhat", "test" or similar.
    by, weights, weights_are
        As in `from_frame`.
    labels, positive, abstain : optional
        As in `from_predictions`. Labels given as strings are converted to the type of the column.
    numeric_labels : bool, optional
        Whether the labels of a text file are integers. By default True if ``labels`` or
        ``positive`` are integers.
    decimal : {".", ","}, optional
        Decimal separator of the counts or weights in a text file. By default a point.
    thousands : {".", ",", " ", "'", "_"}, optional
        Thousands separator in a text file. By default none. With ``"."``, the decimal separator is
        a comma.
    records : str, optional
        Dotted path of the list of records in a JSON file, such as ``"results.results"``. By default
        the file is a list of records, or has one record per line. Nested fields have dotted names,
        such as ``actual="target.label"``.
    classifier : str, optional
        Column of the classifier in a table with columns TP, FN, FP and TN. Rows are then
        classifiers rather than studies.

    Returns
    -------
    DataArray, dims (..., actual, predicted)
        Counts. For studies, the first dimension is ``group``, labelled by the first other column
        with distinct values. The remaining columns become its coordinates. For a confusion matrix,
        ``attrs["as_read"]`` states which axis was read as the actual classes, and the resulting TP,
        FN, FP and TN.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file cannot be read, or contains neither predictions, studies nor a confusion matrix.
        Also if points in counts, as in 1.000, could be thousands separators.

    Warns
    -----
    UserWarning
        If a table of studies has a column named classifier, model or system. If points in weights
        or covariates, as in 1.250, could be thousands separators. If the corner of a confusion
        matrix does not identify the actual classes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "predictions.csv"
    >>> _ = path.write_text("actual,predicted\n01,01\n1,01\n1,1\n")
    >>> read(path)["actual"].values.tolist()
    ['01', '1']
    """
    file = File(path, decimal=decimal, thousands=thousands, records=records)
    if is_table(file, actual, predicted):
        cells = _CELLS & {name.lower() for name in file.names}
        if cells >= _CELLS - {"tn"}:
            return _from_studies(file, labels, positive, classifier)
        if classifier is not None:
            todo = "leave `classifier` out, or name the columns TP, FN, FP and TN"
            what = "`classifier` has no effect: the file has no counts for each classifier"
            raise fail(what, classifier, "", todo)
        if len(cells) > 1:
            missing = ", ".join(sorted(_CELLS - cells)).upper()
            raise fail(
                "A table of studies lacks the columns {}",
                missing,
                "",
                "if only one class was tested, add columns of zeros for the other",
            )
        return _from_table(file, labels, positive)
    if classifier is not None:
        todo = (
            "leave `classifier` out; to compare predictions of several classifiers, use from_frame"
        )
        raise fail(f"`classifier={classifier!r}` has no effect on predictions", ..., "", todo)
    actual, predicted = actual or "actual", predicted or "predicted"
    if file.number_format.is_given and not weights:
        raise file.number_format.without_effect("these are predictions without weights")
    if not isinstance(by, Mapping):
        by = {name: name for name in ([by] if isinstance(by, str) else by)}
    frame = read_columns(
        path,
        [actual, predicted],
        by=list(by.values()),
        weights=weights,
        numeric_labels=_numeric(numeric_labels, labels, positive),
        counted=not weights,
        decimal=decimal,
        thousands=thousands,
        records=records,
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


def is_table(file: "File", actual: str | None, predicted: str | None) -> bool:
    """Return True if a file contains a confusion matrix or studies, not one row per example."""
    return actual is None and predicted is None and not {"actual", "predicted"} <= set(file.names)


def _from_table(file, labels, positive):
    table = _with_labels_down(file.whole(len(file.names) + 1))
    names = [name for name in file.names if name in [*map(str, table.columns)]]
    kind, name = table.index.dtype, table.columns.name
    table.columns = pd.Index([as_label(str(label), kind) for label in table.columns], name=name)
    numeric = all(pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes)
    if numeric and table.shape == (2, 2) and set(table.index) != set(table.columns):
        signed = with_signs(table)
        if signed is not None:
            table, kind, positive = signed, np.dtype(object), positive or "positive"
    labels = None if labels is None else [as_label(label, kind) for label in labels]
    is_square = labels is not None or set(table.index) == set(table.columns)
    if is_square and not table.empty:
        file.check_counts(names, len(table))
    if table.empty or not numeric or not is_square:
        raise fail(
            "The file has neither columns of predictions nor a confusion matrix; its "
            "columns are {}",
            file.names,
            "",
            "name the columns of predictions with `actual=` and `predicted=`, or pass a "
            "confusion matrix with the same labels on rows and columns",
        )
    sides = sides_of(table)
    warn_of_names(sides, "If they are not, name the first column of the file 'predicted'.", 3)
    table = table.rename_axis(index=sides.down, columns=sides.across)
    counts = from_matrix(table, labels=labels, positive=as_label(positive, kind))
    return counts.assign_attrs(as_read=described(counts, sides))


def _with_labels_down(frame):
    """Return a table labelled by its stored index, or else by its first column."""
    if isinstance(frame.index, pd.RangeIndex):
        frame = frame.set_index(frame.columns[0])
    is_unnamed = re.fullmatch(r"|Unnamed: 0|__index_level_0__", str(frame.index.name or ""))
    return frame.rename_axis(index=None if is_unnamed else frame.index.name)


def _from_studies(file, labels, positive, classifier):
    frame = file.whole(_MOST_STUDIES)
    columns = {name.lower(): name for name in file.names}
    file.check_counts([columns[cell] for cell in _CELLS if cell in columns], len(frame))
    file.warn_of_points([name for name in file.names[1:] if name.lower() not in _CELLS])
    tp, fn, fp, tn = (
        _numbers(frame.pop(columns[cell])) if cell in columns else None
        for cell in ("tp", "fn", "fp", "tn")
    )
    class_labels = ("negative", "positive") if labels is None else labels
    counts = from_cells(tp=tp, fn=fn, fp=fp, tn=tn, labels=class_labels).rename(batch="group")
    if positive is not None and positive != counts["positive"].item():
        todo = f"pass `labels=[..., {positive!r}]`, the positive one last"
        raise fail(
            "TP and FN count the class {}, but the positive class is "
            f"{counts['positive'].item()!r}",
            positive,
            "",
            todo,
        )
    if classifier is not None:
        return _of_classifiers(counts, frame, classifier)
    for name in frame:
        if name.lower() in _CLASSIFIERS:
            what = f"The rows of {file.path.name} were read as studies of one classifier"
            todo = f"pass `classifier={name!r}` if {name} names classifiers"
            warnings.warn(Advice(what, todo), stacklevel=3)
    numbers = list(frame.select_dtypes("number"))  # may be covariates: kept, last choice for names
    ordered = [*(name for name in frame if name not in numbers), *numbers]
    names = next((name for name in ordered if frame[name].is_unique), None)
    if names is not None:
        named = frame[names] if names in numbers else frame.pop(names)
        counts = counts.assign_coords(group=named.to_numpy())
    taken = [name for name in frame if name in (*counts.coords, *counts.dims)]
    if taken:
        raise fail("The column names {} are reserved", taken, "", "rename them")
    return counts.assign_coords(
        {name: ("group", column.to_numpy()) for name, column in frame.items()}
    )


def _of_classifiers(counts, frame, classifier):
    """Return counts with one row per classifier."""
    names = column_of(frame, classifier).astype(str)
    if names.duplicated().any():
        twice = names[names.duplicated()].iloc[0]
        todo = "select the rows of one data set, or leave `classifier` out if the rows are studies"
        raise fail(f"{classifier} {{}} has several rows", twice, "", todo)
    return counts.rename(group="classifier").assign_coords(classifier=names.to_numpy(object))


def _numbers(column):
    """Convert a column to numbers if possible. The first column of a file is read as text."""
    numbers = pd.to_numeric(column, errors="coerce")
    return (column if numbers.isna().any() else numbers).to_numpy()


# Columns of a file and the types of their labels


def read_columns(
    path: "str | Path | FilePart",
    labels: Sequence[str],
    *,
    by: Sequence[str] = (),
    numbers: Sequence[str] = (),
    weights: str | None = None,
    numeric_labels: bool = False,
    counted: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    records: str | None = None,
) -> pd.DataFrame:
    """
    Return selected columns of a file.

    Parameters
    ----------
    path : str or Path
        As in `read`.
    labels : sequence of str
        Columns of labels. Labels in text files are categorical strings, unless ``numeric_labels``
        is True. If one column contains strings, all are converted to strings.
    by : sequence of str
        Columns of folds, groups or steps. Converted to integers if distinct values stay distinct.
    numbers : sequence of str
        Columns of scores.
    weights : str, optional
        Column of weights.
    numeric_labels : bool
        Whether the labels are integers.
    counted : bool
        Whether to return counts only: one row per combination of labels, with its frequency in the
        column ``engines.NUMBER``.
    decimal, thousands : str, optional
        As in `read`, for scores and weights.
    records : str, optional
        As in `read`.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file cannot be read, or lacks a column. The message lists the available columns.

    Warns
    -----
    UserWarning
        If points in weights, as in 1.250, could be thousands separators. Likewise for scores, if
        their column also contains integers such as 980.
    """
    if isinstance(path, FilePart):
        asked: dict[str, Any] = {"labels": [*labels], "by": [*by], "numbers": [*numbers]}
        asked |= {"weights": weights, "numeric_labels": numeric_labels, "decimal": decimal}
        return path.select(asked | {"thousands": thousands, "records": records})
    file = File(path, decimal=decimal, thousands=thousands, records=records)
    scores, numbers = numbers, [*numbers, *([weights] if weights else [])]
    for name in (*labels, *by, *numbers):
        column_of(pd.DataFrame(columns=file.names), name)
    if counted:
        frame = file.counted([*labels, *by])
    else:
        frame = file.columns(Columns((*labels, *by), tuple(numbers)))
        suspects = [name for name in dict.fromkeys(numbers) if may_be_thousandths(frame[name])]
        file.warn_of_points([name for name in suspects if name == weights])
        others = [name for name in scores if name in suspects and name != weights]
        others = [name for name in others if has_hundreds(frame[name])]
        file.warn_of_points(others, only_beside_hundreds=True)
    places = {name: as_slice_labels(frame[name]) for name in by if name not in labels}
    if numeric_labels:
        places |= {name: as_numbers(frame[name]) for name in labels}
    return _one_kind(frame.assign(**places), *labels)


class FilePart(os.PathLike):
    """
    Part of the rows of a file, for `read_columns`. All parts share the columns read so far.

    Parameters
    ----------
    path : str
        The file.
    rows : ndarray of int
        Positions of the rows.
    frames : dict
        Columns of the whole file that have been read so far, shared by all parts.
    """

    def __init__(self, path: str, rows: np.ndarray, frames: dict[str, pd.DataFrame]):
        self.path, self.rows, self.frames = path, rows, frames

    def __fspath__(self) -> str:
        return self.path

    def select(self, asked: dict[str, Any]) -> pd.DataFrame:
        """Return these rows of the columns specified by the keywords of `read_columns`."""
        key = repr(asked)
        if key not in self.frames:
            self.frames[key] = read_columns(self.path, **asked)
        rows = self.frames[key].take(self.rows).reset_index(drop=True)
        categorical = [name for name in rows if isinstance(rows[name].dtype, pd.CategoricalDtype)]
        return rows.assign(
            **{name: rows[name].cat.remove_unused_categories() for name in categorical}
        )


def _numeric(numeric_labels, labels, positive):
    if numeric_labels is not None:
        return numeric_labels
    named = [*(labels if labels is not None else []), positive]
    return any(isinstance(label, (int, np.integer)) and label is not bool(label) for label in named)


def _one_kind(frame, *columns):
    """Convert all columns to strings if one contains strings, e.g. an abstention label."""
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
    """Convert a label to the type of the labels in a column."""
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


def as_numbers(column: pd.Series) -> pd.Series:
    """Return labels as integers, or raise an error if one is not an integer."""
    kinds = pd.api.types
    if kinds.is_numeric_dtype(column.dtype):
        return column
    labels = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else None
    texts = pd.Index(column.dropna().unique()) if labels is None else labels
    number_of_text: Mapping = dict(zip(texts, pd.to_numeric(texts, errors="coerce"), strict=True))
    for text, number in number_of_text.items():
        if np.isnan(number) or number % 1:
            raise fail(
                f"{column.name} has the label {{}}, which is not a whole number",
                text,
                "",
                "read labels as text, or name the classes",
            )
    check_exact(str(column.name), np.array(list(number_of_text.values())))
    return column.map({text: int(number) for text, number in number_of_text.items()}).astype(
        "Int64"
    )


def as_slice_labels(column: pd.Series) -> pd.Series:
    """Convert folds, groups or steps to integers if distinct labels stay distinct."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    texts = column.cat.categories
    if all(text.isdecimal() and str(int(text)) == text and len(text) < 16 for text in texts):
        return column.cat.rename_categories([int(text) for text in texts])
    return column


# Files with a table


class Columns(NamedTuple):
    """Required columns, by type of content."""

    labels: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of all columns, without duplicates."""
        return list(dict.fromkeys([*self.labels, *self.numbers]))


class File:
    """
    A file with a table.

    Parameters
    ----------
    path : str or Path
        Text file (``.csv``, ``.tsv`` or ``.txt``), which may be compressed (``.gz``, ``.bz2``,
        ``.xz``, ``.zip``), or ``.parquet``, ``.feather`` or ``.arrow``, also at ``https://...``. A
        folder of these, or ``file.duckdb::table``.
    decimal, thousands, records : str, optional
        As in `read`.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    number_format : NumberFormat
        Format of the numbers in the file.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        decimal: str | None = None,
        thousands: str | None = None,
        records: str | None = None,
    ):
        path = local_path(path)
        self.path, self.table = path, open_table(path)
        if is_json(path) and path.is_file():
            self.table = JsonTable(path, records)
        elif records is not None and not is_json(path):
            todo = "leave `records` out"
            raise fail(f"`records` has no effect, because {path.name} is not JSON", ..., "", todo)
        self.number_format = number_format(decimal, thousands)
        self.names: list[str] = []
        if self.table is not None and self.number_format.is_given:
            raise self.number_format.without_effect(f"{path.name} stores numbers, not text")
        if self.table is None:
            _check_text(path)
        with plainly(path):
            if self.table is None:
                self._look()
            else:
                self.names = list(self.table.names)

    def counted(self, names: Sequence[str]) -> pd.DataFrame:
        """Return the frequency of each combination of labels, in the column ``NUMBER``."""
        self._check_once(names)
        with plainly(self.path):
            return self._counted(names) if self.table is None else self.table.counted(names)

    def _counted(self, names):
        names = list(dict.fromkeys(names))
        total = pd.DataFrame(columns=[*names, NUMBER])
        for piece in self._pieces(Columns(tuple(names))):
            counts = piece.groupby(names, dropna=False, sort=False, observed=True).size()
            counts = without_categories(counts.rename(NUMBER).reset_index())
            every = pd.concat([total, counts], ignore_index=True) if len(total) else counts
            total = every.groupby(names, dropna=False, sort=False)[NUMBER].sum().reset_index()
        return _few_labels(total.astype(dict.fromkeys(names, "category")), names)

    def _check_once(self, names):
        if twice := [name for name in names if self.names.count(name) > 1]:
            todo = "rename one of the columns in the file"
            raise fail("Several columns have the name {}", twice[0], "", todo)

    def columns(self, wanted: Columns) -> pd.DataFrame:
        """Return the selected columns; labels from a text file are strings."""
        self._check_once(wanted.names)
        with plainly(self.path):
            if self.table is not None:
                return self.table.columns(wanted.names)
            return self._stream(wanted)

    def whole(self, rows: int) -> pd.DataFrame:
        """Return all columns of the first rows, with the first column of a text file as strings."""
        with plainly(self.path):
            if self.table is not None:
                return self.table.head(rows)
            if not self.number_format.is_given:
                return self._read(rows, dtype={self.names[0]: str} if self.names else {})
            texts = self._read(rows, dtype=str)
            numbers = {
                name: self.number_format.numbers_or_texts(texts[name]) for name in texts.columns[1:]
            }
            return texts.assign(**numbers)

    def _read(self, rows, **options):
        missing: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
        with open_text(self.path) as text:
            return pd.read_csv(text, nrows=rows, **missing, **options, **self.options)

    def _texts(self, names, rows=None):
        """Return the text columns of the file as strings, optionally the first rows only."""
        if self.table is not None:
            frame = self.table.columns(names).astype(object)
            inferred = {name: pd.api.types.infer_dtype(frame[name], skipna=True) for name in frame}
            return frame[[name for name in frame if inferred[name] == "string"]]
        with plainly(self.path):
            return self._read(rows, dtype=str, usecols=names)[names]

    def check_counts(self, names: Sequence[str], rows: int) -> None:
        """Raise an error if points or other characters in counts could be separators."""
        texts = self._texts(names, rows)
        stacked = pd.concat([texts[name] for name in texts]) if len(texts.columns) else None
        if stacked is None:
            return
        if not self.number_format.is_given and (number := may_have_thousands(stacked)):
            name = next(name for name in texts if (texts[name] == number).any())
            what = f"Counts such as {number} in column {name!r} of {self.path.name} are ambiguous"
            raise fail(what, ..., "", two_meanings(number))
        for name in texts:
            try:
                self.number_format.numbers(texts[name])
            except NotANumberError as problem:
                if re.search(r"\d[^\d\sa-zA-Z-]\d|\d\s\d", problem.text):  # has a separator
                    raise problem.refusal(self.path.name) from None

    def warn_of_points(self, names: Sequence[str], *, only_beside_hundreds: bool = False) -> None:
        """Warn if points could separate thousands, optionally only if there are integers >= 100."""
        if not names or self.table is not None or self.number_format.is_given:
            return
        texts = self._texts(list(names))
        for name in texts:
            column = texts[name].dropna()
            number = may_have_thousands(column)
            whole = pd.to_numeric(column[~column.str.contains(".", regex=False)], errors="coerce")
            if number and (not only_beside_hundreds or has_hundreds(whole)):
                joined = number.replace(".", "")
                what = f"Numbers such as {number} in column {name!r} of {self.path.name} were "
                todo = f"if the points separate thousands, pass `thousands='.'` to read {joined}; "
                todo += "pass `decimal='.'` if they are decimal points"
                warnings.warn(Advice(f"{what}read as {float(number):g}", todo), stacklevel=4)
            elif (text := with_decimal_comma(column)) is not None:
                what = f"{text} in column {name!r} of {self.path.name} was read as text"
                todo = "pass `decimal=','` if it is a number with a decimal comma"
                warnings.warn(Advice(what, todo), stacklevel=4)

    def _look(self):
        """Detect the column separator, and whether rows end with a further separator."""
        with open_text(self.path) as text:
            lines = list(itertools.islice(text, 21))
        if not lines:
            raise ValueError("the file is empty")
        separator = max(",;\t", key=lines[0].count)
        rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
        self.names = rows[0]
        self.options: dict[str, Any] = {"sep": separator, "skipinitialspace": True}
        longer = [row for row in rows[1:] if len(row) > len(self.names)]
        if any(field for row in longer for field in row[len(self.names) :]):
            raise ValueError("rows have more fields than there are names of columns")
        if longer:
            self.options |= {"index_col": False}

    def _stream(self, wanted):
        pieces = list(self._pieces(wanted))
        joined = {name: _concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
        return _few_labels(pd.DataFrame(joined), wanted.labels)

    def _pieces(self, wanted):
        """Yield chunks of rows, with labels as categorical columns."""
        kinds = dict.fromkeys(set(wanted.labels) - set(wanted.numbers), str)
        as_text = dict.fromkeys(wanted.numbers, str) if self.number_format.is_given else {}
        absent = {name: [""] for name in kinds}
        absent |= {name: ["", "NA", "NaN", "nan"] for name in wanted.numbers}
        options: dict[str, Any] = {**self.options, "keep_default_na": False, "na_values": absent}
        # Without low_memory=False, parts of a chunk could be parsed as different types (True and
        # 0.5).
        options |= {"chunksize": _PIECE, "usecols": wanted.names, "low_memory": False}
        types = kinds | as_text
        with open_text(self.path) as text, pd.read_csv(text, dtype=types, **options) as read:
            for piece in read:
                convert = self.number_format.numbers if as_text else _as_reals
                numbers = {name: convert(piece[name]) for name in wanted.numbers}
                piece = piece[wanted.names].assign(**numbers)
                yield _few_labels(piece.astype(dict.fromkeys(kinds, "category")), [*kinds])


def _as_reals(column):
    """
    Return a numeric column, or raise an error if a value is not numeric.

    Booleans, which pandas would convert to 1 and 0, are kept: correctness may be boolean, but
    scores may not.
    """
    boolean = pd.api.types.infer_dtype(column, skipna=True) == "boolean"
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    if boolean or numeric:
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = numbers.isna() & column.notna()
    if wrong.any():
        raise NotANumberError(str(column.name), str(column[wrong].iloc[0]))
    return numbers.astype(float)


def _few_labels(frame, names):
    """Return the frame, or raise an error if a column has too many labels for classes or groups."""
    for name in names:
        if len(frame[name].cat.categories) > MOST_LABELS:
            raise ValueError(f"{name} has more than {MOST_LABELS:,} different labels")
    return frame


def _concatenate(pieces):
    if not isinstance(pieces[0].dtype, pd.CategoricalDtype):
        return pd.concat(pieces, ignore_index=True)
    return pd.Series(pd.api.types.union_categoricals(pieces, sort_categories=True))


def _check_text(path):
    """Raise an error if a path is not an existing file in a supported format."""
    ends = [suffix.lower() for suffix in path.suffixes]
    last = ends[-1] if ends else ""
    packed = last in (*PACKED, ".zip") and set(ends[-2:-1]) & {*_TEXT, *JSON}
    if not (last in (*_TEXT, *TYPED, *JSON) or packed):
        todo = (
            "save it as .csv or .parquet; in Python, `from_frame` takes any table that pandas reads"
        )
        allowed = (
            f"{', '.join((*_TEXT, *JSON, *TYPED))}, a folder of .parquet, .feather or .arrow, "
            "file.duckdb::table, or text in "
            f"{', '.join(PACKED)} or .zip"
        )
        raise fail("{} has an unsupported file format", path.name, allowed, todo)
    if not path.is_file():
        todo = "check the path"
        raise fail("The file {} does not exist", str(path), "", todo, FileNotFoundError)


# Files on the web


_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/{1,2}(?=[^/])")  # `Path` removes one slash

_SECONDS = 60  # time-out of a download in seconds


def local_path(path: str | Path) -> Path:
    """
    Return a local path, to which the file is downloaded first if the path is a web address.

    Parameters
    ----------
    path : str or Path
        Path of a file or folder, or ``https://...``. An address is downloaded once per process, to
        a temporary file.

    Raises
    ------
    ValueError
        If the protocol of the address is not supported.
    OSError
        If the download fails.
    """
    address = _ADDRESS.match(str(path))
    if address is None:
        return Path(path)
    kind = address[1].lower()
    if kind not in ("http", "https"):
        raise fail(
            "Addresses of type {} are not supported, only http and https",
            kind,
            "",
            "download the file first and pass its path",
        )
    return _download(f"{kind}://{str(path)[address.end() :]}")


@lru_cache(maxsize=8)
def _download(address):
    """Download a file, which is deleted when the process ends."""
    from urllib.error import HTTPError  # not needed for local files
    from urllib.parse import unquote, urlsplit
    from urllib.request import urlopen

    parts = urlsplit(address)
    shown = f"{parts.scheme}://{parts.hostname}{parts.path}"  # omits passwords and tokens
    folder = Path(mkdtemp(prefix="bayescm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / (PurePosixPath(unquote(parts.path)).name or "index")
    try:
        with urlopen(address, timeout=_SECONDS) as source, file.open("wb") as copy:
            shutil.copyfileobj(source, copy)
            length = source.headers.get("Content-Length")
    except (OSError, ValueError) as problem:
        why, todo = str(getattr(problem, "reason", problem)), "check the address"
        if isinstance(problem, HTTPError):
            problem.close()
        raise fail(f"{shown} could not be downloaded: {{}}", why, "", todo, OSError) from None
    if length is not None and file.stat().st_size != int(length):
        raise fail(
            f"The download of {shown} was cut off after {file.stat().st_size} of {length} bytes",
            ...,
            "",
            "try again",
            OSError,
        )
    return file


# Writing


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """
    Yield a temporary path, which replaces the target if no error occurs.

    The file has the permissions given by the user's umask. An error is raised if the target is a
    symbolic link or its folder does not exist.
    """
    path = Path(path)
    if path.is_symlink():
        todo = "name the file itself, or remove the link"
        raise fail("The output {} is a symbolic link", str(path), "", todo)
    if not path.parent.is_dir():
        todo = "create it first"
        raise fail("The folder {} does not exist", str(path.parent), "", todo, FileNotFoundError)
    part = path.with_name(f".{path.stem}.{uuid4().hex}{path.suffix}")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
