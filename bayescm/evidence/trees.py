"""Properties of a fitted tree: its positive class, and the variable of each estimand."""

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import (
    CELLS,
    in_order,
    is_outcomes,
    with_positive,
)
from bayescm.evidence.folds import FOLDS
from bayescm.validate import fail

# Number of draws whose cell probabilities are checked, and the tolerance for their sum.
_CHECKED = 20
_TOLERANCE = 1e-6


def with_positive_class(evidence: Any, label: Any = None) -> Any:
    """
    Return evidence with its positive class as a coordinate.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Evidence or a fitted tree. If a tree lacks the scalar coordinate ``positive``, such as the
        result of ``pm.sample``, the positive class is taken from ``is_positive``, which the models
        store. Other evidence is returned unchanged.
    label : optional
        Positive class, which overrides the positive class of the evidence.

    Raises
    ------
    ValueError
        If the evidence has no classes, or has scores of another positive class.
    """
    if isinstance(evidence, xr.DataTree):
        return _tree_with_positive_class(evidence, label)
    coords = getattr(evidence, "coords", {})
    if label is None or is_outcomes(evidence) or "actual" in coords:
        return evidence if label is None else with_positive(evidence, label)
    if "positive" not in coords:
        todo = "leave `positive` out"
        raise fail(f"`positive={label!r}` has no effect on evidence without classes", ..., "", todo)
    if coords["positive"].item() != label:
        todo = "define it when you build the evidence: `from_scores` or `from_probabilities`"
        raise fail(
            f"The positive class of these scores is {coords['positive'].item()!r}, not {{}}",
            label,
            "",
            f"{todo}(..., `positive=`)",
        )
    return evidence


def _tree_with_positive_class(tree, label):
    groups = {name: group.to_dataset() for name, group in tree.children.items()}
    if label is None:
        if not groups or any("positive" in group.coords for group in groups.values()):
            return tree
        constant_data = groups.get("constant_data", xr.Dataset())
        is_positive = constant_data.get("is_positive", xr.DataArray(np.nan))
        places = np.flatnonzero(np.atleast_1d(is_positive.values) == 1)
        if len(places) != 1:
            return tree
        label = is_positive.indexes["actual"][places[0]]
    else:
        labelled = next((group for group in groups.values() if "actual" in group.indexes), None)
        if labelled is None:
            todo = "leave `positive` out"
            raise fail(
                "`positive` has no effect, because none of the groups {} of the tree has classes",
                list(tree.children),
                "",
                todo,
            )
        label = with_positive(labelled, label).coords["positive"].item()
    labelled_groups = {name: group.assign_coords(positive=label) for name, group in groups.items()}
    return xr.DataTree.from_dict({"/": tree.to_dataset(), **labelled_groups})


def variables_of(tree: xr.DataTree, group: str = "posterior") -> dict[str, str]:
    """Return the variable of each estimand in a tree, as declared by `fit` or by name."""
    estimands = json.loads(tree.attrs.get("estimands", "{}"))
    if estimands:
        return estimands
    variables = {str(k): v.dims for k, v in group_of(tree, group).data_vars.items()}
    return estimands_by_name(variables) or {"parameter": "theta", "predictive": "theta"}


def estimands_by_name(variables: Mapping[str, Sequence[Hashable]]) -> dict[str, str]:
    """
    Return the variable of each estimand, by the variable names that the models use.

    Other cell probabilities, such as ``theta_abroad``, are estimands named by the suffix.

    Parameters
    ----------
    variables : mapping of str to sequence of str
        Dimensions of each variable.

    Examples
    --------
    >>> cells = ("actual", "predicted")
    >>> estimands_by_name({"theta": ("group", *cells), "theta_abroad": cells})
    {'parameter': 'theta', 'predictive': 'theta', 'abroad': 'theta_abroad'}
    """
    usual = ("theta", "theta_expected", "theta_new", "theta_fold")
    parameter = next((name for name in usual if name in variables), None)
    if parameter is None:
        return {}
    estimands = {"parameter": parameter, "predictive": parameter}
    # If there is one parameter per group, it describes neither the population of groups nor a new
    # group.
    of_members = any(
        {*variables[parameter]} > {*variables[name]}
        for name in ("theta_new", "theta_typical")
        if name in variables
    )
    if "theta_new" in variables and not of_members:
        estimands["predictive"] = "theta_new"
        members = [name for name in ("theta_fold", "theta_group") if name in variables]
        estimands |= {"finite": members[0]} if members else {}
    if "theta_typical" in variables:
        estimands |= {} if of_members else {"population": parameter}
        estimands["typical"] = "theta_typical"
    if {"theta_typical", "theta_new"} <= {*variables} or (of_members and "theta_new" in variables):
        estimands["new"] = "theta_new"
    known = {*estimands.values(), *usual, "theta_group"}
    others = [name for name, dims in variables.items() if {*CELLS} <= {*dims}]
    others = [name for name in others if name.startswith("theta_") and name not in known]
    return estimands | {name.removeprefix("theta_"): name for name in others}


