r"""Slices, sites, patients: many groups, of which a few may be unlike all others.

Each of the three rates of a group (prevalence, recall, specificity) has a logit

.. math::

    x_g \sim (1 - \omega)\, \mathrm{N}(m, \tau^2)
        + \tfrac{\omega}{2}\, \mathrm{N}(m - d, \tau^2 + d^2/4)
        + \tfrac{\omega}{2}\, \mathrm{N}(m + d, \tau^2 + d^2/4)

around that of the typical group, :math:`m`. Most groups are alike, as far as :math:`\tau` says; a
share :math:`\omega \sim \mathrm{Beta}(1, 9)` deviates, by about ``deviation`` up or down on the
logit scale. Where no group does, the share is learned to be small, and the groups are pooled as by
normal effects; where one does, it is not drawn towards the others, nor does it make these look
unlike one another. That who deviates does so by much, and not by next to nothing, is what tells the
two apart early. Half of the prior of :math:`\tau` is narrow, a half-normal distribution of scale
``spread / 25``, and says that groups are equal for all that one could ever see; the other half has
the scale ``spread``.

Use it to find out which groups are bad and how far they are apart; it is the default of `gap` and
`worst_slices` for six or more groups. Fewer do not show whether most are alike: with two to five,
the narrow half of the prior decides, and intervals of a gap are too short.
``theta`` is the average over all groups there may be, ``theta_typical`` the group in the middle,
``theta_new`` a group not seen yet, ``theta_group`` each one at hand. The three rates
deviate independently of each other: for the summary of a meta-analysis, where a threshold moves
recall and specificity in opposite directions, take `hierarchical_groups`. Two classes.

Limit: a share of 0 is `hierarchical_groups` without correlation, but for the prior of the spread.

Not conjugate; the direct posterior integrates on a grid of logits. Non-centred. Chains of NUTS mix
slowly here (above all ``effect_new``: its tails are as wide as the spread is small), so that a fit
by ``method="nuts"`` needs many draws; the direct posterior needs none.

References
----------
Beath, K. J. (2014). A finite mixture method for outlier detection and robustness in meta-analysis.
Research Synthesis Methods 5, 285-293. doi:10.1002/jrsm.1114

Baker, R. & Jackson, D. (2008). A new approach to outliers in meta-analysis. Health Care Management
Science 11, 121-131. doi:10.1007/s10729-007-9041-8
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def robust_groups(
    counts: xr.DataArray,
    *,
    concentration: ArrayLike | None = None,
    spread: float | Callable = 0.5,
    deviation: float = 1.2,
    prevalence: float | None = None,
) -> pm.Model:
    """Model the confusion matrices of groups of which a few may be unlike all others.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts of two classes, dims ``(..., group, actual, predicted)``; each leading index is a
        collection of groups of its own. A group may lack a class.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the typical group, > 0, one number or ``(2, 2)``; by default .5.
    spread : float or callable, default 0.5
        Scale of the half-normal prior of the standard deviations between groups that do not
        deviate, on the logit scale; half of the prior has a scale of one 25th of it. A function
        from a name to a PyMC variable of the dim ``rate`` is another prior:
        ``lambda name: pm.HalfCauchy(name, 0.5, dims="rate")``.
    deviation : float, default 1.2
        How far a group that deviates lies, up or down, on the logit scale; half of it more or less.
    prevalence : float, optional
        Share of the positive class in the population, where it is known; it takes the place of the
        groups' own in ``theta`` and all its like.

    Returns
    -------
    pymc.Model
        Free variables ``rates``, ``spread``, ``outlying`` (the share of groups that deviate), and
        the standardised effects ``effect`` and ``effect_new``; ``theta``, ``theta_typical``,
        ``theta_group``, ``theta_new``; observed ``cell_counts``.

    Examples
    --------
    >>> import xarray as xr
    >>> dims = ("group", "actual", "predicted")
    >>> counts = xr.DataArray([[[40, 10], [5, 45]], [[30, 20], [9, 41]]], dims=dims)
    >>> sorted(variable.name for variable in robust_groups(counts).free_RVs)
    ['effect', 'effect_new', 'outlying', 'rates', 'spread']
    """
    counts = _positive_last(counts.transpose(..., "group", "actual", "predicted"))
    lead = counts.dims[:-3]
    coords = {dim: counts[dim].values for dim in counts.dims}
    coords["rate"] = ["prevalence", "recall", "specificity"]
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
        rates = pm.Beta("rates", hits, misses, dims=(*lead, "rate"))
        spread = _spread(spread, (*lead, "rate"))
        outlying = pm.Beta("outlying", 1, 9, dims=(*lead, "rate"))
        apart = deviation / spread
        effect = _effects("effect", outlying[..., None, :], apart[..., None, :], (*lead, "group"))
        new = _effects("effect_new", outlying, apart, lead)

        middle = pm.math.logit(rates)
        dims = (*lead, "actual", "predicted")
        average = _average_over_groups(middle, spread, outlying, deviation, prevalence)
        pm.Deterministic("theta", average, dims=dims)
        pm.Deterministic("theta_typical", _table(middle, prevalence), dims=dims)
        pm.Deterministic("theta_new", _table(middle + spread * new, prevalence), dims=dims)
        logits = middle[..., None, :] + spread[..., None, :] * effect
        pm.Deterministic("theta_group", _table(logits, prevalence), dims=counts.dims)
        theta = _table(logits, None)  # the examples of a group show its own prevalence
        cells = data.reshape((*counts.shape[:-2], 4))
        pm.Multinomial(
            "cell_counts",
            n=cells.sum(-1).astype("int64"),
            p=theta.reshape((*counts.shape[:-2], 4)),
            observed=cells,
            dims=(*lead, "group", "cell"),
        )
    return model


def _effects(name, outlying, apart, dims):
    """Add effects in units of the spread: a few of them lie apart, up or down."""
    weights = pm.math.stack([1 - outlying, outlying / 2, outlying / 2], axis=-1)
    mu = pm.math.stack([0 * apart, -apart, apart], axis=-1)
    wide = pm.math.sqrt(1 + (apart / 2) ** 2)
    sigma = pm.math.stack([pm.math.ones_like(wide), wide, wide], axis=-1)
    return pm.NormalMixture(name, w=weights, mu=mu, sigma=sigma, dims=(*dims, "rate"))


def _average_over_groups(middle, spread, outlying, deviation, prevalence):
    """Return the cell probabilities averaged over all groups, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    weights = weights / weights.sum()
    wide = pm.math.sqrt(spread**2 + (deviation / 2) ** 2)

    def rates(sign):
        alike, down, up = (
            pm.math.sigmoid(sign * ((middle + off)[..., None] + scale[..., None] * nodes)) @ weights
            for off, scale in ((0, spread), (-deviation, wide), (deviation, wide))
        )
        return (1 - outlying) * alike + outlying * (down + up) / 2

    return _cells(rates(1), rates(-1), prevalence)


