"""
How far groups are apart: the gap, the ratio, the worst of them, each against the rest.

The largest of J noisy values minus the smallest is too large even where all groups are equal. The
groups are therefore partially pooled first, and the statistic is that of joint draws of them.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.answers.compare import draw_labelled
from bayescm.answers.interval import check_draws, resolve_measures
from bayescm.evidence.counts import CELLS
from bayescm.evidence.partly_labelled import is_partly_labelled
from bayescm.evidence.types import type_of
from bayescm.fitting.posterior_for import members_of
from bayescm.fitting.sampled import is_sampled
from bayescm.measures.labelled import apply
from bayescm.measures.measure import Measure
from bayescm.posteriors.base import PerMember, Posterior
from bayescm.validate import check_choice, check_kind, check_prob, check_seed, fail, suggest

STATISTICS = ("range", "ratio", "worst", "deviation")
_NUMBERS_AT_ONCE = 2e7  # numbers of the groups' matrices held at once


class Named(NamedTuple):
    """A gap that has a name: of which measures, which statistic, and the worse of both."""

    measures: tuple[str, ...]
    statistic: str


# By the names of fairlearn.metrics: of several measures the one that is worse.
NAMED = {
    "demographic_parity_difference": Named(("predicted_prevalence",), "range"),
    "demographic_parity_ratio": Named(("predicted_prevalence",), "ratio"),
    "equalized_odds_difference": Named(("recall", "fpr"), "range"),
    "equalized_odds_ratio": Named(("recall", "fpr"), "ratio"),
    "equal_opportunity_difference": Named(("recall",), "range"),
    "equal_opportunity_ratio": Named(("recall",), "ratio"),
}
_TOGETHER = (
    "All classifiers share one spread between the groups, so that a gap that only one of them has "
    "is drawn towards 0. How often these intervals hold the truth was not measured."
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
    Return the posterior interval of how far groups are apart.

    The largest of several noisy values minus the smallest is too large even where all groups are
    equal. The groups are therefore partially pooled first, by `models.robust_groups`, in which a
    few groups may be unlike the others (more than two classes, and several classifiers:
    `models.hierarchical_groups`). `interval` with ``of="group"`` pools by
    `models.hierarchical_groups` instead, whose normal effects draw such a group towards the others:
    its groups are not exactly these, unless ``model="hierarchical_groups"`` is passed here.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts with a dim ``group``; a fit of them; or outcomes of several classifiers on the same
        examples (``from_classifiers(..., by={"group": ...})``), whose gaps are drawn jointly. A
        group may lack a class, or have no examples.
    measure : str or callable
        A measure, or a gap by the name that it has in fairlearn:
        ``"demographic_parity_difference"``, ``"equalized_odds_difference"`` (the larger one of the
        gaps in recall and in false positive rate), ``"equal_opportunity_difference"``, and the same
        with ``_ratio``.
    dim : str or sequence of str, default "group"
        The dim whose members are compared; of several every combination is a group, by the model
        ``crossed_groups``.
    statistic : {"range", "ratio", "worst", "deviation"}
        The largest value minus the smallest; the smallest divided by the largest; the worst value;
        or of each group its value minus the mean of the others.
    prob : float in (0, 1), default 0.95
        Mass of the interval.
    kind : {"hdi", "eti"}
    delta : float, optional
        A value that is asked about: the coord ``p_below`` is the probability that the statistic
        (with ``reference``, its difference) is below it.
    reference : label, optional
        One of the classifiers: of every other one, its statistic minus that of this one, paired.
        Did the gap shrink? See ``p_below`` with ``delta=0``.
    of : {"finite"}
        The gap is that of the groups at hand.
    model, concentration, positive, draws, random_seed
        See `bayescm.interval`.
    **keywords
        The model's further keywords, such as ``spread=0.5``.

    Returns
    -------
    DataArray, dims (..., [group], [class], bound)
        ``bound`` is lower, upper; only ``"deviation"`` has a dim ``group``. The coord ``point`` is
        the posterior mean, ``observed`` the statistic of the sample, which overstates a gap.
        The attributes say ``statistic``, ``of``, ``prob``, ``kind`` and ``how``; the largest
        numerical ``error`` of a bound, as of `bayescm.interval`; and in ``caution`` what makes the
        model doubtful, if anything does.

    Raises
    ------
    ValueError
        If there are no groups, or an argument is invalid.

    Notes
    -----
    A range is never below 0, so that the interval of a small gap leaves 0 out even if all groups
    are equal: what matters then is the upper limit, or ``p_below``.

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
    sampler = {"draws": check_draws(draws), "random_seed": check_seed(random_seed)}
    prior = {"concentration": concentration, "positive": positive, **keywords}
    posterior, dims, names = pooled(evidence, dim, model, **sampler, **prior)
    gaps = gap_of(
        posterior,
        measure,
        dims,
        statistic=statistic,
        prob=prob,
        kind=kind,
        delta=delta,
        reference=reference,
        **sampler,
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
    """Return the gap given the posterior of every group; parameters as for `gap`."""
    check_prob(prob), check_kind(kind)
    measures, statistic = _measures_and_statistic(measure, statistic)
    kernels = resolve_measures(posterior, measures)
    size = number_of_draws(posterior, draws)
    rng = np.random.default_rng(check_seed(random_seed))
    drawn = _draw_statistic(posterior, kernels, dim, statistic, size, rng)
    sample_values = [observed_values(posterior, kernel) for kernel in kernels]
    of_sample = _worse_statistic(sample_values, kernels, dim, statistic)
    if reference is not None:
        drawn = _minus_reference(drawn, reference, posterior)
        of_sample = _minus_reference(of_sample, reference, posterior)
    drawn = drawn.transpose("draw", ...)
    distribution = posterior.empirical(kernels[0], drawn.values)
    answer, error = _intervals(distribution, drawn, prob, kind, delta)
    answer = answer.assign_coords(observed=of_sample.variable)
    name = measure if isinstance(measure, str) else kernels[0].__name__
    attrs = {"statistic": statistic, "of": "finite", "prob": prob, "kind": kind}
    attrs |= {"how": posterior.how, "error": error}
    cautions = posterior.caveats()
    of_cells = posterior.measured_variable == "cells"  # other types have a spread of each
    if of_cells and "classifier" in answer.dims and "classifier" in posterior.pairs:
        cautions = [*cautions, _TOGETHER]
    attrs |= {"caution": " ".join(cautions)} if cautions else {}
    return answer.rename(name).assign_attrs(attrs)


def number_of_draws(posterior: Posterior, draws: int | None) -> int:
    """Return how many draws are made; ``draws`` of each chain were made of a sampled posterior."""
    if draws is None or is_sampled(posterior):
        return posterior.draws_by_default("finite")
    return draws


def _measures_and_statistic(measure, statistic):
    """Return the measures and the statistic that a name stands for."""
    check_choice("statistic", statistic, STATISTICS)
    if not isinstance(measure, str) and not callable(measure):
        todo = "ask for each by itself"
        raise fail("one measure at a time", measure, "a name or a function", todo, TypeError)
    if isinstance(measure, str) and measure.endswith(("_difference", "_ratio")):
        if measure in NAMED:
            named = NAMED[measure]
            if statistic not in ("range", named.statistic):
                todo = "leave statistic out"
                raise fail(f"{measure} has a statistic", statistic, [named.statistic], todo)
            return list(named.measures), named.statistic
        if suggest(measure, NAMED):
            raise fail("no such gap", measure, NAMED, suggest(measure, NAMED))
    return [measure], statistic


# The statistic of draws, and of the sample.


def _draw_statistic(posterior, kernels, dim, statistic, size, rng):
    """Draw a statistic, dims (draw, ...), some draws of all groups at a time."""
    step = max(1, int(_NUMBERS_AT_ONCE / posterior.values_per_draw))
    parts = []
    for start in range(0, size, step):
        some = draw_labelled(posterior, kernels, min(step, size - start), rng)
        for group_dim in [dim] if isinstance(dim, str) else dim:
            if group_dim not in some.dims:
                todo = "name the column of groups: from_predictions(..., by={'group': site})"
                what = f"the evidence has no {group_dim}s to tell apart"
                raise fail(what, ..., f"a dim {group_dim}", todo)
        values = [some[kernel.__name__] for kernel in kernels]
        parts.append(_worse_statistic(values, kernels, dim, statistic))
    return xr.concat(parts, "draw")


def observed_values(posterior: Posterior, kernel: Measure) -> xr.DataArray:
    """Return a measure of the sample itself in every group."""
    if posterior.measured_variable != "cells":
        return posterior.measure_template(kernel).to_dataarray(posterior.point(kernel))
    return apply(kernel, posterior.observed.transpose(..., *CELLS))


def number_of_examples(posterior: Posterior) -> xr.DataArray:
    """Return the number of examples, or of items, in every group."""
    of_cells = posterior.measured_variable == "cells"
    return posterior.observed.sum(CELLS) if of_cells else posterior.batch


def _worse_statistic(values, kernels, dim, statistic):
    """Return the statistic of one measure, or the worse of those of several."""
    parts = [
        statistic_of(array, dim, statistic, less=kernel.lower_is_better)
        for array, kernel in zip(values, kernels, strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    stacked = xr.concat(parts, "measure", coords="minimal", compat="override")
    return stacked.min("measure") if statistic == "ratio" else stacked.max("measure")


def statistic_of(
    values: xr.DataArray, dim: str | Sequence[str], statistic: str, *, less: bool
) -> xr.DataArray:
    """
    Return a statistic of the values of a measure over dims; NaN in a group is left out.

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
        todo = "make it with from_classifiers(..., by={'group': site})"
        allowed = "outcomes of classifiers on the same examples"
        raise fail("a reference needs pairs", type(posterior).__name__, allowed, todo)
    names = values["classifier"].values.tolist()
    if reference not in names:
        todo = suggest(reference, names)
        raise fail("the reference is not a classifier", reference, names, todo)
    base = values.sel(classifier=reference, drop=True)
    return values.drop_sel(classifier=reference) - base


