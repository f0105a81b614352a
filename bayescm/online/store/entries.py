"""What is read of a ledger, and checked as it is read."""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bayescm.online.store.chain import Entry, check, damage, digest
from bayescm.online.store.schema import batches, classifiers

_MORE = 16  # entries that are read beyond those asked for, backwards from the end

# Statements are built once: a record is a few milliseconds, and building them took as long.
_B = batches.c
_WHO: Any = sa.bindparam("who")
_MINE = _B.classifier == _WHO
_ENTRY = sa.select(*[_B[name] for name in Entry._fields])
# The last entry is looked up by the index of its key, and its hash by another one, which SQLite
# prefers because it holds all that is asked for.
_LAST = _ENTRY.where(_MINE).order_by(_B.entry.desc()).limit(2)
_END = sa.select(_B.entry, _B.hash).where(_MINE).order_by(_B.entry.desc()).limit(1)
_HASH = sa.select(_B.hash).where(_MINE, _B.entry == sa.bindparam("number"))
AFTER = _ENTRY.where(_MINE, _B.entry > sa.bindparam("number")).order_by(_B.entry)
_BETWEEN = AFTER.where(_B.entry <= sa.bindparam("top"))
_BATCH = _ENTRY.where(_MINE, _B.batch_id == sa.bindparam("id"))
# The last names are looked up by the index of numbers too: where that of names is damaged, a batch
# that is sent again must not be taken for a new one. (No index has the name with nothing added.)
_AMONG = _ENTRY.where(
    _MINE, _B.entry > sa.bindparam("number"), _B.batch_id + "" == sa.bindparam("id")
)
_RECENT = 1000
_CORRECTION = sa.select(_B.batch_id).where(_MINE, _B.corrects == sa.bindparam("id"))
LABELS = sa.select(classifiers.c.labels).where(classifiers.c.classifier == _WHO)
_LISTED = sa.select(classifiers.c.classifier, classifiers.c.labels)
# One look into the index for each classifier, however many batches it has.
_WITH_ENTRIES = sa.text(
    "WITH RECURSIVE found(name) AS (SELECT min(classifier) FROM bayescm_batches UNION ALL "
    "SELECT (SELECT min(classifier) FROM bayescm_batches WHERE classifier > found.name) "
    "FROM found WHERE found.name IS NOT NULL) SELECT name FROM found WHERE name IS NOT NULL"
)


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
    columns = zip(*[row[:6] for row in rows], strict=True) if rows else [()] * 6
    entry, batch_id, at, tables, corrects, recorded = columns
    return Entries(
        np.array(entry, dtype=np.int64),
        np.array(batch_id, dtype=object),
        _moments(at),
        np.array(json.loads(f"[{','.join(tables)}]")),
        np.array(corrects, dtype=object),
        _moments(recorded),
    )


def _moments(texts):
    return np.array([each.rstrip("Z") for each in texts], dtype="datetime64[us]")


