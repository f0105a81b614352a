r"""
Direct posterior of `bayescm.models.robust_groups`: quadrature over logits.

Prevalence, recall and specificity are three separate rates (`NormalMixtureRates`). The logits of
the groups have the distribution

.. math::

    x_g \sim (1 - \omega) \, N(m, \tau^2)
        + \tfrac{\omega}{2} \, N(m - d, \tau^2 + d^2 / 4)
        + \tfrac{\omega}{2} \, N(m + d, \tau^2 + d^2 / 4).

**Likelihood.** The likelihood of :math:`m, \tau, \omega` is a product over the groups of integrals
over x. They are computed by the trapezoidal rule with even steps h. For a normal density with the
standard deviation s, its relative error is 2 exp(-2 (pi s / h)**2) (Trefethen & Weideman, 2014).
All integrals, for all groups and parameters, are then computed as one matrix product. If
:math:`\tau` is smaller than the steps, Gauss-Hermite sums are used instead.

**Posterior.** The log likelihood is computed at nodes of m, log(tau + constant) and logit(omega).
The nodes are narrowed down to the posterior, and a cubic spline interpolates between them. Combined
with the prior, the spline gives the posterior masses of small cells. For each draw, a cell is
selected with its mass as probability, and a point within the cell is sampled uniformly. The draws
are quasi-random, with each of the three coordinates conditional on the previous ones
(`quasi_random`). The logits of the groups are sampled by inverting the distribution function on the
grid.

References
----------
Beath, K. J. (2014). A finite mixture method for outlier detection and robustness in meta-analysis.
Research Synthesis Methods 5, 285-293. doi:10.1002/jrsm.1114

Trefethen, L. N. & Weideman, J. A. C. (2014). The exponentially convergent trapezoidal rule. SIAM
Review 56, 385-458. doi:10.1137/130932132
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import betaln, expit, logit, ndtr, ndtri, xlogy

from bayescm.distributions.quasi_random import even_uniform
from bayescm.evidence.counts import is_outcomes
from bayescm.inference.adaptive_gauss_hermite import gauss_hermite_rule, logit_normal_means
from bayescm.posteriors.hierarchical_groups import (
    HierarchicalGroups,
    check_prevalence,
    groups_and_prior,
)
from bayescm.posteriors.logit_normal_groups import cells_of_logits, cells_of_rates
from bayescm.validate import fail


def robust_groups(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    spread: float = 0.5,
    deviation: float = 1.2,
    prevalence: float | None = None,
) -> "RobustGroups":
    """
    Return the posterior of the matrices of groups with a few outliers.

    Use it to find out which groups deviate from the others, and how far apart the groups are.

    Parameters
    ----------
    counts : DataArray, dims (..., group, actual, predicted), or array_like, (..., G, 2, 2)
        Counts of G >= 2 groups of two classes. A group may lack a class, or be empty.
    concentration : float, array_like or DataArray, shape (2, 2), optional
        Prior pseudo-counts > 0 of the typical group. Default: 0.5.
    spread : float, default 0.5
        Scale > 0 of the half-normal prior of the standard deviation between ordinary groups, on the
        logit scale. Half of the prior has a scale of 1/25 of this value.
    deviation : float, default 1.2
        Typical distance > 0 of a deviating group from the ordinary groups, up or down, on the logit
        scale.
    prevalence : float, optional
        Known proportion of the positive class in the population, inside (0, 1). Default: the scalar
        coordinate ``prevalence``, if any.

    Returns
    -------
    RobustGroups

    Raises
    ------
    ValueError
        If there is only one group, there are more than two classes, or an argument is invalid.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> cells = [[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]]]
    >>> (recall,) = robust_groups(cells).draw([resolve("recall")], 4000, np.random.default_rng(0))
    >>> float(recall.mean().round(1))
    0.8
    """
    if is_outcomes(counts):
        raise fail(
            "robust_groups supports counts of one classifier, not outcomes",
            ...,
            "",
            "use hierarchical_groups for several classifiers on the same examples",
        )
    if not isinstance(deviation, (int, float, np.number)) or not 0 < deviation < np.inf:
        todo = "pass e.g. `deviation=1.2`"
        raise fail("`deviation` must be a finite number > 0", deviation, "", todo)
    table, weight, prevalence = groups_and_prior(counts, concentration, spread, prevalence)
    if table.sizes["actual"] != 2:
        raise fail(
            "robust_groups supports two classes; the counts have {}",
            table.sizes["actual"],
            "",
            "use hierarchical_groups, or compare one class with the rest",
        )
    check_prevalence(prevalence)
    return RobustGroups(table, weight, float(spread), prevalence, deviation=float(deviation))


@dataclass(frozen=True, eq=False)
class RobustGroups(HierarchicalGroups):
    """
    Posterior of the matrices of groups with a few outliers.

    Attributes
    ----------
    deviation : float
        Typical distance of a deviating group, up or down, on the logit scale.
    """

    sampling_method = "quadrature"
    how = "draws by quadrature on a grid"
    # Quantiles from the cells have errors of a thousandth of the length of a 95% interval, as with
    # this number of independent draws.
    effective_draws = 2e5
    deviation: float

    @cached_property
    def collections(self) -> "list[IndependentRates]":
        """The posterior of each collection of groups in the batch."""
        return [
            IndependentRates(
                cells, totals, self.concentration, self.spread, self.deviation, self.prevalence
            )
            for cells, totals in self.cells_and_totals
        ]


class IndependentRates:
    """
    Three independent rates of each group, for two classes.

    Parameters
    ----------
    cells : ndarray, shape (G, 2, 2)
        Counts of the groups.
    totals : ndarray, shape (G, 2)
        Effective number of examples of each class, from which the prevalence is estimated.
    concentration : ndarray, shape (2, 2)
        Prior pseudo-counts of the typical group.
    spread, deviation : float
        See `robust_groups`.
    prevalence : float or None
        Known proportion of the positive class in the population.
    """

    free_variables = ("rates", "spread", "outlying")

    def __init__(
        self,
        cells: np.ndarray,
        totals: np.ndarray,
        concentration: np.ndarray,
        spread: float,
        deviation: float,
        prevalence: float | None,
    ):
        (tn, fp), (fn, tp) = cells.transpose(1, 2, 0)
        hits_totals_prior = [
            (totals[:, 1], totals.sum(1), concentration.sum(1)[::-1]),
            (tp, tp + fn, concentration[1, ::-1]),
            (tn, tn + fp, concentration[0]),
        ]
        self.rates = [NormalMixtureRates(*rate, spread, deviation) for rate in hits_totals_prior]
        self.prevalence = prevalence

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables, and of each group if `groups`."""
        drawn = [rate.draw(size, rng, groups=groups) for rate in self.rates]
        middle, spread, outlying, new = (
            np.stack([drawn_rate[name] for drawn_rate in drawn], axis=1)
            for name in ("middle", "spread", "outlying", "new")
        )
        means = [
            rate.mean_rates(drawn_rate["middle"], drawn_rate["spread"], drawn_rate["outlying"])
            for rate, drawn_rate in zip(self.rates, drawn, strict=True)
        ]
        hits, misses = (np.stack(rates, axis=1) for rates in zip(*means, strict=True))
        variables = {
            "rates": expit(middle),
            "spread": spread,
            "outlying": outlying,
            "effect_new": (new - middle) / spread,
            "theta": cells_of_rates(hits, misses, self.prevalence),
            "theta_typical": cells_of_logits(middle, self.prevalence),
            "theta_new": cells_of_logits(new, self.prevalence),
        }
        if groups:
            logits = np.stack([drawn_rate["logits"] for drawn_rate in drawn], axis=-1)
            variables["effect"] = (logits - middle[:, None]) / spread[:, None]
            variables["theta_group"] = cells_of_logits(logits, self.prevalence)
        return variables

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """
        Return the log likelihood (S, G) of each group, up to a constant.

        The effects of the groups are integrated out, and the binomial coefficients are omitted.
        """
        middle = logit(np.clip(variables["rates"], 1e-300, 1 - 1e-16))
        spread, outlying = variables["spread"], variables["outlying"]
        logs = [
            rate.log_likelihood_of_groups(middle[:, d], spread[:, d], outlying[:, d])
            for d, rate in enumerate(self.rates)
        ]
        return np.sum(logs, axis=0)


