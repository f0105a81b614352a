"""Coverage for partly labelled data with a judge: rates, differences, chosen labels, transfer."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import bayescm as bcm
from bayescm.answers.interval import interval
from bayescm.classical import rogan_gladen
from bayescm.evidence import from_matrix, from_partly_labelled
from bayescm.measures.catalogue import resolve
from bayescm.posteriors import dirichlet_multinomial, paired_outcomes, partly_labelled
from bayescm.simulation import Experiment, Repeated, Replications

# Table "coverage": a judge labels all of 2,000 items, and people label a random sample of 20, 50 or
# 100 (Tenenbein, 1970, doi:10.1080/01621459.1970.10481170). The true values are the prevalence in
# the population and, in the cases with a classifier, its F1. Judge and classifier err independently
# given the true class. The 95% equal-tailed interval is compared with the interval from the
# labelled examples alone.

ITEMS, SIZES, TAILS = 2000, (20, 50, 100), [0.025, 0.975]
CHUNK = 200  # number of data sets whose draws are in memory together


class JudgeSetting(NamedTuple):
    """Prevalence, and "recall/specificity" of the judge and, if there is one, the classifier."""

    prevalence: float
    judge: str
    classifier: str = ""


JUDGES = dict(
    enumerate(
        [
            *(
                JudgeSetting(prevalence, judge)
                for prevalence in (0.5, 0.7, 0.9, 0.95)
                for judge in ("0.8/0.6", "0.9/0.8", "0.97/0.95")
            ),
            JudgeSetting(0.5, "0.8/0.6", "0.8/0.8"),
            JudgeSetting(0.5, "0.65/0.65", "0.9/0.7"),
            JudgeSetting(0.5, "0.9/0.9", "0.9/0.9"),
            JudgeSetting(0.4, "0.8/0.8", "0.7/0.95"),
            JudgeSetting(0.3, "0.97/0.95", "0.8/0.9"),
            JudgeSetting(0.3, "0.7/0.8", "0.9/0.8"),
            JudgeSetting(0.2, "0.8/0.8", "0.7/0.9"),
            JudgeSetting(0.2, "0.95/0.9", "0.8/0.95"),
            JudgeSetting(0.7, "0.8/0.8", "0.85/0.7"),
            JudgeSetting(0.1, "0.9/0.9", "0.7/0.95"),
        ],
        start=1,
    )
)


def confusion_rates(rates: str) -> np.ndarray:
    """Return the probability of each label given the true class, from "recall/specificity"."""
    recall, specificity = map(float, rates.split("/"))
    return np.array([[specificity, 1 - specificity], [1 - recall, recall]])


def cells_by_judge(prevalence: float, judge: str, classifier: str) -> np.ndarray:
    """Return the probabilities of (judge, actual, predicted).

    Without a classifier, the judge's labels are the predictions, and there is one stratum.
    """
    truth = np.array([1 - prevalence, prevalence])
    if not classifier:
        return (truth[:, None] * confusion_rates(judge))[None]
    return np.einsum("a,aj,ap->jap", truth, confusion_rates(judge), confusion_rates(classifier))


def in_strata(counts: np.ndarray, unlabelled: np.ndarray) -> xr.DataArray:
    """Return evidence from labelled (batch, judge, actual, predicted) and unlabelled counts."""
    dims = ("batch", "judge", "predicted")
    return from_matrix(counts, dims=dims[:2]).assign_coords(unlabelled=(dims, unlabelled))


def coverage_beside_labels(
    intervals: np.ndarray, truth: Sequence[float], names: Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    """
    Yield a row for every measure, from intervals (method, measure, bound, replication).

    The first method uses the judge, and the second one the labelled examples alone. Columns with
    ``labels_alone`` refer to the second method, and ``relative_width`` is the ratio of the mean
    lengths.
    """
    replications = intervals.shape[-1]
    for k, (name, value) in enumerate(zip(names, truth, strict=True)):
        lower, upper = intervals[:, k, 0], intervals[:, k, 1]
        # The tolerance allows for rounding, as a rate of the observed items can equal a limit.
        doc, alone = ((lower - 1e-9 <= value) & (value <= upper + 1e-9)).mean(-1)
        length, length_alone = (upper - lower).mean(-1)
        yield {
            "measure": name,
            "truth": value,
            "doc": doc,
            "doc_se": np.sqrt(doc * (1 - doc) / replications),
            "il": length,
            "doc_labels_alone": alone,
            "il_labels_alone": length_alone,
            "relative_width": length / length_alone,
        }


def chunks(number: int, size: int) -> list[int]:
    """Return the number of data sets in each chunk."""
    return [min(size, number - start) for start in range(0, number, size)]


def coverage_with_judge(
    replications: Replications, prevalence: float, judge: str, classifier: str
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every number of labels and measure."""
    names = ["prevalence", "f1"] if classifier else ["prevalence"]
    measures = [resolve(name) for name in names]
    cells = cells_by_judge(prevalence, judge, classifier)
    truth = [float(measure(cells.sum(0))) for measure in measures]
    for size in SIZES:
        rng = np.random.default_rng([replications.seed, replications.case, size])
        intervals = []
        for number in chunks(replications.number, CHUNK):
            counts = rng.multinomial(size, cells.ravel(), number).reshape(number, *cells.shape)
            others = rng.multinomial(ITEMS - size, cells.sum(1).ravel(), number)
            judged = in_strata(counts, others.reshape(number, len(cells), 2))
            posteriors = partly_labelled(judged), dirichlet_multinomial(counts.sum(1))
            intervals.append(
                [
                    [np.nanquantile(values, TAILS, axis=0) for values in draws]
                    for draws in (posterior.draw(measures, 400, rng) for posterior in posteriors)
                ]
            )
        rows = coverage_beside_labels(np.concatenate(intervals, axis=-1), truth, names)
        yield from ({"n": size} | row for row in rows)


