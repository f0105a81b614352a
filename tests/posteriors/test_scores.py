"""The posterior of curves: distributions of its draws."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.posteriors.roc import curve
from bayescm.posteriors.scores import micro, scores


def sample(size=120, ties=False, seed=1):
    rng = np.random.default_rng(seed)
    actual = rng.random(size) < 0.4
    score = rng.normal(1.2 * actual, 1)
    return actual, np.round(score) if ties else score


def mean_area(view):
    """Return the exact posterior mean of the area, from the means of the masses."""
    negative, positive = view.concentration / view.concentration.sum(1, keepdims=True)
    return negative @ (np.cumsum(positive) - positive / 2)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("resolution", [None, 32])
def test_the_mean_area_is_the_closed_form_at_any_resolution(ties, resolution):
    posterior = scores(bcm.from_scores(*sample(ties=ties)))
    (drawn,) = posterior.curves(20_000, np.random.default_rng(2), resolution=resolution)
    areas = curve.auc(drawn)
    error = 4 * areas.std() / np.sqrt(len(areas))
    assert areas.mean() == pytest.approx(mean_area(posterior.views[0]), abs=error)


@pytest.mark.long
def test_the_distribution_does_not_depend_on_the_resolution():
    posterior = scores(bcm.from_scores(*sample(600)))
    fine, coarse = (
        posterior.curves(8000, np.random.default_rng(seed), resolution=resolution)[0]
        for seed, resolution in ((1, None), (2, 128))
    )
    for function in (curve.auc, curve.average_precision, lambda c: curve.partial_auc(c, 0.2)):
        a, b = function(fine), function(coarse)
        spread = a.std()
        assert abs(a.mean() - b.mean()) < 0.08 * spread
        assert b.std() == pytest.approx(spread, rel=0.06)


def test_copies_of_a_classifier_never_differ():
    actual, score = sample(ties=True)
    posterior = scores(bcm.from_scores(actual, {"a": score, "b": np.exp(score), "c": -score}))
    first, second, third = posterior.curves(200, np.random.default_rng(1))
    np.testing.assert_allclose(curve.auc(first), curve.auc(second), atol=1e-12)
    assert np.abs(curve.auc(first) - curve.auc(third)).min() > 0


@pytest.mark.long
@pytest.mark.parametrize("ties", [False, True])
def test_a_classifier_has_one_distribution_alone_and_beside_others(ties):
    actual, score = sample(ties=ties)
    other = score + np.random.default_rng(3).normal(size=len(score))
    alone = scores(bcm.from_scores(actual, score))
    beside = scores(bcm.from_scores(actual, {"a": score, "b": other}))
    np.testing.assert_allclose(alone.views[0].concentration, beside.views[0].concentration)
    first = curve.auc(alone.curves(20_000, np.random.default_rng(1))[0])
    second = curve.auc(beside.curves(20_000, np.random.default_rng(2))[0])
    assert abs(first.mean() - second.mean()) < 0.05 * first.std()
    assert first.std() == pytest.approx(second.std(), rel=0.04)


def test_separated_classes_leave_doubt():
    posterior = scores(bcm.from_scores([0] * 8 + [1] * 8, range(16)))
    areas = curve.auc(posterior.curves(4000, np.random.default_rng(1))[0])
    assert 0.7 < np.quantile(areas, 0.025) < 0.95
    assert np.quantile(areas, 0.975) > 0.999


def test_equal_scores_say_nothing():
    posterior = scores(bcm.from_scores([0] * 20 + [1] * 20, np.zeros(40)))
    areas = curve.auc(posterior.curves(4000, np.random.default_rng(1))[0])
    assert areas.mean() == pytest.approx(0.5, abs=0.01)


def test_prevalence_known_given_a_prior_or_by_default():
    evidence = bcm.from_scores(*sample())
    positives = int(evidence.actual.sum())
    rng = np.random.default_rng(1)
    drawn = scores(evidence).prevalence(50_000, rng)[0]
    assert drawn.mean() == pytest.approx((positives + 0.5) / 121, abs=0.001)
    drawn = scores(evidence, prevalence=(10, 90)).prevalence(50_000, rng)[0]
    assert drawn.mean() == pytest.approx((positives + 10) / 220, abs=0.001)
    assert (scores(bcm.at_prevalence(evidence, 0.1)).prevalence(5, rng) == 0.1).all()


@pytest.mark.parametrize("prevalence", [0, 1.5, (0, 1), (1, 2, 3)])
def test_a_wrong_prevalence_is_refused(prevalence):
    with pytest.raises(ValueError, match=r"prevalence|beta"):
        scores(bcm.from_scores(*sample()), prevalence=prevalence)


def test_folds_and_many_classes_have_no_common_prevalence_or_curve():
    actual, score = sample(12)
    with pytest.raises(ValueError, match="no common curve"):
        scores(bcm.from_scores(actual, score, fold=np.argsort(np.argsort(actual)) % 2))
    many = bcm.from_scores([0, 1, 2], np.eye(3))
    with pytest.raises(ValueError, match="two classes"):
        scores(many, prevalence=0.1)


def test_a_class_against_the_rest_has_the_distribution_it_has_alone():
    rng = np.random.default_rng(1)
    actual, proba = rng.integers(0, 3, 90), rng.random((90, 3))
    many = bcm.from_scores(actual, proba)
    together = scores(many)
    for index, view in enumerate(together.views):
        alone = scores(bcm.curves.one_vs_rest(many, index)).views[0]
        np.testing.assert_allclose(view.concentration, alone.concentration)
    shares = together.prevalence(1000, rng)
    np.testing.assert_allclose(shares.sum(0), 1)


@pytest.mark.long
def test_pairs_of_an_example_count_as_one_observation():
    rng = np.random.default_rng(1)
    actual, proba = rng.integers(0, 3, 60), rng.random((60, 3))
    proba[np.arange(60), actual] += 0.5
    pooled = micro(bcm.from_scores(actual, {"a": proba, "b": proba}))
    first, second = pooled.curves(4000, np.random.default_rng(1))
    areas = curve.auc(first)
    np.testing.assert_allclose(areas, curve.auc(second), atol=1e-12)
    flat = bcm.from_scores((actual[:, None] == np.arange(3)).ravel(), proba.ravel())
    naive = curve.auc(scores(flat).curves(4000, np.random.default_rng(2))[0])
    assert areas.mean() == pytest.approx(naive.mean(), abs=0.01)
    np.testing.assert_array_equal(first.prevalence, 1 / 3)


def test_functions_of_the_same_curves():
    posterior = scores(bcm.from_scores(*sample()))
    areas, twice = posterior.draw(
        [curve.auc, lambda c: 2 * curve.auc(c)], 50, np.random.default_rng(1)
    )
    assert areas.shape == (50, 1)
    np.testing.assert_allclose(twice, 2 * areas)
