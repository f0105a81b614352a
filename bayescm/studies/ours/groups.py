"""
Coverage of the questions about groups: each interval against each true value.

Sites differ on the logit scale, as the model has it; items are asked several times and are mostly
easy or hard, each of one class. The true values are those of the population of groups, of the
typical group, the mean over the groups at hand, and a group not seen yet. An interval should hold
the true value of its own question. (Images of dependent pixels are in `bayescm.studies.thesis`.)
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.answers.interval import interval
from bayescm.direct import hierarchical_groups
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
QUESTIONS = ("population", "typical", "finite", "new")
# What is drawn; sites: number, mean size, spread; items: number, samples of each, beta parameters.
CASES: dict[int, tuple] = {
    1: ("sites", 6, 40, 0.5),
    2: ("sites", 15, 40, 1.0),
    3: ("sites", 12, 60, 1.5),
    4: ("items", 60, 8, 0.6, 0.3),
    5: ("items", 25, 8, 3.0, 1.5),
}
PREVALENCE = 0.4


def cells_of(recall: np.ndarray, specificity: np.ndarray) -> np.ndarray:
    """Return cell probabilities (..., 2, 2) of rates (...)."""
    rows = [
        [(1 - PREVALENCE) * specificity, (1 - PREVALENCE) * (1 - specificity)],
        [PREVALENCE * (1 - recall), PREVALENCE * recall],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def sites(
    rng: np.random.Generator, number: int, size: float, spread: float
) -> tuple[xr.DataArray, dict[str, float]]:
    """Return counts of sites of unequal sizes, and the true recall and F1 of every question."""
    centre = special.logit(rng.uniform([0.6, 0.7], [0.9, 0.95]))

    def rates(n):
        effects = spread * rng.standard_normal((n, 2))
        return cells_of(*special.expit(centre + effects).T)

    own = rates(number)
    sizes = np.maximum(rng.poisson(size * rng.gamma(2, 0.5, number)), 8)
    counts = [rng.multinomial(n, each.ravel()) for n, each in zip(sizes, own, strict=True)]
    middle = cells_of(*special.expit(centre))
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    average = special.expit(centre[:, None] + spread * nodes) @ (weights / weights.sum())
    whole = cells_of(*average)
    every = {"population": whole, "typical": middle, "new": rates(1)[0]}
    truth = {
        f"{name}, {question}": float(resolve(name)(every[question]))
        for name in ("recall", "f1")
        for question in every
    }
    truth |= {f"{name}, finite": float(resolve(name)(own).mean()) for name in ("recall", "f1")}
    return _counts(counts), truth


def items(
    rng: np.random.Generator, number: int, samples: int, a: float, b: float
) -> tuple[xr.DataArray, dict[str, float]]:
    """Return counts of items, each of one class and asked several times, and the true accuracy."""
    actual, shares = rng.random(number) < PREVALENCE, rng.beta(a, b, number)
    right = rng.binomial(samples, shares)
    counts = np.zeros((number, 2, 2), int)
    place = np.arange(number), actual.astype(int)
    counts[*place, actual.astype(int)] = right
    counts[*place, 1 - actual.astype(int)] = samples - right
    truth = {
        "population": a / (a + b),
        "typical": float(special.expit(special.digamma(a) - special.digamma(b))),
        "finite": float(shares.mean()),
        "new": float(rng.beta(a, b)),
    }
    return _counts(counts), {f"accuracy, {name}": value for name, value in truth.items()}


def _counts(cells):
    return from_matrix(np.asarray(cells).reshape(-1, 2, 2), positive=1, dims=("group",))


SOURCES: dict[str, Callable] = {"sites": sites, "items": items}
MEASURES = {"sites": ("recall", "f1"), "items": ("accuracy",)}


def answer(counts: xr.DataArray, *, of: str, kind: str) -> Mapping[str, Any]:
    """Return the 95% equal-tailed interval of one question, against each true value."""
    posterior = _explored(counts.values.tobytes(), counts.sizes["group"])
    rng = np.random.default_rng(0)
    drawn = posterior.draw([resolve(name) for name in MEASURES[kind]], 4000, rng, of=of)
    ends = [np.quantile(each, [0.025, 0.975]) for each in drawn]
    return _against_all(dict(zip(MEASURES[kind], ends, strict=True)))


def as_one_sample(counts: xr.DataArray, *, kind: str) -> Mapping[str, Any]:
    """Return the interval as if all examples were independent."""
    ends = {n: interval(counts.sum("group"), n, kind="eti").values for n in MEASURES[kind]}
    return _against_all(ends)


def _against_all(ends):
    return {f"{name}, {each}": ends[name] for name in ends for each in QUESTIONS}


@lru_cache(maxsize=1)
def _explored(cells, number):
    """Return the posterior of the groups, explored once for all the questions about it."""
    return hierarchical_groups(np.frombuffer(cells, int).reshape(number, 2, 2))


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 5, as in ``CASES``.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(4).name
    'groups items 60 8 0.6 0.3'
    """
    kind, *given = case_of(CASES, case)
    methods: dict[str, Callable] = {each: partial(answer, of=each, kind=kind) for each in QUESTIONS}
    methods["as one sample"] = partial(as_one_sample, kind=kind)
    name = " ".join(["groups", kind, *(f"{each:g}" for each in given)])
    return Study(name, lambda rng: SOURCES[kind](rng, *given), methods)


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return how often the interval of each question holds the true value of each question.

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
        As of `bayescm.simulation.coverage.run`; ``measure`` and ``truth_of`` are of the true value,
        ``method`` is the question that the interval answers.
    """
    check_choice("table", name, list(TABLES))
    frame = run_chosen(study, CASES, case, settings)
    words = [" ".join(map(str, CASES[number])) for number in frame["case"]]
    frame.insert(1, "drawn", words)
    both = frame["measure"].str.split(", ", expand=True)
    frame["measure"] = both[0]
    frame.insert(frame.columns.get_loc("measure") + 1, "truth_of", both[1])
    return frame
