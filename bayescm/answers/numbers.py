"""
Single numbers of the posterior distribution of a measure: cdf, quantiles, moments, probabilities.

All of them ask for the distribution (`bayescm.answers.asking`) and put labels on what it says.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.asking import common_template, distributions_of
from bayescm.validate import check_choice, fail


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
    frame = common_template([each for _, each in found], measure)
    several = "measure" in frame.dims
    frame = replace(frame, name=None) if several else frame
    if along is not None:
        frame = frame.then(*along)
    shape = frame.shape[several:]
    values = [np.broadcast_to(ask(each), shape).astype(float) for each, _ in found]
    return frame.filled(np.stack(values) if several else values[0])


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

    return _answer(evidence, measure, ask, keywords, (dim, at))


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
