"""The best threshold, and the cost of choosing it on the same data."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.curves import drawing
from bayescm.curves.thresholds import RESOLUTION, along, thresholds, two_classes
from bayescm.direct.roc.curve import Curve, cells_at
from bayescm.direct.roc.slots import View
from bayescm.measures.labelled import one_number
from bayescm.validate import check_prob, check_seed, fail


def best_threshold(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    lower_is_better: bool | None = None,
    prob: float = 0.95,
    draws: int = drawing.CURVES,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Choose the threshold with the best expected value of a measure, and say how good it really is.

    For costs pass ``bcm.measures.cost([[0, 1], [5, 0]])``, where lower is better; for a prevalence
    other than the sample's use ``at_prevalence(evidence, 0.01)``.

    Parameters
    ----------
    evidence : Dataset
        Scores of one or more classifiers, two classes.
    measure : str or callable
        See `threshold`.
    lower_is_better : bool, optional
        By default what the measure says of itself: costs and error rates are to be low.
    prob : float, default 0.95
    draws, random_seed
        See `threshold`.

    Returns
    -------
    Dataset, dims ([fold | group], [classifier], [bound])
        ``threshold``, the one chosen: the one with the best posterior mean;
        ``best``, the interval of the truly best threshold;
        ``apparent``, the best value in the sample;
        ``value``, the interval of the measure at the chosen threshold, corrected for the choice;
        ``optimism``, how far the apparent value exceeds the corrected mean: the cost of choosing
        on the same data;
        ``regret``, the expected loss against the truly best threshold.

    Notes
    -----
    A threshold chosen because it looks best looks better than it is. The correction is the mean
    excess in data sets of the same size simulated from the posterior's curves, each choosing its
    own threshold.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> best = best_threshold(evidence, bcm.measures.cost([[0, 1], [5, 0]]))
    >>> bool(best.optimism > 0), best.value.dims
    (True, ('bound',))
    """
    check_prob(prob)
    evidence = two_classes(evidence)
    kernel = one_number(measure)
    less = kernel.lower_is_better if lower_is_better is None else lower_is_better
    tried = thresholds(evidence)
    drawn = drawing.draw(evidence, draws, random_seed, resolution=RESOLUTION, thresholds=tried)
    sign = -1.0 if less else 1.0
    rng = np.random.default_rng(check_seed(random_seed))
    found = []
    for each, view, seen in zip(*drawn[:2], drawing.observe(evidence).curves, strict=True):
        good = _goodness(along(each, view, tried, kernel), sign)
        again = _goodness(along(_replicate(each, view, rng), view, tried, kernel), sign)
        apparent = _goodness(_observed(seen, kernel), sign).max()
        found.append(_choose(good, again, apparent, prob, sign))
    answer = {}
    for name in _Choice._fields:
        values = np.stack([np.asarray(getattr(each, name), float) for each in found])
        values = tried[values.astype(int)] if name in ("threshold", "best") else values
        tail = {"bound": ["lower", "upper"]} if values.ndim > 1 else None
        labelled = drawn.label(list(values[:, None]), name, tail)
        answer[name] = labelled.isel(draw=0, drop=True)
    return xr.Dataset(answer).assign_coords(measure=kernel.__name__, prob=prob)


class _Choice(NamedTuple):
    threshold: Any
    best: Any
    apparent: Any
    value: Any
    optimism: Any
    regret: Any


def _choose(good, again, apparent, prob, sign):
    """Return the choice from draws (S, T) of the measure, and of it in data drawn from these."""
    mean = good.mean(axis=0)
    if not np.isfinite(mean).any():
        todo = "choose another measure"
        raise fail(
            "the measure is 0/0 at every threshold",
            ...,
            "a measure that some threshold defines",
            todo,
        )
    chosen = int(mean.argmax())
    rows = np.arange(len(good))
    excess = again.max(axis=1) - good[rows, again.argmax(axis=1)]
    excess = max(float(excess[np.isfinite(excess)].mean()), 0.0)
    ends = [(1 - prob) / 2, (1 + prob) / 2]
    return _Choice(
        threshold=chosen,
        best=np.quantile(good.argmax(axis=1), ends, method="nearest"),
        apparent=sign * apparent,
        value=np.sort(sign * (np.quantile(good[:, chosen], ends) - excess)),
        optimism=float(apparent - mean[chosen] + excess),
        regret=float(np.mean(good.max(axis=1) - good[:, chosen])),
    )


def _goodness(values, sign):
    """Return the measure so that higher is better, and 0/0 never the best."""
    return np.where(np.isnan(values), -np.inf, sign * values)


def _replicate(curve: Curve, view: View, rng) -> Curve:
    """Return the curves of data sets of the same class sizes drawn from each of the curves."""
    rates = []
    for rate, side in zip((curve.fpr, curve.tpr), view.concentration, strict=True):
        size = max(1, round(side.sum()))
        share = np.maximum(np.diff(rate, axis=1), 0)
        counts = rng.multinomial(size, share / share.sum(axis=1, keepdims=True))
        rates.append(np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0))) / size)
    return replace(curve, fpr=rates[0], tpr=rates[1])


def _observed(curve: Curve, kernel):
    """Return the measure at every threshold that the examples themselves tell apart."""
    return kernel(cells_at(curve, np.arange(len(curve.at), dtype=float)))[0]
