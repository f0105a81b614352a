"""
Delivery of incidents to hooks: a command, a URL, the log or a function.

A hook gets one page when an incident opens and one when it closes or is withdrawn. An incident is
withdrawn if the batches recorded when it opened still raise its alarm, but the current batches do
not, because some were corrected or arrived late. `notify` records in the ledger what it is about to
send, sends it, and records the outcome. Later calls retry failed pages after 1, 2, 4, ... minutes,
at most one hour apart, up to `_MOST_ATTEMPTS` times. If a process dies while sending, the page is
not sent again. A page can therefore be lost, but is never sent twice.
"""

import hmac
import logging
import os
import shlex
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from signal import SIGKILL
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from bayescm.online.chain import digest
from bayescm.online.encoding import check_name
from bayescm.online.incidents import ACKNOWLEDGED, CLOSED, OPEN, members_of
from bayescm.online.ledger import DELIVERED, FAILED
from bayescm.online.monitor import Monitor, applicable_rules
from bayescm.online.page_formats import EMAIL, JSON, check_format, subject_of, text_of, written
from bayescm.online.rules import BETTER
from bayescm.online.silence import SILENCE
from bayescm.validate import check_is, check_whole, fail

_LOG = logging.getLogger("bayescm.online")
_RETRIED = (408, 425, 429)  # status codes of temporary errors, in addition to 5xx
_SHORTEST_SECRET = 16  # minimum number of characters in a secret
_ALARM = ("batch_id", "rule", "measure")  # columns that identify an alarm
_CLOSED = "closed"  # replaces the rule in the key of a closing page
_WITHDRAWN = "withdrawn"  # state of an incident that a correction has removed
_WAIT, _LONGEST_WAIT = timedelta(minutes=1), timedelta(hours=1)  # first and longest wait to retry
_MOST_ATTEMPTS = 12  # the last attempt is after about six hours
_COLUMNS: tuple[str, ...] = (
    *("classifier", "incident", "event", "at", "rule", "measure", "sentence"),
    *("hook", "attempt", "problem", "next_try"),
)


@dataclass(frozen=True)
class Hook:
    """
    Recipient of alarms.

    Attributes
    ----------
    name : str
        Name that identifies the recipient in the store. Another name is another recipient.
    call : callable
        Function that sends a page, and raises an error on failure. The page is a dict of JSON types
        with these keys:

        - ``id``, ``event`` (``"opened"`` or ``"closed"``) and ``classifier``.
        - ``incident`` (the batch that opened it), ``sentence``, ``alarms`` (the sentences of all
          its alarms), ``opened`` and ``closed``.
        - ``since``, the earliest time in the evidence behind its alarms.
        - ``batch_id``, ``at``, ``rule``, ``measure``, ``estimate``, ``lower``, ``upper``,
          ``limit``, ``value``, ``threshold`` and ``direction`` of the alarm that ``sentence``
          describes.
        - ``text``, a message for people.

    Examples
    --------
    >>> Hook("print", lambda alarm: print(alarm["rule"])).call({"rule": "floor"})
    floor
    """

    name: str
    call: Callable[[dict[str, Any]], None]


