"""The posterior of weighted samples."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm

RNG = np.random.default_rng(11)


@pytest.mark.long
def test_classifiers_whose_cells_are_worth_the_same_are_combined():
    actual, predicted = RNG.integers(0, 2, (2, 80))
    options = {"weights": RNG.lognormal(size=80), "weights_are": "importance"}
    counts = bcm.from_predictions(actual, predicted, positive=1, **options)
    both = bcm.combine({"one": counts, "two": counts})
    answer = bcm.interval(both, "recall")
    for name in ("one", "two"):
        alone = bcm.interval(counts, "recall")
        np.testing.assert_allclose(answer.sel(classifier=name), alone, atol=0.01)
    model = bcm.models.importance_weighted(both)
    assert model.coords["classifier"] == ("one", "two")


def weighted_and_plain(by, weights):
    """Return counts of 400 examples, four in five positive, with weights and without."""
    rng = np.random.default_rng(3)
    actual = (np.arange(400) % 5 < 4).astype(int)
    predicted = np.where(rng.random(400) < 0.8, actual, 1 - actual)
    weighted = {"weights": weights, "weights_are": "importance"}
    return (
        bcm.from_predictions(actual, predicted, by=by, positive=1, **options)
        for options in (weighted, {})
    )


@pytest.mark.long
@pytest.mark.parametrize("model", ["robust_groups", "hierarchical_groups", "crossed_groups"])
def test_what_a_group_weighs_is_not_how_many_examples_it_has(model):
    group = np.repeat(np.arange(5), [160, 120, 80, 20, 20])
    dims = {"group": group, "sex": np.arange(400) % 2} if "crossed" in model else {"group": group}
    weighted, plain = weighted_and_plain(dims, np.array([1, 1, 5, 20, 100.0])[group])
    columns = ["point", "mean", "lower", "upper"]
    answers = (
        bcm.summary(counts, ["recall", "accuracy"], model=model)[columns]
        for counts in (weighted, plain)
    )
    np.testing.assert_allclose(*answers, rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("dim", ["fold", "group"])
def test_what_a_class_weighs_is_not_how_many_examples_it_has(dim):
    weights = np.where(np.arange(400) % 5 < 4, 1.0, 20.0)
    by = {dim: np.random.default_rng(5).permutation(400) % 5}
    weighted, plain = weighted_and_plain(by, weights)
    columns = ["mean", "lower", "upper"]
    answers = (
        bcm.summary(counts, ["recall", "specificity"])[columns] for counts in (weighted, plain)
    )
    np.testing.assert_allclose(*answers, rtol=1e-6)
    prevalence = bcm.summary(weighted, "prevalence")["mean"].item()
    assert abs(prevalence - 320 / (320 + 80 * 20)) < 0.05


@pytest.mark.long
def test_groups_of_three_classes_count_the_examples_that_they_have():
    rng = np.random.default_rng(8)
    actual, group = rng.integers(0, 3, 300), np.arange(300) % 4
    predicted = np.where(rng.random(300) < 0.7, actual, rng.integers(0, 3, 300))
    by, weights = {"group": group}, np.array([1, 2, 10, 40.0])[group]
    weighted = bcm.from_predictions(
        actual, predicted, by=by, weights=weights, weights_are="importance"
    )
    plain = bcm.from_predictions(actual, predicted, by=by)
    answers = (bcm.interval(counts, "f1_macro") for counts in (weighted, plain))
    np.testing.assert_allclose(*answers, rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("model", ["dirichlet_multinomial", "fixed_totals"])
def test_models_that_know_no_weights_warn(model):
    weights = {"weights": [1.0, 5.0] * 20, "weights_are": "importance"}
    counts = bcm.from_predictions([1, 0, 1, 0] * 10, [1, 0, 0, 0] * 10, positive=1, **weights)
    with pytest.warns(UserWarning, match=f"importance weights, but {model} treats sums"):
        bcm.interval(counts, "recall", model=model)
    with pytest.warns(UserWarning, match=f"importance weights, but {model} treats sums"):
        bcm.fit(counts, model, draws=10)


@pytest.mark.long
def test_weights_of_classes_do_not_change_how_much_studies_differ():
    """Equal weights within a class make an example no more and no less than an example."""
    rng = np.random.default_rng(1)
    actual, study = np.repeat([0, 1], 120), np.tile(np.arange(6), 40)
    predicted = np.where(rng.random(240) < 0.6 + 0.05 * study, actual, 1 - actual)
    weights = {"weights": np.where(actual == 1, 9.0, 1.0), "weights_are": "importance"}
    by = {"group": study}
    plain = bcm.from_predictions(actual, predicted, positive=1, by=by)
    weighted = bcm.from_predictions(actual, predicted, positive=1, by=by, **weights)
    tables = [bcm.meta.heterogeneity(counts, draws=2000) for counts in (plain, weighted)]
    pd.testing.assert_frame_equal(*tables, rtol=1e-6)
