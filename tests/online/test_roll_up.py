"""Ledgers that keep the sums of what lies long back."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import online
from bayescm.cli import main

RNG = np.random.default_rng(5)


def counts():
    """Return counts that differ by no more than chance: nothing changes."""
    tp, fn, fp, tn = np.array([40, 10, 12, 45]) + RNG.integers(0, 4, 4)
    return bcm.from_cells(tp=tp, fn=fn, fp=fp, tn=tn)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledgers") / "old.db"
    with online.Monitor(path, "spam", measures=["recall"]) as monitor:
        for day in range(1, 32):
            monitor.add(f"jan {day}", counts(), at=f"2026-01-{day:02}")
        monitor.add("mar 1", counts(), at="2026-03-01")
        with pytest.warns(UserWarning, match="dated before the latest"):
            monitor.add("feb 1", counts(), at="2026-02-01T23:00-02:00")  # the 2nd in UTC
        monitor.add("jan 5, mended", counts(), corrects="jan 5")
        with pytest.warns(UserWarning, match="dated before the latest"):
            monitor.add("dec", counts(), at="2025-12-31")
    with online.Monitor(path, "ham") as monitor:
        monitor.add("one", counts(), at="2026-01-01")
    return path


@pytest.mark.parametrize(
    ("by", "entries"),
    [
        ("month", 4),
        *(pytest.param(*row, marks=pytest.mark.long) for row in (("day", 34), ("year", 3))),
    ],
)
def test_the_posterior_is_the_same_and_the_old_ledger_is_not_touched(store, tmp_path, by, entries):
    before = store.read_bytes()
    found = online.roll_up(store, tmp_path / "new.db", before="2026-03-01", by=by)
    assert store.read_bytes() == before
    found = found.set_index("classifier")
    assert found["whole"].all()
    assert found.loc["spam", "entries"] == entries
    assert (
        found["made_of"].tolist() == online.verify(store).set_index("classifier")["head"].tolist()
    )
    with (
        online.Monitor(store, "spam", measures=["recall"]) as old,
        online.Monitor(tmp_path / "new.db", "spam", measures=["recall"]) as new,
    ):
        assert new.posterior().identical(old.posterior())
        kept, every = new.batches(), old.batches()
        assert kept["batch_id"].values[-1] == "mar 1"
        assert kept["at"].values[-1] == every["at"].values[-1]
        january = every.sel(step=every["at"].dt.month == 1).sum("step")
        if by == "month":
            assert kept["batch_id"].values[1] == "2026-01 (31 batches, last jan 31)"
            np.testing.assert_array_equal(kept[1].values, january.values)
            assert kept["at"].values[1] == np.datetime64("2026-01-31")
        # It goes on like any other, and is rolled up again.
        assert new.add("mar 2", counts(), at="2026-03-02")
        state = new.posterior()
    again = online.roll_up(tmp_path / "new.db", tmp_path / "again.db", before="2027-01-01")
    assert again["whole"].all()
    with online.Monitor(tmp_path / "again.db", "spam") as third:
        assert third.posterior().identical(state)


def test_what_cannot_be_rolled_up_is_refused_and_leaves_nothing(store, tmp_path):
    path = tmp_path / "new.db"
    with pytest.raises(ValueError, match="at must be a datetime"):
        online.roll_up(store, path, before="soon")
    with pytest.raises(ValueError, match="Unknown by"):
        online.roll_up(store, path, before="2026-01-01", by="fortnight")
    with pytest.raises(ValueError, match="no ledger"):
        online.roll_up(tmp_path / "none.db", path, before="2026-01-01")
    broken = tmp_path / "broken.db"
    data = store.read_bytes()
    broken.write_bytes(data.replace(b"2026-01-09T00", b"2026-01-08T00"))
    with pytest.raises(ValueError, match="The ledger is damaged"):
        online.roll_up(broken, path, before="2026-01-01")
    assert sorted(each.name for each in tmp_path.iterdir() if "-" not in each.name) == ["broken.db"]
    path.write_text("mine")
    with pytest.raises(ValueError, match="already exists"):
        online.roll_up(store, path, before="2026-01-01")


@pytest.mark.long
def test_on_the_command_line(store, tmp_path, capsys):
    path = str(tmp_path / "new.db")
    with pytest.raises(SystemExit) as left:
        main(["monitor", "roll-up", path, "--store", str(store), "--before", "2026-02-01"])
    assert left.value.code == 0
    assert "31 batches summed, 5 entries of 2 classifiers" in capsys.readouterr().out
