"""What the ledger notes of alarms: who has seen them, and to whom they were handed."""

import json
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from bayescm.online.store import entries as read
from bayescm.online.store import statements as ask
from bayescm.online.store.chain import digest, head
from bayescm.online.store.database import Database
from bayescm.online.store.rows import timestamp
from bayescm.online.store.schema import acknowledgements, deliveries
from bayescm.validate import fail, suggest

_ALARM = ["batch_id", "rule", "measure"]


class Notes(Database):
    """A database with the notes of alarms; each is known by its batch, rule and measure."""

    def classifiers(self) -> list[str]:
        """Return the names of the classifiers, in alphabetical order."""
        return [name for name, known in self._described().items() if "classifiers" not in known]

    def challenges(self) -> dict[str, dict[str, Any]]:
        """Return labels, positive class and classifiers of the challenges, by their names."""
        return {name: known for name, known in self._described().items() if "classifiers" in known}

    def _described(self):
        with self.transaction("read the ledger") as connection:
            return {name: json.loads(each) for name, each in read.described(connection).items()}

    def acknowledge(self, classifier: str, alarms: pd.DataFrame, note: str = "") -> int:
        """
        Record that alarms have been seen.

        Parameters
        ----------
        classifier : str
        alarms : DataFrame
            With the columns ``batch_id``, ``rule`` and ``measure``.
        note : str, optional

        Returns
        -------
        int
            How many had not been acknowledged before.
        """
        keys = [tuple(map(str, row)) for row in alarms[_ALARM].values]
        with self.transaction("acknowledge alarms", write=True) as connection:
            start, known = self._noted(connection, acknowledgements, classifier)
            seen = {(each.batch_id, each.rule, each.measure) for each in known}
            new = [(*key, note) for key in dict.fromkeys(keys) if key not in seen]
            _append(connection, acknowledgements, classifier, start, known, new)
        return len(new)

    def seen(self, classifier: str) -> set[tuple[str, str, str]]:
        """Return the batch, the rule and the measure of every alarm that was acknowledged."""
        with self.transaction("read the ledger") as connection:
            start = self._start(connection, classifier)
            rows = (
                [] if start is None else read.noted(connection, acknowledgements, classifier, start)
            )
        return {(row.batch_id, row.rule, row.measure) for row in rows}

    def acknowledged(self, classifier: str) -> pd.DataFrame:
        """Return the acknowledgements of alarms, in the order in which they were recorded."""
        return self._notes(acknowledgements, classifier)

    def claim(self, classifier: str, alarms: pd.DataFrame, hook: str) -> pd.DataFrame:
        """
        Record that alarms are about to be handed to a hook, before they are.

        Parameters
        ----------
        classifier : str
        alarms : DataFrame
            With the columns ``batch_id``, ``rule`` and ``measure``.
        hook : str
            Its name.

        Returns
        -------
        DataFrame
            Those of the alarms that nobody had claimed for this hook: they are the caller's.
        """
        keys = [(*map(str, row), hook) for row in alarms[_ALARM].values]
        there = self.claimed(classifier)
        there = set(map(tuple, there[[*_ALARM, "hook"]].values.tolist()))
        if there.issuperset(keys):  # most often, and then nothing is written
            return alarms[:0]
        with self.transaction("record what is handed over", write=True) as connection:
            start, known = self._noted(connection, deliveries, classifier)
            seen = {(each.batch_id, each.rule, each.measure, each.hook) for each in known}
            new = [key for key in dict.fromkeys(keys) if key not in seen]
            _append(connection, deliveries, classifier, start, known, new)
        mine = [key in set(new) and key not in keys[:place] for place, key in enumerate(keys)]
        return alarms[mine]

    def claimed(self, classifier: str) -> pd.DataFrame:
        """Return which alarms were handed to which hook, in the order in which they were."""
        return self._notes(deliveries, classifier)

    def _noted(self, connection, table, classifier):
        """Return what stands before the notes of a classifier, and these, for a new one."""
        start = self._start(connection, classifier, lock=True)
        if start is None:
            raise self._unknown(classifier)
        return start, read.noted(connection, table, classifier, start)

    def _notes(self, table, classifier):
        columns = [
            each.name for each in table.c if each.name not in ("classifier", "number", "hash")
        ]
        with self.transaction("read the ledger") as connection:
            start = self._start(connection, classifier)
            rows = [] if start is None else read.noted(connection, table, classifier, start)
        return pd.DataFrame(
            [[getattr(row, each) for each in columns] for row in rows], columns=columns
        )

    def _start(self, connection, classifier, *, lock=False):
        """Return what stands before the first entry of a classifier, or None where it is new."""
        if lock:
            read.lock(connection, classifier)
        labels = self._labels.get(classifier) or read.labels(connection, classifier)
        return None if labels is None else head(classifier, labels)

    def _end(self, connection, classifier):
        """Return the labels of a classifier as text and its last entry, or None where it is new."""
        labels = self._labels.get(classifier) or read.labels(connection, classifier)
        if labels is None:
            return None, None
        last = read.end(connection, classifier, head(classifier, labels))
        self._labels[classifier] = labels  # which never change, and the hash is theirs too
        return labels, last

    def _unknown(self, classifier):
        known = self.classifiers()
        todo = suggest(classifier, known) if known else "add a batch first"
        allowed = known[:20] or "a recorded one"
        return fail("no batches of this classifier", classifier, allowed, todo)


def _append(connection, table, classifier, start, known, new):
    """Append notes, each with a hash of itself and the one before."""
    previous = known[-1].hash if known else start
    now = timestamp(datetime.now(UTC))
    names = [each.name for each in table.c]
    for number, key in enumerate(new, len(known) + 1):
        previous = digest(start, previous, number, *key, now)
        values: tuple[Any, ...] = (classifier, number, *key, now, previous)
        ask.NEW_NOTE[table.name](connection, **dict(zip(names, values, strict=True)))
