r"""Model for one confusion matrix, or several unrelated ones, from random samples of examples.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda) \\
    \text{counts} \mid \theta &\sim \mathrm{Multinomial}(n, \theta)

The matrix has C classes and :math:`C^2` cells, and n is the number of examples.

Parameters
----------
+-------------------+-------------------+--------------------------------------+-------------------+
| symbol            | meaning           | prior                                | keyword           |
+===================+===================+======================================+===================+
| :math:`\theta`,   | probabilities of  | Dirichlet(:math:`\lambda`)           | –                 |
| ``theta_cell``    | the cells, sum 1  |                                      |                   |
|                   | over the matrix   |                                      |                   |
+-------------------+-------------------+--------------------------------------+-------------------+
| :math:`\lambda`,  | prior             | :math:`2 / C^2` for each cell, two   | ``concentration`` |
| ``concentration`` | pseudo-counts of  | examples in all; a function gives    |                   |
|                   | the cells         | all cells one unknown pseudo-count   |                   |
+-------------------+-------------------+--------------------------------------+-------------------+

When to use it
--------------
Use it for a random sample of examples, each tested once. Prevalence, recall and specificity are all
estimated from the same test set.

When not to use it
------------------
* The design fixed the number of examples of each class: use `fixed_totals`.
* Examples were tested several times, or by several trainings of a classifier: use a fold model such
  as `hierarchical_folds`.
* Examples come in clusters: use `hierarchical_groups`.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure in the population of examples.
* ``theta``, ``of="predictive"``: the measure on the next test set of ``n`` examples.

Notes
-----
The posterior is conjugate: :math:`\mathrm{Dirichlet}(\lambda + \text{counts})`. With two classes it
consists of three independent beta distributions: prevalence, recall and specificity.

If a label marks abstentions (the coordinate ``abstain``), it is not an actual class, and its row is
empty. The Dirichlet distribution then covers the other cells, and C is the number of actual
classes.

References
----------
Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def dirichlet_multinomial(
    counts: xr.DataArray, *, concentration: ArrayLike | Callable | None = None
) -> pm.Model:
    """Model confusion matrices as multinomial counts with a Dirichlet prior over the cells.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., actual, predicted)``. Each leading index is a separate matrix.
    concentration : float, array_like, xarray.DataArray or callable, optional
        Prior pseudo-counts, > 0: one number for all cells, or one for each cell, shape
        ``(..., C, C)``. Default: ``2 / C**2``, two examples for a matrix of C classes. A function
        from a name to a PyMC variable gives one unknown pseudo-count to all cells and matrices.

    Returns
    -------
    pymc.Model
        Free variable ``theta_cell`` ``(..., cell)``. Deterministic ``theta``
        ``(..., actual, predicted)``. Observed ``cell_counts`` ``(..., cell)``.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": ["well", "sick"], "predicted": ["well", "sick"]}
    >>> counts = xr.DataArray([[30, 35], [15, 65]], coords=labels)
    >>> model = dirichlet_multinomial(counts, concentration=0.5)
    >>> [variable.name for variable in model.free_RVs]
    ['theta_cell']
    """
    *batch, _, _ = counts.dims
    labels = counts["actual"].values
    coords = {dim: counts[dim].values for dim in counts.dims}
    # The last label marks abstentions, so it is not an actual class.
    rows = len(labels) - ("abstain" in counts.coords)
    coords["cell"] = [f"{actual}->{predicted}" for actual in labels[:rows] for predicted in labels]
    flat = (*counts.shape[:-2], -1)

    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        data = _answered(data, rows, len(labels)).reshape(flat)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        if callable(concentration):
            weight = concentration("concentration") * np.ones(len(coords["cell"]))
        else:
            weight = _pseudo_counts(concentration, counts)
            weight = pm.Data("concentration", weight, dims=counts.dims)
            weight = _answered(weight, rows, len(labels)).reshape(flat)
        total = data.sum(-1).astype("int64")
        theta = pm.Dirichlet("theta_cell", weight, dims=(*batch, "cell"))
        pm.Multinomial("cell_counts", n=total, p=theta, observed=data, dims=(*batch, "cell"))
        table = theta.reshape((*counts.shape[:-2], rows, len(labels)))
        if rows < len(labels):
            table = pm.math.concatenate([table, 0 * table[..., :1, :]], axis=-2)
        pm.Deterministic("theta", table, dims=counts.dims)
    return model


def _answered(table, rows, classes):
    """Return the table without the row of the abstention label, if there is one."""
    return table[..., :rows, :] if rows < classes else table


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts of the cells, in the order of the counts."""
    if concentration is None:
        classes = counts.sizes["actual"] - ("abstain" in counts.coords)
        concentration = 2 / classes**2
    if hasattr(concentration, "dims"):
        concentration = concentration.reindex_like(counts).broadcast_like(counts)
        concentration = concentration.transpose(*counts.dims).values
    return np.broadcast_to(np.asarray(concentration, float), counts.shape).copy()


def _is_positive(counts):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
