"""
The direct sibling of `bayescm.models.calibration`: probabilities, their scores and calibration.

The population of forecasts and outcomes is drawn by the Bayesian bootstrap inside each class, with
half an example at the lowest and at the highest forecast of all (what a class may hold and has not
shown), and a beta prevalence. Of a class of few, n, each example stands for 1 - 4/n of one: means
then vary as the t distribution with n - 1 degrees of freedom does, and not as a normal one. Proper
scores and the logistic recalibration are functions of it, the same draws for all classifiers. The
calibration curve is smooth, in `bayescm.direct.probabilities.smooth`; of few forecast values each
has a beta posterior of its own. The band is that of the smooth curve, or one of
`bayescm.direct.probabilities.bands` where forecasts take few values or the curve may have a step.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property, partial

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayescm.direct.probabilities import bands
from bayescm.direct.probabilities.distance import around, least
from bayescm.direct.probabilities.population import draw_shares, grouped
from bayescm.direct.probabilities.posterior import OfForecasts, said_of_exact
from bayescm.direct.probabilities.smooth import SCALE, Smooth
from bayescm.direct.probabilities.steps import log_bayes_factors
from bayescm.direct.roc.prevalence import class_weights
from bayescm.distributions.discrete import Empirical
from bayescm.evidence.scores import as_probabilities
from bayescm.measures.measure import Curved
from bayescm.measures.probabilities import Forecasts, log_odds
from bayescm.validate import fail

_END = 0.5  # examples at each end of the forecasts, in each class
_FEW = 20  # examples of a class from which on coverage was measured
_SOME, _LEAST = 200, 0.5  # examples that stand for less than one each, and for how much at least
# Where a step is more probable than this times the share by which the band that holds steps is
# longer, that band answers: at even odds where it is half as long again. Chosen by simulation among
# 1.7, 2, 2.5, 3.3 and 4 as the largest that recognises steps in .88 or more of the data sets of 150
# or more where the smooth band holds less than .9.
_DEARER = 2.0
# A rising curve leaves the isotonic band at no more than this share of the examples, where the
# smooth curve is too soft for a step: .08 at most in 9 of 10 simulated data sets of rising steps.
# Curves that fall from .7 to .3 left it at .58 (60 examples) to all of them (500), in the median.
_OUTSIDE = 0.2
_MANY = 2000  # examples that this was simulated with
_DRAWS = 4000
# Log Bayes factor of a step from which on measures of the smooth curve are warned of: "positive"
# evidence (Kass & Raftery 1995). Of smooth curves .2 at most had so much in simulations.
_POSITIVE = np.log(3)
_USUAL = 0.95  # probability of the bands that are compared to choose one


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
        self._examples = self.probability, self.outcome, self.weight  # before they are put together
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

    def _of_those(self, chosen):
        """Return " of a, b", the classifiers that are chosen (K,); nothing of a single one."""
        if self.names is None:
            return ""
        names = [str(name) for name, one in zip(self.names, chosen, strict=True) if one]
        return f" of {', '.join(names)}"

    def _apart(self):
        """Say so where forecasts tell the classes apart without a mistake."""
        negative, positive = (self.probability[:, self.outcome == each] for each in (0, 1))
        right = negative.max(axis=1) < positive.min(axis=1)
        right |= positive.max(axis=1) < negative.min(axis=1)
        if not right.any():
            return []
        return [
            f"The forecasts{self._of_those(right)} tell the classes apart without a "
            "mistake: how large the slope of calibration is, the prior says alone."
        ]

    @cached_property
    def odds(self) -> np.ndarray:
        """The log odds of the forecasts, (K, n), finite."""
        return log_odds(self.probability)

    @property
    def smooth(self) -> list[Smooth]:
        """The posterior of the smooth curve of each classifier."""
        for row in self.probability:
            if len(np.unique(row)) < 3:
                todo = "ask for brier, log_loss or calibration_in_the_large"
                what = "a calibration curve needs forecasts that differ"
                raise fail(what, np.unique(row), "three different ones", todo)
        return self._smooth

    @cached_property
    def _smooth(self):
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
        drawn = [self._curve(place, at, size, rng) for place, at in enumerate(odds)]
        return np.stack(drawn, axis=1)

    def _curve(self, place, odds, size, rng):
        """Draw one curve, smooth, or of few values each by itself with Jeffreys' prior."""
        each = self.smooth[place]
        if self.methods[place] != "binomial":
            return expit(odds + each.departure(*each.draw(size, rng)[:2], odds))
        probability, hits, total = self.tally(place)
        known = np.clip(logit(probability), each.odds.min(), each.odds.max())
        index = np.searchsorted((known[1:] + known[:-1]) / 2, odds)
        shares = rng.beta(hits + 0.5, total - hits + 0.5, (size, len(hits)))
        return self._moved(shares)[0][:, index]

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
        self,
        places: np.ndarray,
        prob: float,
        *,
        simultaneous: bool = True,
        method: str | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return band and estimate of each classifier's curve at probabilities (T,).

        By one method, or the one that `methods` has. The binomial band is of the forecasts' values,
        and NaN elsewhere.

        Returns
        -------
        ends : ndarray, shape (K, T, 2)
        estimate : ndarray, shape (K, T)
        """
        every = [
            self._band(place, method or self.methods[place], places, prob, simultaneous)
            for place in range(len(self.probability))
        ]
        ends, estimate = zip(*every, strict=True)
        return np.stack(ends), np.stack(estimate)

    def _band(self, place, method, places, prob, simultaneous):
        """Return band (T, 2) and estimate (T,) of one classifier by one method."""
        if method == "smooth":
            return self._smooth_band(place, places, prob, simultaneous)
        probability, hits, total = self.tally(place)
        if method == "isotonic":
            return self._moved(*bands.isotonic(probability, hits, total, places, prob))
        if method == "grouped":
            probability, hits, total = bands.in_groups(probability, hits, total)
        ends, estimate = self._moved(*bands.binomial(hits, total, prob, simultaneous))
        index = np.maximum(np.searchsorted(probability, places + 1e-9, side="right") - 1, 0)
        ends, estimate = ends[index], estimate[index]
        if method == "binomial":
            elsewhere = ~np.isclose(probability[index], places, rtol=0, atol=1e-9)
            ends, estimate = (np.where(elsewhere, np.nan, each.T).T for each in (ends, estimate))
        return ends, estimate

    def _moved(self, *shares):
        """Return shares of the positive class in the sample as those in the population."""
        return [expit(logit(each) + self._shift) for each in shares]

    def _smooth_band(self, place, places, prob, simultaneous):
        odds, drawn = self._departure(place, places)
        low, high = around(drawn, prob, simultaneous)
        ends = expit(odds[:, None] + np.stack([low, high], axis=1))
        return ends, expit(odds + np.median(drawn, axis=0))

    def tally(self, place: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the distinct forecasts of a classifier, and positives and examples of each."""
        rows, outcome, weight = self._examples
        probability, index = np.unique(rows[place].round(9), return_inverse=True)
        return probability, np.bincount(index, weight * outcome), np.bincount(index, weight)

    @cached_property
    def methods(self) -> list[str]:
        """
        How the band of each classifier's curve is made.

        ``binomial`` where forecasts take few values, each of which has limits of its own;
        ``isotonic`` where a curve that never falls may have a step; ``grouped``, of means of groups
        of neighbours, where a curve that falls is more probable to have one than not; ``smooth``
        elsewhere. Whether a rising curve may have one is a matter of its Bayes factor and of what
        the isotonic band costs in length.
        """
        return [self._method(place) for place in range(len(self.probability))]

    @cached_property
    def _log_step(self):
        """The log Bayes factors of a rising and of a falling step, (K, 2); 0 of few values."""
        found = np.zeros((len(self.probability), 2))
        for place, smooth in enumerate(self._smooth):
            probability, hits, total = self.tally(place)
            if not bands.few_values(total):
                odds = np.clip(logit(probability), smooth.odds.min(), smooth.odds.max())
                found[place] = log_bayes_factors(smooth, odds, hits, total)
        return found

    def steps(self) -> list[str]:
        """Say so where a curve seems to have a step, which the smooth one draws too soft."""
        stepped = (self._log_step > _POSITIVE).any(axis=1)
        if not stepped.any():
            return []
        return [
            f"The calibration curve{self._of_those(stepped)} seems to have a step, which "
            "the smooth one draws too soft: its distance from the diagonal is larger."
        ]

    def drawn(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws; warn where a measure of the curve misses a step."""
        if isinstance(getattr(measure, "form", None), Curved):
            for said in self.steps():
                warnings.warn(f"{measure.__name__}: {said}", stacklevel=2)
        return super().drawn(measure, draws)

    def _method(self, place):
        probability, _, total = self.tally(place)
        if bands.few_values(total):
            return "binomial"
        reached = np.cumsum(total) / total.sum()
        places = probability[np.searchsorted(reached, np.linspace(0.01, 0.99, 50))]
        ends, middle = self._band(place, "smooth", places, _USUAL, True)
        low, high = self._band(place, "isotonic", places, _USUAL, True)[0].T
        rising, falling = self._log_step[place]
        outside = ((middle < low) | (middle > high)).mean()
        # Few examples seldom make it leave the band by much: then a fall has to be likelier too. Of
        # many it is too soft next to a rising step as well, but a fall leaves no rising curve.
        falls = outside > 0 and falling > rising
        falls |= (low > high).any() or (outside > _OUTSIDE and total.sum() <= _MANY)
        if falls:
            return "grouped" if np.logaddexp(rising, falling) > np.log(2) else "smooth"
        longer = (high - low).mean() / np.ptp(ends, axis=1).mean() - 1
        return "isotonic" if longer <= 0 or rising > np.log(_DEARER * longer) else "smooth"

    def departures(self, places: np.ndarray) -> np.ndarray:
        """Draw the largest distance of each curve from the diagonal at probabilities, (S, K)."""
        every = [self._largest(place, places) for place in range(len(self.probability))]
        return np.stack(every, axis=1)

    def _largest(self, place, places):
        probability, hits, total = self.tally(place)
        if self.methods[place] != "binomial":
            odds, drawn = self._departure(place, places)
            return np.abs(expit(odds + drawn) - places).max(axis=1)
        # Jeffreys' prior of each value: the curve is that of the values, with nothing in between.
        inside = (places.min() <= probability) & (probability <= places.max())
        size = _DRAWS, int(inside.sum())
        drawn = np.random.default_rng(0).beta(
            hits[inside] + 0.5, (total - hits)[inside] + 0.5, size
        )
        return np.abs(self._moved(drawn)[0] - probability[inside]).max(axis=1)

    def _departure(self, place, places):
        """Return the log odds of probabilities and draws of the departure of a curve there."""
        each = self._smooth[place]
        odds = np.clip(logit(places), each.odds.min(), each.odds.max())
        return odds, each.departure(*each.sample, odds)

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
