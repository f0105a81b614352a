"""Dirichlet distributions as arrays of pseudo-counts: draws, densities, marginal likelihood."""

import numpy as np
from scipy import special

from bayescm.measures.measure import ClassTotals
from bayescm.validate import fail

# Shape below which a gamma variate may underflow, so that numpy's Dirichlet returns exact zeros.
_TINY_SHAPE = 0.1
# Gamma variates below this are replaced by the smallest normal number.
_SMALLEST = 1e-300
# Gamma variates below this have a negligible effect on sums of about 1 or more.
_NOTHING = 1e-7
# All gamma variates are drawn if a larger share than this is not almost 0. At this share, both
# methods take about the same time.
_MOST_FEW = 0.75


def default_concentration(classes):
    """Return the default prior pseudo-count of a cell, so that each class gets 2 / C in total."""
    return 2 / classes**2


def pseudo_counts(cells, concentration, *, abstains=False):
    """
    Return prior plus observed counts, (..., C, C), the parameters of the posterior.

    Parameters
    ----------
    cells : array_like, shape (..., C, C)
        Observed counts.
    concentration : float or array_like, optional
        A number or an array (..., C, C). The default is `default_concentration`.
    abstains : bool, default False
        Whether the last label is an abstention. Its row remains 0, because no example has it as its
        actual class. The default concentration does not treat it as a class.

    Raises
    ------
    ValueError
        If a concentration is negative or not finite. A concentration of 0 in a cell without counts
        is allowed. The posterior is then improper, although some measures still have a proper
        distribution; see `check_proper`.
    """
    cells = np.asarray(cells, float)
    if concentration is None:
        concentration = default_concentration(cells.shape[-1] - abstains)
    prior = np.asarray(concentration, float)
    if not ((prior >= 0) & (prior < np.inf)).all():
        raise fail(
            "`concentration` must be finite numbers >= 0",
            concentration,
            "",
            "pass e.g. `concentration=0.5`",
        )
    posterior_concentration = cells + prior
    if abstains:
        posterior_concentration[..., -1, :] = 0
    return posterior_concentration


def check_proper(concentration, labels=None, *, abstains=False):
    """Return the parameters, or raise an error if a 0 makes the posterior improper."""
    empty = concentration[..., : concentration.shape[-1] - abstains, :] == 0
    if empty.any():
        names = range(concentration.shape[-1]) if labels is None else labels
        actual, predicted = (names[index] for index in np.argwhere(empty)[0][-2:])
        raise fail(
            f"The posterior is improper, because the cell actual={actual!r}, "
            f"predicted={predicted!r} is empty and its concentration is 0",
            ...,
            "",
            "pass `concentration=0.5`, or leave it out",
        )
    return concentration


def draw(concentration, size, rng, axes=1):
    """
    Draw from Dirichlet distributions.

    Parameters
    ----------
    concentration : ndarray
        Parameters > 0. The last `axes` axes belong to one Dirichlet distribution.
    size : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.
    axes : {1, 2}
        Number of trailing axes of each Dirichlet distribution.

    Returns
    -------
    ndarray, shape (size, *concentration.shape)
        Strictly positive draws.
    """
    over = tuple(range(-axes, 0))
    if concentration.min() >= _TINY_SHAPE:
        gammas = rng.standard_gamma(concentration, (size, *concentration.shape))
        gammas /= gammas.sum(axis=over, keepdims=True)
        return gammas
    if _share_not_small(concentration.ravel(), _SMALLEST) < _MOST_FEW:
        return _dense(large_gammas(concentration, size, rng), (size, *concentration.shape), over)
    # G(a) = G(a + 1) U**(1/a), in logs.
    logs = np.log(rng.standard_gamma(concentration + 1, (size, *concentration.shape)))
    logs -= rng.standard_exponential(logs.shape) / concentration
    logs -= special.logsumexp(logs, axis=over, keepdims=True)
    return np.maximum(np.exp(logs), np.finfo(float).tiny)


