"""
Alarms are handed to hooks: a command, a URL, the log, a function, each alarm at most once.

`notify` records in the ledger what it is about to hand over, and then does it.
"""

import hmac
import json
import logging
import os
import shlex
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pandas as pd

from bayescm.online.chain import digest
from bayescm.online.encoding import check_name
from bayescm.online.monitor import Monitor
from bayescm.validate import check_is, check_whole, fail

_LOG = logging.getLogger("bayescm.online")
_RETRIED = (408, 425, 429)  # with every 5xx: what may go well later
_SHORTEST_SECRET = 16  # characters of a secret
_ALARM = ("batch_id", "rule", "measure")  # what an alarm is known by


@dataclass(frozen=True)
class Hook:
    """
    A recipient of alarms.

    Attributes
    ----------
    name : str
        By which the store knows the recipient. Another name is another recipient.
    call : callable
        Takes an alarm as a dict of what JSON knows: ``id``, ``classifier``, ``batch_id``, ``at``,
        ``since``, ``rule``, ``measure``, ``value``, ``threshold``. Raises where it could not be
        delivered.

    Examples
    --------
    >>> Hook("print", lambda alarm: print(alarm["rule"])).call({"rule": "floor"})
    floor
    """

    name: str
    call: Callable[[dict[str, Any]], None]


def notify(monitor: Monitor, *hooks: Hook, since: Any = None, **rules: Any) -> pd.DataFrame:
    """
    Hand the alarms that nobody has acknowledged to hooks, each alarm to each hook at most once.

    That an alarm is about to be handed over is recorded in the store first. So however often this
    is called, by however many processes, a hook gets no alarm twice; if it fails for good (after
    its retries), or the process dies on the way, the alarm is not handed over again, but stays
    among `Monitor.alarms`.

    Parameters
    ----------
    monitor : Monitor
    *hooks : Hook
        See `to_url`, `to_command`, `to_log` and `Hook`.
    since : datetime, datetime64 or str, optional
        Only alarms raised by batches from this moment on.
    **rules
        ``rate``, ``floor``, ``reference``, ``tolerance`` and ``horizon``; see `Monitor.alarms`.

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
    >>> printer = Hook("print", lambda alarm: print(alarm["batch_id"], alarm["rule"]))
    >>> len(notify(monitor, printer))
    4 change
    4 batch
    2
    >>> len(notify(monitor, printer))
    0
    """
    for hook in hooks:
        todo = "pass bcm.online.to_url(...), to_command(...), to_log() or Hook(name, function)"
        check_is(hook, Hook, "a hook", "an online.Hook", todo)
        check_name(hook.name, "the name of a hook")
    alarms = monitor.alarms(since=since, new=True, **rules)
    deliveries = [alarms[:0].assign(hook="", problem="")]
    for hook in hooks:
        deliveries += [_deliver(monitor, hook, alarms[i : i + 1]) for i in range(len(alarms))]
    return pd.concat([table for table in deliveries if len(table)] or deliveries, ignore_index=True)


def _deliver(monitor, hook, alarm):
    """Hand an alarm over, if nobody has; return it with what went wrong, or nothing."""
    # Recorded before it is handed over: a process that dies loses an alarm, and doubles none.
    undelivered = monitor.ledger.record_deliveries(monitor.classifier, alarm, hook.name)
    rows = undelivered.to_dict("records")
    problems = [_call(hook, monitor.classifier, row) for row in rows]
    return undelivered.assign(hook=hook.name, problem=problems)


def _call(hook, classifier, row):
    key = {name: str(row[name]) for name in _ALARM}
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


def to_log(*, level: int = logging.WARNING) -> Hook:
    """
    Return a hook that writes alarms to the log of Python, as ``bayescm.online``.

    Parameters
    ----------
    level : int, default logging.WARNING

    Examples
    --------
    >>> to_log().name
    'log'
    """

    def call(alarm):
        _LOG.log(level, "alarm %s", json.dumps(alarm, ensure_ascii=False))

    return Hook("log", call)


