"""Several classifiers on the same examples of several data sets: paired, and partially pooled."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from bayescm.evidence.outcomes import arrays, as_outcomes, pour, tables_of
from bayescm.posteriors.base import Posterior, prior_of
from bayescm.posteriors.groups.dirichlet_groups import DirichletBlock
from bayescm.posteriors.groups.joint_table import base_measure, own_priors
from bayescm.posteriors.groups.plug_in import average_cells
from bayescm.validate import fail

_MOST = 100


@dataclass(frozen=True, eq=False)
class GroupedOutcomes(Posterior):
    """
    The posterior of joint outcomes whose probabilities differ between groups.

    The classes' shares, and within each actual class the joint answers of all classifiers, come
    from Dirichlet distributions around those of the average.

    Attributes
    ----------
    counts : DataArray, dims (classifier, group, actual, predicted)
        Each classifier's own matrices.
    outcomes : ndarray, shape (G, M)
        How often each of the M joint outcomes occurred.
    actual, predicted : ndarray of int, shape (M,) and (J, M)
    prior : ndarray, shape (J, C, C)
    spread : float
        Scale of the half-normal prior of the spreads between groups, on the logit scale.
    """

    pooled_dims = ("group",)
    pairs = ("classifier",)
    estimands = {  # noqa: RUF012
        "parameter": "theta",
        "population": "theta",
        "finite": "theta_group",
        "new": "theta_new",
        "predictive": "theta_new",
    }
    has_model = False
    how = "draws by importance sampling"
    sampling_method = "importance"
    counts: xr.DataArray
    outcomes: np.ndarray
    actual: np.ndarray
    predicted: np.ndarray
    prior: np.ndarray
    spread: float

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimate of the average over groups, (J, [C])."""
        if self.resolve_estimand(of) == "finite":
            return self.mean_of_members(measure)
        return measure(average_cells(self.counts.transpose("group", ...).values.astype(float)))

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the classifiers' matrices of an estimand, (size, J, [G], C, C)."""
        cells = self._matrices(self._joint(of, size, rng))
        return cells.swapaxes(1, 2) if cells.ndim > 4 else cells

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """Draw the classifiers' matrices of the same next n examples, of a new group."""
        joint = self._joint("predictive", size, rng)
        sizes = n if n.ndim == 0 else n[..., 0]
        counts = rng.multinomial(sizes, joint / joint.sum(-1, keepdims=True))
        return self._matrices(counts.astype(float))

    def _matrices(self, joint):
        return pour(joint, self.actual, self.predicted, self.prior.shape[-1])

    def _joint(self, of, size, rng):
        """Draw the joint outcomes (size, [G], M) of the variable of an estimand."""
        drawn, variable = [], self.estimands[of]
        for block in (self._shares, *self._rows):
            points = block.points.draw(size, rng)
            if variable == "theta_group":
                drawn.append(block.draw_groups(points, rng))
            else:
                new = variable == "theta_new"
                drawn.append(block.draw_new(points, rng) if new else block.split(points)[0])
        cells = np.empty((*drawn[0].shape[:-1], len(self.actual)))
        for place, rows in enumerate(drawn[1:]):
            cells[..., self.actual == place] = drawn[0][..., [place]] * rows
        return cells

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the matrices of the average, of a new group and of each at hand."""
        every = {variable: of for of, variable in self.estimands.items()}
        return {name: self.cells(of, size, rng) for name, of in every.items()}

    @cached_property
    def _shares(self):
        classes = range(self.prior.shape[-1])
        totals = np.stack(
            [self.outcomes[:, self.actual == each].sum(1) for each in classes], axis=1
        )
        return DirichletBlock(totals, self.prior[0].sum(-1), self.spread)

    @cached_property
    def _rows(self):
        weight = base_measure(self.prior, self.actual, self.predicted)
        own = [self.actual == each for each in range(self.prior.shape[-1])]
        return [DirichletBlock(self.outcomes[:, each], weight[each], self.spread) for each in own]


def grouped_outcomes(outcomes, *, concentration=None, spread: float = 1.0) -> GroupedOutcomes:
    """
    Return the posterior of classifiers tested on the same examples of each of several groups.

    Parameters
    ----------
    outcomes : xarray.Dataset
        From :func:`bayescm.from_classifiers` with ``by={"group": ...}``.
    concentration : float or array_like, shape (C, C) or (J, C, C), optional
        Each classifier's own prior pseudo-counts; by default ``2 / C**2``.
    spread : float, default 1
        Scale of the half-normal prior of the spreads between groups, on the logit scale.

    Returns
    -------
    GroupedOutcomes
    """
    outcomes = as_outcomes(outcomes)
    matrices = tables_of(outcomes)
    counts, actual, predicted = arrays(outcomes)
    judges, classes = len(predicted), outcomes["label"].size
    if outcomes["counts"].dims[:-1] != ("group",) or len(counts) < 2:
        todo = "pass from_classifiers(..., by={'group': site})"
        allowed = "a dim group of two or more, and no other"
        raise fail("fewer than two groups", dict(outcomes["counts"].sizes), allowed, todo)
    if classes**judges > _MOST:
        got, todo = f"{judges} classifiers, {classes} classes", "compare two at a time"
        raise fail("too many joint outcomes", got, f"at most {_MOST}", todo)
    cells = np.indices((classes,) * (1 + judges)).reshape(1 + judges, -1)
    place = np.ravel_multi_index((actual, *predicted), (classes,) * (1 + judges))
    every = np.zeros((len(counts), cells.shape[1]))
    every[:, place] = counts
    prior = own_priors(prior_of(concentration, matrices, ("group",)), judges, classes)
    matrices = matrices.transpose("classifier", ...)
    return GroupedOutcomes(matrices, every, cells[0], cells[1:], prior, float(spread))
