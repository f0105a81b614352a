"""
Coverage of 95% intervals with importance weights, with and without a caution about heavy weights.

A population has three strata of equal size. Strata are sampled with probabilities inversely
proportional to their weights, or weights are log-normal and independent of everything. Scores are
normal, higher by `SEPARATION` for positives, and shifted by stratum. If ``prevalences`` differ,
most positives are in the stratum with the highest scores. The true values follow from the normal
distribution function. There is a row for each measure of a case, with the proportion of samples
that have a caution, and the coverage with a caution, without one, and overall. The coverage is NaN
if there are no such samples.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bayescm.answers.interval import interval
from bayescm.evidence.predictions import from_predictions
from bayescm.evidence.scores import from_scores
from bayescm.simulation import Repeated, Replications

STRATA = 3
SHIFT = np.array([1.0, 0.0, -1.0])
SEPARATION, THRESHOLD = 1.5, 0.75
PREVALENCES = {"differ": np.array([0.5, 0.2, 0.05]), "equal": np.full(3, 0.3)}
LOG_NORMAL = "log-normal"
MEASURES = {
    "counts": ("recall", "specificity", "precision", "prevalence", "accuracy"),
    "scores": ("auc",),
}


class Weighting(NamedTuple):
    """Type of evidence, weights, whether prevalences differ, and number of examples."""

    evidence: str
    weights: str
    prevalences: str
    n: int


DESIGNS = (("1:5:20", "differ"), ("1:5:20", "equal"), ("1:2:4", "differ"), (LOG_NORMAL, "differ"))
CASES = dict(
    enumerate(
        [
            Weighting(evidence, *design, n)
            for evidence, n, design in product(("counts", "scores"), (100, 400), DESIGNS)
        ],
        start=1,
    )
)


class Sample(NamedTuple):
    """Classes, scores and weights of a sample, each (n,)."""

    actual: np.ndarray
    score: np.ndarray
    weight: np.ndarray


def weighted_sample(rng: np.random.Generator, weights: str, prevalences: str, n: int) -> Sample:
    """Return a sample with importance weights."""
    if weights == LOG_NORMAL:
        stratum, weight = rng.integers(STRATA, size=n), np.exp(rng.standard_normal(n))
    else:
        of_strata = np.array(weights.split(":"), float)
        stratum = rng.choice(STRATA, size=n, p=1 / of_strata / (1 / of_strata).sum())
        weight = of_strata[stratum]
    actual = (rng.random(n) < PREVALENCES[prevalences][stratum]).astype(int)
    score = SHIFT[stratum] + SEPARATION * actual + rng.standard_normal(n)
    return Sample(actual, score, weight)


def true_values(prevalences: str) -> Mapping[str, float]:
    """Return the true values of all measures in the population."""
    share = PREVALENCES[prevalences]
    positive, negative = share / STRATA, (1 - share) / STRATA
    tp = positive @ ndtr(SHIFT + SEPARATION - THRESHOLD)
    fp = negative @ ndtr(SHIFT - THRESHOLD)
    prevalence = positive.sum()
    above = ndtr((SHIFT[:, None] + SEPARATION - SHIFT) / np.sqrt(2))
    return {
        "recall": float(tp / prevalence),
        "specificity": float(1 - fp / (1 - prevalence)),
        "precision": float(tp / (tp + fp)),
        "prevalence": float(prevalence),
        "accuracy": float(tp + 1 - prevalence - fp),
        "auc": float(positive @ above @ negative / (prevalence * (1 - prevalence))),
    }


def intervals(evidence: str, sample: Sample) -> Any:
    """Return the package's intervals of the measures of a type of evidence."""
    options: dict[str, Any] = {"weights": sample.weight, "weights_are": "importance"}
    asked: dict[str, Any] = {"kind": "eti"}
    made: Any
    if evidence == "counts":
        answer = (sample.score > THRESHOLD).astype(int)
        made = from_predictions(sample.actual, answer, labels=[0, 1], positive=1, **options)
        asked["draws"] = 4000
    else:
        made = from_scores(sample.actual, sample.score, **options)
    return interval(made, list(MEASURES[evidence]), **asked)


def caution_names(measure: str, caution: str) -> bool:
    """Return True if a caution refers to the examples, or the curve, that a measure uses."""
    if measure in ("recall", "prevalence", "accuracy") and "of class 1" in caution:
        return True
    if measure in ("specificity", "accuracy") and "of class 0" in caution:
        return True
    if measure == "precision":
        return "class 1 predicted 1" in caution or "class 0 predicted otherwise" in caution
    return measure == "auc" and "weights go with the scores" in caution


def coverage_by_caution(
    replications: Replications, evidence: str, weights: str, prevalences: str, n: int
) -> Iterator[dict[str, Any]]:
    """Yield a row for every measure."""
    truth, records = true_values(prevalences), []
    for rng in replications.generators():
        sample = weighted_sample(rng, weights, prevalences, n)
        if not 1 < sample.actual.sum() < n - 1:
            continue
        answer = intervals(evidence, sample)
        caution = answer.attrs.get("caution", "")
        for measure, (low, high) in zip(MEASURES[evidence], answer.values, strict=True):
            covered = low <= truth[measure] <= high
            records.append((measure, caution_names(measure, caution), covered))
    frame = pd.DataFrame(records, columns=["measure", "cautioned", "covered"]).astype(
        {"covered": float}
    )
    for measure, samples in frame.groupby("measure", sort=False):
        cautioned = samples["cautioned"]
        yield {
            "measure": measure,
            "cautioned": cautioned.mean(),
            "doc_cautioned": samples["covered"][cautioned].mean(),
            "doc_not_cautioned": samples["covered"][~cautioned].mean(),
            "doc": samples["covered"].mean(),
        }


EXPERIMENTS = [Repeated("recomputed", CASES, coverage_by_caution, table="heavy_weights")]
