"""
Coverage of cross-validation with disjoint halves, for learners of many kinds.

Ten folds and eight halvings of a sample; the truth is the mean of the measure over training sets of
nine tenths of its size, among as many positives as the sample has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold

from bayescm.direct import hierarchical_folds, pooled_folds
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.learners.kinds import CASES, Learning
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
MEASURES = ("recall", "precision", "f1", "mcc")
FOLDS, HALVINGS = 10, 8
_MODELS, _TEST = 800, 2000


@dataclass(frozen=True)
class CrossValidation:
    """
    Samples of a case, cross-validated and halved.

    Attributes
    ----------
    case : Learning
    """

    case: Learning

    def generate(self, rng: np.random.Generator) -> tuple[dict[str, xr.DataArray], None]:
        """Return the counts of the folds and of the halves of a new sample."""
        with config_context(assume_finite=True, skip_parameter_validation=True):
            sample = self.case.sample(rng, self.case.size)
            folds = self._tables(sample, FOLDS, rng)
            halves = [self._tables(sample, 2, rng) for _ in range(HALVINGS)]
        counts = from_matrix(folds, dims=("fold",))
        return {"folds": counts, "halves": from_matrix(halves, dims=("repeat", "half"))}, None

    def _tables(self, sample, number, rng):
        """Return the confusion matrices of a division of a sample."""
        features, actual = sample
        divided = StratifiedKFold(number, shuffle=True, random_state=int(rng.integers(2**31)))
        parts = [
            [(features[each], actual[each]) for each in both]
            for both in divided.split(features, actual)
        ]
        return [self.case.table(rng, train, test) for train, test in parts]

    def truth(self, rng: np.random.Generator) -> Mapping[str, tuple[float, float]]:
        """Return the expected measures over training sets, and their standard errors."""
        size, positives = round(self.case.size * (1 - 1 / FOLDS)), self.case.share
        with config_context(assume_finite=True, skip_parameter_validation=True):
            tables = [
                self.case.table(rng, self.case.sample(rng, size), self.case.sample(rng, _TEST))
                for _ in range(_MODELS)
            ]
        found = np.array(tables, float)
        cells = found / found.sum(-1, keepdims=True) * np.array([[1 - positives], [positives]])
        values = {name: resolve(name)(cells) for name in MEASURES}
        return {
            name: (float(np.nanmean(each)), float(np.nanstd(each) / np.sqrt(_MODELS)))
            for name, each in values.items()
        }


def with_halves(evidence: Mapping[str, xr.DataArray]) -> Mapping[str, Any]:
    """Return the 95% equal-tailed intervals of folds with halves."""
    return _ends(hierarchical_folds(evidence["folds"], halves=evidence["halves"]))


def without(evidence: Mapping[str, xr.DataArray]) -> Mapping[str, Any]:
    """Return those of the folds alone."""
    return _ends(hierarchical_folds(evidence["folds"]))


def spread_of_jumpers(evidence: Mapping[str, xr.DataArray]) -> Mapping[str, Any]:
    """Return those of the folds alone for one who knows the learner to be one that jumps."""
    return _ends(hierarchical_folds(evidence["folds"], spread=2))


def pooled(evidence: Mapping[str, xr.DataArray]) -> Mapping[str, Any]:
    """Return those of the sum of the folds, as independent examples."""
    return _ends(pooled_folds(evidence["folds"]))


def _ends(posterior):
    known = {name: posterior.distribution(resolve(name)) for name in MEASURES}
    return {name: each.quantile([0.025, 0.975]) for name, each in known.items()}


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 30: see `bayescm.studies.learners.kinds.CASES`.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(1).name
    'halves best feature'
    """
    learner, source, size, share = case_of(CASES, case)
    drawn = CrossValidation(Learning(learner, source, size, share))
    methods = {
        "halves": with_halves,
        "folds": without,
        "spread=2": spread_of_jumpers,
        "pooled": pooled,
    }
    return Study(f"halves {learner}", drawn.generate, methods, drawn.truth)


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage of intervals with halves, without them, and of the pooled folds.

    Parameters
    ----------
    name : {"coverage"}
    case : int, optional
        One case only; see `study`.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
    """
    check_choice("table", name, list(TABLES))
    frame = run_chosen(study, CASES, case, settings)
    for place, (column, found) in enumerate({"learner": 0, "n": 2, "positives": 3}.items()):
        frame.insert(place + 1, column, [CASES[number][found] for number in frame["case"]])
    return frame
