"""Online evaluation: coverage batch by batch, alarms, challengers, and binned probabilities."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

from bayescm.answers.interval import resolve_measures
from bayescm.evidence import from_cells, from_matrix
from bayescm.evidence.binned_forecasts import EDGES, zero_forecasts
from bayescm.evidence.counts import WATCHED
from bayescm.evidence.evidence_type import BATCH_FORM
from bayescm.evidence.item_scores import ScoredItems
from bayescm.evidence.multilabel import LabelledExamples
from bayescm.measures.catalogue import resolve
from bayescm.measures.labelled import of_variable
from bayescm.measures.probabilities import Forecasts
from bayescm.online.challenge import FUTILE, PROMOTE, Rule, decisions, interim_analyses
from bayescm.online.rules import (
    RULES,
    TOLERANCE,
    MonitoredSeries,
    alarms,
    change_share,
    evaluate_rules,
    segments,
)
from bayescm.online.updating import history, intervals, posterior_of
from bayescm.posteriors import drifting, summed_item_scores, summed_labels
from bayescm.posteriors.binned_forecasts import BinnedForecasts, evaluate
from bayescm.priors import elicit
from bayescm.simulation import Experiment, Repeated, Replications

# Tables "prior" and "fixed": coverage after 1, 10 and 100 batches of 20 examples. In the first
# table, the true cell probabilities are sampled from the prior, so that coverage is exact after any
# number of batches. In the second table, they are fixed and the prior is the default. After one
# small batch, no interval can have exact coverage at every fixed point. After many batches,
# coverage is nearly exact.

MEASURES = ("precision", "recall", "specificity", "accuracy", "f1")
BATCHES, BATCH = (1, 10, 100), 20
DEFAULT_PRIOR = np.full((2, 2), 0.5)
PRIORS = {
    "elicited, worth 12": elicit(precision=0.7, recall=0.75, accuracy=0.8, weight=12).values,
    "default": DEFAULT_PRIOR,
}
POPULATIONS = {
    "ordinary": ((0.40, 0.10), (0.10, 0.40)),
    "good": ((0.48, 0.02), (0.02, 0.48)),
    "rare": ((0.89, 0.01), (0.02, 0.08)),
}


def truth_from_prior(
    rng: np.random.Generator, prior: str
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return cumulative counts of a population sampled from the prior, and the true measures."""
    return cumulated_batches(rng, rng.dirichlet(PRIORS[prior].ravel()).reshape(2, 2))


