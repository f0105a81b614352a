"""
Simulations of Yuan & Jiang (2025): joint intervals for several rules and measures.

Each rule is trained once. The population is then a table of joint outcomes (the true class and the
predictions of all rules) with known probabilities, from which test sets are drawn. The F measure is
taken to be F0.5, because the tables of the paper are inconsistent with any other F. The first
population is one-dimensional and integrated on a grid. Only in one dimension does a forest behave
like one nearest neighbour.

References
----------
Yuan, Z. & Jiang, W. (2025). Confidence intervals for evaluation of data mining.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayescm.answers.joint import envelope
from bayescm.classical.intervals import (
    MultinomialSamples,
    delta_moments,
    multinomial_samples,
)
from bayescm.classical.max_z import max_abs_z
from bayescm.evidence.outcomes import marginal_matrices
from bayescm.papers import beside, published, run_experiment
from bayescm.papers.learners import SOURCES, find_file
from bayescm.posteriors.base import as_labelled_counts
from bayescm.posteriors.joint_table import classifier_priors
from bayescm.posteriors.paired_outcomes import PairedOutcomes
from bayescm.simulation import Repeated, Replications
from bayescm.validate import check_choice, fail

TABLES = ("4", "5", "6", "7")
RULES = ("1-NN", "logistic", "forest", "svm")
METHODS = ("individual", "joint", "corrected", "posterior")
POINTS = 2**12  # number of points for the integral over directions
DRAWS = 2000  # number of posterior draws


class Setting(NamedTuple):
    """Population, size of a test set, number of rules, and measures."""

    source: str
    size: int
    rules: int
    measures: tuple[str, ...]


CASES = {
    4: Setting("normal", 500, 3, ("fbeta(0.5)", "accuracy")),
    5: Setting("normal", 2000, 3, ("fbeta(0.5)", "accuracy")),
    6: Setting("abalone", 3333, 3, ("fbeta(0.5)", "accuracy")),
    7: Setting("letter", 3000, 4, ("fbeta(0.5)", "accuracy", "lift")),
}


@dataclass(frozen=True)
class Population:
    """Joint outcomes of the rules: truth and predictions (1 + J, M), with probabilities (M,)."""

    cells: np.ndarray
    shares: np.ndarray

    def outcomes(self, counts: np.ndarray) -> xr.Dataset:
        """Return outcomes with these counts."""
        names = list(RULES[: len(self.cells) - 1])
        coords = {
            "actual": ("outcome", self.cells[0]),
            "predicted": (("classifier", "outcome"), self.cells[1:]),
            "classifier": names,
            "label": [0, 1],
            "positive": 1,
        }
        return xr.Dataset({"counts": ("outcome", counts)}, coords=coords)


@cache
def population(source: str, rules: int, data: str | None = None, seed: int = 0) -> Population:
    """
    Return a population, with rules trained using the seed.

    Parameters
    ----------
    source : {"normal", "abalone", "letter"}
    rules : int
        Number of rules, the first ones of `RULES`.
    data : str, optional
        Folder of the data files.
    seed : int
    """
    rng = np.random.default_rng(seed)
    if source == "normal":
        return _normal(rng, rules, seed)
    features, classes = _abalone(data) if source == "abalone" else _letters(data)
    order = rng.permutation(len(classes))
    train, rest = np.split(order, [844 if source == "abalone" else 3936])
    answers = [
        rule.fit(features[train], classes[train]).predict(features[rest])
        for rule in _untrained(rules, seed)
    ]
    cells, counts = np.unique(np.stack([classes[rest], *answers]), axis=1, return_counts=True)
    return Population(cells, counts / counts.sum())


def _untrained(rules, seed):
    settings = [
        KNeighborsClassifier(1),
        make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, max_iter=5000)),
        RandomForestClassifier(500, random_state=seed),
        make_pipeline(StandardScaler(), SVC()),
    ]
    return settings[:rules]


def _normal(rng, rules, seed):
    """Two normal classes at distance one. The rules are functions of x, integrated on a grid."""
    classes = rng.integers(0, 2, 500)
    train = (classes + rng.standard_normal(500))[:, None]
    grid = np.linspace(-7, 8, 200_001)
    answers = [rule.fit(train, classes).predict(grid[:, None]) for rule in _untrained(rules, seed)]
    shape = (2,) * (1 + rules)
    codes = [np.ravel_multi_index((np.full(len(grid), label), *answers), shape) for label in (0, 1)]
    densities = [np.exp(-((grid - label) ** 2) / 2) for label in (0, 1)]
    mass = np.bincount(np.concatenate(codes), np.concatenate(densities), 2 ** (1 + rules))
    possible = np.flatnonzero(mass > 0)
    cells = np.array(np.unravel_index(possible, shape))
    return Population(cells, mass[possible] / mass.sum())


def _abalone(data):
    path = find_file("abalone.csv", "Abalone, doi:10.24432/C55C7W", data)
    rows = pd.read_csv(path, header=None)
    features = pd.get_dummies(rows.drop(columns=8)).to_numpy(float)
    return features, (rows[8] == 6).to_numpy(int)


def _letters(data):
    rows = pd.read_csv(find_file(*SOURCES["letter"], data), header=None)
    return rows.iloc[:, 1:].to_numpy(float), rows[0].isin(["A", "B"]).to_numpy(int)


def joint_coverage(
    replications: Replications,
    source: str,
    size: int,
    rules: int,
    measures: tuple[str, ...],
    *,
    data: str | None = None,
) -> list[dict[str, Any]]:
    """
    Return the joint coverage and the length of intervals.

    There is one row per method for each rule, and for all rules together. ``doc`` is the share of
    test sets in which all intervals of the row contain the true values, with standard error
    ``doc_se``. ``il`` is the average length, and ``relative_il`` the length relative to the true
    value. The method ``posterior`` denotes simultaneous credible intervals.
    """
    joint = population(source, rules, data, replications.seed)
    evaluation = multinomial_samples(joint.outcomes(joint.shares), list(measures))
    truth = evaluation.evaluate(evaluation.matrices(joint.shares[None])).ravel()
    width = len(measures)
    sets = {RULES[j]: np.arange(width) + j * width for j in range(rules)}
    sets["all"] = np.arange(rules * width)
    sums = {(rule, method): np.zeros(3) for rule in sets for method in METHODS}
    for index in range(replications.number):
        rng = replications.generator(index)
        counts = rng.multinomial(size, joint.shares)
        for rule, parameters in sets.items():
            values = truth[parameters]
            for method, ends in _intervals(evaluation, counts, parameters, rng).items():
                inside = (ends[:, 0] <= values) & (values <= ends[:, 1])
                length = np.ptp(ends, axis=1)
                relative = np.divide(length, values, where=values > 0, out=length * np.nan)
                sums[rule, method] += inside.all(), length.mean(), relative.mean()
    return [
        {"rule": rule, "method": method, **_means(total, replications.number)}
        for (rule, method), total in sums.items()
    ]


def _means(total, number):
    doc, length, relative = total / number
    error = np.sqrt((total[0] + 0.5) * (number - total[0] + 0.5) / (number + 1) ** 2 / (number + 2))
    return {"doc": doc, "doc_se": error, "il": length, "relative_il": relative}


def _intervals(evaluation: MultinomialSamples, counts, parameters, rng) -> dict[str, np.ndarray]:
    z = float(ndtri(0.975))
    estimate, covariance = delta_moments(evaluation, counts[None])
    _, blurred = delta_moments(evaluation, counts[None], blur="shared", z=z)
    block = np.ix_(parameters, parameters)
    halves = {
        "individual": z * np.sqrt(np.diag(covariance))[parameters],
        "joint": _joint_half_width(covariance[block]),
        "corrected": _joint_half_width(blurred[block]),
    }
    middle = estimate[parameters]
    ends = {name: np.stack([middle - half, middle + half], axis=1) for name, half in halves.items()}
    prior = classifier_priors(None, len(evaluation.predicted), 2)
    matrices = as_labelled_counts(
        marginal_matrices(counts, evaluation.actual, evaluation.predicted, 2), "classifier"
    )
    posterior = PairedOutcomes(matrices, counts, evaluation.actual, evaluation.predicted, prior)
    draws = evaluation.evaluate(posterior.cells("parameter", DRAWS, rng)).reshape(DRAWS, -1)
    return ends | {"posterior": envelope(draws[:, parameters], 0.95)[0]}


def _joint_half_width(covariance):
    deviations = np.sqrt(np.diag(covariance))
    use = deviations > 0
    if not use.any():
        return deviations
    correlation = covariance[np.ix_(use, use)] / np.outer(deviations[use], deviations[use])
    np.fill_diagonal(correlation, 1.0)
    return max_abs_z(correlation, points=POINTS) * deviations


def experiment(data: str | None = None) -> Repeated:
    """Return the experiment, whose cases are the tables of the paper."""
    cases = {number: tuple(setting) for number, setting in CASES.items()}
    return Repeated("yuan-jiang", cases, partial(joint_coverage, data=data))


def table(
    name: str, case: int | None = None, *, data: str | None = None, **options: Any
) -> pd.DataFrame:
    """
    Return one table with the published figures.

    Parameters
    ----------
    name : {"4", "5", "6", "7"}
    case : None
        Not used, because the tables have no cases.
    data : str, optional
        Folder of the data files, for Tables 6 and 7.
    **options
        ``replications`` and ``seed`` of `bayescm.simulation.Repeated.run`. The seed also trains the
        rules.

    Returns
    -------
    pandas.DataFrame
    """
    check_choice("table", name, list(TABLES))
    if case is not None:
        raise fail(
            f"Table {name} has no cases, so `case={case!r}` has no effect",
            ...,
            "",
            "leave `case` out",
        )
    frame = run_experiment(experiment(data), int(name), **options).drop(columns="case")
    theirs: Any = published("yuan_jiang")
    theirs = theirs[theirs["table"] == int(name)].drop(columns="table")
    return beside(frame, theirs, ["rule", "method"]).assign(table=name)
