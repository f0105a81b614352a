"""Weighted nodes of the posterior of folds, and how the folds' own effects are integrated out."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.special import betaincinv, log_softmax, ndtr, ndtri, softmax

from bayescm.direct.folds.effects import fold_likelihood, moved, own_effects

_SIZE = 2048
_CLASSES_SIZE = 4000
# A lattice whose first 2**m points are evenly spread for m <= 20 (Cools, Kuo & Nuyens, 2006).
_GENERATOR = np.array([1, 182667, 469891, 498753, 110745, 446247, 250185])
_GRID = np.linspace(-5.5, 5.5, 45)
_HEAVIER = 0.8  # share of the counts in the density of the nodes, for its tails


@dataclass(frozen=True)
class Design:
    """How the folds came about, and the priors; the names are those of the model."""

    prior: np.ndarray
    spread: float
    separation: float
    rho: tuple[float, float]
    repeats: int
    disagreement: float
    fixed: bool
    shares: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Nodes:
    """
    Weighted nodes.

    Attributes
    ----------
    weights : ndarray, shape (N,)
        Sum to 1.
    rates : ndarray, shape (N, C, C)
        Logarithms of the typical rates.
    effects : ndarray, shape (N, 1 + C)
        Standardised effects common to the folds: separation, then thresholds.
    spread : ndarray, shape (N,)
        Spread of the thresholds.
    total : ndarray, shape (N, 1 + C)
        Standard deviation of each effect between training sets.
    shares : ndarray, shape (N or 1, C)
        Share of each actual class.
    """

    weights: np.ndarray
    rates: np.ndarray
    effects: np.ndarray
    spread: np.ndarray
    total: np.ndarray
    shares: np.ndarray

    def expected(self, kernel: Callable) -> np.ndarray:
        """Return the expected measure over training sets at every node, (N, [C])."""
        return kernel(self.theta_new()).mean(axis=1)

    def theta_new(self) -> np.ndarray:
        """Return cell probabilities after training sets of equal weight, (N, T, C, C)."""
        size = self.total.shape[-1]
        corners = np.sqrt(size) * np.concatenate([np.eye(size), -np.eye(size)])
        rates = softmax(moved(self.rates[:, None], self.total[:, None] * corners), axis=-1)
        return self.shares[:, None, :, None] * rates

    def choose(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return nodes drawn by their weights, evenly (systematic resampling), in random order."""
        points = (np.arange(size) + rng.random()) / size
        chosen = np.searchsorted(np.cumsum(self.weights), points)
        return rng.permutation(np.minimum(chosen, len(self.weights) - 1))


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
    uniform = _lattice(size, rng) if classes == 2 else _independent(size, classes + 3, rng)
    totals = cells.sum((0, 2)) / design.repeats
    error = 1 / np.sqrt(np.maximum(totals, 1))
    unit = np.sqrt(2 * (error**2).mean())

    spread, log_prior = _spread(cells, design, unit, uniform[:, 0])
    effects = ndtri(uniform[:, 1 : classes + 2])
    common, own, total = _scales(spread / unit, design, error, unit)
    weighted = cells * (repeat_weight(cells, design) if design.repeats > 1 else 1.0)
    level, log_density = _level(weighted, design, uniform, own)
    log_weights = fold_likelihood(weighted, level, own) - log_density + log_prior
    if design.repeats > 1:
        log_weights += variance_likelihood(cells, own[:, 1:], design.repeats)
    rates = log_softmax(moved(level, -common * effects), axis=-1)
    log_weights += (design.prior * rates).sum((-2, -1))
    weights = np.exp(log_weights - log_weights.max())
    shares = _shares(totals, design, uniform[:, -1], size)
    return Nodes(weights / weights.sum(), rates, effects, spread, total, shares)


def _spread(cells, design, unit, uniform):
    """
    Return nodes of the spread, and the log of its prior density over that of the nodes.

    Every other node is from the prior, the rest from around what the folds show: folds that differ
    by far more than expected lie where the prior has next to no nodes.
    """
    scale = design.spread * unit ** (2 / 3)
    shown = _shown(cells, (0.3 * scale) ** 2) / np.sqrt(1 - design.rho[0])
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


def _independent(size, columns, rng):
    rng = np.random.default_rng(columns) if rng is None else rng
    return rng.random((size, columns))


def _scales(ratio, design, error, unit):
    """Return the spreads of the common, the own and all effects of training, (N, 1 + C) each."""
    threshold, separation = design.rho
    column = (ratio[:, None] * error) ** 2
    luck = 0 if design.fixed else error**2
    apart = np.full((len(ratio), 1), (design.separation * unit) ** 2)
    common = np.hstack([separation * apart, threshold * column + luck])
    own = np.hstack([(1 - separation) * apart, (1 - threshold) * column])
    return np.sqrt(common), np.sqrt(own), np.sqrt(common + own)


def repeat_weight(cells: np.ndarray, design: Design) -> float:
    """Return the power of the likelihood of repeats, as the model's function of this name."""
    repeats = design.repeats
    tables = cells.reshape(repeats, -1, *cells.shape[-2:]).sum(1)
    n, right = tables.sum(-1), np.diagonal(tables, axis1=-2, axis2=-1)
    easy = np.log((right + 0.5) / (n - right + 0.5)).mean(-1)
    typical = (right.mean(0) + 0.5) / (n.mean(0) + 1)
    error = (1 / (n.mean(0) * typical * (1 - typical))).mean() / n.shape[-1]
    prior = 4
    ratio = (prior * design.disagreement + repeats * easy.var() / error) / (prior + repeats - 1)
    return 1 / (repeats * (1 - min(ratio, 0.9) * (1 - 1 / repeats)))


