r"""Model for the confusion matrices of the cells of several attributes, such as sex, age and site.

.. math::

    r &\sim \mathrm{Beta}(\lambda_r, \lambda'_r) \\
    \tau_a &\sim \mathrm{HalfNormal}(\texttt{spread}), \qquad
        \omega \sim \mathrm{HalfNormal}(\texttt{interaction}) \\
    u_{a, l} &\sim \mathrm{Normal}(0, 1), \qquad v_c \sim \mathrm{Normal}(0, 1) \\
    \operatorname{logit} r_c &= \operatorname{logit} r + \sum_a \tau_a u_{a, c_a} + \omega v_c \\
    \text{counts}_c \mid p_c, r_c, s_c &\sim \mathrm{Multinomial}(n_c, \theta_c)

A cell c has one level :math:`c_a` of each attribute a, and :math:`n_c` examples. The equations for
its recall :math:`r_c` apply, with separate parameters, to its specificity :math:`s_c` and
prevalence :math:`p_c`. The cell probabilities :math:`\theta_c` follow from the three rates.

Parameters
----------
+-------------------+-------------------------------+------------------------+---------------------+
| symbol            | meaning                       | prior                  | keyword             |
+===================+===============================+========================+=====================+
| :math:`r`,        | each rate in the middle of    | Beta(:math:`\lambda_r, | –                   |
| ``rates``         | the attributes                | \lambda'_r`)           |                     |
+-------------------+-------------------------------+------------------------+---------------------+
| :math:`\lambda_r, | prior pseudo-counts: sums of  | fixed, :math:`2 / C^2` | ``concentration``   |
| \lambda'_r`       | ``concentration`` over the    | for each cell          |                     |
|                   | cells that count for and      |                        |                     |
|                   | against the rate              |                        |                     |
+-------------------+-------------------------------+------------------------+---------------------+
| :math:`\tau_a`,   | standard deviation of the     | HalfNormal(1), or a    | ``spread=1``        |
| ``spread``        | main effects of attribute a,  | function               |                     |
|                   | for each rate, on the logit   |                        |                     |
|                   | scale                         |                        |                     |
+-------------------+-------------------------------+------------------------+---------------------+
| :math:`\omega`,   | standard deviation of the     | HalfNormal(0.5), or a  | ``interaction=0.5`` |
| ``interaction``   | interactions, for each rate   | function               |                     |
+-------------------+-------------------------------+------------------------+---------------------+
| :math:`u_{a, l}`, | standardised main effect of   | Normal(0, sd 1)        | –                   |
| ``main``          | level l of attribute a        |                        |                     |
+-------------------+-------------------------------+------------------------+---------------------+
| :math:`v_c`,      | standardised interaction of   | Normal(0, sd 1)        | –                   |
| ``effect``        | cell c                        |                        |                     |
+-------------------+-------------------------------+------------------------+---------------------+

When to use it
--------------
Use it if examples are divided by two or more attributes, and many cells have few examples or none.
A cell is shrunk towards the prediction of its main effects, and small cells are shrunk most.

When not to use it
------------------
* There is one attribute: use `hierarchical_groups`.
* One attribute is nested in another, such as patients in sites.
* You look for a single cell that differs from the prediction of its main effects: such a cell is
  shrunk if it has few examples.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure of each cell.
* ``theta``, ``of="predictive"``: the measure of each cell on a test set of ``n`` examples.

Notes
-----
With C > 2 classes a matrix has :math:`C^2 - 1` such rates. The first are the class shares, last
class first: the share of a class among the classes that remain. Then, row by row, come the recall
and the share of each kind of error among the errors that remain. The order of more than two classes
therefore has a small effect.

An attribute with numeric labels, such as age, may be ``smooth``. Its main effect is then a slope
and a curve, :math:`\tau_a u_a z + \tau'_a \sum_k u_{a, k} b_k(z)`, with separate scales, for the
standardised level :math:`z`. The second derivative of the curve is constant between knots (at most
seven). Beyond the observed values, the second derivative is 0, so that the effect continues as a
straight line.

Special cases: with :math:`\omega = 0` the logits are sums of main effects. If every :math:`\tau_a`
is 0, the cells are unordered groups, shrunk towards one common mean.

The model is not conjugate. The direct posterior integrates the effects out by Laplace's method and
quadrature, and corrects the result by importance weights. The PyMC model is non-centred.

References
----------
Gelman, A. & Hill, J. (2007). Data Analysis Using Regression and Multilevel/Hierarchical Models,
chapters 13 and 14. Cambridge University Press. doi:10.1017/CBO9780511790942
"""

