r"""A number for each item: the Dirichlet process of its distribution.

.. math::

    F \mid s_1, \ldots, s_n \sim
    \mathrm{DP}\Bigl(\textstyle\sum_i \delta(s_i) + e\, \delta(l) + e\, \delta(h)\Bigr)

for the distribution :math:`F` of scores in the population of items, between the lowest score
:math:`l` and the highest :math:`h` that there can be. Nothing is assumed of its shape. Half a
pseudo-item at each end (``concentration``) stands for what was not seen: without it the mean of 20
items of which one scores below the others would be known far too well. Of scores that are 0 or 1
the mean is then a beta variable with the prior of Jeffreys.

Use it for nDCG or reciprocal rank of queries, marks on a rubric, a judge's scores, Dice or average
precision of images, errors of regressions. Items are taken to be drawn independently from those
there may be. Do not use it for repeated right and wrong answers to an item (`repeated_items`).

Where the ends of the scale are not known there are no pseudo-items, and intervals of few items are
too short, most so where a few items decide.

Conjugate. The direct posterior also knows several systems on the same items, which share the
weights of the items; items that come in clusters; importance weights; and slices. The model below
is of one system.

References
----------
Ferguson, T. S. (1973). A Bayesian analysis of some nonparametric problems. The Annals of
Statistics 1, 209-230. doi:10.1214/aos/1176342360

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
        ``item_score`` (item) of one system; the ends of the range, where they are known, are the
        scalar coords ``lowest`` and ``highest``; ``weight`` (item), if there is one, says how many
        items each stands for.
    concentration : float, default 0.5
        Pseudo-items >= 0 at each end of the range.

    Returns
    -------
    pymc.Model
        Free variable ``share`` (score), the share of items with each score that was seen or is an
        end of the range; ``mean``, the mean score.

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
            "The model takes one system and items drawn one by one, without clusters and slices. "
            "Ask the direct draws (bayescm.interval, summary, compare), or select one."
        )
    if "weights_are" in evidence.coords and evidence["weights_are"].item() == "importance":
        raise ValueError(
            "The model takes no importance weights. Ask the direct draws (bayescm.interval, "
            "summary, compare)."
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
