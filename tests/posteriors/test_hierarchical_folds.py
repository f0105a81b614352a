"""The weighted nodes of hierarchical_folds: limits, calibration against its own prior."""

import time

import numpy as np
import pytest
from scipy import special, stats

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.posteriors import hierarchical_folds
from bayescm.posteriors.hierarchical_folds import draw_fold_effects, fold_likelihood, shifted

FOLDS = np.array(
    [[[17, 3], [4, 16]], [[14, 6], [6, 14]], [[18, 2], [7, 13]], [[15, 5], [3, 17]]], float
)
THREE = np.array([[[9, 1, 0], [2, 7, 3], [0, 1, 5]], [[8, 2, 0], [4, 6, 2], [1, 0, 5]]], float)
RECALL, PRECISION, ACCURACY = (resolve(name) for name in ("recall", "precision", "accuracy"))
Q = [0.025, 0.5, 0.975]


def in_repeats(cells, n_folds):
    return bcm.from_matrix(cells, dims=("fold",)).assign_coords(n_folds=n_folds)


def quantiles(cells, kernel=RECALL, **keywords):
    return np.asarray(hierarchical_folds(cells, **keywords).distribution(kernel).quantile(Q))


def test_without_effects_of_training_the_recall_is_a_beta():
    (tn, fp), (fn, tp) = FOLDS.sum(0)
    got = quantiles(FOLDS, spread=1e-6, separation=1e-6)
    np.testing.assert_allclose(got, stats.beta.ppf(Q, tp + 0.5, fn + 0.5), atol=2e-3)
    got = quantiles(FOLDS, resolve("specificity"), spread=1e-6, separation=1e-6)
    np.testing.assert_allclose(got, stats.beta.ppf(Q, tn + 0.5, fp + 0.5), atol=2e-3)


def test_three_classes_without_effects_are_dirichlet_rows():
    distribution = hierarchical_folds(THREE, spread=1e-6, separation=1e-6).distribution(RECALL)
    pooled = THREE.sum(0) + 2 / 9
    for row, member in enumerate(distribution.distributions):
        right = pooled[row, row]
        exact = stats.beta.ppf(Q, right, pooled[row].sum() - right)
        np.testing.assert_allclose(
            member.quantile(Q), exact, atol=0.04
        )  # its draws: an error of .01


@pytest.mark.long
@pytest.mark.parametrize("kernel", [PRECISION, RECALL, ACCURACY], ids=lambda k: k.__name__)
def test_more_spread_and_more_correlation_are_wider(kernel):
    def width(**keywords):
        low, _, high = quantiles(FOLDS, kernel, **keywords)
        return high - low

    assert width(separation=0.3) < width(separation=0.9) < width(separation=2.0)
    assert width(rho=0.1, spread=1.0) < width(rho=0.9, spread=1.0)
    assert width() <= 1.02 * width(fixed_totals=False)  # each end is known to half a percent


def test_swapping_the_classes_swaps_recall_and_specificity():
    swapped = FOLDS[:, ::-1, ::-1]
    got = quantiles(swapped, resolve("specificity"))
    np.testing.assert_allclose(got, quantiles(FOLDS), atol=8e-3)


def test_the_order_of_the_folds_is_no_evidence():
    np.testing.assert_allclose(quantiles(FOLDS[::-1]), quantiles(FOLDS), atol=1e-12)


def test_repeats_that_say_the_same_say_little_more():
    alone = np.diff(quantiles(FOLDS)[[0, 2]])
    same = np.diff(quantiles(in_repeats(np.tile(FOLDS, (50, 1, 1)), 4))[[0, 2]])
    taken_for_new = np.diff(quantiles(np.tile(FOLDS, (50, 1, 1)))[[0, 2]])
    assert 0.75 * alone < same < 1.01 * alone
    assert taken_for_new < 0.5 * alone


def test_repeats_that_differ_say_more():
    rng = np.random.default_rng(5)
    repeats = rng.binomial(20, 0.7, (6, 4, 2))
    cells = np.empty((24, 2, 2))
    cells[:, [0, 1], [0, 1]] = repeats.reshape(24, 2)
    cells[:, [0, 1], [1, 0]] = 20 - repeats.reshape(24, 2)
    one = np.diff(quantiles(cells[:4])[[0, 2]])
    assert np.diff(quantiles(in_repeats(cells, 4))[[0, 2]]) < 0.9 * one


