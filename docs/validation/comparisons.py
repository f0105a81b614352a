"""Coverage for comparisons: paired differences, joint intervals, averages over many classes."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import gammaln, xlogy

from bayescm.answers.compare import compare
from bayescm.answers.interval import interval
from bayescm.answers.joint import joint_interval
from bayescm.classical.paired import tango, wald
from bayescm.distributions.differences import discordant
from bayescm.evidence.outcomes import counts_of, marginal_matrices
from bayescm.measures.catalogue import resolve
from bayescm.posteriors import hierarchical_rows
from bayescm.simulation import Experiment, Method, Repeated
from validation.counts import (
    AVERAGES,
    CONCENTRATIONS,
    ClassifierSetting,
    counts_of_classifier,
)

# Several classifiers on the same examples, as a joint distribution of the true class and all
# predictions.


class JointDistribution(NamedTuple):
    """Class and predictions of each cell (1 + J, M), and the cell probabilities (M,)."""

    cells: np.ndarray
    probabilities: np.ndarray

    def matrices(self) -> np.ndarray:
        """Return the true confusion matrix of each classifier, (J, 2, 2)."""
        return marginal_matrices(self.probabilities, self.cells[0], self.cells[1:], 2)

    def draw(self, rng: np.random.Generator, n: int) -> xr.Dataset:
        """Return the outcomes of n random examples."""
        names = [f"classifier {number}" for number in range(1, len(self.cells))]
        coords = {
            "actual": ("outcome", self.cells[0]),
            "predicted": (("classifier", "outcome"), self.cells[1:]),
            "classifier": names,
            "label": [0, 1],
            "positive": 1,
        }
        counts = rng.multinomial(n, self.probabilities)
        return xr.Dataset({"counts": ("outcome", counts)}, coords=coords)


def correlated_pair(
    positives: float, rates: Sequence[float], correlation: float
) -> JointDistribution:
    """
    Return the joint distribution of two classifiers with correlated errors.

    Parameters
    ----------
    positives : float
        Prevalence of the positive class.
    rates : sequence of float
        Error rate of each classifier.
    correlation : float
        Correlation of the errors, in both classes.
    """
    first, second = rates
    sd = np.sqrt(first * (1 - first) * second * (1 - second))
    both_wrong = first * second + correlation * sd
    errors = {(1, 1): both_wrong, (1, 0): first - both_wrong, (0, 1): second - both_wrong}
    errors[0, 0] = 1 - sum(errors.values())
    cells = np.indices((2, 2, 2)).reshape(3, -1)
    wrong = (cells[1:] != cells[0]).astype(int).T.tolist()
    shares = np.array([errors[one, two] for one, two in wrong])
    return JointDistribution(cells, shares * np.where(cells[0] == 1, positives, 1 - positives))


def classifiers_with_shared_errors(
    positives: float, rates: Sequence[float], shared: float
) -> JointDistribution:
    """
    Return the joint distribution of classifiers that share some of their errors.

    Parameters
    ----------
    positives : float
        Prevalence of the positive class.
    rates : sequence of float
        Error rate of each classifier.
    shared : float
        Weight of a mixture component with shared errors. There, if one classifier is wrong, all
        classifiers with an equal or higher error rate are wrong too. In the other component, errors
        are independent.
    """
    classifiers = len(rates)
    cells = np.indices((2,) * (1 + classifiers)).reshape(1 + classifiers, -1)
    wrong = cells[1:] != cells[0]
    column = np.asarray(rates, float)[:, None]
    independent = np.where(wrong, column, 1 - column).prod(0)
    edges = np.unique([0.0, 1.0, *column.ravel()])
    together = np.zeros(cells.shape[1])
    for low, high in pairwise(edges):
        together += (high - low) * (wrong == (column >= high)).all(0)
    prevalence = np.where(cells[0] == 1, positives, 1 - positives)
    mixture = shared * together + (1 - shared) * independent
    return JointDistribution(cells, prevalence * mixture)


# Table "paired": two classifiers with correlated errors on the same examples. Intervals of the
# difference use the pairs ("paired"), or treat the classifiers as independent ("independent").


class PairSetting(NamedTuple):
    """Number of examples, prevalence, error rate of each classifier, correlation of errors."""

    n: int
    positives: float
    rates: tuple[float, float]
    correlation: float


PAIRS = {
    1: PairSetting(500, 0.4, (0.2, 0.2), 0.7),
    2: PairSetting(500, 0.4, (0.2, 0.25), 0.7),
    3: PairSetting(500, 0.5, (0.1, 0.12), 0.7),
    4: PairSetting(100, 0.4, (0.2, 0.2), 0.7),
    5: PairSetting(2000, 0.4, (0.2, 0.25), 0.7),
    6: PairSetting(500, 0.1, (0.05, 0.05), 0.7),
    7: PairSetting(500, 0.4, (0.2, 0.2), 0.0),
}
PAIRED_MEASURES = ("f1", "mcc")


def outcomes_of_pair(
    rng: np.random.Generator, n: int, positives: float, rates: Sequence[float], correlation: float
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return outcomes of two classifiers, and the true differences between them."""
    pair = correlated_pair(positives, rates, correlation)
    values = {name: resolve(name)(pair.matrices()) for name in PAIRED_MEASURES}
    truth = {name: float(first - second) for name, (first, second) in values.items()}
    return pair.draw(rng, n), truth


