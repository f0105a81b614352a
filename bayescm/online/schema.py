"""The ledger's tables, and their versions."""

import time

import sqlalchemy as sa

from bayescm.online.engine import begin, shown
from bayescm.validate import fail

metadata = sa.MetaData()
versions = sa.Table(
    "bayescm_schema",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
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
    sa.UniqueConstraint("classifier", "batch_id"),
    sa.UniqueConstraint("classifier", "corrects"),
)

_LOCK = 0x62636D  # PostgreSQL's advisory lock that makes set-ups and migrations take turns


def _create(connection):
    metadata.create_all(connection)
    for table in metadata.tables:
        for statement in _append_only(connection.dialect.name, table):
            connection.exec_driver_sql(statement)


def _append_only(dialect, table):
    """Yield the triggers that make the database itself refuse to change or delete a row."""
    what = f"{table} is append-only"
    if dialect == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{what}'); END"
            )
    else:
        yield (
            f"CREATE FUNCTION {table}_frozen() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{what}'; END $$"
        )
        yield (
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_frozen()"
        )


# Step i leads from version i to version i + 1. A new ledger takes them all, an old one those it
# lacks; a step that has been released is never edited.
STEPS = [_create]


def prepare(engine: sa.Engine, *, create: bool) -> None:
    """
    Set up a new ledger, bring an older one to this version, refuse a newer or foreign one.

    Raises
    ------
    ValueError
        If the store is not a ledger of this or an older version.
    """
    with begin(engine, write=False) as connection:
        version = _version(connection)
    if version == len(STEPS):
        return
    if version == 0 and not create:
        todo = "check the address, or add a batch to start a ledger"
        raise fail("no ledger", shown(engine.url), "a store that a monitor wrote", todo)
    if engine.dialect.name == "sqlite":
        _use_wal(engine)
    with begin(engine, write=True) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        for number in range(_version(connection), len(STEPS)):
            STEPS[number](connection)
            connection.execute(versions.insert(), {"version": number + 1})


def _use_wal(engine):
    """Turn write-ahead logging on; SQLite does not wait for a lock here, so this does."""
    end = time.monotonic() + 30
    while True:
        try:
            with engine.connect() as connection:
                connection.connection.driver_connection.execute("PRAGMA journal_mode=WAL")
            return
        except Exception as problem:
            if "locked" not in str(problem) or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _version(connection):
    """Return the version of the ledger, 0 where there is none."""
    tables = set(sa.inspect(connection).get_table_names())
    if versions.name in tables:
        return _known(connection.execute(sa.select(sa.func.max(versions.c.version))).scalar())
    foreign = tables if connection.dialect.name == "sqlite" else tables & set(metadata.tables)
    if foreign:
        todo = "give the ledger a file or database of its own"
        raise fail("not a ledger", sorted(foreign)[:5], "a ledger or an empty store", todo)
    return 0


def _known(version):
    if version is None or not 0 < version <= len(STEPS):
        raise fail(
            "unknown version of the ledger",
            version,
            f"at most {len(STEPS)}",
            "install a newer bayescm (the ledger was not touched)",
        )
    return version
