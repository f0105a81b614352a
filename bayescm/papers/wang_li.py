"""
Experiments of Wang and Li (2016): precision and recall from ten-fold cross-validation.

The published figures are reproduced with exactly balanced classes, stratified folds, equal-tailed
intervals with one prior count per cell, and the mean over training sets as the true value.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.interval import interval
from bayescm.classical import fold_t
from bayescm.measures.catalogue import resolve
from bayescm.measures.over_folds import fold_macro, fold_micro
from bayescm.papers import beside, published, run_experiment
from bayescm.papers.learners import (
    CrossValidation,
    Gaussians,
    Rows,
    cross_validate,
    expected_measures,
)
from bayescm.posteriors import averaged_folds
from bayescm.simulation import Experiment, Method, generator, ranks
from bayescm.validate import check_choice

TABLES = ("3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "remark-4")
MEASURES = ("precision", "recall")

# Cases. Tables 4 to 6 use simulated data, and Tables 7 to 10 use real data.

# Tables 4 to 6: learner, numbers of examples and features, shift and scale of the second class.
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
# Tables 7 to 10: data set and number of examples, with one case per learner.
REAL = {7: ("letter", 200), 8: ("letter", 1000), 9: ("magic", 200), 10: ("magic", 1000)}
LEARNERS = ("tree", "perceptron", "svm")
CASES = {table: [case for number, case in SIMULATED if number == table] for table in (4, 5, 6)}
CASES |= {table: [1, 2, 3] for table in REAL}
# Table 12: its three columns are cases of Tables 7 and 9. Discounts range from 1/K to 1.
DISCOUNTED = {1: (7, 1), 2: (7, 3), 3: (9, 1)}
OMEGAS = tuple(round(0.1 + 0.05 * step, 2) for step in range(19))
# Table 3: shift and scale of the second class.
POINTS = {1: (1, 2), 2: (1, 0.1), 3: (0.2, 3)}
# Remark 4: number of features and kernel width. With five features, as published, the case is not
# degenerate.
PERFECT = {1: (5, 0.5), 2: (100, None)}


def design(table: int, case: int, data: str | None = None) -> CrossValidation:
    """
    Return the cross-validation in a case of Tables 4 to 10.

    Parameters
    ----------
    table : int
        Table 4, 5, 6 (simulated: perceptron, tree, support vector machine), 7, 8 (letters, n = 200
        and 1000), 9 or 10 (gamma telescope).
    case : int
        Column of the table, from 1, for simulated data. For real data, 1 is the tree, 2 the
        perceptron and 3 the support vector machine.
    data : str, optional
        Folder of the data files, for Tables 7 to 10.

    Returns
    -------
    CrossValidation
    """
    if table in REAL:
        name, size = REAL[table]
        return CrossValidation(Rows(name, data), LEARNERS[case - 1], size)
    learner, size, features, shift, scale = SIMULATED[table, case]
    # The published lengths identify the kernel: Gaussian of this width with five features, almost
    # linear with 200 and 300. In the latter cases, the standard normal class is the positive one.
    gamma = 0.5 if learner == "svm" else None
    population = Gaussians(features, shift, scale, swapped=learner == "linear svm")
    return CrossValidation(population, learner, size, gamma=gamma)


# Intervals.


def pooled(counts: xr.DataArray, *, omega: float | None = None) -> Mapping[str, Any]:
    """Return the intervals of the discounted pooled folds (equations 3.3 and 3.4)."""
    return _intervals(counts, model="pooled_folds", concentration=1.0, omega=omega)


def averaged(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the intervals of the averaged folds (equations 3.8 and 3.9)."""
    return _intervals(counts, model="averaged_folds", concentration=1.0)


def student(counts: xr.DataArray, *, method: str) -> Mapping[str, Any]:
    """Return the t intervals (equations 3.10 to 3.13), with 0 for folds with 0/0."""
    return {name: fold_t(counts, name, method=method, undefined="zero").values for name in MEASURES}


