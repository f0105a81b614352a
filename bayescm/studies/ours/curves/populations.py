"""
Coverage of what is said about curves: populations of scores whose curves are known.

Four populations: ``binormal``; ``heavy``, Student's t with two degrees of freedom, where negatives
turn up among the highest scores; ``discrete``, a binormal score rounded to eleven levels; and
``tied``, one whose lower part is a single score (what a rectifier or a rule gives). The
positive class is shifted until the area is as asked.
"""

from functools import cache, partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from bayescm import curves
from bayescm.classical.curves import delong
from bayescm.curves import drawing
from bayescm.curves.numbers import interval_of
from bayescm.curves.whole import GRID
from bayescm.direct.roc import curve
from bayescm.evidence.scored.scores import from_scores
from bayescm.simulation.coverage import Study

POPULATIONS = ("binormal", "heavy", "discrete", "tied")
AREAS = (0.8, 0.96, 0.99)
SIZES = ((50, 0.3), (50, 0.16), (200, 0.3), (200, 0.04), (1000, 0.3))
FPR = np.concatenate([GRID, [1.0]])
RECALL = np.concatenate([GRID[GRID >= 0.01], [1.0]])
NUMBERS = {
    "auc": curve.auc,
    "average_precision": curve.average_precision,
    "max_f1": curve.max_f1,
}
_RESOLUTION = 512
_FLOOR = 0.2


def study(population: str, area: float, n: int, prevalence: float, draws: int = 1000) -> Study:
    """Return the study of one population, true area, sample size and prevalence."""
    generate = partial(sample, population=population, area=area, n=n, prevalence=prevalence)
    methods: dict[str, Any] = {"logit DeLong": classical}
    methods["posterior"] = partial(posterior, draws=draws)
    return Study(f"{population} {area} {n} {prevalence}", generate, methods)


def sample(
    rng: np.random.Generator, *, population: str, area: float, n: int, prevalence: float
) -> tuple[xr.Dataset, dict[str, float]]:
    """Draw a test set with at least three examples of each class, and the true values."""
    positives = 0
    while not 3 <= positives <= n - 3:
        positives = rng.binomial(n, prevalence)
    actual = np.arange(n) < positives
    shift = find_shift(population, area)
    scores = from_noise(population, _noise(population, rng.random(n)) + shift * actual)
    evidence = from_scores(actual, scores)
    truth = whole(population, shift, prevalence)
    evidence.attrs["tpr"] = curve.tpr_at(truth, FPR)[0]
    evidence.attrs["precision"] = curve.precision_at(truth, RECALL)[0]
    numbers = {name: kernel(truth)[0] for name, kernel in NUMBERS.items()}
    numbers |= {f"{name} hdi": value for name, value in numbers.items()}
    return evidence, numbers | dict.fromkeys(["roc band", "roc pointwise", "pr band"], 0.0)


def posterior(evidence: xr.Dataset, draws: int) -> dict[str, tuple[float, float]]:
    """
    Return the intervals of the model, all from the same draws.

    The interval of a band is (0, width) where it holds the whole curve, and does not hold 0 where
    it does not.
    """
    drawn = drawing.draw(evidence, draws, 0, resolution=_RESOLUTION)
    numbers = {name: drawn.map(kernel, name) for name, kernel in NUMBERS.items()}
    of_roc = (partial(curve.tpr_at, fpr=FPR), "tpr", {"fpr": FPR})
    of_pr = (partial(curve.precision_at, recall=RECALL), "precision", {"recall": RECALL})
    low = drawn.lowest()
    roc = curves.band(drawn.map(*of_roc), lowest=low.map(*of_roc)).values
    pr = curves.band(drawn.map(*of_pr), lowest=low.map(*of_pr)).values
    middle = curves.band(drawn.map(*of_roc), simultaneous=False)[len(FPR) // 2].values
    true_middle = evidence.attrs["tpr"][len(FPR) // 2]
    return {
        **{name: interval_of(each, 0.95, "eti").values for name, each in numbers.items()},
        **{f"{name} hdi": interval_of(each, 0.95, "hdi").values for name, each in numbers.items()},
        "roc band": as_interval(roc, evidence.attrs["tpr"]),
        "roc pointwise": tuple(middle - true_middle),
        "pr band": as_interval(pr, evidence.attrs["precision"]),
    }


def classical(evidence: xr.Dataset) -> dict[str, Any]:
    """Return DeLong's interval."""
    return {"auc": delong(evidence).values}


def as_interval(bounds, truth):
    """Return an interval of the band's mean width that starts at 0 if it holds the curve."""
    width = (bounds[:, 1] - bounds[:, 0]).mean()
    holds = ((bounds[:, 0] - 1e-12 <= truth) & (truth <= bounds[:, 1] + 1e-12)).all()
    return (0.0, width) if holds else (1.0, 1.0 + width)


def _noise(population, uniform):
    if population == "heavy":
        return (2 * uniform - 1) / np.sqrt(2 * uniform * (1 - uniform))
    return ndtri(uniform)


def survival(population: str, x: np.ndarray) -> np.ndarray:
    """Return the share of the latent scores above x."""
    return 0.5 - x / (2 * np.sqrt(2 + x**2)) if population == "heavy" else ndtr(-x)


def from_noise(population: str, latent: np.ndarray) -> np.ndarray:
    """Return the scores that a population makes of the latent ones."""
    if population == "discrete":
        return np.clip(np.round(1.5 * latent - 0.2), -3, 7)
    return np.maximum(latent, _FLOOR) if population == "tied" else latent


@cache
def find_shift(population: str, area: float) -> float:
    """Return how far the positive class is shifted for the area."""
    gap = lambda shift: curve.auc(whole(population, shift, 0.5))[0] - area  # noqa: E731
    return brentq(gap, 0, 100)


@cache
def whole(population: str, shift: float, prevalence: float) -> curve.Curve:
    """Return the population's curve as a single draw."""
    if population == "discrete":
        latent = (np.arange(7, -3, -1) - 0.3) / 1.5  # where the rounded score changes
    else:
        tail = np.geomspace(1e-13, 1e-3, 2000)
        level = np.concatenate([tail, np.linspace(1e-3, 1 - 1e-3, 20_001), 1 - tail])
        latent = _noise(population, np.unique(level))
        latent = np.sort(np.concatenate([latent, latent + shift]))[::-1]
        latent = latent[latent > _FLOOR] if population == "tied" else latent
    each = [np.concatenate([[0], survival(population, latent - s), [1]]) for s in (0, shift)]
    rates = np.maximum.accumulate(np.stack(each), axis=1)
    tied = np.full(len(latent) + 1, population == "discrete")
    tied[-1] = population in ("discrete", "tied")
    half, at = np.full(len(tied), 0.5), np.arange(len(tied) + 1)
    return curve.Curve(rates[:1], rates[1:], np.array([prevalence]), half, tied, at)
