"""
Curves from few distinct scores: areas and average precision from the ranks of the scores.

The computation follows the documentation of the model `scores`. The weight of the examples of a
class at a score is divided: half an example goes to the gap on each side, and the rest stays on the
score. The weight in a gap is spread evenly over its slots. A score that c examples of the other
class share counts as c - 1 slots. The probabilities of the slots are Dirichlet distributed in both
classes. Both rates are linear within a slot. A threshold cannot split a shared score, where the
precision is therefore evaluated after the score.

Scores have five distinct values. Each example counts once, represents several examples
(``counts``), or has an importance weight. In the last case, each class has Kish's effective number
of examples. The prevalence is known (0.02 or 0.3).
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from bayescm.answers.interval import distributions_of
from bayescm.evidence.scores import from_scores
from bayescm.fitting.question import Question
from bayescm.simulation import Repeated, Replications
from validation.recomputed import figures_of_draws, rows

VALUES, MEASURES = 5, ("auc", "average_precision")
DRAWS_EACH, PACKAGE_DRAWS, STEPS = 100, 4000, 16


class Setting(NamedTuple):
    """Meaning of the weights, number of examples, and prevalence of the population."""

    weights: str
    n: int
    prevalence: float


CASES = {
    1: Setting("none", 40, 0.02),
    2: Setting("none", 200, 0.3),
    3: Setting("counts", 30, 0.02),
    4: Setting("importance", 60, 0.02),
    5: Setting("importance", 200, 0.3),
}


def slot_weights(totals: np.ndarray, others: np.ndarray) -> np.ndarray:
    """
    Return the weights of a class on its slots, (2 V + 1,).

    The slots are the gap above the first value, the first value, the gap below it, and so on.

    Parameters
    ----------
    totals, others : ndarray, shape (V,)
        Number of examples of this class, and of the other class, with each value, highest first.
    """
    weights = np.zeros(2 * len(totals) + 1)
    waiting, gap = 0.0, []  # the weight in the current gap, and its slots with their widths
    for value, (own, other) in enumerate(zip(totals, others, strict=True)):
        gap.append((2 * value, 1.0))
        if own == 0:
            gap.append((2 * value + 1, max(other - 1, 0)))
            continue
        half = min(own, 1) / 2
        spread(weights, gap, waiting + half)
        weights[2 * value + 1] = own - 2 * half
        waiting, gap = half, []
    spread(weights, [*gap, (2 * len(totals), 1.0)], waiting)
    return weights


def spread(weights: np.ndarray, gap: list[tuple[int, float]], amount: float) -> None:
    """Add an amount to the slots of a gap in proportion to their widths."""
    total = sum(width for _, width in gap)
    for slot, width in gap:
        weights[slot] += amount * width / total


def dirichlet_draws(rng: np.random.Generator, weights: np.ndarray, size: int) -> np.ndarray:
    """Return Dirichlet draws (size, slots). A slot without weight has probability 0."""
    return rng.dirichlet(np.maximum(weights, 1e-12), size)


def recomputed(
    rng: np.random.Generator, totals: np.ndarray, prevalence: float, size: int
) -> Mapping[str, np.ndarray]:
    """
    Return draws of both measures, given the totals (2, V) of negatives and positives.

    Every value is treated as shared by several examples.
    """
    fpr, tpr = (
        np.concatenate(
            [np.zeros((size, 1)), dirichlet_draws(rng, slot_weights(*pair), size).cumsum(1)], axis=1
        )
        for pair in (totals, totals[::-1])
    )
    area = (np.diff(fpr) * (tpr[:, 1:] + tpr[:, :-1]) / 2).sum(1)
    precision_area = 0.0
    nodes, shares = np.polynomial.legendre.leggauss(STEPS)
    at_value = np.arange(fpr.shape[1] - 1) % 2 == 1
    for node, share in zip((nodes + 1) / 2, shares / 2, strict=True):
        along = np.where(at_value, 1.0, node)
        false = fpr[:, :-1] + along * np.diff(fpr)
        true = tpr[:, :-1] + along * np.diff(tpr)
        hits = prevalence * true
        precision_area += share * np.diff(tpr) * hits / (hits + (1 - prevalence) * false + 1e-300)
    return {"auc": area, "average_precision": np.sum(precision_area, axis=1)}


def sample_of(rng: np.random.Generator, weights: str, n: int) -> tuple[np.ndarray, ...]:
    """Return classes, scores and weights (n,)."""
    actual = np.arange(n) % 3 == 0
    score = np.clip(np.round(rng.normal(1.2 * actual) + 1.5), 0, VALUES - 1)
    if weights == "counts":
        return actual, score, rng.integers(1, 4, n)
    return actual, score, rng.choice([1.0, 2.0, 5.0], n) if weights == "importance" else np.ones(n)


def figures(
    replications: Replications, weights: str, n: int, prevalence: float
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every figure."""
    rng = replications.generator()
    actual, score, weight = sample_of(rng, weights, n)
    options: dict[str, Any] = {"weights": weight, "weights_are": weights}
    evidence = from_scores(actual.astype(int), score, **({} if weights == "none" else options))
    asked = Question(draws=PACKAGE_DRAWS, random_seed=1, keywords={"prevalence": prevalence})
    answers = distributions_of(evidence, list(MEASURES), asked)
    classes = np.stack([~actual, actual])
    if weights == "importance":
        mass = [weight[side] for side in classes]
        scale = np.array([each.sum() / (each**2).sum() for each in mass])
        weight = weight * scale[actual.astype(int)]
    values = np.unique(score)[::-1]
    totals = np.array([[weight[side & (score == v)].sum() for v in values] for side in classes])
    draws = recomputed(rng, totals, prevalence, DRAWS_EACH * replications.number)
    for measure, (distribution, _) in zip(MEASURES, answers, strict=True):
        package = figures_of_draws(np.asarray(distribution.draws).ravel())
        question = f"{measure}, weights {weights}, {n} examples, prevalence {prevalence}"
        yield from rows(question, package, figures_of_draws(draws[measure]))


EXPERIMENTS = [Repeated("recomputed", CASES, figures, table="few_scores")]
