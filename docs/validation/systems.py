"""Coverage, length and verdicts for differences between systems on the same items."""

import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from bayescm.evidence.item_scores import from_item_scores
from bayescm.evidence.multilabel import from_multilabel
from bayescm.measures.catalogue import resolve
from bayescm.posteriors.item_scores import item_scores
from bayescm.posteriors.multilabel import multilabel
from bayescm.simulation import Repeated, Replications

DRAWS = 500
LEVEL = 0.95  # probability of the intervals, and for a verdict
SCORE_MEASURES = ("mean", "median", "sd", "share_at_least(0.75)")
LABEL_MEASURES = ("f1_samples", "f1_micro", "f1_macro", "precision_micro", "recall_macro")
MARKS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
MARK_SHARES = [0.02, 0.05, 0.1, 0.23, 0.6]
LABELS = 5
POPULATION = 400_000  # number of items from which the true values are computed


class NearSetting(NamedTuple):
    """Type of scores, number of items, and proportion of items with a new score."""

    scores: str
    items: int
    share: float


class ApartSetting(NamedTuple):
    """Type of scores, number of items, and how much worse the second system is."""

    scores: str
    items: int
    difference: float


def marks_or_beta(rng: np.random.Generator, scores: str, size: int) -> np.ndarray:
    """Return scores with five levels, most of them high, or scores from Beta(3, 1.2)."""
    if scores == "five marks":
        return rng.choice(MARKS, size, p=MARK_SHARES)
    return rng.beta(3, 1.2, size)


