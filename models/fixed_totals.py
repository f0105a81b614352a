r"""Model for confusion matrices whose class totals are fixed by the design.

.. math::

    r_i &\sim \mathrm{Dirichlet}(\lambda_i) \\
    \theta_{ij} &= \pi_i \, r_{ij} \\
    \text{counts}_i \mid r_i &\sim \mathrm{Multinomial}(n_i, r_i)

Row i of the matrix contains the :math:`n_i` examples of class i. There are C classes.

Parameters
----------
+--------------------+----------------------+----------------------------------+-------------------+
| symbol             | meaning              | prior                            | keyword           |
+====================+======================+==================================+===================+
| :math:`r_i`,       | probabilities of the | Dirichlet(:math:`\lambda_i`)     | –                 |
| ``rates``          | predicted labels for |                                  |                   |
|                    | examples of class i  |                                  |                   |
+--------------------+----------------------+----------------------------------+-------------------+
| :math:`\lambda_i`, | prior pseudo-counts  | fixed, :math:`2 / C^2` for each  | ``concentration`` |
| ``concentration``  | of row i             | cell                             |                   |
+--------------------+----------------------+----------------------------------+-------------------+
| :math:`\pi`,       | shares of the actual | known: by default the shares in  | ``prevalence``    |
| ``prevalence``     | classes              | the sample; or Beta(a, b), or    |                   |
|                    |                      | another prior, for the positive  |                   |
|                    |                      | class of two                     |                   |
+--------------------+----------------------+----------------------------------+-------------------+

When to use it
--------------
Use it for case-control designs and for stratified test sets, such as 50 sick and 50 well people.
Use it also to estimate precision, accuracy or F1 of the same classifier at another prevalence.

When not to use it
------------------
If the examples are a random sample, use `dirichlet_multinomial`, which estimates the prevalence as
well.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure in a population with the shares :math:`\pi`.
* ``theta``, ``of="predictive"``: the measure on the next test set of ``n`` examples.

Notes
-----
The rows are conjugate:
:math:`r_i \mid \text{counts} \sim \mathrm{Dirichlet}(\lambda_i + \text{counts}_i)`. They are
independent of each other and of the prevalence.

The class totals carry no information about the prevalence, so its posterior equals its prior. By
default, the prevalence of the sample is treated as known, so that results apply to a population
with the composition of the test set.

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
    """Model the rows of confusion matrices with class totals fixed by the design.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., actual, predicted)``. Each leading index is a separate matrix.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts, > 0: one number for all cells, or one for each cell, shape
        ``(..., C, C)``. Default: ``2 / C**2``.
    prevalence : float, array_like, xarray.DataArray, tuple or callable, optional
        Share of each actual class. Default: the shares in `counts`.

        * A number in (0, 1), or one for each matrix: the share of the positive class of two. The
          positive class is the coordinate ``positive``, or else the last class.
        * Shape ``(..., C)``, sum 1: the shares of all classes.
        * A tuple ``(a, b)``: a Beta(a, b) prior for the share of the positive class of two.
        * A function from a name to a PyMC variable: another prior, for example ``lambda name:
          pm.LogitNormal(name, -2, 0.5, transform=pm.distributions.transforms.logodds)``. Without
          the transform, NUTS proposes values outside (0, 1), which leads to divergences.

    Returns
    -------
    pymc.Model
        Free variables ``rates`` ``(..., actual, predicted)``, with rows that sum to 1, and
        ``prevalence`` if it has a prior. Deterministic ``theta`` ``(..., actual, predicted)``.
        Observed ``cell_counts`` ``(..., actual, predicted)``. A ``prevalence`` without a prior has
        dims ``(..., actual)``. Set another one with ``pm.do(model, {"prevalence": [0.9, 0.1]})``.

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
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
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
    """Return the prior pseudo-counts of the cells, in the order of the counts."""
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
        # pm.do can set the prevalence only if it is a named variable.
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
    """Return an indicator (C,) of the class of a prevalence: the positive one, else the last."""
    positive = _is_positive(counts) > 0
    return positive if positive.any() else np.array([False, True])


def _is_positive(counts):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
