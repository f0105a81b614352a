"""
Which measure has which exact distribution.

A new measure has one as soon as it is a beta variable (an entry in ``_BETAS``), or as soon as
`bayescm.distributions.inverses` knows where it takes a given value.
"""

import numpy as np

from bayescm.distributions import inverses
from bayescm.distributions.beta import F1, Beta, PointMass
from bayescm.distributions.incomplete import Share
from bayescm.distributions.quadrature import Quadrature
from bayescm.measures import catalogue as measures
from bayescm.measures import kernel as kernels

# Of a two-class Dirichlet: the cells whose parameters are summed, for either parameter of a beta.
_TN, _FP, _FN, _TP = (0, 0), (0, 1), (1, 0), (1, 1)
_ROWS = {
    measures.recall: ([_TP], [_FN]),
    measures.specificity: ([_TN], [_FP]),
    measures.fpr: ([_FP], [_TN]),
    measures.fnr: ([_FN], [_TP]),
}
_BETAS = _ROWS | {
    measures.precision: ([_TP], [_FP]),
    measures.npv: ([_TN], [_FN]),
    measures.fdr: ([_FP], [_TP]),
    measures.for_: ([_FN], [_TN]),
    measures.jaccard: ([_TP], [_FP, _FN]),
    measures.prevalence: ([_TP, _FN], [_FP, _TN]),
    measures.predicted_prevalence: ([_TP, _FP], [_FN, _TN]),
}
_MICRO_ACCURACY = ("precision_micro", "recall_micro", "f1_micro", "fowlkes_mallows_micro")
_MICRO_ERROR = ("fdr_micro", "fnr_micro")


def distribution(kernel, weights):
    """
    Return the distribution of a measure at theta ~ Dirichlet(weights), or None where there is none.

    Parameters
    ----------
    kernel : Kernel
    weights : ndarray, shape (..., C, C)
        For more than two classes only measures of right against wrong have a distribution; those of
        one class come as the two-class Dirichlet of ``one_vs_rest``.
    """
    side = _right_or_wrong(kernel)
    if side:
        right = np.einsum("...ii->...", weights)
        wrong = kernels.off_diagonal(weights)
        return Beta(right, wrong) if side == "right" else Beta(wrong, right)
    if weights.shape[-1] > 2:
        return None
    if kernel in _BETAS:
        return _beta(weights, *_BETAS[kernel])
    if kernel is measures.f1:
        return F1(_sum(weights, [_TP]), _sum(weights, [_FP, _FN]))
    ways = (_of_errors, _of_columns, _of_rates, _of_shares, _of_lift, _of_cost)
    return next((found for way in ways if (found := way(kernel, weights))), None)


def distribution_of_rows(kernel, weights):
    """Return the distribution of a measure of each class, (..., C), from its row alone, or None."""
    if kernel not in (measures.recall, measures.fnr):
        return None
    found = np.einsum("...ii->...i", weights)
    missed = np.einsum("...ij,ij->...i", weights, 1 - np.eye(weights.shape[-1]))
    return Beta(found, missed) if kernel is measures.recall else Beta(missed, found)


def distribution_at_prevalence(kernel, weights, prevalence):
    """Return the distribution of a measure given that of the prevalence, or None."""
    if kernel is measures.prevalence:
        return prevalence
    if kernel in _ROWS:
        return _beta(weights, *_ROWS[kernel])
    side = _right_or_wrong(kernel)
    if side:
        kernel = measures.accuracy if side == "right" else measures.error_rate
    return _of_rates(kernel, weights) or _of_table(kernel, weights, prevalence)


def _right_or_wrong(kernel):
    """Say whether the measure is the accuracy or its complement, averages over classes included."""
    averaged = getattr(kernel, "keywords", {}).get("kernel")
    if kernel is measures.accuracy or kernel is measures.error_rate:
        return "right" if kernel is measures.accuracy else "wrong"
    if averaged is None or not kernel.__name__.endswith("_micro"):
        return None
    if kernel.__name__ in _MICRO_ACCURACY or sum(getattr(averaged, "tversky", ())) == 1:
        return "right"
    return "wrong" if kernel.__name__ in _MICRO_ERROR else None


def _own(kernel):
    """Return the name of a measure of the catalogue, None for a user's that is called the same."""
    name = getattr(kernel, "__name__", "")
    return name if getattr(measures, name, None) is kernel else None


def _of_rates(kernel, weights):
    """Return the distribution of what depends on recall and false positive rate only."""
    inverse = inverses.RATES.get(_own(kernel))
    if inverse is None:
        return None
    half = Share(np.array(0.5), np.array(0.5))
    outer = (_beta(weights, [_FP], [_TN]),)
    return Quadrature(
        inverse, _beta(weights, [_TP], [_FN]), outer, lambda t, f: kernel(_cells(t, half, f))
    )


