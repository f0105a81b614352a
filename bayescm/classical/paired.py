"""Classifiers on the same examples: tests and intervals of the difference of two accuracies."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import bdtr, chdtrc, ndtri

from bayescm.evidence.outcomes import arrays, as_outcomes
from bayescm.validate import check_choice, check_counts, check_prob, fail


def mcnemar(evidence: Any, *, method: str = "mid-p") -> pd.DataFrame:
    """
    Test whether two classifiers are right equally often, by the examples where one of them is.

    Parameters
    ----------
    evidence : Dataset or array_like, shape (2, 2)
        Outcomes of two or more classifiers on the same examples, see
        :func:`bayescm.from_classifiers`; or ``[[both right, only the first], [only the second, both
        wrong]]``.
    method : {"mid-p", "exact", "asymptotic", "corrected"}
        The binomial test with half the probability of what was observed, which keeps the level
        nearly always and is not as timid as the exact one; the exact test; the chi-square test; the
        same with a continuity correction.

    Returns
    -------
    DataFrame
        ``first``, ``second``, ``only_first``, ``only_second`` (how often it alone is right),
        ``statistic`` (the smaller of both, or chi-square) and the two-sided ``p_value``.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers or, for a binomial test, counts are fractional.

    References
    ----------
    McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions
    or percentages. Psychometrika 12, 153-157. doi:10.1007/BF02295996

    Fagerland, M. W., Lydersen, S. & Laake, P. (2013). The McNemar test for binary matched-pairs
    data. BMC Medical Research Methodology 13, 91. doi:10.1186/1471-2288-13-91

    Examples
    --------
    >>> round(mcnemar([[1, 1], [7, 12]])["p_value"][0], 3)
    np.float64(0.039)
    """
    check_choice("method", method, list(TESTS))
    rows = []
    for names, ((_, b), (c, _)) in _pairs(evidence):
        statistic, p = TESTS[method](b, c)
        pair = {**names, "only_first": b, "only_second": c}
        rows.append({**pair, "statistic": statistic, "p_value": p})
    return pd.DataFrame(rows)


def _binomial(midway):
    def test(b, c):
        total, least = b + c, min(b, c)
        if total != round(total) or least != round(least):
            todo = 'pass method="asymptotic"'
            raise fail("a binomial test needs whole counts", (b, c), "whole counts", todo)
        tail = bdtr(least, int(total), 0.5)
        below = bdtr(least - 1, int(total), 0.5) if least else 0.0
        return least, float(min(1.0, tail + below if midway else 2 * tail))

    return test


def _chi_square(correction):
    def test(b, c):
        if not b + c:
            return 0.0, 1.0
        statistic = max(abs(b - c) - correction, 0) ** 2 / (b + c)
        return statistic, float(chdtrc(1, statistic))

    return test


TESTS: dict[str, Callable] = {
    "mid-p": _binomial(True),
    "exact": _binomial(False),
    "asymptotic": _chi_square(0),
    "corrected": _chi_square(1),
}


def paired_difference(evidence: Any, *, method: str = "tango", prob: float = 0.95) -> pd.DataFrame:
    """
    Return confidence intervals of the difference of two accuracies on the same examples.

    Parameters
    ----------
    evidence : Dataset or array_like, shape (2, 2)
        See :func:`mcnemar`.
    method : {"tango", "newcombe", "bonett_price", "wald"}
        Tango's score interval, Newcombe's square-and-add interval (his method 10), the Wald
        interval with a pseudo-count in both discordant cells, and without.
    prob : float, default 0.95

    Returns
    -------
    DataFrame
        ``first``, ``second``, ``difference`` (first minus second), ``lower``, ``upper``.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, or the method is unknown.

    References
    ----------
    Tango, T. (1998). Equivalence test and confidence interval for the difference in proportions for
    the paired-sample design. Statistics in Medicine 17, 891-908.

    Newcombe, R. G. (1998). Improved confidence intervals for the difference between binomial
    proportions based on paired data. Statistics in Medicine 17, 2635-2650.

    Bonett, D. G. & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of
    binomial proportions based on paired data. Journal of Educational and Behavioral Statistics 37,
    479-488. doi:10.3102/1076998611411915

    Examples
    --------
    >>> table = paired_difference([[1, 1], [7, 12]])
    >>> table[["difference", "lower", "upper"]].round(3).values.tolist()
    [[-0.286, -0.517, -0.026]]
    """
    check_prob(prob), check_choice("method", method, list(INTERVALS))
    rows = []
    for names, table in _pairs(evidence):
        lower, upper = INTERVALS[method](table, prob)
        difference = (table[0, 1] - table[1, 0]) / table.sum()
        rows.append({**names, "difference": difference, "lower": lower, "upper": upper})
    return pd.DataFrame(rows)


def tango(first: np.ndarray, second: np.ndarray, n: float, prob: float = 0.95) -> np.ndarray:
    """Return score intervals, shape (m, 2), given how often the first and the second alone win."""
    z, ends = float(ndtri((1 + prob) / 2)), []
    for sign in (1, -1):
        low, high = np.full(len(first), -1.0), np.full(len(first), 1.0)
        for _ in range(50):
            middle = (low + high) / 2
            above = score_statistic(middle, first, second, n) > sign * z
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        ends.append((low + high) / 2)
    return np.stack(ends, axis=-1)


def score_statistic(gap: np.ndarray, first: np.ndarray, second: np.ndarray, n: float) -> np.ndarray:
    """Return Tango's score statistic of a difference, given the discordant pairs."""
    b = -first - second + (2 * n - first + second) * gap
    root = np.sqrt(np.maximum(b**2 + 8 * n * second * gap * (1 - gap), 0))
    share = (root - b) / (4 * n)
    spread = np.sqrt(np.maximum(n * (2 * share + gap * (1 - gap)), 1e-300))
    return (first - second - n * gap) / spread


