"""
Measures of item scores: mean, quantiles, shares above a threshold, and spread.

These measures are functions of draws of the distribution of scores in the population of items
(`ScoreDistribution`), and return one value per draw and system.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from bayescm.measures.measure import Measure, OfScores
from bayescm.validate import fail


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """
    Draws of the score distribution of K systems in the population of items.

    Attributes
    ----------
    score : ndarray, shape (K, n)
        Item scores. NaN if a system has no score for an item.
    weight : ndarray, shape (S, u)
        Weight of each unit, shared by all systems, on any scale.
    unit : ndarray of int, shape (n,)
        Unit of each item: the item itself or its cluster.
    count : ndarray, shape (n,)
        Weight of the item within its unit.
    ends : ndarray, shape (2,)
        Lowest and highest possible score.
    end_weight : ndarray, shape (S, 2)
        Weights of the pseudo-items at these ends.
    disagreement : bayescm.inference.bayesian_bootstrap.Disagreement, optional
        Pseudo-items with disagreement between systems.

    Examples
    --------
    >>> items, ends = np.arange(2), np.array([0.0, 1.0])
    >>> one = ScoreDistribution(
    ...     np.array([[0.2, 0.4]]), np.ones((1, 2)), items, np.ones(2), ends, np.zeros((1, 2))
    ... )
    >>> one.mean(lambda score: score).round(6)
    array([[0.3]])
    """

    score: np.ndarray
    weight: np.ndarray
    unit: np.ndarray
    count: np.ndarray
    ends: np.ndarray
    end_weight: np.ndarray
    disagreement: Any = None

    @cached_property
    def pseudo_score(self) -> np.ndarray:
        """Scores of the systems in pseudo-items with disagreement, (S, K, 2)."""
        return self.disagreement.scores(self.score, *self.ends)

    def of(self, function: Callable[[np.ndarray], np.ndarray]) -> "ScoreDistribution":
        """Return the distribution of a function of the scores, such as an indicator."""
        value = np.where(np.isnan(self.score), np.nan, function(self.score))
        return replace(self, score=value, ends=function(self.ends).astype(float))

    def mean(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the population mean of a function of the scores, (S, K)."""
        sums, totals = np.empty((2, len(self.score), self.weight.shape[1]))
        for system, row in enumerate(self.score):
            has_score = ~np.isnan(row)
            count, unit = self.count[has_score], self.unit[has_score]
            sums[system] = np.bincount(unit, count * function(row[has_score]), sums.shape[1])
            totals[system] = np.bincount(unit, count, sums.shape[1])
        above, below = self.weight @ sums.T, self.weight @ totals.T
        if self.end_weight.any():  # otherwise the ends may be infinite
            above = above + (self.end_weight @ function(self.ends))[:, None]
            below = below + self.end_weight.sum(1, keepdims=True)
        if self.disagreement is not None:
            pseudo_weight = self.disagreement.weight
            above = above + np.einsum("skj,sj->sk", function(self.pseudo_score), pseudo_weight)
            below = below + pseudo_weight.sum(1, keepdims=True)
        with np.errstate(invalid="ignore"):
            return above / below

    def quantile(self, q: float) -> np.ndarray:
        """Return the q-quantile of the scores, (S, K): the smallest score with CDF >= q."""
        values = np.empty((len(self.weight), len(self.score)))
        for system, row in enumerate(self.score):
            order = np.argsort(row, kind="stable")[: np.count_nonzero(~np.isnan(row))]
            score = np.concatenate([self.ends[:1], row[order], self.ends[1:], [np.inf]])
            pseudo, added = self._sorted_pseudo_scores(system)
            # Weight of the items up to the quantile if it is below, between or above the two
            # pseudo-items on which systems disagree.
            less = np.cumsum(np.pad(added, ((0, 0), (1, 0))), axis=1)
            of_items = self.weight[:, self.unit[order]] * self.count[order]
            low, high = self.end_weight[:, :1], self.end_weight[:, 1:]
            below = np.cumsum(np.concatenate([low, of_items, high], axis=1), axis=1)
            needed = q * (below[:, -1:] + less[:, -1:]) - less
            at = np.stack([score[(below < each[:, None]).sum(axis=1)] for each in needed.T], axis=1)
            first, second, third = at.T
            second, third = np.maximum(second, pseudo[:, 0]), np.maximum(third, pseudo[:, 1])
            values[:, system] = np.where(
                first < pseudo[:, 0], first, np.where(second < pseudo[:, 1], second, third)
            )
        return values

    def _sorted_pseudo_scores(self, system):
        """Return the ordered scores (S, 2) of a system in the pseudo-items, and their weights."""
        if self.disagreement is None:
            return np.full((len(self.weight), 2), -np.inf), np.zeros((len(self.weight), 2))
        pseudo = self.pseudo_score[:, system]
        order = np.argsort(pseudo, axis=1)
        weight = np.take_along_axis(self.disagreement.weight, order, axis=1)
        return np.take_along_axis(pseudo, order, axis=1), weight


