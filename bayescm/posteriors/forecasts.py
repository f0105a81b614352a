"""
Base class of the posteriors of probabilities, and grouping of forecasts.

Measures are computed for a population, which is sampled by the Bayesian bootstrap
(`bayescm.inference.bayesian_bootstrap`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.empirical import Empirical
from bayescm.measures.measure import CalibrationForm
from bayescm.measures.probabilities import log_odds
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.posteriors.roc.curve_posterior import CurvePosterior
from bayescm.posteriors.scores import scores
from bayescm.posteriors.shared_examples import SharedExamples
from bayescm.validate import fail

_SOME = 500  # number of draws whose range decides whether the value in the sample is plausible
_AT_ONCE = 2e7  # largest number of values in memory
_LARGEST = 1e8  # largest number of values sampled in total
# Smallest number of distinct forecasts for the PyMC model of a calibration curve.
_FEWEST_FORECASTS = 3


class OfForecasts(Posterior):
    """
    Base class of posteriors of forecasts of classifiers on the same examples.

    A subclass has the attributes ``evidence``, ``probability`` (K, n, ...) and ``weight`` (n,), and
    defines `population`.
    """

    measured_variable = ("probabilities", "curve")
    pairs: tuple[str, ...] = ("classifier",)
    cell_prior = False
    estimands = {"parameter": "curve"}  # noqa: RUF012
    sampling_method = "importance"
    how = "draws by the Bayesian bootstrap"
    most = 4000  # largest default number of draws
    evidence: xr.Dataset
    probability: np.ndarray
    weight: np.ndarray

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model: for one classifier with varying forecasts."""
        return len(self.probability) == 1 and len(np.unique(self.probability)) >= _FEWEST_FORECASTS

    def population(self, size: int, rng: np.random.Generator) -> Any:
        """Sample the population of forecasts and outcomes."""
        raise NotImplementedError

    def sampled(self, weights: np.ndarray | None = None) -> Any:
        """Return the sample as a population, or samples with other weights (S, n)."""
        raise NotImplementedError

    def lower_limit(self, measure: Any, prob: float) -> np.ndarray:
        """Return the lower limit of a distance from calibration, (K, [C])."""
        raise NotImplementedError

    @cached_property
    def curve_posterior(self) -> CurvePosterior | None:
        """The posterior of the ROC curves, for measures of curves."""
        return scores(self.evidence)

    def _curves_for(self, measure):
        """
        Return the posterior of the curves if the measure is computed from it, else None.

        Means over classes use the population instead. Otherwise, the prior would shrink the curve
        of each class slightly towards chance. In the mean over many classes, this bias would exceed
        the posterior uncertainty.
        """
        of_curves = measure.takes == "curve" and measure.average not in ("macro", "weighted")
        return self.curve_posterior if of_curves else None

    def bound(self, measure: Any) -> Any:
        """Return the measure for the class in its name (``auc[cat]``), against the rest."""
        curves = self._curves_for(measure)
        return measure if curves is None else curves.bound(measure)

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of an area from its moments, or None if it is sampled."""
        curves = self._curves_for(measure)
        return None if curves is None else curves.exact_distribution(measure)

    @property
    def names(self) -> list | None:
        """The names of the classifiers, or None without the dim `classifier`."""
        score = self.evidence["score"]
        return score["classifier"].values.tolist() if "classifier" in score.dims else None

    @property
    def observed(self):
        """The scores."""
        return self.evidence["score"]

    @cached_property
    def template(self):
        """The dim of the classifiers, if any."""
        coords = self.evidence.coords.variables
        frame = LabelTemplate({key: coords[key] for key in ("positive",) if key in coords})
        return frame if self.names is None else frame.append_dim("classifier", self.names)

    @property
    def batch(self):
        """The number of examples of each classifier."""
        return self.template.to_dataarray(np.full(self.template.shape, self.weight.sum()))

    @property
    def values_per_draw(self):
        """The number of values in memory for one draw."""
        return self.probability.size

    def draws_by_default(self, of, *, joint=False):
        """Return the default number of draws, which falls with the number of examples."""
        return int(np.clip(_LARGEST / self.values_per_draw, 500, self.most))

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample measures of forecasts jointly, and of curves jointly, (size, [K], [C])."""
        posterior = self.curve_posterior
        of_curves = [measure for measure in measures if self._curves_for(measure) is not None]
        others = [measure for measure in measures if measure not in of_curves]
        drawn = dict(zip(others, self._draw_forecasts(others, size, rng), strict=True))
        if posterior is not None and of_curves:
            drawn |= dict(zip(of_curves, posterior.draw(of_curves, size, rng), strict=True))
        if len(self.probability) > 1:
            drawn |= self._joint_of_forecasts(others, drawn, size, rng)
        return [drawn[measure] for measure in measures]

    @cached_property
    def _shared_examples(self) -> SharedExamples:
        """The examples that represent the disagreement between the classifiers."""
        rows = np.moveaxis(self.probability, 1, -1)
        return SharedExamples([rows, log_odds(rows)], self.weight)

    def _joint_of_forecasts(self, measures, drawn, size, rng):
        """
        Return draws of measures in a joint order, allowing for unobserved disagreement.

        Calibration curves of several classifiers are sampled independently. Differences between
        their measures then vary as if the classifiers were tested on different examples, which is
        conservative.
        """
        measures = [
            one for one in measures if not isinstance(getattr(one, "form", None), CalibrationForm)
        ]
        if not measures:
            return {}
        examples = self._shared_examples
        pseudo = examples.disagreement(len(self.probability), size, rng)
        samples = self.sampled(examples.weights())
        joint = {}
        for measure in measures:
            with np.errstate(all="ignore"):
                values = self._shaped(measure, samples, 1 + len(examples.index))
            joint[measure] = examples.joint(drawn[measure], values, pseudo)
        return joint

    def given(self, variables: Mapping[str, np.ndarray]) -> "OfForecasts":
        """Return the posterior whose calibration curves are draws of the PyMC model."""
        raise NotImplementedError

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """
        Return draws of measures, given draws of the calibration curve.

        See `Posterior.draw_given`. The model is conditional on the forecasts. The population of
        forecasts and outcomes is sampled by the Bayesian bootstrap, as in `draw`.
        """
        size = len(next(iter(variables.values())))
        step = max(1, int(_AT_ONCE / self.values_per_draw))
        parts = []
        for start in range(0, size, step):
            part = {name: values[start : start + step] for name, values in variables.items()}
            number = min(step, size - start)
            parts.append(self.given(part).draw(measures, number, rng, of=of, n=n))
        return [np.concatenate(values) for values in zip(*parts, strict=True)]

    def _draw_forecasts(self, measures, size, rng):
        if not measures:
            return []
        step = max(1, int(_AT_ONCE / self.values_per_draw))
        sizes = np.diff([*range(0, size, step), size])
        parts = []
        for number in sizes:
            drawn = self.population(number, rng)
            parts.append([self._shaped(measure, drawn, number) for measure in measures])
        arrays = [np.concatenate(values) for values in zip(*parts, strict=True)]
        for measure, values in zip(measures, arrays, strict=True):
            if np.isinf(values).any():
                raise fail(
                    f"{measure.__name__} is infinite: some forecasts are exactly 0 or 1 and may be "
                    "wrong",
                    ...,
                    "",
                    "pass `clip=1e-6 to from_probabilities`, or use brier",
                )
        return arrays

    def _shaped(self, measure, population, size):
        """Return the values of a measure of a population, (size, [K], [C])."""
        labels = self.classes_of(measure)
        further = () if labels is None else (len(labels),)
        values = np.broadcast_to(measure(population), (size, len(self.probability), *further))
        return values.reshape(size, *self.template.shape, *further)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the value in the sample, or the posterior median.

        The median is used in two cases:

        - The measure needs the calibration curve.
        - The value in the sample is outside the range of the draws. For example, the slope is
          infinite if the forecasts separate the classes completely.
        """
        self.resolve_estimand(of)
        if (curves := self._curves_for(measure)) is not None:
            return curves.point(measure)
        form = getattr(measure, "form", None)
        if isinstance(form, CalibrationForm):
            drawn = self.draw([measure], self.draws_by_default(of), np.random.default_rng(0))
            return np.median(drawn[0], axis=0)
        estimate = self._shaped(measure, self.sampled(), 1)[0]
        if np.isfinite(measure.range).any():  # type: ignore[attr-defined]
            return estimate
        (draws,) = self.draw([measure], _SOME, np.random.default_rng(0))
        inside = (draws.min(axis=0) <= estimate) & (estimate <= draws.max(axis=0))
        return np.where(inside, estimate, np.median(draws, axis=0))

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws. Distances from calibration are a special case."""
        if (curves := self._curves_for(measure)) is not None:
            return curves.empirical(measure, draws)
        form = getattr(measure, "form", None)
        if not isinstance(form, CalibrationForm) or not form.is_distance:
            return super().empirical(measure, draws)
        how = "draws; the lower limit is 0 where the smooth curve's band holds the diagonal"
        return Distance(draws, how=how, posterior=self, measure=measure)


