"""
Entries may rename and add classes.

The tables are the same. A ledger gets this revision with its first such entry, so that a version
of the package that does not know them opens no such ledger.
"""

revision, down_revision = "2", "1"


def upgrade() -> None:
    """Leave the tables as they are."""
