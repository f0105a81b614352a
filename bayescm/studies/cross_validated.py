"""A cross-validated classifier's results on a sample, and its true performance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from bayescm.evidence import from_matrix
from bayescm.evidence.splits import BlockedThreeByTwo, FiveByTwo
from bayescm.measures.labelled import measure
from bayescm.studies.classifiers import classifier


@dataclass(frozen=True)
class CrossValidated:
    """
    A sample of a population, and the confusion matrices of a classifier cross-validated on it.

    Attributes
    ----------
    population : Gaussians or Rows
        What is sampled.
    learner : str
        Name of a classifier of `bayescm.studies.classifiers`.
    size : int
        Number of examples in a sample.
    designs : tuple of str
        ``"10"`` (stratified ten-fold), ``"5x2"`` or ``"3x2"``; all on the same sample.
    measures : tuple of str
        The measures whose true values are wanted.
    gamma : float, optional
        Of the support vector machine's kernel.
    share : float
        Share of a sample that the classifiers whose measures count as true are trained on.
    """

    population: Any
    learner: str
    size: int
    designs: tuple[str, ...] = ("10",)
    measures: tuple[str, ...] = ("precision", "recall")
    gamma: float | None = None
    share: float = 0.9

    def generate(self, rng: np.random.Generator) -> tuple[Any, None]:
        """Return the counts of a new sample's folds: of one design, or a mapping of several."""
        features, classes = self.population.sample(rng, self.size)
        counts = {name: self._count(features, classes, name, rng) for name in self.designs}
        return (counts if len(counts) > 1 else counts[self.designs[0]]), None

    def _count(self, features, classes, design, rng):
        splitter, shape = _splitter(design, int(rng.integers(2**31)))
        tables = []
        for train, test in splitter.split(features, classes):
            predicted = self._train(features[train], classes[train], rng).predict(features[test])
            table = np.bincount(2 * classes[test] + predicted, minlength=4)
            tables.append(table.reshape(2, 2))
        dims = ("repeat", "fold") if len(shape) == 2 else ("fold",)
        return from_matrix(np.reshape(tables, (*shape, 2, 2)), dims=dims)

    def _train(self, features, classes, rng):
        model = classifier(self.learner, gamma=self.gamma, seed=int(rng.integers(2**31)))
        return model.fit(features, classes)

    def truth(
        self, rng: np.random.Generator, *, models: int = 300, test: int = 4000
    ) -> Mapping[str, tuple[float, float]]:
        """
        Return the expected measures over training sets, and their standard errors.

        Parameters
        ----------
        rng : Generator
            Source of the training and test sets.
        models : int
            Number of training sets, of ``share * size`` examples each.
        test : int
            Number of fresh examples that each trained classifier is measured on.

        Returns
        -------
        mapping of str to two floats
            Without the training sets for which a measure is undefined.
        """
        tables = []
        for _ in range(models):
            features, classes = self.population.sample(rng, round(self.share * self.size))
            trained = self._train(features, classes, rng)
            features, classes = self.population.sample(rng, test)
            table = np.bincount(2 * classes + trained.predict(features), minlength=4)
            tables.append(table.reshape(2, 2))
        values = measure(from_matrix(tables), list(self.measures))
        found = {}
        for name in self.measures:
            each = values[name].values[~np.isnan(values[name].values)]
            found[name] = float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))
        return found


def _splitter(design, seed):
    if design == "5x2":
        return FiveByTwo(random_state=seed), (5, 2)
    if design == "3x2":
        return BlockedThreeByTwo(random_state=seed), (3, 2)
    return StratifiedKFold(int(design), shuffle=True, random_state=seed), (int(design),)
