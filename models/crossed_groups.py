r"""Several attributes at once: sex by age by site, cells that borrow strength along each of them.

.. math::

    \mathrm{logit}\, r_c &= \mathrm{logit}\, r + \sum_a \tau_a u_{a, c_a} + \omega v_c, \quad
        u, v \sim \mathrm{N}(0, 1) \\
    \text{counts}_c \mid p_c, r_c, s_c &\sim \mathrm{Multinomial}(n_c, \theta_c)

for the recall :math:`r_c` of cell :math:`c`, that is, of one level :math:`c_a` of every attribute
:math:`a`; in the same way, with scales of its own, for the specificity :math:`s_c` and the
prevalence :math:`p_c`. The main effects of an attribute have a common scale :math:`\tau_a`; what
they leave over, the interactions, has the scale :math:`\omega`, one for each rate.

An attribute of numbers, such as age, may be ``smooth``: its main effect is then no jump from level
to level but :math:`\tau_a u_a z + \tau'_a \sum_k u_{a, k} b_k(z)`, a slope and a curve with a scale
each, :math:`z` being the standardised level. The curve's second derivative is constant between
knots and 0 beyond the values that were seen, where the effect goes on as a straight line.

Use it where examples are told apart by two attributes or more and many cells have few examples, or
none: a cell is drawn towards what the main effects say of it, the more the smaller it is. Do not
use it for one attribute (`hierarchical_groups`), nor where one attribute is nested in another, such
as patients in sites. Two classes only.

Limits: with :math:`\omega = 0` the cells are sums of main effects on the logit scale; with
:math:`\tau_a = 0` they are groups like any others, drawn towards one common mean.

Not conjugate; the direct sibling integrates the effects out by Laplace's method and quadrature and
corrects by importance weights. Non-centred.

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
    prevalence: float | None = None,
    smooth: str | Sequence[str] = (),
) -> pm.Model:
    """Model the confusion matrices of all cells of several attributes.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts of two classes, dims ``(..., actual, predicted)``; every leading dim is an attribute.
        A cell may be empty.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the cell in the middle, > 0, one number or ``(2, 2)``; by default .5.
    spread : float or callable, default 1
        Scale of the half-normal prior of the standard deviations of main effects, on the logit
        scale. A function from a name to a PyMC variable of the dims ``(attribute, rate)`` is
        another prior.
    interaction : float or callable, default 0.5
        The same for the interactions, of the dim ``rate``:
        ``lambda name: pm.HalfCauchy(name, 0.2, dims="rate")``.
    prevalence : float, optional
        Share of the positive class in the population of every cell, where it is known; it takes the
        place of the cells' own in ``theta``.
    smooth : str or sequence of str, optional
        Attributes whose labels are numbers, with slopes and curves instead of levels; five values
        or more were seen.

    Returns
    -------
    pymc.Model
        Free variables ``rates``, ``spread``, ``interaction``, and the standardised effects ``main``
        and ``effect``; ``theta`` of every cell; observed ``cell_counts``.

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
    coords["rate"] = ["prevalence", "recall", "specificity"]
    smooth = (smooth,) if isinstance(smooth, str) else tuple(smooth)
    coords["attribute"], coords["attribute_level"], owner, design = _terms(counts, smooth)
    labels = coords["actual"].tolist()
    coords["cell"] = [f"{actual}->{predicted}" for actual in labels for predicted in labels]
    with pm.Model(coords=coords) as model:
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        weight = pm.Data(
            "concentration", _pseudo_counts(concentration, counts), dims=("actual", "predicted")
        )
        hits = pm.math.stack([weight[1].sum(), weight[1, 1], weight[0, 0]])
        misses = pm.math.stack([weight[0].sum(), weight[1, 0], weight[0, 1]])
        rates = pm.Beta("rates", hits, misses, dims="rate")
        spread = _scale("spread", spread, ("attribute", "rate"))
        omega = _scale("interaction", interaction, ("rate",))
        main = pm.Normal("main", 0, 1, dims=("attribute_level", "rate"))
        effect = pm.Normal("effect", 0, 1, dims=(*lead, "rate"))

        sums = pm.math.dot(design, spread[owner] * main).reshape((*counts.shape[:-2], 3))
        logits = pm.math.logit(rates) + sums + omega * effect
        pm.Deterministic("theta", _table(logits, prevalence), dims=counts.dims)
        cells = data.reshape((*counts.shape[:-2], 4))
        pm.Multinomial(
            "cell_counts",
            n=cells.sum(-1).astype("int64"),
            p=_table(logits, None).reshape((*counts.shape[:-2], 4)),
            observed=cells,
            dims=(*lead, "cell"),
        )
    return model


