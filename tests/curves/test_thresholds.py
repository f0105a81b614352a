"""Measures along the threshold."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import curves, measures


def sample(size=200, seed=1):
    rng = np.random.default_rng(seed)
    actual = rng.random(size) < 0.35
    return bcm.from_scores(actual, rng.normal(1.3 * actual, 1))


def test_a_measure_along_the_threshold_follows_the_counts():
    evidence = sample()
    found = curves.threshold(evidence, "f1", at=[-0.5, 0.5, 1.5], draws=1000)
    for value in found.threshold.values:
        predicted = evidence.score.values >= value
        counts = bcm.from_predictions(evidence.actual.values, predicted)
        plain = bcm.interval(counts, "f1", kind="eti").values
        band = found.f1.sel(threshold=value).values
        assert band[0] < plain[0] < plain[1] < band[1]
        assert abs(found["median"].sel(threshold=value) - plain.mean()) < 0.02
    assert found.band.item() == "simultaneous"


def test_at_infinite_thresholds_everybody_or_nobody_is_positive():
    evidence = sample()
    above, below = np.inf, -np.inf
    recall = curves.threshold(evidence, "recall", at=[below, above], draws=50)
    assert recall.recall.values.tolist() == [[1, 1], [0, 0]]
    precision = curves.threshold(evidence, "precision", at=[below, above], draws=50)
    assert np.isnan(precision.precision.sel(threshold=above)).all()
    assert precision.undefined.values.tolist() == [0, 1]
    assert precision["median"].sel(threshold=below).item() == pytest.approx(0.35, abs=0.1)


def test_default_thresholds_are_the_scores_or_quantiles_of_them():
    assert curves.threshold(sample(30), "mcc", draws=20).sizes["threshold"] == 30
    assert curves.threshold(sample(900), "mcc", draws=20).sizes["threshold"] == 201
    infinite = bcm.from_scores([0, 1, 0, 1], [-np.inf, 0.5, 1, np.inf])
    assert curves.threshold(infinite, "recall", draws=20).threshold.values.tolist() == [0.5, 1]


@pytest.mark.long
def test_several_measures_at_one_threshold():
    evidence = sample()
    found = curves.at_threshold(evidence, ["f1", "balanced_accuracy", "cost([[0,1],[5,0]])"], 0.5)
    assert list(found) == ["f1", "balanced_accuracy", "cost([[0,1],[5,0]])"]
    own = curves.at_threshold(evidence, lambda cells: cells[..., 1, 1], 0.5)
    assert len(own) == 1
    plain = curves.at_threshold(evidence, "f1", 0.5)
    np.testing.assert_allclose(plain.f1, found.f1)


def test_classifiers_and_folds_keep_their_dims():
    rng = np.random.default_rng(1)
    actual, score = np.arange(60) % 2, rng.random(60)
    evidence = bcm.from_scores(actual, {"a": score, "b": score}, fold=np.arange(60) // 30)
    found = curves.threshold_draws(evidence, "recall", at=[0.5], draws=20)
    assert found.dims == ("draw", "fold", "classifier", "threshold")
    np.testing.assert_allclose(found.sel(classifier="a"), found.sel(classifier="b"), atol=1e-12)


@pytest.mark.parametrize("at", ["high", [np.nan], [], [[0.5]]])
def test_what_is_no_threshold_is_refused(at):
    with pytest.raises(ValueError, match="A threshold must be a number"):
        curves.threshold(sample(), "f1", at=at)


def test_thresholds_are_for_two_classes():
    many = bcm.from_scores([0, 1, 2], np.eye(3))
    for function in (curves.threshold, curves.best_threshold):
        with pytest.raises(ValueError, match="two classes"):
            function(many, "f1")


# The best threshold and the price of having chosen it.


def draw_scores(size=300, seed=1, classifiers=False):
    rng = np.random.default_rng(seed)
    actual = rng.random(size) < 0.3
    score = rng.normal(1.5 * actual, 1)
    both = {"a": score, "b": score + rng.normal(size=size)}
    return bcm.from_scores(actual, both if classifiers else score)


@pytest.mark.long
def test_the_parts_of_a_choice_fit_together():
    evidence = draw_scores()
    best = curves.best_threshold(evidence, "f1")
    precision_recall = curves.points(evidence)
    f1 = 2 * precision_recall.tpr * precision_recall.precision
    f1 = f1 / (precision_recall.tpr + precision_recall.precision)
    assert best.apparent == pytest.approx(f1.max().item())
    assert 0 < best.optimism < 0.1
    assert best.value[0] < best.apparent - best.optimism < best.value[1]
    assert best.best[0] <= best.threshold <= best.best[1]
    assert 0 <= best.regret < 0.05
    assert best.measure.item() == "f1"


@pytest.mark.long
def test_costs_are_to_be_low_and_move_the_threshold():
    evidence = draw_scores()
    dear, cheap = (
        curves.best_threshold(evidence, measures.cost(matrix))
        for matrix in ([[0, 1], [20, 0]], [[0, 20], [1, 0]])
    )
    assert dear.threshold < cheap.threshold - 1
    assert dear.apparent < 0.7
    assert dear.value[1] > dear.apparent
    same = curves.best_threshold(
        evidence, lambda cells: 20 * cells[..., 1, 0] + cells[..., 0, 1], lower_is_better=True
    )
    assert same.threshold == dear.threshold


@pytest.mark.long
def test_another_prevalence_moves_the_threshold():
    evidence = draw_scores()
    rare = curves.best_threshold(bcm.at_prevalence(evidence, 0.01), "accuracy")
    even = curves.best_threshold(bcm.at_prevalence(evidence, 0.5), "accuracy")
    assert rare.threshold > even.threshold + 0.5


@pytest.mark.long
def test_optimism_shrinks_with_the_sample():
    small, large = (curves.best_threshold(draw_scores(size), "informedness") for size in (40, 2000))
    assert small.optimism > 3 * large.optimism


@pytest.mark.long
def test_each_classifier_chooses_its_own():
    best = curves.best_threshold(draw_scores(classifiers=True), "mcc", draws=500)
    assert best.threshold.dims == ("classifier",)
    assert best.value.dims == ("classifier", "bound")


def test_a_measure_that_is_never_defined_has_no_best():
    with pytest.raises(ValueError, match="0/0"):
        curves.best_threshold(draw_scores(50), lambda cells: cells[..., 0, 0] * np.nan, draws=20)


def test_scores_that_are_all_infinite_have_a_threshold_too():
    evidence = bcm.from_scores([0, 0, 1, 1], [-np.inf, -np.inf, np.inf, np.inf])
    assert curves.best_threshold(evidence, "f1", draws=50).threshold == np.inf


@pytest.mark.long
@pytest.mark.parametrize("top_is_positive", [True, False])
def test_beyond_all_scores_a_rate_is_uncertain(top_is_positive):
    rng = np.random.default_rng(8)
    actual = np.arange(60) % 2 == 1
    scores = rng.normal(actual, 1)
    order = np.argsort(scores)
    actual[order[-1]], actual[order[0]] = top_is_positive, not top_is_positive
    evidence = bcm.from_scores(actual, scores)
    above = curves.at_threshold(evidence, ["recall", "specificity"], scores.max() + 1)
    below = curves.at_threshold(evidence, ["recall", "specificity"], scores.min() - 1)
    classified = curves.classify(evidence, scores.max() + 1)
    known = bcm.interval(classified, "recall").values.ravel()[1]
    assert known / 3 < above["recall"].values[1] < 1.5 * known
    assert above["specificity"].values[0] < 1 == above["specificity"].values[1].round(3)
    assert below["recall"].values[0] < 1 == below["recall"].values[1].round(3)
    assert 0 < below["specificity"].values[1] < 1.5 * known
    # A rule that calls nobody positive, whatever the score, has a recall of 0.
    never = curves.at_threshold(evidence, ["recall", "precision"], np.inf)
    assert never["recall"].values.tolist() == [0, 0]
    assert np.isnan(never["precision"]).all()
    assert curves.at_threshold(evidence, "recall", -np.inf)["recall"].values.tolist() == [1, 1]
