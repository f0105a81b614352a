"""
Importance weights: how often 95% intervals hold the true value, with and without their caution.

A population of three strata of the same size, of which the first was sampled as many times as often
as the others as their weights say, or of log-normal weights that go with nothing. Scores are
normal, higher by `SEPARATION` for positives, and shifted by stratum. Where ``prevalences`` differ,
most positives are in the stratum with the highest scores. What is true is known by the normal
distribution function. A row has a measure of a case:
the share of the samples that were cautioned of, and the coverage in these, in the others, and in
all. A share of no samples is NaN.
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
    """The type of evidence, the weights, whether prevalences differ, and the number of examples."""

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
    """The classes, scores and weights of a sample, each (n,)."""

    actual: np.ndarray
    score: np.ndarray
    weight: np.ndarray


def weighted_sample(rng: np.random.Generator, weights: str, prevalences: str, n: int) -> Sample:
    """Return a sample."""
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
    """Return the values of all measures in the population."""
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
    """Return the intervals of the measures of a type of evidence, as the package answers them."""
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
    """Return whether a caution is of the examples, or the curve, that a measure depends on."""
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
