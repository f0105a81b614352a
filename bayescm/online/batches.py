"""The batches of one classifier as evidence: those in force, in the order of time."""

import json
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import as_counts
from bayescm.online.store.chain import Entry
from bayescm.online.store.entries import Entries
from bayescm.online.store.ledger import Ledger
from bayescm.online.store.rows import instant
from bayescm.validate import fail

ORDERS = ("at", "recorded_at")


class Batches:
    """
    The batches of one classifier in a ledger; what was read once is not read again.

    Parameters
    ----------
    ledger : Ledger
    classifier : str
    order : {"at", "recorded_at"}
        The order of the steps: that of the times of observation, or of arrival.
    holds : {"predicted", "bin"}
        The dim of its batches beside ``actual``.
    """

    def __init__(
        self, ledger: Ledger, classifier: str, order: str = "at", holds: str = "predicted"
    ):
        self._ledger, self._classifier, self.order = ledger, classifier, order
        self._holds = holds
        self._entries: Entries | None = None
        self._template: xr.DataArray | None = None

    def labels(self) -> xr.DataArray:
        """
        Return zero counts with the labels of the classifier, which never change.

        Raises
        ------
        ValueError
            If there are no batches yet.
        """
        if self._template is None:
            template = self._ledger.empty(self._classifier)
            if self._holds not in template.dims:
                what = f"{self._classifier!r} holds other batches"
                todo = "open it by online.opened(store, classifier)"
                raise fail(what, template.dims, f"(actual, {self._holds})", todo)
            self._template = template
        return self._template

    def known(self) -> xr.DataArray | None:
        """Return zero counts with the labels of the classifier, or None where it has no batch."""
        new = self._template is None and self._classifier not in self._ledger.classifiers()
        return None if new else self.labels()

    def last(self) -> Entry:
        """Return the last entry, which has the sums of all."""
        return self._ledger.last(self._classifier)

    def in_force(self) -> xr.DataArray:
        """
        Return the batches that were not corrected, in their order.

        Returns
        -------
        DataArray, dims (step, actual, predicted)
            Counts, with coords ``batch_id``, ``at`` and ``recorded_at`` along ``step``.

        Raises
        ------
        ValueError
            If there are no batches yet, or the ledger is damaged.
        """
        self.labels()
        entries = self._read()
        return self._labelled(entries, order_of(entries, self.order), 0)

    def recent(self, since: Any, before: int) -> tuple[xr.DataArray, int, np.ndarray] | None:
        """
        Return the batches since a moment and some before it, without reading all.

        Parameters
        ----------
        since : datetime, datetime64 or str
        before : int
            How many batches before that moment are wanted too.

        Returns
        -------
        DataArray
            As of `in_force`; ``step`` is the place of a batch among all of them.
        int
            How many of them are before the moment.
        ndarray, shape (C, C)
            The sum of all batches in force that are earlier than these.

        None is returned where it takes the whole ledger: fractional counts have no exact sums, and
        only the times of observation are sought for.
        """
        if self.order != "at":
            return None
        entries, last = self._ledger.recent(self._classifier, since, before)
        self.labels()  # which raises where there is no batch
        if last is None or last.total is None:
            return None
        order = order_of(entries, "at")
        moment = np.datetime64(instant(since).replace(tzinfo=None), "us")
        first = int(np.searchsorted(entries.at[order], moment))
        order = order[max(0, first - before) :]
        counts = self._labelled(entries, order, last.batches - len(order))
        earlier = np.array(json.loads(last.total)) - counts.values.sum(axis=0)
        return counts, min(first, before), earlier

    def _labelled(self, entries, order, start):
        template = self.labels()
        coords = {
            **template.coords,
            "step": np.arange(start, start + len(order)),
            "batch_id": ("step", entries.batch_id[order].astype(str)),
            "at": ("step", entries.at[order]),
            "recorded_at": ("step", entries.recorded_at[order]),
        }
        dims = ["step", *template.dims]
        return xr.DataArray(entries.cells[order], coords, dims, "counts", template.attrs)

    def _read(self):
        """Return all entries; a thread that finds another one reading waits for it."""
        with self._ledger.alone():
            known = self._entries
            last = 0 if known is None else int(known.entry[-1])
            new = self._ledger.read(self._classifier, after=last)
            if known is None:
                self._entries = new
            elif len(new.entry):
                pairs = zip(known, new, strict=True)
                self._entries = Entries(*(np.concatenate(pair) for pair in pairs))
            return self._entries


def one_batch(evidence: xr.DataArray, *, may_be_empty: bool) -> xr.DataArray:
    """Return the canonical counts of a batch, or raise where it is not a single table."""
    counts = as_counts(evidence)
    if counts.ndim != 2:
        todo = "sum over the other dims, or add each table by itself"
        raise fail("a batch must be a single table", counts.dims, "(actual, predicted)", todo)
    if not counts.values.any() and not may_be_empty:
        todo = "leave it out, or pass corrects= to replace an earlier batch"
        raise fail("the batch has no examples", 0, "at least one example", todo)
    return counts


def order_of(entries: Entries, order: str) -> np.ndarray:
    """Return the indices of the entries in force, in one of the `ORDERS`."""
    corrects = entries.corrects.tolist()
    corrected = {each for each in corrects if each is not None}
    kept = np.array([each not in corrected for each in entries.batch_id.tolist()], dtype=bool)
    place = entries.entry
    if order == "recorded_at" and corrected:  # a correction takes the place of what it corrects
        places: dict = {}
        for name, number, old in zip(entries.batch_id, entries.entry, corrects, strict=True):
            places[name] = places.get(old, number)
        place = np.array(list(places.values()))
    index = np.flatnonzero(kept)
    keys = (entries.entry[index], entries.at[index]) if order == "at" else (place[index],)
    return index[np.lexsort(keys)]
