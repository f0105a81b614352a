"""Measures of cross-validation folds, and their averages over folds."""

from collections.abc import Callable

import xarray as xr

from bayescm.evidence.counts import as_counts
from bayescm.evidence.folds import stack
from bayescm.measures.labelled import apply, one_measure
from bayescm.validate import check_choice

UNDEFINED = ("drop", "zero", "nan")


def fold_micro(counts: xr.DataArray, measure: str | Callable) -> xr.DataArray:
    """
    Return the measure of the confusion matrix summed over folds.

    Parameters
    ----------
    counts : DataArray
        Counts with a dimension ``fold``, and optionally ``repeat``.
    measure : str or callable

    Returns
    -------
    DataArray
        Measure without the dimensions ``repeat`` and ``fold``, or NaN if it is undefined.

    References
    ----------
    Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
    cross-validated beta distribution. Neural Computation, 28(8), 1694-1722.
    doi:10.1162/NECO_a_00857

    Examples
    --------
    >>> from bayescm.evidence import from_cells
    >>> counts = from_cells(tp=[3, 4], fn=[2, 1], fp=[1, 1], tn=[4, 4]).rename(batch="fold")
    >>> round(fold_micro(counts, "precision").item(), 4)
    0.7778
    """
    counts = stack(as_counts(counts)).sum("fold")
    resolved = one_measure(measure, counts)
    return apply(resolved, counts)


def fold_macro(
    counts: xr.DataArray, measure: str | Callable, *, undefined: str = "drop"
) -> xr.DataArray:
    """
    Return the mean over folds of a measure.

    Parameters
    ----------
    counts : DataArray
        Counts with a dimension ``fold``, and optionally ``repeat``.
    measure : str or callable
    undefined : {"drop", "zero", "nan"}
        How to treat folds with an undefined measure (0/0): exclude them, treat them as 0, or return
        NaN.

    Returns
    -------
    DataArray
        Mean without the dimensions ``repeat`` and ``fold``. The coordinate ``undefined_folds`` is
        the number of folds with an undefined measure.

    Examples
    --------
    >>> from bayescm.evidence import from_cells
    >>> counts = from_cells(tp=[3, 0], fn=[2, 5], fp=[1, 0], tn=[4, 5]).rename(batch="fold")
    >>> mean = fold_macro(counts, "precision")
    >>> mean.item(), mean.undefined_folds.item()
    (0.75, 1)
    """
    values = fold_values(counts, measure)
    missing = values.isnull().sum("fold")
    mean = fill_undefined(values, undefined).mean("fold", skipna=undefined == "drop")
    return mean.assign_coords(undefined_folds=missing)


def fold_values(counts: xr.DataArray, measure: str | Callable) -> xr.DataArray:
    """Return the measure of every fold, with repeats stacked, dims (..., fold, [class])."""
    counts = stack(as_counts(counts))
    resolved = one_measure(measure, counts)
    return apply(resolved, counts)


def fill_undefined(values: xr.DataArray, undefined: str) -> xr.DataArray:
    """Return the values of the folds, with undefined ones replaced by 0 if requested."""
    check_choice("undefined", undefined, list(UNDEFINED))
    return values.fillna(0.0) if undefined == "zero" else values
