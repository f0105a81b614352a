r"""Model for counts whose labels are wrong at a known or uncertain rate.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda) \\
    e_a &\sim \mathrm{Beta}(\alpha_a, \beta_a) \text{ on } [0, \tfrac12], \text{ or known} \\
    p_{lk} &= \sum_a \theta_{ak} \, E_{al}, \qquad E_{aa} = 1 - e_a \\
    \text{labels} \mid \theta, e &\sim \mathrm{Multinomial}(n, p)

An example has the true class a, the label l and the prediction k. With several classifiers, k is
the combination of their predictions. There are n examples.

Parameters
----------
+-------------------+------------------------+---------------------------------+-------------------+
| symbol            | meaning                | prior                           | keyword           |
+===================+========================+=================================+===================+
| :math:`\theta`,   | probabilities of true  | Dirichlet(:math:`\lambda`)      | –                 |
| ``theta_cell``    | class and prediction   |                                 |                   |
+-------------------+------------------------+---------------------------------+-------------------+
| :math:`\lambda`,  | prior pseudo-counts of | fixed, :math:`2 / C^2` for each | ``concentration`` |
| ``concentration`` | the cells              | cell of C classes; see Notes    |                   |
|                   |                        | for several classifiers         |                   |
+-------------------+------------------------+---------------------------------+-------------------+
| :math:`e_a`,      | probability that the   | known, Beta(a, b) below 1/2, or | ``label_error=0`` |
| ``label_error``   | label of an example of | a function                      |                   |
|                   | class a is wrong       |                                 |                   |
+-------------------+------------------------+---------------------------------+-------------------+
| :math:`E_{al}`    | probability that an    | wrong labels are spread evenly  | ``label_error``   |
|                   | example of class a has | over the other classes, or as a |                   |
|                   | label l                | mapping specifies               |                   |
+-------------------+------------------------+---------------------------------+-------------------+

When to use it
--------------
Use it if each example has one label, and the rate of wrong labels is approximately known. The error
rate may come from a second reading of some examples, a published rate, or the agreement of
annotators with an expert.

When not to use it
------------------
* Labels and classifier err on the same examples: the classifier then looks better than it is.
* Each example has several labels: use `noisy_labels`.
* Some examples have true labels: use `partly_labelled`.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure against the unobserved true classes.
* ``theta``, ``of="predictive"``: the measure on the next test set of ``n`` examples.

Notes
-----
Given the true class, the label and the prediction err independently.

The data contain little information about the error rates themselves. They only exclude rates that
are too large for the observed labels. Uncertainty about the rates therefore makes the interval
longer, however many examples there are.

The examples are a random sample at their own prevalence. With the coordinate ``prevalence``, recall
and specificity are transferred to a population with another prevalence.

With several classifiers, the default pseudo-counts sum to two over all combinations with equal
predictions, and to one over the true classes of each other combination.

References
----------
Rogan, W. J., Gladen, B. (1978). Estimating prevalence from the results of a screening test.
American Journal of Epidemiology 107, 71-76. doi:10.1093/oxfordjournals.aje.a112510

Joseph, L., Gyorkos, T. W., Coupal, L. (1995). Bayesian estimation of disease prevalence and the
parameters of diagnostic tests in the absence of a gold standard. American Journal of Epidemiology
141, 263-272. doi:10.1093/oxfordjournals.aje.a117428
"""

from collections.abc import Callable, Mapping

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import ArrayLike


