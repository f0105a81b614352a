"""
How much the prior should weigh: coverage of the rules for the concentration per cell.

Drawn are a prevalence of the C classes, a recall of each class about a given level, and errors
unevenly spread over the other classes; then one test set of n examples. What differs between the
rules is the total weight of the prior: two examples whatever the number of classes for 2/C^2, but
C^2/2, C and 1 example for 0.5, 1/C and 1/C^2 a cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

from bayescm.direct import dirichlet_multinomial
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Method, Study
from bayescm.studies.tables import case_of, table_of

MEASURES = ("accuracy", "f1_macro", "mcc")
CASES = {
    number: case
    for number, case in enumerate(
        (
            (classes, size, level)
            for classes in (2, 3, 5, 10)
            for size in (50, 300)
            for level in (0.7, 0.93)
        ),
        start=1,
    )
}
TABLES = ("coverage",)


@dataclass(frozen=True)
class Classifier:
    """
    Cell probabilities of a random classifier, and a test set from them.

    Attributes
    ----------
    classes, size : int
        Number of classes; number of examples.
    level : float
        Mean recall of a class.
    """

    classes: int
    size: int
    level: float

    def cells(self, rng: np.random.Generator) -> np.ndarray:
        """Return cell probabilities (C, C)."""
        many = self.classes
        prevalence = rng.dirichlet(np.full(many, 5.0))
        recall = rng.beta(20 * self.level, 20 * (1 - self.level), many)
        errors = rng.dirichlet(np.full(many - 1, 0.5), many)
        rates = np.zeros((many, many))
        rates[~np.eye(many, dtype=bool)] = errors.ravel()
        rates *= (1 - recall)[:, None]
        rates += np.diag(recall)
        return prevalence[:, None] * rates

    def generate(self, rng: np.random.Generator) -> tuple[xr.DataArray, Mapping[str, float]]:
        """Return the counts of a test set and the true measures."""
        cells = self.cells(rng)
        counts = rng.multinomial(self.size, cells.ravel()).reshape(cells.shape)
        return from_matrix(counts), {name: float(resolve(name)(cells)) for name in MEASURES}


def equal_tails(counts: xr.DataArray, *, rule: str, draws: int = 1000) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals of all measures from the same draws."""
    many = counts.sizes["actual"]
    weight = {"2/C^2": 2 / many**2, "0.5": 0.5, "1/C": 1 / many, "1/C^2": 1 / many**2}[rule]
    posterior = dirichlet_multinomial(counts.values, concentration=weight)
    # A seed of the evidence's own: the same draws whatever ran before.
    rng = np.random.default_rng(counts.values.ravel().tolist())
    values = posterior.draw([resolve(name) for name in MEASURES], draws, rng)
    ends = [np.quantile(each, [0.025, 0.975]) for each in values]
    return dict(zip(MEASURES, ends, strict=True))


METHODS: dict[str, Method] = {
    rule: partial(equal_tails, rule=rule) for rule in ("2/C^2", "0.5", "1/C", "1/C^2")
}


def study(case: int) -> Study:
    """
    Return one case of the table, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 16: C = 2, 3, 5, 10 classes; in each n = 50 and 300 examples; in each recall 0.7 and
        0.93.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(1).name
    'priors C=2 n=50 recall=0.7'
    """
    classes, size, level = case_of(CASES, case)
    source = Classifier(classes, size, level)
    name = f"priors C={classes} n={size} recall={level:g}"
    return Study(name, source.generate, METHODS)


table = table_of(study, CASES, columns=("classes", "n", "recall"))
