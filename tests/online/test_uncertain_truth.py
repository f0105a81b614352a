"""Monitors of ratings and of partly labelled examples."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main
from bayescm.evidence.partly_labelled import select_classifier
from bayescm.online import Ledger, Monitor, roll_up, verify
from bayescm.online.web.state import DashboardState
from bayescm.reporting.monitors import monitor_report

LABELS = np.array(["ill", "well"])


def columns(seed, wrong=0.15, size=120):
    """Return the truth, predictions, labels of three raters, and a judge of all examples."""
    rng = np.random.default_rng([7, seed])
    actual = rng.integers(0, 2, size)

    def answers(error):
        return LABELS[np.where(rng.random(size) < error, 1 - actual, actual)]

    table = pd.DataFrame({"actual": LABELS[actual], "predicted": answers(wrong)})
    for name, error in (("ann", 0.1), ("bob", 0.15), ("eve", wrong), ("judge", 0.12)):
        table[name] = answers(error)
    return table


def ratings(seed, wrong=0.15, **keywords):
    table = columns(seed, wrong)
    gold = table["actual"].where(np.arange(len(table)) < 30, None)
    return bcm.from_raters(table[["ann", "bob", "eve"]], gold=gold, positive="ill", **keywords)


def partly_labelled(seed, wrong=0.15, several=False, **keywords):
    table = columns(seed, wrong)
    labels = [label if index % 2 else None for index, label in enumerate(table["actual"])]
    predicted = {"one": table["predicted"], "two": table["eve"]}
    predicted = predicted if several else table["predicted"]
    return bcm.from_partly_labelled(
        labels, predicted, judge=table["judge"], positive="ill", **keywords
    )


KINDS = {"ratings": ratings, "partly_labelled": partly_labelled}


@pytest.fixture(params=[pytest.param("ratings", marks=pytest.mark.long), "partly_labelled"])
def kind(request):
    return request.param


def fill(monitor, kind, number=3, change=99):
    for day in range(number):
        batch = KINDS[kind](day, 0.5 if day >= change else 0.15)
        assert monitor.add(f"2026-01-0{day + 1}", batch)


@pytest.mark.long
def test_what_is_known_is_known_by_all_examples(kind):
    with Monitor("sqlite://", "system", measures=["recall", "accuracy"]) as monitor:
        fill(monitor, kind)
        assert monitor.encoding == kind
        assert monitor.n_examples() == 360
        every = getattr(monitor, kind)()
        expected = bcm.summary(every, ["recall", "accuracy"])
        found = monitor.summary()
        for name in ("mean", "lower", "upper", "point"):
            np.testing.assert_allclose(found[name], expected[name], atol=0.01)
        history = monitor.history()
        last = history["recall"].isel(step=-1).values.reshape(-1, 2)
        of_recall = found[found["measure"] == "recall"][["lower", "upper"]]
        np.testing.assert_allclose(last, of_recall, atol=0.01)
        width = (history["recall"].sel(bound="upper") - history["recall"].sel(bound="lower")).values
        assert (width[-1] < width[0]).all()


def test_the_evidence_of_a_batch_is_that_which_was_added(kind):
    given = KINDS[kind](1)
    with Monitor("sqlite://", "system") as monitor:
        monitor.add("a", given)
        found = getattr(monitor, kind)()
    expected = bcm.interval(given, "recall").values
    np.testing.assert_allclose(bcm.interval(found, "recall").values, expected, atol=0.005)


@pytest.mark.long
def test_batches_are_sent_twice_replaced_verified_and_rolled_up(kind, tmp_path):
    store, make = f"sqlite:///{tmp_path}/eval.db", KINDS[kind]
    with Monitor(store, "system") as monitor:
        assert monitor.add("a", make(0), at="2026-01-01")
        assert not monitor.add("a", make(0))
        with pytest.raises(ValueError, match="Batch 'a' is already recorded with other counts"):
            monitor.add("a", make(1))
        assert monitor.add("b", make(1), at="2026-01-02", corrects="a")
        assert monitor.add("c", make(2), at="2026-01-03")
        with pytest.warns(UserWarning, match="is identical to batch"):
            monitor.add("d", make(2), at="2026-01-04")
        assert monitor.batches().sizes["step"] == 3
        before = getattr(monitor, kind)()
    assert verify(store)["entries"].tolist() == [4]
    summed = roll_up(store, tmp_path / "new.db", before="2026-02-01")
    assert summed[["entries", "rolled_up"]].values.tolist() == [[1, 3]]
    with Monitor(tmp_path / "new.db", "system") as monitor:
        assert getattr(monitor, kind)().identical(before)
    with Ledger(store) as ledger:
        cells = json.loads(ledger.table()["cells"].iloc[0])
    assert sum(cells["counts"]) == 120


@pytest.mark.long
def test_a_floor_is_watched_and_earlier_batches_are_forgotten(kind):
    with Monitor("sqlite://", "system", measures=["accuracy"], window=1) as monitor:
        fill(monitor, kind, 3, change=2)
        alarms = monitor.alarms(floor={"accuracy": 0.8})
        named = "accuracy[rater=eve]" if kind == "ratings" else "accuracy"
        of_floor = alarms[alarms["rule"] == "floor"]
        assert of_floor[["step", "measure"]].values.tolist() == [[2, named]]
        assert monitor.alarms(floor={"accuracy": 0.3}).query("rule == 'floor'").empty
        incidents = monitor.incidents(floor={"accuracy": 0.8})
        assert (incidents["state"] == "open").any()


@pytest.mark.long
def test_a_change_in_the_truth_of_strata_is_found():
    with Monitor("sqlite://", "system", measures=["accuracy"]) as monitor:
        fill(monitor, "partly_labelled", 6, change=3)
        (change,) = monitor.alarms().query("rule == 'change'").itertuples()
        assert change.step in (3, 4, 5)
        assert change.first == 3
        assert monitor.since_change().sizes["step"] == 3
        assert monitor.summary()["mean"][0] < 0.7
    with Monitor("sqlite://", "system", measures=["accuracy"]) as monitor:
        fill(monitor, "partly_labelled", 6)
        assert monitor.alarms().empty


@pytest.mark.long
@pytest.mark.parametrize("name", ["reference", "change"])
def test_ratings_have_no_rule_that_needs_a_run_per_batch(name):
    with Monitor("sqlite://", "system") as monitor:
        fill(monitor, "ratings", 1)
        with pytest.raises(ValueError, match=f"no rule {name}, because its posterior is sampled"):
            monitor.alarms(**{name: 1})
        assert monitor.rules == ("rate", "floor", "horizon", "silence")
        assert monitor.alarms().empty


def test_several_classifiers_have_a_history_each():
    with Monitor("sqlite://", "one") as monitor:
        assert monitor.add("a", partly_labelled(0, several=True))
        assert monitor.ledger.classifiers() == ["one", "two"]
        alone = Monitor(monitor.ledger, "two")
        expected = bcm.interval(select_classifier(partly_labelled(0, several=True), 1), "recall")
        found = alone.history()["recall"].isel(step=0)
        np.testing.assert_allclose(found.values, expected.values, atol=0.02)


def test_later_batches_may_have_answers_that_the_first_one_lacks():
    table = columns(3)
    with Monitor("sqlite://", "system") as monitor:
        monitor.add("a", partly_labelled(0))
        labels = table["actual"].where(np.arange(120) % 2 == 0, None)
        judge = table["judge"].where(np.arange(120) > 20, "unsure")
        monitor.add(
            "b", bcm.from_partly_labelled(labels, table["predicted"], judge, positive="ill")
        )
        every = monitor.partly_labelled()
        assert every["judge"].values.tolist() == ["ill", "unsure", "well"]
        assert int(every.sum() + every["unlabelled"].sum()) == 240


@pytest.mark.long
def test_invalid_batches_are_not_recorded(kind):
    make = KINDS[kind]
    with Monitor("sqlite://", "system") as monitor:
        monitor.add("a", make(0))
        flipped = make(1).assign_coords(positive="well")
        with pytest.raises(ValueError, match="not the positive class"):
            monitor.add("b", flipped)
        with pytest.raises(ValueError, match="Record this batch under another"):
            monitor.add("b", bcm.from_cells(tp=1, fn=2, fp=3, tn=4))
        with pytest.raises(TypeError, match="have no table of counts"):
            monitor.posterior()
        assert monitor.batches().sizes["step"] == 1
        with pytest.raises(ValueError, match="concentration"):
            Monitor(monitor.ledger, "system", concentration=-1).add("b", make(1))
    part = np.arange(120) % 4 // 2
    keywords = {"group": part} if kind == "ratings" else {"by": {"site": part}}
    parted = make(0, **keywords)
    with (
        Monitor("sqlite://", "system") as monitor,
        pytest.raises(ValueError, match=r"A batch of .* cannot"),
    ):
        monitor.add("a", parted)


def test_unknown_raters_are_refused():
    table = columns(1)
    with Monitor("sqlite://", "system") as monitor:
        monitor.add("a", ratings(0))
        other = bcm.from_raters(
            table[["ann", "bob", "judge"]], gold=table["actual"], positive="ill"
        )
        with pytest.raises(ValueError, match="Correct the names, or record all raters"):
            monitor.add("b", other)


@pytest.mark.long
def test_pictures_dashboard_and_report(kind, tmp_path):
    store, path = f"sqlite:///{tmp_path}/eval.db", tmp_path / "report.md"
    with Monitor(store, "system", measures=["recall"]) as monitor:
        fill(monitor, kind, 2)
        assert monitor.plot(floor={"recall": 0.5}).axes
        state = DashboardState(monitor.ledger, rules={"reference": 1}).classifier("system")
        assert state.problem == ""
        assert state.examples == 240
    monitor_report(store, path, measures=["recall"])
    assert "240 examples" in path.read_text()


COMMANDS = {
    "ratings": "--raters ann,bob,eve --gold gold",
    "partly_labelled": "--judge judge --actual gold",
}


def run(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words.split())
    done = capsys.readouterr()
    assert left.value.code == 0, done.err
    return done.out


@pytest.mark.long
@pytest.mark.parametrize("by_config", [False, True])
def test_the_command_line_does_the_same(kind, by_config, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = f"{COMMANDS[kind]} --positive ill --store eval.db"
    if by_config:
        pairs = zip(options.split()[::2], options.split()[1::2], strict=True)
        lines = [f'{name.removeprefix("--")} = "{value}"' for name, value in pairs]
        (tmp_path / "monitor.toml").write_text("\n".join(lines))
        options = ""
    warnings.simplefilter("ignore")
    for day in (1, 2):
        table = columns(day).assign(gold=lambda t: t["actual"].where(np.arange(len(t)) % 2 == 0))
        table.to_csv("batch.csv", index=False)
        text = run(f"monitor add batch.csv --batch 2026-01-0{day} {options}", capsys)
        wanted = {"ratings": "labels of 3 raters", "partly_labelled": "60 of them labelled"}
        assert "120 examples" in text
        assert wanted[kind] in text
        options = "" if by_config else options.replace(" --positive ill", "")  # as in the first one
    again = run(f"monitor add batch.csv --batch 2026-01-02 {options}", capsys)
    assert "already recorded" in again
    at = "" if by_config else "--store eval.db"
    status = json.loads(run(f"monitor status {at} -m recall --format json", capsys))
    assert {row["examples"] for row in status} == {240}
    assert len(status) == (3 if kind == "ratings" else 1)
    history = run(f"monitor history {at} -m recall --format csv", capsys)
    assert ("rater" in history) == (kind == "ratings")
    assert "floor" in run(
        f"monitor alarms {at} -m accuracy --floor accuracy=.995 --rate .9", capsys
    )
    assert history.count("\n") > 2
    assert "entry" in run(f"monitor export {at}", capsys)


def probabilities(seed, gain=1.5, size=150):
    rng = np.random.default_rng([9, seed])
    actual = rng.integers(0, 3, size)
    logits = gain * np.eye(3)[actual] + rng.normal(0, 1, (size, 3))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return np.array(list("abc"))[actual], shares


@pytest.mark.long
def test_probabilities_of_three_classes_are_followed(tmp_path):
    store, parts = f"sqlite:///{tmp_path}/eval.db", [probabilities(seed) for seed in range(3)]
    batches = [bcm.from_probabilities(*part, labels=list("abc")) for part in parts]
    with Monitor(store, "system") as monitor:
        for day, batch in enumerate(batches[:2]):
            assert monitor.add(f"2026-01-0{day + 1}", batch)
        backwards = batches[1].isel(example=slice(None, None, -1))
        assert not monitor.add("2026-01-02", backwards)
        with pytest.raises(ValueError, match="already recorded with other counts"):
            monitor.add("2026-01-02", batches[2])
        assert monitor.add("again", batches[2], corrects="2026-01-02")
        actual, shares = (np.concatenate(each) for each in zip(parts[0], parts[2], strict=True))
        every = bcm.from_probabilities(actual, shares, labels=list("abc"))
        expected = bcm.summary(every, ["log_loss", "brier"])
        found = monitor.summary()
        np.testing.assert_allclose(found["mean"], expected["mean"], rtol=0.02)
        length, wanted = (each["upper"] - each["lower"] for each in (found, expected))
        np.testing.assert_allclose(length, wanted, rtol=0.06)
        assert monitor.history()["brier"].sizes["step"] == 2
        kept = monitor.class_forecasts()
        assert kept.sizes["example"] == 300
        assert float(bcm.measure(kept, "brier")["brier"]) == pytest.approx(
            float(bcm.measure(every, "brier")["brier"]), abs=0.003
        )
        floor = monitor.alarms(floor={"brier": 0.2})
        assert set(floor["rule"]) == {"floor"}
        assert monitor.alarms(floor={"brier": 0.9}).empty
        with pytest.raises(ValueError, match="no rule reference"):
            monitor.alarms(reference=1)
    forgetful = Monitor(store, "system", forgetting=0.9)
    with forgetful, pytest.raises(ValueError, match="Use window="):
        forgetful.summary()
    assert verify(store)["whole"].all()
    assert roll_up(store, tmp_path / "new.db", before="2027-01-01")["rolled_up"].tolist() == [2]


@pytest.mark.long
def test_probabilities_of_three_classes_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = "a=p_a,b=p_b,c=p_c"
    for day in (1, 2):
        actual, shares = probabilities(day)
        table = pd.DataFrame(
            {"actual": actual} | dict(zip(["p_a", "p_b", "p_c"], shares.T, strict=True))
        )
        table.to_csv("batch.csv", index=False)
        text = run(
            f"monitor add batch.csv --batch day{day} --store e.db --probability {columns}", capsys
        )
        assert "150 examples" in text
    (tmp_path / "monitor.toml").write_text(f'store = "e.db"\nprobability = "{columns}"\n')
    assert "already recorded" in run("monitor add batch.csv --batch day2", capsys)
    status = json.loads(run("monitor status --format json", capsys))
    assert [row["measure"] for row in status] == ["log_loss", "brier"]
    assert status[0]["examples"] == 300
    monitor_report(f"sqlite:///{tmp_path}/e.db", tmp_path / "r.md")
    assert "300 examples" in (tmp_path / "r.md").read_text()


def test_probabilities_of_two_and_of_three_classes_do_not_mix():
    actual, shares = probabilities(1)
    with Monitor("sqlite://", "system") as monitor:
        monitor.add("a", bcm.from_probabilities(actual, shares, labels=list("abc")))
        two = bcm.from_probabilities(np.arange(40) % 2, np.linspace(0.1, 0.9, 40))
        with pytest.raises(ValueError, match="Record this batch under another"):
            monitor.add("b", two)
        weighted = bcm.from_probabilities(
            actual, shares, labels=list("abc"), weights=np.arange(150) % 3 + 1, weights_are="counts"
        )
        with pytest.raises(ValueError, match="Leave out weights, folds, groups and a fixed"):
            monitor.add("c", weighted)
