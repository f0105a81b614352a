"""Gibbs sampling: simulation-based calibration, and posteriors that can be summed."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import chisquare

from bayescm.inference import gibbs

BINS = 10


def assert_uniform(ranks, of):
    """Check that ranks 0 to ``of`` are uniform (simulation-based calibration)."""
    number = np.bincount(ranks * BINS // (of + 1), minlength=BINS)
    assert chisquare(number).pvalue > 1e-3


def ranks_of_weights(prior, *, wrong=1.0):
    """Return ranks of the first weight of 200 data sets from the prior among 49 draws of each."""
    rng = np.random.default_rng(11)
    rates = np.linspace(0.05, 0.95, len(prior))
    likelihood = np.stack([1 - rates, rates])  # two kinds: a miss and a hit
    weights = rng.dirichlet(prior, 200)
    hits = rng.binomial(12, weights @ rates)
    counts = np.stack([12 - hits, hits], axis=-1)

    draws = gibbs.mixture_weights(likelihood, counts, prior * wrong, 49, rng, burn=40)
    return (draws @ rates < weights @ rates).sum(0)


@pytest.mark.long
@pytest.mark.parametrize("prior", [np.full(3, 1.0), np.array([0.8, 1.5, 0.7, 0.6])])
def test_weights_of_many_data_sets_are_calibrated(prior):
    assert_uniform(ranks_of_weights(prior), 49)


@pytest.mark.long
def test_calibration_sees_another_prior():
    with pytest.raises(AssertionError):
        assert_uniform(ranks_of_weights(np.full(3, 1.0), wrong=8.0), 49)


@pytest.mark.long
def test_one_data_set_is_the_same_within_many():
    likelihood = np.array([[0.9, 0.2, 0.5], [0.1, 0.8, 0.5]])
    counts = np.array([[3, 1], [40, 60]])
    rng = np.random.default_rng(1)
    together = gibbs.mixture_weights(likelihood, counts, np.ones(3), 4000, rng, burn=30)
    for place, each in enumerate(counts):
        alone = gibbs.mixture_weights(likelihood, each, np.ones(3), 4000, rng, burn=30)
        error = np.hypot(alone.std(0), together[:, place].std(0)) / 4000**0.5
        assert (np.abs(alone.mean(0) - together[:, place].mean(0)) < 5 * error).all()


def test_thinned_chains_have_the_posterior_of_short_ones():
    likelihood, counts = np.array([[0.8, 0.3], [0.2, 0.7]]), np.array([13, 22])
    rng = np.random.default_rng(2)
    draws = gibbs.mixture_weights(
        likelihood, counts, np.ones(2), 8000, rng, burn=50, chains=400, thin=5
    )
    at = (np.arange(2000) + 0.5) / 2000
    mass = (at * 0.8 + (1 - at) * 0.3) ** 13 * (at * 0.2 + (1 - at) * 0.7) ** 22
    mass /= mass.sum()
    assert draws[:, 0].mean() == pytest.approx(mass @ at, abs=0.01)
    assert draws[:, 0].std() == pytest.approx((mass @ at**2 - (mass @ at) ** 2) ** 0.5, rel=0.04)


@pytest.mark.long
def test_latent_classes_of_few_examples_are_summed():
    """Against the sum over all classes of all examples, in which the parameters integrate out."""
    votes = np.eye(2)[np.array([[0, 0, 1, 1], [0, 1, 0, 1]])]  # of two raters, four patterns
    examples = np.array([0, 0, 0, 1, 2, 3, 3])
    prior = np.array([[[6.0, 1.5], [1.0, 4.0]], [[5.0, 1.0], [2.0, 4.0]]])
    mean, total = 0.0, 0.0
    for truth in product(range(2), repeat=len(examples)):
        classes = np.eye(2)[list(truth)]
        cells = prior + np.einsum("nc,rnj->rcj", classes, votes[:, examples])
        logs = (gammaln(cells).sum(-1) - gammaln(cells.sum(-1))).sum() + gammaln(
            1 + classes.sum(0)
        ).sum()
        total += np.exp(logs)
        mean = mean + np.exp(logs) * (1 + classes.sum(0)[1]) / (2 + len(examples))
    rng = np.random.default_rng(4)
    prevalence, rates, correlation = gibbs.latent_class(
        votes, np.bincount(examples), prior, 8000, rng, burn=60, chains=400, thin=5
    )
    assert prevalence[:, 0, 1].mean() == pytest.approx(mean / total, abs=0.01)
    assert rates.shape == (8000, 2, 2, 2)
    assert abs(correlation) < 0.25


@pytest.mark.long
def test_latent_classes_are_calibrated():
    rng, ranks = np.random.default_rng(5), []
    prior = np.array([[4.0, 1.0], [1.5, 6.0]])
    patterns = np.eye(2)[np.stack(np.meshgrid(*[np.arange(2)] * 3), -1).reshape(-1, 3).T]
    for _ in range(60):
        prevalence = rng.dirichlet(np.ones(2))
        rates = rng.dirichlet(prior[0], 3), rng.dirichlet(prior[1], 3)
        rates = np.stack(rates, axis=1)
        truth = rng.random(25) < prevalence[1]
        answers = rng.random((3, 25)) < rates[:, truth.astype(int), 1]
        counts = np.bincount(
            (patterns[:, :, 1][..., None] == answers[:, None]).all(0).argmax(0), minlength=8
        )
        draws, _, _ = gibbs.latent_class(
            patterns, counts, prior, 59, rng, burn=40, chains=59, thin=1
        )
        ranks.append((draws[:, 0, 1] < prevalence[1]).sum())
    assert_uniform(np.array(ranks), 59)


def test_rates_outside_the_support_are_not_drawn():
    votes, counts = np.eye(2)[np.array([[0, 1]] * 3)], np.array([5, 5])
    start = np.full((1, 2), 0.5), np.tile([[0.8, 0.2], [0.2, 0.8]], (3, 1, 1))
    _, rates, _ = gibbs.latent_class(
        votes, counts, np.ones((2, 2)), 400, np.random.default_rng(1), burn=20, chains=100, thin=2,
        start=start, support=lambda rates: rates[:, 0, 0, 0] > 0.5,
    )  # fmt: skip
    assert (rates[:, 0, 0, 0] > 0.5).all()
    assert rates[:, 1, 0, 0].min() < 0.5
