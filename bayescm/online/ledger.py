"""
The store of a monitor: an append-only ledger of batches, in SQLite or PostgreSQL.

`Ledger.append` records a batch. `Monitor.add` calls it, and `record` returns only whether the batch
is new. In one transaction, it checks the end of the classifier's chain, rejects invalid batches and
appends one entry. When it returns, the batch is durably stored.

The transaction is committed at the end of `begin` in `database`. If the process is killed (SIGKILL)
before the commit, nothing is recorded. If it is killed after the commit, the whole batch is
recorded, even though the call has not returned. Sending the same batch again changes nothing.
Commits are durable (see `database`), and entries are checked against their hashes when they are
read (see `chain`). Two more chains per classifier record which alarms were acknowledged and which
were sent to a hook.
"""

import json
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import sqlalchemy as sa
import xarray as xr

from bayescm.online.chain import (
    Entry,
    check_chain,
    damage,
    digest,
    entry_of_classes,
    next_entry,
    verify_entry,
)
from bayescm.online.classes import (
    CLASSES,
    ClassChange,
    change_of,
    checked_change,
    classes_after,
    current_measure,
    name_of_entry,
)
from bayescm.online.classes import VERSION as VERSION_OF_CLASSES
from bayescm.online.database import Database, allow_classes
from bayescm.online.encoding import (
    PAIRED_OUTCOMES,
    Description,
    as_utc,
    chance_of_same,
    check_encodings,
    check_name,
    decode,
    describe,
    difference_of_items,
    encode,
    is_of_items,
    payload_now,
    time_of_name,
    timestamp,
    zeros,
)
from bayescm.validate import fail, suggest

_CLOCK_TOLERANCE = timedelta(seconds=1)  # clocks of different machines may differ by this much
_SEARCHED_BY_ENTRY = 1000  # number of last entries to search by number; see `_find_batch`
_COMPARED = 50  # number of last entries that a batch is compared with
# A warning is issued for equal evidence if the probability that one of these entries is equal by
# chance is at most this. With two classes, this is the case for batches of 1,000 examples.
_RARE = 0.002


def _table(name, *columns):
    """Return a table for statements, with the columns that the migrations document."""
    return sa.table(name, *[sa.column(column) for column in columns])


classifier_table = _table(
    "bayescm_classifiers", "classifier", "encoding", "encoding_version", "description"
)
batch_table = _table("bayescm_batches", "classifier", *Entry._fields)
acknowledgement_table = _table(
    "bayescm_acknowledgements",
    *("classifier", "number", "batch_id", "rule", "measure", "incident"),
    *("note", "recorded_at", "hash"),
)
delivery_table = _table(
    "bayescm_deliveries",
    *("classifier", "number", "batch_id", "rule", "measure", "incident"),
    *("hook", "attempt", "outcome", "next_try", "recorded_at", "hash"),
)
ORDERS = ("at", "recorded_at")  # time of observation, or time of arrival
_ALARM = ["batch_id", "rule", "measure"]  # columns that identify an alarm
STARTED, DELIVERED, FAILED = "started", "delivered", "failed"  # outcomes of a delivery


class Entries(NamedTuple):
    """
    Batches of one classifier in the order of recording, as arrays.

    ``classes`` is the number of classes when each batch was recorded, or -1 if no class has been
    added since.
    """

    entry: np.ndarray
    batch_id: np.ndarray
    at: np.ndarray
    cells: np.ndarray
    supersedes: np.ndarray
    recorded_at: np.ndarray
    classes: np.ndarray

    @property
    def latest(self) -> np.datetime64:
        """Latest observation time of the entries that are not superseded."""
        return self.at[self.current("at")[-1]]

    def current(self, order: str) -> np.ndarray:
        """Return the indices of the entries that are not superseded, in one of the `ORDERS`."""
        superseded = set(self.supersedes.tolist())
        is_current = [batch_id not in superseded for batch_id in self.batch_id.tolist()]
        index = np.flatnonzero(np.array(is_current, dtype=bool))
        if order == "at":
            return index[np.lexsort((self.entry[index], self.at[index]))]
        # A correction has the rank of the entry that it corrects.
        ranks: dict[str, int] = {}
        for batch_id, entry, old in zip(self.batch_id, self.entry, self.supersedes, strict=True):
            ranks[batch_id] = ranks.get(old, entry)
        return index[np.argsort(np.array(list(ranks.values()))[index], kind="stable")]


