"""
Probabilities or scores in bins: counts by truth and bin, the form in which a ledger stores them.

A binned table is a DataArray with dims (..., actual, bin), the positive class last. Its attributes
are ``edges``, those of the bins, and ``chances``, whether the forecasts are probabilities. Tables
add up over batches. A change is looked for in the number of events of groups of bins, beside the
number that the probabilities expect.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.evidence_type import BATCH_FORM, ChangeStatistic
from bayescm.evidence.labels import check_no_dates, check_no_missing_text, obvious_positive
from bayescm.validate import check_choice, check_reals, check_row_order, fail, unmasked

FORM = "forecasts"
OF_FORECASTS = ("probabilities", "curve")  # the variables of measures of binned forecasts
_LOW = [0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175]
_MIDDLE = np.arange(8, 33) / 40  # from .2 to .8
# Of probabilities: finer towards 0 and 1, where what is rare is told apart.
EDGES = tuple(np.round([*_LOW, *_MIDDLE, *(1 - np.array(_LOW[::-1]))], 6).tolist())
_MOST_BINS = 500
# Of neighbouring bins. Too extreme, too low and too extreme rare forecasts (cases 1 to 3 of
# ``forecast_streams_drifting``) are seen after 6, 8 and 4 batches in the median with 8 groups,
# after 6, 6 and 5 with 4, and after 13, 12 and 8 with one for each of 48 bins (20 streams each).
_GROUPS = 8


def bin_forecasts(
    actual: Any,
    forecasts: Any,
    *,
    positive: Hashable | None = None,
    edges: Sequence[float] | None = None,
    kind: str = "probabilities",
) -> xr.DataArray:
    """Return how many examples of each class have a forecast in each bin; see `forecast_table`."""
    check_row_order({"actual": actual, "forecasts": forecasts})
    chances = check_choice("kind", kind, ["probabilities", "scores"]) == "probabilities"
    edges = _check_edges(edges, chances)
    unmasked(forecasts, "forecasts")
    forecasts = check_reals(forecasts, "forecasts", "pass one number for each example")
    actual, forecasts = _column("actual", actual), _column("forecasts", forecasts)
    if len(actual) != len(forecasts):
        what = "forecasts and actual differ in length"
        raise fail(what, len(forecasts), str(len(actual)), "align them")
    labels = _labels(actual, positive)
    _check_forecasts(forecasts, chances)
    bins = np.searchsorted(edges[1:-1] if chances else edges, forecasts, "right")
    table = zero_forecasts(labels, labels[1], edges, chances)
    np.add.at(table.values, ((actual == labels[1]).astype(int), bins), 1)
    return table


def zero_forecasts(
    labels: list, positive: Any, edges: Sequence[float], chances: bool
) -> xr.DataArray:
    """
    Return zero counts of forecasts in bins.

    Parameters
    ----------
    labels : list
        The negative and the positive class.
    positive : label
    edges : sequence of float
        Those of probabilities begin with 0 and end with 1; scores below the first and above the
        last have bins of their own.
    chances : bool
        Whether the forecasts are probabilities.
    """
    number = len(edges) - 1 if chances else len(edges) + 1
    coords = {"actual": labels, "bin": np.arange(number), "positive": positive}
    attrs = {"edges": [float(edge) for edge in edges], "chances": bool(chances), BATCH_FORM: FORM}
    cells = np.zeros((len(labels), number), dtype=np.int64)
    return xr.DataArray(cells, coords, ["actual", "bin"], "counts", attrs)


def middles(table: xr.DataArray) -> np.ndarray:
    """Return the probability that stands for each bin, (B,), or the rank of a bin of scores."""
    edges = np.array(table.attrs["edges"])
    if table.attrs["chances"]:
        return (edges[1:] + edges[:-1]) / 2
    return (np.arange(table.sizes["bin"]) + 0.5) / table.sizes["bin"]


def is_binned(evidence: Any) -> bool:
    """Return whether evidence is a table of binned forecasts."""
    return isinstance(evidence, xr.DataArray) and "edges" in evidence.attrs


def events_of(tables: xr.DataArray) -> ChangeStatistic | None:
    """
    Return in each group of bins the number of events, and how many the forecasts expect.

    Events are the examples that the forecasts think less likely: positive ones of bins below one
    half, negative ones of the others. What is expected is summed over bins, so that a population
    with other forecasts is no change in what comes true of them. Scores do not say what is
    expected: None is returned for them.

    Parameters
    ----------
    tables : DataArray, dims (step, actual, bin)

    Returns
    -------
    ChangeStatistic
        Numbers of shape (T, G, 2).
    """
    if not tables.attrs["chances"]:
        return None
    middle, cells = middles(tables), tables.values.astype(float)
    is_low = middle < 0.5
    events = np.where(is_low, cells[:, 1], cells[:, 0])
    expected = cells.sum(axis=1) * np.where(is_low, middle, 1 - middle)
    number = min(_GROUPS, len(middle))
    first = np.linspace(0, len(middle), number, endpoint=False).astype(int)
    groups = [np.add.reduceat(part, first, axis=1) for part in (events, expected)]
    return ChangeStatistic(np.stack(groups, axis=-1), "poisson")


# The checks of a batch


def _check_edges(edges, chances):
    """Return the edges of bins, or raise where they are none."""
    if edges is None and not chances:
        todo = "pass e.g. edges=np.quantile(scores, np.linspace(0.02, 0.98, 49)) of a first sample"
        raise fail("scores need edges", None, "ascending numbers", todo)
    try:
        numbers = np.asarray(EDGES if edges is None else edges, float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    in_range = numbers.ndim == 1 and (not chances or (numbers[0], numbers[-1]) == (0, 1))
    is_right = in_range and 3 <= len(numbers) <= _MOST_BINS and np.isfinite(numbers).all()
    if not is_right or not (np.diff(numbers) > 0).all():
        allowed = f"3 to {_MOST_BINS} ascending numbers{', from 0 to 1' if chances else ''}"
        todo = "leave them out" if chances else "pass quantiles of a first sample"
        raise fail("not edges of bins", edges, allowed, todo)
    return numbers.tolist()


def _column(name, values):
    column = np.asarray(unmasked(values, name))
    if column.ndim != 1 or not len(column):
        what = f"{name} must be one column"
        raise fail(what, column.shape, "shape (n,), n > 0", "pass one each")
    return column


def _labels(actual, positive):
    """Return the negative and the positive class."""
    check_no_dates(list(actual[:1]), "the labels of actual")
    labels = np.unique(actual).tolist()
    check_no_missing_text(labels)
    positive = obvious_positive([0, 1]) if positive is None and set(labels) <= {0, 1} else positive
    if positive is None or len({*labels, positive}) > 2:
        todo = "pass `positive=`, and two classes"
        raise fail("the positive class is not told", labels, "two classes and positive=", todo)
    negative = [label for label in labels if label != positive]
    if not negative and isinstance(positive, bool | int) and positive in (0, 1):
        negative = [type(positive)(1 - positive)]
    return [negative[0] if negative else None, positive]


def _check_forecasts(forecasts, chances):
    if np.isnan(forecasts).any():
        raise fail("a forecast is missing", np.nan, "a number for each example", "drop these")
    outside = forecasts[(forecasts < 0) | (forecasts > 1)]
    if chances and len(outside):
        todo = "pass predict_proba, or kind='scores' with edges"
        raise fail("a probability is outside [0, 1]", outside[0], "[0, 1]", todo)
