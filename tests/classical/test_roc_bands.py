"""The thesis's pointwise bands, and the areas of their hulls."""

import numpy as np
import pytest
from scipy.stats import beta
from statsmodels.stats.proportion import proportion_confint

import bayescm as bcm
from bayescm.classical import hull_areas, precision_recall_bands, roc_bands

RNG = np.random.default_rng(1)
ACTUAL = (RNG.random(200) < 0.4).astype(int)
SCORE = np.round(RNG.normal(ACTUAL, 1), 1)
EVIDENCE = bcm.from_scores(ACTUAL, SCORE)
NAMES = {"wilson": "wilson", "clopper_pearson": "beta", "agresti_coull": "agresti_coull"}


def test_credible_bounds_are_quantiles_of_betas():
    bands = roc_bands(EVIDENCE, prob=0.9, concentration=0.5)
    value = bands.threshold.values[20]
    for rate, side in (("tpr", 1), ("fpr", 0)):
        hits, total = (SCORE[side == ACTUAL] >= value).sum(), (side == ACTUAL).sum()
        expected = beta(hits + 0.5, total - hits + 0.5).ppf([0.05, 0.95])
        np.testing.assert_allclose(bands[rate].sel(threshold=value), expected)


@pytest.mark.parametrize("method", NAMES)
def test_classical_bounds_are_statsmodels(method):
    bands = precision_recall_bands(EVIDENCE, method=method)
    value = bands.threshold.values[20]
    predicted = value <= SCORE
    hits = (ACTUAL[predicted] == 1).sum()
    expected = proportion_confint(hits, predicted.sum(), method=NAMES[method])
    np.testing.assert_allclose(bands.precision.sel(threshold=value), expected, atol=1e-12)
    assert (bands.recall >= 0).all()
    assert (bands.recall <= 1).all()


@pytest.mark.parametrize("method", ["credible", *NAMES])
def test_hulls_lie_further_apart_than_an_interval_needs(method):
    lower, upper = hull_areas(roc_bands(EVIDENCE, method=method)).values
    area = bcm.curves.estimate(EVIDENCE).item()
    interval = bcm.curves.auc(EVIDENCE).values
    assert lower < interval[0] < area < interval[1] < upper
    assert 1.5 < (upper - lower) / np.diff(interval).item() < 2.3


def test_precision_recall_hulls():
    lower, upper = hull_areas(precision_recall_bands(EVIDENCE)).values
    assert lower < bcm.curves.estimate(EVIDENCE, "average_precision") < upper


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="method"):
        roc_bands(EVIDENCE, method="wald")
    with pytest.raises(ValueError, match="concentration"):
        roc_bands(EVIDENCE, concentration=0)
    half = bcm.from_scores(ACTUAL, SCORE, weights=ACTUAL + 0.5, weights_are="counts")
    with pytest.raises(ValueError, match="fractional"):
        roc_bands(half, method="wilson")
    with pytest.raises(ValueError, match="not bands of a curve"):
        hull_areas(EVIDENCE)
