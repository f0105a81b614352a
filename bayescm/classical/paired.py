"""
Tests and intervals for the difference in accuracy between classifiers on the same examples.

For two classifiers, the examples form a table [[a, b], [c, d]]: both right, only the first, only
the second, both wrong. Only the discordant counts b and c are informative about the difference (b -
c) / n.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import bdtr, chdtrc, ndtri

from bayescm.classical.intervals import wilson
from bayescm.evidence.outcomes import arrays, as_outcomes
from bayescm.validate import check_choice, check_counts, check_prob, fail


def mcnemar(evidence: Any, *, method: str = "mid-p") -> pd.DataFrame:
    """
    Test whether two classifiers have the same accuracy, with McNemar's test.

    The test uses the examples that exactly one classifier predicts correctly. It applies only to
    accuracy. To compare the recall of a class, such as sensitivity, pass only the examples of that
    class to `bayescm.from_classifiers`.

    Parameters
    ----------
    evidence : Dataset or array_like, shape (2, 2)
        Outcomes of two or more classifiers on the same examples (see
        :func:`bayescm.from_classifiers`), or a table ``[[both right, only the first], [only the
        second, both wrong]]``.
    method : {"mid-p", "exact", "asymptotic", "corrected"}
        Test:

        - ``"mid-p"``: binomial test with half the probability of the observed table. It nearly
          always keeps its level and is less conservative than the exact test.
        - ``"exact"``: binomial test.
        - ``"asymptotic"``: chi-square test.
        - ``"corrected"``: chi-square test with continuity correction.

    Returns
    -------
    DataFrame
        ``measure`` (accuracy), ``first``, ``second``, ``only_first`` and ``only_second`` (number of
        examples on which only this classifier is right), ``statistic`` (the smaller of these two
        numbers, or chi-square), the two-sided ``p_value`` and the ``method``.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, or if counts are fractional in a binomial test.

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
    check_choice("method", method, list(_TESTS))
    rows = []
    for names, ((_, b), (c, _)) in _tables(evidence):
        statistic, p = _TESTS[method](b, c)
        pair = {**names, "only_first": b, "only_second": c}
        rows.append({**pair, "statistic": statistic, "p_value": p, "method": method})
    return pd.DataFrame(rows)


def _binomial_test(b, c, *, mid_p):
    n, least = b + c, min(b, c)
    if n != round(n) or least != round(least):
        todo = 'pass `method="asymptotic"`'
        raise fail("A binomial test needs integer counts", (b, c), "", todo)
    tail = bdtr(least, int(n), 0.5)
    below = bdtr(least - 1, int(n), 0.5) if least else 0.0
    return least, float(min(1.0, tail + below if mid_p else 2 * tail))


def _chi_square_test(b, c, *, correction):
    if not b + c:
        return 0.0, 1.0
    statistic = max(abs(b - c) - correction, 0) ** 2 / (b + c)
    return statistic, float(chdtrc(1, statistic))


_TESTS: dict[str, Callable] = {
    "mid-p": partial(_binomial_test, mid_p=True),
    "exact": partial(_binomial_test, mid_p=False),
    "asymptotic": partial(_chi_square_test, correction=0),
    "corrected": partial(_chi_square_test, correction=1),
}


