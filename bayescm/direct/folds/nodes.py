"""Weighted nodes of the posterior of folds, and how the folds' own effects are integrated out."""

import numpy as np
from scipy import special
from scipy.special import betaincinv, log_softmax, ndtr, ndtri, softmax

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
from bayescm.direct.folds.effects import fold_likelihood, moved, own_effects
from bayescm.direct.folds.halves import halves_likelihood, shown_by_halves
from bayescm.direct.folds.many_classes import nodes_of_many

_SIZE = 2048
_CLASSES_SIZE = 2000
# A lattice whose first 2**m points are evenly spread for m <= 20 (Cools, Kuo & Nuyens, 2006).
_GENERATOR = np.array([1, 182667, 469891, 498753, 110745, 446247, 250185, 118627])
_GRID = np.linspace(-5.5, 5.5, 45)
_HEAVIER = 0.8  # share of the counts in the density of the nodes, for its tails


def nodes(cells: np.ndarray, design: Design, rng: np.random.Generator | None = None, size=None):
    """
    Return the nodes of one cross-validation.

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    design : Design
    rng : numpy.random.Generator, optional
        Shifts the lattice; without it the nodes are always the same.
    size : int, optional
        Number of nodes.

    Returns
    -------
    Nodes
    """
    classes = cells.shape[-1]
    size = size or (_SIZE if classes == 2 else _CLASSES_SIZE)
    if classes > 2:
        rng = np.random.default_rng(classes) if rng is None else rng
        return nodes_of_many(cells, design, size, rng)
    uniform = _lattice(size, rng)
    error, unit = units(cells, design)
    cells = cells / design.effect

    rho = np.full(size, design.rho[0])
    if design.halves is not None:
        rho, uniform = uniform[:, 1], np.delete(uniform, 1, axis=1)
    spread, log_prior = _spread(cells, design, (error, unit), uniform[:, 0])
    effects = ndtri(uniform[:, 1 : classes + 2])
    common, own, total = scales(spread / unit, design, error, unit, rho)
    weighted = cells * (repeat_weight(cells, design) if design.repeats > 1 else 1.0)
    level, log_density = _level(weighted, design, uniform, own)
    log_weights = fold_likelihood(weighted, level, own) - log_density + log_prior
    if design.repeats > 1:
        log_weights += variance_likelihood(cells, own[:, 1:], design.repeats)
    if design.halves is not None:
        log_weights += halves_likelihood(design, spread / unit, error)
    rates = log_softmax(moved(level, -common * effects), axis=-1)
    log_weights += (design.prior * rates).sum((-2, -1))
    weights = np.exp(log_weights - log_weights.max())
    by_class = shares(drawn(cells * design.effect, design), design, uniform[:, -1], size)
    centred = centre(common, own, len(cells))
    return Nodes(weights / weights.sum(), rates, effects, spread, total, centred, by_class, rho)


def _spread(cells, design, units, uniform):
    """
    Return nodes of the spread, and the log of its prior density over that of the nodes.

    Every other node is from the prior, the rest from around what the folds show, or the halves:
    those that differ by far more than expected lie where the prior has next to no nodes.
    """
    error, unit = units
    scale = design.spread * (design.smaller * unit) ** (2 / 3)
    shown = _shown(cells, (0.3 * scale) ** 2) / np.sqrt(1 - design.rho[0])
    if design.halves is not None:
        shown = shown_by_halves(design, error) * unit
    spread = scale * np.sqrt(2) * uniform / np.sqrt(1 - uniform**2)  # half-Student-t(2)
    spread[1::2] = shown * np.exp(0.5 * ndtri(uniform[1::2]))
    prior = (1 + (spread / scale) ** 2 / 2) ** -1.5 / np.sqrt(2) / scale
    around = np.exp(-2 * np.log(spread / shown) ** 2) / (spread * 0.5 * np.sqrt(2 * np.pi))
    return spread, np.log(prior / (prior + around))


