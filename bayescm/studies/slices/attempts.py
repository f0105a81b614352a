"""
Coverage of pass@k and its relatives, of the items at hand and of all items like them.

Rates of items are beta, zero-inflated, or in lumps, which no beta distribution has. In case 16 two
systems answer the same items, whose difficulties correlate. From case 17 on the answers themselves
are known, and the majority is the plurality of them; no way in which the wrong ones are shared is
one that the model has, but that all differ.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr
from scipy.stats import beta

from bayescm.evidence.scored.attempts import from_attempts
from bayescm.measures.attempts import Rates
from bayescm.measures.catalogue import resolve
from bayescm.posterior.route import posterior_of
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
SIZES = ((30, 8), (164, 10), (500, 3))
_DRAWS, _CORRELATION = 1000, 0.7


def _zero(rng, size):
    return np.where(rng.random(size) < 0.4, 0.0, rng.beta(2, 2, size))


RATES: dict[str, Callable] = {
    "beta(.3, .5)": lambda rng, size: rng.beta(0.3, 0.5, size),
    "beta(2, 3)": lambda rng, size: rng.beta(2, 3, size),
    "40 % zeros": _zero,
    "lumps 0, 1, .05, .8": lambda rng, size: rng.choice([0, 1, 0.05, 0.8], size),
    "lumps .1, .5, .95": lambda rng, size: rng.choice([0.1, 0.5, 0.95], size, p=[0.5, 0.2, 0.3]),
}
CASES = dict(enumerate(((*size, rates) for size in SIZES for rates in RATES), start=1))
PAIRED = len(CASES) + 1
CASES[PAIRED] = (100, 8, "pairs")
_ZIPF = np.arange(1, 11) ** -1.5 / (np.arange(1, 11) ** -1.5).sum()  # half of them are one answer
# How the wrong answers to each item are shared; where all differ nothing is.
WRONG: dict[str, Callable] = {
    "all different": lambda rng, size: np.empty((size, 0)),
    "Zipf": lambda rng, size: np.tile(_ZIPF, (size, 1)),
    "Dirichlet": lambda rng, size: rng.dirichlet(np.full(6, 0.7), size),
}
_WITH_ANSWERS = "beta(2, 3)"  # in the middle, where it matters whom the wrong ones vote for
CASES |= dict(
    enumerate(
        ((*size, f"{_WITH_ANSWERS}, wrong answers {each}") for size in SIZES for each in WRONG),
        start=PAIRED + 1,
    )
)


def _measures(attempts):
    most = min(attempts, 8)
    names = [f"pass_at({most})", f"pass_all({most})", f"majority_at({min(most, 5)})"]
    return ["mean", *names, *(["pass_at(4)"] if most > 4 else [])]


def _values(names, rates):
    every = Rates(rates, np.full(len(rates), 1 / len(rates)))
    return {name: float(resolve(name)(every)) for name in names}


@lru_cache
def _population(kind, names):
    return _values(names, RATES[kind](np.random.default_rng(99), 1_000_000))


def generate(
    rng: np.random.Generator, items: int, attempts: int, kind: str
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return answers, and the true values of the items at hand and of all items."""
    names = tuple(_measures(attempts))
    rates = RATES[kind](rng, items)
    right = rng.random((items, attempts)) < rates[:, None]
    truth = {f"{name}, finite": each for name, each in _values(names, rates).items()}
    population = _population(kind, names)
    return from_attempts(right), truth | {f"{k}, population": v for k, v in population.items()}


