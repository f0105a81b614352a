"""
Coverage of 95% intervals from small samples of every type of evidence but single matrices.

The samples are too small for large-sample intervals: five folds of 40 examples, three groups of
ten, two raters of 15 items, twelve scores, twenty probabilities, five items with four answers each,
eight item scores, and twenty examples with four labels. For each type, data sets are simulated with
several true parameter values. The intervals are the default highest-density and equal-tailed
intervals. Posteriors without a closed form have 2,000 draws, or 500 for repeated answers.

For folds, groups and forecasts, true values are averages over the random effects or the forecasts,
computed by Gauss-Hermite quadrature.
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
    """Type of evidence, and name of the true parameters."""

    evidence: str
    population: str


# Folds and groups: the rates of a classifier vary around a mean on the logit scale.


class Rates(NamedTuple):
    """True rates of a classifier, and the sd of their logits between folds or groups."""

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
    """Return the cells (..., 2, 2) of folds or groups with standard normal effects (..., 2)."""
    recall, specificity = (
        expit(logit(rate) + rates.spread * normal[..., effect])
        for effect, rate in enumerate((rates.recall, rates.specificity))
    )
    return cells_of(rates.prevalence, recall, specificity)


def averages(rates: Rates, measures: tuple[str, ...]) -> Mapping[str, float]:
    """Return the means of measures over the population of folds or groups."""
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
    """Return tables along a dimension, and their true cell probabilities (number, 2, 2)."""
    cells = varied(rates, rng.standard_normal((number, 2)))
    counts = rng.multinomial(size, cells.reshape(number, 4)).reshape(cells.shape)
    return from_matrix(counts, labels=[0, 1], positive=1, dims=(dim,)), cells


def folds(rng: np.random.Generator, truth: str) -> Evidence:
    """Return five folds of 40 examples, and the expected measures over training sets."""
    evidence, _ = tables(rng, FOLDS[truth], 5, 40, "fold")
    return evidence, averages(FOLDS[truth], FOLD_MEASURES)


def groups(rng: np.random.Generator, truth: str) -> Evidence:
    """Return three groups of ten, and the measures of all three estimands."""
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
    """Return the labels of 15 items by two raters, and the true kappa and AC1."""
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
    """Return twelve normal scores, and the true area under the curve."""
    positive, shift = SHIFTS[truth]
    actual = np.arange(12) < positive
    evidence = bcm.from_scores(actual.astype(int), rng.standard_normal(12) + shift * actual)
    return evidence, {"auc": float(ndtr(shift / 2**0.5))}


# Mean and sd of the true log odds, and the factor by which forecasts exaggerate them.
FORECASTS = {
    "calibrated": (0.0, 1.5, 1.0),
    "too sure": (0.0, 1.5, 1.7),
    "rare, calibrated": (-1.5, 1.0, 1.0),
}


def probabilities(rng: np.random.Generator, truth: str) -> Evidence:
    """Return twenty forecasts, and the true scores and calibration error."""
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

RATES_OF_ITEMS: dict[str, tuple[Callable, float, float]] = {  # sampler, E p and E 1 - (1 - p)^4
    "beta(1, 1)": (lambda rng: rng.beta(1, 1, 5), 0.5, 0.8),
    "beta(8, 2)": (lambda rng: rng.beta(8, 2, 5), 0.8, 1 - (2 * 3 * 4 * 5) / (10 * 11 * 12 * 13)),
    "0 or 1": (lambda rng: rng.integers(0, 2, 5).astype(float), 0.5, 0.5),
}


def attempts(rng: np.random.Generator, truth: str) -> Evidence:
    """Return four answers to each of five items, and the true mean and pass@4.

    These refer to the population and to the observed items.
    """
    draw, mean, passed = RATES_OF_ITEMS[truth]
    rates = draw(rng)
    answers = (rng.random((5, 4)) < rates[:, None]).astype(int)
    values = {"mean population": mean, "pass_at(4) population": passed}
    values |= {"mean finite": float(rates.mean())}
    values |= {"pass_at(4) finite": float((1 - (1 - rates) ** 4).mean())}
    return bcm.from_attempts(answers), values


ITEM_SCORES = ("beta(5, 2)", "30 % zeros, else uniform", "beta(.2, .8)")


def item_scores(rng: np.random.Generator, truth: str) -> Evidence:
    """Return eight scores between 0 and 1, and the population mean."""
    values = POPULATIONS[truth](rng, 8)
    return bcm.from_item_scores(values, range=(0, 1)), {"mean": MEANS[truth]}


# Prevalence of each label, and the error rate of predictions.
LABELS = {
    "labels common, 1 in 5 wrong": (np.array([0.5, 0.4, 0.3, 0.3]), 0.2),
    "labels rare, 1 in 10 wrong": (np.array([0.3, 0.2, 0.1, 0.1]), 0.1),
}


def several_labels(rng: np.random.Generator, truth: str) -> Evidence:
    """Return true and predicted labels of twenty examples, and the true micro and macro F1."""
    common, wrong = LABELS[truth]
    actual = rng.random((20, 4)) < common
    predicted = np.where(rng.random(actual.shape) < wrong, ~actual, actual)
    hits = common * (1 - wrong)
    errors = common * wrong + (1 - common) * wrong
    values = {"f1_micro": 2 * hits.sum() / (2 * hits + errors).sum()}
    values |= {"f1_macro": float((2 * hits / (2 * hits + errors)).mean())}
    return bcm.from_multilabel(actual.astype(int), predicted.astype(int)), values


# Intervals.


KINDS = ("hdi", "eti")


def intervals(
    evidence: Any, names: tuple[str, ...], draws: int | None, estimands: tuple[str, ...]
) -> Mapping[str, Any]:
    """Return both intervals of the measures, for each estimand of the same posterior."""
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
    """Return the function that computes the intervals from evidence."""
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
    """Return evidence, and the true values, repeated for both kinds of intervals."""
    data, values = DRAW[evidence][0](rng, population)
    return data, {f"{name}, {kind}": value for name, value in values.items() for kind in KINDS}


def methods(evidence: str, population: str) -> Mapping[str, Callable]:
    """Return the method that computes the default intervals."""
    return {"default": DRAW[evidence][2]}


def kinds_apart(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a separate column for the kind of interval."""
    names = table["measure"].str.rsplit(", ", n=1, expand=True)
    return table.assign(measure=names[0], method=names[1]).rename(columns={"method": "kind"})


EXPERIMENTS = [Experiment("small_evidence", CASES, draw, methods, reshape=kinds_apart)]
