"""Selection among many classifiers: the best of them, and sets of ranks."""

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

# The true measure of the pipeline that was selected as the best of many. The answers of M pipelines
# to the same examples, 40 % of which are positive, are simulated and correlated (.5 on the normal
# scale); nothing is trained. The accuracies, of both classes the same, are all .7 or spread around
# it. The best one is selected by its measure. Beside `bayescm.learners.best` stand the interval of
# the selected one as it is (naive), and nested cross-validation: in each of ten folds the best one
# on the other nine is selected again, and its answers in the fold are counted.

LEVEL, POSITIVE, FOLDS, RESAMPLES = 0.7, 0.4, 10, 300


class Pipelines(NamedTuple):
    """How many pipelines and examples, by which measure, and how the accuracies are spread."""

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
    """Return the truth (n,), the answers (M, n), and the true accuracies (M,)."""
    accuracies = np.clip(LEVEL + spread * rng.standard_normal(pipelines), 0.5, 0.95)
    truth = (rng.random(examples) < POSITIVE).astype(int)
    shared, single = rng.standard_normal(examples), rng.standard_normal((pipelines, examples))
    latent = np.sqrt(0.5) * (shared + single)
    right = latent < ndtri(accuracies)[:, None]
    return truth, np.where(right, truth, 1 - truth), accuracies


def cells_by_fold(truth: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Return the cells (fold, M, 2, 2) of ten folds of examples in random order."""
    fold = np.arange(len(truth)) % FOLDS
    flat = 2 * truth + answers + 4 * (fold + FOLDS * np.arange(len(answers))[:, None])
    cells = np.bincount(flat.ravel(), minlength=4 * FOLDS * len(answers))
    return cells.reshape(len(answers), FOLDS, 2, 2).swapaxes(0, 1)


def nested(truth: np.ndarray, answers: np.ndarray, measure: str) -> np.ndarray:
    """Return the interval of nested cross-validation."""
    cells = cells_by_fold(truth, answers)
    selected = resolve(measure)(cells.sum(0) - cells).argmax(1)
    total = cells[np.arange(FOLDS), selected].sum(0)
    return interval(from_matrix(total, positive=1), measure, kind="eti").values


def selected_as_best(
    replications: Replications, pipelines: int, examples: int, measure: str, spread: float
) -> list[dict[str, float]]:
    """
    Return the coverage, the length and the bias of the middle of three kinds of intervals.

    One row: ``best_doc``, ``best_il``, ``best_bias`` and so on for ``nested`` and ``naive``.
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


# Sets of ranks, for classifiers that tie, crowd and stand apart. The evidence is of test sets of
# their own (counts), of one test set (outcomes), or of ten folds on several data sets (results). A
# data set counts as covered where the true ranks of all classifiers lie in their sets at once;
# classifiers that tie have every rank that they share.

DRAWS = 4000


class Ranking(NamedTuple):
    """The evidence, how many classifiers and examples or data sets, and the true accuracies."""

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
    """Return the true accuracies, from best to worst."""
    if truth == "equal":
        return np.full(classifiers, 0.8)
    if truth == "spread":
        return np.linspace(0.9, 0.7, classifiers)
    return np.repeat([0.85, 0.75], [classifiers // 2, classifiers - classifiers // 2])


def own_test_sets(rng: np.random.Generator, accuracies: np.ndarray, size: int) -> xr.DataArray:
    """Return counts of classifiers on balanced test sets of their own."""
    half = size // 2
    right = rng.binomial(half, accuracies, (2, len(accuracies))).T
    cells = np.stack([np.diag(row) for row in right])
    cells[:, [0, 1], [1, 0]] = half - right
    return from_matrix(cells, dims=("classifier",))


def one_test_set(rng: np.random.Generator, accuracies: np.ndarray, size: int) -> xr.Dataset:
    """Return outcomes of classifiers on the same examples, whose errors are correlated."""
    truth, shared = rng.random(size) < 0.5, rng.standard_normal((size, 1))
    single = rng.standard_normal((size, len(accuracies)))
    wrong = np.sqrt(0.5) * (shared + single) > ndtri(accuracies)
    return from_classifiers(truth, {f"{k}": truth ^ row for k, row in enumerate(wrong.T)})


def several_data_sets(
    rng: np.random.Generator, accuracies: np.ndarray, size: int
) -> xr.DataArray | xr.Dataset:
    """Return accuracies in ten folds on several data sets, which suit each classifier otherwise."""
    shape = size, len(accuracies), 10
    expected = accuracies[:, None] + 0.03 * rng.standard_t(5, (*shape[:2], 1))
    return _results(expected + 0.03 * rng.standard_normal(shape))


def _results(runs):
    """Return the accuracies (data_set, classifier, fold) as results."""
    index = np.indices(runs.shape).reshape(3, -1)
    columns = dict(zip(("data_set", "classifier", "fold"), index, strict=True))
    return from_results(pd.DataFrame(columns | {"accuracy": runs.ravel()}))


EVIDENCE = {"counts": own_test_sets, "outcomes": one_test_set, "results": several_data_sets}


def sets_of_ranks(
    replications: Replications, evidence: str, classifiers: int, size: int, truth: str
) -> list[dict[str, float]]:
    """
    Return how often all true ranks lie in their sets at once.

    One row: ``covered``, the mean number of ranks in a set (``width``), that of tiers (``tiers``),
    and the same share covered by sets that hold one by one (``one_by_one``): of ranks between the
    2.5 % and 97.5 % quantiles of each classifier's own, where any rank that ties share will do.
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


# Whether ranks of several data sets agree with the pairs: ten folds of classifiers that are all
# equal, with effects of data sets of three degrees of freedom that are spread differently, whose
# robust locations do not add up.


class Benchmark(NamedTuple):
    """How many data sets and classifiers."""

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
    Return how far the ranks of all classifiers are from the comparisons of their pairs.

    One row: the difference of the probabilities of a pair, at the pair that is the furthest off, in
    the mean of all tables (``pair_off``) and in the worst of them (``worst_pair_off``); and how far
    the probability of being best is at most above the least of being better than another
    (``best_above_pair``), which is not above 0 but for the error of the draws.
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
    """Return accuracies in ten folds whose effects of data sets are spread differently."""
    shape = data_sets, classifiers, 10
    spread = rng.uniform(0.01, 0.05, (classifiers, 1))
    effects = spread * rng.standard_t(3, (*shape[:2], 1))
    return _results(0.8 + effects + 0.03 * rng.standard_normal(shape))


EXPERIMENTS = [
    Repeated("best", BEST, selected_as_best),
    Repeated("ranks_and_pairs", BENCHMARKS, ranks_and_pairs),
    Repeated("ranks", RANKS, sets_of_ranks),
]