def attribute_dims(tree: xr.DataTree, name: str) -> list[str]:
    """Return an attribute of a tree that is a list of dimensions, such as ``uses``."""
    return json.loads(tree.attrs.get(name, "[]"))


def extra_dims(tree: xr.DataTree, cells: xr.DataArray) -> list[Hashable]:
    """Return the dimensions of cell probabilities over which a measure is averaged."""
    if "estimands" in tree.attrs:
        kept: Sequence[Hashable] = attribute_dims(tree, "batch")
    else:  # from pm.sample: average over folds, and over dims that are missing from the counts
        data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else {}
        counts = set(data["counts"].dims if "counts" in data else cells.dims) - set(FOLDS)
        kept = [dim for dim in cells.dims if cells.name == "theta" or dim in counts]
    return [dim for dim in cells.dims if dim not in (*kept, "chain", "draw", *CELLS)]


def variable_of(tree: xr.DataTree, group: str, of: str) -> str:
    """
    Return the name of the variable of an estimand.

    The name of a dimension that the model pools over, such as ``"group"``, refers to its members.
    """
    draws = group_of(tree, group)
    members = {
        dim: f"theta_{dim}"
        for dim in (*attribute_dims(tree, "uses"), "group")
        if f"theta_{dim}" in draws and dim in draws[f"theta_{dim}"].dims
    }
    estimands = members | variables_of(tree, group)
    folds = (
        set(FOLDS) & set(attribute_dims(tree, "uses")) or estimands.get("finite") == "theta_fold"
    )
    name = "finite" if of == "fitted" and folds else of
    if name not in estimands:
        todo = "for another estimand, fit another model"
        raise fail("The fit has no estimand {}", of, estimands, todo)
    return estimands[name]


def cells_of(tree: xr.DataTree, group: str, name: str) -> xr.DataArray:
    """Return cell probabilities of a tree by name, with the positive class last."""
    draws = group_of(with_positive_class(tree), group)
    if name not in draws.data_vars or not set(CELLS) <= set(draws[name].dims):
        having = [k for k, v in draws.data_vars.items() if set(CELLS) <= set(v.dims)]
        if not having:
            todo = "use the evidence itself: interval(evidence, ...)"
            raise fail(
                "The fit has no cell probabilities, only {}", list(draws.data_vars), "", todo
            )
        todo = "pass `variable=` one of these, or fit a model that has cell probabilities"
        raise fail("The tree has no cell probabilities {}", name, having, todo)
    if name.startswith("theta") and {"chain", "draw"} <= {*draws[name].dims}:
        _check_sums(draws[name])
    return in_order(draws[name])


def _check_sums(cells):
    """Raise an error if the first draws of cell probabilities do not sum to 1."""
    totals = cells.isel(chain=slice(1), draw=slice(_CHECKED)).sum(CELLS, skipna=False)
    wrong = np.abs(totals.values - 1).ravel()
    if (wrong > _TOLERANCE).any():
        got = float(totals.values.ravel()[np.nanargmax(wrong)])
        todo = (
            "divide the probabilities of all cells by their sum. If they are rates by actual "
            "class, multiply each row by the share of its class"
        )
        raise fail(f"The cell probabilities {cells.name} must sum to 1", got, "", todo)


def group_of(tree: xr.DataTree, name: str) -> xr.Dataset:
    """Return a group of a tree, or raise an error if it does not exist."""
    if name not in tree.children:
        todo = "fit the evidence first: fit(counts)"
        raise fail("The tree has no group {}", name, tree.children, todo)
    return tree[name].to_dataset()
