"""The posterior of a distance from calibration: draws, with the lower limit of the curve's band."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from bayescm.distributions.discrete import Empirical
from bayescm.measures.forecasts import Forecasts

_PLACES = 50  # of a band


@dataclass(frozen=True, eq=False)
class Distance(Empirical):
    """
    The posterior of a distance from calibration, by draws.

    Where it is 0 no two-sided interval of a posterior holds it. Hence the lower limit is that of
    the curves inside the simultaneous band of the same probability, 0 if the band holds the
    diagonal; the upper limit is that of the equal-tailed interval.
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
    """Return the measure of the curve inside the band that is nearest to the diagonal, (K,)."""
    weight = posterior.shares[None]
    nearest = []
    for each, row in zip(posterior.smooth, posterior.probability, strict=True):
        grid = np.quantile(each.odds, np.linspace(0.01, 0.99, _PLACES))
        drawn = each.departure(*each.sample, grid)
        low, high = (np.interp(each.odds, grid, end) for end in around(drawn, prob, True))
        gap = np.clip(0.0, low, high)
        truth = np.where(gap == 0, row, expit(each.odds + gap))
        inside = partial(np.reshape, truth, (1, 1, -1))
        seen = Forecasts(row[None], posterior.outcome, weight, inside)
        nearest.append(measure(seen).item())
    return np.array(nearest)


def around(drawn: np.ndarray, prob: float, simultaneous: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a band around draws (S, T)."""
    if not simultaneous:
        return np.quantile(drawn, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    mean, spread = drawn.mean(axis=0), drawn.std(axis=0)
    reach = np.quantile(np.abs((drawn - mean) / spread).max(axis=1), prob)
    return mean - reach * spread, mean + reach * spread
