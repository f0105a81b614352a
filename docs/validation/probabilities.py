"""Coverage for probabilities of two classes: proper scores, recalibration, calibration curves."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import brentq
from scipy.special import expit, logit

from bayescm.classical.probabilities import isotonic_band
from bayescm.evidence.scores import from_probabilities
from bayescm.measures.catalogue import resolve
from bayescm.measures.probabilities import Forecasts
from bayescm.posteriors.calibration import calibration
from bayescm.simulation import Experiment, generator

# Table "coverage": proper scores, recalibration and the calibration curve. The log odds of the
# forecasts are normal with standard deviation 1.3. There are seven shapes of the calibration curve:
# calibrated, forecasts too extreme ("extreme") or not extreme enough ("timid"), an S, flat above a
# threshold ("hockey"), with a bump, and calibrated with 15% of exact zeros and ones, which are
# wrong in 2% and 3% of the cases ("spike"). The mean of the log odds gives the prevalence of the
# setting. A second classifier has the same log odds plus noise with standard deviation 0.5.

MEASURES = (
    "brier",
    "brier_skill",
    "log_loss",
    "calibration_in_the_large",
    "calibration_intercept",
    "calibration_slope",
    "ece",
)
PAIRED = ("brier", "log_loss")
SHAPES = ("calibrated", "extreme", "timid", "s", "hockey", "bump", "spike")
SPREAD, SPIKE, NOISE = 1.3, 0.15, 0.5
POPULATION, DRAWS = 400_000, 1000
TAILS = [0.025, 0.975]


class ForecastSetting(NamedTuple):
    """Shape of the calibration curve, prevalence, and number of examples."""

    shape: str
    prevalence: float
    n: int


SIZES = ((0.03, 700), (0.2, 200), (0.5, 500), (0.2, 2000), (0.2, 100))
SCORES = dict(
    enumerate((ForecastSetting(shape, *size) for size in SIZES for shape in SHAPES), start=1)
)


def forecasts(rng: np.random.Generator, shape: str, size: int, center: float) -> np.ndarray:
    """Return forecasts with normal log odds. With a spike, some of them are 0 or 1."""
    forecast = expit(rng.normal(center, SPREAD, size))
    if shape == "spike":
        uniform = rng.random(size)
        forecast[uniform < SPIKE * (1 - expit(center))] = 0
        forecast[uniform > 1 - SPIKE * expit(center)] = 1
    return forecast


def chances(shape: str, forecast: np.ndarray, center: float = 0.0) -> np.ndarray:
    """Return the true probability of the positive class, given the forecasts."""
    if shape == "calibrated":
        return forecast
    if shape == "spike":
        return np.select([forecast == 0, forecast == 1], [0.02, 0.97], forecast)
    odds = logit(forecast)
    distance = odds - center
    log_odds = {
        "extreme": center + 0.55 * distance,
        "timid": center + 1.7 * distance,
        "s": odds + 0.8 * np.sin(2.2 * distance),
        "hockey": center + np.minimum(distance, 0.255 + 0.15 * distance),
        "bump": odds + 1.3 * np.exp(-(((distance - 0.5) / 0.5) ** 2)),
    }
    return expit(log_odds[shape])


@lru_cache
def center_of(shape: str, prevalence: float) -> float:
    """Return the mean of the forecasts' log odds that gives the prevalence."""

    def excess(center):
        forecast = forecasts(np.random.default_rng(0), shape, POPULATION, center)
        return chances(shape, forecast, center).mean() - prevalence

    return brentq(excess, -7, 3, xtol=1e-3)


