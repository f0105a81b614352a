"""
Cautions: sentences about reasons to doubt the results of a posterior.

`of_measures` returns the cautions of the model, and cautions about averages that exclude classes.
`of_point` returns cautions about point estimates that are 0/0 or outside their own intervals. Both
functions apply to every type of evidence.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.base import Distribution
from bayescm.measures.display_names import display_label, display_name, with_index
from bayescm.posteriors.base import LabelTemplate, Posterior

_MOST_NAMED = 6  # largest number of names in one sentence
# Probability of the interval that must contain the point estimate.
_PROB = 0.99
# Distance from the interval that is too small to matter, relative to its length. Without this
# tolerance, the best value, such as a recall of 1, would be outside every equal-tailed interval.
_NEAR = 0.01


def of_measures(posterior: Posterior, measures: Sequence[Callable], of: str) -> list[str]:
    """
    Return the cautions of a posterior and its measures, as sentences.

    Parameters
    ----------
    posterior : Posterior
    measures : sequence of Measure
        Measures returned by `bayescm.answers.interval.resolve_measures`.
    of : str
        Estimand.
    """
    return [*posterior.caveats(of), *_classes_left_out(posterior, measures)]


# Classes that an average over the classes excludes, because the measure is 0/0 for them. See
# docs/background/undefined.md for the convention.


def _classes_left_out(posterior, measures):
    """Return sentences about the classes that averages exclude, for all measures."""
    by_classes: dict[str, list[str]] = {}
    differ = False
    for measure in measures:
        left_out = posterior.left_out(measure)
        if left_out is None:
            continue
        names = _names_left_out(left_out)
        if len({*names}) == 1:
            written = names[0]
        else:
            differ = True
            members = ["/".join(map(display_label, at)) for at in _indices(posterior.template)]
            of_members = zip(names, members, strict=True)
            written = _listed([f"{name} ({member})" for name, member in of_members if name])
        by_classes.setdefault(written, []).append(display_name(measure.__name__))
    if not by_classes:
        return []
    parts = [f"{', '.join(names)}: {written}" for written, names in by_classes.items()]
    sentences = [
        (
            "Averages leave out classes for which the measure is 0/0 in the sample. "
            f"{'; '.join(parts)}."
        )
    ]
    if differ:
        sentences.append(
            "A difference between averages over different classes is partly a difference between "
            "classes."
        )
    return sentences


def _names_left_out(left_out):
    """Return the excluded classes of each member, in words; left_out has dims (..., class)."""
    labels = [display_label(label) for label in left_out["class"].values.tolist()]
    rows = left_out.values.reshape(-1, len(labels))
    return [
        _listed([name for name, is_out in zip(labels, row, strict=True) if is_out]) for row in rows
    ]


# The point estimate.


def undefined_points(names: Sequence[str]) -> list[str]:
    """Return a caution about measures that are 0/0 in the sample."""
    if not names:
        return []
    return [
        (f"Undefined (0/0) in the sample, so the result depends on the prior: {_listed(names)}.")
    ]


def of_point(
    posterior: Posterior,
    measure: Callable,
    answer: tuple[Distribution, LabelTemplate],
    rows: Mapping[str, Any],
    *,
    prob: float,
    kind: str,
    of: str,
) -> tuple[list[str], list[str]]:
    """
    Return the cautions about the point estimates of a measure.

    Parameters
    ----------
    posterior, measure
    answer : tuple of a Distribution and a LabelTemplate
        Distribution of the measure, and the labels of its batch.
    rows : mapping of str to ndarray
        Columns ``point``, ``mean``, ``lower``, ``upper`` and ``error`` of a summary.
    prob, kind, of
        Probability, kind and estimand of the interval.

    Returns
    -------
    undefined : list of str
        Names of point estimates that are 0/0 in the sample although the posterior is defined.
    outside : list of str
        Sentences about point estimates outside their own interval with probability 0.99, or `prob`
        if it is larger, with the reason.
    """
    distribution, template = answer
    point, mean = (np.asarray(rows[name], float) for name in ("point", "mean"))
    undefined = np.isnan(point) & np.isfinite(mean)
    outside = _is_outside(point, rows["lower"], rows["upper"], rows["error"])
    lower, upper = rows["lower"], rows["upper"]
    if outside.any() and prob < _PROB:
        ends, error = distribution.interval_with_error(_PROB, kind)
        ends = np.broadcast_to(ends, (*template.shape, 2)).reshape(-1, 2)
        lower, upper = ends[:, 0], ends[:, 1]
        outside &= _is_outside(point, lower, upper, np.ravel(error.max(axis=-1)))
    if not undefined.any() and not outside.any():
        return [], []
    names = [
        with_index(display_name(measure.__name__), [display_label(label) for label in where])
        for where in _indices(template)
    ]
    shown = np.flatnonzero(outside)[:_MOST_NAMED]
    sentences = [
        f"The point estimate of {names[k]}, {point[k]:.3g}, is outside its own "
        f"{100 * max(prob, _PROB):.4g}% interval, {lower[k]:.3g} to {upper[k]:.3g}: "
        f"{_reason(posterior, measure, point[k], of)}."
        for k in shown
    ]
    if more := int(outside.sum()) - len(shown):
        sentences.append(
            f"{more} other point estimates of {display_name(measure.__name__)} are also "
            "outside their intervals."
        )
    return [names[k] for k in np.flatnonzero(undefined)], sentences


def _is_outside(point, lower, upper, error):
    """Return which points are outside their interval by more than a small tolerance."""
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    with np.errstate(invalid="ignore"):
        length = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        near = np.maximum(error, _NEAR * length)
        return (point < lower - near) | (point > upper + near)


def _reason(posterior, measure, point, of):
    """Return the reason why a point estimate is far from the posterior."""
    low, high = getattr(measure, "range", (-np.inf, np.inf))
    if np.isinf(point):
        return "its denominator is 0 in the evidence"
    if point in (low, high):
        return f"it is at the end of its range, and {posterior.shrinks_by(of)}"
    return posterior.shrinks_by(of)


def _indices(template):
    """Return the labels of every member of a batch, in order."""
    labels = [
        template.coords[dim].values.tolist() if dim in template.coords else range(size)
        for dim, size in template.sizes.items()
    ]
    grid = np.meshgrid(*[np.arange(len(each)) for each in labels], indexing="ij")
    places = zip(*(axis.ravel().tolist() for axis in grid), strict=True) if labels else [()]
    return [[each[k] for each, k in zip(labels, place, strict=True)] for place in places]


def _listed(names, separator=", "):
    """Join the first names, and state the number of further names."""
    shown = separator.join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def of_items(members: Mapping[Any, Any]) -> list[str]:
    """
    Return a caution if members of a mapping have different items, or share items without pairing.

    Items that are only numbered by their rows are not compared.
    """
    labels = []
    for member in members.values():
        if not isinstance(member, xr.Dataset) or "item" not in member.coords:
            return []
        items = member["item"].values
        if items.dtype.kind in "iu" and np.array_equal(items, np.arange(len(items))):
            return []
        labels.append(set(items.tolist()))
    common = len(set.intersection(*labels))
    if all(len(items) == common for items in labels):
        return [
            (
                "The systems answered the same items but are compared as independent. For a "
                "paired comparison, build one piece of evidence with all systems."
            )
        ]
    numbers = ", ".join(
        f"{len(items)} ({name})" for name, items in zip(members, labels, strict=True)
    )
    return [
        (
            f"The systems answered different items: {numbers}. All of them answered "
            f"{common} items. The difference between the systems includes the difference "
            "between their items."
        )
    ]
