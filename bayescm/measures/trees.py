"""What a fitted tree holds: its positive class, and which variable each estimand is read off."""

import json
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, in_order, is_outcomes, with_positive
from bayescm.evidence.folds import FOLDS
from bayescm.measures.next_tables import of_joint_cells, of_the_same_size
from bayescm.validate import fail


def told(evidence: Any, label: Any = None) -> Any:
    """
    Return evidence that knows its positive class.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Of a tree without the scalar coord ``positive``, such as that of ``pm.sample``, it is read
        off ``is_positive``, which the models store. Anything else is returned as it is.
    label : optional
        The positive class, instead of the one that the evidence knows.
    """
    if isinstance(evidence, xr.DataTree):
        return _tree_told(evidence, label)
    known = is_outcomes(evidence) or "actual" in getattr(evidence, "coords", ())
    return evidence if label is None or not known else with_positive(evidence, label)


def _tree_told(tree, label):
    groups = {name: each.to_dataset() for name, each in tree.children.items()}
    if label is None:
        if not groups or any("positive" in each.coords for each in groups.values()):
            return tree
        held = groups.get("constant_data", xr.Dataset()).get("is_positive", xr.DataArray(np.nan))
        places = np.flatnonzero(np.atleast_1d(held.values) == 1)
        if len(places) != 1:
            return tree
        label = held.indexes["actual"][places[0]]
    else:
        holder = next((each for each in groups.values() if "actual" in each.indexes), None)
        if holder is None:
            todo = "leave positive out"
            raise fail("the tree has no classes", list(tree.children), "a dim actual", todo)
        label = with_positive(holder, label).coords["positive"].item()
    told = {name: each.assign_coords(positive=label) for name, each in groups.items()}
    return xr.DataTree.from_dict({"/": tree.to_dataset(), **told})


def variables_of(tree: xr.DataTree, group: str = "posterior") -> dict[str, str]:
    """Return the variable of each estimand of a tree, as `fit` declares them or by their names."""
    known = json.loads(tree.attrs.get("estimands", "{}"))
    if known:
        return known
    draws = group_of(tree, group)
    names = ("theta", "theta_expected", "theta_new", "theta_fold")
    name = next((each for each in names if each in draws), "theta")
    new = "theta_new" if "theta_new" in draws else name
    finite = {"finite": "theta_fold"} if new == "theta_new" and "theta_fold" in draws else {}
    groups = {"typical": "theta_typical", "new": "theta_new"} if "theta_typical" in draws else {}
    known = {"parameter": name, "predictive": new} | finite | groups
    return {of: each for of, each in known.items() if each in draws or each == name}


def listed(tree: xr.DataTree, name: str) -> list[str]:
    """Return an attribute of a tree that is a list of dims: ``uses`` or ``pairs``."""
    return json.loads(tree.attrs.get(name, "[]"))


def extra_dims(tree: xr.DataTree, cells: xr.DataArray) -> list[Hashable]:
    """Return the dims of cell probabilities that a measure is averaged over."""
    if "estimands" in tree.attrs:
        kept: Sequence[Hashable] = listed(tree, "batch")
    else:  # a tree of pm.sample: what is not a dim of the counts, and folds
        data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else {}
        counts = set(data["counts"].dims if "counts" in data else cells.dims) - set(FOLDS)
        kept = [dim for dim in cells.dims if cells.name == "theta" or dim in counts]
    return [dim for dim in cells.dims if dim not in (*kept, "chain", "draw", *CELLS)]


def variable_of(tree: xr.DataTree, group: str, of: str) -> str:
    """Return the name of the variable that an estimand is read off."""
    known = variables_of(tree, group)
    folds = set(FOLDS) & set(listed(tree, "uses")) or known.get("finite") == "theta_fold"
    name = "finite" if of == "fitted" and folds else of
    if name not in known:
        todo = "for others fit another model"
        raise fail("this fit has no such estimand", of, known, todo)
    return known[name]


def cells_of(tree: xr.DataTree, group: str, name: str) -> xr.DataArray:
    """Return cell probabilities of a tree by their name, the positive class last."""
    draws = group_of(told(tree), group)
    if name not in draws.data_vars or not set(CELLS) <= set(draws[name].dims):
        having = [k for k, v in draws.data_vars.items() if set(CELLS) <= set(v.dims)]
        if not having:
            allowed, todo = "a fit with some", "ask the evidence itself: interval(evidence, ...)"
            raise fail("the fit has no cell probabilities", list(draws.data_vars), allowed, todo)
        todo = "pass variable= one of these, or fit a model that has cell probabilities"
        raise fail("the tree has no such cell probabilities", name, having, todo)
    return in_order(draws[name])


def predicted_of(tree: xr.DataTree, group: str, cells: xr.DataArray) -> xr.DataArray:
    """Return the counts of the next test set: those that the tree predicts, or drawn from cells."""
    draws = group_of(tree, f"{group}_predictive")
    flat = [each for each in draws.values() if "cell" in each.dims]
    if listed(tree, "uses") or not flat:
        data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else {}
        seen = data["counts"] if "counts" in data else xr.DataArray(np.nan)
        return of_the_same_size(cells, seen, extra_dims(tree, cells))
    (pair, *_) = [*listed(tree, "pairs"), None]
    members = None if pair is None else cells.coords[pair]
    return in_order(of_joint_cells(flat[0], cells.indexes["actual"], members))


def group_of(tree: xr.DataTree, name: str) -> xr.Dataset:
    """Return a group of a tree, or raise where it has none of this name."""
    if name not in tree.children:
        todo = "fit the evidence first: fit(counts)"
        raise fail("the tree has no such group", name, tree.children, todo)
    return tree[name].to_dataset()