class Ledger(Database):
    """
    Append-only ledger of batches of evidence, with one entry per batch.

    A batch acknowledged by `record` is never lost. If a process or machine dies at any moment,
    every acknowledged batch is complete and no partial one exists. Several threads and processes
    can write at the same time. Nothing is ever changed or removed; a correction is a new entry that
    names the old one. Every entry carries a hash of itself and of the previous entry, which is
    checked whenever the entry is read.

    Parameters
    ----------
    store : str or path
        ``sqlite:///eval.db`` (or a plain path), ``postgresql://user@host/database`` or ``"host=...
        dbname=..."``.
    create : bool, default True
        Whether to create a ledger if there is none.
    timeout : float, default 30
        Seconds to wait for a database that another process has locked.

    Raises
    ------
    ValueError
        If the address is invalid, or the store is not a ledger, is damaged or requires a newer
        version of the package.
    OSError
        If the database cannot be reached, is locked or is full.

    Examples
    --------
    >>> import bayescm as bcm
    >>> ledger = Ledger("sqlite://")
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> ledger.record("spam filter", "monday", counts)
    True
    >>> ledger.record("spam filter", "monday", counts)
    False
    >>> int(ledger.read("spam filter").cells.sum())
    145
    """

    def record(
        self,
        classifier: str,
        batch_id: str | int,
        counts: xr.DataArray,
        *,
        at: Any = None,
        corrects: str | int | None = None,
    ) -> bool:
        """
        Record a batch durably.

        When this method returns, the batch is stored.

        Parameters
        ----------
        classifier : str
            Name of the classifier.
        batch_id : str or int
            Name of the batch, unique within the classifier.
        counts : xarray.DataArray
            Canonical counts, dims ``(actual, predicted)``, a table of another type in `encoding`,
            or the scores of items.
        at : datetime, datetime64 or str, optional
            Time of the evaluation, in UTC unless it has a time zone. By default the time of the
            batch that is corrected, the time in the name (``"2026-01-31"``,
            ``"2026-01-31T12:00"``), or the time of arrival, in this order.
        corrects : str or int, optional
            Name of the batch that this one replaces. The old entry stays, but is no longer used.

        Returns
        -------
        bool
            True if the batch was recorded, False if it was already in the ledger.

        Raises
        ------
        ValueError
            If a batch with this name is recorded with different counts or another time, or a label
            is unknown to the classifier. Also if the batch to correct is unknown or already
            corrected, or the ledger is damaged.
        OSError
            If the batch could not be stored. It can be sent again and is recorded only once.

        Warns
        -----
        UserWarning
            If the clock is behind the recording time of the previous batch, the batch is dated more
            than a day ahead, or a recent batch has the same counts, which is unlikely by chance.
        """
        return self.append(classifier, batch_id, counts, at=at, corrects=corrects)[0]

    def append(
        self,
        classifier: str,
        batch_id: str | int,
        counts: xr.DataArray,
        *,
        at: Any = None,
        corrects: str | int | None = None,
    ) -> tuple[bool, Entry]:
        """Record a batch as `record` does, and also return its entry."""
        classifier = check_name(classifier, "classifier")
        batch: dict[str, Any] = {
            "batch_id": check_name(batch_id, "batch_id"),
            "at": None if at is None else timestamp(as_utc(at)),
            "supersedes": None if corrects is None else check_name(corrects, "corrects"),
        }
        with self.transaction(f"record batch {batch['batch_id']!r}", write=True) as connection:
            _lock(connection, classifier)
            description = _description(connection, classifier)
            last = None
            if description is None:
                description = describe(classifier, counts)
                write_description(connection, description)
            else:
                last = last_entry(connection, description)
                check_encodings(classifier, [(last.encoding, last.encoding_version)])
                if _is_resent(connection, description, batch, counts, last):
                    old = _find_batch(connection, description, batch["batch_id"], last)
                    return False, old
            batch |= encode(counts, description)
            if (recorded := _recorded(connection, description, batch, last)) is not None:
                return False, recorded
            superseded = _superseded(connection, description, batch)
            now = datetime.now(UTC)
            is_late = last is not None and timestamp(now) < last.recorded_at
            batch["recorded_at"] = _time_of_arrival(now, last)
            if batch["at"] is None and superseded is not None:
                batch["at"] = superseded.at
            elif batch["at"] is None:
                batch["at"] = time_of_name(batch["batch_id"]) or batch["recorded_at"]
            twin = _batch_with_same_counts(connection, description, batch, last)
            entry = next_entry(description.genesis, last, batch, superseded)
            values = {"classifier": classifier} | entry._asdict()
            connection.execute(batch_table.insert(), values)
        if is_late:
            _warn_of_clock(entry.batch_id, now, last)
        if twin is not None:
            _warn_of_twin(entry.batch_id, twin)
        _warn_of_future([entry])
        return True, entry

    def extend(
        self, classifier: str, batches: Sequence[tuple[str, Any, Any]]
    ) -> tuple[int, list[str]]:
        """
        Record batches in one transaction: either all of them or, after an error, none.

        Parameters
        ----------
        classifier : str
            Name of the classifier.
        batches : sequence of (batch_id, counts, at)
            See `record`. Cells passed as an array must have the classes in the order of the ledger.

        Returns
        -------
        int
            Number of batches recorded. The others were already in the ledger.
        list of str
            Names of batches that have the same evidence as a recent one in `batches`, which is
            unlikely by chance.
        """
        classifier = check_name(classifier, "classifier")
        with self.transaction("record batches", write=True) as connection:
            _lock(connection, classifier)
            description, last = _description(connection, classifier), None
            if description is None:
                description = describe(classifier, batches[0][1])
                write_description(connection, description)
            else:
                last = last_entry(connection, description)
                check_encodings(classifier, [(last.encoding, last.encoding_version)])
            known = _known(connection, description, [row[0] for row in batches], last)
            new: dict[str, Entry] = {}
            twins: list[str] = []
            recent: deque[str] = deque(maxlen=_COMPARED)
            for batch_id, counts, at in batches:
                batch: dict[str, Any] = {"batch_id": batch_id, "supersedes": None}
                batch["at"] = None if at is None else timestamp(as_utc(at))
                if batch_id in known and _is_resent(connection, description, batch, counts, last):
                    continue
                batch |= _encoded(counts, description)
                if (old := new.get(batch_id, known.get(batch_id))) is not None:
                    _check_is_same(description, batch, old)
                    continue
                batch["recorded_at"] = _time_of_arrival(datetime.now(UTC), last)
                if batch["at"] is None:
                    batch["at"] = time_of_name(batch_id) or batch["recorded_at"]
                payload = batch["payload"]
                if payload in recent and _COMPARED * chance_of_same(payload) <= _RARE:
                    twins.append(batch_id)
                recent.append(payload)
                last = new[batch_id] = next_entry(description.genesis, last, batch, None)
            if new:
                rows = [{"classifier": classifier} | entry._asdict() for entry in new.values()]
                connection.execute(batch_table.insert(), rows)
        _warn_of_future(new.values())
        return len(new), twins

    def read(self, classifier: str, *, after: int = 0) -> Entries:
        """
        Return the entries of a classifier with a number greater than `after`.

        Entries of a classifier are numbered 1, 2, 3, ... without gaps, in the order of their
        commits. A reader that has seen entry n has therefore seen all earlier ones. Every entry is
        checked against its hash and the previous entry, and for completeness.

        Raises
        ------
        ValueError
            If an entry is damaged or missing.
        """
        return self.contents(classifier, after=after)[1]

    def contents(self, classifier: str, *, after: int = 0) -> tuple[Description | None, Entries]:
        """
        Return the description of a classifier and its batches at one moment.

        The cells of the batches refer to the current classes. If classes have changed since the
        entry `after`, all batches are returned.
        """
        with self.transaction("read the ledger") as connection:
            description = _description(connection, classifier)
            if description is not None and description.changes:
                after = 0 if description.changes[-1].entry > after else after
            rows = [] if description is None else entries_after(connection, description, after)
        check_encodings(classifier, [(row.encoding, row.encoding_version) for row in rows])
        rows = [row for row in rows if row.encoding != CLASSES]
        columns = zip(*map(tuple, rows), strict=True) if rows else [()] * len(Entry._fields)
        by_name: dict[str, Any] = dict(zip(Entry._fields, columns, strict=True))
        payloads, number = by_name["payload"], np.full(len(rows), -1)
        if description is not None and description.changes:
            payloads = [payload_now(payload, description) for payload in payloads]
            number = _numbers_of_classes(description, by_name["entry"])
        return description, Entries(
            np.array(by_name["entry"], dtype=np.int64),
            np.array(by_name["batch_id"], dtype=object),
            _moments(by_name["at"]),
            decode(payloads, *_form_of(description)),
            np.array(by_name["supersedes"], dtype=object),
            _moments(by_name["recorded_at"]),
            number,
        )

    def last(self, classifier: str) -> Entry:
        """
        Return the last entry of a classifier, with the sum of all batches so far.

        The entry is either a batch or a change of the classes.

        Raises
        ------
        ValueError
            If the ledger has no batches of this classifier, or the end of its chain is damaged.
        """
        with self.transaction("read the ledger") as connection:
            return last_entry(connection, _existing(connection, classifier))

    def empty(self, classifier: str) -> xr.DataArray:
        """
        Return zero counts with the labels of a classifier.

        Raises
        ------
        ValueError
            If the ledger has no batches of this classifier.
        """
        with self.transaction("read the ledger") as connection:
            description = _existing(connection, classifier)
            last_entry(connection, description)  # also checks the hash of the labels
        return zeros(description)

    def table(self) -> pd.DataFrame:
        """
        Return every recorded entry, including corrected batches.

        ``labels`` contains the classes at the time of recording. For an entry that renames or adds
        classes, ``cells`` contains the change.
        """
        columns = {"entry": "entry", "batch_id": "batch_id", "at": "at", "payload": "cells"}
        columns |= {"supersedes": "corrects", "recorded_at": "recorded_at", "hash": "hash"}
        tables = [pd.DataFrame(columns=["classifier", *columns.values(), "labels"])]
        with self.transaction("read the ledger") as connection:
            for description in read_descriptions(connection):
                rows = entries_after(connection, description, 0)
                frame = pd.DataFrame(rows, columns=list(Entry._fields))[list(columns)]
                texts = _texts_of_entries(description, [row.entry for row in rows])
                frame = frame.rename(columns=columns).assign(labels=texts)
                # The name of an entry that changes classes contains a tab, which names of batches
                # cannot contain.
                frame["batch_id"] = frame["batch_id"].str.replace("\t", " ")
                frame.insert(0, "classifier", description.classifier)
                tables.append(frame)
        return pd.concat(tables[1:] or tables, ignore_index=True)

    def classifiers(self) -> list[str]:
        """Return the names of the classifiers, in alphabetical order."""
        with self.transaction("read the ledger") as connection:
            return _classifiers(connection)

    def only_classifier(self) -> str:
        """
        Return the name of the only classifier in the ledger.

        Raises
        ------
        ValueError
            If the ledger has no classifier or more than one.
        """
        names = self.classifiers()
        if len(names) != 1:
            what = "The store has no batches" if not names else "The store has several classifiers"
            todo = "name one with `classifier=`" if names else "add a batch first"
            raise fail(what, ..., names[:20] if names else "", todo)
        return names[0]

    def challenges(self) -> dict[str, dict[str, Any]]:
        """Return the labels, positive class, classifiers and rule of each challenge, by name."""
        with self.transaction("read the ledger") as connection:
            descriptions = read_descriptions(connection)
        return {
            description.classifier: description.facts()
            for description in descriptions
            if description.encoding == PAIRED_OUTCOMES
        }

    def change_classes(
        self, classifier: str, rename: Any = None, add: Any = None
    ) -> tuple[bool, list]:
        """
        Rename or add classes by appending an entry to the ledger.

        Parameters
        ----------
        classifier : str
            Name of a classifier or a challenge.
        rename, add
            See `bayescm.online.Monitor.change_classes`.

        Returns
        -------
        bool
            True if the change was recorded, False if it repeats the latest change of the classes.
        list
            Current classes.
        """
        with self.transaction("change the classes", write=True) as connection:
            _lock(connection, classifier)
            description = _existing(connection, classifier)
            last, changes = last_entry(connection, description), description.changes
            first = description.first_facts()
            if changes and _is_same_change(changes[-1], rename, add):
                return False, classes_after(first["labels"], changes)
            encoding = description.encoding
            change = checked_change(classifier, encoding, first, changes, rename, add)
            allow_classes(connection)
            moment = _time_of_arrival(datetime.now(UTC), last)
            fields = {"batch_id": name_of_entry(len(changes) + 1), "at": moment}
            fields |= {"encoding": CLASSES, "encoding_version": VERSION_OF_CLASSES}
            fields |= {"payload": change.payload, "supersedes": None, "recorded_at": moment}
            changed = description._replace(changes=(*changes, change))
            total = None if last.total is None else payload_now(last.total, changed)
            entry = entry_of_classes(description.genesis, last, fields, total)
            values = {"classifier": classifier} | entry._asdict()
            connection.execute(batch_table.insert(), values)
        return True, changed.facts()["labels"]

    def classes(self, name: str) -> list:
        """Return the current classes of a classifier or challenge. Empty if it has no classes."""
        with self.transaction("read the ledger") as connection:
            return list(_existing(connection, name).facts().get("labels", []))

    def templates(self, classifier: str) -> list[xr.DataArray | None]:
        """
        Return empty batches with the current classes, and with the classes before each change.

        The latest classes come first. If the classifier is unknown, the list contains only None.
        """
        with self.transaction("read the ledger") as connection:
            description = _description(connection, classifier)
        if description is None:
            return [None]
        numbers = range(len(description.changes), -1, -1)
        earlier = [description._replace(changes=description.changes[:n]) for n in numbers]
        return [zeros(each) for each in earlier]

    def former_names(self, classifier: str) -> dict[Any, Any]:
        """Return a dict that maps former class names to current ones."""
        with self.transaction("read the ledger") as connection:
            description = _description(connection, classifier)
        return {} if description is None else description.names()

    def check(self, classifier: str, batch_id: str, counts: xr.DataArray) -> None:
        """Raise an error if `record` would reject the type or the classes of a batch."""
        with self.transaction("read the ledger") as connection:
            description = _description(connection, classifier)
            if description is None:
                return
            last, batch = last_entry(connection, description), {"batch_id": batch_id}
            if not _is_resent(connection, description, batch, counts, last):
                encode(counts, description)

    def acknowledge(self, classifier: str, alarms: pd.DataFrame, note: str = "") -> int:
        """
        Record that alarms have been seen.

        Parameters
        ----------
        classifier : str
            Name of the classifier.
        alarms : DataFrame
            Alarms, with the columns ``batch_id``, ``rule`` and ``measure``.
        note : str, optional
            Note to store with the acknowledgement.

        Returns
        -------
        int
            Number of alarms that had not been acknowledged before.
        """
        keys = [tuple(map(str, row)) for row in alarms[_ALARM].values]
        with self.transaction("acknowledge alarms", write=True) as connection:
            _lock(connection, classifier)
            description = _existing(connection, classifier)
            rows = read_notes(connection, acknowledgement_table, description)
            names = description.names()
            recorded = {
                (row.batch_id, row.rule, current_measure(row.measure, names)) for row in rows
            }
            new = [key for key in dict.fromkeys(keys) if key not in recorded]
            fields = [dict(zip(_ALARM, key, strict=True)) | {"note": note} for key in new]
            _append_notes(connection, acknowledgement_table, description, rows, fields)
        return len(new)

    def acknowledgements(self, classifier: str) -> pd.DataFrame:
        """Return the acknowledgements of alarms, in the order of recording."""
        return self._notes(acknowledgement_table, classifier)

    def begin_delivery(
        self, classifier: str, alarm: Sequence[str], hook: str, *, incident: str
    ) -> int | None:
        """
        Record that an alarm is about to be sent to a hook.

        Parameters
        ----------
        classifier : str
            Name of the classifier.
        alarm : sequence of str
            The ``batch_id``, ``rule`` and ``measure`` of the alarm.
        hook : str
            Name of the hook.
        incident : str
            Batch that opened the incident of the alarm.

        Returns
        -------
        int or None
            Number of the attempt, which the caller must make. None if the alarm was already sent,
            an attempt is unfinished, the next one is not due yet, or the last failure is final.
        """
        key = tuple(map(str, alarm))
        if self.due_attempt(classifier, key, hook) is None:
            return None  # the usual case, in which nothing is written
        with self.transaction("record what is handed over", write=True) as connection:
            _lock(connection, classifier)
            description = _existing(connection, classifier)
            rows = read_notes(connection, delivery_table, description)
            attempt = _due_attempt(rows, key, hook, description.names())
            if attempt is not None:
                note = {"hook": hook, "attempt": attempt, "outcome": STARTED, "incident": incident}
                fields = [dict(zip(_ALARM, key, strict=True)) | note]
                _append_notes(connection, delivery_table, description, rows, fields)
        return attempt

    def due_attempt(self, classifier: str, alarm: Sequence[str], hook: str) -> int | None:
        """Return the number of the delivery attempt that is due now, or None."""
        key = tuple(map(str, alarm))
        return _due_attempt(self.deliveries(classifier).itertuples(), key, hook, {})

    def end_delivery(
        self,
        classifier: str,
        alarm: Sequence[str],
        hook: str,
        attempt: int,
        *,
        incident: str,
        outcome: str,
        next_try: datetime | None = None,
    ) -> None:
        """
        Record the outcome of an attempt to send an alarm to a hook.

        Parameters
        ----------
        classifier, alarm, hook, incident
            See `begin_delivery`.
        attempt : int
            Number of the attempt, as returned by `begin_delivery`.
        outcome : {"delivered", "failed"}
            Outcome of the attempt.
        next_try : datetime, optional
            Earliest time of the next attempt after a failure. If omitted, the failure is final.
        """
        note: dict[str, Any] = dict(zip(_ALARM, map(str, alarm), strict=True))
        note |= {"hook": hook, "attempt": attempt, "outcome": outcome, "incident": incident}
        note["next_try"] = None if next_try is None else timestamp(next_try)
        with self.transaction("record what was handed over", write=True) as connection:
            _lock(connection, classifier)
            description = _existing(connection, classifier)
            rows = read_notes(connection, delivery_table, description)
            _append_notes(connection, delivery_table, description, rows, [note])

    def deliveries(self, classifier: str) -> pd.DataFrame:
        """Return the deliveries of alarms to hooks, in the order of recording."""
        return self._notes(delivery_table, classifier)

    def _notes(self, table, classifier):
        with self.transaction("read the ledger") as connection:
            description = _description(connection, classifier)
            rows = [] if description is None else read_notes(connection, table, description)
        frame = pd.DataFrame(rows, columns=[column.name for column in table.c])
        if description is not None and (names := description.names()):
            frame["measure"] = [current_measure(name, names) for name in frame["measure"]]
        return frame.drop(columns=["classifier", "number", "hash"])


