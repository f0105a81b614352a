"""Posterior of a single proportion with a separate beta prior."""

from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.beta import Beta
from bayescm.validate import check_counts, check_kind, check_prob, check_row_order, fail


def proportion(
    successes: Any,
    failures: Any,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: float = 0.5,
) -> xr.DataArray:
    """
    Return the posterior interval of a single proportion.

    The measures of a confusion matrix share the prior for its cells, so accuracy has twice the
    pseudo-counts of recall. In contrast, a single proportion has a separate beta prior with
    `concentration` pseudo-counts for successes and for failures.

    Parameters
    ----------
    successes, failures : int, array_like (n,) or DataArray
        Counts >= 0. Arrays add a dimension ``batch``; DataArrays keep their dimensions.
    prob, kind
        See `interval`.
    concentration : float >= 0, default 0.5
        Prior pseudo-count of both successes and failures. 0 (Haldane's prior) requires that both
        counts are above 0.

    Returns
    -------
    DataArray, dims (..., bound)
        The posterior interval.

    References
    ----------
    Goutte, C. & Gaussier, E. (2005). A probabilistic interpretation of precision, recall and
    F-score. ECIR, 345-359. doi:10.1007/978-3-540-31865-1_25

    Examples
    --------
    >>> proportion(95, 50, kind="eti").values.round(4)
    array([0.5753, 0.7289])
    """
    check_prob(prob), check_kind(kind)
    if np.ndim(concentration) != 0 or not 0 <= concentration < np.inf:
        allowed = "a finite number >= 0"
        raise fail(f"`concentration` must be {allowed}", concentration, "", "pass 0.5 or 1")
    arguments = {"successes": successes, "failures": failures}
    check_row_order({k: v for k, v in arguments.items() if not isinstance(v, xr.DataArray)})
    right, wrong = xr.broadcast(*(_side(name, numbers) for name, numbers in arguments.items()))
    if not concentration and not (right.values * wrong.values).all():
        got = {"successes": right.values.min(), "failures": wrong.values.min()}
        todo = "pass `concentration=0.5`, or leave it out"
        raise fail(
            "The posterior is improper: with a concentration of 0, successes and failures "
            "must be above 0",
            got,
            "",
            todo,
        )
    distribution = Beta(right.values + concentration, wrong.values + concentration)
    ends = distribution.hdi(prob) if kind == "hdi" else distribution.eti(prob)
    coords = {**right.coords, "bound": ["lower", "upper"]}
    return xr.DataArray(ends, dims=(*right.dims, "bound"), coords=coords, name="proportion")


def _side(name, values):
    checked = check_counts(values, fractional=True, name=name)
    if isinstance(values, xr.DataArray):
        return values.copy(data=checked)
    if checked.ndim > 1:
        raise fail(
            f"{name} must have at most one axis, but its shape is {{}}",
            checked.shape,
            "",
            "pass DataArrays with named dimensions",
        )
    return xr.DataArray(checked, dims=("batch",)[: checked.ndim])
