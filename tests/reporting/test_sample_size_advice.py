"""What would settle a matter: sentences that agree with the plans."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.reporting.sample_size_advice import open_questions, uncertain


def outcomes(n, wins, losses):
    actual = np.arange(n) % 2
    a, b = actual.copy(), actual.copy()
    b[:wins] ^= 1
    a[wins : wins + losses] ^= 1
    return bcm.from_classifiers(actual, {"a": a, "b": b}, positive=1)


@pytest.mark.long
def test_least_certain_measure_and_its_plan():
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    wanted = ["accuracy", "tnr", "kappa"]
    table = bcm.summary(counts, wanted)
    first, second = uncertain(counts, table, wanted, 0.95, "hdi").sentences
    width = float((table["upper"] - table["lower"])[1])
    plan = bcm.plan("specificity", width=width / 2, pilot=counts).iloc[0]
    assert f"measure, relative to its range, is TNR, with an interval {width:.3f} wide" in first
    assert f"{plan['n']:,} negatives" in second


def test_widths_are_relative_only_if_ranges_differ():
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    for wanted, said in ((["tpr", "tnr"], "measure is TNR"), (["tnr", "mcc"], "its range, is")):
        table = bcm.summary(counts, wanted)
        assert said in uncertain(counts, table, wanted, 0.95, "hdi").sentences[0]


@pytest.mark.long
def test_open_comparison_names_a_size_and_a_settled_one_nothing():
    open_ = outcomes(200, 14, 8)
    comparison = bcm.compare(open_, "accuracy")
    (said,) = open_questions(open_, comparison, ["accuracy"], 0.95, 0.0)
    plan = bcm.planning.plan_comparison(difference=comparison["mean"][0], agreement=0.89).iloc[0]
    size = int(said.split("about ")[1].split(" shared")[0].replace(",", ""))
    assert size == pytest.approx(plan["n"], rel=0.1)
    clear = outcomes(200, 30, 2)
    assert open_questions(clear, bcm.compare(clear, "accuracy"), ["accuracy"], 0.95, 0.0) == []


def test_equal_classifiers_are_not_told_to_be_told_apart():
    alike = outcomes(200, 8, 8)
    (said,) = open_questions(
        alike, bcm.compare(alike, "accuracy_score"), ["accuracy_score"], 0.95, 0.0
    )
    assert "equivalence" in said
