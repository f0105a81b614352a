"""Item scores batch by batch: what is kept, what is known of their means, and the alarms."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.cli import main
from bayescm.distributions.moments import mean_of_dirichlet_process
from bayescm.evidence.item_scores import ScoredItems
from bayescm.evidence.sums_of_items import cut_points
from bayescm.measures.catalogue import resolve
from bayescm.online import Challenge, Ledger, Monitor, roll_up, verify
from bayescm.online.predictive_check import unlikely_sums
from bayescm.online.web import pages
from bayescm.online.web.metrics import exposition
from bayescm.online.web.state import dashboard_state
from bayescm.posteriors.summed_item_scores import (
    SummedItemScores,
    mean_of_next_items,
    sums_of_batches,
)
from bayescm.reporting.monitors import monitor_report

MEASURES = ["mean", "share_above(3)"]
GOOD, BAD = (0.05, 0.05, 0.1, 0.3, 0.5), (0.2, 0.2, 0.2, 0.2, 0.2)


def scale(lowest, highest, lower_is_better=False):
    """Return an empty batch on a scale."""
    facts = {"lowest": lowest, "highest": highest, "lower_is_better": lower_is_better}
    return xr.DataArray(attrs=facts)


MARKS = scale(1.0, 5.0)


def day(number):
    return np.datetime64("2026-01-01") + np.timedelta64(number, "D")


def marks(rng, shares, size=60):
    return rng.choice([1.0, 2, 3, 4, 5], size, p=shares)


def resolved(name):
    return resolve(name, "item_scores")


@pytest.fixture(scope="module")
def worse():
    """Return a monitor of 24 batches of marks, which are worse from the seventeenth on."""
    rng, ledger = np.random.default_rng(3), Ledger("sqlite://")
    monitor = Monitor(ledger, "assistant", measures=MEASURES)
    for number in range(24):
        scores = marks(rng, GOOD if number < 16 else BAD)
        names = [f"{number}-{index}" for index in range(60)]
        monitor.add(number, bcm.from_item_scores(scores, item=names, range=(1, 5)), at=day(number))
    Monitor(ledger, "spam").add("monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30), at=day(0))
    return monitor


@pytest.mark.long
def test_every_item_is_kept(worse):
    items = worse.item_scores()
    assert items.sizes == {"item": 24 * 60}
    assert items["item"].values[60] == "1-0"
    first = items.isel(item=items["batch_id"] == "0")
    rng = np.random.default_rng(3)
    assert sorted(first["item_score"].values) == sorted(marks(rng, GOOD))
    assert worse.encoding == "item_scores"


def test_what_is_known_is_what_is_known_of_the_items_without_a_monitor(worse):
    latest = worse.since_change()
    assert latest.sizes["step"] == 8
    items = worse.item_scores()
    in_force = items.isel(item=items["step"] >= int(latest["step"][0]))
    columns = ["point", "mean", "lower", "upper"]
    np.testing.assert_allclose(
        worse.summary()[columns], bcm.summary(in_force, MEASURES)[columns], atol=1e-4
    )
    assert worse.n_examples() == in_force.sizes["item"]


def test_the_history_is_of_the_sums_and_begins_anew_at_a_change(worse):
    history = worse.history(kind="eti")
    since = history["since"].values
    assert (since[:16] == since[0]).all()
    assert (since[17:] == np.datetime64(day(16))).all()
    items = worse.item_scores()
    earlier = items.isel(item=items["step"] <= 9)
    interval = bcm.interval(earlier, "mean", kind="eti")
    np.testing.assert_allclose(history["mean"][9], interval, atol=1e-4)
    np.testing.assert_array_equal(history["n"], 60)
    value = items["item_score"].where(items["step"] == 5).mean()
    assert worse.observed()["mean"][5] == pytest.approx(float(value))


@pytest.mark.long
def test_a_drop_raises_every_rule_and_one_incident(worse):
    rules = {"floor": {"mean": 3.5}, "reference": 10}
    alarms = worse.alarms(**rules)
    assert set(alarms["rule"]) == {"change", "batch", "reference", "floor"}
    assert alarms["step"].min() == 16
    change = alarms[alarms["rule"] == "change"].iloc[0]
    assert (change["measure"], change["first"]) == ("scores", 16)
    assert change["sentence"].startswith("the scores have changed: ")
    incidents = worse.incidents(**rules)
    assert incidents["state"].tolist() == ["open"]
    before = worse.alarms(**rules, rate=0.01)
    assert len(before) <= len(alarms)
    assert len(worse.plot(floor={"mean": 3.5}).axes) == 2


@pytest.mark.long
def test_errors_are_worse_where_they_are_higher():
    rng, monitor = np.random.default_rng(5), Monitor("sqlite://", "regression")
    for number in range(12):
        errors = rng.gamma(2, 1 if number < 8 else 2, 150)
        monitor.add(number, bcm.from_item_scores(errors, lower_is_better=True), at=day(number))
    alarms = monitor.alarms(floor=2.8)
    assert "floor" in set(alarms["rule"])
    assert (alarms.loc[alarms["rule"] == "floor", "step"] >= 8).all()
    assert "above the floor" in alarms.loc[alarms["rule"] == "floor", "sentence"].iloc[0]


# The posterior of sums


def test_moments_of_the_urn_are_those_of_its_items():
    rng = np.random.default_rng(1)
    base, weight, n = np.array([0.0, 0.1, 1.0]), np.array([2.0, 1.5, 1.0]), 6
    shares = rng.dirichlet(weight, 400_000)
    counts = rng.multinomial(n, shares)
    total, mean = weight.sum(), weight @ base / weight.sum()
    central = [weight @ (base - mean) ** k / total for k in (2, 3, 4)]
    for values, moments in (
        (
            shares @ base,
            mean_of_dirichlet_process(total, mean, [0.0, *(total * mu for mu in central)]),
        ),
        (counts @ base / n, mean_of_next_items(total, mean, *central, n)),
    ):
        standard = (values - values.mean()) / values.std()
        drawn = [values.mean(), values.std(), (standard**3).mean(), (standard**4).mean() - 3]
        np.testing.assert_allclose(moments, drawn, atol=0.01)


@pytest.mark.long
def test_the_difference_of_two_samples_is_that_of_their_draws():
    rng, measure = np.random.default_rng(2), resolved("mean")
    samples = [ScoredItems(None, marks(rng, shares, 80)) for shares in (GOOD, BAD)]
    now, before = (
        SummedItemScores(sums_of_batches([sample], MARKS, [measure])).distribution(measure)
        for sample in samples
    )
    drawn = np.subtract(*(mean.quantile(rng.random((200_000, 1)))[:, 0] for mean in (now, before)))
    levels = [0.01, 0.3, 0.99]
    quantiles = now.minus(before).quantile(np.array(levels)[:, None])[:, 0]
    np.testing.assert_allclose(quantiles, np.quantile(drawn, levels), atol=0.01)


@pytest.mark.long
@pytest.mark.parametrize("size", [20, 200])
def test_tails_of_a_batch_are_as_frequent_as_they_say(size):
    """A batch of the same scores as those before has a tail below .01 in about one of a hundred."""
    rng, measures = np.random.default_rng(size), [resolved(name) for name in MEASURES]
    scores = rng.choice([1.0, 2, 3, 4, 5], (2, 2000, size), p=GOOD)
    before, batches = (
        SummedItemScores(sums_of_batches([ScoredItems(None, row) for row in rows], MARKS, measures))
        for rows in scores
    )
    tails = unlikely_sums(resolved("mean"), before, batches)
    assert (tails < 0.01).mean() < 0.02
    assert 0.03 < (tails < 0.1).mean() < 0.13
    of_shares = unlikely_sums(resolved("share_above(3)"), before, batches)
    assert (of_shares < 0.01).mean() < 0.02


@pytest.mark.long
@pytest.mark.parametrize("share", [0.03, 0.1, 0.95])
def test_a_batch_all_of_whose_items_are_at_an_end_is_no_rarer_than_that(share):
    """Of rare right answers a batch often has none, which the moments of its mean do not tell."""
    rng, measures = np.random.default_rng(1), [resolved("mean")]
    batches = [ScoredItems(None, (rng.random(20) < share) * 1.0) for _ in range(1500)]
    sums = sums_of_batches(batches, scale(0.0, 1.0), measures)
    before = sums[100:].copy(data=sums.values.cumsum(axis=0)[99:-1])
    tails = unlikely_sums(measures[0], SummedItemScores(before), SummedItemScores(sums[100:]))
    assert (tails < 0.01).mean() < 0.02
    assert (tails < 1e-4).mean() < 2e-3


@pytest.mark.parametrize(
    ("scores", "shares"),
    [
        ([1, 2, 3, 4, 5] * 10, [0.2, 0.4, 0.2, 0.2]),
        ([5] * 45 + [1, 2, 3, 4, 4], [0.1, 0.9]),
        (np.linspace(0, 1, 400), [0.125] * 4 + [0.25] * 2),
        ([3.0] * 50, [0, 1, 0]),
    ],
    ids=["marks", "nearly all alike", "continuous", "all alike"],
)
def test_the_scale_is_parted_between_scores_that_occur(scores, shares):
    cuts = cut_points([np.array(scores, float)])
    parts = np.bincount(np.searchsorted(cuts, scores, "right"), minlength=len(cuts) + 1)
    np.testing.assert_allclose(sorted(parts / len(scores)), sorted(shares), atol=0.01)
    assert all(first < second for first, second in pairwise(cuts))


# What comes in


def test_the_same_batch_in_another_order_changes_nothing():
    rng, monitor = np.random.default_rng(2), Monitor("sqlite://", "m")
    scores, names = rng.random(30), [f"q{number}" for number in range(30)]
    order = rng.permutation(30)
    assert monitor.add("a", bcm.from_item_scores(scores, item=names, range=(0, 1)))
    again = bcm.from_item_scores(scores[order], item=np.array(names)[order], range=(0, 1))
    assert not monitor.add("a", again)
    with pytest.raises(ValueError, match="other scores of 30 items"):
        monitor.add("a", bcm.from_item_scores(scores[::-1], item=names, range=(0, 1)))
    assert monitor.add("b", bcm.from_item_scores(scores / 2, range=(0, 1)), corrects="a")
    assert float(monitor.summary()["point"][0]) == pytest.approx(scores.mean() / 2)


@pytest.mark.long
def test_the_scale_is_that_of_the_first_batch():
    monitor = Monitor("sqlite://", "m")
    monitor.add(1, bcm.from_item_scores([0.2, 0.4, 0.9], range=(0, 1)))
    assert monitor.add(2, bcm.from_item_scores([0.3, 0.4, 0.9]))
    with pytest.raises(ValueError, match="outside the range"):
        monitor.add(3, bcm.from_item_scores([0.3, 0.4, 1.9]))
    with pytest.raises(ValueError, match="which differs from the batches"):
        monitor.add(3, bcm.from_item_scores([0.3, 0.4, 0.9], range=(0, 5)))
    with pytest.raises(ValueError, match="lower_is_better is True, which differs from the batches"):
        monitor.add(3, bcm.from_item_scores([0.3, 0.4], lower_is_better=True))
    with pytest.raises(ValueError, match="has batches of item scores, but this batch"):
        monitor.add(3, bcm.from_cells(tp=6, fn=1, fp=3, tn=3))
    assert monitor.ledger.last("m").entry == 2


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (bcm.from_item_scores({"a": [1, 2], "b": [2, 3]}), "The batch lacks the classifier"),
        (bcm.from_item_scores([1, 2, 3], weights=[1, 2, 1]), "add each slice under its own name"),
        (
            bcm.from_item_scores([1, 2, 3], group=["a", "a", "b"]),
            "add each slice under its own name",
        ),
        (
            bcm.from_item_scores([1, 2, 3], by={"language": list("eed")}),
            "add each slice under its own name",
        ),
    ],
    ids=["systems", "weights", "clusters", "slices"],
)
def test_what_a_batch_cannot_keep_is_refused(evidence, message):
    with pytest.raises(ValueError, match=message):
        Monitor("sqlite://", "m").add("a", evidence)


def test_what_a_monitor_of_item_scores_does_not_answer_is_refused(worse):
    with pytest.raises(ValueError, match=r"share_above\(0.5\)"):
        Monitor(worse.ledger, "assistant", measures=["median"]).summary()
    with pytest.raises(TypeError, match="no table of counts"):
        worse.posterior()
    with pytest.raises(ValueError, match="no predictive distribution"):
        worse.history(of="predictive")
    with pytest.raises(ValueError, match="tolerance is only available for probabilities"):
        worse.alarms(tolerance={"mean": 0.1})
    with pytest.raises(TypeError, match="The reference of item scores"):
        worse.alarms(reference=bcm.from_cells(tp=6, fn=1, fp=3, tn=3))
    with pytest.raises(ValueError, match="The batches are counts"):
        Monitor(worse.ledger, "spam").item_scores()
    with pytest.raises(ValueError, match="concentration"):
        Monitor("sqlite://", "m", concentration=-1).add("a", bcm.from_item_scores([1, 2]))


def test_items_that_come_again_and_a_scale_without_ends_are_cautioned_of():
    rng, monitor = np.random.default_rng(4), Monitor("sqlite://", "nightly")
    names = [f"q{number}" for number in range(20)]
    for night in range(3):
        monitor.add(night, bcm.from_item_scores(rng.random(20), item=names), at=day(night))
    caution = monitor.summary().attrs["caution"]
    assert "67% of the current items were also scored in an earlier batch" in caution
    assert "the range of the scores is unknown" not in caution
    assert (
        "range of the scores"
        in Monitor(monitor.ledger, "nightly", window=1).summary().attrs["caution"]
    )
    assert "caution" in monitor.history().attrs


@pytest.mark.long
def test_forgetting_and_a_window_weigh_the_items():
    rng, ledger = np.random.default_rng(6), Ledger("sqlite://")
    scores = rng.random((5, 50))
    for number, row in enumerate(scores):
        Monitor(ledger, "m").add(number, bcm.from_item_scores(row, range=(0, 1)), at=day(number))
    latest = Monitor(ledger, "m", window=2).summary()["point"][0]
    assert latest == pytest.approx(scores[-2:].mean())
    weight = np.repeat(0.5 ** np.arange(4, -1, -1), 50)
    forgotten = Monitor(ledger, "m", forgetting=0.5).summary()["point"][0]
    assert forgotten == pytest.approx(np.average(scores.ravel(), weights=weight))


# The ledger, the faces


@pytest.mark.long
def test_ledgers_are_verified_and_rolled_up(worse, tmp_path):
    assert verify(worse.ledger)["whole"].all()
    rolled = roll_up(worse.ledger, tmp_path / "new.db", before=day(10))
    assert rolled.set_index("classifier")["rolled_up"]["assistant"] == 10
    with Monitor(tmp_path / "new.db", "assistant", measures=MEASURES) as monitor:
        assert monitor.batches().sizes["step"] == 15
        assert monitor.item_scores().sizes["item"] == 24 * 60
        columns = ["point", "lower", "upper"]
        pd.testing.assert_frame_equal(monitor.summary()[columns], worse.summary()[columns])


@pytest.mark.long
def test_the_dashboard_shows_them_beside_counts(worse):
    settings = {"measures": [*MEASURES, "recall"], "floor": {"mean": 3.5, "recall": 0.7}}
    state = dashboard_state(worse.ledger, settings)
    text = exposition(state).decode()
    assert 'bayescm_measure{bound="mean",class="",classifier="assistant",measure="mean"}' in text
    assert 'bayescm_examples{classifier="assistant"} 480.0' in text
    assert [state.classifier(name).problem for name in state.names()] == ["", ""]
    assert state.classifier("assistant").has_changed
    page = pages.classifier(state, "assistant", may_acknowledge=False).body.decode()
    assert "The scores have changed" in page
    assert "480 items" in page


@pytest.mark.long
def test_a_report_is_written_of_them(worse, tmp_path):
    with Ledger(tmp_path / "m.db") as ledger:
        items = worse.item_scores()
        for name, batch in items.groupby("step"):
            kept = batch.drop_vars(["batch_id", "at", "step"])
            Monitor(ledger, "assistant").add(name, kept, at=batch["at"].values[0])
    path = monitor_report(str(tmp_path / "m.db"), tmp_path / "report.md", floor={"mean": 3.5})
    text = path.read_text()
    assert "480 items" in text
    assert "The scores have changed" in text
    assert "pseudo-items at each end of the scale" in text


@pytest.mark.long
def test_the_command_line_takes_item_scores(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    for number in range(3):
        names = [f"{number}-{index}" for index in range(40)]
        frame = pd.DataFrame({"q": names, "mark": marks(rng, GOOD, 40)})
        frame.to_csv(f"{number}.csv", index=False)
    (tmp_path / "monitor.toml").write_text(
        'store = "m.db"\nscore = "mark"\nitem = "q"\nrange = [1, 5]\nmeasures = ["mean"]\n'
    )

    def run(*arguments):
        with pytest.raises(SystemExit) as leaving:
            main(["monitor", *arguments])
        return leaving.value.code

    for number in range(3):
        assert run("add", f"{number}.csv", "--batch", str(number)) == 0
    assert "batch 0 of classifier: 40 items, recorded" in capsys.readouterr().out
    assert run("status", "--format", "json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["examples"], row["measure"]) == (120, "mean")
    assert run("alarms", "--floor", "mean=4.9") == 0
    assert "below the floor" in " ".join(capsys.readouterr().out.split())
    assert run("add", "0.csv", "--batch", "4", "--range", "0,5") == 2
    assert "differs from the batches" in capsys.readouterr().err


def test_items_on_one_side_of_a_mark_are_judged_and_cautioned_of():
    monitor = Monitor("sqlite://", "m", measures=["share_above(0.5)"])
    monitor.add(1, bcm.from_item_scores(np.linspace(0, 0.4, 150)))
    assert "on one side of the mark 0.5" in monitor.summary().attrs["caution"]
    assert monitor.alarms(floor=0.3)["rule"].tolist() == ["floor"]
    few = Monitor("sqlite://", "few")
    few.add(1, bcm.from_item_scores([0.2, 0.4], range=(0, 1)))
    assert "With only 2 items" in few.summary().attrs["caution"]


def test_a_challenge_of_item_scores_is_refused_with_what_compares_them():
    scores = bcm.from_item_scores({"old": [0.2, 0.4], "new": [0.3, 0.5]})
    with pytest.raises(TypeError, match=r"bcm\.compare"):
        Challenge("sqlite://", "c").add("monday", scores)


@pytest.mark.long
def test_items_that_are_repeated_are_those_of_the_batches_in_force():
    with Monitor("sqlite://", "m", measures=["mean"]) as monitor:
        rng = np.random.default_rng(2)
        questions = [[f"q{i}" for i in range(80)]] * 3 + [[f"r{i}" for i in range(80)]] * 2
        for day, names in enumerate(questions):
            scores = rng.beta(8, 2, 80) if day < 3 else rng.beta(2, 8, 80)
            monitor.add(
                day, bcm.from_item_scores(scores, item=names, range=(0, 1)), f"2026-01-0{day + 1}"
            )
        assert monitor.since_change()["batch_id"].values.tolist() == ["3", "4"]
        assert "50% of the current items" in monitor.summary().attrs["caution"]
        assert "50% of the current items" in monitor.history().attrs["caution"]
        every = monitor.history(rate=1e-200)
        assert "60% of the current items" in every.attrs["caution"]
