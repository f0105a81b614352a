"""
Is the better of two classifiers better as often as is said, over ten folds without halves?

The same learner is trained on either half of eight normal features. How far each feature moves the
positives is drawn anew for each data set, |N(.5, .25^2)|, so that one half is better by as much as
chance has it, and neither is favoured: a probability of .95 should be right in .95 of the data sets
whose probabilities are about .95. The truth is the mean difference over training sets of nine
tenths of the sample; where the sign of the simulated mean is in doubt, a data set counts as right
by the probability that the sign is.

Of each measure and model the data sets are counted by the probability of the one that is called
better: how many there are in a bin (``data_sets``), what was ``said`` on average, and in how many
it was ``right``. ``log_loss`` is the mean of minus the log of what was said of the truly better.
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
    """Return the mean differences over training sets, and their standard errors."""
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
    """Yield what each model says of each measure, and the probability that the first is better."""
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
    """Yield a row for each measure, model and bin of what was said."""
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
