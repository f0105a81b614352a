"""Which alarms were handed to which hook, so that none is handed over twice."""

from alembic import op

from bayescm.online.store.migrations.guards import guard, no_replacing, run

revision, down_revision = "3", "2"

_TABLE = """
CREATE TABLE bayescm_deliveries (
    classifier TEXT NOT NULL, number BIGINT NOT NULL, batch_id TEXT NOT NULL, rule TEXT NOT NULL,
    measure TEXT NOT NULL, hook TEXT NOT NULL, recorded_at TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (classifier, number), UNIQUE (classifier, batch_id, rule, measure, hook),
    FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier))
"""
_KEYS = [("classifier", "number"), ("classifier", "batch_id", "rule", "measure", "hook")]


def upgrade() -> None:
    """Make the table."""
    connection = op.get_bind()
    run(connection, _TABLE)
    guard(connection, "bayescm_deliveries")
    no_replacing(connection, "bayescm_deliveries", _KEYS)
