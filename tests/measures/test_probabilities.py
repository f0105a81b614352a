"""Measures of probabilities in the sample: scikit-learn's, and identities between them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.measures.probabilities import Forecasts, recalibration


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    odds = rng.normal(-0.5, 1.3, 500)
    probability = 1 / (1 + np.exp(-odds))
    return (rng.random(500) < 1 / (1 + np.exp(-0.6 * odds))).astype(int), probability


def points(sample, *names, **keywords):
    evidence = bcm.from_probabilities(*sample, **keywords)
    table = bcm.summary(evidence, list(names))
    assert ((table["lower"] < table["point"]) & (table["point"] < table["upper"])).all()
    return table["point"].to_numpy()


def test_proper_scores_are_scikit_learns(sample):
    brier, log = points(sample, "brier", "log_loss")
    assert brier == pytest.approx(brier_score_loss(*sample), rel=1e-12)
    assert log == pytest.approx(log_loss(*sample), rel=1e-12)


@pytest.mark.long
def test_recalibration_is_the_logistic_regression(sample):
    actual, probability = sample
    odds = np.log(probability / (1 - probability))
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(odds[:, None], actual)
    (slope,) = points(sample, "calibration_slope")
    assert slope == pytest.approx(fitted.coef_.item(), rel=1e-5)


def test_the_intercept_makes_the_mean_right(sample):
    actual, probability = sample
    (level,) = points(sample, "calibration_intercept")
    odds = np.log(probability / (1 - probability)) + level
    assert (1 / (1 + np.exp(-odds))).mean() == pytest.approx(actual.mean(), rel=1e-6)


@pytest.mark.parametrize(("size", "seed"), [(12, 1), (12, 3), (12, 5), (12, 7), (300, 2)])
def test_every_draw_of_the_recalibration_solves_its_equations(size, seed):
    rng = np.random.default_rng(seed)
    odds = rng.normal(-1, 2, size)
    outcome = (rng.random(size) < 1 / (1 + np.exp(-0.5 * odds))).astype(float)
    outcome[[odds.argmin(), odds.argmax()]] = 1, 0  # the classes do not come apart
    weight = rng.dirichlet(np.ones(size), 200)
    drawn = Forecasts(1 / (1 + np.exp(-odds))[None], outcome, weight, lambda: None)
    for fixed in (False, True):
        level, slope = recalibration(drawn, fixed=fixed)
        gap = weight * (outcome - 1 / (1 + np.exp(-level - slope * odds)))
        assert np.abs(gap.sum(axis=1)).max() < 1e-6
        if not fixed:
            assert np.abs(gap @ odds).max() < 1e-5


@pytest.mark.long
def test_brier_is_refinement_and_miscalibration(sample):
    posterior = bcm.posteriors.calibration(bcm.from_probabilities(*sample))
    names = ["refinement", "uncertainty", "discrimination"]
    rng = np.random.default_rng(1)
    refinement, uncertainty, discrimination = posterior.draw(
        [resolve(each) for each in names], 500, rng
    )
    # Both estimate the same prevalence, one by the outcomes, the other by the curve.
    gap = uncertainty - discrimination - refinement
    assert abs(gap.mean()) < 0.002
    assert np.corrcoef(uncertainty - discrimination, refinement)[0, 1] > 0.5


@pytest.mark.long
def test_bins_are_chosen(sample):
    posterior = bcm.posteriors.calibration(bcm.from_probabilities(*sample))
    names = ["ece_binned", "ece_binned(15)", "ece_binned(bins=1)", "ece_binned(edges=[0,0.3,1])"]
    names += ["ece_binned(1000)", "ece", "calibration_in_the_large"]
    drawn = posterior.draw([resolve(each) for each in names], 200, np.random.default_rng(1))
    fifteen, same, one, two, many, none, _ = drawn
    np.testing.assert_allclose(fifteen, same, rtol=1e-12)
    assert (one <= two + 1e-12).all()  # the more bins, the more
    assert (two <= none + 1e-12).all()
    assert (np.abs(many - none) < 0.1 * none).mean() > 0.9
    assert not resolve("ece_binned(10)").same_as(resolve("ece_binned(11)"))


@pytest.mark.parametrize(
    "given",
    ["0", "2.5", "edges=[0,0.8,0.2,1]", "3,[0,1],2", "edges=[0.1,1]", "edges='x'", "wide=3", "(,)"],
)
def test_bad_bins_are_refused(given):
    with pytest.raises(ValueError, match=r"ece_binned|edges"):
        resolve(f"ece_binned({given})")


def test_measures_of_cells_are_refused(sample):
    with pytest.raises(ValueError, match="not a measure of probabilities or curves, but of cells"):
        bcm.interval(bcm.from_probabilities(*sample), "f1")
    with pytest.raises(ValueError, match="not a measure of cells, but of probabilities"):
        bcm.interval(bcm.from_cells(tp=5, fn=2, fp=3, tn=9), "brier")


def test_the_area_is_scikit_learns_with_ties(sample):
    actual, probability = sample
    coarse = probability.round(1).clip(0.05, 0.95)
    (area,) = points((actual, coarse), "auc")
    assert area == pytest.approx(roc_auc_score(actual, coarse), abs=1e-12)
    evidence = bcm.from_probabilities(actual, coarse)
    ends = bcm.interval(evidence, "roc_auc", kind="eti").values
    assert ends == pytest.approx(bcm.curves.auc(evidence).values, abs=0.01)


@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_a_mean_over_folds_stays_within_the_range_of_its_measure(kind):
    rng = np.random.default_rng(0)
    actual, share = np.arange(90) % 3, rng.dirichlet(np.ones(3), 90)
    share[np.arange(90), actual] += 1.2 * rng.random(90)
    share /= share.sum(axis=1, keepdims=True)
    evidence = bcm.from_probabilities(actual, share, fold=np.arange(90) // 30)
    for draws in (None, 500):
        lower, upper = bcm.interval(evidence, "auc_macro", kind=kind, draws=draws).values
        assert 0 < lower < upper <= 1