# Posterior of one rate.

# Steps of the logits near the groups. The narrowest normal density that is summed is one step wide.
# The narrowest product of density and likelihood is 0.93 steps wide, with an error of 8e-8.
_COARSE_STEP = 0.12  # in logits
_FINE_STEP = 0.4  # in standard errors of the most precise group
_TAIL = 8.0  # distance in logits that the grid extends beyond the groups
# Deviations smaller than this, in standard errors of the most precise group, have no visible
# effect.
_NO_DEVIATION = 0.02
_NORMAL_NODES = 7  # number of Gauss-Hermite nodes, for spreads below one step

# Prior, as in the model file.
_NARROWER = 25  # half of the prior for tau is narrower by this factor
_OUTLYING_B = 9.0  # the prior for the share of deviating groups is Beta(1, 9)

# Ranges of the parameters in the search for the posterior.
#
# Smallest share of deviating groups, times 9 + G. If no group deviates, the posterior of the share
# is Beta(1, 9 + G), with probability 0.001 below this value.
_RAREST = 1e-3
_MOST_OUTLYING = 0.95  # largest share; prior probability 0.05**9 above it
_WIDEST = 4.0  # largest spread, in units of its prior scale; prior probability below 6e-5 above it

# Nodes of m are half a standard error of a group apart, within these bounds.
_FEWEST_MIDDLE_NODES = 14
_MOST_MIDDLE_NODES = 600
_MIDDLE_GROUPS = 5e5  # largest number of nodes of m times groups
_SPREAD_NODES = 20  # number of nodes of tau
_OUTLYING_NODES = 9  # number of nodes of omega
# Nodes are omitted if their log density is this far below the maximum, a factor of e**-18.
_LOWEST = 18.0
_SHRUNK = 0.8  # the search ends when no axis would shrink below this factor
_ROUNDS = 12  # largest number of rounds of the search

