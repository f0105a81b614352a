"""Performance of the best of many classifiers, corrected for selection bias."""

from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.interval import distribution
from bayescm.evidence.outcomes import arrays, as_outcomes, marginal_matrices, tables_of
from bayescm.evidence.trees import with_positive_class
from bayescm.measures.labelled import as_measures
from bayescm.validate import check_seed, check_whole, fail

_AT_ONCE = 2**24  # largest number of resampled counts in memory
_NODES = np.linspace(-4.5, 4.5, 61)  # quadrature nodes for a standard normal error
_WEIGHTS = np.exp(-(_NODES**2) / 2)
# Scales of the distribution of true values, relative to the standard error of a typical classifier.
_WIDTHS = np.concatenate([[0.05, 0.1], np.geomspace(0.2, 6, 14)])


def best(
    outcomes: xr.Dataset,
    measure: str | Callable,
    *,
    prob: float = 0.95,
    kind: Literal["hdi", "eti"] = "hdi",
    resamples: int = 1000,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Return an interval for the best classifier, corrected for selection bias.

    The classifier that performs best on a test set looks better than it is. This optimism is
    estimated in two ways from the out-of-fold predictions, without retraining. The posterior of the
    selected classifier is shifted by the mean of both estimates, and widened if they disagree.

    Parameters
    ----------
    outcomes : Dataset
        Outcomes of several classifiers on the same examples or folds, from `bayescm.cross_outcomes`
        or `bayescm.from_classifiers`.
    measure : str or callable
        Measure used for the selection and for the interval. It must be a single number per
        classifier.
    prob : float, default 0.95
    kind : {"hdi", "eti"}
    resamples : int, default 1000
        Number of bootstrap resamples.
    of, n, model, concentration, positive, draws
        See `bayescm.interval`.
    random_seed : int, default 0
        Seed of the bootstrap.
    **keywords
        Further keywords of the model.

    Returns
    -------
    DataFrame
        A single row with these columns:

        - ``selected``: the selected classifier.
        - ``measure``: name of the measure.
        - ``point``: estimate of the selected classifier, without correction.
        - ``optimism``: estimated selection bias of ``point``.
        - ``mean``, ``lower``, ``upper``: mean and interval of the corrected posterior.
        - ``naive_lower``, ``naive_upper``: interval of the posterior without correction.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, if the counts are not integers, or if the measure
        is undefined in the sample or is not a single number per classifier.

    Notes
    -----
    The bootstrap estimate repeats the selection in every resample and evaluates the selected
    classifier on the examples outside the resample. Because selection from a resample is less
    reliable, this estimate is too large if the classifiers differ. The shrinkage estimate treats
    the true measures as a sample from a Student t distribution with unknown location and scale.
    This estimate is the posterior mean of the error of the selected classifier, and is too small if
    the true measures have lighter tails than this distribution. The variances of the errors,
    excluding the component that all classifiers share, are estimated from the resamples.

    References
    ----------
    Efron, B. (2011). Tweedie's formula and selection bias. Journal of the American Statistical
    Association, 106(496), 1602-1614. doi:10.1198/jasa.2011.tm11181

    Tsamardinos, I., Greasidou, E. & Borboudakis, G. (2018). Bootstrapping the out-of-sample
    predictions for efficient and accurate cross-validation. Machine Learning, 107, 1895-1922.
    doi:10.1007/s10994-018-5714-4

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.integers(2, size=100)
    >>> coins = {f"coin {i}": rng.integers(2, size=100) for i in range(30)}
    >>> row = best(bcm.from_classifiers(actual, coins), "accuracy").iloc[0]
    >>> bool(row["naive_lower"] > 0.5), bool(row["lower"] < 0.5 < row["upper"])
    (True, True)
    """
    outcomes = with_positive_class(as_outcomes(outcomes), positive)
    names = outcomes["classifier"].values.tolist()
    if len(names) < 2:
        raise fail(
            "A selection needs at least two classifiers",
            names,
            "",
            "use interval() for one classifier",
        )
    (resolved,) = as_measures(measure, tables_of(outcomes))
    pooled = outcomes["counts"].sum([d for d in outcomes["counts"].dims if d != "outcome"])
    flat = outcomes.drop_vars(["counts", "halves"], errors="ignore").assign(counts=pooled)
    counts, actual, predicted = arrays(flat)
    if (counts % 1).any():
        raise fail(
            "Resampling needs unweighted examples, but the counts are weighted",
            ...,
            "",
            "leave `weights` out",
        )
    check_whole("resamples", resamples, 10, "resamples", 1000)
    classes = outcomes.sizes["label"]
    sign = -1.0 if resolved.lower_is_better else 1.0
    points = resolved(marginal_matrices(counts.astype(float)[None], actual, predicted, classes)[0])
    if np.ndim(points) != 1:
        raise fail(
            "{} has several values, but a single number is needed",
            resolved.__name__,
            "",
            "use e.g. f1_macro, or recall[a]",
        )
    if np.isnan(points).all():
        todo = "choose another measure, or collect more examples"
        raise fail(f"{resolved.__name__} is undefined in this sample", ..., "", todo)
    selected = int(np.nanargmax(sign * points))
    rng = np.random.default_rng(check_seed(random_seed))
    in_bag, out_of_bag = _bootstrap(
        counts.astype(int), actual, predicted, classes, resolved, sign, resamples, rng
    )
    optimism, stretch = _optimism(
        points, in_bag, selected, float(points[selected] - np.nanmean(out_of_bag))
    )
    alone = outcomes.sel(classifier=[names[selected]])
    arguments: dict[str, Any] = {"of": of, "n": n, "model": model, "concentration": concentration}
    posterior = distribution(alone, resolved, draws=draws, **arguments, **keywords)
    ends = np.ravel(posterior.interval(prob, kind))
    mean = float(np.ravel(posterior.mean())[0])
    low, high = np.clip(mean - optimism + stretch * (ends - mean), *_range(resolved))
    row: dict[str, Hashable] = {"selected": names[selected], "measure": resolved.__name__}
    row |= {"point": points[selected], "optimism": optimism, "mean": mean - optimism}
    row |= {"lower": low, "upper": high, "naive_lower": ends[0], "naive_upper": ends[1]}
    return pd.DataFrame([row])


def _bootstrap(counts, actual, predicted, classes, measure, sign, resamples, rng):
    """Return the measures in each resample, and the out-of-bag measure of its best classifier."""
    examples, starts = counts.sum(), np.concatenate([[0], np.cumsum(counts)[:-1]])
    width = max(examples, len(predicted) * classes**2)
    in_bag: list[np.ndarray] = []
    out_of_bag: list[np.ndarray] = []
    for start in range(0, resamples, step := max(1, _AT_ONCE // width)):
        size = min(step, resamples - start)
        times = rng.multinomial(examples, np.full(examples, 1 / examples), size=size)
        inside = np.add.reduceat(times, starts, axis=1).astype(float)
        outside = np.add.reduceat(times == 0, starts, axis=1, dtype=float)
        with np.errstate(invalid="ignore"):
            in_bag.append(measure(marginal_matrices(inside, actual, predicted, classes)))
            values = measure(marginal_matrices(outside, actual, predicted, classes))
        selected = np.nan_to_num(sign * in_bag[-1], nan=-np.inf).argmax(-1)
        out_of_bag.append(values[np.arange(size), selected])
    return np.concatenate(in_bag), np.concatenate(out_of_bag)


def _optimism(points, in_bag, selected, by_bootstrap):
    """Return the mean of both optimism estimates, and the factor that widens the interval."""
    defined = ~np.isnan(points)
    selected, points, in_bag = defined[:selected].sum(), points[defined], in_bag[:, defined]
    total = np.nanvar(in_bag[:, selected])
    deviations = in_bag - np.nanmean(in_bag, axis=1, keepdims=True)
    errors = np.nanvar(deviations, axis=0) * len(points) / max(len(points) - 1, 1)
    if not (len(points) > 1 and total > 0 and errors.max() > 0):
        return by_bootstrap, 1.0
    by_shrinkage, variance = _expected_error(points, np.maximum(errors, 1e-3 * total), selected)
    ratio = max(1.0, 1 + (variance - errors[selected]) / total)
    disagreement = (by_bootstrap - by_shrinkage) ** 2 / 4 / total
    return (by_bootstrap + by_shrinkage) / 2, float(np.sqrt(ratio + disagreement))


def _expected_error(points, variances, selected):
    """Return the mean and variance of the selected error for a Student t population."""
    typical_sd = np.sqrt(np.median(variances))
    errors = np.sqrt(variances)[:, None] * _NODES
    scales = typical_sd * _WIDTHS
    median, se = np.median(points), np.sqrt(np.var(points) / len(points)) + 1e-9 * typical_sd
    low, high = np.minimum(points.mean(), median), np.maximum(points.mean(), median)
    locations = np.linspace(low - 3 * se, high + 3 * se, 9)
    logs, first, second = np.empty((3, len(scales), len(locations)))
    for i, scale in enumerate(scales):
        for j, location in enumerate(locations):
            density = (1 + ((points[:, None] - errors - location) / scale) ** 2 / 2) ** -1.5
            weighted = density * _WEIGHTS
            weights = weighted[selected] / weighted[selected].sum()
            logs[i, j] = np.log(weighted.sum(axis=1) / scale).sum()
            first[i, j] = weights @ errors[selected]
            second[i, j] = weights @ errors[selected] ** 2
    prior = np.gradient(_WIDTHS) / (1 + _WIDTHS**2)
    share = np.exp(logs - logs.max()) * prior[:, None]
    share /= share.sum()
    mean = (share * first).sum()
    return mean, (share * second).sum() - mean**2


def _range(measure):
    low, high = measure.range
    return (-np.inf if low is None else low), (np.inf if high is None else high)
