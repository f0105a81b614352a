r"""
Several classifiers on the same examples in groups, paired and partially pooled.

A joint outcome is the actual class together with the predictions of all classifiers. The data are
the counts of the M joint outcomes in each group g. The probability of an outcome is the share of
the actual class c times the share of the joint predictions a within the class,

.. math:: \theta_g(c, a) = s_g(c) \, q_{gc}(a).

s_g, and q_gc for each class c, have Dirichlet distributions around average shares, each with a
separate spread (`bayescm.posteriors.dirichlet_shares`). They are independent in the prior and in
the posterior, so the average of the products is the product of the averages. The prior for the
average predictions is centred on classifiers that are independent given the class.
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

_MOST_OUTCOMES = 100  # largest M, because each draw has M values per group


def grouped_outcomes(
    outcomes: xr.Dataset, *, concentration=None, spread: float = 1.0
) -> "GroupedOutcomes":
    """
    Return the posterior of classifiers tested on the same examples in groups.

    Use it to compare classifiers if their common test examples come from several sites or data
    sets.

    Parameters
    ----------
    outcomes : xarray.Dataset
        Outcomes from :func:`bayescm.from_classifiers` with ``by={"group": ...}``.
    concentration : float or array_like, shape (C, C) or (J, C, C), optional
        Prior pseudo-counts of each classifier's matrix. Default: ``2 / C**2``.
    spread : float, default 1
        Scale of the half-normal prior for the spreads between groups, on the logit scale.

    Returns
    -------
    GroupedOutcomes

    Raises
    ------
    ValueError
        If the evidence has a dim other than ``group``, or fewer than two groups. If there are more
        than a hundred joint outcomes.
    """
    outcomes = as_outcomes(outcomes)
    matrices = tables_of(outcomes)
    counts, actual, predicted = arrays(outcomes)
    classifiers, classes = len(predicted), outcomes["label"].size
    if outcomes["counts"].dims[:-1] != ("group",) or len(counts) < 2:
        todo = "pass `from_classifiers(..., by={'group': site})`"
        raise fail(
            "Outcomes by group need a dimension group of size 2 or more, and no other; the "
            "sizes are {}",
            dict(outcomes["counts"].sizes),
            "",
            todo,
        )
    shape = (classes,) * (1 + classifiers)
    if classes**classifiers > _MOST_OUTCOMES:
        got, todo = f"{classifiers} classifiers, {classes} classes", "compare two at a time"
        raise fail(
            f"There are too many joint outcomes ({got}; at most {_MOST_OUTCOMES} outcomes)",
            ...,
            "",
            todo,
        )
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
    Posterior of joint outcomes whose probabilities differ between groups.

    The class shares, and the joint predictions of all classifiers within each actual class, have
    Dirichlet distributions around average shares.

    Attributes
    ----------
    counts : DataArray, dims (classifier, group, actual, predicted)
        Matrices of each classifier.
    outcomes : ndarray, shape (G, M)
        Counts of the M joint outcomes.
    actual, predicted : ndarray of int, shape (M,) and (J, M)
        Actual class and predictions of each joint outcome.
    prior : ndarray, shape (J, C, C)
        Prior pseudo-counts of each classifier's matrix.
    spread : float
        Scale of the half-normal prior for the spreads between groups, on the logit scale.
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
        """The posterior of each classifier in each group without pooling."""
        return dirichlet_multinomial(self.counts, concentration=self.prior[:, None])

    @cached_property
    def class_shares(self) -> DirichletShares:
        """The shares of the actual classes."""
        totals = [self.outcomes[:, self.actual == c].sum(1) for c in self._classes]
        return DirichletShares(np.stack(totals, axis=1), self.prior[0].sum(-1), self.spread)

    @cached_property
    def answer_shares(self) -> list[DirichletShares]:
        """The shares of the joint predictions of all classifiers, per actual class."""
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
        """Return draws of the average matrices and of the matrices of new and observed groups."""
        estimand_of = {variable: of for of, variable in self.estimands.items()}
        return {name: self.cells(of, size, rng) for name, of in estimand_of.items()}

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Sample the classifiers' matrices of an estimand, (size, J, [G], C, C)."""
        cells = self._matrices(self._draw_joint(of, size, rng))
        return cells.swapaxes(1, 2) if cells.ndim > 4 else cells

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """Sample the classifiers' matrices of the same n examples in a new group."""
        joint = self._draw_joint("predictive", size, rng)
        sizes = n if n.ndim == 0 else n[..., 0]
        counts = rng.multinomial(sizes, joint / joint.sum(-1, keepdims=True))
        return self._matrices(counts.astype(float))

    def _draw_joint(self, of, size, rng):
        """Sample the probabilities (size, [G], M) of the joint outcomes of an estimand."""
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
        """Return each classifier's matrices (..., J, C, C) from joint outcomes (..., M)."""
        return marginal_matrices(joint, self.actual, self.predicted, self.prior.shape[-1])
