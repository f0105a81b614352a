"""Coverage for class probabilities: proper scores, areas and calibration errors."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import log_softmax, softmax
from scipy.stats import rankdata
from scipy.stats import t as student_t

from bayescm.evidence.scores import from_probabilities
from bayescm.measures.catalogue import resolve
from bayescm.measures.probabilities import ClassForecasts, Forecasts
from bayescm.posteriors.calibration import calibration
from bayescm.posteriors.dirichlet_calibration import dirichlet_calibration
from bayescm.simulation import Experiment, generator

# Table "coverage": all measures for three and six classes. The logits of the forecasts are normal
# with standard deviation 1.3. The logits of the true probabilities are the same ("calibrated"),
# smaller by a factor ("extreme"), or shifted by a constant per class ("shifted"). In "confused",
# the first two logits are averaged for the first class.

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
SHAPES = ("calibrated", "extreme", "shifted", "confused")
SPREAD, POPULATION, DRAWS = 1.3, 40_000, 500


class ClassSetting(NamedTuple):
    """Relation between forecasts and true probabilities, number of classes and of examples."""

    shape: str
    classes: int
    n: int


CLASSES = dict(
    enumerate(
        (
            ClassSetting(shape, classes, n)
            for classes, n in ((3, 200), (3, 600), (6, 600))
            for shape in SHAPES
        ),
        start=1,
    )
)


def class_chances(shape: str, logs: np.ndarray) -> np.ndarray:
    """Return the true class probabilities (n, C), given the logits of the forecasts."""
    if shape == "extreme":
        logs = 0.55 * logs
    elif shape == "shifted":
        logs = logs + np.linspace(-0.7, 0.7, logs.shape[1])
    elif shape == "confused":
        logs = np.column_stack([logs[:, :2].mean(axis=1), logs[:, 1:]])
    return softmax(logs, axis=1)


def random_classes(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    """Return a random class of every example (n,), with probabilities (n, C)."""
    above = rng.random((len(chance), 1)) > chance.cumsum(axis=1)
    return above.sum(axis=1).clip(max=chance.shape[1] - 1)


def forecasts_of_classes(
    rng: np.random.Generator, shape: str, classes: int, n: int
) -> tuple[xr.Dataset, None]:
    """Return probabilities of one classifier."""
    logs = rng.normal(0, SPREAD, (n, classes))
    actual = random_classes(rng, class_chances(shape, logs))
    return from_probabilities(actual, softmax(logs, axis=1), labels=list(range(classes))), None


def measures_of_classes(
    _: np.random.Generator, shape: str, classes: int, n: int
) -> Mapping[str, float]:
    """Return the true measures, from 40,000 forecasts with every class weighted by probability."""
    logs = np.random.default_rng(99).normal(0, SPREAD, (POPULATION, classes))
    forecast, chance = softmax(logs, axis=1), class_chances(shape, logs)
    weight = chance.T.ravel()[None] / POPULATION
    code = np.repeat(np.arange(classes), POPULATION)
    copies = np.tile(forecast, (classes, 1))[None]

    def one_vs_rest(k, *, averaged=False):
        curve = np.tile(smooth_curve(forecast[:, k], chance[:, k]), classes)[None, None]
        return Forecasts(copies[..., k], (code == k) * 1.0, weight, lambda: curve)

    highest = forecast.argmax(axis=1)[:, None]
    correct = np.take_along_axis(chance, highest, 1)[:, 0]
    top_curve = np.tile(smooth_curve(forecast.max(axis=1), correct), classes)[None, None]
    hits = (copies.argmax(-1)[0] == code) * 1.0
    top_label = Forecasts(copies.max(-1), hits, weight, lambda: top_curve)
    chances = np.tile(chance, (classes, 1))[None, None]
    population = ClassForecasts(copies, code, weight, one_vs_rest, (top_label,), lambda: chances)
    return {name: float(resolve(name)(population)[0, 0]) for name in MEASURES}


def smooth_curve(forecast: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return the forecasts plus their mean error in each of 400 quantile groups."""
    order = np.argsort(forecast)
    group = np.arange(len(order)) * 400 // len(order)
    departure = np.bincount(group, (chance - forecast)[order]) / np.bincount(group)
    curve = forecast.copy()
    curve[order] += departure[group]
    return curve


