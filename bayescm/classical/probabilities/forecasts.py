"""Probabilities of two classes as arrays, one classifier after the other."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.evidence.scored.probabilities import as_probabilities
from bayescm.validate import fail


class Sample(NamedTuple):
    """
    What one classifier forecast, and what came true.

    Attributes
    ----------
    name : label or None
        Of the classifier, None where there is no such dim.
    probability : ndarray, shape (m,)
        The distinct forecasts, in order.
    hits, total : ndarray, shape (m,)
        How many examples of the positive class, and of both, each was given to.
    """

    name: Any
    probability: np.ndarray
    hits: np.ndarray
    total: np.ndarray


def samples(evidence: xr.Dataset) -> Iterator[Sample]:
    """Give the forecasts of each classifier, as they were drawn."""
    evidence = as_probabilities(evidence)
    if "importance" in evidence or "prevalence" in evidence.coords:
        todo = "ask bcm.calibration.curve or bcm.summary, which take them"
        what = "classical answers about probabilities are of the sample as it was drawn"
        raise fail(what, ..., "no importance weights and no prevalence", todo)
    actual = (evidence["actual"] == evidence["positive"]).values.astype(float)
    weight = evidence["weight"].values if "weight" in evidence else np.ones(len(actual))
    names = evidence["classifier"].values.tolist() if "classifier" in evidence.dims else [None]
    for name, row in zip(names, np.atleast_2d(evidence["score"].values), strict=True):
        found, place = np.unique(row, return_inverse=True)
        hits, total = np.bincount(place, weight * actual), np.bincount(place, weight)
        yield Sample(name, found, hits, total)


def by_classifier(parts: list[tuple[Any, xr.Dataset]]) -> xr.Dataset:
    """Put the answers for each classifier together, without a dim where there is only one."""
    if parts[0][0] is None:
        return parts[0][1]
    names = [name for name, _ in parts]
    joined = xr.concat([part for _, part in parts], "classifier", join="outer")
    return joined.assign_coords(classifier=names)
