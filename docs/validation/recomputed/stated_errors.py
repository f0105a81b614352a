"""
Tests of the stated `error` of intervals, by type of posterior.

Random evidence of each type is simulated, and the package computes 95% intervals with the defaults.
Accurate ends are computed in another way: closed forms with scipy, quadrature with an accuracy of
1e-9, or the same posterior with many more draws and another seed. If draws use fixed nodes or
weighted points, there are also more of these. An interval is within its error if the largest error
of its ends is at most the larger of the two stated errors, which is the number in printed tables.

There is a row for each design and kind of interval. ``answers`` is the number of intervals, and
``within`` the proportion within their error. ``median_ratio`` and ``largest_ratio`` are the median
and the maximum of the ratio of true to stated errors. ``error_to_length`` is the median stated
error relative to the length of the interval. Accurate ends from draws have Monte Carlo errors too,
so that the proportion within the error is slightly underestimated.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import xarray as xr
from scipy import optimize, stats
from scipy.special import expit

import bayescm as bcm
from bayescm.answers.interval import distributions_of
from bayescm.evidence.counts import from_matrix
from bayescm.evidence.partly_labelled import from_partly_labelled_counts
from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.measures.labelled import as_measures
from bayescm.simulation import Repeated, Replications

KINDS = ("hdi", "eti")
PROB = 0.95
ROUNDING = 1e-9  # rounding error, relative to the larger of 1 and the bound


# Evidence.


def table(rng: np.random.Generator, classes: int, size: int) -> np.ndarray:
    """Return a table (C, C) of a random classifier that is usually right."""
    cells = rng.dirichlet(np.ravel(1 + 3 * np.eye(classes)))
    return rng.multinomial(size, cells).reshape(classes, classes)


def two_classes(rng: np.random.Generator) -> xr.DataArray:
    """Return a table of a random classifier, of 10 to 300 examples."""
    return from_matrix(table(rng, 2, int(10 ** rng.uniform(1, 2.5))), labels=[0, 1], positive=1)


def three_classes(rng: np.random.Generator) -> xr.DataArray:
    """Return a table of three classes, of 30 to 300 examples."""
    return from_matrix(table(rng, 3, int(10 ** rng.uniform(1.5, 2.5))))


def several_tables(
    rng: np.random.Generator, shape: Mapping[str, int], classes: int = 2, spread: float = 0.5
) -> xr.DataArray:
    """Return tables of 20 to 60 examples each, with accuracies that vary by a given spread."""
    right = rng.uniform(0.5, 2, classes) + spread * rng.standard_normal((*shape.values(), classes))
    share = rng.dirichlet(np.full(classes, 5))
    rates = np.empty((*right.shape, classes))
    rates[:] = ((1 - expit(right)) / (classes - 1))[..., None]
    rates[..., np.arange(classes), np.arange(classes)] = expit(right)
    cells = share[:, None] * rates
    sizes = rng.integers(20, 61, tuple(shape.values()))
    counts = rng.multinomial(sizes, cells.reshape(*sizes.shape, -1)).reshape(cells.shape)
    positive = {"labels": [0, 1], "positive": 1} if classes == 2 else {}
    return from_matrix(counts, dims=tuple(shape), **positive)


def outcomes(rng: np.random.Generator) -> xr.Dataset:
    """Return the predictions of two classifiers for the same 30 to 200 examples."""
    actual = rng.random(rng.integers(30, 201)) < 0.4
    hard = rng.random(len(actual))
    answers = {
        name: np.where(0.5 * hard + 0.5 * rng.random(len(actual)) < level, actual, ~actual)
        for name, level in (("a", 0.8), ("b", 0.7))
    }
    return bcm.from_classifiers(
        actual.astype(int), {name: answer.astype(int) for name, answer in answers.items()}
    )


def scores(rng: np.random.Generator) -> xr.Dataset:
    """Return scores of 20 to 200 examples."""
    actual = np.arange(rng.integers(20, 201)) % 3 == 0
    return bcm.from_scores(actual.astype(int), rng.normal(1.2 * actual))


def probabilities(rng: np.random.Generator) -> xr.Dataset:
    """Return forecasts of 40 to 200 examples, which are too extreme."""
    logits = rng.normal(0, 1.5, rng.integers(40, 201))
    actual = rng.random(len(logits)) < expit(logits)
    return bcm.from_probabilities(actual.astype(int), expit(1.4 * logits))


def class_probabilities(rng: np.random.Generator) -> xr.Dataset:
    """Return forecasts of three classes, of 60 to 200 examples."""
    logits = rng.normal(0, 1.5, (rng.integers(60, 201), 3))
    chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    actual = (rng.random((len(chances), 1)) > chances.cumsum(-1)).sum(-1).clip(max=2)
    return bcm.from_probabilities(actual, chances)


def attempts(rng: np.random.Generator) -> xr.Dataset:
    """Return four answers to each of 8 to 40 items."""
    rates = rng.beta(1, 1, (rng.integers(8, 41), 1))
    return bcm.from_attempts((rng.random((len(rates), 4)) < rates).astype(int))


def item_scores(rng: np.random.Generator) -> xr.Dataset:
    """Return scores of two systems on 10 to 100 items."""
    first = rng.beta(2, 1, rng.integers(10, 101))
    second = np.clip(first + rng.normal(0, 0.2, len(first)), 0, 1)
    return bcm.from_item_scores({"a": first, "b": second}, range=(0, 1))


def several_labels(rng: np.random.Generator) -> Any:
    """Return true and predicted labels of 20 to 100 examples with four labels."""
    actual = rng.random((rng.integers(20, 101), 4)) < [0.5, 0.4, 0.3, 0.3]
    predicted = np.where(rng.random(actual.shape) < 0.8, actual, ~actual)
    return bcm.from_multilabel(actual.astype(int), predicted.astype(int))


def partly_labelled(rng: np.random.Generator, classes: int = 2, labelled: int = 60) -> xr.DataArray:
    """Return labelled examples and five times as many unlabelled ones, by prediction."""
    cells = rng.dirichlet(np.ravel(1 + 5 * np.eye(classes))).reshape(classes, classes)
    known = 1 + rng.multinomial(labelled, cells.ravel()).reshape(classes, classes)
    others = rng.multinomial(5 * labelled, cells.sum(0))
    return from_partly_labelled_counts(known[None], others[None])


def raters(rng: np.random.Generator, number: int, classes: int, right: float = 0.8) -> xr.Dataset:
    """Return labels of 60 to 150 examples by raters who know some of them and guess the others."""
    truth = rng.integers(0, classes, rng.integers(60, 151))
    names = "abcdef"[:number]
    labels = {
        name: np.where(rng.random(len(truth)) < right, truth, rng.integers(0, classes, len(truth)))
        for name in names
    }
    return bcm.from_raters(labels, labels=range(classes))


# Intervals of the package, and accurate intervals.


class Design(NamedTuple):
    """Evidence, measures and options, and the method for accurate intervals."""

    design: str
    evidence: Callable[[np.random.Generator], Any]
    measures: Sequence[str]
    options: Mapping[str, Any] = {}
    # "scipy", or the options of the accurate intervals.
    road: str | Mapping[str, Any] = {"accuracy": 1e-9}
    # Constants of posterior modules that increase the number of points for accurate intervals.
    finer: Mapping[str, Mapping[str, Any]] = {}
    differences: bool = False


SHARES = ("recall", "precision", "accuracy", "prevalence")
INTEGRATED = (
    "mcc",
    "cohen_kappa",
    "balanced_accuracy",
    "lift",
    "overlap",
    "positive_likelihood_ratio",
)
RATES = ("recall", "precision", "f1", "mcc")
FEW, MANY = {"draws": 2000}, {"draws": 200_000, "random_seed": 1}
FOLDS = partial(several_tables, shape={"fold": 5}, spread=0.2)
GROUPS = partial(several_tables, shape={"group": 6})
CROSSED = partial(several_tables, shape={"sex": 2, "age": 3})
GROUPS_OF_THREE = partial(several_tables, shape={"group": 6}, classes=3)
PARTLY_OF_THREE = partial(partly_labelled, classes=3, labelled=90)
TRANSFERRED = {"model": "transferred_errors"}
RATERS = partial(raters, number=3, classes=2)
RATERS_OF_THREE = partial(raters, number=4, classes=3)
RATERS_OFTEN_WRONG = partial(raters, number=5, classes=3, right=0.5)
RATES_OF_THREE = ("accuracy", "f1_macro")
CHAINS, SOME = (dict(MANY, draws=draws) for draws in (40_000, 100_000))
ITEMS = {"draws": 500}, {"draws": 20_000, "random_seed": 1}
MANY_WRONG = {"label_error": 0.1, **MANY}
POINTS_OF_FOLDS = {"hierarchical_folds": {"_SIZE": 2**16}}
POINTS_OF_GROUPS = {"logit_normal_groups": {"_FEWEST_POINTS": 40_000, "_MOST_POINTS": 40_000}}
POINTS_OF_CROSSED = {"crossed_groups": {"_SCALES": 4000, "_SIZE": 60_000}}
POINTS_OF_RATERS = {"noisy_labels": {"_POINTS": 48_000}}
POINTS_OF_ERRORS = {"mislabelled": {"_RATES": 8000, "_POINTS": 12_000}}
LONGER_CHAINS = {
    "noisy_labels": {"_CHAINS": 2000, "_BURN": 200},
    "mislabelled": {"_CHAINS": 2000, "_BURN": 150},
    "transferred_errors": {"_CHAINS": 2000, "_LEAST_BURN": 200, "_MOST_BURN": 2000},
}
DESIGNS = [
    Design("closed forms", two_classes, SHARES, road="scipy"),
    Design("quadrature", two_classes, INTEGRATED),
    Design("draws of a table", two_classes, RATES, FEW),
    Design("draws of three classes", three_classes, ("f1_macro", "mcc"), FEW, MANY),
    Design("pooled folds", FOLDS, RATES, {"model": "pooled_folds"}),
    Design("folds", FOLDS, RATES, road={}, finer=POINTS_OF_FOLDS),
    Design("folds at hand", FOLDS, RATES, {"of": "finite", **ITEMS[0]}, ITEMS[1], POINTS_OF_FOLDS),
    Design("groups, population", GROUPS, RATES, {}, MANY, POINTS_OF_GROUPS),
    Design("groups, each", GROUPS, ("recall", "f1"), {"of": "group"}, MANY, POINTS_OF_GROUPS),
    Design("groups of three classes", GROUPS_OF_THREE, ("accuracy", "f1_macro"), {}, MANY),
    Design("robust groups", GROUPS, RATES, {"model": "robust_groups"}, MANY),
    Design(
        "crossed groups",
        CROSSED,
        ("recall", "f1"),
        {"model": "crossed_groups"},
        {"draws": 60_000, "random_seed": 1},
        POINTS_OF_CROSSED,
    ),
    Design("classifiers on the same examples", outcomes, ("recall", "f1", "mcc"), FEW, MANY),
    Design("differences, integrated", outcomes, ("recall", "accuracy", "f1"), differences=True),
    Design("scores", scores, ("auc", "average_precision"), FEW, SOME),
    Design("probabilities", probabilities, ("brier", "log_loss", "ece"), FEW, SOME),
    Design("probabilities of classes", class_probabilities, ("brier", "log_loss"), FEW, SOME),
    Design("attempts", attempts, ("mean", "pass_at(4)"), *ITEMS),
    Design(
        "attempts, items at hand",
        attempts,
        ("mean", "pass_at(4)"),
        {"of": "finite", **ITEMS[0]},
        ITEMS[1],
    ),
    Design("item scores", item_scores, ("mean",), FEW, MANY),
    Design("several labels", several_labels, ("f1_macro", "f1_micro"), FEW, MANY),
    Design("partly labelled", partly_labelled, RATES, {}, MANY),
    Design("partly labelled, three classes", PARTLY_OF_THREE, ("accuracy", "f1_macro"), FEW, MANY),
    Design("transferred errors", partly_labelled, RATES, TRANSFERRED, MANY),
    Design(
        "transferred errors, three classes",
        PARTLY_OF_THREE,
        ("accuracy", "f1_macro"),
        TRANSFERRED,
        CHAINS,
        LONGER_CHAINS,
    ),
    Design("raters of two classes", RATERS, ("recall", "f1"), {}, MANY, POINTS_OF_RATERS),
    Design("raters of three classes", RATERS_OF_THREE, RATES_OF_THREE, {}, CHAINS, LONGER_CHAINS),
    Design(
        "raters of three classes, often wrong",
        RATERS_OFTEN_WRONG,
        RATES_OF_THREE,
        {},
        CHAINS,
        LONGER_CHAINS,
    ),
    Design("mislabelled, rate known", two_classes, RATES, {"label_error": 0.1, **FEW}, MANY_WRONG),
    Design(
        "mislabelled, rate uncertain",
        two_classes,
        RATES,
        {"label_error": (2, 18)},
        {"label_error": (2, 18), **MANY},
        POINTS_OF_ERRORS,
    ),
    Design(
        "mislabelled, three classes",
        three_classes,
        ("accuracy", "f1_macro"),
        {"label_error": 0.1},
        {"label_error": 0.1, **CHAINS},
        LONGER_CHAINS,
    ),
]
CASES = dict(enumerate(DESIGNS, start=1))


def by_scipy(evidence: xr.DataArray, measure: str, kind: str) -> np.ndarray:
    """Return the interval of a proportion of cells, with half a prior example per cell."""
    (tn, fp), (fn, tp) = evidence.values + 0.5
    hits, misses = {
        "recall": (tp, fn),
        "precision": (tp, fp),
        "accuracy": (tp + tn, fp + fn),
        "prevalence": (tp + fn, tn + fp),
    }[measure]
    law = stats.beta(hits, misses)
    if kind == "eti":
        return law.ppf([(1 - PROB) / 2, (1 + PROB) / 2])
    if min(hits, misses) <= 1:  # the density is highest at 0 or 1
        return law.ppf([0, PROB] if hits < misses else [1 - PROB, 1])

    def difference_of_densities(tail):
        return law.logpdf(law.ppf(tail)) - law.logpdf(law.ppf(tail + PROB))

    tail = optimize.brentq(difference_of_densities, 1e-15, 1 - PROB - 1e-15, xtol=1e-16)
    return law.ppf([tail, tail + PROB])


def distributions(evidence: Any, design: Design, options: Mapping[str, Any]) -> list[Any]:
    """Return the distribution of each measure, or of its difference between two classifiers."""
    if not design.differences:
        question = Question.of_keywords(**options)
        return [answer for answer, _ in distributions_of(evidence, design.measures, question)]
    posterior = posterior_of(evidence)
    differences = [
        posterior.difference(measure, {"classifier": 0}, {"classifier": 1})
        for measure in as_measures(design.measures, posterior.counts)
    ]
    accuracy = options.get("accuracy")
    if accuracy is None:
        return differences
    return [difference.with_tolerance(accuracy) for difference in differences]


def intervals(
    evidence: Any, design: Design, options: Mapping[str, Any]
) -> Mapping[tuple, tuple[np.ndarray, np.ndarray]]:
    """Return the ends (n, 2) and the largest error (n,) of each measure and kind."""
    answers = {}
    for measure, distribution in zip(
        design.measures, distributions(evidence, design, options), strict=True
    ):
        for kind in KINDS:
            ends, errors = distribution.interval_with_error(PROB, kind)
            answers[measure, kind] = ends.reshape(-1, 2), errors.reshape(-1, 2).max(axis=1)
    return answers


def true_intervals(evidence: Any, design: Design) -> Mapping[tuple, np.ndarray]:
    """Return the accurate ends (n, 2) of each measure and kind."""
    if isinstance(design.road, str):
        return {
            (measure, kind): by_scipy(evidence, measure, kind)[None]
            for measure in design.measures
            for kind in KINDS
        }
    given = {name: value for name, value in design.options.items() if name != "draws"}
    with ExitStack() as stack:
        for name, constants in design.finer.items():
            # import_module is needed because the package exports a function with this name.
            module = import_module(f"bayescm.posteriors.{name}")
            stack.enter_context(patch.multiple(module, **constants))
        answers = intervals(evidence, design, {**given, **design.road})
    return {key: ends for key, (ends, _) in answers.items()}


def shares_within(replications: Replications, *setting: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each kind of interval of a design."""
    design = Design(*setting)
    ratios: dict[str, list] = {kind: [] for kind in KINDS}
    parts: dict[str, list] = {kind: [] for kind in KINDS}
    for rng in replications.generators():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there can be few effective draws or few raters
            evidence = design.evidence(rng)
            truth = true_intervals(evidence, design)
            answers = intervals(evidence, design, {"random_seed": 0, **design.options})
        for (measure, kind), (ends, error) in answers.items():
            distance = np.abs(ends - truth[measure, kind]).max(axis=1)
            rounding = ROUNDING * np.maximum(1, np.abs(ends).max(axis=1))
            ratios[kind].extend(distance / (error + rounding))
            parts[kind].extend(error / np.ptp(ends, axis=1))
    for kind in KINDS:
        yield {
            "kind": kind,
            "answers": len(ratios[kind]),
            "within": np.mean(np.array(ratios[kind]) <= 1),
            "median_ratio": np.median(ratios[kind]),
            "largest_ratio": np.max(ratios[kind]),
            "error_to_length": np.median(parts[kind]),
        }


EXPERIMENTS = [
    Repeated("recomputed", CASES, shares_within, columns=("design",), table="stated_errors")
]
