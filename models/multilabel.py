r"""Several labels for each example: the shares of the examples in their population.

.. math::

    g_i \sim \mathrm{Gamma}(1), \qquad p_{cl} \sim \mathrm{Gamma}(e), \qquad
    c_l = \sum_i g_i c_{il} + p_{cl}

for the cells c (true and false positives and negatives) of every label l in the population of
examples, of which example i has :math:`c_{il}`, 0 or 1. The labels of an example are right and
wrong together, since some examples are harder than others; so examples are weighed (the Bayesian
bootstrap) and nothing is assumed of how labels depend on one another. Half a pseudo-example in each
cell of each label (``concentration``) stands for what was not seen: the cells of one label by
itself are those of `dirichlet_multinomial`.

Use it for tags, findings and topics, of which an example may have any number. Do not flatten such
examples into one table, whose intervals are too short where examples differ in difficulty. Where
each example has exactly one label use `dirichlet_multinomial`. Macro averages over many labels of
which a few have some four positives are the least certain to be covered.

Conjugate. The direct posterior also knows several systems on the same examples, which share the
weights; examples that come in clusters, or have weights of their own; slices; and counts without
true negatives. It frees macro averages of the bias that labels of few positives have. The model
below is of one system.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

import numpy as np
import pymc as pm
import xarray as xr


def multilabel(evidence: xr.Dataset, *, concentration: float = 0.5) -> pm.Model:
    """Model the cells of every label in the population of examples.

    Parameters
    ----------
    evidence : xarray.Dataset
        Booleans ``actual`` (example, label) and ``predicted`` (example, label) of one system.
    concentration : float, default 0.5
        Pseudo-examples > 0 in each cell of each label.

    Returns
    -------
    pymc.Model
        Free variables ``weight`` (pattern) of the examples that have the same labels and
        predictions, and ``pseudo`` (class, cell), both gamma; ``cells`` (class, cell), the shares
        of the four cells of each label. (ArviZ's summaries take no dim ``label``.)

    Examples
    --------
    >>> import xarray as xr
    >>> labels = ("example", "label"), [[True, False], [True, True]]
    >>> model = multilabel(xr.Dataset({"actual": labels, "predicted": labels}))
    >>> [variable.name for variable in model.free_RVs]
    ['weight', 'pseudo']
    """
    clusters = "group" in evidence.coords and evidence["group"].dims == ("example",)
    designed = clusters or "weight" in evidence or "slice_" in str(list(evidence))
    if designed or "classifier" in evidence["predicted"].dims:
        raise ValueError(
            "The model takes one system and examples drawn one by one, without clusters, slices "
            "and weights. Ask the direct draws (bayescm.interval, summary, compare), or select one."
        )
    actual = evidence["actual"].transpose("example", "label").values
    predicted = evidence["predicted"].transpose("example", "label").values
    together = np.concatenate([actual, predicted], axis=1)
    patterns, count = np.unique(together, axis=0, return_counts=True)
    actual, predicted = np.split(patterns, 2, axis=1)
    indicators = [actual & predicted, actual & ~predicted, ~actual & predicted]
    table = np.stack([*indicators, ~actual & ~predicted], axis=-1).astype(float)
    coords = {
        "pattern": np.arange(len(count)),
        "class": evidence["label"].values
        if "label" in evidence.coords
        else np.arange(len(table[0])),
        "cell": ["tp", "fn", "fp", "tn"],
    }
    with pm.Model(coords=coords) as model:
        total = pm.Data("count", count.astype(float), dims="pattern")
        weight = pm.Gamma("weight", alpha=total, beta=1.0, dims="pattern")
        pseudo = pm.Gamma("pseudo", alpha=float(concentration), beta=1.0, dims=("class", "cell"))
        sums = (weight[:, None, None] * table).sum(axis=0) + pseudo
        pm.Deterministic("cells", sums / sums.sum(axis=-1, keepdims=True), dims=("class", "cell"))
    return model
