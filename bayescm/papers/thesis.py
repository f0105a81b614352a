"""
Coverage curves of the thesis behind bob.measure, and an open question: dependent examples.

Table "5" is Figure 5, the coverage of intervals for a proportion, and table "6" is Figure 6, the
coverage for F1. Both are exact enumerations. Table "dependent" addresses the open question at the
end of the thesis: labels and predictions follow a Markov chain within each image, and five
intervals are compared as the dependence increases.

References
----------
Goutte, C. & Gaussier, E. (2005). A probabilistic interpretation of precision, recall and F-score,
with implication for evaluation. ECIR 2005, 345-359. doi:10.1007/978-3-540-31865-1_25
"""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import betaincinv, gammaln, xlogy

from bayescm.answers.interval import interval
from bayescm.classical.clusters import effective_counts
from bayescm.classical.intervals import proportion
from bayescm.evidence.counts import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.papers import run_experiment
from bayescm.posteriors import hierarchical_groups
from bayescm.simulation import Experiment, Method
from bayescm.validate import check_choice, fail

TABLES = ("5", "6", "dependent")

# Exact coverage of intervals for proportions and F1.

SIZES = (10, 20, 50, 100, 500)
SHARES = tuple(np.round(np.arange(0.01, 1.0, 0.01), 2))
RATES = tuple(np.round(np.arange(0.1, 1.0, 0.1), 1))
CLASSICAL = ("wilson", "clopper_pearson", "agresti_coull", "plus_four", "wald")
PRIORS = {"flat": 1.0, "jeffreys": 0.5}


def proportions(n: int, prob: float = 0.95) -> dict[str, np.ndarray]:
    """Return the intervals for 0 to n successes by every method, shape (n + 1, 2) each."""
    hits = np.arange(n + 1)
    ends = {name: proportion(hits, n, method=name, prob=prob).values for name in CLASSICAL}
    for name, prior in PRIORS.items():
        a, b = hits + prior, n - hits + prior
        tails = (1 - prob) / 2, (1 + prob) / 2
        ends[name] = np.stack([betaincinv(a, b, tail) for tail in tails], axis=-1)
    return ends


def coverage_of_proportions(n: int, shares: Any = SHARES, prob: float = 0.95) -> pd.DataFrame:
    """
    Return the exact coverage of intervals for a proportion.

    Parameters
    ----------
    n : int
        Number of examples.
    shares : array_like, shape (P,)
        True proportions.
    prob : float, default 0.95

    Returns
    -------
    DataFrame
        Columns ``n``, ``p``, ``method``, ``doc`` (coverage) and ``il`` (mean length).

    Examples
    --------
    >>> table = coverage_of_proportions(20, [0.01])
    >>> table.set_index("method").doc.round(4)[["flat", "jeffreys"]].tolist()
    [0.8179, 0.9831]
    """
    shares = np.asarray(shares, float)
    mass = _binomial(n, shares)
    rows = []
    for name, ends in proportions(n, prob).items():
        inside = (ends[:, 0] <= shares[:, None]) & (shares[:, None] <= ends[:, 1])
        coverage, length = (mass * inside).sum(1), mass @ np.ptp(ends, 1)
        columns = {"n": n, "p": shares, "method": name, "doc": coverage, "il": length}
        rows.append(pd.DataFrame(columns))
    return pd.concat(rows, ignore_index=True)


def _binomial(n, shares):
    hits = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(hits + 1) - gammaln(n - hits + 1)
    share = shares[:, None]
    return np.exp(ways + xlogy(hits, share) + xlogy(n - hits, 1 - share))


def coverage_of_f1(n: int, rates: Any = RATES, prob: float = 0.95) -> pd.DataFrame:
    """
    Return the exact coverage of the equal-tailed interval for F1.

    The thesis varies precision and recall separately and drops pairs that no matrix can have. Here,
    the n examples that are positive or predicted positive are true positives or errors, and F1
    depends only on these. The share of true positives among them is the Jaccard index F / (2 - F).

    Parameters
    ----------
    n : int
        Number of examples that are positive or predicted positive.
    rates : array_like
        Values of precision and recall.
    prob : float, default 0.95

    Returns
    -------
    DataFrame
        Columns ``n``, ``precision``, ``recall``, ``f1``, ``method`` and ``doc``.
    """
    rates = np.asarray(rates, float)
    precision, recall = np.reshape(np.meshgrid(rates, rates, indexing="ij"), (2, -1))
    f1 = 2 * precision * recall / (precision + recall)
    jaccard = f1 / (2 - f1)
    hits, rows = np.arange(n + 1), []
    mass = _binomial(n, jaccard)
    for name, prior in PRIORS.items():
        a, b = hits + prior, n - hits + 2 * prior
        low, high = (betaincinv(a, b, tail) for tail in ((1 - prob) / 2, (1 + prob) / 2))
        inside = (low <= jaccard[:, None]) & (jaccard[:, None] <= high)
        columns = {"n": n, "precision": precision, "recall": recall, "f1": f1, "method": name}
        rows.append(pd.DataFrame(columns | {"doc": (mass * inside).sum(1)}))
    return pd.concat(rows, ignore_index=True)


