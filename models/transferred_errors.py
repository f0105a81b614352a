r"""Model for a judge whose error rates were measured in one population and are used in another.

.. math::

    \text{rates}_a &\sim \mathrm{Dirichlet}(\lambda), \qquad
    \text{prevalence} \sim \mathrm{Dirichlet}(1, \dots, 1) \\
    \text{labelled}_a \mid \text{rates} &\sim \mathrm{Multinomial}(n_a, \text{rates}_a) \\
    \text{unlabelled} \mid \text{rates}, \text{prevalence} &\sim \mathrm{Multinomial}(N,
    \textstyle\sum_a \text{prevalence}_a \, \text{rates}_a)

A stratum is a judge's label together with a prediction. :math:`\text{labelled}_a` are the counts,
by stratum, of the :math:`n_a` labelled examples of class a. :math:`\text{unlabelled}` are the
counts, by stratum, of the N unlabelled examples.

Parameters
----------
+-------------------+-----------------------------+----------------------------+-------------------+
| symbol            | meaning                     | prior                      | keyword           |
+===================+=============================+============================+===================+
| ``rates``         | probabilities of the K      | Dirichlet(:math:`\lambda`) | –                 |
|                   | strata for examples of      |                            |                   |
|                   | class a                     |                            |                   |
+-------------------+-----------------------------+----------------------------+-------------------+
| :math:`\lambda`,  | prior pseudo-count of each  | fixed, :math:`1 / K`       | ``concentration`` |
| ``concentration`` | stratum                     |                            |                   |
+-------------------+-----------------------------+----------------------------+-------------------+
| ``prevalence``    | class shares among the      | Dirichlet(1, ..., 1)       | –                 |
|                   | unlabelled examples         |                            |                   |
+-------------------+-----------------------------+----------------------------+-------------------+

When to use it
--------------
Use it if labels were collected in another population, at another time, or by class. The error rates
of judge and classifier, such as recall and specificity, are assumed to be the same in both
populations. The prevalence in the new population, and with it precision and F1, is estimated from
the judge's labels there (Rogan and Gladen 1978).

When not to use it
------------------
* The labelled examples are a random sample of the same population: use `partly_labelled`, which is
  more precise and assumes less.
* The judge may err more often on the new examples than on the labelled ones: the data cannot show
  this.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure in the population of the unlabelled examples.
* ``theta``, ``of="predictive"``: the measure on the next test set of ``n`` examples from this
  population.
* ``theta_finite``, ``of="finite"``: the measure on the unlabelled examples. Only the direct
  posterior provides it.

Notes
-----
The model is not conjugate. For two classes and up to 10,000 unlabelled examples, the direct
posterior is exact: it samples the true classes of each stratum by convolution. Otherwise it uses
importance sampling (two classes, or fractional unlabelled counts) or Gibbs sampling.

References
----------
Rogan, W. J., Gladen, B. (1978). Estimating prevalence from the results of a screening test.
American Journal of Epidemiology 107, 71-76. doi:10.1093/oxfordjournals.aje.a112510

Lee, C. et al. (2025). How to correctly report LLM-as-a-judge evaluations. arXiv:2511.21140
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr


def transferred_errors(evidence: xr.DataArray, *, concentration: float | None = None) -> pm.Model:
    """Model the error rates of labelled examples and the strata in another population.

    Parameters
    ----------
    evidence : xarray.DataArray
        Counts of labelled examples, dims ``(..., judge, actual, predicted)``. The coordinate
        ``unlabelled`` ``(..., judge, predicted)`` contains the numbers of unlabelled examples in
        the target population.
    concentration : float, optional
        Prior pseudo-count of each stratum for each class, > 0. Default: 1 / K for K strata.

    Returns
    -------
    pymc.Model
        Free variables ``rates`` ``(..., true_class, stratum)`` and ``prevalence``
        ``(..., true_class)``. Deterministic ``theta`` ``(..., actual, predicted)``. Observed
        ``labelled_counts`` and ``unlabelled_counts``.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": [0, 1], "predicted": [0, 1]}
    >>> counts = xr.DataArray([[[8, 1], [2, 9]]], dims=("judge", "actual", "predicted"))
    >>> unlabelled = (("judge", "predicted"), [[90, 110]])
    >>> model = transferred_errors(
    ...     counts.assign_coords(**labels, judge=["-"], unlabelled=unlabelled)
    ... )
    >>> [variable.name for variable in model.free_RVs]
    ['rates', 'prevalence']
    """
    batch = [dim for dim in evidence.dims if dim not in ("judge", "actual", "predicted")]
    table = evidence.transpose(*batch, "actual", "judge", "predicted")
    lead, labels = table.shape[: len(batch)], evidence["actual"].values
    labelled = table.values.astype(float).reshape(*lead, len(labels), -1)
    others = evidence["unlabelled"].transpose(*batch, "judge", "predicted").values.astype(float)
    others = others.reshape(*lead, -1)
    names = [f"{judge}:{answer}" for judge in evidence["judge"].values for answer in labels]
    weight = 1 / len(names) if concentration is None else float(concentration)
    coords = {dim: evidence[dim].values for dim in batch}
    coords |= {"stratum": names, "actual": labels, "predicted": labels, "true_class": labels}
    dims = (*batch, "true_class", "stratum")
    with pm.Model(coords=coords) as model:
        pm.Data("is_positive", _is_positive(evidence, labels), dims="actual")
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        labelled_data = pm.Data("labelled", labelled, dims=dims)
        unlabelled_data = pm.Data("unlabelled", others, dims=(*batch, "stratum"))
        prior = pm.Data("concentration", np.full(labelled.shape, weight), dims=dims)
        rates = pm.Dirichlet("rates", prior, dims=dims)
        flat = np.ones((*lead, len(labels)))
        prevalence = pm.Dirichlet("prevalence", flat, dims=(*batch, "true_class"))
        size = labelled_data.sum(-1).astype("int64")
        pm.Multinomial("labelled_counts", n=size, p=rates, observed=labelled_data, dims=dims)
        cells = prevalence[..., None] * rates
        size = unlabelled_data.sum(-1).astype("int64")
        dims = (*batch, "stratum")
        pm.Multinomial(
            "unlabelled_counts", n=size, p=cells.sum(-2), observed=unlabelled_data, dims=dims
        )
        apart = cells.reshape((*lead, len(labels), -1, len(labels)))
        pm.Deterministic("theta", pt.sum(apart, axis=-2), dims=(*batch, "actual", "predicted"))
    return model


def _is_positive(evidence, labels):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    if "positive" not in evidence.coords:
        return np.zeros(len(labels))
    return (labels == evidence.coords["positive"].values).astype(float)
