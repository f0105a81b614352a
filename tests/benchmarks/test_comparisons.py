"""
How long comparisons take.

Run with ``pytest tests/benchmarks --benchmark-only``; on a busy machine
``--benchmark-timer=time.process_time`` counts the processor's time alone.
"""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.answers.joint import envelope
from bayescm.classical.intervals import multinomial_samples, resample

MEASURES = ["f1", "mcc", "accuracy", "recall", "precision"]


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    actual = rng.random(100_000) < 0.3
    answers = {name: np.where(rng.random(100_000) < 0.85, actual, ~actual) for name in "ab"}
    return actual, answers


def test_outcomes_of_a_hundred_thousand_examples(benchmark, many):
    assert int(benchmark(bcm.from_classifiers, *many).counts.sum()) == 100_000


def test_two_classifiers_five_measures(benchmark, many):
    both = bcm.from_classifiers(*many)
    table = benchmark(bcm.compare, both, MEASURES, draws=10_000, random_seed=0)
    assert len(table) == 5
    assert benchmark.stats.stats.median < 0.5


def test_all_pairs_of_twenty_classifiers(benchmark):
    rng = np.random.default_rng(0)
    actual = rng.random(500) < 0.5
    answers = {f"c{n}": np.where(rng.random(500) < 0.8, actual, ~actual) for n in range(20)}
    twenty = bcm.from_classifiers(actual, answers)
    assert len(benchmark(bcm.compare, twenty, "accuracy")) == 190


def test_twelve_measures_jointly(benchmark):
    draws = np.random.default_rng(0).standard_normal((10_000, 12))
    benchmark(envelope, draws, 0.95)
    assert benchmark.stats.stats.median < 0.2


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(0)
    actual = rng.random(500) < 0.3
    answers = {name: np.where(rng.random(500) < 0.85, actual, ~actual) for name in "abc"}
    return bcm.from_classifiers(actual, answers)


def test_three_classifiers_and_four_measures_jointly(benchmark, three):
    benchmark(bcm.joint_interval, three, MEASURES[:4], draws=10_000, random_seed=0)
    assert benchmark.stats.stats.median < 0.2


def test_regions_of_three_classifiers(benchmark, three):
    benchmark(bcm.answers.region, three, ("recall", "precision"), draws=10_000, random_seed=0)
    assert benchmark.stats.stats.median < 0.2


def test_a_thousand_resamples_of_one_matrix(benchmark):
    setting = multinomial_samples(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1")
    values = benchmark(resample, setting, 1000, np.random.default_rng(0))
    assert values.shape == (1000, 1, 1, 1)


def test_fourteen_studies(benchmark):
    rng = np.random.default_rng(0)
    tp, tn = rng.binomial(60, 0.85, 14), rng.binomial(200, 0.8, 14)
    sites = bcm.from_cells(tp=tp, fn=60 - tp, fp=200 - tn, tn=tn).rename(batch="group")
    benchmark(bcm.interval, sites, "recall")
    assert benchmark.stats.stats.median < 1.0


def test_ten_classes_that_share_strength(benchmark):
    cells = np.random.default_rng(0).multinomial(50, np.full(100, 0.01)).reshape(10, 10)
    counts = bcm.from_matrix(cells, labels=[f"c{i}" for i in range(10)])
    benchmark(bcm.interval, counts, "f1_macro", model="hierarchical_rows")
