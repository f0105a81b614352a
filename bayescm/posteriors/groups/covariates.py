"""Covariates of groups, as a meta-regression takes them: numbers, 0 for the typical group."""

import numpy as np
import xarray as xr

from bayescm.validate import fail

_DIMS = ("group", "covariate")


def design_of(covariates, slope: float, table: xr.DataArray) -> np.ndarray:
    """Return covariates (G, Q) in the order of the groups of a table, or raise."""
    if not isinstance(slope, (int, float, np.number)) or not 0 < slope < np.inf:
        raise fail("slope must be a positive scale", slope, "a number > 0", "pass e.g. slope=2.0")
    if table.sizes["actual"] != 2:
        todo = "leave them out, or compare one class with the rest"
        raise fail("covariates are for two classes", table.sizes["actual"], "2", todo)
    todo = "pass study_covariates(counts, {'year': 2000})"
    if not isinstance(covariates, xr.DataArray) or set(covariates.dims) != set(_DIMS):
        got = getattr(covariates, "dims", type(covariates).__name__)
        raise fail("covariates are not labelled", got, f"a DataArray, dims {_DIMS}", todo)
    if "group" in covariates.coords and "group" in table.coords:
        wanted, given = (each["group"].values for each in (table, covariates))
        missing = set(wanted.tolist()) - set(given.tolist())
        if missing or len(set(given.tolist())) < len(given):
            got = min(missing, key=str) if missing else "a group twice"
            raise fail("covariates of other groups", got, "each group once", todo)
        covariates = covariates.sel(group=wanted)
    try:
        design = covariates.transpose(*_DIMS).values.astype(float)
    except (TypeError, ValueError):
        raise fail("covariates must be numbers", covariates.dtype, "numbers", todo) from None
    groups = table.sizes["group"]
    if len(design) != groups or not design.shape[1]:
        raise fail("covariates have another shape", design.shape, f"({groups}, Q)", todo)
    if not np.isfinite(design).all():
        todo = "leave out the groups where one is missing"
        raise fail("covariates must be finite", design[~np.isfinite(design)][0], "numbers", todo)
    centred = design - design.mean(0)
    size = np.abs(centred).max(0)
    if not size.all() or np.linalg.matrix_rank(centred / size) < len(size):
        todo = "leave out those that are constant, or sums of others, or too many for the groups"
        raise fail("covariates do not tell the groups apart", design.shape, "none to spare", todo)
    return design
