"""Any measure as a function of the threshold, and at one threshold."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.curves import drawing
from bayescm.curves.bands import band
from bayescm.curves.numbers import interval_of
from bayescm.direct.roc.curve import Curve, cells_at
from bayescm.direct.roc.slots import View
from bayescm.evidence.scores import as_scores
from bayescm.measures.labelled import one_number, several
from bayescm.validate import check_kind, check_prob, fail

RESOLUTION = 256
# Thresholds tried by default: each distinct score up to this many, else quantiles of them.
_TRIED = 201


def threshold(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    at: Any = None,
    prob: float = 0.95,
    simultaneous: bool = True,
    draws: int = drawing.CURVES,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return a measure as a function of the threshold, with its band.

    An example is predicted positive if its score is at least the threshold. Above the highest score
    nothing is, at or below the lowest everything: measures that are 0/0 there are NaN.

    Parameters
    ----------
    evidence : Dataset
        Scores of two classes, or of one class against the rest.
    measure : str or callable
        As in :func:`bayescm.interval`: ``"f1"``, ``"balanced_accuracy"``, a function of cells.
    at : float or array_like, optional
        Thresholds; by default the distinct scores, or 201 quantiles of them.
    prob : float, default 0.95
        Probability that the band contains the measure at all thresholds or, if pointwise, at any
        one of them.
    simultaneous : bool, default True
    draws : int, default 2000
    random_seed : int, optional

    Returns
    -------
    Dataset
        A variable of the measure's name over ([fold | group], [classifier], threshold, bound),
        ``median`` and ``undefined``, the fraction of draws in which the measure is 0/0; scalar
        coords ``prob`` and ``band``.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> threshold(evidence, "f1", at=[0, 0.5, 1]).f1.dims
    ('threshold', 'bound')
    """
    values = threshold_draws(evidence, measure, at=at, draws=draws, random_seed=random_seed)
    undefined = values.isnull()
    filled = values.where(~undefined, values.median("draw"))  # leaves the ranks of the others
    filled = filled.where(filled.notnull(), 0.0)
    bounds = band(filled, prob=prob, simultaneous=simultaneous)
    never = undefined.all(dim="draw")
    answer = {
        values.name: bounds.where(~never),
        "median": values.where(~never).median("draw"),
        "undefined": undefined.mean(dim="draw"),
    }
    coords = {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    return xr.Dataset(answer).assign_coords(coords)


def threshold_draws(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    at: Any = None,
    draws: int = drawing.CURVES,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return posterior draws of a measure as a function of the threshold.

    Parameters
    ----------
    evidence, measure, at, draws, random_seed
        See `threshold`.

    Returns
    -------
    DataArray, dims (draw, [fold | group], [classifier], threshold)

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> threshold_draws(evidence, "f1", at=[3, 5], draws=100).sizes["threshold"]
    2
    """
    evidence = two_classes(evidence)
    kernel = one_number(measure)
    tried = thresholds(evidence) if at is None else _given(at)
    drawn = drawing.draw(evidence, draws, random_seed, resolution=RESOLUTION, thresholds=tried)
    values = [along(each, view, tried, kernel) for each, view in zip(*drawn[:2], strict=True)]
    return drawn.label(values, kernel.__name__, {"threshold": tried})


def at_threshold(
    evidence: xr.Dataset,
    measures: str | Callable | Sequence[str | Callable],
    threshold: float,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    draws: int = drawing.NUMBERS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return intervals of measures at one threshold, all from the same draws.

    A threshold fixed beforehand needs no curve: ``bcm.interval`` of the predictions gives the same
    in closed form. For one chosen on these data use `best_threshold`.

    Parameters
    ----------
    evidence, draws, random_seed
        See `threshold`.
    measures : name, function, or sequence of these
    threshold : float
    prob : float, default 0.95
    kind : {"hdi", "eti"}

    Returns
    -------
    Dataset
        A variable per measure over ([fold | group], [classifier], bound).

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> found = at_threshold(evidence, ["recall", "precision"], 5, draws=2000)
    >>> found["recall"].dims, found["threshold"].item()
    (('bound',), 5.0)
    """
    check_prob(prob), check_kind(kind)
    wanted = several(measures)
    answers = {}
    for each in wanted:
        values = threshold_draws(
            evidence, each, at=[threshold], draws=draws, random_seed=random_seed
        )
        answers[values.name] = interval_of(values.isel(threshold=0), prob, kind)
    return xr.Dataset(answers)


def along(curve: Curve, view: View, thresholds: np.ndarray, kernel: Callable) -> np.ndarray:
    """Return draws (S, T) of a measure at thresholds."""
    return kernel(cells_at(curve, view.place(thresholds)))


def thresholds(evidence: xr.Dataset) -> np.ndarray:
    """Return the thresholds to try: the distinct scores, or quantiles of them."""
    values = np.unique(evidence["score"].values)
    finite = values[np.isfinite(values)]
    if len(finite) <= _TRIED:
        return finite if len(finite) else values
    level = np.linspace(0, 1, _TRIED)
    scores = evidence["score"].values
    scores = np.sort(scores[np.isfinite(scores)])
    return np.unique(scores[np.round(level * (len(scores) - 1)).astype(int)])


def _given(at):
    try:
        tried = np.atleast_1d(np.asarray(at, float))
    except (TypeError, ValueError):
        tried = np.array([np.nan])
    if tried.ndim != 1 or np.isnan(tried).any() or not len(tried):
        raise fail("a threshold must be a number", at, "numbers", "pass e.g. at=[0.3, 0.5]")
    return tried


def two_classes(evidence: xr.Dataset) -> xr.Dataset:
    """Check scores of two classes."""
    evidence = as_scores(evidence)
    if "class" in evidence.dims:
        todo = "take one class against the rest: one_vs_rest(evidence, label)"
        raise fail("a threshold needs two classes", evidence["class"].values, "two classes", todo)
    return evidence
