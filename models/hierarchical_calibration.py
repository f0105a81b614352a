r"""Model for the calibration of probabilities at several sites, partially pooled.

.. math::

    \alpha &\sim \mathrm{Normal}(0, 3^2), \qquad \beta \sim \mathrm{Normal}(0, 2^2) \\
    \tau_\alpha &\sim \mathrm{HalfNormal}(\texttt{spread}), \qquad
        \tau_\beta \sim \mathrm{HalfNormal}(\texttt{spread} / 2) \\
    \alpha_g &\sim \mathrm{Normal}(\alpha, \tau_\alpha^2), \qquad
        \beta_g \sim \mathrm{Normal}(\beta, \tau_\beta^2) \\
    \operatorname{logit} P(y = 1 \mid p, g) &= \operatorname{logit} p + \alpha_g
        + \beta_g \, \frac{\operatorname{logit} p - m}{s}

A forecast p at site g has the outcome y. The log odds of all forecasts have the mean m and the
standard deviation s.

Parameters
----------
+------------------------+--------------------------------+-------------------------+--------------+
| symbol                 | meaning                        | prior                   | keyword      |
+========================+================================+=========================+==============+
| :math:`\alpha, \beta`, | mean over the sites of the     | Normal(0, sd 3),        | –            |
| ``center``             | level and the slope            | Normal(0, sd 2)         |              |
+------------------------+--------------------------------+-------------------------+--------------+
| :math:`\tau_\alpha,    | standard deviations between    | HalfNormal(1),          | ``spread=1`` |
| \tau_\beta`,           | sites of the level and the     | HalfNormal(0.5), or a   |              |
| ``spread``             | slope                          | function                |              |
+------------------------+--------------------------------+-------------------------+--------------+
| ``site``               | standardised level and slope   | Normal(0, sd 1)         | –            |
|                        | of each site                   |                         |              |
+------------------------+--------------------------------+-------------------------+--------------+
| ``site_new``           | standardised level and slope   | Normal(0, sd 1)         | –            |
|                        | of a new site                  |                         |              |
+------------------------+--------------------------------+-------------------------+--------------+

When to use it
--------------
Use it to validate a prediction model at several hospitals, in several countries or years (Riley et
al. 2016). An interval that ignores the sites is too short, and a small site alone provides little
information. Sites are shrunk towards each other, the small ones most.

When not to use it
------------------
* There are fewer than about five sites: the spreads then depend more on their priors than on the
  sites.
* The curve of a site bends: this model assumes a straight line on the log-odds scale. Use
  `calibration` for one site at a time.

Estimands
---------
* ``curve`` of ``center`` and ``spread``, ``of="parameter"`` or ``"population"``: the mean of the
  measure over the population of sites.
* ``curve``, ``of="finite"``: the mean of the measure over the observed sites.
* ``curve`` of ``site_new``, ``of="new"``: the measure at a new site.
* ``curve``, ``of="group"``: the measure at each observed site.

Notes
-----
Every site has its own logistic recalibration (Cox 1958), with the slope :math:`1 + \beta_g / s`,
``calibration_slope``. If :math:`\alpha_g` and :math:`\beta_g` are 0, the forecasts are perfectly
calibrated at site g. The slope of a site with examples of one class, or with equal forecasts, is
estimated mainly from the other sites.

Special cases: with spreads of 0 all sites are one sample. With infinite spreads each site is
estimated separately.

The model is not conjugate. The direct posterior uses Laplace's approximation at each pair of
spreads of a grid, with importance weights for each site and for all sites together. Forecasts of
exactly 0 and 1 are moved to one standard deviation beyond the other log odds. The PyMC model is
non-centred.

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
        ``score`` (example), probabilities, ``actual`` and ``group`` (example), and the scalar
        coordinate ``positive``. Optional: ``weight`` (example).
    spread : float or callable, optional
        Scale > 0 of the half-normal prior for the standard deviation of the level between sites.
        Default: 1. The scale for the slope is half of it. A function from a name to a PyMC variable
        with the dim ``effect`` (level, slope) is another prior for these standard deviations.

    Returns
    -------
    pymc.Model
        Free variables ``center`` (effect), ``spread`` (effect), and the standardised effects
        ``site`` (group, effect) and ``site_new`` (effect). Deterministic ``calibration_slope``
        (group), ``calibration_slope_new``, and ``curve`` (example), the probability of the positive
        class given each forecast at its site. Observed ``outcome`` (example).

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
            f"hierarchical_calibration supports one classifier; the evidence has {many}. Select "
            f"one: evidence.sel(classifier={many[0]!r}), or use bcm.summary for all of them."
        )
    if "group" not in evidence:
        raise ValueError(
            "hierarchical_calibration needs a group for each example. Pass group= to "
            "from_probabilities, or use the model calibration."
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
