"""Cautions of importance weights: where heavy examples are too few, or score unlike the others."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.posteriors import heavy_weights

N = 400
RNG = np.random.default_rng(5)
ACTUAL = np.repeat([0, 1], N // 2)
# Of the positives 20 are missed, and 10 weigh twelve times as much as the others.
ANSWER = np.where(np.arange(N) % 10 == 0, 1 - ACTUAL, ACTUAL)
MISSED = ANSWER != ACTUAL
HEAVY_HITS = np.where((ACTUAL == 1) & ~MISSED & (np.arange(N) % 20 == 1), 12.0, 1.0)


def counts_of(weights, answer=ANSWER, **keywords):
    options = {"weights": weights, "weights_are": "importance", "positive": 1}
    return bcm.from_predictions(ACTUAL, answer, **options, **keywords)


def caution(counts, measure="recall", **keywords):
    return bcm.interval(counts, measure, **keywords).attrs.get("caution", "")


def test_heaviest_is_the_largest_weight_of_a_class_in_the_unit_of_the_counts():
    weights = RNG.gamma(1.0, size=N)
    counts = counts_of(7 * weights)
    unit = float(counts.sum()) / weights.sum()
    largest = [weights[label == ACTUAL].max() for label in (0, 1)]
    np.testing.assert_allclose(counts["heaviest"], unit * np.array(largest))
    words = np.array(["no", "yes"])
    named = bcm.from_predictions(
        words[ACTUAL],
        words[ANSWER],
        labels=["no", "perhaps", "yes"],
        weights=weights,
        weights_are="importance",
    )
    np.testing.assert_allclose(named["heaviest"], unit * np.array([largest[0], 0, largest[1]]))


@pytest.mark.long
def test_a_cell_of_less_than_two_heavy_examples_is_cautioned_of():
    missed = MISSED & (ACTUAL == 1)
    assert missed.sum() == 20
    for heavy, cautioned in ((11.0, True), (9.5, False)):
        weights = np.where(HEAVY_HITS > 1, heavy, 1.0)
        assert ("class 1 predicted otherwise (1.8)" in caution(counts_of(weights))) is cautioned
    assert "class 1 predicted 1" not in caution(counts_of(HEAVY_HITS))


@pytest.mark.long
@pytest.mark.parametrize("few", [0, 1])
def test_even_weights_and_those_of_whole_classes_are_not(few):
    answer = np.where(np.cumsum(MISSED & (ACTUAL == 1)) <= few, ANSWER, ACTUAL)
    assert not caution(counts_of(np.ones(N), answer))
    assert not caution(counts_of(np.where(ACTUAL == 1, 1.0, 20.0), answer))


@pytest.mark.long
def test_groups_folds_and_classifiers_are_cautioned_of_too():
    light = counts_of(HEAVY_HITS)
    both = bcm.combine({"one": light, "two": light})
    assert caution(both) == caution(light)
    for dim in ("group", "fold"):
        split = counts_of(HEAVY_HITS, by={dim: RNG.permutation(N) % 4})
        assert "class 1 predicted otherwise (1.7)" in caution(split)
    with pytest.warns(UserWarning, match="same class totals"):
        compared = bcm.compare(both, "recall")
    assert compared.attrs["caution"] == caution(light)


def test_copies_and_plain_counts_have_no_such_caution():
    assert heavy_weights.of_counts(bcm.from_cells(tp=1, fn=1, fp=0, tn=1)) == []
    copies = bcm.from_predictions(ACTUAL, ANSWER, weights=HEAVY_HITS, weights_are="counts")
    assert heavy_weights.of_counts(copies) == []


def test_the_ratio_of_variances_is_that_of_the_linearised_area():
    score = RNG.normal(ACTUAL).round(1)  # with ties
    positive = ACTUAL == 1
    assert heavy_weights.variance_ratio(score, positive, np.full(N, 3.0)) == pytest.approx(1.0)
    weight = np.exp(score)
    wins = np.sign(score[positive][:, None] - score[~positive]) / 2 + 0.5
    p, q = (weight[side] / weight[side].sum() for side in (positive, ~positive))
    area = p @ wins @ q
    sample = model = 0.0
    for mass, share in ((p, wins @ q), (q, p @ wins)):
        square = (share - area) ** 2
        sample += (mass**2 * square).sum()
        model += (mass * square).sum() * (mass**2).sum()
    ratio = heavy_weights.variance_ratio(score, positive, weight)
    assert ratio == pytest.approx(sample / model)
    apart = heavy_weights.variance_ratio(positive.astype(float), positive, weight)
    assert apart == 1.0


@pytest.mark.parametrize("make", [bcm.from_scores, bcm.from_probabilities])
def test_weights_that_go_with_the_scores_are_cautioned_of(make):
    chance = 1 / (1 + np.exp(-RNG.normal(2 * ACTUAL - 1)))
    options = {"weights_are": "importance", "positive": 1}
    low = np.where((ACTUAL == 1) & (chance < np.sort(chance[ACTUAL == 1])[5]), 5.0, 1.0)
    for weights, cautioned in ((low, True), (np.where(np.arange(N) % 5 == 0, 2.0, 1.0), False)):
        answer = bcm.interval(make(ACTUAL, chance, weights=weights, **options), "auc")
        assert ("weights are related to the scores" in answer.attrs.get("caution", "")) is cautioned


@pytest.mark.long
def test_classes_and_folds_of_scores_are_looked_at_one_by_one():
    chances = RNG.dirichlet(np.ones(3), N)
    actual = np.arange(N) % 3
    weights = np.where((actual == 2) & (chances[:, 2] < 0.05), 5.0, 1.0)
    weights[chances[:, 2] > 0.8] = 5.0
    options = {"weights": weights, "weights_are": "importance"}
    many = bcm.from_scores(actual, chances, **options)
    assert "related to the scores" in bcm.interval(many, "auc_macro").attrs["caution"]
    folds = bcm.from_scores(actual == 2, chances[:, 2], fold=np.arange(N) % 5, **options)
    assert "related to the scores" in bcm.interval(folds, "auc").attrs["caution"]
