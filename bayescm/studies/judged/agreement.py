"""
Coverage of intervals of agreement: kappa, AC1 and alpha of raters whose errors are known.

The truth is that of the population: how probable each combination of labels is, exactly.
"""

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.raters.agreement import agreement
from bayescm.evidence.judged.raters import tabulated
from bayescm.measures.agreement import EVERY, Labelled
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
_OF_TWO = ("agreement", "cohen_kappa", "gwet_ac1", "krippendorff_alpha")
_OF_MORE = ("agreement", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha")


class Setting(NamedTuple):
    """How common the classes are, how often each rater is right, and the number of examples."""

    shares: str
    right: str
    n: int


CASES = {
    1: Setting("0.5 0.5", "0.85 0.85", 50),
    2: Setting("0.9 0.1", "0.9 0.85", 50),
    3: Setting("0.9 0.1", "0.9 0.85", 200),
    4: Setting("0.7 0.3", "0.9 0.8 0.75", 50),
    5: Setting("0.5 0.3 0.2", "0.85 0.8 0.7", 100),
    6: Setting("0.4 0.3 0.2 0.1", "0.8 0.75", 100),
    7: Setting("0.95 0.05", "0.98 0.95 0.97", 100),
    8: Setting("0.6 0.4", "0.9 0.85 0.8 0.75 0.7", 30),
}


def _numbers(text):
    return np.array(list(map(float, text.split())))


def _chances(setting):
    """Return the probability (C, ..., C) of every combination of the raters' labels."""
    shares, right = _numbers(setting.shares), _numbers(setting.right)
    size = len(shares)
    found = np.zeros((size,) * len(right))
    for truth, share in enumerate(shares):
        joint = np.array(share)
        for each in right:
            said = np.full(size, (1 - each) / (size - 1))
            said[truth] = each
            joint = np.multiply.outer(joint, said)
        found += joint
    return found


def _names(setting):
    return _OF_TWO if len(_numbers(setting.right)) == 2 else _OF_MORE


def generate(rng: np.random.Generator, case: int) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return ratings, and the agreement of the population."""
    setting = case_of(CASES, case)
    chances = _chances(setting)
    kinds = np.array(list(product(range(chances.shape[0]), repeat=chances.ndim)))
    votes = np.eye(chances.shape[0])[kinds].swapaxes(0, 1)  # (R, P, C)
    population = Labelled(votes, chances.ravel())
    drawn = kinds[rng.choice(len(kinds), setting.n, p=chances.ravel())]
    said = {f"r{place}": column for place, column in enumerate(drawn.T)}
    evidence = tabulated(said, labels=list(range(chances.shape[0])))
    return evidence, {name: float(EVERY[name](population)) for name in _names(setting)}


def answer(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the 95% highest-density intervals of the agreement of all raters together."""
    names = list(_OF_TWO if evidence.sizes["classifier"] == 2 else _OF_MORE)
    found = agreement(evidence, names, pairs=False)
    ends = found[["lower", "upper"]].to_numpy(float)
    return dict(zip(found["measure"], ends, strict=True))


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 8, as in ``CASES``.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(4).name
    'agreement 4'
    """
    return Study(f"agreement {case}", partial(generate, case=case), {"agreement": answer})


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage and the length of intervals of agreement.

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
        A row for each case and measure.
    """
    check_choice("table", name, list(TABLES))
    return run_chosen(study, CASES, case, settings, columns=Setting._fields)
