"""
Coverage of weighted curves: scores of a sample that does not stand for its population evenly.

Scores are normal in both classes. Weights are the same for all, log-normal whatever the score,
or exponential in the score of the negatives (hard ones were sampled too often), which moves their
mean: what is true is known in closed form.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import ndtr, ndtri

from bayescm.curves import drawing
from bayescm.curves.numbers import interval_of
from bayescm.direct.roc import curve
from bayescm.evidence.scored.scores import from_scores
from bayescm.simulation.coverage import Study

KINDS = ("even", "log-normal", "by score")
SIZES = (100, 400)
_APART, _MOVED, _SPREAD, _POSITIVES, _FPR = 1.0, 0.5, 0.7, 0.3, 0.1


def study(weights: str, n: int, draws: int = 1000) -> Study:
    """Return the study of one kind of weights and one size."""
    methods: dict[str, Any] = {
        "weighted": partial(answer, draws=draws),
        "weights left out": partial(answer, draws=draws, weighted=False),
    }
    return Study(f"weighted {weights} {n}", partial(sample, weights=weights, n=n), methods)


def sample(rng: np.random.Generator, *, weights: str, n: int) -> tuple[Any, Mapping[str, float]]:
    """Return truth, scores and weights of a test set, and the true area and sensitivity."""
    actual = rng.random(n) < _POSITIVES
    score = rng.standard_normal(n) + _APART * actual
    weight, moved = np.ones(n), 0.0
    if weights == "log-normal":
        weight = np.exp(_SPREAD * rng.standard_normal(n))
    elif weights == "by score":
        weight, moved = np.where(actual, 1.0, np.exp(-_MOVED * score)), _MOVED
    known = {
        "auc": float(ndtr((_APART + moved) / np.sqrt(2))),
        "sensitivity": float(ndtr(_APART + moved + ndtri(_FPR))),
    }
    return (actual, score, weight), known


def answer(sampled: Any, *, draws: int, weighted: bool = True) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the area, and of sensitivity at specificity .9."""
    actual, score, weight = sampled
    options: dict[str, Any] = {"weights": weight, "weights_are": "importance"} if weighted else {}
    evidence: xr.Dataset = from_scores(actual, score, **options)
    drawn = drawing.draw(evidence, draws, 0, resolution=512)
    area = drawn.map(curve.auc, "auc")
    at = drawn.map(partial(curve.tpr_at, fpr=np.array([_FPR])), "tpr", {"fpr": [_FPR]})
    return {
        "auc": interval_of(area, 0.95, "eti").values,
        "sensitivity": interval_of(at, 0.95, "eti").values.ravel(),
    }
