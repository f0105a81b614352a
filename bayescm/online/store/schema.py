"""The ledger's tables, and their versions."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import sqlalchemy as sa

from bayescm.online.store import chain
from bayescm.online.store.engine import begin, shown, sqlite
from bayescm.validate import fail

metadata = sa.MetaData()
versions = sa.Table(
    "bayescm_schema",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("seal", sa.Text),
)
classifiers = sa.Table(
    "bayescm_classifiers",
    metadata,
    sa.Column("classifier", sa.Text, primary_key=True),
    sa.Column("labels", sa.Text, nullable=False),
)
batches = sa.Table(
    "bayescm_batches",
    metadata,
    sa.Column("classifier", sa.Text, sa.ForeignKey(classifiers.c.classifier), primary_key=True),
    sa.Column("entry", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("batch_id", sa.Text, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("cells", sa.Text, nullable=False),
    sa.Column("corrects", sa.Text),
    sa.Column("recorded_at", sa.Text, nullable=False),
    sa.Column("total", sa.Text),
    sa.Column("batches", sa.BigInteger),
    sa.Column("latest", sa.Text),
    sa.Column("hash", sa.Text),
    sa.UniqueConstraint("classifier", "batch_id"),
    sa.UniqueConstraint("classifier", "corrects"),
)


def _about_alarms(name, *further, once):
    """Return a table of what is noted about alarms, at most once for each of these columns."""
    alarm = ("batch_id", "rule", "measure")
    key = sa.ForeignKey(classifiers.c.classifier)
    return sa.Table(
        name,
        metadata,
        sa.Column("classifier", sa.Text, key, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        *[sa.Column(each, sa.Text, nullable=False) for each in (*alarm, *further)],
        sa.Column("recorded_at", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.UniqueConstraint("classifier", *alarm, *once),
    )


acknowledgements = _about_alarms("bayescm_acknowledgements", "note", once=())
deliveries = _about_alarms("bayescm_deliveries", "hook", once=("hook",))

VERSION = 3  # of these tables; the steps to it are in `MIGRATIONS`, one file for each
MIGRATIONS = Path(__file__).parent / "migrations"
_REVISION = "bayescm_revision"  # Alembic's table
_LOCK = 0x62636D  # PostgreSQL's advisory lock that makes set-ups and migrations take turns
_alembic = threading.RLock()  # which has one migration at a time in a process
os.register_at_fork(
    before=_alembic.acquire, after_in_parent=_alembic.release, after_in_child=_alembic.release
)


def make(path: Path, timeout: float, revision: str = "head") -> None:
    """Make a new ledger beside its final name first: no half-made or empty one is ever seen."""
    folder = Path(mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    part = folder / path.name
    engine = sqlite(part, timeout, mode="mode=rwc")
    try:
        with engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA journal_mode=WAL")  # in no transaction
        upgrade(engine, revision)
        engine.dispose()
        publish(part, path)
    finally:
        engine.dispose()
        for each in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
            each.unlink(missing_ok=True)
        folder.rmdir()


def publish(part: Path, path: Path) -> None:
    """Give a finished file its name, durably; leave the one that is there where there is one."""
    _sync(part)
    with suppress(FileExistsError):  # another process was quicker
        os.link(part, path)
    _sync(path.parent)


def _sync(path):
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def prepare(engine: sa.Engine, url: sa.URL, *, create: bool) -> None:
    """
    Set up a new ledger, bring an older one to this version, refuse a newer or foreign one.

    Raises
    ------
    ValueError
        If the store is not a ledger of this or an older version, or the seal of its tables is
        broken.
    """
    with begin(engine, write=False) as connection:
        version = _version(connection)
        if version == VERSION:
            return check_seal(connection)
    if version == 0 and not create:
        todo = "check the address, or add a batch to start a ledger"
        raise fail("no ledger", shown(url), "a store that a monitor wrote", todo)
    upgrade(engine)
    return None


def upgrade(engine: sa.Engine, revision: str = "head") -> None:
    """Bring a ledger to a version, an empty store too, all in one transaction."""
    from alembic import command  # loaded by nothing but this
    from alembic.config import Config

    with begin(engine, write=True) as connection, _alembic:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        config = Config(attributes={"connection": connection, "applied": _applied})
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        found = _version(connection)
        if found and not sa.inspect(connection).has_table(_REVISION):  # older than Alembic here
            command.stamp(config, str(found))
        command.upgrade(config, revision)


def _applied(*, ctx, step, **_):
    """Note the version and the seal of the tables; versions before Alembic look for them too."""
    if step.is_stamp:
        return
    row: dict[str, Any] = {"version": int(step.up_revision_id)}
    if row["version"] > 1:
        row["seal"] = _seal(ctx.connection)
    ctx.connection.execute(sa.insert(versions).values(row))


def _seal(connection):
    """Return a hash of the statements that made the tables, or None where a server keeps them."""
    if connection.dialect.name != "sqlite":
        return None
    query = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'bayescm_%' ORDER BY name"
    return chain.digest(*[part for row in connection.exec_driver_sql(query) for part in row])


def check_seal(connection: sa.Connection) -> None:
    """Raise where the tables are not as they were made."""
    newest = "SELECT seal FROM bayescm_schema ORDER BY version DESC LIMIT 1"
    if connection.exec_driver_sql(newest).scalar() != _seal(connection):
        raise chain.damage("its tables are not as they were made")


def _version(connection):
    """Return the version of the ledger, 0 where there is none."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    if connection.dialect.name == "sqlite":
        tables = set(connection.exec_driver_sql(query).scalars())
    else:
        tables = set(sa.inspect(connection).get_table_names())
    if versions.name in tables:
        newest = "SELECT max(version) FROM bayescm_schema"  # as text: compiling it takes longer
        return _known(connection.exec_driver_sql(newest).scalar())
    foreign = tables if connection.dialect.name == "sqlite" else tables & set(metadata.tables)
    if foreign:
        todo = "give the ledger a file or database of its own, or restore a backup if it was one"
        raise fail("not a ledger", sorted(foreign)[:5], "a ledger or an empty store", todo)
    return 0


def _known(version):
    if not isinstance(version, int) or not 0 < version <= VERSION:
        raise fail(
            "unknown version of the ledger",
            version,
            f"at most {VERSION}",
            "install a newer bayescm (the ledger was not touched), or restore a backup",
        )
    return version
