"""Bootstrap intervals of summaries of curves."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from bayescm.curves.numbers import interval_of, resolve
from bayescm.direct.roc.curve import Curve
from bayescm.direct.scores import arrays
from bayescm.evidence.scored.scores import as_scores
from bayescm.validate import check_prob, check_seed, check_whole, fail

_AT_ONCE = 1e7


def curve_bootstrap(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    prob: float = 0.95,
    resamples: int = 1000,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the percentile bootstrap interval of a summary of a curve, stratified by class.

    Parameters
    ----------
    evidence : Dataset
        Scores of one or more classifiers, two classes, no folds, no weights.
    measure : str or callable
        See :func:`bayescm.curves.number_draws`.
    prob : float, default 0.95
    resamples : int, default 1000
    random_seed : int, default 0

    Returns
    -------
    DataArray, dims ([classifier], bound)
        If the classes are perfectly separated, every resample is too and the interval has no width.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> curve_bootstrap(evidence, random_seed=1).dims
    ('bound',)
    """
    check_prob(prob)
    evidence = as_scores(evidence)
    name, kernel = resolve(measure)
    extra = [
        each for each in ("fold", "group", "weight", "class") if each in {*evidence.dims, *evidence}
    ]
    if extra:
        todo = "use the posterior: curves.number_draws"
        raise fail(
            "the bootstrap needs a single plain sample", extra, "two classes, unweighted", todo
        )
    matrix, _, codes = arrays(evidence)
    rng = np.random.default_rng(check_seed(random_seed))
    step = max(1, int(_AT_ONCE / len(codes)))
    parts = []
    for first in range(0, check_whole("resamples", resamples, 2, "resamples", 1000), step):
        counts = _resample(codes, min(step, resamples - first), rng)
        parts.append(
            np.stack([kernel(resampled_curve(row, codes, counts)) for row in matrix], axis=1)
        )
    values = np.concatenate(parts)
    if "classifier" not in evidence.dims:
        return interval_of(xr.DataArray(values[:, 0], dims="draw", name=name), prob, "eti")
    coords = {"classifier": evidence["classifier"].values}
    labelled = xr.DataArray(values, coords, ("draw", "classifier"), name)
    return interval_of(labelled, prob, "eti")


def _resample(codes, size, rng):
    """Return how often each example is drawn, (size, n)."""
    counts = np.empty((size, len(codes)))
    for side in (0, 1):
        own = np.flatnonzero(codes == side)
        counts[:, own] = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size)
    return counts


def resampled_curve(scores, codes, counts):
    """Return the curves of all resamples, with points at the distinct scores."""
    values, place = np.unique(-scores, return_inverse=True)
    rates = np.zeros((2, len(counts), len(values) + 1))
    for side in (0, 1):
        order = np.argsort(place[codes == side], kind="stable")
        own = counts[:, codes == side][:, order]
        above = np.searchsorted(place[codes == side][order], np.arange(len(values)), side="right")
        total = np.pad(np.cumsum(own, axis=1), ((0, 0), (1, 0)))
        rates[side, :, 1:] = total[:, above] / total[:, -1:]
    share = np.full(len(counts), codes.mean())
    half, tied = np.full(len(values), 0.5), np.ones(len(values), bool)
    return Curve(rates[0], rates[1], share, half, tied, np.arange(len(values) + 1))
