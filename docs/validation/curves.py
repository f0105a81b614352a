"""Coverage for ROC and precision-recall curves: areas, bands, differences, thresholds, weights."""

from collections.abc import Mapping
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from bayescm import curves
from bayescm.classical.curves import delong, delong_compare
from bayescm.curves.roc import GRID, draw_curves, interval_of
from bayescm.evidence.scores import from_scores
from bayescm.measures.catalogue import cost, resolve
from bayescm.measures.curves import Curve, auc, average_precision, max_f1, precision_at, tpr_at
from bayescm.simulation import Experiment, Method

DRAWS = 1000

# Populations of scores with known curves. ``binormal``: normal scores in both classes. ``heavy``:
# Student's t with two degrees of freedom, with negatives among the highest scores. ``discrete``:
# binormal scores rounded to eleven levels. ``tied``: binormal scores with the lower part replaced
# by a single value, as from a rectifier or a rule. The shift of the positive class gives the area
# of the setting.

POPULATIONS = ("binormal", "heavy", "discrete", "tied")
FLOOR = 0.2  # the score of the lower part of ``tied``


def quantile(population: str, p: np.ndarray) -> np.ndarray:
    """Return the quantiles of the latent scores of the negative class."""
    if population == "heavy":
        return (2 * p - 1) / np.sqrt(2 * p * (1 - p))
    return ndtri(p)


def survival(population: str, x: np.ndarray) -> np.ndarray:
    """Return the proportion of latent scores of the negative class above x."""
    return 0.5 - x / (2 * np.sqrt(2 + x**2)) if population == "heavy" else ndtr(-x)


def observed_score(population: str, latent: np.ndarray) -> np.ndarray:
    """Return the observed scores of a population, given its latent scores."""
    if population == "discrete":
        return np.clip(np.round(1.5 * latent - 0.2), -3, 7)
    return np.maximum(latent, FLOOR) if population == "tied" else latent


@cache
def population_curve(population: str, shift: float, prevalence: float) -> Curve:
    """Return the true curve of a population, as a single draw."""
    if population == "discrete":
        latent = (np.arange(7, -3, -1) - 0.3) / 1.5  # thresholds between the rounded scores
    else:
        tail = np.geomspace(1e-13, 1e-3, 2000)
        level = np.concatenate([tail, np.linspace(1e-3, 1 - 1e-3, 20_001), 1 - tail])
        latent = quantile(population, np.unique(level))
        latent = np.sort(np.concatenate([latent, latent + shift]))[::-1]
        latent = latent[latent > FLOOR] if population == "tied" else latent
    rates = [np.concatenate([[0], survival(population, latent - s), [1]]) for s in (0, shift)]
    fpr_tpr = np.maximum.accumulate(np.stack(rates), axis=1)
    tied = np.full(len(latent) + 1, population == "discrete")
    tied[-1] = population in ("discrete", "tied")
    half, order = np.full(len(tied), 0.5), np.arange(len(tied) + 1)
    return Curve(fpr_tpr[:1], fpr_tpr[1:], np.array([prevalence]), half, tied, order)


@cache
def shift_of_area(population: str, area: float) -> float:
    """Return the shift of the positive class for a given area."""

    def excess(shift):
        return auc(population_curve(population, shift, 0.5))[0] - area

    return brentq(excess, 0, 100)


def classes(rng: np.random.Generator, n: int, prevalence: float) -> np.ndarray:
    """Return the classes of n examples, positives first, with at least three of each class."""
    positives = 0
    while not 3 <= positives <= n - 3:
        positives = rng.binomial(n, prevalence)
    return np.arange(n) < positives


# Table "coverage": areas and the best F1 (equal-tailed and highest-density intervals), simultaneous
# bands of both curves, and the pointwise ROC band at the middle point. A band that contains the
# whole true curve is recorded as the interval (0, width), and another band as an interval without
# 0, so that the true value is 0. The posterior is compared with DeLong's interval of the area on
# the logit scale.


class PopulationSetting(NamedTuple):
    """A population of scores, its true area, the number of examples, and the prevalence."""

    population: str
    area: float
    n: int
    prevalence: float


COVERAGE = {
    case: PopulationSetting(population, area, *size)
    for case, (size, area, population) in enumerate(
        product(
            ((50, 0.3), (50, 0.16), (200, 0.3), (200, 0.04), (1000, 0.3)),
            (0.8, 0.96, 0.99),
            POPULATIONS,
        ),
        start=1,
    )
}
FPR = np.concatenate([GRID, [1.0]])
RECALL = np.concatenate([GRID[GRID >= 0.01], [1.0]])
NUMBERS = {
    "auc": auc,
    "average_precision": average_precision,
    "max_f1": max_f1,
}


