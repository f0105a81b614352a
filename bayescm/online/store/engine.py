"""The ledger's connections: durable engines, the file they are to, errors in plain words."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from bayescm.online.store.address import file_of, is_memory, secrets, shown
from bayescm.online.store.chain import damage
from bayescm.validate import fail

# What the drivers raise; sqlite3's own where a connection is being opened.
PROBLEMS = (sa.exc.DBAPIError, sa.exc.TimeoutError, sqlite3.Error, UnicodeError, MemoryError)
_DAMAGE: tuple[str, ...] = (
    "malformed",
    "no such table",
    "no such column",
    "decode",
    "unsupported file format",
)
_DAMAGE += ("corrupt", "too big", "has no column", "invalid page", "could not read block")
_REMEDIES = {
    "locked": "wait until the other process has finished, or pass a longer timeout",
    "lock timeout": "wait until the other process has finished, or pass a longer timeout",
    "full": "free some disk space",
    "No space": "free some disk space",
    "disk I/O error": "look whether the disk is full or failing",
    "unable to open": "create the folder, or check the path and its permissions",
    "readonly": "check the permissions of the file and its folder",
    "permission denied": "ask the owner of the database for the rights (docs: trust)",
    "no equivalent in encoding": "use a database whose encoding is UTF8",
    "connection": "check that the server runs and lets you in",
}


class File:
    """
    The file of an SQLite ledger, and whether it is still the one that was opened.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path):
        self.path = path
        self._known = self._identity()

    def check(self, *, write: bool) -> None:
        """Raise where the file was deleted or replaced, or where it cannot be written to."""
        where = f"the file of the ledger, {self.path}"
        if self._identity() != self._known:
            raise OSError(
                f"{where[0].upper()}{where[1:]}, was deleted or replaced while it was open. "
                "Nothing is acknowledged that is not stored. Put it back or restore a backup, "
                "open the ledger anew and send the batch again."
            )
        if write and not os.stat(self.path).st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise OSError(
                f"{where[0].upper()}{where[1:]}, is read-only. Nothing was recorded. Check its "
                "permissions and send the batch again."
            )

    def _identity(self):
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino


def connect(url: sa.URL, *, timeout: float) -> sa.Engine:
    """Return an engine whose every commit is durable; it makes no file."""
    if url.get_backend_name() == "postgresql":
        return _postgres(url, timeout)
    path = file_of(url)
    name = ":memory:" if path is None else path
    return sqlite(name, timeout, lasting=path is None or _writable(path))


def sqlite(path: str | Path, timeout: float, *, lasting: bool = True, mode: str = "") -> sa.Engine:
    """Return an engine of one SQLite connection; a lasting one is kept from use to use."""

    def creator():
        memory = path == ":memory:"
        address = path if memory else f"file:{quote(str(path))}?{mode or _mode(Path(path))}"
        opened = sqlite3.connect(
            address, timeout=timeout, isolation_level=None, check_same_thread=False, uri=not memory
        )
        try:
            # Each commit also goes into the file itself, so that the file alone is the ledger.
            for pragma in ("synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=1"):
                opened.execute(f"PRAGMA {pragma}")
        except BaseException:
            opened.close()
            raise
        return opened

    pool = sa.pool.StaticPool if lasting else sa.pool.NullPool
    engine = sa.create_engine("sqlite://", creator=creator, poolclass=pool)

    @sa.event.listens_for(engine, "begin")
    def begin_as_asked(connection):
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    return engine


def _writable(path):
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _mode(path):
    """Return how to open a file: readers need no more than to read it."""
    if _writable(path):
        return "mode=rw"
    # Where nobody has it open there is no log beside it, and none must be made to read it.
    return "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"


def _postgres(url, timeout):
    theirs = " ".join(_several(url.query.get("options", "")))
    # A server may be set to acknowledge before it has written; a ledger may not.
    durable = "" if "synchronous_commit=remote_apply" in theirs else " -c synchronous_commit=on"
    options = f"-c lock_timeout={int(timeout * 1000)} {theirs}{durable} -c client_encoding=UTF8"
    arguments = {"options": options}
    if "connect_timeout" not in url.query:
        arguments["connect_timeout"] = "10"
    url = url.difference_update_query(["options"])
    try:
        return sa.create_engine(url, pool_pre_ping=True, connect_args=arguments)
    except ModuleNotFoundError:
        todo = "install the extra: pip install 'bayescm[postgres]'"
        raise fail("PostgreSQL needs psycopg", ..., "psycopg >= 3.2", todo) from None


def _several(value):
    return [value] if isinstance(value, str) else list(value)


@contextmanager
def begin(engine: sa.Engine, *, write: bool) -> Iterator[sa.Connection]:
    """Open a transaction; a writing one takes SQLite's write lock at once, and so fails early."""
    with engine.connect() as connection:
        options = {"begin": "BEGIN IMMEDIATE" if write else "BEGIN"}
        if engine.dialect.name == "postgresql" and not write:
            options["isolation_level"] = "REPEATABLE READ"  # all of a reading of one moment
        connection = connection.execution_options(**options)
        with connection.begin():
            yield connection


def explain(problem: Exception, doing: str, url: sa.URL) -> Exception:
    """Return an error in plain words for one of the database's, without any credentials."""
    said = " ".join(str(getattr(problem, "orig", None) or problem).split())
    for secret in secrets(url):
        said = said.replace(secret, "***")
    if "not a database" in said:
        todo = "give the ledger a file of its own, or restore a backup"
        return fail("not a ledger, or a damaged one", shown(url), "an SQLite database", todo)
    if isinstance(problem, UnicodeError | MemoryError) or any(sign in said for sign in _DAMAGE):
        return damage(f"{shown(url)} said {said!r}")
    todo = next((todo for sign, todo in _REMEDIES.items() if sign in said), "check the database")
    return OSError(
        f"Could not {doing}: {shown(url)} said {said!r}. Nothing is acknowledged that is not "
        f"stored. {todo[0].upper()}{todo[1:]}, then try again; nothing counts twice."
    )


__all__ = ["PROBLEMS", "File", "begin", "connect", "explain", "is_memory", "shown", "sqlite"]