def _lock(connection, classifier):
    """Let only one process write to a classifier at a time, so that its entries have no gaps."""
    if connection.dialect.name == "postgresql":  # SQLite allows only one writer
        key = int.from_bytes(blake2b(classifier.encode(), digest_size=8).digest(), signed=True)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))


# Checks before a batch is recorded


def write_description(connection: sa.Connection, description: Description) -> None:
    """Record the description of a new classifier, before its first batch."""
    names = [column.name for column in classifier_table.c]
    values = dict(zip(names, description[:4], strict=True))
    connection.execute(classifier_table.insert(), values)


def _time_of_arrival(now, last):
    """Return the arrival time of an entry, which is never earlier than the previous one."""
    return timestamp(now) if last is None else max(timestamp(now), last.recorded_at)


def _is_same_change(change, rename, add):
    """Return True if a requested change of the classes repeats the given one."""
    if not isinstance(rename, Mapping | None) or not isinstance(add, list | tuple | None):
        return False
    return dict(change.rename) == dict(rename or {}) and [*change.add] == [*(add or [])]


def _is_resent(connection, description, batch, counts, last):
    """
    Return True if a batch was recorded before the classes changed, and is sent again.

    Such a batch still uses the classes of that time.
    """
    if not description.changes or isinstance(counts, np.ndarray):
        return False
    old = _find_batch(connection, description, batch["batch_id"], last)
    if old is None or old.entry > description.changes[-1].entry:
        return False
    then = description.as_of(old.entry)
    if "rule" in counts.attrs:  # a challenge, whose measure may use the new name of a class
        counts = counts.assign_attrs(rule=then.facts().get("rule"))
    try:
        received = encode(counts, then)["payload"]
    except ValueError:
        return False
    is_same = json.loads(received) == json.loads(old.payload)
    return (
        is_same
        and batch.get("at") in (None, old.at)
        and batch.get("supersedes") == (old.supersedes if "supersedes" in batch else None)
    )


