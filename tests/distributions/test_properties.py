"""What every distribution promises, of all of them at once."""

import numpy as np
import pytest
from scipy import special, stats

from bayescm.distributions.base import Distribution
from bayescm.distributions.batches import LazyDraws, Stack
from bayescm.distributions.beta import F1, Beta, PointMass
from bayescm.distributions.differences import Independent, StudentT, discordant
from bayescm.distributions.empirical import Discrete, Empirical, WeightedNodes
from bayescm.distributions.hdi import FLAT, INTERIOR, LOWER, NOT_UNIMODAL, ONE_INTERVAL, U_SHAPED
from bayescm.distributions.logit_lattice import LogitLattice
from bayescm.distributions.mixtures import MeanOfFolds, MixtureOfFolds
from bayescm.distributions.moments import CornishFisherBeta
from bayescm.distributions.preintegration import FunctionOfDirichlet
from bayescm.measures import resolve
from bayescm.posteriors import dirichlet_multinomial

LEVELS = np.array([0.001, 0.1, 0.5, 0.8, 0.999])
A, B = (
    np.array([[4.5, 60.5], [1.0, 0.5], [0.4, 9.0]]),
    np.array([[2.5, 3.5], [7.0, 0.5], [3.0, 9.0]]),
)
TABLES = np.array([[[30, 35], [15, 65]], [[8, 2], [1, 4]]])
LOGITS = np.linspace(-6, 8, 400)


class OfCdf(Distribution):
    """All that must be given: a distribution function and a support."""

    def __init__(self, known):
        self.known = known

    @property
    def support(self):
        return self.known.support()

    def cdf(self, x):
        return self.known.cdf(x)


class OfQuantile(Distribution):
    """The other thing that may be given: quantiles."""

    def __init__(self, known):
        self.known = known

    def quantile(self, q):
        return self.known.ppf(q)


def nodes(of=Discrete):
    return of.of(np.linspace(0, 1, 301), stats.beta(3, 4).pdf(np.linspace(0, 1, 301)) / 300)


def lattice():
    density = special.expit(LOGITS) ** 12.5 * special.expit(-LOGITS) ** 4.5
    return LogitLattice(LOGITS, density / density.sum())


def by_quadrature(name, cells=TABLES):
    return dirichlet_multinomial(cells, concentration=0.5).distribution(resolve(name))


CONTINUOUS = {
    "beta": lambda: Beta(A, B),
    "f1": lambda: F1(A, B),
    "quadrature": lambda: by_quadrature("balanced_accuracy"),
    "ratio": lambda: by_quadrature("diagnostic_odds_ratio"),
    "mean of folds": lambda: MeanOfFolds(F1(A[:2] + 9, B[:2] + 9), 1.3),
    "mixture of folds": lambda: MixtureOfFolds(Beta(A + 1, B + 1)),
    "independent": lambda: Independent(F1(9.5, 6.0), Beta(7.0, 7.0)),
    "discordant": lambda: discordant(12.5, 6.5, 83.0),
    "lattice": lattice,
    "pre-integration": lambda: FunctionOfDirichlet(
        [np.array([30.5, 35.5, 15.5, 65.5])], lambda cells: cells[:, 0] - cells[:, 2], (-1.0, 1.0)
    ),
    "stack": lambda: Stack(np.array([lattice(), Beta(4.0, 9.0), discordant(3.0, 4.0, 9.0)])),
    "student t": lambda: StudentT(0.3, 0.5, 7),
    "beta by Cornish and Fisher": lambda: CornishFisherBeta(
        *np.array([[0.6, 0.8], [0.05, 0.02], [-0.3, 0.1], [0.1, 0.0]])
    ),
    "cdf alone": lambda: OfCdf(stats.gamma(np.array([0.5, 1.0, 4.2]))),
}
LISTS = {
    "discrete": nodes,
    "weighted nodes": lambda: nodes(WeightedNodes),
    "empirical": lambda: Empirical(np.random.default_rng(1).beta(4, 2, (1000, 2))),
    "undefined in part": lambda: Empirical(
        np.where(np.arange(999) % 9, stats.beta(4, 2).ppf(np.arange(999) / 999), np.nan)
    ),
    "lazy draws": lambda: LazyDraws(
        dirichlet_multinomial(TABLES, concentration=0.5), resolve("f1"), 1000, 1
    ),
    "point": lambda: PointMass(np.array([0.2, -0.4])),
}
LONG = ("pre-integration", "quadrature")  # the ratio is by the same quadrature
WHOLE = ("lazy draws", "cdf alone")  # members of these are not taken apart
MADE = {name: make() for name, make in (CONTINUOUS | LISTS).items()}


