"""
Measures in the scale of their link, as functions of the log odds of independent shares.

The scale is the log odds of a measure within its range, or its log where the range has no upper
end. There a measure is nearly linear in the log odds of the shares that it is made of, and keeps
all its digits near the ends of its range.
"""

from collections.abc import Callable

import numpy as np
from scipy import special

_MOST = 300.0  # of a logarithm that is raised to the power of e
_PLAIN = 100.0  # of log odds, up to which no power of e is lost


def _logs(y):
    """Return the log of a share and of its complement from its log odds."""
    log = np.minimum(y, 0) - np.log1p(np.exp(-np.abs(y)))
    return log, log - y


def _huge(*every):
    """Say whether a power of e may be lost, so that logarithms have to do."""
    return not all(y.min() > -_PLAIN and y.max() < _PLAIN for y in every)


def _both(y):
    return special.expit(y), special.expit(-y)


# Of the rates, or of precision and false omission rate


def _difference(t, f):
    (found, missed), (alarmed, left) = _both(t), _both(f)
    return np.log((found + left) / (missed + alarmed))


def _ratio(t, f):
    return _logs(t)[0] - _logs(f)[0]


def _ratio_of_complements(t, f):
    return _logs(t)[1] - _logs(f)[1]


def _odds_ratio(t, f):
    return t - f


# Of the odds of the true positives against the errors, or against either of them


def _fowlkes_mallows(missed, alarmed):
    """Return log odds from fn / tp and fp / tp: 1 / x**2 is the product of both plus one."""
    gap = missed + alarmed + missed * alarmed
    return np.log1p(np.sqrt(1 + gap)) - np.log(gap)


def _errors(t, r):
    log_missed, log_alarmed = _logs(r)
    return np.exp(np.minimum(log_missed - t, _MOST)), np.exp(np.minimum(log_alarmed - t, _MOST))


def tversky(fn_weight: float, fp_weight: float) -> Callable:
    """Return the scale of tp / (tp + fn_weight * fn + fp_weight * fp) of shares of the errors."""

    def scale(t, r):
        missed, alarmed = _both(r)
        return t - np.log(fn_weight * missed + fp_weight * alarmed)

    return scale


# Of the odds of an error, the share of misses among errors, and of positives among the right


def _variance(y):
    """Return share times complement from log odds that are not huge."""
    odds = np.exp(y)
    return 1 / (odds + 2 + 1 / odds)


def _mcc(e, r, s):
    # sinh(y / 2) = (a - o**2 b) / sqrt(o (1 + o) (a + o b)), with a = s (1 - s), b = r (1 - r), and
    # o the odds of an error.
    if not _huge(e, r, s):
        odds, a, b = np.exp(e), _variance(s), _variance(r)
        wrong = odds * b
        return 2 * np.arcsinh((a - odds * wrong) / np.sqrt(odds * (1 + odds) * (a + wrong)))
    a, b = sum(_logs(s)), sum(_logs(r))
    norm = (e - _logs(e)[1] + np.logaddexp(a, e + b)) / 2
    right, wrong = np.minimum(a - norm, _MOST), np.minimum(2 * e + b - norm, _MOST)
    return 2 * np.arcsinh(np.exp(right) - np.exp(wrong))


def _kappa(e, r, s):
    # 1 - kappa is the share of errors over that expected by chance.
    if not _huge(e, r, s):
        odds = np.exp(e)
        rest = odds * np.tanh(r / 2) ** 2 + 1
        return np.log((4 * _variance(s) / odds + rest) / (1 + odds))
    wrong, right = _logs(e)
    both = 2 * right - wrong + sum(_logs(s)) + np.log(4)
    rest = np.exp(wrong) * np.tanh(r / 2) ** 2 + np.exp(right)
    return np.logaddexp(both, np.log(rest))


# Of the prevalence and the rates


def _lift(p, t, f):
    if not _huge(p, t, f):
        positive, negative = _both(p)
        return -np.log(positive + negative * special.expit(f) / special.expit(t))
    (positive, negative), found = _logs(p), _logs(t)[0]
    return found - np.logaddexp(positive + found, negative + _logs(f)[0])


