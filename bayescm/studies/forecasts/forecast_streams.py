"""
How often the alarms of binned probabilities are false, and how soon they see a drift.

The forecasts' log odds are normal with standard deviation 1.3. Healthy streams are right for good,
or off by as much as is tolerated; the others become too extreme, or too low, at one batch.
"""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import brentq
from scipy.special import expit, ndtri

from bayescm import __version__
from bayescm.measures.labelled import of_variable
from bayescm.online.forecasts.rules import TOLERANCE, judged
from bayescm.online.forecasts.tables import forecast_table, middles
from bayescm.online.stream import Stream
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

TABLES = ("healthy", "drifting")
BATCHES, _START, _SPREAD = 200, 50, 1.3
# Examples of a batch, prevalence, and slope and level of what comes true.
HEALTHY: dict[int, tuple[int, float, float, float]] = {
    1: (300, 0.3, 1.0, 0.0),
    2: (50, 0.3, 1.0, 0.0),
    3: (1000, 0.03, 1.0, 0.0),
    4: (300, 0.3, 0.8, 0.0),
}
DRIFTING: dict[int, tuple[int, float, float, float]] = {
    1: (300, 0.3, 0.6, 0.0),
    2: (300, 0.3, 1.0, 0.4),
    3: (1000, 0.03, 0.6, 0.0),
}


def stream(
    rng: np.random.Generator, size: int, center: float, slope: np.ndarray, level: np.ndarray
) -> xr.DataArray:
    """
    Draw batches of binned probabilities.

    Parameters
    ----------
    rng : numpy.random.Generator
    size : int
        Examples of a batch.
    center : float
        The mean of the forecasts' log odds.
    slope, level : ndarray, shape (T,)
        What comes true has the log odds ``center + level + slope * (odds - center)``.

    Returns
    -------
    DataArray, dims (step, actual, bin)
    """
    odds = rng.normal(center, _SPREAD, (len(slope), size))
    chance = expit(center + level[:, None] + slope[:, None] * (odds - center))
    actual = (rng.random(odds.shape) < chance).astype(int)
    tables = [forecast_table(*each, positive=1) for each in zip(actual, expit(odds), strict=True)]
    return xr.concat(tables, "step", coords="minimal", compat="override").assign_attrs(
        tables[0].attrs
    )


def first_alarm(batches: xr.DataArray, start: int = 0) -> float:
    """Return the step of the first alarm from a step on, NaN where there is none."""
    none = np.zeros(batches.shape[1:], batches.dtype)
    remembered: dict[str, Any] = {"forgetting": 1.0, "window": None}
    whole = Stream(batches, 0, 0, none, remembered, None)
    measures = of_variable(list(TOLERANCE), "probabilities")
    found = judged(whole, measures, middles(batches), horizon=BATCHES)
    later = found["step"][found["step"] >= start]
    return float(later.min()) if len(later) else np.nan


def table(
    name: str = "healthy", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Simulate streams of probabilities, and time their alarms.

    Parameters
    ----------
    name : {"healthy", "drifting"}
    case : int, optional
        One kind of stream, as in ``HEALTHY`` and ``DRIFTING``; all by default.
    settings : Settings, optional
        How many streams of each kind, and the seed.

    Returns
    -------
    DataFrame
        ``alarmed``, the share of streams with an alarm (the rate asked for is .05), and ``median``,
        the median number of batches to the first one after the drift, infinite where fewer than
        half have one.
    """
    check_choice("table", name, list(TABLES))
    cases = HEALTHY if name == "healthy" else DRIFTING
    settings = settings or Settings()
    return pd.DataFrame([_row(each, cases[each], name, settings) for each in chosen(cases, case)])


def _row(case, given, name, settings):
    size, prevalence, slope, level = given
    places = _SPREAD * ndtri((np.arange(2000) + 0.5) / 2000)
    center = brentq(lambda middle: expit(middle + places).mean() - prevalence, -8, 2)
    start = 0 if name == "healthy" else _START
    number = BATCHES if name == "healthy" else 2 * _START
    before = (slope, level) if name == "healthy" else (1.0, 0.0)
    key = (case, TABLES.index(name))
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=key))
    slopes, levels = (
        np.repeat([old, new], [start, number - start])
        for old, new in zip(before, (slope, level), strict=True)
    )
    found = [
        first_alarm(stream(rng, size, center, slopes, levels), start) - start + 1
        for _ in range(settings.replications)
    ]
    waits = np.array(found)
    about = {"case": case, "size": size, "prevalence": prevalence, "slope": slope, "level": level}
    median = np.median(np.where(np.isnan(waits), np.inf, waits))
    about |= {"batches": number - start, "alarmed": float((~np.isnan(waits)).mean())}
    made = {"replications": settings.replications, "seed": settings.seed, "version": __version__}
    return about | {"median": float(median)} | made
