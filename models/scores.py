r"""Model for ROC and precision-recall curves that uses only the order of the scores.

.. math::

    \pi &\sim \mathrm{Beta}(\tfrac12, \tfrac12) \\
    (F(x_{(k)}) - F(x_{(k-1)}))_{k = 1}^{n_0 + 1}
        &\sim \mathrm{Dirichlet}(\tfrac12, 1, \ldots, 1, \tfrac12) \\
    (G(y_{(k)}) - G(y_{(k-1)}))_{k = 1}^{n_1 + 1}
        &\sim \mathrm{Dirichlet}(\tfrac12, 1, \ldots, 1, \tfrac12) \\
    \text{positives} &\sim \mathrm{Binomial}(n_0 + n_1, \pi)

F is the distribution of the scores of the negatives, with the :math:`n_0` sorted scores
:math:`x_{(k)}`. G is the distribution of the scores of the positives, with the :math:`n_1` sorted
scores :math:`y_{(k)}`. At the open ends F and G are 0 and 1.

Parameters
----------
+--------------------+--------------------------------+---------------------------+----------------+
| symbol             | meaning                        | prior                     | keyword        |
+====================+================================+===========================+================+
| :math:`\pi`,       | share of the positive class    | Beta(0.5, 0.5), Beta(a,   | ``prevalence`` |
| ``prevalence``     |                                | b), a function, or known  |                |
+--------------------+--------------------------------+---------------------------+----------------+
| increments of F,   | probabilities of the intervals | improper; the posterior   | –              |
| ``negative_mass``  | between negative scores        | is the Dirichlet above    |                |
+--------------------+--------------------------------+---------------------------+----------------+
| increments of G,   | probabilities of the intervals | improper; the posterior   | –              |
| ``positive_mass``  | between positive scores        | is the Dirichlet above    |                |
+--------------------+--------------------------------+---------------------------+----------------+

When to use it
--------------
Use it for ROC and precision-recall curves and all measures derived from them, and to compare
classifiers on the same examples.

When not to use it
------------------
If each class has few examples, `binormal` is more precise, provided that the scores are normal.

Estimands
---------
* ``fpr``, ``tpr`` and ``prevalence``, ``of="parameter"``: the measure of the curve of the two
  distributions.

Notes
-----
The scores have no likelihood here. The distribution of the order statistics is inverted, as in the
Bayesian bootstrap (Rubin 1981). For every continuous F, the masses between neighbouring order
statistics of a sample have a Dirichlet(1, ..., 1) distribution. Here each open end has weight 1/2,
so that an example has weight 1 in total, half of it on each side. With weight 1 at the ends, the
area under the curve would be biased towards 1/2. The labels are observed, and the prevalence is
estimated from them.

An interval of one class that contains scores of the other class spreads its weight evenly over the
*slots* between them. If c of these scores are equal, they leave c - 1 further slots at their value.
Examples with the same score keep their weight at that score, except for the outer halves.

If several classifiers scored the same examples, the slots of all classifiers divide the weight of
each example at once. The parts of the common refinement of their slots are called *cells*. With a
Dirichlet distribution over the cells, every classifier has the same marginal distribution as if it
were alone, and two copies of a classifier never differ.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338

Hill, B. M. (1968). Posterior distribution of percentiles. Journal of the American Statistical
Association 63, 677-691. doi:10.1080/01621459.1968.11009286
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr


def scores(
    evidence: xr.Dataset, *, prevalence: float | tuple[float, float] | Callable | None = None
) -> pm.Model:
    """Model the order of the scores of two classes.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``score`` ([classifier], example), ``actual`` (example), scalar coordinate ``positive``, and
        optionally ``weight`` (example).
    prevalence : float, tuple or callable, optional
        Share of the positive class. Default: a Beta(0.5, 0.5) prior.

        * A number: the share is known.
        * A tuple ``(a, b)``: a Beta(a, b) prior.
        * A function from a name to a PyMC variable: another prior.

    Returns
    -------
    pymc.Model
        Free variables ``negative_mass`` (negative_cell), ``positive_mass`` (positive_cell) and,
        unless it is known, ``prevalence``. Deterministic ``fpr`` and ``tpr`` ([classifier],
        example), with the score of each example as threshold, and ``auc`` ([classifier]). Observed
        ``positives``.

    Examples
    --------
    >>> import xarray as xr
    >>> data = {"score": ("example", [1.0, 2, 3, 4]), "actual": ("example", [0, 1, 0, 1])}
    >>> model = scores(xr.Dataset(data, {"positive": 1}))
    >>> [variable.name for variable in model.free_RVs]
    ['prevalence', 'negative_mass', 'positive_mass']
    """
    score = evidence["score"]
    dims = [dim for dim in score.dims if dim != "example"]
    matrix = score.transpose(..., "example").values.reshape(-1, score.sizes["example"])
    actual = evidence["actual"].values == evidence["positive"].values
    weight = np.asarray(evidence["weight"] if "weight" in evidence else np.ones(len(actual)), float)
    slots = [_slots(row, actual, weight) for row in matrix]
    cells = [_cells(slots, actual == side, weight[actual == side], side) for side in (0, 1)]

    coords = {dim: score[dim].values for dim in dims} | {"example": np.arange(len(actual))}
    names = ["negative", "positive"]
    coords |= {f"{n}_cell": np.arange(len(c[0])) for n, c in zip(names, cells, strict=True)}
    with pm.Model(coords=coords) as model:
        share = _prevalence(prevalence)
        total = pm.Data("weight", weight, dims="example").sum()
        pm.Binomial("positives", n=total, p=share, observed=weight[actual].sum())
        # The prior is improper: it has no pseudo-counts.
        prior = pm.Data("pseudo_count", 0.0)
        masses = []
        for name, (shape, _) in zip(names, cells, strict=True):
            weights = pm.Data(f"{name}_concentration", shape, dims=f"{name}_cell")
            masses.append(pm.Dirichlet(f"{name}_mass", weights + prior, dims=f"{name}_cell"))
        rates, areas = [], []
        for view, (ends, below) in enumerate(slots):
            rates_of_view = [
                _cumulative(mass, slot[view], ends.shape[1])
                for mass, (_, slot) in zip(masses, cells, strict=True)
            ]
            fpr, tpr = rates_of_view
            areas.append(((fpr[1:] - fpr[:-1]) * (tpr[1:] + tpr[:-1]) / 2).sum())
            rates.append([rate[below] for rate in rates_of_view])
        shape = tuple(score.sizes[dim] for dim in dims)
        for name, side in (("fpr", 0), ("tpr", 1)):
            along = pm.math.stack([rates_of_view[side] for rates_of_view in rates])
            pm.Deterministic(name, along.reshape((*shape, len(actual))), dims=(*dims, "example"))
        pm.Deterministic("auc", pm.math.stack(areas).reshape(shape), dims=dims)
    return model


def _prevalence(prevalence):
    if callable(prevalence):
        return prevalence("prevalence")
    if prevalence is None or isinstance(prevalence, tuple):
        return pm.Beta("prevalence", *(prevalence or (0.5, 0.5)))
    return pm.Data("prevalence", float(prevalence))


def _slots(score, actual, weight):
    """Return the ends of the slots for each side, and the number of slots above each example."""
    _, rank = np.unique(-score, return_inverse=True)
    size = rank.max() + 1
    total = [np.bincount(rank, weight * (actual == side), size) for side in (0, 1)]
    # The slots alternate between intervals and values, starting with the highest scores.
    slots = np.zeros((2, 2 * size + 1))
    for row, of_class, of_other_class in zip(slots, total, total[::-1], strict=True):
        half, occurs = np.minimum(of_class, 1) / 2, of_class > 0
        gap = np.concatenate([[0], np.cumsum(occurs)])
        mass = np.append(half[occurs], 0) + np.append(0, half[occurs])
        # A value that c examples of the other class share leaves c - 1 slots on itself.
        share = np.where(occurs, 0, np.maximum(of_other_class - 1, 0))
        width = np.bincount(gap) + np.bincount(gap[1:], share, gap[-1] + 1)
        row[0::2] = (mass / width)[gap]
        row[1::2] = np.where(occurs, of_class - 2 * half, row[2::2] * share)
    return np.cumsum(slots, axis=1), 2 * rank + 2


def _cells(slots, of_class, weight, side):
    """Return the weights of one side's cells, and the slot of each cell (classifier, cell)."""
    starts, cuts = [], []
    for ends, below in slots:
        order = np.argsort(below[of_class], kind="stable")
        start = np.empty(len(weight))
        start[order] = np.cumsum(weight[order]) - weight[order]
        cut = order[np.searchsorted(start[order], ends[side][:-1], side="right") - 1]
        starts.append(start)
        cuts.append(np.stack([cut, ends[side][:-1] - start[cut]]))
    whole = np.stack([np.arange(len(weight)), np.zeros(len(weight))])
    example, at = np.concatenate([whole, *cuts], axis=1)
    order = np.lexsort((at, example))
    example, at = example[order].astype(int), at[order]
    last = np.append(np.diff(example) > 0, True)
    length = np.where(last, weight[example], np.append(at[1:], 0)) - at
    example, at, length = (column[length > 1e-9] for column in (example, at, length))
    slot = np.stack(
        [
            np.searchsorted(ends[side], start[example] + at + length / 2, side="right")
            for start, (ends, _) in zip(starts, slots, strict=True)
        ]
    )
    slot, cell = np.unique(slot, axis=1, return_inverse=True)
    return np.bincount(cell.ravel(), length), slot


def _cumulative(mass, slot, size):
    """Return the probability above each boundary of the slots for one side, shape (size + 1,)."""
    order = np.argsort(slot, kind="stable")
    above = pm.math.concatenate([np.zeros(1), mass[order].cumsum()])
    return above[np.searchsorted(slot[order], np.arange(size + 1))]
