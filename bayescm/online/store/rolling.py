"""Ledgers that keep the sums of what lies long back: a new one is made, and none is changed."""

import json
import os
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

from bayescm.online.store import entries as read
from bayescm.online.store.chain import head, next_entry
from bayescm.online.store.copies import check_whole, new_file
from bayescm.online.store.ledger import Ledger, ledger_of
from bayescm.online.store.rows import instant, timestamp
from bayescm.online.store.schema import batches, classifiers
from bayescm.validate import check_choice

_LENGTHS = {"day": 10, "month": 7, "year": 4}  # of what is told of a moment, such as 2026-01


def roll_up(
    store: str | os.PathLike | Ledger, path: str | os.PathLike, *, before: Any, by: str = "month"
) -> pd.DataFrame:
    """
    Make a new ledger in which early batches are summed, one for each day, month or year.

    The posterior of all batches is the same to the last digit. The old ledger is not touched: keep
    it, or a backup of it, as long as somebody may ask for a single batch.

    Parameters
    ----------
    store : str, path or Ledger
    path : str or path
        A new file. It is a ledger; `restore` brings it to PostgreSQL.
    before : datetime, datetime64 or str
        Batches of before this moment are summed, by their time of observation; without a time zone
        it is taken as UTC.
    by : {"day", "month", "year"}, default "month"
        What is one batch in the new ledger, in UTC.

    Returns
    -------
    DataFrame
        What `verify` says of the new ledger; ``made_of``, the last hash of the old chain, and
        ``rolled_up``, how many batches were summed.

    Raises
    ------
    ValueError
        If there is a file of that name, or the ledger is damaged.

    Notes
    -----
    Summed are the batches in force; those that were corrected are left out, and so are
    acknowledgements of alarms. ``forgetting`` and ``window`` count batches, so that they
    give the same only where they do not reach what was summed. The names of summed batches are
    gone: one of them that is sent again would count twice. ``recorded_at`` is the time of the new
    ledger, in the old order.

    Examples
    --------
    >>> import tempfile
    >>> import bayescm as bcm
    >>> ledger = Ledger("sqlite://")
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> for day in ("2025-12-30", "2025-12-31", "2026-01-01"):
    ...     added = ledger.record("spam filter", day, counts, at=day)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = roll_up(ledger, f"{folder}/new.db", before="2026-01-01")
    >>> found[["entries", "rolled_up"]].values.tolist()
    [[2, 2]]
    """
    moment, length = timestamp(instant(before)), _LENGTHS[check_choice("by", by, list(_LENGTHS))]
    told = []
    with new_file(path) as part:
        opened = ledger_of(store, create=False)
        with Ledger(part) as copy:
            with (
                opened.transaction("roll up the ledger") as reading,
                copy.transaction("roll up the ledger", write=True) as writing,
            ):
                for row in reading.execute(sa.select(classifiers)).mappings().all():
                    told.append(_one(reading, writing, dict(row), moment, length))
            found = check_whole(copy)
    names = ["classifier", "made_of", "rolled_up"]
    return found.merge(pd.DataFrame(told, columns=names), on="classifier")


def _one(reading, writing, described, moment, length):
    """Write the chain of one classifier anew; return its name, the old head, and how many."""
    who, start = described["classifier"], head(described["classifier"], described["labels"])
    rows = read.after(reading, who, start, 0)
    corrected = {row.corrects for row in rows}
    kept = [row for row in rows if row.batch_id not in corrected]
    early = sorted((row for row in kept if row.at < moment), key=lambda row: (row.at, row.entry))
    summed, count = [], 0
    for period, some in groupby(early, lambda row: row.at[:length]):
        each = list(some)
        count += len(each) if len(each) > 1 else 0
        summed.append(_summed(period, each))
    late = [(row.batch_id, row.at, row.cells) for row in kept if row.at >= moment]
    now, last, new = timestamp(datetime.now(UTC)), None, []
    for batch_id, at, cells in [*summed, *late]:
        given = {"batch_id": batch_id, "at": at, "cells": cells, "corrects": None}
        last = next_entry(start, last, given | {"recorded_at": now}, None)
        new.append(last._asdict() | {"classifier": who})
    writing.execute(classifiers.insert(), described)
    if new:
        writing.execute(batches.insert(), new)
    return who, rows[-1].hash if rows else None, count


def _summed(period, rows):
    """Return the name, the time and the cells of the sum of some batches; one stays as it is."""
    latest = rows[-1]
    if len(rows) == 1:
        return latest.batch_id, latest.at, latest.cells
    cells = np.sum([np.array(json.loads(row.cells)) for row in rows], axis=0)
    return (
        f"{period} ({len(rows)} batches, last {latest.batch_id})"[:500],
        latest.at,
        json.dumps(cells.tolist()),
    )
