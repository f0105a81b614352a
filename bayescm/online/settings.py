"""What updates are told: a prior, how much to forget, how many batches to look back."""

from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, align
from bayescm.validate import check_whole, fail


def as_prior(concentration: Any, like: xr.DataArray) -> xr.DataArray:
    """Return a concentration of any kind as a labelled one, in the order of the counts."""
    coords = {k: v for k, v in like.coords.items() if k in (*CELLS, "positive")}
    values = prior_cells(concentration, like)
    return xr.DataArray(values, coords, list(CELLS), name="concentration")


def prior_cells(concentration: Any, like: xr.DataArray) -> np.ndarray:
    """Return a concentration of any kind as an array (C, C), in the order of the counts."""
    size, cells = like.sizes["actual"], concentration
    if concentration is not None:
        cells = align(concentration, like.isel({dim: 0 for dim in like.dims[:-2]}, drop=True))
    return np.array(np.broadcast_to(2 / size**2 if cells is None else cells, (size, size)), float)


def check_forgetting(forgetting: float) -> float:
    """Return the share, or raise where it is not in (0, 1]."""
    if not isinstance(forgetting, int | float | np.number) or not 0 < forgetting <= 1:
        todo = "pass forgetting=0.98 to remember about fifty batches, or 1 to remember all"
        raise fail("forgetting must lie between 0 and 1", forgetting, "0 < forgetting <= 1", todo)
    return float(forgetting)


def check_window(window: int, forgetting: float) -> int:
    """Return the number of batches, or raise where it is none or there is forgetting too."""
    check_whole("window", window, 1, "batches", 20)
    if forgetting != 1:
        got = {"window": window, "forgetting": forgetting}
        raise fail(
            "window and forgetting exclude each other", got, "only one of them", "leave one out"
        )
    return int(window)
