"""Two classifiers on five repetitions of two folds: Alpaydin's combined F test."""

from collections.abc import Callable
from itertools import combinations

import pandas as pd
import xarray as xr
from scipy.special import fdtrc

from bayescm.evidence.counts import as_counts
from bayescm.measures.labelled import measure as measured
from bayescm.validate import fail


def combined_5x2(counts: xr.DataArray, measure: str | Callable = "accuracy") -> pd.DataFrame:
    """
    Test whether two classifiers are equally good, by the combined 5x2 cross-validated F test.

    Parameters
    ----------
    counts : DataArray, dims (classifier, repeat, fold, actual, predicted)
        Five repetitions of two folds, the same for all classifiers; see
        `bayescm.evidence.splits.FiveByTwo`.
    measure : str or callable, default "accuracy"
        A measure that is one number.

    Returns
    -------
    DataFrame
        ``first``, ``second``, ``difference`` (its mean over the ten halves), ``statistic`` (F with
        10 and 5 degrees of freedom) and ``p_value``.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, or not five repetitions of two folds.

    References
    ----------
    Alpaydin, E. (1999). Combined 5x2 cv F test for comparing supervised classification learning
    algorithms. Neural Computation 11, 1885-1892. doi:10.1162/089976699300016007

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> right = np.arange(20).reshape(2, 5, 2) % 7 + 40
    >>> tables = np.stack([right, 50 - right, 50 - right, right], -1).reshape(2, 5, 2, 2, 2)
    >>> counts = bcm.from_matrix(tables, dims=("classifier", "repeat", "fold"))
    >>> combined_5x2(counts)["statistic"].round(3).tolist()
    [2.265]
    """
    counts = as_counts(counts)
    sizes = {dim: counts.sizes.get(dim, 1) for dim in ("repeat", "fold")}
    if sizes != {"repeat": 5, "fold": 2}:
        todo = "split with bayescm.evidence.splits.FiveByTwo"
        raise fail("not five times two folds", sizes, "repeat 5, fold 2", todo)
    if counts.sizes.get("classifier", 1) < 2:
        todo = 'put them together: combine({"a": a, "b": b}, dim="classifier")'
        raise fail("nothing to compare", list(counts.dims), "two classifiers", todo)
    (values,) = measured(counts, measure).data_vars.values()
    values = values.transpose("classifier", "repeat", "fold", ...)
    if values.ndim > 3:
        todo = "ask for a single class or an average"
        raise fail("the measure has several values", values.dims, "one number", todo)
    names = counts["classifier"].values.tolist()
    rows = []
    for i, j in combinations(range(len(names)), 2):
        gaps = values.values[i] - values.values[j]
        spread = ((gaps - gaps.mean(axis=1, keepdims=True)) ** 2).sum()
        statistic = float((gaps**2).sum() / (2 * spread)) if spread else float("nan")
        pair = {"first": names[i], "second": names[j], "difference": float(gaps.mean())}
        rows.append({**pair, "statistic": statistic, "p_value": float(fdtrc(10, 5, statistic))})
    return pd.DataFrame(rows)
