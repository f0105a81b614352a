"""What is taken as probabilities, and what is refused."""

import numpy as np
import pytest

import bayescm as bcm

TRUTH = [0, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0.1, 0.2, 0.3, 1.2, 0.5], "probabilities"),
        ({"a": [0.5] * 5, "b": [0.1, -0.2, 0.3, 0.4, 0.5]}, "probabilities"),
        ([0.1, np.nan, 0.3, 0.2, 0.5], "missing"),
        ([10, 20, 30, 99, 50], "Divide percentages by 100"),
    ],
)
def test_impossible_probabilities_are_named(given, words):
    with pytest.raises(ValueError, match=words):
        bcm.from_probabilities(TRUTH, given)


def test_rows_that_do_not_sum_to_one_are_refused():
    rows = np.full((5, 3), 0.3)
    with pytest.raises(ValueError, match="The probabilities of each example must sum"):
        bcm.from_probabilities(list("abcab"), rows)


def test_clipping_keeps_the_log_loss_finite():
    sure = [0.0, 1.0, 0.3, 0.7, 0.0]
    plain = bcm.from_probabilities(TRUTH, sure)
    with pytest.raises(ValueError, match="log_loss is infinite"):
        bcm.summary(plain, "log_loss")
    assert bcm.summary(plain, "brier")["upper"].item() < 1
    clipped = bcm.from_probabilities(TRUTH, sure, clip=0.01)
    assert bcm.summary(clipped, "log_loss")["point"].item() < 2


def test_scores_are_no_probabilities():
    scores = bcm.from_scores(TRUTH, [0.1, 0.9, 0.2, 0.7, 0.6])
    with pytest.raises(TypeError, match="These are scores"):
        bcm.calibration.curve(scores)
    with pytest.raises(TypeError, match="These are scores"):
        bcm.curves.decision_curve(scores)


def test_curves_take_probabilities():
    both = [
        maker(TRUTH, [0.1, 0.9, 0.2, 0.7, 0.6])
        for maker in (bcm.from_scores, bcm.from_probabilities)
    ]
    first, second = (bcm.curves.auc(each).values for each in both)
    np.testing.assert_array_equal(first, second)
