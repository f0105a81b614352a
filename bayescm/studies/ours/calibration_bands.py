"""
Coverage of the band of a calibration curve that may be smooth, have steps, or take few values.

Continuous forecasts are uniform, or have normal log odds of standard deviation 1.3. Few values are
drawn with the same probability; at these the truth is the value itself, or lies by .12 above and
below it in turn. None of the curves had a part in choosing how steps are recognised, but for
``printed_step``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayescm.direct.calibration import calibration
from bayescm.evidence.scored.probabilities import from_probabilities
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import case_of, table_of

_SPREAD = 1.3
_JAGGED = 0.12

# Levels of the steps between their places.
STEPS: dict[str, tuple[list[float], list[float]]] = {
    "printed_step": ([0.5], [0.15, 0.75]),
    "step_low": ([0.3], [0.1, 0.55]),
    "step_high": ([0.65], [0.35, 0.85]),
    "step_small": ([0.45], [0.35, 0.6]),
    "two_steps": ([0.25, 0.6], [0.15, 0.45, 0.85]),
    "three_steps": ([0.2, 0.5, 0.8], [0.08, 0.35, 0.65, 0.92]),
    "step_down": ([0.4], [0.75, 0.4]),
    "up_and_down": ([0.35, 0.7], [0.25, 0.75, 0.4]),
}
SMOOTH = ("calibrated", "extreme", "timid", "s", "hockey")
# The distinct values, and the truth at each; None for continuous forecasts.
FEW: dict[str, tuple[list[float], list[float]]] = {
    "printed_values": ([0.1, 0.3, 0.5, 0.7, 0.9], [0.05, 0.35, 0.4, 0.8, 0.85]),
}
for _number in (2, 3, 5, 11, 20):
    _value = np.linspace(0.15, 0.85, _number) if _number != 11 else np.arange(11) / 10
    _bent = np.clip(_value + _JAGGED * (-1.0) ** np.arange(_number), 0, 1)
    FEW[f"values_{_number}"] = (_value.tolist(), _value.tolist())
    FEW[f"jagged_{_number}"] = (_value.tolist(), _bent.tolist())
ROUNDED = ("rounded", "rounded_step")
SHAPES = (*SMOOTH, *STEPS, "ramp_and_step", *ROUNDED, *FEW)
CASES = dict(enumerate([(shape, n) for shape in SHAPES for n in (60, 150, 500, 2000)], start=1))
TABLES = ("coverage",)


@dataclass(frozen=True)
class Forecasts:
    """
    Forecasts and what comes true.

    Attributes
    ----------
    shape : str
        One of `SHAPES`.
    size : int
    """

    shape: str
    size: int

    def chance(self, forecast: np.ndarray) -> np.ndarray:
        """Return the probability of the positive class given a forecast."""
        if self.shape in FEW:
            value, truth = map(np.array, FEW[self.shape])
            return truth[np.abs(forecast[:, None] - value).argmin(axis=1)]
        if self.shape in STEPS:
            at, level = map(np.array, STEPS[self.shape])
            return level[np.searchsorted(at, forecast, side="right")]
        if self.shape == "ramp_and_step":
            return 0.05 + 0.4 * forecast + 0.4 * (forecast > 0.4)
        if self.shape == "rounded_step":
            return np.where(forecast > 0.595, 0.7, 0.2)
        odds = logit(forecast)
        bent = {
            "extreme": 0.55 * odds,
            "timid": 1.7 * odds,
            "s": odds + 0.8 * np.sin(2.2 * odds),
            "hockey": np.minimum(odds, 0.255 + 0.15 * odds),
        }
        return expit(bent[self.shape]) if self.shape in bent else forecast

    def generate(self, rng: np.random.Generator) -> tuple[xr.Dataset, Mapping[str, Any]]:
        """Return a data set, with the true chances in ``chance``, and what a band's room holds."""
        if self.shape in FEW:
            forecast = rng.choice(FEW[self.shape][0], self.size)
        elif self.shape in STEPS or self.shape in ("ramp_and_step", "rounded_step"):
            forecast = rng.random(self.size)
        else:
            forecast = expit(rng.normal(0, _SPREAD, self.size))
        if self.shape in ROUNDED:
            forecast = forecast.round(2).clip(0.01, 0.99)
        chance = self.chance(forecast)
        actual = (rng.random(self.size) < chance).astype(int)
        evidence = from_probabilities(actual, forecast, positive=1, labels=[0, 1])
        truth = dict.fromkeys(("curve", "smooth", "not smooth", "grouped"), 0.0)
        return evidence.assign(chance=("example", chance)), truth


def bands(evidence: xr.Dataset) -> dict[str, np.ndarray]:
    """
    Return the room of the band that answers, and that of the smooth one.

    It begins at 0 if the band holds what its method says, and is as long as the band is wide on
    average: ``curve``, the whole curve between the 1 % and the 99 % quantile of the forecasts, or
    its means over groups where that is the method; ``smooth``, the curve by the smooth band. The
    coverage of ``not smooth`` is the share of data sets that are not answered by the smooth band,
    that of ``grouped`` the share answered by means of groups.
    """
    one = calibration(evidence.drop_vars("chance"))
    places, chance = _inner(evidence)
    (ends,), _ = one.band(places, 0.95)
    (method,) = one.methods
    held = chance
    if method == "grouped":
        group = np.unique(ends, axis=0, return_inverse=True)[1].ravel()
        held = (np.bincount(group, chance) / np.bincount(group))[group]
    found = {"curve": _room(ends, held), "smooth": np.full(2, np.nan)}
    if len(np.unique(evidence["score"])) > 2:
        found["smooth"] = _room(one.band(places, 0.95, method="smooth")[0][0], chance)
    for name, where in (("not smooth", method != "smooth"), ("grouped", method == "grouped")):
        found[name] = np.full(2, 0.0 if where else 1.0)
    return found


def _inner(evidence):
    """Return about 100 forecasts between the 1 % and the 99 % quantile, with their chances."""
    forecast, chance = evidence["score"].values, evidence["chance"].values
    inner = np.quantile(forecast, [0.01, 0.99], method="inverted_cdf")
    places, first = np.unique(forecast, return_index=True)
    kept = (inner[0] <= places) & (places <= inner[1])
    step = max(1, kept.sum() // 100)
    return places[kept][::step], chance[first][kept][::step]


def _room(band, chance):
    """Return 0 and the width of the band, both moved by as much as the band misses the curve."""
    missed = max(0, (band[:, 0] - chance).max(), (chance - band[:, 1]).max())
    return missed + np.array([0, (band[:, 1] - band[:, 0]).mean()])


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        Each shape with 60, 150, 500 and 2,000 examples; see `CASES`.

    Examples
    --------
    >>> study(1).name
    'calibration band calibrated n=60'
    """
    shape, size = case_of(CASES, case)
    name = f"calibration band {shape} n={size}"
    return Study(name, Forecasts(shape, size).generate, {"band": bands})


table = table_of(study, CASES, columns=("shape", "n"))
