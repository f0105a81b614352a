"""
Averages over many classes: their distribution by moments, and draws where these fail.

Cells are independent gamma variables, of which all measures of shares are ratios. So the recalls of
the classes are independent beta variables, and so are their precisions; F1 of two classes have in
common the examples of one that are taken for the other, and covary a little.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayescm.distributions.base import Distribution, default_accuracy
from bayescm.distributions.batches import InTurn
from bayescm.distributions.beta import F1, Beta
from bayescm.distributions.integrals.near_beta import NearBeta, excess

_FIFTH, _SIXTH = 2.6 / 120, 8.5 / 720
_SCORE = 1.96  # of the bounds whose error decides


def mean_of(parts: Beta | F1, weights: np.ndarray | None) -> NearBeta:
    """
    Return the distribution of the mean over classes of a measure of one class, by its moments.

    Parameters
    ----------
    parts : Beta or F1, batch (..., C)
        The distribution of every class: of a function of tp / (tp + fn + fp), or of a proportion of
        a row or of a column.
    weights : ndarray, shape (..., C, C), or None
        The Dirichlet parameters; None where the classes are independent.
    """
    mean, sd = parts.mean(), parts.sd()
    second, third, fourth = (
        each.sum(-1) for each in (sd**2, parts.skewness() * sd**3, excess(mean, sd) * sd**4)
    )
    joint, lean, doubt = np.zeros(3) if weights is None else _together(parts, weights)
    total, classes = second + joint, mean.shape[-1]
    return NearBeta(
        mean.mean(-1),
        np.sqrt(total) / classes,
        (third + lean) / total**1.5,
        fourth / second**2,
        np.abs(doubt) / total / 2 + _uneven(mean, sd, second),
    )


def _uneven(mean, sd, second):
    """
    Return what classes of few examples may do beyond four moments, in parts of the spread.

    The fifth and the sixth cumulant of a class are about its variance times powers of the step that
    one more example makes, and those of the beta distribution likewise. `_FIFTH` and `_SIXTH` are
    half of what a difference does at the ends of 95 %: the error that is stated is twice this.
    """
    classes = mean.shape[-1]
    step, even = _step(mean, sd**2), classes * _step(mean.mean(-1), second / classes**2)
    gaps = [((sd**2 * step**k).sum(-1) / second - even**k) / second ** (k / 2) for k in (3, 4)]
    return (_FIFTH * np.abs(gaps[0]) + _SIXTH * np.abs(gaps[1])) / _SCORE


def _step(mean, variance):
    """Return what one example more moves a beta variable by, as far as cumulants go."""
    return 2 / (mean * (1 - mean) / variance + 1)


def _together(parts, weights):
    """
    Return what classes that share cells add to the second and the third cumulant of the sum.

    To the first order in the variance of the cells. The slope of a class in the cells that it is
    wrong in is that of its mean. What is left out is smaller by the size of the class, and is
    returned as well.
    """
    weight = 0.5 if isinstance(parts, F1) else 1.0
    hit, wrong = np.asarray(parts.a), np.asarray(parts.b)
    base = hit + weight * wrong
    plain = -weight * hit / base**2
    by_hit, bend = weight * wrong / base**2, 2 * weight**2 * hit / base**3
    cross = weight * (hit - weight * wrong) / base**3
    shared = (weights + np.swapaxes(weights, -1, -2)) * (1 - np.eye(weights.shape[-1]))
    step = 1e-4 * (1 + wrong)
    slope = (replace(parts, b=wrong + step).mean() - parts.mean()) / step
    joint = slope * np.einsum("...ij,...j->...i", shared, slope)
    reach = np.einsum("...ij,...j->...i", shared, plain)
    lean = 2 * cross * hit * by_hit * reach + bend * (2 * wrong * plain + reach) * reach
    third = 3 * (lean + 2 * plain**2 * reach).sum(-1)
    return joint.sum(-1), third, (joint / (1 + hit + wrong)).sum(-1)


@dataclass(frozen=True, eq=False)
class Guarded(InTurn):
    """
    A batch by moments, and by draws of those members for which these are not enough.

    Attributes
    ----------
    fast : NearBeta
    slow : callable
        From indices of the flat batch to the draws of these members.
    least : float
        The error that is good enough in any case, in standard deviations: that of the draws.
    accuracy : float, optional
        The error of a bound that is good enough; by default 1e-6, and 1e-3 for more than 1,000.
    """

    fast: NearBeta
    slow: Callable[[np.ndarray], Distribution]
    least: float
    accuracy: float | None = None

    @property
    def how(self) -> str:  # type: ignore[override]
        bad = np.count_nonzero(~self.good)
        if bad in (0, self.good.size):
            return "draws" if bad else self.fast.how
        return f"{self.fast.how}, draws for {bad} of {self.good.size}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.fast.shape

    @property
    def support(self) -> tuple[float, float]:
        return self.fast.support

    @cached_property
    def good(self) -> np.ndarray:
        """Whether the moments are enough, (size of the flat batch,)."""
        accuracy = self.accuracy or default_accuracy(np.size(self.fast.center))
        ends = np.stack([self.fast.error_of(score) for score in (-_SCORE, _SCORE)])
        most = np.maximum(accuracy, self.least * self.fast.sd())
        return np.ravel((ends <= most).all(0))

    def to(self, accuracy: float) -> "Guarded":
        return replace(self, accuracy=accuracy)

    def take(self, index: Any) -> Distribution:
        places = np.arange(self.good.size)[index]
        found = replace(self, fast=self.fast.take(index), slow=lambda k: self.slow(places[k]))
        return found

    @cached_property
    def _pieces(self):
        found = [
            (np.flatnonzero(self.good), self.fast.take),
            (np.flatnonzero(~self.good), self.slow),
        ]
        return [(index, of(index)) for index, of in found if index.size]

    def _ask(self, name, *points):
        if not points or name in ("eti", "hdi", "hdi_kind"):
            found = self._joined([getattr(each, name)(*points) for _, each in self._pieces], 0)
            return found.reshape((*self.shape, *found.shape[1:]))[()]
        shape = np.broadcast_shapes(np.shape(points[0]), self.shape)
        lead = shape[: len(shape) - len(self.shape)]
        flat = np.broadcast_to(points[0], shape).reshape((*lead, -1))
        each_of = [getattr(each, name)(flat[..., index]) for index, each in self._pieces]
        return self._joined(each_of, -1).reshape(shape)[()]

    def _joined(self, answers, axis):
        """Put answers about the pieces into the order of the batch."""
        order = np.argsort(np.concatenate([index for index, _ in self._pieces]))
        return np.take(np.concatenate(answers, axis), order, axis)
