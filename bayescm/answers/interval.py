"""
Answers about measures: interval, cdf, quantiles, moments, the probability of exceeding a value.

All of them ask for the posterior distribution of the measure (`bayescm.answers.asking`) and put
labels on what it says.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.asking import distributions_of
from bayescm.distributions.batches import LazyDraws, together
from bayescm.distributions.hdi import ONE_INTERVAL
from bayescm.validate import check_choice, check_kind, check_prob, fail

# A numerical error of a bound from which on it is warned of: of the length, and in all.
_LARGE_ERROR, _SMALL_ERROR = 0.2, 0.01


def interval(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    **keywords: Any,
) -> xr.DataArray:
    """
    Return the posterior interval of a measure, or of several.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit.
    measure : str, callable or sequence of these
        A name, or a function of cells (..., C, C). Those of a sequence that have no direct
        distribution all come from the same draws.
    prob : float in (0, 1), default 0.95
        Mass of the interval.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed. Where the highest-density region is not one interval, the
        answer falls back to the equal-tailed interval, and ``attrs["how"]`` says so.
    **keywords
        ``model``, ``of`` (the estimand), ``n``, ``draws``, ``random_seed`` and ``positive``;
        ``accuracy``, the numerical error of a bound that is good enough (1e-6, and 1e-3 for more
        than 10,000 matrices); and the model's own keywords, such as ``concentration=0.5``.

    Returns
    -------
    DataArray, dims ([measure], ..., [class], bound)
        ``bound`` is lower, upper; a sequence of measures adds a dim ``measure``. The leading dims
        of the evidence remain, except those that the model uses up (``fold``, ``repeat``). NaN
        where the measure is undefined throughout. The attributes ``of``, ``prob``, ``kind`` and
        ``how`` say what it is and how it was computed; ``error`` is the largest numerical (for
        draws: Monte Carlo standard) error of a bound, ``undefined`` the largest fraction of 0/0.

    Raises
    ------
    ValueError, TypeError
        If prob, kind, the model, the measure or a keyword of the model is invalid.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> interval(counts, "f1", kind="eti").values.round(4)
    array([0.641 , 0.7884])
    >>> interval(counts, ["f1", "mcc"]).sel(bound="lower").values.round(4)
    array([0.644 , 0.1356])
    """
    check_prob(prob), check_kind(kind)
    found = distributions_of(evidence, measure, **keywords)
    answers = _answers([distribution for distribution, _ in found], prob, kind)
    template = _common_template([each for _, each in found], measure)
    several = "measure" in template.dims
    shape = template.shape[several:]
    ends = np.stack([np.broadcast_to(answer[0], (*shape, 2)) for answer in answers])
    attrs = {
        **template.attrs,
        "prob": prob,
        "kind": kind,
        "how": "; ".join(dict.fromkeys(answer[1] for answer in answers)),
        "error": float(max(answer[2] for answer in answers)),
        "undefined": float(max(answer[3] for answer in answers)),
    }
    _warn_of_error(attrs["error"], ends)
    dims, coords = (*template.dims, "bound"), {**template.coords, "bound": ["lower", "upper"]}
    values = ends if several else ends[0]
    return xr.DataArray(values, dims=dims, coords=coords, name=template.name, attrs=attrs)


def _warn_of_error(error, ends):
    """Warn where the numerical error is not small beside the interval."""
    length = ends[..., 1] - ends[..., 0]
    length = np.mean(length[length > 0]) if (length > 0).any() else np.inf
    if error > max(_LARGE_ERROR * length, _SMALL_ERROR):
        warnings.warn(
            f"A bound has a numerical error of about {error:.2g}, beside an interval of length "
            f"{length:.2g}. Classes with few examples are the usual reason: combine or leave "
            "them out, or use fit(counts, method='nuts').",
            UserWarning,
            stacklevel=3,
        )


def _common_template(templates, measure):
    """Return the dims and coords of the answer; a sequence of measures has a dim of its own."""
    if isinstance(measure, str) or callable(measure):
        return templates[0]
    if len({each.dims for each in templates}) > 1:
        names = [each.name for each in templates if "class" in each.dims]
        todo = "ask for them separately, or for averages over the classes such as f1_macro"
        raise fail("only some of the measures have one value per class", names, "all or none", todo)
    names = [each.name for each in templates]
    return templates[0].rename("interval").expand_dims(measure=names)


def _answers(distributions, prob, kind):
    """Return of each distribution the ends, and what the attributes say: how, error, undefined."""
    drawn = [distribution for distribution in distributions if isinstance(distribution, LazyDraws)]
    at_once = iter(
        together(drawn, lambda distribution: _packed(distribution, prob, kind)) if drawn else ()
    )
    answers = []
    for distribution in distributions:
        if isinstance(distribution, LazyDraws):
            packed = next(at_once)
            answers.append(
                (packed[..., :2], distribution.how, packed[..., 2].max(), packed[..., 3].max())
            )
        else:
            ends, error = distribution.checked(prob, kind)
            said = how(distribution, prob, kind)
            answers.append((ends, said, np.max(error), np.max(distribution.undefined)))
    return answers


def _packed(distribution, prob, kind):
    ends, error = distribution.checked(prob, kind)
    worst = error.max(axis=-1)
    return np.stack([ends[..., 0], ends[..., 1], worst, distribution.undefined], axis=-1)


def how(distribution: Any, prob: float, kind: str) -> str:
    """Say how the intervals of a distribution were computed, and why if equal-tailed instead."""
    if kind == "eti":
        return distribution.how
    other = [each for each in np.unique(distribution.hdi_kind(prob)) if each not in ONE_INTERVAL]
    return f"{distribution.how}, equal tails: {', '.join(other)}" if other else distribution.how


def cdf(evidence: Any, measure: Any, x: Any, **keywords: Any) -> xr.DataArray:
    """
    Return the posterior probability that a measure is at most x.

    Parameters
    ----------
    evidence, measure, **keywords
        See `interval`; several measures have a dim ``measure``.
    x : float, sequence of floats or DataArray
        Values of the measure; several have a dim ``x``, the last. A DataArray of the shape of the
        answer has a value for each of its members.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> cdf(counts, "f1", [0.6, 0.7]).values.round(4)
    array([0.0019, 0.3008])
    """
    return _at(evidence, measure, "cdf", "x", x, keywords)


def prob_above(evidence: Any, measure: Any, threshold: Any, **keywords: Any) -> xr.DataArray:
    """
    Return the posterior probability that a measure exceeds a threshold.

    Parameters
    ----------
    evidence, measure, **keywords
        See `interval`; several measures have a dim ``measure``.
    threshold : float, sequence of floats or DataArray
        Values of the measure; several have a dim ``threshold``, the last. A DataArray of the shape
        of the answer has a value for each of its members.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(prob_above(counts, "f1", 0.7)), 4)
    0.6992
    >>> prob_above(counts, ["recall", "f1"], 0.7).values.round(4)
    array([0.9886, 0.6992])
    """
    return _at(evidence, measure, "sf", "threshold", threshold, keywords)


def quantile(evidence: Any, measure: Any, q: Any, **keywords: Any) -> xr.DataArray:
    """
    Return the point below which a measure lies with probability q.

    Parameters
    ----------
    evidence, measure, **keywords
        See `interval`; several measures have a dim ``measure``.
    q : float in [0, 1], or sequence of these
        Mass below the point; several have a dim ``quantile``, the last.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> quantile(counts, "f1", [0.1, 0.5]).values.round(4)
    array([0.6695, 0.7201])
    """
    if not all(0 <= each <= 1 for each in _floats("quantile", q).ravel()):
        raise fail("q must be a probability", q, "0 <= q <= 1", "pass q=0.5 for the median")
    return _at(evidence, measure, "quantile", "quantile", q, keywords)


def mean(evidence: Any, measure: str | Callable, **keywords: Any) -> xr.DataArray:
    """
    Return the posterior mean of a measure; parameters as for `interval`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(mean(counts, "recall")), 4)
    0.8086
    """
    return _answer(evidence, measure, lambda distribution: distribution.mean(), keywords)


def sd(evidence: Any, measure: str | Callable, **keywords: Any) -> xr.DataArray:
    """
    Return the posterior standard deviation of a measure; parameters as for `interval`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(sd(counts, "recall")), 4)
    0.0434
    """
    return _answer(evidence, measure, lambda distribution: distribution.sd(), keywords)


def mode(evidence: Any, measure: str | Callable, **keywords: Any) -> xr.DataArray:
    """
    Return the mode of a measure, NaN where there is none; parameters as for `interval`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(mode(counts, "recall")), 4)
    0.8165
    """
    return _answer(evidence, measure, lambda distribution: distribution.mode(), keywords)


def skewness(
    evidence: Any, measure: str | Callable, *, method: str = "moment", **keywords: Any
) -> xr.DataArray:
    """
    Return the skewness of the posterior of a measure.

    Parameters
    ----------
    evidence, measure, **keywords
        See `interval`.
    method : {"moment", "pearson"}
        The third standardised moment (SK1), or Pearson's (mean - mode) / sd (SK2).

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(skewness(counts, "recall")), 4)
    -0.3424
    """
    check_choice("method", method, ["moment", "pearson"])

    def ask(distribution):
        return (
            distribution.skewness()
            if method == "moment"
            else (distribution.mean() - distribution.mode()) / distribution.sd()
        )

    return _answer(evidence, measure, ask, keywords)


def _answer(evidence, measure, ask, keywords: Mapping, along=None):
    """Return what is asked of the distribution of a measure, or of several along a new dim."""
    found = distributions_of(evidence, measure, **keywords)
    blank = _common_template([each for _, each in found], measure)
    several = "measure" in blank.dims
    blank = blank.rename(None) if several else blank
    if along is not None:
        blank = (blank * along).assign_attrs(blank.attrs).rename(blank.name)
    shape = blank.shape[several:]
    values = [np.broadcast_to(ask(each), shape).astype(float) for each, _ in found]
    return blank.copy(data=np.stack(values) if several else values[0])


def _at(evidence, measure, what, dim, values, keywords):
    """Return a function of the distribution at one value, or at several along a new dim."""
    at = _floats(dim, values)
    if isinstance(values, xr.DataArray) and at.ndim:  # one for each member of the answer
        known = _answer(evidence, measure, lambda each: each.mean(), keywords)
        if values.dims != known.dims or values.shape != known.shape:
            todo = "pass numbers, or one for each member of the answer"
            raise fail(f"{dim} has other dims than the answer", values.dims, str(known.dims), todo)
    if at.ndim == 0 or isinstance(values, xr.DataArray):
        return _answer(evidence, measure, lambda each: getattr(each, what)(at), keywords)

    def ask(distribution):
        return np.stack([getattr(distribution, what)(each) for each in at.tolist()], axis=-1)

    return _answer(evidence, measure, ask, keywords, xr.DataArray(at, [(dim, at)]))


def _floats(name, values):
    """Return numbers as an array, (...) or (n,), or raise where they are none."""
    try:
        array = np.asarray(values, float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    many = array.ndim > 1 and not isinstance(values, xr.DataArray)
    if many or array.size == 0 or np.isnan(array).any():
        todo = "pass one number, or a list of them"
        raise fail(f"{name} must be one or more numbers", values, "numbers", todo)
    return array
