"""
Concatenation of evidence: systems and labels are matched by name, units are appended.

A unit is an example, an item or a data set. Parts divide the units: slices, folds, groups or
populations. The file of each type of evidence defines the names of its units and parts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.validate import fail


def same_scalars(
    members: Sequence[xr.DataArray | xr.Dataset], settled: Sequence[str]
) -> dict[Any, Any]:
    """Return the scalar coordinates of members, which must be equal unless in ``settled``."""
    scalars = [
        {k: v.item() for k, v in member.coords.items() if v.ndim == 0 and k not in settled}
        for member in members
    ]
    for name in dict.fromkeys(name for member in scalars for name in member):
        values = [member.get(name) for member in scalars]
        if any(value != values[0] for value in values):
            raise fail(
                f"{name} differs between the pieces of evidence: {{}}",
                values,
                "",
                f"change it with assign_coords({name}=...), or remove it with drop_vars({name!r})",
            )
    return scalars[0]


def matched(members: Sequence[Any], dim: str, what: str) -> list[Any]:
    """
    Return members with the labels along a dimension in the order of the first member.

    Parameters
    ----------
    members : sequence of DataArray or Dataset
    dim : str
        Dimension with labels that all members have, or that none of them has.
    what : str
        Name of the labels for the message, such as ``"classifiers"``.
    """
    labels = [member[dim].values.tolist() if dim in member.dims else None for member in members]
    first = labels[0]
    for other in labels[1:]:
        if (first is None) != (other is None) or {*(first or ())} != {*(other or ())}:
            got = " and ".join("no names" if each is None else str(each) for each in (first, other))
            raise fail(
                f"The {what} differ: {got}", ..., "", f"give all the evidence the same {what}"
            )
    if first is None:
        return list(members)
    # Select by position, because `sel` would treat boolean labels as a mask.
    places = [[(each or []).index(label) for label in first] for each in labels]
    return [member.isel({dim: place}) for member, place in zip(members, places, strict=True)]


def names_of(members: Sequence[Any], dim: str, names: list | None) -> list:
    """Return member names: as given, else the scalar coordinate ``dim``, else 0, 1, ...."""
    if names is not None:
        return names
    return [
        member.coords[dim].item() if dim in member.coords else i for i, member in enumerate(members)
    ]


def concatenate(
    members: Sequence[xr.Dataset], unit: str, *, settled: Sequence[str] = (), ragged: str = ""
) -> xr.Dataset:
    """
    Return the units of all members, concatenated in the order of the members.

    Parameters
    ----------
    members : sequence of Dataset
        Evidence of one type, without parts.
    unit : str
        Dimension of the units. Default labels 0, 1, ... are renumbered.
    settled : sequence of str
        Scalar coordinates that may differ. They are dropped.
    ragged : str
        Dimension whose labels may differ between members, such as ``"attempt"``. Missing values are
        NaN.

    Raises
    ------
    ValueError
        If systems, labels, variables or scalar coordinates differ, or the label of a unit occurs
        twice.
    """
    for dim, what in (("classifier", "classifiers"), ("label", "labels"), ("class", "classes")):
        members = matched(members, dim, what)
    _check_same_variables(members)
    scalars = same_scalars(members, settled)
    members = [
        member.drop_vars([k for k, v in member.coords.items() if v.ndim == 0]) for member in members
    ]
    if ragged:
        labels = list(
            dict.fromkeys(x for member in members for x in member[ragged].values.tolist())
        )
        members = [member.reindex({ragged: labels}) for member in members]
    whole = xr.concat(
        members, unit, data_vars="minimal", coords="minimal", compat="equals", join="exact"
    )
    if unit in whole.coords:
        whole = whole.assign_coords({unit: _unit_labels(members, unit)})
    return whole.assign_coords(scalars)


def _unit_labels(members, unit):
    """Return the labels of all units, or raise an error if one occurs twice."""
    labels = pd.Index(np.concatenate([member[unit].values.astype(object) for member in members]))
    numbered = [
        np.array_equal(member[unit].values, np.arange(member.sizes[unit])) for member in members
    ]
    if unit == "item" and all(numbered):  # default labels of unlabelled items
        return np.arange(len(labels))
    if (twice := labels.duplicated()).any():
        got = labels[int(np.argmax(twice))]
        words = unit.replace("_", " ")
        todo = f"give each {words} one label, or leave out the repeated {words}s"
        raise fail(f"{words} {got!r} is in several pieces of evidence", ..., "", todo)
    return labels.infer_objects().to_numpy()


def _check_same_variables(members):
    """Raise an error if only some members have a variable, such as weights or clusters."""
    have = [{name for name, of in member.variables.items() if of.dims} for member in members]
    for name in sorted(set.union(*have) - set.intersection(*have)):
        todo = f"give it to all, or leave it out with drop_vars({name!r})"
        raise fail(f"Only some pieces of evidence have {name}", ..., "", todo)


def parts_of_all(
    members: Sequence[xr.Dataset],
    columns: Sequence[Mapping[str, np.ndarray]],
    dim: str,
    names: list | None,
    unit: str,
) -> dict[str, np.ndarray]:
    """
    Return the part of every unit in all members.

    Parameters
    ----------
    members : sequence of Dataset
    columns : sequence of mapping of str to ndarray
        Part of every unit of each member, keyed by the dimension of the parts.
    dim : str
        Dimension of the units, or a dimension of parts. A dimension of parts is labelled by the
        member names, unless all members already have it.
    names : list, optional
        Names of the members.
    unit : str
        Dimension of the units.
    """
    for name in dict.fromkeys(name for column in columns for name in column):
        if not all(name in column for column in columns):
            raise fail(
                f"Only some pieces of evidence have {name}s",
                ...,
                "",
                "give it to all the evidence, or choose another dimension",
            )
    if names is not None and (dim == unit or dim in columns[0]):
        words = unit.replace("_", " ")
        kept = f"their {words}s are concatenated" if dim == unit else f"they already have {dim}s"
        what = f"Names along {dim} have no effect, because {kept}: {{}}"
        raise fail(
            what,
            names,
            "",
            f"pass a list, as in combine([...], `dim={dim!r}`), or choose another dimension",
        )
    # Folds of different members belong to different trained models, and appended parts are
    # distinct, so no name may occur in two members.
    for name in {dim, "fold"} & columns[0].keys():
        labels = [x for of in columns for x in pd.unique(of[name]).tolist()]
        if (twice := pd.Index(labels).duplicated()).any():
            what = f"{name} {labels[int(np.argmax(twice))]!r} is in several pieces of evidence"
            raise fail(what, ..., "", f"rename the {name}s in one of them")
    whole = {name: np.concatenate([column[name] for column in columns]) for name in columns[0]}
    if dim != unit and dim not in whole:
        sizes = [member.sizes[unit] for member in members]
        whole = {dim: np.repeat(np.asarray(names_of(members, dim, names)), sizes)} | whole
    return whole
