r"""All folds of a cross-validation pooled, their likelihood raised to a power that discounts it.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda) \\
    p(\text{counts}_1, \dots, \text{counts}_M \mid \theta) &\propto
        \prod_{k=1}^M \mathrm{Multinomial}(\text{counts}_k \mid n_k, \theta)^\omega

The folds share training data, and the repeats of a cross-validation test the same examples again,
so the M test matrices are worth less than their summed counts suggest: each counts for a fraction
:math:`\omega` of itself. :math:`\omega = 1` takes all folds as independent, :math:`\omega = 1/M` is
one matrix, the average. In between, Wang and Li take the middle for one cross-validation,
:math:`(K + 1) / (2K)`; for R repeats of it this is :math:`(K + 1) / (2KR)`.

Use it for a quick, conservative interval of any measure. It takes all folds for one classifier, and
knows neither that class totals are fixed in stratified folds (its intervals of precision are too
long there) nor what training sets do to an unstable learner (those of recall can be too short):
`hierarchical_folds` learns both from the folds.

Conjugate: the posterior is :math:`\mathrm{Dirichlet}(\lambda + \omega \sum_k \text{counts}_k)`.
The estimand is the measure at ``theta``. New folds are predicted by the plain multinomial.
Where ``omega`` is below 1 the tree of ``bayescm.fit`` has no log likelihood, so that ``az.loo`` and
``az.compare`` refuse it: leaving a fold out with its whole likelihood takes more out of the
posterior than the power of it that went in, and the power is no probability of a fold. Compare
priors by ``az.loo`` with ``omega=1``.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857

Wang, Y., Li, J., Li, Y., Wang, R. & Yang, X. (2015). Confidence interval for F1 measure of
algorithm performance based on blocked 3x2 cross-validation. IEEE Transactions on Knowledge and
Data Engineering, 27(3), 651-659. doi:10.1109/TKDE.2014.2359667
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
    """Model the confusion matrices of all folds as one classifier's, at a discount.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., [repeat,] fold, actual, predicted)``; each further leading index is a
        cross-validation of its own. The scalar coordinate ``n_folds`` is the number of folds of one
        cross-validation where that is not the length of ``fold``.
    concentration : float, array_like, xarray.DataArray or callable, optional
        Prior pseudo-counts per cell, > 0; by default ``2 / C**2``. A function from a name to a PyMC
        variable makes it unknown and shared by all cells.
    omega : float, optional
        Discount in ``[1 / M, 1]`` for M test matrices; by default ``(K + 1) / (2 K R)`` for R
        repeats of K folds.

    Returns
    -------
    pymc.Model
        Free variable ``theta_cell`` ``(..., cell)``; ``theta`` ``(..., actual, predicted)``;
        observed ``cell_counts`` ``(..., [repeat,] fold, cell)``.

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
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
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
    """Return the prior pseudo-counts cell by cell, in the order of the counts."""
    if concentration is None:
        classes = counts.sizes["actual"]
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
