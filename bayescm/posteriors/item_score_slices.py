r"""
The direct posterior of `bayescm.models.item_score_slices`: slices of items, partially pooled.

Let :math:`y_j` and :math:`v_j` be the posterior mean and variance of a measure in slice j, from the
items of that slice only. The posterior of the standard deviation :math:`\tau` between slices, of
their mean :math:`\mu` and of their values :math:`\theta_j` is (Gelman et al., Bayesian Data
Analysis, 3rd ed., section 5.4)

.. math::

    p(\tau \mid y) &\propto p(\tau) \, V_\mu^{1/2}
        \prod_j (v_j + \tau^2)^{-1/2} \exp\Bigl(-\frac{(y_j - \hat\mu)^2}{2 (v_j + \tau^2)}\Bigr) \\
    V_\mu^{-1} &= \sum_j \frac{1}{v_j + \tau^2}, \qquad
        \hat\mu = V_\mu \sum_j \frac{y_j}{v_j + \tau^2}, \qquad
        \mu \mid \tau, y \sim N(\hat\mu, V_\mu) \\
    \theta_j \mid \mu, \tau, y &\sim N\Bigl(
        \frac{y_j / v_j + \mu / \tau^2}{1 / v_j + 1 / \tau^2}, \;
        \frac{1}{1 / v_j + 1 / \tau^2}\Bigr).

:math:`\tau` is sampled on a grid that is equidistant in :math:`\log(\tau + c)`, with c a quarter of
the smallest standard error. This resolves small values of :math:`\tau` as finely as large ones.

In the last line, the normal variates are replaced by standardised draws from the separate posterior
of each slice (`bayescm.posteriors.item_scores`, `repeated_items` or `multilabel`). Each slice
therefore keeps the shape of its posterior, and systems on the same items stay correlated.

References
----------
Rubin, D. B. (1981). Estimation in parallel randomized experiments. Journal of Educational
Statistics 6, 377-401. doi:10.3102/10769986006004377
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import ndtr

from bayescm.distributions.empirical import Empirical
from bayescm.evidence.clusters_and_slices import slice_dims
from bayescm.evidence.registry import type_of
from bayescm.evidence.unsupported import OF_SLICES
from bayescm.measures.item_scores import mean as MEAN
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.posteriors.item_scores import ItemScores, item_scores
from bayescm.posteriors.multilabel import multilabel
from bayescm.posteriors.repeated_items import repeated_items
from bayescm.validate import fail

# The model of a single slice, by the type of variable that its measures are computed from.
_OF_ONE_SLICE: Mapping[str, Callable[..., Posterior]] = {
    "item_scores": item_scores,
    "attempts": repeated_items,
    "example_cells": multilabel,
}
# The largest spread of the grid, in units of the scale of the half-normal prior. The prior mass
# beyond it is 6e-7.
_REACH = 5.0
# Distance between nodes of log(spread + c). With half this distance, the mean and the standard
# deviation of the gap between the extreme slices change by less than 0.1%.
_STEP = 0.03
# A caution is added if the slice that is furthest from the others has a p-value below this.
_RARE = 0.05
# A caution is added with more slices than this, because the extremes then depend on the shape of
# the distribution of the effects. The 95% intervals of a gap of 0.3 have coverage 0.85 to 0.98 for
# 12 slices of 30 items, but 0.37 to 0.73 for 60 slices (docs/results/few_slices.csv).
_MANY_SLICES = 20
# With fewer slices than this, no p-value is computed, because the spread is poorly estimated after
# one slice is left out.
_FEWEST_SLICES = 4
_SOME = 1000  # number of draws of each slice from which `misfit` computes its mean and variance
# Standard errors below this proportion of the prior's scale are rounding errors.
_SAME = 1e-9


def item_score_slices(
    evidence: xr.Dataset, *, spread: float = 0.5, concentration: float | None = None
) -> "ItemScoreSlices":
    """
    Return the partially pooled posterior of slices of items.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_item_scores`, :func:`bayescm.from_attempts` or
        :func:`bayescm.from_multilabel` with ``by``. With several dimensions, every combination is a
        slice.
    spread : float, default 0.5
        Scale > 0 of the half-normal prior of the standard deviation between slices. The unit is the
        range of the measure or, if the measure has no range, twice the standard deviation of the
        items.
    concentration : float, optional
        Prior for each slice. For item scores, the number of pseudo-items at each end of the range
        (default 0.5). For other evidence, as in `repeated_items` and `multilabel`.

    Returns
    -------
    ItemScoreSlices

    Raises
    ------
    ValueError
        If the evidence does not contain items in slices, if a slice of item scores has fewer than
        two items, or if `spread` is not a finite number > 0.

    Examples
    --------
    >>> import bayescm as bcm
    >>> scores, topic = [0.2, 0.9, 0.4, 0.8], ["a", "a", "b", "b"]
    >>> evidence = bcm.from_item_scores(scores, range=(0, 1), by={"topic": topic})
    >>> item_score_slices(evidence).template.dims
    ('topic',)
    """
    entry = type_of(evidence)
    of_one_slice = _OF_ONE_SLICE.get(entry.measured_variable or "")
    if of_one_slice is None:
        todo = "pass item scores, attempts or several labels for each example, with `by=`"
        raise fail(
            f"item_score_slices needs items in slices, not evidence of type {entry.name}",
            ...,
            "",
            todo,
        )
    evidence = entry.canonical(evidence)
    if not slice_dims(evidence):
        raise fail(
            "The items have no slices",
            ...,
            "",
            'name the slice of each item: `from_item_scores`(..., `by={"topic": topic}`)',
        )
    number = isinstance(spread, int | float | np.number) and not isinstance(spread, bool)
    if not number or not 0 < spread < np.inf:
        raise fail("`spread` must be a finite number > 0", spread, "", "pass e.g. `spread=0.5`")
    prior = {} if concentration is None else {"concentration": concentration}
    apart = of_one_slice(evidence, **prior)
    sizes = apart.batch.values
    if isinstance(apart, ItemScores) and sizes.size and sizes.min() < 2:
        todo = "combine slices, or leave it out"
        raise fail("Every slice needs two or more items; one has {}", int(sizes.min()), "", todo)
    return ItemScoreSlices(apart, evidence, float(spread))


class ItemScoreSlices(Posterior):
    """
    Partially pooled posterior of slices of items.

    Attributes
    ----------
    apart : Posterior
        Separate posteriors of the slices.
    evidence : Dataset
        Canonical evidence.
    spread : float
        Scale of the prior, as a proportion of the range.
    """

    pairs = ("classifier",)
    cell_prior = False
    partially_pooled = True
    apart: Posterior
    estimands = {"parameter": "theta", "finite": "theta"}  # noqa: RUF012
    sampling_method = "quadrature"

    def __init__(self, apart: Posterior, evidence: xr.Dataset, spread: float):
        self.apart, self.evidence, self.spread = apart, evidence, spread
        self.measured_variable = apart.measured_variable
        self.how = f"{apart.how}, slices partially pooled"

    @property
    def dims(self) -> Sequence[str]:
        """Dimensions of the slices, which come first in the template."""
        return slice_dims(self.evidence)

    @property
    def observed(self) -> xr.DataArray:
        """Observed values in the evidence."""
        return self.apart.observed

    @cached_property
    def template(self) -> LabelTemplate:
        """Labels of the slices and the systems."""
        return self.apart.template

    @cached_property
    def batch(self) -> xr.DataArray:
        """Number of items of each slice and system."""
        return self.apart.batch

    @property
    def values_per_draw(self) -> int:
        """Number of values in memory for one separate draw of every slice."""
        return self.apart.values_per_draw

    def classes_of(self, measure: Callable) -> np.ndarray | None:
        """Return the labels of a measure with one value per label, or None."""
        return self.apart.classes_of(measure)

    def bound(self, measure: Any) -> Any:
        """Return a measure with the range and the direction of this evidence."""
        return self.apart.bound(measure)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws."""
        return self.apart.draws_by_default(of, joint=joint)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return the cautions of the separate posteriors."""
        return self.apart.caveats()

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the sample value of each slice."""
        return self.apart.point(measure)

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the empirical distribution of draws (size, ..., [C]) of a measure."""
        return replace(self.apart.empirical(measure, draws), how=self.how)

    def draw_in_parts(self, measures, size, rng, *, of="parameter", n=None):
        """Sample all draws at once, because standardisation uses the mean and sd of all draws."""
        return self.draw(measures, size, rng, of=of, n=n)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return joint draws of several measures, (size, slices, [K], [L])."""
        self.resolve_estimand(of)
        drawn = self.apart.draw_in_parts(measures, size, rng)
        slices = int(np.prod([self.template.sizes[dim] for dim in self.dims]))
        pooled = []
        for measure, values in zip(measures, drawn, strict=True):
            # One axis for the slices, and one for all systems and labels.
            flat = values.reshape(size, slices, -1)
            pool = self._pooling(measure, flat)
            # Each system and label has its own spread and mean of the slices. They share the random
            # numbers, so that systems on the same items stay correlated.
            uniform, normal = rng.random(size), rng.standard_normal(size)
            columns = [
                pool(flat[:, :, column], uniform=uniform, normal=normal)
                for column in range(flat.shape[2])
            ]
            low, high = getattr(self.bound(measure), "range", (-np.inf, np.inf))
            pooled.append(np.clip(np.stack(columns, axis=-1), low, high).reshape(values.shape))
        return pooled

    def _pooling(self, measure, draws):
        """Return the function that partially pools the draws (S, J) of one system's slices."""
        low, high = getattr(self.bound(measure), "range", (-np.inf, np.inf))
        if np.isfinite(high - low) and not isinstance(self.apart, ItemScores):
            return partial(partially_pooled_shares, low=low, high=high, spread=self.spread)
        return partial(partially_pooled, scale=self.spread * self._scale(measure, draws))

    def misfit(self, measure: Callable) -> list[str]:
        """
        Return cautions about the normal distribution of the effects of the slices.

        The first is added if a slice is further from the others than normal effects explain
        (`extreme_slice`). The second is added if there are so many slices that their extremes
        depend on the assumed normal distribution.
        """
        sizes = [self.template.sizes[dim] for dim in self.dims]
        slices, members = int(np.prod(sizes)), " and ".join(self.dims)
        (values,) = self.apart.draw_in_parts([measure], _SOME, np.random.default_rng(0))
        flat = values.reshape(_SOME, slices, -1)
        found = [
            extreme_slice(*self._normal_scale(measure, flat[:, :, column]))
            for column in range(flat.shape[2])
        ]
        place, p = min(found, key=lambda each: each[1])
        p *= len(found)  # Bonferroni correction for several systems or labels
        cautions = []
        if p < _RARE:
            index = zip(self.dims, np.unravel_index(place, sizes), strict=True)
            label = ", ".join(str(self.template.coords[dim].values[at]) for dim, at in index)
            cautions.append(
                f"One {members} differs from the others by more than normal effects explain: "
                f"{label} (p = {p:.1g}). It is shrunk towards the others, so a gap may be too "
                "small. Evaluate it separately as well."
            )
        if slices > _MANY_SLICES:
            cautions.append(
                f"The extremes of {slices} members of {members} depend on the assumed normal "
                "distribution of their effects. A gap may be too small if one member is an "
                "outlier, and too large if all members are within narrow limits."
            )
        return cautions

    def _normal_scale(self, measure, draws):
        """Return draws (S, J) on the scale of the pooling, and the scale of the prior."""
        low, high = getattr(self.bound(measure), "range", (-np.inf, np.inf))
        if np.isfinite(high - low) and not isinstance(self.apart, ItemScores):
            return _arcsines(draws, low, high)[0], self.spread * np.pi / 2
        return draws, self.spread * self._scale(measure, draws[:, :, None])

    def _scale(self, measure, draws=None):
        """Return the length of a measure's range or, without one, twice the sd of the items."""
        low, high = getattr(self.bound(measure), "range", (-np.inf, np.inf))
        if np.isfinite(high - low):
            return high - low
        if isinstance(self.apart, ItemScores):
            return 2 * float(np.nanstd(self.apart.score))
        # The standard error of a slice of n items is about sd / sqrt(n), with the sd of one item.
        number = self.batch.values.reshape(draws.shape[1], -1).max(axis=1)
        with _quiet():
            return 2 * float(np.sqrt(np.nanmean(np.nanvar(draws, axis=0) * number[:, None])))

    # The variables of the PyMC model, which describes the mean score of one system.

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        y, sd = self.normal_approximation()
        scale = self.spread * self._scale(self.bound(MEAN))
        grid, share = spread_posterior(y, sd**2, scale)
        tau = rng.choice(grid, size, p=share)
        mu, theta = _given_spread(
            y, sd**2, tau, rng.standard_normal(size), rng.standard_normal((size, len(y)))
        )
        return {"mean": mu, "spread_between": tau, "theta": theta}

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return draws of the mean score of each slice, the only measure of the PyMC model."""
        if others := [measure for measure in measures if measure.__name__ != MEAN.__name__]:
            names = ", ".join(measure.__name__ for measure in others)
            raise fail(f"{OF_SLICES}: {names}", ..., "", "use the mean, or leave `method` out")
        return [variables["theta"].reshape(-1, *self.template.shape) for _ in measures]

    def normal_approximation(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and standard deviation of each slice's mean score, without pooling."""
        if not isinstance(self.apart, ItemScores):
            raise fail(
                "The PyMC model supports scores, not {}",
                self.measured_variable,
                "",
                "use gap or worst_slices, which sample from the slices directly",
            )
        if len(self.apart.score) > 1 or len(slice_dims(self.apart.evidence)) > 1:
            todo = "select one system: evidence.sel(classifier=...)"
            raise fail(
                "The PyMC model supports one system and one dimension of slices", ..., "", todo
            )
        moments = [
            self.apart.moments(self.apart.score[0, items], self.apart.weight[items])[2:4]
            for items in self.apart.slices
        ]
        mean, sd = np.array(moments).T
        return mean, sd


def partially_pooled_shares(
    values: np.ndarray,
    *,
    low: float,
    high: float,
    spread: float,
    uniform: np.ndarray,
    normal: np.ndarray,
) -> np.ndarray:
    r"""
    Return draws (S, J) of slices, partially pooled on the arcsine square-root scale.

    On the scale :math:`z = \arcsin \sqrt{x}`, a proportion of n trials has the standard error
    :math:`1 / (2 \sqrt{n})`, whatever its value (Anscombe, 1948). On the scale of x, a slice
    without errors would have the smallest standard error. n + 2 is estimated by
    :math:`x (1 - x)` divided by the variance, with x the mean, as for a beta distribution with
    Jeffreys' prior.

    Parameters
    ----------
    values : ndarray, shape (S, J)
    low, high : float
        Limits of the values.
    spread : float
        Scale of the half-normal prior for the spread, as a proportion of the range of z.
    uniform, normal : ndarray, shape (S,)
        As for `partially_pooled`.

    References
    ----------
    Anscombe, F. J. (1948). The transformation of Poisson, binomial and negative-binomial data.
    Biometrika 35, 246-254. doi:10.1093/biomet/35.3-4.246
    """
    z, sd = _arcsines(values, low, high)
    pooled = partially_pooled(z, spread * np.pi / 2, uniform, normal)
    pooled = low + (high - low) * np.sin(np.clip(pooled, 0, np.pi / 2)) ** 2
    return np.where(sd > _SAME, pooled, values)


def _arcsines(values, low, high):
    """Return draws (S, J) of slices on the arcsine scale, and their standard errors (J,)."""
    share = np.clip((values - low) / (high - low), 0, 1)
    z = np.arcsin(np.sqrt(share))
    with _quiet():
        mean, variance = np.nanmean(share, axis=0), np.nanvar(share, axis=0)
        sd = np.sqrt(variance / (mean * (1 - mean))) / 2
        z = np.arcsin(np.sqrt(mean)) + sd * (z - np.nanmean(z, axis=0)) / np.nanstd(z, axis=0)
    return z, sd


def extreme_slice(values: np.ndarray, scale: float) -> tuple[int, float]:
    """
    Return the index of the slice that is furthest from the others, and its p-value.

    The deleted residual of a slice is its distance from the mean predicted by the other slices. Its
    tail probability is averaged over the posterior of the spread given the other slices, and
    multiplied by the number of slices (Bonferroni correction).

    Parameters
    ----------
    values : ndarray, shape (S, J)
        Separate draws of each slice.
    scale : float
        Scale of the half-normal prior for the spread between slices.

    References
    ----------
    Viechtbauer, W. & Cheung, M. W.-L. (2010). Outlier and influence diagnostics for meta-analysis.
    Research Synthesis Methods 1, 112-125. doi:10.1002/jrsm.11
    """
    with _quiet():
        y, sd = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    known = np.flatnonzero(sd > _SAME * scale)
    if len(known) < _FEWEST_SLICES:
        return 0, 1.0
    y, v = y[known], sd[known] ** 2
    grid, share = spread_posterior(y, v, scale)
    total = v + (grid @ share) ** 2
    place = np.argmax(np.abs(y - (y / total).sum() / (1 / total).sum()) / np.sqrt(total))
    others = np.arange(len(y)) != place
    grid, share = spread_posterior(y[others], v[others], scale)
    total = v[others] + grid[:, None] ** 2
    precision = (1 / total).sum(1)
    mean = (y[others] / total).sum(1) / precision
    residual = (y[place] - mean) / np.sqrt(v[place] + grid**2 + 1 / precision)
    p = 2 * float(share @ ndtr(-np.abs(residual)))
    return int(known[place]), min(1.0, len(y) * p)


def partially_pooled(
    values: np.ndarray, scale: float, uniform: np.ndarray, normal: np.ndarray
) -> np.ndarray:
    """
    Return partially pooled draws (S, J) of slices.

    An undefined slice stays undefined. The standard error of a slice whose draws are all equal is
    unknown. Such a slice is not pooled, and the other slices are not shrunk towards it.

    Parameters
    ----------
    values : ndarray, shape (S, J)
        Separate draws of each slice.
    scale : float
        Scale of the half-normal prior for the spread between slices.
    uniform, normal : ndarray, shape (S,)
        Random numbers for the draws of the spread and of the mean of the slices.
    """
    with _quiet():
        y, sd = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    varies = sd > _SAME * scale
    if varies.sum() < 2:
        return values
    y, sd = y[varies], sd[varies]
    grid, share = spread_posterior(y, sd**2, scale)
    tau = grid[np.minimum(np.searchsorted(np.cumsum(share), uniform), len(grid) - 1)]
    pooled = values.copy()
    standardised = (values[:, varies] - y) / sd
    pooled[:, varies] = _given_spread(y, sd**2, tau, normal, standardised)[1]
    return pooled


def spread_posterior(y: np.ndarray, v: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return a grid (M,) of spreads between slices, and the posterior probability of each node.

    Parameters
    ----------
    y, v : ndarray, shape (J,)
        Mean and variance > 0 of each slice, without pooling.
    scale : float
        Scale of the half-normal prior for the spread.

    Examples
    --------
    >>> y, error = np.array([0.5, 0.5, 0.5]), 1e-4
    >>> grid, share = spread_posterior(y, np.full(3, error**2), 0.5)
    >>> median = grid[np.searchsorted(np.cumsum(share), 0.5)]
    >>> bool(median < 2 * error)
    True
    """
    offset = min(np.sqrt(v.min()), scale) / 4
    low, high = np.log(offset), np.log(offset + scale * _REACH)
    number = int(np.ceil((high - low) / _STEP))
    shifted = np.exp(low + (high - low) * (np.arange(number) + 0.5) / number)  # tau + offset
    grid = shifted - offset
    total = v + grid[:, None] ** 2
    precision = (1 / total).sum(1)
    mean = (y / total).sum(1) / precision
    log = np.log(shifted) - (grid**2) / (2 * scale**2) - np.log(precision) / 2
    log -= (np.log(total) + (y - mean[:, None]) ** 2 / total).sum(1) / 2
    share = np.exp(log - log.max())
    return grid, share / share.sum()


def _given_spread(y, v, tau, normal, standardised):
    """Return draws of the mean of the slices (S,) and of each slice (S, J), given the spread."""
    total = v + tau[:, None] ** 2
    precision = (1 / total).sum(1)
    mu = (y / total).sum(1) / precision + normal / np.sqrt(precision)
    kept = tau[:, None] ** 2 / total  # the weight of a slice's own data
    theta = kept * y + (1 - kept) * mu[:, None] + np.sqrt(v * kept) * standardised
    return mu, theta


@contextmanager
def _quiet():
    """Suppress warnings about slices that are undefined in every draw."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