def paired_difference(evidence: Any, *, method: str = "tango", prob: float = 0.95) -> pd.DataFrame:
    """
    Return confidence intervals of the difference between two paired accuracies.

    Parameters
    ----------
    evidence : Dataset or array_like, shape (2, 2)
        See :func:`mcnemar`.
    method : {"tango", "newcombe", "bonett_price", "wald"}
        Tango's score interval, Newcombe's square-and-add interval (his method 10), or the Wald
        interval with or without a pseudo-count in both discordant cells.
    prob : float, default 0.95

    Returns
    -------
    DataFrame
        ``measure`` (accuracy), ``first``, ``second``, ``difference`` (first minus second),
        ``lower`` and ``upper``.

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
    check_prob(prob), check_choice("method", method, list(_INTERVALS))
    rows = []
    for names, table in _tables(evidence):
        lower, upper = _INTERVALS[method](table, prob)
        difference = (table[0, 1] - table[1, 0]) / table.sum()
        rows.append({**names, "difference": difference, "lower": lower, "upper": upper})
    return pd.DataFrame(rows)


def tango(b: np.ndarray, c: np.ndarray, n: float, prob: float = 0.95) -> np.ndarray:
    """Return score intervals, shape (m, 2), by solving for score statistics z and -z."""
    z, bounds = float(ndtri((1 + prob) / 2)), []
    for quantile in (z, -z):
        low, high = np.full(len(b), -1.0), np.full(len(b), 1.0)
        for _ in range(50):
            middle = (low + high) / 2
            above = score_statistic(middle, b, c, n) > quantile
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        bounds.append((low + high) / 2)
    return np.stack(bounds, axis=-1)


def score_statistic(difference: np.ndarray, b: np.ndarray, c: np.ndarray, n: float) -> np.ndarray:
    """
    Return Tango's score statistic of a difference, given the discordant pairs.

    The probability q of the discordant pairs counted by c is replaced by its constrained maximum
    likelihood estimate, the larger root of 2 n q^2 + B q - c difference (1 - difference) = 0.
    """
    B = -b - c + (2 * n - b + c) * difference
    root = np.sqrt(np.maximum(B**2 + 8 * n * c * difference * (1 - difference), 0))
    q = (root - B) / (4 * n)
    variance = np.maximum(n * (2 * q + difference * (1 - difference)), 1e-300)
    return (b - c - n * difference) / np.sqrt(variance)


def wald(b: np.ndarray, c: np.ndarray, n: float, prob: float = 0.95) -> np.ndarray:
    """Return the intervals of the normal approximation, shape (m, 2)."""
    difference = (b - c) / n
    variance = np.maximum((b + c) / n - difference**2, 0) / n
    half = ndtri((1 + prob) / 2) * np.sqrt(variance)
    return np.stack([difference - half, difference + half], axis=-1)


def _tango(table, prob):
    return tango(table[:1, 1], table[1:, 0], table.sum(), prob)[0]


def _wald(table, prob):
    return wald(table[0, 1], table[1, 0], table.sum(), prob)


def _bonett_price(table, prob):
    return wald(table[0, 1] + 1, table[1, 0] + 1, table.sum() + 2, prob)


def _newcombe(table, prob):
    """Combine both Wilson intervals by square-and-add, given the correlation phi."""
    n, z = table.sum(), ndtri((1 + prob) / 2)
    right_1, right_2 = table[0].sum(), table[:, 0].sum()
    p_1, (lower_1, upper_1) = right_1 / n, wilson(right_1, n, z)
    p_2, (lower_2, upper_2) = right_2 / n, wilson(right_2, n, z)
    # Continuity correction of the correlation phi if it is positive.
    margins = np.prod([*table.sum(0), *table.sum(1)])
    determinant = np.linalg.det(table)
    numerator = max(determinant - n / 2, 0) if determinant > 0 else determinant
    phi = numerator / np.sqrt(margins) if margins else 0.0
    below_1, above_1, below_2, above_2 = p_1 - lower_1, upper_1 - p_1, p_2 - lower_2, upper_2 - p_2
    lower = p_1 - p_2 - np.sqrt(below_1**2 - 2 * phi * below_1 * above_2 + above_2**2)
    upper = p_1 - p_2 + np.sqrt(above_1**2 - 2 * phi * above_1 * below_2 + below_2**2)
    return np.array([lower, upper])


_INTERVALS: dict[str, Callable] = {
    "tango": _tango,
    "newcombe": _newcombe,
    "bonett_price": _bonett_price,
    "wald": _wald,
}


def cochran_q(evidence: xr.Dataset) -> pd.DataFrame:
    """
    Test whether several classifiers have the same accuracy, with Cochran's Q test.

    Parameters
    ----------
    evidence : Dataset
        Outcomes of two or more classifiers on the same examples. See
        :func:`bayescm.from_classifiers`. For two classifiers, the test equals the asymptotic
        McNemar test.

    Returns
    -------
    DataFrame, one row
        ``measure`` (accuracy), ``classifiers``, ``statistic``, ``df`` and ``p_value``.

    References
    ----------
    Cochran, W. G. (1950). The comparison of percentages in matched samples. Biometrika 37, 256-266.
    doi:10.1093/biomet/37.3-4.256

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [0, 1, 0, 0]}
    >>> cochran_q(bcm.from_classifiers([1, 1, 1, 0], answers)).round(3).values.tolist()
    [['accuracy', 3, 2.667, 2, 0.264]]
    """
    names, right, counts = _right(evidence)
    k, by_classifier, by_outcome = len(names), right @ counts, right.sum(axis=0)
    denominator = (counts * by_outcome * (k - by_outcome)).sum()
    numerator = (k - 1) * k * ((by_classifier - by_classifier.mean()) ** 2).sum()
    q = float(numerator / denominator) if denominator else 0.0
    p = float(chdtrc(k - 1, q))
    row = {"measure": "accuracy", "classifiers": k, "statistic": q, "df": k - 1, "p_value": p}
    return pd.DataFrame([row])


def _tables(evidence):
    """Yield the labels of each pair of classifiers, and their table of right and wrong."""
    if not isinstance(evidence, xr.Dataset):
        table = check_counts(evidence, fractional=True).astype(float)
        if table.shape != (2, 2) or not table.sum():
            todo = "use `from_classifiers`"
            raise fail(
                "This function needs outcomes, or a table [[both right, only first], [only "
                "second, both wrong]]; got the shape {}",
                np.shape(evidence),
                "",
                todo,
            )
        yield {"measure": "accuracy", "first": "first", "second": "second"}, table
        return
    names, right, counts = _right(evidence)
    for i, j in combinations(range(len(names)), 2):
        cells = [
            [counts[first & second].sum() for second in (right[j], ~right[j])]
            for first in (right[i], ~right[i])
        ]
        labels = {"measure": "accuracy", "first": names[i], "second": names[j]}
        yield labels, np.array(cells, float)


def _right(evidence):
    """Return names (J,), a mask of right predictions (J, m), and outcome counts (m,)."""
    evidence = as_outcomes(evidence)
    names = evidence["classifier"].values.tolist()
    if len(names) < 2:
        todo = "name two or more in `from_classifiers`"
        raise fail(
            "A comparison needs at least two classifiers on the same examples", names, "", todo
        )
    counts, actual, predicted = arrays(evidence)
    return names, predicted == actual, counts.reshape(-1, counts.shape[-1]).sum(axis=0)
