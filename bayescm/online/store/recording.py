"""What has to hold before a batch is recorded: its labels, its name, what it corrects."""

import json
import warnings
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
import xarray as xr

from bayescm.online.store import entries as read
from bayescm.online.store import statements as ask
from bayescm.online.store.rows import described, instant, timestamp
from bayescm.validate import fail, suggest

_BACKWARDS = timedelta(seconds=1)  # clocks of several machines differ by less


def new_classifier(connection: sa.Connection, classifier: str, counts: xr.DataArray) -> str:
    """Record the labels of a new classifier, those of its first batch; return them as text."""
    labels = json.dumps(described(counts))
    ask.NEW_CLASSIFIER(connection, classifier=classifier, labels=labels)
    return labels


def is_there(connection: sa.Connection, classifier: str, new: dict[str, Any], last: Any) -> bool:
    """Say whether the same batch is there already; refuse another one of that name."""
    old = read.batch(connection, classifier, new["batch_id"])
    if old is None:
        if last is not None:
            read.check_absent(connection, classifier, new["batch_id"], last.entry)
        return False
    what = f"batch {new['batch_id']!r} is in the ledger with"
    if json.loads(old.cells) != json.loads(new["cells"]):
        raise fail(
            f"{what} other counts, {old.cells}",
            new["cells"],
            "the same counts again, or an id that is not taken",
            f"take a new batch_id, with corrects={new['batch_id']!r} if the old batch was wrong",
        )
    if old.corrects != new["corrects"]:
        allowed = f"corrects={old.corrects!r}, as recorded"
        raise fail(f"{what} another correction", new["corrects"], allowed, "take a new batch_id")
    if new["at"] not in (None, old.at):
        todo = f"take a new batch_id, with corrects={new['batch_id']!r} if the time was wrong"
        raise fail(f"{what} another time", new["at"], f"at={old.at!r}, or none", todo)
    return True


def corrected(connection: sa.Connection, classifier: str, new: dict[str, Any]) -> Any:
    """Return the entry that a batch corrects, or None."""
    if new["corrects"] is None:
        return None
    old = read.batch(connection, classifier, new["corrects"])
    if old is None:
        known = read.some(connection, classifier)
        allowed = f"a recorded batch, such as {known[-3:]}" if known else "a recorded batch"
        todo = suggest(new["corrects"], known) if known else "add it as a batch"
        raise fail("no batch with this id to correct", new["corrects"], allowed, todo)
    if (by := read.correction(connection, classifier, new["corrects"])) is not None:
        todo = f"correct {by!r}, which replaced it"
        raise fail(
            "this batch has already been corrected",
            new["corrects"],
            "a batch that still counts",
            todo,
        )
    return old


def warn_of_clock(batch_id: str | None, now: datetime, last: Any) -> None:
    """Warn where the clock shows an earlier time than when the entry before was recorded."""
    if now + _BACKWARDS >= instant(last.recorded_at):
        return
    warnings.warn(
        f"The clock runs backwards: it shows {timestamp(now)} as batch {batch_id!r} arrives, and "
        f"showed {last.recorded_at} when batch {last.batch_id!r} did. The order of arrival is kept "
        "and takes that time; pass at= where the time of a batch matters.",
        UserWarning,
        stacklevel=4,
    )
