"""The classifiers of the papers' experiments, as closely as scikit-learn can match them."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier


class PrunedTree(DecisionTreeClassifier):
    """
    A classification tree with the default settings of R's rpart.

    A node is split if it has 20 examples, a leaf has at least 7, and subtrees that save less than
    1% of the root's errors for each of their leaves are cut (cost complexity in training errors,
    where scikit-learn's own pruning counts impurity).

    References
    ----------
    Breiman, L., Friedman, J., Olshen, R. & Stone, C. (1984). Classification and regression trees.
    doi:10.1201/9781315139470
    """

    def __init__(self, *, cp: float = 0.01, random_state: Any = None):
        super().__init__(min_samples_split=20, min_samples_leaf=7, random_state=random_state)
        self.cp = cp

    def fit(self, X: Any, y: Any) -> "PrunedTree":
        """Grow the tree and cut it back."""
        super().fit(X, y)
        self.label_ = self.classes_[self._pruned_labels()]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the majority class of the leaf that each example falls into."""
        return self.label_[self.apply(X)]

    def _pruned_labels(self):
        """Return, for each node, the class that the pruned tree gives to its examples."""
        tree = self.tree_
        share = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        errors = tree.weighted_n_node_samples * (1 - share.max(axis=1))
        split = tree.children_left >= 0
        while self._cut_weakest(split, errors):
            pass
        label = share.argmax(axis=1)
        # Children have higher numbers than their parents.
        for node in range(tree.node_count):
            if not split[node] and tree.children_left[node] >= 0:
                for child in (tree.children_left[node], tree.children_right[node]):
                    label[child], split[child] = label[node], False
        return label

    def _cut_weakest(self, split, errors):
        """Cut the subtree that saves the fewest errors for each of its leaves, if it is too few."""
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
    """One hidden layer of five units, trained for 100 steps, without a convergence warning."""

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
        """Train for 100 steps at most."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return super().fit(X, y)


def classifier(name: str, *, gamma: float | None = None, seed: int = 0) -> Any:
    """
    Return an unfitted classifier of the papers.

    Parameters
    ----------
    name : {"tree", "perceptron", "svm", "linear svm", "logistic", "bayes", "knn"}
        A pruned tree, a perceptron with one hidden layer, a support vector machine with a Gaussian
        or (strongly regularised) a linear kernel, logistic regression, naive Bayes, five nearest
        neighbours.
    gamma : float, optional
        Of the kernel, for features as they are; by default one over their number, for
        standardised features (the default of R's e1071).
    seed : int
        Seed of a perceptron's first weights, and of a tree's choice between equal splits.

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
