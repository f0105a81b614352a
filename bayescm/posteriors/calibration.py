r"""
The direct posterior of `bayescm.models.calibration`: probabilities, their scores and calibration.

**The population** of forecasts and outcomes is drawn by the Bayesian bootstrap inside each class
(`bayescm.inference.bayesian_bootstrap`), with half an example at the lowest and at the highest
forecast of all (what a class may hold and has not shown), and a beta prevalence. Of a class of few,
n, each example stands for 1 - 4/n of one: means then vary as the t distribution with n - 1 degrees
of freedom does, and not as a normal one.
Proper scores and the logistic recalibration are functions of it, the same draws for all
classifiers.

**The curve** is smooth. The log odds of the truth are those of the forecast plus a departure,

.. math::

    \operatorname{logit} P(y = 1 \mid p) = \operatorname{logit} p + a + b z(p) + s \, h(p)^T R \, w,
    \qquad w \sim N(0, I),

a level, a slope (z is the standardised log odds) and a random walk of second order (shape R) over
knots among the forecasts, joined by straight lines (h), whose scale s is learned. On a grid of
scales the coefficients have Laplace's approximation, whose draws are weighted and resampled
(`bayescm.inference.nested_laplace`). The sums over the forecasts are Gauss's quadrature of these
very forecasts between the knots (`gauss_nodes`). With few forecast values, each has a separate beta
posterior.

**The band** is that of the smooth curve, or one of `bayescm.posteriors.calibration_bands` where
forecasts take few values or the curve may have a step. Whether it has one is a matter of a Bayes
factor. The other model adds :math:`\gamma \, 1(p > c)` with :math:`\gamma \sim N(0, g^2)` and a
cut :math:`c` that is uniform over the ranks of the forecasts. At the mode of the smooth curve let
:math:`U` be the score of :math:`\gamma` and :math:`V` its information once the coefficients are
integrated out (Laplace); then

.. math::

    \log B(c) = \frac{U^2}{2 (V + g^{-2})} - \frac{1}{2} \log(1 + g^2 V).

At the most probable cut of each scale Laplace's approximation is made again around the mode with
the step, and what it differs by corrects all cuts.

References
----------
Kass, R. E. & Raftery, A. E. (1995). Bayes factors. Journal of the American Statistical Association
90, 773-795. doi:10.1080/01621459.1995.10476572
"""

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit, log_ndtr, logit, logsumexp

from bayescm.distributions.empirical import Empirical
from bayescm.evidence.scores import as_probabilities
from bayescm.inference import bayesian_bootstrap, laplace, nested_laplace
from bayescm.measures.measure import CalibrationForm
from bayescm.measures.probabilities import Forecasts, in_blocks, log_odds
from bayescm.posteriors import calibration_bands, heavy_weights
from bayescm.posteriors.forecasts import OfForecasts, exact_forecast_caveats, grouped
from bayescm.posteriors.roc.prevalence import class_weights
from bayescm.validate import fail

# The prior, as in the model.
LEVEL = 3.0  # standard deviation of the level a
SLOPE = 2.0  # standard deviation of the slope b
SCALE = 2.0  # scale of the Rayleigh prior of s
SCALES = np.geomspace(0.03, 6.0, 13)  # the grid of s
KNOTS = 20  # of the walk, at most
_EVEN_SHARE = 0.4  # how far knots are evenly spread rather than at quantiles of the forecasts

_FEWEST_VALUES = 3  # different forecasts that a smooth curve needs
_END_EXAMPLES = 0.5  # examples at each end of the forecasts, in each class
_FEW_EXAMPLES = 20  # examples of a class from which on coverage was measured
_STUDENT_EXAMPLES = 200  # examples of a class above which 1 - 4/n is treated as 1
_LEAST_SHAPE = 0.5  # replaces a smaller 1 - 4/n, with fewer than eight examples
# Where a step is more probable than this times the share by which the band that holds steps is
# longer, that band answers: at even odds where it is half as long again. Chosen by simulation among
# 1.7, 2, 2.5, 3.3 and 4 as the largest that recognises steps in .88 or more of the data sets of 150
# or more where the smooth band holds less than .9.
_LENGTH_PENALTY = 2.0
# A rising curve leaves the isotonic band at no more than this share of the examples, where the
# smooth curve is too soft for a step: .08 at most in 9 of 10 simulated data sets of rising steps.
# Curves that fall from .7 to .3 left it at .58 (60 examples) to all of them (500), in the median.
_OUTSIDE_SHARE = 0.2
_SIMULATED_EXAMPLES = 2000  # the most that this was simulated with
_DRAWS = 4000  # of a curve
# Log Bayes factor of a step from which on measures of the smooth curve are warned of: "positive"
# evidence (Kass & Raftery 1995). Of smooth curves .2 at most had so much in simulations.
_POSITIVE_EVIDENCE = np.log(3)
_BAND_PROB = 0.95  # probability of the bands that are compared to choose one


