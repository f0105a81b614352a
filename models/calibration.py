r"""A smooth calibration curve: what comes true where a probability is given.

.. math::

    \operatorname{logit} P(y = 1 \mid p) = \operatorname{logit} p + \alpha
        + \beta \, \frac{\operatorname{logit} p - m}{s} + \sigma \, w(p)

with the mean :math:`m` and the standard deviation :math:`s` of the forecasts' log odds,
:math:`\alpha \sim \mathrm{Normal}(0, 3)`, :math:`\beta \sim \mathrm{Normal}(0, 2)` and
:math:`\sigma \sim \mathrm{Rayleigh}(2)`, which keeps away from 0 (Chung et al. 2013), so that bends
are not smoothed away. The departure :math:`w` is a random walk of second order over 20 places
between the quantiles of the forecasts' log odds and even steps, a straight line between them,
without level and slope of its own and of variance 1 in the geometric mean over the places. Where
:math:`\sigma` is small the model is a logistic recalibration (Cox 1958); where all three are, the
forecasts are right.

Use it to see whether 0.8 means eight in ten, and for the expected calibration error without bins.
It is smooth: steps in the curve, as forecasts rounded to few values may have, it draws too soft.
The direct posterior gives each of few values a beta posterior of its own, and answers with a band
that holds steps where there may be one.
Proper scores and slope and intercept of the logistic recalibration do not lean on it: the direct
posterior draws them by the Bayesian bootstrap.

Where the evidence has another prevalence, or importance weights, the classes' forecasts are those
of the sample and ``curve`` is moved by the same log odds for all.

Not conjugate: the direct posterior takes Laplace's approximation at each scale of a grid and
corrects it by importance weights. Forecasts of exactly 0 and 1 are put one standard deviation
beyond the others.

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
    """Model the outcomes of one classifier's forecasts by a smooth calibration curve.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``score`` (example), probabilities; ``actual`` (example); scalar coord ``positive``; if
        there are any ``weight`` and ``importance`` (example), and the scalar coord ``prevalence``.
    spread : float or callable, optional
        Scale of the Rayleigh prior of the walk's scale, its mode, > 0, by default 2; or a
        function from a name to a PyMC variable, the scale itself.

    Returns
    -------
    pymc.Model
        Free variables ``level``, ``slope``, ``spread``, ``step`` (bend); ``curve`` (example), the
        probability of the positive class given each forecast; observed ``outcome`` (example).

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
            f"the model is of one sample, not of {dim}s. Expected forecasts of one classifier; "
            f"select a {dim}, or drop_vars({dim!r}) to take them for one sample."
        )
    if "classifier" in evidence.dims:
        many = evidence["classifier"].values.tolist()
        raise ValueError(
            f"the model is of one classifier: {many}. Expected the forecasts of one; select it: "
            f"evidence.sel(classifier={many[0]!r}), or ask bcm.summary, which answers all of them."
        )
    odds = _log_odds(np.asarray(evidence["score"], float).ravel())
    if len(np.unique(odds)) < 3:
        raise ValueError(
            f"a calibration curve needs forecasts that differ: {np.unique(evidence['score'])}. "
            "Expected three different ones; ask bcm.summary for brier or log_loss."
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
            scale = pm.Weibull("spread", alpha=2, beta=np.sqrt(2) * mode)  # Rayleigh's
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
    """Return by how much another prevalence, or weights, move the log odds of the population."""
    if "prevalence" in evidence.coords:
        share = float(evidence["prevalence"])
    elif "importance" in evidence:
        share = np.average(actual, weights=evidence["importance"].values)
    else:
        return 0.0
    return np.log(share / (1 - share)) - np.log(actual @ weight / ((1 - actual) @ weight))


def _between(odds, knots):
    """Return the weights of the knots on both sides of each forecast."""
    interval = np.clip(np.searchsorted(knots, odds) - 1, 0, len(knots) - 2)
    share = np.clip((odds - knots[interval]) / (knots[interval + 1] - knots[interval]), 0, 1)[
        :, None
    ]
    rows = np.eye(len(knots))
    return rows[interval] * (1 - share) + rows[interval + 1] * share


def _walk(knots):
    """Return the walk of second order at the knots as a function of independent steps."""
    second = np.diff(np.eye(knots), 2, axis=0)
    values, vectors = np.linalg.eigh(second.T @ second)
    shape = vectors[:, 2:] / np.sqrt(values[2:])
    return shape / np.exp(np.log((shape**2).sum(axis=1)).mean() / 2)
