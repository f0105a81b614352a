r"""
The direct posterior of `bayescm.models.item_score_slices`: slices of items, partially pooled.

With y and v the mean and the variance of a measure of each of J slices by itself, the posterior of
the spread :math:`\tau` between slices, their mean :math:`\mu` and their values
:math:`\theta_j` is (Gelman et al., Bayesian Data Analysis, 3rd ed., section 5.4)

.. math::

    p(\tau \mid y) &\propto p(\tau) \, V_\mu^{1/2}
        \prod_j (v_j + \tau^2)^{-1/2} \exp\Bigl(-\frac{(y_j - \hat\mu)^2}{2 (v_j + \tau^2)}\Bigr) \\
    V_\mu^{-1} &= \sum_j \frac{1}{v_j + \tau^2}, \qquad
        \hat\mu = V_\mu \sum_j \frac{y_j}{v_j + \tau^2}, \qquad
        \mu \mid \tau, y \sim N(\hat\mu, V_\mu) \\
    \theta_j \mid \mu, \tau, y &\sim N\Bigl(
        \frac{y_j / v_j + \mu / \tau^2}{1 / v_j + 1 / \tau^2}, \;
        \frac{1}{1 / v_j + 1 / \tau^2}\Bigr).

The spread is drawn on a grid. In the place of a normal variable of the last line stands the
standardised draw of the slice by itself (`bayescm.posteriors.item_scores`): so values keep the
shape of their own posterior, and systems on the same items remain as close to one another as they
are.

References
----------
Rubin, D. B. (1981). Estimation in parallel randomized experiments. Journal of Educational
Statistics 6, 377-401. doi:10.3102/10769986006004377
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.clusters_and_slices import slice_dims
from bayescm.evidence.item_scores import as_item_scores
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.posteriors.item_scores import ItemScores, item_scores
from bayescm.validate import fail

# Spreads of the grid, up to so many scales of the half-normal prior, of which 6e-7 lies beyond.
_GRID, _REACH = 200, 5.0


def item_score_slices(
    evidence: xr.Dataset, *, spread: float = 0.5, concentration: float = 0.5
) -> "ItemScoreSlices":
    """
    Return the posterior of slices of items, partially pooled.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_item_scores` with ``by``; of several dims every combination is a
        slice.
    spread : float, default 0.5
        Scale > 0 of the half-normal prior of the standard deviation between slices, in parts of the
        range (without one, of twice the standard deviation of all items).
    concentration : float, default 0.5
        Pseudo-items at each end of the range, in every slice.

    Returns
    -------
    ItemScoreSlices

    Raises
    ------
    ValueError
        If there are fewer than two slices, one has fewer than two items, or the spread is not > 0.

    Examples
    --------
    >>> import bayescm as bcm
    >>> scores, topic = [0.2, 0.9, 0.4, 0.8], ["a", "a", "b", "b"]
    >>> evidence = bcm.from_item_scores(scores, range=(0, 1), by={"topic": topic})
    >>> item_score_slices(evidence).template.dims
    ('topic',)
    """
    evidence = as_item_scores(evidence)
    if not slice_dims(evidence):
        todo = 'name their slice: from_item_scores(..., by={"topic": topic})'
        raise fail("the items have no slices", ..., "a dim of slices", todo)
    number = isinstance(spread, int | float | np.number) and not isinstance(spread, bool)
    if not number or not 0 < spread < np.inf:
        raise fail("spread must be positive", spread, "a number > 0", "pass e.g. spread=0.5")
    apart = item_scores(evidence, concentration=concentration)
    sizes = apart.batch.values
    if sizes.size and sizes.min() < 2:
        todo = "combine slices, or leave it out"
        raise fail("a slice has fewer than two items", int(sizes.min()), "two or more", todo)
    return ItemScoreSlices(apart, float(spread))


class ItemScoreSlices(Posterior):
    """
    The posterior of slices of items, partially pooled.

    Attributes
    ----------
    apart : ItemScores
        The posterior of every slice by itself.
    spread : float
        Scale of the prior, in parts of the range.
    """

    measured_variable = "item_scores"
    pairs = ("classifier",)
    cell_prior = False
    estimands = {"parameter": "theta", "finite": "theta"}  # noqa: RUF012
    sampling_method = "quadrature"
    how = "draws by the Bayesian bootstrap, slices partially pooled"

    def __init__(self, apart: ItemScores, spread: float):
        self.apart, self.spread = apart, spread

    @property
    def observed(self) -> xr.DataArray:
        """The scores."""
        return self.apart.observed

    @cached_property
    def template(self) -> LabelTemplate:
        """The slices and the systems."""
        return self.apart.template

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of items with a score of each slice and system."""
        return self.apart.batch

    @property
    def values_per_draw(self) -> int:
        """The weights of all items."""
        return self.apart.values_per_draw

    def bound(self, measure: Any) -> Any:
        """Return a measure with the range of these scores, and what is better of them."""
        return self.apart.bound(measure)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made where nothing else is asked for."""
        return self.apart.draws_by_default(of, joint=joint)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return what the evidence makes doubtful."""
        return self.apart.caveats()

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value in the sample of every slice."""
        return self.apart.point(measure)

    def draw_in_parts(self, measures, size, rng, *, of="parameter", n=None):
        """Draw all at once: the slices' own draws are standardised by their mean and spread."""
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
        """Draw several measures jointly, (size, slices, [K])."""
        self.resolve_estimand(of)
        drawn = self.apart.draw_in_parts(measures, size, rng)
        systems = len(self.apart.score)
        pooled = []
        for measure, values in zip(measures, drawn, strict=True):
            flat = values.reshape(size, -1, systems)
            scale = self.spread * self._scale(measure)
            # One spread and one mean of slices by system, but the same random numbers for all.
            uniform, normal = rng.random(size), rng.standard_normal(size)
            for system in range(systems):
                flat[:, :, system] = partially_pooled(flat[:, :, system], scale, uniform, normal)
            low, high = getattr(self.bound(measure), "range", (-np.inf, np.inf))
            pooled.append(np.clip(flat, low, high).reshape(values.shape))
        return pooled

    def _scale(self, measure):
        """Return the range of a measure, or twice the spread of the items where it has none."""
        low, high = getattr(self.bound(measure), "range", (-np.inf, np.inf))
        if np.isfinite(high - low):
            return high - low
        return 2 * float(np.nanstd(self.apart.score))

    # The variables of the PyMC model: the mean score of one system.

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        y, sd = self.normal_approximation()
        scale = self.spread * (np.ptp(self.apart.ends) if self.apart.bounded else self._scale(None))
        grid, share = spread_posterior(y, sd**2, scale)
        tau = rng.choice(grid, size, p=share)
        mu, theta = _given_spread(
            y, sd**2, tau, rng.standard_normal(size), rng.standard_normal((size, len(y)))
        )
        return {"mean": mu, "spread_between": tau, "theta": theta}

    def normal_approximation(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of the mean score of each slice by itself."""
        if len(self.apart.score) > 1 or len(slice_dims(self.apart.evidence)) > 1:
            todo = "select one system: evidence.sel(classifier=...)"
            raise fail("the PyMC model is of one system and one dim of slices", ..., "one", todo)
        moments = [
            self.apart.moments(self.apart.score[0, items], self.apart.weight[items])[2:4]
            for items in self.apart.slices
        ]
        mean, sd = np.array(moments).T
        return mean, sd


def partially_pooled(
    values: np.ndarray, scale: float, uniform: np.ndarray, normal: np.ndarray
) -> np.ndarray:
    """
    Return draws (S, J) of slices, partially pooled, from draws of each by itself.

    Parameters
    ----------
    values : ndarray, shape (S, J)
    scale : float
        Of the half-normal prior of the spread between slices.
    uniform, normal : ndarray, shape (S,)
        Random numbers that the spread and the mean of the slices are drawn by.
    """
    y, sd = values.mean(axis=0), values.std(axis=0)
    if not sd.all():  # a slice known for certain is not drawn towards others
        return values
    grid, share = spread_posterior(y, sd**2, scale)
    tau = grid[np.minimum(np.searchsorted(np.cumsum(share), uniform), len(grid) - 1)]
    return _given_spread(y, sd**2, tau, normal, (values - y) / sd)[1]


def spread_posterior(y: np.ndarray, v: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a grid of spreads between slices, and the probability of each."""
    grid = scale * _REACH * (np.arange(_GRID) + 0.5) / _GRID
    total = v + grid[:, None] ** 2
    precision = (1 / total).sum(1)
    mean = (y / total).sum(1) / precision
    log = -(grid**2) / (2 * scale**2) - np.log(precision) / 2
    log -= (np.log(total) + (y - mean[:, None]) ** 2 / total).sum(1) / 2
    share = np.exp(log - log.max())
    return grid, share / share.sum()


def _given_spread(y, v, tau, normal, standardised):
    """Return draws of the mean of the slices (S,) and of each slice (S, J), given the spread."""
    total = v + tau[:, None] ** 2
    precision = (1 / total).sum(1)
    mu = (y / total).sum(1) / precision + normal / np.sqrt(precision)
    kept = tau[:, None] ** 2 / total  # how much of its own a slice keeps
    theta = kept * y + (1 - kept) * mu[:, None] + np.sqrt(v * kept) * standardised
    return mu, theta
