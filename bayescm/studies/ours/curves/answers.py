"""Coverage of what follows from curves: differences of classifiers, thresholds that are chosen."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import ndtri

from bayescm import curves
from bayescm.classical.curves import delong_compare
from bayescm.direct.roc import curve
from bayescm.evidence.scored.scores import from_scores
from bayescm.measures import catalogue as measures
from bayescm.simulation.coverage import Method, Study
from bayescm.studies.ours.curves.populations import find_shift, sample, survival, whole

AREAS = ((0.8, 0.8), (0.8, 0.85), (0.95, 0.97), (0.98, 0.99))
CORRELATIONS = (0.3, 0.9)
SIZES = ((50, 0.3), (50, 0.16), (200, 0.3), (1000, 0.3))
COST = measures.cost([[0, 1], [5, 0]])


def paired_study(
    areas: tuple[float, float],
    correlation: float,
    n: int,
    prevalence: float,
    draws: int = 1000,
    wanted: tuple[str, ...] = ("auc", "average_precision"),
) -> Study:
    """Return the study of two binormal classifiers whose scores of an example are correlated."""
    setting: dict[str, Any] = {
        "areas": areas,
        "correlation": correlation,
        "n": n,
        "prevalence": prevalence,
    }
    methods: dict[str, Method] = {
        "posterior": partial(difference, draws=draws, wanted=wanted),
        "DeLong": classical,
    }
    name = f"paired {areas} {correlation} {n} {prevalence}"
    return Study(name, partial(paired_sample, **setting, wanted=wanted), methods)


def paired_sample(
    rng: np.random.Generator,
    *,
    areas: tuple[float, float],
    correlation: float,
    n: int,
    prevalence: float,
    wanted: tuple[str, ...],
) -> tuple[xr.Dataset, dict[str, float]]:
    """Draw a test set, and the true differences of first and second."""
    positives = 0
    while not 3 <= positives <= n - 3:
        positives = rng.binomial(n, prevalence)
    actual = np.arange(n) < positives
    shift = np.sqrt(2) * ndtri(np.array(areas))
    common, own = rng.standard_normal(n), rng.standard_normal((2, n))
    noise = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    first, second = noise + shift[:, None] * actual
    truth = [whole("binormal", float(each), prevalence) for each in shift]
    precisions = [curve.average_precision(each)[0] for each in truth]
    differences = {"auc": areas[0] - areas[1], "average_precision": precisions[0] - precisions[1]}
    evidence = from_scores(actual, {"first": first, "second": second})
    evidence.attrs["seed"] = int(rng.integers(2**31))  # else all sets share the noise of one
    return evidence, {name: differences[name] for name in wanted}


def difference(
    evidence: xr.Dataset, draws: int, wanted: tuple[str, ...]
) -> dict[str, tuple[float, float]]:
    """Return the intervals of the model."""
    found = {}
    for name in wanted:
        seed = evidence.attrs["seed"]
        row = curves.compare(evidence, name, draws=draws, random_seed=seed).iloc[0]
        found[name] = (row["lower"], row["upper"])
    return found


def classical(evidence: xr.Dataset) -> dict[str, tuple[float, float]]:
    """Return DeLong's interval."""
    row = delong_compare(evidence).iloc[0]
    return {"auc": (row["lower"], row["upper"])}


def choice_study(
    population: str, area: float, n: int, prevalence: float, draws: int = 1000
) -> Study:
    """Return the study of the best threshold: its value is that in the population, once chosen."""
    setting: dict[str, Any] = {
        "population": population,
        "area": area,
        "n": n,
        "prevalence": prevalence,
    }
    methods: dict[str, Method] = {"posterior": partial(chosen, draws=draws, **setting)}
    return Study(
        f"choice {population} {area} {n} {prevalence}", partial(_sample, **setting), methods
    )


def _sample(rng, **setting):
    evidence, _ = sample(rng, **setting)
    names = [f"{what} of {name}" for name in ("f1", "informedness", "cost") for what in _WHAT]
    return evidence, dict.fromkeys(names, 0.0)


_WHAT = ("value", "apparent excess", "optimism")


def chosen(
    evidence: xr.Dataset, *, population: str, area: float, n: int, prevalence: float, draws: int
) -> dict[str, tuple[float, float]]:
    """
    Return the interval of the value at the chosen threshold, less the true value there.

    ``apparent excess`` and ``optimism`` are no intervals: their upper ends are by how much the
    apparent value truly flatters, and what the library says of it, so that their mean lengths tell.
    """
    shift, found = find_shift(population, area), {}
    for name, measure in (("f1", "f1"), ("informedness", "informedness"), ("cost", COST)):
        best = curves.best_threshold(evidence, measure, draws=draws)
        at = best["threshold"].item()
        fpr, tpr = survival(population, at), survival(population, at - shift)
        cells = [(1 - prevalence) * (1 - fpr), (1 - prevalence) * fpr]
        cells += [prevalence * (1 - tpr), prevalence * tpr]
        true = measures.resolve(measure)(np.reshape(cells, (2, 2)))
        sign = -1 if name == "cost" else 1
        found[f"value of {name}"] = tuple(best["value"].values - true)
        found[f"apparent excess of {name}"] = (0.0, sign * (best["apparent"].item() - true))
        found[f"optimism of {name}"] = (0.0, best["optimism"].item())
    return found
