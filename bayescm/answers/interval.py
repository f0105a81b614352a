"""The posterior interval of a measure: its distribution is asked for both ends, and labelled."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.asking import common_template, distributions_of
from bayescm.answers.blockwise import is_lazy, lazily
from bayescm.distributions.batches import LazyDraws, find_at_once, together
from bayescm.distributions.hdi import ONE_INTERVAL
from bayescm.validate import check_kind, check_prob

# A numerical error of a bound from which on it is warned of: of the length, and in all.
_LARGE_ERROR, _SMALL_ERROR = 0.2, 0.01
_BOUND = (("bound", ("lower", "upper")),)


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
        Highest-density or equal-tailed. Where the highest-density region is not one interval, the
        answer falls back to the equal-tailed interval, and ``attrs["how"]`` says so.
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
    found = distributions_of(evidence, measure, **keywords)
    find_at_once([each for each, frame in found if not frame.dims], prob, kind)
    answers = _answers([distribution for distribution, _ in found], prob, kind)
    template = common_template([each for _, each in found], measure)
    several = "measure" in template.dims
    shape = template.shape[several:]
    values = np.empty((len(answers), *shape, 2))
    for place, answer in enumerate(answers):
        values[place] = answer[0]
    values = values if several else values[0]
    attrs = {
        **template.attrs,
        "prob": prob,
        "kind": kind,
        "how": "; ".join(dict.fromkeys(answer[1] for answer in answers)),
        "error": float(max(answer[2] for answer in answers)),
        "undefined": float(max(answer[3] for answer in answers)),
    }
    _warn_of_error(attrs["error"], values)
    return template.filled(values, _BOUND, attrs)


def _warn_of_error(error, ends):
    """Warn where the numerical error is not small beside the interval."""
    if error <= _SMALL_ERROR:
        return
    length = ends[..., 1] - ends[..., 0]
    length = np.mean(length[length > 0]) if (length > 0).any() else np.inf
    if error > max(_LARGE_ERROR * length, _SMALL_ERROR):
        warnings.warn(
            f"A bound has a numerical error of about {error:.2g}, beside an interval of length "
            f"{length:.2g}. Classes or items with few examples are the usual reason: combine or "
            "leave them out, or use fit(..., method='nuts') of the same evidence.",
            UserWarning,
            stacklevel=3,
        )


def _answers(distributions, prob, kind):
    """Return of each distribution the ends, and what the attributes say: how, error, undefined."""
    drawn = [distribution for distribution in distributions if isinstance(distribution, LazyDraws)]
    at_once = iter(
        together(drawn, lambda distribution: _packed(distribution, prob, kind)) if drawn else ()
    )
    answers = []
    for distribution in distributions:
        if isinstance(distribution, LazyDraws):
            packed = next(at_once)
            answers.append(
                (packed[..., :2], distribution.how, packed[..., 2].max(), packed[..., 3].max())
            )
        else:
            ends, error = distribution.checked(prob, kind)
            said = how(distribution, prob, kind)
            answers.append((ends, said, error.max(), np.max(distribution.undefined)))
    return answers


def _packed(distribution, prob, kind):
    ends, error = distribution.checked(prob, kind)
    worst = error.max(axis=-1)
    return np.stack([ends[..., 0], ends[..., 1], worst, distribution.undefined], axis=-1)


def how(distribution: Any, prob: float, kind: str) -> str:
    """Say how the intervals of a distribution were computed, and why if equal-tailed instead."""
    if kind == "eti":
        return distribution.how
    other = [each for each in np.unique(distribution.hdi_kind(prob)) if each not in ONE_INTERVAL]
    return f"{distribution.how}, equal tails: {', '.join(other)}" if other else distribution.how
