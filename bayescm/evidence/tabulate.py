"""Cross-tabulation of two columns of labels, given as arrays."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayescm.evidence.labels import (
    UnknownLabelError,
    as_labels,
    check_exact,
    check_no_missing_text,
    check_plain_labels,
    default_labels,
)
from bayescm.validate import check_by, check_choice, check_counts, fail, suggest, unmasked

MAX_LABELS = 5000  # maximum number of distinct labels; larger sets are scores or identifiers
WEIGHTS = ("counts", "importance")
DIMS = ("fold", "repeat", "classifier", "group", "step", "batch")
RESERVED = ("actual", "predicted", "bound", "class", "chain", "draw", "model", "dataset")


def tabulate(
    actual: Any,
    predicted: Any,
    *,
    labels: Sequence | None = None,
    by: Mapping[str, Any] | None = None,
    weights: Any = None,
    abstain: Any = None,
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """
    Count the examples for each pair of actual and predicted labels.

    Parameters
    ----------
    actual, predicted : array_like, shape (n,)
        Labels: strings, integers, booleans, or a pandas categorical.
    labels : sequence, optional
        All labels, in order. By default the sorted labels in ``actual``.
    by : mapping of str to array_like (n,), optional
        Leading axes of the table. Keys are names, and values give the label of every example.
    weights : array_like, shape (..., n), optional
        Weights >= 0 of the examples. Leading axes become leading axes of the table.
    abstain : label, optional
        Label that marks an abstention. It is added as the last label.

    Returns
    -------
    table : ndarray, shape (..., C, C)
        Number of examples (int64), or sum of weights (float64), in each cell.
    labels : ndarray, shape (C,)
    coords : dict of str to ndarray
        Coordinates of the leading axes.
    """
    columns = {"actual": column("actual", actual), "predicted": column("predicted", predicted)}
    groups = axes_of(by)
    sizes = {name: len(labels) for name, labels in columns.items()}
    sizes |= {name: len(axis.codes) for name, axis in groups.items()}
    if weights is not None:
        weights = check_counts(weights, fractional=True, name="a weight")
        sizes["weights"] = weights.shape[-1]
    check_sizes(sizes)
    axes = [*groups.values(), *_encode(*columns.values())]
    universe = axes[-1].values
    table = _count(axes)
    classes, places = _labels(table, universe, labels, columns["actual"], abstain)
    if weights is not None:
        rows = weights.reshape(-1, weights.shape[-1])
        table = np.stack([_count(axes, row) for row in rows])
        table = table.reshape(*weights.shape[:-1], *table.shape[1:])
    return _select(table, places), classes, {name: axis.values for name, axis in groups.items()}


class Axis(NamedTuple):
    """One axis of a table: the value of example ``i`` is ``values[codes[i]]``."""

    codes: np.ndarray
    values: np.ndarray


def column(name: str, values: Any) -> Any:
    """Return labels as an integer, boolean or object array, or as a pandas extension array."""
    if not hasattr(values, "__array__") and not isinstance(values, (list, tuple)):
        todo = "pass a list, an array or a column of a table"
        raise fail(
            f"{name} must be a sequence, with one label per example", values, "", todo, TypeError
        )
    unmasked(values, name)
    values = as_sequence(values)
    check_one_axis(name, values)
    array = values if hasattr(values, "dtype") else pd.Series(values)  # a list may contain None
    array = pd.array(array) if pd.api.types.is_extension_array_dtype(array) else np.asarray(array)
    check_one_axis(name, array)
    if isinstance(array, np.ndarray) and array.size and isinstance(array.flat[0], bytes):
        array = pd.Series(array).astype(object).str.decode("utf-8").to_numpy(object)  # TensorFlow
    return _numeric_labels(name, array) if pd.api.types.is_numeric_dtype(array.dtype) else array


def check_one_axis(name: str, values: Any) -> None:
    """Raise an error if the values have an attribute ``ndim`` other than 1."""
    if getattr(values, "ndim", 1) != 1:
        todo = (
            'pass one label per example (table["y"], argmax of scores, ravel of an image); several '
            "labels for each example are for `from_multilabel`"
        )
        raise fail(f"{name} must have one axis, but its shape is {{}}", values.shape, "", todo)


def as_sequence(values: Any) -> Any:
    """Return an object that supports only the array protocol as an array."""
    try:
        len(values), iter(values)
    except TypeError:
        return np.asarray(values) if hasattr(values, "__array__") else values
    return values


def _numeric_labels(name, array):
    if isinstance(array, np.ndarray) and array.dtype.kind in "iub":
        if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
            raise fail(
                f"Labels in {name} must be below 2**63", array.max(), "", "pass them as text"
            )
        return array
    missing = pd.isna(array)
    if missing.any():
        raise _missing(name, missing)
    array = array.to_numpy() if not isinstance(array, np.ndarray) else array
    with np.errstate(invalid="ignore"):  # infinity changes, and is rejected below
        whole = array.real.astype(bool if array.dtype.kind == "b" else np.int64)
    if (whole != array).any():
        todo = "pass scores to `from_scores`, or apply a threshold first"
        raise fail(
            f"{name} contains fractions instead of labels: {{}}", array[:4].tolist(), "", todo
        )
    check_exact(name, array)
    return whole


def _missing(name, missing):
    what = f"{name} has missing values ({missing.sum()}, the first at position {missing.argmax()})"
    return fail(
        what,
        ...,
        "",
        ["drop these examples", "label abstentions, and pass this label as `abstain=`"],
    )


def check_sizes(sizes: Mapping[str, int]) -> None:
    """Raise an error if the named columns differ in length or are empty."""
    if len(set(sizes.values())) > 1:
        raise fail("The columns have different lengths: {}", sizes, "", "align the columns first")
    if 0 in sizes.values():
        raise fail("The columns have no examples: {}", sizes, "", "pass some predictions")


def check_weights(weights: np.ndarray, kind: str | None) -> str:
    """Return the meaning of weights (n,), or raise an error if it is not given and not obvious."""
    weights = check_counts(weights, fractional=True, name="a weight")
    fractional = weights.dtype.kind == "f"
    if kind is None and fractional:
        raise fail(
            "Fractional weights need `weights_are`; the weights are {}",
            weights[:4].tolist(),
            "",
            'pass `weights_are="counts"` if a weight is a number of examples, or '
            '`weights_are="importance"` for sampling weights',
        )
    if not weights.any():
        raise fail("Every weight is 0", ..., "", "leave `weights` out")
    return check_choice("weights_are", kind or "counts", WEIGHTS)


def axes_of(by: Mapping[str, Any] | None, taken: Sequence[str] = ()) -> dict[str, Axis]:
    """Return the leading axes of a table, or raise an error if a name is reserved or ``taken``."""
    by = check_by(by, '"fold": fold')
    for name in by:
        if not isinstance(name, str):
            todo = 'name it, e.g. `by={"fold": fold}`'
            raise fail("The name of a dimension must be text", name, "", todo, TypeError)
        if name in (*RESERVED, *taken):
            raise fail(
                "The dimension name {} is reserved",
                name,
                "",
                f"rename it, e.g. to {', '.join(x for x in DIMS if x not in taken)}",
            )
    return {name: _axis(name, values) for name, values in by.items()}


def _axis(name, values):
    """Return a leading axis, with sorted values."""
    array = column(name, values)
    if array.dtype == bool:  # `sel` would treat boolean labels as a mask
        array = array.astype(int)
    codes, values = factorize(name, array)
    check_no_missing_text(values, f"the values of {name}", "drop these examples, or rename it")
    order = np.argsort(np.array(values))
    return Axis(np.argsort(order)[codes], np.array(values)[order])


def _encode(actual, predicted):
    """Encode both columns as axes with the same values."""
    first, labels = factorize("actual", actual)
    second, others = factorize("predicted", predicted)
    universe = list(dict.fromkeys([*labels, *others]))
    if len(universe) > MAX_LABELS:
        raise fail(
            f"There are {{}} distinct labels, more than {MAX_LABELS}",
            len(universe),
            "",
            "if these are scores, pass them to `from_scores`",
        )
    if others != universe:
        position = {label: i for i, label in enumerate(universe)}
        second = np.array([position[label] for label in others])[second]
    values = np.array(universe, dtype=object)
    return [Axis(codes_of, values) for codes_of in (first, second)]


def factorize(name: str, array: Any) -> tuple[np.ndarray, list]:
    """Return codes and the labels that they index, or raise an error if values are missing."""
    if isinstance(array, pd.Categorical):
        codes, labels = array.codes, array.categories
    else:
        try:
            codes, labels = pd.factorize(array)
        except TypeError as problem:
            todo = (
                "pass one label per example; for several labels per example, use `from_multilabel`"
            )
            allowed = "strings, integers or booleans"
            raise fail(
                f"The values of {name} cannot be used as labels: {{}}",
                problem,
                allowed,
                todo,
                TypeError,
            ) from None
    if (codes < 0).any():
        raise _missing(name, np.asarray(codes < 0))
    check_plain_labels(labels, f"labels of {name}")
    dates = getattr(labels.dtype, "kind", "O") in "mM"  # tolist() turns some dates into integers
    return codes, list(labels) if dates else labels.tolist()


def _count(axes, weights=None):
    """Return the number of examples, or the sum of weights, in each cell of the table."""
    shape = tuple(len(axis.values) for axis in axes)
    cells = np.ravel_multi_index([axis.codes for axis in axes], shape)
    return np.bincount(cells, weights, math.prod(shape)).reshape(shape)


def _labels(table, universe, labels, actual, abstain):
    """Return the labels and their positions in ``universe`` (-1 if a label does not occur)."""
    abstain = abstain.item() if isinstance(abstain, np.generic) else abstain
    without = np.array([label != abstain for label in universe.tolist()])
    totals = table.reshape(-1, *table.shape[-2:]).sum(axis=0)
    occurs, answered = totals.sum(axis=1) > 0, totals.sum(axis=0) > 0
    if labels is None:
        present = universe[(occurs | answered) & without].tolist()
        labels = default_labels(universe[occurs & without].tolist(), present, actual)
        allowed = f"the labels of actual, {labels.tolist()}"
    else:
        labels = as_labels(labels)
        allowed = f"labels={labels.tolist()}"
    if abstain is not None and abstain not in labels.tolist():
        labels = as_labels([*labels.tolist(), abstain])
    requested = set(labels.tolist())
    for name, present in (("actual", occurs), ("predicted", answered)):
        for label in universe[present].tolist():
            if label not in requested:
                raise fail(
                    f"{name} contains {{}}, which is not in {allowed}",
                    label,
                    "",
                    [
                        f"{suggest(label, requested)} add it to `labels` if it is a class",
                        f"pass `abstain={label!r}` if it marks an abstention",
                        "leave its rows out",
                    ],
                    UnknownLabelError,
                )
    position = {label: i for i, label in enumerate(universe.tolist())}
    return labels, [position.get(label, -1) for label in labels.tolist()]


def _select(table, places):
    if places == list(range(table.shape[-1])):
        return table
    padded = np.pad(table, [(0, 0)] * (table.ndim - 2) + [(0, 1), (0, 1)])  # position -1 is empty
    return padded[..., np.array(places)[:, None], places]