def posterior_intervals(evidence: xr.Dataset, measures=MEASURES) -> Mapping[str, np.ndarray]:
    """Return 95% intervals of the measures of one classifier."""
    kernels = [resolve(name) for name in measures]
    answers = _posterior(evidence).distributions(kernels, draws=DRAWS)
    return {name: answer.eti(0.95) for name, answer in zip(measures, answers, strict=True)}


def _posterior(evidence):
    return dirichlet_calibration(evidence) if "class" in evidence.dims else calibration(evidence)


# Table "softmax": proper scores, areas and top-label calibration errors with 2 to 100 classes. The
# true probabilities are softmax(z) with normal logits z. The forecasts are softmax(slope * z), that
# is, calibrated, too extreme or not extreme enough. The posterior is compared with the t interval
# of the mean contribution of an example: its score, or its influence on the mean area (DeLong et
# al., 1988, doi:10.2307/2531595). Table "softmax_differences" has differences from a rival, whose
# logits have additional noise with standard deviation 0.5.

NOISE = 0.5


class SoftmaxSetting(NamedTuple):
    """Number of classes, sd of the logits, slope of the forecasts, and number of examples."""

    classes: int
    logits: float
    slope: float
    n: int


LOGITS = ((1, 1), (3, 0.6), (3, 1), (3, 1.6), (5, 1), (5, 1.6))
SIZES = {2: (100, 300, 1000, 5000), 3: (100, 1000), 10: (150, 500), 20: (300, 1000), 50: (700,)}
SOFTMAX = dict(
    enumerate(
        [
            *(
                SoftmaxSetting(classes, *logits, n)
                for classes, sizes in SIZES.items()
                for n in sizes
                for logits in LOGITS
            ),
            SoftmaxSetting(3, 3, 1, 5000),
            SoftmaxSetting(10, 3, 1, 5000),
            SoftmaxSetting(100, 3, 1, 1500),
            SoftmaxSetting(100, 5, 1.6, 1500),
        ],
        start=1,
    )
)


def logits_of_classes(rng, classes, spread, slope, n, noise):
    """Return the logits of the outcomes, of the forecasts and of a rival's forecasts, (n, C)."""
    logits = rng.normal(0, spread, (n, classes))
    forecast = slope * logits
    return logits, forecast, forecast + rng.normal(0, noise, logits.shape)


def softmax_forecasts(
    rng: np.random.Generator, classes: int, spread: float, slope: float, n: int, noise: float = 0.0
) -> tuple[xr.Dataset, None]:
    """Return probabilities, with every class in the sample; with noise, also for a rival."""
    actual = np.zeros(0)
    while len(np.unique(actual)) < classes:
        logits, *forecasts = logits_of_classes(rng, classes, spread, slope, n, noise)
        actual = random_classes(rng, softmax(logits, axis=1))
    probabilities = [softmax(forecast, axis=1) for forecast in forecasts]
    if classes == 2:
        probabilities = [forecast[:, 1].clip(1e-15, 1 - 1e-15) for forecast in probabilities]
    scores = dict(zip("ab", probabilities, strict=True)) if noise else probabilities[0]
    return from_probabilities(actual, scores, labels=list(range(classes))), None


