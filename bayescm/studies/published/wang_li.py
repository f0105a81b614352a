"""
The experiments of Wang and Li (2016): precision and recall from ten-fold cross-validation.

Read as they must be to come out as printed: classes exactly balanced, folds stratified, intervals
equal-tailed with one prior count a cell, the true value the mean over training sets.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import xarray as xr

from bayescm.answers.interval import interval
from bayescm.classical import fold_t
from bayescm.measures.over_folds import fold_macro, fold_micro
from bayescm.simulation.coverage import Method, Study, ranks
from bayescm.studies.cross_validated import CrossValidated
from bayescm.studies.populations import Gaussians, Rows, find_data
from bayescm.studies.tables import Settings, beside, published, run_cases
from bayescm.validate import check_choice, fail

MEASURES = ("precision", "recall")
# Tables 4 to 6: learner, then number of examples, of features, shift and scale of the second class.
SIMULATED = {
    (4, 1): ("perceptron", 200, 5, 0.2, 1),
    (4, 2): ("perceptron", 1000, 100, 0.2, 1),
    (4, 3): ("perceptron", 200, 300, 0.2, 1),
    (5, 1): ("tree", 200, 5, 0.2, 1),
    (5, 2): ("tree", 1000, 100, 0.2, 1),
    (5, 3): ("tree", 200, 300, 0.2, 1),
    (5, 4): ("tree", 200, 5, 1, 2),
    (5, 5): ("tree", 1000, 100, 1, 2),
    (5, 6): ("tree", 200, 300, 1, 2),
    (6, 1): ("svm", 200, 5, 0.2, 1),
    (6, 2): ("linear svm", 1000, 200, 0.2, 1),
    (6, 3): ("linear svm", 200, 300, 0.2, 1),
    (6, 4): ("svm", 200, 5, 1, 2),
    (6, 5): ("linear svm", 1000, 200, 0.2, 3),
    (6, 6): ("linear svm", 200, 300, 0.2, 3),
}
# Tables 7 to 10: data set and number of examples; one case for each learner.
REAL = {7: ("letter", 200), 8: ("letter", 1000), 9: ("magic", 200), 10: ("magic", 1000)}
LEARNERS = ("tree", "perceptron", "svm")


def pooled(counts: xr.DataArray, *, omega: float | None = None) -> Mapping[str, Any]:
    """Return the intervals of the discounted pooled folds (equations 3.3 and 3.4)."""
    return _intervals(counts, model="pooled_folds", omega=omega)


def averaged(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the intervals of the averaged folds (equations 3.8 and 3.9)."""
    return _intervals(counts, model="averaged_folds")


def student(counts: xr.DataArray, *, method: str) -> Mapping[str, Any]:
    """Return the t intervals (equations 3.10 to 3.13); a fold with 0/0 counts as 0."""
    return {name: fold_t(counts, name, method=method, undefined="zero").values for name in MEASURES}


