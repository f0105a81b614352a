"""Class labels: allowed values, order, and the positive class."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import fail

# Pairs of labels whose second label is obviously the positive class.
BINARY = ((0, 1), ("0", "1"), ("False", "True"), ("false", "true"), ("FALSE", "TRUE"))
# Strings that numpy and pandas write for missing values when they convert a column to text, as in
# `np.array(["a", np.nan])`. "None" and "NA" are not included, because classes can have these names.
MISSING_TEXTS = ("nan", "NaT", "<NA>")
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


class UnknownLabelError(ValueError):
    """A label in the data is not one of the classes."""


def default_labels(labels: list, present: Iterable, actual: Any) -> np.ndarray:
    """
    Return the default classes.

    Parameters
    ----------
    labels : list
        Labels that occur in ``actual``, in the order of its categories if it is categorical.
    present : iterable
        Labels that occur in ``actual`` or in the predictions.
    actual : array
        Result of `column`.
    """
    check_no_missing_text(present)
    if actual.dtype == bool:
        return np.array([False, True])
    if not any(isinstance(label, bool) for label in present):
        for pair in BINARY:
            if set(present) <= set(pair):
                return np.array(pair)
    if not isinstance(actual, pd.Categorical):  # a categorical defines its own order
        labels = sorted(labels, key=lambda label: (type(label).__name__, label))
    return as_labels(labels)


def as_labels(labels: Any) -> np.ndarray:
    """Return class labels as an array, or raise an error if they are not valid classes."""
    if isinstance(labels, str) or not np.iterable(labels):
        example = [labels, "..."] if isinstance(labels, str) else [0, 1]
        todo = f"pass e.g. `labels={example}`"
        raise fail("Labels must be a list", labels, "", todo)
    labels = list(labels)
    check_no_dates(labels)
    check_plain_labels(labels)
    items = [label.item() if isinstance(label, np.generic) else label for label in labels]
    items = [label.value if isinstance(label, Enum) else label for label in items]
    kinds = {type(label) for label in items}
    if not (kinds <= {str} or kinds <= {int} or kinds <= {bool}):
        alike = len(kinds) == 1
        what = f"have the type {next(iter(kinds)).__name__}" if alike else "have mixed types"
        what = f"The labels {what}"
        raise fail(what, items, "", "make them all strings")
    if len(items) < 2:
        todo = "name every class, including those absent from the sample, in `labels=[...]`"
        raise fail("At least two classes are needed; the labels are {}", items, "", todo)
    if len(set(items)) < len(items):
        raise fail("The labels contain a duplicate: {}", items, "", "remove the duplicate")
    return np.array(items)


def check_no_dates(labels: Iterable, name: str = "labels") -> None:
    """Raise an error if labels are dates, times or durations, which are not classes."""
    dates = [label for label in labels if isinstance(label, (*_DATES, pd.Period))]
    if dates:
        raise fail(
            f"{name} are dates, not classes: {{}}",
            dates[:3],
            "",
            "pass the column of classes; if every date is a class, use .astype(str)",
        )


def check_plain_labels(labels: Iterable, name: str = "labels") -> None:
    """Raise an error if labels are members of an enumeration, tuples or other containers."""
    for label in labels:
        if isinstance(label, Enum) and not isinstance(label, str | int):
            kind, attribute = type(label).__name__, "value"
            if not isinstance(label.value, str | int):
                attribute = "name"
            todo = f"pass their {attribute}s: [label.{attribute} for label in labels]"
            raise fail(f"{name} are members of the enumeration {kind}", label, "", todo, TypeError)
        if isinstance(label, tuple | list | dict | set):
            what = f"{name} are of type {type(label).__name__}"
            raise fail(
                what,
                label,
                "",
                "join the parts into one text, e.g. with '/'.join(map(str, label))",
                TypeError,
            )


def check_no_missing_text(labels: Iterable, name: str = "the labels", todo: str = "") -> None:
    """Raise an error if a label is a string that numpy or pandas write for missing values."""
    for label in labels:
        if isinstance(label, str) and label in MISSING_TEXTS:
            todo = todo or (
                "drop these examples, or write missing values as None or NaN; if the text is a "
                "class, name it in labels (--label); if it marks an abstention, name it in abstain "
                "(--abstain)"
            )
            raise fail(
                f"The text {str(label)!r} in {name} looks like a missing value",
                ...,
                "",
                todo,
            )


def check_exact(name: str, numbers: np.ndarray) -> None:
    """Raise an error if integers stored as floats are too large to be exact."""
    if numbers.dtype.kind != "f":
        return
    # Above this limit, floats cannot represent all integers: nmant bits of the mantissa are stored,
    # and one is implied.
    start = 2.0 ** (np.finfo(numbers.dtype).nmant + 1)
    large = numbers[np.abs(numbers) >= start]
    if large.size:
        kind = f"{start:.0f} or more as {numbers.dtype}"
        todo = "keep the labels as integers, or as text"
        raise fail(
            f"{name} has the label {{}} as {kind}, which does not store all whole numbers exactly",
            int(large[0]),
            "",
            todo,
        )


def index_labels(index: Any) -> list:
    """Return the labels of an xarray index, using the faster pandas index."""
    return index.to_pandas_index().tolist()


@lru_cache(maxsize=256)
def matching_labels(*indexes: Any) -> list[list]:
    """
    Return the labels of the row and column indexes, or raise an error if they differ.

    The result is cached, because indexes never change and comparing their labels takes longer than
    all other checks.
    """
    rows, columns = both_labels = [index_labels(index) for index in indexes]
    if set(rows) != set(columns) or len(rows) != len(columns):
        raise fail(
            "`actual` and predicted have different labels: {}",
            (rows, columns),
            "",
            "name all labels: `from_matrix(matrix, labels=[...])` adds empty rows and columns",
        )
    as_labels(rows)
    return both_labels


def obvious_positive(labels: list) -> Any:
    """Return the positive one of two classes if it is obvious from the labels, otherwise None."""
    return next((pair[1] for pair in BINARY if set(pair) == set(labels)), None)


def find_label(wanted: Any, labels: list, what: str = "positive class") -> Any:
    """Return the label that equals ``wanted``, or raise an error if it does not exist."""
    for label in labels:
        if label == wanted:
            return label
    # With two classes, the wrong one may be the closest match, so suggest only very similar
    # spellings.
    spelled = {str(label).strip().lower(): label for label in labels}
    alike = get_close_matches(str(wanted).strip().lower(), spelled, n=1, cutoff=0.8)
    todo = f"did you mean {spelled[alike[0]]!r}?" if alike else "pass one of these"
    raise fail(f"The {what} {{}} is not among the labels", wanted, labels, todo)


def is_default_index(index: pd.Index) -> bool:
    """Return True if an index is the pandas default, 0, 1, 2, ...."""
    bare = isinstance(index, pd.RangeIndex) and index.name is None
    return bare and (index.start, index.step) == (0, 1)


def in_label_order(numbers: Any, labels: Sequence) -> Any:
    """
    Return the numbers of a mapping or labelled Series in the order of the labels.

    Other values are returned unchanged, including a Series with the default index.

    Examples
    --------
    >>> in_label_order(pd.Series({"b": 0.2, "a": 0.8}), ["a", "b"])
    [0.8, 0.2]
    """
    if isinstance(numbers, pd.Series) and not is_default_index(numbers.index):
        numbers = numbers.to_dict()
    if not isinstance(numbers, Mapping):
        return numbers
    if set(numbers) != set(labels):
        raise fail(
            f"{list(numbers)} must name the classes {list(labels)}",
            ...,
            "",
            "pass one value per class",
        )
    return [numbers[label] for label in labels]


def columns_in_order(table: Any, labels: Sequence) -> Any:
    """
    Return a table with its columns in the order of the classes that they are named after.

    Other tables are returned unchanged, including tables with default column names.

    Examples
    --------
    >>> columns_in_order(pd.DataFrame([[1, 2]], columns=["b", "a"]), ["a", "b"]).values
    array([[2, 1]])
    """
    if isinstance(table, pd.DataFrame):
        if is_default_index(table.columns):
            return table
    elif not _is_polars(table):
        return table
    names, wanted = ([str(label) for label in side] for side in (table.columns, labels))
    if sorted(names) == sorted(wanted):
        places = [names.index(label) for label in wanted]
        return table.iloc[:, places] if isinstance(table, pd.DataFrame) else table[:, places]
    shared = sorted(set(names) & set(wanted))
    if shared and len(names) == len(wanted):
        raise fail(
            "Only some of the columns {} are named after classes",
            names,
            wanted,
            "name every column after its class",
        )
    return table


def _is_polars(table):
    if isinstance(table, np.ndarray | Sequence):
        return False
    import narwhals as nw  # needed only here

    return nw.dependencies.is_polars_dataframe(table)
