"""Alarms are handed over, each at most once."""

from typing import Any

import pandas as pd

from bayescm.online.acting.hooks import Hook
from bayescm.online.chain import digest
from bayescm.online.encoding import check_name
from bayescm.online.monitor import BaseMonitor
from bayescm.validate import check_is

_KEY = ("batch_id", "rule", "measure")


def notify(monitor: BaseMonitor, *hooks: Hook, since: Any = None, **rules: Any) -> pd.DataFrame:
    """
    Hand the alarms that nobody has acknowledged to hooks, each alarm to each hook at most once.

    That an alarm is about to be handed over is recorded in the store first. So however often this
    is called, by however many processes, a hook gets no alarm twice; if it fails for good (after
    its retries), or the process dies on the way, the alarm is not handed over again, but stays
    among `Monitor.alarms`.

    Parameters
    ----------
    monitor : Monitor or ForecastMonitor
    *hooks : Hook
        See `to_url`, `to_command`, `to_log` and `Hook`.
    since : datetime, datetime64 or str, optional
        Only alarms raised by batches from this moment on.
    **rules
        ``rate``, ``floor``, ``reference`` and ``horizon``; see `alarms`.

    Returns
    -------
    DataFrame
        What was handed over now: the columns of `Monitor.alarms`, ``hook``, and ``problem``, empty
        where all went well.

    Raises
    ------
    TypeError
        If something is not a hook.

    Examples
    --------
    >>> import bayescm as bcm
    >>> monitor = bcm.online.Monitor("sqlite://", "spam filter", measures=["recall"])
    >>> for day, tp in enumerate([45, 44, 46, 45, 20]):
    ...     batch = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
    ...     _ = monitor.add(day, batch, at=f"2026-01-0{day + 1}")
    >>> told = Hook("print", lambda alarm: print(alarm["batch_id"], alarm["rule"]))
    >>> len(notify(monitor, told))
    4 change
    4 batch
    2
    >>> len(notify(monitor, told))
    0
    """
    for hook in hooks:
        todo = "pass bcm.online.to_url(...), to_command(...), to_log() or Hook(name, function)"
        check_is(hook, Hook, "a hook", "an online.Hook", todo)
        check_name(hook.name, "the name of a hook")
    found = monitor.alarms(since=since, new=True, **rules)
    parts = [found[:0].assign(hook="", problem="")]
    for hook in hooks:
        parts += [_handed(monitor, hook, found[place : place + 1]) for place in range(len(found))]
    return pd.concat([each for each in parts if len(each)] or parts, ignore_index=True)


def _handed(monitor, hook, alarm):
    """Hand an alarm over, if nobody has; return it with what went wrong, or nothing."""
    # Recorded before it is handed over: a process that dies loses an alarm, and doubles none.
    mine = monitor.ledger.record_deliveries(monitor.classifier, alarm, hook.name)
    said = [_call(hook, monitor.classifier, row) for row in mine.to_dict("records")]
    return mine.assign(hook=hook.name, problem=said)


def _call(hook, classifier, row):
    key = {each: str(row[each]) for each in _KEY}
    alarm = {
        "id": digest(classifier, *key.values()),
        "classifier": classifier,
        **key,
        "at": _time(row["at"]),
        "since": _time(row["since"]),
        "value": float(row["value"]),
        "threshold": float(row["threshold"]),
    }
    try:
        hook.call(alarm)
    except Exception as problem:  # a hook is anybody's, and the others must still be called
        return str(problem) if isinstance(problem, OSError) else repr(problem)
    return ""


def _time(moment):
    return None if pd.isna(moment) else f"{pd.Timestamp(moment).isoformat()}Z"
