"""
The `error` that is stated of intervals of one table: how often it bounds the true one.

Random tables of two classes are drawn, and the 95 % intervals of their measures are taken from the
package as a user gets them. The true interval comes by another road: closed forms by scipy,
quadratures with an accuracy of 1e-9, and draws of a table by that quadrature. An answer is
within its error where the end that is farther off its true one is no farther than the larger of the
two errors that are stated, which is the figure that tables print. Of a measure and a kind a row has
the number of answers, the share of them within, the median and the largest of true errors in units
of stated ones, and the median error that is stated, in parts of the length of the interval.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy import optimize, stats

from bayescm.answers.interval import distributions_of
from bayescm.evidence.counts import from_matrix
from bayescm.simulation import Repeated, Replications

KINDS = ("hdi", "eti")
PROB = 0.95
DRAWS = 20_000
ROUNDING = 1e-9  # of both roads, in parts of 1 or of the bound
RATES = ("recall", "precision", "f1", "mcc")


def two_classes(rng: np.random.Generator) -> xr.DataArray:
    """Return a table of a random classifier, of 10 to 300 examples."""
    cells = rng.dirichlet([4, 1, 1, 4])
    counts = rng.multinomial(int(10 ** rng.uniform(1, 2.5)), cells)
    return from_matrix(counts.reshape(2, 2), labels=[0, 1], positive=1)


class Design(NamedTuple):
    """What evidence is drawn, what is asked of it, and by which road it is recomputed."""

    design: str
    evidence: Callable[[np.random.Generator], Any]
    measures: Sequence[str]
    options: Mapping[str, Any]
    road: str


SHARES = ("recall", "precision", "accuracy", "prevalence")
INTEGRATED = (
    "mcc",
    "cohen_kappa",
    "balanced_accuracy",
    "lift",
    "overlap",
    "positive_likelihood_ratio",
)
DESIGNS = [
    Design("closed forms", two_classes, SHARES, {}, "scipy"),
    Design("quadrature", two_classes, INTEGRATED, {}, "accuracy 1e-9"),
    Design("draws of a table", two_classes, RATES, {"draws": DRAWS}, "quadrature"),
    Design("few draws of a table", two_classes, RATES, {"draws": 2000}, "quadrature"),
]
CASES = dict(enumerate(DESIGNS, start=1))


def by_scipy(evidence: xr.DataArray, measure: str, kind: str) -> np.ndarray:
    """Return the interval of a share of cells, each with a prior of half an example."""
    (tn, fp), (fn, tp) = evidence.values + 0.5
    hits, misses = {
        "recall": (tp, fn),
        "precision": (tp, fp),
        "accuracy": (tp + tn, fp + fn),
        "prevalence": (tp + fn, tn + fp),
    }[measure]
    law = stats.beta(hits, misses)
    if kind == "eti":
        return law.ppf([(1 - PROB) / 2, (1 + PROB) / 2])
    if min(hits, misses) <= 1:  # the density rises to an end
        return law.ppf([0, PROB] if hits < misses else [1 - PROB, 1])

    def difference_of_densities(tail):
        return law.logpdf(law.ppf(tail)) - law.logpdf(law.ppf(tail + PROB))

    tail = optimize.brentq(difference_of_densities, 1e-15, 1 - PROB - 1e-15, xtol=1e-16)
    return law.ppf([tail, tail + PROB])


def intervals(evidence: Any, measures: Sequence[str], **options: Any) -> Mapping[tuple, Any]:
    """Return the ends (2,) and the largest error of each measure and kind."""
    pairs = distributions_of(evidence, list(measures), **options)
    return {
        (measure, kind): (np.ravel(ends), float(np.max(errors)))
        for measure, (distribution, _) in zip(measures, pairs, strict=True)
        for kind in KINDS
        for ends, errors in [distribution.interval_with_error(PROB, kind)]
    }


def true_intervals(evidence: Any, design: Design) -> Mapping[tuple, np.ndarray]:
    """Return the ends (2,) of each measure and kind by the other road."""
    if design.road == "scipy":
        return {
            (measure, kind): by_scipy(evidence, measure, kind)
            for measure in design.measures
            for kind in KINDS
        }
    answers = intervals(evidence, design.measures, accuracy=1e-9)
    return {key: ends for key, (ends, _) in answers.items()}


def shares_within(replications: Replications, *setting: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each measure and kind of a design."""
    design = Design(*setting)
    ratios: dict[tuple, list] = {}
    parts: dict[tuple, list] = {}
    for rng in replications.generators():
        evidence = design.evidence(rng)
        truth = true_intervals(evidence, design)
        answers = intervals(evidence, design.measures, random_seed=0, **design.options)
        for key, (ends, error) in answers.items():
            off = np.abs(ends - truth[key]).max()
            rounding = ROUNDING * max(1, np.abs(ends).max())
            ratios.setdefault(key, []).append(off / (error + rounding))
            parts.setdefault(key, []).append(error / np.ptp(ends))
    for (measure, kind), values in ratios.items():
        yield {
            "measure": measure,
            "kind": kind,
            "within": np.mean(np.array(values) <= 1),
            "median_ratio": np.median(values),
            "largest_ratio": np.max(values),
            "error_to_length": np.median(parts[measure, kind]),
        }


EXPERIMENTS = [
    Repeated("recomputed", CASES, shares_within, columns=("design",), table="stated_errors")
]
