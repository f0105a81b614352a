"""
The direct sibling of `bayescm.models.hierarchical_differences`: quadrature, pair by pair.

Both t distributions are mixtures of normals, so that each data set's own difference is integrated
out in closed form; location, spread and degrees of freedom have a grid about their mode.
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
from bayescm.measures.catalogue import is_loss, own
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import fail


def hierarchical_differences(
    results: xr.Dataset, *, scale: float | None = None
) -> "HierarchicalDifferences":
    """
    Return the posterior of the differences of classifiers over data sets.

    Parameters
    ----------
    results : xarray.Dataset
        From :func:`bayescm.from_results`.
    scale : float, optional
        Size of a usual difference, > 0, in the unit of the results; by default the root mean square
        of those of the pair and their errors.

    Returns
    -------
    HierarchicalDifferences

    Raises
    ------
    ValueError
        If two classifiers have fewer than two data sets in common, or are equal everywhere.
    """
    results = as_results(results)
    if scale is not None and not 0 < scale < np.inf:
        raise fail("scale must be positive", scale, "a number > 0", "pass e.g. scale=0.02")
    if results.sizes["classifier"] < 2:
        raise fail("only one classifier", results.sizes["classifier"], "two or more", "add another")
    return HierarchicalDifferences(results, scale)


# Student t distributions as mixtures of normals: two of them add up in closed form.

_BLOCK = 2**15  # numbers in an array: memory of more is given back, and asked for again
_NORMALS = 1.1  # between the log precisions of normals that make up a t of two degrees of freedom


def few_normals(freedom: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return variances (A, D) and weights (A,) of so many normals that make up t's (D,)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    known, place = np.unique(freedom, return_inverse=True)
    precision = special.gammaincinv(known / 2, special.ndtr(nodes)[:, None]) / (known / 2)
    return 1 / precision[:, place], weights / weights.sum()


def even_normals(freedom: np.ndarray, furthest: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return variances and weights (S, B) of normals that make up t's (S,) of unit scale.

    Log precisions are even: the sum is next to exact as far out as precisions reach, which is where
    a normal as far out as the furthest has most of its mass.
    """
    low, high = _precisions(2.0, furthest)
    number = int(np.ceil((high - low) / _NORMALS)) + 1
    low, high = _precisions(freedom, furthest)
    # Of many degrees of freedom precisions differ less, and none lies as far out as that.
    low = np.maximum(low, high - (number - 1) * 1.3 / np.sqrt(0.5 + freedom / 2))
    logs = np.linspace(low, high, number, axis=-1)
    half = freedom[:, None] / 2
    weights = half * (logs - np.exp(logs))
    weights = np.exp(weights - weights.max(-1, keepdims=True))
    return np.exp(-logs), weights / weights.sum(-1, keepdims=True)


