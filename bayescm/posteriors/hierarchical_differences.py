r"""
Direct posterior of `bayescm.models.hierarchical_differences`: quadrature.

For a pair of classifiers, data set i has the mean difference :math:`\bar x_i` over its runs. Its
error is :math:`\epsilon_i`, with :math:`\nu_i` degrees of freedom of the correlated t distribution.
The true difference is :math:`\delta_i`:

.. math::

    \bar x_i \mid \delta_i \sim t(\nu_i, \delta_i, \epsilon_i), \qquad
    \delta_i \sim t(2 + \kappa, \delta_0, \sigma_0).

The location :math:`\delta_0`, the spread :math:`\sigma_0` and the excess :math:`\kappa` are
unknown.

1. A t variable is a normal variable whose precision has a gamma distribution. Both t distributions
   are approximated by mixtures of few normal distributions: `gauss_hermite_normals` for the error,
   and `trapezoidal_normals` for the true difference. Then :math:`\delta_i` can be integrated out in
   closed form. The result is a mixture of normals whose variances are sums (`log_density_of_sum`).
2. :math:`(\delta_0, \sigma_0, \kappa)` are on a grid around their mode (`HierarchicalT.grid`). The
   grid is uniform in asinh of location and spread, so that the trapezoidal rule is nearly exact.

The difference on a new data set has a mixture of t distributions over this grid.

Pairs have separate posteriors, so the result for two classifiers does not depend on the other
classifiers in the table. Ranks need joint draws of all classifiers. These are normal levels with
the means and variances of the pairs. Exponential tilting weights them so that the first classifier
of each pair is better with the probability from the posterior of the pair.

References
----------
Corani, G., Benavoli, A., Demsar, J., Mangili, F. & Zaffalon, M. (2017). Statistical comparison of
classifiers through Bayesian hierarchical modelling. Machine Learning 106, 1817-1837.
doi:10.1007/s10994-017-5641-9
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayescm.distributions.mixtures import Gridded, StudentMixture
from bayescm.evidence.results import as_results
from bayescm.evidence.unsupported import NO_LEVEL
from bayescm.inference import exponential_tilting
from bayescm.inference.importance import systematic
from bayescm.measures.catalogue import is_loss, own
from bayescm.measures.measure import Measure
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import fail


def hierarchical_differences(
    results: xr.Dataset, *, scale: float | None = None
) -> "HierarchicalDifferences":
    """
    Return the posterior of the differences between classifiers over data sets.

    Use it for cross-validation results of the same classifiers on many data sets.

    Parameters
    ----------
    results : xarray.Dataset
        Results from :func:`bayescm.from_results`.
    scale : float, optional
        Size of a typical difference, > 0, in the unit of the results. Default, for each pair: the
        square root of the mean over data sets of the squared mean difference plus the squared
        standard error.

    Returns
    -------
    HierarchicalDifferences

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, or `scale` is not a finite number > 0. If two
        classifiers have fewer than two data sets with at least two common runs. If two classifiers
        are equal on all data sets, unless `scale` is given.
    """
    results = as_results(results)
    if scale is not None and not 0 < scale < np.inf:
        raise fail("`scale` must be a finite number > 0", scale, "", "pass e.g. `scale=0.02`")
    if results.sizes["classifier"] < 2:
        raise fail(
            "Two or more classifiers are needed",
            results.sizes["classifier"],
            "",
            "add another classifier",
        )
    return HierarchicalDifferences(results, scale)


# Number of levels sampled before tilting. The effective number was at least 3,000 in tables of up
# to a dozen classifiers, and 2,300 in a table of twenty.
_NORMAL_LEVELS = 40_000
_NUMBERS_OF_PAIRS = 1e7  # largest number of pair values in memory
_FLOOR = 1e-3  # smallest error of a data set, relative to the scale, used if all runs are equal


class HierarchicalDifferences(Posterior):
    """
    Posterior of the differences between classifiers over data sets, pair by pair.

    The distribution of a difference depends only on the results of the two classifiers.

    Joint draws of all classifiers are levels relative to their mean, and are used for ranks. They
    are normal, with the best-fitting means and variances for the pairs. They are then tilted to
    reproduce, for each pair, the probability that the first classifier is better. If no joint
    distribution agrees with all pairs, for example if they form a cycle, the fit is as close as
    possible.

    Attributes
    ----------
    pairs_of : dict of (int, int) to HierarchicalT
        Posterior of each pair, keyed by the indices of the two classifiers.
    """

    measured_variable = "results"
    pairs = ("classifier",)
    cell_prior = False
    estimands = {"parameter": "location", "population": "location", "new": "new"}  # noqa: RUF012
    sampling_method = "quadrature"
    how = "quadrature"

    def __init__(self, results: xr.Dataset, scale: float | None):
        self.results = results
        self.names = results["classifier"].values.tolist()
        measure = measure_of_results(results["measured"].item())
        self.measured = (measure,)
        rho, table = results["test_share"].item(), results["result"].values
        self.pairs_of = {
            (first, second): _pair(
                table[:, first] - table[:, second],
                rho,
                scale,
                self.names[first],
                self.names[second],
            )
            for first, second in combinations(range(len(self.names)), 2)
        }

    @property
    def observed(self):
        """The results."""
        return self.results["result"]

    @cached_property
    def template(self):
        """The dim of the classifiers."""
        return LabelTemplate().append_dim("classifier", self.names)

    @cached_property
    def batch(self):
        """The number of data sets of each classifier."""
        return self.observed.notnull().any("run").sum("data_set").astype(float)

    @property
    def values_per_draw(self):
        """The number of values in memory for one draw."""
        return len(self.names)

    def distributions(self, measures: Sequence[Callable], **keywords: Any) -> list:
        """Raise an error, because the posterior only covers differences."""
        raise of_differences()

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Raise an error, because the posterior only covers differences."""
        raise of_differences()

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> Any:
        """Return the distribution of the difference between two classifiers."""
        minuend, subtrahend = first["classifier"], second["classifier"]
        pair = self.pairs_of[min(minuend, subtrahend), max(minuend, subtrahend)]
        difference = getattr(pair, self.estimands[of])
        return difference if minuend < subtrahend else _negative(difference)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample the classifiers' levels relative to their mean, (size, J)."""
        first, second = np.transpose(list(self.pairs_of))
        differences = [getattr(pair, self.estimands[of]) for pair in self.pairs_of.values()]
        number = max(size, min(_NORMAL_LEVELS, int(_NUMBERS_OF_PAIRS / len(differences))))
        levels = self._normal_levels(differences, number, rng)
        first_above = np.array([float(difference.sf(0.0)) for difference in differences])
        weights = exponential_tilting.weights(levels[:, first] > levels[:, second], first_above)
        levels = levels[systematic(weights, size, rng)]
        return [measure(levels) for measure in measures]

    def _normal_levels(self, differences, size, rng):
        """Sample normal levels whose differences have the means and variances of all pairs."""
        number = len(self.names)
        means, variances = np.zeros((2, number, number))
        for (first, second), difference in zip(self.pairs_of, differences, strict=True):
            means[first, second] = difference.mean()
            means[second, first] = -means[first, second]
            variances[first, second] = variances[second, first] = difference.sd() ** 2
        centre = np.eye(number) - 1 / number
        values, vectors = np.linalg.eigh(-centre @ variances @ centre / 2)
        factor = vectors * np.sqrt(np.maximum(values, 0))
        return means.mean(axis=1) + rng.standard_normal((size, number)) @ factor.T

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """
        Return levels (size, J) whose differences fit the pairs by least squares.

        With two classifiers, the difference of the levels equals the difference of the pair.
        """
        differences = variables["location"]
        if self.estimands[of] == "new":
            freedom = 2 + variables["excess"]
            differences = differences + variables["spread"] * rng.standard_t(freedom)
        first, second = np.transpose(list(self.pairs_of))
        levels = np.zeros((len(differences), len(self.names)))
        for pair, (minuend, subtrahend) in enumerate(zip(first, second, strict=True)):
            levels[:, minuend] += differences[:, pair] / len(self.names)
            levels[:, subtrahend] -= differences[:, pair] / len(self.names)
        return [measure(levels) for measure in measures]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws, also for joint draws, which only ranks use."""
        return super().draws_by_default(of)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Sample the variables of the model, independently for each pair."""
        draws = [pair.draw(size, rng) for pair in self.pairs_of.values()]
        by_variable = list(zip(*draws, strict=True))
        location, spread, excess = (np.stack(values, axis=1) for values in by_variable[:3])
        difference = np.concatenate(by_variable[3], axis=1)
        return {"location": location, "spread": spread, "excess": excess, "difference": difference}


