"""What the nodes of folds are made of: how the folds came about, and what follows from that."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.special import betaincinv

# As in the model, where they are explained.
CENTRING = 2.0
SEPARATION_OF_SPREAD = 0.04


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
    smaller: float = 1.0  # training sets than all but one fold: by how much u grows
    effect: float = 1.0  # by how much groups of examples vary more than examples: their rates
    totals_effect: float = 1.0  # and their class totals
    halves: np.ndarray | None = None  # counts of disjoint halves, (R, 2, C, C)


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
    centred : ndarray, shape (N, 1 + C)
        The same, less what the posterior of the rates carries already.
    shares : ndarray, shape (N or 1, C)
        Share of each actual class.
    rho : ndarray, shape (N,)
        Share of the variance of the thresholds that the folds have in common.
    """

    weights: np.ndarray
    rates: np.ndarray
    effects: np.ndarray
    spread: np.ndarray
    total: np.ndarray
    centred: np.ndarray
    shares: np.ndarray
    rho: np.ndarray

    def expected(self, kernel: Callable) -> np.ndarray:
        """Return the expected measure over training sets at every node, (N, [C])."""
        return kernel(self.trained(self.centred)).mean(axis=1)

    def trained(self, spreads: np.ndarray) -> np.ndarray:
        """
        Return cell probabilities after training sets of equal weight, (N, T, C, C).

        Each of them moves one effect alone, up or down.
        """
        size = spreads.shape[-1]
        factors = np.exp(np.minimum(np.sqrt(size) * spreads, 300))
        rates = np.repeat(np.exp(self.rates)[:, None], 2 * size, axis=1)
        for part, factor in ((rates[:, :size], factors), (rates[:, size:], 1 / factors)):
            diagonal = np.einsum("nii->ni", part[:, 0])
            diagonal *= factor[:, :1]
            columns = np.einsum("njij->nij", part[:, 1:])
            columns *= factor[:, None, 1:]
        rates *= (self.shares[:, None] / rates.sum(-1))[..., None]
        return rates

    def choose(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return nodes drawn by their weights, evenly (systematic resampling), in random order."""
        points = (np.arange(size) + rng.random()) / size
        chosen = np.searchsorted(np.cumsum(self.weights), points)
        return rng.permutation(np.minimum(chosen, len(self.weights) - 1))


def units(cells, design):
    """Return the error of each class's rate, (C,), and u, of as many examples as groups say."""
    totals = cells.sum((0, 2)) / design.repeats / design.effect
    error = 1 / np.sqrt(np.maximum(totals, 1))
    return error, np.sqrt(2 * np.median(error**2))


def drawn(cells, design):
    """Return the class totals, as many as are drawn independently."""
    return cells.sum((0, 2)) / design.repeats / design.totals_effect


def scales(ratio, design, error, unit, rho=None):
    """Return the spreads of the common, the own and all effects of training, (N, 1 + C) each."""
    threshold, separation = design.rho
    threshold = threshold if rho is None else rho[:, None]
    column = (ratio[:, None] * error) ** 2
    drawn = np.maximum(1 / error**2 * design.effect / design.totals_effect, 1)
    luck = 0 if design.fixed else 1 / drawn
    apart = np.full((len(ratio), 1), (design.separation * design.smaller * unit) ** 2)
    if design.halves is not None:
        apart += SEPARATION_OF_SPREAD * (ratio[:, None] * unit) ** 2
    common = np.hstack([separation * apart, threshold * column + luck])
    own = np.hstack([(1 - separation) * apart, (1 - threshold) * column])
    return np.sqrt(common), np.sqrt(own), np.sqrt(common + own)


def centre(common: np.ndarray, own: np.ndarray, folds: int) -> np.ndarray:
    """Return the spreads of training less what the posterior of the rates carries already."""
    carried = common**2 + own**2 / folds
    return np.sqrt(np.maximum(common**2 + own**2 - CENTRING * carried, 0))


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
    variance, trace, squares, degrees = fold_variance(cells, repeats)
    return log_gamma(variance, trace + own**2 @ squares, degrees)


def fold_variance(cells, repeats):
    """Return the variance of the numbers predicted over folds, and what it is of; as the model."""
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
    return max(variance, 1e-3 * trace), trace, squares, degrees


def log_gamma(variance, mean, degrees):
    """Return the log density of a variance with this mean, a scaled chi-squared."""
    shape, scale = degrees / 2, 2 * mean / degrees
    # Written out: scipy.stats takes longer to load than every exact answer to work out.
    log = special.xlogy(shape - 1, variance) - variance / scale
    return log - special.gammaln(shape) - shape * np.log(scale)


def shares(totals, design, uniform, size):
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
