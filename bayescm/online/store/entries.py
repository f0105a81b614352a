"""What is read of a ledger, and checked as it is read."""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bayescm.online.store import statements as ask
from bayescm.online.store.chain import check, damage, digest

_MORE = 16  # entries that are read beyond those asked for, backwards from the end

_WHOLE, _FLAT = set("0123456789, []"), str.maketrans("", "", "[] ")  # of numbers in JSON
_RECENT = 1000  # entries among which a name is looked for twice


class Entries(NamedTuple):
    """Entries of one classifier in the order in which they were recorded, as arrays."""

    entry: np.ndarray
    batch_id: np.ndarray
    at: np.ndarray
    cells: np.ndarray
    corrects: np.ndarray
    recorded_at: np.ndarray


def arrays(rows: Sequence[Any]) -> Entries:
    """Return entries as arrays."""
    columns = zip(*map(tuple, rows), strict=True) if rows else [()] * 6
    entry, batch_id, at, tables, corrects, recorded, *_ = columns
    return Entries(
        np.array(entry, dtype=np.int64),
        np.array(batch_id, dtype=object),
        _moments(at),
        _tables(tables),
        np.array(corrects, dtype=object),
        _moments(recorded),
    )


def _moments(texts):
    return np.array([each[:-1] for each in texts], dtype="datetime64[us]")  # without the Z


def _tables(texts):
    """Return tables of one shape from their JSON, without a Python object for each number."""
    if not texts:
        return np.array([])
    joined = ",".join(texts)
    kind = np.int64 if set(joined) <= _WHOLE else float
    shape = np.shape(json.loads(texts[0]))
    return np.fromstring(joined.translate(_FLAT), kind, sep=",").reshape(-1, *shape)


def lock(connection: sa.Connection, classifier: str) -> None:
    """Make the writers of one classifier take turns, which numbers its entries without gaps."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyhow
        key = int.from_bytes(blake2b(classifier.encode(), digest_size=8).digest(), signed=True)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))


def labels(connection: sa.Connection, classifier: str) -> str | None:
    """Return the labels of a classifier as text, or None where there is no such one."""
    found = ask.LABELS(connection, who=classifier).scalar()
    if found is None and ask.END(connection, who=classifier).first() is not None:
        raise damage(f"the labels of classifier {classifier!r} are missing")
    return found


def described(connection: sa.Connection) -> dict[str, str]:
    """Return what is kept of each classifier and challenge, by its name in alphabetical order."""
    listed = {row.classifier: row.labels for row in ask.LISTED(connection)}
    found = set(ask.WITH_ENTRIES(connection).scalars())
    if found != set(listed):
        odd = sorted(set(listed) ^ found)
        raise damage(f"classifiers without entries, or entries without classifier: {odd[:3]}")
    return dict(sorted(listed.items()))


def end(connection: sa.Connection, classifier: str, start: str) -> Any:
    """Return the last entry of a classifier that has labels; raise where the end is damaged."""
    rows = ask.LAST(connection, who=classifier).all()[::-1]
    found = ask.END(connection, who=classifier).first()
    if not rows or found is None or (found.entry, found.hash) != (rows[-1].entry, rows[-1].hash):
        raise damage(f"the last entries of classifier {classifier!r}")
    if len(rows) == 1:
        check(start, start, 0, rows, classifier)
    else:
        check(start, rows[0].hash, rows[0].entry, rows[1:], classifier)
    return rows[-1]


def after(connection: sa.Connection, classifier: str, start: str, number: int) -> Sequence[Any]:
    """Return the entries after one of them, every one of them checked."""
    last = end(connection, classifier, start)
    if last.entry < number:
        raise damage(f"entries of classifier {classifier!r} that were there are missing")
    if last.entry == number:
        return []
    rows = ask.AFTER(connection, who=classifier, number=number).all()
    previous = _hash(connection, classifier, start, number)
    check(start, previous, number, rows, classifier)
    there = rows[-1].entry if rows else number
    if there != last.entry:
        raise damage(f"entry {there + 1} of classifier {classifier!r} is missing")
    return rows


def since(
    connection: sa.Connection, classifier: str, start: str, top: int, moment: str, before: int
) -> list:
    """
    Return the last entries, up to the one at the top, back to where no earlier one can be wanted.

    Each says the latest time of observation up to it. So where that is before the moment, and
    enough of the batches after it are before the moment too, all earlier entries are earlier ones.
    """
    rows: list = []
    size = before + _MORE
    while True:
        bottom = max(0, top - size)
        block = ask.BETWEEN(connection, who=classifier, number=bottom, top=top).all()
        previous = _hash(connection, classifier, start, bottom)
        check(start, previous, bottom, block, classifier)
        if not block or block[-1].entry != top:
            raise damage(f"entries of classifier {classifier!r} are missing")
        rows = [*block, *rows[1:]]
        if not bottom or (rows[0].latest < moment and _enough(rows, moment, before)):
            return rows[1:] if bottom else rows
        # A little further each time: what is asked for most often begins just before the first.
        top, size = bottom + 1, len(rows) // 4 + _MORE


def _hash(connection, classifier, start, number):
    """Return what stands before the entry that comes after one of this number."""
    return ask.HASH(connection, who=classifier, number=number).scalar() if number else start


def _enough(rows, moment, before):
    """Say whether so many batches in force are earlier than a moment and later than the first."""
    columns = zip(*map(tuple, rows), strict=True)
    _, names, times, _, corrects, *_ = columns
    corrected, earliest = {*corrects}, rows[0].latest
    kept = zip(names[1:], times[1:], strict=True)
    return sum([earliest < at < moment and name not in corrected for name, at in kept]) >= before


def batch(connection: sa.Connection, classifier: str, batch_id: str) -> Any:
    """Return the entry of a batch, or None."""
    return ask.BATCH(connection, who=classifier, id=batch_id).first()


def check_absent(connection: sa.Connection, classifier: str, batch_id: str, last: int) -> None:
    """Raise where a batch that its own index does not know is among the last entries."""
    found = ask.AMONG(connection, who=classifier, id=batch_id, number=last - _RECENT).first()
    if found is not None:
        raise damage(f"the index of names of classifier {classifier!r}")


def correction(connection: sa.Connection, classifier: str, batch_id: str) -> str | None:
    """Return the batch that replaced another one, or None."""
    return ask.CORRECTION(connection, who=classifier, id=batch_id).scalar()


def some(connection: sa.Connection, classifier: str) -> list[str]:
    """Return the names of the last batches."""
    rows = ask.SOME(connection, who=classifier).all()
    return [row.batch_id for row in rows[::-1]]


def noted(connection: sa.Connection, table: sa.Table, classifier: str, start: str) -> list:
    """Return the notes of a classifier in a table, every one of them checked."""
    rows, previous = ask.NOTED[table.name](connection, who=classifier).all(), start
    for place, row in enumerate(rows, 1):
        _, number, *fields, written = row
        if number != place or written != digest(start, previous, place, *fields):
            what = table.name.removeprefix("bayescm_")
            raise damage(f"entry {place} of the {what} of classifier {classifier!r}")
        previous = written
    return rows
