"""Coverage for selection among many classifiers: the best classifier, and sets of ranks."""

import warnings
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri

from bayescm.answers.best import best
from bayescm.answers.compare import compare
from bayescm.answers.interval import interval
from bayescm.answers.ranks import ranks
from bayescm.evidence.counts import from_matrix
from bayescm.evidence.outcomes import from_classifiers
from bayescm.evidence.results import from_results
from bayescm.measures.catalogue import resolve
from bayescm.posteriors.hierarchical_differences import hierarchical_differences
from bayescm.simulation import Repeated, Replications

# Experiment "best": the true measure of the pipeline that was selected as the best of many. The
# predictions of M pipelines for the same examples are simulated, without training. 40% of the
# examples are positive. Correct predictions have correlation 0.5 on the normal scale. The
# accuracies are the same in both classes, and are all 0.7 or vary around 0.7. The pipeline with the
# highest measure is selected. `bayescm.learners.best` is compared with the uncorrected interval
# of the selected pipeline ("naive"), and with nested cross-validation ("nested"). There, the best
# pipeline on nine folds is selected, and its predictions in the tenth fold are counted.

LEVEL, POSITIVE, FOLDS, RESAMPLES = 0.7, 0.4, 10, 300


class Pipelines(NamedTuple):
    """Number of pipelines, number of examples, measure, and sd of the accuracies."""

    pipelines: int
    examples: int
    measure: str
    spread: float


BEST = dict(
    enumerate(
        [
            Pipelines(pipelines, examples, measure, spread)
            for examples, measure in ((200, "accuracy"), (200, "f1"), (100, "accuracy"))
            for pipelines in (5, 20, 100)
            for spread in (0.0, 0.03)
        ],
        start=1,
    )
)


