"""
The posterior of ROC curves: of every fold or group, classifier and class.

The models of scores (`bayescm.posteriors.scores`, `bayescm.posteriors.binormal`) say what the
curves of one sample are. Here these are put together, with their labels, and measured by the
measures of curves (`bayescm.measures.curves`): areas by their moments where the model has them and
they say enough, everything else by draws. Folds and groups are independent of each other.
Classifiers on the same examples, and the classes, are drawn jointly; the areas of classifiers are
tied more closely (`bayescm.posteriors.roc.paired_areas`).
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
# Blocks of slots that a measure needs.
_BLOCKS_OF_AREAS = 256  # the area corrects for the inside of a block
_BLOCKS = 512  # other measures do not
_DRAWS_AT_ONCE = 20_000  # of all curves of a sample: 160 MB of the rates of one
# The standard error of a 2.5 % quantile of a normal distribution by 4,000 draws, in standard
# deviations: sqrt(0.025 * 0.975) / phi(1.96) is 2.7. Moments that are wrong by less say more than
# draws do.
_MONTE_CARLO_ERROR = 2.7 / DRAWS**0.5


class SampleCurves(Protocol):
    """
    What a model says of the curves of one sample.

    Curves run over classifiers and, of more than two classes, inside these over the classes.
    """

    classes: int
    classifiers: int
    class_totals: np.ndarray

    def curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Draw the curves jointly."""

    def pooled_curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Draw the curve of all (example, class) pairs of each classifier."""

    def top_curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Draw the curve of the highest score of each example, of each classifier."""

    def areas(self) -> list[CornishFisherBeta] | None:
        """Return the areas by their moments, or None where these are not known."""


