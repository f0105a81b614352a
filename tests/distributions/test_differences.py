"""Distributions of differences against closed forms, published numbers and draws."""

from itertools import pairwise

import numpy as np
import pytest
from reference_cases import cases
from scipy import integrate, stats
from scipy.special import betainc, ndtr

from bayescm.distributions.base import concatenate
from bayescm.distributions.beta import F1, Beta, PointMass
from bayescm.distributions.decision import decide
from bayescm.distributions.differences import Discordant, Independent, discordant
from bayescm.distributions.empirical import Discrete, Empirical


def test_rounding_never_makes_a_loss_negative(monkeypatch):
    sure = Discrete(np.array([0.1, 0.2]), np.array([0.5, 0.5]))
    monkeypatch.setattr(Discrete, "expected_loss", lambda self: np.array(-1e-12))
    (row,) = decide(sure, rope=(0.0, 0.0), prob=0.95, kind="hdi")
    assert row["expected_loss"] == 0
    assert row["expected_loss_second"] == pytest.approx(0.15)


SHARES = [
    (12.5, 6.5, 83.0),
    (0.5, 0.5, 20.0),
    (0.25, 3.25, 500.0),
    (5.5, 0.5, 0.5),
    (2e3, 1e3, 1e5),
]


def beta(a, b):
    return Beta(np.asarray(float(a)), np.asarray(float(b)))


def f1(tp, fn, fp, lam):
    return F1(np.asarray(tp + lam), np.asarray(fn + fp + 2 * lam))


@pytest.mark.parametrize("case", cases("thesis-recall"))
@pytest.mark.parametrize("lam", [1, 0.5, 0])
def test_the_thesis_recalls(case, lam):
    one, two = case["inputs"]["sys1"], case["inputs"]["sys2"]
    distribution = Independent(
        beta(two["TP"] + lam, two["FN"] + lam), beta(one["TP"] + lam, one["FN"] + lam)
    )
    expected = float(case["expected"][f"lambda={lam}"])
    assert distribution.sf(0) == pytest.approx(expected, abs=case["tol"]["abs"])


@pytest.mark.parametrize("case", cases("thesis-f1"))
@pytest.mark.parametrize("lam", [1, 0.5])
def test_the_thesis_f1(case, lam):
    one, two = case["inputs"]["sys1"], case["inputs"]["sys2"]
    first, second = (f1(each["TP"], each["FN"], each["FP"], lam) for each in (two, one))
    expected = float(case["expected"][f"lambda={lam}"])
    assert Independent(first, second).sf(0) == pytest.approx(expected, abs=case["tol"]["abs"])


@pytest.mark.long
@pytest.mark.parametrize("shares", SHARES)
def test_shares_of_the_same_examples(shares):
    distribution = discordant(*shares)
    assert distribution.sf(0) == pytest.approx(1 - betainc(*shares[:2], 0.5), abs=1e-12)
    theta = np.random.default_rng(1).dirichlet(shares, 200_000)
    drawn = theta[:, 0] - theta[:, 1]
    np.testing.assert_allclose(
        [distribution.mean(), distribution.sd()], [drawn.mean(), drawn.std()], atol=2e-3
    )
    assert distribution.expected_loss() == pytest.approx(np.maximum(-drawn, 0).mean(), abs=1e-3)
    ends = distribution.eti(0.95)
    np.testing.assert_allclose((drawn <= ends[:, None]).mean(1), [0.025, 0.975], atol=2e-3)


def test_skewness_is_that_of_the_density():
    """References: integrals of quantiles, of 10 s each."""
    assert discordant(12.5, 6.5, 83.0).skewness() == pytest.approx(0.0658147172, abs=1e-9)
    apart = Independent(F1(9.5, 6.0), Beta(7.0, 7.0))
    assert apart.skewness() == pytest.approx(-0.1316723981, abs=1e-9)
    exact = Independent(PointMass(np.asarray(0.3)), Beta(2.0, 9.0))
    assert exact.skewness() == pytest.approx(-Beta(2.0, 9.0).skewness(), rel=1e-12)


@pytest.mark.parametrize("shares", SHARES[:2] + SHARES[-1:])
def test_quantiles_undo_the_distribution_function(shares):
    distribution = discordant(*shares)
    points = distribution.quantile([0.001, 0.3, 0.5, 0.999])
    np.testing.assert_allclose(distribution.cdf(points), [0.001, 0.3, 0.5, 0.999], atol=1e-9)


@pytest.mark.parametrize(
    "distribution", [discordant(*SHARES[0]), Independent(beta(9, 4), beta(7, 7))]
)
def test_the_interval_is_the_shortest(distribution):
    hdi, eti = distribution.hdi(0.95), distribution.eti(0.95)
    assert np.ptp(hdi) < np.ptp(eti)
    np.testing.assert_allclose(np.diff(distribution.cdf(hdi)), 0.95, atol=1e-8)
    np.testing.assert_allclose(*distribution.pdf(hdi), rtol=1e-5)


def test_where_the_density_only_rises_the_interval_reaches_the_end():
    distribution = discordant(5.5, 0.5, 0.5)
    assert distribution.hdi_kind(0.95) == "one-sided upper"
    np.testing.assert_allclose(distribution.hdi(0.95), [distribution.quantile(0.05), 1])


