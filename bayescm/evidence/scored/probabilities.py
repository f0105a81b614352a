"""
Probabilities as evidence: scores that claim to be chances.

The same Dataset as that of scores, with the scalar coord ``probabilities``; whatever takes scores
takes it too.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.scored.scores import as_scores, scored
from bayescm.evidence.slices import check_one_sample
from bayescm.validate import check_reals, fail

# By how much the probabilities of an example may miss 1: what two or three printed digits leave.
_ROUNDING = 0.01


def from_probabilities(
    actual: Any,
    probabilities: Any,
    *,
    positive: Hashable | None = None,
    labels: Sequence | None = None,
    weights: Any = None,
    weights_are: str | None = None,
    fold: Any = None,
    group: Any = None,
    by: Mapping[str, Any] | None = None,
    clip: float | None = None,
) -> xr.Dataset:
    """
    Return the probabilities that one or more classifiers gave as evidence.

    Parameters
    ----------
    actual : array_like, shape (n,)
        True labels.
    probabilities : array_like or mapping of str to array_like
        Of the positive class, shape (n,) in [0, 1]; or for more classes (n, C), rows summing to 1.
        A mapping holds those of several classifiers on the same examples.
    positive, labels, weights, weights_are, fold
        As in `from_scores`.
    group : array_like, shape (n,), optional
        The site, patient or year that an example comes from. Calibration by group is partially
        pooled, see :func:`bayescm.models.hierarchical_calibration`.
    by : mapping of str to array_like (n,), optional
        ``{"group": site}`` or ``{"fold": fold}``, the same as ``group`` and ``fold``.
    clip : float, optional
        Moves probabilities into [clip, 1 - clip]. By default they stay as they are: the log loss of
        an exact 0 or 1 is infinite where it may be wrong.

    Returns
    -------
    Dataset, dim ``example``
        Evidence of scores with the scalar coord ``probabilities``.

    Raises
    ------
    ValueError
        If a probability is missing or outside [0, 1], or those of an example do not sum to 1; or
        a group is missing, or there are folds too.
    TypeError
        If probabilities are no numbers: texts, booleans or dates.

    Examples
    --------
    >>> evidence = from_probabilities([0, 0, 1, 1], {"a": [0.1, 0.4, 0.35, 0.8]})
    >>> evidence["score"].dims, evidence.probabilities.item()
    (('classifier', 'example'), True)
    """
    if clip is not None and not 0 < clip < 0.5:
        raise fail("clip must be a small probability", clip, "0 < clip < 0.5", "pass clip=1e-6")
    keywords: dict[str, Any] = {"positive": positive, "labels": labels, "weights": weights}
    keywords |= {"weights_are": weights_are, "fold": fold, "group": group, "by": by}
    evidence = scored(actual, probabilities, name="probabilities", **keywords)
    evidence = as_scores(evidence.assign_coords(probabilities=True))
    values = evidence["score"]
    name = "" if not isinstance(probabilities, Mapping) else f" of {_worst(values)}"
    outside = values.values[(values.values < 0) | (values.values > 1)]
    if outside.size:
        todo = "pass predict_proba, or decision values as scores: from_scores(actual, scores)"
        if values.min() >= 0 and 2 < values.max() <= 100:
            todo = "divide percentages by 100"
        raise fail(f"a probability{name} is outside [0, 1]", outside[0], "[0, 1]", todo)
    if "class" in values.dims:
        total = values.sum("class").values.ravel()
        worst = np.abs(total - 1).argmax()
        if abs(total[worst] - 1) > _ROUNDING:
            todo = "pass one probability per class, e.g. the softmax of the logits"
            got = round(float(total[worst]), 6)
            raise fail("the probabilities of an example do not sum to 1", got, "a sum of 1", todo)
    if clip is not None:
        evidence["score"] = values.clip(clip, 1 - clip)
    return evidence


def _worst(values):
    """Return the classifier whose probabilities reach furthest out of [0, 1]."""
    others = [dim for dim in values.dims if dim != "classifier"]
    reach = np.maximum(-values, values - 1).max(others)
    return repr(reach["classifier"].values[reach.values.argmax()].item())


def check_chances(given: Any, what: str, todo: str, *, inside: bool = False) -> np.ndarray:
    """Return probabilities (T,), or raise where they are none, or 0 or 1 but have to lie inside."""
    try:
        at = np.atleast_1d(check_reals(given, "probabilities", todo))
    except (TypeError, ValueError):
        at = np.array([np.nan])
    held = (at > 0) & (at < 1) if inside else (at >= 0) & (at <= 1)
    if at.ndim != 1 or not len(at) or not held.all():
        raise fail(what, given, f"numbers in {'(0, 1)' if inside else '[0, 1]'}", todo)
    return at


def as_forecasts(evidence: xr.Dataset) -> xr.Dataset:
    """
    Check probabilities of two classes or more, one sample, on entry.

    Raises
    ------
    TypeError, ValueError
        If these are not probabilities, or in folds or groups.
    """
    evidence = _chances(evidence)
    check_one_sample(evidence, "probabilities")
    return evidence


def _chances(evidence):
    evidence = as_scores(evidence)
    if "probabilities" not in evidence.coords:
        todo = "if they are chances, pass them through from_probabilities(actual, probabilities)"
        raise fail("these are scores, not probabilities", ..., "probabilities", todo, TypeError)
    return evidence


def as_probabilities(evidence: xr.Dataset) -> xr.Dataset:
    """
    Check probabilities of two classes, one sample, on entry.

    Raises
    ------
    TypeError, ValueError
        If these are not probabilities, of more than two classes, in folds, or at a set prevalence.
    """
    evidence = as_forecasts(evidence)
    _check_two(evidence)
    return evidence


def as_sites(evidence: xr.Dataset) -> xr.Dataset:
    """
    Check probabilities of two classes in two or more groups on entry.

    Raises
    ------
    TypeError, ValueError
        If these are not probabilities, have no groups or only one, are of more than two classes, of
        importance weights or at a set prevalence.
    """
    evidence = _chances(evidence)
    if "group" not in evidence:
        todo = "pass the site of each example: from_probabilities(..., group=site)"
        raise fail("no groups", ..., "a group for every example", todo)
    _check_two(evidence)
    found = np.unique(evidence["group"].values)
    if len(found) < 2:
        todo = "take them for one sample: drop_vars('group')"
        raise fail("fewer than two groups", found, "two or more", todo)
    if "prevalence" in evidence.coords or "importance" in evidence:
        what = "importance weights" if "importance" in evidence else "a prevalence"
        todo = "ask group by group: drop_vars('group') of a selection"
        raise fail(f"groups and {what}", ..., "each site as it is", todo)
    return evidence


def _check_two(evidence):
    if "class" in evidence.dims:
        todo = "take one class against the rest: curves.one_vs_rest(evidence, label)"
        raise fail("more than two classes", evidence["class"].values, "two classes", todo)