def softmax_measures(
    _: np.random.Generator, classes: int, spread: float, slope: float, n: int, noise: float = 0.0
) -> Mapping[str, float]:
    """Return the measures of a large population, or their differences from the rival."""
    rng, size = np.random.default_rng(99), max(40_000, 2_000_000 // classes)
    logits, *forecasts = logits_of_classes(rng, classes, spread, slope, size, noise)
    chance = softmax(logits, axis=1)
    measures = _measures_of_logits(chance, forecasts[0])
    if not noise:
        return measures
    rival = _measures_of_logits(chance, forecasts[1])
    return {name: measures[name] - rival[name] for name in names_of(classes)[:3]}


def names_of(classes: int) -> list[str]:
    """Return the measures: two scores, the area and the calibration error."""
    return [
        "log_loss",
        "brier",
        *(("auc", "ece") if classes == 2 else ("auc_macro", "ece_top_label")),
    ]


def _measures_of_logits(chance, logits):
    log_forecast = log_softmax(logits, axis=1)
    forecast, classes = np.exp(log_forecast), logits.shape[1]
    brier = (forecast**2).sum(axis=1) - 2 * (chance * forecast).sum(axis=1) + 1
    column = np.ones(len(logits), int) if classes == 2 else forecast.argmax(axis=1)
    correct, highest = (values[np.arange(len(logits)), column] for values in (chance, forecast))
    areas = [_area(forecast[:, k], chance[:, k]) for k in _class_columns(classes)]
    values = (
        -(chance * log_forecast).sum(axis=1).mean(),
        brier.mean() / (2 if classes == 2 else 1),
        np.mean(areas),
        np.abs(smooth_curve(highest, correct) - highest).mean(),
    )
    return dict(zip(names_of(classes), values, strict=True))


def _class_columns(classes):
    """Return the classes whose areas are averaged. For two classes, the positive one only."""
    return [1] if classes == 2 else range(classes)


def _area(forecast, chance):
    """Return the area under the ROC curve of forecasts with these true probabilities."""
    chance = chance[np.argsort(forecast)]
    complement = 1 - chance
    ranks = complement.cumsum() - complement / 2
    return chance @ ranks / chance.sum() / complement.sum()


def posterior_differences(evidence: xr.Dataset, measures: list[str]) -> Mapping[str, np.ndarray]:
    """Return 95% intervals of the differences from the rival."""
    draws = _posterior(evidence).draw([resolve(name) for name in measures], DRAWS, generator(0, 0))
    return {
        name: np.quantile(values[:, 0] - values[:, 1], [0.025, 0.975])
        for name, values in zip(measures, draws, strict=True)
    }


def t_intervals(evidence: xr.Dataset, measures: list[str]) -> Mapping[str, np.ndarray]:
    """Return 95% t intervals of the mean contribution, or of its difference from the rival."""
    actual, scores = evidence["actual"].values, evidence["score"]
    if "class" not in scores.dims:
        scores = xr.concat([1 - scores, scores], "class").transpose(..., "class")
    if "classifier" in scores.dims:
        first, second = (_contributions(forecast, actual) for forecast in scores.values)
        values = first - second
    else:
        values = _contributions(scores.values, actual)
    error = values.std(axis=1, ddof=1) / len(actual) ** 0.5
    quantiles = student_t.ppf([0.025, 0.975], len(actual) - 1)
    intervals = values.mean(axis=1)[:, None] + error[:, None] * quantiles
    return dict(zip(measures, intervals, strict=True))


def _contributions(forecast, actual):
    """Return each example's log loss, Brier score and influence on the (mean) area, (3, n)."""
    size, classes = forecast.shape
    outcome = np.eye(classes)[actual]
    brier = ((forecast - outcome) ** 2).sum(axis=1) / (2 if classes == 2 else 1)
    log_loss = -np.log(forecast[np.arange(size), actual])
    influence = [_influence(forecast[:, k], actual == k) for k in _class_columns(classes)]
    return np.stack([log_loss, brier, np.mean(influence, axis=0)])


def _influence(forecast, positive):
    """Return the area plus the influence of each example on it, (n,), by DeLong's placements."""
    ranks, positives = rankdata(forecast), positive.sum()
    negatives = len(forecast) - positives
    placement = np.empty(len(forecast))
    placement[positive] = (ranks[positive] - rankdata(forecast[positive])) / negatives
    placement[~positive] = 1 - (ranks[~positive] - rankdata(forecast[~positive])) / positives
    area = placement[positive].mean()
    size_of_class = np.where(positive, positives, negatives)
    return area + (placement - area) * len(forecast) / size_of_class


def softmax_methods(classes, *_):
    """Return the posterior, and the t interval for all measures but the calibration error."""
    measures = names_of(classes)
    return {
        "posterior": partial(posterior_intervals, measures=measures),
        "t": partial(t_intervals, measures=measures[:3]),
    }


def difference_methods(classes, *_):
    """Return both methods for differences, for all measures but the calibration error."""
    methods = {"posterior": posterior_differences, "t": t_intervals}
    return {
        name: partial(method, measures=names_of(classes)[:3]) for name, method in methods.items()
    }


EXPERIMENTS = [
    Experiment(
        "class_probabilities",
        CLASSES,
        forecasts_of_classes,
        {"posterior": posterior_intervals},
        measures_of_classes,
        table="coverage",
    ),
    Experiment(
        "class_probabilities",
        SOFTMAX,
        softmax_forecasts,
        softmax_methods,
        softmax_measures,
        table="softmax",
    ),
    Experiment(
        "class_probabilities",
        SOFTMAX,
        partial(softmax_forecasts, noise=NOISE),
        difference_methods,
        partial(softmax_measures, noise=NOISE),
        table="softmax_differences",
    ),
]
