"""Counts from cells and from confusion matrices, and evidence combined."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import (
    CELLS,
    DESIGN,
    as_counts,
    check_same_labels,
    make_counts,
)
from bayescm.evidence.folds import with_design
from bayescm.evidence.labels import as_labels, sides_of
from bayescm.validate import check_counts, check_row_order, fail, suggest


def from_cells(
    *,
    tp: Any,
    fn: Any,
    fp: Any,
    tn: Any,
    labels: Sequence = ("negative", "positive"),
    fractional: bool = False,
) -> xr.DataArray:
    """
    Return counts from the four cells of a two-class confusion matrix.

    Parameters
    ----------
    tp, fn, fp, tn : int, array_like (n,) or DataArray
        Numbers >= 0. Arrays broadcast to a leading dim ``batch``; DataArrays keep their dims.
    labels : sequence of two, default ("negative", "positive")
        The negative and the positive class.
    fractional : bool, default False
        Whether to allow non-integer counts.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    Raises
    ------
    ValueError
        If a number is negative, NaN, infinite or fractional; the message names the cell.

    Examples
    --------
    >>> from_cells(tp=65, fn=15, fp=35, tn=30).values
    array([[30, 35],
           [15, 65]])
    >>> from_cells(tp=[65, 70], fn=[15, 10], fp=35, tn=30).dims
    ('batch', 'actual', 'predicted')
    """
    given = {"tn": tn, "fp": fp, "fn": fn, "tp": tp}
    check_row_order(given)
    arrays = [_labelled_cell(name, cell, fractional) for name, cell in given.items()]
    try:
        arrays = list(xr.broadcast(*xr.align(*arrays, join="exact", copy=False)))
    except ValueError as problem:
        todo = "give all four the same length and coordinates"
        raise fail("the cells do not align", problem, "one shape", todo) from None
    first = arrays[0]
    table = np.stack([each.values for each in arrays], axis=-1).reshape(*first.shape, 2, 2)
    classes = as_labels(labels)
    if len(classes) != 2:
        todo = "use from_matrix for more classes"
        raise fail("from_cells takes two classes", classes.tolist(), "two labels", todo)
    counts = make_counts(table, classes, classes[1], first.dims, dict(first.coords))
    return with_design(counts)


def _labelled_cell(name, cell, fractional):
    values = check_counts(cell, fractional, name)
    if isinstance(cell, xr.DataArray):
        return cell.copy(data=values)
    if values.ndim > 1:
        todo = "pass DataArrays with named dims, or use from_matrix with dims=(...)"
        raise fail(f"{name} has {values.ndim} axes", values.shape, "a number or shape (n,)", todo)
    return xr.DataArray(values, dims=("batch",)[: values.ndim])


def from_matrix(
    matrix: Any,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    dims: Sequence[str] = ("batch",),
    fractional: bool = False,
) -> xr.DataArray:
    """
    Return counts from confusion matrices, rows = actual, columns = predicted.

    Parameters
    ----------
    matrix : array_like (..., C, C), DataFrame or DataArray
        The index and columns of a DataFrame, and the coords of a DataArray with dims actual and
        predicted, are the labels. A DataFrame whose index is named predicted, prediction or y_pred,
        or its columns actual, truth or y_true, is turned.
    labels : sequence of C labels, optional
        By default 0, 1, ..., as in ``sklearn.metrics.confusion_matrix``. For a labelled matrix: the
        order wanted; a label without a row or column gets an empty one.
    positive : label, optional
        The positive class; obvious for the labels {0, 1} and {False, True}.
    dims : sequence of str, default ("batch",)
        Names of the leading axes of an array, e.g. ``("fold",)``.
    fractional : bool, default False
        Whether to allow non-integer counts.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    Examples
    --------
    >>> counts = from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
    >>> int(counts.sel(actual="well", predicted="sick")), counts.positive.item()
    (35, 'sick')
    """
    if isinstance(matrix, pd.DataFrame):
        axes = zip(sides_of(matrix), (matrix.index, matrix.columns), strict=True)
        matrix = xr.DataArray(matrix.to_numpy(), list(axes))
    if isinstance(matrix, xr.DataArray) and set(CELLS) <= set(matrix.dims):
        _refuse_margins(matrix)
        return _from_labelled(matrix, labels, positive, fractional)
    if isinstance(matrix, xr.Dataset | xr.DataTree):
        todo = "pass its counts, or the evidence itself to interval() and the like"
        raise fail("not a matrix", type(matrix).__name__, "an array (..., C, C)", todo, TypeError)
    table = check_counts(matrix, fractional)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        todo = "pass the same classes as rows (actual) and columns (predicted)"
        raise fail("the matrix is not square", table.shape, "shape (..., C, C)", todo)
    classes = as_labels(range(table.shape[-1]) if labels is None else labels)
    if len(classes) != table.shape[-1]:
        todo = "name every class once"
        raise fail("wrong number of labels", classes.tolist(), f"{table.shape[-1]} labels", todo)
    if table.ndim - 2 != len(dims) and (table.ndim > 2 or tuple(dims) != ("batch",)):
        todo = 'name every leading axis, e.g. dims=("fold",)'
        raise fail("wrong number of dims", dims, f"{table.ndim - 2} names", todo)
    leading = tuple(dims)[: table.ndim - 2]
    coords = {
        dim: np.arange(n) for dim, n in zip(leading, table.shape, strict=False) if dim != "batch"
    }
    return with_design(make_counts(table, classes, positive, leading, coords))


def _refuse_margins(matrix):
    """Raise where the last row or column of a labelled table holds the sums of the others."""
    for dim, other in (CELLS, CELLS[::-1]):
        name = matrix.indexes[dim].tolist()[-1] if dim in matrix.indexes else None
        if matrix.sizes[dim] < 2 or matrix.dtype.kind not in "iuf":
            continue
        last, rest = matrix.isel({dim: -1}), matrix.isel({dim: slice(-1)}).sum(dim)
        # Two equal rows of two classes are none, unless they are called so.
        named = str(name).lower() in ("all", "total", "sum")
        if (
            (named or matrix.sizes[dim] > 2)
            and last.sum() > 0
            and (last.values == rest.values).all()
        ):
            both = other in matrix.indexes and name in matrix.indexes[other]
            if named or both:
                todo = f"leave margins out of pd.crosstab, or drop {name!r} from rows and columns"
                raise fail("the table has sums in its margins", name, "the classes alone", todo)


def _from_labelled(matrix, labels, positive, fractional):
    if labels is None:
        check_same_labels(matrix)
        labels = matrix.indexes["actual"].tolist()
    labels = as_labels(labels)
    for dim in CELLS:
        for label in matrix.indexes[dim].tolist() if dim in matrix.indexes else ():
            if label not in labels.tolist():
                todo = suggest(label, labels.tolist())
                raise fail(f"{dim} has a label that is not in labels", label, labels.tolist(), todo)
    matrix = matrix.reindex(actual=labels, predicted=labels, fill_value=0).transpose(..., *CELLS)
    if positive is None and "positive" in matrix.coords:
        positive = matrix.coords["positive"].item()
    coords = {k: v for k, v in matrix.coords.items() if k not in (*CELLS, "positive")}
    table = check_counts(matrix.values, fractional)
    return with_design(make_counts(table, labels, positive, matrix.dims[:-2], coords))


def combine(
    evidence: Mapping[Any, xr.DataArray] | Iterable[xr.DataArray], *, dim: str = "classifier"
) -> xr.DataArray:
    """
    Combine evidence along a dim.

    Parameters
    ----------
    evidence : mapping of name to counts, or iterable of counts
        The members of an iterable are named by their scalar coord ``dim`` where each has one (as
        after ``sel``), else 0, 1, .... Counts that already have the dim are appended.
    dim : str, default "classifier"
        Or fold, repeat, group, step.

    Returns
    -------
    DataArray, dims (dim, ..., actual, predicted)
        With the labels of all; a class that a member lacks has zeros there.

    Raises
    ------
    ValueError
        If a scalar coord, such as the positive class, or another dim differs.

    Examples
    --------
    >>> old, new = from_cells(tp=65, fn=15, fp=35, tn=30), from_cells(tp=70, fn=10, fp=40, tn=25)
    >>> combine({"old": old, "new": new}).classifier.values.tolist()
    ['old', 'new']
    """
    names = None
    if isinstance(evidence, Mapping):
        names, evidence = list(evidence), evidence.values()
    if isinstance(evidence, (xr.DataArray, xr.Dataset)):
        todo = 'pass {"old": counts, "new": counts}'
        allowed = "a mapping from names to counts, or a list"
        raise fail("only one piece of evidence", evidence.dims, allowed, todo, TypeError)
    if not isinstance(evidence, Iterable) or isinstance(evidence, str | xr.DataTree):
        todo, allowed = 'pass {"old": counts, "new": counts}', "a mapping or a list of counts"
        raise fail("not several pieces of evidence", evidence, allowed, todo, TypeError)
    every = [as_counts(each) for each in evidence]
    if not every:
        raise fail("nothing to combine", [], "one or more counts", "pass some evidence")
    scalars = _same_scalars(every, dim)
    labels = as_labels(
        list(dict.fromkeys(x for each in every for x in each.actual.values.tolist()))
    )
    every = [each.reindex(actual=labels, predicted=labels, fill_value=0) for each in every]
    table = _concat(every, dim, names)
    return with_design(as_counts(table.assign_coords(scalars).transpose(dim, ...)))


def _same_scalars(every, dim):
    """Return the scalar coords of all, but for those that the new dim settles."""
    settled = {dim} | (set(DESIGN) if dim == "fold" else set())
    scalars = [
        {k: v.item() for k, v in each.coords.items() if v.ndim == 0 and k not in settled}
        for each in every
    ]
    for name in dict.fromkeys(name for each in scalars for name in each):
        values = [each.get(name) for each in scalars]
        if any(value != values[0] for value in values):
            todo = f"make it agree with assign_coords({name}=...) or drop_vars({name!r})"
            raise fail(f"{name} differs", values, "the same value in all the evidence", todo)
    return scalars[0]


def _concat(every, dim, names):
    has = [dim in each.dims for each in every]
    if any(has) and (names is not None or not all(has)):
        todo = "give it to every member, or choose another dim"
        what = f"only some members have the dim {dim} already"
        raise fail(what, has, "it in all members or in none", todo)
    if not any(has):
        if names is None:
            numbered = enumerate(every)
            names = [each.coords[dim].item() if dim in each.coords else i for i, each in numbered]
        named = zip(every, names, strict=True)
        every = [each.drop_vars(dim, errors="ignore").expand_dims({dim: [x]}) for each, x in named]
    every = [each.drop_vars([k for k, v in each.coords.items() if v.ndim == 0]) for each in every]
    dims = [sorted(each.dims) for each in every]
    try:
        if any(each != dims[0] for each in dims):
            raise ValueError(f"dims {dims}")
        table = xr.concat(every, dim, join="exact", coords="minimal", compat="equals")
    except ValueError as problem:
        todo = "select common coordinates first"
        allowed = "the same coordinates in all the evidence"
        raise fail("the other dims differ", problem, allowed, todo) from None
    if dim in table.indexes and not table.indexes[dim].is_unique:
        doubled = table.indexes[dim][table.indexes[dim].duplicated()].tolist()
        raise fail(f"{dim} occurs twice", doubled, "each label once", "rename or drop one")
    return table


def known_shares(counts: xr.DataArray) -> np.ndarray | None:
    """Return the share of each actual class that canonical counts carry, (C,), or None."""
    if "prevalence" not in counts.coords:
        return None
    given = counts.coords["prevalence"].values
    return given if given.ndim else np.array([1 - given, given])


def with_shares(cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return cells (..., C, C) with their rows scaled to the shares (..., C) of a population."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = cells / cells.sum(axis=-1, keepdims=True)
    return shares[..., None] * rates
