"""Tables in files: only the wanted columns, as text where they are labels, piece by piece."""

import bz2
import csv
import gzip
import io
import itertools
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pandas as pd

from bayescm.evidence.addresses import at_hand
from bayescm.evidence.engines import NUMBER, TYPED, plain, stored
from bayescm.evidence.labels import check_exact
from bayescm.validate import fail

# Rows in memory at a time; labels that a column may hold; bytes that a line of text may have.
_PIECE, MOST_LABELS, LONGEST_LINE = 1_000_000, 100_000, 1 << 24
_TEXT = (".csv", ".tsv", ".txt")
_PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)


class Columns(NamedTuple):
    """Which columns are wanted, by what they hold."""

    labels: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys([*self.labels, *self.numbers]))


class File:
    """
    A file with a table.

    Parameters
    ----------
    path : str or Path
        ``.csv``, ``.tsv`` or ``.txt``, which may be compressed (``.gz``, ``.bz2``, ``.xz``,
        ``.zip``), ``.parquet``, ``.feather`` or ``.arrow``, also ``https://...``; a folder of
        these, or ``file.duckdb::table``.

    Attributes
    ----------
    names : list of str
        Those of its columns.
    """

    def __init__(self, path: str | Path):
        path = at_hand(path)
        self.path, self.table = path, stored(path)
        self.names: list[str] = []
        if self.table is None:
            _check_text(path)
        with _plainly(path):
            if self.table is None:
                self._look()
            else:
                self.names = list(self.table.names)

    def counted(self, names: Sequence[str]) -> pd.DataFrame:
        """Return how often each combination of labels occurs, as the column ``NUMBER``."""
        self._check_once(names)
        with _plainly(self.path):
            return self._counted(names) if self.table is None else self.table.counted(names)

    def _counted(self, names):
        names = list(dict.fromkeys(names))
        total = pd.DataFrame(columns=[*names, NUMBER])
        for piece in self._pieces(Columns(tuple(names))):
            found = piece.groupby(names, dropna=False, sort=False, observed=True).size()
            found = plain(found.rename(NUMBER).reset_index())
            every = pd.concat([total, found], ignore_index=True) if len(total) else found
            total = every.groupby(names, dropna=False, sort=False)[NUMBER].sum().reset_index()
        return _few_labels(total.astype(dict.fromkeys(names, "category")), names)

    def _check_once(self, names):
        if twice := [name for name in names if self.names.count(name) > 1]:
            todo = "rename one of the columns in the file"
            raise fail("several columns have the same name", twice[0], "every name once", todo)

    def columns(self, wanted: Columns) -> pd.DataFrame:
        """Return some columns: labels of a text file as text, of any other in its own types."""
        self._check_once(wanted.names)
        with _plainly(self.path):
            if self.table is not None:
                return self.table.columns(wanted.names)
            return self._stream(wanted)

    def whole(self, rows: int) -> pd.DataFrame:
        """Return all columns, of no more than so many rows."""
        with _plainly(self.path):
            if self.table is not None:
                return self.table.head(rows)
            with _open(self.path) as text:
                missing: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
                first = {self.names[0]: str} if self.names else {}
                return pd.read_csv(text, nrows=rows, dtype=first, **missing, **self.options)

    def _look(self):
        """Find out what separates the columns, and whether rows end in a separator more."""
        with _open(self.path) as text:
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
        joined = {name: _joined([each[name] for each in pieces]) for name in pieces[0]}
        return _few_labels(pd.DataFrame(joined), wanted.labels)

    def _pieces(self, wanted):
        """Yield some rows at a time; columns of labels are categorical."""
        kinds = dict.fromkeys(set(wanted.labels) - set(wanted.numbers), str)
        absent = {name: [""] for name in kinds}
        absent |= {name: ["", "NA", "NaN", "nan"] for name in wanted.numbers}
        options: dict[str, Any] = {**self.options, "keep_default_na": False, "na_values": absent}
        # As one piece: parts of it could hold True and 0.5, and be of different types.
        options |= {"chunksize": _PIECE, "usecols": wanted.names, "low_memory": False}
        with _open(self.path) as text, pd.read_csv(text, dtype=kinds, **options) as read:
            for piece in read:
                numbers = {name: _as_reals(piece[name]) for name in wanted.numbers}
                piece = piece[wanted.names].assign(**numbers)
                yield _few_labels(piece.astype(dict.fromkeys(kinds, "category")), [*kinds])


def _as_reals(column):
    """
    Return a column of numbers, or raise where one is none.

    True and False, which pandas makes 1 and 0 of where it is asked for floats, are left as they
    are: answers may be right or wrong, but scores are no booleans.
    """
    boolean = pd.api.types.infer_dtype(column, skipna=True) == "boolean"
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    return column if boolean or numeric else column.astype(float)


