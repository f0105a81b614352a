r"""Sites, patients, authors, data sets: groups that differ, partially pooled.

Two classes:

.. math::

    \mathrm{logit}\, p_g &\sim \mathrm{N}(\mathrm{logit}\, p, \tau_p^2) \\
    (\mathrm{logit}\, r_g, \mathrm{logit}\, s_g) &\sim \mathrm{N}_2\bigl((\mathrm{logit}\, r,
        \mathrm{logit}\, s), \Sigma(\tau_r, \tau_s, \rho)\bigr) \\
    \text{counts}_g \mid p_g, r_g, s_g &\sim \mathrm{Multinomial}(n_g, \theta_g)

with the prevalence :math:`p`, the recall :math:`r` and the specificity :math:`s` of the typical
group; a threshold that differs between groups shows as a negative :math:`\rho`. It is the Bayesian
form, with exact binomial likelihoods, of the bivariate model of diagnostic meta-analysis.

More classes: the class shares of a group, how often each of its classes is right, and where that
class's errors go, come from a Dirichlet distribution each, around the typical ones, of weight
:math:`4 / \tau^2`, so that :math:`\tau` is again about the standard deviation of a logit between
groups. Right ones and errors have a spread of their own: groups may differ in how often they err
and agree in which errors they make.

Use it where examples come in groups that share something: a plain interval over all examples is too
short, and the mean over groups wastes the large ones. ``theta`` is the average over all groups
there may be (the estimand of `measure`), ``theta_typical`` the group in the middle, ``theta_new`` a
group not seen yet, ``theta_group`` each one at hand, drawn towards the others the more the smaller
it is; with more than two classes the middle is the average, the last two are summed out, and only
the direct posterior draws them. With few groups (below five or so) the spread is learned from
its prior more than from them. Do not use it for folds of a cross-validation
(`hierarchical_folds`), nor for pairs of classifiers on the same examples (`paired_outcomes`).

Meta-regression: with covariates :math:`x_g` of the groups, such as the year of a study or the kind
of its test, every logit moves by :math:`x_g^\top \beta`, with normal slopes :math:`\beta`. The
typical group, the average and a new one are then those whose covariates are 0.

Limits: a spread of 0 is pooling, the `dirichlet_multinomial` of all groups together; an infinite
one leaves every group to itself.

Not conjugate; the direct posterior integrates the groups' effects out, of two classes by
quadrature and of more in closed form, and draws the parameters by importance sampling.

For NUTS the effects of the groups at hand are partially centred (Papaspiliopoulos et al. 2007, in
the form of Gorinova et al. 2020). With the mean m and the standard deviation s of a logit between
groups (of the specificity, those given the recall),

.. math::

    \mathrm{effect}_g \sim \mathrm{N}(\lambda_g m, s^{2 \lambda_g}), \qquad
    \mathrm{logit}_g = m + s \, (\mathrm{effect}_g - \lambda_g m) / s^{\lambda_g},

which is the same model for every :math:`\lambda_g` in [0, 1]. At 0 the effects are standardised,
which suits groups that are alike or small; at 1 they are the logits, which suits groups whose
examples say what their logit is: standardised effects then depend on m and s so closely that chains
hardly move. :math:`\lambda_g = I_g / (I_g + 1 / s^2)` is the share of the group itself in its mean,
as of normal distributions, with the information :math:`I_g` of its counts about the logit; for
:math:`s^2` stands DerSimonian and Laird's estimate, 0 where groups differ by no more than chance,
times (G - 5) / (G - 1) of G groups, since of few groups a small spread is possible whatever the
estimate: without this factor one draw in a thousand diverged.

References
----------
Reitsma, J. B., Glas, A. S., Rutjes, A. W. S., Scholten, R. J. P. M., Bossuyt, P. M. & Zwinderman,
A. H. (2005). Bivariate analysis of sensitivity and specificity produces informative summary
measures in diagnostic reviews. Journal of Clinical Epidemiology 58, 982-990.
doi:10.1016/j.jclinepi.2005.02.022

Chu, H. & Cole, S. R. (2006). Bivariate meta-analysis of sensitivity and specificity with sparse
data: a generalized linear mixed model approach. Journal of Clinical Epidemiology 59, 1331-1332.
doi:10.1016/j.jclinepi.2006.06.011

DerSimonian, R. & Laird, N. (1986). Meta-analysis in clinical trials. Controlled Clinical Trials 7,
177-188. doi:10.1016/0197-2456(86)90046-2

Gorinova, M. I., Moore, D. & Hoffman, M. D. (2020). Automatic reparameterisation of probabilistic
programs. Proceedings of Machine Learning Research 119, 3648-3657. doi:10.48550/arXiv.1906.03028

Papaspiliopoulos, O., Roberts, G. O. & Sköld, M. (2007). A general framework for the parametrization
of hierarchical models. Statistical Science 22, 59-73. doi:10.1214/088342307000000014
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike


def hierarchical_groups(
    counts: xr.DataArray,
    *,
    concentration: ArrayLike | None = None,
    spread: float | Callable = 1.0,
    prevalence: float | None = None,
    covariates: xr.DataArray | None = None,
    slope: float = 2.0,
) -> pm.Model:
    """Model the confusion matrices of groups that differ, partially pooled.

    Parameters
    ----------
    counts : xarray.DataArray
        Counts, dims ``(..., group, actual, predicted)``; each leading index is a collection of
        groups of its own. A group may lack a class.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the typical group, > 0, one number or ``(C, C)``; by default
        ``2 / C**2``.
    spread : float or callable, default 1
        Scale of the half-normal prior of the standard deviations between groups, on the logit
        scale. A function from a name to a PyMC variable of the dim ``rate`` (two classes: the
        prevalence, the recall, the specificity) or ``part`` (the class shares, then what is right
        of every class, then its errors) is another prior:
        ``lambda name: pm.HalfCauchy(name, 0.5, dims="rate")``.
    prevalence : float, optional
        Share of the positive class in the population, where it is known and two classes; it takes
        the place of the groups' own in ``theta`` and all its like.
    covariates : xarray.DataArray, dims (group, covariate), optional
        Numbers that the logits of the groups may depend on, two classes; 0 is the typical group.
    slope : float, default 2
        Scale of the normal prior of what a covariate adds to a logit for each unit.

    Returns
    -------
    pymc.Model
        Two classes: free variables ``rates``, ``spread``, ``scaled_correlation`` (of which 0 to 1
        stands for -1 to 1 of ``correlation``), the partially centred effects of the groups
        ``effect_prevalence``, ``effect_recall`` and ``effect_specificity``, and ``effect_new``,
        standardised; ``correlation`` of recall and specificity, ``theta``, ``theta_typical``,
        ``theta_group``, ``theta_new``; observed ``cell_counts``; with covariates
        also ``slope``, dims (covariate, rate). More classes:
        ``shares``, ``right``, ``errors`` and ``spread``; ``theta`` and ``theta_typical``, which are
        the same; observed ``class_counts``, ``right_counts`` and ``error_counts``.

    Examples
    --------
    >>> import xarray as xr
    >>> dims = ("group", "actual", "predicted")
    >>> counts = xr.DataArray([[[40, 10], [5, 45]], [[30, 20], [9, 41]]], dims=dims)
    >>> model = hierarchical_groups(counts, spread=lambda name: pm.HalfNormal(name, 2, dims="rate"))
    >>> sorted(variable.name for variable in model.free_RVs if "effect" not in variable.name)
    ['rates', 'scaled_correlation', 'spread']
    """
    counts = _positive_last(counts.transpose(..., "group", "actual", "predicted"))
    lead = counts.dims[:-3]
    classes = counts.sizes["actual"]
    coords = {dim: counts[dim].values for dim in counts.dims}
    coords["rate"] = ["prevalence", "recall", "specificity"]
    coords["part"] = [
        "shares",
        *(f"{label} {part}" for part in ("right", "errors") for label in coords["actual"]),
    ]
    coords["other"] = np.arange(classes - 1)
    labels = coords["actual"].tolist()
    coords["cell"] = [f"{actual}->{predicted}" for actual in labels for predicted in labels]
    with pm.Model(coords=coords) as model:
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        weight = pm.Data(
            "concentration", _pseudo_counts(concentration, counts), dims=("actual", "predicted")
        )
        if classes == 2:
            shift = None if covariates is None else _regression(covariates, counts, slope, lead)
            _two_classes(data, weight, spread, shift, prevalence, lead)
        else:
            _many_classes(data, weight, spread, lead)
    return model


def _regression(covariates, counts, slope, lead):
    """Add slopes, and return what the covariates add to the logits of every group."""
    if "group" in covariates.coords and "group" in counts.coords:
        covariates = covariates.sel(group=counts["group"].values)
    design = covariates.transpose("group", "covariate").values.astype(float)
    model = pm.modelcontext(None)
    model.add_coord("covariate", covariates["covariate"].values)
    design = pm.Data("covariates", design, dims=("group", "covariate"))
    beta = pm.Normal("slope", 0, slope, dims=(*lead, "covariate", "rate"))
    return (design[:, :, None] * beta[..., None, :, :]).sum(-2)


def _two_classes(data, weight, spread, shift, prevalence, lead):
    """Add logit-normal effects of the prevalence, and bivariate ones of recall and specificity."""
    hits = pm.math.stack([weight[1].sum(), weight[1, 1], weight[0, 0]])
    misses = pm.math.stack([weight[0].sum(), weight[1, 0], weight[0, 1]])
    rates = pm.Beta("rates", hits, misses, dims=(*lead, "rate"))
    spread = _spread(spread, (*lead, "rate"))
    scaled = pm.Beta("scaled_correlation", 2, 2, dims=lead or None)
    rho = pm.Deterministic("correlation", 2 * scaled - 1, dims=lead or None)
    new = pm.Normal("effect_new", 0, 1, dims=(*lead, "rate"))

    middle = pm.math.logit(rates)
    dims = (*lead, "actual", "predicted")
    pm.Deterministic("theta", _average_over_groups(middle, spread, prevalence), dims=dims)
    pm.Deterministic("theta_typical", _table(middle, prevalence), dims=dims)
    logits_new = middle + spread * _correlated(new, rho)
    pm.Deterministic("theta_new", _table(logits_new, prevalence), dims=dims)
    means = middle[..., None, :] if shift is None else middle[..., None, :] + shift
    logits = _group_logits(means, spread[..., None, :], rho[..., None], _centring(data), lead)
    dims = (*lead, "group", "actual", "predicted")
    pm.Deterministic("theta_group", _table(logits, prevalence), dims=dims)
    theta = _table(logits, None)  # the examples of a group show its own prevalence
    shape = data.shape
    cells = data.reshape((*shape[:-2], 4))
    pm.Multinomial(
        "cell_counts",
        n=cells.sum(-1).astype("int64"),
        p=theta.reshape((*shape[:-2], 4)),
        observed=cells,
        dims=(*lead, "group", "cell"),
    )


def _group_logits(means, spread, rho, centring, lead):
    """Add partially centred effects, and return the logits (..., group, rate) of the groups."""
    logits, standardised = [], []
    for index, rate in enumerate(("prevalence", "recall", "specificity")):
        mean, sd = means[..., index], spread[..., index]
        if rate == "specificity":  # its normal distribution given the recall
            mean, sd = mean + rho * sd * standardised[-1], pm.math.sqrt(1 - rho**2) * sd
        weight = centring[..., index]
        location, scale = weight * mean, sd**weight
        effect = pm.Normal(f"effect_{rate}", location, scale, dims=(*lead, "group"))
        standardised.append((effect - location) / scale)
        logits.append(mean + sd * standardised[-1])
    return pm.math.stack(logits, axis=-1)


def _centring(data):
    """Return lambda (..., group, rate), the share of each group itself in its mean."""
    negatives, positives = data[..., 0, :].sum(-1), data[..., 1, :].sum(-1)
    successes = pm.math.stack([positives, data[..., 1, 1], data[..., 0, 0]], axis=-1)
    trials = pm.math.stack([positives + negatives, positives, negatives], axis=-1)
    observed = pm.math.gt(trials, 0)
    rates = (successes + 0.5) / (trials + 1)
    information = observed * (trials + 1) * rates * (1 - rates)  # of a binomial logit
    total = pm.math.maximum(information.sum(-2, keepdims=True), 1e-12)
    mean = (information * pm.math.logit(rates)).sum(-2, keepdims=True) / total
    deviance = (information * (pm.math.logit(rates) - mean) ** 2).sum(-2, keepdims=True)
    scale = total - (information**2).sum(-2, keepdims=True) / total
    number = observed.sum(-2, keepdims=True)
    excess = pm.math.maximum(deviance - (number - 1), 0)
    few = pm.math.maximum(number - 5, 0) / pm.math.maximum(number - 1, 1)
    variance = few * excess / pm.math.maximum(scale, 1e-12)
    return information * variance / (information * variance + 1)


def _correlated(effect, rho):
    """Give the third effect its correlation with the second."""
    last = rho * effect[..., 1] + pm.math.sqrt(1 - rho**2) * effect[..., 2]
    return pm.math.stack([effect[..., 0], effect[..., 1], last], axis=-1)


def _average_over_groups(middle, spread, prevalence):
    """Return the cell probabilities averaged over all groups, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    logits = middle[..., None] + spread[..., None] * nodes
    weights = weights / weights.sum()
    rates, complements = (pm.math.sigmoid(sign * logits) @ weights for sign in (1, -1))
    return _cells(rates, complements, prevalence)


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


