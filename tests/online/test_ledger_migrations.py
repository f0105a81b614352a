"""The schema of the ledger: what its revisions make, and which ledgers are not taken."""

import ast
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from stores_for_tests import STORES, empty_store

import bayescm as bcm
from bayescm.online import Ledger, database, ledger, verify
from bayescm.online.database import parse

REFERENCE = Path(__file__).parents[1] / "reference"
BATCH = bcm.from_cells(tp=40, fn=10, fp=5, tn=45)


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    with empty_store(request.param, tmp_path) as address:
        yield address


def scripts():
    config = Config()
    config.set_main_option("script_location", str(database.MIGRATIONS))
    return ScriptDirectory.from_config(config)


def test_there_is_one_line_of_revisions():
    steps = [each.revision for each in scripts().walk_revisions()]
    assert steps == [str(number) for number in range(int(database.REVISION), 0, -1)]


def test_a_revision_imports_nothing_of_the_package():
    for path in database.MIGRATIONS.rglob("*.py"):
        tree = ast.parse(path.read_text())
        imports = [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
        assert not [each for each in imports if "bayescm" in ast.unparse(each)]


def test_the_tables_are_those_that_statements_name(store):
    engine = sa.create_engine(parse(store))
    with Ledger(store), engine.connect() as connection:
        inspector = sa.inspect(connection)
        tables = (ledger.classifier_table, ledger.batch_table)
        for table in (*tables, ledger.acknowledgement_table, ledger.delivery_table):
            names = [each["name"] for each in inspector.get_columns(table.name)]
            assert names == [each.name for each in table.c]
    engine.dispose()


def test_a_ledger_of_a_development_version_is_refused_and_not_touched(store):
    engine = sa.create_engine(parse(store))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE bayescm_schema (version INTEGER, seal TEXT)")
        connection.exec_driver_sql("INSERT INTO bayescm_schema (version) VALUES (3)")
    with pytest.raises(ValueError, match="development version") as error:
        Ledger(store)
    assert "\n" not in str(error.value)
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == ["bayescm_schema"]
    engine.dispose()


def test_a_header_of_another_revision_is_damage(tmp_path):
    path = tmp_path / "eval.db"
    Ledger(path).close()
    with closing(sqlite3.connect(path)) as connection:
        triggers = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'bayescm_ledger_no_%'"
        found = connection.execute(triggers).fetchall()
        for name, _ in found:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE bayescm_ledger SET revision = '3'")
        for _, statement in found:
            connection.execute(statement)
        connection.commit()
    with pytest.raises(ValueError, match=r"damaged.*its tables were changed"):
        Ledger(path)


@pytest.fixture
def next_step(tmp_path, monkeypatch):
    """Add a revision to the migrations."""

    def add(*statements):
        folder = shutil.copytree(database.MIGRATIONS, tmp_path / "migrations")
        lines = "".join(f"    op.execute({each!r})\n" for each in statements)
        now = database.REVISION
        number = str(int(now) + 1)
        (folder / "versions" / "next.py").write_text(
            f"from alembic import op\n\nrevision, down_revision = '{number}', '{now}'"
            f"\n\n\ndef upgrade():\n{lines}"
        )
        monkeypatch.setattr(database, "MIGRATIONS", folder)
        monkeypatch.setattr(database, "REVISION", number)
        monkeypatch.setattr(database, "TABLES", number)

    return add


@pytest.mark.long
def test_a_later_step_is_taken_and_an_older_program_refuses(store, next_step, monkeypatch):
    with Ledger(store) as opened:
        opened.record("spam", 1, BATCH)
    next_step("ALTER TABLE bayescm_batches ADD COLUMN note TEXT")
    with Ledger(store, create=False) as opened:
        assert opened.read("spam").entry.tolist() == [1]
        assert opened.record("spam", 2, BATCH)
        assert verify(opened)["whole"].all()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="The ledger has the unknown version"):
        Ledger(store)


def test_a_step_that_fails_leaves_the_old_ledger(store, next_step, monkeypatch):
    with Ledger(store) as opened:
        opened.record("spam", 1, BATCH)
    next_step("ALTER TABLE bayescm_batches ADD COLUMN note TEXT", "no SQL at all")
    with pytest.raises(OSError, match="open the ledger"):
        Ledger(store)
    monkeypatch.undo()
    with Ledger(store) as opened:
        assert opened.record("spam", 2, BATCH)


@pytest.mark.long
@pytest.mark.parametrize("classifier", ["spam filter", "risk"])
def test_a_ledger_of_revision_1_says_what_it_said(tmp_path, classifier):
    store, floor = tmp_path / "eval.db", {"spam filter": {"recall": 0.85}, "risk": {"auc": 0.7}}
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript((REFERENCE / "ledger_revision_1.sql").read_text())
    recorded = json.loads((REFERENCE / "ledger_revision_1.json").read_text())[classifier]
    assert verify(store)["whole"].all()
    with bcm.online.Monitor(store, classifier) as monitor:
        table, history = monitor.summary(kind="eti"), monitor.history(kind="eti")
        alarms = monitor.alarms(floor=floor[classifier])
        if classifier == "spam filter":  # what is known is known since a change; of all batches:
            table = bcm.summary(monitor.batches().sum("step"), [*recorded["mean"]])
        else:  # as where a change is not noticed; of forecasts it was not looked for then
            table, history = (
                ask(kind="eti", rate=1e-100) for ask in (monitor.summary, monitor.history)
            )
            alarms = alarms[alarms["rule"] != "change"]
    assert dict(zip(table["measure"], table["mean"].round(10), strict=True)) == pytest.approx(
        recorded["mean"], abs=1e-9
    )
    for name, ends in recorded["history"].items():
        before = 3 if classifier == "spam filter" else len(ends)  # batches before the change
        np.testing.assert_allclose(history[name][:before], ends[:before], atol=1e-6)
    columns = ["batch_id", "rule", "measure", "acknowledged"]
    assert sorted(alarms[columns].astype(str).values.tolist()) == sorted(recorded["alarms"])
    with (
        bcm.online.Challenge(store, "duel") as challenge,
        pytest.raises(ValueError, match="The ledger does not contain the measure"),
    ):
        challenge.history()
    with bcm.online.Challenge(store, "duel", measure="accuracy") as challenge:
        assert challenge.history()["batch_id"].tolist() == ["one"]
