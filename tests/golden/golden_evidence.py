"""Evidence for the golden calls: every type and design, identical on every machine."""

from functools import cache

import numpy as np
import pandas as pd

import bayescm as bcm


def _table(seed, *shape, classes=2, diagonal=12):
    cells = np.random.default_rng(seed).integers(1, 9, (*shape, classes, classes))
    return cells + diagonal * np.eye(classes, dtype=int)


def _named(table, *dims):
    """Return tables as counts with the classes sick and well, or with three classes."""
    labels = ["sick", "well"] if table.shape[-1] == 2 else list("abc")
    positive = "sick" if table.shape[-1] == 2 else None
    return bcm.from_matrix(table, labels=labels, positive=positive, dims=dims)


@cache
def two():
    return bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


@cache
def small():
    return bcm.from_cells(tp=3, fn=1, fp=0, tn=6)


@cache
def large():
    return bcm.from_cells(tp=650_000, fn=15_000, fp=3_500, tn=1_200_000)


@cache
def three():
    return _named(_table(1, classes=3))


@cache
def ten_classes():
    return bcm.from_matrix(_table(2, classes=10), labels=list("abcdefghij"))


@cache
def batch():
    return _named(_table(3, 4), "batch")


@cache
def folds():
    return _named(_table(4, 10), "fold").assign_coords(n_folds=10)


@cache
def folds_of_three():
    return _named(_table(5, 5, classes=3), "fold")


@cache
def repeated_folds():
    return _named(_table(6, 2, 5), "repeat", "fold")


@cache
def folds_of_classifiers():
    return _named(_table(7, 2, 5), "classifier", "fold").assign_coords(classifier=["one", "two"])


@cache
def groups():
    cells = np.random.default_rng(8).multinomial(60, [0.4, 0.1, 0.15, 0.35], 8)
    return _named(cells.reshape(8, 2, 2), "group")


@cache
def groups_of_three():
    return _named(_table(9, 5, classes=3), "group")


@cache
def crossed():
    counts = _named(_table(10, 2, 3), "sex", "age")
    return counts.assign_coords(sex=["f", "m"], age=["young", "middle", "old"])


@cache
def studies():
    """Return 8 studies of a diagnostic test, with different sensitivities and specificities."""
    rng = np.random.default_rng(11)
    sensitivity, specificity = 1 / (1 + np.exp(-rng.normal([1.5, 1.2], 0.6, (8, 2)).T))
    tp, tn = rng.binomial(50, sensitivity), rng.binomial(90, specificity)
    cells = np.stack([np.stack([tp, 50 - tp], -1), np.stack([90 - tn, tn], -1)], -2)
    return _named(cells, "group").assign_coords(group=[f"study {k}" for k in range(8)])


@cache
def steps():
    return _named(_table(12, 12, diagonal=20), "step")


@cache
def halves():
    """Return eight splits into halves. The learner is trained on each and tested on the other."""
    return _named(_table(13, 8, 2, diagonal=30), "repeat", "half")


@cache
def outcomes():
    actual, answers = _answers(2, 150)
    return bcm.from_classifiers(actual, answers, positive=1)


@cache
def outcomes_of_three():
    actual, answers = _answers(3, 150)
    return bcm.from_classifiers(actual, answers)


@cache
def outcomes_of_folds():
    actual, answers = _answers(2, 200)
    return bcm.from_classifiers(actual, answers, positive=1, by={"fold": np.arange(200) % 10})


