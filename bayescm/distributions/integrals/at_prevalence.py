"""
Where a measure takes a value at a prevalence p: the recall t, given the false positive rate f.

What `inverses` is for functions of independent shares of a table, for a prevalence that is known,
or known from elsewhere than the counts.
"""

import numpy as np

from bayescm.distributions.incomplete import Share
from bayescm.distributions.integrals.inverses import INFINITE, Inverse, complement, no_cuts, share


def _mcc(x, p, f):
    # The quadratic (t - f)**2 p c = x**2 q (1 - q) in t - f, with q = f + p (t - f).
    lead, tilt = p.v * p.c + (x * p.v) ** 2, x * p.v * (f.c - f.v)
    gap = x * (tilt + np.sqrt(tilt**2 + 4 * lead * f.v * f.c)) / (2 * lead)
    return Share(f.v + gap, f.c - gap)


def _mcc_cut(x, p):
    square = x**2
    return [np.where(x > 0, p.v * (1 - square), square) / (p.v + square * p.c)]


def _kappa(x, p, f):
    skew = p.c - p.v
    below = 2 * p.c - x * skew
    t = (x * (p.v + skew * p.c * f.v) + 2 * p.v * p.c * f.v) / (p.v * below)
    return share(np.where(np.real(below) > 0, t, -1.0))


def _kappa_edge(x, p):
    skew = p.c - p.v
    lead = 2 * p.v + x * skew
    inside = lead > 0
    lead = np.where(inside, lead, 1.0)
    top = np.where(inside, -x * p.v / (p.c * lead), 1.0)
    return [np.where(x > 0, 2 * p.v * (1 - x) / lead, top)]


def _kappa_break(x):
    least = np.sqrt(np.clip((1 + x) / (1 - x), 0, 1))
    return [(1 - least) / 2, (1 + least) / 2]


def _lift(x, p, f):
    below = 1 - x * p.v
    t = x * p.c * f.v / below
    return share(np.where(np.real(below) > 0, t, 2.0))


def _markedness(x, p, f):
    # The quadratic p c d = x q (1 - q) in d = t - f, with q = f + p d. Of the two
    # ways to write its root each is taken where nothing cancels.
    tilt = p.v * p.c - x * p.v * (f.c - f.v)
    root = np.sqrt(tilt**2 + 4 * (x * p.v) ** 2 * f.v * f.c)
    gap = np.where(
        np.real(tilt) > 0, 2 * x * f.v * f.c / (tilt + root), (root - tilt) / (2 * x * p.v**2)
    )
    return Share(f.v + gap, f.c - gap)


def _markedness_cut(x, p):
    return [np.where(x > 0, p.v * (1 - x) / (x * p.c), 1 - p.v * (1 + x) / (-x * p.c))]


def _overlap(x, p, f):
    other = x * p.c * f.v / (p.v * (1 - x))
    return share(np.where(np.real(other) < np.real(x), other, x))


def _precision_cut(x, p):
    return [p.v * (1 - x) / (x * p.c)]


def _linear_cut(x, p):
    return [x / p.c, (x - p.v) / p.c]


# By the form of the measure.
TABLE = {
    ("answers", "correlation"): Inverse(_mcc, (no_cuts, _mcc_cut), support=(-1.0, 1.0)),
    ("answers", "agreement"): Inverse(_kappa, (_kappa_break, _kappa_edge), support=(-1.0, 1.0)),
    ("table", "lift"): Inverse(
        _lift,
        (lambda x: [1 / x], lambda x, p: [(1 / x - p.v) / p.c]),
        support=(0.0, INFINITE),
    ),
    ("columns", "difference"): Inverse(
        _markedness, (lambda x: [np.abs(x)], _markedness_cut), support=(-1.0, 1.0)
    ),
    ("tp", "fp"): Inverse(
        lambda x, p, f: share(x * p.c * f.v / (p.v * (1 - x))), (lambda x: [x], _precision_cut)
    ),
    ("fp", "tp"): Inverse(
        lambda x, p, f: share((1 - x) * p.c * f.v / (p.v * x)),
        (lambda x: [1 - x], lambda x, p: [p.v * x / ((1 - x) * p.c)]),
        increasing=False,
    ),
    ("tn", "fn"): Inverse(
        lambda x, p, f: complement(p.c * f.c * (1 - x) / (x * p.v)),
        (lambda x: [1 - x], lambda x, p: [1 - x * p.v / (p.c * (1 - x))]),
    ),
    ("fn", "tn"): Inverse(
        lambda x, p, f: complement(p.c * f.c * x / ((1 - x) * p.v)),
        (lambda x: [x], lambda x, p: [1 - (1 - x) * p.v / (p.c * x)]),
        increasing=False,
    ),
    ("right", "wrong"): Inverse(
        lambda x, p, f: share((x - p.c * f.c) / p.v),
        (lambda x: [x, 1 - x], lambda x, p: [1 - x / p.c, (1 - x) / p.c]),
    ),
    ("wrong", "right"): Inverse(
        lambda x, p, f: complement((x - p.c * f.v) / p.v),
        (lambda x: [x, 1 - x], _linear_cut),
        increasing=False,
    ),
    ("tp+fp", "fn+tn"): Inverse(
        lambda x, p, f: share((x - p.c * f.v) / p.v), (lambda x: [x, 1 - x], _linear_cut)
    ),
    ("errors", "geometric mean"): Inverse(
        lambda x, p, f: share(x * (x + np.sqrt(x**2 + 4 * f.v * p.c / p.v)) / 2),
        (lambda x: [x**2], lambda x, p: [p.v * (1 - x**2) / (x**2 * p.c)]),
    ),
    ("errors", "larger"): Inverse(
        _overlap, (lambda x: [x], lambda x, p: [*_precision_cut(x, p), p.v * (1 - x) / p.c])
    ),
}


def tversky(fn_weight: float, fp_weight: float) -> Inverse:
    """Return the inverse of tp / (tp + fn_weight * fn + fp_weight * fp) at a prevalence."""

    def solve(x, p, f):
        return share(
            x * (fp_weight * p.c * f.v + fn_weight * p.v) / (p.v * (1 - x + x * fn_weight))
        )

    def cut(x, p):
        return [p.v * (1 - x) / (x * fp_weight * p.c)]

    return Inverse(solve, (lambda x: [x * fp_weight / (1 - x + x * fp_weight)], cut))


def cost(matrix: np.ndarray) -> Inverse | None:
    """Return the inverse of the expected cost, or None where it does not depend on the recall."""
    (tn, fp), (fn, tp) = matrix
    if tp == fn:
        return None

    def solve(x, p, f):
        return share((x - p.v * fn - p.c * (tn * f.c + fp * f.v)) / (p.v * (tp - fn)))

    def cut(x, p):
        return [((x - p.v * each) / p.c - tn) / (fp - tn) for each in (fn, tp) if fp != tn]

    def breaks(x):
        corners = [(one, zero) for one in (fn, tp) for zero in (tn, fp) if one != zero]
        return [(x - zero) / (one - zero) for one, zero in corners]

    support = float(np.min(matrix)), float(np.max(matrix))
    return Inverse(solve, (breaks, cut), increasing=bool(tp > fn), support=support)
