"""Which examples to label next."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.planning import choose
from bayescm.planning.labels import allocate

# In an order that has nothing to do with the labels, and whose shares are exact.
ORDER = np.arange(2000) * 1237 % 2000
TRUTH = (ORDER % 20 == 0).astype(int)
RANK = ORDER // 20 + 100 * (ORDER % 20)  # of the positives first
JUDGE, SAID, OTHER = (
    np.where(RANK * step % 100 < wrong, 1 - TRUTH, TRUTH)
    for wrong, step in ((15, 37), (7, 61), (10, 83))
)


def human(is_labelled):
    return [
        int(each) if labelled else None for each, labelled in zip(TRUTH, is_labelled, strict=True)
    ]


FIRST = human(np.arange(2000) < 40)
EVIDENCE = bcm.from_partly_labelled(FIRST, SAID, JUDGE)


def width(evidence, measure="f1"):
    ends = bcm.interval(evidence, measure)
    return float(ends.sel(bound="upper") - ends.sel(bound="lower"))


def test_chosen_labels_tell_more_than_random_ones_and_as_much_as_expected():
    plan = bcm.planning.plan_labels(EVIDENCE, "f1", 80)
    places = choose(plan, FIRST, SAID, JUDGE)
    assert len(set(places)) == plan["label_next"].sum() == 80
    assert places.min() >= 40
    chosen = bcm.from_partly_labelled(
        human(np.isin(np.arange(2000), [*range(40), *places])), SAID, JUDGE
    )
    random = bcm.from_partly_labelled(human(np.arange(2000) < 120), SAID, JUDGE)
    assert width(chosen) < 0.85 * width(random)
    assert plan["width"][0] == pytest.approx(width(EVIDENCE))
    assert plan["width_after"][0] == pytest.approx(width(chosen), rel=0.3)
    labelled = plan.set_index(["judge", "predicted"])
    assert labelled["labelled"].sum() == 40
    assert labelled["unlabelled"].sum() == 1960
    rate = labelled["label_next"] / labelled["unlabelled"]
    assert rate["1", 1] > 3 * rate["0", 0]  # where the positives are


def test_a_choice_by_stratum_is_ignorable_given_the_stratum():
    truth, judge = np.repeat([1, 0, 1, 0], [160, 40, 60, 740]), np.repeat([1, 0], [200, 800])
    means = []
    for share in (20, 60):  # labels where the judge says 1, of 120
        labelled = np.zeros(1000, bool)
        labelled[np.r_[0:200][:: 200 // share][:share]] = True
        labelled[np.r_[200:1000][:: 800 // (120 - share)][: 120 - share]] = True
        labels = [
            int(each) if is_labelled else None
            for each, is_labelled in zip(truth, labelled, strict=True)
        ]
        table = bcm.summary(bcm.from_partly_labelled(labels, judge=judge), ["prevalence", "recall"])
        means.append(table["mean"].to_numpy())
        assert ((table["lower"] < [0.22, 160 / 220]) & (table["upper"] > [0.22, 160 / 220])).all()
        naive = truth[labelled].mean()
    np.testing.assert_allclose(*means, atol=0.08)
    assert naive > 0.4  # what the labels alone say


def test_allocation_is_the_best_one_within_what_there_is():
    variance, weight, none = np.array([16.0, 4.0, 1.0]), np.ones(3), np.zeros(3)
    allocated = allocate(variance, weight, none, np.full(3, 500.0), 67)
    np.testing.assert_allclose(allocated + 1, [40, 20, 10], atol=1)  # Neyman: as the square roots
    assert allocate(variance, weight, none, np.array([5.0, 500.0, 3.0]), 67).tolist() == [5, 59, 3]
    assert allocate(variance, weight, none, np.array([5.0, 4.0, 0.0]), 67).tolist() == [5, 4, 0]
    starved = allocate(np.array([1e9, 1e-9]), np.ones(2), none[:2], np.full(2, 500.0), 100)
    assert starved.tolist() == [95, 5]
    assert allocate(variance, weight, none, np.full(3, 1e6), 60_000).sum() == 60_000


def test_labels_arrive_in_batches():
    plan = bcm.planning.plan_labels(EVIDENCE, "f1", 80, batch=10)
    whole = bcm.planning.plan_labels(EVIDENCE, "f1", 80)
    assert plan["label_next"].sum() == 10
    assert (plan["width_after"] == whole["width_after"]).all()
    last = bcm.planning.plan_labels(EVIDENCE, "recall", 10**6)
    assert (last["label_next"] == last["unlabelled"]).all()


@pytest.mark.filterwarnings("ignore:The judge does not help")
def test_several_classifiers_scores_and_a_judge_alone():
    several = {"a": SAID, "b": OTHER}
    plan = bcm.planning.plan_labels(bcm.from_partly_labelled(FIRST, several, JUDGE), "f1", 30)
    assert {"judge", "predicted_a", "predicted_b"} < set(plan)
    assert len(choose(plan, FIRST, several, JUDGE)) == 30
    assert plan["unlabelled"].sum() == 1960
    for judge in (TRUTH + ORDER * 7 % 97 / 40, JUDGE):
        alone = bcm.from_partly_labelled(FIRST, judge=judge)
        table = bcm.planning.plan_labels(alone, "prevalence", 30)
        assert len(choose(table, FIRST, judge=judge)) == table["label_next"].sum() == 30
    with pytest.raises(ValueError, match="The plan lacks the columns"):
        choose(plan, FIRST, SAID, JUDGE)
    with pytest.raises(ValueError, match="has 0 unlabelled"):
        choose(table.assign(label_next=1), TRUTH, judge=JUDGE)


@pytest.mark.parametrize(
    ("evidence", "measure", "budget", "words"),
    [
        (bcm.from_partly_labelled(TRUTH, SAID, JUDGE), "f1", 5, "Every example is labelled"),
        (EVIDENCE, "f1", 0, "budget must be"),
        (EVIDENCE, "f1", 2.5, "budget must be"),
        (EVIDENCE, "f11", 5, "f11"),
        (bcm.from_predictions(TRUTH, SAID), "f1", 5, "partly labelled examples with a judge"),
    ],
)
def test_bad_input_says_what_is_wrong(evidence, measure, budget, words):
    with pytest.raises(ValueError, match=words):
        bcm.planning.plan_labels(evidence, measure, budget)


def test_the_command_writes_the_rows(tmp_path, capsys):
    from bayescm.cli import main

    path, out = tmp_path / "items.csv", tmp_path / "chosen.csv"
    frame = pd.DataFrame({"id": [f"{i:04d}" for i in range(2000)], "human": FIRST, "new": SAID})
    frame = frame.assign(llm=JUDGE, human=frame["human"].astype("Int64"))
    frame.to_csv(path, index=False)
    arguments = ["label", str(path), "--actual", "human", "--predicted", "new", "--positive", "1"]
    arguments += ["-m", "f1", "--budget", "50"]
    with pytest.raises(SystemExit, match="0"):
        main([*arguments, "--judge", "llm", "--batch", "20", "--out", str(out), "--format", "csv"])
    assert "label_next" in capsys.readouterr().out
    rows = pd.read_csv(out, dtype={"id": str})
    assert len(rows) == 20
    assert rows["human"].isna().all()
    np.testing.assert_array_equal(rows["llm"], JUDGE[rows["row"] - 1])
    assert rows["id"].tolist() == frame["id"][rows["row"] - 1].tolist()
    for more in (["--judge", "llm", "--out", str(path)], ["--judge", "llm", "--budget", "0"]):
        with pytest.raises(SystemExit, match="2"):
            main([*arguments, *more])
