"""The direct sibling of `bayescm.models.hierarchical_groups`: quadrature over the groups' effects.

References
----------
Reitsma, J. B., Glas, A. S., Rutjes, A. W. S., Scholten, R. J. P. M., Bossuyt, P. M. & Zwinderman,
A. H. (2005). Bivariate analysis of sensitivity and specificity produces informative summary
measures in diagnostic reviews. Journal of Clinical Epidemiology 58, 982-990.
doi:10.1016/j.jclinepi.2005.02.022
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import expit

from bayescm.direct.base import Posterior, labelled, prior_of, shares_of
from bayescm.direct.groups.dirichlet_groups import DirichletBlock
from bayescm.direct.groups.grouped_outcomes import grouped_outcomes
from bayescm.direct.groups.plug_in import average_cells, typical_cells
from bayescm.direct.groups.random_effects import Block
from bayescm.distributions.dirichlet import default_concentration
from bayescm.evidence.counts import CELLS, with_shares
from bayescm.validate import fail

_NODES = 61


@dataclass(frozen=True, eq=False)
class HierarchicalGroups(Posterior):
    """
    The posterior of matrices of groups.

    ``"population"``, the default, is the average over all groups there may be: that of examples,
    if groups are of a size. ``"typical"`` is the group in the middle; the more the groups differ
    the further the two are apart, since an average of rates is nearer to one half than the rate of
    the middle group. ``"finite"`` is the mean over the groups at hand, ``"new"`` one group not seen
    yet.

    Attributes
    ----------
    counts : DataArray, dims (..., group, actual, predicted)
    concentration : ndarray, shape (C, C)
        Prior pseudo-counts of the typical group.
    spread : float
        Scale of the half-normal prior of the standard deviations between groups, on the logit
        scale.
    prevalence : float or None
        Share of the positive class in the population, where it is known.
    """

    uses = ("group",)
    estimands = {  # noqa: RUF012
        "parameter": "theta",
        "population": "theta",
        "typical": "theta_typical",
        "finite": "theta_group",
        "new": "theta_new",
        "predictive": "theta_new",
    }
    sampling_method = "importance"
    counts: xr.DataArray
    concentration: np.ndarray
    spread: float
    prevalence: float | None

    @property
    def how(self) -> str:  # type: ignore[override]
        """How the draws are made, and how many independent ones they are worth at most."""
        return f"draws by importance sampling ({self.effective:,.0f} effective)"

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: effects take more time than pairs are worth."""
        return super().draws_by_default(of)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the plug-in estimate of the same estimand, (..., [C]).

        Of a new group, that of the typical one.
        """
        if self.check_of(of) == "finite":
            return self.mean_of_members(measure)
        cells = np.moveaxis(self.counts.values.astype(float), -3, 0)
        average = self.estimands[of] == "theta" or cells.shape[-1] > 2
        theta = average_cells(cells) if average else typical_cells(cells)
        if self.prevalence is not None:
            theta = with_shares(theta, np.array([1 - self.prevalence, self.prevalence]))
        return measure(theta)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """
        Return draws (size, ...) of the variables of the PyMC model of the same name.

        ``theta`` of the population, ``theta_typical``, ``theta_new`` of a group not seen yet, and
        ``theta_group``.
        """
        return self._joined([each.draws(size, rng, True) for each in self.each_collection], size)

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of the variable that an estimand is read off."""
        if of == "finite":
            return self.variables(size, rng)["theta_group"]
        # The groups' own matrices take most of the time.
        parts = [each.draws(size, rng, False) for each in self.each_collection]
        return self._joined(parts, size)[self.estimands[of]]

    def _joined(self, parts, size):
        batch = self.batch.shape
        joined = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
        return {name: each.reshape(size, *batch, *each.shape[2:]) for name, each in joined.items()}

    @property
    def effective(self) -> float:
        """The number of independent draws that the parameters of the typical group are worth."""
        return min(each.effective for each in self.each_collection)

    @cached_property
    def each_collection(self):
        """The posterior of every collection of groups of the batch."""
        cells = self.counts.values.astype(float)
        kind = _Two if cells.shape[-1] == 2 else _Many
        flat = cells.reshape(-1, *cells.shape[-3:])
        return [kind(each, self.concentration, self.spread, self.prevalence) for each in flat]


