"""
How long the alarms of an online evaluation keep quiet, and how soon they see a drop.

Batches of positives and negatives, half of each, with a given recall and a specificity of 0.9.
Without a change every alarm is a false one; the table has the share of series that raise any within
the run, and how often the first one comes. With a change the recall falls at one batch, and the
table has the median wait for an alarm after it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import __version__
from bayescm.evidence import from_cells
from bayescm.online.rules import RULES, alarms

QUIET, DROPS = 200, (0.85, 0.8, 0.7)


def series(
    rng: np.random.Generator, recall: np.ndarray, *, size: int = 100, specificity: float = 0.9
) -> xr.DataArray:
    """
    Draw batches.

    Parameters
    ----------
    rng : numpy.random.Generator
    recall : ndarray, shape (T,)
        Recall at every step.
    size : int, default 100
        Examples of a batch, half of them positive.
    specificity : float, default 0.9

    Returns
    -------
    DataArray, dims (step, actual, predicted)
    """
    half = size // 2
    tp, tn = rng.binomial(half, recall), rng.binomial(half, specificity, len(recall))
    counts = from_cells(tp=tp, fn=half - tp, fp=half - tn, tn=tn).rename(batch="step")
    return counts.assign_coords(step=np.arange(len(recall)))


def first_alarms(counts: xr.DataArray, after: int, settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the step of the first alarm of every rule from a step on, NaN where there is none."""
    found = alarms(counts, ["recall"], **settings)
    first = found[found["step"] >= after].groupby("rule")["step"].min()
    return {rule: float(first.get(rule, np.nan)) for rule in RULES}


def table(*, runs: int = 200, rate: float = 0.005, size: int = 100, seed: int = 0) -> pd.DataFrame:
    """
    Simulate series without a change and with drops of recall, and time the alarms.

    Parameters
    ----------
    runs : int, default 200
        Series of each kind.
    rate : float, default 0.005
        As of `online.alarms`.
    size : int, default 100
        Examples of a batch.
    seed : int, default 0

    Returns
    -------
    DataFrame
        One row per rule and recall after the drop (0.9: none): ``runs``, ``alarmed``, the share of
        series with an alarm within 200 batches of their start or within 50 of the drop; ``median``,
        the median number of batches to the first one (infinite where fewer than half have one);
        ``run_length``, batches seen per alarm.
    """
    settings = {"rate": rate, "floor": 0.8, "reference": 20, "window": 20}
    streams = np.random.SeedSequence(seed).spawn(1 + len(DROPS))
    rows = []
    for recall, stream in zip((0.9, *DROPS), streams, strict=True):
        rng, quiet = np.random.default_rng(stream), recall == 0.9
        path = np.full(QUIET, 0.9) if quiet else np.repeat([0.9, recall], [50, 50])
        start = 0 if quiet else 50
        waits = pd.DataFrame(
            first_alarms(series(rng, path, size=size), start, settings) for _ in range(runs)
        )
        rows += [_row(rule, recall, waits[rule] - start + 1, len(path) - start) for rule in RULES]
    frame = pd.DataFrame(rows)
    return frame.assign(runs=runs, rate=rate, size=size, seed=seed, version=__version__)


def _row(rule, recall, waits, longest):
    seen = waits.fillna(longest)
    return {
        "rule": rule,
        "recall": recall,
        "alarmed": float(waits.notna().mean()),
        "median": float(waits.fillna(np.inf).median()),
        "run_length": float(seen.sum() / max(waits.notna().sum(), 1)),
    }
