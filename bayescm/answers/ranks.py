"""
Ranks of classifiers or other members: which is best, sets of ranks, and tiers.

With joint probability ``prob``, the differences d between all pairs of members, with posterior
means m and standard deviations s, satisfy

    |d - m| <= b s,

where b is the ``prob`` quantile of the largest |d - m| / s over all pairs. Two members are
distinguished if the interval of their difference excludes 0. The sets of ranks follow from the
pairs that are distinguished (Mogstad, Romano, Shaikh & Wilhelm, 2024, doi:10.1093/restud/rdad006).
Members that are not distinguished share a tier.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from bayescm.answers import cautions
from bayescm.answers.compare import (
    Evidence,
    draw_labelled,
    draws_of,
    hold_dim,
    joint_posterior,
    labels,
    positions,
    rng_of,
    within_each,
)
from bayescm.answers.tables import Ranks
from bayescm.evidence.registry import is_members
from bayescm.fitting.question import Question
from bayescm.validate import check_prob

_PAIRS_AT_ONCE = 2e7  # largest number of pairwise differences held in memory
_MOST_DRAWS = 10_000  # largest number of draws used for the simultaneous bound
_FEWEST_DRAWS = 400  # smallest number of draws for this bound, if there are many pairs
_RANKS_AT_ONCE = 2**17  # number of ranks computed per batch
_DISAGREEMENT = 0.02  # difference in a pair's probability above which a caution is added
_LARGEST = np.finfo(float).max


def ranks(
    evidence: Evidence,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    dim: str = "classifier",
    prob: float = 0.95,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Rank classifiers or other members, with the uncertainty of their ranks.

    Use it for three or more classifiers. For the size of pairwise differences, see :func:`compare`.

    Parameters
    ----------
    evidence, measures, dim
        See :func:`compare`.
    prob : float, default 0.95
        Joint probability of the sets of ranks of all members.
    of, n, model, concentration, positive, draws, random_seed, **keywords
        See :func:`compare`.

    Returns
    -------
    DataFrame
        One row per member and measure:

        - The member, in a column named as ``dim``, and ``measure``. If every member of a mapping
          has the dimension ``dim`` itself, ``data_set`` identifies the member of the mapping.
        - ``mean``: posterior mean of the measure. For results on several data sets, the difference
          from the mean of all classifiers, which can be negative.
        - ``p_best``: probability of being best.
        - ``expected_rank``: posterior mean of the rank (1 is best).
        - ``expected_loss``: expected loss of choosing this member instead of the best.
        - ``best_rank``, ``worst_rank``: ends of the set of ranks.
        - ``lower_rank``, ``upper_rank``: ends of the central interval of ranks.
        - ``tiers``: the tiers of the member.
        - ``rank_1``, ``rank_2``, ...: probability of each rank. Tied members share their ranks.

        ``attrs`` contains ``prob``, a description of ``mean`` if it is not a value of the measure,
        and ``caution`` if there is reason to doubt the model.

    Warns
    -----
    UserWarning
        If no ranking of all members agrees with the pairwise comparisons.

    Notes
    -----
    The central interval of ranks contains the rank of a single member with posterior probability
    ``prob``. It is shorter than the set of ranks, but is not simultaneous for all members.

    The sets of ranks of all members are correct simultaneously with posterior probability ``prob``.
    They are derived from simultaneous intervals for all pairwise differences: two members are
    distinguished if the interval of their difference excludes 0. Two members share a tier if and
    only if they are not distinguished, and a member may be in several tiers, such as ``"1, 2"``.
    Tiers therefore show exactly which pairs are distinguished. In contrast, the bars of a
    critical-difference diagram may connect members that a pairwise test distinguishes.

    Results on several data sets (:func:`bayescm.from_results`) are compared pair by pair. The ranks
    use joint levels of all classifiers that reproduce the pairwise probabilities of
    :func:`compare`. If no such levels exist, for example because the pairwise preferences are
    cyclic, a warning and ``attrs["caution"]`` name the pair with the largest discrepancy.

    References
    ----------
    Mogstad, M., Romano, J. P., Shaikh, A. M. & Wilhelm, D. (2024). Inference for ranks with
    applications to mobility across neighbourhoods and academic achievement across countries.
    Review of Economic Studies 91, 476-518. doi:10.1093/restud/rdad006

    See Also
    --------
    bayescm.plots.plot_tiers : Plot of the sets of ranks and the tiers.

    Examples
    --------
    >>> import bayescm as bcm
    >>> actual = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    >>> answers = {"a": [1, 1, 1, 0, 0, 0, 0, 0, 0, 1], "b": [1, 0, 0, 0, 0, 0, 0, 1, 0, 1]}
    >>> table = bcm.ranks(bcm.from_classifiers(actual, answers), "accuracy", random_seed=1)
    >>> table[["classifier", "p_best", "best_rank", "worst_rank"]].round(2).values.tolist()
    [['a', 0.97, 1, 2], ['b', 0.03, 1, 2]]
    """
    prob = check_prob(prob)
    question = Question(of, n, model, concentration, positive, draws, random_seed, None, keywords)
    return _ranking(evidence, measures, question, dim=dim, prob=prob)


