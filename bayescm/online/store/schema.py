"""The ledger's tables, and their versions."""

import os
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
acknowledgements = sa.Table(
    "bayescm_acknowledgements",
    metadata,
    sa.Column("classifier", sa.Text, sa.ForeignKey(classifiers.c.classifier), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("batch_id", sa.Text, nullable=False),
    sa.Column("rule", sa.Text, nullable=False),
    sa.Column("measure", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("recorded_at", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.UniqueConstraint("classifier", "batch_id", "rule", "measure"),
)

_LOCK = 0x62636D  # PostgreSQL's advisory lock that makes set-ups and migrations take turns

# What no second row may have of another, whatever the statement says of conflicts.
_KEYS = {
    "bayescm_schema": [("version",)],
    "bayescm_classifiers": [("classifier",)],
    "bayescm_batches": [("classifier", key) for key in ("entry", "batch_id", "corrects")],
    "bayescm_acknowledgements": [
        ("classifier", "number"),
        ("classifier", "batch_id", "rule", "measure"),
    ],
}

_FIRST = """
CREATE TABLE bayescm_schema (version INTEGER NOT NULL, PRIMARY KEY (version));
CREATE TABLE bayescm_classifiers (
    classifier TEXT NOT NULL, labels TEXT NOT NULL, PRIMARY KEY (classifier));
CREATE TABLE bayescm_batches (
    classifier TEXT NOT NULL, entry BIGINT NOT NULL, batch_id TEXT NOT NULL, at TEXT NOT NULL,
    cells TEXT NOT NULL, corrects TEXT, recorded_at TEXT NOT NULL,
    PRIMARY KEY (classifier, entry), UNIQUE (classifier, batch_id), UNIQUE (classifier, corrects),
    FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier))
"""
_SECOND = """
ALTER TABLE bayescm_schema ADD COLUMN seal TEXT;
ALTER TABLE bayescm_batches ADD COLUMN total TEXT;
ALTER TABLE bayescm_batches ADD COLUMN batches BIGINT;
ALTER TABLE bayescm_batches ADD COLUMN latest TEXT;
ALTER TABLE bayescm_batches ADD COLUMN hash TEXT;
CREATE TABLE bayescm_acknowledgements (
    classifier TEXT NOT NULL, number BIGINT NOT NULL, batch_id TEXT NOT NULL, rule TEXT NOT NULL,
    measure TEXT NOT NULL, note TEXT NOT NULL, recorded_at TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (classifier, number), UNIQUE (classifier, batch_id, rule, measure),
    FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier))
"""


def _create(connection):
    _run(connection, _FIRST)
    for table in ("bayescm_schema", "bayescm_classifiers", "bayescm_batches"):
        _guard(connection, table)


def _chain(connection):
    """Give every entry the hash of itself and its predecessor, and what it says of all so far."""
    _run(connection, _SECOND)
    _unguard(connection, "bayescm_batches")
    for row in connection.execute(sa.select(classifiers)).all():
        _fill(connection, row.classifier, row.labels)
    # A second way to the end of each chain, so that no one damaged page can hide it.
    _run(connection, "CREATE INDEX bayescm_hashes ON bayescm_batches (classifier, entry, hash)")
    _guard(connection, "bayescm_batches")
    _guard(connection, "bayescm_acknowledgements")
    if connection.dialect.name == "sqlite":
        for table, keys in _KEYS.items():
            connection.exec_driver_sql(_no_replacing(table, keys))


def _fill(connection, classifier, labels):
    mine = batches.c.classifier == classifier
    rows = connection.execute(sa.select(batches).where(mine).order_by(batches.c.entry)).all()
    start, last = chain.head(classifier, labels), None
    cells: dict[Any, str] = {}
    filled: list[chain.Entry] = []
    for row in rows:
        filled.append(chain.next_entry(start, last, row._asdict(), cells.get(row.corrects)))
        last, cells[row.batch_id] = filled[-1], filled[-1].cells
    new: dict[str, Any] = {
        name: sa.bindparam(name) for name in ("total", "batches", "latest", "hash")
    }
    statement = batches.update().where(mine, batches.c.entry == sa.bindparam("number")).values(new)
    names = ("total", "batches", "latest", "hash")
    values = [{"number": each.entry} | {k: getattr(each, k) for k in names} for each in filled]
    if values:
        connection.execute(statement, values)


def _run(connection, statements):
    for statement in statements.split(";"):
        connection.exec_driver_sql(statement)


def _guard(connection, table):
    """Make the database itself refuse to change or delete a row."""
    what = f"{table} is append-only"
    if connection.dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{what}'); END"
            )
        return
    connection.exec_driver_sql(
        f"CREATE OR REPLACE FUNCTION {table}_frozen() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{what}'; END $$"
    )
    connection.exec_driver_sql(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_frozen()"
    )


def _unguard(connection, table):
    names = [f"{table}_append_only ON {table}"]
    if connection.dialect.name == "sqlite":
        names = [f"{table}_no_{verb}" for verb in ("update", "delete")]
    for name in names:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")


def _no_replacing(table, keys):
    """Return the trigger that stops SQLite's INSERT OR REPLACE, which deletes without a DELETE."""
    same = [" AND ".join(f"{name} = NEW.{name}" for name in key) for key in [("rowid",), *keys]]
    there = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {each})" for each in same)
    return (
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {there} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )


# Step i leads from version i to version i + 1. A new ledger takes them all, an old one those it
# lacks; a step that has been released is never edited.
STEPS = [_create, _chain]


def make(path: Path, timeout: float) -> None:
    """Make a new ledger beside its final name first: no half-made or empty one is ever seen."""
    folder = Path(mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    part = folder / path.name
    engine = sqlite(part, timeout, mode="mode=rwc")
    try:
        with engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA journal_mode=WAL")  # in no transaction
        _upgrade(engine)
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
        if version == len(STEPS):
            return check_seal(connection)
    if version == 0 and not create:
        todo = "check the address, or add a batch to start a ledger"
        raise fail("no ledger", shown(url), "a store that a monitor wrote", todo)
    _upgrade(engine)
    return None


def _upgrade(engine):
    with begin(engine, write=True) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        for number in range(_version(connection), len(STEPS)):
            STEPS[number](connection)
            row = {"version": number + 1}
            if number:
                row["seal"] = _seal(connection)
            connection.execute(sa.insert(versions).values(row))


def _seal(connection):
    """Return a hash of the statements that made the tables, or None where a server keeps them."""
    if connection.dialect.name != "sqlite":
        return None
    query = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'bayescm_%' ORDER BY name"
    return chain.digest(*[part for row in connection.exec_driver_sql(query) for part in row])


def check_seal(connection: sa.Connection) -> None:
    """Raise where the tables are not as they were made."""
    newest = sa.select(versions.c.seal).order_by(versions.c.version.desc()).limit(1)
    if connection.execute(newest).scalar() != _seal(connection):
        raise chain.damage("its tables are not as they were made")


def _version(connection):
    """Return the version of the ledger, 0 where there is none."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    if connection.dialect.name == "sqlite":
        tables = set(connection.exec_driver_sql(query).scalars())
    else:
        tables = set(sa.inspect(connection).get_table_names())
    if versions.name in tables:
        return _known(connection.execute(sa.select(sa.func.max(versions.c.version))).scalar())
    foreign = tables if connection.dialect.name == "sqlite" else tables & set(metadata.tables)
    if foreign:
        todo = "give the ledger a file or database of its own, or restore a backup if it was one"
        raise fail("not a ledger", sorted(foreign)[:5], "a ledger or an empty store", todo)
    return 0


def _known(version):
    if not isinstance(version, int) or not 0 < version <= len(STEPS):
        raise fail(
            "unknown version of the ledger",
            version,
            f"at most {len(STEPS)}",
            "install a newer bayescm (the ledger was not touched), or restore a backup",
        )
    return version
