r"""Model for item scores of any distribution, such as nDCG, rubric ratings or Dice coefficients.

.. math::

    F &\sim \mathrm{DP}(e\, \delta(l) + e\, \delta(h)) \\
    s_i \mid F &\sim F, \qquad i = 1, \dots, n

The score of item i is :math:`s_i`, and F is the distribution of the scores in the population of
items. DP is the Dirichlet process, and :math:`\delta(l)` is a point mass at l. The posterior, which
is the model below, is

.. math::

    F \mid s_1, \ldots, s_n \sim
    \mathrm{DP}\Bigl(\textstyle\sum_i \delta(s_i) + e\, \delta(l) + e\, \delta(h)\Bigr).

Parameters
----------
+-------------+-----------------------------------------------+------------+-----------------------+
| symbol      | meaning                                       | prior      | keyword               |
+=============+===============================================+============+=======================+
| :math:`F`,  | shares of items with each score that was      | Dirichlet  | –                     |
| ``share``   | observed or is an end of the range            | process    |                       |
+-------------+-----------------------------------------------+------------+-----------------------+
| :math:`e`   | number of pseudo-items at each end of the     | fixed, 0.5 | ``concentration=0.5`` |
|             | range                                         |            |                       |
+-------------+-----------------------------------------------+------------+-----------------------+
| :math:`l,   | lowest and highest possible score             | fixed by   | ``range`` of          |
| h`          |                                               | the data   | `from_item_scores`    |
+-------------+-----------------------------------------------+------------+-----------------------+

When to use it
--------------
Use it for one number per item. Examples are nDCG or reciprocal rank of queries, ratings on a
rubric, scores from a judge, and Dice coefficients of images. It assumes nothing about the shape of
the distribution. Items are sampled independently from their population.

When not to use it
------------------
* Items have repeated right and wrong answers: use `repeated_items`.
* Slices of items are compared: use `item_score_slices`.
* The range of the scores is unknown: there are then no pseudo-items. Intervals from few items are
  too short, especially if a few items dominate the mean.

Estimands
---------
* ``share``, ``of="parameter"`` or ``"population"``: the measure in the population of items.
  ``mean`` is the mean score.
* ``share_group``, ``of="finite"``: the measure in the population of items of the observed clusters.
  Only the direct posterior provides it.

Notes
-----
The posterior is conjugate. With scores of 0 and 1 the mean has a beta distribution with Jeffreys'
prior.

The pseudo-items represent scores that were not observed. Without them, the mean of 20 items would
seem far too certain if all but one of them had the same score.

The direct posterior also supports several systems on the same items, which share the weights of the
items. It supports clusters of items, importance weights and slices. This PyMC model describes one
system.

References
----------
Ferguson, T. S. (1973). A Bayesian analysis of some nonparametric problems. The Annals of Statistics
1, 209-230. doi:10.1214/aos/1176342360

Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

import numpy as np
import pymc as pm
import xarray as xr


def item_scores(evidence: xr.Dataset, *, concentration: float = 0.5) -> pm.Model:
    """Model the distribution of a score in the population of items.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``item_score`` (item) of one system. Optional: the scalar coordinates ``lowest`` and
        ``highest``, the ends of the range, and ``weight`` (item), the number of items that each
        represents.
    concentration : float, default 0.5
        Number of pseudo-items, >= 0, at each end of the range.

    Returns
    -------
    pymc.Model
        Free variable ``share`` (score), the share of items with each score that was observed or is
        an end of the range. Deterministic ``mean``, the mean score.

    Examples
    --------
    >>> import xarray as xr
    >>> scores = {"item_score": ("item", [0.2, 0.9, 0.9])}
    >>> model = item_scores(xr.Dataset(scores, {"lowest": 0.0, "highest": 1.0}))
    >>> [variable.name for variable in model.free_RVs]
    ['share']
    """
    several = set(evidence["item_score"].dims) - {"item"}
    clusters = "group" in evidence.coords and evidence["group"].dims == ("item",)
    if several or clusters or any(str(k).startswith("slice_") for k in evidence):
        raise ValueError(
            "The model supports one system and independent items, without clusters and slices. Use "
            "the direct posterior (bayescm.interval, summary, compare), or select one."
        )
    if "weights_are" in evidence.coords and evidence["weights_are"].item() == "importance":
        raise ValueError(
            "The model does not support importance weights. Use the direct posterior "
            "(bayescm.interval, summary, compare)."
        )
    score = evidence["item_score"].values.astype(float)
    weight = np.asarray(evidence["weight"] if "weight" in evidence else np.ones(len(score)), float)
    has_score = ~np.isnan(score)
    score, weight = score[has_score], weight[has_score]
    if "lowest" in evidence.coords and concentration:
        ends = [evidence["lowest"].item(), evidence["highest"].item()]
        score = np.concatenate([score, ends])
        weight = np.concatenate([weight, np.full(2, float(concentration))])
    values, value_index = np.unique(score, return_inverse=True)
    with pm.Model(coords={"score": values}) as model:
        total = pm.Data("weight", np.bincount(value_index, weight), dims="score")
        share = pm.Dirichlet("share", total, dims="score")
        pm.Deterministic("mean", (share * values).sum())
    return model
