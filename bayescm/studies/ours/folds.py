"""
Coverage of `hierarchical_folds` on the 27 cases of Wang & Li (2016), beside the pooled folds.

The cases, their classifiers and true values are those of `bayescm.studies.wang_li`, the measures
more: those of a whole matrix suffer first where a learner's threshold jumps.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.interval import interval
from bayescm.simulation.coverage import Study
from bayescm.studies.published import wang_li
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
MEASURES = ("precision", "recall", "specificity", "accuracy", "f1", "mcc")
# Table of the paper and the case there.
CASES = dict(
    enumerate(((t, each) for t, cases in wang_li.CASES.items() for each in cases), start=1)
)


def equal_tails(counts: xr.DataArray, *, model: str) -> Mapping[str, np.ndarray]:
    """Return the 95% equal-tailed intervals of all measures, by the model's own defaults."""
    found = interval(counts, list(MEASURES), kind="eti", model=model)
    return {name: found.sel(measure=name).values for name in MEASURES}


def study(case: int, data: str | None = None) -> Study:
    """
    Return a case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        A key of ``CASES``.
    data : str, optional
        Folder of the data files; those of Tables 7 to 10 are read.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(4).name
    'folds of wang-li table 5 case 1'
    """
    table, number = case_of(CASES, case)
    source = replace(wang_li.drawn(table, number, data), measures=MEASURES)
    methods = {
        model: partial(equal_tails, model=model) for model in ("hierarchical_folds", "pooled_folds")
    }
    name = f"folds of wang-li table {table} case {number}"
    return Study(name, source.generate, methods, source.truth)


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return coverage and length of the two models.

    Parameters
    ----------
    name : {"coverage"}
    case : int, optional
        One case only.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    DataFrame
        As of `bayescm.simulation.coverage.run`, with the paper's table and case in front.
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    build = partial(study, data=settings.data)
    return run_chosen(build, CASES, case, settings, columns=("paper_table", "paper_case"))
