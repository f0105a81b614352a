"""Out-of-fold probabilities: the mean over folds, or refused."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t

import bayescm as bcm


@pytest.fixture(scope="module")
def folded():
    rng = np.random.default_rng(1)
    odds = rng.normal(0, 1.3, 240)
    actual = (rng.random(240) < expit(odds)).astype(int)
    both = {"a": expit(odds), "b": expit(odds + rng.normal(0, 0.7, 240))}
    return bcm.from_probabilities(actual, both, fold=np.arange(240) % 8)


@pytest.mark.long
def test_the_mean_over_folds_has_the_correlated_t(folded):
    one = folded.isel(classifier=0, drop=True)
    squares = (one["score"] - one["actual"]) ** 2
    folds = squares.groupby(one["fold"]).mean().values
    scale = np.sqrt(folds.var(ddof=1) * (1 / 8 + 1 / 7))  # rho / (1 - rho) of rho = 1 / 8
    ends = bcm.interval(one, "brier", kind="eti").values
    mean = t(7, folds.mean(), scale)
    low, high = mean.cdf([0, 2])  # within the range of the Brier score
    np.testing.assert_allclose(ends, mean.ppf(low + (high - low) * np.array([0.025, 0.975])), 1e-6)
    gap = bcm.compare(folded, "brier").iloc[0]
    assert gap["paired"]
    assert gap["mean"] == pytest.approx(
        np.diff(bcm.summary(folded, "brier")["mean"])[0] * -1, abs=0.01
    )
    known = folded.assign_coords(test_share=0.25, train_size=0.75)
    assert bcm.summary(known, "auc")["sd"][0] > 1.2 * bcm.summary(folded, "auc")["sd"][0]


def test_what_needs_one_sample_is_refused(folded):
    one = folded.isel(classifier=0, drop=True)
    with pytest.raises(ValueError, match="ece is not available for folds"):
        bcm.interval(folded, "ece")
    with pytest.raises(ValueError, match="supports one sample, but the evidence has folds"):
        bcm.models.calibration(one)
    for ask in (
        bcm.calibration.recalibrated,
        bcm.calibration.curve,
        bcm.curves.decision_curve,
    ):
        with pytest.raises(ValueError, match="several folds"):
            ask(one)
    pooled = bcm.curves.pool_folds(one, ranks=False)
    assert bcm.interval(pooled, "ece", draws=100).sizes == {"bound": 2}
