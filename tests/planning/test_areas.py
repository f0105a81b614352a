import numpy as np
import pytest

import bayescm as bcm
from bayescm.planning import hanley_mcneil


def test_the_error_of_an_area_is_as_printed():
    # Hanley & McNeil (1982): 51 abnormal and 58 normal images, an area of .893, .032.
    assert hanley_mcneil(0.893, 51, 58) == pytest.approx(0.032, abs=6e-4)


@pytest.mark.long
def test_enough_examples_for_an_area():
    plan = bcm.planning.plan_auc(expect=0.85, width=0.15, replications=60).iloc[0]
    assert plan["assurance"] >= 0.9
    unit = hanley_mcneil(0.85, 5e5, 5e5) * 1e3
    about = (2 * 1.96 * unit / 0.15) ** 2  # at which half of the intervals are narrow enough
    assert about < plan["n"] < 2 * about
    more = bcm.planning.plan_auc(expect=0.85, width=0.15, prevalence=0.1, replications=60).iloc[0]
    assert more["n"] > plan["n"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"expect": 0.5}, "expect must be between"),
        ({"expect": "high"}, "expect must be a number"),
        ({"width": 1.2}, "width must be between"),
        ({"replications": 0}, "must be a whole number of test sets"),
        ({"replications": 40.0}, "replications must be a whole number of test sets"),
        ({"width": 1e-6}, "No sample size up to 10,000,000"),
    ],
)
def test_what_is_no_plan_of_an_area_is_named(change, error):
    with pytest.raises((TypeError, ValueError), match=error):
        bcm.planning.plan_auc(**{"expect": 0.85, "width": 0.15, **change})


@pytest.mark.long
def test_large_test_sets_are_simulated_one_at_a_time_and_fewer(monkeypatch):
    monkeypatch.setattr("bayescm.planning.areas._SCORES", 10_000)
    plan = bcm.planning.plan_auc(expect=0.85, width=0.1, replications=60).iloc[0]
    assert 200 < plan["n"] < 340
    assert plan["how"] == f"{10_000 // plan['n']} simulated test sets"


@pytest.mark.long
def test_small_sets_without_an_interval_count_as_too_wide():
    plan = bcm.planning.plan_auc(expect=0.8, width=0.3, prob=0.6, replications=100).iloc[0]
    assert 10 < plan["n"] < 60


@pytest.mark.long
def test_how_many_are_positive_is_left_to_chance(monkeypatch):
    positives = []

    def variance(scores, weights, by_class):
        positives.append(by_class[1].sum() / scores.size)
        return [0.85], [[9e-4 * 300 / scores.size]]

    monkeypatch.setattr("bayescm.planning.areas.placement_covariance", variance)
    plan = bcm.planning.plan_auc(expect=0.85, width=0.12, prevalence=0.3).iloc[0]
    last = np.array(positives[-400:])
    assert last.mean() == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / plan["n"] / 400))
    assert last.std() == pytest.approx(np.sqrt(0.21 / plan["n"]), rel=0.2)


def test_areas_on_different_examples_are_independent():
    rng = np.random.default_rng(3)
    parts = {}
    for name, gap in (("old", 0.8), ("new", 1.6)):
        truth = rng.integers(0, 2, 90)
        parts[name] = bcm.from_scores(truth, rng.normal(gap * truth))
    row = bcm.classical.delong_compare(parts).iloc[0]
    ends = [bcm.classical.delong(each, transform="none").values for each in parts.values()]
    wide = [np.ptp(each) for each in ends]
    assert row["upper"] - row["lower"] == pytest.approx(np.hypot(*wide))
    assert row["difference"] == pytest.approx(ends[0].mean() - ends[1].mean())
