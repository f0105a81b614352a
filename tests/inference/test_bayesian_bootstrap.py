"""The Bayesian bootstrap: means vary as the formulas say."""

import numpy as np
import pytest

from bayescm.inference import bayesian_bootstrap


@pytest.mark.parametrize(
    ("shape", "variance"),
    [
        (bayesian_bootstrap.unbiased_shape, lambda n: 1 / n),
        (bayesian_bootstrap.student_shape, lambda n: (n - 1) / (n * (n - 3))),
        (lambda n: 1.0, lambda n: (n - 1) / (n * (n + 1))),
    ],
)
def test_means_vary_as_said(shape, variance):
    rng, number = np.random.default_rng(1), 12
    values = rng.random(number)
    values /= values.std(ddof=1)
    weights = bayesian_bootstrap.gamma_weights(np.full(number, shape(number)), 100_000, rng)
    means = weights @ values / weights.sum(axis=1)
    # A variance by 100,000 draws errs by half a percent.
    assert means.var() == pytest.approx(variance(number), rel=0.02)


def test_examples_counted_twice_are_two():
    rng = np.random.default_rng(2)
    single = bayesian_bootstrap.gamma_weights(np.array([1.0, 1, 1, 2, 0.5]), 50_000, rng)
    np.testing.assert_allclose(single.mean(0), [1, 1, 1, 2, 0.5], rtol=0.03)
    np.testing.assert_allclose(single.var(0), [1, 1, 1, 2, 0.5], rtol=0.06)


def test_shares_of_a_stratum_add_up_to_its_share():
    rng = np.random.default_rng(3)
    stratum = np.array([0, 1, 1, 2, 2, 2])
    of_stratum = rng.dirichlet(np.ones(3), 50)
    shares = bayesian_bootstrap.stratified_shares(stratum, np.ones(6), of_stratum, 50, rng)
    for each in range(3):
        np.testing.assert_allclose(shares[:, stratum == each].sum(1), of_stratum[:, each])


def brute_force_scores(score, item, sign, low, high):
    """Return the scores in pseudo-items by plain loops, of scores without NaN."""
    systems, size = len(score), len(item)
    distance = np.empty(systems)
    for k in range(systems):
        largest = [np.abs(score[k] - score[j]).max() for j in range(systems) if j != k]
        apart = [value for value in largest if value > 0]
        distance[k] = min(apart) if apart else high - low
    values = np.empty((size, systems, 2))
    for s in range(size):
        for k in range(systems):
            for j in range(2):
                half = distance[k] / 2
                center = min(max(score[k, item[s, j]], low + half), high - half)
                values[s, k, j] = center + sign[s, k, j] * half
    return values


@pytest.mark.parametrize("systems", [2, 3, 6])
def test_scores_in_pseudo_items_are_those_of_plain_loops(systems):
    rng = np.random.default_rng(systems)
    score = rng.integers(1, 6, (systems, 12)).astype(float)
    score[1] = score[0]  # a pair that is alike, beside others that are not
    pseudo = bayesian_bootstrap.draw_disagreement(systems, np.ones(12), 0.5, 200, rng)
    expected = brute_force_scores(score, pseudo.item, pseudo.sign, 1.0, 5.0)
    np.testing.assert_array_equal(pseudo.scores(score, 1.0, 5.0), expected)


def test_pseudo_items_weigh_half_an_item_and_are_shared():
    rng = np.random.default_rng(4)
    pseudo = bayesian_bootstrap.draw_disagreement(3, np.array([1.0, 0, 3]), 0.5, 40_000, rng)
    np.testing.assert_allclose(pseudo.weight.mean(0), 0.5, rtol=0.03)
    np.testing.assert_allclose(pseudo.weight.var(0), 0.5, rtol=0.06)
    assert (np.bincount(pseudo.item.ravel()) / pseudo.item.size).round(2).tolist() == [
        0.25,
        0,
        0.75,
    ]


@pytest.mark.long
@pytest.mark.parametrize("systems", [2, 3, 4, 7])
def test_half_of_the_systems_are_on_each_side(systems):
    rng = np.random.default_rng(5)
    sign = bayesian_bootstrap.draw_disagreement(systems, np.ones(3), 0.5, 40_000, rng).sign
    assert set(np.abs(sign.sum(axis=1)).ravel()) == {systems % 2}
    np.testing.assert_allclose(sign.mean(axis=0), 0, atol=0.025)
    opposite = (sign[:, 0] != sign[:, -1]).mean(axis=0)
    np.testing.assert_allclose(opposite, bayesian_bootstrap.opposite_sides(systems), atol=0.015)
    assert (sign[:, :, 0] == sign[:, :, 1]).mean() == pytest.approx(0.5, abs=0.01)


def test_two_systems_that_are_alike_are_the_range_apart():
    rng = np.random.default_rng(6)
    pseudo = bayesian_bootstrap.draw_disagreement(2, np.ones(3), 0.5, 100, rng)
    scores = pseudo.scores(np.tile([0.2, 0.9, 0.4], (2, 1)), 0.0, 1.0)
    assert set(np.abs(scores[:, 0] - scores[:, 1]).ravel()) == {1.0}


def test_a_score_that_a_system_lacks_is_its_mean():
    score = np.array([[0.0, 1.0, np.nan, 0.2], [0.0, 1.0, 1.0, 0.3]])
    np.testing.assert_allclose(bayesian_bootstrap.largest_differences(score, 0, 1), 0.1)
    one = bayesian_bootstrap.Disagreement(np.ones((1, 2)), np.array([[2, 0]]), np.ones((1, 2, 2)))
    np.testing.assert_allclose(one.scores(score, 0, 1)[0], [[0.45, 0.1], [1.0, 0.1]])


def test_rounding_errors_are_no_differences():
    score = np.array([[0.1 + 0.2, 0.5], [0.3, 0.5]])
    assert bayesian_bootstrap.largest_differences(score, 0, 1).tolist() == [1, 1]
    distances = bayesian_bootstrap.largest_differences(score, -np.inf, np.inf)
    np.testing.assert_allclose(distances, 0.2)
