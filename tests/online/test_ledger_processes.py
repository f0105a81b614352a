"""The ledger under real processes: killed, crowded, out of disk."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from ledger_worker import counts
from stores_for_tests import STORES, empty_store

from bayescm.online.database import parse
from bayescm.online.ledger import Ledger

# More of them on request: a nightly run kills 200 writers, as the ledger was tested first.
KILLS = int(os.environ.get("BAYESCM_TEST_KILLS", "60"))
WORKER = Path(__file__).parents[1] / "support" / "ledger_worker.py"


@pytest.fixture(params=STORES)
def store(request):
    # What is tested here is processes, not the disk: memory makes it quick where there is some.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(dir=memory) as folder,
        empty_store(request.param, folder) as address,
    ):
        yield address


def run(job, store, *numbers):
    command = [sys.executable, str(WORKER), job, store, *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    return json.loads(done.stdout)


def record(store, writer, number):
    with Ledger(store) as ledger:
        assert ledger.record("classifier", f"{writer}-{number}", counts(writer, number))


def check_whole(store):
    """Check that every entry is whole and none is doubled; return the ids in their order."""
    with Ledger(store, create=False) as ledger:
        entries = ledger.read("classifier")
    assert entries.entry.tolist() == list(range(1, len(entries.entry) + 1))
    assert len(set(entries.batch_id)) == len(entries.batch_id)
    for batch_id, cells in zip(entries.batch_id, entries.cells, strict=True):
        writer, number = map(int, batch_id.split("-"))
        assert cells.tolist() == counts(writer, number).values.tolist()
    if store.startswith("sqlite"):
        engine = sa.create_engine(parse(store))
        with engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        engine.dispose()
    return entries.batch_id.tolist()


@pytest.mark.long
@pytest.mark.slow
def test_kills_lose_no_acknowledged_batch_and_leave_no_half_one(store):
    said = run("kill", store, KILLS, 1, 0.08)
    written = check_whole(store)
    acknowledged = [batch for each in said for batch in each]
    assert sum(bool(each) for each in said) >= KILLS // 2
    assert set(acknowledged) <= set(written)
    # A writer may die between its commit and its acknowledgement, so one more each may be in.
    for writer, each in enumerate(said):
        mine = [batch for batch in written if batch.startswith(f"{writer}-")]
        assert mine[: len(each)] == each
        assert len(mine) - len(each) in (0, 1)
    record(store, 999, 0)
    assert check_whole(store)[-1] == "999-0"


@pytest.mark.long
@pytest.mark.slow
def test_kills_while_the_ledger_is_set_up_leave_it_usable(tmp_path):
    for trial, said in enumerate(run("kill_set_ups", str(tmp_path), max(4, KILLS // 16))):
        store = f"sqlite:///{tmp_path}/{trial}.db"
        record(store, 99, 0)
        assert {batch for each in said for batch in each} <= set(check_whole(store))


@pytest.mark.long
@pytest.mark.slow
def test_8_writers_at_once_lose_and_double_nothing(store):
    assert run("crowd", store, 8, 5 * KILLS) == [0] * 8
    written = check_whole(store)
    assert sorted(written) == sorted(
        f"{writer}-{n}" for writer in range(8) for n in range(5 * KILLS)
    )


@pytest.mark.long
def test_a_full_disk_is_said_and_leaves_the_ledger_whole(tmp_path):
    store = f"sqlite:///{tmp_path}/eval.db"
    said, problem = run("fill", store, 200_000)
    assert len(said) > 10
    assert "record batch" in problem
    assert "full" in problem
    assert "whole" not in problem  # which nobody has looked at
    assert check_whole(store) == said
    number = len(said)
    record(store, 0, number)
    assert check_whole(store)[-1] == f"0-{number}"