# Width of the cells of m, in units of its smallest standard deviation. Uniform sampling within the
# cells increases a standard deviation by a factor of 1.001.
_MIDDLE_CELL = 0.15
_FEWEST_MIDDLE_CELLS = 64
_MOST_MIDDLE_CELLS = 800
_SPREAD_CELLS = 4  # cells of tau per interval between nodes
# Cells of omega per interval between nodes. The error of the lower end of a 95% interval for the
# population is 0.004 of the length of the interval with four cells, and 0.0015 with eight.
_OUTLYING_CELLS = 8
_ROUGH_CELLS = 2  # cells of tau and omega during the search

_STANDARD_GRID = np.linspace(-6, 6, 49)  # nodes of narrow effects, in units of their spread
_MEMORY = 4e7  # largest number of values in memory (320 MB)
_CACHE = 60_000  # number of values that fit into the processor's cache
_SHARED_GROUPS = 16  # number of groups per additional draw with the same parameters
_MOST_SHARED = 8  # largest number of draws with the same parameters
_TINY = 1e-300


class Cells(NamedTuple):
    """Edges of small cells of m, tau and omega, and the posterior mass of each cell."""

    edges: list[np.ndarray]
    mass: np.ndarray


@dataclass(frozen=True, eq=False)
class NormalMixtureRates:
    """
    Posterior of a binomial rate in G groups, with a mixture of three normals.

    Attributes
    ----------
    hits, totals : ndarray, shape (G,)
        Successes and trials. A group may have no trials.
    prior : ndarray, shape (2,)
        Beta parameters of the rate of a typical group.
    scale : float
        Scale of the half-normal prior for the standard deviation between ordinary groups. Half of
        the prior is narrower, see ``models.robust_groups``.
    deviation : float
        Typical distance of deviating groups, up or down. Its standard deviation is half of this
        value.
    """

    hits: np.ndarray
    totals: np.ndarray
    prior: np.ndarray
    scale: float
    deviation: float

    def wide(self, spread: np.ndarray) -> np.ndarray:
        """Return the standard deviation of deviating groups around their centre."""
        return np.sqrt(spread**2 + (self.deviation / 2) ** 2)

    def mean_rates(
        self, middle: np.ndarray, spread: np.ndarray, outlying: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rate and its complement (size,), averaged over the population."""
        wide, d = self.wide(spread), self.deviation
        components = [
            (0.0, spread, 1 - outlying),
            (-d, wide, outlying / 2),
            (d, wide, outlying / 2),
        ]
        means = [(logit_normal_means(middle + shift, sd), mass) for shift, sd, mass in components]
        rate, complement = (sum(mass * pair[i] for pair, mass in means) for i in (0, 1))
        return rate, complement

    # Likelihood.

    @cached_property
    def _shares(self):
        """Observed proportions (G,), with half a success and half a failure added."""
        return (self.hits + 0.5) / (self.totals + 1)

    @cached_property
    def _errors(self):
        """The approximate standard errors (G,) of the groups' logits."""
        return np.maximum(self.totals * self._shares * (1 - self._shares), 0.05) ** -0.5

    @cached_property
    def step(self) -> float:
        """
        Step of the logits near the groups.

        It is small enough for the most precise group and for small deviations.
        """
        error = self._errors.min()
        return min(_COARSE_STEP, _FINE_STEP * error, max(self.deviation, _NO_DEVIATION * error) / 4)

    @cached_property
    def _near(self):
        """The lowest and highest logit near the groups."""
        return logit(self._shares.min()) - 1, logit(self._shares.max()) + 1

    @cached_property
    def grid(self) -> np.ndarray:
        """The grid of logits (M,)."""
        low, high = self._near
        near = np.arange(low, high + self.step, self.step)
        tail = np.arange(_COARSE_STEP, _TAIL + 3 * self.scale, _COARSE_STEP)
        return np.concatenate([near[0] - tail[::-1], near, near[-1] + tail])

    @cached_property
    def highest(self) -> np.ndarray:
        """The log likelihood (G,) of each group's observed proportion, up to a constant."""
        rate = self.hits / np.maximum(self.totals, 1)
        return xlogy(self.hits, rate) + xlogy(self.totals - self.hits, 1 - rate)

    def log_likelihood(
        self, middle: np.ndarray, spread: np.ndarray, outlying: np.ndarray
    ) -> np.ndarray:
        """Return the log likelihood (P, S) of middles, spreads (P,) and shares (S,)."""
        total = np.zeros((len(middle), len(outlying)))
        for groups, likelihood in self._chunks():
            step = max(1, int(_MEMORY / 8 / max(likelihood.shape)))
            for block in (slice(at, at + step) for at in range(0, len(middle), step)):
                alike, apart = self._components(groups, likelihood, middle[block], spread[block])
                for index, share in enumerate(outlying):
                    total[block, index] += np.log((1 - share) * alike + share * apart).sum(1)
        return total

    def log_likelihood_of_groups(
        self, middle: np.ndarray, spread: np.ndarray, outlying: np.ndarray
    ) -> np.ndarray:
        """
        Return the log likelihood (P, G) of each group, up to a constant.

        The binomial coefficients are omitted.
        """
        logs = np.empty((len(middle), len(self.hits)))
        for groups, likelihood in self._chunks():
            alike, apart = self._components(groups, likelihood, middle, spread)
            logs[:, groups] = np.log(alike + outlying[:, None] * (apart - alike))
        return logs + self.highest

    def _components(self, groups, likelihood, middle, spread):
        """Return the likelihoods (P, g) of groups as ordinary and as deviating groups."""
        wide = self.wide(spread)
        alike, down, up = (
            self._average(groups, likelihood, middle + shift, sd)
            for shift, sd in ((0, spread), (-self.deviation, wide), (self.deviation, wide))
        )
        return np.maximum(alike, _TINY), np.maximum((down + up) / 2, _TINY)

    def _average(self, groups, likelihood, middle, spread):
        """Return the likelihoods (P, g) of groups, averaged over normal logits (P,)."""
        average = np.empty((len(middle), len(likelihood)))
        low, high = self._near
        # Beyond the groups, the steps are wide, and a narrow density could lie between two of them.
        inside = (low <= middle) & (middle <= high)
        on_grid = spread >= np.where(inside, self.step, _COARSE_STEP)
        weights = trapezoidal_weights(self.grid, middle[on_grid], spread[on_grid])
        average[on_grid] = weights @ likelihood.T
        if not on_grid.all():
            nodes, weights = gauss_hermite_rule(_NORMAL_NODES)
            logits = middle[~on_grid, None] + spread[~on_grid, None] * nodes
            exact = self._likelihood(groups, logits.ravel())
            exact = exact.reshape(len(likelihood), -1, _NORMAL_NODES)
            average[~on_grid] = (exact @ weights).T
        return average

    def _likelihood(self, groups, logits):
        """Return the likelihoods (g, N) of some groups at logits (N,), each at most 1."""
        hits, totals = self.hits[groups, None], self.totals[groups, None]
        logs = hits * logits - totals * np.logaddexp(0, logits)
        return np.exp(logs - self.highest[groups, None])

    @cached_property
    def _likelihood_on_grid(self):
        return self._likelihood(slice(None), self.grid)

    def _chunks(self):
        """Yield groups and their likelihoods in chunks that limit memory use."""
        step = max(1, int(_MEMORY / len(self.grid) / 4))
        if step >= len(self.hits):
            yield slice(None), self._likelihood_on_grid
            return
        for start in range(0, len(self.hits), step):
            groups = slice(start, start + step)
            yield groups, self._likelihood(groups, self.grid)

    # Posterior of the parameters.

    @cached_property
    def cells(self) -> Cells:
        """The posterior of m, tau and omega."""
        box = self._box()
        for _ in range(_ROUNDS):
            axes, surface = self._surface(box)
            edges = _edges(axes, [_ROUGH_CELLS * (len(axis) - 1) for axis in axes])
            log_likelihood = _spline(axes, surface, edges)
            # Widely spaced nodes may miss the maximum by a large amount, but the spline does not.
            missed = max(log_likelihood.max() - surface.max(), 0.0)
            logs = log_likelihood + self._log_prior(edges)
            plausible = logs > logs.max() - _LOWEST - missed
            inside = [np.flatnonzero(plausible.any(axis)) for axis in ((1, 2), (0, 2), (0, 1))]
            closer = np.array(
                [
                    (ends[max(at[0] - 1, 0)], ends[min(at[-1] + 2, len(ends) - 1)])
                    for ends, at in zip(edges, inside, strict=True)
                ]
            )
            # Extend the range of m if it excludes plausible values. If the groups have no
            # successes, for example, the rate may be below all observed rates.
            beyond = np.array([plausible[0].any(), plausible[-1].any()]) * np.ptp(box[0]) / 2
            closer[0] += beyond * [-1, 1]
            if not beyond.any() and (np.ptp(closer, axis=1) > _SHRUNK * np.ptp(box, axis=1)).all():
                break
            box = closer
        narrowest = self._error(axes[1][0]) / np.sqrt(len(self.hits))
        number = np.ptp(axes[0]) / (_MIDDLE_CELL * narrowest)
        number = int(np.clip(number, _FEWEST_MIDDLE_CELLS, _MOST_MIDDLE_CELLS))
        sizes = [
            number,
            _SPREAD_CELLS * (_SPREAD_NODES - 1),
            _OUTLYING_CELLS * (_OUTLYING_NODES - 1),
        ]
        edges = _edges(axes, sizes)
        logs = _spline(axes, surface, edges) + self._log_prior(edges)
        mass = np.exp(logs - logs.max())
        edges = [edges[0], self._spread(edges[1]), expit(edges[2])]
        return Cells(edges, mass / mass.sum())

    def _box(self):
        """Return the ranges of the nodes of m, log(tau + constant) and logit(omega), (3, 2)."""
        shares = np.append(self._shares, (self.hits.sum() + 0.5) / (self.totals.sum() + 1))
        widest = np.sqrt((self._errors**2).mean() + (_WIDEST * self.scale) ** 2)
        room = min(16 * widest / np.sqrt(len(self.hits)), _TAIL + 3 * self.scale)
        rarest = _RAREST / (_OUTLYING_B + len(self.hits))
        return np.array(
            [
                (logit(shares.min()) - room, logit(shares.max()) + room),
                (np.log(self._constant), np.log(self._constant + _WIDEST * self.scale)),
                (logit(rarest), logit(_MOST_OUTLYING)),
            ]
        )

    @cached_property
    def _constant(self):
        """The constant added to a spread. Much smaller spreads are equivalent to 0."""
        return min(self._errors.min(), self.scale / _NARROWER) / 4

    def _spread(self, nodes):
        """Return the positive spreads of nodes log(tau + constant)."""
        return np.maximum(np.exp(nodes) - self._constant, 1e-6 * self._constant)

    def _error(self, node):
        """Return the standard error of a group's logit, with the spread of a node."""
        return np.sqrt(1 / (self._errors**-2).mean() + self._spread(node) ** 2)

    def _surface(self, box):
        """Return nodes on three axes within a box, and the log likelihood there."""
        most = np.clip(
            _MIDDLE_GROUPS / len(self.hits), 2 * _FEWEST_MIDDLE_NODES, _MOST_MIDDLE_NODES
        )
        half_errors = 2 * np.ptp(box[0]) / self._error(box[1, 0])
        number = int(np.clip(half_errors, _FEWEST_MIDDLE_NODES, most))
        numbers = (number, _SPREAD_NODES, _OUTLYING_NODES)
        axes = [np.linspace(low, high, n) for (low, high), n in zip(box, numbers, strict=True)]
        middle, spread = np.repeat(axes[0], _SPREAD_NODES), self._spread(axes[1])
        logs = self.log_likelihood(middle, np.tile(spread, number), expit(axes[2]))
        return axes, logs.reshape(numbers)

    def _log_prior(self, edges):
        """
        Return the log prior masses of the cells between edges of m, tau and omega.

        The priors for expit(m) and omega are beta distributions, and the prior for tau is an equal
        mixture of two half-normal distributions.
        """
        (a, b), middle = self.prior, (edges[0][1:] + edges[0][:-1]) / 2
        first = a * middle - (a + b) * np.logaddexp(0, middle) - betaln(a, b)
        first += np.log(np.diff(edges[0]))
        spread = self._spread(edges[1])
        above = sum(ndtr(-spread / scale) for scale in (self.scale, self.scale / _NARROWER))
        second = np.log(np.maximum(-np.diff(above), _TINY))
        third = np.log(-np.diff(expit(-edges[2]) ** _OUTLYING_B))
        return first[:, None, None] + second[:, None] + third

    # Sampling.

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """
        Sample the parameters, and the logits of each group if `groups`.

        With many groups, several draws share their parameters.

        Returns
        -------
        dict
            - ``middle``, ``spread`` and ``outlying`` (size,)
            - ``new`` (size,): the logit of an unobserved group
            - ``logits`` (size, G), if `groups`
        """
        n_shared = int(np.clip(len(self.hits) // _SHARED_GROUPS, 1, _MOST_SHARED)) if groups else 1
        uniform = even_uniform(size, 4, rng)
        # Use the first points, because every n-th point of a sequence may lie in one part of the
        # cube.
        parameters = self._parameters(uniform[: -(-size // n_shared), 1:])
        index, order = np.arange(size) // n_shared, rng.permutation(size)
        drawn = {name: values[index] for name, values in parameters.items()}
        drawn["new"] = self._new(drawn, uniform[:, 0])
        if groups:
            drawn["logits"] = self.draw_logits(parameters, np.bincount(index), rng)
        return {name: values[order] for name, values in drawn.items()}

    def _parameters(self, uniform):
        """Return the parameters at uniform numbers (N, 3), each conditional on previous ones."""
        edges, mass = self.cells
        first, middle = _invert(mass.sum((1, 2))[None], np.zeros(len(uniform), int), uniform[:, 0])
        second, spread = _invert(mass.sum(2), first, uniform[:, 1])
        rows = mass.reshape(-1, mass.shape[2])
        third, outlying = _invert(rows, first * mass.shape[1] + second, uniform[:, 2])
        inside = {
            "middle": (edges[0], first, middle),
            "spread": (edges[1], second, spread),
            "outlying": (edges[2], third, outlying),
        }
        return {
            name: ends[cell] + fraction * (ends[cell + 1] - ends[cell])
            for name, (ends, cell, fraction) in inside.items()
        }

    def _new(self, parameters, uniform):
        """Return the logits of new groups, one for each uniform number."""
        middle, spread, share = (parameters[name] for name in ("middle", "spread", "outlying"))
        # In increasing order: groups that deviate downwards, ordinary groups, groups that deviate
        # upwards.
        down, up = uniform < share / 2, uniform > 1 - share / 2
        apart = down | up
        below = np.select([down, up], [0, 1 - share / 2], share / 2)
        within = (uniform - below) / np.where(apart, share / 2, 1 - share)
        shift = self.deviation * (up.astype(float) - down)
        sd = np.where(apart, self.wide(spread), spread)
        return middle + shift + sd * ndtri(np.clip(within, 1e-16, 1 - 1e-16))

    def draw_logits(
        self, parameters: dict[str, np.ndarray], number: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Sample the groups' logits (N, G), with `number[k]` rows for the k-th of K parameters."""
        ends = np.concatenate([[0], np.cumsum(number)])
        result = np.empty((ends[-1], len(self.hits)))
        # If the spread is smaller than two steps, ordinary groups have separate nodes.
        narrow = parameters["spread"] < 2 * self.step
        for groups, likelihood in self._chunks():
            root = np.sqrt(likelihood)
            step = max(1, _CACHE // likelihood.size)
            columns = np.arange(len(self.hits))[groups]
            for selected, draw in ((narrow, self._draw_narrow), (~narrow, self._draw_on_grid)):
                indices = np.flatnonzero(selected)
                for block in (indices[at : at + step] for at in range(0, len(indices), step)):
                    rows = np.concatenate([np.arange(ends[i], ends[i + 1]) for i in block])
                    values = {name: draws[block] for name, draws in parameters.items()}
                    logits = draw(groups, root, values, number[block], rng)
                    result[np.ix_(rows, columns)] = logits
        return result

    def _draw_on_grid(self, groups, root, parameters, number, rng):
        """Sample logits (N, g) from the density of all groups on the grid."""
        share = parameters["outlying"][:, None]
        prior = (1 - share) * normal_density(self.grid, parameters["middle"], parameters["spread"])
        prior += share * self._deviating_density(parameters)
        used = _support(prior)
        root = np.sqrt(prior[:, used])[:, None] * root[:, used]
        return draw_between_nodes(self.grid[None, used], root, number, rng)

    def _draw_narrow(self, groups, root, parameters, number, rng):
        """Sample logits (N, g): ordinary groups at separate nodes, others on the grid."""
        middle, spread, share = (
            parameters[name][:, None] for name in ("middle", "spread", "outlying")
        )
        logits = middle + spread * _STANDARD_GRID
        likelihood = self._likelihood(groups, logits.ravel()).reshape(root.shape[0], *logits.shape)
        prior = (1 - share) / spread * np.exp(-(_STANDARD_GRID**2) / 2) / np.sqrt(2 * np.pi)
        alike = np.sqrt(likelihood.swapaxes(0, 1) * prior[:, None])
        deviating = share * self._deviating_density(parameters)
        used = _support(deviating)
        apart = np.sqrt(deviating[:, used])[:, None] * root[:, used]
        grid = np.broadcast_to(self.grid[used], (len(middle), apart.shape[2]))
        nodes, root = np.concatenate([logits, grid], axis=1), np.concatenate([alike, apart], axis=2)
        return draw_between_nodes(nodes, root, number, rng, gap=len(_STANDARD_GRID))

    def _deviating_density(self, parameters):
        """Return the prior density (K, M) of a deviating group, up or down equally likely."""
        wide = np.maximum(self.wide(parameters["spread"]), self.step)
        down, up = (
            normal_density(self.grid, parameters["middle"] + shift, wide)
            for shift in (-self.deviation, self.deviation)
        )
        return (down + up) / 2


def normal_density(grid: np.ndarray, middle: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the densities (P, M) of normal distributions (P,) on a grid (M,)."""
    z = (grid - middle[:, None]) / spread[:, None]
    return np.exp(-(z**2) / 2) / (spread[:, None] * np.sqrt(2 * np.pi))


def trapezoidal_weights(grid: np.ndarray, middle: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """
    Return the weights (P, M) of a grid for means over normal distributions (P,).

    Functions are assumed to be constant beyond the ends of the grid.

    Examples
    --------
    >>> grid = np.arange(-9, 9, 0.8)
    >>> weights = trapezoidal_weights(grid, np.array([0.3]), np.ones(1))
    >>> float((weights @ grid**2)[0].round(9))
    1.09
    """
    steps = np.diff(grid, prepend=grid[0], append=grid[-1])
    weights = normal_density(grid, middle, spread) * (steps[1:] + steps[:-1]) / 2
    weights[:, 0] += ndtr((grid[0] - middle) / spread)
    weights[:, -1] += ndtr((middle - grid[-1]) / spread)
    return weights


def draw_between_nodes(
    nodes: np.ndarray,
    root: np.ndarray,
    number: np.ndarray,
    rng: np.random.Generator,
    gap: int | None = None,
) -> np.ndarray:
    """
    Sample from densities between nodes, by inverting their distribution functions.

    The logarithm of a density is linear between two nodes, so that the shape of a normal density is
    preserved. The mass between nodes is computed by Simpson's rule.

    Parameters
    ----------
    nodes : ndarray, shape (K or 1, N)
    root : ndarray, shape (K, g, N)
        Square roots of densities, up to a constant.
    number : ndarray of int, shape (K,)
        Number of draws from each of the K densities.
    rng : numpy.random.Generator
    gap : int, optional
        Length of the first of two lists of nodes. The mass between the lists is 0.

    Returns
    -------
    ndarray, shape (sum of number, g)
    """
    root = np.maximum(root, 1e-100)
    left, right = root[..., :-1], root[..., 1:]
    mass = (left * (left + 4 * right) + right * right) * np.diff(nodes)[:, None]
    if gap is not None:
        mass[..., gap - 1] = 0
    n_densities, n_groups, size = mass.shape
    rows = np.arange(n_densities * n_groups).reshape(n_densities, n_groups)
    rows = np.repeat(rows, number, axis=0)
    cell, fraction = _invert(mass.reshape(-1, size), rows, rng.random(rows.shape))
    slope = 2 * np.log(right.reshape(-1, size)[rows, cell] / left.reshape(-1, size)[rows, cell])
    # If the line is horizontal, the draw is uniform.
    slope = np.where(np.abs(slope) < 1e-6, 1e-6, slope)
    fraction = np.log1p(fraction * np.expm1(slope)) / slope
    density = np.arange(n_densities) if len(nodes) > 1 else np.zeros(n_densities, int)
    density = np.repeat(density, number)[:, None]
    return nodes[density, cell] + fraction * (nodes[density, cell + 1] - nodes[density, cell])


def _invert(mass, rows, uniform):
    """Return the cells of masses (R, N) at uniform numbers, and the positions within them."""
    sums = np.cumsum(mass, axis=1)
    sums /= np.maximum(sums[:, -1:], _TINY)
    size = mass.shape[1]
    # All rows form one sorted array, because each is shifted by one more than the previous row.
    sums += np.arange(len(mass))[:, None]
    cell = np.searchsorted(sums.ravel(), uniform + rows, side="right") - rows * size
    cell = np.clip(cell, 0, size - 1)
    high, low = sums[rows, cell], np.where(cell > 0, sums[rows, cell - 1], rows)
    return cell, np.clip((uniform + rows - low) / np.maximum(high - low, _TINY), 0, 1)


def _support(density):
    """Return the slice of a grid outside which densities (K, M) are negligible."""
    at = np.flatnonzero((density > 1e-12 * density.max(axis=1, keepdims=True)).any(axis=0))
    return slice(at[0], at[-1] + 1)


def _edges(axes, numbers):
    """Return the edges of equally wide cells along each axis."""
    return [np.linspace(axis[0], axis[-1], n + 1) for axis, n in zip(axes, numbers, strict=True)]


def _spline(axes, values, edges):
    """Return a cubic spline of values on three axes, at the midpoints between edges."""
    # Imported here because it is slow to import and rarely needed.
    from scipy.interpolate import CubicSpline

    for axis, (nodes, ends) in enumerate(zip(axes, edges, strict=True)):
        # The spline is linear in the values. One matrix product is much faster than a separate
        # spline for each line.
        matrix = CubicSpline(nodes, np.eye(len(nodes)))((ends[1:] + ends[:-1]) / 2)
        values = np.moveaxis(np.tensordot(matrix, values, (1, axis)), 0, axis)
    return values