from collections.abc import Callable, Sequence

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def crossed_groups(
    counts: xr.DataArray,
    *,
    concentration: ArrayLike | None = None,
    spread: float | Callable = 1.0,
    interaction: float | Callable = 0.5,
    prevalence: float | ArrayLike | None = None,
    smooth: str | Sequence[str] = (),
) -> pm.Model:
    """Model the confusion matrices of all cells of several attributes.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., actual, predicted)``. Each leading dimension is an attribute. A cell
        may be empty.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the matrix in the middle of the attributes, > 0: one number or shape
        ``(C, C)``. Default: ``2 / C**2``.
    spread : float or callable, default 1
        Scale of the half-normal prior for the standard deviations of main effects, on the logit
        scale. A function from a name to a PyMC variable with the dims ``(attribute, rate)`` is
        another prior.
    interaction : float or callable, default 0.5
        Scale of the half-normal prior for the standard deviations of interactions, on the logit
        scale. A function from a name to a PyMC variable with the dim ``rate`` is another prior:
        ``lambda name: pm.HalfCauchy(name, 0.2, dims="rate")``.
    prevalence : float or array_like, shape (C,), optional
        Share of the positive class in the population of every cell, or the shares of all classes,
        if they are known. They replace the cells' own shares in ``theta``.
    smooth : str or sequence of str, optional
        Attributes with numeric labels that have a slope and a curve instead of separate levels. At
        least five values must be observed.

    Returns
    -------
    pymc.Model
        Free variables ``rates``, ``spread``, ``interaction``, and the standardised effects ``main``
        and ``effect``. Deterministic ``theta`` for each cell. Observed ``cell_counts``.

    Examples
    --------
    >>> import xarray as xr
    >>> cells = np.full((2, 3, 2, 2), 4)
    >>> counts = xr.DataArray(cells, dims=("sex", "age", "actual", "predicted"))
    >>> sorted(variable.name for variable in crossed_groups(counts).free_RVs)
    ['effect', 'interaction', 'main', 'rates', 'spread']
    """
    counts = _positive_last(counts.transpose(..., "actual", "predicted"))
    lead = counts.dims[:-2]
    coords = {dim: counts[dim].values for dim in counts.dims}
    labels = coords["actual"].tolist()
    coords["rate"], hits, rest = _rates(labels)
    smooth = (smooth,) if isinstance(smooth, str) else tuple(smooth)
    coords["attribute"], coords["attribute_level"], owner, design = _terms(counts, smooth)
    coords["cell"] = [f"{actual}->{predicted}" for actual in labels for predicted in labels]
    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        weight = pm.Data(
            "concentration", _pseudo_counts(concentration, counts), dims=("actual", "predicted")
        )
        middle = weight.reshape((-1,))
        rates = pm.Beta("rates", hits @ middle, rest @ middle, dims="rate")
        spread = _scale("spread", spread, ("attribute", "rate"))
        omega = _scale("interaction", interaction, ("rate",))
        main = pm.Normal("main", 0, 1, dims=("attribute_level", "rate"))
        effect = pm.Normal("effect", 0, 1, dims=(*lead, "rate"))

        sums = pm.math.dot(design, spread[owner] * main).reshape((*counts.shape[:-2], len(hits)))
        logits = pm.math.logit(rates) + sums + omega * effect
        flat = (*counts.shape[:-2], len(labels) ** 2)
        probability = _cells(logits, hits, rest)
        theta = probability
        if prevalence is not None:
            theta = _cells(_at_prevalence(logits, prevalence), hits, rest)
        pm.Deterministic("theta", theta.reshape(counts.shape), dims=counts.dims)
        cells = data.reshape(flat)
        pm.Multinomial(
            "cell_counts",
            n=cells.sum(-1).astype("int64"),
            p=probability,
            observed=cells,
            dims=(*lead, "cell"),
        )
    return model


