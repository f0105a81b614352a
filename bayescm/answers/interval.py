"""
Posterior distributions, intervals and probabilities of measures, as labelled arrays.

The evidence and the model determine a posterior, from which the distribution of every measure
follows. `distribution` adds the labels of the evidence and provides moments, quantiles,
probabilities and intervals. `interval` and `prob_above` are shortcuts for the most common of these.
Neither PyMC nor a plotting library is imported.
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
from bayescm.measures.labelled import as_measures, of_variable, several
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import check_choice, check_kind, check_prob, fail

# Keywords of the question; all others are passed to the model.
ASKED = ("of", "n", "draws", "random_seed", "accuracy")
Wanted = str | Callable | Sequence[str | Callable]
# A warning is issued if the numerical error of a bound exceeds both limits. For draws, the error is
# a bound that holds for both ends for 95% of sets of draws. It is about 2.4 to 4.5 standard errors.
_LARGE_ERROR = 0.8  # relative to the length of the interval
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
    Return the posterior interval of one or more measures.

    The result is a labelled array, which suits batches and further computation. Use
    `bayescm.summary` for a table with point estimates and intervals, and `distribution` for other
    properties of the posterior.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts with dims (..., actual, predicted), outcomes of several classifiers, or a fit.
        For counts in a Dask array the result is a Dask array too, which is computed block by
        block on demand.
    measure : str, callable or sequence of these, optional
        Name of a measure, or a function of cells (..., C, C). By default the measures of
        `bayescm.summary`, excluding measures with one value per class if there are others. All
        measures whose distribution is not known are estimated from the same draws.
    prob : float in (0, 1), default 0.95
        Probability of the interval.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed interval. With 20 examples or fewer, equal-tailed
        intervals have better coverage. See Notes for densities without a unique mode.
    of : str, default "parameter"
        Estimand. Which ones are available depends on the model.

        - ``"parameter"``: the measure itself.
        - ``"predictive"``: the measure on the next test set of ``n`` examples.
        - ``"finite"``: the unweighted mean over the observed groups, items or fold classifiers,
          without the sampling error of their test examples.
        - ``"population"``: the mean over all groups or items that could be sampled.
        - ``"typical"``: the median group.
        - ``"new"``: a single new group or item.
        - The name of a dimension over which the model pools, such as ``"group"``: each member
          of this dimension, partially pooled.
    n : int, optional
        Size of the next test set. By default the observed number of examples. For attempts, the
        number of attempts per item in the next run, by default the most common number.
    model : str or callable, optional
        Name of a model. Alternatively, a function of the evidence and keywords that returns a
        `bayescm.posteriors.base.Posterior`, or a ``pymc.Model`` with a variable ``theta``,
        which is sampled by NUTS. By default the model is selected by the type of evidence.
    concentration : float, array_like, DataArray or callable, optional
        Prior, for models with this keyword. For counts, pseudo-counts per cell, by default 2 / C**2
        with C classes. A function that returns a PyMC variable, given its name, specifies a prior
        of another family, such as ``partial(pm.Gamma, alpha=2, beta=1)``; the model is then
        sampled.
    positive : label, optional
        Positive class. It overrides the positive class of the evidence, and is required if a
        measure needs one and the evidence does not specify it.
    draws : int, optional
        Number of draws per matrix, for every measure. By default no draws are needed if the
        distribution is known, and 20,000 are taken otherwise. For groups, more draws also use
        more points of the group parameters. For a model sampled by NUTS, the number of draws
        per chain, by default 1,000.
    random_seed : int, default 0
        Seed of the random draws.
    accuracy : float, optional
        Tolerance for interval ends that are computed by quadrature, relative to the length of the
        interval. The default is 1e-4, or 1e-3 for more than 1,000 matrices. Probabilities, such as
        the probability of exceeding a value, have a smaller error.
    **keywords
        Further keywords of the model, such as ``omega`` of `bayescm.models.pooled_folds`. For
        sampled models, also options of the sampler such as ``tune``, ``chains`` and
        ``target_accept``. See `bayescm.fit`.

    Returns
    -------
    DataArray, dims ([measure], ..., [class], bound)
        ``bound`` is lower and upper. A sequence of measures adds a dimension ``measure``. The
        leading dimensions of the evidence are kept, except those over which the model pools
        (``fold``, ``repeat``). Values are NaN if the measure is undefined with probability 1.
        The attributes are:

        - ``of``, ``prob`` and ``kind``: the estimand and the type of interval.
        - ``how``: the method of computation.
        - ``error``: the largest numerical error of a bound. For draws, it is a 95% bound on the
          Monte Carlo error of both ends.
        - ``undefined``: the largest fraction of the posterior with an undefined measure (0/0).
        - ``covariates``: the covariate values to which the interval refers.

    Raises
    ------
    ValueError, TypeError
        If prob, kind, the model, the measure or a keyword of the model is invalid.

    Notes
    -----
    If a density has more than one mode, such as a beta density that rises at both ends, the
    highest-density interval is the shortest interval with probability ``prob``. If the density
    is flat, the equal-tailed interval is returned. In both cases, ``attrs["how"]`` contains a
    remark.

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
    Return the posterior distribution of one or more measures.

    Use it if you need several properties of the same posterior, such as moments, quantiles and
    probabilities. The posterior is computed only once.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts with dims (..., actual, predicted), outcomes of several classifiers, or a fit.
    measure : str, callable or sequence of these, optional
        Name of a measure, or a function of cells (..., C, C). By default the measures of
        `bayescm.summary`, excluding measures with one value per class if there are others. With a
        sequence, all results have a dimension ``measure``.
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
    """Return the distribution of one or more measures for a question. See `distribution`."""
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

    Use `bayescm.check` to test several requirements, with a verdict for each.

    Parameters
    ----------
    evidence, measure
        See `interval`. A sequence of measures adds a dimension ``measure``.
    threshold : float, sequence of floats or DataArray
        One or more thresholds. Several thresholds add a last dimension ``threshold``. A DataArray
        with the dimensions of the result specifies a separate threshold for each member.
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
    Posterior distribution of measures, for each member of the evidence.

    Created by `bayescm.distribution`.

    Attributes
    ----------
    distributions : tuple of Distribution
        Distribution of each measure, vectorised over the members of the evidence.
    template : LabelTemplate
        Dimensions, coordinates and attributes of the results. For several measures, the first
        dimension is ``measure``.

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
        Return the mode of the posterior density, or NaN if it has no mode.

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
            Third standardised moment (SK1), or Pearson's (mean - mode) / sd (SK2).

        Raises
        ------
        ValueError
            If the method is unknown.

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
            One or more values of the measure. Several values add a last dimension ``x``. A
            DataArray with the dimensions of the result specifies a separate value for each member.

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
        Return the posterior density at x.

        Parameters and errors are the same as for `cdf`.

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
            One or more thresholds. Several thresholds add a last dimension ``threshold``. A
            DataArray with the dimensions of the result specifies a separate threshold for each
            member.

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
        Return the posterior quantile of the measure.

        Parameters
        ----------
        q : float in [0, 1], or sequence of these
            Probability below the quantile. Several probabilities add a last dimension ``quantile``.

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
            raise fail("`q` must be between 0 and 1", q, "", "pass `q=0.5` for the median")
        return self._at(lambda distribution, point: distribution.quantile(point), "quantile", q)

    def interval(self, prob: float = 0.95, kind: str = "hdi") -> xr.DataArray:
        """
        Return the posterior interval. See `bayescm.interval`.

        Parameters
        ----------
        prob : float in (0, 1), default 0.95
            Probability of the interval.
        kind : {"hdi", "eti"}
            Highest-density or equal-tailed interval.

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
        """Return the shape of the result for one measure."""
        return self.template.shape[self._several :]

    def _label(self, statistic, dim=None, points=()):
        """Return a labelled statistic of each distribution, optionally with a new last dim."""
        template = replace(self.template, name=None) if self._several else self.template
        template = template if dim is None else template.append_dim(dim, points)
        shape = template.shape[self._several :]
        numbers = map(statistic, self.distributions)
        values = [np.broadcast_to(number, shape).astype(float) for number in numbers]
        return template.to_dataarray(np.stack(values) if self._several else values[0])

    def _at(self, function, dim, values):
        """Return a function of the distribution at one or more values. Several values add a dim."""
        points = _floats(dim, values)
        if points.ndim == 0:
            return self._label(lambda distribution: function(distribution, points))
        if isinstance(values, xr.DataArray):  # one value per member
            if (values.dims, values.shape) != (self.template.dims, self.template.shape):
                dims = str(self.template.dims)
                raise fail(
                    f"{dim} has the dimensions {{}}, which do not match the result",
                    values.dims,
                    dims,
                    "pass numbers, or one for each member of the result",
                )
            return self._label(lambda distribution: function(distribution, points))

        def at_points(distribution):
            return np.stack([function(distribution, point) for point in points.tolist()], axis=-1)

        return self._label(at_points, dim, points)


