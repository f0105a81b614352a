r"""
Monitors: Bayes factors, predictive tails and alarm rules from their formulas, batch by batch.

Let B(x, y) be the log beta-binomial (with more classes, Dirichlet-multinomial) marginal likelihood
of batches x to y - 1. The Bayes factor of a change by batch t is

    sum_j h (1 - h)^(j - 1) exp(B(0, j) + B(j, t) - B(0, t)) + (1 - h)^(t - 1),

summed over the possible first batches j = 1 ... t - 1 after the change. After an alarm, all rules
use the batches from the change on, that is, from the most probable j. The next change is then
searched among the batches after the alarm. Tail probabilities of a batch come from scipy's
beta-binomial distribution. The probability of the floor is a beta cdf, and the probability of the
reference is an integral of a beta cdf over logits. Both use the most extreme of ten spans of recent
evidence. Thresholds are as documented. False alarms are counted in streams whose cell probabilities
are sampled from the prior, and the result is their excess over the allowed rate. The probability
that a challenger is better in accuracy comes from a beta distribution of the examples on which only
one of the two is correct.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import betaln, expit, gammaln, log_expit, logsumexp, ndtr, ndtri

import bayescm as bcm
from bayescm.evidence.binned_forecasts import EDGES
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, rows, summarised

online = bcm.online
CASES = dict(
    enumerate(
        [
            (name,)
            for name in (
                "change, two classes",
                "change, four classes",
                "batches",
                "probabilities",
                "alarms",
                "alarms with forgetting",
                "challengers",
                "false alarms",
                "alarms of what is over",
                "outcomes of forecasts",
            )
        ],
        start=1,
    )
)
HAZARD, PRIOR = 0.01, 0.5
SPANS = 2 ** np.arange(10)
CHALLENGE_DRAWS = 4000
# Step of the trapezoidal rule on the logit scale, which is exact up to rounding.
STEP = 0.02
LOGITS = np.arange(-80, 80, STEP)
FALSE = {"rate": 0.3, "horizon": 25, "floor": 0.7, "reference": 5, "examples": 40}


def stream_of(rng: np.random.Generator, batches: int, classes: int = 2) -> np.ndarray:
    """Return batches (T, C, C). In the last third, predictions of class 0 are worse."""
    rates = np.full((batches, classes, classes), 0.2 / (classes - 1))
    rates[:, np.arange(classes), np.arange(classes)] = 0.8
    rates[2 * batches // 3 :, 0] = 1 / classes
    totals = rng.poisson(15, (batches, classes))
    return rng.multinomial(totals, rates)


def steps(cells: np.ndarray) -> Any:
    """Return batches as evidence. With two classes, class 0 is positive."""
    labels = list(range(cells.shape[1]))
    positive = {"positive": 0} if len(labels) == 2 else {}
    return bcm.from_matrix(cells, dims=("step",), labels=labels, **positive)


def log_marginal(cells: np.ndarray, prior: float) -> float:
    """Return the log marginal likelihood of the predictions, given the classes (C, C)."""
    classes = cells.shape[-1]
    rows_of = gammaln(cells + prior).sum(-1) - classes * gammaln(prior)
    rows_of += gammaln(classes * prior) - gammaln(cells.sum(-1) + classes * prior)
    return float(rows_of.sum())


def changes(cells: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the log Bayes factor of a change by each batch, and its probability."""
    factors, chances = [], []
    for t in range(1, len(cells) + 1):
        terms = [
            log_marginal(cells[:j].sum(0), prior)
            + log_marginal(cells[j:t].sum(0), prior)
            - log_marginal(cells[:t].sum(0), prior)
            + np.log(HAZARD * (1 - HAZARD) ** (j - 1))
            for j in range(1, t)
        ]
        whole = logsumexp([*terms, (t - 1) * np.log1p(-HAZARD)])
        factors.append(whole)
        chances.append(np.exp(logsumexp(terms) - whole) if terms else 0.0)
    return np.array(factors), np.array(chances)


