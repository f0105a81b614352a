r"""Model for the confusion matrices of many groups that may include a few outliers.

The logit :math:`x_g` of each rate (prevalence, recall, specificity) of group g has the prior

.. math::

    \operatorname{logit}^{-1} m &\sim \mathrm{Beta}(\lambda, \lambda') \\
    \tau &\sim \tfrac12 \mathrm{HalfNormal}(\texttt{spread} / 25)
        + \tfrac12 \mathrm{HalfNormal}(\texttt{spread}) \\
    \omega &\sim \mathrm{Beta}(1, 9) \\
    x_g &\sim (1 - \omega)\, \mathrm{Normal}(m, \tau^2)
        + \tfrac{\omega}{2}\, \mathrm{Normal}(m - d, \tau^2 + d^2/4) \\
        &\qquad + \tfrac{\omega}{2}\, \mathrm{Normal}(m + d, \tau^2 + d^2/4) \\
    \text{counts}_g \mid x_g &\sim \mathrm{Multinomial}(n_g, \theta_g)

Each rate has its own :math:`m`, :math:`\tau` and :math:`\omega`. The cell probabilities
:math:`\theta_g` of the :math:`n_g` examples of group g follow from its three rates.

Parameters
----------
+-----------------+-------------------------------------+----------------------+-------------------+
| symbol          | meaning                             | prior                | keyword           |
+=================+=====================================+======================+===================+
| :math:`m`,      | rate of the typical group           | Beta(:math:`\lambda, | –                 |
| logit of        |                                     | \lambda'`) for the   |                   |
| ``rates``       |                                     | rate                 |                   |
+-----------------+-------------------------------------+----------------------+-------------------+
| :math:`\lambda, | prior pseudo-counts: sums of        | fixed, 0.5 for each  | ``concentration`` |
| \lambda'`       | ``concentration`` over the cells    | cell                 |                   |
|                 | that count for and against the rate |                      |                   |
+-----------------+-------------------------------------+----------------------+-------------------+
| :math:`\tau`,   | standard deviation between ordinary | equal mixture of     | ``spread=0.5``    |
| ``spread``      | groups, on the logit scale          | HalfNormal(0.02) and |                   |
|                 |                                     | HalfNormal(0.5), or  |                   |
|                 |                                     | a function           |                   |
+-----------------+-------------------------------------+----------------------+-------------------+
| :math:`\omega`, | share of groups that deviate        | Beta(1, 9)           | –                 |
| ``outlying``    |                                     |                      |                   |
+-----------------+-------------------------------------+----------------------+-------------------+
| :math:`d`       | typical distance of a deviating     | fixed, 1.2           | ``deviation=1.2`` |
|                 | group, up or down, on the logit     |                      |                   |
|                 | scale                               |                      |                   |
+-----------------+-------------------------------------+----------------------+-------------------+
| ``effect``,     | :math:`(x_g - m) / \tau` of the     | the mixture above    | –                 |
| ``effect_new``  | observed groups and of a new one    |                      |                   |
+-----------------+-------------------------------------+----------------------+-------------------+

When to use it
--------------
Use it to find out which groups deviate from the others and how far apart the groups are. It is the
default for `gap` and `worst_slices` with six or more groups.

When not to use it
------------------
* There are two to five groups: the data do not show whether most groups are alike. The narrow half
  of the prior then dominates, and intervals for a gap are too short.
* You summarise a meta-analysis: use `hierarchical_groups`. In this model the three rates deviate
  independently, but a threshold moves recall and specificity in opposite directions.
* There are more than two classes: use `hierarchical_groups`.

Estimands
---------
* ``theta``, ``of="parameter"`` or ``"population"``: the measure of the average matrix over the
  population of groups.
* ``theta_typical``, ``of="typical"``: the measure of the typical group.
* ``theta_group``, ``of="group"``: the measure of each observed group.
* ``theta_group``, ``of="finite"``: the mean of the measure over the observed groups.
* ``theta_new``, ``of="new"``: the measure of a new group.
* ``theta_new``, ``of="predictive"``: the measure on a test set of ``n`` examples of a new group.

Notes
-----
If no group deviates, the estimated :math:`\omega` is small, and groups are pooled as with normal
effects. A group that deviates is not shrunk towards the others, and it does not increase
:math:`\tau`. Deviations have a typical size :math:`d`, not a scale close to 0, so that few groups
suffice to detect one.

The narrow half of the prior for :math:`\tau` describes groups that are equal for all practical
purposes.

Special case: with :math:`\omega = 0` the model is `hierarchical_groups` without correlation, except
for the prior for the spread.

The model is not conjugate. The direct posterior integrates on a grid of logits. The PyMC model is
non-centred, and NUTS mixes slowly, especially for ``effect_new``: its tails widen as the spread
shrinks. With ``method="nuts"``, request many draws.

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
    """Model the confusion matrices of groups that may include a few outliers.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts of two classes, dims ``(..., group, actual, predicted)``. Each leading index is a
        separate collection of groups. A group may lack a class.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the typical group, > 0: one number or shape ``(2, 2)``. Default: 0.5.
    spread : float or callable, default 0.5
        Scale of the prior for the standard deviations between ordinary groups, on the logit scale.
        The prior is an equal mixture of half-normal distributions with this scale and with 1/25 of
        it. A function from a name to a PyMC variable with the dim ``rate`` is another prior:
        ``lambda name: pm.HalfCauchy(name, 0.5, dims="rate")``.
    deviation : float, default 1.2
        Typical distance of a deviating group from the typical group, on the logit scale. Distances
        vary with a standard deviation of half this value.
    prevalence : float, optional
        Share of the positive class in the population, if it is known. It replaces the groups' own
        prevalence in ``theta``, ``theta_typical``, ``theta_group`` and ``theta_new``.

    Returns
    -------
    pymc.Model
        Free variables ``rates``, ``spread``, ``outlying`` (the share of groups that deviate), and
        the effects ``effect`` and ``effect_new`` in units of the spread. Deterministic ``theta``,
        ``theta_typical``, ``theta_group`` and ``theta_new``. Observed ``cell_counts``.

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
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
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
        # The counts of a group follow the prevalence of this group, even if `prevalence` is known.
        theta = _table(logits, None)
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
    """Add effects in units of the spread, which may deviate up or down."""
    weights = pm.math.stack([1 - outlying, outlying / 2, outlying / 2], axis=-1)
    mu = pm.math.stack([0 * apart, -apart, apart], axis=-1)
    wide = pm.math.sqrt(1 + (apart / 2) ** 2)
    sigma = pm.math.stack([pm.math.ones_like(wide), wide, wide], axis=-1)
    return pm.NormalMixture(name, w=weights, mu=mu, sigma=sigma, dims=(*dims, "rate"))


def _average_over_groups(middle, spread, outlying, deviation, prevalence):
    """Return the cell probabilities averaged over the population, by Gauss-Hermite quadrature."""
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
    """Return the prior pseudo-counts of the cells, in the order of the counts."""
    if concentration is None:
        concentration = 0.5
    if hasattr(concentration, "dims"):
        labels = {dim: counts[dim] for dim in ("actual", "predicted")}
        concentration = concentration.sel(labels).transpose("actual", "predicted").values
    return np.broadcast_to(np.asarray(concentration, float), (2, 2)).copy()


def _is_positive(counts):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    if "positive" not in counts.coords:
        return np.zeros(counts.sizes["actual"])
    labels = counts["actual"].values
    return (labels == counts.coords["positive"].values).astype(float)


def _positive_last(counts):
    """Return the counts with the positive class last."""
    if _is_positive(counts)[0]:
        return counts.isel(actual=[1, 0], predicted=[1, 0])
    return counts
