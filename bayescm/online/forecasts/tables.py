"""Probabilities or scores of one batch as counts by truth and bin, which a ledger keeps."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.labels import check_no_dates, check_no_missing_text, obvious
from bayescm.evidence.scores import as_scores
from bayescm.validate import check_choice, check_reals, check_row_order, fail, unmasked

_LOW = [0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175]
_MIDDLE = np.arange(8, 33) / 40  # from .2 to .8
# Of probabilities: finer towards 0 and 1, where what is rare is told apart.
EDGES = tuple(np.round([*_LOW, *_MIDDLE, *(1 - np.array(_LOW[::-1]))], 6).tolist())
_MOST = 500  # bins


def forecast_table(
    actual: Any,
    forecasts: Any = None,
    *,
    positive: Hashable | None = None,
    edges: Sequence[float] | None = None,
    kind: str = "probabilities",
) -> xr.DataArray:
    """
    Return how many examples of each class have a forecast in each bin.

    Parameters
    ----------
    actual : array_like, shape (n,), or Dataset
        True labels of two classes, of which a batch may lack one; or evidence of one classifier, as
        :func:`bayescm.from_probabilities` or :func:`bayescm.from_scores` return it.
    forecasts : array_like, shape (n,)
        Of the positive class.
    positive : label, optional
        The positive class; obvious for {0, 1} and {False, True}.
    edges : sequence of float, optional
        Edges of the bins, ascending; a forecast on an edge is in the bin above. By default, of
        probabilities, 48 bins that are finer towards 0 and 1. Scores below the first edge and above
        the last have bins of their own.
    kind : {"probabilities", "scores"}, default "probabilities"
        Of evidence it is known.

    Returns
    -------
    DataArray, dims (actual, bin)
        Counts, the positive class last; attributes ``edges`` and ``chances``, whether these are
        probabilities.

    Raises
    ------
    ValueError
        If a forecast is missing or outside [0, 1], there are more than two classes, or the edges
        are not ascending.

    Examples
    --------
    >>> table = forecast_table([0, 0, 1], [0.1, 0.3, 0.8], edges=[0, 0.25, 0.5, 1])
    >>> table.values
    array([[1, 1, 0],
           [0, 0, 1]])
    """
    if isinstance(actual, xr.Dataset):
        actual, forecasts, positive, kind = _of_evidence(actual)
    check_row_order({"actual": actual, "forecasts": forecasts})
    chances = check_choice("kind", kind, ["probabilities", "scores"]) == "probabilities"
    bounds = check_edges(edges, chances)
    unmasked(forecasts, "forecasts")
    forecasts = check_reals(forecasts, "forecasts", "pass one number for each example")
    truth, values = _column("actual", actual), _column("forecasts", forecasts)
    if len(truth) != len(values):
        raise fail(
            "forecasts and actual differ in length", len(values), str(len(truth)), "align them"
        )
    labels = _labels(truth, positive)
    _check_forecasts(values, chances)
    inner = bounds[1:-1] if chances else bounds
    place = np.searchsorted(inner, values, "right")
    cells = np.zeros((2, len(inner) + 1), np.int64)
    np.add.at(cells, ((truth == labels[1]).astype(int), place), 1)
    return blank(labels, labels[1], bounds, chances).copy(data=cells)


def blank(labels: list, positive: Any, edges: Sequence[float], chances: bool) -> xr.DataArray:
    """Return zero counts with these labels and edges."""
    number = len(edges) - 1 if chances else len(edges) + 1
    coords = {"actual": labels, "bin": np.arange(number), "positive": positive}
    cells = np.zeros((len(labels), number), np.int64)
    attrs = {"edges": [float(each) for each in edges], "chances": bool(chances)}
    return xr.DataArray(cells, coords, ["actual", "bin"], "counts", attrs)


def middles(table: xr.DataArray) -> np.ndarray:
    """Return the probability that stands for each bin, or the place of a bin of scores."""
    edges = np.array(table.attrs["edges"])
    if table.attrs["chances"]:
        return (edges[1:] + edges[:-1]) / 2
    return (np.arange(table.sizes["bin"]) + 0.5) / table.sizes["bin"]


def check_edges(edges: Sequence[float] | None, chances: bool) -> list[float]:
    """Return the edges of bins, or raise where they are none."""
    if edges is None and not chances:
        todo = "pass e.g. edges=np.quantile(scores, np.linspace(0.02, 0.98, 49)) of a first sample"
        raise fail("scores need edges", None, "ascending numbers", todo)
    try:
        bounds = np.asarray(EDGES if edges is None else edges, float)
    except (TypeError, ValueError):
        bounds = np.array(np.nan)
    ends = bounds.ndim == 1 and (not chances or (bounds[0], bounds[-1]) == (0, 1))
    right = ends and 3 <= len(bounds) <= _MOST and np.isfinite(bounds).all()
    if not right or not (np.diff(bounds) > 0).all():
        allowed = f"3 to {_MOST} ascending numbers{', from 0 to 1' if chances else ''}"
        todo = "leave them out" if chances else "pass quantiles of a first sample"
        raise fail("not edges of bins", edges, allowed, todo)
    return bounds.tolist()


def _of_evidence(evidence):
    evidence = as_scores(evidence)
    if "class" in evidence.dims or "classifier" in evidence.dims:
        todo = "select one: evidence.sel(classifier=...), curves.one_vs_rest(evidence, label)"
        raise fail("a batch is of one classifier and two classes", evidence.dims, "one", todo)
    if found := {"weight", "fold", "group", "prevalence"} & {*evidence.variables}:
        todo = "leave weights, folds, groups and a set prevalence out"
        raise fail("a batch is one sample of single examples", sorted(found), "none of it", todo)
    kind = "probabilities" if "probabilities" in evidence.coords else "scores"
    return evidence["actual"].values, evidence["score"].values, evidence["positive"].item(), kind


def _column(name, given):
    found = np.asarray(unmasked(given, name))
    if found.ndim != 1 or not len(found):
        raise fail(f"{name} must be one column", found.shape, "shape (n,), n > 0", "pass one each")
    return found


def _labels(truth, positive):
    """Return the negative and the positive class."""
    check_no_dates(list(truth[:1]), "the labels of actual")
    found = np.unique(truth).tolist()
    check_no_missing_text(found)
    positive = obvious([0, 1]) if positive is None and set(found) <= {0, 1} else positive
    if positive is None or len({*found, positive}) > 2:
        todo = "pass positive=, and two classes"
        raise fail("the positive class is not told", found, "two classes and positive=", todo)
    rest = [each for each in found if each != positive]
    if not rest and isinstance(positive, bool | int) and positive in (0, 1):
        rest = [type(positive)(1 - positive)]
    return [rest[0] if rest else None, positive]


def _check_forecasts(values, chances):
    if np.isnan(values).any():
        raise fail("a forecast is missing", np.nan, "a number for each example", "drop these")
    outside = values[(values < 0) | (values > 1)]
    if chances and len(outside):
        todo = "pass predict_proba, or kind='scores' with edges"
        raise fail("a probability is outside [0, 1]", outside[0], "[0, 1]", todo)
