"""
Importance weights: coverage of three ways to take them into account.

Drawn are examples of the four cells of a two-class matrix, and a weight of each: even, log-normal
whatever the cell, larger where the answer is right (hard examples were sampled too often), or
settled by the class or by the answer (stratified samples). The truth is that of the population in
which every cell counts by the mean weight of its examples.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayescm.direct import dirichlet_multinomial, importance_weighted
from bayescm.evidence import from_predictions
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Method, Study
from bayescm.studies.tables import case_of, table_of

MEASURES = ("accuracy", "recall", "f1", "mcc")
DRAWS = 1000
# Of the sample: prevalence, recall, specificity. The logs of the median weights of the cells (tn,
# fp, fn, tp), and the standard deviation of the logs in each.
WEIGHTS = {
    "even": ((0.3, 0.8, 0.9), (0, 0, 0, 0), 0.0),
    "log-normal 0.5": ((0.3, 0.8, 0.9), (0, 0, 0, 0), 0.5),
    "log-normal 1": ((0.3, 0.8, 0.9), (0, 0, 0, 0), 1.0),
    "with the error": ((0.3, 0.6, 0.8), (-0.7, 0, 0, -0.7), 0.7),
    "by class": ((0.5, 0.8, 0.9), (3, 3, 0, 0), 0.0),
    "by answer": ((0.5, 0.8, 0.8), (2.2, 0, 2.2, 0), 0.0),
    "by class, log-normal": ((0.5, 0.8, 0.9), (3, 3, 0, 0), 0.5),
}
CASES = dict(enumerate(((name, n) for name in WEIGHTS for n in (100, 500, 2000)), start=1))
TABLES = ("coverage",)


@dataclass(frozen=True)
class Sample:
    """
    A weighted sample of n examples.

    Attributes
    ----------
    weights : str
        How the weights arise.
    size : int
    """

    weights: str
    size: int

    def generate(self, rng: np.random.Generator) -> tuple[tuple, Mapping[str, float]]:
        """Return the truth, the answer and the weight of every example; and the true measures."""
        (prevalence, recall, specificity), logs, spread = WEIGHTS[self.weights]
        rows = np.array([[specificity, 1 - specificity], [1 - recall, recall]])
        cells = (rows * [[1 - prevalence], [prevalence]]).ravel()
        code = rng.choice(4, self.size, p=cells)
        weight = np.exp(np.array(logs)[code] + spread * rng.standard_normal(self.size))
        population = (cells * np.exp(logs)).reshape(2, 2)
        truth = {name: float(resolve(name)(population)) for name in MEASURES}
        return (code // 2, code % 2, weight), truth


def _ends(values):
    ends = (np.nanquantile(each, [0.025, 0.975]) for each in values)
    return dict(zip(MEASURES, ends, strict=True))


def _by(model):
    """Return a method that asks a model for draws."""

    def method(evidence):
        actual, predicted, weight = evidence
        counts = from_predictions(
            actual, predicted, labels=[0, 1], weights=weight, weights_are="importance"
        )
        rng = np.random.default_rng(len(actual))
        return _ends(model(counts).draw([resolve(name) for name in MEASURES], DRAWS, rng))

    return method


def bootstrap(evidence: tuple) -> Mapping[str, np.ndarray]:
    """Return intervals of the weighted Bayesian bootstrap (Rubin, 1981)."""
    actual, predicted, weight = evidence
    rng = np.random.default_rng(len(actual))
    share = rng.standard_exponential((DRAWS, len(actual))) * weight
    place = np.eye(4)[2 * actual + predicted]
    cells = (share @ place).reshape(DRAWS, 2, 2)
    return _ends([resolve(name)(cells) for name in MEASURES])


METHODS: dict[str, Method] = {
    "importance_weighted": _by(importance_weighted),
    "Kish over all": _by(dirichlet_multinomial),
    "weighted bootstrap": bootstrap,
}


def study(case: int) -> Study:
    """
    Return one case of the table, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 21: seven ways in which weights arise; in each n = 100, 500 and 2000 examples.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(1).name
    'weights even n=100'
    """
    name, size = case_of(CASES, case)
    return Study(f"weights {name} n={size}", Sample(name, size).generate, METHODS)


table = table_of(study, CASES, columns=("weights", "n"))
