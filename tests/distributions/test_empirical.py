"""The error that is stated of an interval of draws."""

import numpy as np
import pytest
from scipy import optimize, stats

from bayescm.distributions.empirical import AttainedEnds, Discrete, Empirical, WeightedNodes

SAMPLES, DRAWS = 100, 2000
CONTINUOUS = {
    "skewed": stats.beta(16, 4),
    "symmetric": stats.norm(),
    "right at the end of its support": stats.beta(20.5, 0.5),
    "heavy right tail": stats.lognorm(1),
}


def exact(law, kind):
    """Return the 95% interval of a law by scipy alone."""
    if kind == "eti":
        return law.ppf([0.025, 0.975])
    length = optimize.minimize_scalar(
        lambda tail: law.ppf(tail + 0.95) - law.ppf(tail),
        bounds=(1e-12, 0.05 - 1e-12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return law.ppf([length.x, length.x + 0.95])


@pytest.mark.long
@pytest.mark.parametrize("kind", ["hdi", "eti"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_error_bounds_that_of_at_least_95_of_100_intervals(name, kind):
    law, rng = CONTINUOUS[name], np.random.default_rng(20261126)
    batch = Empirical(law.rvs((DRAWS, SAMPLES), random_state=rng))
    ends, errors = batch.interval_with_error(0.95, kind)
    off = np.abs(ends - exact(law, kind)).max(axis=-1)
    # Three standard errors of a share of .95 of 100 are .065.
    assert (off <= errors.max(axis=-1)).mean() >= 0.89
    assert (off <= errors.max(axis=-1) / 6).mean() <= 0.7  # nor is it many times too large


@pytest.mark.parametrize("kind", ["hdi", "eti"])
def test_scarce_and_dependent_draws_have_larger_errors(kind):
    draws = np.random.default_rng(1).normal(size=4000)
    error = Empirical(draws).interval_with_error(0.95, kind)[1].max()
    scarce = Empirical(draws, effective_draws=100).interval_with_error(0.95, kind)[1].max()
    repeated = Empirical(np.repeat(draws[:400], 10), draw_clusters=4)
    assert scarce > 2 * error
    assert repeated.interval_with_error(0.95, kind)[1].max() > 2 * error


def test_many_short_chains_are_worth_as_many_draws_as_there_are_chains():
    draws = np.random.default_rng(1).normal(size=(400, 2))
    still = Empirical(np.repeat(draws, 10, axis=0), draw_clusters=400)
    assert (np.abs(still._effective(4000) / 400 - 1) < 0.2).all()
    moving = Empirical(np.random.default_rng(2).normal(size=(4001, 2)), draw_clusters=400)
    assert (moving._effective(4001) > 3400).all()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["hdi", "eti"])
def test_the_error_of_weighted_nodes_bounds_that_of_independent_ones(kind):
    law, rng = CONTINUOUS["skewed"], np.random.default_rng(5)
    within = []
    for _ in range(SAMPLES):
        nodes = WeightedNodes.of(law.rvs(DRAWS, random_state=rng), np.full(DRAWS, 1 / DRAWS))
        ends, errors = nodes.interval_with_error(0.95, kind)
        within.append(np.abs(ends - exact(law, kind)).max() <= errors.max())
    # The constant is one of evenly spread nodes: of independent ones it bounds four in five.
    assert np.mean(within) >= (0.89 if kind == "hdi" else 0.7)


@pytest.mark.parametrize("kind", ["hdi", "eti"])
def test_errors_of_a_lattice_are_zero_or_whole_steps(kind):
    # Levels of the quantiles are far from the steps of the distribution function: no doubt of them.
    draws = np.random.default_rng(2).choice(5, 20_000, p=[0.01, 0.2, 0.58, 0.2, 0.01])
    errors = Empirical(draws.astype(float)).interval_with_error(0.95, "eti")[1]
    assert errors.tolist() == [0, 0]
    ends, errors = Empirical(draws / 4).interval_with_error(0.95, kind)
    assert np.isin(ends, np.arange(5) / 4).all()
    assert np.isfinite(errors).all()


def test_draws_that_are_undefined_in_part_or_throughout():
    draws = np.random.default_rng(3).normal(size=(1000, 2))
    draws[:900, 0], draws[:, 1] = np.nan, np.nan
    for kind in ("hdi", "eti"):
        ends, errors = Empirical(draws).interval_with_error(0.95, kind)
        assert np.isfinite(ends[0]).all()
        assert np.isfinite(errors[0]).all()
        assert np.isnan(ends[1]).all()


def test_the_attained_end_stands_with_a_finite_error():
    draws = np.random.default_rng(4).beta(30, 1, 2000)
    ends, errors = AttainedEnds(draws, value=1.0).interval_with_error(0.95, "eti")
    assert ends[1] == 1
    assert np.isfinite(errors).all()


def test_infinity_is_a_value_of_its_own_among_those_of_the_next_test_set():
    distribution = Discrete.of([1.0, 2.0, np.inf, np.inf], [0.4, 0.5, 0.06, 0.04])
    assert distribution.sf(1e300) == pytest.approx(0.1)
    assert distribution.mean() == distribution.sd() == np.inf
    assert distribution.hdi(0.9).tolist() == [1.0, 2.0]
    assert distribution.hdi(0.95).tolist() == [1.0, np.inf]
    assert distribution.hdi(0.55).tolist() == [1.0, 2.0]
    assert distribution.hdi(0.5).tolist() == [2.0, 2.0]
    rare = Discrete.of([1.0, 2.0, np.inf], [0.5, 0.5 - 1e-8, 1e-8])
    assert rare.mean() == pytest.approx(1.5)
