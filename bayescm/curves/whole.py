"""Whole curves with their bands: ROC and precision-recall, and the points they pass through."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.curves import drawing
from bayescm.curves.bands import band
from bayescm.direct.roc import curve
from bayescm.direct.roc.empirical import empirical
from bayescm.direct.roc.prevalence import known_prevalence
from bayescm.direct.scores import arrays
from bayescm.evidence.scores import as_scores
from bayescm.validate import fail

_RESOLUTION = 256  # blocks, where the examples make more slots
# Dense where curves turn: towards both ends.
_ENDS = np.array([0.001, 0.002, 0.005])
GRID = np.concatenate([_ENDS, np.linspace(0, 1, 101)[1:-1], 1 - _ENDS[::-1]])


def roc(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    fpr: Any = None,
    model: str | None = None,
    draws: int = drawing.CURVES,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the ROC curve with its band.

    Parameters
    ----------
    evidence : Dataset
        From :func:`bayescm.from_scores`.
    prob : float, default 0.95
        Probability that the band contains the whole curve or, if pointwise, any one point.
    simultaneous : bool, default True
        Whether the band is for the whole curve.
    fpr : array_like, optional
        False positive rates in [0, 1] at which to evaluate the curve; by default 107 of them. A
        simultaneous band covers these.
    model : {"scores", "binormal"}, optional
        By default the first, which uses only the order of the scores.
    draws : int, default 2000
    random_seed : int, optional

    Returns
    -------
    Dataset
        ``tpr`` over ([fold | group], [classifier], [class], fpr, bound), ``median`` and
        ``estimate`` (the sample's curve) over the same without ``bound``; scalar coords ``prob``
        and ``band`` (simultaneous or pointwise).

    Notes
    -----
    The mass beyond the highest negative and the lowest positive has a distribution, but the data do
    not say where it lies: the lower bound of a simultaneous band puts it furthest out. On the axes
    both bands put it furthest in: at a rate of 0 they reach as high as the curve can rise before
    the highest negative.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> curve = roc(evidence, fpr=[0.1, 0.2])
    >>> curve.tpr.dims, curve.band.item()
    (('fpr', 'bound'), 'simultaneous')
    """
    grid = _grid(fpr, "fpr", np.concatenate([[0.0], GRID, [1.0]]), 0.0)
    drawn = drawing.draw(evidence, draws, random_seed, resolution=_RESOLUTION, model=model)
    label = (partial(curve.tpr_at, fpr=grid), "tpr", {"fpr": grid})
    answer = _with_band(evidence, drawn, label, prob, simultaneous)
    return answer.assign(tpr=_at_the_axes(answer, drawn, prob))


