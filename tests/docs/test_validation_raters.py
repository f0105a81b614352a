"""The experiments on judges and raters: what they draw is what their settings say."""

import numpy as np
import pytest
from scipy.special import ndtri
from validation import judges, raters


@pytest.mark.parametrize(
    ("dependence", "expected", "scale"),
    [
        ("", 0.0, lambda uniform: uniform > 0.8),
        ("errors 0.2", 0.2, lambda uniform: uniform > 0.8),
        ("difficulty 0.2", 0.2, ndtri),
    ],
)
def test_errors_of_two_raters_are_correlated_as_the_setting_says(dependence, expected, scale):
    uniform = raters.uniform_by_rater(np.random.default_rng(1), (2, 100_000), dependence)
    np.testing.assert_allclose(uniform.mean(axis=1), 0.5, atol=0.005)
    assert np.corrcoef(scale(uniform))[0, 1] == pytest.approx(expected, abs=0.015)


def test_two_raters_who_are_right_independently_agree_as_often_as_both_are_right_or_wrong():
    chances = raters.chances_of_labels([0.5, 0.5], [0.85, 0.85])
    assert np.trace(chances) == pytest.approx(0.85**2 + 0.15**2)
    assert chances.sum() == pytest.approx(1)


def test_labels_are_wrong_at_the_rates_of_their_classes():
    truth = np.repeat([0, 1], 50_000)
    labels = raters.wrong_labels(np.random.default_rng(1), truth, "known .02, .15")
    assert np.mean(labels[truth == 0] != 0) == pytest.approx(0.02, abs=0.003)
    assert np.mean(labels[truth == 1] != 1) == pytest.approx(0.15, abs=0.007)


def test_judge_and_classifiers_have_the_rates_of_their_setting():
    cells = judges.cells_by_judge(0.3, "0.7/0.8", "0.9/0.6")
    np.testing.assert_allclose(cells.sum((0, 1, 2)), 1)
    np.testing.assert_allclose(cells.sum((0, 2)), [0.7, 0.3])
    np.testing.assert_allclose(cells[1, 1].sum() / 0.3, 0.7)
    np.testing.assert_allclose(cells[:, 1, 1].sum() / 0.3, 0.9)
    joint = judges.joint_of_pairs(0.3, "0.7/0.8", "0.9/0.6", "0.5/0.5", copied=1.0)
    same = joint.sum((0, 3))
    np.testing.assert_allclose(same, np.diag(np.diag(same)))


def test_coverage_with_and_without_the_judge_is_counted_from_the_intervals():
    intervals = np.array([[[[0.1, 0.6], [0.5, 0.9]]], [[[0.0, 0.0], [1.0, 1.0]]]])
    (row,) = judges.coverage_beside_labels(intervals, [0.5], ["prevalence"])
    assert (row["doc"], row["doc_labels_alone"]) == (0.5, 1.0)
    assert row["relative_width"] == pytest.approx(0.35)


@pytest.mark.long
@pytest.mark.parametrize("case", [1, 28])
def test_labels_are_as_many_of_each_class_and_the_population_is_not(case):
    setting = judges.TRANSFERS[case]
    rng = np.random.default_rng(1)
    samples = [judges.labels_from_elsewhere(rng, *setting) for _ in range(20)]
    labels = np.mean([evidence.values.sum((0, 2)) for evidence, _ in samples], axis=0)
    np.testing.assert_allclose(labels / labels.sum(), 1 / len(labels), atol=0.06)
    assert samples[0][1]["prevalence"] == {1: 0.05, 28: 0.5}[case]
