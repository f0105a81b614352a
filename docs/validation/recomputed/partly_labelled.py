"""
Partly labelled data with a judge: strata counted from the examples, and conjugate draws.

A stratum is a combination of labels from the judges, the design and the classifiers. Stratum k has
N_k examples, and n_kr labelled examples of class r. Then

    share ~ Dirichlet(N_k + R c_k),    truth_k ~ Dirichlet(n_kr + c_k)

with R true classes. For one classifier with K strata, c_k = 3 / (K R), or 2 / (K R) if K <= R. For
several classifiers, the strata in which they agree share these examples, and the others have one
example each. For one classifier, all combinations of judge's label and prediction are strata,
including unobserved ones. The measures are implemented here independently of the package.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import TAILS, Figure, figures_of_draws, rows

PACKAGE_DRAWS = 40_000
CHUNK = 10_000  # number of draws in memory at once

# Measures of a table with actual classes in rows. With two classes, the second is positive.


def _f1(table: np.ndarray) -> np.ndarray:
    right = np.einsum("...ii->...i", table)
    return 2 * right / (table.sum(-1) + table.sum(-2))


def _mcc(table: np.ndarray) -> np.ndarray:
    size = table.sum((-2, -1))
    actual, predicted = table.sum(-1), table.sum(-2)
    covariance = np.einsum("...ii->...", table) * size - (actual * predicted).sum(-1)
    spread = (size**2 - (actual**2).sum(-1)) * (size**2 - (predicted**2).sum(-1))
    return covariance / np.sqrt(spread)


def _kappa(table: np.ndarray) -> np.ndarray:
    size = table.sum((-2, -1))
    observed = np.einsum("...ii->...", table) / size
    by_chance = (table.sum(-1) * table.sum(-2)).sum(-1) / size**2
    return (observed - by_chance) / (1 - by_chance)


def _recalls(table: np.ndarray) -> np.ndarray:
    return np.einsum("...ii->...i", table) / table.sum(-1)


def _weighted_f1(table: np.ndarray) -> np.ndarray:
    return np.nansum(_f1(table) * table.sum(-1), axis=-1) / table.sum((-2, -1))


def _mean_of_defined(values: np.ndarray) -> np.ndarray:
    """Return the mean over classes, without classes that have no examples."""
    number = (~np.isnan(values)).sum(-1)
    return np.nansum(values, axis=-1) / np.where(number, number, np.nan)


TWO_CLASSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "prevalence": lambda t: t[..., 1, :].sum(-1) / t.sum((-2, -1)),
    "accuracy": lambda t: np.einsum("...ii->...", t) / t.sum((-2, -1)),
    "recall": lambda t: t[..., 1, 1] / t[..., 1, :].sum(-1),
    "specificity": lambda t: t[..., 0, 0] / t[..., 0, :].sum(-1),
    "precision": lambda t: t[..., 1, 1] / t[..., :, 1].sum(-1),
    "npv": lambda t: t[..., 0, 0] / t[..., :, 0].sum(-1),
    "f1": lambda t: _f1(t)[..., 1],
    "balanced_accuracy": lambda t: _mean_of_defined(_recalls(t)),
    "mcc": _mcc,
    "cohen_kappa": _kappa,
    "lift": lambda t: (
        t[..., 1, 1] * t.sum((-2, -1)) / (t[..., 1, :].sum(-1) * t[..., :, 1].sum(-1))
    ),
}
MANY_CLASSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "accuracy": TWO_CLASSES["accuracy"],
    "balanced_accuracy": TWO_CLASSES["balanced_accuracy"],
    "f1_macro": lambda t: _mean_of_defined(_f1(t)),
    "f1_weighted": _weighted_f1,
    "mcc": _mcc,
    "cohen_kappa": _kappa,
}
# With abstentions in the last column. Measures refer to answered examples or to all examples.
ABSTENTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "coverage": lambda t: t[..., :-1].sum((-2, -1)) / t.sum((-2, -1)),
    "accuracy": lambda t: np.einsum("...ii->...", t[..., :-1]) / t[..., :-1].sum((-2, -1)),
    "f1": lambda t: TWO_CLASSES["f1"](t[..., :-1]),
    "mcc": lambda t: _mcc(t[..., :-1]),
    "accuracy_of_all": lambda t: np.einsum("...ii->...", t[..., :-1]) / t.sum((-2, -1)),
    "recall_of_all": lambda t: t[..., 1, 1] / t[..., 1, :].sum(-1),
}


class Setting(NamedTuple):
    """Name of the examples, and estimand."""

    examples: str
    of: str = "parameter"


CASES = dict(
    enumerate(
        [
            *(
                Setting(examples, of)
                for examples in (
                    "two classes",
                    "three classes",
                    "abstentions",
                    "two judges",
                    "judge of scores",
                    "chosen by design",
                    "slices",
                    "judge alone",
                    "few labels",
                )
                for of in ("parameter", "finite", "predictive")
            ),
            *(Setting("two classifiers", of) for of in ("parameter", "finite", "predictive")),
        ],
        start=1,
    )
)


class Examples(NamedTuple):
    """Columns of examples (missing labels are -1), and the arguments of `from_partly_labelled`."""

    frame: pd.DataFrame
    answers: tuple[str, ...]  # columns with predictions
    judges: tuple[str, ...]  # other columns that define strata
    arguments: Mapping[str, Any]
    measures: Mapping[str, Callable[[np.ndarray], np.ndarray]]
    classes: int


def examples_of(name: str) -> Examples:
    """Return the examples with a given name, which are always the same."""
    rng = np.random.default_rng(11)
    size, labelled, classes = 300, 12 if name == "few labels" else 50, 2
    if name == "three classes":
        classes = 3
    truth = rng.choice(classes, size, p=[0.65, 0.35] if classes == 2 else [0.5, 0.3, 0.2])

    def answers(correct):
        wrong = (truth + rng.integers(1, classes, size)) % classes
        return np.where(rng.random(size) < correct, truth, wrong)

    frame = pd.DataFrame({"judge": answers(0.8), "predicted": answers(0.75)})
    frame["second"] = np.where(rng.random(size) < 0.6, frame["predicted"], answers(0.7))
    frame["label"] = np.where(np.arange(size) < labelled, truth, -1)
    frame["other"] = answers(0.7)
    frame["site"] = rng.choice(["a", "b"], size)
    frame["score"] = np.round(np.clip(0.5 * truth + 0.6 * rng.random(size), 0, 1) + 1e-3, 6)
    human = frame["label"].where(frame["label"] >= 0).astype(object)
    human = human.where(frame["label"] >= 0, None).tolist()
    arguments: dict[str, Any] = {
        "actual": human,
        "predicted": frame["predicted"],
        "judge": frame["judge"],
        "labels": list(range(classes)),
    }
    judges: tuple[str, ...] = ("judge",)
    measures = MANY_CLASSES if classes > 2 else TWO_CLASSES
    if name == "abstentions":
        frame["predicted"] = frame["predicted"].where(rng.random(size) > 0.15, 2)
        arguments |= {"predicted": frame["predicted"], "labels": [0, 1], "abstain": 2}
        measures = ABSTENTIONS
        arguments["positive"] = 1
    if name == "two judges":
        arguments["judge"] = {"one": frame["judge"], "two": frame["other"]}
        judges = ("judge", "other")
    if name == "judge of scores":
        # Fifty labels give five bins of equal size.
        arguments["judge"] = frame["score"]
        frame["part"] = np.searchsorted(
            np.quantile(frame["score"], [0.2, 0.4, 0.6, 0.8]), frame["score"]
        )
        judges = ("part",)
    if name == "chosen by design":
        arguments["design"] = frame["site"]
        judges = ("judge", "site")
    if name == "slices":
        arguments["by"] = {"site": frame["site"]}
    if name == "judge alone":
        del arguments["predicted"]
        frame["predicted"], judges = frame["judge"], ()
    if name == "two classifiers":
        arguments["predicted"] = {"first": frame["predicted"], "second": frame["second"]}
        return Examples(frame, ("predicted", "second"), judges, arguments, measures, classes)
    return Examples(frame, ("predicted",), judges, arguments, measures, classes)


def strata_of(examples: Examples, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labelled counts (K, R), unlabelled counts (K,) and predictions (K, J) by stratum."""
    several = len(examples.answers) > 1
    columns = [*examples.judges, *examples.answers]
    keys = [tuple(row) for row in frame[columns].itertuples(index=False)]
    abstains = examples.arguments.get("abstain") is not None
    answered = list(range(examples.classes + abstains))
    if several:
        names = sorted(set(keys))
    else:
        verdicts = sorted({key[:-1] for key in _keys(examples, columns)})
        names = [(*verdict, answer) for verdict, answer in product(verdicts, answered)]
    index = {key: number for number, key in enumerate(names)}
    labelled = np.zeros((len(names), examples.classes))
    unlabelled = np.zeros(len(names))
    for key, label in zip(keys, frame["label"], strict=True):
        if label < 0:
            unlabelled[index[key]] += 1
        else:
            labelled[index[key], label] += 1
    answers = np.array([key[-len(examples.answers) :] for key in names], int)
    return labelled, unlabelled, answers