def each(names):
    params = [pytest.param(MADE[n], id=n, marks=[pytest.mark.long] * (n in LONG)) for n in names]
    return pytest.mark.parametrize("distribution", params)


def columns(distribution, points):
    """Return points (P,) with the axes of the batch behind."""
    return np.asarray(points).reshape(-1, *[1] * len(distribution.shape))


@pytest.mark.long
@each(MADE)
def test_shapes(distribution):
    shape = distribution.shape
    x = distribution.quantile(0.4)
    asked = [distribution.cdf(x), distribution.sf(x), distribution.pdf(x), x]
    asked += [distribution.mass_at(x), distribution.prob_above(x), distribution.expected_loss()]
    asked += [distribution.mean(), distribution.sd(), distribution.skewness(), distribution.mode()]
    asked += [distribution.hdi_kind(0.9), distribution.error_at(x)]
    assert {np.shape(answer) for answer in asked} == {shape}
    assert distribution.eti(0.9).shape == distribution.hdi(0.9).shape == (*shape, 2)
    assert distribution.quantile(columns(distribution, [0.2, 0.7])).shape == (2, *shape)
    assert distribution.cdf(columns(distribution, [0.2, 0.7])).shape == (2, *shape)
    np.broadcast_to(distribution.undefined, shape)
    assert isinstance(distribution.how, str)


@each(MADE)
def test_the_distribution_function_rises_from_0_to_1(distribution):
    low, high = distribution.quantile(0.0001), distribution.quantile(0.9999)
    x = low + (high - low) * columns(distribution, np.linspace(-0.1, 1.1, 31))
    below = distribution.cdf(x)
    assert (np.diff(below, axis=0) >= -1e-12).all()
    assert (below >= 0).all()
    assert (below <= 1).all()
    np.testing.assert_allclose(distribution.sf(x), 1 - below, atol=1e-12)
    np.testing.assert_array_equal(distribution.prob_above(x), distribution.sf(x))
    ends = distribution.support
    np.testing.assert_allclose(distribution.cdf(ends[1]), 1, atol=1e-9)
    assert (distribution.quantile(0.01) >= ends[0]).all()
    assert (distribution.quantile(0.99) <= ends[1]).all()


@each(CONTINUOUS)
def test_quantiles_undo_the_distribution_function(distribution):
    distribution = distribution.with_tolerance(1e-6)
    q = columns(distribution, LEVELS) + np.zeros(distribution.shape)
    tolerance = 1e-4 if isinstance(distribution, LogitLattice) else 1e-8
    np.testing.assert_allclose(distribution.cdf(distribution.quantile(q)), q, atol=tolerance)
    np.testing.assert_array_equal(distribution.mass_at(distribution.quantile(0.3)), 0)


@each(CONTINUOUS)
def test_the_density_is_the_slope_of_the_distribution_function(distribution):
    x, width = distribution.quantile(0.3), 1e-4 * np.abs(np.diff(distribution.eti(0.5)))[..., 0]
    slope = (distribution.cdf(x + width) - distribution.cdf(x - width)) / (2 * width)
    np.testing.assert_allclose(distribution.pdf(x), slope, rtol=2e-3)


