r"""Model for the confusion matrices of groups that differ, such as sites, partially pooled.

With two classes (0 is negative, 1 is positive):

.. math::

    p &\sim \mathrm{Beta}(\lambda_{1+}, \lambda_{0+}), \quad
        r \sim \mathrm{Beta}(\lambda_{11}, \lambda_{10}), \quad
        s \sim \mathrm{Beta}(\lambda_{00}, \lambda_{01}) \\
    \tau_p, \tau_r, \tau_s &\sim \mathrm{HalfNormal}(\texttt{spread}), \qquad
        (\rho + 1) / 2 \sim \mathrm{Beta}(2, 2) \\
    \operatorname{logit} p_g &\sim \mathrm{Normal}(\operatorname{logit} p, \tau_p^2) \\
    (\operatorname{logit} r_g, \operatorname{logit} s_g) &\sim
        \mathrm{MvNormal}((\operatorname{logit} r, \operatorname{logit} s),
        \Sigma(\tau_r, \tau_s, \rho)) \\
    \text{counts}_g \mid p_g, r_g, s_g &\sim \mathrm{Multinomial}(n_g, \theta_g)

Here :math:`\theta_g` are the cell probabilities of group g with :math:`n_g` examples. They follow
from its prevalence :math:`p_g`, recall :math:`r_g` and specificity :math:`s_g`.

With covariates :math:`x_g` (two classes), the mean of each logit becomes

.. math::

    \operatorname{logit} p + x_g^\top \beta_p, \qquad
    \operatorname{logit} r + x_g^\top \beta_r, \qquad
    \operatorname{logit} s + x_g^\top \beta_s, \qquad
    \beta \sim \mathrm{Normal}(0, \texttt{slope}^2).

With C > 2 classes:

.. math::

    \pi &\sim \mathrm{Dirichlet}(\lambda_{1+}, \dots, \lambda_{C+}), \quad
        a_i \sim \mathrm{Beta}(\lambda_{ii}, \lambda_{i+} - \lambda_{ii}), \quad
        e_i \sim \mathrm{Dirichlet}((\lambda_{ij})_{j \ne i}) \\
    \tau &\sim \mathrm{HalfNormal}(\texttt{spread}), \qquad w = 4 / \tau^2 \\
    \text{totals}_g &\sim \mathrm{DirichletMultinomial}(n_g, w_\pi \pi) \\
    \text{right}_{gi} &\sim \mathrm{BetaBinomial}(\text{totals}_{gi},
        w_{a_i} a_i, w_{a_i} (1 - a_i)) \\
    \text{errors}_{gi} &\sim \mathrm{DirichletMultinomial}(
        \text{totals}_{gi} - \text{right}_{gi}, w_{e_i} e_i)

Parameters
----------
+------------------------+----------------------------+------------------------+-------------------+
| symbol                 | meaning                    | prior                  | keyword           |
+========================+============================+========================+===================+
| :math:`p, r, s`,       | prevalence, recall and     | Beta                   | –                 |
| ``rates``              | specificity of the typical |                        |                   |
|                        | group                      |                        |                   |
+------------------------+----------------------------+------------------------+-------------------+
| :math:`\lambda`,       | prior pseudo-counts of the | fixed, :math:`2 / C^2` | ``concentration`` |
| ``concentration``      | typical group, by actual   | for each cell          |                   |
|                        | and predicted class        |                        |                   |
+------------------------+----------------------------+------------------------+-------------------+
| :math:`\tau`,          | standard deviations        | HalfNormal(1), or a    | ``spread=1``      |
| ``spread``             | between groups, on the     | function               |                   |
|                        | logit scale                |                        |                   |
+------------------------+----------------------------+------------------------+-------------------+
| :math:`\rho`,          | correlation of recall and  | Beta(2, 2), scaled to  | –                 |
| ``correlation``        | specificity between groups | :math:`(-1, 1)`;       |                   |
|                        |                            | :math:`(\rho + 1) / 2` |                   |
|                        |                            | is                     |                   |
|                        |                            | ``scaled_correlation`` |                   |
+------------------------+----------------------------+------------------------+-------------------+
| :math:`\beta`,         | change of a logit per unit | Normal(0, sd 2)        | ``slope=2``,      |
| ``slope``              | of a covariate             |                        | ``covariates``    |
+------------------------+----------------------------+------------------------+-------------------+
| ``effect_prevalence``, | partially centred effects  | see Notes              | –                 |
| ``effect_recall``,     | of the groups              |                        |                   |
| ``effect_specificity`` |                            |                        |                   |
+------------------------+----------------------------+------------------------+-------------------+
| ``effect_new``         | standardised effects of a  | Normal(0, sd 1)        | –                 |
|                        | new group                  |                        |                   |
+------------------------+----------------------------+------------------------+-------------------+
| :math:`\pi`,           | class shares of the        | Dirichlet              | –                 |
| ``shares``             | typical group (C > 2)      |                        |                   |
+------------------------+----------------------------+------------------------+-------------------+
| :math:`a_i`, ``right`` | accuracy of class i in the | Beta                   | –                 |
|                        | typical group (C > 2)      |                        |                   |
+------------------------+----------------------------+------------------------+-------------------+
| :math:`e_i`,           | shares of the other        | Dirichlet              | –                 |
| ``errors``             | classes among the errors   |                        |                   |
|                        | of class i (C > 2)         |                        |                   |
+------------------------+----------------------------+------------------------+-------------------+

When to use it
--------------
Use it if examples come in groups, such as sites or patients, and examples of the same group are
alike. An interval that ignores the groups is too short, and an unweighted mean over groups wastes
information from large groups.

When not to use it
------------------
* Folds of a cross-validation: use `hierarchical_folds`.
* Pairs of classifiers on the same examples: use `paired_outcomes`.
* A few groups may be outliers, which must be identified: use `robust_groups`.
* There are fewer than five groups: the spread then depends more on its prior than on the groups.

Estimands
---------
* ``theta``, ``of="parameter"`` or ``"population"``: the measure of the average matrix over the
  population of groups.
* ``theta_typical``, ``of="typical"``: the measure of the typical group. With more than two classes
  it equals ``theta``.
* ``theta_group``, ``of="group"``: the measure of each observed group, shrunk towards the others.
  Small groups are shrunk most.
* ``theta_group``, ``of="finite"``: the mean of the measure over the observed groups.
* ``theta_new``, ``of="new"``: the measure of a new group.
* ``theta_new``, ``of="predictive"``: the measure on a test set of ``n`` examples of a new group.

With covariates, the average, typical and new groups are groups with covariates of 0. With more than
two classes, only the direct posterior provides ``theta_group`` and ``theta_new``.

Notes
-----
With two classes this is the bivariate model of diagnostic meta-analysis (Reitsma et al. 2005), with
exact binomial likelihoods (Chu and Cole 2006). A threshold that differs between groups gives a
negative :math:`\rho`.

With more classes the groups' own probabilities are integrated out. Shares, accuracies and errors
have separate spreads: groups may differ in accuracy but make the same kinds of errors. A Dirichlet
weight of :math:`4 / \tau^2` makes :math:`\tau` about the standard deviation of a logit.

Special cases: with a spread of 0, the model is `dirichlet_multinomial` for all groups together.
With an infinite spread, each group is estimated separately.

The model is not conjugate. The direct posterior integrates the effects of the groups out, by
quadrature for two classes and in closed form for more. It samples the parameters by importance
sampling.

For NUTS, the effects of the observed groups are partially centred (Papaspiliopoulos et al. 2007, in
the form of Gorinova et al. 2020). Let m and s be the mean and standard deviation of a logit between
groups. For the specificity they are conditional on the recall. Then

.. math::

    \text{effect}_g \sim \mathrm{Normal}(\kappa_g m, s^{2 \kappa_g}), \qquad
    \text{logit}_g = m + s \, (\text{effect}_g - \kappa_g m) / s^{\kappa_g},

which is the same model for every :math:`\kappa_g` in [0, 1]. With :math:`\kappa_g = 0` the effects
are standardised, which suits small or similar groups. With :math:`\kappa_g = 1` the effects are the
logits, which suits groups with many examples.

The model uses :math:`\kappa_g = I_g / (I_g + 1 / \hat s^2)`, the weight of the group itself in its
posterior mean under normality. :math:`I_g` is the information of its counts about the logit.
:math:`\hat s^2` is the estimate of DerSimonian and Laird (1986), times (G - 5) / (G - 1) for G
groups, and at least 0. The factor prevents divergences with few groups, because a small spread
remains possible in this case, whatever the estimate is.

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
        Counts, dims ``(..., group, actual, predicted)``. Each leading index is a separate
        collection of groups. A group may lack a class.
    concentration : float, array_like or xarray.DataArray, optional
        Prior pseudo-counts of the typical group, > 0: one number or shape ``(C, C)``. Default:
        ``2 / C**2``.
    spread : float or callable, default 1
        Scale of the half-normal prior for the standard deviations between groups, on the logit
        scale. A function from a name to a PyMC variable is another prior, for example
        ``lambda name: pm.HalfCauchy(name, 0.5, dims="rate")``. Its dimension is

        * ``rate`` with two classes: prevalence, recall, specificity;
        * ``part`` with more: the class shares, then the accuracy of each class, then the errors of
          each class.
    prevalence : float, optional
        Share of the positive class of two in the population, if it is known. It replaces the
        groups' own prevalence in ``theta``, ``theta_typical``, ``theta_group`` and ``theta_new``.
    covariates : xarray.DataArray, dims (group, covariate), optional
        Covariates of the groups, for two classes. The typical group has covariates of 0.
    slope : float, default 2
        Standard deviation of the normal prior for the slopes: the change of a logit per unit of a
        covariate.

    Returns
    -------
    pymc.Model
        With two classes:

        * free variables ``rates``, ``spread``, ``scaled_correlation``, ``effect_new``,
          ``effect_prevalence``, ``effect_recall`` and ``effect_specificity``, and with covariates
          ``slope`` (covariate, rate);
        * deterministic ``correlation``, ``theta``, ``theta_typical``, ``theta_group`` and
          ``theta_new``;
        * observed ``cell_counts``.

        With more classes:

        * free variables ``shares``, ``right``, ``errors`` and ``spread``;
        * deterministic ``theta`` and ``theta_typical``, which are equal;
        * observed ``class_counts``, ``right_counts`` and ``error_counts``.

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
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
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
    """Add the slopes, and return the effect of the covariates on the logits of each group."""
    if "group" in covariates.coords and "group" in counts.coords:
        covariates = covariates.sel(group=counts["group"].values)
    design = covariates.transpose("group", "covariate").values.astype(float)
    model = pm.modelcontext(None)
    model.add_coord("covariate", covariates["covariate"].values)
    design = pm.Data("covariates", design, dims=("group", "covariate"))
    beta = pm.Normal("slope", 0, slope, dims=(*lead, "covariate", "rate"))
    return (design[:, :, None] * beta[..., None, :, :]).sum(-2)


def _two_classes(data, weight, spread, shift, prevalence, lead):
    """Add normal effects on the logits of prevalence, and of recall and specificity jointly."""
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
    # The counts of a group follow the prevalence of this group, even if `prevalence` is known.
    theta = _table(logits, None)
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
        if rate == "specificity":
            # The conditional normal distribution, given the recall.
            mean, sd = mean + rho * sd * standardised[-1], pm.math.sqrt(1 - rho**2) * sd
        weight = centring[..., index]
        location, scale = weight * mean, sd**weight
        effect = pm.Normal(f"effect_{rate}", location, scale, dims=(*lead, "group"))
        standardised.append((effect - location) / scale)
        logits.append(mean + sd * standardised[-1])
    return pm.math.stack(logits, axis=-1)


def _centring(data):
    """Return kappa (..., group, rate), the weight of each group itself in its posterior mean."""
    negatives, positives = data[..., 0, :].sum(-1), data[..., 1, :].sum(-1)
    successes = pm.math.stack([positives, data[..., 1, 1], data[..., 0, 0]], axis=-1)
    trials = pm.math.stack([positives + negatives, positives, negatives], axis=-1)
    observed = pm.math.gt(trials, 0)
    rates = (successes + 0.5) / (trials + 1)
    # The information of a binomial count about its logit is n p (1 - p).
    information = observed * (trials + 1) * rates * (1 - rates)
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
    """Return the effects, with the third correlated with the second."""
    last = rho * effect[..., 1] + pm.math.sqrt(1 - rho**2) * effect[..., 2]
    return pm.math.stack([effect[..., 0], effect[..., 1], last], axis=-1)


def _average_over_groups(middle, spread, prevalence):
    """Return the cell probabilities averaged over the population, by Gauss-Hermite quadrature."""
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
    """Add the totals, correct examples and errors; the groups' probabilities are integrated out."""
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
    """Return the rows (..., C, C) from their diagonal cells and their C - 1 errors."""
    rows = []
    for actual in range(classes):
        before, after = wrong[..., actual, :actual], wrong[..., actual, actual:]
        rows.append(pm.math.concatenate([before, right[..., actual, None], after], axis=-1))
    return pm.math.stack(rows, axis=-2)


def _spread(spread, dims):
    if callable(spread):
        prior = spread("spread")
        given = pm.modelcontext(None).named_vars_to_dims.get("spread", dims)
        if not prior.ndim or dims[-1] not in given:
            needed = f"the prior of spread needs the dim {dims[-1]!r}: one spread for each"
            raise ValueError(f"{needed}. Pass dims={dims[-1]!r} to its distribution.")
        return prior
    return pm.HalfNormal("spread", pm.Data("spread_scale", float(spread)), dims=dims)


def _pseudo_counts(concentration, counts):
    """Return the prior pseudo-counts of the cells, in the order of the counts."""
    if concentration is None:
        classes = counts.sizes["actual"]
        concentration = 2 / classes**2
    if hasattr(concentration, "dims"):
        labels = {dim: counts[dim] for dim in ("actual", "predicted")}
        concentration = concentration.sel(labels).transpose("actual", "predicted").values
    shape = (counts.sizes["actual"],) * 2
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