def of_differences() -> Exception:
    """Return the error for measures of single classifiers."""
    todo = "use compare(results) or ranks(results)"
    return fail(NO_LEVEL, ..., "", todo)


def _pair(differences, rho, scale, first, second):
    """
    Return the posterior of a pair, from its differences (data_set, run).

    The error of a mean of n runs is their standard deviation times sqrt(1 / n + rho / (1 - rho)),
    as in `bayescm.posteriors.correlated_t`.
    """
    number = (~np.isnan(differences)).sum(-1)
    differences, number = differences[number > 1], number[number > 1]
    if len(number) < 2:
        todo = "leave one of them out, or add results"
        raise fail(
            f"{first} and {second} have {len(number)} data sets in common with at least two "
            "runs; at least two such data sets are needed",
            ...,
            "",
            todo,
        )
    mean = np.nanmean(differences, axis=-1)
    error = np.nanstd(differences, axis=-1, ddof=1) * np.sqrt(1 / number + rho / (1 - rho))
    size = np.sqrt(np.mean(mean**2 + error**2)) if scale is None else scale
    if not size > 0:
        raise fail(
            f"{first} and {second} are equal on every data set",
            ...,
            "",
            "leave one of them out, or pass `scale=`, the size of a typical difference",
        )
    return HierarchicalT(mean, np.maximum(error, size * _FLOOR), number - 1.0, float(size))