def _pearson_skewness(distribution):
    return (distribution.mean() - distribution.mode()) / distribution.sd()


# Intervals of the distributions, with their errors.


def _computed_intervals(distributions, prob, kind):
    """Return the ends, method, error and undefined fraction of each distribution's interval."""
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
    """Return how the intervals of a distribution were computed, with remarks on their kind."""
    if kind == "eti":
        return distribution.how
    kinds = np.unique(distribution.hdi_kind(prob)).tolist()
    return distribution.how + "".join(remark(kind) for kind in kinds)


def _warn_of_error(error, ends, how):
    """Warn if the numerical error is large relative to the interval."""
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
            f"The numerical error of a bound is about {error:.2g}, compared with an "
            f"interval of length {length:.2g}. {todo}",
            UserWarning,
            stacklevel=4,
        )


def _floats(name, values):
    """Convert to a float array of shape (...) or (n,), or raise an error if this is impossible."""
    try:
        array = np.asarray(values, float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    many = array.ndim > 1 and not isinstance(values, xr.DataArray)
    if many or array.size == 0 or np.isnan(array).any():
        todo = "pass one number, or a list of them"
        raise fail(f"{name} must be one or more numbers", values, "", todo)
    return array


# From evidence to distributions.


def distributions_of(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: Wanted,
    question: Question = USUAL,
) -> list[tuple[Distribution, LabelTemplate]]:
    """
    Return the distributions of measures, with their labels.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts with dims (..., actual, predicted), outcomes of several classifiers, or a fit.
    measures : name, function, or sequence of these
    question : Question

    Returns
    -------
    list of tuples
        Each distribution, with the dimensions, coordinates and name of its result.

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
    """Return the distribution of one measure and its labels. See `distributions_of`."""
    answers = distributions_of(evidence, measure, question)
    if len(answers) > 1:
        names = [template.name for _, template in answers]
        raise fail(
            "Only one measure is possible; got {}",
            names,
            "",
            "call the function once for each measure",
        )
    return answers[0]


def labelled_distributions(
    posterior: Posterior, measures: Sequence[Callable], question: Question = USUAL
) -> list[tuple[Distribution, LabelTemplate]]:
    """Return the distributions of resolved measures of a posterior. See `distributions_of`."""
    of, n, accuracy = question.of, question.n, question.accuracy
    distributions = posterior.distributions(
        measures, of=of, n=n, draws=question.draws, random_seed=question.random_seed
    )
    if accuracy is not None:
        distributions = [distribution.with_tolerance(accuracy) for distribution in distributions]
    attrs = {"of": posterior.estimand_name(of)}
    # The observed groups have their own values of the covariates.
    if posterior.reference and of != "finite":
        attrs |= {"covariates": posterior.reference}
    if caveats := cautions.of_measures(posterior, measures, of):
        attrs |= {"caution": " ".join(caveats)}
    templates = [posterior.measure_template(measure, attrs) for measure in measures]
    return list(zip(distributions, templates, strict=True))


# Resolution of the question: estimand, measures and labels.


def usual_measures(evidence: Any) -> list[str]:
    """Return the default measures for this type of evidence, or raise an error if it has none."""
    measures = type_of(evidence).default_measures(evidence)
    if not measures:
        raise fail(NO_LEVEL, ..., "", "use compare(results) or ranks(results)")
    return measures


def resolve_measures(posterior: Posterior, measures: Wanted | None) -> list:
    """Resolve measures for a posterior, or raise an error if one of them is unavailable."""
    if posterior.measured:
        return _measured(posterior.measured, measures)
    if measures is None:
        raise fail("No measures are given", ..., "", 'pass e.g. "f1"', TypeError)
    if posterior.measured_variable != "cells":
        resolved = of_variable(measures, posterior.measured_variable)
        return [posterior.bound(measure) for measure in resolved]
    return [posterior.bound(measure) for measure in as_measures(measures, posterior.counts)]


def _measured(available, measures):
    """Return the requested measures of results that were measured in advance, by default all."""
    by_name = {measure.__name__: measure for measure in available}
    names = list(by_name) if measures is None else several(measures)
    for name in names:
        if name not in by_name:
            raise fail(
                f"The results are not values of {{}}, but of {by_name}",
                name,
                "",
                "leave the measure out",
            )
    return [by_name[name] for name in names]


def _of_the_same_dims(pairs):
    """Drop measures with one value per class if others have a single value for all classes."""
    whole = [pair for pair in pairs if "class" not in pair[1].dims]
    return whole or pairs


def common_template(templates: Sequence[LabelTemplate], measure: Any) -> LabelTemplate:
    """Return the labels of the result. A sequence of measures adds a dimension ``measure``."""
    if isinstance(measure, str) or callable(measure):
        return templates[0]
    if len({template.dims for template in templates}) > 1:
        names = [template.name for template in templates if "class" in template.dims]
        raise fail(
            "Only some of the measures {} have one value per class",
            names,
            "",
            "use them separately, or use averages over the classes such as f1_macro",
        )
    names = [template.name for template in templates]
    return replace(templates[0], name="interval").prepend_dim("measure", names)
