"""Clustered examples: how many independent ones they are worth."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from bayescm.classical.delta import gradients
from bayescm.classical.samples import samples
from bayescm.evidence.counts import CELLS, as_counts
from bayescm.validate import fail


def design_effect(counts: xr.DataArray, measure: str | Callable) -> xr.DataArray:
    """
    Return the design effect of a measure: its variance relative to that of independent examples.

    The measure is linearised, as in the delta method; the sums of its linear form over the groups
    are compared with what independent examples would give.

    Parameters
    ----------
    counts : DataArray
        With a dim ``group`` of two or more: sites, patients, images.
    measure : str or callable
        A measure with one number per matrix; for classes use an average such as ``f1_macro``.

    Returns
    -------
    DataArray
        At least 1: where there is no effect, chance alone would put the estimate below 1 half of
        the time. NaN where the measure is undefined. Without the dim ``group``.

    Raises
    ------
    ValueError
        If there are no groups, or the measure has one value per class.

    References
    ----------
    Korn, E. L. & Graubard, B. I. (1998). Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data. Survey Methodology 24, 193-201.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [40, 10, 35], "fn": [5, 30, 8], "fp": [9, 4, 20], "tn": [41, 50, 30]}
    >>> sites = bcm.from_cells(**cells).rename(batch="group")
    >>> round(float(design_effect(sites, "recall")), 1)
    22.0
    """
    counts = _grouped(counts)
    setting = samples(counts.sum("group"), measure)
    if setting.widths() != [1]:
        todo = "use an average such as f1_macro"
        raise fail("the measure has one value per class", measure, "a single number", todo)
    lead = counts.dims[:-3]
    flat = counts.values.reshape(-1, *counts.shape[-3:]).astype(float)
    found = np.array([_effect(each, setting) for each in flat])
    coords = {dim: counts.coords[dim] for dim in lead if dim in counts.coords}
    shape = [counts.sizes[dim] for dim in lead]
    return xr.DataArray(found.reshape(shape), dims=lead, coords=coords, name="design_effect")


def _effect(groups, setting):
    """Return the design effect of one collection of groups, shape (G, C, C)."""
    total = groups.sum(0)
    size, number = total.sum(), int((groups.sum((1, 2)) > 0).sum())
    if number < 2 or size == 0:
        return np.nan
    slope = gradients(setting, total / size)[0]
    if not np.isfinite(slope).all():
        return np.nan
    slope = slope - (slope * total).sum() / size
    alone = (total * slope**2).sum()
    together = ((groups * slope).sum((1, 2)) ** 2).sum() * number / (number - 1)
    return max(1.0, together / alone) if alone > 0 else 1.0


def effective_counts(counts: xr.DataArray, measure: str | Callable) -> xr.DataArray:
    """
    Return pooled counts scaled down to the effective number of examples.

    A quick alternative to :func:`bayescm.fit` with ``hierarchical_groups``: divided by the design
    effect, the counts can be passed to any function that takes counts. With few groups the effect
    itself is uncertain, and the interval slightly too short.

    Parameters
    ----------
    counts : DataArray
        With a dim ``group``.
    measure : str or callable
        The measure of interest; each measure has its own design effect.

    Returns
    -------
    DataArray
        Fractional counts without the dim ``group``.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [40, 10, 35], "fn": [5, 30, 8], "fp": [9, 4, 20], "tn": [41, 50, 30]}
    >>> sites = bcm.from_cells(**cells).rename(batch="group")
    >>> worth = effective_counts(sites, "recall")
    >>> bcm.interval(worth, "recall", kind="eti").values.round(2)
    array([0.28, 0.92])
    """
    counts = _grouped(counts)
    effect = design_effect(counts, measure)
    pooled = counts.sum("group")
    worth = (pooled / effect).transpose(*pooled.dims).rename("counts")
    return worth.assign_coords({k: v for k, v in counts.coords.items() if v.ndim == 0})


def _grouped(counts):
    counts = as_counts(counts)
    if "group" not in counts.dims or counts.sizes["group"] < 2:
        todo = "name the axis: from_predictions(..., by={'group': site})"
        raise fail("fewer than two groups", counts.dims, "a dim group of two or more", todo)
    return counts.transpose(..., "group", *CELLS)
