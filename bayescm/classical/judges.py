"""
Prevalence from few labels and a judge: prediction-powered and Rogan-Gladen intervals.

For n labelled examples, let y be the true labels and f the labels from the judge, and let F be the
labels from the judge for N other examples. The prediction-powered estimate is

    w mean(F) + mean(y) - w mean(f),

with w = 1 (PPI), or the w that minimises its variance (PPI++). Rogan and Gladen's estimate of the
prevalence among the N others is (mean(F) + specificity - 1) / (recall + specificity - 1), with
recall and specificity of the judge estimated from the labelled examples.
"""

import numpy as np
import xarray as xr
from scipy.special import ndtri

from bayescm.evidence.counts import as_counts, positive
from bayescm.evidence.partly_labelled import is_partly_labelled
from bayescm.validate import check_prob, fail


def prediction_powered(
    evidence: xr.DataArray, *, tuned: bool = True, prob: float = 0.95
) -> xr.DataArray:
    """
    Return the prediction-powered interval of the prevalence.

    This method is included for comparison. With few labels, its coverage is much lower than
    nominal, and its width is zero if the judge agrees with all of them. Prefer ``interval(evidence,
    "prevalence")``.

    Parameters
    ----------
    evidence : DataArray, dims (..., judge, actual, predicted)
        Result of ``from_partly_labelled(actual, judge=judge)`` with two classes.
    tuned : bool, default True
        Whether the weight of the judge is chosen to minimise the variance (PPI++) or is 1 (PPI).
    prob : float, default 0.95

    Returns
    -------
    DataArray, dims (..., bound)
        Interval. As published, it may exceed [0, 1].

    Raises
    ------
    ValueError
        If there are more than two classes, fewer than two labels, or no unlabelled examples.

    References
    ----------
    Angelopoulos, A. N. et al. (2023). Prediction-powered inference. Science 382, 669-674.
    doi:10.1126/science.adi6000

    Angelopoulos, A. N., Duchi, J. C., Zrnic, T. (2023). PPI++: efficient prediction-powered
    inference. arXiv:2311.01453

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.evidence.from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
    >>> prediction_powered(counts).values.round(3)
    array([0.441, 0.636])
    """
    z = ndtri((1 + check_prob(prob)) / 2)
    labelled, unlabelled = _as_two_classes(evidence)
    n, N = labelled.sum((-2, -1)), unlabelled.sum(-1)
    if (n < 2).any() or (N < 1).any():
        numbers = {"labelled": n, "unlabelled": N}
        raise fail(
            "Both labelled and unlabelled examples are needed",
            numbers,
            "",
            "label some examples, at least two, but not all",
        )
    y, f = labelled[..., 1, :].sum(-1) / n, labelled[..., 1].sum(-1) / n
    F = unlabelled[..., 1] / N
    covariance = labelled[..., 1, 1] / n - y * f
    weight = np.ones_like(y)
    if tuned:
        answers = (labelled[..., 1].sum(-1) + unlabelled[..., 1]) / (n + N)
        variance = (1 + n / N) * answers * (1 - answers)
        weight = np.divide(covariance, variance, out=np.zeros_like(y), where=variance > 0)
        weight = np.clip(weight, 0, 1)
    center = weight * F + y - weight * f
    residual = y * (1 - y) - 2 * weight * covariance + weight**2 * f * (1 - f)
    half = z * np.sqrt(weight**2 * F * (1 - F) / N + np.maximum(residual, 0) / n)
    return _to_dataarray(center - half, center + half, evidence)


def rogan_gladen(evidence: xr.DataArray, *, prob: float = 0.95) -> xr.DataArray:
    """
    Return Lang and Reiczigel's interval of the prevalence.

    The labelled examples are used only to estimate recall and specificity of the judge, so they may
    come from a different population. The prevalence refers to the unlabelled examples.

    Parameters
    ----------
    evidence : DataArray, dims (..., judge, actual, predicted)
        Result of ``from_partly_labelled(actual, judge=judge)`` with two classes.
    prob : float, default 0.95

    Returns
    -------
    DataArray, dims (..., bound)
        Interval, clipped to [0, 1]. It is [0, 1] if the judge does not appear to be better than
        chance.

    Raises
    ------
    ValueError
        If there are more than two classes, or no unlabelled examples.

    References
    ----------
    Rogan, W. J., Gladen, B. (1978). Estimating prevalence from the results of a screening test.
    American Journal of Epidemiology 107, 71-76. doi:10.1093/oxfordjournals.aje.a112510

    Lang, Z., Reiczigel, J. (2014). Confidence limits for prevalence of disease adjusted for
    estimated sensitivity and specificity. Preventive Veterinary Medicine 113, 13-22.
    doi:10.1016/j.prevetmed.2013.09.015

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.evidence.from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
    >>> ends = rogan_gladen(counts).values
    >>> bool(0.3 < ends[0] < 0.52 < ends[1] < 0.75)
    True
    """
    z = ndtri((1 + check_prob(prob)) / 2)
    labelled, unlabelled = _as_two_classes(evidence)
    N = unlabelled.sum(-1)
    if (N < 1).any():
        raise fail("Every example is labelled", ..., "", "pass the labels to proportion()")
    # Agresti-Coull corrections: z^2 / 2 pseudo-examples of each label for the observed share, and
    # one pseudo-example in each cell for recall and specificity.
    F = (unlabelled[..., 1] + z**2 / 2) / (N + z**2)
    positives, negatives = labelled[..., 1, :].sum(-1) + 2, labelled[..., 0, :].sum(-1) + 2
    recall = (labelled[..., 1, 1] + 1) / positives
    specificity = (labelled[..., 0, 0] + 1) / negatives
    youden = recall + specificity - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = (F + specificity - 1) / youden
        recall_variance = recall * (1 - recall) / positives
        specificity_variance = specificity * (1 - specificity) / negatives
        shift = 2 * z**2 * (rate * recall_variance - (1 - rate) * specificity_variance)
        variance = F * (1 - F) / (N + z**2)
        variance += rate**2 * recall_variance + (1 - rate) ** 2 * specificity_variance
        half = z * np.sqrt(variance) / youden
        lower, upper = np.clip(rate + shift - half, 0, 1), np.clip(rate + shift + half, 0, 1)
    informative = youden > 0
    lower, upper = np.where(informative, lower, 0.0), np.where(informative, upper, 1.0)
    return _to_dataarray(lower, upper, evidence)


def _as_two_classes(evidence):
    """Return the labelled counts (..., actual, predicted) and unlabelled ones (..., predicted)."""
    if not is_partly_labelled(evidence):
        todo = "make it with `from_partly_labelled(actual, judge=judge)`"
        raise fail("This evidence has no unlabelled examples", ..., "", todo)
    counts = as_counts(evidence)
    if counts.sizes["actual"] != 2 or positive(counts) is None:
        labels = counts["actual"].values.tolist()
        raise fail(
            "A rate needs two classes, one of them positive; the classes are {}",
            labels,
            "",
            "pass `positive=`",
        )
    unlabelled = counts["unlabelled"].sum("judge").transpose(..., "predicted")
    return counts.sum("judge").values.astype(float), unlabelled.values.astype(float)


def _to_dataarray(lower, upper, evidence):
    dims = [dim for dim in evidence.dims if dim not in ("judge", "actual", "predicted")]
    coords = {dim: evidence[dim].values for dim in dims if dim in evidence.coords}
    coords["bound"] = ["lower", "upper"]
    return xr.DataArray(np.stack([lower, upper], axis=-1), coords, (*dims, "bound"))
