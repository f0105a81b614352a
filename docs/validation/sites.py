"""Coverage for probabilities on many sites: calibration of sites, and differences."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from bayescm.evidence.scores import from_probabilities
from bayescm.measures.catalogue import resolve
from bayescm.posteriors import calibration, hierarchical_calibration
from bayescm.simulation import Experiment

# Table "calibration": calibration at the smallest, the median and the largest site, on average over
# the population of sites ("population"), and at a new site ("new"). The log odds of the forecasts
# at a site are normal with standard deviation 1.3 around a mean of the site. The true log odds have
# a level and a slope for each site (Cox, 1958, doi:10.1093/biomet/45.3-4.562), which are normal
# between sites. The means of level and slope are sampled for every data set, from N(0, 0.3^2) and
# uniformly between 0.6 and 1.2. Site sizes differ widely. The partially pooled intervals ("pooled")
# are compared with intervals that treat all examples as one site ("one sample").

MEASURES = ("calibration_slope", "calibration_in_the_large", "brier")
CENTER, SPREAD, DRAWS, MANY = -0.8, 1.3, 500, 2000


class SiteSetting(NamedTuple):
    """Number of sites, mean size, and sds of level and slope between sites."""

    sites: int
    size: int
    level_sd: float
    slope_sd: float


SITES = {
    1: SiteSetting(6, 150, 0.3, 0.15),
    2: SiteSetting(15, 100, 0.3, 0.15),
    3: SiteSetting(15, 100, 0.6, 0.3),
    4: SiteSetting(30, 60, 0.3, 0.0),
}


class Sites(NamedTuple):
    """Mean log odds of the forecasts, and level and slope of the true log odds, by site (G,)."""

    center: np.ndarray
    level: np.ndarray
    slope: np.ndarray

    def log_odds(self, odds: np.ndarray) -> np.ndarray:
        """Return the true log odds, given the log odds of the forecasts (G, ...)."""
        return odds + self.level + (self.slope - 1) * (odds - CENTER)

    def take(self, index: Any) -> "Sites":
        """Return the parameters at an index, e.g. for each example, or with additional axes."""
        return Sites(*(values[index] for values in self))


class PopulationOfSites:
    """Population of sites, with a mean level and a mean slope sampled for every data set."""

    def __init__(self, rng: np.random.Generator, level_sd: float, slope_sd: float):
        self.rng, self.sd = rng, (level_sd, slope_sd)
        self.mean = rng.normal(0, 0.3), rng.uniform(0.6, 1.2)

    def draw(self, number: int) -> Sites:
        """Return a random sample of sites."""
        center = self.rng.normal(CENTER, 0.3, number)
        return Sites(center, *map(self.rng.normal, self.mean, self.sd, [number, number]))

    def sizes(self, number: int, mean: float) -> np.ndarray:
        """Return random numbers of examples per site, which can differ by a factor of ten."""
        return np.maximum(self.rng.poisson(mean * self.rng.gamma(2, 0.5, number)), 8)


def calibration_of_sites(sites: Sites) -> Mapping[str, np.ndarray]:
    """Return the true measures of each site, by Gauss-Hermite quadrature over the forecasts."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    weights = weights / weights.sum()
    sites = sites.take(np.s_[:, None])
    odds = sites.center + SPREAD * nodes
    forecast, chance = expit(odds), expit(sites.log_odds(odds))
    squares = chance * (1 - forecast) ** 2 + (1 - chance) * forecast**2
    values = sites.slope[:, 0], (chance - forecast) @ weights, squares @ weights
    return dict(zip(MEASURES, values, strict=True))


