"""The store of an online evaluation: an append-only ledger of batches, in SQLite or PostgreSQL."""

import json
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sqlalchemy as sa
import xarray as xr

from bayescm.evidence import positive
from bayescm.online.engine import begin, connect, explain, parse, shown
from bayescm.online.rows import cells, instant, name, timestamp, zeros
from bayescm.online.schema import batches, classifiers, prepare
from bayescm.validate import fail, suggest

# Statements are built once: a record is a few milliseconds, and building them took as long.
_B = batches.c
_MINE = _B.classifier == sa.bindparam("who")
_LABELS = sa.select(classifiers.c.labels).where(classifiers.c.classifier == sa.bindparam("who"))
_LABELS_LOCKED = _LABELS.with_for_update()
_NEXT = sa.select(sa.func.coalesce(sa.func.max(_B.entry), 0) + 1).where(_MINE)
_BATCH = sa.select(_B.at, _B.cells, _B.corrects).where(_MINE, _B.batch_id == sa.bindparam("id"))
_CORRECTION = sa.select(_B.batch_id).where(_MINE, _B.corrects == sa.bindparam("id"))
_AFTER = (
    sa.select(_B.entry, _B.batch_id, _B.at, _B.cells, _B.corrects)
    .where(_MINE, _B.entry > sa.bindparam("after"))
    .order_by(_B.entry)
)
_ENTER = batches.insert().values(entry=_NEXT.scalar_subquery())


class Entries(NamedTuple):
    """Entries of one classifier in the order in which they were recorded, as arrays."""

    entry: np.ndarray
    batch_id: np.ndarray
    at: np.ndarray
    cells: np.ndarray
    corrects: np.ndarray


