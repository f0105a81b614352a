"""From two columns of labels to a table of counts: arrays in, arrays out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import check_counts, fail, suggest

MAX_LABELS = 5000  # more distinct labels than this are scores or identifiers, not classes
RESERVED = ("actual", "predicted", "bound", "class", "chain", "draw", "model", "dataset")


def tabulate(
    actual: Any,
    predicted: Any,
    *,
    labels: Sequence | None = None,
    by: Mapping[str, Any] | None = None,
    weights: Any = None,
    fractional: bool = False,
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """
    Count how often each label was answered with each label.

    Parameters
    ----------
    actual, predicted : array_like, shape (n,)
        Labels: strings, integers, booleans, or a pandas categorical.
    labels : sequence, optional
        All labels in their order; default those that occur in ``actual``, sorted.
    by : mapping of str to array_like (n,), optional
        Leading axes of the table: their names and the place of every example on them.
    weights : array_like, shape (n,), optional
        Weight >= 0 of every example.
    fractional : bool, default False
        Whether cells that are not whole numbers are allowed.

    Returns
    -------
    table : ndarray, shape (..., C, C)
        int64, or float64 where it is fractional.
    labels : ndarray, shape (C,)
    coords : dict of str to ndarray
        Coordinates of the leading axes.
    """
    columns = {"actual": _column("actual", actual), "predicted": _column("predicted", predicted)}
    groups = {name: _group(name, values) for name, values in (by or {}).items()}
    sizes = {name: len(column) for name, column in columns.items()}
    sizes |= {name: len(codes) for name, (codes, _) in groups.items()}
    if weights is not None:
        weights = check_counts(weights, fractional=True, name="a weight").ravel()
        sizes["weights"] = len(weights)
    _check_sizes(sizes)
    *codes, universe = _encode(*columns.values())
    shape = (*(len(values) for _, values in groups.values()), len(universe), len(universe))
    index = _flat_index([*(each for each, _ in groups.values()), *codes], shape)
    table = _bincount(index, shape)
    labels, places = _labels(table, universe, labels, columns["actual"])
    if weights is not None:
        table = check_counts(_bincount(index, shape, weights), fractional)
    return _select(table, places), labels, {name: values for name, (_, values) in groups.items()}


def _column(name, values):
    """Return labels as an integer or boolean array, or as a pandas series of anything else."""
    if not hasattr(values, "__array__") and not isinstance(values, (list, tuple)):
        todo = "pass a list, an array or a column of a table"
        raise fail(f"{name} is not a sequence of labels", values, "one label each", todo, TypeError)
    array = values if hasattr(values, "dtype") else pd.Series(values)
    if getattr(array, "ndim", 1) != 1:
        todo = "pass one label per example (argmax of scores, ravel of an image)"
        raise fail(f"{name} has {array.ndim} axes", array.shape, "shape (n,)", todo)
    series = pd.Series(
        array if isinstance(array.dtype, pd.api.extensions.ExtensionDtype) else np.asarray(array)
    )
    if pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_numeric_dtype(series.dtype):
        _refuse_missing(name, series)
        return _whole_labels(name, series.to_numpy())
    return series


def _refuse_missing(name, series):
    missing = series.isna().to_numpy()
    if missing.any():
        got = f"{missing.sum()} missing, the first at position {missing.argmax()}"
        todo = "drop these examples, or give refusals a label of their own and name it in labels"
        raise fail(f"{name} has missing values", got, "a label for every example", todo)


def _whole_labels(name, array):
    if array.dtype.kind in "iub":
        return array
    whole = array.astype(np.int64) if np.isfinite(array.astype(float)).all() else None
    if whole is None or (whole != array).any():
        todo = "scores go through from_scores; or apply a threshold first"
        raise fail(f"{name} holds fractions, not labels", array[:4].tolist(), "labels", todo)
    return whole


def _check_sizes(sizes):
    if len(set(sizes.values())) > 1:
        raise fail("lengths differ", sizes, "one value per example", "align the columns first")
    if 0 in sizes.values():
        raise fail("there are no examples", sizes, "at least one", "pass some predictions")


def _group(name, values):
    if name in RESERVED:
        allowed = "fold, repeat, classifier, group, step, batch or a name of your own"
        raise fail("this name of a dimension has a meaning of its own", name, allowed, "rename it")
    codes, values = pd.factorize(pd.Series(_column(name, values)), sort=True)
    if (codes < 0).any():
        todo = "drop these examples or fill the gap"
        raise fail(f"{name} has missing values", int((codes < 0).sum()), "none", todo)
    return codes, np.asarray(values)


def _encode(actual, predicted):
    """Return codes of both columns and the labels they stand for."""
    if isinstance(actual, np.ndarray) and isinstance(predicted, np.ndarray):
        low = int(min(actual.min(), predicted.min()))
        high = int(max(actual.max(), predicted.max()))
        if high - low < 256:
            return _shift(actual, low), _shift(predicted, low), np.arange(low, high + 1)
    first, labels = _factorize("actual", pd.Series(actual))
    second, others = _factorize("predicted", pd.Series(predicted))
    universe = list(dict.fromkeys([*labels, *others]))
    if len(universe) > MAX_LABELS:
        todo = "scores go through from_scores"
        raise fail("too many distinct labels", len(universe), f"up to {MAX_LABELS}", todo)
    place = {label: i for i, label in enumerate(universe)}
    second = np.array([place[label] for label in others])[second]
    return first, second, np.array(universe, dtype=object)


def _shift(array, low):
    codes = array.astype(np.intp, copy=False)
    return codes - low if low else codes


def _factorize(name, series):
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, labels = series.cat.codes.to_numpy(np.intp), series.cat.categories
    else:
        codes, labels = pd.factorize(series)
    if (codes < 0).any():
        _refuse_missing(name, series)
    return codes, labels.tolist()


def _flat_index(codes, shape):
    index = codes[0]
    for each, size in zip(codes[1:], shape[1:], strict=True):
        index = index * size + each
    return index


def _bincount(index, shape, weights=None):
    return np.bincount(index, weights, minlength=int(np.prod(shape))).reshape(shape)


def _labels(table, universe, labels, actual):
    """Return the labels and their places in the universe (-1 for one that does not occur)."""
    seen = table.reshape(-1, *table.shape[-2:]).sum(axis=0)
    occurs, answered = seen.sum(axis=1) > 0, seen.sum(axis=0) > 0
    if labels is None:
        labels = _default_labels(universe, occurs, answered, actual)
        known = f"the labels of actual, {labels.tolist()}"
    else:
        labels = as_labels(labels)
        known = f"the labels given, {labels.tolist()}"
    wanted = set(labels.tolist())
    for column, present in (("actual", occurs), ("predicted", answered)):
        for label in universe[present].tolist():
            if label not in wanted:
                todo = f"{suggest(label, wanted)} Or name it in labels to give it a column"
                raise fail(f"{column} has a label that is not a class", label, known, todo)
    place = {label: i for i, label in enumerate(universe.tolist())}
    return labels, [place.get(label, -1) for label in labels.tolist()]


def _default_labels(universe, occurs, answered, actual):
    if isinstance(actual, np.ndarray):
        if actual.dtype.kind == "b":
            return np.array([False, True])
        if set(universe[occurs | answered].tolist()) <= {0, 1}:
            return np.array([0, 1])
    labels = universe[occurs].tolist()
    categories = getattr(actual, "cat", None)
    if categories is None:
        labels = sorted(labels, key=lambda label: (type(label).__name__, label))
    return as_labels(labels)


def as_labels(labels: Any) -> np.ndarray:
    """Return class labels as an array, or raise where they are too few, doubled or mixed."""
    if isinstance(labels, str) or not np.iterable(labels):
        raise fail("labels are not a list", labels, "a list of labels", "pass e.g. labels=[0, 1]")
    items = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kinds = {type(label) for label in items}
    if not (kinds <= {str} or kinds <= {int} or kinds <= {bool}):
        todo = "make them all strings"
        raise fail("labels are not of one kind", items, "all str, all int or all bool", todo)
    if len(items) < 2:
        todo = "name all classes, also those absent from the sample, in labels=[...]"
        raise fail("fewer than two classes", items, "two or more labels", todo)
    if len(set(items)) < len(items):
        raise fail("a label occurs twice", items, "each label once", "remove the second one")
    return np.array(items)


def _select(table, places):
    if places == list(range(table.shape[-1])):
        return table
    padded = np.pad(table, [(0, 0)] * (table.ndim - 2) + [(0, 1), (0, 1)])  # place -1 is empty
    return padded[..., np.array(places)[:, None], places]
