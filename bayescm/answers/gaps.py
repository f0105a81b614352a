"""
Performance gaps between groups: range, ratio, worst group, and deviations.

The largest of J noisy values minus the smallest overestimates the gap, even if all groups are
equal. Three or more groups are therefore partially pooled first, and the statistic is computed from
joint draws. `bayescm.evidence.default_models` selects the model from the number of groups and the
type of evidence.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.answers import cautions
from bayescm.answers.compare import draw_labelled
from bayescm.answers.interval import resolve_measures
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import CELLS
from bayescm.evidence.default_models import ENOUGH_GROUPS, MANY_GROUPS
from bayescm.evidence.partly_labelled import is_partly_labelled
from bayescm.evidence.registry import type_of
from bayescm.fitting.posterior_for import members_of
from bayescm.fitting.question import USUAL, Question
from bayescm.fitting.sampled import is_sampled
from bayescm.measures.labelled import apply, check_not_several
from bayescm.measures.measure import Measure
from bayescm.posteriors.base import Posterior
from bayescm.posteriors.dirichlet_multinomial import DirichletMultinomial
from bayescm.validate import (
    check_choice,
    check_kind,
    check_number,
    check_prob,
    check_seed,
    fail,
    suggest,
)

STATISTICS = ("range", "ratio", "worst", "deviation")
_NUMBERS_AT_ONCE = 2e7  # largest number of values drawn at once (160 MB)


class Named(NamedTuple):
    """Measures and statistic of a named gap. With several measures, the worst result is used."""

    measures: tuple[str, ...]
    statistic: str


# Names of metrics in fairlearn. With several measures, the worst result is used.
NAMED = {
    "demographic_parity_difference": Named(("predicted_prevalence",), "range"),
    "demographic_parity_ratio": Named(("predicted_prevalence",), "ratio"),
    "equalized_odds_difference": Named(("recall", "fpr"), "range"),
    "equalized_odds_ratio": Named(("recall", "fpr"), "ratio"),
    "equal_opportunity_difference": Named(("recall",), "range"),
    "equal_opportunity_ratio": Named(("recall",), "ratio"),
}
_TOGETHER = (
    "All classifiers share one standard deviation between groups, so a gap that "
    "only one of them has is shrunk towards 0. The coverage of these intervals was "
    "not measured."
)


def gap(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable,
    *,
    dim: str | Sequence[str] = "group",
    statistic: str = "range",
    prob: float = 0.95,
    kind: str = "hdi",
    delta: float | None = None,
    reference: Hashable | None = None,
    of: str = "finite",
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> xr.DataArray:
    """
    Return the posterior interval of the gap between groups.

    The largest of several noisy values minus the smallest overestimates the gap, even if all groups
    are equal. Three or more groups are therefore partially pooled first. The model depends on their
    number:

    - Two groups are not pooled. The gap is the absolute difference, as in `bayescm.compare`.
    - Three to five groups: `models.hierarchical_groups` with a wide prior on the between-group
      standard deviation (``spread=3``).
    - Six or more groups: `models.robust_groups`, which allows for outlying groups. With more than
      two classes or several classifiers: `models.hierarchical_groups`.
    - Three or more slices of item scores, attempts or multilabel predictions:
      `models.item_score_slices`. Two slices are not pooled.
    - Three or more groups of examples with scores or probabilities: partially pooled in the same
      way. A group without examples of a class is excluded, with a caution.

    In contrast, `interval` with ``of="group"`` always uses `models.hierarchical_groups` with
    ``spread=1``, so its estimates for groups differ. Pass ``model="hierarchical_groups"`` to use
    that model here.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts with a dimension ``group``, or a fit of them; outcomes of several classifiers on the
        same examples (``from_classifiers(..., by={"group": ...})``), whose gaps are drawn jointly.
        Also scores or probabilities with groups, and item scores, attempts or multilabel
        predictions in slices (``by={"topic": ...}``, with ``dim="topic"``). A group may lack a
        class or have no examples.
    measure : str or callable
        A measure, or the name of a fairness metric in fairlearn:
        ``"demographic_parity_difference"``, ``"equalized_odds_difference"`` (the larger of the gaps
        in recall and false positive rate), ``"equal_opportunity_difference"``, or the same names
        with ``_ratio``.
    dim : str or sequence of str, default "group"
        Dimension whose members are compared. With several dimensions, each combination of labels is
        a group, and the model is ``crossed_groups``.
    statistic : {"range", "ratio", "worst", "deviation"}
        Statistic of the groups:

        - ``"range"``: the largest value minus the smallest.
        - ``"ratio"``: the smallest value divided by the largest.
        - ``"worst"``: the worst value.
        - ``"deviation"``: for each group, its value minus the mean of the other groups.
    prob : float in (0, 1), default 0.95
        Probability of the interval.
    kind : {"hdi", "eti"}
    delta : float, optional
        Threshold for the coordinate ``p_below``, the probability that the statistic (or its
        difference, with ``reference``) is below ``delta``.
    reference : label, optional
        Reference classifier. The result is then the paired difference in the statistic between
        every other classifier and the reference. With ``delta=0``, ``p_below`` is the
        probability that the gap is smaller than for the reference.
    of : {"finite"}
        The gap refers to the observed groups.
    model, concentration, positive, draws, random_seed
        See `bayescm.interval`.
    **keywords
        Further keywords of the model, such as ``spread=0.5``.

    Returns
    -------
    DataArray, dims (..., [group], [class], bound)
        ``bound`` is lower and upper. Only ``"deviation"`` has a dimension ``group``. The coordinate
        ``point`` is the posterior mean; ``observed`` is the statistic of the sample, which
        overestimates a gap.

        Attributes are ``statistic``, ``of``, ``prob``, ``kind`` and ``how``, the largest numerical
        ``error`` of a bound (see `bayescm.interval`), and ``caution`` if there is reason to doubt
        the model. With two to five groups, a caution is added if the gap depends strongly on the
        prior: another common prior moves an end of the interval by more than a quarter of its
        length.

    Raises
    ------
    ValueError
        If there are fewer than two groups, or an argument is invalid.

    Notes
    -----
    A range is never below 0. A highest-density interval starts at 0 if the density is highest
    there, which is the case if the groups may well be equal. An equal-tailed interval never
    contains 0; use its upper end, or ``p_below``.

    See Also
    --------
    compare : Pairs of groups, with ``dim="group"``.

    Examples
    --------
    >>> import bayescm as bcm
    >>> sites = bcm.from_cells(tp=[45, 40, 44, 46], fn=[5, 10, 6, 4], fp=[9] * 4, tn=[41] * 4)
    >>> sites = sites.rename(batch="group")
    >>> recall_gap = gap(sites, "recall", delta=0.1)
    >>> bool(recall_gap.point < recall_gap.observed), float(recall_gap.observed.round(2))
    (True, 0.12)
    >>> bool(recall_gap.p_below > 0.5)
    True
    """
    check_choice("of", of, ["finite"])
    question = Question(
        "parameter", None, model, concentration, positive, draws, random_seed, None, keywords
    )
    posterior, dims, names = pooled(evidence, dim, question)
    gaps = gap_of(
        posterior,
        measure,
        dims,
        statistic=statistic,
        prob=prob,
        kind=kind,
        delta=delta,
        reference=reference,
        draws=draws,
        random_seed=random_seed,
    )
    return gaps.rename({old: new for old, new in names.items() if old in gaps.dims})


def gap_of(
    posterior: Posterior,
    measure: str | Callable,
    dim: str | Sequence[str] = "group",
    *,
    statistic: str = "range",
    prob: float = 0.95,
    kind: str = "hdi",
    delta: float | None = None,
    reference: Hashable | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> xr.DataArray:
    """Return the gap, given the posterior of all groups. See `gap` for the parameters."""
    check_prob(prob), check_kind(kind)
    measures, statistic = _measures_and_statistic(measure, statistic)
    asked: dict[str, Any] = {"statistic": statistic, "prob": prob, "kind": kind, "delta": delta}
    asked |= {"reference": reference, "draws": draws, "random_seed": check_seed(random_seed)}
    answer = _gap_of_measures(posterior, measures, dim, **asked)
    resolved_measures = resolve_measures(posterior, measures)
    doubts = cautions.of_measures(posterior, resolved_measures, "parameter")
    doubts += [
        sentence for resolved in resolved_measures for sentence in posterior.misfit(resolved)
    ]
    doubts += _prior_decides(posterior, answer, measures, dim, **asked)
    # Models for other types of evidence use a separate spread for each classifier.
    of_cells = posterior.measured_variable == "cells" and posterior.partially_pooled
    if of_cells and "classifier" in answer.dims and "classifier" in posterior.pairs:
        doubts.append(_TOGETHER)
    name = measure if isinstance(measure, str) else answer.name
    attrs = {"statistic": statistic, "of": "finite", "prob": prob, "kind": kind}
    attrs |= {"how": posterior.how, **answer.attrs}
    attrs |= {"caution": " ".join(doubts)} if doubts else {}
    return answer.rename(name).assign_attrs(attrs)


def _gap_of_measures(
    posterior, measures, dim, *, statistic, prob, kind, delta, reference, draws, random_seed
):
    """Return the gap in one or more measures, with its largest error in the attributes."""
    resolved_measures = resolve_measures(posterior, measures)
    size, rng = number_of_draws(posterior, draws), np.random.default_rng(random_seed)
    drawn = _draw_statistic(posterior, resolved_measures, dim, statistic, size, rng)
    sample_values = [observed_values(posterior, measure) for measure in resolved_measures]
    of_sample = _worse_statistic(sample_values, resolved_measures, dim, statistic)
    scale_end = SCALE_ENDS.get(statistic)
    if reference is not None:
        drawn = _minus_reference(drawn, reference, posterior)
        of_sample = _minus_reference(of_sample, reference, posterior)
        scale_end = None
    drawn = drawn.transpose("draw", ...)
    distribution = posterior.empirical(resolved_measures[0], drawn.values)
    answer, error = _intervals(distribution, drawn, prob, kind, delta, scale_end)
    answer = answer.assign_coords(observed=of_sample.variable)
    return answer.rename(resolved_measures[0].__name__).assign_attrs(error=error)


def number_of_draws(posterior: Posterior, draws: int | None) -> int:
    """Return the number of draws. Sampled posteriors have already used ``draws``."""
    if draws is None or is_sampled(posterior):
        return posterior.draws_by_default("finite" if posterior.partially_pooled else "parameter")
    return draws


# With at most this number of groups, the prior for the between-group spread may dominate.
_FEW_GROUPS = MANY_GROUPS - 1
# A caution is added if another prior moves an end of an interval by more than this fraction of its
# length.
_MOVED = 0.25


def _prior_decides(posterior, found, measures, dim, **asked):
    """Return a caution if another common prior changes the gap between few groups strongly."""
    dims = [dim] if isinstance(dim, str) else dim
    groups = math.prod(posterior.template.sizes[name] for name in dims)
    if groups > _FEW_GROUPS or asked["reference"] is not None:
        return []
    if posterior.apart is not None:
        other, words = posterior.apart, "without partial pooling"
        what = f"the prior of the spread between {groups} groups"
    elif isinstance(posterior, DirichletMultinomial):
        doubled = 2 * posterior.concentration - posterior.counts.values
        other, words = replace(posterior, concentration=doubled), "with twice the pseudo-counts"
        what = f"the prior of each of the {groups} groups"
    else:
        return []
    with_other = _gap_of_measures(other, measures, dim, **asked)
    length = found.sel(bound="upper") - found.sel(bound="lower")
    moved = np.abs(with_other - found).max("bound")
    if not bool((moved > _MOVED * length).any()):
        return []
    ends = f"an end of the interval changes by up to {float(moved.max()):.2g}"
    if found.dims == ("bound",):
        ends = "the interval is [{:.3g}, {:.3g}]".format(*with_other.values)
    return [f"The gap depends on {what}: {words}, {ends}."]


def _measures_and_statistic(measure, statistic):
    """Return the measures and the statistic of a gap, which may be given by name."""
    check_choice("statistic", statistic, STATISTICS)
    check_not_several(measure)
    if isinstance(measure, str) and measure.endswith(("_difference", "_ratio")):
        if measure in NAMED:
            named = NAMED[measure]
            if statistic not in ("range", named.statistic):
                todo = "leave `statistic` out"
                raise fail(
                    f"`statistic={statistic!r}` has no effect: the statistic of {measure} is "
                    f"{named.statistic!r}",
                    ...,
                    "",
                    todo,
                )
            return list(named.measures), named.statistic
        if suggest(measure, NAMED):
            raise fail("Unknown gap {}", measure, NAMED, suggest(measure, NAMED))
    return [measure], statistic


# Statistics of draws and of the sample.


def _draw_statistic(posterior, measures, dim, statistic, size, rng):
    """Draw a statistic, dims (draw, ...), in batches of draws."""
    step = max(1, int(_NUMBERS_AT_ONCE / posterior.values_per_draw))
    parts = []
    for start in range(0, size, step):
        some = draw_labelled(posterior, measures, min(step, size - start), rng)
        for group_dim in [dim] if isinstance(dim, str) else dim:
            if group_dim not in some.dims:
                todo = "name the column of groups: `from_predictions(..., by={'group': site})`"
                raise fail(f"The evidence has no dimension {group_dim}", ..., "", todo)
        values = [some[measure.__name__] for measure in measures]
        parts.append(_worse_statistic(values, measures, dim, statistic))
    return xr.concat(parts, "draw")


def observed_values(posterior: Posterior, measure: Measure) -> xr.DataArray:
    """Return a measure of the sample in every group."""
    if posterior.measured_variable != "cells":
        return posterior.measure_template(measure).to_dataarray(posterior.point(measure))
    return apply(measure, posterior.observed.transpose(..., *CELLS))


def number_of_examples(posterior: Posterior) -> xr.DataArray:
    """Return the number of examples or items in every group."""
    of_cells = posterior.measured_variable == "cells"
    return posterior.observed.sum(CELLS) if of_cells else posterior.batch


def _worse_statistic(values, measures, dim, statistic):
    """Return the statistic of one measure, or the worst result of several measures."""
    parts = [
        statistic_of(array, dim, statistic, less=measure.lower_is_better)
        for array, measure in zip(values, measures, strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    stacked = xr.concat(parts, "measure", coords="minimal", compat="override")
    return stacked.min("measure") if statistic == "ratio" else stacked.max("measure")


def statistic_of(
    values: xr.DataArray, dim: str | Sequence[str], statistic: str, *, less: bool
) -> xr.DataArray:
    """
    Return a statistic of the values of a measure along dimensions, ignoring NaN.

    Examples
    --------
    >>> values = xr.DataArray([0.9, 0.7, 0.6], dims="group")
    >>> statistic_of(values, "group", "deviation", less=False).values.round(2)
    array([ 0.25, -0.05, -0.2 ])
    """
    low, high = values.min(dim), values.max(dim)
    if statistic == "range":
        return high - low
    if statistic == "ratio":
        return low / high.where(high > 0)
    if statistic == "worst":
        return high if less else low
    number = values.notnull().sum(dim)
    rest = (values.sum(dim) - values.fillna(0)) / (number - 1).where(number > 1)
    return (values - rest).transpose(*values.dims)


def _minus_reference(values, reference, posterior):
    """Return the statistic of every other classifier minus that of the reference."""
    if "classifier" not in posterior.pairs:
        todo = "make it with `from_classifiers(..., by={'group': site})`"
        raise fail("A reference needs outcomes of classifiers on the same examples", ..., "", todo)
    names = values["classifier"].values.tolist()
    if reference not in names:
        todo = suggest(reference, names)
        raise fail("Unknown classifier {} as the reference", reference, names, todo)
    base = values.sel(classifier=reference, drop=True)
    return values.drop_sel(classifier=reference) - base


# End of the scale of a statistic, which is reached if all groups are equal: the index of the bound
# and its value. The value is 0 for a range and 1 for a ratio.
SCALE_ENDS: dict[str, tuple[int, float]] = {"range": (0, 0.0), "ratio": (1, 1.0)}


def interval_up_to(
    distribution: Empirical, prob: float, kind: str, end: tuple[int, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return an interval that may start at the end of the scale, and its errors.

    The shortest interval of draws starts at one of the draws, so it never contains the end of the
    scale. The interval from the end of the scale is used instead if it is equally short, up to the
    Monte Carlo error of the ends. In this case, the density is highest at the end of the scale.

    Parameters
    ----------
    distribution : Empirical
    prob : float
    kind : {"hdi", "eti"}
    end : tuple of int and float, or None
        Index of the bound at the end of the scale, 0 (lower) or 1 (upper), and the value of this
        end.
    """
    ends, errors = distribution.interval_with_error(prob, kind)
    if end is None or kind != "hdi":
        return ends, errors
    side, value = end
    other = distribution.quantile(prob if side == 0 else 1 - prob)
    length, shortest = np.abs(other - value), ends[..., 1] - ends[..., 0]
    reaches = length <= shortest + np.nan_to_num(errors.max(axis=-1))
    at_end = np.stack([np.full_like(other, value), other], axis=-1)[..., :: 1 - 2 * side]
    at_end_errors = np.stack([np.zeros_like(other), distribution.error_at(other)], axis=-1)
    at_end_errors = at_end_errors[..., :: 1 - 2 * side]
    reaches = reaches[..., None]
    return np.where(reaches, at_end, ends), np.where(reaches, at_end_errors, errors)


