"""The best threshold and the price of having chosen it."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import curves, measures


def sample(size=300, seed=1, classifiers=False):
    rng = np.random.default_rng(seed)
    actual = rng.random(size) < 0.3
    score = rng.normal(1.5 * actual, 1)
    both = {"a": score, "b": score + rng.normal(size=size)}
    return bcm.from_scores(actual, both if classifiers else score)


def test_the_parts_of_a_choice_fit_together():
    evidence = sample()
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
    evidence = sample()
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
    evidence = sample()
    rare = curves.best_threshold(bcm.at_prevalence(evidence, 0.01), "accuracy")
    even = curves.best_threshold(bcm.at_prevalence(evidence, 0.5), "accuracy")
    assert rare.threshold > even.threshold + 0.5


@pytest.mark.long
def test_optimism_shrinks_with_the_sample():
    small, large = (curves.best_threshold(sample(size), "informedness") for size in (40, 2000))
    assert small.optimism > 3 * large.optimism


def test_each_classifier_chooses_its_own():
    best = curves.best_threshold(sample(classifiers=True), "mcc", draws=500)
    assert best.threshold.dims == ("classifier",)
    assert best.value.dims == ("classifier", "bound")


def test_a_measure_that_is_never_defined_has_no_best():
    with pytest.raises(ValueError, match="0/0"):
        curves.best_threshold(sample(50), lambda cells: cells[..., 0, 0] * np.nan, draws=20)


def test_scores_that_are_all_infinite_have_a_threshold_too():
    evidence = bcm.from_scores([0, 0, 1, 1], [-np.inf, -np.inf, np.inf, np.inf])
    assert curves.best_threshold(evidence, "f1", draws=50).threshold == np.inf
