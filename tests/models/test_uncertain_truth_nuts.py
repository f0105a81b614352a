"""A model of uncertain labels, sampled by NUTS: the posterior of its sibling."""

import numpy as np
import pytest
from monte_carlo import assert_converged, assert_same_distribution, sampled_by_nuts

import bayescm as bcm
from bayescm import direct, models


@pytest.mark.long
def test_mislabelled():
    counts = bcm.from_matrix([[39, 13], [9, 37]])
    tree = sampled_by_nuts(models.mislabelled(counts, label_error=(8, 72)), seed=3)
    assert_converged(tree)
    sibling = direct.mislabelled(counts, label_error=(8, 72))
    drawn = sibling.variables(4000, np.random.default_rng(0))
    for name in ("theta", "label_error"):
        assert_same_distribution(tree["posterior"][name], drawn[name])
