"""Coverage for multilabel examples: averages, and paired differences between systems."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from bayescm.answers.compare import compare
from bayescm.answers.summary import summary
from bayescm.evidence.multilabel import from_multilabel
from bayescm.simulation import Experiment

MEASURES = ("f1_micro", "f1_macro", "f1_samples", "subset_accuracy", "hamming_loss")
COMPARED = ("f1_micro", "f1_macro", "hamming_loss")
DRAWS, RESAMPLES = 2000, 1000

# Populations of labels, and of the predictions of two systems.


class Setting(NamedTuple):
    """Population of the labels, number of labels, and number of examples."""

    labels_are: str
    labels: int
    examples: int


def latent_factors(
    rng: np.random.Generator, size: int, labels: int, examples: int
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return labels that depend on three normal factors, and the predictions of two systems.

    A system predicts from the score of each label plus noise. Part of the noise is shared by all
    labels of an example and by the systems. Hard examples have more noise.
    """
    fixed = np.random.default_rng(labels)
    loadings = 0.5 * fixed.standard_normal((3, labels))
    threshold = np.linspace(0, 1.6, labels) * np.sqrt(1 + (loadings**2).sum(axis=0))
    score = rng.standard_normal((size, 3)) @ loadings + rng.standard_normal((size, labels))
    noise = 0.5 * np.exp(0.5 * rng.standard_normal((size, 1))) / np.sqrt(max(labels / 10, 1))
    common = rng.standard_normal((size, 1))
    apart = rng.standard_normal((2, size, labels)) * [[[0.7]], [[1.0]]]
    return score > threshold, score + noise * (common + apart) > threshold


