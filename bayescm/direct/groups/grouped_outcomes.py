"""Several classifiers on the same examples of several data sets: paired, and partially pooled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayescm.direct.groups.dirichlet_groups import DirichletBlock
from bayescm.direct.groups.joint_table import base_measure, own_priors
from bayescm.evidence.joint_cells import arrays, pour
from bayescm.validate import fail

_MOST = 100


@dataclass(frozen=True, eq=False)
class GroupedOutcomes:
    """
    The posterior of joint outcomes whose probabilities differ between groups.

    The classes' shares, and within each actual class the joint answers of all classifiers, come
    from Dirichlet distributions around those of a typical group.

    Attributes
    ----------
    counts : ndarray, shape (G, M)
        Of all M joint outcomes.
    actual, predicted : ndarray of int, shape (M,) and (J, M)
    prior : ndarray, shape (J, C, C)
    spread : float
        Scale of the half-normal prior of the spreads between groups, on the logit scale.
    """

    counts: np.ndarray
    actual: np.ndarray
    predicted: np.ndarray
    prior: np.ndarray
    spread: float

    def measure(
        self, kernels: Sequence[Callable], size: int, rng: np.random.Generator, *, new: bool = False
    ) -> list[np.ndarray]:
        """Return draws (size, J, [C]) of the measures of the typical group, or of a new one."""
        theta = self.theta(size, rng, new=new)
        return [kernel(theta) for kernel in kernels]

    def theta(self, size: int, rng: np.random.Generator, *, new: bool = False) -> np.ndarray:
        """Draw the classifiers' cell probabilities in the typical group, (size, J, C, C)."""
        drawn = []
        for block in (self._shares, *self._rows):
            points = block.points.draw(size, rng)
            drawn.append(block.draw_new(points, rng) if new else block.split(points)[0])
        cells = np.empty((size, len(self.actual)))
        for place, rows in enumerate(drawn[1:]):
            cells[:, self.actual == place] = drawn[0][:, [place]] * rows
        return pour(cells, self.actual, self.predicted, self.prior.shape[-1])

    @cached_property
    def _shares(self):
        classes = range(self.prior.shape[-1])
        totals = np.stack([self.counts[:, self.actual == each].sum(1) for each in classes], axis=1)
        return DirichletBlock(totals, self.prior[0].sum(-1), self.spread)

    @cached_property
    def _rows(self):
        weight = base_measure(self.prior, self.actual, self.predicted)
        own = [self.actual == each for each in range(self.prior.shape[-1])]
        return [DirichletBlock(self.counts[:, each], weight[each], self.spread) for each in own]


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
    counts, actual, predicted = arrays(outcomes)
    judges, classes = len(predicted), outcomes["label"].size
    if counts.ndim != 2 or len(counts) < 2:
        todo = "pass from_classifiers(..., by={'group': site})"
        raise fail("there are not several groups", counts.shape[:-1], "two or more", todo)
    if classes**judges > _MOST:
        got, todo = f"{judges} classifiers, {classes} classes", "compare two at a time"
        raise fail("too many joint answers", got, f"up to {_MOST}", todo)
    cells = np.indices((classes,) * (1 + judges)).reshape(1 + judges, -1)
    place = np.ravel_multi_index((actual, *predicted), (classes,) * (1 + judges))
    every = np.zeros((len(counts), cells.shape[1]))
    every[:, place] = counts
    prior = own_priors(concentration, judges, classes)
    return GroupedOutcomes(every, cells[0], cells[1:], prior, float(spread))
