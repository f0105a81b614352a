"""
Counts: labelled confusion matrices, their constructors and their validation.

Counts are an ``xr.DataArray`` with trailing dimensions ("actual", "predicted") and the same class
labels on both. Scalar coordinates describe the data:

- ``positive``: the positive class.
- ``abstain``: the label that marks an abstention, which is a predicted label but never a true
  class.
- ``n_folds``, ``test_share``, ``train_size`` and ``fixed_totals``: the design of a
  cross-validation.
- ``prevalence``: a known prevalence.
"""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.concatenation import names_of, same_scalars
from bayescm.evidence.default_models import model_of_counts
from bayescm.evidence.descriptions import describe_counts
from bayescm.evidence.evidence_type import (
    ChangeStatistic,
    Columns,
    EvidenceType,
    name_of,
)
from bayescm.evidence.labels import (
    UnknownLabelError,
    as_labels,
    find_label,
    index_labels,
    matching_labels,
    obvious_positive,
)
from bayescm.evidence.table_sides import described, sides_of, warn_of_names
from bayescm.evidence.tabulate import RESERVED
from bayescm.validate import check_counts, check_row_order, fail, suggest

CELLS = ("actual", "predicted")
# Coordinates with the variance inflation of the rates (one value per classifier) and of the class
# totals, for clustered examples.
CLUSTERED = ("design_effect", "totals_effect")
# Scalar coordinates that describe the design of a cross-validation.
DESIGN = ("n_folds", "test_share", "train_size", "fixed_totals")

# Coordinate that marks counts with unknown true negatives, whose cell is 0.
_TRUE_NEGATIVES = "true_negatives"

