"""Outcomes of two classifiers as a table that the ledger keeps, and back."""

from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.joint_cells import arrays
from bayescm.evidence.outcomes import as_outcomes
from bayescm.validate import fail

_MOST = 30  # classes; the table has their third power of cells


def pair_table(outcomes: xr.Dataset) -> xr.DataArray:
    """
    Return a table of outcomes, dims (actual, champion, challenger), for the ledger.

    Raises
    ------
    ValueError
        If there are not two classifiers, there are leading dims, abstentions or too many classes.
    """
    outcomes = as_outcomes(outcomes)
    names = outcomes["classifier"].values.tolist()
    if len(names) != 2:
        todo = "select them: outcomes.sel(classifier=['champion', 'challenger'])"
        raise fail("a challenge is between two classifiers", names, "two", todo)
    if outcomes["counts"].ndim != 1:
        todo = "sum over the other dims, or add each part by itself"
        raise fail("a batch must be a single table", outcomes["counts"].dims, "no groups", todo)
    labels = outcomes["label"].values
    if "abstain" in outcomes.coords or len(labels) > _MOST:
        got = "abstentions" if "abstain" in outcomes.coords else f"{len(labels)} classes"
        raise fail("a challenge cannot keep these", got, f"at most {_MOST} classes", "leave out")
    counts, actual, predicted = arrays(outcomes)
    if not counts.any():
        raise fail("the batch has no examples", 0, "at least one example", "leave it out")
    table = np.zeros((len(labels),) * 3, counts.dtype)
    table[actual, predicted[0], predicted[1]] = counts
    coords: dict[str, Any] = dict.fromkeys(("actual", "champion", "challenger"), labels)
    if "positive" in outcomes.coords:
        coords["positive"] = outcomes["positive"].item()
    dims = ["actual", "champion", "challenger"]
    return xr.DataArray(table, coords, dims, attrs={"classifiers": names})


def pair_outcomes(tables: np.ndarray, stored: dict[str, Any]) -> xr.Dataset:
    """
    Return outcomes of tables as the ledger keeps them.

    Parameters
    ----------
    tables : ndarray, shape (T, C, C * C)
    stored : dict
        ``labels``, ``positive`` and ``classifiers``.

    Returns
    -------
    Dataset
        ``counts`` (step, outcome), every outcome that occurred at any step.
    """
    labels = np.array(stored["labels"])
    flat = tables.reshape(len(tables), -1)
    seen = np.flatnonzero(flat.any(axis=0))
    actual, first, second = np.unravel_index(seen, (len(labels),) * 3)
    coords: dict[str, Any] = {
        "actual": ("outcome", labels[actual]),
        "predicted": (("classifier", "outcome"), labels[np.stack([first, second])]),
        "classifier": stored["classifiers"],
        "label": labels,
    }
    if stored["positive"] is not None:
        coords["positive"] = stored["positive"]
    return xr.Dataset({"counts": (("step", "outcome"), flat[:, seen])}, coords)
