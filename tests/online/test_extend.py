"""Many batches at once, and batches without examples."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from specimen_ledger import BATCHES

import bayescm as bcm
from bayescm.online import Monitor, verify


def tables(n, seed=0):
    rng = np.random.default_rng(seed)
    tp, tn = rng.binomial(5000, [[0.9, 0.8]] * n).T
    counts = bcm.from_cells(tp=tp, fn=5000 - tp, fp=5000 - tn, tn=tn)
    return counts.assign_coords(batch=[f"b{number}" for number in range(n)])


@pytest.mark.long
def test_it_is_what_add_records(tmp_path):
    counts = tables(25)
    with (
        Monitor(str(tmp_path / "a.db"), "mail") as one,
        Monitor(str(tmp_path / "b.db"), "mail") as many,
    ):
        for k in range(25):
            one.add(f"b{k}", counts[k].drop_vars("batch"), at=f"2026-01-01T00:{k:02}")
        pairs = [
            (f"b{k}", counts[k].drop_vars("batch"), f"2026-01-01T00:{k:02}") for k in range(25)
        ]
        assert many.extend(iter(pairs), block=10) == 25
        assert many.extend(pairs) == 0
        columns = ["entry", "batch_id", "at", "cells"]
        assert one.ledger.table()[columns].equals(many.ledger.table()[columns])
        assert one.ledger.last("mail").total == many.ledger.last("mail").total
    assert verify(tmp_path / "b.db")["whole"].all()


@pytest.mark.long
def test_tables_are_recorded_by_their_names(tmp_path):
    with Monitor(str(tmp_path / "a.db"), "mail") as monitor:
        assert monitor.extend(tables(3)) == 3
        assert monitor.extend(tables(7)) == 4
        np.testing.assert_array_equal(monitor.batches(), tables(7))
        turned = tables(9)[:, ::-1, ::-1]
        assert monitor.extend(turned) == 2
        np.testing.assert_array_equal(monitor.batches(), tables(9))
        assert monitor.add("b3", tables(7)[3].drop_vars("batch")) is False


@pytest.mark.long
def test_another_batch_of_a_name_is_refused_and_earlier_blocks_stay(tmp_path):
    with Monitor(str(tmp_path / "a.db"), "mail") as monitor:
        monitor.add("b7", tables(1, seed=5)[0].drop_vars("batch"))
        with pytest.raises(ValueError, match="Batch 'b7' is already recorded with other counts"):
            monitor.extend(tables(9), block=3)
        assert len(monitor.ledger.table()) == 7
        with pytest.raises(ValueError, match="Batch 'x' is already recorded with other counts"):
            monitor.extend(
                [("x", tables(2)[0].drop_vars("batch")), ("x", tables(2)[1].drop_vars("batch"))]
            )


def test_what_is_no_batch_is_refused(tmp_path):
    with Monitor(str(tmp_path / "a.db"), "mail") as monitor:
        for wrong in (["b1"], [("b1",)], [("b1", 3)], tables(2).rename(batch="fold")):
            with pytest.raises((ValueError, TypeError)):
                monitor.extend(wrong)
        empty = tables(3).copy()
        empty[1] = 0
        with pytest.raises(ValueError, match="have no examples"):
            monitor.extend(empty)
        assert monitor.extend([]) == 0
        assert monitor.labels() is None
        monitor.extend(tables(2))
        other = bcm.from_matrix(np.full((2, 3, 3), 5), labels=["a", "b", "c"])
        with pytest.raises(ValueError, match="are unknown to classifier"):
            monitor.extend(other)


def test_the_same_counts_give_a_warning(tmp_path):
    counts = tables(3).copy()
    counts[2] = counts[1]
    with (
        Monitor(str(tmp_path / "a.db"), "mail") as monitor,
        pytest.warns(UserWarning, match="1 batches are identical to other batches"),
    ):
        assert monitor.extend(counts) == 3


def test_classes_that_were_renamed_and_added(tmp_path):
    with Monitor(str(tmp_path / "a.db"), "mail") as monitor:
        rows = bcm.from_matrix(
            np.full((3, 2, 2), 5) + np.arange(3)[:, None, None], labels=["a", "b"]
        )
        rows = rows.assign_coords(batch=["1", "2", "3"]) if "batch" in rows.dims else rows
        monitor.extend([(str(k), rows[k].drop_vars("batch", errors="ignore")) for k in range(3)])
        monitor.change_classes(rename={"a": "alpha"}, add=["c"])
        again = [(str(k), rows[k].drop_vars("batch", errors="ignore")) for k in range(3)]
        assert monitor.extend(again) == 0
        with pytest.raises(ValueError, match="'a' is now 'alpha'"):
            monitor.extend([("4", rows[0].drop_vars("batch", errors="ignore"))])


KILLED = """
import numpy as np
import bayescm as bcm
from bayescm.online import Monitor
counts = bcm.from_cells(tp=np.arange(1, 100_001), fn=7, fp=3, tn=90)
with Monitor({store!r}, "mail") as monitor:
    print("started", flush=True)
    monitor.extend(counts, block=200)
"""


@pytest.mark.long
def test_a_process_that_is_killed_leaves_whole_blocks(tmp_path):
    store = str(tmp_path / "a.db")
    script = textwrap.dedent(KILLED.format(store=store))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    process.stdout.readline()
    deadline = time.time() + 60
    while time.time() < deadline and not os.path.exists(store):
        time.sleep(0.05)
    time.sleep(2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    table = verify(store)
    assert table["whole"].all()
    assert table["entries"].iloc[0] % 200 in (0, 1)
    assert 0 < table["entries"].iloc[0] < 100_000


@pytest.mark.long
@pytest.mark.parametrize("kind", BATCHES)
def test_every_type_takes_many_batches_and_empty_ones(kind, tmp_path):
    batch, edges = BATCHES[kind], np.linspace(-3, 4, 21) if kind == "scores" else None
    sampled = kind in ("ratings", "three chances", "partly labelled")
    days = 3 if sampled else 6
    with Monitor(str(tmp_path / "a.db"), kind, edges=edges) as monitor:
        with pytest.raises(ValueError, match=r"first batch of .* is empty"):
            monitor.add("none", None, allow_empty=True)
        assert monitor.extend((str(day), batch(day)) for day in range(days)) == days
        with pytest.raises(TypeError, match="allow_empty=True"):
            monitor.add("none", None)
        before = monitor.summary()
        assert monitor.add("none", None, allow_empty=True)
        assert not monitor.add("none", None, allow_empty=True)
        after = monitor.summary()
        np.testing.assert_allclose(after["mean"], before["mean"], rtol=1e-9)
        assert monitor.batches().sizes["step"] == days + 1
        assert monitor.n_examples() > 0
        rules = set(monitor.alarms()["rule"]) - {"change"}
        assert not (monitor.alarms()["batch_id"] == "none").any() or rules
        history = monitor.history()
        assert history["n"].values[-1] == 0
        assert monitor.extend([("more", batch(40))]) == 1
        monitor.summary()
        if not sampled:
            monitor.observed()
            name = str(before["measure"].iloc[0]).partition("[")[0]
            monitor.alarms(floor={name: 2.5 if kind == "marks" else 0.5})
    assert verify(tmp_path / "a.db")["whole"].all()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*batches are identical")  # by chance
def test_a_hundred_thousand_batches_take_two_minutes_at_most(tmp_path):
    with Monitor(str(tmp_path / "a.db"), "mail") as monitor:
        started = time.process_time()
        assert monitor.extend(tables(100_000)) == 100_000
        assert time.process_time() - started < 120