class Ledger:
    """
    An append-only ledger of confusion matrices, one entry for each batch of a classifier.

    What `record` has acknowledged stays: a process or machine that dies at any moment leaves every
    acknowledged batch in place and no partial one. There may be many writers. Nothing is ever
    changed or removed; a correction is a new entry that names the old one.

    Parameters
    ----------
    store : str
        ``sqlite:///eval.db`` (also as a plain path), or ``postgresql://user@host/database``.
    create : bool, default True
        Whether to create a ledger if there is none.
    timeout : float, default 30
        Seconds to wait for a database that another process has locked.

    Raises
    ------
    ValueError
        If the address is not one of the two kinds, or the store is not a ledger or has a newer
        version.
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

    def __init__(self, store: str, *, create: bool = True, timeout: float = 30.0):
        self._url = parse(store)
        self._engine = connect(self._url, create=create, timeout=timeout)
        self._process = os.getpid()
        self._closing = weakref.finalize(self, _close, self._engine, self._process)
        with self._plain_errors("open the ledger"):
            prepare(self._engine, create=create)

    def __repr__(self):
        return f"Ledger({shown(self._url)!r})"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Close the connections; the ledger opens them again when it is used."""
        self._engine.dispose()

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
            When the batch was evaluated; without a time zone it is taken as UTC. Now by default,
            or the time of the batch that is corrected.
        corrects : str or int, optional
            The batch that this one replaces. The old entry stays, but no longer counts.

        Returns
        -------
        bool
            True if it was recorded, False if the same batch was there already.

        Raises
        ------
        ValueError
            If the id is taken by different counts, the labels are not the classifier's, or the
            batch to correct is unknown or has already been corrected.
        OSError
            If the batch could not be stored. The ledger is intact and the same batch can be sent
            again: it is recorded once.
        """
        new = {
            "classifier": name(classifier, "classifier"),
            "batch_id": name(batch_id, "batch_id"),
            "corrects": None if corrects is None else name(corrects, "corrects"),
        }
        at = None if at is None else timestamp(instant(at))
        with self._begin(f"record batch {new['batch_id']!r}") as connection:
            new["cells"] = json.dumps(cells(counts, _labels(connection, new, counts), classifier))
            if _is_there(connection, new):
                return False
            now = timestamp(datetime.now(UTC))
            new["at"] = _corrected(connection, new, at) or now
            connection.execute(_ENTER, {**new, "who": new["classifier"], "recorded_at": now})
        return True

    def read(self, classifier: str, *, after: int = 0) -> Entries:
        """
        Return the entries of a classifier whose number is greater than `after`.

        Entries are numbered 1, 2, 3 ... for each classifier without gaps, in the order of their
        commits, so that a reader who has seen entry n has seen all before it.
        """
        with self._begin("read the ledger", write=False) as connection:
            rows = connection.execute(_AFTER, {"who": classifier, "after": after}).all()
        entry, batch_id, at, tables, corrects = zip(*rows, strict=True) if rows else [()] * 5
        return Entries(
            np.array(entry, dtype=np.int64),
            np.array(batch_id, dtype=object),
            np.array([each.rstrip("Z") for each in at], dtype="datetime64[us]"),
            np.array(json.loads(f"[{','.join(tables)}]")),
            np.array(corrects, dtype=object),
        )

    def empty(self, classifier: str) -> xr.DataArray:
        """
        Return zero counts with the labels of a classifier.

        Raises
        ------
        ValueError
            If the ledger has no batches of this classifier.
        """
        with self._begin("read the ledger", write=False) as connection:
            stored = connection.execute(_LABELS, {"who": classifier}).scalar()
        if stored is None:
            known = self.classifiers()
            todo = suggest(classifier, known) if known else "add a batch first"
            raise fail(
                "no batches of this classifier", classifier, known[:20] or "a recorded one", todo
            )
        return zeros(**json.loads(stored))

    def classifiers(self) -> list[str]:
        """Return the names of the classifiers, in alphabetical order."""
        query = sa.select(classifiers.c.classifier)
        with self._begin("read the ledger", write=False) as connection:
            return sorted(connection.execute(query).scalars())

    def table(self) -> pd.DataFrame:
        """Return every entry ever recorded, corrected ones and corrections too."""
        query = sa.select(batches, classifiers.c.labels).join(classifiers)
        with self._begin("read the ledger", write=False) as connection:
            result = connection.execute(query.order_by(_B.classifier, _B.entry))
            return pd.DataFrame(result.all(), columns=list(result.keys()))

    @contextmanager
    def _begin(self, doing: str, write: bool = True) -> Iterator[sa.Connection]:
        if self._process != os.getpid():  # a connection must not be carried across a fork
            self._engine.dispose(close=False)
            self._process = os.getpid()
        with self._plain_errors(doing), begin(self._engine, write=write) as connection:
            yield connection

    @contextmanager
    def _plain_errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (sa.exc.DBAPIError, sa.exc.TimeoutError) as problem:
            # "from None": the chained error would print the statement and its values.
            raise explain(problem, doing, self._url) from None


def _close(engine, process):
    """Close what this process has opened; the connections of a parent are not ours to close."""
    engine.dispose(close=process == os.getpid())


def _labels(connection, new, counts):
    """Return the labels of a classifier; a new one takes those of its first batch."""
    who = {"who": new["classifier"]}
    # The lock makes the writers of one classifier take turns, which numbers entries without gaps.
    stored = connection.execute(_LABELS_LOCKED, who).scalar()
    if stored is None:
        labels = {"labels": counts.indexes["actual"].tolist(), "positive": positive(counts)}
        row = {"classifier": new["classifier"], "labels": json.dumps(labels)}
        dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
        connection.execute(dialect.insert(classifiers).on_conflict_do_nothing(), row)
        stored = connection.execute(_LABELS_LOCKED, who).scalar()
    return json.loads(stored)


def _is_there(connection, new):
    """Say whether the same batch is there already; refuse another one of that name."""
    old = connection.execute(_BATCH, {"who": new["classifier"], "id": new["batch_id"]}).first()
    if old is None:
        return False
    if json.loads(old.cells) != json.loads(new["cells"]):
        raise fail(
            f"batch {new['batch_id']!r} is in the ledger with other counts, {old.cells}",
            new["cells"],
            "the same counts again, or an id that is not taken",
            f"take a new batch_id, with corrects={new['batch_id']!r} if the old batch was wrong",
        )
    if old.corrects != new["corrects"]:
        allowed = f"corrects={old.corrects!r}, as recorded"
        what = f"batch {new['batch_id']!r} is in the ledger with another correction"
        raise fail(what, new["corrects"], allowed, "take a new batch_id")
    return True


def _corrected(connection, new, at):
    """Return the time of a batch: its own, or that of the batch that it corrects, or None."""
    if new["corrects"] is None:
        return at
    key = {"who": new["classifier"], "id": new["corrects"]}
    old = connection.execute(_BATCH, key).first()
    if old is None:
        known = connection.execute(sa.select(_B.batch_id).where(_MINE), key).scalars().all()
        allowed = f"a recorded batch, such as {known[-3:]}" if known else "a recorded batch"
        todo = suggest(new["corrects"], known) if known else "add it as a batch"
        raise fail("no batch with this id to correct", new["corrects"], allowed, todo)
    if (by := connection.execute(_CORRECTION, key).scalar()) is not None:
        todo = f"correct {by!r}, which replaced it"
        raise fail(
            "this batch has already been corrected",
            new["corrects"],
            "a batch that still counts",
            todo,
        )
    return at or old.at
