"""
Results of the package compared with independent computations, one module per topic.

Each module computes documented results with numpy, scipy or PyMC, and uses the package only for the
results to compare. ``python docs/validation recomputed --table THEME`` writes
``docs/results/recomputed_THEME.csv``. The table has a row for each figure, with these columns:

- ``question``: the kind of result;
- ``answer``: the figure, such as the lower limit;
- ``package``, ``recomputed``: both values;
- ``error``: the standard error of their difference;
- ``difference``: their difference in standard errors.

Computations by simulation use a thousand draws per replication. A module with many figures has a
row for each question instead, with the number of ``figures``, the largest absolute difference
(``difference``), the largest difference in standard errors (``in_errors``) and its figure
(``answer``), and the number of differences above `BEYOND` standard errors.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

# Rounding error of exact results.
ROUNDING = 1e-9
TAILS = {"lower": 0.025, "upper": 0.975}
# Number of standard errors that correct figures rarely exceed, even among hundreds of them.
BEYOND = 4.0


class Figure(NamedTuple):
    """A number and its standard error."""

    value: float
    error: float = 0.0


def rows(
    question: str, package: Mapping[str, Figure], recomputed: Mapping[str, Figure]
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every recomputed figure."""
    for answer, own in recomputed.items():
        theirs = package[answer]
        error = float(np.sqrt(theirs.error**2 + own.error**2 + ROUNDING**2))
        yield {
            "question": question,
            "answer": answer,
            "package": theirs.value,
            "recomputed": own.value,
            "error": error,
            "difference": (theirs.value - own.value) / error,
        }


def summarised(figures: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every question, with its number of figures and the largest differences."""
    for question, group in pd.DataFrame(figures).groupby("question", sort=False):
        in_errors = group["difference"].abs()
        yield {
            "question": question,
            "figures": len(group),
            "difference": (group["package"] - group["recomputed"]).abs().max(),
            "in_errors": in_errors.max(),
            "answer": group["answer"][in_errors.idxmax()],
            "beyond_4": int((in_errors > BEYOND).sum()),
        }


def figures_of_draws(draws: np.ndarray, effective: float | None = None) -> Mapping[str, Figure]:
    """
    Return the mean and the equal-tailed 95% limits of draws, without undefined ones.

    Parameters
    ----------
    draws : ndarray, shape (n,)
    effective : float, optional
        Effective number of independent draws. By default all draws are independent.
    """
    draws = draws[~np.isnan(draws)]
    size = len(draws) if effective is None else effective
    figures = {"mean": Figure(draws.mean(), draws.std() / np.sqrt(size))}
    for name, prob in TAILS.items():
        half = np.sqrt(prob * (1 - prob) / size)
        around = np.quantile(draws, np.clip([prob - half, prob, prob + half], 0, 1))
        step = _step(draws, around[1])
        figures[name] = Figure(around[1], max((around[2] - around[0]) / 2, step))
    return figures


def _step(draws, value):
    """Return half the distance between the values next to a quantile, for discrete draws."""
    above, below = draws[draws > value + ROUNDING], draws[draws < value - ROUNDING]
    return (above.min() - below.max()) / 2 if len(above) and len(below) else 0.0
