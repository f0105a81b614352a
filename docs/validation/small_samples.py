"""
Exact coverage of 95% intervals from one small confusion matrix of two classes, by enumeration.

All tables of n examples are listed with their multinomial probability under a true classifier. The
coverage is the sum of the probabilities of the tables whose interval contains the true measure.
Tables with a probability below 1e-8 under every classifier are left out and count as not covered.
For 50 examples, 8,464 of 23,426 tables are kept, with a total probability of at least 1 - 3e-6. If
a measure is 0/0 in a sample, such as the recall without positives, the posterior equals the prior,
and its interval counts like any other. The column ``undefined`` is the probability of such samples.

The default prior (half an example per cell) is compared with a flat prior (one example per cell).
For proportions, there are also the Wilson interval and Jeffreys' interval with the closed ends of
Brown, Cai & DasGupta (2001, section 4.1.3): 0 if no example is a hit, and 1 if all are. If there
are no examples, these two intervals are [0, 1].

References
----------
Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Interval estimation for a binomial proportion.
Statistical Science 16, 101-133. doi:10.1214/ss/1009213286
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from bayescm.answers.interval import interval
from bayescm.evidence.counts import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.simulation import Repeated, Replications

PROB, ACCURACY = 0.95, 1e-3
RAREST = 1e-8


class Classifier(NamedTuple):
    """Prevalence, recall and specificity of a true classifier."""

    prevalence: float
    recall: float
    specificity: float

    @property
    def cells(self) -> np.ndarray:
        """Cell probabilities (2, 2), negatives first."""
        positive, negative = self.prevalence, 1 - self.prevalence
        return np.array(
            [
                [negative * self.specificity, negative * (1 - self.specificity)],
                [positive * (1 - self.recall), positive * self.recall],
            ]
        )


TRUTHS = (
    Classifier(0.5, 0.8, 0.8),
    Classifier(0.5, 0.95, 0.7),
    Classifier(0.3, 0.8, 0.9),
    Classifier(0.3, 0.6, 0.95),
    Classifier(0.1, 0.8, 0.9),
    Classifier(0.1, 0.6, 0.95),
    Classifier(0.1, 0.95, 0.8),
)
PROPORTIONS = ("accuracy", "prevalence", "recall", "specificity", "precision", "npv")
MEASURES = (
    *PROPORTIONS,
    "f1",
    "jaccard",
    "balanced_accuracy",
    "informedness",
    "markedness",
    "fowlkes_mallows",
    "overlap",
    "lift",
    "positive_likelihood_ratio",
    "negative_likelihood_ratio",
    "diagnostic_odds_ratio",
    "cohen_kappa",
    "mcc",
)
METHODS = {
    f"{kind}{name}": {"kind": kind, "concentration": concentration}
    for name, concentration in (("", 0.5), (" flat", 1.0))
    for kind in ("hdi", "eti")
}
CASES = {1: (10,), 2: (20,), 3: (50,)}


def tables_of(n: int) -> np.ndarray:
    """Return all tables of n examples, (m, 2, 2)."""
    return np.array(
        [
            [[n - fp - fn - tp, fp], [fn, tp]]
            for fp in range(n + 1)
            for fn in range(n + 1 - fp)
            for tp in range(n + 1 - fp - fn)
        ]
    )


def probabilities(tables: np.ndarray, truth: Classifier) -> np.ndarray:
    """Return the multinomial probabilities (m,) of tables of equal size (m, 2, 2)."""
    return stats.multinomial.pmf(tables.reshape(-1, 4), tables[0].sum(), truth.cells.ravel())


def possible_tables(n: int) -> np.ndarray:
    """Return the tables of n examples that are not too rare under every classifier, (m, 2, 2)."""
    tables = tables_of(n)
    return tables[np.max([probabilities(tables, truth) for truth in TRUTHS], axis=0) >= RAREST]


def hits_and_totals(tables: np.ndarray, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numerator and the denominator of a proportion, (m,) each."""
    (tn, fp), (fn, tp) = tables.transpose(1, 2, 0)
    hits, misses = {
        "accuracy": (tp + tn, fp + fn),
        "prevalence": (tp + fn, tn + fp),
        "recall": (tp, fn),
        "specificity": (tn, fp),
        "precision": (tp, fp),
        "npv": (tn, fn),
    }[measure]
    return hits, hits + misses


def jeffreys(hits: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return Jeffreys' intervals (m, 2) with closed ends."""
    law = stats.beta(hits + 0.5, totals - hits + 0.5)
    low, high = law.ppf((1 - PROB) / 2), law.ppf((1 + PROB) / 2)
    return np.stack([np.where(hits == 0, 0, low), np.where(hits == totals, 1, high)], axis=-1)


def wilson(hits: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return Wilson's score intervals (m, 2)."""
    z, n = stats.norm.ppf((1 + PROB) / 2), np.maximum(totals, 1)
    share = hits / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    ends = np.stack([middle - half, middle + half], axis=-1)
    return np.where((totals == 0)[:, None], [0.0, 1.0], ends)


def intervals(tables: np.ndarray, measure: str) -> Mapping[str, np.ndarray]:
    """Return the intervals (m, 2) from each method."""
    counts = from_matrix(tables, positive=1, dims=("batch",))
    ends = {
        name: interval(counts, measure, prob=PROB, accuracy=ACCURACY, **options).values
        for name, options in METHODS.items()
    }
    if measure in PROPORTIONS:
        proportion = hits_and_totals(tables, measure)
        ends |= {"jeffreys": jeffreys(*proportion), "wilson": wilson(*proportion)}
    return ends


def coverage(replications: Replications, n: int) -> Iterator[Mapping[str, Any]]:
    """Yield the exact coverage of each method, for every measure and classifier."""
    tables = possible_tables(n)
    for measure in MEASURES:
        ends = intervals(tables, measure)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_sample = resolve(measure)(tables / n)
        for truth in TRUTHS:
            probability = probabilities(tables, truth)
            value = float(resolve(measure)(truth.cells))
            yield {
                "measure": measure,
                **truth._asdict(),
                "truth": value,
                **{
                    f"doc {name}": probability @ ((low <= value) & (value <= high))
                    for name, (low, high) in ((name, pairs.T) for name, pairs in ends.items())
                },
                "length hdi": probability @ np.diff(ends["hdi"])[:, 0],
                "length eti": probability @ np.diff(ends["eti"])[:, 0],
                "undefined": probability @ np.isnan(of_sample),
                "replications": 0,
            }


EXPERIMENTS = [Repeated("small_samples", CASES, coverage, columns=("n",))]
