"""
Comparisons of classifiers on several data sets: rank tests and the Bayesian signed-rank test.

With mean ranks R_j of k classifiers on N data sets, Friedman's statistic is

    chi2 = 12 N / (k (k + 1)) sum_j (R_j - (k + 1) / 2)^2,

and Iman and Davenport's is F = (N - 1) chi2 / (N (k - 1) - chi2). In Nemenyi's test, two mean ranks
differ if their distance exceeds q sqrt(k (k + 1) / (6 N)) / sqrt(2), with the quantile q of the
range of k standard normal variables.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import chdtrc, fdtrc
from scipy.stats import rankdata, studentized_range

from bayescm.distributions.decision import check_rope
from bayescm.evidence.identifiers import as_pandas, check_no_identifiers, long_form
from bayescm.evidence.results import as_results
from bayescm.measures.catalogue import is_loss
from bayescm.validate import check_prob, check_seed, check_whole, fail

_BLOCK = 5000  # number of draws of the weights of data sets in memory at once


def friedman(results: xr.Dataset | pd.DataFrame, *, correct_ties: bool = True) -> pd.DataFrame:
    """
    Test whether all classifiers have equal mean ranks, with Friedman's test.

    Parameters
    ----------
    results : Dataset or DataFrame
        Result of :func:`bayescm.from_results`, averaged over runs. A DataFrame contains one row per
        data set (with their names as index) and one column per classifier, with higher scores being
        better. Alternatively, it contains one row per score, with the columns ``data_set``,
        ``classifier`` and ``score``. Data sets without scores of all classifiers are excluded.
    correct_ties : bool, default True
        Whether to correct the statistic for ties, as in scipy. Demsar does not.

    Returns
    -------
    DataFrame
        ``test`` (Friedman's chi-square, and Iman and Davenport's F derived from it), ``statistic``,
        ``df``, ``df_error``, ``p_value`` and ``data_sets``.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, or fewer than two complete data sets. If a column
        contains names or numbers of data sets.

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
    n, k = ranks.shape
    chi2 = 12 * n / (k * (k + 1)) * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    if correct_ties:
        ties = [np.unique(row, return_counts=True)[1] for row in ranks]
        untied = 1 - sum((t**3 - t).sum() for t in ties) / (n * (k**3 - k))
        chi2 = chi2 / untied if untied > 0 else 0.0
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 1e-12 * n else np.inf
    df_error = (k - 1) * (n - 1)
    rows = [
        ("friedman", chi2, k - 1, np.nan, float(chdtrc(k - 1, chi2))),
        ("iman_davenport", f, k - 1, df_error, float(fdtrc(k - 1, df_error, f))),
    ]
    table = pd.DataFrame(rows, columns=["test", "statistic", "df", "df_error", "p_value"])
    return table.assign(data_sets=n)


