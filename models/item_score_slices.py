r"""Slices of items, partially pooled: the normal model of their values, each with its own error.

.. math::

    y_j &\sim \mathrm{Normal}(\theta_j, \sigma_j) \\
    \theta_j &\sim \mathrm{Normal}(\mu, \tau), \qquad \tau \sim \mathrm{HalfNormal}(s)

where :math:`y_j` and :math:`\sigma_j` are mean and standard deviation of the posterior of a
slice by itself (`item_scores`), :math:`\mu` has a flat prior, and s is half the range of the
scores (``spread`` in parts of the range), or the standard deviation of all items where there is
no range.

Use it for slices of the same items by language, topic or source of which one asks how far they are
apart and which is worst: the largest of many noisy means is too large. Each slice wants some ten
items, so that its error is known and its mean nearly normal. Do not use it for one slice.

Not conjugate: given the spread between slices all else is normal, and the spread is integrated out
on a grid. The direct posterior takes any measure of item scores, attempts or several labels, and
several systems on the same items; the model below is of the mean score of one system. For attempts
and several labels, the values are pooled on the scale of the arcsine of their square root, on which
the standard error of a proportion does not depend on its value. A single slice that is unlike many
others is shrunk towards them.

References
----------
Rubin, D. B. (1981). Estimation in parallel randomized experiments. Journal of Educational
Statistics 6, 377-401. doi:10.3102/10769986006004377
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr


def item_score_slices(
    evidence: xr.Dataset, *, spread: float | Callable = 0.5, concentration: float = 0.5
) -> pm.Model:
    """Model the mean scores of slices as draws from a population of slices.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``item_score`` (item) of one system, ``slice_<dim>`` (item), the place of the slice of each
        item along one dim, and the ends of the range, ``lowest`` and ``highest``, where known.
    spread : float or callable, default 0.5
        Scale of the half-normal prior of the standard deviation between slices, in parts of the
        range (without one, of the standard deviation of all items, twice); or a function from a
        name to a PyMC variable.
    concentration : float, default 0.5
        Pseudo-items at each end of the range, in every slice.

    Returns
    -------
    pymc.Model
        Free variables ``mean`` (of the population of slices), ``spread_between`` and ``theta``
        (slice); observed ``slice_mean`` (slice).

    Examples
    --------
    >>> import xarray as xr
    >>> data = {"item_score": ("item", [0.2, 0.9, 0.4, 0.8]), "slice_topic": ("item", [0, 0, 1, 1])}
    >>> model = item_score_slices(xr.Dataset(data, {"lowest": 0.0, "highest": 1.0}))
    >>> [variable.name for variable in model.free_RVs]
    ['mean', 'spread_between', 'theta']
    """
    dims = [str(name) for name in evidence.data_vars if str(name).startswith("slice_")]
    if "item_score" not in evidence or len(dims) != 1 or evidence["item_score"].dims != ("item",):
        raise ValueError(
            "The model takes item scores of one system in slices along one dim. Use bayescm.gap or "
            "bayescm.worst_slices for other evidence, or select one system."
        )
    score, slice_index = evidence["item_score"].values.astype(float), evidence[dims[0]].values
    bounded = "lowest" in evidence.coords
    ends = np.array([float(evidence[k].item()) for k in ("lowest", "highest")] if bounded else [])
    scale = float(np.ptp(ends)) if bounded else 2 * float(score.std())
    mean, sd = np.array(
        [
            _dirichlet_mean(score[slice_index == j], ends, concentration)
            for j in range(slice_index.max() + 1)
        ]
    ).T
    with pm.Model(coords={"slice": np.arange(len(mean))}) as model:
        center = pm.Flat("mean")
        if callable(spread):
            between = spread("spread_between")
        else:
            between = pm.HalfNormal("spread_between", spread * scale)
        theta = pm.Normal("theta", center, between, dims="slice")
        error = pm.Data("slice_sd", sd, dims="slice")
        pm.Normal("slice_mean", theta, error, observed=mean, dims="slice")
    return model


def _dirichlet_mean(score, ends, concentration):
    """Return mean and standard deviation of the mean of a Dirichlet process of scores and ends."""
    score = np.concatenate([score, ends])
    weight = np.concatenate([np.ones(len(score) - len(ends)), np.full(len(ends), concentration)])
    mean = weight @ score / weight.sum()
    return mean, np.sqrt(weight @ (score - mean) ** 2 / weight.sum() / (weight.sum() + 1))