def _shown(cells, least):
    """Return the spread of the folds' own thresholds, by moments."""
    n = cells.sum(-1)
    full = (n > 0).all(-1)
    right = (np.diagonal(cells, axis1=-2, axis2=-1) + 0.5) / (n + 1)
    threshold = np.diff(special.logit(right), axis=-1)[full] / 2
    noise = (1 / ((n + 1) * right * (1 - right))).sum(-1)[full] / 4
    excess = threshold.var(0, ddof=1).max() - noise.mean() if full.sum() > 1 else 0
    return np.sqrt(max(excess, least))


def _lattice(size, rng):
    shift = 0.5 if rng is None else rng.random(len(_GENERATOR))
    points = np.arange(size)[:, None] * _GENERATOR % size / size + shift / size
    return np.clip((points + (0 if rng is None else shift)) % 1, 1e-9, 1 - 1e-9)


def _level(cells, design, uniform, own):
    """Return log rates of two classes near the pooled ones, and their log density."""
    pooled = cells.sum(0)
    level, log_density = np.zeros((len(uniform), 2, 2)), 0.0
    for row in range(2):
        negative, positive = pooled[row] * _HEAVIER + design.prior[row]
        quantiles = np.log(_beta_quantiles(positive, negative))
        table = quantiles - np.log(_beta_quantiles(negative, positive))[::-1]
        z = ndtri(uniform[:, -3 + row])
        place = np.clip(np.searchsorted(_GRID, z) - 1, 0, len(_GRID) - 2)
        slope = np.diff(table)[place] / np.diff(_GRID)[place]
        # The folds' own thresholds widen what the pooled counts say.
        information = pooled[row].prod() / pooled[row].sum() + 0.5
        wider = np.sqrt(1 + (own[:, 1:] ** 2).sum(-1) / len(cells) * information)
        middle = table[len(table) // 2]
        level[:, row, 1] = middle + wider * (np.interp(z, _GRID, table) - middle)
        log_density = log_density - z**2 / 2 - np.log(slope * wider)
    return log_softmax(level, axis=-1), log_density


def _beta_quantiles(a, b):
    return np.maximum(betaincinv(a, b, ndtr(_GRID)), 1e-250)


def variables(cells, design: Design, size: int, rng: np.random.Generator) -> dict:
    """Return draws of the variables of the PyMC model for one cross-validation."""
    pool = nodes(cells, design, rng, 2 ** int(np.ceil(np.log2(max(4 * size, _SIZE)))))
    chosen = rng.choice(len(pool.weights), size, p=pool.weights)
    rates, effects, spread = pool.rates[chosen], pool.effects[chosen], pool.spread[chosen]
    error, unit = units(cells, design)
    cells = cells / design.effect
    rho = pool.rho[chosen]
    common, own, _ = scales(spread / unit, design, error, unit, rho)
    level = log_softmax(moved(rates, common * effects), axis=-1)
    omega = 1.0 if design.repeats == 1 else repeat_weight(cells, design)
    by_fold = np.stack([own_effects(fold * omega, level, own, rng) for fold in cells], 1)
    by_class = np.broadcast_to(
        pool.shares[chosen] if len(pool.shares) > 1 else pool.shares, (size, cells.shape[-1])
    )
    wide, centred = pool.total[chosen], pool.centred[chosen]
    here = Nodes(np.ones(size), rates, effects, spread, wide, centred, by_class, rho)
    common[:, 0] = 0  # the luck of the examples is none of the classifiers'
    level = log_softmax(moved(rates, common * effects), axis=-1)
    fold_rates = softmax(moved(level[:, None], own[:, None] * by_fold), axis=-1)
    return {
        "rates": np.exp(rates),
        "spread": spread,
        "rho_threshold": rho,
        "separation": effects[:, 0],
        "threshold": effects[:, 1:],
        "separation_fold": by_fold[..., 0],
        "threshold_fold": by_fold[..., 1:],
        "prevalence": by_class,
        "theta_fold": by_class[:, None, :, None] * fold_rates,
        "theta_new": here.trained(wide),
        "theta_expected": here.trained(centred),
    }
