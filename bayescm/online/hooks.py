"""
Incidents are handed to hooks: a command, a URL, the log or a function.

There is one page as an incident opens and one as it closes, or as it is found that there was none:
by the batches that were recorded when it opened the rules still raise its alarm, and by those of
today, some of them corrected or late, they do not. `notify` records in the ledger what it
is about to hand over, does it, and records what came of it. What has failed is tried again by a
later call, after a minute, two, four ... and at most an hour, `_MOST_ATTEMPTS` times. What a
process that died was about to hand over is not: a page may be lost, and none comes twice.
"""

import hmac
import logging
import os
import shlex
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
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
from bayescm.online.monitor import Monitor
from bayescm.online.page_formats import EMAIL, JSON, check_format, subject_of, text_of, written
from bayescm.online.rules import BETTER
from bayescm.online.silence import SILENCE
from bayescm.validate import check_is, check_whole, fail

_LOG = logging.getLogger("bayescm.online")
_RETRIED = (408, 425, 429)  # with every 5xx: what may go well later
_SHORTEST_SECRET = 16  # characters of a secret
_ALARM = ("batch_id", "rule", "measure")  # what an alarm is known by
_CLOSED = "closed"  # in place of the rule: the page that an incident is over
_WITHDRAWN = "withdrawn"  # the state of an incident that was none
_WAIT, _LONGEST_WAIT = timedelta(minutes=1), timedelta(hours=1)  # before a failed page is retried
_MOST_ATTEMPTS = 12  # some six hours
_COLUMNS: tuple[str, ...] = (
    *("incident", "event", "at", "rule", "measure", "sentence"),
    *("hook", "attempt", "problem", "next_try"),
)


@dataclass(frozen=True)
class Hook:
    """
    A recipient of alarms.

    Attributes
    ----------
    name : str
        By which the store knows the recipient. Another name is another recipient.
    call : callable
        Takes a page as a dict of what JSON knows: ``id``, ``event`` (``"opened"`` or ``"closed"``),
        ``classifier``, ``incident`` (the batch that opened it), ``sentence``, ``alarms`` (the
        sentences of all its alarms), ``opened`` and ``closed``; of the alarm that opened it
        ``batch_id``, ``at``, ``since``, ``rule``, ``measure``, ``estimate``, ``lower``, ``upper``,
        ``limit``, ``value``, ``threshold`` and ``direction``; and ``text``, a message for people.
        Raises an error if it could not be delivered.

    Examples
    --------
    >>> Hook("print", lambda alarm: print(alarm["rule"])).call({"rule": "floor"})
    floor
    """

    name: str
    call: Callable[[dict[str, Any]], None]


def notify(
    monitor: Monitor,
    *hooks: Hook,
    since: Any = None,
    dry_run: bool = False,
    improvements: bool = False,
    **rules: Any,
) -> pd.DataFrame:
    """
    Hand incidents to hooks: a page as one opens, and a page as it closes.

    An incident that nobody has acknowledged gives two pages, however many alarms are part of it;
    one that is over before anybody was told of it gives one. An incident of which nothing is left,
    since a batch was corrected or came late, is closed too, and one that is back for such a reason
    gives two more. That a page is about to be handed over
    is recorded in the store first. So however often this is called, by however many processes, a
    hook gets no page twice. A page that fails is tried again by later calls, after a minute, two,
    four ... an hour, twelve times in all; if the process dies on the way, it is not handed over
    again, but the incident stays among `Monitor.incidents`.

    Parameters
    ----------
    monitor : Monitor
    *hooks : Hook
        See `to_url`, `to_command`, `to_log` and `Hook`.
    since : datetime, datetime64 or str, optional
        Only of alarms raised by batches from this moment on.
    dry_run : bool, default False
        Return what would be handed over now; nothing is, and nothing is recorded.
    improvements : bool, default False
        Whether incidents are handed over whose alarms all have the direction ``better``. They are
        among `Monitor.incidents` in either case.
    **rules
        ``rate``, ``floor``, ``reference``, ``tolerance``, ``horizon`` and ``silence``; see
        `Monitor.alarms`.

    Returns
    -------
    DataFrame
        What was due now, handed over or failed: ``incident``, ``event`` (``opened`` or
        ``closed``), ``at``, ``rule``, ``measure``, ``sentence``, ``hook``, ``attempt``,
        ``problem`` (empty where all went well) and ``next_try``, when what has failed is tried
        again.

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
    >>> printer = Hook("print", lambda page: print(page["event"], page["sentence"]))
    >>> len(notify(monitor, printer))
    opened the answers have changed: recall 0.402 [0.27, 0.536], 0.898 before (Bayes factor
    4.6e+07), since 2026-01-05 00:00
    1
    >>> len(notify(monitor, printer))
    0
    """
    for hook in hooks:
        todo = "pass bcm.online.to_url(...), to_command(...), to_log() or Hook(name, function)"
        check_is(hook, Hook, "a hook", "an online.Hook", todo)
        check_name(hook.name, "the name of a hook")
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
    table = pd.DataFrame([row for row in rows if row is not None], columns=list(_COLUMNS))
    return table.astype({"at": "datetime64[us]", "next_try": "datetime64[us]"})


