r"""
The best of many classifiers: its optimism, by loops over resamples and by a separate quadrature.

Twenty classifiers with equal or different accuracies predict the same 120 examples. There are two
estimates of the optimism:

- The bootstrap selects the best classifier in each resample, and evaluates it on the examples that
  were not drawn (Tsamardinos et al. 2018, doi:10.1007/s10994-018-5714-4).
- The true accuracies are treated as a sample from a Student t distribution with two degrees of
  freedom. The optimism is the expected error of the selected classifier, by sums over a grid of
  location, scale and error. The location has a flat prior. The scale has a half-Cauchy prior, in
  units of the median error of a classifier without the component shared by all.

The optimism is the mean of both. Limits without the optimism are quantiles of a beta distribution.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import ndtri

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, rows, summarised

CLASSIFIERS, EXAMPLES, RESAMPLES = 20, 120, 1000
SPREADS = (0.0, 0.05, 0.15)
CASES = dict(enumerate([(spread,) for spread in SPREADS], start=1))
SCALES = np.geomspace(0.03, 12, 50)  # in units of the median error
LOCATIONS, ERRORS = np.linspace(-1, 1, 31), np.linspace(-5, 5, 101)
# Tolerance for the finite grids of the package: about a twentieth of the standard error of an
# accuracy from 120 examples.
GRIDS = 0.002


def right_answers(rng: np.random.Generator, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Return true classes (n,), and a mask of correct predictions (M, n), which are correlated."""
    accuracy = np.clip(0.7 + spread * rng.standard_normal(CLASSIFIERS), 0.5, 0.95)
    shared = rng.standard_normal(EXAMPLES)
    latent = np.sqrt(0.5) * (shared + rng.standard_normal((CLASSIFIERS, EXAMPLES)))
    return rng.integers(0, 2, EXAMPLES), latent < ndtri(accuracy)[:, None]


def by_bootstrap(right: np.ndarray, rng: np.random.Generator) -> tuple[Figure, np.ndarray]:
    """Return the out-of-resample accuracy of the best, and all accuracies by resample (B, M)."""
    inside, outside = [], []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, EXAMPLES, EXAMPLES)
        left = np.setdiff1d(np.arange(EXAMPLES), drawn)
        inside.append(right[:, drawn].mean(1))
        outside.append(right[inside[-1].argmax()][left].mean())
    return Figure(np.mean(outside), np.std(outside) / np.sqrt(RESAMPLES)), np.array(inside)


def by_shrinkage(points: np.ndarray, inside: np.ndarray) -> float:
    """Return the expected error of the best, given a Student t population of accuracies."""
    apart = inside - inside.mean(1, keepdims=True)
    variance = apart.var(0) * len(points) / (len(points) - 1)
    typical = np.sqrt(np.median(variance))
    best, sd = points.argmax(), np.sqrt(variance)
    low, high = sorted([points.mean(), np.median(points)])
    reach = 4 * points.std() / np.sqrt(len(points)) + high - low
    weights, means = [], []
    normal = stats.norm.pdf(ERRORS)
    for scale in SCALES:
        for location in (low + high) / 2 + reach * LOCATIONS:
            truth = points[:, None] - sd[:, None] * ERRORS
            density = stats.t.pdf(truth, 2, location, scale * typical) * normal
            logs = np.log(density.sum(1)).sum()
            # The step of a geometric grid is proportional to its value.
            weights.append(logs + np.log(scale / (1 + scale**2)))
            means.append(density[best] @ ERRORS * sd[best] / density[best].sum())
    share = np.exp(np.array(weights) - max(weights))
    return float(share @ np.array(means) / share.sum())


def figures(replications: Replications, spread: float) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every figure of each data set."""
    for rng in replications.generators():
        truth, right = right_answers(rng, spread)
        answers = np.where(right, truth, 1 - truth)
        evidence = bcm.from_classifiers(
            truth, {f"c{index}": answer for index, answer in enumerate(answers)}, positive=1
        )
        row = bcm.learners.best(evidence, "accuracy", kind="eti", resamples=RESAMPLES).iloc[0]
        points = right.mean(1)
        outside, inside = by_bootstrap(right, rng)
        naive = points.max() - outside.value
        optimism = (naive + by_shrinkage(points, inside)) / 2
        hits = right[points.argmax()].sum()
        beta = stats.beta(hits + 1, EXAMPLES - hits + 1)
        error = float(np.hypot(outside.error / 2, GRIDS))
        own = {"optimism": Figure(optimism, error)}
        package = {"optimism": Figure(row["optimism"], outside.error / 2)}
        yield from rows("optimism", package, own)
        own = {"mean": Figure(beta.mean() - optimism, error)}
        yield from rows("mean", {"mean": Figure(row["mean"], outside.error / 2)}, own)
        exact = {
            "point": points.max(),
            "naive_lower": beta.ppf(0.025),
            "naive_upper": beta.ppf(0.975),
        }
        yield from rows(
            "without the optimism",
            {key: Figure(row[key]) for key in exact},
            {key: Figure(value) for key, value in exact.items()},
        )


def table_rows(replications: Replications, spread: float) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every question of a case."""
    yield from summarised(figures(replications, spread))


EXPERIMENTS = [Repeated("recomputed", CASES, table_rows, columns=["spread"], table="best")]
