"""
Choice of the distribution of a measure, according to the form that the measure declares.

The result is a beta or F1 distribution if one applies. Otherwise it is the distribution of a
function of independent shares (`bayescm.distributions.quadrature`), or None.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bayescm.distributions.beta import F1, Beta, PointMass
from bayescm.distributions.moments import mean_over_classes, multiclass_mcc
from bayescm.distributions.quadrature import FunctionOfShares
from bayescm.distributions.reciprocal import Reciprocal
from bayescm.measures import odds
from bayescm.measures.measure import (
    Cost,
    FunctionOfCells,
    MeanOverClasses,
    Overlap,
    Proportion,
    ReciprocalOf,
    off_diagonal,
)

_CELLS = {"tn": (0, 0), "fp": (0, 1), "fn": (1, 0), "tp": (1, 1)}
_ROWS = {Proportion(*pair) for pair in (("tp", "fn"), ("fn", "tp"), ("tn", "fp"), ("fp", "tn"))}
_PREVALENCE = Proportion("tp+fn", "fp+tn")


def _of_rates(p, t, f):
    """Return tp, fn, fp and tn, given the prevalence, the recall and the false positive rate."""
    return p.v * t.v, p.v * t.c, p.c * f.v, p.c * f.c


# Independent shares that determine a table, each as a pair (cells, other cells), and functions that
# compute the cells from the shares. If some cells are left out, the measure does not depend on
# them.
_SHARES = {
    "rates": [("tp", "fn"), ("fp", "tn")],
    "columns": [("tp", "fp"), ("fn", "tn")],
    "positives": [("fp", "tp+fn"), ("tp", "fn")],
    "cells": [("tn", "tp+fn+fp"), ("fp", "tp+fn"), ("tp", "fn")],
    "errors": [("tp", "fp+fn"), ("fn", "fp")],
    "agreements": [("tp+tn", "fn+fp"), ("fn", "fp"), ("tp", "tn")],
    "table": [_PREVALENCE, ("tp", "fn"), ("fp", "tn")],
}
# The smallest value of Cohen's kappa depends on the prevalence. Near it, the distribution function
# of kappa at a fixed prevalence is a power of the distance, with the weight of the agreements as
# its exponent. With few agreements, quadrature over the prevalence therefore converges slowly. Let
# r be the share of agreements, q the share of fn among the errors, and s the share of tp among the
# agreements. Then the odds of kappa are (1 - r) (1 - 2 q)**2 + r + 4 r**2 s (1 - s) / (1 - r),
# monotone in r and on either side of q = 1/2 and of s = 1/2. With 2 agreements and 5 errors, these
# shares reduce the stated error from 5e-3 to 3e-7 of the interval length. With 8 or more
# agreements, both methods have an error of about 1e-6, and this one takes longer.
_FEW_AGREEMENTS = 8.0
_OF_WALKS = 5e-5  # error of drifting rates, relative to the length of an interval
_MADE: dict[str, Callable] = {
    "rates": lambda t, f: (t.v, t.c, f.v, f.c),
    "columns": lambda t, f: (t.v, f.v, t.c, f.c),
    "positives": lambda u, t: (u.c * t.v, u.c * t.c, u.v, 0.0),
    "cells": lambda s, u, t: (s.c * u.c * t.v, s.c * u.c * t.c, s.c * u.v, s.v),
    "errors": lambda t, r: (t.v, t.c * r.v, t.c * r.c, 0.0),
    "agreements": lambda r, q, s: (r.v * s.v, r.c * q.v, r.c * q.c, r.v * s.c),
    "table": _of_rates,
}
_KINKED: dict[str, tuple[int, ...]] = {
    "errors": (1,),
    "agreements": (1, 2),
}  # shares in which the measure changes direction at 1/2


def _log_odds(*shares, odds, made):
    """Return the log of a measure's odds, given the shares that determine the cells."""
    above, below = odds(*made(*shares))
    return np.log(above / below)


def distribution(measure, concentration):
    """
    Return the distribution of a measure for a Dirichlet posterior, or None.

    Parameters
    ----------
    measure : Measure
        Measure that declares its form.
    concentration : ndarray, shape (..., C, C)
        Dirichlet parameters. For more than two classes, the result is None unless the measure is a
        proportion of correct or of wrong predictions, or the reciprocal of one. Measures of one
        class use the two-class Dirichlet of ``one_vs_rest``.
    """
    form = measure.form
    if isinstance(form, ReciprocalOf):
        return _reciprocal(distribution(form.measure, concentration))
    if isinstance(form, Proportion) and (concentration.shape[-1] == 2 or "right" in form):
        return _beta(concentration, form)
    if form is None or concentration.shape[-1] > 2 or isinstance(form, MeanOverClasses):
        return None
    if isinstance(form, Cost):
        return _of_cost(measure, concentration)
    if form == Overlap(1, 1):
        return _beta(concentration, ("tp", "fp+fn"))
    if form == Overlap(0.5, 0.5):
        return F1(_sum(concentration, "tp"), _sum(concentration, "fp+fn"))
    return _function(measure, concentration)


