"""Weighted nodes of the posterior of folds, and how the folds' own effects are integrated out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import betaincinv, log_softmax, ndtr, ndtri, softmax, stdtrit

_SIZE = 2048
_CLASSES_SIZE = 6000
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


def moved(rates: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return log rates (..., C, C) after effects (..., 1 + C), up to a constant in each row."""
    diagonal = effects[..., :1, None] * np.eye(rates.shape[-1])
    return rates + effects[..., None, 1:] + diagonal


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
    uniform = _lattice(size, rng) if classes == 2 else _independent(size, classes, rng)
    totals = cells.sum((0, 2)) / design.repeats
    error = 1 / np.sqrt(np.maximum(totals, 1))
    unit = np.sqrt(2 * (error**2).mean())
    omega = 1.0 if design.repeats == 1 else repeat_weight(cells, design)

    spread = design.spread * unit * stdtrit(4, 0.5 + 0.5 * uniform[:, 0])
    effects = ndtri(uniform[:, 1 : classes + 2])
    common, own, total = _scales(spread / unit, design, error, unit)
    level, log_density = _level(cells * omega, design, uniform, own)
    log_weights = fold_likelihood(cells, level, own, omega) - log_density
    rates = log_softmax(moved(level, -common * effects), axis=-1)
    log_weights += (design.prior * rates).sum((-2, -1))
    weights = np.exp(log_weights - log_weights.max())
    shares = _shares(totals, design, uniform[:, -1], size)
    return Nodes(weights / weights.sum(), rates, effects, spread, total, shares)


def _lattice(size, rng):
    shift = 0.5 if rng is None else rng.random(len(_GENERATOR))
    points = np.arange(size)[:, None] * _GENERATOR % size / size + shift / size
    return np.clip((points + (0 if rng is None else shift)) % 1, 1e-9, 1 - 1e-9)


def _independent(size, classes, rng):
    rng = np.random.default_rng(1) if rng is None else rng
    return rng.random((size, classes + 3))


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
    n = np.maximum(tables.sum(-1), 1)
    rate = np.diagonal(tables, axis1=-2, axis2=-1) / n
    typical = (rate.mean(0) * n.mean(0) + 0.5) / (n.mean(0) + 1)
    squares = n.mean(0) * (rate.var(0) * repeats) / (typical * (1 - typical))
    prior, degrees = 4, (repeats - 1) * rate.shape[-1]
    ratio = (prior * design.disagreement + squares.sum()) / (prior + degrees)
    return 1 / (repeats * (1 - min(ratio, 0.9) * (1 - 1 / repeats)))


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
        return _level_of_many(_HEAVIER * pooled + design.prior, uniform)
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


def _level_of_many(weights, uniform):
    rng = np.random.default_rng(np.frombuffer(uniform[0].tobytes(), np.uint32))
    gammas = np.maximum(rng.standard_gamma(weights, (len(uniform), *weights.shape)), 1e-250)
    level = np.log(gammas / gammas.sum(-1, keepdims=True))
    return level, (weights * level).sum((-2, -1))


def fold_likelihood(cells, level, own, omega):
    """
    Return the log likelihood of all folds, each fold's own effects integrated out.

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    level : ndarray, shape (N, C, C)
        Log rates.
    own : ndarray, shape (N, 1 + C)
        Standard deviations of the own effects.
    omega : float
        Power of the likelihood.

    Returns
    -------
    ndarray, shape (N,)
        Up to a constant.
    """
    folds, times = np.unique(cells, axis=0, return_counts=True)
    by_fold = _two_classes if cells.shape[-1] == 2 else _many_classes
    return times @ by_fold(folds * omega, level, own)


