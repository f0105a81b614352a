"""The steps from each schema of the ledger to the next, for Alembic."""
