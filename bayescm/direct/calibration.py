"""
The direct sibling of `bayescm.models.calibration`: probabilities, their scores and calibration.

The population of forecasts and outcomes is drawn by the Bayesian bootstrap inside each class, with
half an example at the lowest and at the highest forecast of all (what a class may hold and has not
shown), and a beta prevalence. Of a class of few, n, each example stands for 1 - 4/n of one: means
then vary as the t distribution with n - 1 degrees of freedom does, and not as a normal one. Proper
scores and the logistic recalibration are functions of it, the same draws for all classifiers. The
calibration curve is smooth, in `bayescm.direct.probabilities.smooth`.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, partial

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayescm.direct.probabilities.distance import around, least
from bayescm.direct.probabilities.population import draw_shares, grouped
from bayescm.direct.probabilities.posterior import OfForecasts, said_of_exact
from bayescm.direct.probabilities.smooth import SCALE, Smooth
from bayescm.direct.roc.prevalence import class_weights
from bayescm.evidence.scored.probabilities import as_probabilities
from bayescm.measures.forecasts import Forecasts, log_odds
from bayescm.validate import fail

_END = 0.5  # examples at each end of the forecasts, in each class
_FEW = 20  # examples of a class from which on coverage was measured
_SOME, _LEAST = 200, 0.5  # examples that stand for less than one each, and for how much at least


class Calibration(OfForecasts):
    """
    The posterior of the forecasts of one or more classifiers on the same examples.

    Attributes
    ----------
    probability : ndarray, shape (K, n)
    outcome, weight : ndarray, shape (n,)
        1 for the positive class; how many examples each one stands for.
    """

    def __init__(self, evidence, spread=SCALE):
        self.evidence, self.spread = evidence, spread
        self.probability = np.atleast_2d(evidence["score"].transpose(..., "example").values)
        self.outcome = (evidence["actual"] == evidence["positive"]).values.astype(float)
        given = evidence["weight"].values if "weight" in evidence else np.ones(len(self.outcome))
        self.weight = given.astype(float)
        codes = self.outcome.astype(int)
        self._totals = np.bincount(codes, self.weight, 2)
        self.known = (
            evidence.coords["prevalence"].item() if "prevalence" in evidence.coords else None
        )
        share = self._totals * class_weights(evidence, self.weight, codes, 2)
        self.share = share[1] / share.sum() if self.known is None else self.known
        if len(self.probability) == 1:
            row, self.outcome, self.weight = grouped(self.probability[0], self.outcome, self.weight)
            self.probability = row[None]

    def doubts(self, of: str = "parameter") -> list[str]:
        """Say so where a class has few examples, or forecasts have no log odds or no mistake."""
        few, said = self._totals.min(), []
        if few < _FEW:
            side = "positive" if self._totals[1] < self._totals[0] else "negative"
            many = "example is" if few == 1 else "examples are"
            said = [f"{few:.3g} {side} {many} few: the intervals may be too short."]
        return said + self._apart() + said_of_exact(self.evidence["score"].values)

    def _apart(self):
        """Say so where forecasts tell the classes apart without a mistake."""
        negative, positive = (self.probability[:, self.outcome == each] for each in (0, 1))
        right = negative.max(axis=1) < positive.min(axis=1)
        right |= positive.max(axis=1) < negative.min(axis=1)
        if not right.any():
            return []
        named = zip(self.names or [""], right, strict=True)
        whose = ", ".join(str(name) for name, each in named if each)
        return [
            f"The forecasts{f' of {whose}' if whose else ''} tell the classes apart without a "
            "mistake: how large the slope of calibration is, the prior says alone."
        ]

    @cached_property
    def odds(self) -> np.ndarray:
        """The log odds of the forecasts, (K, n), finite."""
        return log_odds(self.probability)

    @cached_property
    def smooth(self) -> list[Smooth]:
        """The posterior of the curve of each classifier."""
        for row in self.probability:
            if len(np.unique(row)) < 3:
                todo = "ask for brier, log_loss or calibration_in_the_large"
                what = "a calibration curve needs forecasts that differ"
                raise fail(what, np.unique(row), "three different ones", todo)
        given = self.outcome, self.weight, self.spread, self._shift
        return [Smooth(row, *given) for row in self.odds]

    @property
    def _shift(self):
        """By how much the log odds of the population are above those of the sample."""
        return float(logit(self.share) - np.log(self._totals[1] / self._totals[0]))

    def _prevalence(self, size, rng):
        if self.known is not None:
            return np.full((size, 1), self.known)
        drawn = rng.beta(self._totals[1] + 0.5, self._totals[0] + 0.5, (size, 1))
        return expit(logit(drawn) + self._shift)

    @cached_property
    def shares(self) -> np.ndarray:
        """The share of each example in the population, (n,)."""
        shares = np.where(self.outcome == 1, self.share, 1 - self.share) * self.weight
        return shares / self._totals[self.outcome.astype(int)]

    @cached_property
    def _units(self):
        """Return examples and the ends of both classes: forecasts (K, u), outcomes, weights."""
        ends = np.stack([self.probability.min(axis=1), self.probability.max(axis=1)], axis=1)
        forecast = np.concatenate([self.probability, ends, ends], axis=1)
        outcome = np.concatenate([self.outcome, [0, 0, 1, 1]])
        weight = self.weight * self._worth[self.outcome.astype(int)]
        return forecast, outcome, np.concatenate([weight, [_END] * 4])

    @property
    def _worth(self):
        """For how much an example of each class stands: a mean of n varies as t with n - 1 does."""
        total = np.maximum(self._totals, 1)
        return np.where(total > _SOME, 1.0, np.maximum(1 - 4 / total, _LEAST))

    def population(self, size: int, rng: np.random.Generator) -> Forecasts:
        """Draw the population of forecasts and outcomes."""
        forecast, outcome, weight = self._units
        share = self._prevalence(size, rng)
        shares = draw_shares(outcome, weight, np.concatenate([1 - share, share], 1), size, rng)
        odds = np.concatenate([self.odds, *[self._ends(self.odds)] * 2], axis=1)
        curve = partial(self.curves, odds, size, rng)
        return Forecasts(forecast, outcome, shares, curve, pseudo=4)

    def curves(self, odds: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the curve of each classifier at log odds (K, u), (size, K, u)."""
        drawn = [
            expit(at + each.departure(*each.draw(size, rng)[:2], at))
            for each, at in zip(self.smooth, odds, strict=True)
        ]
        return np.stack(drawn, axis=1)

    def _ends(self, rows):
        return np.stack([rows.min(axis=1), rows.max(axis=1)], axis=1)

    def sampled(self) -> Forecasts:
        """Return the sample as a population, the forecasts for the curve."""
        probability = self.probability
        return Forecasts(probability, self.outcome, self.shares[None], lambda: probability[None])

    def least(self, measure: Callable, prob: float) -> np.ndarray:
        """Return a distance from calibration of the curve in the band nearest to it, (K,)."""
        return least(self, measure, prob)

    def band(
        self, places: np.ndarray, prob: float, *, simultaneous: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return band and median of each classifier's curve at probabilities (T,).

        Returns
        -------
        ends : ndarray, shape (K, T, 2)
        median : ndarray, shape (K, T)
        """
        ends, median = [], []
        for odds, drawn in self._departures(places):
            low, high = around(drawn, prob, simultaneous)
            ends.append(expit(odds[:, None] + np.stack([low, high], axis=1)))
            median.append(expit(odds + np.median(drawn, axis=0)))
        return np.stack(ends), np.stack(median)

    def departures(self, places: np.ndarray) -> np.ndarray:
        """Draw the largest distance of each curve from the diagonal at probabilities, (S, K)."""
        every = [np.abs(expit(odds + drawn) - places) for odds, drawn in self._departures(places)]
        return np.stack([each.max(axis=1) for each in every], axis=1)

    def _departures(self, places):
        """Give the log odds of probabilities and draws of the departure there, per classifier."""
        for each in self.smooth:
            odds = np.clip(logit(places), each.odds.min(), each.odds.max())
            yield odds, each.departure(*each.sample, odds)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model, of one classifier."""
        if len(self.smooth) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one classifier", self.names, "one", todo)
        found, scale, _ = self.smooth[0].draw(size, rng)
        return {"level": found[:, 0], "slope": found[:, 1], "spread": scale, "step": found[:, 2:]}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log of prior times likelihood of the variables of the PyMC model."""
        straight = np.stack([variables["level"], variables["slope"]], axis=-1)
        coefficients = np.concatenate([straight, variables["step"]], axis=-1)
        return self.smooth[0].log_density(coefficients, variables["spread"])


def calibration(evidence: xr.Dataset, *, spread: float | None = None) -> Calibration:
    """
    Return the posterior of probabilities: proper scores, calibration curve and what follows.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_probabilities`, of two classes. At the prevalence of
        :func:`bayescm.at_prevalence` the examples of each class keep their forecasts, and the log
        odds of the truth are higher or lower by the same for all.
    spread : float, optional
        Scale of the Rayleigh prior of the scale of the departure from a straight line, on the log
        odds; by default 2.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_probabilities([0, 0, 1, 1, 1], [0.1, 0.4, 0.3, 0.8, 0.9])
    >>> float(calibration(evidence).point(bcm.measures.resolve("brier")).round(4))
    0.142
    """
    evidence = as_probabilities(evidence)
    spread = SCALE if spread is None else spread
    if not spread > 0:
        raise fail("spread must be positive", spread, "a number > 0", "pass spread=2")
    return Calibration(evidence, float(spread))
