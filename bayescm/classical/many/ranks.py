"""Friedman's test of classifiers on several data sets, and Nemenyi's critical difference."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import chdtrc, fdtrc, ndtr
from scipy.stats import rankdata

from bayescm.evidence.scored.results import as_results
from bayescm.measures.catalogue import is_loss
from bayescm.validate import check_prob, fail


def scores(results: Any) -> tuple[list, np.ndarray]:
    """Return the names of classifiers, and their mean scores by data set, higher is better."""
    if isinstance(results, pd.DataFrame):
        strange = [name for name in results if not pd.api.types.is_numeric_dtype(results[name])]
        if strange:
            todo = "put the names of the data sets into the index"
            raise fail("not columns of scores", strange, "one column per classifier", todo)
        found, values = list(results), results.to_numpy(float)
    else:
        results = as_results(results)
        found = results["classifier"].values.tolist()
        with np.errstate(invalid="ignore"):
            table = results["result"].values
            seen = (~np.isnan(table)).sum(-1)
            values = np.where(seen > 0, np.nansum(table, -1) / np.maximum(seen, 1), np.nan)
        if is_loss(results["measured"].item()):
            values = -values
    if len(found) < 2:
        raise fail("only one classifier", found, "two or more", "add another")
    return found, values


def friedman(results: xr.Dataset | pd.DataFrame, *, correct_ties: bool = True) -> pd.DataFrame:
    """
    Test whether all classifiers rank equally on average.

    Parameters
    ----------
    results : Dataset or DataFrame
        From :func:`bayescm.from_results`, averaged over runs; or one row per data set and one
        column per classifier, higher is better. Data sets that lack a classifier are left out.
    correct_ties : bool, default True
        Whether the statistic is divided by its share that ties leave, as in scipy; Demsar's is not.

    Returns
    -------
    DataFrame
        ``test`` (Friedman's chi-square, and Iman and Davenport's F made of it), ``statistic``,
        ``df``, ``df_error``, ``p_value`` and ``data_sets``.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, or than two data sets that have all of them.

    References
    ----------
    Demsar, J. (2006). Statistical comparisons of classifiers over multiple data sets. Journal of
    Machine Learning Research 7, 1-30.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.5, 0.6, 0.4]})
    >>> friedman(table)[["test", "statistic", "p_value"]].round(3).values.tolist()[0]
    ['friedman', 6.0, 0.05]
    """
    _, ranks = _ranks(results)
    number, k = ranks.shape
    means = ranks.mean(axis=0)
    chi = 12 * number / (k * (k + 1)) * ((means - (k + 1) / 2) ** 2).sum()
    if correct_ties:
        times = [np.unique(row, return_counts=True)[1] for row in ranks]
        tied = sum((each**3 - each).sum() for each in times)
        left = 1 - tied / (number * (k**3 - k))
        chi = chi / left if left > 0 else 0.0
    room = number * (k - 1) - chi
    ratio = (number - 1) * chi / room if room > 1e-12 * number else np.inf
    error = (k - 1) * (number - 1)
    rows = [
        ("friedman", chi, k - 1, np.nan, float(chdtrc(k - 1, chi))),
        ("iman_davenport", ratio, k - 1, error, float(fdtrc(k - 1, error, ratio))),
    ]
    table = pd.DataFrame(rows, columns=["test", "statistic", "df", "df_error", "p_value"])
    return table.assign(data_sets=number)


def nemenyi(results: xr.Dataset | pd.DataFrame, *, prob: float = 0.95) -> pd.DataFrame:
    """
    Compare the mean ranks of all pairs of classifiers with one critical difference.

    Whether two classifiers are said to differ depends on which others are in the table:
    :func:`bayescm.ranks` and :func:`bayescm.compare` do not have that flaw.

    Parameters
    ----------
    results : Dataset or DataFrame
        As `friedman` takes them.
    prob : float, default 0.95
        Probability that no pair of equal classifiers is said to differ.

    Returns
    -------
    DataFrame
        One row per pair: ``first``, ``second``, their mean ranks ``rank_first`` and
        ``rank_second`` (1 is best), ``difference``, ``critical_difference`` and the ``p_value`` for
        all pairs together.

    Raises
    ------
    ValueError
        See `friedman`; or if ``prob`` is not a probability.

    References
    ----------
    Demsar, J. (2006). Statistical comparisons of classifiers over multiple data sets. Journal of
    Machine Learning Research 7, 1-30.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.5, 0.6, 0.4]})
    >>> nemenyi(table)[["difference", "critical_difference"]].round(2).values.tolist()
    [[-1.0, 1.91], [-2.0, 1.91], [-1.0, 1.91]]
    """
    prob = check_prob(prob)
    found, ranks = _ranks(results)
    number, k = ranks.shape
    means, error = ranks.mean(axis=0), np.sqrt(k * (k + 1) / (6 * number))
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _range(np.array([middle]), k)[0] < prob else (low, middle)
    pairs = list(combinations(range(k), 2))
    one, two = np.array(pairs).T
    gaps = means[one] - means[two]
    return pd.DataFrame(
        {
            "first": [found[each] for each in one],
            "second": [found[each] for each in two],
            "rank_first": means[one],
            "rank_second": means[two],
            "difference": gaps,
            "critical_difference": high * error / np.sqrt(2),
            "p_value": np.clip(1 - _range(np.abs(gaps) / error * np.sqrt(2), k), 0, 1),
        }
    )


def _range(q, k):
    """Return the probability that k standard normal variables lie within q of each other."""
    nodes = np.linspace(-9, 9, 721)
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi) * (nodes[1] - nodes[0])
    within = ndtr(nodes) - ndtr(nodes - np.asarray(q)[..., None])
    return k * within ** (k - 1) @ density


def _ranks(results):
    """Return the names, and the ranks (N, k) in every data set that has all; 1 is best."""
    found, values = scores(results)
    whole = values[~np.isnan(values).any(axis=1)]
    if len(whole) < 2:
        todo = "leave out the classifier that few have"
        raise fail("too few data sets have all classifiers", len(whole), "two or more", todo)
    return found, rankdata(-np.round(whole, 12), axis=1)
