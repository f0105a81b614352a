r"""
Direct posterior of `bayescm.models.dirichlet_calibration`: many classes.

**The population** of forecasts and outcomes is sampled by the Bayesian bootstrap. Each example has
a weight w_i ~ Gamma(1). Each class c also has two pseudo-examples, at its lowest and its highest
forecast, with w ~ Gamma(1/(2C)). All pseudo-examples together are worth one example for any number
of classes. If any example is misclassified, their scores are clipped to the range of the scores of
the examples (`ClassForecasts.mean_score`).

For a class against the rest, the mean of its n_c examples must vary like a sample mean. This needs
weights of shape 1 - 2/n_c (`bayescm.inference.bayesian_bootstrap.unbiased_shape`). They are a part
of the weights above, because Gamma(1) is Gamma(a) + Gamma(1 - a). The interval of a single class
uses the same prior as with two classes, half an example at each of its ends. In a mean over
classes, the effects of these priors would have the same sign and add up. So for a mean, all classes
share an eighth of an example at each end.

**The curves** of each class against the rest, and of the highest probability, are the smooth curves
of `bayescm.posteriors.calibration`. The whole forecast p is recalibrated by Dirichlet calibration
(Kull et al. 2019, cited by the model), with the probabilities

.. math::

    \mathrm{softmax}\bigl(\log p + a + (b I + s W) \, z(p)\bigr), \qquad W_{jk} \sim N(0, 1).

Here z(p) is the standardised log forecast, a are the levels of the classes, and b is a common
slope. The scale s of the dependence between classes is estimated. For each scale on a grid, the
posterior of the coefficients is approximated by Laplace's method, and corrected by importance
weights (`bayescm.inference.nested_laplace`).
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import softmax

from bayescm.distributions.log_densities import log_half_normal
from bayescm.evidence.scores import as_forecasts, one_vs_rest, top_label, top_labels_alike
from bayescm.inference import bayesian_bootstrap, nested_laplace
from bayescm.measures.probabilities import ClassForecasts, Forecasts, log_odds
from bayescm.posteriors import heavy_weights
from bayescm.posteriors.calibration import Calibration, lower_limit_of_distance
from bayescm.posteriors.forecasts import OfForecasts, exact_forecast_caveats
from bayescm.posteriors.roc.prevalence import class_weights
from bayescm.validate import check_number, fail

# Prior standard deviations, as in the model.
LEVEL = 2.0  # levels a
SLOPE = 2.0  # slope b
SCALE = 1.0  # scale s (half-normal)
# Number of pseudo-examples at each end of the forecasts, in all classes together or in one class.
_END_EXAMPLES = 0.5
# The same number for a mean over classes, shared by all classes. With 100 examples of ten classes,
# intervals of the mean area are up to 1.5 times as long as the t interval. With half an example,
# they are up to 2.2 times as long.
_END_EXAMPLES_OF_MEAN = 0.125
# Shape of a weight in classes of one or two examples, because the shape of a gamma variable must be
# positive.
_LEAST_SHAPE = 0.1
# Classes with this number of examples or more use the plain Bayesian bootstrap. The standard
# deviation of the mean is then at most 1% too small.
_MANY_EXAMPLES = 100
_FEW_EXAMPLES = 20  # smallest number of examples per class for which coverage was measured
_MOST_CLASSES = 20  # largest number of classes for which the whole forecast is recalibrated


def dirichlet_calibration(
    evidence: xr.Dataset, *, spread: float | None = None
) -> "DirichletCalibration":
    """
    Return the posterior of probabilities of more than two classes.

    Use it for proper scores and calibration errors of whole forecasts, of each class against the
    rest, or of the highest probability.

    Parameters
    ----------
    evidence : xarray.Dataset
        Evidence of more than two classes from :func:`bayescm.from_probabilities`.
    spread : float, optional
        Scale of the half-normal prior for the dependence between classes. Default: 1.

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
        todo = "leave `model` out, or pass `model='calibration'`"
        raise fail("dirichlet_calibration needs more than two classes", ..., "", todo)
    spread = SCALE if spread is None else check_number("spread", spread, 0, usual=1)
    return DirichletCalibration(evidence, spread)


