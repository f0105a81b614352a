"""Alarms of binned forecasts: calibration beyond what is tolerated, measures beyond a floor."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayescm.measures.catalogue import among
from bayescm.online.forecasts.estimates import below, if_right, known, prior, values
from bayescm.online.rules import (
    HORIZON,
    RATE,
    MonitoredSeries,
    check_rate,
    floors_of,
    joined,
    rows,
)
from bayescm.validate import fail

# How far a measure may be from what it would be if the forecasts were right.
TOLERANCE = {"calibration_in_the_large": 0.02, "calibration_slope": 0.2}
_FEW = 10  # examples of a class, below which recent evidence is not judged


def evaluate_rules(
    series: MonitoredSeries,
    measures: list,
    middle: np.ndarray,
    *,
    rate: float = RATE,
    floor: Any = None,
    tolerance: Mapping[str, float] | None = None,
    horizon: int = HORIZON,
) -> pd.DataFrame:
    """
    Return the alarms of a series of binned forecasts.

    Parameters
    ----------
    series : MonitoredSeries
        Of tables, dims (step, actual, bin).
    measures : list of Measure
    middle : ndarray, shape (B,)
        The probability that stands for each bin.
    rate, floor, horizon
        See `bayescm.online.alarms`.
    tolerance : mapping of str to float, optional
        How far a measure may be from what it would be if the forecasts were right, on both sides;
        by default `TOLERANCE`, of those that are monitored.

    Returns
    -------
    DataFrame
        See `bayescm.online.alarms`. The rule ``calibration`` goes off where by recent evidence a
        measure is beyond its tolerance with a posterior probability at the threshold, ``floor``
        where it is worse than its floor.
    """
    check_rate(rate, horizon)
    names = [each.__name__ for each in measures]
    if tolerance is None:
        tolerance = {name: size for name, size in TOLERANCE.items() if among(measures, name)}
    allowed = _by_measure(tolerance, measures, names)
    floors = floors_of(floor, measures)
    number = len(allowed) + len(floors)
    if not number:
        return joined([])
    level = rate / (number * horizon * series.windows)
    tables = []
    for place, measure in enumerate(measures):
        if place in allowed:
            told = _Judge(series, measure, middle, level)
            tables.append(told.rows(told.far(allowed[place]), "calibration"))
        if names[place] in floors:
            told = _Judge(series, measure, middle, level)
            tables.append(told.rows(told.worse(floors[names[place]]), "floor"))
    return joined(tables)


def _by_measure(tolerance, measures, names):
    """Return tolerances by the place of the measure."""
    found: dict[int, float] = {}
    for name, size in tolerance.items():
        mine = among(measures, name)
        if not mine:
            todo = "monitor it too"
            raise fail("a tolerance for a measure that is not monitored", name, names, todo)
        if not isinstance(size, int | float | np.number) or not 0 <= size < np.inf:
            raise fail("a tolerance must not be negative", size, "a number >= 0", "pass 0.02")
        found |= dict.fromkeys(mine, float(size))
    return found


class _Judge:
    """One measure of the recent evidence, over any span."""

    def __init__(self, series, measure, middle, level):
        self.series, self.measure, self.middle, self.level = series, measure, middle, level

    def far(self, allowed):
        """Return how probable it is that the measure is beyond its tolerance."""

        def probability(cells):
            right = if_right(self.measure, cells + prior(self.middle), self.middle)
            seen = values(self.measure, cells + prior(self.middle), self.middle)
            found = np.zeros(len(cells))
            some = np.abs(seen - right) > allowed
            center, spread = known(self.measure, cells[some], self.middle)
            low = below(self.measure, center, spread, right[some] - allowed)
            high = 1 - below(self.measure, center, spread, right[some] + allowed)
            found[some] = np.maximum(np.nan_to_num(low), np.nan_to_num(high))
            return found

        return probability

    def worse(self, floor):
        """Return how probable it is that the measure is worse than its floor."""
        sign = -1 if self.measure.lower_is_better else 1

        def probability(cells):
            seen = values(self.measure, cells + prior(self.middle), self.middle)
            found, some = np.zeros(len(cells)), sign * seen < sign * floor
            center, spread = known(self.measure, cells[some], self.middle)
            reached = below(self.measure, center, spread, floor)
            found[some] = reached if sign > 0 else 1 - reached
            return found

        return probability

    def rows(self, probability, rule):
        """Return the alarms of a rule."""
        series = self.series
        most, since = np.zeros(len(series.asked)), np.zeros(len(series.asked), int)
        for cells, start in series.recent():
            cells = cells.astype(float)
            enough = (cells.sum(axis=-1) >= _FEW).all(axis=-1)
            found = np.zeros(len(cells))
            if enough.any():
                found[enough] = probability(cells[enough])
            since = np.where(found > most, start, since)
            most = np.maximum(found, most)
        threshold = 1 - self.level
        return rows(series, self.measure, most, most >= threshold, rule, threshold, since=since)
