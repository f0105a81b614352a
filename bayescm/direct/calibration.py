"""
The direct sibling of `bayescm.models.calibration`: probabilities, their scores and calibration.

The population of forecasts and outcomes is drawn by the Bayesian bootstrap inside each class, with
half an example at the lowest and at the highest forecast of all (what a class may hold and has not
shown), and a beta prevalence. Proper scores and the logistic recalibration are functions of it, the
same draws for all classifiers. The calibration curve is smooth, in
`bayescm.direct.probabilities.smooth`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayescm.direct.base import Posterior
from bayescm.direct.probabilities.distance import Distance, around
from bayescm.direct.probabilities.population import draw_shares, grouped
from bayescm.direct.probabilities.smooth import SCALE, Smooth
from bayescm.direct.roc.prevalence import class_weights
from bayescm.distributions.discrete import Empirical
from bayescm.evidence.scored.probabilities import as_probabilities
from bayescm.measures.forms import Curved
from bayescm.measures.probabilities import Forecasts, log_odds
from bayescm.validate import fail

_END = 0.5  # examples at each end of the forecasts, in each class
_FEW = 20  # examples of a class from which on coverage was measured
_DRAWS = 4000
_AT_ONCE, _LARGEST = 2e7, 1e8  # numbers held at once, and drawn in all


class Calibration(Posterior):
    """
    The posterior of the forecasts of one or more classifiers on the same examples.

    Attributes
    ----------
    names : list of str, or None
        The classifiers.
    probability : ndarray, shape (K, n)
    outcome, weight : ndarray, shape (n,)
        1 for the positive class; how many examples each one stands for.
    """

    takes = "scores"
    gives = "probabilities"
    pairs = ("classifier",)
    cell_prior = False
    estimands = {"parameter": "curve"}  # noqa: RUF012
    sampling_method = "importance"
    how = "draws by the Bayesian bootstrap"

    def __init__(self, evidence, spread=SCALE):
        self.evidence, self.spread = evidence, spread
        score = evidence["score"]
        self.names = score["classifier"].values.tolist() if "classifier" in score.dims else None
        self.probability = np.atleast_2d(score.transpose(..., "example").values)
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

    def doubts(self) -> list[str]:
        """Say so where one of the classes has few examples."""
        few = self._totals.min()
        if few >= _FEW:
            return []
        side = "positive" if self._totals[1] < self._totals[0] else "negative"
        return [f"{few:.3g} {side} examples are few: the intervals may be too short."]

    @property
    def seen(self):
        """The scores."""
        return self.evidence["score"]

    @property
    def blank(self):
        """NaN for every classifier."""
        dims = [] if self.names is None else ["classifier"]
        coords: dict[str, Any] = {} if self.names is None else {"classifier": self.names}
        coords |= {"positive": self.evidence["positive"].item()}
        return xr.DataArray(np.full([len(coords[dim]) for dim in dims], np.nan), coords, dims)

    @cached_property
    def batch(self):
        """The number of examples, for every classifier."""
        return self.blank.copy(data=np.full(self.blank.shape, self.weight.sum()))

    @property
    def width(self):
        """The numbers of one draw."""
        return self.probability.size

    held = width

    def classes_of(self, measure):
        """Return None: the measures are of two classes."""
        return None

    def draws_by_default(self, of, *, joint=False):
        """Return how many draws are made where nothing else is asked for."""
        return int(np.clip(_LARGEST / self.width, 500, _DRAWS))

    @cached_property
    def odds(self) -> np.ndarray:
        """The log odds of the forecasts, (K, n), finite."""
        return log_odds(self.probability)

    @cached_property
    def smooth(self) -> list[Smooth]:
        """The posterior of the curve of each classifier."""
        for row in self.odds:
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
        return forecast, outcome, np.concatenate([self.weight, [_END] * 4])

    def population(self, size: int, rng: np.random.Generator) -> Forecasts:
        """Draw the population of forecasts and outcomes."""
        forecast, outcome, weight = self._units
        shares = draw_shares(outcome, weight, self._prevalence(size, rng), size, rng)

        def curve():
            odds = np.concatenate([self.odds, *[self._ends(self.odds)] * 2], axis=1)
            return np.stack(
                [
                    expit(at + each.departure(*each.draw(size, rng)[:2], at))
                    for each, at in zip(self.smooth, odds, strict=True)
                ],
                axis=1,
            )

        return Forecasts(forecast, outcome, shares, curve)

    def _ends(self, rows):
        return np.stack([rows.min(axis=1), rows.max(axis=1)], axis=1)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw several measures jointly, (size, [K])."""
        step = max(1, int(_AT_ONCE / self.width))
        sizes = np.diff([*range(0, size, step), size])
        parts = []
        for each in sizes:
            drawn = self.population(each, rng)
            shape = (each, len(self.probability))
            parts.append([np.broadcast_to(measure(drawn), shape) for measure in measures])
        every = [np.concatenate(values) for values in zip(*parts, strict=True)]
        for measure, values in zip(measures, every, strict=True):
            if np.isinf(values).any():
                what = f"{measure.__name__} is infinite if a forecast of exactly 0 or 1 is wrong"
                todo = "pass clip=1e-6 to from_probabilities, or ask for brier"
                raise fail(what, ..., "forecasts inside (0, 1)", todo)
        return [values.reshape(size, *self.blank.shape) for values in every]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value in the sample; of what needs the curve, the median of the posterior."""
        self.check_of(of)
        form = getattr(measure, "form", None)
        if isinstance(form, Curved):
            return np.median(self.draw([measure], _DRAWS, np.random.default_rng(0))[0], axis=0)
        seen = Forecasts(
            self.probability, self.outcome, self.shares[None], lambda: self.probability[None]
        )
        value = np.broadcast_to(measure(seen), (1, len(self.probability)))
        return value.reshape(self.blank.shape)

    def drawn(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws; of a distance from calibration with its own limits."""
        form = getattr(measure, "form", None)
        if not isinstance(form, Curved) or not form.zero:
            return super().drawn(measure, draws)
        how = "draws; the lower limit is that of the curve's band"
        return Distance(draws, how=how, posterior=self, measure=measure)

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
        Standard deviation of the half-normal prior of the scale of the departure from a straight
        line, on the log odds; by default 2.

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
