"""EM beside other optimisers, and where it must stand still."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from bayescm.inference import em

RNG = np.random.default_rng(3)
LIKELIHOOD = RNG.dirichlet(np.ones(6), 3).T  # of six kinds under three components
COUNTS = np.array([12.0, 30, 5, 0, 9, 21])


def log_density(weights, pseudo_counts):
    return COUNTS @ np.log(LIKELIHOOD @ weights) + pseudo_counts @ np.log(weights)


def test_weights_of_known_components_are_those_of_a_general_optimiser():
    pseudo_counts = np.array([0.5, 2.0, 1.0])
    result = minimize(lambda x: -log_density(softmax(x), pseudo_counts), np.zeros(3), tol=1e-10)
    weights = em.mixture_weights(LIKELIHOOD, COUNTS, pseudo_counts, steps=2000)
    np.testing.assert_allclose(weights, softmax(result.x), atol=1e-5)


def test_a_batch_of_data_sets_is_its_members():
    likelihood = RNG.random((4, 6, 3))
    counts = RNG.integers(0, 9, (4, 6)).astype(float)
    together = em.mixture_weights(likelihood, counts, 0.5, steps=50)
    apart = [
        em.mixture_weights(*each, 0.5, steps=50) for each in zip(likelihood, counts, strict=True)
    ]
    np.testing.assert_allclose(together, apart)


def test_nothing_observed_leaves_the_weights_even():
    weights = em.mixture_weights(LIKELIHOOD, np.zeros((2, 6)), steps=5)
    np.testing.assert_allclose(weights, 1 / 3)


def test_rates_and_prevalence_of_latent_classes_stand_still_at_their_mode():
    votes = np.stack(np.meshgrid(*[np.arange(2)] * 4, indexing="ij"), -1).reshape(-1, 4).T
    votes = np.eye(2)[votes]  # of four raters, all patterns of yes and no
    truth = np.array([0.3, 0.7])
    right = np.array([[0.9, 0.8], [0.7, 0.95], [0.85, 0.75], [0.8, 0.9]])
    rates = np.stack([np.stack([r, 1 - r], -1) if c == 0 else np.stack([1 - r, r], -1)
                      for c, r in enumerate(right.T)], axis=1)  # fmt: skip
    likelihood = np.exp(em.log_likelihood(rates[None], votes)[0])
    counts = 1e4 * likelihood @ truth  # as many as the model expects: its rates are the mode
    start = votes.sum(0) / votes.sum((0, 2))[:, None]
    prevalence, found = em.latent_class(votes, counts, start)
    np.testing.assert_allclose(prevalence, truth[None], atol=1e-4)
    np.testing.assert_allclose(found, rates, atol=1e-4)
