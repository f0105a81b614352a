"""Evidence of every type and many designs, keyed by name, and objects that are not evidence."""

import numpy as np
import pandas as pd

import bayescm as bcm

SIZES = {"fold": 4, "repeat": 2, "half": 2, "group": 4, "classifier": 2, "step": 5, "batch": 3}
SIZES |= {"sex": 2, "age": 3}


def _tables(seed, *shape, classes=2):
    table = np.random.default_rng(seed).integers(1, 9, (*shape, classes, classes))
    return table + 12 * np.eye(classes, dtype=int)


def _counts(*dims, classes=2, seed=1, sizes=None):
    sizes = sizes or SIZES
    labels = ["sick", "well"] if classes == 2 else list("abc")
    positive = "sick" if classes == 2 else None
    table = _tables(seed, *(sizes[dim] for dim in dims), classes=classes)
    made = bcm.from_matrix(table, labels=labels, positive=positive, dims=dims)
    if "classifier" in dims:
        made = made.assign_coords(classifier=["one", "two"])
    return made


def _predictions(classes, seed=2, n=48):
    rng = np.random.default_rng(seed)
    actual = np.arange(n) % classes
    answers = {
        name: np.where(rng.random(n) < error, rng.integers(0, classes, n), actual)
        for name, error in (("one", 0.3), ("two", 0.5))
    }
    return actual, answers


def _outcomes(classes, **by):
    actual, answers = _predictions(classes)
    return bcm.from_classifiers(actual, answers, positive=1 if classes == 2 else None, by=by)


def _scores(classes=2, several=False, fold=None, weights=None):
    actual, _ = _predictions(classes, n=40)
    rng = np.random.default_rng(3)
    made = {}
    for name in ("one", "two"):
        noise = rng.normal(0, 0.8, (40, classes))
        score = np.eye(classes)[actual] + noise
        made[name] = score[:, 1] if classes == 2 else score
    scores, kind = made if several else made["one"], None if weights is None else "importance"
    return bcm.from_scores(actual, scores, fold=fold, weights=weights, weights_are=kind)


def evidence():
    """Return every kind of evidence except fits, keyed by name."""
    places = np.arange(48) // 12
    two, three = _counts(), _counts(classes=3)
    weights = np.random.default_rng(5).random(48)
    actual, answers = _predictions(2)
    found = {
        "two": two,
        "three": three,
        "empty cells": bcm.from_cells(tp=0, fn=0, fp=2, tn=9),
        "no positive": bcm.from_matrix([[9, 2], [3, 8]], labels=["a", "b"]),
        "batch": _counts("batch"),
        "batch of three": _counts("batch", classes=3),
        "classifiers": _counts("classifier"),
        "outcomes": _outcomes(2),
        "outcomes of three": _outcomes(3),
        "outcomes of groups": _outcomes(2, group=places),
        "outcomes of folds": _outcomes(2, fold=places),
        "folds": _counts("fold"),
        "folds of three": _counts("fold", classes=3),
        "repeats": _counts("repeat", "fold"),
        "folds of classifiers": _counts("classifier", "fold"),
        "groups": _counts("group"),
        "groups of three": _counts("group", classes=3),
        "groups of classifiers": _counts("classifier", "group"),
        "prevalence": bcm.at_prevalence(two, 0.1),
        "weights": bcm.from_predictions(
            actual, answers["one"], positive=1, weights=weights, weights_are="importance"
        ),
        "abstentions": bcm.from_predictions(
            actual, np.where(weights < 0.2, 9, answers["one"]), positive=1, abstain=9
        ),
        "steps": _counts("step"),
        "scores": _scores(),
        "scores of several": _scores(several=True),
        "scores of three": _scores(3),
        "scores of folds": _scores(fold=np.arange(40) // 2 % 4),
        "weighted scores": _scores(weights=np.random.default_rng(6).random(40)),
    }
    other = _counts(seed=9)
    return (
        found
        | _newer()
        | {
            "mapping": {"one": two, "two": other},
            "mapping of three": {"one": three, "two": _counts(classes=3, seed=9)},
            "mapping of folds": {"one": found["folds"], "two": _counts("fold", seed=9)},
            "mapping of groups": {"one": found["groups"], "two": _counts("group", seed=9)},
            "mapping of classifiers of folds": {"one": found["folds of classifiers"]},
            "empty mapping": {},
            "array": np.array([[9, 2], [3, 8]]),
            "nothing": None,
            "a number": 3,
            "text": "counts.csv",
        }
    )


def _newer():
    """Return evidence other than counts of labels."""
    rng = np.random.default_rng(11)
    actual, answers = _predictions(2)
    chance = {name: np.clip(rng.beta(2 + 2 * actual, 4), 0.01, 0.99) for name in ("one", "two")}
    known = np.where(rng.random(len(actual)) < 0.7, actual, np.nan)
    seen = pd.Series(known, dtype="Int64")
    learners = [f"learner {i}" for i in range(3)]
    results = pd.DataFrame(
        [
            {"data set": data, "classifier": name, "fold": fold, "accuracy": rng.beta(8, 3)}
            for data in ("x", "y", "z", "w")
            for name in learners
            for fold in range(4)
        ]
    )
    return {
        "probabilities": bcm.from_probabilities(actual, chance["one"], positive=1),
        "probabilities of several": bcm.from_probabilities(actual, chance, positive=1),
        "attempts": bcm.from_attempts(rng.integers(0, 2, (12, 5))),
        "judged rate": bcm.from_partly_labelled(seen, judge=answers["one"], positive=1),
        "judged": bcm.from_partly_labelled(
            seen, predicted=answers["one"], judge=answers["two"], positive=1
        ),
        "judged classifiers": bcm.from_partly_labelled(
            seen, predicted=answers, judge=rng.integers(0, 2, len(actual)), positive=1
        ),
        "raters": bcm.from_raters(
            {name: np.where(rng.random(48) < 0.2, 1 - actual, actual) for name in "abc"},
            predicted={"model": answers["one"]},
            positive=1,
        ),
        "halves": _counts("repeat", "half"),
        "paired folds": _outcomes(2, fold=np.arange(48) // 12),
        "crossed groups": _counts("sex", "age"),
        "results": bcm.from_results(results, data_set="data set"),
    }