def notify(
    monitor: Monitor | Iterable[Monitor],
    *hooks: Hook,
    since: Any = None,
    dry_run: bool = False,
    improvements: bool = False,
    **rules: Any,
) -> pd.DataFrame:
    """
    Send a page to hooks when an incident opens, and another when it closes.

    Call this function after each batch or on a schedule. Only incidents that have not been
    acknowledged are sent. Two pages are sent per incident, however many alarms it contains. If the
    incident closes before the first page is sent, only one page is sent. If a correction or a late
    batch removes an incident, it is closed; if it returns, two more pages are sent.

    Parameters
    ----------
    monitor : Monitor or iterable of Monitor
        Monitor or monitors whose incidents are sent, such as ``[Monitor(store, name) for name in
        names]``. With several, each monitor uses the rules that its type of evidence supports, and
        the limits for the measures that it follows.
    *hooks : Hook
        Recipients; see `to_url`, `to_command`, `to_log` and `Hook`.
    since : datetime, datetime64 or str, optional
        Use only alarms raised by batches from this moment on.
    dry_run : bool, default False
        Whether to return the pages that are due without sending or recording anything.
    improvements : bool, default False
        Whether to also send incidents whose alarms all have the direction ``better``.
        `Monitor.incidents` lists them in either case.
    **rules
        ``rate``, ``floor``, ``reference``, ``tolerance``, ``horizon`` and ``silence``; see
        `Monitor.alarms`.

    Returns
    -------
    DataFrame
        One row per page that was due, whether it was sent or failed: ``classifier``,
        ``incident``, ``event`` (``opened`` or ``closed``), ``at``, ``rule``, ``measure``,
        ``sentence``, ``hook``, ``attempt``, ``problem`` (empty on success) and ``next_try`` (the
        time of the next attempt after a failure).

    Raises
    ------
    TypeError
        If an argument is not a hook.

    Notes
    -----
    Each page is recorded in the store before it is sent, so a page that was delivered is never sent
    again, even with several processes. Later calls retry a failed page after 1, 2, 4, ... minutes,
    at most one hour apart, up to twelve attempts. If the process dies while sending, the page is
    not sent again, but the incident remains in `Monitor.incidents`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> monitor = bcm.online.Monitor("sqlite://", "spam filter", measures=["recall"])
    >>> for day, tp in enumerate([45, 44, 46, 45, 20]):
    ...     batch = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
    ...     _ = monitor.add(day, batch, at=f"2026-01-0{day + 1}")
    >>> printer = Hook("print", lambda page: print(page["event"], page["sentence"]))
    >>> len(notify(monitor, printer))
    opened the answers have changed: recall is 0.402 [0.27, 0.536], 0.898 before (Bayes factor
    4.6e+07), since 2026-01-05 00:00
    1
    >>> len(notify(monitor, printer))
    0
    """
    for hook in hooks:
        todo = "pass bcm.online.to_url(...), to_command(...), to_log() or Hook(name, function)"
        check_is(hook, Hook, "a hook", "an online.Hook", todo)
        check_name(hook.name, "the name of a hook")
    if isinstance(monitor, Monitor):
        rows = _notified(monitor, hooks, since, dry_run, improvements, rules)
    else:
        monitors = list(monitor)
        for each in monitors:
            check_is(each, Monitor, "a monitor", "an online.Monitor", "pass [monitor, monitor]")
        rules_of_each = [applicable_rules(each, rules) for each in monitors]
        if not monitors:
            raise fail("No monitors were passed", ..., "", "pass e.g. [first, second]")
        for name, rule in rules.items():
            used = [own[name] for own in rules_of_each if name in own]
            limits = {*rule} - {m for own in used for m in own} if isinstance(rule, Mapping) else ()
            if not used or limits:
                what = f"`{name}` has no effect: no monitor has such a rule or measure"
                raise fail(what, sorted(map(str, limits)) or rule, "", "leave it out")
        rows = [
            row
            for each, own in zip(monitors, rules_of_each, strict=True)
            for row in _notified(each, hooks, since, dry_run, improvements, own)
        ]
    table = pd.DataFrame([row for row in rows if row is not None], columns=list(_COLUMNS))
    return table.astype({"at": "datetime64[us]", "next_try": "datetime64[us]"})


def _notified(monitor, hooks, since, dry_run, improvements, rules):
    """Return the rows of the pages of one monitor, None for each that is not due."""
    alarms, incidents = _alarms_and_incidents(monitor, since, rules)
    rows = []
    for hook in hooks:
        pages = _handed_over(monitor, hook)
        for incident in incidents[incidents["state"] != ACKNOWLEDGED].to_dict("records"):
            members = members_of(alarms, incident)
            if not improvements and _only_improves(members, pages):
                continue
            page = _page_of_incident(monitor, incident, members, pages, rules, since)
            rows.append(None if page is None else _deliver(monitor, hook, page, dry_run))
        for page in _pages_of_none(monitor, pages, alarms, rules, since):
            rows.append(_deliver(monitor, hook, page, dry_run))
    return rows


def _only_improves(members, pages):
    """Return True if all alarms of an incident are improvements and none was sent before."""
    is_known = any(key in pages for key in members["key"])
    return bool((members["direction"] == BETTER).all()) and not is_known


class Page(NamedTuple):
    """
    Page that may be due for a hook.

    Attributes
    ----------
    incident : dict
        Row of `Monitor.incidents`.
    members : DataFrame
        Alarms of the incident.
    event : {"opened", "closed"}
        Event that the page reports.
    key : tuple of str
        Batch, rule and measure that identify the page in the store.
    """

    incident: dict[str, Any]
    members: pd.DataFrame
    event: str
    key: tuple[str, str, str]


