"""Evidence of which people labelled a part, and a judge all of it."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import make_counts
from bayescm.evidence.labels import as_labels, default_labels
from bayescm.evidence.tabulate import check_sizes, column, tabulate
from bayescm.validate import fail

BINS = 5


def from_partly_labelled(
    actual: Any,
    predicted: Any = None,
    judge: Any = None,
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
) -> xr.DataArray:
    """
    Return counts of examples that a judge has seen, and of which people labelled some.

    Parameters
    ----------
    actual : array_like, shape (n,)
        True labels; missing (None, NaN, NA) where nobody labelled.
    predicted : array_like, shape (n,), optional
        What the classifier said. Without it the judge's labels take its place, and the measure to
        ask for is a rate: ``"prevalence"``, how common the positive class truly is.
    judge : array_like, shape (n,), or mapping of these, optional
        What a judge said of every example: labels of any kind, or a score, which is cut at its
        quantiles into five. Of several judges each combination is a stratum.
    labels : sequence, optional
        All classes; by default those in ``actual`` and ``predicted``.
    positive : label, optional
        The positive class; obvious for the labels {0, 1} and {False, True}.

    Returns
    -------
    DataArray, dims (judge, actual, predicted)
        The labelled examples. The coord ``unlabelled`` (judge, predicted) counts the others. The
        default model is ``partly_labelled``; it takes the labelled examples for a random choice
        among those of the same judgement and prediction.

    Raises
    ------
    ValueError
        If nothing is labelled, lengths differ, or neither predictions nor a judge are given.

    Examples
    --------
    >>> import bayescm as bcm
    >>> human = [1, 0, 1, 1] + [None] * 6
    >>> judge = [1, 0, 1, 0, 1, 1, 0, 1, 0, 1]
    >>> counts = from_partly_labelled(human, judge=judge)
    >>> int(counts.sum()), int(counts.unlabelled.sum())
    (4, 6)
    >>> bool(0 < bcm.interval(counts, "prevalence", of="finite").values[0])
    True
    """
    if predicted is None and judge is None:
        todo = "pass predicted=, judge= or both; labels alone go to bcm.proportion"
        raise fail("nothing but labels", None, "what a classifier or a judge said", todo)
    truth = pd.Series(actual).reset_index(drop=True)
    seen = truth.notna().to_numpy()
    if not seen.any():
        raise fail("nobody labelled anything", len(truth), "some labels", "label some examples")
    values = column("actual", _typed(truth[seen].infer_objects()))
    strata, names = _strata(judge, len(truth))
    if predicted is None:
        if not isinstance(judge, Mapping) and not _is_score(judge):
            strata, names, predicted = np.zeros(len(truth), int), ["all"], judge
        else:  # what is predicted does not matter to a rate
            predicted = np.full(len(truth), values[0])
    given = column("predicted", predicted)
    check_sizes({"actual": len(truth), "predicted": len(given), "judge": len(strata)})
    known: Any = labels
    if known is None:
        present = {*pd.unique(values).tolist(), *pd.unique(np.asarray(given)).tolist()}
        known = default_labels(sorted(present, key=str), present, values)
    known = as_labels(known)
    by = {"judge": strata}
    table, _, _ = tabulate(values, given[seen], labels=known, by={"judge": strata[seen]})
    full = np.zeros((len(names), len(known), len(known)), np.int64)
    full[np.unique(strata[seen])] = table
    every, _, _ = tabulate(given, given, labels=known, by=by)
    others = np.einsum("jpp->jp", every) - full.sum(axis=1)
    counts = make_counts(full, known, positive, ("judge",), {"judge": names})
    return counts.assign_coords(unlabelled=(("judge", "predicted"), others))


def _typed(values):
    """Return labels that a missing value made floats as what they are."""
    whole = pd.api.types.is_float_dtype(values.dtype) and (values % 1 == 0).all()
    return (values.astype("int64") if whole else values).to_numpy()


def _is_score(values):
    kind = getattr(np.asarray(values), "dtype", None)
    return kind is not None and kind.kind == "f" and bool((np.asarray(values) % 1).any())


def _strata(judge, size):
    """Return the stratum of every example, and their names."""
    if judge is None:
        return np.zeros(size, int), ["all"]
    columns = list(judge.values()) if isinstance(judge, Mapping) else [judge]
    parts = [
        _cut(each) if _is_score(each) else pd.Series(column("judge", each)) for each in columns
    ]
    check_sizes(
        {f"judge {place}": len(each) for place, each in enumerate(parts)} | {"actual": size}
    )
    for each in parts:
        if each.isna().any():
            todo = "give what is missing a label of its own"
            raise fail("the judge has missing values", each.isna().sum(), "an answer each", todo)
    words = pd.Series([" ".join(map(str, row)) for row in zip(*parts, strict=True)])
    codes, names = pd.factorize(words, sort=True)
    return codes, list(names)


def _cut(scores):
    """Return the fifth, by quantiles, of every score."""
    return pd.Series(pd.qcut(np.asarray(scores, float), BINS, labels=False, duplicates="drop"))
