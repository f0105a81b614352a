"""Several pieces of evidence as one, along a dim: counts, or outcomes of the same classifiers."""

from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

from bayescm.evidence.counts import combine_counts, is_outcomes
from bayescm.evidence.outcomes import combine_outcomes
from bayescm.validate import fail


def combine(
    evidence: Mapping[Any, Any] | Iterable[Any], *, dim: str = "classifier"
) -> xr.DataArray | xr.Dataset:
    """
    Combine evidence along a dim.

    Parameters
    ----------
    evidence : mapping of name to counts or outcomes, or iterable of these
        The members of an iterable are named by their scalar coord ``dim`` where each has one (as
        after ``sel``), else 0, 1, .... Evidence that already has the dim is appended. Outcomes
        (:func:`bayescm.from_classifiers`) are of the same classifiers on several sets of examples.
    dim : str, default "classifier"
        Or data_set, fold, repeat, group, step. Outcomes cannot be combined along ``"classifier"``:
        which answers are to the same example is only known to `bayescm.from_classifiers`.

    Returns
    -------
    DataArray, dims (dim, ..., actual, predicted), or Dataset of outcomes
        With the labels of all; a class that a member lacks has zeros there.

    Raises
    ------
    ValueError
        If a scalar coord, such as the positive class, or another dim differs; if the classifiers
        of outcomes do.

    Notes
    -----
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
    """
    names = None
    if isinstance(evidence, Mapping) and not isinstance(evidence, xr.Dataset):
        names, evidence = list(evidence), evidence.values()
    if isinstance(evidence, (xr.DataArray, xr.Dataset)):
        todo = 'pass {"old": counts, "new": counts}'
        allowed = "a mapping from names to counts, or a list"
        raise fail("only one piece of evidence", evidence.dims, allowed, todo, TypeError)
    if not isinstance(evidence, Iterable) or isinstance(evidence, str | xr.DataTree):
        todo, allowed = 'pass {"old": counts, "new": counts}', "a mapping or a list of counts"
        raise fail("not several pieces of evidence", evidence, allowed, todo, TypeError)
    members = list(evidence)
    if not members:
        raise fail("nothing to combine", [], "one or more counts", "pass some evidence")
    if all(map(is_outcomes, members)):
        return combine_outcomes(members, dim, names)
    return combine_counts(members, dim, names)
