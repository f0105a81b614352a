"""
The posterior of ROC curves of folds or groups, classifiers and classes.

The models of scores (`bayescm.posteriors.scores`, `bayescm.posteriors.binormal`) give the curves of
one sample. This module combines the samples and computes measures of their curves
(`bayescm.measures.curves`). Distributions of areas come from moments, if these are available and
accurate enough, and all other distributions come from draws. Folds and groups are independent.
Classes, and classifiers on the same examples, are sampled jointly. Areas of two classifiers are
more closely correlated than their curves (`bayescm.posteriors.roc.paired_areas`).
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache, cached_property, partial
from typing import Any, Protocol

import numpy as np
import xarray as xr

from bayescm.distributions.batches import Stack
from bayescm.distributions.empirical import AttainedEnds, Empirical
from bayescm.distributions.moments import CornishFisherBeta
from bayescm.evidence.scores import as_scores, score_arrays
from bayescm.evidence.slices import samples, slice_labels
from bayescm.measures.curves import ClassCurves, Curve, auc, empirical, of_chosen_class
from bayescm.posteriors import heavy_weights
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.posteriors.roc.paired_areas import couple
from bayescm.posteriors.roc.prevalence import known_prevalence
from bayescm.posteriors.shared_examples import SharedExamples
from bayescm.validate import fail

DRAWS = 4000
# Number of blocks into which the slots of a curve are merged.
_BLOCKS_OF_AREAS = 256  # fewer, because areas are corrected for the curve inside a block
_BLOCKS = 512  # for other measures
# Largest number of draws of all curves of a sample at a time. The rates of one curve take 160 MB.
_DRAWS_AT_ONCE = 20_000
# The standard error of the 2.5% quantile of a normal distribution, in standard deviations. The
# factor 2.7 is sqrt(0.025 * 0.975) / phi(1.96). Moments with a smaller error are preferred.
_MONTE_CARLO_ERROR = 2.7 / DRAWS**0.5


class SampleCurves(Protocol):
    """
    Interface of models for the curves of one sample.

    Curves are ordered by classifier and, with more than two classes, by class within a classifier.
    """

    classes: int
    classifiers: int
    class_totals: np.ndarray

    def curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Return joint draws of the curves."""

    def pooled_curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Return draws of each classifier's micro-averaged curve over (example, class) pairs."""

    def top_curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Return draws of each classifier's curve for the highest score per example."""

    def areas(self) -> list[CornishFisherBeta] | None:
        """Return the distributions of the areas from moments, or None if they are sampled."""