_NAMES_AT_ONCE = 500  # names per statement


def _known(connection, description, names, last):
    """
    Return the recorded entries among the named batches, by name.

    The last entries are also looked up by number; see `_find_batch`.
    """
    if last is None:
        return {}
    columns = batch_table.c
    known: dict[str, Entry] = {}
    for first in range(0, len(names), _NAMES_AT_ONCE):
        of_names = columns.batch_id.in_(names[first : first + _NAMES_AT_ONCE])
        rows = connection.execute(entries(description, of_names))
        known |= {row.batch_id: Entry(*row) for row in rows}
    is_recent = columns.entry > last.entry - _SEARCHED_BY_ENTRY
    recent = entries(description, is_recent).with_only_columns(columns.batch_id)
    if {*connection.execute(recent).scalars()} & {*names} - known.keys():
        raise damage(f"the index of names of classifier {description.classifier!r}")
    return known


def _encoded(counts, description):
    """Return the encoding, version and payload of a batch, which may be an array of cells."""
    if not isinstance(counts, np.ndarray):
        return encode(counts, description)
    if len(counts) != (number := len(description.facts()["labels"])):
        raise fail(
            f"Classes of {description.classifier!r} were added in the meantime, so it has "
            f"{number} classes, not {len(counts)}",
            ...,
            "",
            "send the batches again",
        )
    return {
        "encoding": description.encoding,
        "encoding_version": description.encoding_version,
        "payload": json.dumps(counts.tolist()),
    }


