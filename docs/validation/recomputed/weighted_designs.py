r"""
Importance weights with groups and with folds, recomputed from the examples.

Groups and classes were sampled with different probabilities. Within a class of a group, all
examples have the same weight, so that rates do not depend on the weights. They are computed from
unweighted counts, by the importance sampling of `validation.recomputed.groups` and
`validation.recomputed.folds`. The weights determine the class frequencies. In a group, let
:math:`S_j` be the sum of the weights of the :math:`n_j` examples of class j. The effective number
of examples is :math:`(\sum S_j)^2 / \sum S_j^2 / n_j` (Kish 1965). In folds, class totals are
fixed, and the prevalence is the weighted one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import expit

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, figures_of_draws, rows, summarised
from validation.recomputed.folds import TABLES, by_importance, measures_of_rates, package_figures
from validation.recomputed.groups import GROUPS, robust_logits

CASES = dict(enumerate([("groups",), ("folds",)], start=1))
GROUP_WEIGHTS = np.array([1.0, 1.0, 5.0, 20.0, 3.0, 8.0])
CLASS_WEIGHTS = np.array([4.0, 1.0])  # weights of negatives and positives
MEASURES = ("recall", "specificity", "precision", "f1", "accuracy")


def weighted_counts(cells: np.ndarray, dim: str, weights: np.ndarray) -> Any:
    """Return evidence from tables (G, 2, 2) along a dimension, with a weight per row (G, 2)."""
    where = np.argwhere(cells)
    group, actual, predicted = np.repeat(where, cells[tuple(where.T)], axis=0).T
    return bcm.from_predictions(
        actual,
        predicted,
        by={dim: group},
        weights=weights[group, actual],
        weights_are="importance",
        positive=1,
    )


def of_groups(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """Yield figures of the typical group, and of the mean over the groups."""
    tp, fn, fp, tn = np.array(GROUPS["one apart"]).T
    cells = np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)
    weights = GROUP_WEIGHTS[:, None] * CLASS_WEIGHTS
    sums, numbers = cells.sum(-1) * weights, cells.sum(-1)
    worth = sums.sum(-1) ** 2 / (sums**2 / numbers).sum(-1)
    share = sums[:, 1] / sums.sum(-1)
    sides = [(worth * share, worth * (1 - share), 1.0), (tp, fn, 0.5), (tn, fp, 0.5)]
    drawn = [robust_logits(*side, size, rng) for side in sides]
    number = min(len(middle) for middle, _, _ in drawn)
    evidence = weighted_counts(cells, "group", weights)
    for of, rates in (
        ("typical", expit(np.stack([middle[:number] for middle, _, _ in drawn]))),
        ("finite", expit(np.stack([logits[:number] for _, logits, _ in drawn]))),
    ):
        values = measures_of_rates(*rates)
        options: dict[str, Any] = {"model": "robust_groups", "of": of, "kind": "eti"}
        table = bcm.summary(evidence, list(MEASURES), **options).set_index("measure")
        for measure in MEASURES:
            draws = values[measure] if of == "typical" else values[measure].mean(-1)
            package = package_figures(table.loc[measure])
            compared = rows(f"groups, {of}", package, figures_of_draws(draws, number))
            yield from ({**row, "answer": f"{measure}, {row['answer']}"} for row in compared)


def of_folds(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """Yield figures of a cross-validation."""
    folds = TABLES["sonar"]
    weights = np.broadcast_to(CLASS_WEIGHTS, (len(folds), 2))
    sums = folds.sum((0, 2)) * CLASS_WEIGHTS
    draws, effective = by_importance(folds, size, rng, share=sums[1] / sums.sum())
    evidence = weighted_counts(folds, "fold", weights).assign_coords(fixed_totals=True)
    for of, values in draws.items():
        table = bcm.summary(evidence, list(MEASURES), of=of, kind="eti").set_index("measure")
        for measure in MEASURES:
            package = package_figures(table.loc[measure])
            own: Mapping[str, Figure] = figures_of_draws(values[measure], effective)
            compared = rows(f"folds, {of}", package, own)
            yield from ({**row, "answer": f"{measure}, {row['answer']}"} for row in compared)


def table_rows(replications: Replications, design: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every estimand."""
    rng, size = replications.generator(), 1000 * replications.number
    yield from summarised(of_groups(rng, size) if design == "groups" else of_folds(rng, size))


EXPERIMENTS = [
    Repeated("recomputed", CASES, table_rows, columns=["design"], table="weighted_designs")
]
