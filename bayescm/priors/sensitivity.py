"""What a prior changes: a little more or less of it, and one prior beside another."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import align
from bayescm.evidence.outcomes import matrices_of
from bayescm.measures.labelled import measure
from bayescm.validate import fail

_FLAT = 1e-9


def sensitivity(
    tree: xr.DataTree, measures: str | Callable | Sequence[str | Callable]
) -> pd.DataFrame:
    """
    Return how much measures change as the prior or likelihood is strengthened or weakened a little.

    ArviZ's power-scaling diagnostic, which also handles a flat prior: its powers are equally flat,
    so the sensitivity to it is 0.

    Parameters
    ----------
    tree : DataTree
        A fit of one matrix, with the groups ``log_prior`` and ``log_likelihood``.
    measures : name, function, or sequence of these

    Returns
    -------
    DataFrame
        One row per measure (and class): columns ``prior``, ``likelihood`` (0 means none; above
        0.05 deserves a look) and ``diagnosis``.

    References
    ----------
    Kallioinen, N., Paananen, T., Bürkner, P.-C. & Vehtari, A. (2024). Detecting and diagnosing
    prior and likelihood sensitivity with power-scaling. Statistics and Computing, 34, 57.
    doi:10.1007/s11222-023-10366-5

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> flat = bcm.fit(counts, concentration=1.0, random_seed=1)
    >>> float(sensitivity(flat, "f1")["prior"].iloc[0])
    0.0
    """
    if not isinstance(tree, xr.DataTree):
        todo = "fit the counts first: sensitivity(fit(counts), measures)"
        raise fail("not a fit", type(tree).__name__, "a DataTree", todo, TypeError)
    for group in ("log_prior", "log_likelihood"):
        if group not in tree.children:
            todo = "fit whole counts with a proper prior (concentration > 0)"
            raise fail(f"the tree has no {group}", sorted(tree.children), group, todo)
    draws = measure(tree, measures)
    if set().union(*(each.dims for each in draws.values())) - {"chain", "draw", "class"}:
        todo = "fit one matrix at a time"
        raise fail(
            "the fit has several matrices but one likelihood",
            dict(draws.sizes),
            "a single matrix",
            todo,
        )
    moved = {side: _power_scaled(tree, draws, side) for side in ("prior", "likelihood")}
    table = pd.DataFrame({side: _column(values) for side, values in moved.items()})
    strong, weak = table["prior"] > 0.05, table["likelihood"] < 0.05
    choices = ["prior and evidence disagree", "the prior dominates"]
    table["diagnosis"] = np.select([strong & ~weak, strong & weak], choices, "-")
    return table.rename_axis("measure").reset_index()


def _power_scaled(tree, draws, side):
    from arviz_stats import psense

    logs = tree[f"log_{side}"].to_dataset()
    total = sum(each.sum(set(each.dims) - {"chain", "draw"}) for each in logs.values())
    if float(total.max() - total.min()) <= _FLAT * (1 + abs(float(total.max()))):
        return draws.isel(chain=0, draw=0, drop=True) * 0.0
    parts = {"posterior": draws, f"log_{side}": total.to_dataset(name="total")}
    return psense(xr.DataTree.from_dict(parts), group=side, sample_dims=["chain", "draw"])


def _column(values):
    rows = {}
    for name, each in values.items():
        for label in each["class"].values if each.ndim else []:
            rows[f"{name}[{label}]"] = float(each.sel({"class": label}))
        if not each.ndim:
            rows[name] = float(each)
    return pd.Series(rows)


def table(
    counts: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    priors: Mapping[str, Any],
    **keywords: Any,
) -> pd.DataFrame:
    """
    Return the posterior under several priors, one below the other.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
    measures : name, function, or sequence of these
    priors : mapping of str to concentration
        A name for each prior: ``{"flat": 1.0, "experts": priors.elicit(...)}``.
    **keywords
        Keywords of `bayescm.summary`: ``prob``, ``kind``, ``model`` ...

    Returns
    -------
    DataFrame
        The tables of `bayescm.summary`, with the columns ``prior`` and ``examples`` (what each
        prior is worth) in front.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=50, fn=30, fp=30, tn=35)
    >>> experts = bcm.priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5)
    >>> both = table(counts, "recall", {"flat": 1.0, "experts": experts})
    >>> both[["prior", "examples", "mean"]].round(3).values.tolist()
    [['flat', 4.0, 0.622], ['experts', 72.5, 0.633]]
    """
    from bayescm.answers.summary import summary

    if not isinstance(priors, Mapping) or not priors:
        raise fail("no priors", priors, "a mapping from names to priors", 'pass {"flat": 1.0}')
    if isinstance(counts, xr.DataTree):
        raise fail("a fit has its prior", "a fit", "counts or outcomes", "pass the evidence itself")
    parts = [
        summary(counts, measures, concentration=prior, **keywords).assign(
            prior=name, examples=_worth(prior, counts)
        )
        for name, prior in priors.items()
    ]
    joined = pd.concat(parts, ignore_index=True)
    return joined[["prior", "examples", *joined.columns.drop(["prior", "examples"])]]


def _worth(prior, counts):
    counts = matrices_of(counts)
    aligned, size = align(prior, counts), counts.sizes["actual"]
    cells = np.asarray(2 / size**2 if aligned is None else aligned)
    return float(np.broadcast_to(cells, (*cells.shape[:-2], size, size)).sum((-2, -1)).max())