class CurvePosterior(Posterior):
    """
    Posterior of the ROC curves of scores.

    Parameters
    ----------
    evidence : Dataset
        From :func:`bayescm.from_scores` or :func:`bayescm.from_probabilities`.
    model : callable
        Function that returns the `SampleCurves` of the evidence of one sample.
    """

    measured_variable = "curve"
    pairs = ("classifier",)
    cell_prior = False
    estimands = {"parameter": "curve"}  # noqa: RUF012

    def __init__(self, evidence: xr.Dataset, model: Callable[[xr.Dataset], Any]):
        self.evidence = as_scores(evidence)
        self.model = model
        self.samples = [model(sample) for sample in samples(self.evidence)]

    @property
    def classes(self) -> list:
        """Labels of the classes, or an empty list for two classes."""
        return self.evidence["class"].values.tolist() if "class" in self.evidence.dims else []

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model, which needs one sample of two classes."""
        return len(self.samples) == 1 and not self.classes

    @property
    def observed(self) -> xr.DataArray:
        """Observed scores."""
        return self.evidence["score"]

    @cached_property
    def template(self) -> LabelTemplate:
        """Labels of the folds or groups, and of the classifiers."""
        coords = self.evidence.coords.variables
        template = LabelTemplate({name: each for name, each in coords.items() if each.ndim == 0})
        dims: dict[str, Any] = dict(slice_labels(self.evidence))
        if "classifier" in self.evidence.dims:
            dims["classifier"] = self.evidence["classifier"].values
        for dim, labels in dims.items():
            template = template.append_dim(dim, labels)
        return template

    @cached_property
    def batch(self) -> xr.DataArray:
        """Number of examples of each member of the batch."""
        totals = [score_arrays(sample)[1].sum() for sample in samples(self.evidence)]
        number = self.template.size // len(totals)
        return self.template.to_dataarray(np.repeat(totals, number).reshape(self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """Number of values in one draw of a measure. Curves are sampled one sample at a time."""
        return self.template.size * max(1, len(self.classes))

    def bound(self, measure: Any) -> Any:
        """Return a measure for the class in its name (``auc[cat]``), against the rest."""
        return of_chosen_class(measure, self.classes, self.evidence.coords.get("positive"))

    def classes_of(self, measure: Any) -> np.ndarray | None:
        """Return the class labels if a measure has one value per class, else None."""
        return np.array(self.classes) if self.classes and measure.one_class else None

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws."""
        return DRAWS

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value of a measure in the sample."""
        self.resolve_estimand(of)
        curves = [curve for sample in samples(self.evidence) for curve in empirical_curves(sample)]
        values = np.stack([measure(curve)[0] for curve in curves])
        return values.reshape((*self.template.shape, *values.shape[1:]))

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the distributions of areas from moments, or None if draws are more accurate.

        If moments are accurate enough for some members only, the other members are sampled. The
        marginal distribution of a member does not depend on the other members.
        """
        self.resolve_estimand(of)
        if measure.canonical != "auc":
            return None
        by_sample = [sample.areas() for sample in self.samples]
        if by_sample[0] is None:
            return None
        areas = np.array([area for sample in by_sample for area in sample], object)
        errors = np.array([area.error_of(1.96) / area.unit_sd for area in areas])
        is_drawn = ~(errors <= _MONTE_CARLO_ERROR)
        if is_drawn.all():
            return None
        shape = (*self.template.shape, *([len(self.classes)] if self.classes else []))
        if not is_drawn.any():
            names = ("unit_mean", "unit_sd", "skew", "excess")
            moments = ([getattr(area, name) for area in areas] for name in names)
            mean, sd, skew, excess = (np.reshape(moment, shape) for moment in moments)
            return CornishFisherBeta(mean, sd, skew, excess)
        (values,) = self.draw([measure], DRAWS, np.random.default_rng(0))
        empirical = self.empirical(measure, values)
        for index in np.flatnonzero(is_drawn):
            areas[index] = empirical.take(np.asarray(index))
        return Stack(areas.reshape(shape))

    def empirical(self, measure: Any, draws: np.ndarray) -> Empirical:
        """Return the empirical distribution of draws.

        If the sample value is at an end of the range, intervals extend to this end.
        """
        value, (low, high) = self.point(measure), measure.range
        if not ((value <= low) | (value >= high)).any():
            return super().empirical(measure, draws)
        return AttainedEnds(draws, how=self.how, least=low, most=high, value=value)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about heavy weights, and about scores that may be predicted classes."""
        return [*_two_values(self.evidence), *heavy_weights.of_scores(self.evidence)]

    # Draws

    def draw(
        self,
        measures: Sequence[Any],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return draws of several measures of the curves, (size, ..., [C])."""
        self.resolve_estimand(of)
        pairs_areas = "classifier" in self.evidence.dims and not self.classes
        areas = [measure for measure in measures if pairs_areas and measure.canonical == "auc"]
        others = [measure for measure in measures if measure not in areas]
        values = {area: self._draw_paired_areas(area, size, rng) for area in areas}
        if others:
            values |= dict(zip(others, self._draw_measures(others, size, rng), strict=True))
        return [values[measure] for measure in measures]

    def _draw_measures(self, measures, size, rng):
        """Return draws of measures, (size, ..., [C]); all measures share the draws of curves."""
        by_sample = [_draw_sample(sample, measures, size, rng) for sample in self.samples]
        if self.samples[0].classifiers > 1:
            by_sample = [
                _joint(sample, measures, draws, rng)
                for sample, draws in zip(samples(self.evidence), by_sample, strict=True)
            ]
        by_measure = [np.stack(values, axis=1) for values in zip(*by_sample, strict=True)]
        shape = (size, *self.template.shape)
        return [values.reshape(*shape, *values.shape[3:]) for values in by_measure]

    def _draw_paired_areas(self, measure, size, rng):
        """Return draws of areas: sampled for each classifier alone, then coupled by sample."""
        state, coupling_rng = rng.bit_generator.state, deepcopy(rng)
        by_classifier = []
        for index in range(self.evidence.sizes["classifier"]):
            rng.bit_generator.state = state
            alone = samples(self.evidence.isel(classifier=[index]))
            by_classifier.append(
                [_draw_sample(self.model(sample), [measure], size, rng)[0] for sample in alone]
            )
        coupled = [
            couple(np.concatenate(areas, axis=1), *score_arrays(sample), coupling_rng)
            for sample, areas in zip(
                samples(self.evidence), zip(*by_classifier, strict=True), strict=True
            )
        ]
        return np.stack(coupled, axis=1).reshape(size, *self.template.shape)

    # Methods for `bayescm.fit`, which supports a single sample.

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        (sample,) = self.samples
        return sample.variables(size, rng)

    follows_variables = True

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return draws of measures, given draws of the variables; see `Posterior.draw_given`."""
        (sample,) = self.samples
        curves = sample.curves_given(variables)
        shape = (-1, *self.template.shape)
        return [
            np.stack([measure(curve) for curve in curves], axis=1).reshape(shape)
            for measure in measures
        ]

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the variables of the PyMC model."""
        (sample,) = self.samples
        return sample.log_density(variables)

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of the PyMC model."""
        (sample,) = self.samples
        return sample.log_marginal_likelihood()


def _two_values(evidence):
    """Return the caution about scores with only two values, which may be predicted classes."""
    score = evidence["score"]
    if "class" in score.dims:
        return []
    rows = np.atleast_2d(score.transpose(..., "example").values)
    if all(len(np.unique(row)) != 2 for row in rows):
        return []
    return [
        (
            "The scores have two values, like predicted classes. The area under their "
            "curve is the balanced accuracy. Pass the scores themselves for a ranking, or "
            "use from_predictions for predicted classes."
        )
    ]


def _draw_sample(sample, measures, size, rng):
    """Return draws of measures of the curves of one sample, (size, K, [C])."""
    areas_alone = all(measure.formula is auc.formula for measure in measures)
    blocks = _BLOCKS_OF_AREAS if areas_alone else _BLOCKS
    parts = []
    for first in range(0, size, _DRAWS_AT_ONCE):
        number = min(_DRAWS_AT_ONCE, size - first)
        curves = _draw_curves(sample, number, rng, blocks)
        parts.append([np.stack([measure(one) for one in curves], axis=1) for measure in measures])
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def _rank(scores):
    """Return the rank of each score among the distinct scores."""
    return np.unique(scores, return_inverse=True)[1]


def _joint(sample, measures, draws, rng):
    """
    Return draws (size, K, [C]) of measures of one sample, reordered to be joint draws.

    Classifiers that rank all examples in the same order share one curve, so that their difference
    is exactly 0.
    """
    matrix, weights, _ = score_arrays(sample)
    ranks = np.apply_along_axis(_rank, -1, matrix)
    _, first, same = np.unique(ranks, axis=0, return_index=True, return_inverse=True)
    if len(first) == 1:
        return draws
    examples = SharedExamples([ranks], weights)
    pseudo = examples.disagreement(len(first), len(draws[0]), rng)
    curves = empirical_curves(sample, examples.weights())
    joint = []
    for measure, values in zip(measures, draws, strict=True):
        with np.errstate(all="ignore"):
            of_examples = np.stack([measure(curves[index]) for index in first], axis=1)
        joint.append(examples.joint(values[:, first], of_examples, pseudo)[:, same.ravel()])
    return joint


def _draw_curves(sample, size, rng, blocks):
    """Return draws of each classifier's curve or, with more than two classes, its curves."""
    if sample.classes == 2:
        return sample.curves(size, rng, resolution=blocks)
    sources = (sample.curves, sample.pooled_curves, sample.top_curves)
    drawn = [cache(partial(source, size, rng, resolution=blocks)) for source in sources]
    return _by_classifier(sample.classifiers, sample.class_totals, *drawn)