def _ranking(evidence, measures, question, *, dim, prob):
    """Return the table of ranks, within each member of a mapping if it has the dim."""
    if is_members(evidence) and hold_dim(evidence, dim):
        again = partial(_ranking, measures=measures, question=question, dim=dim, prob=prob)
        joined = within_each(again, evidence)
        table = Ranks(joined)
        table.attrs = joined.attrs
        return table
    posterior, resolved_measures, of = joint_posterior(evidence, measures, question, dim=dim)
    size, rng = draws_of(question, posterior, of), rng_of(question)
    joint_draws = draw_labelled(posterior, resolved_measures, size, rng, of=of, n=question.n)
    tables, doubts = [], cautions.of_measures(posterior, resolved_measures, of)
    doubts += [
        words for measure in resolved_measures for words in posterior.caveats_of_pairs(measure)
    ]
    for measure, position, names in positions(posterior, resolved_measures, dim):
        values = joint_draws[measure.__name__].isel(position).transpose("draw", dim).values
        better = measure.oriented(values)
        better = better[~np.isnan(better).any(axis=1)]
        numbers = _rank_probabilities(better)
        relative = bool(posterior.measured)
        scores = _scores_of_differences(posterior, measure, of, len(names)) if relative else None
        disagreement = [] if scores is None else _disagreement(better, scores, names)
        for words in disagreement:
            warnings.warn(words, UserWarning, stacklevel=2)
        doubts += disagreement
        shares = {name: numbers.pop(name) for name in list(numbers) if name.startswith("rank_")}
        numbers |= _rank_sets_and_tiers(better, prob, scores)
        numbers |= _central_ranks(np.stack([*shares.values()], axis=1), prob)
        numbers["tiers"] = numbers.pop("tiers")  # moves the column behind the ranks
        columns = {dim: names, "mean": np.nanmean(values, axis=0), **numbers, **shares}
        tables.append(pd.DataFrame(labels(posterior, measure, position) | columns))
    table = Ranks(pd.concat(tables, ignore_index=True))
    table.attrs |= {"prob": prob} | ({"caution": " ".join(doubts)} if doubts else {})
    table.attrs |= {"mean": "difference from the mean of all"} if posterior.measured else {}
    return table


# Probabilities of all ranks, by sorting the draws.