def hierarchical(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the intervals of the partially pooled folds, with their own default prior."""
    return {
        name: interval(counts, name, kind="eti", model="hierarchical_folds").values
        for name in MEASURES
    }


def _intervals(counts, **keywords):
    return {
        name: interval(counts, name, kind="eti", concentration=1.0, **keywords).values
        for name in MEASURES
    }


METHODS: dict[str, Method] = {
    "pooled": pooled,
    "averaged": averaged,
    "t": partial(student, method="plain"),
    "corrected t": partial(student, method="corrected"),
    "hierarchical": hierarchical,
}


@dataclass(frozen=True)
class PointEstimates:
    """Macro or micro averages of a cross-validation, as intervals of length 0 (Table 3)."""

    estimate: str

    def __call__(self, counts: xr.DataArray) -> Mapping[str, Any]:
        """Return the estimate of every measure, twice."""
        average = partial(fold_macro, undefined="zero") if self.estimate == "macro" else fold_micro
        return {name: [average(counts, name).item()] * 2 for name in MEASURES}


def drawn(table: int, case: int, data: str | None = None) -> CrossValidated:
    """Return what is drawn in a case of Tables 4 to 10."""
    if (table, case) in SIMULATED:
        learner, size, features, shift, scale = SIMULATED[table, case]
        # The lengths in the paper tell the kernel: Gaussian of this width with five features, as
        # good as linear with 200 and 300, and there the standard normal class is the positive one.
        gamma = 0.5 if learner == "svm" else None
        population = Gaussians(features, shift, scale, swapped=learner == "linear svm")
        return CrossValidated(population, learner, size, gamma=gamma)
    name, size = REAL[table]
    return CrossValidated(Rows(name, find_data(name, data)), LEARNERS[case - 1], size)


def study(
    table: int,
    case: int,
    *,
    data: str | None = None,
    methods: Mapping[str, Any] | None = None,
) -> Study:
    """
    Return one case of Tables 4 to 10, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    table : int
        4, 5, 6 (simulated: perceptron, tree, support vector machine), 7, 8 (letters, n = 200 and
        1000), 9, 10 (gamma telescope).
    case : int
        The column of the table, from 1, in the tables of simulated data; in those of real data 1
        is the tree, 2 the perceptron, 3 the support vector machine.
    data : str, optional
        Folder of the data files, for Tables 7 to 10.
    methods : mapping, optional
        Other interval methods than `METHODS`: functions from counts to
        ``{"precision": (lower, upper), "recall": (lower, upper)}``.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(5, 1).name
    'wang-li table 5 case 1'
    """
    if table not in CASES:
        raise fail("no such table of cases", table, "4 to 10", "pass table=5")
    if case not in CASES[table]:
        allowed = f"1 to {len(CASES[table])}"
        raise fail(f"table {table} has no such case", case, allowed, "pass case=1")
    source = drawn(table, case, data)
    name = f"wang-li table {table} case {case}"
    return Study(name, source.generate, METHODS if methods is None else methods, source.truth)


CASES = {table: sorted(case for t, case in SIMULATED if t == table) for table in (4, 5, 6)}
CASES |= {table: [1, 2, 3] for table in REAL}

# Table 12: its three columns are cases of Tables 7 and 9; the discounts from 1/K to 1.
DISCOUNTED = {1: (7, 1), 2: (7, 3), 3: (9, 1)}
OMEGAS = tuple(round(0.1 + 0.05 * step, 2) for step in range(19))
# Table 3: shift and scale of the second class.
POINTS = {1: (1, 2), 2: (1, 0.1), 3: (0.2, 3)}
# Remark 4: number of features and width of the kernel; with the five printed it is not degenerate.
PERFECT = {1: (5, 0.5), 2: (100, None)}

TABLES = ("3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "remark-4")


def table(name: str, case: int | None = None, settings: Settings | None = None) -> pd.DataFrame:
    """
    Return one of the paper's tables, ours beside the published one.

    Parameters
    ----------
    name : str
        "3" (point estimates: their mean is the column ``center``), "4" to "10" (degrees of
        confidence and lengths), "11" (average ranks over all 27 cases), "12" (changing omega;
        ``best`` marks the shortest interval that still covers 95%), or "remark-4" (a classifier
        that is never wrong).
    case : int, optional
        One case only.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    if name == "11":
        return _ranks(settings)
    number = 4 if name == "remark-4" else int(name)
    special: dict[str, tuple[Callable, Iterable[int]]] = {
        "3": (_point_study, POINTS),
        "12": (_omega_study, DISCOUNTED),
        "remark-4": (perfect_study, PERFECT),
    }
    build, known = special.get(name) or (partial(study, number), CASES[number])
    chosen = known if case is None else [case]
    studies = {each: build(each, data=settings.data) for each in chosen}
    ours = run_cases(number, studies, settings)
    if name == "12":
        ours["best"] = _shortest_that_cover(ours)
    if name == "remark-4":
        return ours.drop(columns="table")
    return beside(ours, published("wang_li"), ["table", "case", "measure", "method"])


def _point_study(case, data=None):
    shift, scale = _pick(POINTS, case)
    source = CrossValidated(Gaussians(5, shift, scale), "tree", 200)
    methods: dict[str, Method] = {name: PointEstimates(name) for name in ("macro", "micro")}
    return Study(f"wang-li table 3 case {case}", source.generate, methods, source.truth)


def _omega_study(case, data=None):
    source = study(*_pick(DISCOUNTED, case), data=data)
    methods = {f"omega={omega:g}": partial(pooled, omega=omega) for omega in OMEGAS}
    return replace(source, name=f"wang-li table 12 case {case}", methods=methods)


def perfect_study(case, data=None):
    """Return the study of a case that is perfectly separable as printed."""
    features, gamma = _pick(PERFECT, case)
    source = CrossValidated(Gaussians(features, 1, 0.1), "svm", 1000, gamma=gamma)
    return Study(f"wang-li remark 4 case {case}", source.generate, METHODS, source.truth)


def _pick(cases, case):
    if case not in cases:
        raise fail("no such case", case, f"1 to {len(cases)}", "pass case=1")
    return cases[case]


def _shortest_that_cover(frame, level=0.95):
    enough = frame[frame["doc"] >= level]
    best = enough.loc[enough.groupby(["case", "measure"])["il"].idxmin()].index
    return frame.index.isin(best)


def _ranks(settings):
    """Return average ranks over the 27 cases; what the journals have is not drawn again."""
    tables = [
        settings.run(study(number, case, data=settings.data))
        for number, cases in CASES.items()
        for case in cases
    ]
    frame = pd.concat(tables, ignore_index=True)
    four = frame[frame["method"] != "hierarchical"]
    ours = ranks(four).assign(table=11, case=1)
    return beside(ours, published("wang_li"), ["table", "case", "measure", "method"])