def lock(connection: sa.Connection, classifier: str) -> None:
    """Make the writers of one classifier take turns, which numbers its entries without gaps."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyhow
        key = int.from_bytes(blake2b(classifier.encode(), digest_size=8).digest(), signed=True)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))


def labels(connection: sa.Connection, classifier: str) -> str | None:
    """Return the labels of a classifier as text, or None where there is no such one."""
    found = connection.execute(LABELS, {"who": classifier}).scalar()
    if found is None and connection.execute(_END, {"who": classifier}).first() is not None:
        raise damage(f"the labels of classifier {classifier!r} are missing")
    return found


def described(connection: sa.Connection) -> dict[str, str]:
    """Return what is kept of each classifier and challenge, by its name in alphabetical order."""
    listed = {row.classifier: row.labels for row in connection.execute(_LISTED)}
    found = set(connection.execute(_WITH_ENTRIES).scalars())
    if found != set(listed):
        odd = sorted(set(listed) ^ found)
        raise damage(f"classifiers without entries, or entries without classifier: {odd[:3]}")
    return dict(sorted(listed.items()))


def end(connection: sa.Connection, classifier: str, start: str) -> Any:
    """Return the last entry of a classifier that has labels; raise where the end is damaged."""
    rows = connection.execute(_LAST, {"who": classifier}).all()[::-1]
    found = connection.execute(_END, {"who": classifier}).first()
    if not rows or found is None or (found.entry, found.hash) != (rows[-1].entry, rows[-1].hash):
        raise damage(f"the last entries of classifier {classifier!r}")
    if len(rows) == 1:
        check(start, start, 0, rows, classifier)
    else:
        check(start, rows[0].hash, rows[0].entry, rows[1:], classifier)
    return rows[-1]


def after(connection: sa.Connection, classifier: str, start: str, number: int) -> Sequence[Any]:
    """Return the entries after one of them, every one of them checked."""
    who = {"who": classifier}
    last = end(connection, classifier, start)
    if last.entry < number:
        raise damage(f"entries of classifier {classifier!r} that were there are missing")
    if last.entry == number:
        return []
    rows = connection.execute(AFTER, who | {"number": number}).all()
    previous = start if not number else connection.execute(_HASH, who | {"number": number}).scalar()
    check(start, previous, number, rows, classifier)
    there = rows[-1].entry if rows else number
    if there != last.entry:
        raise damage(f"entry {there + 1} of classifier {classifier!r} is missing")
    return rows


def since(connection: sa.Connection, classifier: str, start: str, moment: str, before: int) -> list:
    """
    Return the last entries, back to where no earlier one can be wanted.

    Each says the latest time of observation up to it. So where that is before the moment, and
    enough of the batches after it are before the moment too, all earlier entries are earlier ones.
    """
    rows: list = []
    top, size = end(connection, classifier, start).entry, before + _MORE
    while True:
        bottom = max(0, top - size)
        where = {"who": classifier, "number": bottom, "top": top}
        block = list(connection.execute(_BETWEEN, where))
        key = {"who": classifier, "number": bottom}
        previous = connection.execute(_HASH, key).scalar() if bottom else start
        check(start, previous, bottom, block, classifier)
        if not block or block[-1].entry != top:
            raise damage(f"entries of classifier {classifier!r} are missing")
        rows = block + rows[1:]
        if not bottom or (rows[0].latest < moment and _enough(rows, moment, before)):
            return rows[1:] if bottom else rows
        # A little further each time: what is asked for most often begins just before the first.
        top, size = bottom + 1, len(rows) // 4 + _MORE


def _enough(rows, moment, before):
    corrected, earliest = {row.corrects for row in rows}, rows[0].latest
    kept = [row.at for row in rows[1:] if row.batch_id not in corrected]
    return sum([earliest < at < moment for at in kept]) >= before


def batch(connection: sa.Connection, classifier: str, batch_id: str) -> Any:
    """Return the entry of a batch, or None."""
    return connection.execute(_BATCH, {"who": classifier, "id": batch_id}).first()


def check_absent(connection: sa.Connection, classifier: str, batch_id: str, last: int) -> None:
    """Raise where a batch that its own index does not know is among the last entries."""
    who = {"who": classifier, "id": batch_id, "number": last - _RECENT}
    if connection.execute(_AMONG, who).first() is not None:
        raise damage(f"the index of names of classifier {classifier!r}")


def correction(connection: sa.Connection, classifier: str, batch_id: str) -> str | None:
    """Return the batch that replaced another one, or None."""
    return connection.execute(_CORRECTION, {"who": classifier, "id": batch_id}).scalar()


def some(connection: sa.Connection, classifier: str) -> list[str]:
    """Return the names of the last batches."""
    rows = connection.execute(_LAST.limit(1000), {"who": classifier}).all()
    return [row.batch_id for row in rows[::-1]]


def noted(connection: sa.Connection, table: sa.Table, classifier: str, start: str) -> list:
    """Return the notes of a classifier in a table, every one of them checked."""
    query = sa.select(table).where(table.c.classifier == _WHO).order_by(table.c.number)
    rows, previous = list(connection.execute(query, {"who": classifier})), start
    for place, row in enumerate(rows, 1):
        _, number, *fields, written = row
        if number != place or written != digest(start, previous, place, *fields):
            what = table.name.removeprefix("bayescm_")
            raise damage(f"entry {place} of the {what} of classifier {classifier!r}")
        previous = written
    return rows
