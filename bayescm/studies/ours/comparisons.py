"""
What comparisons promise, simulated: pairs, statements that hold jointly, classes that share.

Table "paired" draws two classifiers whose errors are correlated, on the same examples, and compares
the interval of the difference that knows of the pairs with the one that does not. "accuracy"
enumerates the intervals of a difference of accuracies. "jointly" counts how often *all* intervals
of several classifiers and measures hold. "rows" has many classes with few examples each, and asks
for macro averages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import __version__
from bayescm.answers.compare import compare
from bayescm.answers.interval import interval
from bayescm.answers.joint import joint_interval
from bayescm.direct import hierarchical_rows
from bayescm.evidence.joint_cells import pour
from bayescm.evidence.outcomes import counts_of
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Method, Study
from bayescm.studies.ours.paired_accuracy import SIZES, enumerated
from bayescm.studies.ours.priors import MEASURES as AVERAGES
from bayescm.studies.ours.priors import Classifier, equal_tails
from bayescm.studies.published.yuan_jiang import Population
from bayescm.studies.tables import Settings, case_of, run_cases
from bayescm.validate import check_choice

TABLES = ("paired", "accuracy", "jointly", "rows")
# Examples, share of positives, error rates of the two, correlation of their errors.
PAIRS = {
    1: (500, 0.4, (0.2, 0.2), 0.7),
    2: (500, 0.4, (0.2, 0.25), 0.7),
    3: (500, 0.5, (0.1, 0.12), 0.7),
    4: (100, 0.4, (0.2, 0.2), 0.7),
    5: (2000, 0.4, (0.2, 0.25), 0.7),
    6: (500, 0.1, (0.05, 0.05), 0.7),
    7: (500, 0.4, (0.2, 0.2), 0.0),
}
_FIVE = ("f1", "accuracy", "precision", "recall", "mcc")
# Examples, share of positives, error rates of each, share of errors that strike all, measures.
JOINT = {
    1: (100, 0.5, (0.2, 0.3), 0.5, 2),
    2: (100, 0.3, (0.2, 0.25, 0.3), 0.5, 3),
    3: (100, 0.5, (0.1, 0.2, 0.3, 0.4), 0.5, 5),
    4: (500, 0.3, (0.1, 0.15), 0.7, 4),
    5: (500, 0.3, (0.1, 0.15, 0.3), 0.5, 2),
    6: (500, 0.1, (0.05, 0.07, 0.1), 0.5, 4),
    7: (500, 0.4, (0.2, 0.22, 0.25, 0.3), 0.7, 5),
    8: (2000, 0.5, (0.1, 0.12), 0.5, 5),
    9: (2000, 0.1, (0.03, 0.05, 0.07), 0.7, 3),
    10: (2000, 0.3, (0.05, 0.1, 0.15, 0.2), 0.0, 2),
}
# Classes, examples, mean recall of a class.
ROWS = {
    place: case
    for place, case in enumerate(
        ((c, n, level) for c in (5, 10) for n in (50, 200) for level in (0.7, 0.93)), start=1
    )
}


def truth_table(positives: float, rates: Any, shared: float) -> Population:
    """
    Return the joint outcomes of classifiers whose errors partly strike together.

    Parameters
    ----------
    positives : float
        Share of the positive class.
    rates : sequence of float
        Error rate of each classifier.
    shared : float
        Share of a mixture in which an example that misleads one classifier misleads all that err at
        least as often; in the rest the errors are independent.
    """
    judges = len(rates)
    cells = np.indices((2,) * (1 + judges)).reshape(1 + judges, -1)
    wrong = cells[1:] != cells[0]
    rates = np.asarray(rates, float)[:, None]
    alone = np.where(wrong, rates, 1 - rates).prod(0)
    ends = np.unique([0.0, 1.0, *rates.ravel()])
    together = np.zeros(cells.shape[1])
    for low, high in pairwise(ends):
        together += (high - low) * (wrong == (rates >= high)).all(0)
    prior = np.where(cells[0] == 1, positives, 1 - positives)
    return Population(cells, prior * (shared * together + (1 - shared) * alone))


@dataclass(frozen=True)
class Pairs:
    """Two classifiers on the same examples, whose errors have a given correlation."""

    size: int
    positives: float
    rates: tuple[float, float]
    correlation: float

    def population(self) -> Population:
        """Return the joint outcomes of truth and both answers."""
        first, second = self.rates
        spread = np.sqrt(first * (1 - first) * second * (1 - second))
        both = first * second + self.correlation * spread
        chance = {(1, 1): both, (1, 0): first - both, (0, 1): second - both}
        chance[0, 0] = 1 - sum(chance.values())
        cells = np.indices((2, 2, 2)).reshape(3, -1)
        wrong = (cells[1:] != cells[0]).astype(int).T.tolist()
        shares = np.array([chance[one, two] for one, two in wrong])
        return Population(
            cells, shares * np.where(cells[0] == 1, self.positives, 1 - self.positives)
        )

    def __call__(self, rng: np.random.Generator) -> tuple[xr.Dataset, Mapping[str, float]]:
        """Draw outcomes, and return them with the true differences."""
        known = self.population()
        matrices = pour(known.shares, known.cells[0], known.cells[1:], 2)
        values = {name: resolve(name)(matrices) for name in ("f1", "mcc")}
        truth = {name: float(each[0] - each[1]) for name, each in values.items()}
        return known.outcomes(rng.multinomial(self.size, known.shares)), truth


def paired(outcomes: xr.Dataset) -> Mapping[str, Any]:
    """Return the intervals of the differences of classifiers on the same examples."""
    return _differences(compare(outcomes, ["f1", "mcc"], draws=10_000, random_seed=0))


def independent(outcomes: xr.Dataset) -> Mapping[str, Any]:
    """Return the intervals as if each classifier had had examples of its own."""
    matrices = counts_of(outcomes).values
    rng = np.random.default_rng(0)
    drawn = rng.standard_gamma(matrices + 0.5, (10_000, 2, 2, 2))
    drawn /= drawn.sum((-2, -1), keepdims=True)
    found = {}
    for name in ("f1", "mcc"):
        values = resolve(name)(drawn)
        found[name] = _shortest(values[:, 0] - values[:, 1])
    return found


def _differences(table):
    return {row.measure: (row.lower, row.upper) for row in table.itertuples()}


def _shortest(draws, prob=0.95):
    draws = np.sort(draws)
    inside = int(np.floor(prob * len(draws)))
    start = np.argmin(draws[inside:] - draws[: len(draws) - inside])
    return draws[start], draws[start + inside]


def jointly(case: int, settings: Settings) -> pd.DataFrame:
    """
    Return how often all intervals of several classifiers and measures hold together.

    Returns
    -------
    DataFrame
        Rows ``joint`` (`joint_interval`) and ``single`` (each 95% by itself): ``doc``, the share
        of test sets in which all hold, its standard error ``doc_se``, and the mean length ``il``.
    """
    size, positives, rates, shared, number = _case("jointly", case)
    known, measures = truth_table(positives, rates, shared), list(_FIVE[:number])
    matrices = pour(known.shares, known.cells[0], known.cells[1:], 2)
    truth = np.stack([resolve(name)(matrices) for name in measures])
    score = {"joint": np.zeros(2), "single": np.zeros(2)}
    for index in range(settings.replications):
        rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(case, index)))
        outcomes = known.outcomes(rng.multinomial(size, known.shares))
        found = {
            "joint": joint_interval(outcomes, measures, draws=4000, random_seed=index),
            "single": interval_of_each(outcomes, measures),
        }
        for how, each in found.items():
            ends = np.stack([each[name].transpose("classifier", "bound") for name in measures])
            held = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
            score[how] += held.all(), np.ptp(ends, axis=-1).mean()
    given = {"n": size, "positives": positives, "classifiers": len(rates), "measures": number}
    rows = [
        given | {"method": how, **_share(total, settings.replications)}
        for how, total in score.items()
    ]
    own = {"replications": settings.replications, "seed": settings.seed, "version": __version__}
    return pd.DataFrame(rows).assign(**own)


def interval_of_each(outcomes: xr.Dataset, measures: list[str]) -> xr.Dataset:
    """Return intervals with equal tails, each for itself."""
    return xr.Dataset({name: interval(outcomes, name, kind="eti") for name in measures})


def _share(total, size):
    smooth = (total[0] + 0.5) / (size + 1)
    error = np.sqrt(smooth * (1 - smooth) / (size + 2))
    return {"doc": total[0] / size, "doc_se": error, "il": total[1] / size}


def sharing(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the intervals of the model whose classes share strength."""
    kernels = [resolve(name) for name in AVERAGES]
    drawn = hierarchical_rows(counts.values).draw(kernels, 1000, np.random.default_rng(0))
    ends = [np.quantile(each, [0.025, 0.975]) for each in drawn]
    return dict(zip(AVERAGES, ends, strict=True))


