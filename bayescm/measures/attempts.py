"""
Measures of repeated answers: the mean, pass@k, pass^k, a majority, and how items differ.

They are functions of draws of how the items' rates of right answers are distributed (`Rates`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from bayescm.measures.forms import Repeated
from bayescm.measures.kernel import Measure
from bayescm.validate import fail


@dataclass(frozen=True, eq=False)
class Rates:
    """
    Draws of the distribution of the items' rates.

    Attributes
    ----------
    support : ndarray, shape (M,)
        Rates from 0 to 1.
    weight : ndarray, shape (..., M)
        The share of items with each rate; each row sums to 1.
    """

    support: np.ndarray
    weight: np.ndarray

    def mean(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the mean over the items of a function of their rates, (...)."""
        return self.weight @ function(self.support)


def _measure(formula, name, answers, **facts):
    facts.setdefault("range", (0.0, 1.0))
    known: dict[str, Any] = {"canonical": name, "takes": "attempts", "needs_positive": False}
    return Measure(formula, formula, name, form=Repeated(answers), **known, **facts)


def _mean(rates):
    """Proportion of right answers: the mean over the items of their rates."""
    return rates.mean(lambda p: p)


def _between(rates):
    """Variance of the rates between items."""
    return rates.mean(lambda p: p**2) - rates.mean(lambda p: p) ** 2


def _within(rates):
    """Variance of an answer about the rate of its item, on average."""
    return rates.mean(lambda p: p * (1 - p))


mean = _measure(_mean, "mean", 1, aliases=("mean_over_attempts",))
variance_between = _measure(
    _between, "variance_between", 2, lower_is_better=True, range=(0.0, 0.25)
)
variance_within = _measure(_within, "variance_within", 2, lower_is_better=True, range=(0.0, 0.25))


def pass_at(k: int) -> Measure:
    """
    Return pass@k: the chance that at least one of k answers to an item is right.

    Examples
    --------
    >>> one = Rates(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 0.0]))
    >>> float(pass_at(2)(one))
    0.375
    """
    k = _whole(k, "pass_at")

    def formula(rates):
        return rates.mean(lambda p: 1 - (1 - p) ** k)

    formula.__doc__ = f"Chance that at least one of {k} answers to an item is right."
    return _measure(formula, f"pass_at({k})", k)


def pass_all(k: int) -> Measure:
    """
    Return pass^k: the chance that all of k answers to an item are right.

    Examples
    --------
    >>> one = Rates(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 0.0]))
    >>> float(pass_all(2)(one))
    0.125
    """
    k = _whole(k, "pass_all")

    def formula(rates):
        return rates.mean(lambda p: p**k)

    formula.__doc__ = f"Chance that all of {k} answers to an item are right."
    return _measure(formula, f"pass_all({k})", k)


def majority_at(k: int) -> Measure:
    """
    Return the chance that more than half of k answers to an item are right; a tie counts half.

    Wrong answers may differ among themselves, so that a plurality is right more often.

    Examples
    --------
    >>> one = Rates(np.array([0.0, 0.5, 1.0]), np.array([0.25, 0.5, 0.25]))
    >>> float(majority_at(3)(one))
    0.5
    """
    k = _whole(k, "majority_at")

    def chance(p):
        every: Any = 0.0
        for right in range((k + 1) // 2, k + 1):
            worth = 0.5 if 2 * right == k else 1.0
            every = every + worth * comb(k, right) * p**right * (1 - p) ** (k - right)
        return every

    def formula(rates):
        return rates.mean(chance)

    formula.__doc__ = f"Chance that more than half of {k} answers are right; a tie counts half."
    return _measure(formula, f"majority_at({k})", k)


def _whole(k, name):
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= 1000:
        raise fail(f"{name} needs a number of answers", k, "1 to 1000", f'write "{name}(4)"')
    return int(k)


FACTORIES = {"pass_at": pass_at, "pass_all": pass_all, "majority_at": majority_at}
