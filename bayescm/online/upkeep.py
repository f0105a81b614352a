"""Maintenance of ledgers: verification, backup and restoration, and roll-up of old batches."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pandas as pd
import sqlalchemy as sa

from bayescm.online.chain import damage, next_entry, verify_entry
from bayescm.online.classes import CLASSES
from bayescm.online.database import allow_classes, check_seal, file_of, parse, publish
from bayescm.online.encoding import (
    Description,
    as_utc,
    payload_now,
    sum_of_payloads,
    timestamp,
)
from bayescm.online.ledger import (
    Ledger,
    acknowledgement_table,
    batch_table,
    classifier_table,
    delivery_table,
    entries,
    entries_after,
    last_entry,
    ledger_of,
    read_descriptions,
    read_notes,
    write_description,
)
from bayescm.validate import check_choice, fail

_ROWS_AT_ONCE = 5000  # number of rows in memory while copying
_MOST_NAMED = 5  # maximum number of damaged entries to list


def verify(store: str | os.PathLike | Ledger) -> pd.DataFrame:
    """
    Check every entry of a ledger and its database.

    Parameters
    ----------
    store : str, path or Ledger
        Ledger to check.

    Returns
    -------
    DataFrame
        One row per classifier, with these columns:

        - ``entries``: the number of entries.
        - ``head``: the hash of the last entry, which depends on all entries. Keep a copy of it to
          detect a ledger that was reset to an earlier state.
        - ``whole``: whether all entries and the database are intact.
        - ``damage``: the damaged batches, and faults of the database.

    Raises
    ------
    ValueError
        If the store cannot be read as a ledger.

    Examples
    --------
    >>> import bayescm as bcm
    >>> ledger = Ledger("sqlite://")
    >>> ledger.record("spam filter", "monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    True
    >>> verify(ledger)[["classifier", "entries", "whole"]].values.tolist()
    [['spam filter', 1, True]]
    """
    ledger = ledger_of(store, create=False)
    rows = []
    with ledger.transaction("verify the ledger") as connection:
        faults = _faults_of_database(connection)
        query = sa.select(classifier_table)
        described = {row.classifier: Description(*row) for row in connection.execute(query)}
        query = sa.select(batch_table.c.classifier).distinct()
        for name in sorted({*described, *connection.execute(query).scalars()}, key=str):
            description = described.get(name, Description(name, "", 0, ""))
            number, head, damaged = _verify_chain(connection, description)
            if name not in described:
                damaged.insert(0, f"the labels of classifier {name!r} are missing")
            more = [f"and {len(damaged) - _MOST_NAMED} more"] if len(damaged) > _MOST_NAMED else []
            damaged = damaged[:_MOST_NAMED] + more + faults
            rows.append([name, number, head, not damaged, "; ".join(damaged)])
    if faults and not rows:
        raise damage("; ".join(faults))
    return pd.DataFrame(rows, columns=["classifier", "entries", "head", "whole", "damage"])


def _faults_of_database(connection):
    """Return the faults that the database finds in its pages and tables."""
    faults = []
    try:
        check_seal(connection)
        if connection.dialect.name == "sqlite":
            lines = connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars().all()
            faults += [] if lines == ["ok"] else [" ".join(str(line).split()) for line in lines]
    except (sa.exc.DBAPIError, ValueError) as problem:
        faults.append(str(getattr(problem, "orig", None) or problem))
    return faults


def _verify_chain(connection, description):
    """Return the number of entries, the last hash and the list of damages."""
    damaged, number, head = [], 0, None
    query = entries(description).order_by(batch_table.c.entry)
    for row in connection.execute(query).yield_per(_ROWS_AT_ONCE):
        number += 1
        previous = description.genesis if head is None else head
        if not isinstance(row.entry, int):  # SQLite does not enforce column types
            damaged.append(f"batch {row.batch_id!r} (entry {row.entry!r})")
        elif row.entry != number:
            damaged.append(f"before batch {row.batch_id!r} entries are missing")
            number = row.entry
        elif not verify_entry(description.genesis, previous, row):
            damaged.append(f"batch {row.batch_id!r} (entry {row.entry})")
        head = row.hash
    try:
        last_entry(connection, description)
        for table in (acknowledgement_table, delivery_table):
            read_notes(connection, table, description)
    except ValueError as problem:
        damaged.append(str(problem))
    return number, head, damaged


def backup(store: str | os.PathLike | Ledger, path: str | os.PathLike) -> pd.DataFrame:
    """
    Copy a consistent snapshot of a ledger, while other processes may write to it.

    Parameters
    ----------
    store : str, path or Ledger
        Ledger in SQLite or PostgreSQL.
    path : str or path
        Name of a new SQLite file. It is a ledger that any monitor can open.

    Returns
    -------
    DataFrame
        Result of `verify` for the copy.

    Raises
    ------
    ValueError
        If the file exists, or the ledger is damaged.

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
    with _new_file(path) as part:
        ledger = ledger_of(store, create=False)
        if ledger.is_sqlite:
            _copy_pages(ledger, part)
        with Ledger(part) as copy:
            if not ledger.is_sqlite:
                _copy_rows(ledger, copy)
            return _verify_whole(copy)


def restore(path: str | os.PathLike, store: str | os.PathLike) -> pd.DataFrame:
    """
    Create a new ledger from a backup.

    Parameters
    ----------
    path : str or path
        Backup from `backup`, or any other intact ledger.
    store : str or path
        Address of the new ledger: a new file, or an empty PostgreSQL database.

    Returns
    -------
    DataFrame
        Result of `verify` for the new ledger.

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
        _verify_whole(copy)
        if (file := file_of(parse(store))) is not None:
            return backup(copy, file)
        with Ledger(store) as ledger:
            if ledger.classifiers() or ledger.challenges():
                raise fail("The store is not empty", ..., "", "use an empty database")
            _copy_rows(copy, ledger)
            return verify(ledger)


def _verify_whole(ledger):
    """Return the result of `verify`, or raise an error if anything is damaged."""
    table = verify(ledger)
    if not table["whole"].all():
        raise damage("; ".join(table["damage"]))
    return table


@contextmanager
def _new_file(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary file that gets its final name on success and is removed on failure."""
    path = Path(path).absolute()
    _refuse_existing(path)
    folder = Path(mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield folder / path.name
        publish(folder / path.name, path)
    finally:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


def _refuse_existing(path):
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if file.exists():
            todo = "choose another name, or move the file"
            raise fail("The file {} already exists", str(file), "", todo)
    if not path.parent.is_dir():
        raise fail("The folder {} does not exist", str(path.parent), "", "create it first")


def _copy_pages(source, part):
    """Copy an SQLite database with its backup function, which takes a consistent snapshot."""
    with (
        source.transaction("copy the ledger") as reading,
        closing(sqlite3.connect(part)) as writing,
    ):
        reading.connection.driver_connection.backup(writing)


def _copy_rows(source, target):
    """Copy the rows of a ledger including their hashes, with one transaction on each side."""
    keys = {classifier_table: ["classifier"], batch_table: ["classifier", "entry"]}
    keys[acknowledgement_table] = keys[delivery_table] = ["classifier", "number"]
    with (
        source.transaction("copy the ledger") as reading,
        target.transaction("copy the ledger", write=True) as writing,
    ):
        for table, names in keys.items():
            query = sa.select(table).order_by(*[table.c[name] for name in names])
            for rows in reading.execute(query).mappings().partitions(_ROWS_AT_ONCE):
                writing.execute(table.insert(), [dict(row) for row in rows])
                if any(row.get("encoding") == CLASSES for row in rows):
                    allow_classes(writing)


def roll_up(
    store: str | os.PathLike | Ledger, path: str | os.PathLike, *, before: Any, by: str = "month"
) -> pd.DataFrame:
    """
    Create a new ledger with early batches summed by day, month or year.

    Use it to shorten a long history. The total of all batches remains exactly the same, and so do
    the results if there was no change. A change within a summed period cannot be detected.
    The old ledger is not modified. Keep it, or a backup of it, as long as single batches may be
    needed.

    Parameters
    ----------
    store : str, path or Ledger
        Ledger to summarise.
    path : str or path
        Name of a new file for the ledger. Use `restore` to move it to PostgreSQL.
    before : datetime, datetime64 or str
        Batches observed before this moment are summed. In UTC unless it has a time zone.
    by : {"day", "month", "year"}, default "month"
        Period, in UTC, whose batches are summed into one batch of the new ledger.

    Returns
    -------
    DataFrame
        Result of `verify` for the new ledger, with ``made_of``, the last hash of the old chain, and
        ``rolled_up``, the number of summed batches.

    Raises
    ------
    ValueError
        If the file exists, or the ledger is damaged.

    Notes
    -----
    The new ledger starts with the current classes, including renamed and added ones. Their former
    names and the entries that changed them are dropped.

    Corrected batches, acknowledgements of alarms and deliveries to hooks are not copied.
    ``forgetting`` and ``window`` count batches, so results stay the same only if they do not reach
    back to the summed batches. The names of summed batches are lost, so sending one of them again
    would count it twice. ``recorded_at`` is the creation time of the new ledger for all batches,
    which keep their order.

    Examples
    --------
    >>> import tempfile
    >>> import bayescm as bcm
    >>> ledger = Ledger("sqlite://")
    >>> for day, tp in {"2025-12-30": 65, "2025-12-31": 63, "2026-01-01": 66}.items():
    ...     counts = bcm.from_cells(tp=tp, fn=80 - tp, fp=35, tn=30)
    ...     added = ledger.record("spam filter", day, counts)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = roll_up(ledger, f"{folder}/new.db", before="2026-01-01")
    >>> table[["entries", "rolled_up"]].values.tolist()
    [[2, 2]]
    """
    moment, by = timestamp(as_utc(before)), check_choice("by", by, list(_PERIODS))
    summaries = []
    with _new_file(path) as part:
        ledger = ledger_of(store, create=False)
        with Ledger(part) as copy:
            with (
                ledger.transaction("roll up the ledger") as reading,
                copy.transaction("roll up the ledger", write=True) as writing,
            ):
                for description in read_descriptions(reading):
                    rows = entries_after(reading, description, 0)
                    recorded = [row for row in rows if row.encoding != CLASSES]
                    batches, n_summed = _roll_up(recorded, moment, _PERIODS[by], description)
                    now = _with_classes_of_now(description)
                    write_description(writing, now)
                    _write_chain(writing, now, batches)
                    summaries.append([description.classifier, rows[-1].hash, n_summed])
            table = _verify_whole(copy)
    columns = ["classifier", "made_of", "rolled_up"]
    return table.merge(pd.DataFrame(summaries, columns=columns), on="classifier")


_PERIODS = {"day": 10, "month": 7, "year": 4}  # leading characters of a timestamp, such as 2026-01


def _with_classes_of_now(description):
    """Return the description of a new chain that starts with the current classes."""
    if not description.changes:
        return description
    return description._replace(text=json.dumps(description.facts()), changes=())


def _roll_up(rows, moment, length, description):
    """
    Return the batches of the new chain as fields of entries, and the number of summed batches.

    Superseded batches are left out. Batches before the moment are summed if their times start with
    the same characters.
    """
    superseded = {row.supersedes for row in rows}
    current = [row for row in rows if row.batch_id not in superseded]
    early = [row for row in current if row.at < moment]
    batches: list[dict[str, Any]] = []
    n_summed = 0
    for period, group in groupby(sorted(early, key=_time), lambda row: row.at[:length]):
        members = list(group)
        batches.append(_sum(period, members, description))
        n_summed += len(members) if len(members) > 1 else 0
    return batches + [_batch(row, description) for row in current if row.at >= moment], n_summed


def _time(row):
    return row.at, row.entry


def _batch(row, description):
    names = ("batch_id", "at", "encoding", "encoding_version", "payload")
    fields = {name: getattr(row, name) for name in names}
    return fields | {"payload": payload_now(row.payload, description)}


def _sum(period, rows, description):
    """Return the sum of several batches, named after their period, or a single one unchanged."""
    latest = _batch(rows[-1], description)
    if len(rows) == 1:
        return latest
    payloads = [payload_now(row.payload, description) for row in rows]
    payload = sum_of_payloads(payloads, latest["encoding"])
    batch_id = f"{period} ({len(rows)} batches, last {rows[-1].batch_id})"[:500]
    return latest | {"batch_id": batch_id, "payload": payload}


def _write_chain(connection, description, batches):
    """Write the batches of a classifier as a new chain that is recorded now."""
    now, last, rows = timestamp(datetime.now(UTC)), None, []
    for batch in batches:
        batch = batch | {"supersedes": None, "recorded_at": now}
        last = next_entry(description.genesis, last, batch, None)
        rows.append({"classifier": description.classifier} | last._asdict())
    connection.execute(batch_table.insert(), rows)
