"""
Coverage where the training sets are not all the rest: chosen shares, learning curves, time series.

Five normal features that are moved for the positives, 40 % of 200 examples. What is true is the
mean of a measure over training sets of the design's size; over those of every fold where they grow.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from sklearn import tree
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit, TimeSeriesSplit

from bayescm.answers.interval import interval
from bayescm.classical import fold_t
from bayescm.evidence.cross_validation import cross_confusion
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import case_of, table_of

TABLES = ("coverage",)
MEASURES = ("accuracy", "recall", "f1")
_SIZE, _SHARE, _SHIFT, _FEATURES = 200, 0.4, 0.5, 5
_TRAININGS, _FRESH = 400, 4000
LEARNERS: dict[str, Callable[[], Any]] = {
    "linear discriminant": LinearDiscriminantAnalysis,
    "tree of depth 3": partial(tree.DecisionTreeClassifier, max_depth=3, random_state=0),
}


class Setting(NamedTuple):
    """The learner, how many splits there are, and what share of the sample trains and tests."""

    learner: str
    splits: int
    train: float
    test: float


# Without shares the training sets grow, as those of a time series do.
CASES: dict[int, Setting] = {
    1: Setting("linear discriminant", 15, 0.3, 0.2),
    2: Setting("linear discriminant", 15, 0.8, 0.2),
    3: Setting("tree of depth 3", 15, 0.5, 0.2),
    4: Setting("linear discriminant", 10, 0.1, 0.5),
    5: Setting("linear discriminant", 5, np.nan, np.nan),
}


def _sample(rng, size):
    actual = rng.random(size) < _SHARE
    return rng.standard_normal((size, _FEATURES)) + _SHIFT * actual[:, None], actual


def generate(rng: np.random.Generator, case: int) -> tuple[xr.DataArray, None]:
    """Return the counts of one cross-validation."""
    setting = case_of(CASES, case)
    features, actual = _sample(rng, _SIZE)
    splitter: Any = TimeSeriesSplit(setting.splits)
    if setting.train == setting.train:
        seed, shares = int(rng.integers(2**31)), {"train_size": setting.train}
        shares["test_size"] = setting.test
        splitter = StratifiedShuffleSplit(setting.splits, random_state=seed, **shares)
    return cross_confusion(LEARNERS[setting.learner](), features, actual, cv=splitter), None


def truth(rng: np.random.Generator, case: int) -> Mapping[str, tuple[float, float]]:
    """Return the mean of each measure over training sets, and its standard error."""
    setting = case_of(CASES, case)
    sizes = [round(setting.train * _SIZE)] if setting.train == setting.train else None
    sizes = sizes or [len(each) for each, _ in TimeSeriesSplit(setting.splits).split(range(_SIZE))]
    found = []
    for place in range(_TRAININGS):
        features, actual = _sample(rng, sizes[place % len(sizes)])
        learned = LEARNERS[setting.learner]().fit(features, actual)
        features, actual = _sample(rng, _FRESH)
        cells = np.bincount(2 * actual + learned.predict(features), minlength=4).reshape(2, 2)
        found.append([float(resolve(name)(cells)) for name in MEASURES])
    values = np.array(found)
    error = values.std(axis=0, ddof=1) / np.sqrt(_TRAININGS)
    return {name: (values[:, k].mean(), error[k]) for k, name in enumerate(MEASURES)}


def answer(counts: xr.DataArray, model: str) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals by a model of folds."""
    found = interval(counts, list(MEASURES), kind="eti", model=model)
    return {name: found.sel(measure=name).values for name in MEASURES}


def corrected(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the corrected t intervals of Nadeau and Bengio."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds without a positive answer
        return {
            name: fold_t(counts, name, method="resampled", undefined="zero").values
            for name in MEASURES
        }


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 3: shares of the sample for training; 4: the small end of a learning curve; 5: a time
        series, whose training sets grow.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(1).name
    'training sizes 1'
    """
    case_of(CASES, case)
    models = ("hierarchical_folds", "pooled_folds")
    methods: dict[str, Any] = {name: partial(answer, model=name) for name in models}
    methods["corrected t"] = corrected
    name, drawn = f"training sizes {case}", partial(generate, case=case)
    return Study(name, drawn, methods, partial(truth, case=case))


table = table_of(study, CASES, columns=Setting._fields)
