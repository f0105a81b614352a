"""
The prevalence of the positive class: known, or estimated from the sample with a prior.

With n_c examples of class c, the frequencies of C classes have a Dirichlet(1 / C + n_c) posterior.
For two classes, this is a beta posterior with Jeffreys' prior. If the examples have importance
weights, n_c is the effective number of examples. The frequencies are then multiplied by the mean
weight of an example of each class (`class_weights`) and normalised.
"""

import numpy as np

from bayescm.validate import fail


def class_weights(evidence, weights, codes, classes: int) -> np.ndarray:
    """Return the mean importance weight of an effective example of each class, (C,)."""
    if "importance" not in evidence:
        return np.ones(classes)
    total = np.bincount(codes, evidence["importance"].values, classes)
    return total / np.bincount(codes, weights, classes)


def known_prevalence(evidence, positive: np.ndarray) -> float | None:
    """Return the prevalence in the evidence or from its importance weights, else None."""
    if "prevalence" in evidence.coords:
        return evidence.coords["prevalence"].item()
    if "importance" not in evidence:
        return None
    return float(np.average(positive, weights=evidence["importance"].values))


def prevalence_distribution(evidence, prevalence, classes: int) -> tuple[float | None, np.ndarray]:
    """Return the known prevalence, or None, and the prior weight of each class."""
    if prevalence is None and "prevalence" in evidence.coords:
        prevalence = evidence.coords["prevalence"].item()
    default = np.full(classes, 1 / classes)
    if prevalence is None:
        return None, default
    if classes > 2:
        todo = "leave it out, or use one class against the rest"
        raise fail(f"`prevalence={prevalence!r}` needs two classes", ..., "", todo)
    if isinstance(prevalence, tuple):
        if len(prevalence) != 2 or not all(0 < number < np.inf for number in prevalence):
            raise fail(
                "A beta prior for the prevalence must be two finite numbers > 0",
                prevalence,
                "",
                "pass `prevalence=(0.5, 0.5)`",
            )
        return None, np.array([prevalence[1], prevalence[0]], float)
    if not 0 < prevalence < 1:
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("`prevalence` must be between 0 and 1", prevalence, "", todo)
    return float(prevalence), default