def _few_labels(frame, names):
    """Return the frame, or raise where a column has too many labels for classes or groups."""
    for name in names:
        if len(frame[name].cat.categories) > MOST_LABELS:
            raise ValueError(f"{name} has more than {MOST_LABELS:,} different labels")
    return frame


def _joined(pieces):
    if not isinstance(pieces[0].dtype, pd.CategoricalDtype):
        return pd.concat(pieces, ignore_index=True)
    return pd.Series(pd.api.types.union_categoricals(pieces, sort_categories=True))


def _check_text(path):
    """Raise where a path is not that of an existing text file."""
    ends = [suffix.lower() for suffix in path.suffixes]
    last = ends[-1] if ends else ""
    packed = last in (*_PACKED, ".zip") and set(ends[-2:-1]) & set(_TEXT)
    if not (last in (*_TEXT, *TYPED) or packed):
        todo = "read it with pandas and pass it to from_frame or from_matrix"
        allowed = (
            f"{', '.join((*_TEXT, *TYPED))}, a folder of these, file.duckdb::table, or text in "
            f"{', '.join(_PACKED)} or .zip"
        )
        raise fail("unsupported file format", path.name, allowed, todo)
    if not path.is_file():
        todo = "check the path"
        raise fail("no such file", str(path), "an existing file", todo, FileNotFoundError)


@contextmanager
def _plainly(path):
    """Say in plain English what is wrong with a file."""
    try:
        yield
    except _DAMAGED as problem:
        cut = isinstance(problem, EOFError)
        why = "the compressed data end too early" if cut else str(problem)
        what = f"{path.name} is {'cut off' if cut else 'damaged'}"
        raise fail(what, why, "a whole file", "fetch it or write it again") from None
    except UnicodeDecodeError as problem:
        what = f"{path.name} is not text in UTF-8"
        raise fail(what, str(problem), "UTF-8", "save it as UTF-8") from None
    except (ValueError, OSError) as problem:
        reason, _, text = str(problem).partition(": ")
        if reason == "could not convert string to float":
            what, todo = f"{path.name} has text where a number belongs", "correct that row"
            raise fail(f"{what}: {text}", ..., "numbers in this column", todo) from None
        todo = "check that it is what its name says, with a line of column names"
        raise fail(f"{path.name} cannot be read", str(problem), "a table", todo) from None


def _open(path) -> io.TextIOWrapper:
    """Open a text file, compressed or not, so that no line can fill the memory."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        archive = zipfile.ZipFile(path)
        names = archive.namelist()
        if len(names) != 1:
            raise ValueError(f"the archive holds {len(names)} files, not one")
        raw: Any = archive.open(names[0])
    else:
        raw = _PACKED.get(suffix, open)(path, "rb")
    return io.TextIOWrapper(io.BufferedReader(_ShortLines(raw), 1 << 20), "utf-8-sig", newline="")


class _ShortLines(io.RawIOBase):
    """A stream that ends in an error where a line is longer than any line of a table."""

    def __init__(self, raw):
        self.raw, self.since = raw, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.raw.read(len(buffer))
        end = data.rfind(b"\n")
        self.since = self.since + len(data) if end < 0 else len(data) - end
        if self.since > LONGEST_LINE:
            raise ValueError(f"a line is longer than {LONGEST_LINE >> 20} MB: this is no table")
        buffer[: len(data)] = data
        return len(data)

    def close(self):
        self.raw.close()
        super().close()


def as_numbers(column: pd.Series) -> pd.Series:
    """Return labels as whole numbers, or raise where one is none."""
    kinds = pd.api.types
    if kinds.is_numeric_dtype(column.dtype):
        return column
    labels = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else None
    texts = pd.Index(column.dropna().unique()) if labels is None else labels
    found: Mapping = dict(zip(texts, pd.to_numeric(texts, errors="coerce"), strict=True))
    for text, number in found.items():
        if np.isnan(number) or number % 1:
            todo = "leave labels as text, or name the classes"
            what = f"{column.name} has a label that is not a whole number"
            raise fail(what, text, "whole numbers, as was asked for", todo)
    check_exact(str(column.name), np.array(list(found.values())))
    return column.map({text: int(number) for text, number in found.items()}).astype("Int64")


def as_places(column: pd.Series) -> pd.Series:
    """Return folds, groups or steps as numbers where that tells the same ones apart."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    texts = column.cat.categories
    if all(text.isdecimal() and str(int(text)) == text and len(text) < 16 for text in texts):
        return column.cat.rename_categories([int(text) for text in texts])
    return column


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """
    Give a name beside a file to write to; where all goes well it then replaces the file.

    The file has the permissions that the user's umask gives. A symbolic link is refused.
    """
    path = Path(path)
    if path.is_symlink():
        todo = "name the file itself, or remove the link"
        raise fail("the output is a symbolic link", str(path), "a file of its own", todo)
    part = path.with_name(f".{path.stem}.{uuid4().hex}{path.suffix}")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
