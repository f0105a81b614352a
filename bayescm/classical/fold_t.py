"""Student t intervals from the folds of a cross-validation, symmetric and unclipped.

The functions of arrays take the measure of every fold on the last axis (or the last two) and
return ``(..., 2)``; `fold_t` is their labelled face.
"""

from collections.abc import Callable
from numbers import Real

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from bayescm.evidence.counts import as_counts
from bayescm.evidence.folds import overlap
from bayescm.measures.over_folds import fill_undefined, fold_values
from bayescm.validate import check_choice, check_prob, fail

METHODS = ("plain", "corrected", "resampled", "5x2", "3x2")


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
        raise fail("rho must be a correlation", rho, "0 <= rho < 1", "pass rho=0.7")
    counts = as_counts(counts)
    _check_design(counts, method)
    values = fill_undefined(fold_values(counts, measure), undefined).transpose(..., "fold")
    array = values.values
    if undefined == "nan":
        array = np.where(np.isnan(array).any(-1, keepdims=True), np.nan, array)
    ends = _ends(array, method, prob, rho, overlap(counts))
    dims = values.dims[:-1]
    coords = {name: each for name, each in values.coords.items() if "fold" not in each.dims}
    answer = xr.DataArray(ends, dims=(*dims, "bound"), coords=coords, name=values.name)
    missing = fold_values(counts, measure).isnull().sum("fold")
    return answer.assign_coords(bound=["lower", "upper"], undefined_folds=missing)


def _ends(array, method, prob, rho, share):
    if method == "plain":
        return plain_t(array, prob=prob)
    if method == "corrected":
        return corrected_t(array, prob=prob, rho=rho)
    if method == "resampled":
        return resampled_t(array, prob=prob, test_share=share)
    pairs = array.reshape(*array.shape[:-1], -1, 2)
    return (five_by_two_t if method == "5x2" else blocked_t)(pairs, prob=prob)


def _check_design(counts, method):
    repeats, folds = counts.sizes.get("repeat", 1), counts.sizes.get("fold")
    wanted = {"5x2": (5, 2), "3x2": (3, 2)}.get(method)
    if wanted and (repeats, folds) != wanted:
        raise fail(
            f"the {method} interval needs {wanted[0]} repeats of 2 folds",
            {"repeat": repeats, "fold": folds},
            f"sizes repeat={wanted[0]}, fold=2",
            "cross-validate with bayescm.evidence.splits.FiveByTwo() or BlockedThreeByTwo()",
        )
    if method in ("plain", "corrected") and repeats > 1:
        raise fail(
            f"the {method} t interval is for a single cross-validation",
            {"repeat": repeats},
            "no dim repeat",
            "pass method='resampled', or one repeat",
        )


def plain_t(values: ArrayLike, *, prob: float = 0.95) -> np.ndarray:
    """
    Return the K-fold t interval: the folds taken as independent.

    Parameters
    ----------
    values : array_like, shape (..., K)
        The measure of every fold; NaN folds are left out.
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
    return corrected_t(values, prob=prob, rho=0.0)


def corrected_t(values: ArrayLike, *, prob: float = 0.95, rho: float = 0.7) -> np.ndarray:
    """
    Return Grandvalet and Bengio's corrected K-fold t interval.

    Parameters
    ----------
    values : array_like, shape (..., K)
        The measure of every fold; NaN folds are left out.
    prob : float, default 0.95
        Confidence level.
    rho : float, default 0.7
        Covariance of two folds over the variance of their mean.

    Returns
    -------
    ndarray, shape (..., 2)
        The plain interval stretched by ``1 / sqrt(1 - rho)``.
    """
    values = np.asarray(values, float)
    number, mean, variance = _moments(values)
    return _around(mean, np.sqrt(variance / number / (1 - rho)), number - 1, prob)


def resampled_t(
    values: ArrayLike, *, prob: float = 0.95, test_share: float | None = None
) -> np.ndarray:
    """
    Return Nadeau and Bengio's corrected resampled t interval.

    Parameters
    ----------
    values : array_like, shape (..., M)
        The measure of every test set of all repeats; NaN ones are left out.
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
    values = np.asarray(values, float)
    share = 1 / values.shape[-1] if test_share is None else test_share
    number, mean, variance = _moments(values)
    return _around(mean, np.sqrt((1 / number + share / (1 - share)) * variance), number - 1, prob)


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
    return _around(values.mean(axis=(-2, -1)), np.sqrt(within / 5), 5, prob)


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
    return _around(values.mean(axis=(-2, -1)), values.std(axis=(-2, -1)), 5, prob)


def _moments(values):
    """Return number, mean and sample variance of the values that are not NaN."""
    number = (~np.isnan(values)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(values, axis=-1) / number
        variance = np.nansum((values - mean[..., None]) ** 2, axis=-1) / (number - 1)
    # One defined fold has no spread to go by.
    return number, mean, np.where(number > 1, variance, np.nan)


def _around(mean, error, freedom, prob):
    with np.errstate(divide="ignore", invalid="ignore"):
        half = stdtrit(freedom, (1 + prob) / 2) * error
    return np.stack([mean - half, mean + half], axis=-1)
