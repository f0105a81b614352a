"""Ledgers of every earlier schema are upgraded when they are opened, and stay whole."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from stores_for_tests import STORES, empty_store

import bayescm as bcm
from bayescm.online import Ledger, backup, verify
from bayescm.online.store import schema
from bayescm.online.store.address import parse

# As the code of that time wrote them: corrections, odd names, in the second acknowledgements too.
FROZEN = Path(__file__).parents[1] / "reference" / "ledgers"
EARLIER = range(1, schema.VERSION)
BATCH = bcm.from_cells(tp=40, fn=10, fp=5, tn=45)


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    with empty_store(request.param, tmp_path) as address:
        yield address


def put_back(version, store, folder):
    """Make the ledger of an earlier version, as it was, in a store."""
    text = (FROZEN / f"version_{version}.sql").read_text()
    path = parse(store).database if store.startswith("sqlite") else f"{folder}/frozen.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)
        connection.row_factory = sqlite3.Row
        if store.startswith("sqlite"):
            return
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}
    engine = sa.create_engine(parse(store))
    schema.upgrade(engine, str(version))
    with engine.begin() as connection:
        for name in ("bayescm_classifiers", *(each for each in found if each.endswith("s"))):
            for row in found.pop(name, []):
                into = ", ".join(f":{key}" for key in dict(row))
                connection.execute(sa.text(f"INSERT INTO {name} VALUES ({into})"), dict(row))
        connection.exec_driver_sql("DROP TABLE bayescm_revision")  # there was no Alembic then
    engine.dispose()


@pytest.mark.parametrize("version", EARLIER)
def test_a_ledger_of_an_earlier_version_is_upgraded(version, store, tmp_path):
    put_back(version, store, tmp_path)
    with Ledger(store, create=False) as ledger:
        found = verify(ledger)
        assert found[["classifier", "entries", "whole"]].values.tolist() == [
            ["animals שלום", 1, True],
            ["spam filter", 7, True],
        ]
        last = ledger.last("spam filter")
        assert (last.batch_id, last.batches) == ("day 2 again", 6)
        assert json.loads(last.total) == [[270, 30], [108, 192]]
        assert len(ledger.acknowledged("spam filter")) == (0 if version == 1 else 6)
        assert ledger.record("spam filter", "day 6", BATCH)
        assert not ledger.record("spam filter", "day 6", BATCH)
        copied = backup(ledger, tmp_path / "copy.db")
        assert copied["whole"].all()
        assert copied.equals(verify(ledger))
    engine = sa.create_engine(parse(store))
    with engine.begin() as connection, pytest.raises(sa.exc.DBAPIError, match="append-only"):
        connection.exec_driver_sql("UPDATE bayescm_batches SET cells = cells")
    engine.dispose()


def test_the_chain_of_a_ledger_that_had_one_is_not_touched(tmp_path):
    store = f"sqlite:///{tmp_path}/eval.db"
    put_back(2, store, tmp_path)
    query = "SELECT classifier, entry, hash FROM bayescm_batches ORDER BY 1, 2"
    with closing(sqlite3.connect(tmp_path / "eval.db")) as connection:
        before = connection.execute(query).fetchall()
        Ledger(store).close()
        assert connection.execute(query).fetchall() == before


def test_there_is_a_step_to_every_version():
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    steps = [each.revision for each in ScriptDirectory.from_config(config).walk_revisions()]
    assert steps == [str(number) for number in range(schema.VERSION, 0, -1)]
    assert sorted(FROZEN.glob("*.sql")) == [FROZEN / f"version_{each}.sql" for each in EARLIER]


@pytest.fixture
def next_step(tmp_path, monkeypatch):
    """Add a step to the migrations."""

    def add(*statements):
        folder = shutil.copytree(schema.MIGRATIONS, tmp_path / "migrations")
        lines = "".join(f"    op.execute({each!r})\n" for each in statements)
        number = schema.VERSION + 1
        (folder / "versions" / "next.py").write_text(
            f"from alembic import op\n\nrevision, down_revision = '{number}', '{schema.VERSION}'"
            f"\n\n\ndef upgrade():\n{lines}"
        )
        monkeypatch.setattr(schema, "MIGRATIONS", folder)
        monkeypatch.setattr(schema, "VERSION", number)

    return add


def test_a_later_step_is_taken_and_an_older_program_refuses(store, next_step, monkeypatch):
    with Ledger(store) as ledger:
        ledger.record("spam", 1, BATCH)
    next_step("ALTER TABLE bayescm_batches ADD COLUMN note TEXT")
    with Ledger(store, create=False) as ledger:
        assert ledger.read("spam").entry.tolist() == [1]
        assert ledger.record("spam", 2, BATCH)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=f"unknown version of the ledger: {schema.VERSION + 1}"):
        Ledger(store)


def test_a_step_that_fails_leaves_the_old_ledger(store, next_step, monkeypatch):
    with Ledger(store) as ledger:
        ledger.record("spam", 1, BATCH)
    next_step("ALTER TABLE bayescm_batches ADD COLUMN note TEXT", "no SQL at all")
    with pytest.raises(OSError, match="open the ledger"):
        Ledger(store)
    monkeypatch.undo()
    with Ledger(store) as ledger:
        assert ledger.record("spam", 2, BATCH)
