"""Measures of labelled counts and of posterior draws: kernels in, labelled arrays out."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, as_counts, in_order, positive
from bayescm.measures.catalogue import Kernel, names, resolve
from bayescm.validate import check_choice, fail


def measure(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: str | Callable | Sequence[str | Callable],
    *,
    of: Literal["parameter", "predictive", "fitted"] = "parameter",
    group: str = "posterior",
    variable: str | None = None,
) -> xr.Dataset:
    """
    Return measures of counts (plug-in values) or of a fit (draws).

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, outcomes of several classifiers, or a tree as ``fit`` returns it.
    measures : name, function, or sequence of these
        As ``measures.resolve`` takes them.
    of : {"parameter", "predictive", "fitted"}
        Of a tree: the measure at the cell probabilities, or of the predicted counts of a test set
        of the same size. Of a fit by `hierarchical_folds`, whose parameter is the expected measure
        over training sets, also that of the classifiers at hand, averaged over the folds.
    group : str, default "posterior"
        Or ``"prior"``.
    variable : str, optional
        The cell probabilities to take, dims (..., actual, predicted): default ``theta``, or where
        there is none the mean of the measure over training sets at ``theta_new``, or over folds at
        ``theta_fold``.

    Returns
    -------
    Dataset
        One variable per measure under its canonical name, with all the dims of the evidence but
        actual and predicted; a measure of one class has a dim ``class`` where there are more than
        two. NaN where the measure is undefined (0/0).

    Raises
    ------
    ValueError
        Where a measure is unknown, or needs the positive class of two and none is set.

    Examples
    --------
    >>> from bayescm.evidence import from_cells
    >>> values = measure(from_cells(tp=65, fn=15, fp=35, tn=30), ["recall", "f1"])
    >>> float(values["recall"]), round(float(values["f1"]), 4)
    (0.8125, 0.7222)
    """
    check_choice("of", of, ["parameter", "predictive", "fitted"])
    if not isinstance(evidence, xr.DataTree):
        if of != "parameter":
            todo = f"use interval(counts, measure, of={of!r}), or pass the tree of fit(counts)"
            raise fail("counts predict nothing by themselves", of, "parameter", todo)
        cells = as_counts(_matrices(evidence))
        return _dataset(cells, kernels(measures, cells))
    if of == "fitted":
        return _fitted(evidence, measures, group)
    cells = _predicted(evidence, group) if of == "predictive" else _cells(evidence, group, variable)
    values = _dataset(cells, kernels(measures, cells))
    if variable is not None:
        return values
    if cells.name == "theta_fold":
        return _over_folds(values, evidence)
    return values.mean("training") if cells.name == "theta_new" else values


def _fitted(tree, measures, group):
    """Return the measures of the classifiers at hand, averaged over the folds of all repeats."""
    if "theta_new" not in _group(tree, group):
        raise no_fitted("this fit")
    cells = _cells(tree, group, "theta_fold")
    values = _dataset(cells, kernels(measures, cells))
    return values.mean([dim for dim in ("repeat", "fold") if dim in values.dims], skipna=False)


def no_fitted(model: str) -> Exception:
    """Return the error where a model knows no classifiers at hand apart from its parameter."""
    todo = "leave of= out, or take model='hierarchical_folds'"
    return fail(
        f"{model} has no classifiers at hand apart from its parameter",
        "of='fitted'",
        "folds and hierarchical_folds",
        todo,
    )


def kernels(measures: str | Callable | Sequence[str | Callable], cells: xr.DataArray) -> list:
    """
    Return the kernels of the measures, or raise where one cannot be had of these cells.

    Parameters
    ----------
    measures : name, function, or sequence of these
    cells : DataArray, dims (..., actual, predicted)

    Raises
    ------
    ValueError
        Where a measure is unknown or asked for twice, or needs the positive class and none is set.
    """
    wanted = [measures] if isinstance(measures, str) or callable(measures) else list(measures)
    found = [resolve(each) for each in wanted]
    called = [kernel.__name__ for kernel in found]
    if not called:
        raise fail("no measure is asked for", wanted, "one or more", 'pass e.g. ["f1", "mcc"]')
    if len(set(called)) < len(called):
        todo = "ask once, or give the functions names of their own"
        raise fail("a measure is asked for twice", called, "each name once", todo)
    if cells.sizes["actual"] == 2 and positive(cells) is None:
        for kernel in found:
            if getattr(kernel, "needs_positive", False):
                raise _no_positive(kernel, cells)
    return found


def _matrices(evidence):
    """Return the matrix of every classifier where the evidence is outcomes."""
    if not (isinstance(evidence, xr.Dataset) and "outcome" in evidence.dims):
        return evidence
    from bayescm.evidence.outcomes import counts_of

    return counts_of(evidence)


def _no_positive(kernel, cells):
    labels = cells.indexes["actual"].tolist()
    free = [name for name in names() if not resolve(name).needs_positive]
    return fail(
        f"{kernel.__name__} needs to know which class is the positive one",
        f"labels {labels} and no positive",
        f"without one: {', '.join(free)}",
        f"pass positive={labels[-1]!r} or {labels[0]!r} where the counts are made",
    )


def apply(kernel: Kernel | Callable, cells: xr.DataArray) -> xr.DataArray:
    """Return the measure of labelled cells whose last dims are actual and predicted."""
    values = kernel(cells.values)
    dims = list(cells.dims[:-2])
    coords = {k: v for k, v in cells.coords.items() if not set(CELLS) & set(v.dims)}
    if values.ndim > len(dims):
        dims.append("class")
        coords["class"] = cells["actual"].values
    return xr.DataArray(values, dims=dims, coords=coords, name=kernel.__name__)


def _dataset(cells, found):
    called = [kernel.__name__ for kernel in found]
    clash = [name for name in called if name in (*cells.dims, "class")]
    if clash:
        raise fail(
            "a measure is called as a dim is", clash[0], "another name", "rename the function"
        )
    # The measure "prevalence" takes the place of the scalar coord of that name.
    cells = cells.drop_vars([name for name in called if name in cells.coords])
    return xr.Dataset({kernel.__name__: apply(kernel, cells) for kernel in found})


def _over_folds(values, tree):
    """Return the average over folds as the model of averaged folds has it."""
    folds = [dim for dim in ("repeat", "fold") if dim in values.dims]
    stretch = float(_group(tree, "constant_data").get("stretch", 1.0))
    if np.isnan(stretch):  # a mixture: the draws take the folds in turn
        rows = values.stack(every=folds, create_index=False)
        turn = xr.DataArray(np.arange(values.sizes["draw"]) % rows.sizes["every"], dims="draw")
        return rows.isel(every=turn).drop_vars(folds, errors="ignore")
    mean = values.mean(folds, skipna=False)
    center = mean.mean(("chain", "draw"))
    every = ("chain", "draw", *folds)
    stretched = (center + stretch * (mean - center)).clip(values.min(every), values.max(every))
    return stretched.transpose("chain", "draw", ...)


def _cells(tree, group, variable):
    draws = _group(tree, group)
    wanted = [variable] if variable else ["theta", "theta_new", "theta_fold"]
    name = next((each for each in wanted if each in draws.data_vars), None)
    if name is None or not set(CELLS) <= set(draws[name].dims):
        having = [k for k, v in draws.data_vars.items() if set(CELLS) <= set(v.dims)]
        todo = "pass variable= one of these, or fit a model that has cell probabilities"
        raise fail("the tree has no such cell probabilities", wanted, str(having), todo)
    return in_order(draws[name])


def _predicted(tree, group):
    """Return predicted counts; their flat dim `cell` runs over predicted within actual."""
    draws = _group(tree, f"{group}_predictive")
    labels = _cells(tree, group, None).indexes["actual"]
    # Repeats of folds have one more observation, which is no table.
    counts = next(each for each in draws.values() if {"cell", "predicted"} & set(each.dims))
    if "cell" in counts.dims:
        counts = counts.transpose(..., "cell")
        table = counts.values.reshape(*counts.shape[:-1], len(labels), len(labels))
        coords = {k: v for k, v in counts.coords.items() if "cell" not in v.dims}
        coords |= {dim: labels.values for dim in CELLS}
        counts = xr.DataArray(table, dims=(*counts.dims[:-1], *CELLS), coords=coords)
    return in_order(counts)


def _group(tree, name):
    if name not in tree.children:
        todo = "fit the evidence first: fit(counts)"
        raise fail("the tree has no such group", name, ", ".join(tree.children) or "none", todo)
    return tree[name].to_dataset()
