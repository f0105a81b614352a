"""
The rates of classifiers at thresholds, jointly with the prevalence: conjugate.

Inside each class the shares of the examples between neighbouring thresholds have a Dirichlet
distribution whose prior weighs only the two outermost intervals. So both rates have the beta
distribution of their own two-by-two table at every threshold, and all thresholds one joint
distribution. Classifiers on the same examples share the joint table of their intervals.
"""

import numpy as np
import xarray as xr

from bayescm.curves.thresholds import two_classes
from bayescm.direct.roc.prevalence import class_weights, known_prevalence
from bayescm.direct.scores import arrays

_BITS = 62  # of a number that stands for a column


def rates_at(
    evidence: xr.Dataset,
    thresholds: np.ndarray,
    *,
    concentration: float = 0.5,
    draws: int,
    random_seed: int,
) -> xr.Dataset:
    """Draw ``tpr`` and ``fpr``, dims (draw, [classifier], threshold), and ``prevalence``."""
    evidence = two_classes(evidence)
    matrix, weights, codes = arrays(evidence)
    rng = np.random.default_rng(random_seed)
    order = np.argsort(thresholds)
    places = np.searchsorted(thresholds[order], matrix, side="right")
    rates = [
        _above(places[:, codes == side], weights[codes == side], order, concentration, draws, rng)
        for side in (0, 1)
    ]
    totals = np.bincount(codes, weights, 2) + concentration
    scale = class_weights(evidence, weights, codes, 2)
    share = rng.beta(totals[1], totals[0], draws)
    share = share * scale[1] / (share * scale[1] + (1 - share) * scale[0])
    if "prevalence" in evidence.coords:
        share = np.full(draws, evidence.coords["prevalence"].item())
    return _labelled(evidence, thresholds, *rates, share, "draw")


def _above(places, weights, order, concentration, draws, rng):
    """Draw the share of one class at or above each threshold, (S, K, T)."""
    last = len(order)
    ends = np.repeat([[0, last]], len(places), axis=0)
    cells, cell = _distinct(np.concatenate([places, ends], axis=1), last + 1)
    shape = np.bincount(cell, np.concatenate([weights, [concentration] * 2]))
    mass = rng.standard_gamma(shape, (draws, len(shape)))
    found, reached = np.empty((draws, len(places), last)), np.empty(last, int)
    for each, row in enumerate(cells):
        down = np.argsort(-row, kind="stable")
        total = mass[:, down]
        np.cumsum(total, axis=1, out=total)
        total /= total[:, -1:]
        reached[order] = np.searchsorted(-row[down], -np.arange(last), side="left")
        found[:, each] = total[:, reached - 1]
    return found


def _distinct(places, size):
    """Return the distinct columns of places (K, n) below a size, and which of them each is."""
    shape = (size,) * len(places)
    if len(places) * np.log2(size) > _BITS:
        cells, cell = np.unique(places, axis=1, return_inverse=True)
        return cells, cell.ravel()
    code, cell = np.unique(np.ravel_multi_index(tuple(places), shape), return_inverse=True)
    return np.stack(np.unravel_index(code, shape)), cell


def rates_seen(evidence: xr.Dataset, thresholds: np.ndarray) -> xr.Dataset:
    """Return the same in the sample: a score at the threshold is predicted positive."""
    evidence = two_classes(evidence)
    matrix, weights, codes = arrays(evidence)
    sides = [weights * (codes == side) for side in (0, 1)]
    order, last = np.argsort(thresholds), len(thresholds)
    fpr, tpr = np.empty((2, len(matrix), last))
    for each, places in enumerate(np.searchsorted(thresholds[order], matrix, side="right")):
        for rate, side in ((fpr, sides[0]), (tpr, sides[1])):
            above = np.cumsum(np.bincount(places, side, last + 1)[:0:-1])[::-1]
            rate[each, order] = above / side.sum()
    known = known_prevalence(evidence, codes == 1)
    share = sides[1].sum() / weights.sum() if known is None else known
    return _labelled(evidence, thresholds, fpr, tpr, np.array(share))


def _labelled(evidence, thresholds, fpr, tpr, share, *lead):
    dims, coords = [*lead, "threshold"], {"threshold": thresholds}
    if "classifier" in evidence.dims:
        dims.insert(-1, "classifier")
        coords |= {"classifier": evidence["classifier"].values}
    else:
        fpr, tpr = fpr[..., 0, :], tpr[..., 0, :]
    columns = {"tpr": (dims, tpr), "fpr": (dims, fpr), "prevalence": (list(lead), share)}
    coords |= {"positive": evidence["positive"].item()}
    return xr.Dataset(columns, coords)
