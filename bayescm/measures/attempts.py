r"""
Measures of repeated answers: mean, pass@k, pass^k, majority, and variance components.

These measures are functions of draws of the distribution of success rates over items (`Rates`). A
majority also depends on the distribution of wrong answers (`Wrong`).

For a sample (`ItemAnswers`), a function of k answers is averaged over all subsets of k answers to
an item, and over the items. With c right answers out of n, the average for an item is

.. math:: \sum_r h(r) \binom{c}{r} \binom{n - c}{k - r} \Big/ \binom{n}{k},

with h(r) the value of the function if r of k answers are right. For pass@k this is :math:`1 -
\binom{n - c}{k} / \binom{n}{k}`, which is unbiased (Chen et al. 2021). Replacing the unknown rate
by c / n would give a value that is too low.

References
----------
Chen, M., et al. (2021). Evaluating large language models trained on code. arXiv:2107.03374
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.special import binom

from bayescm.measures.measure import Measure, Repeated
from bayescm.validate import fail

_MOST_VOTES = 300  # largest number of votes, for which pluralities take a few seconds


class Wrong(NamedTuple):
    """
    Distribution of the wrong answers to an item.

    Attributes
    ----------
    common : float
        Share of the most common wrong answer.
    others : int
        Number of other wrong answers, which are equally probable.
    """

    common: float
    others: int

    def alike(self, counts: np.ndarray) -> np.ndarray:
        """
        Return the log probabilities (D,) of patterns of equal and different wrong answers.

        Parameters
        ----------
        counts : ndarray, shape (D, T)
            Number of occurrences of each distinct wrong answer, padded with 0.
        """
        occurs, total = counts > 0, counts.sum(1)
        kinds = occurs.sum(1)
        with np.errstate(divide="ignore"):
            # Log probability that a further answer is new; -inf if no new answers are left.
            free = np.log(np.maximum(1 - np.arange(kinds.max() + 1) / self.others, 0))
            rest, common = np.log1p(-self.common), np.log(self.common)
        other = np.concatenate([[0], free.cumsum()])

        def among_others(number, kinds):
            of_each_kind = np.where(number > 0, number, 1) * (rest - np.log(self.others))
            spread = of_each_kind + kinds * np.log(self.others) + other[kinds]
            return np.where(number > 0, spread, 0.0)

        cases = [among_others(total, kinds)]
        if self.common:
            remaining = among_others(total[:, None] - counts, kinds[:, None] - occurs)
            cases.extend(np.where(occurs, counts * common + remaining, -np.inf).T)
        return np.logaddexp.reduce(cases, axis=0)


@dataclass(frozen=True, eq=False)
class Rates:
    """
    Draws of the distribution of success rates over items.

    Attributes
    ----------
    support : ndarray, shape (..., M)
        Rates from 0 to 1, shared by all draws or separate for each draw.
    weight : ndarray, shape (..., M)
        Share of items with each rate. Each row sums to 1.
    wrong : tuple of Wrong
        Possible distributions of wrong answers. Empty if only right and wrong are known.
    way : int or ndarray of int, broadcasts against (..., M), default 0
        Index of the distribution of wrong answers for items with each rate.
    """

    support: np.ndarray
    weight: np.ndarray
    wrong: tuple[Wrong, ...] = ()
    way: Any = 0

    def mean(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the mean over items of a function of their rates, shape (...)."""
        return (self.weight * function(self.support)).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class ItemAnswers:
    """
    Answers of one system to a sample of items.

    Attributes
    ----------
    right, number : ndarray of int, shape (n,)
        Number of right answers, and of all answers, per item.
    wrong : ndarray of int, shape (n, J), or None
        Number of occurrences of each wrong answer, if known.

    Examples
    --------
    >>> answers = ItemAnswers(np.array([1, 0]), np.array([3, 3]))
    >>> round(answers.mean(np.array([0, 1, 1])), 4)  # at least one of two is right
    0.3333
    """

    right: np.ndarray
    number: np.ndarray
    wrong: np.ndarray | None = None

    def mean(self, value: np.ndarray) -> float:
        """
        Return the mean over items of a function of k answers, averaged over subsets.

        Items with fewer than k answers are excluded.

        Parameters
        ----------
        value : ndarray, shape (k + 1,)
            Value of the function if 0, 1, ..., k answers are right.
        """
        k = len(value) - 1
        enough = self.number >= k
        patterns = np.column_stack([self.right, self.number])[enough]
        unique, count = np.unique(patterns, axis=0, return_counts=True)
        of_pattern = [
            sum(value[r] * (comb(c, r) * comb(n - c, k - r) / comb(n, k)) for r in range(k + 1))
            for c, n in unique.tolist()
        ]
        return float(np.average(of_pattern, weights=count))

    def plurality(self, k: int) -> float:
        """Return the proportion of subsets of k answers to an item whose plurality is right."""
        enough = self.number >= k
        wrong = np.zeros((len(self.right), 0), int) if self.wrong is None else self.wrong
        patterns = np.column_stack([self.right, wrong])[enough]
        unique, count = np.unique(patterns, axis=0, return_counts=True)
        won = [_plurality_among(row[0], row[1:], k) for row in unique]
        return float(np.average(won, weights=count))

    @property
    def observed_rates(self) -> "Rates":
        """Observed shares of right answers, as the rates of a single draw."""
        rates, count = np.unique(self.right / self.number, return_counts=True)
        return Rates(rates, count[None] / count.sum())


