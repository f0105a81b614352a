"""Exponential tilting beside iterative proportional fitting, and where nothing fits exactly."""

from itertools import combinations

import numpy as np
import pytest

from bayescm.inference import exponential_tilting

RNG = np.random.default_rng(5)
LEVELS = RNG.standard_normal((20_000, 4)) + np.array([0.4, 0.2, 0.1, 0.0])
EVENTS = np.stack([LEVELS[:, i] > LEVELS[:, j] for i, j in combinations(range(4), 2)], axis=1)


def raked(events, probabilities, rounds=200):
    """Multiply the weights of each event and of its complement until all probabilities hold."""
    weights = np.full(len(events), 1 / len(events))
    for _ in range(rounds):
        for event, probability in zip(events.T, probabilities, strict=True):
            inside = weights[event].sum()
            factors = np.where(event, probability / inside, (1 - probability) / (1 - inside))
            weights = weights * factors
    return weights


@pytest.mark.long
def test_weights_are_those_of_iterative_proportional_fitting():
    probabilities = EVENTS.mean(axis=0) + np.array([5, -4, 6, -5, 0, 3]) / 100
    weights = exponential_tilting.weights(EVENTS, probabilities)
    np.testing.assert_allclose(weights.sum(), 1)
    np.testing.assert_allclose(weights @ EVENTS, probabilities, atol=1e-3)
    np.testing.assert_allclose(weights, raked(EVENTS, probabilities), rtol=0.05)


def test_probabilities_that_hold_leave_the_weights_even():
    weights = exponential_tilting.weights(EVENTS, EVENTS.mean(axis=0))
    np.testing.assert_allclose(weights, 1 / len(EVENTS), rtol=1e-3)


def test_events_without_draws_leave_the_weights_finite():
    events = EVENTS.copy()
    events[:, 0] = True
    weights = exponential_tilting.weights(events, np.append(0.999, EVENTS[:, 1:].mean(axis=0)))
    np.testing.assert_allclose(weights, 1 / len(EVENTS), rtol=0.05)


def test_a_cycle_of_pairs_is_met_as_nearly_as_can_be():
    """P(a > b) + P(b > c) + P(c > a) is 2 at most, and three times .9 is 2.7."""
    a, b, c = LEVELS[:, :3].T
    events = np.stack([a > b, b > c, c > a], axis=1)
    weights = exponential_tilting.weights(events, np.full(3, 0.9))
    np.testing.assert_allclose((weights @ events).sum(), 2, atol=0.01)
