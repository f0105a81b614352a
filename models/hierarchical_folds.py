r"""Model for the folds of a cross-validation, partially pooled, with common effects of training.

.. math::

    r_i &\sim \mathrm{Dirichlet}(\lambda_i), \qquad
        \tau \sim \mathrm{HalfStudentT}_2(\texttt{spread} \, u_T^{2/3}) \\
    \sigma_j &= \tau / (u \sqrt{n_j}), \qquad \sigma_a = \texttt{separation} \, u_T \\
    c_j &\sim \mathrm{Normal}(0, \rho_c \sigma_j^2 + \epsilon_j), \qquad
        c_{kj} \sim \mathrm{Normal}(0, (1 - \rho_c) \sigma_j^2) \\
    a &\sim \mathrm{Normal}(0, \rho_a \sigma_a^2), \qquad
        a_k \sim \mathrm{Normal}(0, (1 - \rho_a) \sigma_a^2) \\
    \eta_{kij} &= \log r_{ij} + c_j + c_{kj} + (a + a_k)\,[i = j] \\
    \text{counts}_{ki} \mid \eta &\sim \mathrm{Multinomial}(n_{ki}, \mathrm{softmax}(\eta_{ki}))

Fold k has :math:`n_{ki}` test examples of class i, :math:`n_i` in all folds, and K is the number of
folds. Row :math:`r_i` contains the probabilities of the predicted labels j of a typical trained
classifier. A training set changes it in two ways:

* It moves the *threshold* (:math:`c_j + c_{kj}`): label j is predicted more often for all classes,
  so that the rates move along the ROC curve.
* It changes the *separation* (:math:`a + a_k`): all classes become easier or harder.

The units are :math:`u^2 = 2\, \mathrm{median}(1 / n_j)` and :math:`u_T = f u`. The factor f is 1
unless training sets are smaller than all folds but one (``train_size``).

Parameters
----------
+---------------------+------------------------+-------------------------------+-------------------+
| symbol              | meaning                | prior                         | keyword           |
+=====================+========================+===============================+===================+
| :math:`r_i`,        | rates of a typical     | Dirichlet(:math:`\lambda_i`)  | –                 |
| ``rates``           | trained classifier     |                               |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`\lambda_i`,  | prior pseudo-counts of | fixed, :math:`2 / C^2` for    | ``concentration`` |
| ``concentration``   | row i                  | each cell of C classes        |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`\tau`,       | standard deviation of  | half-Student-t, 2 degrees of  | ``spread=0.3``    |
| ``spread``          | the thresholds between | freedom, scale :math:`0.3\,   |                   |
|                     | training sets          | u_T^{2/3}`, or a function     |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`\sigma_a`    | standard deviation of  | fixed at :math:`u_T`, or a    | ``separation=1``  |
|                     | the separations        | function,                     |                   |
|                     | between training sets  | ``separation_spread``         |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`c_j`,        | standardised           | Normal(0, sd 1)               | –                 |
| ``threshold``       | thresholds common to   |                               |                   |
|                     | all folds              |                               |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`c_{kj}`,     | standardised           | Normal(0, sd 1)               | –                 |
| ``threshold_fold``  | thresholds of fold k   |                               |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`a`,          | standardised           | Normal(0, sd 1)               | –                 |
| ``separation``      | separation common to   |                               |                   |
|                     | all folds              |                               |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`a_k`,        | standardised           | Normal(0, sd 1)               | –                 |
| ``separation_fold`` | separation of fold k   |                               |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`\rho_c`,     | share of the variance  | fixed, 0.4; with halves       | ``rho``           |
| ``rho``             | of thresholds that all | Uniform(0, 1),                |                   |
|                     | folds have in common   | ``rho_threshold``             |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`\rho_a`,     | the same for           | fixed, 1 minus the proportion | ``rho``           |
| ``rho``             | separations            | of tested examples, :math:`1  |                   |
|                     |                        | - 1 / K`                      |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| :math:`\epsilon_j`  | variance from random   | 0 if they are fixed, else     | ``fixed_totals``  |
|                     | class totals           | :math:`1 / n_j`               |                   |
+---------------------+------------------------+-------------------------------+-------------------+
| ``prevalence``      | shares of the classes  | known: the sample's shares.   | ``prevalence``    |
|                     |                        | If totals are random,         |                   |
|                     |                        | Dirichlet(:math:`\lambda_{i+} |                   |
|                     |                        | + n_i`)                       |                   |
+---------------------+------------------------+-------------------------------+-------------------+

When to use it
--------------
Use it for the folds of a single or repeated cross-validation, to estimate the performance of a
classifier that is trained in this way.

When not to use it
------------------
* Several classifiers on the same folds are compared: use `paired_folds`.
* The groups are sites or patients, not folds: use `hierarchical_groups`.
* You need published intervals for comparison: use `pooled_folds` or `averaged_folds`.

Estimands
---------
* ``theta_expected``, ``of="parameter"``: the mean of the measure over training sets of this size.
  It is the mean over the dimension ``training``, with equal weights.
* ``theta_fold``, ``of="finite"``: the mean of the measure over the trained classifiers of these
  folds, without the random variation of their test examples.
* ``theta_fold``, ``of="fold"``: the measure of each of these classifiers.
* ``theta_new``, ``of="predictive"``: the measure of a newly trained classifier on ``n`` test
  examples.

Notes
-----
**Why the common effects have fixed sizes.** Folds share training data or examples. No single
cross-validation shows how much this moves all of them together (Bengio and Grandvalet 2004).
Intervals that ignore these effects are too short. The common separation :math:`a` represents luck
in the sampling of the examples, which makes all classifiers look better or worse than they are. It
is therefore part of the likelihood but not of ``theta_fold``.

**Units.** With two classes, :math:`u^2 = 1/n_1 + 1/n_0` is the variance of a log ratio of class
totals. A threshold adds to the logit of the recall and subtracts from the logit of the specificity.
A separation adds to both. Training sets move a smooth learner by an amount of order :math:`u`. They
move a learner with hard choices, such as the splits of a tree, by an amount of order
:math:`u^{2/3}` (cube-root asymptotics, Bühlmann and Yu 2002). With more classes, the median
prevents one tiny class from determining u.

**Class totals.** By default, they are treated as fixed by stratification: rows, not cells, are
modelled, and the measure is for a population with the composition of the sample. If the coordinate
``fixed_totals`` is False, the class shares are unknown, and the random totals move the threshold by
:math:`\epsilon_j`.

**Examples in groups.** With the coordinates ``design_effect`` and ``totals_effect``, the likelihood
is raised to the power 1 / ``design_effect``. The design effect also divides the class totals in
:math:`u` and :math:`\sigma_j`. ``totals_effect`` divides the totals in :math:`\epsilon_j` and in
the prior for the prevalence.

**The centre.** The posterior of :math:`r` already contains the effects that the folds have in
common and the mean of the separate effects. If ``theta_expected`` also used the full variance of
these effects, they would be counted twice, and the expected measure would be too low if folds
differ much. The variance that the posterior of :math:`r` contains is therefore subtracted
`CENTRING` times. To second order, the posterior mean is then the mean of the measure over the
folds.

**Repeats** test the same examples again. The likelihood is raised to the power :math:`\omega`
(`repeat_weight`), so that all repeats together are weighted as the number of examples that their
agreement implies. Each repeat also trains new classifiers, which shows the spread of the
thresholds. The power would hide this information, so it is added as one more observation. This is
the variance, over the folds of a repeat, of the number of predictions j, summed over j and averaged
over the repeats:

.. math::

    V \sim \mathrm{Gamma}\left(\frac{\nu}{2}, \frac{\nu}{2 m}\right), \qquad
    m = \mathrm{tr}\, S + \sum_{jl} (1 - \rho_c) \sigma_l^2 S_{jl}^2, \qquad
    \nu = R (K - 1) \frac{(\mathrm{tr}\, S)^2}{\sum_{jl} S_{jl}^2}.

S is the multinomial covariance of these numbers at the observed rates, R the number of repeats, and
K the number of folds of one repeat.

**Halves.** Disjoint halves share no training data, so they show effects that the folds have in
common. Their variance is one more observation of the same form, with the covariance of a half. In
m, :math:`0.6 \sigma_l^2 + 3 / n_l` replaces :math:`(1 - \rho_c) \sigma_l^2`. For R halvings,
:math:`\nu` is divided by :math:`1 + (R - 1) / 20`. The scale of the spread is then 0.8,
:math:`\rho_c` is unknown, and :math:`\sigma_a^2 = (0.8\, u_T)^2 + 0.04\, \tau^2`.

**Constants.** The comment at each constant says whether it is derived, measured or tuned.
Measurements are in ``docs/background/hierarchical-folds.md`` and ``docs/background/halves.md``.

The model is not conjugate. The direct posterior is a quadrature. The PyMC model is non-centred. If
the likelihood is raised to a power, the tree returned by ``bayescm.fit`` contains no log
likelihood.

References
----------
Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning, 52,
239-281. doi:10.1023/A:1024068626366

Bühlmann, P. & Yu, B. (2002). Analyzing bagging. Annals of Statistics, 30, 927-961.
doi:10.1214/aos/1031689014

Bengio, Y. & Grandvalet, Y. (2004). No unbiased estimator of the variance of K-fold
cross-validation. Journal of Machine Learning Research, 5, 1089-1105.
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike

# bayescm/posteriors/hierarchical_folds.py contains copies of these constants, and
# models/paired_folds.py contains copies of the constants that it uses. A test compares them.

# Derived. The posterior of the rates already contains a part of the variance of the effects of
# training. This part is subtracted from the full variance, CENTRING times. Let f'' be the second
# derivative of the measure. The measure at the rates of the folds exceeds the measure at the
# typical rates by f'' / 2 times this part. Averaging over the posterior adds the same amount again,
# so the part is subtracted twice.
CENTRING = 2.0

# Measured on about fifty combinations of learner, data set, size and number of folds
# (docs/background/one-cross-validation.md). Standard deviation of the separations, in units of u.
# The variance beyond the binomial variance is 0.2 to 1.3 u**2 and hardly depends on the learner.
SEPARATION = 1.0
# Measured with halves (docs/background/halves.md). Variance of the thresholds at half the size of
# the data, relative to the variance at the full size.
HALF_RATE = 0.6
# Measured with halves. Further variance between halves beyond the binomial variance, in units of
# 1 / n_j. It is positive because lucky examples in one half are missing in the other.
HALF_NOISE = 3.0

# The next two constants were tuned on coverage, as one compromise over the 27 cases of Wang and Li
# (docs/results/folds.csv) and 19 others (docs/background/hierarchical-folds.md).
# Scale of the spread of the thresholds, in units of u**(2/3). Its half-Student-t prior has 2
# degrees of freedom (``nu=2``), which were preferred to 4 with a larger scale on the same and
# further cases.
SPREAD = 0.3
# Share of the variance of the thresholds that all folds have in common.
THRESHOLD_RHO = 0.4
# The next three constants were tuned on further cases (docs/background/hierarchical-folds.md). They
# describe the variance of the separation over repeats, in units of its binomial variance.
# Mean of its prior.
DISAGREEMENT = 0.4
# Weight of this prior, as a number of repeats.
PRIOR_REPEATS = 4
# Largest value used, so that repeats are never treated as independent test sets.
MOST_DISAGREEMENT = 0.9
# The next four constants were tuned on coverage with halves (docs/background/halves.md).
# Scale of the spread of the thresholds with halves, in units of u**(2/3).
SPREAD_WITH_HALVES = 0.8
# Standard deviation of the separations with halves, in units of u, before the next term is added.
SEPARATION_WITH_HALVES = 0.8
# Share of the variance of the thresholds that is added to the variance of the separations.
SEPARATION_OF_SPREAD = 0.04
# Many halvings of one sample are weighted as at most this number of independent samples.
HALF_REPEATS = 20.0

# Numerical. Smallest variance between folds, relative to the variance for equal classifiers. Folds
# with equal counts have variance 0, at which a scaled chi-squared density is infinite or zero.
LEAST_VARIANCE = 1e-3


def hierarchical_folds(
    counts: xr.DataArray,
    *,
    concentration: ArrayLike | None = None,
    spread: float | Callable | None = None,
    separation: float | Callable | None = None,
    rho: float | None = None,
    fixed_totals: bool | None = None,
    prevalence: ArrayLike | Callable | None = None,
    halves: xr.DataArray | None = None,
) -> pm.Model:
    """Model the confusion matrices of the folds of one cross-validation, or of its repeats.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., [repeat,] fold, actual, predicted)``. Each further leading index is a
        separate cross-validation. Optional scalar coordinates: ``test_share``, ``train_size`` and
        ``fixed_totals``.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the typical rates, > 0: one number or shape ``(C, C)``. Default:
        ``2 / C**2``.
    spread : float or callable, optional
        Spread of the thresholds between training sets. A number is the scale of its half-Student-t
        prior with 2 degrees of freedom, in units of u^(2/3). Default: 0.3, or 0.8 with halves. A
        function from a name to a PyMC variable is another prior, on the logit scale:
        ``lambda name: pm.HalfNormal(name, 0.25)``.
    separation : float or callable, optional
        Spread of the separations. A number is the spread itself, in units of u. Default: 1, or at
        least 0.8 with halves. A function from a name to a PyMC variable is a prior, on the logit
        scale.
    rho : float, optional
        Correlation between folds of the effects of training, in [0, 1). Default: 0.4 for the
        threshold (unknown with halves), and 1 minus the test share for the separation.
    fixed_totals : bool, optional
        Whether the design fixed the class totals. Default: the coordinate of `counts`, else True.
    prevalence : float, array_like or callable, optional
        Share of each actual class, as in `fixed_totals`. A single number is the share of the last
        of two classes.
    halves : xarray.DataArray, optional
        Counts of classifiers trained on disjoint halves, each tested on the other half, dims
        ``(..., repeat, half, actual, predicted)``.

    Returns
    -------
    pymc.Model
        Free variables ``rates`` ``(..., actual, predicted)``, ``spread``, and the standardised
        effects ``threshold``, ``threshold_fold``, ``separation`` and ``separation_fold``. With
        halves also ``rho_threshold``. Deterministic ``theta_fold``, ``theta_new`` and
        ``theta_expected``. Observed ``cell_counts``, ``fold_variance`` with repeats, and
        ``half_variance`` with halves.

    Examples
    --------
    >>> import xarray as xr
    >>> dims = ("fold", "actual", "predicted")
    >>> counts = xr.DataArray([[[9, 1], [3, 7]], [[8, 2], [4, 6]], [[10, 0], [5, 5]]], dims=dims)
    >>> model = hierarchical_folds(counts, spread=lambda name: pm.HalfNormal(name, 0.25))
    >>> sorted(variable.name for variable in model.free_RVs)[:3]
    ['rates', 'separation', 'separation_fold']
    """
    counts, repeats = _in_one_row(counts)
    *lead, _, actual, predicted = counts.dims
    classes = counts.sizes["actual"]
    coords = {dim: counts[dim].values for dim in counts.dims}
    coords["training"] = np.arange(2 * classes + 2)

    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        weight = _pseudo_counts(concentration, counts.isel(fold=0))
        weight = pm.Data("concentration", weight, dims=(*lead, actual, predicted))
        effect, of_totals = _effects(counts)
        totals = data.sum((-3, -1)) / repeats
        drawn, totals = totals / of_totals, totals / effect[..., None]
        error = 1 / pm.math.sqrt(pm.math.maximum(totals, 1))
        unit = pm.math.sqrt(2 * _median(error**2, classes))
        unit_of_training = _of_training(counts, repeats) * unit
        luck = 0 if _fixed(fixed_totals, counts) else 1 / pm.math.maximum(drawn, 1)
        shares = _shares(
            prevalence, counts, drawn, None if _fixed(fixed_totals, counts) else weight
        )

        rates = pm.Dirichlet("rates", weight, dims=(*lead, actual, predicted))
        if halves is not None:
            spread = SPREAD_WITH_HALVES if spread is None else spread
            separation = SEPARATION_WITH_HALVES if separation is None else separation
        threshold_sd, separation_sd = _spreads(
            spread, separation, error, unit, unit_of_training, lead
        )
        correlation = pm.Data("rho", _correlations(rho, counts, repeats))
        rho_c, rho_a = correlation[0] * pm.math.ones_like(threshold_sd), correlation[1]
        if halves is not None:
            rho_c = pm.Uniform("rho_threshold", 0, 1, dims=lead)[..., None]
            separation_sd = pm.math.sqrt(
                separation_sd**2 + SEPARATION_OF_SPREAD * model["spread"] ** 2
            )
            _observe_halves(halves, threshold_sd**2, error, effect, lead)
        common_threshold = pm.math.sqrt(rho_c * threshold_sd**2 + luck) * pm.Normal(
            "threshold", dims=(*lead, predicted)
        )
        threshold_of_fold = (pm.math.sqrt(1 - rho_c) * threshold_sd)[..., None, :] * pm.Normal(
            "threshold_fold", dims=(*lead, "fold", predicted)
        )
        common_separation = pm.math.sqrt(rho_a) * separation_sd * pm.Normal("separation", dims=lead)
        separation_of_fold = (
            pm.math.sqrt(1 - rho_a)
            * separation_sd[..., None]
            * pm.Normal("separation_fold", dims=(*lead, "fold"))
        )
        rates_fold = _moved(
            rates, common_threshold[..., None, :] + threshold_of_fold, separation_of_fold, classes
        )
        luck_of_tests = common_separation[..., None, None, None] * np.eye(classes)
        tested = pm.math.softmax(pm.math.log(rates_fold) + luck_of_tests, axis=-1)
        if repeats > 1 or (effect != 1).any():
            effective = counts.values / effect[..., None, None, None]
            power = (repeat_weight(effective, repeats) if repeats > 1 else 1) / effect
            _observe_discounted(data, tested, power, counts.dims)
        else:
            n = data.sum(-1).astype("int64")
            pm.Multinomial("cell_counts", n=n, p=tested, observed=data, dims=counts.dims)
        if repeats > 1:
            _observe_variance((1 - rho_c) * threshold_sd**2, effective, repeats, lead)

        total_variance = threshold_sd**2 + luck, separation_sd**2
        share = (
            rho_c + (1 - rho_c) / counts.sizes["fold"],
            rho_a + (1 - rho_a) / counts.sizes["fold"],
        )
        centred = (
            threshold_sd**2 * (1 - CENTRING * share[0]) + (1 - CENTRING) * luck,
            separation_sd**2 * (1 - CENTRING * share[1]),
        )
        parts = {"fold": rates_fold, "new": _trained(rates, *total_variance, classes)}
        parts["expected"] = _trained(rates, *centred, classes)
        for name, rates_of_part in parts.items():
            dims = (*lead, "fold" if name == "fold" else "training", actual, predicted)
            pm.Deterministic(f"theta_{name}", shares[..., None, :, None] * rates_of_part, dims=dims)
    return model


def _moved(rates, columns, diagonal, classes):
    """Return the rates after the effects of training, with one more axis before the last two."""
    effects = columns[..., None, :] + diagonal[..., None, None] * np.eye(classes)
    return pm.math.softmax(pm.math.log(rates)[..., None, :, :] + effects, axis=-1)


def _median(values, classes):
    """Return the median over the classes, which a single tiny class hardly changes."""
    ordered = pm.math.sort(values, axis=-1)
    return (ordered[..., (classes - 1) // 2] + ordered[..., classes // 2]) / 2


def _observe_halves(halves, column, error, effect, lead):
    """Add the variance between disjoint halves, which informs the spread of the thresholds."""
    halves = halves.transpose(*lead, "repeat", "half", "actual", "predicted")
    repeats = halves.sizes["repeat"]
    cells = halves.values.reshape(*halves.shape[:-4], -1, *halves.shape[-2:])
    effective = cells / effect[..., None, None, None]
    variance, covariance, degrees = fold_variance(effective, repeats)
    covariance = pm.Data("half_covariance", covariance)
    degrees = pm.Data("half_degrees", degrees / (1 + (repeats - 1) / HALF_REPEATS))
    trace = (covariance * np.eye(cells.shape[-1])).sum((-2, -1))
    between = HALF_RATE * column + HALF_NOISE * error**2
    mean = trace + (between * (covariance**2).sum(-2)).sum(-1)
    pm.Gamma(
        "half_variance", degrees / 2, degrees / (2 * mean), observed=variance, dims=lead or None
    )


def _trained(rates, columns, diagonal, classes):
    """Return the rates of equally weighted training sets, for these variances of the effects."""
    nodes = np.sqrt(classes + 1) * np.concatenate([np.eye(classes + 1), -np.eye(classes + 1)])
    columns, diagonal = (
        pm.math.sqrt(pm.math.maximum(variance, 0)) for variance in (columns, diagonal)
    )
    new = columns[..., None, :] * nodes[:, 1:]
    return _moved(rates, new, diagonal[..., None] * nodes[:, 0], classes)


def _spreads(spread, separation, error, unit, unit_of_training, lead):
    """Return the sd of the thresholds (..., C) and of the separation, on the logit scale."""
    if callable(spread):
        threshold_sd = spread("spread")
    else:
        scale = pm.Data("spread_scale", float(SPREAD if spread is None else spread))
        threshold_sd = pm.HalfStudentT(
            "spread", nu=2, sigma=scale * unit_of_training ** (2 / 3), dims=lead
        )
    if callable(separation):
        separation_sd = separation("separation_spread") * pm.math.ones_like(unit)
    else:
        separation_sd = pm.Data(
            "separation_scale", float(SEPARATION if separation is None else separation)
        )
        separation_sd = separation_sd * unit_of_training
    return error * (threshold_sd / unit)[..., None], separation_sd


def _observe_discounted(data, rates, power, dims):
    """Add a power of the likelihood, for repeats and for examples in groups."""
    n = data.sum(-1).astype("int64")
    omega = pm.Data("omega", power, dims=dims[:-3])
    pm.CustomDist(
        "cell_counts",
        n,
        rates,
        omega[..., None, None] * pm.math.ones_like(n),
        logp=lambda value, n, p, power: power * pm.logp(pm.Multinomial.dist(n=n, p=p), value),
        dist=lambda n, p, power, size=None: pm.Multinomial.dist(n=n, p=p, size=size),
        signature="(),(k),()->(k)",
        dtype="int64",
        observed=data,
        dims=dims,
    )


def _observe_variance(fold_variances, cells, repeats, lead):
    """Add the variance between folds within repeats, which informs the spread of thresholds."""
    variance, covariance, degrees = fold_variance(cells, repeats)
    covariance = pm.Data("fold_covariance", covariance)
    degrees = pm.Data("fold_degrees", degrees)
    trace = (covariance * np.eye(cells.shape[-1])).sum((-2, -1))
    mean = trace + (fold_variances * (covariance**2).sum(-2)).sum(-1)
    rate = degrees / (2 * mean)
    pm.Gamma("fold_variance", degrees / 2, rate, observed=variance, dims=lead or None)


def fold_variance(cells, repeats):
    """Return the variance over the folds of the numbers of predictions, and its distribution.

    The variance is summed over the classes, shape (...). The covariance of these numbers, for
    equal classifiers, has the shape (..., C, C). The degrees of freedom have the shape (...).
    """
    tables = cells.reshape(*cells.shape[:-3], repeats, -1, *cells.shape[-2:]).astype(float)
    folds, classes = tables.shape[-3], tables.shape[-1]
    pooled = tables.sum(-3)
    rates = pooled / np.maximum(pooled.sum(-1, keepdims=True), 1)
    gap = tables.sum(-2) - np.einsum("...ki,...ij->...kj", tables.sum(-1), rates)
    variance = (gap**2).sum((-3, -2, -1)) / (repeats * (folds - 1))
    total = pooled.sum(-3)
    size = total.sum(-1, keepdims=True)
    rates = (total + 0.5) / (size + classes / 2)
    size = size / (repeats * folds)
    outer = np.einsum("...ij,...il->...jl", size * rates, rates)
    covariance = (size * rates).sum(-2)[..., None, :] * np.eye(classes) - outer
    trace = np.trace(covariance, axis1=-2, axis2=-1)
    degrees = repeats * (folds - 1) * trace**2 / (covariance**2).sum((-2, -1))
    return np.maximum(variance, LEAST_VARIANCE * trace), covariance, degrees


def repeat_weight(cells, repeats):
    """Return the power of the likelihood of repeated cross-validations, shape (...).

    Repeats that agree are together weighted as one repeat. Repeats that differ as much as
    independent test sets are weighted as independent test sets. The power in between is estimated
    from the mean logit of the rates, which a threshold does not change. Its variance over the
    repeats, in units of its binomial variance, has a weak prior with mean `DISAGREEMENT`.
    """
    tables = cells.reshape(*cells.shape[:-3], repeats, -1, *cells.shape[-2:]).sum(-3)
    n, right = tables.sum(-1), np.diagonal(tables, axis1=-2, axis2=-1)
    easy = np.log((right + 0.5) / (n - right + 0.5)).mean(-1)
    typical = (right.mean(-2) + 0.5) / (n.mean(-2) + 1)
    error = (1 / (n.mean(-2) * typical * (1 - typical))).mean(-1) / n.shape[-1]
    observed = repeats * easy.var(-1) / error
    ratio = (PRIOR_REPEATS * DISAGREEMENT + observed) / (PRIOR_REPEATS + repeats - 1)
    return 1 / (repeats * (1 - np.minimum(ratio, MOST_DISAGREEMENT) * (1 - 1 / repeats)))


def _in_one_row(counts):
    """Return the counts with the folds of all repeats in one row, and the number of repeats."""
    if "repeat" in counts.dims:
        repeats = counts.sizes["repeat"]
        row = counts.stack(every=("repeat", "fold"), create_index=False)
        row = row.drop_vars(["repeat", "fold"], errors="ignore").rename(every="fold")
        return row.transpose(..., "fold", "actual", "predicted"), repeats
    counts = counts.transpose(..., "fold", "actual", "predicted")
    folds = counts.sizes["fold"]
    return counts, folds // int(counts.coords["n_folds"]) if "n_folds" in counts.coords else 1


def _fixed(fixed_totals, counts):
    """Return True if the design fixed the class totals."""
    if fixed_totals is None:
        return bool(counts.coords["fixed_totals"]) if "fixed_totals" in counts.coords else True
    return bool(fixed_totals)


def _effects(counts):
    """Return the design effects of groups of examples on the rates (...) and on the totals."""
    effect = counts.coords.get("design_effect", 1.0)
    effect = np.asarray(effect, float)
    if effect.ndim:
        # Each classifier has its own effect. Align it with the dimensions of the counts.
        dims = counts.dims[:-3]
        axis = dims.index(counts.coords["design_effect"].dims[0])
        effect = effect.reshape([-1 if i == axis else 1 for i in range(len(dims))])
    lead = counts.shape[:-3]
    return np.broadcast_to(effect, lead), float(counts.coords.get("totals_effect", 1.0))


def _of_training(counts, repeats):
    """Return the factor of u for training sets that are smaller than all folds but one."""
    if "train_size" not in counts.coords:
        return 1.0
    folds = counts.sizes["fold"] // repeats
    share = float(counts.coords.get("test_share", 1 / folds))
    return float(np.sqrt((folds - 1) * share / float(counts.coords["train_size"])))


def _correlations(rho, counts, repeats):
    """Return the correlation between folds of the threshold and of the separation."""
    if rho is not None:
        return np.array([rho, rho], float)
    share = float(counts.coords.get("test_share", repeats / counts.sizes["fold"]))
    return np.array([THRESHOLD_RHO, 1 - share])


def _shares(prevalence, counts, totals, weight):
    """Return the share of each actual class, ``(..., C)`` or ``(C,)``."""
    if callable(prevalence):
        share_of_class = prevalence("prevalence")
    elif prevalence is not None:
        share_of_class = pm.Data("prevalence", np.asarray(prevalence, float))
    elif weight is None:
        return totals / totals.sum(-1, keepdims=True)
    else:
        # The prior is conjugate, so this posterior replaces a likelihood of the class totals.
        return pm.Dirichlet(
            "prevalence", weight.sum(-1) + totals, dims=(*counts.dims[:-3], "actual")
        )
    if share_of_class.ndim:
        return share_of_class
    return pm.math.stack([1 - share_of_class, share_of_class])


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts of the cells, in the order of the counts."""
    if concentration is None:
        classes = counts.sizes["actual"]
        concentration = 2 / classes**2
    if hasattr(concentration, "dims"):
        concentration = concentration.reindex_like(counts).broadcast_like(counts)
        concentration = concentration.transpose(*counts.dims).values
    return np.broadcast_to(np.asarray(concentration, float), counts.shape).copy()


def _is_positive(counts):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)
