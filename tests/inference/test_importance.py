"""Importance sampling beside integrals that are known, and resampling."""

import numpy as np
import pytest
from scipy.special import betaln, log_expit

from bayescm.inference import importance


def log_betas(points):
    """Return the log density of the logits of a Beta(3, 9) and a Beta(40, 2), without constants."""
    a, b = np.array([3.0, 40.0]), np.array([9.0, 2.0])
    return (a * log_expit(points) + b * log_expit(-points)).sum(-1)


def test_moments_of_skewed_densities_are_those_known():
    sample = importance.explore(log_betas, np.zeros(2), [(-9.0, 9.0)] * 2)
    a, b = np.array([3.0, 40.0]), np.array([9.0, 2.0])
    for power in (1, 2):
        moment = sample.weights @ np.exp(power * log_expit(sample.points))
        exact = np.exp(betaln(a + power, b) - betaln(a, b))
        np.testing.assert_allclose(moment, exact, rtol=0.01)
    assert sample.effective > 0.3 * len(sample.points)


def log_funnel(points):
    """Return the log density of v ~ N(0, 1) and of three x ~ N(0, exp(v)^2), up to a constant."""
    v, x = points[:, 0], points[:, 1:]
    return -(v**2) / 2 - (x**2).sum(1) * np.exp(-2 * v) / 2 - x.shape[1] * v


def test_a_mixture_meets_what_is_wide_in_one_place_and_narrow_in_another():
    effective = {}
    for components in (1, 16):
        sample = importance.explore(
            log_funnel, np.zeros(4), [(-3.0, 3.0)] * 4, rough=2000, components=components
        )
        effective[components] = sample.effective
    assert effective[16] > 2 * effective[1]
    v, x = sample.points[:, 0], sample.points[:, 1]
    inside = sample.weights @ (np.abs(x) * np.exp(-v) < 1)
    assert sample.weights @ v == pytest.approx(0, abs=0.1)
    assert sample.weights @ v**2 == pytest.approx(1, abs=0.15)
    assert inside == pytest.approx(0.6827, abs=0.04)


def test_the_largest_weight_is_cut():
    points = np.arange(100.0)[:, None]
    sample = importance.Weighted.from_logs(points, np.r_[np.zeros(99), 20.0])
    # Of 100 points the largest weight is ten times the mean before the cut.
    assert sample.weights[-1] == pytest.approx(1.0, abs=1e-4)
    even = importance.Weighted.from_logs(points, np.full(100, -1e4))
    assert even.effective == pytest.approx(100)
    cut = importance.Weighted.from_logs(points, np.r_[np.zeros(99), np.log(50.0)])
    assert cut.weights[-1] / cut.weights[0] == pytest.approx(149 / 100 * 10)


def test_resampling_keeps_shares_to_within_one_draw():
    share = np.array([0.1, 0.25, 0.0, 0.65])
    number = np.bincount(importance.systematic(share, 1000, np.random.default_rng(2)), minlength=4)
    assert np.abs(number - 1000 * share).max() <= 1


def test_resampling_by_logs_says_what_the_points_are_worth():
    logs = np.log([0.5, 0.25, 0.25]) - 1e3
    kept, efficiency = importance.resample(logs, 400, np.random.default_rng(1))
    np.testing.assert_array_equal(np.bincount(kept), [200, 100, 100])
    assert efficiency == pytest.approx(1 / (3 * 0.375))