def alarms_of_changes(
    cells: np.ndarray, log_evidence: Callable, threshold: float
) -> tuple[list[tuple[int, float]], np.ndarray]:
    """Return the batches and log Bayes factors of alarms, and the first batch used at each."""
    alarms: list[tuple[int, float]] = []
    starts = np.zeros(len(cells), int)
    start, after = 0, 1  # first batch since the latest change, and first possible next change
    for t in range(1, len(cells) + 1):
        starts[t - 1] = start
        whole = log_evidence(cells[start:t].sum(0))
        terms = {
            j: log_evidence(cells[start:j].sum(0))
            + log_evidence(cells[j:t].sum(0))
            - whole
            + np.log(HAZARD * (1 - HAZARD) ** (j - after))
            for j in range(after, t)
        }
        factor = float(logsumexp([*terms.values(), max(t - after, 0) * np.log1p(-HAZARD)]))
        if factor >= threshold:
            alarms.append((t - 1, factor))
            start, after = max(terms, key=terms.__getitem__), t
    return alarms, starts


def compared(question: str, package: Any, recomputed: Any, error: float = 0.0) -> Iterator[Any]:
    """Yield a row for every element of two arrays."""
    own, theirs = np.ravel(recomputed), np.ravel(package)
    if own.shape != theirs.shape:
        raise ValueError(f"{question}: {theirs.shape} beside {own.shape}")
    for number, (value, other) in enumerate(zip(theirs, own, strict=True)):
        # The rounding error of a sum of many terms is proportional to its size.
        tolerance = max(error, 1e-10 * abs(other))
        key = str(number)
        yield from rows(question, {key: Figure(value)}, {key: Figure(other, tolerance)})


def of_changes(rng: np.random.Generator, classes: int) -> Iterator[Any]:
    """Yield figures of `change` and `log_bayes_factor`."""
    cells = stream_of(rng, 45, classes)
    prior = 2 / classes**2
    answer = online.change(steps(cells))
    factors, chances = changes(cells, prior)
    yield from compared("log Bayes factor of a change", answer["log_bayes_factor"], factors)
    yield from compared("probability of a change", answer["probability"], chances)
    before, after = cells[:30].sum(0), cells[30:].sum(0)
    package = online.log_bayes_factor(steps(cells[:30]).sum("step"), steps(cells[30:]).sum("step"))
    parts = [
        log_marginal((before + after)[[row]], prior)
        - log_marginal(before[[row]], prior)
        - log_marginal(after[[row]], prior)
        for row in range(classes)
    ]
    totals = [each.sum(-1)[None] for each in (before, after)]
    whole = classes * prior
    of_totals = log_marginal(sum(totals), whole) - sum(log_marginal(each, whole) for each in totals)
    recomputed = [of_totals + sum(parts), of_totals, *parts]
    package = package.sel(part=["all", "totals", *map(str, range(classes))])
    yield from compared("log Bayes factor of two periods", package, recomputed)


# Measures of two classes with class 0 positive, as proportions of pooled cells: the numbers of hits
# and of misses. F1 is a function of the proportion tp / (tp + fp + fn).
SHARES: dict[str, Callable] = {
    "recall": lambda c: (c[..., 0, 0], c[..., 0, 1]),
    "specificity": lambda c: (c[..., 1, 1], c[..., 1, 0]),
    "precision": lambda c: (c[..., 0, 0], c[..., 1, 0]),
    "npv": lambda c: (c[..., 1, 1], c[..., 0, 1]),
    "accuracy": lambda c: (c[..., 0, 0] + c[..., 1, 1], c[..., 0, 1] + c[..., 1, 0]),
    "f1": lambda c: (c[..., 0, 0], c[..., 0, 1] + c[..., 1, 0]),
}


def law_of(cells: np.ndarray, measure: str) -> Any:
    """Return the beta posterior of a proportion, with half a prior example in each cell."""
    return stats.beta(*SHARES[measure](cells + PRIOR))


def share_at(measure: str, value: Any) -> Any:
    """Return the proportion s at which a measure has a value. F1 is 2 s / (1 + s)."""
    return value / (2 - value) if measure == "f1" else value


def tail(batch: np.ndarray, before: np.ndarray, measure: str) -> float:
    """Return the two-sided predictive tail probability of a batch."""
    hits, misses = SHARES[measure](batch)
    if hits + misses == 0:
        return np.nan
    law = stats.betabinom(hits + misses, *SHARES[measure](before + PRIOR))
    return min(1.0, 2 * min(law.cdf(hits), law.sf(hits - 1)))


