"""DeLong's intervals, pointwise bands and the bootstrap of curves."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import beta
from sklearn.metrics import average_precision_score, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

import bayescm as bcm
from bayescm.classical import (
    curve_bootstrap,
    delong,
    delong_compare,
    hull_areas,
    precision_recall_bands,
    roc_bands,
)
from bayescm.classical.curves import resampled_curve
from bayescm.measures.curves import auc, average_precision


def sample(size=40, ties=False, seed=1):
    rng = np.random.default_rng(seed)
    actual = (rng.random(size) < 0.4).astype(int)
    first = rng.normal(actual, 1)
    second = first + rng.normal(size=size)
    return actual, (np.round(first), np.round(second)) if ties else (first, second)


def by_definition(actual, scores):
    wins = []
    for score in scores:
        gap = score[actual == 1][:, None] - score[actual == 0]
        wins.append((gap > 0) + (gap == 0) / 2)
    wins = np.array(wins)
    covariance = np.cov(wins.mean(2)) / wins.shape[1] + np.cov(wins.mean(1)) / wins.shape[2]
    return wins.mean((1, 2)), covariance


@pytest.mark.parametrize("ties", [False, True])
def test_pairs_by_definition(ties):
    actual, scores = sample(ties=ties)
    areas, covariance = by_definition(actual, scores)
    row = delong_compare(bcm.from_scores(actual, dict(zip("ab", scores, strict=True)))).iloc[0]
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert row["difference"] == pytest.approx(areas[0] - areas[1])
    assert row["sd"] == pytest.approx(np.sqrt(variance))
    assert row["z"] == pytest.approx(row["difference"] / row["sd"])
    assert 0 < row["p_value"] < 1


@pytest.mark.parametrize("ties", [False, True])
def test_intervals_by_definition(ties):
    actual, scores = sample(ties=ties)
    areas, covariance = by_definition(actual, scores)
    evidence = bcm.from_scores(actual, dict(zip("ab", scores, strict=True)))
    sd = np.sqrt(np.diag(covariance))
    plain, on_logits = delong(evidence, transform="none"), delong(evidence)
    np.testing.assert_allclose(plain[:, 1] - plain[:, 0], 2 * 1.959964 * sd, rtol=1e-6)
    np.testing.assert_allclose(plain.mean("bound"), areas)
    np.testing.assert_allclose(logit(on_logits).mean("bound"), logit(areas))
    assert ((on_logits > 0) & (on_logits < 1)).all()


def test_weights_are_copies():
    actual, (score, _) = sample()
    copies = np.arange(40) % 3 + 1
    once = delong(bcm.from_scores(actual, score, weights=copies))
    many = delong(bcm.from_scores(np.repeat(actual, copies), np.repeat(score, copies)))
    np.testing.assert_allclose(once, many)


def test_separated_classes_have_no_interval_here():
    evidence = bcm.from_scores([0, 0, 1, 1], [1, 2, 3, 4])
    assert np.isnan(delong(evidence)).all()
    assert delong(evidence, transform="none").values.tolist() == [1, 1]
    lower, upper = bcm.curves.auc(evidence).values
    assert lower < 0.9 < upper


def test_copies_have_no_p_value():
    actual, (score, _) = sample()
    row = delong_compare(bcm.from_scores(actual, {"a": score, "b": 2 * score})).iloc[0]
    assert row["difference"] == 0
    assert np.isnan(row["p_value"])


def test_folds_keep_their_dim():
    actual, (score, other) = sample()
    evidence = bcm.from_scores(actual, {"a": score, "b": other}, fold=np.arange(40) % 2)
    assert delong(evidence).dims == ("fold", "classifier", "bound")


def test_bad_evidence_is_refused():
    with pytest.raises(ValueError, match="two examples"):
        delong(bcm.from_scores([0, 0, 1], [1, 2, 3]))
    with pytest.raises(ValueError, match="Exactly two classes are needed"):
        delong(bcm.from_scores([0, 1, 2], np.eye(3)))
    with pytest.raises(
        ValueError, match="A comparison needs at least two classifiers, without folds"
    ):
        delong_compare(bcm.from_scores([0, 0, 1, 1], [1, 2, 3, 4]))
    with pytest.raises(ValueError, match="transform"):
        delong(bcm.from_scores([0, 0, 1, 1], [1, 2, 3, 4]), transform="log")


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
    with pytest.raises(ValueError, match="Weighted counts are not whole numbers"):
        roc_bands(half, method="wilson")
    with pytest.raises(ValueError, match="Bands of a curve need the variables fpr"):
        hull_areas(EVIDENCE)


RANDOM = np.random.default_rng(1)
CLASSES = (RANDOM.random(150) < 0.4).astype(int)
ROUNDED = np.round(RANDOM.normal(CLASSES, 1), 1)


def test_a_resample_is_scored_as_scikit_learn_does():
    counts = RANDOM.multinomial(150, np.full(150, 1 / 150), 3).astype(float)
    result = resampled_curve(ROUNDED, CLASSES, counts)
    for row, area in zip(counts, auc(result), strict=True):
        assert area == pytest.approx(roc_auc_score(CLASSES, ROUNDED, sample_weight=row))
    ones = resampled_curve(ROUNDED, CLASSES, np.ones((1, 150)))
    expected = average_precision_score(CLASSES, ROUNDED)
    assert average_precision(ones)[0] == pytest.approx(expected)


def test_intervals_are_near_the_posterior_where_examples_are_many():
    evidence = bcm.from_scores(CLASSES, {"a": ROUNDED, "b": -ROUNDED})
    result = curve_bootstrap(evidence, random_seed=1)
    np.testing.assert_allclose(result, bcm.curves.auc(evidence), atol=0.015)


def test_separated_classes_leave_it_no_doubt():
    evidence = bcm.from_scores([0] * 8 + [1] * 8, range(16))
    assert curve_bootstrap(evidence, random_seed=1).values.tolist() == [1, 1]
    assert np.ptp(bcm.curves.auc(evidence).values) > 0.05


def test_what_it_does_not_take_is_refused():
    for keywords in ({"fold": CLASSES * 0 + np.arange(150) % 2}, {"weights": CLASSES + 1}):
        with pytest.raises(ValueError, match="The bootstrap needs a single unweighted sample"):
            curve_bootstrap(bcm.from_scores(CLASSES, ROUNDED, **keywords))
