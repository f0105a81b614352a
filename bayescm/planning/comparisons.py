"""How many shared examples it takes to tell two classifiers apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from bayescm.measures.catalogue import resolve
from bayescm.planning.sizes import binomial, check_inside, result, smallest
from bayescm.validate import fail

# What the prior puts into "one right, the other wrong", by the form of the measure: joint outcomes
# of two classifiers and two classes are 8 cells that share a weight of 2.
_WEIGHTS: dict[Any, float] = {("right", "wrong"): 0.5, ("tp", "fn"): 0.25, ("tn", "fp"): 0.25}


def plan_comparison(
    measure: str | Callable = "accuracy",
    *,
    difference: float,
    agreement: float,
    p_better: float = 0.95,
    assurance: float = 0.8,
    margin: float = 0.0,
) -> pd.DataFrame:
    """
    Return the size of a shared test set that reveals the better of two classifiers.

    With a `margin`, of one that shows a new classifier to be no worse than an old one by more.

    Both classifiers are tested on the same examples. Only those on which one is right and the
    other wrong tell them apart: with n01 of these won by the better one and n10 by the other,
    P(better) is the probability that ``Beta(n01 + c, n10 + c)`` exceeds one half, where c is the
    default prior's pseudo-count of such outcomes.

    Parameters
    ----------
    measure : str or callable, default "accuracy"
        ``accuracy``, ``recall`` or ``specificity``: the proportion of correct answers among all
        examples, the positives or the negatives.
    difference : float in (0, 1)
        A plausible difference between the two. With a margin it may be 0, or negative: the new
        one's value less the old one's.
    agreement : float in (0, 1)
        Proportion of examples on which both are right or both wrong; at most ``1 - difference``.
    p_better : float in (0.5, 1), default 0.95
        The posterior probability to be exceeded.
    assurance : float in (0, 1), default 0.8
        Probability of exceeding it.
    margin : float in [0, 1), default 0
        Of non-inferiority: the goal is P(new - old > -margin) >= `p_better`, by an Edgeworth
        expansion of that probability.

    Returns
    -------
    DataFrame, one row
        See `plan`.

    Examples
    --------
    >>> plan_comparison(difference=0.03, agreement=0.9)[["n", "unit"]]
         n      unit
    0  673  examples

    A new test that is as good as the old one, to be no more than .05 worse:

    >>> new = plan_comparison("recall", difference=0, agreement=0.9, margin=0.05)
    >>> new[["n", "unit"]]
         n       unit
    0  249  positives
    """
    kernel = resolve(measure)
    name, weight = kernel.__name__, _WEIGHTS.get(kernel.form)
    if weight is None:
        allowed = "accuracy, recall, specificity"
        raise fail("cannot plan a comparison in this measure", name, allowed, "choose one of these")
    check_inside("difference", difference, -margin if margin else 0.0)
    check_inside("agreement", agreement)
    check_inside("assurance", assurance), check_inside("p_better", p_better, 0.5)
    if margin:
        check_inside("margin", margin)
    if abs(difference) > 1 - agreement:
        raise fail(
            "classifiers that agree this often cannot differ this much",
            {"difference": difference, "agreement": agreement},
            "difference <= 1 - agreement",
            "lower either",
        )
    reach = _comparison_assurance(difference, 1 - agreement, p_better, weight, margin)
    n, reached = smallest(reach, assurance)
    shown = f"P(new - old > -{margin:.4g})" if margin else "P(better)"
    goal = f"{shown} >= {p_better:.4g} for a difference of {difference:.4g}"
    error, how = (np.nan, "expansion") if margin else (0.0, "exact")
    return result(name, goal, reached, n, kernel.unit, error, how)


def _comparison_assurance(difference, discordance, p_better, weight, margin):
    share = (discordance + difference) / discordance / 2

    def enough(wins, losses, rest):
        """Say which outcomes show what is to be shown; those on which both agree weigh as much."""
        wins, losses = wins + weight, losses + weight
        if not margin:
            return special.betaincc(wins, losses, 0.5) >= p_better
        return _above(-margin, wins, losses, rest + 2 * weight) >= p_better

    def reached(n):
        m, probability = binomial(n, discordance)
        # P(better) grows with the wins: the fewest wins that suffice, by bisection for all m.
        low, high = np.full_like(m, -1), m + 1
        while np.any(high - low > 1):
            wins = np.floor((low + high) / 2)
            passed = enough(wins, m - wins, n - m)
            open_ = high - low > 1
            high, low = np.where(open_ & passed, wins, high), np.where(open_ & ~passed, wins, low)
        # P(at least h wins of m) is the regularised incomplete beta I(h, m - h + 1).
        inner = special.betainc(np.maximum(high, 1), np.maximum(m - high + 1, 1), share)
        return probability @ np.select([high > m, high > 0], [0.0, inner], 1.0)

    return lambda sizes: np.array([reached(n) for n in sizes])


def _above(x, wins, losses, rest):
    """
    Return the probability that the difference of two shares of a Dirichlet distribution exceeds x.

    By the Edgeworth expansion with its first three moments: a plan asks a million times.
    """
    total = wins + losses + rest
    first = (wins - losses) / total
    second = (wins * (wins + 1) + losses * (losses + 1) - 2 * wins * losses) / (total * (total + 1))
    third = wins * (wins + 1) * (wins + 2) - losses * (losses + 1) * (losses + 2)
    third += 3 * wins * losses * (losses - wins)
    third /= total * (total + 1) * (total + 2)
    sd = np.sqrt(second - first**2)
    skewness = (third - 3 * first * second + 2 * first**3) / sd**3
    z = (x - first) / sd
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return special.ndtr(-z) + density * skewness * (z**2 - 1) / 6