def _many_classes(data, weight, spread, lead):
    """Add Dirichlets of the class totals, of what is right and of errors, the groups summed out."""
    classes = len(pm.modelcontext(None).coords["actual"])
    diagonal = np.arange(classes)
    off_diagonal = np.nonzero(~np.eye(classes, dtype=bool))
    totals, right_counts = data.sum(-1), data[..., diagonal, diagonal]
    error_counts = data[..., *off_diagonal].reshape((*data.shape[:-1], classes - 1))
    prior_wrong = weight[off_diagonal].reshape((classes, classes - 1))

    shares = pm.Dirichlet("shares", weight.sum(-1), dims=(*lead, "actual"))
    right = pm.Beta(
        "right", weight[diagonal, diagonal], prior_wrong.sum(-1), dims=(*lead, "actual")
    )
    errors = pm.Dirichlet("errors", prior_wrong, dims=(*lead, "actual", "other"))
    precision = 4 / _spread(spread, (*lead, "part")) ** 2
    theta = shares[..., None] * _with_diagonal(right, (1 - right)[..., None] * errors, classes)
    pm.Deterministic("theta", theta, dims=(*lead, "actual", "predicted"))
    pm.Deterministic("theta_typical", theta, dims=(*lead, "actual", "predicted"))
    pm.DirichletMultinomial(
        "class_counts",
        n=totals.sum(-1).astype("int64"),
        a=(precision[..., 0][..., None] * shares)[..., None, :],
        observed=totals,
        dims=(*lead, "group", "actual"),
    )
    precision_right = precision[..., 1 : classes + 1]
    pm.BetaBinomial(
        "right_counts",
        n=totals.astype("int64"),
        alpha=(precision_right * right)[..., None, :],
        beta=(precision_right * (1 - right))[..., None, :],
        observed=right_counts,
        dims=(*lead, "group", "actual"),
    )
    pm.DirichletMultinomial(
        "error_counts",
        n=error_counts.sum(-1).astype("int64"),
        a=(precision[..., classes + 1 :, None] * errors)[..., None, :, :],
        observed=error_counts,
        dims=(*lead, "group", "actual", "other"),
    )


