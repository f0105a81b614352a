"""Storage of evidence of every type as a single Dataset, for netCDF and Zarr files."""

from typing import Any

import xarray as xr

from bayescm.evidence.evidence_type import EVIDENCE_GROUP, TYPE_ATTRIBUTE
from bayescm.evidence.registry import type_named, type_of
from bayescm.validate import fail

# Attribute of stored evidence with the version of this format.
FORMAT = "bayescm_evidence_format"
_FORMAT = 1


def to_dataset(evidence: Any) -> xr.Dataset:
    """
    Convert evidence to a Dataset, for example to save it.

    Parameters
    ----------
    evidence : DataArray or Dataset
        Evidence of any type.

    Returns
    -------
    Dataset
        The evidence, with attributes for its type and the version of the format.

    Raises
    ------
    ValueError, TypeError
        If the input is not evidence, or is invalid.

    Examples
    --------
    >>> import bayescm as bcm
    >>> to_dataset(bcm.from_cells(tp=65, fn=15, fp=35, tn=30)).attrs["bayescm_evidence"]
    'counts'
    """
    entry = type_of(evidence)
    entry.canonical(evidence)  # raises an error if the evidence is invalid
    return entry.to_dataset(evidence).assign_attrs({TYPE_ATTRIBUTE: entry.name, FORMAT: _FORMAT})


def from_dataset(stored: xr.Dataset) -> Any:
    """
    Return the evidence stored in a Dataset by `to_dataset`.

    Parameters
    ----------
    stored : Dataset

    Returns
    -------
    DataArray or Dataset

    Raises
    ------
    ValueError
        If the Dataset does not name its type of evidence, or was written by a later version.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> from_dataset(to_dataset(counts)).identical(counts)
    True
    """
    entry, version = type_named(stored.attrs.get(TYPE_ATTRIBUTE)), stored.attrs.get(FORMAT)
    if version != _FORMAT:
        raise fail(
            "The evidence has the unknown format {}",
            version,
            f"format {_FORMAT}",
            "install the version of bayescm that saved it, or save the evidence again",
        )
    ours = (TYPE_ATTRIBUTE, FORMAT)
    attrs = {key: value for key, value in stored.attrs.items() if key not in ours}
    return entry.from_dataset(xr.Dataset(stored.data_vars, stored.coords, attrs))


def evidence_of(tree: xr.DataTree) -> Any:
    """Return the evidence stored in a fitted tree."""
    return from_dataset(tree[EVIDENCE_GROUP].to_dataset())
