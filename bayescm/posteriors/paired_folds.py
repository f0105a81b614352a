r"""
The direct posterior of `bayescm.models.paired_folds`: a Dirichlet distribution, and grids.

The joint outcomes of all folds are conjugate. Training moves the thresholds of each classifier m
besides; the mean over K folds keeps, for class j, the variance

.. math:: r_m^2 e_j^2 \left(\rho_m + \frac{1 - \rho_m}{K}\right),

where e is the standard error of a log class total and r the spread in units of u; and training
moves its separation. How far thresholds move shows in the variance of the numbers of each answer
over folds, and over disjoint halves; how far together, in the variance of the differences of two
classifiers; how far separations move, in the numbers of right answers of halves. Each variance is a
scaled chi-squared, as in the model. Spreads and correlations are drawn from grids of their
posterior density.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import log_softmax

from bayescm.evidence.outcomes import as_outcomes, tables_of
from bayescm.posteriors.base import Posterior
from bayescm.posteriors.hierarchical_folds import (
    HALF_NOISE,
    HALF_RATE,
    HALF_REPEATS,
    log_gamma,
    moved,
)
from bayescm.posteriors.paired_outcomes import PairedOutcomes, paired_outcomes
from bayescm.validate import fail

# As in the model, where they are explained: without halves, and with them.
SPREAD, SEPARATION = (0.3, 0.8), (1.0, 0.8)
RHO = 0.4
UNKNOWN, RIGHT_RATE = 0.7, 0.7

_MOST = 20_000  # joint cells


class PairedFolds(Posterior):
    """
    The posterior of classifiers cross-validated on the same folds.

    Parameters
    ----------
    counts : DataArray, dims (fold, classifier, actual, predicted)
    pooled_outcomes : PairedOutcomes
        The joint outcomes of all folds.
    movement : Movement
        How far training sets move each classifier.
    separations : Separations
        How far they move, and how far together, whether one test example is easy or hard.
    fixed : bool
        Whether the design fixed the class totals.
    """

    pooled_dims = ("fold",)
    pairs = ("classifier",)
    estimands = {"parameter": "theta"}  # noqa: RUF012
    how = "conjugate and a grid"
    sampling_method = "quadrature"

    def __init__(self, counts, pooled_outcomes, movement, separations, fixed):
        self.counts = counts.transpose("fold", ...)
        self.outcomes: PairedOutcomes = pooled_outcomes
        self.movement: Movement = movement
        self.separations: Separations = separations
        self._fixed = fixed

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw every classifier's cell probabilities jointly, shape ``(size, J, C, C)``."""
        tables = self.outcomes.cells("parameter", size, rng)
        return self._moved(tables, self._effects(size, rng))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model."""
        drawn = self.outcomes.variables(size, rng)
        effects = self._effects(size, rng)
        return drawn | effects | {"theta": self._moved(drawn["theta"], effects)}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log density of the free variables, up to a constant."""
        known = {name: np.asarray(values) for name, values in variables.items()}
        rho = known.get("rho_threshold", np.full(known["spread"].shape, self.movement.rho))
        logs = self.outcomes.log_density(known)
        logs = logs + self.movement.log_density(
            known["spread"] / self._unit, rho, known["correlation"]
        )
        if self.separations.halves is not None:
            logs = logs + self.separations.log_density(known["separation"])
        squares = (known["training_common"] ** 2).sum(-1) + (known["training"] ** 2).sum((-2, -1))
        return logs - squares / 2

    @property
    def _unit(self):
        return np.sqrt(2 * np.median(self.movement.error**2))

    def _effects(self, size, rng):
        ratio, rho, correlation = self.movement.draw(size, rng)
        judges, classes = self.counts.sizes["classifier"], self.counts.shape[-1]
        return {
            "spread": ratio * self._unit,
            "rho_threshold": rho,
            "correlation": correlation,
            "separation": self.separations.draw(size, rng),
            "training_common": rng.standard_normal((size, classes)),
            "training": rng.standard_normal((size, judges, 1 + classes)),
        }

    def _moved(self, tables, drawn):
        """Move the tables (size, J, C, C) by the effects of training."""
        spread, rho = drawn["spread"], drawn["rho_threshold"]
        left = rho + (1 - rho) / self.counts.sizes["fold"]
        column = ((spread / self._unit) ** 2 * left)[..., None] * self.movement.error**2
        together, training = drawn["correlation"][:, None, None], drawn["training"]
        common = np.sqrt(together) * drawn["training_common"][:, None]
        threshold = np.sqrt(column) * (common + np.sqrt(1 - together) * training[..., 1:])
        apart = drawn["separation"][:, None] * (training[..., 0] @ self.separations.root.T)
        effects = np.concatenate([apart[..., None], threshold], axis=-1)
        with np.errstate(divide="ignore"):
            rates = np.exp(log_softmax(moved(np.log(tables), effects), axis=-1))
        shares = tables.sum(-1, keepdims=True)
        if self._fixed:
            totals = self.counts.values.sum((0, -1))[0]
            shares = (totals / totals.sum())[:, None]
        return shares * rates


