"""A normal distribution on the scale of a link: scipy's logit-normal, log-normal and normal."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit, logit

from bayescm.distributions.transformed_normal import TransformedNormal

BOUNDS = {"log odds": (0, 1), "log": (0, np.inf), "identity": (-np.inf, np.inf)}
MU, SIGMA = np.array([-1.0, 0.2, 2.0]), np.array([0.3, 0.8, 1.0])


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
def test_cdf_quantile_and_density_agree(bounds):
    distribution = TransformedNormal(MU, SIGMA, bounds)
    q = np.array([0.001, 0.3, 0.5, 0.999])[:, None]
    x = distribution.quantile(q)
    np.testing.assert_allclose(distribution.cdf(x), np.broadcast_to(q, x.shape), rtol=1e-9)
    np.testing.assert_allclose(distribution.sf(x), 1 - distribution.cdf(x), rtol=1e-9)
    step = 1e-5 * np.maximum(np.abs(x), 1) * distribution.pdf(x)
    slope = (distribution.cdf(x + step) - distribution.cdf(x - step)) / (2 * step)
    np.testing.assert_allclose(distribution.pdf(x), slope, rtol=1e-4)
    beyond = [bounds[0] - 1, bounds[1] + 1]
    np.testing.assert_array_equal([distribution.cdf(x) for x in beyond], [[0] * 3, [1] * 3])


def test_the_log_normal_and_the_normal_are_those_of_scipy():
    log, plain = (TransformedNormal(MU, SIGMA, BOUNDS[link]) for link in ("log", "identity"))
    peer = stats.lognorm(s=SIGMA, scale=np.exp(MU))
    np.testing.assert_allclose(log.mean(), peer.mean(), rtol=1e-6)
    np.testing.assert_allclose(log.sd(), peer.std(), rtol=1e-5)
    np.testing.assert_allclose(log.pdf(2.0), peer.pdf(2.0))
    np.testing.assert_allclose(plain.mean(), MU, atol=1e-9)
    np.testing.assert_allclose(plain.hdi(0.9), plain.eti(0.9), atol=1e-5)


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
def test_the_highest_density_interval_has_equal_densities_and_the_mass(bounds):
    distribution = TransformedNormal(MU, SIGMA, bounds)
    low, high = distribution.hdi(0.9).T
    np.testing.assert_allclose(distribution.cdf(high) - distribution.cdf(low), 0.9, rtol=1e-6)
    np.testing.assert_allclose(distribution.pdf(low), distribution.pdf(high), rtol=1e-3)


def test_the_mean_of_the_logit_normal_is_its_integral():
    distribution = TransformedNormal(np.array(2.0), np.array(1.0), (0, 1))
    want, _ = integrate.quad(lambda z: expit(2 + z) * stats.norm.pdf(z), -9, 9)
    assert float(distribution.mean()) == pytest.approx(want, rel=1e-6)
    assert float(distribution.quantile(0.5)) == pytest.approx(expit(2.0))
    assert float(distribution.cdf(0.5)) == pytest.approx(stats.norm.cdf(logit(0.5) - 2))
