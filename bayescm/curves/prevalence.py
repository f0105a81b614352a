"""
Predictive values in the target population: precision and NPV as functions of the prevalence.

Recall r and specificity s are properties of the test, and the prevalence p is a property of the
population:

    PPV = p r / (p r + (1 - p) (1 - s)),    NPV = (1 - p) s / ((1 - p) s + p (1 - r))

At each prevalence, the result equals `interval(at_prevalence(evidence, p), ...)`. The
prevalence of the sample has no influence. The intervals are pointwise.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.interval import distribution
from bayescm.evidence.scores import at_prevalence
from bayescm.validate import check_kind, check_prob, fail

# From 1 in 1,000, as in screening, to 1 in 2, equidistant on a logarithmic axis.
PREVALENCES = np.geomspace(0.001, 0.5, 25)


def predictive_values(
    evidence: xr.DataArray,
    prevalence: Any = None,
    *,
    measures: str | Callable | Sequence[str | Callable] = ("ppv", "npv"),
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> xr.Dataset:
    """
    Return the positive and negative predictive values at several prevalences.

    Use this function if the test will be applied to populations with another prevalence than the
    sample.

    Parameters
    ----------
    evidence : DataArray, dims (..., actual, predicted)
        Counts of two classes. Counts of studies or sites contain a dimension ``group``.
    prevalence : array_like of floats in (0, 1), optional
        Prevalences. By default 25 values from 0.001 to 0.5.
    measures : str, callable or sequence of these, default ("ppv", "npv")
        Measures that depend on the prevalence.
    prob, kind, of, n, model, concentration, positive, draws, random_seed, **keywords
        See :func:`bayescm.interval`. For studies, ``of="new"`` is a new site from the same
        population of sites.

    Returns
    -------
    Dataset
        ``interval`` over (measure, prevalence, ..., bound) and ``mean``, the posterior mean,
        without ``bound``.

    Raises
    ------
    ValueError
        If a prevalence is not between 0 and 1. Also if the evidence does not support a given
        prevalence: more than two classes, several classifiers on the same examples, or partly
        labelled examples.

    See Also
    --------
    bayescm.summary : Table with one row per measure and prevalence, given a mapping from
        prevalences to evidence.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> values = predictive_values(counts, [0.01, 0.1, 0.5])
    >>> values["interval"].sel(measure="ppv").values.round(3)
    array([[0.012, 0.019],
           [0.115, 0.176],
           [0.543, 0.662]])

    As a table:

    >>> places = {share: bcm.at_prevalence(counts, share) for share in (0.01, 0.1)}
    >>> table = bcm.summary(places, ["ppv", "npv"], dim="prevalence")
    >>> table[["measure", "prevalence", "mean", "lower", "upper"]].round(3)
      measure prevalence   mean  lower  upper
    0     ppv       0.01  0.015  0.012  0.019
    1     ppv        0.1  0.144  0.115  0.176
    2     npv       0.01  0.996  0.994  0.998
    3     npv        0.1  0.955  0.933  0.976
    """
    check_prob(prob), check_kind(kind)
    prevalences = np.atleast_1d(np.asarray(PREVALENCES if prevalence is None else prevalence))
    if not prevalences.size or prevalences.ndim != 1:
        todo = "pass e.g. [0.01, 0.05, 0.2]"
        raise fail("`prevalence` must be a list of numbers", prevalence, "", todo)
    if isinstance(measures, str) or callable(measures):
        measures = [measures]
    options: dict[str, Any] = {"of": of, "n": n, "model": model}
    options |= {"concentration": concentration, "positive": positive, "draws": draws}
    options |= {"random_seed": random_seed, **keywords}
    columns = []
    for share in prevalences.tolist():
        values = distribution(at_prevalence(evidence, share), list(measures), **options)
        bounds = values.interval(prob, kind)
        column = xr.Dataset({"mean": values.mean(), "interval": bounds})
        columns.append(column.drop_vars("prevalence", errors="ignore"))
    places = xr.DataArray(prevalences, dims="prevalence", name="prevalence")
    table = xr.concat(columns, places, combine_attrs="drop_conflicts")
    largest = max(column["interval"].attrs["error"] for column in columns)
    table.attrs = bounds.attrs | {"error": largest}
    return table.transpose("measure", "prevalence", ..., "bound")
