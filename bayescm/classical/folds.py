"""
Student t intervals and tests from the folds of a cross-validation.

The functions of arrays take the measure of every fold on the last axis (or the last two) and return
``(..., 2)``: the mean of the M folds plus and minus a quantile of Student's t times

    sqrt(S^2 / M)                          plain: the folds taken as independent
    sqrt(S^2 / M / (1 - rho))              corrected (Grandvalet & Bengio)
    sqrt((1/M + test/train) S^2)           resampled (Nadeau & Bengio)

with the sample variance S^2 of the folds. The intervals are symmetric and unclipped. `fold_t` is
their labelled face; `correlated_t` is the posterior with the scale of the last one, and
`combined_5x2` the F test of five times two folds.
"""

import warnings
from collections.abc import Callable
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import fdtrc, stdtrit

from bayescm.distributions.decision import check_rope, decide
from bayescm.evidence.counts import as_counts
from bayescm.evidence.folds import overlap
from bayescm.measures.labelled import measure_cells
from bayescm.measures.over_folds import fill_undefined, fold_values
from bayescm.posteriors.correlated_t import mean_difference
from bayescm.validate import (
    check_choice,
    check_prob,
    check_reals,
    check_row_order,
    fail,
)

METHODS = ("plain", "corrected", "resampled", "5x2", "3x2")
# Repeats and folds of the designs that have a formula of their own.
_DESIGNS = {"5x2": (5, 2), "3x2": (3, 2)}


def fold_t(
    counts: xr.DataArray,
    measure: str | Callable,
    *,
    method: str = "corrected",
    prob: float = 0.95,
    rho: float = 0.7,
    undefined: str = "drop",
) -> xr.DataArray:
    """
    Return a t interval of any measure from the folds of a cross-validation.

    Parameters
    ----------
    counts : DataArray
        Counts with a dim fold, and repeat where the cross-validation was repeated.
    measure : str or callable
    method : {"corrected", "plain", "resampled", "5x2", "3x2"}
        `plain_t` and `corrected_t` are for one cross-validation, `resampled_t` (Nadeau and Bengio)
        also for a repeated one, `five_by_two_t` and `blocked_t` for 5x2 and blocked 3x2.
    prob : float, default 0.95
        Confidence level.
    rho : float, default 0.7
        For the corrected t: the covariance of two folds over the variance of the mean, in [0, 1).
    undefined : {"drop", "zero", "nan"}
        What to do with a fold in which the measure is 0/0: leave it out (and a degree of freedom
        with it), count it as 0, or return NaN.

    Returns
    -------
    DataArray
        Dims ``(..., [class,] bound)``, without repeat and fold. May leave [0, 1]; of length 0
        if all folds agree. The coord ``undefined_folds`` counts the folds with 0/0.

    Raises
    ------
    ValueError
        If the folds do not suit the method.

    References
    ----------
    Grandvalet, Y. & Bengio, Y. (2006). Hypothesis testing for cross-validation. Technical report
    1285, DIRO, Universite de Montreal.

    Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning,
    52(3), 239-281. doi:10.1023/A:1024068626366

    Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
    cross-validated beta distribution. Neural Computation, 28(8), 1694-1722.
    doi:10.1162/NECO_a_00857

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [6, 5, 7, 4], "fn": [4, 5, 3, 6], "fp": [4, 5, 3, 6], "tn": [6, 5, 7, 4]}
    >>> counts = bcm.from_cells(**cells).rename(batch="fold")
    >>> fold_t(counts, "recall", method="plain").values.round(3)
    array([0.345, 0.755])
    """
    check_choice("method", method, list(METHODS))
    check_prob(prob)
    if not isinstance(rho, Real) or not 0 <= rho < 1:
        raise fail("rho must be a correlation", rho, "0 <= rho < 1", "pass `rho=0.7`")
    counts = as_counts(counts)
    _check_design(counts, method)
    by_fold = fold_values(counts, measure)
    filled = fill_undefined(by_fold, undefined).transpose(..., "fold")
    values = filled.values
    if undefined == "nan":
        values = np.where(np.isnan(values).any(-1, keepdims=True), np.nan, values)
    # The coord undefined_folds counts the folds that are left out, without a warning.
    if method == "plain":
        bounds = _corrected(values, prob, rho=0.0)
    elif method == "corrected":
        bounds = _corrected(values, prob, rho)
    elif method == "resampled":
        bounds = _resampled(values, prob, overlap(counts))
    else:
        halves = values.reshape(*values.shape[:-1], -1, 2)
        bounds = (five_by_two_t if method == "5x2" else blocked_t)(halves, prob=prob)
    coords = {name: coord for name, coord in filled.coords.items() if "fold" not in coord.dims}
    interval = xr.DataArray(bounds, coords, (*filled.dims[:-1], "bound"), filled.name)
    n_undefined = by_fold.isnull().sum("fold")
    return interval.assign_coords(bound=["lower", "upper"], undefined_folds=n_undefined)


