"""Log densities agree with scipy.stats, which is too slow to import for them."""

import numpy as np
from scipy import stats

from bayescm.distributions.log_densities import (
    log_beta_binomial,
    log_binomial,
    log_half_normal,
    log_half_student_t2,
)

SPREADS = np.array([0.0, 1e-3, 0.7, 40.0])


def test_priors_of_spreads():
    got = log_half_normal(SPREADS, 0.3)
    np.testing.assert_allclose(got, stats.halfnorm.logpdf(SPREADS, scale=0.3), rtol=1e-12)
    expected = np.log(2) + stats.t.logpdf(SPREADS, 2, scale=0.3)
    np.testing.assert_allclose(log_half_student_t2(SPREADS, 0.3), expected, rtol=1e-12)


def test_numbers_of_successes():
    k = np.arange(31)
    for p in (0.0, 0.2, 1.0):
        got = np.exp(log_binomial(k, 30, p))
        np.testing.assert_allclose(got, stats.binom.pmf(k, 30, p), rtol=1e-10, atol=1e-300)
    got = log_beta_binomial(k, 30, 0.5, 2.5)
    np.testing.assert_allclose(got, stats.betabinom.logpmf(k, 30, 0.5, 2.5), rtol=1e-10)
