"""Intervals of hostile counts: margins of 1 to a million, empty cells, tiny priors."""

import numpy as np
import pytest
from scipy import special

from bayescm import measures
from bayescm.distributions import dirichlet
from bayescm.posteriors import dirichlet_multinomial

# Cells as tn, fp, fn, tp, which a quadrature once got wrong.
ATTACKED = {
    "positive_likelihood_ratio": (720, 6, 911, 15318),
    "negative_likelihood_ratio": (10, 642, 7746, 0),
    "cohen_kappa": (3, 1229116, 26, 7885),
    "mcc": (1e8, 1, 1e8, 1),
    "balanced_accuracy": (640, 6455, 28139951, 4817),
    "overlap": (2378, 678, 0, 904),
}


def _check_tails(name, weights, ends, tails, atol):
    """Compare tails with those of draws, by logs of gamma variates; many may equal an end."""
    theta = dirichlet.draw(weights, 200_000, np.random.default_rng(1), axes=2)
    values = measures.resolve(name)(theta)
    low, high = ends
    beyond = np.array([(values < low).mean(), (values > high).mean()])
    reached = np.array([(values <= low).mean(), (values >= high).mean()])
    if len(tails) == 1:
        beyond, reached = beyond.sum(keepdims=True), reached.sum(keepdims=True)
    assert (beyond <= np.add(tails, atol)).all()
    assert (reached >= np.subtract(tails, atol)).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ATTACKED)
@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_counts_that_were_once_wrong(name, kind):
    cells = np.reshape(ATTACKED[name], (2, 2))
    prior = 0.1 if name == "overlap" else 0.5
    posterior = dirichlet_multinomial(cells, concentration=prior)
    distribution = posterior.distribution(measures.resolve(name))
    ends, error = distribution.interval_with_error(0.95, kind)
    assert ends[0] < ends[1]
    assert np.isfinite(error).all()
    tails = [0.025, 0.025] if kind == "eti" else [0.05]
    _check_tails(name, posterior.concentration, ends, tails, 0.0025)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "cells", "prior", "kind", "prob"),
    [
        ("diagnostic_odds_ratio", (3, 0, 0, 0), 0.011, "eti", 0.999),
        ("diagnostic_odds_ratio", (0, 8, 482, 45380), 0.043, "hdi", 0.99),
        ("balanced_accuracy", (0, 0, 244386867, 4171879), 0.041, "hdi", 0.5),
        ("negative_likelihood_ratio", (0, 10, 0, 0), 0.024, "eti", 0.5),
    ],
)
def test_the_error_is_known_where_a_share_is_next_to_unknown(name, cells, prior, kind, prob):
    """Once NaN, infinite, or wrong by two grids that failed in the same way."""
    posterior = dirichlet_multinomial(np.reshape(cells, (2, 2)), concentration=prior)
    ends, error = posterior.distribution(measures.resolve(name)).interval_with_error(prob, kind)
    assert 0 <= ends[0] < ends[1]
    assert np.isfinite(error).all()
    tails = np.array([1, 1]) * (1 - prob) / 2 if kind == "eti" else [1 - prob]
    _check_tails(name, posterior.concentration, ends, tails, 0.01 * (1 - prob) + 0.004)


def test_alone_and_in_a_batch_the_same():
    cells = np.array([[640, 6455, 28139951, 4817], [9, 1, 0, 3], [40, 10, 10, 40]])
    batch = dirichlet_multinomial(cells.reshape(-1, 2, 2))
    measure = measures.balanced_accuracy
    many = batch.distribution(measure).eti(0.95)
    for own, ends in zip(cells, many, strict=True):
        alone = dirichlet_multinomial(own.reshape(2, 2)).distribution(measure)
        np.testing.assert_allclose(alone.eti(0.95), ends, rtol=1e-9)


@pytest.mark.long
def test_bounds_beyond_the_quadrature_are_drawn_and_say_so():
    """All but nothing is known: the prior is a hundredth of an example."""
    posterior = dirichlet_multinomial([[1, 0], [0, 0]], concentration=0.01)
    distribution = posterior.distribution(measures.balanced_accuracy)
    ends, error = distribution.interval_with_error(0.5, "eti")
    assert 0 <= ends[0] < ends[1] <= 1
    assert np.isfinite(error).all()
    _check_tails("balanced_accuracy", posterior.concentration, ends, [0.25, 0.25], 0.01)
    assert distribution.how in ("quadrature", "draws")


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), [("cohen_kappa", "eti"), ("mcc", "hdi")])
def test_the_stated_error_is_not_too_small(name, kind):
    """Never less than half the actual one, against the finest integral."""
    cells = np.random.default_rng(0).multinomial(60, [0.45, 0.05, 0.1, 0.4], 6).reshape(-1, 2, 2)
    distribution = dirichlet_multinomial(cells).distribution(measures.resolve(name))
    exact = distribution.with_tolerance(1e-10).interval_with_error(0.95, kind)[0]
    for accuracy in (1e-3, 1e-6):
        ends, error = distribution.with_tolerance(accuracy).interval_with_error(0.95, kind)
        assert (error <= accuracy).all()
        assert (np.abs(ends - exact) <= 2 * error + 1e-9).all()


