r"""One confusion matrix, or a batch of unrelated ones: a Dirichlet over the cells.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda) \\
    \text{counts} \mid \theta &\sim \mathrm{Multinomial}(n, \theta)

The :math:`C^2` cell probabilities sum to one over the whole matrix, so prevalence, recall and
specificity are all learned from the same test set. With two classes the model is three
independent betas: the prevalence, the recall and the specificity.

Use it for a random sample of examples, each tested once. Do not use it where the number of
examples of each class was chosen by the design (`fixed_totals`), where examples are tested several
times or by several trainings of a classifier (the fold models), or where they come in clusters
(`hierarchical_groups`).

Where a label is an abstention (the coord ``abstain``) its row is empty by definition: no example
truly is one. The Dirichlet is of the other cells then, with the same prior of each.

Conjugate: the posterior is :math:`\mathrm{Dirichlet}(\lambda + \text{counts})`. The estimand is
the measure at ``theta``.

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
        Counts, dims ``(..., actual, predicted)``; each leading index is a separate matrix.
    concentration : float, array_like, xarray.DataArray or callable, optional
        Prior pseudo-counts, > 0: one number for every cell, or one for each, shape
        ``(..., C, C)``; by default ``2 / C**2``, two examples for a matrix of C classes. A function
        from a name to a PyMC variable makes it unknown and shared by all cells and matrices.

    Returns
    -------
    pymc.Model
        Free variable ``theta_cell`` ``(..., cell)``; ``theta`` ``(..., actual, predicted)``;
        observed ``cell_counts`` ``(..., cell)``.

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
    # No example is an abstention, which is the last label.
    rows = len(labels) - ("abstain" in counts.coords)
    coords["cell"] = [f"{actual}->{predicted}" for actual in labels[:rows] for predicted in labels]
    flat = (*counts.shape[:-2], -1)

    with pm.Model(coords=coords) as model:
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
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
    """Leave out the row of an abstention, where there is one."""
    return table[..., :rows, :] if rows < classes else table


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts cell by cell, in the order of the counts."""
    if concentration is None:
        classes = counts.sizes["actual"] - ("abstain" in counts.coords)
        concentration = 2 / classes**2
    if hasattr(concentration, "dims"):
        concentration = concentration.reindex_like(counts).broadcast_like(counts)
        concentration = concentration.transpose(*counts.dims).values
    return np.broadcast_to(np.asarray(concentration, float), counts.shape).copy()


def _is_positive(counts):
    """Return 1 for the positive class and 0 for the others; 0 throughout where none is set."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
