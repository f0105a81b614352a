"""Bands of calibration curves that have steps, or whose forecasts have few values."""

import numpy as np
import pytest
from scipy.special import expit, logit, logsumexp, ndtr
from scipy.stats import beta, binomtest

import bayescm as bcm
from bayescm.posteriors import calibration_bands
from bayescm.posteriors.calibration import (
    SCALES,
    SmoothCurve,
    calibration,
    log_bayes_factors,
    regression_mode,
)

VALUES, TRUTH = np.array([0.2, 0.4, 0.6, 0.8]), np.array([0.35, 0.15, 0.75, 0.5])


def drawn(seed, size, chance, forecast=None):
    rng = np.random.default_rng(seed)
    p = rng.random(size) if forecast is None else rng.choice(forecast, size)
    actual = (rng.random(size) < chance(p)).astype(int)
    return bcm.from_probabilities(actual, p, positive=1, labels=[0, 1])


def jagged(seed, size):
    return drawn(seed, size, lambda p: TRUTH[np.searchsorted(VALUES, p)], VALUES)


def up(p):
    return np.where(p < 0.35, 0.25, 0.8)


def down(p):
    return np.where(p < 0.55, 0.7, 0.25)


def holds(found, chance):
    low, high = found["interval"].values.T
    truth = chance(found["probability"].values)
    return bool(((low <= truth) & (truth <= high)).all())


def test_few_values_have_binomial_limits_at_a_level_for_all_of_them():
    evidence = jagged(1, 400)
    found = bcm.calibration.curve(evidence)
    assert found["method"].item() == "binomial"
    assert found["probability"].values.tolist() == VALUES.tolist()
    for value, ends in zip(VALUES, found["interval"].values, strict=True):
        chosen = evidence["actual"].values[evidence["score"].values == value]
        exact = binomtest(int(chosen.sum()), len(chosen)).proportion_ci(1 - 0.05 / 4)
        assert ends == pytest.approx(exact, abs=1e-9)
    alone = bcm.calibration.curve(evidence, simultaneous=False)["interval"]
    assert (np.diff(alone, axis=1) < np.diff(found["interval"], axis=1)).all()


@pytest.mark.long
def test_few_values_are_held_whatever_the_curve():
    held = [
        holds(bcm.calibration.curve(jagged(seed, 300)), lambda p: TRUTH[np.searchsorted(VALUES, p)])
        for seed in range(100)
    ]
    assert np.mean(held) > 0.9  # guaranteed .95; four standard errors below the .985 expected


def test_between_few_values_nothing_is_known():
    found = bcm.calibration.curve(jagged(2, 400), at=[0.2, 0.3])
    assert np.isfinite(found["interval"][0]).all()
    assert np.isnan(found["interval"][1]).all()
    assert "have few values" in found.attrs["caution"]


def test_two_values_have_a_band_too():
    evidence = drawn(3, 50, lambda p: p, [0.3, 0.7])
    assert bcm.calibration.curve(evidence)["interval"].notnull().all()
    assert bcm.calibration.test(evidence)["departure"].item() < 0.5


def test_values_that_differ_by_rounding_errors_are_one():
    evidence = jagged(4, 400)
    noisy = evidence.assign(score=evidence["score"] * (1 + 1e-15 * (np.arange(400) % 3)))
    first, second = (bcm.calibration.curve(each)["interval"] for each in (evidence, noisy))
    np.testing.assert_allclose(first, second)


def test_many_examples_of_few_values_are_counted_value_by_value():
    evidence = jagged(5, 9000)
    probability, hits, total = calibration(evidence).tally(0)
    assert probability.tolist() == VALUES.tolist()
    assert total.sum() == 9000
    assert hits.sum() == evidence["actual"].sum()


@pytest.mark.long
@pytest.mark.parametrize("size", [150, 900])
def test_a_step_is_answered_by_the_isotonic_band(size):
    """Power at least .9 at these sizes: of 8 all but 2 are recognised, with probability .96."""
    answers = [bcm.calibration.curve(drawn(seed, size, up)) for seed in range(8)]
    methods = [each["method"].item() for each in answers]
    assert methods.count("isotonic") >= 6
    assert sum(holds(each, up) for each in answers) >= 6
    chosen = answers[methods.index("isotonic")]
    assert "never falls" in chosen.attrs["caution"]
    assert (np.diff(chosen["interval"], axis=0) >= -1e-12).all()
    low, high = chosen["interval"].values.T
    assert ((low <= chosen["estimate"]) & (chosen["estimate"] <= high)).all()


@pytest.mark.long
def test_smooth_curves_keep_their_band():
    shapes = (lambda p: p, lambda p: expit(0.5 * logit(p)))
    for size in (1200, 30_000):
        for shape in shapes:
            evidence = drawn(6, size, shape)
            found = bcm.calibration.curve(evidence)
            assert found["method"].item() == "smooth"
            assert "caution" not in found.attrs
            at = found["probability"].values
            (ends,), _ = calibration(evidence).band(at, 0.95, method="smooth")
            np.testing.assert_array_equal(found["interval"], ends)


def test_a_step_down_is_answered_by_means_of_groups():
    found = bcm.calibration.curve(drawn(7, 800, down))
    assert found["method"].item() == "grouped"
    assert "to fall" in found.attrs["caution"]
    low, high = found["interval"].values.T
    apart = np.abs(found["probability"].values - 0.55) > 0.1  # beside the group of the step
    truth = down(found["probability"].values)
    assert ((low <= truth) & (truth <= high))[apart].all()