def _measure(formula, name, kind, **facts):
    facts = {"range": (-np.inf, np.inf), "unit": "items", "form": OfScores(kind)} | facts
    common: dict[str, Any] = {"canonical": name, "takes": "item_scores", "needs_positive": False}
    return Measure(formula, formula, name, **common, **facts)


def _mean(scores):
    """Mean score of an item."""
    return scores.mean(lambda score: score)


def _median(scores):
    """Median score of the items."""
    return scores.quantile(0.5)


def _sd(scores):
    """Spread of the scores between items: their standard deviation."""
    center = scores.mean(lambda score: score)
    middle = np.mean(center)  # near all values, to avoid cancellation
    square = scores.mean(lambda score: (score - middle) ** 2)
    return np.sqrt(np.maximum(square - (center - middle) ** 2, 0))


mean = _measure(_mean, "mean", "mean", aliases=("mean_score",))
median = _measure(_median, "median", "score")
sd = _measure(
    _sd,
    "sd",
    "spread",
    aliases=("std",),
    display_names={"std": "SD"},
    range=(0.0, np.inf),
    lower_is_better=True,
)


def quantile(q: float) -> Measure:
    """
    Return the q-quantile of the item scores.

    Examples
    --------
    >>> quantile(0.1).__name__
    'quantile(0.1)'
    """
    number = isinstance(q, (int, float, np.number)) and not isinstance(q, bool)
    if not number or not 0 < q < 1:
        raise fail("quantile needs a proportion between 0 and 1", q, "", 'write "quantile(0.1)"')
    formula = partial(_quantile, q=float(q))
    return _measure(formula, f"quantile({q:g})", "score")


def _quantile(scores, q):
    """Quantile of the item scores."""
    return scores.quantile(q)


def on_scale(measure: Measure, ends: tuple[float, float], lower_is_better: bool) -> Measure:
    """
    Return a measure adapted to a scale of scores and its direction.

    Parameters
    ----------
    measure : Measure
    ends : pair of float
        Lowest and highest possible score. Infinite if unknown.
    lower_is_better : bool
        Whether lower scores are better.
    """
    form = measure.form
    if not isinstance(form, OfScores):
        return measure
    facts: dict[str, Any] = {}
    if form.kind != "spread":
        facts["lower_is_better"] = lower_is_better
    if form.kind in ("mean", "score"):
        facts["range"] = ends
    if form.kind == "spread" and np.isfinite(ends).all():
        facts["range"] = (0.0, float(np.ptp(ends)) / 2)
    return replace(measure, **facts)


def share_above(mark: float) -> Measure:
    """
    Return the share of items with a score strictly above a threshold.

    See Also
    --------
    share_at_least : Share of items with a score at or above the threshold.

    Examples
    --------
    >>> share_above(0.5).__name__
    'share_above(0.5)'
    """
    return _share("share_above", mark, "strictly above", included=False)


def share_at_least(mark: float) -> Measure:
    """
    Return the share of items with a score at or above a threshold.

    Use it for statements such as "4 or higher" on a rubric.

    Examples
    --------
    >>> share_at_least(4).__name__
    'share_at_least(4)'
    """
    return _share("share_at_least", mark, "at least", included=True)


def _share(function, mark, words, *, included):
    number = isinstance(mark, (int, float, np.number)) and not isinstance(mark, bool)
    if not number or not np.isfinite(mark):
        raise fail(
            f"{function} needs a mark, which must be a finite number",
            mark,
            "",
            f'write "{function}(0.5)"',
        )
    name, form = f"{function}({mark:g})", OfScores("share", float(mark), included)
    facts: dict[str, Any] = {"range": (0.0, 1.0), "form": form}
    facts["display_names"] = {name: f"share {words} {mark:g}"}
    formula = partial(_share_at_least if included else _share_above, form=form)
    return _measure(formula, name, "share", **facts)


def _share_above(scores, form):
    """Share of items with a score strictly above the threshold."""
    return _mean(scores.of(form.counts))


def _share_at_least(scores, form):
    """Share of items with a score at or above the threshold."""
    return _mean(scores.of(form.counts))


FACTORIES = {"quantile": quantile, "share_above": share_above, "share_at_least": share_at_least}
