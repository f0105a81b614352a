"""Bridge sampling: the integrals of densities that are known, their errors, and chains in parts."""

import numpy as np
import pytest
from scipy import special, stats

from bayescm.inference.bridge_sampling import Estimate, bridge_sampling

COVARIANCE = np.array([[2.0, 1.2, 0.0], [1.2, 1.0, -0.3], [0.0, -0.3, 4.0]])


def log_normal_density(x):
    """Return a normal density times 7."""
    return stats.multivariate_normal([3, 0, -9], COVARIANCE).logpdf(x) + np.log(7)


def log_gamma_density(x, shape=0.3):
    """Return the densities of logarithms of gamma variates, which are skewed, without norms."""
    return (shape * x - np.exp(x)).sum(-1)


def normal_draws(rng, n=600, *, correlation=0.0):
    """Return four chains of autoregressive draws of the normal distribution."""
    noise = rng.standard_normal((4, n, 3)) @ np.linalg.cholesky(COVARIANCE).T
    for step in range(1, n):
        noise[:, step] *= np.sqrt(1 - correlation**2)
        noise[:, step] += correlation * noise[:, step - 1]
    return noise + np.array([3, 0, -9])


def gamma_draws(rng, n=600, shape=0.3):
    return np.log(rng.standard_gamma(shape, (4, n, 3)))


CASES = {
    "normal": (normal_draws, log_normal_density, np.log(7)),
    "normal, autocorrelated": (
        lambda rng: normal_draws(rng, correlation=0.95),
        log_normal_density,
        np.log(7),
    ),
    "skewed": (gamma_draws, log_gamma_density, 3 * special.gammaln(0.3)),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_integrals_are_known_within_their_errors(case):
    draw, log_density, known = CASES[case]
    scores, errors = [], []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        found = bridge_sampling(draw(rng), log_density, rng)
        assert found.chains_agree
        errors.append(found.error)
        scores.append((found.log_marginal_likelihood - known) / max(found.error, 1e-12))
    assert max(errors) < 0.2
    if case == "normal":  # the proposal is nearly the density itself
        assert max(errors) < 0.01
    assert np.abs(scores).max() < 4
    assert np.mean(np.square(scores)) < 2


def test_correlated_draws_have_larger_errors():
    independent, repeated = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        independent.append(bridge_sampling(gamma_draws(rng), log_gamma_density, rng).errors)
        tenfold = np.repeat(gamma_draws(rng, 60), 10, axis=1)
        repeated.append(bridge_sampling(tenfold, log_gamma_density, rng).errors)
    # Only the errors of the posterior draws grow, not those of the proposals.
    assert np.mean(repeated) > 1.25 * np.mean(independent)


def test_a_density_of_another_size_is_seen():
    rng = np.random.default_rng(3)
    found = bridge_sampling(normal_draws(rng), lambda x: log_normal_density(x) + 0.1, rng)
    assert found.log_marginal_likelihood - np.log(7) == pytest.approx(0.1, abs=0.03)


@pytest.mark.long
def test_chains_that_are_stuck_in_modes_of_different_mass_disagree():
    masses, at = np.array([0.9, 0.1]), np.array([-8.0, 8.0])

    def log_density(x):
        return special.logsumexp(stats.norm(at).logpdf(x), axis=-1, b=masses)

    rng = np.random.default_rng(4)
    stuck = rng.standard_normal((4, 800, 1)) + at[[0, 0, 1, 1], None, None]
    assert not bridge_sampling(stuck, log_density, rng).chains_agree
    alone = rng.standard_normal((4, 800, 1)) + at[[0, 0, 0, 1], None, None]
    with pytest.raises(ValueError, match="A chain does not overlap with the other"):
        bridge_sampling(alone, log_density, rng)
    mixed = rng.standard_normal((4, 800, 1)) + rng.choice(at, (4, 800, 1), p=masses)
    found = bridge_sampling(mixed, log_density, rng)
    assert found.chains_agree
    assert abs(found.log_marginal_likelihood) < 4 * found.error


def test_chains_agree_up_to_their_errors():
    assert Estimate(np.array([1.0, 1.1, 0.95]), np.full(3, 0.01)).chains_agree  # within 0.2 nats
    assert Estimate(np.array([1.0, 1.6, 0.7]), np.full(3, 0.4)).chains_agree
    apart = Estimate(np.array([1.0, 1.6, 0.7]), np.full(3, 0.05))
    assert not apart.chains_agree
    assert apart.error == pytest.approx(np.std([1.0, 1.6, 0.7], ddof=1) / np.sqrt(3))


def test_bad_draws_are_named():
    rng = np.random.default_rng(5)
    draws = normal_draws(rng, 50)
    with pytest.raises(ValueError, match="Bridge sampling needs two or more chains"):
        bridge_sampling(draws[:1], log_normal_density, rng)
    with pytest.raises(ValueError, match="not positive definite"):
        bridge_sampling(draws[..., [0, 0]], log_gamma_density, rng)
    with pytest.raises(ValueError, match="not finite at a draw"):
        bridge_sampling(draws, lambda x: np.where(x[:, 0] > 3, 0, -np.inf), rng)