@dataclass(frozen=True, eq=False)
class Distance(Empirical):
    """
    Posterior of a distance from calibration, from draws.

    If the distance is 0, no two-sided posterior interval contains it. So the lower limit is
    computed differently. It is 0 if the simultaneous smooth band with the same probability contains
    the diagonal. Otherwise, it is `lower_limit` of the posterior. The upper limit comes from the
    equal-tailed interval.

    The smooth band is used even if the curve is shown with another band, because the curve of
    calibrated forecasts, the diagonal, is smooth.
    """

    posterior: Any = None
    measure: Any = None

    def eti(self, prob: float) -> np.ndarray:
        """Return the lower and upper limits, (..., 2)."""
        upper = self.quantile((1 + prob) / 2)
        lower = self.posterior.lower_limit(self.measure, prob).reshape(np.shape(upper))
        return np.stack([np.minimum(lower, upper), upper], axis=-1)

    hdi = eti

    def hdi_kind(self, prob: float) -> np.ndarray:
        """Return "eti", because the interval is not a highest-density interval."""
        return np.broadcast_to("eti", self.shape)


def exact_forecast_caveats(probability: np.ndarray) -> list[str]:
    """Return a caution if forecasts are exactly 0 or 1, so that their log odds are infinite."""
    number = int(np.isin(probability, (0, 1)).sum())
    if not number:
        return []
    are = "forecast is" if number == 1 else "forecasts are"
    return [
        (
            f"{number} {are} exactly 0 or 1. Slope, intercept and calibration in the large "
            "place them one standard deviation beyond the most extreme of the others. "
            "The log loss treats them as always right, but one mistake would make it "
            "infinite. Pass clip= to bound the forecasts."
        )
    ]


