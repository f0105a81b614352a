r"""Model for all folds of a cross-validation as one sample, with a discounted likelihood.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda) \\
    p(\text{counts}_1, \dots, \text{counts}_M \mid \theta) &\propto
        \prod_{k=1}^M \mathrm{Multinomial}(\text{counts}_k \mid n_k, \theta)^\omega

Test matrix k of M has :math:`n_k` examples, and M = K R is the number of folds in all R repeats.

Parameters
----------
+-------------------+----------------------+-----------------------------------+-------------------+
| symbol            | meaning              | prior                             | keyword           |
+===================+======================+===================================+===================+
| :math:`\theta`,   | probabilities of the | Dirichlet(:math:`\lambda`)        | –                 |
| ``theta_cell``    | cells                |                                   |                   |
+-------------------+----------------------+-----------------------------------+-------------------+
| :math:`\lambda`,  | prior pseudo-counts  | :math:`2 / C^2` for C classes; a  | ``concentration`` |
| ``concentration`` | of the cells         | function gives all cells one      |                   |
|                   |                      | unknown pseudo-count              |                   |
+-------------------+----------------------+-----------------------------------+-------------------+
| :math:`\omega`,   | power of the         | fixed, :math:`(K + 1) / (2 K R)`  | ``omega``         |
| ``omega``         | likelihood, in       |                                   |                   |
|                   | :math:`[1 / M, 1]`   |                                   |                   |
+-------------------+----------------------+-----------------------------------+-------------------+

When to use it
--------------
Use it for a quick, conservative interval of any measure.

When not to use it
------------------
Use `hierarchical_folds` if you need better calibrated intervals, because `pooled_folds` treats the
classifiers of all folds as one classifier:

* It ignores that stratified folds have fixed class totals, so its intervals for precision are too
  long.
* It ignores how much training sets change an unstable learner, so its intervals for recall can be
  too short.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure at the common cell probabilities.
* ``theta``, ``of="predictive"``: the measure on the next test set of ``n`` examples, from the
  multinomial distribution without a discount.

Notes
-----
The posterior is conjugate: :math:`\mathrm{Dirichlet}(\lambda + \omega \sum_k \text{counts}_k)`.

Folds share training data, and repeats test the same examples again. The M matrices therefore
contain less information than their summed counts. With :math:`\omega = 1`, all folds are treated as
independent. With :math:`\omega = 1/M`, they are weighted as one average matrix. For one
cross-validation, Wang and Li use the value halfway between these two, :math:`(K + 1) / (2K)`.

If ``omega`` is below 1, the tree returned by ``bayescm.fit`` contains no log likelihood, and
``az.loo`` and ``az.compare`` reject it. A power of the likelihood is not the probability of a fold.
To compare priors with ``az.loo``, use ``omega=1``.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857

Wang, Y., Li, J., Li, Y., Wang, R. & Yang, X. (2015). Confidence interval for F1 measure of
algorithm performance based on blocked 3x2 cross-validation. IEEE Transactions on Knowledge and Data
Engineering, 27(3), 651-659. doi:10.1109/TKDE.2014.2359667
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def pooled_folds(
    counts: xr.DataArray,
    *,
    concentration: ArrayLike | Callable | None = None,
    omega: float | None = None,
) -> pm.Model:
    """Model the confusion matrices of all folds as one sample, with a discounted likelihood.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., [repeat,] fold, actual, predicted)``. Each further leading index is a
        separate cross-validation. The scalar coordinate ``n_folds`` is the number of folds of one
        cross-validation if it differs from the length of ``fold``.
    concentration : float, array_like, xarray.DataArray or callable, optional
        Prior pseudo-counts per cell, > 0. Default: ``2 / C**2``. A function from a name to a PyMC
        variable gives one unknown pseudo-count to all cells.
    omega : float, optional
        Power of the likelihood, in ``[1 / M, 1]`` for M test matrices. Default:
        ``(K + 1) / (2 K R)`` for R repeats of K folds.

    Returns
    -------
    pymc.Model
        Free variable ``theta_cell`` ``(..., cell)``. Deterministic ``theta``
        ``(..., actual, predicted)``. Observed ``cell_counts`` ``(..., [repeat,] fold, cell)``.

    Examples
    --------
    >>> import xarray as xr
    >>> dims = ("fold", "actual", "predicted")
    >>> counts = xr.DataArray([[[9, 1], [3, 7]], [[8, 2], [4, 6]], [[10, 0], [5, 5]]], dims=dims)
    >>> model = pooled_folds(counts)
    >>> model["omega"].get_value().round(4).item()
    0.6667
    """
    folds = [dim for dim in ("repeat", "fold") if dim in counts.dims]
    counts = counts.transpose(..., *folds, "actual", "predicted")
    lead = counts.dims[: -2 - len(folds)]
    one = counts.isel(dict.fromkeys(folds, 0))
    labels = counts["actual"].values
    coords = {dim: counts[dim].values for dim in counts.dims}
    coords["cell"] = [f"{actual}->{predicted}" for actual in labels for predicted in labels]

    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        data = data.reshape((*counts.shape[:-2], -1))
        power = pm.Data("omega", float(_default(counts) if omega is None else omega))
        if callable(concentration):
            weight = concentration("concentration") * np.ones(len(labels) ** 2)
        else:
            weight = pm.Data("concentration", _pseudo_counts(concentration, one), dims=one.dims)
            weight = weight.reshape((*one.shape[:-2], -1))
        theta = pm.Dirichlet("theta_cell", weight, dims=(*lead, "cell"))
        pm.CustomDist(
            "cell_counts",
            data.sum(-1).astype("int64"),
            theta.reshape((*one.shape[:-2], *[1] * len(folds), -1)),
            power,
            logp=_discounted,
            dist=_multinomial,
            signature="(),(k),()->(k)",
            dtype="int64",
            observed=data,
            dims=(*lead, *folds, "cell"),
        )
        pm.Deterministic("theta", theta.reshape(one.shape), dims=one.dims)
    return model


def _discounted(value, n, p, power):
    return power * pm.logp(pm.Multinomial.dist(n=n, p=p), value)


def _multinomial(n, p, power, size=None):
    return pm.Multinomial.dist(n=n, p=p, size=size)


def _default(counts):
    matrices = counts.sizes["fold"] * counts.sizes.get("repeat", 1)
    folds = int(counts.coords.get("n_folds", counts.sizes["fold"]))
    return min(max((folds + 1) / (2 * matrices), 1 / matrices), 1.0)


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts of the cells, in the order of the counts."""
    if concentration is None:
        classes = counts.sizes["actual"]
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