def _plurality_among(right, wrong, k):
    """Return the probability that the plurality of k answers is right, without replacement."""
    total = 0.0
    for votes in range(1, min(right, k) + 1):
        # Count the draws in which no other answer is more frequent. Ties are broken as in
        # `plurality`.
        nodes, weights = _rule((k - votes) // votes // 2 + 1)
        chosen = np.arange(votes + 1)
        for node, weight in zip(nodes, weights, strict=True):
            ways = np.eye(1, k - votes + 1)[0]
            for number in wrong[wrong > 0]:
                of_answer = binom(float(number), chosen) * np.where(chosen == votes, node, 1)
                ways = np.convolve(ways, of_answer)[: k - votes + 1]
            total += weight * binom(float(right), votes) * ways[-1]
    return total / binom(float(right + wrong.sum()), k)


def _measure(formula, name, answers, of_sample, votes=False, is_mean=True, **facts):
    facts.setdefault("range", (0.0, 1.0))
    common: dict[str, Any] = {"canonical": name, "takes": "attempts", "needs_positive": False}
    form = Repeated(answers, votes, of_sample, is_mean)
    return Measure(formula, formula, name, form=form, **common, **facts)


def _mean(rates):
    """Proportion of right answers: the mean success rate of the items."""
    return rates.mean(lambda p: p)


def _between(rates):
    """Variance of the success rates between items."""
    return rates.mean(lambda p: p**2) - rates.mean(lambda p: p) ** 2


def _within(rates):
    """Mean variance of an answer within items."""
    return rates.mean(lambda p: p * (1 - p))


def _flips(rates):
    """Probability that one of two answers to an item is right and the other wrong."""
    return rates.mean(lambda p: 2 * p * (1 - p))


def _share_between(rates):
    """Intraclass correlation: the share of the variance of answers that is between items."""
    mean = _mean(rates)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _between(rates) / (mean * (1 - mean))


def _between_items(answers):
    """Return the unbiased variance of success rates between the items of a sample."""
    rate, items = answers.right / answers.number, len(answers.right)
    square = answers.mean(np.array([0, 0, 1]))
    # Part of the squared mean rate comes from pairs within an item, which are corrected for noise.
    squared_mean = rate.mean() ** 2 + (square - (rate**2).mean()) / items
    return max(square - squared_mean, 0.0)


def _share_right(answers):
    """Return the mean share of right answers over a sample of items."""
    return answers.mean(np.array([0, 1]))


def _within_items(answers):
    """Return half the mean squared difference between two answers to an item of a sample."""
    return answers.mean(np.array([0, 0.5, 0]))


def _flips_of_items(answers):
    """Return the probability that two answers to an item of a sample differ."""
    return answers.mean(np.array([0, 1, 0]))


def _share_between_items(answers):
    """Return the share of the variance that is between the items of a sample (NaN if constant)."""
    between, within = _between_items(answers), _within_items(answers)
    return between / (between + within) if between + within else np.nan


mean = _measure(
    _mean,
    "mean",
    1,
    _share_right,
    aliases=("mean_over_attempts", "accuracy", "win_rate", "pass_rate"),
)
variance_between = _measure(
    _between,
    "variance_between",
    2,
    _between_items,
    is_mean=False,
    lower_is_better=True,
    range=(0.0, 0.25),
)
variance_within = _measure(
    _within,
    "variance_within",
    2,
    _within_items,
    lower_is_better=True,
    range=(0.0, 0.25),
)

flip_rate = _measure(_flips, "flip_rate", 2, _flips_of_items, lower_is_better=True)
variance_share_between = _measure(
    _share_between,
    "variance_share_between",
    2,
    _share_between_items,
    is_mean=False,
    aliases=("intraclass_correlation", "icc"),
    lower_is_better=True,
)


def pass_at(k: int) -> Measure:
    """
    Return pass@k: the probability that at least one of k answers is right.

    `bayescm.posteriors.repeated_items.RepeatedItems.rates` draws the `Rates` for each ``of``:
    ``"population"`` uses the variable ``share``, and ``"new"`` uses `_rates_of_new_item`.

    Examples
    --------
    >>> one = Rates(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 0.0]))
    >>> float(pass_at(2)(one))
    0.375
    """
    k = _whole(k, "pass_at")

    def formula(rates):
        return rates.mean(lambda p: 1 - (1 - p) ** k)

    formula.__doc__ = f"Probability that at least one of {k} answers to an item is right."
    some_right = np.minimum(np.arange(k + 1), 1)
    return _measure(formula, f"pass_at({k})", k, lambda answers: answers.mean(some_right))


def pass_all(k: int) -> Measure:
    """
    Return pass^k: the probability that all of k answers to an item are right.

    Examples
    --------
    >>> one = Rates(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 0.0]))
    >>> float(pass_all(2)(one))
    0.125
    """
    k = _whole(k, "pass_all")

    def formula(rates):
        return rates.mean(lambda p: p**k)

    formula.__doc__ = f"Probability that all of {k} answers to an item are right."
    all_right = np.arange(k + 1) // k
    return _measure(formula, f"pass_all({k})", k, lambda answers: answers.mean(all_right))


def majority_at(k: int) -> Measure:
    """
    Return the probability that the majority of k answers to an item is right.

    If the evidence contains the answers themselves, this is the plurality: the most frequent
    answer, with ties broken at random. If only right and wrong are known, more than half of the k
    answers must be right, and a tie counts as half. This understates the plurality if wrong answers
    differ.

    Examples
    --------
    >>> one = Rates(np.array([0.0, 0.5, 1.0]), np.array([0.25, 0.5, 0.25]))
    >>> float(majority_at(3)(one))
    0.5
    >>> different = Rates(one.support, one.weight, (Wrong(0, 10**9),))
    >>> round(float(majority_at(3)(different)), 4)  # one of three right: won by lot
    0.5625
    """
    k = _whole(k, "majority_at")

    def formula(rates):
        wins = [_more_than_half(k)] if not rates.wrong else [plurality(*w, k) for w in rates.wrong]
        of_number = np.transpose(wins)  # (k + 1, ways)
        return rates.mean(
            lambda p: sum(won[rates.way] * _chance(r, k, p) for r, won in enumerate(of_number))
        )

    formula.__doc__ = (
        f"Probability that the most frequent of {k} answers is right; ties are broken "
        "by lot. If only right and wrong are known, the probability that more than "
        "half are right; a tie counts as half."
    )

    def of_sample(answers):
        return answers.mean(_more_than_half(k)) if answers.wrong is None else answers.plurality(k)

    return _measure(formula, f"majority_at({k})", k, of_sample, votes=True)


def _chance(right, k, p):
    """Return the probability that a given number of k answers is right."""
    return comb(k, right) * p**right * (1 - p) ** (k - right)


def _more_than_half(k):
    return (np.sign(2 * np.arange(k + 1) - k) + 1) / 2


@lru_cache(256)
def plurality(common: float, others: int, k: int) -> np.ndarray:
    """
    Return the probability (k + 1,) that the plurality is right, given 0, 1, ..., k right answers.

    A tie of j + 1 answers is won with probability 1 / (j + 1), the integral of u^j from 0 to 1.
    Ties therefore become factors of generating functions, and a Gauss-Legendre rule is exact.
    Counts are represented as Poisson variables conditional on their sum, which keeps all numbers at
    a similar scale.

    Examples
    --------
    >>> plurality(1.0, 1, 4)  # one wrong answer
    array([0. , 0. , 0.5, 1. , 1. ])
    """
    if k > _MOST_VOTES:
        raise fail(
            f"A plurality needs 1 to {_MOST_VOTES} votes",
            k,
            "",
            "use fewer votes, or remove the answers with evidence.drop_vars('answer')",
        )
    won = np.zeros(k + 1)
    won[k // 2 + 1 :] = 1
    for right in range(1, k // 2 + 1):
        wrong = k - right
        nodes, weights = _rule(wrong // right // 2 + 1)
        means = np.array([common, (1 - common) / others]) * wrong
        counts = poisson(wrong, means)
        counts[:, right + 1 :] = 0
        for node, weight in zip(nodes, weights, strict=True):
            tied = counts.copy()
            tied[:, right] *= node
            shares = np.convolve(tied[0], _power(tied[1], others))
            won[right] += weight * shares[wrong]
        won[right] /= poisson(wrong, np.array([wrong]))[0, wrong]
    won.flags.writeable = False
    return won


def poisson(most: int, means: np.ndarray) -> np.ndarray:
    """Return the Poisson probabilities (..., most + 1) of 0, 1, ..., most."""
    ratios = np.ones((*means.shape, most + 1))
    ratios[..., 1:] = means[..., None] / np.arange(1, most + 1)
    return np.exp(-means)[..., None] * ratios.cumprod(-1)


@lru_cache(1024)
def _rule(size):
    """Return the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return (nodes + 1) / 2, weights / 2


def _power(series, exponent):
    """Return an integer power of a power series, truncated to the same length."""
    size = len(series)
    product = np.eye(1, size)[0]
    while exponent:
        if exponent % 2:
            product = np.convolve(product, series)[:size]
        exponent //= 2
        series = np.convolve(series, series)[:size] if exponent else series
    return product


def _whole(k, name):
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= 1000:
        raise fail(f"{name} needs a number of answers from 1 to 1000", k, "", f'write "{name}(4)"')
    return int(k)


FACTORIES = {"pass_at": pass_at, "pass_all": pass_all, "majority_at": majority_at}
# Notation in papers: pass@4, pass^4, maj@5.
NOTATION = {"pass@": "pass_at", "pass^": "pass_all", "maj@": "majority_at"}
