"""Environment of Alembic, which applies missing revisions in the transaction of the caller."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="bayescm_version",  # a server may contain another program's alembic_version
)
with context.begin_transaction():
    context.run_migrations()
