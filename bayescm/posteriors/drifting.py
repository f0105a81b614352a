r"""
Direct posterior of `bayescm.models.drifting`: a filter and smoother on a grid.

The prevalence, recall and specificity at step t are three random walks on the logit scale. They are
independent in the prior and, given the tables, in the posterior:

.. math::

    \operatorname{logit} r_{t+1} \mid r_t \sim N(\operatorname{logit} r_t, d^2), \qquad
    \mathrm{hits}_t \sim \mathrm{Binomial}(\mathrm{hits}_t + \mathrm{misses}_t, \; r_t).

Each walk has a separate step standard deviation d, called the drift, with a half-normal prior, and
a beta prior of the rate at the first step. `bayescm.inference.random_walk` filters and smooths each
walk. The distribution of a measure at a step follows from the three rates
(`bayescm.distributions.closed_forms`). Draws are independent between steps, unless steps are
compared. For comparisons, whole paths are sampled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions.closed_forms import distribution_of_rates
from bayescm.distributions.dirichlet import default_concentration
from bayescm.distributions.log_densities import log_choose, log_half_normal
from bayescm.distributions.logit_lattice import LogitLattice, concatenate
from bayescm.evidence.folds import check_series
from bayescm.inference.random_walk import Walk
from bayescm.posteriors.base import (
    LARGE_DRAWS,
    CountsPosterior,
    Posterior,
    as_labelled_counts,
    prior_of,
)
from bayescm.validate import fail

DRIFT = 0.2  # the same value as in the model, where it is explained

PREVALENCE, RECALL, SPECIFICITY = range(3)  # indices of the walks, in the order of their variables

# Forms of measures that equal the rate of a walk, and of measures that equal its complement.
_RATES: dict[Any, int] = {
    ("tp+fn", "fp+tn"): PREVALENCE,
    ("tp", "fn"): RECALL,
    ("tn", "fp"): SPECIFICITY,
}
_COMPLEMENTS: dict[Any, int] = {("fn", "tp"): RECALL, ("fp", "tn"): SPECIFICITY}


def drifting(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    drift: float | None = None,
    filtered: bool = False,
) -> "Drifting":
    """
    Return the posterior of the rates of two classes that drift between batches.

    Use it for batches in time order, about equally spaced, if performance may change at any time.

    Parameters
    ----------
    counts : DataArray, dims (..., step, actual, predicted), or array_like, (..., T, 2, 2)
        Counts >= 0 of two classes at T steps in time order.
    concentration : array_like, optional
        Prior pseudo-counts of the first step, > 0: one number or (2, 2). Default: 0.5.
    drift : float, optional
        Scale > 0 of the half-normal prior for the standard deviation of the change between two
        steps, on the logit scale. Default: 0.2.
    filtered : bool, default False
        Whether each step is estimated only from itself and earlier steps. By default, all steps are
        used.

    Returns
    -------
    Drifting

    Raises
    ------
    ValueError
        If there are not exactly two classes, or a prior parameter is not a finite number > 0.

    Examples
    --------
    >>> from bayescm.measures.catalogue import resolve
    >>> posterior = drifting([[[30, 35], [15, 65]], [[35, 30], [25, 55]], [[36, 29], [24, 56]]])
    >>> posterior.distribution(resolve("recall")).mean().round(3)
    array([0.751, 0.726, 0.72 ])
    """
    series = as_labelled_counts(counts, "step")
    check_series(series)
    prior_counts = prior_of(concentration, counts, series.dims[:-2])
    prior_counts = default_concentration(2) if prior_counts is None else prior_counts
    prior = np.broadcast_to(np.asarray(prior_counts, float), (2, 2))
    if not ((prior > 0) & (prior < np.inf)).all():
        raise fail(
            "drifting needs a prior above 0 in every cell",
            prior.tolist(),
            "",
            "pass e.g. `concentration=0.5`",
        )
    scale = DRIFT if drift is None else drift
    if not isinstance(scale, int | float | np.number) or not 0 < scale < np.inf:
        todo = "pass `drift=0.2`, or a function from a name to a PyMC variable"
        raise fail("`drift` must be a finite number > 0", drift, "", todo)
    return Drifting(series, prior, float(scale), bool(filtered))


@dataclass(frozen=True, eq=False)
class Drifting(CountsPosterior):
    """
    Posterior of each step, given all steps or only the step itself and earlier ones.

    Attributes
    ----------
    counts : DataArray, dims (..., step, actual, predicted)
        Counts of the steps in time order.
    prior : ndarray, shape (2, 2)
        Prior pseudo-counts of the first step.
    scale : float
        Scale of the half-normal prior for the drift.
    only_past : bool
        Whether the distributions are filtered rather than smoothed.
    joint : bool
        Whether whole paths are sampled, so that steps can be compared.
    """

    sampling_method = "quadrature"
    counts: xr.DataArray
    prior: np.ndarray
    scale: float
    only_past: bool
    joint: bool = False

    @property
    def pairs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The dim of the steps, if whole paths are sampled."""
        return (str(self.counts.dims[-3]),) if self.joint else ()

    @cached_property
    def _cells(self):
        return self.counts.values.astype(float)

    @cached_property
    def _walks(self):
        """Three walks for each series of the batch, shape (..., 3)."""
        shape = self._cells.shape[:-3]
        walks = np.empty((*shape, 3), object)
        for index in np.ndindex(shape):
            for rate, (hits, misses) in enumerate(_split(self._cells[index])):
                a, b = _split(self.prior)[rate]
                walks[(*index, rate)] = Walk(hits, hits + misses, (a, b), self.scale)
        return walks

    @cached_property
    def _rates(self):
        return {}  # cached distributions of the rates

    def _rate(self, rate):
        """Return the distribution of one of the three rates at each step, (..., T)."""
        if rate not in self._rates:
            walks = self._walks[..., rate].ravel()
            lattices = [walk.filtered() if self.only_past else walk.smoothed() for walk in walks]
            self._rates[rate] = concatenate(lattices).reshaped(self._cells.shape[:-2])
        return self._rates[rate]

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of a measure at each step, (..., T), or None."""
        if of != "parameter":
            return None
        if measure.form in _RATES:
            return self._rate(_RATES[measure.form])
        if measure.form in _COMPLEMENTS:
            return self._rate(_COMPLEMENTS[measure.form]).complement()
        prevalence, recall, specificity = (self._rate(rate) for rate in range(3))
        return distribution_of_rates(measure, prevalence, recall, specificity.complement())

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., T, 2, 2) of the cell probabilities. See ``joint``."""
        if self.joint:
            return table(list(np.moveaxis(special.expit(self._paths(size, rng)[1]), -1, 0)))
        return table([self._rate(rate).draw(size, rng) for rate in range(3)])

    def by(self, dim: str) -> Posterior:
        """Return a posterior that samples whole paths, if `dim` is the dim of the steps."""
        if dim != self.counts.dims[-3]:
            return self
        if self.only_past:
            raise fail(
                "Steps cannot be compared with `filtered=True`, because each uses other data",
                ...,
                "",
                "leave `filtered` out",
            )
        return replace(self, joint=True)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws, which is smaller for whole paths."""
        return LARGE_DRAWS if self.joint else super().draws_by_default(of, joint=joint)

    def isel_batch(self, index: np.ndarray) -> Posterior:
        """Return the separate posteriors of some steps of the flattened batch."""
        flat = self.pooled.reshape(-1, 2, 2)[index]
        return SelectedSteps(
            as_labelled_counts(flat), [self._rate(rate).take(index) for rate in range(3)]
        )

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """
        Return draws (size, ...) of the smoothed variables of the PyMC model.

        The evidence must contain one series.
        """
        check_series(self.counts, batches=False)
        drift, paths = self._paths(size, rng)
        rates = special.expit(paths)
        return {
            "start": rates[:, 0],
            "drift": drift,
            "moves": np.diff(paths, axis=1) / drift[:, None],
            "rates": rates,
            "theta": table([rates[..., rate] for rate in range(3)]),
        }

    def _paths(self, size, rng):
        """Sample the drifts (size, ..., 3) and the paths of the logits (size, ..., T, 3)."""
        draws = [walk.paths(size, rng) for walk in self._walks.flat]
        drifts, paths = (np.stack(values, axis=1) for values in zip(*draws, strict=True))
        steps, shape = self._cells.shape[-3], self._walks.shape
        paths = paths.reshape(size, *shape, steps)
        return drifts.reshape(size, *shape), np.moveaxis(paths, -1, -2)

    def log_density(self, variables: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the log posterior density of start (3,), drift (3,), moves (T - 1, 3)."""
        start, drift, moves = (np.asarray(variables[name]) for name in ("start", "drift", "moves"))
        walk = np.concatenate([np.zeros((1, 3)), np.cumsum(drift * moves, axis=0)])
        levels = special.logit(start) + walk
        total = -self.log_marginal_likelihood() - (moves**2 / 2 + np.log(2 * np.pi) / 2).sum()
        total += log_half_normal(drift, self.scale).sum()
        for rate, (hits, misses) in enumerate(_split(self._cells)):
            a, b = _split(self.prior)[rate]
            total += special.xlogy(a - 1, start[rate]) + special.xlog1py(b - 1, -start[rate])
            total -= special.betaln(a, b)
            level = levels[:, rate]
            total += (hits * special.log_expit(level) + misses * special.log_expit(-level)).sum()
            total += log_choose(hits + misses, hits).sum()
        return np.asarray(total)

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log probability of each series of tables."""
        logs = [walk.log_marginal_likelihood() for walk in self._walks.flat]
        return np.reshape(logs, self._walks.shape).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class SelectedSteps(CountsPosterior):
    """
    Posterior of some steps of a series, each separately.

    Attributes
    ----------
    counts : DataArray, dims (batch, actual, predicted)
    rates : list of LogitLattice
        Distributions of prevalence, recall and specificity.
    """

    sampling_method = "quadrature"
    counts: xr.DataArray
    rates: list[LogitLattice]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the cell probabilities."""
        return {"theta": table([rate.draw(size, rng) for rate in self.rates])}


def _split(cells):
    """Return the hits and misses of prevalence, recall and specificity."""
    (tn, fp), (fn, tp) = np.moveaxis(cells, (-2, -1), (0, 1))
    return [(tp + fn, tn + fp), (tp, fn), (tn, fp)]


def table(rates: Sequence[np.ndarray]) -> np.ndarray:
    """Return cell probabilities (..., 2, 2) from prevalence, recall and specificity."""
    prevalence, recall, specificity = rates
    negatives = [(1 - prevalence) * specificity, (1 - prevalence) * (1 - specificity)]
    positives = [prevalence * (1 - recall), prevalence * recall]
    return np.stack([np.stack(row, axis=-1) for row in (negatives, positives)], axis=-2)
