r"""Model for the calibration of probabilities of more than two classes.

.. math::

    \alpha_j &\sim \mathrm{Normal}(0, 2^2), \qquad \beta \sim \mathrm{Normal}(0, 2^2) \\
    \sigma &\sim \mathrm{HalfNormal}(\texttt{spread}), \qquad b_{jl} \sim \mathrm{Normal}(0, 1) \\
    P(y = j \mid p) &\propto p_j \, \exp\Bigl(\alpha_j + \beta z_j + \sigma \sum_l b_{jl} z_l\Bigr)

A forecast p gives class j the probability :math:`p_j`, and y is the class that occurs. :math:`z_j`
is the standardised logarithm of :math:`p_j`.

Parameters
----------
+-------------------+----------------------------------------------+----------------+--------------+
| symbol            | meaning                                      | prior          | keyword      |
+===================+==============================================+================+==============+
| :math:`\alpha_j`, | shift of class j                             | Normal(0, sd   | –            |
| ``level``         |                                              | 2)             |              |
+-------------------+----------------------------------------------+----------------+--------------+
| :math:`\beta`,    | temperature common to all classes: forecasts | Normal(0, sd   | –            |
| ``slope``         | are too extreme or not extreme enough        | 2)             |              |
+-------------------+----------------------------------------------+----------------+--------------+
| :math:`\sigma`,   | scale of the dependence between classes      | HalfNormal(1), | ``spread=1`` |
| ``spread``        |                                              | or a function  |              |
+-------------------+----------------------------------------------+----------------+--------------+
| :math:`b_{jl}`,   | standardised effect of the forecast of class | Normal(0, sd   | –            |
| ``step``          | l on class j                                 | 1)             |              |
+-------------------+----------------------------------------------+----------------+--------------+

When to use it
--------------
Use it for the full calibration error, and to estimate how much a recalibration would gain.

When not to use it
------------------
* There are more than about twenty classes, because b has a row and a column for each class.
  Evaluate each class against the rest, or the highest probability. Both use the smooth curves of
  `calibration`.
* The calibration is not linear in the logarithms of the forecast: this model does not detect bends.

Estimands
---------
* ``curve``, ``of="parameter"``: the measure in the population of examples.

Notes
-----
This is the Dirichlet calibration of Kull et al. (2019), written as a departure from the forecast.
If :math:`\alpha`, :math:`\beta` and :math:`\sigma` are 0, the forecasts are perfectly calibrated.

The logarithms are centred over the classes, then over the examples, and divided by their standard
deviation. A forecast of exactly 0 is moved to one standard deviation of the logarithms below the
logarithm of the smallest other forecast.

The model is not conjugate. The direct posterior uses Laplace's approximation at each scale of a
grid, corrected by importance weights. With importance weights, ``curve`` is moved to the class
shares of the population.

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
        ``score`` (example, class), probabilities, ``actual`` (example). Optional: ``weight`` and
        ``importance`` (example).
    spread : float or callable, optional
        Scale > 0 of the half-normal prior of the dependence between classes. Default: 1. A function
        from a name to a PyMC variable is another prior for this scale.

    Returns
    -------
    pymc.Model
        Free variables ``level`` (class), ``slope``, ``spread`` and ``step`` (class, of).
        Deterministic ``curve`` (example, class), the probability of each class given each forecast.
        Observed ``outcome`` (example, class).

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
            f"dirichlet_calibration supports one sample, but the evidence has {dim}s. Select one "
            f"{dim}, or use drop_vars({dim!r}) to treat all examples as one sample."
        )
    if "classifier" in evidence.dims:
        many = evidence["classifier"].values.tolist()
        raise ValueError(
            f"dirichlet_calibration supports one classifier; the evidence has {many}. Select one: "
            f"evidence.sel(classifier={many[0]!r}), or use bcm.summary, which evaluates all."
        )
    labels = evidence["class"].values
    log_forecast = _logs(np.asarray(evidence["score"].transpose("example", "class"), float))
    actual = (evidence["actual"].values[:, None] == labels).astype(float)
    weight = np.asarray(
        evidence["weight"] if "weight" in evidence else np.ones(len(log_forecast)), float
    )
    centred = log_forecast - log_forecast.mean(axis=1, keepdims=True)
    centred = centred - centred.mean(axis=0)
    # If all forecasts are equal, the standard deviation is 0 up to rounding.
    centred = centred / (centred.std() if centred.std() > 1e-9 else 1)
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
    """Return the shift of the log probabilities of the classes for importance weights."""
    if "importance" not in evidence:
        return np.zeros(actual.shape[1])
    return np.log(evidence["importance"].values @ actual) - np.log(weight @ actual)