class DirichletCalibration(OfForecasts):
    """
    Posterior of the forecasts of more than two classes.

    Attributes
    ----------
    labels : ndarray, shape (C,)
        Class labels.
    probability : ndarray, shape (K, n, C)
        Forecasts of K classifiers.
    code : ndarray of int, shape (n,)
        Index of the observed class.
    weight : ndarray, shape (n,)
        Number of examples that each entry represents.
    """

    most = 2000

    def __init__(self, evidence, spread=SCALE):
        self.evidence, self.spread = evidence, spread
        self.labels = evidence["class"].values
        score = evidence["score"].transpose(..., "example", "class").values
        self.probability = score.reshape(-1, *score.shape[-2:])
        codes = {label: code for code, label in enumerate(self.labels.tolist())}
        self.code = np.array([codes[label] for label in evidence["actual"].values.tolist()])
        weight = evidence["weight"].values if "weight" in evidence else np.ones(len(self.code))
        self.weight = weight.astype(float)
        self._totals = np.bincount(self.code, self.weight, len(self.labels))
        self._class_weights = class_weights(evidence, self.weight, self.code, len(self.labels))

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about rare classes, exact forecasts, heavy weights and top labels."""
        sentences = []
        absent = self.labels[self._totals == 0].tolist()
        if absent:
            names = ", ".join(map(str, absent))
            sentences.append(
                f"No example is of class {names}: its share is assumed to be 0, and its forecasts "
                "are not checked."
            )
        rarest = np.where(self._totals > 0, self._totals, np.inf).argmin()
        if self._totals[rarest] < _FEW_EXAMPLES:
            examples = f"{self._totals[rarest]:.3g} examples of class {self.labels[rarest]}"
            sentences.append(f"With only {examples}, the intervals may be too short.")
        sentences += exact_forecast_caveats(self.evidence["score"].values)
        sentences += heavy_weights.of_scores(self.evidence)
        for name, is_right in top_labels_alike(self.evidence).items():
            of_classifier = "" if name is None else f" of {name}"
            sentences.append(
                f"The most probable class{of_classifier} is {'right' if is_right else 'wrong'} "
                "in all examples. Measures of the highest probability (_top_label) need "
                "both right and wrong examples, and are left out by default."
            )
        return sentences

    def classes_of(self, measure):
        """Return the class labels if a measure has one value per class, else None."""
        return self.labels if getattr(measure, "one_class", False) else None

    @cached_property
    def against_rest(self) -> list[Calibration]:
        """The posterior of each class against the rest."""
        return [Calibration(one_vs_rest(self.evidence, label)) for label in self.labels.tolist()]

    @cached_property
    def top(self) -> list[Calibration]:
        """The posterior of the highest probability of each classifier."""
        if "classifier" not in self.evidence.dims:
            return [Calibration(top_label(self.evidence))]
        return [
            Calibration(top_label(self.evidence.isel(classifier=k)))
            for k in range(len(self.probability))
        ]

    @cached_property
    def linear(self) -> list["LinearDeparture"]:
        """The Dirichlet calibration of each classifier."""
        if len(self.labels) > _MOST_CLASSES:
            raise fail(
                f"A forecast of {len(self.labels)} classes cannot be recalibrated as a whole; "
                f"at most {_MOST_CLASSES} can",
                ...,
                "",
                "use the measure of each class, or of the highest probability (_top_label)",
            )
        has = self._totals > 0
        totals, weights = np.where(has, self._totals, 1), np.where(has, self._class_weights, 1)
        shift = np.log(totals * weights) - np.log(totals)
        return [
            LinearDeparture(finite_log(row), self.code, self.weight, self.spread, shift)
            for row in self.probability
        ]

    @cached_property
    def _unit_examples(self):
        """Return the indices of the examples used as units of the population, (K, n + 2 C)."""
        ends = [self.probability.argmin(axis=1), self.probability.argmax(axis=1)]
        examples = np.broadcast_to(np.arange(len(self.code)), self.probability.shape[:2])
        return np.concatenate([examples, *ends], axis=1)

    def _at_units(self, values):
        """Return values (K, n, ...) of the examples at the units of the population."""
        return np.stack(
            [row[index] for row, index in zip(values, self._unit_examples, strict=True)]
        )

    def population(self, size: int, rng: np.random.Generator) -> ClassForecasts:
        """Sample the population of forecasts and outcomes."""
        number = len(self.labels)
        classes = np.arange(number)
        code = np.concatenate([self.code, classes, classes])
        total = self._totals[self.code]
        shape = np.maximum(bayesian_bootstrap.unbiased_shape(total), _LEAST_SHAPE)
        shape = np.where(total < _MANY_EXAMPLES, shape, 1.0)
        gamma_weights = bayesian_bootstrap.gamma_weights
        inside = gamma_weights(self.weight * shape, size, rng)  # for a class against the rest
        example = inside + gamma_weights(self.weight * (1 - shape), size, rng)
        pseudo = rng.standard_gamma(_END_EXAMPLES / number, (size, 2 * number))
        weight = np.concatenate([example, pseudo], axis=1) * self._class_weights[code]
        weight /= weight.sum(axis=1, keepdims=True)
        forecast = self._at_units(self.probability)

        def one_vs_rest(label, *, averaged=False):
            of_class = code == label
            ends = rng.standard_gamma(
                _END_EXAMPLES_OF_MEAN / number if averaged else _END_EXAMPLES, (size, 2)
            )
            class_weight = np.concatenate([inside[:, self.code == label], ends], axis=1)
            shares = weight.copy()
            share = shares[:, of_class].sum(axis=1, keepdims=True)
            shares[:, of_class] = class_weight * (share / class_weight.sum(axis=1, keepdims=True))
            curve = partial(self._curve, size, rng, label)
            return Forecasts(
                forecast[..., label], of_class.astype(float), shares, curve, 2 * number
            )

        top = self._of_highest(forecast, code, weight, partial(self._top_curve, size, rng))
        chances = partial(self._chances, size, rng)
        return ClassForecasts(forecast, code, weight, one_vs_rest, top, chances, 2 * number)

    def sampled(self, weights: np.ndarray | None = None) -> ClassForecasts:
        """Return the sample, optionally reweighted (S, n), with diagonal curves."""
        forecast = self.probability
        share = (self.weight[None] if weights is None else weights) * self._class_weights[self.code]
        share = share / share.sum(axis=1, keepdims=True)

        def one_vs_rest(label, *, averaged=False):
            outcome = (self.code == label).astype(float)
            return Forecasts(
                forecast[..., label], outcome, share, lambda: forecast[None, ..., label]
            )

        top = self._of_highest(
            forecast, self.code, share, lambda k: forecast[None, [k]].max(axis=-1)
        )
        return ClassForecasts(forecast, self.code, share, one_vs_rest, top, lambda: forecast[None])

    def _of_highest(self, forecast, code, weight, curve):
        """Return the highest probability of each classifier, and whether its class occurred."""
        correct = (forecast.argmax(axis=-1) == code).astype(float)
        pseudo = forecast.shape[1] - len(self.code)
        return tuple(
            Forecasts(forecast[[k]].max(axis=-1), correct[k], weight, partial(curve, k), pseudo)
            for k in range(len(forecast))
        )

    def _curve(self, size, rng, label):
        """Sample the curve of one class against the rest at the units, (size, K, u)."""
        odds = log_odds(self.probability[..., label])
        return self.against_rest[label].curves(self._at_units(odds), size, rng)

    def _top_curve(self, size, rng, classifier):
        """Sample the curve of the highest probability of one classifier, (size, 1, u)."""
        odds = log_odds(self.probability[classifier].max(axis=-1))
        return self.top[classifier].curves(odds[None, self._unit_examples[classifier]], size, rng)

    def _chances(self, size, rng):
        """Sample the probabilities of all classes given the forecasts, (size, K, u, C)."""
        chances = []
        for linear, units in zip(self.linear, self._unit_examples, strict=True):
            draws = rng.choice(len(linear.sample), size, replace=size > len(linear.sample))
            chances.append(linear.chances(linear.sample[draws], linear.logs[units]))
        return np.stack(chances, axis=1)

    def given(self, variables: Mapping[str, np.ndarray]) -> "DirichletCalibration":
        """Return the posterior with the PyMC model's draws of the coefficients."""
        if len(self.probability) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("The model supports one classifier; got {}", self.names, "", todo)
        (linear,), (units,) = self.linear, self._unit_examples
        size, number = len(variables["slope"]), len(self.labels)
        step = variables["step"].reshape(size, number**2)
        coefficients = [variables["level"], variables["slope"][:, None], step]
        matrices = linear.matrices(np.concatenate(coefficients, axis=1), variables["spread"])

        def chances(size: int, rng: np.random.Generator) -> np.ndarray:
            return linear.chances(matrices, linear.logs[units])[:, None]

        given = copy.copy(self)
        given._chances = chances  # type: ignore[method-assign]
        return given

    def lower_limit(self, measure: Any, prob: float) -> np.ndarray:
        """Return the lower limit of a distance from calibration, (K, [C])."""
        if measure.form.all_classes:
            limits = [
                self._limit_of_whole_forecast(k, measure, prob) for k in range(len(self.linear))
            ]
            return np.array(limits)
        formula = measure.formula
        if measure.average == "top_label":
            return np.concatenate(
                [lower_limit_of_distance(binary, formula, prob) for binary in self.top]
            )
        if not self._totals.all():
            label = self.labels[self._totals == 0][0]
            what = (
                f"{measure.__name__} needs examples of every class, but none is of class {label!s}"
            )
            raise fail(what, ..., "", "use brier, log_loss or ece_top_label")
        limits = [lower_limit_of_distance(binary, formula, prob) for binary in self.against_rest]
        values = np.stack(limits, axis=-1)
        if not measure.average:
            return values
        share = self._totals * self._class_weights
        weight = share / share.sum() if measure.average == "weighted" else 1 / len(share)
        return (values * weight).sum(axis=-1)

    def _limit_of_whole_forecast(self, k, measure, prob):
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
        """Return draws of the variables of the PyMC model, for one classifier."""
        if len(self.probability) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("The model supports one classifier; got {}", self.names, "", todo)
        coefficients, scale, _ = self.linear[0].draw(size, rng)
        number = len(self.labels)
        step = coefficients[:, number + 1 :].reshape(-1, number, number)
        level, slope = coefficients[:, :number], coefficients[:, number]
        return {"level": level, "slope": slope, "spread": scale, "step": step}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log of prior times likelihood of the PyMC model's variables."""
        step = variables["step"].reshape(len(variables["step"]), -1)
        parts = [variables["level"], variables["slope"][:, None], step]
        return self.linear[0].log_density(np.concatenate(parts, axis=1), variables["spread"])


