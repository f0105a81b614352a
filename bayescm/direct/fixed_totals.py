"""
The exact sibling of `bayescm.models.fixed_totals`: a Dirichlet for each row, times a prevalence.

With two classes the recall and the specificity are independent betas, as they are in
`dirichlet_multinomial`; only the distribution of the prevalence is another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions import dirichlet
from bayescm.distributions import lookup as table
from bayescm.distributions.beta import Beta, PointMass
from bayescm.validate import fail


@dataclass(frozen=True, eq=False)
class FixedTotals:
    """
    The posterior: independent rows ``Dirichlet(weights[..., i, :])`` and a prevalence.

    Attributes
    ----------
    cells : ndarray, shape (..., C, C)
        The counts.
    weights : ndarray, shape (..., C, C)
        Prior pseudo-counts plus counts.
    shares : ndarray, shape (..., C), or None
        The share of each actual class; None where it has a prior.
    prior : tuple of two floats, or None
        The parameters of the beta distribution of the positive class's share.
    """

    cells: np.ndarray
    weights: np.ndarray
    shares: Any
    prior: tuple[float, float] | None

    def take(self, index: np.ndarray) -> "FixedTotals":
        """Return some matrices of the batch, taken as flat."""
        size = self.weights.shape[-2:]
        cells, weights = (each.reshape(-1, *size)[index] for each in (self.cells, self.weights))
        shares = None if self.shares is None else self.shares.reshape(-1, size[0])[index]
        return FixedTotals(cells, weights, shares, self.prior)

    def distribution(self, kernel: Callable):
        """Return the exact distribution of a measure, shape (...), or None where there is none."""
        if self.weights.shape[-1] > 2:
            return table.distribution_of_rows(kernel, self.weights)
        return table.distribution_at_prevalence(kernel, self.weights, self._prevalence())

    def _prevalence(self):
        if self.prior is None:
            return PointMass(self.shares[..., 1])
        batch = np.ones(self.weights.shape[:-2])
        return Beta(self.prior[0] * batch, self.prior[1] * batch)

    def measure(self, kernels: Sequence[Callable], size: int, rng) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the measures, all from the same matrices."""
        theta = self.draws(size, rng)["theta"]
        return [kernel(theta) for kernel in kernels]

    def draws(self, size: int, rng) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        rates = dirichlet.draw(self.weights, size, rng)
        if self.prior is None:
            return {"rates": rates, "theta": self.shares[..., None] * rates}
        positive = rng.beta(*self.prior, size)
        shares = np.stack([1 - positive, positive], -1)
        shares = shares.reshape(size, *[1] * (rates.ndim - 3), 2, 1)
        return {"prevalence": positive, "rates": rates, "theta": shares * rates}

    def logpdf(self, rates: ArrayLike) -> np.ndarray:
        """Return the log posterior density of the rows at rates (..., C, C)."""
        return dirichlet.logpdf(np.asarray(rates), self.weights).sum(axis=-1)

    def log_marginal(self) -> np.ndarray:
        """Return the log marginal likelihood of each matrix, given its class totals."""
        return dirichlet.log_marginal(self.cells, self.weights).sum(axis=-1)


def fixed_totals(
    cells: ArrayLike,
    *,
    concentration: ArrayLike | None = None,
    prevalence: ArrayLike | tuple[float, float] | None = None,
) -> FixedTotals:
    """
    Return the posterior of confusion matrices whose class totals the design has fixed.

    Parameters
    ----------
    cells : array_like, shape (..., C, C)
        Counts >= 0; index 1 of two classes is the positive one.
    concentration : array_like, optional
        Prior pseudo-counts per cell, one number or (..., C, C); ``2 / C**2`` by default.
    prevalence : array_like or tuple, optional
        Share of each actual class: by default the sample's. With two classes one number (or an
        array of the shape of the batch) is the share of the positive class, and a *tuple* (a, b)
        is a prior Beta(a, b) for it, the same for the whole batch; otherwise shape ``(..., C)``,
        summing to 1.

    Returns
    -------
    FixedTotals

    Raises
    ------
    ValueError
        Where a share lies outside (0, 1), or the posterior is improper.

    Examples
    --------
    >>> from bayescm.measures.catalogue import resolve
    >>> posterior = fixed_totals([[30, 20], [5, 45]], prevalence=0.01)
    >>> posterior.distribution(resolve("recall")).mean().round(4).item()
    0.8922
    """
    cells = np.asarray(cells, float)
    weights = dirichlet.pseudo_counts(cells, concentration)
    if isinstance(prevalence, tuple):
        return FixedTotals(cells, weights, None, _prior(prevalence, cells.shape[-1]))
    return FixedTotals(cells, weights, _shares(cells, prevalence), None)


def _prior(pair, classes):
    if classes != 2 or len(pair) != 2 or not all(0 < each < np.inf for each in pair):
        raise fail(
            "a prior of the prevalence is not a beta distribution",
            pair,
            "two numbers > 0, for two classes",
            "pass e.g. prevalence=(2, 8)",
        )
    return float(pair[0]), float(pair[1])


def _shares(cells, prevalence):
    classes = cells.shape[-1]
    if prevalence is None:
        totals = cells.sum(axis=-1)
        shares = totals / totals.sum(axis=-1, keepdims=True)
        todo = "pass prevalence=, or use model='dirichlet_multinomial'"
    else:
        shares = np.asarray(prevalence, float)
        if classes == 2 and shares.shape in ((), cells.shape[:-2]):
            shares = np.stack([1 - shares, shares], axis=-1)
        todo = "pass e.g. prevalence=0.1"
    right = shares.ndim and shares.shape[-1] == classes
    if not right or not (((shares > 0) & (shares < 1)).all() and np.allclose(shares.sum(-1), 1)):
        what = "a class has no examples" if prevalence is None else "a prevalence is not a share"
        raise fail(what, shares.tolist(), "shares in (0, 1) that sum to 1", todo)
    return np.broadcast_to(shares, cells.shape[:-1])
