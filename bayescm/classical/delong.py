"""DeLong's intervals for areas under ROC curves, alone and in pairs."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, logit, ndtr, ndtri

from bayescm.curves.drawing import labels, samples
from bayescm.direct.roc.paired_areas import placement_covariance
from bayescm.direct.scores import arrays
from bayescm.evidence.scored.scores import as_scores
from bayescm.evidence.scored.slices import slice_name
from bayescm.validate import check_choice, check_prob, fail


def delong(evidence: xr.Dataset, *, prob: float = 0.95, transform: str = "logit") -> xr.DataArray:
    """
    Return DeLong's confidence interval of the area under the ROC curve.

    Parameters
    ----------
    evidence : Dataset
        Scores of two classes.
    prob : float, default 0.95
    transform : {"logit", "none"}
        Whether the interval is symmetric on the logit scale, which keeps it inside (0, 1).

    Returns
    -------
    DataArray, dims ([fold], [classifier], bound)
        Zero width where the classes are perfectly separated, and NaN on the logit scale: the
        method has no answer there. Without the transform it may leave [0, 1].

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
    evidence = _two_classes(evidence)
    z = ndtri((1 + prob) / 2)
    ends = []
    for part in samples(evidence):
        areas, covariance = areas_and_covariance(*arrays(part))
        sd = np.sqrt(np.diag(covariance))
        ends.append(_bounds(areas, sd, z, transform))
    dims, known = labels(evidence, pooled=False)
    coords: dict[str, Any] = {dim: known[dim] for dim in dims}
    shape = [len(each) for each in coords.values()]
    coords |= {"bound": ["lower", "upper"]}
    return xr.DataArray(np.stack(ends).reshape(*shape, 2), coords, tuple(coords), "auc")


def _bounds(areas, sd, z, transform):
    if transform == "none":
        return np.stack([areas - z * sd, areas + z * sd], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre, wide = logit(areas), z * sd / (areas * (1 - areas))
        return expit(np.stack([centre - wide, centre + wide], axis=-1))


def delong_compare(
    evidence: xr.Dataset | Mapping[str, xr.Dataset], *, prob: float = 0.95
) -> pd.DataFrame:
    """
    Compare areas under ROC curves pairwise: on the same examples, or on different ones.

    Parameters
    ----------
    evidence : Dataset or mapping of str to Dataset
        Scores of two or more classifiers on the same examples, two classes, no folds. A mapping
        ``{"a": scores, "b": scores}`` holds one classifier each, tested on examples of its own:
        their areas are independent.
    prob : float, default 0.95

    Returns
    -------
    DataFrame
        ``first``, ``second``, ``difference``, ``sd``, ``lower``, ``upper``, ``z`` and the two-sided
        ``p_value``; where the difference has no variance the last two are NaN.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, more than two classes, or folds.

    Examples
    --------
    >>> import bayescm as bcm
    >>> old = bcm.from_scores([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
    >>> new = bcm.from_scores([0, 1, 0, 1, 1, 0], [1, 4, 3, 2, 5, 6])
    >>> delong_compare({"old": old, "new": new})[["difference", "p_value"]].round(3).values.tolist()
    [[0.333, 0.343]]
    """
    check_prob(prob)
    unpaired = isinstance(evidence, Mapping) and not isinstance(evidence, xr.Dataset)
    names, areas, covariance = _apart(evidence) if unpaired else _together(evidence)
    width = ndtri((1 + prob) / 2)
    rows = []
    for i, j in combinations(range(len(names)), 2):
        difference = areas[i] - areas[j]
        variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        sd = np.sqrt(max(variance, 0.0))
        z = difference / sd if sd > 0 else np.nan
        row = {"first": names[i], "second": names[j], "difference": difference, "sd": sd}
        row |= {"lower": difference - width * sd, "upper": difference + width * sd}
        rows.append(row | {"z": z, "p_value": 2 * ndtr(-abs(z))})
    return pd.DataFrame(rows)


def _together(evidence):
    evidence = _two_classes(evidence)
    names = evidence["classifier"].values.tolist() if "classifier" in evidence.dims else []
    _check_compared(names, evidence)
    return names, *areas_and_covariance(*arrays(evidence))


def _apart(evidence):
    parts = [_two_classes(each) for each in evidence.values()]
    _check_compared(list(evidence), *parts)
    for name, part in zip(evidence, parts, strict=True):
        if "classifier" in part.dims:
            todo = "take one: scores.sel(classifier=...)"
            held = part["classifier"].values.tolist()
            raise fail(f"{name} holds several classifiers", held, "one each", todo)
    found = [areas_and_covariance(*arrays(part)) for part in parts]
    areas = np.array([area[0] for area, _ in found])
    return list(evidence), areas, np.diag([covariance[0, 0] for _, covariance in found])


def _check_compared(names, *parts):
    if len(names) < 2 or any(slice_name(part) for part in parts):
        todo = "pass from_scores(actual, {'a': ..., 'b': ...}), or a mapping of such evidence"
        raise fail("nothing to compare", names, "two classifiers without folds or groups", todo)


def areas_and_covariance(
    matrix: np.ndarray, weights: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the areas (V,) and their covariance (V, V), in O(n log n).

    Parameters
    ----------
    matrix : ndarray, shape (V, n)
    weights : ndarray, shape (n,)
        How many examples each stands for.
    codes : ndarray of int, shape (n,)
        1 for a positive example, else 0.
    """
    sides = [codes == 0, codes == 1]
    total = [weights[side].sum() for side in sides]
    if min(total) <= 1:
        todo = "collect more, or use the posterior: curves.auc"
        raise fail("the variance needs two examples of each class", min(total), "at least 2", todo)
    return placement_covariance(matrix, weights, sides)


def _two_classes(evidence):
    evidence = as_scores(evidence)
    if "class" in evidence.dims:
        todo = "take one class against the rest: one_vs_rest(evidence, label)"
        raise fail("more than two classes", evidence["class"].values, "two classes", todo)
    return evidence