def fixed_truth(
    rng: np.random.Generator, population: str
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return cumulative counts of a fixed population, and the true measures."""
    return cumulated_batches(rng, np.array(POPULATIONS[population]))


def cumulated_batches(
    rng: np.random.Generator, cells: np.ndarray
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return the counts after 1, 10 and 100 batches, and the true measures."""
    counts = rng.multinomial(BATCH, cells.ravel(), max(BATCHES)).cumsum(axis=0)
    tables = counts[np.array(BATCHES) - 1].reshape(-1, 2, 2)
    evidence = from_matrix(
        tables, labels=["negative", "positive"], positive="positive", dims=("step",)
    )
    truth = {name: float(resolve(name)(cells)) for name in MEASURES}
    return evidence, {f"{name} after {n}": truth[name] for name in MEASURES for n in BATCHES}


def conjugate_intervals(
    counts: xr.DataArray, *, prob: float, prior: np.ndarray
) -> Mapping[str, np.ndarray]:
    """Return equal-tailed intervals of every measure after 1, 10 and 100 batches."""
    concentration = xr.DataArray(prior, dims=("actual", "predicted"))
    state = xr.Dataset({"counts": counts, "concentration": concentration})
    table = intervals(state, MEASURES, prob=prob, kind="eti")
    return {
        f"{name} after {n}": table[name].values[step]
        for name in MEASURES
        for step, n in enumerate(BATCHES)
    }


def intervals_of_three_masses(prior: np.ndarray) -> Mapping[str, Callable]:
    """Return the methods for 10%, 50% and 95% intervals."""
    return {
        f"{prob:.0%}": partial(conjugate_intervals, prob=prob, prior=prior)
        for prob in (0.1, 0.5, 0.95)
    }


# Table "drift": coverage if the true recall changes from batch to batch. It follows the model
# `drifting`, or is constant, has one jump, has seasons, or has steps four times as large as its
# prior expects. The filtered posterior of each batch is compared with the true recall of that
# batch. The other methods are conjugate updates with forgetting, with a window, or with all
# batches.

STEPS, POSITIVES, DRIFT = 40, 60, 0.2
EVALUATED = (1, 5, 10, 20, 21, 25, 30, 40)  # the jump is between batches 20 and 21
PRIOR_OF_RECALL = np.array([[0.5, 0.5], [1.0, 4.0]])


def random_walk(rng: np.random.Generator) -> np.ndarray:
    """Return a random walk on the logit scale, with steps from the prior of `drifting`."""
    sd = abs(rng.normal(0, DRIFT))
    start = logit(rng.beta(4, 1))
    return start + np.cumsum(np.r_[0, rng.normal(0, sd, STEPS - 1)])


def constant(rng: np.random.Generator) -> np.ndarray:
    """Return a constant logit."""
    return np.full(STEPS, logit(rng.beta(4, 1)))


def jump(_: np.random.Generator) -> np.ndarray:
    """Return the logit of 0.9 in the first half, and of 0.7 in the second half."""
    return logit(np.repeat([0.9, 0.7], STEPS // 2))


def seasons(rng: np.random.Generator) -> np.ndarray:
    """Return a sine wave around the logit of 0.85, with a period of 12 batches."""
    return logit(0.85) + 0.5 * np.sin(np.arange(STEPS) * np.pi / 6 + rng.uniform(0, 6.3))


def fast_walk(rng: np.random.Generator) -> np.ndarray:
    """Return a random walk with steps of four times the scale of the prior."""
    return logit(0.85) + np.cumsum(np.r_[0, rng.normal(0, 4 * DRIFT, STEPS - 1)])


PATHS = {
    "walks as the model says": random_walk,
    "stands still": constant,
    "jumps once, .9 to .7": jump,
    "has seasons of 12 batches": seasons,
    "walks in steps of .8": fast_walk,
}


def moving_recall(rng: np.random.Generator, path: str) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return 40 batches of 60 positives with a changing recall, and the true recall."""
    recall = expit(PATHS[path](rng))
    tp, tn = rng.binomial(POSITIVES, recall), rng.binomial(POSITIVES, 0.9, STEPS)
    counts = from_cells(tp=tp, fn=POSITIVES - tp, fp=POSITIVES - tn, tn=tn).rename(batch="step")
    return counts, _at_steps(recall)


def drifting_intervals(counts: xr.DataArray) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals of recall from the filtered posterior of `drifting`."""
    posterior = drifting(counts.values, concentration=PRIOR_OF_RECALL, filtered=True)
    return _at_steps(posterior.distribution(resolve("recall")).eti(0.95))


def updated_intervals(counts: xr.DataArray, **memory: Any) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals of recall from conjugate updates."""
    table = history(counts, "recall", concentration=PRIOR_OF_RECALL, kind="eti", **memory)
    return _at_steps(table["recall"].values)


def _at_steps(values):
    return {f"recall at {step}": values[step - 1] for step in EVALUATED}


DRIFT_METHODS = {
    "drifting, filtered": drifting_intervals,
    "forgetting .9": partial(updated_intervals, forgetting=0.9),
    "window of 10": partial(updated_intervals, window=10),
    "all batches pooled": updated_intervals,
}

# Table "alarms" of "run_length": the rate of false alarms, and the delay until a drop is detected.
# Batches have 50 positives and 50 negatives, a specificity of 0.9, and a recall of 0.9 that may
# drop after 50 batches. Without a drop, every alarm is false. The average run length is the number
# of batches per first alarm (Page, 1954, doi:10.1093/biomet/41.1-2.100). A rule is listed at the
# batch where it starts to fire. It therefore has no alarm after the drop if it already fired
# before.

HEALTHY_RECALL, QUIET, BEFORE, AFTER = 0.9, 200, 50, 50
RATES = (0.05, 0.005)


def batches_with_recall(
    rng: np.random.Generator, recall: np.ndarray, size: int = 100
) -> xr.DataArray:
    """Return a batch of ``size`` examples for each recall, half of them positive."""
    half = size // 2
    tp, tn = rng.binomial(half, recall), rng.binomial(half, 0.9, len(recall))
    counts = from_cells(tp=tp, fn=half - tp, fp=half - tn, tn=tn).rename(batch="step")
    return counts.assign_coords(step=np.arange(len(recall)))


def first_alarms(
    counts: xr.DataArray, start: int, settings: Mapping[str, Any]
) -> Mapping[str, float]:
    """Return the step of the first alarm of every rule from ``start`` on, or NaN."""
    table = alarms(counts, ["recall"], **settings)
    first = table[table["step"] >= start].groupby("rule")["step"].min()
    return {rule: float(first.get(rule, np.nan)) for rule in RULES}


def waiting_times(replications: Replications, recall: float) -> Iterator[Mapping[str, Any]]:
    """
    Yield a row for every rate of false alarms and every rule.

    ``alarmed`` is the proportion of series with an alarm, ``median`` is the median number of
    batches until the first alarm (infinite if fewer than half of the series have one), and
    ``run_length`` is the average run length.
    """
    healthy = recall == HEALTHY_RECALL
    path = np.full(QUIET, recall)
    if not healthy:
        path = np.repeat([HEALTHY_RECALL, recall], [BEFORE, AFTER])
    start = 0 if healthy else BEFORE
    length = len(path) - start
    for rate in RATES:
        rng = replications.generator()
        settings = {"rate": rate, "floor": 0.8, "reference": 20}
        first = pd.DataFrame(
            first_alarms(batches_with_recall(rng, path), start, settings)
            for _ in range(replications.number)
        )
        for rule, times in (first - start + 1).items():
            alarmed, batches = times.notna(), times.fillna(length).sum()
            yield {
                "rate": rate,
                "batches": length,
                "rule": rule,
                "alarmed": alarmed.mean(),
                "median": times.fillna(np.inf).median(),
                "run_length": batches / alarmed.sum() if alarmed.any() else np.inf,
            }


# Table "after" of "run_length": streams after the alarm of a change. Recall drops from 0.9 after 50
# batches, permanently or for one or two batches, and 200 batches follow. The results refer to
# streams in which the drop is detected before it ends. They include the proportion in which its end
# is detected by another alarm, the delay, false alarms of further changes, and the coverage of 95%
# intervals of recall from the batches since the change.

FOLLOWING = 200
RATES_OF_CHANGES = (0.05, 0.5)


class PassingSetting(NamedTuple):
    """Examples per batch, recall after the change, and duration in batches (0: permanent)."""

    size: int
    recall: float
    lasting: int


PASSING = {
    1: PassingSetting(100, 0.8, 0),
    2: PassingSetting(100, 0.7, 0),
    3: PassingSetting(20, 0.5, 0),
    4: PassingSetting(1000, 0.87, 0),
    5: PassingSetting(100, 0.4, 1),
    6: PassingSetting(100, 0.5, 2),
    7: PassingSetting(20, 0.1, 2),
    8: PassingSetting(1000, 0.75, 1),
}


def after_changes(
    replications: Replications, size: int, recall: float, lasting: int
) -> Iterator[Mapping[str, Any]]:
    """
    Yield a row for every rate of false alarms.

    ``noticed`` is the proportion of streams in which the change is detected while it lasts. Among
    these, ``ended`` is the proportion in which its end is detected, ``median`` is the delay of this
    detection in batches, and ``false`` is the proportion with further alarms of changes. ``doc_10``
    is the coverage ten batches after the last change (for a permanent change, after its alarm), and
    ``doc`` is the coverage at the end.
    """
    path = np.repeat([HEALTHY_RECALL, recall], [BEFORE, FOLLOWING])
    if lasting:
        path[BEFORE + lasting :] = HEALTHY_RECALL
    for rate in RATES_OF_CHANGES:
        rng = replications.generator()
        streams = [batches_with_recall(rng, path, size) for _ in range(replications.number)]
        rows = [_after_change(stream, path, lasting, change_share(rate)) for stream in streams]
        table = pd.DataFrame([row for row in rows if row is not None], columns=_AFTER_A_CHANGE)
        means = table.drop(columns="wait").mean()
        yield {
            "rate": rate,
            "noticed": len(table) / len(rows),
            "ended": means["ended"] if lasting else np.nan,
            "median": table["wait"].median(),
            "false": means["false"],
            "doc_10": means["doc_10"],
            "doc": means["doc"],
        }


_AFTER_A_CHANGE = ["ended", "wait", "false", "doc_10", "doc"]


def _after_change(stream, path, lasting, share):
    """Return the results after the alarm of a change, or None if it was not detected in time."""
    changes = [change for change in segments(stream, None, share) if change.raised >= BEFORE]
    end = BEFORE + lasting if lasting else len(path)
    if not changes or changes[0].raised >= end:
        return None
    ended = len(changes) > 1 and bool(lasting)
    wait = changes[1].raised - end + 1 if ended else np.nan
    is_false = len(changes) > 1 + bool(lasting)
    late = (end if lasting else changes[0].raised) + 10
    held = []
    for last in (min(late, len(path) - 1), len(path) - 1):
        first = max(change.first for change in changes if change.raised <= last)
        (lower, upper), truth = recall_since(stream, first, last), path[last]
        held.append(lower <= truth <= upper)
    return [ended, wait, is_false, *held]


def recall_since(stream: xr.DataArray, first: int, last: int) -> np.ndarray:
    """Return the 95% equal-tailed interval of recall from the batches ``first`` to ``last``."""
    counts = stream[first : last + 1].sum("step")
    state = xr.Dataset({"counts": counts, "concentration": (counts.dims, DEFAULT_PRIOR)})
    return intervals(state, "recall", kind="eti")["recall"].values


# Table "healthy" of "run_length": false alarms in unchanged streams of 1,000 batches, with the
# default measures and rules, and with floors at or just below the true values.

LONG = 1000
FLOORS = {
    "": {},
    "recall .8": {"floor": {"recall": 0.8}},
    "recall and f1 .85": {"floor": {"recall": 0.85, "f1": 0.85}},
}


class HealthySetting(NamedTuple):
    """Examples per batch, prevalence, recall, specificity, and name of the floors."""

    size: int
    prevalence: float
    recall: float
    specificity: float
    floors: str = ""


HEALTHY = {
    1: HealthySetting(100, 0.5, 0.9, 0.9),
    2: HealthySetting(20, 0.5, 0.8, 0.9),
    3: HealthySetting(1000, 0.1, 0.7, 0.95),
    4: HealthySetting(200, 0.02, 0.8, 0.99),
    5: HealthySetting(100, 0.5, 0.81, 0.9, "recall .8"),
    6: HealthySetting(100, 0.5, 0.8, 0.9, "recall .8"),
    7: HealthySetting(100, 0.5, 0.9, 0.9, "recall and f1 .85"),
}


def false_alarms(replications: Replications, *setting: Any) -> list[Mapping[str, Any]]:
    """Return the proportion of streams with an alarm of any rule, and of each rule."""
    size, prevalence, recall, specificity, floors = setting
    key = (100 + replications.case,)  # other random numbers than in `waiting_times`
    rng = np.random.default_rng(np.random.SeedSequence(replications.seed, spawn_key=key))
    cells = [prevalence * recall, prevalence * (1 - recall)]
    cells += [(1 - prevalence) * (1 - specificity), (1 - prevalence) * specificity]
    rules_of_streams = []
    for _ in range(replications.number):
        tp, fn, fp, tn = rng.multinomial(size, cells, LONG).T
        counts = from_cells(tp=tp, fn=fn, fp=fp, tn=tn).rename(batch="step")
        table = alarms(counts, WATCHED.with_positive, **FLOORS[floors])
        rules_of_streams.append(set(table["rule"]))
    alarmed = np.mean([bool(rules) for rules in rules_of_streams])
    shares = {rule: np.mean([rule in rules for rules in rules_of_streams]) for rule in RULES}
    return [{"batches": LONG, "alarmed": alarmed} | shares]


# Experiment "challengers": the probability of promoting a challenger that is not better, and the
# delay until a better one is promoted. The champion has an accuracy of 0.85 in both classes. The
# accuracy of the challenger differs slightly. Both predict the same 200 examples per batch. In 70%
# of the examples, they share the random number that decides on an error. The rule of
# `bayescm.online.Challenge` is applied after every batch, at most 20 times.

ACCURACY, SHARED, EXAMPLES, LOOKS = 0.85, 0.7, 200, 20
PROBS, CHUNK = (0.95, 0.99, 0.995), 50  # CHUNK: number of streams in memory together


class ChallengeSetting(NamedTuple):
    """Measure that is compared, and difference in accuracy of the challenger."""

    measure: str
    better: float


CHALLENGES = {
    1: ChallengeSetting("accuracy", -0.02),
    2: ChallengeSetting("accuracy", 0.0),
    3: ChallengeSetting("accuracy", 0.02),
    4: ChallengeSetting("accuracy", 0.04),
    5: ChallengeSetting("f1", 0.0),
    6: ChallengeSetting("f1", 0.02),
}


def outcomes_of_streams(rng: np.random.Generator, better: float, number: int) -> xr.Dataset:
    """Return outcomes of a champion and a challenger, with ``counts`` (batch, step, outcome)."""
    shape = (number, LOOKS, EXAMPLES)
    actual, difficulty = rng.integers(0, 2, shape), rng.random(shape)
    second_difficulty = np.where(rng.random(shape) < SHARED, difficulty, rng.random(shape))
    champion = np.where(difficulty < ACCURACY, actual, 1 - actual)
    challenger = np.where(second_difficulty < ACCURACY + better, actual, 1 - actual)
    code = 4 * actual + 2 * champion + challenger
    counts = np.stack([(code == outcome).sum(-1) for outcome in range(8)], axis=-1)
    truth, *predicted = np.unravel_index(np.arange(8), (2, 2, 2))
    coords: dict[str, Any] = {
        "actual": ("outcome", truth),
        "predicted": (("classifier", "outcome"), np.stack(predicted)),
        "classifier": ["champion", "challenger"],
        "label": [0, 1],
        "positive": 1,
    }
    return xr.Dataset({"counts": (("batch", "step", "outcome"), counts)}, coords)


def promotions(replications: Replications, measure: str, better: float) -> list[Mapping[str, Any]]:
    """
    Return a row for every required probability, with and without a planned end.

    ``promoted`` and ``futile`` are the proportions of streams with these decisions, and ``batches``
    is the mean number of batches until a decision.
    """
    rng = replications.generator()
    n = EXAMPLES * np.arange(1, LOOKS + 1)
    rules = [Rule(0.0, prob, planned) for prob in PROBS for planned in (None, EXAMPLES * LOOKS)]
    by_rule: list[list[np.ndarray]] = [[] for _ in rules]
    for start in range(0, replications.number, CHUNK):
        streams = outcomes_of_streams(rng, better, min(CHUNK, replications.number - start))
        cumulated = streams.assign(counts=streams["counts"].cumsum("step"))
        analyses = interim_analyses(cumulated, resolve(measure), random_seed=rng)
        for parts, rule in zip(by_rule, rules, strict=True):
            parts.append(decisions(analyses, n, rule))
    rows = []
    for rule, parts in zip(rules, by_rule, strict=True):
        by_batch = np.concatenate(parts)
        last, undecided = by_batch[:, -1], (by_batch == "go on").sum(axis=1)
        rows.append(
            {
                "prob": rule.prob,
                "planned": rule.planned,
                "promoted": np.mean(last == PROMOTE),
                "futile": np.mean(last == FUTILE),
                "batches": np.minimum(undecided + 1, LOOKS).mean(),
            }
        )
    return rows


# Experiment "binned_intervals": coverage of intervals from binned probabilities, as stored by a
# monitor. The log odds of the forecasts are normal with standard deviation 1.3. The true log odds
# have a slope around the mean of the forecasts, and a level. True measures are computed from the
# forecasts themselves, and from the forecasts moved to the middles of their bins.

BINNED_MEASURES = ("auc", "brier", "calibration_in_the_large", "calibration_slope")
SIZES, SPREAD = (200, 1000, 5000), 1.3
NODES, IN_MEMORY = 40_000, 4e6
BINS, MIDDLES = len(EDGES) - 1, (np.array(EDGES[1:]) + np.array(EDGES[:-1])) / 2


class BinnedSetting(NamedTuple):
    """Mean forecast, and slope and level of the true log odds."""

    prevalence: float
    slope: float
    level: float


BINNED = {
    1: BinnedSetting(0.3, 1.0, 0.0),
    2: BinnedSetting(0.3, 0.6, 0.0),
    3: BinnedSetting(0.03, 1.0, 0.0),
    4: BinnedSetting(0.03, 0.6, 0.0),
    5: BinnedSetting(0.3, 1.5, -0.5),
}


def quantiles(number: int) -> np.ndarray:
    """Return evenly spaced quantiles of the log odds around their mean."""
    return SPREAD * ndtri((np.arange(number) + 0.5) / number)


def mean_log_odds(prevalence: float) -> float:
    """Return the mean log odds of calibrated forecasts with a given prevalence."""
    return brentq(lambda mean: expit(mean + quantiles(2000)).mean() - prevalence, -8, 2)


def chances(log_odds: np.ndarray, mean: float, slope: Any, level: Any) -> np.ndarray:
    """Return the true probability of the positive class, given the log odds of the forecasts."""
    return expit(mean + level + slope * (log_odds - mean))


def binned_samples(
    rng: np.random.Generator, number: int, size: int, mean: float, slope: float, level: float
) -> np.ndarray:
    """Return the counts of samples by class and bin, (number, 2, B)."""
    counts, step = [], max(1, int(IN_MEMORY // size))
    for first in range(0, number, step):
        shape = min(step, number - first), size
        log_odds = rng.normal(mean, SPREAD, shape)
        actual = rng.random(shape) < chances(log_odds, mean, slope, level)
        cell = (np.arange(shape[0])[:, None] * 2 + actual) * BINS + _bin_of(expit(log_odds))
        counts.append(np.bincount(cell.ravel(), minlength=shape[0] * 2 * BINS))
    return np.concatenate(counts).reshape(number, 2, BINS).astype(float)


def _bin_of(forecast):
    return np.searchsorted(np.array(EDGES[1:-1]), forecast, "right")


def true_measures(mean: float, slope: float, level: float) -> Mapping[str, tuple[float, float]]:
    """Return the true value of each measure, of the forecasts themselves and in bins."""
    log_odds = mean + quantiles(NODES)
    forecast, chance = expit(log_odds), chances(log_odds, mean, slope, level)
    weight = np.concatenate([1 - chance, chance])[None] / NODES
    outcome = np.repeat([0.0, 1.0], NODES)
    population = Forecasts(np.tile(forecast, 2)[None], outcome, weight, _no_curve)
    cells = np.stack(
        [np.bincount(_bin_of(forecast), share, BINS) for share in (1 - chance, chance)]
    )[None]
    return {
        measure.__name__: (
            float(measure(population)[0, 0]),
            float(evaluate(measure, cells, MIDDLES)[0]),
        )
        for measure in of_variable(list(BINNED_MEASURES), ("probabilities", "curve"))
    }


def _no_curve():
    raise NotImplementedError("none of the measures is of the calibration curve")


def binned_coverage(
    replications: Replications, prevalence: float, slope: float, level: float
) -> Iterator[Mapping[str, Any]]:
    """
    Yield a row for every size and measure.

    ``doc`` is the coverage of 95% intervals. ``doc_binned`` is the coverage of the true value after
    forecasts are moved to the middles of their bins. ``below`` and ``above`` are the proportions of
    intervals with the true value of the forecasts below and above them. ``events`` is the expected
    number of positives.
    """
    mean = mean_log_odds(prevalence)
    truths = true_measures(mean, slope, level)
    share = float(chances(mean + quantiles(2000), mean, slope, level).mean())
    for size in SIZES:
        rng = replications.generator(size)
        cells = binned_samples(rng, replications.number, size, mean, slope, level)
        table = zero_forecasts([0, 1], 1, EDGES, True)
        samples = xr.DataArray(cells, dims=("sample", *table.dims), attrs=table.attrs)
        posterior = BinnedForecasts(samples)
        for measure in of_variable(list(BINNED_MEASURES), ("probabilities", "curve")):
            truth, binned_truth = truths[measure.__name__]
            lower, upper = posterior.distribution(measure).eti(0.95).T
            yield {
                "size": size,
                "events": size * share,
                "measure": measure.__name__,
                "truth": truth,
                "doc": ((lower <= truth) & (truth <= upper)).mean(),
                "doc_binned": ((lower <= binned_truth) & (binned_truth <= upper)).mean(),
                "below": (truth < lower).mean(),
                "above": (truth > upper).mean(),
                "il": (upper - lower).mean(),
            }


# Experiment "forecast_streams": false alarms with binned probabilities, and the delay until a drift
# is detected. Streams in the table "healthy" have 200 batches. Their forecasts are calibrated, or
# miscalibrated within the tolerance, or calibrated in a population with log odds that move by
# `shift` half way. In the table "drifting", forecasts become too extreme or too low after 50
# batches, and 50 batches follow.

STREAM = 200
RULES_OF_FORECASTS = ("calibration", "change")


class StreamSetting(NamedTuple):
    """Examples per batch, prevalence, slope and level of the true log odds, and shift."""

    size: int
    prevalence: float
    slope: float
    level: float
    shift: float = 0.0


HEALTHY_FORECASTS = {
    1: StreamSetting(300, 0.3, 1.0, 0.0),
    2: StreamSetting(50, 0.3, 1.0, 0.0),
    3: StreamSetting(1000, 0.03, 1.0, 0.0),
    4: StreamSetting(300, 0.3, 0.8, 0.0),
    5: StreamSetting(300, 0.3, 1.0, 0.0, 1.0),
    6: StreamSetting(1000, 0.03, 1.0, 0.0, 1.0),
}
DRIFTING_FORECASTS = {
    1: StreamSetting(300, 0.3, 0.6, 0.0),
    2: StreamSetting(300, 0.3, 1.0, 0.4),
    3: StreamSetting(1000, 0.03, 0.6, 0.0),
    4: StreamSetting(50, 0.3, 0.6, 0.0),
}


def binned_batches(
    rng: np.random.Generator,
    size: int,
    mean: float,
    slope: np.ndarray,
    level: np.ndarray,
    shift: np.ndarray,
) -> xr.DataArray:
    """Return batches of binned probabilities, (step, actual, bin), with parameters by batch."""
    log_odds = rng.normal(mean + shift[:, None], SPREAD, (len(slope), size))
    chance = chances(log_odds, mean, slope[:, None], level[:, None])
    actual = rng.random(log_odds.shape) < chance
    cell = (np.arange(len(slope))[:, None] * 2 + actual) * BINS + _bin_of(expit(log_odds))
    counts = np.bincount(cell.ravel(), minlength=len(slope) * 2 * BINS)
    table = zero_forecasts([0, 1], 1, EDGES, True)
    stream = counts.reshape(len(slope), 2, BINS)
    return xr.DataArray(stream, table.coords, ["step", *table.dims], attrs=table.attrs)


def first_alarms_of_forecasts(batches: xr.DataArray, start: int = 0) -> Mapping[str, float]:
    """Return the step of the first alarm of every rule from ``start`` on, or NaN."""
    table = evaluate_rules(MonitoredSeries(batches), list(TOLERANCE), horizon=STREAM)
    first = table[table["step"] >= start].groupby("rule")["step"].min()
    return {rule: float(first.get(rule, np.nan)) for rule in RULES_OF_FORECASTS}


def alarms_of_forecasts(
    replications: Replications,
    size: int,
    prevalence: float,
    slope: float,
    level: float,
    shift: float,
    *,
    drift,
) -> Iterator[Mapping[str, Any]]:
    """
    Yield a row for each rule, and for any rule.

    The rate of false alarms is set to 0.05 for all rules together. ``alarmed`` is the proportion of
    streams with an alarm. ``median`` is the median number of batches until the first alarm after
    the drift, which is infinite if fewer than half of the streams have one.
    """
    mean, rng = mean_log_odds(prevalence), replications.generator(int(drift))
    start, number = (BEFORE, BEFORE + AFTER) if drift else (0, STREAM)
    drifted = np.arange(number) >= start
    slopes, levels = np.where(drifted, slope, 1.0), np.where(drifted, level, 0.0)
    shifts = np.where(np.arange(number) >= number // 2, shift, 0.0)
    streams = (
        binned_batches(rng, size, mean, slopes, levels, shifts) for _ in range(replications.number)
    )
    first = pd.DataFrame(first_alarms_of_forecasts(stream, start) for stream in streams)
    for rule, steps in first.assign(any=first.min(axis=1)).items():
        median = (steps - start + 1).fillna(np.inf).median()
        alarmed = steps.notna().mean()
        yield {"batches": number - start, "rule": rule, "alarmed": alarmed, "median": median}


# Experiment "item_score_alarms": item scores and labels.
# - Table "tails": calibration of the tail probabilities that alarms use. For several levels, it has
#   the proportion of samples with a posterior probability of at most this level that the mean is
#   above, or below, its true value.
# - Table "healthy": streams without a change. The limit of the rule `floor` equals the true mean,
#   which is the worst case.
# - Table "worse": from batch 51 on, 15% of the items have the worst score. For errors without an
#   end, the score is multiplied by 3. For labels, all predicted labels are removed. The limit is
#   half way between the old and new means.


class ScorePopulation(NamedTuple):
    """Sampler of scores, (rng, shape) -> ndarray, with their mean and range."""

    draw: Callable[[np.random.Generator, Any], np.ndarray]
    mean: float
    lowest: float | None
    highest: float | None
    lower_is_better: bool = False
    measure: str = "mean"

    def fallen(self, worst: float) -> float:
        """Return the mean after a proportion of the items gets the worst score."""
        bad = 3 * self.mean if self.lower_is_better else float(self.lowest or 0)
        return self.mean + worst * (bad - self.mean)

    def sums(
        self, rng: np.random.Generator, batches: int, items: int, worst: float = 0.0, start: int = 0
    ) -> xr.DataArray:
        """Return sums of batches. From ``start`` on, some of the items get the worst score."""
        stream = self.draw(rng, (batches, items))
        is_worst = rng.random(stream.shape) < worst
        is_worst[:start] = False
        bad = 3 * stream if self.lower_is_better else self.lowest
        rows = [ScoredItems(None, row) for row in np.where(is_worst, bad, stream)]
        facts = {name: getattr(self, name) for name in ("lowest", "highest", "lower_is_better")}
        like = xr.DataArray(attrs=facts | {BATCH_FORM: "item_scores"})
        measures = of_variable("mean", "item_scores")
        return summed_item_scores.sums_of_batches(rows, like, measures)


class LabelPopulation(NamedTuple):
    """Labels with given prevalences, and a Beta(1, 9) error rate for each example."""

    prevalences: tuple[float, ...]
    measure: str
    lower_is_better: bool = False

    @property
    def mean(self) -> float:
        """True F1 of the population."""
        return self.fallen(0.0)

    def fallen(self, worst: float) -> float:
        """Return F1 after a proportion of the examples gets no predicted label."""
        p, error = np.array(self.prevalences), 0.1
        p = p[-1:] if self.measure.endswith("]") else p
        tp, fp = (1 - worst) * p * (1 - error), (1 - worst) * (1 - p) * error
        return float(2 * tp.sum() / (tp.sum() + fp.sum() + p.sum()))

    def sums(
        self, rng: np.random.Generator, batches: int, items: int, worst: float = 0.0, start: int = 0
    ) -> xr.DataArray:
        """Return sums of batches. From ``start`` on, some examples get no predicted label."""
        shape, labels = (batches, items, len(self.prevalences)), list("abcd")
        actual = rng.random(shape) < self.prevalences
        predicted = actual ^ (rng.random(shape) < rng.beta(1, 9, (batches, items, 1)))
        is_worst = rng.random((batches, items)) < worst
        is_worst[:start] = False
        predicted &= ~is_worst[..., None]
        pairs = zip(actual, predicted, strict=True)
        rows = [LabelledExamples(*pair) for pair in pairs]
        like = xr.DataArray(np.zeros(4), {"label": labels}, ["label"])
        like.attrs[BATCH_FORM] = "multilabel"
        measures = of_variable(self.measure, "example_cells")
        return summed_labels.sums_of_batches(rows, like, measures)


def _choice(scores, shares, lowest, highest):
    def draw(rng, shape):
        return rng.choice(scores, shape, p=shares)

    return ScorePopulation(draw, float(np.dot(scores, shares)), lowest, highest)


SCORES = {
    "marks from 1 to 5": _choice([1.0, 2.0, 3.0, 4.0, 5.0], [0.05, 0.05, 0.1, 0.3, 0.5], 1.0, 5.0),
    "near the top": ScorePopulation(lambda rng, shape: rng.beta(8, 2, shape), 0.8, 0.0, 1.0),
    "half are zero": _choice(
        [0.0, 0.2, 0.25, 1 / 3, 0.5, 1.0], [0.5, 0.1, 0.1, 0.1, 0.1, 0.1], 0.0, 1.0
    ),
    "errors without an end": ScorePopulation(
        lambda rng, shape: rng.gamma(2, 1, shape), 2.0, None, None, lower_is_better=True
    ),
    "labels, F1 of all": LabelPopulation((0.5, 0.3, 0.2, 0.1), "f1_micro"),
    "labels, F1 of one in ten": LabelPopulation((0.5, 0.3, 0.2, 0.1), "f1[d]"),
}
TAILS, SAMPLES = (1e-2, 1e-3), 200  # levels, and number of samples per replication
WORST_SHARE = 0.15


def tails_of_means(
    replications: Replications, population: str, items: int
) -> list[Mapping[str, Any]]:
    """Return the proportion of samples with a tail of at most each level, divided by the level."""
    scores, above, below = SCORES[population], [], []
    for rng in replications.generators():
        sums = scores.sums(rng, SAMPLES, items)
        posterior = posterior_of(sums)
        (measure,) = resolve_measures(posterior, scores.measure)
        distribution = posterior.distribution(measure)
        above.append(distribution.sf(scores.mean))
        below.append(distribution.cdf(scores.mean))
    sides = {"above": np.concatenate(above), "below": np.concatenate(below)}
    return [
        {"level": level} | {side: (tail <= level).mean() / level for side, tail in sides.items()}
        for level in TAILS
    ]


def item_score_streams(
    replications: Replications, population: str, items: int, worst: float
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every rule, as in `waiting_times`.

    ``worst`` is the proportion of items that get the worst score.
    """
    scores, rng = SCORES[population], replications.generator()
    start, number = (BEFORE, BEFORE + AFTER) if worst else (0, QUIET)
    floor, first = (scores.mean + scores.fallen(worst)) / 2, []
    for _ in range(replications.number):
        series = MonitoredSeries(scores.sums(rng, number, items, worst, start))
        table = evaluate_rules(series, scores.measure, floor=floor, reference=20)
        steps = table[table["step"] >= start].groupby("rule")["step"].min()
        first.append({rule: float(steps.get(rule, np.nan)) for rule in (*RULES, "any")})
        first[-1]["any"] = float(steps.min()) if len(steps) else np.nan
    for rule, wait in (pd.DataFrame(first) - start + 1).items():
        yield {
            "batches": number - start,
            "rule": rule,
            "alarmed": wait.notna().mean(),
            "median": wait.fillna(np.inf).median(),
        }


EXPERIMENTS = [
    Experiment(
        "online",
        dict(enumerate([(prior,) for prior in PRIORS], start=1)),
        truth_from_prior,
        lambda prior: intervals_of_three_masses(PRIORS[prior]),
        columns=("prior",),
        table="prior",
    ),
    Experiment(
        "online",
        dict(enumerate([(population,) for population in POPULATIONS], start=1)),
        fixed_truth,
        intervals_of_three_masses(DEFAULT_PRIOR),
        columns=("population",),
        table="fixed",
    ),
    Experiment(
        "online",
        dict(enumerate([(path,) for path in PATHS], start=1)),
        moving_recall,
        DRIFT_METHODS,
        columns=("path",),
        table="drift",
    ),
    Repeated(
        "run_length",
        dict(enumerate([(recall,) for recall in (HEALTHY_RECALL, 0.85, 0.8, 0.7)], start=1)),
        waiting_times,
        columns=("recall",),
        table="alarms",
    ),
    Repeated("run_length", HEALTHY, false_alarms, table="healthy"),
    Repeated("run_length", PASSING, after_changes, table="after"),
    Repeated("challengers", CHALLENGES, promotions),
    Repeated("binned_intervals", BINNED, binned_coverage),
    Repeated(
        "forecast_streams",
        HEALTHY_FORECASTS,
        partial(alarms_of_forecasts, drift=False),
        table="healthy",
    ),
    Repeated(
        "forecast_streams",
        DRIFTING_FORECASTS,
        partial(alarms_of_forecasts, drift=True),
        table="drifting",
    ),
    Repeated(
        "item_score_alarms",
        dict(enumerate(product(SCORES, (10, 20, 100)), start=1)),
        tails_of_means,
        columns=("population", "items"),
        table="tails",
    ),
    Repeated(
        "item_score_alarms",
        dict(enumerate(product(SCORES, (50,), (0.0,)), start=1)),
        item_score_streams,
        columns=("population", "items", "worst"),
        table="healthy",
    ),
    Repeated(
        "item_score_alarms",
        dict(enumerate(product(SCORES, (50,), (WORST_SHARE,)), start=1)),
        item_score_streams,
        columns=("population", "items", "worst"),
        table="worse",
    ),
]