def log_sums(
    gaps: np.ndarray, inner: np.ndarray, own: np.ndarray, outer: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """
    Return log densities (L, S) of gaps (L, D): of the sum of two t variables, summed over D.

    The first is of normals of variances inner (A, D) and weights own (A,), the second of outer and
    other (S, B).
    """
    gaps, inner = gaps.astype(np.float32) ** 2 / -2, inner.astype(np.float32)[:, None]
    weights = (own[:, None] * other[:, None]).reshape(len(other), -1, 1).astype(np.float32)
    step = max(_BLOCK // (weights.shape[1] * gaps.shape[1]), 1)
    blocks = (slice(at, at + step) for at in range(0, len(other), step))
    outer = outer.astype(np.float32)[:, None, :, None]
    return np.hstack([_block(gaps, inner + outer[each], weights[each]) for each in blocks])


def _block(gaps, variances, weights):
    """Return log densities (L, S) of squared gaps (L, D), over -2, by variances (S, A, B, D)."""
    variances = variances.reshape(*weights.shape[:2], -1)
    precisions = np.reciprocal(variances, out=variances)
    weights, terms = weights * np.sqrt(precisions), np.empty_like(precisions)
    found = np.empty((len(gaps), len(terms), gaps.shape[1]), np.float32)
    for gap, each in zip(gaps, found, strict=True):
        np.exp(np.multiply(gap, precisions, out=terms), out=terms)
        np.einsum("skd,skd->sd", terms, weights, out=each)
    return np.log(np.maximum(found, np.float32(1e-37))).sum(-1, dtype=float)


def _precisions(freedom, furthest):
    """Return the least and the greatest log precision, over that of the spread, of normals."""
    half = freedom / 2
    least = np.log((half + 0.5) / (half + furthest**2 / 2))
    most = np.log(special.gammaincinv(half, 1 - 1e-4) / half)
    return least - 3 / np.sqrt(half + 0.5) - 3 / (half + 0.5), most


# One pair of classifiers on several data sets: location, spread and freedom on a grid.

_STEP, _FURTHEST = 1 / 2, (300, 6, 1e-6)  # between locations, in asinh; how far they go, and tail
_NEAR = 5  # steps on each side, as of some 61 data sets and more
# Degrees of freedom beyond two, evenly in their logarithm.
_EXCESSES = np.exp(np.linspace(np.log(0.05), np.log(80), 10))
_BEGIN = 1.0, 10.0  # the excesses at which the mode is looked for
_OFF = 2.5  # usual differences from the median: what is further has more normals
_RARE = 1e-5  # of the greatest mass: what is left out of a new data set
# Of few data sets there are more normals of what is near, and less is left out (in nats).
_FEW, _FINE, _COARSE = 20, (2, 16), (1, 7)


@dataclass(frozen=True, eq=False)
class HierarchicalT:
    """
    Two classifiers: the data sets that have both, and the grid of their posterior.

    Attributes
    ----------
    mean, error, freedom : ndarray, shape (D,)
        Of the difference on each data set, as the correlated t has them.
    scale : float
        Of the priors.
    """

    mean: np.ndarray
    error: np.ndarray
    freedom: np.ndarray
    scale: float

    @cached_property
    def within(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """
        Which data sets are near to the others, the variances (A, D) and weights of their normals.

        Then those that are not, of more normals: whether such a one is an error or a difference is
        told by the tails.
        """
        usual, off = self._usual
        far, few, least = off > _OFF * usual, self._finely[0], self.freedom.min()
        found = []
        for each, number in (~far, few + (least < 50)), (far, few + 1 + int(24 / least)):
            which = np.flatnonzero(each)
            variances, weights = few_normals(self.freedom[which], number)
            found.append((which, self.error[which] ** 2 * variances, weights))
        return found

    def log_density(self, location, spread, excess) -> np.ndarray:
        """Return the log posterior density, (L, S), of locations, and of spreads and excesses."""
        location, spread = np.atleast_1d(location), np.atleast_1d(spread)
        excess = np.broadcast_to(excess, spread.shape)
        both = [self._log_likelihood(part, location, spread, excess) for part in self.within]
        return self._log_prior(location, spread) + sum(both)

    def _log_prior(self, location, spread):
        unit = self.scale
        return -((location[:, None] / unit) ** 2) / 200 - np.log1p((spread / unit) ** 2)

    def _log_likelihood(self, part, location, spread, excess):
        """Return the log likelihood (L, S) of some of the data sets."""
        (which, inner, own), unit = part, self._size
        if len(which) == 0:
            return 0
        outer, other = even_normals(2 + excess, self._furthest)
        outer = outer * (spread[:, None] / unit) ** 2
        gaps = (self.mean[which] - location[:, None]) / unit
        return log_sums(gaps, inner / unit**2, own, outer, other)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Locations (L), spreads (S), excesses (E) and the mass (L, S, E) of their cells."""
        middle, wide, _ = self._mode
        location, spread = middle + wide * np.sinh(self._steps), self._unit * np.sinh(self._turns)
        both = [each.ravel() for each in np.meshgrid(spread, _EXCESSES, indexing="ij")]
        rough = self._rough(np.array([middle]), *both)[0]
        profile = rough + np.repeat(np.log(np.cosh(self._turns)), len(_EXCESSES))
        profile += _log_excess(both[1])
        kept = profile > profile.max() - self._finely[1]
        read, through = _read(len(location) // 2)
        found = through @ self.log_density(middle + wide * read, *(each[kept] for each in both))
        # What has little mass has the shape of the nearest that has more.
        at = np.stack(np.divmod(np.arange(len(kept)), len(_EXCESSES)))
        nearest = np.abs(at[:, :, None] - at[:, None, kept]).sum(0).argmin(1)
        cells = found[:, nearest] + (rough - rough[kept][nearest])
        mass = np.exp(cells - cells.max()).reshape(-1, len(spread), len(_EXCESSES))
        mass *= np.exp(_log_excess(_EXCESSES))
        mass *= np.cosh(self._steps)[:, None, None] * np.cosh(self._turns)[:, None]
        return location, spread, _EXCESSES, mass / mass.sum()

    @cached_property
    def _furthest(self):
        """How many usual differences from the median the furthest data set is: a power of two."""
        usual, off = self._usual
        return float(2 ** np.ceil(np.log2(max(off.max() / usual, 4))))

    @cached_property
    def _usual(self):
        """The usual difference from the median, and that of every data set (D,)."""
        off = np.abs(self.mean - np.median(self.mean))
        return np.hypot(np.median(off), np.median(self.error)), off

    @cached_property
    def _reach(self):
        """How many standard deviations locations go: the further the fewer data sets."""
        far, near, tail = _FURTHEST
        return np.clip(1.15 * -special.stdtrit(len(self.mean) - 1, tail), near, far)

    @property
    def _finely(self):
        return _FINE if len(self.mean) < _FEW else _COARSE

    @cached_property
    def _steps(self):
        """The locations, in asinh of standard deviations: the further the fewer data sets."""
        half = int(np.ceil(np.arcsinh(self._reach * self._mode[2]) / _STEP - 0.1))
        return np.arange(-half, half + 1) * _STEP

    @cached_property
    def _size(self):
        """The size of a difference; the scale may be another, chosen for the priors."""
        return np.sqrt(np.mean(self.mean**2 + self.error**2))

    @cached_property
    def _unit(self):
        """What spreads are sinh of a turn of: where they are below it, they hardly matter."""
        return np.median(self.error)

    @cached_property
    def _turns(self):
        """
        The spreads, in asinh of the unit: where there is any mass, at steps of about its width.

        The density is even in the spread, so that a sum from half a step on is next to exact too.
        """
        number = len(self.mean)
        step = 1.2 / np.sqrt(number)
        furthest = np.arcsinh(self._size / self._unit * np.exp(8 / np.sqrt(number / 2)))
        turns = np.arange(step / 2, furthest + step, step)
        coarse = turns[::3]
        logs = [self._turned(self._mode[:1], coarse, each) for each in _BEGIN]
        found = np.flatnonzero(np.max(logs, axis=(0, 1)) > np.max(logs) - self._finely[1])
        return turns[max(3 * found[0] - 2, 0) : 3 * found[-1] + 3]

    @cached_property
    def _mode(self):
        """The narrowest mode in location, about, its standard deviation, and how far others go."""
        unit = self._size
        at = np.append(np.quantile(self.mean, [0.1, 0.3, 0.5, 0.7, 0.9]) / unit, 0)
        turns = np.arcsinh(unit / self._unit * np.exp(np.linspace(-4, 1, 6)))
        logs = [self._turned(at * unit, turns, each) for each in _BEGIN]
        starts = [np.unravel_index(each.argmax(), each.shape) for each in logs]
        masses, middles, widths = np.transpose(
            [
                self._climb(each, np.array([at[one], turns[two]]))
                for each, log, (one, two) in zip(_BEGIN, logs, starts, strict=True)
                if log.max() > np.max(logs) - self._finely[1]
            ]
        )
        kept = masses > masses.max() - self._finely[1]
        middle, wide = min(zip(middles[kept], widths[kept], strict=True), key=lambda each: each[1])
        further = np.max((np.abs(middles - middle) / self._reach + widths)[kept]) / wide
        return np.array([middle, wide, further])

    def _climb(self, excess, point):
        """Return the log mass, the location and its standard deviation about a mode."""
        unit, step = self._size, np.array([0.1, 0.3])
        for _ in range(6):
            near = point[:, None] + step[:, None] * np.array([-1, 0, 1])
            logs = self._turned(near[0] * unit, near[1], excess)
            slope = np.array([logs[2, 1] - logs[0, 1], logs[1, 2] - logs[1, 0]]) / 2
            bend = np.array([logs[2, 1] + logs[0, 1], logs[1, 2] + logs[1, 0]]) - 2 * logs[1, 1]
            wide = step / np.sqrt(np.maximum(-bend, (step / 2) ** 2))
            moved = np.clip(slope * (wide / step) ** 2, -1.5 * wide / step, 1.5 * wide / step)
            point, step = point + step * moved, np.minimum(wide / 4, 0.3)
            if (np.abs(moved * step) < 0.1 * wide).all():
                break
        return logs[1, 1] + np.log(wide).sum(), point[0] * unit, wide[0] * unit

    def _turned(self, location, turns, excess):
        """Return the log mass (L, S) of locations and turns of the spread, about."""
        found = self._rough(location, self._unit * np.sinh(turns), np.full(len(turns), excess))
        return found + np.log(np.cosh(turns)) + _log_excess(excess)

    def _rough(self, location, spread, excess):
        """
        Return the log density (L, S) of locations, and of spreads and excesses, about.

        Of data sets that are near to the others, the sum of two t variables is taken for one of
        their variances and fourth moments; of others, it has the tails of both.
        """
        far = self.within[1][0]
        one, two = self.error**2, spread[:, None] ** 2
        both, freedom = 1 / (one + two), 2 + excess[:, None]
        gaps = (self.mean - location[:, None, None]) ** 2 * both
        first, second = one * both, two * both
        logs = _log_t(gaps, 1 / (first**2 / self.freedom + second**2 / freedom))
        if len(far):
            gaps, least = gaps[..., far], self.freedom[far]
            tails = least / 2 * np.log(first[:, far]), freedom / 2 * np.log(second[:, far])
            found = np.logaddexp(_log_t(gaps, least) + tails[0], _log_t(gaps, freedom) + tails[1])
            logs[..., far] = found - np.logaddexp(*tails)
        return logs.sum(-1) + np.log(both).sum(-1) / 2 + self._log_prior(location, spread)

    @cached_property
    def location(self) -> Gridded:
        """Return the distribution of the mean difference over all data sets there may be."""
        middle, wide, _ = self._mode
        density = self.grid[-1].sum((1, 2)) / np.cosh(self._steps)
        finer = np.linspace(self._steps[0], self._steps[-1], 3 * len(self._steps) - 2)
        density = np.exp(_thrice(len(self._steps)) @ np.log(np.maximum(density, 1e-300)))
        # Even steps in asinh of a density that is next to 0 at both ends: sums are exact.
        return Gridded(middle + wide * np.sinh(finer), density, density * np.cosh(finer))

    @cached_property
    def new(self) -> StudentMixture:
        """Return the distribution of the true difference on one new data set."""
        location, spread, excess, mass = self.grid
        parts = np.meshgrid(location, spread, 2 + excess, indexing="ij")
        kept = mass > _RARE * mass.max()
        at, wide, freedom = (each[kept] for each in parts)
        return StudentMixture(at, wide, freedom, mass[kept] / mass[kept].sum())

    def draw(self, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw location, spread and excess (size,), and every data set's difference (size, D)."""
        (middle, wide, _), mass = self._mode, self.grid[-1]
        logs, steps = np.log(np.maximum(mass, 1e-300)), []
        for axis, nodes in enumerate([self._steps, self._turns, np.log(_EXCESSES)]):
            number = logs.shape[axis]
            logs = np.moveaxis(np.tensordot(_thrice(number), logs, (1, axis)), 0, axis)
            steps.append(np.linspace(nodes[0], nodes[-1], 3 * number - 2))
        mass = np.exp(logs - logs.max())
        place = np.unravel_index(
            rng.choice(mass.size, size, p=mass.ravel() / mass.sum()), mass.shape
        )
        one, two, three = (
            nodes[at] + (rng.random(size) - 0.5) * (nodes[1] - nodes[0])
            for nodes, at in zip(steps, place, strict=True)
        )
        location, spread = middle + wide * np.sinh(one), self._unit * np.sinh(two)
        return [location, spread, np.exp(three), self._own(location, spread, np.exp(three), rng)]

    def _own(self, location, spread, excess, rng):
        """Draw the data sets' differences: which normals, then the difference given these."""
        between, other = even_normals(2 + excess, self._furthest)
        between, found = between * spread[:, None] ** 2, np.empty((len(location), len(self.mean)))
        for which, inner, weights in (each for each in self.within if len(each[0])):
            both = inner[None, :, None] + between[:, None, :, None]
            gaps = self.mean[which] - location[:, None]
            logs = np.log(weights[:, None, None] * other[:, None, :, None]) - np.log(both) / 2
            logs -= gaps[:, None, None] ** 2 / (2 * both)
            logs += rng.gumbel(size=both.shape)
            place = logs.reshape(len(logs), -1, len(which)).argmax(1)
            first, second = np.unravel_index(place, both.shape[1:3])
            one = inner[first, np.arange(len(which))]
            two = np.take_along_axis(between, second, axis=1)
            middle = location[:, None] + gaps * two / (one + two)
            noise = rng.standard_normal(gaps.shape)
            found[:, which] = middle + np.sqrt(one * two / (one + two)) * noise
        return found


def _log_excess(excess):
    """Return the log prior density of the logarithm of degrees of freedom beyond two."""
    return 2 * np.log(excess) - 0.1 * excess


def _log_t(squares, freedom):
    """Return the log density of a t variable at squares, to a thousandth and but for a constant."""
    return -1 / (4 * freedom) - (freedom + 1) / 2 * np.log1p(squares / freedom)


@cache
def _read(half):
    """
    Return where the log density is read, and what makes of it that at all steps.

    Of many data sets it is a polynomial as far as anything is left: by .002 at most.
    """
    steps = np.sinh(np.arange(-half, half + 1) * _STEP)
    if half > _NEAR:
        return steps, np.eye(len(steps))
    nodes = steps[-1] * np.sin(np.pi / 6 * np.arange(-3, 4))
    return nodes, np.linalg.solve(np.vander(nodes).T, np.vander(steps, 7).T).T


@cache
def _thrice(number):
    """Return what makes of so many even nodes a cubic spline at three times as many, a matrix."""
    from scipy.interpolate import CubicSpline  # it loads much that others need not wait for

    nodes = np.arange(number)
    return CubicSpline(nodes, np.eye(number))(np.linspace(0, number - 1, 3 * number - 2))


# The posterior of all pairs of classifiers.

_FLOOR = 1e-3  # of the scale: what is left unknown of a data set whose runs are all equal


class HierarchicalDifferences(Posterior):
    """
    The posterior of the differences of classifiers over data sets, every pair by itself.

    A difference of two classifiers has the distribution of their pair. Draws of all classifiers
    together are normal levels, about their average, with the means and variances that fit those of
    the pairs best: for ranks.

    Attributes
    ----------
    pairs_of : dict of (int, int) to HierarchicalT
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
        kernel = _measure(results["measured"].item())
        self.measured = (kernel,)
        rho, table = results["test_share"].item(), results["result"].values
        self.pairs_of = {
            (one, two): _pair(
                table[:, one] - table[:, two], rho, scale, self.names[one], self.names[two]
            )
            for one, two in combinations(range(len(self.names)), 2)
        }

    @property
    def observed(self):
        """The results."""
        return self.results["result"]

    @cached_property
    def template(self):
        """The classifiers."""
        return LabelTemplate().append_dim("classifier", self.names)

    @cached_property
    def batch(self):
        """The number of data sets, for every classifier."""
        return self.observed.notnull().any("run").sum("data_set").astype(float)

    @property
    def values_per_draw(self):
        """The numbers of one draw."""
        return len(self.names)

    def distributions(self, measures: Sequence[Callable], **keywords: Any) -> list:
        """Raise: the posterior is of how classifiers differ."""
        name, todo = measures[0].__name__, "use compare(results) or ranks(results)"
        raise fail("results are of differences between classifiers", name, "", todo)

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> Any:
        """Return the distribution of the difference of two classifiers."""
        one, two = first["classifier"], second["classifier"]
        pair = self.pairs_of[min(one, two), max(one, two)]
        found = getattr(pair, self.estimands[of])
        return found if one < two else _turned(found)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw the classifiers' levels about their average, (size, J)."""
        number = len(self.names)
        gaps, spreads = np.zeros((2, number, number))
        for (one, two), pair in self.pairs_of.items():
            known = getattr(pair, self.estimands[of])
            gaps[one, two] = known.mean()
            gaps[two, one] = -gaps[one, two]
            spreads[one, two] = spreads[two, one] = known.sd() ** 2
        centre = np.eye(number) - 1 / number
        values, vectors = np.linalg.eigh(-centre @ spreads @ centre / 2)
        factor = vectors * np.sqrt(np.maximum(values, 0))
        levels = gaps.mean(axis=1) + rng.standard_normal((size, number)) @ factor.T
        return [measure(levels) for measure in measures]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return those of one measure: levels are of ranks only, differences are not drawn."""
        return super().draws_by_default(of)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw the variables of the model; of every pair by itself."""
        drawn = [each.draw(size, rng) for each in self.pairs_of.values()]
        every = list(zip(*drawn, strict=True))
        known = ("location", "spread", "excess")
        found = {name: np.stack(each, axis=1) for name, each in zip(known, every, strict=False)}
        return found | {"difference": np.concatenate(every[3], axis=1)}


def _pair(differences, rho, scale, first, second):
    """Return a pair from the differences (data_set, run) of two classifiers."""
    number = (~np.isnan(differences)).sum(-1)
    differences, number = differences[number > 1], number[number > 1]
    if len(number) < 2:
        todo = "leave one of them out, or add results"
        what = f"{first} and {second} have too few data sets in common"
        raise fail(what, len(number), "two or more, of two or more runs", todo)
    mean = np.nanmean(differences, axis=-1)
    error = np.nanstd(differences, axis=-1, ddof=1) * np.sqrt(1 / number + rho / (1 - rho))
    size = np.sqrt(np.mean(mean**2 + error**2)) if scale is None else scale
    if not size > 0:
        todo = "leave one of them out, or pass scale=, the size of a usual difference"
        raise fail(f"{first} and {second} are equal on every data set", ..., "a difference", todo)
    return HierarchicalT(mean, np.maximum(error, size * _FLOOR), number - 1.0, float(size))


def _measure(name):
    """Return the measure that the results are of: its values as they are."""
    loss = is_loss(name)
    found = own(lambda values: values, "results").called(name)
    if loss is None:
        return found
    return replace(found, lower_is_better=loss, direction_assumed=False)


def _turned(found):
    """Return the distribution of the difference the other way round."""
    if isinstance(found, Gridded):
        mass = None if found.mass is None else found.mass[::-1]
        return Gridded(-found.nodes[::-1], found.density[::-1], mass)
    return StudentMixture(-found.location, found.scale, found.freedom, found.weight)