def to_command(
    command: str | Sequence[str], *, timeout: float = 60.0, name: str | None = None
) -> Hook:
    """
    Return a hook that runs a command, once for each alarm.

    The alarm is JSON on its standard input, and in the environment ``BAYESCM_CLASSIFIER``,
    ``BAYESCM_BATCH_ID``, ``BAYESCM_RULE`` and ``BAYESCM_MEASURE``. There is no shell in between.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments; a text is split as a shell would.
    timeout : float, default 60
        Seconds after which it is ended.
    name : str, optional
        See `Hook`; by default the command.

    Raises
    ------
    ValueError
        If there is no program in it.

    Examples
    --------
    >>> to_command("mail -s alarm someone@example.org").name
    'mail -s alarm someone@example.org'
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(w) for w in command]
    except ValueError:
        words = []
    if not words:
        raise fail("not a command", command, "a program and its arguments", "check the quotes")

    def call(alarm):
        keys = ("classifier", "batch_id", "rule", "measure")
        variables = {f"BAYESCM_{key.upper()}": str(alarm[key]) for key in keys}
        try:
            process = subprocess.run(
                words,
                env=os.environ | variables,
                input=json.dumps(alarm),
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise OSError(f"the command took longer than {timeout:g} s") from None
        if process.returncode:
            message = " ".join(process.stderr.split())[-300:]
            raise OSError(f"the command left with status {process.returncode}: {message}")

    return Hook(name or shlex.join(words), call)


def to_url(
    url: str,
    *,
    secret: str | None = None,
    retries: int = 3,
    wait: float = 1.0,
    timeout: float = 10.0,
    name: str | None = None,
) -> Hook:
    """
    Return a hook that posts each alarm to a URL, as JSON.

    Where there is no answer, or one that may be another later (5xx, 408, 425, 429), it is tried
    again; each attempt has the same ``id``. Redirects are not followed.

    Parameters
    ----------
    url : str
        ``https://`` or ``http://``.
    secret : str, optional
        Signs what is sent: the header ``Bayescm-Signature`` is ``t=TIME,sha256=HEX``, the HMAC of
        ``TIME.BODY``. At least 16 characters.
    retries : int, default 3
        How often it is tried again.
    wait : float, default 1
        Seconds before the first of these; each time twice as long.
    timeout : float, default 10
        Seconds to wait for an answer.
    name : str, optional
        See `Hook`; by default the URL without user, query and fragment.

    Raises
    ------
    ValueError
        If it is not such a URL, or the secret is too short.

    Examples
    --------
    >>> to_url("https://example.org/alarms?key=1", secret="a secret that is long").name
    'https://example.org/alarms'
    """
    address = _split(url)
    if secret is not None and len(secret) < _SHORTEST_SECRET:
        todo = "make one: python -c 'import secrets; print(secrets.token_urlsafe())'"
        raise fail("the secret is too short", ..., f"at least {_SHORTEST_SECRET} characters", todo)
    check_whole("retries", retries, 0, "attempts", 3)

    def call(alarm):
        body = json.dumps(alarm).encode()
        for attempt in range(retries + 1):
            problem, may_retry = _post(url, body, secret, timeout)
            if not problem:
                return
            if not may_retry or attempt == retries:
                raise OSError(problem)
            time.sleep(wait * 2**attempt)

    port = f":{address.port}" if address.port else ""
    return Hook(name or f"{address.scheme}://{address.hostname}{port}{address.path}", call)


def _split(url):
    try:
        address = urlsplit(url)
        is_url = address.scheme in ("http", "https") and address.hostname and (address.port or True)
    except (ValueError, AttributeError):
        is_url = False
    if not is_url:  # not shown: it may hold a key
        raise fail("not the URL of a hook", ..., "https://HOST/PATH", "check the address")
    return address


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_, **__):
        return None


def _post(url, body, secret, timeout):
    """Return what went wrong (or nothing), and whether it may go well later."""
    headers = {"Content-Type": "application/json", "User-Agent": "bayescm"}
    if secret is not None:
        moment = str(int(time.time()))
        signature = hmac.digest(secret.encode(), f"{moment}.".encode() + body, "sha256").hex()
        headers["Bayescm-Signature"] = f"t={moment},sha256={signature}"
    request = urllib.request.Request(url, body, headers, method="POST")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout):
            return "", False
    except urllib.error.HTTPError as answer:
        answer.close()
        return f"the answer was {answer.code}", answer.code >= 500 or answer.code in _RETRIED
    except (OSError, ValueError) as problem:
        return f"there was no answer: {getattr(problem, 'reason', problem)}", True
