r"""
Error rates from another population: all allocations of the unlabelled examples are enumerated.

Let m_ck of the u_k unlabelled examples in stratum k be of class c. With L_ck labelled examples and
the pseudo-count a = 1 / K, the posterior is a mixture over all allocations m,

    p(m) ~ prod_k (u_k over m_.k)  B(1 + M)  prod_c B(L_c + a + m_c),    M_c = sum_k m_ck,

with B the multivariate beta function. Given m, the prevalence has a Dirichlet(1 + M) distribution,
and the rates of class c have a Dirichlet(L_c + a + m_c) distribution. Limits of the prevalence are
exact, from the cdf of the mixture of beta distributions. Other measures are sampled from the
mixture.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import gammaln

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import ROUNDING, TAILS, Figure, figures_of_draws, rows
from validation.recomputed.partly_labelled import MANY_CLASSES, PACKAGE_DRAWS, TWO_CLASSES

# Labelled examples (judge, actual, predicted) and unlabelled ones (judge, predicted).
EVIDENCE = {
    "judge alone": ([[[18, 4], [3, 25]]], [[9, 21]]),
    "useless judge": ([[[5, 5], [6, 5]]], [[4, 16]]),
    "no errors seen": ([[[10, 0], [0, 10]]], [[29, 1]]),
    "two labels": ([[[1, 0], [0, 1]]], [[12, 8]]),
    "judge and classifier": ([[[9, 2], [1, 2]], [[2, 1], [2, 8]]], [[5, 2], [3, 6]]),
    "stratum without a label": ([[[9, 0], [1, 2]], [[2, 0], [0, 8]]], [[6, 3], [2, 5]]),
    "three classes": ([[[8, 1, 1], [2, 7, 0], [0, 1, 5]]], [[7, 3, 6]]),
}
CASES = dict(enumerate(product(EVIDENCE, ("parameter", "finite", "predictive")), start=1))


def allocations(unlabelled: np.ndarray, classes: int) -> np.ndarray:
    """Return all allocations (n, K, classes) of the examples in each stratum to the classes."""
    ways = []
    for number in unlabelled:
        splits = [m for m in product(range(number + 1), repeat=classes - 1) if sum(m) <= number]
        ways.append(np.array([(*m, number - sum(m)) for m in splits]))
    index = np.indices([len(way) for way in ways]).reshape(len(ways), -1)
    return np.stack([way[at] for way, at in zip(ways, index, strict=True)], axis=1)


def log_beta(weights: np.ndarray) -> np.ndarray:
    """Return the log of the multivariate beta function of the last axis."""
    return gammaln(weights).sum(-1) - gammaln(weights.sum(-1))


def mixture(labelled: np.ndarray, unlabelled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the allocations and their posterior probabilities, given labelled counts (C, K)."""
    ways = allocations(unlabelled, len(labelled))
    log_ways = -gammaln(ways + 1).sum((1, 2))
    rates = labelled + 1 / labelled.shape[1] + ways.swapaxes(1, 2)
    log_prob = log_ways + log_beta(1 + ways.sum(1)) + log_beta(rates).sum(-1)
    prob = np.exp(log_prob - log_prob.max())
    return ways, prob / prob.sum()


def prevalence(ways: np.ndarray, prob: np.ndarray, of: str) -> dict[str, Figure] | None:
    """Return the exact figures of the prevalence of the second of two classes, or None."""
    number, total = ways[..., -1].sum(-1), ways[0].sum()
    if of == "finite":
        mass = np.bincount(number, prob, total + 1)
        share = np.arange(total + 1) / total
        step = 1 / total
        limits = {
            name: Figure(share[min(np.searchsorted(mass.cumsum(), q), total)], step)
            for name, q in TAILS.items()
        }
        return {"mean": Figure(float(mass @ share))} | limits
    parts = np.bincount(number, prob, total + 1)
    first, second = 1 + np.arange(total + 1), 1 + total - np.arange(total + 1)
    limits = {
        name: Figure(brentq(lambda x, q=q: parts @ stats.beta.cdf(x, first, second) - q, 0, 1))
        for name, q in TAILS.items()
    }
    return {"mean": Figure(float(parts @ (first / (first + second))))} | limits


def figures(replications: Replications, name: str, of: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each measure and figure."""
    labelled, unlabelled = (np.array(each) for each in EVIDENCE[name])
    judges, classes = unlabelled.shape
    positive = {"positive": 1} if classes == 2 else {}
    evidence = bcm.evidence.from_partly_labelled_counts(labelled, unlabelled, **positive)
    evidence = evidence.assign_coords(transfer="errors")
    table = labelled.swapaxes(0, 1).reshape(classes, -1)
    ways, prob = mixture(table, unlabelled.ravel())
    rng, size = replications.generator(), 1000 * replications.number
    chosen = ways[rng.choice(len(ways), size, p=prob)].swapaxes(1, 2)
    if of == "finite":
        cells = chosen.astype(float)
    else:
        shares = rng.gamma(1 + chosen.sum(-1))
        rates = rng.gamma(table + 1 / table.shape[1] + chosen)
        shares, rates = (each / each.sum(-1, keepdims=True) for each in (shares, rates))
        cells = shares[..., None] * rates
    total = int(unlabelled.sum())
    if of == "predictive":
        flat = cells.reshape(size, -1)
        cells = rng.multinomial(total, flat / flat.sum(-1, keepdims=True)).reshape(cells.shape)
    cells = cells.reshape(size, classes, judges, classes).sum(2)
    measures = TWO_CLASSES if classes == 2 else MANY_CLASSES
    n = {"n": total} if of == "predictive" else {}
    options: dict[str, Any] = {"of": of, "kind": "eti", "draws": PACKAGE_DRAWS} | n
    summary = bcm.summary(evidence, list(measures), **options).set_index("measure")
    for measure, function in measures.items():
        with np.errstate(invalid="ignore", divide="ignore"):
            values = function(cells)
        recomputed = figures_of_draws(values)
        if measure == "prevalence" and of != "predictive":
            recomputed = prevalence(ways, prob, of)
        row = summary.loc[measure]
        package = {key: Figure(row[key], max(row["error"], ROUNDING)) for key in TAILS}
        package["mean"] = Figure(row["mean"], np.nanstd(values) / np.sqrt(PACKAGE_DRAWS))
        yield from rows(measure, package, recomputed)


EXPERIMENTS = [
    Repeated("recomputed", CASES, figures, columns=["evidence", "of"], table="transferred_errors")
]