def _alarms_and_incidents(monitor, since, rules, as_of=None):
    """Return alarms and incidents, with the original names of corrected batches."""
    alarms, incidents = monitor.alarms_and_incidents(since=since, as_of=as_of, **rules)
    originals = monitor.original_ids()
    original = [originals[batch_id] for batch_id in alarms["batch_id"]]
    key = zip(original, alarms["rule"], alarms["measure"].map(str), strict=True)
    return alarms.assign(key=pd.Series(list(key), alarms.index, dtype=object)), incidents


def _handed_over(monitor, hook):
    """Return the last recorded attempt for each page of a hook, by the key of the page."""
    deliveries = monitor.ledger.deliveries(monitor.classifier)
    notes = deliveries[deliveries["hook"] == hook.name].itertuples(index=False)
    return {(note.batch_id, note.rule, note.measure): note for note in notes}


def _page_of_incident(monitor, incident, members, pages, rules, since):
    """Return the page that is due for an incident, or None."""
    originals, keys = monitor.original_ids(), members["key"].tolist()
    name = originals[incident["incident"]]
    openings = [key for key in _openings(pages) if _is_silence(key) == _is_silence(keys[0])]
    # The alarm that identifies pages already sent, even if a correction has since removed it.
    first = next((key for key in keys if key in pages), None) or next(
        (key for key in openings if originals.get(pages[key].incident) == name), keys[0]
    )
    # No closing page is sent for alarms that were sent one by one, without incidents.
    if incident["state"] == CLOSED and first in pages and pd.isna(pages[first].incident):
        return None
    n_closed = _n_closed(pages, first)
    if n_closed and not _is_open_again(monitor, first, pages, n_closed, incident, rules, since):
        return None
    event = "closed" if incident["state"] == CLOSED else "opened"
    return Page(incident, members, event, _key(first, event, n_closed + 1))


def _key(first, event, number):
    """Return the key of a page in the store: the first alarm, and the number of the page."""
    if number > 1:
        return first[0], f"{event} {number}", first[2]
    return first if event == "opened" else (first[0], _CLOSED, first[2])


def _is_silence(key):
    """Return True if an alarm is of the rule `silence`, whose incidents are separate."""
    return key[1] == SILENCE


def _of_same_kind(table, key):
    """Return rows of the rule `silence` if the key is of this rule, and else all other rows."""
    return table[(table["rule"] == SILENCE) == _is_silence(key)]


def _openings(pages):
    """Return the keys of the first page of each incident: the alarms that opened them."""
    events = ("opened ", _CLOSED)
    return [key for key in pages if not key[1].startswith(events)]


def _n_closed(pages, first):
    """Return the number of pages that announced the end of an incident."""
    number = 0
    while (note := pages.get(_key(first, "closed", number + 1))) and note.outcome != FAILED:
        number += 1
    return number


def _is_open_again(monitor, first, pages, n_closed, incident, rules, since):
    """Return True if an incident has returned after the page that closed it."""
    if _key(first, "opened", n_closed + 1) in pages:
        return True
    if incident["state"] == CLOSED:
        return False
    # Check that the incident was closed given the batches of that time. Otherwise, the rules were
    # different.
    note = pages[_key(first, "closed", n_closed)]
    alarms, incidents = _alarms_and_incidents(monitor, since, rules, note.recorded_at)
    names, incidents = (
        alarms.loc[alarms["key"] == first, "incident"],
        _of_same_kind(incidents, first),
    )
    return not (incidents["incident"].isin(names) & (incidents["state"] == OPEN)).any()


def _pages_of_none(monitor, pages, alarms, rules, since):
    """Yield the closing pages of incidents that a correction or a late batch has removed."""
    originals, keys = monitor.original_ids(), {*alarms["key"]}
    for first in _openings(pages):
        names = {originals[name] for name in _of_same_kind(alarms, first)["incident"]}
        n_closed = _n_closed(pages, first)
        note = pages.get(_key(first, "opened", n_closed + 1))
        if note is None or note.outcome == FAILED or pd.isna(note.incident):
            continue
        if first in keys or originals.get(note.incident) in names:
            continue
        earlier, incidents = _alarms_and_incidents(monitor, since, rules, note.recorded_at)
        incidents = _of_same_kind(incidents, first)
        names_then = earlier.loc[earlier["key"] == first, "incident"]
        # Do not close an incident that other rules opened, or that was acknowledged.
        for incident in incidents[incidents["incident"].isin(names_then)].to_dict("records"):
            if incident["state"] == OPEN:
                closed = pd.Timestamp(monitor.batches()["recorded_at"].values.max())
                incident |= {"state": _WITHDRAWN, "closed": closed}
                members = members_of(earlier, incident)
                yield Page(incident, members, "closed", _key(first, "closed", n_closed + 1))