def _rank_probabilities(values):
    """Return the rank probabilities of draws (size, J) without NaN. Higher values are better."""
    size, number = values.shape
    steps = np.zeros(number * (number + 1))  # changes in the probability of each rank, row by row
    for start in range(0, size, max(1, _RANKS_AT_ONCE // number)):
        steps += _steps(values[start : start + max(1, _RANKS_AT_ONCE // number)])
    shares = np.cumsum(steps.reshape(number, -1), axis=1)[:, :-1].clip(0)
    shares = shares / max(size, 1) + (0 if size else np.nan)
    loss = (values.max(axis=1, keepdims=True) - values).mean(axis=0) if size else shares[:, 0]
    rank = np.arange(number) + 1
    numbers = {"p_best": shares[:, 0], "expected_rank": shares @ rank, "expected_loss": loss}
    return numbers | {f"rank_{place}": shares[:, place - 1] for place in rank}


def _steps(values):
    """Return the changes in the share of each rank. Tied members share their ranks evenly."""
    number = values.shape[1]
    # Sorting values is faster than sorting indices, so the index replaces the last bits of each
    # value.
    last_bits = (1 << number.bit_length()) - 1
    codes = np.clip(0 - values, -_LARGEST, _LARGEST).view(np.int64)
    codes = codes & ~last_bits | np.arange(number)
    codes.view(float).sort(axis=1)
    rows, codes = (codes & last_bits) * (number + 1), codes & ~last_bits
    other, index = codes[:, 1:] != codes[:, :-1], np.arange(number)
    size = number * (number + 1)
    if other.all():
        single = np.bincount((rows + index).ravel(), minlength=size)
        return single - np.roll(single, 1)
    first, last = np.zeros(values.shape, int), np.full(values.shape, number)
    first[:, 1:] = np.maximum.accumulate(np.where(other, index[1:], 0), axis=1)
    ends = np.where(other, index[1:], number)
    last[:, :-1] = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    share = 1 / (last - first).ravel()
    rise = np.bincount((rows + first).ravel(), share, size)
    return rise - np.bincount((rows + last).ravel(), share, size)


def _central_ranks(shares, prob):
    """Return the ends of central intervals of ranks from rank probabilities (J, J)."""
    below = np.cumsum(shares, axis=1)
    tail = (1 - prob) / 2 + 1e-9  # tolerance for rounding errors
    return {
        "lower_rank": 1 + (below < tail).sum(axis=1),
        "upper_rank": 1 + (below < 1 - tail).sum(axis=1),
    }


# Sets of ranks and tiers, derived from the pairs that differ with high probability.


def _rank_sets_and_tiers(values, prob, scores):
    """Return the ends of the sets of ranks, and the tier numbers of each member."""
    above = told_apart(values, prob, scores)
    best, worst = rank_sets(above)
    order = np.argsort(-values.mean(axis=0), kind="stable") if len(values) else np.arange(len(best))
    within: list[list[str]] = [[] for _ in best]
    for number, members in enumerate(tiers(above, order), start=1):
        for member in members:
            within[member].append(str(number))
    names = [", ".join(numbers) for numbers in within]
    return {"best_rank": best, "worst_rank": worst, "tiers": names}


def _scores_of_differences(posterior, measure, of, number):
    """Return the normal quantiles of P(row is better than column), (J, J)."""
    scores = np.zeros((number, number))
    for first, second in combinations(range(number), 2):
        pair = (second, first) if measure.lower_is_better else (first, second)
        members = [{"classifier": classifier} for classifier in pair]
        scores[first, second] = ndtri(posterior.difference(measure, *members, of=of).sf(0.0))
        scores[second, first] = -scores[first, second]
    return scores


def _disagreement(values, scores, names):
    """Return a sentence on the pair for which joint levels and pairwise posterior differ most."""
    pairs = list(combinations(range(len(names)), 2))
    gaps = [(values[:, i] > values[:, j]).mean() - ndtr(scores[i, j]) for i, j in pairs]
    furthest = int(np.argmax(np.abs(gaps)))
    if not abs(gaps[furthest]) > _DISAGREEMENT:
        return []
    first, second = pairs[furthest]
    alone = ndtr(scores[first, second])
    return [
        f"No ranking of all classifiers agrees with every pair: {names[first]} is better "
        f"than {names[second]} with probability {alone:.2f} in compare, but "
        f"{alone + gaps[furthest]:.2f} in the ranks. Use the pairs."
    ]


def told_apart(
    values: np.ndarray, prob: float = 0.95, scores: np.ndarray | None = None
) -> np.ndarray:
    """
    Return which members are better than others, simultaneously for all pairs.

    The differences of all pairs lie within b standard deviations of their means with joint
    probability ``prob``. Two members are distinguished if this interval excludes 0, and the
    relation is closed transitively. If pairs have separate posteriors (``scores``), b is at least
    the quantile for independent members, as in Tukey's range test.

    Parameters
    ----------
    values : ndarray, shape (size, J)
        Joint draws without NaN. Higher is better.
    prob : float
    scores : ndarray, shape (J, J), optional
        Mean divided by standard deviation of each difference between row and column. If the
        probability that the row is better is known more precisely, its normal quantile.

    Returns
    -------
    ndarray of bool, shape (J, J)
        Whether the row is better than the column. This is a strict partial order.
    """
    size, number = values.shape
    if size < 2:
        return np.zeros((number, number), bool)
    mean, covariance = values.mean(axis=0), np.atleast_2d(np.cov(values, rowvar=False))
    variance = np.diag(covariance)
    spread = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
    spread[spread <= 1e-12 * np.sqrt(variance.max())] = 0
    n_draws = int(np.clip(_PAIRS_AT_ONCE // number**2, _FEWEST_DRAWS, _MOST_DRAWS))
    reach = np.sort(_furthest(values[:: max(1, size // n_draws)] - mean, spread))
    bound = reach[min(len(reach) - 1, int(np.ceil(prob * len(reach))))]
    if scores is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = (mean[:, None] - mean) / spread
    else:
        bound = max(bound, _range_of_independent(number, n_draws, prob))
    return _transitive_closure(np.nan_to_num(scores, posinf=np.inf, neginf=-np.inf) > bound)


def _furthest(moved, spread):
    """Return the largest standardised deviation of any pairwise difference, for each draw."""
    with np.errstate(divide="ignore"):
        scale = np.where(spread > 0, 1 / spread, 0).astype(np.float32)
    moved, furthest = moved.astype(np.float32), np.zeros(len(moved), np.float32)
    for first in range(len(spread) - 1):
        gaps = moved[:, first + 1 :] - moved[:, first : first + 1]
        gaps *= scale[first, first + 1 :]
        np.maximum(furthest, np.maximum(gaps.max(axis=1), -gaps.min(axis=1)), out=furthest)
    return furthest


def _range_of_independent(number, size, prob):
    """Return the quantile of the range of independent members, in SDs of a difference."""
    normals = np.random.default_rng(0).standard_normal((size, number))
    return np.quantile(np.ptp(normals, axis=1), prob) / np.sqrt(2)


def _transitive_closure(above):
    """Close a relation transitively. Members of a cycle are not distinguished."""
    while True:
        more = above | (above.astype(np.float32) @ above.astype(np.float32) > 0)
        if (more == above).all():
            return above & ~above.T
        above = more


def rank_sets(above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best and worst rank of each member that a partial order allows."""
    return 1 + above.sum(axis=0), len(above) - above.sum(axis=1)


def tiers(above: np.ndarray, order: np.ndarray) -> list[np.ndarray]:
    """
    Return the tiers, as indices of their members, best first.

    Two members share a tier if and only if they are not distinguished. A member may be in several
    tiers.

    Parameters
    ----------
    above : ndarray of bool, shape (J, J)
    order : ndarray of int, shape (J,)
        Indices of the members, best first.
    """
    above = above[np.ix_(order, order)]
    together = ~(above | above.T)
    missing, cliques = np.triu(together), []
    while missing.any():
        pair = np.unravel_index(missing.argmax(), missing.shape)
        cliques.append(_maximal_clique(pair, together))
        missing[np.ix_(cliques[-1], cliques[-1])] = False
    return [order[clique] for clique in _without_redundant(cliques, len(order))]


def _maximal_clique(pair, together):
    """Extend a pair, in order, to a maximal set of members that are not distinguished."""
    open_ = together[pair[0]] & together[pair[1]]
    for member in np.flatnonzero(open_).tolist():
        if open_[member]:
            open_ &= together[member]
    return np.flatnonzero(open_)


def _without_redundant(cliques, number):
    """Remove tiers whose pairs all share another tier."""
    within = np.zeros((len(cliques), number), np.float32)
    for row, clique in zip(within, cliques, strict=True):
        row[clique] = 1
    times = within.T @ within
    required = ((within @ (times == 1)) * within).any(axis=1)  # stays true: counts only decrease
    for index in np.flatnonzero(~required):
        pairs = np.ix_(cliques[index], cliques[index])
        required[index] = (times[pairs] == 1).any()
        times[pairs] -= not required[index]
    return [clique for clique, stays in zip(cliques, required, strict=True) if stays]
