"""
Binned probabilities or scores: counts by true class and bin, as stored by a ledger.

A binned table is a DataArray with dimensions (..., actual, bin) and the positive class last. The
attribute ``edges`` lists the edges of the bins, and ``chances`` states whether the forecasts are
probabilities. The tables of several batches can be summed.

To detect a change, the number of events in groups of bins is compared with the number expected from
the probabilities.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.evidence_type import BATCH_FORM, ChangeStatistic
from bayescm.evidence.labels import check_no_dates, check_no_missing_text, obvious_positive
from bayescm.validate import check_choice, check_reals, check_row_order, fail, unmasked

FORM = "forecasts"
OF_FORECASTS = ("probabilities", "curve")  # variables used by measures of binned forecasts
_LOW = [0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175]
_MIDDLE = np.arange(8, 33) / 40  # from 0.2 to 0.8
# Edges for probabilities: finer near 0 and 1, to distinguish rare events.
EDGES = tuple(np.round([*_LOW, *_MIDDLE, *(1 - np.array(_LOW[::-1]))], 6).tolist())
_MOST_BINS = 500
# Number of groups of neighbouring bins. In 20 streams of each of the cases 1 to 3 of
# ``forecast_streams_drifting`` (forecasts that are too extreme, too low, or rare and too extreme),
# the median number of batches until detection is 6, 8 and 4 with 8 groups. It is 6, 6 and 5 with 4
# groups, and 13, 12 and 8 with one group for each of 48 bins.
_GROUPS = 8


def bin_forecasts(
    actual: Any,
    forecasts: Any,
    *,
    positive: Hashable | None = None,
    edges: Sequence[float] | None = None,
    kind: str = "probabilities",
) -> xr.DataArray:
    """Return the number of examples of each class in each forecast bin, see `forecast_table`."""
    check_row_order({"actual": actual, "forecasts": forecasts})
    chances = check_choice("kind", kind, ["probabilities", "scores"]) == "probabilities"
    edges = _check_edges(edges, chances)
    unmasked(forecasts, "forecasts")
    forecasts = check_reals(forecasts, "forecasts", "pass one number for each example")
    actual, forecasts = _column("actual", actual), _column("forecasts", forecasts)
    if len(actual) != len(forecasts):
        raise fail(
            f"There are {len(forecasts)} forecasts, but {len(actual)} true labels",
            ...,
            "",
            "align the two columns",
        )
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
    Return binned forecasts with zero counts.

    Parameters
    ----------
    labels : list
        The negative and the positive class.
    positive : label
    edges : sequence of float
        Edges of the bins. For probabilities, the first is 0 and the last is 1. For scores, values
        below the first and above the last edge have additional bins.
    chances : bool
        Whether the forecasts are probabilities.
    """
    number = len(edges) - 1 if chances else len(edges) + 1
    coords = {"actual": labels, "bin": np.arange(number), "positive": positive}
    attrs = {"edges": [float(edge) for edge in edges], "chances": bool(chances), BATCH_FORM: FORM}
    cells = np.zeros((len(labels), number), dtype=np.int64)
    return xr.DataArray(cells, coords, ["actual", "bin"], "counts", attrs)


def middles(table: xr.DataArray) -> np.ndarray:
    """Return the midpoints of probability bins (B,), or relative ranks of score bins."""
    edges = np.array(table.attrs["edges"])
    if table.attrs["chances"]:
        return (edges[1:] + edges[:-1]) / 2
    return (np.arange(table.sizes["bin"]) + 0.5) / table.sizes["bin"]


def is_binned(evidence: Any) -> bool:
    """Return True if evidence is a table of binned forecasts."""
    return isinstance(evidence, xr.DataArray) and "edges" in evidence.attrs


def events_of(tables: xr.DataArray) -> ChangeStatistic | None:
    """
    Return the observed and expected numbers of events in each group of bins.

    Events are the less likely outcomes according to the forecasts: positive examples in bins below
    one half, and negative examples in the other bins. Expected numbers are summed over bins, so a
    shift in the distribution of forecasts alone does not count as a change.

    Parameters
    ----------
    tables : DataArray, dims (step, actual, bin)

    Returns
    -------
    ChangeStatistic or None
        Numbers of shape (T, G, 2), or None for scores, which do not imply expected numbers.
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


# Validation of a batch


def _check_edges(edges, chances):
    """Return the edges of bins, or raise an error if they are invalid."""
    if edges is None and not chances:
        raise fail(
            "Scores need `edges`, the boundaries of the bins",
            ...,
            "",
            "pass e.g. edges=np.quantile(scores, np.linspace(0.02, 0.98, 49)) from a first sample",
        )
    try:
        numbers = np.asarray(EDGES if edges is None else edges, float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    in_range = numbers.ndim == 1 and (not chances or (numbers[0], numbers[-1]) == (0, 1))
    is_right = in_range and 3 <= len(numbers) <= _MOST_BINS and np.isfinite(numbers).all()
    if not is_right or not (np.diff(numbers) > 0).all():
        allowed = f"3 to {_MOST_BINS} ascending numbers{', from 0 to 1' if chances else ''}"
        todo = "leave them out" if chances else "pass quantiles of a first sample"
        raise fail(f"`edges` must be {allowed}", edges, "", todo)
    return numbers.tolist()


def _column(name, values):
    column = np.asarray(unmasked(values, name))
    if column.ndim != 1 or not len(column):
        raise fail(f"{name} must be one column", column.shape, "", "pass one value per example")
    return column


def _labels(actual, positive):
    """Return the negative and the positive class."""
    check_no_dates(list(actual[:1]), "the labels of actual")
    labels = np.unique(actual).tolist()
    check_no_missing_text(labels)
    positive = obvious_positive([0, 1]) if positive is None and set(labels) <= {0, 1} else positive
    if positive is None or len({*labels, positive}) > 2:
        raise fail(
            "The labels {} do not show which class is positive",
            labels,
            "",
            "pass `positive=`; there must be two classes",
        )
    negative = [label for label in labels if label != positive]
    if not negative and isinstance(positive, bool | int) and positive in (0, 1):
        negative = [type(positive)(1 - positive)]
    return [negative[0] if negative else None, positive]


def _check_forecasts(forecasts, chances):
    if np.isnan(forecasts).any():
        raise fail("A forecast is missing", ..., "", "drop examples without a forecast")
    outside = forecasts[(forecasts < 0) | (forecasts > 1)]
    if chances and len(outside):
        todo = "pass predict_proba, or `kind='scores'` with edges"
        if forecasts.min() >= 0 and 2 < forecasts.max() <= 100:
            todo = "divide percentages by 100"
        raise fail("Probabilities must be between 0 and 1", outside[0], "", todo)