def _table(logits, prevalence):
    """Return the cell probabilities of logits (..., rate)."""
    return _cells(pm.math.sigmoid(logits), pm.math.sigmoid(-logits), prevalence)


def _cells(rates, complements, prevalence):
    """Return the cell probabilities of rates (..., rate) and their complements."""
    positive = rates[..., 0] if prevalence is None else prevalence
    negative = complements[..., 0] if prevalence is None else 1 - prevalence
    tn, fp = negative * rates[..., 2], negative * complements[..., 2]
    fn, tp = positive * complements[..., 1], positive * rates[..., 1]
    rows = [pm.math.stack(row, axis=-1) for row in ((tn, fp), (fn, tp))]
    return pm.math.stack(rows, axis=-2)


def _spread(spread, dims):
    if callable(spread):
        prior = spread("spread")
        if not prior.ndim:
            needed = f"the prior of spread needs the dim {dims[-1]!r}: one spread for each"
            raise ValueError(f"{needed}. Pass dims={dims[-1]!r} to its distribution.")
        return prior
    scale = pm.Data("spread_scale", float(spread))
    alike, apart = pm.HalfNormal.dist(scale / 25), pm.HalfNormal.dist(scale)
    return pm.Mixture("spread", w=[0.5, 0.5], comp_dists=[alike, apart], dims=dims)


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
