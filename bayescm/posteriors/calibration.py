r"""
Direct posterior of `bayescm.models.calibration`: scores and calibration curves.

**The population** of forecasts and outcomes is sampled by the Bayesian bootstrap within each class
(`bayescm.inference.bayesian_bootstrap`). The prevalence has a beta posterior. Each class also gets
half an example at the lowest and half an example at the highest of all forecasts, to allow for
values that were not observed. In a class of n <= 200 examples, each example has the weight 1 - 4/n
(at least 0.5). The mean over the class then has the variance of a t distribution with n - 1 degrees
of freedom instead of a normal distribution. Proper scores and the logistic recalibration are
functions of the population. All classifiers share the same draws.

**The curve** is smooth. It adds a departure to the log odds of the forecast,

.. math::

    \operatorname{logit} P(y = 1 \mid p) = \operatorname{logit} p + a + b z(p) + s \, h(p)^T R \, w,
    \qquad w \sim N(0, I).

- :math:`a` is a level and :math:`b` a slope (:math:`z` is the standardised log odds).
- The last term is a second-order random walk with the matrix :math:`R` (`walk`) over knots among
  the forecasts. It is linear between the knots (:math:`h`, `hat_functions`).
- The scale :math:`s` is estimated. For each scale on a grid, the posterior of the coefficients is
  approximated by Laplace's method. Its draws are weighted and resampled
  (`bayescm.inference.nested_laplace`).

Sums over the forecasts between two knots use Gaussian quadrature for the observed forecasts
(`gauss_nodes`). With few distinct forecasts, each one has a separate beta posterior.

**The band** comes from the smooth curve unless the forecasts take few values or the curve may have
a step. These two cases use `bayescm.posteriors.calibration_bands`. A Bayes factor decides whether
there is a step (`log_bayes_factors`). The alternative model adds :math:`\gamma \, 1(p > c)`
with :math:`\gamma \sim N(0, g^2)` and a cut :math:`c` that is uniform over the ranks of the
forecasts. Let :math:`U` be the score of :math:`\gamma` at the mode of the smooth curve, and
:math:`V` its information with the coefficients integrated out (Laplace). Then

.. math::

    \log B(c) = \frac{U^2}{2 (V + g^{-2})} - \frac{1}{2} \log(1 + g^2 V).

At the most probable cut of each scale, Laplace's approximation is repeated with and without the
step, each around its own mode. The difference between this log Bayes factor and the formula
corrects all cuts.

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
from bayescm.validate import check_number, fail

# The prior, as in the model.
LEVEL = 3.0  # standard deviation of the level a
SLOPE = 2.0  # standard deviation of the slope b
SCALE = 2.0  # scale of the Rayleigh prior for s
SCALES = np.geomspace(0.03, 6.0, 13)  # the grid of s
KNOTS = 20  # largest number of knots of the walk
_EVEN_SHARE = 0.4  # weight of evenly spaced knots; quantiles of the forecasts get the rest

_FEWEST_VALUES = 3  # smallest number of distinct forecasts for a smooth curve
_END_EXAMPLES = 0.5  # pseudo-examples at each end of the forecasts, in each class
_FEW_EXAMPLES = 20  # smallest number of examples per class for which coverage was measured
_STUDENT_EXAMPLES = 200  # largest class in which examples have the weight 1 - 4/n
_LEAST_SHAPE = 0.5  # smallest weight, for classes of fewer than eight examples
# The isotonic band is used if the Bayes factor of a rising step exceeds this value times the
# relative increase in length. For example, if the band is 50% longer, the factor must exceed 1. The
# value was chosen by simulation from 1.7, 2, 2.5, 3.3 and 4. The simulations used data sets of 150
# or more examples from designs in which the smooth band has a coverage below 0.9. The chosen value
# is the largest that recognises steps in at least 88% of these data sets.
_LENGTH_PENALTY = 2.0
# Largest proportion of examples at which the smooth curve may leave the isotonic band if the true
# curve rises. Smooth curves leave the band because they flatten steps. In simulations with rising
# steps, the proportion was at most 0.08 in 9 of 10 data sets. With curves that fall from 0.7 to
# 0.3, its median was 0.58 (60 examples) to 1 (500 examples).
_OUTSIDE_SHARE = 0.2
_SIMULATED_EXAMPLES = 2000  # largest number of examples in these simulations
_DRAWS = 4000  # number of draws of a curve
# Log Bayes factor of a step above which a warning is issued for measures of the smooth curve. It is
# the threshold for "positive" evidence (Kass & Raftery 1995). In simulations, at most 20% of smooth
# curves exceeded it.
_POSITIVE_EVIDENCE = np.log(3)
_BAND_PROB = 0.95  # probability of the bands that are compared to choose one


def calibration(evidence: xr.Dataset, *, spread: float | None = None) -> "Calibration":
    """
    Return the posterior of proper scores and calibration curves.

    Use it for probabilities of two classes. It supports several classifiers on the same examples.

    Parameters
    ----------
    evidence : xarray.Dataset
        Evidence of two classes from :func:`bayescm.from_probabilities`. If
        :func:`bayescm.at_prevalence` sets the prevalence, the distribution of the forecasts within
        each class does not change. The calibration curve is then shifted by a constant on the log
        odds scale.
    spread : float, optional
        Scale of the Rayleigh prior for the scale s of the random walk, in log odds. Default: 2.

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
    spread = SCALE if spread is None else check_number("spread", spread, 0, usual=2)
    return Calibration(evidence, spread)


