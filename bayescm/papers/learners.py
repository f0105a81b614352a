"""
Populations and learners in the experiments of the papers, and their cross-validation.

A `CrossValidation` specifies a population, a learner and the designs of cross-validation.
`cross_validate` draws a sample and returns the counts of its folds. `expected_measures` returns the
true values: the means of measures over training sets.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from bayescm.answers.measure import measure
from bayescm.evidence import from_matrix
from bayescm.evidence.splits import BlockedThreeByTwo, FiveByTwo
from bayescm.validate import fail

# Files of the data sets, and their names in the archive.
SOURCES = {
    "letter": ("letter.csv.gz", "Letter Recognition, doi:10.24432/C5ZP40"),
    "magic": ("magic.csv.gz", "MAGIC Gamma Telescope, doi:10.24432/C52C8B"),
}


@dataclass(frozen=True)
class Gaussians:
    """
    Two Gaussian classes: standard normal, and shifted and scaled in every feature.

    Attributes
    ----------
    features : int
        Number of features d.
    shift : float
        Mean of every feature in the positive class (0 in the other class).
    scale : float
        Variance of every feature in the positive class (1 in the other class).
    balanced : bool
        Whether samples contain the same number of examples of both classes. Otherwise, the numbers
        are random.
    swapped : bool
        Whether the standard normal class is the positive class instead.
    """

    features: int
    shift: float
    scale: float
    balanced: bool = True
    swapped: bool = False

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features (size, d) and classes (size,)."""
        if self.balanced:
            classes = np.repeat([0, 1], [size - size // 2, size // 2])
        else:
            classes = rng.integers(0, 2, size)
        features = rng.standard_normal((size, self.features))
        moved = classes == (0 if self.swapped else 1)
        features[moved] = self.shift + np.sqrt(self.scale) * features[moved]
        return features, classes


@dataclass(frozen=True)
class Rows:
    """
    Rows of a data set, sampled with replacement.

    Attributes
    ----------
    name : {"letter", "magic"}
        Letters A to M against N to Z, or gamma rays against an equal number of hadrons (13,376
        rows).
    folder : str
        Folder of the files ``letter.csv.gz`` and ``magic.csv.gz``, compressed copies of the files
        in the archive.
    balanced : bool
        Whether samples have exactly the class proportions of the population. Otherwise, the
        proportions are random.
    """

    name: str
    folder: str | None
    balanced: bool = True

    def __post_init__(self):
        # Report a missing file before the simulation starts.
        find_file(*SOURCES[self.name], self.folder)

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features (size, d) and classes (size,)."""
        features, classes = read_rows(self.name, self.folder)
        if not self.balanced:
            rows = rng.integers(0, len(classes), size)
        else:
            positive = round(size * float(classes.mean()))
            rows = np.concatenate(
                [
                    rng.choice(np.flatnonzero(classes == label), number)
                    for label, number in [(0, size - positive), (1, positive)]
                ]
            )
        return features[rows], classes[rows]


@cache
def read_rows(name: str, folder: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return features (n, d) and classes (n,) of a data set."""
    table = pd.read_csv(find_file(*SOURCES[name], folder), header=None)
    if name == "letter":
        return table.iloc[:, 1:].to_numpy(float), (table[0] <= "M").to_numpy(int)
    classes = (table.iloc[:, -1] == "g").to_numpy(int)
    # The paper uses 13,376 examples, which is twice the number of hadrons.
    gammas = np.random.default_rng(0).choice(np.flatnonzero(classes == 1), 6688, replace=False)
    balanced = np.concatenate([gammas, np.flatnonzero(classes == 0)])
    return table.iloc[balanced, :-1].to_numpy(float), classes[balanced]


def find_file(name: str, source: str, folder: str | None) -> Path:
    """Return the path of a data file in a folder or in its subfolder ``uci``."""
    for directory in [] if folder is None else [Path(folder), Path(folder) / "uci"]:
        if (directory / name).exists():
            return directory / name
    form = "gzipped, without a header" if name.endswith(".gz") else "without a header"
    raise fail(
        f"The data file {name} is missing in {{}}",
        folder,
        f"a folder that has it: the UCI archive's {source}, {form}",
        "download it and pass `data=` (on the command line --data) with its folder",
    )


class PrunedTree(DecisionTreeClassifier):
    """
    Classification tree with the default settings of R's rpart.

    Only nodes with at least 20 examples are split, and leaves contain at least 7 examples. Subtrees
    that save less than 1% of the errors of the root per additional leaf are pruned. This cost
    complexity is based on training errors, whereas scikit-learn uses impurity.

    References
    ----------
    Breiman, L., Friedman, J., Olshen, R. & Stone, C. (1984). Classification and regression trees.
    doi:10.1201/9781315139470
    """

    def __init__(self, *, cp: float = 0.01, random_state: Any = None):
        super().__init__(min_samples_split=20, min_samples_leaf=7, random_state=random_state)
        self.cp = cp

    def fit(self, X: Any, y: Any) -> "PrunedTree":
        """Grow and prune the tree."""
        super().fit(X, y)
        self.label_ = self.classes_[self._pruned_labels()]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the majority class of the leaf of each example."""
        return self.label_[self.apply(X)]

    def _pruned_labels(self):
        """Return the predicted class of the pruned tree for each node."""
        tree = self.tree_
        share = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        errors = tree.weighted_n_node_samples * (1 - share.max(axis=1))
        split = tree.children_left >= 0
        while self._cut_weakest(split, errors):
            pass
        label = share.argmax(axis=1)
        # Children have higher indices than their parents.
        for node in range(tree.node_count):
            if not split[node] and tree.children_left[node] >= 0:
                for child in (tree.children_left[node], tree.children_right[node]):
                    label[child], split[child] = label[node], False
        return label

    def _cut_weakest(self, split, errors):
        """Prune the subtree that saves the fewest errors per leaf, if it saves too few."""
        left, right = self.tree_.children_left, self.tree_.children_right
        below, leaves = errors.copy(), np.ones(len(errors))
        for node in np.flatnonzero(split)[::-1]:
            below[node] = below[left[node]] + below[right[node]]
            leaves[node] = leaves[left[node]] + leaves[right[node]]
        with np.errstate(divide="ignore", invalid="ignore"):
            saved = np.where(split, (errors - below) / (leaves - 1), np.inf)
        weakest = int(saved.argmin())
        if not saved[weakest] < self.cp * errors[0]:
            return False
        self._unsplit(split, weakest)
        return True

    def _unsplit(self, split, node):
        if split[node]:
            split[node] = False
            self._unsplit(split, self.tree_.children_left[node])
            self._unsplit(split, self.tree_.children_right[node])


class Perceptron(MLPClassifier):
    """One hidden layer of five units, trained for at most 100 steps, without warnings."""

    def __init__(self, *, random_state: Any = None):
        super().__init__(
            (5,),
            activation="tanh",
            solver="lbfgs",
            alpha=1e-3,
            max_iter=100,
            tol=1e-6,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any) -> "Perceptron":
        """Train for at most 100 steps."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return super().fit(X, y)


def classifier(name: str, *, gamma: float | None = None, seed: int = 0) -> Any:
    """
    Return an unfitted classifier used in the papers.

    Parameters
    ----------
    name : {"tree", "perceptron", "svm", "linear svm", "logistic", "bayes", "knn"}
        Pruned tree, perceptron with one hidden layer, support vector machine with a Gaussian or
        (strongly regularised) linear kernel, logistic regression, naive Bayes, or five nearest
        neighbours.
    gamma : float, optional
        Parameter of the kernel, for unscaled features. By default one over the number of features,
        for standardised features (the default of R's e1071).
    seed : int
        Seed of the initial weights of a perceptron, and of ties between splits of a tree.

    Returns
    -------
    estimator
    """
    if name == "tree":
        return PrunedTree(random_state=seed)
    if name == "perceptron":
        return make_pipeline(StandardScaler(), Perceptron(random_state=seed))
    if name == "svm":
        plain = SVC(gamma="auto" if gamma is None else gamma)
        return make_pipeline(StandardScaler(), plain) if gamma is None else plain
    return {
        "linear svm": make_pipeline(StandardScaler(), SVC(kernel="linear", C=0.01)),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=1e6, max_iter=1000)),
        "bayes": GaussianNB(),
        "knn": KNeighborsClassifier(5),
    }[name]


