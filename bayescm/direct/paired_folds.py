"""
The deterministic sibling of `bayescm.models.paired_folds`: a Dirichlet, and a grid.

The joint outcomes of all folds are conjugate; how far training sets move each classifier, and how
far together, comes from a grid (`direct.folds.together`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import log_softmax

from bayescm.direct.base import Posterior
from bayescm.direct.folds.rights import Separations
from bayescm.direct.folds.together import Movement, Numbers, numbers
from bayescm.direct.hierarchical_folds import moved
from bayescm.direct.paired_outcomes import PairedOutcomes, paired_outcomes
from bayescm.evidence.outcomes import as_outcomes, tables_of
from bayescm.validate import fail

# As in the model, where they are explained: without halves, and with them.
SPREAD, SEPARATION = (0.3, 0.8), (1.0, 0.8)
RHO = 0.4

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

    takes = "outcomes"
    uses = ("fold",)
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


def _positive(value, name):
    if not 0 < value < np.inf:
        todo = f"leave {name} out, or pass 1"
        raise fail(f"{name} must be positive", value, "a number > 0", todo)
    return float(value)
