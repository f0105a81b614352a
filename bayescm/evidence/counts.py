"""
Counts: the labelled confusion matrix and the one check on entry.

Counts are an ``xr.DataArray`` with trailing dims ("actual", "predicted") and the class labels on
both. Scalar coords record what the numbers mean: ``positive``; ``abstain``, the answer that is none
and the truth of no example; for folds ``n_folds``, ``test_share``, ``train_size`` and
``fixed_totals``; ``prevalence``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.labels import agreeing, find_label, listed, obvious, sides_of
from bayescm.evidence.tabulate import RESERVED
from bayescm.validate import check_counts, fail, suggest

CELLS = ("actual", "predicted")
# Of examples in groups, how much more the rates (one value for each classifier) and totals vary.
CLUSTERED = ("design_effect", "totals_effect")
# What the folds of a cross-validation know of its design, scalar coords.
DESIGN = ("n_folds", "test_share", "train_size", "fixed_totals")


def make_counts(
    table: np.ndarray,
    labels: np.ndarray,
    positive: Any = None,
    dims: Sequence = (),
    coords: Mapping | None = None,
    abstain: Any = None,
) -> xr.DataArray:
    """Return the labelled table with its positive class, given or obvious, if any."""
    every = {**(coords or {}), **{dim: np.asarray(labels) for dim in CELLS}}
    real = np.asarray(labels).tolist()
    if abstain is not None:
        every["abstain"] = find_label(abstain, real, "abstention")
        real = [label for label in real if label != every["abstain"]]
    if positive is None and len(real) == 2:
        positive = obvious(real)
    if positive is not None:
        every["positive"] = find_label(positive, real)
    return xr.DataArray(table, dims=(*dims, *CELLS), coords=every, name="counts")


def positive(counts: xr.DataArray) -> Any:
    """
    Return the label of the positive class, or None where there is none.

    Examples
    --------
    >>> import bayescm as bcm
    >>> bcm.evidence.positive(bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    'positive'
    """
    return _held(counts, "positive")


def _held(counts, name):
    """Return the value of a scalar coord, or None; of its variable, which costs next to nothing."""
    variable = counts.coords.variables.get(name)
    return None if variable is None else variable.item()


def abstains(cells: xr.DataArray | xr.Dataset) -> bool:
    """Say whether one of the labels is no class but an abstention."""
    return "abstain" in cells.coords


def classes(cells: xr.DataArray) -> np.ndarray:
    """Return the labels that are classes, in order: all but the abstention."""
    known = cells.coords.variables.get("actual")
    labels = np.arange(cells.sizes["actual"]) if known is None else known.values
    return labels[labels != _held(cells, "abstain")] if abstains(cells) else labels


def is_outcomes(evidence: Any) -> bool:
    """Say whether evidence is outcomes of several classifiers on the same examples."""
    return isinstance(evidence, xr.Dataset) and "outcome" in evidence.dims


def as_counts(evidence: xr.DataArray, *, fractional: bool = True) -> xr.DataArray:
    """
    Check counts and return them in canonical form: the one check on entry.

    Parameters
    ----------
    evidence : DataArray
        With dims actual and predicted, the same labels on both.
    fractional : bool, default True
        Whether to allow non-integer counts.

    Returns
    -------
    DataArray, dims (..., actual, predicted)
        int64 (float64 where fractional), the same labels in the same order on both dims; with two
        classes the positive one last.

    Raises
    ------
    TypeError
        If it is not a DataArray.
    ValueError
        If it is not a table of counts, or a scalar coord has an impossible value.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> bcm.evidence.as_counts(counts.transpose("predicted", "actual")).dims
    ('actual', 'predicted')
    """
    if isinstance(evidence, xr.Dataset) and "score" in evidence:
        todo = "ask curves: curves.auc(scores), curves.compare(scores), curves.at_threshold(scores)"
        raise fail("these are scores, not counts", dict(evidence.sizes), "counts", todo, TypeError)
    if not isinstance(evidence, xr.DataArray):
        allowed = "counts as from_cells, from_matrix or from_predictions return them"
        todo = "pass a bare matrix through from_matrix"
        if isinstance(evidence, Mapping):
            todo = "put counts together first: combine({'a': counts, 'b': counts})"
        raise fail("not evidence", type(evidence).__name__, allowed, todo, TypeError)
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


def in_order(cells: xr.DataArray) -> xr.DataArray:
    """
    Return cells with dims (..., actual, predicted) in canonical order.

    Of two classes the positive one comes second, and an abstention after all classes.
    """
    return _ordered(cells, *_labels(cells))


def _ordered(cells, labels, columns):
    if cells.dims[-2:] != CELLS:
        cells = cells.transpose(..., *CELLS)
    if columns != labels:
        cells = by_labels(cells, labels, ["predicted"])
    real = classes(cells).tolist() if abstains(cells) else labels
    wanted = real[::-1] if len(real) == 2 and positive(cells) == real[0] else real
    wanted = [*wanted, *(label for label in labels if label not in real)]
    return cells if wanted == labels else by_labels(cells, wanted)


def _labels(cells):
    """Return the labels of the rows and of the columns as lists."""
    indexes = cells.xindexes
    return [listed(indexes[dim]) for dim in CELLS]


def _check_dims(evidence):
    missing = [dim for dim in CELLS if dim not in evidence.dims]
    if missing:
        todo = "build counts with from_matrix, or rename the dims"
        raise fail("counts lack a dim", evidence.dims, "(..., actual, predicted)", todo)
    wrong = [dim for dim in evidence.dims if dim in RESERVED and dim not in CELLS]
    if wrong:
        todo = "rename it: classifier, group, step or batch"
        raise fail("a reserved name for a dim", wrong[0], "another name", todo)


def by_labels(values: xr.DataArray, labels: Sequence, dims: Sequence[str] = CELLS) -> xr.DataArray:
    """Return the values in the order of the labels; `sel` would take booleans for a mask."""
    return values.isel({dim: values.indexes[dim].get_indexer_for(labels) for dim in dims})


def check_same_labels(matrix: xr.DataArray) -> list[list]:
    """Return the labels of the rows and of the columns, or raise where they are not the same."""
    variables = matrix.coords.variables
    for dim in CELLS:
        if dim not in variables:
            todo = "pass it through from_matrix(values, labels=[...])"
            raise fail(f"the dim {dim} has no labels", None, "one label per class", todo)
    indexes = matrix.xindexes
    return [list(each) for each in agreeing(*(indexes[dim] for dim in CELLS))]


def _check_scalars(evidence, labels):
    coords = dict(evidence.coords.variables)
    for name in ("positive", "abstain", "prevalence", *DESIGN):
        dims = coords[name].dims if name in coords else ()
        # Of more than two classes each has a share of its own.
        if dims and not (name == "prevalence" and dims == ("actual",)):
            todo = "put evidence together with combine(), where it is the same"
            raise fail(f"{name} must be a single value", coords[name].values, "a scalar", todo)
    if "positive" in coords:
        find_label(coords["positive"].item(), labels)
    for name in ("prevalence", "test_share", "train_size"):
        share = coords.get(name)
        if share is not None and not bool(np.all((share.values > 0) & (share.values < 1))):
            raise fail(
                f"{name} must lie between 0 and 1", share.values, f"0 < {name} < 1", "correct it"
            )
    for name in CLUSTERED:
        effect = coords.get(name)
        if effect is not None and not bool(np.all((effect.values > 0) & (effect.values < np.inf))):
            todo = "pass groups= to cross_confusion, which works it out"
            raise fail(f"{name} must be positive", effect.values, "a number > 0", todo)
    folds = coords.get("n_folds")
    if folds is not None and not (
        folds.dtype.kind in "iuf" and folds.item() >= 1 and folds.item() % 1 == 0
    ):
        todo = "correct it, or drop the coordinate to have it inferred"
        raise fail("n_folds must be a whole number of folds", folds.item(), "2 or more", todo)
    fixed = coords.get("fixed_totals")
    if fixed is not None and not (fixed.dtype.kind in "biuf" and fixed.item() in (0, 1)):
        raise fail(
            "fixed_totals must be true or false", fixed.item(), "True or False", "correct it"
        )


def _check_abstentions(evidence):
    """Nothing truly is an abstention, and what is left are two classes or more."""
    label = evidence["abstain"].item()
    known, real = evidence["actual"].values.tolist(), classes(evidence).tolist()
    if label not in known:
        raise fail("the abstention is not among the labels", label, known, suggest(label, known))
    if len(real) < 2 or positive(evidence) == label:
        what = "an abstention is not a class"
        raise fail(what, label, "two classes or more beside it", "name another abstain=")
    row = evidence.isel(actual=known.index(label))
    if row.values.any():
        what = f"examples are of the class {label!r}, which is the abstention"
        todo = "correct their truth, or give abstentions another label"
        raise fail(what, row.values.sum().item(), "none", todo)


def align(values: Any, counts: xr.DataArray) -> Any:
    """
    Bring a concentration, or a cost matrix, to the canonical order of the counts.

    Parameters
    ----------
    values : None, float, array_like (..., C, C), DataFrame or DataArray
        Labelled values are ordered by their labels. An array without labels is taken to be in the
        order of ``counts``, so pass the evidence as the user gave it, before ``as_counts``.
    counts : DataArray
        Evidence with dims actual and predicted.

    Returns
    -------
    None, float or ndarray (..., C, C)
        Leading axes, if any, broadcast with those of the counts.

    Examples
    --------
    >>> counts = make_counts(np.array([[65, 15], [35, 30]]), np.array(["sick", "well"]), "sick")
    >>> align([[1, 2], [3, 4]], counts)
    array([[4., 3.],
           [2., 1.]])
    """
    if values is None or (np.ndim(values) == 0 and not isinstance(values, xr.DataArray)):
        return values if values is None else float(values)
    canonical = in_order(counts)
    values = _labelled_values(values, counts)
    labels = canonical.indexes["actual"].tolist()
    for dim in CELLS:
        given = values.indexes[dim].tolist()
        if sorted(map(str, given)) != sorted(map(str, labels)):
            todo = "give it one row and one column per class"
            raise fail(
                f"the labels of {dim} do not match those of the counts", given, str(labels), todo
            )
    values = by_labels(values, labels)
    if values.ndim > 2:  # leading dims in the order of the counts
        values = values.broadcast_like(canonical).transpose(*canonical.dims)
    return values.transpose(..., *CELLS).values.astype(np.float64)


def _labelled_values(values, counts):
    if isinstance(values, pd.DataFrame):
        axes = zip(sides_of(values), (values.index, values.columns), strict=True)
        return xr.DataArray(values.to_numpy(), list(axes))
    if isinstance(values, xr.DataArray):
        _check_dims(values)
        return values
    values, shape = np.asarray(values), in_order(counts).shape
    fits = 2 <= values.ndim <= len(shape) and values.shape[-2:] == shape[-2:]
    if not fits or any(
        n not in (1, m) for n, m in zip(values.shape, shape[-values.ndim :], strict=True)
    ):
        todo = "pass one number, or one number per cell"
        raise fail("a matrix has the wrong shape", values.shape, str(shape[-2:]), todo)
    dims = in_order(counts).dims[-values.ndim :]
    values = np.broadcast_to(values, shape[-values.ndim :])
    return xr.DataArray(values, dims=dims, coords={dim: counts.indexes[dim] for dim in CELLS})


def with_positive(evidence: Any, label: Any) -> Any:
    """Return counts, outcomes or scores with this positive class, or raise where it is no label."""
    classes = evidence["label" if is_outcomes(evidence) else "actual"].values
    return evidence.assign_coords(positive=find_label(label, list(dict.fromkeys(classes.tolist()))))
