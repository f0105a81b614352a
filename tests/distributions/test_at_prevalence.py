"""Measures at a prevalence against integrals over the recall that are written here once more."""

import numpy as np
import pytest
from scipy import special, stats

from bayescm import measures
from bayescm.posteriors import fixed_totals

LEVELS = np.array([0.001, 0.025, 0.1, 0.5, 0.9, 0.97, 0.975, 0.98, 0.99, 0.999])
PRIOR = 0.5


def distribution(name, cells, prevalence, prior=PRIOR):
    posterior = fixed_totals(cells, prevalence=prevalence, concentration=prior)
    return posterior.distribution(measures.resolve(name))


def beyond(name, x, cells, prevalence):
    """
    Return the probability that precision or overlap is above x, by Gauss-Legendre panels.

    At a recall r the precision is above x where the false positive rate is below
    p r (1 - x) / ((1 - p) x); the overlap, the larger of precision and recall, is so where r is,
    too. The panels lie in the normal score of the recall, and one ends where it is x.
    """
    (tn, fp), (fn, tp) = np.add(cells, PRIOR)
    score = np.clip(special.ndtri(special.betainc(tp, fn, x)), -8, 8)
    edges = np.union1d(np.linspace(-8, 8, 161), score)
    points, rule = np.polynomial.legendre.leggauss(10)
    half = np.diff(edges)[:, None] / 2
    z = edges[:-1, None] + half * (1 + points)
    recall = stats.beta.ppf(special.ndtr(z), tp, fn)
    odds = prevalence / (1 - prevalence) * (1 - x) / x
    above = special.betainc(fp, tn, np.minimum(recall * odds, 1))
    if name == "overlap":
        above = np.where(recall > x, 1.0, above)
    return float((above * half * rule * stats.norm.pdf(z)).sum())


def tables(size, seed):
    """Return random tables of 3 to 3,000 of each class, four in ten without a false alarm."""
    rng = np.random.default_rng(seed)
    for _ in range(size):
        negatives, positives = (10 ** rng.uniform(0.5, 3.5, 2)).astype(int)
        fp = rng.binomial(negatives, rng.choice([0.0, 0.0, 0.01, 0.05, 0.2]))
        fn = rng.binomial(positives, rng.choice([0.0, 0.1, 0.3, 0.5]))
        prevalence = 10 ** rng.uniform(-3, np.log10(0.5))
        yield np.array([[negatives - fp, fp], [fn, positives - fn]]), float(prevalence)


CASES = list(tables(10, 7))


@pytest.mark.long
@pytest.mark.parametrize("name", ["precision", "overlap"])
@pytest.mark.parametrize(("cells", "prevalence"), CASES)
def test_quantiles_have_their_mass_below_them(name, cells, prevalence):
    """Few false positives or none once made many upper quantiles 1, or their order wrong."""
    quantiles = distribution(name, cells, prevalence).quantile(LEVELS)
    assert (np.diff(quantiles) >= 0).all()
    tails = [beyond(name, x, cells, prevalence) for x in quantiles]
    # Nearer to 1 than 1e-8 a bound keeps too few digits of what is missing to 1 for such a check.
    far = quantiles < 1 - 1e-8
    np.testing.assert_allclose(np.array(tails)[far], (1 - LEVELS)[far], rtol=1e-3, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(("cells", "prevalence"), CASES[:4])
def test_precision_is_one_less_its_complement(cells, prevalence):
    for prob in (0.5, 0.95, 0.999):
        low, high = distribution("precision", cells, prevalence).eti(prob)
        false = distribution("fdr", cells, prevalence).eti(prob)
        np.testing.assert_allclose([low, high], 1 - false[::-1], atol=3e-6)


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), [("precision", "hdi"), ("overlap", "eti")])
def test_batches_at_a_prevalence_are_their_members(name, kind):
    cells = np.array(
        [[[61, 0], [7, 33]], [[212, 1], [4, 80]], [[9, 0], [0, 14]], [[40, 6], [3, 9]]]
    )
    batch = distribution(name, cells, 0.02).interval_with_error(0.95, kind)[0]
    alone = [distribution(name, one, 0.02).interval_with_error(0.95, kind)[0] for one in cells]
    np.testing.assert_allclose(batch, alone, atol=4e-6)