def nearly_alike(
    rng: np.random.Generator, scores: str, items: int, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of two exchangeable systems that differ in a proportion of items."""
    first = marks_or_beta(rng, scores, items)
    anew = rng.random(items) < share
    return first, np.where(anew, marks_or_beta(rng, scores, items), first)


def apart(
    rng: np.random.Generator, scores: str, items: int, difference: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated scores of two systems. The second system's scores are lower."""
    quality = rng.normal(0, 0.18, items)
    first, second = np.clip(0.65 + quality + rng.normal(0, 0.12, (2, items)), 0, 1)
    second = np.clip(second - difference, 0, 1)
    if scores == "five marks":
        first, second = np.round(4 * first) / 4, np.round(4 * second) / 4
    return first, second


def labels_of_two(
    rng: np.random.Generator, items: int, share: float, difference: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return labels, and the predictions of two systems.

    Hard examples have more errors in all labels. In a proportion ``share`` of the examples, the
    second system has new predictions. With probability ``difference``, it loses all labels of an
    example.
    """
    prevalence = np.linspace(0.1, 0.5, LABELS)
    actual = rng.random((items, LABELS)) < prevalence

    def predicted() -> np.ndarray:
        hardness = rng.beta(1, 2, (items, 1))
        rate = np.where(actual, 0.7 * hardness, 0.5 * hardness * prevalence)
        return actual ^ (rng.random((items, LABELS)) < rate)

    first = predicted()
    second = np.where(rng.random((items, 1)) < share, predicted(), first)
    return actual, first, second & (rng.random((items, 1)) >= difference)


def _score_differences(rng, first, second):
    evidence = from_item_scores({"a": first, "b": second}, range=(0, 1))
    posterior = item_scores(evidence)
    measures = [posterior.bound(resolve(name, "item_scores")) for name in SCORE_MEASURES]
    return _of_posterior(posterior, measures, rng)


def _label_differences(rng, actual, first, second):
    posterior = multilabel(from_multilabel(actual, {"a": first, "b": second}))
    measures = [posterior.bound(resolve(name, "example_cells")) for name in LABEL_MEASURES]
    return _of_posterior(posterior, measures, rng)


def _of_posterior(posterior, measures, rng):
    """Return draws of the differences, (size, measures)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = posterior.draw(measures, DRAWS, rng)
    return np.stack([draws[:, 0] - draws[:, 1] for draws in values], axis=1)


def _rows(names, truth, sets: Iterator[np.ndarray]) -> list[dict[str, Any]]:
    """
    Return the coverage and mean length of each measure, and the proportion of verdicts.

    ``verdict`` is the proportion of data sets in which either system is better with probability
    0.95, and ``better`` the proportion in which it is the first.
    """
    covered, lengths, verdicts, wins = [], [], [], []
    for draws in sets:
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        covered.append((low <= truth + 1e-9) & (truth - 1e-9 <= high))
        lengths.append(high - low)
        better, worse = (draws > 0).mean(axis=0), (draws < 0).mean(axis=0)
        verdicts.append(np.maximum(better, worse) >= LEVEL)
        wins.append(better >= LEVEL)
    columns = {"coverage": covered, "length": lengths, "verdict": verdicts, "better": wins}
    means = {column: np.mean(values, axis=0) for column, values in columns.items()}
    return [
        {"measure": name, "truth": truth[place]}
        | {column: values[place] for column, values in means.items()}
        for place, name in enumerate(names)
    ]


def near_copies(
    replications: Replications, scores: str, items: int, share: float
) -> list[dict[str, Any]]:
    """Return the rows for two exchangeable systems. All true differences are 0."""
    if scores == "labels":
        sets = (
            _label_differences(rng, *labels_of_two(rng, items, share))
            for rng in replications.generators()
        )
        return _rows(LABEL_MEASURES, np.zeros(len(LABEL_MEASURES)), sets)
    sets = (
        _score_differences(rng, *nearly_alike(rng, scores, items, share))
        for rng in replications.generators()
    )
    return _rows(SCORE_MEASURES, np.zeros(len(SCORE_MEASURES)), sets)


def differing(
    replications: Replications, scores: str, items: int, difference: float
) -> list[dict[str, Any]]:
    """Return the rows for two systems with true differences."""
    if scores == "labels":
        sets = (
            _label_differences(rng, *labels_of_two(rng, items, 0.5, difference))
            for rng in replications.generators()
        )
        return _rows(LABEL_MEASURES, _true_of_labels(difference), sets)
    sets = (
        _score_differences(rng, *apart(rng, scores, items, difference))
        for rng in replications.generators()
    )
    return _rows(SCORE_MEASURES, _true_of_scores(scores, difference), sets)


@lru_cache
def _true_of_scores(scores, difference):
    rng = np.random.default_rng(99)
    first, second = apart(rng, scores, POPULATION, difference)
    functions = [np.mean, _lower_median, np.std, lambda score: (score >= 0.75).mean()]
    return np.array([function(first) - function(second) for function in functions])


def _lower_median(score):
    return np.quantile(score, 0.5, method="inverted_cdf")


@lru_cache
def _true_of_labels(difference):
    rng = np.random.default_rng(99)
    actual, *predicted = labels_of_two(rng, POPULATION, 0.5, difference)
    values = []
    for each in predicted:
        tp, wrong = actual & each, actual ^ each
        fp = wrong & each
        with np.errstate(invalid="ignore"):
            of_examples = 2 * tp.sum(1) / (2 * tp.sum(1) + wrong.sum(1))
        by_label, errors = tp.sum(0), wrong.sum(0)
        row = [np.nanmean(of_examples), 2 * tp.sum() / (2 * tp.sum() + wrong.sum())]
        row += [(2 * by_label / (2 * by_label + errors)).mean()]
        row += [tp.sum() / (tp.sum() + fp.sum()), (by_label / actual.sum(0)).mean()]
        values.append(row)
    return np.subtract(*values)


KINDS = ("five marks", "beta", "labels")
NEAR = product(KINDS, (50, 100, 1000), (0.01, 0.03, 0.1))
APART = product(KINDS, (50, 100, 1000), (0.05, 0.2))

EXPERIMENTS = (
    Repeated(
        "systems",
        {case: NearSetting(*setting) for case, setting in enumerate(NEAR, start=1)},
        near_copies,
        table="near_copies",
    ),
    Repeated(
        "systems",
        {case: ApartSetting(*setting) for case, setting in enumerate(APART, start=1)},
        differing,
        table="apart",
    ),
)
