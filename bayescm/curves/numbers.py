"""Summaries of a curve: area, partial area, average precision, best F1."""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from bayescm.curves import drawing
from bayescm.curves.tied import tied_areas
from bayescm.direct.roc import curve
from bayescm.direct.scores import arrays
from bayescm.distributions.discrete import Empirical
from bayescm.evidence.scored.scores import as_scores
from bayescm.validate import check_choice, check_kind, check_prob, fail, suggest

# Blocks that a number needs; the area corrects for what is inside a block, the others do not.
_COARSE, _FINE = 256, 512
AVERAGES = ["macro", "weighted", "micro"]


def auc(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "eti",
    average: str | None = None,
    model: str | None = None,
    draws: int = drawing.NUMBERS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the area under the ROC curve.

    The area is the probability that a random positive example scores higher than a random negative
    one, with ties counting one half.

    Parameters
    ----------
    evidence : Dataset
        From :func:`bayescm.from_scores`.
    prob : float, default 0.95
        Mass of the interval.
    kind : {"eti", "hdi"}
        Equal-tailed or highest-density. Near the end of the scale highest-density intervals have
        poorer coverage; hence the default.
    average : {"macro", "weighted", "micro"}, optional
        For more than two classes: the mean over classes, the mean weighted by prevalence, or the
        area of all (example, class) pairs pooled. By default each class against the rest.
    model : {"scores", "binormal"}, optional
        By default the first, which uses only the order of the scores; the second takes them to be
        normal in each class.
    draws : int, default 4000
    random_seed : int, optional

    Returns
    -------
    DataArray, dims ([fold], [classifier], [class], bound)

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> auc(evidence).values.round(2)
    array([0.71, 0.85])
    """
    values = number_draws(
        evidence, "auc", average=average, model=model, draws=draws, random_seed=random_seed
    )
    return interval_of(values, prob, kind)


def average_precision(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "eti",
    average: str | None = None,
    model: str | None = None,
    draws: int = drawing.NUMBERS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the average precision, the area under the PR curve.

    This is the population's integral of precision over recall. What scikit-learn computes from the
    sample, a sum of steps, is an estimate of it that is biased upwards when positives are few.

    Parameters
    ----------
    evidence, prob, kind, average, model, draws, random_seed
        See `auc`. The prevalence is estimated from the sample, or set by `at_prevalence`.

    Returns
    -------
    DataArray, dims ([fold], [classifier], [class], bound)

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> average_precision(evidence, draws=4000).values.round(1)
    array([0.2, 0.9])
    """
    values = number_draws(
        evidence,
        "average_precision",
        average=average,
        model=model,
        draws=draws,
        random_seed=random_seed,
    )
    return interval_of(values, prob, kind)


def partial_auc(
    evidence: xr.Dataset,
    *,
    max_fpr: float,
    prob: float = 0.95,
    kind: str = "eti",
    model: str | None = None,
    draws: int = drawing.NUMBERS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the area under the ROC curve up to a false positive rate.

    Standardised after McClish, as scikit-learn does: 0.5 for chance, 1 for a perfect classifier.

    Parameters
    ----------
    evidence, prob, kind, model, draws, random_seed
        See `auc`.
    max_fpr : float
        Upper limit of the area, in (0, 1].

    References
    ----------
    McClish, D. K. (1989). Analyzing a portion of the ROC curve. Medical Decision Making 9,
    190-195. doi:10.1177/0272989X8900900307

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> partial_auc(evidence, max_fpr=0.5, draws=4000).values.round(1)
    array([0.3, 0.9])
    """
    values = number_draws(
        evidence, f"partial_auc({max_fpr})", model=model, draws=draws, random_seed=random_seed
    )
    return interval_of(values, prob, kind)


def max_f1(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "eti",
    model: str | None = None,
    draws: int = drawing.NUMBERS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of F1 at its best threshold.

    This is what the scores could achieve, not what a threshold chosen on these data will achieve;
    for that, see `best_threshold`.

    Parameters
    ----------
    evidence, prob, kind, model, draws, random_seed
        See `auc`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> max_f1(evidence, draws=4000).values.round(1)
    array([0.3, 0.9])
    """
    values = number_draws(evidence, "max_f1", model=model, draws=draws, random_seed=random_seed)
    return interval_of(values, prob, kind)


def number_draws(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    average: str | None = None,
    model: str | None = None,
    draws: int = drawing.NUMBERS,
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
        a `bayescm.direct.roc.curve.Curve`.
    average, model, draws, random_seed
        See `auc`.

    Returns
    -------
    DataArray, dims (draw, [fold], [classifier], [class])

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
        drawing.draw, draws=draws, random_seed=random_seed, resolution=fine, pooled=pooled
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
    DataArray, dims ([fold], [classifier], [class])

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> estimate(evidence).item(), round(estimate(evidence, "average_precision").item(), 4)
    (0.75, 0.8333)
    """
    name, kernel = resolve(measure)
    pooled = _check_average(evidence, average)
    observed = drawing.observe(evidence, pooled=pooled).map(kernel, name)
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
    parts = [
        np.bincount(codes, weights) for _, weights, codes in map(arrays, drawing.samples(evidence))
    ]
    shares = np.stack(parts) if "fold" in evidence else parts[0]
    dims = ("fold", "class") if "fold" in evidence else ("class",)
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
