"""What counts of a classifier's batches now."""

import json
import math
import warnings
from typing import Any

import numpy as np
import xarray as xr

from bayescm.online.batches import Batches
from bayescm.online.store.rows import instant, timestamp
from bayescm.validate import check_whole

_END_OF_TIME = "9999-12-31"
_FORGOTTEN, _MANY = 40.0, 20_000  # e-folds until nothing is left, and batches that are soon read


def in_force(batches: Batches, *, window: int | None, forgetting: float) -> xr.DataArray:
    """Return the evidence in force: the sums of all, or what is not yet forgotten."""
    from bayescm.online.series import remembered

    if window is None and forgetting == 1:
        total = batches.last().total  # which finds the labels too
        if total is not None:
            return batches.labels().copy(data=np.array(json.loads(total)))
    wanted = (
        window or math.ceil(_FORGOTTEN / -math.log(forgetting)) if forgetting < 1 or window else 0
    )
    recent = batches.recent(_END_OF_TIME, wanted) if 0 < wanted < _MANY else None
    found = batches.in_force() if recent is None else recent[0]
    latest = remembered(found, window=window, forgetting=forgetting).isel(step=-1)
    return latest.drop_vars(["step", "batch_id", "at", "recorded_at"])


def latest(
    batches: Batches,
    last: int | None,
    *,
    window: int | None = None,
    forgetting: float = 1.0,
    of: str = "parameter",
) -> tuple[xr.DataArray, Any]:
    """
    Return the latest batches, and the sum of all before them that counts with them.

    Parameters
    ----------
    batches : Batches
    last : int or None
        How many are wanted; there may be more where those before them matter.
    window, forgetting
        See `accumulate`.
    of : str
        The next batch is by default as large as all in force together: then all are needed.
    """
    if last is None:
        return batches.in_force(), 0
    check_whole("last", last, 1, "batches", 200)
    found = None
    if forgetting == 1 and of == "parameter":
        found = batches.recent(_END_OF_TIME, int(last) + (window or 0))
    if found is None:
        return batches.in_force(), 0
    counts, _, earlier = found
    return counts, 0 if window else earlier


def warn_if_late(order: str, batch_id: str, at: Any, latest: str) -> None:
    """Warn where a batch that was just recorded is earlier than the latest that was there."""
    if timestamp(instant(at)) < latest and order == "at":
        warnings.warn(
            f"Batch {batch_id!r} is earlier than the latest, which is of {latest}. It is recorded; "
            "the history is in order of time, so what was reported since then may change.",
            UserWarning,
            stacklevel=3,
        )
