"""
Search for the size of a test set: the smallest n that reaches a goal, and the error of n.

The assurance of a goal is either a function of n that is computed exactly, which has saw teeth
because counts are whole, or a share of simulated test sets, whose intervals shrink about as
1 / sqrt(n).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import fail

# No test set of more units than this is looked for.
LARGEST = 10_000_000


def smallest_size(
    reach: Callable[[np.ndarray], np.ndarray], assurance: float, *, tooth: float = 0.0
) -> tuple[int, float]:
    """
    Return the n from which on the assurance is reached, and the assurance there.

    Parameters
    ----------
    reach : callable
        From sizes to the assurance of each.
    assurance : float
    tooth : float
        How many sizes one saw tooth has at most: one more failure allowed, one tooth further.
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
    # Whole counts make saw teeth: look around for the last n that falls short, and on from there
    # until a whole tooth does not.
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
    Return about the n at which a quantile of simulated widths is the width asked for.

    Widths shrink about as 1 / sqrt(n), which leads from one n to the next.
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
    """Return the standard error of a simulated n, whose relative error is twice that of a width."""
    step = np.sqrt(assurance * (1 - assurance) / len(widths))
    low, high = np.quantile(widths, np.clip([assurance - step, assurance + step], 0, 1))
    return float(n * (high - low) / np.quantile(widths, assurance))


def check_size(n: float) -> None:
    """Raise where a test set would be larger than any that is looked for."""
    if n > LARGEST:
        what = f"no sample size up to {LARGEST:,} reaches the goal"
        raise fail(what, ..., "", "relax the goal")


def check_share(name: str, value: Any, lowest: float = 0.0) -> None:
    """Raise unless the value lies strictly between the lowest and 1."""
    allowed = f"{lowest:g} < {name} < 1"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise fail(f"{name} must be a number", value, allowed, f"pass {allowed}", TypeError)
    if not lowest < value < 1:
        raise fail(f"{name} is out of range", value, allowed, "pass a number between the two")


def plan_table(measure, goal, assurance, n, unit, error, how):
    """Return a plan as a table of one row."""
    row = (measure, goal, assurance, n, unit, error, how)
    return pd.DataFrame(
        [row], columns=["measure", "goal", "assurance", "n", "unit", "error", "how"]
    )
