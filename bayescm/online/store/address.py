"""Addresses of ledgers, without ever showing what is secret in them."""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import sqlalchemy as sa

from bayescm.validate import fail

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
_ALLOWED = (
    "sqlite:///FILE, a plain file name, postgresql://USER@HOST/DATABASE or 'host=... dbname=...'"
)
_TODO = "pass store='sqlite:///eval.db'"
# What libpq calls them, and what a URL does; all others go on as they are.
_PARTS = {"host": "host", "port": "port", "dbname": "database", "user": "username"}
_PARTS |= {"password": "password"}
_PAIR = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(?=\s|$)")
_LIBPQ = {*_PARTS, "hostaddr", "passfile", "service", "options", "connect_timeout"}
_LIBPQ |= {"application_name", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword"}
_LIBPQ |= {"target_session_attrs", "client_encoding", "channel_binding", "gssencmode", "krbsrvname"}
_LIBPQ |= {"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"}
_LIBPQ |= {"require_auth", "load_balance_hosts", "tcp_user_timeout", "sslcrl", "requirepeer"}


def parse(store: str | os.PathLike) -> sa.URL:
    """
    Return the address of a store, or raise (without showing it: it may hold a password).

    Parameters
    ----------
    store : str or path
        A file, a URL of SQLite or PostgreSQL, or the keywords and values of libpq.

    Raises
    ------
    ValueError
        If it is neither SQLite nor PostgreSQL.
    """
    if isinstance(store, os.PathLike):
        return _of_file(os.fspath(store))
    text = str(store).strip()
    if "://" in text:
        return _of_url(text)
    if re.match(r"\w+\s*=", text):
        return _of_keywords(text)
    # What has a user or a scheme, and no file would be called: its end may be a password.
    if re.match(r"[^/\\]{2,}:", text) or re.search(r":[^/]*@|\b(password|passwd|pwd)\s*=", text):
        todo = "write sqlite:/// before the name of a file, postgresql:// before a user"
        raise fail("not the address of a ledger", "a form that is not known", _ALLOWED, todo)
    return _of_file(text)


def _of_file(text):
    if not text or "\x00" in text:
        raise fail("not the address of a ledger", "no file name", _ALLOWED, _TODO)
    return sa.URL.create("sqlite", database=text)


def _of_url(text):
    try:
        url = sa.make_url(text)
        kind = {"postgres": "postgresql"}.get(url.get_backend_name(), url.get_backend_name())
    except (sa.exc.ArgumentError, ValueError):
        kind = "an address that cannot be read"
    else:
        if "@" in (url.host or ""):  # and so the end of a password would pass for a host
            todo = "write an @ in the password as %40"
            raise fail("the store's address has more than one @", ..., "one, before the host", todo)
    if kind not in _DRIVERS:
        raise fail("not the address of a ledger", kind, _ALLOWED, _TODO)
    if kind == "sqlite" and (url.query or url.host):
        todo = "write sqlite:///eval.db, or sqlite:////folder/eval.db"
        raise fail("an SQLite address has a path and no more", ..., "sqlite:///FILE", todo)
    return url.set(drivername=_DRIVERS[kind])


def _of_keywords(text):
    """Return the URL of libpq's keywords and values."""
    given, place = {}, 0
    while (found := _PAIR.match(text, place)) is not None:
        key, value = found.groups()
        if value.startswith("'"):
            value = value[1:-1]
        given[key], place = re.sub(r"\\(.)", r"\1", value), found.end()
    unknown = sorted(set(given) - _LIBPQ)
    if unknown or text[place:].strip():
        got = unknown or "what cannot be read as keywords and values"
        raise fail("not the address of a ledger", got, "the keywords of libpq", "see its manual")
    if not given.get("port", "0").isdigit():
        raise fail("not the address of a ledger", "its port", "one number", "write port=5432")
    parts: dict[str, Any] = {_PARTS[key]: v for key, v in given.items() if key in _PARTS}
    if "port" in parts:
        parts["port"] = int(parts["port"])
    rest = {key: value for key, value in given.items() if key not in _PARTS}
    return sa.URL.create(_DRIVERS["postgresql"], query=rest, **parts)


def shown(url: sa.URL) -> str:
    """Return the address without user, password and options, safe to print."""
    kind = url.get_backend_name()
    return sa.URL.create(kind, None, None, url.host, url.port, url.database).render_as_string()


def secrets(url: sa.URL) -> set[str]:
    """Return every form in which a password of the address may turn up in a message."""
    held = [url.password, *(v for k, v in url.query.items() if "pass" in k.lower())]
    plain = [str(each) for each in held if each]
    return {form for each in plain for form in (each, quote(each, safe=""), unquote(each))}


def is_memory(url: sa.URL) -> bool:
    """Say whether an SQLite address is that of a database in memory."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def file_of(url: sa.URL) -> Path | None:
    """Return the file of a ledger, or None where it has none."""
    if url.get_backend_name() != "sqlite" or is_memory(url):
        return None
    return Path(url.database or "").absolute()
