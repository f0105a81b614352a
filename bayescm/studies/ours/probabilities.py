"""
Coverage of proper scores, recalibration, the calibration curve and its error.

The forecasts' log odds are normal with standard deviation 1.3; what comes true departs from them in
seven shapes: not at all, as of forecasts too extreme or too timid, along an S, flat from a
threshold on (a hockey stick), with a bump, and with 15 % of exact zeros and ones that err in 2 and
3 of a hundred. The mean is such that the positive class has the prevalence asked for. A second
classifier gives the same log odds with noise of standard deviation 0.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import brentq
from scipy.special import expit, logit

from bayescm.answers.asking import answers_of
from bayescm.classical.probabilities import isotonic_band
from bayescm.direct.calibration import calibration
from bayescm.evidence.scored.probabilities import from_probabilities
from bayescm.measures.catalogue import resolve
from bayescm.measures.forecasts import Forecasts
from bayescm.simulation.coverage import Study
from bayescm.simulation.journal import generator
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

MEASURES = (
    "brier",
    "brier_skill",
    "log_loss",
    "calibration_in_the_large",
    "calibration_intercept",
    "calibration_slope",
    "ece",
)
SHAPES = ("calibrated", "extreme", "timid", "s", "hockey", "bump", "spike")
CASES = dict(
    enumerate(
        [
            (shape, prevalence, size)
            for prevalence, size in ((0.03, 700), (0.2, 200), (0.5, 500), (0.2, 2000), (0.2, 100))
            for shape in SHAPES
        ],
        start=1,
    )
)
BAND_CASES = dict(
    enumerate(
        [
            (shape, 0.5, size)
            for shapes in (SHAPES[:6], SHAPES[6:])
            for size in (250, 500, 1000)
            for shape in shapes
        ],
        start=1,
    )
)
TABLES = ("coverage", "bands")
_PAIRS = ("paired", "unpaired")
PAIRED = ("brier", "log_loss")
_SPREAD, _POPULATION, _SPIKE, _NOISE = 1.3, 400_000, 0.15, 0.5
_DRAWS = 1000


@dataclass(frozen=True)
class Population:
    """
    Forecasts and what comes true.

    Attributes
    ----------
    shape : str
        One of `SHAPES`.
    prevalence : float
    size : int
        Number of examples of a data set.
    """

    shape: str
    prevalence: float
    size: int

    @cached_property
    def center(self) -> float:
        """The mean of the forecasts' log odds."""

        def excess(center):
            forecast = self._forecasts(np.random.default_rng(0), _POPULATION, center)
            return self._chance(forecast, center).mean() - self.prevalence

        return brentq(excess, -7, 3, xtol=1e-3)

    def _forecasts(self, rng, size, center):
        forecast = expit(rng.normal(center, _SPREAD, size))
        if self.shape == "spike":
            place = rng.random(size)
            forecast[place < _SPIKE * (1 - expit(center))] = 0
            forecast[place > 1 - _SPIKE * expit(center)] = 1
        return forecast

    def _chance(self, forecast, center):
        with np.errstate(divide="ignore"):
            odds = logit(forecast)
        from_center = np.clip(odds - center, -50, 50)
        bent = {
            "extreme": center + 0.55 * from_center,
            "timid": center + 1.7 * from_center,
            "s": odds + 0.8 * np.sin(2.2 * from_center),
            "hockey": center + np.minimum(from_center, 0.255 + 0.15 * from_center),
            "bump": odds + 1.3 * np.exp(-(((from_center - 0.5) / 0.5) ** 2)),
        }
        if self.shape == "spike":
            return np.select([forecast == 0, forecast == 1], [0.02, 0.97], forecast)
        return forecast if self.shape == "calibrated" else expit(bent[self.shape])

    @cached_property
    def truth(self) -> dict[str, float]:
        """The measures of the population, and 0 for what a band's room must hold."""
        rng = np.random.default_rng(99)
        forecast = self._forecasts(rng, _POPULATION, self.center)
        chance = self._chance(forecast, self.center)
        every = np.stack([forecast, _noisy(forecast, rng)])
        both = np.concatenate([1 - chance, chance]) / _POPULATION
        outcome = np.repeat([0.0, 1.0], _POPULATION)
        told = np.broadcast_to(np.tile(chance, 2), (1, 2, 2 * _POPULATION))
        seen = Forecasts(np.tile(every, 2), outcome, both[None], lambda: told)
        values = {name: resolve(name)(seen)[0] for name in self._finite(MEASURES)}
        truth = {name: float(each[0]) for name, each in values.items()}
        gaps = {name: float(values[name] @ [1, -1]) for name in self._finite(PAIRED)}
        truth |= {f"{name} {kind}": each for name, each in gaps.items() for kind in _PAIRS}
        return truth | {"ece two-sided": truth["ece"], "curve": 0.0}

    def _finite(self, names):
        """Return all but the log loss of exact zeros and ones, which is infinite."""
        return [each for each in names if (self.shape, each) != ("spike", "log_loss")]

    def generate(self, rng: np.random.Generator) -> tuple[xr.Dataset, Mapping[str, float]]:
        """Return a data set, with the true chances in ``chance``, and the true measures."""
        forecast = self._forecasts(rng, self.size, self.center)
        chance = self._chance(forecast, self.center)
        actual = (rng.random(self.size) < chance).astype(int)
        both = {"a": forecast, "b": _noisy(forecast, rng)}
        evidence = from_probabilities(actual, both, positive=1, labels=[0, 1])
        return evidence.assign(chance=("example", chance)), self.truth


