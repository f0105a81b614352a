"""Files of many batches, for ``bayescm monitor import``."""

import copy
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayescm.cli import evidence
from bayescm.evidence.files import Columns, File, read_columns
from bayescm.validate import fail

_CELLS = ("tp", "fn", "fp", "tn")


def counts(columns: Any, batch: str, at: str | None) -> xr.DataArray:
    """
    Return the counts of each batch, dims (batch, actual, predicted).

    Parameters
    ----------
    columns : Predictions
        With rows of examples, or with the columns TP, FN, FP and TN and a row for each batch.
    batch, at : str
        The columns of the names and, if there is one, of the times.
    """
    names = File(columns.file).names
    cells = {name.lower(): name for name in names if name.lower() in _CELLS}
    if len(cells) == len(_CELLS) and columns.predicted not in names:
        if passed := columns.passed() & {"actual", "predicted"}:
            option = f"--{min(passed)}"
            what = f"{option} has no effect: the file has TP, FN, FP and TN"
            raise fail(what, ..., "", f"leave {option} out")
        return _of_cells(columns, batch, at, cells)
    table = evidence.counts(columns, predicted=columns.predicted, by={"batch": batch})
    ids = table["batch"].values
    if at is not None:
        frame = _one_time_each(read_columns(columns.file, [], by=[batch, at]), batch, at)
        table = table.assign_coords(at=("batch", frame[ids].to_numpy()))
    return table.assign_coords(batch_id=("batch", [str(value) for value in ids.tolist()]))


def _of_cells(columns, batch, at, cells):
    """Return the counts of a file with a row for each batch."""
    from bayescm.evidence import from_cells

    by = [batch, *([] if at is None else [at])]
    frame = read_columns(columns.file, [], by=by, numbers=list(cells.values()))
    if (again := frame[batch].duplicated()).any():
        what, todo = "a batch has several rows", "leave one row for each batch"
        raise fail(what, frame[batch][again].iloc[0], "one row for each", todo)
    numbers = {name: frame[column].to_numpy() for name, column in cells.items()}
    if any((values % 1 != 0).any() for values in numbers.values()):
        raise fail("TP, FN, FP and TN of a batch", "fractions", "whole numbers", "correct them")
    whole = {name: values.astype(np.int64) for name, values in numbers.items()}
    table = from_cells(**whole)
    if columns.labels is not None or columns.positive is not None:
        labels, positive = columns.labels or [], columns.positive
        if len(labels) != 2 or positive not in labels:
            todo = "add --label for both classes, and --positive"
            what = "a file of TP, FN, FP and TN has two classes, and one of them is positive"
            raise fail(what, labels, "two classes and the positive one", todo)
        negative = next(label for label in labels if label != positive)
        table = table.assign_coords(
            actual=[negative, positive], predicted=[negative, positive], positive=positive
        )
    table = table.assign_coords(batch_id=("batch", [str(value) for value in frame[batch].tolist()]))
    return table if at is None else table.assign_coords(at=("batch", frame[at].to_numpy()))


def _one_time_each(frame, batch, at):
    """Return the time of each batch."""
    pairs = frame[[batch, at]].drop_duplicates()
    if (again := pairs[batch].duplicated()).any():
        todo = "give all rows of a batch the same time"
        raise fail("a batch has several times", pairs[batch][again].iloc[0], "one", todo)
    return pairs.set_index(batch)[at]


def by_slices(
    columns: Any, batch: str, at: str | None, read: Callable[[Any], Any]
) -> Iterator[tuple]:
    """
    Yield name, evidence and time of each batch of a file with rows of examples or items.

    Parameters
    ----------
    columns : Predictions
    batch, at
        See `counts`.
    read : callable
        From the columns, with a file of one batch, to its evidence.
    """
    file = File(columns.file)
    for name in (batch, *([] if at is None else [at])):
        if name not in file.names:
            todo = "name it by --batch-column" if name == batch else "name it by --at-column"
            raise fail("no such column", name, file.names, todo)
    frame = file.columns(Columns(tuple(file.names)))
    times = None if at is None else _one_time_each(frame, batch, at)
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in frame.groupby(batch, sort=False, observed=True):
            part = copy.copy(columns)
            part.file = str(Path(folder) / "batch.csv")
            rows.to_csv(part.file, index=False)
            yield str(name), read(part), None if times is None else times[name]


def names_of(batches: Any) -> Iterable[str]:
    """Return the names of batches: of tables, or of tuples."""
    if isinstance(batches, xr.DataArray):
        return batches["batch_id"].values.tolist()
    return [name for name, *_ in batches]
