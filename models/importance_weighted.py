r"""Model for the confusion matrix of a population, from a sample with importance weights.

.. math::

    \phi &\sim \mathrm{Dirichlet}(\lambda) \\
    \theta_c &\propto \phi_c\, w_c, \qquad w_c = \text{counts}_c / \text{effective}_c \\
    \text{effective} \mid \phi &\sim \mathrm{Multinomial}(m, \phi)

The weight of an example is inversely proportional to its probability of being sampled. Cell c has
the weighted count :math:`\text{counts}_c` and the effective number of examples
:math:`\text{effective}_c`, with the sum m over all cells.

Parameters
----------
+---------------------+--------------------------+-----------------------------+-------------------+
| symbol              | meaning                  | prior                       | keyword           |
+=====================+==========================+=============================+===================+
| :math:`\phi`,       | probabilities of the     | Dirichlet(:math:`\lambda`)  | –                 |
| ``theta_cell``      | cells in the sample      |                             |                   |
+---------------------+--------------------------+-----------------------------+-------------------+
| :math:`\lambda`,    | prior pseudo-counts of   | fixed, :math:`2 / C^2` for  | ``concentration`` |
| ``concentration``   | the cells                | each cell of C classes      |                   |
+---------------------+--------------------------+-----------------------------+-------------------+
| :math:`w_c`,        | mean weight of the       | computed from the data      | –                 |
| ``weight``          | examples in the cell     |                             |                   |
+---------------------+--------------------------+-----------------------------+-------------------+
| :math:`\theta`,     | probabilities of the     | follows from :math:`\phi`   | –                 |
| ``theta``           | cells in the population  |                             |                   |
+---------------------+--------------------------+-----------------------------+-------------------+

When to use it
--------------
Use it for stratified and other designed samples, or if a test set represents another population.
The weights are importance or sampling weights.

When not to use it
------------------
* A weight is the number of examples that a row represents: use `dirichlet_multinomial`.
* The weights vary by a factor of hundreds: too few examples then dominate the result, and the
  interval of any method is too short. Collect a larger sample.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure in the population.
* ``theta``, ``of="predictive"``: the measure on the next test set of ``n`` examples.

Notes
-----
The posterior of :math:`\phi` is conjugate: :math:`\mathrm{Dirichlet}(\lambda + \text{effective})`.

Examples of a cell differ in weight, so that their effective number is smaller than their number.
The coordinate ``effective`` contains the effective number for each cell. A cell without examples is
given the mean weight of its actual class. Effective counts need not be integers. The likelihood
extends the multinomial to them.

References
----------
Kish, L. (1965). Survey sampling. Wiley.

Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import ArrayLike


def importance_weighted(
    counts: xr.DataArray, *, concentration: ArrayLike | None = None
) -> pm.Model:
    """Model the effective examples of a weighted sample as multinomial counts.

    Parameters
    ----------
    counts : xarray.DataArray
        Weighted counts, dims ``(..., actual, predicted)``. The coordinate ``effective``, with the
        same dimensions, is the effective number of examples in each cell.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the cells of the sample, > 0: one number, or shape ``(..., C, C)``.
        Default: ``2 / C**2``.

    Returns
    -------
    pymc.Model
        Free variable ``theta_cell`` ``(..., cell)``, the probabilities in the sample. Deterministic
        ``theta`` ``(..., actual, predicted)``, the probabilities in the population. Observed
        ``cell_counts`` ``(..., cell)``.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": ["well", "sick"], "predicted": ["well", "sick"]}
    >>> counts = xr.DataArray([[30.0, 3.5], [1.5, 6.5]], coords=labels)
    >>> effective = (("actual", "predicted"), [[30.0, 3.5], [15, 65]])
    >>> model = importance_weighted(counts.assign_coords(effective=effective))
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
    effective = (
        counts["effective"].broadcast_like(counts).transpose(*counts.dims).values.astype(float)
    )

    with pm.Model(coords=coords) as model:
        pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        data = pm.Data("effective", effective, dims=counts.dims)[..., :rows, :].reshape(flat)
        pseudo_counts = pm.Data(
            "concentration", _pseudo_counts(concentration, counts), dims=counts.dims
        )
        mean_weight = pm.Data("weight", _mean_weights(counts.values, effective), dims=counts.dims)
        prior = pseudo_counts[..., :rows, :].reshape(flat)
        phi = pm.Dirichlet("theta_cell", prior, dims=(*batch, "cell"))
        pm.CustomDist(
            "cell_counts",
            data.sum(-1).round().astype("int64"),
            phi,
            logp=_fractional,
            dist=_multinomial,
            signature="(),(k)->(k)",
            dtype="float64",
            observed=data,
            dims=(*batch, "cell"),
        )
        table = phi.reshape((*counts.shape[:-2], rows, len(labels))) * mean_weight[..., :rows, :]
        if rows < len(labels):
            table = pt.concatenate([table, 0 * table[..., :1, :]], axis=-2)
        theta = table / table.sum(axis=(-2, -1), keepdims=True)
        pm.Deterministic("theta", theta, dims=counts.dims)
    return model


def _fractional(value, n, p):
    """Return the multinomial log probability of counts, extended to fractional counts."""
    ways = pt.gammaln(value.sum(-1) + 1) - pt.gammaln(value + 1).sum(-1)
    return ways + pt.switch(value > 0, value * pt.log(p), 0.0).sum(-1)


def _multinomial(n, p, size=None):
    return pm.Multinomial.dist(n=n, p=p, size=size).astype("float64")


def _mean_weights(counts, effective):
    """Return the mean weight in each cell. An empty cell has the mean of its row or matrix."""
    total, size = (table.sum((-2, -1), keepdims=True) for table in (counts, effective))
    whole = np.broadcast_to(total / size, counts.shape)
    total, size = (table.sum(-1, keepdims=True) for table in (counts, effective))
    row = np.divide(total, size, out=whole[..., :1].copy(), where=size > 0)
    row = np.broadcast_to(row, counts.shape).copy()
    return np.divide(counts, effective, out=row, where=effective > 0)


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
