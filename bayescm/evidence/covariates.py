"""Numeric covariates of groups, such as the year of a study or the size of a hospital."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import as_counts
from bayescm.validate import fail, suggest


def study_covariates(counts: xr.DataArray, reference: Mapping[str, Any]) -> xr.DataArray:
    """
    Return covariates of studies as numbers for a meta-regression.

    Pass the result as ``covariates=`` to functions that use the model `hierarchical_groups`.

    Parameters
    ----------
    counts : DataArray, dims (..., group, actual, predicted)
        Counts with the covariates as coordinates along ``group``, as returned by `read`.
    reference : mapping of str to number or label
        Reference value of each covariate. Together, these values describe the typical study.
        Numeric covariates are centred at the reference. Any other covariate is replaced by one
        indicator column for each of its other labels, which is 1 for studies with this label.

    Returns
    -------
    DataArray, dims (group, covariate)
        Covariates. The coordinate ``covariate`` has names such as ``year`` or ``test=ELISA``.

    Raises
    ------
    ValueError
        If a covariate does not exist, a value is missing, or no study has the reference label.

    Examples
    --------
    >>> import bayescm as bcm
    >>> studies = bcm.from_cells(tp=[30, 25, 41], fn=[3, 9, 5], fp=[4, 8, 2], tn=[50, 61, 33])
    >>> studies = studies.rename(batch="group").assign_coords(year=("group", [1998, 2004, 2010]))
    >>> bcm.meta.study_covariates(studies, {"year": 2000}).values.ravel()
    array([-2.,  4., 10.])
    """
    counts = as_counts(counts)
    along = [str(name) for name, coord in counts.coords.items() if coord.dims == ("group",)]
    available = [name for name in along if name != "group"]  # group holds the names of the studies
    columns: dict[Hashable, np.ndarray] = {}
    if not isinstance(reference, Mapping) or not reference:
        raise fail(
            "No covariates of the typical study are given", ..., "", "pass e.g. {'year': 2000}"
        )
    for name, value in reference.items():
        if not available:
            raise fail(
                f"The studies have no covariate {name}",
                ...,
                "",
                f"add it with counts.assign_coords({name}=('group', [1998, 2004, ...])), or "
                "read a table with this column",
            )
        if name not in available:
            raise fail("Unknown covariate {}", name, available, suggest(str(name), available))
        columns |= _columns(name, counts[name].values, value)
    group = {"group": counts["group"].values} if "group" in counts.coords else {}
    return xr.DataArray(
        np.stack(list(columns.values()), axis=1),
        dims=("group", "covariate"),
        coords={"covariate": [str(name) for name in columns], **group},
        attrs={"reference": ", ".join(f"{name}={value}" for name, value in reference.items())},
    )


def _columns(name, values, reference):
    missing = pd.isna(values)
    if missing.any():
        raise fail(
            f"{name} is missing for some studies ({missing.sum()})",
            ...,
            "",
            "leave these studies out",
        )
    if np.issubdtype(values.dtype, np.number) and not np.issubdtype(values.dtype, np.bool_):
        if isinstance(reference, (bool, str)) or not isinstance(reference, (int, float, np.number)):
            raise fail(
                f"{name} of the typical study must be a number", reference, "", "pass a number"
            )
        return {name: values.astype(float) - float(reference)}
    labels = sorted(set(values.tolist()), key=str)
    if reference not in labels:
        raise fail(f"No study has {name} {{}}", reference, labels, "pass one of them")
    others = [label for label in labels if label != reference]
    return {f"{name}={label}": (values == label).astype(float) for label in others}
