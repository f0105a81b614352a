"""
Coverage of meta-regressions: slopes of covariates, the typical study, and what is left between.

Studies have a year, standard normal, and in some cases one of two tests; logits of sensitivity and
specificity are linear in them, with normal and correlated differences between studies around that.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import expit

from bayescm.answers.groups.heterogeneity import study_covariates
from bayescm.direct.hierarchical_groups import hierarchical_groups
from bayescm.evidence import from_cells
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import case_of, table_of

TABLES = ("coverage",)
_MEANS, _YEAR, _TEST = (1.2, 1.8), (0.5, -0.3), (-0.6, 0.4)
_RATES, _DRAWS = ("recall", "specificity"), 4000


class Setting(NamedTuple):
    """Studies, the least and the most ill and well examples, what differs, and the covariates."""

    studies: int
    sizes: tuple[int, int]
    spread: tuple[float, float]
    correlation: float
    tests: bool


CASES: dict[int, Setting] = {
    1: Setting(8, (20, 150), (0.4, 0.5), 0.0, False),
    2: Setting(20, (10, 100), (0.8, 0.6), -0.5, True),
}


def generate(rng: np.random.Generator, case: int) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return counts of one collection, with its covariates, and what is true of it."""
    setting = case_of(CASES, case)
    size, (a, b) = setting.studies, setting.spread
    year, test = rng.standard_normal(size), np.arange(size) % 2
    cross = setting.correlation * a * b
    off = rng.multivariate_normal([0, 0], [[a * a, cross], [cross, b * b]], size)
    logits = np.array(_MEANS) + np.outer(year, _YEAR) + off
    known = _named("typical", expit(_MEANS)) | _named("year", _YEAR) | _named("sd", setting.spread)
    if setting.tests:
        logits += np.outer(test, _TEST)
        known |= _named("test", _TEST)
    totals = rng.integers(setting.sizes[0], setting.sizes[1], (2, size))
    tp, tn = rng.binomial(totals, expit(logits).T)
    counts = from_cells(tp=tp, fn=totals[0] - tp, fp=totals[1] - tn, tn=tn).rename(batch="group")
    names = np.array(["a", "b"], object)[test]
    counts = counts.assign_coords(year=("group", year), test=("group", names))
    return counts, known


def _named(name, values):
    return {f"{name} {rate}": float(each) for rate, each in zip(_RATES, values, strict=True)}


def answer(counts: xr.DataArray, reference: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of everything that is known to be true."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of draws that are worth little
        posterior = hierarchical_groups(counts, covariates=study_covariates(counts, reference))
        drawn = posterior.variables(_DRAWS, np.random.default_rng(0))
    parts = {"typical": drawn["rates"], "sd": drawn["spread"], "year": drawn["slope"][:, 0]}
    if "test" in reference:
        parts["test"] = drawn["slope"][:, 1]
    return {
        f"{name} {rate}": np.quantile(each[:, place], [0.025, 0.975])
        for name, each in parts.items()
        for place, rate in enumerate(_RATES, start=1)
    }


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1: 8 studies and their year; 2: 20 studies, their year and one of two tests.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(2).name
    'meta-regression 2'
    """
    reference = {"year": 0.0} | ({"test": "a"} if case_of(CASES, case).tests else {})
    methods = {"posterior": partial(answer, reference=reference)}
    return Study(f"meta-regression {case}", partial(generate, case=case), methods)


table = table_of(study, CASES, columns=Setting._fields)
