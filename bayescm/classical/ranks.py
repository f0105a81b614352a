"""
Several classifiers on several data sets: tests of ranks, and the Bayesian signed-rank test.

With mean ranks R_j of k classifiers on N data sets, Friedman's statistic is

    chi2 = 12 N / (k (k + 1)) sum_j (R_j - (k + 1) / 2)^2,

Iman and Davenport's F = (N - 1) chi2 / (N (k - 1) - chi2), and two mean ranks differ by Nemenyi's
test if they are more than q sqrt(k (k + 1) / (6 N)) / sqrt(2) apart, with the quantile q of the
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

_BLOCK = 5000  # draws of the weights of data sets in memory at once


def friedman(results: xr.Dataset | pd.DataFrame, *, correct_ties: bool = True) -> pd.DataFrame:
    """
    Test whether all classifiers rank equally on average.

    Parameters
    ----------
    results : Dataset or DataFrame
        From :func:`bayescm.from_results`, averaged over runs; or one row per data set and one
        column per classifier, higher is better, with the names of the data sets as index; or one
        row per score with columns data_set, classifier and score. Data sets that lack a classifier
        are left out.
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
        If there are fewer than two classifiers, or than two data sets that have all of them. If a
        column names or numbers the data sets.

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
    names, ranks = _ranks(results)
    n, k = ranks.shape
    first, second = np.array(list(combinations(range(k), 2))).T
    mean_ranks = ranks.mean(axis=0)
    difference = mean_ranks[first] - mean_ranks[second]
    # The range is of k variables: a difference of two has variance 2.
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
    """Return the names, and the ranks (N, k) in every data set that has all; 1 is best."""
    names, scores = _mean_scores(results)
    complete = scores[~np.isnan(scores).any(axis=1)]
    if len(complete) < 2:
        todo = "leave out the classifier that few have"
        raise fail("too few data sets have all classifiers", len(complete), "two or more", todo)
    return names, rankdata(-np.round(complete, 12), axis=1)


def _mean_scores(results: Any) -> tuple[list, np.ndarray]:
    """Return the names of classifiers, and their mean scores by data set, higher is better."""
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
            raise fail("not columns of scores", texts, "one column per classifier", todo)
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
        raise fail("only one classifier", names, "two or more", "add another")
    return names, scores


def _wide(results, data_set, system, score):
    """Return scores with a row per data set and a column per classifier."""
    if results.duplicated([data_set, system]).any():
        todo = "average the runs, or pass the table to `from_results`"
        raise fail("a classifier has several scores on a data set", ..., "", todo)
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

    The differences on the data sets are a sample of a distribution with a Dirichlet process as its
    prior; the test is about the mean of two differences of it. It uses nothing of a data set
    but one number, where :func:`bayescm.compare` also uses how well each is known.

    Parameters
    ----------
    results : Dataset or DataFrame
        From :func:`bayescm.from_results`, averaged over runs; or one row per data set and one
        column per classifier, higher is better. Data sets that lack one of a pair are left out.
    rope : float or (float, float), default 0
        Region of practical equivalence of the difference: half its width, or its ends.
    prior : float, default 0.5
        Strength of the prior, > 0: of that many data sets without any difference.
    draws : int, default 50,000
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        One row per pair: ``first``, ``second``; the posterior probabilities that most
        differences are better, equivalent or worse (``p_better``, ``p_rope``, ``p_worse``), that is
        that this is the most probable of the three; and the mean probability of each
        (``share_better``, ``share_rope``, ``share_worse``); ``data_sets``.

    Raises
    ------
    ValueError
        If a pair has no data set in common, or an argument is invalid.

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
        raise fail("the prior must be positive", prior, "a number > 0", "pass `prior=0.5`")
    check_whole("draws", draws, 1, "draws", 50_000)
    names, scores = _mean_scores(results)
    rng = np.random.default_rng(check_seed(random_seed))
    rows = []
    for i, j in combinations(range(len(names)), 2):
        differences = scores[:, i] - scores[:, j]
        differences = np.round(differences[~np.isnan(differences)], 12)
        if not len(differences):
            what = f"{names[i]} and {names[j]} have no data set in common"
            raise fail(what, 0, "one or more", "leave one of them out")
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
    Draw the probabilities (draws, 3) that the mean of two differences is above, in or below.

    With weights w ~ Dirichlet(prior, 1, ..., 1) of a pseudo-difference 0 and the differences d, the
    first is sum_ij w_i w_j [d_i + d_j > 2 rope[1]].
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
