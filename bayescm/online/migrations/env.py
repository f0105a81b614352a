"""What Alembic runs: the revisions that a ledger lacks, in the transaction that it is given."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="bayescm_version",  # a server may hold another program's alembic_version
)
with context.begin_transaction():
    context.run_migrations()
