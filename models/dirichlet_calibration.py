r"""Calibration of more than two classes: the chances of all given the whole forecast.

.. math::

    P(y = j \mid p) \propto p_j \, \exp\Bigl(\alpha_j + \beta z_j + \sigma \sum_l b_{jl} z_l\Bigr)

with the logs :math:`z` of the forecast less their mean over the classes, less that over the
examples, and in units of their standard deviation. It is the Dirichlet calibration of Kull et al.
(2019), in the form of a departure from the forecast: :math:`\alpha_j \sim \mathrm{Normal}(0, 2)`
moves a class, :math:`\beta \sim \mathrm{Normal}(0, 2)` is one temperature for all (forecasts too
extreme or too timid), and :math:`b_{jl} \sim \mathrm{Normal}(0, 1)` is what else one class's
forecast says of another, of a scale :math:`\sigma \sim \mathrm{HalfNormal}(1)` that is learned.
Where all three are 0 the forecasts are right.

Use it for the full calibration error and for what recalibration would gain. It has a row and a
column for each class: beyond some twenty classes look at each class against the rest, or at the
highest probability, whose curves are smooth ones of the model ``calibration``. Bends that are not
linear in the logs of the forecast it does not see.

Not conjugate: the direct posterior takes Laplace's approximation at each scale of a grid and
corrects it by importance weights. A forecast of exactly 0 is put one standard deviation of the logs
below the smallest other one. With importance weights ``curve`` is moved to the population's shares
of the classes.

References
----------
Kull, M., Perello-Nieto, M., Kängsepp, M., Silva Filho, T., Song, H. & Flach, P. (2019). Beyond
temperature scaling: obtaining well-calibrated multi-class probabilities with Dirichlet calibration.
Advances in Neural Information Processing Systems 32.
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr


def dirichlet_calibration(
    evidence: xr.Dataset, *, spread: float | Callable | None = None
) -> pm.Model:
    """Model the outcomes of one classifier's forecasts of more than two classes.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``score`` (example, class), probabilities; ``actual`` (example); if there are any ``weight``
        and ``importance`` (example).
    spread : float or callable, optional
        Standard deviation of the half-normal prior of the scale of what classes say of each other,
        > 0, by default 1; or a function from a name to a PyMC variable, the scale itself.

    Returns
    -------
    pymc.Model
        Free variables ``level`` (class), ``slope``, ``spread``, ``step`` (class, of); ``curve``
        (example, class), the probability of each class given each forecast; observed ``outcome``
        (example, class).

    Examples
    --------
    >>> import xarray as xr
    >>> rows = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]]
    >>> data = {"score": (("example", "class"), rows), "actual": ("example", list("abcb"))}
    >>> model = dirichlet_calibration(xr.Dataset(data, {"class": list("abc")}))
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
    labels = evidence["class"].values
    log_forecast = _logs(np.asarray(evidence["score"].transpose("example", "class"), float))
    actual = (evidence["actual"].values[:, None] == labels).astype(float)
    weight = np.asarray(
        evidence["weight"] if "weight" in evidence else np.ones(len(log_forecast)), float
    )
    centred = log_forecast - log_forecast.mean(axis=1, keepdims=True)
    centred = centred - centred.mean(axis=0)
    centred = centred / (centred.std() if centred.std() > 1e-9 else 1)  # forecasts may be all alike
    coords = {"example": np.arange(len(log_forecast)), "class": labels, "of": labels}
    with pm.Model(coords=coords) as model:
        level = pm.Normal("level", 0, 2, dims="class")
        slope = pm.Normal("slope", 0, 2)
        if callable(spread):
            scale = spread("spread")
        else:
            scale = pm.HalfNormal("spread", 1 if spread is None else spread)
        step = pm.Normal("step", 0, 1, dims=("class", "of"))
        deviation = pm.Data("place", centred, dims=("example", "class"))
        log_forecasts = pm.Data("logs", log_forecast, dims=("example", "class"))
        shift = pm.Data("shift", _shift(evidence, actual, weight), dims="class")
        eta = log_forecasts + level + slope * deviation + scale * deviation @ step.T
        pm.Deterministic("curve", pm.math.softmax(eta + shift, axis=1), dims=("example", "class"))
        hits, stands_for = actual * weight[:, None], pm.Data("weight", weight, dims="example")
        chance = pm.math.softmax(eta, axis=1)
        pm.Multinomial("outcome", n=stands_for, p=chance, observed=hits, dims=("example", "class"))
    return model


def _logs(probability):
    with np.errstate(divide="ignore"):
        logs = np.log(probability)
    finite = logs[np.isfinite(logs)]
    return np.maximum(logs, finite.min() - finite.std())


def _shift(evidence, actual, weight):
    """Return by how much importance weights move the logs of the classes' chances."""
    if "importance" not in evidence:
        return np.zeros(actual.shape[1])
    return np.log(evidence["importance"].values @ actual) - np.log(weight @ actual)
