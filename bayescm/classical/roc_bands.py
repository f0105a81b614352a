"""
Pointwise bands of ROC and precision-recall curves, threshold by threshold, and what they enclose.

These are the bands of Schalk's thesis: at each observed threshold an interval for either rate, as
if the threshold had been fixed beforehand and were the only one. They say nothing about the curve
as a whole; for that, see :func:`bayescm.curves.roc`.
"""

import numpy as np
import xarray as xr
from scipy.special import betaincinv

from bayescm.classical.proportion import proportion
from bayescm.curves.whole import points
from bayescm.direct.scores import arrays
from bayescm.evidence.scored.scores import as_scores
from bayescm.validate import check_choice, check_is, check_number, check_prob, fail

METHODS = ["credible", "wilson", "clopper_pearson", "agresti_coull"]


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
        Scores of one classifier, two classes.
    method : {"credible", "wilson", "clopper_pearson", "agresti_coull"}
    prob : float, default 0.95
        Mass of each interval by itself.
    concentration : float, default 1
        Prior pseudo-counts of the credible intervals, flat by default as in the thesis.

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
    fp, tp, totals, thresholds = _counts(evidence)
    fpr = _bounds(fp, np.full(len(fp), totals[0]), method, prob, concentration)
    tpr = _bounds(tp, np.full(len(tp), totals[1]), method, prob, concentration)
    return _labelled({"fpr": fpr, "tpr": tpr}, thresholds)


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
        ``precision`` and ``recall``; without the threshold at which nothing is predicted positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> bands = precision_recall_bands(evidence)
    >>> bands["recall"].sel(threshold=5).values.round(2)
    array([0.28, 0.95])
    """
    fp, tp, totals, thresholds = _counts(evidence)
    fp, tp, thresholds = fp[1:], tp[1:], thresholds[1:]
    precision = _bounds(tp, tp + fp, method, prob, concentration)
    recall = _bounds(tp, np.full(len(tp), totals[1]), method, prob, concentration)
    return _labelled({"precision": precision, "recall": recall}, thresholds)


def hull_areas(bands: xr.Dataset) -> xr.DataArray:
    """
    Return the areas under the lower and the upper hull of pointwise bands.

    The thesis calls this an interval of the area under the curve. It is not: every point lies at
    its own limit at once, and the areas are almost twice as far apart as an interval needs.
    They are here for comparison; for intervals see :func:`bayescm.curves.auc`.

    Parameters
    ----------
    bands : Dataset
        From `roc_bands` or `precision_recall_bands`.

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
        pairs = [("upper", "lower"), ("lower", "upper")]  # bounds of (fpr, tpr)
        ends = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
        x, y = bands["fpr"], bands["tpr"]
    elif "precision" in bands:
        pairs = [("lower", "lower"), ("upper", "upper")]  # bounds of (recall, precision)
        x, y = bands["recall"], bands["precision"]
        ends = None
    else:
        todo = "pass roc_bands(evidence)"
        raise fail(
            "not bands of a curve", list(bands), "fpr and tpr, or precision and recall", todo
        )
    areas = [_area(x.sel(bound=a).values, y.sel(bound=b).values, ends) for a, b in pairs]
    return xr.DataArray(areas, {"bound": ["lower", "upper"]}, ("bound",), "hull_area")


def _area(x, y, ends):
    if ends is None:  # to recall 0 and 1 at the precision of the nearest threshold
        ends = {"x": (0.0, 1.0), "y": (y[0], y[-1])}
    x = np.concatenate([[ends["x"][0]], x, [ends["x"][1]]])
    y = np.concatenate([[ends["y"][0]], y, [ends["y"][1]]])
    order = np.argsort(x, kind="stable")
    return np.trapezoid(y[order], x[order])


def _counts(evidence):
    """Return false and true positives at each threshold, the totals, and the thresholds."""
    observed = points(evidence)
    _, weights, codes = arrays(as_scores(evidence))
    totals = np.bincount(codes, weights, 2)
    fp, tp = (
        observed[name].values * total for name, total in zip(("fpr", "tpr"), totals, strict=True)
    )
    return fp, tp, totals, observed["threshold"].values


def _bounds(hits, trials, method, prob, concentration):
    check_prob(prob), check_choice("method", method, METHODS)
    if method == "credible":
        check_number("concentration", concentration, 0, usual=1)
        a, b = hits + concentration, trials - hits + concentration
        tail = (1 - prob) / 2
        return np.stack([betaincinv(a, b, tail), betaincinv(a, b, 1 - tail)], axis=-1)
    whole = [np.round(each) for each in (hits, trials)]
    if not all(np.allclose(each, given) for each, given in zip(whole, (hits, trials), strict=True)):
        todo = "pass method='credible'"
        raise fail("weights make the counts fractional", ..., "whole numbers", todo)
    bounds = proportion(*(each.astype(int) for each in whole), method=method, prob=prob).values
    return np.clip(bounds, 0, 1)


def _labelled(bounds, thresholds):
    coords = {"threshold": thresholds, "bound": ["lower", "upper"]}
    return xr.Dataset({k: (("threshold", "bound"), each) for k, each in bounds.items()}, coords)
