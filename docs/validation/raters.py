"""Coverage for raters and wrong labels: measures without ground truth, and agreement."""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr

from bayescm.answers.agreement import agreement
from bayescm.answers.compare import compare
from bayescm.answers.interval import interval
from bayescm.evidence import at_prevalence, from_matrix, from_raters
from bayescm.evidence.outcomes import from_classifiers
from bayescm.evidence.raters import count_patterns
from bayescm.measures.agreement import EVERY, Labelled
from bayescm.measures.catalogue import resolve
from bayescm.posteriors.noisy_labels import noisy_labels
from bayescm.simulation import Experiment

# Experiment "noisy_labels": measures of raters without ground truth (Dawid & Skene, 1979,
# doi:10.2307/2346806). Raters are defined by "recall/specificity" or, with more than two classes,
# by accuracy. Errors depend in three ways:
# - By default, raters err independently given the true class.
# - "difficulty": examples differ in difficulty, so that errors are correlated on the normal scale,
#   as the model assumes.
# - "errors": raters sometimes share the random number that decides on an error, so that the errors
#   themselves are correlated, which the model does not assume.
# Measures are computed for each rater, and a row has their average over raters. The last five cases
# were not used to choose the default dependence or the prior for four classes.

DRAWS = 4000


class RaterSetting(NamedTuple):
    """Prevalence, raters, number of examples and of gold labels, and dependence of errors."""

    prevalence: float
    raters: str
    n: int
    gold: int
    dependence: str = ""
    classes: int = 2


RATERS = {
    1: RaterSetting(0.3, "0.8/0.9 0.85/0.85 0.75/0.95", 200, 0),
    2: RaterSetting(0.3, "0.8/0.9 0.85/0.85 0.75/0.95 0.9/0.8", 200, 0),
    3: RaterSetting(0.5, "0.7/0.8 0.8/0.8 0.75/0.7 0.9/0.85 0.8/0.9", 300, 0),
    4: RaterSetting(0.2, "0.8/0.9 0.7/0.95", 300, 60),
    5: RaterSetting(0.3, "0.7/0.75 0.75/0.7 0.7/0.8 0.8/0.7", 200, 0),
    6: RaterSetting(0.3, "0.8/0.9 0.85/0.85 0.75/0.95 0.9/0.8", 300, 0, "difficulty 0.2"),
    7: RaterSetting(0.5, "0.7/0.8 0.8/0.8 0.75/0.7 0.9/0.85 0.8/0.9", 300, 0, "difficulty 0.2"),
    8: RaterSetting(0.3, "0.8/0.9 0.85/0.85 0.75/0.95", 300, 60, "difficulty 0.2"),
    9: RaterSetting(0.4, "0.8/0.85 0.85/0.85 0.75/0.9 0.9/0.8", 300, 0, "errors 0.2"),
    10: RaterSetting(0.4, "0.8/0.85 0.85/0.85 0.75/0.9", 300, 60, "errors 0.2"),
    11: RaterSetting(0.25, "0.8 0.7 0.75", 300, 0, "", 4),
    12: RaterSetting(0.25, "0.7 0.65 0.8 0.75 0.6", 200, 0, "", 4),
    13: RaterSetting(0.25, "0.85/0.9 0.7/0.85 0.8/0.8 0.75/0.9", 400, 0),
    14: RaterSetting(0.35, "0.75/0.85 0.8/0.9 0.85/0.75 0.7/0.8 0.9/0.9", 400, 0, "errors 0.2"),
    15: RaterSetting(0.25, "0.85/0.9 0.7/0.85 0.8/0.8 0.75/0.9", 400, 0, "errors 0.2"),
    16: RaterSetting(0.5, "0.8/0.75 0.7/0.9", 250, 50, "errors 0.2"),
    17: RaterSetting(0.25, "0.85 0.6 0.75 0.7", 250, 0, "", 4),
}


def rates_of_raters(raters: str, classes: int) -> np.ndarray:
    """Return the probabilities of each rater's labels given the true class, (R, C, C)."""
    numbers = np.array([list(map(float, rater.split("/"))) for rater in raters.split()])
    if classes == 2:
        return np.array([[[sp, 1 - sp], [1 - se, se]] for se, sp in numbers])
    accuracy, same = numbers[:, :, None], np.eye(classes)
    return accuracy * same + (1 - accuracy) / (classes - 1) * (1 - same)


