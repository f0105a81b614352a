r"""Model for the mean scores of slices of items, such as topics or languages, partially pooled.

.. math::

    p(\mu) &\propto 1, \qquad \tau \sim \mathrm{HalfNormal}(\texttt{spread} \, R) \\
    \theta_j &\sim \mathrm{Normal}(\mu, \tau^2) \\
    y_j &\sim \mathrm{Normal}(\theta_j, \sigma_j^2)

The mean :math:`y_j` and the standard deviation :math:`\sigma_j` describe the posterior of slice j
alone (`item_scores`). R is the range of the scores, or twice the standard deviation of all scores
if the range is unknown.

Parameters
----------
+-----------------------+------------------------+-------------------------+-----------------------+
| symbol                | meaning                | prior                   | keyword               |
+=======================+========================+=========================+=======================+
| :math:`\mu`, ``mean`` | mean of the population | flat                    | –                     |
|                       | of slices              |                         |                       |
+-----------------------+------------------------+-------------------------+-----------------------+
| :math:`\tau`,         | standard deviation     | HalfNormal(0.5 R), or a | ``spread=0.5``        |
| ``spread_between``    | between slices         | function                |                       |
+-----------------------+------------------------+-------------------------+-----------------------+
| :math:`\theta_j`,     | mean score of slice j  | Normal(:math:`\mu`, sd  | –                     |
| ``theta``             |                        | :math:`\tau`)           |                       |
+-----------------------+------------------------+-------------------------+-----------------------+
| :math:`\sigma_j`,     | standard error of      | computed from the data  | ``concentration=0.5`` |
| ``slice_sd``          | slice j                |                         |                       |
+-----------------------+------------------------+-------------------------+-----------------------+

When to use it
--------------
Use it to find out how far apart the slices of a set of items are, and which slice is worst. The
largest of many noisy means overestimates the true mean of its slice. Each slice needs about ten
items, so that its standard error is well estimated and its mean is nearly normal.

When not to use it
------------------
* There is one slice: use `item_scores`.
* One slice differs strongly from many similar ones: it is shrunk towards them.

Estimands
---------
* ``theta``, ``of="parameter"`` or ``"finite"``: the measure of each observed slice.

Notes
-----
The model is not conjugate, but it is normal given :math:`\tau`. The direct posterior integrates
:math:`\tau` out on a grid.

The direct posterior supports any measure of item scores, attempts and multilabel evidence, and
several systems on the same items. For attempts and multilabel evidence, it pools the values on the
arcsine square-root scale. On this scale, the standard error of a proportion does not depend on its
value. This PyMC model describes the mean score of one system.

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
    """Model the mean scores of slices as a sample from a population of slices.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``item_score`` (item) of one system, and ``slice_<dim>`` (item), the index of the slice of
        each item along one dimension. Optional: ``lowest`` and ``highest``, the ends of the range.
    spread : float or callable, default 0.5
        Scale of the half-normal prior for the standard deviation between slices, relative to the
        range. Without a range, relative to twice the standard deviation of all scores. A function
        from a name to a PyMC variable is another prior for this standard deviation.
    concentration : float, default 0.5
        Number of pseudo-items at each end of the range, in every slice.

    Returns
    -------
    pymc.Model
        Free variables ``mean`` (of the population of slices), ``spread_between`` and ``theta``
        (slice). Observed ``slice_mean`` (slice).

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
            "The model supports item scores of one system, in slices along one dim. Use "
            "bayescm.gap or bayescm.worst_slices for other evidence, or select one system."
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
    """Return mean and sd of the mean score, under a Dirichlet process with scores and ends."""
    score = np.concatenate([score, ends])
    weight = np.concatenate([np.ones(len(score) - len(ends)), np.full(len(ends), concentration)])
    mean = weight @ score / weight.sum()
    return mean, np.sqrt(weight @ (score - mean) ** 2 / weight.sum() / (weight.sum() + 1))
