r"""
Item analysis: the difficulty of each item, and its correlation with the other items.

The item-rest correlation of item i over K systems is the correlation between the scores
:math:`s_{ki}` and the mean scores on the other items, :math:`\bar s_{k,-i}`. Its interval uses
Fisher's transformation (1921):

.. math:: \tanh\left(\operatorname{artanh} r \pm \frac{z}{\sqrt{K - 3}}\right).

References
----------
Fisher, R. A. (1921). On the "probable error" of a coefficient of correlation deduced from a small
sample. Metron 1, 3-32.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri

from bayescm.evidence.registry import is_members, type_of
from bayescm.validate import check_prob, fail

_FEWEST = 3  # fewest systems for a correlation; with two, it is 1 or -1
_FEWEST_OF_INTERVAL = 4  # fewest systems for an interval; with three, it is unbounded


def item_table(
    evidence: xr.Dataset | Mapping[Any, xr.Dataset], *, prob: float = 0.95
) -> pd.DataFrame:
    """
    Return the mean score and the item-rest correlation of each item.

    Parameters
    ----------
    evidence : Dataset or mapping of system to Dataset
        Attempts or item scores of several systems on the same items. A mapping contains the
        evidence of each system, which is joined by item labels.
    prob : float in (0, 1), default 0.95
        Probability of the intervals of the correlations.

    Returns
    -------
    DataFrame
        One row per item, in the order of the evidence. The columns are ``item``, ``systems``
        (number of systems that answered the item), ``mean`` (over these systems), ``correlation``,
        ``lower`` and ``upper``. Correlations are missing with fewer than three systems or if all
        systems have the same score. Intervals are missing with fewer than four systems.
        ``attrs["caution"]`` is set if systems answered different items.

    Raises
    ------
    TypeError
        If the evidence does not consist of attempts or item scores.
    ValueError
        If there are fewer than two systems or three items.

    Notes
    -----
    An item with a negative correlation ranks systems in reverse order, and its answer key may be
    wrong. The intervals assume that the systems are a random sample of systems.

    Examples
    --------
    >>> import bayescm as bcm
    >>> scores = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [1, 1, 1], "d": [1, 1, 0]}
    >>> table = bcm.item_table(bcm.from_item_scores(scores, range=(0, 1)))
    >>> table[["item", "mean", "correlation"]].round(2).values.tolist()
    [[0.0, 1.0, nan], [1.0, 0.75, 0.33], [2.0, 0.25, 0.33]]
    """
    prob = check_prob(prob)
    scores = _scores(evidence)
    systems, items = scores.shape
    if systems < 2 or items < 3:
        todo = "pass evidence of several systems on the same items"
        raise fail(
            "A correlation needs at least two systems and three items", dict(scores.sizes), "", todo
        )
    values = scores.values
    correlation = _item_rest_correlations(values)
    answered = (~np.isnan(values)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = ndtri((1 + prob) / 2) / np.sqrt(
            np.where(answered >= _FEWEST_OF_INTERVAL, answered - 3, np.nan)
        )
        center = np.arctanh(correlation)
    table = pd.DataFrame(
        {
            "item": scores["item"].values,
            "systems": answered,
            "mean": np.nanmean(values, axis=0),
            "correlation": correlation,
            "lower": np.tanh(center - half),
            "upper": np.tanh(center + half),
        }
    )
    table.attrs["prob"] = prob
    if caution := _caution(scores):
        table.attrs["caution"] = caution
    return table


def _scores(evidence: Any) -> xr.DataArray:
    """Return the mean score of each system on each item, dims (classifier, item)."""
    if is_members(evidence):
        members = [_scores(member) for member in evidence.values()]
        if any(member.sizes["classifier"] > 1 for member in members):
            todo = "pass the evidence of one system under each name"
            raise fail("Some members of the mapping contain several systems", ..., "", todo)
        joined = xr.concat(members, "classifier", join="outer", coords="minimal", compat="override")
        return joined.assign_coords(classifier=list(map(str, evidence)))
    entry = type_of(evidence)
    if entry.name not in ("attempts", "item scores"):
        raise fail(
            f"Evidence of type {entry.name} has no items with scores",
            ...,
            "",
            "build the evidence with from_attempts or from_item_scores",
            TypeError,
        )
    evidence = entry.canonical(evidence)
    values = (
        evidence["correct"].mean("attempt") if "correct" in evidence else evidence["item_score"]
    )
    if "classifier" not in values.dims:
        values = values.expand_dims("classifier")
    return values.transpose("classifier", "item").reset_coords(drop=True)


def _item_rest_correlations(values):
    """Return the correlations (I,), over systems, of each item with the mean of the other items."""
    answered = ~np.isnan(values)
    total, number = np.nansum(values, axis=1, keepdims=True), answered.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (total - np.nan_to_num(values)) / (number - answered)
        rest = np.where(answered, rest, np.nan)
        one, other = (part - np.nanmean(part, axis=0) for part in (values, rest))
        scale = np.sqrt(np.nansum(one**2, axis=0) * np.nansum(other**2, axis=0))
        correlation = np.nansum(one * other, axis=0) / scale
    # Rounding errors may give equal scores a positive variance.
    enough = answered.sum(axis=0) >= _FEWEST
    varies = enough & (np.nanstd(values, axis=0) > 1e-12) & (np.nanstd(rest, axis=0) > 1e-12)
    return np.where(varies, np.clip(correlation, -1, 1), np.nan)


def _caution(scores):
    """Return a caution with the mean score on the items of each system, if these items differ."""
    answered = scores.notnull()
    if answered.all():
        return ""
    difficulty = scores.mean("classifier")
    means = difficulty.where(answered).mean("item").values
    names = scores["classifier"].values.tolist()
    numbers = ", ".join(f"{mean:.2f} ({name})" for name, mean in zip(names, means, strict=True))
    return (
        "The systems answered different items. The mean score of all systems on the items of each "
        f"one is {numbers}. Compare systems on the items that all of them answered."
    )
