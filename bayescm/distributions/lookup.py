"""
Which measure has which distribution: read from what the measure says of its form.

A beta or F1 distribution where the form is one, else an integral, where
`bayescm.distributions.integrals.inverses` knows where the measure takes a given value; else None.
"""

from collections.abc import Callable

import numpy as np

from bayescm.distributions.beta import F1, Beta, PointMass
from bayescm.distributions.incomplete import Share
from bayescm.distributions.integrals import at_prevalence, inverses, scales
from bayescm.distributions.integrals.averages import mean_of
from bayescm.distributions.integrals.correlation import correlation
from bayescm.distributions.integrals.inverses import Inverse, no_cuts
from bayescm.distributions.integrals.quadrature import OfTables, Quadrature
from bayescm.measures.forms import Cost, Function, MeanOverClasses, Overlap, Proportion
from bayescm.measures.kernel import off_diagonal

_CELLS = {"tn": (0, 0), "fp": (0, 1), "fn": (1, 0), "tp": (1, 1)}
_ROWS = {Proportion(*pair) for pair in (("tp", "fn"), ("fn", "tp"), ("tn", "fp"), ("fp", "tn"))}
_PREVALENCE = Proportion("tp+fn", "fp+tn")
# The independent proportions that a function of two classes is one of: that which is solved for
# first. Below, the cells that they make.
_SHARES = {
    "rates": [("tp", "fn"), ("fp", "tn")],
    "columns": [("tp", "fp"), ("fn", "tn")],
    "errors": [("tp", "fp+fn"), ("fn", "fp")],
    "answers": [("fp+fn", "tp+tn"), ("fn", "fp"), ("tp", "tn")],
    "table": [_PREVALENCE, ("tp", "fn"), ("fp", "tn")],
}
_HALF = Share(np.array(0.5), np.array(0.5))


def _table(p, t, f):
    return _square(p.c * f.c, p.c * f.v, p.v * t.c, p.v * t.v)


_FORWARD: dict[str, Callable] = {
    "rates": lambda t, f: _table(_HALF, t, f),
    "columns": lambda t, f: _square(f.c, t.c, f.v, t.v),
    "errors": lambda t, r: _square(np.zeros_like(t.v), t.c * r.c, t.c * r.v, t.v),
    "answers": lambda e, r, s: _square(e.c * s.c, e.v * r.c, e.v * r.v, e.c * s.v),
    "table": _table,
}


def distribution(measure, weights):
    """
    Return the distribution of a measure at theta ~ Dirichlet(weights), or None where there is none.

    Parameters
    ----------
    measure : Measure
    weights : ndarray, shape (..., C, C)
        For more than two classes only measures of right against wrong have a distribution; those of
        one class come as the two-class Dirichlet of ``one_vs_rest``.
    """
    form = measure.form
    if isinstance(form, Proportion) and (weights.shape[-1] == 2 or "right" in form):
        return _beta(weights, form)
    if form is None or weights.shape[-1] > 2 or isinstance(form, MeanOverClasses):
        return None
    if isinstance(form, Cost):
        return _of_cost(form.matrix, weights)
    if form == Overlap(1, 1):
        return _beta(weights, ("tp", "fp+fn"))
    if form == Overlap(0.5, 0.5):
        return F1(_sum(weights, "tp"), _sum(weights, "fp+fn"))
    return _integral(measure, weights)


def by_moments(measure, weights):
    """Return the distribution of a measure of many classes by its moments, or None."""
    form, many = measure.form, weights.shape[-1] > 2
    if not (weights > 0).all():
        return None
    if form == Function("answers", "correlation") and many:
        return correlation(weights)
    if form == Function("rates", "mean") and many:
        form = MeanOverClasses(Proportion("tp", "fn"))
    if not isinstance(form, MeanOverClasses):
        return None
    parts, shared = _of_every_class(form, weights)
    return None if parts is None else mean_of(parts, weights if shared else None)


def _of_every_class(form, weights):
    """
    Return the distribution, (..., C), of that of which a form is the mean over classes, or None.

    And whether the classes have cells in common. Proportions of rows and of columns have none.
    """
    tp = np.einsum("...ii->...i", weights)
    other = 1 - np.eye(weights.shape[-1])
    fn, fp = (np.einsum(f"...ij,ij->...{axis}", weights, other) for axis in "ij")
    known = {"tp": tp, "fn": fn, "fp": fp}
    if isinstance(form.form, Proportion) and set(form.form) in ({"tp", "fn"}, {"tp", "fp"}):
        return Beta(*(known[each] for each in form.form)), False
    kinds = {Overlap(0.5, 0.5): F1, Overlap(1, 1): Beta}
    return (kinds[form.form](tp, fn + fp) if form.form in kinds else None), True


def is_proper(measure, weights):
    """Say whether a measure has a distribution though some parameters are 0: of sums that are not.

    Parameters as of `distribution`.
    """
    form = measure.form
    if form in (Overlap(1, 1), Overlap(0.5, 0.5)):
        sides = ("tp", "fp+fn")
    elif isinstance(form, Proportion) and (weights.shape[-1] == 2 or "right" in form):
        sides = form
    else:
        return False
    return all((_sum(weights, each) > 0).all() for each in sides)