# By the names of forms: of which shares, and which function of them.
FUNCTIONS: dict[tuple[str, str], Callable] = {
    **{
        (of, name): function
        for of in ("rates", "columns")
        for name, function in [
            ("difference", _difference),
            ("mean", _difference),
            ("ratio", _ratio),
            ("ratio of complements", _ratio_of_complements),
            ("odds ratio", _odds_ratio),
        ]
    },
    ("errors", "geometric mean"): lambda t, r: _fowlkes_mallows(*_errors(t, r)),
    ("errors", "larger"): lambda t, r: t - np.minimum(*_logs(r)),
    ("answers", "correlation"): _mcc,
    ("answers", "agreement"): _kappa,
    ("table", "lift"): _lift,
}


def cost_of_shares(low: tuple[float, float], high: tuple[float, float]) -> Callable:
    """Return the scale of the expected cost; see `inverses.cost_of_shares`."""
    least, most = min(low), max(high)

    def scale(t, r, s):
        dear, cheap = _both(t)
        shares = [*(dear * each for each in _both(r)), *(cheap * each for each in _both(s))]
        costs = (*high, *low)
        above = sum(share * (each - least) for share, each in zip(shares, costs, strict=True))
        below = sum(share * (most - each) for share, each in zip(shares, costs, strict=True))
        return np.log(above / below)

    return scale


# At a prevalence, of the recall t, the prevalence p and the false positive rate f


def _odds_of_errors(t, p, f):
    """Return fn / tp and fp / tp."""
    alarmed = _logs(f)[0] - _logs(t)[0] - p
    return np.exp(np.minimum(-t, _MOST)), np.exp(np.minimum(alarmed, _MOST))


def _precision(t, p, f):
    return p + _ratio(t, f)


def _false_omission(t, p, f):
    return p + _ratio_of_complements(t, f)


def _accuracy(t, p, f):
    return -_odds_of_wrong(t, p, f)


def _odds_of_wrong(t, p, f):
    (found, missed), (alarmed, left), (positive, negative) = _logs(t), _logs(f), _logs(p)
    wrong = np.logaddexp(positive + missed, negative + alarmed)
    return wrong - np.logaddexp(positive + found, negative + left)


def _answers(function):
    def scale(t, p, f):
        (found, missed), (alarmed, left) = _logs(t), _logs(f)
        return function(_odds_of_wrong(t, p, f), p + missed - alarmed, p + found - left)

    return scale


TABLE: dict[tuple[str, str], Callable] = {
    ("answers", "correlation"): _answers(_mcc),
    ("answers", "agreement"): _answers(_kappa),
    ("table", "lift"): lambda t, p, f: _lift(p, t, f),
    ("columns", "difference"): lambda t, p, f: _difference(
        _precision(t, p, f), _false_omission(t, p, f)
    ),
    ("tp", "fp"): _precision,
    ("fp", "tp"): lambda t, p, f: -_precision(t, p, f),
    ("fn", "tn"): _false_omission,
    ("tn", "fn"): lambda t, p, f: -_false_omission(t, p, f),
    ("right", "wrong"): _accuracy,
    ("wrong", "right"): _odds_of_wrong,
    # Predicted positives are what would be right if negatives were not.
    ("tp+fp", "fn+tn"): lambda t, p, f: _accuracy(t, p, -f),
    ("errors", "geometric mean"): lambda t, p, f: _fowlkes_mallows(*_odds_of_errors(t, p, f)),
    # The larger of precision and recall; in log odds, of which none is too large to be a number.
    ("errors", "larger"): lambda t, p, f: np.maximum(_precision(t, p, f), t),
}


def tversky_at_prevalence(fn_weight: float, fp_weight: float) -> Callable:
    """Return the scale of tp / (tp + fn_weight * fn + fp_weight * fp) at a prevalence."""

    def scale(t, p, f):
        missed, alarmed = _odds_of_errors(t, p, f)
        return -np.log(fn_weight * missed + fp_weight * alarmed)

    return scale


def cost_at_prevalence(matrix: np.ndarray) -> Callable:
    """Return the scale of the expected cost at a prevalence; rows = actual, positive last."""
    least, most = matrix.min(), matrix.max()

    def scale(t, p, f):
        rates = [*_both(f)[::-1], *_both(t)[::-1]]
        positive, negative = _both(p)
        shares = [negative, negative, positive, positive]
        cells = [share * rate for share, rate in zip(shares, rates, strict=True)]
        above = sum(cell * (each - least) for cell, each in zip(cells, matrix.flat, strict=True))
        below = sum(cell * (most - each) for cell, each in zip(cells, matrix.flat, strict=True))
        return np.log(above / below)

    return scale
