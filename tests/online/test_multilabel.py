"""Several labels batch by batch: what is kept, what is known of the ratios, and the alarms."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.cli import main
from bayescm.evidence.multilabel import LabelledExamples
from bayescm.measures.labelled import of_variable
from bayescm.online import Ledger, Monitor, roll_up
from bayescm.online.predictive_check import unlikely_sums
from bayescm.online.web import pages
from bayescm.online.web.metrics import exposition
from bayescm.online.web.state import dashboard_state
from bayescm.posteriors.summed_labels import SummedLabels, sums_of_batches
from bayescm.reporting.monitors import monitor_report

LABELS = ["bird", "cat", "dog", "fox"]
MEASURES = ["f1_micro", "recall_micro", "f1[cat]", "f1_samples", "hamming_loss"]


def day(number):
    return np.datetime64("2026-01-01") + np.timedelta64(number, "D")


def labelled(rng, error, size=100):
    actual = rng.random((size, 4)) < [0.5, 0.3, 0.2, 0.1]
    return actual, actual ^ (rng.random(actual.shape) < error)


@pytest.fixture(scope="module")
def worse():
    """Return a monitor of 20 batches, whose labels are wrong more often from the fifteenth on."""
    rng, monitor = np.random.default_rng(3), Monitor("sqlite://", "tags", measures=MEASURES)
    for number in range(20):
        pair = labelled(rng, 0.08 if number < 14 else 0.2)
        monitor.add(number, bcm.from_multilabel(*pair, labels=LABELS), at=day(number))
    return monitor


@pytest.mark.long
def test_what_is_known_is_what_is_known_of_the_examples_without_a_monitor(worse):
    latest = worse.since_change()
    assert latest.sizes["step"] == 6
    examples = worse.multilabel()
    assert examples.sizes == {"example": 2000, "label": 4}
    in_force = examples.isel(example=examples["step"].values >= 14)
    table, direct = worse.summary(), bcm.summary(in_force, MEASURES)
    np.testing.assert_allclose(table["point"], direct["point"])
    np.testing.assert_allclose(table["mean"], direct["mean"], atol=2e-3)
    ends = ["lower", "upper"]  # those of draws are known to some .0015
    np.testing.assert_allclose(table[ends], direct[ends], atol=3e-3)
    assert worse.n_examples() == 600


@pytest.mark.long
def test_few_examples_have_the_distribution_of_the_draws():
    rng = np.random.default_rng(8)
    evidence = bcm.from_multilabel(*labelled(rng, 0.2, 12), labels=LABELS)
    monitor = Monitor(
        "sqlite://", "m", measures=["precision_micro", "jaccard_micro", "recall[cat]"]
    )
    monitor.add(1, evidence)
    table = monitor.summary(kind="eti")
    direct = bcm.summary(evidence, monitor.measures, kind="eti")
    ends = ["lower", "upper"]
    np.testing.assert_allclose(table[ends], direct[ends], atol=0.015)
    assert "With only 12 examples" in table.attrs["caution"]


@pytest.mark.long
def test_a_fall_raises_every_rule_in_one_incident(worse):
    rules = {"floor": {"f1_micro": 0.75, "hamming_loss": 0.15}, "reference": 10}
    alarms = worse.alarms(**rules)
    assert set(alarms["rule"]) == {"change", "batch", "reference", "floor"}
    assert alarms["step"].min() == 14
    assert alarms["sentence"].str.startswith("the answers have changed: ").any()
    above = alarms[(alarms["rule"] == "floor") & (alarms["measure"] == "hamming_loss")]
    assert "above the floor" in above["sentence"].iloc[0]
    assert worse.incidents(**rules)["state"].tolist() == ["open"]
    assert len(worse.plot(floor={"f1_micro": 0.75}).axes) == len(MEASURES)


@pytest.mark.long
@pytest.mark.parametrize("name", ["f1_micro", "f1[cat]", "hamming_loss"])
def test_tails_of_a_batch_are_as_frequent_as_they_say(name):
    rng, measures = np.random.default_rng(4), of_variable(name, "example_cells")
    before, batches = (
        SummedLabels(
            sums_of_batches(
                [LabelledExamples(*labelled(rng, 0.1, 60)) for _ in range(1500)],
                xr.DataArray(np.zeros(4), {"label": LABELS}, ["label"]),
                measures,
            )
        )
        for _ in range(2)
    )
    tails = unlikely_sums(measures[0], before, batches)
    assert (tails < 0.01).mean() < 0.02
    assert 0.03 < (tails < 0.1).mean() < 0.13


@pytest.mark.long
def test_a_batch_without_a_hit_of_a_rare_label_is_no_alarm_where_it_is_common():
    rng, monitor = np.random.default_rng(5), Monitor("sqlite://", "m", measures=["f1[fox]"])
    for number in range(60):
        monitor.add(
            number, bcm.from_multilabel(*labelled(rng, 0.1, 40), labels=LABELS), at=day(number)
        )
    assert float(monitor.observed()["f1[fox]"].min()) == 0
    assert len(monitor.alarms()) == 0


@pytest.mark.long
def test_labels_keep_the_order_of_the_first_batch():
    monitor = Monitor("sqlite://", "m", measures=["f1[cat]"])
    truth = [{"cat"}, {"dog", "cat"}, set(), {"dog"}]
    monitor.add(1, bcm.from_multilabel(truth, [{"cat"}, {"dog"}, set(), {"cat"}]))
    again = bcm.from_multilabel(
        truth[::-1], [{"cat"}, set(), {"dog"}, {"cat"}], labels=["dog", "cat"]
    )
    assert not monitor.add(1, again)
    only_cats = bcm.from_multilabel([{"cat"}], [{"cat"}], labels=["cat"])
    assert monitor.add(2, only_cats)
    assert float(monitor.summary()["point"][0]) == pytest.approx(4 / 6)
    with pytest.raises(ValueError, match="are unknown in the earlier batches"):
        monitor.add(3, bcm.from_multilabel([{"fox"}], [{"cat"}]))
    with pytest.raises(ValueError, match="other labels of 4 items"):
        monitor.add(1, only_cats)
    with pytest.raises(ValueError, match="has batches of several labels of each example"):
        monitor.add(3, bcm.from_item_scores([0.1, 0.4]))


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (
            bcm.from_multilabel(np.eye(2), {"a": np.eye(2), "b": np.eye(2)}),
            "The batch lacks the classifier",
        ),
        (
            bcm.from_multilabel(np.eye(2), np.eye(2), scores=np.eye(2)),
            "A batch with several labels cannot",
        ),
        (
            bcm.from_multilabel(np.eye(2), np.eye(2), by={"site": list("ab")}),
            "A batch with several labels cannot",
        ),
    ],
    ids=["systems", "scores", "slices"],
)
def test_what_a_batch_cannot_keep_is_refused(evidence, message):
    with pytest.raises(ValueError, match=message):
        Monitor("sqlite://", "m").add("a", evidence)


@pytest.mark.parametrize("name", ["f1_macro", "f1", "mcc[cat]", "f1_weighted"])
def test_what_is_no_ratio_is_refused(worse, name):
    with pytest.raises(ValueError, match="cannot be monitored"):
        Monitor(worse.ledger, "tags", measures=[name]).summary()


def test_what_a_monitor_of_labels_does_not_answer_is_refused(worse):
    with pytest.raises(ValueError, match="Unknown label"):
        Monitor(worse.ledger, "tags", measures=["f1[cow]"]).summary()
    with pytest.raises(TypeError, match="no table of counts"):
        worse.posterior()
    with pytest.raises(ValueError, match="multilabel has no predictive"):
        worse.history(of="predictive")
    with pytest.raises(ValueError, match="The batches are"):
        worse.item_scores()


@pytest.mark.long
def test_dashboard_ledger_and_report_have_them(worse, tmp_path):
    state = dashboard_state(worse.ledger, {"measures": ["f1_micro"], "floor": {"f1_micro": 0.75}})
    assert 'classifier="tags",measure="f1_micro"' in exposition(state).decode()
    page = pages.classifier(state, "tags", may_acknowledge=False).body.decode()
    assert "600 examples" in page
    roll_up(worse.ledger, tmp_path / "new.db", before=day(10))
    with Monitor(tmp_path / "new.db", "tags", measures=MEASURES) as monitor:
        assert monitor.multilabel().sizes["example"] == 2000
    path = monitor_report(str(tmp_path / "new.db"), tmp_path / "r.md", measures=["f1_micro"])
    assert "pseudo-examples in each cell" in path.read_text()


@pytest.mark.long
def test_the_command_line_takes_several_labels(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    for number in range(2):
        fields = [[";".join(np.array(LABELS)[row]) for row in part] for part in labelled(rng, 0.1)]
        pd.DataFrame({"tags": fields[0], "model": fields[1]}).to_csv(f"{number}.csv", index=False)

    def run(*arguments):
        with pytest.raises(SystemExit) as leaving:
            main(["monitor", *arguments])
        return leaving.value.code

    labels = ("--actual", "tags", "--predicted", "model", "--separator", ";")
    for number in range(2):
        assert run("add", f"{number}.csv", "--store", "m.db", "--batch", str(number), *labels) == 0
    assert "100 examples with 4 labels, recorded" in capsys.readouterr().out
    assert run("status", "--store", "m.db", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["measure"] for row in rows] == ["precision_micro", "recall_micro", "f1_micro"]
    with Ledger(tmp_path / "m.db") as ledger:
        assert ledger.last("classifier").entry == 2


@pytest.mark.long
def test_what_few_examples_count_in_is_cautioned_of():
    monitor = Monitor("sqlite://", "m", measures=["recall_micro", "f1_samples"])
    nothing = np.zeros((30, 3))
    monitor.add(1, bcm.from_multilabel(nothing, nothing))
    caution = monitor.summary().attrs["caution"]
    assert "Fewer than 20 examples or labels contribute to recall_micro, f1_samples" in caution
    rng = np.random.default_rng(1)
    monitor.add(2, bcm.from_multilabel(rng.random((60, 3)) < 0.5, rng.random((60, 3)) < 0.5))
    assert "caution" not in monitor.summary().attrs
