"""Coverage for repeated attempts: pass@k and similar measures of observed items and populations."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from itertools import product
from math import factorial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr
from scipy.stats import beta

from bayescm.distributions.empirical import Empirical
from bayescm.evidence.attempts import from_attempts
from bayescm.fitting.posterior_for import posterior_of
from bayescm.measures.attempts import ItemAnswers, Rates
from bayescm.measures.catalogue import resolve
from bayescm.posteriors.repeated_items import (
    COMPONENTS,
    Items,
    draw_mixtures,
    equal_items,
    prior_shares,
)
from bayescm.simulation import Experiment, Repeated, Replications, summarize

SIZES = ((30, 8), (164, 10), (500, 3))
DRAWS = 1000

# Table "successes". The success rates of items are sampled from a beta, a zero-inflated or a
# discrete distribution. Attempts are only recorded as right or wrong, so that a majority vote
# treats all wrong answers as different. The true values are measures of the observed items and of
# the population.


class RateSetting(NamedTuple):
    """Number of items, attempts per item, and the distribution of the success rates."""

    items: int
    attempts: int
    rates: str


def zero_inflated(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return success rates, 40% of which are 0."""
    return np.where(rng.random(size) < 0.4, 0.0, rng.beta(2, 2, size))


RATES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "beta(.3, .5)": lambda rng, size: rng.beta(0.3, 0.5, size),
    "beta(2, 3)": lambda rng, size: rng.beta(2, 3, size),
    "40 % zeros": zero_inflated,
    "lumps 0, 1, .05, .8": lambda rng, size: rng.choice([0, 1, 0.05, 0.8], size),
    "lumps .1, .5, .95": lambda rng, size: rng.choice([0.1, 0.5, 0.95], size, p=[0.5, 0.2, 0.3]),
}
ITEMS = {
    case: RateSetting(*size, rates)
    for case, (size, rates) in enumerate(product(SIZES, RATES), start=1)
}


def success_measures(attempts: int) -> tuple[str, ...]:
    """Return the measures for a given number of attempts per item."""
    most = min(attempts, 8)
    measures = ("mean", f"pass_at({most})", f"pass_all({most})", f"majority_at({min(most, 5)})")
    return measures + (("pass_at(4)",) if most > 4 else ())


def successes(
    rng: np.random.Generator, items: int, attempts: int, rates: str
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return attempts, and the true values for the observed items and for the population."""
    measures = success_measures(attempts)
    p = RATES[rates](rng, items)
    right = rng.random((items, attempts)) < p[:, None]
    truth = _with_estimand("finite", _values(measures, p))
    return from_attempts(right), truth | _with_estimand("population", _limits(measures, rates))


def _values(measures, p):
    items = Rates(p, np.full(len(p), 1 / len(p)))
    return {name: float(resolve(name, "attempts")(items)) for name in measures}


@lru_cache
def _limits(measures, rates):
    """Return the population values, from a million items."""
    return _values(measures, RATES[rates](np.random.default_rng(99), 1_000_000))


def _with_estimand(of, values):
    return {f"{name}, {of}": value for name, value in values.items()}


def success_intervals(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of all measures, for both estimands."""
    return _intervals(evidence, success_measures(evidence.sizes["attempt"]))


def _intervals(evidence, measures):
    posterior, kernels = posterior_of(evidence), [resolve(name) for name in measures]
    rng, intervals = np.random.default_rng(0), {}
    mixtures = posterior.mixtures(DRAWS, rng, votes=posterior.counts_votes(kernels))
    for of in ("finite", "population"):
        rates = posterior.rates(mixtures, of, rng)
        for name, kernel in zip(measures, kernels, strict=True):
            intervals[f"{name}, {of}"] = np.quantile(kernel(rates)[:, 0], [0.025, 0.975])
    return intervals


# Table "many". There are up to 1,000 attempts per item. Success rates are small, widely spread, in
# a narrow range, all equal, or 0 or 1. Many data sets are sampled at once. The draws are the draws
# of `bayescm.posteriors.repeated_items`, but with fewer chains.


class ManySetting(NamedTuple):
    """Number of items, attempts per item, and the distribution of the success rates."""

    items: int
    attempts: int | str
    rates: str


MANY_RATES: dict[str, Callable[[np.random.Generator, Any], np.ndarray]] = {
    "beta(1, 99)": lambda rng, size: rng.beta(1, 99, size),
    "beta(.3, .5)": lambda rng, size: rng.beta(0.3, 0.5, size),
    "uniform(.2, .4)": lambda rng, size: rng.uniform(0.2, 0.4, size),
    "all .005": lambda rng, size: np.full(size, 0.005),
    "lumps 0, 1": lambda rng, size: rng.choice([0.0, 1.0], size),
}
UNEQUAL = "10 to 400"
MANY = {
    case: ManySetting(items, attempts, rates)
    for case, (attempts, items, rates) in enumerate(
        product((2, 10, 200, 1000, UNEQUAL), (10, 30, 164), MANY_RATES), start=1
    )
}
MANY_MEASURES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mean": lambda p: p,
    "pass_at(10)": lambda p: 1 - (1 - p) ** 10,
}
MANY_DRAWS, MANY_CHAINS, AT_ONCE = 400, 20, 25