@pytest.mark.long
@pytest.mark.parametrize("prevalence", [(2.0, 5.0), (30.0, 700.0)])
@pytest.mark.parametrize("name", ["overlap", "lift"])
def test_uncertain_prevalence_without_false_positives(name, prevalence):
    rng, size = np.random.default_rng(3), 100_000
    recall, alarm = rng.beta(28.5, 3.5, size), rng.beta(0.5, 74.5, size)
    p = rng.beta(*prevalence, size)
    table = np.moveaxis(
        [[(1 - p) * (1 - alarm), (1 - p) * alarm], [p * (1 - recall), p * recall]], -1, 0
    )
    drawn = measures.resolve(name)(table)
    found = distribution(name, [[74, 0], [3, 28]], prevalence).quantile(LEVELS)
    assert (np.diff(found) >= 0).all()
    below = (drawn[:, None] <= found).mean(axis=0)
    # Five standard errors of 100,000 draws.
    assert (np.abs(below - LEVELS) <= 5 * np.sqrt(LEVELS * (1 - LEVELS) / size)).all()


def test_an_end_of_the_support_is_no_quantile_unless_the_mass_says_so():
    of_precision = distribution("precision", [[83, 2], [4, 31]], 0.05)
    low, high = of_precision.quantile([0.025, 0.975])
    assert 0 < low < high < 1
    assert of_precision.cdf(np.nextafter(1, 0)) == pytest.approx(1, abs=1e-12)
    np.testing.assert_array_equal(of_precision.quantile([0.0, 1.0]), [0, 1])


def test_a_quantile_that_is_rounded_to_an_end_stands_there():
    """With a hundredth of an example as the prior much of the mass is above 1 - 1e-17."""
    of_precision = distribution("precision", [[38, 0], [9, 44]], 0.02, prior=0.01)
    of_precision = of_precision.with_tolerance(1e-6)
    ends, error = of_precision.interval_with_error(0.95, "eti")
    assert (ends[1], error[1]) == (1, 0)
    assert of_precision.how == "quadrature"
    of_others = distribution("fdr", [[38, 0], [9, 44]], 0.02, prior=0.01).with_tolerance(1e-6)
    assert of_others.cdf(1e-17) > 0.025
    assert ends[0] == pytest.approx(1 - of_others.quantile(0.975), abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_overlap_next_to_one_is_a_number(kind):
    """Once infinite log odds among the draws made NaN of its upper end."""
    ends, error = distribution(
        "overlap", [[52, 0], [31, 640]], 0.004, prior=0.001
    ).interval_with_error(0.999, kind)
    assert 0 < ends[0] < ends[1] <= 1
    assert np.isfinite(error).all()


@pytest.mark.long
@pytest.mark.parametrize(
    ("cells", "prevalence"),
    [([[4, 0], [4, 6]], 0.15), ([[12, 0], [7, 9]], 0.2), ([[3, 0], [2, 4]], 0.3)],
)
def test_markedness_above_the_share_of_negatives(cells, prevalence):
    """Next to no false alarm digits once cancelled, and quantiles had 0.0005 too much below."""
    of_markedness = distribution("markedness", cells, prevalence)
    quantiles = of_markedness.quantile(LEVELS)
    below = [distribution("markedness", cells, prevalence).cdf(x) for x in quantiles]
    np.testing.assert_allclose(below, LEVELS, atol=2e-6)


@pytest.mark.parametrize("name", ["mcc", "cohen_kappa", "markedness"])
def test_rates_of_large_counts_leave_the_prevalence(name):
    """Once a quarter of the length was stated as the error: the rates are steps beside it."""
    cells = [[87805, 20], [764812, 1328620]]
    posterior = fixed_totals(cells, concentration=0.5, prevalence=(21, 6.6))
    of_measure = posterior.distribution(measures.resolve(name)).with_tolerance(1e-6)
    ends, error = of_measure.interval_with_error(0.95, "eti")
    assert (error < 1e-6 * np.ptp(ends)).all()
    values = posterior.draw([measures.resolve(name)], 100_000, np.random.default_rng(0))[0]
    tails = (values < ends[0]).mean(), (values > ends[1]).mean()
    assert tails == pytest.approx((0.025, 0.025), abs=0.002)
