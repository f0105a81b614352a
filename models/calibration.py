r"""Model for the calibration curve of probabilities of two classes.

.. math::

    \alpha &\sim \mathrm{Normal}(0, 3^2), \qquad \beta \sim \mathrm{Normal}(0, 2^2), \qquad
        \sigma \sim \mathrm{Rayleigh}(\texttt{spread}) \\
    w &= B \varepsilon, \qquad \varepsilon_k \sim \mathrm{Normal}(0, 1) \\
    \operatorname{logit} q(p) &= \operatorname{logit} p + \alpha
        + \beta \, \frac{\operatorname{logit} p - m}{s} + \sigma \, w(p) \\
    y \mid p &\sim \mathrm{Bernoulli}(q(p))

A forecast p has the outcome y, and :math:`q(p)` is the calibration curve. The log odds of the
forecasts have the mean m and the standard deviation s.

Parameters
----------
+------------------------+-----------------------------------------+----------------+--------------+
| symbol                 | meaning                                 | prior          | keyword      |
+========================+=========================================+================+==============+
| :math:`\alpha`,        | shift of the log odds                   | Normal(0, sd   | –            |
| ``level``              |                                         | 3)             |              |
+------------------------+-----------------------------------------+----------------+--------------+
| :math:`\beta`,         | change per standard deviation of the    | Normal(0, sd   | –            |
| ``slope``              | log odds                                | 2)             |              |
+------------------------+-----------------------------------------+----------------+--------------+
| :math:`\sigma`,        | scale of the bends                      | Rayleigh(2),   | ``spread=2`` |
| ``spread``             |                                         | or a function  |              |
+------------------------+-----------------------------------------+----------------+--------------+
| :math:`\varepsilon_k`, | standardised bends of the random walk w | Normal(0, sd   | –            |
| ``step``               |                                         | 1)             |              |
+------------------------+-----------------------------------------+----------------+--------------+
| :math:`B`, ``bends``   | random walk of second order at the      | fixed, see     | –            |
|                        | forecasts as a function of the bends    | Notes          |              |
+------------------------+-----------------------------------------+----------------+--------------+

When to use it
--------------
Use it to see whether a forecast of 0.8 comes true in eight of ten cases. Use it also for the
expected calibration error without bins.

When not to use it
------------------
* The curve has steps, for example because forecasts are rounded to few values: this model smooths
  them. The direct posterior then uses other bands, see below.
* The examples come from several sites: use `hierarchical_calibration`.
* There are more than two classes: use `dirichlet_calibration`.

Estimands
---------
* ``curve``, ``of="parameter"``: the measure in the population of examples.

Notes
-----
The walk w is defined at up to 20 knots and linear between them. The knots lie between the quantiles
of the log odds (weight 0.6) and an even grid (weight 0.4). The walk has no level and no slope, and
its variance has the geometric mean 1 over the knots.

The Rayleigh prior has density 0 at 0, so that bends are not smoothed away (Chung et al. 2013). With
a small :math:`\sigma` the model is a logistic recalibration (Cox 1958). If :math:`\alpha`,
:math:`\beta` and :math:`\sigma` are 0, the forecasts are perfectly calibrated.

The model is not conjugate. The direct posterior uses Laplace's approximation at each scale of a
grid, corrected by importance weights. If forecasts take few values, each has its own beta
posterior. If the curve seems to jump, the band allows for steps. Proper scores and the logistic
recalibration do not depend on this model: they are sampled by the Bayesian bootstrap.

Forecasts of exactly 0 and 1 are moved to one standard deviation beyond the other log odds. If the
population has another prevalence, or with importance weights, all log odds of ``curve`` are shifted
by one constant.

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45,
562-565. doi:10.1093/biomet/45.3-4.562

Chung, Y., Rabe-Hesketh, S., Dorie, V., Gelman, A. & Liu, J. (2013). A nondegenerate penalized
likelihood estimator for variance parameters in multilevel models. Psychometrika 78, 685-709.
doi:10.1007/s11336-013-9328-2

Austin, P. C. & Steyerberg, E. W. (2019). The Integrated Calibration Index (ICI) and related
metrics. Statistics in Medicine 38, 4051-4065. doi:10.1002/sim.8281
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr


def calibration(evidence: xr.Dataset, *, spread: float | Callable | None = None) -> pm.Model:
    """Model the outcomes of one classifier's forecasts with a smooth calibration curve.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``score`` (example), probabilities, ``actual`` (example), and the scalar coordinate
        ``positive``. Optional: ``weight`` (example), ``importance`` (example) and ``prevalence``.
    spread : float or callable, optional
        Mode > 0 of the Rayleigh prior of the scale of the bends. Default: 2. A function from a name
        to a PyMC variable is another prior for this scale.

    Returns
    -------
    pymc.Model
        Free variables ``level``, ``slope``, ``spread`` and ``step`` (bend). Deterministic ``curve``
        (example), the probability of the positive class given each forecast. Observed ``outcome``
        (example).

    Examples
    --------
    >>> import xarray as xr
    >>> data = {"score": ("example", [0.1, 0.2, 0.6, 0.9]), "actual": ("example", [0, 1, 0, 1])}
    >>> model = calibration(xr.Dataset(data, {"positive": 1}))
    >>> [variable.name for variable in model.free_RVs]
    ['level', 'slope', 'spread', 'step']
    """
    for dim in [name for name in ("fold", "group") if name in evidence]:
        raise ValueError(
            f"calibration supports one sample, but the evidence has {dim}s. Select one "
            f"{dim}, or use drop_vars({dim!r}) to treat all examples as one sample."
        )
    if "classifier" in evidence.dims:
        many = evidence["classifier"].values.tolist()
        raise ValueError(
            f"calibration supports one classifier; the evidence has {many}. Select one with "
            f"evidence.sel(classifier={many[0]!r}), or use bcm.summary, which evaluates all."
        )
    odds = _log_odds(np.asarray(evidence["score"], float).ravel())
    if len(np.unique(odds)) < 3:
        raise ValueError(
            "A calibration curve needs at least three different forecasts; got "
            f"{np.unique(evidence['score'])}. Use bcm.summary with brier or log_loss instead."
        )
    actual = (evidence["actual"].values == evidence["positive"].values).astype(float)
    weight = np.asarray(evidence["weight"] if "weight" in evidence else np.ones(len(odds)), float)
    share = np.linspace(0, 1, min(20, len(np.unique(odds))))
    even = odds.min() + (odds.max() - odds.min()) * share
    knots = 0.6 * np.quantile(odds, share) + 0.4 * even
    walk = _between(odds, knots) @ _walk(len(knots))
    coords = {"example": np.arange(len(odds)), "bend": np.arange(len(knots) - 2)}
    with pm.Model(coords=coords) as model:
        level = pm.Normal("level", 0, 3)
        slope = pm.Normal("slope", 0, 2)
        if callable(spread):
            scale = spread("spread")
        else:
            mode = 2 if spread is None else spread
            # A Weibull distribution of shape 2 is a Rayleigh distribution.
            scale = pm.Weibull("spread", alpha=2, beta=np.sqrt(2) * mode)
        step = pm.Normal("step", 0, 1, dims="bend")
        standardised = pm.Data("place", (odds - odds.mean()) / odds.std(), dims="example")
        bends = pm.Data("bends", walk, dims=("example", "bend"))
        log_odds = pm.Data("log_odds", odds, dims="example")
        shift = pm.Data("shift", _shift(evidence, actual, weight))
        eta = log_odds + level + slope * standardised + scale * bends @ step
        pm.Deterministic("curve", pm.math.invlogit(eta + shift), dims="example")
        stands_for, hits = pm.Data("weight", weight, dims="example"), actual * weight
        pm.Binomial("outcome", n=stands_for, logit_p=eta, observed=hits, dims="example")
    return model


def _log_odds(probability):
    with np.errstate(divide="ignore"):
        odds = np.log(probability) - np.log1p(-probability)
    finite = odds[np.isfinite(odds)]
    if not len(finite):
        return np.sign(odds)
    return np.clip(odds, finite.min() - finite.std(), finite.max() + finite.std())


def _shift(evidence, actual, weight):
    """Return the shift of the log odds for another prevalence, or for importance weights."""
    if "prevalence" in evidence.coords:
        share = float(evidence["prevalence"])
    elif "importance" in evidence:
        share = np.average(actual, weights=evidence["importance"].values)
    else:
        return 0.0
    return np.log(share / (1 - share)) - np.log(actual @ weight / ((1 - actual) @ weight))


def _between(odds, knots):
    """Return the weights (example, knot) of linear interpolation between the knots."""
    interval = np.clip(np.searchsorted(knots, odds) - 1, 0, len(knots) - 2)
    share = np.clip((odds - knots[interval]) / (knots[interval + 1] - knots[interval]), 0, 1)[
        :, None
    ]
    rows = np.eye(len(knots))
    return rows[interval] * (1 - share) + rows[interval + 1] * share


def _walk(knots):
    """Return the random walk of second order (knot, bend) as a function of independent bends."""
    second = np.diff(np.eye(knots), 2, axis=0)
    values, vectors = np.linalg.eigh(second.T @ second)
    shape = vectors[:, 2:] / np.sqrt(values[2:])
    return shape / np.exp(np.log((shape**2).sum(axis=1)).mean() / 2)
