"""Several pieces of evidence of one type as one, along a dim."""

from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

from bayescm.evidence.registry import type_of
from bayescm.validate import fail


def combine(
    evidence: Mapping[Any, Any] | Iterable[Any], *, dim: str = "classifier"
) -> xr.DataArray | xr.Dataset:
    """
    Combine evidence of one type along a dim.

    The result is the same as if the constructor had been called with the data of all.

    Parameters
    ----------
    evidence : mapping of name to evidence, or iterable of evidence
        The members of an iterable are named by their scalar coord ``dim`` if each has one (as
        after ``sel``), else 0, 1, .... Evidence that already has the dim is appended, and is
        passed as a list. Classifiers, systems, raters and labels are matched by name.
    dim : str, default "classifier"
        The dim of the result. What it can be depends on the type of evidence:

        - counts: any name, such as classifier, data_set, fold, repeat, group or step
        - outcomes of several classifiers: any name except classifier
        - partly labelled evidence: a name for slices, such as site
        - scores, probabilities: example for one sample of all examples; group or fold
        - ratings: example for one population; group
        - item scores, attempts: item for one sample of all items; or a name for slices
        - several labels for each example: example for one sample; or a name for slices
        - item counts: item
        - results: data_set
        - preferences: vote

        Only `bayescm.from_classifiers` and the other constructors know which predictions of several
        classifiers are for the same example. They take all classifiers of one test set.

    Returns
    -------
    DataArray or Dataset
        Evidence of the same type. Counts and outcomes have the labels of all members; a class that
        a member lacks has zeros there.

    Raises
    ------
    ValueError
        If systems differ; if a scalar coord differs, such as the positive class or the end of the
        range of scores; if another dim differs; if the labels of multilabel evidence, the classes
        of scores or those of ratings differ. If an item or a data set is in two members, or a
        fold. If only some members have weights, clusters or the like. If scores have importance
        weights or are in bins: the scale of the weights and the edges of the bins are not stored.
    TypeError
        If it is not several pieces of evidence of one type.

    Notes
    -----
    Items without labels are numbered, and are numbered anew. The same cluster, group or population
    in two members is one cluster, group or population if ``dim`` is the dim of units.

    The parts into which a judge's score was cut (`bayescm.from_partly_labelled`) remain those of
    each member.

    Do not add counts with ``+`` if their labels may differ. xarray adds the labels that both have
    and drops all others without a message. ``combine([x, y], dim="batch").sum("batch")`` adds
    counts with the labels of all.

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
        todo = 'pass {"old": counts, "new": counts}'
        allowed = "a mapping from names to counts, or a list"
        raise fail("only one piece of evidence", ..., allowed, todo, TypeError)
    if not isinstance(evidence, Iterable) or isinstance(evidence, str | xr.DataTree):
        todo, allowed = 'pass {"old": counts, "new": counts}', "a mapping or a list of counts"
        raise fail("not several pieces of evidence", evidence, allowed, todo, TypeError)
    members = list(evidence)
    if not members:
        raise fail("nothing to combine", [], "one or more counts", "pass some evidence")
    entry, *others = [type_of(member) for member in members]
    if different := [other for other in others if other is not entry]:
        what = f"{entry.name} and {different[0].name} cannot be combined"
        raise fail(what, ..., "", "pass evidence of one type", TypeError)
    if entry.combine is None:
        todo = "combine the evidence, and fit it again"
        raise fail(f"a {entry.name} cannot be combined", ..., "", todo, TypeError)
    return entry.combine([entry.canonical(member) for member in members], dim, names)
