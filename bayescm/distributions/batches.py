"""Batches with separately evaluated members: distributions of any class, and lazy draws."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayescm.distributions.base import Distribution, one_by_one
from bayescm.distributions.empirical import Empirical
from bayescm.distributions.hdi import INTERIOR
from bayescm.measures.measure import by_class, of_members

_NUMBERS = 2**18  # number of cells in all draws of a chunk, which fits into the processor's cache


def _asking(name):
    def method(self, *points):
        return self._ask(name, *points)

    method.__name__ = name
    return method


class InTurn(Distribution):
    """Base class that forwards each method to ``_ask(name, *points)``."""

    cdf, sf, mass_at = _asking("cdf"), _asking("sf"), _asking("mass_at")
    probability_error = _asking("probability_error")
    quantile, pdf, error_at = _asking("quantile"), _asking("pdf"), _asking("error_at")
    mean, sd, skewness = _asking("mean"), _asking("sd"), _asking("skewness")
    mode, expected_loss = _asking("mode"), _asking("expected_loss")
    eti, hdi, hdi_kind = _asking("eti"), _asking("hdi"), _asking("hdi_kind")

    def _ask(self, name: str, *points: Any) -> np.ndarray:
        raise NotImplementedError


def precompute_intervals(
    distributions: Sequence[Distribution], prob: float, kind: str, moments: bool = False
) -> None:
    """Compute and cache the intervals of single numbers of the same class together."""
    alike = defaultdict(list)
    for distribution in distributions:
        alike[type(distribution)].append(distribution)
    for kin, members in alike.items():
        if len(members) > 1:
            kin.precompute(members, prob, kind, moments)


@dataclass(frozen=True, eq=False)
class Stack(InTurn):
    """
    Batch of separate distributions, which may belong to different classes.

    Attributes
    ----------
    distributions : ndarray of objects, shape (...)
        Distribution of each member.
    """

    distributions: np.ndarray

    @property
    def how(self) -> str:  # type: ignore[override]
        return "; ".join(
            dict.fromkeys(distribution.how for distribution in self.distributions.flat)
        )

    @property
    def undefined(self) -> np.ndarray:
        fractions = [np.asarray(distribution.undefined) for distribution in self.distributions.flat]
        return np.reshape(fractions, self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.distributions.shape

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        ends = np.array([distribution.support for distribution in self.distributions.flat])
        return ends[:, 0].reshape(self.shape), ends[:, 1].reshape(self.shape)

    def take(self, index: Any) -> Distribution:
        members = self.distributions.ravel()[index]
        return Stack(members) if isinstance(members, np.ndarray) else members

    def with_tolerance(self, accuracy: float) -> "Stack":
        members = np.empty(self.shape, object)
        members.ravel()[:] = [
            distribution.with_tolerance(accuracy) for distribution in self.distributions.flat
        ]
        return Stack(members)

    def interval_with_error(self, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        pairs = [
            distribution.interval_with_error(prob, kind) for distribution in self.distributions.flat
        ]
        ends, errors = np.swapaxes(pairs, 0, 1).reshape(2, *self.shape, 2)
        return ends, errors

    def _ask(self, name, *points):
        def ask(x):
            flat = zip(self.distributions.flat, np.broadcast_to(x, self.shape).flat, strict=True)
            answers = np.asarray(
                [getattr(member, name)(*[at] * len(points)) for member, at in flat]
            )
            return answers.reshape(*self.shape, *answers.shape[1:])

        return one_by_one(ask, points[0], self.shape) if points else ask(np.nan)


@dataclass(frozen=True, eq=False)
class LazyDraws(InTurn):
    """
    Draws of a measure of many confusion matrices, which are never all in memory.

    The draws are repeated for every method call, a few matrices at a time. They depend only on the
    seed and on the position of the matrix in the batch, so all methods use the same draws. The
    results equal the results of `Empirical` for these draws.

    Attributes
    ----------
    posterior : Posterior
        Posterior whose members can be selected with ``isel_batch(index)``.
    measure : Measure
        Measure to evaluate.
    size : int
        Number of draws per matrix.
    seed : int
        Seed of the draws.
    of : str
        Estimand.
    """

    how: ClassVar[str] = "draws"
    posterior: Any
    measure: Callable
    size: int
    seed: int
    of: str = "parameter"

    @cached_property
    def shape(self) -> tuple[int, ...]:
        classes = self.posterior.counts.shape[-1]
        labels = (classes,) if by_class(self.measure, classes) else ()
        return (*self.posterior.batch.shape, *labels)

    @property
    def undefined(self) -> np.ndarray:
        return together([self], lambda drawn: drawn.undefined)[0]

    def hdi_kind(self, prob: float) -> np.ndarray:
        return np.full(self.shape, INTERIOR)

    def _ask(self, name, *points):
        def ask(x):
            parts = iter(_in_parts(self, np.broadcast_to(x, self.shape)))
            return together([self], lambda drawn: getattr(drawn, name)(next(parts)))[0]

        if name in ("eti", "hdi") or not points:
            return together([self], lambda drawn: getattr(drawn, name)(*points))[0]
        return one_by_one(ask, points[0], self.shape)


def together(distributions: Sequence[LazyDraws], question: Callable) -> list[np.ndarray]:
    """
    Return results for several distributions of one posterior, all from the same draws.

    Parameters
    ----------
    distributions : sequence of LazyDraws
        Distributions with the same posterior, size and seed.
    question : callable
        Maps an `Empirical` distribution to an array whose first axes are its batch.
    """
    first = distributions[0]
    batch = first.posterior.batch.shape
    measures = [distribution.measure for distribution in distributions]
    answers: list[list[np.ndarray]] = [[] for _ in distributions]
    for number, part in enumerate(_in_parts(first, np.arange(int(np.prod(batch))).reshape(batch))):
        rng = np.random.default_rng(np.random.SeedSequence(first.seed, spawn_key=(number,)))
        of_part = [of_members(measure, part) for measure in measures]
        members = first.posterior.isel_batch(part)
        values = members.draw_in_parts(of_part, first.size, rng, of=first.of)
        for answer, draws in zip(answers, values, strict=True):
            answer.append(question(Empirical(draws)))
    joined = [np.concatenate(answer) for answer in answers]
    return [array.reshape((*batch, *array.shape[1:])) for array in joined]


def _in_parts(distribution, values):
    """Split the flat batch into parts of a few matrices."""
    classes, batch = distribution.posterior.counts.shape[-1], distribution.posterior.batch.shape
    flat = values.reshape(-1, *values.shape[len(batch) :])
    rows = max(1, _NUMBERS // (distribution.size * classes**2))
    return np.split(flat, np.arange(rows, len(flat), rows))
