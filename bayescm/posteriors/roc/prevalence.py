"""The share of the positive class among the scores: known, estimated, or with a prior."""

import numpy as np

from bayescm.validate import fail


def class_weights(evidence, weights, codes, classes: int) -> np.ndarray:
    """Return how much an example of each class counts in the population, (C,)."""
    if "importance" not in evidence:
        return np.ones(classes)
    total = np.bincount(codes, evidence["importance"].values, classes)
    return total / np.bincount(codes, weights, classes)


def known_prevalence(evidence, positive: np.ndarray) -> float | None:
    """Return the prevalence of the evidence where its weights do not give it, else None."""
    if "prevalence" in evidence.coords:
        return evidence.coords["prevalence"].item()
    if "importance" not in evidence:
        return None
    return float(np.average(positive, weights=evidence["importance"].values))


def prevalence_distribution(evidence, given, classes: int) -> tuple[float | None, np.ndarray]:
    """Return the known prevalence, or None, and the prior weight of each class."""
    if given is None and "prevalence" in evidence.coords:
        given = evidence.coords["prevalence"].item()
    default = np.full(classes, 1 / classes)
    if given is None:
        return None, default
    if classes > 2:
        todo = "leave it out, or take one class against the rest"
        raise fail("prevalence is for two classes", given, "None", todo)
    if isinstance(given, tuple):
        if len(given) != 2 or not all(0 < each < np.inf for each in given):
            raise fail(
                "not a beta prior for the prevalence",
                given,
                "two numbers > 0",
                "pass prevalence=(0.5, 0.5)",
            )
        return None, np.array([given[1], given[0]], float)
    if not 0 < given < 1:
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("prevalence must lie between 0 and 1", given, "0 < prevalence < 1", todo)
    return float(given), default
