"""Answers that are known to be wrong, with the right figures, found by other code.

They fail until they are mended, and the test says so when one no longer does. References:

- differences of two independent tables: the distribution of a sum of four betas, by Gauss-Jacobi
  quadrature over three of them (100 and 160 nodes agree to 1e-6);
- comparisons at a prevalence: 4e7 draws of the two pairs of betas, standard error .00004;
- highest density of a likelihood ratio: Gauss-Jacobi quadrature over recall (300 and 800 nodes
  agree to 1e-11 in the lower, 1e-12 of the upper bound).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import bayescm as bcm


@dataclass(frozen=True)
class KnownWrong:
    """An answer, the right one, and by how much it may be off."""

    answer: Callable[[], np.ndarray]
    right: tuple[float, ...]
    within: float


def _table(cells):
    return bcm.from_matrix(cells, labels=["yes", "no"], positive="yes")


def _difference():
    both = {"a": _table([[3, 1], [0, 6]]), "b": _table([[5, 2], [1, 2]])}
    row = bcm.compare(both, "informedness", kind="eti").iloc[0]
    return row[["lower", "upper"]].to_numpy(float)


def _p_better(prevalence, measures):
    x, y = bcm.from_cells(tp=9, fn=3, fp=2, tn=14), bcm.from_cells(tp=11, fn=1, fp=6, tn=10)
    both = bcm.at_prevalence(bcm.combine({"x": x, "y": y}), prevalence)
    return bcm.compare(both, measures)["p_better"].to_numpy()


WRONG = {
    "difference of small tables": KnownWrong(_difference, (-0.342506, 0.977043), 1e-4),
    "compare precision at .3": KnownWrong(
        lambda: _p_better(0.3, ["precision", "fdr"]), (0.89299, 0.89299), 3e-4
    ),
    "compare at .3": KnownWrong(
        lambda: _p_better(0.3, ["accuracy", "markedness"]), (0.86312, 0.77688), 3e-4
    ),
    "compare at .01": KnownWrong(
        lambda: _p_better(0.01, ["accuracy", "markedness", "mcc"]),
        (0.94919, 0.86464, 0.81663),
        3e-4,
    ),
    "likelihood ratio next to an empty cell": KnownWrong(
        lambda: bcm.interval(_table([[3, 1], [0, 6]]), "positive_likelihood_ratio").values[:1],
        (0.0534410479,),
        1e-7,
    ),
}
