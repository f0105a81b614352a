r"""Model for batches over time whose prevalence, recall and specificity drift.

.. math::

    \mathrm{start}_r &\sim \mathrm{Beta}(\lambda_r, \lambda'_r) \\
    \mathrm{drift}_r &\sim \mathrm{HalfNormal}(\texttt{drift}) \\
    \varepsilon_{tr} &\sim \mathrm{Normal}(0, 1) \\
    \operatorname{logit} \pi_{1r} &= \operatorname{logit} \mathrm{start}_r \\
    \operatorname{logit} \pi_{tr} &= \operatorname{logit} \pi_{t-1,r}
        + \mathrm{drift}_r\, \varepsilon_{tr}, \qquad t > 1 \\
    \mathrm{hits}_{tr} &\sim \mathrm{Binomial}(\mathrm{trials}_{tr}, \pi_{tr})

The rates r are the prevalence, the recall and the specificity. In batch t, the hits and trials are:

+-------------+----------------+-----------+
| rate        | hits           | trials    |
+=============+================+===========+
| prevalence  | positives      | examples  |
+-------------+----------------+-----------+
| recall      | true positives | positives |
+-------------+----------------+-----------+
| specificity | true negatives | negatives |
+-------------+----------------+-----------+

Parameters
----------
+---------------------------+-------------------------+------------------------+-------------------+
| symbol                    | meaning                 | prior                  | keyword           |
+===========================+=========================+========================+===================+
| :math:`\mathrm{start}_r`, | rate in the first batch | Beta(:math:`\lambda_r, | –                 |
| ``start``                 |                         | \lambda'_r`)           |                   |
+---------------------------+-------------------------+------------------------+-------------------+
| :math:`\lambda_r,         | prior pseudo-counts:    | fixed, 0.5 for each    | ``concentration`` |
| \lambda'_r`               | sums of                 | cell                   |                   |
|                           | ``concentration`` over  |                        |                   |
|                           | the cells that count    |                        |                   |
|                           | for and against the     |                        |                   |
|                           | rate                    |                        |                   |
+---------------------------+-------------------------+------------------------+-------------------+
| :math:`\mathrm{drift}_r`, | standard deviation of a | HalfNormal(0.2), or a  | ``drift=0.2``     |
| ``drift``                 | step on the logit       | function               |                   |
|                           | scale, for each rate    |                        |                   |
+---------------------------+-------------------------+------------------------+-------------------+
| :math:`\varepsilon_{tr}`, | standardised step to    | Normal(0, sd 1)        | –                 |
| ``moves``                 | batch t                 |                        |                   |
+---------------------------+-------------------------+------------------------+-------------------+
| :math:`\pi_{tr}`,         | rate in batch t         | follows from the       | –                 |
| ``rates``                 |                         | others                 |                   |
+---------------------------+-------------------------+------------------------+-------------------+

When to use it
--------------
Use it for batches of two classes in the order of time, about equally spaced, if performance may
change by any amount at any time. Each rate has its own step standard deviation, estimated from the
data. A step standard deviation of 0.1 typically changes a recall of 0.9 by about 0.009 from one
batch to the next.

When not to use it
------------------
* To look for one abrupt change: ``bayescm.online`` computes the Bayes factor of a change.
* For groups without an order: use `hierarchical_groups`.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure in each batch, given all batches (smoothed). With
  ``filtered=True``, the direct posterior uses only this batch and the earlier ones.
* ``theta``, ``of="predictive"``: the measure in each batch on a test set of ``n`` examples.

Notes
-----
The model is not conjugate. The direct posterior integrates on a grid, one rate at a time.

Given the three rates, the likelihood equals the multinomial likelihood of the table. With one
batch, the model is `dirichlet_multinomial`.

A batch without examples is a step without data. Append such batches to look ahead, or to leave room
for later batches, so that a refit needs no compilation.

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
    """Model batches of two classes whose rates follow random walks on the logit scale.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts of two classes, dims ``(step, actual, predicted)``, with the steps in the order of
        time.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the first batch, > 0: one number for all cells, or shape ``(2, 2)``.
        Default: 0.5.
    drift : float or callable, optional
        Scale of the half-normal prior for the standard deviation of a step on the logit scale.
        Default: 0.2. A function from a name to a PyMC variable > 0, one for all rates or one for
        each, is another prior.

    Returns
    -------
    pymc.Model
        Free variables ``start`` ``(rate)``, ``drift`` ``(rate)`` and, with more than one step,
        ``moves`` ``(move, rate)``. Deterministic ``rates`` ``(step, rate)`` and ``theta``
        ``(step, actual, predicted)``. Observed ``hits`` ``(step, rate)``.

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
    # Index of the positive class (p) and of the negative class (n).
    p = int(labels[1] == positive)
    n = 1 - p
    prior = _pseudo_counts(concentration, counts)
    steps = counts["step"].values if "step" in counts.coords else np.arange(counts.sizes["step"])
    coords = {"step": steps, "move": steps[1:], "rate": ["prevalence", "recall", "specificity"]}
    coords |= {"actual": labels, "predicted": counts["predicted"].values}

    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
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
    """Return the prior pseudo-counts of the cells, in the order of the counts."""
    if concentration is None:
        concentration = 0.5
    table = counts.isel(step=0)
    if hasattr(concentration, "dims"):
        concentration = concentration.reindex_like(table).transpose(*table.dims).values
    return np.broadcast_to(np.asarray(concentration, float), table.shape).copy()


def _is_positive(counts):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
