"""Collections of many groups: fewer nodes, fewer draws, and what the draws are worth."""

import numpy as np
import pytest
from scipy.special import expit

import bayescm as bcm
from bayescm import posteriors
from bayescm.distributions.discrete import Empirical
from bayescm.posteriors.groups.random_effects import Block


def test_fewer_nodes_are_enough_for_many_groups():
    rng = np.random.default_rng(3)
    totals = rng.integers(0, 60, (300, 2))
    hits = rng.binomial(totals, expit(1.5 + 0.6 * rng.standard_normal((300, 2))))
    block = Block(hits.astype(float), totals.astype(float), np.full((2, 2), 0.5), 1.0)
    known = np.array([1.5, 1.5, np.log(0.6), np.log(0.6), 0.0])
    points = known + [0.05, 0.05, 0.08, 0.08, 0.1] * rng.standard_normal((40, 5))
    off = block.log_posterior(points) - block.log_prior(points)
    off -= block.log_likelihood(points).sum(1)
    assert off.std() < 0.02  # what they are off in common has no effect


@pytest.mark.long
def test_members_of_many_groups_are_drawn_less_often():
    few, many = (
        posteriors.hierarchical_groups(np.full((size, 2, 2), 5)).by("group") for size in (6, 900)
    )
    assert few.draws_by_default("parameter") == 20_000
    assert many.draws_by_default("parameter") * 900 <= 1e6


def test_the_error_is_that_of_as_many_draws_as_the_points_are_worth():
    cells = {"tp": [40, 10, 35, 22], "fn": [5, 30, 8, 4], "fp": [9, 4, 20, 3]}
    sites = bcm.from_cells(**cells, tn=[41, 50, 30, 44]).rename(batch="group")
    posterior = posteriors.hierarchical_groups(sites)
    found = bcm.interval(sites, "recall", kind="eti", of="population")
    sampled = posterior.draw([bcm.measures.recall], 20_000, np.random.default_rng(0))[0]
    alone = Empirical(sampled)
    assert posterior.effective_draws < 15_000
    ratio = found.attrs["error"] / alone.error_at(alone.eti(0.95)).max()
    assert ratio > 0.6 * np.sqrt(20_000 / posterior.effective_draws)