def _two_classes(folds, level, own):
    """Integrate by Gauss-Hermite quadrature over threshold and separation, (M, N)."""
    t, a, log_weights = _hermite(*((15, 3) if len(folds) < 8 else (9, 2)))
    threshold = np.hypot(own[:, 1], own[:, 2])[:, None] * t
    separation = own[:, :1] * a
    logit = (level[:, :, 1] - level[:, :, 0])[..., None]
    well, sick = logit[:, 0] + threshold - separation, logit[:, 1] + threshold + separation
    parts = np.stack([well, -np.logaddexp(0, well), sick, -np.logaddexp(0, sick)])
    counts = np.stack(
        [folds[:, 0, 1], folds[:, 0].sum(-1), folds[:, 1, 1], folds[:, 1].sum(-1)], -1
    )
    logs = (counts @ parts.reshape(4, -1)).reshape(len(folds), *well.shape) + log_weights
    top = logs.max(-1)
    return top + np.log(np.exp(logs - top[..., None]).sum(-1))


@cache
def _hermite(first, second):
    t, w = np.polynomial.hermite_e.hermegauss(first)
    a, v = np.polynomial.hermite_e.hermegauss(second)
    log_weights = np.log(w / w.sum())[:, None] + np.log(v / v.sum())
    return np.repeat(t, second), np.tile(a, first), log_weights.ravel()


def _many_classes(folds, level, own):
    """Integrate the second-order expansion of the log likelihood in the effects, (M, N)."""
    probability = np.exp(level)
    gradient, curvature = _expansion(folds, probability)
    scaled = curvature * own[:, :, None] * own[:, None, :] + np.eye(own.shape[-1])
    tilt = (gradient * own)[..., None]
    gain = (tilt * np.linalg.solve(scaled, tilt)).sum((-2, -1))
    plain = np.tensordot(folds, level, axes=([1, 2], [1, 2]))
    return plain + gain / 2 - np.linalg.slogdet(scaled)[1] / 2


def _expansion(folds, probability):
    """Return gradient (M, N, 1 + C) and curvature (M, N, 1 + C, 1 + C) in the effects."""
    n = folds.sum(-1)
    right = np.diagonal(probability, axis1=-2, axis2=-1)
    hits = np.diagonal(folds, axis1=-2, axis2=-1)
    diagonal = hits.sum(-1)[:, None] - n @ right.T
    columns = folds.sum(1)[:, None] - np.einsum("mi,nij->mnj", n, probability)
    gradient = np.concatenate([diagonal[..., None], columns], -1)
    size = gradient.shape[-1]
    curvature = np.empty((*gradient.shape, size))
    curvature[..., 0, 0] = n @ (right * (1 - right)).T
    mixed = n[:, None] * right - np.einsum("mi,ni,nij->mnj", n, right, probability)
    curvature[..., 0, 1:] = curvature[..., 1:, 0] = mixed
    outer = np.einsum("mi,nij,nil->mnjl", n, probability, probability)
    expected = np.einsum("mi,nij->mnj", n, probability)
    curvature[..., 1:, 1:] = expected[..., None] * np.eye(size - 1) - outer
    return gradient, curvature


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
    by_fold = np.stack([_own_effects(fold * omega, level, own, rng) for fold in cells], 1)
    shares = np.broadcast_to(
        pool.shares[chosen] if len(pool.shares) > 1 else pool.shares, (size, len(totals))
    )
    theta_new = Nodes(np.ones(size), rates, effects, spread, pool.total[chosen], shares).theta_new()
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


def _own_effects(fold, level, own, rng, tries=100):
    """Draw a fold's own effects given all else: draws of the prior, chosen by likelihood."""
    effects = rng.standard_normal((len(level), tries, own.shape[-1]))
    rates = log_softmax(moved(level[:, None], own[:, None] * effects), axis=-1)
    logs = (fold * rates).sum((-2, -1))
    # The largest of Gumbel-perturbed logs is a draw in proportion to the likelihoods.
    chosen = (logs + rng.gumbel(size=logs.shape)).argmax(-1)
    return np.take_along_axis(effects, chosen[:, None, None], 1)[:, 0]