@dataclass(frozen=True)
class CrossValidation:
    """
    Sample of a population, used to cross-validate a classifier.

    Attributes
    ----------
    population : Gaussians or Rows
        Population to sample.
    learner : str
        Name of a `classifier`.
    size : int
        Number of examples in a sample.
    designs : tuple of str
        ``"10"`` (stratified ten-fold), ``"5x2"`` or ``"3x2"``, all on the same sample.
    measures : tuple of str
        Measures whose expected values are the true values.
    gamma : float, optional
        Kernel parameter of the support vector machine.
    share : float
        Size of the training sets that define the true values, relative to a sample.
    """

    population: Any
    learner: str
    size: int
    designs: tuple[str, ...] = ("10",)
    measures: tuple[str, ...] = ("precision", "recall")
    gamma: float | None = None
    share: float = 0.9

    def train(self, features: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> Any:
        """Return a classifier trained on these examples, with a seed drawn from ``rng``."""
        seed = int(rng.integers(2**31))
        return classifier(self.learner, gamma=self.gamma, seed=seed).fit(features, classes)


def cross_validate(rng: np.random.Generator, design: CrossValidation) -> tuple[Any, None]:
    """Return the fold counts of a new sample, as a mapping from designs if there are several."""
    features, classes = design.population.sample(rng, design.size)
    counts = {}
    for name in design.designs:
        splitter, shape = _splitter(name, int(rng.integers(2**31)))
        tables = []
        for train, test in splitter.split(features, classes):
            trained = design.train(features[train], classes[train], rng)
            tables.append(_confusion(trained, features[test], classes[test]))
        dims = ("repeat", "fold") if len(shape) == 2 else ("fold",)
        counts[name] = from_matrix(np.reshape(tables, (*shape, 2, 2)), dims=dims)
    return (counts if len(counts) > 1 else counts[design.designs[0]]), None


def _splitter(name, seed):
    if name == "5x2":
        return FiveByTwo(random_state=seed), (5, 2)
    if name == "3x2":
        return BlockedThreeByTwo(random_state=seed), (3, 2)
    return StratifiedKFold(int(name), shuffle=True, random_state=seed), (int(name),)


def _confusion(trained, features, classes):
    outcomes = 2 * classes + trained.predict(features)
    return np.bincount(outcomes, minlength=4).reshape(2, 2)


def expected_measures(
    rng: np.random.Generator,
    design: CrossValidation,
    *,
    training_sets: int = 300,
    test_size: int = 4000,
) -> Mapping[str, tuple[float, float]]:
    """
    Return the expected measures over training sets, and their standard errors.

    Parameters
    ----------
    rng : Generator
        Generator of the training and test sets.
    design : CrossValidation
    training_sets : int
        Number of training sets, each with ``share * size`` examples.
    test_size : int
        Number of new examples to evaluate each trained classifier.

    Returns
    -------
    mapping of str to two floats
        Expected measures, excluding training sets with undefined measures.
    """
    tables = []
    for _ in range(training_sets):
        features, classes = design.population.sample(rng, round(design.share * design.size))
        trained = design.train(features, classes, rng)
        tables.append(_confusion(trained, *design.population.sample(rng, test_size)))
    expected = {}
    for name, values in measure(from_matrix(tables), list(design.measures)).items():
        defined = values.values[~np.isnan(values.values)]
        error = defined.std(ddof=1) / np.sqrt(len(defined))
        expected[str(name)] = float(defined.mean()), float(error)
    return expected
