"""Classifiers and their batches."""

from alembic import op

from bayescm.online.store.migrations.guards import guard, run

revision, down_revision = "1", None

_TABLES = """
CREATE TABLE bayescm_schema (version INTEGER NOT NULL, PRIMARY KEY (version));
CREATE TABLE bayescm_classifiers (
    classifier TEXT NOT NULL, labels TEXT NOT NULL, PRIMARY KEY (classifier));
CREATE TABLE bayescm_batches (
    classifier TEXT NOT NULL, entry BIGINT NOT NULL, batch_id TEXT NOT NULL, at TEXT NOT NULL,
    cells TEXT NOT NULL, corrects TEXT, recorded_at TEXT NOT NULL,
    PRIMARY KEY (classifier, entry), UNIQUE (classifier, batch_id), UNIQUE (classifier, corrects),
    FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier))
"""


def upgrade() -> None:
    """Make the tables."""
    connection = op.get_bind()
    run(connection, _TABLES)
    for table in ("bayescm_schema", "bayescm_classifiers", "bayescm_batches"):
        guard(connection, table)
