"""
Coverage of the models of a design: class totals fixed, groups.

Each case draws from the population that its model is for, with parameters far from the edges of
the prior, and asks how often the 95% equal-tailed interval holds the true value. Beside it stands
the plain model, which does not know of the design.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.answers.interval import interval
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Method, Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
MEASURES = {
    "fixed_totals": ("precision", "recall", "f1", "mcc"),
    "hierarchical_groups": ("recall", "specificity"),
}
# Model, and what is drawn: class totals; number of groups, their size, their spread.
CASES = {
    1: ("fixed_totals", (25, 25)),
    2: ("fixed_totals", (100, 20)),
    3: ("hierarchical_groups", (6, 40, 0.5)),
    4: ("hierarchical_groups", (15, 40, 1.0)),
}


def fixed_totals(
    rng: np.random.Generator, negatives: int, positives: int
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return the counts of a test set with these class totals, and the true measures."""
    totals = np.array([negatives, positives])
    right = rng.uniform([0.75, 0.6], [0.95, 0.9])
    rates = np.array([[right[0], 1 - right[0]], [1 - right[1], right[1]]])
    counts = np.stack([rng.multinomial(n, row) for n, row in zip(totals, rates, strict=True)])
    cells = rates * (totals / totals.sum())[:, None]
    truth = {name: float(resolve(name)(cells)) for name in MEASURES["fixed_totals"]}
    return from_matrix(counts, positive=1), truth


def groups(
    rng: np.random.Generator, number: int, size: int, spread: float
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return the counts of groups, and the rates of the typical group."""
    centre = rng.uniform([0.7, 0.6], [0.95, 0.9])
    rates = special.expit(special.logit(centre) + spread * rng.standard_normal((number, 2)))
    positives = rng.binomial(size, 0.4, number)
    right = rng.binomial(np.stack([size - positives, positives], axis=1), rates)
    tn, tp = right.T
    cells = np.stack([tn, size - positives - tn, positives - tp, tp], axis=1)
    counts = from_matrix(cells.reshape(-1, 2, 2), positive=1).rename(batch="group")
    return counts, {"recall": float(centre[1]), "specificity": float(centre[0])}


SOURCES: dict[str, Callable] = {
    "fixed_totals": fixed_totals,
    "hierarchical_groups": groups,
}


def equal_tails(counts: xr.DataArray, *, model: str, like: str) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals by a model, of the measures of the design's own."""
    if model == "dirichlet_multinomial" and "group" in counts.dims:
        counts = counts.sum("group")
    names, of = MEASURES[like], "typical" if model == "hierarchical_groups" else "parameter"
    ends = (interval(counts, name, kind="eti", model=model, of=of) for name in names)
    return dict(zip(names, (each.values for each in ends), strict=True))


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 4, as in ``CASES``.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(1).name
    'designs fixed_totals 25 25'
    """
    model, given = case_of(CASES, case)
    methods: dict[str, Method] = {
        name: partial(equal_tails, model=name, like=model)
        for name in (model, "dirichlet_multinomial")
    }
    name = " ".join(["designs", model, *(f"{each:g}" for each in given)])
    return Study(name, lambda rng: SOURCES[model](rng, *given), methods)


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage of the models of a design, beside that of the plain one.

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
    """
    check_choice("table", name, list(TABLES))
    frame = run_chosen(study, CASES, case, settings)
    frame.insert(1, "model", [CASES[number][0] for number in frame["case"]])
    words = [" ".join(f"{each:g}" for each in CASES[number][1]) for number in frame["case"]]
    frame.insert(2, "drawn", words)
    return frame
