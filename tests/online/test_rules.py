"""The rules of alarms, and the posterior probabilities that they ask for."""

import numpy as np
import pandas as pd
import pytest
from healthy_series import series

import bayescm as bcm
from bayescm import online
from bayescm.online.rules import COLUMNS

NOW = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
THEN = bcm.from_cells(tp=270, fn=30, fp=130, tn=120)


def steady(recall, n=50):
    """Batches that are off by no more than two examples, whatever the seed."""
    off = np.resize([0, 1, -2, 0, 2, -1], len(recall))
    tp, tn = (np.rint(n * np.asarray(each)).astype(int) + off for each in (recall, 0.9))
    return bcm.from_cells(tp=tp, fn=n - tp, fp=n - tn, tn=tn).rename(batch="step")


@pytest.mark.parametrize("measure", ["recall", "f1", "accuracy", "mcc"])
def test_prob_below_is_one_minus_prob_above(measure):
    got = float(online.prob_below(NOW, measure, 0.5))
    assert got == pytest.approx(1 - float(bcm.prob_above(NOW, measure, 0.5)), abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("measure", ["recall", "fnr", "f1", "accuracy"])
def test_prob_worse_is_what_draws_say(measure):
    rng, kernel = np.random.default_rng(1), bcm.measures.resolve(measure)
    drawn = [
        kernel(rng.dirichlet(each.values.ravel() + 0.5, 400_000).reshape(-1, 2, 2))
        for each in (NOW, THEN)
    ]
    worse = drawn[0] > drawn[1] if kernel.lower_is_better else drawn[0] < drawn[1]
    got = float(online.prob_worse(NOW, THEN, measure))
    assert got == pytest.approx(worse.mean(), abs=0.003)
    back = float(online.prob_worse(THEN, NOW, measure))
    assert back == pytest.approx(1 - float(online.prob_worse(NOW, THEN, measure)), abs=1e-6)


@pytest.mark.long
def test_prob_worse_of_a_measure_without_a_closed_distribution():
    def net(cells):
        return cells[..., 1, 1] - 0.25 * cells[..., 0, 1]

    def same(cells):
        return cells[..., 1, 1] / cells[..., 1, :].sum(-1)

    exact = float(online.prob_worse(NOW, THEN, "recall"))
    assert float(online.prob_worse(NOW, THEN, same)) == pytest.approx(exact, abs=0.01)
    steps = bcm.combine({0: NOW, 1: THEN}, dim="step")
    assert online.prob_worse(steps, THEN, net).shape == (2,)


def test_a_batch_with_an_empty_cell_is_judged():
    weeks = bcm.from_cells(tp=[50] * 5, fn=0, fp=[5, 0, 5, 5, 50], tn=[45, 50, 45, 45, 0])
    weeks = weeks.rename(batch="step")
    found = online.alarms(weeks, ["recall", "specificity", "f1"])
    rows = found[found["rule"] == "batch"]
    assert set(zip(rows["step"], rows["measure"], strict=True)) >= {(4, "specificity")}
    assert not (rows["measure"] == "recall").any()


@pytest.mark.long
def test_no_change_no_alarm_and_a_drop_raises_all():
    calm = online.alarms(steady([0.9] * 40), ["recall"], floor=0.7, reference=10)
    assert calm.empty
    assert list(calm.columns) == list(COLUMNS)
    drop = online.alarms(
        steady([0.9] * 20 + [0.6] * 20),
        ["recall"],
        rate=0.005,
        floor=0.75,
        reference=10,
        window=5,
    )
    assert set(drop["rule"]) == {"batch", "floor", "reference", "change"}
    assert drop["step"].min() >= 18
    assert drop["step"].is_monotonic_increasing
    first = drop.groupby("rule")["step"].min()
    assert (first <= 28).all()
    assert (drop.groupby("rule").size()[["floor", "reference", "change"]] == 1).all()


def test_a_floor_may_be_given_for_each_measure():
    weeks = series(np.random.default_rng(6), [0.6] * 10)
    found = online.alarms(weeks, ["recall", "specificity"], floor={"sensitivity": 0.8})
    assert set(found.loc[found["rule"] == "floor", "measure"]) == {"recall"}
    with pytest.raises(ValueError, match="which is not monitored"):
        online.alarms(weeks, ["recall"], floor={"f1": 0.8})


def test_another_classifier_as_the_reference():
    weeks = series(np.random.default_rng(6), [0.7] * 10)
    found = online.alarms(weeks, "recall", reference=bcm.from_cells(tp=950, fn=50, fp=10, tn=90))
    assert "reference" in set(found["rule"])
    with pytest.raises(ValueError, match="The reference has the labels"):
        online.alarms(weeks, "recall", reference=bcm.from_matrix([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match="a single table"):
        online.prob_worse(weeks, weeks, "recall")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"rate": 0}, "rate must be between 0 and 1"),
        ({"rate": 1.5}, "rate must be between 0 and 1"),
        ({"reference": 0}, "reference must be"),
        ({"forgeting": 0.9}, "unexpected keyword argument 'forgeting'"),
    ],
)
def test_what_makes_no_sense_is_refused(keywords, message):
    weeks = series(np.random.default_rng(6), [0.7] * 10)
    with pytest.raises((TypeError, ValueError), match=message):
        online.alarms(weeks, "recall", **keywords)


def test_batches_of_the_reference_period_are_compared_with_none():
    weeks = series(np.random.default_rng(6), [0.9, 0.2, 0.2])
    alone, early = (online.alarms(weeks, "recall", reference=first) for first in (1, 20))
    assert "reference" in set(alone["rule"])
    assert "reference" not in set(early["rule"])


def test_alarms_say_which_batch_and_which_class():
    tables = np.tile(np.diag([40, 40, 40]) + 1, (6, 1, 1))
    tables[5, 1] = [40, 1, 1]
    weeks = bcm.from_matrix(tables, labels=["cat", "cow", "dog"], dims=("step",))
    named = weeks.assign_coords(
        batch_id=("step", [f"week {i}" for i in range(6)]),
        at=("step", pd.date_range("2026-01-01", periods=6).values),
    )
    found = online.alarms(named, "recall")
    rows = found[found["rule"] == "batch"]
    assert rows["measure"].tolist() == ["recall[cow]"]
    assert rows["batch_id"].tolist() == ["week 5"]
    assert rows["at"].tolist() == [pd.Timestamp("2026-01-06")]
