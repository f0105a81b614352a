"""Coverage for item scores: means, differences, clusters of items, near copies, and a judge."""

import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
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
RESAMPLES = 2000


class MeanSetting(NamedTuple):
    """Population of scores, and number of items."""

    population: str
    items: int


def marks(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return scores from 1 to 5, most of them high."""
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
    """Return scores of one system, and the population mean."""
    values = POPULATIONS[population](rng, items)
    evidence = from_item_scores(values, range=RANGES.get(population, (0, 1)))
    return evidence, {"mean": MEANS[population]}


def of_mean(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% equal-tailed interval of the mean score."""
    return {"mean": interval(evidence, "mean", kind="eti").values}


def t_interval(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% t interval of the mean."""
    return {"mean": _t(evidence["item_score"].values)}


def bootstrap_interval(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the bias-corrected and accelerated (BCa) bootstrap interval of scipy."""
    return {"mean": _bootstrap(evidence["item_score"].values)}


def percentile_interval(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the percentile bootstrap interval of scipy."""
    return {"mean": _bootstrap(evidence["item_score"].values, "percentile")}


def smoothed_interval(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the percentile interval of the smoothed bootstrap."""
    return {"mean": _smoothed_bootstrap(evidence["item_score"].values)}


def _t(values):
    error = stats.sem(values)
    return values.mean() + error * stats.t.ppf([0.025, 0.975], len(values) - 1)


def _bootstrap(values, method="BCa"):
    if not np.ptp(values):
        return np.repeat(values.mean(), 2)
    options = {"n_resamples": RESAMPLES, "rng": np.random.default_rng(0), "method": method}
    return stats.bootstrap((values,), np.mean, **options).confidence_interval


def _smoothed_bootstrap(values):
    """
    Return the percentile interval of resamples of a Gaussian kernel density estimate.

    Silverman, B. W. & Young, G. A. (1987). The bootstrap: to smooth or not to smooth? Biometrika
    74, 469-479. doi:10.1093/biomet/74.3.469. The bandwidth is Scott's, sd n^(-1/5). The mean of n
    kernel variables is sampled as a single normal variable.
    """
    rng, number = np.random.default_rng(0), len(values)
    means = values[rng.integers(0, number, (RESAMPLES, number))].mean(axis=1)
    noise = values.std(ddof=1) * number**-0.2 / np.sqrt(number)
    return np.quantile(means + noise * rng.standard_normal(RESAMPLES), [0.025, 0.975])


# Table "differences": two systems on the same items.


class PairSetting(NamedTuple):
    """Joint distribution of the scores of two systems, and number of items."""

    pair: str
    items: int


def correlated(rng, size, correlation):
    """Return normal scores with a given correlation, clipped at 0 and 1."""
    normal = rng.standard_normal((2, size))
    normal[1] = correlation * normal[0] + np.sqrt(1 - correlation**2) * normal[1]
    return np.clip([0.6 + 0.25 * normal[0], 0.55 + 0.25 * normal[1]], 0, 1)


def mostly_tied(rng, size):
    """Return right (1) and wrong (0) answers of two systems that differ in 8% of the items."""
    first = (rng.random(size) < 0.6).astype(float)
    return np.array([first, np.where(rng.random(size) < 0.08, 1 - first, first)])


def rarely_apart(rng, size):
    """Return equal scores of two systems, but with 0 for the second in 10% of the items."""
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
    """Return the population mean of the difference, from four million items."""
    first, second = PAIRS[pair](np.random.default_rng(99), 4_000_000)
    return float((first - second).mean())


def pairs(
    rng: np.random.Generator, pair: str, items: int
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores of two systems, and the population mean of the difference."""
    first, second = PAIRS[pair](rng, items)
    evidence = from_item_scores({"a": first, "b": second}, range=(0, 1))
    return evidence, {"difference": mean_difference(pair)}


def of_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% equal-tailed interval of the difference between two means."""
    return {"difference": compare(evidence, "mean", kind="eti")[["lower", "upper"]].iloc[0]}


def t_of_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% paired t interval."""
    first, second = evidence["item_score"].values
    return {"difference": _t(first - second)}


def bootstrap_of_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the BCa bootstrap interval of the differences."""
    first, second = evidence["item_score"].values
    return {"difference": _bootstrap(first - second)}


def percentile_of_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the percentile bootstrap interval of the differences."""
    first, second = evidence["item_score"].values
    return {"difference": _bootstrap(first - second, "percentile")}


def smoothed_of_difference(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the percentile interval of the smoothed bootstrap of the differences."""
    first, second = evidence["item_score"].values
    return {"difference": _smoothed_bootstrap(first - second)}


# Table "clusters": items in twenty clusters of unequal size.

CLUSTERS = 20
BETWEEN, WITHIN = 0.1, 0.15  # standard deviations between cluster means and within clusters


class ClusterSetting(NamedTuple):
    """Total number of items."""

    items: int


def clusters(rng: np.random.Generator, items: int) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores in clusters, and the means for the population and the observed clusters."""
    sizes = 2 + rng.multinomial(items - 2 * CLUSTERS, rng.dirichlet(np.full(CLUSTERS, 2)))
    means = 0.5 + BETWEEN * rng.uniform(-(3**0.5), 3**0.5, CLUSTERS)
    cluster = np.repeat(np.arange(CLUSTERS), sizes)
    score = means[cluster] + WITHIN * rng.uniform(-(3**0.5), 3**0.5, items)
    evidence = from_item_scores(score, range=(0, 1), group=cluster)
    return evidence, {"population": 0.5, "finite": float(means @ sizes / items)}


def of_clusters(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals for the population and for the observed clusters."""
    ask = {"kind": "eti"}
    return {of: interval(evidence, "mean", of=of, **ask).values for of in ("population", "finite")}


def robust_t(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the cluster-robust t interval, and the plain t interval for observed clusters."""
    score, cluster = evidence["item_score"].values, evidence["group"].values
    sums = np.bincount(cluster, score - score.mean())
    error = np.sqrt(CLUSTERS / (CLUSTERS - 1) * (sums**2).sum()) / len(score)
    ends = score.mean() + error * stats.t.ppf([0.025, 0.975], CLUSTERS - 1)
    return {"population": ends, "finite": _t(score)}


# Table "near_copies": two systems with equal scores in most items. The setting gives the expected
# number of items with different scores.


class NearSetting(NamedTuple):
    """Distribution of nonzero differences, expected number of them, and number of items."""

    differences: str
    differing: float
    items: int


DIFFERENCES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "both ways": lambda rng, size: rng.uniform(-0.5, 0.5, size),
    "small gains, rare large losses": lambda rng, size: np.where(
        rng.random(size) < 0.8, rng.uniform(0, 0.1, size), -rng.uniform(0, 0.5, size)
    ),
    "by one amount": lambda rng, size: np.where(rng.random(size) < 0.75, 0.5, -0.5),
}
MEAN_DIFFERENCES = {
    "both ways": 0.0,
    "small gains, rare large losses": 0.8 * 0.05 - 0.2 * 0.25,
    "by one amount": 0.25,
}


def near_copies(
    rng: np.random.Generator, differences: str, differing: float, items: int
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores of two systems, most of them equal, and the population mean difference."""
    apart = np.where(
        rng.random(items) < differing / items, DIFFERENCES[differences](rng, items), 0.0
    )
    second = np.full(items, 0.5)
    evidence = from_item_scores({"a": second + apart, "b": second}, range=(0, 1))
    return evidence, {"difference": MEAN_DIFFERENCES[differences] * differing / items}


def unwarned(method: Callable, evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the intervals of a method, without its warning that few items differ."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(evidence)


# Table "judge": people score a random sample of the items, and a judge scores all of them. The
# interval is compared with power-tuned prediction-powered inference (Angelopoulos, Duchi & Zrnic,
# 2023, arXiv:2311.01453).

JUDGED_ITEMS = 1000


class JudgeSetting(NamedTuple):
    """Distribution of people's scores, correlation with the judge, and number of scored items."""

    population: str
    correlation: float
    scored: int


PEOPLE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "beta(5, 2)": lambda uniform: stats.beta.ppf(uniform, 5, 2),
    "80 % ones, else uniform": lambda uniform: np.minimum(uniform / 0.2, 1.0),
}
PEOPLE_MEANS = {"beta(5, 2)": 5 / 7, "80 % ones, else uniform": 0.9}


def judged(
    rng: np.random.Generator, population: str, correlation: float, scored: int
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores of people and of a judge, which are correlated on the normal scale."""
    latent = rng.standard_normal(JUDGED_ITEMS)
    other = rng.standard_normal(JUDGED_ITEMS)
    judge = correlation * latent + np.sqrt(1 - correlation**2) * other
    people = PEOPLE[population](stats.norm.cdf(latent))
    people[rng.permutation(JUDGED_ITEMS)[scored:]] = np.nan
    evidence = from_item_scores(people, judge=judge, range=(0, 1))
    return evidence, {"mean": PEOPLE_MEANS[population]}


def with_judge(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% equal-tailed interval of the mean, from the scores of people and judge."""
    return {"mean": interval(evidence, "mean", kind="eti", draws=2000).values}


def people_alone(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% equal-tailed interval of the mean, from the scores of people alone."""
    score = evidence["item_score"].values
    alone = from_item_scores(score[~np.isnan(score)], range=(0, 1))
    return {"mean": interval(alone, "mean", kind="eti").values}


def ppi(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% normal interval of power-tuned prediction-powered inference (PPI++)."""
    score, judge = evidence["item_score"].values, evidence["judge_score"].values
    scored = ~np.isnan(score)
    y, f, rest = score[scored], judge[scored], judge[~scored]
    n, unscored = len(y), len(rest)
    slope = np.cov(y, f)[0, 1] / ((1 + n / unscored) * judge.var(ddof=1))
    mean = slope * rest.mean() + (y - slope * f).mean()
    variance = slope**2 * rest.var(ddof=1) / unscored + (y - slope * f).var(ddof=1) / n
    return {"mean": mean + np.sqrt(variance) * stats.norm.ppf([0.025, 0.975])}


EXPERIMENTS = (
    Experiment(
        "item_scores",
        {
            case: MeanSetting(*setting)
            for case, setting in enumerate(product(POPULATIONS, SIZES), start=1)
        },
        scores,
        {
            "item_scores": of_mean,
            "t": t_interval,
            "bootstrap (BCa)": bootstrap_interval,
            "bootstrap (percentile)": percentile_interval,
            "bootstrap (smoothed)": smoothed_interval,
        },
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
            "item_scores": partial(unwarned, of_difference),
            "t": t_of_difference,
            "bootstrap (BCa)": bootstrap_of_difference,
            "bootstrap (percentile)": percentile_of_difference,
            "bootstrap (smoothed)": smoothed_of_difference,
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
    Experiment(
        "item_scores",
        {
            case: NearSetting(*setting)
            for case, setting in enumerate(product(DIFFERENCES, (3, 10, 25), (50, 200)), start=1)
        },
        near_copies,
        {"item_scores": partial(unwarned, of_difference)},
        table="near_copies",
    ),
    Experiment(
        "item_scores",
        {
            case: JudgeSetting(*setting)
            for case, setting in enumerate(product(PEOPLE, (0.0, 0.6, 0.9), (30, 100)), start=1)
        },
        judged,
        {"people and judge": with_judge, "people alone": people_alone, "PPI++": ppi},
        table="judge",
    ),
)