def _terms(counts, smooth):
    """Return terms, columns, the term of each column, and the columns' values in every cell."""
    terms, names, owner, blocks = [], [], [], []
    for dim, place in zip(counts.dims, np.indices(counts.shape[:-2]), strict=False):
        size, levels = counts.sizes[dim], counts[dim].values.tolist()
        if dim in smooth:
            seen = counts.sum([each for each in counts.dims if each != dim]).values
            basis = _curve(np.asarray(levels, float), seen.astype(float))
            owner += [len(terms)] + [len(terms) + 1] * (basis.shape[1] - 1)
            terms += [dim, f"{dim} curve"]
            names += [dim, *(f"{dim} curve {each}" for each in range(1, basis.shape[1]))]
        else:
            basis = np.eye(size)
            owner += [len(terms)] * size
            terms.append(dim)
            names += [f"{dim}={level}" for level in levels]
        blocks.append(basis[place.ravel()])
    return terms, names, np.array(owner), np.concatenate(blocks, axis=1)


def _curve(levels, seen, most=6):
    """Return the slope and the curve (levels, 1 + K) of numbers, of which some were seen."""
    share = seen / seen.sum()
    middle = share @ levels
    z = (levels - middle) / np.sqrt(share @ (levels - middle) ** 2)
    known = np.unique(z[seen > 0])
    knots = np.quantile(known, np.linspace(0, 1, 1 + min(most, len(known) - 2)))
    squares = np.maximum(z[:, None] - knots, 0) ** 2 / 2
    curve = squares[:, :-1] - squares[:, 1:]
    # What a level and a slope say is not the curve's.
    line = np.stack([np.ones_like(z), z], axis=1)
    curve = curve - line @ (line.T @ (share[:, None] * curve))
    curve /= np.sqrt(share @ (curve**2).sum(1))
    return np.concatenate([z[:, None], curve], axis=1)


def _table(logits, prevalence):
    """Return the cell probabilities of logits (..., rate)."""
    yes, no = pm.math.sigmoid(logits), pm.math.sigmoid(-logits)
    share = yes[..., 0] if prevalence is None else prevalence
    rest = no[..., 0] if prevalence is None else 1 - prevalence
    well = pm.math.stack([rest * yes[..., 2], rest * no[..., 2]], axis=-1)
    sick = pm.math.stack([share * no[..., 1], share * yes[..., 1]], axis=-1)
    return pm.math.stack([well, sick], axis=-2)


def _scale(name, scale, dims):
    if callable(scale):
        return scale(name)
    return pm.HalfNormal(name, pm.Data(f"{name}_scale", float(scale)), dims=dims)


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts cell by cell, in the order of the counts."""
    if concentration is None:
        concentration = 0.5
    if hasattr(concentration, "dims"):
        labels = {dim: counts[dim] for dim in ("actual", "predicted")}
        concentration = concentration.sel(labels).transpose("actual", "predicted").values
    return np.broadcast_to(np.asarray(concentration, float), (2, 2)).copy()


def _is_positive(counts):
    """Return 1 for the positive class and 0 for the other; 0 throughout where none is set."""
    if "positive" not in counts.coords:
        return np.zeros(counts.sizes["actual"])
    labels = counts["actual"].values
    return (labels == counts.coords["positive"].values).astype(float)


def _positive_last(counts):
    """Return the counts with the positive class last, which the rates are about."""
    if _is_positive(counts)[0]:
        return counts.isel(actual=[1, 0], predicted=[1, 0])
    return counts
