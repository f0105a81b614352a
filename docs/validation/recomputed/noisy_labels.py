r"""
Three raters of two classes: the true classes are enumerated, or summed out under dependence.

Without dependence, let m_v of the n_v examples with the votes v be truly positive. Given all m, the
prevalence has the distribution Beta(1 + M, 1 + N - M). The rate of correct labels of a rater in a
class has the distribution Beta(2 + right, 1 + wrong). The probabilities of all m, for eight
patterns v, are enumerated. The prior assumes that raters are right more often than not, on average
over raters and classes, so that other draws are left out. The probabilities of true classes follow
from the same draws by Bayes' theorem.

With dependence rho, examples are hard or easy for all raters. Rater r is right with probability
Phi((Phi^-1(rate) + sqrt(rho) h) / sqrt(1 - rho)), with h standard normal. The posterior is sampled
by random-walk Metropolis on the logit scale, with h summed over thirty nodes.
"""

import warnings
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import arviz as az
import numpy as np
from scipy.special import betaln, expit, gammaln, log_expit, log_ndtr, logsumexp, ndtri

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import TAILS, Figure, figures_of_draws, rows

PATTERNS = np.array(list(product((0, 1), repeat=3)))  # votes of three raters
# Numbers of examples of each pattern, and of gold labels (pattern, true class).
COUNTS = {
    "clear": ([8, 1, 1, 1, 1, 1, 1, 6], None),
    "unclear": ([4, 2, 2, 2, 1, 2, 2, 5], None),
    "rare class": ([15, 1, 1, 1, 0, 1, 1, 2], None),
    "gold": (
        [8, 1, 2, 1, 1, 1, 1, 6],
        [[4, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1], [0, 0], [0, 3]],
    ),
}
CASES = dict(
    enumerate(
        [(name, 0.0) for name in COUNTS] + [("clear", 0.3)],
        start=1,
    )
)
CHAINS, STEPS_OF_REPLICATION, STEP = 200, 50, 0.35
NODES = 30