def _keys(examples, columns):
    return {tuple(row) for row in examples.frame[columns].itertuples(index=False)}


def pseudo_counts(answers: np.ndarray, classes: int) -> np.ndarray:
    """Return the prior pseudo-count per true class in each stratum, (K, 1)."""
    agree = (answers == answers[:, :1]).all(1)
    examples = 2 if len(answers) <= classes else 3
    return np.where(agree, examples / agree.sum(), 1.0)[:, None] / classes


def tables(
    examples: Examples, frame: pd.DataFrame, of: str, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return draws (size, J, C, C) of the classifiers' tables."""
    labelled, unlabelled, answers = strata_of(examples, frame)
    prior = pseudo_counts(answers, examples.classes)
    truth = rng.gamma(np.broadcast_to(labelled + prior, (size, *labelled.shape)))
    truth /= truth.sum(-1, keepdims=True)
    if of == "finite":
        cells = labelled + rng.multinomial(unlabelled.astype(int), truth)
    else:
        number = labelled.sum(-1) + unlabelled
        share = rng.gamma(
            np.broadcast_to(number + prior.sum(-1) * examples.classes, (size, len(number)))
        )
        cells = (share / share.sum(-1, keepdims=True))[..., None] * truth
        if of == "predictive":
            flat = cells.reshape(size, -1)
            cells = rng.multinomial(len(frame), flat / flat.sum(-1, keepdims=True)).reshape(
                cells.shape
            )
    columns = examples.classes + (examples.arguments.get("abstain") is not None)
    table = np.zeros((size, answers.shape[1], examples.classes, columns))
    for classifier in range(answers.shape[1]):
        for stratum, answer in enumerate(answers[:, classifier]):
            table[:, classifier, :, answer] += cells[:, stratum]
    return table


def figures(replications: Replications, name: str, of: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each measure and figure."""
    examples = examples_of(name)
    evidence = bcm.from_partly_labelled(**examples.arguments)
    n = {"n": len(examples.frame)} if of == "predictive" and name != "slices" else {}
    options: dict[str, Any] = {"of": of, "kind": "eti", "draws": PACKAGE_DRAWS} | n
    measures = dict(examples.measures)
    if name == "judge alone":
        measures = {key: measures[key] for key in ("prevalence", "accuracy", "recall", "f1")}
    if len(examples.answers) > 1:
        table = bcm.compare(evidence, list(measures), **options).set_index("measure")
    else:
        table = bcm.summary(evidence, list(measures), **options).set_index("measure")
    slices = sorted(examples.frame["site"].unique()) if name == "slices" else [None]
    rng = replications.generator()
    for site in slices:
        frame = examples.frame
        frame = frame if site is None else frame[frame["site"] == site]
        own = [
            tables(examples, frame, of, min(CHUNK, 1000 * replications.number), rng)
            for _ in range(max(1, 1000 * replications.number // CHUNK))
        ]
        for measure, function in measures.items():
            with np.errstate(invalid="ignore", divide="ignore"):
                values = np.concatenate([function(part) for part in own])
            values = values[:, 0] - values[:, 1] if values.shape[1] > 1 else values[:, 0]
            row = table.loc[measure]
            if site is not None:
                row = row[row["site"] == site].iloc[0]
            recomputed = dict(figures_of_draws(values))
            if len(examples.answers) > 1:
                better = (values > 1e-12).mean()  # ignores rounding errors
                error = np.sqrt(better * (1 - better) / len(values))
                recomputed["p_better"] = Figure(better, error)
            # A comparison has no errors, so the errors of independent draws are used.
            scale = np.sqrt(len(values) / PACKAGE_DRAWS)
            package = {
                answer: Figure(row[answer], row["error"])
                if answer in TAILS and "error" in row
                else Figure(row[answer], figure.error * scale)
                for answer, figure in recomputed.items()
            }
            question = f"{name}{'' if site is None else f', site {site}'}: {measure}"
            yield from rows(question, package, recomputed)


EXPERIMENTS = [Repeated("recomputed", CASES, figures, table="partly_labelled")]
