r"""Model for each fold of a cross-validation separately, with the measure averaged over the folds.

.. math::

    \theta_k &\sim \mathrm{Dirichlet}(\lambda), \quad k = 1, \dots, M \\
    \text{counts}_k \mid \theta_k &\sim \mathrm{Multinomial}(n_k, \theta_k)

Test matrix k of M has :math:`n_k` examples, and M is the number of folds in all repeats.

Parameters
----------
+---------------------+------------------------+-------------------------------+-------------------+
| symbol              | meaning                | prior                         | keyword           |
+=====================+========================+===============================+===================+
| :math:`\theta_k`,   | probabilities of the   | Dirichlet(:math:`\lambda`)    | –                 |
| ``theta_fold_cell`` | cells in fold k        |                               |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`\lambda`,    | prior pseudo-counts of | :math:`2 / C^2` for C         | ``concentration`` |
| ``concentration``   | the cells of each fold | classes; a function gives all |                   |
|                     |                        | cells and folds one unknown   |                   |
|                     |                        | pseudo-count                  |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`\rho`        | correlation between    | fixed, :math:`1 / K` for K    | ``rho``           |
|                     | the measures of two    | folds                         |                   |
|                     | folds                  |                               |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| ``stretch``         | factor of the standard | :math:`\sqrt{1 + (M - 1)      | ``average``       |
|                     | deviation of the mean  | \rho}`                        |                   |
+---------------------+------------------------+-------------------------------+-------------------+

When to use it
--------------
Use it to reproduce published intervals.

When not to use it
------------------
Do not use it for small folds, rare classes or near-perfect classifiers. Use `hierarchical_folds`.
Every fold has its own prior, and together the M priors shrink the estimate. If the pseudo-counts of
a fold sum to two, ten folds add twenty examples at chance level. If the true value is near 1, the
interval usually misses it.

Estimands
---------
* ``theta_fold``, ``of="parameter"``: the mean over the folds of the measure at ``theta_fold``.

Notes
-----
The posterior is conjugate: a product of :math:`\mathrm{Dirichlet}(\lambda + \text{counts}_k)`.

The model treats the folds as independent, but they share training examples. The variance of the
mean is therefore multiplied by :math:`1 + (M - 1)\rho` afterwards. The default of :math:`\rho` is
the proportion of tested examples among tested and training examples (Nadeau and Bengio).

The keyword ``average`` selects one of two other ways to average the same posteriors:

* ``"independent"``: the mean of independent variables, :math:`\rho = 0`.
* ``"mixture"``: the mixture of the posteriors, that is, the posterior of a fold chosen at random.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857

Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning, 52,
239-281. doi:10.1023/A:1024068626366
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def averaged_folds(
    counts: xr.DataArray,
    *,
    concentration: ArrayLike | Callable | None = None,
    rho: float | None = None,
    average: str = "correlated",
) -> pm.Model:
    """Model the confusion matrix of each fold separately.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., [repeat,] fold, actual, predicted)``. Optional scalar coordinates:
        ``n_folds``, the number of folds of one cross-validation if it differs from the length of
        ``fold``. ``test_share`` and ``train_size``, the shares of the examples in a test set and in
        a training set.
    concentration : float, array_like, xarray.DataArray or callable, optional
        Prior pseudo-counts per cell of each fold, > 0. Default: ``2 / C**2``. A function from a
        name to a PyMC variable gives one unknown pseudo-count to all cells and folds.
    rho : float, optional
        Correlation between the measures of two folds, in [0, 1). Default: the proportion of tested
        examples among tested and training examples, 1/K for K folds.
    average : {"correlated", "independent", "mixture"}
        How the measure is averaged over the folds. The model is the same for all three.

    Returns
    -------
    pymc.Model
        Free variable ``theta_fold_cell`` ``(..., [repeat,] fold, cell)``. Deterministic
        ``theta_fold`` ``(..., [repeat,] fold, actual, predicted)``. Observed ``cell_counts``. The
        data ``stretch`` is the factor of the standard deviation of the mean, NaN for a mixture.

    Examples
    --------
    >>> import xarray as xr
    >>> dims = ("fold", "actual", "predicted")
    >>> counts = xr.DataArray([[[9, 1], [3, 7]], [[8, 2], [4, 6]], [[10, 0], [5, 5]]], dims=dims)
    >>> averaged_folds(counts)["stretch"].get_value().round(4).item()
    1.291
    """
    folds = [dim for dim in ("repeat", "fold") if dim in counts.dims]
    counts = counts.transpose(..., *folds, "actual", "predicted")
    labels = counts["actual"].values
    coords = {dim: counts[dim].values for dim in counts.dims}
    coords["cell"] = [f"{actual}->{predicted}" for actual in labels for predicted in labels]
    dims = (*counts.dims[:-2], "cell")
    flat = (*counts.shape[:-2], -1)

    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims).reshape(flat)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        pm.Data("stretch", _stretch(counts, rho, average))
        if callable(concentration):
            weight = concentration("concentration") * np.ones(len(labels) ** 2)
        else:
            weight = _pseudo_counts(concentration, counts)
            weight = pm.Data("concentration", weight, dims=counts.dims).reshape(flat)
        theta = pm.Dirichlet("theta_fold_cell", weight, dims=dims)
        total = data.sum(-1).astype("int64")
        pm.Multinomial("cell_counts", n=total, p=theta, observed=data, dims=dims)
        pm.Deterministic("theta_fold", theta.reshape(counts.shape), dims=counts.dims)
    return model


def _stretch(counts, rho, average):
    """Return the factor of the standard deviation of the mean over all folds and repeats."""
    if average == "mixture":
        return np.nan
    if rho is None:
        tested = 1 / int(counts.coords.get("n_folds", counts.sizes["fold"]))
        rest = 1 - float(counts.coords.get("test_share", tested))
        trained = min(rest, float(counts.coords.get("train_size", rest))) / rest
        rho = tested / (tested + (1 - tested) * trained)
    matrices = counts.sizes["fold"] * counts.sizes.get("repeat", 1)
    return float(np.sqrt(1 + (matrices - 1) * (0 if average == "independent" else rho)))


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
