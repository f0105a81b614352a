"""Delta-method intervals for any measures of any classifiers, one by one or jointly."""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from scipy.special import expit, logit, ndtri

from bayescm.classical.max_z import max_abs_z
from bayescm.classical.samples import Samples, samples
from bayescm.validate import check_choice, check_prob, fail

_STEP = 1e-30


def delta(
    evidence: xr.Dataset | xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    joint: bool = False,
    blur: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    scale: str = "identity",
) -> xr.Dataset:
    r"""
    Return normal intervals with the variance of the delta method.

    A measure is a smooth function of the outcome probabilities; its gradient is computed by complex
    steps and propagates the covariance of the observed proportions. No derivatives are tabulated,
    so any function of the cells will do.

    Parameters
    ----------
    evidence : Dataset or DataArray
        Outcomes of classifiers on the same examples (:func:`bayescm.from_classifiers`), or counts
        with dims ``(..., actual, predicted)``; matrices along ``classifier`` are then taken to
        come from different examples.
    measures : str, callable or a list of them
    prob : float, default 0.95
        Nominal coverage: of each interval, or of all at once.
    joint : bool, default False
        Whether all intervals of one evaluation should hold simultaneously: the quantile of the
        largest absolute deviation then replaces the normal quantile.
    blur : {None, "shared", "diagonal"}
        The "blurring" correction for small variances: noise of variance :math:`z^2/(2n^2)` on each
        observed share, which turns into Agresti and Coull's correction for a rare event.
        ``"shared"`` lets the measures of one classifier see the same noise, ``"diagonal"`` gives
        each interval noise of its own; single intervals are the same. For more than two classes
        the shares of the first class are those left over.
    pairs : sequence of (classifier, measure), optional
        The parameters to compute intervals for, if not all; the others are NaN.
    scale : {"identity", "logit", "atanh", "log"}
        Scale on which the interval is symmetric. ``"logit"`` keeps it inside (0, 1), ``"atanh"``
        inside (-1, 1), ``"log"`` above 0. At the end of a scale the plain interval is truncated.

    Returns
    -------
    Dataset
        A variable per measure, dims ``(..., classifier, bound)``, with ``class`` before ``bound``
        for a measure with one value per class. On the identity scale nothing is clipped. A measure
        that is 0/0 has NaN ends and does not count for the joint quantile.

    References
    ----------
    Yuan, Z. & Jiang, W. (2025). Confidence intervals for evaluation of data mining.

    Takahashi, K., Yamamoto, K., Kuchiba, A. & Koyama, T. (2022). Confidence interval for
    micro-averaged F1 and macro-averaged F1 scores. Applied Intelligence 52, 4961-4972.
    doi:10.1007/s10489-021-02635-5

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> delta(counts, "f1").f1.values.round(4)
    array([0.6483, 0.7962])
    """
    prob = check_prob(prob)
    check_choice("scale", scale, list(_SCALES))
    if blur is not None:
        check_choice("blur", blur, ["shared", "diagonal"])
    setting = samples(evidence, measures, pairs)
    z = float(ndtri((1 + prob) / 2))
    ends = []
    for counts in setting.counts:
        estimate, covariance = moments(setting, counts, blur=blur, z=z)
        quantile = _joint_quantile(covariance, setting.mask().ravel(), prob) if joint else z
        ends.append(_ends(estimate, quantile * np.sqrt(np.diag(covariance)), scale))
    shape = (len(ends), *setting.mask().shape, 2)
    return setting.dataset(np.stack(ends).reshape(shape))


