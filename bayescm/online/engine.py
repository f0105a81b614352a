"""The ledger's connections: addresses, durable engines, and errors in plain words."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote

import sqlalchemy as sa

from bayescm.validate import fail

_REMEDIES = {
    "locked": "wait until the other process has finished, or pass a longer timeout",
    "lock timeout": "wait until the other process has finished, or pass a longer timeout",
    "full": "free some disk space",
    "disk I/O error": "look whether the disk is full or failing",
    "unable to open": "create the folder, or check the path and its permissions",
    "readonly": "check the permissions of the file and its folder",
    "connection": "check that the server runs and lets you in",
}


def parse(store: str) -> sa.URL:
    """
    Return the address of a store, or raise (without showing it: it may hold a password).

    Raises
    ------
    ValueError
        If it is neither SQLite nor PostgreSQL.
    """
    allowed = "sqlite:///FILE, a plain file name, or postgresql://USER@HOST/DATABASE"
    text = str(store).strip()
    try:
        url = sa.make_url(text if "://" in text else f"sqlite:///{text}")
        kind = {"postgres": "postgresql"}.get(url.get_backend_name(), url.get_backend_name())
    except (sa.exc.ArgumentError, ValueError):
        kind = "an address that cannot be read"
    else:
        if "@" in (url.host or ""):  # and so the end of a password would pass for a host
            todo = "write an @ in the password as %40"
            raise fail("the store's address has more than one @", ..., "one, before the host", todo)
    drivers = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
    if kind not in drivers or not text:
        todo = "pass store='sqlite:///eval.db'"
        raise fail("not the address of a ledger", kind, allowed, todo)
    return url.set(drivername=drivers[kind])


def shown(url: sa.URL) -> str:
    """Return the address without user, password and options, safe to print."""
    kind = url.get_backend_name()
    return sa.URL.create(kind, None, None, url.host, url.port, url.database).render_as_string()


def connect(url: sa.URL, *, create: bool, timeout: float) -> sa.Engine:
    """Return an engine whose every commit is durable."""
    if url.get_backend_name() == "postgresql":
        return _postgres(url, timeout)
    if not create and not is_memory(url) and not Path(url.database or "").is_file():
        todo = "check the path, or add a batch to start a ledger"
        raise fail("no ledger", url.database, "a file that a monitor has written", todo)
    return _sqlite(url, timeout)


def is_memory(url: sa.URL) -> bool:
    """Say whether an SQLite address is that of a database in memory."""
    return url.database in (None, "", ":memory:")


def _sqlite(url, timeout):
    pool = {"poolclass": sa.pool.StaticPool} if is_memory(url) else {}
    options = {"check_same_thread": False, "timeout": timeout}
    engine = sa.create_engine(url, connect_args=options, **pool)

    @sa.event.listens_for(engine, "connect")
    def durable(connection, _):
        connection.isolation_level = None  # so that BEGIN is ours, see `begin`
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin_as_asked(connection):
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    return engine


def _postgres(url, timeout):
    # A server may be set to acknowledge before it has written; a ledger may not.
    options = f"-c synchronous_commit=on -c lock_timeout={int(timeout * 1000)}"
    arguments = {"options": options, "connect_timeout": 10}
    try:
        return sa.create_engine(url, pool_pre_ping=True, connect_args=arguments)
    except ModuleNotFoundError:
        todo = "install the extra: pip install 'bayescm[postgres]'"
        raise fail("PostgreSQL needs psycopg", ..., "psycopg >= 3.2", todo) from None


@contextmanager
def begin(engine: sa.Engine, *, write: bool) -> Iterator[sa.Connection]:
    """Open a transaction; a writing one takes SQLite's write lock at once, and so fails early."""
    with engine.connect() as connection:
        connection = connection.execution_options(begin="BEGIN IMMEDIATE" if write else "BEGIN")
        with connection.begin():
            yield connection


def explain(problem: Exception, doing: str, url: sa.URL) -> Exception:
    """Return an error in plain words for one of the database's, without any credentials."""
    said = " ".join(str(getattr(problem, "orig", None) or problem).split())
    for secret in _secrets(url):
        said = said.replace(secret, "***")
    if "not a database" in said:
        todo = "give the ledger a file of its own"
        return fail("not a ledger", shown(url), "an SQLite database", todo)
    todo = next((todo for sign, todo in _REMEDIES.items() if sign in said), "check the database")
    return OSError(
        f"Could not {doing}: {shown(url)} said {said!r}. The ledger is whole, and nothing "
        f"unacknowledged counts. {todo[0].upper()}{todo[1:]}, then try again; nothing counts twice."
    )


def _secrets(url):
    held = [url.password, *(v for k, v in url.query.items() if "pass" in k.lower())]
    plain = [str(each) for each in held if each]
    return {form for each in plain for form in (each, quote(each, safe=""), unquote(each))}
