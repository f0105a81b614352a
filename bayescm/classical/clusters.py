"""
Clustered examples: design effects and effective sample sizes.

A measure with derivatives d with respect to the shares of the cells has the linear form
l = d - sum_m p_m d_m. With n_g counts in cluster g of G,

    design effect = G / (G - 1) sum_g (sum_m n_gm l_m)^2 / sum_m n_m l_m^2,

which is the variance between clusters divided by the variance for independent examples.
"""

from collections.abc import Callable

import numpy as np
import xarray as xr

from bayescm.classical.intervals import gradients, multinomial_samples
from bayescm.evidence.counts import CELLS, as_counts
from bayescm.validate import fail


def design_effect(counts: xr.DataArray, measure: str | Callable) -> xr.DataArray:
    """
    Return the design effect of a measure under cluster sampling.

    The design effect is the variance of the estimate relative to the variance for independent
    examples. The measure is linearised as in the delta method, and the variance is computed from
    the linear form, summed within groups.

    Parameters
    ----------
    counts : DataArray
        Counts with a dimension ``group`` of at least two members, such as sites, patients or
        images.
    measure : str or callable
        Measure with a single value per matrix. For several classes, use an average such as
        ``f1_macro``.

    Returns
    -------
    DataArray
        Design effect, without the dimension ``group``. It is set to at least 1, because without
        clustering the estimate would be below 1 in about half of all samples. It is NaN if the
        measure is undefined.

    Raises
    ------
    ValueError
        If there are fewer than two groups, or the measure has one value per class.

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
    counts = _as_clusters(counts)
    samples = multinomial_samples(counts.sum("group"), measure)
    if samples.selected.shape[1] != 1:
        todo = "use an average such as f1_macro"
        raise fail("{} has one value per class, but a single number is needed", measure, "", todo)
    leading = counts.isel({dim: 0 for dim in ("group", *CELLS)}, drop=True)
    collections = counts.values.reshape(-1, *counts.shape[-3:]).astype(float)
    effects = np.reshape(
        [_design_effect(clusters, samples) for clusters in collections], leading.shape
    )
    coords = {dim: counts.coords[dim] for dim in leading.dims if dim in counts.coords}
    return xr.DataArray(effects, dims=leading.dims, coords=coords, name="design_effect")


def _design_effect(clusters, samples):
    """Return the design effect of one set of clusters, shape (G, C, C)."""
    total = clusters.sum(0)
    n, size = total.sum(), int((clusters.sum((1, 2)) > 0).sum())
    if size < 2 or n == 0:
        return np.nan
    slope = gradients(samples, total / n)[0]
    if not np.isfinite(slope).all():
        return np.nan
    linear = slope - (slope * total).sum() / n
    independent = (total * linear**2).sum()
    between = ((clusters * linear).sum((1, 2)) ** 2).sum() * size / (size - 1)
    return max(1.0, between / independent) if independent > 0 else 1.0


def effective_counts(counts: xr.DataArray, measure: str | Callable) -> xr.DataArray:
    """
    Return pooled counts scaled down to the effective number of examples.

    Counts divided by the design effect can be passed to any function of counts. This is a quick
    alternative to :func:`bayescm.fit` with ``hierarchical_groups``. With few groups, the design
    effect itself is uncertain, and intervals are slightly too short.

    Parameters
    ----------
    counts : DataArray
        Counts with a dimension ``group``.
    measure : str or callable
        Measure of interest. Each measure has a separate design effect.

    Returns
    -------
    DataArray
        Fractional counts, without the dimension ``group``.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [40, 10, 35], "fn": [5, 30, 8], "fp": [9, 4, 20], "tn": [41, 50, 30]}
    >>> sites = bcm.from_cells(**cells).rename(batch="group")
    >>> effective = effective_counts(sites, "recall")
    >>> bcm.interval(effective, "recall", kind="eti").values.round(2)
    array([0.28, 0.92])
    """
    counts = _as_clusters(counts)
    pooled = counts.sum("group")
    effective = pooled / design_effect(counts, measure)
    scalars = {name: coord for name, coord in counts.coords.items() if coord.ndim == 0}
    return effective.transpose(*pooled.dims).rename("counts").assign_coords(scalars)


def _as_clusters(counts):
    counts = as_counts(counts)
    if "group" not in counts.dims or counts.sizes["group"] < 2:
        todo = "name the axis: `from_predictions(..., by={'group': site})`"
        raise fail(
            "At least two groups are needed; the counts have the dimensions {}",
            counts.dims,
            "",
            todo,
        )
    return counts.transpose(..., "group", *CELLS)
