"""
The deterministic sibling of `bayescm.models.hierarchical_folds`: weighted nodes.

Unknown are the level of the rates that this cross-validation saw, the spread of the thresholds,
and the effects that all the folds have in common. Points of a lattice stand for them, each
weighted by its posterior density over the density of the points. The folds' own effects are
integrated out at every point (`direct.folds.effects`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.direct.arguments import class_shares, labelled, prior_of, shares_of
from bayescm.direct.base import Posterior
from bayescm.direct.folds import nodes as fold_nodes
from bayescm.direct.folds.halves import as_halves, differ
from bayescm.direct.folds.nodes import Design, Nodes
from bayescm.distributions.batches import Stack
from bayescm.distributions.dirichlet import default_concentration
from bayescm.distributions.discrete import WeightedNodes
from bayescm.evidence.folds import FOLDS, at_random, design, stack
from bayescm.validate import fail

# As in the model, where they are explained.
SPREAD, SEPARATION = 0.3, 1.0
WITH_HALVES = 0.8, 0.8
THRESHOLD_RHO = 0.4
DISAGREEMENT = 0.4

_RARE = 0.01  # p value of the folds' thresholds from which on a word is due
_KEPT = 64  # data sets whose nodes are kept for the next measure


class HierarchicalFolds(Posterior):
    """
    The posterior, one set of nodes for each cross-validation.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted)
    settings : Design
        How the folds came about, and the priors.
    """

    uses = FOLDS
    estimands = {  # noqa: RUF012
        "parameter": "theta_expected",
        "finite": "theta_fold",
        "predictive": "theta_new",
    }
    sampling_method = "quadrature"
    knows_groups = True

    def __init__(self, counts: xr.DataArray, settings: Design, halves: xr.DataArray | None = None):
        self.counts = counts
        self._halves = None if halves is None else halves.values.astype(float)
        self.settings = settings
        self.folds = stack(counts).values.astype(float)
        effect = counts.coords.get("design_effect", xr.DataArray(1.0))
        self._effect = effect.broadcast_like(self.batch).transpose(*self.batch.dims).values
        self._kept: dict[tuple, Nodes] = {}

    def distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of the expected measure over training sets, shape (..., [C])."""
        if of != "parameter":
            return None
        found = [_distributions(measure, self._nodes(index)) for index in self._places()]
        shape = (*self.batch.shape, *found[0].shape)
        return Stack(np.stack(found).reshape(shape)) if shape else found[0].item()

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the expected measures, all from the same nodes."""
        columns: list[list[np.ndarray]] = [[] for _ in measures]
        for index in self._places():
            nodes = self._nodes(index)
            chosen = nodes.choose(size, rng)
            for column, measure in zip(columns, measures, strict=True):
                column.append(nodes.expected(measure)[chosen])
        return [_batched(column, self.batch.shape) for column in columns]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the free variables of the PyMC model and of its rates."""
        every = [
            fold_nodes.variables(self.folds[index], self._settings(index), size, rng)
            for index in self._places()
        ]
        return {
            name: _batched([each[name] for each in every], self.batch.shape) for name in every[0]
        }

    def doubts(self, of: str = "parameter") -> list[str]:
        """Say where folds' thresholds differ much and no halves show how far; of random splits."""
        uneven = (
            "Random splits test some examples often and others hardly, which the model does not "
            "know: intervals may be too short. Repeated cross-validation tests all alike."
        )
        said = [uneven] if at_random(self.counts) else []
        if self._halves is not None:
            return said
        chance = min(differ(self.folds[i], self._settings(i)) for i in self._places())
        if chance > _RARE / self.batch.size:
            return said
        moved = (
            "The classifiers of the folds differ in how often they predict each class by more than "
            f"chance (p = {chance:.1g}): another training set may move the measures further than "
            "one cross-validation shows. Halves show how far: halves=cross_halves(estimator, X, y)."
        )
        return [*said, moved]

    def _places(self):
        return np.ndindex(self.batch.shape)

    def _nodes(self, index):
        if index not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[index] = fold_nodes.nodes(self.folds[index], self._settings(index))
        return self._kept[index]

    def _settings(self, index):
        halves = None if self._halves is None else self._halves[index]
        return replace(self.settings, effect=float(self._effect[index]), halves=halves)


def _distributions(kernel, nodes):
    values = nodes.expected(kernel)
    distributions = np.empty(values.shape[1:], object)
    for index in np.ndindex(distributions.shape):
        distributions[index] = WeightedNodes.of(values[:, *index], nodes.weights)
    return distributions


def _batched(columns, batch):
    stacked = np.stack(columns, axis=1)
    return stacked.reshape(len(stacked), *batch, *stacked.shape[2:])