ODD = {
    "two folds": FOLDS[:2],
    "perfect": np.tile([[10.0, 0], [0, 10]], (5, 1, 1)),
    "never predicted": np.tile([[10.0, 0], [4, 0]], (5, 1, 1)),
    "a fold without positives": np.array([[[5.0, 1], [0, 0]], [[4, 2], [2, 3]], [[6, 0], [1, 4]]]),
    "unequal": np.array([[[50.0, 10], [2, 9]], [[4, 2], [20, 3]]]),
    "leave one out": np.tile(np.array([[[1.0, 0], [0, 0]], [[0, 0], [1, 0]]]), (30, 1, 1)),
    "large": FOLDS * 100_000,
    "fractional": FOLDS / 3,
}


@pytest.mark.parametrize("name", ODD)
def test_odd_folds_have_an_answer(name):
    posterior = hierarchical_folds(ODD[name])
    for kernel in (RECALL, ACCURACY, resolve("mcc")):
        low, middle, high = posterior.distribution(kernel).quantile(Q)
        assert -1 <= low < middle < high <= 1
    drawn = posterior.variables(50, np.random.default_rng(1))
    assert all(np.isfinite(each).all() for each in drawn.values())


@pytest.mark.long
@pytest.mark.parametrize("cells", [FOLDS, THREE], ids=["two classes", "three classes"])
def test_a_batch_is_its_members(cells):
    batch = np.stack([cells, cells[::-1] + 1])
    together = hierarchical_folds(batch).distribution(RECALL).eti(0.95)
    alone = np.stack([hierarchical_folds(each).distribution(RECALL).eti(0.95) for each in batch])
    np.testing.assert_array_equal(together, alone)
    drawn = hierarchical_folds(batch).draw([RECALL], 100, np.random.default_rng(0))[0]
    assert drawn.shape == (100, *together.shape[:-1])


@pytest.mark.long
def test_draws_follow_the_distribution():
    posterior = hierarchical_folds(FOLDS)
    (measured,) = posterior.draw([PRECISION], 4000, np.random.default_rng(3))
    theta = posterior.variables(4000, np.random.default_rng(4))["theta_expected"]
    distribution = posterior.distribution(PRECISION).quantile(Q)
    np.testing.assert_allclose(np.quantile(measured, Q), distribution, atol=0.003)
    np.testing.assert_allclose(np.quantile(PRECISION(theta).mean(1), Q), distribution, atol=0.012)


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
def test_own_effects_are_integrated_out(classes):
    rng = np.random.default_rng(1)
    folds = rng.poisson(6, (3, classes, classes)).astype(float)
    about = np.log(folds.mean(0) + 1) + 0.2 * rng.normal(size=(2, classes, classes))
    level = special.log_softmax(about, axis=-1)
    own = np.full((2, classes + 1), 0.25)
    effects = rng.standard_normal((200_000, classes + 1))
    brute = np.zeros(2)
    for node in range(2):
        rates = special.log_softmax(shifted(level[node], 0.25 * effects), axis=-1)
        logs = np.tensordot(rates, folds, axes=([1, 2], [1, 2]))
        brute[node] = (special.logsumexp(logs, axis=0) - np.log(len(effects))).sum()
    got = fold_likelihood(folds, level, own)
    np.testing.assert_allclose(got, brute, atol=0.03)


LARGE = {"spread": 1.5, "separation": 3.0}  # effects of training that 100 examples show


def simulate(rng):
    """Draw a cross-validation of 5 folds of 8 and 12 examples from the model, and its measure."""
    error = 1 / np.sqrt([40.0, 60.0])
    unit = np.sqrt((error**2).sum())
    spread = LARGE["spread"] * unit ** (2 / 3) * abs(rng.standard_t(2))
    scales = np.append(LARGE["separation"] * unit, spread / unit * error)
    rates = np.log(rng.dirichlet([0.5, 0.5], 2))

    def effects(shares, size):
        return np.sqrt(shares) * scales * rng.standard_normal((size, 3))

    common = np.array([0.8, 0.4, 0.4])
    seen = effects(common, 1) + effects(1 - common, 5)
    shown = special.softmax(shifted(rates, seen), axis=-1)
    cells = np.array(
        [[rng.multinomial(8, fold[0]), rng.multinomial(12, fold[1])] for fold in shown]
    )
    new = special.softmax(shifted(rates, effects(1, 4000)), axis=-1)
    return cells, new[:, 1, 1].mean()


@pytest.fixture(scope="module")
def simulated():
    rng = np.random.default_rng(11)
    return [simulate(rng) for _ in range(300)]


def ranks(simulated, **keywords):
    distributions = [
        (hierarchical_folds(cells, **keywords).distribution(RECALL), true)
        for cells, true in simulated
    ]
    return [float(distribution.cdf(true)) for distribution, true in distributions]


