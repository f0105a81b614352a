r"""Model for confusion matrices of many classes whose accuracies are partially pooled.

.. math::

    m &\sim \mathrm{Beta}(\texttt{concentration}, \texttt{concentration}) \\
    \tau &\sim \mathrm{HalfNormal}(\texttt{spread}), \qquad w = 4 / \tau^2 \\
    a_i &\sim \mathrm{Beta}(w m, w (1 - m)) \\
    e_i &\sim \mathrm{Dirichlet}(\texttt{errors} / (C - 1)) \\
    u &\sim \mathrm{Uniform}(0, 1), \qquad v = u / (1 - u) \\
    \pi &\sim \mathrm{Dirichlet}(v, \dots, v) \\
    \theta_{ii} &= \pi_i a_i, \qquad \theta_{ij} = \pi_i (1 - a_i) e_{ij} \\
    \text{counts} \mid \theta &\sim \mathrm{Multinomial}(n, \theta)

There are C classes and n examples. Class i is classified correctly with probability :math:`a_i`.

Parameters
----------
+---------------+-----------------------------------+----------------------+-----------------------+
| symbol        | meaning                           | prior                | keyword               |
+===============+===================================+======================+=======================+
| :math:`m`,    | mean accuracy of the classes      | Beta(0.5, 0.5)       | ``concentration=0.5`` |
| ``common``    |                                   |                      |                       |
+---------------+-----------------------------------+----------------------+-----------------------+
| :math:`\tau`, | about the standard deviation of   | HalfNormal(1), or a  | ``spread=1``          |
| ``spread``    | the accuracies on the logit scale | function             |                       |
+---------------+-----------------------------------+----------------------+-----------------------+
| :math:`a_i`,  | accuracy of class i               | Beta(:math:`w m, w   | –                     |
| ``accuracy``  |                                   | (1 - m)`)            |                       |
+---------------+-----------------------------------+----------------------+-----------------------+
| :math:`e_i`,  | shares of the other classes among | Dirichlet(:math:`1 / | ``errors=1``          |
| ``mistakes``  | the errors of class i             | (C - 1)`)            |                       |
+---------------+-----------------------------------+----------------------+-----------------------+
| :math:`u`,    | how even the class proportions    | Uniform(0, 1)        | –                     |
| ``evenness``  | are                               |                      |                       |
+---------------+-----------------------------------+----------------------+-----------------------+
| :math:`\pi`,  | class proportions                 | Dirichlet(:math:`v`) | –                     |
| ``shares``    |                                   |                      |                       |
+---------------+-----------------------------------+----------------------+-----------------------+

When to use it
--------------
Use it for macro averages of three or more classes with few examples each. Priors that treat all
cells alike bias such averages and make their intervals too short. With many examples of each class
it agrees with `dirichlet_multinomial`.

When not to use it
------------------
* The design fixed the class totals: use `fixed_totals`.
* There are two classes: use `dirichlet_multinomial`.
* You look for a class that is far worse than the others: such a class is shrunk towards them.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure in the population of examples.
* ``theta``, ``of="predictive"``: the measure on the next test set of ``n`` examples.

Notes
-----
The model is not conjugate, but it is conjugate given :math:`m`, :math:`\tau` and :math:`v`. The
direct posterior sums over grids of these three.

References
----------
Gelman, A., Carlin, J. B., Stern, H. S., Dunson, D. B., Vehtari, A. & Rubin, D. B. (2013). Bayesian
Data Analysis, third edition, chapter 5. Chapman & Hall. doi:10.1201/b16018
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr


def hierarchical_rows(
    counts: xr.DataArray,
    *,
    concentration: float = 0.5,
    spread: float | Callable = 1.0,
    errors: float = 1.0,
) -> pm.Model:
    """Model confusion matrices of many classes whose accuracies are partially pooled.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts of three or more classes, dims ``(..., actual, predicted)``. Each leading index is a
        separate matrix.
    concentration : float, default 0.5
        Both parameters of the beta prior for the common accuracy, > 0.
    spread : float or callable, default 1
        Scale of the half-normal prior for the spread of the accuracies, on the logit scale. A
        function from a name to a PyMC variable is another prior:
        ``lambda name: pm.HalfCauchy(name, 0.5)``.
    errors : float, default 1
        Sum of the prior pseudo-counts of the errors of a class.

    Returns
    -------
    pymc.Model
        Free variables ``common``, ``spread``, ``accuracy`` ``(..., actual)``, ``evenness``,
        ``shares`` ``(..., actual)`` and ``mistakes`` ``(..., actual, other)``. Deterministic
        ``theta`` ``(..., actual, predicted)``. Observed ``cell_counts`` ``(..., cell)``.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": list("abc"), "predicted": list("abc")}
    >>> counts = xr.DataArray([[4, 1, 0], [0, 5, 1], [1, 0, 3]], coords=labels)
    >>> sorted(variable.name for variable in hierarchical_rows(counts).free_RVs)
    ['accuracy', 'common', 'evenness', 'mistakes', 'shares', 'spread']
    """
    lead, labels = counts.dims[:-2], counts["actual"].values.tolist()
    classes = len(labels)
    coords = {dim: counts[dim].values for dim in counts.dims}
    coords["other"] = np.arange(classes - 1)
    coords["cell"] = [f"{actual}->{predicted}" for actual in labels for predicted in labels]
    flat = (*counts.shape[:-2], classes**2)
    ones, others = np.ones(classes), np.ones((classes, classes - 1))

    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims).reshape(flat)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        common = pm.Beta("common", concentration, concentration, dims=lead or None)
        if callable(spread):
            spread = spread("spread")
        else:
            spread = pm.HalfNormal("spread", spread, dims=lead or None)
        weight = 4 / spread**2
        hits, misses = (weight * common)[..., None], (weight * (1 - common))[..., None]
        accuracy = pm.Beta("accuracy", hits * ones, misses * ones, dims=(*lead, "actual"))
        even = pm.Uniform("evenness", 0, 1, dims=lead or None)
        shares = pm.Dirichlet(
            "shares", (even / (1 - even))[..., None] * ones, dims=(*lead, "actual")
        )
        mistakes = pm.Dirichlet(
            "mistakes",
            np.broadcast_to(errors / (classes - 1) * others, (*counts.shape[:-2], *others.shape)),
            dims=(*lead, "actual", "other"),
        )
        wrong = (1 - accuracy)[..., None] * mistakes
        rows = _with_diagonal(accuracy, wrong, classes)
        theta = pm.Deterministic("theta", shares[..., None] * rows, dims=counts.dims)
        pm.Multinomial(
            "cell_counts",
            n=data.sum(-1).astype("int64"),
            p=theta.reshape(flat),
            observed=data,
            dims=(*lead, "cell"),
        )
    return model


def _with_diagonal(accuracy, wrong, classes):
    """Return the rows (..., C, C) from their diagonal cells and their C - 1 errors."""
    rows = []
    for actual in range(classes):
        before, after = wrong[..., actual, :actual], wrong[..., actual, actual:]
        rows.append(pm.math.concatenate([before, accuracy[..., actual, None], after], axis=-1))
    return pm.math.stack(rows, axis=-2)


def _is_positive(counts):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
