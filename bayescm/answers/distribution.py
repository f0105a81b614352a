"""
The posterior distribution of a measure, or of several, with the labels of the evidence.

`distribution` asks for it once; moments, quantiles, probabilities and intervals are its methods,
each a labelled array. The numbers come from `bayescm.distributions`.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.asking import common_template, distributions_of
from bayescm.direct.frames import Frame
from bayescm.distributions.batches import LazyDraws, find_at_once, together
from bayescm.distributions.hdi import remark
from bayescm.validate import check_choice, check_kind, check_prob, fail

# A numerical error of a bound from which on it is warned of: of the length, and in all.
_LARGE_ERROR, _SMALL_ERROR = 0.2, 0.01


def distribution(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable | Sequence[str | Callable],
    **keywords: Any,
) -> "MeasureDistribution":
    """
    Return the posterior distribution of a measure, or of several.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit.
    measure : str, callable or sequence of these
        A name, or a function of cells (..., C, C); a sequence has a dim ``measure`` in every
        answer.
    **keywords
        ``model``, ``of`` (the estimand), ``n``, ``draws``, ``random_seed``, ``accuracy``,
        ``positive``, and the model's own, as of `interval`.

    Returns
    -------
    MeasureDistribution
        Its methods ``mean``, ``sd``, ``mode``, ``skewness``, ``cdf``, ``pdf``, ``quantile``,
        ``prob_above`` and ``interval`` return labelled arrays.

    Raises
    ------
    ValueError, TypeError
        If the evidence, the model, a measure or a keyword of the model is invalid.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> f1 = bcm.distribution(counts, "f1")
    >>> f1.quantile([0.1, 0.5]).values.round(4)
    array([0.6695, 0.7201])
    >>> round(float(f1.mean()), 4)
    0.7187
    """
    return MeasureDistribution(*_labelled(evidence, measure, keywords))


def prob_above(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable | Sequence[str | Callable],
    threshold: Any,
    **keywords: Any,
) -> xr.DataArray:
    """
    Return the posterior probability that a measure exceeds a threshold.

    Parameters
    ----------
    evidence, measure, **keywords
        See `interval`; several measures have a dim ``measure``.
    threshold : float, sequence of floats or DataArray
        Values of the measure; several have a dim ``threshold``, the last. A DataArray of the shape
        of the answer has a value for each of its members.

    Returns
    -------
    DataArray

    Raises
    ------
    ValueError
        If the threshold is not a number.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(prob_above(counts, "f1", 0.7)), 4)
    0.6992
    >>> prob_above(counts, ["recall", "f1"], 0.7).values.round(4)
    array([0.9886, 0.6992])
    """
    return distribution(evidence, measure, **keywords).prob_above(threshold)


@dataclass(frozen=True, eq=False)
class MeasureDistribution:
    """
    The posterior distribution of a measure for each member of the evidence, see `distribution`.

    Attributes
    ----------
    distributions : tuple of Distribution
        Of each measure, vectorised over the members of the evidence.
    template : Frame
        Dims, coords and attributes of the answers; the first dim is ``measure`` where several were
        asked for.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> bcm.distribution(counts, ["recall", "f1"]).sd().values.round(4)
    array([0.0434, 0.0377])
    """

    distributions: tuple
    template: Frame

    def mean(self) -> xr.DataArray:
        """
        Return the posterior mean.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> round(float(bcm.distribution(counts, "recall").mean()), 4)
        0.8086
        """
        return self._label(lambda each: each.mean())

    def sd(self) -> xr.DataArray:
        """
        Return the posterior standard deviation.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> round(float(bcm.distribution(counts, "recall").sd()), 4)
        0.0434
        """
        return self._label(lambda each: each.sd())

    def mode(self) -> xr.DataArray:
        """
        Return the mode of the posterior density, NaN where there is none.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> round(float(bcm.distribution(counts, "recall").mode()), 4)
        0.8165
        """
        return self._label(lambda each: each.mode())

    def skewness(self, method: str = "moment") -> xr.DataArray:
        """
        Return the skewness of the posterior.

        Parameters
        ----------
        method : {"moment", "pearson"}
            The third standardised moment (SK1), or Pearson's (mean - mode) / sd (SK2).

        Raises
        ------
        ValueError
            If there is no such method.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> round(float(bcm.distribution(counts, "recall").skewness()), 4)
        -0.3424
        """
        check_choice("method", method, ["moment", "pearson"])
        if method == "pearson":
            return self._label(lambda each: (each.mean() - each.mode()) / each.sd())
        return self._label(lambda each: each.skewness())

    def cdf(self, x: Any) -> xr.DataArray:
        """
        Return the posterior probability that the measure is at most x.

        Parameters
        ----------
        x : float, sequence of floats or DataArray
            Values of the measure; several have a dim ``x``, the last. A DataArray of the shape of
            the answer has a value for each of its members.

        Raises
        ------
        ValueError
            If x is not a number.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> bcm.distribution(counts, "f1").cdf([0.6, 0.7]).values.round(4)
        array([0.0019, 0.3008])
        """
        return self._at(lambda each, point: each.cdf(point), "x", x)

    def pdf(self, x: Any) -> xr.DataArray:
        """
        Return the posterior density at x; parameters and errors as for `cdf`.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> bcm.distribution(counts, "recall").pdf([0.7, 0.8]).values.round(2)
        array([0.56, 8.61])
        """
        return self._at(lambda each, point: each.pdf(point), "x", x)

    def prob_above(self, threshold: Any) -> xr.DataArray:
        """
        Return the posterior probability that the measure exceeds a threshold.

        Parameters
        ----------
        threshold : float, sequence of floats or DataArray
            Several have a dim ``threshold``, the last. A DataArray of the shape of the answer has a
            value for each of its members.

        Raises
        ------
        ValueError
            If the threshold is not a number.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> round(float(bcm.distribution(counts, "f1").prob_above(0.7)), 4)
        0.6992
        """
        return self._at(lambda each, point: each.sf(point), "threshold", threshold)

    def quantile(self, q: Any) -> xr.DataArray:
        """
        Return the point below which the measure lies with probability q.

        Parameters
        ----------
        q : float in [0, 1], or sequence of these
            Mass below the point; several have a dim ``quantile``, the last.

        Raises
        ------
        ValueError
            If q is not a probability.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> bcm.distribution(counts, "f1").quantile([0.1, 0.5]).values.round(4)
        array([0.6695, 0.7201])
        """
        if not all(0 <= each <= 1 for each in _floats("quantile", q).ravel()):
            raise fail("q must be a probability", q, "0 <= q <= 1", "pass q=0.5 for the median")
        return self._at(lambda each, point: each.quantile(point), "quantile", q)

    def interval(self, prob: float = 0.95, kind: str = "hdi") -> xr.DataArray:
        """
        Return the posterior interval, as `bayescm.interval` does.

        Parameters
        ----------
        prob : float in (0, 1), default 0.95
            Mass of the interval.
        kind : {"hdi", "eti"}
            Highest-density or equal-tailed.

        Returns
        -------
        DataArray, dims ([measure], ..., [class], bound)
            See `bayescm.interval`.

        Raises
        ------
        ValueError
            If prob or kind is invalid.

        Examples
        --------
        >>> import bayescm as bcm
        >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
        >>> bcm.distribution(counts, "f1").interval(kind="eti").values.round(4)
        array([0.641 , 0.7884])
        """
        check_prob(prob), check_kind(kind)
        intervals = _intervals(self.distributions, prob, kind)
        values = np.empty((len(intervals), *self._shape, 2))
        for place, (ends, *_) in enumerate(intervals):
            values[place] = ends
        values = values if self._several else values[0]
        attrs = {
            **self.template.attrs,
            "prob": prob,
            "kind": kind,
            "how": "; ".join(dict.fromkeys(how for _, how, _, _ in intervals)),
            "error": float(max(error for _, _, error, _ in intervals)),
            "undefined": float(max(undefined for *_, undefined in intervals)),
        }
        _warn_of_error(attrs["error"], values)
        return self.template.filled(values, (("bound", ("lower", "upper")),), attrs)

    @property
    def _several(self):
        return "measure" in self.template.dims

    @property
    def _shape(self):
        """Return the shape of the answer for one measure."""
        return self.template.shape[self._several :]

    def _label(self, ask, dim=None, points=()):
        """Return what is asked of each distribution, labelled; perhaps with a last dim more."""
        template = replace(self.template, name=None) if self._several else self.template
        template = template if dim is None else template.then(dim, points)
        shape = template.shape[self._several :]
        values = [np.broadcast_to(ask(each), shape).astype(float) for each in self.distributions]
        return template.filled(np.stack(values) if self._several else values[0])

    def _at(self, function, dim, values):
        """Return a function of the distribution at one value, or at several along a new dim."""
        points = _floats(dim, values)
        if points.ndim == 0:
            return self._label(lambda each: function(each, points))
        if isinstance(values, xr.DataArray):  # one for each member of the answer
            if (values.dims, values.shape) != (self.template.dims, self.template.shape):
                todo = "pass numbers, or one for each member of the answer"
                dims = str(self.template.dims)
                raise fail(f"{dim} has other dims than the answer", values.dims, dims, todo)
            return self._label(lambda each: function(each, points))

        def at_points(distribution):
            return np.stack([function(distribution, each) for each in points.tolist()], axis=-1)

        return self._label(at_points, dim, points)


def _labelled(evidence, measure, keywords):
    """Return the distributions of measures, and the dims and labels that they have in common."""
    pairs = distributions_of(evidence, measure, **keywords)
    template = common_template([frame for _, frame in pairs], measure)
    return tuple(each for each, _ in pairs), template


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


def _warn_of_error(error, ends):
    """Warn where the numerical error is not small beside the interval."""
    if error <= _SMALL_ERROR:
        return
    length = ends[..., 1] - ends[..., 0]
    length = np.mean(length[length > 0]) if (length > 0).any() else np.inf
    if error > max(_LARGE_ERROR * length, _SMALL_ERROR):
        warnings.warn(
            f"A bound has a numerical error of about {error:.2g}, beside an interval of length "
            f"{length:.2g}. Classes or items with few examples are the usual reason: combine or "
            "leave them out, or use fit(..., method='nuts') of the same evidence.",
            UserWarning,
            stacklevel=4,
        )


def _intervals(distributions, prob, kind):
    """Return of each distribution the ends, how they were computed, their error, and undefined."""
    find_at_once([each for each in distributions if each.shape == ()], prob, kind)
    drawn = [each for each in distributions if isinstance(each, LazyDraws)]
    at_once = iter(together(drawn, lambda each: _packed(each, prob, kind)) if drawn else ())
    intervals = []
    for each in distributions:
        if isinstance(each, LazyDraws):
            packed = next(at_once)
            ends, error, undefined = packed[..., :2], packed[..., 2], packed[..., 3]
            intervals.append((ends, each.how, error.max(), undefined.max()))
        else:
            ends, error = each.checked(prob, kind)
            undefined = np.max(each.undefined)
            intervals.append((ends, interval_how(each, prob, kind), error.max(), undefined))
    return intervals


def _packed(distribution, prob, kind):
    ends, error = distribution.checked(prob, kind)
    worst = error.max(axis=-1)
    return np.stack([ends[..., 0], ends[..., 1], worst, distribution.undefined], axis=-1)


def interval_how(distribution: Any, prob: float, kind: str) -> str:
    """Say how the intervals of a distribution were computed, and what is to be said of them."""
    if kind == "eti":
        return distribution.how
    kinds = np.unique(distribution.hdi_kind(prob)).tolist()
    return distribution.how + "".join(remark(kind) for kind in kinds)