def paired_folds(
    outcomes: xr.Dataset,
    *,
    concentration: Any = None,
    spread: float | None = None,
    separation: float | None = None,
) -> PairedFolds:
    """
    Return the posterior of classifiers cross-validated on the same folds.

    Parameters
    ----------
    outcomes : Dataset, dims (fold, outcome)
        From `bayescm.cross_outcomes`, or `bayescm.from_classifiers` with ``by={"fold": fold}``.
    concentration : array_like, optional
        Each classifier's own prior pseudo-counts, > 0; ``2 / C**2`` by default.
    spread : float, optional
        Scale of the half-Student-t prior of the spread of the thresholds, in units of u^(2/3).
    separation : float, optional
        Spread of the separations, in units of u; with halves the median of its prior.

    Returns
    -------
    PairedFolds

    Raises
    ------
    ValueError
        If there are no folds, or other dims besides; fewer than two classifiers; too many joint
        cells; or a keyword is out of range.

    Examples
    --------
    >>> import bayescm as bcm
    >>> actual, fold = [0, 1] * 12, [0] * 8 + [1] * 8 + [2] * 8
    >>> answers = {"a": [0, 1] * 11 + [1, 0], "b": [0, 1] * 8 + [1, 0] * 4}
    >>> both = bcm.from_classifiers(actual, answers, by={"fold": fold})
    >>> table = bcm.compare(both, "accuracy", model="paired_folds")
    >>> table["p_better"].round(1).tolist()
    [1.0]
    """
    outcomes = as_outcomes(outcomes)
    if outcomes["counts"].dims != ("fold", "outcome") or outcomes.sizes["fold"] < 2:
        todo = "use cross_outcomes, or compare the counts of each classifier"
        allowed = "dims (fold, outcome), two folds or more"
        raise fail("not the folds of one cross-validation", dict(outcomes.sizes), allowed, todo)
    if outcomes.sizes["classifier"] < 2:
        todo = "use hierarchical_folds for one"
        raise fail("only one classifier", outcomes["classifier"].values, "two or more", todo)
    alone = outcomes.drop_vars("halves", errors="ignore")
    pooled = paired_outcomes(alone.sum("fold"), concentration=concentration)
    if pooled.size > _MOST:
        raise fail("too many joint outcomes", pooled.size, f"<= {_MOST}", "compare fewer at once")
    counts = tables_of(outcomes)
    totals = counts.values.sum((0, -1))[0]
    if (totals == 0).any():
        todo = "leave the class out of the counts"
        raise fail("a class has no examples in any fold", ..., "at least one of each class", todo)
    error = 1 / np.sqrt(np.maximum(totals, 1))
    unit = np.sqrt(2 * np.median(error**2))
    having = int("halves" in outcomes)
    base = unit * _positive(SEPARATION[having] if separation is None else separation, "separation")
    scale = _positive(SPREAD[having] if spread is None else spread, "spread")
    said, right = _seen(outcomes, pooled)
    movement = Movement(*said, error, scale * unit ** (-1 / 3), RHO)
    separations = Separations(*right, base, unit)
    fixed = bool(counts.coords["fixed_totals"])
    return PairedFolds(counts, pooled, movement, separations, fixed)


