"""
Sections 6 and 7.1 of Caelen (2017): the bootstrap beside the predictive, and Algorithm 3.

"figure 3" compares the spread of both as the matrix is multiplied. The paper sees the curves join;
they do not: a predictive draw has the noise of the parameter and that of a new sample, a bootstrap
draw the latter alone, and the ratio of their deviations tends to the square root of two.

"tables 2 and 3" run Algorithm 3 on the 16 data sets. It asks how often the value in a second test
set of the same size lies in the interval made from the first one: the predictive distribution is
made for that, the bootstrap is too short for it by the same square root.

What the paper prints as F1 and G-score are those of the *other* class than the one that its Table 1
names (with the named one the averages of F1 differ by up to .8, with the other one by .02), but in
its column of averages the G-score is the MCC.

"figure 4" is how often F1 takes each value in the second test set, beside the draws made from the
first one, for the data sets 6 and 13.

References
----------
Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.measures.catalogue import accuracy, mcc
from bayescm.simulation.coverage import Study
from bayescm.simulation.journal import generator
from bayescm.studies.published.caelen_sets import SETS, read_set
from bayescm.studies.tables import Settings, beside, published, run_cases
from bayescm.validate import check_choice, fail

TABLES = ("figure 3", "tables 2 and 3", "figure 4")
# The R package that the paper used grows 500; the lengths come out as published with 100.
_TREES = 100
SCALES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
MODEL_A = np.array([[30, 35], [15, 65]])


def f1_of_the_other(cells: np.ndarray) -> np.ndarray:
    """Return the F1 of the class with index 0."""
    tn, wrong = cells[..., 0, 0], cells[..., 0, 1] + cells[..., 1, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2 * tn / (2 * tn + wrong)


def g_of_the_other(cells: np.ndarray) -> np.ndarray:
    """Return the geometric mean of precision and recall of the class with index 0."""
    tn, fp, fn = cells[..., 0, 0], cells[..., 0, 1], cells[..., 1, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return tn / np.sqrt((tn + fp) * (tn + fn))


MEASURES: dict[str, Callable] = {
    "accuracy": accuracy,
    "g": g_of_the_other,
    "f1": f1_of_the_other,
}
# What the column avg(I(v)) holds, under the paper's heading.
AVERAGED = MEASURES | {"g": mcc}


def predictive_draws(cells: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """
    Draw matrices of the next test set, at concentration 0, as the paper's Algorithm 1 does.

    A cell without counts has probability 0 then: the distribution of an improper posterior, taken
    silently. Everywhere else in this package that is an error.
    """
    gammas = rng.standard_gamma(cells.ravel().astype(float), (size, cells.size))
    theta = gammas / gammas.sum(1, keepdims=True)
    return rng.multinomial(cells.sum(), theta).reshape(size, *cells.shape)


def bootstrap_draws(cells: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw matrices by resampling the examples, Algorithm 2."""
    share = cells.ravel() / cells.sum()
    return rng.multinomial(cells.sum(), share, size).reshape(size, *cells.shape)


def figure_3(size: int = 100_000, seed: int = 0, scales: Any = SCALES) -> pd.DataFrame:
    """
    Return the spread of the MCC of model A times a factor, by either method.

    Returns
    -------
    DataFrame
        ``scale``, ``predictive_iqr``, ``bootstrap_iqr``, ``ratio`` (of the deviations) and
        ``mean_difference``.

    Examples
    --------
    >>> round(float(figure_3(20_000, scales=[100]).ratio[0]), 1)
    1.4
    """
    rng, rows = np.random.default_rng(seed), []
    for scale in scales:
        drawn = [mcc(draw(scale * MODEL_A, size, rng)) for draw in DRAWS.values()]
        low, high = np.nanquantile(drawn, [0.25, 0.75], axis=1)
        deviations, means = np.nanstd(drawn, axis=1), np.nanmean(drawn, axis=1)
        rows.append(
            {
                "scale": scale,
                "predictive_iqr": high[0] - low[0],
                "bootstrap_iqr": high[1] - low[1],
                "ratio": deviations[0] / deviations[1],
                "mean_difference": means[1] - means[0],
            }
        )
    return pd.DataFrame(rows)


DRAWS = {"predictive": predictive_draws, "bootstrap": bootstrap_draws}


@dataclass(frozen=True)
class Forests:
    """Two test sets of a random forest, all three parts of a size (Algorithm 3, lines 4 to 9)."""

    number: int
    folder: str

    def __call__(self, rng: np.random.Generator) -> tuple[xr.DataArray, Mapping[str, float]]:
        """Return the matrices of both test sets, and the measures of the second one."""
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.model_selection import StratifiedKFold

        features, classes = read_set(self.number, self.folder)
        seed = int(rng.integers(2**31))
        folds = StratifiedKFold(3, shuffle=True, random_state=seed).split(features, classes)
        train, first, second = (test for _, test in folds)
        forest = RandomForestClassifier(_TREES, max_features="sqrt", random_state=seed)
        forest.fit(features[train], classes[train])
        both = np.concatenate([first, second])
        outcome = 2 * classes[both] + forest.predict(features[both])
        parts = outcome[: len(first)], outcome[len(first) :]
        tables = [np.bincount(part, minlength=4).reshape(2, 2) for part in parts]
        truth = {name: float(m(tables[1])) for name, m in MEASURES.items()}
        dims = ("test", "actual", "predicted")
        return xr.DataArray(np.stack(tables), dims=dims, coords={"seed": seed}), truth


