"""
The database of a ledger: SQLite in a file or in memory, or PostgreSQL.

Five rules protect the ledger:

- Every commit is durable before it is acknowledged (``synchronous=FULL``,
  ``synchronous_commit=on``).
- A writer takes SQLite's lock before it reads (``BEGIN IMMEDIATE``).
- A deleted or replaced file is detected.
- Forked processes share no connection and no transaction.
- Errors of the drivers are reported in plain words, without credentials.

Alembic creates the tables (`bayescm.online.migrations`).
"""

import os
import re
import sqlite3
import stat
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote, unquote

import sqlalchemy as sa

from bayescm.online.chain import damage, digest
from bayescm.validate import fail


class NoLedgerError(ValueError):
    """Raised if there is no ledger at an address and none may be created."""


class Database:
    """
    Database with one transaction at a time across threads, safe to use with forks.

    Parameters
    ----------
    store : str or path
        Address of the database; see `parse`.
    create : bool, default True
        Whether to create a ledger if there is none.
    timeout : float, default 30
        Seconds to wait for a database that another process has locked.
    """

    def __init__(self, store: str | os.PathLike, *, create: bool = True, timeout: float = 30.0):
        self._url = parse(store)
        self._lock = threading.RLock()  # allows one transaction at a time across threads
        self._is_lost = False  # True in a child process if the database was in the parent's memory
        self._file = self._open_file(create, timeout)
        self._engine = connect(self._url, timeout=timeout)
        weakref.finalize(self, self._engine.dispose)
        try:
            with self._plain_errors("open the ledger"):
                prepare(self._engine, self._url, create=create)
        except BaseException:
            self._engine.dispose()
            raise
        with _fork_guard:
            _databases.add(self)

    def _open_file(self, create, timeout):
        """Return the file of the ledger, created if missing, or None for other databases."""
        path = file_of(self._url)
        if path is None:
            return None
        if not path.is_file():
            if not create or path.exists():
                todo = "check the path, or add a batch to start a ledger"
                raise fail("There is no ledger at {}", str(path), "", todo, NoLedgerError)
            try:
                with self._plain_errors("make the ledger"):
                    make_file(path, timeout)
            except FileNotFoundError:
                problem = OSError("unable to open database file: no such folder")
                raise explain(problem, "make the ledger", self._url) from None
        if not path.stat().st_size:
            todo = "restore a backup, or delete it to start a ledger"
            raise fail(
                "The file {} is empty, so it is not a ledger, or it is damaged", str(path), "", todo
            )
        return File(path)

    def __repr__(self):
        return f"Ledger({printable(self._url)!r})"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Close the connections. The ledger reopens them when it is used again."""
        with self._lock:
            if not is_memory(self._url):
                self._engine.dispose()

    def exclusive(self) -> AbstractContextManager:
        """Return a lock that keeps other threads from using the ledger."""
        return self._lock

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite, which is backed up page by page."""
        return self._engine.dialect.name == "sqlite"

    @contextmanager
    def transaction(self, purpose: str, *, write: bool = False) -> Iterator[sa.Connection]:
        """Open a transaction of this thread alone, with a purpose for error messages."""
        with self._lock, self._plain_errors(purpose):
            if self._is_lost:
                raise fail(
                    "A ledger in memory cannot be used after a fork",
                    ...,
                    "",
                    "store the ledger in a file, which processes can share",
                )
            if self._file is not None:
                self._file.check(write=write)
            with begin(self._engine, write=write) as connection:
                yield connection
            if self._file is not None:  # this check must pass before the commit is acknowledged
                self._file.check(write=False)

    @contextmanager
    def _plain_errors(self, purpose):
        try:
            yield
        except DRIVER_ERRORS as problem:
            # Without `from None`, the chained error would print the statement and its values.
            raise explain(problem, purpose, self._url) from None


# Forks wait until no transaction or set-up is running and all connections are closed. A child that
# used the connection of its parent would break it for both processes.

_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()
_fork_guard = threading.RLock()  # also serialises migrations, because Alembic runs one at a time


def _before_fork():
    _fork_guard.acquire()
    for database in _databases:
        database._lock.acquire()
        if not is_memory(database._url):
            database._engine.dispose()


def _after_fork_in_parent():
    for database in _databases:
        database._lock.release()
    _fork_guard.release()


def _after_fork_in_child():
    for database in _databases:
        database._lock = threading.RLock()
        database._is_lost = database._is_lost or is_memory(database._url)
    _fork_guard.release()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)


# Addresses

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
_ADDRESSES = (
    "sqlite:///FILE, a plain file name, postgresql://USER@HOST/DATABASE or 'host=... dbname=...'"
)


