"""
The three simulations of Yuan & Jiang (2025): joint intervals for several rules and measures.

Each rule is trained once; the population is then a table of joint outcomes (the truth and every
rule's answer), known exactly, from which test sets are drawn. The F measure of the paper is F0.5:
for no other F do its tables agree with one another. The first population is one-dimensional (then
alone a forest does as one nearest neighbour does), and is integrated on a grid.

References
----------
Yuan, Z. & Jiang, W. (2025). Confidence intervals for evaluation of data mining.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri

from bayescm import __version__
from bayescm.answers.joint import envelope
from bayescm.classical.intervals import MultinomialSamples, delta_moments, multinomial_samples
from bayescm.classical.max_z import max_abs_z
from bayescm.direct.arguments import labelled
from bayescm.direct.groups.joint_table import own_priors
from bayescm.direct.paired_outcomes import PairedOutcomes
from bayescm.evidence.joint_cells import pour
from bayescm.studies.populations import find_data
from bayescm.studies.tables import Settings, beside, published
from bayescm.validate import check_choice, fail

TABLES = ("4", "5", "6", "7")
SIZES = {"4": 500, "5": 2000, "6": 3333, "7": 3000}
RULES = {"4": 3, "5": 3, "6": 3, "7": 4}
NAMES = ("1-NN", "logistic", "forest", "svm")
TWO, THREE = ("fbeta(0.5)", "accuracy"), ("fbeta(0.5)", "accuracy", "lift")
METHODS = ("individual", "joint", "corrected", "posterior")
_POINTS, _DRAWS = 2**12, 2000


@dataclass(frozen=True)
class Population:
    """Joint outcomes of the rules: truth and answers (1 + J, M), and their probabilities (M,)."""

    cells: np.ndarray
    shares: np.ndarray

    def outcomes(self, counts: np.ndarray) -> xr.Dataset:
        """Return outcomes with these counts."""
        names = list(NAMES[: len(self.cells) - 1])
        coords = {
            "actual": ("outcome", self.cells[0]),
            "predicted": (("classifier", "outcome"), self.cells[1:]),
            "classifier": names,
            "label": [0, 1],
            "positive": 1,
        }
        return xr.Dataset({"counts": ("outcome", counts)}, coords=coords)


def _rules(number, seed):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    rules = [
        KNeighborsClassifier(1),
        make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, max_iter=5000)),
        RandomForestClassifier(500, random_state=seed),
        make_pipeline(StandardScaler(), SVC()),
    ]
    return rules[:number]


@cache
def population(table: str, data: str | None, seed: int = 0) -> Population:
    """Return the population of a table, its rules trained from the seed."""
    rng = np.random.default_rng(seed)
    if table in ("4", "5"):
        return _normal(rng, seed)
    features, classes = _rows(table, data)
    size = 844 if table == "6" else 3936
    order = rng.permutation(len(classes))
    train, rest = order[:size], order[size:]
    rules = [rule.fit(features[train], classes[train]) for rule in _rules(RULES[table], seed)]
    answers = [rule.predict(features[rest]) for rule in rules]
    cells, counts = np.unique(np.stack([classes[rest], *answers]), axis=1, return_counts=True)
    return Population(cells, counts / counts.sum())


def _normal(rng, seed):
    """Two normal classes one apart: the rules are functions of x, integrated on a grid."""
    classes = rng.integers(0, 2, 500)
    train = (classes + rng.standard_normal(500))[:, None]
    grid = np.linspace(-7, 8, 200_001)
    answers = [rule.fit(train, classes).predict(grid[:, None]) for rule in _rules(3, seed)]
    heights = [np.exp(-((grid - label) ** 2) / 2) for label in (0, 1)]
    code = np.concatenate([_code(np.full(len(grid), label), answers) for label in (0, 1)])
    mass = np.bincount(code, np.concatenate(heights), 16)
    seen = np.flatnonzero(mass > 0)
    cells = np.array(np.unravel_index(seen, (2,) * 4))
    return Population(cells, mass[seen] / mass.sum())


def _code(label, answers):
    return np.ravel_multi_index((label, *answers), (2,) * 4)


def _rows(table, data):
    if table == "7":
        rows = pd.read_csv(Path(find_data("letter", data)) / "letter.csv.gz", header=None)
        return rows.iloc[:, 1:].to_numpy(float), rows[0].isin(["A", "B"]).to_numpy(int)
    places = (
        [] if data is None else [Path(data) / "abalone.csv", Path(data) / "uci" / "abalone.csv"]
    )
    path = next((each for each in places if each.exists()), None)
    if path is None:
        todo = "download Abalone, doi:10.24432/C55C7W, and pass data= (--data) with its folder"
        raise fail("the data file abalone.csv is missing", data, "a folder that has it", todo)
    rows = pd.read_csv(path, header=None)
    features = pd.get_dummies(rows.drop(columns=8)).to_numpy(float)
    return features, (rows[8] == 6).to_numpy(int)


def simulate(table: str, settings: Settings) -> pd.DataFrame:
    """
    Return how often intervals hold jointly, and how long they are.

    Returns
    -------
    DataFrame
        For every rule, and for all, and every method: ``doc``, the share of test sets in which all
        intervals of the set hold; ``doc_se``; ``il``, their average length, and ``relative_il``,
        that over the true value. ``posterior`` are the simultaneous credible intervals.
    """
    check_choice("table", table, list(TABLES))
    known = population(table, settings.data, settings.seed)
    measures = THREE if table == "7" else TWO
    setting = multinomial_samples(known.outcomes(known.shares), list(measures))
    truth = setting.evaluate(setting.matrices(known.shares[None])).ravel()
    sets = _sets(RULES[table], len(measures))
    score = {(who, how): np.zeros(3) for who in sets for how in METHODS}
    for index in range(settings.replications):
        seed = np.random.SeedSequence(settings.seed, spawn_key=(int(table), index))
        rng = np.random.default_rng(seed)
        counts = rng.multinomial(SIZES[table], known.shares)
        for who, own in sets.items():
            for how, ends in _intervals(setting, counts, own, rng).items():
                inside = (ends[:, 0] <= truth[own]) & (truth[own] <= ends[:, 1])
                length = np.ptp(ends, axis=1)
                relative = np.divide(length, truth[own], where=truth[own] > 0, out=length * np.nan)
                score[who, how] += inside.all(), length.mean(), relative.mean()
    rows = [
        {"rule": who, "method": how, **_shares(total, settings.replications)}
        for (who, how), total in score.items()
    ]
    own = {"replications": settings.replications, "seed": settings.seed, "version": __version__}
    return pd.DataFrame(rows).assign(**own)


def _sets(rules, measures):
    every = {NAMES[j]: np.arange(measures) + j * measures for j in range(rules)}
    return every | {"all": np.arange(rules * measures)}


def _shares(total, size):
    doc, length, relative = total / size
    error = np.sqrt((total[0] + 0.5) * (size - total[0] + 0.5) / (size + 1) ** 2 / (size + 2))
    return {"doc": doc, "doc_se": error, "il": length, "relative_il": relative}


def _intervals(setting: MultinomialSamples, counts, own, rng) -> dict[str, np.ndarray]:
    z = float(ndtri(0.975))
    estimate, plain = delta_moments(setting, counts[None])
    _, blurred = delta_moments(setting, counts[None], blur="shared", z=z)
    halves = {
        "individual": z * np.sqrt(np.diag(plain))[own],
        "joint": _half(plain[np.ix_(own, own)]),
        "corrected": _half(blurred[np.ix_(own, own)]),
    }
    middle = estimate[own]
    ends = {how: np.stack([middle - half, middle + half], axis=1) for how, half in halves.items()}
    prior = own_priors(None, len(setting.predicted), 2)
    matrices = labelled(pour(counts, setting.actual, setting.predicted, 2), "classifier")
    posterior = PairedOutcomes(matrices, counts, setting.actual, setting.predicted, prior)
    drawn = setting.evaluate(posterior.cells("parameter", _DRAWS, rng)).reshape(_DRAWS, -1)
    return ends | {"posterior": envelope(drawn[:, own], 0.95)[0]}


def _half(covariance):
    deviations = np.sqrt(np.diag(covariance))
    use = deviations > 0
    if not use.any():
        return deviations
    correlation = covariance[np.ix_(use, use)] / np.outer(deviations[use], deviations[use])
    np.fill_diagonal(correlation, 1.0)
    return max_abs_z(correlation, points=_POINTS) * deviations


def table(name: str, case: int | None, settings: Settings) -> pd.DataFrame:
    """Return one table beside the published one; it has no cases."""
    if case is not None:
        raise fail(f"table {name} has no cases", case, "None", "leave case out")
    frame = simulate(name, settings)
    theirs: Any = published("yuan_jiang")
    theirs = theirs[theirs["table"] == int(name)].drop(columns="table")
    return beside(frame, theirs, ["rule", "method"]).assign(table=name)
