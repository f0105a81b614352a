"""The smooth calibration curve: one density in PyMC and in the direct posterior."""

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy.stats import beta

import bayescm as bcm
from bayescm.posteriors.calibration import SmoothCurve


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, np.arange(40) % 3 + 1])
@pytest.mark.long
def test_model_and_direct_posterior_have_one_density(weights):
    rng = np.random.default_rng(2)
    probability = np.r_[rng.random(38), 0.0, 1.0]
    actual = (rng.random(40) < probability).astype(int)
    keywords = {} if weights is None else {"weights": weights, "weights_are": "counts"}
    evidence = bcm.from_probabilities(actual, probability, **keywords)
    posterior = bcm.posteriors.calibration(evidence)
    drawn = posterior.variables(4, rng)
    model = remove_value_transforms(bcm.models.calibration(evidence))
    log_joint = model.compile_logp(jacobian=False, mode=Mode("py", None))
    ours = posterior.log_density(drawn)
    theirs = [float(log_joint({name: each[k] for name, each in drawn.items()})) for k in range(4)]
    # The ways in which a weight's examples can be drawn are a constant.
    assert np.ptp(theirs - ours) < 1e-8


@pytest.mark.parametrize("spread", [0.02, 1.4, 4.0])
def test_few_places_stand_for_many_forecasts(spread):
    rng = np.random.default_rng(3)
    odds = np.r_[rng.normal(-1, spread, 3000), 25.0]
    outcome = (rng.random(3001) < 1 / (1 + np.exp(-odds))).astype(float)
    weight = rng.integers(0, 4, 3001).astype(float)
    smooth = SmoothCurve(odds, outcome, weight)
    coefficients, scale, _ = smooth.draw(50, rng)
    eta = odds + smooth.departure(coefficients, scale, odds)
    exact = (outcome * eta - np.logaddexp(0, eta)) @ weight
    exact = exact - coefficients**2 @ smooth.precision / 2 + np.log(scale) - scale**2 / 8
    assert np.ptp(exact - smooth.log_density(coefficients, scale)) < 1e-3


@pytest.mark.long
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


def test_forecasts_all_alike_have_no_model_of_a_curve():
    evidence = bcm.from_probabilities([0, 1, 1, 0], [0.4] * 4)
    with pytest.raises(ValueError, match=r"distinct forecasts|forecasts that differ"):
        bcm.interval(evidence, "calibration_slope")
    assert bcm.interval(evidence, "brier").sizes == {"bound": 2}


@pytest.mark.parametrize("size", [20, 40])
def test_differences_of_few_examples_vary_as_t_does(size):
    rng = np.random.default_rng(size)
    odds = rng.normal(0, 1.3, 2 * size)
    both = {"a": odds, "b": odds + rng.normal(0, 0.5, 2 * size)}
    evidence = bcm.from_probabilities(
        np.arange(2 * size) % 2, {name: 1 / (1 + np.exp(-each)) for name, each in both.items()}
    )
    posterior = bcm.posteriors.calibration(bcm.at_prevalence(evidence, 0.5))
    (drawn,) = posterior.draw([bcm.measures.resolve("log_loss")], 4000, rng)
    actual, forecast = evidence["actual"].values, evidence["score"].values
    gap = -np.diff(np.log(np.where(actual == 1, forecast, 1 - forecast)), axis=0)[0]
    own = [gap[actual == each].std(ddof=1) / size**0.5 for each in (0, 1)]
    expected = np.hypot(*own) / 2 * ((size - 1) / (size - 3)) ** 0.5
    # Half an example at each end shortens or lengthens it a little.
    assert 0.85 < (drawn[:, 0] - drawn[:, 1]).std() / expected < 1.12


@pytest.mark.long
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


@pytest.mark.long
def test_the_better_slope_is_nearer_to_1_and_the_better_intercept_to_0():
    rng = np.random.default_rng(8)
    odds = rng.normal(0, 1.5, 400)
    actual = (rng.random(400) < 1 / (1 + np.exp(-odds))).astype(int)
    forecasts = {"right": odds, "timid": 0.4 * odds, "low": odds - 1}
    evidence = bcm.from_probabilities(
        actual, {name: 1 / (1 + np.exp(-each)) for name, each in forecasts.items()}
    )
    slope = bcm.compare(evidence, "calibration_slope", reference="right", draws=500)
    slope = slope.set_index("first")
    assert slope["mean"]["timid"] > 0.9  # a larger slope, and worse
    assert slope["p_worse"]["timid"] > 0.95
    assert slope["expected_loss_second"]["timid"] < 0.05 < slope["expected_loss"]["timid"]
    level = bcm.compare(evidence, "calibration_in_the_large", reference="right", draws=500)
    assert level.set_index("first")["p_worse"]["low"] > 0.9
    ranks = bcm.ranks(evidence, ["calibration_slope", "calibration_intercept"], draws=500)
    best = ranks.set_index(["measure", "classifier"])["p_best"]
    assert best["calibration_slope", "timid"] < 0.05
    assert best["calibration_intercept", "low"] < 0.05
    with pytest.raises(ValueError, match="difference"):
        bcm.compare(evidence, "calibration_slope", contrast="ratio")