@each(MADE)
@pytest.mark.parametrize("prob", [0.5, 0.95])
def test_intervals_have_their_mass_and_the_hdi_is_not_longer(distribution, prob):
    hdi, eti = (np.moveaxis(f(prob), -1, 0) for f in (distribution.hdi, distribution.eti))
    listed = distribution in [MADE[name] for name in LISTS]
    for low, high in (hdi, eti):
        mass = distribution.cdf(high) - distribution.cdf(low) + distribution.mass_at(low)
        assert (mass >= prob - (1e-2 if listed else 1e-4)).all()
        assert listed or (mass <= prob + 1e-4).all()
    assert (np.ptp(hdi, axis=0) <= np.ptp(eti, axis=0) + (1e-2 if listed else 1e-9)).all()


@each(CONTINUOUS)
def test_the_ends_of_the_hdi_have_one_density(distribution):
    low, high = np.moveaxis(distribution.hdi(0.95), -1, 0)
    kind = distribution.hdi_kind(0.95)
    inside, one = kind == INTERIOR, np.isin(kind, ONE_INTERVAL)
    levels = np.array([distribution.pdf(low), distribution.pdf(high)])[:, inside]
    np.testing.assert_allclose(*levels, rtol=1e-3)
    mode = distribution.mode()
    assert (~np.isnan(mode) == one).all()
    assert ((mode >= low) & (mode <= high))[one].all()
    assert (np.ptp(distribution.hdi(0.95), -1) <= np.ptp(distribution.eti(0.95), -1) + 1e-9).all()
    at_mode, nearby = distribution.pdf(mode), distribution.quantile(columns(distribution, LEVELS))
    assert ((at_mode * (1 + 1e-3) >= distribution.pdf(nearby)) | ~one | np.isnan(at_mode)).all()


@each(MADE)
@pytest.mark.long
def test_moments_are_those_of_draws_by_quantiles(distribution):
    size = 200 if "quadrature" in distribution.how or distribution.how == "draws" else 4000
    level = (np.arange(size) + 0.5) / size
    draws = distribution.quantile(columns(distribution, level))
    spread = distribution.sd()
    heavy = ~np.isfinite(spread) | ~np.isfinite(distribution.mean()) | (spread > 2)
    close = {"atol": 0.03, "rtol": 0.03}
    keep = ~np.asarray(heavy)
    np.testing.assert_allclose(draws.mean(0)[keep], distribution.mean()[keep], **close)
    np.testing.assert_allclose(draws.std(0)[keep], spread[keep], **close)
    shortfall = np.maximum(-draws, 0).mean(0)
    np.testing.assert_allclose(shortfall[keep], distribution.expected_loss()[keep], **close)
    third = stats.skew(draws) if spread.all() else distribution.skewness()
    np.testing.assert_allclose(np.asarray(third)[keep], distribution.skewness()[keep], atol=0.25)


@pytest.mark.parametrize(
    "name",
    [n for n in MADE if MADE[n].shape and n not in ("lazy draws", "cdf alone", "quantile alone")],
)
def test_a_batch_is_one_by_one(name):
    distribution = MADE[name]
    size = int(np.prod(distribution.shape))
    for place in (0, size - 1):
        alone = distribution.take(np.array([place]))
        assert alone.hdi_kind(0.9)[0] == distribution.hdi_kind(0.9).ravel()[place]
        for method, argument in [("quantile", 0.3), ("cdf", 0.4), ("eti", 0.9), ("hdi", 0.9)]:
            batch = getattr(distribution, method)(argument)
            batch = batch.reshape(size, *batch.shape[len(distribution.shape) :])
            np.testing.assert_allclose(
                getattr(alone, method)(argument)[0], batch[place], rtol=1e-6, atol=1e-9
            )
        for method in ("mean", "sd", "skewness", "expected_loss"):
            batch = getattr(distribution, method)().ravel()
            np.testing.assert_allclose(getattr(alone, method)()[0], batch[place], rtol=1e-9)


