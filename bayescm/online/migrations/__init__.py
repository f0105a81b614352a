"""Schema of the ledger, for Alembic: `env`, and one file in `versions` per revision."""
