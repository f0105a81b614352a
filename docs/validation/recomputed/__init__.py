"""
Answers of the package beside the same answers recomputed by other code, one file for each theme.

A theme recomputes by numpy, scipy or PyMC what the documentation says is computed, and takes from
the package the answer alone. ``python docs/validation recomputed --table THEME`` writes
``docs/results/recomputed_THEME.csv``, a row for each figure: the ``question``, the ``answer``
(such as the lower limit), the figure of the ``package`` and that ``recomputed``, the standard
``error`` of their difference, and the ``difference`` in units of it. What is recomputed by draws
takes a thousand of them for each replication. A theme of many figures has a row for each question
instead: how many ``figures`` were compared, how far apart they were at most (``difference``) and in
units of their standard errors (``in_errors``), where that was (``answer``), and how many were more
than `BEYOND` standard errors apart.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

# Rounding of what is exact on either side.
ROUNDING = 1e-9
TAILS = {"lower": 0.025, "upper": 0.975}
# Standard errors that hundreds of figures which are right are hardly ever apart.
BEYOND = 4.0


class Figure(NamedTuple):
    """A number and its standard error."""

    value: float
    error: float = 0.0


def rows(
    question: str, package: Mapping[str, Figure], recomputed: Mapping[str, Figure]
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every answer that is recomputed."""
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
    """Yield a row for every question: how many figures it has, and how far apart they are."""
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
    Return mean and equal-tailed 95% limits of draws, undefined ones left out.

    Parameters
    ----------
    draws : ndarray, shape (n,)
    effective : float, optional
        How many independent draws they are worth; by default all are independent.
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
    """Return how far apart the values beside a quantile are, as shares of n examples may be."""
    above, below = draws[draws > value + ROUNDING], draws[draws < value - ROUNDING]
    return (above.min() - below.max()) / 2 if len(above) and len(below) else 0.0
