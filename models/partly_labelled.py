r"""Model for few labelled examples and many others that only a judge has labelled.

.. math::

    \text{share} &\sim \mathrm{Dirichlet}(\lambda_{1+}, \dots, \lambda_{K+}) \\
    \text{truth}_k &\sim \mathrm{Dirichlet}(\lambda_k) \\
    N \mid \text{share} &\sim \mathrm{Multinomial}(\textstyle\sum N, \text{share}) \\
    n_k \mid \text{truth}_k &\sim \mathrm{Multinomial}(\textstyle\sum n_k, \text{truth}_k)

A stratum k of K is a judge's label together with a prediction, or with the predictions of several
classifiers. It has :math:`N_k` examples. The labelled examples among them have the class counts
:math:`n_k`.

Parameters
----------
+--------------------+-----------------------+---------------------------------+-------------------+
| symbol             | meaning               | prior                           | keyword           |
+====================+=======================+=================================+===================+
| ``share``          | shares of the strata  | Dirichlet(:math:`\lambda_{k+}`) | –                 |
|                    | among all examples    |                                 |                   |
+--------------------+-----------------------+---------------------------------+-------------------+
| ``truth``          | shares of the true    | Dirichlet(:math:`\lambda_k`)    | –                 |
|                    | classes in each       |                                 |                   |
|                    | stratum               |                                 |                   |
+--------------------+-----------------------+---------------------------------+-------------------+
| :math:`\lambda_k`, | prior pseudo-counts   | fixed, :math:`3 / (K C)` each;  | ``concentration`` |
| ``concentration``  | of the C classes in   | see Notes                       |                   |
|                    | stratum k             |                                 |                   |
+--------------------+-----------------------+---------------------------------+-------------------+

When to use it
--------------
Use it if a judge has labelled all examples and people a part of them. With a good judge, one class
prevails in each stratum, so that few labels are sufficient. With a useless judge, the strata are
similar, and little is gained or lost. Several classifiers can be compared with the same labels.

When not to use it
------------------
* The labels come from another population than the judged examples: use `transferred_errors`.
* The labelled examples are not a random sample within each stratum.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure in the population of examples.
* ``theta``, ``of="predictive"``: the measure on the next test set of ``n`` examples.
* ``theta_finite``, ``of="finite"``: the measure on the observed examples, labelled or not. Only the
  direct posterior provides it.

Notes
-----
The posterior is conjugate.

Within a stratum, the labelled examples are assumed to be a random sample. Some strata may be
labelled more than others, and no weights are needed.

The prior pseudo-counts of all strata in which the classifiers agree sum to three, or to two if
there are at most as many strata as classes. The pseudo-counts of each other stratum sum to one.
Strata with different predictions contain few examples but decide which classifier is better, so
that one or two labels should not settle the comparison.

If a label marks abstentions (the coordinate ``abstain``), it is not a true class.

References
----------
Tenenbein, A. (1970). A double sampling scheme for estimating from binomial data with
misclassifications. Journal of the American Statistical Association 65, 1350-1361.
doi:10.1080/01621459.1970.10481170
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr


def partly_labelled(
    evidence: xr.DataArray | xr.Dataset, *, concentration: float | None = None
) -> pm.Model:
    """Model the sizes and the true classes of strata of equal judge label and prediction.

    Parameters
    ----------
    evidence : xarray.DataArray or xarray.Dataset
        For one classifier, counts of labelled examples, dims ``(..., judge, actual, predicted)``.
        The coordinate ``unlabelled`` ``(..., judge, predicted)`` contains the numbers of unlabelled
        examples. For several classifiers, ``counts`` ``(..., judge, outcome)``, ``unlabelled``
        ``(..., judge, answers)``, and the predictions ``answered`` ``(classifier, answers)``.
    concentration : float, optional
        Prior pseudo-count of each cell, > 0. By default, the pseudo-counts of all strata in which
        the classifiers agree sum to three (two with at most as many strata as classes). The
        pseudo-counts of each other stratum sum to one.

    Returns
    -------
    pymc.Model
        Free variables ``share`` ``(..., stratum)`` and ``truth`` ``(..., stratum, true_class)``.
        Deterministic ``theta`` ``(..., [classifier], actual, predicted)``. Observed
        ``stratum_counts`` and ``truth_counts``.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": [0, 1], "predicted": [0, 1]}
    >>> counts = xr.DataArray([[[8, 1], [2, 9]]], dims=("judge", "actual", "predicted"))
    >>> unlabelled = (("judge", "predicted"), [[90, 110]])
    >>> model = partly_labelled(counts.assign_coords(**labels, judge=["-"], unlabelled=unlabelled))
    >>> [variable.name for variable in model.free_RVs]
    ['share', 'truth']
    """
    several = "outcome" in evidence.dims
    labels = evidence["label" if several else "actual"].values
    # The last label marks abstentions, so it is not a true class.
    real = len(labels) - ("abstain" in evidence.coords)
    read = _of_outcomes if several else _of_counts
    batch, labelled, others, answers, names = read(evidence, labels)
    labelled, strata = labelled[..., :real], len(names)
    agree = (answers == answers[0]).all(axis=0)
    whole = 2 if strata <= real else 3
    weight = np.where(agree, whole / max(1, agree.sum()), 1.0) / real
    weight = weight if concentration is None else np.full(strata, float(concentration))
    # belongs[j, predicted, stratum] is 1 if classifier j predicts this label in the stratum.
    belongs = (answers[:, None] == np.arange(len(labels))[:, None]).astype(float)

    coords = {dim: evidence[dim].values for dim in batch if dim in evidence.coords}
    coords |= {"stratum": names, "actual": labels, "predicted": labels, "true_class": labels[:real]}
    classifier_dim = ("classifier",) if several else ()
    coords |= {dim: np.atleast_1d(evidence[dim].values) for dim in classifier_dim}
    lead, dims = labelled.shape[:-2], (*batch, "stratum", "true_class")
    with pm.Model(coords=coords) as model:
        pm.Data("is_positive", _is_positive(evidence, labels), dims="actual")
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("labelled", labelled, dims=dims)
        total = pm.Data("unlabelled", others, dims=(*batch, "stratum")) + data.sum(-1)
        prior = pm.Data("concentration", np.tile(weight[:, None], real))
        share = pm.Dirichlet(
            "share", prior.sum(-1) + pt.zeros((*lead, 1)), dims=(*batch, "stratum")
        )
        truth = pm.Dirichlet("truth", prior + pt.zeros((*lead, 1, 1)), dims=dims)
        size = total.sum(-1).astype("int64")
        pm.Multinomial("stratum_counts", n=size, p=share, observed=total, dims=(*batch, "stratum"))
        size = data.sum(-1).astype("int64")
        pm.Multinomial("truth_counts", n=size, p=truth, observed=data, dims=dims)
        cells = pt.swapaxes(share[..., None] * truth, -1, -2) @ belongs.reshape(-1, strata).T
        theta = pt.swapaxes(cells.reshape((*lead, real, *belongs.shape[:2])), -3, -2)
        if real < len(labels):
            theta = pt.concatenate([theta, pt.zeros_like(theta[..., :1, :])], axis=-2)
        theta = theta if several else theta[..., 0, :, :]
        pm.Deterministic("theta", theta, dims=(*batch, *classifier_dim, "actual", "predicted"))
    return model


def _of_counts(counts, labels):
    """Return batch dims, labelled and other examples, predictions and names of the strata."""
    batch = [dim for dim in counts.dims if dim not in ("judge", "actual", "predicted")]
    counts = counts.transpose(*batch, "judge", "predicted", "actual")
    lead, classes, judges = counts.shape[:-3], len(labels), counts.sizes["judge"]
    labelled = counts.values.astype(float).reshape(*lead, judges * classes, classes)
    others = counts["unlabelled"].transpose(*batch, "judge", "predicted").values
    names = [f"{j}:{p}" for j in counts["judge"].values for p in labels]
    others = others.astype(float).reshape(*lead, -1)
    return batch, labelled, others, np.tile(np.arange(classes), judges)[None], names


def _of_outcomes(outcomes, labels):
    """Return the same as `_of_counts` for several classifiers and strata with examples."""
    batch = [dim for dim in outcomes["counts"].dims if dim not in ("judge", "outcome")]
    class_index = {label: index for index, label in enumerate(labels.tolist())}

    def patterns_of(name):
        columns = np.atleast_2d(outcomes[name].transpose("classifier", ...).values)
        return [tuple(class_index[label] for label in row) for row in columns.T.tolist()]

    of_labelled, of_others = patterns_of("predicted"), patterns_of("answered")
    patterns = sorted({*of_labelled, *of_others})
    truth = [class_index[label] for label in outcomes["actual"].values.tolist()]
    counts = outcomes["counts"].transpose(*batch, "judge", "outcome").values
    unlabelled = outcomes["unlabelled"].transpose(*batch, "judge", "answers").values
    labelled = np.zeros((*counts.shape[:-1], len(patterns), len(labels)))
    others = np.zeros(labelled.shape[:-1])
    for index, pattern in enumerate(of_labelled):
        labelled[..., patterns.index(pattern), truth[index]] += counts[..., index]
    for index, pattern in enumerate(of_others):
        others[..., patterns.index(pattern)] += unlabelled[..., index]
    lead, judges = counts.shape[:-2], outcomes["judge"].values
    labelled, others = labelled.reshape(*lead, -1, len(labels)), others.reshape(*lead, -1)
    words = ["|".join(str(labels[index]) for index in pattern) for pattern in patterns]
    names = np.array([f"{judge}:{word}" for judge in judges for word in words])
    occurs = (labelled.sum(-1) + others).reshape(-1, others.shape[-1]).any(axis=0)
    answers = np.tile(np.array(patterns).T, len(judges))[:, occurs]
    return batch, labelled[..., occurs, :], others[..., occurs], answers, names[occurs].tolist()


def _is_positive(evidence, labels):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    if "positive" not in evidence.coords:
        return np.zeros(len(labels))
    return (labels == evidence.coords["positive"].values).astype(float)
