"""Sizes of test sets: what is counted, how often each outcome comes, the smallest that will do."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import special

from bayescm.measures.catalogue import names, resolve
from bayescm.validate import fail

# What the proportions are proportions of.
UNITS = {name: unit for name in names() if (unit := resolve(name).unit)}
# No test set of more than this is looked for.
LARGEST = 10_000_000


def result(measure, goal, assurance, n, unit, error, how):
    """Return a plan as a table of one row."""
    row = (measure, goal, assurance, n, unit, error, how)
    return pd.DataFrame(
        [row], columns=["measure", "goal", "assurance", "n", "unit", "error", "how"]
    )


def check_inside(name, value, lowest=0.0):
    """Raise unless the value lies strictly between the lowest and 1."""
    allowed = f"{lowest:g} < {name} < 1"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise fail(f"{name} must be a number", value, allowed, f"pass {allowed}", TypeError)
    if not lowest < value < 1:
        raise fail(f"{name} is out of range", value, allowed, "pass a number between the two")


def binomial(n, p):
    """Return the outcomes of n trials within nine standard deviations, and their probabilities."""
    reach = 9 * np.sqrt(n * p * (1 - p)) + 9
    x = np.arange(max(0, np.floor(n * p - reach)), min(n, np.ceil(n * p + reach)) + 1)
    log = special.xlogy(x, p) + special.xlog1py(n - x, -p) - special.betaln(x + 1, n - x + 1)
    return x, np.exp(log) / (n + 1)


def beta_binomial(n, a, b):
    """Return the outcomes of n trials of a share drawn from Beta(a, b), and probabilities."""
    x = np.arange(n + 1.0)
    log = special.betaln(x + a, n - x + b) - special.betaln(x + 1, n - x + 1) - special.betaln(a, b)
    return x, np.exp(log) / (n + 1)


def smallest(reach: Callable[[np.ndarray], np.ndarray], assurance: float) -> tuple[int, float]:
    """Return the n from which on the assurance holds, and the assurance there."""

    def holds(n):
        return reach(np.array([n]))[0] >= assurance

    high = 8
    while not holds(high):
        high *= 2
        if high > LARGEST:
            what = f"no sample size up to {LARGEST:,} reaches the goal"
            raise fail(what, ..., "", "relax the goal")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    # Whole counts make saw teeth: look around for the last n that falls short.
    around = 20 + 2 * int(np.sqrt(high))
    near = np.arange(max(1, high - around), high + around)
    reached = reach(near)
    short = np.flatnonzero(reached < assurance)
    first = short[-1] + 1 if len(short) else 0
    return int(near[first]), float(reached[first])