FAMILIES = {
    "gamma": (stats.gamma(3.2), INTERIOR, 2.2),
    "exponential": (stats.expon(-4), LOWER, -4.0),
    "gamma, infinite at 0": (stats.gamma(0.5), LOWER, 0.0),
    "lognormal": (stats.lognorm(0.7), INTERIOR, np.exp(-(0.7**2))),
    "triangular": (stats.triang(0.3), INTERIOR, 0.3),
    "U-shaped": (stats.arcsine(), U_SHAPED, np.nan),
    "flat": (stats.uniform(-2, 5), FLAT, np.nan),
    "narrow": (stats.beta(4e6, 3e5), INTERIOR, (4e6 - 1) / (4.3e6 - 2)),
    "whole line": (stats.norm(300.0, 0.1), INTERIOR, 300.0),
    "upper end only": (stats.weibull_max(2.0), INTERIOR, -(0.5**0.5)),
}


@pytest.mark.long
@pytest.mark.parametrize(("known", "kind", "mode"), FAMILIES.values(), ids=FAMILIES)
def test_all_follows_from_the_distribution_function(known, kind, mode):
    distribution = OfCdf(known)
    np.testing.assert_allclose(distribution.quantile(LEVELS), known.ppf(LEVELS), rtol=1e-9)
    smooth = known.dist.name != "triang"
    x = known.ppf([0.05, 0.4, 0.9])
    np.testing.assert_allclose(distribution.pdf(x), known.pdf(x), rtol=1e-6)
    tolerance = 1e-6 if smooth else 1e-5
    np.testing.assert_allclose(distribution.mean(), known.mean(), rtol=tolerance)
    np.testing.assert_allclose(distribution.sd(), known.std(), rtol=tolerance)
    np.testing.assert_allclose(distribution.skewness(), known.stats("s"), atol=1e-5)
    assert distribution.hdi_kind(0.9) == kind
    low, high = distribution.hdi(0.9)
    np.testing.assert_allclose(known.cdf(high) - known.cdf(low), 0.9, atol=1e-9)
    if kind == INTERIOR:
        np.testing.assert_allclose(known.pdf(low), known.pdf(high), rtol=1e-6)
    near = 1e-6 if smooth else 0.01
    np.testing.assert_allclose(distribution.mode(), mode, rtol=near, atol=near)


@pytest.mark.long
def test_all_follows_from_the_quantiles():
    distribution, known = OfQuantile(stats.expon()), stats.expon()
    np.testing.assert_allclose(distribution.cdf([0.1, 2.0]), known.cdf([0.1, 2.0]), atol=1e-12)
    np.testing.assert_allclose(distribution.pdf(0.7), known.pdf(0.7), rtol=1e-6)
    np.testing.assert_allclose([distribution.mean(), distribution.sd()], 1, rtol=1e-9)
    np.testing.assert_allclose(distribution.hdi(0.9), [0, known.ppf(0.9)], atol=1e-9)


@pytest.mark.long
def test_of_two_hills_apart_the_interval_is_the_shortest_of_its_mass():
    distribution = MixtureOfFolds(Beta(np.array([300.0, 40]), np.array([20.0, 300])))
    assert distribution.hdi_kind(0.3) == NOT_UNIMODAL
    low, high = distribution.hdi(0.3)
    assert distribution.cdf(high) - distribution.cdf(low) == pytest.approx(0.3, abs=1e-9)
    assert 0.9 < low < high  # on the narrower hill
    below = np.linspace(0, 0.7, 71)
    lengths = distribution.quantile(below + 0.3) - distribution.quantile(below)
    assert high - low <= lengths.min() + 1e-9


def test_draws_that_are_all_undefined_answer_nan():
    distribution = Empirical(np.full(40, np.nan))
    assert distribution.undefined == 1
    for answer in (distribution.cdf(0), distribution.mass_at(0), distribution.expected_loss()):
        assert np.isnan(answer)


def test_infinite_draws_have_no_error_between_them():
    low, high = Empirical(np.array([1.0, 2, 3, *[np.inf] * 97])).error_at([2.5, np.inf])
    assert (low, high) == (np.inf, 0)


def test_ties_of_draws_are_counted():
    distribution = Empirical(np.array([0.0, 0, 1, -1, np.nan]))
    assert distribution.mass_at(0) == 0.5
    assert distribution.cdf(0) - distribution.mass_at(0) == 0.25
    assert distribution.expected_loss() == 0.25
