"""
The direct sibling of `bayescm.models.dirichlet_calibration`: probabilities of many classes.

The population of forecasts and outcomes is drawn as that of two classes (`calibration`): by the
Bayesian bootstrap inside each class, with half an example at the lowest and at the highest forecast
of that class, and a Dirichlet distribution of the classes' shares. Each class against the rest, and
the highest probability, have the smooth curves of two classes; the whole forecast has the Dirichlet
calibration, in `bayescm.direct.probabilities.linear`.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.direct.calibration import Calibration
from bayescm.direct.probabilities.distance import least
from bayescm.direct.probabilities.linear import SCALE, Linear, logs_of
from bayescm.direct.probabilities.population import draw_shares
from bayescm.direct.probabilities.posterior import OfForecasts, said_of_exact
from bayescm.direct.roc.prevalence import class_weights
from bayescm.evidence.scored.probabilities import as_forecasts
from bayescm.evidence.scored.rescored import one_vs_rest, top_label
from bayescm.measures.forecasts import ClassForecasts, Forecasts, log_odds
from bayescm.validate import fail

_END = 0.5  # examples at each end of a class's own forecasts
_FEW = 20  # examples of a class from which on coverage was measured
_MOST = 20  # classes of which the whole forecast is recalibrated


class DirichletCalibration(OfForecasts):
    """
    The posterior of the forecasts of more than two classes.

    Attributes
    ----------
    labels : ndarray, shape (C,)
    probability : ndarray, shape (K, n, C)
    code : ndarray of int, shape (n,)
        The place of the class that came true.
    weight : ndarray, shape (n,)
        How many examples each one stands for.
    """

    most = 2000

    def __init__(self, evidence, spread=SCALE):
        self.evidence, self.spread = evidence, spread
        self.labels = evidence["class"].values
        score = evidence["score"].transpose(..., "example", "class").values
        self.probability = score.reshape(-1, *score.shape[-2:])
        places = {label: place for place, label in enumerate(self.labels.tolist())}
        self.code = np.array([places[each] for each in evidence["actual"].values.tolist()])
        given = evidence["weight"].values if "weight" in evidence else np.ones(len(self.code))
        self.weight = given.astype(float)
        self._totals = np.bincount(self.code, self.weight, len(self.labels))
        self._each = class_weights(evidence, self.weight, self.code, len(self.labels))

    def doubts(self) -> list[str]:
        """Say so where a class has few examples, or forecasts have no log odds."""
        few, exact = self._totals.argmin(), said_of_exact(self.evidence["score"].values)
        if self._totals[few] >= _FEW:
            return exact
        said = f"{self._totals[few]:.3g} examples of class {self.labels[few]}"
        return [f"{said} are few: the intervals may be too short.", *exact]

    def classes_of(self, measure):
        """Return the labels of a measure of each class against the rest, or None."""
        return self.labels if getattr(measure, "one_class", False) else None

    @cached_property
    def rest(self) -> list[Calibration]:
        """The posterior of each class against the rest."""
        return [Calibration(one_vs_rest(self.evidence, each)) for each in self.labels.tolist()]

    @cached_property
    def top(self) -> list[Calibration]:
        """The posterior of the highest probability of each classifier."""
        several = "classifier" in self.evidence.dims
        places = range(len(self.probability))
        every = [self.evidence.isel(classifier=k) for k in places] if several else [self.evidence]
        return [Calibration(top_label(each)) for each in every]

    @cached_property
    def linear(self) -> list[Linear]:
        """The Dirichlet calibration of each classifier."""
        if len(self.labels) > _MOST:
            todo = "ask for the measure of each class, or of the highest probability (_top_label)"
            what = "the whole forecast of so many classes is not recalibrated"
            raise fail(what, len(self.labels), f"{_MOST} classes at most", todo)
        shift = np.log(self._totals * self._each) - np.log(self._totals)
        given = self.code, self.weight, self.spread, shift
        return [Linear(logs_of(each), *given) for each in self.probability]

    @cached_property
    def _places(self):
        """Return which examples the units of the population are, (K, n + 2 C)."""
        ends = [self.probability.argmin(axis=1), self.probability.argmax(axis=1)]
        every = np.broadcast_to(np.arange(len(self.code)), self.probability.shape[:2])
        return np.concatenate([every, *ends], axis=1)

    def _taken(self, values):
        """Return values (K, n, ...) of the examples for the units of the population."""
        return np.stack([row[at] for row, at in zip(values, self._places, strict=True)])

    def population(self, size: int, rng: np.random.Generator) -> ClassForecasts:
        """Draw the population of forecasts and outcomes."""
        number = len(self.labels)
        code = np.concatenate([self.code, np.arange(number), np.arange(number)])
        weight = np.concatenate([self.weight, np.full(2 * number, _END)])
        share = rng.dirichlet(self._totals + 1 / number, size) * self._each
        shares = draw_shares(code, weight, share / share.sum(axis=1, keepdims=True), size, rng)
        curves = (
            partial(self._curve, size, rng),
            partial(self._top_curve, size, rng),
            partial(self._chances, size, rng),
        )
        return _population(self._taken(self.probability), code, shares, curves)

    def sampled(self) -> ClassForecasts:
        """Return the sample as a population, the forecasts for the curves."""
        seen = self.probability
        curves = (
            lambda place: seen[..., place],
            lambda place: seen[[place]].max(axis=-1),
            lambda: seen,
        )
        share = self.weight * self._each[self.code]
        return _population(seen, self.code, share[None] / share.sum(), curves)

    def _curve(self, size, rng, place):
        """Draw the curve of one class against the rest at the units, (size, K, u)."""
        odds = log_odds(self.probability[..., place])
        return self.rest[place].curves(self._taken(odds), size, rng)

    def _top_curve(self, size, rng, place):
        """Draw the curve of the highest probability of one classifier, (size, 1, u)."""
        odds = log_odds(self.probability[place].max(axis=-1))
        return self.top[place].curves(odds[None, self._places[place]], size, rng)

    def _chances(self, size, rng):
        """Draw the chances of all classes given the whole forecast, (size, K, u, C)."""
        drawn = []
        for each, places in zip(self.linear, self._places, strict=True):
            chosen = rng.choice(len(each.sample), size, replace=size > len(each.sample))
            drawn.append(each.chances(each.sample[chosen], each.logs[places]))
        return np.stack(drawn, axis=1)

    def least(self, measure: Any, prob: float) -> np.ndarray:
        """Return a distance from calibration of the nearest of the probable curves, (K, [C])."""
        if measure.form.whole:
            return np.array([self._least_whole(k, measure, prob) for k in range(len(self.linear))])
        formula = measure.formula
        if measure.average == "top_label":
            return np.concatenate([least(each, formula, prob) for each in self.top])
        values = np.stack([least(each, formula, prob) for each in self.rest], axis=-1)
        if not measure.average:
            return values
        share = self._totals * self._each
        weight = share / share.sum() if measure.average == "weighted" else 1 / len(share)
        return (values * weight).sum(axis=-1)

    def _least_whole(self, k, measure, prob):
        nearest = self.linear[k].nearest(prob)
        if nearest is None:
            return 0.0
        seen = self.sampled()
        chance = self.linear[k].chances(nearest[None], self.linear[k].logs)
        curves = (_no_curve, _no_curve, lambda: chance[:, None])
        own = _population(self.probability[[k]], self.code, seen.weight, curves)
        return float(measure(own).item())

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model, of one classifier."""
        if len(self.probability) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one classifier", self.names, "one", todo)
        found, scale, _ = self.linear[0].draw(size, rng)
        number = len(self.labels)
        step = found[:, number + 1 :].reshape(-1, number, number)
        level, slope = found[:, :number], found[:, number]
        return {"level": level, "slope": slope, "spread": scale, "step": step}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log of prior times likelihood of the variables of the PyMC model."""
        step = variables["step"].reshape(len(variables["step"]), -1)
        parts = [variables["level"], variables["slope"][:, None], step]
        return self.linear[0].log_density(np.concatenate(parts, axis=1), variables["spread"])


def _no_curve(place):
    raise NotImplementedError


def _population(
    units: np.ndarray, code: np.ndarray, shares: np.ndarray, curves: tuple[Callable, ...]
) -> ClassForecasts:
    """Put a population together: of a class, of the highest probability, and of all classes."""
    of_class, of_top, of_all = curves
    each = tuple(
        Forecasts(
            units[..., place], (code == place).astype(float), shares, partial(of_class, place)
        )
        for place in range(units.shape[-1])
    )
    right = (units.argmax(axis=-1) == code).astype(float)
    top = tuple(
        Forecasts(units[[k]].max(axis=-1), right[k], shares, partial(of_top, k))
        for k in range(len(units))
    )
    return ClassForecasts(units, code, shares, each, top, of_all)


def dirichlet_calibration(
    evidence: xr.Dataset, *, spread: float | None = None
) -> DirichletCalibration:
    """
    Return the posterior of probabilities of more than two classes.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_probabilities`, of more than two classes.
    spread : float, optional
        Standard deviation of the half-normal prior of the scale of what the forecast of one class
        says of another; by default 1.

    Returns
    -------
    DirichletCalibration

    Examples
    --------
    >>> import bayescm as bcm
    >>> rows = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]]
    >>> evidence = bcm.from_probabilities(["a", "b", "c", "b"], rows)
    >>> float(dirichlet_calibration(evidence).point(bcm.measures.resolve("brier")).round(3))
    0.385
    """
    evidence = as_forecasts(evidence)
    if "class" not in evidence.dims:
        todo = "leave model out, or pass model='calibration'"
        raise fail("two classes have a model of their own", ..., "more than two classes", todo)
    spread = SCALE if spread is None else spread
    if not spread > 0:
        raise fail("spread must be positive", spread, "a number > 0", "pass spread=1")
    return DirichletCalibration(evidence, float(spread))
