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

_GRID = np.geomspace(0.01, 100, 60)  # of the spread, in units of the scale of its prior


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
    spread = _spreads(cells, weighted, design, (error, unit), size, rng)
    effects = rng.standard_normal((size, len(error) + 1))
    common, own, total = scales(spread / unit, design, error, unit)
    gammas = np.maximum(rng.standard_gamma(pooled, (size, *pooled.shape)), 1e-250)
    of_own = own / np.sqrt(len(cells)) * rng.standard_normal(own.shape)
    level = log_softmax(moved(np.log(gammas), of_own), axis=-1)
    rates = log_softmax(moved(level, -common * effects), axis=-1)
    # The prior is that of the typical rates, not of the level.
    log_weights = (design.prior * (rates - level)).sum((-2, -1))
    weights = np.exp(log_weights - log_weights.max())
    by_class = shares(drawn(cells * design.effect, design), design, None, size)
    centred = centre(common, own, len(cells))
    return Nodes(weights / weights.sum(), rates, effects, spread, total, centred, by_class)


def _spreads(cells, weighted, design, known, size, rng):
    """Draw the spread of the thresholds, given what the folds show of it."""
    error, unit = known
    scale = design.spread * (design.smaller * unit) ** (2 / 3)
    spread = scale * _GRID
    _, own, _ = scales(spread / unit, design, error, unit)
    pooled = weighted.sum(0) + design.prior
    rates = pooled / pooled.sum(-1, keepdims=True)
    level = np.broadcast_to(np.log(rates), (len(_GRID), *rates.shape))
    logs = fold_likelihood(weighted, level, own)
    told = _information(weighted.sum(0), rates) / len(cells)
    logs = logs + np.log1p(own**2 * told).sum(-1) / 2
    if design.repeats > 1:
        logs += variance_likelihood(cells, own[:, 1:], design.repeats)
    logs += np.log(_GRID) - 1.5 * np.log1p(_GRID**2 / 2)  # half-Student-t(2), per step of the log
    mass = np.exp(logs - logs.max())
    below = np.concatenate([[0], np.cumsum((mass[1:] + mass[:-1]) / 2)])
    points = rng.permutation((np.arange(size) + rng.random()) / size)
    return np.exp(np.interp(points, below / below[-1], np.log(spread)))


def _information(pooled, rates):
    """Return what all folds tell about the diagonal and each column, (1 + C,)."""
    n, right = pooled.sum(-1), np.diagonal(rates)
    columns = (n[:, None] * rates * (1 - rates)).sum(0)
    return np.concatenate([[(n * right * (1 - right)).sum()], columns])