def measure_of_results(name: str) -> Measure:
    """Return the measure of the results, whose values are used unchanged."""
    loss = is_loss(name)
    measure = own(lambda values: values, "results").called(name)
    if loss is None:
        return measure
    return replace(measure, lower_is_better=loss, direction_assumed=False)


def _negative(distribution):
    """Return the distribution of the negative difference."""
    if isinstance(distribution, Gridded):
        mass = None if distribution.mass is None else distribution.mass[::-1]
        return Gridded(-distribution.nodes[::-1], distribution.density[::-1], mass)
    return StudentMixture(
        -distribution.location, distribution.scale, distribution.freedom, distribution.weight
    )


# One pair of classifiers on several data sets: location, spread and excess on a grid.

_LOCATION_STEP = 1 / 2  # distance between neighbouring locations, in asinh of standard deviations
_TAIL = 1e-6  # tail probability of a t distribution up to which locations extend
_LEAST_REACH = 6  # smallest distance of the last location, in standard deviations
_GREATEST_REACH = 300  # largest distance, for heavy tails
# With at most this number of steps on each side, the log density is treated as a polynomial in the
# location. This is the case with about 61 or more data sets.
_POLYNOMIAL_STEPS = 5
# Degrees of freedom beyond two, evenly spaced on the log scale.
_EXCESSES = np.exp(np.linspace(np.log(0.05), np.log(80), 10))
_START_EXCESSES = 1.0, 10.0  # excesses at which the search for the mode starts
# Data sets that are further than this from the median, in typical deviations, are described by
# mixtures of more normals.
_OUTLYING = 2.5
_NEGLIGIBLE = 1e-5  # cells with less mass, relative to the maximum, are omitted for a new data set
# With fewer data sets than this, the grid is finer.
_FEW_DATA_SETS = 20
_EXTRA_NORMALS = 1  # number of additional normals per mixture with few data sets
# With few data sets, cells are omitted if they are this many nats below the maximum.
_CUTOFF_OF_FEW = 16
_CUTOFF = 7  # cells are omitted if they are this many nats below the maximum