def parse(store: str | os.PathLike) -> sa.URL:
    """
    Return the address of a store as a URL.

    Error messages do not show the address, because it may contain a password.

    Parameters
    ----------
    store : str or path
        A file, a URL of SQLite or PostgreSQL, or keywords and values as for libpq.

    Raises
    ------
    ValueError
        If the address is neither SQLite nor PostgreSQL.
    """
    if isinstance(store, os.PathLike):
        return _parse_file(os.fspath(store))
    text = str(store).strip()
    if "://" in text:
        return _parse_url(text)
    if re.match(r"\w+\s*=", text):
        return _parse_keywords(text)
    # Text with a user or a scheme is not a file name. It is not shown: it may contain a password.
    if re.match(r"[^/\\]{2,}:", text) or re.search(r":[^/]*@|\b(password|passwd|pwd)\s*=", text):
        todo = "write sqlite:/// before the name of a file, postgresql:// before a user"
        raise fail("The store has an address of unknown form", ..., _ADDRESSES, todo)
    return _parse_file(text)


def _parse_file(text):
    if not text or "\x00" in text:
        todo = "pass store='sqlite:///eval.db'"
        raise fail("The address of the store has no file name", ..., _ADDRESSES, todo)
    return sa.URL.create("sqlite", database=text)


def _parse_url(text):
    try:
        url = sa.make_url(text)
        backend = {"postgres": "postgresql"}.get(url.get_backend_name(), url.get_backend_name())
    except (sa.exc.ArgumentError, ValueError):
        backend = "an address that cannot be read"
    else:
        if "@" in (url.host or ""):  # otherwise the end of a password would be parsed as the host
            todo = "write an @ in the password as %40"
            raise fail("The address of the store has more than one @", ..., "", todo)
    if backend not in _DRIVERS:
        todo = "pass store='sqlite:///eval.db'"
        raise fail(f"The store has {backend}", ..., _ADDRESSES, todo)
    if backend == "sqlite" and (url.query or url.host):
        todo = "write sqlite:///eval.db, or sqlite:////folder/eval.db"
        raise fail("An SQLite address must consist of a path only", ..., "", todo)
    return url.set(drivername=_DRIVERS[backend])


def _parse_keywords(text):
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ModuleNotFoundError:
        raise _missing_driver() from None
    try:
        keywords: dict[str, Any] = conninfo_to_dict(text)
    except ProgrammingError:  # the error quotes parts of the address, possibly of a password
        raise fail(
            "libpq cannot read the address of the store",
            ...,
            "its keywords and values",
            "see the manual of libpq",
        ) from None
    port = keywords.pop("port", None)
    if port is not None and not port.isdigit():
        raise fail(
            "The port in the address of the store must be one number",
            ...,
            "",
            "write e.g. port=5432",
        )
    return sa.URL.create(
        _DRIVERS["postgresql"],
        username=keywords.pop("user", None),
        password=keywords.pop("password", None),
        host=keywords.pop("host", None),
        port=None if port is None else int(port),
        database=keywords.pop("dbname", None),
        query=keywords,
    )


def _missing_driver():
    return fail(
        "PostgreSQL needs the package psycopg, version 3.2 or later",
        ...,
        "",
        "install it with pip install 'bayescm[postgres]'",
    )


def printable(url: sa.URL) -> str:
    """Return the address without user, password and options, which is safe to print."""
    backend = url.get_backend_name()
    return sa.URL.create(backend, None, None, url.host, url.port, url.database).render_as_string()


def _secrets(url):
    """Return every form in which a password of the address may appear in a message."""
    passwords = [url.password, *(v for key, v in url.query.items() if "pass" in key.lower())]
    texts = [str(password) for password in passwords if password]
    return {form for text in texts for form in (text, quote(text, safe=""), unquote(text))}