def _positive(value, name):
    if not 0 < value < np.inf:
        todo = f"leave {name} out, or pass 1"
        raise fail(f"{name} must be positive", value, "a number > 0", todo)
    return float(value)


# The variance of the numbers of each answer, and of right ones, over test sets.


@dataclass(frozen=True, eq=False)
class Numbers:
    """
    The numbers of events over test sets, of each answer say, and what examples alone would do.

    Attributes
    ----------
    variance : ndarray, shape (J, J)
        Variance, and covariance of two classifiers, summed over the events.
    covariance : ndarray, shape (J, L, J, L)
        Of the numbers in one test set, for classifiers that do not move.
    worth : float
        Degrees of freedom of one event.
    """

    variance: np.ndarray
    covariance: np.ndarray
    worth: float

    def alone(self, moved: np.ndarray) -> np.ndarray:
        """Return each classifier's log density, (..., J), thresholds moved by (..., J, C)."""
        own = np.stack([self.covariance[each, :, each] for each in range(len(self.variance))])
        trace, squares = np.trace(own, axis1=-2, axis2=-1), (own**2).sum(-2)
        found = np.maximum(self.variance.diagonal(), 1e-3 * trace)
        mean = trace + (moved * squares).sum(-1)
        degrees = self.worth * trace**2 / squares.sum(-1)
        return log_gamma(found, mean, degrees)

    def apart(self, moved: np.ndarray, correlation: np.ndarray) -> np.ndarray:
        """Return the log density (..., len(correlation)) of the variance of differences."""
        variance, covariance = self.variance, self.covariance
        found, alone, degrees, mean = [], [], [], np.zeros(())
        pairs = list(combinations(range(len(variance)), 2))
        for one, two in pairs:
            first, second = covariance[one, :, one], covariance[two, :, two]
            across = covariance[one, :, two]
            apart = first + second - across - across.T
            found.append(variance[one, one] + variance[two, two] - 2 * variance[one, two])
            alone.append(np.trace(apart))
            degrees.append(self.worth * alone[-1] ** 2 / (apart**2).sum())
            ways = moved[..., one, :], moved[..., two, :]
            going = ways[0] @ (first**2).sum(0) + ways[1] @ (second**2).sum(0)
            together = np.sqrt(ways[0] * ways[1]) @ (first * second).sum(0)
            mean = mean + going[..., None] - 2 * together[..., None] * correlation
        least = np.mean(alone)
        seen = max(np.mean(found), 1e-3 * least)
        return log_gamma(seen, least + mean / len(pairs), np.mean(degrees))


def numbers(
    counts: np.ndarray, truth: np.ndarray, events: np.ndarray, prior: np.ndarray
) -> Numbers:
    """
    Return what the joint outcomes (R, F, cells) of R divisions into F test sets show.

    Parameters
    ----------
    counts : ndarray, shape (R, F, cells)
    truth : ndarray, shape (C, cells)
        Which cells are of which actual class.
    events : ndarray, shape (J, L, cells)
        Which cells are which of L events of each classifier: each answer, or to be right.
    prior : ndarray, shape (cells,)
    """
    repeats, folds, _ = counts.shape
    kinds = events.reshape(-1, events.shape[-1])
    totals = counts @ truth.T
    rates = np.einsum("rx,ix,kx->rik", counts.sum(1), truth, kinds, optimize=True)
    rates = rates / np.maximum(totals.sum(1), 1)[..., None]
    gap = counts @ kinds.T - totals @ rates
    gap = gap.reshape(repeats, folds, *events.shape[:2])
    variance = np.einsum("rfjl,rfml->jm", gap, gap) / (repeats * (folds - 1))
    given = truth * (counts.sum((0, 1)) + prior)
    given = given / given.sum(-1, keepdims=True)
    size = totals.mean((0, 1))
    mean = given @ kinds.T
    covariance = (kinds * (size @ given)) @ kinds.T - (mean.T * size) @ mean
    worth = repeats * (folds - 1) / (1 + (repeats - 1) / HALF_REPEATS)
    return Numbers(variance, covariance.reshape(*events.shape[:2], *events.shape[:2]), worth)