@dataclass(frozen=True, eq=False)
class HierarchicalT:
    """
    Posterior of the difference between two classifiers on their common data sets.

    Attributes
    ----------
    mean, error, freedom : ndarray, shape (D,)
        Location, scale and degrees of freedom of the correlated t distribution of the difference on
        each data set.
    scale : float
        Scale of the priors.
    """

    mean: np.ndarray
    error: np.ndarray
    freedom: np.ndarray
    scale: float

    @cached_property
    def mixtures(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """
        Mixtures of normals for typical data sets, then for outlying ones.

        Each entry contains the indices of the data sets, and the variances (A, D) and weights of
        their normal distributions. Outlying data sets have more of them, because the tails
        determine whether an outlier is an error or a true difference.
        """
        typical, deviation = self._typical_deviation
        outlying, freedom = deviation > _OUTLYING * typical, self.freedom.min()
        extra = _EXTRA_NORMALS if self._is_small else 0
        numbers = 1 + extra + (freedom < 50), 2 + extra + int(24 / freedom)
        mixtures = []
        for members, number in zip((~outlying, outlying), numbers, strict=True):
            index = np.flatnonzero(members)
            variances, weights = gauss_hermite_normals(self.freedom[index], number)
            mixtures.append((index, self.error[index] ** 2 * variances, weights))
        return mixtures

    def log_density(self, location, spread, excess) -> np.ndarray:
        """Return the log posterior density (L, S) of locations, spreads and excesses."""
        location, spread = np.atleast_1d(location), np.atleast_1d(spread)
        excess = np.broadcast_to(excess, spread.shape)
        logs = [
            self._log_likelihood(*mixture, location, spread, excess) for mixture in self.mixtures
        ]
        return self._log_prior(location, spread) + sum(logs)

    def _log_prior(self, location, spread):
        """Return the log prior: location Normal(0, 10 scale), spread HalfCauchy(scale)."""
        unit = self.scale
        return -((location[:, None] / unit) ** 2) / 200 - np.log1p((spread / unit) ** 2)

    def _log_likelihood(self, index, inner, inner_weights, location, spread, excess):
        """Return the log likelihood (L, S) of the data sets with these indices."""
        size = self._typical_difference
        if len(index) == 0:
            return 0
        outer, outer_weights = trapezoidal_normals(2 + excess, self._furthest_deviation)
        outer = outer * (spread[:, None] / size) ** 2
        differences = (self.mean[index] - location[:, None]) / size
        return log_density_of_sum(differences, inner / size**2, inner_weights, outer, outer_weights)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Locations (L), spreads (S), excesses (E) and the mass (L, S, E) of each cell."""
        center, sd, _ = self._mode
        location, spread = (
            center + sd * np.sinh(self._location_steps),
            self._spread_unit * np.sinh(self._spread_steps),
        )
        nodes = [axis.ravel() for axis in np.meshgrid(spread, _EXCESSES, indexing="ij")]
        approximate = self._approximate_log_density(np.array([center]), *nodes)[0]
        profile = approximate + np.repeat(np.log(np.cosh(self._spread_steps)), len(_EXCESSES))
        profile += _log_excess(nodes[1])
        evaluated = profile > profile.max() - self._cutoff
        points, interpolation = _polynomial_nodes(len(location) // 2)
        densities = interpolation @ self.log_density(
            center + sd * points, *(axis[evaluated] for axis in nodes)
        )
        # A cell with little mass is assumed to have the shape of the nearest evaluated cell.
        cells = np.stack(np.divmod(np.arange(len(evaluated)), len(_EXCESSES)))
        nearest = np.abs(cells[:, :, None] - cells[:, None, evaluated]).sum(0).argmin(1)
        extended = densities[:, nearest] + (approximate - approximate[evaluated][nearest])
        mass = np.exp(extended - extended.max()).reshape(-1, len(spread), len(_EXCESSES))
        mass *= np.exp(_log_excess(_EXCESSES))
        mass *= np.cosh(self._location_steps)[:, None, None] * np.cosh(self._spread_steps)[:, None]
        return location, spread, _EXCESSES, mass / mass.sum()

    @cached_property
    def _furthest_deviation(self):
        """The largest distance from the median, in typical deviations, as a power of two >= 4."""
        typical, deviation = self._typical_deviation
        return float(2 ** np.ceil(np.log2(max(deviation.max() / typical, 4))))

    @cached_property
    def _typical_deviation(self):
        """The typical deviation from the median, and the deviation of each data set (D,)."""
        deviation = np.abs(self.mean - np.median(self.mean))
        return np.hypot(np.median(deviation), np.median(self.error)), deviation

    @cached_property
    def _location_reach(self):
        """The distance of the last location in standard deviations, longer for few data sets."""
        quantile = -special.stdtrit(len(self.mean) - 1, _TAIL)
        return np.clip(1.15 * quantile, _LEAST_REACH, _GREATEST_REACH)

    @property
    def _is_small(self):
        """Whether the data sets are few, so that the grid is finer."""
        return len(self.mean) < _FEW_DATA_SETS

    @property
    def _cutoff(self):
        """The distance below the maximum, in nats, at which evaluation stops."""
        return _CUTOFF_OF_FEW if self._is_small else _CUTOFF

    @cached_property
    def _location_steps(self):
        """The locations, in asinh of standard deviations."""
        half = int(np.ceil(np.arcsinh(self._location_reach * self._mode[2]) / _LOCATION_STEP - 0.1))
        return np.arange(-half, half + 1) * _LOCATION_STEP

    @cached_property
    def _typical_difference(self):
        """The size of a typical difference. The scale of the priors may be set to another value."""
        return np.sqrt(np.mean(self.mean**2 + self.error**2))

    @cached_property
    def _spread_unit(self):
        """The unit of asinh of the spread. Spreads below it have little effect."""
        return np.median(self.error)

    @cached_property
    def _spread_steps(self):
        """
        The spreads with non-negligible mass, in asinh of the unit.

        The step is about the width of the posterior. The density is an even function of the spread,
        so a sum that starts at half a step is also nearly exact.
        """
        number = len(self.mean)
        step = 1.2 / np.sqrt(number)
        last = np.arcsinh(
            self._typical_difference / self._spread_unit * np.exp(8 / np.sqrt(number / 2))
        )
        steps = np.arange(step / 2, last + step, step)
        coarse = steps[::3]
        logs = [self._log_mass(self._mode[:1], coarse, excess) for excess in _START_EXCESSES]
        probable = np.flatnonzero(np.max(logs, axis=(0, 1)) > np.max(logs) - self._cutoff)
        return steps[max(3 * probable[0] - 2, 0) : 3 * probable[-1] + 3]

    @cached_property
    def _mode(self):
        """The narrowest mode of the location, its standard deviation, and the reach of modes."""
        unit = self._typical_difference
        locations = np.append(np.quantile(self.mean, [0.1, 0.3, 0.5, 0.7, 0.9]) / unit, 0)
        steps = np.arcsinh(unit / self._spread_unit * np.exp(np.linspace(-4, 1, 6)))
        logs = [self._log_mass(locations * unit, steps, excess) for excess in _START_EXCESSES]
        starts = [np.unravel_index(log.argmax(), log.shape) for log in logs]
        masses, centers, sds = np.transpose(
            [
                self._newton(excess, np.array([locations[row], steps[column]]))
                for excess, log, (row, column) in zip(_START_EXCESSES, logs, starts, strict=True)
                if log.max() > np.max(logs) - self._cutoff
            ]
        )
        probable = masses > masses.max() - self._cutoff
        center, sd = min(
            zip(centers[probable], sds[probable], strict=True), key=lambda mode: mode[1]
        )
        reach = np.max((np.abs(centers - center) / self._location_reach + sds)[probable]) / sd
        return np.array([center, sd, reach])

    def _newton(self, excess, point):
        """Return the log mass, location and standard deviation of a mode (Newton's method)."""
        unit, step = self._typical_difference, np.array([0.1, 0.3])
        for _ in range(6):
            stencil = point[:, None] + step[:, None] * np.array([-1, 0, 1])
            logs = self._log_mass(stencil[0] * unit, stencil[1], excess)
            slope = np.array([logs[2, 1] - logs[0, 1], logs[1, 2] - logs[1, 0]]) / 2
            curvature = (
                np.array([logs[2, 1] + logs[0, 1], logs[1, 2] + logs[1, 0]]) - 2 * logs[1, 1]
            )
            sd = step / np.sqrt(np.maximum(-curvature, (step / 2) ** 2))
            move = np.clip(slope * (sd / step) ** 2, -1.5 * sd / step, 1.5 * sd / step)
            point, step = point + step * move, np.minimum(sd / 4, 0.3)
            if (np.abs(move * step) < 0.1 * sd).all():
                break
        return logs[1, 1] + np.log(sd).sum(), point[0] * unit, sd[0] * unit

    def _log_mass(self, location, steps, excess):
        """Return the approximate log mass (L, S) of locations and of asinh of the spreads."""
        log_density = self._approximate_log_density(
            location, self._spread_unit * np.sinh(steps), np.full(len(steps), excess)
        )
        return log_density + np.log(np.cosh(steps)) + _log_excess(excess)

    def _approximate_log_density(self, location, spread, excess):
        """
        Return the approximate log density (L, S) of locations, and of spreads and excesses.

        For typical data sets, the sum of two t variables is approximated by one t variable with the
        same variance and fourth moment. For outlying data sets, the approximation has the tails of
        both variables.
        """
        outlying = self.mixtures[1][0]
        within_variance, between_variance = self.error**2, spread[:, None] ** 2
        precision, between_freedom = 1 / (within_variance + between_variance), 2 + excess[:, None]
        squares = (self.mean - location[:, None, None]) ** 2 * precision
        within_share, between_share = within_variance * precision, between_variance * precision
        inverse_freedom = within_share**2 / self.freedom + between_share**2 / between_freedom
        logs = _log_t(squares, 1 / inverse_freedom)
        if len(outlying):
            squares, within_freedom = squares[..., outlying], self.freedom[outlying]
            within_tail = within_freedom / 2 * np.log(within_share[:, outlying])
            between_tail = between_freedom / 2 * np.log(between_share[:, outlying])
            log_sum = np.logaddexp(
                _log_t(squares, within_freedom) + within_tail,
                _log_t(squares, between_freedom) + between_tail,
            )
            logs[..., outlying] = log_sum - np.logaddexp(within_tail, between_tail)
        return logs.sum(-1) + np.log(precision).sum(-1) / 2 + self._log_prior(location, spread)

    @cached_property
    def location(self) -> Gridded:
        """Distribution of the mean difference over the population of data sets."""
        center, sd, _ = self._mode
        density = self.grid[-1].sum((1, 2)) / np.cosh(self._location_steps)
        finer = np.linspace(
            self._location_steps[0], self._location_steps[-1], 3 * len(self._location_steps) - 2
        )
        density = np.exp(
            _spline_matrix(len(self._location_steps)) @ np.log(np.maximum(density, 1e-300))
        )
        # The steps are uniform in asinh and the density is nearly 0 at both ends, so sums are
        # nearly exact.
        return Gridded(center + sd * np.sinh(finer), density, density * np.cosh(finer))

    @cached_property
    def new(self) -> StudentMixture:
        """The distribution of the true difference on one new data set."""
        location, spread, excess, mass = self.grid
        parts = np.meshgrid(location, spread, 2 + excess, indexing="ij")
        probable = mass > _NEGLIGIBLE * mass.max()
        center, scale, freedom = (axis[probable] for axis in parts)
        return StudentMixture(center, scale, freedom, mass[probable] / mass[probable].sum())

    def draw(self, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Sample location, spread and excess (size,), and all differences (size, D)."""
        (center, sd, _), mass = self._mode, self.grid[-1]
        logs, steps = np.log(np.maximum(mass, 1e-300)), []
        for axis, nodes in enumerate([self._location_steps, self._spread_steps, np.log(_EXCESSES)]):
            number = logs.shape[axis]
            logs = np.moveaxis(np.tensordot(_spline_matrix(number), logs, (1, axis)), 0, axis)
            steps.append(np.linspace(nodes[0], nodes[-1], 3 * number - 2))
        mass = np.exp(logs - logs.max())
        cell = np.unravel_index(
            rng.choice(mass.size, size, p=mass.ravel() / mass.sum()), mass.shape
        )
        location_step, spread_step, log_excess = (
            nodes[index] + (rng.random(size) - 0.5) * (nodes[1] - nodes[0])
            for nodes, index in zip(steps, cell, strict=True)
        )
        location = center + sd * np.sinh(location_step)
        spread, excess = self._spread_unit * np.sinh(spread_step), np.exp(log_excess)
        return [location, spread, excess, self._draw_differences(location, spread, excess, rng)]

    def _draw_differences(self, location, spread, excess, rng):
        """Sample the normal components of each data set, and then its difference."""
        between, outer_weights = trapezoidal_normals(2 + excess, self._furthest_deviation)
        between = between * spread[:, None] ** 2
        differences = np.empty((len(location), len(self.mean)))
        for index, inner, weights in (mixture for mixture in self.mixtures if len(mixture[0])):
            variances = inner[None, :, None] + between[:, None, :, None]
            deviation = self.mean[index] - location[:, None]
            logs = np.log(weights[:, None, None] * outer_weights[:, None, :, None])
            logs = logs - np.log(variances) / 2
            logs -= deviation[:, None, None] ** 2 / (2 * variances)
            logs += rng.gumbel(size=variances.shape)
            component = logs.reshape(len(logs), -1, len(index)).argmax(1)
            first, second = np.unravel_index(component, variances.shape[1:3])
            within_variance = inner[first, np.arange(len(index))]
            between_variance = np.take_along_axis(between, second, axis=1)
            total = within_variance + between_variance
            mean = location[:, None] + deviation * between_variance / total
            noise = rng.standard_normal(deviation.shape)
            differences[:, index] = (
                mean + np.sqrt(within_variance * between_variance / total) * noise
            )
        return differences


def _log_excess(excess):
    """Return the log prior density of log(excess), for an excess Gamma(2, 0.1)."""
    return 2 * np.log(excess) - 0.1 * excess


def _log_t(squares, freedom):
    """
    Return the log density of a t variable, given its square, up to a constant.

    The error is at most about 0.001, because the gamma functions are replaced by their expansion.
    """
    return -1 / (4 * freedom) - (freedom + 1) / 2 * np.log1p(squares / freedom)


@cache
def _polynomial_nodes(number):
    """
    Return nodes for a polynomial in the location, and the matrix from them to all steps.

    The polynomial approximates the log density. With many data sets, its relevant part differs from
    a polynomial by at most 0.002.
    """
    steps = np.sinh(np.arange(-number, number + 1) * _LOCATION_STEP)
    if number > _POLYNOMIAL_STEPS:
        return steps, np.eye(len(steps))
    nodes = steps[-1] * np.sin(np.pi / 6 * np.arange(-3, 4))
    return nodes, np.linalg.solve(np.vander(nodes).T, np.vander(steps, 7).T).T


@cache
def _spline_matrix(number):
    """Return the matrix from values at even nodes to a cubic spline at three times as many."""
    # Imported here because the import is slow and rarely needed.
    from scipy.interpolate import CubicSpline

    nodes = np.arange(number)
    return CubicSpline(nodes, np.eye(number))(np.linspace(0, number - 1, 3 * number - 2))


# Student t distributions as mixtures of normals. The density of a sum of two has a closed form.

# Largest number of values in an array. Larger arrays would be freed and allocated again each time.
_BLOCK = 2**15
_PRECISION_STEP = 1.1  # step between log precisions, for two degrees of freedom


def gauss_hermite_normals(freedom: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Return variances (A, D) and weights (A,) of normals that approximate t variables (D,).

    Gauss-Hermite nodes z are mapped to the quantiles of the gamma distribution of the precision at
    the normal probabilities of z.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    distinct, index = np.unique(freedom, return_inverse=True)
    precision = special.gammaincinv(distinct / 2, special.ndtr(nodes)[:, None]) / (distinct / 2)
    return 1 / precision[:, index], weights / weights.sum()


def trapezoidal_normals(freedom: np.ndarray, furthest: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return variances and weights (S, B) of normals that approximate t variables (S,).

    The t variables have unit scale. Log precisions are evenly spaced (trapezoidal rule). The sum is
    nearly exact for deviations up to `furthest`, because the precisions include the range that
    determines the density at this distance.
    """
    low, high = _log_precision_range(2.0, furthest)
    number = int(np.ceil((high - low) / _PRECISION_STEP)) + 1
    low, high = _log_precision_range(freedom, furthest)
    # With many degrees of freedom, precisions vary less, and extreme values are not needed.
    low = np.maximum(low, high - (number - 1) * 1.3 / np.sqrt(0.5 + freedom / 2))
    logs = np.linspace(low, high, number, axis=-1)
    half = freedom[:, None] / 2
    weights = half * (logs - np.exp(logs))
    weights = np.exp(weights - weights.max(-1, keepdims=True))
    return np.exp(-logs), weights / weights.sum(-1, keepdims=True)


def log_density_of_sum(
    differences: np.ndarray,
    inner: np.ndarray,
    inner_weights: np.ndarray,
    outer: np.ndarray,
    outer_weights: np.ndarray,
) -> np.ndarray:
    """
    Return log densities (L, S) of the sum of two t variables, added over D data sets.

    Parameters
    ----------
    differences : ndarray, shape (L, D)
        Values at which the density is evaluated.
    inner, inner_weights : ndarray, shape (A, D) and (A,)
        Variances and weights of the normals of the first variable.
    outer, outer_weights : ndarray, shape (S, B)
        Variances and weights of the normals of the second variable.

    Returns
    -------
    ndarray, shape (L, S)
    """
    differences, inner = differences.astype(np.float32) ** 2 / -2, inner.astype(np.float32)[:, None]
    weights = (inner_weights[:, None] * outer_weights[:, None]).reshape(len(outer_weights), -1, 1)
    weights = weights.astype(np.float32)
    step = max(_BLOCK // (weights.shape[1] * differences.shape[1]), 1)
    blocks = (slice(at, at + step) for at in range(0, len(outer_weights), step))
    outer = outer.astype(np.float32)[:, None, :, None]
    return np.hstack(
        [_block(differences, inner + outer[block], weights[block]) for block in blocks]
    )


def _block(squares, variances, weights):
    """Return log densities (L, S) for squares (L, D) over -2 and variances (S, A, B, D)."""
    variances = variances.reshape(*weights.shape[:2], -1)
    precisions = np.reciprocal(variances, out=variances)
    weights, terms = weights * np.sqrt(precisions), np.empty_like(precisions)
    densities = np.empty((len(squares), len(terms), squares.shape[1]), np.float32)
    for square, density in zip(squares, densities, strict=True):
        np.exp(np.multiply(square, precisions, out=terms), out=terms)
        np.einsum("skd,skd->sd", terms, weights, out=density)
    return np.log(np.maximum(densities, np.float32(1e-37))).sum(-1, dtype=float)


def _log_precision_range(freedom, furthest):
    """Return the least and greatest log precision of normals, relative to the scale of the t."""
    half = freedom / 2
    least = np.log((half + 0.5) / (half + furthest**2 / 2))
    most = np.log(special.gammaincinv(half, 1 - 1e-4) / half)
    return least - 3 / np.sqrt(half + 0.5) - 3 / (half + 0.5), most
