"""The folds of a cross-validation: their design and their order."""

from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayescm.evidence.counts import CELLS, DESIGN, with_design
from bayescm.validate import fail

# The dims of a cross-validation: its models have one posterior for all of their members.
FOLDS = ("repeat", "fold")
_NEARLY_ALL = 0.9  # of the data is tested or trained on, in a cross-validation as in its like


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
        ``n_folds`` (K of one cross-validation), ``test_share`` and ``train_size`` (size of a test
        set, and of a training set, over that of all data) and ``fixed_totals`` (whether all folds
        have the same class totals, up to one example).

    Examples
    --------
    >>> from bayescm.evidence import from_cells
    >>> cells = {"tp": [3, 4, 2], "fn": [2, 1, 3], "fp": [1, 1, 0], "tn": [4, 4, 5]}
    >>> counts = from_cells(**cells).rename(batch="fold")
    >>> design(counts.assign_coords(test_share=0.25))
    {'n_folds': 3, 'test_share': 0.25, 'train_size': 0.75, 'fixed_totals': True}
    """
    coords = with_design(_with_folds(counts)).coords
    rest = 1 - coords["test_share"].item()
    inferred = {"train_size": min(rest, coords.get("train_size", xr.DataArray(rest)).item())}
    return {name: inferred[name] if name in inferred else coords[name].item() for name in DESIGN}


def is_random_split(counts: xr.DataArray) -> bool:
    """Return whether nearly all data was split at random, more often than in whole passes."""
    facts = design(counts)
    more = "repeat" not in counts.dims and counts.sizes["fold"] > facts["n_folds"]
    return more and facts["test_share"] + facts["train_size"] > _NEARLY_ALL


def overlap(counts: xr.DataArray) -> float:
    """
    Return Nadeau and Bengio's correlation between folds: test over test and training examples.

    Parameters
    ----------
    counts : DataArray
        With a dim fold, and perhaps repeat.

    References
    ----------
    Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning, 52,
    239-281. doi:10.1023/A:1024068626366

    Examples
    --------
    >>> from bayescm.evidence import from_cells
    >>> counts = from_cells(tp=[3, 4, 2], fn=2, fp=1, tn=4).rename(batch="fold")
    >>> round(overlap(counts), 3), round(overlap(counts.assign_coords(train_size=0.4)), 3)
    (0.333, 0.455)
    """
    facts = design(counts)
    return facts["test_share"] / (facts["test_share"] + facts["train_size"])


def group_effects(tables: np.ndarray) -> tuple[float, float]:
    """
    Return the design effects of examples that come in groups.

    Parameters
    ----------
    tables : ndarray, shape (G, C, C)
        The counts of each group; of repeats, their mean.

    Returns
    -------
    tuple of float
        By how much the rates of the classes vary more from sample to sample than if each example
        had been drawn by itself, at least 1, and the same of the class totals. The first is
        estimated from few groups and allows for that as a t interval does.

    References
    ----------
    Rao, J. N. K. & Scott, A. J. (1992). A simple method for the analysis of clustered binary data.
    Biometrics, 48(2), 577-585. doi:10.2307/2532311

    Examples
    --------
    >>> twelve = np.tile([[[4, 0], [0, 0]], [[0, 4], [0, 0]], [[0, 0], [1, 3]]], (4, 1, 1))
    >>> [round(effect, 1) for effect in group_effects(twelve)]
    [4.1, 4.4]
    """
    tables = np.asarray(tables, float)
    number, rows, whole = len(tables), tables.sum(-1), tables.sum(0)
    totals = rows.sum(0)
    rates = whole / np.maximum(totals, 1)[:, None]
    gaps = ((tables - rates * rows[..., None]) ** 2).sum()
    single = (totals[:, None] * rates * (1 - rates)).sum()
    shares = totals / totals.sum()
    uneven = ((rows - shares * rows.sum(-1, keepdims=True)) ** 2).sum()
    alone = totals.sum() * (shares * (1 - shares)).sum()
    # How many groups of equal size would say as much, class by class.
    freedom = max(1.0, (totals**2 / np.maximum((rows**2).sum(0), 1) - 1).sum())
    few = (special.stdtrit(freedom, 0.975) / special.ndtri(0.975)) ** 2
    grown = number / (number - 1)
    effect = grown * few * gaps / single if single else rows.sum(-1).mean()
    return max(1.0, float(effect)), max(1e-3, float(grown * uneven / alone))


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
            "use cross_confusion, or name the axis: `from_matrix(tables, dims=('fold',))`",
        )
    if counts.sizes["fold"] * counts.sizes.get("repeat", 1) < 2:
        raise fail(
            "too few folds for a cross-validation",
            dict(counts.sizes),
            "K >= 2 folds",
            "use `model='dirichlet_multinomial'` for one test set",
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
            "name the axis of time: `from_matrix(tables, dims=('step',))`, or `by={'step': week}`",
        )