def _deliver(monitor, hook, due, dry_run):
    """Send a page if it is due, and return its row with the problem, or None."""
    ledger, classifier = monitor.ledger, monitor.classifier
    incident, members, event, key = due
    page = _page(classifier, incident, members, event, key)
    row = {name: page.get(name) for name in _COLUMNS} | {"at": incident[event], "hook": hook.name}
    if dry_run:
        attempt = ledger.due_attempt(classifier, key, hook.name)
        return None if attempt is None else row | {"attempt": attempt, "problem": ""}
    name = incident["incident"]
    attempt = ledger.begin_delivery(classifier, key, hook.name, incident=name)
    if attempt is None:
        return None
    problem, next_try = _call(hook, page), None
    if problem and attempt < _MOST_ATTEMPTS:
        next_try = datetime.now(UTC) + min(_WAIT * 2 ** (attempt - 1), _LONGEST_WAIT)
    outcome = FAILED if problem else DELIVERED
    ledger.end_delivery(
        classifier, key, hook.name, attempt, incident=name, outcome=outcome, next_try=next_try
    )
    shown = None if next_try is None else pd.Timestamp(next_try).tz_localize(None)
    return row | {"attempt": attempt, "problem": problem, "next_try": shown}


def _page(classifier, incident, members, event, key):
    """Return the page of an incident as a dict of JSON types."""
    sentence = incident["sentence"]
    alarm = members[members["sentence"] == sentence].iloc[0]  # the one that it describes
    if event == "closed":
        since, end = (f"{incident[name]:%Y-%m-%d %H:%M}" for name in ("opened", "closed"))
        if incident["state"] == _WITHDRAWN:
            end += " because batches were corrected or arrived late"
        sentence = f"closed at {end}, opened at {since}: {sentence}"
    numbers = ("estimate", "lower", "upper", "limit", "value", "threshold")
    page = {
        "id": digest(classifier, *key),
        "event": event,
        "classifier": classifier,
        "incident": incident["incident"],
        "sentence": sentence,
        "alarms": members["sentence"].tolist(),
        "opened": _time(incident["opened"]),
        "closed": _time(incident["closed"]),
        **{name: str(alarm[name]) for name in _ALARM},
        "at": _time(alarm["at"]),
        "since": _time(incident["since"]),
        **{name: _number(alarm[name]) for name in numbers},
        "direction": alarm["direction"],
    }
    return page | {"text": text_of(page)}


def _number(value):
    return float(value) if np.isfinite(value) else None


def _call(hook, page):
    """Return the error message of a hook, or an empty string."""
    try:
        hook.call(page)
    except Exception as problem:  # a custom hook may raise any error; others must still run
        return str(problem) if isinstance(problem, OSError) else repr(problem)
    return ""


def _time(moment):
    return None if pd.isna(moment) else f"{pd.Timestamp(moment).isoformat()}Z"


def to_log(*, level: int = logging.WARNING, format: str = JSON) -> Hook:
    """
    Return a hook that writes pages to the Python logger ``bayescm.online``.

    Parameters
    ----------
    level : int, default logging.WARNING
        Level of the log messages.
    format : {"json", "slack", "teams", "email"}
        See `to_command`.

    Examples
    --------
    >>> to_log().name
    'log'
    """
    check_format(format)

    def call(alarm):
        words = ("incident", "event", "sentence")
        text = "; ".join(str(alarm[name]) for name in words if name in alarm)
        _LOG.log(level, "%s: %s %s", alarm["classifier"], text, written(alarm, format).strip())

    return Hook("log", call)