# Constructors from cells and from matrices


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
        Counts >= 0. Arrays broadcast along a leading dimension ``batch``, and DataArrays keep their
        dimensions. Pass ``tn=None`` if the true negatives are unknown, as in object detection.
        Measures that depend on true negatives then raise an error, whereas precision, recall and F1
        remain available.
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
        If a count is negative, NaN or infinite, or if it is fractional and ``fractional`` is False.
        The message names the cell. Also if the cells differ in length or coordinates.

    Examples
    --------
    >>> from_cells(tp=65, fn=15, fp=35, tn=30).values
    array([[30, 35],
           [15, 65]])
    >>> from_cells(tp=[65, 70], fn=[15, 10], fp=35, tn=30).dims
    ('batch', 'actual', 'predicted')
    >>> default_measures(from_cells(tp=65, fn=15, fp=35, tn=None))
    ['precision', 'recall', 'f1']
    """
    cells = {"tn": 0 if tn is None else tn, "fp": fp, "fn": fn, "tp": tp}
    check_row_order(cells)
    arrays = [_labelled_cell(name, cell, fractional) for name, cell in cells.items()]
    try:
        arrays = list(xr.broadcast(*xr.align(*arrays, join="exact", copy=False)))
    except ValueError as problem:
        todo = "give all four the same length and coordinates"
        raise fail("The four cells do not align: {}", problem, "", todo) from None
    first = arrays[0]
    table = np.stack([array.values for array in arrays], axis=-1).reshape(*first.shape, 2, 2)
    classes = as_labels(labels)
    if len(classes) != 2:
        todo = "use `from_matrix` for more classes"
        raise fail("`from_cells` needs exactly two classes", classes.tolist(), "", todo)
    counts = make_counts(table, classes, classes[1], first.dims, dict(first.coords))
    if tn is None:
        return counts.assign_coords({_TRUE_NEGATIVES: "unknown"})
    return with_design(counts)


def _labelled_cell(name, cell, fractional):
    values = check_counts(cell, fractional, name)
    if isinstance(cell, xr.DataArray):
        return cell.copy(data=values)
    if values.ndim > 1:
        raise fail(
            f"{name} must be a number or have one axis, but its shape is {{}}",
            values.shape,
            "",
            "pass DataArrays with named dimensions, or use `from_matrix` with `dims=(...)`",
        )
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
    Return counts from confusion matrices (rows are actual classes).

    Parameters
    ----------
    matrix : array_like (..., C, C), DataFrame or DataArray
        Confusion matrices with actual classes in rows and predicted classes in columns. The index
        and columns of a DataFrame, and the coordinates of a DataArray with dimensions actual and
        predicted, are the labels.

        A DataFrame is transposed if the names of its axes show that the predictions are in the
        rows. Such names are predicted, y_pred, yhat, test and model for the rows, and actual,
        truth, y_true, reference and disease for the columns. Uninformative names, such as ``"a"``
        and ``"b"``, give a warning, and the rows are assumed to be the actual classes. In a
        DataFrame of Polars or another library without an index, the first column contains the
        labels of the rows, unless the table is square.
    labels : sequence of C labels, optional
        Class labels. By default 0, 1, ..., as in ``sklearn.metrics.confusion_matrix``. For a
        labelled matrix, ``labels`` sets the order of the classes, and adds a row and a column of
        zeros for each label that is missing from the matrix.
    positive : label, optional
        Positive class. By default inferred if the labels are {0, 1} or {False, True}.
    dims : sequence of str, default ("batch",)
        Names of the leading axes of an array, e.g. ``("fold",)``.
    fractional : bool, default False
        Whether to allow non-integer counts.

    Returns
    -------
    DataArray, dims (..., actual, predicted)
        For a DataFrame with named axes, ``attrs["as_read"]`` states which axis was read as the
        actual classes, and the resulting TP, FN, FP and TN.

    Warns
    -----
    UserWarning
        If the names of a DataFrame's axes do not identify the actual and the predicted classes.

    Notes
    -----
    Several matrices are treated as independent. The matrices of
    ``sklearn.metrics.multilabel_confusion_matrix`` are not independent, because they describe the
    same examples. For averages over labels, pass the labels themselves to `from_multilabel`.

    Examples
    --------
    >>> counts = from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
    >>> int(counts.sel(actual="well", predicted="sick")), counts.positive.item()
    (35, 'sick')
    """
    if hasattr(matrix, "to_pandas") and hasattr(matrix, "columns"):
        matrix = _with_index(matrix.to_pandas())
    if isinstance(matrix, pd.DataFrame):
        sides = sides_of(matrix)
        warn_of_names(sides, _NAME_THE_AXES, stacklevel=2)
        counts = from_matrix(
            _of_frame(matrix, sides), labels=labels, positive=positive, fractional=fractional
        )
        is_named = any(sides.names)
        return counts.assign_attrs(as_read=described(counts, sides)) if is_named else counts
    if isinstance(matrix, xr.DataArray) and set(CELLS) <= set(matrix.dims):
        _refuse_margins(matrix)
        return _from_labelled(matrix, labels, positive, fractional)
    if isinstance(matrix, xr.Dataset | xr.DataTree):
        raise fail(
            f"The matrix must be an array of shape (..., C, C), not a {type(matrix).__name__}",
            ...,
            "",
            "pass its counts, or pass the evidence directly to interval() and other functions",
            TypeError,
        )
    table = check_counts(matrix, fractional)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        todo = "pass the same classes as rows (actual) and columns (predicted)"
        if table.size == 4:
            todo += ", such as [[TN, FP], [FN, TP]], or use "
            todo += "`from_cells(tp=..., fn=..., fp=..., tn=...)`"
        raise fail("The matrix must be square, but its shape is {}", table.shape, "", todo)
    classes = as_labels(range(table.shape[-1]) if labels is None else labels)
    if len(classes) != table.shape[-1]:
        raise fail(
            f"{table.shape[-1]} labels are needed, one per class",
            classes.tolist(),
            "",
            "name every class once",
        )
    if table.ndim - 2 != len(dims) and (table.ndim > 2 or tuple(dims) != ("batch",)):
        raise fail(
            f"{table.ndim - 2} names of dimensions are needed, one per leading axis",
            dims,
            "",
            'name every leading axis, e.g. `dims=("fold",)`',
        )
    leading = tuple(dims)[: table.ndim - 2]
    coords = {
        dim: np.arange(n) for dim, n in zip(leading, table.shape, strict=False) if dim != "batch"
    }
    return with_design(make_counts(table, classes, positive, leading, coords))


_NAME_THE_AXES = (
    "Name them: table.rename_axis(index='actual', columns='predicted'), or the reverse."
)


