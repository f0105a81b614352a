"""
Clusters, slices and weights of units (items or examples).

Item scores, attempts and multilabel data are a Dataset with a dimension of units, ``item`` or
``example``. Optional properties of the units are stored as follows:

- clusters: the coordinate ``group`` along the dimension of units.
- slices: the variable ``slice_<dim>`` is the index of the slice of every unit, and the coordinate
  ``<dim>`` contains the labels of the slices. Results are computed for each slice, along a
  dimension of this name.
- weights: the variable ``weight`` and the scalar coordinate ``weights_are``, "counts" or
  "importance".
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.concatenation import concatenate, parts_of_all
from bayescm.evidence.labels import check_no_missing_text, check_plain_labels
from bayescm.evidence.tabulate import axes_of, check_sizes, check_weights, column
from bayescm.validate import fail, unmasked

SLICE = "slice_"


def with_clusters(evidence: xr.Dataset, group: Any, dim: str) -> xr.Dataset:
    """Return evidence with the cluster of each unit along a dimension."""
    if group is None:
        return evidence
    labels = column("group", group)
    check_plain_labels(labels, "labels of group")
    check_sizes({"group": len(labels), f"{dim}s": evidence.sizes[dim]})
    todo = f"give items without a {dim} their own {dim}"
    check_no_missing_text(pd.unique(labels), "the groups", todo)
    return evidence.assign_coords(group=(dim, np.asarray(labels)))


def with_weights(
    evidence: xr.Dataset, weights: Any, weights_are: str | None, dim: str
) -> xr.Dataset:
    """Return evidence with weights of the units, and their meaning."""
    if weights is None and weights_are is not None:
        raise fail(f"`weights_are={weights_are!r}` needs `weights`", ..., "", "pass `weights=...`")
    if weights is None:
        return evidence
    values = np.asarray(unmasked(weights, "weight"))
    check_sizes({"weights": len(values), f"{dim}s": evidence.sizes[dim]})
    kind = check_weights(values.ravel(), weights_are)
    return evidence.assign(weight=(dim, values.astype(float))).assign_coords(weights_are=kind)


def clusters_of(evidence: xr.Dataset, dim: str = "item") -> np.ndarray | None:
    """Return the cluster of each unit, or None if ``group`` is missing or contains slice labels."""
    group = evidence.coords.get("group")
    return group.values if group is not None and group.dims == (dim,) else None


def with_slices(evidence: xr.Dataset, by: Any, dim: str, reserved: Sequence[str]) -> xr.Dataset:
    """
    Return evidence with the slices of the units along a dimension.

    Parameters
    ----------
    evidence : Dataset
    by : mapping of str to array_like (n,), or None
        Slice labels of all units, keyed by the dimension of the slices.
    dim : str
        Dimension of the units.
    reserved : sequence of str
        Names that are not allowed for a dimension of slices.
    """
    for name, axis in axes_of(by, reserved).items():
        check_sizes({name: len(axis.codes), f"{dim}s": evidence.sizes[dim]})
        evidence = evidence.assign({SLICE + name: (dim, axis.codes.astype(int))})
        evidence = evidence.assign_coords({name: axis.values})
    return evidence


def without_slices(evidence: xr.Dataset) -> xr.Dataset:
    """Return evidence with all units in a single sample."""
    dims = slice_dims(evidence)
    return evidence.drop_vars([*dims, *(SLICE + dim for dim in dims)])


def slice_dims(evidence: xr.Dataset) -> list[str]:
    """Return the dimensions of the slices."""
    names = [str(name) for name in evidence.data_vars]
    dims = [name.removeprefix(SLICE) for name in names if name.startswith(SLICE)]
    for dim in dims:
        if dim not in evidence.dims:  # a selection of one slice keeps the items of the others
            raise fail(
                f"One {dim} was selected, but the evidence still contains the items of every {dim}",
                ...,
                "",
                "build the evidence from the items of this slice, or select from the result",
            )
    return dims


def items_of_slices(evidence: xr.Dataset, dim: str = "item") -> list[np.ndarray]:
    """Return the indices of the units of every slice, in C order of the dimensions."""
    dims = slice_dims(evidence)
    if not dims:
        return [np.arange(evidence.sizes[dim])]
    shape = tuple(evidence.sizes[dim] for dim in dims)
    codes = np.ravel_multi_index([evidence[SLICE + dim].values for dim in dims], shape)
    return [np.flatnonzero(codes == code) for code in np.arange(np.prod(shape))]


def combine_along(
    unit: str,
    canonical: Callable[[xr.Dataset], xr.Dataset],
    made_by: str,
    reserved: Sequence[str] = (),
    *,
    ragged: str = "",
) -> Callable[[Sequence[xr.Dataset], str, list | None], xr.Dataset]:
    """
    Return the `combine` function of a type of evidence whose units may have slices.

    Parameters
    ----------
    unit : str
        Dimension of the units.
    canonical : callable
        Validation function of the type.
    made_by : str
        Name of the constructor.
    reserved : sequence of str
        Names that are not allowed for a dimension of slices. Empty if slices are not supported.
    ragged : str
        See `concatenation.concatenate`.
    """

    def combine(members: Sequence[xr.Dataset], dim: str, names: list | None) -> xr.Dataset:
        clusters = any(clusters_of(member, unit) is not None for member in members)
        taken = (*reserved, "group") if clusters else reserved
        units = f"{unit.replace('_', ' ')}s"
        if dim != unit and (dim in taken or not reserved):
            todo = f"pass `dim={unit!r}` to treat all {units} as one sample"
            if reserved:
                todo += ", or a name for slices, e.g. `dim='site'`"
            if dim == "classifier":
                todo += f"; for systems with the same {units} use {made_by}({{'a': ..., 'b': ...}})"
            raise fail(f"{units} cannot be combined along {dim}", ..., "", todo)
        columns = [
            {name: member[name].values[member[SLICE + name].values] for name in slice_dims(member)}
            for member in members
        ]
        slices = parts_of_all(members, columns, dim, names, unit)
        bare = [without_slices(member) for member in members]
        whole = concatenate(bare, unit, settled=[dim], ragged=ragged)
        return canonical(with_slices(whole, slices, unit, taken))

    return combine
