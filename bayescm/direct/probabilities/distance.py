"""The posterior of a distance from calibration: draws, with the lower limit of the curve's band."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from bayescm.distributions.discrete import Empirical
from bayescm.measures.probabilities import Forecasts

_PLACES, _GROUPS = 50, 400  # of a band; of neighbouring forecasts
_CERTAIN, _DRAWS = 2.0, 2000
_TAIL = 10  # the same draws say where the curve departs, and by how much: a tenth of the tail


@dataclass(frozen=True, eq=False)
class Distance(Empirical):
    """
    The posterior of a distance from calibration, by draws.

    Where it is 0 no two-sided interval of a posterior holds it. Hence the lower limit is 0 if the
    simultaneous smooth band of the same probability holds the diagonal, and else that of `least`;
    the upper limit is that of the equal-tailed interval. It is the smooth band whatever band the
    curve is shown with: right forecasts have a smooth curve, the diagonal.
    """

    posterior: Any = None
    measure: Any = None

    def eti(self, prob: float) -> np.ndarray:
        """Return lower and upper limit, (..., 2)."""
        upper = self.quantile((1 + prob) / 2)
        lower = self.posterior.least(self.measure, prob).reshape(np.shape(upper))
        return np.stack([np.minimum(lower, upper), upper], axis=-1)

    hdi = eti

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Say that it is not a highest-density interval."""
        return np.broadcast_to("eti", self.shape)


def least(posterior: Any, measure: Callable, prob: float) -> np.ndarray:
    """
    Return the lower limit of a distance from calibration, (K,).

    Where the simultaneous band leaves the diagonal it is the lower limit of the distance that is
    beyond doubt: of curves that depart where the posterior does by twice its standard deviation,
    and there on its side only. It is never less than the distance of the curve in the band that is
    nearest to the diagonal, and that is the limit (0) where the band holds the diagonal.
    """
    found = []
    for each, row in zip(posterior.smooth, posterior.probability, strict=True):
        grid = np.quantile(each.odds, np.linspace(0.01, 0.99, _PLACES))
        drawn = each.departure(*each.sample, grid)
        low, high = around(drawn, prob, True)
        value = partial(_distances, posterior.shares, each.odds, row, grid, measure)
        nearest = value(np.clip(0.0, low, high)[None]).item()
        if ((low > 0) | (high < 0)).any():
            sure = np.quantile(value(_beyond_doubt(drawn)), (1 - prob) / _TAIL)
            nearest = max(nearest, float(sure))
        found.append(nearest)
    return np.array(found)


def _beyond_doubt(drawn):
    """Return some of the departures (S, T) where they are certain, on that side; 0 elsewhere."""
    mean, spread = drawn.mean(axis=0), drawn.std(axis=0)
    side = np.where(np.abs(mean) > _CERTAIN * spread, np.sign(mean), 0.0)
    return side * np.maximum(side * drawn[:_DRAWS], 0.0)


def _distances(shares, odds, row, grid, measure, gap):
    """Return the measure of curves that depart by so much (S, T) at log odds (T,), (S,)."""
    order = np.argsort(odds, kind="stable")
    reached = np.cumsum(shares[order])
    code = np.minimum((reached / reached[-1] * _GROUPS).astype(int), _GROUPS - 1)
    _, code = np.unique(code, return_inverse=True)
    share = np.bincount(code, shares[order])
    middle, forecast = (
        np.bincount(code, shares[order] * values[order]) / share for values in (odds, row)
    )
    near = np.array([np.interp(middle, grid, each) for each in np.eye(len(grid))])
    between = gap @ near
    truth = np.where(between == 0, forecast, expit(middle + between))
    weight = np.broadcast_to(share, truth.shape)
    seen = Forecasts(forecast[None], np.zeros(len(share)), weight, lambda: truth[:, None])
    return measure(seen)[:, 0]


def around(drawn: np.ndarray, prob: float, simultaneous: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a band around draws (S, T)."""
    if not simultaneous:
        return np.quantile(drawn, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    mean, spread = drawn.mean(axis=0), drawn.std(axis=0)
    reach = np.quantile(np.abs((drawn - mean) / spread).max(axis=1), prob)
    return mean - reach * spread, mean + reach * spread