def _seen(outcomes: xr.Dataset, pooled: PairedOutcomes) -> list[tuple[Numbers, Numbers | None]]:
    """Return what folds, and halves or None, show of each answer, and of those that are right."""
    labels = outcomes["label"].values.tolist()
    rows = [outcomes["actual"].values, *outcomes["predicted"].transpose("classifier", ...).values]
    codes = [[labels.index(label) for label in row.tolist()] for row in rows]
    place = np.ravel_multi_index(tuple(np.array(codes)), (len(labels),) * len(codes))
    actual, answers = pooled.joint_cells[0], pooled.joint_cells[1:]
    at = np.arange(len(labels))[:, None]
    truth = (actual == at).astype(float)
    prior = replace(pooled, outcomes=np.zeros_like(pooled.outcomes)).joint_weights
    having = [name for name in ("counts", "halves") if name in outcomes]
    tables = [_table(outcomes[name], place, pooled) for name in having]
    shown = []
    for events in (answers[:, None] == at, answers[:, None] == actual):
        known = truth, events.astype(float), prior
        folds, *halves = [numbers(table, *known) for table in tables]
        shown.append((folds, halves[0] if halves else None))
    return shown


def _table(counts, place, pooled):
    """Return counts (R, F, cells) of all joint cells; one may come more than once."""
    found = counts.transpose(..., "outcome").values
    table = np.zeros((*found.shape[:-1], pooled.size))
    for index, cell in enumerate(place):
        table[..., cell] += found[..., index]
    return table if table.ndim == 3 else table[None]


# How far training moves the thresholds of each classifier, and how far together.

_RATIO = np.geomspace(0.02, 40, 48)  # spread of the thresholds in units of u
_RHO = (np.arange(16) + 0.5) / 16
_CORRELATION = (np.arange(25) + 0.5) / 25


