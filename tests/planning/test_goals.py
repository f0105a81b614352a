"""Plans to exceed a requirement, and studies that look several times, against simulation."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.distributions.beta import Beta
from bayescm.distributions.paired import Discordant

BOTH = ["sensitivity", "specificity"]


def test_one_proportion_is_summed_over_its_outcomes():
    plan = bcm.plan_above("recall", above=0.8, expect=0.9).iloc[0]
    hits = np.random.default_rng(1).binomial(plan["n"], 0.9, 100_000)
    shown = Beta(hits + 0.5, plan["n"] - hits + 0.5).sf(0.8) >= 0.95
    assert shown.mean() == pytest.approx(plan["assurance"], abs=0.004)
    assert plan["assurance"] >= 0.9
    assert plan["unit"] == "positives"


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.long
def test_two_measures_are_shown_together(order):
    required, plausible = np.array([0.7, 0.6]), np.array([0.9, 0.85])
    asked = {"above": required[order].tolist(), "expect": plausible[order].tolist()}
    plan = bcm.plan_above([BOTH[k] for k in order], **asked, prevalence=0.3, assurance=0.8).iloc[0]
    n, rng = int(plan["n"]), np.random.default_rng(2)
    positives = rng.binomial(n, 0.3, 100_000)
    found = rng.binomial(positives, 0.9), rng.binomial(n - positives, 0.85)
    shown = Beta(found[0] + 0.5, positives - found[0] + 0.5).sf(0.7) >= 0.95
    shown &= Beta(found[1] + 0.5, n - positives - found[1] + 0.5).sf(0.6) >= 0.95
    assert shown.mean() == pytest.approx(plan["assurance"], abs=0.005)


def test_the_posterior_is_the_one_that_prob_above_gives():
    plan = bcm.plan_above("recall", above=0.8, expect=0.9).iloc[0]
    hits = round(0.9 * plan["n"])
    counts = bcm.from_cells(tp=hits, fn=int(plan["n"]) - hits, fp=3, tn=9)
    known = Beta(hits + 0.5, plan["n"] - hits + 0.5).sf(0.8)
    assert float(bcm.prob_above(counts, "recall", 0.8)) == pytest.approx(known)


def test_a_study_that_looks_four_times():
    looks, truths = np.array([20, 40, 60, 80]), [0.8, 0.9]
    rule = {"above": 0.8, "level": 0.95, "futility": 0.1}
    table = bcm.planning.operating_characteristics("recall", looks=looks, truth=truths, **rule)
    rng = np.random.default_rng(3)
    for _, row in table.iterrows():
        hits = np.cumsum(rng.binomial(20, row["truth"], (40_000, 4)), axis=1)
        larger = Beta(hits + 0.5, looks - hits + 0.5).sf(0.8)
        stop = (larger >= 0.95) | (larger <= 0.1)
        first = np.where(stop.any(axis=1), stop.argmax(axis=1), 3)
        last = larger[np.arange(len(first)), first]
        assert (last >= 0.95).mean() == pytest.approx(row["p_success"], abs=0.01)
        assert (last <= 0.1).mean() == pytest.approx(row["p_futile"], abs=0.01)
        assert looks[first].mean() == pytest.approx(row["expected_n"], abs=0.5)
        assert row[["p_success", "p_futile", "p_open"]].sum() == pytest.approx(1)


def test_no_worse_by_more_than_a_margin():
    plan = bcm.plan_comparison("recall", difference=0, agreement=0.9, margin=0.05).iloc[0]
    n = int(plan["n"])
    wins, losses, _ = np.random.default_rng(4).multinomial(n, [0.05, 0.05, 0.9], 4000).T
    each, back = np.unique(np.c_[wins, losses], axis=0, return_inverse=True)
    known = Discordant(each[:, 0] + 0.25, each[:, 1] + 0.25, n - each.sum(1) + 0.5).sf(-0.05)
    assert (known[back.ravel()] >= 0.95).mean() == pytest.approx(plan["assurance"], abs=0.025)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"above": 0.95}, "cannot be shown to exceed"),
        ({"measure": "f1"}, "is not one proportion"),
        ({"measure": BOTH, "above": [0.8, 0.8], "expect": [0.9, 0.9]}, "need a prevalence"),
        ({"measure": BOTH}, "another number of values"),
        ({"prevalence": 0.2}, "planned together"),
    ],
)
def test_bad_input_is_named(change, match):
    given = {"measure": "recall", "above": 0.8, "expect": 0.9} | change
    with pytest.raises(ValueError, match=match):
        bcm.plan_above(given.pop("measure"), **given)


def test_looks_must_increase():
    rule = {"above": 0.8, "truth": [0.9]}
    with pytest.raises(ValueError, match="looks must be increasing"):
        bcm.planning.operating_characteristics("recall", looks=[50, 50], **rule)
