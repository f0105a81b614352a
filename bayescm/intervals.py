"""
Answers about one measure: interval, cdf, quantiles, moments, the probability to exceed a value.

All of them ask the exact sibling of the model for the law of the measure, and where it has none
for draws. Neither PyMC nor a plotting library is loaded.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from bayescm.counts import CELLS, as_counts, default_model
from bayescm.exact.atoms import Empirical
from bayescm.labelled import kernels, measure
from bayescm.route import aligned
from bayescm.validate import check_choice, check_keywords, check_kind, check_prob, fail, suggest

DRAWS = 20_000


def interval(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    **keywords: Any,
) -> xr.DataArray:
    """
    Return the posterior interval of a measure.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit.
    measure : str or callable
        A name, or a function of cells (..., C, C).
    prob : float in (0, 1), default 0.95
        Mass of the interval.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    **keywords
        ``model``, ``of``, ``n``, ``draws`` and ``random_seed`` as of `law_of`, and the model's own,
        such as ``concentration=0.5``.

    Returns
    -------
    DataArray, dims (..., [class], bound)
        ``bound`` is lower, upper. The leading dims of the evidence stay, but for those that the
        model uses up (``fold``, ``repeat``). NaN where the measure is undefined throughout.

    Raises
    ------
    ValueError, TypeError
        Where prob, kind, the model, the measure or a keyword of the model is not one.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> interval(counts, "f1", kind="eti").values.round(4)
    array([0.641 , 0.7884])
    """
    check_prob(prob), check_kind(kind)
    law, template = law_of(evidence, measure, **keywords)
    ends = law.hdi(prob) if kind == "hdi" else law.eti(prob)
    ends = np.broadcast_to(ends, (*template.shape, 2))
    dims = (*template.dims, "bound")
    coords = {**template.coords, "bound": ["lower", "upper"]}
    return xr.DataArray(ends, dims=dims, coords=coords, name=template.name)


def law_of(
    evidence: Any,
    measure: str | Callable,
    *,
    model: str | None = None,
    of: str = "parameter",
    n: int | None = None,
    draws: int = DRAWS,
    random_seed: int = 0,
    **keywords: Any,
) -> tuple[Any, xr.DataArray]:
    """
    Return the law of a measure, and the dims and coords of its batch.

    Parameters
    ----------
    evidence, measure
        As of `interval`.
    model : str, optional
        Name of a model with an exact sibling; by default the one that fits the evidence.
    of : {"parameter", "predictive"}
        The measure itself, or that of the next test set.
    n : int, optional
        Size of the next test set; by default the observed total.
    draws, random_seed : int
        Where the measure has no exact law: how many draws, and their seed.
    **keywords
        The model's own.

    Returns
    -------
    law
        As described in `bayescm.exact.laws`.
    DataArray
        NaN, with the dims, coords and name of the answer.
    """
    check_choice("of", of, ["parameter", "predictive"])
    if isinstance(evidence, xr.DataTree):
        return _law_of_tree(evidence, measure, of)
    counts = _as_counts(evidence)
    (kernel,) = kernels(measure, counts)
    posterior, used = sibling_posterior(evidence, counts, model, keywords)
    template = _template(counts, kernel, used)
    if of == "predictive":
        from bayescm.exact.predictive import predictive_law

        rng = np.random.default_rng(random_seed)
        size = _test_size(counts, n, used)
        return predictive_law(posterior, kernel, size, draws, rng), template
    law = posterior.law(kernel)
    if law is None:
        (values,) = posterior.measure([kernel], draws, np.random.default_rng(random_seed))
        law = Empirical(values)
    return law, template


def sibling_posterior(evidence, counts, model, keywords):
    """Return the exact posterior and the leading dims that the model uses up."""
    from bayescm import exact
    from bayescm.folds import MODELS, sibling_input

    name = default_model(counts) if model is None else model
    if not isinstance(name, str) or name not in exact.__all__:
        known = ", ".join(exact.__all__)
        todo = f"{suggest(name, exact.__all__)}; other models go through fit"
        raise fail("no exact answers from this model", name, known, todo)
    function = getattr(exact, name)
    check_keywords(function, keywords)
    keywords = aligned(evidence, counts, function, keywords)
    used: tuple[str, ...] = ("repeat", "fold") if name in MODELS else ()
    used = ("group",) if name == "hierarchical_groups" else used
    cells, keywords = sibling_input(function, counts, keywords)
    return function(cells, **keywords), used


def _as_counts(evidence):
    if isinstance(evidence, xr.Dataset) and "outcome" in evidence.dims:
        from bayescm.outcomes import counts_of

        return counts_of(evidence)
    return as_counts(evidence)


def _template(counts, kernel, used):
    dims = [dim for dim in counts.dims if dim not in (*CELLS, *used)]
    coords = {k: v for k, v in counts.coords.items() if set(v.dims) <= set(dims)}
    shape = [counts.sizes[dim] for dim in dims]
    labels = counts.indexes["actual"]
    if np.ndim(kernel(np.ones((len(labels),) * 2))):
        dims, shape = [*dims, "class"], [*shape, len(labels)]
        coords["class"] = labels.values
    return xr.DataArray(np.full(shape, np.nan), dims=dims, coords=coords, name=kernel.__name__)


def _law_of_tree(tree, wanted, of):
    values = measure(tree, wanted, of=of)
    (name,) = values.data_vars
    drawn = values[name].transpose("chain", "draw", ...)
    template = drawn.isel(chain=0, draw=0, drop=True)
    flat = drawn.values.reshape(-1, *template.shape)
    return Empirical(flat, chains=drawn.sizes["chain"]), template


def _test_size(counts, n, used):
    if n is None:
        totals = counts.sum(CELLS).sum([dim for dim in used if dim in counts.dims])
        return totals.values
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise fail("n is not the size of a test set", n, "1, 2, ...", "pass n=100")
    return n


def cdf(evidence: Any, measure: str | Callable, x: float, **keywords: Any) -> xr.DataArray:
    """
    Return the posterior probability that a measure is at most x.

    Parameters
    ----------
    evidence, measure, **keywords
        As of `interval`.
    x : float
        A value of the measure.

    Examples
    --------
    >>> import bayescm as bcm
    >>> round(float(cdf(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1", 0.7)), 4)
    0.3008
    """
    return _answer(evidence, measure, lambda law: law.cdf(x), keywords)


def prob_above(
    evidence: Any, measure: str | Callable, threshold: float, **keywords: Any
) -> xr.DataArray:
    """
    Return the posterior probability that a measure exceeds a threshold.

    Parameters
    ----------
    evidence, measure, **keywords
        As of `interval`.
    threshold : float
        A value of the measure.

    Examples
    --------
    >>> import bayescm as bcm
    >>> round(float(prob_above(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1", 0.7)), 4)
    0.6992
    """
    return _answer(evidence, measure, lambda law: law.sf(threshold), keywords)


def quantile(evidence: Any, measure: str | Callable, q: float, **keywords: Any) -> xr.DataArray:
    """
    Return the point below which a measure lies with probability q.

    Parameters
    ----------
    evidence, measure, **keywords
        As of `interval`.
    q : float in [0, 1]
        Mass below the point.
    """
    if not 0 <= q <= 1:
        raise fail("q is not a probability", q, "0 <= q <= 1", "pass q=0.5 for the median")
    return _answer(evidence, measure, lambda law: law.quantile(q), keywords)


def mean(evidence: Any, measure: str | Callable, **keywords: Any) -> xr.DataArray:
    """Return the posterior mean of a measure; parameters as of `interval`."""
    return _answer(evidence, measure, lambda law: law.mean(), keywords)


def sd(evidence: Any, measure: str | Callable, **keywords: Any) -> xr.DataArray:
    """Return the posterior standard deviation of a measure; parameters as of `interval`."""
    return _answer(evidence, measure, lambda law: law.sd(), keywords)


def mode(evidence: Any, measure: str | Callable, **keywords: Any) -> xr.DataArray:
    """Return the mode of a measure, NaN where there is none; parameters as of `interval`."""
    return _answer(evidence, measure, lambda law: law.mode(), keywords)


def skewness(
    evidence: Any, measure: str | Callable, *, method: str = "moment", **keywords: Any
) -> xr.DataArray:
    """
    Return the skewness of the posterior of a measure.

    Parameters
    ----------
    evidence, measure, **keywords
        As of `interval`.
    method : {"moment", "pearson"}
        The third standardised moment (SK1), or Pearson's (mean - mode) / sd (SK2).
    """
    check_choice("method", method, ["moment", "pearson"])

    def ask(law):
        return law.skewness() if method == "moment" else (law.mean() - law.mode()) / law.sd()

    return _answer(evidence, measure, ask, keywords)


def _answer(evidence, measure, ask, keywords: Mapping):
    law, template = law_of(evidence, measure, **keywords)
    return template.copy(data=np.broadcast_to(ask(law), template.shape).astype(float))
