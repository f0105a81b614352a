r"""Performance that drifts: prevalence, recall and specificity walk from batch to batch.

.. math::

    \mathrm{start}_r &\sim \mathrm{Beta}(\lambda_r, \lambda'_r) \\
    \mathrm{drift}_r &\sim \mathrm{HalfNormal}(0.2) \\
    \mathrm{logit}\, \pi_{1r} &= \mathrm{logit}\, \mathrm{start}_r \\
    \mathrm{logit}\, \pi_{tr} &= \mathrm{logit}\, \pi_{t-1,r} + \mathrm{drift}_r\, \varepsilon_{tr},
        \qquad \varepsilon_{tr} \sim \mathrm{Normal}(0, 1) \\
    \mathrm{hits}_{tr} &\sim \mathrm{Binomial}(\mathrm{trials}_{tr}, \pi_{tr})

The rates :math:`r` are the prevalence (hits: the positives among all examples), the recall (the
true positives among the positives) and the specificity (the true negatives among the negatives).
Given these three rates the likelihood is that of the multinomial table, so one batch is
`dirichlet_multinomial`. Each rate has its own drift, the standard deviation of its step on the
logit scale, and it is learned: 0.1 moves a recall of 0.9 by about 0.009 from one batch to the next.

Use it for batches in the order of time, about equally far apart, of two classes, when performance
may have moved by any amount at any time. Do not use it to look for one abrupt change
(`bayescm.online` has the Bayes factor of that) or for groups without an order
(`hierarchical_groups`). A batch of no examples is a step in which nothing was seen: append some to
look ahead, or to leave room for batches to come, so that a refit needs no compilation.

Not conjugate; the direct posterior integrates on a grid, rate by rate, and also gives the filtered
posterior, of each batch given only those up to it. The estimand is the measure at ``theta`` of each
step, given all batches (smoothed).

References
----------
West, M. & Harrison, J. (1997). Bayesian forecasting and dynamic models, 2nd ed., chapter 14.
Springer. doi:10.1007/b98971
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def drifting(
    counts: xr.DataArray,
    *,
    concentration: ArrayLike | None = None,
    drift: float | Callable | None = None,
) -> pm.Model:
    """Model batches of two classes whose rates walk at random on the logit scale.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts of two classes, dims ``(step, actual, predicted)``; the steps in the order of time.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the first batch, > 0: one number for every cell, or ``(2, 2)``; by
        default 0.5.
    drift : float or callable, optional
        Scale of the half-normal prior of the standard deviation of a step on the logit scale, by
        default 0.2; or a function from a name to a PyMC variable > 0, one for all rates or one for
        each.

    Returns
    -------
    pymc.Model
        Free variables ``start`` ``(rate)``, ``drift`` ``(rate)`` and, where there is more than one
        step, ``moves`` ``(move, rate)``; ``rates`` ``(step, rate)``; ``theta``
        ``(step, actual, predicted)``; observed ``hits`` ``(step, rate)``.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": ["well", "sick"], "predicted": ["well", "sick"]}
    >>> tables = [[[30, 35], [15, 65]], [[35, 30], [25, 55]]]
    >>> counts = xr.DataArray(tables, labels, dims=["step", "actual", "predicted"])
    >>> [variable.name for variable in drifting(counts).free_RVs]
    ['start', 'drift', 'moves']
    """
    labels = counts["actual"].values
    positive = counts.coords["positive"].values if "positive" in counts.coords else labels[-1]
    p = int(labels[1] == positive)  # the place of the positive class, n that of the other
    n = 1 - p
    prior = _pseudo_counts(concentration, counts)
    steps = counts["step"].values if "step" in counts.coords else np.arange(counts.sizes["step"])
    coords = {"step": steps, "move": steps[1:], "rate": ["prevalence", "recall", "specificity"]}
    coords |= {"actual": labels, "predicted": counts["predicted"].values}

    with pm.Model(coords=coords) as model:
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
        data = pm.Data("counts", counts.values.astype(float), dims=("step", "actual", "predicted"))
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        positives, negatives = data[:, p].sum(-1), data[:, n].sum(-1)
        hits = pm.math.stack([positives, data[:, p, p], data[:, n, n]], axis=1)
        trials = pm.math.stack([positives + negatives, positives, negatives], axis=1)

        weight = pm.Data("concentration", prior, dims=("actual", "predicted"))
        for_it = pm.math.stack([weight[p].sum(), weight[p, p], weight[n, n]])
        against = pm.math.stack([weight[n].sum(), weight[p, n], weight[n, p]])
        start = pm.Beta("start", for_it, against, dims="rate")
        if callable(drift):
            width = drift("drift")
        else:
            scale = pm.Data("drift_scale", float(0.2 if drift is None else drift))
            width = pm.HalfNormal("drift", scale, dims="rate")

        level = pm.math.logit(start)[None, :]
        if len(steps) > 1:
            walk = width * pm.Normal("moves", dims=("move", "rate")).cumsum(axis=0)
            level = pm.math.concatenate([level, level + walk], axis=0)
        rates = pm.Deterministic("rates", pm.math.sigmoid(level), dims=("step", "rate"))
        pm.Binomial("hits", n=trials.astype("int64"), p=rates, observed=hits, dims=("step", "rate"))
        share, recall, specificity = rates[:, 0], rates[:, 1], rates[:, 2]
        of_negatives = [(1 - share) * specificity, (1 - share) * (1 - specificity)]
        of_positives = [share * (1 - recall), share * recall]
        table = pm.math.stack(
            [pm.math.stack(row, axis=1) for row in (of_negatives, of_positives)], axis=1
        )
        order = [0, 1] if p == 1 else [1, 0]
        pm.Deterministic(
            "theta", table[:, order][:, :, order], dims=("step", "actual", "predicted")
        )
    return model


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts cell by cell, in the order of the counts."""
    if concentration is None:
        concentration = 0.5
    table = counts.isel(step=0)
    if hasattr(concentration, "dims"):
        concentration = concentration.reindex_like(table).transpose(*table.dims).values
    return np.broadcast_to(np.asarray(concentration, float), table.shape).copy()


def _is_positive(counts):
    """Return 1 for the positive class and 0 for the others; 0 throughout where none is set."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
