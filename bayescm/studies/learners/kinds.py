"""Learners of many kinds, each on data of its own: what a cross-validation leaves open."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn import ensemble, linear_model, naive_bayes, neighbors, svm, tree
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

type Source = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def shifted(features: int, shift: float, freedom: float = np.inf) -> Source:
    """Return normal or Student t features, those of the positives moved."""

    def draw(rng, actual):
        shape = len(actual), features
        noise = rng.standard_normal(shape) if np.isinf(freedom) else rng.standard_t(freedom, shape)
        return noise + shift * actual[:, None]

    return draw


def one_good(features: int, shift: float) -> Source:
    """Return normal features of which only the first is moved."""

    def draw(rng, actual):
        found = rng.standard_normal((len(actual), features))
        found[:, 0] += shift * actual
        return found

    return draw


def lognormal(features: int, shift: float) -> Source:
    """Return positive, skewed features."""
    return lambda rng, actual: np.exp(0.8 * shifted(features, shift)(rng, actual))


def rings(features: int, noise: float) -> Source:
    """Return two rings in the plane of the first two features."""

    def draw(rng, actual):
        found = rng.standard_normal((len(actual), features))
        wanted = 1 + actual + noise * rng.standard_normal(len(actual))
        found[:, :2] *= (wanted / np.hypot(*found[:, :2].T))[:, None]
        return found

    return draw


def moons(features: int, noise: float) -> Source:
    """Return two half-moons in the first two features."""

    def draw(rng, actual):
        angle = np.pi * rng.random(len(actual))
        x = np.cos(angle) * (1 - 2 * actual) + actual
        y = np.sin(angle) * (1 - 2 * actual) + 0.5 * actual
        found = rng.standard_normal((len(actual), features))
        found[:, :2] = np.stack([x, y], 1) + noise * found[:, :2]
        return found

    return draw


def mixture(features: int, shift: float) -> Source:
    """Return positives of two kinds, each moved in a feature of its own."""

    def draw(rng, actual):
        found = rng.standard_normal((len(actual), features))
        found[np.arange(len(actual)), rng.integers(0, 2, len(actual))] += shift * actual
        return found

    return draw


def digits(*positive: int) -> Source:
    """Return images of digits, some of which are the positive class, with a little noise."""

    def draw(rng, actual):
        images, digit = _images()
        yes = np.isin(digit, positive)
        found = np.empty((len(actual), 64))
        for label in (0, 1):
            wanted = actual == label
            found[wanted] = images[rng.choice(np.flatnonzero(yes == label), wanted.sum())]
        return found + 2 * rng.random(found.shape)

    return draw


@cache
def _images():
    return load_digits(return_X_y=True)


def _logistic():
    return linear_model.LogisticRegression(solver="newton-cholesky")


def _vote(seed):
    three = {
        "logistic": _logistic(),
        "bayes": naive_bayes.GaussianNB(),
        "tree": tree.DecisionTreeClassifier(max_depth=3, random_state=seed),
    }
    return ensemble.VotingClassifier(list(three.items()))


LEARNERS: dict[str, Callable[[int], Any]] = {
    "boosted stumps": lambda s: ensemble.AdaBoostClassifier(n_estimators=8, random_state=s),
    "bagged trees": lambda s: ensemble.BaggingClassifier(n_estimators=8, random_state=s),
    "extra trees": lambda s: ensemble.ExtraTreesClassifier(n_estimators=8, random_state=s),
    "one random tree": lambda s: tree.ExtraTreeClassifier(max_depth=4, random_state=s),
    "tree cut by cost": lambda s: tree.DecisionTreeClassifier(ccp_alpha=0.02, random_state=s),
    "Bernoulli Bayes": lambda s: naive_bayes.BernoulliNB(),
    "complement Bayes": lambda s: naive_bayes.ComplementNB(),
    "stochastic gradient": lambda s: linear_model.SGDClassifier(
        max_iter=15, tol=None, random_state=s
    ),
    "nu support vectors": lambda s: svm.NuSVC(nu=0.4),
    "cubic support vectors": lambda s: svm.SVC(kernel="poly", degree=3),
    "Gaussian process": lambda s: GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None),
    "neighbours in a radius": lambda s: neighbors.RadiusNeighborsClassifier(
        1.5, outlier_label="most_frequent"
    ),
    "lasso": lambda s: linear_model.LogisticRegression(l1_ratio=1.0, C=0.2, solver="liblinear"),
    "best feature": lambda s: make_pipeline(SelectKBest(k=1), _logistic()),
    "principal components": lambda s: make_pipeline(PCA(2), LinearDiscriminantAnalysis()),
    "squares and products": lambda s: make_pipeline(
        StandardScaler(), PolynomialFeatures(2), linear_model.RidgeClassifier()
    ),
    "vote of three": _vote,
    "random waves": lambda s: make_pipeline(
        RBFSampler(gamma=0.5, n_components=30, random_state=s), linear_model.RidgeClassifier()
    ),
    "stump": lambda s: tree.DecisionTreeClassifier(max_depth=1, random_state=s),
    "tree of depth 2": lambda s: tree.DecisionTreeClassifier(max_depth=2, random_state=s),
    "tree of depth 3": lambda s: tree.DecisionTreeClassifier(max_depth=3, random_state=s),
    "linear discriminant": lambda s: LinearDiscriminantAnalysis(),
    "quadratic discriminant": lambda s: QuadraticDiscriminantAnalysis(),
    "support vectors": lambda s: svm.SVC(),
    "3 neighbours": lambda s: neighbors.KNeighborsClassifier(3),
    "25 neighbours": lambda s: neighbors.KNeighborsClassifier(25),
    "boosted trees": lambda s: ensemble.GradientBoostingClassifier(
        n_estimators=15, max_depth=2, random_state=s
    ),
    "logistic": lambda s: _logistic(),
    "naive Bayes": lambda s: naive_bayes.GaussianNB(),
}
# Learner; where its examples come from; their number and the share of positives.
CASES: dict[int, tuple[str, Source, int, float]] = dict(
    enumerate(
        [
            ("best feature", shifted(6, 0.8), 200, 0.5),
            ("one random tree", shifted(4, 1.0), 200, 0.35),
            ("tree cut by cost", lognormal(6, 0.7), 250, 0.5),
            ("Bernoulli Bayes", mixture(5, 1.8), 150, 0.4),
            ("complement Bayes", digits(1, 4, 7), 120, 0.3),
            ("stochastic gradient", shifted(5, 0.8), 200, 0.5),
            ("nu support vectors", shifted(5, 0.8, 3), 160, 0.4),
            ("cubic support vectors", rings(3, 0.35), 200, 0.4),
            ("Gaussian process", moons(2, 0.4), 80, 0.5),
            ("neighbours in a radius", shifted(3, 1.0), 150, 0.4),
            ("lasso", shifted(20, 0.35), 150, 0.4),
            ("principal components", shifted(10, 0.5, 4), 150, 0.5),
            ("squares and products", rings(4, 0.4), 120, 0.5),
            ("random waves", moons(3, 0.35), 200, 0.3),
            ("vote of three", digits(3, 8, 9), 150, 0.3),
            ("extra trees", shifted(5, 0.8, 3), 150, 0.4),
            ("bagged trees", mixture(5, 1.8), 200, 0.5),
            ("boosted stumps", lognormal(5, 0.5), 200, 0.4),
            # Jumpers, learners near a tie, some that one example moves; then three that sit still.
            ("stump", shifted(6, 0.8), 200, 0.5),
            ("stump", one_good(6, 1.0), 200, 0.5),
            ("tree of depth 2", shifted(5, 0.8), 400, 0.5),
            ("tree of depth 3", mixture(5, 1.8), 200, 0.4),
            ("linear discriminant", shifted(6, 0.8, 2.5), 150, 0.4),
            ("quadratic discriminant", shifted(4, 1.0, 3), 150, 0.4),
            ("support vectors", shifted(10, 0.3), 200, 0.5),
            ("25 neighbours", shifted(5, 0.4), 200, 0.5),
            ("boosted trees", shifted(5, 0.8), 300, 0.15),
            ("3 neighbours", digits(0, 2, 6), 150, 0.3),
            ("logistic", shifted(5, 0.6), 150, 0.4),
            ("naive Bayes", shifted(4, 0.8), 150, 0.5),
        ],
        start=1,
    )
)


@dataclass(frozen=True)
class Learning:
    """
    A learner and where its examples come from.

    Attributes
    ----------
    learner : str
        One of `LEARNERS`.
    source : callable
        From a generator and classes to features.
    size : int
        Number of examples of a sample.
    share : float
        Of positives: their number is fixed.
    """

    learner: str
    source: Source
    size: int
    share: float

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features and classes of a fresh sample."""
        actual = (np.arange(size) >= size - round(self.share * size)).astype(int)
        return self.source(rng, actual), actual

    def table(self, rng: np.random.Generator, train: Any, test: Any) -> np.ndarray:
        """Return the confusion matrix, (2, 2), of one that is trained here and tested there."""
        made = LEARNERS[self.learner](int(rng.integers(2**31))).fit(*train)
        features, actual = test
        return np.bincount(2 * actual + made.predict(features), minlength=4).reshape(2, 2)
