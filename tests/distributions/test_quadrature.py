"""Distributions by quadrature against reference values, draws, closed forms and each other."""

import numpy as np
import pytest
from reference_cases import cases

from bayescm import measures
from bayescm.direct import dirichlet_multinomial, fixed_totals
from bayescm.distributions.beta import Beta
from bayescm.distributions.incomplete import log_odds, near_log_odds
from bayescm.distributions.integrals import inverses, rays
from bayescm.distributions.integrals.quadrature import Quadrature
from bayescm.distributions.integrals.rows import Rows
from bayescm.distributions.lookup import distribution_at_prevalence

CELLS = [[30.0, 35.0], [15.0, 65.0]]
NAMES = [*measures.names(), "fbeta(0.5)", "tversky(0.3,0.9)", "cost([[0,1],[5,0]])"]
NAMES = [name for name in NAMES if measures.resolve(name).form]  # the others are drawn
BY_QUADRATURE = [
    name
    for name in NAMES
    if isinstance(dirichlet_multinomial(CELLS).distribution(measures.resolve(name)), Quadrature)
]


def _distribution(name, cells=CELLS, concentration=0.5):
    return dirichlet_multinomial(cells, concentration=concentration).distribution(
        measures.resolve(name)
    )


@pytest.mark.parametrize("case", cases("fbeta"))
def test_fbeta_reference(case):
    tp, fn, fp, tn = case["inputs"]["tp_fn_fp_tn"]
    want, tol = case["expected"], case["tol"]
    distribution = _distribution(
        f"fbeta({case['inputs']['beta']})", [[tn, fp], [fn, tp]], case["inputs"]["lambda"]
    ).to(1e-9)
    assert distribution.eti(0.95) == pytest.approx([want["et_lo"], want["et_hi"]], abs=tol["abs"])
    assert distribution.quantile(0.5) == pytest.approx(want["median"], abs=tol["abs"])
    assert distribution.mean() == pytest.approx(want["mean"], abs=tol["abs"])
    assert distribution.sd() ** 2 == pytest.approx(want["var"], abs=tol["abs"])
    assert distribution.skewness() == pytest.approx(want["skewness"], abs=1e-6)
    for x, below in want["cdf"].items():
        assert distribution.cdf(float(x)) == pytest.approx(below, abs=tol["abs"])
        assert distribution.pdf(float(x)) == pytest.approx(want["pdf"][x], abs=1e-7)
    if "hdi_lo" in want:
        ends = [want["hdi_lo"], want["hdi_hi"]]
        assert distribution.hdi(0.95) == pytest.approx(ends, abs=tol["hdi_abs"])


@pytest.mark.parametrize("case", cases("caelen-posterior-MCC"))
def test_mcc_reference(case):
    tp, tn, fp, fn = case["inputs"]["v_tp_tn_fp_fn"]
    want, tol = case["expected"], case["tol"]
    distribution = _distribution("mcc", [[tn, fp], [fn, tp]], case["inputs"]["alpha"][0])
    assert distribution.sf(0) == pytest.approx(want["P_gt0"], abs=tol["abs"])
    assert distribution.eti(0.95) == pytest.approx(want["et95"], abs=tol["abs"])
    assert distribution.hdi(0.95) == pytest.approx(want["hdi95"], abs=tol["hdi"])
    assert distribution.mean() == pytest.approx(want["mean"], abs=tol["abs"])
    assert distribution.sd() == pytest.approx(want["sd"], abs=tol["abs"])
    assert distribution.quantile(0.5) == pytest.approx(want["median"], abs=tol["abs"])


def drawn(posterior, names):
    """Return draws by name, all from the same draws of the cells."""
    kernels = [measures.resolve(name) for name in names]
    return dict(zip(names, posterior.draw(kernels, 100_000, np.random.default_rng(0)), strict=True))


@pytest.fixture(scope="module", params=[CELLS, [[30, 0], [0, 65]], [[3, 0], [1, 4]]], ids=str)
def table(request):
    posterior = dirichlet_multinomial(request.param, concentration=0.5)
    return posterior, drawn(posterior, BY_QUADRATURE)


@pytest.mark.parametrize("name", BY_QUADRATURE)
def test_agrees_with_draws(name, table):
    posterior, draws = table
    distribution = posterior.distribution(measures.resolve(name))
    levels = np.array([0.025, 0.5, 0.975])
    shares = [(draws[name] <= x).mean() for x in distribution.quantile(levels)]
    assert shares == pytest.approx(levels, abs=0.008)
    assert (
        distribution.error_at(distribution.eti(0.95))
        <= 1e-5 * np.maximum(1, distribution.eti(0.95))
    ).all()


UNCERTAIN = [name for name in NAMES if name != "prevalence"]


@pytest.fixture(scope="module", params=[None, 0.07])
def chosen_totals(request):
    posterior = fixed_totals(CELLS, concentration=0.5, prevalence=request.param)
    return posterior, drawn(posterior, UNCERTAIN)


@pytest.mark.parametrize("name", UNCERTAIN)
def test_fixed_totals_agree_with_draws(name, chosen_totals):
    posterior, draws = chosen_totals
    levels = np.array([0.025, 0.5, 0.975])
    found = posterior.distribution(measures.resolve(name)).quantile(levels)
    shares = [(draws[name] <= x).mean() for x in found]
    assert shares == pytest.approx(levels, abs=0.008)