# Grouping of neighbouring forecasts in large samples.

_GROUPS = 1024  # number of groups per class in large samples
_NEIGHBOURS = 64  # number of groups per site


def grouped(
    probability: np.ndarray, outcome: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group neighbouring forecasts of examples (n,) within classes, in large samples."""
    if len(outcome) <= 4 * _GROUPS:
        return probability, outcome, weight
    order = np.lexsort((probability, outcome))
    outcome, weight, probability = outcome[order], weight[order], probability[order]
    first = np.searchsorted(outcome, 1)
    rank = np.concatenate([np.arange(first), np.arange(len(outcome) - first)])
    size = np.where(outcome == 1, len(outcome) - first, first)
    group = (rank * _GROUPS // size + _GROUPS * outcome).astype(int)
    total = np.bincount(group, weight, 2 * _GROUPS)
    occupied = total > 0
    mean = np.bincount(group, weight * probability, 2 * _GROUPS)[occupied] / total[occupied]
    return mean, np.repeat([0.0, 1.0], _GROUPS)[occupied], total[occupied]


def neighbours(rows: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group neighbouring forecasts (1, n) of one classifier, in large samples."""
    if len(rows) > 1 or len(weight) <= _NEIGHBOURS:
        return rows, weight
    order = np.argsort(rows[0], kind="stable")
    group = np.arange(len(order)) * _NEIGHBOURS // len(order)
    total = np.bincount(group, weight[order])
    return np.bincount(group, (weight * rows[0])[order])[None] / total, total
