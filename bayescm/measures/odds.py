"""
Measures of two classes, expressed as odds.

A measure x in (low, high) equals ``low + (high - low) * above / (above + below)``, and a measure in
(0, inf) equals ``above / below``. Each function returns ``above`` and ``below`` as functions of the
cells, using only sums and products of positive numbers. The log odds are therefore accurate near
both ends of the range, even if a cell is almost 0. `bayescm.distributions.quadrature` derives the
distribution of a measure from these definitions.

The cells may be arrays or any numbers that support addition, multiplication and division, such as
`bayescm.distributions.quadrature.LogNumber`.

Examples
--------
>>> above, below = informedness(65.0, 15.0, 35.0, 30.0)
>>> round(2 * above / (above + below) - 1, 4) == round(65 / 80 + 30 / 65 - 1, 4)
True
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Pair = tuple[Any, Any]


def informedness(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """Recall + specificity - 1; rescaled to (0, 1), it is the mean of recall and specificity."""
    positive, negative = tp + fn, fp + tn
    return tp * negative + tn * positive, fn * negative + fp * positive


def markedness(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """Precision + negative predictive value - 1: informedness of the transposed table."""
    return informedness(tp, fp, fn, tn)


def positive_likelihood_ratio(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """Recall divided by the false positive rate."""
    return tp * (fp + tn), fp * (tp + fn)


def negative_likelihood_ratio(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """Ratio of the false negative rate to specificity."""
    return fn * (fp + tn), tn * (tp + fn)


def diagnostic_odds_ratio(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """Odds of a positive prediction for positives, divided by the odds for negatives."""
    return tp * tn, fn * fp


def lift(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """Precision divided by prevalence."""
    return tp * (tp + fn + fp + tn), (tp + fn) * (tp + fp)


def fowlkes_mallows(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """
    Geometric mean of precision and recall.

    It is tp / g, where g**2 = (tp + fn) (tp + fp); g - tp = (tp fn + tp fp + fn fp) / (tp + g).
    """
    geometric = np.sqrt((tp + fn) * (tp + fp))
    return tp * (tp + geometric), tp * (fn + fp) + fn * fp


def overlap(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """Larger of precision and recall."""
    return tp, np.minimum(fn, fp)


def mcc(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """
    Matthews correlation coefficient.

    It is x = (A - B) / r for A = tp tn and B = fn fp, where r**2 is the product of the margins and
    r**2 - (A - B)**2 = D = n (A (fn + fp) + B (tp + tn)). The odds are (r + A - B) / (r - A + B) =
    (r + A - B)**2 / D. To avoid cancellation, r - B is computed as (r**2 - B**2) / (r + B), with
    r**2 = (tp (tp + e) + B) (tn (tn + e) + B) for e = fn + fp.
    """
    errors, right, wrong = fn + fp, tp * tn, fn * fp
    first, second = tp * (tp + errors), tn * (tn + errors)
    root = np.sqrt((first + wrong) * (second + wrong))
    above = right + (first * (second + wrong) + wrong * second) / (root + wrong)
    return np.square(above), (errors + tp + tn) * (right * errors + wrong * (tp + tn))


def cohen_kappa(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
    """Cohen's kappa (o - e) / (1 - e), for observed agreement o and chance agreement e."""
    errors, right = fn + fp, tp + tn
    above = np.square(fn - fp) + right * errors + 4 * (tp * tn)
    return above, errors * (errors + right)


def proportion(part: str, rest: str) -> Callable:
    """Return a function for the odds of some cells, such as "tp+fp", against others."""

    def odds(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
        cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
        sums = {"right": "tp+tn", "wrong": "fn+fp"}
        return tuple(
            sum_of([cells[cell] for cell in sums.get(side, side).split("+")])
            for side in (part, rest)
        )

    return odds


def tversky(fn_weight: float, fp_weight: float) -> Callable:
    """Return a function for the odds of tp / (tp + fn_weight * fn + fp_weight * fp)."""

    def odds(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
        errors = [w * cell for w, cell in ((fn_weight, fn), (fp_weight, fp)) if w]
        return tp, sum_of(errors)

    return odds


def cost(matrix: tuple[tuple[float, ...], ...]) -> Callable:
    """Return a function for the odds of the mean cost per example between its extremes."""
    costs = dict(zip(("tn", "fp", "fn", "tp"), np.ravel(matrix).tolist(), strict=True))
    least, most = min(costs.values()), max(costs.values())

    def odds(tp: Any, fn: Any, fp: Any, tn: Any) -> Pair:
        cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
        return (
            sum_of([(costs[cell] - least) * cells[cell] for cell in cells if costs[cell] > least]),
            sum_of([(most - costs[cell]) * cells[cell] for cell in cells if costs[cell] < most]),
        )

    return odds


def sum_of(terms: list) -> Any:
    """Return the sum of one or more terms."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