def uniform_by_rater(
    rng: np.random.Generator, shape: tuple[int, int], dependence: str
) -> np.ndarray:
    """Return uniform numbers (R, n) with a given dependence. High numbers are errors."""
    kind, _, correlation = dependence.partition(" ")
    if kind == "errors":  # raters sometimes share the uniform number
        same = rng.random(shape) < float(correlation) ** 0.5
        return np.where(same, rng.random(shape[1]), rng.random(shape))
    if kind == "difficulty":
        share = float(correlation)
        difficulty, independent = rng.standard_normal(shape[1]), rng.standard_normal(shape)
        return ndtr(share**0.5 * difficulty + (1 - share) ** 0.5 * independent)
    return rng.random(shape)


def measures_of_raters(classes: int) -> tuple[str, ...]:
    """Return the names of the measures, for two classes or for more."""
    if classes == 2:
        return "prevalence", "recall", "specificity", "f1"
    return "accuracy", "recall_macro", "f1_macro"


def ratings(rng: np.random.Generator, *setting: Any) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return ratings, and each rater's true measures."""
    setting = RaterSetting(*setting)
    classes, n = setting.classes, setting.n
    shares = np.full(classes, 1 / classes)
    if classes == 2:
        shares = np.array([1 - setting.prevalence, setting.prevalence])
    truth = rng.choice(classes, n, p=shares)
    rates = rates_of_raters(setting.raters, classes)
    correct = uniform_by_rater(rng, (len(rates), n), setting.dependence) < rates[:, truth, truth]
    wrong = (truth + rng.integers(1, classes, correct.shape)) % classes
    labels = {f"r{rater}": row for rater, row in enumerate(np.where(correct, truth, wrong))}
    gold = [int(label) if i < setting.gold else None for i, label in enumerate(truth)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three raters give a warning
        evidence = from_raters(labels, gold=gold if setting.gold else None)
    return evidence, {
        f"{name} {rater}": float(resolve(name)(shares[:, None] * rate))
        for rater, rate in enumerate(rates)
        for name in measures_of_raters(classes)
    }


def intervals_of_raters(evidence: xr.Dataset, dependence: Any = None) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals of every rater's measures."""
    names, rng = measures_of_raters(evidence.sizes["actual"]), np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there can be few effective draws
        posterior = noisy_labels(evidence, dependence=dependence)
        draws = posterior.draw([resolve(name) for name in names], DRAWS, rng)
    return {
        f"{name} {rater}": interval
        for name, values in zip(names, draws, strict=True)
        for rater, interval in enumerate(np.nanquantile(values, [0.025, 0.975], axis=0).T)
    }


def rater_methods(*setting: Any) -> Mapping[str, Any]:
    """Return the default model and, if dependence is identified, the model without it."""
    setting = RaterSetting(*setting)
    methods: dict[str, Any] = {"noisy_labels": intervals_of_raters}
    if setting.classes == 2 and (setting.gold or len(setting.raters.split()) > 3):
        methods["dependence=0"] = partial(intervals_of_raters, dependence=0.0)
    return methods


def mean_over_raters(table: pd.DataFrame) -> pd.DataFrame:
    """Return coverage and length of every measure and method, averaged over raters."""
    table = table.assign(measure=table["measure"].str.rsplit(" ", n=1).str[0])
    keys = ["case", *RaterSetting._fields, "measure", "method", "replications", "seed", "version"]
    return table.groupby(keys, sort=False, as_index=False)[["doc", "il"]].mean()


# Experiment "agreement": kappa, AC1 (Gwet, 2008, doi:10.1348/000711006X126600) and alpha (Hayes &
# Krippendorff, 2007, doi:10.1080/19312450709336664) of raters with known error rates. The true
# values are computed exactly from the probabilities of all combinations of labels.


class AgreementSetting(NamedTuple):
    """Prevalences of the classes, accuracy of each rater, and number of examples."""

    shares: str
    right: str
    n: int


AGREEMENT = {
    1: AgreementSetting("0.5 0.5", "0.85 0.85", 50),
    2: AgreementSetting("0.9 0.1", "0.9 0.85", 50),
    3: AgreementSetting("0.9 0.1", "0.9 0.85", 200),
    4: AgreementSetting("0.7 0.3", "0.9 0.8 0.75", 50),
    5: AgreementSetting("0.5 0.3 0.2", "0.85 0.8 0.7", 100),
    6: AgreementSetting("0.4 0.3 0.2 0.1", "0.8 0.75", 100),
    7: AgreementSetting("0.95 0.05", "0.98 0.95 0.97", 100),
    8: AgreementSetting("0.6 0.4", "0.9 0.85 0.8 0.75 0.7", 30),
}


def chances_of_labels(shares: Sequence[float], accuracies: Sequence[float]) -> np.ndarray:
    """Return the probability (C, ..., C) of every combination of the raters' labels."""
    classes = len(shares)
    chances = 0.0
    for truth, share in enumerate(shares):
        rates = []
        for accuracy in accuracies:
            rate = np.full(classes, (1 - accuracy) / (classes - 1))
            rate[truth] = accuracy
            rates.append(rate)
        chances = chances + reduce(np.multiply.outer, rates, np.array(share))
    return chances


def measures_of_agreement(raters: int) -> list[str]:
    """Return the names of the measures, for two raters or for more."""
    kappa = "cohen_kappa" if raters == 2 else "fleiss_kappa"
    return ["agreement", kappa, "gwet_ac1", "krippendorff_alpha"]


def raters_who_agree(
    rng: np.random.Generator, shares: str, right: str, n: int
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return ratings, and the true agreement in the population."""
    chances = chances_of_labels(*(list(map(float, text.split())) for text in (shares, right)))
    classes, raters = len(chances), chances.ndim
    combinations = np.array(list(product(range(classes), repeat=raters)))
    votes = np.eye(classes)[combinations].swapaxes(0, 1)  # (R, P, C)
    population = Labelled(votes, chances.ravel())
    sample = combinations[rng.choice(len(combinations), n, p=chances.ravel())]
    labels = {f"r{rater}": column for rater, column in enumerate(sample.T)}
    evidence = count_patterns(labels, labels=list(range(classes)))
    return evidence, {
        name: float(EVERY[name](population)) for name in measures_of_agreement(raters)
    }


def intervals_of_agreement(evidence: xr.Dataset) -> Mapping[str, np.ndarray]:
    """Return 95% highest-density intervals of the agreement of all raters."""
    names = measures_of_agreement(evidence.sizes["classifier"])
    table = agreement(evidence, names, pairs=False)
    return dict(zip(table["measure"], table[["lower", "upper"]].to_numpy(float), strict=True))


# Experiment "label_errors": measures with respect to the true class if some test labels are wrong
# (Rogan & Gladen, 1978, doi:10.1093/oxfordjournals.aje.a112510). Classifiers and labels err
# independently given the true class. The rates of wrong labels are known, or sampled for every data
# set from the Beta prior of the model. The method "taken for the truth" ignores label errors. One
# case refers to another prevalence, one has three classes, and one compares two classifiers.

RATES = {"known .05": 0.05, "known .02, .15": {0: 0.02, 1: 0.15}, "Beta(5, 95)": (5, 95)}
RATES |= {"known .08": 0.08}
RECALL, SPECIFICITY, TARGET = 0.85, 0.9, 0.1
THREE_CLASSES = np.array([[0.45, 0.035, 0.015], [0.03, 0.24, 0.03], [0.02, 0.04, 0.14]])


class LabelErrorSetting(NamedTuple):
    """Number of examples, prevalence, rates of wrong labels, and special design."""

    n: int
    prevalence: float
    rates: str
    design: str = ""


LABEL_ERRORS = dict(
    enumerate(
        [
            *(
                LabelErrorSetting(n, prevalence, rates)
                for n in (100, 400, 2000)
                for prevalence in (0.5, 0.15)
                for rates in ("known .05", "known .02, .15", "Beta(5, 95)")
            ),
            LabelErrorSetting(400, 0.5, "Beta(5, 95)", "at prevalence .1"),
            LabelErrorSetting(400, np.nan, "known .08", "three classes"),
            LabelErrorSetting(400, 0.4, "Beta(5, 95)", "two classifiers"),
        ],
        start=1,
    )
)


def cells_of(prevalence: float, recall: float = RECALL, specificity: float = SPECIFICITY):
    """Return the true cell probabilities of a classifier."""
    rates = np.array([[specificity, 1 - specificity], [1 - recall, recall]])
    return np.array([[1 - prevalence], [prevalence]]) * rates


def wrong_labels(
    rng: np.random.Generator, truth: np.ndarray, rates: str, classes: int = 2
) -> np.ndarray:
    """Return labels that are wrong with a probability depending on the true class."""
    rate = RATES[rates]
    if isinstance(rate, tuple):
        by_class = rng.beta(*rate, classes)
    else:
        by_class = np.array([rate[k] if isinstance(rate, dict) else rate for k in range(classes)])
    wrong = rng.random(truth.size) < by_class[truth]
    return np.where(wrong, (truth + rng.integers(1, classes, truth.size)) % classes, truth)


def counts_by_label(
    rng: np.random.Generator, n: int, prevalence: float, rates: str, design: str
) -> tuple[xr.DataArray | xr.Dataset, Mapping[str, float]]:
    """Return counts (or outcomes) by label, and the true measures."""
    if design == "two classifiers":
        return outcomes_by_label(rng, n, prevalence, rates)
    cells = THREE_CLASSES if design == "three classes" else cells_of(prevalence)
    classes = len(cells)
    truth, predicted = np.divmod(rng.choice(cells.size, n, p=cells.ravel()), classes)
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (wrong_labels(rng, truth, rates, classes), predicted), 1)
    evidence = from_matrix(counts, positive=1 if classes == 2 else None)
    if design == "at prevalence .1":
        evidence, cells = at_prevalence(evidence, TARGET), cells_of(TARGET)
    return evidence, {name: float(resolve(name)(cells)) for name in measures_of_counts(classes)}


def measures_of_counts(classes: int) -> list[str]:
    """Return the names of the measures, for two classes or for three."""
    if classes == 2:
        return ["prevalence", "recall", "specificity", "precision", "f1", "mcc"]
    return ["accuracy", "f1_macro", "recall_macro", "mcc"]


COMPARED = ("accuracy", "recall", "f1")


def outcomes_by_label(
    rng: np.random.Generator, n: int, prevalence: float, rates: str
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return outcomes of two classifiers by label, and the true differences."""
    truth = (rng.random(n) < prevalence).astype(int)
    first, second = cells_of(prevalence), cells_of(prevalence, recall=0.75, specificity=0.85)
    difficulty = rng.random(n)  # shared by the classifiers, so that their errors are correlated
    predicted = {}
    for name, cells in (("a", first), ("b", second)):
        correct = difficulty < (np.diagonal(cells) / cells.sum(-1))[truth]
        predicted[name] = np.where(correct, truth, 1 - truth)
    evidence = from_classifiers(wrong_labels(rng, truth, rates), predicted, positive=1)
    measures = {name: resolve(name) for name in COMPARED}
    return evidence, {name: float(f(first) - f(second)) for name, f in measures.items()}


def intervals_of_counts(evidence: xr.DataArray, **model: Any) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals. Without a model, labels are assumed to be correct."""
    names = measures_of_counts(evidence.sizes["actual"])
    table = interval(evidence, names, kind="eti", **model)
    return {name: table.sel(measure=name).values for name in names}


def intervals_of_differences(evidence: xr.Dataset, **model: Any) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals of the differences between two classifiers."""
    table = compare(evidence, list(COMPARED), kind="eti", draws=DRAWS, **model)
    return dict(zip(table["measure"], table[["lower", "upper"]].to_numpy(float), strict=True))


def label_error_methods(n: int, prevalence: float, rates: str, design: str) -> Mapping[str, Any]:
    """Return the model of wrong labels, and the method that ignores label errors."""
    if design == "two classifiers":
        differences = partial(intervals_of_differences, label_error=RATES[rates])
        return {"mislabelled": differences, "taken for the truth": intervals_of_differences}
    model = partial(intervals_of_counts, label_error=RATES[rates], draws=DRAWS)
    return {"mislabelled": model, "taken for the truth": intervals_of_counts}


EXPERIMENTS = [
    Experiment("noisy_labels", RATERS, ratings, rater_methods, reshape=mean_over_raters),
    Experiment("agreement", AGREEMENT, raters_who_agree, {"agreement": intervals_of_agreement}),
    Experiment("label_errors", LABEL_ERRORS, counts_by_label, label_error_methods),
]
