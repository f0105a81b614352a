"""Draws in the order of common values."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from bayescm.inference.iman_conover import iman_conover


@pytest.mark.parametrize("correlation", [-0.7, 0.0, 0.95])
def test_columns_keep_their_values_and_get_the_rank_correlation(correlation):
    rng = np.random.default_rng(3)
    covariance = np.array([[1, correlation], [correlation, 1]])
    common = rng.multivariate_normal([0, 0], covariance, 4000)
    draws = np.stack([rng.beta(2, 5, 4000), rng.gamma(3, 1, 4000)], axis=1)
    joint = iman_conover(draws, common)
    np.testing.assert_array_equal(np.sort(joint, axis=0), np.sort(draws, axis=0))
    assert spearmanr(joint).statistic == pytest.approx(spearmanr(common).statistic, abs=1e-12)


def test_draws_in_the_order_of_themselves_stay_as_they_are():
    draws = np.random.default_rng(4).normal(size=(50, 3))
    np.testing.assert_array_equal(iman_conover(draws, 2 * draws + 1), draws)
