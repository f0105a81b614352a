"""
Coverage of proper scores and calibration errors of more than two classes.

Table ``coverage``: the logs of the forecasts are normal with standard deviation 1.3. What comes
true has the same logs times a slope, plus a level of each class: right forecasts, ones too extreme,
ones whose classes are shifted, and ones in which one class is taken for another.

Table ``softmax``: what comes true has the chances softmax(z) with normal logits z of standard
deviation 1, 3 or 5, of 2 to 100 classes; the forecasts are softmax(slope * z): right, too extreme
or too timid. Beside the posterior stands the t interval of the mean over the examples of what each
adds to the measure: its score, or its influence on the mean area. Table ``softmax-pairs``: the
difference from a classifier whose logits have noise of standard deviation .5 in addition.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import log_softmax, softmax
from scipy.stats import rankdata
from scipy.stats import t as student_t

from bayescm.answers.asking import answers_of
from bayescm.direct.calibration import calibration
from bayescm.direct.dirichlet_calibration import dirichlet_calibration
from bayescm.evidence.scored.probabilities import from_probabilities
from bayescm.measures.catalogue import resolve
from bayescm.measures.forecasts import ClassForecasts, Forecasts
from bayescm.simulation.coverage import Study
from bayescm.simulation.journal import generator
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
TABLES = ("coverage", "softmax", "softmax-pairs")
SHAPES = ("calibrated", "extreme", "shifted", "confused")
CASES = dict(
    enumerate(
        [(shape, 3, size) for size in (200, 600) for shape in SHAPES]
        + [(shape, 6, 600) for shape in SHAPES],
        start=1,
    )
)
_SPREAD, _POPULATION, _DRAWS = 1.3, 40_000, 500
_LOGITS = ((1, 1), (3, 0.6), (3, 1), (3, 1.6), (5, 1), (5, 1.6))  # standard deviation, slope
_SIZES = {2: (100, 300, 1000, 5000), 3: (100, 1000), 10: (150, 500), 20: (300, 1000), 50: (700,)}
SOFTMAX_CASES = dict(
    enumerate(
        [
            (classes, spread, slope, size)
            for classes, sizes in _SIZES.items()
            for size in sizes
            for spread, slope in _LOGITS
        ]
        + [(3, 3, 1, 5000), (10, 3, 1, 5000), (100, 3, 1, 1500), (100, 5, 1.6, 1500)],
        start=1,
    )
)
SOFTMAX_NOISE = 0.5  # of the second classifier's logits


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

        def one_vs_rest(k, *, averaged=False):
            curve = _near(forecast[:, k], chance[:, k], self.classes)
            return Forecasts(units[..., k], (code == k) * 1.0, share, curve)

        place = forecast.argmax(axis=1)
        right = np.take_along_axis(chance, place[:, None], 1)[:, 0]
        curve = _near(forecast.max(axis=1), right, self.classes)
        top = Forecasts(units.max(-1), (units.argmax(-1)[0] == code) * 1.0, share, curve)
        whole = np.tile(chance, (self.classes, 1))[None, None]
        seen = ClassForecasts(units, code, share, one_vs_rest, (top,), lambda: whole)
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


@dataclass(frozen=True)
class SoftmaxPopulation:
    """Forecasts softmax(slope * z) of outcomes softmax(z), z normal; ``noise`` is a rival's."""

    classes: int
    spread: float
    slope: float
    size: int
    noise: float = 0.0

    def _logits(self, rng, size):
        """Return the logits of the outcomes, of the forecasts and of the rival's forecasts."""
        logits = rng.normal(0, self.spread, (size, self.classes))
        forecast = self.slope * logits
        return logits, forecast, forecast + rng.normal(0, self.noise, logits.shape)

    @cached_property
    def truth(self) -> dict[str, float]:
        """The measures of the population, or how far they are above the rival's."""
        rng = np.random.default_rng(99)
        size = max(40_000, 2_000_000 // self.classes)
        logits, forecast, rival = self._logits(rng, size)
        chance = softmax(logits, axis=1)
        values = self._measures(chance, forecast)
        if not self.noise:
            return values
        other = self._measures(chance, rival)
        return {name: values[name] - other[name] for name in values if "ece" not in name}

    def _measures(self, chance, logits):
        logs = log_softmax(logits, axis=1)
        forecast = np.exp(logs)
        brier = (forecast**2).sum(axis=1) - 2 * (chance * forecast).sum(axis=1) + 1
        two = self.classes == 2
        asked = np.ones(len(logits), int) if two else forecast.argmax(axis=1)
        right, highest = (each[np.arange(len(logits)), asked] for each in (chance, forecast))
        curve = _near(highest, right, 1)()[0, 0]
        areas = [_area(forecast[:, k], chance[:, k]) for k in ([1] if two else range(self.classes))]
        return {
            "log_loss": -(chance * logs).sum(axis=1).mean(),
            "brier": brier.mean() / (2 if two else 1),
            self.names[2]: np.mean(areas),
            self.names[3]: np.abs(curve - highest).mean(),
        }

    @property
    def names(self) -> list[str]:
        """The measures, by the names they have for two classes or for more."""
        two = self.classes == 2
        return ["log_loss", "brier", *(("auc", "ece") if two else ("auc_macro", "ece_top_label"))]

    def generate(self, rng: np.random.Generator) -> tuple[xr.Dataset, dict[str, float]]:
        """Return a data set in which every class has an example, and the true measures."""
        code = np.zeros(0)
        while len(np.unique(code)) < self.classes:
            logits, forecast, rival = self._logits(rng, self.size)
            rest = rng.random((self.size, 1)) > softmax(logits, axis=1).cumsum(axis=1)
            code = rest.sum(axis=1).clip(max=self.classes - 1)
        both = {"a": forecast, "b": rival} if self.noise else {"a": forecast}
        given = {name: softmax(each, axis=1) for name, each in both.items()}
        if self.classes == 2:
            given = {name: each[:, 1].clip(1e-15, 1 - 1e-15) for name, each in given.items()}
        evidence = from_probabilities(code, given, labels=list(range(self.classes)))
        return evidence, self.truth


def _area(forecast, chance):
    """Return the area under the ROC curve of forecasts that come true with these chances."""
    chance = chance[np.argsort(forecast)]
    rest = 1 - chance
    return chance @ (rest.cumsum() - rest / 2) / chance.sum() / rest.sum()


def softmax_posterior(evidence: xr.Dataset) -> dict[str, np.ndarray]:
    """Return 95% intervals of the measures, of several classifiers of the first difference."""
    population = SoftmaxPopulation(evidence.sizes.get("class", 2), 1, 1, 1)
    model = dirichlet_calibration if "class" in evidence.dims else calibration
    if evidence.sizes["classifier"] == 1:
        names = population.names
        answers = answers_of(model(evidence.isel(classifier=0, drop=True)), names, draws=_DRAWS)
        return {name: each.eti(0.95) for name, (each, _) in zip(names, answers, strict=True)}
    names = population.names[:3]
    measures = [resolve(name) for name in names]
    drawn = model(evidence).draw(measures, _DRAWS, generator(0, 0))
    return {
        name: np.quantile(each[:, 0] - each[:, 1], [0.025, 0.975])
        for name, each in zip(names, drawn, strict=True)
    }


def t_interval(evidence: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the t interval of the mean of what each example adds to a measure."""
    code = evidence["actual"].values
    forecast = evidence["score"].values
    if forecast.ndim == 2:
        forecast = np.stack([1 - forecast, forecast], axis=-1)
    added = [_added(each, code) for each in forecast]
    values = added[0] - added[1] if len(added) == 2 else added[0]
    mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / len(code) ** 0.5
    ends = mean[:, None] + error[:, None] * student_t.ppf([0.025, 0.975], len(code) - 1)
    names = SoftmaxPopulation(forecast.shape[-1], 1, 1, 1).names
    return dict(zip(names[:3], ends, strict=True))


def _added(forecast, code):
    """Return log loss, Brier score and influence on the (mean) area of the examples, (3, n)."""
    size, classes = forecast.shape
    outcome = np.eye(classes)[code]
    brier = ((forecast - outcome) ** 2).sum(axis=1) / (2 if classes == 2 else 1)
    loss = -np.log(forecast[np.arange(size), code])
    places = [1] if classes == 2 else range(classes)
    influence = [_influence(forecast[:, k], code == k) for k in places]
    return np.stack([loss, brier, np.mean(influence, axis=0)])


def _influence(forecast, positive):
    """Return the area plus what each example moves it by (DeLong et al., 1988), (n,)."""
    rank, number = rankdata(forecast), positive.sum()
    rest = len(forecast) - number
    placement = np.empty(len(forecast))
    placement[positive] = (rank[positive] - rankdata(forecast[positive])) / rest
    placement[~positive] = 1 - (rank[~positive] - rankdata(forecast[~positive])) / number
    area = placement[positive].mean()
    return area + (placement - area) * len(forecast) / np.where(positive, number, rest)


def softmax_study(case: int, noise: float = 0.0) -> Study:
    """Return one case of the table ``softmax``, or with noise of ``softmax-pairs``."""
    classes, spread, slope, size = case_of(SOFTMAX_CASES, case)
    population = SoftmaxPopulation(classes, spread, slope, size, noise)
    kind = "pairs" if noise else "softmax"
    name = f"{kind} C={classes} logits={spread} slope={slope} n={size}"
    methods = {"posterior": softmax_posterior, "t": t_interval}
    return Study(name, population.generate, methods)


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage of intervals of proper scores and calibration errors of many classes.

    Parameters
    ----------
    name : {"coverage", "softmax", "softmax-pairs"}
        See the head of this module.
    case : int, optional
        One case only.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
    """
    check_choice("table", name, list(TABLES))
    if name == "coverage":
        return run_chosen(study, CASES, case, settings, columns=("shape", "classes", "n"))
    build = partial(softmax_study, noise=SOFTMAX_NOISE if name == "softmax-pairs" else 0.0)
    columns = ("classes", "logits", "slope", "n")
    return run_chosen(build, SOFTMAX_CASES, case, settings, columns=columns)