def many_attempts(
    replications: Replications, items: int, attempts: int | str, rates: str
) -> pd.DataFrame:
    """
    Return the coverage of 95% equal-tailed and highest-density intervals.

    The columns ``successes`` and ``failures`` are the mean numbers of attempts per data set.
    """
    rng, records = replications.generator(), []
    limit = MANY_RATES[rates](np.random.default_rng(99), 1_000_000)
    measures = dict(list(MANY_MEASURES.items())[: 1 if attempts == 2 else 2])
    for start in range(0, replications.number, AT_ONCE):
        size = (min(AT_ONCE, replications.number - start), items)
        p = MANY_RATES[rates](rng, size)
        number = rng.integers(10, 401, size) if attempts == UNEQUAL else np.full(size, attempts)
        right = rng.binomial(number, p)
        kinds = [
            equal_items(Items(row.astype(float), made.astype(float), np.ones(items, int)))
            for row, made in zip(right, number, strict=True)
        ]
        prior = prior_shares(COMPONENTS)
        drawn = draw_mixtures(kinds, prior, MANY_DRAWS, rng, chains=MANY_CHAINS)
        for (name, measure), of in product(measures.items(), ("finite", "population")):
            weight = drawn.share if of == "finite" else drawn.weight
            draws = Empirical((weight * measure(drawn.rate)).sum(axis=-1))
            truth = (
                measure(p).mean(axis=1)
                if of == "finite"
                else np.full(size[0], measure(limit).mean())
            )
            for kind in ("eti", "hdi"):
                ends, _ = draws.interval_with_error(0.95, kind)
                # An interval that ends at 0 or 1 contains this rate in spite of rounding.
                bounds = zip(ends[..., 0] - 1e-12, ends[..., 1] + 1e-12, truth, strict=True)
                records.extend(
                    {
                        "replication": start + row,
                        "measure": f"{name}, {of}",
                        "method": kind,
                        "truth": value,
                        "lower": lower,
                        "upper": upper,
                        "successes": right[row].sum(),
                        "failures": (number[row] - right[row]).sum(),
                    }
                    for row, (lower, upper, value) in enumerate(bounds)
                )
    table = pd.DataFrame(records)
    totals = table[["successes", "failures"]].mean()
    return summarize(table).assign(successes=totals["successes"], failures=totals["failures"])


# Table "runs". The true values are the measures of one further run on the same items, with the same
# number of attempts or with a single attempt. Two measures refer to the population: the flip rate
# (the probability that two answers to an item differ), and the share of variance between items.

RUN_SIZES = ((10, 3), (30, 2), (30, 8), (164, 4))
RUN_RATES = ("beta(.3, .5)", "beta(2, 3)", "lumps 0, 1, .05, .8")
RUNS = {
    case: RateSetting(*size, rates)
    for case, (size, rates) in enumerate(product(RUN_SIZES, RUN_RATES), start=1)
}
OF_RUNS, OF_ITEMS = ("mean", "pass_at(2)", "flip_rate"), ("flip_rate", "variance_share_between")


