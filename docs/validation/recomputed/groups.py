r"""
Gaps and worst slices of groups: importance sampling of robust groups, HMC of crossed attributes.

Given m, tau and omega, the logits of the groups in `robust_groups` have a mixture of three normal
distributions. m is proposed from a wide distribution around the pooled logit, and tau and omega
from their priors. The likelihood of a group is summed over Gauss-Hermite nodes of each component.
The logit of a group is sampled by choosing a component, and then from a fine grid of standard
scores.

The cells of `crossed_groups` are sampled by Hamiltonian Monte Carlo (Neal, 2011,
doi:10.1201/b10905), with many chains of the unconstrained, standardised parameters at once.

The statistics of groups (largest minus smallest, ratio, worst value, deviation from the mean of the
others) and the table of slices are computed from the draws as documented.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import arviz as az
import numpy as np
from scipy.special import expit, log_expit, logit, logsumexp

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import TAILS, Figure, figures_of_draws, rows, summarised

# (tp, fn, fp, tn) of every group.
GROUPS = {
    "alike": [[22, 5, 4, 30], [18, 4, 5, 28], [25, 7, 3, 31], [15, 3, 6, 26], [20, 6, 4, 35]],
    "one apart": [
        [45, 5, 9, 41],
        [44, 6, 7, 43],
        [46, 4, 10, 40],
        [43, 7, 8, 42],
        [28, 22, 9, 41],
        [47, 3, 9, 41],
    ],
    "two groups": [[18, 2, 3, 17], [5, 9, 2, 12]],
}
SEX_BY_AGE = [
    [[20, 4, 3, 25], [12, 5, 4, 18], [6, 6, 2, 9]],
    [[15, 2, 5, 22], [9, 2, 3, 20], [2, 3, 1, 4]],
]
CASES = dict(
    enumerate(
        [*((name, "robust_groups") for name in GROUPS), ("sex by age", "crossed_groups")], start=1
    )
)
SPREAD, DEVIATION, NODES = 0.5, 1.2, 40
SCORES = np.linspace(-7, 7, 281)  # grid of standard scores for sampling a logit
CHAINS, LEAPS, STEP = 200, 16, 0.16
PACKAGE_DRAWS = 8000
# Measures of gaps and slices, and the thresholds of bad slices.
THRESHOLDS = {"f1": 0.8, "fpr": 0.2}


def measures_of(rates: np.ndarray) -> dict[str, np.ndarray]:
    """Return the measures, given prevalence, recall and specificity (3, ...)."""
    share, recall, specificity = rates
    tp, fp = share * recall, (1 - share) * (1 - specificity)
    return {
        "recall": recall,
        "f1": 2 * tp / (tp + fp + share),
        "fpr": 1 - specificity,
    }


def hits_of(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return hits and misses (3, ...) of the rates, and their prior pseudo-counts."""
    tp, fn, fp, tn = np.moveaxis(cells, -1, 0)
    return np.stack([tp + fn, tp, tn]), np.stack([fp + tn, fn, fp]), [1.0, 0.5, 0.5]


# Robust groups


