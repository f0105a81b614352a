"""Compatibility of a batch with earlier ones: posterior-predictive tail probabilities."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayescm.distributions import dirichlet
from bayescm.distributions.beta import F1, Beta
from bayescm.evidence.counts import as_counts
from bayescm.measures.labelled import apply, one_measure
from bayescm.online.discounting import accumulate, check_single_series
from bayescm.online.updating import prior_cells
from bayescm.posteriors.base import Posterior, as_labelled_counts
from bayescm.posteriors.dirichlet_multinomial import DirichletMultinomial
from bayescm.posteriors.summed_item_scores import SummedItems
from bayescm.validate import fail

_DRAWS = 10_000
_ROOM = 2_000_000  # largest number of elements in a temporary array
_TERMS = 20_000  # largest number of trials for which summation is faster
_TIE = 1e-12
# Alarms need only tails below a level. A measure within `_NEAR` standard deviations of its mean has
# no tail below `_RARE`.
_NEAR = 2.0
_RARE = 1e-4
_CANCELS = 1e-8  # tails below this are summed, because 1 minus the other tail loses precision
_EXPECTED = 5  # minimum expected count of every cell for the normal approximation
_STEP = 1e-3  # step of the finite differences, in standard errors of a proportion
# Without a known distribution, draws are added until enough of them are as extreme as the batch.
_FIRST = 200  # number of draws at the start
_ENOUGH = 10  # sufficient number of draws that are as extreme as the batch
_FEW = 3  # sufficient number of such draws, if the tail is far above the level
_MOST = 1_000_000  # largest number of draws


def surprise(
    counts: xr.DataArray,
    measure: str | Callable,
    *,
    concentration: Any = None,
    forgetting: float = 1.0,
    window: int | None = None,
) -> xr.DataArray:
    """
    Return the predictive tail probability of each batch given earlier batches.

    A small probability means that a batch is incompatible with the earlier batches.

    Parameters
    ----------
    counts : DataArray
        The batches, in time order along a dimension ``step``.
    measure : str or callable
        Measure to check.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts.
    forgetting, window
        Discounting of earlier batches; see `accumulate`.

    Returns
    -------
    DataArray, dims (step, [class])
        Two-sided posterior-predictive tail probability: twice the smaller tail, at most 1. For the
        first batch, the prior-predictive distribution is used. NaN if the measure is undefined in
        the batch.

    Notes
    -----
    For precision, recall, specificity, npv, accuracy, F1 and similar measures, the predictive
    distribution is beta-binomial, given the number of examples that enter the measure. For other
    measures, tables of the same size as the batch are simulated.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[90, 88, 91, 70], fn=[10, 12, 9, 30], fp=20, tn=80)
    >>> surprise(weeks.rename(batch="step"), "recall").values.round(3)
    array([0.424, 0.733, 0.701, 0.   ])
    """
    counts = as_counts(counts)
    check_single_series(counts)
    resolved = one_measure(measure, counts)
    prior = prior_cells(concentration, counts)
    past = accumulate(counts, forgetting=forgetting, window=window)
    before = forgetting * past.shift(step=1, fill_value=0).values + prior
    tails = _tails(resolved, counts.values, before)
    values = np.minimum(1.0, 2 * np.minimum(*tails))
    return apply(resolved, counts).copy(data=values)


def unlikely(measure: Any, cells: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """
    Return the two-sided tail probability of batches if it may be below a level, else 1.

    Parameters
    ----------
    measure : Measure
        Measure to check.
    cells : ndarray, shape (T, C, C)
        The batches.
    weights : ndarray, shape (T, C, C)
        Pseudo-counts before each batch.
    level : float
        Tail probability of interest.

    Returns
    -------
    ndarray, shape (T, ...)
        Tail probabilities. If they are simulated, they are never below 1e-6.
    """
    distribution = _distribution(measure, weights)
    if not isinstance(distribution, Beta | F1):
        return _unlikely_by_draws(measure, cells, weights, level)
    hits, size = _hits_and_trials(measure, cells, weights, distribution)
    hits, size, a, b = np.broadcast_arrays(hits, size, distribution.a, distribution.b)
    total, result = a + b, np.ones(hits.shape)
    variance = size * (a / total) * (b / total) * (total + size) / (total + 1)
    far = (hits - size * a / total) ** 2 >= (_NEAR**2 * variance if level < _RARE else -1)
    if (far := far & (size > 0)).any():
        _check_whole_numbers(cells)
        k, n, a, b = hits[far], size[far], a[far], b[far]
        low = beta_binomial_cdf(k, n, a, b)
        high = 1 - beta_binomial_cdf(k - 1, n, a, b)
        high = np.where(high < _CANCELS, beta_binomial_cdf(n - k, n, b, a), high)
        result[far] = np.minimum(1.0, 2 * np.minimum(low, high))
    return result


def _unlikely_by_draws(measure, cells, weights, level):
    """Return simulated tail probabilities, with more draws if a batch may be unlikely."""
    result, far = np.ones(np.shape(measure(cells))), 15 * level  # twice this for both tails
    is_asked = np.ones(len(cells), bool)
    if level < _RARE and measure.canonical and np.isfinite(measure.range).all():
        is_asked = ~_is_near(measure, cells, weights)
    for index in np.flatnonzero(is_asked):
        table, prior = cells[index, None], weights[index, None]
        rng, hits, size, draws = np.random.default_rng(0), np.zeros(result.shape[1:]), 0, _FIRST
        while size < _MOST and np.min(hits) < (_FEW if np.min(hits) > far * size else _ENOUGH):
            more = np.minimum(*_tails_by_draws(measure, table, prior, draws, rng))[0]
            hits, size = hits + draws * more, size + draws
            draws = min(size, _DRAWS)
        result[index] = np.minimum(1.0, 2 * (hits + 1) / (size + 1))
    return np.nan_to_num(result, nan=1.0)


def _is_near(measure, cells, weights):
    r"""
    Return which batches are so close to their mean that no tail is below `_RARE`.

    The delta method is used. Given pseudo-counts with mean p and total A, the proportions of the
    cells in a batch of n examples have the covariance (diag(p) - p p') (A + n) / (n (A + 1)). The
    variance of the measure follows from its gradient. The test applies only to measures with a
    finite range, and if every cell is expected at least `_EXPECTED` times. Under these conditions,
    the smallest tail among 1,670 batches of eight measures was 0.0007.
    """
    size, total = cells.sum((-2, -1)), weights.sum((-2, -1))
    shares = weights / total[:, None, None]
    expected = shares * size[:, None, None]
    steps = _STEP * np.sqrt(shares / np.maximum(size, 1)[:, None, None])
    mean, variance, sum_of_slopes = measure(shares), 0.0, 0.0
    across = [slice(None)] + [None] * (np.ndim(mean) - 1)  # for a measure with one value per class
    for cell in np.ndindex(shares.shape[1:]):
        moved = shares.copy()
        moved[:, *cell] += steps[:, *cell]
        slope = (measure(moved) - mean) / steps[:, *cell][*across]
        variance = variance + shares[:, *cell][*across] * slope**2
        sum_of_slopes = sum_of_slopes + shares[:, *cell][*across] * slope
    factor = (total + size) / (np.maximum(size, 1) * (total + 1))
    variance = (variance - sum_of_slopes**2) * factor[*across]
    near = (measure(cells) - mean) ** 2 < _NEAR**2 * variance
    return near.reshape(len(cells), -1).all(1) & (expected >= _EXPECTED).all((-2, -1))


def unlikely_batches(
    measure: Any, before: Posterior, batches: Posterior, level: float
) -> np.ndarray:
    """
    Return the two-sided predictive tail probability of batches, (T, ...).

    Parameters
    ----------
    measure : Measure
        Measure to check.
    before, batches : Posterior
        Posteriors of the current evidence before each batch, and of each single batch.
    level : float
        Tail probability of interest. For counts, tails that cannot be this small are returned as 1;
        see `unlikely`.
    """
    if isinstance(before, SummedItems) and isinstance(batches, SummedItems):
        return unlikely_sums(measure, before, batches)
    weights = before.concentration  # type: ignore[attr-defined]
    return unlikely(measure, batches.counts.values, weights, level)


def unlikely_sums(measure: Any, before: SummedItems, batches: SummedItems) -> np.ndarray:
    """
    Return the two-sided predictive tail probability of batches of items or examples, (T,).

    Parameters
    ----------
    measure : Measure
        A mean, a proportion of items, or a ratio.
    before, batches : SummedItems
        Posteriors of the current evidence before each batch, and of each single batch.
    """
    n, value = batches.batch.values, batches.point(measure)
    if (parameters := before.rate_of_next(measure)) is not None:
        a, b = parameters
        hits = np.rint(value * n)
        low, high = beta_binomial_cdf(hits, n, a, b), beta_binomial_cdf(n - hits, n, b, a)
    else:
        predictive = before.value_of_next(measure, n)
        # The moments ignore the probability that all items of a batch are at one end of the scale.
        atoms = before.atoms_of_next(measure, n)
        low, high = predictive.cdf(value) + atoms[0], predictive.sf(value) + atoms[1]
    tails = np.minimum(1.0, 2 * np.minimum(low, high))
    return np.where(np.isnan(value), 1.0, tails)  # no example of the batch enters the measure


def _check_whole_numbers(cells):
    if (cells != np.floor(cells)).any():
        todo = "count whole examples"
        raise fail("Fractional counts have no predictive distribution", ..., "", todo)


def _tails(measure, cells, weights):
    """Return the predictive probabilities of values at most and at least the observed one."""
    distribution = _distribution(measure, weights)
    if not isinstance(distribution, Beta | F1):
        return _tails_by_draws(measure, cells, weights, _DRAWS, np.random.default_rng(0))
    _check_whole_numbers(cells)
    hits, size = _hits_and_trials(measure, cells, weights, distribution)
    low = beta_binomial_cdf(hits, size, distribution.a, distribution.b)
    high = 1 - beta_binomial_cdf(hits - 1, size, distribution.a, distribution.b)
    return np.where(size > 0, low, np.nan), np.where(size > 0, high, np.nan)


def _hits_and_trials(measure, cells, weights, distribution):
    """Return the hits and trials in tables, from the increases of the parameters."""
    after = _distribution(measure, weights + cells)
    hits, misses = np.rint(after.a - distribution.a), np.rint(after.b - distribution.b)
    return np.broadcast_arrays(hits, hits + misses)


def _distribution(measure, weights):
    """Return the distribution of a measure at Dirichlet parameters (..., C, C), or None."""
    return DirichletMultinomial(_labels(weights.shape[-1]), weights).distribution(measure)


@cache
def _labels(size):
    """Return zero counts, cached so that their labels are validated only once."""
    return as_labelled_counts(np.zeros((1, size, size)))


def _tails_by_draws(measure, cells, weights, draws, rng):
    tails = []
    for table, prior in zip(cells, weights, strict=True):
        flat = dirichlet.draw(prior, draws, rng, axes=2).reshape(draws, -1)
        size = int(table.sum())
        drawn = rng.multinomial(size, flat / flat.sum(-1, keepdims=True))
        values, observed = measure(drawn.reshape(draws, *prior.shape)), measure(table)
        defined = np.maximum((~np.isnan(values)).sum(axis=0), 1)
        beyond = np.stack([values <= observed + _TIE, values >= observed - _TIE])
        tails.append(np.where(np.isnan(observed), np.nan, beyond.sum(axis=1) / defined))
    return np.moveaxis(np.array(tails), 1, 0)


def beta_binomial_cdf(k: np.ndarray, n: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """
    Return the probability of at most k hits in n trials if the rate is Beta(a, b).

    All arrays must be broadcastable.

    Examples
    --------
    >>> beta_binomial_cdf(np.array([7.0]), np.array([10.0]), np.array([8.0]), np.array([2.0]))
    array([0.33281734])
    """
    shape = np.shape(k)
    k, n, a, b = (np.ravel(values).astype(float) for values in np.broadcast_arrays(k, n, a, b))
    result, few = np.empty(k.shape), n <= _TERMS
    for index, form in ((few, _summed), (~few, _averaged)):
        if index.any():
            result[index] = form(k[index], n[index], a[index], b[index])
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, result)).reshape(shape)


def _summed(k, n, a, b):
    """Return the cdf as the sum of the probabilities of 0 to k hits, whose ratios are rational."""
    result, order, start = np.empty(k.shape), np.argsort(-n), 0
    while start < len(order):
        longest = int(n[order[start]])
        rows = order[start : start + 1 + _ROOM // (longest + 1)]
        start += len(rows)
        hits, misses = np.arange(longest), n[rows, None] - np.arange(longest)
        more = np.maximum(misses, 0) * (a[rows, None] + hits)
        fewer = (hits + 1) * (b[rows, None] + np.maximum(misses, 1) - 1)
        with np.errstate(divide="ignore"):  # more hits than trials have probability 0
            logs = np.log(more / fewer).cumsum(axis=1)
        peak = np.maximum(logs.max(axis=1, initial=0.0), 0.0)
        masses = np.exp(np.column_stack([np.zeros(len(rows)), logs]) - peak[:, None])
        reached = np.arange(longest + 1) <= k[rows, None]
        result[rows] = (masses * reached).sum(axis=1) / masses.sum(axis=1)
    return result


def _averaged(k, n, a, b):
    """Return the cdf as the mean binomial cdf over the rate, by quadrature on a normal scale."""
    # Width of the binomial distribution on the scale of normal scores of the rate.
    width = np.sqrt((a + b + 1) / n)
    halvings = np.clip(np.ceil(np.log2(0.25 / width)), 0, 14).astype(int)
    result = np.empty(k.shape)
    for halving in np.unique(halvings):
        z = np.arange(-8.5, 8.5, 0.125 / 2**halving)
        weights = np.exp(-(z**2) / 2)
        weights, rates = weights / weights.sum(), special.ndtr(z)
        index = np.flatnonzero(halvings == halving)
        for rows in np.array_split(index, 1 + len(index) * len(z) // _ROOM):
            p = special.betaincinv(a[rows, None], b[rows, None], rates)
            inside = np.clip(k[rows], 0, n[rows] - 1)[:, None]
            result[rows] = special.betaincc(inside + 1, n[rows, None] - inside, p) @ weights
    return result
