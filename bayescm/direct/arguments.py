"""The arguments that direct siblings share: counts, prior and known shares in the same order."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import (
    abstains,
    align,
    as_counts,
    by_labels,
    is_outcomes,
    make_counts,
)
from bayescm.evidence.labels import in_label_order
from bayescm.evidence.outcomes import counts_of
from bayescm.validate import check_counts, fail


def labelled(evidence: Any, *own: str, abstention: bool = False) -> xr.DataArray:
    """
    Return canonical counts; a bare array (..., C, C) gets labels, and dims as a model expects them.

    Parameters
    ----------
    evidence : DataArray, Dataset or array_like
        Of outcomes, each classifier's own matrix: that they are paired is forgotten.
    *own : str
        The dims of an array before its last two axes; those before them are a batch.
    abstention : bool, default False
        Whether a label may be an abstention, which the model then knows that nothing is.

    Raises
    ------
    ValueError
        If a label is an abstention and the model would take it for a class.
    """
    if isinstance(evidence, xr.DataArray | xr.Dataset | xr.DataTree):
        counts = as_counts(counts_of(evidence) if is_outcomes(evidence) else evidence)  # type: ignore[arg-type]
        if abstains(counts) and not abstention:
            todo = (
                'take each table by itself with model="dirichlet_multinomial", or make the counts '
                "without folds and groups"
            )
            allowed = "dirichlet_multinomial or paired_outcomes"
            raise fail("this model knows no abstentions", counts["abstain"].item(), allowed, todo)
        return counts
    table = check_counts(evidence, fractional=True)
    if table.ndim < 2 + len(own) or table.shape[-1] != table.shape[-2]:
        allowed = f"(..., {''.join(f'{dim}, ' for dim in own)}C, C)"
        raise fail("not an array of confusion matrices", table.shape, allowed, "correct its shape")
    lead = table.ndim - 2 - len(own)
    dims = [f"batch_{place}" if lead > 1 else "batch" for place in range(lead)]
    return make_counts(table, np.arange(table.shape[-1]), dims=(*dims, *own))


def prior_of(concentration: Any, evidence: Any, uses: Sequence[Hashable] = ()) -> Any:
    """Return a concentration in the order of the canonical counts, without the dims used up."""
    if np.ndim(concentration) == 0 and not isinstance(concentration, xr.DataArray):
        return concentration
    if is_outcomes(evidence):
        evidence = counts_of(evidence)
    if not isinstance(evidence, xr.DataArray):
        return np.asarray(concentration, float)
    first = {dim: 0 for dim in uses if dim in evidence.dims}
    return align(concentration, evidence.isel(first, drop=True) if first else evidence)


def shares_of(prevalence: Any, evidence: Any, counts: xr.DataArray) -> Any:
    """Return known shares of the actual classes in the order of the counts; the coord's if None."""
    if prevalence is None and "prevalence" in counts.coords:
        known = counts.coords["prevalence"]
        return known.values if known.ndim else known.item()
    ordered = in_label_order(prevalence, counts["actual"].values.tolist())
    if ordered is not prevalence:
        return np.asarray(ordered, float)
    if np.ndim(prevalence) == 0 or isinstance(prevalence, tuple):
        return prevalence
    shares = prevalence
    if not isinstance(shares, xr.DataArray):
        shares = np.asarray(shares, float)
        if not isinstance(evidence, xr.DataArray):
            return shares
        if counts.sizes["actual"] == 2 and shares.shape == counts.shape[:-2]:
            return shares
        shares = xr.DataArray(shares, dims=[*counts.dims[:-2], "actual"][-shares.ndim :])
        if shares.sizes["actual"] == counts.sizes["actual"]:
            shares = shares.assign_coords(actual=evidence["actual"].values)
    if "actual" not in shares.dims:
        return shares.values
    labels, given = (each["actual"].values.tolist() for each in (counts, shares))
    if set(labels) != set(given):
        raise fail(
            "prevalence has different classes", given, labels, "give one proportion per class"
        )
    return by_labels(shares, labels, ["actual"]).transpose(..., "actual").values


def class_shares(prevalence: Any, classes: int) -> np.ndarray:
    """Return known shares of the actual classes, (C,); of two, one number is the second's."""
    shares = np.asarray(prevalence, float)
    if classes == 2 and shares.ndim == 0:
        shares = np.stack([1 - shares, shares])
    if shares.shape != (classes,) or not ((shares > 0).all() and np.isclose(shares.sum(), 1)):
        todo = "pass e.g. prevalence=0.1" if classes == 2 else "give one proportion per class"
        allowed = "proportions > 0 that sum to 1"
        raise fail("prevalence must lie between 0 and 1", prevalence, allowed, todo)
    return shares
