"""The default accuracy: ends of intervals to 1e-4 of their length, probabilities to more digits."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.distributions.preintegration import FunctionOfDirichlet
from bayescm.distributions.quadrature import FunctionOfShares

TABLES = {
    "ordinary": [[30, 35], [15, 65]],
    "small": [[4, 1], [0, 3]],
    "unbalanced": [[900, 40], [3, 12]],
    "large": [[41_000, 2_300], [1_700, 9_000]],
}
# Kappa of the small table has the code of kappa in the quick suite.
PAIRS = [
    *((table, "mcc") for table in TABLES),
    ("small", "cohen_kappa"),
    *(
        pytest.param(table, "cohen_kappa", marks=pytest.mark.long)
        for table in TABLES
        if table != "small"
    ),
]
TAILS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]


def _distribution(table, measure):
    counts = bcm.from_matrix(TABLES[table], positive=1)
    return bcm.posteriors.dirichlet_multinomial(counts).distribution(bcm.measures.resolve(measure))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["hdi", "eti"])
@pytest.mark.parametrize(("table", "measure"), PAIRS)
def test_ends_are_good_to_the_default_accuracy_and_the_error_says_so(table, measure, kind):
    distribution = _distribution(table, measure)
    assert isinstance(distribution, FunctionOfShares)
    ends, error = distribution.interval_with_error(0.95, kind)
    accurate = distribution.with_tolerance(1e-9)
    reference, _ = accurate.interval_with_error(0.95, kind)
    length = np.ptp(reference)
    assert (np.abs(ends - reference) <= error + 1e-9 * length).all()
    assert (error <= 1e-4 * length).all()
    assert (error > 1e-9 * length).all()  # it is not as accurate as if 1e-9 were requested


@pytest.mark.long
@pytest.mark.parametrize(("table", "measure"), PAIRS)
def test_tails_keep_their_ratio(table, measure):
    distribution = _distribution(table, measure)
    accurate = distribution.with_tolerance(1e-9)
    lower, upper = accurate.quantile(TAILS), accurate.quantile(1 - np.array(TAILS))
    np.testing.assert_allclose(distribution.cdf(lower) / accurate.cdf(lower), 1, rtol=5e-3)
    np.testing.assert_allclose(distribution.sf(upper) / accurate.sf(upper), 1, rtol=5e-3)
    np.testing.assert_allclose(accurate.cdf(lower) / TAILS, 1, rtol=5e-3)


def test_a_coarse_accuracy_leaves_probabilities_as_they_are():
    distribution = _distribution("ordinary", "mcc")
    x = np.linspace(*distribution.quantile([1e-6, 1 - 1e-6]), 7)
    coarse = distribution.with_tolerance(1e-3)
    np.testing.assert_array_equal(coarse.cdf(x), distribution.cdf(x))
    np.testing.assert_array_equal(coarse.sf(x), distribution.sf(x))


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES)
def test_quantiles_are_good_to_a_part_of_the_local_spread(table):
    distribution = _distribution(table, "mcc")
    q = np.array([0.001, 0.05, 0.5, 0.95, 0.999])
    accurate = distribution.with_tolerance(1e-9)
    spread = accurate.sd()
    assert (np.abs(distribution.quantile(q) - accurate.quantile(q)) < 4e-4 * spread).all()


@pytest.mark.long
@pytest.mark.parametrize("change", [0, 8])
def test_an_expected_loss_is_the_integral_of_the_distribution_function(change):
    def difference_of_f1(cells):
        tp, fn, fp = cells[:, [0, 4]], cells[:, [1, 5]], cells[:, [2, 6]]
        f1 = 2 * tp / (2 * tp + fn + fp)
        return f1[:, 1] - f1[:, 0]

    first = np.array([42.5, 10.5, 8.5, 40.5])
    second = first + change * np.array([1, -0.8, 0, 0])
    distribution = FunctionOfDirichlet([first, second], difference_of_f1, (-1.0, 1.0))
    ends = np.append(distribution.quantile([1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.3]), 0.0)
    ends = np.append(ends[ends < 0], 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(32)
    half = np.diff(ends)[:, None] / 2
    at = ends[:-1, None] + half * (1 + nodes)
    integral = (half * weights * distribution.cdf(at)).sum()
    assert distribution.expected_loss() == pytest.approx(integral, abs=1e-4 * distribution.sd())
