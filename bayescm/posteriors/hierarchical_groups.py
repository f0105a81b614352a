r"""
The direct posterior of `bayescm.models.hierarchical_groups`: the groups' effects integrated out.

**Two classes** (`BivariateLogitNormal`). The prevalence of group g, and its recall and specificity
jointly, are D = 1 and D = 2 binomial rates (`LogitNormalRates`) with the logits

.. math:: x_g = \mu + B^\top z_g + L e_g, \qquad e_g \sim N(0, I_D), \qquad L L^\top = \Sigma,

where :math:`\Sigma` has the standard deviations :math:`\tau` and the correlation :math:`\rho`, and
:math:`z_g` are covariates. The likelihood of the parameters
:math:`\phi = (\mu, \log \tau, \mathrm{artanh}\, \rho, B)`,

.. math::

    \prod_g \int N(e; 0, I) \prod_d
        \mathrm{Binomial}\bigl(h_{gd} \mid n_{gd}, \mathrm{expit}\, x_{gd}(e)\bigr) \, de,

is computed by adaptive Gauss-Hermite quadrature (`bayescm.inference.adaptive_gauss_hermite`):
nodes about the mode of each integrand, as far apart as its curvature says. :math:`\phi` is drawn
by importance sampling with a Student t proposal (`bayescm.inference.importance`), effects of the
groups at hand given :math:`\phi` by an independence Metropolis sampler. The average over all
groups, :math:`E\,\mathrm{expit}(\mu + \tau e)`, is a Gauss-Hermite sum.

**More classes** (`DirichletHierarchy`). The class shares, how often each class is right and where
its errors go are shares with a Dirichlet distribution between groups each, which integrates out in
closed form (`bayescm.posteriors.dirichlet_shares`).

References
----------
Reitsma, J. B., Glas, A. S., Rutjes, A. W. S., Scholten, R. J. P. M., Bossuyt, P. M. & Zwinderman,
A. H. (2005). Bivariate analysis of sensitivity and specificity produces informative summary
measures in diagnostic reviews. Journal of Clinical Epidemiology 58, 982-990.
doi:10.1016/j.jclinepi.2005.02.022

Pinheiro, J. C. & Bates, D. M. (1995). Approximations to the log-likelihood function in the
nonlinear mixed-effects model. Journal of Computational and Graphical Statistics 4, 12-35.
doi:10.1080/10618600.1995.10474663
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import betaln, expit, gammaln, logit

from bayescm.distributions.dirichlet import default_concentration
from bayescm.distributions.log_densities import log_half_normal
from bayescm.evidence.counts import CELLS, is_outcomes, with_shares
from bayescm.evidence.covariates import study_covariates
from bayescm.inference.adaptive_gauss_hermite import (
    GroupModes,
    fast_expit,
    log_likelihood_of_logit,
    log_marginal_likelihood,
    logit_normal_means,
)
from bayescm.inference.importance import Weighted, explore
from bayescm.posteriors.base import (
    CountsPosterior,
    Posterior,
    as_labelled_counts,
    kish_factors,
    prior_of,
    shares_of,
)
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial
from bayescm.posteriors.dirichlet_shares import DirichletShares, average_cells
from bayescm.posteriors.fixed_totals import fixed_totals
from bayescm.posteriors.grouped_outcomes import grouped_outcomes
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
        that of the scalar coord ``prevalence``. Two classes.
    covariates : mapping of str to number or label, or DataArray, dims (group, covariate), optional
        What the logits of the groups may depend on, two classes: coords along ``group`` by the
        value that the typical group and a new one have, such as ``{"beds": 500}``, see
        `bayescm.meta.study_covariates`; or numbers, with 0 for the typical group.
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
    if is_outcomes(counts):
        _check_spread(spread)
        if prevalence is not None:
            what = "outcomes of several classifiers take no prevalence"
            todo = "take the counts of each classifier"
            raise fail(what, prevalence, "counts of two classes", todo)
        if covariates is not None:
            todo = "take the counts of one classifier"
            raise fail("covariates are for counts", "outcomes", "counts of two classes", todo)
        return grouped_outcomes(counts, concentration=concentration, spread=spread)
    table, weight, prevalence = groups_and_prior(counts, concentration, spread, prevalence)
    if isinstance(covariates, Mapping):
        covariates = study_covariates(table, covariates)
    if prevalence is not None and table.sizes["actual"] != 2:
        todo = "leave it out, or compare one class with the rest"
        raise fail("prevalence is for two classes", prevalence, "two classes", todo)
    check_prevalence(prevalence)
    if covariates is None:
        if slope != 2.0:
            todo = "pass `covariates=`, whose slopes it is the scale of, or leave it out"
            raise fail("slope has no effect without covariates", slope, "covariates too", todo)
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
    """Return the labels of the covariates, or their places without any."""
    named = "covariate" in covariates.coords
    return covariates["covariate"].values if named else range(covariates.sizes["covariate"])


def groups_and_prior(
    counts: Any, concentration: Any, spread: float, prevalence: Any
) -> tuple[xr.DataArray, np.ndarray, Any]:
    """Return canonical counts, pseudo-counts (C, C) and the known prevalence, or raise."""
    table = as_labelled_counts(counts, "group")
    if table.sizes.get("group", 0) < 2:
        todo = "name the axis: `from_predictions(..., by={'group': site})`"
        others = [dim for dim in table.dims if dim not in ("group", *CELLS)]
        if len(others) == 1:
            todo = f"name the dim that is pooled over group: counts.rename({others[0]}='group')"
        raise fail("fewer than two groups", table.dims, "two or more along group", todo)
    table = table.transpose(..., "group", *CELLS)
    classes = table.sizes["actual"]
    weight = prior_of(concentration, counts, ("group",))
    weight = default_concentration(classes) if weight is None else weight
    weight = np.broadcast_to(np.asarray(weight, float), (classes, classes))
    if not ((weight > 0) & np.isfinite(weight)).all():
        todo = "pass e.g. `concentration=0.5`"
        raise fail("concentration must be positive", concentration, "numbers > 0", todo)
    prevalence = shares_of(prevalence, counts, table)
    _check_spread(spread)
    return table, weight, prevalence


def _check_spread(spread):
    if not isinstance(spread, (int, float, np.number)) or not 0 < spread < np.inf:
        todo = "pass e.g. `spread=1.0`, or a function from a name to a PyMC variable"
        raise fail("spread must be a positive scale", spread, "a number > 0", todo)


def check_prevalence(prevalence: Any) -> None:
    """Raise where the known share of the positive class is not a number inside (0, 1)."""
    if prevalence is not None and (np.ndim(prevalence) or not 0 < prevalence < 1):
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("prevalence must lie between 0 and 1", prevalence, "0 < prevalence < 1", todo)


def _design(covariates, slope, table):
    """Return covariates (G, Q) in the order of the groups of a table, or raise."""
    if not isinstance(slope, (int, float, np.number)) or not 0 < slope < np.inf:
        raise fail("slope must be a positive scale", slope, "a number > 0", "pass e.g. `slope=2.0`")
    if table.sizes["actual"] != 2:
        todo = "leave them out, or compare one class with the rest"
        raise fail("covariates are for two classes", table.sizes["actual"], "2", todo)
    dims = ("group", "covariate")
    todo = "pass the values of a typical group, `covariates={'year': 2000}`"
    if not isinstance(covariates, xr.DataArray) or set(covariates.dims) != set(dims):
        got = getattr(covariates, "dims", type(covariates).__name__)
        raise fail("covariates are not labelled", got, f"a DataArray, dims {dims}", todo)
    if "group" in covariates.coords and "group" in table.coords:
        groups, labels = (array["group"].values for array in (table, covariates))
        missing = set(groups.tolist()) - set(labels.tolist())
        if missing or len(set(labels.tolist())) < len(labels):
            got = min(missing, key=str) if missing else "a group twice"
            raise fail("covariates of other groups", got, "each group once", todo)
        covariates = covariates.sel(group=groups)
    try:
        design = covariates.transpose(*dims).values.astype(float)
    except (TypeError, ValueError):
        raise fail("covariates must be numbers", covariates.dtype, "numbers", todo) from None
    n_groups = table.sizes["group"]
    if len(design) != n_groups or not design.shape[1]:
        raise fail("covariates have another shape", design.shape, f"({n_groups}, Q)", todo)
    if not np.isfinite(design).all():
        todo = "leave out the groups where one is missing"
        raise fail("covariates must be finite", design[~np.isfinite(design)][0], "numbers", todo)
    centred = design - design.mean(0)
    size = np.abs(centred).max(0)
    if not size.all() or np.linalg.matrix_rank(centred / size) < len(size):
        todo = "leave out those that are constant, or sums of others, or too many for the groups"
        raise fail("covariates do not tell the groups apart", design.shape, "none to spare", todo)
    return design


# The posterior of one or more collections of groups.

FEW_GROUPS = 5  # with fewer the prior of the spread between them shows
_FEWEST_DRAWS = 500  # of the matrices of all groups
_GROUP_DRAWS = 1e6  # draws times groups: half a second of effects of two classes
_DRAWS_PER_POINT = 2  # of the parameters, where more draws are asked for than by default
# New groups for each effective point of the parameters: their effects are most of what is not known
# of a new group, and are drawn at a little cost. The upper limit of the odds ratio of a new one of
# eight studies, 440, then has an error of 15, where 20,000 draws had one of 87.
_NEW_GROUPS = 32


def few_groups(number: int) -> list[str]:
    """Return what is doubtful of all groups there may be where those at hand are few."""
    if number >= FEW_GROUPS:
        return []
    return [
        f"{number} groups say little about how far groups differ: the prior of the standard "
        "deviations between them shows, and what is said of all groups there may be can lie "
        "outside those at hand, whose mean is the estimand finite."
    ]


@dataclass(frozen=True, eq=False)
class HierarchicalGroups(CountsPosterior):
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
    points : int
        At least so many weighted points of the parameters.
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
        """How the draws are made, and how many independent ones they are worth at most."""
        return f"draws by importance sampling ({self.effective_draws:,.0f} effective)"

    @property
    def effective_draws(self) -> float:  # type: ignore[override]
        """The number of independent draws that the parameters of the typical group are worth."""
        return min(collection.effective for collection in self.collections)

    @cached_property
    def collections(self) -> "list[Any]":
        """The posterior of every collection of groups of the batch."""
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
        The counts (G, C, C) and class totals (G, C) of every collection.

        Of importance weights rows and totals count as many examples as they are worth, each for
        itself: which class, and which group, was sampled more often tells nothing of the others.
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
        """The posterior of every group by itself; None for examples with importance weights."""
        if "effective" in self.counts.coords:
            return None
        prior: dict[str, Any] = {"concentration": self.concentration}
        if self.prevalence is not None:
            return fixed_totals(self.counts, prevalence=self.prevalence, **prior)
        return dirichlet_multinomial(self.counts, **prior)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return that the groups are few, where the estimand is of more than those at hand."""
        few = [] if of == "finite" else few_groups(self.counts.sizes["group"])
        return super().caveats(of) + few

    def with_draws(self, draws: int) -> "HierarchicalGroups":
        """Return the posterior with as many more points as more draws are asked for."""
        return replace(self, points=draws // _DRAWS_PER_POINT)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """
        Return draws (size, ...) of the variables of the PyMC model of the same name.

        ``theta`` of the population, ``theta_typical``, ``theta_new`` of a group not seen yet, and
        ``theta_group``.
        """
        return self._draw(size, rng, groups=True)

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of the variable that an estimand is read off."""
        if self._many_new_groups(of):
            (collection,) = self.collections
            return collection.draw_new_groups(size, self._new_groups(size), rng)
        # The groups' own matrices take most of the time.
        return self._draw(size, rng, groups=of == "finite")[self.estimands[of]]

    def _many_new_groups(self, of):
        """Say whether several new groups are drawn for each point of the parameters."""
        one = self.batch.size == 1 and isinstance(self.collections[0], BivariateLogitNormal)
        return one and self.estimands[of] == "theta_new"

    def _by_draws(self, measures, size, seed, of, n):
        """Return distributions by draws, those of new groups with the error of their parameters."""
        distributions = super()._by_draws(measures, size, seed, of, n)
        if not self._many_new_groups(of):
            return distributions
        chains = -(-size // self._new_groups(size))  # those of a point follow each other
        return [replace(distribution, chains=chains) for distribution in distributions]

    def _new_groups(self, size):
        """Return how many of so many new groups are drawn for each point of the parameters."""
        return max(1, size // int(self.effective_draws))

    def _draw(self, size, rng, groups):
        drawn = [collection.draw(size, rng, groups=groups) for collection in self.collections]
        stacked = {name: np.stack([draws[name] for draws in drawn], axis=1) for name in drawn[0]}
        return {
            name: values.reshape(size, *self.batch.shape, *values.shape[2:])
            for name, values in stacked.items()
        }

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: effects of many groups take more time than space."""
        number = super().draws_by_default(of)
        if of in ("finite", *self.pooled_dims):
            return int(np.clip(_GROUP_DRAWS / self.counts.sizes["group"], _FEWEST_DRAWS, number))
        if self._many_new_groups(of):
            return _NEW_GROUPS * int(self.effective_draws)
        return number

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> xr.DataArray:
        """Return the log likelihood of every group, dims (sample, ..., group)."""
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

        Of a new group, that of the typical one.
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
        """Return a measure of the counts of one group, at the prevalence where that is known."""
        if self.prevalence is None:
            return measure
        shares = np.array([1 - self.prevalence, self.prevalence])
        return lambda counts: measure(with_shares(counts, shares))


# Two classes.


class BivariateLogitNormal:
    """
    Two classes: logit-normal prevalence, bivariate logit-normal recall and specificity.

    Parameters
    ----------
    cells : ndarray, shape (G, 2, 2)
    totals : ndarray, shape (G, 2)
        How many examples of each class the prevalence is known by.
    concentration : ndarray, shape (2, 2)
    spread : float
    prevalence : float or None
        Known share of the positive class in the population.
    design : ndarray, shape (G, Q), optional
    slope : float
    points : int
        At least so many weighted points of the parameters.
    """

    free_variables: tuple[str, ...] = ("rates", "spread", "scaled_correlation")

    def __init__(
        self,
        cells: np.ndarray,
        totals: np.ndarray,
        concentration: np.ndarray,
        spread: float,
        prevalence: float | None,
        *,
        design: np.ndarray | None = None,
        slope: float = 2.0,
        points: int = 0,
    ):
        (tn, fp), (fn, tp) = cells.transpose(1, 2, 0)
        hits, tested = np.stack([tp, tn], axis=1), np.stack([tp + fn, tn + fp], axis=1)
        rate_prior = np.array([concentration[1, ::-1], concentration[0]])
        share_prior = concentration.sum(1)[::-1][None]
        # Slopes are explored for the whole range of a covariate, which is of a size in any unit.
        self.ranges = np.ones(0) if design is None else np.ptp(design, axis=0)
        scaled: dict[str, Any] = {"points": points}
        if design is not None:
            scaled |= {"design": design / self.ranges, "slope": slope * self.ranges}
        self.rates = LogitNormalRates(hits, tested, rate_prior, spread, **scaled)
        self.shares = LogitNormalRates(
            totals[:, 1:], totals.sum(1, keepdims=True), share_prior, spread, **scaled
        )
        self.prevalence = prevalence
        if design is not None:
            self.free_variables += ("slope",)

    @property
    def effective(self) -> float:
        """The number of independent draws that the parameters are worth at most."""
        return min(self.rates.parameters.effective, self.shares.parameters.effective)

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the model's variables, of the groups' own if asked for."""
        share_index = self.shares.parameters.choose(size, rng)
        rate_index = self.rates.parameters.choose(size, rng)
        share_parameters = self.shares.parameters.points[share_index]
        rate_parameters = self.rates.parameters.points[rate_index]
        share_mean, share_sd, _ = self.shares.unpack(share_parameters)
        rate_mean, rate_sd, rho = self.rates.unpack(rate_parameters)
        mean = np.concatenate([share_mean, rate_mean], axis=1)
        sd = np.concatenate([share_sd, rate_sd], axis=1)
        # Prevalence and rates are independent between groups, and each cell is linear in a rate:
        # the cells of the average are the products of the averages.
        hits, misses = (
            np.concatenate([share[share_index], rate[rate_index]], axis=1)
            for share, rate in zip(
                self.shares.population_rates, self.rates.population_rates, strict=True
            )
        )
        drawn = {
            "rates": expit(mean),
            "spread": sd,
            "scaled_correlation": (rho + 1) / 2,
            "theta": cells_of_rates(hits, misses, self.prevalence),
            "theta_typical": cells_of_logits(mean, self.prevalence),
        }
        if "slope" in self.free_variables:
            slopes = [self.shares.slopes(share_parameters), self.rates.slopes(rate_parameters)]
            drawn["slope"] = np.concatenate(slopes, axis=-1) / self.ranges[:, None]
        effect = rng.standard_normal((size, 1, 3))[:, 0]
        # As the model has it: from -1 to 1 and back, so that both have the same digits.
        rho = drawn["correlation"] = 2 * drawn["scaled_correlation"] - 1
        new = _new_logits(mean, sd, rho, effect)
        drawn |= {"effect_new": effect, "theta_new": cells_of_logits(new, self.prevalence)}
        if groups:
            drawn |= self._draw_groups(share_parameters, rate_parameters, rng)
        return drawn

    def draw_new_groups(self, size: int, per_point: int, rng: np.random.Generator) -> np.ndarray:
        """Return matrices (size, 2, 2) of new groups, those of a point one after the other."""
        points = -(-size // per_point)
        share_mean, share_sd, _ = self.shares.unpack(self.shares.parameters.draw(points, rng))
        rate_mean, rate_sd, rho = self.rates.unpack(self.rates.parameters.draw(points, rng))
        mean = np.concatenate([share_mean, rate_mean], axis=1)
        sd = np.concatenate([share_sd, rate_sd], axis=1)
        effect = rng.standard_normal((size, 3))
        of_point = np.arange(size) // per_point
        new = _new_logits(mean[of_point], sd[of_point], rho[of_point], effect)
        return cells_of_logits(new, self.prevalence)

    def _draw_groups(self, share_parameters, rate_parameters, rng):
        """Return draws of the matrices of the groups, and of their partially centred effects."""
        logits, effects = [], []
        for rates, parameters in ((self.shares, share_parameters), (self.rates, rate_parameters)):
            standardised = rates.draw_effects(parameters, rng)
            logits.append(rates.logits(parameters, standardised))
            effects.append(rates.partially_centred(parameters, standardised))
        columns = np.moveaxis(np.concatenate(effects, axis=-1), -1, 0)
        named = {f"effect_{rate}": draws for rate, draws in zip(_RATES, columns, strict=True)}
        cells = cells_of_logits(np.concatenate(logits, axis=-1), self.prevalence)
        return named | {"theta_group": cells}

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return that of every group (S, G), its effects integrated out, without coefficients."""
        mean = logit(np.clip(variables["rates"], 1e-300, 1 - 1e-16))
        log_sd = np.log(variables["spread"])
        rho = np.clip(2 * variables["scaled_correlation"] - 1, -1 + 1e-12, 1 - 1e-12)
        size = len(mean)
        slopes = variables.get("slope", np.zeros((size, 0, 3))) * self.ranges[:, None]
        share_slopes = slopes[..., :1].reshape(size, -1)
        rate_slopes = slopes[..., 1:].reshape(size, -1)
        shares = np.concatenate([mean[:, :1], log_sd[:, :1], share_slopes], axis=1)
        rates = np.concatenate(
            [mean[:, 1:], log_sd[:, 1:], np.arctanh(rho)[:, None], rate_slopes], axis=1
        )
        return self.shares.log_likelihood(shares) + self.rates.log_likelihood(rates)


def _new_logits(mean, sd, rho, effect):
    """Return the logits (S, 3) of new groups with standardised effects (S, 3)."""
    last = rho * effect[:, 1] + np.sqrt(np.maximum(1 - rho**2, 1e-12)) * effect[:, 2]
    return mean + sd * np.stack([*effect.T[:2], last], axis=-1)


def cells_of_logits(logits: np.ndarray, prevalence: float | None = None) -> np.ndarray:
    """Return cells (..., 2, 2) of logits (..., 3) of prevalence, recall and specificity."""
    return cells_of_rates(expit(logits), expit(-logits), prevalence)


def cells_of_rates(
    hits: np.ndarray, misses: np.ndarray, prevalence: float | None = None
) -> np.ndarray:
    """Return cells (..., 2, 2) of the three rates (..., 3) and of their complements."""
    positives, recall, specificity = np.moveaxis(hits, -1, 0)
    negatives, miss, alarm = np.moveaxis(misses, -1, 0)
    if prevalence is not None:
        positives, negatives = (
            np.full_like(positives, prevalence),
            np.full_like(positives, 1 - prevalence),
        )
    return _matrix(negatives * specificity, negatives * alarm, positives * miss, positives * recall)


def _matrix(tn, fp, fn, tp):
    """Return matrices (..., 2, 2) of their four cells."""
    return np.stack([np.stack([tn, fp], axis=-1), np.stack([fn, tp], axis=-1)], axis=-2)


# Nodes for each of the one or two effects of a group. At draws of the parameters of 40 groups of 5
# to 300 examples, the log likelihood of a group whose rates are inside (0, 1) is within 1.1e-3 of
# that of 41 nodes by four, and 2e-2 by three, which shape the proposal only. A rate observed as 0
# or 1 has a skewed integrand: it is within 4e-4 by seven, and 2e-3 by five, which do where there
# are more than 100 groups. Posteriors move by what the groups' errors differ, see the tests.
_NODES = 4
_NODES_EXTREME = 7
_NODES_ROUGH = 3
_NODES_EXTREME_OF_MANY = 5
_MANY_GROUPS = 100
# Points of the parameters, of which a fifth shape the proposal.
_PARAMETER_GROUPS = 1e6  # points times groups
_FEWEST_AND_MOST = 1000, 2500  # bounds of the number of points
_PARAMETERS_OF_FEW_GROUPS = 1.2e5  # points times groups for few groups: a quarter of a second
_MOST_OF_FEW_GROUPS = 10_000  # bound of the number of points for few groups
_LOWEST_LOG_PRIOR = -1e6  # exp of it is 0 beside any other
_CACHED = 32_000  # parameters times groups times nodes in an array: 256 kB
_NEWTON_STEPS = 30  # most steps of Newton's method
_LONGEST_STEP = 2.0  # in standardised effects; it keeps them where the curvature is not near 0
_CONVERGED = 1e-3  # decrement at which the steps end
_RATES = ("prevalence", "recall", "specificity")
_METROPOLIS_STEPS = 8  # of which nine in ten are accepted, with 5 to 100 examples a group
_INITIAL_LOG_SD = -0.7  # in units of the prior's scale, or of 1 where that is wider
_LOGIT_BOUND = 20.0  # of means and slopes, where the mode is looked for


@dataclass(frozen=True, eq=False)
class LogitNormalRates:
    """
    D = 1 or 2 binomial rates in G groups, whose logits are jointly normal between groups.

    Its parameters (S, P) are D means of the logits, D logarithms of their standard deviations, of
    two rates the inverse hyperbolic tangent of their correlation, and Q x D slopes.

    Attributes
    ----------
    hits, totals : ndarray, shape (G, D)
        Successes and trials; a group may have no trials.
    prior : ndarray, shape (D, 2)
        Beta parameters of the rate of a typical group.
    scale : float
        Scale of the half-normal prior of the standard deviations of the logits.
    design : ndarray, shape (G, Q), optional
        Covariates of the groups; the typical group has zeros.
    slope : float or ndarray, shape (Q,)
        Scale of the normal prior of what a covariate adds to a logit.
    points : int
        At least so many weighted points of the parameters.
    """

    hits: np.ndarray
    totals: np.ndarray
    prior: np.ndarray
    scale: float
    design: np.ndarray | None = field(default=None, kw_only=True)
    slope: float | np.ndarray = field(default=2.0, kw_only=True)
    points: int = field(default=0, kw_only=True)

    @property
    def n_rates(self) -> int:
        """The number D of rates."""
        return self.hits.shape[1]

    def unpack(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return means of the logits (S, D), standard deviations (S, D), correlation (S,)."""
        size = self.n_rates
        sd = np.exp(parameters[:, size : 2 * size])
        rho = np.tanh(parameters[:, 4]) if size == 2 else np.zeros(len(parameters))
        return parameters[:, :size], sd, rho

    def slopes(self, parameters: np.ndarray) -> np.ndarray:
        """Return what each of the Q covariates adds to the logits, (S, Q, D)."""
        first = 3 * self.n_rates - 1  # after D means, D deviations and, of two, their correlation
        return parameters[:, first:].reshape(len(parameters), -1, self.n_rates)

    def log_prior(self, parameters: np.ndarray) -> np.ndarray:
        """Return the log prior density (S,) of unconstrained parameters (S, P), normalised."""
        mean, sd, _ = self.unpack(parameters)
        a, b = self.prior.T
        total = (a * mean - (a + b) * np.logaddexp(0, mean) - betaln(a, b)).sum(1)
        # The prior of the spread (`_spread` in models/hierarchical_groups.py), times the derivative
        # of its exponential. Another one goes there, here, and, for more classes, into
        # `DirichletShares.log_posterior`.
        total = total + (log_half_normal(sd, self.scale) + np.log(sd)).sum(1)
        if self.n_rates == 2:  # (1 + rho) / 2 ~ Beta(2, 2), times the derivative of tanh
            size = np.abs(parameters[:, 4])
            log_rest = 2 * (np.log(2) - size - np.log1p(np.exp(-2 * size)))  # 1 - rho**2
            total = total + np.log(0.75) + 2 * log_rest
        slopes = self.slopes(parameters)  # (S, Q, D)
        scale = np.broadcast_to(self.slope, slopes.shape[1])[:, None]
        normal = -((slopes / scale) ** 2) / 2 - np.log(2 * np.pi) / 2 - np.log(scale)
        return total + normal.sum((1, 2))

    def log_posterior(self, parameters: np.ndarray, n_nodes: int | None = None) -> np.ndarray:
        """Return the log posterior density (S,) at parameters (S, P), the effects integrated out.

        Coefficients of the likelihood are left out; ``n_nodes`` for every effect instead of as
        many as each group takes.
        """
        logs = self.log_prior(parameters)
        # Spreads that the prior rules out would overflow the quadrature, and weigh nothing.
        logs = np.where(logs > _LOWEST_LOG_PRIOR, logs, -np.inf)
        possible = np.flatnonzero(np.isfinite(logs))
        nodes = self._nodes if n_nodes is None else np.full(len(self.hits), n_nodes)
        for block in self._slices(len(possible), nodes.mean()):
            logs[possible[block]] += self._log_likelihood(parameters[possible[block]], nodes).sum(1)
        return logs

    @cached_property
    def _nodes(self):
        """The number of nodes that each group's effects take, (G,)."""
        extreme = ((self.hits == 0) | (self.hits == self.totals)).any(axis=1)
        many = len(self.hits) > _MANY_GROUPS
        return np.where(extreme, _NODES_EXTREME_OF_MANY if many else _NODES_EXTREME, _NODES)

    def log_likelihood(self, parameters: np.ndarray) -> np.ndarray:
        """
        Return the log likelihood of every group given parameters (S, P), shape (S, G).

        The effects are integrated out; the binomial coefficients are left out.
        """
        nodes = np.full(len(self.hits), _NODES_EXTREME)
        parts = self._slices(len(parameters), _NODES_EXTREME)
        return np.concatenate([self._log_likelihood(parameters[block], nodes) for block in parts])

    def _log_likelihood(self, parameters, nodes):
        means, cholesky = self.logit_distribution(parameters)
        modes, roots = self.effect_modes(means, cholesky)
        groups = GroupModes(self.hits.T, self.totals.T, means, cholesky, modes, roots)
        return log_marginal_likelihood(groups, nodes)

    def _slices(self, size, n_nodes):
        """Give slices of so many parameters that what is made of them stays in the cache."""
        step = max(1, int(_CACHED / (len(self.hits) * n_nodes)))
        return (slice(start, start + step) for start in range(0, size, step))

    @cached_property
    def parameters(self) -> Weighted:
        """Weighted draws of the parameters, from a fixed seed."""
        rate = (self.hits.sum(0) + self.prior[:, 0]) / (self.totals.sum(0) + self.prior.sum(1))
        log_scale = np.log(self.scale)
        start = np.concatenate(
            [
                np.log(rate / (1 - rate)),
                np.full(self.n_rates, min(log_scale, 0.0) + _INITIAL_LOG_SD),
            ]
        )
        bounds = [(-_LOGIT_BOUND, _LOGIT_BOUND)] * self.n_rates
        # Where a half-normal prior has its mass: a heavier tail needs a wider range.
        bounds += [(log_scale - 6, log_scale + 2)] * self.n_rates
        if self.n_rates == 2:
            start, bounds = np.append(start, 0.0), [*bounds, (-3.0, 3.0)]
        if self.design is not None:
            n_slopes = self.design.shape[1] * self.n_rates
            start = np.append(start, np.zeros(n_slopes))
            bounds = [*bounds, *[(-_LOGIT_BOUND, _LOGIT_BOUND)] * n_slopes]
        size = int(np.clip(_PARAMETER_GROUPS / len(self.hits), *_FEWEST_AND_MOST))
        many = min(int(_PARAMETERS_OF_FEW_GROUPS / len(self.hits)), _MOST_OF_FEW_GROUPS)
        return explore(
            self.log_posterior,
            start,
            bounds,
            sketch=partial(self.log_posterior, n_nodes=_NODES_ROUGH),
            rough=size // 5,
            size=max(size, many, self.points),
        )

    @cached_property
    def population_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Rates and their complements (S, D) at every draw, averaged over all groups."""
        mean, sd, _ = self.unpack(self.parameters.points)
        return logit_normal_means(mean, sd)

    def logits(self, parameters: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """Return logits (S, G, D) of the groups with standardised effects (S, G, D)."""
        means, cholesky = self.logit_distribution(parameters)
        logits = self._logits(means, cholesky, list(np.moveaxis(effects, -1, 0)))
        return np.stack(logits, axis=-1)

    def partially_centred(self, parameters: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """
        Return the effects (S, G, D) as the PyMC model has them, of standardised ones (S, G, D).

        The logit of a rate has a mean m and a standard deviation s given the rates before it, and
        its effect is lambda m + s**lambda e; see the head of models/hierarchical_groups.py.
        """
        means, cholesky = self.logit_distribution(parameters)
        logits, information = _observed_logits(self.hits, self.totals)
        number = (self.totals > 0).sum(0)
        few = np.maximum(number - 5, 0) / np.maximum(number - 1, 1)
        variance = few * _variance_between(logits, information)
        centring = information * variance / (information * variance + 1)
        columns = []
        for index, (mean, row) in enumerate(zip(means, cholesky, strict=True)):
            before = (factor * effects[..., k] for k, factor in enumerate(row[:-1]))
            weight = centring[:, index]
            location = weight * sum(before, mean)
            columns.append(location + row[-1] ** weight * effects[..., index])
        return np.stack(columns, axis=-1)

    # From here on, what has one member for each of the D rates or effects is a list of arrays
    # (S, G): numpy is slow on a last axis of one or two.

    def logit_distribution(self, parameters):
        """Return means, D of (S, 1 or G), and the lower Cholesky factor, D rows of (S, 1)."""
        mean, sd, rho = self.unpack(parameters)
        shifted = mean[:, None]
        if self.design is not None:
            shifted = shifted + self.design @ self.slopes(parameters)
        means = list(np.moveaxis(shifted, -1, 0))
        first = sd[:, :1]
        if self.n_rates == 1:
            return means, [[first]]
        rho, second = rho[:, None], sd[:, 1:]
        return means, [[first], [rho * second, np.sqrt(np.maximum(1 - rho**2, 1e-12)) * second]]

    def _logits(self, means, cholesky, effects):
        """Return the logits at standardised effects, both D arrays (S, G, ...)."""
        extra = (...,) + (None,) * (effects[0].ndim - 2)
        shifts = _multiply([[entry[extra] for entry in row] for row in cholesky], effects)
        return [mean[extra] + shift for mean, shift in zip(means, shifts, strict=True)]

    def effect_modes(self, means, cholesky):
        """
        Return where each group's standardised effects are most probable, by Newton's method.

        Returns
        -------
        modes : D arrays, shape (S, G)
        roots : D rows of arrays, shape (S, G)
            The lower Cholesky factor of the inverse curvature at the mode.
        """
        effects = self._normal_approximation(means, cholesky)
        for _ in range(_NEWTON_STEPS):
            gradient, precision, determinant = self._derivatives(effects, means, cholesky)
            step = _multiply(_inverse(precision, determinant), gradient)
            # The decrement is in the scale of the curvature, which is large where a group has many
            # examples.
            decrement = sum(move * slope for move, slope in zip(step, gradient, strict=True))
            longest = np.max([np.abs(move) for move in step], axis=0)
            damping = np.minimum(1, _LONGEST_STEP / np.maximum(longest, 1e-12))
            effects = [at + damping * move for at, move in zip(effects, step, strict=True)]
            if decrement.max() < _CONVERGED:  # the quadrature wants no more
                break
        _, precision, determinant = self._derivatives(effects, means, cholesky)
        return effects, _root_of_inverse(precision, determinant)

    def _normal_approximation(self, means, cholesky):
        """Return the modes if logits of shares were normal: near, also where groups are far."""
        shares = (self.hits.T + 0.5) / (self.totals.T + 1)
        weights = self.totals.T * shares * (1 - shares)
        residuals = [
            weight * (logit(p) - mean)
            for weight, p, mean in zip(weights, shares, means, strict=True)
        ]
        gradient, precision, determinant = _normal_equations(residuals, weights, cholesky)
        return _multiply(_inverse(precision, determinant), gradient)

    def _derivatives(self, effects, means, cholesky):
        """Return the gradient of the log density of effects, and its precision."""
        rates = [fast_expit(logits) for logits in self._logits(means, cholesky, effects)]
        residuals = [h - n * p for h, n, p in zip(self.hits.T, self.totals.T, rates, strict=True)]
        weights = [n * p * (1 - p) for n, p in zip(self.totals.T, rates, strict=True)]
        gradient, precision, determinant = _normal_equations(residuals, weights, cholesky)
        gradient = [slope - at for slope, at in zip(gradient, effects, strict=True)]
        return gradient, precision, determinant

    def draw_effects(self, parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """
        Draw each group's standardised effects given parameters (S, P), shape (S, G, D).

        By a few steps of an independence Metropolis sampler, whose proposal is the normal
        distribution at the mode.
        """
        parts = self._slices(len(parameters), 1)
        return np.concatenate([self._metropolis(parameters[block], rng) for block in parts])

    def _metropolis(self, parameters, rng):
        means, cholesky = self.logit_distribution(parameters)
        modes, roots = self.effect_modes(means, cholesky)

        def propose():
            noise = list(rng.standard_normal((self.n_rates, *modes[0].shape)))
            shifts = _multiply(roots, noise)
            effects = [mode + shift for mode, shift in zip(modes, shifts, strict=True)]
            logits = self._logits(means, cholesky, effects)
            log_ratio = sum(map(log_likelihood_of_logit, logits, self.hits.T, self.totals.T))
            log_ratio += sum(n**2 - e**2 for n, e in zip(noise, effects, strict=True)) / 2
            return effects, log_ratio

        effects, log_ratio = propose()
        for _ in range(_METROPOLIS_STEPS):
            proposal, proposal_ratio = propose()
            accept = np.log(rng.random(log_ratio.shape)) < proposal_ratio - log_ratio
            effects = [
                np.where(accept, new, old) for new, old in zip(proposal, effects, strict=True)
            ]
            log_ratio = np.where(accept, proposal_ratio, log_ratio)
        return np.stack(effects, axis=-1)


def _normal_equations(residuals, weights, cholesky):
    """
    Return the gradient of the likelihood in standardised effects, the precision and its size.

    With the Cholesky factor L and the weights W they are L' r, L' W L + I and its determinant.
    """
    if len(residuals) == 1:
        a = cholesky[0][0]
        precision = a**2 * weights[0] + 1
        return [a * residuals[0]], [[precision]], precision
    a, (b, c) = cholesky[0][0], cholesky[1]
    cross = b * c * weights[1]
    gradient = [a * residuals[0] + b * residuals[1], c * residuals[1]]
    first, second = a**2 * weights[0] + 1, c**2 * weights[1] + 1
    shared = b**2 * weights[1]
    # The determinant as a sum: a difference of products has no digits where counts are large.
    return gradient, [[first + shared, cross], [cross, second]], first * second + shared


def _multiply(rows, vector):
    """Multiply a matrix, given as rows of arrays (perhaps only a lower triangle), by a vector."""
    return [sum(m * v for m, v in zip(row, vector, strict=False)) for row in rows]


def _inverse(precision, determinant):
    if len(precision) == 1:
        return [[1 / determinant]]
    (a, b), (_, d) = precision
    return [[d / determinant, -b / determinant], [-b / determinant, a / determinant]]


def _root_of_inverse(precision, determinant):
    """Return the lower Cholesky factor of the inverse."""
    if len(precision) == 1:
        return [[np.sqrt(1 / determinant)]]
    (_, b), (_, d) = precision
    return [[np.sqrt(d / determinant)], [-b / np.sqrt(d * determinant), np.sqrt(1 / d)]]


# More classes.


class DirichletHierarchy:
    """
    More classes: Dirichlet distributions of the class shares, of what is right, and of the errors.

    How often a class is right and where its errors go have a spread each: groups that differ in
    the one may agree in the other.

    Parameters
    ----------
    cells : ndarray, shape (G, C, C)
    totals : ndarray, shape (G, C)
        How many examples of each class the class shares are known by.
    concentration : ndarray, shape (C, C)
    spread : float
    points : int
        At least so many weighted points of the parameters.
    """

    free_variables = ("shares", "right", "errors", "spread")

    def __init__(
        self,
        cells: np.ndarray,
        totals: np.ndarray,
        concentration: np.ndarray,
        spread: float,
        *,
        points: int = 0,
    ):
        shares = DirichletShares(totals, concentration.sum(-1), spread, points=points)
        right, errors = (
            [
                DirichletShares(counts, prior[0], spread, points=points)
                for counts, prior in zip(split(cells), split(concentration[None]), strict=True)
            ]
            for split in (_right_and_wrong, _errors)
        )
        self.n_classes = len(concentration)
        self.hierarchies = [shares, *right, *errors]

    @property
    def effective(self) -> float:
        """The number of independent draws that the parameters are worth at most."""
        return min(hierarchy.parameters.effective for hierarchy in self.hierarchies)

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the model's variables, of the groups' own if asked for."""
        parameters = [hierarchy.parameters.draw(size, rng) for hierarchy in self.hierarchies]
        pairs = list(zip(self.hierarchies, parameters, strict=True))
        typical, spread = zip(
            *(hierarchy.unpack(values) for hierarchy, values in pairs), strict=True
        )
        shares, right, errors = self._split(typical)
        rows = _rows(right, errors)
        drawn = {
            "shares": shares,
            "right": right,
            "errors": errors,
            "rows": rows,
            "spread": np.stack(spread, axis=1),
            "theta": shares[..., None] * rows,
        }
        drawn["theta_typical"] = drawn["theta"]  # the parts are independent
        drawn |= self._matrices(
            [hierarchy.draw_new(values, rng) for hierarchy, values in pairs], "new"
        )
        if groups:
            members = [hierarchy.draw_groups(values, rng) for hierarchy, values in pairs]
            drawn |= self._matrices(members, "group")
        return drawn

    def _split(self, values):
        """Return the shares (..., C), rates of what is right (..., C), errors (..., C, C - 1)."""
        shares, *rates = values
        right = np.stack(rates[: self.n_classes], axis=-2)[..., 0]
        return shares, right, np.stack(rates[self.n_classes :], axis=-2)

    def _matrices(self, values, suffix):
        """Return shares, rows and cell probabilities of groups."""
        shares, right, errors = self._split(values)
        rows = _rows(right, errors)
        theta = shares[..., None] * rows
        return {f"shares_{suffix}": shares, f"rows_{suffix}": rows, f"theta_{suffix}": theta}

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return that of every group (S, G), its shares integrated out, without coefficients."""
        right = np.stack([variables["right"], 1 - variables["right"]], axis=-1)
        errors = np.moveaxis(variables["errors"], -2, 0)
        typical = [variables["shares"], *np.moveaxis(right, -2, 0), *errors]
        log_spread = np.log(variables["spread"])
        logs = [
            hierarchy.log_likelihood(np.concatenate([shares, log_spread[:, [index]]], axis=1))
            for index, (hierarchy, shares) in enumerate(zip(self.hierarchies, typical, strict=True))
        ]
        return np.sum(logs, axis=0)


def _right_and_wrong(cells):
    """Return how many of every class are right and wrong, (C, ..., 2)."""
    right = np.einsum("...ii->i...", cells)
    return np.stack([right, np.moveaxis(cells.sum(-1), -1, 0) - right], axis=-1)


def _errors(cells):
    """Return the errors of every class, (C, ..., C - 1)."""
    classes = cells.shape[-1]
    off = cells[..., ~np.eye(classes, dtype=bool)]
    return np.moveaxis(off.reshape(*cells.shape[:-1], classes - 1), -2, 0)


def _rows(right, errors):
    """Return the rows (..., C, C) of what is right (..., C) and of the errors (..., C, C - 1)."""
    classes = right.shape[-1]
    rows = np.empty((*right.shape, classes))
    rows[..., np.eye(classes, dtype=bool)] = right
    wrong = (1 - right)[..., None] * errors
    rows[..., ~np.eye(classes, dtype=bool)] = wrong.reshape(*right.shape[:-1], -1)
    return rows


# Plug-in estimates of two classes; that of the average over all groups is `average_cells`.


def _typical_cells(cells):
    """
    Return the cells (..., 2, 2) of the group in the middle: rates that are means of logits.

    References
    ----------
    DerSimonian, R. & Laird, N. (1986). Meta-analysis in clinical trials. Controlled Clinical Trials
    7, 177-188. doi:10.1016/0197-2456(86)90046-2
    """
    (tn, fp), (fn, tp) = np.moveaxis(cells, (-2, -1), (0, 1))
    positives = _random_effects_rate(cells[..., 1, :].sum(-1), cells[..., 0, :].sum(-1))
    recall, specificity = _random_effects_rate(tp, fn), _random_effects_rate(tn, fp)
    return _matrix(
        (1 - positives) * specificity,
        (1 - positives) * (1 - specificity),
        positives * (1 - recall),
        positives * recall,
    )


def _random_effects_rate(hits, misses):
    """Return the rate (...) whose logit is the random-effects mean, of hits and misses (G, ...)."""
    logits, weight = _observed_logits(hits, hits + misses)
    between = _variance_between(logits, weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = weight / (1 + weight * between)
        return expit((weight * logits).sum(0) / weight.sum(0))


def _observed_logits(hits, totals):
    """Return logits of rates (G, ...) and their information, 0 where there are no trials."""
    rates = (hits + 0.5) / (totals + 1)
    return logit(rates), (totals > 0) * (totals + 1) * rates * (1 - rates)


def _variance_between(logits, weight):
    """Return DerSimonian and Laird's variance (...) between groups of logits (G, ...)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (weight * logits).sum(0) / weight.sum(0)
        excess = (weight * (logits - mean) ** 2).sum(0) - ((weight > 0).sum(0) - 1)
        scale = weight.sum(0) - (weight**2).sum(0) / weight.sum(0)
        return np.maximum(np.nan_to_num(excess / scale), 0)


def _at_reference(cells, design):
    """
    Return the cells (G, ..., 2, 2) of groups as they would be if their covariates were 0.

    As many examples in every group; its logits moved along weighted least-squares slopes.
    """
    (tn, fp), (fn, tp) = np.moveaxis(cells, (-2, -1), (0, 1))
    size = cells.sum((-2, -1))
    positives = size * _reference_rate(cells[..., 1, :].sum(-1), cells[..., 0, :].sum(-1), design)
    hits = positives * _reference_rate(tp, fn, design)
    rejections = (size - positives) * _reference_rate(tn, fp, design)
    return _matrix(rejections, size - positives - rejections, positives - hits, hits)


def _reference_rate(hits, misses, design):
    """Return the rates (G, ...) where the covariates are 0."""
    logits = logit((hits + 0.5) / (hits + misses + 1))
    weight = np.sqrt((hits + misses > 0) / (1 / (hits + 0.5) + 1 / (misses + 0.5)))
    regressors = np.concatenate([np.ones((len(design), 1)), design], axis=1)
    flat, root = logits.reshape(len(logits), -1), weight.reshape(len(logits), -1)
    slopes = [
        np.linalg.lstsq(w[:, None] * regressors, w * y, rcond=None)[0][1:]
        for y, w in zip(flat.T, root.T, strict=True)
    ]
    return expit(flat - design @ np.array(slopes).T).reshape(logits.shape)
