"""The number needed to diagnose is exactly the reciprocal of Youden's J, and infinite below 0."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.distributions.reciprocal import Reciprocal
from bayescm.measures import catalogue
from bayescm.posteriors import dirichlet_multinomial

TABLES = {
    "useful": (65, 15, 35, 30),
    "weak": (40, 10, 30, 20),
    "chance": (5, 3, 4, 4),
    "harmful": (0, 9, 3, 1),
    "perfectly": (50, 0, 0, 50),
}


def posterior_of(table):
    tp, fn, fp, tn = table
    return dirichlet_multinomial([[tn, fp], [fn, tp]])


def number_needed(table):
    number = posterior_of(table).distribution(catalogue.number_needed_to_diagnose)
    return number.with_tolerance(1e-6)


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_probabilities_and_quantiles_are_those_of_youdens_j(table):
    youden, number = posterior_of(table).distribution(catalogue.informedness), number_needed(table)
    assert isinstance(number, Reciprocal)
    x = np.array([1.05, 1.5, 4.0, 30.0, np.inf])
    np.testing.assert_allclose(number.sf(x[:-1]), youden.cdf(1 / x[:-1]))
    assert (number.cdf(np.inf), number.sf(np.inf), number.cdf(0.5), number.sf(-1)) == (1, 0, 0, 1)
    np.testing.assert_allclose(number.mass_at(x), [0, 0, 0, 0, youden.cdf(0.0)])
    for q in (0.1, 0.5, 0.9):
        at = number.quantile(q)
        assert np.isinf(at) if q > 1 - youden.cdf(0.0) else number.cdf(at) == pytest.approx(q)


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("prob", [0.5, 0.95])
def test_the_shortest_interval_has_the_mass_and_no_shorter_one_has(table, prob):
    number = number_needed(table)
    (low, high), kind = number.hdi(prob), number.hdi_kind(prob).item()
    at_infinity = number.mass_at(np.inf)
    if at_infinity >= 1 - prob:
        assert (high, kind) == (np.inf, "one-sided upper")
        assert low == np.inf or number.sf(low) == pytest.approx(prob)
        return
    assert number.cdf(high) - number.cdf(low) == pytest.approx(prob, abs=1e-6)
    below = np.linspace(0.001, 1 - prob - at_infinity - 0.001, 40)
    widths = [np.diff(number.quantile([u, u + prob])).item() for u in below]
    assert high - low <= min(widths) * (1 + 1e-6)
    if kind == "interior":
        assert number.pdf(low) == pytest.approx(number.pdf(high), rel=1e-4)


@pytest.mark.long
def test_moments_are_those_of_draws_and_infinite_where_a_useless_test_is_likely():
    table = (90, 5, 6, 150)
    youden = posterior_of(table).draw([catalogue.informedness], 400_000, np.random.default_rng(0))[
        0
    ]
    number = number_needed(table)
    assert number.mean() == pytest.approx((1 / youden).mean(), abs=5 * (1 / youden).std() / 632)
    assert number.sd() == pytest.approx((1 / youden).std(), rel=0.01)
    assert number.mode() == pytest.approx(number.quantile(0.45), rel=0.02)
    weak = number_needed(TABLES["weak"])
    assert weak.mean() == np.inf
    assert np.isnan(weak.sd())
    assert weak.center() == weak.quantile(0.5)


@pytest.mark.long
def test_a_batch_is_its_members():
    columns = np.array([*TABLES.values()]).T
    batch = bcm.from_cells(**dict(zip(("tp", "fn", "fp", "tn"), columns, strict=True)))
    ends = bcm.interval(batch, "nnd").values
    single = [number_needed(table).hdi(0.95) for table in TABLES.values()]
    np.testing.assert_allclose(ends, single, rtol=1e-5)


@pytest.mark.long
def test_at_a_prevalence_it_is_the_same_and_it_is_compared():
    first = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    second = bcm.from_cells(tp=70, fn=15, fp=20, tn=45)
    plain, moved = (
        bcm.interval(counts, "nnd") for counts in (first, bcm.at_prevalence(first, 0.1))
    )
    np.testing.assert_allclose(plain.values, moved.values, rtol=1e-6)
    (row,) = bcm.compare({"a": first, "b": second}, "nnd").to_dict("records")
    rng = np.random.default_rng(0)
    youdens = [
        posterior_of(table).draw([catalogue.informedness], 200_000, rng)[0]
        for table in ((65, 15, 35, 30), (70, 15, 20, 45))
    ]
    assert row["p_better"] == pytest.approx((youdens[0] > youdens[1]).mean(), abs=0.002)
    assert np.isnan(row["expected_loss_second"]) or np.isfinite(row["mean"])


@pytest.mark.long
def test_a_summary_says_that_an_interval_has_no_upper_end_and_why():
    table = bcm.summary(bcm.from_cells(tp=5, fn=3, fp=4, tn=4), ["nnd", "recall"])
    assert table["upper"][0] == np.inf
    assert "NND is infinite with probability 0.31" in table.attrs["caution"]
    sure = bcm.summary(bcm.from_cells(tp=90, fn=5, fp=6, tn=150), "nnd")
    assert "caution" not in sure.attrs
