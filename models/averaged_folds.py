r"""Every fold of a cross-validation by itself, with the measure averaged over the folds afterwards.

.. math::

    \theta_k &\sim \mathrm{Dirichlet}(\lambda), \quad k = 1, \dots, M \\
    \text{counts}_k \mid \theta_k &\sim \mathrm{Multinomial}(n_k, \theta_k)

The estimand is the mean over the folds of the measure at ``theta_fold``. The folds are independent
in this model, but not in fact: the variance of the mean is inflated afterwards by
:math:`1 + (M - 1)\rho` with :math:`\rho = 1/K` (Nadeau and Bengio's, the proportion tested). The
same posteriors give two more readings of "the average posterior": the mean of independent
variables (:math:`\rho = 0`), and their mixture, one fold picked at random.

Use it to reproduce published intervals. Do not use it for small folds, rare classes or near-perfect
classifiers: every fold has its own prior, so together they shrink the answer by M priors.
With two pseudo-counts a fold, ten folds invent twenty examples of random guessing, and near 1 the
interval misses the truth more often than not.

Conjugate: the posterior is a product of :math:`\mathrm{Dirichlet}(\lambda + \text{counts}_k)`.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857
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
    """Model the confusion matrix of every fold by itself.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., [repeat,] fold, actual, predicted)``. The scalar coordinate ``n_folds``
        is the number of folds of one cross-validation where that is not the length of ``fold``;
        ``test_share`` and ``train_size`` are the shares of the examples in a test and a training
        set.
    concentration : float, array_like, xarray.DataArray or callable, optional
        Prior pseudo-counts per cell of each fold, > 0; by default ``2 / C**2``. A function from a
        name to a PyMC variable makes it unknown and shared by all cells and folds.
    rho : float, optional
        Correlation between the measures of two folds, in [0, 1); by default Nadeau and Bengio's,
        test over test and training examples: 1/K.
    average : {"correlated", "independent", "mixture"}
        How the measure is averaged afterwards; the model is the same.

    Returns
    -------
    pymc.Model
        Free variable ``theta_fold_cell`` ``(..., [repeat,] fold, cell)``; ``theta_fold``
        ``(..., [repeat,] fold, actual, predicted)``; observed ``cell_counts``. The data ``stretch``
        is the factor by which the standard deviation of the mean is to be inflated, NaN for a
        mixture.

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
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
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
    """Return the factor of the standard deviation of the mean over all folds of all repeats."""
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