_TINY = 1e-12  # smallest distance of probabilities from 0 and 1, so that their log odds are finite


class Calibration(OfForecasts):
    """
    Posterior of the forecasts of one or more classifiers on the same examples.

    Attributes
    ----------
    probability : ndarray, shape (K, n)
        Forecasts of K classifiers.
    outcome : ndarray, shape (n,)
        1 for the positive class, else 0.
    weight : ndarray, shape (n,)
        Number of examples that each entry represents.
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
        # The original examples. Below, neighbouring forecasts of a single classifier are grouped.
        self._examples = self.probability, self.outcome, self.weight
        if len(self.probability) == 1:
            row, self.outcome, self.weight = grouped(self.probability[0], self.outcome, self.weight)
            self.probability = row[None]

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about small or separated classes, exact forecasts and heavy weights."""
        fewest, sentences = self._totals.min(), []
        if fewest < _FEW_EXAMPLES:
            side = "positive" if self._totals[1] < self._totals[0] else "negative"
            examples = "example" if fewest == 1 else "examples"
            sentences = [
                f"With only {fewest:.3g} {side} {examples}, the intervals may be too short."
            ]
        sentences += self._separation_caveats() + exact_forecast_caveats(
            self.evidence["score"].values
        )
        return sentences + heavy_weights.of_scores(self.evidence)

    def _name_classifiers(self, selection):
        """Return " of a, b" for the selected classifiers (K,), or "" if they have no names."""
        if self.names is None:
            return ""
        names = np.array(self.names)[selection]
        return f" of {', '.join(map(str, names))}"

    def _separation_caveats(self):
        """Return a caution if forecasts separate the classes completely."""
        negative, positive = (self.probability[:, self.outcome == label] for label in (0, 1))
        separated = negative.max(axis=1) < positive.min(axis=1)
        separated |= positive.max(axis=1) < negative.min(axis=1)
        if not separated.any():
            return []
        return [
            (
                f"The forecasts{self._name_classifiers(separated)} separate the classes "
                "perfectly, so the calibration slope depends on the prior alone."
            )
        ]

    @cached_property
    def odds(self) -> np.ndarray:
        """The finite log odds of the forecasts, (K, n)."""
        return log_odds(self.probability)

    @property
    def smooth(self) -> list["SmoothCurve"]:
        """The posterior of the smooth curve of each classifier."""
        return [self.smooth_of(classifier) for classifier in range(len(self.probability))]

    def smooth_of(self, classifier):
        """Return the posterior of the smooth curve of a classifier."""
        values = np.unique(self.probability[classifier])
        if len(values) < _FEWEST_VALUES:
            todo = "use brier, log_loss or calibration_in_the_large"
            raise fail(
                "A calibration curve needs at least three distinct forecasts", values, "", todo
            )
        return self._smooth[classifier]

    @cached_property
    def _smooth(self):
        return [
            SmoothCurve(row, self.outcome, self.weight, self.spread, self._shift)
            for row in self.odds
        ]

    @property
    def _shift(self):
        """The log odds of the positive class in the population minus those in the sample."""
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
        """Return the shares (..., n) in the population of examples with weights (..., n)."""
        totals = [weight @ (self.outcome == label) for label in (0, 1)]
        negative, positive = (
            total * scale for total, scale in zip(totals, self._class_scale, strict=True)
        )
        known = self.known_prevalence
        share = positive / (negative + positive) if known is None else np.full_like(positive, known)
        # The share of a class without examples is not distributed, so its divisor does not matter.
        divisors = [np.where(total > 0, total, 1) for total in totals]
        of_class = np.stack([(1 - share) / divisors[0], share / divisors[1]], axis=-1)
        return weight * of_class[..., self.outcome.astype(int)]

    @cached_property
    def _units(self):
        """Return forecasts (K, u), outcomes and weights of examples and pseudo-examples."""
        ends = np.stack([self.probability.min(axis=1), self.probability.max(axis=1)], axis=1)
        forecast = np.concatenate([self.probability, ends, ends], axis=1)
        outcome = np.concatenate([self.outcome, [0, 0, 1, 1]])
        weight = self.weight * self._class_weight[self.outcome.astype(int)]
        return forecast, outcome, np.concatenate([weight, [_END_EXAMPLES] * 4])

    @property
    def _class_weight(self):
        """The weight of an example per class, for which means of n vary like t with n - 1 df."""
        total = np.maximum(self._totals, 1)
        shape = np.maximum(bayesian_bootstrap.student_shape(total), _LEAST_SHAPE)
        return np.where(total > _STUDENT_EXAMPLES, 1.0, shape)

    def population(self, size: int, rng: np.random.Generator) -> Forecasts:
        """Sample the population of forecasts and outcomes."""
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
        """Sample the curve of each classifier at log odds (K, u), (size, K, u)."""
        draws = [self._curve(classifier, row, size, rng) for classifier, row in enumerate(odds)]
        return np.stack(draws, axis=1)

    def _curve(self, classifier, odds, size, rng):
        """Sample one curve: smooth or, with few distinct forecasts, separately for each of them."""
        if self.methods[classifier] != "binomial":
            smooth = self.smooth_of(classifier)
            return expit(odds + smooth.departure(*smooth.draw(size, rng)[:2], odds))
        probability, hits, total = self.tally(classifier)
        of_examples = self.odds[classifier]
        with np.errstate(divide="ignore"):
            support = np.clip(logit(probability), of_examples.min(), of_examples.max())
        index = np.searchsorted((support[1:] + support[:-1]) / 2, odds)
        shares = rng.beta(hits + 0.5, total - hits + 0.5, (size, len(hits)))
        return self._at_prevalence(shares)[0][:, index]

    def given(self, variables: Mapping[str, np.ndarray]) -> "Calibration":
        """Return the posterior with its curve replaced by draws of the PyMC model."""
        rows = log_odds(self._examples[0])
        if len(rows) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("The model supports one classifier; got {}", self.names, "", todo)
        at, first = np.unique(rows[0], return_index=True)
        curve = logit(np.clip(variables["curve"], _TINY, 1 - _TINY))[:, first]

        def curves(odds: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
            # Between two examples, the log odds of the curve are linear.
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
        """Return the sample, with the diagonal as its curve and optional weights (S, n)."""
        probability = self.probability
        shares = self.shares[None] if weights is None else self._shares(weights)
        return Forecasts(probability, self.outcome, shares, lambda: probability[None])

    def lower_limit(self, measure: Callable, prob: float) -> np.ndarray:
        """Return the lower limit of a distance from calibration, (K,)."""
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
        Return a band and an estimate of each classifier's curve.

        Parameters
        ----------
        grid : ndarray, shape (T,)
            Probabilities.
        prob : float
        simultaneous : bool, default True
        method : str, optional
            Method of all bands. Default: the method in `methods` for each classifier.

        Returns
        -------
        ends : ndarray, shape (K, T, 2)
            Ends of the band. The binomial band is NaN except at the observed forecasts.
        estimate : ndarray, shape (K, T)
        """
        bands = [
            self._band(classifier, method or self.methods[classifier], grid, prob, simultaneous)
            for classifier in range(len(self.probability))
        ]
        ends, estimate = zip(*bands, strict=True)
        return np.stack(ends), np.stack(estimate)

    def _band(self, classifier, method, grid, prob, simultaneous):
        """Return the band (T, 2) and estimate (T,) of one classifier, from one method."""
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
        """Convert proportions of the positive class from the sample to the population."""
        return [expit(logit(array) + self._shift) for array in shares]

    def _smooth_band(self, classifier, grid, prob, simultaneous):
        odds, departure = self._departure(classifier, grid)
        low, high = band_of_draws(departure, prob, simultaneous)
        ends = expit(odds[:, None] + np.stack([low, high], axis=1))
        return ends, expit(odds + np.median(departure, axis=0))

    def tally(self, classifier: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a classifier's distinct forecasts, with their positives and totals."""
        rows, outcome, weight = self._examples
        probability, index = np.unique(rows[classifier].round(9), return_inverse=True)
        return probability, np.bincount(index, weight * outcome), np.bincount(index, weight)

    @cached_property
    def methods(self) -> list[str]:
        """
        Method of the band of each classifier's curve.

        - ``binomial``, if forecasts take few values: each value has separate limits.
        - ``isotonic``, if an increasing curve may have a step. This depends on the Bayes factor of
          a rising step and on the additional length of the isotonic band.
        - ``grouped``, if the curve seems to fall and is more likely to have a step than not. It
          uses the means of groups of neighbouring forecasts.
        - ``smooth`` otherwise.
        """
        return [self._method(classifier) for classifier in range(len(self.probability))]

    @cached_property
    def _log_step(self):
        """The log Bayes factors of a rising and a falling step, (K, 2); 0 for few values."""
        log_factors = np.zeros((len(self.probability), 2))
        for classifier, smooth in enumerate(self._smooth):
            probability, hits, total = self.tally(classifier)
            if not calibration_bands.few_values(total):
                odds = np.clip(logit(probability), smooth.odds.min(), smooth.odds.max())
                log_factors[classifier] = log_bayes_factors(smooth, odds, hits, total)
        return log_factors

    def steps(self) -> list[str]:
        """Return a caution about curves with a step that the smooth curve flattens."""
        has_step = (self._log_step > _POSITIVE_EVIDENCE).any(axis=1)
        if not has_step.any():
            return []
        return [
            (
                f"The calibration curve{self._name_classifiers(has_step)} seems to have a step. "
                "The smooth curve cannot follow it, so its distance from the diagonal is too "
                "small."
            )
        ]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws. Warn if the measure ignores a step in the curve."""
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
        # A smooth curve outside the isotonic band indicates a falling curve. With few examples, it
        # rarely leaves the band by much, so any distance is enough if a falling step is more
        # probable than a rising one. With many examples, it also leaves the band next to a rising
        # step, so leaving it does not indicate a fall. A falling curve is then recognised because
        # it makes the isotonic band empty.
        falls = outside > 0 and falling > rising
        simulated = total.sum() <= _SIMULATED_EXAMPLES
        falls |= (low > high).any() or (outside > _OUTSIDE_SHARE and simulated)
        if falls:
            return "grouped" if np.logaddexp(rising, falling) > np.log(2) else "smooth"
        longer = (high - low).mean() / np.ptp(ends, axis=1).mean() - 1
        return "isotonic" if longer <= 0 or rising > np.log(_LENGTH_PENALTY * longer) else "smooth"

    def departures(self, grid: np.ndarray) -> np.ndarray:
        """Sample the largest distance of each curve from the diagonal, (S, K)."""
        number = len(self.probability)
        return np.stack([self._largest_distance(index, grid) for index in range(number)], axis=1)

    def _largest_distance(self, classifier, grid):
        probability, hits, total = self.tally(classifier)
        if self.methods[classifier] != "binomial":
            odds, draws = self._departure(classifier, grid)
            return np.abs(expit(odds + draws) - grid).max(axis=1)
        # The curve is defined only at the distinct forecasts, with Jeffreys' prior at each of them.
        inside = (grid.min() <= probability) & (probability <= grid.max())
        size = _DRAWS, int(inside.sum())
        draws = np.random.default_rng(0).beta(
            hits[inside] + 0.5, (total - hits)[inside] + 0.5, size
        )
        return np.abs(self._at_prevalence(draws)[0] - probability[inside]).max(axis=1)

    def _departure(self, classifier, grid):
        """Return the log odds of a grid of probabilities, and draws of the departure there."""
        smooth = self._smooth[classifier]
        odds = np.clip(logit(grid), smooth.odds.min(), smooth.odds.max())
        return odds, smooth.departure(*smooth.sample, odds)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model, for one classifier."""
        if len(self.smooth) > 1:
            advice = "select one: evidence.sel(classifier=...)"
            raise fail("The model supports one classifier; got {}", self.names, "", advice)
        coefficients, scale, _ = self.smooth[0].draw(size, rng)
        level, slope = coefficients[:, :2].T
        return {"level": level, "slope": slope, "spread": scale, "step": coefficients[:, 2:]}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log of prior times likelihood of the PyMC model's variables."""
        straight = np.stack([variables["level"], variables["slope"]], axis=-1)
        coefficients = np.concatenate([straight, variables["step"]], axis=-1)
        return self.smooth[0].log_density(coefficients, variables["spread"])


# The smooth curve of one classifier: a Laplace approximation per scale, then importance weights.


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """
    Posterior of the departure of one classifier's forecasts from calibration.

    Attributes
    ----------
    odds : ndarray, shape (n,)
        Finite log odds of the forecasts, with at least three distinct values.
    outcome : ndarray, shape (n,)
        1 for the positive class, else 0.
    weight : ndarray, shape (n,)
        Number of examples that each entry represents.
    spread : float
        Scale of the Rayleigh prior for the scale of the random walk.
    shift : float
        Constant added to the log odds if the prevalence in the population differs from the
        prevalence in the sample.
    """

    odds: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    spread: float = SCALE
    shift: float = 0.0

    @cached_property
    def knots(self) -> np.ndarray:
        """The knots, in log odds. The departure is linear between them."""
        return choose_knots(self.odds)

    @cached_property
    def _center(self) -> tuple[float, float]:
        return float(self.odds.mean()), float(self.odds.std())

    @cached_property
    def _likelihood(self):
        """Return quadrature nodes and weights of the forecasts, and sums over the positives."""
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
        """Return the columns of level and slope (..., 2) and walk (..., knots - 2)."""
        return self._level_and_slope(odds), hat_functions(odds, self.knots) @ walk(len(self.knots))

    @cached_property
    def precision(self) -> np.ndarray:
        """The prior precision of level, slope and the steps of the walk."""
        return np.r_[LEVEL**-2, SLOPE**-2, np.ones(len(self.knots) - 2)]

    def log_density(self, coefficients: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """
        Return the log of prior times likelihood of coefficients and scales.

        The coefficients have shape (S, knots), and the scales (S,). The constants of the normal
        distributions are included, so the result equals PyMC's density.
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
        """The Laplace approximation of the coefficients at each scale."""
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
        Sample coefficients and scales from the posterior.

        Returns
        -------
        coefficients : ndarray, shape (size, knots)
            Level, slope and the steps of the walk.
        scale : ndarray, shape (size,)
        efficiency : float
            Effective proportion of the draws before resampling by weight.
        """
        return self.approximation.draw(self.log_density, size, rng)

    @cached_property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """4,000 draws of coefficients and scales, with a fixed seed."""
        return self.draw(4000, np.random.default_rng(0))[:2]

    def departure(self, coefficients, scale, odds: np.ndarray) -> np.ndarray:
        """Return the departure (S, ...) from the forecasts at the log odds `odds`."""
        straight, steps = self.design(odds)
        bent = (scale[:, None] * coefficients[:, 2:]) @ steps.T
        return self.shift + coefficients[:, :2] @ straight.T + bent


def walk(knots: int) -> np.ndarray:
    """
    Return the matrix R, (knots, knots - 2), of a second-order random walk.

    Its product with independent standard normal values is a walk without level and slope along its
    index. The geometric mean of the variances at the knots is 1.
    """
    second = np.diff(np.eye(knots), 2, axis=0)
    values, vectors = np.linalg.eigh(second.T @ second)
    shape = vectors[:, 2:] / np.sqrt(values[2:])
    return shape / np.exp(np.log((shape**2).sum(axis=1)).mean() / 2)


def hat_functions(odds: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return linear interpolation weights (..., knots), constant beyond the ends."""
    interval = np.clip(np.searchsorted(knots, odds) - 1, 0, len(knots) - 2)
    length = knots[interval + 1] - knots[interval]
    share = np.clip((odds - knots[interval]) / length, 0, 1)[..., None]
    knot, interval = np.arange(len(knots)), interval[..., None]
    return (knot == interval) * (1 - share) + (knot == interval + 1) * share


def choose_knots(odds: np.ndarray) -> np.ndarray:
    """
    Return at most 20 knots, including both ends of the log odds.

    The knots are weighted means of quantiles and of evenly spaced values.
    """
    share = np.linspace(0, 1, min(KNOTS, len(np.unique(odds))))
    even = odds.min() + (odds.max() - odds.min()) * share
    return (1 - _EVEN_SHARE) * np.quantile(odds, share) + _EVEN_SHARE * even


def regression_mode(start, columns, odds, sums, total, precision):
    """Return the mode of a logistic regression, and minus the Hessian there."""
    return laplace.mode(start, _derivatives(columns, odds, sums, total, precision))


def _derivatives(columns, odds, sums, total, precision):
    """Return a function for the gradient and minus the Hessian of the log posterior density."""

    def at(coefficients):
        truth = expit(odds + columns @ coefficients)
        score = sums - columns.T @ (total * truth) - precision * coefficients
        hessian = (columns * (total * truth * (1 - truth))[:, None]).T @ columns
        hessian[np.diag_indices_from(hessian)] += precision
        return score, hessian

    return at


_NODES = 4  # number of nodes of Gaussian quadrature between two knots


def gauss_nodes(
    odds: np.ndarray, total: np.ndarray, knots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return nodes and weights of Gaussian quadrature for sums over forecasts.

    Between two knots, the log odds of the curve are linear in the log odds of the forecast. A sum
    of a smooth function over many forecasts is replaced by a sum over the four nodes of Gaussian
    quadrature for the discrete measure of these forecasts. It is exact for polynomials up to degree
    7. Four or fewer forecasts between two knots are used directly.

    Parameters
    ----------
    odds, total : ndarray, shape (n,)
        Distinct log odds in increasing order, and the weight of each.
    knots : ndarray, shape (k,)
        Knots from the lowest to the highest log odds.

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
    """Return the Gaussian quadrature for a discrete measure (Lanczos algorithm)."""
    middle, half = (odds[-1] + odds[0]) / 2, (odds[-1] - odds[0]) / 2
    scaled, basis = (odds - middle) / half, np.zeros((_NODES, len(odds)))
    diagonal, off_diagonal = np.zeros(_NODES), np.zeros(_NODES)
    row = np.sqrt(total / total.sum())
    for step in range(_NODES):
        basis[step] = row
        diagonal[step] = row @ (scaled * row)
        row = scaled * row
        for _ in range(2):  # two passes make the rows orthogonal
            row = row - basis.T @ (basis @ row)
        off_diagonal[step] = np.sqrt(row @ row)
        if off_diagonal[step] < 1e-9:  # with nearly equal forecasts, fewer nodes are exact
            diagonal, off_diagonal = diagonal[: step + 1], off_diagonal[: step + 1]
            break
        row = row / off_diagonal[step]
    jacobi = np.diag(diagonal) + np.diag(off_diagonal[:-1], 1) + np.diag(off_diagonal[:-1], -1)
    values, vectors = np.linalg.eigh(jacobi)
    return middle + half * values, total.sum() * vectors[0] ** 2


# Bayes factor of a step in the curve. The smooth curve would flatten a step.

_FORECASTS = 2000  # largest number of forecasts after grouping, ten between two cuts
_STEP_RANKS = 200  # number of cuts, so that 0.5% of the examples lie between two of them
# Prior standard deviation of the height of a step in log odds. A step from 0.3 to 0.6 has the
# height 1.25, and a step from 0.15 to 0.75 the height 2.8. In simulations, such steps were
# recognised equally often with 1.5 and with 2.
_STEP_SD = 1.5


def log_bayes_factors(
    smooth: SmoothCurve, odds: np.ndarray, hits: np.ndarray, total: np.ndarray
) -> tuple[float, float]:
    """
    Return the log Bayes factors of a rising and of a falling step.

    The reference is the smooth curve without a step. The scale of the walk is log-uniform in both
    models. With the prior for the smooth curve, which keeps the scale away from 0, the walk would
    also explain part of a step.

    Parameters
    ----------
    smooth : SmoothCurve
    odds, hits, total : ndarray, shape (m,)
        Distinct log odds of the original forecasts in increasing order, with their numbers of
        positives and of examples. Grouping of forecasts within classes, as in the smooth curve,
        would look like steps.

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
    first = first[first > 0]  # a step is just below the forecast with this index
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
        # Under the prior, a step is equally likely to rise or fall.
        up, down = (log_ndtr(sign * score / np.sqrt(precision)) for sign in (1, -1))
        rising.append(log_weight + logsumexp(log_factor + up, b=2 * share))
        falling.append(log_weight + logsumexp(log_factor + down, b=2 * share))
    return logsumexp(rising) - logsumexp(plain), logsumexp(falling) - logsumexp(plain)


def _pooled(odds, hits, total):
    """Average neighbouring forecasts if there are many."""
    if len(odds) <= _FORECASTS:
        return odds, hits, total
    group = np.arange(len(odds)) * _FORECASTS // len(odds)
    sums = [np.bincount(group, values) for values in (odds * total, hits, total)]
    return sums[0] / sums[2], sums[1], sums[2]


def _tail_sums(values, first):
    """Return the sums over the forecasts from each index to the end."""
    between = np.add.reduceat(values, first, axis=0)
    return np.cumsum(between[::-1], axis=0)[::-1]


def _log_prior(scale, spread):
    """Return the log density of log(scale) under the Rayleigh prior, up to a constant."""
    return 2 * np.log(scale / spread) - (scale / spread) ** 2 / 2


def _log_marginal(start, points, total, rows, sums, precision):
    """Return the Laplace log marginal likelihood of a regression, up to a constant."""
    mode, hessian = regression_mode(start, rows, points, sums, total, precision)
    value = sums @ mode - np.logaddexp(0, points + rows @ mode) @ total - precision @ mode**2 / 2
    return value + (np.log(precision).sum() - np.linalg.slogdet(hessian)[1]) / 2


def _columns(straight, steps, scale):
    return np.concatenate([straight, scale * steps], axis=1)


# The lower limit of a distance from calibration, and bands from draws.

_GRID = 50  # number of log odds at which a band is computed
_GROUPS = 400  # number of groups of neighbouring forecasts
_CERTAIN = 2.0  # departures whose mean exceeds this many standard deviations are certain
_CERTAIN_DRAWS = 2000  # number of draws of certain departures
_TAIL = 10  # divisor of the tail probability, because the same draws locate and measure departures


def lower_limit_of_distance(posterior: Any, measure: Callable, prob: float) -> np.ndarray:
    """
    Return the lower limit of a distance from calibration, (K,).

    If the simultaneous band contains the diagonal, the limit is 0. Otherwise, it is the larger of
    two values:

    - the distance of the curve in the band that is closest to the diagonal
    - a lower quantile of the distance over draws of the curve in which uncertain departures are
      set to 0. A departure is certain if its posterior mean exceeds two standard deviations in
      absolute value, and the draw has the sign of the mean.

    With one or two distinct forecasts, there is no smooth curve, so the binomial band is used.
    """
    limits = []
    for classifier, row in enumerate(posterior.probability):
        if len(np.unique(row)) < _FEWEST_VALUES:
            limits.append(_distance_of_few_values(posterior, classifier, measure, prob))
            continue
        smooth = posterior.smooth_of(classifier)
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
    """Return the distance of the nearest curve in the binomial band of one or two forecasts."""
    values = posterior.tally(classifier)[0]
    low, high = posterior.band(values, prob, method="binomial")[0][classifier].T
    row = posterior.probability[classifier]
    at = np.abs(row[:, None] - values).argmin(axis=1)
    nearest = np.clip(row, low[at], high[at])[None, None]
    sample = Forecasts(row[None], posterior.outcome, posterior.shares[None], lambda: nearest)
    return float(measure(sample).item())


def _certain_departures(departure):
    """Return draws of the departures (S, T) with the uncertain ones set to 0."""
    mean, spread = departure.mean(axis=0), departure.std(axis=0)
    side = np.where(np.abs(mean) > _CERTAIN * spread, np.sign(mean), 0.0)
    return side * np.maximum(side * departure[:_CERTAIN_DRAWS], 0.0)


def _distances(shares, odds, row, grid, measure, gap):
    """Return the measure (S,) of curves that depart by `gap` (S, T) at log odds `grid` (T,)."""
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
    """Return the ends of a pointwise or simultaneous band of draws (S, T)."""
    if not simultaneous:
        return np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    mean, spread = draws.mean(axis=0), draws.std(axis=0)
    reach = np.quantile(np.abs((draws - mean) / spread).max(axis=1), prob)
    return mean - reach * spread, mean + reach * spread