def _recorded(connection, description, batch, last):
    """Return the recorded entry of a batch, or None; raise an error if the batch has changed."""
    old = None if last is None else _find_batch(connection, description, batch["batch_id"], last)
    if old is not None:
        _check_is_same(description, batch, old)
    return old


def _check_is_same(description, batch, old):
    """Raise an error if a batch differs from the recorded batch of the same name."""
    text = payload_now(old.payload, description)
    recorded, received = json.loads(text), json.loads(batch["payload"])
    if recorded != received and is_of_items(description.encoding):
        noun, values = difference_of_items(description.encoding, recorded)
        raise fail(
            f"Batch {batch['batch_id']!r} is already recorded with other {noun} of "
            f"{len(values)} items; nothing was recorded",
            ...,
            "",
            f"use a new `batch_id`, and `corrects={batch['batch_id']!r}` if the old batch "
            "was wrong",
        )
    if recorded != received:
        shown = f", {text}" if len(text) <= 300 else ""
        raise fail(
            f"Batch {batch['batch_id']!r} is already recorded with other counts{shown}; "
            "nothing was recorded",
            ...,
            "",
            f"use a new `batch_id`, and `corrects={batch['batch_id']!r}` if the old batch "
            "was wrong",
        )
    if old.supersedes != batch["supersedes"]:
        allowed = f"`corrects={old.supersedes!r}`, as recorded"
        raise fail(
            f"Batch {batch['batch_id']!r} is already recorded with another correction than {{}}",
            batch["supersedes"],
            allowed,
            "use a new `batch_id`",
        )
    if batch["at"] not in (None, old.at):
        raise fail(
            f"Batch {batch['batch_id']!r} is already recorded with another time than {{}}",
            batch["at"],
            f"`at={old.at!r}`",
            f"use a new `batch_id`, and `corrects={batch['batch_id']!r}` if the time was wrong",
        )