def _of_frame(table, sides):
    """Return a labelled table as an array with named dimensions, in the order of the table."""
    axes = zip((sides.down, sides.across), (table.index, table.columns), strict=True)
    return xr.DataArray(table.to_numpy(), list(axes))


def _with_index(table):
    """Use the first column of a table from a library without an index as row labels."""
    if len(table.columns) == len(table):
        return table
    table = table.set_index(table.columns[0])
    labels = {str(label): label for label in table.index}  # column names are strings
    return table.rename(columns=labels)


def _refuse_margins(matrix):
    """Raise an error if the last row or column of a labelled table contains the totals."""
    for dim, other in (CELLS, CELLS[::-1]):
        name = matrix.indexes[dim].tolist()[-1] if dim in matrix.indexes else None
        if matrix.sizes[dim] < 2 or matrix.dtype.kind not in "iuf":
            continue
        last, rest = matrix.isel({dim: -1}), matrix.isel({dim: slice(-1)}).sum(dim)
        # If there are only two rows, equal rows are treated as totals only if the label says so.
        named = str(name).lower() in ("all", "total", "sum")
        if (
            (named or matrix.sizes[dim] > 2)
            and last.sum() > 0
            and (last.values == rest.values).all()
        ):
            on_both_sides = other in matrix.indexes and name in matrix.indexes[other]
            if named or on_both_sides:
                todo = f"leave `margins` out of pd.crosstab, or drop {name!r} from rows and columns"
                raise fail("The table contains marginal sums, named {}", name, "", todo)


def _from_labelled(matrix, labels, positive, fractional):
    if labels is None:
        check_same_labels(matrix)
        labels = matrix.indexes["actual"].tolist()
    labels = as_labels(labels)
    for dim in CELLS:
        for label in matrix.indexes[dim].tolist() if dim in matrix.indexes else ():
            if label not in labels.tolist():
                todo = suggest(label, labels.tolist())
                what = f"{dim} contains {{}}, which is not in labels"
                raise fail(what, label, labels.tolist(), todo, UnknownLabelError)
    matrix = matrix.reindex(actual=labels, predicted=labels, fill_value=0).transpose(..., *CELLS)
    if positive is None and "positive" in matrix.coords:
        positive = matrix.coords["positive"].item()
    coords = {k: v for k, v in matrix.coords.items() if k not in (*CELLS, "positive")}
    table = check_counts(matrix.values, fractional)
    return with_design(make_counts(table, labels, positive, matrix.dims[:-2], coords))


def make_counts(
    table: np.ndarray,
    labels: np.ndarray,
    positive: Any = None,
    dims: Sequence = (),
    coords: Mapping | None = None,
    abstain: Any = None,
) -> xr.DataArray:
    """Return the labelled table, with its positive class if it is given or obvious."""
    every = {**(coords or {}), **{dim: np.asarray(labels) for dim in CELLS}}
    real = np.asarray(labels).tolist()
    if abstain is not None:
        every["abstain"] = find_label(abstain, real, "abstention")
        real = [label for label in real if label != every["abstain"]]
    if positive is None and len(real) == 2:
        positive = obvious_positive(real)
    if positive is not None:
        every["positive"] = find_label(positive, real)
    return xr.DataArray(table, dims=(*dims, *CELLS), coords=every, name="counts")


def with_design(counts: xr.DataArray) -> xr.DataArray:
    """Add the parts of the cross-validation design that are not given, inferred from the folds."""
    if counts.sizes.get("fold", 1) < 2:
        return counts
    totals = counts.transpose("fold", ..., *CELLS).values.sum(axis=-1)
    sizes = totals.sum(axis=-1)
    if (sizes == 0).any():
        todo = "give every repeat the same folds, or drop incomplete ones"
        raise fail("Some folds have no examples: {}", sizes, "", todo)
    design = {
        "n_folds": counts.sizes["fold"],
        "test_share": 1 / counts.sizes["fold"],
        "fixed_totals": bool((np.ptp(totals, axis=0) <= 1).all()),
    }
    return counts.assign_coords({k: v for k, v in design.items() if k not in counts.coords})