def large_gammas(concentration, size, rng, smallest=_SMALLEST):
    """
    Draw independent gamma variates of scale 1, except those that are almost 0.

    Use this function for tables of many classes, in which most cells have a shape far below 1.
    Nearly all variates of these cells are almost 0. Time and memory are proportional to the number
    of the others.

    Parameters
    ----------
    concentration : ndarray
        Shapes > 0.
    size : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.
    smallest : float
        Approximate threshold below which variates are omitted.

    Returns
    -------
    place : ndarray of int, shape (m,)
        Indices into the flat array of shape (size, concentration.size).
    gammas : ndarray, shape (m,)
        Variates at these indices.

    Notes
    -----
    G(a) = G(a + 1) U**(1/a) is omitted if U**(1/a) <= s, which has probability s**a. The positions
    of the remaining variates are the successes of a Bernoulli process with probability max(1 -
    s**a), thinned to the probability 1 - s**a of each cell. Given that U > s**a, U is uniform on
    (s**a, 1).
    """
    flat = concentration.ravel()
    tiny = flat < _TINY_SHAPE
    usual, rare = np.flatnonzero(~tiny), np.flatnonzero(tiny)
    place = (np.arange(size)[:, None] * flat.size + usual).ravel()
    gammas = rng.standard_gamma(flat[usual], (size, usual.size)).ravel()
    if not rare.size:
        return place, gammas
    probability = _probability_of_large(flat[rare], smallest)
    most = probability.max()
    occurring = _bernoulli_process(most, size * rare.size, rng)
    cell = occurring % rare.size
    if np.ptp(probability):
        kept = rng.random(occurring.size) < probability[cell] / most
        occurring, cell = occurring[kept], cell[kept]
    shape = flat[rare[cell]]
    uniform = 1 - probability[cell] * rng.random(cell.size)
    small = uniform ** (1 / shape) * rng.standard_gamma(shape + 1)
    place_of_small = occurring // rare.size * flat.size + rare[cell]
    return np.concatenate([place, place_of_small]), np.concatenate([gammas, small])


def _share_not_small(shapes, smallest):
    """Return the expected share of gamma variates that `large_gammas` draws."""
    return np.where(shapes < _TINY_SHAPE, _probability_of_large(shapes, smallest), 1.0).mean()


def _probability_of_large(shapes, smallest):
    """Return 1 - s**a, accurate even for the smallest shapes a."""
    return -np.expm1(np.log(smallest) * shapes)


def _bernoulli_process(probability, size, rng):
    """Return the indices of the successes among independent events, from the gaps between them."""
    expected = size * probability
    indices = np.zeros(0, int)
    while not indices.size or indices[-1] < size:
        gaps = rng.geometric(probability, int(expected + 5 * np.sqrt(expected)) + 10)
        last = indices[-1] if indices.size else -1
        # Longer gaps would also end beyond the last event, but their sum might overflow.
        indices = np.concatenate([indices, last + np.cumsum(np.minimum(gaps, size + 1))])
    return indices[: np.searchsorted(indices, size)]


def _dense(drawn, shape, over):
    """Return Dirichlet draws from the gamma variates that are not almost 0."""
    place, gammas = drawn
    draws = np.full(shape, np.finfo(float).tiny)
    draws.reshape(-1)[place] = np.maximum(gammas, np.finfo(float).tiny)
    draws /= draws.sum(axis=over, keepdims=True)
    return np.maximum(draws, np.finfo(float).tiny, out=draws)


def draw_class_totals(concentration, size, rng):
    """
    Draw tp, fn, fp and tn of every class from Dirichlet distributions over whole tables.

    The tables themselves are not built. Time and memory are proportional to the number of classes
    and of cells that are not almost 0.

    Parameters
    ----------
    concentration : ndarray, shape (..., C, C)
        Parameters > 0 of one Dirichlet distribution per table.
    size : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ClassTotals
        Totals with arrays (size, ..., C).
    """
    place, gammas = large_gammas(concentration, size, rng)
    return ClassTotals.from_cells(place, gammas, (size, *concentration.shape))


def draw_sparse(concentration, size, rng):
    """
    Draw from Dirichlet distributions whose parameters are mostly far below 1.

    Parameters
    ----------
    concentration : ndarray, shape (..., K)
        Parameters > 0, whose sum along the last axis is at least 1.
    size : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (size, ..., K)
        Strictly positive draws. Gamma variates below 1e-7 are not drawn.
    """
    return _dense(
        large_gammas(concentration, size, rng, _NOTHING), (size, *concentration.shape), (-1,)
    )


def logpdf(theta, concentration, axes=1):
    """Return the log density of the Dirichlet distribution at theta."""
    over = tuple(range(-axes, 0))
    norm = special.gammaln(concentration.sum(axis=over)) - special.gammaln(concentration).sum(
        axis=over
    )
    return norm + special.xlogy(concentration - 1, theta).sum(axis=over)


def log_marginal(cells, concentration, axes=1):
    """Return the log marginal likelihood of the counts."""
    over = tuple(range(-axes, 0))
    prior = concentration - cells
    ways = special.gammaln(cells.sum(axis=over) + 1) - special.gammaln(cells + 1).sum(axis=over)
    norm = special.gammaln(prior.sum(axis=over)) - special.gammaln(concentration.sum(axis=over))
    return ways + norm + (special.gammaln(concentration) - special.gammaln(prior)).sum(axis=over)
