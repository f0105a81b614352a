"""Checks of a prior: what it predicts, and whether the evidence contradicts it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions import dirichlet
from bayescm.evidence.counts import CELLS, align, as_counts
from bayescm.measures.labelled import measure
from bayescm.priors.power import check_concentration
from bayescm.validate import check_seed, check_whole, fail

_TIE = 1e-9


def predictive(
    concentration: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    n: int,
    draws: int = 10_000,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Draw measures of a test set of n examples from the prior predictive distribution.

    Parameters
    ----------
    concentration : DataArray, dims (actual, predicted)
        As the functions of `bayescm.priors` return it, all cells > 0.
    measures : name, function, or sequence of these
    n : int
        Size of the test set.
    draws : int, default 10,000
    random_seed : int, default 0

    Returns
    -------
    Dataset
        One variable per measure, dims (draw, [class]); NaN where it is undefined.

    Examples
    --------
    >>> from bayescm.priors import elicit
    >>> prior = elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=20)
    >>> f1 = predictive(prior, "f1", n=145, random_seed=1)["f1"]
    >>> f1.quantile([0.025, 0.975]).values.round(2)
    array([0.34, 0.84])
    """
    check_whole("n", n, 1, "examples", 100), check_whole("draws", draws, 1, "draws", 4000)
    prior = check_concentration(concentration)
    if prior.ndim > 2:
        raise fail(
            "only one prior at a time", prior.dims, str(CELLS), "select one: prior.isel(...)"
        )
    if not (prior > 0).all():
        todo = "use priors.jeffreys(counts)"
        raise fail(
            "an improper prior has no predictive distribution", prior.values, "every cell > 0", todo
        )
    cells = _replicates(prior.values, n, draws, np.random.default_rng(check_seed(random_seed)))
    coords = {name: each for name, each in prior.coords.items()}
    return measure(xr.DataArray(cells, coords, ["draw_", *CELLS]), measures).rename(draw_="draw")


def conflict(
    counts: xr.DataArray,
    concentration: Any = None,
    *,
    draws: int = 10_000,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return how surprising the counts are under the prior: the prior-predictive tail probability.

    A small value indicates that prior and evidence disagree. With yesterday's posterior as the
    prior, it tells whether a new batch is compatible with what came before.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Evidence.
    concentration : float, array_like or DataArray, optional
        The prior, all cells > 0; the default prior if omitted.
    draws : int, default 10,000
        Replicated tables of the same size; the standard error is sqrt(p (1 - p) / draws).
    random_seed : int, default 0

    Returns
    -------
    DataArray, dims (..., part)
        Probability under the prior of a table no more probable than the one observed: for the whole
        table (part ``all``), the class totals (``totals``), and the answers to each actual class
        given its total (the labels as text). NaN where a class has no examples.

    References
    ----------
    Evans, M. & Moshonov, H. (2006). Checking for prior-data conflict. Bayesian Analysis, 1(4),
    893-914. doi:10.1214/06-BA129

    Examples
    --------
    >>> import bayescm as bcm
    >>> prior = bcm.priors.elicit(precision=0.9, recall=0.9, accuracy=0.95, weight=200)
    >>> tail = conflict(bcm.from_cells(tp=15, fn=15, fp=5, tn=65), prior)
    >>> bool(tail.sel(part="positive") < 0.001), bool(tail.sel(part="totals") > 0.05)
    (True, True)
    """
    check_whole("draws", draws, 1, "draws", 10_000)
    cells = as_counts(counts)
    prior = align(concentration, counts)
    prior = 2 / cells.sizes["actual"] ** 2 if prior is None else prior
    prior = np.broadcast_to(prior, cells.shape)
    if not (prior > 0).all():
        todo = "use priors.jeffreys(counts)"
        raise fail(
            "an improper prior has no predictive distribution", prior.min(), "every cell > 0", todo
        )
    rng = np.random.default_rng(check_seed(random_seed))
    pairs = ((cells.values[at], prior[at]) for at in np.ndindex(cells.shape[:-2]))
    tails = [_tails(*pair, draws, rng) for pair in pairs]
    parts = ["all", "totals", *map(str, cells["actual"].values)]
    dims = [*cells.dims[:-2], "part"]
    coords = {k: v for k, v in cells.coords.items() if not set(CELLS) & set(v.dims)}
    shape = (*cells.shape[:-2], len(parts))
    return xr.DataArray(np.reshape(tails, shape), {**coords, "part": parts}, dims, name="conflict")


def _tails(cells, prior, draws, rng):
    """Return tail probabilities of the table, its class totals and its rows, (2 + C,)."""
    total = cells.sum()
    if total != np.floor(total):
        todo = "count whole examples"
        raise fail(
            "fractional counts have no predictive distribution", total, "whole numbers", todo
        )
    tables = _replicates(prior, int(total), draws, rng)
    whole = _tail(cells, tables, prior, axes=2)
    totals = _tail(cells.sum(-1), tables.sum(-1), prior.sum(-1), axes=1)
    rows = [_row_tail(*each, draws, rng) for each in zip(cells, prior, strict=True)]
    return [whole, totals, *rows]


def _row_tail(row, prior, draws, rng):
    size = int(row.sum())
    return _tail(row, _replicates(prior, size, draws, rng), prior, axes=1) if size else np.nan


def _replicates(prior, n, draws, rng):
    """Draw tables of n examples each, (draws, *prior.shape)."""
    theta = dirichlet.draw(prior, draws, rng, axes=prior.ndim).reshape(draws, -1)
    return rng.multinomial(n, theta / theta.sum(-1, keepdims=True)).reshape(draws, *prior.shape)


def _tail(observed, tables, prior, axes):
    seen = log_mass(observed, prior, axes)
    return float((log_mass(tables, prior, axes) <= seen + _TIE * (1 + abs(seen))).mean())


def log_mass(cells: np.ndarray, prior: np.ndarray, axes: int) -> np.ndarray:
    """Return the log probability of counts under a prior, Dirichlet-multinomial."""
    return dirichlet.log_marginal(np.asarray(cells, float), cells + prior, axes=axes)
