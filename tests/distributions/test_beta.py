"""Distributions of one measure, against reference cases and by what must always hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_cases import cases
from scipy import special, stats

from bayescm.distributions import incomplete
from bayescm.distributions.beta import F1, Beta
from bayescm.distributions.hdi import FLAT, INTERIOR, NOT_UNIMODAL, U_SHAPED

KINDS = {"interior": INTERIOR, "flat": FLAT, "U-shaped": U_SHAPED}
shapes = st.one_of(
    st.floats(0.02, 5), st.integers(1, 10**6).map(lambda n: n + 0.5), st.floats(1, 1e12)
)


def _beta_shapes(measure, counts, lam):
    tp, fn, fp, tn = counts
    sides = {
        "precision": (tp + lam, fp + lam),
        "recall": (tp + lam, fn + lam),
        "specificity": (tn + lam, fp + lam),
        "accuracy": (tp + tn + lam, fp + fn + lam),
        "jaccard": (tp + lam, fp + fn + lam),
        "accuracy_dirichlet": (tp + tn + 2 * lam, fp + fn + 2 * lam),
        "jaccard_dirichlet": (tp + lam, fp + fn + 2 * lam),
    }
    return sides[measure]


@pytest.mark.parametrize("case", cases("beta-"))
def test_beta_reference(case):
    given_, want, tol = case["inputs"], case["expected"], case["tol"]["abs"]
    a, b = _beta_shapes(given_["measure"], given_["tp_fn_fp_tn"], given_["lambda"])
    distribution, complement, prob = Beta(a, b), Beta(b, a), given_["level"]
    low, high = distribution.eti(prob)
    assert distribution.mean() == pytest.approx(float(want["mean"]), abs=tol)
    assert distribution.sd() ** 2 == pytest.approx(float(want["var"]), rel=1e-9)
    assert [low, high] == pytest.approx([float(want["et_lo"]), float(want["et_hi"])], abs=tol)
    from_above = [float(want["et_hi_complement"]), float(want["et_lo_complement"])]
    assert complement.eti(prob) == pytest.approx(from_above, rel=1e-8)
    kind = distribution.hdi_kind(prob).item()
    assert want["hdi_kind"].startswith(KINDS.get(want["hdi_kind"].split(":")[0], kind))
    if "hdi_lo" in want:
        ends = [float(want["hdi_lo"]), float(want["hdi_hi"])]
        assert distribution.hdi(prob) == pytest.approx(ends, abs=tol)
        ends = [float(want["hdi_hi_complement"]), float(want["hdi_lo_complement"])]
        assert complement.hdi(prob) == pytest.approx(ends, rel=1e-8)
    else:
        assert kind in (FLAT, U_SHAPED)
        one_sided = [distribution.quantile(prob), 1 - distribution.quantile(1 - prob)]
        length = prob if kind == FLAT else min(one_sided)
        assert np.diff(distribution.hdi(prob)).item() == pytest.approx(length, abs=1e-9)
    if "mode" in want:
        assert distribution.mode() == pytest.approx(float(want["mode"]), abs=tol)


@pytest.mark.parametrize("case", cases("f1-"))
def test_f1_reference(case):
    want, tol, prob = case["expected"], case["tol"]["abs"], case["inputs"]["level"]
    distribution = F1(float(want["b"]), float(want["a"]))
    assert distribution.mean() == pytest.approx(float(want["mean"]), abs=tol)
    assert distribution.sd() == pytest.approx(float(want["sd"]), rel=1e-7)
    assert distribution.skewness() == pytest.approx(float(want["skewness_SK1"]), abs=1e-8)
    assert distribution.quantile(0.5) == pytest.approx(float(want["median"]), abs=tol)
    assert distribution.eti(prob) == pytest.approx(
        [float(want["et_lo"]), float(want["et_hi"])], abs=tol
    )
    for x, density in want["density"].items():
        assert distribution.pdf(float(x)) == pytest.approx(float(density), rel=1e-9, abs=1e-300)
    for x, below in want["cdf"].items():
        assert distribution.cdf(float(x)) == pytest.approx(float(below), rel=1e-9, abs=1e-300)
    if "mode" in want:
        assert distribution.mode() == pytest.approx(float(want["mode"]), abs=1e-11)
        pearson = (distribution.mean() - distribution.mode()) / distribution.sd()
        assert pearson == pytest.approx(float(want["SK2"]), abs=1e-5)
    if "hdi_lo" in want:
        ends = [float(want["hdi_lo"]), float(want["hdi_hi"])]
        assert distribution.hdi(prob) == pytest.approx(ends, abs=tol)
    else:
        assert distribution.hdi_kind(prob) in (U_SHAPED, NOT_UNIMODAL)


@pytest.mark.parametrize("case", cases("sk-"))
def test_f1_skewness_reference(case):
    distribution = F1(case["inputs"]["b"], case["inputs"]["a"])
    tol = case["tol"]["abs"]
    assert distribution.skewness() == pytest.approx(case["expected"]["SK1"], abs=tol)
    pearson = (distribution.mean() - distribution.mode()) / distribution.sd()
    assert pearson == pytest.approx(case["expected"]["SK2"], abs=tol)


def _check_highest(distribution, prob):
    """Check its mass, its equal levels, and that it is no longer than the equal-tailed one."""
    low, high = distribution.hdi(prob)
    kind = distribution.hdi_kind(prob).item()
    coarse = np.spacing(high) * (distribution.pdf(low) + distribution.pdf(high)) + 1e-11
    assert distribution.cdf(high) - distribution.cdf(low) == pytest.approx(
        prob, abs=1e-9 + 4 * coarse
    )
    central = distribution.eti(prob)
    # A mass that is off by 1e-9 makes the length off by as much, over the height of the density.
    height = max(1.0, min(distribution.pdf(low), distribution.pdf(high)))
    assert high - low <= (central[1] - central[0]) * (1 + 1e-9) + 1e-15 + 1e-9 / height
    if kind == INTERIOR and 1e-12 < low < high < 1 - 1e-9 and coarse < 1e-6:
        levels = np.log([distribution.pdf(low), distribution.pdf(high)])
        assert levels[0] == pytest.approx(levels[1], rel=1e-6, abs=1e-5)
        assert low <= distribution.mode() <= high


@pytest.mark.long
@settings(deadline=None, max_examples=30)
@given(shapes, shapes, st.sampled_from([0.5, 0.89, 0.95, 0.999]), st.sampled_from([Beta, F1]))
def test_highest_density_interval(a, b, prob, kind):
    _check_highest(kind(a, b), prob)


@pytest.mark.parametrize("distribution", [Beta, F1])
@pytest.mark.parametrize("a", [1 + 1e-9, 1.0043, 1.22])
@pytest.mark.parametrize("b", [1.0001, 2.0, 2.9999, 17.3, 1e12])
def test_highest_density_near_the_one_sided_border(distribution, a, b):
    _check_highest(distribution(a, b), 0.95)
    _check_highest(distribution(b, a), 0.95)


@pytest.mark.long
@settings(deadline=None, max_examples=100)
@given(shapes, shapes, st.floats(0.001, 0.999), st.sampled_from([Beta, F1]))
def test_cdf_inverts_quantile(a, b, q, kind):
    distribution = kind(a, b)
    x = distribution.quantile(q)
    if 1e-290 < x < 1:
        noise = 4 * np.spacing(x) * distribution.pdf(x)
        assert distribution.cdf(x) == pytest.approx(q, abs=1e-9 + noise)
        assert distribution.sf(x) == pytest.approx(1 - q, abs=1e-9 + noise)
        assert distribution.quantile(distribution.cdf(x)) == pytest.approx(x, rel=1e-7)


@pytest.mark.parametrize("kind", [Beta, F1])
def test_batch_is_loop(kind):
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 40, (2, 5, 300)) + rng.choice([0.1, 0.5, 1.0], (2, 5, 300))
    distribution = kind(a, b)
    for index in [(0, 0), (2, 17), (4, 299)]:
        alone = kind(a[index], b[index])
        for method in ("eti", "hdi"):
            np.testing.assert_allclose(
                getattr(distribution, method)(0.9)[index], getattr(alone, method)(0.9), rtol=1e-12
            )
        assert distribution.hdi_kind(0.9)[index] == alone.hdi_kind(0.9)
        for method in ("mean", "sd", "skewness", "mode"):
            np.testing.assert_allclose(
                getattr(distribution, method)()[index], getattr(alone, method)(), rtol=1e-12
            )


@pytest.mark.long
def test_highest_density_of_many_at_once():
    rng = np.random.default_rng(5)
    a, b = 10 ** rng.uniform(0, 12, (2, 20000)) + rng.choice([0, 0.01, 0.5], (2, 20000))
    for distribution in (Beta(a, b), F1(a, b)):
        ends = distribution.hdi(0.95)
        noise = 4 * np.spacing(ends) * distribution.pdf(np.moveaxis(ends, -1, 0)).T
        mass = distribution.cdf(ends[:, 1]) - distribution.cdf(ends[:, 0])
        assert (np.abs(mass - 0.95) < 1e-9 + noise.sum(-1)).all()


@pytest.mark.long
def test_f1_is_the_distribution_of_its_draws():
    rng = np.random.default_rng(1)
    u = rng.beta(4.5, 3.0, 200_000)
    distribution = F1(4.5, 3.0)
    draws = 2 * u / (1 + u)
    assert stats.kstest(draws, distribution.cdf).pvalue > 0.01
    assert draws.mean() == pytest.approx(
        distribution.mean(), abs=5 * distribution.sd() / 200_000**0.5
    )
    assert draws.std() == pytest.approx(distribution.sd(), rel=0.01)
    assert stats.skew(draws) == pytest.approx(distribution.skewness(), abs=0.02)
    assert (
        stats.kstest(draws, F1(4.5, 3.1).cdf).pvalue < 0.01
    )  # a distribution nearby is told apart


def test_counts_up_to_1e12():
    distribution = Beta(np.array([3.5, 1e12, 1e12]), np.array([1e12, 3.5, 1e12]))
    want = special.gammaincinv(3.5, [0.025, 0.975]) / 1e12
    assert distribution.eti(0.95)[0] == pytest.approx(want, rel=1e-9)
    assert Beta(distribution.b, distribution.a).eti(0.95)[1] == pytest.approx(want, rel=1e-9)
    normal = 0.5 + stats.norm.ppf([0.025, 0.975]) / np.sqrt(8e12)
    assert distribution.eti(0.95)[2] == pytest.approx(normal, rel=1e-12)
    gap = distribution.hdi(0.95)[0]
    assert stats.gamma(3.5, scale=1e-12).pdf(gap[0]) == pytest.approx(
        stats.gamma(3.5, scale=1e-12).pdf(gap[1]), rel=1e-6
    )


@pytest.mark.parametrize(
    ("a", "b", "mean", "sd", "skewness"),
    [
        (0.01, 0.02, 0.337825617715, 0.466060612409, 0.685594592916),
        (1e5, 3.0, 0.99998500015, 8.66016743271e-6, -1.15470053676),
        (3.0, 1e5, 5.9995800342e-5, 3.46365133908e-5, 1.15449272391),
    ],
)
def test_moments_of_f1_against_its_hypergeometric_functions(a, b, mean, sd, skewness):
    """To 40 digits by 2F1, where nodes in the normal scale lose digits or miss the ends."""
    distribution = F1(a, b)
    found = distribution.mean(), distribution.sd(), distribution.skewness()
    np.testing.assert_allclose(found, (mean, sd, skewness), rtol=1e-11)


@pytest.mark.parametrize("q", [1e-6, 0.025, 0.975])
def test_many_large_betas_have_the_mass_asked_for(q):
    a, b = np.exp(np.random.default_rng(4).uniform(0, np.log(1e7), (2, 400)))
    large = np.minimum(a, b) > 3000
    assert large.sum() > 50
    low, high = incomplete.betaincinv(a, b, q), incomplete.betainccinv(a, b, q)
    np.testing.assert_allclose(special.betainc(a, b, low)[large], q, rtol=1e-8)
    np.testing.assert_allclose(special.betaincc(a, b, high)[large], q, rtol=1e-8)
