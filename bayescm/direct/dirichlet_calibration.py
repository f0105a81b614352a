"""
The direct sibling of `bayescm.models.dirichlet_calibration`: probabilities of many classes.

The population of forecasts and outcomes is drawn by the Bayesian bootstrap: every example has a
gamma weight w_i ~ Gamma(1), and pseudo-examples of each class c, one at its lowest forecast and one
at its highest, have w ~ Gamma(1/(2C)): one example in all, however many classes there are. Scores
of the pseudo-examples lie within those of the examples (`mean_score`).

A class against the rest needs more. The mean of n_c numbers varies by s^2/n_c, but under the
Bayesian bootstrap only by s^2 (n_c - 1) / n_c / (n_c + 1); with weights of Gamma(1 - 2/n_c) it
varies by s^2/n_c. They are a part of the weights above (a Gamma(1) is Gamma(a) + Gamma(1 - a)). The
interval of one class has the prior of two classes, half an example at each of its ends. In a mean
over the classes such pulls, small next to the interval of one class, would all go the same way and
add up: there all classes share an eighth of an example at either end.

Each class against the rest, and the highest probability, have the smooth curves of two classes; the
whole forecast has the Dirichlet calibration, in `bayescm.direct.probabilities.linear`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.direct.calibration import Calibration
from bayescm.direct.probabilities.distance import least
from bayescm.direct.probabilities.linear import SCALE, Linear, logs_of
from bayescm.direct.probabilities.population import draw_gammas
from bayescm.direct.probabilities.posterior import OfForecasts, said_of_exact
from bayescm.direct.roc.prevalence import class_weights
from bayescm.evidence.scores import as_forecasts, one_vs_rest, top_label
from bayescm.measures.probabilities import ClassForecasts, Forecasts, log_odds
from bayescm.validate import fail

_END = 0.5  # examples at each end of the forecasts: in all of the classes, or of one alone
# The same in all of the classes that a mean is taken over: half an example made intervals of the
# mean area up to 2.2 times as long as the t interval of 100 examples of ten classes, an eighth 1.5.
_AVERAGED = 0.125
_LEAST = 0.1  # shape of a weight in classes of one or two examples, as a gamma's must be positive
_MANY = 100  # examples of a class whose mean the plain Bayesian bootstrap spreads by 1 % too little
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

    def doubts(self, of: str = "parameter") -> list[str]:
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
        classes = np.arange(number)
        code = np.concatenate([self.code, classes, classes])
        total = self._totals[self.code]
        part = np.where(total < _MANY, np.maximum(1 - 2 / total, _LEAST), 1.0)
        inside = draw_gammas(self.weight * part, size, rng)  # of a class, seen by itself
        example = inside + draw_gammas(self.weight * (1 - part), size, rng)
        pseudo = rng.standard_gamma(_END / number, (size, 2 * number))
        weight = np.concatenate([example, pseudo], axis=1) * self._each[code]
        weight /= weight.sum(axis=1, keepdims=True)
        taken = self._taken(self.probability)

        def one_vs_rest(place, *, averaged=False):
            of_class = code == place
            ends = rng.standard_gamma(_AVERAGED / number if averaged else _END, (size, 2))
            own = np.concatenate([inside[:, self.code == place], ends], axis=1)
            shares = weight.copy()
            share = shares[:, of_class].sum(axis=1, keepdims=True)
            shares[:, of_class] = own * (share / own.sum(axis=1, keepdims=True))
            curve = partial(self._curve, size, rng, place)
            return Forecasts(taken[..., place], of_class.astype(float), shares, curve, 2 * number)

        top = self._of_highest(taken, code, weight, partial(self._top_curve, size, rng))
        chances = partial(self._chances, size, rng)
        return ClassForecasts(taken, code, weight, one_vs_rest, top, chances, 2 * number)

    def sampled(self) -> ClassForecasts:
        """Return the sample as a population, the forecasts for the curves."""
        seen = self.probability
        share = self.weight * self._each[self.code]
        share = share[None] / share.sum()

        def one_vs_rest(place, *, averaged=False):
            outcome = (self.code == place).astype(float)
            return Forecasts(seen[..., place], outcome, share, lambda: seen[None, ..., place])

        top = self._of_highest(seen, self.code, share, lambda k: seen[None, [k]].max(axis=-1))
        return ClassForecasts(seen, self.code, share, one_vs_rest, top, lambda: seen[None])

    def _of_highest(self, forecast, code, weight, curve):
        """Return the highest probability of each classifier, and whether that class came true."""
        right = (forecast.argmax(axis=-1) == code).astype(float)
        pseudo = forecast.shape[1] - len(self.code)
        return tuple(
            Forecasts(forecast[[k]].max(axis=-1), right[k], weight, partial(curve, k), pseudo)
            for k in range(len(forecast))
        )

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
        chance = self.linear[k].chances(nearest[None], self.linear[k].logs)
        sample = replace(
            self.sampled(),
            probability=self.probability[[k]],
            recalibrated=lambda: chance[:, None],
        )
        return float(measure(sample).item())

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