def mislabelled(
    evidence: xr.DataArray | xr.Dataset,
    *,
    label_error: float | tuple[float, float] | Mapping | Callable = 0.0,
    concentration: ArrayLike | None = None,
) -> pm.Model:
    """Model the true classes behind labels that are sometimes wrong.

    Parameters
    ----------
    evidence : xarray.DataArray or xarray.Dataset
        Counts, dims ``(..., actual, predicted)``, with the labels as ``actual``; or outcomes of
        several classifiers, ``counts`` ``(..., outcome)``.
    label_error : float, tuple, callable or mapping of these by class
        Probability that a label is wrong, in [0, 1/2). Default: 0.

        * A number: a known rate.
        * A tuple ``(a, b)``: a Beta(a, b) prior below 1/2 for each class and matrix.
        * A function from a name to a PyMC variable: another prior.
        * A mapping by class: one of these for each class. Omitted classes have no errors. The value
          for a class may also be a mapping from wrong labels to known rates.
    concentration : float or array_like, optional
        Prior pseudo-counts of the true cells. Default: ``2 / C**2``. With several classifiers, a
        single number for all cells. By default, they then sum to two over all combinations with
        equal predictions, and to one over the true classes of each other combination.

    Returns
    -------
    pymc.Model
        Free variables ``theta_cell`` ``(..., cell)`` and, if rates are uncertain, ``label_error``
        ``(..., erring)``. Deterministic ``theta`` ``(..., [classifier], actual, predicted)``.
        Observed ``label_counts`` ``(..., cell)``.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": ["well", "sick"], "predicted": ["well", "sick"]}
    >>> counts = xr.DataArray([[30, 35], [15, 65]], coords=labels)
    >>> model = mislabelled(counts, label_error={"sick": (2, 38), "well": 0.02})
    >>> [variable.name for variable in model.free_RVs]
    ['label_error', 'theta_cell']
    """
    several = "outcome" in evidence.dims
    labels = evidence["label" if several else "actual"].values
    batch, table, answers = (_of_outcomes if several else _of_counts)(evidence, labels)
    classes, strata = len(labels), answers.shape[1]
    prior = _pseudo_counts(concentration, answers, classes, several)
    spread, rates, betas, functions = _errors(label_error, labels.tolist())
    erring = [labels[class_index] for class_index in betas]
    names = ["|".join(str(labels[answer]) for answer in column) for column in answers.T]
    coords = {dim: evidence[dim].values for dim in batch}
    coords |= {"cell": [f"{actual}->{name}" for actual in labels for name in names]}
    coords |= {"actual": labels, "predicted": labels} | ({"erring": erring} if betas else {})
    classifier_dim = ("classifier",) if several else ()
    coords |= {dim: np.atleast_1d(evidence[dim].values) for dim in classifier_dim}
    lead, dims = table.shape[:-2], (*batch, "cell")
    with pm.Model(coords=coords) as model:
        pm.Data("is_positive", _is_positive(evidence, labels), dims="actual")
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", table.reshape(*lead, -1), dims=dims)
        weight = pm.Data(
            "concentration", np.broadcast_to(prior.ravel(), (*lead, prior.size)).copy()
        )
        if betas:
            alpha, beta = np.transpose(list(betas.values()))
            shape = (*lead, len(betas))
            dist = pm.Beta.dist(alpha, beta, shape=shape)
            error_rates = pm.Truncated("label_error", dist, upper=0.5, dims=(*batch, "erring"))
            for index, class_index in enumerate(betas):
                rates[class_index] = error_rates[..., index]
        for class_index, function in functions.items():
            rates[class_index] = function(f"label_error_{labels[class_index]}")
        theta = pm.Dirichlet("theta_cell", weight, dims=dims)
        cells = theta.reshape((*lead, classes, strata))
        wrong = [pt.as_tensor(rates[class_index])[..., None] for class_index in range(classes)]
        # Probabilities of label and predictions, summed over the true classes.
        labelled = 0
        for class_index in range(classes):
            right = np.eye(classes)[class_index]
            label = (1 - wrong[class_index]) * right + wrong[class_index] * spread[class_index]
            labelled = labelled + label[..., :, None] * cells[..., class_index, :][..., None, :]
        size = data.sum(-1).astype("int64")
        pm.Multinomial(
            "label_counts", n=size, p=labelled.reshape((*lead, -1)), observed=data, dims=dims
        )
        belongs = (answers[:, None] == np.arange(classes)[:, None]).astype(float)
        if "prevalence" in evidence.coords:
            share = evidence["prevalence"].values
            share = share if share.ndim else np.array([1 - share, share])
            cells = share[:, None] * cells / cells.sum(-1, keepdims=True)
        tables = (cells @ belongs.reshape(-1, strata).T).reshape(
            (*lead, classes, *belongs.shape[:2])
        )
        tables = pt.swapaxes(tables, -3, -2)
        tables = tables if several else tables[..., 0, :, :]
        pm.Deterministic("theta", tables, dims=(*batch, *classifier_dim, "actual", "predicted"))
    return model


def _of_counts(counts, labels):
    """Return the dims of the batch, the labelled cells (..., C, K), and the predictions (1, K)."""
    batch = [dim for dim in counts.dims if dim not in ("actual", "predicted")]
    values = counts.transpose(*batch, "actual", "predicted").values.astype(float)
    return batch, values, np.arange(len(labels))[None]


def _of_outcomes(outcomes, labels):
    """Return the same as `_of_counts` for several classifiers, with a column per combination."""
    batch = [dim for dim in outcomes["counts"].dims if dim != "outcome"]
    class_index = {label: index for index, label in enumerate(labels.tolist())}
    answers = np.atleast_2d(outcomes["predicted"].transpose("classifier", ...).values).T.tolist()
    rows = [tuple(class_index[label] for label in row) for row in answers]
    patterns = sorted(set(rows))
    counts = outcomes["counts"].transpose(*batch, "outcome").values
    table = np.zeros((*counts.shape[:-1], len(labels), len(patterns)))
    for index, truth in enumerate(outcomes["actual"].values.tolist()):
        table[..., class_index[truth], patterns.index(rows[index])] += counts[..., index]
    return batch, table, np.array(patterns).T


def _pseudo_counts(concentration, answers, classes, several):
    """Return the prior pseudo-counts (C, K) of true class and predictions."""
    if concentration is not None:
        return np.broadcast_to(np.asarray(concentration, float), (classes, answers.shape[1]))
    agree = (answers == answers[0]).all(axis=0)
    whole = np.where(agree, 2 / max(1, agree.sum()), 1.0)
    return np.tile(whole / classes, (classes, 1))


def _errors(label_error, labels):
    """Return the shares of the wrong labels (C, C), and known rates, betas, functions by class."""
    size = len(labels)
    spread = (1 - np.eye(size)) / (size - 1)
    rates, betas, functions = [0.0] * size, {}, {}
    for class_index, label in enumerate(labels):
        rate = label_error.get(label, 0.0) if isinstance(label_error, Mapping) else label_error
        if isinstance(rate, Mapping):
            rates[class_index] = total = float(sum(rate.values()))
            if total > 0:
                spread[class_index] = [rate.get(other, 0.0) / total for other in labels]
        elif callable(rate):
            functions[class_index] = rate
        elif isinstance(rate, tuple):
            betas[class_index] = rate
        else:
            rates[class_index] = float(rate)
    return spread, rates, betas, functions


def _is_positive(evidence, labels):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    if "positive" not in evidence.coords:
        return np.zeros(len(labels))
    return (labels == evidence.coords["positive"].values).astype(float)
