"""
The rule `silence`: no batch arrives within a given time.

The rule fires once more than that time has passed since the last batch arrived, and ends with the
next batch. Its incident is named after the last batch and is separate from other incidents.

The rule uses times only and takes no share of the false-alarm rate of the other rules. If batches
arrive on a schedule, a limit above the longest gap of the schedule never gives a false alarm. If
they arrive at random (a Poisson process with mean gap m), each gap exceeds the limit with
probability exp(-limit / m). Within H batches,

    P(any false alarm)  <=  H exp(-limit / m),      limit  >=  m log(H / rate).

With the defaults of 1,000 batches and a rate of 0.05, the limit is 9.9 mean gaps.
"""

from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import fail

SILENCE = "silence"  # name of the rule
BATCHES = "batches"  # reported instead of the name of a measure


def check_silence(silence: Any) -> np.timedelta64:
    """
    Return the longest time without a batch.

    Parameters
    ----------
    silence : str or timedelta
        Duration with a unit, such as ``"26h"``, ``"1D"`` or ``"90min"``.

    Raises
    ------
    ValueError
        If the duration is invalid or not positive, or has no unit.
    TypeError
        If the argument is neither a string nor a timedelta.
    """
    todo = "pass `silence='26h'`"
    if isinstance(silence, bool) or not isinstance(silence, str | timedelta | np.timedelta64):
        raise fail(
            "`silence` must be a time with its unit, e.g. 26h or 1D", silence, "", todo, TypeError
        )
    try:
        if isinstance(silence, str) and silence.strip().replace(".", "").isdigit():
            raise ValueError
        limit = pd.Timedelta(silence)
    except ValueError:
        raise fail(
            "`silence` must be a time with its unit, e.g. 26h or 1D", silence, "", todo
        ) from None
    if pd.isna(limit) or limit <= pd.Timedelta(0):
        raise fail("`silence` must be more than 0", silence, "", todo)
    return limit.to_timedelta64().astype("<m8[us]")


def silences(
    recorded_at: np.ndarray, silence: Any, now: np.datetime64
) -> list[tuple[int, np.datetime64, np.datetime64, bool]]:
    """
    Return the periods without a batch that were too long.

    Parameters
    ----------
    recorded_at : ndarray of datetime64
        Arrival times of the batches, in order.
    silence
        See `check_silence`.
    now : datetime64
        Current time.

    Returns
    -------
    list of tuple
        For each period: the index of the last batch before it, the time when the rule fired, the
        time when the next batch arrived (or `now`), and whether the rule is still on.
    """
    limit = check_silence(silence)
    ends = np.append(recorded_at[1:], np.maximum(now, recorded_at[-1:]))
    index = np.flatnonzero(ends - recorded_at > limit).tolist()
    last = len(recorded_at) - 1
    return [(i, recorded_at[i] + limit, ends[i], i == last) for i in index]


def sentence_of(last: np.datetime64, end: np.datetime64, limit: np.timedelta64, on: bool) -> str:
    """
    Return the sentence of an alarm.

    Examples
    --------
    >>> last, end = np.datetime64("2026-01-05T06:00"), np.datetime64("2026-01-07T06:00")
    >>> sentence_of(last, end, np.timedelta64(26, "h"), True)
    'no batch for more than 26 h, since 2026-01-05 06:00'
    >>> sentence_of(last, end, np.timedelta64(26, "h"), False)
    'no batch for 48 h (more than 26 h), since 2026-01-05 06:00'
    """
    since = f"since {pd.Timestamp(last):%Y-%m-%d %H:%M}"
    if on:
        return f"no batch for more than {_in_words(limit)}, {since}"
    return f"no batch for {_in_words(end - last)} (more than {_in_words(limit)}), {since}"


def _in_words(time):
    """Return a duration in days, hours, minutes or seconds."""
    seconds = time / np.timedelta64(1, "s")
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= (size if unit != "d" else 3 * size):
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def hours(time: np.timedelta64) -> float:
    """Return a duration in hours."""
    return float(time / np.timedelta64(1, "h"))