def _noisy(forecast, rng):
    with np.errstate(divide="ignore"):
        return expit(logit(forecast) + rng.normal(0, _NOISE, len(forecast)))


def posterior(evidence: xr.Dataset) -> dict[str, np.ndarray]:
    """
    Return 95% intervals of the measures, of paired differences, and of the curve.

    That of the curve is as long as its smooth band is wide on average, and begins at 0 if the band
    holds the whole curve. Beside the paired differences stand those of samples taken for
    independent, beside the expected calibration error the equal tails of its posterior.
    """
    both = evidence.drop_vars("chance")
    exact = bool(((both["score"] == 0) | (both["score"] == 1)).any())
    names, pairs = (
        [each for each in wanted if not (exact and each == "log_loss")]
        for wanted in (MEASURES, PAIRED)
    )
    one = calibration(both.sel(classifier="a", drop=True))
    answers = [each for each, _ in answers_of(one, names, draws=_DRAWS)]
    found = {name: each.eti(0.95) for name, each in zip(names, answers, strict=True)}
    found["ece two-sided"] = answers[names.index("ece")].quantile([0.025, 0.975])
    drawn = calibration(both).draw([resolve(each) for each in pairs], _DRAWS, generator(0, 0))
    for name, draws in zip(pairs, drawn, strict=True):
        ends = np.quantile(draws[:, 0] - draws[:, 1], [0.025, 0.975])
        alone = np.hypot(*np.diff(np.quantile(draws, [0.025, 0.975], axis=0), axis=0)[0])
        found[f"{name} paired"] = ends
        found[f"{name} unpaired"] = ends.mean() + alone * np.array([-0.5, 0.5])
    at, chance = _inner(evidence)
    return found | {"curve": _room(one.band(at, 0.95, method="smooth")[0][0], chance)}


def smooth(evidence: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the band of the smooth curve, as `posterior` has it."""
    at, chance = _inner(evidence)
    one = calibration(evidence.drop_vars("chance").sel(classifier="a", drop=True))
    return {"curve": _room(one.band(at, 0.95, method="smooth")[0][0], chance)}


def isotonic(evidence: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the band that is guaranteed for rising curves, in the same way."""
    at, chance = _inner(evidence)
    one = evidence.drop_vars("chance").sel(classifier="a", drop=True)
    return {"curve": _room(isotonic_band(one, at=at)["interval"].values, chance)}


def _inner(evidence):
    """Return about 60 forecasts between the 1 % and the 99 % quantile, and their chances."""
    forecast, chance = evidence["score"].values[0], evidence["chance"].values
    order = np.argsort(forecast)
    inner = order[(forecast[order] > 0) & (forecast[order] < 1)]
    inner = inner[len(inner) // 100 : len(inner) - len(inner) // 100 : max(1, len(inner) // 60)]
    return forecast[inner], chance[inner]


def _room(band, chance):
    """Return 0 and the width of the band, both moved by as much as the band misses the curve."""
    missed = max(0, (band[:, 0] - chance).max(), (chance - band[:, 1]).max())
    return missed + np.array([0, (band[:, 1] - band[:, 0]).mean()])


def study(case: int) -> Study:
    """
    Return one case of the table, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 35: the prevalence .03 with 700 examples, .2 with 200, .5 with 500, .2 with 2,000 and
        with 100; in each the seven shapes.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(8).name
    'probabilities calibrated prevalence=0.2 n=200'
    """
    shape, prevalence, size = case_of(CASES, case)
    name = f"probabilities {shape} prevalence={prevalence:g} n={size}"
    return Study(name, Population(shape, prevalence, size).generate, {"posterior": posterior})


def bands(case: int) -> Study:
    """
    Return one case of the table of bands.

    Parameters
    ----------
    case : int
        1 to 18: 250, 500 and 1,000 examples at the prevalence .5, each in the six smooth shapes;
        19 to 21: with the spike.
    """
    shape, prevalence, size = case_of(BAND_CASES, case)
    methods = {"smooth": smooth, "isotonic": isotonic}
    return Study(f"bands {shape} n={size}", Population(shape, prevalence, size).generate, methods)


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage of intervals of proper scores and calibration, and of the curve's band.

    Parameters
    ----------
    name : {"coverage", "bands"}
        Everything, or the smooth band beside the guaranteed one.
    case : int, optional
        One case only; see `study` and `bands`.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
        Of the measure ``curve`` the coverage is that of the whole curve, between the 1 % and the
        99 % quantile of the forecasts, its length the mean width of the band; see `posterior`.
    """
    check_choice("table", name, list(TABLES))
    build, cases = (study, CASES) if name == "coverage" else (bands, BAND_CASES)
    return run_chosen(build, cases, case, settings, columns=("shape", "prevalence", "n"))
