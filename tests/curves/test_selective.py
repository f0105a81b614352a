"""Answering only when sure: the sample's figures, promises kept, more than two classes."""

import numpy as np
import pytest
from scipy.stats import beta

import bayescm as bcm


def drawn(seed, size):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, size)
    return (rng.random(size) < p).astype(int), p


def test_coverage_and_risk_of_the_sample_and_jeffreys_interval():
    actual, p = drawn(1, 150)
    found = bcm.curves.risk_coverage(bcm.from_probabilities(actual, p))
    sure, wrong = np.maximum(p, 1 - p), (p >= 0.5) != actual
    for place in (0, 40, 120):
        one = found.isel(threshold=place)
        kept = sure >= one["threshold"].item()
        assert one["coverage"].item() == pytest.approx(kept.mean())
        assert one["risk"].item() == pytest.approx(wrong[kept].mean())
        law = beta(wrong[kept].sum() + 0.5, (kept & ~wrong).sum() + 0.5)
        assert one["interval"].values == pytest.approx(law.ppf([0.025, 0.975]), abs=0.012)
        assert one["p_kept"].item() == pytest.approx(law.cdf(0.05), abs=0.03)
    order = np.argsort(-sure)
    area = (np.cumsum(wrong[order]) / np.arange(1, 151)).mean()
    low, high = found["area_interval"].values
    assert low < area < high


@pytest.mark.long
def test_a_promise_is_broken_no_more_often_than_it_says():
    population = np.random.default_rng(0).beta(0.5, 0.5, 100_000)
    sure = np.maximum(population, 1 - population)
    broken, answered = 0, []
    for seed in range(8):
        evidence = bcm.from_probabilities(*drawn(seed, 250))
        found = bcm.curves.risk_coverage(evidence, promise=0.1, assurance=0.9)
        threshold = found["promised_threshold"].item()
        broken += (1 - sure)[sure >= threshold].mean() > 0.1
        answered.append(found["promised_coverage"].item())
    assert broken <= 2
    assert np.mean(answered) > 0.4


@pytest.mark.long
def test_pairs_are_narrower_than_each_by_itself_and_a_promise_may_be_out_of_reach():
    actual, p = drawn(3, 300)
    near = np.clip(p + np.random.default_rng(4).normal(0, 0.02, 300), 0, 1)
    found = bcm.curves.risk_coverage(
        bcm.from_probabilities(actual, {"a": p, "b": near}), promise=0.001
    )
    gap = found["area_difference"].sel(classifier="a", other="b").diff("bound").item()
    alone = found["area_interval"].diff("bound").values.ravel()
    assert gap < 0.6 * np.hypot(*alone)
    assert found["promised_threshold"].isnull().all()
    assert (found["promised_coverage"] == 0).all()
    assert found["p_best"].sum().item() == pytest.approx(1)


def test_three_classes():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([0.4] * 3, 200)
    actual = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    found = bcm.curves.risk_coverage(bcm.from_probabilities(actual, p))
    assert found["risk"].values[0] == pytest.approx((p.argmax(axis=1) != actual).mean())


def test_what_is_refused():
    actual, p = drawn(6, 60)
    with pytest.raises(TypeError, match="not probabilities"):
        bcm.curves.risk_coverage(bcm.from_scores(actual, p))
    for name in ("fold", "group"):
        parts = bcm.from_probabilities(actual, p, **{name: np.arange(60) % 2})
        with pytest.raises(ValueError, match=f"without {name}"):
            bcm.curves.risk_coverage(parts)
    with pytest.raises(ValueError, match="promise must be a risk"):
        bcm.curves.risk_coverage(bcm.from_probabilities(actual, p), promise=2)
