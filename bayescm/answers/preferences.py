"""
Pairwise preferences: win rates of all pairs, and goodness of fit of a single ranking.

The goodness-of-fit test compares the votes on every pair with their posterior predictive
distribution (Gelman, Meng & Stern 1996). Cyclic preferences (a over b over c over a) appear as
pairs with large residuals. The number of cycles alone is hardly informative, because cycles also
arise by chance if there are few votes.

References
----------
Gelman, A., Meng, X.-L. & Stern, H. (1996). Posterior predictive assessment of model fitness via
realized discrepancies. Statistica Sinica 6, 733-760.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.tables import Intervals
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.preferences import as_preferences, places_of_pairs
from bayescm.measures.display_names import DisplayNames, display_label
from bayescm.posteriors.preferences import FIRST, SPREAD, TIES, Preferences, preferences
from bayescm.validate import check_kind, check_prob, check_seed, check_whole, fail, suggest

# Number of simulated sets of votes, for which a p-value of 0.05 has a standard error of 0.005.
_REPLICATES = 2000
# Largest number of simulated votes in one array.
_BLOCK = 2**20
# Smallest variance of the votes on a pair, which avoids division by 0.
_LEAST_VARIANCE = 1e-9


def win_rates(
    votes: xr.Dataset,
    *,
    systems: Sequence[Any] | None = None,
    reference: Any = None,
    prob: float = 0.95,
    kind: str = "hdi",
    draws: int | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    spread: float = SPREAD,
    first: float = FIRST,
    ties: float = TIES,
) -> pd.DataFrame:
    """
    Return the rate at which each system is preferred to each other system.

    Parameters
    ----------
    votes : Dataset
        Result of `bayescm.from_preferences` or `bayescm.from_rankings`.
    systems : sequence of str, optional
        Systems in the table. By default all systems. The strengths are estimated from all votes.
    reference : str, optional
        System to compare all others with. By default all pairs are compared.
    prob : float in (0, 1), default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
    draws : int, optional
        Number of posterior draws.
    random_seed : int, default 0
    display_names : mapping of str to str, optional
        Display names of systems in the sentences.
    spread, first, ties : float
        Priors. See `bayescm.models.preferences`.

    Returns
    -------
    DataFrame
        One row per pair:

        - ``first``, ``second``: the systems.
        - ``win_rate``: posterior mean of the share of votes that the first system wins, averaged
          over both orders. A tie counts as half a win.
        - ``lower``, ``upper``: interval of the win rate.
        - ``p_better``: probability that the win rate is above 0.5.
        - ``votes``: number of votes on this pair.
        - ``sentence``: the result in words.

        ``attrs["caution"]`` is set as in `bayescm.summary`.

    Raises
    ------
    ValueError
        If the reference or one of ``systems`` is not a system of the votes.

    Examples
    --------
    >>> import bayescm as bcm
    >>> votes = bcm.from_preferences([[0, 14], [6, 0]])
    >>> table = bcm.preferences.win_rates(votes)
    >>> table[["first", "second", "win_rate", "votes"]].round(2).values.tolist()
    [['0', '1', 0.67, 20]]
    """
    check_prob(prob), check_kind(kind)
    posterior = preferences(votes, spread=spread, first=first, ties=ties)
    names = posterior.names
    asked = [*(systems if systems is not None else []), *([] if reference is None else [reference])]
    for name in map(str, asked):
        if name not in names:
            raise fail("Unknown system {}", name, names, suggest(name, names))
    shown = {*names} if systems is None else {*map(str, asked)}
    size = posterior.draws_by_default("parameter") if draws is None else check_draws(draws)
    drawn = posterior.strengths(size, np.random.default_rng(check_seed(random_seed)))
    met = _votes_between(posterior)
    rows = []
    for place, second in enumerate(names):
        if second not in shown or (reference is not None and second != str(reference)):
            continue
        wanted = [k for k, name in enumerate(names) if name in shown and k != place]
        others = [k for k in wanted if reference is not None or k < place]
        if not others:
            continue
        values = drawn.win_rate(place)[:, others]
        found = Empirical(values)
        ends = found.hdi(prob) if kind == "hdi" else found.eti(prob)
        above = (values > 0.5).mean(axis=0)
        for column, other in enumerate(others):
            row = {"first": names[other], "second": second, "win_rate": values[:, column].mean()}
            row |= {"lower": ends[column, 0], "upper": ends[column, 1], "p_better": above[column]}
            rows.append(row | {"votes": int(met[other, place])})
    order = {name: place for place, name in enumerate(names)}
    rows.sort(key=lambda row: (order[row["first"]], order[row["second"]]))
    for row in rows:
        row["sentence"] = _sentence(row, display_names)
    table = Intervals(rows)
    caveats = posterior.caveats()
    table.attrs = {"prob": prob, "kind": kind} | ({"caution": " ".join(caveats)} if caveats else {})
    return table


def check_draws(draws: Any) -> int:
    """Return a number of draws, or raise an error if it is invalid."""
    return check_whole("draws", draws, 2, "draws", 20000)


def _sentence(row, display_names):
    """Return a sentence such as "a is preferred to b in 58 of 100 votes", with the winner first."""
    first, second = (display_label(row[side], display_names) for side in ("first", "second"))
    values = [row[name] for name in ("win_rate", "lower", "upper")]
    if values[0] < 0.5:
        first, second = second, first
        values = [1 - values[0], 1 - values[2], 1 - values[1]]
    number, low, high = (f"{100 * value:.0f}" for value in values)
    return (
        f"{first} is preferred to {second} in {number} of 100 comparisons ({low} to "
        f"{high}). A tie counts as half."
    )


def _votes_between(posterior: Preferences) -> np.ndarray:
    """Return the number of votes on each pair of systems, (K, K)."""
    number = len(posterior.names)
    flat = posterior.left * number + posterior.right
    total = np.bincount(flat, posterior.votes.sum(axis=1), number**2).reshape(number, number)
    return total + total.T


def check_fit(
    votes: xr.Dataset,
    *,
    draws: int = _REPLICATES,
    random_seed: int = 0,
    spread: float = SPREAD,
    first: float = FIRST,
    ties: float = TIES,
) -> pd.DataFrame:
    """
    Compare the votes on every pair with the predictions of a single ranking.

    Parameters
    ----------
    votes : Dataset
        Result of `bayescm.from_preferences` or `bayescm.from_rankings`.
    draws : int, default 2000
        Number of simulated sets of votes.
    random_seed : int, default 0
    spread, first, ties : float
        Priors. See `bayescm.models.preferences`.

    Returns
    -------
    DataFrame
        One row per pair with votes, in order of decreasing absolute residual:

        - ``first``, ``second``, ``votes``: the systems, and their number of votes.
        - ``observed``, ``expected``: share of votes that the first system won, with a tie counted
          as half a win.
        - ``residual``: difference between observed and expected votes, in standard deviations.

        ``attrs`` contains two posterior predictive p-values: ``p_pairs`` for the sum of squared
        residuals, and ``p_largest`` for the largest absolute residual. A small value indicates that
        a single ranking does not describe the votes; the first rows show the pairs responsible.

    Notes
    -----
    Votes are simulated as independent. Clustered votes have a larger variance, so that the p-values
    are too small. In this case, ``attrs["caution"]`` is set.

    Examples
    --------
    >>> import bayescm as bcm
    >>> circle = bcm.from_preferences([[0, 40, 10], [10, 0, 40], [40, 10, 0]])
    >>> bcm.preferences.check_fit(circle).attrs["p_pairs"] < 0.01
    True
    """
    votes = as_preferences(votes)
    without = votes.drop_vars(["group", "vote_pair", "vote_winner"], errors="ignore")
    posterior = preferences(without, spread=spread, first=first, ties=ties)
    rng = np.random.default_rng(check_seed(random_seed))
    size = check_draws(draws)
    drawn = posterior.strengths(size, rng)
    left, right = places_of_pairs(without)
    number, total = len(posterior.names), posterior.votes.sum(axis=1).astype(int)
    low, high = np.minimum(left, right), np.maximum(left, right)
    seen, pair = np.unique(low * number + high, return_inverse=True)
    sign = np.where(left < right, 1.0, -1.0)
    met = np.bincount(pair, total, len(seen))
    pairs = _sums_of_pairs(pair, len(seen))
    observed = pairs(sign * (posterior.votes[:, 0] - posterior.votes[:, 1])[None])[0]
    expected, squares, largest = np.zeros(len(seen)), np.empty((2, size)), np.empty((2, size))
    mean_variance = np.zeros(len(seen))
    step = max(1, _BLOCK // max(len(left), 1))
    for start in range(0, size, step):
        rows = slice(start, start + step)
        chance = _chances(drawn, left, right, rows)
        lead = chance[..., 0] - chance[..., 1]
        mean = pairs(total * sign * lead)
        variance = pairs(total * (chance[..., 0] + chance[..., 1] - lead**2))
        counts = rng.multinomial(total, chance)
        simulated = pairs(sign * (counts[..., 0] - counts[..., 1]))
        sd = np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
        for which, values in enumerate((observed, simulated)):
            residuals = np.where(met > 0, (values - mean) / sd, 0)
            squares[which, rows] = (residuals**2).sum(axis=1)
            largest[which, rows] = np.abs(residuals).max(axis=1)
        expected += mean.sum(axis=0) / size
        mean_variance += variance.sum(axis=0) / size
    used = met > 0
    residual = (observed - expected)[used] / np.sqrt(
        np.maximum(mean_variance[used], _LEAST_VARIANCE)
    )
    table = pd.DataFrame(
        {
            "first": [posterior.names[place] for place in seen[used] // number],
            "second": [posterior.names[place] for place in seen[used] % number],
            "votes": met[used].astype(int),
            "observed": (observed / np.maximum(met, 1))[used] / 2 + 0.5,
            "expected": (expected / np.maximum(met, 1))[used] / 2 + 0.5,
            "residual": residual,
        }
    )
    order = np.argsort(-np.abs(residual), kind="stable")
    table = table.iloc[order].reset_index(drop=True)
    names = ("p_pairs", "p_largest")
    table.attrs = {
        name: float((simulated >= realised).mean())
        for name, (realised, simulated) in zip(names, (squares, largest), strict=True)
    }
    if "group" in votes.coords:
        table.attrs["caution"] = (
            "The votes are in clusters but are simulated as independent, so the p-values "
            "are too small."
        )
    return table


def _sums_of_pairs(pair, number):
    """Return a function that adds up the two orders of each pair, from (S, P) to (S, pairs)."""
    from scipy.sparse import csr_array

    places = np.arange(len(pair))
    sums = csr_array((np.ones(len(pair)), (places, pair)), (len(pair), number))
    return lambda values: values @ sums


def _chances(drawn, left, right, rows):
    """Return the probabilities (S, P, 3) that the left or right system wins, or of a tie."""
    eta = drawn.strength[rows][:, left] - drawn.strength[rows][:, right]
    eta = eta + drawn.first[rows, None]
    weight = np.exp(np.stack([eta, -eta], axis=-1) / 2)
    tie = np.broadcast_to(drawn.tie[rows, None, None], (*eta.shape, 1))
    chance = np.concatenate([weight, tie], axis=-1)
    return chance / chance.sum(axis=-1, keepdims=True)
