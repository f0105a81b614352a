r"""Class totals fixed by the design: one Dirichlet for each actual class, times a prevalence.

.. math::

    r_i &\sim \mathrm{Dirichlet}(\lambda_i) \\
    \text{counts}_i \mid r_i &\sim \mathrm{Multinomial}(n_i, r_i) \\
    \theta_{ij} &= \pi_i \, r_{ij}

Row :math:`r_i` says how the examples of class :math:`i` are classified. When 50 sick and 50 well
people were chosen for the test set, these rows are all that it tells about; the prevalence
:math:`\pi` that precision, accuracy or F1 need as well comes from elsewhere: the sample's
own shares (the default: the measures of a population composed as the test set is), a known value,
or a prior. The totals :math:`n_i` say nothing about it, so its posterior is its prior.

Use it for case-control designs, for stratified test sets (also each fold of a stratified
cross-validation), and to ask what the same classifier would show at another prevalence. Where
the examples are a random sample, `dirichlet_multinomial` learns the prevalence as well.

Conjugate in the rows: :math:`r_i \mid \text{counts} \sim \mathrm{Dirichlet}(\lambda_i +
\text{counts}_i)`, independent of each other and of the prevalence. The estimand is the measure at
``theta``.

References
----------
Goutte, C. & Gaussier, E. (2005). A probabilistic interpretation of precision, recall and F-score,
with implication for evaluation. ECIR 2005, 345-359. doi:10.1007/978-3-540-31865-1_25
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def fixed_totals(
    counts: xr.DataArray,
    *,
    concentration: ArrayLike | None = None,
    prevalence: ArrayLike | Callable | None = None,
) -> pm.Model:
    """Model the rows of confusion matrices whose class totals the design has fixed.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., actual, predicted)``; each leading index is a separate matrix.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts, > 0: one number for every cell, or one for each, shape
        ``(..., C, C)``; by default ``2 / C**2``.
    prevalence : float, array_like, xarray.DataArray, tuple or callable, optional
        Share of each actual class. By default the shares in `counts`. With two classes, a number
        in (0, 1), or one for each matrix, is the share of the positive class (the coordinate
        ``positive``, or else the last class); otherwise shape ``(..., C)``, summing to 1. A *tuple*
        ``(a, b)`` is a prior Beta(a, b) for the same, and a function from a name to a PyMC variable
        one of another family: ``lambda name: pm.LogitNormal(name, -2, 0.5)``.

    Returns
    -------
    pymc.Model
        Free variable ``rates`` ``(..., actual, predicted)``, rows summing to 1, and
        ``prevalence`` where it has a prior; ``theta`` ``(..., actual, predicted)``; observed
        ``cell_counts`` ``(..., actual, predicted)``. A ``prevalence`` without a prior has dims
        ``(..., actual)``: ``pm.do(model, {"prevalence": [0.9, 0.1]})`` asks for another one.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": ["well", "sick"], "predicted": ["well", "sick"]}
    >>> counts = xr.DataArray([[30, 20], [5, 45]], coords=labels)
    >>> model = fixed_totals(counts, prevalence=(2, 8))
    >>> [variable.name for variable in model.free_RVs]
    ['prevalence', 'rates']
    """
    with pm.Model(coords={dim: counts[dim].values for dim in counts.dims}) as model:
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        weight = pm.Data("concentration", _pseudo_counts(concentration, counts), dims=counts.dims)
        totals = data.sum(-1)
        shares = _shares(prevalence, counts, totals)
        rates = pm.Dirichlet("rates", weight, dims=counts.dims)
        total = totals.astype("int64")
        pm.Multinomial("cell_counts", n=total, p=rates, observed=data, dims=counts.dims)
        pm.Deterministic("theta", shares[..., None] * rates, dims=counts.dims)
    return model


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts cell by cell, in the order of the counts."""
    if concentration is None:
        classes = counts.sizes["actual"]
        concentration = 2 / classes**2
    if hasattr(concentration, "dims"):
        concentration = concentration.reindex_like(counts).broadcast_like(counts)
        concentration = concentration.transpose(*counts.dims).values
    return np.broadcast_to(np.asarray(concentration, float), counts.shape).copy()


def _shares(prevalence, counts, totals):
    """Return the share of each actual class, ``(..., C)`` or ``(C,)``, as a PyMC expression."""
    if prevalence is None:
        # Named, so that pm.do can set it.
        of_sample = totals / totals.sum(-1, keepdims=True)
        return pm.Deterministic("prevalence", of_sample, dims=counts.dims[:-1])
    if callable(prevalence):
        share = prevalence("prevalence")
    elif isinstance(prevalence, tuple):
        share = pm.Beta("prevalence", *prevalence)
    else:
        share = _known(prevalence, counts)
        share = pm.Data("prevalence", share, dims=counts.dims[-1 - share.ndim : -1])
    if share.ndim > 0:
        return share
    return pm.math.where(_share_of(counts), share, 1 - share)


def _known(prevalence, counts):
    """Return a known share of each actual class, ``(..., C)``, in the order of the counts."""
    if hasattr(prevalence, "dims"):
        prevalence = prevalence.reindex_like(counts["actual"]).values
    share = np.asarray(prevalence, float)
    if counts.sizes["actual"] > 2 or share.shape not in ((), counts.shape[:-2]):
        return share
    return np.where(_share_of(counts), share[..., None], 1 - share[..., None])


def _share_of(counts):
    """Say of which of the two classes a prevalence is: the positive one, or else the last."""
    positive = _is_positive(counts) > 0
    return positive if positive.any() else np.array([False, True])


def _is_positive(counts):
    """Return 1 for the positive class and 0 for the others; 0 throughout where none is set."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
