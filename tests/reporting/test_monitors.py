"""The report of a monitor's store."""

import pytest

import bayescm as bcm
from bayescm.reporting.monitors import monitor_report


@pytest.fixture
def store(tmp_path):
    address = f"sqlite:///{tmp_path / 'eval.db'}"
    with bcm.online.Monitor(address, "spam filter") as monitor:
        for week in range(6):
            batch = bcm.from_cells(tp=45 - week, fn=5 + week, fp=3, tn=47)
            monitor.add(f"week {week}", batch, at=f"2026-01-{week + 1:02d}")
    return address


@pytest.mark.slow
def test_report_tells_the_batches_and_their_history(store, tmp_path):
    path = monitor_report(store, tmp_path / "r.html")
    text = path.read_text()
    assert "Online evaluation of spam filter" in text
    assert "6 batches from 2026-01-01 to 2026-01-06" in text
    assert "600 examples" in text
    assert "Over time" in text


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
