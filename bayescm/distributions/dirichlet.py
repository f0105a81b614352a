"""Dirichlet distributions as arrays of pseudo-counts: drawing, densities, marginal likelihood."""

import numpy as np
from scipy import special

from bayescm.validate import fail

# Below this a gamma variate may underflow, and numpy's Dirichlet then returns exact zeros.
_TINY_SHAPE = 0.1
_NOTHING = 1e-7


def default_concentration(classes):
    """Return the default prior pseudo-counts of a cell: each class has 2 / C to spread."""
    return 2 / classes**2


def pseudo_counts(cells, concentration, *, abstains=False):
    """
    Return prior plus observed counts, (..., C, C), the parameters of the posterior.

    Parameters
    ----------
    cells : array_like, shape (..., C, C)
    concentration : float or array_like, optional
        One number or (..., C, C); by default `default_concentration`.
    abstains : bool, default False
        Whether the last label is an abstention. Its row, which nothing is, stays 0, and it does not
        count as a class in the default concentration.

    Raises
    ------
    ValueError
        If a concentration is negative. Where one is 0 in a cell without counts the posterior is
        improper, though that of some measures is not: see `check_proper`.
    """
    cells = np.asarray(cells, float)
    if concentration is None:
        concentration = default_concentration(cells.shape[-1] - abstains)
    prior = np.asarray(concentration, float)
    if not ((prior >= 0) & (prior < np.inf)).all():
        raise fail(
            "concentration must not be negative",
            concentration,
            "finite numbers >= 0",
            "pass e.g. concentration=0.5",
        )
    weights = cells + prior
    if abstains:
        weights[..., -1, :] = 0
    return weights


def check_proper(weights, labels=None, *, abstains=False):
    """Return the parameters, or raise where one is 0: the posterior is improper then."""
    empty = weights[..., : weights.shape[-1] - abstains, :] == 0
    if empty.any():
        names = range(weights.shape[-1]) if labels is None else labels
        actual, predicted = (names[index] for index in np.argwhere(empty)[0][-2:])
        raise fail(
            f"the posterior is improper: cell actual={actual!r}, predicted={predicted!r} is empty",
            ...,
            "concentration > 0 in every empty cell",
            "pass concentration=0.5, or leave it out",
        )
    return weights


def draw(weights, size, rng, axes=1):
    """
    Draw from Dirichlet distributions.

    Parameters
    ----------
    weights : ndarray
        Parameters > 0; the last `axes` axes sum to 1 together.
    size : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.
    axes : {1, 2}
        Number of trailing axes that one Dirichlet distribution runs over.

    Returns
    -------
    ndarray, shape (size, *weights.shape)
        Strictly positive.
    """
    over = tuple(range(-axes, 0))
    if weights.min() >= _TINY_SHAPE:
        gammas = rng.standard_gamma(weights, (size, *weights.shape))
        gammas /= gammas.sum(axis=over, keepdims=True)
        return gammas
    # G(a) = G(a + 1) U**(1/a), in logs.
    logs = np.log(rng.standard_gamma(weights + 1, (size, *weights.shape)))
    logs -= rng.standard_exponential(logs.shape) / weights
    logs -= special.logsumexp(logs, axis=over, keepdims=True)
    return np.maximum(np.exp(logs), np.finfo(float).tiny)


def draw_sparse(weights, size, rng):
    """
    Draw from Dirichlet distributions most of whose parameters are far below 1.

    Parameters
    ----------
    weights : ndarray, shape (..., K)
        Parameters > 0, which sum to 1 or more along the last axis.
    size : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (size, ..., K)
        Strictly positive. Gamma variates below 1e-7 are as good as nothing, and not drawn; nor are
        they denormal numbers, with which processors take ten times as long.
    """
    flat = weights.ravel()
    large = np.flatnonzero(flat >= _TINY_SHAPE)
    # G(a) = G(a + 1) U**(1/a), and of most of them nothing is left; nor are 24 bits too few for it.
    most = (_NOTHING**flat).astype(np.float32)
    most[large] = 1
    uniform = rng.random((size, len(flat)), np.float32)
    some, gammas = np.flatnonzero(uniform > most), np.full((size, len(flat)), _NOTHING**2)
    faint = flat[flat < _TINY_SHAPE]
    alike = faint.size and (faint == faint[0]).all()
    shape = faint[0] if alike else flat[some % len(flat)].astype(np.float32)
    left = uniform.ravel()[some] ** np.float32(1 / shape)
    gammas.ravel()[some] = left * rng.standard_gamma(shape + 1, len(some), np.float32)
    gammas[:, large] = rng.standard_gamma(flat[large], (size, len(large)))
    gammas = gammas.reshape(size, *weights.shape)
    gammas /= gammas.sum(axis=-1, keepdims=True)
    return gammas


def logpdf(theta, weights, axes=1):
    """Return the log density of the Dirichlet distribution at theta."""
    over = tuple(range(-axes, 0))
    norm = special.gammaln(weights.sum(axis=over)) - special.gammaln(weights).sum(axis=over)
    return norm + special.xlogy(weights - 1, theta).sum(axis=over)


def log_marginal(cells, weights, axes=1):
    """Return the log probability of the counts, their Dirichlet parameters integrated out."""
    over = tuple(range(-axes, 0))
    prior = weights - cells
    ways = special.gammaln(cells.sum(axis=over) + 1) - special.gammaln(cells + 1).sum(axis=over)
    norm = special.gammaln(prior.sum(axis=over)) - special.gammaln(weights.sum(axis=over))
    return ways + norm + (special.gammaln(weights) - special.gammaln(prior)).sum(axis=over)