def _only_improves(members, pages):
    """Return whether the alarms of an incident are all improvements that nobody was told of."""
    is_known = any(key in pages for key in members["key"])
    return bool((members["direction"] == BETTER).all()) and not is_known


class Page(NamedTuple):
    """
    What a hook may have to be told of an incident.

    Attributes
    ----------
    incident : dict
        A row of `Monitor.incidents`.
    members : DataFrame
        Its alarms.
    event : {"opened", "closed"}
    key : tuple of str
        Batch, rule and measure by which the store knows the page.
    """

    incident: dict[str, Any]
    members: pd.DataFrame
    event: str
    key: tuple[str, str, str]


def _alarms_and_incidents(monitor, since, rules, as_of=None):
    """Return alarms and incidents; a batch that is corrected bears the name it had at first."""
    alarms, incidents = monitor.alarms_and_incidents(since=since, as_of=as_of, **rules)
    originals = monitor.original_ids()
    original = [originals[batch_id] for batch_id in alarms["batch_id"]]
    key = zip(original, alarms["rule"], alarms["measure"].map(str), strict=True)
    return alarms.assign(key=pd.Series(list(key), alarms.index, dtype=object)), incidents


def _handed_over(monitor, hook):
    """Return the last note of each page for a hook, by what its first alarm is known by."""
    deliveries = monitor.ledger.deliveries(monitor.classifier)
    notes = deliveries[deliveries["hook"] == hook.name].itertuples(index=False)
    return {(note.batch_id, note.rule, note.measure): note for note in notes}


def _page_of_incident(monitor, incident, members, pages, rules, since):
    """Return the page that an incident has now, or None."""
    originals, keys = monitor.original_ids(), members["key"].tolist()
    name = originals[incident["incident"]]
    openings = [key for key in _openings(pages) if _is_silence(key) == _is_silence(keys[0])]
    # The alarm by which it was handed over, even if a correction has taken this one away.
    first = next((key for key in keys if key in pages), None) or next(
        (key for key in openings if originals.get(pages[key].incident) == name), keys[0]
    )
    # Alarms that an earlier version has handed over one by one have no incident.
    if incident["state"] == CLOSED and first in pages and pd.isna(pages[first].incident):
        return None
    n_closed = _n_closed(pages, first)
    if n_closed and not _is_open_again(monitor, first, pages, n_closed, incident, rules, since):
        return None
    event = "closed" if incident["state"] == CLOSED else "opened"
    return Page(incident, members, event, _key(first, event, n_closed + 1))


def _key(first, event, number):
    """Return what the store knows a page by: of how many of its incident, by its first alarm."""
    if number > 1:
        return first[0], f"{event} {number}", first[2]
    return first if event == "opened" else (first[0], _CLOSED, first[2])


def _is_silence(key):
    """Return whether an alarm is one of the rule `silence`, which is an incident by itself."""
    return key[1] == SILENCE


def _of_same_kind(table, key):
    """Return the alarms or incidents of `silence`, or all others."""
    return table[(table["rule"] == SILENCE) == _is_silence(key)]


def _openings(pages):
    """Return the keys of the first page of each incident: the alarms that opened them."""
    events = ("opened ", _CLOSED)
    return [key for key in pages if not key[1].startswith(events)]


def _n_closed(pages, first):
    """Return how many pages have said that an incident is closed."""
    number = 0
    while (note := pages.get(_key(first, "closed", number + 1))) and note.outcome != FAILED:
        number += 1
    return number


