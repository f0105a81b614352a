"""Scores in tables of any engine: the engine counts how often each occurs, or each bin of them."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.frames import counted, named
from bayescm.evidence.predictions import column_of
from bayescm.evidence.scored.scores import from_scores
from bayescm.validate import fail, suggest


def from_scored_frame(
    frame: Any,
    scores: str | Sequence[str] | Mapping[str, str],
    *,
    actual: str = "actual",
    edges: Sequence[float] | None = None,
    weights: str | None = None,
    fold: str | None = None,
    by: str | Sequence[str] | Mapping[str, str] = (),
    positive: Hashable | None = None,
) -> xr.Dataset:
    """
    Return the scores in a table with one row per example, of two classes.

    The table's engine counts how often each score occurs, so that few distinct ones are exact
    whatever the number of rows. Many are put into bins.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        See `bayescm.from_frame`.
    scores : str, sequence of str, or mapping of classifier to column
        Columns of scores.
    actual : str
        Column of true labels.
    edges : sequence of float, optional
        Where one bin ends and the next begins, increasing. A score stands for all from it up to the
        next edge, so that rates at thresholds among the edges are exact; those below all edges are
        taken for minus infinity. An area is known up to half the pairs that share a bin, which the
        coord ``area_error`` states.
    weights : str, optional
        Column of how many examples each row stands for.
    fold : str, optional
        Column of folds.
    by : str, sequence of str, or mapping of dim to column, optional
        ``{"group": column}``, or ``{"fold": column}``, see `bayescm.from_scores`.
    positive : label, optional
        The positive class; obvious for {0, 1} and {False, True}.

    Returns
    -------
    Dataset, dim ``example``
        As `bayescm.from_scores` returns it, an example for each combination, with weights.

    Raises
    ------
    ValueError
        If a column is missing or has missing values, there are too many distinct scores, or the
        edges do not increase.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"y": [0, 0, 1, 1, 1], "p": [0.12, 0.31, 0.35, 0.77, 0.79]})
    >>> evidence = from_scored_frame(frame, "p", actual="y", edges=[0.25, 0.5, 0.75])
    >>> evidence.score.values.tolist(), evidence.weight.values.tolist()
    ([-inf, 0.25, 0.25, 0.75], [1, 1, 1, 2])
    >>> evidence.area_error.item()
    0.08333333333333333
    """
    names, parts = named(scores), named(by)
    folds = [] if fold is None else [fold]
    keys = list(dict.fromkeys([actual, *names.values(), *folds, *parts.values()]))
    starts = None if edges is None else _starts(edges)
    counts, number = counted(
        _binned(frame, keys, set(names.values()), starts), keys, weights, "counts"
    )
    counts = counts.sort_values(keys, ignore_index=True)
    values = {name: _scores(counts[column], starts) for name, column in names.items()}
    evidence = from_scores(
        column_of(counts, actual).to_numpy(),
        *(values.values() if isinstance(scores, str) else [values]),
        weights=counts[number].to_numpy(),
        weights_are="counts",
        fold=None if fold is None else counts[fold].to_numpy(),
        by={dim: counts[column].to_numpy() for dim, column in parts.items()},
        positive=positive,
    )
    if starts is None:
        return evidence
    return evidence.assign_coords(area_error=_area_error(evidence))


def _binned(frame, columns, scores, starts):
    """Return the engine's table, with the numbers of bins in the place of scores."""
    import narwhals as nw  # nothing else needs it

    table = nw.from_native(frame, pass_through=True)
    if not isinstance(table, nw.DataFrame | nw.LazyFrame):
        todo = "from_scores takes arrays"
        raise fail("not a table", type(frame).__name__, "a table of pandas or another engine", todo)
    known = table.collect_schema()
    for name in columns:
        if name not in known:
            raise fail("no such column", name, list(known), suggest(name, known))
        if name in scores and not known[name].is_numeric():
            todo = "name a column of scores"
            raise fail(f"{name} holds no scores", str(known[name]), "numbers", todo, TypeError)
    if starts is None:
        return table
    return table.with_columns(
        *[_bin(nw, name, starts, known[name].is_float()).alias(name) for name in scores]
    )


def _bin(nw, name, starts, floats):
    """Return the number of the bin of a score, from 1; 0 where it is missing."""
    score = nw.col(name)
    missing = score.is_null() | score.is_nan() if floats else score.is_null()

    # Halved again and again: engines recurse into expressions, and some stop where one is settled.
    def among(low, high):
        if low == high:
            return nw.lit(low)
        middle = (low + high + 1) // 2
        above = nw.when(score >= float(starts[middle - 1])).then(among(middle, high))
        return above.otherwise(among(low, middle - 1))

    return nw.when(missing).then(nw.lit(0)).otherwise(among(1, len(starts)))


def _starts(edges):
    """Return where the bins begin; the first has no lower end."""
    ends = np.asarray(edges, float)
    if ends.ndim != 1 or not ends.size or not (np.diff(ends) > 0).all() or np.isnan(ends).any():
        todo = "pass edges=np.linspace(0, 1, 1001)[1:-1]"
        raise fail("edges of bins", edges, "increasing numbers", todo)
    return np.r_[-np.inf, ends]


def _scores(column, starts):
    """Return the scores, or where their bins begin: a missing one has reached none."""
    if starts is None:
        return column.to_numpy()
    if (column == 0).any():
        raise fail(f"{column.name} has missing values", ..., "a score per row", "drop these rows")
    return starts[column.to_numpy().astype(int) - 1]


def _area_error(evidence):
    """Return half the share of pairs of a positive and a negative that share a score."""
    scores, weight = evidence["score"], evidence["weight"].values.astype(float)
    cases = evidence["actual"].values == evidence["positive"].item()
    errors = []
    for each in np.atleast_2d(scores.values):
        _, place = np.unique(each, return_inverse=True)
        cells = [np.bincount(place, weight * who) for who in (cases, ~cases)]
        errors.append(cells[0] @ cells[1] / (2 * cells[0].sum() * cells[1].sum()))
    return scores.dims[:-1], errors if scores.ndim > 1 else errors[0]