class _Two:
    """Two classes: logit-normal prevalence, bivariate logit-normal recall and specificity."""

    def __init__(self, cells, concentration, spread, prevalence):
        (tn, fp), (fn, tp) = cells.transpose(1, 2, 0)
        hits, totals = np.stack([tp, tn], axis=1), np.stack([tp + fn, tn + fp], axis=1)
        rates = np.array([concentration[1, ::-1], concentration[0]])
        self.rates = Block(hits, totals, rates, spread)
        shares = concentration.sum(1)[::-1][None]
        self.shares = Block(totals[:, :1], totals.sum(1, keepdims=True), shares, spread)
        self.prevalence = prevalence

    @property
    def effective(self):
        return min(block.points.effective for block in (self.rates, self.shares))

    def draws(self, size, rng, groups):
        parts = [block.points.draw(size, rng) for block in (self.shares, self.rates)]
        blocks = (self.shares, self.rates)
        split = [block.split(points) for block, points in zip(blocks, parts, strict=True)]
        means, spread = (np.concatenate([each[i] for each in split], axis=1) for i in (0, 1))
        found = {
            "rates": expit(means),
            "spread": spread,
            "correlation": (split[1][2] + 1) / 2,
            "theta": self._average(means, spread),
            "theta_typical": self._theta(means, self.prevalence),
        }
        new = rng.standard_normal((size, 1, 3))
        found |= {"effect_new": new[:, 0]}
        found["theta_new"] = self._theta(self._logits(parts, new)[:, 0], self.prevalence)
        if groups:
            own = [b.draw_effects(p, rng) for b, p in zip(blocks, parts, strict=True)]
            found["effect"] = np.concatenate(own, axis=-1)
            found["theta_group"] = self._theta(self._logits(parts, found["effect"]))
        return found

    def _average(self, means, spread):
        """Return the cells (S, 2, 2) averaged over all groups, by Gauss-Hermite quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        turned = means[..., None] + spread[..., None] * nodes
        yes, no = (expit(sign * turned) @ (weights / weights.sum()) for sign in (1, -1))
        # Prevalence and rates are independent between groups, and each cell is linear in a rate.
        return self._cells(yes, no, self.prevalence)

    def _logits(self, parts, effects):
        shares = self.shares.logits(parts[0], effects[..., :1])
        return np.concatenate([shares, self.rates.logits(parts[1], effects[..., 1:])], axis=-1)

    @staticmethod
    def _theta(logits, prevalence=None):
        return _Two._cells(expit(logits), expit(-logits), prevalence)

    @staticmethod
    def _cells(yes, no, prevalence):
        share, recall, specificity = np.moveaxis(yes, -1, 0)
        rest, miss, alarm = np.moveaxis(no, -1, 0)
        if prevalence is not None:
            share, rest = np.full_like(share, prevalence), np.full_like(share, 1 - prevalence)
        rows = [[rest * specificity, rest * alarm], [share * miss, share * recall]]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


class _Many:
    """Many classes: Dirichlet distributions of the class shares and of every row."""

    def __init__(self, cells, concentration, spread, prevalence):
        if prevalence is not None:
            todo = "leave it out, or compare one class with the rest"
            raise fail("prevalence is for two classes", prevalence, "two classes", todo)
        self.shares = DirichletBlock(cells.sum(-1), concentration.sum(-1), spread)
        self.rows = [
            DirichletBlock(cells[:, row], concentration[row], spread)
            for row in range(cells.shape[1])
        ]

    @property
    def effective(self):
        return min(block.points.effective for block in (self.shares, *self.rows))

    def draws(self, size, rng, groups):
        blocks = (self.shares, *self.rows)
        parts = [block.points.draw(size, rng) for block in blocks]
        typical = [block.split(points) for block, points in zip(blocks, parts, strict=True)]
        rows = np.stack([each[0] for each in typical[1:]], axis=1)
        found = {
            "shares": typical[0][0],
            "rows": rows,
            "spread": np.stack([each[1] for each in typical], axis=1),
            "theta": typical[0][0][..., None] * rows,
        }
        found["theta_typical"] = found["theta"]  # the mean of a Dirichlet distribution
        pairs = list(zip(blocks, parts, strict=True))
        new = [block.draw_new(points, rng) for block, points in pairs]
        found |= {"shares_new": new[0], "rows_new": np.stack(new[1:], axis=1)}
        found["theta_new"] = found["shares_new"][..., None] * found["rows_new"]
        if groups:
            own = [block.draw_groups(points, rng) for block, points in pairs]
            found |= {"shares_group": own[0], "rows_group": np.stack(own[1:], axis=2)}
            found["theta_group"] = found["shares_group"][..., None] * found["rows_group"]
        return found


def hierarchical_groups(
    counts: xr.DataArray | xr.Dataset | ArrayLike,
    *,
    concentration: Any = None,
    spread: float = 1.0,
    prevalence: float | None = None,
) -> Posterior:
    """
    Return the posterior of the confusion matrices of groups that differ.

    Parameters
    ----------
    counts : DataArray, dims (..., group, actual, predicted), or array_like, (..., G, C, C)
        Counts of G >= 2 groups; a group may lack a class. Outcomes of several classifiers are
        paired within every group (`grouped_outcomes`).
    concentration : float, array_like or DataArray, shape (C, C), optional
        Prior pseudo-counts > 0 of the typical group; by default ``2 / C**2``.
    spread : float, default 1
        Scale of the half-normal prior of the standard deviations between groups, on the logit
        scale; > 0.
    prevalence : float, optional
        Share of the positive class in the population, inside (0, 1), where it is known; by default
        that of the scalar coord ``prevalence``.

    Returns
    -------
    HierarchicalGroups or GroupedOutcomes

    Raises
    ------
    ValueError
        If there is one group only, or a keyword has no meaning.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> cells = [[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]]]
    >>> posterior = hierarchical_groups(cells)
    >>> (recall,) = posterior.draw([resolve("recall")], 4000, np.random.default_rng(0))
    >>> float(recall.mean().round(1))
    0.8
    """
    if isinstance(counts, xr.Dataset):
        _check(spread, prevalence)
        return grouped_outcomes(counts, concentration=concentration, spread=spread)
    table = labelled(counts, "group")
    if table.sizes.get("group", 0) < 2:
        todo = "name the axis: from_predictions(..., by={'group': site})"
        raise fail("fewer than two groups", table.dims, "two or more along group", todo)
    table = table.transpose(..., "group", *CELLS)
    classes = table.sizes["actual"]
    weight = prior_of(concentration, counts, ("group",))
    weight = default_concentration(classes) if weight is None else weight
    weight = np.broadcast_to(np.asarray(weight, float), (classes, classes))
    if not ((weight > 0) & np.isfinite(weight)).all():
        todo = "pass e.g. concentration=0.5"
        raise fail("concentration must be positive", concentration, "numbers > 0", todo)
    prevalence = shares_of(prevalence, counts, table)
    _check(spread, prevalence)
    return HierarchicalGroups(table, weight, float(spread), prevalence)


def _check(spread, prevalence):
    if not isinstance(spread, (int, float, np.number)) or not 0 < spread < np.inf:
        todo = "pass e.g. spread=1.0, or a function through fit"
        raise fail("spread must be a positive scale", spread, "a number > 0", todo)
    if prevalence is not None and not 0 < prevalence < 1:
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("prevalence must lie between 0 and 1", prevalence, "0 < prevalence < 1", todo)
