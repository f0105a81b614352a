"""The bootstrap of numbers about curves."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import bayescm as bcm
from bayescm.classical import curve_bootstrap
from bayescm.classical.curve_bootstrap import resampled_curve
from bayescm.direct.roc import curve

RNG = np.random.default_rng(1)
ACTUAL = (RNG.random(150) < 0.4).astype(int)
SCORE = np.round(RNG.normal(ACTUAL, 1), 1)


def test_a_resample_is_scored_as_scikit_learn_does():
    counts = RNG.multinomial(150, np.full(150, 1 / 150), 3).astype(float)
    found = resampled_curve(SCORE, ACTUAL, counts)
    for row, area in zip(counts, curve.auc(found), strict=True):
        assert area == pytest.approx(roc_auc_score(ACTUAL, SCORE, sample_weight=row))
    ones = resampled_curve(SCORE, ACTUAL, np.ones((1, 150)))
    expected = average_precision_score(ACTUAL, SCORE)
    assert curve.average_precision(ones)[0] == pytest.approx(expected)


def test_intervals_are_near_the_posterior_where_examples_are_many():
    evidence = bcm.from_scores(ACTUAL, {"a": SCORE, "b": -SCORE})
    found = curve_bootstrap(evidence, random_seed=1)
    np.testing.assert_allclose(found, bcm.curves.auc(evidence), atol=0.015)


def test_separated_classes_leave_it_no_doubt():
    evidence = bcm.from_scores([0] * 8 + [1] * 8, range(16))
    assert curve_bootstrap(evidence, random_seed=1).values.tolist() == [1, 1]
    assert np.ptp(bcm.curves.auc(evidence).values) > 0.05


def test_what_it_does_not_take_is_refused():
    for keywords in ({"fold": ACTUAL * 0 + np.arange(150) % 2}, {"weights": ACTUAL + 1}):
        with pytest.raises(ValueError, match="the bootstrap needs a single plain sample"):
            curve_bootstrap(bcm.from_scores(ACTUAL, SCORE, **keywords))