def moments(
    setting: Samples, counts: np.ndarray, *, blur: str | None = None, z: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return estimates of all measures and their covariance.

    Parameters
    ----------
    setting : Samples
    counts : ndarray, shape (S, M)
        One evaluation.
    blur, z
        The blurring correction and its normal quantile.

    Returns
    -------
    estimate : ndarray, shape (J * W,)
        Classifier by classifier.
    covariance : ndarray, shape (J * W, J * W)
    """
    totals = counts.sum(-1, keepdims=True)
    if (totals == 0).any():
        raise fail("no examples", counts, "at least one", "drop the empty matrix")
    shares = counts / totals
    tables = setting.matrices(shares)
    slopes = np.stack([gradients(setting, table) for table in tables])
    influence = np.stack(
        [each[:, setting.actual, own] for each, own in zip(slopes, setting.predicted, strict=True)]
    )
    own = shares[setting.sample][:, None]
    influence = influence - (influence * own).sum(-1, keepdims=True)
    flat = influence.reshape(-1, influence.shape[-1])
    size = np.repeat(totals[setting.sample, 0], influence.shape[1])
    weights = np.repeat(shares[setting.sample], influence.shape[1], axis=0)
    same = np.equal.outer(*[np.repeat(setting.sample, influence.shape[1])] * 2)
    covariance = np.where(same, (flat * weights) @ flat.T / size, 0.0)
    if blur is not None:
        covariance += z**2 / 2 / size**2 * _noise(slopes, same, blur)
    return setting.evaluate(tables).ravel(), covariance


def gradients(setting: Samples, table: np.ndarray) -> np.ndarray:
    """Return the derivatives of all measures with respect to the cells, shape (W, C, C)."""
    cells = table.size
    steps = _STEP * np.eye(cells).reshape(cells, *table.shape)
    parts = []
    for kernel in setting.kernels:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(kernel(table + 1j * steps)).reshape(cells, -1)
        smooth = values.dtype.kind == "c"
        parts.append(values.imag / _STEP if smooth else _differences(kernel, table))
    return np.concatenate(parts, axis=1).T.reshape(-1, *table.shape)


def _differences(kernel, table):
    """Return central differences, for a function that drops the imaginary part."""
    cells, step = table.size, 1e-6
    steps = step * np.eye(cells).reshape(cells, *table.shape)
    rise = np.asarray(kernel(table + steps)) - np.asarray(kernel(table - steps))
    return rise.reshape(cells, -1) / (2 * step)


def _noise(slopes, same, blur):
    """Return the sums of products of derivatives by the observed shares."""
    inner = slopes[..., 1:, 1:] - slopes[..., 1:, :1] - slopes[..., :1, 1:] + slopes[..., :1, :1]
    truth = (slopes[..., 1:, 0] - slopes[..., :1, 0]).reshape(len(same), -1)
    answer = (slopes[..., 0, 1:] - slopes[..., 0, :1]).reshape(len(same), -1)
    inner = inner.reshape(len(same), -1)
    own = answer @ answer.T + inner @ inner.T
    one = np.equal.outer(*[np.repeat(np.arange(len(slopes)), slopes.shape[1])] * 2)
    shared = np.where(same, truth @ truth.T, 0.0) + np.where(one, own, 0.0)
    return shared if blur == "shared" else np.diag(np.diag(shared))


def _joint_quantile(covariance, wanted, prob):
    sd = np.sqrt(np.diag(covariance))
    use = wanted & np.isfinite(sd) & (sd > 0)
    if not use.any():
        return float(ndtri((1 + prob) / 2))
    correlation = covariance[np.ix_(use, use)] / np.outer(sd[use], sd[use])
    np.fill_diagonal(correlation, 1.0)
    return max_abs_z(correlation, prob=prob)


# Transformation, its inverse, its derivative and the range of the measure.
_SCALES: dict[str, tuple] = {
    "identity": (lambda x: x, lambda x: x, np.ones_like, (-np.inf, np.inf)),
    "logit": (logit, expit, lambda x: 1 / (x * (1 - x)), (0.0, 1.0)),
    "atanh": (np.arctanh, np.tanh, lambda x: 1 / (1 - x * x), (-1.0, 1.0)),
    "log": (np.log, np.exp, lambda x: 1 / x, (0.0, np.inf)),
}


def _ends(estimate, half, scale):
    """Return the ends, shape (P, 2)."""
    to, back, slope, (low, high) = _SCALES[scale]
    signs = np.array([-1.0, 1.0])
    plain = np.clip(estimate[:, None] + half[:, None] * signs, low, high)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        moved = back(to(estimate)[:, None] + (half * slope(estimate))[:, None] * signs)
    inside = (estimate > low) & (estimate < high)
    return np.where(inside[:, None], moved, plain)