def test_the_difference_reversed_is_its_negative():
    distribution, back = discordant(12.5, 6.5, 83.0), discordant(6.5, 12.5, 83.0)
    np.testing.assert_allclose(distribution.eti(0.9), -back.eti(0.9)[::-1], atol=1e-9)
    assert distribution.mean() + distribution.expected_loss() == pytest.approx(
        back.expected_loss(), abs=1e-12
    )


PAIRS = [
    (beta(9, 4), beta(7, 7)),
    (beta(90, 41), beta(1e5, 7e4)),  # by a rule over the narrower one
    (beta(1e5, 7e4), beta(90, 41)),
    (F1(np.asarray(65.5), np.asarray(51.0)), beta(40.5, 9.5)),
    (beta(0.5, 20), beta(0.5, 3)),  # a rule over either share is off by 2e-4
]


def below_by_adaptive_quadrature(distribution, x):
    """Return the mass below x by scipy's integral over the 8th root of a share, cut at kinks."""
    if isinstance(distribution, Discordant):  # the losses b of what the wins w leave
        one = stats.beta(distribution.losses, distribution.rest)
        two = stats.beta(distribution.wins, distribution.losses + distribution.rest)

        def conditional(w):
            return one.sf(np.clip((w - x) / (1 - w), 0, 1)) if w < 1 else 1.0
    else:
        first, two = (
            stats.beta(each.a, each.b) for each in (distribution.first, distribution.second)
        )
        image = F1._of if isinstance(distribution.first, F1) else np.asarray

        def conditional(b):
            goal = np.clip(x + b, 0, 1)
            return first.cdf(goal if image is np.asarray else goal / (2 - goal))

    cuts = [*(-x, x, 1 - x, 1 + x, (1 + x) / 2), *two.ppf([1e-6, 0.01, 0.5, 0.99, 1 - 1e-6])]
    ends = np.unique(np.clip([0.0, *cuts, 1.0], 0, 1)) ** 0.125
    return sum(
        integrate.quad(lambda u: conditional(u**8) * two.pdf(u**8) * 8 * u**7, *pair, limit=200)[0]
        for pair in pairwise(ends)
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize(
    "distribution",
    [*(discordant(*each) for each in SHARES[:3]), *(Independent(*p) for p in PAIRS[::2])],
)
def test_quantiles_have_their_mass_below_them(distribution):
    levels = np.array([0.025, 0.5, 0.975])
    below = [below_by_adaptive_quadrature(distribution, x) for x in distribution.quantile(levels)]
    np.testing.assert_allclose(below, levels, atol=1e-6)
    np.testing.assert_allclose(distribution.cdf(distribution.quantile(levels)), below, atol=1e-8)


def test_a_normal_difference_of_a_wide_and_a_narrow_share():
    distribution = Independent(beta(9e3, 4.1e3), beta(1e9, 7e8))
    expected = ndtr(-(9 / 13.1 - 10 / 17) / np.sqrt(9 * 4.1 / 13.1**2 / 13.1e3))
    assert distribution.cdf(0.0) == pytest.approx(expected, rel=0.05, abs=1e-12)
    width = np.sqrt(9 * 4.1 / 13.1**2 / 13.1e3)
    for turned in (distribution, Independent(distribution.second, distribution.first)):
        assert np.ptp(turned.eti(0.95)) == pytest.approx(2 * 1.95996 * width, rel=1e-3)
        assert np.diff(turned.cdf(turned.eti(0.95))) == pytest.approx(0.95, abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    "members",
    [
        [discordant(*each) for each in SHARES],
        [Independent(*pair) for pair in PAIRS[:3]],
        [Empirical(np.random.default_rng(seed).normal(0.02, 0.1, 400)) for seed in range(3)],
    ],
)
def test_a_batch_is_one_by_one(members):
    batch = concatenate(members)
    for name in ("mean", "sd", "expected_loss"):
        apart = [getattr(each, name)() for each in members]
        np.testing.assert_allclose(getattr(batch, name)(), apart, rtol=1e-9, err_msg=name)
    for kind in ("hdi", "eti"):
        apart = [getattr(each, kind)(0.9) for each in members]
        np.testing.assert_allclose(getattr(batch, kind)(0.9), apart, atol=1e-9, err_msg=kind)
    for x in (0.0, 0.01, -0.2):
        np.testing.assert_allclose(batch.cdf(x), [each.cdf(x) for each in members], atol=1e-12)
    assert concatenate([*members, beta(1, 2)]) is None


def test_no_discordance_is_no_difference():
    distribution = discordant(0.0, 0.0, 9.0)
    assert distribution.sf(0) == 0
    assert distribution.sd() == 0


def test_atoms_are_summed():
    distribution = Independent(
        Discrete.of([0, 1, 2], [0.2, 0.3, 0.5]), Discrete.of([0, 1], [0.5, 0.5])
    )
    assert distribution.sf(0) == pytest.approx(0.5 * 0.8 + 0.5 * 0.5)
    assert distribution.mass_at(0) == pytest.approx(0.25)
    assert distribution.cdf(0) == pytest.approx(0.35)
    assert distribution.expected_loss() == pytest.approx(0.1)
