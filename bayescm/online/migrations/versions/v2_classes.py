"""
Entries may rename and add classes.

The tables are not changed. A ledger gets this revision with the first entry that changes its
classes, so that versions of the package without support for these entries do not open the ledger.
"""

revision, down_revision = "2", "1"


def upgrade() -> None:
    """Leave the tables as they are."""
