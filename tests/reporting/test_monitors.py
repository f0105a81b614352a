"""The report of a monitor's store."""

import inspect

import numpy as np
import pytest

import bayescm as bcm
from bayescm.cli import main
from bayescm.reporting.monitors import monitor_report


@pytest.fixture
def store(tmp_path):
    address = f"sqlite:///{tmp_path / 'eval.db'}"
    with bcm.online.Monitor(address, "spam filter") as monitor:
        for week in range(6):
            batch = bcm.from_cells(tp=45 - week, fn=5 + week, fp=3, tn=47)
            monitor.add(f"week {week}", batch, at=f"2026-01-{week + 1:02d}")
    return address


@pytest.mark.long
def test_report_tells_the_batches_and_their_history(store, tmp_path):
    path = monitor_report(store, tmp_path / "r.html")
    text = path.read_text()
    assert "Online evaluation of spam filter" in text
    assert "6 batches from 2026-01-01 to 2026-01-06" in text
    assert "600 examples" in text
    assert "Over time" in text


@pytest.mark.long
def test_report_of_probabilities_says_how_they_drifted(tmp_path):
    address, rng = f"sqlite:///{tmp_path / 'risk.db'}", np.random.default_rng(2)
    with bcm.online.Monitor(address, "risk") as monitor:
        for day in range(6):
            p = rng.beta(1, 2, 400)
            came = rng.random(400) < (p if day < 3 else 1 - p)
            monitor.add(day, bcm.from_probabilities(came, p), at=f"2026-01-0{day + 1}")
        known = monitor.summary().set_index("measure")
        events = int(monitor.since_change().sel(actual=True).sum())
    with pytest.raises(SystemExit):
        main(["report", "--store", address, "-o", str(tmp_path / "r.md")])
    text = (tmp_path / "r.md").read_text()
    change = "The outcomes have changed. Current results use the batches since 2026-01-04"
    number = "1,200 examples with probabilities"
    for said in (number, f"{events:,} events", "6 batches from", change):
        assert said in text
    ends = known.loc["brier", ["lower", "upper"]]
    assert "Brier score lies between {:.3f} and {:.3f}".format(*ends) in text
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| 0.")]
    assert sum(int(row[3]) for row in rows) == 1200
    assert sum(int(row[4]) for row in rows) == events
    assert "beyond the tolerance 0.02" in text
    assert "all batches together" not in text  # they are of the batches since the change
    assert (tmp_path / "r_files" / "history.png").exists()
    with pytest.raises(ValueError, match="f1"):
        monitor_report(address, tmp_path / "f.html", measures=["f1"])


@pytest.mark.long
def test_an_empty_store_and_a_store_of_several_are_refused(tmp_path, store):
    for address in (f"sqlite:///{tmp_path / 'none.db'}", str(tmp_path / "none.db")):
        with pytest.raises(ValueError, match="no ledger"):
            monitor_report(address, tmp_path / "r.html")
    assert not (tmp_path / "none.db").exists()
    empty = f"sqlite:///{tmp_path / 'empty.db'}"
    bcm.online.Ledger(empty).close()
    with pytest.raises(ValueError, match="no batches"):
        monitor_report(empty, tmp_path / "r.html")
    with bcm.online.Monitor(store, "other") as monitor:
        monitor.add("one", bcm.from_cells(tp=4, fn=1, fp=1, tn=4))
    with pytest.raises(ValueError, match="several classifiers"):
        monitor_report(store, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.long
def test_a_report_takes_every_setting_of_a_monitor(store):
    with bcm.online.Monitor(store, "spam filter", season=2) as monitor:
        assert set(monitor.settings) <= set(inspect.signature(monitor_report).parameters)


@pytest.mark.long
def test_a_report_of_batches_with_seasons(store, tmp_path):
    path = monitor_report(store, tmp_path / "r.html", season=2, silence="26h")
    assert "6 batches" in path.read_text()
