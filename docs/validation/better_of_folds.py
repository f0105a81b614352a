"""
Calibration of the probability that one of two classifiers is better, from ten folds.

The same learner is trained on each half of eight normal features. For every data set, the shift of
each feature between the classes is sampled from |N(0.5, 0.25^2)|. Either half can therefore be
better, and neither is favoured. If the probabilities are calibrated, a probability of 0.95 is right
in 95% of the data sets. The true difference is the mean difference over training sets with nine
tenths of the sample size. If the sign of its simulated value is uncertain, a data set counts as
right with the probability of this sign.

For each measure and model, data sets are binned by the probability of the classifier that is called
better. The columns are the number of data sets in a bin (``data_sets``), the mean probability
(``said``) and the proportion in which the call was correct (``right``). ``log_loss`` is the mean
negative log probability of the truly better classifier.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr
from sklearn import config_context

from bayescm.answers.compare import compare
from bayescm.evidence.cross_validation import cross_outcomes
from bayescm.measures.catalogue import resolve
from bayescm.simulation import Repeated, Replications
from validation.folds import FOLDS, QUICK, Pair, sample, shifted, two_learners

MEASURES = ("f1", "recall", "accuracy")
MODELS = ("correlated_t", "paired_folds")
FEATURES, MIDDLE, SPREAD = 8, 0.5, 0.25
TRAINING_SETS, TEST_SIZE, DRAWS = 60, 2000, 10_000
BINS = (0.5, 0.8, 0.95, 0.99)
LEARNERS = ("linear discriminant", "naive Bayes", "tree of depth 2", "stump")
CASES = dict(enumerate([(learner, 150, 0.4) for learner in LEARNERS], start=1))


def true_difference(rng: np.random.Generator, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean differences over training sets, and their Monte Carlo standard errors."""
    size, differences = round(pair.n * (1 - 1 / FOLDS)), []
    for _ in range(TRAINING_SETS):
        train = sample(rng, size, pair.positives, pair.features)
        x, actual = sample(rng, TEST_SIZE, pair.positives, pair.features)
        cells = [
            np.bincount(2 * actual + learner.fit(*train).predict(x), minlength=4).reshape(2, 2)
            for learner in two_learners(pair, int(rng.integers(2**31))).values()
        ]
        first, second = (np.array([resolve(name)(c) for name in MEASURES]) for c in cells)
        differences.append(first - second)
    values = np.array(differences)
    return values.mean(0), values.std(0, ddof=1) / np.sqrt(TRAINING_SETS)


def answers(
    rng: np.random.Generator, learner: str, n: int, positives: float
) -> Iterator[Mapping[str, Any]]:
    """Yield each model's probability for each measure, and the probability that it is right."""
    features = shifted(FEATURES, np.abs(MIDDLE + SPREAD * rng.standard_normal(FEATURES)))
    pair = Pair(learner, learner, n, positives, features, equal=True)
    seed = int(rng.integers(2**31))
    with config_context(**QUICK):
        truth, error = true_difference(rng, pair)
        data = sample(rng, n, positives, features)
        options: dict[str, Any] = {"positive": 1, "random_state": seed}
        outcomes = cross_outcomes(two_learners(pair, seed), *data, FOLDS, **options)
    truly_better = ndtr(truth / np.maximum(error, 1e-9))
    for model in MODELS:
        keywords: dict[str, Any] = {} if model == "correlated_t" else {"model": model}
        rows = compare(outcomes, list(MEASURES), draws=DRAWS, **keywords)
        for row, first_better in zip(rows.itertuples(), truly_better, strict=True):
            said = row.p_better
            yield {
                "measure": row.measure,
                "model": model,
                "said": max(said, 1 - said),
                "right": first_better if said > 0.5 else 1 - first_better,
                "log_loss": -(
                    first_better * np.log(max(said, 0.5 / DRAWS))
                    + (1 - first_better) * np.log(max(1 - said, 0.5 / DRAWS))
                ),
            }


def calibration(
    replications: Replications, learner: str, n: int, positives: float
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each measure, model and bin of probabilities."""
    frame = pd.DataFrame(
        [
            answer
            for rng in replications.generators()
            for answer in answers(rng, learner, n, positives)
        ]
    )
    for (measure, model), group in frame.groupby(["measure", "model"], sort=False):
        bins = np.digitize(group["said"], BINS)
        for number, least in enumerate(BINS, start=1):
            part = group[bins == number]
            yield {
                "measure": measure,
                "model": model,
                "from": least,
                "data_sets": len(part),
                "said": part["said"].mean(),
                "right": part["right"].mean(),
                "log_loss": group["log_loss"].mean(),
            }


EXPERIMENTS = [Repeated("better_of_folds", CASES, calibration, ["learner", "n", "positives"])]
