"""The nested Laplace approximation, compared with posteriors known in closed form."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from bayescm.inference import nested_laplace

SCALES = np.geomspace(0.05, 5, 40)
Y = np.array([1.4, -0.3, 2.2])


def log_density(effects, scale):
    """Return the log density of normal effects b, of y ~ N(s b, 1) and of s ~ Exponential(1)."""
    return -(((Y - scale[:, None] * effects) ** 2 + effects**2).sum(axis=1)) / 2 - scale


def derivatives(scale):
    def at(effects):
        gradient = scale * (Y - scale * effects) - effects
        return gradient, (1 + scale**2) * np.eye(len(Y))

    return at


def approximation():
    return nested_laplace.on_grid(SCALES, np.zeros(3), derivatives, log_density)


def test_a_normal_model_is_exact_at_every_scale():
    at_scales = approximation()
    factors = at_scales.factors
    covariance = np.eye(3) / (1 + SCALES[:, None, None] ** 2)
    np.testing.assert_allclose(factors @ factors.swapaxes(1, 2), covariance, atol=1e-12)
    np.testing.assert_allclose(at_scales.modes, Y * (SCALES / (1 + SCALES**2))[:, None], atol=1e-6)
    marginal = [multivariate_normal.logpdf(Y, cov=np.eye(3) * (1 + s**2)) for s in SCALES]
    known = np.array(marginal) - SCALES + np.log(SCALES)
    np.testing.assert_allclose(at_scales.log_density, known - logsumexp(known), atol=1e-10)


def test_draws_of_a_normal_model_are_all_worth_the_same():
    effects, scale, efficiency = approximation().draw(log_density, 20_000, np.random.default_rng(1))
    assert efficiency == pytest.approx(1)
    share = approximation().probabilities
    assert scale.mean() == pytest.approx(share @ SCALES, abs=0.03)
    known = share @ (SCALES / (1 + SCALES**2))
    np.testing.assert_allclose(effects.mean(axis=0), Y * known, atol=0.03)


def test_two_scales_have_the_measure_of_both():
    # The second scale has no effect on the data and the density 1 / s of a flat density of log s.
    first, second = np.meshgrid(np.geomspace(0.05, 5, 20), np.geomspace(0.1, 10, 5), indexing="ij")
    grid = np.stack([first.ravel(), second.ravel()], axis=1)
    two = nested_laplace.on_grid(
        grid,
        np.zeros(3),
        lambda scales: derivatives(scales[0]),
        lambda effects, scales: log_density(effects, scales[:, 0]) - np.log(scales[:, 1]),
    )
    probabilities = two.probabilities.reshape(first.shape)
    np.testing.assert_allclose(probabilities, probabilities[:, :1].repeat(5, axis=1))
    _, scales, efficiency = two.draw(
        lambda effects, scales: log_density(effects, scales[:, 0]) - np.log(scales[:, 1]),
        5000,
        np.random.default_rng(2),
    )
    assert scales.shape == (5000, 2)
    assert efficiency == pytest.approx(1)


def test_heavier_tails_are_corrected_by_their_weights():
    at_scales, size = approximation(), 40_000
    rng = np.random.default_rng(3)
    index = rng.choice(len(SCALES), size, p=at_scales.probabilities)
    effects, log_proposal = at_scales.propose(index, rng, freedom=4.0)
    scales = SCALES[index]
    logs = log_density(effects, scales) + np.log(scales) - log_proposal
    weights = np.exp(logs - logsumexp(logs))
    known = at_scales.probabilities @ (SCALES / (1 + SCALES**2))
    np.testing.assert_allclose(weights @ effects, Y * known, atol=0.03)
    # Without the weights the spread would be larger by a factor of sqrt(freedom / (freedom - 2)).
    variance = weights @ effects**2 - (weights @ effects) ** 2
    unweighted = effects.var(axis=0)
    assert (unweighted > 1.3 * variance).all()