@pytest.mark.long
@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform_under_the_prior(simulated):
    assert stats.kstest(ranks(simulated, **LARGE), "uniform").pvalue > 1e-3


@pytest.mark.long
@pytest.mark.slow
def test_ranks_notice_a_posterior_that_ignores_training(simulated):
    blind = ranks(simulated, spread=1e-3, separation=1e-3)
    assert stats.kstest(blind, "uniform").pvalue < 1e-4


@pytest.mark.long
@pytest.mark.parametrize("fold", [[[45, 5], [12, 38]], [[50, 0], [0, 10]], [[3, 1], [0, 4]]])
def test_effects_of_a_fold_have_their_posterior(fold):
    """Beside draws of the prior that are weighted by the likelihood."""
    rng, n, fold_sd = np.random.default_rng(1), 20_000, np.array([0.5, 0.8, 0.4])
    level = np.log([[0.8, 0.2], [0.3, 0.7]])
    alike = np.broadcast_to(level, (n, 2, 2)), np.broadcast_to(fold_sd, (n, 3))
    drawn = draw_fold_effects(np.array(fold, float), *alike, rng)
    prior = rng.standard_normal((200_000, 3))
    rates = special.log_softmax(shifted(level, fold_sd * prior), axis=-1)
    weights = special.softmax((np.array(fold) * rates).sum((-2, -1)))
    np.testing.assert_allclose(drawn.mean(0), weights @ prior, atol=0.04)
    expected = np.cov(prior.T, aweights=weights)
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.04)


def test_one_cross_validation_is_quick():
    cells = np.random.default_rng(2).poisson(6, (10, 2, 2)).astype(float)
    hierarchical_folds(cells).distribution(RECALL)
    start = time.process_time()
    for _ in range(5):
        hierarchical_folds(cells).distribution(RECALL)
    assert (time.process_time() - start) / 5 < 0.3


@pytest.mark.parametrize(
    ("cells", "keywords", "words"),
    [
        (FOLDS[:1], {}, "cross-validation needs two or more folds"),
        (FOLDS, {"rho": 1.0}, "rho must be a correlation"),
        (FOLDS, {"rho": -0.1}, "rho must be a correlation"),
        (FOLDS, {"rho": "x"}, "rho must be a correlation"),
        (FOLDS, {"spread": 0}, "must be a finite number > 0"),
        (FOLDS, {"separation": -1}, "must be a finite number > 0"),
        (FOLDS, {"concentration": 0}, "concentration must be finite numbers >"),
        (in_repeats(FOLDS, 3), {}, "must divide"),
        (FOLDS, {"prevalence": 1.5}, "prevalence must be proportions"),
        (FOLDS * [[1, 1], [0, 0]], {}, "no examples"),
    ],
)
def test_errors_say_what_is_wrong(cells, keywords, words):
    with pytest.raises(ValueError, match=words):
        hierarchical_folds(cells, **keywords)


def test_intervals_of_labelled_folds():
    counts = bcm.from_matrix(FOLDS, labels=["no", "yes"], positive="yes", dims=("fold",))
    got = bcm.interval(counts, "recall", model="hierarchical_folds", prob=0.95, kind="eti")
    np.testing.assert_allclose(got.values, quantiles(FOLDS)[[0, 2]], atol=1e-6)
    assert "fold" not in got.dims
    known = bcm.interval(counts.assign_coords(fixed_totals=False), "precision", kind="eti")
    assert np.ptp(known.values) > np.ptp(bcm.interval(counts, "precision", kind="eti").values)


def test_perfect_repeats_say_little_more_than_one():
    perfect = np.tile([[10.0, 0], [0, 10]], (5, 1, 1))
    alone, _, _ = quantiles(perfect)
    many, _, _ = quantiles(in_repeats(np.tile(perfect, (20, 1, 1)), 5))
    assert 0.8 * (1 - alone) < 1 - many < 1.05 * (1 - alone)


def test_repeats_whose_folds_jump_are_wider():
    still = np.tile([[14.0, 6], [6, 14]], (30, 1, 1))
    step = np.array([[3.0, -3], [-3, 3]])
    jumping = still + np.resize([1, -1], 30)[:, None, None] * step * [[1], [-1]]
    np.testing.assert_array_equal(still.sum(0), jumping.sum(0))
    width = [np.ptp(quantiles(in_repeats(cells, 5))[[0, 2]]) for cells in (still, jumping)]
    assert width[1] > 1.3 * width[0]