def is_of_a_row(measure):
    """Say whether a measure of two classes depends on the rates of one actual class alone."""
    return measure.form in _ROWS


def distribution_of_rows(measure, weights):
    """Return the distribution of a measure of each class, (..., C), from its row alone, or None."""
    if measure.form not in (("tp", "fn"), ("fn", "tp")):
        return None
    found = np.einsum("...ii->...i", weights)
    missed = np.einsum("...ij,ij->...i", weights, 1 - np.eye(weights.shape[-1]))
    return Beta(found, missed) if measure.form.part == "tp" else Beta(missed, found)


def distribution_at_prevalence(measure, weights, prevalence):
    """Return the distribution of a measure given that of the prevalence, or None."""
    form = measure.form
    if form == _PREVALENCE:
        return prevalence
    if form in _ROWS:
        return _beta(weights, form)
    if isinstance(form, Function) and form.of == "rates":
        return _integral(measure, weights)
    inverse, scale = _at_prevalence(form)
    if inverse is None:
        return None
    recall, fpr = (_beta(weights, each) for each in _SHARES["rates"])
    if isinstance(prevalence, PointMass):
        prevalence = PointMass(np.broadcast_to(prevalence.at, fpr.a.shape))
    outer = prevalence, fpr
    return Quadrature(inverse, recall, outer, lambda t, p, f: measure(_table(p, t, f)), scale)


def distribution_of_rates(measure, prevalence, recall, fpr):
    """Return the distribution of a measure of three independent rates, given as tables, or None."""
    form = measure.form
    outer: tuple = prevalence, fpr
    inverse, scale = _at_prevalence(form)
    if isinstance(form, Function) and form.of == "rates":
        inverse, scale, outer = inverses.RATES[form.name], scales.FUNCTIONS[form], outer[1:]
    if inverse is None:
        return None
    # It is for betas that is known where the measure takes a value.
    inverse = Inverse(no_cuts, support=inverse.support)
    return OfTables(inverse, recall, outer, no_cuts, scale, accuracy=1e-3)


def _at_prevalence(form):
    """Return the inverse and the scale of a form by prevalence, recall and false positive rate."""
    if isinstance(form, Overlap) and any(form):
        return at_prevalence.tversky(*form), scales.tversky_at_prevalence(*form)
    if isinstance(form, Cost) and len(form.matrix) == 2:
        matrix = np.array(form.matrix)
        return at_prevalence.cost(matrix), scales.cost_at_prevalence(matrix)
    return at_prevalence.TABLE.get(form), scales.TABLE.get(form)


def _integral(measure, weights):
    """Return the distribution of a function of independent shares, or None."""
    form = measure.form
    if isinstance(form, Overlap):
        if not any(form):
            return None
        of, inverse, scale = "errors", inverses.tversky_of_errors(*form), scales.tversky(*form)
    else:
        of, inverse = form.of, inverses.FUNCTIONS[form.of][form.name]
        scale = scales.FUNCTIONS[form]
    inner, *outer = (_beta(weights, each) for each in _SHARES[of])
    forward = _FORWARD[of]
    return Quadrature(
        inverse, inner, tuple(outer), lambda *shares: measure(forward(*shares)), scale
    )


def _of_cost(matrix, weights):
    """Return the distribution of a cost, by the share of the two dear cells."""
    if len(matrix) != 2:
        return None
    each = {cell: matrix[row][column] for cell, (row, column) in _CELLS.items()}
    cells = sorted(each, key=each.__getitem__)
    low, high = cells[:2], cells[2:]
    costs = [(each[a], each[b]) for a, b in (low, high)]
    if costs[0][0] == costs[1][1]:
        return PointMass(np.full(weights.shape[:-2], costs[0][0]))

    def forward(t, r, s):
        dear = costs[1][0] * r.v + costs[1][1] * r.c
        return t.v * dear + t.c * (costs[0][0] * s.v + costs[0][1] * s.c)

    outer = tuple(
        _beta(weights, pair) if cost[0] != cost[1] else PointMass(np.full(weights.shape[:-2], 0.5))
        for pair, cost in [(high, costs[1]), (low, costs[0])]
    )
    return Quadrature(
        inverses.cost_of_shares(*costs),
        _beta(weights, ("+".join(high), "+".join(low))),
        outer,
        forward,
        scales.cost_of_shares(*costs),
    )


def _square(tn, fp, fn, tp):
    tn, fp, fn, tp = np.broadcast_arrays(tn, fp, fn, tp)
    return np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)


def _beta(weights, form):
    return Beta(_sum(weights, form[0]), _sum(weights, form[1]))


def _sum(weights, cells):
    if cells == "right":
        return np.einsum("...ii->...", weights)
    if cells == "wrong":
        return off_diagonal(weights)
    return sum(weights[(..., *_CELLS[cell])] for cell in cells.split("+"))