def hierarchical(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the intervals of the partially pooled folds, with the default prior of this model."""
    return _intervals(counts, model="hierarchical_folds")


def _intervals(counts, **keywords):
    return {name: interval(counts, name, kind="eti", **keywords).values for name in MEASURES}


METHODS: dict[str, Method] = {
    "pooled": pooled,
    "averaged": averaged,
    "t": partial(student, method="plain"),
    "corrected t": partial(student, method="corrected"),
    "hierarchical": hierarchical,
}


def macro_average(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the means of a measure over folds, as intervals of length 0 (Table 3)."""
    return {name: [fold_macro(counts, name, undefined="zero").item()] * 2 for name in MEASURES}


def micro_average(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the measures of the summed folds, as intervals of length 0 (Table 3)."""
    return {name: [fold_micro(counts, name).item()] * 2 for name in MEASURES}


# Tables.


def experiment(name: str, data: str | None = None) -> Experiment:
    """
    Return the experiment of a table, for separate runs.

    Parameters
    ----------
    name : str
        Table "3" to "10", "12" or "remark-4". See `table`.
    data : str, optional
        Folder of the data files, for Tables 7 to 10 and 12.

    Returns
    -------
    Experiment

    Examples
    --------
    >>> experiment("5").cases[1][0].learner
    'tree'
    """
    check_choice("table of cases", name, [number for number in TABLES if number != "11"])
    methods: dict[str, Method] = METHODS
    if name == "3":
        settings = {
            case: CrossValidation(Gaussians(5, *moments), "tree", 200)
            for case, moments in POINTS.items()
        }
        methods = {"macro": macro_average, "micro": micro_average}
    elif name == "12":
        settings = {case: design(*column, data) for case, column in DISCOUNTED.items()}
        methods = {f"omega={omega:g}": partial(pooled, omega=omega) for omega in OMEGAS}
    elif name == "remark-4":
        settings = {
            case: CrossValidation(Gaussians(features, 1, 0.1), "svm", 1000, gamma=gamma)
            for case, (features, gamma) in PERFECT.items()
        }
    else:
        settings = {case: design(int(name), case, data) for case in CASES[int(name)]}
    cases = {case: (setting,) for case, setting in settings.items()}
    return Experiment("wang-li", cases, cross_validate, methods, expected_measures, table=name)


def table(
    name: str, case: int | None = None, *, data: str | None = None, **options: Any
) -> pd.DataFrame:
    """
    Return one of the paper's tables, with the published figures.

    Parameters
    ----------
    name : str
        Table "3" (point estimates, whose mean is the column ``center``), "4" to "10" (degrees of
        confidence and lengths), "11" (average ranks over all 27 cases), "12" (changing omega;
        ``best`` marks the shortest interval that still covers 95%), or "remark-4" (a classifier
        without errors).
    case : int, optional
        Number of the case in the table. By default all cases.
    data : str, optional
        Folder of the data files.
    **options
        ``replications``, ``seed``, ``jobs``, ``journal`` and ``progress`` of
        `bayescm.simulation.Experiment.run`.

    Returns
    -------
    pandas.DataFrame
    """
    check_choice("table", name, list(TABLES))
    if name == "11":
        return _average_ranks(data, **options)
    ours = run_experiment(experiment(name, data), case, **options)
    if name == "remark-4":
        return ours
    if name == "12":
        ours["best"] = _shortest_that_cover(ours)
    ours.insert(0, "table", int(name))
    return beside(ours, published("wang_li"), ["table", "case", "measure", "method"])


def _shortest_that_cover(frame, level=0.95):
    enough = frame[frame["doc"] >= level]
    best = enough.loc[enough.groupby(["case", "measure"])["il"].idxmin()].index
    return frame.index.isin(best)


def _average_ranks(data, **options):
    """Return average ranks over the 27 cases, reusing replications from the journals."""
    tables = [
        run_experiment(experiment(str(number), data), **options).assign(table=number)
        for number in CASES
    ]
    frame = pd.concat(tables, ignore_index=True)
    frame["column"] = 100 * frame["table"] + frame["case"]
    four = frame[frame["method"] != "hierarchical"]
    ours = ranks(four, by="column").assign(table=11, case=1)
    return beside(ours, published("wang_li"), ["table", "case", "measure", "method"])


# Simulated experiment 1: accuracy of beta approximations to the average posterior.


def densities(learner: str = "tree", *, seed: int = 0, points: int = 201) -> pd.DataFrame:
    """
    Return posterior densities of the averaged precision and recall.

    Parameters
    ----------
    learner : {"tree", "svm"}
    seed : int
        Seed of the sample of 200 examples with five features.
    points : int
        Number of points of each curve.

    Returns
    -------
    pandas.DataFrame
        Columns ``measure``, ``curve``, ``x`` and ``density``. The curves are ``beta, rho = 0`` and
        ``beta, rho = 1/K`` (proposition 2), and ``independent``, the exact distribution of the mean
        of independent folds.

    Examples
    --------
    >>> densities(points=50)["curve"].unique().tolist()
    ['beta, rho = 0', 'beta, rho = 1/K', 'independent']
    """
    gamma = 0.5 if learner == "svm" else None
    sample = CrossValidation(Gaussians(5, 0.2, 1), learner, 200, gamma=gamma)
    cells = cross_validate(generator(seed, 0), sample)[0].values
    posteriors = {
        "beta, rho = 0": averaged_folds(cells, concentration=1.0, rho=0.0),
        "beta, rho = 1/K": averaged_folds(cells, concentration=1.0),
        "independent": averaged_folds(cells, concentration=1.0, average="independent"),
    }
    curves = []
    for measure in MEASURES:
        widest = posteriors["beta, rho = 1/K"].distribution(resolve(measure))
        x = np.linspace(widest.quantile(1e-4), widest.quantile(1 - 1e-4), points)
        for curve, posterior in posteriors.items():
            density = posterior.distribution(resolve(measure)).pdf(x)
            columns = {"measure": measure, "curve": curve, "x": x, "density": density}
            curves.append(pd.DataFrame(columns))
    return pd.concat(curves, ignore_index=True)
