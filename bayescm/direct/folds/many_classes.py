"""
Folds of many classes: too many unknowns for a lattice, so that every node counts alike.

Given the spread of the thresholds, the level that the folds saw is that of their sum, and uncertain
by the mean of their own effects besides; what is known of the spread comes from the folds at the
rates of their sum, with the uncertainty of these taken off as in restricted maximum likelihood.
Both hold up to the third order, for the effects are small beside what all folds tell.
"""

import numpy as np
from scipy.special import log_softmax

from bayescm.direct.folds.design import (
    Design,
    Nodes,
    centre,
    drawn,
    repeat_weight,
    scales,
    shares,
    units,
    variance_likelihood,
)
from bayescm.direct.folds.effects import fold_likelihood, moved
from bayescm.direct.folds.halves import halves_likelihood

_GRID = np.geomspace(0.01, 100, 60)  # of the spread, in units of the scale of its prior
_RHO = (np.arange(8) + 0.5) / 8


def nodes_of_many(cells, design: Design, size: int, rng: np.random.Generator) -> Nodes:
    """
    Return nodes of the posterior of one cross-validation, for any number of classes.

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    design : Design
    size : int
    rng : numpy.random.Generator
    """
    error, unit = units(cells, design)
    cells = cells / design.effect
    weighted = cells * (repeat_weight(cells, design) if design.repeats > 1 else 1.0)
    pooled = weighted.sum(0) + design.prior
    spread, rho = _spreads(cells, weighted, design, (error, unit), size, rng)
    effects = rng.standard_normal((size, len(error) + 1))
    common, own, total = scales(spread / unit, design, error, unit, rho)
    gammas = np.maximum(rng.standard_gamma(pooled, (size, *pooled.shape)), 1e-250)
    of_own = own / np.sqrt(len(cells)) * rng.standard_normal(own.shape)
    level = log_softmax(moved(np.log(gammas), of_own), axis=-1)
    rates = log_softmax(moved(level, -common * effects), axis=-1)
    # The prior is that of the typical rates, not of the level.
    log_weights = (design.prior * (rates - level)).sum((-2, -1))
    weights = np.exp(log_weights - log_weights.max())
    by_class = shares(drawn(cells * design.effect, design), design, None, size)
    centred = centre(common, own, len(cells))
    return Nodes(weights / weights.sum(), rates, effects, spread, total, centred, by_class, rho)


def _spreads(cells, weighted, design, known, size, rng):
    """Draw the spread of the thresholds and what the folds share, given what they show of it."""
    error, unit = known
    scale = design.spread * (design.smaller * unit) ** (2 / 3)
    several = np.array([design.rho[0]]) if design.halves is None else _RHO
    spread, rho = (each.ravel() for each in np.meshgrid(scale * _GRID, several))
    _, own, _ = scales(spread / unit, design, error, unit, rho)
    pooled = weighted.sum(0) + design.prior
    rates = pooled / pooled.sum(-1, keepdims=True)
    level = np.broadcast_to(np.log(rates), (len(spread), *rates.shape))
    logs = fold_likelihood(weighted, level, own)
    told = _information(weighted.sum(0), rates) / len(cells)
    logs = logs + np.log1p(own**2 * told).sum(-1) / 2
    if design.repeats > 1:
        logs += variance_likelihood(cells, own[:, 1:], design.repeats)
    if design.halves is not None:
        logs += halves_likelihood(design, spread / unit, error)
    # Half-Student-t(2), per step of the logarithm; the values of rho are its quantiles.
    logs += np.log(spread) - 1.5 * np.log1p((spread / scale) ** 2 / 2)
    mass = np.exp(logs - logs.max())
    points = (np.arange(size) + rng.random()) / size
    place = np.searchsorted(np.cumsum(mass / mass.sum()), points).clip(max=len(mass) - 1)
    place = rng.permutation(place)
    within = np.log(_GRID[1] / _GRID[0]) * (rng.random(size) - 0.5)
    return spread[place] * np.exp(within), rho[place]


def _information(pooled, rates):
    """Return what all folds tell about the diagonal and each column, (1 + C,)."""
    n, right = pooled.sum(-1), np.diagonal(rates)
    columns = (n[:, None] * rates * (1 - rates)).sum(0)
    return np.concatenate([[(n * right * (1 - right)).sum()], columns])