@pytest.mark.long
def test_a_comparison_says_what_makes_the_model_doubtful():
    rng, actual = np.random.default_rng(1), np.arange(200) % 25 == 0
    evidence = bcm.from_probabilities(actual, dict(zip("ab", rng.random((2, 200)), strict=True)))
    assert "With only 8 positive examples" in bcm.compare(evidence, "brier").attrs["caution"]
    members = {name: evidence.sel(classifier=name, drop=True) for name in "ab"}
    assert bcm.compare(members, "brier").attrs["caution"].count("8 positive") == 1


@pytest.mark.long
def test_forecasts_without_log_odds_are_cautioned_of_until_told_what_they_mean():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    truth, exact = (rng.random(300) < p).astype(int), np.where(p < 0.02, 0, p)
    number = (exact == 0).sum()
    said = bcm.interval(bcm.from_probabilities(truth, exact), "calibration_slope").attrs["caution"]
    assert said.startswith(f"{number} forecasts are exactly 0 or 1. Slope, intercept")
    clipped = bcm.from_probabilities(truth, exact, clip=1e-3)
    assert "caution" not in bcm.interval(clipped, "calibration_slope").attrs
    folds = bcm.from_probabilities(truth, exact, fold=np.arange(300) % 3)
    assert "exactly 0 or 1" in bcm.interval(folds, "brier").attrs["caution"]
    several = np.stack([exact, 1 - exact, np.zeros(300)], axis=1)
    several = bcm.from_probabilities(rng.integers(0, 3, 300), several)
    assert "exactly 0 or 1" in bcm.interval(several, "brier").attrs["caution"]


@pytest.mark.long
def test_the_error_of_right_forecasts_may_be_0_however_many_draws():
    rng = np.random.default_rng(7)
    p = rng.random(200)
    evidence = bcm.from_probabilities((rng.random(200) < p).astype(int), p)
    for draws in (None, 500):
        assert bcm.interval(evidence, "ece", draws=draws).values[0] == 0


@pytest.mark.long
def test_the_error_of_clearly_wrong_forecasts_is_bounded_from_both_sides():
    """Twice as extreme as the truth: the error's interval is not much longer than equal tails."""
    rng = np.random.default_rng(8)
    odds = rng.normal(0, 2, 2000)
    p, chance = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(-odds / 2))
    posterior = bcm.posteriors.calibration(bcm.from_probabilities(rng.random(2000) < chance, p))
    ece = bcm.measures.resolve("ece")
    (drawn,) = posterior.draw([ece], 1000, np.random.default_rng(1))
    lower, upper = posterior.empirical(ece, drawn).eti(0.95)
    assert lower < np.abs(p - chance).mean() < upper
    assert upper - lower < 1.7 * np.ptp(np.quantile(drawn, [0.025, 0.975]))


def cases_and_controls(size):
    """Return right forecasts of a population of prevalence .2, controls taken at a quarter."""
    place = np.arange(size)
    p = beta(1, 4).ppf((place + 0.5) / size)
    actual = (place * 2**0.5 % 1 < p).astype(int)  # as even as uniform numbers get
    kept = (actual == 1) | (place * 3**0.5 % 1 < 0.25)
    return actual[kept], p[kept]


@pytest.mark.long
@pytest.mark.parametrize("way", ["prevalence", "importance"])
def test_the_population_is_that_of_the_prevalence_or_of_the_weights(way):
    actual, p = cases_and_controls(3000)
    biased = bcm.from_probabilities(actual, p)
    if way == "prevalence":
        evidence = bcm.at_prevalence(biased, 0.2)
    else:
        weights = np.where(actual == 1, 1.0, 4.0)
        evidence = bcm.from_probabilities(actual, p, weights=weights, weights_are="importance")
    measures = ["calibration_intercept", "calibration_slope", "calibration_in_the_large"]
    for table, right in ((bcm.summary(evidence, measures), 1), (bcm.summary(biased, measures), 0)):
        held = (table["lower"] < [0, 1, 0]) & (table["upper"] > [0, 1, 0])
        assert held.tolist() == [bool(right), True, bool(right)]
    at = [0.05, 0.2, 0.5]
    low, high = bcm.calibration.curve(evidence, at=at)["interval"].values.T
    assert ((low < at) & (at < high)).all()
    assert (bcm.calibration.curve(biased, at=at)["interval"].values[:, 0] > at).all()
    found = bcm.curves.decision_curve(evidence, thresholds=[0.2])
    assert found["treat_all"].item() == pytest.approx(0, abs=0.03)