def _find_batch(connection, description, batch_id, last):
    """
    Return the entry of a batch, or None.

    The last entries are also searched by number, so that a batch that is sent again is not recorded
    twice if the index of names is damaged.
    """
    by_name = entries(description, batch_table.c.batch_id == batch_id)
    row = connection.execute(by_name).first()
    if row is not None:
        return Entry(*row)
    is_recent = batch_table.c.entry > last.entry - _SEARCHED_BY_ENTRY
    no_index = batch_table.c.batch_id.concat("") == batch_id  # the concatenation disables the index
    if connection.execute(entries(description, is_recent, no_index)).first() is not None:
        raise damage(f"the index of names of classifier {description.classifier!r}")
    return None


def _superseded(connection, description, batch):
    """Return the entry that a batch corrects, or None."""
    if batch["supersedes"] is None:
        return None
    columns = batch_table.c
    by_name = entries(description, columns.batch_id == batch["supersedes"])
    old = connection.execute(by_name).first()
    if old is None:
        newest = entries(description).order_by(columns.entry.desc()).limit(1000)
        found = connection.execute(newest).all()[::-1]
        names = [row.batch_id for row in found if row.encoding != CLASSES]
        allowed = f"a recorded batch, such as {names[-3:]}" if names else "a recorded batch"
        todo = suggest(batch["supersedes"], names) if names else "add it as a batch"
        raise fail("The batch to correct, {}, does not exist", batch["supersedes"], allowed, todo)
    by_correction = entries(description, columns.supersedes == batch["supersedes"])
    if (correction := connection.execute(by_correction).first()) is not None:
        raise fail(
            "Batch {} has already been corrected",
            batch["supersedes"],
            "",
            f"correct {correction.batch_id!r}, which replaced it",
        )
    return Entry(*old)._replace(payload=payload_now(old.payload, description))


def _batch_with_same_counts(connection, description, batch, last):
    """
    Return the name of a current batch with the same evidence, or None.

    Only the last entries are compared. Equal evidence is ignored if it is likely by chance, such as
    a table of few examples; see `chance_of_same`.
    """
    if last is None or batch["supersedes"] is not None:
        return None
    columns = batch_table.c
    is_recent = columns.entry > last.entry - _COMPARED
    query = entries(description, is_recent, columns.payload == batch["payload"])
    later = batch_table.alias()
    is_superseded = sa.exists().where(
        later.c.classifier == description.classifier, later.c.supersedes == columns.batch_id
    )
    row = connection.execute(query.where(~is_superseded)).first()
    n_compared = min(last.entry, _COMPARED)
    if row is None or n_compared * chance_of_same(batch["payload"]) > _RARE:
        return None
    return Entry(*row).batch_id