# Combining several confusion matrices along a dimension


def combine_counts(members: Sequence[xr.DataArray], dim: str, names: list | None) -> xr.DataArray:
    """Return counts combined along a dimension, with the union of labels, see `bayescm.combine`."""
    members = [as_counts(member) for member in members]
    scalars = same_scalars(members, [dim, *(DESIGN if dim == "fold" else ())])
    labels = as_labels(
        list(dict.fromkeys(x for member in members for x in member.actual.values.tolist()))
    )
    members = [member.reindex(actual=labels, predicted=labels, fill_value=0) for member in members]
    table = concat_along(members, dim, names)
    return with_design(as_counts(table.assign_coords(scalars).transpose(dim, ...)))


def concat_along(members: list[xr.DataArray], dim: str, names: list | None) -> xr.DataArray:
    """Concatenate counts along a new dimension, or append along one that all members have."""
    has = [dim in member.dims for member in members]
    if all(has) and names is not None:
        raise fail(
            f"All the evidence already has the dimension {dim}, with names",
            ...,
            "",
            f"pass a list, combine([...], `dim={dim!r}`), or choose another dimension",
        )
    if any(has) and not all(has):
        raise fail(
            f"Only some pieces of evidence have the dimension {dim}",
            ...,
            "",
            "add it to the other pieces, or choose another dimension",
        )
    if not any(has):
        named = zip(members, names_of(members, dim, names), strict=True)
        members = [
            member.drop_vars(dim, errors="ignore").expand_dims({dim: [x]}) for member, x in named
        ]
    members = [
        member.drop_vars([k for k, v in member.coords.items() if v.ndim == 0]) for member in members
    ]
    dims = [sorted(map(str, member.dims)) for member in members]
    try:
        if any(member != dims[0] for member in dims):
            raise ValueError(f"dims {dims}")
        table = xr.concat(members, dim, join="exact", coords="minimal", compat="equals")
    except ValueError as problem:
        todo = "select common coordinates first"
        raise fail(f"The dimensions other than {dim} differ: {{}}", problem, "", todo) from None
    if dim in table.indexes and not table.indexes[dim].is_unique:
        doubled = table.indexes[dim][table.indexes[dim].duplicated()].tolist()
        raise fail(
            f"The label {{}} occurs twice along {dim}", doubled, "", "rename or drop one of them"
        )
    return table


# Validation


def as_counts(evidence: xr.DataArray, *, fractional: bool = True) -> xr.DataArray:
    """
    Validate counts and return them in canonical form.

    Parameters
    ----------
    evidence : DataArray
        Counts with dimensions actual and predicted and the same labels on both.
    fractional : bool, default True
        Whether to allow non-integer counts.

    Returns
    -------
    DataArray, dims (..., actual, predicted)
        Counts of type int64 if all are integers, otherwise float64, with the same labels in the
        same order on both dimensions. With two classes, the positive one is last.

    Raises
    ------
    TypeError
        If the evidence is not a DataArray.
    ValueError
        If the evidence is not a table of counts, or a scalar coordinate has an invalid value.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> bcm.evidence.as_counts(counts.transpose("predicted", "actual")).dims
    ('actual', 'predicted')
    """
    if isinstance(evidence, xr.Dataset) and "score" in evidence:
        what = f"This function does not support {name_of(evidence)}"
        raise fail(
            what,
            ...,
            "",
            "use a measure of curves, interval(scores, 'auc'), or curves.at_threshold(scores)",
            TypeError,
        )
    if not isinstance(evidence, xr.DataArray):
        raise not_counts(evidence)
    _check_dims(evidence)
    labels = check_same_labels(evidence)
    _check_scalars(evidence, labels[0])
    values = check_counts(evidence.values, fractional)
    if abstains(evidence):
        _check_abstentions(evidence)
    if values is not evidence.values:
        evidence = evidence.copy(data=values)
    evidence = _ordered(evidence, *labels)
    return evidence if evidence.name == "counts" else evidence.rename("counts")