@dataclass(frozen=True, eq=False)
class Movement:
    """
    The posterior of how far thresholds move: a grid for each classifier, and one for all.

    Attributes
    ----------
    folds : Numbers
    halves : Numbers or None
    error : ndarray, shape (C,)
        Standard error of a log class total.
    scale : float
        Scale of the prior of the spread, in units of u.
    rho : float
        Share of the variance that folds have in common, without halves.
    """

    folds: Numbers
    halves: Numbers | None
    error: np.ndarray
    scale: float
    rho: float

    def log_density(self, ratio, rho, correlation):
        """Return the log density of spreads over u and rho (..., J), and a correlation (...)."""
        logs = self._own(ratio, rho).sum(-1)
        _, moved = self._seen(ratio, rho)
        return logs + self._last().apart(moved, np.asarray(correlation)[..., None])[..., 0]

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw spreads over u and rho, (size, J), and the correlation, (size,)."""
        judges = len(self.folds.variance)
        rhos = _RHO if self.halves is not None else np.array([self.rho])
        grid = np.stack(np.meshgrid(_RATIO, rhos, indexing="ij"), -1).reshape(-1, 2)
        ratio, rho = np.repeat(grid[:, None], judges, axis=1).transpose(2, 0, 1)
        logs = self._own(ratio, rho) + np.log(ratio)  # evenly spread in the logarithm
        mass = np.exp(logs - logs.max(0))
        more = 4 * size
        points = rng.random((more, judges))
        below = np.cumsum(mass / mass.sum(0), axis=0)
        place = np.stack([np.searchsorted(below[:, j], points[:, j]) for j in range(judges)], 1)
        place = np.minimum(place, len(grid) - 1)
        step = np.log(_RATIO[1] / _RATIO[0])
        ratio = grid[place, 0] * np.exp(step * (rng.random(place.shape) - 0.5))
        rho = grid[place, 1]
        if self.halves is not None:
            rho = rho + (rng.random(place.shape) - 0.5) / len(_RHO)
        _, moved = self._seen(ratio, rho)
        logs = self._last().apart(moved, _CORRELATION)
        shares = np.exp(logs - logs.max())
        # First the spreads by how well any correlation fits, then the correlation.
        chosen = rng.choice(more, size, p=shares.sum(-1) / shares.sum())
        below = np.cumsum(shares[chosen], axis=-1)
        below = below / below[:, -1:]
        index = (rng.random((size, 1)) > below).sum(-1)
        correlation = (index + rng.random(size)) / len(_CORRELATION)
        return ratio[chosen], rho[chosen], correlation

    def _last(self):
        return self.folds if self.halves is None else self.halves

    def _seen(self, ratio, rho):
        """Return the variance of the thresholds that folds and that halves show, (..., J, C)."""
        own = ((1 - rho) * ratio**2)[..., None] * self.error**2
        if self.halves is None:
            return own, own
        return own, (HALF_RATE * ratio**2 + HALF_NOISE)[..., None] * self.error**2

    def _own(self, ratio, rho):
        """Return the log posterior (..., J) of each classifier's spread over u, and rho."""
        own, between = self._seen(ratio, rho)
        logs = -1.5 * np.log1p((ratio / self.scale) ** 2 / 2) + self.folds.alone(own)
        return logs if self.halves is None else logs + self.halves.alone(between)


# How far training moves the separations, and how far together.

_SEPARATION_GRID = np.linspace(-5, 5, 201)  # standard deviations of the prior


@dataclass(frozen=True, eq=False)
class Separations:
    """
    The posterior of how far separations move: a grid.

    Attributes
    ----------
    folds : Numbers
        Of answers that are right.
    halves : Numbers or None
    scale : float
        The spread without halves, and the median of its prior with them.
    unit : float
        u.
    """

    folds: Numbers
    halves: Numbers | None
    scale: float
    unit: float

    @cached_property
    def root(self) -> np.ndarray:
        """A root (J, J) of the correlation of the separations, as the answers agree."""
        covariance = self.folds.covariance[:, 0, :, 0]
        error = np.sqrt(covariance.diagonal())
        agree = np.clip(covariance / np.outer(error, error), 0, 1)
        values, vectors = np.linalg.eigh(np.sin(np.pi / 2 * agree))
        root = vectors * np.sqrt(np.maximum(values, 0))
        return root / np.sqrt((root**2).sum(1, keepdims=True))

    def log_density(self, spread: np.ndarray) -> np.ndarray:
        """Return the log density of spreads (...)."""
        return self._of_logarithm(spread) - np.log(spread)

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw spreads, (size,)."""
        if self.halves is None:
            return np.full(size, self.scale)
        points = np.log(self.scale) + UNKNOWN * _SEPARATION_GRID
        logs = self._of_logarithm(np.exp(points))
        mass = np.exp(logs - logs.max())
        below = np.cumsum(mass) / mass.sum()
        edges = np.append(points, 2 * points[-1] - points[-2]) - (points[1] - points[0]) / 2
        return np.exp(np.interp(rng.random(size), np.append(0, below), edges))

    def _of_logarithm(self, spread):
        assert self.halves is not None
        alone = self.halves.covariance[:, 0, :, 0].diagonal()
        found = np.maximum(self.halves.variance.diagonal(), 1e-3 * alone)
        moved = RIGHT_RATE * (np.asarray(spread)[..., None] * alone) ** 2
        mean = alone / (1 + self.unit**2 * alone) + moved
        logs = log_gamma(found, mean, self.halves.worth).sum(-1)
        return logs - (np.log(spread / self.scale) / UNKNOWN) ** 2 / 2