def _warn_of_twin(batch_id, twin):
    warnings.warn(
        f"Batch {batch_id!r} is identical to batch {twin!r}, which is unlikely by "
        f"chance. Both were recorded and both count. If {batch_id!r} is a mistake, add "
        f"the right batch with corrects={batch_id!r}.",
        UserWarning,
        stacklevel=4,
    )


def _warn_of_future(entries):
    """Warn if batches are dated more than a day ahead, which no time zone or clock explains."""
    latest = timestamp(datetime.now(UTC) + timedelta(days=1))
    ahead = [entry for entry in entries if entry.at > latest]
    if not ahead:
        return
    names = ", ".join(f"{entry.batch_id!r} ({entry.at[:16]}Z)" for entry in ahead[:3])
    further = f" and {len(ahead) - 3} others" if len(ahead) > 3 else ""
    warnings.warn(
        f"The time of batch {names}{further} is in the future. The batch was recorded, and later "
        "batches come before it. If the time is wrong, correct the batch.",
        UserWarning,
        stacklevel=4,
    )


def _warn_of_clock(batch_id, now, last):
    """Warn if the clock is behind the recording time of the previous entry."""
    if now + _CLOCK_TOLERANCE >= as_utc(last.recorded_at):
        return
    warnings.warn(
        f"The clock runs backwards: it is {timestamp(now)} as batch {batch_id!r} "
        f"arrives, but it was {last.recorded_at} when batch {last.batch_id!r} arrived. "
        "The batch keeps its place in the order of arrival and gets the later time. "
        "Pass at= to set the time of the batch.",
        UserWarning,
        stacklevel=4,
    )


# Reading, with checks of the hashes


def _description(connection, classifier):
    """Return the description of a classifier, or None if it does not exist."""
    columns = classifier_table.c
    query = sa.select(classifier_table).where(columns.classifier == classifier)
    row = connection.execute(query).first()
    if row is not None:
        return _with_changes(connection, Description(*row))
    entry = sa.select(batch_table.c.entry).where(batch_table.c.classifier == classifier)
    if connection.execute(entry.limit(1)).first() is not None:
        raise damage(f"the labels of classifier {classifier!r} are missing")
    return None


def _with_changes(connection, description):
    """Return a description with the changes of its classes, each checked against its hash."""
    columns = batch_table.c
    changes: list[ClassChange] = []
    while True:
        name = name_of_entry(len(changes) + 1)
        row = connection.execute(entries(description, columns.batch_id == name)).first()
        if row is None:
            return description._replace(changes=tuple(changes))
        before = entries(description, columns.entry == row.entry - 1)
        previous = connection.execute(before.with_only_columns(columns.hash)).scalar()
        if not verify_entry(description.genesis, previous, row):
            raise damage(f"entry {row.entry} of classifier {description.classifier!r}")
        check_encodings(description.classifier, [(row.encoding, row.encoding_version)])
        changes.append(change_of(row.entry, row.payload))


def _form_of(description):
    """Return the encoding of the batches and the number of classes."""
    if description is None:
        return "", 0
    return description.encoding, len(description.facts().get("labels", ()))


def _numbers_of_classes(description, numbers):
    """Return the number of classes at each entry, or -1 if no class has been added since."""
    sizes = {None: len(description.first_facts()["labels"])}
    of_entries = []
    for number in numbers:
        last = max((c.entry for c in description.changes if c.entry < number), default=None)
        if last not in sizes:
            sizes[last] = description.number_of_classes(number)
        of_entries.append(sizes[last])
    latest = len(description.facts()["labels"])
    return np.array([-1 if size == latest else size for size in of_entries], int)


def _texts_of_entries(description, numbers):
    """Return the description of the batches at the time of each entry."""
    if not description.changes:
        return description.text
    texts = {None: description.text}
    of_entries = []
    for number in numbers:
        last = max((c.entry for c in description.changes if c.entry < number), default=None)
        if last not in texts:
            texts[last] = json.dumps(description.as_of(number).facts())
        of_entries.append(texts[last])
    return of_entries


def _existing(connection, classifier):
    """Return the description of a classifier, or raise an error if it does not exist."""
    description = _description(connection, classifier)
    if description is not None:
        return description
    names = _classifiers(connection)
    todo = suggest(classifier, names) if names else "add a batch first"
    raise fail("Classifier {} has no batches", classifier, names[:20], todo)


def _classifiers(connection):
    """Return the names of the classifiers, in alphabetical order."""
    return [
        description.classifier
        for description in _first_descriptions(connection)
        if description.encoding != PAIRED_OUTCOMES
    ]


# This query needs one index lookup per classifier, regardless of the number of its batches.
_WITH_ENTRIES = sa.text(
    "WITH RECURSIVE names(name) AS (SELECT min(classifier) FROM bayescm_batches UNION ALL "
    "SELECT (SELECT min(classifier) FROM bayescm_batches WHERE classifier > names.name) "
    "FROM names WHERE names.name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"
)


def read_descriptions(connection: sa.Connection) -> list[Description]:
    """Return the descriptions of all classifiers and challenges, in alphabetical order."""
    return [_with_changes(connection, each) for each in _first_descriptions(connection)]


