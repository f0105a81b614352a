"""Which is best, and how the others rank."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bayescm.answers.compare import labels, places
from bayescm.answers.draws import Evidence, draw_measures
from bayescm.answers.ranking.sets import rank_sets, tiers, told_apart
from bayescm.validate import check_prob

_NUMBERS = 2**17  # of all ranks at once
_LARGEST = np.finfo(float).max


def ranks(
    evidence: Evidence,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    dim: str = "classifier",
    prob: float = 0.95,
    random_seed: int = 0,
    **options: Any,
) -> pd.DataFrame:
    """
    Say which of several members is best, how the others rank, and who shares a tier.

    Parameters
    ----------
    evidence, measures, dim, random_seed, **options
        As :func:`compare` takes them.
    prob : float, default 0.95
        Probability that the sets of ranks of all members hold, jointly.

    Returns
    -------
    DataFrame
        One row per member and measure: the member (a column named as ``dim``), ``measure``,
        ``mean``, ``p_best``, ``expected_rank`` (1 is best), ``expected_loss`` of choosing it
        instead of the best one, the ends of its set of ranks (``best_rank``, ``worst_rank``), its
        ``tiers``, and the probability of every rank, ``rank_1``, ... Tied members share their
        ranks.

    Notes
    -----
    The sets of ranks of all members hold at once with posterior probability ``prob``. They count
    who is told apart: the differences of all pairs lie within so many standard deviations of
    their means jointly, and a pair is told apart where that leaves out 0. Two members share a tier
    exactly where they are not told apart; a member may be in several, ``"1, 2"``. So tiers say
    neither more nor less than the pairs do, where the bars of a critical-difference diagram may
    connect members that a test of these two tells apart.

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
    drawn = draw_measures(evidence, measures, dim=dim, random_seed=random_seed, **options)
    tables = []
    for kernel, place, names in places(drawn, dim):
        values = drawn.values[kernel.__name__].isel(place).transpose("draw", dim).values
        better = kernel.worth(values)
        better = better[~np.isnan(better).any(axis=1)]
        numbers = _rank(better)
        scores = _scores(drawn, kernel, len(names)) if drawn.relative else None
        shares = {name: numbers.pop(name) for name in list(numbers) if name.startswith("rank_")}
        numbers |= _sets(better, prob, scores)
        columns = {dim: names, "mean": np.nanmean(values, axis=0), **numbers, **shares}
        tables.append(pd.DataFrame(labels(drawn, kernel, place) | columns))
    return pd.concat(tables, ignore_index=True)


def _sets(values, prob, scores):
    """Return the ends of the sets of ranks, and the numbers of the tiers."""
    above = told_apart(values, prob, scores)
    best, worst = rank_sets(above)
    order = np.argsort(-values.mean(axis=0), kind="stable") if len(values) else np.arange(len(best))
    within: list[list[str]] = [[] for _ in best]
    for number, members in enumerate(tiers(above, order), start=1):
        for each in members:
            within[each].append(str(number))
    return {"best_rank": best, "worst_rank": worst, "tiers": [", ".join(each) for each in within]}


def _scores(drawn, kernel, number):
    """Return the normal quantiles of the probabilities that the row is better, (J, J)."""
    scores = np.zeros((number, number))
    for one, two in combinations(range(number), 2):
        pair = (two, one) if kernel.lower_is_better else (one, two)
        known = drawn.difference(kernel, *({"classifier": each} for each in pair))
        scores[one, two] = ndtri(known.sf(0.0))
        scores[two, one] = -scores[one, two]
    return scores


def _rank(values):
    """Return what the draws (size, J), higher is better and all defined, say about the ranks."""
    size, number = values.shape
    steps = np.zeros(number * (number + 1))  # of the share of each place, row by row
    for start in range(0, size, max(1, _NUMBERS // number)):
        steps += _steps(values[start : start + max(1, _NUMBERS // number)])
    shares = np.cumsum(steps.reshape(number, -1), axis=1)[:, :-1].clip(0)
    shares = shares / max(size, 1) + (0 if size else np.nan)
    loss = (values.max(axis=1, keepdims=True) - values).mean(axis=0) if size else shares[:, 0]
    place = np.arange(number) + 1
    numbers = {"p_best": shares[:, 0], "expected_rank": shares @ place, "expected_loss": loss}
    return numbers | {f"rank_{each}": shares[:, each - 1] for each in place}


def _steps(values):
    """Return where the share of a place rises and falls: those who tie share theirs evenly."""
    number = values.shape[1]
    # Numbers are sorted faster than places: the last bits of each give way to its place.
    last_bits = (1 << number.bit_length()) - 1
    codes = np.clip(0 - values, -_LARGEST, _LARGEST).view(np.int64)
    codes = codes & ~last_bits | np.arange(number)
    codes.view(float).sort(axis=1)
    rows, codes = (codes & last_bits) * (number + 1), codes & ~last_bits
    other, place = codes[:, 1:] != codes[:, :-1], np.arange(number)
    size = number * (number + 1)
    if other.all():
        alone = np.bincount((rows + place).ravel(), minlength=size)
        return alone - np.roll(alone, 1)
    first, last = np.zeros(values.shape, int), np.full(values.shape, number)
    first[:, 1:] = np.maximum.accumulate(np.where(other, place[1:], 0), axis=1)
    ends = np.where(other, place[1:], number)
    last[:, :-1] = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    share = 1 / (last - first).ravel()
    rise = np.bincount((rows + first).ravel(), share, size)
    return rise - np.bincount((rows + last).ravel(), share, size)
