"""Several systems on the same items have one joint posterior: all answers about them agree."""

import warnings

import numpy as np
import pytest

import bayescm as bcm
from bayescm.answers.compare import draw_measures
from bayescm.fitting.question import Question

N = 60


def systems_of_every_type():
    """Return evidence of two systems, nearly alike, of each type that has systems."""
    rng = np.random.default_rng(11)
    actual = rng.integers(0, 2, N)
    first = np.where(rng.random(N) < 0.2, 1 - actual, actual)
    second = np.where(rng.random(N) < 0.1, rng.integers(0, 2, N), first)
    score = rng.beta(4, 2, N)
    near = np.where(rng.random(N) < 0.1, rng.beta(3, 2, N), score)
    labels = rng.random((N, 4)) < 0.35
    predicted = labels ^ (rng.random((N, 4)) < 0.1)
    other = np.where(rng.random((N, 1)) < 0.15, labels ^ (rng.random((N, 4)) < 0.25), predicted)
    tp, fn, fp = rng.poisson([[3.0], [1.0], [1.0]], (3, N))
    lost = rng.binomial(tp, 0.1)
    chance = rng.beta(3, 2, N)
    right = rng.random((2, N, 5)) < np.array([chance, 0.9 * chance])[..., None]
    logits = rng.normal(2 * actual - 1, 1.5, (1, N)) + rng.normal(0, [[0.1], [0.6]], (2, N))
    group = np.arange(N) % 4
    answers = {"a": first, "b": second}
    return {
        "outcomes": bcm.from_classifiers(actual, answers, positive=1),
        "outcomes of three classes": bcm.from_classifiers(
            (actual + rng.integers(0, 2, N)), {"a": first, "b": second + (second > 0)}
        ),
        "outcomes in groups": bcm.from_classifiers(
            actual, answers, positive=1, by={"group": group}
        ),
        "item scores": bcm.from_item_scores({"a": score, "b": near}, range=(0, 1)),
        "item scores without a range": bcm.from_item_scores({"a": score, "b": near}),
        "item scores in clusters": bcm.from_item_scores(
            {"a": score, "b": near}, range=(0, 1), group=np.arange(N) // 3
        ),
        "item scores with weights": bcm.from_item_scores(
            {"a": score, "b": near},
            range=(0, 1),
            weights=rng.gamma(4, size=N),
            weights_are="importance",
        ),
        "judged item scores": bcm.from_item_scores(
            {"a": np.where(np.arange(N) < 30, score, np.nan), "b": near},
            judge={"a": score + 0.1, "b": near},
            range=(0, 1),
        ),
        "several labels": bcm.from_multilabel(labels, {"a": predicted, "b": other}),
        "item counts": bcm.from_item_counts(
            {"a": {"tp": tp, "fn": fn, "fp": fp}, "b": {"tp": tp - lost, "fn": fn + lost, "fp": fp}}
        ),
        "attempts": bcm.from_attempts({"a": right[0], "b": right[1]}),
        "scores": bcm.from_scores(actual, {"a": logits[0], "b": logits[1]}, positive=1),
        "probabilities": bcm.from_probabilities(
            actual,
            {"a": 1 / (1 + np.exp(-logits[0])), "b": 1 / (1 + np.exp(-logits[1]))},
            positive=1,
        ),
    }


SYSTEMS = systems_of_every_type()
MEASURES = {
    "outcomes": ("accuracy", "recall", "f1", "mcc"),
    "outcomes of three classes": ("accuracy", "f1_macro"),
    "outcomes in groups": ("accuracy", "f1"),
    "item scores": ("mean", "median", "sd", "share_at_least(0.7)"),
    "item scores without a range": ("mean", "sd", "quantile(0.2)"),
    "item scores in clusters": ("mean", "sd", "share_above(0.7)"),
    "item scores with weights": ("mean", "sd", "share_above(0.7)"),
    "judged item scores": ("mean", "share_above(0.7)"),
    "several labels": ("f1_samples", "precision_samples", "hamming_loss", "f1_micro", "f1_macro"),
    "item counts": ("f1", "f1_samples"),
    "attempts": ("pass@1", "pass@3"),
    "scores": ("auc", "average_precision"),
    "probabilities": ("brier_score", "log_loss"),
}
MODELS = {"outcomes in groups": "hierarchical_groups"}
CELLS = [(name, measure) for name, measures in MEASURES.items() for measure in measures]


def ask(function, name, measure, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few items in which the systems differ
        return function(SYSTEMS[name], measure, model=MODELS.get(name), **options)


def joint_draws(evidence, measure, model):
    return draw_measures(evidence, measure, Question(model=model))


@pytest.mark.long
@pytest.mark.parametrize(("name", "measure"), CELLS)
def test_all_answers_about_two_systems_agree(name, measure):
    row = ask(bcm.compare, name, measure).iloc[0]
    # The mean of a difference is the difference of the means, in Monte Carlo error.
    means = ask(bcm.summary, name, measure)["mean"].to_numpy(float)
    assert means[0] - means[1] == pytest.approx(row["mean"], abs=0.06 * row["sd"] + 1e-9)
    # Ties share the first rank.
    best = ask(bcm.ranks, name, measure).set_index("classifier")["p_best"]
    tied = 1 - row["p_better"] - row["p_worse"]
    assert best["a"] == pytest.approx(row["p_better"] + tied / 2, abs=0.02)
    ratio = ask(bcm.compare, name, measure, contrast="ratio").iloc[0]
    assert ratio["p_better"] == pytest.approx(row["p_better"], abs=0.02)
    drawn = ask(joint_draws, name, measure)
    draws = drawn[ask(bcm.summary, name, measure)["measure"].iloc[0]]
    a, b = (draws.sel(classifier=system).values for system in "ab")
    assert np.mean(a - b) == pytest.approx(row["mean"], abs=0.06 * row["sd"] + 1e-9)
    assert np.std(a - b) == pytest.approx(row["sd"], rel=0.06)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "measure"), [(n, m[0]) for n, m in MEASURES.items() if n not in MODELS]
)
def test_a_requirement_is_decided_by_the_same_posterior(name, measure):
    row = ask(bcm.compare, name, measure).iloc[0]
    text = f"{measure}[classifier=a] - {measure}[classifier=b] > 0"
    checked = ask(bcm.check, name, text)["probability"].item()
    above = row["p_worse"] if "loss" in measure or "brier" in measure else row["p_better"]
    assert checked == pytest.approx(above, abs=0.02)


OF_NEW = [
    ("attempts", "pass@1"),
    ("outcomes in groups", "accuracy"),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "measure"), OF_NEW)
def test_a_new_member_is_the_same_for_all_systems(name, measure):
    row = ask(bcm.compare, name, measure, of="new").iloc[0]
    alone = ask(bcm.summary, name, measure, of="new")["sd"].to_numpy(float)
    assert row["sd"] < 0.8 * np.hypot(*alone)