def parts_of(tau: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log weights, shifts and standard deviations (n, 3) of the mixture components."""
    wide = np.sqrt(tau**2 + DEVIATION**2 / 4)
    weights = np.stack([1 - omega, omega / 2, omega / 2], -1)
    zero = np.zeros_like(tau)
    shifts = np.stack([zero, zero - DEVIATION, zero + DEVIATION], -1)
    return np.log(weights), shifts, np.stack([tau, wide, wide], -1)


def log_likelihood(x: np.ndarray, hits: np.ndarray, misses: np.ndarray) -> np.ndarray:
    """Return the log binomial likelihood of groups (G,) at logits (..., G)."""
    return hits * log_expit(x) + misses * log_expit(-x)


def robust_logits(
    hits: np.ndarray, misses: np.ndarray, prior: float, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return draws of m (n,) and of the logits (n, G), and the effective sample size."""
    middle = logit((hits.sum() + 1) / (hits.sum() + misses.sum() + 2))
    scale = 0.15 + 2 / np.sqrt(min(hits.sum(), misses.sum()) + 1)
    m = middle + scale * rng.standard_t(5, size)
    log_weight = prior * (log_expit(m) + log_expit(-m))
    log_weight += 3 * np.log1p(((m - middle) / scale) ** 2 / 5)  # divided by the t density
    tau = SPREAD * np.abs(rng.standard_normal(size)) * np.where(rng.random(size) < 0.5, 1, 1 / 25)
    omega = rng.beta(1, 9, size)
    log_parts, shifts, sd = parts_of(tau, omega)
    nodes, share = np.polynomial.hermite_e.hermegauss(NODES)
    x = (m[:, None] + shifts)[..., None] + sd[..., None] * nodes  # (n, 3, node)
    of_parts = logsumexp(
        log_likelihood(x[..., None], hits, misses) + np.log(share / share.sum())[:, None], axis=2
    )
    of_parts = of_parts + log_parts[..., None]  # (n, 3, G)
    whole = logsumexp(of_parts, axis=1)
    log_weight += whole.sum(-1)
    weight = np.exp(log_weight - log_weight.max())
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    at = rng.choice(size, int(effective), p=weight / weight.sum())
    chance = np.exp(of_parts[at] - whole[at][:, None]).cumsum(1)
    part = (chance < rng.random((len(at), 1, len(hits)))).sum(1).clip(max=2)  # (n, G)
    centre = m[at, None] + np.take_along_axis(shifts[at], part, axis=1)
    width = np.take_along_axis(sd[at], part, axis=1)
    logits = np.empty(centre.shape)
    for group in range(len(hits)):
        x = centre[:, group, None] + width[:, group, None] * SCORES
        log = log_likelihood(x, hits[group], misses[group]) - SCORES**2 / 2
        mass = np.exp(log - log.max(1, keepdims=True)).cumsum(1)
        mass /= mass[:, -1:]
        level = rng.random((len(at), 1))
        right = (mass < level).sum(1)
        before = np.take_along_axis(mass, np.maximum(right - 1, 0)[:, None], 1)[:, 0]
        before = np.where(right > 0, before, 0.0)
        after = np.take_along_axis(mass, right[:, None], 1)[:, 0]
        inside = (level[:, 0] - before) / (after - before) - 0.5
        score = SCORES[right] + inside * (SCORES[1] - SCORES[0])
        logits[:, group] = centre[:, group] + width[:, group] * score
    return m[at], logits, effective


def robust_draws(
    cells: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return draws of the rates of the typical group (3, n) and of each group (3, n, G)."""
    hits, misses, prior = hits_of(cells)
    drawn = [
        robust_logits(*of_rate, size, rng) for of_rate in zip(hits, misses, prior, strict=True)
    ]
    number = min(len(m) for m, _, _ in drawn)
    typical = expit(np.stack([m[:number] for m, _, _ in drawn]))
    return typical, expit(np.stack([x[:number] for _, x, _ in drawn])), float(number)


# Crossed attributes


def hamiltonian(
    log_density: Callable, start: np.ndarray, steps: int, rng: np.random.Generator
) -> np.ndarray:
    """Return draws (chain, step, parameter). ``log_density`` returns values and gradients."""
    place, kept = start, []
    level, slope = log_density(place)
    for step in range(steps):
        size = STEP * rng.uniform(0.7, 1.3)
        momentum = rng.standard_normal(place.shape)
        energy = level - (momentum**2).sum(1) / 2
        new, at, force = place, level, slope
        for _ in range(LEAPS):
            momentum = momentum + size / 2 * force
            new = new + size * momentum
            at, force = log_density(new)
            momentum = momentum + size / 2 * force
        accepted = np.log(rng.random(len(place))) < at - (momentum**2).sum(1) / 2 - energy
        place = np.where(accepted[:, None], new, place)
        level, slope = np.where(accepted, at, level), np.where(accepted[:, None], force, slope)
        if step >= steps // 4:
            kept.append(place)
    return np.stack(kept, 1)


def crossed_logits(
    hits: np.ndarray, misses: np.ndarray, prior: float, steps: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return draws of the logits (n, A, B) of the cells of two attributes."""
    first, second = hits.shape
    number = 4 + first + second + first * second
    scales = np.array([1.0, 1.0, 0.5])  # prior scales of both main effects and interactions

    def logits(q):
        tau = np.exp(q[:, 1:4])
        u, w = q[:, 4 : 4 + first], q[:, 4 + first : 4 + first + second]
        v = q[:, 4 + first + second :].reshape(-1, first, second)
        eta = q[:, 0, None, None] + (tau[:, 0, None] * u)[:, :, None]
        return eta + (tau[:, 1, None] * w)[:, None] + tau[:, 2, None, None] * v, tau, (u, w, v)

    def log_density(q):
        eta, tau, (u, w, v) = logits(q)
        force = hits - (hits + misses) * expit(eta)
        log = (hits * log_expit(eta) + misses * log_expit(-eta)).sum((1, 2))
        log = log + prior * (log_expit(q[:, 0]) + log_expit(-q[:, 0]))
        log = log - (q[:, 4:] ** 2).sum(1) / 2 - (tau**2 / scales**2 / 2 - q[:, 1:4]).sum(1)
        of_scales = [
            (force.sum(2) * u).sum(1),
            (force.sum(1) * w).sum(1),
            (force * v).sum((1, 2)),
        ]
        slope = np.concatenate(
            [
                (force.sum((1, 2)) + prior * (1 - 2 * expit(q[:, 0])))[:, None],
                tau * np.stack(of_scales, 1) - tau**2 / scales**2 + 1,
                tau[:, :1] * force.sum(2),
                tau[:, 1:2] * force.sum(1),
                tau[:, 2:] * force.reshape(len(q), -1),
            ],
            axis=1,
        )
        slope[:, 4:] -= q[:, 4:]
        return log, slope

    start = 0.3 * rng.standard_normal((CHAINS, number))
    start[:, 0] += logit(hits.sum() / (hits + misses).sum())
    start[:, 1:4] -= 1
    draws = hamiltonian(log_density, start, steps, rng)
    eta = logits(draws.reshape(-1, number))[0].reshape(*draws.shape[:2], first, second)
    effective = min(float(az.ess(eta[..., i, j])) for i in range(first) for j in range(second))
    return eta.reshape(-1, first, second), effective


def crossed_draws(
    cells: np.ndarray, steps: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return draws of the rates of the cells (3, n, A B), and the effective sample size."""
    hits, misses, prior = hits_of(cells)
    drawn = [
        crossed_logits(*of_rate, steps, rng) for of_rate in zip(hits, misses, prior, strict=True)
    ]
    logits = np.stack([eta.reshape(len(eta), -1) for eta, _ in drawn])
    return expit(logits), min(effective for _, effective in drawn)


# Gaps and slices


def statistics_of(values: np.ndarray, less: bool) -> dict[str, np.ndarray]:
    """Return statistics of draws of groups (n, G)."""
    low, high = values.min(1), values.max(1)
    number = values.shape[1]
    deviation = values - (values.sum(1, keepdims=True) - values) / (number - 1)
    result = {"range": high - low, "ratio": low / high, "worst": high if less else low}
    return result | {f"deviation {group}": deviation[:, group] for group in range(number)}


def as_package(figures: Mapping[str, Figure], values: Mapping[str, Any], effective: float) -> Any:
    """Return the package's figures, with the errors of its draws."""
    scale = np.sqrt(effective / PACKAGE_DRAWS)
    return {key: Figure(float(values[key]), figures[key].error * scale) for key in figures}


def gap_rows(evidence: Any, dim: Any, measure: str, draws: np.ndarray, effective: float) -> Any:
    """Yield figures of `gap`."""
    less = measure == "fpr"
    own = {name: figures_of_draws(d, effective) for name, d in statistics_of(draws, less).items()}
    options: dict[str, Any] = {"dim": dim, "kind": "eti", "draws": PACKAGE_DRAWS}
    for statistic in ("range", "ratio", "worst", "deviation"):
        answer = bcm.gap(evidence, measure, statistic=statistic, **options)
        ends, means = answer.values.reshape(-1, 2), np.ravel(answer["point"])
        names = [name for name in own if name.split()[0] == statistic]
        for name, limits, mean in zip(names, ends, means, strict=True):
            values = {"mean": mean, "lower": limits[0], "upper": limits[1]}
            package = as_package(own[name], values, effective)
            yield from rows(f"gap in {measure}, {statistic}", package, own[name])


def share_of(events: np.ndarray, effective: float) -> Figure:
    """Return the proportion of draws in which an event occurs, with its standard error."""
    value = float(events.mean())
    return Figure(value, np.sqrt(max(value * (1 - value), 1 / effective) / effective))


def slice_rows(evidence: Any, dim: Any, measure: str, draws: np.ndarray, effective: float) -> Any:
    """Yield figures of `worst_slices`."""
    number, k = draws.shape[1], 2
    badness = draws if measure == "fpr" else -draws
    others = (badness.sum(1, keepdims=True) - badness) / (number - 1)
    threshold = THRESHOLDS[measure]
    limit = threshold if measure == "fpr" else -threshold
    order = (-badness).argsort(1).argsort(1)
    options: dict[str, Any] = {"dim": dim, "kind": "eti", "draws": PACKAGE_DRAWS, "k": k}
    for name, bad, keywords in (
        ("threshold", badness > limit, {"threshold": threshold}),
        ("others", badness > others + 0.02, {"delta": 0.02}),
    ):
        if k >= number:
            options["k"] = 1
        table = bcm.worst_slices(evidence, measure, **keywords, **options)
        labels = [dim] if isinstance(dim, str) else list(dim)
        table = table.sort_values(labels).reset_index(drop=True)
        for group in range(number):
            own: dict[str, Figure] = dict(figures_of_draws(draws[:, group], effective))
            own["p_bad"] = share_of(bad[:, group], effective)
            own["p_worst"] = share_of(order[:, group] < options["k"], effective)
            package = as_package(own, table.iloc[group], effective)
            yield from rows(f"slices by {measure}, {name}", package, own)
        ranked = table.sort_values("p_bad", ascending=False, kind="stable")
        expected = (1 - ranked["p_bad"]).expanding().mean()
        flags = expected.to_numpy() <= 0.1
        package = {"flagged": Figure(float(table["flagged"].sum()))}
        yield from rows(f"slices by {measure}, {name}", package, {"flagged": Figure(flags.sum())})
        package = {"fdr": Figure(float((ranked["expected_fdr"] - expected).abs().max()))}
        yield from rows(f"slices by {measure}, {name}", package, {"fdr": Figure(0.0)})


def figures(replications: Replications, groups: str, model: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every figure."""
    rng = replications.generator()
    cells = np.array(SEX_BY_AGE if model == "crossed_groups" else GROUPS[groups])
    tables = cells[..., [3, 2, 1, 0]].reshape(*cells.shape[:-1], 2, 2)
    dim: Any = ("sex", "age") if model == "crossed_groups" else "group"
    dims = ("sex", "age") if model == "crossed_groups" else ("group",)
    evidence = bcm.from_matrix(tables, dims=dims, labels=[0, 1], positive=1)
    if model == "crossed_groups":
        rates, effective = crossed_draws(cells, 20 * replications.number, rng)
    else:
        typical, rates, effective = robust_draws(cells, 1000 * replications.number, rng)
        for measure, values in measures_of(typical).items():
            own = figures_of_draws(values, effective)
            options: dict[str, Any] = {"of": "typical", "model": model, "kind": "eti"}
            row = bcm.summary(evidence, measure, **options).iloc[0]
            package = {key: Figure(row[key], row["error"]) for key in TAILS}
            package["mean"] = Figure(row["mean"], row["error"] / 2)
            yield from rows("typical group", package, own)
    drawn = measures_of(rates)
    for measure in THRESHOLDS:
        values = drawn[measure]
        yield from gap_rows(evidence, dim, measure, values, effective)
        if len(cells) > 2 or model == "crossed_groups":
            yield from slice_rows(evidence, dim, measure, values, effective)


def table_rows(replications: Replications, *setting: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every question of a case."""
    yield from summarised(figures(replications, *setting))


EXPERIMENTS = [
    Repeated("recomputed", CASES, table_rows, columns=["groups", "model"], table="groups")
]
