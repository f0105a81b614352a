r"""Folds of a cross-validation, partially pooled and correlated through shared training data.

.. math::

    r_i &\sim \mathrm{Dirichlet}(\lambda_i) \\
    \eta_{kij} &= \log r_{ij} + c_j + c_{kj} + (a + a_k)\,[i = j] \\
    \text{counts}_{ki} \mid \eta &\sim \mathrm{Multinomial}(n_{ki}, \mathrm{softmax}(\eta_{ki}))

Row :math:`r_i` says how a typical trained classifier answers for class :math:`i`. Every training
set moves it in two ways. It moves the *threshold*: a classifier that answers :math:`j` more often
does so for all actual classes, so that the rates go along the ROC curve (:math:`c`). And it moves
the *separation*: a sample whose classes lie well apart makes every class look easy (:math:`a`).
Each fold has its own part (:math:`c_k, a_k`); another part is common to all the folds
(:math:`c, a`), because they share training data, or examples, and no single cross-validation shows
it. It is what makes the plain intervals too short. The common separation is the luck of the
examples: it makes the tests, not the classifiers, look better than they are.

With two classes the threshold adds to the logit of the recall what it takes from that of the
specificity; the separation adds to both. On this scale training sets move a smooth learner by
something of the order of :math:`u`, where :math:`u^2 = 1/n_1 + 1/n_0` is the variance of a log
ratio of class totals (where training sets are smaller than all but one fold, of what would be the
totals then), and a learner that makes hard choices, such as a tree its splits, by the
order of :math:`u^{2/3}` (cube-root asymptotics). Hence the default priors, with constants of which
some are measured and some tuned on coverage (each says which, below): a half-Student-t at
:math:`u^{2/3}` for the spread of the thresholds, of which the folds show their own part, and a
known spread of the separation, one u, of which they show next to nothing.

Of more than two classes u is that of the class of median size, so that a class of a few examples
does not lengthen what hardly depends on it.

The class totals are fixed by the stratification: rows, not cells, are modelled, and the
measure is that of a population composed as the sample is. Where examples come in groups
(coordinates ``design_effect`` and ``totals_effect``), they are worth so many times fewer: the
likelihood is raised to that power, and the class totals are as uncertain as the groups make them.
Where the coordinate ``fixed_totals`` is
False the shares of the classes are unknown as well, and the luck of the class totals moves the
threshold once more.

The estimand is the *expected measure over training sets of that size*, each with its own effects:
the mean of the measure over ``theta_expected`` (dim ``training``, equal weights). ``theta_new`` is
for predictions: training sets with all of their spread. A measure that is best at some threshold
in between can only lose by spread, and the posterior of the typical rates is spread out as well,
by what the folds have in common and by the mean of their own effects. Averaged over both, the
measure would be centred too low wherever folds differ much: the effects that the rates carry would
be counted twice. So ``theta_expected`` leaves them out, `CENTRING` times: to second order the
posterior mean is then that of the measure over the folds.

``theta_fold`` are the classifiers at hand, without the luck of the examples they were tested on.

Repeats test the same examples again: the likelihood is raised to ``omega``, so that all repeats
together weigh as many examples as their agreement says. But they train and divide anew, so that the
spread of the thresholds shows the better the more there are. Their own evidence of it, which the
power would hide, comes back as one more observation: the variance of the numbers predicted j over
the folds of a repeat, summed over j, as a scaled chi-squared,

.. math::

    V \sim \mathrm{Gamma}\left(\frac{\nu}{2}, \frac{\nu}{2 m}\right), \qquad
    m = \mathrm{tr}\, S + \sum_{jl} \sigma_l^2 S_{jl}^2,

where S is the multinomial covariance of these numbers at the rates observed, :math:`\sigma_l` the
spread of a fold's own :math:`c_{kl}`, and :math:`\nu` the degrees of freedom, K - 1 of each repeat.

Disjoint **halves** share no training data, and how far classifiers trained on them differ shows
what is hidden from the folds. Their variance is one more observation of the form of V, with
:math:`0.6 \sigma_l^2 + 3 / n_l` in place of :math:`\sigma_l^2` and the covariance of a half. The
spread has a wider prior then, and the share of it that the folds have in common is unknown: what
halves show and folds do not is common, and what folds show themselves averages out. The separation
of learners that hardly move is less uncertain, and that of the others more.

Not conjugate; the direct posterior is a quadrature. Non-centred throughout. Where the likelihood is
raised to a power, the tree of ``bayescm.fit`` has no log likelihood, as that of `pooled_folds`.

References
----------
Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning, 52,
239-281. doi:10.1023/A:1024068626366

Buhlmann, P. & Yu, B. (2002). Analyzing bagging. Annals of Statistics, 30, 927-961.
doi:10.1214/aos/1031689014

Bengio, Y. & Grandvalet, Y. (2004). No unbiased estimator of the variance of K-fold
cross-validation. Journal of Machine Learning Research, 5, 1089-1105.
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike

# Copies stand in bayescm/posteriors/hierarchical_folds.py, and of those that pairs of classifiers
# share in models/paired_folds.py; a test holds all of them equal.

# Derived. How often the variance of the effects that the posterior of the rates carries is left out
# of that of training. With f'' the curvature of the measure, the measure at the rates of the folds
# lies f'' / 2 times that variance above the measure at the typical rates, and averaging over the
# posterior adds the same again: the average over training sets is right without both.
CENTRING = 2.0

# Measured, over some fifty combinations of learner, data set, size and number of folds
# (docs/background/hierarchical-folds.md, "What was measured"). Spread of the separations, in units
# of u: the error beyond the binomial one is .2 to 1.3 u**2 and hardly depends on the learner.
SEPARATION = 1.0
# Measured on the cases of halves (docs/background/halves.md, "What halves show"): the variance of
# the thresholds at half the size over that of the whole, and what halves differ by beyond that and
# the binomial error, in units of u**2, since the luck of one half is the opposite of the other's.
HALF_RATE = 0.6
HALF_NOISE = 3.0

# Tuned on coverage, as one compromise over the 27 cases of Wang and Li (docs/results/folds.csv) and
# 19 others that are not on file (docs/background/hierarchical-folds.md, "The model"). Scale of the
# spread of the thresholds, in units of u**(2/3), and the share of their variance that all the folds
# have in common. The two degrees of freedom of its half-Student-t (``nu=2``) were chosen on these
# and further cases, against four of a larger scale.
SPREAD = 0.3
THRESHOLD_RHO = 0.4
# Tuned with a look at further cases set aside for it (same page, "The model"). Variance of the
# separation over repeats, in units of its binomial variance: the mean of its prior, how many
# repeats the prior counts for, and the largest value used, so that repeats never count as fresh
# test sets.
DISAGREEMENT = 0.4
PRIOR_REPEATS = 4
MOST_DISAGREEMENT = 0.9
# Tuned on coverage with halves (docs/background/halves.md; the spread of the separations was raised
# from .6 after a first look at fifteen cases). The scale of the spread; the spread of the
# separations, and the share of the variance of the thresholds that adds to its square; and how many
# halvings of one sample say as much as fresh samples do at most.
SPREAD_WITH_HALVES = 0.8
SEPARATION_WITH_HALVES = 0.8
SEPARATION_OF_SPREAD = 0.04
HALF_REPEATS = 20.0

# Numerical. Least variance between folds, as a share of that of equal classifiers: the density of a
# scaled chi-squared is infinite or zero at 0, which folds of equal counts would reach.
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
        Counts, dims ``(..., [repeat,] fold, actual, predicted)``; each further leading index is a
        cross-validation of its own. Its scalar coordinates ``test_share``, ``train_size`` and
        ``fixed_totals`` are used where there are any.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the typical rates, > 0, one number or ``(C, C)``; by default
        ``2 / C**2``.
    spread : float or callable, optional
        Spread of the thresholds between training sets. A number is the scale, in units of u^(2/3),
        of its half-Student-t prior with 2 degrees of freedom; 0.3 by default. A function from a
        name to a PyMC variable is another prior, on the logit scale:
        ``lambda name: pm.HalfNormal(name, 0.25)``.
    separation : float or callable, optional
        Spread of the separations. A number is that spread itself, in units of u; 1 by default.
    rho : float, optional
        Correlation between folds of the effects of training, in [0, 1). By default 1 minus the test
        share for the separation, and `THRESHOLD_RHO` for the threshold.
    fixed_totals : bool, optional
        Whether the design fixed the class totals; by default as the counts say, or else True.
    prevalence : float, array_like or callable, optional
        Share of each actual class, as in `fixed_totals`: with two classes that of the last one.
    halves : xarray.DataArray, optional
        Counts of classifiers trained on disjoint halves, each tested on the other, dims ``(...,
        repeat, half, actual, predicted)``. The scale of the spread is 0.8 by default then, the
        spread of the separations 0.8 at least, and the correlation of the threshold between folds
        is unknown.

    Returns
    -------
    pymc.Model
        Free variables ``rates`` ``(..., actual, predicted)``, ``spread``, and the standardised
        effects ``threshold``, ``threshold_fold``, ``separation`` and ``separation_fold``; with
        halves ``rho_threshold``; ``theta_fold``, ``theta_new`` and ``theta_expected``; observed
        ``cell_counts``, of repeats ``fold_variance`` and of halves ``half_variance``.

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
    """Return the rates after the effects of training, one more axis before the last two."""
    effects = columns[..., None, :] + diagonal[..., None, None] * np.eye(classes)
    return pm.math.softmax(pm.math.log(rates)[..., None, :, :] + effects, axis=-1)


def _median(values, classes):
    """Return the median over the classes: a tiny class does not speak for the others."""
    ordered = pm.math.sort(values, axis=-1)
    return (ordered[..., (classes - 1) // 2] + ordered[..., classes // 2]) / 2


def _observe_halves(halves, column, error, effect, lead):
    """Add what the variance between disjoint halves says about the spread of the thresholds."""
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
    """Return the rates after training sets of equal weight, with these variances of the effects."""
    nodes = np.sqrt(classes + 1) * np.concatenate([np.eye(classes + 1), -np.eye(classes + 1)])
    columns, diagonal = (
        pm.math.sqrt(pm.math.maximum(variance, 0)) for variance in (columns, diagonal)
    )
    new = columns[..., None, :] * nodes[:, 1:]
    return _moved(rates, new, diagonal[..., None] * nodes[:, 0], classes)


def _spreads(spread, separation, error, unit, unit_of_training, lead):
    """Return the spread of each column and that of the diagonal, on the logit scale."""
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
    """Add a power of the likelihood: of repeats, and of examples that come in groups."""
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
    """Add what the variance of the folds within the repeats says about their own thresholds."""
    variance, covariance, degrees = fold_variance(cells, repeats)
    covariance = pm.Data("fold_covariance", covariance)
    degrees = pm.Data("fold_degrees", degrees)
    trace = (covariance * np.eye(cells.shape[-1])).sum((-2, -1))
    mean = trace + (fold_variances * (covariance**2).sum(-2)).sum(-1)
    rate = degrees / (2 * mean)
    pm.Gamma("fold_variance", degrees / 2, rate, observed=variance, dims=lead or None)


def fold_variance(cells, repeats):
    """Return the variance of the numbers predicted over the folds of a repeat, and what it is of.

    Its value, summed over the classes, shape (...); the covariance of these numbers for equal
    classifiers, (..., C, C); and the degrees of freedom, (...).
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

    Repeats that agree with each other say together no more than one of them, and repeats that
    differ as much as new test sets would say as much as these. What lies between is read off from
    the variance over the repeats of the ease of all classes together (the mean logit of the rates,
    which a moving threshold leaves alone), in units of its binomial variance, with a weak prior at
    `DISAGREEMENT`.
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
    """Say whether the design fixed the class totals."""
    if fixed_totals is None:
        return bool(counts.coords["fixed_totals"]) if "fixed_totals" in counts.coords else True
    return bool(fixed_totals)


def _effects(counts):
    """Return by how much groups of examples vary more than examples: rates (...), and totals."""
    effect = counts.coords.get("design_effect", 1.0)
    effect = np.asarray(effect, float)
    if effect.ndim:  # of each classifier, as the counts have their dims
        dims = counts.dims[:-3]
        axis = dims.index(counts.coords["design_effect"].dims[0])
        effect = effect.reshape([-1 if i == axis else 1 for i in range(len(dims))])
    lead = counts.shape[:-3]
    return np.broadcast_to(effect, lead), float(counts.coords.get("totals_effect", 1.0))


def _of_training(counts, repeats):
    """Return by how much u is larger for these training sets than for all but one fold of K."""
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
        # Conjugate, so the class totals need no likelihood of their own.
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