def rare_labels(
    rng: np.random.Generator, size: int, labels: int, examples: int
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return independent labels, and the predictions of two systems.

    Every third label has four positives on average. Hard examples have more false negatives and
    false positives in all labels.
    """
    prevalence = np.where(np.arange(labels) % 3 == 0, 4 / examples, np.linspace(0.1, 0.4, labels))
    actual = rng.random((size, labels)) < prevalence
    hardness = rng.beta(1, 2, (size, 1))
    wrong = np.where(actual, 0.6 * hardness, hardness * prevalence)
    chance = rng.random((2, size, labels))
    chance[1] = np.where(rng.random((size, labels)) < 0.5, chance[0], chance[1])
    return actual, np.where(chance < wrong * np.array([1.0, 1.2])[:, None, None], ~actual, actual)


def labels_of_topics(
    rng: np.random.Generator, size: int, labels: int, examples: int
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return labels that depend on the topic of an example, and the predictions of two systems.

    The prevalences of labels follow a power law. Each system has a different recall for each
    label. In half of the examples, the systems share the random numbers that decide on errors.
    """
    fixed = np.random.default_rng(labels)
    topics = fixed.gamma(0.5, size=(4, labels)) / 0.5
    common = 0.4 / (1 + np.arange(labels)) ** 0.7
    prevalence = np.minimum(topics * common, 0.9)[rng.integers(0, 4, size)]
    actual = rng.random((size, labels)) < prevalence
    recall = fixed.beta(6, 3, (2, labels))
    recall[1] = 0.5 * (recall[0] + recall[1])
    chance = rng.random((2, size, labels))
    chance[1] = np.where(rng.random((size, 1)) < 0.5, chance[0], chance[1])
    rate = np.where(actual, recall[:, None, :], 0.08 * prevalence)
    return actual, chance < rate


def near_copies(
    rng: np.random.Generator, size: int, labels: int, examples: int
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return labels, and the predictions of two systems.

    The second system corrects 10% of the errors of the first, and adds a few others.
    """
    prevalence = np.linspace(0.05, 0.5, labels)
    actual = rng.random((size, labels)) < prevalence
    wrong = rng.random((size, labels)) < 0.4 * prevalence * rng.beta(2, 2, (size, 1))
    corrected = wrong & (rng.random((size, labels)) < 0.9)
    spoiled = ~wrong & (rng.random((size, labels)) < 0.004)
    return actual, np.array([actual ^ wrong, actual ^ (corrected | spoiled)])


DESIGNS: dict[str, Callable] = {
    "of latent factors": latent_factors,
    "rare": rare_labels,
    "of topics": labels_of_topics,
    "near copies": near_copies,
}
SETTINGS = {
    case: Setting(*setting)
    for case, setting in enumerate(
        product(("of latent factors", "rare"), (5, 50), (50, 100, 300)), start=1
    )
}
# Populations "of latent factors" and "rare" were used to develop the model, and the others were
# not.
COMPARED_SETTINGS = {
    case: Setting(*setting)
    for case, setting in enumerate(
        [
            *product(("of topics", "near copies"), (5, 40), (50, 200)),
            *product(("of latent factors", "rare"), (5, 50), (100,)),
        ],
        start=1,
    )
}


# True values, and estimates from a sample, computed from the definitions of the measures.


def values(actual: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """
    Return the measures of the first system, and the differences between both, (B, 8).

    Parameters
    ----------
    actual : ndarray of bool, shape (n, L)
        True labels.
    predicted : ndarray of bool, shape (2, n, L)
        Predicted labels of both systems.
    weight : ndarray, shape (B, n)
        Weights of the examples.
    """
    by_system = np.array([_of_system(actual, each, weight) for each in predicted])
    differences = (by_system[0] - by_system[1])[:, [MEASURES.index(name) for name in COMPARED]]
    return np.concatenate([by_system[0], differences], axis=1)


def _of_system(actual, predicted, weight):
    cells = np.stack([actual & predicted, actual ^ predicted], axis=1).astype(float)  # hits, errors
    hits, errors = np.moveaxis(np.tensordot(weight, cells, axes=(1, 0)), 1, 0)
    with np.errstate(invalid="ignore"):
        macro = np.nanmean(2 * hits / (2 * hits + errors), axis=1)
        micro = 2 * hits.sum(axis=1) / (2 * hits + errors).sum(axis=1)
        tp, wrong = cells.sum(axis=2).T
        of_examples = 2 * tp / (2 * tp + wrong)
    has_labels = ~np.isnan(of_examples)
    samples = weight[:, has_labels] @ of_examples[has_labels] / weight[:, has_labels].sum(axis=1)
    total = weight.sum(axis=1)
    subset, hamming = weight @ (wrong == 0) / total, errors.sum(axis=1) / total / actual.shape[1]
    return np.stack([micro, macro, samples, subset, hamming], axis=1)


DIFFERENCES = tuple(f"{name}, difference" for name in COMPARED)
NAMES = (*MEASURES, *DIFFERENCES)
BATCHES, BATCH = 40, 10_000


def truth(
    rng: np.random.Generator, labels_are: str, labels: int, examples: int
) -> dict[str, tuple[float, float]]:
    """Return the true values, from 400,000 examples, and their standard errors."""
    everyone = np.ones((1, BATCH))
    batches = np.array(
        [
            values(*DESIGNS[labels_are](rng, BATCH, labels, examples), everyone)[0]
            for _ in range(BATCHES)
        ]
    )
    means, errors = batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(BATCHES)
    return {
        name: (float(mean), float(error))
        for name, mean, error in zip(NAMES, means, errors, strict=True)
    }


def examples_of(
    rng: np.random.Generator, labels_are: str, labels: int, examples: int
) -> tuple[xr.Dataset, None]:
    """Return a sample of examples with the predictions of two systems."""
    actual, predicted = DESIGNS[labels_are](rng, examples, labels, examples)
    return from_multilabel(actual, dict(zip("ab", predicted, strict=True))), None


# Intervals


def averages(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the first system, from the model `multilabel`."""
    first = evidence.isel(classifier=0, drop=True)
    table = summary(first, MEASURES, kind="eti", draws=DRAWS)
    return dict(zip(MEASURES, table[["lower", "upper"]].to_numpy(), strict=True))


def differences(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the differences, from the model `multilabel`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the systems can differ in few examples
        table = compare(evidence, COMPARED, kind="eti", draws=DRAWS)
    return dict(zip(DIFFERENCES, table[["lower", "upper"]].to_numpy(), strict=True))


# Table "weights": examples with unequal sampling probabilities. Those with two or more labels are
# always included, and the others with a smaller probability.


class WeightedSetting(NamedTuple):
    """Population of labels, numbers of labels and of examples, and inclusion probability."""

    labels_are: str
    labels: int
    examples: int
    chance: float


def drawn_unequally(
    rng: np.random.Generator, labels_are: str, labels: int, examples: int, chance: float
) -> tuple[xr.Dataset, None]:
    """Return examples in which those with fewer than two labels are underrepresented."""
    actual, predicted = DESIGNS[labels_are](rng, int(4 * examples / chance), labels, examples)
    inclusion = np.where(actual.sum(axis=1) >= 2, 1.0, chance)
    drawn = np.flatnonzero(rng.random(len(actual)) < inclusion)[:examples]
    return from_multilabel(
        actual[drawn],
        dict(zip("ab", predicted[:, drawn], strict=True)),
        weights=1 / inclusion[drawn],
        weights_are="importance",
    ), None


def truth_of_weighted(
    rng: np.random.Generator, labels_are: str, labels: int, examples: int, chance: float
) -> dict[str, tuple[float, float]]:
    """Return the true values in the population, which do not depend on the sampling."""
    return truth(rng, labels_are, labels, examples)


def without_weights(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return intervals that ignore the sampling weights."""
    return averages(evidence.drop_vars(["weight", "weights_are"]))


def bootstrap(evidence: xr.Dataset) -> Mapping[str, Any]:
    """Return the BCa bootstrap intervals of scipy, resampling examples."""
    actual, predicted = evidence["actual"].values, evidence["predicted"].values
    size = len(actual)

    def resampled(index, axis):
        rows = index.reshape(-1, index.shape[-1])
        offset = rows + size * np.arange(len(rows))[:, None]
        weight = np.bincount(offset.ravel(), minlength=size * len(rows)).reshape(-1, size)
        return values(actual, predicted, weight).T.reshape(len(NAMES), *index.shape[:-1])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no interval for identical systems
        ends = stats.bootstrap(
            (np.arange(size),), resampled, n_resamples=RESAMPLES, rng=np.random.default_rng(0)
        ).confidence_interval
    return dict(zip(NAMES, np.transpose(ends), strict=True))


def _of(names, method, evidence):
    """Return the intervals of the given measures."""
    ends = method(evidence)
    return {name: ends[name] for name in names}


EXPERIMENTS = (
    Experiment(
        "multilabel",
        SETTINGS,
        examples_of,
        {"multilabel": averages, "bootstrap (BCa)": partial(_of, MEASURES, bootstrap)},
        truth=truth,
    ),
    Experiment(
        "multilabel",
        COMPARED_SETTINGS,
        examples_of,
        {"multilabel": differences, "bootstrap (BCa)": partial(_of, DIFFERENCES, bootstrap)},
        truth=truth,
        table="differences",
    ),
    Experiment(
        "multilabel",
        {
            case: WeightedSetting(*setting)
            for case, setting in enumerate(
                product(("of latent factors", "of topics"), (8,), (60, 200), (0.5, 0.2)), start=1
            )
        },
        drawn_unequally,
        {"multilabel": averages, "without weights": without_weights},
        truth=truth_of_weighted,
        table="weights",
    ),
)
