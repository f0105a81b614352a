r"""Calibration of the same forecasts at several sites, partially pooled.

.. math::

    \operatorname{logit} P(y = 1 \mid p, g) &= \operatorname{logit} p + \alpha_g
        + \beta_g \, \frac{\operatorname{logit} p - m}{s} \\
    \alpha_g \sim \mathrm{Normal}(\alpha, \tau_\alpha^2) &\qquad
    \beta_g \sim \mathrm{Normal}(\beta, \tau_\beta^2)

with the mean :math:`m` and the standard deviation :math:`s` of the log odds of all forecasts,
:math:`\alpha \sim \mathrm{Normal}(0, 3)`, :math:`\beta \sim \mathrm{Normal}(0, 2)`,
:math:`\tau_\alpha \sim \mathrm{HalfNormal}(1)` and
:math:`\tau_\beta \sim \mathrm{HalfNormal}(1/2)`.
Every site has a logistic recalibration of its own (Cox 1958), whose slope is
:math:`1 + \beta_g / s`; where :math:`\alpha_g` and :math:`\beta_g` are 0 the forecasts are right
there.

Use it where a prediction model is validated at several hospitals, in several countries or years
(Riley et al. 2016): a plain interval over all examples is too short, and small sites by themselves
say next to nothing. Sites are drawn towards each other the more the smaller they are; one with
examples of a single class, or with forecasts that are all alike, has its slope from the others.
With few sites (below five or so) the two spreads are learned from their priors more than from them.
Each site's curve is a straight line on the log odds: bends are seen by the model ``calibration``,
one site at a time.

Limits: spreads of 0 are one sample; infinite ones leave every site to itself.

Not conjugate: the direct posterior takes Laplace's approximation at each pair of spreads of a grid,
and importance weights, site by site and of all together. Forecasts of exactly 0 and 1 are put one
standard deviation beyond the others. Non-centred.

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45,
562-565. doi:10.1093/biomet/45.3-4.562

Riley, R. D. et al. (2016). External validation of clinical prediction models using big datasets
from e-health records or IPD meta-analysis: opportunities and challenges. BMJ 353, i3140.
doi:10.1136/bmj.i3140
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr


def hierarchical_calibration(
    evidence: xr.Dataset, *, spread: float | Callable | None = None
) -> pm.Model:
    """Model the outcomes of one classifier's forecasts at several sites.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``score`` (example), probabilities; ``actual`` and ``group`` (example); scalar coord
        ``positive``; if there is any ``weight`` (example).
    spread : float or callable, optional
        Scale of the half-normal prior of the standard deviation of the level between sites, > 0, by
        default 1; that of the slope is half of it. Or a function from a name to a PyMC variable of
        the dim ``effect`` (level, slope).

    Returns
    -------
    pymc.Model
        Free variables ``center`` (effect), ``spread`` (effect), and the standardised effects
        ``site`` (group, effect) and ``site_new`` (effect); ``calibration_slope`` (group) and
        ``calibration_slope_new``; ``curve`` (example), the probability of the positive class given
        each forecast at its site; observed ``outcome`` (example).

    Examples
    --------
    >>> import xarray as xr
    >>> data = {"score": ("example", [0.1, 0.2, 0.6, 0.9]), "actual": ("example", [0, 1, 0, 1])}
    >>> data["group"] = ("example", ["a", "a", "b", "b"])
    >>> model = hierarchical_calibration(xr.Dataset(data, {"positive": 1}))
    >>> [variable.name for variable in model.free_RVs]
    ['center', 'spread', 'site', 'site_new']
    """
    if "classifier" in evidence.dims:
        many = evidence["classifier"].values.tolist()
        raise ValueError(
            f"the model is of one classifier: {many}. Expected the forecasts of one; select it: "
            f"evidence.sel(classifier={many[0]!r}), or ask bcm.summary, which answers all of them."
        )
    if "group" not in evidence:
        raise ValueError(
            "the model is of several sites. Expected a group for each example; pass group= to "
            "from_probabilities, or take the model calibration."
        )
    odds = _log_odds(np.asarray(evidence["score"], float).ravel())
    sites, code = np.unique(evidence["group"].values, return_inverse=True)
    actual = (evidence["actual"].values == evidence["positive"].values).astype(float)
    weight = np.asarray(evidence["weight"] if "weight" in evidence else np.ones(len(odds)), float)
    unit = odds.std() or 1.0
    coords = {"example": np.arange(len(odds)), "group": sites, "effect": ["level", "slope"]}
    with pm.Model(coords=coords) as model:
        center = pm.Normal("center", 0, np.array([3.0, 2.0]), dims="effect")
        if callable(spread):
            scale = spread("spread")
        else:
            widths = np.array([1.0, 0.5]) * (1.0 if spread is None else spread)
            scale = pm.HalfNormal("spread", widths, dims="effect")
        site = pm.Normal("site", 0, 1, dims=("group", "effect"))
        new = pm.Normal("site_new", 0, 1, dims="effect")
        log_odds = pm.Data("log_odds", odds, dims="example")
        standardised = pm.Data("place", (odds - odds.mean()) / unit, dims="example")
        of_site = center + scale * site
        pm.Deterministic("calibration_slope", 1 + of_site[:, 1] / unit, dims="group")
        pm.Deterministic("calibration_slope_new", 1 + (center + scale * new)[1] / unit)
        eta = log_odds + of_site[code, 0] + of_site[code, 1] * standardised
        pm.Deterministic("curve", pm.math.invlogit(eta), dims="example")
        stands_for, hits = pm.Data("weight", weight, dims="example"), actual * weight
        pm.Binomial("outcome", n=stands_for, logit_p=eta, observed=hits, dims="example")
    return model


def _log_odds(probability):
    with np.errstate(divide="ignore"):
        odds = np.log(probability) - np.log1p(-probability)
    finite = odds[np.isfinite(odds)]
    if not len(finite):
        return np.sign(odds)
    beyond = finite.std() or 1.0
    return np.clip(odds, finite.min() - beyond, finite.max() + beyond)
