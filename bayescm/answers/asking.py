"""
From evidence and the name of a measure to its posterior distribution, with the dims of the answer.

The exact sibling of the model is asked for the distribution of the measure, and where it has none
for draws. Neither PyMC nor a plotting library is loaded.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.discrete import Empirical
from bayescm.distributions.drawn import Drawn
from bayescm.evidence.counts import CELLS, as_counts, default_model
from bayescm.measures.labelled import kernels, measure, no_fitted
from bayescm.posterior.route import aligned
from bayescm.validate import check_choice, check_keywords, fail, suggest

DRAWS = 20_000
_OF_FITTED = 4_000  # every draw has effects of its own in every fold
_SMALL = 2**22  # numbers of all draws that may be in memory at once
Wanted = str | Callable | Sequence[str | Callable]


def distributions_of(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: Wanted,
    *,
    model: str | None = None,
    of: str = "parameter",
    n: int | None = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> list[tuple[Any, xr.DataArray]]:
    """
    Return the distributions of measures, and the dims and coords of their batch.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit.
    measures : name, function, or sequence of these
    model : str, optional
        Name of a model with an exact sibling; by default the one that fits the evidence.
    of : {"parameter", "predictive", "fitted"}
        The measure itself, or that of the next test set. The parameter of `hierarchical_folds` is
        the expected measure over training sets of that size; ``"fitted"`` is the mean measure of
        the classifiers at hand, those that the folds have tested.
    n : int, optional
        Size of the next test set; by default the observed total.
    draws : int, optional
        How many draws of each matrix, for every measure. By default the exact distribution where
        there is one, and 20,000 draws where not.
    random_seed : int
        Seed of the draws.
    **keywords
        The model's own.

    Returns
    -------
    list of tuples
        The distribution, as described in `bayescm.distributions.beta`, and a DataArray of NaN with
        the dims, the coords and the name of the answer.

    Raises
    ------
    ValueError, TypeError
        Where the evidence, the model, a measure or a keyword of the model is not one.
    """
    check_choice("of", of, ["parameter", "predictive", "fitted"])
    if isinstance(evidence, xr.DataTree):
        return _distributions_of_tree(evidence, measures, of)
    counts = counts_of(evidence)
    found = kernels(measures, counts)
    posterior, used = sibling_posterior(evidence, counts, model, keywords)
    if of == "predictive":
        distributions = _predictive(
            posterior, found, _test_size(counts, n, used), draws, random_seed
        )
    elif of == "fitted":
        distributions = _fitted(posterior, found, draws, random_seed)
    else:
        distributions = _parameter(posterior, found, _number(draws), random_seed)
    return [
        (distribution, template_of(counts, each, used))
        for distribution, each in zip(distributions, found, strict=True)
    ]


def distribution_of(
    evidence: Any, measure: str | Callable, **keywords: Any
) -> tuple[Any, xr.DataArray]:
    """Return the distribution of one measure and its labels; see `distributions_of`."""
    (found,) = distributions_of(evidence, measure, **keywords)
    return found


def sibling_posterior(evidence, counts, model, keywords):
    """Return the exact posterior and the leading dims that the model uses up."""
    from bayescm import direct
    from bayescm.evidence.folds import MODELS, sibling_input

    name = default_model(counts) if model is None else model
    if not isinstance(name, str) or name not in direct.__all__:
        known = ", ".join(direct.__all__)
        todo = f"{suggest(name, direct.__all__)}; other models go through fit"
        raise fail("no exact answers from this model", name, known, todo)
    function = getattr(direct, name)
    check_keywords(function, keywords)
    keywords = aligned(evidence, counts, function, keywords)
    used: tuple[str, ...] = ("repeat", "fold") if name in MODELS else ()
    used = ("group",) if name == "hierarchical_groups" else used
    cells, keywords = sibling_input(function, counts, keywords)
    if not used:
        _check_proper(counts, keywords.get("concentration"))
    return function(cells, **keywords), used


def _check_proper(counts, concentration):
    """Raise, with the labels of the cell, where an empty cell has no prior either."""
    if concentration is None or np.all(concentration):
        return
    empty = np.argwhere(counts.values + concentration == 0)
    if len(empty):
        actual, predicted = (counts.indexes[CELLS[0]][index] for index in empty[0][-2:])
        raise fail(
            f"the posterior is improper: cell actual={actual!r}, predicted={predicted!r} is empty",
            "no count and concentration 0",
            "concentration > 0 in every empty cell",
            "pass concentration=0.5, or leave it out",
        )


def counts_of(evidence: xr.DataArray | xr.Dataset) -> xr.DataArray:
    """Return canonical counts; of outcomes, those of each classifier."""
    if isinstance(evidence, xr.Dataset) and "outcome" in evidence.dims:
        from bayescm.evidence.outcomes import counts_of

        return counts_of(evidence)
    return as_counts(evidence)  # type: ignore[arg-type]


def template_of(counts: xr.DataArray, kernel: Callable, used: Sequence[str] = ()) -> xr.DataArray:
    """Return NaN with the dims, coords and name of a measure of these counts."""
    dims = [dim for dim in counts.dims if dim not in (*CELLS, *used)]
    coords = {k: v for k, v in counts.coords.items() if set(v.dims) <= set(dims)}
    shape = [counts.sizes[dim] for dim in dims]
    labels = counts.indexes["actual"]
    if np.ndim(kernel(np.ones((len(labels),) * 2))):
        dims, shape = [*dims, "class"], [*shape, len(labels)]
        coords["class"] = labels.values
    return xr.DataArray(np.full(shape, np.nan), dims=dims, coords=coords, name=kernel.__name__)


def _number(draws):
    if draws is None or (isinstance(draws, (int, np.integer)) and draws >= 2):
        return draws
    raise fail("draws is not a number of draws", draws, "2, 3, ...", "pass draws=20000")


def _parameter(posterior, found, draws, seed):
    """Return exact distributions where there are any, and the same draws for all the others."""
    distributions = [posterior.distribution(kernel) if draws is None else None for kernel in found]
    size = DRAWS if draws is None else draws
    missing = [
        kernel
        for kernel, distribution in zip(found, distributions, strict=True)
        if distribution is None
    ]
    if missing and _many(posterior, size) and posterior.weights.ndim > 2:
        drawn: list[Any] = [Drawn(posterior, kernel, size, seed) for kernel in missing]
    elif missing:
        values = _in_parts(posterior, missing, size, np.random.default_rng(seed))
        drawn = [Empirical(each) for each in values]
    else:
        drawn = []
    rest = iter(drawn)
    return [next(rest) if distribution is None else distribution for distribution in distributions]


def _many(posterior, size):
    return hasattr(posterior, "take") and posterior.weights.size * size > _SMALL


def _in_parts(posterior, found, size, rng):
    """Return draws of measures; of one large matrix a few at a time, to spare memory."""
    if not _many(posterior, size):
        return posterior.measure(found, size, rng)
    part = max(1, _SMALL // posterior.weights.size)
    sizes = np.diff([*range(0, size, part), size])
    parts = [posterior.measure(found, each, rng) for each in sizes]
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def _fitted(posterior, found, draws, seed):
    """Return distributions of the mean measure of the classifiers at hand."""
    if not hasattr(posterior, "fitted"):
        raise no_fitted(type(posterior).__name__)
    size = _OF_FITTED if draws is None else _number(draws)
    return [Empirical(each) for each in posterior.fitted(found, size, np.random.default_rng(seed))]


def _predictive(posterior, found, size, draws, seed):
    from bayescm.direct.predictive import predictive_distribution

    number = DRAWS if draws is None else _number(draws)
    rngs = [np.random.default_rng(seed) for _ in found]
    return [
        predictive_distribution(posterior, kernel, size, number, rng)
        for kernel, rng in zip(found, rngs, strict=True)
    ]


def _distributions_of_tree(tree, measures, of):
    found = []
    for values in measure(tree, measures, of=of).values():
        drawn = values.transpose("chain", "draw", ...)
        template = drawn.isel(chain=0, draw=0, drop=True)
        flat = drawn.values.reshape(-1, *template.shape)
        found.append((Empirical(flat, chains=drawn.sizes["chain"]), template))
    return found


def _test_size(counts, n, used):
    if n is None:
        totals = counts.sum(CELLS).sum([dim for dim in used if dim in counts.dims])
        return totals.values
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise fail("n is not the size of a test set", n, "1, 2, ...", "pass n=100")
    return n
