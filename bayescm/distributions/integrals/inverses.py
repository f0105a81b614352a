"""
Where a measure takes a value: the recall at which it does, given what else it depends on.

With two classes every measure is a function of the prevalence p, the recall t and the false
positive rate f, and monotone in t. Its distribution is an integral, over p and f, of the beta
distribution of t up to the point where the measure takes the value x. A measure that needs fewer
variables is written in those: ``of_rates`` needs f only, ``of_errors`` the share r of the false
negatives among the errors, with t the share of the true positives among the positives and the
errors.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayescm.distributions.incomplete import Share

INFINITE = np.inf


def no_cuts(x, *outer):
    """Return no points: an outer variable that cuts nothing off."""
    return []


@dataclass(frozen=True)
class Inverse:
    """
    One measure.

    Attributes
    ----------
    solve : callable
        ``solve(x, *outer)`` -> Share of t at which the measure is x. Analytic in x.
    cuts : tuple of callables
        For each outer variable, ``cut(x, *before)`` -> the points beyond which no t in (0, 1) gives
        the value x.
    increasing : bool, or callable ``increasing(x)``
        Whether the measure grows with t, where it takes the value x.
    support : tuple of float
        Smallest and largest value.
    moment : callable, optional
        ``moment(k, inner, *outer)`` -> E x**k where that may be infinite; NaN leaves it to the
        nodes.
    turned : Inverse, optional
        The same measure solved for the outer variable, of which there is one.
    spread : callable, optional
        ``spread(a, b)`` -> how far a Beta(a, b) share moves the measure. The variable that moves it
        most is solved for, where both ways are known: next to it the integrand is smooth.
    """

    solve: Callable
    cuts: tuple = (no_cuts,)
    increasing: bool | Callable = True
    support: tuple[float, float] = (0.0, 1.0)
    moment: Callable | None = None
    turned: "Inverse | None" = None
    spread: Callable | None = None


def share(t):
    """Return a probability with its complement."""
    return Share(t, 1 - t)


def complement(c):
    """Return a probability from its complement."""
    return Share(1 - c, c)


def _odds(o):
    return Share(o / (1 + o), 1 / (1 + o))


# Of the rates t and f


def _power(a, b, k):
    """Return E v**k for v ~ Beta(a, b), infinite where a + k <= 0."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    steps = np.arange(abs(k)) if k > 0 else -1.0 - np.arange(abs(k))
    value = np.ones(np.broadcast_shapes(a.shape, b.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        for step in steps:
            ratio = (a + step) / (a + b + step)
            value = value * (ratio if k > 0 else 1 / ratio)
    return np.where(a + k > 0, value, np.inf)


def _odds_power(a, b, k):
    """Return E (v / (1 - v))**k for v ~ Beta(a, b), infinite where it is."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    value = np.ones(np.broadcast_shapes(a.shape, b.shape))
    for step in range(k):
        with np.errstate(divide="ignore"):
            value = value * (a + step) / (b - 1 - step)
    return np.where(b > k, value, np.inf)


def _variance(a, b):
    return a * b / ((a + b) ** 2 * (a + b + 1))


DIFFERENCE = Inverse(  # t - f
    lambda x, f: Share(x + f.v, f.c - x),
    (lambda x: [1 - x, -x],),
    support=(-1.0, 1.0),
    turned=Inverse(
        lambda x, t: Share(t.v - x, t.c + x),
        (lambda x: [x, 1 + x],),
        increasing=False,
        support=(-1.0, 1.0),
    ),
    spread=_variance,
)
RATES = {
    "difference": DIFFERENCE,
    "mean": Inverse(
        lambda x, f: Share(2 * x - f.c, 2 * (1 - x) - f.v),
        (lambda x: [1 - 2 * x, 2 - 2 * x],),
        turned=Inverse(
            lambda x, t: Share(2 * (1 - x) - t.c, 2 * x - t.v),
            (lambda x: [2 * x - 1, 2 * x],),
            increasing=False,
        ),
        spread=_variance,
    ),
    "ratio": Inverse(
        lambda x, f: share(x * f.v),
        (lambda x: [1 / x],),
        support=(0.0, INFINITE),
        moment=lambda k, t, f: _power(t.a, t.b, k) * _power(f.a, f.b, -k),
        turned=Inverse(
            lambda x, t: share(t.v / x), (lambda x: [x],), increasing=False, support=(0, INFINITE)
        ),
        spread=lambda a, b: b / (a * (a + b)),
    ),
    "ratio of complements": Inverse(
        lambda x, f: complement(x * f.c),
        (lambda x: [1 - 1 / x],),
        increasing=False,
        support=(0.0, INFINITE),
        moment=lambda k, t, f: _power(t.b, t.a, k) * _power(f.b, f.a, -k),
        turned=Inverse(
            lambda x, t: complement(t.c / x), (lambda x: [1 - x],), support=(0, INFINITE)
        ),
        spread=lambda a, b: a / (b * (a + b)),
    ),
    "odds ratio": Inverse(
        lambda x, f: _odds(x * f.v / f.c),
        support=(0.0, INFINITE),
        moment=lambda k, t, f: _odds_power(t.a, t.b, k) * _odds_power(f.b, f.a, k),
        turned=Inverse(lambda x, t: _odds(t.v / t.c / x), increasing=False, support=(0, INFINITE)),
        spread=lambda a, b: 1 / a + 1 / b,
    ),
}


# Of the share of true positives among positives and errors, and that of misses among errors


def tversky_of_errors(fn_weight: float, fp_weight: float) -> Inverse:
    """Return the inverse of tp / (tp + fn_weight * fn + fp_weight * fp)."""
    return Inverse(lambda x, r: _odds(x / (1 - x) * (fn_weight * r.v + fp_weight * r.c)))


def _fowlkes_mallows_of_errors(x, r):
    gap = 1 / x**2 - 1
    odds = 2 * gap / (1 + np.sqrt(1 + 4 * r.v * r.c * gap))
    return Share(1 / (1 + odds), odds / (1 + odds))


ERRORS = {
    "geometric mean": Inverse(_fowlkes_mallows_of_errors),
    "larger": Inverse(
        lambda x, r: _odds(x / (1 - x) * np.minimum(r.v, r.c)), (lambda x: [np.full(x.shape, 0.5)],)
    ),
}


# Of the share of errors among all, that of misses among errors, of positives among the right


def _mcc_of_shares(x, r, s):
    """
    Solve for the odds e of an error.

    With a and b for s (1 - s) and r (1 - r), the products of the shares of the two right and of the
    two wrong cells, mcc**2 / (1 - mcc**2) = (a - e**2 b)**2 / (e (1 + e) (a + e b)). The inverse
    hyperbolic sine of the root of this is nearly linear in log e.
    """
    a, b, goal = s.v * s.c, r.v * r.c, np.arctanh(x)
    log = np.broadcast_to(-2 * goal.real, np.broadcast_shapes(x.shape, a.shape, b.shape))
    for _ in range(50):
        value, slope = _asinh_mcc(log, a, b)
        move = np.clip((goal.real - value) / slope, -20.0, 20.0)
        log = np.clip(log + move, -600.0, 600.0)
        if not (np.abs(move) > 1e-9).any():
            break
    value, slope = _asinh_mcc(log, a, b)
    return _odds(np.exp(log + (goal - value) / slope))


def _asinh_mcc(log, a, b):
    e = np.exp(log)
    root = np.sqrt(e * (1 + e) * (a + e * b))
    ratio = (a - e**2 * b) / root
    change = -2 * e**2 * b / root - ratio * (1 + e / (1 + e) + e * b / (a + e * b)) / 2
    return np.arcsinh(ratio), change / np.sqrt(1 + ratio**2)


def _kappa_of_shares(x, r, s):
    lead = x * (1 - 2 * r.v * r.c) + 2 * r.v * r.c
    root = np.sqrt(x**2 + 8 * lead * s.v * s.c * (1 - x))
    odds = np.where(np.real(x) < 0, (root - x) / (2 * lead), 4 * s.v * s.c * (1 - x) / (x + root))
    there = _odds(odds)
    below = np.real(lead) > 0  # else no share of errors gives a kappa this low
    return Share(np.where(below, there.v, 1.0), np.where(below, there.c, 0.0))


def _kappa_cut(x):
    least = np.sqrt(np.maximum(1 + 2 * np.minimum(x, 0) / (1 - x), 0))
    return [(1 - least) / 2, (1 + least) / 2]


ANSWERS = {
    "correlation": Inverse(_mcc_of_shares, (no_cuts, no_cuts), False, (-1.0, 1.0)),
    "agreement": Inverse(_kappa_of_shares, (_kappa_cut, no_cuts), False, (-1.0, 1.0)),
}


def cost_of_shares(low: tuple[float, float], high: tuple[float, float]) -> Inverse:
    """
    Return the inverse of the expected cost.

    Parameters
    ----------
    low, high : tuple of two floats
        The costs of the two cheapest and of the two dearest cells; t is the share of the dear ones,
        and the outer variables are those of the first of each pair, dear ones first.
    """

    def at(pair, share):
        return pair[0] * share.v + pair[1] * share.c

    def solve(x, r, s):
        return share((x - at(low, s)) / (at(high, r) - at(low, s)))

    def cut(pair):
        first, second = pair
        return lambda x, *before: [] if first == second else [(x - second) / (first - second)]

    return Inverse(solve, (cut(high), cut(low)), True, (min(low), max(high)))


# Of the rates, with the prevalence as the variable that is solved for


def _lift_at_rates(x, t, f):
    above = (t.v - x * f.v) / (x * (t.v - f.v))
    below = np.where(np.real(x) < 1, t.v < np.real(x) * f.v, t.v > np.real(x) * f.v)
    return share(np.where(below, above, 0.0))


LIFT = Inverse(
    _lift_at_rates,
    (no_cuts, lambda x, t: [t.v / x]),
    increasing=lambda x: x < 1,
    support=(0.0, INFINITE),
    moment=lambda k, p, t, f: np.where(p.a + f.a > k, np.nan, np.inf),
)


# Functions of independent shares by their names, as the forms of measures have them.
FUNCTIONS = {
    "rates": RATES,
    "columns": RATES,
    "errors": ERRORS,
    "answers": ANSWERS,
    "table": {"lift": LIFT},
}
