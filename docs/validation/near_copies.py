"""Coverage for differences between classifiers that score the same examples, often near copies."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, softmax

from bayescm.evidence.scores import from_probabilities
from bayescm.measures.catalogue import resolve
from bayescm.posteriors.calibration import calibration
from bayescm.posteriors.dirichlet_calibration import dirichlet_calibration
from bayescm.posteriors.shared_examples import SharedExamples
from bayescm.simulation import Experiment, generator

MEASURES = (
    "brier",
    "log_loss",
    "brier_skill",
    "auc",
    "average_precision",
    "partial_auc(0.1)",
    "max_f1",
    "calibration_in_the_large",
    "calibration_slope",
)
SHIFTED_MEASURES = ("brier", "log_loss", "auc", "average_precision", "partial_auc(0.1)")
CLASS_MEASURES = (
    "brier",
    "log_loss",
    "auc_macro",
    "auc[0]",
    "average_precision_macro",
    "average_precision[0]",
)
DRAWS, POPULATION = 600, 400_000
PREVALENCE, SEPARATION = 0.3, 2.0
NOISE_IN_COMMON = 0.8  # correlation of the noise of classifiers with a true difference
VERDICT = 0.95

# Table "binary": near copies. The log odds of both classifiers are the correct log odds plus
# standard normal noise. With a given probability, an example has independent noise for each
# classifier, otherwise they share the noise. The classifiers are exchangeable, so that every true
# difference is 0.
# Table "shifted": true differences. The log odds of the second classifier are shifted towards the
# wrong class.


class NearSetting(NamedTuple):
    """Probability that the scores of an example differ, and number of examples."""

    share: float
    n: int


class ShiftSetting(NamedTuple):
    """Shift of the second classifier's log odds, and number of examples."""

    shift: float
    n: int


NEAR = dict(
    enumerate((NearSetting(*each) for each in product((0.01, 0.03, 0.1), (50, 100, 1000))), start=1)
)
SHIFTED = dict(
    enumerate(
        (ShiftSetting(*each) for each in product((0.17, 0.44, 0.65, 1.35), (50, 100, 1000))),
        start=1,
    )
)