def wald(first: np.ndarray, second: np.ndarray, n: float, prob: float = 0.95) -> np.ndarray:
    """Return the intervals of the normal approximation, shape (m, 2)."""
    gap = (first - second) / n
    half = ndtri((1 + prob) / 2) * np.sqrt(np.maximum((first + second) / n - gap**2, 0) / n)
    return np.stack([gap - half, gap + half], axis=-1)


def _tango(table, prob):
    return tango(table[:1, 1], table[1:, 0], table.sum(), prob)[0]


def _wald(table, prob):
    return wald(table[0, 1], table[1, 0], table.sum(), prob)


def _bonett_price(table, prob):
    return wald(table[0, 1] + 1, table[1, 0] + 1, table.sum() + 2, prob)


def _newcombe(table, prob):
    """Add the squares of the distances of both Wilson intervals, less what they have in common."""
    n = table.sum()
    one, two = table[0].sum() / n, table[:, 0].sum() / n
    (low_1, high_1), (low_2, high_2) = (_wilson(share, n, prob) for share in (one, two))
    margins = np.prod([*table.sum(0), *table.sum(1)])
    excess = np.linalg.det(table)
    excess = max(excess - n / 2, 0) if excess > 0 else excess
    phi = excess / np.sqrt(margins) if margins else 0.0
    below, above = one - low_1, high_1 - one
    under, over = two - low_2, high_2 - two
    return np.array(
        [
            one - two - np.sqrt(below**2 - 2 * phi * below * over + over**2),
            one - two + np.sqrt(above**2 - 2 * phi * above * under + under**2),
        ]
    )


def _wilson(share, n, prob):
    z = ndtri((1 + prob) / 2)
    half = z * np.sqrt(z**2 + 4 * n * share * (1 - share))
    return (2 * n * share + z**2 + np.array([-half, half])) / (2 * (n + z**2))


INTERVALS: dict[str, Callable] = {
    "tango": _tango,
    "newcombe": _newcombe,
    "bonett_price": _bonett_price,
    "wald": _wald,
}


def cochran_q(evidence: xr.Dataset) -> pd.DataFrame:
    """
    Test whether several classifiers are right equally often on the same examples.

    Parameters
    ----------
    evidence : Dataset
        Outcomes of two or more classifiers, see :func:`bayescm.from_classifiers`. Of two it is the
        asymptotic McNemar test.

    Returns
    -------
    DataFrame, one row
        ``classifiers``, ``statistic``, ``df`` and ``p_value``.

    References
    ----------
    Cochran, W. G. (1950). The comparison of percentages in matched samples. Biometrika 37, 256-266.
    doi:10.1093/biomet/37.3-4.256

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [0, 1, 0, 0]}
    >>> cochran_q(bcm.from_classifiers([1, 1, 1, 0], answers)).round(3).values.tolist()
    [[3.0, 2.667, 2.0, 0.264]]
    """
    names, right, counts = _right(evidence)
    k, wins, each = len(names), right @ counts, right.sum(axis=0)
    spread = (counts * each * (k - each)).sum()
    statistic = float((k - 1) * k * ((wins - wins.mean()) ** 2).sum() / spread) if spread else 0.0
    p = float(chdtrc(k - 1, statistic))
    return pd.DataFrame([{"classifiers": k, "statistic": statistic, "df": k - 1, "p_value": p}])


def _pairs(evidence):
    """Yield the names of every two classifiers, and how often both, one or none is right."""
    if not isinstance(evidence, xr.Dataset):
        table = check_counts(evidence, fractional=True).astype(float)
        if table.shape != (2, 2) or not table.sum():
            allowed = "outcomes, or [[both right, only first], [only second, both wrong]]"
            todo = "use from_classifiers"
            raise fail("not pairs of answers", np.shape(evidence), allowed, todo)
        yield {"first": "first", "second": "second"}, table
        return
    names, right, counts = _right(evidence)
    for i, j in combinations(range(len(names)), 2):
        cells = [[one & two, one & ~two] for one, two in [(right[i], right[j])]]
        cells += [[~one & two, ~one & ~two] for one, two in [(right[i], right[j])]]
        table = np.array([[counts[cell].sum() for cell in row] for row in cells], float)
        yield {"first": names[i], "second": names[j]}, table


def _right(evidence):
    """Return names (J,), whether each is right (J, m), and how often each outcome occurred (m,)."""
    evidence = as_outcomes(evidence)
    names = evidence["classifier"].values.tolist()
    if len(names) < 2:
        todo = "name two or more in from_classifiers"
        raise fail("nothing to compare", names, "two classifiers on the same examples", todo)
    counts, actual, predicted = arrays(evidence)
    return names, predicted == actual, counts.reshape(-1, counts.shape[-1]).sum(axis=0)