def paired(outcomes: xr.Dataset) -> Mapping[str, Any]:
    """Return highest-density intervals of the differences, which use the pairs."""
    table = compare(outcomes, list(PAIRED_MEASURES), draws=10_000, random_seed=0)
    return {row.measure: (row.lower, row.upper) for row in table.itertuples()}


def independent(outcomes: xr.Dataset) -> Mapping[str, Any]:
    """Return highest-density intervals that treat the classifiers as independent."""
    matrices = counts_of(outcomes).values
    cells = np.random.default_rng(0).standard_gamma(matrices + 0.5, (10_000, 2, 2, 2))
    cells /= cells.sum((-2, -1), keepdims=True)
    values = {name: resolve(name)(cells) for name in PAIRED_MEASURES}
    return {name: _shortest(draws[:, 0] - draws[:, 1]) for name, draws in values.items()}


def _shortest(draws, prob=0.95):
    """Return the shortest interval that contains this proportion of the draws."""
    draws = np.sort(draws)
    inside = int(np.floor(prob * len(draws)))
    start = np.argmin(draws[inside:] - draws[: len(draws) - inside])
    return draws[start], draws[start + inside]


# Table "accuracy": the exact coverage of the difference of two accuracies on the same examples, by
# enumeration. The interval depends only on the two discordant counts: the examples on which only
# the first, or only the second classifier is correct. The interval of every pair of counts is
# computed once, and weighted by the probability of the counts. The posterior is compared with the
# score interval (Tango, T. (1998). Equivalence test and confidence interval for the difference in
# proportions for the paired-sample design. Statistics in Medicine 17, 891-908,
# doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B), with Wald's interval, and
# with Wald's interval after one example is added to each discordant count (Bonett, D. G. & Price,
# R. M. (2012). Adjusted Wald confidence interval for a difference of binomial proportions based on
# paired data. Journal of Educational and Behavioral Statistics 37, 479-488,
# doi:10.3102/1076998611411915).

ENUMERATED = {1: (20,), 2: (50,), 3: (100,)}
DISAGREEMENTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
SHARES_OF_FIRST = (0.5, 0.6, 0.7, 0.8, 0.9)


def exact_coverage(replications, n):
    """
    Return the exact coverage of 95% intervals with n examples.

    The columns summarise 6 probabilities of disagreement, each split in 5 ways between the
    classifiers. ``mean_doc`` and ``least_doc`` are the mean and the lowest coverage, and ``il`` is
    the mean length.
    """
    del replications  # nothing is sampled
    first, second = (counts.ravel().astype(float) for counts in np.indices((n + 1, n + 1)))
    possible = first + second <= n
    first, second = first[possible], second[possible]
    methods = {
        "Dirichlet(0.5), the default": posterior_of_discordant(first, second, n, 0.5),
        "Dirichlet(1)": posterior_of_discordant(first, second, n, 1.0),
        "Tango": tango(first, second, n),
        "Bonett-Price": wald(first + 1, second + 1, n + 2),
        "Wald": wald(first, second, n),
    }
    for name, ends in methods.items():
        docs, lengths = [], []
        for share, split in product(DISAGREEMENTS, SHARES_OF_FIRST):
            p, q = share * split, share * (1 - split)
            mass = _trinomial(first, second, n, p, q)
            docs.append(mass @ ((ends[:, 0] <= p - q) & (p - q <= ends[:, 1])))
            lengths.append(mass @ np.ptp(ends, axis=1))
        yield {
            "method": name,
            "mean_doc": np.mean(docs),
            "least_doc": np.min(docs),
            "il": np.mean(lengths),
            "replications": 0,
        }


def posterior_of_discordant(
    first: np.ndarray, second: np.ndarray, n: int, prior: float
) -> np.ndarray:
    """Return equal-tailed intervals (m, 2), with ``prior`` pseudo-counts per joint cell."""
    concordant = n - first - second
    return np.array(
        [
            discordant(one + prior, two + prior, rest + 2 * prior).eti(0.95)
            for one, two, rest in zip(first, second, concordant, strict=True)
        ]
    )