def _check_design(counts, method):
    repeats, folds = counts.sizes.get("repeat", 1), counts.sizes.get("fold")
    design = _DESIGNS.get(method)
    if design and (repeats, folds) != design:
        raise fail(
            f"the {method} interval needs {design[0]} repeats of 2 folds",
            {"repeat": repeats, "fold": folds},
            f"sizes repeat={design[0]}, fold=2",
            "cross-validate with bayescm.evidence.splits.FiveByTwo() or BlockedThreeByTwo()",
        )
    if method in ("plain", "corrected") and repeats > 1:
        raise fail(
            f"the {method} t interval is for a single cross-validation",
            {"repeat": repeats},
            "no dim repeat",
            "pass `method='resampled'`, or one repeat",
        )


def plain_t(values: ArrayLike, *, prob: float = 0.95) -> np.ndarray:
    """
    Return the K-fold t interval: the folds taken as independent.

    Parameters
    ----------
    values : array_like, shape (..., K)
        The measure of every fold. NaN folds are left out, with a warning.
    prob : float, default 0.95
        Confidence level.

    Returns
    -------
    ndarray, shape (..., 2)

    Examples
    --------
    >>> plain_t([0.7, 0.6, 0.8]).round(4)
    array([0.4516, 0.9484])
    """
    return _corrected(_with_warning(values), prob, rho=0.0)


def corrected_t(values: ArrayLike, *, prob: float = 0.95, rho: float = 0.7) -> np.ndarray:
    """
    Return Grandvalet and Bengio's corrected K-fold t interval.

    Parameters
    ----------
    values : array_like, shape (..., K)
        The measure of every fold. NaN folds are left out, with a warning.
    prob : float, default 0.95
        Confidence level.
    rho : float, default 0.7
        Covariance of two folds over the variance of their mean.

    Returns
    -------
    ndarray, shape (..., 2)
        The plain interval stretched by ``1 / sqrt(1 - rho)``.
    """
    return _corrected(_with_warning(values), prob, rho)


def _corrected(values, prob, rho):
    n, mean, variance = _moments(values)
    return _t_interval(mean, np.sqrt(variance / n / (1 - rho)), n - 1, prob)


def resampled_t(
    values: ArrayLike, *, prob: float = 0.95, test_share: float | None = None
) -> np.ndarray:
    """
    Return Nadeau and Bengio's corrected resampled t interval.

    Parameters
    ----------
    values : array_like, shape (..., M)
        The measure of every test set of all repeats. NaN ones are left out, with a warning.
    prob : float, default 0.95
        Confidence level.
    test_share : float, optional
        Size of a test set over that of test and training set together; 1/M by default, right for
        one cross-validation.

    Returns
    -------
    ndarray, shape (..., 2)
        With the variance ``(1/M + test/train) S**2`` and M - 1 degrees of freedom.

    Examples
    --------
    >>> resampled_t([0.7, 0.6, 0.8]).round(4)
    array([0.3072, 1.0928])
    """
    of_folds = _with_warning(values)
    return _resampled(of_folds, prob, 1 / of_folds.shape[-1] if test_share is None else test_share)


def _resampled(values, prob, share):
    n, mean, variance = _moments(values)
    return _t_interval(mean, np.sqrt((1 / n + share / (1 - share)) * variance), n - 1, prob)