def is_memory(url: sa.URL) -> bool:
    """Return True if an SQLite address refers to a database in memory."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def file_of(url: sa.URL) -> Path | None:
    """Return the file of a ledger, or None if it has no file."""
    if url.get_backend_name() != "sqlite" or is_memory(url):
        return None
    return Path(url.database or "").absolute()


# Connections


def connect(url: sa.URL, *, timeout: float) -> sa.Engine:
    """Return an engine with durable commits, which does not create a file."""
    if url.get_backend_name() == "postgresql":
        return _connect_postgres(url, timeout)
    path = file_of(url)
    if path is None:
        return _connect_sqlite(":memory:", timeout)
    if not _is_writable(path):  # reopened for each use, because a WAL file may appear
        return _connect_sqlite(path, timeout, pool=sa.pool.NullPool)
    return _connect_sqlite(path, timeout)


def _connect_sqlite(path, timeout, *, pool=sa.pool.StaticPool, mode=""):
    def creator():
        memory = path == ":memory:"
        address = path if memory else f"file:{quote(str(path))}?{mode or _open_mode(Path(path))}"
        connection = sqlite3.connect(
            address, timeout=timeout, isolation_level=None, check_same_thread=False, uri=not memory
        )
        try:
            # Checkpoint after every commit, so that the file alone contains the whole ledger.
            for pragma in ("synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=1"):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    engine = sa.create_engine("sqlite://", creator=creator, poolclass=pool)

    @sa.event.listens_for(engine, "begin")
    def begin_explicitly(connection):
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    return engine


def _is_writable(path):
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _open_mode(path):
    """Return the mode for opening a file, which may be read-only."""
    if _is_writable(path):
        return "mode=rw"
    # If no process has the file open, there is no WAL file, and reading must not create one.
    return "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"


def _connect_postgres(url, timeout):
    options = url.query.get("options", "")
    options = options if isinstance(options, str) else " ".join(options)
    # A server may be configured to acknowledge commits before they are durable.
    if "synchronous_commit=remote_apply" not in options:
        options += " -c synchronous_commit=on"
    options = f"-c lock_timeout={int(timeout * 1000)} {options} -c client_encoding=UTF8"
    url = url.difference_update_query(["options"])
    try:
        return sa.create_engine(url, pool_pre_ping=True, connect_args={"options": options})
    except ModuleNotFoundError:
        raise _missing_driver() from None


@contextmanager
def begin(engine: sa.Engine, *, write: bool) -> Iterator[sa.Connection]:
    """Open a transaction, which locks SQLite at once if it writes, so that it fails early."""
    with engine.connect() as connection:
        options = {"begin": "BEGIN IMMEDIATE" if write else "BEGIN"}
        if engine.dialect.name == "postgresql" and not write:
            options["isolation_level"] = "REPEATABLE READ"  # all reads see one snapshot
        connection = connection.execution_options(**options)
        with connection.begin():
            yield connection


class File:
    """
    File of an SQLite ledger, with a check that it has not been replaced.

    Parameters
    ----------
    path : Path
        Path of the file.
    """

    def __init__(self, path: Path):
        self.path = path
        self._opened = self._inode()

    def check(self, *, write: bool) -> None:
        """Raise an error if the file was deleted or replaced, or cannot be written to."""
        if self._inode() != self._opened:
            raise OSError(
                f"The file of the ledger, {self.path}, was deleted or replaced while it was "
                "open. Nothing was acknowledged that is not stored. Put the file back or "
                "restore a backup, open the ledger again and send the batch again."
            )
        if write and not os.stat(self.path).st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise OSError(
                f"The file of the ledger, {self.path}, is read-only. Nothing was recorded. Check "
                "its permissions and send the batch again."
            )

    def _inode(self):
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino


# The schema

REVISION = "2"  # the last revision in `MIGRATIONS`
TABLES = "1"  # the last revision that changed the tables; every ledger is upgraded to it
WITH_CLASSES = "2"  # first revision with entries that rename and add classes (see `classes`)
MIGRATIONS = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 0x62636D  # key of the lock that serialises set-ups on PostgreSQL


def prepare(engine: sa.Engine, url: sa.URL, *, create: bool) -> None:
    """
    Set up a new ledger or upgrade an older one; reject a newer or foreign one.

    Raises
    ------
    ValueError
        If the store is not a ledger of this or an older revision, or its tables were altered.
    """
    with begin(engine, write=False) as connection:
        revision = _revision(connection, url)
        if revision is not None and int(revision) >= int(TABLES):
            return check_seal(connection)
    if revision is None and not create:
        todo = "check the address, or add a batch to start a ledger"
        raise fail("There is no ledger at {}", printable(url), "", todo, NoLedgerError)
    upgrade(engine)
    return None


def make_file(path: Path, timeout: float) -> None:
    """Create a new ledger under a temporary name, so that no incomplete file is ever visible."""
    folder = Path(mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    part = folder / path.name
    engine = _connect_sqlite(part, timeout, mode="mode=rwc")
    try:
        with engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA journal_mode=WAL")  # not possible in a transaction
        upgrade(engine)
        engine.dispose()
        publish(part, path)
    finally:
        engine.dispose()
        for file in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
            file.unlink(missing_ok=True)
        folder.rmdir()


def publish(part: Path, path: Path) -> None:
    """Durably give a finished file its name, unless that name already exists."""
    _sync(part)
    with suppress(FileExistsError):  # another process was quicker
        os.link(part, path)
    _sync(path.parent)


def _sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def upgrade(engine: sa.Engine) -> None:
    """Upgrade a ledger or an empty store to the current revision in one transaction."""
    from alembic import command  # only needed here
    from alembic.config import Config

    with _fork_guard, begin(engine, write=True) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        if int(_revision(connection, engine.url) or 0) >= int(TABLES):
            return  # another process was quicker
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        command.upgrade(config, TABLES)
        _write_header(connection, TABLES)


def _write_header(connection, revision):
    header = sa.text("INSERT INTO bayescm_ledger (revision, seal) VALUES (:revision, :seal)")
    connection.execute(header, {"revision": revision, "seal": _seal(connection)})


def allow_classes(connection: sa.Connection) -> None:
    """Set the revision of a ledger to `WITH_CLASSES`, so that older versions do not open it."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
    version = connection.exec_driver_sql("SELECT version_num FROM bayescm_version").scalar()
    if int(str(version)) < int(WITH_CLASSES):
        update = sa.text("UPDATE bayescm_version SET version_num = :revision")
        connection.execute(update, {"revision": WITH_CLASSES})
        _write_header(connection, WITH_CLASSES)


