"""Bootstrap intervals: outcomes resampled as counts, not example by example."""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from scipy.special import ndtr, ndtri

from bayescm.classical.samples import Samples, samples
from bayescm.validate import check_choice, check_counts, check_prob, check_seed, check_whole, fail


def bootstrap(
    evidence: xr.Dataset | xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    method: str = "percentile",
    resamples: int = 1000,
    pairs: Sequence[tuple[str, str]] | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """
    Return bootstrap intervals of any measures of any classifiers.

    Drawing n examples with replacement is drawing from a multinomial over the outcomes, so a
    resample costs the same whatever n. Classifiers tested on the same examples are resampled
    together.

    Parameters
    ----------
    evidence : Dataset or DataArray
        Outcomes of classifiers on the same examples (:func:`bayescm.from_classifiers`), or counts
        with dims ``(..., actual, predicted)``; matrices along ``classifier`` are then taken to
        come from different examples. Whole numbers.
    measures : str, callable or a list of them
    prob : float, default 0.95
    method : {"percentile", "bca"}
        Quantiles of the resampled values, or these corrected for bias and skewness.
    resamples : int, default 1000
    pairs : sequence of (classifier, measure), optional
        As in :func:`delta`.
    random_seed : int or Generator, optional

    Returns
    -------
    Dataset
        A variable per measure, dims ``(..., classifier, bound)``, with ``class`` before ``bound``
        for a measure with one value per class. Resamples in which a measure is 0/0 are left out;
        where all are, the ends are NaN.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical
    Association 82, 171-185. doi:10.1080/01621459.1987.10478410

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> bootstrap(counts, "f1", random_seed=1).f1.values.round(2)
    array([0.64, 0.79])
    """
    prob = check_prob(prob)
    check_choice("method", method, ["percentile", "bca"])
    setting = samples(evidence, measures, pairs)
    check_counts(setting.counts, fractional=False)
    check_whole("resamples", resamples, 2, "resamples", 1000)
    rng = np.random.default_rng(check_seed(random_seed))
    tails = np.array([(1 - prob) / 2, (1 + prob) / 2])
    values = resampled(setting, resamples, rng)
    ends = np.empty((*values.shape[1:], 2))
    for place in np.ndindex(values.shape[1:]):
        defined = values[(slice(None), *place)]
        defined = defined[~np.isnan(defined)]
        ends[place] = _quantiles(defined, tails) if len(defined) else np.nan
    if method == "bca":
        ends = _bca(setting, values, tails)
    return setting.dataset(ends)


def _quantiles(values, tails):
    """Return quantiles of values that may be infinite, next to which nothing is interpolated."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(values, tails)
    return np.where(np.isnan(found), np.quantile(values, tails, method="nearest"), found)


def resampled(setting: Samples, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Return the measures of resampled evidence, shape (resamples, L, J, W)."""
    totals = setting.counts.sum(-1)
    if (totals == 0).any():
        raise fail("no examples", setting.counts, "at least one", "drop the empty matrix")
    shares = setting.counts / totals[..., None]
    drawn = rng.multinomial(totals, shares, (resamples, *totals.shape))
    return setting.evaluate(setting.matrices(drawn))


def _bca(setting, values, tails):
    """Return the bias-corrected and accelerated ends, shape (L, J, W, 2)."""
    point = setting.evaluate(setting.matrices(setting.counts))
    ends = np.full((*point.shape, 2), np.nan)
    speed = acceleration(setting)
    for place in np.ndindex(point.shape):
        drawn = values[(slice(None), *place)]
        drawn = drawn[~np.isnan(drawn)]
        if len(drawn) == 0 or np.isnan(point[place]):
            continue
        below = (drawn < point[place]).mean() + (drawn == point[place]).mean() / 2
        bias = ndtri(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
        moved = bias + ndtri(tails)
        level = ndtr(bias + moved / (1 - speed[place] * moved))
        ends[place] = np.quantile(drawn, level)
    return ends


def acceleration(setting):
    """Return the skewness of the jackknife values over 6: one value per outcome, weighted."""
    counts = setting.counts
    evaluations, _, outcomes = counts.shape
    less = np.repeat(counts[:, :, None].astype(float), outcomes, axis=2)
    less = np.maximum(less - np.eye(outcomes), 0.0)
    values = np.full((evaluations, outcomes, *setting.mask().shape), np.nan)
    for outcome in range(outcomes):
        values[:, outcome] = setting.evaluate(setting.matrices(less[:, :, outcome]))
    weights = counts[:, setting.sample].transpose(0, 2, 1)[..., None]
    weights = np.where(np.isnan(values), 0, weights)
    values = np.nan_to_num(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (weights * values).sum(1, keepdims=True) / weights.sum(1, keepdims=True)
        off = mean - values
        return np.nan_to_num((weights * off**3).sum(1) / (6 * (weights * off**2).sum(1) ** 1.5))