@cache
def outcomes_of_groups():
    actual, answers = _answers(2, 240)
    return bcm.from_classifiers(actual, answers, positive=1, by={"group": np.arange(240) // 40})


@cache
def many_outcomes():
    rng = np.random.default_rng(14)
    actual = rng.integers(0, 2, 120)
    wrong = rng.random((6, 120)) < np.linspace(0.1, 0.3, 6)[:, None]
    answers = {f"c{k}": np.where(row, 1 - actual, actual) for k, row in enumerate(wrong)}
    return bcm.from_classifiers(actual, answers, positive=1)


def _answers(classes, size):
    rng = np.random.default_rng(15)
    actual = np.arange(size) % classes
    wrong = {"one": rng.random(size) < 0.15, "two": rng.random(size) < 0.3}
    other = rng.integers(0, classes, size)
    return actual, {name: np.where(row, other, actual) for name, row in wrong.items()}


def _score(size, seed=16, classes=2):
    rng = np.random.default_rng(seed)
    actual = rng.integers(0, classes, size)
    score = {
        name: np.eye(classes)[actual] * gain + rng.normal(0, 1, (size, classes))
        for name, gain in (("one", 1.6), ("two", 1.1))
    }
    if classes == 2:
        score = {name: each[:, 1] - each[:, 0] for name, each in score.items()}
    return actual, score


@cache
def scores():
    actual, score = _score(160)
    return bcm.from_scores(actual, score["one"], positive=1)


@cache
def tied_scores():
    actual, score = _score(160)
    weights = np.random.default_rng(17).integers(1, 4, 160)
    given = {"weights": weights, "weights_are": "counts"}
    return bcm.from_scores(actual, np.round(score["one"]), positive=1, **given)


@cache
def scores_of_two():
    actual, score = _score(160)
    return bcm.from_scores(actual, score, positive=1)


@cache
def scores_of_three():
    actual, score = _score(180, classes=3)
    return bcm.from_scores(actual, score["one"])


@cache
def scores_of_folds():
    actual, score = _score(200)
    return bcm.from_scores(actual, score["one"], positive=1, fold=np.arange(200) % 5)


@cache
def probabilities():
    actual, score = _score(200)
    return bcm.from_probabilities(actual, 1 / (1 + np.exp(-2 * score["one"])), positive=1)


@cache
def probabilities_of_two():
    actual, score = _score(200)
    given = {name: 1 / (1 + np.exp(-2 * each)) for name, each in score.items()}
    return bcm.from_probabilities(actual, given, positive=1)


@cache
def probabilities_of_three():
    actual, score = _score(200, classes=3)
    each = np.exp(1.5 * score["one"])
    return bcm.from_probabilities(actual, each / each.sum(axis=1, keepdims=True))


@cache
def probabilities_of_sites():
    actual, score = _score(320)
    given = 1 / (1 + np.exp(-2 * score["one"]))
    return bcm.from_probabilities(actual, given, positive=1, group=np.arange(320) // 40)


@cache
def attempts():
    rng = np.random.default_rng(18)
    return bcm.from_attempts(rng.random((30, 8)) < rng.beta(0.6, 0.6, (30, 1)))


@cache
def votes(clusters=False):
    rng = np.random.default_rng(23)
    first, second = rng.integers(0, 4, (2, 400))
    met, strength = first != second, np.array([0.8, 0.3, 0.0, -0.9])
    lead = rng.logistic(size=400) + strength[first] - strength[second] + 0.2
    winner = np.where(np.abs(lead) < 0.3, "tie", np.where(lead > 0, "left", "right"))
    names, group = np.array(list("abcd")), np.arange(400) // 10
    columns = {"left": names[first][met], "right": names[second][met], "winner": winner[met]}
    return bcm.from_preferences(**columns, group=group[met] if clusters else None)


@cache
def partly_labelled():
    rng = np.random.default_rng(19)
    truth = rng.integers(0, 2, 600)
    judge, predicted = (np.where(rng.random(600) < p, truth, 1 - truth) for p in (0.9, 0.8))
    seen = pd.Series(np.where(np.arange(600) < 80, truth, np.nan), dtype="Int64")
    return bcm.from_partly_labelled(seen, predicted, judge, positive=1)


@cache
def transferred():
    """Return a labelled sample, and judge's labels of a sample with another prevalence."""
    rng = np.random.default_rng(20)
    truth = np.r_[rng.integers(0, 2, 100), rng.random(500) < 0.2].astype(int)
    judge = np.where(rng.random(600) < 0.85, truth, 1 - truth)
    seen = pd.Series(np.where(np.arange(600) < 100, truth, np.nan), dtype="Int64")
    return bcm.from_partly_labelled(seen, judge=judge, positive=1, transfer="errors")


@cache
def raters():
    rng = np.random.default_rng(21)
    truth = rng.random(200) < 0.35
    labels = {
        name: np.where(rng.random(200) < right, truth, ~truth).astype(int)
        for name, right in (("ann", 0.9), ("bob", 0.85), ("eve", 0.8))
    }
    predicted = {"model": np.where(rng.random(200) < 0.8, truth, ~truth).astype(int)}
    return bcm.from_raters(labels, predicted=predicted, positive=1)


@cache
def results():
    rng = np.random.default_rng(22)
    rows = [
        {
            "data_set": data,
            "classifier": name,
            "fold": fold,
            "accuracy": level + rng.normal(0, 0.02),
        }
        for data, level in zip("uvwxyz", rng.uniform(0.7, 0.9, 6), strict=True)
        for name, level in (("one", level), ("two", level - 0.01), ("three", level - 0.03))
        for fold in range(10)
    ]
    return bcm.from_results(pd.DataFrame(rows), measure="accuracy", test_share=0.1)


@cache
def weighted():
    actual, answers = _answers(2, 150)
    weights = np.random.default_rng(23).gamma(2, 0.5, 150)
    given = {"weights": weights, "weights_are": "importance"}
    return bcm.from_predictions(actual, answers["one"], positive=1, **given)


@cache
def abstentions():
    actual, answers = _answers(2, 150)
    predicted = np.where(np.arange(150) % 7 == 0, 9, answers["one"])
    return bcm.from_predictions(actual, predicted, positive=1, abstain=9)
