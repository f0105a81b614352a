"""The store of an online evaluation: an append-only ledger of batches, in SQLite or PostgreSQL."""

import json
from datetime import UTC, datetime
from typing import Any, Self

import pandas as pd
import xarray as xr

from bayescm.online.store import entries as read
from bayescm.online.store import statements as ask
from bayescm.online.store.chain import Entry, head, next_entry
from bayescm.online.store.entries import Entries
from bayescm.online.store.notes import Notes
from bayescm.online.store.recording import corrected, is_there, new_classifier, warn_of_clock
from bayescm.online.store.rows import cells, empty, instant, name, timestamp


class Ledger(Notes):
    """
    An append-only ledger of confusion matrices, one entry for each batch of a classifier.

    What `record` has acknowledged stays: a process or machine that dies at any moment leaves every
    acknowledged batch in place and no partial one. There may be many writers, in threads and in
    processes. Nothing is ever changed or removed; a correction is a new entry that names the old
    one. Every entry carries a hash of itself and of the one before it, which is checked whenever it
    is read.

    Parameters
    ----------
    store : str or path
        ``sqlite:///eval.db`` (also as a plain path), ``postgresql://user@host/database`` or
        ``"host=... dbname=..."``.
    create : bool, default True
        Whether to create a ledger if there is none.
    timeout : float, default 30
        Seconds to wait for a database that another process has locked.

    Raises
    ------
    ValueError
        If the address is not one of the two kinds, or the store is not a ledger, is damaged or has
        a newer version.
    OSError
        If the database cannot be reached, is locked or full.

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
        Record a batch durably; returning is the acknowledgement.

        Parameters
        ----------
        classifier : str
            The classifier that the batch belongs to.
        batch_id : str or int
            Its name, unique for the classifier.
        counts : xarray.DataArray
            One matrix of canonical counts, dims ``(actual, predicted)``.
        at : datetime, datetime64 or str, optional
            When the batch was evaluated; without a time zone it is taken as UTC. The time of its
            arrival by default, or the time of the batch that is corrected.
        corrects : str or int, optional
            The batch that this one replaces. The old entry stays, but no longer counts.

        Returns
        -------
        bool
            True if it was recorded, False if the same batch was there already.

        Raises
        ------
        ValueError
            If the id is taken by different counts or times, the labels are not the classifier's,
            the batch to correct is unknown or has already been corrected, or the ledger is damaged.
        OSError
            If the batch could not be stored. The same batch can be sent again: it is recorded once.

        Warns
        -----
        UserWarning
            If the clock shows an earlier time than when the batch before was recorded.
        """
        return self.recorded(classifier, batch_id, counts, at=at, corrects=corrects)[0]

    def recorded(
        self,
        classifier: str,
        batch_id: str | int,
        counts: xr.DataArray,
        *,
        at: Any = None,
        corrects: str | int | None = None,
    ) -> tuple[bool, Entry | None]:
        """Do what `record` does; return also the entry before, or None where there is none."""
        who = name(classifier, "classifier")
        new = {
            "batch_id": name(batch_id, "batch_id"),
            "corrects": None if corrects is None else name(corrects, "corrects"),
            "at": None if at is None else timestamp(instant(at)),
        }
        with self.transaction(f"record batch {new['batch_id']!r}", write=True) as connection:
            read.lock(connection, who)
            labels, last = self._end(connection, who)
            labels = labels or new_classifier(connection, who, counts)
            new["cells"] = json.dumps(cells(counts, json.loads(labels), who))
            if is_there(connection, who, new, last):
                return False, last
            start, now = head(who, labels), datetime.now(UTC)
            old = corrected(connection, who, new)
            late = last is not None and timestamp(now) < last.recorded_at
            new["recorded_at"] = last.recorded_at if last and late else timestamp(now)
            new["at"] = new["at"] or (old.at if old else new["recorded_at"])
            entry = next_entry(start, last, new, old.cells if old else None)
            ask.NEW_BATCH(connection, classifier=who, **entry._asdict())
        if late:
            warn_of_clock(new["batch_id"], now, last)
        return True, last

    def read(self, classifier: str, *, after: int = 0) -> Entries:
        """
        Return the entries of a classifier whose number is greater than `after`.

        Entries are numbered 1, 2, 3 ... for each classifier without gaps, in the order of their
        commits, so that a reader who has seen entry n has seen all before it. Each is checked
        against its hash and the one before it, and that none is missing.

        Raises
        ------
        ValueError
            If an entry is damaged or missing.
        """
        with self.transaction("read the ledger") as connection:
            start = self._start(connection, classifier)
            return read.arrays(
                [] if start is None else read.after(connection, classifier, start, after)
            )

    def recent(self, classifier: str, since: Any, before: int) -> tuple[Entries, Entry | None]:
        """
        Return the latest entries: all that are needed to know the batches since a moment.

        Parameters
        ----------
        classifier : str
        since : datetime, datetime64 or str
        before : int
            How many batches in force before that moment are wanted too.

        Returns
        -------
        Entries
            The last ones, in the order in which they were recorded. Every batch in force since the
            moment is among them, and the latest of those before it.
        Entry or None
            The last of all, whose sums are those of everything.
        """
        moment = timestamp(instant(since))
        with self.transaction("read the ledger") as connection:
            labels, last = self._end(connection, classifier)
            if labels is None:
                return read.arrays([]), None
            start = head(classifier, labels)
            rows = read.since(connection, classifier, start, last.entry, moment, before)
        return read.arrays(rows), Entry(*rows[-1])

    def last(self, classifier: str) -> Entry:
        """
        Return the last entry of a classifier, which has the sums of all so far.

        Raises
        ------
        ValueError
            If the ledger has no batches of this classifier, or its end is damaged.
        """
        with self.transaction("read the ledger") as connection:
            last = self._end(connection, classifier)[1]
        if last is None:
            raise self._unknown(classifier)
        return Entry(*last)

    def empty(self, classifier: str) -> xr.DataArray:
        """
        Return zero counts with the labels of a classifier.

        Raises
        ------
        ValueError
            If the ledger has no batches of this classifier.
        """
        labels = self._labels.get(classifier)
        if labels is None:
            with self.transaction("read the ledger") as connection:
                labels = self._end(connection, classifier)[0]
        if labels is None:
            raise self._unknown(classifier)
        return empty(labels)

    def table(self) -> pd.DataFrame:
        """Return every entry ever recorded, corrected ones and corrections too."""
        columns = ["entry", "batch_id", "at", "cells", "corrects", "recorded_at", "hash"]
        frames = []
        with self.transaction("read the ledger") as connection:
            for each, labels in read.described(connection).items():
                rows = read.after(connection, each, head(each, str(labels)), 0)
                frame = pd.DataFrame(rows, columns=list(Entry._fields))[columns]
                frame.insert(0, "classifier", each)
                frames.append(frame.assign(labels=labels))
        empty = pd.DataFrame(columns=["classifier", *columns, "labels"])
        return pd.concat(frames, ignore_index=True) if frames else empty


def ledger_of(store: Any, *, create: bool = True) -> Ledger:
    """Return the ledger of a store, or the one that was passed."""
    return store if isinstance(store, Ledger) else Ledger(store, create=create)


class KeptInLedger:
    """What is kept in a ledger under a name: it is opened and closed with it."""

    def __init__(self, store: Any, called: str):
        self.ledger, self._called = ledger_of(store), called

    def __repr__(self):
        return f"{type(self).__name__}({self.ledger!r}, {self._called!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Close the connections to the store."""
        self.ledger.close()
