r"""
Several classifiers on the same examples of several data sets: paired, and partially pooled.

Of M joint outcomes (the actual class and what every classifier predicts) group g has counts. Their
probabilities are the share of the actual class times the share of the joint answers within it,

.. math:: \theta_g(c, a) = s_g(c) \, q_{gc}(a),

and s_g, and q_gc of every class c, come from Dirichlet distributions around the shares of the
average, each with a spread of its own (`bayescm.posteriors.dirichlet_shares`). They are independent
beforehand and afterwards, so that the average of the products is the product of the averages. The
prior of the average answers is centred on classifiers that are independent given the class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from bayescm.evidence.outcomes import arrays, as_outcomes, marginal_matrices, tables_of
from bayescm.posteriors.base import CountsPosterior, Posterior, prior_of
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial
from bayescm.posteriors.dirichlet_shares import DirichletShares, average_cells
from bayescm.posteriors.joint_table import base_measure, classifier_priors
from bayescm.validate import fail

_MOST_OUTCOMES = 100  # M: draws hold as many numbers for every group


def grouped_outcomes(
    outcomes: xr.Dataset, *, concentration=None, spread: float = 1.0
) -> "GroupedOutcomes":
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

    Raises
    ------
    ValueError
        If the evidence has another dim than ``group``, or fewer than two groups; if there are more
        than a hundred joint outcomes.
    """
    outcomes = as_outcomes(outcomes)
    matrices = tables_of(outcomes)
    counts, actual, predicted = arrays(outcomes)
    classifiers, classes = len(predicted), outcomes["label"].size
    if outcomes["counts"].dims[:-1] != ("group",) or len(counts) < 2:
        todo = "pass `from_classifiers(..., by={'group': site})`"
        allowed = "a dim group of two or more, and no other"
        raise fail("fewer than two groups", dict(outcomes["counts"].sizes), allowed, todo)
    shape = (classes,) * (1 + classifiers)
    if classes**classifiers > _MOST_OUTCOMES:
        got, todo = f"{classifiers} classifiers, {classes} classes", "compare two at a time"
        raise fail("too many joint outcomes", got, f"at most {_MOST_OUTCOMES}", todo)
    cells = np.indices(shape).reshape(1 + classifiers, -1)
    joint = np.zeros((len(counts), cells.shape[1]))
    joint[:, np.ravel_multi_index((actual, *predicted), shape)] = counts
    prior = prior_of(concentration, matrices, ("group",))
    prior = classifier_priors(prior, classifiers, classes)
    matrices = matrices.transpose("classifier", ...)
    return GroupedOutcomes(matrices, joint, cells[0], cells[1:], prior, float(spread))


@dataclass(frozen=True, eq=False)
class GroupedOutcomes(CountsPosterior):
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

    @cached_property
    def apart(self) -> Posterior:  # type: ignore[override]
        """The posterior of each classifier in every group by itself."""
        return dirichlet_multinomial(self.counts, concentration=self.prior[:, None])

    @cached_property
    def class_shares(self) -> DirichletShares:
        """The shares of the actual classes."""
        totals = [self.outcomes[:, self.actual == c].sum(1) for c in self._classes]
        return DirichletShares(np.stack(totals, axis=1), self.prior[0].sum(-1), self.spread)

    @cached_property
    def answer_shares(self) -> list[DirichletShares]:
        """The shares of the joint answers of all classifiers, within each actual class."""
        weight = base_measure(self.prior, self.actual, self.predicted)
        rows = [self.actual == c for c in self._classes]
        return [DirichletShares(self.outcomes[:, row], weight[row], self.spread) for row in rows]

    @property
    def _classes(self):
        return range(self.prior.shape[-1])

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimate of the average over groups, (J, [C])."""
        if self.resolve_estimand(of) == "finite":
            return self.mean_of_members(measure)
        return measure(average_cells(self.counts.transpose("group", ...).values.astype(float)))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the matrices of the average, of a new group and of each at hand."""
        estimand_of = {variable: of for of, variable in self.estimands.items()}
        return {name: self.cells(of, size, rng) for name, of in estimand_of.items()}

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the classifiers' matrices of an estimand, (size, J, [G], C, C)."""
        cells = self._matrices(self._draw_joint(of, size, rng))
        return cells.swapaxes(1, 2) if cells.ndim > 4 else cells

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """Draw the classifiers' matrices of the same next n examples, of a new group."""
        joint = self._draw_joint("predictive", size, rng)
        sizes = n if n.ndim == 0 else n[..., 0]
        counts = rng.multinomial(sizes, joint / joint.sum(-1, keepdims=True))
        return self._matrices(counts.astype(float))

    def _draw_joint(self, of, size, rng):
        """Draw the probabilities (size, [G], M) of the joint outcomes of an estimand."""
        variable = self.estimands[of]

        def draw(dirichlet):
            parameters = dirichlet.parameters.draw(size, rng)
            if variable == "theta_group":
                return dirichlet.draw_groups(parameters, rng)
            if variable == "theta_new":
                return dirichlet.draw_new(parameters, rng)
            return dirichlet.unpack(parameters)[0]

        shares = draw(self.class_shares)
        cells = np.empty((*shares.shape[:-1], len(self.actual)))
        for c, dirichlet in enumerate(self.answer_shares):
            cells[..., self.actual == c] = shares[..., [c]] * draw(dirichlet)
        return cells

    def _matrices(self, joint):
        """Return each classifier's matrices (..., J, C, C) of joint outcomes (..., M)."""
        return marginal_matrices(joint, self.actual, self.predicted, self.prior.shape[-1])