def variance_likelihood(cells: np.ndarray, own: np.ndarray, repeats: int) -> np.ndarray:
    """
    Return the log density of the folds' variance of the numbers predicted, shape (N,).

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    own : ndarray, shape (N, C)
        Spreads of the folds' own thresholds.
    repeats : int

    Returns
    -------
    ndarray, shape (N,)
    """
    tables = cells.reshape(repeats, -1, *cells.shape[-2:])
    folds, classes = tables.shape[1], tables.shape[-1]
    pooled = tables.sum(1)
    rates = pooled / np.maximum(pooled.sum(-1, keepdims=True), 1)
    gap = tables.sum(-2) - np.einsum("rki,rij->rkj", tables.sum(-1), rates)
    variance = (gap**2).sum() / (repeats * (folds - 1))
    every = pooled.sum(0)
    rates = (every + 0.5) / (every.sum(-1, keepdims=True) + classes / 2)
    size = every.sum(-1) / (repeats * folds)
    covariance = np.diag(size @ rates) - np.einsum("i,ij,il->jl", size, rates, rates)
    trace, squares = np.trace(covariance), (covariance**2).sum(0)
    degrees = repeats * (folds - 1) * trace**2 / squares.sum()
    mean = trace + own**2 @ squares
    variance = max(variance, 1e-3 * trace)
    shape, scale = degrees / 2, 2 * mean / degrees
    # Written out: scipy.stats takes longer to load than every exact answer to work out.
    log = special.xlogy(shape - 1, variance) - variance / scale
    return log - special.gammaln(shape) - shape * np.log(scale)


def _shares(totals, design, uniform, size):
    """Return the share of each class: known, the sample's, or unknown as the totals are."""
    if design.shares is not None:
        return design.shares[None]
    if design.fixed:
        return (totals / totals.sum())[None]
    weights = design.prior.sum(-1) + totals
    if len(totals) == 2:
        grid = np.linspace(0.001, 0.999, 200) * (1 - 2e-6) + 1e-6
        positive = np.interp(uniform, grid, betaincinv(weights[1], weights[0], grid))
        return np.stack([1 - positive, positive], -1)
    gammas = np.random.default_rng(2).standard_gamma(weights, (size, len(weights)))
    return gammas / gammas.sum(-1, keepdims=True)


def _level(cells, design, uniform, own):
    """Return log rates near the pooled ones, (N, C, C), and their log density."""
    pooled = cells.sum(0)
    if pooled.shape[0] > 2:
        return _level_of_many(pooled, design, uniform, own, len(cells))
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


def _level_of_many(pooled, design, uniform, own, folds):
    rng = np.random.default_rng(np.frombuffer(uniform[0].tobytes(), np.uint32))
    n = pooled.sum(-1)
    rates = (pooled + design.prior) / (n + design.prior.sum(-1))[:, None]
    information = n * (rates * (1 - rates)).max(-1)
    wider = 1 + (own[:, 1:] ** 2).mean(-1)[:, None] / folds * information
    weights = pooled * (_HEAVIER / wider)[..., None] + design.prior
    gammas = np.maximum(rng.standard_gamma(weights), 1e-250)
    level = np.log(gammas / gammas.sum(-1, keepdims=True))
    norm = special.gammaln(weights.sum(-1)) - special.gammaln(weights).sum(-1)
    return level, norm.sum(-1) + (weights * level).sum((-2, -1))


def variables(cells, design: Design, size: int, rng: np.random.Generator) -> dict:
    """Return draws of the variables of the PyMC model for one cross-validation."""
    pool = nodes(cells, design, rng, 2 ** int(np.ceil(np.log2(max(4 * size, _SIZE)))))
    chosen = rng.choice(len(pool.weights), size, p=pool.weights)
    rates, effects, spread = pool.rates[chosen], pool.effects[chosen], pool.spread[chosen]
    totals = cells.sum((0, 2)) / design.repeats
    error = 1 / np.sqrt(np.maximum(totals, 1))
    unit = np.sqrt(2 * (error**2).mean())
    common, own, _ = _scales(spread / unit, design, error, unit)
    level = log_softmax(moved(rates, common * effects), axis=-1)
    omega = 1.0 if design.repeats == 1 else repeat_weight(cells, design)
    by_fold = np.stack([own_effects(fold * omega, level, own, rng) for fold in cells], 1)
    shares = np.broadcast_to(
        pool.shares[chosen] if len(pool.shares) > 1 else pool.shares, (size, len(totals))
    )
    total = pool.total[chosen]
    theta_new = Nodes(np.ones(size), rates, effects, spread, total, shares).theta_new()
    common[:, 0] = 0  # the luck of the examples is none of the classifiers'
    level = log_softmax(moved(rates, common * effects), axis=-1)
    fold_rates = softmax(moved(level[:, None], own[:, None] * by_fold), axis=-1)
    return {
        "rates": np.exp(rates),
        "spread": spread,
        "separation": effects[:, 0],
        "threshold": effects[:, 1:],
        "separation_fold": by_fold[..., 0],
        "threshold_fold": by_fold[..., 1:],
        "prevalence": shares,
        "theta_fold": shares[:, None, :, None] * fold_rates,
        "theta_new": theta_new,
    }
