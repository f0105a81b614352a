"""
Direct posterior of `bayescm.models.hierarchical_groups`, by importance sampling.

The number of classes C determines the distribution between groups:

- C = 2: logit-normal rates, with recall and specificity jointly
  (`bayescm.posteriors.logit_normal_groups`).
- C > 2: Dirichlet distributions (`bayescm.posteriors.dirichlet_groups`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import expit, gammaln, logit

from bayescm.distributions.dirichlet import default_concentration
from bayescm.evidence.counts import CELLS, is_outcomes, with_shares
from bayescm.evidence.covariates import study_covariates
from bayescm.posteriors.base import (
    CountsPosterior,
    Posterior,
    as_labelled_counts,
    kish_factors,
    prior_of,
    shares_of,
)
from bayescm.posteriors.dirichlet_groups import DirichletHierarchy
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial
from bayescm.posteriors.dirichlet_shares import average_cells
from bayescm.posteriors.fixed_totals import fixed_totals
from bayescm.posteriors.grouped_outcomes import grouped_outcomes
from bayescm.posteriors.logit_normal_groups import (
    BivariateLogitNormal,
    matrix_of,
    observed_logits,
    variance_between,
)
from bayescm.validate import fail


def hierarchical_groups(
    counts: xr.DataArray | xr.Dataset | ArrayLike,
    *,
    concentration: Any = None,
    spread: float = 1.0,
    prevalence: float | None = None,
    covariates: xr.DataArray | Mapping[str, Any] | None = None,
    slope: float = 2.0,
) -> Posterior:
    """
    Return the posterior of confusion matrices of groups that differ.

    Use it if examples come in groups, such as sites or patients, whose members are similar. Groups
    are partially pooled.

    Parameters
    ----------
    counts : DataArray, dims (..., group, actual, predicted), or array_like, (..., G, C, C)
        Counts of G >= 2 groups. A group may lack a class. Outcomes of several classifiers are
        paired within each group (`grouped_outcomes`).
    concentration : float, array_like or DataArray, shape (C, C), optional
        Prior pseudo-counts > 0 of the typical group. Default: ``2 / C**2``.
    spread : float, default 1
        Scale > 0 of the half-normal prior for the standard deviations between groups, on the logit
        scale.
    prevalence : float, optional
        Known proportion of the positive class in the population, inside (0, 1). Default: the scalar
        coord ``prevalence``, if any. For two classes only.
    covariates : mapping of str to number or label, or DataArray, dims (group, covariate), optional
        Covariates of the logits of the groups, for two classes only. The keys of a mapping are
        coords along ``group``, and its values are the covariates of the typical and the new group,
        such as ``{"beds": 500}``. See `bayescm.meta.study_covariates`. With an array, the typical
        and the new group have covariates of 0.
    slope : float, default 2
        Scale > 0 of the normal prior for the change of a logit per unit of a covariate.

    Returns
    -------
    HierarchicalGroups or GroupedOutcomes

    Raises
    ------
    ValueError
        If there is only one group, or an argument is invalid.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> cells = [[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]]]
    >>> posterior = hierarchical_groups(cells)
    >>> (recall,) = posterior.draw([resolve("recall")], 4000, np.random.default_rng(0))
    >>> float(recall.mean().round(1))
    0.8
    """
    if is_outcomes(counts):
        _check_spread(spread)
        if prevalence is not None:
            raise fail(
                f"`prevalence={prevalence!r}` is not available for outcomes of several classifiers",
                ...,
                "",
                "use the counts of each classifier",
            )
        if covariates is not None:
            raise fail(
                "`covariates` is not available for outcomes",
                ...,
                "",
                "use the counts of one classifier",
            )
        return grouped_outcomes(counts, concentration=concentration, spread=spread)
    table, weight, prevalence = groups_and_prior(counts, concentration, spread, prevalence)
    if isinstance(covariates, Mapping):
        covariates = study_covariates(table, covariates)
    if prevalence is not None and table.sizes["actual"] != 2:
        todo = "leave it out, or compare one class with the rest"
        raise fail(f"`prevalence={prevalence!r}` needs two classes", ..., "", todo)
    check_prevalence(prevalence)
    if covariates is None:
        if slope != 2.0:
            raise fail(
                "`slope` has no effect without covariates",
                ...,
                "",
                "pass `covariates=`, or leave `slope` out",
            )
        return HierarchicalGroups(table, weight, float(spread), prevalence)
    design = _design(covariates, slope, table)
    at_zero = ", ".join(f"{name}=0" for name in _names_of_covariates(covariates))
    return HierarchicalGroups(
        table,
        weight,
        float(spread),
        prevalence,
        covariates=design,
        slope=float(slope),
        reference=str(covariates.attrs.get("reference", at_zero)),
    )


def _names_of_covariates(covariates):
    """Return the labels of the covariates, or their positions if they have no labels."""
    named = "covariate" in covariates.coords
    return covariates["covariate"].values if named else range(covariates.sizes["covariate"])


def groups_and_prior(
    counts: Any, concentration: Any, spread: float, prevalence: Any
) -> tuple[xr.DataArray, np.ndarray, Any]:
    """Return canonical counts, pseudo-counts (C, C) and the known prevalence."""
    table = as_labelled_counts(counts, "group")
    if table.sizes.get("group", 0) < 2:
        todo = "name the axis: `from_predictions(..., by={'group': site})`"
        others = [dim for dim in table.dims if dim not in ("group", *CELLS)]
        if len(others) == 1:
            todo = f"if {others[0]} is a group, rename it: counts.rename({others[0]}='group')"
        raise fail(
            "A dimension group with at least two groups is needed; the counts have the "
            "dimensions {}",
            table.dims,
            "",
            todo,
        )
    table = table.transpose(..., "group", *CELLS)
    classes = table.sizes["actual"]
    weight = prior_of(concentration, counts, ("group",))
    weight = default_concentration(classes) if weight is None else weight
    weight = np.broadcast_to(np.asarray(weight, float), (classes, classes))
    if not ((weight > 0) & np.isfinite(weight)).all():
        todo = "pass e.g. `concentration=0.5`"
        raise fail("`concentration` must be finite numbers > 0", concentration, "", todo)
    prevalence = shares_of(prevalence, counts, table)
    _check_spread(spread)
    return table, weight, prevalence


def _check_spread(spread):
    if not isinstance(spread, (int, float, np.number)) or not 0 < spread < np.inf:
        todo = "pass e.g. `spread=1.0`, or a function from a name to a PyMC variable"
        raise fail("`spread` must be a finite number > 0", spread, "", todo)


def check_prevalence(prevalence: Any) -> None:
    """Raise an error if the known prevalence is not a number inside (0, 1)."""
    if prevalence is not None and (np.ndim(prevalence) or not 0 < prevalence < 1):
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("`prevalence` must be between 0 and 1", prevalence, "", todo)


def _design(covariates, slope, table):
    """Return covariates (G, Q) in the order of the groups of a table, or raise an error."""
    if not isinstance(slope, (int, float, np.number)) or not 0 < slope < np.inf:
        raise fail("`slope` must be a finite number > 0", slope, "", "pass e.g. `slope=2.0`")
    if table.sizes["actual"] != 2:
        todo = "leave them out, or compare one class with the rest"
        raise fail(
            "`covariates` need two classes; the counts have {}", table.sizes["actual"], "", todo
        )
    dims = ("group", "covariate")
    todo = "pass the values of a typical group, `covariates={'year': 2000}`"
    if not isinstance(covariates, xr.DataArray) or set(covariates.dims) != set(dims):
        got = getattr(covariates, "dims", type(covariates).__name__)
        raise fail(f"`covariates` must be a DataArray with the dimensions {dims}", got, "", todo)
    if "group" in covariates.coords and "group" in table.coords:
        groups, labels = (array["group"].values for array in (table, covariates))
        missing = set(groups.tolist()) - set(labels.tolist())
        if missing or len(set(labels.tolist())) < len(labels):
            got = min(missing, key=str) if missing else "a group twice"
            raise fail(
                "`covariates` must contain each group exactly once; the problem is {}",
                got,
                "",
                todo,
            )
        covariates = covariates.sel(group=groups)
    try:
        design = covariates.transpose(*dims).values.astype(float)
    except (TypeError, ValueError):
        raise fail("`covariates` must be numbers", covariates.dtype, "", todo) from None
    n_groups = table.sizes["group"]
    if len(design) != n_groups or not design.shape[1]:
        raise fail(f"`covariates` must have the shape ({n_groups}, Q)", design.shape, "", todo)
    if not np.isfinite(design).all():
        raise fail(
            "`covariates` must be finite",
            design[~np.isfinite(design)][0],
            "",
            "leave out groups with a missing covariate",
        )
    centred = design - design.mean(0)
    size = np.abs(centred).max(0)
    if not size.all() or np.linalg.matrix_rank(centred / size) < len(size):
        raise fail(
            "The covariates are linearly dependent (their shape is {})",
            design.shape,
            "",
            "leave out covariates that are constant or linear combinations of others, or use "
            "fewer covariates than groups",
        )
    return design


# The posterior of one or more collections of groups.

FEW_GROUPS = 5  # a caution is added with fewer groups, because the prior for the spread matters
_FEWEST_DRAWS = 500  # smallest number of draws of the matrices of all groups
_GROUP_DRAWS = 1e6  # largest number of draws times groups: half a second with two classes
# Draws per point of the parameters, if more draws than by default are requested.
_DRAWS_PER_POINT = 2
# Number of new groups per effective point of the parameters. Most of the uncertainty about a new
# group comes from its effects, which are cheap to sample. In an example with eight studies, the
# upper limit of the odds ratio of a new study is 440. With 32 new groups per point, its Monte Carlo
# error is 15, compared with 87 for 20,000 draws.
_NEW_GROUPS = 32


def few_groups(number: int, *, finite: bool = True) -> list[str]:
    """Return the caution about population estimates from few groups, and what to use instead."""
    if number >= FEW_GROUPS:
        return []
    todo = " For the mean of the observed groups, use of='finite'." if finite else ""
    return [
        f"With only {number} groups, the between-group standard deviations depend "
        "strongly on their prior, and the population estimate can lie outside the "
        f"observed groups.{todo}"
    ]


@dataclass(frozen=True, eq=False)
class HierarchicalGroups(CountsPosterior):
    """
    Posterior of the confusion matrices of groups.

    The estimands are:

    - ``"population"`` (the default): the average matrix over all groups that could be sampled. If
      all groups have the same size, it is the average over examples.
    - ``"typical"``: the group with median logits. The average rates over groups are closer to 0.5
      than the rates of this group. The difference increases with the spread between groups.
    - ``"finite"``: the mean over the observed groups.
    - ``"new"``: one unobserved group.

    Attributes
    ----------
    counts : DataArray, dims (..., group, actual, predicted)
    concentration : ndarray, shape (C, C)
        Prior pseudo-counts of the typical group.
    spread : float
        Scale of the half-normal prior for the standard deviations between groups, on the logit
        scale.
    prevalence : float or None
        Proportion of the positive class in the population, if known.
    covariates : ndarray, shape (G, Q), or None
        Covariates of the groups. All estimands except ``"finite"`` are for groups whose covariates
        are 0.
    slope : float
        Scale of the normal prior for the change of a logit per unit of a covariate.
    points : int
        Smallest number of weighted points of the parameters.
    """

    pooled_dims = ("group",)
    knows_weights = True
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
    reference: str = field(default="", kw_only=True)
    points: int = field(default=0, kw_only=True)

    @property
    def how(self) -> str:  # type: ignore[override]
        """Description of the method, with the effective number of independent draws."""
        return f"draws by importance sampling ({self.effective_draws:,.0f} effective)"

    @property
    def effective_draws(self) -> float:  # type: ignore[override]
        """The effective number of independent draws of the typical group's parameters."""
        return min(collection.effective for collection in self.collections)

    @cached_property
    def collections(self) -> "list[Any]":
        """The posterior of each collection of groups in the batch."""
        if self.concentration.shape[-1] > 2:
            return [
                DirichletHierarchy(
                    cells, totals, self.concentration, self.spread, points=self.points
                )
                for cells, totals in self.cells_and_totals
            ]
        return [
            BivariateLogitNormal(
                cells,
                totals,
                self.concentration,
                self.spread,
                self.prevalence,
                design=self.covariates,
                slope=self.slope,
                points=self.points,
            )
            for cells, totals in self.cells_and_totals
        ]

    @property
    def cells_and_totals(self):
        """
        The counts (G, C, C) and class totals (G, C) of each collection.

        With importance weights, each row and each group's class totals are scaled to their own
        effective size (`kish_factors`). If a class or group was sampled more often, the others are
        not affected.
        """
        cells = self.counts.values.astype(float)
        classes = cells.shape[-1]
        rows = np.eye(classes).repeat(classes, axis=1)
        factors = kish_factors(self.counts, np.concatenate([rows, np.ones((1, classes**2))]))
        totals = cells.sum(-1) * factors[..., -1:]
        cells = cells * factors[..., :-1, None]
        return zip(
            cells.reshape(-1, *cells.shape[-3:]),
            totals.reshape(-1, *totals.shape[-2:]),
            strict=True,
        )

    @cached_property
    def apart(self) -> Posterior | None:  # type: ignore[override]
        """The posterior of each group without pooling. None with importance weights."""
        if "effective" in self.counts.coords:
            return None
        prior: dict[str, Any] = {"concentration": self.concentration}
        if self.prevalence is not None:
            return fixed_totals(self.counts, prevalence=self.prevalence, **prior)
        return dirichlet_multinomial(self.counts, **prior)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about heavy weights and, unless `of` is finite, few groups."""
        few = [] if of == "finite" else few_groups(self.counts.sizes["group"])
        return super().caveats(of) + few

    def with_draws(self, draws: int) -> "HierarchicalGroups":
        """Return a posterior with enough points of the parameters for these draws."""
        return replace(self, points=draws // _DRAWS_PER_POINT)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """
        Return draws (size, ...) of the variables of the corresponding PyMC model.

        These include ``theta`` (population), ``theta_typical``, ``theta_new`` (an unobserved group)
        and ``theta_group``.
        """
        return self._draw(size, rng, groups=True)

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of the cell probabilities of an estimand."""
        if self._many_new_groups(of):
            (collection,) = self.collections
            return collection.draw_new_groups(size, self._new_groups(size), rng)
        # Sampling the matrices of the observed groups takes most of the time.
        return self._draw(size, rng, groups=of == "finite")[self.estimands[of]]

    def _many_new_groups(self, of):
        """Return True if several new groups are sampled per point of the parameters."""
        one = self.batch.size == 1 and isinstance(self.collections[0], BivariateLogitNormal)
        return one and self.estimands[of] == "theta_new"

    def _by_draws(self, measures, size, seed, of, n):
        """Return distributions of draws. The error for new groups reflects their dependence."""
        distributions = super()._by_draws(measures, size, seed, of, n)
        if not self._many_new_groups(of):
            return distributions
        # New groups that are drawn at the same parameter values are consecutive.
        clusters = -(-size // self._new_groups(size))
        return [replace(distribution, draw_clusters=clusters) for distribution in distributions]

    def _new_groups(self, size):
        """Return the number of new groups per point of the parameters, for `size` draws."""
        return max(1, size // int(self.effective_draws))

    def _draw(self, size, rng, groups):
        drawn = [collection.draw(size, rng, groups=groups) for collection in self.collections]
        stacked = {name: np.stack([draws[name] for draws in drawn], axis=1) for name in drawn[0]}
        return {
            name: values.reshape(size, *self.batch.shape, *values.shape[2:])
            for name, values in stacked.items()
        }

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws, which falls with the number of groups."""
        number = super().draws_by_default(of)
        if of in ("finite", *self.pooled_dims):
            return int(np.clip(_GROUP_DRAWS / self.counts.sizes["group"], _FEWEST_DRAWS, number))
        if self._many_new_groups(of):
            return _NEW_GROUPS * int(self.effective_draws)
        return number

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> xr.DataArray:
        """Return the log likelihood of each group, dims (sample, ..., group)."""
        cells = self.counts.values.astype(float)
        lead = len(self.batch.shape)
        flat = {
            name: variables[name].reshape(-1, self.batch.size, *variables[name].shape[1 + lead :])
            for name in self.collections[0].free_variables
        }
        logs = [
            collection.log_likelihood({name: values[:, index] for name, values in flat.items()})
            for index, collection in enumerate(self.collections)
        ]
        total = np.stack(logs, axis=1).reshape(-1, *cells.shape[:-2])
        coefficients = gammaln(cells.sum((-2, -1)) + 1) - gammaln(cells + 1).sum((-2, -1))
        dims = ("sample", *self.counts.dims[:-2])
        return xr.DataArray(total + coefficients, dims=dims, name="cell_counts")

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the plug-in estimate of the same estimand, (..., [C]).

        The estimate of a new group is the estimate of the typical group.
        """
        if self.resolve_estimand(of) == "finite":
            return self.mean_of_members(measure)
        factor = kish_factors(self.counts, np.ones((1, self.concentration.size)))
        cells = np.moveaxis(self.counts.values * factor[..., None], -3, 0)
        if self.covariates is not None:
            cells = _at_reference(cells, self.covariates)
        average = self.estimands[of] == "theta" or cells.shape[-1] > 2
        theta = average_cells(cells) if average else _typical_cells(cells)
        if self.prevalence is not None:
            theta = with_shares(theta, np.array([1 - self.prevalence, self.prevalence]))
        return measure(theta)

    def of_members(self, measure: Callable) -> Callable:
        """Return a measure of the counts of one group, at the prevalence if it is known."""
        if self.prevalence is None:
            return measure
        shares = np.array([1 - self.prevalence, self.prevalence])
        return lambda counts: measure(with_shares(counts, shares))


# Plug-in estimates for two classes. `average_cells` estimates the average over all groups.


def _typical_cells(cells):
    """
    Return the cells (..., 2, 2) of the typical group, whose logits are means over groups.

    The means are random-effects estimates (DerSimonian and Laird 1986).

    References
    ----------
    DerSimonian, R. & Laird, N. (1986). Meta-analysis in clinical trials. Controlled Clinical Trials
    7, 177-188. doi:10.1016/0197-2456(86)90046-2
    """
    (tn, fp), (fn, tp) = np.moveaxis(cells, (-2, -1), (0, 1))
    positives = _random_effects_rate(cells[..., 1, :].sum(-1), cells[..., 0, :].sum(-1))
    recall, specificity = _random_effects_rate(tp, fn), _random_effects_rate(tn, fp)
    return matrix_of(
        (1 - positives) * specificity,
        (1 - positives) * (1 - specificity),
        positives * (1 - recall),
        positives * recall,
    )


def _random_effects_rate(hits, misses):
    """Return the rate (...) whose logit is the random-effects mean of hits and misses (G, ...)."""
    logits, weight = observed_logits(hits, hits + misses)
    between = variance_between(logits, weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = weight / (1 + weight * between)
        return expit((weight * logits).sum(0) / weight.sum(0))


def _at_reference(cells, design):
    """
    Return the expected cells (G, ..., 2, 2) of the groups if their covariates were 0.

    Each group keeps its number of examples. Its logits are moved along weighted least-squares
    slopes.
    """
    (tn, fp), (fn, tp) = np.moveaxis(cells, (-2, -1), (0, 1))
    size = cells.sum((-2, -1))
    positives = size * _reference_rate(cells[..., 1, :].sum(-1), cells[..., 0, :].sum(-1), design)
    hits = positives * _reference_rate(tp, fn, design)
    rejections = (size - positives) * _reference_rate(tn, fp, design)
    return matrix_of(rejections, size - positives - rejections, positives - hits, hits)


def _reference_rate(hits, misses, design):
    """Return the rates (G, ...) that the groups would have with covariates of 0."""
    logits = logit((hits + 0.5) / (hits + misses + 1))
    weight = np.sqrt((hits + misses > 0) / (1 / (hits + 0.5) + 1 / (misses + 0.5)))
    regressors = np.concatenate([np.ones((len(design), 1)), design], axis=1)
    flat, root = logits.reshape(len(logits), -1), weight.reshape(len(logits), -1)
    slopes = [
        np.linalg.lstsq(w[:, None] * regressors, w * y, rcond=None)[0][1:]
        for y, w in zip(flat.T, root.T, strict=True)
    ]
    return expit(flat - design @ np.array(slopes).T).reshape(logits.shape)
