"""
Coverage of calibration by site: each site's, the mean of the sites' and a new site's.

The forecasts' log odds at a site are normal with standard deviation 1.3 around a mean of its own.
What comes true has a level and a slope of each site, normal around theirs, which are new in every
data set: the mean level with standard deviation .3, the mean slope between .6 and 1.2. Sites differ
much in size.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from bayescm.answers.asking import answers_of
from bayescm.direct import calibration, hierarchical_calibration
from bayescm.evidence.scored.probabilities import from_probabilities
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

MEASURES = ("calibration_slope", "calibration_in_the_large", "brier")
TABLES = ("coverage",)
# Number of sites, their mean size, standard deviations of level and slope between them.
CASES: dict[int, tuple] = {
    1: (6, 150, 0.3, 0.15),
    2: (15, 100, 0.3, 0.15),
    3: (15, 100, 0.6, 0.3),
    4: (30, 60, 0.3, 0.0),
}
_CENTER, _SPREAD, _DRAWS, _MANY = -0.8, 1.3, 500, 2000
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


def truth_of(middle: np.ndarray, level: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    """Return the measures of sites with these means of the forecasts, levels and slopes, (G,)."""
    odds = middle[:, None] + _SPREAD * _NODES
    forecast, chance = expit(odds), expit(_true_odds(odds, level[:, None], slope[:, None]))
    weight = _WEIGHTS / _WEIGHTS.sum()
    squares = chance * (1 - forecast) ** 2 + (1 - chance) * forecast**2
    values = slope, (chance - forecast) @ weight, squares @ weight
    return dict(zip(MEASURES, values, strict=True))


def _true_odds(odds, level, slope):
    return odds + level + (slope - 1) * (odds - _CENTER)


def generate(
    rng: np.random.Generator, number: int, size: float, level: float, slope: float
) -> tuple[xr.Dataset, dict[str, float]]:
    """Return probabilities of sites, those of the smallest first, and the true measures."""
    means = rng.normal(0, 0.3), rng.uniform(0.6, 1.2)

    def sites(n):
        return (
            rng.normal(_CENTER, 0.3, n),
            rng.normal(means[0], level, n),
            rng.normal(means[1], slope, n),
        )

    middle, levels, slopes = sites(number)
    sizes = np.sort(np.maximum(rng.poisson(size * rng.gamma(2, 0.5, number)), 8))
    code = np.repeat(np.arange(number), sizes)
    odds = rng.normal(middle[code], _SPREAD)
    actual = rng.random(len(code)) < expit(_true_odds(odds, levels[code], slopes[code]))
    known = truth_of(middle, levels, slopes)
    every = {name: float(each.mean()) for name, each in truth_of(*sites(_MANY)).items()}
    new = {name: float(each[0]) for name, each in truth_of(*sites(1)).items()}
    truth = {f"{name}, population": value for name, value in every.items()}
    truth |= {f"{name}, new": value for name, value in new.items()}
    for where, place in _places(number).items():
        truth |= {f"{name}, {where}": float(known[name][place]) for name in MEASURES}
    evidence = from_probabilities(
        actual.astype(int), expit(odds), positive=1, labels=[0, 1], group=code
    )
    return evidence, truth


def _places(number):
    return {"smallest": 0, "middle": number // 2, "largest": number - 1}


def pooled(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% intervals with the sites partially pooled."""
    posterior = hierarchical_calibration(evidence)
    found: dict[str, Any] = {}
    for of in ("population", "new"):
        answers = answers_of(posterior, list(MEASURES), of=of, draws=_DRAWS)
        ends = {f"{name}, {of}": each.eti(0.95) for name, (each, _) in _named(answers)}
        found |= ends
    answers = answers_of(posterior.members("group"), list(MEASURES), draws=_DRAWS)
    for name, (each, _) in _named(answers):
        ends = each.eti(0.95)
        places = _places(len(ends)).items()
        found |= {f"{name}, {where}": ends[place] for where, place in places}
    return found


def one_sample(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the intervals as if all examples were of one site, for every question."""
    answers = answers_of(calibration(evidence.drop_vars("group")), list(MEASURES), draws=_DRAWS)
    places = ["population", "new", *_places(3)]
    ends = {name: each.eti(0.95) for name, (each, _) in _named(answers)}
    return {f"{name}, {where}": ends[name] for name in ends for where in places}


def _named(answers):
    return zip(MEASURES, answers, strict=True)


def study(case: int) -> Study:
    """
    Return one case of the table.

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
    'sites 6 150 0.3 0.15'
    """
    given = case_of(CASES, case)
    methods = {"pooled": pooled, "one sample": one_sample}
    name = " ".join(["sites", *(f"{each:g}" for each in given)])
    return Study(name, lambda rng: generate(rng, *given), methods)


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage of calibration by site, partially pooled and as one sample.

    Parameters
    ----------
    name : {"coverage"}
        There is one table.
    case : int, optional
        One case only; see `study`.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
        ``measure`` and ``truth_of`` are of the true value: that of the population of sites, of a
        new one, or of the smallest, the middle or the largest of those at hand.
    """
    check_choice("table", name, list(TABLES))
    columns = ("sites", "size", "level_sd", "slope_sd")
    frame = run_chosen(study, CASES, case, settings, columns=columns)
    both = frame["measure"].str.split(", ", expand=True)
    frame["measure"] = both[0]
    frame.insert(frame.columns.get_loc("measure") + 1, "truth_of", both[1])
    return frame
