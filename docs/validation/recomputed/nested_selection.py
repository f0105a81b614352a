"""
Nested selection: a search that is repeated in every fold, counted by loops over splits.

There are eight classifiers, each using one of eight normal features. A classifier predicts the
class with the nearer mean in the training set. A grid search over the feature, with five inner
folds, is cross-validated in ten folds. The loops select the feature with the highest mean accuracy
over the inner folds, compute the class means in the whole training set, and count the predictions
for the test set. The tables must agree exactly. The intervals of the search are recomputed from
the tables by importance sampling (`validation.recomputed.folds`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, figures_of_draws, rows, summarised
from validation.recomputed.folds import by_importance, package_figures

FEATURES, EXAMPLES, POSITIVE = 8, 150, 0.4
INNER, OUTER = StratifiedKFold(5), StratifiedKFold(10)
SPREADS = (0.0, 0.3)
CASES = dict(enumerate([(spread,) for spread in SPREADS], start=1))
MEASURES = ["accuracy", "recall", "specificity", "precision", "f1", "mcc"]
DRAWS = 20_000


class NearestMean(ClassifierMixin, BaseEstimator):
    """Classifier that predicts the class with the nearer mean of one feature."""

    def __init__(self, feature: int = 0):
        self.feature = feature

    def fit(self, X: np.ndarray, y: np.ndarray) -> "NearestMean":
        """Compute the means of the classes."""
        self.classes_ = np.array([0, 1])
        self.means_ = [X[y == label, self.feature].mean() for label in (0, 1)]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with the nearer mean."""
        far, near = (np.abs(X[:, self.feature] - mean) for mean in self.means_)
        return (near < far).astype(int)


def answers(x: np.ndarray, y: np.ndarray, tested: np.ndarray) -> np.ndarray:
    """Return the predictions (T, F) of every feature for the test examples."""
    mean = np.stack([x[y == 0].mean(0), x[y == 1].mean(0)])
    return (np.abs(tested - mean[1]) < np.abs(tested - mean[0])).astype(int)


def counted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the tables (10, 2, 2) of the features selected in each fold."""
    tables = np.zeros((OUTER.n_splits, 2, 2), int)
    for fold, (train, test) in enumerate(OUTER.split(x, y)):
        inner = [
            (answers(x[train][fit], y[train][fit], x[train][left]) == y[train][left, None]).mean(0)
            for fit, left in INNER.split(x[train], y[train])
        ]
        selected = np.mean(inner, axis=0).argmax()
        for truth, answer in zip(
            y[test], answers(x[train], y[train], x[test])[:, selected], strict=True
        ):
            tables[fold, truth, answer] += 1
    return tables


def figures(replications: Replications, spread: float) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every cell of the tables, and for every figure of the intervals."""
    search = GridSearchCV(NearestMean(), {"feature": range(FEATURES)}, cv=INNER)
    for rng in replications.generators():
        y = (np.arange(EXAMPLES) < POSITIVE * EXAMPLES).astype(int)[rng.permutation(EXAMPLES)]
        shift = np.abs(0.8 + spread * rng.standard_normal(FEATURES))
        x = rng.standard_normal((EXAMPLES, FEATURES)) + shift * y[:, None]
        counts = bcm.cross_confusion(search, x, y, OUTER, positive=1)
        tables = counted(x, y)
        cells = {str(index): Figure(float(n)) for index, n in np.ndenumerate(tables)}
        package = {str(index): Figure(float(n)) for index, n in np.ndenumerate(counts.values)}
        yield from rows("tables", package, cells)
        draws, effective = by_importance(tables, DRAWS, rng)
        frame = bcm.summary(counts, MEASURES, kind="eti").set_index("measure")
        for measure in MEASURES:
            own = figures_of_draws(draws["parameter"][measure], effective)
            yield from rows(measure, package_figures(frame.loc[measure]), own)


def table_rows(replications: Replications, spread: float) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every question of a case."""
    yield from summarised(figures(replications, spread))


EXPERIMENTS = [
    Repeated("recomputed", CASES, table_rows, columns=["spread"], table="nested_selection")
]
