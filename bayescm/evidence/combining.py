"""Combination of evidence of one type along a dimension."""

from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

from bayescm.evidence.registry import type_of
from bayescm.validate import fail


def combine(
    evidence: Mapping[Any, Any] | Iterable[Any], *, dim: str = "classifier"
) -> xr.DataArray | xr.Dataset:
    """
    Combine evidence of one type along a dimension.

    The result is the same as if the constructor had been called with all the data.

    Parameters
    ----------
    evidence : mapping of name to evidence, or iterable of evidence
        Members to combine. Members of an iterable are named by their scalar coordinate ``dim`` if
        each has one (as after ``sel``), and otherwise 0, 1, .... To append evidence that already
        has the dimension, pass a list. Classifiers, systems, raters and labels are matched by name.
    dim : str, default "classifier"
        Dimension of the result. The allowed names depend on the type of evidence:

        - counts: any name, such as classifier, data_set, fold, repeat, group or step
        - outcomes of several classifiers: any name except classifier
        - partly labelled data: a name for slices, such as site
        - scores, probabilities: example (all examples are one sample), group or fold
        - ratings: example (all examples are from one population) or group
        - item scores, attempts: item (all items are one sample), or a name for slices
        - multilabel data: example (all examples are one sample), or a name for slices
        - item counts: item
        - results: data_set
        - preferences: vote

        To compare classifiers on the same examples, pass all of them to `bayescm.from_classifiers`
        or another constructor at once. Only the constructors can match predictions for the same
        example.

    Returns
    -------
    DataArray or Dataset
        Evidence of the same type. Counts and outcomes include the labels of all members, with zeros
        for classes that a member lacks.

    Raises
    ------
    ValueError
        In these cases:

        - Systems, classes of scores or ratings, or labels of multilabel data differ.
        - A scalar coordinate differs, such as the positive class or the range of scores.
        - Another dimension differs.
        - An item, a data set or a fold occurs in two members.
        - Only some members have weights, clusters or other optional variables.
        - Scores have importance weights or are binned, because the scale of the weights and the
          edges of the bins are not stored.
    TypeError
        If the input is not several pieces of evidence of one type.

    Notes
    -----
    Unlabelled items are renumbered. If ``dim`` is the dimension of the units, then clusters, groups
    or populations that have the same name in two members are treated as the same.

    The bins of a judge's score (`bayescm.from_partly_labelled`) are not changed.

    Do not add counts with ``+`` if their labels may differ: xarray silently drops labels that only
    one of them has. ``combine([x, y], dim="batch").sum("batch")`` adds counts and keeps all labels.

    Examples
    --------
    >>> import bayescm as bcm
    >>> old = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> new = bcm.from_cells(tp=70, fn=10, fp=40, tn=25)
    >>> combine({"old": old, "new": new}).classifier.values.tolist()
    ['old', 'new']

    The sum of two tables, one of which lacks a class:

    >>> x = bcm.from_matrix([[9, 1], [2, 8]], labels=["a", "b"])
    >>> y = bcm.from_matrix([[4, 0, 1], [0, 3, 0], [1, 0, 5]], labels=["a", "b", "c"])
    >>> int(combine([x, y], dim="batch").sum("batch").sum()), int((x + y).sum())
    (34, 27)

    Item scores of two languages, as one sample and as slices:

    >>> french = bcm.from_item_scores([0.4, 0.9, 0.7], item=["f1", "f2", "f3"], range=(0, 1))
    >>> german = bcm.from_item_scores([0.5, 0.6], item=["g1", "g2"], range=(0, 1))
    >>> combine([french, german], dim="item")["item"].values.tolist()
    ['f1', 'f2', 'f3', 'g1', 'g2']
    >>> both = combine({"french": french, "german": german}, dim="language")
    >>> bcm.interval(both, "mean").dims
    ('language', 'bound')
    """
    names = None
    if isinstance(evidence, Mapping) and not isinstance(evidence, xr.Dataset):
        names, evidence = list(evidence), evidence.values()
    if isinstance(evidence, (xr.DataArray, xr.Dataset)):
        raise fail(
            "There is only one piece of evidence to combine",
            ...,
            "",
            'pass a mapping or a list, e.g. {"old": counts, "new": counts}',
            TypeError,
        )
    if not isinstance(evidence, Iterable) or isinstance(evidence, str | xr.DataTree):
        raise fail(
            f"combine needs a mapping or a list of evidence, not a {type(evidence).__name__}",
            ...,
            "",
            'pass e.g. {"old": counts, "new": counts}',
            TypeError,
        )
    members = list(evidence)
    if not members:
        raise fail("There is nothing to combine", ..., "", "pass some evidence")
    entry, *others = [type_of(member) for member in members]
    if different := [other for other in others if other is not entry]:
        what = f"{entry.name} and {different[0].name} cannot be combined"
        raise fail(what, ..., "", "pass evidence of one type", TypeError)
    if entry.combine is None:
        todo = "combine the evidence, and fit it again"
        raise fail(f"A {entry.name} cannot be combined", ..., "", todo, TypeError)
    return entry.combine([entry.canonical(member) for member in members], dim, names)
