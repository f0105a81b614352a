"""
From evidence and a measure to its posterior distribution, and to its interval, with labels.

The evidence and the model give a posterior, and that has the distribution of every measure.
`distribution` returns these with the labels of the evidence, and its methods are moments,
quantiles, probabilities and intervals; `interval` and `prob_above` are the usual of them. Neither
PyMC nor a plotting library is loaded.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers import cautions
from bayescm.answers.dask import is_lazy, lazily
from bayescm.distributions.base import Distribution
from bayescm.distributions.batches import LazyDraws, precompute_intervals, together
from bayescm.distributions.hdi import remark
from bayescm.evidence.registry import type_of
from bayescm.evidence.unsupported import NO_LEVEL
from bayescm.fitting.posterior_for import posterior_of, select_estimand
from bayescm.fitting.question import USUAL, Question
from bayescm.measures.labelled import kernels, of_variable, several
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import check_choice, check_kind, check_prob, fail

# What is asked of a posterior; other keywords are the model's own.
ASKED = ("of", "n", "draws", "random_seed", "accuracy")
Wanted = str | Callable | Sequence[str | Callable]
# A numerical error of a bound that exceeds both of these leads to a warning. The error of draws
# bounds both ends in 95 of 100 intervals, and is some 2.4 to 4.5 standard errors.
_LARGE_ERROR = 0.8  # in parts of the length of the interval
_SMALL_ERROR = 0.02  # in the unit of the measure


def interval(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable | Sequence[str | Callable] | None = None,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    **keywords: Any,
) -> xr.DataArray:
    """
    Return the posterior interval of a measure, or of several.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit. Of counts
        that are an array of Dask the answer is one too, computed block by block when asked for.
    measure : str, callable or sequence of these, optional
        A name, or a function of cells (..., C, C). By default the measures of `bayescm.summary`
        that have one value for all classes. If some of several measures have no direct
        distribution, all of these come from the same draws.
    prob : float in (0, 1), default 0.95
        Mass of the interval.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed. If a density has more than one mode, such as a beta
        density that rises at both ends, the result is the shortest interval with this probability.
        If the density is flat, it is the equal-tailed interval. ``attrs["how"]`` says so in both
        cases. With 20 examples or fewer, equal-tailed intervals cover the true value more often.
    of : str, default "parameter"
        The estimand: the measure itself; ``"predictive"``, that of the next test set;
        ``"finite"``, the mean over the members at hand, each with the same weight: these groups,
        these items, or the classifiers of these folds, without the luck of their test examples;
        ``"population"``, the mean over all groups or items there may be; ``"typical"``, the group
        in the middle; ``"new"``, one new group or item. Each model says which of these it has. The
        name of a dim that the model pools over, such as ``"group"``, stands for each of its
        members, partially pooled.
    n : int, optional
        Size of the next test set; by default the observed total. For attempts it is the number of
        attempts at each item of the next run; by default that of most items.
    model : str or callable, optional
        Name of a model; or a function from the evidence and keywords to a
        `bayescm.posteriors.base.Posterior`, or to a ``pymc.Model`` with a variable ``theta``, which
        is sampled by NUTS; by default the model that fits the evidence.
    concentration : float, array_like, DataArray or callable, optional
        The prior, of a model that has this keyword: of counts pseudo-counts per cell, by default
        2 / C**2 of C classes. A function from a name to a PyMC variable is a prior of another
        family, such as ``partial(pm.Gamma, alpha=2, beta=1)``, and the model is sampled.
    positive : label, optional
        The positive class, where the evidence does not know it or another one is meant.
    draws : int, optional
        How many draws of each matrix, for every measure. By default the distribution itself where
        it is known, and 20,000 draws otherwise; more draws of groups are of as many more points of
        their parameters. Of a model that is sampled, draws of each chain, by default 1,000.
    random_seed : int, default 0
        Seed of the draws.
    accuracy : float, optional
        Largest numerical error of the ends of intervals by quadrature, relative to the length of
        the interval; by default 1e-4, and 1e-3 for more than 1,000 matrices. Probabilities are
        always more accurate.
    **keywords
        Further keywords of the model, such as ``omega`` of `bayescm.models.pooled_folds`. If the
        model is sampled, also options of the sampler such as ``tune``, ``chains`` and
        ``target_accept``; see `bayescm.fit`.

    Returns
    -------
    DataArray, dims ([measure], ..., [class], bound)
        ``bound`` is lower, upper; a sequence of measures adds a dim ``measure``. The leading dims
        of the evidence remain, except those that the model uses up (``fold``, ``repeat``). NaN
        where the measure is undefined throughout. The attributes ``of``, ``prob``, ``kind`` and
        ``how`` say what it is and how it was computed; ``error`` is the largest numerical error of
        a bound: of draws both bounds are within it in 95 % of samples, with ever more draws in
        place of these. ``undefined`` is the largest fraction of 0/0, ``covariates`` the values of
        covariates that the answer is for.

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
    question = Question(
        of, n, model, concentration, positive, draws, random_seed, accuracy, keywords
    )

    def answer(counts):
        return distribution_for(counts, measure, question).interval(prob, kind)

    return lazily(answer, evidence) if is_lazy(evidence) else answer(evidence)