def _with_diagonal(right, wrong, classes):
    """Put the errors of each row, C - 1 of them, around its diagonal cell."""
    rows = []
    for actual in range(classes):
        before, after = wrong[..., actual, :actual], wrong[..., actual, actual:]
        rows.append(pm.math.concatenate([before, right[..., actual, None], after], axis=-1))
    return pm.math.stack(rows, axis=-2)


def _spread(spread, dims):
    if callable(spread):
        prior = spread("spread")
        if not prior.ndim:
            needed = f"the prior of spread needs the dim {dims[-1]!r}: one spread for each"
            raise ValueError(f"{needed}. Pass dims={dims[-1]!r} to its distribution.")
        return prior
    return pm.HalfNormal("spread", pm.Data("spread_scale", float(spread)), dims=dims)


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts cell by cell, in the order of the counts."""
    if concentration is None:
        classes = counts.sizes["actual"]
        concentration = 2 / classes**2
    if hasattr(concentration, "dims"):
        labels = {dim: counts[dim] for dim in ("actual", "predicted")}
        concentration = concentration.sel(labels).transpose("actual", "predicted").values
    shape = (counts.sizes["actual"],) * 2
    return np.broadcast_to(np.asarray(concentration, float), shape).copy()


def _is_positive(counts):
    """Return 1 for the positive class and 0 for the others; 0 throughout where none is set."""
    if "positive" not in counts.coords:
        return np.zeros(counts.sizes["actual"])
    labels = counts["actual"].values
    return (labels == counts.coords["positive"].values).astype(float)


def _positive_last(counts):
    """Return the counts with the positive one of two classes last, which the rates are about."""
    if counts.sizes["actual"] == 2 and _is_positive(counts)[0]:
        return counts.isel(actual=[1, 0], predicted=[1, 0])
    return counts