def _terms(counts, smooth):
    """Return terms, columns, the term of each column, and the design matrix (cell, column)."""
    terms, names, owner, blocks = [], [], [], []
    for dim, level in zip(counts.dims, np.indices(counts.shape[:-2]), strict=False):
        size, labels = counts.sizes[dim], counts[dim].values.tolist()
        if dim in smooth:
            examples = counts.sum([other for other in counts.dims if other != dim]).values
            basis = _curve(np.asarray(labels, float), examples.astype(float))
            owner += [len(terms)] + [len(terms) + 1] * (basis.shape[1] - 1)
            terms += [dim, f"{dim} curve"]
            names += [dim, *(f"{dim} curve {column}" for column in range(1, basis.shape[1]))]
        else:
            basis = np.eye(size)
            owner += [len(terms)] * size
            terms.append(dim)
            names += [f"{dim}={label}" for label in labels]
        blocks.append(basis[level.ravel()])
    return terms, names, np.array(owner), np.concatenate(blocks, axis=1)


def _curve(levels, examples, most=6):
    """Return the columns of the slope and the curve (level, 1 + K) at numeric levels."""
    share = examples / examples.sum()
    middle = share @ levels
    z = (levels - middle) / np.sqrt(share @ (levels - middle) ** 2)
    with_examples = np.unique(z[examples > 0])
    knots = np.quantile(with_examples, np.linspace(0, 1, 1 + min(most, len(with_examples) - 2)))
    squares = np.maximum(z[:, None] - knots, 0) ** 2 / 2
    curve = squares[:, :-1] - squares[:, 1:]
    # The curve is orthogonal to a level and a slope, which have their own parameters.
    line = np.stack([np.ones_like(z), z], axis=1)
    curve = curve - line @ (line.T @ (share[:, None] * curve))
    curve /= np.sqrt(share @ (curve**2).sum(1))
    return np.concatenate([z[:, None], curve], axis=1)


def _rates(labels):
    """Return the names of the rates, and the cells (rate, C * C) that count for and against."""
    classes = len(labels)
    order = list(range(classes))[::-1]
    names, hits, rest = [], [], []
    for position, actual in enumerate(order[:-1]):
        names.append(f"{labels[actual]} of {classes - position} classes")
        hits.append([(actual, predicted) for predicted in order])
        rest.append([(other, predicted) for other in order[position + 1 :] for predicted in order])
    for actual in order:
        columns = [actual, *(other for other in order if other != actual)]
        for position, predicted in enumerate(columns[:-1]):
            names.append(f"{labels[actual]}->{labels[predicted]} of {classes - position}")
            hits.append([(actual, predicted)])
            rest.append([(actual, other) for other in columns[position + 1 :]])
    if classes == 2:
        names = ["prevalence", "recall", "specificity"]
    indicator = np.zeros((2, len(names), classes, classes))
    for of_side, cells_of_rates in zip(indicator, (hits, rest), strict=True):
        for of_rate, cells in zip(of_side, cells_of_rates, strict=True):
            of_rate[tuple(np.transpose(cells))] = 1
    return names, *indicator.reshape(2, len(names), -1)


def _cells(logits, hits, rest):
    """Return the cell probabilities (..., C * C) of logits (..., rate)."""
    right, wrong = (pm.math.log1pexp(sign * logits) for sign in (-1, 1))
    return pm.math.exp(-pm.math.dot(right, hits) - pm.math.dot(wrong, rest))


def _at_prevalence(logits, prevalence):
    """Return the logits with known class shares instead of the cells' own shares."""
    shares = np.array(prevalence, float)
    if shares.ndim == 0:
        shares = np.array([1 - shares, shares])
    log_odds = np.log(shares[1:] / np.cumsum(shares)[:-1])[::-1]
    return pm.math.concatenate(
        [logits[..., : len(log_odds)] * 0 + log_odds, logits[..., len(log_odds) :]], -1
    )


def _scale(name, scale, dims):
    if callable(scale):
        return scale(name)
    return pm.HalfNormal(name, pm.Data(f"{name}_scale", float(scale)), dims=dims)


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts of the cells, in the order of the counts."""
    classes = counts.sizes["actual"]
    shape = classes, classes
    if concentration is None:
        concentration = 2 / classes**2
    if hasattr(concentration, "dims"):
        labels = {dim: counts[dim] for dim in ("actual", "predicted")}
        concentration = concentration.sel(labels).transpose("actual", "predicted").values
    return np.broadcast_to(np.asarray(concentration, float), shape).copy()


def _is_positive(counts):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    if "positive" not in counts.coords:
        return np.zeros(counts.sizes["actual"])
    labels = counts["actual"].values
    return (labels == counts.coords["positive"].values).astype(float)


def _positive_last(counts):
    """Return the counts with the positive class last, if there are two classes."""
    if counts.sizes["actual"] == 2 and _is_positive(counts)[0]:
        return counts.isel(actual=[1, 0], predicted=[1, 0])
    return counts