def further_run(
    rng: np.random.Generator, items: int, attempts: int, rates: str
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return attempts, the measures of further runs, and the measures of the population."""
    p = RATES[rates](rng, items)
    right = rng.random((items, attempts)) < p[:, None]
    number = np.full(items, attempts)
    run = ItemAnswers(rng.binomial(attempts, p), number)
    truth = {f"{name}, next run": _of_run(name, run) for name in OF_RUNS}
    one = ItemAnswers(rng.binomial(1, p), np.ones(items, int))
    truth["mean, next run of one attempt"] = _of_run("mean", one)
    return from_attempts(right), truth | _with_estimand("population", _limits(OF_ITEMS, rates))


def _of_run(name, answers):
    return float(resolve(name).form.of_sample(answers))


def run_intervals(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the measures of further runs and the population."""
    posterior, rng, ends = posterior_of(evidence), np.random.default_rng(0), {}
    asked = [
        (OF_RUNS, "predictive", None, "next run"),
        (("mean",), "predictive", 1, "next run of one attempt"),
        (OF_ITEMS, "population", None, "population"),
    ]
    for names, of, n, label in asked:
        measures = [resolve(name) for name in names]
        drawn = posterior.draw(measures, DRAWS, rng, of=of, n=n)
        for name, values in zip(names, drawn, strict=True):
            lower, upper = np.quantile(values, [0.025, 0.975])
            # The measure of a run is discrete, so that ends must include their own values.
            ends[f"{name}, {label}"] = np.array([lower - 1e-12, upper + 1e-12])
    return ends


# Table "paired". Two equally good systems attempt the same items. Their success rates have a normal
# copula. The true difference is 0. Intervals of the difference use the pairs ("paired"), or treat
# the systems as if they had attempted different items ("apart").

PAIRED = {1: (100, 8, 0.7)}
DIFFERENCES = ("mean", "pass_at(4)")


def successes_of_two(
    rng: np.random.Generator, items: int, attempts: int, correlation: float
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return attempts of two systems, and the true differences, which are 0."""
    normal = rng.standard_normal((2, items))
    normal[1] = correlation * normal[0] + np.sqrt(1 - correlation**2) * normal[1]
    rates = beta(0.3, 0.5).ppf(ndtr(normal))
    right = rng.random((2, items, attempts)) < rates[..., None]
    evidence = from_attempts({"a": right[0], "b": right[1]})
    return evidence, _with_estimand("population", dict.fromkeys(DIFFERENCES, 0.0))


def difference_intervals(evidence: xr.Dataset, *, paired: bool) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the differences."""
    measures, rng = [resolve(name) for name in DIFFERENCES], np.random.default_rng(0)
    if paired:
        draws = posterior_of(evidence).draw(measures, DRAWS, rng)
        pairs = [(values[:, 0], values[:, 1]) for values in draws]
    else:
        systems = [evidence.sel(classifier=[name]) for name in ("a", "b")]
        first, second = (posterior_of(system).draw(measures, DRAWS, rng) for system in systems)
        pairs = [(one[:, 0], two[:, 0]) for one, two in zip(first, second, strict=True)]
    ends = [np.quantile(one - two, [0.025, 0.975]) for one, two in pairs]
    return _with_estimand("population", dict(zip(DIFFERENCES, ends, strict=True)))


# Table "answers". The answers themselves are recorded, and the measure is the plurality vote, with
# ties broken at random. Success rates are beta(2, 3): for intermediate rates, the result depends on
# the distribution of wrong answers. Only "all different" matches the assumption of the model.


class AnswerSetting(NamedTuple):
    """Number of items, attempts per item, and the distribution of the wrong answers to an item."""

    items: int
    attempts: int
    wrong: str


ZIPF = np.arange(1, 11) ** -1.5 / (np.arange(1, 11) ** -1.5).sum()  # one answer has half the mass
# Probabilities of the wrong answers to each item (items, answers), empty if all differ.
WRONG: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "all different": lambda rng, size: np.empty((size, 0)),
    "Zipf": lambda rng, size: np.tile(ZIPF, (size, 1)),
    "Dirichlet": lambda rng, size: rng.dirichlet(np.full(6, 0.7), size),
}
ANSWERS = {
    case: AnswerSetting(*size, wrong)
    for case, (size, wrong) in enumerate(product(SIZES, WRONG), start=1)
}


def plurality_sizes(attempts: int) -> list[int]:
    """Return the numbers of answers in a plurality vote."""
    return [3] if attempts == 3 else [3, 5, 8]


def answers(
    rng: np.random.Generator, items: int, attempts: int, wrong: str
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return answers, and the true probabilities that plurality votes are right.

    These refer to the observed items and to the population.
    """
    rates, shares = RATES["beta(2, 3)"](rng, items), WRONG[wrong](rng, items)
    edges = shares.cumsum(1)[:, None, :-1]
    category = 1 + (rng.random((items, attempts, 1)) > edges).sum(-1)
    if not shares.size:
        category = np.tile(np.arange(1, attempts + 1), (items, 1))
    labels = np.where(rng.random((items, attempts)) < rates[:, None], 0, category)
    truth = {
        f"majority_at({k}), finite": float(chance_of_plurality(rates, shares, k).mean())
        for k in plurality_sizes(attempts)
    }
    return from_attempts(labels, truth=np.zeros(items)), truth | _plurality_limits(wrong, attempts)


@lru_cache
def _plurality_limits(wrong, attempts):
    """Return the population values, from a hundred thousand items."""
    rng = np.random.default_rng(99)
    rates, shares = RATES["beta(2, 3)"](rng, 100_000), WRONG[wrong](rng, 100_000)
    return {
        f"majority_at({k}), population": float(chance_of_plurality(rates, shares, k).mean())
        for k in plurality_sizes(attempts)
    }


def chance_of_plurality(rates: np.ndarray, shares: np.ndarray, k: int) -> np.ndarray:
    """
    Return the probability that the plurality vote of k answers to each item is right.

    Ties are broken at random. Given the number `right` of right answers, the probability is a sum
    over all multinomial counts of wrong answers, none of them above `right`. Each term is the
    probability of the counts, divided by one plus the number of ties. The division is computed as
    an integral of a power of x, with the number of ties as exponent. The sum is a coefficient of a
    product of truncated exponential series.

    Parameters
    ----------
    rates : ndarray, shape (I,)
        Success rate of each item.
    shares : ndarray, shape (I, W)
        Probabilities of the wrong answers, given that the answer is wrong. If empty, all wrong
        answers differ.
    k : int
        Number of answers in the vote.

    Examples
    --------
    >>> chance_of_plurality(np.array([0.5]), np.array([[0.5, 0.5]]), 3).round(4)
    array([0.5625])
    """
    chance = np.zeros(len(rates))
    for right in range(1, k + 1):
        wrong = k - right
        nodes, weights = np.polynomial.legendre.leggauss(wrong // right // 2 + 1)
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            series = np.zeros((len(rates), wrong + 1))
            series[:, 0] = 1
            for rate in ((1 - rates)[:, None] * shares).T:
                product_of_series = np.zeros_like(series)
                for count in range(min(right, wrong) + 1):
                    tie = node if count == right else 1.0
                    term = tie * rate**count / factorial(count)
                    product_of_series[:, count:] += series[:, : wrong + 1 - count] * term[:, None]
                series = product_of_series
            if not shares.size:
                tie = node if right == 1 else 1.0
                series[:, -1] = ((1 - rates) * tie) ** wrong / factorial(wrong)
            chance += weight * series[:, -1] * rates**right * factorial(k) / factorial(right)
    return chance


def plurality_intervals(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the plurality votes, for both estimands."""
    sizes = plurality_sizes(evidence.sizes["attempt"])
    return _intervals(evidence, [f"majority_at({k})" for k in sizes])


EXPERIMENTS = [
    Experiment(
        "attempts", ITEMS, successes, {"repeated_items": success_intervals}, table="successes"
    ),
    Experiment(
        "attempts",
        PAIRED,
        successes_of_two,
        {
            "paired": partial(difference_intervals, paired=True),
            "apart": partial(difference_intervals, paired=False),
        },
        columns=("items", "attempts", "correlation"),
        table="paired",
    ),
    Repeated("attempts", MANY, many_attempts, table="many"),
    Experiment("attempts", RUNS, further_run, {"repeated_items": run_intervals}, table="runs"),
    Experiment("attempts", ANSWERS, answers, {"plurality": plurality_intervals}, table="answers"),
]
