"""Areas under curves by their moments, against draws."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import curves
from bayescm.measures.curves import auc
from bayescm.posteriors.roc import slots
from bayescm.posteriors.scores import area_distribution, scores


def evidence(size, shift, positive, ties=None):
    rng = np.random.default_rng(4)
    actual = np.arange(size) < positive * size
    score = rng.normal(shift * actual, 1)
    return bcm.from_scores(actual, score if ties is None else np.round(score * ties))


@pytest.mark.parametrize(
    "case", [(20, 0.0, 0.3), (50, 1.0, 0.3), (200, 1.5, 0.3, 2), (100, 1.0, 0.05), (60, 2.0, 0.5)]
)
def test_the_moments_are_those_of_draws(case):
    posterior = scores(evidence(*case))
    found = area_distribution(posterior.samples[0].slots[0].concentration)
    drawn = auc(posterior.samples[0].curves(20_000, np.random.default_rng(1))[0])
    error = drawn.std() / np.sqrt(len(drawn))
    assert found.mean() == pytest.approx(drawn.mean(), abs=4 * error)
    assert found.sd() == pytest.approx(drawn.std(), rel=0.05)
    gap = (drawn - drawn.mean()) / drawn.std()
    assert found.skewness() == pytest.approx((gap**3).mean(), abs=8 * (gap**3).std() / 141)
    ends = found.eti(0.95)
    within = 2 * found.error_at(ends) + 12 * error  # twice what is said, and Monte Carlo error
    assert (np.abs(ends - np.quantile(drawn, [0.025, 0.975])) <= within).all()


@pytest.mark.long
def test_separated_classes_are_drawn():
    apart = evidence(200, 4.0, 0.3)
    drawn = curves.auc(apart, draws=4000)
    assert curves.auc(apart).identical(drawn)
    both = bcm.from_scores(
        apart["actual"].values, {"apart": apart["score"].values, "not": np.arange(200) % 7}
    )
    found = curves.auc(both)
    np.testing.assert_array_equal(found.sel(classifier="apart"), drawn)
    assert (found.sel(classifier="not") != curves.auc(both, draws=4000).sel(classifier="not")).all()


@pytest.mark.parametrize("digits", [None, 1])
def test_blocks_of_very_many_scores_have_the_area_of_all_of_them(digits, monkeypatch):
    rng = np.random.default_rng(8)
    positive, weights = rng.random(20_000) < 0.3, rng.exponential(size=20_000) + 0.1
    score = rng.normal(positive, 1) if digits is None else rng.normal(positive, 1).round(digits)
    score[:3] = np.inf, np.inf, -np.inf
    exact = area_distribution(slots.slots_of(score, positive, weights).concentration)
    monkeypatch.setattr(slots, "_MANY", 100)
    monkeypatch.setattr(slots, "_BLOCKS", 2000)
    monkeypatch.setattr(slots, "_CHUNK", 3000)  # the last one is shorter
    found = area_distribution(slots.block_weights(score, positive, weights))
    assert found.mean() == pytest.approx(exact.mean(), abs=0.01 * exact.sd())
    assert found.sd() == pytest.approx(exact.sd(), rel=1e-3)
