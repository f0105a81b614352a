"""The posterior interval of a measure: its distribution is asked for both ends, and labelled."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import xarray as xr

from bayescm.answers.dask import is_lazy, lazily
from bayescm.answers.distribution import distribution
from bayescm.validate import check_kind, check_prob


def interval(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    **keywords: Any,
) -> xr.DataArray:
    """
    Return the posterior interval of a measure, or of several.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit. Of counts
        that are an array of Dask the answer is one too, computed block by block when asked for.
    measure : str, callable or sequence of these
        A name, or a function of cells (..., C, C). Those of a sequence that have no direct
        distribution all come from the same draws.
    prob : float in (0, 1), default 0.95
        Mass of the interval.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed. Where a density has more than one mode, the answer is the
        shortest interval that has the mass, and ``attrs["how"]`` says so; where it is flat, or a
        beta or F1 distribution rises to both ends, it is the equal-tailed one, and says that.
    **keywords
        ``model``, ``of`` (the estimand), ``n``, ``draws``, ``random_seed`` and ``positive``;
        ``accuracy``, the numerical error of a bound that is good enough (1e-6, and 1e-3 for more
        than 10,000 matrices); and the model's own keywords, such as ``concentration=0.5``.

    Returns
    -------
    DataArray, dims ([measure], ..., [class], bound)
        ``bound`` is lower, upper; a sequence of measures adds a dim ``measure``. The leading dims
        of the evidence remain, except those that the model uses up (``fold``, ``repeat``). NaN
        where the measure is undefined throughout. The attributes ``of``, ``prob``, ``kind`` and
        ``how`` say what it is and how it was computed; ``error`` is the largest numerical (for
        draws: Monte Carlo standard) error of a bound, ``undefined`` the largest fraction of 0/0.

    Raises
    ------
    ValueError, TypeError
        If prob, kind, the model, the measure or a keyword of the model is invalid.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> interval(counts, "f1", kind="eti").values.round(4)
    array([0.641 , 0.7884])
    >>> interval(counts, ["f1", "mcc"]).sel(bound="lower").values.round(4)
    array([0.644 , 0.1356])
    """
    check_prob(prob), check_kind(kind)
    if is_lazy(evidence):
        ask = partial(interval, measure=measure, prob=prob, kind=kind, **keywords)
        return lazily(ask, evidence)
    return distribution(evidence, measure, **keywords).interval(prob, kind)
