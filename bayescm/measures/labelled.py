"""Measures of labelled counts and posterior draws, as labelled arrays."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import (
    CELLS,
    TABULATED,
    abstains,
    as_counts,
    check_true_negatives,
    classes,
    default_measures,
    in_order,
    known_shares,
    lacks_true_negatives,
    positive,
    with_shares,
)
from bayescm.evidence.evidence_type import number_of
from bayescm.evidence.outcomes import matrices_of
from bayescm.evidence.trees import (
    attribute_dims,
    cells_of,
    extra_dims,
    group_of,
    variable_of,
    with_positive_class,
)
from bayescm.measures.catalogue import among, resolve
from bayescm.measures.measure import Measure, bound, of_each_class, with_abstentions
from bayescm.measures.next_tables import of_joint_cells, of_the_same_size
from bayescm.validate import Advice, fail, suggest


def measure_cells(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    of: str = "parameter",
    group: str = "posterior",
    variable: str | None = None,
    positive: Any = None,
) -> xr.Dataset:
    """
    Return measures of counts, outcomes, or the cell probabilities of a fit.

    Parameters and errors are the same as for `bayescm.measure`.
    """
    evidence = with_positive_class(evidence, positive)
    if not isinstance(evidence, xr.DataTree):
        if of != "parameter":
            todo = f"use interval(counts, measure, `of={of!r}`), or pass the tree of fit(counts)"
            raise fail(f"`of={of!r}` is not available for counts without a model", ..., "", todo)
        counts = as_counts(matrices_of(evidence))
        shares = known_shares(counts)
        cells = counts if shares is None else counts.copy(data=with_shares(counts.values, shares))
        return _dataset(cells, _measures_or_usual(measures, counts))
    if variable is not None:
        cells = cells_of(evidence, group, variable)
        return _dataset(cells, _measures_or_usual(measures, cells))
    name = variable_of(evidence, group, of)
    cells = cells_of(evidence, group, name)
    if of == "predictive":
        cells = _predicted(evidence, group, cells)
    values = _dataset(cells, _measures_or_usual(measures, cells))
    over = [dim for dim in extra_dims(evidence, cells) if dim in values.dims and dim != of]
    return _averaged(values, over, evidence) if over and of != "predictive" else values


def _measures_or_usual(measures, cells):
    """Resolve the measures, or the default measures if none are given."""
    return as_measures(default_measures(cells, TABULATED) if measures is None else measures, cells)


def _predicted(tree, group, cells):
    """Return the predicted counts of a tree, or counts drawn from its cell probabilities."""
    # Trees from pm.sample contain no predictions unless the user adds them.
    name = f"{group}_predictive"
    draws = group_of(tree, name) if name in tree.children else xr.Dataset()
    flat = [variable for variable in draws.values() if "cell" in variable.dims]
    if attribute_dims(tree, "uses") or not flat:
        data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else {}
        counts = data["counts"] if "counts" in data else xr.DataArray(np.nan)
        return of_the_same_size(cells, counts, extra_dims(tree, cells))
    (pair, *_) = [*attribute_dims(tree, "pairs"), None]
    members = None if pair is None else cells.coords[pair]
    return in_order(of_joint_cells(flat[0], cells.indexes["actual"], members))


def as_measures(measures: str | Callable | Sequence[str | Callable], cells: xr.DataArray) -> list:
    """
    Resolve measures, or raise an error if these cells do not determine one of them.

    Parameters
    ----------
    measures : name, function, or sequence of these
    cells : DataArray, dims (..., actual, predicted)

    Raises
    ------
    ValueError
        If a measure is unknown or requested twice, or needs a positive class or true negatives that
        are not available.
    """
    resolved = of_variable(measures, "cells")
    if any(measure.class_selection for measure in resolved):
        resolved = [bound(measure, classes(cells)) for measure in resolved]
    if lacks_true_negatives(cells):
        for each in resolved:
            if not _is_same_for_other_true_negatives(each):
                check_true_negatives(cells, each.__name__)
    if abstains(cells):
        resolved = [with_abstentions(measure) for measure in resolved]
    if cells.sizes["actual"] - abstains(cells) == 2 and positive(cells) is None:
        for each in resolved:
            if each.needs_positive or (each.symmetry_assumed and not _symmetric(each)):
                raise _no_positive(each, cells)
    if not abstains(cells) and cells.sizes["actual"] > 2:
        _warn_of_columns([each for each in resolved if each.average == "macro"], cells)
    return resolved


def _is_same_for_other_true_negatives(measure):
    """Test whether a measure ignores true negatives."""
    cells = np.random.default_rng(0).integers(5, 50, (8, 2, 2)).astype(float)
    others = cells.copy()
    others[:, 0, 0] *= 3
    return np.allclose(measure(cells), measure(others), equal_nan=True)


def _symmetric(measure):
    """Test whether the value of a custom function is unchanged if the classes are swapped."""
    cells = np.random.default_rng(0).integers(5, 50, (8, 2, 2)).astype(float)
    return np.allclose(measure(cells), measure(cells[..., ::-1, ::-1]), equal_nan=True)


def of_variable(
    measures: str | Callable | Sequence[str | Callable], variable: str | tuple[str, ...]
) -> list:
    """Resolve measures that are functions of one of the given variables of a posterior."""
    resolved = [resolve(measure, variable) for measure in several(measures)]
    called = [each.__name__ for each in resolved]
    if len(set(called)) < len(called):
        todo = "name it once, or give the functions different names"
        raise fail("The measure {} is named twice", called, "", todo)
    return resolved


def _warn_of_columns(means, cells):
    """Warn if a label that may mark an abstention enters an average over the classes."""
    table = cells.values.sum(axis=tuple(range(cells.ndim - 2)))
    strange = (table.sum(axis=1) == 0) & (table.sum(axis=0) > 0)
    if not strange.any():
        return
    (place, *_) = np.flatnonzero(strange)
    # Recall of this class is 0/0, so averages of recall exclude the class.
    for measure in means:
        if not np.isnan(of_each_class(measure, len(table))(table)[place]):
            label = repr(cells.indexes["actual"].tolist()[place])
            number = number_of(table[:, place].sum(), "examples")
            what = (
                f"{measure.__name__} includes the class {label}, which is predicted for {number} "
            )
            what += f"but has no examples. {label} may mark an abstention"
            todo = [f"if it does, build the counts with `abstain={label}`", "leave its rows out"]
            warnings.warn(Advice(what, todo), stacklevel=4)
            return


def several(measures: Any) -> list:
    """Convert the requested measures to a list, or raise an error if it is empty."""
    single = isinstance(measures, str) or not isinstance(measures, Iterable)
    names = [measures] if single else list(measures)
    if not names:
        raise fail("No measures are given", ..., "", 'pass e.g. ["f1", "mcc"]')
    return names


def check_not_several(measure: Any) -> None:
    """Raise an error if a measure is neither a name nor a function, such as a list of measures."""
    if not isinstance(measure, str) and not callable(measure):
        raise _not_one(measure, TypeError)


def _not_one(measures, error=ValueError):
    todo = "call the function once for each measure"
    return fail("Only one measure is possible; got {}", measures, "", todo, error)


def one_number(measure: str | Callable) -> Measure:
    """Resolve a measure, or raise an error if it is not a single number for two classes."""
    resolved = resolve(measure)
    if np.ndim(resolved(np.ones((2, 2)))):
        todo = "sum over both axes of the cells"
        raise fail(
            f"{resolved.__name__} has one value per class, but one number is needed", ..., "", todo
        )
    return resolved


def one_measure(measure: str | Callable, cells: xr.DataArray) -> Any:
    """Resolve a single measure, or raise an error if there are several."""
    resolved = as_measures(measure, cells)
    if len(resolved) > 1:
        raise _not_one([each.__name__ for each in resolved])
    return resolved[0]


def check_pairs(pairs, names: Sequence, measures: Sequence[Measure]) -> np.ndarray:
    """Return a mask (J, K) of the requested pairs of classifier and measure."""
    available = [each.__name__ for each in measures]
    if pairs is None:
        return np.ones((len(names), len(available)), bool)
    if not len(pairs):
        todo = 'pass e.g. [("a", "f1")], or leave `pairs` out for all'
        raise fail("No (classifier, measure) pairs are given", ..., "", todo)
    requested = np.zeros((len(names), len(available)), bool)
    for classifier, measure in pairs:
        indices = among(measures, measure)
        if classifier not in names or not indices:
            strange = (classifier, names) if classifier not in names else (measure, available)
            got, allowed = (
                (classifier, measure),
                f"one of {list(names)} with one of {list(available)}",
            )
            raise fail("The pair {} is not in the evidence", got, allowed, suggest(*strange))
        requested[names.index(classifier), indices] = True
    return requested


def _no_positive(measure, cells):
    labels = classes(cells).tolist()
    choices = " or ".join(f"`positive={label!r}`" for label in labels[:2])
    return fail(
        f"{measure.__name__} needs a positive class; none of the labels {{}} is positive",
        labels,
        "",
        f"pass {choices}, or use a measure without a positive class, e.g. accuracy or f1_macro",
    )


def apply(measure: Measure, cells: xr.DataArray) -> xr.DataArray:
    """Return the measure of labelled cells with last dimensions actual and predicted."""
    values = measure(cells.values)
    dims = list(cells.dims[:-2])
    coords = {k: v for k, v in cells.coords.items() if not set(CELLS) & set(v.dims)}
    if values.ndim > len(dims):
        dims.append("class")
        coords["class"] = classes(cells)
    return xr.DataArray(values, dims=dims, coords=coords, name=measure.__name__)


def _dataset(cells, measures):
    called = [measure.__name__ for measure in measures]
    clash = [name for name in called if name in (*cells.dims, "class")]
    if clash:
        raise fail(
            "{} is the name of both a measure and a dimension", clash[0], "", "rename the function"
        )
    # The measure "prevalence" replaces the scalar coordinate with the same name.
    cells = cells.drop_vars([name for name in called if name in cells.coords])
    return xr.Dataset({measure.__name__: apply(measure, cells) for measure in measures})


def _averaged(values, over, tree):
    """Average over dimensions. Averages over folds are stretched if the model requires it."""
    stretch = float(group_of(tree, "constant_data").get("stretch", 1.0))
    if stretch == 1.0:
        return values.mean(over, skipna=False)
    rows = values.stack(every=over, create_index=False).drop_vars(over, errors="ignore")
    means = {}
    for name, each in rows.data_vars.items():
        draws = each.transpose("chain", "draw", ..., "every")
        flat = draws.values.reshape(-1, *draws.shape[2:])
        mean = average_draws(flat, flat.ndim - 1, stretch)
        means[name] = draws.isel(every=0, drop=True).copy(data=mean.reshape(draws.shape[:-1]))
    return xr.Dataset(means)


def average_draws(values: np.ndarray, axis: int, stretch: float) -> np.ndarray:
    """
    Return draws of the average over folds.

    Parameters
    ----------
    values : ndarray, shape (size, ...)
        Draws of the measure in every fold, with NaN if it is undefined.
    axis : int
        Axis of the folds.
    stretch : float
        Factor by which the average is stretched about its mean. Values outside the range of the
        folds' draws are clipped. If it is NaN, the result is a mixture whose draws come from each
        fold in turn.

    Returns
    -------
    ndarray, without the axis of the folds
    """
    if np.isnan(stretch):
        size, folds = values.shape[0], values.shape[axis]
        turn = (np.arange(size) % folds).reshape(-1, *[1] * (values.ndim - 1))
        return np.take_along_axis(values, turn, axis).squeeze(axis)
    mean = values.mean(axis=axis)
    if stretch == 1:
        return mean
    center = np.nanmean(mean, axis=0)
    ends = np.nanmin(values, axis=(0, axis)), np.nanmax(values, axis=(0, axis))
    return np.clip(center + stretch * (mean - center), *ends)
