"""How compatible a batch is with those before it: beta-binomial tails, and draws."""

import numpy as np
import pytest
from healthy_series import series
from scipy import stats

import bayescm as bcm
from bayescm import online
from bayescm.measures.labelled import one_measure
from bayescm.online import predictive_check
from bayescm.online.predictive_check import beta_binomial_cdf


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "a", "b"),
    [
        (10, 8, 2),
        (100, 0.5, 0.5),
        (100_000, 0.5, 0.5),
        (10**6, 1.5, 0.5),
        (50, 2000, 300),
        (1, 1, 1),
    ],
)
def test_the_beta_binomial_distribution(n, a, b):
    k = np.unique([-1, 0, 1, n // 3, n // 2, n - 1, n]).astype(float)
    got = beta_binomial_cdf(k, *(np.full(k.shape, float(each)) for each in (n, a, b)))
    np.testing.assert_allclose(got, stats.betabinom(n, a, b).cdf(k), atol=1e-9)


def test_surprise_is_the_beta_binomial_tail_given_the_past():
    rng = np.random.default_rng(3)
    weeks = series(rng, [0.9, 0.85, 0.9, 0.6])
    got = online.surprise(weeks, "recall", forgetting=0.9)
    for t in range(4):
        weights = 0.9 ** np.arange(t, 0, -1)
        past = np.tensordot(weights, weeks.values[:t], 1) if t else np.zeros((2, 2))
        distribution = stats.betabinom(50, past[1, 1] + 0.5, past[1, 0] + 0.5)
        tp = int(weeks[t, 1, 1])
        want = min(1, 2 * min(distribution.cdf(tp), distribution.sf(tp - 1)))
        assert float(got[t]) == pytest.approx(want, rel=1e-6)


@pytest.mark.long
def test_surprise_by_draws_is_near_the_exact_one():
    def same(cells):
        return np.trace(cells, axis1=-2, axis2=-1) / cells.sum((-2, -1))

    weeks = series(np.random.default_rng(3), [0.9, 0.85, 0.9, 0.7])
    drawn, exact = online.surprise(weeks, same), online.surprise(weeks, "accuracy")
    np.testing.assert_allclose(drawn, exact, atol=0.03)


def test_surprise_of_a_batch_that_says_nothing_is_nan():
    weeks = bcm.from_cells(tp=[5, 0, 4], fn=[1, 0, 1], fp=1, tn=9).rename(batch="step")
    for measure in ("recall", "fowlkes_mallows"):
        assert np.isnan(online.surprise(weeks, measure)).values.tolist() == [False, True, False]


def test_surprise_of_many_classes_has_one_for_each():
    tables = np.random.default_rng(1).integers(1, 20, (4, 3, 3))
    weeks = bcm.from_matrix(tables, labels=["cat", "cow", "dog"], dims=("step",))
    assert online.surprise(weeks, "recall").dims == ("step", "class")
    assert online.surprise(weeks, "accuracy").dims == ("step",)


def test_fractional_batches_have_no_predictive_distribution():
    weeks = bcm.from_cells(tp=[5.5, 4], fn=1, fp=1, tn=9, fractional=True).rename(batch="step")
    with pytest.raises(ValueError, match="Fractional"):
        online.surprise(weeks, "recall")


@pytest.mark.long
def test_batches_that_fit_are_seldom_called_surprising():
    rng, rate, alarms = np.random.default_rng(4), 0.05, []
    for _ in range(60):
        tails = online.surprise(series(rng, np.full(50, rng.uniform(0.6, 0.95))), "recall")
        alarms.append((tails[5:] <= rate).mean())
    assert np.mean(alarms) < rate + 3 * np.sqrt(rate / 60 / 45)
    assert np.mean(alarms) > rate / 3  # discrete, so below the rate, but not without power


@pytest.mark.long
@pytest.mark.parametrize("measure", ["mcc", "lift"])
def test_batches_that_are_not_drawn_are_not_unlikely(measure):
    rng = np.random.default_rng(3)
    weights = np.broadcast_to([[450.0, 60.5], [80.5, 300.0]], (60, 2, 2))
    cells = rng.multinomial(200, rng.dirichlet([20, 3, 4, 14], 60)).reshape(-1, 2, 2)
    kernel = one_measure(measure, bcm.from_matrix(cells, positive=1))
    near = predictive_check._is_near(kernel, cells, weights)
    tails = predictive_check._tails_by_draws(kernel, cells, weights, 5000, rng)
    two_sided = 2 * np.minimum(*tails)
    assert near.any()
    assert not near.all()
    assert two_sided[near].min() > 0.01
    assert two_sided.min() < 0.01
