"""
The deterministic sibling of `bayescm.models.hierarchical_folds`: weighted nodes.

Unknown are the level of the rates that this cross-validation saw, the spread of the thresholds,
and the effects that all the folds have in common. Points of a lattice stand for them, each
weighted by its posterior density over the density of the points. The folds' own effects are
integrated out at every point (`exact.fold_effects`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bayescm.direct.folds import nodes as fold_nodes
from bayescm.direct.folds.nodes import Design, Nodes
from bayescm.distributions.discrete import Discrete, Stack
from bayescm.validate import fail

# As in the model, where they are explained.
SPREAD = 0.3
SEPARATION = 1.0
THRESHOLD_RHO = 0.4
DISAGREEMENT = 0.4

_KEPT = 64  # data sets whose nodes are kept for the next measure


@dataclass(frozen=True, eq=False)
class Quadrature(Discrete):
    """A distribution as weighted nodes of a continuous one: its quantiles are interpolated."""

    how: ClassVar[str] = "quadrature"

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the point below which lies the mass q."""
        return np.interp(np.asarray(q), self._below - self.weights / 2, self.values)

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the numerical error of a quantile: at most that of as many independent draws."""
        level, size = self.cdf(x), 1 / (self.weights**2).sum()
        width = np.sqrt(np.maximum(level * (1 - level), 1 / size) / size)
        return (self.quantile(level + width) - self.quantile(level - width)) / 2


class HierarchicalFolds:
    """
    The posterior, one set of nodes for each cross-validation.

    Parameters
    ----------
    cells : ndarray, shape (..., M, C, C)
        The folds' counts, all repeats in one row.
    design : Design
        How the folds came about, and the priors.
    """

    def __init__(self, cells: np.ndarray, design: Design):
        self.cells = cells
        self.design = design
        self._kept: dict[tuple, Nodes] = {}

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch of cross-validations."""
        return self.cells.shape[:-3]

    def distribution(self, kernel: Callable) -> Quadrature | Stack:
        """Return the distribution of the expected measure over training sets, shape (..., [C])."""
        distributions = [
            _distributions(kernel, self._nodes(index)) for index in np.ndindex(self.batch)
        ]
        shape = (*self.batch, *distributions[0].shape)
        return Stack(np.stack(distributions).reshape(shape)) if shape else distributions[0].item()

    def measure(
        self, kernels: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the expected measures, all from the same nodes."""
        columns: list[list[np.ndarray]] = [[] for _ in kernels]
        for index in np.ndindex(self.batch):
            nodes = self._nodes(index)
            chosen = nodes.choose(size, rng)
            for column, kernel in zip(columns, kernels, strict=True):
                column.append(nodes.expected(kernel)[chosen])
        return [_batched(column, self.batch) for column in columns]

    def fitted(
        self, kernels: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the mean measures of the classifiers at hand."""
        theta = self.draws(size, rng)["theta_fold"]
        return [kernel(theta).mean(axis=1 + len(self.batch)) for kernel in kernels]

    def draws(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the free variables of the PyMC model and of its rates."""
        every = [
            fold_nodes.variables(self.cells[index], self.design, size, rng)
            for index in np.ndindex(self.batch)
        ]
        return {name: _batched([each[name] for each in every], self.batch) for name in every[0]}

    def _nodes(self, index):
        if index not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[index] = fold_nodes.nodes(self.cells[index], self.design)
        return self._kept[index]


def _distributions(kernel, nodes):
    values = nodes.expected(kernel)
    distributions = np.empty(values.shape[1:], object)
    for index in np.ndindex(distributions.shape):
        distributions[index] = Quadrature.of(values[:, *index], nodes.weights)
    return distributions


def _batched(columns, batch):
    stacked = np.stack(columns, axis=1)
    return stacked.reshape(len(stacked), *batch, *stacked.shape[2:])


def hierarchical_folds(
    cells: ArrayLike,
    *,
    concentration: ArrayLike | None = None,
    spread: float | None = None,
    separation: float | None = None,
    rho: float | None = None,
    n_folds: int | None = None,
    test_share: float | None = None,
    fixed_totals: bool = True,
    prevalence: ArrayLike | None = None,
) -> HierarchicalFolds:
    """
    Return the posterior of the folds of a cross-validation, partially pooled.

    Parameters
    ----------
    cells : array_like, shape (..., M, C, C)
        Counts of the M folds; of repeats in one row, one repeat after the other. Index 1 of two
        classes is the positive one.
    concentration : array_like, optional
        Prior pseudo-counts of the typical rates, > 0: one number or (C, C); ``2 / C**2`` by
        default.
    spread : float, optional
        Scale of the half-Student-t prior of the spread of the thresholds, in units of u^(2/3).
    separation : float, optional
        Spread of the separations, in units of u.
    rho : float, optional
        Correlation between folds of the effects of training, in [0, 1). By default 1 minus the test
        share for the separation and 0.4 for the threshold.
    n_folds : int, optional
        Folds of one cross-validation; M / n_folds is the number of repeats. By default M.
    test_share : float, optional
        Size of a test set over that of all data; ``1 / n_folds`` by default.
    fixed_totals : bool, default True
        Whether the design fixed the class totals.
    prevalence : array_like, optional
        Share of each actual class, (C,), or of the positive one. By default the sample's, or
        unknown where the class totals are not fixed.

    Returns
    -------
    HierarchicalFolds

    Raises
    ------
    ValueError
        Where there are fewer than two folds, a class has no examples, or a keyword is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescm.measures.catalogue import resolve
    >>> folds = np.array([[[9, 1], [3, 7]], [[8, 2], [4, 6]], [[10, 0], [5, 5]]])
    >>> posterior = hierarchical_folds(folds)
    >>> posterior.distribution(resolve("recall")).eti(0.95).round(1)
    array([0.4, 0.8])
    """
    cells = np.asarray(cells, float)
    repeats = _repeats(cells, n_folds)
    share = repeats / cells.shape[-3] if test_share is None else test_share
    pairs = (THRESHOLD_RHO, 1 - share) if rho is None else (_within(rho, "rho"), rho)
    design = Design(
        prior=_prior(cells, concentration),
        spread=_positive(SPREAD if spread is None else spread, "spread"),
        separation=_positive(SEPARATION if separation is None else separation, "separation"),
        rho=pairs,
        repeats=repeats,
        disagreement=DISAGREEMENT,
        fixed=bool(fixed_totals),
        shares=None if prevalence is None else _shares(prevalence, cells.shape[-1]),
    )
    return HierarchicalFolds(cells, design)


def _repeats(cells, n_folds):
    folds = cells.shape[-3] if cells.ndim > 2 else 0
    if folds < 2:
        todo = "pass the counts of every fold, or use dirichlet_multinomial"
        raise fail("a cross-validation has two folds or more", cells.shape, "(..., M, C, C)", todo)
    if (cells.sum((-3, -1)) == 0).any():
        todo = "leave the class out of the counts"
        raise fail("a class has no examples in any fold", 0, "at least one example each", todo)
    n_folds = folds if n_folds is None else int(n_folds)
    if n_folds < 2 or folds % n_folds:
        todo = "correct the coordinate n_folds"
        divisors = [each for each in range(2, folds + 1) if folds % each == 0]
        raise fail("n_folds does not divide the folds", n_folds, f"{divisors}", todo)
    return folds // n_folds


def _prior(cells, concentration):
    classes = cells.shape[-1]
    prior = np.asarray(2 / classes**2 if concentration is None else concentration, float)
    if not ((prior > 0) & (prior < np.inf)).all():
        todo = "pass e.g. concentration=0.5"
        raise fail("a concentration is not a pseudo-count", concentration, "numbers > 0", todo)
    return np.broadcast_to(prior, (classes, classes))


def _positive(value, name):
    if not 0 < value < np.inf:
        raise fail(f"{name} is not a spread", value, "a number > 0", f"leave {name} out, or pass 1")
    return float(value)


def _within(rho, name):
    number = np.ndim(rho) == 0 and isinstance(rho, (Real, np.ndarray))
    if not number or not 0 <= rho < 1:
        todo = "leave it out, or pass the test share"
        raise fail(f"{name} is not such a correlation", rho, "0 <= rho < 1", todo)
    return float(rho)


def _shares(prevalence, classes):
    shares = np.asarray(prevalence, float)
    if classes == 2 and shares.ndim == 0:
        shares = np.stack([1 - shares, shares])
    if shares.shape != (classes,) or not ((shares > 0).all() and np.isclose(shares.sum(), 1)):
        todo = "pass e.g. prevalence=0.1"
        raise fail("a prevalence is not a share", prevalence, "shares > 0 that sum to 1", todo)
    return shares