def _is_open_again(monitor, first, pages, n_closed, incident, rules, since):
    """Say whether an incident has come back after the page that it is closed."""
    if _key(first, "opened", n_closed + 1) in pages:
        return True
    if incident["state"] == CLOSED:
        return False
    # By the batches of then it was closed, or else that page went by rules that are not those now.
    note = pages[_key(first, "closed", n_closed)]
    alarms, incidents = _alarms_and_incidents(monitor, since, rules, note.recorded_at)
    names, incidents = (
        alarms.loc[alarms["key"] == first, "incident"],
        _of_same_kind(incidents, first),
    )
    return not (incidents["incident"].isin(names) & (incidents["state"] == OPEN)).any()


def _pages_of_none(monitor, pages, alarms, rules, since):
    """Yield the pages that close what was an incident only by batches of before a correction."""
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
        # By rules that are not those of today, or acknowledged, it is not closed either.
        for incident in incidents[incidents["incident"].isin(names_then)].to_dict("records"):
            if incident["state"] == OPEN:
                closed = pd.Timestamp(monitor.batches()["recorded_at"].values.max())
                incident |= {"state": _WITHDRAWN, "closed": closed}
                members = members_of(earlier, incident)
                yield Page(incident, members, "closed", _key(first, "closed", n_closed + 1))


def _deliver(monitor, hook, due, dry_run):
    """Hand a page over, if it is due; return it with what went wrong, or None."""
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
    """Return what a hook is told of an incident, as JSON knows it."""
    sentence = incident["sentence"]
    alarm = members[members["sentence"] == sentence].iloc[0]  # the numbers are of the sentence
    if event == "closed":
        since, end = (f"{incident[name]:%Y-%m-%d %H:%M}" for name in ("opened", "closed"))
        if incident["state"] == _WITHDRAWN:
            end += " as batches were corrected or came late"
        sentence = f"over at {end}, opened at {since}: {sentence}"
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
    """Return what went wrong, or nothing."""
    try:
        hook.call(page)
    except Exception as problem:  # a hook is anybody's, and the others must still be called
        return str(problem) if isinstance(problem, OSError) else repr(problem)
    return ""


def _time(moment):
    return None if pd.isna(moment) else f"{pd.Timestamp(moment).isoformat()}Z"


def to_log(*, level: int = logging.WARNING, format: str = JSON) -> Hook:
    """
    Return a hook that writes pages to the log of Python, as ``bayescm.online``.

    Parameters
    ----------
    level : int, default logging.WARNING
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
    Return a hook that runs a command, once for each page.

    The page is on its standard input, by default as JSON, and in the environment
    ``BAYESCM_EVENT``, ``BAYESCM_CLASSIFIER``, ``BAYESCM_INCIDENT``, ``BAYESCM_SENTENCE``,
    ``BAYESCM_TEXT``, ``BAYESCM_SUBJECT``, ``BAYESCM_BATCH_ID``, ``BAYESCM_RULE`` and
    ``BAYESCM_MEASURE``. Nothing of it is put into the command, so that names
    of classifiers and batches are never run.

    Parameters
    ----------
    command : str or sequence of str
        A text is run by the shell; a sequence is a program and its arguments, without one.
    timeout : float, default 60
        Seconds after which it is ended, with what it has started.
    name : str, optional
        See `Hook`; by default the command.
    format : {"json", "slack", "teams", "email"}
        How the page is written: all its fields as JSON; JSON that a webhook of Slack or of
        Microsoft Teams takes; or an e-mail in plain text with its header lines, for programs such
        as ``sendmail ops@example.org``.

    Raises
    ------
    ValueError
        If there is no program in it.

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
        raise fail("not a command", command, "a program and its arguments", "check the quotes")
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
            raise OSError(f"the command left with status {process.returncode}: {message}")

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
    Return a hook that posts each page to a URL, as JSON.

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
    format : {"json", "slack", "teams"}
        All fields of the page, or the message format of a webhook of Slack or Microsoft Teams.

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
    if check_format(format) == EMAIL:
        todo = "pass a command: `to_command('sendmail ops@example.org', format='email')`"
        raise fail("an e-mail is not posted to a URL", format, "json, slack or teams", todo)

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
