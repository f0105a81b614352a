"""What Alembic runs: the steps that a ledger lacks, in the transaction that it is given."""

from alembic import context

config = context.config
context.configure(
    connection=config.attributes["connection"],
    version_table="bayescm_revision",
    on_version_apply=config.attributes["applied"],
)
with context.begin_transaction():
    context.run_migrations()
