"""The lattice filter: against closed forms, brute force, itself, and the truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

import bayescm as bcm
from bayescm import posteriors
from bayescm.distributions.beta import Beta
from bayescm.inference.random_walk import Walk, refine
from bayescm.measures import resolve

TABLES = np.array([[[30, 35], [15, 65]], [[35, 30], [25, 55]], [[36, 29], [24, 56]]])
SERIES = bcm.from_matrix(TABLES, labels=["well", "sick"], positive="sick", dims=("step",))


def walk(hits, trials, prior=(0.5, 0.5), scale=0.2):
    return Walk(np.asarray(hits, float), np.asarray(trials, float), prior, scale)


def brute_force(hits, trials, prior, scale, logit=None):
    """Return log evidence, filtered and smoothed means by dense matrices over (drift, logit)."""
    logit = np.linspace(-9, 26, 1200) if logit is None else logit
    nodes, weights = np.polynomial.legendre.leggauss(40)
    drift = (nodes + 1) * 2.5 * scale
    density = stats.halfnorm(scale=scale).pdf(drift) * weights * 2.5 * scale
    start = stats.beta(*prior).pdf(special.expit(logit))
    start *= special.expit(logit) * special.expit(-logit)
    likelihood = [
        stats.binom(n, special.expit(logit)).pmf(k) for k, n in zip(hits, trials, strict=True)
    ]
    spacing = logit[1] - logit[0]
    filtered, smoothed, evidence = [np.zeros(2) for _ in hits], np.zeros(len(hits)), 0.0
    for sigma, weight in zip(drift, density, strict=True):
        step = stats.norm(0, sigma).pdf(logit[:, None] - logit)
        step /= step.sum(axis=0)
        forward = [start * spacing * likelihood[0]]
        for each in likelihood[1:]:
            forward.append(step @ forward[-1] * each)
        backward = [np.ones_like(logit)]
        for each in likelihood[:0:-1]:
            backward.insert(0, step @ (backward[0] * each))
        evidence += weight * forward[-1].sum()
        for t, (past, future) in enumerate(zip(forward, backward, strict=True)):
            filtered[t] += weight * np.array([past @ special.expit(logit), past.sum()])
            smoothed[t] += weight * (past * future) @ special.expit(logit)
    return np.log(evidence), [a / b for a, b in filtered], smoothed / evidence


@pytest.mark.parametrize(
    ("hits", "trials"),
    [(0, 1), (0, 10), (10, 10), (65, 80), (800, 1000), (0, 1000), (99_990, 100_000), (5, 5)],
)
def test_one_step_is_the_beta_distribution(hits, trials):
    only = walk([hits], [trials])
    distribution = only.filtered().take(0)
    beta = Beta(np.array(hits + 0.5), np.array(trials - hits + 0.5))
    sd = float(beta.sd())
    assert np.abs(distribution.eti(0.95) - beta.eti(0.95)).max() < distribution.error_at(0.0)
    np.testing.assert_allclose(distribution.mean(), beta.mean(), atol=1e-4 * sd)
    np.testing.assert_allclose(distribution.sd(), sd, rtol=1e-4)
    np.testing.assert_allclose(distribution.skewness(), beta.skewness(), atol=2e-3)
    np.testing.assert_allclose(np.diff(distribution.hdi(0.95)), np.diff(beta.hdi(0.95)), rtol=1e-4)
    assert distribution.hdi_kind(0.95) == beta.hdi_kind(0.95)
    at = beta.quantile(np.array([0.1, 0.5, 0.9]))
    np.testing.assert_allclose(distribution.cdf(at), [0.1, 0.5, 0.9], atol=3e-5)
    np.testing.assert_allclose(distribution.pdf(at), beta.pdf(at), rtol=3e-3)
    marginal = special.betaln(hits + 0.5, trials - hits + 0.5) - special.betaln(0.5, 0.5)
    ways = special.gammaln(trials + 1) - special.gammaln([hits + 1, trials - hits + 1]).sum()
    np.testing.assert_allclose(only.log_marginal_likelihood(), marginal + ways, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("hits", "trials", "prior", "scale"),
    [
        ([16, 11, 18], [20, 20, 20], (2.0, 1.0), 0.4),
        ([3, 0, 9], [3, 0, 10], (0.5, 0.5), 0.2),
    ],
)
def test_few_steps_are_what_brute_force_gives(hits, trials, prior, scale):
    evidence, filtered, smoothed = brute_force(hits, trials, prior, scale)
    ours = walk(hits, trials, prior, scale)
    assert ours.log_marginal_likelihood() == pytest.approx(evidence, abs=1e-3)
    np.testing.assert_allclose(ours.filtered().mean(), filtered, atol=2e-4)
    np.testing.assert_allclose(ours.smoothed().mean(), smoothed, atol=2e-4)


@pytest.mark.long
def test_an_abrupt_change_is_what_brute_force_gives():
    # The batch after it lies where the Fourier transform of the density before has only rounding.
    hits, trials = [450] * 40 + [250] * 40, [500] * 80
    logit = np.linspace(-4, 6, 320)
    evidence, filtered, smoothed = brute_force(hits, trials, (0.5, 0.5), 0.2, logit)
    ours = walk(hits, trials)
    assert ours.log_marginal_likelihood() == pytest.approx(evidence, abs=0.01)
    np.testing.assert_allclose(ours.filtered().mean(), filtered, atol=5e-4)
    np.testing.assert_allclose(ours.smoothed().mean(), smoothed, atol=5e-4)


@pytest.mark.long
@pytest.mark.parametrize("shape", ["walks", "jumps", "empty"])
def test_windows_leave_nothing_out(shape, monkeypatch):
    rng = np.random.default_rng(2)
    level = np.linspace(-3, 4, 120) + np.cumsum(rng.normal(0, 0.15, 120))
    trials = np.full(120, 300.0)
    if shape == "jumps":
        level = np.where(np.arange(120) < 70, 2.0, -1.0)
    if shape == "empty":
        trials[40:60] = 0
    hits = rng.binomial(trials.astype(int), special.expit(level))
    ours = walk(hits, trials)
    found = ours.filtered(), ours.smoothed()
    whole = [
        replace(ours._forward, full_lattice=True),
        replace(ours._posterior[-1], full_lattice=True),
    ]
    want = whole[0].filtered(), whole[1].smoothed()
    for one, other in zip(found, want, strict=True):
        np.testing.assert_allclose(one.eti(0.99), other.eti(0.99), atol=3e-3 * other.sd().min())
    np.testing.assert_allclose(ours._posterior[-1].log_weights, whole[1].log_weights, atol=1e-6)
    sizes = [each.right - each.left for each in ours._posterior[-1]._forward[0]]
    assert min(sizes) < (0.7 if shape == "walks" else 1.01) * len(ours._posterior[-1].lattice)
    monkeypatch.setattr("bayescm.inference.random_walk._STORED", 0)  # all worked out again
    again = walk(hits, trials).smoothed()
    # They are stored in single precision.
    np.testing.assert_allclose(again.masses, found[1].masses, rtol=1e-4, atol=1e-9)


@pytest.mark.long
def test_nodes_of_the_drift_hold_its_posterior_where_the_approximation_is_off():
    # Rates near 1: what a Kalman filter takes the drift for is far from what it is.
    rng = np.random.default_rng(78)
    level = 3 + np.cumsum(rng.normal(0, 0.3, 150))
    trials = np.full(150, 100)
    ours = walk(rng.binomial(trials, special.expit(level)), trials)
    drift, weight, passes = ours._posterior
    logs = passes.log_weights
    assert max(logs[0], logs[-1]) < logs.max() - 7
    assert drift[0] < 0.01
    assert drift[-1] > 0.85
    assert (np.diff(drift) > 0).all()
    # A half-normal distribution, all of it.
    assert np.exp(weight).sum() == pytest.approx(1, abs=1e-4)
    assert np.exp(weight) @ drift**2 == pytest.approx(0.2**2, rel=1e-3)


def test_points_in_the_middle_are_those_of_a_cubic():
    x = np.linspace(-2, 2, 9)
    fine = refine(x**3 - x)
    np.testing.assert_allclose(
        fine[2:-2], (np.linspace(-2, 2, 17) ** 3)[2:-2] - np.linspace(-2, 2, 17)[2:-2], atol=1e-12
    )
    np.testing.assert_array_equal(fine[::2], x**3 - x)
    steep = refine(np.array([0.0, -1, -500, -501]), 0.1)
    assert -251 < steep[3] < -250  # a line, but for so much


def test_some_steps_are_those_of_the_series():
    posterior = posteriors.drifting(TABLES)
    some = posterior.isel_batch(np.array([0, 2]))
    drawn = some.draw([resolve("recall"), resolve("f1")], 20_000, np.random.default_rng(1))
    whole = posterior.distribution(resolve("recall")).take(np.array([0, 2]))
    np.testing.assert_allclose(drawn[0].mean(0), whole.mean(), atol=0.03 * whole.sd().max())
    assert drawn[1].shape == (20_000, 2)


def test_without_drift_it_is_the_pooled_posterior():
    posterior = posteriors.drifting(TABLES, drift=1e-5)
    pooled = posteriors.dirichlet_multinomial(TABLES.sum(0), concentration=0.5)
    for name in ("recall", "specificity", "prevalence", "fpr", "fnr"):
        kernel = resolve(name)
        want = pooled.distribution(kernel).eti(0.95)
        np.testing.assert_allclose(
            posterior.distribution(kernel).eti(0.95), np.tile(want, (3, 1)), atol=1e-4
        )


def test_the_filter_sees_no_later_step():
    kernel = resolve("recall")
    whole = posteriors.drifting(TABLES, filtered=True).distribution(kernel).eti(0.95)
    for size in (1, 2):
        part = posteriors.drifting(TABLES[:size], filtered=True).distribution(kernel).eti(0.95)
        np.testing.assert_allclose(whole[:size], part, atol=1e-4)
    last = posteriors.drifting(TABLES).distribution(kernel).eti(0.95)[-1]
    np.testing.assert_allclose(whole[-1], last, atol=1e-5)


def test_swapping_the_classes_swaps_recall_and_specificity():
    swapped = posteriors.drifting(TABLES[:, ::-1, ::-1])
    posterior = posteriors.drifting(TABLES)
    for one, other in [("recall", "specificity"), ("fnr", "fpr")]:
        np.testing.assert_allclose(
            posterior.distribution(resolve(one)).mean(),
            swapped.distribution(resolve(other)).mean(),
            atol=1e-9,
        )


def test_a_batch_of_series_is_every_series_by_itself():
    both = posteriors.drifting(np.stack([TABLES, TABLES[::-1]]))
    distribution = both.distribution(resolve("recall"))
    assert distribution.mean().shape == (2, 3)
    np.testing.assert_array_equal(
        distribution.mean()[0], posteriors.drifting(TABLES).distribution(resolve("recall")).mean()
    )
    assert both.log_marginal_likelihood().shape == (2,)


def test_draws_have_the_distributions():
    posterior = posteriors.drifting(TABLES)
    rng = np.random.default_rng(1)
    names = ["recall", "specificity", "prevalence", "f1"]
    values = posterior.draw([resolve(name) for name in names], 40_000, rng)
    for name, drawn in zip(names[:3], values[:3], strict=True):
        distribution = posterior.distribution(resolve(name))
        np.testing.assert_allclose(
            drawn.mean(0), distribution.mean(), atol=0.03 * distribution.sd().max()
        )
        np.testing.assert_allclose(drawn.std(0), distribution.sd(), rtol=0.02)
    assert values[3].shape == (40_000, 3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("trials", "drift", "steps"), [(100, 0.1, 12), (20_000, 0.3, 8), (20_000, 0.002, 8)]
)
def test_paths_have_the_smoothed_distributions(trials, drift, steps):
    rng = np.random.default_rng(3)
    level = 2 + np.cumsum(rng.normal(0, drift, steps))
    ours = walk(rng.binomial(trials, special.expit(level)), np.full(steps, trials))
    drifts, paths = ours.paths(20_000, rng)
    known = ours.smoothed()
    mean = (known.masses * known.logits).sum(-1)
    sd = np.sqrt((known.masses * known.logits**2).sum(-1) - mean**2)
    np.testing.assert_allclose(paths.mean(0), mean, atol=0.04 * sd.max())
    np.testing.assert_allclose(paths.std(0), sd, rtol=0.03)
    # Given the path the drift is that of its moves: a posterior sd near 1 / sqrt(2 steps).
    moves = np.diff(paths, axis=1) / drifts[:, None]
    assert np.abs(np.median((moves**2).mean(1)) - 1) < 0.3
    weights = special.softmax(ours._posterior[-1].log_weights)
    assert drifts.mean() == pytest.approx(weights @ ours._posterior[-1].drifts, rel=0.04)


@pytest.mark.long
def test_filtered_intervals_cover_when_the_truth_walks_as_the_model_says():
    rng = np.random.default_rng(8)
    covered, static = [], []
    for _ in range(120):
        drift, start = abs(rng.normal(0, 0.2)), rng.beta(4, 1)
        truth = special.expit(special.logit(start) + np.cumsum(np.r_[0, rng.normal(0, drift, 19)]))
        hits = rng.binomial(60, truth)
        ours = walk(hits, np.full(20, 60), (4.0, 1.0))
        below = ours.filtered().take([0, 9, 19]).cdf(truth[[0, 9, 19]])
        covered.append(np.abs(np.subtract(below, 0.5)) < 0.475)
        pooled = special.betainc(4 + hits.sum(), 1 + 20 * 60 - hits.sum(), truth[-1])
        static.append(abs(pooled - 0.5) < 0.475)
    assert 0.91 <= np.mean(covered) <= 0.985
    assert np.mean(static) < 0.8  # what ignores the drift does not cover


def test_intervals_by_name_keep_the_steps():
    ends = bcm.interval(SERIES, "recall", model="drifting", kind="eti")
    assert ends.dims == ("step", "bound")
    distribution = posteriors.drifting(SERIES.values).distribution(resolve("recall"))
    np.testing.assert_allclose(ends, distribution.eti(0.95))
    past = bcm.interval(SERIES, "recall", model="drifting", filtered=True)
    assert past.sel(step=0).values[1] - past.sel(step=0).values[0] > 0.15
    f1 = bcm.interval(SERIES, "f1", model="drifting")
    assert ((f1[:, 1] - f1[:, 0]) > 0.05).all()
    assert float(bcm.prob_above(SERIES, "recall", 0.5, model="drifting").min()) > 0.99


@pytest.mark.parametrize(
    ("cells", "keywords", "message"),
    [
        (TABLES[0], {}, "Confusion matrices must have the shape"),
        (np.ones((4, 3, 3)), {}, "The model drifting needs two-class tables along"),
        (TABLES, {"concentration": 0}, "drifting needs a prior above 0"),
        (TABLES, {"drift": 0}, "drift must be a finite number > 0"),
        (TABLES, {"drift": "fast"}, "drift must be a finite number > 0"),
    ],
)
def test_what_does_not_fit_is_refused(cells, keywords, message):
    with pytest.raises(ValueError, match=message):
        posteriors.drifting(cells, **keywords)
