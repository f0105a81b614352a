"""
Which of several members is best, how the others rank, and who shares a tier.

The differences d of all pairs of members, with posterior means m and standard deviations s, lie
jointly, with probability ``prob``, within

    |d - m| <= b s,

where b is that quantile of the largest |d - m| / s over all pairs. A pair is told apart where this
leaves out 0. The sets of ranks count who is told apart from whom (Mogstad, Romano, Shaikh &
Wilhelm, 2024, doi:10.1093/restud/rdad006), and members that are not told apart share a tier.
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
from bayescm.evidence.registry import is_members
from bayescm.fitting.question import Question
from bayescm.validate import check_prob

_PAIRS_AT_ONCE = 2e7  # numbers of the differences of all pairs in memory
_MOST_DRAWS = 10_000  # that the bound of the pairs is made of
_FEWEST_DRAWS = 400  # the same, if memory limits the draws because there are many pairs
_RANKS_AT_ONCE = 2**17  # of all ranks at once
_DISAGREEMENT = 0.02  # of the probabilities of a pair, from which a caution is due
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
    Say which of several members is best, how the others rank, and who shares a tier.

    Parameters
    ----------
    evidence, measures, dim
        As :func:`compare` takes them.
    prob : float, default 0.95
        Probability that the sets of ranks of all members hold, jointly.
    of, n, model, concentration, positive, draws, random_seed, **keywords
        As :func:`compare` takes them.

    Returns
    -------
    DataFrame
        One row per member and measure: the member (a column named as ``dim``), ``measure``, the
        posterior ``mean`` of the measure (of results on several data sets how far the member lies
        above the mean of all members, so that it may be negative), ``p_best``, ``expected_rank``
        (1 is best), ``expected_loss`` of choosing it instead of the best one, the ends of its set
        of ranks (``best_rank``, ``worst_rank``), the ends of its central interval of ranks
        (``lower_rank``, ``upper_rank``), its ``tiers``, and the probability of every rank,
        ``rank_1``, ... Tied members share their ranks. Of a mapping whose members have ``dim``
        themselves a column ``data_set`` says which of them a row is of. ``attrs`` has
        ``prob``, in ``mean`` what the mean is where it is no value of the measure, and in
        ``caution`` what makes the model doubtful, if anything does.

    Warns
    -----
    UserWarning
        If no ranking of all members agrees with what every pair says by itself.

    Notes
    -----
    The central interval of ranks contains the rank of one member with posterior probability
    ``prob``. It is shorter than the set of ranks, and says nothing about all members at once.

    The sets of ranks of all members hold at once with posterior probability ``prob``. They count
    who is told apart: the differences of all pairs lie within so many standard deviations of
    their means jointly, and a pair is told apart where that leaves out 0. Two members share a tier
    exactly where they are not told apart; a member may be in several, ``"1, 2"``. So tiers say
    neither more nor less than the pairs do, where the bars of a critical-difference diagram may
    connect members that a test of these two tells apart.

    Results on several data sets (:func:`bayescm.from_results`) are compared pair by pair, and ranks
    are made of levels of all classifiers together whose pairs are the better with the same
    probabilities as by :func:`compare`. Where no levels are, such as of pairs that go round in a
    circle, a warning and ``attrs["caution"]`` say which pair is the furthest off.

    References
    ----------
    Mogstad, M., Romano, J. P., Shaikh, A. M. & Wilhelm, D. (2024). Inference for ranks with
    applications to mobility across neighbourhoods and academic achievement across countries.
    Review of Economic Studies 91, 476-518. doi:10.1093/restud/rdad006

    See Also
    --------
    bayescm.plots.plot_tiers : The sets and the tiers as a picture.

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
    """Return the table of ranks; a mapping of evidence with the dim has one of each."""
    if is_members(evidence) and hold_dim(evidence, dim):
        again = partial(_ranking, measures=measures, question=question, dim=dim, prob=prob)
        return within_each(again, evidence)
    posterior, kernels, of = joint_posterior(evidence, measures, question, dim=dim)
    size, rng = draws_of(question, posterior, of), rng_of(question)
    joint_draws = draw_labelled(posterior, kernels, size, rng, of=of, n=question.n)
    tables, doubts = [], cautions.of_measures(posterior, kernels, of)
    doubts += [words for kernel in kernels for words in posterior.caveats_of_pairs(kernel)]
    for kernel, position, names in positions(posterior, kernels, dim):
        values = joint_draws[kernel.__name__].isel(position).transpose("draw", dim).values
        better = kernel.oriented(values)
        better = better[~np.isnan(better).any(axis=1)]
        numbers = _rank_probabilities(better)
        relative = bool(posterior.measured)
        scores = _scores_of_differences(posterior, kernel, of, len(names)) if relative else None
        disagreement = [] if scores is None else _disagreement(better, scores, names)
        for words in disagreement:
            warnings.warn(words, UserWarning, stacklevel=2)
        doubts += disagreement
        shares = {name: numbers.pop(name) for name in list(numbers) if name.startswith("rank_")}
        numbers |= _rank_sets_and_tiers(better, prob, scores)
        numbers |= _central_ranks(np.stack([*shares.values()], axis=1), prob)
        numbers["tiers"] = numbers.pop("tiers")  # behind the ranks
        columns = {dim: names, "mean": np.nanmean(values, axis=0), **numbers, **shares}
        tables.append(pd.DataFrame(labels(posterior, kernel, position) | columns))
    table = pd.concat(tables, ignore_index=True)
    table.attrs |= {"prob": prob} | ({"caution": " ".join(doubts)} if doubts else {})
    table.attrs |= {"mean": "how far above the mean of all"} if posterior.measured else {}
    return table


# The probability of every rank, by sorting the draws.


def _rank_probabilities(values):
    """Return what the draws (size, J), higher is better and all defined, say about the ranks."""
    size, number = values.shape
    steps = np.zeros(number * (number + 1))  # of the share of each place, row by row
    for start in range(0, size, max(1, _RANKS_AT_ONCE // number)):
        steps += _steps(values[start : start + max(1, _RANKS_AT_ONCE // number)])
    shares = np.cumsum(steps.reshape(number, -1), axis=1)[:, :-1].clip(0)
    shares = shares / max(size, 1) + (0 if size else np.nan)
    loss = (values.max(axis=1, keepdims=True) - values).mean(axis=0) if size else shares[:, 0]
    rank = np.arange(number) + 1
    numbers = {"p_best": shares[:, 0], "expected_rank": shares @ rank, "expected_loss": loss}
    return numbers | {f"rank_{place}": shares[:, place - 1] for place in rank}


def _steps(values):
    """Return where the share of a place rises and falls: those who tie share theirs evenly."""
    number = values.shape[1]
    # Numbers are sorted faster than places: the last bits of each give way to its place.
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
    """Return the ends of the central intervals of ranks, from the probabilities (J, J) of each."""
    below = np.cumsum(shares, axis=1)
    tail = (1 - prob) / 2 + 1e-9  # a probability that is only rounding errors away counts as one
    return {
        "lower_rank": 1 + (below < tail).sum(axis=1),
        "upper_rank": 1 + (below < 1 - tail).sum(axis=1),
    }


# The sets of ranks and the tiers, by who is told apart from whom.


def _rank_sets_and_tiers(values, prob, scores):
    """Return the ends of the sets of ranks, and the numbers of the tiers."""
    above = told_apart(values, prob, scores)
    best, worst = rank_sets(above)
    order = np.argsort(-values.mean(axis=0), kind="stable") if len(values) else np.arange(len(best))
    within: list[list[str]] = [[] for _ in best]
    for number, members in enumerate(tiers(above, order), start=1):
        for member in members:
            within[member].append(str(number))
    names = [", ".join(numbers) for numbers in within]
    return {"best_rank": best, "worst_rank": worst, "tiers": names}


def _scores_of_differences(posterior, kernel, of, number):
    """Return the normal quantiles of the probabilities that the row is better, (J, J)."""
    scores = np.zeros((number, number))
    for first, second in combinations(range(number), 2):
        pair = (second, first) if kernel.lower_is_better else (first, second)
        members = [{"classifier": classifier} for classifier in pair]
        scores[first, second] = ndtri(posterior.difference(kernel, *members, of=of).sf(0.0))
        scores[second, first] = -scores[first, second]
    return scores


def _disagreement(values, scores, names):
    """Say which pair is furthest from what its own posterior says, where levels cannot meet all."""
    pairs = list(combinations(range(len(names)), 2))
    gaps = [(values[:, i] > values[:, j]).mean() - ndtr(scores[i, j]) for i, j in pairs]
    furthest = int(np.argmax(np.abs(gaps)))
    if not abs(gaps[furthest]) > _DISAGREEMENT:
        return []
    first, second = pairs[furthest]
    alone = ndtr(scores[first, second])
    return [
        f"No ranking of all classifiers agrees with every pair by itself: {names[first]} is better "
        f"than {names[second]} with probability {alone:.2f} by compare, and "
        f"{alone + gaps[furthest]:.2f} in the ranks. Trust the pairs."
    ]


def told_apart(
    values: np.ndarray, prob: float = 0.95, scores: np.ndarray | None = None
) -> np.ndarray:
    """
    Return which members are better than which others, all at once with probability ``prob``.

    The differences of all pairs lie within so many of their standard deviations of their means
    jointly; a pair is told apart where that leaves out 0. What follows from two such pairs holds
    with them. Where pairs are known by themselves (``scores``), they lie within at least as many as
    those of independent members do, which is Tukey's range.

    Parameters
    ----------
    values : ndarray, shape (size, J)
        Joint draws, higher is better, without NaN.
    prob : float
    scores : ndarray, shape (J, J), optional
        Mean over standard deviation of each difference of row and column, or the normal quantile of
        the probability that the row is better, where that is known more closely.

    Returns
    -------
    ndarray of bool, shape (J, J)
        Whether the row is told to be better than the column: a strict order of some pairs.
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
    """Return how many standard deviations the furthest difference of each draw is off its mean."""
    with np.errstate(divide="ignore"):
        scale = np.where(spread > 0, 1 / spread, 0).astype(np.float32)
    moved, furthest = moved.astype(np.float32), np.zeros(len(moved), np.float32)
    for first in range(len(spread) - 1):
        gaps = moved[:, first + 1 :] - moved[:, first : first + 1]
        gaps *= scale[first, first + 1 :]
        np.maximum(furthest, np.maximum(gaps.max(axis=1), -gaps.min(axis=1)), out=furthest)
    return furthest


