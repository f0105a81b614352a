"""
Coverage of cross-validated classifiers of three, five and ten classes, of which one is rare.

Normal classes around centres that are drawn once for each case; ten stratified folds. What is true
is the mean of a measure over training sets of nine tenths of the sample, with its class totals.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from sklearn import neighbors, tree
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from bayescm.answers.interval import interval
from bayescm.evidence.cross_validation import cross_confusion
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import case_of, table_of

TABLES = ("coverage",)
MEASURES = ("accuracy", "f1_macro", "mcc")
FOLDS = 10
_TRAININGS, _FRESH, _APART = 300, 5000, 1.2
LEARNERS: dict[str, Callable[[], Any]] = {
    "linear discriminant": LinearDiscriminantAnalysis,
    "naive Bayes": GaussianNB,
    "tree of depth 5": partial(tree.DecisionTreeClassifier, max_depth=5, random_state=0),
    "5 neighbours": neighbors.KNeighborsClassifier,
}


class Setting(NamedTuple):
    """The learner, how many classes and examples there are, and the share of the rare class."""

    learner: str
    classes: int
    n: int
    rare: float


CASES: dict[int, Setting] = {
    1: Setting("linear discriminant", 3, 150, 0.08),
    2: Setting("tree of depth 5", 3, 150, 0.08),
    3: Setting("naive Bayes", 5, 250, 0.05),
    4: Setting("5 neighbours", 5, 250, 0.05),
    5: Setting("linear discriminant", 10, 400, 0.03),
    6: Setting("naive Bayes", 10, 400, 0.03),
    7: Setting("tree of depth 5", 10, 400, 0.03),
    8: Setting("5 neighbours", 10, 400, 0.03),
}


def _sample(rng, setting, size):
    """Return features and classes; the totals are those of the shares, the first class is rare."""
    totals = np.full(setting.classes, (1 - setting.rare) * size / (setting.classes - 1)).astype(int)
    totals[0] = round(setting.rare * size)
    actual = np.repeat(np.arange(setting.classes), totals)
    features = max(3, round(0.6 * setting.classes) + 1)
    centres = np.random.default_rng(setting.classes).standard_normal((setting.classes, features))
    return _APART * centres[actual] + rng.standard_normal((len(actual), features)), actual


def generate(rng: np.random.Generator, case: int) -> tuple[xr.DataArray, None]:
    """Return the counts of one cross-validation."""
    setting = case_of(CASES, case)
    features, actual = _sample(rng, setting, setting.n)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    return cross_confusion(LEARNERS[setting.learner](), features, actual, cv=splitter), None


def truth(rng: np.random.Generator, case: int) -> Mapping[str, tuple[float, float]]:
    """Return the mean of each measure over training sets, and its standard error."""
    setting = case_of(CASES, case)
    found = []
    for _ in range(_TRAININGS):
        learned = LEARNERS[setting.learner]()
        learned.fit(*_sample(rng, setting, round(setting.n * (1 - 1 / FOLDS))))
        features, actual = _sample(rng, setting, _FRESH)
        index = setting.classes * actual + learned.predict(features)
        cells = np.bincount(index, minlength=setting.classes**2).reshape(2 * [setting.classes])
        found.append([float(resolve(name)(cells)) for name in MEASURES])
    values = np.array(found)
    error = values.std(axis=0, ddof=1) / np.sqrt(_TRAININGS)
    return {name: (values[:, k].mean(), error[k]) for k, name in enumerate(MEASURES)}


def answer(counts: xr.DataArray, model: str) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals by a model of folds."""
    found = interval(counts, list(MEASURES), kind="eti", model=model)
    return {name: found.sel(measure=name).values for name in MEASURES}


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 and 2: three classes; 3 and 4: five; 5 to 8: ten.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(5).name
    'many classes 5'
    """
    case_of(CASES, case)
    models = ("hierarchical_folds", "pooled_folds")
    methods: dict[str, Any] = {name: partial(answer, model=name) for name in models}
    name, drawn = f"many classes {case}", partial(generate, case=case)
    return Study(name, drawn, methods, partial(truth, case=case))


table = table_of(study, CASES, columns=Setting._fields)
