"""Averages over classes by moments, against draws and the exact convolution."""

from dataclasses import replace

import numpy as np
import pytest

import bayescm as bcm
from bayescm.distributions import closed_forms, dirichlet
from bayescm.distributions.beta import Beta
from bayescm.distributions.moments import CornishFisherBeta, MccDerivatives, excess_kurtosis
from bayescm.measures import resolve
from bayescm.posteriors import dirichlet_multinomial

DRAWS = 100_000
SHARES = np.array([0.005, 0.025, 0.5, 0.975, 0.995])


def cells(classes, size, right, seed):
    rng = np.random.default_rng(seed)
    wrong = rng.dirichlet(np.full(classes**2, 2.0)).reshape(classes, classes)
    wrong *= 1 - np.eye(classes)
    hit = np.diag(np.linspace(1, 2, classes)) / (1.5 * classes)
    shares = right * hit + (1 - right) * wrong / wrong.sum()
    return rng.multinomial(size, shares.ravel()).reshape(classes, classes)


@pytest.mark.parametrize(
    ("name", "classes", "size", "right"),
    [
        ("f1_macro", 3, 150, 0.8),
        ("jaccard_macro", 2, 200, 0.7),
        ("precision_macro", 3, 90, 0.8),
        ("f1_macro", 6, 400, 0.9),
        ("mcc", 3, 60, 0.8),
        ("mcc", 6, 400, 0.5),
    ],
)
@pytest.mark.long
def test_bounds_are_those_of_draws(name, classes, size, right):
    posterior = dirichlet_multinomial(cells(classes, size, right, classes))
    found = closed_forms.by_moments(resolve(name), posterior.concentration)
    assert found.how == "moments"
    theta = dirichlet.draw(posterior.concentration, DRAWS, np.random.default_rng(1), axes=2)
    drawn = resolve(name)(theta)
    ends = found.quantile(SHARES)
    # The share of draws below, within four Monte Carlo errors and twice what is stated.
    sure = 4 * np.sqrt(SHARES * (1 - SHARES) / DRAWS) + 2 * found.error_at(ends) * found.pdf(ends)
    assert (np.abs((drawn[:, None] < ends).mean(0) - SHARES) <= sure).all()
    assert found.mean() == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(DRAWS))
    assert found.sd() == pytest.approx(drawn.std(), rel=0.02)


def test_more_classes_than_two_have_recall_for_balanced_accuracy():
    counts = bcm.from_matrix(cells(6, 300, 0.8, 1))
    recall, balanced = (
        bcm.interval(counts, name, kind="eti") for name in ("recall_macro", "balanced_accuracy")
    )
    np.testing.assert_array_equal(recall, balanced)
    assert recall.attrs["how"] == "moments"


@pytest.mark.long
@pytest.mark.parametrize("name", ["f1_macro", "precision_macro", "mcc"])
def test_a_hopeless_matrix_in_a_batch_is_asked_of_the_slow_way(name):
    hopeless = np.diag([0, 1, 60])
    usual = [cells(3, 300, 0.8, seed) for seed in range(8)]  # too many to be pre-integrated
    every = bcm.from_matrix(np.stack([usual[0], hopeless, *usual[1:]]))
    for kind in ("eti", "hdi"):
        found = bcm.interval(every, name, accuracy=1e-3, kind=kind)
        assert found.attrs["how"].startswith("moments, draws for 1 of 9")
        alone = bcm.interval(every[1], name, draws=20_000, kind=kind)
        np.testing.assert_allclose(found[1], alone, atol=0.04)
        assert found.attrs["error"] < 0.04


def test_a_beta_is_near_itself():
    beta = Beta(np.array([20.0, 3.0]), np.array([7.0, 0.9]))
    near = CornishFisherBeta(
        beta.mean(), beta.sd(), beta.skewness(), excess_kurtosis(beta.mean(), beta.sd())
    )
    for kind in ("eti", "hdi"):
        np.testing.assert_allclose(getattr(near, kind)(0.95), getattr(beta, kind)(0.95), rtol=1e-6)
    assert near.hdi_kind(0.95).tolist() == beta.hdi_kind(0.95).tolist()
    wide = replace(near, support=(-1.0, 1.0))
    np.testing.assert_allclose(wide.eti(0.95), 2 * near.eti(0.95) - 1)
    np.testing.assert_allclose(wide.hdi(0.95), 2 * near.hdi(0.95) - 1, atol=1e-6)
    np.testing.assert_allclose(wide.cdf(wide.quantile(0.3)), 0.3)
    assert wide.sd() == pytest.approx(2 * near.sd())


def test_some_of_the_classes_are_not_all_of_them():
    counts = bcm.from_matrix(cells(6, 300, 0.8, 1), labels=list("abcdef"))
    every, some = (bcm.interval(counts, name, kind="eti") for name in ("f1_macro", "f1_macro[a,b]"))
    assert (every.attrs["how"], some.attrs["how"]) == ("moments", "draws")
    assert np.abs(every.values - some.values).max() > 0.01


def test_the_second_order_of_many_classes_is_that_of_differences():
    weights = np.random.default_rng(0).gamma(2, 3, (3, 3))
    here, flat, step = MccDerivatives(weights[None]), weights.ravel(), 1e-3
    moved = [
        MccDerivatives(weights + sign * step * each.reshape(1, 3, 3)).slope.ravel()
        for each in np.eye(9)
        for sign in (1, -1)
    ]
    second = (np.array(moved[::2]) - moved[1::2]) / (2 * step)
    np.testing.assert_allclose(here.second.ravel(), np.diag(second), atol=1e-6)
    assert here.squared_hessian()[0] == pytest.approx(flat @ second**2 @ flat, rel=1e-4)