def not_counts(evidence: Any) -> Exception:
    """Return the error for an object that is not counts."""
    what = f"A {type(evidence).__name__} is not evidence"
    allowed = "counts as `from_cells`, `from_matrix` or `from_predictions` return them"
    todo = "use `from_matrix` for a matrix, or `from_predictions` for predictions"
    if (name := name_of(evidence)) is not None:
        what = f"This function does not support {'a fit' if name == 'fit' else name}"
        todo = "summary() and compare() support every type of evidence"
    elif isinstance(evidence, xr.Dataset):
        variables = ", ".join(map(str, evidence.data_vars)) or "no variables"
        what = f"A Dataset of {variables} is not evidence of counts"
        todo = "this function supports no other type"
    elif isinstance(evidence, Mapping):
        todo = "combine the counts first: combine({'a': counts, 'b': counts})"
        if {"tp", "fn", "fp", "tn"} == {str(name).lower() for name in evidence}:
            todo = "pass the four cells to `from_cells(tp=65, fn=15, fp=35, tn=30)`"
    elif isinstance(evidence, str | PurePath):
        todo = f"read a file first: bcm.read({str(evidence)!r})"
    elif hasattr(evidence, "columns"):
        todo = "use `from_frame` for a table of predictions, or, for a confusion matrix, "
        todo += "`from_matrix`"
    return fail(what, ..., allowed, todo, TypeError)


def _check_dims(evidence):
    missing = [dim for dim in CELLS if dim not in evidence.dims]
    if missing:
        raise fail(
            "Counts need the dimensions 'actual' and 'predicted', last",
            evidence.dims,
            "",
            "build counts with `from_matrix`, or rename the dimensions",
        )
    wrong = [dim for dim in evidence.dims if dim in RESERVED and dim not in CELLS]
    if wrong:
        raise fail(
            "The dimension name {} is reserved",
            wrong[0],
            "",
            "rename it, e.g. to classifier, group, step or batch",
        )


def check_same_labels(matrix: xr.DataArray) -> list[list]:
    """Return the labels of the rows and of the columns, or raise an error if they differ."""
    variables = matrix.coords.variables
    for dim in CELLS:
        if dim not in variables:
            raise fail(
                f"The dimension {dim} has no labels, one for each class",
                ...,
                "",
                "build the counts with `from_matrix(values, labels=[...])`",
            )
    indexes = matrix.xindexes
    return [list(labels) for labels in matching_labels(*(indexes[dim] for dim in CELLS))]


def _check_scalars(evidence, labels):
    coords = dict(evidence.coords.variables)
    for name in ("positive", "abstain", "prevalence", *DESIGN):
        dims = coords[name].dims if name in coords else ()
        # With more than two classes, the prevalence has one value per class.
        if dims and not (name == "prevalence" and dims == ("actual",)):
            raise fail(
                f"{name} must be a single value",
                coords[name].values,
                "",
                "combine evidence with combine(), which keeps a value that is the same in all",
            )
    for name, what in (("positive", "positive class"), ("abstain", "abstention")):
        if name in coords and coords[name].item() not in labels:
            raise fail(
                f"The {what} {{}} is not among the labels",
                coords[name].item(),
                labels,
                "add evidence with combine([x, y], `dim='batch'`).sum('batch'), which keeps all "
                f"labels; after a selection of labels, use drop_vars({name!r})",
            )
    for name in ("prevalence", "test_share", "train_size"):
        share = coords.get(name)
        if share is not None and not bool(np.all((share.values > 0) & (share.values < 1))):
            raise fail(
                f"{name} must be between 0 and 1",
                share.values,
                "",
                f"pass a number in this range, or remove it with drop_vars({name!r})",
            )
    for name in CLUSTERED:
        effect = coords.get(name)
        if effect is not None and not bool(np.all((effect.values > 0) & (effect.values < np.inf))):
            raise fail(
                f"{name} must be a finite number > 0",
                effect.values,
                "",
                "pass `groups=` to cross_confusion, which computes it",
            )
    folds = coords.get("n_folds")
    if folds is not None and not (
        folds.dtype.kind in "iuf" and folds.item() >= 1 and folds.item() % 1 == 0
    ):
        todo = "correct the coordinate, or drop it to have it inferred"
        raise fail("n_folds must be a whole number of folds, 1 or more", folds.item(), "", todo)
    fixed = coords.get("fixed_totals")
    if fixed is not None and not (fixed.dtype.kind in "biuf" and fixed.item() in (0, 1)):
        raise fail(
            "fixed_totals must be True or False",
            fixed.item(),
            "",
            "set it to True or False, or remove it with drop_vars('fixed_totals')",
        )