def answers_of_pipelines(
    rng: np.random.Generator, pipelines: int, examples: int, spread: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the true classes (n,), the predictions (M, n), and the true accuracies (M,)."""
    accuracies = np.clip(LEVEL + spread * rng.standard_normal(pipelines), 0.5, 0.95)
    truth = (rng.random(examples) < POSITIVE).astype(int)
    shared, single = rng.standard_normal(examples), rng.standard_normal((pipelines, examples))
    latent = np.sqrt(0.5) * (shared + single)
    right = latent < ndtri(accuracies)[:, None]
    return truth, np.where(right, truth, 1 - truth), accuracies


def cells_by_fold(truth: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Return the confusion matrices (fold, M, 2, 2) of ten folds. Examples are in random order."""
    fold = np.arange(len(truth)) % FOLDS
    flat = 2 * truth + answers + 4 * (fold + FOLDS * np.arange(len(answers))[:, None])
    cells = np.bincount(flat.ravel(), minlength=4 * FOLDS * len(answers))
    return cells.reshape(len(answers), FOLDS, 2, 2).swapaxes(0, 1)


def nested(truth: np.ndarray, answers: np.ndarray, measure: str) -> np.ndarray:
    """Return the 95% equal-tailed interval from nested cross-validation."""
    cells = cells_by_fold(truth, answers)
    selected = resolve(measure)(cells.sum(0) - cells).argmax(1)
    total = cells[np.arange(FOLDS), selected].sum(0)
    return interval(from_matrix(total, positive=1), measure, kind="eti").values


def selected_as_best(
    replications: Replications, pipelines: int, examples: int, measure: str, spread: float
) -> list[dict[str, float]]:
    """
    Return the coverage, the mean length and the bias of the middle of three kinds of intervals.

    There is one row. The columns are ``best_doc`` (coverage), ``best_il`` (length) and
    ``best_bias``, and the same for ``nested`` and ``naive``.
    """
    records = []
    for rng in replications.generators():
        truth, answers, accuracies = answers_of_pipelines(rng, pipelines, examples, spread)
        named = {str(k): row for k, row in enumerate(answers)}
        outcomes = from_classifiers(truth, named, positive=1)
        row: Any = best(outcomes, measure, kind="eti", resamples=RESAMPLES).iloc[0]
        value = _true_measure(measure, accuracies[int(row["selected"])])
        intervals = {
            "best": row[["lower", "upper"]].to_numpy(float),
            "nested": nested(truth, answers, measure),
            "naive": row[["naive_lower", "naive_upper"]].to_numpy(float),
        }
        record = {}
        for name, (low, high) in intervals.items():
            record[f"{name}_doc"] = float(low <= value <= high)
            record[f"{name}_il"] = high - low
            record[f"{name}_bias"] = (low + high) / 2 - value
        records.append(record)
    return [pd.DataFrame(records).mean().to_dict()]


def _true_measure(measure, accuracy):
    right = np.diag([1 - POSITIVE, POSITIVE])
    return resolve(measure)(accuracy * right + (1 - accuracy) * right[:, ::-1])


# Experiment "ranks": sets of ranks, for classifiers that are equal, evenly spread, or in two
# groups. The evidence comes from separate test sets ("counts"), from one test set ("outcomes"), or
# from ten folds on several data sets ("results"). A data set counts as covered if the true ranks of
# all classifiers are in their sets. The true ranks of tied classifiers are all ranks that they
# share.

DRAWS = 4000


class Ranking(NamedTuple):
    """Type of evidence, number of classifiers, of examples or data sets, and true accuracies."""

    evidence: str
    classifiers: int
    size: int
    truth: str


RANKS = {
    1: Ranking("counts", 5, 60, "equal"),
    2: Ranking("counts", 20, 300, "equal"),
    3: Ranking("counts", 20, 300, "spread"),
    4: Ranking("outcomes", 6, 60, "equal"),
    5: Ranking("outcomes", 6, 300, "spread"),
    6: Ranking("outcomes", 6, 300, "two groups"),
    7: Ranking("results", 6, 8, "equal"),
    8: Ranking("results", 6, 30, "equal"),
    9: Ranking("results", 6, 30, "spread"),
}


def true_accuracies(truth: str, classifiers: int) -> np.ndarray:
    """Return the true accuracies, in decreasing order."""
    if truth == "equal":
        return np.full(classifiers, 0.8)
    if truth == "spread":
        return np.linspace(0.9, 0.7, classifiers)
    return np.repeat([0.85, 0.75], [classifiers // 2, classifiers - classifiers // 2])


def own_test_sets(rng: np.random.Generator, accuracies: np.ndarray, size: int) -> xr.DataArray:
    """Return counts of classifiers on separate, balanced test sets."""
    half = size // 2
    right = rng.binomial(half, accuracies, (2, len(accuracies))).T
    cells = np.stack([np.diag(row) for row in right])
    cells[:, [0, 1], [1, 0]] = half - right
    return from_matrix(cells, dims=("classifier",))


def one_test_set(rng: np.random.Generator, accuracies: np.ndarray, size: int) -> xr.Dataset:
    """Return outcomes of classifiers on the same examples, with correlated errors."""
    truth, shared = rng.random(size) < 0.5, rng.standard_normal((size, 1))
    single = rng.standard_normal((size, len(accuracies)))
    wrong = np.sqrt(0.5) * (shared + single) > ndtri(accuracies)
    return from_classifiers(truth, {f"{k}": truth ^ row for k, row in enumerate(wrong.T)})


def several_data_sets(
    rng: np.random.Generator, accuracies: np.ndarray, size: int
) -> xr.DataArray | xr.Dataset:
    """Return accuracies in ten folds on several data sets, with random effects of data sets."""
    shape = size, len(accuracies), 10
    expected = accuracies[:, None] + 0.03 * rng.standard_t(5, (*shape[:2], 1))
    return _results(expected + 0.03 * rng.standard_normal(shape))


def _results(runs):
    """Return accuracies (data_set, classifier, fold) as evidence."""
    index = np.indices(runs.shape).reshape(3, -1)
    columns = dict(zip(("data_set", "classifier", "fold"), index, strict=True))
    return from_results(pd.DataFrame(columns | {"accuracy": runs.ravel()}))


EVIDENCE = {"counts": own_test_sets, "outcomes": one_test_set, "results": several_data_sets}


def sets_of_ranks(
    replications: Replications, evidence: str, classifiers: int, size: int, truth: str
) -> list[dict[str, float]]:
    """
    Return the joint coverage of sets of ranks.

    There is one row. ``covered`` is the proportion of data sets in which all true ranks are in
    their sets, ``width`` is the mean number of ranks per set, and ``tiers`` is the mean number of
    tiers. ``one_by_one`` is the joint coverage of separate sets, which contain the ranks between
    the 2.5% and 97.5% quantiles of each classifier. For these, any rank shared by tied classifiers
    is counted as true.
    """
    accuracies = true_accuracies(truth, classifiers)
    best_rank = 1 + (accuracies > accuracies[:, None]).sum(1)
    worst_rank = classifiers - (accuracies < accuracies[:, None]).sum(1)
    draws: dict[str, Any] = {} if evidence == "results" else {"draws": DRAWS}
    records = []
    for rng in replications.generators():
        data = EVIDENCE[evidence](rng, accuracies, size)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*same class totals")
            table = ranks(data, "accuracy", random_seed=int(rng.integers(2**31)), **draws)
        low, high = table["best_rank"].to_numpy(), table["worst_rank"].to_numpy()
        below = np.cumsum(table.filter(regex=r"^rank_\d").to_numpy(), axis=1)
        low_alone, high_alone = (1 + (below < tail).sum(1) for tail in (0.025, 0.975))
        records.append(
            {
                "covered": ((low <= best_rank) & (worst_rank <= high)).all(),
                "width": (high - low + 1).mean(),
                "tiers": max(int(tier) for row in table["tiers"] for tier in row.split(", ")),
                "one_by_one": ((low_alone <= worst_rank) & (best_rank <= high_alone)).all(),
            }
        )
    return [pd.DataFrame(records).astype(float).mean().to_dict()]


# Experiment "ranks_and_pairs": agreement of the ranks from several data sets with the pairwise
# comparisons. All classifiers are equal, and have ten folds on each data set. The effects of data
# sets have t distributions with three degrees of freedom and a different scale for each classifier.
# The robust locations of pairwise differences are then not additive.


class Benchmark(NamedTuple):
    """Number of data sets, and number of classifiers."""

    data_sets: int
    classifiers: int


BENCHMARKS = {
    case: Benchmark(data_sets, classifiers)
    for case, (data_sets, classifiers) in enumerate(product((4, 8, 30), (3, 6, 12)), start=1)
}


def ranks_and_pairs(
    replications: Replications, data_sets: int, classifiers: int
) -> list[dict[str, float]]:
    """
    Return the differences between the ranks of all classifiers and their pairwise comparisons.

    There is one row. In each data set, the largest difference between the two probabilities that
    one classifier is better than another is computed. ``pair_off`` is its mean and
    ``worst_pair_off`` its maximum over data sets. ``best_above_pair`` is the largest excess of the
    probability of being best over the lowest probability of being better than another classifier.
    Without Monte Carlo errors, it would be at most 0.
    """
    records = []
    for rng in replications.generators():
        results = differing_data_sets(rng, data_sets, classifiers)
        posterior = hierarchical_differences(results)
        (levels,) = posterior.draw(posterior.measured, 20_000, rng)
        better = np.full((classifiers, classifiers), 1.0)
        for row in compare(results).itertuples():
            better[row.first, row.second] = row.p_better
            better[row.second, row.first] = 1 - row.p_better
        above = (levels[:, :, None] > levels[:, None]).mean(0)
        np.fill_diagonal(above, 1)
        p_best = np.bincount(levels.argmax(1), minlength=classifiers) / len(levels)
        pair_off = np.abs(above - better).max()
        records.append({"pair_off": pair_off, "above": (p_best - better.min(1)).max()})
    table = pd.DataFrame(records)
    return [
        {
            "pair_off": table["pair_off"].mean(),
            "worst_pair_off": table["pair_off"].max(),
            "best_above_pair": table["above"].max(),
        }
    ]


def differing_data_sets(rng: np.random.Generator, data_sets: int, classifiers: int) -> xr.Dataset:
    """Return accuracies in ten folds. The scale of data set effects differs by classifier."""
    shape = data_sets, classifiers, 10
    spread = rng.uniform(0.01, 0.05, (classifiers, 1))
    effects = spread * rng.standard_t(3, (*shape[:2], 1))
    return _results(0.8 + effects + 0.03 * rng.standard_normal(shape))


EXPERIMENTS = [
    Repeated("best", BEST, selected_as_best),
    Repeated("ranks_and_pairs", BENCHMARKS, ranks_and_pairs),
    Repeated("ranks", RANKS, sets_of_ranks),
]
