"""Design and order of the folds of a cross-validation."""

from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayescm.evidence.counts import CELLS, DESIGN, with_design
from bayescm.validate import fail

# Dimensions of a cross-validation, whose members share one posterior.
FOLDS = ("repeat", "fold")
_NEARLY_ALL = 0.9  # minimum proportion of the data in training and test set together


def design(counts: xr.DataArray) -> dict[str, Any]:
    """
    Return the design of the folds, as given by scalar coordinates or inferred from the counts.

    Parameters
    ----------
    counts : DataArray
        Counts with a dimension fold, and optionally repeat.

    Returns
    -------
    dict
        The design, with these keys:

        - ``n_folds``: number of folds in one pass over the data.
        - ``test_share`` and ``train_size``: size of a test and of a training set, as a proportion
          of all data.
        - ``fixed_totals``: whether all folds have the same class totals, up to one example.

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
    """Return True if the folds are repeated random splits of nearly all data."""
    facts = design(counts)
    more = "repeat" not in counts.dims and counts.sizes["fold"] > facts["n_folds"]
    return more and facts["test_share"] + facts["train_size"] > _NEARLY_ALL


def overlap(counts: xr.DataArray) -> float:
    """
    Return the correlation between folds according to Nadeau and Bengio.

    It is the size of a test set, divided by the total size of a test and a training set.

    Parameters
    ----------
    counts : DataArray
        Counts with a dimension fold, and optionally repeat.

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
    Return the design effects of examples in groups.

    Parameters
    ----------
    tables : ndarray, shape (G, C, C)
        Counts of each group, averaged over repeats.

    Returns
    -------
    tuple of float
        Variance inflation of the class rates, at least 1, and of the class totals, relative to
        independent examples. The first is scaled up if there are few groups, as in a t interval.

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
    # Degrees of freedom: the effective number of groups of each class minus 1, summed over classes.
    freedom = max(1.0, (totals**2 / np.maximum((rows**2).sum(0), 1) - 1).sum())
    few = (special.stdtrit(freedom, 0.975) / special.ndtri(0.975)) ** 2
    grown = number / (number - 1)
    effect = grown * few * gaps / single if single else rows.sum(-1).mean()
    return max(1.0, float(effect)), max(1e-3, float(grown * uneven / alone))


def stack(counts: xr.DataArray) -> xr.DataArray:
    """Return the folds of all repeats along a single dimension (..., fold, actual, predicted)."""
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
            "The counts have no dimension 'fold', only {}",
            counts.dims,
            "",
            "use cross_confusion, or name the axis: `from_matrix(tables, dims=('fold',))`",
        )
    if counts.sizes["fold"] * counts.sizes.get("repeat", 1) < 2:
        raise fail(
            f"A cross-validation needs two or more folds; the counts have {counts.sizes['fold']}",
            ...,
            "",
            "use `model='dirichlet_multinomial'` for one test set",
        )
    return counts


def check_series(counts: xr.DataArray, *, batches: bool = True) -> None:
    """
    Raise an error if counts are not a series of two-class tables.

    Parameters
    ----------
    counts : DataArray
        Canonical counts.
    batches : bool, default True
        Whether other dimensions are allowed before ``step``.
    """
    dims = (*counts.dims[-3:-2], *([] if batches else counts.dims[:-3]))
    if dims != ("step",) or counts.sizes["actual"] != 2:
        raise fail(
            "The model drifting needs two-class tables along 'step'; the counts have the "
            "dimensions {}",
            tuple(map(str, counts.dims)),
            "",
            "name the axis of time: `from_matrix(tables, dims=('step',))`, or `by={'step': week}`",
        )
