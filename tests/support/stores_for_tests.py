"""Stores for the tests: SQLite in a folder of the test, PostgreSQL where the tests have one."""

import os
from contextlib import contextmanager
from uuid import uuid4

# The URL of a server on which databases may be made. Without it the tests of every store run with
# SQLite alone, and one skipped test says so.
POSTGRES = os.environ.get("BAYESCM_TEST_POSTGRES")
STORES = ["sqlite", "postgresql"] if POSTGRES else ["sqlite"]


@contextmanager
def empty_store(kind, folder):
    """Yield the address of an empty store, and remove it afterwards."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/eval.db"
        return
    import psycopg

    name = f"test_{uuid4().hex}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield f"{POSTGRES.rpartition('/')[0]}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
