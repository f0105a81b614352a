"""
The chain of entries: each carries a hash of itself and of the one before it.

    hash(n) = BLAKE2b(genesis, hash(n - 1), fields of entry n),  hash(0) = genesis,
    genesis = BLAKE2b("bayescm", classifier, encoding, encoding_version, description).

What was changed, lost or put in between by a failing disk, or by hand, shows in the hashes. They
are no signature: who can write the file can also make a new chain.
"""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

from bayescm.validate import fail

_LARGEST_SUM = 2**53  # beyond it a sum of counts is no longer exact in every number made of it


class Entry(NamedTuple):
    """
    One entry of the ledger.

    Attributes
    ----------
    entry : int
        Its number, 1, 2, 3 ... for each classifier.
    batch_id, at : str
        The name of the batch, and the time of its observation.
    encoding, encoding_version : str, int
        In which form the payload is written; see `bayescm.online.encoding`.
    payload : str
        The evidence.
    supersedes : str or None
        The batch that it replaces.
    recorded_at : str
        When it arrived.
    total : str or None
        The sum of the payloads that count after it; None once there were fractions, whose sums
        depend on their order, and of items.
    batches : int
        How many batches count after it.
    latest : str
        The latest time of observation so far.
    hash : str
        Of all these and of the entry before.
    """

    entry: int
    batch_id: str
    at: str
    encoding: str
    encoding_version: int
    payload: str
    supersedes: str | None
    recorded_at: str
    total: str | None
    batches: int
    latest: str
    hash: str


def next_entry(
    genesis: str, last: Entry | None, batch: dict[str, Any], superseded: Entry | None
) -> Entry:
    """
    Return the entry that comes after another one.

    Parameters
    ----------
    genesis : str
        What stands before the first entry of the classifier.
    last : Entry or None
        The entry before.
    batch : dict
        The fields of `Entry` from ``batch_id`` to ``recorded_at``.
    superseded : Entry or None
        The entry of the batch that this one replaces, with the classes of now.

    Raises
    ------
    ValueError
        If the counts of the classifier come to more than 2**53 in a cell.
    """
    total = _total(last, batch["payload"], superseded)
    if total is not None and max(cell for row in total for cell in row) > _LARGEST_SUM:
        todo = "start a new classifier in the store"
        raise fail("too many examples of one kind", ..., "at most 2**53 in every cell", todo)
    entry = Entry(
        **batch,
        entry=1 if last is None else last.entry + 1,
        total=None if total is None else json.dumps(total),
        batches=(0 if last is None else last.batches) + (superseded is None),
        latest=batch["at"] if last is None else max(batch["at"], last.latest),
        hash="",
    )
    previous = genesis if last is None else last.hash
    return entry._replace(hash=digest(genesis, previous, *entry[:-1]))


def entry_of_classes(genesis: str, last: Entry, fields: dict[str, Any], total: str | None) -> Entry:
    """
    Return the entry that changes the classes, after another entry. It is not a batch.

    Parameters
    ----------
    genesis, last
        See `next_entry`.
    fields : dict
        The fields of `Entry` from ``batch_id`` to ``recorded_at``.
    total : str or None
        The sum of the payloads so far, with the classes that there are now.
    """
    entry = Entry(
        **fields,
        entry=last.entry + 1,
        total=total,
        batches=last.batches,
        latest=last.latest,
        hash="",
    )
    return entry._replace(hash=digest(genesis, last.hash, *entry[:-1]))


def _total(last, payload, superseded):
    """Return the sum of the payloads that count, or None where they are not whole numbers."""
    cells = json.loads(payload)
    if isinstance(cells, dict):  # item scores, or several labels
        return None
    if last is None:
        total: list | None = [[0] * len(row) for row in cells]
    else:
        total = None if last.total is None else json.loads(last.total)
    total = _add(total, cells, 1)
    return total if superseded is None else _add(total, json.loads(superseded.payload), -1)


def _add(total, cells, sign):
    if total is None or any(not isinstance(cell, int) for row in cells for cell in row):
        return None
    pairs = zip(total, cells, strict=True)
    return [[a + sign * b for a, b in zip(*pair, strict=True)] for pair in pairs]


def verify_entry(genesis: str, previous: str | None, entry: Any) -> bool:
    """Say whether an entry is as it was written, after the one with this hash."""
    return entry[-1] == digest(genesis, previous, *entry[:-1])


def check_chain(
    genesis: str, previous: str, number: int, entries: Iterable[Any], classifier: str
) -> None:
    """
    Raise where entries are damaged or missing.

    Parameters
    ----------
    genesis : str
        What stands before the first entry of the classifier.
    previous : str
        Hash of the entry before the first of these.
    number : int
        Number of the entry before the first of these.
    entries : iterable
        Rows with the fields of `Entry`, in their order.
    classifier : str
        Its name, for the message.
    """
    for entry in entries:
        number += 1
        if entry[0] != number:
            raise damage(f"entry {number} of classifier {classifier!r} is missing")
        if not verify_entry(genesis, previous, entry):
            raise damage(f"batch {entry[1]!r}, entry {number} of classifier {classifier!r}")
        previous = entry[-1]


def digest(*parts: Any) -> str:
    """Return a hash of values; text, whole numbers and None."""
    text = "\n".join(["\x00" if part is None else str(part) for part in parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def damage(where: str) -> Exception:
    """Return the error that says that a ledger is damaged, and where."""
    return fail(
        "the ledger is damaged",
        where,
        "entries as they were written",
        "run bayescm monitor verify to see how far, and restore a backup",
    )
