"""The Bayesian bootstrap: means vary as the formulas say."""

import numpy as np
import pytest

from bayescm.inference import bayesian_bootstrap


@pytest.mark.parametrize(
    ("shape", "variance"),
    [
        (bayesian_bootstrap.unbiased_shape, lambda n: 1 / n),
        (bayesian_bootstrap.student_shape, lambda n: (n - 1) / (n * (n - 3))),
        (lambda n: 1.0, lambda n: (n - 1) / (n * (n + 1))),
    ],
)
def test_means_vary_as_said(shape, variance):
    rng, number = np.random.default_rng(1), 12
    values = rng.random(number)
    values /= values.std(ddof=1)
    weights = bayesian_bootstrap.gamma_weights(np.full(number, shape(number)), 100_000, rng)
    means = weights @ values / weights.sum(axis=1)
    # A variance by 100,000 draws errs by half a percent.
    assert means.var() == pytest.approx(variance(number), rel=0.02)


def test_examples_counted_twice_are_two():
    rng = np.random.default_rng(2)
    single = bayesian_bootstrap.gamma_weights(np.array([1.0, 1, 1, 2, 0.5]), 50_000, rng)
    np.testing.assert_allclose(single.mean(0), [1, 1, 1, 2, 0.5], rtol=0.03)
    np.testing.assert_allclose(single.var(0), [1, 1, 1, 2, 0.5], rtol=0.06)


def test_shares_of_a_stratum_add_up_to_its_share():
    rng = np.random.default_rng(3)
    stratum = np.array([0, 1, 1, 2, 2, 2])
    of_stratum = rng.dirichlet(np.ones(3), 50)
    shares = bayesian_bootstrap.stratified_shares(stratum, np.ones(6), of_stratum, 50, rng)
    for each in range(3):
        np.testing.assert_allclose(shares[:, stratum == each].sum(1), of_stratum[:, each])