def votes(rates: np.ndarray, shares: np.ndarray, k: int) -> np.ndarray:
    """
    Return the chance that the plurality of k answers to each item is right, ties by lot.

    Parameters
    ----------
    rates : ndarray, shape (I,)
    shares : ndarray, shape (I, W)
        Those of the wrong answers; where there are none all wrong answers differ.
    k : int

    Examples
    --------
    >>> votes(np.array([0.5]), np.array([[0.5, 0.5]]), 3).round(4)
    array([0.5625])
    """
    every = np.zeros(len(rates))
    for right in range(1, k + 1):
        wrong = k - right
        nodes, weights = np.polynomial.legendre.leggauss(wrong // right // 2 + 1)
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            worth = [node if each == right else 1.0 for each in range(min(right, wrong) + 1)]
            series = np.zeros((len(rates), wrong + 1))
            series[:, 0] = 1
            for own in ((1 - rates)[:, None] * shares).T:
                grown = np.zeros_like(series)
                for number, each in enumerate(worth):
                    term = each * own**number / factorial(number)
                    grown[:, number:] += series[:, : wrong + 1 - number] * term[:, None]
                series = grown
            if not shares.size:
                tied = node if right == 1 else 1.0
                series[:, -1] = ((1 - rates) * tied) ** wrong / factorial(wrong)
            every += weight * series[:, -1] * rates**right * factorial(k) / factorial(right)
    return every


def _majorities(attempts):
    return [3] if attempts == 3 else [3, 5, 8]


@lru_cache
def _of_all(kind, attempts):
    rng = np.random.default_rng(99)
    rates, shares = RATES[_WITH_ANSWERS](rng, 100_000), WRONG[kind](rng, 100_000)
    return {k: float(votes(rates, shares, k).mean()) for k in _majorities(attempts)}


def generate_answers(
    rng: np.random.Generator, items: int, attempts: int, kind: str
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return answers that are known themselves, and the true values of their pluralities."""
    rates, shares = RATES[_WITH_ANSWERS](rng, items), WRONG[kind](rng, items)
    edges = shares.cumsum(1)[:, None, :-1]
    which = 1 + (rng.random((items, attempts, 1)) > edges).sum(-1)
    wrong = which if shares.size else np.tile(np.arange(1, attempts + 1), (items, 1))
    answers = np.where(rng.random((items, attempts)) < rates[:, None], 0, wrong)
    truth = {
        f"majority_at({k}), finite": float(votes(rates, shares, k).mean())
        for k in _majorities(attempts)
    }
    every = {f"majority_at({k}), population": v for k, v in _of_all(kind, attempts).items()}
    return from_attempts(answers, truth=np.zeros(items)), truth | every


def generate_pairs(
    rng: np.random.Generator, items: int, attempts: int
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return answers of two systems of equal strength to the same items."""
    normal = rng.standard_normal((2, items))
    normal[1] = _CORRELATION * normal[0] + np.sqrt(1 - _CORRELATION**2) * normal[1]
    rates = beta(0.3, 0.5).ppf(ndtr(normal))
    right = rng.random((2, items, attempts)) < rates[..., None]
    evidence = from_attempts({"a": right[0], "b": right[1]})
    return evidence, {"mean, population": 0.0, "pass_at(4), population": 0.0}


def answer(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of all measures, both estimands."""
    names = _measures(evidence.sizes["attempt"])
    if "answer" in evidence:
        names = [f"majority_at({k})" for k in _majorities(evidence.sizes["attempt"])]
    posterior, found = posterior_of(evidence), {}
    for of in ("finite", "population"):
        drawn = posterior.draw(
            [resolve(each) for each in names], _DRAWS, np.random.default_rng(0), of=of
        )
        for name, values in zip(names, drawn, strict=True):
            found[f"{name}, {of}"] = np.quantile(values, [0.025, 0.975])
    return found


def difference(evidence: xr.Dataset, *, paired: bool) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the difference, paired or as of other items."""
    measures, rng = [resolve(each) for each in ("mean", "pass_at(4)")], np.random.default_rng(0)
    if paired:
        drawn = posterior_of(evidence).draw(measures, _DRAWS, rng)
        parts = [(values[:, 0], values[:, 1]) for values in drawn]
    else:
        each = [evidence.sel(classifier=[name]) for name in ("a", "b")]
        both = [posterior_of(one).draw(measures, _DRAWS, rng) for one in each]
        parts = [(one[:, 0], two[:, 0]) for one, two in zip(*both, strict=True)]
    ends = [np.quantile(one - two, [0.025, 0.975]) for one, two in parts]
    return dict(zip(("mean, population", "pass_at(4), population"), ends, strict=True))


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 15: five kinds of items, for each of three sizes; 16: two systems; 17 to 25: answers
        known themselves, three ways to be wrong for each of three sizes.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(2).name
    'attempts 30 8 beta(2, 3)'
    """
    items, attempts, kind = case_of(CASES, case)
    name = f"attempts {items} {attempts} {kind}"
    if case == PAIRED:
        methods = {
            name: partial(difference, paired=name == "paired") for name in ("paired", "apart")
        }
        return Study(name, partial(generate_pairs, items=items, attempts=attempts), methods)
    if case > PAIRED:
        *_, kind = kind.rpartition("answers ")
        made = partial(generate_answers, items=items, attempts=attempts, kind=kind)
        return Study(name, made, {"plurality": answer})
    made = partial(generate, items=items, attempts=attempts, kind=kind)
    return Study(name, made, {"repeated_items": answer})


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage and the length of intervals of pass@k and its relatives.

    Parameters
    ----------
    name : {"coverage"}
    case : int, optional
        One case only; see `study`.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
        As of `bayescm.simulation.coverage.run`, with the case in columns in front and ``of``.
    """
    check_choice("table", name, list(TABLES))
    frame = run_chosen(study, CASES, case, settings, columns=("items", "attempts", "rates"))
    both = frame["measure"].str.rsplit(", ", n=1, expand=True)
    frame["measure"] = both[0]
    frame.insert(frame.columns.get_loc("measure") + 1, "of", both[1])
    return frame
