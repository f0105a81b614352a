"""
Coverage of what raters are worth against a truth that nobody has seen.

Raters are given by recall and specificity and err independently given the truth. Of each the
measures are his own; a row averages over the raters.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.direct.noisy_labels import noisy_labels
from bayescm.evidence import from_raters
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
_NAMES = ("prevalence", "recall", "specificity", "f1")
_DRAWS = 4000
# Prevalence, raters (recall/specificity), examples, and how many have a gold label.
CASES: dict[int, tuple] = {
    1: (0.3, "0.8/0.9 0.85/0.85 0.75/0.95", 200, 0),
    2: (0.3, "0.8/0.9 0.85/0.85 0.75/0.95 0.9/0.8", 200, 0),
    3: (0.5, "0.7/0.8 0.8/0.8 0.75/0.7 0.9/0.85 0.8/0.9", 300, 0),
    4: (0.2, "0.8/0.9 0.7/0.95", 300, 60),
    5: (0.3, "0.7/0.75 0.75/0.7 0.7/0.8 0.8/0.7", 200, 0),
}


def _rates(text):
    return [tuple(map(float, each.split("/"))) for each in text.split()]


def generate(rng: np.random.Generator, case: int) -> tuple[xr.Dataset, Mapping[str, Any]]:
    """Return ratings, and each rater's true measures."""
    prevalence, raters, size, gold = case_of(CASES, case)
    truth = (rng.random(size) < prevalence).astype(int)
    said: dict[str, Any] = {}
    known: dict[str, float] = {}
    for place, (recall, specificity) in enumerate(_rates(raters)):
        right = rng.random(size) < np.where(truth == 1, recall, specificity)
        said[f"r{place}"] = np.where(right, truth, 1 - truth)
        rates = np.array([[specificity, 1 - specificity], [1 - recall, recall]])
        cells = np.array([[1 - prevalence], [prevalence]]) * rates
        known |= {f"{name} {place}": float(resolve(name)(cells)) for name in _NAMES}
    labels = [int(each) if place < gold else None for place, each in enumerate(truth)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of three raters
        evidence = from_raters(said, gold=labels if gold else None)
    return evidence, known


def answer(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of every rater's measures."""
    measures, rng = [resolve(name) for name in _NAMES], np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of draws that are worth little
        drawn = noisy_labels(evidence).draw(measures, _DRAWS, rng)
    ends = [np.nanquantile(each, [0.025, 0.975], axis=0) for each in drawn]
    return {
        f"{name} {place}": each[:, place]
        for name, each in zip(_NAMES, ends, strict=True)
        for place in range(each.shape[1])
    }


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 5.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(4).name
    'raters 4'
    """
    return Study(f"raters {case}", partial(generate, case=case), {"noisy_labels": answer})


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage and the length of intervals of raters' measures.

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
        A row for each case and measure: ``doc`` and ``il`` are means over the raters.
    """
    check_choice("table", name, list(TABLES))
    columns = ("prevalence", "raters", "n", "gold")
    frame = run_chosen(study, CASES, case, settings, columns=columns)
    frame["measure"] = frame["measure"].str.rsplit(" ", n=1).str[0]
    keys = ["case", *columns, "measure", "replications", "seed", "version"]
    keys = [each for each in keys if each in frame]
    return frame.groupby(keys, sort=False, as_index=False)[["doc", "il"]].mean()