def worse(recent: np.ndarray, reference: np.ndarray, measure: str) -> float:
    """Return the probability that a proportion is lower in recent cells than in a reference."""
    hits, misses = SHARES[measure](reference + PRIOR)
    density = hits * log_expit(LOGITS) + misses * log_expit(-LOGITS) - betaln(hits, misses)
    return float(np.exp(density) @ law_of(recent, measure).cdf(expit(LOGITS))) * STEP


def of_batches(rng: np.random.Generator) -> Iterator[Any]:
    """Yield figures of `surprise` and of the intervals of `history`."""
    cells = stream_of(rng, 40)
    before = cells.cumsum(0) - cells
    for measure in SHARES:
        package = online.surprise(steps(cells), measure)
        recomputed = [tail(batch, past, measure) for batch, past in zip(cells, before, strict=True)]
        yield from compared(f"predictive tails of {measure}", package, recomputed)
    for keywords in ({"forgetting": 0.9}, {"window": 6}):
        in_force = remembered(cells, **keywords)
        for measure in SHARES:
            intervals = online.history(steps(cells), measure, kind="eti", **keywords)[measure]
            limits = np.array([law_of(each, measure).ppf([0.025, 0.975]) for each in in_force])
            if measure == "f1":
                limits = 2 * limits / (1 + limits)
            yield from compared(f"history of {measure}, {keywords}", intervals, limits)


def remembered(cells: np.ndarray, forgetting: float = 1.0, window: int | None = None) -> np.ndarray:
    """Return the counts in use after every batch, with forgetting or a window."""
    result = []
    for t in range(1, len(cells) + 1):
        age = np.arange(t)[::-1]
        weight = forgetting**age * (age < (window or t))
        result.append(np.einsum("t,tij->ij", weight, cells[:t]))
    return np.array(result)


def of_probabilities(rng: np.random.Generator) -> Iterator[Any]:
    """Yield figures of `prob_below` and `prob_worse`."""
    for _ in range(6):
        first, second = (stream_of(rng, 3)[number] for number in (0, 2))
        tables = [steps(each[None])[0] for each in (first, second)]
        for measure in SHARES:
            floor = float(rng.uniform(0.6, 0.9))
            package = online.prob_below(tables[0], measure, floor)
            own = law_of(first, measure).cdf(share_at(measure, floor))
            yield from compared(f"P({measure} below a floor)", package, own)
            package = online.prob_worse(tables[1], tables[0], measure)
            own = worse(second, first, measure)
            yield from compared(f"P({measure} worse than a reference)", package, own, 1e-9)


def onsets(values: np.ndarray, is_on: np.ndarray) -> list[tuple[int, float]]:
    """Return the steps and values of the first alarm in every run."""
    was_on = np.r_[False, is_on[:-1]]
    return [(int(step), float(values[step])) for step in np.flatnonzero(is_on & ~was_on)]


