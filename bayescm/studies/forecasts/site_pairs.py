"""
Coverage of the difference between two classifiers whose probabilities are on the same sites.

What comes true is as in `bayescm.studies.forecasts.sites`. The forecasts of both classifiers are
the log odds of the examples, each with errors of its own, those of the second also stretched and
shifted. Beside the pairs stand the same draws in an order by chance, and one sample of all sites.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from bayescm.direct import calibration, hierarchical_calibration
from bayescm.evidence.scored.probabilities import from_probabilities
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

MEASURES = ("brier", "log_loss", "calibration_in_the_large")
METHODS = ("paired", "apart", "one sample")
TABLES = ("coverage",)
# Number of sites, their mean size, standard deviations of level and slope between them; standard
# deviation of the first classifier's errors; shift, stretch and errors of the second.
CASES: dict[int, tuple] = {
    1: (6, 150, 0.3, 0.15, 0.0, 0.0, 1.0, 0.5),
    2: (15, 100, 0.3, 0.15, 0.3, 0.1, 0.9, 0.5),
    3: (15, 100, 0.6, 0.3, 0.0, 0.0, 0.7, 0.0),
    4: (15, 100, 0.3, 0.15, 0.4, 0.0, 1.0, 0.4),
    5: (6, 150, 0.6, 0.3, 0.4, 0.0, 1.0, 0.4),
    6: (30, 60, 0.3, 0.0, 0.2, -0.1, 1.2, 0.2),
}
_CENTER, _SPREAD, _DRAWS, _MANY = -0.8, 1.3, 600, 2000
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
_MASS = (_WEIGHTS / _WEIGHTS.sum())[:, None] * _WEIGHTS / _WEIGHTS.sum()


def _truth_of(sites, shift, stretch, error):
    """Return the means over sites of the measures of one classifier."""
    middle, level, slope = (each[:, None, None] for each in sites)
    odds = middle + _SPREAD * _NODES[:, None]
    chance = expit(odds + level + (slope - 1) * (odds - _CENTER))
    forecast = expit(shift + stretch * odds + error * _NODES)
    logs = -chance * np.log(forecast) - (1 - chance) * np.log1p(-forecast)
    squares = chance * (1 - forecast) ** 2 + (1 - chance) * forecast**2
    values = squares, logs, chance - forecast
    return np.array([float((each * _MASS).sum((1, 2)).mean()) for each in values])


def generate(rng: np.random.Generator, *case: float) -> tuple[xr.Dataset, dict[str, float]]:
    """Return probabilities of two classifiers and the true differences, of all and these sites."""
    number, size, level, slope, error, shift, stretch, other = case
    means = rng.normal(0, 0.3), rng.uniform(0.6, 1.2)

    def sites(n):
        return (
            rng.normal(_CENTER, 0.3, n),
            rng.normal(means[0], level, n),
            rng.normal(means[1], slope, n),
        )

    known, every = sites(int(number)), sites(_MANY)
    middle, levels, slopes = known
    sizes = np.maximum(rng.poisson(size * rng.gamma(2, 0.5, int(number))), 8)
    code = np.repeat(np.arange(int(number)), sizes)
    odds = rng.normal(middle[code], _SPREAD)
    chance = expit(odds + levels[code] + (slopes[code] - 1) * (odds - _CENTER))
    actual = (rng.random(len(code)) < chance).astype(int)
    first = odds + error * rng.standard_normal(len(odds))
    second = shift + stretch * odds + other * rng.standard_normal(len(odds))
    evidence = from_probabilities(
        actual, {"a": expit(first), "b": expit(second)}, positive=1, labels=[0, 1], group=code
    )
    truth: dict[str, float] = {}
    for of, those in (("population", every), ("finite", known)):
        apart = _truth_of(those, 0, 1, error) - _truth_of(those, shift, stretch, other)
        for name, value in zip(MEASURES, apart, strict=True):
            truth |= {f"{name}, {of}, {method}": float(value) for method in METHODS}
    return evidence, truth


def answer(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% intervals: pairs, classifiers taken apart, and all examples as of one site."""
    by_site, pooled = hierarchical_calibration(evidence), calibration(evidence.drop_vars("group"))
    measures, rng = [resolve(name) for name in MEASURES], np.random.default_rng(0)
    as_one, found = pooled.draw(measures, _DRAWS, rng), {}
    for of in ("population", "finite"):
        drawn = by_site.draw(measures, _DRAWS, rng, of=of)
        for name, ours, whole in zip(MEASURES, drawn, as_one, strict=True):
            others = ours[:, 1], rng.permutation(ours[:, 1])
            apart = [ours[:, 0] - each for each in others] + [whole[:, 0] - whole[:, 1]]
            for method, each in zip(METHODS, apart, strict=True):
                found[f"{name}, {of}, {method}"] = np.quantile(each, [0.025, 0.975])
    return found


def study(case: int) -> Study:
    """
    Return one case of the table.

    Parameters
    ----------
    case : int
        1 to 6, as in ``CASES``.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(1).name
    'site pairs 1'
    """
    given = case_of(CASES, case)
    return Study(f"site pairs {case}", lambda rng: generate(rng, *given), {"all": answer})


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage of differences between two classifiers by site.

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
        ``measure`` and ``truth_of``: of the population of sites, or of the sites at hand. The
        ``method`` is "paired", "apart" (the same draws in an order by chance), or "one sample".
    """
    check_choice("table", name, list(TABLES))
    columns = ("sites", "size", "level_sd", "slope_sd", "error", "shift", "stretch", "other")
    frame = run_chosen(study, CASES, case, settings, columns=columns)
    both = frame["measure"].str.split(", ", expand=True)
    frame[["measure", "method"]] = both[[0, 2]]
    frame.insert(frame.columns.get_loc("measure") + 1, "truth_of", both[1])
    return frame
