"""The direct sibling of `bayescm.models.hierarchical_groups`: quadrature over the groups' effects.

References
----------
Reitsma, J. B., Glas, A. S., Rutjes, A. W. S., Scholten, R. J. P. M., Bossuyt, P. M. & Zwinderman,
A. H. (2005). Bivariate analysis of sensitivity and specificity produces informative summary
measures in diagnostic reviews. Journal of Clinical Epidemiology 58, 982-990.
doi:10.1016/j.jclinepi.2005.02.022
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bayescm.distributions.dirichlet import default_concentration
from bayescm.evidence.counts import CELLS, with_shares
from bayescm.posteriors.base import Posterior, as_labelled_counts, prior_of, shares_of
from bayescm.posteriors.groups.collections import Many, Two
from bayescm.posteriors.groups.covariates import design_of
from bayescm.posteriors.groups.grouped_outcomes import grouped_outcomes
from bayescm.posteriors.groups.plug_in import at_reference, average_cells, typical_cells
from bayescm.validate import fail

_FEWEST, _MOST = 500, 1e6  # draws of all groups; draws times groups


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
    covariates : ndarray, shape (G, Q), or None
        Of the groups; every estimand but ``"finite"`` is of groups that have zeros.
    slope : float
        Scale of the normal prior of what a covariate adds to a logit.
    """

    pooled_dims = ("group",)
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
    covariates: np.ndarray | None = field(default=None, kw_only=True)
    slope: float = field(default=2.0, kw_only=True)

    @property
    def how(self) -> str:  # type: ignore[override]
        """How the draws are made, and how many independent ones they are worth at most."""
        return f"draws by importance sampling ({self.effective_draws:,.0f} effective)"

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: effects of many groups take more time than space."""
        number = super().draws_by_default(of)
        if of not in ("finite", *self.pooled_dims):
            return number
        return int(np.clip(_MOST / self.counts.sizes["group"], _FEWEST, number))

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the plug-in estimate of the same estimand, (..., [C]).

        Of a new group, that of the typical one.
        """
        if self.resolve_estimand(of) == "finite":
            return self.mean_of_members(measure)
        cells = np.moveaxis(self.counts.values.astype(float), -3, 0)
        if self.covariates is not None:
            cells = at_reference(cells, self.covariates)
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

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> xr.DataArray:
        """Return the log likelihood of every group, dims (sample, ..., group)."""
        cells = self.counts.values.astype(float)
        names = self.each_collection[0].parameters
        lead = len(self.batch.shape)
        flat = {
            name: variables[name].reshape(-1, self.batch.size, *variables[name].shape[1 + lead :])
            for name in names
        }
        parts = [
            each.log_likelihood({name: values[:, place] for name, values in flat.items()})
            for place, each in enumerate(self.each_collection)
        ]
        found = np.stack(parts, axis=1).reshape(-1, *cells.shape[:-2])
        ways = gammaln(cells.sum((-2, -1)) + 1) - gammaln(cells + 1).sum((-2, -1))
        dims = ("sample", *self.counts.dims[:-2])
        return xr.DataArray(found + ways, dims=dims, name="cell_counts")

    def _joined(self, parts, size):
        batch = self.batch.shape
        joined = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
        return {name: each.reshape(size, *batch, *each.shape[2:]) for name, each in joined.items()}

    @property
    def effective_draws(self) -> float:  # type: ignore[override]
        """The number of independent draws that the parameters of the typical group are worth."""
        return min(each.effective for each in self.each_collection)

    @cached_property
    def each_collection(self):
        """The posterior of every collection of groups of the batch."""
        cells = self.counts.values.astype(float)
        kind = Two if cells.shape[-1] == 2 else Many
        flat = cells.reshape(-1, *cells.shape[-3:])
        prior, regression = (self.concentration, self.spread), (self.covariates, self.slope)
        return [kind(each, *prior, self.prevalence, regression) for each in flat]


def hierarchical_groups(
    counts: xr.DataArray | xr.Dataset | ArrayLike,
    *,
    concentration: Any = None,
    spread: float = 1.0,
    prevalence: float | None = None,
    covariates: xr.DataArray | None = None,
    slope: float = 2.0,
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
    covariates : DataArray, dims (group, covariate), optional
        Numbers that the logits of the groups may depend on, two classes; 0 is the typical group.
        See `bayescm.meta.study_covariates`.
    slope : float, default 2
        Scale of the normal prior of what a covariate adds to a logit for each unit; > 0.

    Returns
    -------
    HierarchicalGroups or GroupedOutcomes

    Raises
    ------
    ValueError
        If there is one group only, or a keyword is invalid.

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
        if covariates is not None:
            todo = "take the counts of one classifier"
            raise fail("covariates are for counts", "outcomes", "counts of two classes", todo)
        return grouped_outcomes(counts, concentration=concentration, spread=spread)
    known = groups_of(counts, concentration, spread, prevalence)
    if covariates is None:
        return HierarchicalGroups(*known)
    design = design_of(covariates, slope, known[0])
    return HierarchicalGroups(*known, covariates=design, slope=float(slope))


def groups_of(counts, concentration, spread, prevalence) -> tuple:
    """Return the canonical counts of groups and the arguments of the prior, or raise."""
    table = as_labelled_counts(counts, "group")
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
    return table, weight, float(spread), prevalence


def _check(spread, prevalence):
    if not isinstance(spread, (int, float, np.number)) or not 0 < spread < np.inf:
        todo = "pass e.g. spread=1.0, or a function through fit"
        raise fail("spread must be a positive scale", spread, "a number > 0", todo)
    if prevalence is not None and not 0 < prevalence < 1:
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("prevalence must lie between 0 and 1", prevalence, "0 < prevalence < 1", todo)
