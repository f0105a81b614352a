"""The upkeep of a ledger from the shell: alarms that are new, checks, copies."""

import html
import json

import pytest

import bayescm as bcm
from bayescm import online
from bayescm.cli import main
from bayescm.online.web import pages
from bayescm.online.web.state import dashboard_state


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with online.Monitor("e.db", "spam") as monitor:
        for day in range(12):
            tp = 45 if day < 10 else 20
            counts = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
            monitor.add(day, counts, at=f"2026-01-{day + 1:02}")

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["monitor", *arguments])
        return left.value.code, capsys.readouterr()

    return call


@pytest.mark.long
def test_alarms_are_new_until_they_are_acknowledged(run):
    ask = ("alarms", "--store", "e.db", "--classifier", "spam", "--exit-code", "--format", "json")
    code, said = run(*ask)
    rows = json.loads(said.out)
    assert code == 1
    assert {row["at"] for row in rows} <= {"2026-01-11T00:00:00Z", "2026-01-12T00:00:00Z"}
    assert all(row["since"] <= row["at"] for row in rows)
    assert json.loads(run(*ask, "--since", "2026-01-12")[1].out) == [
        row for row in rows if row["at"] >= "2026-01-12"
    ]
    of = ("--store", "e.db", "--classifier", "spam")
    assert run("acknowledge", *of, "--note", "seen")[1].out.startswith(f"{len(rows)} alarms")
    code, said = run(*ask)
    assert (code, len(json.loads(said.out))) == (0, len(rows))
    assert json.loads(run(*ask, "--new")[1].out) == []
    assert run("acknowledge", *of)[1].out.startswith("0 alarms")


@pytest.mark.long
def test_a_backup_is_a_ledger_and_is_restored(run, tmp_path):
    assert "12 entries of 1 classifiers" in run("backup", "--store", "e.db", "b.db")[1].out
    assert run("backup", "--store", "e.db", "b.db")[0] == 2
    assert "12 entries" in run("restore", "b.db", "--store", "again.db")[1].out
    heads = [
        json.loads(run("verify", "--store", each, "--format", "json")[1].out)[0]
        for each in ("e.db", "b.db", "again.db")
    ]
    assert heads[0] == heads[1] == heads[2]
    assert heads[0]["whole"]


@pytest.mark.long
def test_a_damaged_batch_is_named(run, tmp_path):
    path = tmp_path / "e.db"
    raw = path.read_bytes()
    place = raw.rindex(b"[[45, 5], [30, 20]]")
    path.write_bytes(raw[:place] + b"[[45, 5], [20, 30]]" + raw[place + 19 :])
    code, said = run("verify", "--store", "e.db", "--format", "json")
    (row,) = json.loads(said.out)
    assert (code, row["whole"]) == (1, False)
    assert "batch '1" in row["damage"]
    code, said = run("history", "--store", "e.db", "--classifier", "spam")
    assert (code, said.out) == (2, "")
    assert "The ledger is damaged: batch '1" in said.err


@pytest.mark.long
def test_what_is_acknowledged_and_still_on_is_said_with_its_note(run, tmp_path):
    with bcm.online.Monitor(tmp_path / "n.db", "spam") as monitor:
        for day in range(5):
            tp = 40 if day == 0 else 20
            monitor.add(day, bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45), f"2026-01-0{day + 1}")
    rules = ("--store", "n.db", "--floor", "recall=0.8", "-m", "recall")
    assert "spam: open since" in run("status", *rules)[1].out
    assert "acknowledged" in run("acknowledge", *rules, "--note", "new camera")[1].out
    said = run("status", *rules)[1]
    assert "open since" not in said.out
    assert "spam: acknowledged, and still on since" in said.out
    assert "below the floor 0.8" in said.out
    assert "(note: new camera)" in said.out
    for ask in ("alarms", "incidents"):
        assert "new camera" in run(ask, *rules)[1].out
    with bcm.online.Ledger(tmp_path / "n.db") as ledger:
        state = dashboard_state(ledger, {"floor": {"recall": 0.8}, "measures": ["recall"]})
        (words,) = state.classifier("spam").standing
        assert words.startswith("Acknowledged, and still on since")
        page = pages.classifier(state, "spam", may_acknowledge=False).body.decode()
        assert "yes: new camera" in page
        assert html.escape(words) in page