@pytest.mark.long
def test_a_step_and_a_rare_class_are_cautioned_of():
    rng = np.random.default_rng(9)
    p = rng.random(1000)
    for curve, said in ((np.where(p < 0.5, 0.2, 0.8), True), (p, False), (p**2, False)):
        evidence = bcm.from_probabilities((rng.random(1000) < curve).astype(int), p)
        for found in (bcm.calibration.curve(evidence), bcm.calibration.test(evidence)):
            assert ("step" in found.attrs.get("caution", "")) is said
    exact = bcm.from_probabilities((rng.random(1000) < p).astype(int), np.where(p < 0.1, 0, p))
    assert "exactly 0 or 1" in bcm.calibration.curve(exact).attrs["caution"]
    few = bcm.from_probabilities(np.arange(200) % 20 == 0, p[:200])
    assert "With only 10 positive examples" in bcm.interval(few, "brier").attrs["caution"]
    for table in (bcm.calibration.recalibrated(few), bcm.calibration.test(few)):
        assert "With only 10 positive examples" in table.attrs["caution"]
    apart = bcm.from_probabilities(p[:200] > 0.5, {"a": p[:200], "b": p[200:400]})
    said = bcm.interval(apart, "calibration_slope").attrs["caution"]
    assert said.startswith("The forecasts of a separate the classes perfectly")


@pytest.mark.long
def test_the_gain_of_recalibration_is_what_recalibration_gains():
    rng = np.random.default_rng(10)
    odds = rng.normal(0, 1.5, 1500)
    right = 1 / (1 + np.exp(-0.4 * odds))
    actual, bold = (rng.random(1500) < right).astype(int), 1 / (1 + np.exp(-odds))
    found = bcm.calibration.recalibrated(
        bcm.from_probabilities(actual, {"bold": bold, "right": right})
    )
    assert found["classifier"].tolist() == ["bold", "bold", "right", "right"]
    gains = [
        ((bold - right) ** 2).mean(),
        (right * np.log(right / bold) + (1 - right) * np.log((1 - right) / (1 - bold))).mean(),
    ]
    assert ((found["lower"][:2] < gains) & (gains < found["upper"][:2])).all()
    assert found["lower"][2:].tolist() == [0, 0]
    assert (found["upper"][2:] < 0.2 * found["gain"][:2].to_numpy()).all()


def test_one_forecast_for_all_has_no_slope():
    constant = bcm.from_probabilities([0, 1, 1, 0], np.full(4, 0.4))
    with pytest.raises(ValueError, match="slope needs at least two distinct forecasts"):
        bcm.interval(constant, "calibration_slope")
    assert bcm.interval(constant, "calibration_intercept").notnull().all()


@pytest.mark.long
def test_the_slope_of_separated_forecasts_is_inside_its_interval():
    p = np.linspace(0.05, 0.95, 60)
    evidence = bcm.from_probabilities((p > 0.5).astype(int), p)
    table = bcm.summary(evidence, ["calibration_slope", "calibration_intercept"], kind="eti")
    assert table["point"].between(table["lower"], table["upper"]).all()


# One or two forecast values.


@pytest.mark.long
@pytest.mark.parametrize("values", [[0.3], [0.25, 0.7]])
@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_the_error_of_few_forecast_values_covers(values, shift):
    """80 examples; the truth is at every value, or above it by the shift: 60 data sets."""
    rng = np.random.default_rng(int(10 * shift) + len(values))
    covered, lengths = 0, []
    for _ in range(60):
        p = rng.choice(values, 80)
        p[: len(values)] = values
        actual = (rng.random(80) < p + shift).astype(int)
        evidence = bcm.from_probabilities(actual, p, positive=1, labels=[0, 1])
        low, high = bcm.interval(evidence, "ece", draws=1000).values
        covered += low <= shift <= high
        lengths.append(high - low)
    assert covered >= 0.88 * 60
    assert np.mean(lengths) < 0.3


def test_the_error_of_one_forecast_value_is_that_of_a_share():
    actual = np.arange(100) < 40
    evidence = bcm.from_probabilities(actual.astype(int), np.full(100, 0.1), positive=1)
    low, high = bcm.interval(evidence, "ece").values
    share = bcm.interval(bcm.from_predictions(actual, actual), "prevalence", kind="eti").values
    assert high == pytest.approx(share[1] - 0.1, abs=0.01)
    assert low == pytest.approx(share[0] - 0.1, abs=0.02)
