"""
Coverage of 95 % intervals of small samples of every type of evidence but one table.

Five folds of 40 examples, three groups of ten, two raters of 15 items, twelve scores, twenty
probabilities, five items with four answers each, eight item scores, twenty examples of four labels:
so small that intervals by large samples are out of the question. Data sets are simulated at two or
three truths of each, and the intervals are those by default, of highest density and of equal tails.
Posteriors that are drawn have two thousand draws, of repeated answers five hundred.

The truth of an estimand of folds and groups, and of forecasts, is an average over the random
effects or forecasts of the simulation, by a Gauss-Hermite quadrature.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtr, xlogy

import bayescm as bcm
from bayescm.answers.interval import labelled_distributions, resolve_measures
from bayescm.evidence.counts import from_matrix
from bayescm.fitting.posterior_for import posterior_of, select_estimand
from bayescm.fitting.question import Question
from bayescm.simulation import Experiment
from validation.item_scores import MEANS, POPULATIONS

PROB, DRAWS, FEW_DRAWS = 0.95, 2000, 500
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()

type Evidence = tuple[Any, Mapping[str, float]]


class Setting(NamedTuple):
    """What evidence there is, and the truth it is drawn from."""

    evidence: str
    population: str


# Folds and groups: rates of a classifier that vary about a middle on the logit scale.


class Rates(NamedTuple):
    """A true classifier, and the spread of its logits between folds or groups."""

    prevalence: float
    recall: float
    specificity: float
    spread: float


def cells_of(prevalence: float, recall: Any, specificity: Any) -> np.ndarray:
    """Return cell probabilities (..., 2, 2), negatives first."""
    recall, specificity = np.broadcast_arrays(recall, specificity)
    negative = (1 - prevalence) * np.stack([specificity, 1 - specificity], -1)
    return np.stack([negative, prevalence * np.stack([1 - recall, recall], -1)], -2)


def varied(rates: Rates, normal: np.ndarray) -> np.ndarray:
    """Return the cells (..., 2, 2) of folds or groups at standard normal effects (..., 2)."""
    recall, specificity = (
        expit(logit(rate) + rates.spread * normal[..., effect])
        for effect, rate in enumerate((rates.recall, rates.specificity))
    )
    return cells_of(rates.prevalence, recall, specificity)


def averages(rates: Rates, measures: tuple[str, ...]) -> Mapping[str, float]:
    """Return the mean of measures over all folds or groups there may be."""
    grid = np.stack(np.meshgrid(NODES, NODES, indexing="ij"), -1)
    cells, weight = varied(rates, grid), np.outer(WEIGHTS, WEIGHTS)
    return {name: float((bcm.measures.resolve(name)(cells) * weight).sum()) for name in measures}


FOLD_MEASURES = ("accuracy", "recall", "precision", "f1")
GROUP_MEASURES = ("accuracy", "recall")
FOLDS = {
    "prevalence .5, recall .8, specificity .8, folds alike": Rates(0.5, 0.8, 0.8, 0),
    "prevalence .5, recall .8, specificity .8, spread .3": Rates(0.5, 0.8, 0.8, 0.3),
    "prevalence .2, recall .7, specificity .95, spread .3": Rates(0.2, 0.7, 0.95, 0.3),
}
GROUPS = {
    "groups alike": Rates(0.5, 0.8, 0.8, 0),
    "spread .5": Rates(0.5, 0.8, 0.8, 0.5),
    "spread 1": Rates(0.5, 0.8, 0.8, 1),
}


def tables(rng: np.random.Generator, rates: Rates, number: int, size: int, dim: str) -> Evidence:
    """Return tables along a dim, and the cells (number, 2, 2) they were drawn from."""
    cells = varied(rates, rng.standard_normal((number, 2)))
    counts = rng.multinomial(size, cells.reshape(number, 4)).reshape(cells.shape)
    return from_matrix(counts, labels=[0, 1], positive=1, dims=(dim,)), cells


def folds(rng: np.random.Generator, truth: str) -> Evidence:
    """Return five folds of 40 examples, and the measures expected over training sets."""
    evidence, _ = tables(rng, FOLDS[truth], 5, 40, "fold")
    return evidence, averages(FOLDS[truth], FOLD_MEASURES)


def groups(rng: np.random.Generator, truth: str) -> Evidence:
    """Return three groups of ten, and measures of all groups, the typical one and these."""
    rates = GROUPS[truth]
    evidence, cells = tables(rng, rates, 3, 10, "group")
    middle = varied(rates, np.zeros(2))
    values = {f"{name} population": v for name, v in averages(rates, GROUP_MEASURES).items()}
    for name in GROUP_MEASURES:
        measure = bcm.measures.resolve(name)
        values[f"{name} typical"] = float(measure(middle))
        values[f"{name} finite"] = float(measure(cells).mean())
    return evidence, values


# Two raters.

JOINT = {
    "classes 1 : 1, kappa .6": np.array([[0.4, 0.1], [0.1, 0.4]]),
    "classes 1 : 9, kappa .65": np.array([[0.87, 0.03], [0.03, 0.07]]),
    "classes 1 : 1, kappa .2": np.array([[0.3, 0.2], [0.2, 0.3]]),
}


def raters(rng: np.random.Generator, truth: str) -> Evidence:
    """Return the labels of two raters of 15 items, Cohen's kappa and Gwet's AC1."""
    cells = JOINT[truth]
    drawn = rng.choice(4, 15, p=cells.ravel())
    agree, row, column = np.trace(cells), cells.sum(1), cells.sum(0)
    chance, share = row @ column, (row + column) / 2
    of_gwet = (share * (1 - share)).sum()
    kappa, ac1 = ((agree - by_chance) / (1 - by_chance) for by_chance in (chance, of_gwet))
    return {"a": drawn // 2, "b": drawn % 2}, {"cohen_kappa": kappa, "gwet_ac1": ac1}


# Scores and probabilities.

SHIFTS = {
    f"{positive} of 12 positive, area {area:g}": (positive, 2**0.5 * shift)
    for positive, (area, shift) in product((6, 3), ((0.76, 0.7063), (0.95, 1.6449)))
}


def scores(rng: np.random.Generator, truth: str) -> Evidence:
    """Return twelve normal scores, and the area under the curve."""
    positive, shift = SHIFTS[truth]
    actual = np.arange(12) < positive
    evidence = bcm.from_scores(actual.astype(int), rng.standard_normal(12) + shift * actual)
    return evidence, {"auc": float(ndtr(shift / 2**0.5))}


# Level and spread of the true log odds, and by how much forecasts exaggerate them.
FORECASTS = {
    "calibrated": (0.0, 1.5, 1.0),
    "too sure": (0.0, 1.5, 1.7),
    "rare, calibrated": (-1.5, 1.0, 1.0),
}


def probabilities(rng: np.random.Generator, truth: str) -> Evidence:
    """Return twenty forecasts, and their scores and calibration error in the population."""
    level, spread, factor = FORECASTS[truth]
    logits = level + spread * rng.standard_normal(20)
    actual = rng.random(20) < expit(logits)
    nodes = level + spread * NODES
    chance, forecast = expit(nodes), expit(factor * nodes)
    brier = chance * (1 - forecast) ** 2 + (1 - chance) * forecast**2
    loss = -xlogy(chance, forecast) - xlogy(1 - chance, 1 - forecast)
    values = {"brier": brier, "log_loss": loss, "ece": np.abs(chance - forecast)}
    evidence = bcm.from_probabilities(actual.astype(int), expit(factor * logits), positive=1)
    return evidence, {name: float(WEIGHTS @ value) for name, value in values.items()}


# Repeated answers, item scores, and several labels.

RATES_OF_ITEMS: dict[str, tuple[Callable, float, float]] = {  # with mean, and mean of 1 - (1 - p)^4
    "beta(1, 1)": (lambda rng: rng.beta(1, 1, 5), 0.5, 0.8),
    "beta(8, 2)": (lambda rng: rng.beta(8, 2, 5), 0.8, 1 - (2 * 3 * 4 * 5) / (10 * 11 * 12 * 13)),
    "0 or 1": (lambda rng: rng.integers(0, 2, 5).astype(float), 0.5, 0.5),
}


def attempts(rng: np.random.Generator, truth: str) -> Evidence:
    """Return four answers to each of five items, the mean of all items and of these, and pass@4."""
    draw, mean, passed = RATES_OF_ITEMS[truth]
    rates = draw(rng)
    answers = (rng.random((5, 4)) < rates[:, None]).astype(int)
    values = {"mean population": mean, "pass_at(4) population": passed}
    values |= {"mean finite": float(rates.mean())}
    values |= {"pass_at(4) finite": float((1 - (1 - rates) ** 4).mean())}
    return bcm.from_attempts(answers), values


ITEM_SCORES = ("beta(5, 2)", "30 % zeros, else uniform", "beta(.2, .8)")


def item_scores(rng: np.random.Generator, truth: str) -> Evidence:
    """Return eight scores between 0 and 1, and the mean of all."""
    values = POPULATIONS[truth](rng, 8)
    return bcm.from_item_scores(values, range=(0, 1)), {"mean": MEANS[truth]}


# How common each label is, and how often it is wrong.
LABELS = {
    "labels common, 1 in 5 wrong": (np.array([0.5, 0.4, 0.3, 0.3]), 0.2),
    "labels rare, 1 in 10 wrong": (np.array([0.3, 0.2, 0.1, 0.1]), 0.1),
}


def several_labels(rng: np.random.Generator, truth: str) -> Evidence:
    """Return true and predicted labels of twenty examples, and F1 of all labels together."""
    common, wrong = LABELS[truth]
    actual = rng.random((20, 4)) < common
    predicted = np.where(rng.random(actual.shape) < wrong, ~actual, actual)
    hits = common * (1 - wrong)
    errors = common * wrong + (1 - common) * wrong
    values = {"f1_micro": 2 * hits.sum() / (2 * hits + errors).sum()}
    values |= {"f1_macro": float((2 * hits / (2 * hits + errors)).mean())}
    return bcm.from_multilabel(actual.astype(int), predicted.astype(int)), values


# The intervals.


KINDS = ("hdi", "eti")


def intervals(
    evidence: Any, names: tuple[str, ...], draws: int | None, estimands: tuple[str, ...]
) -> Mapping[str, Any]:
    """Return both intervals of measures, of each estimand from the same posterior."""
    posterior, answers = posterior_of(evidence), {}
    for of in estimands:
        asked, estimand = select_estimand(posterior, of)
        kernels = resolve_measures(asked, names)
        distributions = labelled_distributions(asked, kernels, Question(estimand, draws=draws))
        for name, (distribution, _) in zip(names, distributions, strict=True):
            value = name if len(estimands) == 1 else f"{name} {of}"
            for kind in KINDS:
                answers[f"{value}, {kind}"], _ = distribution.interval_with_error(PROB, kind)
    return answers


def of_raters(evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return both intervals of two measures of agreement."""
    names, answers = ["cohen_kappa", "gwet_ac1"], {}
    for kind in KINDS:
        table = bcm.raters.agreement(evidence, names, labels=[0, 1], prob=PROB, kind=kind)
        for row in table.itertuples():
            answers[f"{row.measure}, {kind}"] = (row.lower, row.upper)
    return answers


