"""The distribution of a measure of many matrices by draws that are never all in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions.discrete import Empirical

_NUMBERS = 2**18  # of all cells of a chunk: they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Drawn:
    """
    The distribution of draws, made anew for every question, a few matrices at a time.

    The draws of a matrix depend on the seed and on its place in the batch only.

    Attributes
    ----------
    posterior : Posterior
        Whose members are to be had apart, by ``part(index)``.
    kernel : Measure
    size : int
        Draws of each matrix.
    seed : int
    of : str
        The estimand.
    """

    how: ClassVar[str] = "draws"
    posterior: Any
    kernel: Callable
    size: int
    seed: int
    of: str = "parameter"

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the share of the draws of at most x."""
        return self._ask(lambda distribution: distribution.cdf(x))

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the share of the draws above x."""
        return self._ask(lambda distribution: distribution.sf(x))

    def quantile(self, q: float) -> np.ndarray:
        """Return the point below which lies the share q."""
        return self._ask(lambda distribution: distribution.quantile(q))

    def mean(self) -> np.ndarray:
        """Return the mean of the defined draws."""
        return self._ask(lambda distribution: distribution.mean())

    def sd(self) -> np.ndarray:
        """Return the standard deviation of the defined draws."""
        return self._ask(lambda distribution: distribution.sd())

    def skewness(self) -> np.ndarray:
        """Return the third standardised moment of the defined draws."""
        return self._ask(lambda distribution: distribution.skewness())

    def mode(self) -> np.ndarray:
        """Return the mode of a kernel density estimate."""
        return self._ask(lambda distribution: distribution.mode())

    def eti(self, prob: float) -> np.ndarray:
        """Return the equal-tailed interval, shape (..., 2)."""
        return self._ask(lambda distribution: distribution.eti(prob))

    def hdi(self, prob: float) -> np.ndarray:
        """Return the shortest interval with the mass, shape (..., 2)."""
        return self._ask(lambda distribution: distribution.hdi(prob))

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return ``interior``."""
        return np.asarray("interior")

    @property
    def undefined(self) -> np.ndarray:
        """The share of undefined draws."""
        return self._ask(lambda distribution: distribution.undefined)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the Monte Carlo standard error of a quantile that came out as x."""
        shape = np.shape(self._ask(lambda distribution: distribution.undefined))
        points = np.broadcast_to(x, shape)
        batch = self.posterior.batch.shape
        rows = iter(np.split(points.reshape(-1, *shape[len(batch) :]), _cuts(self)))
        return self._ask(lambda distribution: distribution.error_at(next(rows)))

    def _ask(self, question):
        return together([self], question)[0]


def together(distributions: Sequence[Drawn], question: Callable) -> list[np.ndarray]:
    """
    Return the answers of several distributions of one posterior, all from the same draws.

    Parameters
    ----------
    distributions : sequence of Drawn
        With the same posterior, size and seed.
    question : callable
        From an `Empirical` distribution to an array whose first axes are its batch.
    """
    first = distributions[0]
    batch = first.posterior.batch.shape
    index = np.arange(int(np.prod(batch)))
    answers: list[list[np.ndarray]] = [[] for _ in distributions]
    for number, part in enumerate(np.split(index, _cuts(first))):
        rng = np.random.default_rng(np.random.SeedSequence(first.seed, spawn_key=(number,)))
        kernels = [each.kernel for each in distributions]
        values = first.posterior.part(part).draw(kernels, first.size, rng, of=first.of)
        for answer, draws in zip(answers, values, strict=True):
            answer.append(question(Empirical(draws)))
    joined = [np.concatenate(answer) for answer in answers]
    return [each.reshape((*batch, *each.shape[1:])) for each in joined]


def _cuts(distribution):
    """Return where the flat batch is cut."""
    cells = distribution.posterior.counts.shape[-1] ** 2
    rows = max(1, _NUMBERS // (distribution.size * cells))
    return np.arange(rows, distribution.posterior.batch.size, rows)
