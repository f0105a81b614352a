"""
Measures of item scores: the mean, quantiles, the share above a mark, the spread.

They are functions of draws of how scores are distributed in the population of items
(`ScoreDistribution`), and have a value for every draw and system.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayescm.measures.measure import Measure
from bayescm.validate import fail


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """
    Draws of the distribution of the scores of K systems in the population of items.

    Attributes
    ----------
    score : ndarray, shape (K, u)
        The scores of the items; NaN where a system has none of an item.
    weight : ndarray, shape (S, u)
        The weight of each item, the same for all systems; any scale.
    ends : ndarray, shape (2,)
        The lowest and the highest score that there can be.
    end_weight : ndarray, shape (S, 2)
        The weight of the pseudo-items there.

    Examples
    --------
    >>> one = ScoreDistribution(
    ...     np.array([[0.2, 0.4]]), np.ones((1, 2)), np.array([0.0, 1.0]), np.zeros((1, 2))
    ... )
    >>> one.mean(lambda score: score).round(6)
    array([[0.3]])
    """

    score: np.ndarray
    weight: np.ndarray
    ends: np.ndarray
    end_weight: np.ndarray

    def mean(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the mean over the population of a function of the scores, (S, K)."""
        has_score = ~np.isnan(self.score)
        values = np.where(has_score, function(np.where(has_score, self.score, 0.0)), 0.0)
        total = self.weight @ has_score.T + self.end_weight.sum(-1, keepdims=True)
        return (self.weight @ values.T + self._at_ends(function)) / total

    def _at_ends(self, function):
        if not self.end_weight.any():  # infinite ends, of which the function may be NaN
            return 0.0
        return (self.end_weight @ function(self.ends))[:, None]

    def quantile(self, q: float) -> np.ndarray:
        """Return the smallest score that at least the share q does not exceed, (S, K)."""
        values = np.empty((len(self.weight), len(self.score)))
        for system, row in enumerate(self.score):
            order = np.argsort(row, kind="stable")[: np.count_nonzero(~np.isnan(row))]
            low, high = self.end_weight.T[..., None]
            below = np.cumsum(np.concatenate([low, self.weight[:, order], high], axis=1), axis=1)
            place = (below < q * below[:, -1:]).sum(axis=1)
            values[:, system] = np.concatenate([self.ends[:1], row[order], self.ends[1:]])[place]
        return values


class OfScores(NamedTuple):
    """
    The form of a measure of item scores, by which its distribution is found.

    Attributes
    ----------
    kind : {"mean", "share", "score", "spread"}
        A mean of the scores; a share of items; a score that divides the items; a distance.
    at : float
        The mark, of a share.
    """

    kind: str
    at: float = np.nan


def _measure(formula, name, kind, at=np.nan, **facts):
    facts = {"range": (-np.inf, np.inf), "unit": "items"} | facts
    common: dict[str, Any] = {"canonical": name, "takes": "item_scores", "needs_positive": False}
    return Measure(formula, formula, name, form=OfScores(kind, at), **common, **facts)


def _mean(scores):
    """Mean score of an item."""
    return scores.mean(lambda score: score)


def _median(scores):
    """Score that half of the items do not exceed."""
    return scores.quantile(0.5)


def _sd(scores):
    """Spread of the scores between items: their standard deviation."""
    center = scores.mean(lambda score: score)
    middle = np.mean(center)  # near all of them, so that no digits cancel
    square = scores.mean(lambda score: (score - middle) ** 2)
    return np.sqrt(np.maximum(square - (center - middle) ** 2, 0))


mean = _measure(_mean, "mean", "mean", aliases=("mean_score",))
median = _measure(_median, "median", "score")
sd = _measure(_sd, "sd", "spread", aliases=("std",), range=(0.0, np.inf), lower_is_better=True)


def quantile(q: float) -> Measure:
    """
    Return the score that the share q of the items do not exceed.

    Examples
    --------
    >>> quantile(0.1).__name__
    'quantile(0.1)'
    """
    number = isinstance(q, (int, float, np.number)) and not isinstance(q, bool)
    if not number or not 0 < q < 1:
        raise fail("quantile needs a share of the items", q, "0 < q < 1", 'write "quantile(0.1)"')
    formula = partial(_quantile, q=float(q))
    return _measure(formula, f"quantile({q:g})", "score")


def _quantile(scores, q):
    """Score that this share of the items do not exceed."""
    return scores.quantile(q)


def share_above(mark: float) -> Measure:
    """
    Return the share of items whose score is above a mark.

    Examples
    --------
    >>> share_above(0.5).__name__
    'share_above(0.5)'
    """
    number = isinstance(mark, (int, float, np.number)) and not isinstance(mark, bool)
    if not number or not np.isfinite(mark):
        raise fail("share_above needs a mark", mark, "a number", 'write "share_above(0.5)"')
    formula = partial(_share_above, mark=float(mark))
    return _measure(formula, f"share_above({mark:g})", "share", float(mark), range=(0.0, 1.0))


def _share_above(scores, mark):
    """Share of items whose score is above the mark."""
    return scores.mean(lambda score: (score > mark).astype(float))


FACTORIES = {"quantile": quantile, "share_above": share_above}
