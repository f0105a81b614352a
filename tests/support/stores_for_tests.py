"""Stores for the tests: SQLite in a temporary folder and, if available, PostgreSQL."""

import os
from contextlib import contextmanager
from uuid import uuid4

# The URL of a server on which databases can be created. Without it, tests of stores use SQLite
# only, and a skipped test reports this.
POSTGRES = os.environ.get("BAYESCM_TEST_POSTGRES")
STORES = ["sqlite", "postgresql"] if POSTGRES else ["sqlite"]


@contextmanager
def empty_store(kind, folder):
    """Yield the URL of an empty store, and remove the store afterwards."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/eval.db"
        return
    import psycopg

    name = f"test_{uuid4().hex}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield f"{POSTGRES.rpartition('/')[0]}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