def calibration(evidence: xr.Dataset, *, spread: float | None = None) -> "Calibration":
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
        raise fail("spread must be positive", spread, "a number > 0", "pass `spread=2`")
    return Calibration(evidence, float(spread))


_TINY = 1e-12  # chances nearer to 0 or 1 are put here, where they have log odds


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
        weight = evidence["weight"].values if "weight" in evidence else np.ones(len(self.outcome))
        self.weight = weight.astype(float)
        codes = self.outcome.astype(int)
        self._totals = np.bincount(codes, self.weight, 2)
        self.known_prevalence = (
            evidence.coords["prevalence"].item() if "prevalence" in evidence.coords else None
        )
        self._class_scale = class_weights(evidence, self.weight, codes, 2)
        share = self._totals * self._class_scale
        prevalence = self.known_prevalence
        self.share = share[1] / share.sum() if prevalence is None else prevalence
        # The examples as they are: one classifier's neighbouring forecasts are grouped below.
        self._examples = self.probability, self.outcome, self.weight
        if len(self.probability) == 1:
            row, self.outcome, self.weight = grouped(self.probability[0], self.outcome, self.weight)
            self.probability = row[None]

    def caveats(self, of: str = "parameter") -> list[str]:
        """Say so where a class has few examples, or forecasts have no log odds or no mistake."""
        fewest, sentences = self._totals.min(), []
        if fewest < _FEW_EXAMPLES:
            side = "positive" if self._totals[1] < self._totals[0] else "negative"
            many = "example is" if fewest == 1 else "examples are"
            sentences = [f"{fewest:.3g} {side} {many} few: the intervals may be too short."]
        sentences += self._separation_caveats() + exact_forecast_caveats(
            self.evidence["score"].values
        )
        return sentences + heavy_weights.of_scores(self.evidence)

    def _name_classifiers(self, selection):
        """Return " of a, b", the selected classifiers (K,); nothing of one without a name."""
        if self.names is None:
            return ""
        names = np.array(self.names)[selection]
        return f" of {', '.join(map(str, names))}"

    def _separation_caveats(self):
        """Warn where forecasts separate the classes completely."""
        negative, positive = (self.probability[:, self.outcome == label] for label in (0, 1))
        separated = negative.max(axis=1) < positive.min(axis=1)
        separated |= positive.max(axis=1) < negative.min(axis=1)
        if not separated.any():
            return []
        return [
            f"The forecasts{self._name_classifiers(separated)} tell the classes apart without a "
            "mistake: how large the slope of calibration is, the prior says alone."
        ]

    @cached_property
    def odds(self) -> np.ndarray:
        """The log odds of the forecasts, (K, n), finite."""
        return log_odds(self.probability)

    @property
    def smooth(self) -> list["SmoothCurve"]:
        """The posterior of the smooth curve of each classifier."""
        for row in self.probability:
            if len(np.unique(row)) < _FEWEST_VALUES:
                todo = "ask for brier, log_loss or calibration_in_the_large"
                what = "a calibration curve needs forecasts that differ"
                raise fail(what, np.unique(row), "three different ones", todo)
        return self._smooth

    @cached_property
    def _smooth(self):
        return [
            SmoothCurve(row, self.outcome, self.weight, self.spread, self._shift)
            for row in self.odds
        ]

    @property
    def _shift(self):
        """By how much the log odds of the population are above those of the sample."""
        return float(logit(self.share) - np.log(self._totals[1] / self._totals[0]))

    def _prevalence(self, size, rng):
        if self.known_prevalence is not None:
            return np.full((size, 1), self.known_prevalence)
        sample_prevalence = rng.beta(self._totals[1] + 0.5, self._totals[0] + 0.5, (size, 1))
        return expit(logit(sample_prevalence) + self._shift)

    @cached_property
    def shares(self) -> np.ndarray:
        """The share of each example in the population, (n,)."""
        return self._shares(self.weight)

    def _shares(self, weight):
        """Return the shares of the examples with weights (..., n) in the population, (..., n)."""
        totals = [weight @ (self.outcome == label) for label in (0, 1)]
        negative, positive = (
            total * scale for total, scale in zip(totals, self._class_scale, strict=True)
        )
        known = self.known_prevalence
        share = positive / (negative + positive) if known is None else np.full_like(positive, known)
        of_class = np.stack([(1 - share) / totals[0], share / totals[1]], axis=-1)
        return weight * of_class[..., self.outcome.astype(int)]

    @cached_property
    def _units(self):
        """Return examples and the ends of both classes: forecasts (K, u), outcomes, weights."""
        ends = np.stack([self.probability.min(axis=1), self.probability.max(axis=1)], axis=1)
        forecast = np.concatenate([self.probability, ends, ends], axis=1)
        outcome = np.concatenate([self.outcome, [0, 0, 1, 1]])
        weight = self.weight * self._class_weight[self.outcome.astype(int)]
        return forecast, outcome, np.concatenate([weight, [_END_EXAMPLES] * 4])

    @property
    def _class_weight(self):
        """For how much an example of each class stands: a mean of n varies as t with n - 1 does."""
        total = np.maximum(self._totals, 1)
        shape = np.maximum(bayesian_bootstrap.student_shape(total), _LEAST_SHAPE)
        return np.where(total > _STUDENT_EXAMPLES, 1.0, shape)

    def population(self, size: int, rng: np.random.Generator) -> Forecasts:
        """Draw the population of forecasts and outcomes."""
        forecast, outcome, weight = self._units
        share = self._prevalence(size, rng)
        of_class = np.concatenate([1 - share, share], axis=1)
        shares = bayesian_bootstrap.stratified_shares(
            outcome.astype(int), weight, of_class, size, rng
        )
        odds = np.concatenate([self.odds, *[self._ends(self.odds)] * 2], axis=1)
        curve = partial(self.curves, odds, size, rng)
        return Forecasts(forecast, outcome, shares, curve, pseudo=4)

    def curves(self, odds: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the curve of each classifier at log odds (K, u), (size, K, u)."""
        draws = [self._curve(classifier, row, size, rng) for classifier, row in enumerate(odds)]
        return np.stack(draws, axis=1)

    def _curve(self, classifier, odds, size, rng):
        """Draw one curve, smooth, or of few values each by itself with Jeffreys' prior."""
        if self.methods[classifier] != "binomial":
            smooth = self.smooth[classifier]
            return expit(odds + smooth.departure(*smooth.draw(size, rng)[:2], odds))
        probability, hits, total = self.tally(classifier)
        of_examples = self.odds[classifier]
        with np.errstate(divide="ignore"):
            support = np.clip(logit(probability), of_examples.min(), of_examples.max())
        index = np.searchsorted((support[1:] + support[:-1]) / 2, odds)
        shares = rng.beta(hits + 0.5, total - hits + 0.5, (size, len(hits)))
        return self._at_prevalence(shares)[0][:, index]

    def given(self, variables: Mapping[str, np.ndarray]) -> "Calibration":
        """Return the posterior with draws of the curve of the PyMC model at the examples."""
        rows = log_odds(self._examples[0])
        if len(rows) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one classifier", self.names, "one", todo)
        at, first = np.unique(rows[0], return_index=True)
        curve = logit(np.clip(variables["curve"], _TINY, 1 - _TINY))[:, first]

        def curves(odds: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
            # Between two examples the log odds of the curve are a straight line.
            place = np.clip(np.searchsorted(at, odds[0]) - 1, 0, len(at) - 2)
            share = np.clip((odds[0] - at[place]) / (at[place + 1] - at[place]), 0, 1)
            drawn = curve[:, place] * (1 - share) + curve[:, place + 1] * share
            return expit(drawn)[:, None]

        given = copy.copy(self)
        given.curves = curves  # type: ignore[method-assign]
        return given

    def _ends(self, rows):
        return np.stack([rows.min(axis=1), rows.max(axis=1)], axis=1)

    def sampled(self, weights: np.ndarray | None = None) -> Forecasts:
        """Return the sample, or samples with other weights (S, n), the forecasts for the curve."""
        probability = self.probability
        shares = self.shares[None] if weights is None else self._shares(weights)
        return Forecasts(probability, self.outcome, shares, lambda: probability[None])

    def lower_limit(self, measure: Callable, prob: float) -> np.ndarray:
        """Return a distance from calibration of the curve in the band nearest to it, (K,)."""
        return lower_limit_of_distance(self, measure, prob)

    def band(
        self,
        grid: np.ndarray,
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
        bands = [
            self._band(classifier, method or self.methods[classifier], grid, prob, simultaneous)
            for classifier in range(len(self.probability))
        ]
        ends, estimate = zip(*bands, strict=True)
        return np.stack(ends), np.stack(estimate)

    def _band(self, classifier, method, grid, prob, simultaneous):
        """Return band (T, 2) and estimate (T,) of one classifier by one method."""
        if method == "smooth":
            return self._smooth_band(classifier, grid, prob, simultaneous)
        probability, hits, total = self.tally(classifier)
        if method == "isotonic":
            band = calibration_bands.isotonic(probability, hits, total, grid, prob)
            return self._at_prevalence(*band)
        if method == "grouped":
            probability, hits, total = calibration_bands.group_means(probability, hits, total)
        band = calibration_bands.binomial(hits, total, prob, simultaneous)
        ends, estimate = self._at_prevalence(*band)
        index = np.maximum(np.searchsorted(probability, grid + 1e-9, side="right") - 1, 0)
        ends, estimate = ends[index], estimate[index]
        if method == "binomial":
            elsewhere = ~np.isclose(probability[index], grid, rtol=0, atol=1e-9)
            ends, estimate = (np.where(elsewhere, np.nan, array.T).T for array in (ends, estimate))
        return ends, estimate

    def _at_prevalence(self, *shares):
        """Return shares of the positive class in the sample as those in the population."""
        return [expit(logit(array) + self._shift) for array in shares]

    def _smooth_band(self, classifier, grid, prob, simultaneous):
        odds, departure = self._departure(classifier, grid)
        low, high = band_of_draws(departure, prob, simultaneous)
        ends = expit(odds[:, None] + np.stack([low, high], axis=1))
        return ends, expit(odds + np.median(departure, axis=0))

    def tally(self, classifier: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the distinct forecasts of a classifier, and positives and examples of each."""
        rows, outcome, weight = self._examples
        probability, index = np.unique(rows[classifier].round(9), return_inverse=True)
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
        return [self._method(classifier) for classifier in range(len(self.probability))]

    @cached_property
    def _log_step(self):
        """The log Bayes factors of a rising and of a falling step, (K, 2); 0 of few values."""
        log_factors = np.zeros((len(self.probability), 2))
        for classifier, smooth in enumerate(self._smooth):
            probability, hits, total = self.tally(classifier)
            if not calibration_bands.few_values(total):
                odds = np.clip(logit(probability), smooth.odds.min(), smooth.odds.max())
                log_factors[classifier] = log_bayes_factors(smooth, odds, hits, total)
        return log_factors

    def steps(self) -> list[str]:
        """Say so where a curve seems to have a step, which the smooth one draws too soft."""
        has_step = (self._log_step > _POSITIVE_EVIDENCE).any(axis=1)
        if not has_step.any():
            return []
        return [
            f"The calibration curve{self._name_classifiers(has_step)} seems to have a step, which "
            "the smooth one draws too soft: its distance from the diagonal is larger."
        ]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws; warn where a measure of the curve misses a step."""
        if isinstance(getattr(measure, "form", None), CalibrationForm):
            for caveat in self.steps():
                warnings.warn(f"{measure.__name__}: {caveat}", stacklevel=2)
        return super().empirical(measure, draws)

    def _method(self, classifier):
        probability, _, total = self.tally(classifier)
        if calibration_bands.few_values(total):
            return "binomial"
        reached = np.cumsum(total) / total.sum()
        grid = probability[np.searchsorted(reached, np.linspace(0.01, 0.99, 50))]
        ends, middle = self._band(classifier, "smooth", grid, _BAND_PROB, True)
        low, high = self._band(classifier, "isotonic", grid, _BAND_PROB, True)[0].T
        rising, falling = self._log_step[classifier]
        outside = ((middle < low) | (middle > high)).mean()
        # Few examples seldom make it leave the band by much: then a fall has to be likelier too. Of
        # many it is too soft next to a rising step as well, but a fall leaves no rising curve.
        falls = outside > 0 and falling > rising
        simulated = total.sum() <= _SIMULATED_EXAMPLES
        falls |= (low > high).any() or (outside > _OUTSIDE_SHARE and simulated)
        if falls:
            return "grouped" if np.logaddexp(rising, falling) > np.log(2) else "smooth"
        longer = (high - low).mean() / np.ptp(ends, axis=1).mean() - 1
        return "isotonic" if longer <= 0 or rising > np.log(_LENGTH_PENALTY * longer) else "smooth"

    def departures(self, grid: np.ndarray) -> np.ndarray:
        """Draw the largest distance of each curve from the diagonal at probabilities, (S, K)."""
        number = len(self.probability)
        return np.stack([self._largest_distance(index, grid) for index in range(number)], axis=1)

    def _largest_distance(self, classifier, grid):
        probability, hits, total = self.tally(classifier)
        if self.methods[classifier] != "binomial":
            odds, draws = self._departure(classifier, grid)
            return np.abs(expit(odds + draws) - grid).max(axis=1)
        # Jeffreys' prior of each value: the curve is that of the values, with nothing in between.
        inside = (grid.min() <= probability) & (probability <= grid.max())
        size = _DRAWS, int(inside.sum())
        draws = np.random.default_rng(0).beta(
            hits[inside] + 0.5, (total - hits)[inside] + 0.5, size
        )
        return np.abs(self._at_prevalence(draws)[0] - probability[inside]).max(axis=1)

    def _departure(self, classifier, grid):
        """Return the log odds of probabilities and draws of the departure of a curve there."""
        smooth = self._smooth[classifier]
        odds = np.clip(logit(grid), smooth.odds.min(), smooth.odds.max())
        return odds, smooth.departure(*smooth.sample, odds)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model, of one classifier."""
        if len(self.smooth) > 1:
            advice = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one classifier", self.names, "one", advice)
        coefficients, scale, _ = self.smooth[0].draw(size, rng)
        level, slope = coefficients[:, :2].T
        return {"level": level, "slope": slope, "spread": scale, "step": coefficients[:, 2:]}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log of prior times likelihood of the variables of the PyMC model."""
        straight = np.stack([variables["level"], variables["slope"]], axis=-1)
        coefficients = np.concatenate([straight, variables["step"]], axis=-1)
        return self.smooth[0].log_density(coefficients, variables["spread"])


# The smooth curve of one classifier: Laplace at each scale, then importance weights.


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """
    The posterior of the departure of the truth from the forecasts of one classifier.

    Attributes
    ----------
    odds : ndarray, shape (n,)
        The forecasts' log odds, finite, with at least three different values.
    outcome : ndarray, shape (n,)
        1 for the positive class.
    weight : ndarray, shape (n,)
        How many examples each one stands for.
    spread : float
        Scale of the prior of the walk's scale (Rayleigh).
    shift : float
        By how much the log odds are higher in the population than in the sample, whatever the
        forecast: of another prevalence.
    """

    odds: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    spread: float = SCALE
    shift: float = 0.0

    @cached_property
    def knots(self) -> np.ndarray:
        """The log odds between which the departure is a straight line."""
        return choose_knots(self.odds)

    @cached_property
    def _center(self) -> tuple[float, float]:
        return float(self.odds.mean()), float(self.odds.std())

    @cached_property
    def _likelihood(self):
        """Return log odds and weights that stand for the forecasts, and sums over the positives."""
        odds, inverse = np.unique(self.odds, return_inverse=True)
        points, total = gauss_nodes(odds, np.bincount(inverse, self.weight), self.knots)
        hits = np.bincount(inverse, self.weight * self.outcome)
        straight, corners = self._level_and_slope(odds), hat_functions(odds, self.knots)
        sums = np.r_[hits @ straight, hits @ corners @ walk(len(self.knots))]
        return points, total, sums, float(hits @ odds)

    def _level_and_slope(self, odds):
        center, spread = self._center
        return np.stack([np.ones_like(odds), (odds - center) / spread], axis=-1)

    def design(self, odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns of level and slope, (..., 2), and of the walk, (..., knots - 2)."""
        return self._level_and_slope(odds), hat_functions(odds, self.knots) @ walk(len(self.knots))

    @cached_property
    def precision(self) -> np.ndarray:
        """The prior precision of level, slope and the steps of the walk."""
        return np.r_[LEVEL**-2, SLOPE**-2, np.ones(len(self.knots) - 2)]

    def log_density(self, coefficients: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """
        Return the log of prior times likelihood of coefficients (S, knots) and scales (S,).

        The constants of the normal distributions are in, so that it is PyMC's density.
        """
        odds, total, sums, offset = self._likelihood
        columns = np.concatenate(self.design(odds), axis=-1).T

        def log_likelihood(rows):
            eta = odds + rows @ columns
            missed = (np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))) @ total
            return offset + rows @ sums - missed

        scaled = np.concatenate([coefficients[:, :2], scale[:, None] * coefficients[:, 2:]], axis=1)
        likelihood = in_blocks(log_likelihood, scaled, len(odds))
        logs = np.log(self.precision / (2 * np.pi)).sum() / 2
        prior = logs - (coefficients**2) @ self.precision / 2
        rayleigh = np.log(scale) - 2 * np.log(self.spread) - (scale / self.spread) ** 2 / 2
        return likelihood + prior + rayleigh

    @cached_property
    def approximation(self) -> nested_laplace.NestedLaplace:
        """Laplace's approximation of the coefficients at each scale."""
        odds, total, sums, _ = self._likelihood
        straight, steps = self.design(odds)

        def derivatives(scale):
            columns = np.concatenate([straight, scale * steps], axis=1)
            scaled = np.r_[sums[:2], scale * sums[2:]]
            return _derivatives(columns, odds, scaled, total, self.precision)

        start = np.zeros(len(self.precision))
        return nested_laplace.on_grid(SCALES, start, derivatives, self.log_density)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
        """
        Draw coefficients and scales from the posterior.

        Returns
        -------
        coefficients : ndarray, shape (size, knots)
            Level, slope and the steps of the walk.
        scale : ndarray, shape (size,)
        efficiency : float
            The effective share of the draws before they were resampled by their weights.
        """
        return self.approximation.draw(self.log_density, size, rng)

    @cached_property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and scales of 4,000 draws, always the same."""
        return self.draw(4000, np.random.default_rng(0))[:2]

    def departure(self, coefficients, scale, odds: np.ndarray) -> np.ndarray:
        """Return the departure (S, ...) of the log odds of the truth at log odds of forecasts."""
        straight, steps = self.design(odds)
        bent = (scale[:, None] * coefficients[:, 2:]) @ steps.T
        return self.shift + coefficients[:, :2] @ straight.T + bent


def walk(knots: int) -> np.ndarray:
    """
    Return the shape (knots, knots - 2) of a random walk of second order.

    Applied to independent standard normal numbers it gives a walk without level and slope along its
    index, whose variance is 1 in the geometric mean over the knots.
    """
    second = np.diff(np.eye(knots), 2, axis=0)
    values, vectors = np.linalg.eigh(second.T @ second)
    shape = vectors[:, 2:] / np.sqrt(values[2:])
    return shape / np.exp(np.log((shape**2).sum(axis=1)).mean() / 2)


def hat_functions(odds: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return the weights (..., knots) of a straight line between knots, level beyond their ends."""
    interval = np.clip(np.searchsorted(knots, odds) - 1, 0, len(knots) - 2)
    length = knots[interval + 1] - knots[interval]
    share = np.clip((odds - knots[interval]) / length, 0, 1)[..., None]
    knot, interval = np.arange(len(knots)), interval[..., None]
    return (knot == interval) * (1 - share) + (knot == interval + 1) * share


def choose_knots(odds: np.ndarray) -> np.ndarray:
    """Return at most 20 knots: both ends, and between quantiles and even steps between them."""
    share = np.linspace(0, 1, min(KNOTS, len(np.unique(odds))))
    even = odds.min() + (odds.max() - odds.min()) * share
    return (1 - _EVEN_SHARE) * np.quantile(odds, share) + _EVEN_SHARE * even


def regression_mode(start, columns, odds, sums, total, precision):
    """Return the mode of the coefficients of a logistic regression, and the Hessian there."""
    return laplace.mode(start, _derivatives(columns, odds, sums, total, precision))


def _derivatives(columns, odds, sums, total, precision):
    """Return what gives the gradient and minus the Hessian of the log posterior density."""

    def at(coefficients):
        truth = expit(odds + columns @ coefficients)
        score = sums - columns.T @ (total * truth) - precision * coefficients
        hessian = (columns * (total * truth * (1 - truth))[:, None]).T @ columns
        hessian[np.diag_indices_from(hessian)] += precision
        return score, hessian

    return at


_NODES = 4  # of Gauss's quadrature between two knots


def gauss_nodes(
    odds: np.ndarray, total: np.ndarray, knots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the nodes and weights of Gauss's quadrature between knots, for sums over forecasts.

    Between two knots the log odds of the truth are a straight line in those of the forecast. A
    smooth function of them, summed over many forecasts there, is summed over the four nodes of
    Gauss's quadrature of these very forecasts, which is exact for polynomials up to degree 7.
    Four forecasts or fewer stand for themselves.

    Parameters
    ----------
    odds, total : ndarray, shape (n,)
        Different log odds in rising order, and the weight of each.
    knots : ndarray, shape (k,)
        From the lowest to the highest log odds.

    Returns
    -------
    nodes, weights : ndarray, shape (m,), m <= 4 (k - 1)

    Examples
    --------
    >>> nodes, weights = gauss_nodes(np.arange(10.0), np.ones(10), np.array([0, 4.5, 9]))
    >>> len(nodes), float((weights @ nodes**4).round(6))
    (8, 15333.0)
    """
    odds, total = odds[total > 0], total[total > 0]
    cuts = np.searchsorted(odds, knots[1:-1])
    between_knots = zip(np.split(odds, cuts), np.split(total, cuts), strict=True)
    rules = [_lanczos(*rule) if len(rule[0]) > _NODES else rule for rule in between_knots]
    points, weights = map(np.concatenate, zip(*rules, strict=True))
    return points, weights


def _lanczos(odds, total):
    """Return the nodes and weights of Gauss's quadrature of a discrete measure (Lanczos)."""
    middle, half = (odds[-1] + odds[0]) / 2, (odds[-1] - odds[0]) / 2
    scaled, basis = (odds - middle) / half, np.zeros((_NODES, len(odds)))
    diagonal, off_diagonal = np.zeros(_NODES), np.zeros(_NODES)
    row = np.sqrt(total / total.sum())
    for step in range(_NODES):
        basis[step] = row
        diagonal[step] = row @ (scaled * row)
        row = scaled * row
        for _ in range(2):  # twice is enough for orthogonal rows
            row = row - basis.T @ (basis @ row)
        off_diagonal[step] = np.sqrt(row @ row)
        if off_diagonal[step] < 1e-9:  # forecasts so near each other that fewer nodes are exact
            diagonal, off_diagonal = diagonal[: step + 1], off_diagonal[: step + 1]
            break
        row = row / off_diagonal[step]
    jacobi = np.diag(diagonal) + np.diag(off_diagonal[:-1], 1) + np.diag(off_diagonal[:-1], -1)
    values, vectors = np.linalg.eigh(jacobi)
    return middle + half * values, total.sum() * vectors[0] ** 2


# Whether a curve has a step, which the smooth one draws too soft: a Bayes factor.

_FORECASTS = 2000  # at most, ten between two cuts
_STEP_RANKS = 200  # cuts: between two of them lies half a percent of the examples
# Prior standard deviation of a step's log odds. A step from .3 to .6 is 1.25 high, from .15 to .75
# 2.8. In simulations 1.5 and 2 recognised these equally often.
_STEP_SD = 1.5


def log_bayes_factors(
    smooth: SmoothCurve, odds: np.ndarray, hits: np.ndarray, total: np.ndarray
) -> tuple[float, float]:
    """
    Return the log Bayes factors of a curve with one rising, and with one falling step.

    Against the smooth curve without one. The scale of the walk is log-uniform in both models: the
    prior of the smooth curve keeps the scale away from 0, so that it would not let a step explain
    what bends the curve otherwise.

    Parameters
    ----------
    smooth : SmoothCurve
    odds, hits, total : ndarray, shape (m,)
        Different log odds of forecasts in rising order, and positives and examples of each. The
        smooth curve may have put examples together by class, which would look like steps.

    Returns
    -------
    rising, falling : float

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> odds = np.sort(rng.normal(0, 1.5, 800))
    >>> hits, total = rng.random(800) < np.where(odds > 0, 0.8, 0.3), np.ones(800)
    >>> rising, falling = log_bayes_factors(SmoothCurve(odds, hits, total), odds, hits, total)
    >>> bool(rising > 5), bool(falling < 1)
    (True, True)
    """
    odds, hits, total = _pooled(odds, hits, total)
    reached = np.cumsum(total) / total.sum()
    ranks = (np.arange(_STEP_RANKS) + 0.5) / _STEP_RANKS
    first = np.unique(np.searchsorted(reached, ranks))
    first = first[first > 0]  # a step lies below the forecast of this index
    share = np.diff(np.r_[0, (reached[first - 1][:-1] + reached[first - 1][1:]) / 2, 1])
    design, at_cut = smooth.design(odds), {}
    laplace_at = smooth.approximation
    of_scales = SCALES, laplace_at.modes, laplace_at.factors, laplace_at.log_density
    plain, rising, falling = [], [], []
    for scale, mode, factor, weight in zip(*of_scales, strict=True):
        columns = _columns(*design, scale)
        truth = expit(odds + columns @ mode)
        spread = total * truth * (1 - truth)
        score = _tail_sums(hits - total * truth, first)
        shared = _tail_sums(spread[:, None] * columns, first) @ factor
        information = np.maximum(_tail_sums(spread, first) - (shared**2).sum(axis=1), 1e-12)
        precision = information + _STEP_SD**-2
        log_factor = score**2 / precision / 2 - np.log(precision * _STEP_SD**2) / 2
        peak = int(np.argmax(log_factor))
        cut = (odds[first[peak] - 1] + odds[first[peak]]) / 2
        if cut not in at_cut:
            points, mass = gauss_nodes(odds, total, np.sort(np.r_[smooth.knots, cut]))
            at_cut[cut] = points, mass, smooth.design(points)
        points, mass, point_design = at_cut[cut]
        rows = np.column_stack([_columns(*point_design, scale), points > cut])
        sums = hits @ np.column_stack([columns, odds > cut])
        log_marginals = [
            _log_marginal(
                np.r_[mode, 0.0][:size], points, mass, rows[:, :size], sums[:size], precision_of
            )
            for size, precision_of in (
                (len(mode), smooth.precision),
                (len(mode) + 1, np.r_[smooth.precision, _STEP_SD**-2]),
            )
        ]
        log_factor = log_factor + log_marginals[1] - log_marginals[0] - log_factor[peak]
        log_weight = weight - _log_prior(scale, smooth.spread)
        plain.append(log_weight)
        # Half of the prior's steps rise and half fall.
        up, down = (log_ndtr(sign * score / np.sqrt(precision)) for sign in (1, -1))
        rising.append(log_weight + logsumexp(log_factor + up, b=2 * share))
        falling.append(log_weight + logsumexp(log_factor + down, b=2 * share))
    return logsumexp(rising) - logsumexp(plain), logsumexp(falling) - logsumexp(plain)


def _pooled(odds, hits, total):
    """Average neighbouring forecasts where there are many."""
    if len(odds) <= _FORECASTS:
        return odds, hits, total
    group = np.arange(len(odds)) * _FORECASTS // len(odds)
    sums = [np.bincount(group, values) for values in (odds * total, hits, total)]
    return sums[0] / sums[2], sums[1], sums[2]


def _tail_sums(values, first):
    """Return the sums over the forecasts from each index on."""
    between = np.add.reduceat(values, first, axis=0)
    return np.cumsum(between[::-1], axis=0)[::-1]


def _log_prior(scale, spread):
    """Return the log density of Rayleigh's prior in log(scale)."""
    return 2 * np.log(scale / spread) - (scale / spread) ** 2 / 2


def _log_marginal(start, points, total, rows, sums, precision):
    """Return the log marginal likelihood of a regression by Laplace, but for a constant."""
    mode, hessian = regression_mode(start, rows, points, sums, total, precision)
    value = sums @ mode - np.logaddexp(0, points + rows @ mode) @ total - precision @ mode**2 / 2
    return value + (np.log(precision).sum() - np.linalg.slogdet(hessian)[1]) / 2


def _columns(straight, steps, scale):
    return np.concatenate([straight, scale * steps], axis=1)


# The lower limit of a distance from calibration, and the ends of a band of draws.

_GRID = 50  # log odds at which a band is computed
_GROUPS = 400  # groups of neighbouring forecasts
_CERTAIN = 2.0  # standard deviations beyond which a departure is certain
_CERTAIN_DRAWS = 2000  # draws of certain departures
_TAIL = 10  # the same draws tell where the curve departs, and by how much: a tenth of the tail


def lower_limit_of_distance(posterior: Any, measure: Callable, prob: float) -> np.ndarray:
    """
    Return the lower limit of a distance from calibration, (K,).

    Where the simultaneous band leaves the diagonal it is the lower limit of the distance that is
    beyond doubt: of curves that depart where the posterior does by twice its standard deviation,
    and there on its side only. It is never less than the distance of the curve in the band that is
    nearest to the diagonal, and that is the limit (0) where the band holds the diagonal. One or two
    forecast values have no smooth curve: their band has the binomial limits of both.
    """
    limits = []
    for classifier, row in enumerate(posterior.probability):
        if len(np.unique(row)) < _FEWEST_VALUES:
            limits.append(_distance_of_few_values(posterior, classifier, measure, prob))
            continue
        smooth = posterior.smooth[classifier]
        grid = np.quantile(smooth.odds, np.linspace(0.01, 0.99, _GRID))
        departure = smooth.departure(*smooth.sample, grid)
        low, high = band_of_draws(departure, prob, True)
        value = partial(_distances, posterior.shares, smooth.odds, row, grid, measure)
        nearest = value(np.clip(0.0, low, high)[None]).item()
        if ((low > 0) | (high < 0)).any():
            sure = np.quantile(value(_certain_departures(departure)), (1 - prob) / _TAIL)
            nearest = max(nearest, float(sure))
        limits.append(nearest)
    return np.array(limits)


def _distance_of_few_values(posterior, classifier, measure, prob):
    """Return the distance of the nearest curve in the binomial band of one or two values."""
    values = posterior.tally(classifier)[0]
    low, high = posterior.band(values, prob, method="binomial")[0][classifier].T
    row = posterior.probability[classifier]
    at = np.abs(row[:, None] - values).argmin(axis=1)
    nearest = np.clip(row, low[at], high[at])[None, None]
    sample = Forecasts(row[None], posterior.outcome, posterior.shares[None], lambda: nearest)
    return float(measure(sample).item())


def _certain_departures(departure):
    """Return some of the departures (S, T) where they are certain, on that side; 0 elsewhere."""
    mean, spread = departure.mean(axis=0), departure.std(axis=0)
    side = np.where(np.abs(mean) > _CERTAIN * spread, np.sign(mean), 0.0)
    return side * np.maximum(side * departure[:_CERTAIN_DRAWS], 0.0)


def _distances(shares, odds, row, grid, measure, gap):
    """Return the measure of curves that depart by so much (S, T) at log odds (T,), (S,)."""
    order = np.argsort(odds, kind="stable")
    reached = np.cumsum(shares[order])
    code = np.minimum((reached / reached[-1] * _GROUPS).astype(int), _GROUPS - 1)
    _, code = np.unique(code, return_inverse=True)
    share = np.bincount(code, shares[order])
    middle, forecast = (
        np.bincount(code, shares[order] * values[order]) / share for values in (odds, row)
    )
    interpolation = np.array([np.interp(middle, grid, hat) for hat in np.eye(len(grid))])
    between = gap @ interpolation
    truth = np.where(between == 0, forecast, expit(middle + between))
    weight = np.broadcast_to(share, truth.shape)
    population = Forecasts(forecast[None], np.zeros(len(share)), weight, lambda: truth[:, None])
    return measure(population)[:, 0]


def band_of_draws(
    draws: np.ndarray, prob: float, simultaneous: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a band around draws (S, T)."""
    if not simultaneous:
        return np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    mean, spread = draws.mean(axis=0), draws.std(axis=0)
    reach = np.quantile(np.abs((draws - mean) / spread).max(axis=1), prob)
    return mean - reach * spread, mean + reach * spread