@pytest.mark.long
def test_another_prevalence_moves_all_bands_by_the_same_log_odds():
    for evidence in (jagged(8, 400), drawn(8, 400, up), drawn(8, 600, down)):
        plain = bcm.calibration.curve(evidence)
        moved = bcm.calibration.curve(bcm.at_prevalence(evidence, 0.1))
        assert plain["method"].item() == moved["method"].item() != "smooth"
        share = (evidence["actual"] == 1).values.mean()
        shift = logit(0.1) - logit(share)
        expected = expit(logit(plain["interval"].values) + shift)
        np.testing.assert_allclose(moved["interval"].values, expected, atol=1e-9)


@pytest.mark.long
def test_the_bayes_factor_is_that_of_laplace_at_every_place():
    """The score of a step and one correction a scale stand for the mode with every step."""
    rng = np.random.default_rng(9)
    odds = np.sort(rng.normal(0, 1.5, 40))
    hits, total = (rng.random(40) < up(expit(odds))).astype(float), np.ones(40)
    smooth = SmoothCurve(odds, hits, total)
    straight, steps = smooth.design(odds)
    logs = []
    for scale in SCALES:
        plain = np.concatenate([straight, scale * steps], axis=1)
        without, _ = laplace(plain, odds, hits, smooth.precision)
        prior = 2 * np.log(scale / 2) - (scale / 2) ** 2 / 2
        weight = smooth.approximation.log_density[list(SCALES).index(scale)] - prior
        for cut in (odds[1:] + odds[:-1]) / 2:
            columns = np.column_stack([plain, odds > cut])
            value, rises = laplace(columns, odds, hits, np.r_[smooth.precision, 1.5**-2])
            logs.append([weight, value - without + weight, np.log(2 * rises)])
    weight, value, rises = np.array(logs).T
    expected = logsumexp(value + rises) - logsumexp(weight)
    # Measured: .02 to .1 apart; a wrong prior or weight moves it by .5 and more.
    assert log_bayes_factors(smooth, odds, hits, total)[0] == pytest.approx(expected, abs=0.2)


def laplace(columns, odds, hits, precision):
    """Return the log marginal likelihood, and the probability that the last column's is above 0."""
    start = np.zeros(columns.shape[1])
    mode, hessian = regression_mode(
        start, columns, odds, hits @ columns, np.ones(len(odds)), precision
    )
    eta = odds + columns @ mode
    value = hits @ columns @ mode - np.logaddexp(0, eta).sum() - precision @ mode**2 / 2
    value += (np.log(precision).sum() - np.linalg.slogdet(hessian)[1]) / 2
    return value, ndtr(mode[-1] / np.sqrt(np.linalg.inv(hessian)[-1, -1]))


def test_the_isotonic_limits_are_those_of_all_ranges():
    rng = np.random.default_rng(10)
    p = np.sort(rng.random(30))
    hits = (rng.random(30) < p).astype(float)
    (ends, _), level = calibration_bands.isotonic(p, hits, np.ones(30), p, 0.9), 0.1 / (30 * 31)
    for place in (3, 14, 29):
        lower = [
            beta.ppf(level, hits[i : j + 1].sum(), j + 2 - i - hits[i : j + 1].sum())
            for j in range(place + 1)
            for i in range(j + 1)
        ]
        assert ends[place, 0] == pytest.approx(np.nanmax([0, *lower]), abs=1e-9)


@pytest.mark.long
def test_the_error_of_few_values_is_that_of_a_curve_that_need_not_be_smooth():
    error = np.abs(TRUTH - VALUES).mean()
    held = []
    for seed in range(8):
        low, high = bcm.interval(jagged(seed, 800), "ece", draws=1000).values
        held.append(low < error < high)
    assert sum(held) >= 7
    table = bcm.calibration.test(jagged(1, 4000), 0.2)
    assert table["departure"].item() == pytest.approx(np.abs(TRUTH - VALUES).max(), abs=0.05)
    assert table["p_calibrated"].item() < 0.01


@pytest.mark.long
def test_measures_of_the_curve_are_warned_of_where_it_has_a_step():
    stepped, smooth = drawn(11, 900, up), drawn(11, 900, lambda p: p)
    with pytest.warns(UserWarning, match="ece: The calibration curve seems to have a step"):
        bcm.interval(stepped, "ece", draws=500)
    bcm.interval(stepped, "brier", draws=500)
    bcm.interval(smooth, "ece", draws=500)
    assert "seems to have a step" in bcm.calibration.test(stepped).attrs["caution"]


@pytest.mark.long
@pytest.mark.parametrize("heights", [(0.2, 0.7), (0.05, 0.9)])
def test_a_rising_step_of_many_examples_is_not_taken_for_a_fall(heights):
    rng = np.random.default_rng(5)
    p = rng.random(30_000)
    actual = (rng.random(30_000) < np.where(p < 0.4, *heights)).astype(int)
    assert bcm.posteriors.calibration(bcm.from_probabilities(actual, p)).methods == ["isotonic"]
    fallen = (rng.random(30_000) < np.where(p < 0.4, *heights[::-1])).astype(int)
    assert bcm.posteriors.calibration(bcm.from_probabilities(fallen, p)).methods == ["grouped"]
