"""Triggers by which the database itself refuses to change or delete a row."""

from collections.abc import Sequence

import sqlalchemy as sa


def run(connection: sa.Connection, statements: str) -> None:
    """Run statements that are separated by semicolons."""
    for statement in statements.split(";"):
        connection.exec_driver_sql(statement)


def guard(connection: sa.Connection, table: str) -> None:
    """Refuse UPDATE, DELETE and TRUNCATE."""
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


def unguard(connection: sa.Connection, table: str) -> None:
    """Allow what `guard` refuses, for a step that fills new columns."""
    names = [f"{table}_append_only ON {table}"]
    if connection.dialect.name == "sqlite":
        names = [f"{table}_no_{verb}" for verb in ("update", "delete")]
    for name in names:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")


def no_replacing(connection: sa.Connection, table: str, keys: Sequence[Sequence[str]]) -> None:
    """Stop SQLite's INSERT OR REPLACE, which deletes without a DELETE."""
    if connection.dialect.name != "sqlite":
        return
    same = [" AND ".join(f"{name} = NEW.{name}" for name in key) for key in [("rowid",), *keys]]
    there = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {each})" for each in same)
    connection.exec_driver_sql(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {there} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )
