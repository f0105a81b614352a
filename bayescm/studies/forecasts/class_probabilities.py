"""
Coverage of proper scores and calibration errors of more than two classes.

The logs of the forecasts are normal with standard deviation 1.3. What comes true has the same logs
times a slope, plus a level of each class: right forecasts, ones too extreme, ones whose classes are
shifted, and ones in which one class is taken for another.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import softmax

from bayescm.answers.asking import answers_of
from bayescm.direct.dirichlet_calibration import dirichlet_calibration
from bayescm.evidence.scored.probabilities import from_probabilities
from bayescm.measures.catalogue import resolve
from bayescm.measures.forecasts import ClassForecasts, Forecasts
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

MEASURES = (
    "brier",
    "log_loss",
    "brier_skill",
    "auc_macro",
    "calibration_slope_top_label",
    "ece_macro",
    "ece_top_label",
    "ece_full",
)
TABLES = ("coverage",)
SHAPES = ("calibrated", "extreme", "shifted", "confused")
CASES = dict(
    enumerate(
        [(shape, 3, size) for size in (200, 600) for shape in SHAPES]
        + [(shape, 6, 600) for shape in SHAPES],
        start=1,
    )
)
_SPREAD, _POPULATION, _DRAWS = 1.3, 40_000, 500


@dataclass(frozen=True)
class Population:
    """Forecasts of so many classes and what comes true, of one of `SHAPES`."""

    shape: str
    classes: int
    size: int

    def chance(self, logs: np.ndarray) -> np.ndarray:
        """Return the chances of the classes (n, C) given the logs of the forecasts."""
        level = np.linspace(-0.7, 0.7, self.classes)
        mixed = logs.copy()
        mixed[:, 0] = (logs[:, 0] + logs[:, 1]) / 2
        bent = {"extreme": 0.55 * logs, "shifted": logs + level, "confused": mixed}
        return softmax(bent.get(self.shape, logs), axis=1)

    @cached_property
    def truth(self) -> dict[str, float]:
        """The measures of the population."""
        logs = np.random.default_rng(99).normal(0, _SPREAD, (_POPULATION, self.classes))
        forecast, chance = softmax(logs, axis=1), self.chance(logs)
        share = chance.T.ravel()[None] / _POPULATION
        code = np.repeat(np.arange(self.classes), _POPULATION)
        units = np.tile(forecast, (self.classes, 1))[None]
        each = tuple(
            Forecasts(
                units[..., k],
                (code == k) * 1.0,
                share,
                _near(forecast[:, k], chance[:, k], self.classes),
            )
            for k in range(self.classes)
        )
        place = forecast.argmax(axis=1)
        right = np.take_along_axis(chance, place[:, None], 1)[:, 0]
        curve = _near(forecast.max(axis=1), right, self.classes)
        top = Forecasts(units.max(-1), (units.argmax(-1)[0] == code) * 1.0, share, curve)
        whole = np.tile(chance, (self.classes, 1))[None, None]
        seen = ClassForecasts(units, code, share, each, (top,), lambda: whole)
        return {name: float(resolve(name)(seen)[0, 0]) for name in MEASURES}

    def generate(self, rng: np.random.Generator) -> tuple[xr.Dataset, dict[str, float]]:
        """Return a data set and the true measures."""
        logs = rng.normal(0, _SPREAD, (self.size, self.classes))
        rest = rng.random((self.size, 1)) > self.chance(logs).cumsum(axis=1)
        code = rest.sum(axis=1).clip(max=self.classes - 1)
        labels = list(range(self.classes))
        return from_probabilities(code, softmax(logs, axis=1), labels=labels), self.truth


def _near(forecast, chance, copies):
    """Return the curve of the population: forecasts, and what those near each other depart by."""
    order = np.argsort(forecast)
    groups = np.arange(len(order)) * 400 // len(order)
    mean = np.bincount(groups, (chance - forecast)[order]) / np.bincount(groups)
    curve = forecast.copy()
    curve[order] += mean[groups]
    told = np.tile(curve, copies)[None, None]
    return lambda: told


def posterior(evidence: xr.Dataset) -> dict[str, np.ndarray]:
    """Return 95% intervals of the measures."""
    answers = answers_of(dirichlet_calibration(evidence), list(MEASURES), draws=_DRAWS)
    return {name: each.eti(0.95) for name, (each, _) in zip(MEASURES, answers, strict=True)}


def study(case: int) -> Study:
    """
    Return one case of the table.

    Parameters
    ----------
    case : int
        1 to 12: 3 classes with 200 and with 600 examples, and 6 classes with 600; in each the four
        shapes.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(2).name
    'classes extreme C=3 n=200'
    """
    shape, classes, size = case_of(CASES, case)
    name = f"classes {shape} C={classes} n={size}"
    return Study(name, Population(shape, classes, size).generate, {"posterior": posterior})


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage of intervals of proper scores and calibration errors of many classes.

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
    """
    check_choice("table", name, list(TABLES))
    return run_chosen(study, CASES, case, settings, columns=("shape", "classes", "n"))
