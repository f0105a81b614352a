"""Point estimates of measures for any type of evidence, and draws of measures from a fit."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.interval import resolve_measures, usual_measures
from bayescm.evidence.counts import COUNTS
from bayescm.evidence.evidence_type import EVIDENCE_GROUP
from bayescm.evidence.outcomes import OUTCOMES
from bayescm.evidence.registry import FIT, is_members, type_of
from bayescm.evidence.trees import with_positive_class
from bayescm.fitting.fitted import FittedMeasures, FittedPosterior
from bayescm.fitting.posterior_for import posterior_of, select_estimand
from bayescm.fitting.question import Question
from bayescm.measures.labelled import measure_cells
from bayescm.validate import fail


def measure(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree | Mapping[Any, Any],
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    dim: str = "classifier",
    of: str = "parameter",
    group: str = "posterior",
    variable: str | None = None,
    positive: Any = None,
) -> xr.Dataset:
    """
    Return point estimates of measures, or draws of measures from a fit.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        Evidence of any type, or a tree returned by `fit`. For counts with a known prevalence
        (`bayescm.at_prevalence`), the measures refer to that prevalence. A mapping ``{"wdbc":
        folds, "heart": folds}`` contains several members, which may have different classes and
        positive classes. If their classes differ, only measures with a single value can be
        compared, such as ``"f1_macro"`` or ``"accuracy"``.
    measures : name, function, or sequence of these, optional
        Measures. See ``measures.resolve``. The default is the same as for `bayescm.summary`.
    dim : str, default "classifier"
        Dimension of the members of a mapping, such as ``"data_set"``.
    of : str, default "parameter"
        Estimand. See `bayescm.interval`. Counts and outcomes support only ``"parameter"``. A fit
        supports all estimands of its model.
    group : {"posterior", "prior"}
        Group of a fit that contains the draws.
    variable : str, optional
        Variable of a fit with cell probabilities, dims (..., actual, predicted), which is used as
        is. By default the variable of the estimand, with measures averaged over the dimensions that
        the model pools over (folds, training sets).
    positive : label, optional
        Positive class. It overrides the positive class of the evidence, and is required if a
        measure needs one and the evidence does not specify it.

    Returns
    -------
    Dataset
        One variable per measure, named after the measure. If there are more than two classes,
        measures of one class have a dimension ``class``. For a fit, variables have dimensions
        ``chain`` and ``draw``. Values are NaN if the measure is undefined (0/0), and for folds or
        classifiers that a member of a mapping does not have.

    Raises
    ------
    ValueError
        If a measure is unknown, or the required positive class is missing. If a member of a mapping
        has the dimension ``dim``, or if only some members have one value per class. If the evidence
        contains only differences between classifiers (`bayescm.from_results`).

    See Also
    --------
    bayescm.summary : Point estimates with intervals.

    Examples
    --------
    >>> import bayescm as bcm
    >>> values = measure(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), ["recall", "f1"])
    >>> float(values["recall"]), round(float(values["f1"]), 4)
    (0.8125, 0.7222)
    >>> scores = bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> float(measure(scores, "auc")["auc"])
    0.75
    """
    if is_members(evidence):
        ask = partial(measure, measures=measures, of=of, group=group, variable=variable)
        values = {name: ask(member, positive=positive) for name, member in evidence.items()}
        return _side_by_side(values, dim)
    if isinstance(evidence, xr.DataTree) and EVIDENCE_GROUP in evidence.children:
        return _draws_of_fit(evidence, measures, of, group, variable)
    if (
        isinstance(evidence, xr.DataTree)
        and {"posterior", group} <= {*evidence.children}
        and variable is None
    ):
        # Averages over classes exclude the same classes as in `bayescm.summary`.
        evidence = with_positive_class(evidence, positive)
        names = usual_measures(evidence) if measures is None else measures
        measures = resolve_measures(FittedPosterior(evidence), names)  # type: ignore[arg-type]
    if type_of(evidence) in (COUNTS, OUTCOMES, FIT):
        options: dict[str, Any] = {"of": of, "group": group, "variable": variable}
        return measure_cells(evidence, measures, **options, positive=positive)  # type: ignore[arg-type]
    measures = usual_measures(evidence) if measures is None else measures
    posterior, of = select_estimand(posterior_of(evidence, Question(positive=positive)), of)
    resolved_measures = resolve_measures(posterior, measures)
    templates = [posterior.measure_template(resolved) for resolved in resolved_measures]
    points = [posterior.point(resolved, of) for resolved in resolved_measures]
    return xr.Dataset(
        {
            template.name: template.to_dataarray(point)
            for template, point in zip(templates, points, strict=True)
        }
    )


def _draws_of_fit(tree, measures, of, group, variable):
    """Return the draws of measures from a fit without cell probabilities."""
    if group != "posterior" or variable is not None:
        got = f"group={group!r}, variable={variable!r}"
        todo = "leave group and variable out"
        raise fail(f"{got} has no effect on a fit without cell probabilities", ..., "", todo)
    fitted = FittedMeasures(tree)
    posterior, of = select_estimand(fitted, of)
    resolved_measures = resolve_measures(
        posterior, usual_measures(tree) if measures is None else measures
    )
    sampled = tree["posterior"].to_dataset()
    lead = {dim: sampled.sizes[dim] for dim in ("chain", "draw")}
    values_of_measures = posterior.draw(
        resolved_measures, fitted.size, np.random.default_rng(0), of=of
    )
    draws = {}
    for measure, values in zip(resolved_measures, values_of_measures, strict=True):
        template = posterior.measure_template(measure)
        coords = {**template.coords, **{dim: sampled[dim].variable for dim in lead}}
        shape = (*lead.values(), *values.shape[1:])
        dims = (*lead, *template.dims)
        draws[template.name] = xr.DataArray(values.reshape(shape), coords, dims)
    return xr.Dataset(draws)


def _side_by_side(values, dim):
    """Concatenate the measures of several members along a dim, including differing coordinates."""
    if not values:
        raise fail("No evidence is given", ..., "", 'pass e.g. {"a": counts_a, "b": counts_b}')
    for name, of_member in values.items():
        if dim in of_member.dims:
            raise fail(
                f"{name} already has a dimension {dim}",
                ...,
                "",
                'choose another name, e.g. `dim="data_set"`',
            )
    class_labels = [
        of_member["class"].values.tolist()
        for of_member in values.values()
        if "class" in of_member.dims
    ]
    if class_labels and (
        len(class_labels) < len(values) or class_labels.count(class_labels[0]) < len(values)
    ):
        raise fail(
            "The members have different classes, so a measure with one value per class is "
            "not available: {}",
            class_labels,
            "",
            "use one number for all classes, such as f1_macro, mcc or accuracy",
        )
    scalars = [
        {name: coord.item() for name, coord in of_member.coords.items() if not coord.dims}
        for of_member in values.values()
    ]
    members = [
        of_member.drop_vars(names)
        for of_member, names in zip(values.values(), scalars, strict=True)
    ]
    index = pd.Index(list(values), name=dim, dtype=object)
    joined = xr.concat(members, index, join="outer", fill_value=np.nan)
    for name in set.intersection(*map(set, scalars)):
        of_members = [of_member[name] for of_member in scalars]
        is_common = of_members.count(of_members[0]) == len(of_members)
        joined = joined.assign_coords({name: of_members[0] if is_common else (dim, of_members)})
    return joined
