"""Measures along the threshold."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import curves


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


def test_beyond_the_scores_everybody_or_nobody_is_positive():
    evidence = sample()
    above, below = evidence.score.max().item() + 1, evidence.score.min().item() - 1
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
    with pytest.raises(ValueError, match="a threshold must be a number"):
        curves.threshold(sample(), "f1", at=at)


def test_thresholds_are_for_two_classes():
    many = bcm.from_scores([0, 1, 2], np.eye(3))
    for function in (curves.threshold, curves.best_threshold):
        with pytest.raises(ValueError, match="two classes"):
            function(many, "f1")
