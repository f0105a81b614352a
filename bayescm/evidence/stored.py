"""Evidence of every type as one Dataset, which netCDF and Zarr can hold, and back."""

from typing import Any

import xarray as xr

from bayescm.evidence.evidence_type import EVIDENCE_GROUP, TYPE_ATTRIBUTE
from bayescm.evidence.registry import type_named, type_of
from bayescm.validate import fail

# Attribute of stored evidence: the version of this format.
FORMAT = "bayescm_evidence_format"
_FORMAT = 1


def to_dataset(evidence: Any) -> xr.Dataset:
    """
    Return evidence as a Dataset.

    Parameters
    ----------
    evidence : DataArray or Dataset
        Evidence of any type.

    Returns
    -------
    Dataset
        Its attributes name the type of the evidence and the version of the format.

    Raises
    ------
    ValueError, TypeError
        If it is not evidence, or invalid.

    Examples
    --------
    >>> import bayescm as bcm
    >>> to_dataset(bcm.from_cells(tp=65, fn=15, fp=35, tn=30)).attrs["bayescm_evidence"]
    'counts'
    """
    entry = type_of(evidence)
    entry.canonical(evidence)  # which raises an error if it is invalid
    return entry.to_dataset(evidence).assign_attrs({TYPE_ATTRIBUTE: entry.name, FORMAT: _FORMAT})


def from_dataset(stored: xr.Dataset) -> Any:
    """
    Return the evidence that `to_dataset` made a Dataset of.

    Parameters
    ----------
    stored : Dataset

    Returns
    -------
    DataArray or Dataset

    Raises
    ------
    ValueError
        If the Dataset does not name its type of evidence, or if a later version wrote it.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> from_dataset(to_dataset(counts)).identical(counts)
    True
    """
    entry, version = type_named(stored.attrs.get(TYPE_ATTRIBUTE)), stored.attrs.get(FORMAT)
    if version != _FORMAT:
        todo = "install the version of bayescm that wrote it, or save the evidence again"
        raise fail("evidence in an unknown format", version, f"format {_FORMAT}", todo)
    ours = (TYPE_ATTRIBUTE, FORMAT)
    attrs = {key: value for key, value in stored.attrs.items() if key not in ours}
    return entry.from_dataset(xr.Dataset(stored.data_vars, stored.coords, attrs))


def evidence_of(tree: xr.DataTree) -> Any:
    """Return the evidence that a fitted tree holds."""
    return from_dataset(tree[EVIDENCE_GROUP].to_dataset())
