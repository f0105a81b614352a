"""Answers as flat numbers, for trackers that know no other kind."""

from typing import Any

import pandas as pd
import xarray as xr

from bayescm.answers.summary import summary
from bayescm.validate import fail


def as_metrics(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree | pd.DataFrame,
    measures: Any = None,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    **keywords: Any,
) -> dict[str, float]:
    """
    Return point estimates and intervals as a flat dict of floats, for trackers of experiments.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or DataFrame
        Anything that `bayescm.summary` takes, or the table that it returned; with a table there is
        nothing else to choose.
    measures : str, callable or a sequence of these, optional
        By default those of `bayescm.summary`.
    prob : float, default 0.95
        Mass of the intervals.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    **keywords
        ``model``, ``of`` and others; see `bayescm.summary`.

    Returns
    -------
    dict of str to float
        ``"f1/point"``, ``"f1/mean"``, ``"f1/lower"`` and ``"f1/upper"``; of several parts
        ``"site=A/f1/lower"``. NaN where a measure is not defined.

    Examples
    --------
    Weights & Biases takes it as it is: ``run.log(as_metrics(counts, "f1"))``.

    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> {name: round(value, 3) for name, value in as_metrics(counts, "f1").items()}
    {'f1/point': 0.722, 'f1/mean': 0.719, 'f1/lower': 0.644, 'f1/upper': 0.791}
    """
    if isinstance(evidence, pd.DataFrame) and "measure" in evidence:
        if measures is not None or keywords:
            extra = [*([] if measures is None else ["measures"]), *keywords]
            todo = "ask summary for what the table is to hold"
            raise fail("a table is what it is", extra, "nothing beside it", todo)
        table = evidence
    else:
        names = {} if measures is None else {"measures": measures}
        table = summary(evidence, **names, prob=prob, kind=kind, **keywords)
    numbers = [name for name in ("point", "mean", "lower", "upper") if name in table]
    dims = list(table.columns[1 : table.columns.get_loc(numbers[0])])
    metrics: dict[str, float] = {}
    for row in table.to_dict("records"):
        labels = [f"{dim}={row[dim]}" for dim in dims if row[dim] == row[dim] and row[dim] != ""]
        path = "/".join([*labels, str(row["measure"])])
        metrics |= {f"{path}/{name}": float(row[name]) for name in numbers}
    return metrics