def _intervals(distribution, drawn, prob, kind, delta):
    """
    Return the interval and the largest error of a bound.

    The coords are the posterior mean and the probability of being below a value.
    """
    values = distribution.draws
    ends, errors = distribution.interval_with_error(prob, kind)
    blank = drawn.isel(draw=0, drop=True)
    coords = {
        name: coord for name, coord in blank.coords.items() if set(coord.dims) <= set(blank.dims)
    }
    coords |= {"bound": ["lower", "upper"], "point": (blank.dims, values.mean(0))}
    if delta is not None:
        number = isinstance(delta, (int, float, np.number)) and not isinstance(delta, bool)
        if not number or np.isnan(delta):
            raise fail("delta must be a number", delta, "a number", "pass e.g. delta=0.05")
        coords["p_below"] = (blank.dims, (values < delta).mean(0))
    answer = xr.DataArray(ends, dims=(*blank.dims, "bound"), coords=coords)
    return answer, float(np.max(errors, initial=0.0, where=~np.isnan(errors)))


# The posterior of the groups, partially pooled whatever name their dim has.
GROUP = "group"
# Dims that models know by their names, whose members are no groups of examples.
_NOT_GROUPS = ("fold", "classifier", "half", "repeat", "step", "batch", "item", "attempt")


def pooled(
    evidence: Any,
    dim: str | Sequence[str],
    model: str | Callable | None = None,
    *,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> tuple[Posterior, list[str], dict[Hashable, Hashable]]:
    """
    Return the posterior of groups, the dims it knows them by, and how to name these again.

    A single dim of another name takes the place of ``group``, so that its members are pooled as
    groups are; the combinations of several go to `models.crossed_groups`.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
    dim : str or sequence of str
    model : str or callable, optional
        By default a model that pools the groups.
    draws, random_seed
        Of the sampler, where there is no direct posterior.
    **keywords
        ``concentration``, ``positive``, and the model's further ones.

    Raises
    ------
    ValueError
        If there is no such dim, or its members are not pooled and nobody asked for that.
    """
    dims = [dim] if isinstance(dim, str) else list(dim)
    if not dims:
        raise fail("no dim of groups", dims, "one or more", 'pass dim="group"')
    fitted, named = isinstance(evidence, xr.DataTree), model is not None
    if not named and is_partly_labelled(evidence):
        todo = f"ask interval(evidence, ...) or compare(evidence, ..., dim={dims[0]!r})"
        raise fail("slices of partly labelled examples are not pooled", dims, "counts", todo)
    names: dict[Hashable, Hashable] = {}
    of_cells = type_of(evidence).has_cells
    if len(dims) > 1 and not fitted and of_cells:
        model = "crossed_groups" if model is None else model
    elif not fitted and not named and of_cells and _stands_for_groups(evidence, dims[0]):
        evidence, names, dims = evidence.rename({dims[0]: GROUP}), {GROUP: dims[0]}, [GROUP]
    sampler: dict[str, Any] = {"draws": draws, "random_seed": random_seed}
    posterior = members_of(evidence, dims[0], model, **sampler, **keywords)
    if not fitted and model is None:
        _check_pooled(posterior, dims[0])
    missing = [name for name in dims if name not in posterior.template.dims]
    if missing:
        todo = "name the columns of groups: from_predictions(..., by={'group': site})"
        raise fail("no such dim of groups", missing[0], list(posterior.template.dims), todo)
    return posterior, dims, names


def _stands_for_groups(evidence, dim):
    """Say whether a dim is one of groups by another name."""
    dims = getattr(evidence, "dims", ())
    return dim in dims and dim not in (GROUP, *_NOT_GROUPS) and GROUP not in dims


def _check_pooled(posterior, dim):
    """Refuse groups that nobody asked to stand by themselves: their worst is bad by chance."""
    is_pooled = isinstance(posterior, PerMember) or getattr(posterior, "variable", None)
    if dim in posterior.template.dims and not is_pooled and not posterior.pairs:
        todo = f'rename it: counts.rename({dim}="group"), or pass model="dirichlet_multinomial"'
        raise fail("members of this dim are not pooled", dim, "a dim group", todo)
