"""Files of many batches, for ``bayescm monitor import``."""

import copy
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.cli import evidence
from bayescm.evidence.files import File, FilePart, read_columns
from bayescm.validate import fail, suggest

_CELLS = ("tp", "fn", "fp", "tn")


def counts(columns: Any, batch: str, at: str | None) -> xr.DataArray:
    """
    Return the counts of each batch, dims (batch, actual, predicted).

    Parameters
    ----------
    columns : Predictions
        Options for a file with one row per example, or with columns TP, FN, FP and TN and one row
        per batch.
    batch, at : str
        Columns of the batch names and, optionally, of the batch times.
    """
    frame = names_and_times(columns.file, batch, at)
    names = File(columns.file).names
    cells = {name.lower(): name for name in names if name.lower() in _CELLS}
    if len(cells) == len(_CELLS) and columns.predicted not in names:
        if passed := columns.passed() & {"actual", "predicted"}:
            option = f"--{min(passed)}"
            raise fail(
                f"{option} has no effect, because the file has columns TP, FN, FP and TN",
                ...,
                "",
                f"leave {option} out",
            )
        return _of_cells(columns, frame, batch, at, cells)
    if len(cells) > 1 and columns.predicted not in names:
        absent = ", ".join(cell.upper() for cell in _CELLS if cell not in cells)
        todo = "add the columns, with zeros for a class that was not tested"
        raise fail(f"{Path(columns.file).name} lacks {absent}", ..., "", todo)
    table = evidence.counts(columns, predicted=columns.predicted, by={"batch": batch})
    ids = table["batch"].values
    if at is not None:
        table = table.assign_coords(at=("batch", _one_time_each(frame, batch, at)[ids].to_numpy()))
    return table.assign_coords(batch_id=("batch", [str(value) for value in ids.tolist()]))


def with_classes_of(tables: xr.DataArray, templates: list[xr.DataArray]) -> list[tuple]:
    """
    Return name, counts and time of each batch, with the classes of the first matching template.

    Raises
    ------
    ValueError
        If no template contains all classes of a batch.
    """
    by_text = [{str(label): None for label in like["actual"].values.tolist()} for like in templates]
    names = [str(label) for label in tables["actual"].values.tolist()]
    tables = tables.assign_coords(actual=names, predicted=names).transpose("batch", ...)
    rows = []
    for table in tables:
        used = {name for name in names if table.loc[name].any() or table.loc[:, name].any()}
        fitting = [place for place, labels in enumerate(by_text) if used <= {*labels}]
        if not fitting:
            raise ValueError(f"no classes with {used}")  # the caller raises the first error
        labels = list(by_text[fitting[0]])
        cells = table.reindex(actual=labels, predicted=labels, fill_value=0).values
        at = table["at"].item() if "at" in table.coords else None
        counts = templates[fitting[0]].copy(data=cells)
        rows.append((table["batch_id"].item(), counts, at))
    return rows


def _of_cells(columns, frame, batch, at, cells):
    """Return the counts in a file with one row per batch."""
    from bayescm.evidence import from_cells

    counts = read_columns(columns.file, [], numbers=list(cells.values()))
    if (again := frame[batch].duplicated()).any():
        raise fail(
            "Batch {} has several rows",
            frame[batch][again].iloc[0],
            "",
            "keep one row for each batch",
        )
    whole = {}
    for name, column in cells.items():
        values = counts[column].to_numpy(float)
        if (wrong := ~(values >= 0) | (values % 1 != 0)).any():
            first = int(np.argmax(wrong))
            what = f"{column} of batch {frame[batch].iloc[first]!r} must be a whole number >= 0"
            raise fail(what, values[first].item(), "", "correct the file")
        whole[name] = values.astype(np.int64)
    if (empty := sum(whole.values()) == 0).any():
        todo = "leave these rows out, or record each with bayescm monitor add --allow-empty"
        names = frame[batch][empty].tolist()[:5]
        raise fail("The batches {} contain no examples", names, "", todo)
    table = from_cells(**whole)
    if columns.labels is not None or columns.positive is not None:
        labels, positive = columns.labels or [], columns.positive
        if len(labels) != 2 or positive not in labels:
            todo = "add --label for both classes, and --positive"
            raise fail(
                "A file of TP, FN, FP and TN needs two classes, one of them positive",
                {"--label": labels, "--positive": positive},
                "",
                todo,
            )
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
        raise fail("Batch {} has several times", pairs[batch][again].iloc[0], "", todo)
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
        From the options, with the rows of one batch as their file, to the evidence of the batch.
    """
    frame = names_and_times(columns.file, batch, at)
    times = None if at is None else _one_time_each(frame, batch, at)
    frames: dict = {}
    codes, batches = pd.factorize(frame[batch])
    places = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    for name, rows in zip(batches.tolist(), places, strict=True):
        part = copy.copy(columns)
        part.file = FilePart(columns.file, rows, frames)
        try:
            batch_evidence = read(part)
        except ValueError as problem:
            parts = vars(problem)  # parts of the error, if `fail` built it
            if "what" not in parts:
                raise
            what = f"Batch {str(name)!r}: {parts['what']}"
            raise fail(what, parts["value"], parts["expected"], parts["advice"]) from None
        yield str(name), batch_evidence, None if times is None else times[name]


def names_and_times(file: str, batch: str, at: str | None) -> pd.DataFrame:
    """Return the column of batch names and, if it is given, the column of batch times."""
    options = {batch: "--batch-column"} | ({} if at is None else {at: "--at-column"})
    names = File(file).names
    for name, option in options.items():
        if name not in names:
            noun = "batches" if name == batch else "times"
            todo = f"{suggest(name, names)} name the column of {noun} with {option}"
            raise fail(f"{Path(file).name} has no column {name!r}", ..., names, todo.strip())
    from bayescm.online.encoding import as_utc

    frame = read_columns(file, [], by=[*options])
    if not len(frame):
        todo = "write a row for each example or item, or for each batch"
        raise fail(f"{Path(file).name} has no rows", ..., "", todo)
    for name in options:
        if (absent := frame[name].isna().to_numpy()).any():
            what = f"Column {name!r} of {Path(file).name} is empty in {absent.sum()} rows"
            raise fail(what, ..., "", "complete these rows, or leave them out")
    for time in [] if at is None else frame[at].unique():
        try:
            as_utc(time)
        except (ValueError, TypeError):
            what = f"Column {at!r} of {Path(file).name} has a value that is not a time"
            raise fail(what, time, "ISO 8601 (2026-01-31T12:00)", "correct these rows") from None
    return frame


def names_of(batches: Any) -> Iterable[str]:
    """Return the names of batches that are given as tables or as tuples."""
    if isinstance(batches, xr.DataArray):
        return batches["batch_id"].values.tolist()
    return [name for name, *_ in batches]
