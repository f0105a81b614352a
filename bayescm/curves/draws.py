"""Numbers that sum a curve up: draws of them, and their values in the sample."""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from bayescm.curves.roc import NUMBER_DRAWS, draw_curves, observed_curves, samples
from bayescm.curves.tied import tied_areas
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.scores import as_scores
from bayescm.evidence.slices import slice_name
from bayescm.posteriors.roc import curve
from bayescm.posteriors.scores import arrays
from bayescm.validate import check_choice, check_kind, check_prob, fail, suggest

# Blocks that a number needs; the area corrects for what is inside a block, the others do not.
_COARSE, _FINE = 256, 512
AVERAGES = ["macro", "weighted", "micro"]


def number_draws(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    average: str | None = None,
    model: str | None = None,
    draws: int = NUMBER_DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return posterior draws of a summary of each curve.

    Curves of classifiers on the same examples, and of the classes, are drawn jointly: differences
    of these draws are draws of the difference.

    Parameters
    ----------
    evidence : Dataset
        Scores.
    measure : str or callable
        ``"auc"``, ``"average_precision"``, ``"max_f1"``, ``"partial_auc(0.1)"``, or a function of
        a `bayescm.posteriors.roc.curve.Curve`.
    average, model, draws, random_seed
        See `bayescm.curves.auc`.

    Returns
    -------
    DataArray, dims (draw, [fold | group], [classifier], [class])

    Examples
    --------
    >>> import bayescm as bcm
    >>> scores = {"a": [1, 2, 4, 3, 5, 6], "b": [1, 3, 2, 4, 5, 6]}
    >>> both = bcm.from_scores([0, 0, 1, 0, 1, 1], scores)
    >>> drawn = number_draws(both, "auc", draws=500)
    >>> drawn.dims
    ('draw', 'classifier')
    """
    name, kernel = resolve(measure)
    pooled = _check_average(evidence, average)
    fine = _COARSE if name == "auc" else _FINE
    sample = partial(
        draw_curves, draws=draws, random_seed=random_seed, resolution=fine, pooled=pooled
    )
    if name == "auc" and "classifier" in evidence.dims and "class" not in evidence.dims:
        return tied_areas(evidence, partial(sample, model=model), random_seed)
    return _averaged(sample(evidence, model=model).map(kernel, name), evidence, average)


def estimate(
    evidence: xr.Dataset, measure: str | Callable = "auc", *, average: str | None = None
) -> xr.DataArray:
    """
    Return the value in the sample.

    Equivalent to ``sklearn.metrics.roc_auc_score`` (also its ``max_fpr`` and averages),
    ``average_precision_score``, and the largest F1 along ``precision_recall_curve``.

    Parameters
    ----------
    evidence, measure, average
        See `number_draws`.

    Returns
    -------
    DataArray, dims ([fold | group], [classifier], [class])

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> estimate(evidence).item(), round(estimate(evidence, "average_precision").item(), 4)
    (0.75, 0.8333)
    """
    name, kernel = resolve(measure)
    pooled = _check_average(evidence, average)
    observed = observed_curves(evidence, pooled=pooled).map(kernel, name)
    return _averaged(observed, evidence, average).isel(draw=0, drop=True)


def resolve(measure: str | Callable) -> tuple[str, Callable]:
    """Return the name and the function of a curve."""
    if callable(measure):
        name = getattr(measure, "__name__", type(measure).__name__)
        return name, partial(_checked, function=measure, name=name)
    known = {"auc": curve.auc, "average_precision": curve.average_precision, "max_f1": curve.max_f1}
    if isinstance(measure, str) and measure in known:
        return measure, known[measure]
    if isinstance(measure, str) and measure.startswith("partial_auc(") and measure[-1] == ")":
        return measure, partial(curve.partial_auc, max_fpr=_max_fpr(measure[12:-1]))
    every = [*known, "partial_auc(max_fpr)"]
    todo = suggest(measure, every)
    raise fail("unknown measure of a curve", measure, ", ".join(every) + ", or a function", todo)


def _checked(drawn, function, name):
    """Return the numbers of a user's function of a curve, one per draw, or raise."""
    try:
        values = np.asarray(function(drawn))
    except Exception as problem:
        said = f"{type(problem).__name__}: {problem}"
        todo = "write it for the fields of a Curve: fpr and tpr (S, J + 1), prevalence (S,)"
        raise fail(f"the measure {name} failed with {said}", ..., "", todo) from problem
    if values.dtype.kind not in "biuf" or values.shape != drawn.prevalence.shape:
        got, todo = (values.dtype.name, values.shape), "reduce over the last axis of fpr and tpr"
        raise fail(f"the measure {name} of a curve is no number per draw", got, "shape (S,)", todo)
    return values


def _max_fpr(text):
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0 < value <= 1:
        raise fail("max_fpr must be a rate", text, "0 < max_fpr <= 1", "pass e.g. max_fpr=0.1")
    return value


def _check_average(evidence, average):
    evidence = as_scores(evidence)
    if average is None:
        return False
    check_choice("average", average, AVERAGES)
    if "class" not in evidence.dims:
        raise fail(
            "average is for three classes or more", average, "None for two classes", "leave it out"
        )
    return average == "micro"


def _averaged(values, evidence, average):
    if average not in ("macro", "weighted"):
        return values
    if average == "macro":
        return values.mean("class")
    parts = [np.bincount(codes, weights) for _, weights, codes in map(arrays, samples(evidence))]
    part = slice_name(evidence)
    shares = parts[0] if part is None else np.stack(parts)
    dims = ("class",) if part is None else (part, "class")
    return values.weighted(xr.DataArray(shares, dims=dims)).mean("class")


def interval_of(values: xr.DataArray, prob: float, kind: str) -> xr.DataArray:
    """Return the interval of draws, dims (draw, ...)."""
    check_prob(prob), check_kind(kind)
    distribution = Empirical(values.transpose("draw", ...).values)
    ends = getattr(distribution, kind)(prob)
    dims = [dim for dim in values.dims if dim != "draw"]
    coords = {k: v for k, v in values.coords.items() if "draw" not in v.dims}
    return xr.DataArray(
        ends, {**coords, "bound": ["lower", "upper"]}, (*dims, "bound"), values.name
    )
