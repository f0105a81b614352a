"""
Sample size for the paired comparison of two classifiers on the same examples.

Among m discordant examples, on which exactly one classifier is right, the better one wins x.
P(better) is the probability that Beta(x + c, m - x + c) exceeds one half. m is Binomial(n,
discordance), and x is Binomial(m, (discordance + difference) / (2 discordance)).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from bayescm.measures.catalogue import resolve
from bayescm.planning.proportions import binomial, fewest_successes, prob_at_least
from bayescm.planning.search import check_share, plan_table, smallest_size
from bayescm.validate import fail

# Prior pseudo-counts of "one right, the other wrong", by form of the measure. Joint outcomes of two
# classifiers with two classes have 8 cells that share a weight of 2.
_WEIGHTS: dict[Any, float] = {("right", "wrong"): 0.5, ("tp", "fn"): 0.25, ("tn", "fp"): 0.25}


def plan_comparison(
    measure: str | Callable = "accuracy",
    *,
    difference: float,
    agreement: float,
    p_better: float = 0.95,
    assurance: float = 0.9,
    margin: float = 0.0,
) -> pd.DataFrame:
    """
    Return the size of a test set that reveals the better of two classifiers.

    With a `margin`, return the size that shows that a new classifier is not inferior to an old one.

    Both classifiers are tested on the same examples. Only discordant examples, on which exactly one
    is right, are informative. If the better classifier wins n01 of these and the other n10,
    P(better) is the probability that ``Beta(n01 + c, n10 + c)`` exceeds one half, with c the
    default prior pseudo-count of such outcomes.

    Parameters
    ----------
    measure : str or callable, default "accuracy"
        ``accuracy``, ``recall`` or ``specificity``: the proportion of correct predictions among all
        examples, the positives or the negatives.
    difference : float in (0, 1)
        Plausible difference between the two. With a margin, the difference new - old, which may be
        0 or negative.
    agreement : float in (0, 1)
        Proportion of examples on which both are right or both are wrong; at most ``1 -
        difference``.
    p_better : float in (0.5, 1), default 0.95
        Posterior probability to be reached.
    assurance : float in (0, 1), default 0.9
        Probability of reaching it, over future test sets.
    margin : float in [0, 1), default 0
        Non-inferiority margin. The goal is then P(new - old > -margin) >= `p_better`, computed with
        an Edgeworth expansion.

    Returns
    -------
    DataFrame, one row
        See `plan`.

    Examples
    --------
    >>> plan_comparison(difference=0.03, agreement=0.9)[["n", "unit"]]
         n      unit
    0  926  examples

    To show that a new test is at most 0.05 worse than the old one, if both are equally good:

    >>> new = plan_comparison("recall", difference=0, agreement=0.9, margin=0.05)
    >>> new[["n", "unit"]]
         n       unit
    0  348  positives
    """
    resolved = resolve(measure)
    name, weight = resolved.__name__, _WEIGHTS.get(resolved.form)
    if weight is None:
        raise fail(
            "{} cannot be planned as a comparison",
            name,
            "",
            "choose accuracy, recall or specificity",
        )
    check_share("difference", difference, -margin if margin else 0.0)
    check_share("agreement", agreement)
    check_share("assurance", assurance)
    check_share("p_better", p_better, 0.5)
    if margin:
        check_share("margin", margin)
    discordance = 1 - agreement
    if abs(difference) > discordance:
        raise fail(
            f"A difference of {difference:g} is impossible with an agreement of "
            f"{agreement:g}: it is at most 1 - agreement",
            ...,
            "",
            "lower one of the two",
        )
    p_win = (discordance + difference) / discordance / 2

    def suffices(wins, m, n):
        # The cells "both right" and "both wrong" have one pseudo-count each, too.
        better, worse = wins + weight, m - wins + weight
        if not margin:
            return special.betaincc(better, worse, 0.5) >= p_better
        return _prob_above(-margin, better, worse, n - m + 2 * weight) >= p_better

    def reach(sizes):
        reached = []
        for n in sizes:
            m, probability = binomial(n, discordance)
            wins = fewest_successes(partial(suffices, m=m, n=n), m)
            reached.append(probability @ prob_at_least(wins, m, p_win))
        return np.array(reached)

    n, reached = smallest_size(reach, assurance)
    event = f"P(new - old > -{margin:.4g})" if margin else "P(better)"
    goal = f"{event} >= {p_better:.4g} for a difference of {difference:.4g}"
    error, how = (np.nan, "expansion") if margin else (0.0, "exact")
    return plan_table(name, goal, reached, n, resolved.unit, error, how)


def _prob_above(x, wins, losses, rest):
    """
    Return the probability that the difference of two shares of a Dirichlet exceeds x.

    An Edgeworth expansion with three moments is used, because a plan needs a million evaluations.
    """
    total = wins + losses + rest
    mean = (wins - losses) / total
    second = (wins * (wins + 1) + losses * (losses + 1) - 2 * wins * losses) / (total * (total + 1))
    third = wins * (wins + 1) * (wins + 2) - losses * (losses + 1) * (losses + 2)
    third += 3 * wins * losses * (losses - wins)
    third /= total * (total + 1) * (total + 2)
    sd = np.sqrt(second - mean**2)
    skewness = (third - 3 * mean * second + 2 * mean**3) / sd**3
    z = (x - mean) / sd
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return special.ndtr(-z) + density * skewness * (z**2 - 1) / 6
