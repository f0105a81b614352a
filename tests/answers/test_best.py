"""The best of many: what selection adds is taken off again."""

import numpy as np
import pytest

import bayescm as bcm

RNG = np.random.default_rng(3)


def answers(rng, number, n=120, right=0.7, common=0.3):
    actual = np.repeat([0, 1], n // 2)
    easy = rng.random(n) < common
    correct = rng.random((number, n)) < right
    correct = np.where(easy, rng.random(n) < right, correct)
    names = [f"m{each}" for each in range(number)]
    return actual, dict(zip(names, np.where(correct, actual, 1 - actual), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("number", [5, 40])
def test_the_selected_one_is_covered_where_the_naive_interval_is_too_high(number):
    hits = np.zeros(2)
    for _ in range(40):
        row = bcm.learners.best(
            bcm.from_classifiers(*answers(RNG, number)), "accuracy", resamples=150
        ).iloc[0]
        assert row["optimism"] > 0
        hits += row["lower"] < 0.7 < row["upper"], row["naive_lower"] < 0.7 < row["naive_upper"]
    assert hits[0] >= 36
    assert hits[1] < (38 if number == 5 else 28)


def test_one_that_is_far_better_has_no_optimism_and_errors_are_selected_by_the_least():
    actual, known = answers(np.random.default_rng(1), 3)
    known["good"] = np.where(np.arange(120) % 15, actual, 1 - actual)
    both = bcm.from_classifiers(actual, known)
    row = bcm.learners.best(both, "error_rate").iloc[0]
    assert row["selected"] == "good"
    assert abs(row["optimism"]) < 0.01
    assert bcm.learners.best(both, "f1").equals(bcm.learners.best(both, "f1"))


def test_the_interval_is_moved_by_the_optimism_and_no_shorter():
    both = bcm.from_classifiers(*answers(np.random.default_rng(4), 30))
    row = bcm.learners.best(both, "accuracy", kind="eti", resamples=200).iloc[0]
    assert 0.5 < row["optimism"] / (row["point"] - 0.7) < 1.5
    middle = row["mean"] + row["optimism"]
    below, above = middle - row["naive_lower"], row["naive_upper"] - middle
    stretched = (row["mean"] - row["lower"]) / below, (row["upper"] - row["mean"]) / above
    assert stretched[0] == pytest.approx(stretched[1])
    assert 1 <= stretched[0] < 1.3


def test_classifiers_without_errors_or_without_the_measure_change_nothing():
    actual, known = answers(np.random.default_rng(1), 2)
    perfect = bcm.from_classifiers(actual, {"a": actual, "b": actual})
    row = bcm.learners.best(perfect, "accuracy", resamples=50).iloc[0]
    assert row["optimism"] == 0
    assert row["lower"] == row["naive_lower"]
    silent = bcm.from_classifiers(actual, known | {"never": np.zeros(120, int)}, positive=1)
    two = bcm.from_classifiers(actual, known, positive=1)
    with_it, without = (
        bcm.learners.best(each, "precision", resamples=200) for each in (silent, two)
    )
    assert with_it.loc[0, "optimism"] == pytest.approx(without.loc[0, "optimism"], abs=0.02)


def test_what_cannot_be_selected_from_is_refused():
    both = bcm.from_classifiers(*answers(np.random.default_rng(1), 2))
    with pytest.raises(ValueError, match="A selection needs at least two classifiers"):
        bcm.learners.best(both.sel(classifier=["m0"]), "f1")
    with pytest.raises(ValueError, match="has several values, but a single number is needed"):
        bcm.learners.best(both, lambda cells: cells.sum(-1))
    for wrong in (0, -1, 2.5, True):
        with pytest.raises((ValueError, TypeError), match="resamples"):
            bcm.learners.best(both, "f1", resamples=wrong)
    none = bcm.from_classifiers([0, 0], {"a": [0, 1], "b": [1, 1]}, labels=[0, 1], positive=1)
    with pytest.raises(ValueError, match="recall is undefined in this sample"):
        bcm.learners.best(none, "recall")