def enumerated(
    counts: np.ndarray, gold: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return draws (n, 7) of the prevalence, and of raters' rates correct in classes 0 and 1."""
    ways = np.indices([n + 1 for n in counts]).reshape(len(counts), -1).T
    positive, negative = ways + gold[:, 1], counts - ways + gold[:, 0]

    def votes(number):
        """Return the numbers of votes for 0 and for 1 by rater, (n, 3) each."""
        ones = number @ PATTERNS
        return number.sum(1, keepdims=True) - ones, ones

    (wrong_one, right_one), (right_zero, wrong_zero) = votes(positive), votes(negative)
    total = positive.sum(1)
    log_prob = (gammaln(counts + 1) - gammaln(ways + 1) - gammaln(counts - ways + 1)).sum(1)
    log_prob += betaln(1 + total, 1 + negative.sum(1))
    log_prob += (betaln(2 + right_one, 1 + wrong_one) + betaln(2 + right_zero, 1 + wrong_zero)).sum(
        1
    )
    prob = np.exp(log_prob - log_prob.max())
    at = rng.choice(len(ways), size, p=prob / prob.sum())
    prevalence = rng.beta(1 + total[at], 1 + negative.sum(1)[at])
    zero = rng.beta(2 + right_zero[at], 1 + wrong_zero[at])
    one = rng.beta(2 + right_one[at], 1 + wrong_one[at])
    draws = np.column_stack([prevalence, zero, one])
    return draws if gold.any() else draws[draws[:, 1:].mean(1) > 0.5]


def log_chances(draws: np.ndarray, dependence: float) -> np.ndarray:
    """Return the log probabilities (n, truth, pattern) of votes given the true class."""
    x, w = np.polynomial.hermite_e.hermegauss(NODES)
    result = np.empty((len(draws), 2, len(PATTERNS)))
    for truth in (0, 1):
        right = ndtri(draws[:, 1 + 3 * truth : 4 + 3 * truth])[..., None]
        level = (right + np.sqrt(dependence) * x) / np.sqrt(1 - dependence)
        yes, no = log_ndtr(level), log_ndtr(-level)  # (n, rater, node)
        agrees = (truth == PATTERNS).astype(float)
        terms = np.einsum("pr,nrh->nph", agrees, yes) + np.einsum("pr,nrh->nph", 1 - agrees, no)
        result[:, truth] = logsumexp(terms + np.log(w / w.sum()), axis=-1)
    return result


def metropolis(
    counts: np.ndarray, gold: np.ndarray, dependence: float, steps: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return draws in the format of `enumerated`, and the effective sample size."""

    def log_density(logits):
        draws = expit(logits)
        chances = log_chances(draws, dependence)
        shares = np.stack([log_expit(-logits[:, 0]), log_expit(logits[:, 0])], -1)[..., None]
        joint = shares + chances  # (n, truth, pattern)
        density = (counts * logsumexp(joint, axis=1)).sum(1) + (gold.T * joint).sum((1, 2))
        density += log_expit(logits[:, 0]) + log_expit(-logits[:, 0])
        density += (2 * log_expit(logits[:, 1:]) + log_expit(-logits[:, 1:])).sum(1)
        excluded = (draws[:, 1:].mean(1) <= 0.5) & (not gold.any())
        return np.where(excluded, -np.inf, density)

    start = enumerated(counts, gold, 20 * CHAINS, rng)[:CHAINS]
    place = np.log(start / (1 - start))
    level = log_density(place)
    kept = []
    scale = STEP * np.std(place, axis=0) * 2
    for step in range(steps):
        proposal = place + scale * rng.standard_normal(place.shape)
        proposed = log_density(proposal)
        accepted = np.log(rng.random(CHAINS)) < proposed - level
        place, level = (
            np.where(accepted[:, None], proposal, place),
            np.where(accepted, proposed, level),
        )
        if step >= steps // 5:
            kept.append(place)
    draws = expit(np.stack(kept, 1))  # (chain, draw, 7)
    effective = min(float(az.ess(draws[..., k])) for k in range(7))
    return draws.reshape(-1, 7), effective


def figures(
    replications: Replications, name: str, dependence: float
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each rater, measure and figure, and for the true class of each pattern."""
    counts = np.array(COUNTS[name][0])
    gold = np.zeros((8, 2), int) if COUNTS[name][1] is None else np.array(COUNTS[name][1])
    votes = np.concatenate(
        [np.repeat(PATTERNS, counts, axis=0)]
        + [np.repeat(PATTERNS, gold[:, truth], axis=0) for truth in (0, 1)]
    )
    golden = [None] * counts.sum() + [0] * gold[:, 0].sum() + [1] * gold[:, 1].sum()
    raters = dict(zip("abc", votes.T.tolist(), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three raters give a warning about independence
        evidence = bcm.from_raters(raters, gold=golden if gold.any() else None)
    rng = replications.generator()
    if dependence:
        steps = STEPS_OF_REPLICATION * replications.number
        draws, effective = metropolis(counts, gold, dependence, steps, rng)
    else:
        draws = enumerated(counts, gold, 1000 * replications.number, rng)
        effective = float(len(draws))
    share = draws[:, :1]
    zero, one = draws[:, 1:4], draws[:, 4:7]
    f1 = 2 * share * one / (share * one + share + (1 - share) * (1 - zero))
    measures = {
        "recall": one,
        "specificity": zero,
        "accuracy": share * one + (1 - share) * zero,
        "f1": f1,
        "precision": share * one / (share * one + (1 - share) * (1 - zero)),
        "prevalence": np.broadcast_to(share, one.shape),
    }
    summary = bcm.summary(evidence, list(measures), kind="eti", dependence=dependence)
    summary = summary.set_index(["measure", "classifier"])
    for (measure, values), (place, rater) in product(measures.items(), enumerate("abc")):
        row = summary.loc[(measure, rater)]
        package = {key: Figure(row[key], row["error"]) for key in TAILS}
        # The error of a mean is less than half the error of a limit.
        package["mean"] = Figure(row["mean"], row["error"] / 2)
        yield from rows(
            f"{measure} of {rater}", package, figures_of_draws(values[:, place], effective)
        )
    thinned = draws[:: max(1, len(draws) // 20_000)]
    joint = (
        log_chances(thinned, dependence)
        + np.log(np.stack([1 - thinned[:, 0], thinned[:, 0]], -1))[..., None]
    )
    chance = np.exp(joint[:, 1] - logsumexp(joint, axis=1))  # (n, pattern)
    given = bcm.raters.true_classes(evidence, dependence=dependence).sel(actual=1).values
    for pattern, number in enumerate(counts):
        if number:
            example = int(counts[:pattern].sum())
            error = chance[:, pattern].std()
            package = {"probability": Figure(given[example], error / np.sqrt(1000))}
            own = Figure(chance[:, pattern].mean(), error / np.sqrt(min(effective, len(thinned))))
            yield from rows(
                f"true class of votes {PATTERNS[pattern]}", package, {"probability": own}
            )


EXPERIMENTS = [
    Repeated("recomputed", CASES, figures, columns=["examples", "dependence"], table="noisy_labels")
]
