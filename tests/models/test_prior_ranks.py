"""Truths drawn from the prior have ranks in the direct posteriors that are uniform."""

import warnings
from importlib import import_module

import numpy as np
import pymc as pm
import pytest
from scipy.special import ndtr
from scipy.stats import binom

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.measures import resolve


def assert_uniform(ranks):
    """Ranks (N,) inside [0, 1]: the share below each tenth is no rarer than 1 in 10,000."""
    levels = np.arange(1, 10) / 10
    below = (np.asarray(ranks)[:, None] < levels).sum(0)
    low, high = binom.ppf([[5e-5], [1 - 5e-5]], len(ranks), levels)
    assert ((low <= below) & (below <= high)).all(), below / len(ranks)


@pytest.mark.long
def test_folds():
    """Of the expected measure, over training sets as the model has them."""
    blank = bcm.from_matrix(np.full((5, 2, 2), 12), labels=[0, 1], positive=1, dims=("fold",))
    with models.hierarchical_folds(blank):
        drawn = pm.sample_prior_predictive(150, random_seed=1)
    counts = drawn["prior_predictive"]["cell_counts"].values[0]
    theta = drawn["prior"]["theta_expected"].values[0]
    cells = bcm.from_matrix(counts, labels=[0, 1], positive=1, dims=("batch", "fold"))
    direct_posterior = posteriors.hierarchical_folds(cells)
    for name in ("accuracy", "recall"):
        truth = resolve(name)(theta).mean(-1)
        assert_uniform(direct_posterior.distribution(resolve(name)).cdf(truth))


@pytest.mark.long
def test_raters(monkeypatch):
    # A quarter of the points of the proposal: all sets are done in half a minute.
    engine = import_module("bayescm.posteriors.noisy_labels")
    monkeypatch.setattr(engine, "_POINTS", 4000)
    monkeypatch.setattr(engine, "_PILOT", 1000)
    rng, found = np.random.default_rng(1), []
    while len(found) < 60:
        prevalence, rates = rng.random(), rng.beta(2, 1, (4, 2))
        if (rates.mean(1) <= 0.5).any():  # which the prior leaves out
            continue
        shared = rng.beta(1, 9)  # of how hard an example is: the default of four raters
        truth = (rng.random(100) < prevalence).astype(int)
        hard, own = rng.standard_normal((1, 100)), rng.standard_normal((4, 100))
        right = ndtr(shared**0.5 * hard + (1 - shared) ** 0.5 * own) < rates[:, truth]
        said = {str(place): np.where(each, truth, 1 - truth) for place, each in enumerate(right)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of draws that are worth little
            drawn = posteriors.noisy_labels(bcm.from_raters(said, labels=[0, 1])).variables(
                1000, rng
            )
        below = [
            drawn["prevalence"][:, 1] < prevalence,
            drawn["rates"][:, 0, 1, 1] < rates[0, 1],
            drawn["rates"][:, 2, 0, 0] < rates[2, 0],
            drawn["dependence"] < shared,
        ]
        found.append(np.mean(below, axis=1))
    for ranks in np.transpose(found):
        assert_uniform(ranks)