ENUMERATED = {place: (size,) for place, size in enumerate(SIZES, start=1)}
CASES: dict[str, dict[int, tuple]] = {
    "paired": PAIRS,
    "accuracy": ENUMERATED,
    "jointly": JOINT,
    "rows": ROWS,
}
_COLUMNS = {
    "paired": ("n", "positives", "rates", "correlation"),
    "rows": ("classes", "n", "recall"),
}


def study(table: str, case: int) -> Study:
    """Return one case of the tables "paired" and "rows", ready to be run."""
    check_choice("table", table, list(_COLUMNS))
    given = _case(table, case)
    if table == "paired":
        methods: dict[str, Method] = {"paired": paired, "independent": independent}
        return Study(f"comparisons paired {case}", Pairs(*given), methods)
    source = Classifier(*given)
    methods = {"sharing": sharing, "2/C^2": partial(equal_tails, rule="2/C^2")}
    return Study(f"comparisons rows {case}", source.generate, methods)


def _case(table, case):
    return case_of(CASES[table], case)


def table(name: str, case: int | None, settings: Settings) -> pd.DataFrame:
    """Return one table."""
    check_choice("table", name, list(TABLES))
    chosen = CASES[name] if case is None else [case]
    if name == "jointly":
        frames = [jointly(each, settings).assign(case=each) for each in chosen]
        return pd.concat(frames, ignore_index=True).assign(table=name)
    if name == "accuracy":
        frames = [enumerated(*_case(name, each)).assign(case=each) for each in chosen]
        return pd.concat(frames, ignore_index=True).assign(version=__version__, table=name)
    studies = {each: study(name, each) for each in chosen}
    frame = run_cases(0, studies, settings).assign(table=name)
    for place, column in enumerate(_COLUMNS[name]):
        frame[column] = [CASES[name][each][place] for each in frame["case"]]
    return frame
