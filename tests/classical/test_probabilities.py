"""Classical answers about probabilities: guarantees, identities, and the tests' own formulas."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest
from sklearn.isotonic import IsotonicRegression

import bayescm as bcm


def drawn(seed, size, curve=lambda p: p):
    rng = np.random.default_rng(seed)
    p = rng.random(size)
    return (rng.random(size) < curve(p)).astype(int), p


@pytest.mark.long
def test_the_isotonic_band_holds_a_step():
    at = np.linspace(0, 1, 41)

    def step(p):
        return np.where(p < 0.5, 0.2, 0.8)

    held, width = [], []
    for seed in range(25):
        evidence = bcm.from_probabilities(*drawn(seed, 100, step))
        low, high = bcm.classical.isotonic_band(evidence, at=at)["interval"].values.T
        held.append(((low <= step(at)) & (step(at) <= high)).all())
        width.append((high - low).mean())
    assert np.mean(held) >= 0.95
    assert np.mean(width) < 0.75


@pytest.mark.long
def test_putting_forecasts_together_keeps_the_band_wide_and_a_fall_is_told():
    evidence = bcm.from_probabilities(*drawn(1, 3000))
    low, high = bcm.classical.isotonic_band(evidence)["interval"].values.T
    at = np.arange(101) / 100
    assert ((low <= at) & (at <= high)).all()
    assert (high - low).mean() < 0.3
    falling = bcm.from_probabilities(*drawn(1, 3000, lambda p: 1 - p))
    assert "decreases" in bcm.classical.isotonic_band(falling).attrs["caution"]


def test_corp_is_the_isotonic_regression_and_its_parts_are_the_brier_score():
    actual, p = drawn(2, 300, lambda p: p**2)
    result = bcm.classical.corp(bcm.from_probabilities(actual, p), draws=200)
    fitted = IsotonicRegression().fit(p, actual).predict(result["probability"].values)
    assert result["recalibrated"].values == pytest.approx(fitted, abs=1e-12)
    brier = ((p - actual) ** 2).mean()
    parts = result["uncertainty"] - result["discrimination"] + result["miscalibration"]
    assert parts.item() == pytest.approx(brier, abs=1e-12)
    low, high = result["consistency"].values.T
    outside = (result["recalibrated"] < low) | (result["recalibrated"] > high)
    assert outside.mean() > 0.3


@pytest.mark.long
def test_p_values_are_uniform_where_forecasts_are_right():
    evidence = [bcm.from_probabilities(*drawn(seed, 400)) for seed in range(60)]
    for test in (bcm.classical.hosmer_lemeshow, bcm.classical.spiegelhalter_z):
        assert kstest([test(each)["p_value"].item() for each in evidence], "uniform").pvalue > 0.01
        wrong = bcm.from_probabilities(*drawn(1, 400, lambda p: 0.25 + p / 2))
        assert test(wrong)["p_value"].item() < 1e-3


def test_hosmer_lemeshow_is_its_formula():
    actual, p = drawn(3, 200)
    result = bcm.classical.hosmer_lemeshow(bcm.from_probabilities(actual, p), groups=5, fitted=True)
    parts = np.array_split(np.argsort(p), 5)
    observed, forecast = (np.array([each[k].sum() for k in parts]) for each in (actual, p))
    value = ((observed - forecast) ** 2 / (forecast * (1 - forecast / 40))).sum()
    assert result["statistic"].item() == pytest.approx(value)
    assert result["p_value"].item() == pytest.approx(chi2.sf(value, 3))


def test_what_is_refused():
    actual, p = drawn(4, 60)
    weighted = bcm.from_probabilities(actual, p, weights=p + 1, weights_are="importance")
    with pytest.raises(ValueError, match="importance"):
        bcm.classical.isotonic_band(weighted)
    with pytest.raises(ValueError, match="groups"):
        bcm.classical.hosmer_lemeshow(bcm.from_probabilities(actual, p), groups=1)
    with pytest.raises(ValueError, match="The test is undefined if all forecasts"):
        bcm.classical.spiegelhalter_z(bcm.from_probabilities(actual, actual.astype(float)))
    with pytest.raises(TypeError, match="not probabilities"):
        bcm.classical.corp(bcm.from_scores(actual, p))