def _intervals(distribution, drawn, prob, kind, delta, end):
    """
    Return the interval and the largest error of a bound.

    The coordinates are the posterior mean and the probability of being below `delta`.
    """
    values = distribution.draws
    ends, errors = interval_up_to(distribution, prob, kind, end)
    blank = drawn.isel(draw=0, drop=True)
    coords = {
        name: coord for name, coord in blank.coords.items() if set(coord.dims) <= set(blank.dims)
    }
    coords |= {"bound": ["lower", "upper"], "point": (blank.dims, values.mean(0))}
    if delta is not None:
        delta = check_number("delta", delta, usual=0.05)
        coords["p_below"] = (blank.dims, (values < delta).mean(0))
    answer = xr.DataArray(ends, dims=(*blank.dims, "bound"), coords=coords)
    return answer, float(np.max(errors, initial=0.0, where=~np.isnan(errors)))


# Pooling of groups, whose dimension may have any name.
GROUP = "group"
# Dimensions with a fixed meaning in models. Their members are not groups of examples.
_NOT_GROUPS = ("fold", "classifier", "half", "repeat", "step", "batch", "item", "attempt")


def pooled(
    evidence: Any, dim: str | Sequence[str], question: Question = USUAL
) -> tuple[Posterior, list[str], dict[Hashable, Hashable]]:
    """
    Return the posterior of groups, its group dimensions, and the original names to restore.

    A single dimension with another name is renamed to ``group``, so that its members are modelled
    as groups. Combinations of several dimensions use `models.crossed_groups`. The posterior is
    partially pooled if there are three or more groups.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
    dim : str or sequence of str
    question : Question
        Model and further options. By default the model pools the groups.

    Raises
    ------
    ValueError
        If the dimension does not exist, or if three or more members are not pooled.
    """
    dims = [dim] if isinstance(dim, str) else list(dim)
    if not dims:
        raise fail("The evidence has no dimension of groups", ..., "", 'pass `dim="group"`')
    fitted, named = isinstance(evidence, xr.DataTree), question.model is not None
    if not named and is_partly_labelled(evidence):
        raise fail(
            "Slices of partly labelled examples cannot be pooled",
            ...,
            "",
            f"use interval(evidence, ...) or compare(evidence, ..., `dim={dims[0]!r}`)",
        )
    names: dict[Hashable, Hashable] = {}
    of_cells = type_of(evidence).has_cells
    if len(dims) > 1 and not fitted and of_cells:
        question = question if named else replace(question, model="crossed_groups")
    elif not fitted and not named and of_cells and _stands_for_groups(evidence, dims[0]):
        evidence, names, dims = evidence.rename({dims[0]: GROUP}), {GROUP: dims[0]}, [GROUP]
    posterior = members_of(evidence, dims[0], question)
    if not fitted and question.model is None:
        _check_pooled(posterior, dims[0])
    missing = [name for name in dims if name not in posterior.template.dims]
    if missing:
        todo = "name the columns of groups: `from_predictions(..., by={'group': site})`"
        raise fail(
            "The evidence has no dimension {}", missing[0], list(posterior.template.dims), todo
        )
    if math.prod(posterior.template.sizes[name] for name in dims) < 2:
        sizes = {name: posterior.template.sizes[name] for name in dims}
        raise fail(
            "At least two groups are needed; the sizes are {}",
            sizes,
            "",
            "name the column of groups",
        )
    return posterior, dims, names


def _stands_for_groups(evidence, dim):
    """Return True if a dimension contains groups under another name."""
    dims = getattr(evidence, "dims", ())
    return dim in dims and dim not in (GROUP, *_NOT_GROUPS) and GROUP not in dims


def _check_pooled(posterior, dim):
    """Raise an error if three or more groups are not pooled, as the worst may be bad by chance."""
    sizes = posterior.template.sizes
    two_groups = dim not in _NOT_GROUPS and sizes.get(dim, 0) < ENOUGH_GROUPS
    if dim in sizes and not two_groups and not posterior.partially_pooled:
        raise fail(
            "Members along {} cannot be partially pooled",
            dim,
            "",
            f'if they are groups, rename the dimension, counts.rename({dim}="group"), or '
            'pass `model="dirichlet_multinomial"`',
        )
