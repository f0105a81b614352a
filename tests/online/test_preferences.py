"""Monitors of votes on pairs of systems."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main
from bayescm.online import Ledger, Monitor, roll_up, verify
from bayescm.online.web.pages import panels
from bayescm.online.web.state import DashboardState
from bayescm.reporting.monitors import monitor_report

STRENGTH = {"new": 0.6, "mid": 0.0, "old": -0.6}


def columns(seed, sign=1, size=300):
    """Return votes with ties, each pair in both orders, without an advantage of the first."""
    rng = np.random.default_rng([11, seed])
    names, strength = np.array([*STRENGTH]), sign * np.array([*STRENGTH.values()])
    left, right = (rng.integers(3, size=size) for _ in range(2))
    lead = rng.logistic(size=size) + strength[left] - strength[right]
    winner = np.where(np.abs(lead) < 0.4, "tie", np.where(lead > 0, "left", "right"))
    table = pd.DataFrame({"left": names[left], "right": names[right], "winner": winner})
    return table[left != right].reset_index(drop=True)


def votes(seed, sign=1, **keywords):
    return bcm.from_preferences(columns(seed, sign), **keywords)


def fill(monitor, number=3, change=99):
    for day in range(number):
        assert monitor.add(f"2026-01-0{day + 1}", votes(day, -1 if day >= change else 1))


@pytest.mark.long
def test_what_is_known_is_known_by_all_votes():
    with Monitor("sqlite://", "arena", measures=["win_rate[old]", "rating"]) as monitor:
        fill(monitor)
        assert monitor.encoding == "preferences"
        parts = [columns(day) for day in range(3)]
        every = bcm.from_preferences(pd.concat(parts))
        assert monitor.n_examples() == len(pd.concat(parts))
        kept = monitor.evidence()
        assert kept["vote_count"].equals(every["vote_count"])
        expected = bcm.summary(every, ["win_rate[old]", "rating"])
        itself = (expected["measure"] == "win_rate[old]") & (expected["classifier"] == "old")
        expected = expected[~itself].reset_index(drop=True)
        found = monitor.summary()
        assert found["system"].tolist() == expected["classifier"].tolist()
        for name in ("mean", "lower", "upper", "point"):
            np.testing.assert_allclose(found[name], expected[name], rtol=0.01)
        last = monitor.history()["rating"].isel(step=-1)
        of_rating = found[found["measure"] == "rating"][["lower", "upper"]]
        np.testing.assert_allclose(last.values, of_rating.to_numpy(float), rtol=0.01)


@pytest.mark.long
def test_a_measure_of_all_votes_has_no_systems():
    with Monitor("sqlite://", "arena", measures=["position_advantage"]) as monitor:
        fill(monitor, 1)
        assert monitor.history()["position_advantage"].dims == ("step", "bound")
        assert monitor.summary()["mean"][0] == pytest.approx(0.5, abs=0.1)


@pytest.mark.long
def test_batches_may_lack_systems_orders_and_ties():
    table = pd.DataFrame({"left": ["new"], "right": ["mid"], "winner": ["left"]})
    with Monitor("sqlite://", "arena", measures=["tie_rate[new]"]) as monitor:
        fill(monitor, 1)
        assert monitor.add("b", bcm.from_preferences(table, ordered=True))
        assert float(monitor.evidence()["vote_count"].sum()) == len(columns(0)) + 1
    with Monitor("sqlite://", "arena", measures=["tie_rate[old]"], window=1) as monitor:
        fill(monitor, 1)
        with pytest.warns(UserWarning, match="is dated before the latest batch"):
            monitor.add("b", bcm.from_preferences(table, ordered=True), at="2025-01-01")
        ends = monitor.history()["tie_rate[old]"].sel(system="new")
        # Without ties there is no tie parameter, and nothing is known of ties.
        assert np.isnan(ends[0]).all()
        assert np.isfinite(ends[1]).all()


def test_the_order_of_a_pair_does_not_matter_if_it_is_not_known():
    table = pd.DataFrame({"a": ["x", "x", "y"], "b": ["y", "y", "x"], "winner": ["a", "tie", "a"]})
    swapped = table.rename(columns={"a": "b", "b": "a"}).replace({"winner": {"a": "b"}})
    wins = pd.DataFrame([[0, 1], [1, 0]], ["y", "x"], ["y", "x"])
    with Monitor("sqlite://", "arena") as monitor:
        assert monitor.add("a", bcm.from_preferences(table, ordered=False))
        assert not monitor.add("a", bcm.from_preferences(swapped, ordered=False))
        ties = pd.DataFrame([[0, 1], [1, 0]], ["y", "x"], ["y", "x"])
        assert not monitor.add("a", bcm.from_preferences(wins, ties=ties))


@pytest.mark.long
def test_a_floor_of_one_system_and_a_change():
    with Monitor("sqlite://", "arena", measures=["win_rate[old]"]) as monitor:
        fill(monitor, 6, change=3)
        alarms = monitor.alarms(floor={"win_rate[old][system=new]": 0.5})
        assert alarms["rule"].tolist() == ["change", "floor"]
        assert alarms["measure"].tolist() == ["preferences", "win_rate[old][system=new]"]
        assert alarms["first"].tolist() == [3, 3]
        assert "the preferences have changed" in alarms["sentence"][0]
        assert monitor.since_change().sizes["step"] == 3
        # All systems have the floor, but the system against itself has no alarm.
        every = monitor.alarms(floor={"win_rate[old]": 0.55}).query("rule == 'floor'")
        assert {*every["measure"]} == {"win_rate[old][system=new]", "win_rate[old][system=mid]"}
        assert monitor.alarms(floor={"win_rate[old][system=new]": 0.1})["rule"].tolist() == [
            "change"
        ]
        with pytest.raises(ValueError, match="not monitored"):
            monitor.alarms(floor={"win_rate[old][system=nobody]": 0.5})
        assert monitor.incidents(floor={"win_rate[old][system=new]": 0.5})["state"].tolist() == [
            "open"
        ]
        figure = monitor.plot(floor={"win_rate[old][system=new]": 0.5})
        floors = [
            [line.get_label() for line in axes.lines].count("floor") for axes in figure.axes[:3]
        ]
        assert floors == [0, 1, 0]
    with Monitor("sqlite://", "arena") as monitor:
        fill(monitor, 6)
        assert monitor.alarms().empty


@pytest.mark.long
def test_batches_are_sent_twice_replaced_verified_and_rolled_up(tmp_path):
    store = f"sqlite:///{tmp_path}/eval.db"
    with Monitor(store, "arena") as monitor:
        assert monitor.add("a", votes(0), at="2026-01-01")
        assert not monitor.add("a", bcm.from_preferences(columns(0)[::-1]))
        with pytest.raises(ValueError, match="Batch 'a' is already recorded with other counts"):
            monitor.add("a", votes(1))
        assert monitor.add("b", votes(1), at="2026-01-02", corrects="a")
        assert monitor.add("c", votes(2), at="2026-01-03")
        with pytest.warns(UserWarning, match="is identical to batch"):
            monitor.add("d", votes(2), at="2026-01-04")
        before = monitor.evidence()
    assert verify(store)["whole"].all()
    summed = roll_up(store, tmp_path / "new.db", before="2026-02-01")
    assert summed[["entries", "rolled_up"]].values.tolist() == [[1, 3]]
    with Monitor(tmp_path / "new.db", "arena") as monitor:
        assert monitor.evidence().identical(before)
    with Ledger(store) as ledger:
        cells = json.loads(ledger.table()["cells"].iloc[0])
    assert sum(cells["counts"]) == len(columns(0))


@pytest.mark.long
def test_invalid_batches_are_not_recorded():
    renamed = bcm.from_preferences(columns(1).replace("new", "newer"))
    one_order = columns(1).query("left < right")
    with Monitor("sqlite://", "arena") as monitor:
        monitor.add("a", votes(0))
        with pytest.raises(ValueError, match="Correct the names, or record all systems"):
            monitor.add("b", renamed)
        with pytest.raises(ValueError, match=r"is known. Pass ordered=True"):
            monitor.add("b", bcm.from_preferences(one_order))
        with pytest.raises(ValueError, match="cannot have clusters"):
            monitor.add("b", votes(1, group=np.arange(len(columns(1))) % 20))
        with pytest.raises(ValueError, match="Record this batch under another"):
            monitor.add("b", bcm.from_cells(tp=1, fn=2, fp=3, tn=4))
        with pytest.raises(TypeError, match="have no table of counts"):
            monitor.posterior()
        with pytest.raises(ValueError, match="no rule reference"):
            monitor.alarms(reference=1)
        assert monitor.batches().sizes["step"] == 1
        with pytest.raises(ValueError, match="has no effect on a monitor of votes"):
            Monitor(monitor.ledger, "arena", concentration=1).add("b", votes(1))
        monitor.add("b", votes(1))
        with pytest.raises(ValueError, match="Use window="):
            Monitor(monitor.ledger, "arena", forgetting=0.9).summary()


@pytest.mark.long
def test_pictures_dashboard_and_report(tmp_path):
    store, path = f"sqlite:///{tmp_path}/eval.db", tmp_path / "report.md"
    number = len(columns(0)) + len(columns(1))
    with Monitor(store, "arena") as monitor:
        fill(monitor, 2)
        state = DashboardState(monitor.ledger, rules={"floor": {"win_rate[system=new]": 0.4}})
        current = state.classifier("arena")
        assert current.problem == ""
        assert current.examples == number
        found = panels(monitor.history(), monitor.observed(), monitor.alarms(), None, {})
        assert [panel.name for panel in found] == [
            f"win rate (system {name})" for name in ("mid", "new", "old")
        ]
    monitor_report(store, path)
    text = path.read_text()
    assert f"{number} votes on 3 pairs of 3 systems" in text
    assert "preferences" in text


def run(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words.split())
    done = capsys.readouterr()
    return left.value.code, done.out, done.err


@pytest.mark.long
@pytest.mark.parametrize("by_config", [False, True])
def test_the_command_line_does_the_same(by_config, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = "--store eval.db --left left --right right --winner winner --ordered"
    if by_config:
        lines = ['store = "eval.db"', 'left = "left"', 'right = "right"', "ordered = true"]
        (tmp_path / "monitor.toml").write_text("\n".join(lines))
        options = ""
    for day in (1, 2):
        columns(day).to_csv("batch.csv", index=False)
        code, text, _ = run(f"monitor add batch.csv --batch 2026-01-0{day} {options}", capsys)
        assert code == 0
        assert f"{len(columns(day))} votes on 3 pairs of 3 systems" in text
        options = options.replace(" --ordered", "")  # as in the first batch
    # A single vote does not show that the order is known, but the first batch says so.
    columns(3).head(1).to_csv("batch.csv", index=False)
    assert run(f"monitor add batch.csv --batch 2026-01-03 {options}", capsys)[0] == 0
    if not by_config:
        first = options.replace("--store eval.db", "--store other.db")
        assert run(f"monitor add batch.csv --batch a {first}", capsys)[0] == 0
        code, _, problem = run(f"monitor add batch.csv --batch b {first} --ordered", capsys)
        assert code == 2
        assert "is not known" in problem
    at = "" if by_config else "--store eval.db"
    _, text, _ = run(f"monitor status {at} --format json", capsys)
    assert [row["system"] for row in json.loads(text)] == ["mid", "new", "old"]
    _, text, _ = run(f"monitor history {at} -m win_rate[old] --format csv", capsys)
    assert len(text.splitlines()) == 1 + 3 * 3
    floor = "-m win_rate[old] --floor win_rate[old][system=new]=.99"
    _, text, _ = run(f"monitor alarms {at} {floor}", capsys)
    assert "floor" in text


@pytest.mark.long
def test_the_command_line_names_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns(1).to_csv("batch.csv", index=False)
    code, _, problem = run("monitor add batch.csv --batch x --store e.db --left left", capsys)
    assert code == 2
    assert "--right" in problem
    several = "monitor add batch.csv --batch x --store e.db --left left --right right --raters a,b"
    assert run(several, capsys)[0] == 2
    assert not (tmp_path / "e.db").exists()