def by_moments(measure, concentration):
    """Return the distribution of a measure of many classes from its moments, or None."""
    form, many = measure.form, concentration.shape[-1] > 2
    if not (concentration > 0).all():
        return None
    if many and isinstance(form, FunctionOfCells) and form.odds is odds.mcc:
        return multiclass_mcc(concentration)
    if many and isinstance(form, FunctionOfCells) and form.odds is odds.informedness:  # mean recall
        form = MeanOverClasses(Proportion("tp", "fn"))
    if not isinstance(form, MeanOverClasses):
        return None
    parts, shared = _of_every_class(form, concentration)
    if parts is None:
        return None
    return mean_over_classes(parts, concentration if shared else None, measure.included)


def _of_every_class(form, concentration):
    """
    Return the per-class distribution, (..., C), and whether the classes share cells.

    Proportions of rows or columns share no cells. The distribution is None if it is unknown.
    """
    tp = np.einsum("...ii->...i", concentration)
    other = 1 - np.eye(concentration.shape[-1])
    fn, fp = (np.einsum(f"...ij,ij->...{axis}", concentration, other) for axis in "ij")
    by_name = {"tp": tp, "fn": fn, "fp": fp}
    if isinstance(form.form, Proportion) and set(form.form) in ({"tp", "fn"}, {"tp", "fp"}):
        return Beta(*(by_name[cell] for cell in form.form)), False
    kinds = {Overlap(0.5, 0.5): F1, Overlap(1, 1): Beta}
    return (kinds[form.form](tp, fn + fp) if form.form in kinds else None), True


def is_proper(measure, concentration):
    """
    Return True if a measure has a proper distribution although some parameters may be 0.

    Such a measure depends only on sums of parameters that are positive. Parameters as in
    `distribution`.
    """
    form = measure.form
    if form in (Overlap(1, 1), Overlap(0.5, 0.5)):
        sides = ("tp", "fp+fn")
    elif isinstance(form, Proportion) and (concentration.shape[-1] == 2 or "right" in form):
        sides = form
    else:
        return False
    return all((_sum(concentration, side) > 0).all() for side in sides)


def is_of_a_row(measure):
    """Return True if a measure of two classes depends on the rates of one actual class only."""
    return measure.form in _ROWS


def distribution_of_rows(measure, concentration):
    """Return the distribution of a measure of each class, (..., C), from its row alone, or None."""
    if measure.form not in (("tp", "fn"), ("fn", "tp")):
        return None
    right = np.einsum("...ii->...i", concentration)
    missed = np.einsum("...ij,ij->...i", concentration, 1 - np.eye(concentration.shape[-1]))
    return Beta(right, missed) if measure.form.part == "tp" else Beta(missed, right)


def distribution_at_prevalence(measure, concentration, prevalence):
    """Return the distribution of a measure given the distribution of the prevalence, or None."""
    form = measure.form
    if isinstance(form, ReciprocalOf):
        return _reciprocal(distribution_at_prevalence(form.measure, concentration, prevalence))
    if form == _PREVALENCE:
        return prevalence
    if form in _ROWS:
        return _beta(concentration, form)
    if isinstance(form, FunctionOfCells) and form.shares == "rates":
        return _function(measure, concentration)
    odds_of = _odds_of(form)
    if odds_of is None:
        return None
    support = measure.range
    if odds_of is odds.lift and isinstance(prevalence, PointMass):
        # Lift is at most 1 / p, so it is the precision in another unit.
        odds_of, support = odds.proportion("tp", "fp"), (0.0, 1 / prevalence.at)
    shares = prevalence, *(_beta(concentration, cells) for cells in _SHARES["rates"])
    function = partial(_log_odds, odds=odds_of, made=_of_rates)
    outer = None if _is_monotone(measure.form) else 0
    return FunctionOfShares(shares, function, support, outer=outer)


def distribution_of_rates(measure, prevalence, recall, fpr):
    """Return the distribution of a measure of three independent rates that drift, or None."""
    if isinstance(measure.form, ReciprocalOf):
        return _reciprocal(distribution_of_rates(measure.form.measure, prevalence, recall, fpr))
    odds_of = _odds_of(measure.form)
    if odds_of is None:
        return None
    function = partial(_log_odds, odds=odds_of, made=_of_rates)
    outer = None if _is_monotone(measure.form) else 0
    shares = prevalence, recall, fpr
    return FunctionOfShares(
        shares, function, measure.range, outer=outer, accuracy=1e-3, share_error=_OF_WALKS
    )


def _reciprocal(inner):
    """Return the distribution of 1 / x given the distribution of x, or None if that is None."""
    return None if inner is None else Reciprocal(inner)


