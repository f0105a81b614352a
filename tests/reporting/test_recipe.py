"""The recipe of reports: the sections and their order, and how often a posterior is made for it."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.evidence.registry import TYPES
from bayescm.fitting import sampled
from bayescm.posteriors.base import Posterior
from bayescm.reporting.recipe import (
    RECIPES,
    CountsRecipe,
    ProbabilitiesRecipe,
    Recipe,
    ScoresRecipe,
)

SETTINGS = {"prob": 0.95, "kind": "hdi", "rope": 0.0, "random_seed": 0}


def scores():
    rng = np.random.default_rng(0)
    actual = np.arange(60) % 2
    return bcm.from_scores(actual, rng.normal(actual), positive=1)


def test_recipes_are_listed_by_names_of_types():
    assert set(RECIPES) <= {entry.name for entry in TYPES}


def test_a_type_without_a_recipe_of_its_own_has_that_of_all():
    sections = Recipe(scores(), None, SETTINGS, {}).sections()
    titles = ["What was evaluated", "What is known", "How it was computed", "Cautions"]
    assert [section.title for section in sections] == titles
    assert sections[0].sentences[0] == "60 examples with scores: 0 (30), 1 (30)."
    assert "AUC lies between" in sections[1].sentences[0]


def test_one_measure_may_be_named_alone():
    assert ScoresRecipe(scores(), "auc", SETTINGS, {}).table["measure"].tolist() == ["auc"]


def test_a_named_model_of_probabilities_is_the_one_that_is_said():
    evidence = bcm.from_probabilities([0, 1] * 10, np.linspace(0.1, 0.9, 20))
    for keywords, name in (({}, "calibration"), ({"model": "scores"}, "scores")):
        facts = ProbabilitiesRecipe(evidence, ["auc"], SETTINGS, keywords).facts()
        assert facts["Model"] == name
        assert facts["Intervals"] == "equal-tailed"


def test_measures_of_every_class_are_not_compared():
    actual = [0, 1, 2] * 10
    both = bcm.from_classifiers(actual, {"a": actual, "b": [*actual[3:], 0, 0, 0]})
    recipe = CountsRecipe(both, ["recall"], SETTINGS, {})
    assert recipe.comparison is None
    assert recipe.differences() == []


@pytest.mark.long
def test_cautions_of_the_summary_are_in_the_report():
    counts = bcm.from_cells(tp=0, fn=0, fp=35, tn=30)
    sentences = CountsRecipe(counts, ["recall"], SETTINGS, {}).cautions().sentences
    assert "Undefined (0/0) in the sample, so the result depends on the prior: recall." in sentences
    listed = bcm.from_predictions(["a", "b"] * 20, ["a", "b"] * 20, labels=["a", "b", "c"])
    sentences = CountsRecipe(listed, ["f1_macro"], SETTINGS, {}).cautions().sentences
    assert sum("F1 (macro): c." in sentence for sentence in sentences) == 1


def test_batches_are_taken_together_before_a_posterior_is_made():
    evidence = []

    def model(counts) -> Posterior:
        evidence.append(counts)
        return bcm.posteriors.dirichlet_multinomial(counts)

    weeks = bcm.from_cells(tp=[18, 17, 19], fn=[2, 3, 1], fp=3, tn=17).rename(batch="step")
    recipe = CountsRecipe(weeks, ["recall"], SETTINGS, {"model": model})
    assert recipe.table["point"].item() == pytest.approx(54 / 60)
    assert "3 batches over time, combined." in recipe.evaluation().sentences
    assert all(counts.dims == ("actual", "predicted") for counts in evidence)


@pytest.mark.long
def test_it_is_said_once_how_many_posteriors_are_sampled(monkeypatch, capsys):
    both = bcm.from_classifiers(
        [0, 1] * 20, {"a": [0, 1] * 20, "b": [0, 1] * 15 + [1, 0] * 5}, positive=1
    )
    drawn = bcm.fit(CountsRecipe(both, ["f1"], SETTINGS, {}).counts, draws=50, random_seed=0)
    monkeypatch.setattr(sampled, "watched", lambda: True)
    monkeypatch.setattr(sampled, "fit", lambda *_, **__: drawn)

    def prior(name):  # of another family, with which a model is sampled
        raise AssertionError(name)

    recipe = CountsRecipe(both, ["f1"], SETTINGS, {"concentration": prior})
    assert len(recipe.table) == 2
    assert capsys.readouterr().err.splitlines() == [
        "Up to 4 posteriors are sampled, one after another."
    ]


def test_two_models_of_one_report_are_explained():
    rng, actual = np.random.default_rng(1), np.arange(80) % 2
    answers = {name: np.where(rng.random(80) < 0.8, actual, 1 - actual) for name in "ab"}
    fold = {"fold": np.arange(80) // 20}
    for by, is_explained in ((fold, True), (None, False)):
        both = bcm.from_classifiers(actual, answers, positive=1, by=by)
        (section,) = CountsRecipe(both, ["accuracy"], SETTINGS, {}).differences()
        assert any("come from two models" in x for x in section.sentences) is is_explained


@pytest.mark.long
def test_a_report_names_the_model_of_the_differences_that_it_has():
    rng, actual = np.random.default_rng(1), np.arange(80) % 2
    answers = {name: np.where(rng.random(80) < 0.8, actual, 1 - actual) for name in "ab"}
    both = bcm.from_classifiers(actual, answers, positive=1, by={"fold": np.arange(80) // 20})
    recipes = [CountsRecipe(both, ["f1"], SETTINGS, {}) for _ in range(1)]
    recipes += [CountsRecipe(both, ["f1"], SETTINGS, {"model": "paired_folds"})]
    for recipe, model, other in zip(
        recipes, ("the correlated t", "paired_folds"), ("paired_folds", "correlated t"), strict=True
    ):
        assert (
            recipe.facts()["Model"]
            == f"hierarchical_folds for each classifier, {model} for their differences"
        )
        asked = {"model": "paired_folds"} if model == "paired_folds" else {}
        alone = bcm.compare(both, "f1", **asked)
        assert recipe.comparison["lower"].tolist() == alone["lower"].tolist()
        assert any(other in words for words in recipe.differences()[0].sentences)