def scores_of_population(
    rng: np.random.Generator, population: str, area: float, n: int, prevalence: float
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores of a test set, and the true values.

    The true curves are attributes of the scores.
    """
    actual = classes(rng, n, prevalence)
    shift = shift_of_area(population, area)
    latent = quantile(population, rng.random(n)) + shift * actual
    evidence = from_scores(actual, observed_score(population, latent))
    true_curve = population_curve(population, shift, prevalence)
    evidence.attrs["tpr"] = tpr_at(true_curve, FPR)[0]
    evidence.attrs["precision"] = precision_at(true_curve, RECALL)[0]
    truth = {name: kernel(true_curve)[0] for name, kernel in NUMBERS.items()}
    truth |= {f"{name} hdi": value for name, value in truth.items()}
    return evidence, truth | dict.fromkeys(["roc band", "roc pointwise", "pr band"], 0.0)


def curve_intervals(evidence: xr.Dataset, draws: int = DRAWS) -> Mapping[str, Any]:
    """Return the intervals of summary measures and bands, from the same draws."""
    posterior = draw_curves(evidence, draws, 0, resolution=512)
    numbers = {name: posterior.map(kernel, name) for name, kernel in NUMBERS.items()}
    roc = (partial(tpr_at, fpr=FPR), "tpr", {"fpr": FPR})
    pr = (partial(precision_at, recall=RECALL), "precision", {"recall": RECALL})
    lowest = posterior.lowest()
    roc_band = curves.band(posterior.map(*roc), lowest=lowest.map(*roc)).values
    pr_band = curves.band(posterior.map(*pr), lowest=lowest.map(*pr)).values
    middle = len(FPR) // 2
    pointwise = curves.band(posterior.map(*roc), simultaneous=False)[middle].values
    return {
        **{name: interval_of(values, 0.95, "eti").values for name, values in numbers.items()},
        **{f"{k} hdi": interval_of(values, 0.95, "hdi").values for k, values in numbers.items()},
        "roc band": band_as_interval(roc_band, evidence.attrs["tpr"]),
        "roc pointwise": tuple(pointwise - evidence.attrs["tpr"][middle]),
        "pr band": band_as_interval(pr_band, evidence.attrs["precision"]),
    }


def band_as_interval(bounds: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return an interval with a band's mean width, which starts at 0 if it contains the curve."""
    width = (bounds[:, 1] - bounds[:, 0]).mean()
    holds = ((bounds[:, 0] - 1e-12 <= truth) & (truth <= bounds[:, 1] + 1e-12)).all()
    return (0.0, width) if holds else (1.0, 1.0 + width)


def delong_interval(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return DeLong's interval of the area, on the logit scale."""
    return {"auc": delong(evidence).values}


# Table "paired": differences between two binormal classifiers with correlated scores. The posterior
# is compared with DeLong's interval of the difference of areas.


class PairSetting(NamedTuple):
    """Area of each classifier, correlation of scores, number of examples, and prevalence."""

    first_area: float
    second_area: float
    correlation: float
    n: int
    prevalence: float


PAIRS = {
    case: PairSetting(*areas, correlation, *size)
    for case, (size, correlation, areas) in enumerate(
        product(
            ((50, 0.3), (50, 0.16), (200, 0.3), (1000, 0.3)),
            (0.3, 0.9),
            ((0.8, 0.8), (0.8, 0.85), (0.95, 0.97), (0.98, 0.99)),
        ),
        start=1,
    )
}
DIFFERENCES = ("auc", "average_precision")


def scores_of_pair(
    rng: np.random.Generator,
    first_area: float,
    second_area: float,
    correlation: float,
    n: int,
    prevalence: float,
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores of two classifiers on a test set, and the true differences."""
    actual = classes(rng, n, prevalence)
    shifts = np.sqrt(2) * ndtri(np.array([first_area, second_area]))
    common, specific = rng.standard_normal(n), rng.standard_normal((2, n))
    noise = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * specific
    first, second = noise + shifts[:, None] * actual
    precisions = [
        average_precision(population_curve("binormal", float(shift), prevalence))[0]
        for shift in shifts
    ]
    evidence = from_scores(actual, {"first": first, "second": second})
    # Test sets have different seeds, so that they do not share Monte Carlo errors.
    evidence.attrs["seed"] = int(rng.integers(2**31))
    differences = (first_area - second_area, precisions[0] - precisions[1])
    return evidence, dict(zip(DIFFERENCES, differences, strict=True))


def difference_intervals(evidence: xr.Dataset, draws: int = DRAWS) -> Mapping[str, Any]:
    """Return the intervals of the differences."""
    seed, intervals = evidence.attrs["seed"], {}
    for name in DIFFERENCES:
        row = curves.compare(evidence, name, kind="eti", draws=draws, random_seed=seed).iloc[0]
        intervals[name] = (row["lower"], row["upper"])
    return intervals


def delong_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return DeLong's interval of the difference of areas."""
    row = delong_compare(evidence).iloc[0]
    return {"auc": (row["lower"], row["upper"])}


# Table "threshold": the interval of a measure at the best threshold, compared with the population
# value at the chosen threshold. The rows ``apparent excess`` and ``optimism`` are not intervals.
# Their upper ends are the true excess of the apparent value and the reported optimism, so that
# their mean lengths can be compared.

THRESHOLDS = {
    1: PopulationSetting("binormal", 0.8, 50, 0.3),
    2: PopulationSetting("binormal", 0.8, 200, 0.3),
    3: PopulationSetting("binormal", 0.96, 100, 0.2),
    4: PopulationSetting("heavy", 0.96, 100, 0.2),
    5: PopulationSetting("heavy", 0.8, 200, 0.3),
}
CRITERIA = {"f1": "f1", "informedness": "informedness", "cost": cost([[0, 1], [5, 0]])}


def scores_for_threshold(
    rng: np.random.Generator, *setting: Any
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores of a test set, and true values of 0.

    The true values are subtracted from the intervals instead.
    """
    evidence, _ = scores_of_population(rng, *setting)
    quantities = product(CRITERIA, ("value", "apparent excess", "optimism"))
    return evidence, {f"{quantity} of {name}": 0.0 for name, quantity in quantities}


def threshold_intervals(
    evidence: xr.Dataset,
    *,
    population: str,
    area: float,
    prevalence: float,
    draws: int = DRAWS,
) -> Mapping[str, Any]:
    """Return the interval of the value at the best threshold, minus the true value there."""
    shift = shift_of_area(population, area)
    intervals: dict[str, Any] = {}
    for name, measure in CRITERIA.items():
        best = curves.best_threshold(evidence, measure, draws=draws)
        threshold = best["threshold"].item()
        fpr, tpr = survival(population, threshold), survival(population, threshold - shift)
        negatives = [(1 - prevalence) * (1 - fpr), (1 - prevalence) * fpr]
        truth = resolve(measure)(np.array([negatives, [prevalence * (1 - tpr), prevalence * tpr]]))
        sign = -1 if name == "cost" else 1
        intervals[f"value of {name}"] = tuple(best["value"].values - truth)
        intervals[f"apparent excess of {name}"] = (0.0, sign * (best["apparent"].item() - truth))
        intervals[f"optimism of {name}"] = (0.0, best["optimism"].item())
    return intervals


def threshold_methods(population, area, n, prevalence):
    """Return the posterior, evaluated with the population of a setting."""
    del n
    judged = {"population": population, "area": area, "prevalence": prevalence}
    return {"posterior": partial(threshold_intervals, **judged)}


# Table "weighted": curves from a sample with unequal sampling probabilities. Scores are normal in
# both classes. Weights are equal ("even"), log-normal and independent of the score ("log-normal"),
# or exponential in the score of the negatives ("by score"): hard negatives were oversampled. The
# last weights shift the mean of the negatives in the population, so that the true values are known
# in closed form. The weighted curve is compared with the unweighted one.

WEIGHTED = dict(enumerate(product(("even", "log-normal", "by score"), (100, 400)), start=1))
SEPARATION, TILT, LOG_SD, FALSE_ALARMS = 1.0, 0.5, 0.7, 0.1


def weighted_scores(
    rng: np.random.Generator, weights: str, n: int
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], Mapping[str, float]]:
    """Return the classes, scores and weights of a test set, and the true area and sensitivity."""
    actual = rng.random(n) < 0.3
    score = rng.standard_normal(n) + SEPARATION * actual
    weight, tilt = np.ones(n), 0.0
    if weights == "log-normal":
        weight = np.exp(LOG_SD * rng.standard_normal(n))
    elif weights == "by score":
        weight, tilt = np.where(actual, 1.0, np.exp(-TILT * score)), TILT
    truth = {
        "auc": float(ndtr((SEPARATION + tilt) / np.sqrt(2))),
        "sensitivity": float(ndtr(SEPARATION + tilt + ndtri(FALSE_ALARMS))),
    }
    return (actual, score, weight), truth


def weighted_intervals(examples: Any, *, weighted: bool) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the area, and of sensitivity at specificity 0.9."""
    actual, score, weight = examples
    options: dict[str, Any] = {"weights": weight, "weights_are": "importance"} if weighted else {}
    posterior = draw_curves(from_scores(actual, score, **options), DRAWS, 0, resolution=512)
    sensitivity = partial(tpr_at, fpr=np.array([FALSE_ALARMS]))
    values = posterior.map(sensitivity, "tpr", {"fpr": [FALSE_ALARMS]})
    return {
        "auc": interval_of(posterior.map(auc, "auc"), 0.95, "eti").values,
        "sensitivity": interval_of(values, 0.95, "eti").values.ravel(),
    }


WEIGHT_METHODS: dict[str, Method] = {
    "weighted": partial(weighted_intervals, weighted=True),
    "weights left out": partial(weighted_intervals, weighted=False),
}

EXPERIMENTS = [
    Experiment(
        "curves",
        COVERAGE,
        scores_of_population,
        {"logit DeLong": delong_interval, "posterior": curve_intervals},
        table="coverage",
    ),
    Experiment(
        "curves",
        PAIRS,
        scores_of_pair,
        {"posterior": difference_intervals, "DeLong": delong_difference},
        table="paired",
    ),
    Experiment("curves", THRESHOLDS, scores_for_threshold, threshold_methods, table="threshold"),
    Experiment(
        "curves",
        WEIGHTED,
        weighted_scores,
        WEIGHT_METHODS,
        columns=("weights", "n"),
        table="weighted",
    ),
]