# Table "differences": differences between two classifiers in accuracy and F1 with one judge. The
# interval is compared with the paired interval from the labelled examples alone. Judge and
# classifiers err independently given the true class, but the second classifier copies the first one
# with a given probability.

COMPARED = ("accuracy", "f1")
CHUNK_OF_PAIRS, DRAWS = 100, 600


class PairSetting(NamedTuple):
    """Prevalence, "recall/specificity" of judge and classifiers, and probability of a copy."""

    prevalence: float
    judge: str
    first: str
    second: str
    copied: float


PAIRS = {
    1: PairSetting(0.5, "0.8/0.6", "0.8/0.8", "0.8/0.8", 0.5),
    2: PairSetting(0.5, "0.9/0.8", "0.9/0.9", "0.8/0.85", 0.5),
    3: PairSetting(0.3, "0.9/0.9", "0.85/0.9", "0.7/0.9", 0.3),
    4: PairSetting(0.2, "0.9/0.9", "0.8/0.95", "0.8/0.85", 0.7),
    5: PairSetting(0.2, "0.7/0.7", "0.8/0.9", "0.6/0.95", 0.5),
    6: PairSetting(0.5, "0.97/0.95", "0.95/0.95", "0.9/0.9", 0.6),
    7: PairSetting(0.3, "0.6/0.6", "0.7/0.8", "0.9/0.7", 0.0),
    8: PairSetting(0.1, "0.9/0.9", "0.8/0.95", "0.7/0.9", 0.5),
}


def joint_of_pairs(
    prevalence: float, judge: str, first: str, second: str, copied: float
) -> np.ndarray:
    """Return the probabilities of (judge, first, second, true class)."""
    truth = np.array([1 - prevalence, prevalence])
    alone = confusion_rates(second)[:, None]
    after_first = copied * np.eye(2)[None] + (1 - copied) * alone
    return np.einsum(
        "y,yj,ya,yab->jaby", truth, confusion_rates(judge), confusion_rates(first), after_first
    )


def outcomes_of_pairs(counts: np.ndarray, unlabelled: np.ndarray | None = None) -> xr.Dataset:
    """Return outcomes of two classifiers, in strata of a judge if there are unlabelled items."""
    answers = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    coords = {
        "actual": ("outcome", np.tile([0, 1], 4)),
        "predicted": (("classifier", "outcome"), np.repeat(answers, 2, axis=1)),
        "classifier": ["first", "second"],
        "label": [0, 1],
        "positive": 1,
    }
    batch = len(counts)
    if unlabelled is None:
        table = ("batch", "outcome"), counts.sum(1).reshape(batch, -1)
        return xr.Dataset({"counts": table}, coords=coords)
    coords |= {"judge": ["0", "1"], "unlabelled": (("batch", "judge", "answers"), unlabelled)}
    coords["answered"] = (("classifier", "answers"), answers)
    table = ("batch", "judge", "outcome"), counts.reshape(batch, 2, -1)
    return xr.Dataset({"counts": table}, coords=coords)


