"""Models of uncertain labels, sampled by NUTS: the posteriors of their direct posteriors."""

import numpy as np
import pytest
from monte_carlo import assert_converged, assert_same_distribution, sampled_by_nuts

import bayescm as bcm
from bayescm import models, posteriors


@pytest.mark.long
def test_mislabelled():
    counts = bcm.from_matrix([[39, 13], [9, 37]])
    tree = sampled_by_nuts(models.mislabelled(counts, label_error=(8, 72)), seed=3)
    assert_converged(tree)
    direct_posterior = posteriors.mislabelled(counts, label_error=(8, 72))
    drawn = direct_posterior.variables(4000, np.random.default_rng(0))
    for name in ("theta", "label_error"):
        assert_same_distribution(tree["posterior"][name], drawn[name])


@pytest.mark.long
def test_transferred_errors():
    human = [0, 1, 0, 1, 1] * 16 + [None] * 100
    said = [0, 1, 0, 0, 1] * 16 + [0, 0, 1, 0] * 25
    judge = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0] * 8 + [0, 0, 0, 1, 0] * 20
    evidence = bcm.from_partly_labelled(human, said, judge, transfer="errors")
    tree = sampled_by_nuts(models.transferred_errors(evidence), seed=3, draws=1500)
    assert_converged(tree)
    drawn = posteriors.transferred_errors(evidence).variables(20_000, np.random.default_rng(0))
    for name in ("prevalence", "rates"):
        assert_same_distribution(tree["posterior"][name], drawn[name])