def _by_classifier(classifiers, totals, one_vs_rest, pooled, top):
    """Return the curves of each classifier, computed for all classifiers when first needed."""

    def curves_of(index):
        first, last = index * len(totals), (index + 1) * len(totals)
        return ClassCurves(
            lambda: one_vs_rest()[first:last], totals, lambda: pooled()[index], lambda: top()[index]
        )

    return [curves_of(index) for index in range(classifiers)]


def empirical_curves(
    sample: xr.Dataset, weights: np.ndarray | None = None
) -> list[Curve | ClassCurves]:
    """
    Return the observed curves of each classifier.

    Parameters
    ----------
    sample : Dataset
    weights : ndarray, shape (S, n), optional
        Weights of the examples, one row per draw. Default: the weights of the sample.
    """
    matrix, of_sample, codes = score_arrays(sample)
    weights = of_sample[None] if weights is None else weights
    if matrix.ndim == 2:
        prevalence = known_prevalence(sample, codes == 1)
        return [empirical(row, codes == 1, weights, prevalence)[0] for row in matrix]
    classes = matrix.shape[1]
    positive = codes == np.arange(classes)[:, None]

    def one_vs_rest():
        shares = [known_prevalence(sample, of_class) for of_class in positive]
        return [
            empirical(row, of_class, weights, share)[0]
            for rows in matrix
            for row, of_class, share in zip(rows, positive, shares, strict=True)
        ]

    def pooled():  # one in C of these pairs is positive
        pairs = np.tile(weights, classes)  # (S, C n)
        return [empirical(rows.ravel(), positive.ravel(), pairs)[0] for rows in matrix]

    def top():
        return [empirical(*top_scores(rows, codes), weights)[0] for rows in matrix]

    totals = np.bincount(codes, of_sample, classes)
    return _by_classifier(len(matrix), totals, cache(one_vs_rest), cache(pooled), cache(top))


def top_scores(scores: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the highest score of each example (n,), and a mask of the correct predictions."""
    right = scores.argmax(axis=0) == codes
    if right.all() or not right.any():
        got = f"{'right' if right.all() else 'wrong'} in all {len(right)} examples"
        raise fail(
            f"The highest scores cannot be evaluated, because they are {got}",
            ...,
            "",
            "use measures of each class, or collect more examples",
        )
    return scores.max(axis=0), right