def distribution(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable | Sequence[str | Callable] | None = None,
    *,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    **keywords: Any,
) -> "MeasureDistribution":
    """
    Return the posterior distribution of a measure, or of several.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit.
    measure : str, callable or sequence of these, optional
        A name, or a function of cells (..., C, C). By default the measures of `bayescm.summary`
        that have one value for all classes. A sequence has a dim ``measure`` in every answer.
    of, n, model, concentration, positive, draws, random_seed, accuracy, **keywords
        See `interval`.

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
    question = Question(
        of, n, model, concentration, positive, draws, random_seed, accuracy, keywords
    )
    return distribution_for(evidence, measure, question)


def distribution_for(
    evidence: Any, measure: str | Callable | Sequence[str | Callable] | None, question: Question
) -> "MeasureDistribution":
    """Return the distribution of a measure, or of several, by a question; see `distribution`."""
    wanted = usual_measures(evidence) if measure is None else measure
    pairs = distributions_of(evidence, wanted, question)
    if measure is None:
        pairs = _of_the_same_dims(pairs)
    labels = common_template([frame for _, frame in pairs], wanted)
    return MeasureDistribution(tuple(of_measure for of_measure, _ in pairs), labels)


def prob_above(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable | Sequence[str | Callable],
    threshold: Any,
    *,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    **keywords: Any,
) -> xr.DataArray:
    """
    Return the posterior probability that a measure exceeds a threshold.

    Parameters
    ----------
    evidence, measure
        See `interval`; several measures have a dim ``measure``.
    threshold : float, sequence of floats or DataArray
        Values of the measure; several have a dim ``threshold``, the last. A DataArray of the shape
        of the answer has a value for each of its members.
    of, n, model, concentration, positive, draws, random_seed, accuracy, **keywords
        See `interval`.

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
    question = Question(
        of, n, model, concentration, positive, draws, random_seed, accuracy, keywords
    )
    return distribution_for(evidence, measure, question).prob_above(threshold)


