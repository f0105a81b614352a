"""A number for each item: coverage of means, of paired differences, and in clusters."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from bayescm.answers.compare import compare
from bayescm.answers.interval import interval
from bayescm.evidence.item_scores import from_item_scores
from bayescm.simulation import Experiment

SIZES = (20, 60, 200, 500)


class MeanSetting(NamedTuple):
    """The population of the scores, and the number of items."""

    population: str
    items: int


def marks(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return marks from 1 to 5, most of them high."""
    return rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], size, p=[0.02, 0.05, 0.1, 0.23, 0.6])


POPULATIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "beta(5, 2)": lambda rng, size: rng.beta(5, 2, size),
    "30 % zeros, else uniform": lambda rng, size: rng.random(size) * (rng.random(size) > 0.3),
    "95 % ones, else uniform": lambda rng, size: np.where(
        rng.random(size) < 0.95, 1.0, rng.random(size)
    ),
    "5 % ones, else 0": lambda rng, size: (rng.random(size) < 0.05).astype(float),
    "five marks": marks,
    "beta(.2, .8)": lambda rng, size: rng.beta(0.2, 0.8, size),
}
MEANS = {"beta(5, 2)": 5 / 7, "30 % zeros, else uniform": 0.35, "95 % ones, else uniform": 0.975}
MEANS |= {"5 % ones, else 0": 0.05, "five marks": 4.34, "beta(.2, .8)": 0.2}
RANGES = {"five marks": (1, 5)}


def scores(
    rng: np.random.Generator, population: str, items: int
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores of one system, and the mean of the population."""
    values = POPULATIONS[population](rng, items)
    evidence = from_item_scores(values, range=RANGES.get(population, (0, 1)))
    return evidence, {"mean": MEANS[population]}


def of_mean(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% equal-tailed interval of the mean score."""
    return {"mean": interval(evidence, "mean", kind="eti").values}


def t_interval(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the t interval of the mean."""
    return {"mean": _t(evidence["item_score"].values)}


def bootstrap_interval(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the bias-corrected and accelerated bootstrap interval of scipy."""
    return {"mean": _bootstrap(evidence["item_score"].values)}


def _t(values):
    error = stats.sem(values)
    return values.mean() + error * stats.t.ppf([0.025, 0.975], len(values) - 1)


def _bootstrap(values):
    if not np.ptp(values):
        return np.repeat(values.mean(), 2)
    rng = np.random.default_rng(0)
    return stats.bootstrap((values,), np.mean, n_resamples=2000, rng=rng).confidence_interval


# Two systems on the same items.


class PairSetting(NamedTuple):
    """How the scores of two systems are related, and the number of items."""

    pair: str
    items: int


def correlated(rng, size, correlation):
    """Return normal scores of a correlation, cut off at 0 and 1."""
    normal = rng.standard_normal((2, size))
    normal[1] = correlation * normal[0] + np.sqrt(1 - correlation**2) * normal[1]
    return np.clip([0.6 + 0.25 * normal[0], 0.55 + 0.25 * normal[1]], 0, 1)


def mostly_tied(rng, size):
    """Return right and wrong answers, of which two systems differ in eight of a hundred."""
    first = (rng.random(size) < 0.6).astype(float)
    return np.array([first, np.where(rng.random(size) < 0.08, 1 - first, first)])


def rarely_apart(rng, size):
    """Return scores of which the second system loses one in ten altogether."""
    first = rng.random(size)
    return np.array([first, first * (rng.random(size) > 0.1)])


PAIRS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "correlated .3": lambda rng, size: correlated(rng, size, 0.3),
    "correlated .9": lambda rng, size: correlated(rng, size, 0.9),
    "92 % ties": mostly_tied,
    "1 in 10 apart": rarely_apart,
}


@lru_cache
def mean_difference(pair: str) -> float:
    """Return the mean difference of four million items."""
    first, second = PAIRS[pair](np.random.default_rng(99), 4_000_000)
    return float((first - second).mean())


def pairs(
    rng: np.random.Generator, pair: str, items: int
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores of two systems, and the mean difference of the population."""
    first, second = PAIRS[pair](rng, items)
    evidence = from_item_scores({"a": first, "b": second}, range=(0, 1))
    return evidence, {"difference": mean_difference(pair)}


def of_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% equal-tailed interval of the difference of two means."""
    return {"difference": compare(evidence, "mean", kind="eti")[["lower", "upper"]].iloc[0]}


def t_of_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the paired t interval."""
    first, second = evidence["item_score"].values
    return {"difference": _t(first - second)}


def bootstrap_of_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the bootstrap interval of the differences."""
    first, second = evidence["item_score"].values
    return {"difference": _bootstrap(first - second)}


# Items in twenty clusters of unequal size.

CLUSTERS = 20
BETWEEN, WITHIN = 0.1, 0.15  # standard deviations, of means of clusters and of items about them


class ClusterSetting(NamedTuple):
    """The number of items in all."""

    items: int


def clusters(rng: np.random.Generator, items: int) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores in clusters, and the means of all clusters and of those at hand."""
    sizes = 2 + rng.multinomial(items - 2 * CLUSTERS, rng.dirichlet(np.full(CLUSTERS, 2)))
    means = 0.5 + BETWEEN * rng.uniform(-(3**0.5), 3**0.5, CLUSTERS)
    cluster = np.repeat(np.arange(CLUSTERS), sizes)
    score = means[cluster] + WITHIN * rng.uniform(-(3**0.5), 3**0.5, items)
    evidence = from_item_scores(score, range=(0, 1), group=cluster)
    return evidence, {"population": 0.5, "finite": float(means @ sizes / items)}


def of_clusters(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% equal-tailed intervals of clusters like these, and of these."""
    ask = {"kind": "eti"}
    return {of: interval(evidence, "mean", of=of, **ask).values for of in ("population", "finite")}


def robust_t(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the t interval by the sums of clusters."""
    score, cluster = evidence["item_score"].values, evidence["group"].values
    sums = np.bincount(cluster, score - score.mean())
    error = np.sqrt(CLUSTERS / (CLUSTERS - 1) * (sums**2).sum()) / len(score)
    ends = score.mean() + error * stats.t.ppf([0.025, 0.975], CLUSTERS - 1)
    return {"population": ends, "finite": _t(score)}


EXPERIMENTS = (
    Experiment(
        "item_scores",
        {
            case: MeanSetting(*setting)
            for case, setting in enumerate(product(POPULATIONS, SIZES), start=1)
        },
        scores,
        {"item_scores": of_mean, "t": t_interval, "bootstrap (BCa)": bootstrap_interval},
        table="means",
    ),
    Experiment(
        "item_scores",
        {
            case: PairSetting(*setting)
            for case, setting in enumerate(product(PAIRS, SIZES), start=1)
        },
        pairs,
        {
            "item_scores": of_difference,
            "t": t_of_difference,
            "bootstrap (BCa)": bootstrap_of_difference,
        },
        table="differences",
    ),
    Experiment(
        "item_scores",
        {case: ClusterSetting(items) for case, items in enumerate((60, 200, 500), start=1)},
        clusters,
        {"item_scores": of_clusters, "t": robust_t},
        table="clusters",
    ),
)
