"""Curves: bands, areas and pointwise bounds, beside what they are made of."""

import numpy as np
import pytest
from scipy.special import betaincinv

import bayescm as bcm
from bayescm.classical import roc_bands


def sample(size):
    rng = np.random.default_rng(1)
    actual = (rng.random(size) < 0.3).astype(int)
    return actual, rng.normal(1.2 * actual, 1)


@pytest.mark.benchmark(group="ROC band, 1,000 draws (bounds: 50 ms at 1e3, 5 s at 1e5)")
@pytest.mark.parametrize("size", [1000, 100_000])
def test_band(benchmark, size):
    evidence = bcm.from_scores(*sample(size))
    found = benchmark(bcm.curves.roc, evidence, draws=1000)
    assert found.band.item() == "simultaneous"


@pytest.mark.benchmark(group="AUC posterior, 1e5 examples (bound: 1 s)")
def test_area(benchmark):
    evidence = bcm.from_scores(*sample(100_000))
    lower, upper = benchmark(bcm.curves.auc, evidence).values
    assert lower < upper


ACTUAL, SCORE = sample(2000)
EVIDENCE = bcm.from_scores(ACTUAL, SCORE)


def bare():
    order = np.argsort(-SCORE)
    for hits in (np.cumsum(ACTUAL[order]), np.cumsum(1 - ACTUAL[order])):
        for tail in (0.025, 0.975):
            betaincinv(hits + 1.0, hits[-1] - hits + 1.0, tail)


@pytest.mark.benchmark(group="pointwise bounds at 2,000 thresholds (bound: 2x bare)")
@pytest.mark.parametrize("bounds", [bare, lambda: roc_bands(EVIDENCE)], ids=["bare", "ours"])
def test_pointwise(benchmark, bounds):
    benchmark(bounds)