def _is_monotone(form):
    """Return True if a form is monotone in a prevalence that is independent of the sample."""
    return not isinstance(form, FunctionOfCells) or form.monotone_in_prevalence


def _odds_of(form) -> Any:
    """Return the odds of a form as a function of the cells, or None if they are unknown."""
    if isinstance(form, FunctionOfCells):
        return form.odds
    if isinstance(form, Proportion):
        return odds.proportion(*form)
    if isinstance(form, Overlap) and any(form):
        return odds.tversky(*form)
    if isinstance(form, Cost) and len(form.matrix) == 2 and np.ptp(form.matrix):
        return odds.cost(form.matrix)
    return None


def _function(measure, concentration):
    """Return the distribution of a function of the cells of a table, or None."""
    form, odds_of = measure.form, _odds_of(measure.form)
    if odds_of is None:
        return None
    kind = form.shares if isinstance(form, FunctionOfCells) else "positives"
    if odds_of is odds.cohen_kappa and (_sum(concentration, "tp+tn") < _FEW_AGREEMENTS).any():
        kind = "agreements"
    shares = tuple(_beta(concentration, cells) for cells in _SHARES[kind])
    return FunctionOfShares(
        shares,
        partial(_log_odds, odds=odds_of, made=_MADE[kind]),
        measure.range,
        # MCC and Cohen's kappa need not be monotone in the prevalence. Other measures use shares
        # that exclude the prevalence.
        outer=0 if kind == "table" else None,
        kinked=_KINKED.get(kind, ()),
        power_moment=_POWER_MOMENTS.get(odds_of),
    )


def _of_cost(measure, concentration):
    """Return the distribution of a cost, by stick breaking from the most expensive cells."""
    matrix = measure.form.matrix
    if len(matrix) != 2:
        return None
    if not np.ptp(matrix):
        return PointMass(np.full(concentration.shape[:-2], matrix[0][0]))
    costs = {cell: matrix[row][column] for cell, (row, column) in _CELLS.items()}
    alike = [
        [cell for cell in _CELLS if costs[cell] == cost]
        for cost in sorted(set(costs.values()), reverse=True)
    ]
    shares = []
    for index, cells in enumerate(alike[:-1]):
        rest = [cell for same in alike[index + 1 :] for cell in same]
        shares.append(_beta(concentration, ("+".join(cells), "+".join(rest))))

    def made(*sticks):
        """Return the cells, with cells of equal cost merged into one."""
        cells, left = dict.fromkeys(_CELLS, 0.0), 1.0
        for index, same in enumerate(alike):
            last = index == len(sticks)
            cells[same[0]] = left if last else left * sticks[index].v
            left = left if last else left * sticks[index].c
        return cells["tp"], cells["fn"], cells["fp"], cells["tn"]

    log_odds = partial(_log_odds, odds=odds.cost(matrix), made=made)
    return FunctionOfShares(tuple(shares), log_odds, measure.range)


def _power(a, b, k):
    """Return E v**k for v ~ Beta(a, b), which is infinite if a + k <= 0."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    steps = np.arange(abs(k)) if k > 0 else -1.0 - np.arange(abs(k))
    value = np.ones(np.broadcast_shapes(a.shape, b.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        for step in steps:
            ratio = (a + step) / (a + b + step)
            value = value * (ratio if k > 0 else 1 / ratio)
    return np.where(a + k > 0, value, np.inf)


def _odds_power(a, b, k):
    """Return E (v / (1 - v))**k for v ~ Beta(a, b), which may be infinite."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    value = np.ones(np.broadcast_shapes(a.shape, b.shape))
    for step in range(k):
        with np.errstate(divide="ignore"):
            value = value * (a + step) / (b - 1 - step)
    return np.where(b > k, value, np.inf)


# E x**k for ratios, which may be infinite. Lift is at most one over the prevalence, and close to
# that bound if there are few negatives.
_POWER_MOMENTS: dict[Callable, Callable] = {
    odds.lift: lambda k, s, u, t: np.where(t.a + t.b > k, np.nan, np.inf),
    odds.positive_likelihood_ratio: lambda k, t, f: _power(t.a, t.b, k) * _power(f.a, f.b, -k),
    odds.negative_likelihood_ratio: lambda k, t, f: _power(t.b, t.a, k) * _power(f.b, f.a, -k),
    odds.diagnostic_odds_ratio: lambda k, t, f: _odds_power(t.a, t.b, k) * _odds_power(f.b, f.a, k),
}


def _beta(concentration, form):
    return Beta(_sum(concentration, form[0]), _sum(concentration, form[1]))


def _sum(concentration, cells):
    if cells == "right":
        return np.einsum("...ii->...", concentration)
    if cells == "wrong":
        return off_diagonal(concentration)
    return sum(concentration[(..., *_CELLS[cell])] for cell in cells.split("+"))