def _check_abstentions(evidence):
    """Check that no example has the abstention as its true class, and that two classes remain."""
    label = evidence["abstain"].item()
    labels, real = evidence["actual"].values.tolist(), classes(evidence).tolist()
    if label not in labels:
        raise fail(
            "The abstention label {} is not among the labels", label, labels, suggest(label, labels)
        )
    if len(real) < 2 or positive(evidence) == label:
        raise fail(
            "{} marks abstentions, so fewer than two classes remain",
            label,
            "",
            "name another `abstain=`",
        )
    row = evidence.isel(actual=labels.index(label))
    if row.values.any():
        raise fail(
            f"{{}} examples have the class {label!r}, which marks abstentions",
            row.values.sum().item(),
            "",
            "correct their labels, or mark abstentions with another label",
        )


# Canonical order: with two classes, the positive one is last. An abstention follows all classes.


def in_order(cells: xr.DataArray) -> xr.DataArray:
    """
    Return cells with dims (..., actual, predicted) in canonical order.

    With two classes, the positive one comes second. An abstention follows all classes.
    """
    return _ordered(cells, *_labels(cells))


def _ordered(cells, labels, columns):
    if cells.dims[-2:] != CELLS:
        cells = cells.transpose(..., *CELLS)
    if columns != labels:
        cells = by_labels(cells, labels, ["predicted"])
    real = classes(cells).tolist() if abstains(cells) else labels
    order = real[::-1] if len(real) == 2 and positive(cells) == real[0] else real
    order = [*order, *(label for label in labels if label not in real)]
    return cells if order == labels else by_labels(cells, order)


def _labels(cells):
    """Return the labels of the rows and of the columns as lists."""
    indexes = cells.xindexes
    return [index_labels(indexes[dim]) for dim in CELLS]


def by_labels(values: xr.DataArray, labels: Sequence, dims: Sequence[str] = CELLS) -> xr.DataArray:
    """Reorder values by labels, without `sel`, which would treat boolean labels as a mask."""
    return values.isel({dim: values.indexes[dim].get_indexer_for(labels) for dim in dims})


def _as_number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise fail(
            "{} cannot be read as pseudo-counts",
            value,
            "",
            "pass one number, e.g. `concentration=0.5`, one number per cell, or "
            "bcm.priors.uniform(counts)",
            TypeError,
        ) from None


def align(values: Any, counts: xr.DataArray) -> Any:
    """
    Return pseudo-counts or costs in the canonical order of the counts.

    Parameters
    ----------
    values : None, float, array_like (..., C, C), DataFrame or DataArray
        Labelled values are ordered by their labels. An array without labels must have the order of
        ``counts``, so pass the evidence as the user gave it, before `as_counts` reorders it.
    counts : DataArray
        Counts with dimensions actual and predicted.

    Returns
    -------
    None, float or ndarray (..., C, C)
        Any leading axes broadcast with the leading axes of the counts.

    Examples
    --------
    >>> counts = make_counts(np.array([[65, 15], [35, 30]]), np.array(["sick", "well"]), "sick")
    >>> align([[1, 2], [3, 4]], counts)
    array([[4., 3.],
           [2., 1.]])
    """
    if values is None or (np.ndim(values) == 0 and not isinstance(values, xr.DataArray)):
        return values if values is None else _as_number(values)
    canonical = in_order(counts)
    values = _labelled_values(values, counts)
    labels = canonical.indexes["actual"].tolist()
    for dim in CELLS:
        value_labels = values.indexes[dim].tolist()
        if sorted(map(str, value_labels)) != sorted(map(str, labels)):
            todo = "give it one row and one column per class"
            raise fail(
                f"The labels of {dim}, {value_labels}, do not match the labels of the counts, "
                f"{labels}",
                ...,
                "",
                todo,
            )
    values = by_labels(values, labels)
    if values.ndim > 2:  # put leading dimensions in the order of the counts
        values = values.broadcast_like(canonical).transpose(*canonical.dims)
    return values.transpose(..., *CELLS).values.astype(np.float64)


