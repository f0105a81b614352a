r"""Several classifiers tested on the same examples: a Dirichlet over joint outcomes.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda) \\
    \text{counts} \mid \theta &\sim \mathrm{Multinomial}(n, \theta)

An outcome is the truth together with the answer of every classifier, so that with C classes and J
classifiers there are :math:`C^{1 + J}` of them. Each classifier's own confusion matrix is a sum of
outcomes: measures of all classifiers have one joint posterior, in which what they get right
together, and wrong together, cancels out of a difference.

The prior makes the answers independent given the truth and weighs as much as that of one matrix.
Summed over the other classifiers it is exactly the prior that each would have by itself: a measure
has one posterior, whichever classifiers are looked at along with it.

Use it to compare classifiers, or versions of one, on a common test set. Do not use it where they
were tested on different examples: these posteriors are independent (`dirichlet_multinomial`).

Where a label is an abstention (the coord ``abstain``) no example truly is one: these outcomes are
left out. Classifiers may then abstain on different examples.

Conjugate: the posterior is :math:`\mathrm{Dirichlet}(\lambda + \text{counts})`. The file writes all
cells out; its direct posterior never does, and takes any number of classifiers. The estimand is the
measure at ``theta``.

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
        ``counts`` ``(..., outcome)`` with the coords ``actual`` (outcome), ``predicted``
        (classifier, outcome), ``label`` and ``classifier``.
    concentration : float or array_like, shape (C, C) or (J, C, C), optional
        Each classifier's own prior pseudo-counts, > 0, in the order of ``label``; by default
        ``2 / C**2`` for C classes. The row sums must be the same for every classifier.

    Returns
    -------
    pymc.Model
        Free variable ``theta_outcome`` ``(..., cell)``; ``theta``
        ``(..., classifier, actual, predicted)``; observed ``outcome_counts`` ``(..., cell)``.

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
    # belongs[j, actual, predicted, cell]: the cells that make up each classifier's matrix.
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
    """Return counts of every joint cell, in the order of truth, first answer, second answer ..."""
    class_index = {label: index for index, label in enumerate(labels.tolist())}
    answers = outcomes["predicted"].transpose("classifier", "outcome").values.tolist()
    cell = np.zeros(outcomes.sizes["outcome"], int)
    for column in [outcomes["actual"].values.tolist(), *answers]:
        cell = cell * len(labels) + [class_index[label] for label in column]
    table = outcomes["counts"].transpose(..., "outcome").values
    counts = np.zeros((*table.shape[:-1], number))
    for index, cell_index in enumerate(cell):  # a cell may come more than once
        counts[..., cell_index] += table[..., index]
    return counts


def _joint_prior(concentration, cells, classes, rows):
    """Spread the classifiers' own pseudo-counts over the joint cells."""
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