@dataclass(frozen=True, eq=False)
class MeasureDistribution:
    """
    The posterior distribution of a measure for each member of the evidence, see `distribution`.

    Attributes
    ----------
    distributions : tuple of Distribution
        Of each measure, vectorised over the members of the evidence.
    template : LabelTemplate
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
    template: LabelTemplate

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
        return self._label(lambda distribution: distribution.mean())

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
        return self._label(lambda distribution: distribution.sd())

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
        return self._label(lambda distribution: distribution.mode())

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
            return self._label(_pearson_skewness)
        return self._label(lambda distribution: distribution.skewness())

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
        return self._at(lambda distribution, point: distribution.cdf(point), "x", x)

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
        return self._at(lambda distribution, point: distribution.pdf(point), "x", x)

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
        return self._at(lambda distribution, point: distribution.sf(point), "threshold", threshold)

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
        if not all(0 <= level <= 1 for level in _floats("quantile", q).ravel()):
            raise fail("q must be a probability", q, "0 <= q <= 1", "pass `q=0.5` for the median")
        return self._at(lambda distribution, point: distribution.quantile(point), "quantile", q)

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
        intervals = _computed_intervals(self.distributions, prob, kind)
        values = np.empty((len(intervals), *self._shape, 2))
        for index, (ends, *_) in enumerate(intervals):
            values[index] = ends
        values = values if self._several else values[0]
        attrs = {
            **self.template.attrs,
            "prob": prob,
            "kind": kind,
            "how": "; ".join(dict.fromkeys(how for _, how, _, _ in intervals)),
            "error": float(max(error for _, _, error, _ in intervals)),
            "undefined": float(max(undefined for *_, undefined in intervals)),
        }
        _warn_of_error(attrs["error"], values, attrs["how"])
        return self.template.to_dataarray(values, (("bound", ("lower", "upper")),), attrs)

    @property
    def _several(self):
        return "measure" in self.template.dims

    @property
    def _shape(self):
        """Return the shape of the answer for one measure."""
        return self.template.shape[self._several :]

    def _label(self, statistic, dim=None, points=()):
        """Return a statistic of each distribution, labelled; perhaps with a last dim more."""
        template = replace(self.template, name=None) if self._several else self.template
        template = template if dim is None else template.append_dim(dim, points)
        shape = template.shape[self._several :]
        numbers = map(statistic, self.distributions)
        values = [np.broadcast_to(number, shape).astype(float) for number in numbers]
        return template.to_dataarray(np.stack(values) if self._several else values[0])

    def _at(self, function, dim, values):
        """Return a function of the distribution at one value, or at several along a new dim."""
        points = _floats(dim, values)
        if points.ndim == 0:
            return self._label(lambda distribution: function(distribution, points))
        if isinstance(values, xr.DataArray):  # one for each member of the answer
            if (values.dims, values.shape) != (self.template.dims, self.template.shape):
                todo = "pass numbers, or one for each member of the answer"
                dims = str(self.template.dims)
                raise fail(f"{dim} has other dims than the answer", values.dims, dims, todo)
            return self._label(lambda distribution: function(distribution, points))

        def at_points(distribution):
            return np.stack([function(distribution, point) for point in points.tolist()], axis=-1)

        return self._label(at_points, dim, points)


def _pearson_skewness(distribution):
    return (distribution.mean() - distribution.mode()) / distribution.sd()


# The interval of each distribution, with its error.


def _computed_intervals(distributions, prob, kind):
    """Return of each distribution the ends, how they were computed, their error, and undefined."""
    scalars = [distribution for distribution in distributions if distribution.shape == ()]
    precompute_intervals(scalars, prob, kind)
    drawn = [distribution for distribution in distributions if isinstance(distribution, LazyDraws)]
    interval_array = partial(_interval_array, prob=prob, kind=kind)
    at_once = iter(together(drawn, interval_array) if drawn else ())
    intervals = []
    for distribution in distributions:
        if isinstance(distribution, LazyDraws):
            packed = next(at_once)
            ends, error, undefined = packed[..., :2], packed[..., 2], packed[..., 3]
            intervals.append((ends, distribution.how, error.max(), undefined.max()))
        else:
            ends, error = distribution.interval_with_error(prob, kind)
            undefined = np.max(distribution.undefined)
            intervals.append((ends, interval_how(distribution, prob, kind), error.max(), undefined))
    return intervals


def _interval_array(distribution, prob, kind):
    ends, error = distribution.interval_with_error(prob, kind)
    worst = error.max(axis=-1)
    return np.stack([ends[..., 0], ends[..., 1], worst, distribution.undefined], axis=-1)


def interval_how(distribution: Any, prob: float, kind: str) -> str:
    """Say how the intervals of a distribution were computed, and what is to be said of them."""
    if kind == "eti":
        return distribution.how
    kinds = np.unique(distribution.hdi_kind(prob)).tolist()
    return distribution.how + "".join(remark(kind) for kind in kinds)


def _warn_of_error(error, ends, how):
    """Warn where the numerical error is not small beside the interval."""
    if error <= _SMALL_ERROR:
        return
    length = ends[..., 1] - ends[..., 0]
    length = np.mean(length[length > 0]) if (length > 0).any() else np.inf
    if error > max(_LARGE_ERROR * length, _SMALL_ERROR):
        todo = (
            "Classes or items with few examples are the usual reason: combine or leave them out, "
            "or use fit(..., `method='nuts'`) of the same evidence."
        )
        if how.startswith("NUTS"):
            todo = "Take more draws and tune for longer (draws=, `tune=`)."
        warnings.warn(
            f"A bound has a numerical error of about {error:.2g}, beside an interval of length "
            f"{length:.2g}. {todo}",
            UserWarning,
            stacklevel=4,
        )


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


# From evidence to distributions.


def distributions_of(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: Wanted,
    question: Question = USUAL,
) -> list[tuple[Distribution, LabelTemplate]]:
    """
    Return the distributions of measures, and the dims and coords of their batch.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit.
    measures : name, function, or sequence of these
    question : Question

    Returns
    -------
    list of tuples
        The distribution, and the dims, the coords and the name of the answer.

    Raises
    ------
    ValueError, TypeError
        If the evidence, the model, a measure or a keyword of the model is invalid.
    """
    posterior, of = select_estimand(posterior_of(evidence, question), question.of)
    measures = resolve_measures(posterior, measures)
    return labelled_distributions(posterior, measures, replace(question, of=of))


def distribution_of(
    evidence: Any, measure: str | Callable, question: Question = USUAL
) -> tuple[Distribution, LabelTemplate]:
    """Return the distribution of one measure and its labels; see `distributions_of`."""
    answers = distributions_of(evidence, measure, question)
    if len(answers) > 1:
        names = [template.name for _, template in answers]
        raise fail("only one measure at a time", names, "a name or a function", "ask for each")
    return answers[0]


def labelled_distributions(
    posterior: Posterior, measures: Sequence[Callable], question: Question = USUAL
) -> list[tuple[Distribution, LabelTemplate]]:
    """Return the distributions of resolved measures of a posterior; see `distributions_of`."""
    of, n, accuracy = question.of, question.n, question.accuracy
    distributions = posterior.distributions(
        measures, of=of, n=n, draws=question.draws, random_seed=question.random_seed
    )
    if accuracy is not None:
        distributions = [distribution.with_tolerance(accuracy) for distribution in distributions]
    attrs = {"of": posterior.estimand_name(of)}
    if posterior.reference and of != "finite":  # which is of the groups as they are
        attrs |= {"covariates": posterior.reference}
    if caveats := cautions.of_measures(posterior, measures, of):
        attrs |= {"caution": " ".join(caveats)}
    templates = [posterior.measure_template(measure, attrs) for measure in measures]
    return list(zip(distributions, templates, strict=True))


# What is asked: the estimand, measures, labels.


def usual_measures(evidence: Any) -> list[str]:
    """Return the usual measures of evidence of its type, or raise where there are none."""
    measures = type_of(evidence).default_measures(evidence)
    if not measures:
        raise fail(NO_LEVEL, ..., "", "use compare(results) or ranks(results)")
    return measures


def resolve_measures(posterior: Posterior, measures: Wanted | None) -> list:
    """Return the measures as the posterior has them, or raise where it lacks one."""
    if posterior.measured:
        return _measured(posterior.measured, measures)
    if measures is None:
        raise fail("no measures", ..., "one or more", 'pass e.g. "f1"', TypeError)
    if posterior.measured_variable != "cells":
        resolved = of_variable(measures, posterior.measured_variable)
        return [posterior.bound(kernel) for kernel in resolved]
    return [posterior.bound(kernel) for kernel in kernels(measures, posterior.counts)]


def _measured(available, measures):
    """Return those measures that the evidence was measured by: all unless some are named."""
    by_name = {measure.__name__: measure for measure in available}
    names = list(by_name) if measures is None else several(measures)
    for name in names:
        if name not in by_name:
            raise fail("the results are not of this measure", name, by_name, "name no measure")
    return [by_name[name] for name in names]


def _of_the_same_dims(pairs):
    """Leave out measures with a value for each class if others have one for all classes."""
    whole = [pair for pair in pairs if "class" not in pair[1].dims]
    return whole or pairs


def common_template(templates: Sequence[LabelTemplate], measure: Any) -> LabelTemplate:
    """Return the dims and coords of the answer; a sequence of measures has a dim of its own."""
    if isinstance(measure, str) or callable(measure):
        return templates[0]
    if len({template.dims for template in templates}) > 1:
        names = [template.name for template in templates if "class" in template.dims]
        todo = "ask for them separately, or for averages over the classes such as f1_macro"
        raise fail("only some of the measures have one value per class", names, "all or none", todo)
    names = [template.name for template in templates]
    return replace(templates[0], name="interval").prepend_dim("measure", names)