@pytest.mark.long
@pytest.mark.parametrize("cells", [(0, 0, 15, 0), (0, 0, 0, 15)])
@pytest.mark.parametrize("accuracy", [1e-4, 1e-6])
def test_the_error_of_an_interval_with_one_end_is_not_too_small(cells, accuracy):
    """Once a quarter of the actual one: two levels of rays agreed at the only end by chance."""
    posterior = dirichlet_multinomial(np.reshape(cells, (2, 2)))
    distribution = posterior.distribution(measures.diagnostic_odds_ratio)
    exact, left = distribution.with_tolerance(1e-12).interval_with_error(0.5, "hdi")
    ends, error = distribution.with_tolerance(accuracy).interval_with_error(0.5, "hdi")
    assert ends[0] == exact[0] == 0
    assert (np.abs(ends - exact) <= error + left + 1e-12 * exact).all()


@pytest.mark.long
@pytest.mark.parametrize(
    ("cells", "prior", "kind", "prob"),
    [
        ((0, 0, 0, 4), 0.2, "eti", 0.9),
        ((0, 0, 0, 4), 0.3, "eti", 0.9),
        ((0, 0, 0, 4), 0.2, "hdi", 0.99),
        ((0, 0, 15, 0), 0.5, "hdi", 0.99),
    ],
)
def test_two_levels_do_not_agree_by_chance(cells, prior, kind, prob):
    """Once an eighth of the actual error; and U-shaped where the density falls throughout."""
    posterior = dirichlet_multinomial(np.reshape(cells, (2, 2)), concentration=prior)
    distribution = posterior.distribution(measures.fowlkes_mallows)
    exact, rough = distribution.with_tolerance(1e-12), distribution.with_tolerance(1e-3)
    ends, error = rough.interval_with_error(prob, kind)
    assert (np.abs(ends - exact.interval_with_error(prob, kind)[0]) <= 2 * error).all()
    if kind == "hdi":
        assert rough.hdi_kind(prob) == exact.hdi_kind(prob)


@pytest.mark.long
@pytest.mark.parametrize("accuracy", [1e-3, 1e-12])
@pytest.mark.parametrize("prob", [0.5, 0.99])
def test_a_density_far_out_is_not_that_of_rounding(prob, accuracy):
    """Once these odds, whose density falls throughout, were not unimodal, and off by 3 %."""
    posterior = dirichlet_multinomial([[0, 0], [0, 15]], concentration=0.3)
    distribution = posterior.distribution(measures.diagnostic_odds_ratio).with_tolerance(accuracy)
    ends, error = distribution.interval_with_error(prob, "hdi")
    assert ends[0] == error[0] == 0

    # The mass below by the trapezoidal rule in the log odds of a false alarm.
    alarm = np.arange(-150, 150, 0.02)
    weights = np.exp(-0.3 * (np.logaddexp(0, alarm) + np.logaddexp(0, -alarm)))
    slack = 2 * error[1] + 1e-12 * ends[1]
    recall = alarm + np.log([[ends[1] - slack], [ends[1] + slack]])
    below = special.betainc(15.3, 0.3, special.expit(recall))
    above = special.betainc(0.3, 15.3, special.expit(-recall))
    low, high = np.where(recall < 0, below, 1 - above) @ weights / weights.sum()
    assert low <= prob <= high


@pytest.mark.long
def test_newton_does_not_go_back_and_forth_across_a_kink():
    """Once a quantile of .9 had .107 below it: steps across 0, where the density falls, undone."""
    posterior = dirichlet_multinomial([[0, 3], [1, 903]], concentration=0.01612)
    distribution = posterior.distribution(measures.informedness)
    ends, error = distribution.interval_with_error(0.8, "eti")
    _check_tails("informedness", posterior.concentration, ends, [0.1, 0.1], 0.004)
    assert (error <= 1e-6).all()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_the_ends_of_next_to_no_agreement_are_in_order_and_their_error_is_stated(kind):
    """Kappa of next to no agreement, nor prior: ends were once reversed, or their error unknown."""
    posterior = dirichlet_multinomial([[0, 1], [32, 0]], concentration=0.02555)
    ends, error = posterior.distribution(measures.cohen_kappa).interval_with_error(0.999, kind)
    assert ends[0] < ends[1]
    assert np.isfinite(error).all()
    if kind == "eti":
        _check_tails("cohen_kappa", posterior.concentration, ends, [0.0005, 0.0005], 0.0002)
