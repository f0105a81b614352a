r"""Model for examples with several labels each, such as tags, findings or topics.

.. math::

    g_i \sim \mathrm{Gamma}(1), \qquad p_{cl} \sim \mathrm{Gamma}(e), \qquad
    c_l \propto \textstyle\sum_i g_i c_{il} + p_{cl}

For each label l, the cells c are true and false positives and negatives. Example i is in cell c of
label l (:math:`c_{il} = 1`) or not (:math:`c_{il} = 0`), and :math:`c_l` is the share of the cell
in the population. The gamma distributions have these shapes and the rate 1.

Parameters
----------
+-----------------+-------------------------------------+------------------+-----------------------+
| symbol          | meaning                             | prior            | keyword               |
+=================+=====================================+==================+=======================+
| :math:`g_i`,    | weight of example i in the          | Gamma(1)         | –                     |
| ``weight``      | population, summed over equal       |                  |                       |
|                 | examples                            |                  |                       |
+-----------------+-------------------------------------+------------------+-----------------------+
| :math:`p_{cl}`, | weight of the pseudo-examples in    | Gamma(:math:`e`) | –                     |
| ``pseudo``      | cell c of label l                   |                  |                       |
+-----------------+-------------------------------------+------------------+-----------------------+
| :math:`e`       | number of pseudo-examples in each   | fixed, 0.5       | ``concentration=0.5`` |
|                 | cell of each label                  |                  |                       |
+-----------------+-------------------------------------+------------------+-----------------------+
| :math:`c_l`,    | shares of the four cells of label l | follows from the | –                     |
| ``cells``       |                                     | others           |                       |
+-----------------+-------------------------------------+------------------+-----------------------+

When to use it
--------------
Use it if an example may have any number of labels.

When not to use it
------------------
* Each example has exactly one label: use `dirichlet_multinomial`. For several labels, do not
  flatten the examples into one table. Its intervals are too short, because some examples are harder
  than others.
* You need macro averages over many labels, and some labels have about four positives: the coverage
  of such averages is the least certain.

Estimands
---------
* ``cells``, ``of="parameter"`` or ``"population"``: the measure in the population of examples.

Notes
-----
The gamma weights implement the Bayesian bootstrap (Rubin 1981). All labels of an example share its
weight, so that the model assumes nothing about how labels depend on each other. The pseudo-examples
represent cells that were not observed. The cells of a single label have the same posterior as in
`dirichlet_multinomial`.

The weights have no likelihood: the model is the posterior itself.

The direct posterior also supports several systems on the same examples, which share the weights. It
supports clusters and weights of examples, slices, and counts without true negatives. It removes the
bias of macro averages over labels with few positives. This PyMC model describes one system.

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
        Number of pseudo-examples, > 0, in each cell of each label.

    Returns
    -------
    pymc.Model
        Free variables ``weight`` (pattern), the weights of the examples with the same labels and
        predictions, and ``pseudo`` (class, cell). Deterministic ``cells`` (class, cell), the shares
        of the four cells of each label. The dimension of the labels is ``class``, because ArviZ
        reserves ``label``.

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
            "The model supports one system and independent examples, without clusters, slices and "
            "weights. Use the direct posterior (bayescm.interval, summary, compare), or select one."
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
