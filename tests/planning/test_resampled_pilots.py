"""Plans from pilots of every type: against formulas, other planners and fresh test sets."""

import warnings

import numpy as np
import pytest

import bayescm as bcm
from bayescm.evidence.registry import type_of
from bayescm.evidence.resampling import draw_numbers

RNG = np.random.default_rng(11)
ACTUAL = np.arange(400) % 2
ONE, TWO, THREE = (
    np.where(RNG.random(400) < wrong, 1 - ACTUAL, ACTUAL) for wrong in (0.1, 0.2, 0.3)
)
SCORES = ACTUAL * 1.4 + RNG.normal(0, 1, 400)
PROBABILITIES = 1 / (1 + np.exp(0.7 - SCORES))
MEDIAN = {"assurance": 0.5, "kind": "eti"}
Z = 1.96


@pytest.mark.long
def test_two_classifiers_are_planned_for_their_difference_as_paired_proportions():
    pilot = bcm.from_classifiers(ACTUAL, {"one": ONE, "two": TWO}, positive=1)
    (plan,) = bcm.plan("accuracy", width=0.08, pilot=pilot, **MEDIAN).itertuples()
    difference = (ONE == ACTUAL).astype(float) - (TWO == ACTUAL)
    assert plan.measure == "difference of accuracy"
    assert plan.unit == "examples"
    assert plan.n == pytest.approx((2 * Z * difference.std() / 0.08) ** 2, rel=0.1)


@pytest.mark.long
def test_three_classifiers_are_planned_for_every_difference():
    systems = {"one": ONE, "two": TWO, "three": THREE}
    pilot = bcm.from_classifiers(ACTUAL, systems, positive=1)
    (plan,) = bcm.plan("accuracy", width=0.12, pilot=pilot, **MEDIAN).itertuples()
    assert plan.goal == "0.95 eti of every difference at most 0.12 wide"
    pairs = [("one", "two"), ("one", "three"), ("two", "three")]
    alone = [
        bcm.plan("accuracy", width=0.12, pilot=pilot.sel(classifier=[*pair]), **MEDIAN)["n"][0]
        for pair in pairs
    ]
    assert max(alone) <= 1.05 * plan.n <= 1.2 * max(alone)