def probabilities_of_sites(
    rng: np.random.Generator, sites: int, size: int, level_sd: float, slope_sd: float
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return probabilities by site, in increasing order of size, and the true measures."""
    population = PopulationOfSites(rng, level_sd, slope_sd)
    observed = population.draw(sites)
    site = np.repeat(np.arange(sites), np.sort(population.sizes(sites, size)))
    examples = observed.take(site)
    odds = rng.normal(examples.center, SPREAD)
    actual = (rng.random(len(site)) < expit(examples.log_odds(odds))).astype(int)
    truths = {
        "population": {
            name: values.mean()
            for name, values in calibration_of_sites(population.draw(MANY)).items()
        },
        "new": {name: value[0] for name, value in calibration_of_sites(population.draw(1)).items()},
    }
    measures = calibration_of_sites(observed)
    for size_name, index in _by_size(sites).items():
        truths[size_name] = {name: values[index] for name, values in measures.items()}
    evidence = from_probabilities(actual, expit(odds), positive=1, labels=[0, 1], group=site)
    return evidence, {
        f"{name}, {estimand}": float(value)
        for estimand, values in truths.items()
        for name, value in values.items()
    }


def _by_size(sites):
    return {"smallest": 0, "middle": sites // 2, "largest": sites - 1}


def pooled(evidence: xr.Dataset) -> Mapping[str, np.ndarray]:
    """Return 95% intervals with the sites partially pooled."""
    posterior = hierarchical_calibration(evidence)
    intervals = {}
    for estimand in ("population", "new"):
        for name, interval in _intervals(posterior, of=estimand):
            intervals[f"{name}, {estimand}"] = interval
    for name, of_sites in _intervals(posterior.by("group")):
        for size_name, index in _by_size(len(of_sites)).items():
            intervals[f"{name}, {size_name}"] = of_sites[index]
    return intervals


def one_sample(evidence: xr.Dataset) -> Mapping[str, np.ndarray]:
    """Return 95% intervals that treat all examples as one site, for every estimand."""
    posterior = calibration(evidence.drop_vars("group"))
    estimands = ["population", "new", *_by_size(3)]
    return {
        f"{name}, {estimand}": interval
        for name, interval in _intervals(posterior)
        for estimand in estimands
    }


def _intervals(posterior, **estimand):
    measures = [resolve(name) for name in MEASURES]
    answers = posterior.distributions(measures, draws=DRAWS, **estimand)
    return [(name, answer.eti(0.95)) for name, answer in zip(MEASURES, answers, strict=True)]


def split_names(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with separate columns for measure, estimand and, if given, method."""
    parts = table["measure"].str.split(", ", expand=True)
    table = table.assign(measure=parts[0])
    table.insert(table.columns.get_loc("measure") + 1, "truth_of", parts[1])
    return table if parts.shape[1] == 2 else table.assign(method=parts[2])


# Table "differences": differences between two classifiers on the same sites. The true log odds are
# as above. The classifiers add independent errors to the log odds of the examples. The log odds of
# the second classifier are also stretched and shifted. Paired draws ("paired") are compared with
# the same draws in random order ("apart"), and with all examples as one sample ("one sample").

SCORES = ("brier", "log_loss", "calibration_in_the_large")
METHODS = ("paired", "apart", "one sample")
DRAWS_OF_DIFFERENCES = 600


class PairSetting(NamedTuple):
    """Sites as above, errors of the first classifier, and shift, stretch, errors of the second."""

    sites: int
    size: int
    level_sd: float
    slope_sd: float
    first_error: float
    shift: float
    stretch: float
    second_error: float


PAIRS = {
    1: PairSetting(6, 150, 0.3, 0.15, 0.0, 0.0, 1.0, 0.5),
    2: PairSetting(15, 100, 0.3, 0.15, 0.3, 0.1, 0.9, 0.5),
    3: PairSetting(15, 100, 0.6, 0.3, 0.0, 0.0, 0.7, 0.0),
    4: PairSetting(15, 100, 0.3, 0.15, 0.4, 0.0, 1.0, 0.4),
    5: PairSetting(6, 150, 0.6, 0.3, 0.4, 0.0, 1.0, 0.4),
    6: PairSetting(30, 60, 0.3, 0.0, 0.2, -0.1, 1.2, 0.2),
}


def scores_of_sites(sites: Sites, shift: float, stretch: float, error: float) -> np.ndarray:
    """Return the measures of one classifier, averaged over sites, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(31)
    weights = weights / weights.sum()
    sites = sites.take(np.s_[:, None, None])
    odds = sites.center + SPREAD * nodes[:, None]
    chance = expit(sites.log_odds(odds))
    forecast = expit(shift + stretch * odds + error * nodes)
    logs = -chance * np.log(forecast) - (1 - chance) * np.log1p(-forecast)
    squares = chance * (1 - forecast) ** 2 + (1 - chance) * forecast**2
    values = np.stack([squares, logs, chance - forecast])
    return np.einsum("mgij,i,j->mg", values, weights, weights).mean(axis=1)


def two_classifiers(
    rng: np.random.Generator, *setting: float
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return probabilities of two classifiers, and the true differences.

    These refer to the population of sites and to the observed sites.
    """
    setting = PairSetting(*setting)
    population = PopulationOfSites(rng, setting.level_sd, setting.slope_sd)
    observed, many = population.draw(setting.sites), population.draw(MANY)
    site = np.repeat(np.arange(setting.sites), population.sizes(setting.sites, setting.size))
    examples = observed.take(site)
    odds = rng.normal(examples.center, SPREAD)
    actual = (rng.random(len(site)) < expit(examples.log_odds(odds))).astype(int)
    first = odds + setting.first_error * rng.standard_normal(len(odds))
    second = setting.shift + setting.stretch * odds
    second += setting.second_error * rng.standard_normal(len(odds))
    scores = {"a": expit(first), "b": expit(second)}
    evidence = from_probabilities(actual, scores, positive=1, labels=[0, 1], group=site)
    truth: dict[str, float] = {}
    for estimand, sites in (("population", many), ("finite", observed)):
        difference = scores_of_sites(sites, 0, 1, setting.first_error)
        difference -= scores_of_sites(sites, setting.shift, setting.stretch, setting.second_error)
        for name, value in zip(SCORES, difference, strict=True):
            truth |= {f"{name}, {estimand}, {method}": float(value) for method in METHODS}
    return evidence, truth


def difference_intervals(evidence: xr.Dataset) -> Mapping[str, np.ndarray]:
    """Return 95% intervals of the differences for every method, from the same draws."""
    measures, rng = [resolve(name) for name in SCORES], np.random.default_rng(0)
    one_site = calibration(evidence.drop_vars("group"))
    by_site, intervals = hierarchical_calibration(evidence), {}
    draws_of_one = one_site.draw(measures, DRAWS_OF_DIFFERENCES, rng)
    for estimand in ("population", "finite"):
        draws = by_site.draw(measures, DRAWS_OF_DIFFERENCES, rng, of=estimand)
        for name, values, values_of_one in zip(SCORES, draws, draws_of_one, strict=True):
            first, second = values[:, 0], values[:, 1]
            differences = (
                first - second,
                first - rng.permutation(second),
                values_of_one[:, 0] - values_of_one[:, 1],
            )
            for method, difference in zip(METHODS, differences, strict=True):
                interval = np.quantile(difference, [0.025, 0.975])
                intervals[f"{name}, {estimand}, {method}"] = interval
    return intervals


EXPERIMENTS = [
    Experiment(
        "sites",
        SITES,
        probabilities_of_sites,
        {"pooled": pooled, "one sample": one_sample},
        table="calibration",
        reshape=split_names,
    ),
    Experiment(
        "sites",
        PAIRS,
        two_classifiers,
        {"all": difference_intervals},
        table="differences",
        reshape=split_names,
    ),
]
