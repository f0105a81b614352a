"""The folds of a cross-validation: their design and their order."""

from typing import Any

import xarray as xr

from bayescm.evidence.counts import CELLS, DESIGN, with_design
from bayescm.validate import fail

# The dims of a cross-validation: its models have one posterior for all of their members.
FOLDS = ("repeat", "fold")


def design(counts: xr.DataArray) -> dict[str, Any]:
    """
    Return the design of the folds: from the scalar coords, or inferred.

    Parameters
    ----------
    counts : DataArray
        With a dim fold, and perhaps repeat.

    Returns
    -------
    dict
        ``n_folds`` (K of one cross-validation), ``test_share`` (size of a test set over that of
        all data) and ``fixed_totals`` (whether all folds have the same class totals, up to one
        example).

    Examples
    --------
    >>> from bayescm.evidence import from_cells
    >>> cells = {"tp": [3, 4, 2], "fn": [2, 1, 3], "fp": [1, 1, 0], "tn": [4, 4, 5]}
    >>> counts = from_cells(**cells).rename(batch="fold")
    >>> design(counts.assign_coords(n_folds=9))
    {'n_folds': 9, 'test_share': 0.3333333333333333, 'fixed_totals': True}
    """
    coords = with_design(_with_folds(counts)).coords
    return {name: coords[name].item() for name in DESIGN}


def stack(counts: xr.DataArray) -> xr.DataArray:
    """Return the folds of all repeats in one row, dims (..., fold, actual, predicted)."""
    counts = _with_folds(counts)
    if "repeat" not in counts.dims:
        return counts.transpose(..., "fold", *CELLS)
    rows = counts.stack(every=("repeat", "fold"), create_index=False)
    return (
        rows.drop_vars(["repeat", "fold"], errors="ignore")
        .rename(every="fold")
        .transpose(..., "fold", *CELLS)
    )


def _with_folds(counts):
    if "fold" not in counts.dims:
        raise fail(
            "no folds",
            counts.dims,
            "counts with a dim fold",
            "use cross_confusion, or name the axis: from_matrix(tables, dims=('fold',))",
        )
    if counts.sizes["fold"] * counts.sizes.get("repeat", 1) < 2:
        raise fail(
            "too few folds for a cross-validation",
            dict(counts.sizes),
            "K >= 2 folds",
            "use model='dirichlet_multinomial' for one test set",
        )
    return counts


def check_series(counts: xr.DataArray, *, batches: bool = True) -> None:
    """
    Raise where counts are not a series of two-class tables.

    Parameters
    ----------
    counts : DataArray
        Canonical counts.
    batches : bool, default True
        Whether there may be other dims before ``step``.
    """
    dims = (*counts.dims[-3:-2], *([] if batches else counts.dims[:-3]))
    if dims != ("step",) or counts.sizes["actual"] != 2:
        raise fail(
            "drifting needs a series of two-class tables",
            dict(counts.sizes),
            f"two classes and dims {('step', *CELLS)}",
            "name the axis of time: from_matrix(tables, dims=('step',)), or by={'step': week}",
        )
