"""Published intervals of a rate under a judge, by the formulas on the examples themselves."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.classical import prediction_powered, rogan_gladen

RNG = np.random.default_rng(2)
TRUTH = (RNG.random(1000) < 0.4).astype(int)
JUDGE = np.where(RNG.random(1000) < 0.85, TRUTH, 1 - TRUTH)
HUMAN = [each if position < 60 else None for position, each in enumerate(TRUTH.tolist())]
COUNTS = bcm.from_partly_labelled(HUMAN, judge=JUDGE)


@pytest.mark.parametrize("tuned", [False, True])
def test_prediction_powered_is_the_formula_on_single_examples(tuned):
    y, f, far = TRUTH[:60], JUDGE[:60], JUDGE[60:]
    weight = np.cov(y, f, ddof=0)[0, 1] / ((1 + 60 / 940) * JUDGE.var()) if tuned else 1.0
    middle = weight * far.mean() + (y - weight * f).mean()
    half = 1.959964 * np.sqrt(weight**2 * far.var() / 940 + (y - weight * f).var() / 60)
    result = prediction_powered(COUNTS, tuned=tuned)
    np.testing.assert_allclose(result, [middle - half, middle + half], atol=1e-6)


def test_a_perfect_judge_leaves_rogan_gladen_little_to_correct():
    sure = bcm.evidence.from_partly_labelled_counts([[4000, 0], [0, 4000]], [600, 400])
    np.testing.assert_allclose(rogan_gladen(sure), bcm.classical.proportion(400, 1000), atol=2e-3)
    low, high = rogan_gladen(COUNTS).values
    assert abs((low + high) / 2 - TRUTH.mean()) < high - low  # within four standard errors
    useless = bcm.evidence.from_partly_labelled_counts([[5, 20], [20, 5]], [600, 400])
    np.testing.assert_array_equal(rogan_gladen(useless), [0, 1])


def test_other_evidence_is_refused():
    with pytest.raises(ValueError, match="no unlabelled"):
        prediction_powered(bcm.from_cells(tp=3, fn=1, fp=1, tn=3))
    with pytest.raises(ValueError, match="Both labelled and unlabelled examples are needed"):
        prediction_powered(bcm.from_partly_labelled(TRUTH, judge=JUDGE))