@pytest.mark.parametrize("name", ["precision", "f1", "accuracy"])
def test_two_ways_to_the_same_distribution(name):
    """With the Dirichlet's own prevalence the general integral is the closed form."""
    kernel, posterior = measures.resolve(name), dirichlet_multinomial(CELLS, concentration=0.5)
    prevalence = posterior.distribution(measures.prevalence)
    general = distribution_at_prevalence(kernel, posterior.weights, prevalence)
    assert general.eti(0.95) == pytest.approx(posterior.distribution(kernel).eti(0.95), abs=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("name", ["mcc", "lift", "balanced_accuracy", "overlap"])
def test_batch_is_loop(name):
    rng = np.random.default_rng(2)
    cells = rng.multinomial(60, [0.4, 0.1, 0.1, 0.4], size=6).reshape(2, 3, 2, 2)
    batch = _distribution(name, cells)
    for index in [(0, 0), (1, 2)]:
        alone = _distribution(name, cells[index])
        np.testing.assert_allclose(batch.eti(0.9)[index], alone.eti(0.9), rtol=1e-8)
        np.testing.assert_allclose(batch.hdi(0.9)[index], alone.hdi(0.9), rtol=1e-6)
        np.testing.assert_allclose(batch.cdf(0.7)[index], alone.cdf(0.7), atol=1e-9)


@pytest.mark.parametrize("name", ["mcc", "cohen_kappa", "balanced_accuracy"])
def test_swapping_the_classes_commutes(name):
    swapped = np.asarray(CELLS)[::-1, ::-1]
    assert _distribution(name).eti(0.95) == pytest.approx(
        _distribution(name, swapped).eti(0.95), abs=1e-9
    )


@pytest.mark.parametrize("name", BY_QUADRATURE)
def test_highest_density_interval(name):
    distribution = _distribution(name)
    low, high = distribution.hdi(0.9)
    assert distribution.cdf(high) - distribution.cdf(low) == pytest.approx(0.9, abs=1e-6)
    if distribution.hdi_kind(0.9) == "interior":
        assert distribution.pdf(low) == pytest.approx(distribution.pdf(high), rel=1e-4)
        if name != "lift":  # whose mode takes seconds
            assert distribution.pdf(distribution.mode()) >= distribution.pdf(low)
    assert high - low <= np.diff(distribution.eti(0.9))[0] * (1 + 1e-9)


@pytest.mark.parametrize("name", ["mcc", "fbeta(2)", "informedness", "diagnostic_odds_ratio"])
def test_large_counts_become_normal(name):
    cells = np.array([[4e9, 1e9], [2e9, 9e9]])
    distribution, kernel = _distribution(name, cells), measures.resolve(name)
    assert distribution.mean() == pytest.approx(float(kernel(cells)), rel=1e-7)
    low, high = distribution.eti(0.95)
    assert (high - low) / 2 == pytest.approx(1.959964 * distribution.sd(), rel=1e-3)


def test_infinite_moments_are_infinite():
    distribution = _distribution("positive_likelihood_ratio", [[30, 0], [3, 9]])
    assert np.isinf(distribution.mean())
    assert np.isinf(distribution.sd())


@pytest.mark.parametrize("degree", [7, 13, 17])
def test_log_odds_of_many_shares(degree):
    rng = np.random.default_rng(degree)
    a, b = 3 * np.exp(rng.exponential(3, (2, 500)))
    scores = rays._fit(degree)[0]
    exact = log_odds(a[:, None], b[:, None], scores)
    off = np.abs(near_log_odds(a, b, scores, (15, 11)) - exact) / np.sqrt(1 / a + 1 / b)[:, None]
    assert off.max() < 5e-6
    assert off[:, np.abs(scores) < 4].max() < 5e-8


def test_rays_that_are_cut_off_have_no_density():
    distribution = _distribution("cohen_kappa", [[0.0, 0.0], [0.0, 1.0]], 0.15321855)
    ends, _ = distribution.checked(0.99, "eti")
    np.testing.assert_allclose(distribution.cdf(ends), [0.005, 0.995], atol=1e-4)
    assert ends[0] == pytest.approx(-0.5553, abs=0.01)


@pytest.mark.parametrize("name", list(inverses.RATES))
def test_either_share_may_be_solved_for(name):
    inverse = inverses.RATES[name]
    first, second = Beta(np.array([4.3]), np.array([9.1])), Beta(np.array([7.2]), np.array([5.4]))
    x = np.array([[0.3, 0.6, 0.9]]) if inverse.support[1] == 1 else np.array([[0.2, 0.9, 4.0]])
    one = Rows(inverse, first, (second,), None).probabilities(x)
    other = Rows(inverse.turned, second, (first,), None).probabilities(x)
    assert inverse.spread(first.a, first.b) > 0
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def test_odds_ratio_with_an_empty_cell_and_a_weak_prior():
    """Four million draws have 1.7 to 2.08 million as their shortest interval of 95 %."""
    counts = [[13.0, 0.0], [8.0, 39.0]]
    distribution = _distribution("diagnostic_odds_ratio", counts, 0.3).to(1e-3)
    low, high = distribution.hdi(0.95)
    assert 0 < low < 3
    assert high == pytest.approx(2.08e6, rel=0.03)
    assert distribution.cdf(high) - distribution.cdf(low) == pytest.approx(0.95, abs=1e-5)
