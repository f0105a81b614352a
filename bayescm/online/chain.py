"""
Chain of entries, each with a hash of itself and of the previous entry.

    hash(n) = BLAKE2b(genesis, hash(n - 1), fields of entry n),  hash(0) = genesis,
    genesis = BLAKE2b("bayescm", classifier, encoding, encoding_version, description).

The hashes reveal entries that a failing disk or a manual edit has changed, lost or inserted. They
are not a signature: anyone who can write the file can also build a new chain.
"""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

from bayescm.validate import fail

_LARGEST_SUM = 2**53  # larger sums are not exact in floating point


class Entry(NamedTuple):
    """
    One entry of the ledger.

    Attributes
    ----------
    entry : int
        Number of the entry within its classifier, starting at 1.
    batch_id, at : str
        Name of the batch and time of its observation.
    encoding, encoding_version : str, int
        Format of the payload; see `bayescm.online.encoding`.
    payload : str
        Evidence of the batch.
    supersedes : str or None
        Batch that this entry replaces.
    recorded_at : str
        Time of arrival.
    total : str or None
        Sum of the current payloads after this entry. None for items and patterns, and from the
        first fractional count on, because sums of fractions depend on their order.
    batches : int
        Number of current batches after this entry, without corrected ones.
    latest : str
        Latest time of observation in all entries so far.
    hash : str
        Hash of all these fields and of the previous entry.
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
    Return the entry that follows another one.

    Parameters
    ----------
    genesis : str
        Start of the hash chain of the classifier.
    last : Entry or None
        Previous entry.
    batch : dict
        Fields of `Entry` from ``batch_id`` to ``recorded_at``.
    superseded : Entry or None
        Entry of the batch that this one replaces, with the current classes.

    Raises
    ------
    ValueError
        If a cell of the summed counts exceeds 2**53.
    """
    total = _total(last, batch["payload"], superseded)
    if total is not None and max(cell for row in total for cell in row) > _LARGEST_SUM:
        todo = "start a new classifier in the store"
        raise fail(
            "A cell has more than 2**53 examples, which cannot be counted exactly", ..., "", todo
        )
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
    Return an entry that changes the classes, which is not a batch.

    Parameters
    ----------
    genesis, last
        See `next_entry`.
    fields : dict
        Fields of `Entry` from ``batch_id`` to ``recorded_at``.
    total : str or None
        Sum of the payloads so far, with the current classes.
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
    """Return the sum of the current payloads, or None if they are not integers."""
    cells = json.loads(payload)
    if isinstance(cells, dict):  # items, examples or patterns
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
    """Return True if an entry matches its hash, given the hash of the previous entry."""
    return entry[-1] == digest(genesis, previous, *entry[:-1])


def check_chain(
    genesis: str, previous: str, number: int, entries: Iterable[Any], classifier: str
) -> None:
    """
    Raise an error if entries are damaged or missing.

    Parameters
    ----------
    genesis : str
        Start of the hash chain of the classifier.
    previous : str
        Hash of the entry before the first one in `entries`.
    number : int
        Number of the entry before the first one in `entries`.
    entries : iterable
        Rows with the fields of `Entry`, in order.
    classifier : str
        Name of the classifier, for the message.
    """
    for entry in entries:
        number += 1
        if entry[0] != number:
            raise damage(f"entry {number} of classifier {classifier!r} is missing")
        if not verify_entry(genesis, previous, entry):
            raise damage(f"batch {entry[1]!r}, entry {number} of classifier {classifier!r}")
        previous = entry[-1]


def digest(*parts: Any) -> str:
    """Return a hash of values, which may be text, integers or None."""
    text = "\n".join(["\x00" if part is None else str(part) for part in parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def damage(where: str) -> Exception:
    """Return the error for a damaged ledger, with the location of the damage."""
    return fail(
        f"The ledger is damaged: {where}",
        ...,
        "",
        "run bayescm monitor verify to see how far, and restore a backup",
    )
