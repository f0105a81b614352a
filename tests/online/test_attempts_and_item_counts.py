"""Monitors of attempts and of item counts."""

import json

import numpy as np
import pytest

import bayescm as bcm
from bayescm.online import Ledger, Monitor, verify
from bayescm.online.encoding import decode, sum_of_payloads
from bayescm.reporting.monitors import monitor_report

RNG = np.random.default_rng(8)


def attempts(rate, items=60, number=4, seed=1, named=None):
    rng = np.random.default_rng(seed)
    rates = rng.beta(8 * rate, 8 * (1 - rate), items)
    table = (rng.random((items, number)) < rates[:, None]).astype(float)
    table[0, -1] = np.nan  # an attempt that was not made
    if named is None:
        return bcm.from_attempts(table)
    rows, columns = np.nonzero(~np.isnan(table))
    return bcm.from_attempts(table[rows, columns], item=np.array(named)[rows])


def item_counts(wrong, items=60, seed=1):
    rng = np.random.default_rng(seed)
    size = rng.gamma(2, 3, items)  # objects of an item, which differ between items
    return bcm.from_item_counts(
        tp=rng.poisson(size), fp=rng.poisson(wrong * size), fn=rng.poisson(0.2 * size)
    )


KINDS = {
    "attempts": (attempts, (0.6, 0.2), "mean"),
    "item_counts": (item_counts, (0.3, 1.5), "precision"),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def batches_of(kind, number=6, change=4):
    make, (before, after), _ = KINDS[kind]
    return [make(before if day < change else after, seed=day) for day in range(number)]


def fill(monitor, batches):
    for day, batch in enumerate(batches):
        assert monitor.add(f"2026-01-0{day + 1}", batch)


@pytest.mark.long
def test_the_items_are_those_that_were_added(kind):
    with Monitor("sqlite://", "system") as monitor:
        batches = batches_of(kind, 2)
        fill(monitor, batches)
        assert monitor.encoding == kind
        items = getattr(monitor, kind)()
        assert items.sizes["item"] == 120
        assert set(items["batch_id"].values.tolist()) == {"2026-01-01", "2026-01-02"}
        if kind == "attempts":
            expected = sum(int(batch["correct"].count()) for batch in batches)
            assert int(items["correct"].count()) == expected
            assert items["correct"].sum() == sum(batch["correct"].sum() for batch in batches)
        else:
            for cell in ("tp", "fp", "fn"):
                assert items[cell].sum() == sum(batch[cell].sum() for batch in batches)


@pytest.mark.long
def test_the_summary_is_that_of_all_items(kind):
    measure = KINDS[kind][2]
    with Monitor("sqlite://", "system", measures=[measure]) as monitor:
        fill(monitor, batches_of(kind, 3))
        row = monitor.summary().iloc[0]
        (expected,) = bcm.summary(getattr(monitor, kind)(), [measure]).itertuples()
        assert row["point"] == pytest.approx(expected.point, abs=0.003)
        assert row["mean"] == pytest.approx(expected.mean, abs=0.15 * expected.sd)
        assert row["upper"] - row["lower"] == pytest.approx(
            expected.upper - expected.lower, rel=0.1
        )
        last = monitor.history()[measure].values[-1]
        np.testing.assert_allclose(last, row[["lower", "upper"]].to_numpy(float))


@pytest.mark.long
def test_a_change_and_a_floor_are_found(kind):
    measure = KINDS[kind][2]
    with Monitor("sqlite://", "system", measures=[measure]) as monitor:
        fill(monitor, batches_of(kind))
        alarms = monitor.alarms(floor={measure: 0.5})
        first = alarms.groupby("rule")["step"].min()
        assert {"change", "floor"} <= set(first.index)
        assert first["change"] == 4
        assert first["floor"] in (4, 5)
    with Monitor("sqlite://", "system", measures=[measure]) as monitor:
        fill(monitor, batches_of(kind, 6, change=6))
        assert monitor.alarms(floor={measure: 0.3}).empty


@pytest.mark.long
def test_the_ledger_recognises_and_corrects_batches(kind, tmp_path):
    store = f"sqlite:///{tmp_path}/eval.db"
    first, other = batches_of(kind, 2)
    with Monitor(store, "system") as monitor:
        assert monitor.add("a", first)
        shuffled = first.isel(item=RNG.permutation(60)).assign_coords(item=np.arange(60))
        assert not monitor.add("a", shuffled)  # items without names have no order
        with pytest.raises(ValueError, match="Batch 'a' is already recorded with other"):
            monitor.add("a", other)
        assert monitor.add("b", other, corrects="a")
        assert getattr(monitor, kind)()["batch_id"].values.tolist() == ["b"] * 60
    assert verify(store)["entries"].tolist() == [2]
    with Monitor(store, "system") as monitor:
        assert monitor.batches().sizes["step"] == 1


def test_named_items_are_found_again():
    names = [f"q{index}" for index in range(60)]
    with Monitor("sqlite://", "system") as monitor:
        monitor.add("a", attempts(0.6, named=names))
        monitor.add("b", attempts(0.6, seed=2, named=names))
        assert "earlier batch" in monitor.summary().attrs["caution"]
        assert monitor.attempts()["item"].values.tolist() == sorted(names) * 2


@pytest.mark.long
def test_invalid_batches():
    two = bcm.from_attempts({"a": RNG.integers(0, 2, (9, 3)), "b": RNG.integers(0, 2, (9, 3))})
    grouped = bcm.from_attempts(RNG.integers(0, 2, (12, 3)), group=np.arange(12) // 2)
    with Monitor("sqlite://", "system") as monitor:
        with pytest.raises(ValueError, match="The batch lacks the classifier"):
            monitor.add("a", two)
        with pytest.raises(ValueError, match="add each slice under its own name"):
            monitor.add("a", grouped)
        monitor.add("a", attempts(0.5))
        with pytest.raises(ValueError, match="has batches of attempts at each item"):
            monitor.add("b", item_counts(0.3))
        with pytest.raises(TypeError, match="have no table of counts"):
            monitor.posterior()
    with Monitor("sqlite://", "system", measures=["pass@3"]) as monitor:
        monitor.add("a", attempts(0.5))
        with pytest.raises(ValueError, match=r"monitor\.attempts\(\)"):
            monitor.summary()


def test_pass_at_1_is_the_mean():
    with Monitor("sqlite://", "system", measures=["pass@1", "mean"]) as monitor:
        monitor.add("a", attempts(0.5))
        table = monitor.summary().set_index("measure")
        assert table.loc["pass@1", "lower"] == table.loc["mean", "lower"]


def test_objects_of_one_item_are_not_independent():
    """Ten images with all or none of 100 objects found say as much as ten trials."""
    hits = np.array([100, 0] * 5)
    counts = bcm.from_item_counts(tp=hits, fp=np.zeros(10, int), fn=100 - hits)
    with Monitor("sqlite://", "detector", measures=["recall"]) as monitor:
        monitor.add("a", counts)
        row = monitor.summary().iloc[0]
        assert row["upper"] - row["lower"] > 0.5


@pytest.mark.long
def test_a_report_of_a_monitor(kind, tmp_path):
    store, path = f"sqlite:///{tmp_path}/eval.db", tmp_path / "report.md"
    with Monitor(store, "system") as monitor:
        fill(monitor, batches_of(kind, 3))
    monitor_report(store, path)
    assert "180 items" in path.read_text()


@pytest.mark.long
def test_a_roll_up_keeps_the_items(kind):
    with Ledger("sqlite://") as ledger:
        with Monitor(ledger, "system") as monitor:
            fill(monitor, batches_of(kind, 4))
            items = getattr(monitor, kind)()
        batches = ledger.read("system").cells
    payloads = [
        json.dumps({k: v if v is None else np.asarray(v).tolist() for k, v in b._asdict().items()})
        for b in batches
    ]
    (total,) = decode([sum_of_payloads(payloads, kind)], kind)
    for name in set(total._fields) - {"item"}:
        expected = np.concatenate([getattr(batch, name) for batch in batches])
        np.testing.assert_array_equal(getattr(total, name), expected)
    assert len(total[1]) == items.sizes["item"]