def five_by_two_t(values: ArrayLike, *, prob: float = 0.95) -> np.ndarray:
    """
    Return the 5x2 t interval as Wang et al. (2015), equation 16, print it.

    Parameters
    ----------
    values : array_like, shape (..., 5, 2)
        The measure of both halves of every repeat.
    prob : float, default 0.95
        Confidence level.

    Returns
    -------
    ndarray, shape (..., 2)
        The variance is the mean over repeats of the sample variance within each (and not that of a
        mean), with 5 degrees of freedom.
    """
    values = np.asarray(values, float)
    within = values.var(axis=-1, ddof=1).sum(axis=-1)
    return _t_interval(values.mean(axis=(-2, -1)), np.sqrt(within / 5), 5, prob)


def blocked_t(values: ArrayLike, *, prob: float = 0.95) -> np.ndarray:
    """
    Return the blocked 3x2 t interval as Wang et al. (2015), equation 17, print it.

    Parameters
    ----------
    values : array_like, shape (..., 3, 2)
        The measure of both halves of every pairing.
    prob : float, default 0.95
        Confidence level.

    Returns
    -------
    ndarray, shape (..., 2)
        The variance is that of the six values about their mean, divided by 6 (and not that of a
        mean), with 5 degrees of freedom.
    """
    values = np.asarray(values, float)
    return _t_interval(values.mean(axis=(-2, -1)), values.std(axis=(-2, -1)), 5, prob)


def _with_warning(values):
    """Return the values of the folds (..., M) as an array; warn if some are NaN."""
    values = np.asarray(values, float)
    undefined = np.isnan(values).reshape(-1, values.shape[-1]).any(axis=0).sum()
    if undefined:
        warnings.warn(
            f"The measure is NaN in {undefined} of {values.shape[-1]} folds. These folds are left "
            "out, and with each of them a degree of freedom.",
            stacklevel=3,
        )
    return values