# The Dirichlet calibration of one classifier: a Laplace approximation per scale, then importance
# weights.

_SCALES = np.geomspace(0.02, 3.0, 11)  # the grid of s
_BLOCK = 4e6  # largest number of values in an array


@dataclass(frozen=True, eq=False)
class LinearDeparture:
    """
    Posterior of the departure of one classifier's forecasts from calibration.

    Attributes
    ----------
    logs : ndarray, shape (n, C)
        Finite logarithms of the forecasts.
    code : ndarray of int, shape (n,)
        Index of the observed class.
    weight : ndarray, shape (n,)
        Number of examples that each entry represents.
    spread : float
        Scale of the half-normal prior for the dependence between classes.
    shift : ndarray, shape (C,)
        Logarithm of the share of each class in the population relative to the sample, up to a
        constant.
    """

    logs: np.ndarray
    code: np.ndarray
    weight: np.ndarray
    spread: float
    shift: np.ndarray

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.logs.shape[1]

    @cached_property
    def _center(self):
        clean = self.logs - self.logs.mean(axis=1, keepdims=True)
        mean = clean.mean(axis=0)
        spread = (clean - mean).std()
        return mean, spread if spread > 1e-9 else 1.0  # all forecasts may be equal

    def design(self, logs: np.ndarray) -> np.ndarray:
        """Return 1 and the standardised log forecasts z(p), (..., C + 1)."""
        mean, spread = self._center
        standardised = (logs - logs.mean(axis=-1, keepdims=True) - mean) / spread
        return np.concatenate([np.ones((*standardised.shape[:-1], 1)), standardised], axis=-1)

    def matrices(self, coefficients: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """
        Return the departure's matrices (S, C, C + 1) for coefficients and scales.

        The coefficients have shape (S, p), and the scales (S,).
        """
        number = self.classes
        level, slope = coefficients[:, :number], coefficients[:, number, None, None]
        step = coefficients[:, number + 1 :].reshape(-1, number, number)
        across = slope * np.eye(number) + scale[:, None, None] * step
        return np.concatenate([level[..., None], across], axis=-1)

    @cached_property
    def precision(self) -> np.ndarray:
        """The prior precision of levels, slope and steps, (p,)."""
        number = self.classes
        return np.r_[np.full(number, LEVEL**-2), SLOPE**-2, np.ones(number**2)]

    def log_density(self, coefficients: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """
        Return the log of prior times likelihood of coefficients and scales.

        It equals the density of the PyMC model.
        """
        design, matrices = self.design(self.logs), self.matrices(coefficients, scale)
        step = max(1, int(_BLOCK / self.logs.size))
        likelihood = [
            self._log_likelihood(design, matrices[first : first + step])
            for first in range(0, len(matrices), step)
        ]
        logs = np.log(self.precision / (2 * np.pi)).sum() / 2
        prior = logs - (coefficients**2) @ self.precision / 2
        return np.concatenate(likelihood) + prior + log_half_normal(scale, self.spread)

    def _log_likelihood(self, design, matrices):
        eta = self.logs + design @ matrices.swapaxes(-1, -2)
        eta_of_outcome = np.take_along_axis(
            eta, np.broadcast_to(self.code, eta.shape[:2])[..., None], -1
        )
        top = eta.max(axis=-1)
        total = top + np.log(np.exp(eta - top[..., None]).sum(axis=-1))
        return (eta_of_outcome[..., 0] - total) @ self.weight

    def _jacobian(self, scale):
        """Return the matrix from coefficients to the departure's flattened matrix."""
        unit = np.eye(len(self.precision))
        return self.matrices(unit, np.full(len(unit), scale)).reshape(len(unit), -1).T

    @cached_property
    def _approximation(self):
        """Return the Laplace approximation of the coefficients at each scale."""
        start = np.zeros(len(self.precision))
        return nested_laplace.on_grid(_SCALES, start, self._derivatives, self.log_density)

    def _derivatives(self, scale):
        """Return a function for the gradient and minus the Hessian of the log density."""
        design, number, jacobian = self.design(self.logs), self.classes, self._jacobian(scale)
        outcome = np.eye(number)[self.code]

        def at(coefficients):
            matrix = (jacobian @ coefficients).reshape(number, number + 1)
            chance = softmax(self.logs + design @ matrix.T, axis=1)
            residual = ((outcome - chance) * self.weight[:, None]).T @ design
            score = jacobian.T @ residual.ravel() - self.precision * coefficients
            hessian = jacobian.T @ self._curvature(chance, design) @ jacobian
            hessian[np.diag_indices_from(hessian)] += self.precision
            return score, hessian

        return at

    def _curvature(self, chance, design):
        """Return minus the Hessian of the log likelihood with respect to the departure's matrix."""
        number, width = chance.shape[1], design.shape[1]
        curvature = np.empty((number, width, number, width))
        for row in range(number):
            for column in range(row, number):
                covariance = self.weight * chance[:, row] * ((row == column) - chance[:, column])
                block = (design * covariance[:, None]).T @ design
                curvature[row, :, column] = curvature[column, :, row] = block
        return curvature.reshape(number * width, number * width)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
        """Return draws of coefficients (size, p), scales (size,), and their efficiency."""
        return self._approximation.draw(self.log_density, size, rng)

    @cached_property
    def sample(self) -> np.ndarray:
        """4,000 draws of the departure's matrices, with a fixed seed."""
        coefficients, scale, _ = self.draw(4000, np.random.default_rng(0))
        return self.matrices(coefficients, scale)

    def chances(self, matrices: np.ndarray, logs: np.ndarray) -> np.ndarray:
        """Return the class probabilities (S, u, C) given log forecasts (u, C)."""
        departure = self.design(logs) @ matrices.swapaxes(-1, -2)
        departure += logs + self.shift
        departure -= departure.max(axis=-1, keepdims=True)
        np.exp(departure, out=departure)
        departure /= departure.sum(axis=-1, keepdims=True)
        return departure

    def nearest(self, prob: float) -> np.ndarray | None:
        """
        Return the matrix (C, C + 1) that is closest to calibration in a region, or None.

        The region contains the proportion `prob` of the draws, with the smallest Mahalanobis
        distances from their mean. The distance uses the part of the departure that the
        probabilities identify. The result is None if the region contains perfect calibration.
        """
        matrices = self.sample.copy()
        matrices[..., 0] += self.shift
        rows = _identified(matrices)
        mean = rows.mean(axis=0)
        factor = np.linalg.cholesky(np.cov(rows.T))
        distance = np.linalg.norm(np.linalg.solve(factor, (rows - mean).T), axis=0)
        reach, distance_of_none = (
            np.quantile(distance, prob),
            np.linalg.norm(np.linalg.solve(factor, mean)),
        )
        if distance_of_none <= reach:
            return None
        block = (mean * (1 - reach / distance_of_none)).reshape(self.classes - 1, self.classes)
        nearest = np.zeros((self.classes, self.classes + 1))
        nearest[:-1, :-1], nearest[:-1, -1] = block, -block[:, 1:].sum(axis=1)
        nearest[:, 0] -= self.shift
        return nearest


def finite_log(probability: np.ndarray) -> np.ndarray:
    """Return finite logs of probabilities (n, C). The logs of zeros are below all others."""
    with np.errstate(divide="ignore"):
        logs = np.log(probability)
    finite = logs[np.isfinite(logs)]
    return np.maximum(logs, finite.min() - finite.std())


def _identified(matrices):
    """
    Return the part of matrices (S, C, C + 1) that probabilities identify, (S, C (C - 1)).

    Adding the same values to all rows does not change the probabilities. Neither does adding the
    same value to all entries of a row except the first, because the standardised log forecasts sum
    to 0.
    """
    rows = (matrices - matrices[:, -1:])[:, :-1]
    across = rows[..., 1:] - rows[..., 1:].mean(axis=-1, keepdims=True)
    return np.concatenate([rows[..., :1], across[..., :-1]], axis=-1).reshape(len(rows), -1)
