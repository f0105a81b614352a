"""A rate from few labels and a judge's answers: prediction-powered and Rogan-Gladen intervals."""

import numpy as np
import xarray as xr
from scipy.special import ndtri

from bayescm.evidence.counts import as_counts, positive
from bayescm.validate import check_prob, fail


def prediction_powered(
    evidence: xr.DataArray, *, tuned: bool = True, prob: float = 0.95
) -> xr.DataArray:
    """
    Return the prediction-powered interval of how common the positive class is.

    For comparison: at few labels it covers much less than it says, and has no width at all where
    the judge agrees with all of them. See ``interval(evidence, "prevalence")``.

    Parameters
    ----------
    evidence : DataArray, dims (..., judge, actual, predicted)
        From ``from_partly_labelled(actual, judge=judge)``, two classes.
    tuned : bool, default True
        Weigh the judge by how much it tells (PPI++), or fully (PPI).
    prob : float, default 0.95

    Returns
    -------
    DataArray, dims (..., bound)
        May leave [0, 1], as published.

    Raises
    ------
    ValueError
        If there are more than two classes, fewer than two labels, or nothing is unlabelled.

    References
    ----------
    Angelopoulos, A. N. et al. (2023). Prediction-powered inference. Science 382, 669-674.
    doi:10.1126/science.adi6000

    Angelopoulos, A. N., Duchi, J. C., Zrnic, T. (2023). PPI++: efficient prediction-powered
    inference. arXiv:2311.01453

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
    >>> prediction_powered(counts).values.round(3)
    array([0.441, 0.636])
    """
    z = ndtri((1 + check_prob(prob)) / 2)
    known, rest = _two_classes(evidence)
    labels, others = known.sum((-2, -1)), rest.sum(-1)
    if (labels < 2).any() or (others < 1).any():
        got = {"labelled": labels, "unlabelled": others}
        raise fail("nothing to correct", got, "two labels, some unlabelled", "label some, not all")
    true, said = known[..., 1, :].sum(-1) / labels, known[..., 1].sum(-1) / labels
    far = rest[..., 1] / others
    together = known[..., 1, 1] / labels - true * said
    whole = (known[..., 1].sum(-1) + rest[..., 1]) / (labels + others)
    weight = np.ones_like(true)
    if tuned:
        spread = (1 + labels / others) * whole * (1 - whole)
        weight = np.divide(together, spread, out=np.zeros_like(true), where=spread > 0)
        weight = np.clip(weight, 0, 1)
    middle = weight * far + true - weight * said
    left = true * (1 - true) - 2 * weight * together + weight**2 * said * (1 - said)
    half = z * np.sqrt(weight**2 * far * (1 - far) / others + np.maximum(left, 0) / labels)
    return _bounds(middle - half, middle + half, evidence)


def rogan_gladen(evidence: xr.DataArray, *, prob: float = 0.95) -> xr.DataArray:
    """
    Return the interval of Lang and Reiczigel for how common the positive class is.

    Of the labelled examples only the judge's recall and specificity are used, so that they may
    come from elsewhere; the rate is that of the unlabelled ones.

    Parameters
    ----------
    evidence : DataArray, dims (..., judge, actual, predicted)
        From ``from_partly_labelled(actual, judge=judge)``, two classes.
    prob : float, default 0.95

    Returns
    -------
    DataArray, dims (..., bound)
        Cut to [0, 1]; all of it where the judge is not seen to be better than chance.

    Raises
    ------
    ValueError
        If there are more than two classes, or nothing is unlabelled.

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
    >>> counts = bcm.from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
    >>> ends = rogan_gladen(counts).values
    >>> bool(0.3 < ends[0] < 0.52 < ends[1] < 0.75)
    True
    """
    z = ndtri((1 + check_prob(prob)) / 2)
    known, rest = _two_classes(evidence)
    others = rest.sum(-1)
    if (others < 1).any():
        raise fail("nothing is unlabelled", others, "some", "pass the labels to proportion()")
    share = (rest[..., 1] + z**2 / 2) / (others + z**2)
    sick, well = known[..., 1, :].sum(-1) + 2, known[..., 0, :].sum(-1) + 2
    recall, specificity = (known[..., 1, 1] + 1) / sick, (known[..., 0, 0] + 1) / well
    youden = recall + specificity - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = (share + specificity - 1) / youden
        first = recall * (1 - recall) / sick
        second = specificity * (1 - specificity) / well
        shift = 2 * z**2 * (rate * first - (1 - rate) * second)
        own = share * (1 - share) / (others + z**2)
        error = np.sqrt(own + rate**2 * first + (1 - rate) ** 2 * second) / youden
        low, high = (rate + shift + side * z * error for side in (-1, 1))
    helps = youden > 0
    low, high = np.where(helps, np.clip(low, 0, 1), 0.0), np.where(helps, np.clip(high, 0, 1), 1.0)
    return _bounds(low, high, evidence)


def _two_classes(evidence):
    """Return the labelled (..., actual, predicted) and the unlabelled (..., predicted)."""
    if "unlabelled" not in getattr(evidence, "coords", ()):
        todo = "make it with from_partly_labelled(actual, judge=judge)"
        raise fail("this evidence has no unlabelled examples", ..., "partly labelled", todo)
    counts = as_counts(evidence)
    if counts.sizes["actual"] != 2 or positive(counts) is None:
        labels = counts["actual"].values.tolist()
        raise fail("not a rate", labels, "two classes, one positive", "pass positive=")
    known = counts.sum("judge").values.astype(float)
    rest = counts["unlabelled"].sum("judge").transpose(..., "predicted")
    return known, rest.values.astype(float)


def _bounds(low, high, evidence):
    lead = [dim for dim in evidence.dims if dim not in ("judge", "actual", "predicted")]
    coords = {dim: evidence[dim].values for dim in lead if dim in evidence.coords}
    ends = np.stack([low, high], axis=-1)
    return xr.DataArray(ends, dims=(*lead, "bound"), coords=coords | {"bound": ["lower", "upper"]})