class CurvePosterior(Posterior):
    """
    The posterior of the curves of scores.

    Parameters
    ----------
    evidence : Dataset
        From :func:`bayescm.from_scores` or :func:`bayescm.from_probabilities`.
    model : callable
        From the evidence of one sample to its `SampleCurves`.
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
        """The labels of more than two classes; of two there are none."""
        return self.evidence["class"].values.tolist() if "class" in self.evidence.dims else []

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model: of one sample of two classes."""
        return len(self.samples) == 1 and not self.classes

    @property
    def observed(self) -> xr.DataArray:
        """The scores."""
        return self.evidence["score"]

    @cached_property
    def template(self) -> LabelTemplate:
        """The folds or groups, and the classifiers."""
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
        """The number of examples of every member of the batch."""
        totals = [score_arrays(sample)[1].sum() for sample in samples(self.evidence)]
        number = self.template.size // len(totals)
        return self.template.to_dataarray(np.repeat(totals, number).reshape(self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """The numbers of one draw, of one measure; curves are drawn sample by sample."""
        return self.template.size * max(1, len(self.classes))

    def bound(self, measure: Any) -> Any:
        """Return the measure of a class that it names (``auc[cat]``) against the rest."""
        return of_chosen_class(measure, self.classes, self.evidence.coords.get("positive"))

    def classes_of(self, measure: Any) -> np.ndarray | None:
        """Return the labels of a measure of each class against the rest, or None."""
        return np.array(self.classes) if self.classes and measure.one_class else None

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made where nothing else is asked for."""
        return DRAWS

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value in the sample."""
        self.resolve_estimand(of)
        curves = [curve for sample in samples(self.evidence) for curve in empirical_curves(sample)]
        values = np.stack([measure(curve)[0] for curve in curves])
        return values.reshape((*self.template.shape, *values.shape[1:]))

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the distribution of areas by their moments, None where these say less than draws do.

        Where they say enough of some members only, the others are drawn, each as if it were alone.
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
        """Return the distribution of draws; its intervals reach an end that the sample attains."""
        value, (low, high) = self.point(measure), measure.range
        if not ((value <= low) | (value >= high)).any():
            return super().empirical(measure, draws)
        return AttainedEnds(draws, how=self.how, least=low, most=high, value=value)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Say so where weights go with the scores, or where these may be predicted classes."""
        return [*_two_values(self.evidence), *heavy_weights.of_scores(self.evidence)]

    # Draws.

    def draw(
        self,
        measures: Sequence[Any],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw several measures of the curves, (size, ..., [C])."""
        self.resolve_estimand(of)
        pairs_areas = "classifier" in self.evidence.dims and not self.classes
        areas = [measure for measure in measures if pairs_areas and measure.canonical == "auc"]
        others = [measure for measure in measures if measure not in areas]
        values = {area: self._draw_paired_areas(area, size, rng) for area in areas}
        if others:
            values |= dict(zip(others, self._draw_measures(others, size, rng), strict=True))
        return [values[measure] for measure in measures]

    def _draw_measures(self, measures, size, rng):
        """Draw measures of the same curves, (size, ..., [C])."""
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
        """Draw the area of each classifier as if it were alone, and tie those of one sample."""
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

    # What `bayescm.fit` asks of the one sample that it takes.

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
        """Return measures of the curves of draws of the variables; see `Posterior.draw_given`."""
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
    """Say so where the scores of a classifier take two values, as predicted classes do."""
    score = evidence["score"]
    if "class" in score.dims:
        return []
    rows = np.atleast_2d(score.transpose(..., "example").values)
    if all(len(np.unique(row)) != 2 for row in rows):
        return []
    return [
        "Scores take two values, as predicted classes do. The area under their curve is the "
        "balanced accuracy; for a ranking pass the scores themselves, for predicted classes use "
        "from_predictions."
    ]


def _draw_sample(sample, measures, size, rng):
    """Draw measures of the curves of one sample, (size, K, [C])."""
    areas_alone = all(measure.formula is auc.formula for measure in measures)
    blocks = _BLOCKS_OF_AREAS if areas_alone else _BLOCKS
    parts = []
    for first in range(0, size, _DRAWS_AT_ONCE):
        number = min(_DRAWS_AT_ONCE, size - first)
        curves = _draw_curves(sample, number, rng, blocks)
        parts.append([np.stack([measure(one) for one in curves], axis=1) for measure in measures])
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def _rank(scores):
    """Return the rank of each score among the distinct ones."""
    return np.unique(scores, return_inverse=True)[1]


def _joint(sample, measures, draws, rng):
    """
    Return draws (size, K, [C]) of measures of one sample in their joint order.

    Classifiers that rank all examples alike have one curve, and do not differ in anything.
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
    """Return the curve of each classifier or, of more than two classes, those of its classes."""
    if sample.classes == 2:
        return sample.curves(size, rng, resolution=blocks)
    sources = (sample.curves, sample.pooled_curves, sample.top_curves)
    drawn = [cache(partial(source, size, rng, resolution=blocks)) for source in sources]
    return _by_classifier(sample.classifiers, sample.class_totals, *drawn)


def _by_classifier(classifiers, totals, one_vs_rest, pooled, top):
    """Give each classifier its curves; each kind is made for all of them when it is asked for."""

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
        Weights of the examples, for S draws of each curve. By default those of the sample, for one.
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

    def pooled():  # of these pairs one in C is positive
        pairs = np.tile(weights, classes)  # (S, C n)
        return [empirical(rows.ravel(), positive.ravel(), pairs)[0] for rows in matrix]

    def top():
        return [empirical(*top_scores(rows, codes), weights)[0] for rows in matrix]

    totals = np.bincount(codes, of_sample, classes)
    return _by_classifier(len(matrix), totals, cache(one_vs_rest), cache(pooled), cache(top))


def top_scores(scores: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the highest score of each example (n,) of scores (C, n), and whether it was right."""
    right = scores.argmax(axis=0) == codes
    if right.all() or not right.any():
        got = f"{'right' if right.all() else 'wrong'} in all {len(right)} examples"
        todo = "ask for measures of each class, or collect more examples"
        raise fail("nothing to tell the highest scores by", got, "some of both", todo)
    return scores.max(axis=0), right