def noisy(forecast: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the forecasts of the second classifier."""
    with np.errstate(divide="ignore"):  # forecasts can be exactly 0 or 1
        return expit(logit(forecast) + rng.normal(0, NOISE, len(forecast)))


def two_classifiers(
    rng: np.random.Generator, shape: str, prevalence: float, n: int
) -> tuple[xr.Dataset, None]:
    """Return probabilities of two classifiers, with true probabilities in ``chance``."""
    center = center_of(shape, prevalence)
    forecast = forecasts(rng, shape, n, center)
    chance = chances(shape, forecast, center)
    actual = (rng.random(n) < chance).astype(int)
    scores = {"a": forecast, "b": noisy(forecast, rng)}
    evidence = from_probabilities(actual, scores, positive=1, labels=[0, 1])
    return evidence.assign(chance=("example", chance)), None


def measures_of_population(
    _: np.random.Generator, shape: str, prevalence: float, n: int
) -> Mapping[str, float]:
    """Return the true measures, from 400,000 forecasts, and 0 for the curve (`band_interval`)."""
    rng, center = np.random.default_rng(99), center_of(shape, prevalence)
    forecast = forecasts(rng, shape, POPULATION, center)
    chance = chances(shape, forecast, center)
    scores = np.tile(np.stack([forecast, noisy(forecast, rng)]), 2)
    outcome = np.repeat([0.0, 1.0], POPULATION)
    weight = np.concatenate([1 - chance, chance])[None] / POPULATION
    curve = np.broadcast_to(np.tile(chance, 2), (1, 2, 2 * POPULATION))
    population = Forecasts(scores, outcome, weight, lambda: curve)
    finite = [name for name in MEASURES if (shape, name) != ("spike", "log_loss")]
    values = {name: resolve(name)(population)[0] for name in finite}
    truth = {name: float(value[0]) for name, value in values.items()}
    for name in PAIRED:
        if name in values:
            difference = float(values[name] @ [1, -1])
            truth |= {f"{name} paired": difference, f"{name} unpaired": difference}
    return truth | {"ece two-sided": truth["ece"], "curve": 0.0}


def posterior_intervals(evidence: xr.Dataset) -> Mapping[str, np.ndarray]:
    """
    Return 95% intervals of the measures, of paired differences, and of the curve.

    Unpaired differences treat the samples as independent. For the expected calibration error, there
    is also the equal-tailed interval ("ece two-sided"). With forecasts of exactly 0 or 1, there is
    no interval of the log loss.
    """
    exact = bool(((evidence["score"] == 0) | (evidence["score"] == 1)).any())
    measures, paired = (
        [name for name in names if not (exact and name == "log_loss")]
        for names in (MEASURES, PAIRED)
    )
    forecast_posterior = first_classifier(evidence)
    answers = forecast_posterior.distributions([resolve(name) for name in measures], draws=DRAWS)
    intervals = {name: answer.eti(0.95) for name, answer in zip(measures, answers, strict=True)}
    intervals["ece two-sided"] = answers[measures.index("ece")].quantile(TAILS)
    posterior = calibration(evidence.drop_vars("chance"))
    draws = posterior.draw([resolve(name) for name in paired], DRAWS, generator(0, 0))
    for name, scores in zip(paired, draws, strict=True):
        interval = np.quantile(scores[:, 0] - scores[:, 1], TAILS)
        length = np.hypot(*np.diff(np.quantile(scores, TAILS, axis=0), axis=0)[0])
        intervals[f"{name} paired"] = interval
        intervals[f"{name} unpaired"] = interval.mean() + length * np.array([-0.5, 0.5])
    return intervals | smooth_band(evidence, forecast_posterior)


def first_classifier(evidence):
    """Return the posterior of the first of two classifiers."""
    return calibration(evidence.drop_vars("chance").sel(classifier="a", drop=True))


def band_interval(band: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """
    Return an interval that contains 0 if a band contains the whole curve.

    The lower end is the largest distance of the curve from the band. The length is the mean width
    of the band.
    """
    distance = max(0, (band[:, 0] - chance).max(), (chance - band[:, 1]).max())
    return distance + np.array([0, (band[:, 1] - band[:, 0]).mean()])


def inner_forecasts(evidence: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return about 60 forecasts between the 1% and 99% quantiles, and true probabilities."""
    forecast, chance = evidence["score"].values[0], evidence["chance"].values
    order = np.argsort(forecast)
    inner = order[(forecast[order] > 0) & (forecast[order] < 1)]
    inner = inner[len(inner) // 100 : len(inner) - len(inner) // 100 : max(1, len(inner) // 60)]
    return forecast[inner], chance[inner]


def smooth_band(evidence: xr.Dataset, posterior=None) -> Mapping[str, np.ndarray]:
    """Return the band of the smooth curve, as an interval from `band_interval`."""
    at, chance = inner_forecasts(evidence)
    posterior = posterior or first_classifier(evidence)
    return {"curve": band_interval(posterior.band(at, 0.95, method="smooth")[0][0], chance)}


# Table "bands": the smooth band, compared with a band that has guaranteed coverage for increasing
# curves, on the same kinds of data.

BANDS = dict(
    enumerate(
        (
            ForecastSetting(shape, 0.5, n)
            for shapes in (SHAPES[:6], SHAPES[6:])
            for n in (250, 500, 1000)
            for shape in shapes
        ),
        start=1,
    )
)


def isotonic(evidence: xr.Dataset) -> Mapping[str, np.ndarray]:
    """Return the isotonic band, as an interval from `band_interval`."""
    at, chance = inner_forecasts(evidence)
    classifier = evidence.drop_vars("chance").sel(classifier="a", drop=True)
    return {"curve": band_interval(isotonic_band(classifier, at=at)["interval"].values, chance)}


# Experiment "calibration_bands": the band that `calibration` chooses for curves that are smooth,
# have steps, or have few distinct forecasts. Continuous forecasts are uniform, or have normal log
# odds with standard deviation 1.3. Few distinct forecasts are equally probable. At these, the true
# probability is the forecast itself, or alternately 0.12 above and below it. Only ``printed_step``
# was used to choose how steps are detected.

# Positions of the steps, and the levels between them.
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


def _few_values():
    """Return the distinct forecasts and their true probabilities, for each shape."""
    printed = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([0.05, 0.35, 0.4, 0.8, 0.85])
    shapes = {"printed_values": printed}
    for number in (2, 3, 5, 11, 20):
        values = np.arange(11) / 10 if number == 11 else np.linspace(0.15, 0.85, number)
        jagged = np.clip(values + 0.12 * (-1.0) ** np.arange(number), 0, 1)
        shapes |= {f"values_{number}": (values, values), f"jagged_{number}": (values, jagged)}
    return shapes


FEW_VALUES = _few_values()
ROUNDED = ("rounded", "rounded_step")
CURVES = (*SHAPES[:5], *STEPS, "ramp_and_step", *ROUNDED, *FEW_VALUES)


class CurveSetting(NamedTuple):
    """Shape of the curve, and number of examples."""

    shape: str
    n: int


ANY_CURVE = dict(
    enumerate((CurveSetting(shape, n) for shape in CURVES for n in (60, 150, 500, 2000)), start=1)
)


def curve_of(shape: str, forecast: np.ndarray) -> np.ndarray:
    """Return the true probabilities, given the forecasts, for one of `CURVES`."""
    if shape in FEW_VALUES:
        values, probability = FEW_VALUES[shape]
        return probability[np.abs(forecast[:, None] - values).argmin(axis=1)]
    if shape in STEPS:
        steps, levels = STEPS[shape]
        return np.array(levels)[np.searchsorted(steps, forecast, side="right")]
    if shape == "ramp_and_step":
        return 0.05 + 0.4 * forecast + 0.4 * (forecast > 0.4)
    if shape == "rounded_step":
        return np.where(forecast > 0.595, 0.7, 0.2)
    return forecast if shape == "rounded" else chances(shape, forecast)


def sample_of_curve(rng: np.random.Generator, shape: str, n: int) -> tuple[xr.Dataset, Mapping]:
    """Return forecasts with their true probabilities, and true values of 0 (`selected_band`)."""
    if shape in FEW_VALUES:
        forecast = rng.choice(FEW_VALUES[shape][0], n)
    elif shape in STEPS or shape in ("ramp_and_step", "rounded_step"):
        forecast = rng.random(n)
    else:
        forecast = expit(rng.normal(0, SPREAD, n))
    if shape in ROUNDED:
        forecast = forecast.round(2).clip(0.01, 0.99)
    chance = curve_of(shape, forecast)
    actual = (rng.random(n) < chance).astype(int)
    evidence = from_probabilities(actual, forecast, positive=1, labels=[0, 1])
    truth = dict.fromkeys(("curve", "smooth", "not smooth", "grouped"), 0.0)
    return evidence.assign(chance=("example", chance)), truth


def selected_band(evidence: xr.Dataset) -> Mapping[str, np.ndarray]:
    """
    Return the selected band and the smooth band, as intervals from `band_interval`.

    ``curve`` contains 0 if the selected band contains its target. The target is the whole curve
    between the 1% and 99% quantiles of the forecasts or, if the method is "grouped", its means over
    groups. ``smooth`` contains 0 if the smooth band contains the whole curve. The coverage of
    ``not smooth`` is the proportion of data sets in which another band is selected, and the
    coverage of ``grouped`` is the proportion with the method "grouped".
    """
    posterior = calibration(evidence.drop_vars("chance"))
    values, chance = inner_values(evidence)
    (band,), _ = posterior.band(values, 0.95)
    (method,) = posterior.methods
    target = chance
    if method == "grouped":
        group = np.unique(band, axis=0, return_inverse=True)[1].ravel()
        target = (np.bincount(group, chance) / np.bincount(group))[group]
    intervals = {"curve": band_interval(band, target), "smooth": np.full(2, np.nan)}
    if len(np.unique(evidence["score"])) > 2:
        smooth = posterior.band(values, 0.95, method="smooth")[0][0]
        intervals["smooth"] = band_interval(smooth, chance)
    intervals["not smooth"] = np.full(2, 0.0 if method != "smooth" else 1.0)
    intervals["grouped"] = np.full(2, 0.0 if method == "grouped" else 1.0)
    return intervals


def inner_values(evidence: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return about 100 distinct forecasts between the 1% and 99% quantiles, and probabilities."""
    forecast, chance = evidence["score"].values, evidence["chance"].values
    low, high = np.quantile(forecast, [0.01, 0.99], method="inverted_cdf")
    values, first = np.unique(forecast, return_index=True)
    inner = (low <= values) & (values <= high)
    step = max(1, inner.sum() // 100)
    return values[inner][::step], chance[first][inner][::step]


EXPERIMENTS = [
    Experiment(
        "probabilities",
        SCORES,
        two_classifiers,
        {"posterior": posterior_intervals},
        measures_of_population,
        table="coverage",
    ),
    Experiment(
        "probabilities",
        BANDS,
        two_classifiers,
        {"smooth": smooth_band, "isotonic": isotonic},
        lambda *_: {"curve": 0.0},
        table="bands",
    ),
    Experiment("calibration_bands", ANY_CURVE, sample_of_curve, {"band": selected_band}),
]