@dataclass(frozen=True)
class Interval:
    """The shortest interval of 1,000 draws, of every measure."""

    name: str
    prob: float = 0.9

    def __call__(self, evidence: xr.DataArray) -> Mapping[str, Any]:
        """Return the ends, made from the first test set."""
        rng = np.random.default_rng(int(evidence["seed"]))
        drawn = DRAWS[self.name](evidence.values[0], 1000, rng)
        return {name: _shortest(kernel(drawn), self.prob) for name, kernel in MEASURES.items()}


def _shortest(values, prob):
    values = np.sort(values[~np.isnan(values)])
    inside = int(np.floor(prob * len(values)))
    start = np.argmin(values[inside:] - values[: len(values) - inside])
    return values[start], values[start + inside]


def study(case: int, *, data: str | None) -> Study:
    """Return Algorithm 3 on one data set, 1 to 16."""
    if case not in SETS:
        raise fail("no such data set", case, "1 to 16", "pass case=1")
    if data is None:
        todo = "pass data= (on the command line --data) with the folder of the UCI files"
        raise fail("the study needs data files", data, "a folder", todo)
    return Study(f"caelen set {case}", Forests(case, str(data)), METHODS)


def average(evidence: xr.DataArray) -> Mapping[str, Any]:
    """Return the measures of the first test set, each as both ends of an interval."""
    return {name: [float(m(evidence.values[0]))] * 2 for name, m in AVERAGED.items()}


METHODS: dict[str, Any] = {
    f"predictive {delta}": Interval("predictive", delta) for delta in (0.9, 0.95, 0.99)
}
METHODS |= {"bootstrap 0.9": Interval("bootstrap", 0.9), "average": average}


def table(name: str, case: int | None, settings: Settings) -> pd.DataFrame:
    """
    Return one table, beside the published figures.

    In "tables 2 and 3" the rows of the method "average" have no interval: their ``center`` is the
    average over the first test sets, beside ``published_center``.
    """
    check_choice("table", name, list(TABLES))
    if name == "figure 3":
        return figure_3(seed=settings.seed).assign(table=name)
    if name == "figure 4":
        return figure_4(case, settings).assign(table=name)
    chosen = SETS if case is None else [case]
    studies = {each: study(each, data=settings.data) for each in chosen}
    frame = run_cases(0, studies, settings).drop(columns="table")
    parts = frame["method"].str.partition(" ")
    frame["method"], delta = parts[0], pd.to_numeric(parts[2])
    frame.insert(frame.columns.get_loc("method") + 1, "delta", delta)
    frame.loc[frame["method"] == "average", ["doc", "doc_se", "il", "il_se"]] = np.nan
    on = ["case", "measure", "method", "delta"]
    return beside(frame, published("caelen"), on).assign(table=name)


def reason(row: pd.Series) -> str:
    """Return what is known of why a figure of Tables 2 and 3 differs from the published one."""
    if row["figure"] == "doc" and row["measure"] == "accuracy" and row["case"] in (1, 8):
        return (
            "accuracy has few values in a set of this size, and often exactly that of an end; were "
            "the lower end not counted, ours would cover about as little"
        )
    if row["figure"] != "doc":
        return (
            "another forest: scikit-learn's of 100 trees, which average probabilities and split "
            "coded classes, beside R's of 500, which vote; lengths go with the averages"
        )
    return "not known"


def figure_4(case: int | None, settings: Settings) -> pd.DataFrame:
    """
    Return how often F1 takes each value in second test sets, and in the draws made from the first.

    Returns
    -------
    DataFrame
        ``case``, ``f1`` (the middle of a bin 1/200 wide; 1 is a bin of its own), ``second`` and
        ``drawn`` (shares, each adding up to 1), ``replications``.
    """
    rows = []
    for number in (6, 13) if case is None else [case]:
        forests = Forests(number, str(settings.data))
        second, drawn = [], []
        for index in range(settings.replications):
            tables, truth = forests(generator(settings.seed, index))
            rng = np.random.default_rng(int(tables["seed"]))
            second.append(truth["f1"])
            drawn.append(f1_of_the_other(predictive_draws(tables.values[0], 1000, rng)))
        shares = [_shares(np.ravel(values)) for values in (second, drawn)]
        rows += [
            {"case": number, "f1": x, "second": a, "drawn": b}
            for x, a, b in zip(_MIDDLES, *shares, strict=True)
            if a or b
        ]
    return pd.DataFrame(rows).assign(replications=settings.replications, seed=settings.seed)


_BINS = 200
_MIDDLES = [*(np.arange(_BINS) + 0.5) / _BINS, 1.0]


def _shares(values):
    values = values[~np.isnan(values)]
    return np.bincount((values * _BINS).astype(int), minlength=_BINS + 1) / len(values)
