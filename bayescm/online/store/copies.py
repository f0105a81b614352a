"""Checks of a whole ledger, backups of it and ledgers from backups."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pandas as pd
import sqlalchemy as sa

from bayescm.online.store import chain
from bayescm.online.store import entries as read
from bayescm.online.store import statements as ask
from bayescm.online.store.address import file_of, parse
from bayescm.online.store.ledger import Ledger, ledger_of
from bayescm.online.store.schema import (
    acknowledgements,
    batches,
    check_seal,
    classifiers,
    deliveries,
    publish,
)
from bayescm.validate import fail

_NOTES = (acknowledgements, deliveries)
_TABLES = (classifiers, batches, *_NOTES)
_AT_ONCE = 5000  # rows of a copy in memory
_NAMED = 5  # damaged entries that are named


def verify(store: str | os.PathLike | Ledger) -> pd.DataFrame:
    """
    Check every entry of a ledger, and the database under it.

    Parameters
    ----------
    store : str, path or Ledger

    Returns
    -------
    DataFrame
        One row per classifier: ``entries``, ``head`` (the hash of the last entry, which stands for
        all of them: note it down and compare, and a ledger that was put back is seen too),
        ``whole``, and in ``damage`` which batches are not as they were written.

    Raises
    ------
    ValueError
        If the store cannot be read as a ledger at all.

    Examples
    --------
    >>> import bayescm as bcm
    >>> ledger = Ledger("sqlite://")
    >>> ledger.record("spam filter", "monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    True
    >>> verify(ledger)[["classifier", "entries", "whole"]].values.tolist()
    [['spam filter', 1, True]]
    """
    opened = ledger_of(store, create=False)
    rows = []
    with opened.transaction("verify the ledger") as connection:
        faults = _of_database(connection)
        listed = set(connection.execute(sa.select(classifiers.c.classifier)).scalars())
        found = set(connection.execute(sa.select(batches.c.classifier).distinct()).scalars())
        for name in sorted(listed | found, key=str):
            number, head, bad = _of_classifier(connection, name)
            rows.append([name, number, head, not (bad or faults), "; ".join(bad + faults)])
    if faults and not rows:
        raise chain.damage("; ".join(faults))
    return pd.DataFrame(rows, columns=["classifier", "entries", "head", "whole", "damage"])


def _of_database(connection):
    """Return what the database says of its own pages and tables."""
    faults = []
    try:
        check_seal(connection)
        if connection.dialect.name == "sqlite":
            said = connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars().all()
            faults += [] if said == ["ok"] else [" ".join(str(each).split()) for each in said]
    except (sa.exc.DBAPIError, ValueError) as problem:
        faults.append(str(getattr(problem, "orig", None) or problem))
    return faults


def _of_classifier(connection, name):
    """Return how many entries there are, the last hash, and which are damaged."""
    labels = ask.LABELS(connection, who=name).scalar()
    start = chain.head(str(name), str(labels))
    bad, previous, number, last = [], start, 0, None
    rows = ask.AFTER(connection, who=name, number=0)
    for row in rows.yield_per(_AT_ONCE):
        number += 1
        if not isinstance(row.entry, int):  # SQLite keeps what it finds, of whatever type
            bad.append(f"batch {row.batch_id!r} (entry {row.entry!r})")
        elif row.entry != number:
            bad.append(f"before batch {row.batch_id!r} entries are missing")
            number = row.entry
        elif not chain.follows(start, previous, row):
            bad.append(f"batch {row.batch_id!r} (entry {row.entry})")
        previous, last = row.hash, row
    try:
        if labels is None:
            raise chain.damage(f"the labels of classifier {name!r} are missing")
        read.end(connection, name, start)
        for table in _NOTES:
            read.noted(connection, table, name, start)
    except ValueError as problem:
        bad.append(str(problem))
    more = [f"and {len(bad) - _NAMED} more"] if len(bad) > _NAMED else []
    return number, previous if last is not None else None, bad[:_NAMED] + more


def backup(store: str | os.PathLike | Ledger, path: str | os.PathLike) -> pd.DataFrame:
    """
    Copy a ledger as it is at one moment, while others may go on writing to it.

    Parameters
    ----------
    store : str, path or Ledger
        SQLite or PostgreSQL.
    path : str or path
        A new file. It is a ledger too: an SQLite file that any monitor opens.

    Returns
    -------
    DataFrame
        What `verify` says of the copy.

    Raises
    ------
    ValueError
        If there is a file of that name, or the ledger is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import bayescm as bcm
    >>> ledger = Ledger("sqlite://")
    >>> ledger.record("spam filter", "monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    True
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy = backup(ledger, f"{folder}/backup.db")
    >>> bool(copy["whole"].all())
    True
    """
    with new_file(path) as part:
        opened = ledger_of(store, create=False)
        if opened.is_sqlite:
            _copy_pages(opened, part)
        with Ledger(part) as copy:
            if not opened.is_sqlite:
                _copy_rows(opened, copy)
            return check_whole(copy)


@contextmanager
def new_file(path: str | os.PathLike) -> Iterator[Path]:
    """Give a file to write to, which gets its name when all went well, and is gone if not."""
    path = Path(path).absolute()
    _refuse_existing(path)
    folder = Path(mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield folder / path.name
        publish(folder / path.name, path)
    finally:
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()


def check_whole(ledger: Ledger) -> pd.DataFrame:
    """Return what `verify` says, or raise where anything is damaged."""
    found = verify(ledger)
    if not found["whole"].all():
        raise chain.damage("; ".join(found["damage"]))
    return found


def restore(path: str | os.PathLike, store: str | os.PathLike) -> pd.DataFrame:
    """
    Make a new ledger of a backup.

    Parameters
    ----------
    path : str or path
        What `backup` wrote, or any other whole ledger in a file.
    store : str or path
        Where there is no ledger yet: a new file, or an empty database of PostgreSQL.

    Returns
    -------
    DataFrame
        What `verify` says of the new ledger.

    Raises
    ------
    ValueError
        If the backup is damaged, or the store is not empty.

    Examples
    --------
    >>> import tempfile
    >>> import bayescm as bcm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Ledger(f"{folder}/eval.db") as ledger:
    ...         ledger.record("spam filter", 1, bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    ...     bool(restore(f"{folder}/eval.db", f"{folder}/again.db")["whole"].all())
    True
    True
    """
    with Ledger(path, create=False) as copy:
        check_whole(copy)
        if (file := file_of(parse(store))) is not None:
            return backup(copy, file)
        with Ledger(store) as opened:
            if opened.classifiers() or opened.challenges():
                todo = "give it an empty database"
                raise fail("the store is not empty", ..., "no batches", todo)
            _copy_rows(copy, opened)
            return verify(opened)


def _refuse_existing(path):
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if each.exists():
            todo = "take another name, or move it away"
            raise fail("there is a file of this name", str(each), "a new file", todo)
    if not path.parent.is_dir():
        raise fail("no such folder", str(path.parent), "an existing folder", "create it first")


def _copy_pages(source, part):
    """Copy an SQLite database by its own backup, which is that of one moment."""
    with (
        source.transaction("copy the ledger") as reading,
        closing(sqlite3.connect(part)) as writing,
    ):
        reading.connection.driver_connection.backup(writing)


def _copy_rows(source, target):
    """Copy the rows of a ledger, hashes and all, in one transaction on either side."""
    with (
        source.transaction("copy the ledger") as reading,
        target.transaction("copy the ledger", write=True) as writing,
    ):
        for table in _TABLES:
            keys = list(table.primary_key.columns)
            rows = reading.execute(sa.select(table).order_by(*keys))
            for some in rows.mappings().partitions(_AT_ONCE):
                writing.execute(table.insert(), [dict(row) for row in some])
