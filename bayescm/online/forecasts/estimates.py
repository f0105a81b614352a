"""
What binned forecasts say of a measure: its value, and how uncertain it is.

The shares of the cells have a Dirichlet distribution. A measure of probabilities is a smooth
function of them, and its posterior is taken for normal by linearizing it (the Bayesian form of the
delta method), on the log odds where it lies between 0 and 1 and on the log where it is positive.
"""

from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from bayescm.measures.probabilities import Forecasts

_STEP = 1e-3  # of the numerical derivative
_PRIOR = 1.0  # examples, over all bins
_ROOM = 4e6  # numbers at once


def prior(middle: np.ndarray) -> np.ndarray:
    """Return pseudo-counts (2, B): one example over all bins, whose forecasts are right."""
    return np.stack([1 - middle, middle]) * _PRIOR / len(middle)


def values(measure: Any, cells: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Return a measure of tables (T, 2, B) of positive numbers, (T,)."""
    flat = cells.reshape(len(cells), 2 * len(middle))
    outcome, forecast = np.repeat([0.0, 1.0], len(middle)), np.tile(middle, 2)[None]
    step = max(1, int(_ROOM // flat.shape[1]))
    parts = []
    for first in range(0, len(flat), step):
        some = flat[first : first + step]
        share = some / some.sum(axis=1, keepdims=True)
        parts.append(measure(Forecasts(forecast, outcome, share, _no_curve))[:, 0])
    return np.concatenate(parts) if parts else np.zeros(0)


def _no_curve():
    raise NotImplementedError("the curve of binned forecasts")


def if_right(measure: Any, cells: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Return what a measure would be if the forecasts were right, (T,)."""
    total = cells.sum(axis=-2, keepdims=True)
    return values(measure, total * np.stack([1 - middle, middle]), middle)


def known(measure: Any, cells: np.ndarray, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return value and standard deviation on the measure's own scale; see `scale`, each (T,)."""
    forth = scale(measure)[0]
    cells = cells + prior(middle)
    center, spread = values(measure, cells, middle), np.zeros(len(cells))
    step = max(1, int(_ROOM // (2 * len(middle)) ** 2))
    for first in range(0, len(cells), step):
        rows = slice(first, first + step)
        flat = cells[rows].reshape(len(cells[rows]), -1)
        total = flat.sum(axis=1, keepdims=True)
        share = flat / total
        moved = (1 - _STEP) * share[:, None] + _STEP * np.eye(share.shape[1])
        tried = moved.reshape(-1, *cells.shape[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            there = forth(values(measure, tried, middle)).reshape(share.shape)
            slope = (there - forth(center[rows])[:, None]) / _STEP
        around = (share * slope).sum(axis=1, keepdims=True)
        variance = (share * (slope - around) ** 2).sum(axis=1) / (total[:, 0] + 1)
        spread[rows] = np.sqrt(variance)
    return forth(center), spread


def scale(measure: Any) -> tuple[Any, Any]:
    """Return the functions to the scale on which a measure is about normal, and back."""
    low, high = measure.range
    if (low, high) == (0, 1):
        return logit, expit
    return (np.log, np.exp) if low == 0 else (_same, _same)


def _same(values):
    return values


def ends(measure: Any, center: np.ndarray, spread: np.ndarray, prob: float) -> np.ndarray:
    """Return the equal-tailed interval of a measure, (T, 2)."""
    reach = ndtri((1 + prob) / 2) * spread
    back = scale(measure)[1]
    return np.stack([back(center - reach), back(center + reach)], axis=-1)


def below(measure: Any, center: np.ndarray, spread: np.ndarray, limit: Any) -> np.ndarray:
    """Return the probability that a measure is below a limit, (T,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return ndtr((scale(measure)[0](limit) - center) / spread)