def _labelled_values(values, counts):
    if isinstance(values, pd.DataFrame):
        sides = sides_of(values)
        warn_of_names(sides, _NAME_THE_AXES, stacklevel=4)
        return _of_frame(values, sides)
    if isinstance(values, xr.DataArray):
        _check_dims(values)
        return values
    values, shape = np.asarray(values), in_order(counts).shape
    fits = 2 <= values.ndim <= len(shape) and values.shape[-2:] == shape[-2:]
    if not fits or any(
        n not in (1, m) for n, m in zip(values.shape, shape[-values.ndim :], strict=True)
    ):
        todo = "pass one number, or one number per cell"
        raise fail(
            f"The values must be one number or have the shape {shape[-2:]}, one per cell",
            values.shape,
            "",
            todo,
        )
    dims = in_order(counts).dims[-values.ndim :]
    values = np.broadcast_to(values, shape[-values.ndim :])
    return xr.DataArray(values, dims=dims, coords={dim: counts.indexes[dim] for dim in CELLS})


# Metadata of counts: the positive class, the classes, a known prevalence


def positive(counts: xr.DataArray) -> Any:
    """
    Return the label of the positive class, or None.

    Examples
    --------
    >>> import bayescm as bcm
    >>> bcm.evidence.positive(bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    'positive'
    """
    return _scalar_coord(counts, "positive")


def with_positive(evidence: Any, label: Any) -> Any:
    """Return evidence with this positive class, or raise an error if the label does not occur."""
    if label != _scalar_coord(evidence, "positive"):
        check_true_negatives(evidence, f"a measure of the class {label!r}")
    classes = evidence["label" if is_outcomes(evidence) else "actual"].values
    return evidence.assign_coords(positive=find_label(label, list(dict.fromkeys(classes.tolist()))))


def _scalar_coord(counts, name):
    """Return the value of a scalar coordinate, or None, without the overhead of indexing."""
    variable = counts.coords.variables.get(name)
    return None if variable is None else variable.item()


def abstains(cells: xr.DataArray | xr.Dataset) -> bool:
    """Return True if one of the labels marks abstentions."""
    return "abstain" in cells.coords


def classes(cells: xr.DataArray) -> np.ndarray:
    """Return the class labels in order, without the abstention label."""
    variable = cells.coords.variables.get("actual")
    labels = np.arange(cells.sizes["actual"]) if variable is None else variable.values
    return labels[labels != _scalar_coord(cells, "abstain")] if abstains(cells) else labels


def lacks_true_negatives(counts: xr.DataArray) -> bool:
    """Return True if the number of true negatives is unknown."""
    return _TRUE_NEGATIVES in counts.coords


def check_true_negatives(counts: Any, what: str) -> None:
    """Raise an error if a question depends on unknown true negatives."""
    if isinstance(counts, xr.DataArray) and lacks_true_negatives(counts):
        raise fail(
            f"{what} depends on the true negatives, which are unknown",
            ...,
            "",
            "use precision, recall, F1 or another measure that does not depend on them",
        )


def is_outcomes(evidence: Any) -> TypeGuard[xr.Dataset]:
    """Return True if evidence consists of outcomes of several classifiers on the same examples."""
    return isinstance(evidence, xr.Dataset) and "outcome" in evidence.dims


def known_shares(counts: xr.DataArray) -> np.ndarray | None:
    """Return the known proportion of each actual class (C,) of canonical counts, or None."""
    if "prevalence" not in counts.coords:
        return None
    shares = counts.coords["prevalence"].values
    return shares if shares.ndim else np.array([1 - shares, shares])


