"""
Coverage of the intervals of probabilities that a monitor keeps in bins.

The forecasts' log odds are normal with standard deviation 1.3; what comes true has log odds of
another slope around their middle, or of another level. The truth is that of the forecasts as they
were given, or of what the bins leave of them.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, ndtri

from bayescm import __version__
from bayescm.measures.forecasts import Forecasts
from bayescm.measures.labelled import of_variable
from bayescm.online.forecasts import estimates
from bayescm.online.forecasts.tables import EDGES
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
MEASURES = ("auc", "brier", "calibration_in_the_large", "calibration_slope")
# Prevalence where the forecasts are right, and slope and level of what comes true.
CASES: dict[int, tuple[float, float, float]] = {
    1: (0.3, 1.0, 0.0),
    2: (0.3, 0.6, 0.0),
    3: (0.03, 1.0, 0.0),
    4: (0.03, 0.6, 0.0),
    5: (0.3, 1.5, -0.5),
}
SIZES = (200, 1000, 5000)
_SPREAD, _PROB, _NODES, _ROOM = 1.3, 0.95, 40_000, 4e6
_BINS, _MIDDLE = len(EDGES) - 1, (np.array(EDGES[1:]) + np.array(EDGES[:-1])) / 2


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Simulate samples of probabilities, and count how often their intervals hold the truth.

    Parameters
    ----------
    name : {"coverage"}
        There is one table.
    case : int, optional
        One case, as in ``CASES``; all by default.
    settings : Settings, optional
        How many samples of each size, and the seed.

    Returns
    -------
    DataFrame
        ``doc``, the coverage of 95% intervals, ``doc_binned`` that of the truth of the forecasts
        moved to the middles of their bins, ``below`` and ``above``, how often the truth of the
        forecasts is below the interval and above it, ``il`` its mean length, and ``events``, how
        many are expected.
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    asked = chosen(CASES, case)
    return pd.DataFrame([row for each in asked for n in SIZES for row in _rows(each, n, settings)])


def samples(
    rng: np.random.Generator, number: int, size: int, odds: tuple[float, float, float]
) -> np.ndarray:
    """
    Draw tables of truth by bin.

    Parameters
    ----------
    rng : numpy.random.Generator
    number, size : int
        How many samples, and how many examples each has.
    odds : tuple of float
        The middle of the forecasts' log odds, and slope and level of what comes true.

    Returns
    -------
    ndarray, shape (number, 2, B)
    """
    parts, step = [], max(1, int(_ROOM // size))
    for first in range(0, number, step):
        shape = min(step, number - first), size
        given = rng.normal(odds[0], _SPREAD, shape)
        actual = rng.random(shape) < expit(_true(given, odds))
        place = np.searchsorted(np.array(EDGES[1:-1]), expit(given), "right")
        cell = (np.arange(shape[0])[:, None] * 2 + actual) * _BINS + place
        parts.append(np.bincount(cell.ravel(), minlength=shape[0] * 2 * _BINS))
    return np.concatenate(parts).reshape(number, 2, _BINS).astype(float)


def truths(odds: tuple[float, float, float]) -> dict[str, tuple[float, float]]:
    """Return each measure of the forecasts as they were given, and in bins."""
    given = odds[0] + _SPREAD * ndtri((np.arange(_NODES) + 0.5) / _NODES)
    forecast, chance = expit(given), expit(_true(given, odds))
    share = np.concatenate([1 - chance, chance])[None] / _NODES
    whole = Forecasts(np.tile(forecast, 2)[None], np.repeat([0.0, 1.0], _NODES), share, _no_curve)
    place = np.searchsorted(np.array(EDGES[1:-1]), forecast, "right")
    cells = np.stack([np.bincount(place, each, _BINS) for each in (1 - chance, chance)])[None]
    return {
        each.__name__: (float(each(whole)[0, 0]), float(estimates.values(each, cells, _MIDDLE)[0]))
        for each in of_variable(list(MEASURES), "probabilities")
    }


def _no_curve() -> Any:
    raise NotImplementedError


def _true(given, odds):
    middle, slope, level = odds
    return middle + level + slope * (given - middle)


def _rows(case, size, settings):
    prevalence, slope, level = CASES[case]
    places = _SPREAD * ndtri((np.arange(2000) + 0.5) / 2000)
    middle = brentq(lambda center: expit(center + places).mean() - prevalence, -8, 2)
    odds = (middle, slope, level)
    key = np.random.SeedSequence(settings.seed, spawn_key=(case, size))
    cells = samples(np.random.default_rng(key), settings.replications, size, odds)
    known = truths(odds)
    about = {"case": case, "prevalence": prevalence, "slope": slope, "level": level, "size": size}
    about["events"] = size * float(expit(_true(middle + places, odds)).mean())
    made = {"replications": settings.replications, "seed": settings.seed, "version": __version__}
    for measure in of_variable(list(MEASURES), "probabilities"):
        ends = estimates.ends(measure, *estimates.known(measure, cells, _MIDDLE), _PROB)
        truth, binned = known[measure.__name__]
        found = {
            "measure": measure.__name__,
            "truth": truth,
            "doc": _held(ends, truth),
            "doc_binned": _held(ends, binned),
            "below": float((truth < ends[:, 0]).mean()),
            "above": float((truth > ends[:, 1]).mean()),
            "il": float((ends[:, 1] - ends[:, 0]).mean()),
        }
        yield about | found | made


def _held(ends, truth):
    return float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