def asked(names: tuple[str, ...], draws: int | None, *estimands: str) -> Callable:
    """Return the function from evidence to intervals."""
    return partial(intervals, names=names, draws=draws, estimands=estimands or ("parameter",))


DRAW: dict[str, tuple[Callable, tuple[str, ...], Callable]] = {
    "five folds of 40 examples": (folds, tuple(FOLDS), asked(FOLD_MEASURES, None)),
    "three groups of ten": (
        groups,
        tuple(GROUPS),
        asked(GROUP_MEASURES, DRAWS, "population", "typical", "finite"),
    ),
    "two raters of 15 items": (
        raters,
        tuple(JOINT),
        of_raters,
    ),
    "twelve scores": (scores, tuple(SHIFTS), asked(("auc",), DRAWS)),
    "twenty probabilities": (
        probabilities,
        tuple(FORECASTS),
        asked(("brier", "log_loss", "ece"), DRAWS),
    ),
    "five items, four answers each": (
        attempts,
        tuple(RATES_OF_ITEMS),
        asked(("mean", "pass_at(4)"), FEW_DRAWS, "population", "finite"),
    ),
    "eight item scores": (item_scores, ITEM_SCORES, asked(("mean",), DRAWS)),
    "twenty examples of four labels": (
        several_labels,
        tuple(LABELS),
        asked(("f1_micro", "f1_macro"), DRAWS),
    ),
}
CASES = {
    case: Setting(*setting)
    for case, setting in enumerate(
        ((evidence, truth) for evidence, (_, truths, _) in DRAW.items() for truth in truths),
        start=1,
    )
}


def draw(rng: np.random.Generator, evidence: str, population: str) -> Evidence:
    """Return evidence and the true values, of each kind of interval the same."""
    data, values = DRAW[evidence][0](rng, population)
    return data, {f"{name}, {kind}": value for name, value in values.items() for kind in KINDS}


def methods(evidence: str, population: str) -> Mapping[str, Callable]:
    """Return what makes the intervals by default."""
    return {"default": DRAW[evidence][2]}


def kinds_apart(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the kind of interval in a column of its own."""
    names = table["measure"].str.rsplit(", ", n=1, expand=True)
    return table.assign(measure=names[0], method=names[1]).rename(columns={"method": "kind"})


EXPERIMENTS = [Experiment("small_evidence", CASES, draw, methods, reshape=kinds_apart)]
