"""
Posterior of measures of binned probabilities or scores, by linearization.

The ledger of a monitor stores the number of examples of each class with a forecast in each bin
(`bayescm.evidence.binned_forecasts`). Forecasts are replaced by the midpoints p_b of their bins.
The shares s of the cells (class, bin) have the posterior

    s  ~  Dirichlet(counts + prior),      prior  =  (1 - p_b, p_b) / B  in bin b.

So the prior is worth one example over all B bins, and its forecasts are calibrated. A measure m of
probabilities is a smooth function of the shares. It is linearized at the mean shares, which is the
Bayesian form of the delta method. The posterior of m is then approximately normal on the scale of a
link g:

    g(m)  ~  Normal(g(m(s)), sigma),      sigma^2  =  sum_j s_j (d_j - sum_k s_k d_k)^2 / (N + 1).

Here s are the mean shares, d_j is the derivative of g(m) in the direction of cell j, and N is the
sum of counts and prior. The link is the log odds for measures between 0 and 1, the logarithm for
positive measures, and the identity otherwise. The coverage of the intervals is in
``docs/results/binned_intervals.csv``.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import pdtrc

from bayescm.distributions import dirichlet
from bayescm.distributions.transformed_normal import TransformedNormal, inverse_link, link
from bayescm.evidence.binned_forecasts import OF_FORECASTS, middles
from bayescm.measures.labelled import of_variable
from bayescm.measures.measure import CalibrationForm
from bayescm.measures.probabilities import Forecasts
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import fail

_PRIOR = 1.0  # weight of the prior over all bins, in examples
_SOME = ("auc", "brier", "calibration_in_the_large", "calibration_slope")
_OF_SCORES = ("auc",)
_FEWEST = 10  # with fewer examples of a class, the tails of the approximation are not reliable


def binned_forecasts(evidence: xr.DataArray, *, concentration: None = None) -> "BinnedForecasts":
    """
    Return the posterior of measures of binned forecasts.

    Parameters
    ----------
    evidence : DataArray, dims (..., actual, bin)
        Tables from `bayescm.online.forecast_table`, or sums of such tables.
    concentration : None
        Must be None, because the prior is fixed.

    Raises
    ------
    ValueError
        If `concentration` is not None.
    """
    if concentration is not None:
        todo = "leave `concentration` out"
        raise fail(
            "`concentration` has no effect on binned forecasts, which have their own prior",
            ...,
            "",
            todo,
        )
    return BinnedForecasts(evidence)


# Measures.


def monitored_measures(measures: Any, table: xr.DataArray) -> list:
    """
    Return the measures of binned forecasts to monitor.

    Parameters
    ----------
    measures : name, function, or sequence of these
    table : DataArray, dims (..., actual, bin)

    Raises
    ------
    ValueError
        If a measure is not defined for probabilities, needs a calibration curve, or averages over
        classes. If the forecasts are scores and a measure is not the area under the curve.
    """
    chances = table.attrs["chances"]
    resolved = of_variable(measures, OF_FORECASTS)
    for measure in resolved:
        name = measure.__name__
        if isinstance(measure.form, CalibrationForm) or (not measure.one_class and measure.average):
            raise fail(
                "{} is not available for binned forecasts", name, "", f"choose from {list(_SOME)}"
            )
    calibration = [m.__name__ for m in resolved if m.__name__ not in _OF_SCORES]
    if not chances and calibration:
        raise fail(
            "{} needs probabilities, but these are scores",
            calibration,
            list(_OF_SCORES),
            "monitor these measures",
        )
    return resolved


_ROOM = 4e6  # largest number of values in a temporary array


def evaluate(measure: Any, tables: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Return a measure of positive tables (T, 2, B), shape (T,)."""
    flat = tables.reshape(len(tables), 2 * len(middle))
    outcome, forecast = np.repeat([0.0, 1.0], len(middle)), np.tile(middle, 2)[None]
    step = max(1, int(_ROOM // flat.shape[1]))
    parts = [np.zeros(0)]
    for first in range(0, len(flat), step):
        weight = flat[first : first + step]
        share = weight / weight.sum(axis=1, keepdims=True)
        parts.append(measure(Forecasts(forecast, outcome, share, _no_curve))[:, 0])
    return np.concatenate(parts)


def _no_curve():
    raise NotImplementedError("the curve of binned forecasts")


# Posterior.

# Step h of the numerical derivative: the share of a cell changes from s to (1 - h) s + h.
_STEP = 1e-3


def prior_of_forecasts(table: xr.DataArray) -> np.ndarray:
    """Return prior pseudo-counts (2, B): one example with calibrated forecasts."""
    middle = middles(table)
    return np.stack([1 - middle, middle]) * _PRIOR / len(middle)


class BinnedForecasts(Posterior):
    """
    Posterior of measures of binned forecasts, separately for each table.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, bin)
        Tables from `forecast_table`.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> from bayescm.evidence.scores import forecast_table
    >>> table = forecast_table([0, 0, 1, 1] * 10, [0.1, 0.3, 0.4, 0.8] * 10)
    >>> BinnedForecasts(table).distribution(resolve("brier")).eti(0.95).round(2)
    array([0.09, 0.17])
    """

    measured_variable = OF_FORECASTS
    estimands = {"parameter": "theta"}  # noqa: RUF012
    has_model = cell_prior = False
    how = "linearized"

    def __init__(self, counts: xr.DataArray):
        self.counts, self.middle = counts, middles(counts)
        self.prior = prior_of_forecasts(counts)
        self.concentration = counts.values + self.prior  # (..., 2, B)

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords of the evidence that results keep."""
        dims, coords = self.counts.dims[:-2], self.counts.coords.variables
        remaining = {name: coord for name, coord in coords.items() if {*coord.dims} <= {*dims}}
        return LabelTemplate(remaining, dims, self.counts.shape[:-2])

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples of each member of the batch."""
        return self.template.to_dataarray(self.counts.values.sum(axis=(-2, -1)))

    @property
    def enough(self) -> np.ndarray:
        """Whether each class has enough examples for tail probabilities, (...)."""
        return (self.counts.values.sum(axis=-1) >= _FEWEST).all(axis=-1)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about the latest table."""
        latest = self.counts[(-1,) * (self.counts.ndim - 2)]
        cautions = [*_few(latest), *_coarse(latest), *_outermost(latest)]
        return ["; ".join(cautions)] if cautions else []

    def exact_distribution(
        self, measure: Any, *, of: str = "parameter", n: Any = None
    ) -> "LinearizedMeasure":
        """Return the linearized distribution of a measure, shape (...)."""
        low, high = measure.range
        bounds = (0, 1) if (low, high) == (0, 1) else (0, np.inf) if low == 0 else (-np.inf, np.inf)
        mu, sigma = self._linearized(measure, bounds)
        return LinearizedMeasure(mu, sigma, bounds)

    def _linearized(self, measure, bounds):
        """Return the mean and standard deviation of a measure on the scale of its link."""
        tables = self._flat
        mu = link(evaluate(measure, tables, self.middle), bounds)
        sigma = np.zeros(len(tables))
        step = max(1, int(_ROOM // tables[0].size ** 2))
        for first in range(0, len(tables), step):
            rows = slice(first, first + step)
            concentration = tables[rows].reshape(len(tables[rows]), -1)
            total = concentration.sum(axis=1, keepdims=True)
            share = concentration / total
            moved = (1 - _STEP) * share[:, None] + _STEP * np.eye(share.shape[1])
            values = evaluate(measure, moved.reshape(-1, *tables.shape[1:]), self.middle)
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = (link(values, bounds).reshape(share.shape) - mu[rows, None]) / _STEP
            mean = (share * slope).sum(axis=1, keepdims=True)
            variance = (share * (slope - mean) ** 2).sum(axis=1) / (total[:, 0] + 1)
            sigma[rows] = np.sqrt(variance)
        return self._shaped(mu), self._shaped(sigma)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value of a measure at the posterior mean of the shares."""
        self.resolve_estimand(of)
        return self._shaped(evaluate(measure, self._flat, self.middle))

    def if_right(self, measure: Callable) -> np.ndarray:
        """Return the value that a measure would have if the forecasts were calibrated."""
        right = self._flat.sum(axis=-2, keepdims=True) * np.stack([1 - self.middle, self.middle])
        return self._shaped(evaluate(measure, right, self.middle))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ..., 2, B) of the shares."""
        return {"theta": dirichlet.draw(self.concentration, size, rng, axes=2)}

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample several measures jointly, from the shares."""
        theta = self.variables(size, rng)["theta"]
        tables = theta.reshape(-1, *theta.shape[-2:])
        values = [evaluate(measure, tables, self.middle) for measure in measures]
        return [draws.reshape(theta.shape[:-2]) for draws in values]

    @property
    def _flat(self):
        return self.concentration.reshape(-1, *self.concentration.shape[-2:])

    def _shaped(self, values):
        return values.reshape(self.counts.shape[:-2])


class LinearizedMeasure(TransformedNormal):
    """Measure that is approximately normal on the scale of its link."""

    how = "linearized"
    accurate_tails = True

    def mean(self) -> np.ndarray:
        """
        Return the value of the measure at the mean shares.

        For the Brier score, this is the posterior mean. For the area under the curve, it is nearly
        the posterior mean. The mean of the normal approximation differs from this value by a term
        of the order of its variance.
        """
        return inverse_link(self.mu, self.bounds)


# Cautions.

_FEW = 20  # with fewer examples of a class, intervals are too short
_SHARED_PAIRS = 0.1  # largest proportion of pairs of a positive and a negative that may share a bin
# Largest mean of the greatest possible distance between a forecast and the midpoint of its bin.
_FAR = 0.03
# A caution is added if several forecasts in the first or last bin are wrong, and their number has a
# smaller tail probability than this at the largest error rate that a forecast in the bin implies.
_UNLIKELY = 0.01


def _few(table):
    totals = zip(table["actual"].values.tolist(), table.values.sum(axis=-1), strict=True)
    rare = ", ".join(f"{label} ({n:.4g})" for label, n in totals if n < _FEW)
    if not rare:
        return []
    return [
        (f"fewer than {_FEW} examples of {rare}: intervals from binned forecasts may be too short")
    ]


def _coarse(table):
    """Return a caution if the bins are too wide to separate the forecasts."""
    negative, positive = table.values.astype(float)
    pairs = positive.sum() * negative.sum()
    shared = positive @ negative / pairs if pairs else 0.0
    faults = []
    if shared > _SHARED_PAIRS:
        faults.append(f"{100 * shared:.3g}% of the pairs of a positive and a negative share a bin")
    if table.attrs["chances"]:
        half_widths, total = np.diff(table.attrs["edges"]) / 2, negative + positive
        distance = total @ half_widths / max(total.sum(), 1)
        if distance > _FAR:
            faults.append(
                f"forecasts may be {distance:.2g} from the middles of their bins on average"
            )
    if not faults:
        return []
    why = "the results are for the bins, and can differ from results for the forecasts"
    todo = "a monitor with more edges where forecasts are frequent can distinguish them"
    return [f"{' and '.join(faults)}: {why} ({todo})"]


def _outermost(table):
    """Return cautions if forecasts near 0 or 1 are wrong more often than their bin allows."""
    if not table.attrs["chances"]:
        return []
    edges, (negative, positive) = table.attrs["edges"], table.values.astype(float)
    sides = (
        (f"below {edges[1]:.4g}", positive[0], negative[0], edges[1]),
        (f"of {edges[-2]:.4g} and more", negative[-1], positive[-1], 1 - edges[-2]),
    )
    return [
        (
            f"{wrong:.4g} of the {wrong + right:.4g} forecasts {where} are wrong, more than "
            "any of them implies. The slope depends on where in their bin these forecasts "
            "are (exact 0 and 1 are placed in its middle)"
        )
        for where, wrong, right, most in sides
        if wrong > 1 and pdtrc(wrong - 1, (wrong + right) * most) < _UNLIKELY
    ]