def hierarchical_folds(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    spread: float | None = None,
    separation: float | None = None,
    rho: float | None = None,
    fixed_totals: bool | None = None,
    prevalence: Any = None,
    halves: xr.DataArray | None = None,
) -> HierarchicalFolds:
    """
    Return the posterior of the folds of a cross-validation, partially pooled.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted), or (..., M, C, C)
        Counts of the folds. The scalar coords ``n_folds``, ``test_share``, ``train_size`` and
        ``fixed_totals`` say how they came about, where that is not to be seen.
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
    fixed_totals : bool, optional
        Whether the design fixed the class totals; by default as the counts say.
    prevalence : array_like, optional
        Share of each actual class, (C,), or of the positive one. By default the sample's, or
        unknown where the class totals are not fixed.
    halves : DataArray, dims (..., repeat, half, actual, predicted), optional
        Counts of the same classifiers trained on disjoint halves, each tested on the other, of
        `bayescm.learners.cross_halves`. They show how far training sets move the threshold; the
        prior of its spread is wider then, and the correlation between folds unknown.

    Returns
    -------
    HierarchicalFolds

    Raises
    ------
    ValueError
        If there are fewer than two folds, a class has no examples, or a keyword is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescm.measures.catalogue import resolve
    >>> folds = np.array([[[9, 1], [3, 7]], [[8, 2], [4, 6]], [[10, 0], [5, 5]]])
    >>> posterior = hierarchical_folds(folds)
    >>> posterior.distribution(resolve("recall")).eti(0.95).round(1)
    array([0.4, 0.8])
    """
    table = labelled(counts, "fold")
    known, folds = design(table), stack(table).values
    repeats = _repeats(folds, known["n_folds"])
    pairs = (THRESHOLD_RHO, 1 - known["test_share"])
    shares = shares_of(prevalence, counts, table)
    usual = (SPREAD, SEPARATION) if halves is None else WITH_HALVES
    settings = Design(
        prior=_prior(folds, prior_of(concentration, counts, (*table.dims[:-3], *FOLDS))),
        spread=_positive(usual[0] if spread is None else spread, "spread"),
        separation=_positive(usual[1] if separation is None else separation, "separation"),
        rho=pairs if rho is None else (_within(rho, "rho"), rho),
        repeats=repeats,
        disagreement=DISAGREEMENT,
        fixed=bool(known["fixed_totals"] if fixed_totals is None else fixed_totals),
        shares=None if shares is None else class_shares(shares, folds.shape[-1]),
        smaller=_smaller(known),
        totals_effect=float(table.coords.get("totals_effect", 1.0)),
    )
    found = HierarchicalFolds(table, settings)
    if halves is None:
        return found
    if rho is not None:
        todo = "leave rho out"
        raise fail("halves tell the correlation between folds", rho, "no rho with halves", todo)
    return HierarchicalFolds(table, settings, as_halves(halves, found))


def _repeats(folds, n_folds):
    number = folds.shape[-3]
    if (folds.sum((-3, -1)) == 0).any():
        todo = "leave the class out of the counts"
        raise fail(
            "a class has no examples in any fold", ..., "at least one example of each class", todo
        )
    if n_folds < 2 or number % n_folds:
        todo = "correct the coordinate n_folds"
        divisors = [each for each in range(2, number + 1) if number % each == 0]
        raise fail("n_folds does not divide the number of folds", n_folds, f"{divisors}", todo)
    return number // int(n_folds)


def _smaller(known):
    """Return by how much u is larger for these training sets than for all but one fold of K."""
    return float(np.sqrt((known["n_folds"] - 1) * known["test_share"] / known["train_size"]))


def _prior(cells, concentration):
    classes = cells.shape[-1]
    default = default_concentration(classes)
    prior = np.asarray(default if concentration is None else concentration, float)
    if not ((prior > 0) & (prior < np.inf)).all():
        todo = "pass e.g. concentration=0.5"
        raise fail("concentration must be positive", concentration, "numbers > 0", todo)
    return np.broadcast_to(prior, (classes, classes))


def _positive(value, name):
    if not 0 < value < np.inf:
        raise fail(
            f"{name} must be positive", value, "a number > 0", f"leave {name} out, or pass 1"
        )
    return float(value)


def _within(rho, name):
    number = np.ndim(rho) == 0 and isinstance(rho, (Real, np.ndarray))
    if not number or not 0 <= rho < 1:
        todo = "leave it out, or pass the test share"
        raise fail(f"{name} must be a correlation", rho, "0 <= rho < 1", todo)
    return float(rho)