def two_classes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return the classes of n examples, at least five of each."""
    positive = np.zeros(n)
    while not 5 <= positive.sum() <= n - 5:
        positive = (rng.random(n) < PREVALENCE).astype(int)
    return positive


def _right_log_odds(positive):
    return SEPARATION * (positive - 0.5) + np.log(PREVALENCE / (1 - PREVALENCE))


def near_copies(rng: np.random.Generator, share: float, n: int) -> tuple[xr.Dataset, Mapping]:
    """Return the probabilities of two exchangeable classifiers."""
    positive = two_classes(rng, n)
    first, second = _right_log_odds(positive) + rng.standard_normal((2, n))
    second = np.where(rng.random(n) < share, second, first)
    return _evidence(positive, first, second), _truth(dict.fromkeys(MEASURES, 0.0))


def shifted(rng: np.random.Generator, shift: float, n: int) -> tuple[xr.Dataset, Mapping]:
    """Return the probabilities of two classifiers, the second of which is worse."""
    return _shifted(rng, shift, n), _truth(true_differences(shift))


def _shifted(rng, shift, n):
    positive = two_classes(rng, n)
    common, own = rng.standard_normal(n), rng.standard_normal((2, n))
    noise = np.sqrt(NOISE_IN_COMMON) * common + np.sqrt(1 - NOISE_IN_COMMON) * own
    first, second = _right_log_odds(positive) + noise
    return _evidence(positive, first, second - shift * (2 * positive - 1))


def _evidence(positive, first, second):
    forecasts = {"a": expit(first), "b": expit(second)}
    return from_probabilities(positive, forecasts, positive=1, clip=1e-15)


@cache
def true_differences(shift: float) -> Mapping[str, float]:
    """Return the true differences, from a large sample."""
    sample = calibration(_shifted(generator(0, 1), shift, POPULATION)).sampled()
    values = {name: resolve(name)(sample)[0] for name in SHIFTED_MEASURES}
    return {name: float(first - second) for name, (first, second) in values.items()}


# Table "sure": exchangeable classifiers with extreme forecasts, so that a few of the differences
# are much larger than the others. The log odds are normal and 1.6 times too extreme. Each
# classifier adds independent noise to them.

SURE_MEASURES = ("brier", "log_loss")
TOO_EXTREME, NOISE = 1.6, 0.7


class SureSetting(NamedTuple):
    """Standard deviation of the log odds, and number of examples."""

    spread: float
    n: int


SURE = {1: SureSetting(5.0, 100), 2: SureSetting(11.0, 100), 3: SureSetting(11.0, 300)}


def sure_classifiers(rng: np.random.Generator, spread: float, n: int) -> tuple[xr.Dataset, Mapping]:
    """Return the probabilities of two exchangeable classifiers with extreme forecasts."""
    positive = np.zeros(n)
    while not 5 <= positive.sum() <= n - 5:
        odds = rng.normal(0, spread, n)
        positive = (rng.random(n) < expit(odds / TOO_EXTREME)).astype(int)
    first, second = odds + NOISE * rng.standard_normal((2, n))
    return _evidence(positive, first, second), _truth(dict.fromkeys(SURE_MEASURES, 0.0))


# Table "classes": near copies with softmax forecasts of three classes, and noise as in "binary".


def class_copies(rng: np.random.Generator, share: float, n: int) -> tuple[xr.Dataset, Mapping]:
    """Return the probabilities of two exchangeable classifiers of three classes."""
    actual = rng.choice(3, n, p=[0.2, 0.3, 0.5])
    while np.bincount(actual, minlength=3).min() < 5:
        actual = rng.choice(3, n, p=[0.2, 0.3, 0.5])
    right = 1.5 * np.eye(3)[actual]
    first, second = right + rng.standard_normal((2, n, 3))
    second = np.where(rng.random((n, 1)) < share, second, first)
    forecasts = {"a": softmax(first, axis=1), "b": softmax(second, axis=1)}
    evidence = from_probabilities(actual, forecasts, labels=[0, 1, 2])
    return evidence, _truth(dict.fromkeys(CLASS_MEASURES, 0.0))


# Intervals of the differences, from joint draws ("joint"), and from draws that only share the
# weights of the examples ("weights alone"). A verdict is recorded as an interval without 0.

METHODS = ("joint", "weights alone")


def _truth(differences):
    return {
        key: value
        for name, difference in differences.items()
        for method in METHODS
        for key, value in ((f"{name}; {method}", difference), (f"{name}; {method}; verdict", 0.0))
    }


def differences(
    evidence: xr.Dataset, model: Callable = calibration, measures: tuple = MEASURES
) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the differences, and the verdicts."""
    posterior, weights_alone = model(evidence), []
    kernels = [posterior.bound(resolve(name)) for name in measures]
    joint = SharedExamples.joint

    def recorded(self, draws, values, pseudo):
        result = joint(self, draws, values, pseudo)
        weights_alone.append((result, draws))
        return result

    with patch.object(SharedExamples, "joint", recorded):
        drawn = posterior.draw(kernels, DRAWS, np.random.default_rng(0))
    answer = {}
    for name, values in zip(measures, drawn, strict=True):
        before = [draws for result, draws in weights_alone if np.array_equal(result, values)]
        for method, draws in zip(METHODS, (values, before[0] if before else values), strict=True):
            difference = draws[:, 0] - draws[:, 1]
            better = (difference > 0).mean() + (difference == 0).mean() / 2
            decided = float(not 1 - VERDICT < better < VERDICT)
            answer[f"{name}; {method}"] = np.quantile(difference, [0.025, 0.975])
            answer[f"{name}; {method}; verdict"] = (decided, decided)
    return answer


def tidy(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per measure and method, with the proportion of verdicts."""
    parts = table["measure"].str.split("; ", expand=True)
    table = table.assign(measure=parts[0], method=parts[1])
    is_verdict = parts[2].notna()
    rows = table[~is_verdict].reset_index(drop=True)
    verdicts = 1 - table[is_verdict]["doc"].to_numpy()
    rows.insert(rows.columns.get_loc("il_se") + 1, "verdicts", verdicts)
    return rows[(rows["method"] == METHODS[0]) | (rows["measure"] != "auc")]


EXPERIMENTS = (
    Experiment(
        "near_copies", NEAR, near_copies, {"differences": differences}, table="binary", reshape=tidy
    ),
    Experiment(
        "near_copies",
        SHIFTED,
        shifted,
        {"differences": partial(differences, measures=SHIFTED_MEASURES)},
        table="shifted",
        reshape=tidy,
    ),
    Experiment(
        "near_copies",
        SURE,
        sure_classifiers,
        {"differences": partial(differences, measures=SURE_MEASURES)},
        table="sure",
        reshape=tidy,
    ),
    Experiment(
        "near_copies",
        {case: setting for case, setting in NEAR.items() if setting.n < 1000},
        class_copies,
        {"differences": partial(differences, model=dirichlet_calibration, measures=CLASS_MEASURES)},
        table="classes",
        reshape=tidy,
    ),
)