def coverage_of_differences(
    replications: Replications, *setting: Any
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every number of labels and measure."""
    joint = joint_of_pairs(*setting)
    measures = [resolve(name) for name in COMPARED]
    matrices = np.stack([joint.sum((0, 2)).T, joint.sum((0, 1)).T])  # rows = actual
    truth = [np.subtract(*measure(matrices)) for measure in measures]
    for size in SIZES:
        rng = np.random.default_rng([replications.seed, replications.case, size])
        intervals = []
        for number in chunks(replications.number, CHUNK_OF_PAIRS):
            counts = rng.multinomial(size, joint.ravel(), number).reshape(number, 2, 4, 2)
            unlabelled = rng.multinomial(ITEMS - size, joint.sum(-1).ravel(), number)
            judged = outcomes_of_pairs(counts, unlabelled.reshape(number, 2, 4))
            posteriors = partly_labelled(judged), paired_outcomes(outcomes_of_pairs(counts))
            intervals.append(
                [
                    [
                        np.quantile(values[..., 0] - values[..., 1], TAILS, axis=0)
                        for values in draws
                    ]
                    for draws in (posterior.draw(measures, DRAWS, rng) for posterior in posteriors)
                ]
            )
        rows = coverage_beside_labels(np.concatenate(intervals, axis=-1), truth, COMPARED)
        yield from ({"n": size} | row for row in rows)


# Table "real": preferences of people between two language models, which are all known, and the
# preferences of a real judge. In each data set, 28 or 56 labels are sampled from a table. The true
# value is the rate of the observed items. The interval is compared with the interval from the same
# labels without the judge. The tables have people's preference in rows (second, first) and the
# judge's preference in columns. They are from the public judge results of
# yiqunchen/debias-llm-as-a-judge (MIT licence).

REAL_SIZES = (28, 56)
REAL_TABLES = {
    "gpt-4o-mini of opus-4 and gemini-2.5-flash": [[162, 30], [95, 38]],
    "gpt-5.2 of opus-4 and gemini-2.5-pro": [[147, 64], [30, 35]],
    "gpt-4o-mini of opus-4 and qwen3-235b": [[131, 34], [82, 28]],
    "gpt-5.2 of opus-4 and qwen3-235b": [[49, 116], [32, 78]],
}


def coverage_of_real_judges(replications: Replications, judge: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every number of labels."""
    cells = np.array(REAL_TABLES[judge])
    for size in REAL_SIZES:
        # 100 is added to have other random numbers than the experiments above.
        key = [replications.seed, 100 + replications.case, size]
        rng = np.random.default_rng(key)
        labelled = rng.multivariate_hypergeometric(cells.ravel(), size, replications.number)
        labelled = labelled.reshape(-1, 2, 2)
        unlabelled = cells.sum(0) - labelled.sum(1)
        intervals = []
        for answers in (np.eye(2, dtype=int), np.array([[1, 0], [1, 0]])):
            # The judge's labels or, without a judge, the same label for all items.
            evidence = in_strata((labelled @ answers)[:, None], (unlabelled @ answers)[:, None])
            (values,) = partly_labelled(evidence).draw(
                [resolve("prevalence")], 4 * DRAWS, rng, of="finite"
            )
            intervals.append([np.quantile(values, TAILS, axis=0)])
        truth = [cells[1].sum() / cells.sum()]
        (row,) = coverage_beside_labels(np.array(intervals), truth, ["prevalence"])
        yield {"items": int(cells.sum()), "n": size} | row


# Experiment "plan_labels": F1 from labels of random examples, and of examples chosen by
# `plan_labels`. There are 2,000 items. Classifier (recall 0.8, specificity 0.95) and judge (0.85,
# 0.85) err independently given the true class. After 20 random labels, labels are chosen in batches
# of 10. Intervals are 95% equal-tailed intervals of F1 in the population.

CLASSIFIER, JUDGE = (0.8, 0.95), (0.85, 0.85)  # recall, specificity
FIRST_LABELS, LABELS_OF_BATCH = 20, 10
# Numbers of chosen labels, and of random labels, by prevalence.
NUMBERS_OF_LABELS = {0.05: ((50, 100), (50, 100, 111, 222)), 0.5: ((50,), (50, 111))}


def f1_of_classifier(shares: np.ndarray, correct: Sequence[float]) -> float:
    """Return the (macro) F1 of a classifier with given recalls, from class frequencies."""
    wrong = (1 - np.array(correct)) / (len(correct) - 1)
    rates = np.where(np.eye(len(correct)), correct, wrong[:, None])
    return float(resolve("f1" if len(correct) == 2 else "f1_macro")(shares[:, None] * rates))


def items_to_label(
    rng: np.random.Generator, prevalence: float
) -> tuple[np.ndarray, Mapping[str, float]]:
    """Return true classes, predictions and judge's labels (3, items), and the true F1."""
    truth = (rng.random(ITEMS) < prevalence).astype(int)
    answers = []
    for recall, specificity in (CLASSIFIER, JUDGE):
        correct = rng.random(ITEMS) < np.where(truth == 1, recall, specificity)
        answers.append(np.where(correct, truth, 1 - truth))
    f1 = f1_of_classifier(np.array([1 - prevalence, prevalence]), CLASSIFIER[::-1])
    planned, random = NUMBERS_OF_LABELS[prevalence]
    numbers = sorted({*planned, *random})
    return np.stack([truth, *answers]), {f"{number} labels": f1 for number in numbers}


def labels_or_none(truth: np.ndarray, labelled: np.ndarray) -> list[int | None]:
    """Return the labels, with None for unlabelled items."""
    return [
        int(label) if is_labelled else None
        for label, is_labelled in zip(truth, labelled, strict=True)
    ]


def evidence_of_labels(items: np.ndarray, labelled: np.ndarray) -> xr.DataArray:
    """Return the evidence, given a mask of the labelled items."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the judge may not help
        labels = labels_or_none(items[0], labelled)
        return from_partly_labelled(labels, items[1], items[2], labels=[0, 1])


def f1_interval(items: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """Return the 95% equal-tailed interval of F1."""
    return interval(evidence_of_labels(items, labelled), "f1", kind="eti", draws=2000).values


def random_labels(items: np.ndarray, sizes: Sequence[int]) -> Mapping[str, np.ndarray]:
    """Return intervals from labels of the first items. Items are in random order."""
    index = np.arange(items.shape[1])
    return {f"{size} labels": f1_interval(items, index < size) for size in sizes}


def planned_labels(items: np.ndarray, sizes: Sequence[int]) -> Mapping[str, np.ndarray]:
    """Return intervals from labels chosen by `plan_labels`, batch by batch."""
    labelled, intervals = np.arange(items.shape[1]) < FIRST_LABELS, {}
    while (number := int(labelled.sum())) < max(sizes):
        rest = max(sizes) - number
        evidence = evidence_of_labels(items, labelled)
        plan = bcm.planning.plan_labels(evidence, "f1", rest, batch=min(LABELS_OF_BATCH, rest))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            batch = bcm.planning.choose(
                plan,
                labels_or_none(items[0], labelled),
                items[1],
                items[2],
                labels=[0, 1],
                random_seed=number,
            )
        labelled[batch] = True
        if labelled.sum() in sizes:
            intervals[f"{labelled.sum()} labels"] = f1_interval(items, labelled)
    return intervals


def labelling_methods(prevalence: float) -> Mapping[str, Any]:
    """Return the methods with random and with chosen labels, for the numbers of a case."""
    planned, random = NUMBERS_OF_LABELS[prevalence]
    return {
        "random": partial(random_labels, sizes=random),
        "chosen": partial(planned_labels, sizes=planned),
    }


# Experiment "transfer": labels from a population with another prevalence, so that only the error
# rates are transferred. Classes are equally frequent among the labelled examples, but not in the
# unlabelled population, which the true values refer to. For two classes without a classifier, the
# posterior is compared with the interval of Lang & Reiczigel (2014,
# doi:10.1016/j.prevetmed.2013.09.015), which Lee et al. (2025, arXiv:2511.21140) use for judges. If
# there is a classifier, it errs independently of the judge given the true class.

CORRECT = {2: (0.9, 0.85), 3: (0.8, 0.8, 0.8)}  # probability of a correct prediction, by class


class TransferSetting(NamedTuple):
    """Prevalence, rates of the judge, numbers of examples, and whether there is a classifier."""

    prevalence: float | str  # for three classes, a string of all prevalences
    recall: float  # recall of the judge for the last class
    specificity: float  # for three classes, the recall of the judge for the two others
    labels: int
    examples: int
    classifier: bool


TRANSFERS = dict(
    enumerate(
        [
            *(
                TransferSetting(prevalence, *judge, labels, 1000, classifier)
                for prevalence in (0.05, 0.3, 0.7)
                for judge in ((0.9, 0.7), (0.9, 0.95), (0.7, 0.7))
                for labels, classifier in ((50, False), (200, False), (200, True))
            ),
            *(
                TransferSetting(shares, 0.9, 0.8, labels, 1000, classifier)
                for shares in ("0.2 0.3 0.5", "0.05 0.15 0.8")
                for labels, classifier in ((60, False), (240, False), (60, True), (240, True))
            ),
        ],
        start=1,
    )
)


def shares_of_classes(prevalence: float | str) -> np.ndarray:
    """Return the prevalences of two or three classes."""
    if isinstance(prevalence, str):
        return np.array(prevalence.split(), float)
    return np.array([1 - prevalence, prevalence])


def random_answers(
    truth: np.ndarray, correct: Sequence[float], rng: np.random.Generator
) -> np.ndarray:
    """Return labels with given probabilities of being correct, else a random other class."""
    right, classes = rng.random(len(truth)) < np.take(correct, truth), len(correct)
    return np.where(right, truth, (truth + rng.integers(1, classes, len(truth))) % classes)


def labels_from_elsewhere(
    rng: np.random.Generator, *setting: Any
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return evidence, and the true prevalence (and F1) of the unlabelled population."""
    setting = TransferSetting(*setting)
    shares = shares_of_classes(setting.prevalence)
    classes, size = len(shares), setting.labels + setting.examples
    # The lowest uniform numbers give the last class, so that the shares are in reverse order.
    population = np.repeat([0, 1], [setting.labels, setting.examples])
    limits = np.cumsum([np.full(classes, 1 / classes), shares[::-1]], axis=1)[population, :-1]
    truth = classes - 1 - (rng.random(size)[:, None] >= limits).sum(1)
    truth[:classes] = np.arange(classes)  # every class has a labelled example
    correct_judge = [*[setting.specificity] * (classes - 1), setting.recall]
    judge = random_answers(truth, correct_judge, rng)
    predicted = random_answers(truth, CORRECT[classes], rng) if setting.classifier else None
    evidence = from_partly_labelled(
        labels_or_none(truth, np.arange(size) < setting.labels),
        predicted,
        judge,
        transfer="errors",
        labels=range(classes),
        positive=classes - 1,
    )
    measures = {"prevalence": float(shares[-1])}
    if setting.classifier:
        measures["f1"] = f1_of_classifier(shares, CORRECT[classes])
    return evidence, measures


def transferred_intervals(evidence: xr.DataArray, names: list[str]) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals.

    For three classes, these are the prevalence of the last class and macro F1.
    """
    options: dict[str, Any] = {"kind": "eti", "draws": 2000}
    if evidence.sizes["actual"] == 2:
        table = interval(evidence, names, **options)
        return {name: table.sel(measure=name).values for name in names}
    measures = {"prevalence": "prevalence", "f1": "f1_macro"}
    return {
        name: interval(evidence, measures[name], **options).values.reshape(-1, 2)[-1]
        for name in names
    }


def lang_reiczigel(evidence: xr.DataArray) -> Mapping[str, np.ndarray]:
    """Return the interval of Lang & Reiczigel, which uses the judge alone."""
    return {"prevalence": rogan_gladen(evidence).values}


def transfer_methods(*setting: Any) -> Mapping[str, Any]:
    """Return the posterior and, for two classes without a classifier, the published interval."""
    setting = TransferSetting(*setting)
    names = ["prevalence", "f1"] if setting.classifier else ["prevalence"]
    methods: dict[str, Any] = {"transferred_errors": partial(transferred_intervals, names=names)}
    if not setting.classifier and not isinstance(setting.prevalence, str):
        methods["rogan_gladen"] = lang_reiczigel
    return methods


EXPERIMENTS = [
    Repeated("judges", JUDGES, coverage_with_judge, table="coverage"),
    Repeated("judges", PAIRS, coverage_of_differences, table="differences"),
    Repeated(
        "judges",
        dict(enumerate([(judge,) for judge in REAL_TABLES], start=1)),
        coverage_of_real_judges,
        columns=("judge",),
        table="real",
    ),
    Experiment(
        "plan_labels",
        dict(enumerate([(prevalence,) for prevalence in NUMBERS_OF_LABELS], start=1)),
        items_to_label,
        labelling_methods,
        columns=("prevalence",),
    ),
    Experiment("transfer", TRANSFERS, labels_from_elsewhere, transfer_methods),
]