@pytest.mark.long
def test_an_area_from_a_pilot_of_normal_scores_is_planned_as_plan_auc_does():
    pilot = bcm.from_scores(ACTUAL, SCORES, positive=1)
    (plan,) = bcm.plan("auc", width=0.1, pilot=pilot, **MEDIAN).itertuples()
    area = float(bcm.measure(pilot, "auc")["auc"])
    expected = bcm.planning.plan_auc(expect=area, width=0.1, assurance=0.5)
    assert plan.n == pytest.approx(expected["n"][0], rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize("several", [False, True])
def test_a_brier_score_is_planned_as_a_mean_of_losses(several):
    other = PROBABILITIES + np.random.default_rng(13).normal(0, 0.1, 400)
    other = np.clip(other, 0.01, 0.99)
    given = {"one": PROBABILITIES, "two": other} if several else PROBABILITIES
    pilot = bcm.from_probabilities(ACTUAL, given, positive=1)
    loss = (PROBABILITIES - ACTUAL) ** 2 - several * (other - ACTUAL) ** 2
    asked = {"width": 0.02 if several else 0.05, "replications": 100}
    (plan,) = bcm.plan("brier", pilot=pilot, **asked, **MEDIAN).itertuples()
    assert plan.n == pytest.approx((2 * Z * loss.std() / asked["width"]) ** 2, rel=0.15)


@pytest.mark.long
def test_attempts_are_planned_with_the_widths_of_plan_attempts():
    rng = np.random.default_rng(2)
    pilot = bcm.from_attempts(rng.random((30, 4)) < rng.beta(2, 2, (30, 1)))
    (plan,) = bcm.plan("mean", width=0.15, pilot=pilot, **MEDIAN).itertuples()
    assert plan.unit == "items, with 4 attempts at each"
    asked = {"items": int(plan.n), "attempts": 4, "kind": "eti", "random_seed": 5}
    expected = bcm.planning.plan_attempts(pilot, "mean", **asked)
    assert expected["width"][0] == pytest.approx(0.15, rel=0.06)


@pytest.mark.long
def test_partly_labelled_examples_keep_their_share_of_labels():
    judge = np.where(np.random.default_rng(12).random(400) < 0.1, 1 - ACTUAL, ACTUAL)
    labels = [label if place % 5 == 0 else None for place, label in enumerate(ACTUAL.tolist())]
    pilot = bcm.from_partly_labelled(labels, ONE, judge=judge, positive=1)
    (plan,) = bcm.plan("accuracy", width=0.1, pilot=pilot, replications=200).itertuples()
    assert plan.unit == "examples, 20% of them labelled"
    rng, reached = np.random.default_rng(3), []
    for _ in range(100):
        drawn = type_of(pilot).resample(pilot, int(plan.n), rng)
        assert type_of(drawn).size(drawn) == plan.n
        ends = bcm.interval(drawn, "accuracy")
        reached.append(float(ends[1] - ends[0]) <= 0.1)
    assert np.mean(reached) == pytest.approx(0.9, abs=0.1)


@pytest.mark.long
def test_the_assurance_is_reached_by_fresh_test_sets():
    rng = np.random.default_rng(4)
    counts = {name: rng.poisson(mean, 40) for name, mean in (("tp", 4), ("fp", 1), ("fn", 1))}
    pilot = bcm.from_item_counts(**counts)
    (plan,) = bcm.plan("f1", width=0.1, pilot=pilot, replications=200).itertuples()
    reached = []
    for _ in range(200):
        chosen = rng.choice(40, int(plan.n), p=rng.dirichlet(np.ones(40)))
        ends = bcm.interval(bcm.from_item_counts(**{k: v[chosen] for k, v in counts.items()}), "f1")
        reached.append(float(ends[1] - ends[0]) <= 0.1)
    assert np.mean(reached) == pytest.approx(0.9, abs=0.06)
    assert 0 < plan.error < 0.1 * plan.n


@pytest.mark.parametrize(
    ("measure", "pilot", "keywords", "words"),
    [
        (
            "auc",
            bcm.from_scores(ACTUAL, SCORES, fold=np.arange(400) // 80),
            {},
            "one sample.*fold",
        ),
        ("brier", bcm.from_probabilities(ACTUAL, PROBABILITIES), {"prevalence": 0.2}, "prevalence"),
        ("auc", bcm.from_scores(ACTUAL[:6], SCORES[:6]), {}, "The pilot has only"),
        (
            "f1",
            bcm.from_multilabel(RNG.random((30, 2)) < 0.5, RNG.random((30, 2)) < 0.5),
            {},
            "has one value per class",
        ),
        (
            "accuracy",
            bcm.fit(bcm.from_cells(tp=5, fn=2, fp=3, tn=9), draws=20),
            {},
            "number of draws",
        ),
    ],
    ids=["folds", "prevalence", "small", "labels", "fit"],
)
def test_pilots_that_cannot_be_planned_from(measure, pilot, keywords, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=words):
            bcm.plan(measure, width=0.1, pilot=pilot, **keywords)


@pytest.mark.long
def test_numbers_of_units_vary_as_the_bayesian_bootstrap_says():
    weights, rng = np.array([[1.0, 2.0], [3.0, 0.0]]), np.random.default_rng(5)
    drawn = np.array([draw_numbers(weights, 50, rng) for _ in range(20_000)])
    assert (drawn.sum((1, 2)) == 50).all()
    share = weights / weights.sum()
    np.testing.assert_allclose(drawn.mean(0), 50 * share, atol=0.3)
    # The variance of a Dirichlet-multinomial number: n p (1 - p) (n + A) / (1 + A).
    np.testing.assert_allclose(drawn.var(0), 50 * share * (1 - share) * 56 / 7, rtol=0.04)


@pytest.mark.long
def test_a_width_on_the_scale_of_the_scores():
    marks = np.exp(np.random.default_rng(1).normal(3, 0.5, 60)).round()
    wide = bcm.from_item_scores(marks, range=(0, 100))
    tenths = bcm.from_item_scores(marks / 100, range=(0, 1))
    of_marks, of_tenths = (
        bcm.plan("mean", width=width, pilot=pilot) for pilot, width in ((wide, 5), (tenths, 0.05))
    )
    assert of_marks["n"][0] == of_tenths["n"][0]
    with pytest.raises(ValueError, match="width"):
        bcm.plan("mean", width=0, pilot=wide)


@pytest.mark.long
def test_a_number_that_is_hardly_known_is_warned_of():
    scores = np.exp(3 * np.random.default_rng(0).normal(size=24))
    pilot = bcm.from_item_scores(scores)
    with pytest.warns(UserWarning, match="has a Monte Carlo error of"):
        plan = bcm.plan("quantile(0.9)", width=30, pilot=pilot, replications=20)
    assert plan["error"][0] > plan["n"][0] / 2