def with_shares(cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return cells (..., C, C) with their rows rescaled to given class proportions (..., C)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = cells / cells.sum(axis=-1, keepdims=True)
    return shares[..., None] * rates


# Default measures


class Defaults(NamedTuple):
    """Default measures for two classes, with or without a positive class, and for more classes."""

    with_positive: tuple[str, ...]
    without_positive: tuple[str, ...]
    many_classes: tuple[str, ...]


_SIX = ("accuracy", "precision", "recall", "specificity", "f1", "mcc")
_WITHOUT_TRUE_NEGATIVES = ["precision", "recall", "f1"]
_OVERALL = ("accuracy", "balanced_accuracy", "f1_macro", "mcc")
REPORTED = Defaults(_SIX, _OVERALL, _OVERALL)
# Tables show F1 for each class, so they also list the macro average.
TABULATED = Defaults(_SIX, _OVERALL, ("accuracy", "f1", "f1_macro", "mcc"))
WATCHED = Defaults(
    ("precision", "recall", "specificity", "accuracy", "f1"),
    _OVERALL,
    ("recall", "precision", "accuracy", "f1_macro"),
)
# Default measures for comparisons. None of them depends on the positive class.
COMPARED = ("accuracy", "f1_macro", "mcc")


def default_measures(counts: xr.DataArray, defaults: Defaults = REPORTED) -> list[str]:
    """
    Return the default measures for given counts.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
    defaults : Defaults, optional

    Returns
    -------
    list of str
        Includes ``coverage`` if one of the labels marks abstentions. If only a judge has labelled
        the examples, ``prevalence`` comes first. It is the only measure if the judge's output is
        not a class.

    Examples
    --------
    >>> import bayescm as bcm
    >>> default_measures(bcm.from_matrix([[65, 15], [35, 30]]))
    ['accuracy', 'precision', 'recall', 'specificity', 'f1', 'mcc']
    """
    if lacks_true_negatives(counts):
        return _WITHOUT_TRUE_NEGATIVES
    if len(classes(counts)) > 2:
        measures = defaults.many_classes
    else:
        measures = defaults.without_positive if positive(counts) is None else defaults.with_positive
    classified = counts.coords.get("classified", "classifier")
    if classified == "nothing":
        return ["prevalence"]
    first = ["prevalence"] if classified == "judge" else []
    return [*first, *measures, *(["coverage"] if abstains(counts) else [])]


# Batches of a monitor

_FORM = "counts"


def as_batch(evidence: Any, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return a confusion matrix in the form stored by a ledger, dims (actual, predicted).

    Raises
    ------
    ValueError
        If there are several tables, a label marks abstentions, or the true negatives are unknown.
    """
    counts = as_counts(evidence)
    check_true_negatives(counts, "a batch in a ledger")
    if "abstain" in counts.coords:
        label = counts["abstain"].item()
        raise fail(
            "A monitor cannot record abstentions ({})",
            label,
            "",
            "leave these examples out, or treat the label as a class: call `from_predictions` "
            "without `abstain`",
        )
    if counts.ndim != 2:
        raise fail(
            "A batch must be a single table with the dimensions actual and predicted",
            counts.dims,
            "",
            "sum over the other dimensions, or add each table separately",
        )
    return counts


COUNTS = EvidenceType(
    name="counts",
    made_by="from_predictions, from_cells, from_matrix",
    unit="examples",
    matches=lambda evidence: isinstance(evidence, xr.DataArray),
    canonical=as_counts,
    default_model=model_of_counts,
    default_measures=lambda counts: default_measures(counts, TABULATED),
    size=lambda counts: float(counts.sum()),
    values=lambda counts: counts,
    is_whole=lambda counts: counts.dtype.kind != "f",
    sum_over=lambda counts, dims: counts.sum(dims, keep_attrs=True),
    combine=combine_counts,
    to_dataset=lambda counts: counts.to_dataset(name="counts"),
    from_dataset=lambda dataset: dataset["counts"],
    sentences=describe_counts,
    batch_forms=(_FORM,),
    watched_measures=lambda counts: default_measures(counts, WATCHED),
    as_batch=as_batch,
    change_statistic=lambda tables: ChangeStatistic(tables.values, parts_are_classes=True),
    alarm_rules=lambda tables: ("change", "batch", "floor", "reference"),
    columns=Columns(
        (),
        (
            "actual",
            "predicted",
            "labels",
            "positive",
            "numeric_labels",
            "abstain",
            "fold",
            "group",
            "by",
            "weights",
            "weights_are",
            "halves",
            "classifier",
        ),
    ),
)