def to_command(
    command: str | Sequence[str],
    *,
    timeout: float = 60.0,
    name: str | None = None,
    format: str = JSON,
) -> Hook:
    """
    Return a hook that runs a command for each page.

    The command gets the page on standard input, by default as JSON. It also gets the environment
    variables ``BAYESCM_EVENT``, ``BAYESCM_CLASSIFIER``, ``BAYESCM_INCIDENT``, ``BAYESCM_SENTENCE``,
    ``BAYESCM_TEXT``, ``BAYESCM_SUBJECT``, ``BAYESCM_BATCH_ID``, ``BAYESCM_RULE`` and
    ``BAYESCM_MEASURE``. No part of the page is inserted into the command, so names of classifiers
    and batches are never executed.

    Parameters
    ----------
    command : str or sequence of str
        Command to run. A string is run by the shell. A sequence is a program with its arguments and
        is run without a shell.
    timeout : float, default 60
        Seconds after which the command and its child processes are killed.
    name : str, optional
        See `Hook`. The default is the command.
    format : {"json", "slack", "teams", "email"}
        Format of the page:

        - ``"json"``: all fields as JSON.
        - ``"slack"`` and ``"teams"``: JSON for webhooks of Slack and Microsoft Teams.
        - ``"email"``: a plain-text e-mail with header lines, for programs such as ``sendmail
          ops@example.org``.

    Raises
    ------
    ValueError
        If the command is empty or has unbalanced quotes.

    Examples
    --------
    >>> to_command("sendmail ops@example.org", format="email").name
    'sendmail ops@example.org'
    """
    text = command if isinstance(command, str) else shlex.join(map(str, command))
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words:
        raise fail(
            "The command {} cannot be read as a program and its arguments",
            command,
            "",
            "check the quotes",
        )
    check_format(format)

    def call(page):
        names = ("event", "classifier", "incident", "sentence", "text", *_ALARM)
        variables = {f"BAYESCM_{name.upper()}": str(page[name]) for name in names if name in page}
        variables["BAYESCM_SUBJECT"] = subject_of(page)
        process = subprocess.Popen(
            text if isinstance(command, str) else words,
            shell=isinstance(command, str),
            env=os.environ | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            _, errors = process.communicate(written(page, format), timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, SIGKILL)
            process.communicate()
            raise OSError(f"the command took longer than {timeout:g} s") from None
        if process.returncode:
            message = " ".join(errors.split())[-300:]
            raise OSError(f"the command exited with status {process.returncode}: {message}")

    return Hook(name or text, call)


def to_url(
    url: str,
    *,
    secret: str | None = None,
    retries: int = 3,
    wait: float = 1.0,
    timeout: float = 10.0,
    name: str | None = None,
    format: str = JSON,
) -> Hook:
    """
    Return a hook that posts each page to a URL as JSON.

    If the server does not respond, or responds with a temporary error (5xx, 408, 425, 429), the
    request is repeated with the same ``id``. Redirects are not followed.

    Parameters
    ----------
    url : str
        ``https://`` or ``http://`` URL.
    secret : str, optional
        Key that signs the request, at least 16 characters. The header ``Bayescm-Signature`` is
        ``t=TIME,sha256=HEX``, the HMAC of ``TIME.BODY``.
    retries : int, default 3
        Number of retries.
    wait : float, default 1
        Seconds before the first retry. Each further wait is twice as long.
    timeout : float, default 10
        Seconds to wait for a response.
    name : str, optional
        See `Hook`. The default is the URL without user, query and fragment.
    format : {"json", "slack", "teams"}
        All fields of the page, or the message format of a webhook of Slack or Microsoft Teams.

    Raises
    ------
    ValueError
        If the URL is invalid or the secret is too short.

    Examples
    --------
    >>> to_url("https://example.org/alarms?key=1", secret="a secret that is long").name
    'https://example.org/alarms'
    """
    address = _split(url)
    if secret is not None and len(secret) < _SHORTEST_SECRET:
        todo = "make one: python -c 'import secrets; print(secrets.token_urlsafe())'"
        raise fail(f"The secret is shorter than {_SHORTEST_SECRET} characters", ..., "", todo)
    check_whole("retries", retries, 0, "attempts", 3)
    if check_format(format) == EMAIL:
        todo = "pass a command: `to_command('sendmail ops@example.org', format='email')`"
        raise fail("E-mail cannot be posted to a URL ({})", format, "json, slack or teams", todo)

    def call(alarm):
        body = written(alarm, format).encode()
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
    if not is_url:  # the URL is not shown, because it may contain a key
        raise fail(
            "The URL of a hook must have the form https://HOST/PATH", ..., "", "check the address"
        )
    return address


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_, **__):
        return None


def _post(url, body, secret, timeout):
    """Return the error message of a request (or an empty string), and whether to retry it."""
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
