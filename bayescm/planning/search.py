"""
Search for the smallest test set size n that reaches a goal, and the error of n.

The assurance of a goal is either computed exactly, or estimated from simulated test sets. In the
first case it is a sawtooth function of n, because counts are integers. In the second case,
intervals shrink approximately as 1 / sqrt(n).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import fail

# Largest size of a test set that is considered.
LARGEST = 10_000_000


def smallest_size(
    reach: Callable[[np.ndarray], np.ndarray], assurance: float, *, tooth: float = 0.0
) -> tuple[int, float]:
    """
    Return the size n above which the assurance is reached, and the assurance at n.

    Parameters
    ----------
    reach : callable
        Function from sizes to the assurance at each size.
    assurance : float
    tooth : float
        Largest length of a tooth: the number of sizes before one more failure is allowed.
    """

    def is_enough(n):
        return reach(np.array([n]))[0] >= assurance

    high = 8
    while not is_enough(high):
        high *= 2
        check_size(high)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    # Because of the sawtooth shape, search nearby for the last n that falls short, until it is
    # followed by a whole tooth of sizes that suffice.
    around = 20 + 2 * int(np.sqrt(high)) + int(tooth)
    start = max(1, high - around)
    while True:
        candidates = np.arange(start, max(start, high) + around)
        reached = reach(candidates)
        short = np.flatnonzero(reached < assurance)
        first = short[-1] + 1 if len(short) else 0
        if len(candidates) - first > tooth:
            return int(candidates[first]), float(reached[first])
        start = int(candidates[first - 1])
        check_size(start)


def size_for_width(
    simulate: Callable[[int], np.ndarray],
    width: float,
    assurance: float,
    *,
    start: int,
    tolerance: float,
    least: int = 1,
) -> int:
    """
    Return the approximate n at which a quantile of simulated widths has the required value.

    Widths shrink approximately as 1 / sqrt(n), which gives the next n in each iteration.
    """
    n = start
    for _ in range(12):
        quantile = np.quantile(simulate(n), assurance)
        proposed = max(least, round(n * (quantile / width) ** 2))
        check_size(proposed)
        if abs(proposed - n) <= max(1, tolerance * n):
            break
        n = proposed
    return n


def size_error(n: int, widths: np.ndarray, assurance: float) -> float:
    """Return the standard error of a simulated n, using twice the relative error of a width."""
    step = np.sqrt(assurance * (1 - assurance) / len(widths))
    low, high = np.quantile(widths, np.clip([assurance - step, assurance + step], 0, 1))
    return float(n * (high - low) / np.quantile(widths, assurance))


def check_size(n: float) -> None:
    """Raise an error if a test set would exceed the largest size considered."""
    if n > LARGEST:
        what = f"No sample size up to {LARGEST:,} reaches the goal"
        raise fail(what, ..., "", "relax the goal")


def check_share(name: str, value: Any, lowest: float = 0.0) -> None:
    """Raise an error unless the value is strictly between the lowest value and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise fail(
            f"{name} must be a number between {lowest:g} and 1",
            value,
            "",
            f"pass e.g. {name}={(lowest + 1) / 2:g}",
            TypeError,
        )
    if not lowest < value < 1:
        raise fail(
            f"{name} must be between {lowest:g} and 1",
            value,
            "",
            f"pass e.g. {name}={(lowest + 1) / 2:g}",
        )


def plan_table(measure, goal, assurance, n, unit, error, how):
    """Return a plan as a table with a single row."""
    row = (measure, goal, assurance, n, unit, error, how)
    return pd.DataFrame(
        [row], columns=["measure", "goal", "assurance", "n", "unit", "error", "how"]
    )