def _first_descriptions(connection):
    """Return the original descriptions, in alphabetical order."""
    descriptions = [Description(*row) for row in connection.execute(sa.select(classifier_table))]
    with_entries = set(connection.execute(_WITH_ENTRIES).scalars())
    if odd := with_entries ^ {description.classifier for description in descriptions}:
        what = "classifiers without entries, or entries without classifier"
        raise damage(f"{what}: {sorted(odd, key=str)[:3]}")
    return sorted(descriptions)


def entries(description: Description, *conditions: Any) -> sa.Select:
    """Return a statement that selects entries of a classifier with the fields of `Entry`."""
    columns = [batch_table.c[name] for name in Entry._fields]
    classifier = batch_table.c.classifier == description.classifier
    return sa.select(*columns).where(classifier, *conditions)


def last_entry(connection: sa.Connection, description: Description) -> Entry:
    """Return the last entry of a classifier, or raise an error if the chain's end is damaged."""
    classifier, columns = description.classifier, batch_table.c
    query = entries(description).order_by(columns.entry.desc()).limit(2)
    rows = connection.execute(query).all()[::-1]
    # The last entry is found through the index of the primary key. SQLite finds its hash through
    # another index, which contains all selected columns.
    query = sa.select(columns.entry, columns.hash).where(columns.classifier == classifier)
    end = connection.execute(query.order_by(columns.entry.desc()).limit(1)).first()
    if not rows or end is None or (end.entry, end.hash) != (rows[-1].entry, rows[-1].hash):
        raise damage(f"the last entries of classifier {classifier!r}")
    if len(rows) == 1:
        check_chain(description.genesis, description.genesis, 0, rows, classifier)
    else:
        first = rows[0]
        check_chain(description.genesis, first.hash, first.entry, rows[1:], classifier)
    return Entry(*rows[-1])


def entries_after(
    connection: sa.Connection, description: Description, number: int
) -> Sequence[Any]:
    """Return the entries after a given number, each of them checked."""
    classifier, columns = description.classifier, batch_table.c
    last = last_entry(connection, description)
    if last.entry < number:
        raise damage(f"entries of classifier {classifier!r} that were there are missing")
    if last.entry == number:
        return []
    query = entries(description, columns.entry > number).order_by(columns.entry)
    rows = connection.execute(query).all()
    previous: Any = description.genesis
    if number:
        query = entries(description, columns.entry == number).with_only_columns(columns.hash)
        previous = connection.execute(query).scalar()
    check_chain(description.genesis, previous, number, rows, classifier)
    end = rows[-1].entry if rows else number
    if end != last.entry:
        raise damage(f"entry {end + 1} of classifier {classifier!r} is missing")
    return rows


def _moments(timestamps):
    in_utc = [text.removesuffix("Z") for text in timestamps]
    return np.array(in_utc, dtype="datetime64[us]")


# Notes about alarms


def read_notes(connection: sa.Connection, table: Any, description: Description) -> Sequence[Any]:
    """Return the notes of a classifier in a table, each of them checked."""
    query = sa.select(table).where(table.c.classifier == description.classifier)
    rows = connection.execute(query.order_by(table.c.number)).all()
    previous = description.genesis
    for number, row in enumerate(rows, 1):
        if row.number != number or row.hash != digest(description.genesis, previous, *row[1:-1]):
            what = table.name.removeprefix("bayescm_")
            raise damage(f"entry {number} of the {what} of classifier {description.classifier!r}")
        previous = row.hash
    return rows


def _append_notes(connection, table, description, rows, fields):
    """Append notes, each with a hash of itself and of the previous one."""
    previous = rows[-1].hash if rows else description.genesis
    fixed = {"classifier": description.classifier, "recorded_at": timestamp(datetime.now(UTC))}
    names = [column.name for column in table.c]
    for number, note in enumerate(fields, len(rows) + 1):
        values = dict.fromkeys(names) | fixed | {"number": number} | note
        hashed = [values[name] for name in names[1:-1]]
        previous = values["hash"] = digest(description.genesis, previous, *hashed)
        connection.execute(table.insert(), values)


def _due_attempt(rows, alarm, hook, names):
    """Return the number of the delivery attempt that is due now, or None."""
    last = None
    for row in rows:
        key = row.batch_id, row.rule, current_measure(row.measure, names)
        if key == alarm and row.hook == hook:
            last = row
    if last is None:
        return 1
    # An attempt without an outcome may have succeeded: its process died or is still sending.
    if last.outcome != FAILED or not isinstance(last.next_try, str):
        return None
    return int(last.attempt) + 1 if last.next_try <= timestamp(datetime.now(UTC)) else None


# Users of a ledger


def ledger_of(store: Any, *, create: bool = True) -> Ledger:
    """Return the ledger of a store, or the given ledger itself."""
    return store if isinstance(store, Ledger) else Ledger(store, create=create)


class LedgerClient:
    """Base class for one classifier or challenge in a ledger, usable as a context manager."""

    def __init__(self, store: Any, name: str):
        self.ledger, self._name = ledger_of(store), name

    def __repr__(self):
        return f"{type(self).__name__}({self.ledger!r}, {self._name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Close the connections to the store."""
        self.ledger.close()