def _trinomial(first, second, n, p, q):
    concordant = n - first - second
    ways = gammaln(n + 1) - gammaln(first + 1) - gammaln(second + 1) - gammaln(concordant + 1)
    return np.exp(ways + xlogy(first, p) + xlogy(second, q) + xlogy(concordant, 1 - p - q))


# Table "jointly": the probability that *all* intervals of several classifiers and measures contain
# the true values. The methods are `joint_interval` and separate 95% equal-tailed intervals.


class JointSetting(NamedTuple):
    """Number of examples, prevalence, error rates, weight of shared errors, number of measures."""

    n: int
    positives: float
    rates: tuple[float, ...]
    shared: float
    measures: int


JOINT = {
    1: JointSetting(100, 0.5, (0.2, 0.3), 0.5, 2),
    2: JointSetting(100, 0.3, (0.2, 0.25, 0.3), 0.5, 3),
    3: JointSetting(100, 0.5, (0.1, 0.2, 0.3, 0.4), 0.5, 5),
    4: JointSetting(500, 0.3, (0.1, 0.15), 0.7, 4),
    5: JointSetting(500, 0.3, (0.1, 0.15, 0.3), 0.5, 2),
    6: JointSetting(500, 0.1, (0.05, 0.07, 0.1), 0.5, 4),
    7: JointSetting(500, 0.4, (0.2, 0.22, 0.25, 0.3), 0.7, 5),
    8: JointSetting(2000, 0.5, (0.1, 0.12), 0.5, 5),
    9: JointSetting(2000, 0.1, (0.03, 0.05, 0.07), 0.7, 3),
    10: JointSetting(2000, 0.3, (0.05, 0.1, 0.15, 0.2), 0.0, 2),
}
JOINT_MEASURES = ("f1", "accuracy", "precision", "recall", "mcc")


def joint_coverage(replications, n, positives, rates, shared, number):
    """
    Return the joint coverage of the intervals of several classifiers and measures.

    ``doc`` is the proportion of test sets in which all intervals contain the true values, and
    ``il`` is the mean length.
    """
    population = classifiers_with_shared_errors(positives, rates, shared)
    measures = list(JOINT_MEASURES[:number])
    truth = np.stack([resolve(name)(population.matrices()) for name in measures])
    hold: dict[str, list] = {"joint": [], "single": []}
    lengths: dict[str, list] = {"joint": [], "single": []}
    for index in range(replications.number):
        outcomes = population.draw(replications.generator(index), n)
        methods = {
            "joint": joint_interval(outcomes, measures, draws=4000, random_seed=index),
            "single": {name: interval(outcomes, name, kind="eti") for name in measures},
        }
        for method, intervals in methods.items():
            ends = np.stack([intervals[name].transpose("classifier", "bound") for name in measures])
            hold[method].append(((ends[..., 0] <= truth) & (truth <= ends[..., 1])).all())
            lengths[method].append(np.ptp(ends, axis=-1).mean())
    for method, holds in hold.items():
        size = len(holds)
        smooth = (np.sum(holds) + 0.5) / (size + 1)  # the mean of the Jeffreys posterior
        yield {
            "classifiers": len(rates),
            "method": method,
            "doc": np.mean(holds),
            "doc_se": np.sqrt(smooth * (1 - smooth) / (size + 2)),
            "il": np.mean(lengths[method]),
        }


# Table "rows": macro averages over many classes with few examples each. The hierarchical model,
# which partially pools the classes, is compared with the default prior of a single table. The
# classifiers are sampled as in the experiment "priors", which matches neither model.

ROWS = {
    case: ClassifierSetting(*setting)
    for case, setting in enumerate(product((5, 10), (50, 200), (0.7, 0.93)), start=1)
}


def hierarchical_intervals(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the model with partially pooled classes."""
    kernels = [resolve(name) for name in AVERAGES]
    draws = hierarchical_rows(counts.values).draw(kernels, 1000, np.random.default_rng(0))
    ends = [np.quantile(values, [0.025, 0.975]) for values in draws]
    return dict(zip(AVERAGES, ends, strict=True))


ROW_METHODS: dict[str, Method] = {
    "sharing": hierarchical_intervals,
    "2/C^2": CONCENTRATIONS["2/C^2"],
}

EXPERIMENTS = [
    Experiment(
        "comparisons",
        PAIRS,
        outcomes_of_pair,
        {"paired": paired, "independent": independent},
        table="paired",
    ),
    Repeated("comparisons", ENUMERATED, exact_coverage, columns=("n",), table="accuracy"),
    Repeated("comparisons", JOINT, joint_coverage, table="jointly"),
    Experiment("comparisons", ROWS, counts_of_classifier, ROW_METHODS, table="rows"),
]