def nemenyi(results: xr.Dataset | pd.DataFrame, *, prob: float = 0.95) -> pd.DataFrame:
    """
    Compare mean ranks of all pairs of classifiers with a critical difference.

    The result for two classifiers depends on which others are in the table. In contrast,
    :func:`bayescm.ranks` and :func:`bayescm.compare` do not have this weakness.

    Parameters
    ----------
    results : Dataset or DataFrame
        See `friedman`.
    prob : float, default 0.95
        One minus the family-wise error rate for equal classifiers.

    Returns
    -------
    DataFrame
        One row per pair: ``first``, ``second``, mean ranks ``rank_first`` and ``rank_second`` (1 is
        best), ``difference``, ``critical_difference`` and the ``p_value``, adjusted for all pairs.

    Raises
    ------
    ValueError
        See `friedman`; also if ``prob`` is not a probability.

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
    names, ranks = _ranks(results)
    n, k = ranks.shape
    first, second = np.array(list(combinations(range(k), 2))).T
    mean_ranks = ranks.mean(axis=0)
    difference = mean_ranks[first] - mean_ranks[second]
    # The range refers to single variables; a difference of two has variance 2.
    scale = np.sqrt(k * (k + 1) / (6 * n)) / np.sqrt(2)
    return pd.DataFrame(
        {
            "first": [names[i] for i in first],
            "second": [names[j] for j in second],
            "rank_first": mean_ranks[first],
            "rank_second": mean_ranks[second],
            "difference": difference,
            "critical_difference": scale * studentized_range.ppf(prob, k, np.inf),
            "p_value": studentized_range.sf(np.abs(difference) / scale, k, np.inf),
        }
    )


def _ranks(results):
    """Return the names, and the ranks (N, k) in every complete data set; 1 is best."""
    names, scores = _mean_scores(results)
    complete = scores[~np.isnan(scores).any(axis=1)]
    if len(complete) < 2:
        raise fail(
            "Only {} data sets have scores of all classifiers; two or more are needed",
            len(complete),
            "",
            "leave out classifiers with few scores",
        )
    return names, rankdata(-np.round(complete, 12), axis=1)


def _mean_scores(results: Any) -> tuple[list, np.ndarray]:
    """Return the names of classifiers and their mean scores by data set. Higher is better."""
    results = as_pandas(results)
    if isinstance(results, pd.DataFrame):
        if roles := long_form(results, ("data_set", "system", "score")):
            results = _wide(results, **roles)
        todo = "put the data sets into the index: results.set_index({name})"
        roles = ("data_set", "item", "system")
        check_no_identifiers(results, "scores of classifiers", todo, roles=roles, once=False)
        texts = [name for name in results if not pd.api.types.is_numeric_dtype(results[name])]
        if texts:
            todo = "put the names of the data sets into the index"
            raise fail(
                f"The table must have one column of scores per classifier, but {texts} contain "
                "text",
                ...,
                "",
                todo,
            )
        names, scores = list(results), results.to_numpy(float)
    else:
        results = as_results(results)
        names = results["classifier"].values.tolist()
        runs = results["result"].values
        n_runs = (~np.isnan(runs)).sum(-1)
        means = np.nansum(runs, -1) / np.maximum(n_runs, 1)
        scores = np.where(n_runs > 0, means, np.nan)
        if is_loss(results["measured"].item()):
            scores = -scores
    if len(names) < 2:
        raise fail("Two or more classifiers are needed", names, "", "add another classifier")
    return names, scores


def _wide(results, data_set, system, score):
    """Reshape scores to one row per data set and one column per classifier."""
    if results.duplicated([data_set, system]).any():
        todo = "average the runs, or pass the table to `from_results`"
        raise fail("A classifier has several scores on one data set", ..., "", todo)
    return results.pivot(index=data_set, columns=system, values=score)


def signed_rank(
    results: xr.Dataset | pd.DataFrame,
    *,
    rope: Any = 0.0,
    prior: float = 0.5,
    draws: int = 50_000,
    random_seed: Any = 0,
) -> pd.DataFrame:
    """
    Return the Bayesian signed-rank test of every pair of classifiers.

    The differences over data sets are treated as a sample from a distribution with a Dirichlet
    process prior. The test concerns the mean of two differences drawn from this distribution. It
    uses only one number per data set, whereas :func:`bayescm.compare` also uses the uncertainty of
    each number.

    Parameters
    ----------
    results : Dataset or DataFrame
        Result of :func:`bayescm.from_results`, averaged over runs, or a table with one row per data
        set and one column per classifier. Higher is better. For each pair, data sets that lack the
        score of one of the two classifiers are excluded.
    rope : float or (float, float), default 0
        Region of practical equivalence of the difference: half its width, or both ends.
    prior : float, default 0.5
        Strength of the prior, > 0, as a number of data sets with a difference of zero.
    draws : int, default 50,000
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        One row per pair: ``first``, ``second``, ``data_sets`` and two sets of probabilities.
        ``share_better``, ``share_rope`` and ``share_worse`` are the posterior means of three
        shares: the probabilities that the mean of two differences is above, inside or below the
        region of practical equivalence. ``p_better``, ``p_rope`` and ``p_worse`` are the posterior
        probabilities that the respective share is the largest of the three.

    Raises
    ------
    ValueError
        If a pair has no common data set, or an argument is invalid.

    References
    ----------
    Benavoli, A., Corani, G., Demsar, J. & Zaffalon, M. (2017). Time for a change: a tutorial for
    comparing multiple classifiers through Bayesian analysis. Journal of Machine Learning Research
    18 (77), 1-36.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [0.9, 0.8, 0.75, 0.7], "b": [0.8, 0.7, 0.76, 0.6]})
    >>> signed_rank(table, rope=0.02)[["p_better", "p_rope", "p_worse"]].round(1).values.tolist()
    [[1.0, 0.0, 0.0]]
    """
    low, high = check_rope(rope)
    if not 0 < prior < np.inf:
        raise fail("`prior` must be a finite number > 0", prior, "", "pass `prior=0.5`")
    check_whole("draws", draws, 1, "draws", 50_000)
    names, scores = _mean_scores(results)
    rng = np.random.default_rng(check_seed(random_seed))
    rows = []
    for i, j in combinations(range(len(names)), 2):
        differences = scores[:, i] - scores[:, j]
        differences = np.round(differences[~np.isnan(differences)], 12)
        if not len(differences):
            raise fail(
                f"{names[i]} and {names[j]} have no data set in common",
                ...,
                "",
                "leave one of them out",
            )
        shares = _sign_probabilities(differences, (low, high), prior, draws, rng)
        if low == high:
            p_better = np.heaviside(shares[:, 0] - shares[:, 2], 0.5).mean()
            p = np.array([p_better, 0, 1 - p_better])
        else:
            p = np.bincount(shares.argmax(axis=1), minlength=3) / draws
        row = {"first": names[i], "second": names[j]}
        row |= dict(zip(("p_better", "p_rope", "p_worse"), p, strict=True))
        columns = ("share_better", "share_rope", "share_worse")
        row |= dict(zip(columns, shares.mean(axis=0), strict=True))
        rows.append({**row, "data_sets": len(differences)})
    return pd.DataFrame(rows)


def _sign_probabilities(differences, rope, prior, draws, rng):
    """
    Draw the probabilities (draws, 3) that the mean of two differences is above, inside or below.

    With weights w ~ Dirichlet(prior, 1, ..., 1) of a pseudo-difference 0 and the differences d, the
    first probability is sum_ij w_i w_j [d_i + d_j > 2 rope[1]].
    """
    d = np.append(0.0, differences)
    sums = d[:, None] + d
    above = np.heaviside(sums - 2 * rope[1], 0.5)
    below = np.heaviside(2 * rope[0] - sums, 0.5)
    concentration = np.append(prior, np.ones(len(differences)))
    probabilities = np.empty((draws, 3))
    for start in range(0, draws, _BLOCK):
        block = probabilities[start : start + _BLOCK]
        weights = rng.dirichlet(concentration, len(block))
        block[:, 0] = ((weights @ above) * weights).sum(axis=1)
        block[:, 2] = ((weights @ below) * weights).sum(axis=1)
    probabilities[:, 1] = 1 - probabilities[:, 0] - probabilities[:, 2]
    return probabilities
