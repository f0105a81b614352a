"""
The chain of entries: each carries a hash of itself and of the one before it.

What was changed, lost or put in between by a failing disk, or by hand, shows in the hashes. They
are no signature: who can write the file can also make a new chain.
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from bayescm.validate import fail

_MOST = 2**53  # beyond it a sum of counts is no longer exact in every number that we make of it

# The fields of an entry that its hash covers, after those of its classifier: all that precede it.
FIELDS = (
    "entry",
    "batch_id",
    "at",
    "cells",
    "corrects",
    "recorded_at",
    "total",
    "batches",
    "latest",
)


def digest(*parts: Any) -> str:
    """Return a hash of values; text, whole numbers and None."""
    text = "\n".join(["\x00" if each is None else str(each) for each in parts])
    return _hashed(text)


def _hashed(text):
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def head(classifier: str, labels: str) -> str:
    """Return what stands before the first entry of a classifier."""
    return digest("bayescm", classifier, labels)


def follows(start: str, previous: str | None, row: Any) -> bool:
    """Say whether a row (as `Entry`) is as it was written, after the one with this hash."""
    return row.hash == digest(start, previous, *row[: len(FIELDS)])


def check(
    start: str, previous: str | None, number: int, rows: Sequence[Any], classifier: str
) -> None:
    """
    Raise where entries are damaged or missing.

    Parameters
    ----------
    start : str
        The `head` of the classifier.
    previous : str
        Hash of the entry before the first of them.
    number : int
        Number of the entry before the first of them.
    rows : sequence
        Rows with the fields and a hash, in the order of the entries.
    classifier : str
    """
    for row in rows:
        number += 1
        entry, batch_id, at, cells, corrects, recorded_at, total, batches, latest, written = row
        if entry != number:
            raise damage(f"entry {number} of classifier {classifier!r} is missing")
        found = (batch_id, at, cells, recorded_at, batches, latest)
        if total is None or None in found:
            right = digest(start, previous, *row[: len(FIELDS)])
        else:  # the same hash, in a third of the time: a history hashes all there is
            old = "\x00" if corrects is None else corrects
            text = (
                f"{start}\n{previous}\n{entry}\n{batch_id}\n{at}\n{cells}\n{old}\n"
                f"{recorded_at}\n{total}\n{batches}\n{latest}"
            )
            right = _hashed(text)
        if written != right:
            raise damage(f"batch {batch_id!r}, entry {number} of classifier {classifier!r}")
        previous = written


def damage(where: str) -> Exception:
    """Return the error that says that a ledger is damaged, and where."""
    return fail(
        "the ledger is damaged",
        where,
        "entries as they were written",
        "run bayescm monitor verify to see how far, and restore a backup",
    )


class Entry(NamedTuple):
    """
    One entry of the ledger.

    Attributes
    ----------
    entry : int
        Its number, 1, 2, 3 ... for each classifier.
    batch_id, at, cells, corrects, recorded_at : str
        What was recorded: the name, the time of observation, the counts, the batch that it
        replaces (or None), and when it arrived.
    total : str or None
        The cells in force after it; None once there were fractions, whose sums depend on their
        order.
    batches : int
        How many batches are in force after it.
    latest : str
        The latest time of observation so far.
    hash : str
        Of all these and of the entry before.
    """

    entry: int
    batch_id: str
    at: str
    cells: str
    corrects: str | None
    recorded_at: str
    total: str | None
    batches: int
    latest: str
    hash: str


def next_entry(start: str, last: Any, new: dict[str, Any], replaced: str | None) -> Entry:
    """
    Return the entry that comes after another one.

    Parameters
    ----------
    start : str
        The `head` of the classifier.
    last : Entry or None
        The entry before.
    new : dict
        What is recorded, by the names of `Entry`.
    replaced : str or None
        The cells of the batch that it corrects.

    Raises
    ------
    ValueError
        If the counts of the classifier come to more than 2**53 in a cell.
    """
    given = {name: new[name] for name in ("batch_id", "at", "cells", "corrects", "recorded_at")}
    tables = [json.loads(new["cells"]), None if replaced is None else json.loads(replaced)]
    sums = _summed(last, *tables)
    if sums is not None and max(each for row in sums for each in row) > _MOST:
        todo = "start a new classifier in the store"
        raise fail("too many examples of one kind", ..., "at most 2**53 in every cell", todo)
    bare = Entry(
        **given,
        entry=1 if last is None else last.entry + 1,
        total=None if sums is None else json.dumps(sums),
        batches=(0 if last is None else last.batches) + (replaced is None),
        latest=given["at"] if last is None else max(given["at"], last.latest),
        hash="",
    )
    previous = start if last is None else last.hash
    fields = [getattr(bare, name) for name in FIELDS]
    return bare._replace(hash=digest(start, previous, *fields))


def _summed(last, cells, replaced):
    """Return the cells in force after an entry, or None where they are no whole numbers."""
    sums: list | None = None
    if last is None:
        sums = [[0] * len(row) for row in cells]
    elif last.total is not None:
        sums = json.loads(last.total)
    for sign, table in ((1, cells), (-1, replaced)):
        if sums is not None and table is not None:
            sums = _added(sums, table, sign)
    return sums


def _added(sums, table, sign):
    if any(not isinstance(each, int) for row in table for each in row):
        return None
    return [
        [a + sign * b for a, b in zip(*rows, strict=True)] for rows in zip(sums, table, strict=True)
    ]
