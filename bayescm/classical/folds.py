"""
Student t intervals and tests for cross-validation folds.

The array functions accept the values of a measure in every fold on the last axis (or the last two
axes) and return ``(..., 2)``. The interval is the mean of the M folds plus and minus a quantile of
Student's t distribution times

    sqrt(S^2 / M)                          plain: folds treated as independent
    sqrt(S^2 / M / (1 - rho))              corrected (Grandvalet & Bengio)
    sqrt((1/M + test/train) S^2)           resampled (Nadeau & Bengio)

with the sample variance S^2 over folds. Intervals are symmetric and not clipped. `fold_t` is the
interface for labelled counts, `correlated_t` uses the posterior with the scale of the resampled t,
and `combined_5x2` is the F test for five repetitions of two folds.
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
# Numbers of repeats and folds of designs with specific formulas.
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
    Return a t interval of a measure from the folds of a cross-validation.

    Parameters
    ----------
    counts : DataArray
        Counts with a dimension ``fold``, and ``repeat`` for repeated cross-validation.
    measure : str or callable
    method : {"corrected", "plain", "resampled", "5x2", "3x2"}
        `plain_t` and `corrected_t` are for a single cross-validation. `resampled_t` (Nadeau and
        Bengio) also supports repeated cross-validation. `five_by_two_t` and `blocked_t` are for 5x2
        and blocked 3x2 cross-validation.
    prob : float, default 0.95
        Confidence level.
    rho : float, default 0.7
        For the corrected t: covariance between two folds, divided by the variance of the mean over
        all folds, in [0, 1).
    undefined : {"drop", "zero", "nan"}
        How to treat folds with an undefined measure (0/0): exclude them (each reduces the degrees
        of freedom by one), replace the measure by 0, or return NaN.

    Returns
    -------
    DataArray
        Interval with dims ``(..., [class,] bound)``, without ``repeat`` and ``fold``. It may exceed
        [0, 1], and has length 0 if all folds agree. The coordinate ``undefined_folds`` is the
        number of folds with 0/0.

    Raises
    ------
    ValueError
        If the folds do not match the method.

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
        raise fail("`rho` must be a correlation, at least 0 and below 1", rho, "", "pass `rho=0.7`")
    counts = as_counts(counts)
    _check_design(counts, method)
    by_fold = fold_values(counts, measure)
    filled = fill_undefined(by_fold, undefined).transpose(..., "fold")
    values = filled.values
    if undefined == "nan":
        values = np.where(np.isnan(values).any(-1, keepdims=True), np.nan, values)
    # The coordinate undefined_folds replaces the warning about excluded folds.
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
            f"The {method} interval needs {design[0]} repeats of 2 folds; got {repeats} "
            f"repeats of {folds} folds",
            ...,
            "",
            "cross-validate with bayescm.evidence.splits.FiveByTwo() or BlockedThreeByTwo()",
        )
    if method in ("plain", "corrected") and repeats > 1:
        raise fail(
            f"The {method} t interval needs a single cross-validation; got {repeats} repeats",
            ...,
            "",
            "pass `method='resampled'`, or one repeat",
        )


def plain_t(values: ArrayLike, *, prob: float = 0.95) -> np.ndarray:
    """
    Return the K-fold t interval, treating folds as independent.

    Parameters
    ----------
    values : array_like, shape (..., K)
        Values of the measure in every fold. NaN values are excluded with a warning.
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
        Values of the measure in every fold. NaN values are excluded with a warning.
    prob : float, default 0.95
        Confidence level.
    rho : float, default 0.7
        Covariance between two folds, divided by the variance of the mean over all folds.

    Returns
    -------
    ndarray, shape (..., 2)
        Plain interval, widened by the factor ``1 / sqrt(1 - rho)``.
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
        Values of the measure on every test set of all repeats. NaN values are excluded with a
        warning.
    prob : float, default 0.95
        Confidence level.
    test_share : float, optional
        Size of a test set divided by the total size of test and training set. By default 1/M, which
        is correct for a single cross-validation.

    Returns
    -------
    ndarray, shape (..., 2)
        Interval with variance ``(1/M + test/train) S**2`` and M - 1 degrees of freedom.

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
    Return the 5x2 t interval of Wang et al. (2015), equation 16.

    Parameters
    ----------
    values : array_like, shape (..., 5, 2)
        Values of the measure in both halves of every repeat.
    prob : float, default 0.95
        Confidence level.

    Returns
    -------
    ndarray, shape (..., 2)
        Interval with 5 degrees of freedom. As in the paper, its variance is the mean over repeats
        of the sample variance within each repeat, not the variance of a mean.
    """
    values = np.asarray(values, float)
    within = values.var(axis=-1, ddof=1).sum(axis=-1)
    return _t_interval(values.mean(axis=(-2, -1)), np.sqrt(within / 5), 5, prob)


def blocked_t(values: ArrayLike, *, prob: float = 0.95) -> np.ndarray:
    """
    Return the blocked 3x2 t interval of Wang et al. (2015), equation 17.

    Parameters
    ----------
    values : array_like, shape (..., 3, 2)
        Values of the measure in both halves of every pairing.
    prob : float, default 0.95
        Confidence level.

    Returns
    -------
    ndarray, shape (..., 2)
        Interval with 5 degrees of freedom. As in the paper, its variance is the sum of squares of
        the six values about their mean, divided by 6, not the variance of a mean.
    """
    values = np.asarray(values, float)
    return _t_interval(values.mean(axis=(-2, -1)), values.std(axis=(-2, -1)), 5, prob)


def _with_warning(values):
    """Convert fold values (..., M) to an array and warn if some are NaN."""
    values = np.asarray(values, float)
    undefined = np.isnan(values).reshape(-1, values.shape[-1]).any(axis=0).sum()
    if undefined:
        warnings.warn(
            f"The measure is NaN in {undefined} of {values.shape[-1]} folds. These folds "
            "are left out, and each costs one degree of freedom.",
            stacklevel=3,
        )
    return values


def _moments(values):
    """Return number, mean and sample variance of the values, ignoring NaN."""
    n = (~np.isnan(values)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(values, axis=-1) / n
        variance = np.nansum((values - mean[..., None]) ** 2, axis=-1) / (n - 1)
    # The variance is undefined if only one fold is defined.
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
    Compare the scores of two classifiers over cross-validation folds.

    The differences between the two scores on each fold are modelled as normal and, because training
    sets overlap, as equally correlated. With a flat prior, the posterior of the mean difference is
    a Student t distribution with the scale of Nadeau and Bengio's corrected t.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Scores on the same folds, higher is better. Folds of several repeats are concatenated.
    n_folds : int
        Number of folds per repeat, at least 2.
    rope : float or (float, float), default 0
        Region of practical equivalence, in units of the scores: half its width, or both ends.
    prob : float, default 0.95
        Probability of the interval.

    Returns
    -------
    Series
        ``mean``, ``sd``, ``lower`` and ``upper`` of the difference, ``p_better`` (of the first),
        ``p_rope``, ``p_worse``, ``expected_loss`` and ``expected_loss_second``. The three
        probabilities agree with ``baycomp.two_on_single``.

    Raises
    ------
    ValueError
        If ``n_folds`` is below 2, if the numbers of scores differ or are not a multiple of
        ``n_folds``, or if a score is missing or infinite.

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
            "The scores must be two arrays of equal length, but their shapes are {}",
            shapes,
            "",
            "pass one score per fold for each classifier, in the same order",
        )
    if n_folds < 2 or len(first) % n_folds:
        todo = "pass n_folds, the number of folds in one repeat"
        numbers = {"n_folds": n_folds, "scores": len(first)}
        raise fail("The number of scores is not a multiple of n_folds: {}", numbers, "", todo)
    for name, scores in (("first", first), ("second", second)):
        if not (finite := np.isfinite(scores)).all():
            fold = int(np.argmin(finite))
            what = f"The {name} scores have no finite value in fold {fold} (counted from 0)"
            todo = (
                "complete the fold, leave its whole repeat out, or use `from_results` and compare"
            )
            raise fail(what, scores[fold], "", todo)
    difference = mean_difference(first - second, 1 / n_folds)
    limits, prob = check_rope(rope), check_prob(prob)
    if difference.scale == 0 and difference.location:
        warnings.warn(
            "The scores differ by the same number on every fold, so the t interval has "
            "length zero.",
            stacklevel=2,
        )
    (answer,) = decide(difference, rope=limits, prob=prob, kind="eti")
    if limits == (0.0, 0.0) and answer["p_rope"] == 1:  # no difference in any fold
        answer |= {"p_better": 0.5, "p_rope": 0.0, "p_worse": 0.5}
    return pd.Series(answer)


def combined_5x2(counts: xr.DataArray, measure: str | Callable = "accuracy") -> pd.DataFrame:
    """
    Compare two classifiers with the combined 5x2 cross-validated F test.

    Parameters
    ----------
    counts : DataArray, dims (classifier, repeat, fold, actual, predicted)
        Counts of five repetitions of two folds, shared by all classifiers. See
        `bayescm.evidence.splits.FiveByTwo`.
    measure : str or callable, default "accuracy"
        Measure with a single value.

    Returns
    -------
    DataFrame
        ``first``, ``second``, ``difference`` (mean over the ten halves), ``statistic`` (F with 10
        and 5 degrees of freedom) and ``p_value``.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, or the design is not five repetitions of two folds.

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
        raise fail("Five repeats of two folds are needed", sizes, "", todo)
    if counts.sizes.get("classifier", 1) < 2:
        raise fail(
            "Two classifiers are needed; the counts have the dimensions {}",
            list(counts.dims),
            "",
            'combine them with combine({"a": a, "b": b}, `dim="classifier"`)',
        )
    (values,) = measure_cells(counts, measure).data_vars.values()
    values = values.transpose("classifier", "repeat", "fold", ...)
    if values.ndim > 3:
        raise fail(
            "A single number is needed, but the measure has values along {}",
            values.dims,
            "",
            "use a single class or an average",
        )
    names = counts["classifier"].values.tolist()
    rows = []
    for i, j in combinations(range(len(names)), 2):
        # F is the sum of squared differences divided by twice the sum of their variances within
        # repeats.
        p = values.values[i] - values.values[j]
        s2 = ((p - p.mean(axis=1, keepdims=True)) ** 2).sum()
        f = float((p**2).sum() / (2 * s2)) if s2 else float("nan")
        pair = {"first": names[i], "second": names[j], "difference": float(p.mean())}
        rows.append({**pair, "statistic": f, "p_value": float(fdtrc(10, 5, f))})
    return pd.DataFrame(rows)
