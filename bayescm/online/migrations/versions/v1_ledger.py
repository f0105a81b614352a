"""The tables of the ledger, and the triggers that make them append-only."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision, down_revision = "1", None


def upgrade() -> None:
    """Make the tables, their index and their triggers."""
    _append_only(
        "bayescm_ledger",
        # One row for each revision that this ledger has been brought to; the last is its header.
        sa.Column("revision", sa.Text, primary_key=True),
        # Hash of the statements that made all tables and triggers; NULL on a server.
        sa.Column("seal", sa.Text),
        keys=[("revision",)],
    )
    _append_only(
        "bayescm_classifiers",
        # A classifier, or a challenge between two.
        sa.Column("classifier", sa.Text, primary_key=True),
        # What its batches are (counts, forecasts, paired_outcomes), and the version of the form
        # in which the description is written.
        sa.Column("encoding", sa.Text, nullable=False),
        sa.Column("encoding_version", sa.Integer, nullable=False),
        # JSON of what all batches share, such as the labels of the classes.
        sa.Column("description", sa.Text, nullable=False),
        keys=[("classifier",)],
    )
    _append_only(
        "bayescm_batches",
        _classifier(),
        sa.Column("entry", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("batch_id", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        # Type and version of the payload: entries of one classifier may be of several versions.
        sa.Column("encoding", sa.Text, nullable=False),
        sa.Column("encoding_version", sa.Integer, nullable=False),
        # JSON of the evidence; of counts and forecasts their cells, one list for each true class.
        sa.Column("payload", sa.Text, nullable=False),
        # The batch that this one replaces, which no longer counts.
        sa.Column("supersedes", sa.Text),
        sa.Column("recorded_at", sa.Text, nullable=False),
        # Of the batches that count after this entry: the sum of their payloads (NULL where it is
        # not exact), their number, and the latest time of observation.
        sa.Column("total", sa.Text),
        sa.Column("batches", sa.BigInteger, nullable=False),
        sa.Column("latest", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        keys=[("classifier", name) for name in ("entry", "batch_id", "supersedes")],
    )
    # A second way to the end of each chain, so that no one damaged page can hide it.
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
        # Which attempt to hand the alarm to the hook this is, from 1.
        sa.Column("attempt", sa.Integer, nullable=False),
        # "started", recorded before the attempt. What comes of it may be a further row.
        sa.Column("outcome", sa.Text, nullable=False),
        # Where an attempt has failed, the time of the next; NULL where there is to be none.
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
    """Return the columns that say which alarm a note is about."""
    return [
        *[sa.Column(name, sa.Text, nullable=False) for name in ("batch_id", "rule", "measure")],
        # The batch at which the incident began that the alarm is part of; NULL where alarms are
        # not grouped into incidents.
        sa.Column("incident", sa.Text),
    ]


def _append_only(table: str, *columns: sa.Column, keys: Sequence[Sequence[str]]) -> None:
    """Make a table in which no row can be changed, deleted or replaced; it has no two of a key."""
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
    # INSERT OR REPLACE deletes rows without a DELETE.
    equal = [" AND ".join(f"{name} = NEW.{name}" for name in key) for key in [("rowid",), *keys]]
    taken = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {each})" for each in equal)
    op.execute(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {taken} "
        f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
    )
