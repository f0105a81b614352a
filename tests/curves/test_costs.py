"""Costs of acting on probabilities: the sample's mean, the best threshold, uncertain costs."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayescm as bcm


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    p = rng.beta(1, 2, 600)
    return (rng.random(600) < p).astype(int), p


def test_cost_in_the_sample_and_its_mean(sample):
    actual, p = sample
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


def test_right_probabilities_are_best_where_the_costs_say(sample):
    found = bcm.curves.expected_cost(bcm.from_probabilities(*sample), {"fn": 3, "fp": 1})
    low, high = found["best_interval"].values
    assert found["implied"].item() == 0.25
    assert low - 0.1 <= 0.25 <= high + 0.1  # an interval that holds it 19 times of 20
    assert found["p_best"].sum("threshold").item() == pytest.approx(1)
    assert found["regret"].sel(threshold=found["best"]).item() == found["regret"].min()
    assert found["regret"].sel(threshold=0.9).item() > 0.2


@pytest.mark.long
def test_an_uncertain_cost_widens_the_interval(sample):
    evidence = bcm.from_probabilities(*sample)

    def length(miss):
        found = bcm.curves.expected_cost(evidence, {"fn": miss, "fp": 1}, thresholds=[0.6])
        return found["interval"].diff("bound").item()

    assert length(np.linspace(1, 7, 100)) > 1.5 * length(4)
    assert length(lambda name: pm.Uniform(name, 1, 7)) > 1.5 * length(4)


def test_costs_drawn_together_stay_together(sample):
    """A factor that all costs have in common moves no threshold."""
    evidence, factor = bcm.from_probabilities(*sample), np.array([0.2, 1, 5])
    fixed, together = (
        bcm.curves.expected_cost(evidence, {"fn": 4 * each, "fp": each}, thresholds=[0.1, 0.2, 0.4])
        for each in (1.0, factor)
    )
    np.testing.assert_array_equal(together["p_best"], fixed["p_best"])


@pytest.mark.parametrize("bad", [[[1, 0], [0, 4]], "x", {"miss": 1}, {"fn": 4}, {"fn": [[1]]}, {}])
def test_bad_costs_are_refused(sample, bad):
    with pytest.raises(ValueError, match="cost"):
        bcm.curves.expected_cost(bcm.from_probabilities(*sample), bad)


def test_a_labelled_matrix_of_costs_is_read_by_its_labels(sample):
    evidence = bcm.from_probabilities(*sample)
    plain = [[0, 1], [5, 0]]
    table = pd.DataFrame(plain)
    turned = table.T.rename_axis(index="predicted", columns="actual")
    want = bcm.curves.expected_cost(evidence, plain, thresholds=[0.2])["cost"]
    for costs in (table, table.iloc[::-1, ::-1], turned):
        assert bcm.curves.expected_cost(evidence, costs, thresholds=[0.2])["cost"] == want
