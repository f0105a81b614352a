"""Shares that differ between groups: draws beside a grid, and weights of many outcomes."""

import numpy as np
import pytest

from bayescm.posteriors.dirichlet_shares import DirichletShares


@pytest.mark.long
def test_draws_agree_with_a_grid():
    counts = np.array([[9.0, 1.0], [5.0, 5.0], [8.0, 0.0]])
    posterior = DirichletShares(counts, np.array([0.5, 0.5]), 1.0)
    share, log_spread = np.meshgrid(
        (np.arange(400) + 0.5) / 400, np.linspace(np.log(0.01), np.log(5), 400), indexing="ij"
    )
    points = np.stack([share.ravel(), 1 - share.ravel(), log_spread.ravel()], axis=1)
    heights = posterior.log_posterior(points)
    weights = np.exp(heights - heights.max())
    weights /= weights.sum()
    drawn = posterior.parameters.draw(8000, np.random.default_rng(0))
    assert drawn[:, 0].mean() == pytest.approx(weights @ points[:, 0], abs=0.006)
    assert np.exp(drawn[:, 2]).mean() == pytest.approx(weights @ np.exp(points[:, 2]), abs=0.03)


@pytest.mark.long
@pytest.mark.parametrize(("classes", "groups", "size"), [(3, 5, 100), (10, 6, 20), (20, 5, 30)])
def test_importance_weights_stay_even(classes, groups, size):
    rng = np.random.default_rng(1)
    shares = np.full(classes, 0.3 / (classes - 1))
    shares[0] = 0.7
    counts = np.stack([rng.multinomial(size, rng.dirichlet(20 * shares)) for _ in range(groups)])
    posterior = DirichletShares(counts.astype(float), np.full(classes, 2 / classes**2), 1.0)
    assert posterior.parameters.effective > 1000