def precision_recall(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    recall: Any = None,
    model: str | None = None,
    draws: int = drawing.CURVES,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the precision-recall curve with its band.

    Between thresholds the curve interpolates by mixing them: straight in ROC space, curved here.

    Parameters
    ----------
    evidence : Dataset
        From :func:`bayescm.from_scores`, or of `at_prevalence` for a known prevalence.
    recall : array_like, optional
        Recalls in (0, 1] at which to evaluate the curve. Below one over the number of positives
        little is known and the band is wide; at 0 precision is undefined.
    prob, simultaneous, model, draws, random_seed
        See `roc`.

    Returns
    -------
    Dataset
        ``precision`` over ([fold | group], [classifier], [class], recall, bound), ``median`` and
        ``estimate``; scalar coords as for `roc`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> found = precision_recall(evidence, recall=[0.25, 0.5, 1], draws=500)
    >>> found["precision"].dims
    ('recall', 'bound')
    """
    grid = _grid(recall, "recall", np.concatenate([GRID[GRID >= 0.01], [1.0]]), 1e-12)
    drawn = drawing.draw(evidence, draws, random_seed, resolution=_RESOLUTION, model=model)
    label = (partial(curve.precision_at, recall=grid), "precision", {"recall": grid})
    return _with_band(evidence, drawn, label, prob, simultaneous)


def roc_draws(
    evidence: xr.Dataset,
    *,
    fpr: Any = None,
    model: str | None = None,
    draws: int = drawing.CURVES,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return posterior draws of the ROC curve.

    The curves of classifiers on the same examples are drawn jointly; `band` turns the
    draws, or a difference between them, into a band.

    Parameters
    ----------
    evidence, fpr, model, draws, random_seed
        See `roc`.

    Returns
    -------
    DataArray, dims (draw, [fold | group], [classifier], [class], fpr)

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> roc_draws(evidence, fpr=[0, 0.5, 1], draws=100).shape
    (100, 3)
    """
    grid = _grid(fpr, "fpr", np.concatenate([[0.0], GRID, [1.0]]), 0.0)
    drawn = drawing.draw(evidence, draws, random_seed, resolution=_RESOLUTION, model=model)
    return drawn.map(partial(curve.tpr_at, fpr=grid), "tpr", {"fpr": grid})


def precision_recall_draws(
    evidence: xr.Dataset,
    *,
    recall: Any = None,
    model: str | None = None,
    draws: int = drawing.CURVES,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return posterior draws of the precision-recall curve.

    Parameters
    ----------
    evidence, recall, model, draws, random_seed
        See `precision_recall`.

    Returns
    -------
    DataArray, dims (draw, [fold | group], [classifier], [class], recall)

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> precision_recall_draws(evidence, recall=[0.5, 1], draws=100).shape
    (100, 2)
    """
    grid = _grid(recall, "recall", np.concatenate([GRID[GRID >= 0.01], [1.0]]), 1e-12)
    drawn = drawing.draw(evidence, draws, random_seed, resolution=_RESOLUTION, model=model)
    return drawn.map(partial(curve.precision_at, recall=grid), "precision", {"recall": grid})


def points(evidence: xr.Dataset) -> xr.Dataset:
    """
    Return the points of the empirical curve, one per distinct score.

    Equivalent to ``sklearn.metrics.roc_curve(..., drop_intermediate=False)`` and
    ``precision_recall_curve``, the highest threshold first.

    Parameters
    ----------
    evidence : Dataset
        Scores of one classifier, two classes, no folds.

    Returns
    -------
    Dataset, dim ``threshold``
        ``fpr``, ``tpr`` and ``precision``; examples with a score >= threshold are predicted
        positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> points(evidence).tpr.values
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    evidence = as_scores(evidence)
    extra = [dim for dim in ("classifier", "class") if dim in evidence.dims]
    extra += [name for name in ("fold", "group") if name in evidence]
    if extra:
        todo = "select one: evidence.sel(classifier=...), one_vs_rest(...), pool_folds(...)"
        raise fail("more than one curve", extra, "a single curve", todo)
    matrix, weights, codes = arrays(evidence)
    known = known_prevalence(evidence, codes == 1)
    observed, thresholds = empirical(matrix[0], codes == 1, weights, known)
    share, fpr, tpr = observed.prevalence[0], observed.fpr[0], observed.tpr[0]
    with np.errstate(invalid="ignore"):
        precision = share * tpr / (share * tpr + (1 - share) * fpr)
    precision[0] = 1.0  # scikit-learn's convention for nobody predicted positive
    rates = {"fpr": fpr, "tpr": tpr, "precision": precision}
    columns = {name: ("threshold", values) for name, values in rates.items()}
    coords = {"threshold": np.concatenate([[np.inf], thresholds])}
    return xr.Dataset(columns, coords)


def _grid(given, name, default, least):
    if given is None:
        return default
    try:
        grid = np.atleast_1d(np.asarray(given, float))
    except (TypeError, ValueError):
        grid = np.array([np.nan])
    if grid.ndim != 1 or not len(grid) or not ((grid >= least) & (grid <= 1)).all():
        allowed = "numbers in [0, 1]" if least == 0 else "numbers in (0, 1]"
        raise fail(f"{name} must be a grid of rates", given, allowed, f"leave {name} out")
    return grid


def _at_the_axes(answer, drawn, prob):
    """Return the band with what lies on the axes: a curve may rise at once, and be done early."""
    tpr, fpr = answer["tpr"].copy(), answer["fpr"].values
    lower, upper = tpr.values[..., 0], tpr.values[..., 1]
    rates = drawn.on_the_axes()
    if rates is not None:
        start = np.quantile(rates[0], (1 + prob) / 2, axis=0)
        done = np.quantile(rates[1], (1 - prob) / 2, axis=0)
        # Not above what the band says a little further on.
        further = upper[..., fpr > 0].min(axis=-1, initial=np.inf)
        upper[..., fpr == 0] = np.minimum(start, further)[..., None]
        upper[fpr >= done[..., None]] = 1.0
    # The examples' own curve is always one of those that may be.
    np.maximum(upper, answer["estimate"].values, out=upper)
    lower[..., fpr == 0] = 0.0
    return tpr


def _with_band(evidence, drawn, label, prob, simultaneous):
    """Return band, median and observed values of curves, by a function, its name and grid."""
    values = drawn.map(*label)
    lowest = drawn.lowest().map(*label) if simultaneous else None
    bounds = band(values, prob=prob, simultaneous=simultaneous, lowest=lowest)
    found = {values.name: bounds, "median": values.reduce(np.median, "draw")}
    found["estimate"] = drawing.observe(evidence).map(*label).isel(draw=0, drop=True)
    coords = {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    return xr.Dataset(found).assign_coords(coords)