def _of_columns(kernel, weights):
    """Return the distribution of the markedness: the informedness with the columns for the rows."""
    if kernel is not measures.markedness:
        return None
    outer = (_beta(weights, [_FN], [_TN]),)
    return Quadrature(
        inverses.DIFFERENCE, _beta(weights, [_TP], [_FP]), outer, lambda t, f: t.v - f.v
    )


def _of_errors(kernel, weights):
    """Return the distribution of what depends on the hits and the two kinds of error only."""
    inverse = inverses.ERRORS.get(_own(kernel))
    if inverse is None and sum(getattr(kernel, "tversky", ())) > 0:
        inverse = inverses.tversky_of_errors(*kernel.tversky)
    if inverse is None:
        return None

    def forward(t, r):
        return kernel(_square(np.zeros_like(t.v), t.c * r.c, t.c * r.v, t.v))

    outer = (_beta(weights, [_FN], [_FP]),)
    return Quadrature(inverse, _beta(weights, [_TP], [_FP, _FN]), outer, forward)


def _of_shares(kernel, weights):
    """Return the distribution of what depends on three shares: wrong, and those within either."""
    inverse = inverses.SHARES.get(_own(kernel))
    if inverse is None:
        return None

    def forward(e, r, s):
        return kernel(_square(e.c * s.c, e.v * r.c, e.v * r.v, e.c * s.v))

    outer = (_beta(weights, [_FN], [_FP]), _beta(weights, [_TP], [_TN]))
    return Quadrature(inverse, _beta(weights, [_FP, _FN], [_TP, _TN]), outer, forward)


def _of_lift(kernel, weights):
    if kernel is not measures.lift:
        return None
    outer = (_beta(weights, [_TP], [_FN]), _beta(weights, [_FP], [_TN]))
    prevalence = _beta(weights, [_TP, _FN], [_FP, _TN])
    return Quadrature(
        inverses.LIFT, prevalence, outer, lambda p, t, f: t.v / (p.v * t.v + p.c * f.v)
    )


def _of_cost(kernel, weights):
    """Return the distribution of a cost, by the share of the two dear cells."""
    matrix = getattr(kernel, "keywords", {}).get("matrix")
    if matrix is None or np.shape(matrix) != (2, 2):
        return None
    cells = sorted([_TN, _FP, _FN, _TP], key=lambda cell: matrix[cell])
    low, high = cells[:2], cells[2:]
    costs = [(float(matrix[a]), float(matrix[b])) for a, b in (low, high)]
    if costs[0][0] == costs[1][1]:
        return PointMass(np.full(weights.shape[:-2], costs[0][0]))

    def forward(t, r, s):
        dear = costs[1][0] * r.v + costs[1][1] * r.c
        return t.v * dear + t.c * (costs[0][0] * s.v + costs[0][1] * s.c)

    outer = tuple(
        _beta(weights, pair[:1], pair[1:])
        if cost[0] != cost[1]
        else PointMass(np.full(weights.shape[:-2], 0.5))
        for pair, cost in [(high, costs[1]), (low, costs[0])]
    )
    return Quadrature(inverses.cost_of_shares(*costs), _beta(weights, high, low), outer, forward)


def _of_table(kernel, weights, prevalence):
    """Return the distribution of what depends on the prevalence and both rates."""
    inverse = inverses.TABLE.get(_own(kernel))
    if inverse is None and sum(getattr(kernel, "tversky", ())) > 0:
        inverse = inverses.tversky(*kernel.tversky)
    matrix = getattr(kernel, "keywords", {}).get("matrix")
    if matrix is not None and np.shape(matrix) == (2, 2):
        inverse = inverses.cost(matrix)
    if inverse is None:
        return None
    outer = (prevalence, _beta(weights, [_FP], [_TN]))
    if isinstance(prevalence, PointMass):
        outer = (PointMass(np.broadcast_to(prevalence.at, outer[1].a.shape)), outer[1])
    return Quadrature(
        inverse, _beta(weights, [_TP], [_FN]), outer, lambda t, p, f: kernel(_cells(t, p, f))
    )


def _cells(t, p, f):
    return _square(p.c * f.c, p.c * f.v, p.v * t.c, p.v * t.v)


def _square(tn, fp, fn, tp):
    tn, fp, fn, tp = np.broadcast_arrays(tn, fp, fn, tp)
    return np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2)


def _beta(weights, first, second):
    return Beta(_sum(weights, first), _sum(weights, second))


def _sum(weights, cells):
    return sum(weights[..., row, column] for row, column in cells)
