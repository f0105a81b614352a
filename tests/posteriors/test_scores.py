"""The posterior of curves: distributions of its draws."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import curves
from bayescm.measures.curves import auc, average_precision, partial_auc
from bayescm.posteriors.scores import area_distribution, scores


def sample(size=120, ties=False, seed=1):
    rng = np.random.default_rng(seed)
    actual = rng.random(size) < 0.4
    score = rng.normal(1.2 * actual, 1)
    return actual, np.round(score) if ties else score


def mean_area(view):
    """Return the exact posterior mean of the area, from the means of the masses."""
    negative, positive = view.concentration / view.concentration.sum(1, keepdims=True)
    return negative @ (np.cumsum(positive) - positive / 2)


@pytest.mark.long
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("resolution", [None, 32])
def test_the_mean_area_is_the_closed_form_at_any_resolution(ties, resolution):
    posterior = scores(bcm.from_scores(*sample(ties=ties))).samples[0]
    (drawn,) = posterior.curves(20_000, np.random.default_rng(2), resolution=resolution)
    areas = auc(drawn)
    error = 4 * areas.std() / np.sqrt(len(areas))
    assert areas.mean() == pytest.approx(mean_area(posterior.slots[0]), abs=error)


@pytest.mark.long
def test_the_distribution_does_not_depend_on_the_resolution():
    posterior = scores(bcm.from_scores(*sample(600))).samples[0]
    fine, coarse = (
        posterior.curves(8000, np.random.default_rng(seed), resolution=resolution)[0]
        for seed, resolution in ((1, None), (2, 128))
    )
    for function in (auc, average_precision, lambda c: partial_auc(0.2)(c)):
        a, b = function(fine), function(coarse)
        spread = a.std()
        assert abs(a.mean() - b.mean()) < 0.08 * spread
        assert b.std() == pytest.approx(spread, rel=0.06)


def test_copies_of_a_classifier_never_differ():
    actual, score = sample(ties=True)
    posterior = scores(
        bcm.from_scores(actual, {"a": score, "b": np.exp(score), "c": -score})
    ).samples[0]
    first, second, third = posterior.curves(200, np.random.default_rng(1))
    np.testing.assert_allclose(auc(first), auc(second), atol=1e-12)
    assert np.abs(auc(first) - auc(third)).min() > 0


@pytest.mark.long
@pytest.mark.parametrize("ties", [False, True])
def test_a_classifier_has_one_distribution_alone_and_beside_others(ties):
    actual, score = sample(ties=ties)
    other = score + np.random.default_rng(3).normal(size=len(score))
    alone = scores(bcm.from_scores(actual, score)).samples[0]
    beside = scores(bcm.from_scores(actual, {"a": score, "b": other})).samples[0]
    np.testing.assert_allclose(alone.slots[0].concentration, beside.slots[0].concentration)
    first = auc(alone.curves(20_000, np.random.default_rng(1))[0])
    second = auc(beside.curves(20_000, np.random.default_rng(2))[0])
    assert abs(first.mean() - second.mean()) < 0.05 * first.std()
    assert first.std() == pytest.approx(second.std(), rel=0.04)


def test_separated_classes_leave_doubt():
    posterior = scores(bcm.from_scores([0] * 8 + [1] * 8, range(16))).samples[0]
    areas = auc(posterior.curves(4000, np.random.default_rng(1))[0])
    assert 0.7 < np.quantile(areas, 0.025) < 0.95
    assert np.quantile(areas, 0.975) > 0.999


def test_equal_scores_say_nothing():
    posterior = scores(bcm.from_scores([0] * 20 + [1] * 20, np.zeros(40))).samples[0]
    areas = auc(posterior.curves(4000, np.random.default_rng(1))[0])
    assert areas.mean() == pytest.approx(0.5, abs=0.01)


def test_prevalence_known_given_a_prior_or_by_default():
    evidence = bcm.from_scores(*sample())
    positives = int(evidence.actual.sum())
    rng = np.random.default_rng(1)
    drawn = scores(evidence).samples[0].dirichlet.prevalence(50_000, rng)[0]
    assert drawn.mean() == pytest.approx((positives + 0.5) / 121, abs=0.001)
    drawn = scores(evidence, prevalence=(10, 90)).samples[0].dirichlet.prevalence(50_000, rng)[0]
    assert drawn.mean() == pytest.approx((positives + 10) / 220, abs=0.001)
    rare = scores(bcm.at_prevalence(evidence, 0.1)).samples[0].dirichlet
    assert (rare.prevalence(5, rng) == 0.1).all()


@pytest.mark.parametrize("prevalence", [0, 1.5, (0, 1), (1, 2, 3)])
def test_a_wrong_prevalence_is_refused(prevalence):
    with pytest.raises(ValueError, match=r"prevalence|beta"):
        scores(bcm.from_scores(*sample()), prevalence=prevalence)


def test_every_fold_has_curves_of_its_own():
    actual, score = sample(60)
    fold = np.argsort(np.argsort(actual)) % 2
    posterior = scores(bcm.from_scores(actual, score, fold=fold))
    assert posterior.template.dims == ("fold",)
    for place, drawn in enumerate(posterior.samples):
        part = fold == place
        alone = scores(bcm.from_scores(actual[part], score[part])).samples[0]
        np.testing.assert_array_equal(drawn.slots[0].concentration, alone.slots[0].concentration)


def test_many_classes_have_no_common_prevalence():
    many = bcm.from_scores([0, 1, 2], np.eye(3))
    with pytest.raises(ValueError, match="two classes"):
        scores(many, prevalence=0.1)


def test_a_class_against_the_rest_has_the_distribution_it_has_alone():
    rng = np.random.default_rng(1)
    actual, proba = rng.integers(0, 3, 90), rng.random((90, 3))
    many = bcm.from_scores(actual, proba)
    together = scores(many).samples[0]
    for index, view in enumerate(together.slots):
        alone = scores(bcm.curves.one_vs_rest(many, index)).samples[0].slots[0]
        np.testing.assert_allclose(view.concentration, alone.concentration)
    shares = together.dirichlet.prevalence(1000, rng)
    np.testing.assert_allclose(shares.sum(0), 1)


@pytest.mark.long
def test_pairs_of_an_example_count_as_one_observation():
    rng = np.random.default_rng(1)
    actual, proba = rng.integers(0, 3, 60), rng.random((60, 3))
    proba[np.arange(60), actual] += 0.5
    pooled = scores(bcm.from_scores(actual, {"a": proba, "b": proba})).samples[0]
    first, second = pooled.pooled_curves(4000, np.random.default_rng(1))
    areas = auc(first)
    np.testing.assert_allclose(areas, auc(second), atol=1e-12)
    flat = bcm.from_scores((actual[:, None] == np.arange(3)).ravel(), proba.ravel())
    naive = auc(scores(flat).samples[0].curves(4000, np.random.default_rng(2))[0])
    assert areas.mean() == pytest.approx(naive.mean(), abs=0.01)
    np.testing.assert_array_equal(first.prevalence, 1 / 3)


def test_measures_of_the_same_curves():
    posterior = scores(bcm.from_scores(*sample()))
    twice = bcm.measures.resolve(lambda curve: 2 * auc(curve), "curve")
    areas, doubled = posterior.draw([auc, twice], 50, np.random.default_rng(1))
    assert areas.shape == (50,)
    np.testing.assert_allclose(doubled, 2 * areas)


# Areas by their moments


def normal_scores(size, shift, positive, ties=None):
    rng = np.random.default_rng(4)
    actual = np.arange(size) < positive * size
    score = rng.normal(shift * actual, 1)
    return bcm.from_scores(actual, score if ties is None else np.round(score * ties))


@pytest.mark.long
@pytest.mark.parametrize(
    "case", [(20, 0.0, 0.3), (50, 1.0, 0.3), (200, 1.5, 0.3, 2), (100, 1.0, 0.05), (60, 2.0, 0.5)]
)
def test_the_moments_are_those_of_draws(case):
    posterior = scores(normal_scores(*case))
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
    apart = normal_scores(200, 4.0, 0.3)
    drawn = curves.auc(apart, draws=4000)
    assert curves.auc(apart).identical(drawn)
    both = bcm.from_scores(
        apart["actual"].values, {"apart": apart["score"].values, "not": np.arange(200) % 7}
    )
    found = curves.auc(both)
    np.testing.assert_array_equal(found.sel(classifier="apart"), drawn)
    assert (found.sel(classifier="not") != curves.auc(both, draws=4000).sel(classifier="not")).all()


def test_predicted_classes_that_are_passed_as_scores_are_cautioned_of():
    actual, predicted = [1, 1, 0, 0] * 9, [1, 1, 0, 1] * 9
    area = bcm.interval(bcm.from_scores(actual, predicted, positive=1), "auc")
    assert "balanced accuracy" in area.attrs["caution"]
    three = bcm.from_scores(actual, [1, 0.5, 0, 1] * 9, positive=1)
    assert "caution" not in bcm.interval(three, "auc").attrs