def _moments(values):
    """Return number, mean and sample variance of the values that are not NaN."""
    n = (~np.isnan(values)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(values, axis=-1) / n
        variance = np.nansum((values - mean[..., None]) ** 2, axis=-1) / (n - 1)
    # The variance of a single defined fold is not defined.
    return n, mean, np.where(n > 1, variance, np.nan)


def _t_interval(mean, standard_error, df, prob):
    with np.errstate(divide="ignore", invalid="ignore"):
        half = stdtrit(df, (1 + prob) / 2) * standard_error
    return np.stack([mean - half, mean + half], axis=-1)


def correlated_t(
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_folds: int,
    rope: Any = 0.0,
    prob: float = 0.95,
) -> pd.Series:
    """
    Compare two classifiers' scores over the folds of a cross-validation.

    The differences of the folds are normal and equally correlated, since their training sets
    overlap; with a flat prior the posterior of the mean difference is a Student t distribution
    whose scale is that of Nadeau and Bengio's corrected t.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Scores on the same folds, higher is better; the folds of all repeats, one after the other.
    n_folds : int
        Folds of one repeat, 2 or more.
    rope : float or (float, float), default 0
        Region of practical equivalence, in the units of the scores.
    prob : float, default 0.95
        Mass of the interval.

    Returns
    -------
    Series
        ``mean``, ``sd``, ``lower``, ``upper``, ``p_better`` (the first is), ``p_rope``,
        ``p_worse``, ``expected_loss`` and ``expected_loss_second``. Equal to
        ``baycomp.two_on_single``, whose three numbers are p_better, p_rope and p_worse.

    Raises
    ------
    ValueError
        If the numbers of scores differ, or are not a multiple of ``n_folds``, or a score is missing
        or infinite.

    References
    ----------
    Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms
    on multiple data sets. Machine Learning 100, 285-304. doi:10.1007/s10994-015-5486-z

    Examples
    --------
    >>> a, b = [0.81, 0.78, 0.84, 0.80], [0.79, 0.77, 0.80, 0.80]
    >>> correlated_t(a, b, n_folds=4)[["mean", "p_better"]].round(4).tolist()
    [0.0175, 0.8639]
    """
    check_row_order({"first": first, "second": second})
    first, second = (
        check_reals(scores, f"the {name} scores", "pass one number for each fold")
        for name, scores in (("first", first), ("second", second))
    )
    if first.shape != second.shape or first.ndim != 1:
        shapes = (first.shape, second.shape)
        raise fail(
            "the scores do not pair up", shapes, "two arrays of shape (n,)", "pair them by fold"
        )
    if n_folds < 2 or len(first) % n_folds:
        todo = "pass n_folds, the folds of one repeat"
        numbers = {"n_folds": n_folds, "scores": len(first)}
        raise fail("the scores do not make whole repeats", numbers, "a multiple of n_folds", todo)
    for name, scores in (("first", first), ("second", second)):
        if not (finite := np.isfinite(scores)).all():
            fold = int(np.argmin(finite))
            what = f"the {name} scores have no finite value in fold {fold} (counted from 0)"
            todo = (
                "complete the fold, leave its whole repeat out, or use `from_results` and compare"
            )
            raise fail(what, scores[fold], "a number for each fold", todo)
    difference = mean_difference(first - second, 1 / n_folds)
    limits, prob = check_rope(rope), check_prob(prob)
    if difference.scale == 0 and difference.location:
        warnings.warn(
            "The scores differ by the same number on every fold, which the t takes for certainty.",
            stacklevel=2,
        )
    (answer,) = decide(difference, rope=limits, prob=prob, kind="eti")
    if limits == (0.0, 0.0) and answer["p_rope"] == 1:  # no difference in any fold: either way
        answer |= {"p_better": 0.5, "p_rope": 0.0, "p_worse": 0.5}
    return pd.Series(answer)


def combined_5x2(counts: xr.DataArray, measure: str | Callable = "accuracy") -> pd.DataFrame:
    """
    Test whether two classifiers are equally good, by the combined 5x2 cross-validated F test.

    Parameters
    ----------
    counts : DataArray, dims (classifier, repeat, fold, actual, predicted)
        Five repetitions of two folds, the same for all classifiers; see
        `bayescm.evidence.splits.FiveByTwo`.
    measure : str or callable, default "accuracy"
        A measure that is one number.

    Returns
    -------
    DataFrame
        ``first``, ``second``, ``difference`` (its mean over the ten halves), ``statistic`` (F with
        10 and 5 degrees of freedom) and ``p_value``.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, or not five repetitions of two folds.

    References
    ----------
    Alpaydin, E. (1999). Combined 5x2 cv F test for comparing supervised classification learning
    algorithms. Neural Computation 11, 1885-1892. doi:10.1162/089976699300016007

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> right = np.arange(20).reshape(2, 5, 2) % 7 + 40
    >>> tables = np.stack([right, 50 - right, 50 - right, right], -1).reshape(2, 5, 2, 2, 2)
    >>> counts = bcm.from_matrix(tables, dims=("classifier", "repeat", "fold"))
    >>> combined_5x2(counts)["statistic"].round(3).tolist()
    [2.265]
    """
    counts = as_counts(counts)
    sizes = {dim: counts.sizes.get(dim, 1) for dim in ("repeat", "fold")}
    if sizes != {"repeat": 5, "fold": 2}:
        todo = "split with bayescm.evidence.splits.FiveByTwo"
        raise fail("not five times two folds", sizes, "repeat 5, fold 2", todo)
    if counts.sizes.get("classifier", 1) < 2:
        todo = 'put them together: combine({"a": a, "b": b}, `dim="classifier"`)'
        raise fail("nothing to compare", list(counts.dims), "two classifiers", todo)
    (values,) = measure_cells(counts, measure).data_vars.values()
    values = values.transpose("classifier", "repeat", "fold", ...)
    if values.ndim > 3:
        todo = "ask for a single class or an average"
        raise fail("the measure has several values", values.dims, "one number", todo)
    names = counts["classifier"].values.tolist()
    rows = []
    for i, j in combinations(range(len(names)), 2):
        # F = sum of the squared differences over twice the sum of their variances in the repeats.
        p = values.values[i] - values.values[j]
        s2 = ((p - p.mean(axis=1, keepdims=True)) ** 2).sum()
        f = float((p**2).sum() / (2 * s2)) if s2 else float("nan")
        pair = {"first": names[i], "second": names[j], "difference": float(p.mean())}
        rows.append({**pair, "statistic": f, "p_value": float(fdtrc(10, 5, f))})
    return pd.DataFrame(rows)
