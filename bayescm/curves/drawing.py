"""Draws of curves with their labels: which fold or group, classifier and class each is of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.direct.binormal import binormal
from bayescm.direct.roc.curve import Curve, lowest, on_the_axes
from bayescm.direct.roc.empirical import empirical
from bayescm.direct.roc.micro import micro
from bayescm.direct.roc.prevalence import known_prevalence
from bayescm.direct.roc.slots import View
from bayescm.direct.scores import arrays, scores
from bayescm.evidence.scores import as_scores
from bayescm.evidence.slices import slice_name
from bayescm.validate import check_choice, check_seed, check_whole

# Draws of a curve, and of numbers that follow from it.
CURVES, NUMBERS = 2000, 4000


class DrawnCurves(NamedTuple):
    """Curves along leading dims, all of one fold or group from the same draws."""

    curves: list[Curve]
    views: list[View]
    dims: tuple[str, ...]
    coords: dict[str, Any]

    def map(
        self, function: Callable, name: str, tail: Mapping[str, Any] | None = None
    ) -> xr.DataArray:
        """Return a function of each curve, dims (draw, ..., *tail)."""
        return self.label([function(curve) for curve in self.curves], name, tail)

    def lowest(self) -> "DrawnCurves":
        """Return the curves as low as the open ends allow, where the model leaves them open."""
        pairs = zip(self.curves, self.views, strict=bool(self.views))
        return self._replace(
            curves=[lowest(each, view.inner) for each, view in pairs] or self.curves
        )

    def on_the_axes(self) -> tuple[xr.DataArray, xr.DataArray] | None:
        """Return `direct.roc.curve.on_the_axes` of the curves, where the model has open ends."""
        pairs = zip(self.curves, self.views, strict=bool(self.views))
        found = [on_the_axes(each, view.inner) for each, view in pairs]
        if not found:
            return None
        tpr, fpr = zip(*found, strict=True)
        return self.label(tpr, "tpr"), self.label(fpr, "fpr")

    def label(
        self, values: Sequence[np.ndarray], name: str, tail: Mapping[str, Any] | None = None
    ) -> xr.DataArray:
        """Return one array (draw, *tail) per curve as one, dims (draw, ..., *tail)."""
        tail = dict(tail or {})
        stacked = np.stack(values, axis=1)
        shape = [len(self.coords[dim]) for dim in self.dims]
        stacked = stacked.reshape(len(stacked), *shape, *stacked.shape[2:])
        scalars = {key: each for key, each in self.coords.items() if key not in self.dims}
        coords = {**scalars, **{dim: self.coords[dim] for dim in self.dims}, **tail}
        return xr.DataArray(stacked, coords, ("draw", *self.dims, *tail), name)


def draw(
    evidence: xr.Dataset,
    draws: int,
    random_seed: int | None,
    *,
    resolution: int | None = None,
    thresholds: np.ndarray | None = None,
    pooled: bool = False,
    model: str | None = None,
) -> DrawnCurves:
    """
    Draw the curves of scores.

    Parameters
    ----------
    evidence : Dataset
        Scores.
    draws : int
    random_seed : int or None
    resolution : int, optional
        The number of slots above which neighbours are merged.
    thresholds : ndarray, optional
        Scores at which the curves need a point.
    pooled : bool, default False
        For many classes, whether to pool all (example, class) pairs instead of a curve per class.
    model : {"scores", "binormal"}, optional
        By default the first, which relies on the order of the scores alone.
    """
    check_whole("draws", draws, 2, "draws", NUMBERS)
    if check_choice("model", model or "scores", ["scores", "binormal"]) == "binormal":
        return _draw_binormal(as_scores(evidence), draws, random_seed)
    evidence = as_scores(evidence)
    curves: list[Curve] = []
    views: list[View] = []
    rng = np.random.default_rng(check_seed(random_seed))
    for part in samples(evidence):
        posterior = micro(part) if pooled else scores(part)
        first = [posterior.views[index] for index in posterior.first]
        keep = None if thresholds is None else [each.place(thresholds) for each in first]
        curves += posterior.curves(draws, rng, resolution=resolution, keep=keep)
        views += first
    return DrawnCurves(curves, views, *labels(evidence, pooled))


def _draw_binormal(evidence, draws, random_seed):
    rng = np.random.default_rng(check_seed(random_seed))
    parts = [binormal(part).curves(draws, rng) for part in samples(evidence)]
    return DrawnCurves([each for part in parts for each in part], [], *labels(evidence, False))


def observe(evidence: xr.Dataset, *, pooled: bool = False) -> DrawnCurves:
    """Return the curves that the examples themselves draw, each as a single draw."""
    evidence = as_scores(evidence)
    curves = []
    for part in samples(evidence):
        matrix, weights, codes = arrays(part)
        for row in matrix:
            if row.ndim == 1:
                pairs = [(row, codes == 1, weights)]
            elif pooled:
                member = codes == np.arange(len(row))[:, None]
                pairs = [(row.ravel(), member.ravel(), np.tile(weights, len(row)))]
            else:
                pairs = [(each, codes == index, weights) for index, each in enumerate(row)]
            curves += [_empirical(part, *pair) for pair in pairs]
    return DrawnCurves(curves, [], *labels(evidence, pooled))


def _empirical(part, scores, positive, weights):
    every = len(positive) == part.sizes["example"]  # else pooled pairs, of which one in C is
    known = known_prevalence(part, positive) if every else None
    return empirical(scores, positive, weights, known)[0]


def samples(evidence: xr.Dataset) -> Iterable[xr.Dataset]:
    """Give the examples fold by fold, or group by group, or all at once where there are neither."""
    part = slice_name(evidence)
    if part is None:
        yield evidence
        return
    place = evidence[part].values
    for each in _members(evidence, part):
        yield evidence.isel(example=place == each).drop_vars(part)


def _members(evidence, part):
    return sorted(pd.unique(evidence[part].values).tolist())


def labels(evidence: xr.Dataset, pooled: bool) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the dims of curves, and their coords with the scalar ones."""
    part = slice_name(evidence)
    coords: dict[str, Any] = {} if part is None else {part: _members(evidence, part)}
    names = ("classifier",) if pooled else ("classifier", "class")
    coords |= {dim: evidence[dim].values for dim in names if dim in evidence.dims}
    scalars = {str(key): each.values for key, each in evidence.coords.items() if each.ndim == 0}
    return tuple(coords), {**scalars, **coords}