def _range_of_independent(number, size, prob):
    """Return how far apart independent members lie at most, in standard deviations of a pair."""
    normals = np.random.default_rng(0).standard_normal((size, number))
    return np.quantile(np.ptp(normals, axis=1), prob) / np.sqrt(2)


def _transitive_closure(above):
    """Add what follows: better than those who are better than others; a circle tells none apart."""
    while True:
        more = above | (above.astype(np.float32) @ above.astype(np.float32) > 0)
        if (more == above).all():
            return above & ~above.T
        above = more


def rank_sets(above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best and the worst rank of each member that an order of some pairs leaves."""
    return 1 + above.sum(axis=0), len(above) - above.sum(axis=1)


def tiers(above: np.ndarray, order: np.ndarray) -> list[np.ndarray]:
    """
    Return the tiers, each the places of its members, best first.

    Two members share a tier exactly where they are not told apart; a member may be in several.

    Parameters
    ----------
    above : ndarray of bool, shape (J, J)
    order : ndarray of int, shape (J,)
        The members, best first.
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
    """Return a pair with as many more, in order, as are not told apart from any of them."""
    open_ = together[pair[0]] & together[pair[1]]
    for member in np.flatnonzero(open_).tolist():
        if open_[member]:
            open_ &= together[member]
    return np.flatnonzero(open_)


def _without_redundant(cliques, number):
    """Leave out the tiers whose every pair shares another one."""
    within = np.zeros((len(cliques), number), np.float32)
    for row, clique in zip(within, cliques, strict=True):
        row[clique] = 1
    times = within.T @ within
    required = ((within @ (times == 1)) * within).any(axis=1)  # for good: times only fall
    for index in np.flatnonzero(~required):
        pairs = np.ix_(cliques[index], cliques[index])
        required[index] = (times[pairs] == 1).any()
        times[pairs] -= not required[index]
    return [clique for clique, stays in zip(cliques, required, strict=True) if stays]
