"""
Confidence intervals and bands for ROC and precision-recall curves.

DeLong's variance of an area is computed from placements: for each positive, the share of negatives
with lower scores, and for each negative, the share of positives with higher scores. Ties count
half.

The pointwise bands follow Schalk's thesis. At each observed threshold, they contain an interval for
each rate, as if this threshold had been fixed in advance and were the only one. They are not
simultaneous for the whole curve; for that, see :func:`bayescm.curves.roc`.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import betaincinv, expit, logit, ndtr, ndtri

from bayescm.classical.intervals import proportion
from bayescm.curves.roc import interval_of, points
from bayescm.evidence.scores import as_scores, score_arrays
from bayescm.evidence.slices import samples, slice_labels, slice_name
from bayescm.measures.catalogue import resolve
from bayescm.measures.curves import Curve
from bayescm.posteriors.roc.paired_areas import placement_covariance
from bayescm.validate import (
    check_choice,
    check_is,
    check_number,
    check_prob,
    check_seed,
    check_whole,
    fail,
)

BAND_METHODS = ["credible", "wilson", "clopper_pearson", "agresti_coull"]
# Number of examples times bootstrap resamples in memory at once: 80 MB per array.
_BLOCK = 1e7


def delong(evidence: xr.Dataset, *, prob: float = 0.95, transform: str = "logit") -> xr.DataArray:
    """
    Return DeLong's confidence interval for the area under the ROC curve.

    Parameters
    ----------
    evidence : Dataset
        Scores of two classes.
    prob : float, default 0.95
    transform : {"logit", "none"}
        Whether the interval is symmetric on the logit scale, which keeps it inside (0, 1), or on
        the scale of the area.

    Returns
    -------
    DataArray, dims ([fold], [classifier], bound)
        Interval. If the classes are perfectly separated, the method does not apply: the interval is
        NaN on the logit scale, and its width is zero without the transform. Without the transform,
        it may also exceed [0, 1].

    References
    ----------
    DeLong, E. R., DeLong, D. M. & Clarke-Pearson, D. L. (1988). Comparing the areas under two or
    more correlated receiver operating characteristic curves. Biometrics 44, 837-845.
    doi:10.2307/2531595

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> delong(evidence, transform="none").values.round(3)
    array([0.208, 1.167])
    """
    check_prob(prob), check_choice("transform", transform, ["logit", "none"])
    evidence = _as_two_classes(evidence)
    z = ndtri((1 + prob) / 2)
    bounds = []
    for sample in samples(evidence):
        areas, covariance = areas_and_covariance(*score_arrays(sample))
        half = z * np.sqrt(np.diag(covariance))
        bounds.append(_around(areas, half, transform))
    coords: dict[str, Any] = slice_labels(evidence)
    if "classifier" in evidence.dims:
        coords["classifier"] = evidence["classifier"].values
    shape = [len(coord) for coord in coords.values()]
    coords |= {"bound": ["lower", "upper"]}
    return xr.DataArray(np.stack(bounds).reshape(*shape, 2), coords, tuple(coords), "auc")


def _around(areas, half, transform):
    if transform == "none":
        return np.stack([areas - half, areas + half], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        center, half = logit(areas), half / (areas * (1 - areas))
        return expit(np.stack([center - half, center + half], axis=-1))


def delong_compare(
    evidence: xr.Dataset | Mapping[str, xr.Dataset], *, prob: float = 0.95
) -> pd.DataFrame:
    """
    Compare areas under ROC curves pairwise with DeLong's test.

    Parameters
    ----------
    evidence : Dataset or mapping of str to Dataset
        Scores of two or more classifiers on the same examples, with two classes and without folds
        or groups. A mapping ``{"a": scores, "b": scores}`` is for classifiers tested on different
        examples, whose areas are independent.
    prob : float, default 0.95

    Returns
    -------
    DataFrame
        ``first``, ``second``, ``difference``, ``sd``, ``lower``, ``upper``, ``z`` and the two-sided
        ``p_value``. If the variance of the difference is zero, the last two are NaN.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers or more than two classes, or if the examples are
        divided into folds or groups.

    Examples
    --------
    >>> import bayescm as bcm
    >>> old = bcm.from_scores([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
    >>> new = bcm.from_scores([0, 1, 0, 1, 1, 0], [1, 4, 3, 2, 5, 6])
    >>> delong_compare({"old": old, "new": new})[["difference", "p_value"]].round(3).values.tolist()
    [[0.333, 0.343]]
    """
    check_prob(prob)
    if isinstance(evidence, Mapping) and not isinstance(evidence, xr.Dataset):
        names, areas, covariance = _of_separate_samples(evidence)
    else:
        scores = _as_two_classes(evidence)
        names = scores["classifier"].values.tolist() if "classifier" in scores.dims else []
        _check_compared(names, scores)
        areas, covariance = areas_and_covariance(*score_arrays(scores))
    quantile = ndtri((1 + prob) / 2)
    rows = []
    for i, j in combinations(range(len(names)), 2):
        difference = areas[i] - areas[j]
        variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        sd = np.sqrt(max(variance, 0.0))
        z = difference / sd if sd > 0 else np.nan
        row = {"first": names[i], "second": names[j], "difference": difference, "sd": sd}
        row |= {"lower": difference - quantile * sd, "upper": difference + quantile * sd}
        rows.append(row | {"z": z, "p_value": 2 * ndtr(-abs(z))})
    return pd.DataFrame(rows)


def _of_separate_samples(evidence):
    """Return names, areas and covariance of classifiers tested on different examples."""
    scores = [_as_two_classes(scores) for scores in evidence.values()]
    _check_compared(list(evidence), *scores)
    for name, one in zip(evidence, scores, strict=True):
        if "classifier" in one.dims:
            names = one["classifier"].values.tolist()
            raise fail(
                f"{name} has several classifiers: {{}}",
                names,
                "",
                "select one with scores.sel(classifier=...)",
            )
    areas, covariances = zip(
        *(areas_and_covariance(*score_arrays(one)) for one in scores), strict=True
    )
    variances = [covariance[0, 0] for covariance in covariances]
    return list(evidence), np.concatenate(areas), np.diag(variances)


def _check_compared(names, *scores):
    if len(names) < 2 or any(slice_name(one) for one in scores):
        todo = "pass `from_scores(actual, {'a': ..., 'b': ...})`, or a mapping of such evidence"
        raise fail(
            "A comparison needs at least two classifiers, without folds or groups", names, "", todo
        )


def areas_and_covariance(
    scores: np.ndarray, weights: np.ndarray, actual: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the areas (V,) and their covariance (V, V) in O(n log n) time.

    Parameters
    ----------
    scores : ndarray, shape (V, n)
    weights : ndarray, shape (n,)
        Number of examples that each score represents.
    actual : ndarray of int, shape (n,)
        1 for positive examples, else 0.
    """
    by_class = [actual == 0, actual == 1]
    smallest = min(weights[members].sum() for members in by_class)
    if smallest <= 1:
        todo = "collect more, or use the posterior: curves.auc"
        raise fail(
            "The variance needs at least two examples of each class; one class has {}",
            smallest,
            "",
            todo,
        )
    return placement_covariance(scores, weights, by_class)


def _as_two_classes(evidence):
    evidence = as_scores(evidence)
    if "class" in evidence.dims:
        todo = "use one class against the rest: one_vs_rest(evidence, label)"
        raise fail("Exactly two classes are needed", evidence["class"].values.tolist(), "", todo)
    return evidence


def roc_bands(
    evidence: xr.Dataset,
    *,
    method: str = "credible",
    prob: float = 0.95,
    concentration: float = 1.0,
) -> xr.Dataset:
    """
    Return pointwise intervals of both rates at every observed threshold.

    Parameters
    ----------
    evidence : Dataset
        Scores of one classifier with two classes.
    method : {"credible", "wilson", "clopper_pearson", "agresti_coull"}
    prob : float, default 0.95
        Probability of each single interval.
    concentration : float, default 1
        Prior pseudo-counts of the credible intervals. The default is a flat prior, as in Schalk's
        thesis.

    Returns
    -------
    Dataset, dims (threshold, bound)
        ``fpr`` and ``tpr``.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> roc_bands(evidence).tpr.sel(threshold=0.8).values.round(3)
    array([0.094, 0.906])
    """
    fp, tp, negatives, positives, thresholds = _counts_at_thresholds(evidence)
    fpr = _rate_bounds(fp, negatives, method, prob, concentration)
    tpr = _rate_bounds(tp, positives, method, prob, concentration)
    return _bands({"fpr": fpr, "tpr": tpr}, thresholds)


def precision_recall_bands(
    evidence: xr.Dataset,
    *,
    method: str = "credible",
    prob: float = 0.95,
    concentration: float = 1.0,
) -> xr.Dataset:
    """
    Return pointwise intervals of precision and recall at every observed threshold.

    Parameters
    ----------
    evidence, method, prob, concentration
        See `roc_bands`.

    Returns
    -------
    Dataset, dims (threshold, bound)
        Intervals of ``precision`` and ``recall``, without the threshold at which nothing is
        predicted positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> bands = precision_recall_bands(evidence)
    >>> bands["recall"].sel(threshold=5).values.round(2)
    array([0.28, 0.95])
    """
    fp, tp, _, positives, thresholds = _counts_at_thresholds(evidence)
    fp, tp, thresholds = fp[1:], tp[1:], thresholds[1:]
    precision = _rate_bounds(tp, tp + fp, method, prob, concentration)
    recall = _rate_bounds(tp, positives, method, prob, concentration)
    return _bands({"precision": precision, "recall": recall}, thresholds)


def _counts_at_thresholds(evidence):
    """Return false and true positives at each threshold, the totals, and the thresholds."""
    curve = points(evidence)
    _, weights, actual = score_arrays(as_scores(evidence))
    negatives, positives = np.bincount(actual, weights, 2)
    fp, tp = curve["fpr"].values * negatives, curve["tpr"].values * positives
    return fp, tp, negatives, positives, curve["threshold"].values


def _rate_bounds(successes, trials, method, prob, concentration):
    check_prob(prob), check_choice("method", method, BAND_METHODS)
    successes, trials = np.broadcast_arrays(successes, trials)
    if method == "credible":
        check_number("concentration", concentration, 0, usual=1)
        a, b = successes + concentration, trials - successes + concentration
        tail = (1 - prob) / 2
        return np.stack([betaincinv(a, b, tail), betaincinv(a, b, 1 - tail)], axis=-1)
    x, n = np.round(successes), np.round(trials)
    if not (np.allclose(x, successes) and np.allclose(n, trials)):
        todo = "pass `method='credible'`"
        raise fail("Weighted counts are not whole numbers", ..., "", todo)
    return np.clip(proportion(x.astype(int), n.astype(int), method=method, prob=prob).values, 0, 1)


def _bands(bounds, thresholds):
    coords = {"threshold": thresholds, "bound": ["lower", "upper"]}
    variables = {name: (("threshold", "bound"), values) for name, values in bounds.items()}
    return xr.Dataset(variables, coords)


def hull_areas(bands: xr.Dataset) -> xr.DataArray:
    """
    Return the areas under the lower and upper hulls of pointwise bands.

    Schalk's thesis calls the result an interval of the area under the curve. However, it assumes
    that all points reach their limits simultaneously, and is almost twice as wide as necessary. It
    is included for comparison only; for intervals, see :func:`bayescm.curves.auc`.

    Parameters
    ----------
    bands : Dataset
        Result of `roc_bands` or `precision_recall_bands`.

    Returns
    -------
    DataArray, dims (bound)

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> hull_areas(roc_bands(evidence)).values.round(2)
    array([0.05, 0.98])
    """
    check_is(bands, xr.Dataset, "bands of a curve", "a Dataset", "pass roc_bands(evidence)")
    if "tpr" in bands:
        x, y = bands["fpr"], bands["tpr"]
        hulls = [("upper", "lower"), ("lower", "upper")]  # bounds of (fpr, tpr)
    elif "precision" in bands:
        x, y = bands["recall"], bands["precision"]
        hulls = [("lower", "lower"), ("upper", "upper")]  # bounds of (recall, precision)
    else:
        todo = "pass roc_bands(evidence)"
        raise fail(
            "Bands of a curve need the variables fpr and tpr, or precision and recall",
            list(bands),
            "",
            todo,
        )
    areas = []
    for x_bound, y_bound in hulls:
        xs, ys = x.sel(bound=x_bound).values, y.sel(bound=y_bound).values
        # An ROC curve starts at (0, 0) and ends at (1, 1). Precision at recall 0 and 1 is taken
        # from the nearest threshold.
        first, last = (0.0, 1.0) if "tpr" in bands else (ys[0], ys[-1])
        xs, ys = np.array([0.0, *xs, 1.0]), np.array([first, *ys, last])
        order = np.argsort(xs, kind="stable")
        areas.append(np.trapezoid(ys[order], xs[order]))
    return xr.DataArray(areas, {"bound": ["lower", "upper"]}, ("bound",), "hull_area")


def curve_bootstrap(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    prob: float = 0.95,
    resamples: int = 1000,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the stratified percentile bootstrap interval of a summary of a curve.

    Parameters
    ----------
    evidence : Dataset
        Scores of one or more classifiers with two classes, without folds or weights.
    measure : str or callable
        See :func:`bayescm.curves.number_draws`.
    prob : float, default 0.95
    resamples : int, default 1000
    random_seed : int, default 0

    Returns
    -------
    DataArray, dims ([classifier], bound)
        Interval. If the classes are perfectly separated, so are all resamples, and its width is
        zero.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> curve_bootstrap(evidence, random_seed=1).dims
    ('bound',)
    """
    check_prob(prob)
    evidence = as_scores(evidence)
    resolved = resolve(measure, "curve")
    structure = [
        part for part in ("fold", "group", "weight", "class") if part in {*evidence.dims, *evidence}
    ]
    if structure:
        todo = "use the posterior: curves.number_draws"
        raise fail(
            "The bootstrap needs a single unweighted sample of two classes",
            structure,
            "",
            todo,
        )
    check_whole("resamples", resamples, 2, "resamples", 1000)
    scores, _, actual = score_arrays(evidence)
    rng = np.random.default_rng(check_seed(random_seed))
    block = max(1, int(_BLOCK / len(actual)))
    blocks = []
    for start in range(0, resamples, block):
        counts = _resample_by_class(actual, min(block, resamples - start), rng)
        blocks.append(
            np.stack([resolved(resampled_curve(row, actual, counts)) for row in scores], axis=1)
        )
    values = xr.DataArray(
        np.concatenate(blocks), dims=("draw", "classifier"), name=resolved.__name__
    )
    if "classifier" in evidence.dims:
        values = values.assign_coords(classifier=evidence["classifier"].values)
    else:
        values = values.isel(classifier=0)
    return interval_of(values, prob, "eti")


def _resample_by_class(actual, size, rng):
    """Return the frequency of each example in resamples stratified by class, (size, n)."""
    counts = np.empty((size, len(actual)))
    for label in (0, 1):
        members = np.flatnonzero(actual == label)
        probabilities = np.full(len(members), 1 / len(members))
        counts[:, members] = rng.multinomial(len(members), probabilities, size)
    return counts


def resampled_curve(scores: np.ndarray, actual: np.ndarray, counts: np.ndarray) -> Curve:
    """Return the curves of all resamples, with points at the distinct scores."""
    values, position = np.unique(-scores, return_inverse=True)
    rates = np.zeros((2, len(counts), len(values) + 1))
    for label in (0, 1):
        members = actual == label
        order = np.argsort(position[members], kind="stable")
        cumulative = np.cumsum(counts[:, members][:, order], axis=1)
        cumulative = np.pad(cumulative, ((0, 0), (1, 0)))
        above = np.searchsorted(position[members][order], np.arange(len(values)), side="right")
        rates[label, :, 1:] = cumulative[:, above] / cumulative[:, -1:]
    prevalence = np.full(len(counts), actual.mean())
    half, tied = np.full(len(values), 0.5), np.ones(len(values), bool)
    return Curve(rates[0], rates[1], prevalence, half, tied, np.arange(len(values) + 1))
