"""The chain: every entry has the hash of itself and its predecessor, and the sums so far."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from bayescm.online.store import chain
from bayescm.online.store.migrations.guards import guard, no_replacing, run, unguard

revision, down_revision = "2", "1"

_TABLES = """
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
# What no second row may have of another, whatever the statement says of conflicts.
_KEYS: dict[str, list[tuple[str, ...]]] = {
    "bayescm_schema": [("version",)],
    "bayescm_classifiers": [("classifier",)],
    "bayescm_batches": [("classifier", key) for key in ("entry", "batch_id", "corrects")],
    "bayescm_acknowledgements": [
        ("classifier", "number"),
        ("classifier", "batch_id", "rule", "measure"),
    ],
}
_NEW = ("total", "batches", "latest", "hash")


def upgrade() -> None:
    """Make the columns and fill them."""
    connection = op.get_bind()
    run(connection, _TABLES)
    unguard(connection, "bayescm_batches")
    for row in connection.execute(sa.text("SELECT * FROM bayescm_classifiers")).all():
        _fill(connection, row.classifier, row.labels)
    # A second way to the end of each chain, so that no one damaged page can hide it.
    run(connection, "CREATE INDEX bayescm_hashes ON bayescm_batches (classifier, entry, hash)")
    guard(connection, "bayescm_batches")
    guard(connection, "bayescm_acknowledgements")
    for table, keys in _KEYS.items():
        no_replacing(connection, table, keys)


def _fill(connection, classifier, labels):
    query = sa.text("SELECT * FROM bayescm_batches WHERE classifier = :who ORDER BY entry")
    rows = connection.execute(query, {"who": classifier}).all()
    start, last = chain.head(classifier, labels), None
    cells: dict[Any, str] = {}
    filled: list[chain.Entry] = []
    for row in rows:
        filled.append(chain.next_entry(start, last, row._asdict(), cells.get(row.corrects)))
        last, cells[row.batch_id] = filled[-1], filled[-1].cells
    assigned = ", ".join(f"{name} = :{name}" for name in _NEW)
    statement = f"UPDATE bayescm_batches SET {assigned} WHERE classifier = :who AND entry = :entry"
    names = ("entry", *_NEW)
    values = [{"who": classifier} | {k: getattr(each, k) for k in names} for each in filled]
    if values:
        connection.execute(sa.text(statement), values)
