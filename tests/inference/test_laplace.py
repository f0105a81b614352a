"""Laplace's method on a grid of scales, beside posteriors known in closed form."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_normal

from bayescm.inference import laplace

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
    return laplace.at_scales(SCALES, np.zeros(3), derivatives, log_density)


def test_a_normal_model_is_exact_at_every_scale():
    modes, factors, weights = approximation()
    covariance = np.eye(3) / (1 + SCALES[:, None, None] ** 2)
    np.testing.assert_allclose(factors @ factors.swapaxes(1, 2), covariance, atol=1e-12)
    np.testing.assert_allclose(modes, Y * (SCALES / (1 + SCALES**2))[:, None], atol=1e-6)
    marginal = [multivariate_normal.logpdf(Y, cov=np.eye(3) * (1 + s**2)) for s in SCALES]
    known = np.array(marginal) - SCALES + np.log(SCALES)
    np.testing.assert_allclose(weights, known - logsumexp(known), atol=1e-10)


def test_draws_of_a_normal_model_are_all_worth_the_same():
    effects, scale, efficiency = laplace.draw(
        SCALES, approximation(), log_density, 20_000, np.random.default_rng(1)
    )
    assert efficiency == pytest.approx(1)
    share = np.exp(approximation()[2])
    assert scale.mean() == pytest.approx(share @ SCALES, abs=0.03)
    known = share @ (SCALES / (1 + SCALES**2))
    np.testing.assert_allclose(effects.mean(axis=0), Y * known, atol=0.03)


def test_newton_is_damped_where_its_steps_overshoot():
    # Far from the mode of a logit the curvature is next to nil: undamped steps go to and fro.
    def at(x):
        truth = expit(x)
        return 2 - 20 * truth - 1e-3 * x, (20 * truth * (1 - truth) + 1e-3)[:, None]

    point, hessian = laplace.mode(np.array([15.0]), at)
    np.testing.assert_allclose(at(point)[0], 0, atol=1e-6)
    np.testing.assert_allclose(hessian, at(point)[1], rtol=1e-5)
