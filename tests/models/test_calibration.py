"""The smooth calibration curve: one density in PyMC and in the sibling."""

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms

import bayescm as bcm


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, np.arange(40) % 3 + 1])
def test_model_and_sibling_have_one_density(weights):
    rng = np.random.default_rng(2)
    probability = np.r_[rng.random(38), 0.0, 1.0]
    actual = (rng.random(40) < probability).astype(int)
    keywords = {} if weights is None else {"weights": weights, "weights_are": "counts"}
    evidence = bcm.from_probabilities(actual, probability, **keywords)
    posterior = bcm.direct.calibration(evidence)
    drawn = posterior.variables(4, rng)
    model = remove_value_transforms(bcm.models.calibration(evidence))
    log_joint = model.compile_logp(jacobian=False)
    ours = posterior.log_density(drawn)
    theirs = [float(log_joint({name: each[k] for name, each in drawn.items()})) for k in range(4)]
    # The ways in which a weight's examples can be drawn are a constant.
    assert np.ptp(theirs - ours) < 1e-8


def test_an_intercept_and_a_slope_are_found():
    rng = np.random.default_rng(4)
    odds = rng.normal(0, 1.5, 4000)
    actual = (rng.random(4000) < 1 / (1 + np.exp(-0.5 - 0.6 * odds))).astype(int)
    evidence = bcm.from_probabilities(actual, 1 / (1 + np.exp(-odds)))
    found = bcm.calibration.curve(evidence, at=[0.2, 0.5, 0.8])
    places = np.log([0.25, 1, 4])
    truth = 1 / (1 + np.exp(-0.5 - 0.6 * places))
    low, high = found["interval"].values.T
    assert ((low < truth) & (truth < high)).all()
    assert (high - low < 0.12).all()
    assert bcm.calibration.test(evidence, 0.02)["p_calibrated"].item() < 0.01


def test_forecasts_all_alike_have_no_curve():
    evidence = bcm.from_probabilities([0, 1, 1, 0], [0.4] * 4)
    with pytest.raises(ValueError, match="needs forecasts that differ"):
        bcm.interval(evidence, "ece")
    assert bcm.interval(evidence, "brier").sizes == {"bound": 2}


def test_pairing_shortens_the_difference():
    rng = np.random.default_rng(6)
    odds = rng.normal(0, 1.3, 300)
    actual = (rng.random(300) < 1 / (1 + np.exp(-odds))).astype(int)
    both = {"a": odds, "b": odds + rng.normal(0, 0.3, 300)}
    evidence = bcm.from_probabilities(actual, {k: 1 / (1 + np.exp(-v)) for k, v in both.items()})
    alone = bcm.summary(evidence, "brier")
    unpaired = np.hypot(*(alone["upper"] - alone["lower"]))
    row = bcm.compare(evidence, "brier").iloc[0]
    assert row["paired"]
    assert row["upper"] - row["lower"] < 0.6 * unpaired


def test_the_error_of_right_forecasts_may_be_0_however_many_draws():
    rng = np.random.default_rng(7)
    p = rng.random(200)
    evidence = bcm.from_probabilities((rng.random(200) < p).astype(int), p)
    for draws in (None, 500):
        assert bcm.interval(evidence, "ece", draws=draws).values[0] == 0
