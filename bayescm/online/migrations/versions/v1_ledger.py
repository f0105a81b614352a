"""The tables of the ledger, and the triggers that make them append-only."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision, down_revision = "1", None


def upgrade() -> None:
    """Create the tables, their index and their triggers."""
    _append_only(
        "bayescm_ledger",
        # One row for each revision of this ledger so far. The last row is the current header.
        sa.Column("revision", sa.Text, primary_key=True),
        # Hash of the statements that created all tables and triggers. NULL in PostgreSQL.
        sa.Column("seal", sa.Text),
        keys=[("revision",)],
    )
    _append_only(
        "bayescm_classifiers",
        # Name of a classifier, or of a challenge between two classifiers.
        sa.Column("classifier", sa.Text, primary_key=True),
        # Type of the batches (such as counts or paired_outcomes), and the version of the format of
        # the description.
        sa.Column("encoding", sa.Text, nullable=False),
        sa.Column("encoding_version", sa.Integer, nullable=False),
        # JSON of the facts that all batches share, such as the labels of the classes.
        sa.Column("description", sa.Text, nullable=False),
        keys=[("classifier",)],
    )
    _append_only(
        "bayescm_batches",
        _classifier(),
        sa.Column("entry", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("batch_id", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        # Type and version of the payload. Versions may differ between entries of one classifier.
        sa.Column("encoding", sa.Text, nullable=False),
        sa.Column("encoding_version", sa.Integer, nullable=False),
        # JSON of the evidence. For counts and forecasts: the cells, one list per actual class.
        sa.Column("payload", sa.Text, nullable=False),
        # Batch that this one replaces.
        sa.Column("supersedes", sa.Text),
        sa.Column("recorded_at", sa.Text, nullable=False),
        # For the current batches after this entry: the sum of their payloads (NULL if it is not
        # exact) and their number. Then the latest time of observation in all entries so far.
        sa.Column("total", sa.Text),
        sa.Column("batches", sa.BigInteger, nullable=False),
        sa.Column("latest", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        keys=[("classifier", name) for name in ("entry", "batch_id", "supersedes")],
    )
    # This index is a second way to find the end of each chain, so that a single damaged page cannot
    # hide it.
    op.create_index("bayescm_hashes", "bayescm_batches", ["classifier", "entry", "hash"])
    _append_only(
        "bayescm_acknowledgements",
        _classifier(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        *_alarm(),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("recorded_at", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        keys=[("classifier", "number"), ("classifier", "batch_id", "rule", "measure")],
    )
    alarm = ("classifier", "batch_id", "rule", "measure")
    _append_only(
        "bayescm_deliveries",
        _classifier(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        *_alarm(),
        sa.Column("hook", sa.Text, nullable=False),
        # Number of the attempt to send the alarm to the hook, starting at 1.
        sa.Column("attempt", sa.Integer, nullable=False),
        # "started" is recorded before the attempt. Its result, "delivered" or "failed", is a
        # separate row.
        sa.Column("outcome", sa.Text, nullable=False),
        # Earliest time of the next attempt after a failure. NULL if no attempt is planned.
        sa.Column("next_try", sa.Text),
        sa.Column("recorded_at", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        keys=[("classifier", "number"), (*alarm, "hook", "attempt", "outcome")],
    )


def _classifier():
    return sa.Column(
        "classifier", sa.Text, sa.ForeignKey("bayescm_classifiers.classifier"), primary_key=True
    )


def _alarm():
    """Return the columns that identify the alarm of a note."""
    return [
        *[sa.Column(name, sa.Text, nullable=False) for name in ("batch_id", "rule", "measure")],
        # Batch that opened the incident of the alarm. NULL if alarms are not grouped into
        # incidents.
        sa.Column("incident", sa.Text),
    ]


def _append_only(table: str, *columns: sa.Column, keys: Sequence[Sequence[str]]) -> None:
    """Create a table with unique keys whose rows cannot be changed, deleted or replaced."""
    primary = [column.name for column in columns if column.primary_key]
    unique = [sa.UniqueConstraint(*key) for key in keys if list(key) != primary]
    op.create_table(table, *columns, *unique)
    refusal = f"{table} is append-only"
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            f"CREATE FUNCTION {table}_frozen() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{refusal}'; END $$"
        )
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_frozen()"
        )
        return
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
        )
    # INSERT OR REPLACE deletes rows without firing the DELETE trigger.
    equal = [" AND ".join(f"{name} = NEW.{name}" for name in key) for key in [("rowid",), *keys]]
    taken = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {each})" for each in equal)
    op.execute(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {taken} "
        f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
    )