# Dependent examples: images with dependent pixels. With probability ``stay``, a pixel has the true
# class of the preceding one. Otherwise, its class is drawn independently. The same holds for
# whether the prediction is correct. If ``stay`` is 0, all pixels are independent.

STAY = (0.5, 0.7, 0.8, 0.9, 0.95)
POSITIVES = 0.4  # share of positive pixels
ACCURACY = 0.8  # accuracy of the classifier


def dependent_images(
    rng: np.random.Generator, stay: float, *, images: int = 20, pixels: int = 100
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Draw counts with dimensions group (images) and batch (all pixels, or every tenth)."""
    actual = markov_chains(rng, POSITIVES, stay, (images, pixels))
    right = markov_chains(rng, ACCURACY, stay, (images, pixels))
    answer = np.where(right, actual, ~actual)
    tables = [_tables(actual[:, ::step], answer[:, ::step]) for step in (1, 10)]
    counts = from_matrix(np.stack(tables), labels=[0, 1], dims=("batch", "group"))
    return counts, {"recall": ACCURACY}


def markov_chains(
    rng: np.random.Generator, share: float, stay: float, shape: tuple[int, int]
) -> np.ndarray:
    """Draw binary chains (images, pixels) that repeat the preceding value with prob. `stay`."""
    fresh = rng.random(shape) < share
    repeats = rng.random(shape) < stay
    repeats[:, 0] = False
    # Position at which the value was last drawn independently.
    source = np.maximum.accumulate(np.where(repeats, 0, np.arange(shape[1])), axis=1)
    return np.take_along_axis(fresh, source, axis=1)


def _tables(actual, answer):
    cells = actual.astype(int) * 2 + answer
    return np.stack([np.bincount(row, minlength=4).reshape(2, 2) for row in cells])


def independent(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the interval that treats all pixels as independent."""
    return _interval(counts.isel(batch=0).sum("group"))


def thinned(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the interval from every tenth pixel."""
    return _interval(counts.isel(batch=1).sum("group"))


def design_effect(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the interval from the effective number of pixels, using the design effect."""
    return _interval(effective_counts(counts.isel(batch=0), "recall"))


def _interval(counts):
    return {"recall": interval(counts, "recall", kind="eti").values}


def pooled(counts: xr.DataArray, *, of: str) -> Mapping[str, Any]:
    """Return the interval of partially pooled images, for the typical one or their average."""
    posterior = _posterior(counts.isel(batch=0).values.tobytes(), counts.sizes["group"])
    (recall,) = posterior.draw([resolve("recall")], 4000, np.random.default_rng(0), of=of)
    return {"recall": np.quantile(recall, [0.025, 0.975])}


@lru_cache(maxsize=1)
def _posterior(cells, images):
    """Return the posterior of the images, which both estimands share."""
    return hierarchical_groups(np.frombuffer(cells, int).reshape(images, 2, 2))


METHODS: dict[str, Method] = {
    "independent": independent,
    "thinned": thinned,
    "design": design_effect,
    "groups, typical": partial(pooled, of="typical"),
    "groups, average": partial(pooled, of="population"),
}
DEPENDENT = Experiment(
    "thesis",
    {case: (stay,) for case, stay in enumerate(STAY, start=1)},
    dependent_images,
    METHODS,
    columns=("stay",),
    table="dependent",
)


def table(
    name: str, case: int | None = None, *, data: str | None = None, **options: Any
) -> pd.DataFrame:
    """
    Return one table.

    Parameters
    ----------
    name : {"5", "6", "dependent"}
    case : int, optional
        For "5" and "6", the position of the number of examples in `SIZES`, starting at 1. For
        "dependent", the position in `STAY` of the probability that a pixel repeats the preceding
        one.
    data : None
        Not used, because no table needs data files.
    **options
        ``replications``, ``seed``, ``jobs``, ``journal`` and ``progress`` of
        `bayescm.simulation.Experiment.run`, for "dependent". The other tables are exact.

    Returns
    -------
    pandas.DataFrame
    """
    check_choice("table", name, list(TABLES))
    if name == "dependent":
        return run_experiment(DEPENDENT, case, **options).assign(table=name)
    if case is not None and case not in range(1, len(SIZES) + 1):
        raise fail(
            f"Unknown case {{}}: the cases are 1 to {len(SIZES)}",
            case,
            "",
            "leave it out to run all",
        )
    coverage = coverage_of_proportions if name == "5" else coverage_of_f1
    sizes = SIZES if case is None else [SIZES[case - 1]]
    return pd.concat([coverage(size) for size in sizes], ignore_index=True).assign(table=name)
