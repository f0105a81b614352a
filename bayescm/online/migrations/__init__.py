"""The schema of the ledger, for Alembic: `env` and one file in `versions` for each revision."""
