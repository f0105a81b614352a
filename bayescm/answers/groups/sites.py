"""Measures of all groups there may be, of a new one, and of each at hand, in one table."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from bayescm.answers.summary import summary

_CALLED = {"population": "mean of all", "new": "a new one"}
_SHOWN = ("measure", "group", "classifier", "point", "mean", "lower", "upper")


def by_site(
    evidence: xr.Dataset,
    measures: Sequence[str | Callable],
    *,
    prob: float = 0.95,
    random_seed: Any = 0,
) -> pd.DataFrame:
    """
    Return equal-tailed intervals of measures of evidence with groups.

    Parameters
    ----------
    evidence : Dataset
        Probabilities with a ``group``, see :func:`bayescm.from_probabilities`.
    measures : sequence of str or callable
    prob : float, default 0.95
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        For each measure (and classifier) the mean of all the groups there may be, a new group, and
        each of those at hand: ``point``, ``mean``, ``lower`` and ``upper``.
    """
    asked = {"prob": prob, "kind": "eti", "random_seed": random_seed}
    tables = [
        summary(evidence, measures, of=of, **asked).assign(group=name)
        for of, name in _CALLED.items()
    ]
    tables.append(summary(evidence, measures, of="group", **asked))
    table = pd.concat(map(pd.DataFrame, tables), ignore_index=True)
    order = {name: place for place, name in enumerate(dict.fromkeys(table["measure"]))}
    placed = table.sort_values("measure", key=lambda names: names.map(order), kind="stable")
    return placed[[name for name in _SHOWN if name in placed]].reset_index(drop=True)
