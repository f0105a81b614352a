"""Net benefit: the sample's formula, the conjugate posterior, and what follows from it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import stats

import bayescm as bcm

AT = np.array([0.1, 0.35, 0.6])


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(5)
    odds = rng.normal(-1, 1.2, 400)
    actual = (rng.random(400) < 1 / (1 + np.exp(-odds))).astype(int)
    other = odds + rng.normal(0, 0.7, 400)
    return actual, {name: 1 / (1 + np.exp(-each)) for name, each in (("a", odds), ("b", other))}


@pytest.fixture(scope="module")
def found(sample):
    evidence = bcm.from_probabilities(*sample)
    return bcm.curves.decision_curve(evidence, thresholds=AT, concentration=1, draws=40_000)


@pytest.mark.long
def test_points_are_vickers_and_elkins_formula(sample, found):
    actual, probabilities = sample
    for name, p in probabilities.items():
        for at in AT:
            hits, alarms = ((p >= at) & (actual == 1)).sum(), ((p >= at) & (actual == 0)).sum()
            expected = (hits - alarms * at / (1 - at)) / len(actual)
            value = found["net_benefit"].sel(classifier=name, threshold=at).item()
            assert value == pytest.approx(expected, abs=1e-12)


def test_posterior_is_the_conjugate_one_at_every_threshold(sample, found):
    """Uniform priors of the prevalence and both rates, independent (bayesDCA)."""
    actual, probabilities = sample
    rng, size = np.random.default_rng(1), 40_000
    positive = actual.sum()
    share = rng.beta(1 + positive, 1 + len(actual) - positive, size)
    for name, p in probabilities.items():
        for at in AT:
            hits, alarms = ((p >= at) & (actual == 1)).sum(), ((p >= at) & (actual == 0)).sum()
            recall = rng.beta(1 + hits, 1 + positive - hits, size)
            alarm = rng.beta(1 + alarms, 1 + len(actual) - positive - alarms, size)
            net = share * recall - (1 - share) * alarm * at / (1 - at)
            one = found.sel(classifier=name, threshold=at)
            assert one["mean"].item() == pytest.approx(net.mean(), abs=5 * net.std() / 200)
            ends = np.quantile(net, [0.025, 0.975])
            assert one["interval"].values == pytest.approx(ends, abs=0.08 * net.std())
            useful = (net > np.maximum(share - (1 - share) * at / (1 - at), 0)).mean()
            assert one["p_useful"].item() == pytest.approx(useful, abs=0.015)


def test_probabilities_of_being_best_sum_to_one_and_ties_share(sample, found):
    assert found["p_best"].sum("strategy").values == pytest.approx(np.ones(3))
    actual, probabilities = sample
    twins = bcm.from_probabilities(actual, {"a": probabilities["a"], "b": probabilities["a"]})
    best = bcm.curves.decision_curve(twins, thresholds=[0.3])["p_best"].isel(threshold=0)
    assert best.sel(strategy="a").item() == pytest.approx(best.sel(strategy="b").item())


def test_differences_are_those_of_pairs_and_shares_have_their_own_intervals(sample, found):
    """
    The two-by-two table of who is above the threshold in each class has a Dirichlet prior.

    Differences have disagreement that was not seen too, a little of it among 400 examples.
    """
    actual, probabilities = sample
    rng, size = np.random.default_rng(2), 40_000
    positive = actual.sum()
    share = rng.beta(1 + positive, 1 + len(actual) - positive, size)
    for at in AT:
        above = {name: p >= at for name, p in probabilities.items()}
        rates, prior = {}, np.array([1, 1e-9, 1e-9, 1])
        for side in (0, 1):
            code = (2 * above["a"] + above["b"])[actual == side]
            cells = rng.dirichlet(np.bincount(code, minlength=4) + prior, size)
            rates[side] = cells[:, 2] + cells[:, 3], cells[:, 1] + cells[:, 3]
        price = at / (1 - at)
        net = [share * rates[1][k] - (1 - share) * rates[0][k] * price for k in (0, 1)]
        gap, every = net[0] - net[1], share - (1 - share) * price
        one = found.sel(threshold=at)
        wanted = {
            "standardized_interval": (net[0] / share, {"classifier": "a"}),
            "avoided_interval": ((net[0] - every) / price, {"classifier": "a"}),
        }
        for name, (draws, place) in wanted.items():
            ends = np.quantile(draws, [0.025, 0.975])
            assert one[name].sel(place).values == pytest.approx(ends, abs=0.08 * draws.std())
        pair = one["difference"].sel(classifier="a", other="b").values
        low, high = np.quantile(gap, [0.025, 0.975])
        assert pair.mean() == pytest.approx((low + high) / 2, abs=0.15 * gap.std())
        assert 0.98 < np.ptp(pair) / (high - low) < 1.1
        top = np.maximum(np.maximum(*net), np.maximum(every, 0))
        known = top.mean() - max(net[0].mean(), net[1].mean(), every.mean(), 0)
        assert one["evpi"].item() == pytest.approx(known, abs=6 * top.std() / 200)
        first = (net[0] == top).mean()
        assert one["p_best"].sel(strategy="a").item() == pytest.approx(first, abs=0.015)


def test_a_known_prevalence_moves_treat_all(sample):
    found = bcm.curves.decision_curve(
        bcm.from_probabilities(*sample), thresholds=[0.2], prevalence=0.05
    )
    assert found["treat_all"].item() == pytest.approx(0.05 - 0.95 * 0.25)
    assert (found["evpi"] >= 0).all()


def test_a_band_for_the_whole_curve_is_wider(sample):
    evidence = bcm.from_probabilities(sample[0], sample[1]["a"])
    point, whole = (
        bcm.curves.decision_curve(evidence, thresholds=AT, simultaneous=each)["interval"]
        for each in (0, 1)
    )
    width = [each.diff("bound").isel(bound=0) for each in (point, whole)]
    assert (width[1] > width[0]).all()


@pytest.mark.parametrize("bad", [[0.0, 0.5], [1.2], "x"])
def test_bad_thresholds_are_refused(sample, bad):
    with pytest.raises((ValueError, TypeError), match="threshold"):
        bcm.curves.decision_curve(bcm.from_probabilities(*sample), thresholds=bad)


def test_the_marginal_of_a_rate_is_its_beta(sample):
    actual, probabilities = sample
    evidence = bcm.from_probabilities(actual, probabilities["a"])
    found = bcm.curves.decision_curve(evidence, thresholds=[0.3], prevalence=0.999999, draws=20_000)
    hits = ((probabilities["a"] >= 0.3) & (actual == 1)).sum()
    law = stats.beta(0.5 + hits, 0.5 + actual.sum() - hits)
    assert found["interval"].values[0] == pytest.approx(law.ppf([0.025, 0.975]), abs=0.004)


@pytest.mark.parametrize("study", ["binary", "case_control"])
def test_points_are_those_of_dcurves(study):
    known = json.loads((Path(__file__).parents[1] / "reference" / "dcurves.json").read_text())
    actual = [int(each) for each in known["cancer" if study == "binary" else "casecontrol"]]
    family = [float(each) for each in known["famhistory"]]
    forecasts = {"famhistory": family, "cancerpredmarker": known["cancerpredmarker"]}
    found = bcm.curves.decision_curve(
        bcm.from_probabilities(actual, forecasts, positive=1),
        thresholds=known["thresholds"],
        prevalence=0.15 if study == "case_control" else None,
        draws=2,
    )
    for name in forecasts:
        ours = found["net_benefit"].sel(classifier=name).values
        assert ours == pytest.approx(known[study][name], abs=1e-12)
    assert found["treat_all"].values == pytest.approx(known[study]["all"], abs=1e-12)
    ours = found["avoided"].sel(classifier="cancerpredmarker").values
    assert ours == pytest.approx(known[study]["avoided"], abs=1e-11)


# Costs of acting on probabilities: the sample's mean, the best threshold, uncertain costs.


@pytest.fixture(scope="module")
def calibrated():
    rng = np.random.default_rng(3)
    p = rng.beta(1, 2, 600)
    return (rng.random(600) < p).astype(int), p


def test_cost_in_the_sample_and_its_mean(calibrated):
    actual, p = calibrated
    evidence = bcm.from_probabilities(actual, p)
    found = bcm.curves.expected_cost(
        evidence, {"fn": 4, "fp": 1, "tp": 0.5}, thresholds=[0, 0.2, 1]
    )
    for at, cost in zip([0, 0.2, 1], found["cost"].values, strict=True):
        act = p >= at
        mean = np.where(actual == 1, np.where(act, 0.5, 4), np.where(act, 1, 0)).mean()
        assert cost == pytest.approx(mean, abs=1e-12)
    assert found["mean"].values == pytest.approx(found["cost"].values, abs=0.02)
    matrix = bcm.curves.expected_cost(evidence, [[0, 1], [4, 0.5]], thresholds=[0, 0.2, 1])
    assert matrix.equals(found)


def test_calibrated_are_best_where_the_costs_say(calibrated):
    found = bcm.curves.expected_cost(bcm.from_probabilities(*calibrated), {"fn": 3, "fp": 1})
    low, high = found["best_interval"].values
    assert found["implied"].item() == 0.25
    assert low - 0.1 <= 0.25 <= high + 0.1  # an interval that holds it 19 times of 20
    assert found["p_best"].sum("threshold").item() == pytest.approx(1)
    assert found["regret"].sel(threshold=found["best"]).item() == found["regret"].min()
    assert found["regret"].sel(threshold=0.9).item() > 0.2


@pytest.mark.long
def test_an_uncertain_cost_widens_the_interval(calibrated):
    evidence = bcm.from_probabilities(*calibrated)

    def length(miss):
        found = bcm.curves.expected_cost(evidence, {"fn": miss, "fp": 1}, thresholds=[0.6])
        return found["interval"].diff("bound").item()

    assert length(np.linspace(1, 7, 100)) > 1.5 * length(4)
    assert length(lambda name: pm.Uniform(name, 1, 7)) > 1.5 * length(4)


def test_costs_drawn_together_stay_together(calibrated):
    """A factor that all costs have in common moves no threshold."""
    evidence, factor = bcm.from_probabilities(*calibrated), np.array([0.2, 1, 5])
    fixed, together = (
        bcm.curves.expected_cost(evidence, {"fn": 4 * each, "fp": each}, thresholds=[0.1, 0.2, 0.4])
        for each in (1.0, factor)
    )
    np.testing.assert_array_equal(together["p_best"], fixed["p_best"])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([[1, 0], [0, 4]], "must cost more than a correct prediction"),
        ("x", "Costs must be two rows of two numbers"),
        ({"miss": 1}, "Unknown cost 'miss'"),
        ({"fn": 4}, "must cost more than a correct prediction"),
        ({"fn": [[1]]}, "The cost of fn must be a number"),
        ({}, "No costs are given"),
    ],
)
def test_bad_costs_are_refused(calibrated, bad, words):
    with pytest.raises(ValueError, match=words):
        bcm.curves.expected_cost(bcm.from_probabilities(*calibrated), bad)


@pytest.mark.long
def test_a_labelled_matrix_of_costs_is_read_by_its_labels(calibrated):
    evidence = bcm.from_probabilities(*calibrated)
    plain = [[0, 1], [5, 0]]
    table = pd.DataFrame(plain)
    turned = table.T.rename_axis(index="predicted", columns="actual")
    want = bcm.curves.expected_cost(evidence, plain, thresholds=[0.2])["cost"]
    for costs in (table, table.iloc[::-1, ::-1], turned):
        assert bcm.curves.expected_cost(evidence, costs, thresholds=[0.2])["cost"] == want


@pytest.mark.long
def test_bounds_are_within_their_error_of_those_of_many_draws(sample):
    evidence = bcm.from_probabilities(*sample)
    many = bcm.curves.decision_curve(evidence, thresholds=AT, draws=200_000, random_seed=1)
    few = bcm.curves.decision_curve(evidence, thresholds=AT)
    off = np.abs(few["interval"] - many["interval"]).max("bound")
    assert (few["error"] > 0).all()
    assert (off <= few["error"] + many["error"]).mean() >= 0.9
    band = bcm.curves.decision_curve(evidence, thresholds=AT, simultaneous=True)
    assert band["error"].isnull().all()
    costs = {"fn": 4, "fp": 1}
    few = bcm.curves.expected_cost(evidence, costs, thresholds=AT)
    many = bcm.curves.expected_cost(evidence, costs, thresholds=AT, draws=200_000, random_seed=1)
    off = np.abs(few["interval"] - many["interval"]).max("bound")
    assert few["error"].dims == ("classifier", "threshold")
    assert (off <= few["error"] + many["error"]).mean() >= 0.9
