"""Votes: the chance that a plurality is right, and that wrong answers are equal as they are."""

from itertools import combinations, product

import numpy as np
import pytest

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.measures.attempts import ItemAnswers, Rates, Wrong, plurality

WAYS = [Wrong(1.0, 1), Wrong(0.5, 1), Wrong(0.6, 3), Wrong(0.0, 4)]


def shares(way):
    """Return the shares of the wrong answers."""
    rest = [(1 - way.common) / way.others] * way.others
    return np.array([way.common, *rest] if way.common else rest)


@pytest.mark.parametrize("way", WAYS)
def test_a_plurality_is_what_counting_all_cases_says(way):
    k, rate, won = 4, 0.3, 0.0
    chances = np.array([rate, *(1 - rate) * shares(way)])
    for votes in product(range(len(chances)), repeat=k):
        counts = np.bincount(votes, minlength=len(chances))
        most = counts == counts.max()
        won += chances[list(votes)].prod() * most[0] / most.sum()
    known = Rates(np.array([rate]), np.ones((1, 1)), (way,))
    assert resolve(f"majority_at({k})")(known).item() == pytest.approx(won, rel=1e-12)


def test_of_two_answers_a_plurality_is_a_majority_and_of_many_more():
    rates, weight = np.array([0.2, 0.6]), np.array([0.5, 0.5])
    for k in (3, 8, 64):
        majority = resolve(f"majority_at({k})")
        half = majority(Rates(rates, weight))
        same = majority(Rates(rates, np.repeat(weight, 1), (Wrong(1.0, 1),)))
        assert same == pytest.approx(half, rel=1e-12)
        apart = majority(Rates(rates, weight, (Wrong(0.0, 10**9),)))
        assert apart > half + 0.05
    # Where no two wrong answers are equal two right ones are enough, and of one it is by lot.
    none, one = 0.8**8, 8 * 0.2 * 0.8**7
    chance = majority_of(0.2, 8)
    assert chance == pytest.approx(1 - none - one + one / 8, abs=1e-8)


def majority_of(rate, k):
    """Return the chance of a plurality where all wrong answers differ."""
    way = (Wrong(0.0, 10**9),)
    return resolve(f"majority_at({k})")(Rates(np.array([rate]), np.ones(1), way))


def test_a_plurality_of_many_votes_is_finite_and_too_many_are_refused():
    won = plurality(0.4, 30, 200)
    assert np.isfinite(won).all()
    assert (np.diff(won) > -1e-12).all()
    assert won[[0, -1]].tolist() == [0, 1]
    with pytest.raises(ValueError, match="A plurality needs"):
        plurality(0.4, 30, 301)


@pytest.mark.parametrize("way", [*WAYS, Wrong(0.7, 30), Wrong(0.0, 10_000)])
def test_wrong_answers_are_equal_in_some_way(way):
    # Ways to be equal of four answers, each as often as four answers can be put together so.
    counts = np.array([[4, 0, 0, 0], [3, 1, 0, 0], [2, 2, 0, 0], [2, 1, 1, 0], [1, 1, 1, 1]])
    with np.errstate(all="raise", under="ignore", divide="ignore"):
        chance = np.exp(way.alike(counts))
    assert chance @ [1, 4, 3, 6, 1] == pytest.approx(1, rel=1e-9)
    assert chance[0] == pytest.approx((shares(way) ** 4).sum(), rel=1e-9)
    assert way.alike(np.zeros((1, 4), int)) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("pass@4", "pass_at(4)"),
        ("pass^4", "pass_all(4)"),
        ("maj@5", "majority_at(5)"),
        ("accuracy", "mean"),
        ("win_rate", "mean"),
    ],
)
def test_the_names_of_papers_are_understood_and_kept(name, canonical):
    measure = resolve(name, "attempts")
    assert (measure.__name__, measure.canonical) == (name, canonical)
    table = bcm.summary(bcm.from_attempts(np.eye(6)[:, :5]), name, draws=100)
    assert table["measure"].tolist() == [name]


def test_a_name_means_the_measure_of_the_evidence():
    assert resolve("accuracy").takes == "cells"
    assert resolve("win_rate").same_as(resolve("prevalence"))
    verdicts = bcm.from_partly_labelled(list("wlwwlw"), judge=list("wlwlww"), positive="w")
    rate, prevalence = (bcm.interval(verdicts, name) for name in ("pass_rate", "prevalence"))
    np.testing.assert_array_equal(rate, prevalence)
    for name in ("pass@", "pass@x", "prec@4"):
        with pytest.raises(ValueError, match="Unknown measure"):
            resolve(name)


# In a sample: over all ways to choose so many of the answers


def won(chosen):
    """Return whether the right answer, 0, is the most frequent, by lot where several are."""
    counts = np.bincount(chosen, minlength=9)
    most = counts == counts.max()
    return most[0] / most.sum()


FUNCTIONS = {
    "mean": (1, lambda chosen: chosen[0] == 0),
    "pass_at(3)": (3, lambda chosen: 0 in chosen),
    "pass_all(2)": (2, lambda chosen: not any(chosen)),
    "majority_at(3)": (3, won),
    "majority_at(4)": (4, won),
    "variance_within": (2, lambda chosen: ((chosen[0] == 0) != (chosen[1] == 0)) / 2),
}
SAMPLE = [[0, 0, 1, 2, 2], [1, 1, 1, 3, 0], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4], [0, 2, 2, 0, None]]


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_point_is_the_mean_over_all_choices_of_answers(name):
    k, function = FUNCTIONS[name]
    answers = [[answer for answer in row if answer is not None] for row in SAMPLE]
    expected = [np.mean([function(chosen) for chosen in combinations(row, k)]) for row in answers]
    evidence = bcm.from_attempts(np.array(SAMPLE, object), truth=np.zeros(5, int))
    for of in ("population", "finite"):
        point = bcm.summary(evidence, name, of=of, draws=20)["point"].item()
        assert point == pytest.approx(np.mean(expected), rel=1e-12)


@pytest.mark.long
def test_points_have_no_bias_and_rates_in_the_place_of_true_ones_have():
    rng = np.random.default_rng(0)
    rates = rng.beta(0.5, 1.5, 40_000)
    right = rng.binomial(5, rates)
    answers = ItemAnswers(right, np.full(40_000, 5))
    for name in ("mean", "pass_at(4)", "pass_all(3)", "majority_at(5)", "variance_between"):
        measure = resolve(name)
        true = measure(Rates(rates, np.full(40_000, 1 / 40_000)))
        assert measure.form.of_sample(answers) == pytest.approx(true, abs=0.006), name
        if name == "pass_at(4)":  # the negative control
            assert measure(answers.observed_rates).item() < true - 0.02


def test_items_of_fewer_answers_are_left_out_of_the_point():
    answers = ItemAnswers(np.array([2, 1]), np.array([4, 1]))
    assert resolve("pass_all(2)").form.of_sample(answers) == pytest.approx(1 / 6)


def test_the_point_of_a_function_is_of_the_shares_of_right_answers():
    evidence = bcm.from_attempts(np.array([[0, 1], [1, 1]]))
    table = bcm.summary(evidence, lambda rates: rates.mean(np.sqrt), draws=20)
    assert table["point"].item() == pytest.approx((0.5**0.5 + 1) / 2)