def _revision(connection, url):
    """Return the revision of a ledger, or None if the store is empty."""
    if connection.dialect.name == "sqlite":
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        tables = foreign = set(connection.exec_driver_sql(query).scalars())
    else:  # a server may contain tables of other programs
        tables = set(sa.inspect(connection).get_table_names())
        foreign = {name for name in tables if name.startswith("bayescm_")}
    if "bayescm_schema" in tables:
        raise fail(
            "The ledger {} was written by a development version from before the first release",
            printable(url),
            "",
            "start a new ledger, or use the version that wrote this one",
        )
    if "bayescm_version" in tables:
        revision = connection.exec_driver_sql("SELECT version_num FROM bayescm_version").scalar()
        return _check_revision(revision)
    if foreign:
        raise fail(
            "The store has other tables, so it is not a ledger: {}",
            sorted(foreign)[:5],
            "",
            "use a separate file or database for the ledger, or restore a backup if it was one",
        )
    return None


def _check_revision(revision):
    numbers = [str(number) for number in range(1, int(REVISION) + 1)]
    if revision not in numbers:
        raise fail(
            "The ledger has the unknown version {}; this package knows versions up to "
            f"{REVISION}",
            revision,
            "",
            "install a newer bayescm (the ledger was not touched), or restore a backup",
        )
    return revision


def check_seal(connection: sa.Connection) -> None:
    """Raise an error if the tables differ from the seal in the ledger's header."""
    query = "SELECT seal FROM bayescm_ledger JOIN bayescm_version ON revision = version_num"
    headers = connection.exec_driver_sql(query).scalars().all()
    if headers != [_seal(connection)]:
        raise damage("its tables were changed")


def _seal(connection):
    """Return a hash of the statements that created the tables, or None for PostgreSQL."""
    if connection.dialect.name != "sqlite":
        return None
    query = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'bayescm_%' ORDER BY name"
    return digest(*[part for row in connection.exec_driver_sql(query) for part in row])


# Errors

# Errors of the drivers, including errors of sqlite3 that SQLAlchemy does not wrap.
DRIVER_ERRORS = (sa.exc.DBAPIError, sa.exc.TimeoutError, sqlite3.Error, UnicodeError, MemoryError)
_SIGNS_OF_DAMAGE = (
    "malformed",
    "no such table",
    "no such column",
    "decode",
    "unsupported file format",
    "corrupt",
    "too big",
    "has no column",
    "invalid page",
    "could not read block",
)
_REMEDIES = {
    "locked": "wait until the other process has finished, or pass a longer timeout",
    "lock timeout": "wait until the other process has finished, or pass a longer timeout",
    "full": "free some disk space",
    "No space": "free some disk space",
    "disk I/O error": "check whether the disk is full or failing",
    "unable to open": "create the folder, or check the path and its permissions",
    "readonly": "check the permissions of the file and its folder",
    "permission denied": "ask the owner of the database for the rights (docs: ledger-operations)",
    "no equivalent in encoding": "use a database whose encoding is UTF8",
    "connection": "check that the server runs and accepts the connection",
}


def explain(problem: Exception, purpose: str, url: sa.URL) -> Exception:
    """Return a plain error for an error of the database, without any credentials."""
    message = " ".join(str(getattr(problem, "orig", None) or problem).split())
    for secret in _secrets(url):
        message = message.replace(secret, "***")
    if "not a database" in message:
        return fail(
            "{} is not an SQLite database, or it is damaged",
            printable(url),
            "",
            "use a separate file for the ledger, or restore a backup",
        )
    is_damage = any(sign in message for sign in _SIGNS_OF_DAMAGE)
    if isinstance(problem, UnicodeError | MemoryError) or is_damage:
        return damage(f"{printable(url)} reported {message!r}")
    remedies = (todo for sign, todo in _REMEDIES.items() if sign in message)
    todo = next(remedies, "check the database")
    return OSError(
        f"Could not {purpose}: {printable(url)} reported {message!r}. Nothing is acknowledged that "
        f"is not stored. {todo[0].upper()}{todo[1:]}, then try again; no batch is counted twice."
    )
