r"""Many classes that share strength: a common accuracy, and a common spread around it.

.. math::

    a_i &\sim \mathrm{Beta}(w m, w (1 - m)), \quad w = 4 / \tau^2 \\
    e_i &\sim \mathrm{Dirichlet}(\epsilon / (C - 1)) \\
    \pi &\sim \mathrm{Dirichlet}(v), \quad v / (1 + v) \sim \mathrm{Uniform}(0, 1) \\
    \theta_{ii} &= \pi_i a_i, \quad \theta_{ij} = \pi_i (1 - a_i) e_{ij} \\
    \text{counts} \mid \theta &\sim \mathrm{Multinomial}(n, \theta)

Class :math:`i` is classified correctly with probability :math:`a_i`; the classes' accuracies lie
around a common :math:`m`, with a spread :math:`\tau` on the logit scale that is learned from all
classes together. How uneven the class proportions are is learned as well (:math:`v`).

Use it for macro averages of many classes with few examples each, where every prior that treats the
cells alike is too sure of its bias. With many examples a class it agrees with
`dirichlet_multinomial`. Do not use it where the class totals were fixed by the design
(`fixed_totals`), nor with two classes.

Not conjugate; given :math:`m, \tau` and :math:`v` it is, and the direct posterior sums over grids
of these. The estimand is the measure at ``theta``.

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
        Counts, dims ``(..., actual, predicted)``, of three or more classes; each leading index is a
        separate matrix.
    concentration : float, default 0.5
        Beta parameters, both, of the common accuracy.
    spread : float or callable, default 1
        Scale of the half-normal prior of the spread of the accuracies, on the logit scale. A
        function from a name to a PyMC variable is another prior:
        ``lambda name: pm.HalfCauchy(name, 0.5)``.
    errors : float, default 1
        Prior pseudo-counts, together, of where a row's errors go.

    Returns
    -------
    pymc.Model
        Free variables ``common``, ``spread``, ``accuracy`` ``(..., actual)``, ``evenness``,
        ``shares`` ``(..., actual)`` and ``mistakes`` ``(..., actual, other)``; ``theta``; observed
        ``cell_counts``.

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
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
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
    """Put the errors of each row, C - 1 of them, around its diagonal cell."""
    rows = []
    for actual in range(classes):
        before, after = wrong[..., actual, :actual], wrong[..., actual, actual:]
        rows.append(pm.math.concatenate([before, accuracy[..., actual, None], after], axis=-1))
    return pm.math.stack(rows, axis=-2)


def _is_positive(counts):
    """Return 1 for the positive class and 0 for the others; 0 throughout where none is set."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
