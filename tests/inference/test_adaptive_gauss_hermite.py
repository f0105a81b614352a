"""Adaptive Gauss-Hermite quadrature against sums over a fine grid of the random effects."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp, xlog1py, xlogy

from bayescm.inference.adaptive_gauss_hermite import (
    fast_expit,
    logit_normal_means,
)
from bayescm.posteriors.logit_normal_groups import LogitNormalRates

GRID = np.linspace(-14, 14, 1201)
STEP = GRID[1] - GRID[0]
LOG_NORMAL = -(GRID**2) / 2 + np.log(STEP / np.sqrt(2 * np.pi))
# Means of the logits, logs of their standard deviations, artanh of their correlation.
PARAMETERS = np.array([[1.0, 0.5, -0.7, 0.1, 0.6], [2.5, -1.0, -2.0, -0.4, -1.0]])
HITS = np.array([[17, 4], [0, 9], [30, 30]])
TOTALS = np.array([[20, 12], [6, 9], [80, 31]])


def log_binomial(logit, hits, totals):
    rate = expit(logit)
    return xlogy(hits, rate) + xlog1py(totals - hits, -rate)


@pytest.mark.long
def test_two_correlated_effects():
    groups = LogitNormalRates(HITS, TOTALS, np.ones((2, 2)), 1.0)
    expected = np.empty((2, 3))
    for draw, (first, second, *scales, correlation) in enumerate(PARAMETERS):
        sd, rho = np.exp(scales), np.tanh(correlation)
        across = rho * GRID[:, None] + np.sqrt(1 - rho**2) * GRID
        for group, (hits, totals) in enumerate(zip(HITS, TOTALS, strict=True)):
            logs = log_binomial(first + sd[0] * GRID, hits[0], totals[0])[:, None]
            logs = logs + log_binomial(second + sd[1] * across, hits[1], totals[1])
            logs = logs + LOG_NORMAL[:, None] + LOG_NORMAL
            expected[draw, group] = logsumexp(logs)
    for nodes, error in ((3, 1e-2), (5, 1e-3), (9, 1e-5), (15, 1e-7)):
        got = groups._log_likelihood(PARAMETERS, np.full(3, nodes))
        np.testing.assert_allclose(got, expected, atol=error)
    rough = groups._log_likelihood(PARAMETERS, np.full(3, 3))
    assert np.abs(rough - expected).max() > 1e-3


def test_one_effect_with_other_numbers_of_nodes_for_each_group():
    groups = LogitNormalRates(HITS[:, :1], TOTALS[:, :1], np.ones((1, 2)), 1.0)
    parameters = np.array([[1.0, -0.7], [0.0, 0.5]])
    expected = [
        [
            logsumexp(log_binomial(mean + np.exp(log_sd) * GRID, hits, totals) + LOG_NORMAL)
            for hits, totals in zip(HITS[:, 0], TOTALS[:, 0], strict=True)
        ]
        for mean, log_sd in parameters
    ]
    got = groups._log_likelihood(parameters, np.array([15, 31, 15]))
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_means_of_rates_with_normal_logits():
    means, deviations = np.array([-2.0, 0.0, 40.0]), np.array([0.3, 1.0, 2.0])
    rates, complements = logit_normal_means(means, deviations)
    logits = means[:, None] + deviations[:, None] * GRID
    np.testing.assert_allclose(rates, fast_expit(logits) @ np.exp(LOG_NORMAL), rtol=1e-8)
    np.testing.assert_allclose(complements, fast_expit(-logits) @ np.exp(LOG_NORMAL), rtol=1e-6)
    np.testing.assert_allclose(rates + complements, 1, rtol=1e-12)