def alarms_of(
    cells: np.ndarray,
    measures: tuple[str, ...],
    rate: float,
    horizon: int,
    floor: float,
    reference: int,
    forgetting: float = 1.0,
) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Return the steps and values of the alarms of each rule and measure."""
    spans = SPANS if forgetting == 1 else SPANS[:1]
    level = rate / 4 / (horizon * len(measures))
    # In streams as short as these, the rule considers a change at every batch.
    evidence = partial(log_marginal, prior=PRIOR)
    of_changes, starts = alarms_of_changes(cells, evidence, -np.log(rate / 4))
    before = [
        remembered(cells[start : t + 1], forgetting)[-1] - cells[t]
        for t, start in enumerate(starts)
    ]
    period = cells[:reference].sum(0)
    result = {("change", "answers"): of_changes}
    for measure in measures:
        tails = np.array(
            [tail(batch, past, measure) for batch, past in zip(cells, before, strict=True)]
        )
        result["batch", measure] = [
            (int(step), float(tails[step])) for step in np.flatnonzero(tails <= level)
        ]
        below, less = np.zeros(len(cells)), np.zeros(len(cells))
        for t, start in enumerate(starts):
            for span in spans[spans < 2 * len(cells)]:
                reach = start if forgetting < 1 else max(start, t + 1 - span)
                recent = remembered(cells[reach : t + 1], forgetting)[-1]
                since = np.zeros((2, 2))
                if t >= reference:
                    since = remembered(cells[max(reference, reach) : t + 1], forgetting)[-1]
                below[t] = max(below[t], law_of(recent, measure).cdf(share_at(measure, floor)))
                if since.any():
                    less[t] = max(less[t], worse(since, period, measure))
        threshold = 1 - level / len(spans)
        result["floor", measure] = onsets(below, below >= threshold)
        result["reference", measure] = onsets(less, less >= threshold)
    return result


def of_alarms(
    rng: np.random.Generator, forgetting: float = 1.0, is_over: bool = False
) -> Iterator[Any]:
    """Yield the steps and values of alarms. With ``is_over``, predictions recover in the end."""
    measures = ("recall", "f1")
    settings = {"rate": 0.2, "horizon": 50, "floor": 0.75, "reference": 6}
    for _ in range(3):
        cells = stream_of(rng, 18)
        if is_over:
            cells = np.concatenate([2 * stream_of(rng, 12)[:11], 2 * stream_of(rng, 12)[:7]])
        package = online.alarms(steps(cells), list(measures), **settings, forgetting=forgetting)
        found = alarms_of(cells, measures, forgetting=forgetting, **settings)
        for (rule, measure), own in found.items():
            listed = package[(package["rule"] == rule) & (package["measure"] == measure)]
            question = f"alarms, {rule}"
            yield from compared(f"{question}: how many", len(listed), len(own))
            if len(listed) == len(own) and own:
                yield from compared(f"{question}: steps", listed["step"], [at for at, _ in own])
                values = [value for _, value in own]
                yield from compared(f"{question}: values", listed["value"], values, 1e-9)


# Outcomes of probabilities. The bins are combined into eight groups of six. An event is the less
# likely outcome according to its bin. The number of events in a group is Poisson distributed, with
# the expected number from the middles of the bins, times a Gamma(4, 4) factor.
RATES = np.exp(np.linspace(-12, 5, 4001))
EVENTS, BINS_OF_A_GROUP = 4, 6


def log_evidence_of_events(groups: np.ndarray) -> float:
    """Return the log marginal likelihood, given the actual and expected numbers, (8, 2)."""
    density = stats.gamma(EVENTS, scale=1 / EVENTS).logpdf(RATES) + np.log(RATES)
    logs = [density + y * np.log(RATES) - RATES * expected for y, expected in groups]
    return float(sum(logsumexp(log) for log in logs)) + 8 * np.log(np.log(RATES[1] / RATES[0]))


def of_forecasts(rng: np.random.Generator) -> Iterator[Any]:
    """Yield the steps and values of changes in the outcomes of probabilities."""
    edges = np.array(EDGES)
    middles = (edges[1:] + edges[:-1]) / 2
    for _ in range(4):
        groups = np.zeros((16, 8, 2))
        with online.Monitor("sqlite://", "odds") as monitor:
            for day in range(16):
                slope = 0.2 if 7 <= day < 11 else 1.0
                odds = rng.normal(-1, 1.3, 400)
                actual = rng.random(400) < expit(slope * odds)
                for odd, outcome in zip(expit(odds), actual, strict=True):
                    bin_of = int(np.flatnonzero(edges <= odd)[-1])
                    middle = middles[bin_of]
                    event = outcome if middle < 0.5 else not outcome
                    groups[day, bin_of // BINS_OF_A_GROUP] += event, min(middle, 1 - middle)
                evidence = bcm.from_probabilities(actual.astype(int), expit(odds))
                monitor.add(day, evidence, at=f"2026-01-{day + 1:02d}")
            table = monitor.alarms(floor={"auc": 0.01})
        listed = table[table["rule"] == "change"]
        # The rate is divided by four rules: two tolerances, the floor, and this rule.
        alarms, _ = alarms_of_changes(groups, log_evidence_of_events, -np.log(0.05 / 4))
        question = "changes of probabilities"
        yield from compared(f"{question}: how many", len(listed), len(alarms))
        if len(listed) == len(alarms) and alarms:
            yield from compared(f"{question}: steps", listed["step"], [step for step, _ in alarms])
            values = [value for _, value in alarms]
            yield from compared(f"{question}: values", listed["value"], values, 1e-6)


def of_challengers(rng: np.random.Generator) -> Iterator[Any]:
    """Yield the history of challengers that are compared by their accuracy."""
    for planned, margin in ((None, 0.0), (2000, 0.0)):
        with online.Challenge("sqlite://", "new", prob=0.99, planned=planned) as challenge:
            wins = losses = total = 0
            recomputed: dict[str, list[float]] = {"p_better": [], "p_promote": []}
            for day in range(8):
                actual = rng.integers(2, size=100)
                right = rng.random((2, 100)) < [[0.8], [0.84]]
                answers = np.where(right, actual, 1 - actual)
                named = dict(zip(("old", "new"), answers, strict=True))
                challenge.add(f"day {day}", bcm.from_classifiers(actual, named))
                wins += int((right[1] & ~right[0]).sum())
                losses += int((right[0] & ~right[1]).sum())
                total += 100
                # The prior has two examples in eight joint outcomes; each event has two of them.
                a, b, rest = wins + 0.5, losses + 0.5, total - wins - losses + 1.0
                recomputed["p_better"].append(stats.beta.sf(0.5, a, b))
                whole = a + b + rest
                mean = (a - b) / whole
                sd = np.sqrt(((a + b) / whole - mean**2) / (whole + 1))
                share = total / (planned or np.inf)
                ahead = (mean - margin) / sd - ndtri(0.99) * np.sqrt(share)
                recomputed["p_promote"].append(ndtr(ahead / np.sqrt(1 - share)))
            history = challenge.history()
        better = np.array(recomputed["p_better"])
        error = np.sqrt(better * (1 - better) / CHALLENGE_DRAWS).max()
        yield from compared("P(challenger better)", history["p_better"], better, error)
        if planned:
            # The package uses the mean and sd of draws, with errors of about 1% of an sd.
            promote = recomputed["p_promote"]
            yield from compared("P(promotion)", history["p_promote"], promote, 0.015)


def of_false_alarms(rng: np.random.Generator, number: int) -> Iterator[Any]:
    """Yield the excess of the rate of false alarms in unchanged streams over the allowed rate."""
    rules = ("change", "batch", "reference", "floor")
    raised = np.zeros((number, len(rules)), bool)
    options = {key: FALSE[key] for key in ("rate", "horizon", "floor", "reference")}
    for stream in range(number):
        theta = rng.dirichlet(np.full(4, PRIOR))
        shape = (int(FALSE["horizon"]), 2, 2)
        cells = rng.multinomial(int(FALSE["examples"]), theta, shape[0]).reshape(shape)
        rates = {"recall": theta[0] / theta[:2].sum(), "specificity": theta[3] / theta[2:].sum()}
        table = online.alarms(steps(cells), list(rates), **options)
        for rule, measure in zip(table["rule"], table["measure"], strict=True):
            # An alarm is correct if the true value is below the floor.
            is_false = rule != "floor" or rates[measure] >= FALSE["floor"]
            raised[stream, rules.index(rule)] |= is_false
    allowed = dict.fromkeys(rules, FALSE["rate"] / len(rules)) | {"any rule": FALSE["rate"]}
    shares = dict(zip(rules, raised.mean(0), strict=True)) | {"any rule": raised.any(1).mean()}
    for rule, limit in allowed.items():
        error = np.sqrt(limit * (1 - limit) / number)
        question = f"false alarms, {rule}: {shares[rule]:.3f} of {number}, {limit:.3f} allowed"
        excess = {"excess": Figure(max(0.0, shares[rule] - limit), error)}
        yield from rows(question, {"excess": Figure(0.0)}, excess)


def figures(replications: Replications, question: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every figure."""
    rng = replications.generator()
    if question.startswith("change"):
        yield from of_changes(rng, 4 if "four" in question else 2)
    elif question == "batches":
        yield from of_batches(rng)
    elif question == "probabilities":
        yield from of_probabilities(rng)
    elif question.startswith("alarms"):
        forgetting = 0.9 if "forgetting" in question else 1.0
        yield from of_alarms(rng, forgetting, is_over="over" in question)
    elif question == "outcomes of forecasts":
        yield from of_forecasts(rng)
    elif question == "challengers":
        yield from of_challengers(rng)
    else:
        yield from of_false_alarms(rng, replications.number)


def table_rows(replications: Replications, evidence: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every question of a case."""
    yield from summarised(figures(replications, evidence))


EXPERIMENTS = [Repeated("recomputed", CASES, table_rows, columns=["evidence"], table="monitors")]
