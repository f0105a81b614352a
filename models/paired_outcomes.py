r"""Model for several classifiers tested on the same examples.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda), \qquad
        \lambda_{i a_1 \dots a_J} = \lambda_{i+}
        \prod_{j=1}^J \lambda^{(j)}_{i a_j} / \lambda_{i+} \\
    \text{counts} \mid \theta &\sim \mathrm{Multinomial}(n, \theta)

An outcome is the actual class i together with the predicted labels :math:`a_1, \dots, a_J` of J
classifiers. There are n examples, C classes and :math:`C^{1 + J}` outcomes.

Parameters
----------
+------------------------+------------------------+----------------------------+-------------------+
| symbol                 | meaning                | prior                      | keyword           |
+========================+========================+============================+===================+
| :math:`\theta`,        | probabilities of the   | Dirichlet(:math:`\lambda`) | –                 |
| ``theta_outcome``      | joint outcomes         |                            |                   |
+------------------------+------------------------+----------------------------+-------------------+
| :math:`\lambda^{(j)}`, | prior pseudo-counts of | fixed, :math:`2 / C^2` for | ``concentration`` |
| ``concentration``      | the matrix of          | each cell                  |                   |
|                        | classifier j, with the |                            |                   |
|                        | same row sums          |                            |                   |
|                        | :math:`\lambda_{i+}`   |                            |                   |
|                        | for all                |                            |                   |
+------------------------+------------------------+----------------------------+-------------------+

When to use it
--------------
Use it to compare classifiers, or versions of one, on a common test set. Their measures have a joint
posterior, so that examples that both get right, or both get wrong, cancel in a difference.

When not to use it
------------------
* The classifiers were tested on different examples: their posteriors are independent. Use
  `dirichlet_multinomial`.
* The classifiers were cross-validated on the same folds: use `paired_folds`.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure of each classifier in the population of examples.
* ``theta``, ``of="predictive"``: the measure of each classifier on the next test set of ``n``
  examples.

Notes
-----
The posterior is conjugate: :math:`\mathrm{Dirichlet}(\lambda + \text{counts})`. This PyMC model has
a cell for every outcome. The direct posterior stores only the outcomes that occur, and supports any
number of classifiers.

A priori, the predictions are independent given the actual class. The total weight of the prior
equals the weight of the prior for one matrix. Summed over the other classifiers, the prior equals
the prior for a single classifier. A measure therefore has the same posterior whichever other
classifiers are included.

If a label marks abstentions (the coordinate ``abstain``), no example has it as its actual class,
and these outcomes are omitted. C in :math:`2 / C^2` is the number of the other classes. Classifiers
may abstain on different examples.

References
----------
Ferguson, T. S. (1973). A Bayesian analysis of some nonparametric problems. Annals of Statistics 1,
209-230. doi:10.1214/aos/1176342360
"""

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def paired_outcomes(outcomes: xr.Dataset, *, concentration: ArrayLike | None = None) -> pm.Model:
    """Model the joint outcomes of several classifiers as multinomial counts.

    Parameters
    ----------
    outcomes : xarray.Dataset
        ``counts`` ``(..., outcome)`` with the coordinates ``actual`` (outcome), ``predicted``
        (classifier, outcome), ``label`` and ``classifier``.
    concentration : float or array_like, shape (C, C) or (J, C, C), optional
        Prior pseudo-counts of each classifier's own matrix, > 0, in the order of ``label``. Row
        sums must be equal for all classifiers. Default: ``2 / C**2`` for C classes.

    Returns
    -------
    pymc.Model
        Free variable ``theta_outcome`` ``(..., cell)``. Deterministic ``theta``
        ``(..., classifier, actual, predicted)``. Observed ``outcome_counts`` ``(..., cell)``.

    Examples
    --------
    >>> import xarray as xr
    >>> coords = {"actual": ("outcome", [0, 1, 1]), "label": [0, 1], "classifier": ["a", "b"]}
    >>> coords["predicted"] = (("classifier", "outcome"), [[0, 1, 1], [0, 1, 0]])
    >>> outcomes = xr.Dataset({"counts": ("outcome", [5, 3, 2])}, coords=coords)
    >>> [variable.name for variable in paired_outcomes(outcomes).free_RVs]
    ['theta_outcome']
    """
    labels, names = outcomes["label"].values, outcomes["classifier"].values
    batch = [dim for dim in outcomes["counts"].dims if dim != "outcome"]
    classes, judges = len(labels), len(names)
    # The last label marks abstentions, so it is not an actual class.
    rows = classes - ("abstain" in outcomes.coords)
    cells = np.indices((rows, *(classes,) * judges)).reshape(1 + judges, -1)
    counts = _all_cells(outcomes, labels, cells.shape[1])
    weight = _joint_prior(concentration, cells, classes, rows)
    # belongs[j, actual, predicted, cell] is true if the joint cell belongs to the cell (actual,
    # predicted) of the matrix of classifier j.
    class_indices = np.arange(classes)
    truth = cells[0] == class_indices[:, None]
    belongs = truth[None, :, None] & (cells[1:, None, None] == class_indices[:, None])

    coords = {dim: outcomes[dim].values for dim in batch if dim in outcomes.coords}
    coords |= {"classifier": names, "actual": labels, "predicted": labels}
    coords["cell"] = ["->".join(str(labels[index]) for index in cell) for cell in cells.T]
    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", counts, dims=(*batch, "cell"))
        pm.Data("is_positive", _is_positive(outcomes), dims="actual")
        prior = pm.Data("concentration", weight, dims="cell")
        theta = pm.Dirichlet("theta_outcome", prior, dims=(*batch, "cell"))
        total = data.sum(-1).astype("int64")
        pm.Multinomial("outcome_counts", n=total, p=theta, observed=data, dims=(*batch, "cell"))
        flat = theta @ belongs.reshape(-1, belongs.shape[-1]).T.astype(float)
        shape = (*counts.shape[:-1], judges, classes, classes)
        dims = (*batch, "classifier", "actual", "predicted")
        pm.Deterministic("theta", flat.reshape(shape), dims=dims)
    return model


def _all_cells(outcomes, labels, number):
    """Return the counts of all joint cells, ordered by actual class, then first prediction, ..."""
    class_index = {label: index for index, label in enumerate(labels.tolist())}
    answers = outcomes["predicted"].transpose("classifier", "outcome").values.tolist()
    cell = np.zeros(outcomes.sizes["outcome"], int)
    for column in [outcomes["actual"].values.tolist(), *answers]:
        cell = cell * len(labels) + [class_index[label] for label in column]
    table = outcomes["counts"].transpose(..., "outcome").values
    counts = np.zeros((*table.shape[:-1], number))
    # Several outcomes may belong to the same cell.
    for index, cell_index in enumerate(cell):
        counts[..., cell_index] += table[..., index]
    return counts


def _joint_prior(concentration, cells, classes, rows):
    """Return the pseudo-counts of the joint cells from the pseudo-counts of each classifier."""
    pseudo_counts = 2 / rows**2 if concentration is None else concentration
    pseudo_counts = np.broadcast_to(
        np.asarray(pseudo_counts, float), (len(cells) - 1, classes, classes)
    )
    sums = pseudo_counts[0].sum(-1)
    weight = sums[cells[0]]
    for of_classifier, answers in zip(pseudo_counts, cells[1:], strict=True):
        weight = weight * of_classifier[cells[0], answers] / sums[cells[0]]
    return weight


def _is_positive(outcomes):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = outcomes["label"].values
    if "positive" not in outcomes.coords:
        return np.zeros(len(labels))
    return (labels == outcomes.coords["positive"].values).astype(float)
